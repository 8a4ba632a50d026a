# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of Cayley graph propagation."""

import functools

import clrs
import dear_jax
from dear_jax.networks import cayley
from dear_jax.networks import edge_lists
from dear_jax.networks import layers
from dear_jax.networks import processors
import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests import graphs

WIDTH = 8
EDGE_FEATURE = 'cayley_clrs_processor'
# No tolerance to be met by one and missed by the other.
FEW_STEPS = dear_jax.SolverConfig(method='picard', max_iter=5, select='last')

close = functools.partial(np.testing.assert_allclose, rtol=1e-5, atol=1e-5)


def _factory(kind='dear_pgn', cgp=True, **options):
  return dear_jax.get_processor_factory(kind, nb_triplet_fts=4, cgp=cgp,
                                        **options)


def _transform(fun):
  return hk.without_apply_rng(hk.transform(fun))


def _moved(params, scale=1.0):
  """Biases, scales and offsets away from where they start."""
  rng = np.random.RandomState(2)
  return jax.tree_util.tree_map(
      lambda x: jnp.asarray(scale * x + 0.1 * rng.randn(*x.shape), x.dtype),
      params)


def _random_state(batch_size, nb_nodes, order):
  rng = np.random.RandomState(3)
  draw = lambda count: jnp.asarray(rng.randn(batch_size, count, WIDTH),
                                   jnp.float32)
  return dict(nodes=draw(nb_nodes), virtual=draw(order - nb_nodes))


def _all_nodes(state):
  return jnp.concatenate([state['nodes'], state['virtual']], axis=1)


@pytest.mark.parametrize('kind', ['dear_pgn', 'dear_gpgn'])
def test_a_step_is_one_on_each_graph(kind):
  """The second against dense matrices and the features of all pairs."""
  inputs = graphs.random_graphs(batch_size=2, nb_nodes=7)
  graph = cayley.cayley_graph(3)
  order = len(graph.elements)
  state = _random_state(2, 7, order)

  def both(inputs, state):
    problem = _factory(kind)(WIDTH).problem(*inputs)
    return problem.fun(state, *problem.args)
  net = _transform(both)
  params = _moved(jax.jit(net.init)(jax.random.PRNGKey(0), inputs, state))
  result = jax.jit(net.apply)(params, inputs, state)
  assert {k: x.shape for k, x in result.items()} == {
      'nodes': (2, 7, WIDTH), 'virtual': (2, order - 7, WIDTH)}

  plain = _transform(
      lambda *args: (  # pylint:disable=g-long-lambda
          processors.PGN(WIDTH) if kind == 'dear_pgn' else
          clrs.get_processor_factory('gpgn', use_ln=True, nb_triplet_fts=4)(
              WIDTH))(*args)[0])
  apply = jax.jit(functools.partial(plain.apply, params))
  nodes = apply(*inputs._replace(hidden=state['nodes']))
  adjacency = np.zeros((2, order, order), np.float32)
  for receiver, senders in enumerate(graph.neighbours):
    adjacency[:, senders, receiver] = 1
  feature = params[EDGE_FEATURE]['feature']
  expected = apply(
      jnp.concatenate([inputs.node_fts, jnp.zeros((2, order - 7, WIDTH))], 1),
      adjacency[..., None] * feature, inputs.graph_fts, adjacency,
      jnp.concatenate([nodes, state['virtual']], axis=1))
  close(_all_nodes(result), expected)


def _layouts(batch_size, nb_nodes, size=None, seed=0):
  """The same graphs with features on all pairs, and on a list of edges."""
  dense = graphs.random_graphs(batch_size, nb_nodes, seed=seed)
  rng = np.random.RandomState(seed)
  numbers = rng.randn(batch_size, nb_nodes, nb_nodes, 2).astype(np.float32)
  weights = rng.randn(2, WIDTH).astype(np.float32)
  adjacency = clrs.DataPoint('adj', clrs.Location.EDGE, clrs.Type.MASK,
                             np.asarray(dense.adj_mat))
  edges = edge_lists.from_inputs([adjacency], size)
  extra = (size or nb_nodes) - nb_nodes
  padded = np.pad(numbers, ((0, 0), (0, extra), (0, extra), (0, 0)))
  on_edges = layers.LowRank(padded.reshape(-1, 2)[edges.pairs], weights)
  return dense._replace(edge_fts=jnp.asarray(numbers @ weights)), on_edges, (
      edge_lists.EdgeList(*map(jnp.asarray, edges)))


