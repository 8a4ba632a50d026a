# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of experiments/benchmark_waiting.py."""

import json
import subprocess
import sys

from tests import commands


def test_second_process_finds_what_the_first_compiled():
  done = subprocess.run(
      [sys.executable, str(commands.EXPERIMENTS / 'benchmark_waiting.py'),
       '--nb_graphs=3', '--max_size=9'],
      check=True, text=True, capture_output=True)
  found = json.loads(done.stdout.splitlines()[-1])
  assert found['empty']['nb_programs'] == found['warm']['nb_programs'] == 1
  assert not found['empty']['from_cache'] and found['warm']['from_cache']
  assert '| warm | ' in done.stdout


# A run with settings that are not the default ones, to be waited for no longer.
_SMALL_RUN = """
import functools, json, sys
import dear_jax
dear_jax.TrainConfig = functools.partial(
    dear_jax.TrainConfig, batch_size=2, hidden_size=4, train_sizes=(4, 4),
    val_size=4, test_size=4, val_samples=2, test_samples=2, eval_every=2)
sys.path.insert(0, sys.argv[1])
import benchmark_waiting
benchmark_waiting.flags.FLAGS(['', '--steps=3', f'--cache={sys.argv[2]}'])
print(json.dumps(benchmark_waiting.measure_training('minimum')))
"""


def test_what_a_run_waits_for(tmp_path):
  done = subprocess.run(
      [sys.executable, '-c', _SMALL_RUN, str(commands.EXPERIMENTS),
       str(tmp_path)],
      check=True, text=True, capture_output=True)
  found = json.loads(done.stdout.splitlines()[-1])
  assert found['nb_programs'] == 2  # a training step, and the validation
  assert found['in_xla'] > 0
  assert set(found['seconds']) == {'import', 'first step', 'the others',
                                   'in all'}
  assert found['seconds']['in all'][0] >= found['seconds']['first step'][0] > 0
