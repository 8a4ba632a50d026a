# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""The processors, one by one; conformance_test.py has what all share."""

import inspect
import re

import clrs
import dear_jax
from dear_jax.fixed_points import implicit
from dear_jax.networks import clrs_private
from dear_jax.networks import edge_states
from dear_jax.networks import gradients
from dear_jax.networks import processors
from dear_jax.training import configs
import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests import graphs

WIDTH = 8
Config = dear_jax.SolverConfig


def _transform(factory):
  """A factory as a pair of functions: init and apply."""
  return hk.without_apply_rng(hk.transform(
      lambda *args, **kwargs: factory(WIDTH)(*args, **kwargs)))


def _np_norm(x, params):
  x = x - x.mean(-1, keepdims=True)
  x = x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5)
  return x * params['scale'] + params['offset']


def _np_linear(x, params):
  return x @ params['w'] + params['b']


def _np_pgn(params, inputs):
  """Section 1 of the paper's PGN, node by node and edge by edge."""
  p = {k.split('/~/', 1)[1]: jax.tree_util.tree_map(np.asarray, v)
       for k, v in params.items()}
  nodes, edges, graph, adj, hidden = [np.asarray(x) for x in inputs]
  out = np.zeros_like(hidden)
  for b in range(nodes.shape[0]):
    z = np.concatenate([nodes[b], hidden[b]], axis=-1)
    for j in range(nodes.shape[1]):
      messages = []
      for i in range(nodes.shape[1]):
        if not adj[b, i, j]:
          continue
        message = (_np_linear(z[j], p['message_receiver'])
                   + _np_linear(z[i], p['message_sender'])
                   + _np_linear(edges[b, i, j], p['message_edge'])
                   + _np_linear(graph[b], p['message_graph']))
        for k in range(2):
          message = _np_norm(message, p[f'message_mlp/~/norm_{k}'])
          message = _np_linear(np.maximum(message, 0),
                               p[f'message_mlp/~/out_{k}'])
        messages.append(message)
      pooled = np.max(messages, axis=0)
      update = _np_norm(_np_linear(z[j], p['update_state'])
                        + _np_linear(pooled, p['update_messages']), p['norm'])
      gate = _np_linear(np.maximum(
          _np_linear(z[j], p['gate_state'])
          + _np_linear(pooled, p['gate_messages']), 0), p['gate_out'])
      gate = 1 / (1 + np.exp(-gate))
      out[b, j] = update * gate + hidden[b, j] * (1 - gate)
  return out


def _np_triplets(params, inputs):
  p = {k.split('/~/', 1)[1]: jax.tree_util.tree_map(np.asarray, v)
       for k, v in params.items()}
  nodes, edges, graph, _, hidden = [np.asarray(x) for x in inputs]
  z = np.concatenate([nodes, hidden], axis=-1)
  batch_size, n = nodes.shape[:2]
  out = np.zeros((batch_size, n, n, WIDTH))
  for b, j, k in np.ndindex(batch_size, n, n):
    triplets = [
        _np_linear(z[b, i], p['triplet_node_0'])
        + _np_linear(z[b, j], p['triplet_node_1'])
        + _np_linear(z[b, k], p['triplet_node_2'])
        + _np_linear(edges[b, i, j], p['triplet_edge_0'])
        + _np_linear(edges[b, i, k], p['triplet_edge_1'])
        + _np_linear(edges[b, j, k], p['triplet_edge_2'])
        + _np_linear(graph[b], p['triplet_graph']) for i in range(n)]
    out[b, j, k] = np.maximum(
        _np_linear(np.max(triplets, axis=0), p['triplet_out']), 0)
  return out


