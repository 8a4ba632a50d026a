# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of GRANOLA, alone and in a step."""

import clrs
import dear_jax
from dear_jax.networks import cayley
from dear_jax.networks import edge_lists
from dear_jax.networks import layers
from dear_jax.networks import steps
import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests import graphs

WIDTH = 8
KEY = jax.random.PRNGKey(0)


def _moved(params, scale=1.0):
  """Biases away from where they start."""
  rng = np.random.RandomState(2)
  return jax.tree_util.tree_map(
      lambda x: jnp.asarray(scale * x + 0.1 * rng.randn(*x.shape), x.dtype),
      params)


def test_agrees_with_its_formula():
  inputs = graphs.random_graphs(batch_size=2, nb_nodes=4, seed=3)
  adjacency = np.array(inputs.adj_mat) > 0.5
  adjacency[0, 3] = adjacency[0, :, 3] = False  # nobody sends to that one
  values = inputs.node_fts

  def run(values, is_edge):
    norm = layers.Granola(WIDTH)
    prepared = norm.prepare(values, steps.nb_neighbours(is_edge, None))
    return norm(values, prepared, lambda x: steps.sum_of_neighbours(
        x, is_edge=is_edge, edge_list=None))

  net = hk.transform(run)
  params = net.init(KEY, values, jnp.asarray(adjacency))
  np.testing.assert_array_equal(params['granola/~/scale']['b'], 1)
  np.testing.assert_array_equal(params['granola/~/shift']['b'], 0)
  params = _moved(params)
  result = jax.jit(net.apply)(params, KEY, values, jnp.asarray(adjacency))

  # The one key that is asked for.
  key = hk.transform(hk.next_rng_key).apply({}, KEY)
  features = np.asarray(jax.random.normal(key, (2, 4, 128)))
  p = {name.split('/~/')[1]: jax.tree_util.tree_map(np.asarray, leaves)
       for name, leaves in params.items()}
  assert set(p) == {'own', 'neighbours', 'scale', 'shift'}
  linear = lambda x, name: x @ p[name]['w'] + p[name]['b']
  x = np.asarray(values)
  # The order of the two is that of `layers.SplitLinear`.
  joint = np.concatenate([features, x], axis=-1)
  for b, j in np.ndindex(2, 4):
    received = [linear(joint[b, i], 'neighbours') for i in range(4)
                if adjacency[b, i, j]]
    hidden = linear(joint[b, j], 'own')
    if received:
      hidden = hidden + np.mean(received, axis=0)
    hidden = np.maximum(hidden, 0)
    normed = (x[b, j] - x[b, j].mean()) / np.sqrt(x[b, j].var() + 1e-5)
    np.testing.assert_allclose(
        result[b, j], linear(hidden, 'scale') * normed
        + linear(hidden, 'shift'), rtol=1e-4, atol=1e-5)


def _connections():
  """A Cayley graph with self-loops: matrix, list and table of neighbours."""
  graph = cayley.cayley_graph(2)
  order = len(graph.elements)
  senders = np.concatenate([np.arange(order)[None], graph.neighbours.T])
  adjacency = np.zeros((3, order, order), np.float32)
  adjacency[:, senders, np.arange(order)] = 1
  edges = edge_lists.from_inputs([clrs.DataPoint(
      'adj', clrs.Location.EDGE, clrs.Type.MASK, adjacency)])
  assert edges.receivers[-1] == 3 * order  # it is longer than there are edges
  return (adjacency, edge_lists.EdgeList(*map(jnp.asarray, edges)),
          edge_lists.Neighbours(jnp.asarray(senders)))


