# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of lists of edges, and of what is computed on them."""

import clrs
import dear_jax
from dear_jax.models import layouts
from dear_jax.networks import edge_lists
from dear_jax.networks import layers
from dear_jax.networks import nets
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests import feedbacks


def make(task, size=6, batch_size=4, index=0):
  sampler = dear_jax.make_sampler(task, size=size, batch_size=batch_size,
                                  seed=0, split='train')
  return sampler.spec, sampler.batch(index)


@pytest.mark.parametrize('task', ['bfs', 'dfs'])
def test_lists_the_pairs_that_clrs_connects(task):
  _, batch = make(task)
  adj = feedbacks.arrays(batch)['adj']
  connected = (adj + adj.transpose(0, 2, 1) + np.eye(6)) > 0
  edges = edge_lists.from_inputs(batch.features.inputs)
  real = edges.receivers < 24
  assert real.sum() == connected.sum() and (np.diff(edges.receivers) >= 0).all()
  listed = np.zeros_like(connected)
  listed[edges.senders[real] // 6, edges.senders[real] % 6,
         edges.receivers[real] % 6] = True
  np.testing.assert_array_equal(listed, connected)
  np.testing.assert_array_equal(edges.senders[real] // 6,
                                edges.receivers[real] // 6)
  np.testing.assert_array_equal(np.flatnonzero(connected),
                                np.sort(edges.pairs[real]))
  assert {x.dtype for x in edges} == {np.dtype(np.int32)}


def test_a_uniform_list_has_its_graphs_side_by_side():
  _, batch = make('bfs')
  plain = edge_lists.from_inputs(batch.features.inputs)
  uniform = edge_lists.from_inputs(batch.features.inputs, uniform=True)
  np.testing.assert_array_equal(
      *(np.sort(edges.pairs[edges.receivers < 24])
        for edges in (plain, uniform)))
  senders, receivers, is_edge = edge_lists.by_instance(uniform, 4, 6)
  adj = feedbacks.arrays(batch)['adj'] + np.eye(6) > 0
  np.testing.assert_array_equal(is_edge.sum(axis=1), adj.sum(axis=(1, 2)))
  for graph in range(4):
    assert (np.diff(receivers[graph]) >= 0).all()
    real = is_edge[graph]
    assert (receivers[graph][~real] == 6).all()
    listed = np.zeros((6, 6), bool)
    listed[senders[graph][real], receivers[graph][real]] = True
    np.testing.assert_array_equal(listed, adj[graph])
  values = np.arange(1, len(uniform.pairs) + 1, dtype=np.float32)[:, None]
  matrix = edge_lists.to_matrix(uniform, values, 4, 6)[..., 0]
  np.testing.assert_array_equal(matrix > 0, adj)
  real = uniform.receivers < 24
  np.testing.assert_array_equal(
      np.ravel(matrix)[uniform.pairs[real]], values[real, 0])


@pytest.mark.parametrize('fine, waste, most', [(False, 0.5, 26),
                                               (True, 0.25, 50)])
def test_lengths_are_few_and_waste_little(fine, waste, most):
  lengths = [edge_lists.padded_length(n, fine) for n in range(1, 5000)]
  assert all(n <= length < (1 + waste) * n + 2
             for n, length in enumerate(lengths, start=1))
  assert len(set(lengths)) < most
  assert lengths == sorted(lengths)


@pytest.mark.parametrize('ties', [False, True])
def test_maxima_and_their_gradients(ties):
  """Also where entries tie, which share the gradient as in `jnp.max`."""
  rng = np.random.RandomState(0)
  mask = rng.rand(2, 5, 4) < 0.5
  mask[:, 0] = True
  values = rng.randn(2, 5, 4, 3)
  if ties:
    values = np.round(values)
    greatest = values == np.max(np.where(mask[..., None], values, -9), 1,
                                keepdims=True)
    assert np.any(np.sum(greatest & mask[..., None], axis=1) > 1)
  values = jnp.asarray(values, jnp.float32)
  weights = jnp.asarray(rng.randn(2, 4, 3), jnp.float32)
  graph, receiver, sender = np.nonzero(mask.transpose(0, 2, 1))
  segments = jnp.asarray(np.append(graph * 4 + receiver, 8))  # one too many
  def plain(values):
    return jnp.max(jnp.where(mask[..., None], values, -1e6), axis=1)
  def dense(values):
    return layers.masked_max(values, mask)
  def sparse(values):
    rows = values[graph, sender, receiver]
    rows = jnp.concatenate([rows, jnp.full((1, 3), 9.0)])
    return layers.segment_max(rows, segments, 8).reshape(2, 4, 3)
  for fun in (dense, sparse):
    np.testing.assert_array_equal(fun(values), plain(values))
    loss = lambda x, fun=fun: jnp.sum(jnp.sin(fun(x)) * weights)
    expected = lambda x: jnp.sum(jnp.sin(plain(x)) * weights)
    np.testing.assert_allclose(jax.grad(loss)(values),
                               jax.grad(expected)(values), atol=1e-6)
    # And once more, as the Jacobian penalty does.
    twice = jax.grad(lambda x, f=loss: jnp.sum(jax.grad(f)(x)**2))
    of_plain = jax.grad(lambda x: jnp.sum(jax.grad(expected)(x)**2))
    np.testing.assert_allclose(twice(values), of_plain(values), atol=1e-5)
    direction = jnp.asarray(rng.randn(*values.shape), jnp.float32)
    for here, there in zip(*(jax.jvp(f, (values,), (direction,))
                             for f in (fun, plain))):
      np.testing.assert_allclose(here, there, atol=1e-6)


# Pointers on edges, pointers to all nodes on directed edges, pointers of edges.
@pytest.mark.parametrize('task, kind, decoder', [
    ('bellman_ford', 'dear_pgn', 'clrs'),
    ('strongly_connected_components', 'dear_pgn', 'clrs'),
    ('floyd_warshall', 'dear_pgn', 'clrs'),
    ('floyd_warshall', 'dear_pgn', 'triplet'),
    ('bellman_ford', 'dear_pgn_edges', 'clrs'),
    ('strongly_connected_components', 'dear_pgn_edges', 'clrs'),
    ('floyd_warshall', 'dear_pgn_edges', 'clrs'),
    ('floyd_warshall', 'dear_pgn_edges', 'paths')])
def test_layouts_agree(task, kind, decoder):
  spec, batch = make(task)
  key = jax.random.PRNGKey(0)
  # No tolerance is asked for: one layout might just meet what the other misses.
  factory = dear_jax.get_processor_factory(
      kind, gradient='unrolled', solver=dear_jax.SolverConfig(
          method='picard', max_iter=3, select='last'))
  results = []
  for layout in ('dense', 'sparse'):
    # The states of edges have other places, and so other random directions.
    model = dear_jax.DEARModel(
        spec, batch, factory, hidden_dim=8, eval_iterations=1, layout=layout,
        edge_pointers=decoder,
        jacobian_weight=0 if kind == 'dear_pgn_edges' else 1e-4)
    model.init(batch.features, 0)
    assert (model._batch(batch.features, (), 0).edge_list is None) == (
        layout == 'dense')
    loss, grads = model.compute_grad(key, batch)
    preds, metrics = model.evaluate(key, batch)
    results.append(((loss, grads, dict(model.metrics), metrics), preds))
  close = lambda x, y: np.testing.assert_allclose(x, y, atol=1e-5, rtol=1e-5)
  jax.tree_util.tree_map(close, *[numbers for numbers, _ in results])
  (_, dense), (_, sparse) = results
  for name in dense:
    np.testing.assert_array_equal(dense[name].data, sparse[name].data)


def chosen(task, size=16, processor='dear_pgn', pad_to=None, **options):
  spec, batch = make(task, size, batch_size=8)
  model = dear_jax.DEARModel(
      spec, batch, dear_jax.get_processor_factory(processor, **options),
      hidden_dim=8, pad_to=pad_to)
  model._devices.are_cpus = True  # also where tests have several
  data = model._batch(batch.features, (), 0, training=pad_to is not None)
  return 'dense' if data.edge_list is None else 'sparse'


def test_auto_chooses_what_is_faster(monkeypatch):
  assert chosen('bfs') == 'sparse'
  assert chosen('minimum') == 'dense'
  assert chosen('bfs', size=15) == 'dense'  # few pairs
  assert chosen('bfs', processor='dear_triplet_mpnn') == 'dense'
  assert chosen('bfs', processor='dear_gat') == 'dense'
  assert chosen('bfs', fully_connected=True) == 'dense'
  monkeypatch.setattr(layouts, '_DENSE_FROM', 0.1)
  assert chosen('bfs') == 'dense'
  # Sizes of training share programs, where they can be padded.
  assert chosen('bfs', pad_to=16) == 'sparse'
  assert chosen('bfs', size=15, pad_to=16) == 'dense'  # few pairs
  assert chosen('bfs', pad_to=16, cgp=True) == 'dense'
  assert chosen('bfs', processor='dear_pgn_edges', pad_to=16) == 'dense'


def test_wrong_layouts_are_named():
  spec, batch = make('minimum')
  factory = dear_jax.get_processor_factory('dear_pgn')
  with pytest.raises(ValueError, match="auto, dense, sparse, got 'thin'"):
    dear_jax.DEARModel(spec, batch, factory, layout='thin')
  model = dear_jax.DEARModel(spec, batch, factory, layout='sparse')
  with pytest.raises(ValueError, match="layout='sparse' needs a task with a"):
    model.predict(jax.random.PRNGKey(0), batch.features)


def test_a_list_needs_no_pointers_among_the_inputs():
  assert nets.takes_edge_lists(clrs.SPECS['bfs'])
  assert not nets.takes_edge_lists(clrs.SPECS['insertion_sort'])


def test_edges_of_some_instances():
  _, batch = make('bfs', batch_size=8)
  edges = edge_lists.from_inputs(batch.features.inputs)
  count = lambda b: int(np.sum(edges.receivers // 6 == b))
  room = len(edges.pairs) * 3 // 8
  chosen = sorted(sorted(range(8), key=count)[:2])
  instances = jnp.array(chosen + [8])
  on_device = edge_lists.EdgeList(*map(jnp.asarray, edges))
  part, rows = edge_lists.take(on_device, instances, 8, 6)
  assert len(part.pairs) == room
  real = np.asarray(part.receivers) < 18
  assert real.sum() == sum(map(count, chosen))
  assert (np.diff(part.receivers) >= 0).all()
  rows = np.asarray(rows)[real]
  for new, old in enumerate(chosen):
    of_new = np.asarray(part.receivers)[real] // 6 == new
    assert set(edges.receivers[rows][of_new] // 6) == {old}
  for name, span in (('senders', 6), ('receivers', 6), ('pairs', 36)):
    np.testing.assert_array_equal(
        np.asarray(getattr(part, name))[real] % span,
        getattr(edges, name)[rows] % span)
  wanted = jnp.isin(jnp.arange(8), jnp.array(chosen))
  assert edge_lists.fits(on_device, wanted, 6, 3)
  assert not edge_lists.fits(on_device, jnp.ones(8, bool), 6, 3)
  kept = edge_lists.without_overflow(on_device, jnp.arange(3), 8, 6)
  total = np.cumsum([count(b) for b in range(3)])
  np.testing.assert_array_equal(
      kept, [b if total[b] <= room else 8 for b in range(3)])


@pytest.mark.parametrize('layout', ['dense', 'sparse'])
def test_penalty_of_a_part_of_the_batch(layout):
  spec, batch = make('bfs', batch_size=8)
  key = jax.random.PRNGKey(0)
  # The penalty does not depend on the gradient of the solve.
  factory = dear_jax.get_processor_factory('dear_pgn', gradient='one_step')
  def penalties(fraction, count):
    model = dear_jax.DEARModel(spec, batch, factory, hidden_dim=8,
                               layout=layout, jacobian_fraction=fraction)
    model.init(batch.features, 0)
    return [float(model.compute_grad(k, batch) and
                  model.metrics['jacobian_penalty'])
            for k in jax.random.split(key, count)]
  whole, part = penalties(1.0, 60), penalties(0.25, 60)
  np.testing.assert_allclose(np.mean(part), np.mean(whole), rtol=0.1)
  assert np.std(part) > np.std(whole) > 0


def test_maxima_of_pairs_and_nodes():
  rng = np.random.RandomState(0)
  pairs, nodes, weights, cotangent = (
      jnp.asarray(rng.randn(*shape), jnp.float32)
      for shape in ((2, 3, 3, 5), (2, 4, 5), (5,), (2, 3, 3, 4)))
  def plain(pairs, nodes, weights):
    maxima = jnp.maximum(pairs[:, :, :, None], nodes[:, None, None])
    return jnp.einsum('bijkf,f->bijk', maxima, weights)
  results = [jax.vjp(fun, pairs, nodes, weights)
             for fun in (layers.max_product, plain)]
  np.testing.assert_allclose(results[0][0], results[1][0], rtol=1e-5, atol=1e-5)
  for x, y in zip(*(pull_back(cotangent) for _, pull_back in results)):
    np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5)


def test_layers_on_products_that_are_not_taken():
  rng = np.random.RandomState(0)
  inputs, weights, matrix, bias = (
      jnp.asarray(rng.randn(*shape), jnp.float32)
      for shape in ((7, 2), (2, 4), (4, 5), (5,)))
  np.testing.assert_allclose(
      layers.LowRank(inputs, weights).apply(lambda x: x @ matrix + bias),
      inputs @ weights @ matrix + bias, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize('task, decoder', [
    ('bfs', 'clrs'), ('strongly_connected_components', 'clrs'),
    ('floyd_warshall', 'clrs'), ('floyd_warshall', 'paths')])
def test_padding_changes_nothing(task, decoder):
  spec, batch = make(task, size=5)
  key = jax.random.PRNGKey(0)
  factory = dear_jax.get_processor_factory(
      'dear_pgn', solver=dear_jax.SolverConfig(tol=1e-5))
  def model(pad_to):
    model = dear_jax.DEARModel(
        spec, batch, factory, hidden_dim=8, layout='sparse', pad_to=pad_to,
        jacobian_weight=0.0, edge_pointers=decoder)
    model.init(batch.features, 0)
    return model
  plain, padded = model(None), model(8)
  loss, grads = plain.compute_grad(key, batch)
  padded_loss, padded_grads = padded.compute_grad(key, batch)
  np.testing.assert_allclose(padded_loss, loss, rtol=1e-5)
  jax.tree_util.tree_map(
      lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-3, atol=1e-5),
      padded_grads, grads)
  np.testing.assert_array_equal(padded.metrics['solver_steps_mean'],
                                plain.metrics['solver_steps_mean'])
  described = padded.describe_shape(batch.features, 0, training=True)
  assert described.startswith('sizes up to 8 with up to')
  assert plain.describe_shape(batch.features, 0, True).startswith('size 5 w')
  assert padded.describe_shape(batch.features, 0, False).startswith('size 5 w')
  # Predictions are not padded, and another size has the same program.
  preds, _ = padded.predict(key, batch.features)
  assert preds[batch.outputs[0].name].data.shape == batch.outputs[0].data.shape


def test_sizes_share_a_program():
  spec, batch = make('bfs', size=6, batch_size=8)
  factory = dear_jax.get_processor_factory('dear_pgn', gradient='one_step')
  model = dear_jax.DEARModel(spec, batch, factory, hidden_dim=8,
                             layout='sparse', pad_to=8)
  model.init(batch.features, 0)
  lengths = set()
  # Batches of which those of 4 and 5, and of 6 and 7 nodes have lists of equal
  # length.
  for size, index in ((4, 1), (5, 0), (6, 0), (7, 1), (8, 0)):
    _, batch = make('bfs', size=size, batch_size=8, index=index)
    assert np.isfinite(model.feedback(jax.random.PRNGKey(0), batch))
    lengths.add(model.describe_shape(batch.features, 0, training=True))
    assert model.metrics['jacobian_penalty'] > 0
  assert model.jitted_feedback._cache_size() == len(lengths) == 3  # pylint:disable=protected-access


def test_any_single_instance_has_room():
  adjacency = np.zeros((4, 6, 6))
  adjacency[1] = 1  # nearly all edges are in one of the graphs
  edges = edge_lists.EdgeList(*map(jnp.asarray, edge_lists.from_inputs(
      [clrs.DataPoint('adj', clrs.Location.EDGE, clrs.Type.MASK, adjacency)])))
  assert len(edges.pairs) // 4 < 36
  kept = edge_lists.without_overflow(edges, jnp.array([1]), 4, 6)
  np.testing.assert_array_equal(kept, [1])
  part, _ = edge_lists.take(edges, kept, 4, 6)
  assert (part.receivers < 6).sum() == 36