@pytest.fixture(name='solved', scope='module')
def _solved():
  """One batch in both layouts, as a whole and split; and a step of each."""
  dense, on_edges, edges = _layouts(batch_size=8, nb_nodes=7)
  # Instances that converge at different speeds, for there to be stragglers.
  dense = dense._replace(
      node_fts=dense.node_fts * jnp.logspace(-2, 0.5, 8)[:, None, None])
  start = _random_state(8, 7, 24)

  def run(dense, on_edges, edges, state):
    processor = _factory(solver=dear_jax.SolverConfig(
        method='picard', tol=1e-4, max_iter=99))(WIDTH)
    result = {}
    for layout, inputs, edge_list in (
        ('dense', dense, None),
        ('sparse', dense._replace(edge_fts=on_edges), edges)):
      problem = processor.problem(*inputs, edge_list=edge_list)
      step = lambda x, problem=problem: problem.fun(x, *problem.args)
      solve = functools.partial(processor.solve, *inputs, edge_list=edge_list)
      noisy = processor.problem(*inputs, edge_list=edge_list,
                                noise=jnp.ones_like(inputs.node_fts))
      result[layout] = dict(
          start=problem.start, step=step(state),
          with_noise=noisy.fun(state, *noisy.args),
          without_virtual=step(dict(
              state, virtual=jnp.zeros_like(state['virtual']))),
          split=solve(split=True).solution,
          whole=solve(split=False).solution)
    solution = processor.solve(*dense, return_trajectory=True)
    result['nodes'] = solution.nodes
    if not hk.running_init():
      solution = solution.solution
      pick = lambda x: x[solution.steps - 1, jnp.arange(8)]
      result['origin'] = jax.tree_util.tree_map(pick, solution.origins)
      problem = processor.problem(*dense)
      result['image'] = problem.fun(result['origin'], *problem.args)
      result['solution'] = solution
    return result

  net = _transform(run)
  inputs = dense, on_edges, edges, start
  params = _moved(jax.jit(net.init)(jax.random.PRNGKey(0), *inputs), 0.5)
  return jax.jit(net.apply)(params, *inputs)


def test_layouts_agree(solved):
  for name in ('start', 'step'):
    jax.tree_util.tree_map(close, solved['dense'][name],
                           solved['sparse'][name])


def test_virtual_nodes_are_a_part_of_the_equilibrium(solved):
  start, solution = solved['dense']['start'], solved['solution']
  assert start['nodes'].shape == (8, 7, WIDTH)
  assert start['virtual'].shape == (8, cayley.group_order(3) - 7, WIDTH)
  np.testing.assert_array_equal(start['virtual'], 0)
  assert solution.converged.all()
  assert (jnp.abs(solution.value['virtual']).max(axis=-1) > 0.01).all()
  assert solved['nodes'].shape == (8, 7, WIDTH)
  np.testing.assert_array_equal(solved['nodes'], solution.value['nodes'])

  # The last step, anew.
  image, origin = solved['image'], solved['origin']
  jax.tree_util.tree_map(close, image, solution.value)
  def residual(image, origin):
    norm = lambda x: np.linalg.norm(np.reshape(x, (8, -1)), axis=1)
    return norm(image - origin) / norm(image)
  by_hand = residual(_all_nodes(image), _all_nodes(origin))
  np.testing.assert_allclose(solution.residual, by_hand, rtol=0.05)
  of_nodes = residual(image['nodes'], origin['nodes'])
  assert (np.abs(of_nodes / by_hand - 1) > 0.05).any()


@pytest.mark.parametrize('layout', ['dense', 'sparse'])
def test_splitting_changes_nothing(solved, layout):
  split, whole = solved[layout]['split'], solved[layout]['whole']
  assert split.evaluations < whole.evaluations  # else nothing was split
  np.testing.assert_array_equal(split.steps, whole.steps)
  jax.tree_util.tree_map(close, split.value, whole.value)


def test_virtual_nodes_send(solved):
  change = (solved['dense']['step']['nodes']
            - solved['dense']['without_virtual']['nodes'])
  assert (jnp.abs(change).max(axis=(1, 2)) > 1e-3).all()


