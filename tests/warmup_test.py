# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the one-step gradient at the beginning of implicit training."""

import dear_jax
from dear_jax import configs
import jax
import jax.numpy as jnp
import numpy as np
import pytest


def test_decay_as_an_array_has_one_program_for_all_values():
  rng = np.random.RandomState(0)
  matrix, weights = 0.3 * rng.randn(4, 4), rng.randn(3, 4)
  traces = []

  @jax.jit
  def adjoint(decay):
    traces.append(decay)
    def loss(offset):
      sol = dear_jax.fixed_point(
          lambda z, b: z @ matrix.T + b, jnp.zeros_like(offset), offset,
          forward=dear_jax.SolverConfig(tol=1e-6), decay=decay)
      return jnp.sum(weights * sol.value)
    return jax.grad(loss)(jnp.ones((3, 4)))

  for decay in (0.0, 0.7, 1.0):
    expected = np.linalg.solve(np.eye(4) - decay * matrix.T, weights.T).T
    np.testing.assert_allclose(adjoint(decay), expected, rtol=1e-4, atol=1e-5)
  assert len(traces) == 1


def test_no_gradient_reaches_the_decay():
  def loss(decay):
    sol = dear_jax.fixed_point(lambda z: 0.5 * z + 1, jnp.zeros((1, 1)),
                               decay=decay)
    return jnp.sum(sol.value)
  assert jax.grad(loss)(0.5) == 0


def test_the_model_takes_the_decay_of_the_step():
  sampler = dear_jax.make_sampler('minimum', size=4, batch_size=2, seed=0,
                                  split='train')
  batch = sampler.next()
  def make(**options):
    model = dear_jax.DEARModel(
        sampler.spec, batch, dear_jax.get_processor_factory(
            'dear_pgn', **options), hidden_dim=4, jacobian_weight=0.0)
    model.init(batch.features, 0)
    return model
  def gradients(model):
    return model.compute_grad(jax.random.PRNGKey(0), batch)[1]
  def assert_close(found, expected):
    jax.tree_util.tree_map(
        lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-6),
        found, expected)

  one_step = gradients(make(gradient='one_step'))
  decayed = gradients(make(backward_decay=0.6))
  model = make(backward_decay=0.9)
  model.backward_decay = 0.0
  assert_close(gradients(model), one_step)
  model.backward_decay = 0.6
  assert_close(gradients(model), decayed)
  difference = max(np.abs(x - y).max() for x, y in zip(
      jax.tree_util.tree_leaves(one_step), jax.tree_util.tree_leaves(decayed)))
  assert difference > 1e-3


def test_schedule():
  config = configs.TrainConfig(warmup_steps=10, backward_decay=0.6)
  assert [config.decay_at(step) for step in (0, 9, 10, 1000)] == [
      0.0, 0.0, 0.6, 0.6]
  assert configs.TrainConfig(warmup_steps=0).decay_at(5) is None
  assert configs.TrainConfig(gradient='one_step').decay_at(5) is None


def test_runs_from_before_have_none():
  settings = {'algorithms': ['bfs'], 'gradient': 'implicit'}
  assert configs.from_settings(settings).warmup_steps == 0


def test_must_not_be_negative():
  with pytest.raises(ValueError, match='warmup_steps must be a whole number'):
    configs.TrainConfig(warmup_steps=-1)
