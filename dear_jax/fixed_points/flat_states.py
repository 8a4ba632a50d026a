# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Trees of arrays as one flat vector an instance, which solvers work on."""

import itertools
import math
from typing import Any, Callable, List, Optional

from dear_jax.fixed_points import updates
import jax
import jax.numpy as jnp

_Array = jax.Array
_Tree = Any


class FlatStates:
  """How states of one structure become vectors [B, D], and back.

  Attributes:
    dtype: Of the vectors. Narrow types hold a state well enough, but not the
      sums over one.
  """

  def __init__(self, example: _Tree):
    leaves, self._treedef = jax.tree_util.tree_flatten(example)
    self._shapes = [jnp.shape(leaf) for leaf in leaves]
    self._dtypes = [jnp.result_type(leaf) for leaf in leaves]
    self.dtype = jnp.promote_types(jnp.result_type(*self._dtypes), jnp.float32)

  def function(self, fun: Callable[[_Tree], _Tree]
               ) -> Callable[[_Array], _Array]:
    """The same function, of vectors."""
    return lambda point: self.ravel(fun(self.unravel(point)))

  def ravel(self, tree: _Tree) -> _Array:
    """The vectors of states."""
    # The number of entries is given, as it cannot be told from no instance.
    leaves = [jnp.reshape(x, (x.shape[0], math.prod(x.shape[1:]))).astype(
        self.dtype) for x in jax.tree_util.tree_leaves(tree)]
    return leaves[0] if len(leaves) == 1 else jnp.concatenate(leaves, axis=-1)

  def unravel(self, flat: _Array) -> _Tree:
    """The states of vectors, which may have more axes in front."""
    return jax.tree_util.tree_unflatten(
        self._treedef, [leaf.astype(dtype) for leaf, dtype in zip(
            self._leaves(flat), self._dtypes)])

  def norms(self, flat: _Array, part_axis: Optional[int]) -> _Array:
    """[B, parts], the norms of the parts that have to be at rest."""
    if part_axis is None:
      return jnp.sqrt(updates.dot(flat, flat))[:, None]
    norms = []
    for leaf in self._leaves(flat):
      if leaf.ndim <= part_axis:  # it has no such parts, and is one
        leaf = jnp.expand_dims(leaf, range(leaf.ndim, part_axis + 1))
      squares = jnp.square(leaf)
      others = tuple(i for i in range(1, leaf.ndim) if i != part_axis)
      norms.append(jnp.sqrt(jnp.sum(squares, axis=others)))
    return jnp.concatenate(norms, axis=-1)

  def _leaves(self, flat: _Array) -> List[_Array]:
    """The arrays that a flat vector, along its last axis, is made of."""
    sizes = [math.prod(shape[1:]) for shape in self._shapes]
    ends = list(itertools.accumulate(sizes))
    return [jnp.reshape(flat[..., end - size:end], flat.shape[:-1] + shape[1:])
            for size, end, shape in zip(sizes, ends, self._shapes)]
