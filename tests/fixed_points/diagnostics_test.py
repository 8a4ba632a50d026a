# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the diagnostics, against dense eigenvalues."""

from dear_jax.fixed_points import diagnostics
import jax
import jax.numpy as jnp
import numpy as np
from tests import problems


def test_spectral_radius_of_a_nonlinear_step():
  problem = problems.tanh_layer(batch_size=3)
  value = jax.tree_util.tree_map(jnp.asarray, problem.answer)
  def one(i):
    flat, unravel = jax.flatten_util.ravel_pytree(
        jax.tree_util.tree_map(lambda x: x[i], value))
    weights, bias = problem.args
    def step(flat):
      state = jax.tree_util.tree_map(lambda x: x[None], unravel(flat))
      return jax.flatten_util.ravel_pytree(
          problem.fun(state, weights, bias[i:i + 1]))[0]
    return np.abs(np.linalg.eigvals(jax.jacobian(step)(flat))).max()
  estimate = jax.jit(lambda key: diagnostics.spectral_radius(
      problem.fun, value, *problem.args, key=key, num_iterations=200))(
          jax.random.PRNGKey(0))
  np.testing.assert_allclose(estimate, [one(i) for i in range(3)], rtol=0.05)


def test_complex_eigenvalues():
  problem = problems.rotation(0.7)
  radius = diagnostics.spectral_radius(
      problem.fun, problem.init, *problem.args, key=jax.random.PRNGKey(0))
  np.testing.assert_allclose(radius, 0.7, rtol=1e-4)


def test_a_step_that_forgets_its_state_has_radius_zero():
  radius = diagnostics.spectral_radius(
      lambda z: 0 * z + 1, jnp.ones((2, 3)), key=jax.random.PRNGKey(0))
  np.testing.assert_array_equal(radius, 0)


def test_whole_jacobians_of_several_instances():
  rng = np.random.RandomState(0)
  matrices = jnp.asarray(rng.randn(3, 4, 4))
  step = lambda z, m: jnp.reshape(
      jnp.einsum('bij,bj->bi', m, jnp.reshape(z, (3, 4))), z.shape)
  result = diagnostics.jacobian(step, jnp.zeros((3, 2, 2)), matrices)
  np.testing.assert_allclose(result, matrices, rtol=1e-6)
