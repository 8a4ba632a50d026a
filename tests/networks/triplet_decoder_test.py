# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the decoders that see all pairs of three nodes."""

import dear_jax
from dear_jax.networks import layers
from dear_jax.networks import triplet_decoder
import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import pytest

KINDS = tuple(triplet_decoder.ROUNDS)


def _decoder(kind):
  return hk.without_apply_rng(hk.transform(
      lambda *args: triplet_decoder.TripletDecoder(
          8, kind, name='algo_0_Pi')(*args)))


def _arguments():
  rng = np.random.RandomState(0)
  draw = lambda *shape: jnp.asarray(rng.randn(*shape), jnp.float32)
  return draw(2, 5, 6), draw(2, 5, 5, 4), draw(2, 5, 5, 3)


def _close(x, y):
  np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize('kind', KINDS)
def test_it_is_what_its_parts_say(kind):
  """Computed on all triples at once, from the parameters."""
  states, edge_fts, edges = _arguments()
  net = _decoder(kind)
  params = net.init(jax.random.PRNGKey(1), states, edge_fts, edges, None)
  assert all('algo_0_' in module for module in params)
  own = params['algo_0_Pi']
  def linear(name, x):
    layer = params[f'algo_0_Pi/~/{name}']
    return x @ layer['w'] + layer['b']
  pairs = (linear('sender', states)[:, :, None]
           + linear('receiver', states)[:, None]
           + linear('edge', edge_fts) + linear('edge_embedding', edges))
  pairs += np.eye(5)[:, :, None] * own['loop']
  pairs = np.maximum(pairs, 0)
  if kind == 'paths':
    pairs = linear('pair', pairs)
    for _ in range(2):
      first, second = np.split(linear('legs', pairs), 2, axis=-1)
      best = np.max(first[:, :, :, None] + second[:, None], axis=2)
      pairs = pairs + linear('update', np.maximum(
          linear('own', pairs) + linear('best', best), 0))
  ends, first, second = np.split(linear('scored', pairs), 3, axis=-1)
  sums = (ends[:, :, :, None] + first[:, :, None]
          + second.transpose(0, 2, 1, 3)[:, None])
  expected = np.maximum(sums, 0) @ own['weights']
  _close(net.apply(params, states, edge_fts, edges, None), expected)


@pytest.mark.parametrize('kind', KINDS)
def test_order_of_nodes_and_padding(kind):
  states, edge_fts, _ = _arguments()
  net = _decoder(kind)
  params = net.init(jax.random.PRNGKey(1), states, edge_fts, None, None)
  run = jax.jit(net.apply)
  expected = run(params, states, edge_fts, None, None)
  order = np.array([3, 0, 4, 1, 2])
  _close(run(params, states[:, order], edge_fts[:, order][:, :, order], None,
             None), expected[:, order][:, :, order][..., order])
  pad = lambda x, axes: jnp.pad(
      x, [(0, 2 if i in axes else 0) for i in range(x.ndim)],
      constant_values=9.0)
  mask = jnp.ones((2, 5)).at[:, 5:].set(0)
  padded = run(params, pad(states, (1,)), pad(edge_fts, (1, 2)), None,
               jnp.pad(mask, ((0, 0), (0, 2))))
  _close(padded[:, :5, :5, :5], expected)


@pytest.mark.parametrize('kind', KINDS)
def test_products_that_are_not_taken(kind):
  """Of lists of edges the inputs are given as a product of two matrices."""
  states, _, _ = _arguments()
  rng = np.random.RandomState(1)
  low_rank = layers.LowRank(jnp.asarray(rng.randn(50, 2), jnp.float32),
                            jnp.asarray(rng.randn(2, 4), jnp.float32))
  edge_fts = jnp.reshape(low_rank.inputs @ low_rank.weights, (2, 5, 5, 4))
  net = _decoder(kind)
  params = net.init(jax.random.PRNGKey(1), states, edge_fts, None, None)
  _close(net.apply(params, states, low_rank, None, None),
         net.apply(params, states, edge_fts, None, None))


@pytest.mark.parametrize('kind', KINDS)
def test_the_legs_matter(kind):
  """A score of k for (i, j) depends on the edges (i, k) and (k, j)."""
  states, edge_fts, _ = _arguments()
  net = _decoder(kind)
  params = net.init(jax.random.PRNGKey(1), states, edge_fts, None, None)
  i, j, k = 0, 1, 2
  score = lambda x: net.apply(params, states, x, None, None)[0, i, j, k]
  influence = np.abs(jax.grad(score)(edge_fts)).sum(-1)
  assert (influence[1] == 0).all()
  assert min(influence[0, i, j], influence[0, i, k], influence[0, k, j]) > 0
  others = influence[0].copy()
  for pair in ((i, j), (i, k), (k, j)):
    others[pair] = 0
  assert others.any() == (kind == 'paths')


@pytest.mark.parametrize('processor', ['dear_pgn', 'dear_triplet_mpnn'])
@pytest.mark.parametrize('kind', KINDS)
def test_every_parameter_moves(kind, processor):
  """CLRS updates by module name; a name it does not know never trains."""
  sampler = dear_jax.make_sampler('floyd_warshall', size=6, batch_size=4,
                                  seed=0, split='train')
  feedback = sampler.batch(0)
  model = dear_jax.DEARModel(
      sampler.spec, feedback, dear_jax.get_processor_factory(
          processor, gradient='one_step'),
      hidden_dim=8, edge_pointers=kind)
  model.init(feedback.features, 0)
  before = model.params
  assert not any('dec_linear' in module for module in before)
  assert np.isfinite(model.feedback(jax.random.PRNGKey(0), feedback))
  still = {f'{m}/{n}' for m in before for n in before[m]
           if np.array_equal(before[m][n], model.params[m][n])}
  # There are no features of graphs.
  assert {name.rsplit('/~/', 1)[-1] for name in still} <= {
      'message_graph/w', 'triplet_graph/w'}


def test_other_decoders_are_named():
  sampler = dear_jax.make_sampler('floyd_warshall', size=4, batch_size=1,
                                  seed=0, split='train')
  with pytest.raises(ValueError, match="clrs, triplet, paths, got 'third'"):
    dear_jax.DEARModel(sampler.spec, sampler.batch(0),
                       dear_jax.get_processor_factory('dear_pgn'),
                       edge_pointers='third')
