# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what the net does between encoders and clrs_private."""

import clrs
import dear_jax
from dear_jax.data import samplers
from dear_jax.data import tasks
from dear_jax.networks import clrs_private
from dear_jax.networks import coding
from dear_jax.networks import nets
from dear_jax.networks import pointer_decoders
from dear_jax.networks import pointers
from dear_jax.training import builders
from dear_jax.training import configs
import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import pytest

RESTRICTED = ('bfs', 'dfs', 'bellman_ford', 'dijkstra', 'dag_shortest_paths',
              'mst_prim', 'strongly_connected_components_local')


def _model(task, nb_nodes=6, solver=dear_jax.SolverConfig(), **options):
  sampler = samplers.make_sampler(task, size=nb_nodes, batch_size=2, seed=0,
                                  split='val')
  feedback = sampler.batch(0)
  model = dear_jax.DEARModel(
      sampler.spec, feedback,
      dear_jax.get_processor_factory('dear_pgn', solver=solver),
      hidden_dim=8, **options)
  model.init(feedback.features, 0)
  return model, feedback


def _apply(model, feedback, repred=True):
  """Logits and solution, in one program."""
  @jax.jit
  def run(params, inputs):
    output = model.net_fn.apply(params, jax.random.PRNGKey(0), [inputs],
                                repred=repred, algorithm_index=0)
    return output.output_preds, output.solution
  return run(model.params, tuple(feedback.features.inputs))


def test_restricted_tasks_are_those_of_the_paper_and_one_more():
  restricted = [task for task in tasks.task_names()
                if pointers.lie_on_edges(tasks.get_task(task).spec)]
  assert sorted(restricted) == sorted((*RESTRICTED, 'floyd_warshall'))


@pytest.mark.parametrize('task', RESTRICTED)
def test_pointers_of_restricted_tasks_lie_on_edges(task):
  """In 200 instances each: a target off the edges has an infinite loss."""
  for size in (4, 10):
    feedback = samplers.make_sampler(
        task, size=size, batch_size=100, seed=0, split='train').batch(0)
    adj, = [x.data for x in feedback.features.inputs if x.name == 'adj']
    pi, = [x.data for x in feedback.outputs if x.name == 'pi']
    allowed = (adj + adj.transpose(0, 2, 1) + np.eye(size)) > 0
    assert np.take_along_axis(allowed, pi.astype(int)[..., None], -1).all()


@pytest.mark.parametrize('restrict', [None, False])
def test_logits_off_the_edges(restrict):
  model, feedback = _model('bfs', restrict_pointers=restrict)
  adj, = [x.data for x in feedback.features.inputs if x.name == 'adj']
  allowed = (adj + np.eye(6)) > 0
  probabilities = jax.nn.softmax(_apply(model, feedback)[0]['pi'])
  assert not allowed.all()
  assert (probabilities[allowed] > 0).all()
  assert (np.asarray(probabilities[~allowed]) == 0).all() == (restrict is None)


@pytest.mark.parametrize('kind', ['dear', 'nar'])
@pytest.mark.parametrize('rule', ['auto', 'true', 'false'])
def test_models_of_runs_follow_the_setting(kind, rule):
  config = configs.TrainConfig(
      model=kind, processor='dear_pgn', hidden_size=8, layout='dense',
      restrict_pointers=rule)
  sampler = samplers.make_sampler('bfs', size=6, batch_size=2, seed=0,
                                  split='val', with_lengths=True)
  feedback = sampler.batch(0)
  model = builders.build_model(config, [sampler.spec], [feedback])
  # The states do not matter, so nothing is solved or unrolled.
  net = hk.transform(lambda inputs: _decode_anything(model, inputs))
  inputs = tuple(feedback.features.inputs)
  params = net.init(jax.random.PRNGKey(0), inputs)
  logits = net.apply(params, jax.random.PRNGKey(0), inputs)['pi']
  adj, = [x.data for x in inputs if x.name == 'adj']
  allowed = (adj + np.eye(6)) > 0
  assert (np.asarray(logits)[~allowed] < -1e8).all() == (rule != 'false')


def _decode_anything(model, inputs):
  # pylint: disable=protected-access
  net = model._make_net(
      spec=model._spec, hidden_dim=8, encoder_init='default', dropout_prob=0,
      processor_factory=dear_jax.get_processor_factory('dear_pgn'),
      nb_dims=model.nb_dims, **model._coding)
  net.build()
  encoded = net.encode(inputs, 0, None)
  return net.decode(inputs, 0, encoded, encoded.node_fts, None, edge_list=None,
                    node_mask=None, repred=True)


def test_topological_sort_is_not_restricted():
  model, feedback = _model('topological_sort')
  _, metrics = model.evaluate(jax.random.PRNGKey(0), feedback)
  assert float(metrics['task_loss']) < 100


def test_permutation_logits():
  """The identity above -6, a hundredth of the slope below."""
  x = jnp.array([-106.0, -6.0, -5.0, 0.0])
  np.testing.assert_allclose(coding.permutation_logits(x), [-7, -6, -5, 0])


