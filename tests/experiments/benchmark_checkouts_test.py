# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of experiments/benchmark_checkouts.py."""

import json
import shutil
import subprocess
import sys

import pytest
from tests import commands

_ROOT = commands.EXPERIMENTS.parent

_SMALL = dict(batch_size=2, hidden_size=4, train_sizes=(4, 4), val_size=4,
              test_size=4)

# What another checkout may have: its training differs on one task.
_CHANGE = """

import dataclasses
_build_model = build_model
def build_model(config, *args, **kwargs):
  if 'bfs' in config.algorithms:
    config = dataclasses.replace(config, learning_rate=1.0)
  return _build_model(config, *args, **kwargs)
"""


def test_it_tells_which_results_changed(tmp_path):
  shutil.copytree(_ROOT / 'dear_jax', tmp_path / 'dear_jax',
                  ignore=shutil.ignore_patterns('__pycache__', '*.npz'))
  with (tmp_path / 'dear_jax/training/builders.py').open('a') as f:
    f.write(_CHANGE)
  done = subprocess.run(
      [sys.executable, str(commands.EXPERIMENTS / 'benchmark_checkouts.py'),
       f'--other={tmp_path}', '--tasks=bfs,minimum', '--rounds=1', '--steps=2',
       f'--settings={json.dumps(_SMALL)}'],
      text=True, capture_output=True, timeout=300)
  assert done.returncode == 0, done.stderr
  rows = json.loads(done.stdout.splitlines()[-1])['rows']
  assert [(x['task'], x['same']) for x in rows] == [
      ('bfs', False), ('minimum', True)]
  for row in rows:
    assert row['shapes'] == ['size 4', 'size 4']
    assert min(row['clock'], row['processor'], *row['in_xla']) > 0
  assert '| bfs | size 4 | ' in done.stdout


@pytest.mark.parametrize('args, message', [
    ([], '--other is missing'),
    (['--other=no/such'], '--other=no/such: there is no dear_jax'),
    ([f'--other={_ROOT}', '--settings=3'], "JSON object such as"),
    ([f'--other={_ROOT}', '--settings={'], "JSON object such as"),
])
def test_mistakes_are_one_line(args, message):
  code, _, err = commands.Command('benchmark_checkouts.py')(*args)
  assert code == 2 and message in err and err.count('\n') == 1
