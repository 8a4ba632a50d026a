# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the step whose edges have states."""

import dear_jax
from dear_jax.networks import edge_states
import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests import graphs

WIDTH = 8


def _step(inputs, state=None, node_mask=None, kind='dear_pgn_edges'):
  """Parameters, a state (the first one if there is none) and the next."""

  def run():
    step = edge_states.STEPS[kind](WIDTH)
    context = step.prepare(inputs.node_fts, inputs.edge_fts, inputs.graph_fts,
                           inputs.adj_mat, node_mask=node_mask)
    first = step.start_in(inputs.hidden, context)
    now = first if state is None else state
    after = step.step(now, context)
    return now, after, step.edges(after, context)

  net = hk.without_apply_rng(hk.transform(run))
  params = net.init(jax.random.PRNGKey(0))
  # Biases and offsets that are 0 would hide a place that misses them.
  params = jax.tree_util.tree_map(
      lambda x: x + 0.1 * jnp.cos(jnp.arange(x.size).reshape(x.shape)), params)
  return params, net.apply(params)


def _norm(x, params):
  x = x - x.mean(axis=-1, keepdims=True)
  x = x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-5)
  return x * params['scale'] + params['offset']


def _linear(x, params):
  return x @ params['w'] + params.get('b', 0)


def _sigmoid(x):
  return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize('kind', sorted(edge_states.STEPS))
def test_is_the_formula(kind):
  """Against a loop over pairs that shares no code with the step."""
  inputs = graphs.random_graphs(width=WIDTH)
  _, (first, _, _) = _step(inputs, kind=kind)
  rng = np.random.RandomState(0)
  is_edge = np.asarray(inputs.adj_mat) > 0.5
  batch, nb_nodes, _ = is_edge.shape
  state = dict(
      nodes=jnp.asarray(rng.randn(batch, nb_nodes, WIDTH), jnp.float32),
      edges=first['edges'] * rng.randn(*first['edges'].shape).astype(
          np.float32))
  params, (_, after, decoded) = _step(inputs, state, kind=kind)
  p = {name.replace('~/', '').split('/', 1)[1]: jax.tree_util.tree_map(
      np.asarray, x) for name, x in params.items()}
  edges = np.reshape(state['edges'], (batch, nb_nodes, nb_nodes, -1))
  for b in range(batch):
    fts = [np.concatenate([inputs.node_fts[b, i], state['nodes'][b, i]])
           for i in range(nb_nodes)]
    for j in range(nb_nodes):
      received = []
      has_state = is_edge[b, :, j] | (kind == 'dear_edge')
      for i in np.flatnonzero(has_state):
        x = (_linear(fts[j], p['message_receiver'])
             + _linear(fts[i], p['message_sender'])
             + _linear(inputs.edge_fts[b, i, j], p['message_edge'])
             + _linear(inputs.graph_fts[b], p['message_graph'])
             + _linear(edges[b, i, j], p['edge_state']))
        if kind == 'dear_edge':
          first_leg, second_leg = np.split(_linear(edges[b], p['legs']), 2, -1)
          x = x + _linear(
              np.max(first_leg[i] + second_leg[:, j], axis=0), p['ways'])
        for layer in range(2):
          x = _linear(np.maximum(
              _norm(x, p[f'message_mlp/norm_{layer}']), 0),
                      p[f'message_mlp/out_{layer}'])
        if is_edge[b, i, j]:
          received.append(x)
        gate = _sigmoid(_linear(x, p['edge_gate']))
        update = _norm(_linear(x, p['edge_update']), p['edge_norm'])
        np.testing.assert_allclose(
            decoded[b, i, j], gate * update + (1 - gate) * edges[b, i, j],
            rtol=1e-4, atol=1e-5)
      message = np.max(received, axis=0)
      update = _norm(_linear(fts[j], p['update_state'])
                     + _linear(message, p['update_messages']), p['norm'])
      gate = _sigmoid(_linear(np.maximum(
          _linear(fts[j], p['gate_state'])
          + _linear(message, p['gate_messages']), 0), p['gate_out']))
      np.testing.assert_allclose(
          after['nodes'][b, j],
          gate * update + (1 - gate) * state['nodes'][b, j],
          rtol=1e-4, atol=1e-5)
  assert kind == 'dear_edge' or (decoded[~is_edge] == 0).all()


def test_edges_start_at_one_and_nothing_else_has_a_state():
  inputs = graphs.random_graphs(width=WIDTH)
  is_edge = np.asarray(inputs.adj_mat) > 0.5
  assert not is_edge.all()
  _, (first, after, _) = _step(inputs)
  for state in (first, after):
    edges = np.reshape(state['edges'], is_edge.shape + (-1,))
    assert (edges[~is_edge] == 0).all() and (edges[is_edge] != 0).any()
  np.testing.assert_array_equal(
      np.reshape(first['edges'], is_edge.shape + (-1,))[is_edge], 1)
  np.testing.assert_array_equal(first['nodes'], inputs.hidden)


def test_noise_is_on_nodes_only():
  inputs = graphs.random_graphs(width=WIDTH)
  noise = jnp.full(inputs.hidden.shape, 0.5)

  def run(noise):
    processor = dear_jax.get_processor_factory('dear_pgn_edges')(WIDTH)
    problem = processor.problem(*inputs[:4], jnp.zeros_like(inputs.hidden),
                                noise=noise)
    return problem.start, problem.fun(problem.start, *problem.args)

  net = hk.without_apply_rng(hk.transform(run))
  params = net.init(jax.random.PRNGKey(0), None)
  start, plain = net.apply(params, None)
  noisy_start, noisy = net.apply(params, noise)
  np.testing.assert_array_equal(noisy_start['nodes'], start['nodes'])
  np.testing.assert_allclose(noisy['nodes'], plain['nodes'] + 0.5, rtol=1e-6)
  np.testing.assert_array_equal(noisy['edges'], plain['edges'])


def test_has_no_cayley_graph():
  with pytest.raises(ValueError, match='dear_pgn_edges has states on edges'):
    dear_jax.get_processor_factory('dear_pgn_edges', cgp=True)
  with pytest.raises(ValueError, match='dear_edge has states on edges'):
    dear_jax.TrainConfig(processor='dear_edge', cgp=True)


@pytest.mark.parametrize('kind', sorted(edge_states.STEPS))
def test_the_penalty_is_a_mean_over_what_there_is(kind):
  """However the batch is laid out, up to the noise of the estimate."""
  sampler = dear_jax.make_sampler('bfs', size=8, batch_size=4, seed=0,
                                  split='train')
  batch = sampler.batch(0)
  layouts = [('dense', None), ('sparse', None), ('sparse', 16)][
      :None if kind == 'dear_pgn_edges' else 1] + [('dense', 12)]
  means = []
  for layout, pad_to in layouts:
    model = dear_jax.DEARModel(
        sampler.spec, batch, dear_jax.get_processor_factory(kind),
        hidden_dim=WIDTH, layout=layout, pad_to=pad_to, jacobian_fraction=1.0)
    model.init(batch.features, 0)
    asked = model._batch(batch.features, batch.outputs, 0, True)
    penalty = lambda key: model.net_fn.apply(
        model.params, key, [asked.inputs], repred=False, algorithm_index=0,
        edge_list=asked.edge_list, node_mask=asked.node_mask,
        with_penalty=True).jacobian_penalty
    means.append(jnp.mean(jax.jit(lambda keys: jax.lax.map(penalty, keys))(
        jax.random.split(jax.random.PRNGKey(0), 60))))
  np.testing.assert_allclose(means, means[0], rtol=0.06)
