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
def _built(average, freeze_processor):
  """A model, of which this needs little but that it learns; and a batch."""
  batch = graphs.feedback()
  factory = dear_jax.get_processor_factory(
      'dear_pgn', gradient='one_step',
      solver=dear_jax.SolverConfig(method='picard', max_iter=2))
  model = dear_jax.DEARModel(
      graphs.SPEC, batch, factory, hidden_dim=8, learning_rate=0.1,
      jacobian_weight=0.0, average=average, freeze_processor=freeze_processor)
  model.init(batch.features, 0)
  return model, batch, model.params


def _model(average=False, freeze_processor=False):
  """A model as it starts; those of equal settings share their programs."""
  model, batch, params = _built(average, freeze_processor)
  model.restart(params)
  return model, batch


def test_weights_are_polynomial():
  opt = averaging.track_average()
  values = np.random.RandomState(0).randn(30)
  params = jnp.array(5.0)  # forgotten at once: its weight is zero
  state = opt.init(params)
  for value in values:
    updates, state = opt.update(value - params, state, params)
    params = optax.apply_updates(params, updates)
  # The weight of step t is proportional to (t + 1) (t + 2) ... (t + 8).
  weights = np.array([np.prod(t + np.arange(8.0)) for t in range(1, 31)])
  expected = np.sum(weights * values) / np.sum(weights)
  np.testing.assert_allclose(averaging.get_average((state,)), expected,
                             rtol=1e-5)


def test_half_of_the_weight_is_on_the_last_tenth():
  weights = np.array([np.prod(t + np.arange(8.0)) for t in range(1, 10_001)])
  assert 0.5 < weights[-1000:].sum() / weights.sum() < 0.7


def test_needs_the_parameters():
  opt = averaging.track_average()
  with pytest.raises(ValueError, match='params'):
    opt.update(jnp.zeros(()), opt.init(jnp.zeros(())))


def test_model_swaps_and_puts_back():
  model, batch = _model(average=True)
  seen = []
  for i in range(3):
    model.feedback(jax.random.fold_in(KEY, i), batch)
    seen.append(model.params)
  moved = jax.tree_util.tree_map(lambda x, y: np.max(np.abs(x - y)), *seen[1:])
  assert min(jax.tree_util.tree_leaves(moved)) > 0.01
  with model.averaged():
    averaged = model.params
  jax.tree_util.tree_map(np.testing.assert_array_equal, model.params, seen[-1])
  weights = np.array([1.0, 9.0, 45.0]) / 55
  expected = jax.tree_util.tree_map(
      lambda *x: sum(w * y for w, y in zip(weights, x)), *seen)
  jax.tree_util.tree_map(
      lambda x, y: np.testing.assert_allclose(x, y, atol=1e-5), averaged,
      expected)


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


def test_what_is_frozen_is_its_own_average():
  model, batch = _model(average=True, freeze_processor=True)
  before = model.params
  model.feedback(KEY, batch)
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