def test_aggregations_agree():
  adjacency, edges, neighbours = _connections()
  values = np.random.RandomState(0).randn(3, 6, 5).astype(np.float32)
  expected = np.zeros_like(values)
  for b, i, j in np.argwhere(adjacency):
    expected[b, j] += values[b, i]
  matrix, no_matrix = jnp.asarray(adjacency > 0.5), jnp.zeros((3, 6, 1), bool)
  for is_edge, edge_list in ((matrix, None), (matrix, edges),
                             (no_matrix, neighbours)):
    sums = steps.sum_of_neighbours(jnp.asarray(values), is_edge=is_edge,
                                   edge_list=edge_list)
    np.testing.assert_allclose(sums, expected, rtol=1e-5, atol=1e-5)
    counts = steps.nb_neighbours(is_edge, edge_list)
    np.testing.assert_array_equal(counts, np.full((3, 6, 1), 3))


def test_aggregations_follow_the_direction_of_edges():
  """From the second axis but last to the last, as messages."""
  is_edge = jnp.zeros((1, 3, 3), bool).at[0, 0, 2].set(True)
  is_edge = is_edge.at[0, 1, 2].set(True)
  values = jnp.asarray([[[1.0], [2.0], [4.0]]])
  edges = edge_lists.EdgeList(
      senders=jnp.array([0, 1, 0]), receivers=jnp.array([2, 2, 3]),
      pairs=jnp.array([2, 5, 0]))
  for edge_list in (None, edges):
    sums = steps.sum_of_neighbours(values, is_edge=is_edge,
                                   edge_list=edge_list)
    np.testing.assert_array_equal(sums, [[[0], [0], [3]]])
    np.testing.assert_array_equal(steps.nb_neighbours(is_edge, edge_list),
                                  [[[1], [1], [2]]])


def test_steps_agree():
  """The whole step, on the same graph in three layouts."""
  adjacency, edges, neighbours = _connections()
  rng = np.random.RandomState(1)
  draw = lambda *shape: jnp.asarray(rng.randn(*shape), jnp.float32)
  nodes, graph, hidden = draw(3, 6, WIDTH), draw(3, WIDTH), draw(3, 6, WIDTH)
  feature = draw(1, WIDTH)  # of all edges: a table has no room for others
  layouts = [
      (jnp.broadcast_to(feature, (3, 6, 6, WIDTH)), adjacency, None),
      (layers.LowRank(jnp.ones((len(edges.pairs), 1)), feature), adjacency,
       edges),
      (feature[0], np.zeros((3, 6, 1)), neighbours)]

  def run(nodes, graph, hidden):
    pgn = steps.PGN(WIDTH, norm='granola')
    results = []
    for edge_fts, adj_mat, edge_list in layouts:
      with hk.with_rng(KEY):
        context = pgn.prepare(nodes, edge_fts, graph, jnp.asarray(adj_mat),
                              edge_list)
      results.append(pgn.step(hidden, context))
    return results

  net = hk.transform(run)
  params = _moved(jax.jit(net.init)(KEY, nodes, graph, hidden))
  assert not any(name.endswith('/~/norm') for name in params)
  dense, sparse, table = jax.jit(net.apply)(params, None, nodes, graph, hidden)
  np.testing.assert_allclose(sparse, dense, rtol=1e-5, atol=1e-5)
  np.testing.assert_allclose(table, dense, rtol=1e-5, atol=1e-5)


@pytest.fixture(name='solve', scope='module')
def _solve():
  """Solves a batch with the random features of a seed."""
  inputs = graphs.random_graphs(batch_size=8, nb_nodes=4)
  # Instances that converge at different speeds, for there to be stragglers.
  inputs = inputs._replace(
      node_fts=inputs.node_fts * jnp.logspace(0, 1, 8)[:, None, None])
  factory = dear_jax.get_processor_factory(
      'dear_pgn', norm='granola', solver=dear_jax.SolverConfig(
          method='picard', tol=1e-4, max_iter=99))

  def run(inputs, key):
    processor = factory(WIDTH)
    solutions = {}
    for split in (True, False):
      with hk.with_rng(key):
        result = processor.solve(*inputs, split=split)
      solutions[split] = result.solution
    value = result.solution.value
    return solutions, [result.fun(value, *result.args) for _ in range(2)]

  net = hk.transform(run)
  params = jax.jit(net.init)(KEY, inputs, KEY)
  # Half the weights make it a contraction.
  params = jax.tree_util.tree_map(lambda x: 0.5 * x, params)
  apply = jax.jit(net.apply)
  return lambda seed: apply(params, None, inputs, jax.random.PRNGKey(seed))


