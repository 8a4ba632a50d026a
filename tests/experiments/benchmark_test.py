# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of experiments/benchmark.py."""

import json
import subprocess
import sys

from tests import commands

TINY = ('--quick', '--batch_size=4', '--training_size=4', '--sizes=4,5',
        '--width=4')


def test_tables_and_numbers(tmp_path):
  out = tmp_path / 'numbers.json'
  result = subprocess.run(
      [sys.executable, str(commands.EXPERIMENTS / 'benchmark.py'),
       '--task=bfs', f'--out={out}', *TINY], timeout=600, capture_output=True,
      text=True, check=False)
  assert result.returncode == 0, result.stderr
  tables = [[line for line in part.splitlines() if line.startswith('|')]
            for part in result.stdout.split('\n\n')]
  iterations, training, inference = [table for table in tables if table]
  for table in (iterations, training, inference):
    assert len({line.count('|') for line in table}) == 1
  assert [row.split()[1] for row in training[2:]] == ['one_step', 'damped']
  assert len(inference) == 2 + 4  # two sizes, alone and in a batch
  numbers = json.loads(out.read_text(encoding='utf-8'))
  assert numbers['task'] == 'bfs'
  assert 'ms, whole penalty' in training[0]
  for row in numbers['training']:
    assert row['whole_penalty_seconds'] > 0
    assert row['seconds'] > 0 and row['units'] > 0 and row['waste'] >= 1
  for row in numbers['inference']:
    assert row['seconds'] > 0 and row['clrs_seconds'] > 0 and row['steps'] >= 1
  rounds = {len(x) for x in numbers['measurements']['training'].values()}
  assert rounds == {4}


def test_mistakes_are_one_line(tmp_path):
  command = commands.Command('benchmark.py')
  for args, message in (
      (['--task=bsf'], "did you mean 'bfs'"),
      (['--sizes=16,x'], "sizes must be whole numbers such as 16,64, got '16"),
      ([f'--run={tmp_path}'], 'config.json')):
    code, out, err = command(*args)
    assert code == 2
    assert message in err
    assert err.count('\n') == 1, err
    assert not out
