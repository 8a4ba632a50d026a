# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the unrolled baseline."""

import functools

import dear_jax
from dear_jax.models import nar
from dear_jax.networks import nets
from dear_jax.training import configs
import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import pytest

KEY = jax.random.PRNGKey(0)
WIDTH = 8


@functools.lru_cache(maxsize=None)
def _built(test_steps, task, layout, size, **kwargs):
  sampler = dear_jax.make_sampler(task, size=size, batch_size=4, seed=0,
                                  split='train', with_lengths=True)
  batch = sampler.batch(0)
  model = nar.NARModel(
      sampler.spec, batch, dear_jax.get_processor_factory('dear_pgn'), WIDTH,
      test_steps=test_steps, layout=layout, **kwargs)
  model.init(batch.features, 0)
  return model, batch, model.params


def _make(test_steps='true', task='bfs', layout='dense', size=5, **kwargs):
  """A model as it starts; those of equal settings share their programs."""
  model, batch, params = _built(test_steps, task, layout, size, **kwargs)
  model.restart(params)
  return model, batch


@pytest.fixture(name='learned', scope='module')
def _learned():
  return _make('learned')


def _by_hand(model, batch, count):
  """The states after every number of steps, one step after the other."""
  def run():
    net = nets.TerminatingNet(
        model._spec, WIDTH, dear_jax.get_processor_factory('dear_pgn'),  # pylint:disable=protected-access
        encoder_init='default', dropout_prob=0.0, nb_dims=model.nb_dims,
        restrict_pointers=None, learns_to_stop=False)
    return _states(net, batch, count)
  return jax.jit(hk.transform(run).apply)(model.params, KEY)


def _states(net, batch, count):
  @hk.name_like('__call__')
  def unroll(self):
    self.build()
    inputs = [p for p in batch.features.inputs]
    encoded = self.encode(inputs, 0, None)
    problem = self.processor.problem(*encoded,
                                     jnp.zeros_like(encoded.node_fts))
    states = [problem.start]
    for _ in range(count):
      states.append(problem.fun(states[-1], *problem.args))
    return states

  return unroll(net)


def test_every_instance_takes_its_own_number_of_steps():
  model, batch = _make()
  steps = np.array([1, 3, 2, 4])
  batch = batch._replace(features=batch.features._replace(lengths=steps + 1.0))
  model.debug = True
  _, _, hidden = model.predict(KEY, batch.features)
  model.debug = False
  states = np.stack(_by_hand(model, batch, 5))
  instances = np.arange(4)
  np.testing.assert_allclose(hidden[0], states[steps, instances], atol=1e-5)
  assert not np.allclose(hidden[0], states[steps + 1, instances])


def test_training_and_evaluation_take_the_same_steps(learned):
  model, batch = learned
  apply = functools.partial(
      model.net_fn.apply, model.params, KEY, [batch.features.inputs],
      repred=True, algorithm_index=0, steps=jnp.array([1, 2, 3, 1]))
  unrolled = jax.jit(lambda: apply(slots=jnp.arange(4), with_states=True))()
  looped = jax.jit(apply)()
  np.testing.assert_allclose(unrolled.hidden, looped.hidden, atol=1e-5)
  np.testing.assert_array_equal(looped.steps, [1, 2, 3, 1])
  # What is beyond the last step of an instance is its last state.
  np.testing.assert_allclose(unrolled.states[-1], looped.hidden, atol=1e-5)
  np.testing.assert_array_equal(unrolled.states[0][0], unrolled.states[3][0])


def test_number_of_steps_comes_from_the_algorithm():
  model, batch = _make()
  model.feedback(KEY, batch)
  expected = np.maximum(batch.features.lengths - 1, 1)
  assert float(model.metrics['steps_mean']) == expected.mean()
  assert int(model.metrics['steps_max']) == expected.max()
  # At least one step, also where the algorithm has nothing to do.
  nothing = batch._replace(
      features=batch.features._replace(lengths=np.ones(4)))
  model.feedback(KEY, nothing)
  assert float(model.metrics['steps_mean']) == 1


def test_a_fixed_number_of_test_steps():
  model, batch = _make(test_steps=7)
  _, metrics = model.evaluate(KEY, batch)
  assert float(metrics['steps_mean']) == 7
  model.feedback(KEY, batch)
  assert float(model.metrics['steps_mean']) < 7  # training is not concerned


