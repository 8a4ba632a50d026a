# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of how long steps take."""

import json
import time

from dear_jax.training import pace
import pytest
from tests import scripted


class Clock:
  """A time that passes when it is told to."""

  def __init__(self):
    self.now = 100.0

  def __call__(self):
    return self.now


def test_only_training_counts():
  clock = Clock()
  measured = pace.Pace({pace.CLOCK: clock})
  def step(seconds):
    clock.now += seconds
    measured.step()

  measured.disturb()
  step(50)  # what was compiled for the first step
  step(50)  # and for the second, while the first ran
  step(1)
  step(3)
  assert measured.take() == {'timed': 2, 'seconds': 4.0}
  clock.now += 70  # a validation
  measured.pause()
  step(20)  # nobody knows when it began
  step(2)
  measured.disturb()
  step(60)
  step(60)
  step(4)
  assert measured.take() == {'timed': 2, 'seconds': 6.0}
  assert measured.take() == {'timed': 0, 'seconds': 0.0}


def test_the_mean_is_over_steps_not_over_lines():
  lines = [{'step': 10, 'timed': 1, 'seconds': 4.0},
           {'step': 20, 'timed': 3, 'seconds': 6.0},
           {'step': 30, 'timed': 0, 'seconds': 0.0},
           {'step': 40, 'timed': 10, 'seconds': 1.0}]
  assert pace.seconds_a_step(lines, 0, 20) == pytest.approx(2.5)
  assert pace.seconds_a_step(lines, 20, 30) is None
  assert pace.seconds_a_step(lines, 30, 40) == pytest.approx(0.1)


def test_the_time_of_the_processor_is_noted_too():
  clock, processor = Clock(), Clock()
  measured = pace.Pace({pace.CLOCK: clock, pace.PROCESSOR: processor})
  measured.step()
  clock.now += 5
  processor.now += 2
  measured.step()
  line = {'step': 1, **measured.take()}
  assert line == {'step': 1, 'timed': 1, pace.CLOCK: 5.0, pace.PROCESSOR: 2.0}
  older = {'step': 2, 'timed': 1, pace.CLOCK: 7.0}
  lines = [line, older]
  assert pace.seconds_a_step(lines, 0, 2) == 6.0
  assert pace.seconds_a_step(lines, 0, 2, pace.PROCESSOR) == 2.0
  assert pace.seconds_a_step(lines, 1, 2, pace.PROCESSOR) is None


def test_a_processor_that_sleeps_takes_no_time():
  assert pace.PROCESSOR not in pace.clocks_of('gpu')
  measured = pace.Pace(pace.clocks_of('cpu'))
  measured.step()
  time.sleep(0.2)
  measured.step()
  times = measured.take()
  assert times[pace.CLOCK] >= 0.2
  # Other threads of this process may be at work.
  assert times[pace.PROCESSOR] < times[pace.CLOCK]


def test_a_resumed_run_keeps_its_first_steps(monkeypatch, tmp_path):
  scripted.install(monkeypatch)
  scripted.train(tmp_path / 'run', should_stop=lambda step: step == 3)
  def read():
    text = (tmp_path / 'run' / 'pace.jsonl').read_text()
    return [json.loads(line) for line in text.splitlines()]
  before = read()
  assert [x['step'] for x in before] == [1, 2, 3]
  scripted.train(tmp_path / 'run', resume=True)
  assert [x['step'] for x in read()] == [1, 2, 3, 4]
  assert read()[:3] == before
