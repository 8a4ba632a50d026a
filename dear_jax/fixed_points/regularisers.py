# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Auxiliary losses on the equilibrium."""

import math
from typing import Any, Callable, Optional, Tuple

from dear_jax.fixed_points import harmless
from dear_jax.fixed_points import per_instance
import jax
import jax.numpy as jnp

_Tree = Any


def jacobian_penalty(fun: Callable[..., _Tree],
                     value: _Tree,
                     *args: Any,
                     key: jax.Array,
                     num_samples: int = 1,
                     mask: Optional[jax.Array] = None,
                     instances: Optional[jax.Array] = None,
                     is_sound: bool = False) -> jax.Array:
  """Hutchinson estimate of `||J||_F^2 / size` (Bai et al., 2021, section 3.2).

  `J` is the Jacobian of `fun` with respect to the state, and `size` the number
  of entries of the whole batch. As in the reference implementations of deep
  equilibrium models, the penalty trains `args` through `J` itself; no gradient
  flows through the place at which it is taken.

  Args:
    fun: The step whose fixed point `value` is.
    value: The fixed point.
    *args: Passed on to `fun`.
    key: Source of the random directions.
    num_samples: How many directions to average over.
    mask: [B], true for the instances that count; all do by default.
    instances: [K], to estimate it on these only, as if there were no others;
      those beyond the batch are none. Then the mask is one of them, [K].
    is_sound: Whether `value` and `args` are finite, also where the mask is
      false. With `instances` they have to be.

  Returns:
    A scalar.
  """
  value = jax.lax.stop_gradient(value)
  if mask is not None and instances is None and not is_sound:
    value, args = _without_others(fun, value, args, mask)
  _, pull_back = jax.vjp(lambda z: fun(z, *args), value)
  leaves, treedef = jax.tree_util.tree_flatten(value)
  shape = lambda leaf: (leaf.shape if instances is None
                        else instances.shape + leaf.shape[1:])
  size = sum(math.prod(shape(leaf)) for leaf in leaves)
  if mask is not None:
    size = jnp.maximum(size * jnp.mean(mask.astype(_wide(leaves[0]))), 1)

  def squared_norm(sample_key):
    keys = jax.random.split(sample_key, len(leaves))
    direction = jax.tree_util.tree_unflatten(
        treedef, [jax.random.normal(k, shape(leaf), leaf.dtype)
                  for k, leaf in zip(keys, leaves)])
    if mask is not None:
      direction = jax.tree_util.tree_map(
          lambda x: jnp.where(jnp.expand_dims(mask, range(1, x.ndim)), x, 0),
          direction)
    if instances is not None:
      direction = jax.tree_util.tree_map(
          lambda x, rows: jnp.zeros_like(x).at[instances].set(
              rows, mode='drop'), value, direction)
    product, = pull_back(direction)
    return sum(jnp.sum(jnp.square(leaf.astype(_wide(leaf))))
               for leaf in jax.tree_util.tree_leaves(product))

  samples = [squared_norm(k) for k in jax.random.split(key, num_samples)]
  return sum(samples) / (num_samples * size)


def residual_penalty(fun: Callable[..., _Tree],
                     value: _Tree,
                     *args: Any,
                     mask: Optional[jax.Array] = None,
                     weights: Optional[jax.Array] = None,
                     is_sound: bool = False) -> jax.Array:
  """The mean over instances of `||f(z) - z||^2 / ||f(z)||^2` at the solution.

  A solution of a loose tolerance is not at rest, and nothing else in a loss
  wants it to be: while a network learns, it takes ever more iterations to get
  there. This trains `args` so that one more step changes less. No gradient
  flows through the place at which it is taken, nor through the norm that it is
  divided by: states must not grow to make it small.

  Args:
    fun: The step whose fixed point `value` is.
    value: The fixed point.
    *args: Passed on to `fun`.
    mask: [B], true for the instances that count; all do by default.
    weights: [B], how much each of them counts; 1 by default.
    is_sound: As in `jacobian_penalty`.

  Returns:
    A scalar.
  """
  value = jax.lax.stop_gradient(value)
  if mask is not None and not is_sound:
    value, args = _without_others(fun, value, args, mask)
  after = fun(value, *args)
  change = per_instance.squared_norms(
      jax.tree_util.tree_map(jnp.subtract, after, value))
  size = jax.lax.stop_gradient(per_instance.squared_norms(after))
  ratio = change / jnp.where(size > 0, size, 1.0)
  if weights is not None:
    ratio *= weights
  if mask is None:
    return jnp.mean(ratio)
  count = jnp.maximum(jnp.sum(mask.astype(ratio.dtype)), 1)
  return jnp.sum(jnp.where(mask, ratio, 0)) / count


def _without_others(fun: Callable[..., _Tree], value: _Tree, args: Any,
                    mask: jax.Array) -> Tuple[_Tree, Any]:
  """States and arguments, with an instance that counts for all that do not."""
  others = ~mask.astype(bool)
  restore = harmless.without_failed(fun, None, value, args, others)
  return (per_instance.copy(value, others, jnp.argmin(others)), restore(args))


def _wide(x: jax.Array) -> jnp.dtype:
  """What to sum in: half precision ends at 65,504."""
  return jnp.promote_types(x.dtype, jnp.float32)