def test_noise_is_on_nodes_only(solved):
  step, with_noise = solved['dense']['step'], solved['dense']['with_noise']
  close(with_noise['nodes'] - step['nodes'], 1)
  np.testing.assert_array_equal(with_noise['virtual'], step['virtual'])


def _solve(kind='dear_pgn', **options):
  """Init and apply of a solve with few steps, to its result."""
  def solve(inputs, edge_list=None, node_mask=None):
    result = _factory(kind, solver=FEW_STEPS, **options)(WIDTH).solve(
        *inputs, edge_list=edge_list, node_mask=node_mask)
    return result.solution.value, result.nodes, result.edges
  return _transform(solve)


@pytest.mark.parametrize('cgp', [False, True])
def test_components_reach_each_other(cgp):
  inputs = graphs.random_graphs(batch_size=2, nb_nodes=4)
  pairs = np.kron(np.eye(2), np.ones((2, 2)))  # 0 - 1 and 2 - 3
  inputs = inputs._replace(adj_mat=jnp.tile(jnp.asarray(pairs), (2, 1, 1)))
  changed = inputs._replace(node_fts=inputs.node_fts.at[:, 0].add(1.0))
  net = _solve(cgp=cgp)
  params = jax.jit(net.init)(jax.random.PRNGKey(0), inputs)
  apply = jax.jit(net.apply)
  change = apply(params, inputs)[1] - apply(params, changed)[1]
  change = jnp.abs(change).max(axis=(0, 2))
  assert (change[:2] > 1e-3).all()
  assert (change[2:] > 1e-3).all() if cgp else (change[2:] < 1e-6).all()


def _pad(inputs, size):
  """Adds nodes full of garbage, connected to everything."""
  extra = size - inputs.node_fts.shape[1]
  rng = np.random.RandomState(9)
  def pad(x, axes):
    widths = [(0, extra if axis in axes else 0) for axis in range(x.ndim)]
    inside = np.pad(np.ones(x.shape, bool), widths)
    return jnp.asarray(np.where(inside, np.pad(x, widths),
                                1 + rng.rand(*inside.shape)), jnp.float32)
  return graphs.Graphs(
      node_fts=pad(inputs.node_fts, (1,)),
      edge_fts=pad(inputs.edge_fts, (1, 2)),
      graph_fts=inputs.graph_fts,
      adj_mat=(pad(inputs.adj_mat, (1, 2)) > 0.5).astype(jnp.float32),
      hidden=pad(inputs.hidden, (1,)))


# The least Cayley graph has 6 nodes: there some that are virtual are left, and
# here none.
@pytest.mark.parametrize('size', [5, 6])
def test_padding_changes_nothing(size):
  inputs, on_edges, edges = _layouts(2, 4, size)
  net = _solve()
  params = _moved(jax.jit(net.init)(jax.random.PRNGKey(0), inputs))
  apply = jax.jit(functools.partial(net.apply, params))
  expected, nodes, _ = apply(inputs)
  assert nodes.shape == (2, 4, WIDTH)
  mask = jnp.tile(jnp.arange(size) < 4, (2, 1)).astype(jnp.float32)
  padded = _pad(inputs, size)
  for arguments in (dict(inputs=padded),
                    dict(inputs=padded._replace(edge_fts=on_edges),
                         edge_list=edges)):
    state, nodes, _ = apply(node_mask=mask, **arguments)
    assert nodes.shape == (2, size, WIDTH)
    close(nodes[:, :4], expected['nodes'])
    # Padding takes the places of virtual nodes.
    close(_all_nodes(state), _all_nodes(expected))


def _bfs(size=4, batch_size=2):
  sampler = dear_jax.make_sampler('bfs', size=size, batch_size=batch_size,
                                  seed=0, split='train')
  return sampler.spec, sampler.batch(0)


def test_padding_changes_no_gradient():
  spec, batch = _bfs()
  results = []
  for pad_to in (None, 6):
    model = dear_jax.DEARModel(
        spec, batch, _factory(solver=FEW_STEPS, gradient='one_step'),
        hidden_dim=WIDTH, layout='sparse', pad_to=pad_to, jacobian_weight=0.0)
    model.init(batch.features, 0)
    results.append(model.compute_grad(jax.random.PRNGKey(0), batch))
  assert model.describe_shape(batch.features, 0, True).startswith(
      'sizes up to 6')
  jax.tree_util.tree_map(
      lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-6),
      *results)