def _norm(x):
  return np.linalg.norm(np.reshape(x, (len(x), -1)), axis=1)


def test_random_features_are_drawn_once_a_solve(solve):
  """Were they drawn at every evaluation, there would be no fixed point."""
  solutions, (once, twice) = solve(seed=0)
  solution = solutions[False]
  np.testing.assert_array_equal(once, twice)
  assert solution.converged.all() and (solution.residual < 1e-4).all()
  assert (_norm(once - solution.value) < 2e-4 * _norm(once)).all()

  other = solve(seed=1)[0][False]
  assert other.converged.all()
  assert (_norm(other.value - solution.value) > 0.01 * _norm(once)).all()


def test_splitting_changes_nothing(solve):
  """Each instance goes on with its own random features."""
  solutions, _ = solve(seed=0)
  split, whole = solutions[True], solutions[False]
  assert split.evaluations < whole.evaluations  # else nothing was split
  np.testing.assert_array_equal(split.steps, whole.steps)
  np.testing.assert_allclose(split.value, whole.value, rtol=1e-5, atol=1e-5)


@pytest.fixture(name='model', scope='module')
def _model():
  batch = graphs.feedback()
  model = dear_jax.DEARModel(
      graphs.SPEC, batch, dear_jax.get_processor_factory(
          'dear_pgn', norm='granola',
          solver=dear_jax.SolverConfig(max_iter=12)),
      hidden_dim=WIDTH, learning_rate=0.01, jacobian_weight=0.1, debug=True)
  model.init(batch.features, 0)
  return model


def test_predictions_depend_on_the_key_alone(model):
  features = graphs.feedback().features
  states = [model.predict(jax.random.PRNGKey(seed), features)[2]
            for seed in (0, 0, 1)]
  np.testing.assert_array_equal(states[0], states[1])
  assert np.isfinite(states[0]).all()
  assert (np.abs(states[0] - states[2]).max(axis=(0, 2, 3)) > 0.01).all()


def test_trains_all_of_its_parameters(model):
  before = model.params
  assert np.isfinite(model.feedback(KEY, graphs.feedback()))
  after = model.params
  assert sum('granola' in module for module in before) == 4
  for module, leaves in before.items():
    for name, leaf in leaves.items():
      assert np.isfinite(after[module][name]).all()
      assert not np.array_equal(leaf, after[module][name]), (module, name)


@pytest.mark.parametrize('kind, options, message', [
    ('dear_pgn', dict(norm='batch'), "'batch'"),
    ('dear_gat', dict(norm='granola'),
     "dear_pgn and dear_triplet_mpnn, not for 'dear_gat'"),
    ('dear_pgn', dict(norm='granola', use_ln=False),
     "'granola' and use_ln=False contradict"),
])
def test_bad_arguments(kind, options, message):
  with pytest.raises(ValueError, match=message):
    dear_jax.get_processor_factory(kind, **options)
  with pytest.raises(ValueError, match=message):
    dear_jax.TrainConfig(processor=kind, **options)


@pytest.mark.parametrize('kind', ['dear_pgn', 'dear_triplet_mpnn'])
def test_processors_that_have_it(kind):
  factory = dear_jax.get_processor_factory(kind, norm='granola')
  inputs = graphs.random_graphs(batch_size=1, nb_nodes=3)
  net = hk.transform(lambda *args: factory(WIDTH)(*args))
  params = jax.eval_shape(net.init, KEY, *inputs)
  assert any('granola' in module for module in params)
