# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Scores of samples are held against those of CLRS."""

import clrs
from dear_jax import samplers
from dear_jax import scoring
import numpy as np
import pytest

# Pointers of nodes, edges and graphs, permutations, one node of many, masks of
# nodes and edges, and categories, with what CLRS leaves out of some.
TASKS = ('bfs', 'floyd_warshall', 'search', 'insertion_sort', 'minimum',
         'articulation_points', 'bridges', 'lcs_length', 'topological_sort')


def _predict(outputs, rng):
  """Predictions of which some are right."""
  preds = {}
  for truth in outputs:
    data = np.array(truth.data)
    if truth.type_ == clrs.Type.POINTER:
      other = rng.integers(0, data.max() + 1, data.shape)
    elif truth.type_ == clrs.Type.MASK:
      other = rng.uniform(size=data.shape)
    else:
      other = np.eye(data.shape[-1])[
          rng.integers(0, data.shape[-1], data.shape[:-1])]
    # By sample, and of some samples all, so that these differ widely.
    is_wrong = rng.uniform(size=data.shape) < rng.uniform(
        0, 1.5, size=(len(data),) + (1,) * (data.ndim - 1))
    preds[truth.name] = clrs.DataPoint(
        truth.name, truth.location, truth.type_,
        np.where(is_wrong, other, np.abs(data)))
  return preds


def _take(points, samples):
  return [clrs.DataPoint(x.name, x.location, x.type_, x.data[samples])
          for x in points]


def _batch(task, batch_size=12):
  feedback = samplers.make_sampler(task, size=5, batch_size=batch_size, seed=1,
                                   split='test').batch(0)
  return feedback.outputs, _predict(feedback.outputs, np.random.default_rng(2))


def _clrs_scores(outputs, preds, samples):
  outputs = _take(outputs, samples)
  preds = {x.name: x for x in _take(preds.values(), samples)}
  return {name: float(x) for name, x in clrs.evaluate(outputs, preds).items()}


@pytest.mark.parametrize('task', TASKS)
def test_scores_are_those_of_clrs(task):
  outputs, preds = _batch(task)
  every = np.arange(12)
  whole = scoring.SampleScores(outputs, preds)
  assert len(whole) == 12
  expected = _clrs_scores(outputs, preds, every)
  assert whole.scores() == pytest.approx(expected, abs=1e-12)
  assert 0 < expected['score'] < 1
  parts = [scoring.SampleScores(
      _take(outputs, x), {p.name: p for p in _take(preds.values(), x)})
           for x in (every[:5], every[5:])]
  assert scoring.SampleScores.concatenate(parts).scores() == whole.scores()
  some = every[::2]
  assert whole.take(some).scores() == pytest.approx(
      _clrs_scores(outputs, preds, some), abs=1e-12)


@pytest.mark.parametrize('task', ['bfs', 'search', 'insertion_sort'])
def test_intervals_are_those_of_resamples_scored_by_clrs(task, monkeypatch):
  monkeypatch.setattr(scoring, 'RESAMPLES', 40)
  outputs, preds = _batch(task)
  weights = np.random.default_rng(scoring.SEED).multinomial(
      12, np.full(12, 1 / 12), size=40)
  scores = [
      _clrs_scores(outputs, preds, np.repeat(np.arange(12), row))['score']
      for row in weights]
  assert scoring.SampleScores(outputs, preds).interval() == pytest.approx(
      np.quantile(scores, [0.025, 0.975]).tolist(), abs=1e-12)


def _single_pointers(hits):
  point = lambda data: clrs.DataPoint('x', clrs.Location.GRAPH,
                                      clrs.Type.POINTER, np.array(data))
  return scoring.SampleScores([point([1] * len(hits))], {'x': point(hits)})


def test_interval_of_a_share():
  scores = _single_pointers([1] * 300 + [0] * 100)
  low, high = scores.interval()
  half = 1.96 * np.sqrt(0.75 * 0.25 / 400)
  assert low == pytest.approx(0.75 - half, abs=0.008)
  assert high == pytest.approx(0.75 + half, abs=0.008)
  assert scores.interval() == (low, high)


def test_where_there_is_no_interval():
  assert _single_pointers([1]).interval() == (None, None)
  assert _single_pointers([1] * 9).interval() == (1, 1)
