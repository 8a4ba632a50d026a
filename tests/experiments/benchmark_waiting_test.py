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
