# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""What a step is like near its fixed point."""

from typing import Any, Callable

from dear_jax.fixed_points import per_instance
from dear_jax.fixed_points import varying
import jax
import jax.numpy as jnp

_Tree = Any


def spectral_radius(fun: Callable[..., _Tree],
                    value: _Tree,
                    *args: Any,
                    key: jax.Array,
                    num_iterations: int = 20) -> jax.Array:
  """Estimates the largest absolute eigenvalue of the step's Jacobian.

  Under 1, plain iteration converges, and the linear system of the implicit
  gradient is well posed; close to 1 both take long. The power method: the mean
  rate at which a random vector grows, in the second half of its iterations, so
  that pairs of complex eigenvalues are no problem.

  >>> import jax
  >>> import jax.numpy as jnp
  >>> matrix = jnp.array([[0.5, 3.0], [0.0, -0.8]])
  >>> radius = spectral_radius(lambda z: z @ matrix, jnp.zeros((1, 2)),
  ...                          key=jax.random.PRNGKey(0), num_iterations=60)
  >>> [round(float(x), 3) for x in radius]
  [0.8]

  Args:
    fun: The step, with instances along the leading axis.
    value: Where to take the Jacobian.
    *args: Passed on to `fun`.
    key: Source of the starting vectors.
    num_iterations: How many products with the Jacobian to take.

  Returns:
    [B], the estimate for every instance.
  """
  _, pull_back = jax.vjp(lambda z: fun(z, *args), value)
  leaves, treedef = jax.tree_util.tree_flatten(value)
  keys = jax.random.split(key, len(leaves))
  vector = jax.tree_util.tree_unflatten(
      treedef, [jax.random.normal(k, x.shape, x.dtype)
                for k, x in zip(keys, leaves)])

  vector = varying.like((value, args), vector)

  def grow(_, carry):
    vector, log_growth = carry
    vector, = pull_back(vector)
    norm = per_instance.norms(vector)
    safe = jnp.where(norm > 0, norm, 1.0)
    vector = jax.tree_util.tree_map(
        lambda x: x / per_instance.expand(safe, x).astype(x.dtype), vector)
    return vector, log_growth + jnp.log(norm)

  settle = num_iterations // 2
  count = num_iterations - settle
  vector, nothing = jax.lax.fori_loop(
      0, settle, grow, (vector, jnp.zeros_like(per_instance.norms(vector))))
  del nothing  # how it grew before it pointed in the right direction
  _, log_growth = jax.lax.fori_loop(
      0, count, grow, (vector, jnp.zeros_like(per_instance.norms(vector))))
  return jnp.exp(log_growth / count)


def jacobian(fun: Callable[..., jax.Array], value: jax.Array, *args: Any
             ) -> jax.Array:
  """The whole Jacobian of the step, for problems that are small enough.

  >>> import jax.numpy as jnp
  >>> matrix = jnp.array([[0.5, 3.0], [0.0, -0.8]])
  >>> result = jacobian(lambda z: z @ matrix.T, jnp.zeros((1, 2)))
  >>> bool(jnp.all(result[0] == matrix))
  True

  Args:
    fun: The step, with instances along the leading axis.
    value: [B, ...], where to take it.
    *args: Passed on to `fun`.

  Returns:
    [B, D, D], with outputs along the rows.
  """
  _, pull_back = jax.vjp(lambda z: fun(z, *args), value)
  batch_size = len(value)
  size = value.size // batch_size
  def row(output):
    # All instances at once: none of them depends on another.
    cotangent = jnp.broadcast_to(output, (batch_size, size))
    return jnp.reshape(pull_back(jnp.reshape(cotangent, value.shape))[0],
                       (batch_size, size))
  # Not all rows at once, which would take too much memory.
  return jnp.moveaxis(
      jax.lax.map(row, jnp.eye(size, dtype=value.dtype)), 0, 1)