def test_learned_termination_stops_where_its_network_says(learned):
  model, batch = learned
  params = model.params
  stop = next(name for name in params if name.endswith('algo_0_stop'))
  for bias, expected in ((50.0, 1), (-50.0, 16 * 5)):
    model.params = {**params, stop: {
        'w': np.zeros_like(params[stop]['w']),
        'b': np.full_like(params[stop]['b'], bias)}}
    _, metrics = model.evaluate(KEY, batch)
    assert float(metrics['steps_mean']) == expected
  model.params = params


def test_termination_loss_is_a_mean_cross_entropy():
  rng = np.random.RandomState(0)
  logits = rng.randn(4, 3).astype(np.float32)
  steps = np.array([1, 3, 4])
  probability = 1 / (1 + np.exp(-logits))
  expected = []
  for b, count in enumerate(steps):
    terms = [-np.log(1 - probability[t, b]) for t in range(count - 1)]
    expected.append(np.mean(terms + [-np.log(probability[count - 1, b])]))
  np.testing.assert_allclose(
      nets._termination_loss(logits, steps), np.mean(expected), rtol=1e-5)  # pylint:disable=protected-access


def test_every_parameter_trains(learned):
  model, batch = learned
  before = model.params
  for i in range(2):
    model.feedback(jax.random.fold_in(KEY, i), batch)
  assert 'termination_loss' in model.metrics
  for module, values in model.params.items():
    for name, value in values.items():
      if module.endswith('message_graph') and name == 'w':
        continue  # this task has no features of the whole graph
      assert np.any(value != before[module][name]), (module, name)


def test_padding_changes_nothing():
  results = []
  for pad_to in (None, 8):
    model, batch = _make(layout='sparse', pad_to=pad_to)
    loss, grads = model.compute_grad(KEY, batch)
    results.append((loss, grads))
  (loss, grads), (padded_loss, padded_grads) = results
  assert float(loss) == pytest.approx(float(padded_loss), abs=1e-5)
  jax.tree_util.tree_map(
      lambda x, y: np.testing.assert_allclose(x, y, atol=1e-5), grads,
      padded_grads)


def test_parameters_are_those_of_an_equilibrium_model():
  model, batch = _make()
  dear = dear_jax.DEARModel(
      model._spec, [batch], dear_jax.get_processor_factory('dear_pgn'), WIDTH)  # pylint:disable=protected-access
  dear.init(batch.features, 0)
  jax.tree_util.tree_map(np.testing.assert_array_equal, model.params,
                         dear.params)


def test_equilibrium_models_do_not_read_the_lengths():
  sampler = dear_jax.make_sampler('bfs', size=5, batch_size=4, seed=0,
                                  split='train', with_lengths=True)
  batch = sampler.batch(0)
  model = dear_jax.DEARModel(
      sampler.spec, batch, dear_jax.get_processor_factory('dear_pgn'), WIDTH)
  data = model._batch(batch.features, batch.outputs, 0, training=True)  # pylint:disable=protected-access
  assert data.steps is None and data.slots is None


def test_few_lengths_are_compiled_for():
  lengths = {len(nar.slots(n)) for n in range(1, 65)}  # pylint:disable=protected-access
  assert lengths == {16, 32, 64}


@pytest.mark.parametrize('test_steps', ['sometimes', 0, True, 2.5])
def test_wrong_test_steps(test_steps):
  with pytest.raises(ValueError, match='test_steps must be true, learned or'):
    nar.check_test_steps(test_steps)


def test_settings_that_do_not_go_together():
  with pytest.raises(ValueError, match='test_steps=64 needs model=nar'):
    configs.TrainConfig(test_steps=64)
  with pytest.raises(ValueError, match='stochastic_depth needs model=dear'):
    configs.TrainConfig(model='nar', stochastic_depth=True)
  with pytest.raises(ValueError, match='align_to needs model=dear'):
    configs.TrainConfig(model='nar', align_to='folder')
  with pytest.raises(ValueError, match="did you mean 'dear_pgn'"):
    configs.TrainConfig(processor='pgn')
  with pytest.raises(ValueError, match="Unknown model 'nars'"):
    configs.TrainConfig(model='nars')
  for processor in ('pgn', 'dear_pgn'):
    config = configs.TrainConfig(model='nar', processor=processor)
    assert config.processor == 'pgn' and config.kind == 'dear_pgn'
