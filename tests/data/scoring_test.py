# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Scores of samples are held against those of CLRS."""

import clrs
from dear_jax.data import samplers
from dear_jax.data import scoring
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


def _graphs(size, batch_size, seed=1):
  feedback = samplers.make_sampler(
      'floyd_warshall', size=size, batch_size=batch_size, seed=seed,
      split='test').batch(0)
  adj, = [x.data for x in feedback.features.inputs if x.name == 'adj']
  truth, = feedback.outputs
  return feedback, adj, truth


def test_pointers_of_edges_are_scored_on_edges_too():
  """Held against a count, pair by pair."""
  feedback, adj, truth = _graphs(size=5, batch_size=12)
  preds = _predict(feedback.outputs, np.random.default_rng(2))
  scores = scoring.SampleScores(feedback.outputs, preds,
                                feedback.features.inputs)

  def count(samples):
    hits, tries = 0, 0
    for sample in samples:
      for i in range(5):
        for j in range(5):
          if i == j or adj[sample, i, j] or adj[sample, j, i]:
            tries += 1
            hits += preds['Pi'].data[sample, i, j] == truth.data[sample, i, j]
    assert tries < 25 * len(samples)
    return hits / tries

  every = np.arange(12)
  found = scores.scores()
  assert found['Pi_on_edges'] == pytest.approx(count(every))
  # A node counts with itself, whether the graph says so or not.
  without_loops = [
      clrs.DataPoint(x.name, x.location, x.type_, x.data * (1 - np.eye(5)))
      if x.name == 'adj' else x for x in feedback.features.inputs]
  assert scoring.SampleScores(
      feedback.outputs, preds, without_loops).scores() == found
  # The score stays that of CLRS: all pairs, and nothing else.
  expected = _clrs_scores(feedback.outputs, preds, every)
  assert {k: found[k] for k in expected} == pytest.approx(expected)
  assert found['score'] == found['Pi'] != found['Pi_on_edges']
  assert scores.interval() == scoring.SampleScores(
      feedback.outputs, preds).interval()
  some = every[::3]
  assert scores.take(some).scores()['Pi_on_edges'] == pytest.approx(count(some))
  together = scoring.SampleScores.concatenate(
      [scores.take(every[:5]), scores.take(every[5:])])
  assert together.scores() == found


def test_other_outputs_have_no_score_on_edges():
  feedback = samplers.make_sampler('bfs', size=5, batch_size=4, seed=1,
                                   split='test').batch(0)
  preds = _predict(feedback.outputs, np.random.default_rng(2))
  scores = scoring.SampleScores(feedback.outputs, preds,
                                feedback.features.inputs)
  assert set(scores.scores()) == {'pi', 'score'}


def test_what_the_trivial_answer_of_floyd_warshall_scores():
  """That the way from i to j comes to j from i itself, as on an edge.

  It has about 0.26 on all pairs and 0.35 on edges; sets of 100 graphs differ by
  0.025 and 0.017 (standard deviations), sets of 300 by 0.014 and 0.01.
  """
  feedback, _, truth = _graphs(size=64, batch_size=300, seed=0)
  rows = np.broadcast_to(np.arange(64)[:, None], truth.data.shape)
  preds = {'Pi': clrs.DataPoint('Pi', truth.location, truth.type_, rows)}
  found = scoring.SampleScores(feedback.outputs, preds,
                               feedback.features.inputs).scores()
  assert found['Pi'] == pytest.approx(0.261, abs=0.045)
  assert found['Pi_on_edges'] == pytest.approx(0.353, abs=0.03)


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


@pytest.mark.parametrize('task', TASKS)
def test_samples_that_are_right_throughout(task):
  outputs, preds = _batch(task, batch_size=40)
  scores = scoring.SampleScores(outputs, preds)
  expected = [_clrs_scores(outputs, preds, [i])['score'] == 1
              for i in range(40)]
  np.testing.assert_array_equal(scores.whole(), expected)
  some = np.array([3, 0, 7])
  np.testing.assert_array_equal(scores.take(some).whole(),
                                np.array(expected)[some])
