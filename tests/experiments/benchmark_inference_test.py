# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of experiments/benchmark_inference.py."""

import json
import subprocess
import sys

from tests import commands


def measure(out, *args):
  result = subprocess.run(
      [sys.executable, str(commands.EXPERIMENTS / 'benchmark_inference.py'),
       '--size=4', '--samples=2', '--rounds=1', f'--out={out}', *args],
      timeout=300, capture_output=True, text=True, check=False)
  assert result.returncode == 0, result.stderr
  table = [line for line in result.stdout.splitlines()
           if line.startswith('|')]
  assert len(table) == 3
  return json.loads(out.read_text())


def test_rows_are_added_to_the_file(tmp_path):
  out = tmp_path / 'inference.json'
  measure(out, '--tasks=search')
  found = measure(out, '--tasks=minimum')
  # In the order of the campaign, not in that of the commands.
  assert [x['task'] for x in found['rows']] == ['minimum', 'search']
  assert [x['nar_steps'] for x in found['rows']] == [3, 1]
  for row in found['rows']:
    assert row['nar_seconds'] > 0 and row['dear_seconds'] > 0
    assert row['dear_steps'] >= 1 and row['samples'] == 2


def test_mistakes_are_one_line(tmp_path):
  command = commands.Command('benchmark_inference.py')
  other = tmp_path / 'other.json'
  other.write_text(json.dumps(dict(size=16, rows=[])))
  for args, message in (
      (['--tasks=bsf'], "did you mean 'bfs'"),
      ([f'--out={other}'], 'is of size 16, not 64; choose another --out'),
      ([f'--out={tmp_path}'], 'is a folder')):
    code, out, err = command(*args)
    assert code == 2 and message in err, err
    assert err.count('\n') == 1 and not out
