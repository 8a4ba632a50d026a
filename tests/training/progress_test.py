# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the progress display."""

import io

from absl import logging
from dear_jax.data import logs
from dear_jax.training import progress
import pytest

METRICS = {'loss': 0.25, 'solver_steps_mean': 6.25, 'solver_steps_max': 14.0,
           'converged': 0.5}


class FakeClock:

  def __init__(self):
    self.now = 100.0

  def __call__(self):
    return self.now


class Terminal(io.StringIO):

  def isatty(self):
    return True


def run(stream, seconds_per_step, steps=40):
  """Shows 40 steps; returns how often the metrics were read."""
  clock = FakeClock()
  reads = []
  def read():
    reads.append(clock.now)
    return METRICS
  with progress.Progress(start=0, total=steps, stream=stream,
                         clock=clock) as shown:
    shown.wait('compiling ...')
    clock.now += 8.5
    for step in range(1, steps + 1):
      clock.now += seconds_per_step
      shown.update(step, read)
    shown.message('validation loss 0.1')
  return reads


def test_plain_lines_when_there_is_no_terminal():
  stream = io.StringIO()
  reads = run(stream, seconds_per_step=1.0)
  lines = stream.getvalue().splitlines()
  assert lines[0] == 'compiling ...'
  # The compilation is no part of the speed.
  assert lines[1] == ('step 2/40  loss 0.2500  solver steps 6.2 (max 14)  '
                      'converged 50%  1.00 steps/s  38s left')
  assert [line.split()[1] for line in lines[1:-1]] == [
      '2/40', '12/40', '22/40', '32/40', '40/40']
  assert lines[-1] == 'validation loss 0.1'
  assert len(reads) == 5  # reading waits for the device


def test_a_bar_on_a_terminal():
  stream = Terminal()
  reads = run(stream, seconds_per_step=0.1)
  text = stream.getvalue()
  assert '40/40' in text and 'loss 0.250' in text and 'compiling' in text
  assert 'solver 6.2 (max 14)' in text and 'conv. 50%' in text
  assert 'validation loss 0.1\n' in text
  assert len(reads) < 12


@pytest.mark.parametrize('seconds, text', [
    (41.6, '42s'), (187, '3m07s'), (7500, '2h05m')])
def test_duration(seconds, text):
  assert progress.duration(seconds) == text


def test_quiet_absl_restores_the_verbosity():
  before = logging.get_verbosity()
  with pytest.raises(KeyError), logs.quiet_absl():
    assert logging.get_verbosity() == logging.ERROR
    raise KeyError
  assert logging.get_verbosity() == before


def test_summary_of_solves_backwards_too():
  metrics = dict(METRICS, backward_steps_mean=8.04, backward_steps_max=12.0,
                 backward_converged=0.25, gradient_norm=0.5,
                 spectral_radius=0.75)
  assert progress.solver_summary(metrics) == (
      'solver steps 6.2 (max 14)  converged 50%  backward 8.0 (max 12)  '
      'converged 25%  gradient 0.50  spectral radius 0.75')
  assert progress.solver_summary(metrics, short=True) == (
      'solver 6.2 (max 14) + 8.0  conv. 25%')
