# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""What varies between devices, under `jax.shard_map`.

There the type of an array says along which axes of the mesh it varies, and the
carry of a loop has to keep its type. Constants vary along none.
"""

import functools
from typing import Any, Sequence

import jax
import jax.numpy as jnp

_Tree = Any


def like(sources: Any, tree: _Tree) -> _Tree:
  """The same values, which may differ between devices if the sources do.

  There is no name for the axes of a type that all versions of JAX have, but
  every result of an array has them.

  Args:
    sources: Arrays that a loop's results depend on.
    tree: What the loop starts from.

  Returns:
    The tree; the very same one outside of `jax.shard_map`.
  """
  if not manual_axes():
    return tree
  flags = [jnp.any(jnp.ravel(x)[:1] != jnp.ravel(x)[:1]) & False
           for x in jax.tree_util.tree_leaves(sources)]
  never = functools.reduce(jnp.logical_or, flags, jnp.array(False))
  return jax.tree_util.tree_map(
      lambda x: jnp.where(never, jnp.zeros_like(x), x), tree)


_like = like  # which is also the name of an argument


def unshared(tree: _Tree, like: Any) -> _Tree:
  """The same values, none of which all devices share.

  The gradient of what is shared is that of all devices together, so that none
  of them could leave it out.

  Args:
    tree: Some values.
    like: Arrays that vary as they are to.

  Returns:
    The tree; the very same one outside of `jax.shard_map`.
  """
  if not manual_axes():
    return tree
  return jax.tree_util.tree_map(
      lambda x: _like(like, x) if is_shared(x) else x, tree)


def manual_axes() -> Sequence[str]:
  """The axes of the mesh that `jax.shard_map` has taken apart."""
  return getattr(jax.sharding.get_abstract_mesh(), 'manual_axes', ())


def is_shared(x: Any) -> bool:
  """Whether an array is one and the same on all devices of a `shard_map`."""
  kind = jax.typeof(x)
  axes = getattr(kind, 'vma', None)  # as it was called until JAX 0.9
  if axes is None:
    axes = getattr(getattr(kind, 'mat', None), 'varying', ())
  return bool(manual_axes()) and not axes
