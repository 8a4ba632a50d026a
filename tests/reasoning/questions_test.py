# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of questions: what is read is what training has seen."""

import clrs
from dear_jax.data import samplers
from dear_jax.reasoning import questions
import jax.numpy as jnp
import numpy as np
import pytest


def _question_of(task, feedback):
  """What a user would ask to get this batch."""
  inputs = {x.name: x.data for x in feedback.features.inputs}
  if 'A' in inputs:
    kwargs = {'adj': inputs['A']}
    if 's' in inputs:
      kwargs['source'] = inputs['s'].argmax(axis=1)
  else:
    kwargs = {'keys': inputs['key']}
    if 'target' in inputs:
      kwargs['target'] = inputs['target']
  return questions.read(task, (), kwargs, min_size=2)


@pytest.mark.parametrize('task', questions.TASKS)
def test_own_problems_become_what_training_has_seen(task):
  sampler = samplers.make_sampler(task, size=7, batch_size=3, seed=5,
                                  split='test', with_lengths=True)
  expected = sampler.batch(0)
  question = _question_of(task, expected)
  assert not question.is_single
  found = sampler.pose(**question.problems)
  for name in ('inputs', 'hints'):
    _assert_equal(getattr(found.features, name),
                  getattr(expected.features, name))
  np.testing.assert_array_equal(found.features.lengths,
                                expected.features.lengths)
  _assert_equal(found.outputs, expected.outputs)
  without = sampler.pose(with_outputs=False, **question.problems)
  assert not without.outputs
  _assert_equal(without.features.inputs, expected.features.inputs)


def _assert_equal(found, expected):
  assert [x.name for x in found] == [x.name for x in expected]
  for one, other in zip(found, expected):
    assert one.type_ == other.type_
    np.testing.assert_array_equal(one.data, other.data)


def test_all_tasks_with_a_graph_or_keys_are_known():
  known = set(questions.TASKS)
  for task in samplers.task_names():
    spec = samplers.tasks.spec_of(task)
    names = {name for name, (stage, _, _) in spec.items() if stage == 'input'}
    fits = names <= {'pos', 'A', 'adj', 's', 'key', 'target'}
    assert (task in known) == fits, task


def test_single_and_batch():
  adj = np.array([[0, 1], [1, 0]])
  single = questions.read('bfs', (adj, 1), {}, min_size=2)
  assert single.is_single
  batch = questions.read('bfs', (np.stack([adj, adj]), [1, 0]), {}, min_size=2)
  assert not batch.is_single
  np.testing.assert_array_equal(batch.problems['s'], [1, 0])
  np.testing.assert_array_equal(batch.problems['A'][:1], single.problems['A'])
  # One source for all of them.
  batch = questions.read('bfs', (np.stack([adj, adj]), 1), {}, min_size=2)
  np.testing.assert_array_equal(batch.problems['s'], [1, 1])


def test_names_of_clrs_are_known():
  adj = np.array([[0, 1], [1, 0]])
  question = questions.read('bfs', (), dict(A=adj, s=1), min_size=2)
  np.testing.assert_array_equal(question.problems['A'][0], adj)


def test_keys_in_range_stay_as_they_are():
  keys = np.array([0.3, 0.1, 1.0, 0.0])
  found = questions.read('insertion_sort', (keys,), {}, min_size=2)
  np.testing.assert_array_equal(found.problems['key'][0], keys)


def test_other_keys_keep_their_order_and_distances():
  keys = np.array([[-30, 10, 500.0], [0.1, 0.9, 0.5]])
  found = questions.read('minimum', (keys,), {}, min_size=2).problems['key']
  assert found.min() >= 0 and found.max() <= 1
  np.testing.assert_allclose((found[0, 1] - found[0, 0]) / np.ptp(found[0]),
                             40 / 530)
  np.testing.assert_array_equal(found[1], keys[1])


@pytest.mark.parametrize('keys', [
    [7, 7, 7], [3, 1, 2, 1], [0.5, 0.50001, 0.2], [1, 10, 100, 1e6], [4, 4],
    [2, 1, 1e20], [2e-200, 1e-200, 1e200]])
def test_keys_that_are_too_close_get_even_distances(keys):
  """Only their order matters, and equal ones stand in the order given."""
  found = questions.read('minimum', (keys,), {}, min_size=2).problems['key'][0]
  order = np.argsort(keys, kind='stable')
  np.testing.assert_allclose(
      found[order], np.arange(1, len(keys) + 1) / (len(keys) + 1))


@pytest.mark.parametrize('keys, target', [
    ([10, 20, 30], 20), ([10, 20, 30], 5), ([10, 20, 20, 30], 20),
    ([1, 1, 1, 1], 1), ([0.1, 0.2, 0.7], 0.7), ([1, 2, 2, 3], 2.1)])