def test_permutation_logits_are_used_for_sorting():
  model, feedback = _model('insertion_sort')
  logits = _apply(model, feedback)[0]['pred']
  diagonal = jnp.diagonal(logits, axis1=1, axis2=2)
  # CLRS pushes the diagonal to -1e6 or so, which the leaky ReLU divides.
  assert (diagonal < -1e3).all() and (diagonal > -2e5).all()


@pytest.mark.parametrize('task', ['insertion_sort', 'minimum', 'binary_search'])
def test_messages_pass_on_arrays(task):
  """Each node's equilibrium depends on the keys of other nodes."""
  model, feedback = _model(task)
  inputs = tuple(feedback.features.inputs)
  key_index, = [i for i, x in enumerate(inputs) if x.name == 'key']

  def hidden(keys):
    probes = list(inputs)
    old = probes[key_index]
    probes[key_index] = clrs.DataPoint(old.name, old.location, old.type_, keys)
    output = model.net_fn.apply(
        model.params, jax.random.PRNGKey(0), [tuple(probes)], repred=True,
        algorithm_index=0)
    return output.solution.value.sum(axis=-1)

  keys = jnp.asarray(inputs[key_index].data, jnp.float32)
  influence = jax.jit(jax.jacrev(hidden))(keys)  # [B, N, B, N]
  for b in range(2):
    # A maximum need not pick every sender, but it always picks some.
    on_others = (influence[b, :, b] != 0) & ~np.eye(6, dtype=bool)
    assert on_others.any(axis=1).all() and on_others.mean() > 0.5
    np.testing.assert_array_equal(influence[b, :, 1 - b], 0)


def test_more_iterations_at_evaluation():
  # An unreachable tolerance makes every solve use all it may.
  model, feedback = _model(
      'bfs', solver=dear_jax.SolverConfig(tol=1e-30, max_iter=4),
      eval_iterations=3)
  steps = [int(_apply(model, feedback, repred)[1].steps.max())
           for repred in (False, True)]
  assert steps == [4, 12]  # for six nodes that is two a node
  model, feedback = _model(
      'bfs', solver=dear_jax.SolverConfig(tol=1e-30, max_iter=4),
      eval_iterations=1, eval_iterations_per_node=3)
  assert int(_apply(model, feedback, True)[1].steps.max()) == 18


def test_limit_at_evaluation():
  assert nets.evaluation_limit(40, nb_nodes=64) == 160  # that of the paper
  assert nets.evaluation_limit(40, nb_nodes=400) == 800
  assert nets.evaluation_limit(40, nb_nodes=400, times=1, per_node=0) == 40


def test_noise_is_for_training_only_and_drawn_once_a_solve():
  """Were it drawn at every evaluation, no residual would be under 0.1."""
  solver = dear_jax.SolverConfig(tol=1e-4, max_iter=100)
  hidden = {}
  for stddev in (0.0, 0.1):
    model, feedback = _model('bfs', nb_nodes=5, solver=solver,
                             noise_stddev=stddev)
    for repred in (False, True):
      _, solution = _apply(model, feedback, repred)
      assert (solution.residual < 0.02).all()
      hidden[stddev, repred] = solution.value
  np.testing.assert_array_equal(hidden[0.0, True], hidden[0.1, True])
  assert (hidden[0.0, False] != hidden[0.1, False]).all()


def test_other_processors_are_refused():
  feedback = samplers.make_sampler('bfs', size=4, batch_size=1, seed=0,
                                   split='val').batch(0)
  model = dear_jax.DEARModel(
      clrs.SPECS['bfs'], feedback,
      clrs.get_processor_factory('mpnn', use_ln=True, nb_triplet_fts=0),
      hidden_dim=8)
  with pytest.raises(ValueError, match='dear_pgn.*got MPNN'):
    model.init(feedback.features, 0)


def test_pointers_of_edges_as_clrs_decodes_them():
  rng = np.random.RandomState(0)
  states, edge_fts, graph_fts = (
      jnp.asarray(rng.randn(*shape), jnp.float32)
      for shape in ((2, 5, 6), (2, 5, 5, 4), (2, 3)))
  spec = {'Pi': (clrs.Stage.OUTPUT, clrs.Location.EDGE, clrs.Type.POINTER)}

  def decode(states, edge_fts):
    layers = clrs_private.construct_decoders(
        clrs.Location.EDGE, clrs.Type.POINTER, hidden_dim=8, nb_dims=None,
        name='Pi')
    _, expected = clrs_private.decode_fts(
        decoders={'Pi': layers}, spec=spec, h_t=states,
        adj_mat=jnp.ones((2, 5, 5)), edge_fts=edge_fts, graph_fts=graph_fts,
        inf_bias=False, inf_bias_edge=False, repred=True)
    # pylint:disable-next=protected-access
    found = [pointer_decoders.of_pairs(layers, states, *edges) for edges in (
        (edge_fts, None), (edge_fts[..., :3], edge_fts[..., 3:]))]
    return found, expected['Pi']

  net = hk.without_apply_rng(hk.transform(decode))
  params = net.init(jax.random.PRNGKey(0), states, edge_fts)
  ours, expected = net.apply(params, states, edge_fts)
  for found in ours:
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
