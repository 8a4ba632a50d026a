# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of experiments/benchmark_devices.py."""

import subprocess
import sys

from tests import commands


def test_devices_take_fewer_iterations_on_their_own():
  done = subprocess.run(
      [sys.executable, str(commands.EXPERIMENTS / 'benchmark_devices.py'),
       '--devices=2', '--size=8', '--per_device=2', '--rounds=3'],
      check=True, text=True, capture_output=True)
  rows = [line.strip('| ').split(' | ') for line in done.stdout.splitlines()
          if line.startswith(('| inference', '| training step'))]
  assert [row[0] for row in rows] == ['inference', 'training step']
  for _, whole, by_device, *_, ratio in rows:
    assert float(by_device) < float(whole) and float(ratio) > 0
