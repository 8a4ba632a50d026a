# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of which nodes pointers can be."""

import clrs
import dear_jax
from dear_jax.data import tasks
from dear_jax.networks import pointers
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests import feedbacks

NODE, EDGE = clrs.Location.NODE, clrs.Location.EDGE


def _allowed(adj):
  """[B, i, j, k], in a loop, which nodes k a pair (i, j) may point to."""
  allowed = np.zeros(adj.shape + adj.shape[-1:], bool)
  for b, i, j, k in np.ndindex(*allowed.shape):
    allowed[b, i, j, k] = k == i or adj[b, k, j] > 0
  return allowed


@pytest.mark.parametrize('task, rule, expected', [
    ('bfs', None, {NODE}), ('bfs', 'nodes', {NODE}), ('bfs', False, ()),
    ('bfs', True, {NODE, EDGE}), ('minimum', None, ()),
    ('topological_sort', None, ()), ('floyd_warshall', None, {EDGE}),
    ('floyd_warshall', 'nodes', ()), ('floyd_warshall', False, ()),
    ('floyd_warshall', True, {NODE, EDGE})])
def test_where_pointers_are_restricted(task, rule, expected):
  spec = tasks.get_task(task).spec
  assert pointers.restricted_locations(spec, rule) == set(expected)
  assert pointers.restricts(spec, rule) == bool(expected)


def test_other_rules_are_named():
  with pytest.raises(ValueError, match="True, False, nodes, got 'edges'"):
    pointers.restricted_locations(tasks.get_task('bfs').spec, 'edges')


@pytest.mark.parametrize('graphs', ['er', 'tree', 'geometric', 'mixed'])
def test_pointers_of_pairs_lie_on_edges(graphs):
  """Also of pairs without a path; else a target would have no probability."""
  for size in (4, 9):
    data = feedbacks.arrays(dear_jax.make_sampler(
        'floyd_warshall', size=size, batch_size=50, seed=0, split='train',
        graphs=graphs).batch(0))
    target = data['Pi'].astype(int)[..., None]
    assert np.take_along_axis(_allowed(data['adj']), target, -1).all()


def test_pointers_of_pairs_lie_on_edges_with_a_direction():
  """CLRS's own algorithm on graphs that samplers do not draw."""
  rng = np.random.RandomState(0)
  against = 0
  for density in (0.1, 0.3, 0.7):
    for _ in range(20):
      lengths = rng.rand(7, 7) * (rng.rand(7, 7) < density)  # with self-loops
      target, _ = clrs.algorithms.floyd_warshall(lengths)
      target = target.astype(int)
      allowed = _allowed(lengths[None])[0]
      assert np.take_along_axis(allowed, target[..., None], -1).all()
      turned = _allowed(lengths.T[None])[0]
      against += np.sum(~np.take_along_axis(turned, target[..., None], -1))
  assert against  # so that the direction matters


def test_logits_of_pairs():
  rng = np.random.RandomState(0)
  adj = (rng.rand(2, 5, 5) < 0.4).astype(float)
  logits = jnp.asarray(rng.randn(2, 5, 5, 5), jnp.float32)
  inputs = [clrs.DataPoint('adj', EDGE, clrs.Type.MASK, jnp.asarray(adj)),
            clrs.DataPoint('A', EDGE, clrs.Type.SCALAR, jnp.ones((2, 5, 5)))]
  found = pointers.restrict_edges(logits, inputs)
  allowed = _allowed(adj)
  assert not allowed.all()
  np.testing.assert_array_equal(found, np.where(allowed, logits, -1e9))
  # An array has no graph, and all its nodes are connected.
  np.testing.assert_array_equal(
      pointers.restrict_edges(logits, inputs[1:]), logits)


@pytest.mark.parametrize('layout', ['dense', 'sparse'])
@pytest.mark.parametrize('rule', [None, 'nodes'])
def test_models_restrict_pointers_of_pairs(layout, rule):
  sampler = dear_jax.make_sampler('floyd_warshall', size=6, batch_size=2,
                                  seed=0, split='val')
  feedback = sampler.batch(0)
  model = dear_jax.DEARModel(
      sampler.spec, feedback, dear_jax.get_processor_factory('dear_pgn'),
      hidden_dim=8, layout=layout, restrict_pointers=rule)
  model.init(feedback.features, 0)
  batch = model._batch(feedback.features, (), 0)  # pylint:disable=protected-access

  @jax.jit
  def run(params):
    return model.net_fn.apply(
        params, jax.random.PRNGKey(0), [batch.inputs], repred=True,
        algorithm_index=0, edge_list=batch.edge_list).output_preds['Pi']

  left_out = np.asarray(run(model.params)) < -1e8
  allowed = _allowed(feedbacks.arrays(feedback)['adj'])
  if rule is None:
    np.testing.assert_array_equal(left_out, ~allowed)
  else:
    assert not left_out.any()
