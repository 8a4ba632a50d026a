# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Auxiliary losses on the equilibrium."""

from typing import Any, Callable, Optional

import chex
import jax
import jax.numpy as jnp

_Tree = chex.ArrayTree


def jacobian_penalty(fun: Callable[..., _Tree],
                     value: _Tree,
                     *args: Any,
                     key: chex.PRNGKey,
                     num_samples: int = 1,
                     mask: Optional[chex.Array] = None) -> chex.Array:
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

  Returns:
    A scalar.
  """
  value = jax.lax.stop_gradient(value)
  _, pull_back = jax.vjp(lambda z: fun(z, *args), value)
  leaves, treedef = jax.tree_util.tree_flatten(value)
  size = sum(leaf.size for leaf in leaves)
  if mask is not None:
    size *= jnp.mean(mask.astype(leaves[0].dtype))

  def squared_norm(sample_key):
    keys = jax.random.split(sample_key, len(leaves))
    direction = jax.tree_util.tree_unflatten(
        treedef, [jax.random.normal(k, leaf.shape, leaf.dtype)
                  for k, leaf in zip(keys, leaves)])
    if mask is not None:
      direction = jax.tree_util.tree_map(
          lambda x: jnp.where(jnp.expand_dims(mask, range(1, x.ndim)), x, 0),
          direction)
    product, = pull_back(direction)
    return sum(jnp.sum(jnp.square(leaf))
               for leaf in jax.tree_util.tree_leaves(product))

  samples = [squared_norm(k) for k in jax.random.split(key, num_samples)]
  return sum(samples) / (num_samples * size)
