# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the auxiliary losses."""

import dear_jax
from dear_jax.fixed_points import regularisers
import jax
import jax.numpy as jnp
import numpy as np


def _step(z, w):
  return dict(a=jnp.tanh(z['a'] @ w), b=z['b'] * z['a'].sum(-1, keepdims=True))


def _state():
  rng = np.random.RandomState(0)
  return dict(a=jnp.asarray(rng.randn(2, 3), jnp.float32),
              b=jnp.asarray(rng.randn(2, 1), jnp.float32))


def _exact(w, state):
  flat, unflatten = jax.flatten_util.ravel_pytree(state)
  step = lambda f: jax.flatten_util.ravel_pytree(_step(unflatten(f), w))[0]
  return jnp.sum(jax.jacobian(step)(flat)**2) / flat.size


def test_jacobian_penalty_estimates_the_frobenius_norm():
  w = jnp.asarray(np.random.RandomState(1).randn(3, 3), jnp.float32)
  state = _state()
  estimate = jax.jit(lambda key: dear_jax.jacobian_penalty(
      _step, state, w, key=key))
  samples = jax.vmap(estimate)(jax.random.split(jax.random.PRNGKey(0), 20_000))
  expected = _exact(w, state)
  np.testing.assert_allclose(samples.mean(), expected, rtol=0.02)
  assert samples.std() > 0.1 * expected  # a single sample is an estimate


def test_more_samples_make_a_better_estimate():
  keys = jax.random.split(jax.random.PRNGKey(2), 5_000)
  one, four = [
      jax.vmap(lambda key, n=n: dear_jax.jacobian_penalty(
          _step, _state(), jnp.eye(3), key=key, num_samples=n))(keys)
      for n in (1, 4)]
  np.testing.assert_allclose(one.mean(), four.mean(), rtol=0.05)
  np.testing.assert_allclose(four.std(), one.std() / 2, rtol=0.1)


def test_jacobian_penalty_trains_the_step_and_not_the_state():
  w, state = 0.5 * jnp.eye(3), _state()
  penalty = lambda w, state: jnp.mean(jax.vmap(
      lambda key: dear_jax.jacobian_penalty(_step, state, w, key=key))(
          jax.random.split(jax.random.PRNGKey(0), 20_000)))
  grad_w, grad_state = jax.grad(penalty, argnums=(0, 1))(w, state)
  expected = jax.grad(_exact)(w, state)
  np.testing.assert_allclose(grad_w, expected, atol=0.03)
  for leaf in jax.tree_util.tree_leaves(grad_state):
    np.testing.assert_array_equal(leaf, 0)


def test_instances_that_do_not_count():
  """Their Jacobian is left out, and so is their share of the size."""
  def penalty(scales, mask=None):
    return dear_jax.jacobian_penalty(
        lambda z, s: s * z, jnp.ones((2, 4)), jnp.asarray(scales)[:, None],
        key=jax.random.PRNGKey(3),
        mask=None if mask is None else jnp.asarray(mask))
  first, second = penalty([2.0, 0.0]), penalty([0.0, 3.0])
  np.testing.assert_allclose(penalty([2.0, 3.0]), first + second, rtol=1e-6)
  np.testing.assert_allclose(penalty([2.0, 3.0], [True, False]), 2 * first,
                             rtol=1e-6)
  np.testing.assert_array_equal(penalty([2.0, 3.0], [False, False]), 0)


def test_residual_penalty_in_closed_form():
  """For `z = a z + b`, and its gradient at a place that is held."""
  def penalty(a, value, mask=None, weights=None):
    return regularisers.residual_penalty(
        lambda z, a: {'x': a * z['x'] + 1}, {'x': value}, a, mask=mask,
        weights=weights)
  value = jnp.array([[1.0, 1.0], [0.0, 4.0]])
  # One more step gives [1.5, 1.5] and [1, 3].
  parts = np.array([0.5 / 4.5, 2.0 / 10.0])
  np.testing.assert_allclose(penalty(0.5, value), parts.mean(), rtol=1e-6)
  for mask, expected in (([True, False], parts[0]), ([False, True], parts[1]),
                         ([False, False], 0)):
    np.testing.assert_allclose(
        penalty(0.5, value, jnp.array(mask)), expected, rtol=1e-6)
  np.testing.assert_allclose(
      penalty(0.5, value, weights=jnp.array([0.0, 3.0])), 1.5 * parts[1],
      rtol=1e-6)
  # d/da of (f - z)^2 is 2 (f - z) z; the divisor is held, too.
  slopes = np.array([2 * (0.5 + 0.5) / 4.5, 2 * -1 * 4 / 10])
  grad, of_value = jax.grad(penalty, argnums=(0, 1))(0.5, value)
  np.testing.assert_allclose(grad, slopes.mean(), rtol=1e-6)
  np.testing.assert_array_equal(of_value, 0)
  np.testing.assert_array_equal(penalty(0.0, jnp.ones((2, 2))), 0)
  # The zero state may be at rest as well.
  nothing = regularisers.residual_penalty(lambda z: z, jnp.zeros((2, 2)))
  np.testing.assert_array_equal(nothing, 0)


def test_instances_that_do_not_count_may_be_anything():
  rng = np.random.RandomState(0)
  w = jnp.asarray(0.3 * rng.randn(2, 2), jnp.float32)
  inputs = jnp.asarray(rng.randn(3, 2), jnp.float32).at[1].set(jnp.nan)
  value = jnp.full((3, 2), 0.1).at[1].set(jnp.inf)
  mask = jnp.array([True, False, True])
  step = lambda z, w, x: jnp.tanh(z @ w + x)

  def both(w, others):
    """The others have what the first one has, or what they are given."""
    x, z = (jnp.where(mask[:, None], y, y[0]) if others else y
            for y in (inputs, value))
    return regularisers.residual_penalty(
        step, z, w, x, mask=mask) + dear_jax.jacobian_penalty(
            step, z, w, x, mask=mask, key=jax.random.PRNGKey(0))

  for here, there in zip(jax.value_and_grad(both)(w, False),
                         jax.value_and_grad(both)(w, True)):
    np.testing.assert_allclose(here, there, rtol=1e-6)
  assert np.isfinite(here).all()


def test_size_in_half_precision():
  """65,536 entries are more than half precision can count."""
  penalty = dear_jax.jacobian_penalty(
      lambda z: (0.5 * z).astype(z.dtype), jnp.ones((32, 16, 128), jnp.float16),
      key=jax.random.PRNGKey(0), mask=jnp.ones(32, bool))
  np.testing.assert_allclose(penalty, 0.25, rtol=0.02)
