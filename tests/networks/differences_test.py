# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of differences of numbers as features."""

import dear_jax
from dear_jax.networks import differences
from dear_jax.networks import edge_lists
import jax
import numpy as np
import pytest
from tests import feedbacks


def _batch(task, size=5):
  sampler = dear_jax.make_sampler(task, size=size, batch_size=3, seed=0,
                                  split='train')
  return sampler.spec, sampler.next()


def test_what_is_compared():
  _, batch = _batch('search')
  data = feedbacks.arrays(batch)
  found = differences.of_nodes(batch.features.inputs)
  pairs = differences.of_pairs(batch.features.inputs)
  names = [x.name for x in batch.features.inputs if x.name in ('pos', 'key')]
  assert sorted(names) == ['key', 'pos']
  for k, name in enumerate(names):
    for s, slope in enumerate(differences.SLOPES):
      column = k * len(differences.SLOPES) + s
      for b, i in np.ndindex(3, 5):
        np.testing.assert_allclose(
            found[b, i, column],
            np.tanh(slope * (data[name][b, i] - data['target'][b])), atol=1e-4)
        for j in range(5):
          np.testing.assert_allclose(
              pairs[b, i, j, column],
              np.tanh(slope * (data[name][b, i] - data[name][b, j])),
              atol=1e-4)


def test_on_a_list_of_edges():
  _, batch = _batch('bellman_ford')
  inputs = batch.features.inputs
  edges = edge_lists.from_inputs(inputs)
  everything = np.reshape(differences.of_pairs(inputs), (75, -1))
  np.testing.assert_allclose(
      differences.of_pairs(inputs, edges.pairs), everything[edges.pairs],
      rtol=1e-6)
  assert differences.of_nodes(inputs) is None  # the graph has no number


def test_the_lightest_edge_of_a_node_is_known():
  _, batch = _batch('bellman_ford', size=6)
  inputs = batch.features.inputs
  data = feedbacks.arrays(batch)
  slopes = len(differences.SLOPES)
  found = np.asarray(differences.of_pairs(inputs, relative=True))
  without = differences.of_pairs(inputs)
  np.testing.assert_array_equal(found[..., :without.shape[-1]], without)
  rest = found[..., without.shape[-1]:]
  assert rest.shape[-1] == 2 * slopes
  for b, i, j in np.ndindex(3, 6, 6):
    into = [data['A'][b, k, j] for k in range(6)
            if k != j and data['adj'][b, k, j]]
    out = [data['A'][b, i, k] for k in range(6)
           if k != i and data['adj'][b, i, k]]
    is_edge = i != j and data['adj'][b, i, j]
    for place, others in ((0, into), (slopes, out)):
      expected = data['A'][b, i, j] - min(others) if is_edge else 0.0
      np.testing.assert_allclose(
          rest[b, i, j, place:place + slopes],
          np.tanh(np.multiply(differences.SLOPES, expected)), atol=1e-4)
  edges = edge_lists.from_inputs(inputs)
  np.testing.assert_allclose(
      differences.of_pairs(inputs, edges.pairs, relative=True),
      np.reshape(found, (3 * 36, -1))[edges.pairs], rtol=1e-6)
  assert np.isfinite(found).all()  # of nodes without edges, too


def test_the_steepest_tells_close_numbers_apart():
  keys = np.array([[0.500, 0.501]], np.float32)
  probe = dear_jax.make_sampler('minimum', size=2, batch_size=1, seed=0,
                                split='train').next().features.inputs
  probe = [type(x)(x.name, x.location, x.type_, keys) for x in probe
           if x.name == 'key']
  steepest = differences.of_pairs(probe)[0, 1, 0, -1]
  assert steepest > 0.4


@pytest.mark.parametrize('task, scalars', [
    ('bellman_ford', 'differences'), ('bellman_ford', 'relative'),
    ('search', 'differences')])
def test_layouts_agree_and_all_of_it_trains(task, scalars):
  spec, batch = _batch(task)
  factory = dear_jax.get_processor_factory(
      'dear_pgn', gradient='one_step', solver=dear_jax.SolverConfig(
          method='picard', max_iter=3, select='last'))
  losses = []
  for layout in ('dense', 'sparse') if task == 'bellman_ford' else ('dense',):
    model = dear_jax.DEARModel(spec, batch, factory, hidden_dim=8,
                               layout=layout, scalars=scalars)
    model.init(batch.features, 0)
    loss, grads = model.compute_grad(jax.random.PRNGKey(0), batch)
    losses.append(loss)
    found = {name.split('/')[-1]: grad for name, grad in grads.items()
             if 'differences' in name}
    assert set(found) == {'algo_0_edge_differences'} | (
        {'algo_0_node_differences'} if task == 'search' else set())
    assert all((np.abs(x['w']).max(axis=1) > 0).all() for x in found.values())
  np.testing.assert_allclose(losses, losses[0], rtol=1e-5)


@pytest.mark.parametrize('scalars', ['relative', 'relative_units'])
def test_edges_are_known_by_their_type(scalars):
  """A user's own task may call them otherwise, and is padded in training."""
  spec, batch = _batch('bellman_ford')
  spec = {'links' if name == 'adj' else name: x for name, x in spec.items()}
  is_pair = batch.features.inputs[3].data
  def other(x):
    data = np.where(is_pair, x.data, 0.01) if x.name == 'A' else x.data
    return type(x)('links' if x.name == 'adj' else x.name, x.location, x.type_,
                   data)
  batch = batch._replace(features=batch.features._replace(
      inputs=[other(x) for x in batch.features.inputs]))
  factory = dear_jax.get_processor_factory(
      'dear_pgn', gradient='one_step', solver=dear_jax.SolverConfig(
          method='picard', max_iter=3, select='last'))
  losses = []
  for layout, size in (('dense', None), ('sparse', 7)):
    model = dear_jax.DEARModel(spec, batch, factory, hidden_dim=8, pad_to=size,
                               layout=layout, scalars=scalars)
    model.init(batch.features, 0)
    losses.append(model.compute_grad(jax.random.PRNGKey(0), batch)[0])
  np.testing.assert_allclose(*losses, rtol=1e-5)


@pytest.mark.parametrize('scalars, is_same', [
    ('units', True), ('relative_units', True), ('differences', False)])
def test_what_weights_are_measured_in(scalars, is_same):
  spec, batch = _batch('bellman_ford')
  inputs = [type(x)(x.name, x.location, x.type_, 40 * x.data)
            if x.name == 'A' else x for x in batch.features.inputs]
  other = batch._replace(features=batch.features._replace(inputs=inputs))
  factory = dear_jax.get_processor_factory(
      'dear_pgn', gradient='one_step', solver=dear_jax.SolverConfig(
          method='picard', max_iter=3, select='last'))
  model = dear_jax.DEARModel(spec, batch, factory, hidden_dim=8,
                             scalars=scalars)
  model.init(batch.features, 0)
  one, two = (model.compute_grad(jax.random.PRNGKey(0), x)[0]
              for x in (batch, other))
  assert (abs(one - two) < 1e-5) == is_same


def test_an_unknown_encoding():
  spec, batch = _batch('search')
  with pytest.raises(ValueError, match='units, relative_units, got .squares'):
    dear_jax.DEARModel(spec, batch, dear_jax.get_processor_factory('dear_pgn'),
                       scalars='squares')