@pytest.mark.parametrize('cgp', [False, True])
def test_no_padding_to_another_cayley_graph(cgp):
  spec, batch = _bfs()
  model = dear_jax.DEARModel(spec, batch, _factory(cgp=cgp), hidden_dim=WIDTH,
                             layout='sparse', pad_to=8)
  padded_size = model.layouts._padded_size  # pylint:disable=protected-access
  padded = [padded_size(size, spec, True) for size in (5, 6, 7, 8, 9)]
  assert padded == ([5, 6, 8, 8, 9] if cgp else [8, 8, 8, 8, 9])
  assert padded_size(7, spec, False) == 7


def test_edge_embeddings_are_of_the_input_graph():
  inputs = graphs.random_graphs(batch_size=2, nb_nodes=4)
  def call(inputs):
    return _factory('dear_triplet_mpnn', solver=FEW_STEPS)(WIDTH)(*inputs)
  net = _transform(call)
  nodes, edges = jax.eval_shape(
      net.apply, jax.eval_shape(net.init, jax.random.PRNGKey(0), inputs),
      inputs)
  assert nodes.shape == (2, 4, WIDTH) and edges.shape == (2, 4, 4, WIDTH)


def test_a_model_trains_all_of_its_parameters():
  batch = graphs.feedback()
  model = dear_jax.DEARModel(
      graphs.SPEC, batch, _factory(solver=dear_jax.SolverConfig(max_iter=12)),
      hidden_dim=WIDTH, learning_rate=0.01, jacobian_weight=0.1, debug=True)
  model.init(batch.features, 0)
  before = model.params
  assert np.isfinite(model.feedback(jax.random.PRNGKey(0), batch))
  after = model.params
  modules = [module for module in before if EDGE_FEATURE in module]
  assert len(modules) == 1
  assert before[modules[0]]['feature'].shape == (WIDTH,)
  for module, leaves in before.items():
    for name, leaf in leaves.items():
      assert np.isfinite(after[module][name]).all()
      assert not np.array_equal(leaf, after[module][name]), (module, name)

  preds, _, hidden = model.predict(jax.random.PRNGKey(0), batch.features)
  assert preds['pi'].data.shape == (2, 4)
  assert preds['heavy'].data.shape == (2, 4, 4)
  assert hidden.shape == (1, 2, 4, WIDTH)


def test_gradients_where_virtual_nodes_are_alike():
  """They start alike, so that their messages tie. In double precision."""
  with jax.enable_x64(True):
    inputs = graphs.random_graphs(batch_size=2, nb_nodes=4, width=WIDTH,
                                  dtype=np.float64)
    net = _transform(lambda *inputs: _factory(
        gradient='unrolled', solver=FEW_STEPS)(WIDTH)(*inputs)[0])
    params = jax.tree_util.tree_map(
        lambda x: x.astype(np.float64),
        net.init(jax.random.PRNGKey(0), *inputs))
    loss = jax.jit(lambda params: jnp.sum(jnp.sin(net.apply(params, *inputs))))
    grads = jax.jit(jax.grad(loss))(params)
    modules = [name for name in params if 'message' in name]
    assert len(modules) > 4
    for module in modules:
      for name, leaf in params[module].items():
        def shifted(step, module=module, name=name, leaf=leaf):
          return loss(params | {
              module: params[module] | {name: leaf + step}})
        expected = (shifted(1e-6) - shifted(-1e-6)) / 2e-6
        np.testing.assert_allclose(jnp.sum(grads[module][name]), expected,
                                   rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize('algorithms', [('minimum',), ('bfs', 'minimum')])
def test_arrays_are_refused(algorithms):
  with pytest.raises(ValueError, match='cgp is for tasks with a graph, and '
                                       'minimum has none'):
    dear_jax.TrainConfig(cgp=True, algorithms=algorithms)


def test_graphs_are_not_refused():
  config = dear_jax.TrainConfig(cgp=True, algorithms=('bfs', 'dijkstra'))
  assert config.processor_factory().cgp
