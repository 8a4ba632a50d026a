# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of experiments/benchmark_sampling.py."""

import subprocess
import sys

from tests import commands


def test_one_table():
  result = subprocess.run(
      [sys.executable, str(commands.EXPERIMENTS / 'benchmark_sampling.py'),
       '--tasks=minimum,bfs', '--sizes=4,16', '--seconds=0.01', '--nosteps'],
      timeout=300, capture_output=True, text=True, check=False)
  assert result.returncode == 0, result.stderr
  lines = result.stdout.splitlines()
  table = [line for line in lines if line.startswith('|')]
  assert len({line.count('|') for line in table}) == 1
  assert [line.split()[1] for line in table[2:]] == ['minimum', 'bfs']
  assert sum('geometric mean' in line for line in lines) == 2
  assert 'of 2 tasks' in lines[-1]


def test_a_mistake_is_one_line():
  code, out, err = commands.Command('benchmark_sampling.py')('--tasks=bsf')
  assert code == 2
  assert "did you mean 'bfs'" in err
  assert err.count('\n') == 1
  assert not out