def test_target_moves_with_its_keys(keys, target):
  for task in ('search', 'binary_search'):
    found = questions.read(task, (keys, target), {}, min_size=2).problems
    new_keys, new_target = found['key'][0], found['target'][0]
    assert 0 <= min(new_keys.min(), new_target) and new_keys.max() <= 1
    assert np.all(np.diff(new_keys) > 0)
    # Training knows no target that is equal to a key.
    assert not (new_keys == new_target).any()
    np.testing.assert_array_equal(new_keys < new_target,
                                  np.array(keys) < target)


def test_weights_of_which_the_order_matters():
  """Trees go by the order of weights, shortest paths by their sums."""
  adj = np.array([[0, 2, 2], [2, 0, 1], [2, 1, 0]])
  found = questions.read('mst_prim', (adj, 0), {}, min_size=2).problems['A'][0]
  np.testing.assert_allclose(
      found, [[0, 0.5, 0.75], [0.5, 0, 0.25], [0.75, 0.25, 0]])
  found = questions.read('bellman_ford', (adj, 0), {}, min_size=2).problems['A']
  np.testing.assert_array_equal(found[0], adj / 2)
  tiny = np.array([[0, 2e-200, 1e200], [2e-200, 0, 1e-200], [1e200, 1e-200, 0]])
  found = questions.read('mst_prim', (tiny, 0), {}, min_size=2).problems['A'][0]
  np.testing.assert_allclose(
      found, [[0, 0.5, 0.75], [0.5, 0, 0.25], [0.75, 0.25, 0]])
  distinct = np.array([[0, 0.9, 0.3], [0.9, 0, 0.5], [0.3, 0.5, 0]])
  found = questions.read('mst_prim', (distinct, 0), {}, min_size=2)
  np.testing.assert_array_equal(found.problems['A'][0], distinct)


def test_signed_keys_keep_their_signs():
  found = questions.read('find_maximum_subarray', ([-5, 10, -1],), {},
                         min_size=2)
  np.testing.assert_array_equal(found.problems['key'][0] * 16, [-5, 10, -1])


def test_weights_are_scaled_graph_by_graph():
  adj = np.array([[0, 4], [4, 0]])
  graphs = np.stack([adj, adj / 8, adj / 400, 0 * adj])
  found = questions.read('bellman_ford', (graphs, 0), {},
                         min_size=2).problems['A']
  np.testing.assert_allclose(found[:, 0, 1], [1, 0.5, 0.64, 0])


@pytest.mark.parametrize('task', ['bellman_ford', 'dijkstra', 'floyd_warshall'])
def test_ties_of_whole_weights_stay_ties(task):
  """What is scaled has the shortest paths of what was given, bit for bit."""
  rng = np.random.default_rng(0)
  algorithm = getattr(clrs.algorithms, task)
  for highest in (10, 100):
    adj = np.triu(rng.integers(1, highest, (16, 16)), 1)
    adj = (adj + adj.T) * 1.0
    args = {} if task == 'floyd_warshall' else {'source': 3}
    found = questions.read(task, (adj,), args, min_size=2).problems
    assert found['A'].max() <= 1
    source = [3] if args else []
    np.testing.assert_array_equal(algorithm(found['A'][0], *source)[0],
                                  algorithm(adj, *source)[0])


@pytest.mark.parametrize('task', ['bellman_ford', 'floyd_warshall', 'mst_prim'])
@pytest.mark.parametrize('loop', [1e-40, 0.5, 5.0, 1e31, 1e300])
def test_edges_from_nodes_to_themselves_have_no_part_in_the_unit(task, loop):
  """They are what Floyd-Warshall's algorithm makes of them, at any weight."""
  rng = np.random.default_rng(1)
  adj = np.triu((rng.random((7, 7)) < 0.5) * rng.random((7, 7)), 1)
  adj = (adj + adj.T) * 10
  adj[:, 6] = adj[6, :] = 0
  looped = adj.copy()
  looped[[0, 2, 6], [0, 2, 6]] = loop
  args = () if task == 'floyd_warshall' else (0,)
  read = lambda x: questions.read(task, (x, *args), {}, min_size=2).problems
  found, plain = read(looped)['A'][0], read(adj)['A'][0]
  off = ~np.eye(7, dtype=bool)
  np.testing.assert_array_equal(found[off], plain[off])
  assert ((found > 0) == (looped > 0)).all() and found.max() <= 3
  algorithm = getattr(clrs.algorithms, task)
  np.testing.assert_array_equal(algorithm(found, *args)[0],
                                algorithm(looped, *args)[0])


def test_loops_that_training_has_seen_leave_weights_as_they_are():
  for light, unit in ((0.1, 0.1), (0.01, 0.64)):
    adj = np.array([[0.7, light], [light, 0]])
    found = questions.read('bellman_ford', (adj, 0), {}, min_size=2)
    assert found.problems['A'][0, 0, 1] == unit