@pytest.mark.parametrize('nb_triplet_fts', [0, 4])
def test_pgn_step_agrees_with_plain_loops(nb_triplet_fts):
  step = _transform(
      lambda width: processors.PGN(width, nb_triplet_fts=nb_triplet_fts))
  inputs = graphs.random_graphs()
  inputs = inputs._replace(hidden=graphs.random_graphs(seed=1).node_fts)
  params = jax.jit(step.init)(jax.random.PRNGKey(0), *inputs)
  # Biases, scales and offsets away from where they start.
  params = jax.tree_util.tree_map(
      lambda x: x + 0.1 * np.random.RandomState(2).randn(*x.shape), params)
  hidden, edges = jax.jit(step.apply)(params, *inputs)
  np.testing.assert_allclose(hidden, _np_pgn(params, inputs), atol=2e-5)
  if nb_triplet_fts:
    np.testing.assert_allclose(edges, _np_triplets(params, inputs), atol=2e-5)
  else:
    assert edges is None


def test_pgn_starts_as_the_paper_says():
  step = _transform(processors.PGN)
  params = step.init(jax.random.PRNGKey(0), *graphs.random_graphs())
  prefix = 'pgn_clrs_processor/~/'
  np.testing.assert_array_equal(params[prefix + 'gate_out']['b'], 0)
  assert params[prefix + 'update_state']['w'].shape == (2 * WIDTH, WIDTH)
  # One linear layer on both halves has the fan-in of both.
  wide = _transform(lambda _: processors.PGN(128))
  params = wide.init(jax.random.PRNGKey(0), *graphs.random_graphs(width=128))
  linear = _transform(lambda _: hk.Linear(128))
  expected = linear.init(jax.random.PRNGKey(1), jnp.zeros((1, 256)))
  np.testing.assert_allclose(params[prefix + 'update_state']['w'].std(),
                             expected['linear']['w'].std(), rtol=0.02)


def test_what_does_not_change_is_computed_outside_of_the_loop():
  """The loop has two products over all pairs of nodes, and none over inputs."""
  inputs = graphs.random_graphs(batch_size=2, nb_nodes=5)
  net = _transform(dear_jax.get_processor_factory('dear_pgn'))
  params = net.init(jax.random.PRNGKey(0), *inputs)
  jaxpr = jax.make_jaxpr(net.apply)(params, *inputs)

  def products(jaxpr, inside):
    for eqn in jaxpr.eqns:
      if eqn.primitive.name == 'dot_general' and inside:
        yield eqn.invars[0].aval.shape
      for name, value in eqn.params.items():
        for sub in jax.tree_util.tree_leaves(
            value, is_leaf=lambda x: hasattr(x, 'eqns')
            or hasattr(x, 'jaxpr')):
          sub = getattr(sub, 'jaxpr', sub)
          if hasattr(sub, 'eqns'):
            yield from products(sub, inside or name == 'body_jaxpr')

  shapes = list(products(jaxpr.jaxpr, inside=False))
  pairs = [s for s in shapes if s == (2 * 5 * 5, WIDTH)]
  nodes = [s for s in shapes if s == (2, 5, WIDTH)]
  assert len(pairs) == 2
  # Receiver, sender, update and gate of the state in one; update and gate of
  # the messages in one; the gate's output.
  assert len(nodes) == 3


def test_every_kind_of_clrs_is_there():
  source = inspect.getsource(clrs_private.processors.get_processor_factory)
  kinds = set(re.findall(r"kind == '(\w+)'", source))
  assert len(kinds) > 15
  assert set(processors.KINDS) == {
      'dear_' + kind for kind in kinds} | set(edge_states.STEPS)


def test_register_is_idempotent_and_can_be_taken_back():
  original = clrs.get_processor_factory
  try:
    dear_jax.register()
    dear_jax.register()
    for module in (clrs, clrs_private.processors):
      factory = module.get_processor_factory(
          'dear_pgn', use_ln=True, nb_triplet_fts=8, nb_heads=1)
      hk.testing.transform_and_run(
          lambda f=factory: isinstance(f(4), processors.Equilibrium))()
      plain = module.get_processor_factory('mpnn', use_ln=True,
                                           nb_triplet_fts=8)
      name = hk.testing.transform_and_run(lambda f=plain: type(f(4)).__name__)()
      assert name == 'MPNN'
    with pytest.raises(ValueError, match="'dear_mpn'.*dear_mpnn"):
      clrs.get_processor_factory('dear_mpn', use_ln=True, nb_triplet_fts=8)
  finally:
    dear_jax.unregister()
    dear_jax.unregister()
  assert clrs.get_processor_factory is original
  assert clrs_private.processors.get_processor_factory is original


