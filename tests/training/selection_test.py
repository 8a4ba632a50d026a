# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of which parameters a run keeps.

Losses are made up, so that the best, the last and the one with the lowest
regularised loss are different steps.
"""

import math

import pytest
from tests import scripted

AVERAGED = scripted.AVERAGED
kept = scripted.kept
steps_in = scripted.steps_in
train = scripted.train


@pytest.fixture(name='script', autouse=True)
def _script(monkeypatch):
  return scripted.install(monkeypatch)


def told(result):
  return [result[name] for name in ('kept', 'kept_step', 'best_step',
                                    'val_loss')]


def test_the_best_is_the_first_with_the_lowest_task_loss(tmp_path):
  result = train(tmp_path)
  assert told(result) == ['best', 2, 2, 1.0]
  assert kept(tmp_path) == 2
  assert steps_in(tmp_path, 'best') == steps_in(tmp_path, 'final') == [2]


def test_the_last_is_kept_beside_the_best(tmp_path):
  result = train(tmp_path, select='last')
  assert told(result) == ['last', 4, 2, 2.0]
  assert kept(tmp_path) == 4
  assert steps_in(tmp_path, 'best') == [2]
  assert steps_in(tmp_path, 'final') == [4]


def test_the_last_average_is_kept_by_itself(tmp_path):
  result = train(tmp_path, average=True, select='auto')
  assert told(result) == ['last', 4, 2, 2.0]
  assert kept(tmp_path) == AVERAGED + 4


def test_a_last_one_that_is_the_best_is_not_looked_at_again(tmp_path, script):
  train(tmp_path / 'other', select='last')
  more, script['evaluations'] = script['evaluations'], 0
  script['task_losses'][4] = 0.5
  result = train(tmp_path / 'same', select='last')
  assert told(result) == ['last', 4, 4, 0.5]
  # Neither validated nor tested.
  assert script['evaluations'] == more - 2
  assert kept(tmp_path / 'same') == 4


def test_a_last_one_that_is_not_finite_is_not_kept(tmp_path, script):
  script['task_losses'][4] = math.nan
  result = train(tmp_path, select='last')
  assert told(result) == ['best', 2, 2, 1.0]
  assert kept(tmp_path) == 2


def test_a_run_that_ends_between_validations(tmp_path):
  # Only steps 3 and 4 are validated.
  result = train(tmp_path, eval_every=3)
  assert told(result) == ['best', 3, 3, 1.0]


@pytest.mark.parametrize('settings', [
    dict(select='last'),
    dict(select='auto', average=True), dict(select='last', eval_every=3)])
def test_what_an_earlier_end_kept_does_not_survive(tmp_path, settings):
  seen = []
  def look(step):
    seen.append((step, steps_in(tmp_path / 'longer', 'final'),
                 (tmp_path / 'longer' / 'result.json').exists()))
    return False
  train(tmp_path / 'longer', **settings)
  longer = train(tmp_path / 'longer', resume=True, train_steps=6,
                 should_stop=look, **settings)
  whole = train(tmp_path / 'whole', train_steps=6, **settings)
  assert seen == [(5, [], False), (6, [], False)]
  assert told(longer) == told(whole)
  assert kept(tmp_path / 'longer') == kept(tmp_path / 'whole')
  for name in ('best', 'final'):
    assert (steps_in(tmp_path / 'longer', name)
            == steps_in(tmp_path / 'whole', name))
  assert ((tmp_path / 'longer' / 'metrics.jsonl').read_text()
          == (tmp_path / 'whole' / 'metrics.jsonl').read_text())


def test_a_stopped_run_keeps_the_best_so_far(tmp_path):
  train(tmp_path, select='last')
  stopped = train(tmp_path, resume=True, train_steps=6, select='last',
                  should_stop=lambda step: step == 5)
  assert stopped['interrupted']
  assert kept(tmp_path) == 2
  assert not steps_in(tmp_path, 'final')