def test_where_all_edges_lead_from_nodes_to_themselves():
  found = questions.read('floyd_warshall', (np.diag([6.0, 3, 0]),), {},
                         min_size=2).problems['A'][0]
  np.testing.assert_array_equal(found, np.diag([0.75, 0.375, 0]))


@pytest.mark.parametrize('task, given, message', [
    ('bellman_ford', [[[0, 0.1 + 0.2], [0.3, 0]], 0],
     r'adj\[0, 1\] is 0.30000000000000004 and adj\[1, 0\] is 0.3\.'),
    ('search', [[0.1, 0.3], 0.1 + 0.2], r'0.3, got 0.30000000000000004\.'),
    ('search', [[1, 2], 2**70], r'between -2\*\*53 and 2\*\*53, got 1.18059'),
    ('minimum', [np.array([2**60 + 1, 2**60])], r'keys\[0\] is 1.15'),
    ('minimum', [[2**70, 1]], r'2\*\*53, but keys\[0\] is 1.18'),
    ('minimum', [[10**400, 1]], r'some of its entries are too large'),
    ('minimum', [np.ma.array([2, 1], mask=[1, 0])], 'masked'),
    ('minimum', [np.array([1, 'x', None], object)], 'NoneType and str'),
    ('bellman_ford', [[[0, 1e-50, 1], [1e-50, 0, 0], [1, 0, 0]], 0],
     r'below 1e-30 of the greatest one, but adj\[0, 1\] is 1e-50'),
    ('search', [[1, 2], 2**60], 'target must hold whole numbers')])
def test_numbers_that_would_be_confused_are_refused(task, given, message):
  with pytest.raises(ValueError, match=message) as e:
    questions.read(task, given, {}, min_size=2)
  assert '\n' not in str(e.value) and str(e.value).endswith('.')


def test_numbers_of_any_type():
  ml_dtypes = pytest.importorskip('ml_dtypes')
  for keys in (np.array([2, 0, 1], object), np.array([2, 0, 1], np.int8),
               np.array([2, 0, 1], ml_dtypes.bfloat16), np.ma.array([2, 0, 1]),
               [True, False, 0.5], [1e308, -1e308, 0.0]):
    found = questions.read('minimum', (keys,), {}, min_size=2).problems['key']
    np.testing.assert_array_equal(np.argsort(found[0]), [1, 2, 0])


def test_networkx_graphs():
  networkx = pytest.importorskip('networkx')
  graph = networkx.Graph()
  graph.add_edge('rome', 'pisa', weight=2.0)
  graph.add_edge('pisa', 'siena', weight=8.0)
  found = questions.read('bfs', (graph, 'siena'), {}, min_size=2)
  assert found.is_single
  np.testing.assert_array_equal(found.problems['A'][0],
                                [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
  np.testing.assert_array_equal(found.problems['s'], [2])
  weighted = questions.read('bellman_ford', (graph, 'rome'), {}, min_size=2)
  np.testing.assert_allclose(weighted.problems['A'][0, 1], [0.25, 0, 1])
  several = questions.read('bfs', ([graph, graph], ['rome', 'pisa']), {},
                           min_size=2)
  np.testing.assert_array_equal(several.problems['s'], [0, 1])
  for bad, source, message in (
      (networkx.MultiGraph([(0, 1)]), 0, 'MultiGraph'),
      (networkx.Graph(), 0, 'at least 2 nodes'),
      (networkx.DiGraph([(0, 1)]), 0, 'symmetric'),
      (graph, 'milan', "got 'milan'")):
    with pytest.raises(ValueError, match=message):
      questions.read('bfs', (bad, source), {}, min_size=2)
  with pytest.raises(ValueError, match='source must be a node of the graph'):
    questions.read('bfs', (graph, np.array([0, 0])), {}, min_size=2)
  numbered = networkx.path_graph(3)
  np.testing.assert_array_equal(questions.read(
      'bfs', ([numbered, numbered], jnp.array([0, 2])), {}, min_size=2
      ).problems['s'], [0, 2])
  graph.add_edge('rome', 'siena', weight='3')
  with pytest.raises(ValueError, match="a number as its weight, got '3'"):
    questions.read('bellman_ford', (graph, 'rome'), {}, min_size=2)
  graph.add_edge('rome', 'siena', weight=0)
  with pytest.raises(ValueError, match='weight of 0'):
    questions.read('bellman_ford', (graph, 'rome'), {}, min_size=2)


def test_sparse_matrices():
  sparse = pytest.importorskip('scipy.sparse')
  found = questions.read('bfs', (sparse.eye(3), 0), {}, min_size=2)
  np.testing.assert_array_equal(found.problems['A'][0], np.eye(3))