def test_what_is_not_ours_goes_on_to_what_was_there(monkeypatch):
  """Kinds of CLRS that we do not know, and those of a user."""
  def complaint(module):
    factory = module.get_processor_factory('mpn', use_ln=True,
                                           nb_triplet_fts=8)
    with pytest.raises(ValueError) as error:
      factory(4)
    return str(error.value)

  of_clrs = complaint(clrs)
  original = clrs.get_processor_factory

  def of_a_user(kind, *args, **kwargs):
    return 'mine' if kind == 'mine' else original(kind, *args, **kwargs)

  for module in (clrs, clrs_private.processors):
    monkeypatch.setattr(module, 'get_processor_factory', of_a_user)
  try:
    dear_jax.register()
    for module in (clrs, clrs_private.processors):
      assert module.get_processor_factory('mine') == 'mine'
      assert callable(module.get_processor_factory('dear_gat'))
      assert complaint(module) == of_clrs
    # What has been put in our place since then is not ours to take away.
    later = lambda *args, **kwargs: None
    monkeypatch.setattr(clrs, 'get_processor_factory', later)
  finally:
    dear_jax.unregister()
  assert clrs.get_processor_factory is later
  assert clrs_private.processors.get_processor_factory is of_a_user


def test_where_a_call_starts_makes_no_difference():
  """CLRS's nets hand over what the last call returned."""
  inputs = graphs.random_graphs()
  net = _transform(dear_jax.get_processor_factory('dear_pgn'))
  params = net.init(jax.random.PRNGKey(0), *inputs)
  apply = jax.jit(net.apply)
  first, _ = apply(params, *inputs)
  second, _ = apply(params, *inputs._replace(hidden=first + 1))
  np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize('arguments, expected', [
    (dict(), dict(gradient='implicit', decay=0.6, bound=1.5,
                  backward=Config(tol=0.01, max_iter=20))),
    (dict(backward_decay=0.3, backward_bound=np.inf),
     dict(gradient='implicit', decay=0.3, bound=np.inf,
          backward=Config(tol=0.01, max_iter=20))),
    (dict(backward=Config(tol=0.5, max_iter=3)),
     dict(gradient='implicit', decay=0.6, bound=1.5,
          backward=Config(tol=0.5, max_iter=3))),
    (dict(gradient='implicit'),
     dict(gradient='implicit', decay=1.0, bound=np.inf,
          backward=Config(tol=0.01, max_iter=40))),
])
def test_what_a_gradient_is(arguments, expected, monkeypatch):
  """The default is damped as in `TrainConfig`; 'implicit' is the theorem."""
  calls = []
  solve = implicit.fixed_point
  monkeypatch.setattr(implicit, 'fixed_point', lambda *args, **kwargs: (
      calls.append(kwargs), solve(*args, **kwargs))[1])
  net = _transform(dear_jax.get_processor_factory('dear_pgn', **arguments))
  inputs = graphs.random_graphs()
  params = net.init(jax.random.PRNGKey(0), *inputs)
  jax.eval_shape(net.apply, params, *inputs)
  assert {name: calls[0][name] for name in expected} == expected


@pytest.mark.parametrize('gradient', ['damped', 'implicit'])
def test_backward_solves_are_relative(gradient):
  forward = dear_jax.SolverConfig(stop_mode='abs', tol=1e-3)
  backward = gradients.options(gradient, forward)['backward']
  assert backward.stop_mode == 'rel' and np.isclose(backward.tol, 1e-4)


def test_the_default_gradient_is_that_of_a_run():
  run = configs.TrainConfig()
  assert gradients.options('damped', run.forward_solver()) == (
      gradients.options(
          run.gradient, run.forward_solver(), backward=run.backward_solver(),
          decay=run.backward_decay, bound=run.backward_bound))


