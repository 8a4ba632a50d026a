# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of averaged parameters."""

import functools

import dear_jax
from dear_jax.models import averaging
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from tests import graphs

KEY = jax.random.PRNGKey(0)


@functools.lru_cache(maxsize=None)
def _built(average, freeze_processor, nb_algorithms):
  """A model, of which this needs little but that it learns; and a batch."""
  batch = graphs.feedback()
  factory = dear_jax.get_processor_factory(
      'dear_pgn', gradient='one_step',
      solver=dear_jax.SolverConfig(method='picard', max_iter=2))
  model = dear_jax.DEARModel(
      [graphs.SPEC] * nb_algorithms, [batch] * nb_algorithms, factory,
      hidden_dim=8, learning_rate=0.1, jacobian_weight=0.0, average=average,
      freeze_processor=freeze_processor)
  model.init([batch.features] * nb_algorithms, 0)
  return model, batch, model.params


def _model(average=False, freeze_processor=False, nb_algorithms=1):
  """A model as it starts; those of equal settings share their programs."""
  model, batch, params = _built(average, freeze_processor, nb_algorithms)
  model.restart(params)
  return model, batch


def _weights(nb_steps):
  """The weight of step t is proportional to (t + 1) (t + 2) ... (t + 8)."""
  weights = np.array([np.prod(t + np.arange(8.0))
                      for t in range(1, nb_steps + 1)])
  return weights / np.sum(weights)


def _check_average(model, seen):
  """The average has to be that of the parameters after every step."""
  expected = jax.tree_util.tree_map(
      lambda *x: sum(w * y for w, y in zip(_weights(len(seen)), x)), *seen)
  with model.averaged():
    averaged = model.params
  jax.tree_util.tree_map(
      lambda x, y: np.testing.assert_allclose(x, y, atol=1e-5), averaged,
      expected)


def test_weights_are_polynomial():
  opt = optax.chain(averaging.track_average())
  values = np.random.RandomState(0).randn(30)
  state = opt.init(jnp.array(5.0))  # forgotten at once: its weight is zero
  for value in values:
    state = averaging.add_to_average(state, jnp.array(value, jnp.float32))
  np.testing.assert_allclose(averaging.get_average(state),
                             np.sum(_weights(30) * values), rtol=1e-5)


def test_half_of_the_weight_is_on_the_last_tenth():
  assert 0.5 < _weights(10_000)[-1000:].sum() < 0.7


def test_updates_are_left_as_they_are():
  opt = averaging.track_average()
  state = opt.init(jnp.zeros(()))
  updates, same = opt.update(jnp.ones(()), state, jnp.zeros(()))
  assert updates == 1 and same is state


def test_model_swaps_and_puts_back():
  model, batch = _model(average=True)
  seen = []
  for i in range(3):
    model.feedback(jax.random.fold_in(KEY, i), batch)
    seen.append(model.params)
  moved = jax.tree_util.tree_map(lambda x, y: np.max(np.abs(x - y)), *seen[1:])
  assert min(jax.tree_util.tree_leaves(moved)) > 0.01
  np.testing.assert_allclose(_weights(3), np.array([1, 9, 45]) / 55)
  _check_average(model, seen)
  jax.tree_util.tree_map(np.testing.assert_array_equal, model.params, seen[-1])

@pytest.mark.parametrize('freeze_processor', [False, True])
def test_average_of_several_algorithms_is_over_the_same_steps(freeze_processor):
  """Also that of what is trained in every second step, or in none."""
  model, batch = _model(average=True, freeze_processor=freeze_processor,
                        nb_algorithms=2)
  seen = []
  for i in range(6):
    model.feedback(jax.random.fold_in(KEY, i), batch, i % 2)
    seen.append(model.params)
  _check_average(model, seen)


@pytest.mark.parametrize('freeze_processor', [False, True])
def test_average_of_accumulated_updates(freeze_processor):
  model, batch = _model(average=True, freeze_processor=freeze_processor,
                        nb_algorithms=2)
  seen = []
  for i in range(3):
    grads = [model.compute_grad(jax.random.fold_in(KEY, i), batch, index)[1]
             for index in range(2)]
    model.update_model_params_accum(grads)
    seen.append(model.params)
  _check_average(model, seen)


def test_training_is_the_same():
  results = []
  for average in (False, True):
    model, batch = _model(average=average)
    for i in range(2):
      model.feedback(jax.random.fold_in(KEY, i), batch)
    _, grads = model.compute_grad(KEY, batch)
    model.update_model_params_accum([grads])
    results.append(model.params)
  jax.tree_util.tree_map(np.testing.assert_array_equal, *results)


@pytest.mark.parametrize('accumulated', [False, True])
def test_what_is_frozen_is_its_own_average(accumulated):
  model, batch = _model(average=True, freeze_processor=True)
  before = model.params
  for i in range(2):
    key = jax.random.fold_in(KEY, i)
    if accumulated:
      _, grads = model.compute_grad(key, batch)
      model.update_model_params_accum([grads])
    else:
      model.feedback(key, batch)
  with model.averaged():
    for module, values in model.params.items():
      if 'clrs_processor' in module:
        jax.tree_util.tree_map(np.testing.assert_array_equal, values,
                               before[module])


def test_without_an_average_nothing_changes():
  model, batch = _model()
  model.feedback(KEY, batch)
  with model.averaged():
    inside = model.params
  jax.tree_util.tree_map(np.testing.assert_array_equal, inside, model.params)
