# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Trees whose arrays have the instances of a batch along their leading axis."""

import functools
from typing import Any

import jax
import jax.numpy as jnp

_Array = jax.Array
_Tree = Any


def expand(per_instance: _Array, like: _Array) -> _Array:
  """[B, 1, ...], with as many axes as another array."""
  return jnp.expand_dims(per_instance, range(1, jnp.ndim(like)))


def where(condition: _Array, new: _Tree, old: _Tree) -> _Tree:
  """The new tree for some instances [B], and the old one for the others."""
  return jax.tree_util.tree_map(
      lambda x, y: jnp.where(expand(condition, y), x, y), new, old)


def copy(tree: _Tree, condition: _Array, source: _Array) -> _Tree:
  """The same tree, with one instance in the place of some others [B]."""
  return jax.tree_util.tree_map(
      lambda x: jnp.where(expand(condition, x), x[source][None], x), tree)


def zero(tree: _Tree, condition: _Array) -> _Tree:
  """The same tree, with zeros in the place of some instances [B]."""
  return jax.tree_util.tree_map(
      lambda x: jnp.where(expand(condition, x), 0, x), tree)


def norms(tree: _Tree) -> _Array:
  """The norm of every instance."""
  return jnp.sqrt(squared_norms(tree))


def squared_norms(tree: _Tree) -> _Array:
  """Their squares, which have a derivative at zero as well."""
  # Half precision ends at 65,504, which few squares add up to.
  wide = lambda x: x.astype(jnp.promote_types(x.dtype, jnp.float32))
  return functools.reduce(jnp.add, [
      jnp.sum(jnp.square(wide(x)), axis=tuple(range(1, x.ndim)))
      for x in jax.tree_util.tree_leaves(tree)])