@pytest.mark.parametrize('arguments, message', [
    (dict(kind='dear_pgn', gradient='implicit', backward_decay=0.6),
     "backward_decay=0.6 is a setting of gradient='damped'"),
    (dict(kind='dear_pgn', gradient='one_step', backward_bound=1.5),
     "gradient='one_step' has no such setting"),
    (dict(kind='dear_pgn', backward_decay=2.0), 'decay must be .* got 2.0'),
    (dict(kind='dear_pgm'), "Unknown processor kind 'dear_pgm'.*dear_pgn"),
    (dict(kind='pgn'), "Unknown processor kind 'pgn'.*dear_pgn"),
    (dict(kind='dear_pgn', gradient='exact'),
     "damped, implicit, .*got 'exact'"),
])
def test_bad_arguments(arguments, message):
  with pytest.raises(ValueError, match=message):
    dear_jax.get_processor_factory(**arguments)


def test_messages_follow_the_adjacency_matrix():
  """dear_pgn passes none without an edge, unless all are to be connected."""
  inputs = graphs.random_graphs()
  inputs = inputs._replace(
      adj_mat=jnp.broadcast_to(jnp.eye(5), inputs.adj_mat.shape))
  changed = inputs._replace(node_fts=inputs.node_fts.at[:, 0].add(1.0))
  for fully_connected in (False, True):
    # Anderson's mixing weights depend on all nodes of an instance, as does the
    # moment at which it passes: only plain iteration shows the messages alone.
    net = _transform(dear_jax.get_processor_factory(
        'dear_pgn', fully_connected=fully_connected,
        solver=Config(method='picard', select='last', max_iter=5)))
    params = net.init(jax.random.PRNGKey(0), *inputs)
    apply = jax.jit(net.apply)
    difference = apply(params, *inputs)[0] - apply(params, *changed)[0]
    others = jnp.abs(difference[:, 1:]).max()
    assert (others > 1e-3) == fully_connected


@pytest.mark.parametrize('kind', processors.KINDS)
def test_fixed_point_and_its_gradient(kind):
  """Against the kind as CLRS has it, and against finite differences."""
  options = dict(use_ln=False, nb_triplet_fts=2, nb_heads=2)
  with jax.enable_x64(True):
    inputs = graphs.random_graphs(batch_size=2, nb_nodes=3, dtype=np.float64)
    net = _transform(dear_jax.get_processor_factory(
        kind, **options, gradient='implicit',
        solver=Config(tol=1e-12, max_iter=300)))
    params = net.init(jax.random.PRNGKey(0), *inputs)
    # Half the weights make a contraction of every kind; the noise on what
    # starts at zero keeps ReLUs and maxima away from their kinks.
    rng = np.random.RandomState(3)
    params = jax.tree_util.tree_map(
        lambda x: jnp.asarray(0.5 * x + 0.1 * rng.randn(*x.shape)), params)
    flat, unflatten = jax.flatten_util.ravel_pytree((params, inputs[:3]))

    def loss(flat):
      params, features = unflatten(flat)
      hidden, edges = net.apply(params, *features, *inputs[3:])
      total = jnp.sum(jnp.sin(hidden + 1))
      if edges is not None:
        total += jnp.sum(edges**2)
      return total, (hidden, edges)

    loss_and_grad = jax.jit(jax.value_and_grad(loss, has_aux=True))
    (_, (hidden, edges)), grad = loss_and_grad(flat)
    for direction in rng.randn(2, flat.size):
      step = 1e-6
      ahead, behind = [loss_and_grad(flat + sign * step * direction)[0][0]
                       for sign in (1, -1)]
      np.testing.assert_allclose(
          grad @ direction, (ahead - behind) / (2 * step), rtol=1e-5)

    if kind in ('dear_pgn', 'dear_triplet_mpnn', *edge_states.STEPS):
      return  # the paper's and ours, not CLRS's
    original = _transform(clrs.get_processor_factory(
        kind.removeprefix('dear_'), **options))
    again, again_edges = original.apply(params,
                                        *inputs._replace(hidden=hidden))
    np.testing.assert_allclose(again, hidden, atol=1e-10)
    assert (edges is None) == (again_edges is None)
    if edges is not None:
      np.testing.assert_allclose(edges, again_edges, atol=1e-10)
