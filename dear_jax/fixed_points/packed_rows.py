# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Rows of several instances in one array, and the next points of solvers.

Instances of different sizes do not fit into arrays that have them along the
leading axis. Here the leading axis of every leaf is that of rows, such as the
nodes of all graphs one after the other, and every row has an owner: the number
of its instance. What solvers compute for an instance is a sum or a maximum over
its rows.
"""

from typing import Any, Dict, NamedTuple

from dear_jax.fixed_points import updates
import jax
from jax import lax
import jax.numpy as jnp

_Array = jax.Array
_Tree = Any

_map = jax.tree_util.tree_map


class Owners(NamedTuple):
  """To which instances the rows of a state belong.

  Attributes:
    rows: A tree like the state: for every leaf [R, ...] the owners [R] of its
      rows, in ascending order. What belongs to none has an owner beyond all.
    nb_instances: How many instances there are.
  """
  rows: _Tree
  nb_instances: int

  def sums(self, values: _Tree) -> _Array:
    """[G], sums over all rows of an instance, of a tree of arrays [R]."""
    def add(x, rows):
      if self.nb_instances == 1:  # a plain sum is many times as fast
        return jnp.sum(x, where=rows < 1)[None]
      return jax.ops.segment_sum(x, rows, self.nb_instances + 1,
                                 indices_are_sorted=True)[:-1]
    return sum(_leaves(_map(add, values, self.rows)))

  def maxima(self, values: _Tree) -> _Array:
    """[G], the same for maxima of numbers that are not negative."""
    def greatest(x, rows):
      if self.nb_instances == 1:
        return jnp.max(x, where=rows < 1, initial=0)[None]
      return jax.ops.segment_max(x, rows, self.nb_instances + 1,
                                 indices_are_sorted=True)[:-1]
    parts = _leaves(_map(greatest, values, self.rows))
    return jnp.maximum(jnp.max(jnp.stack(parts), axis=0), 0)

  def any(self, values: _Tree) -> _Array:
    """[G], whether something is true of any row of an instance."""
    return self.maxima(_map(lambda x: x.astype(jnp.int32), values)) > 0

  def dots(self, one: _Tree, other: _Tree) -> _Array:
    """[G], inner products."""
    return self.sums(_map(lambda x, y: jnp.sum(x * y, axis=-1), one, other))

  def spread(self, values: _Array, like: _Tree) -> _Tree:
    """A tree of arrays [R, 1]: for every row what its instance has.

    Of a single instance [1, 1], which is broadcast.

    Args:
      values: [G].
      like: A state, for the structure of the result.

    Returns:
      The tree.
    """
    del like  # the owners have the same structure
    if self.nb_instances == 1:
      return _map(lambda rows: values[:, None], self.rows)
    return _map(
        lambda rows: values.at[rows].get(mode='clip')[:, None], self.rows)

  def where(self, condition: _Array, new: _Tree, old: _Tree) -> _Tree:
    """The new rows for some instances [G], and the old ones for the others."""
    return _map(jnp.where, self.spread(condition, new), new, old)


class Picard(updates.Picard):
  """`updates.Picard` on rows."""

  @property
  def is_plain(self):
    """Whether the next point is the value, so that nothing is to be asked."""
    return self._damping == 1.0

  def propose_rows(self, step, point, value, memory, restart, owners):
    del step, restart, owners
    move = lambda x, y: x + self._damping * (y - x)
    return _map(move, point, value), memory

  def init_rows(self, point, count):
    del point, count
    return ()


class Anderson(updates.Anderson):
  """`updates.Anderson` on rows; the memory has leaves [M, R, ...]."""

  is_plain = False

  def init_rows(self, point, count):
    history = _map(
        lambda x: jnp.zeros((self._size,) + x.shape, x.dtype), point)
    dtype = _leaves(point)[0].dtype
    return dict(values=history, changes=history,
                gram=jnp.zeros((count, self._size, self._size), dtype),
                known=jnp.zeros((count,), jnp.int32))

  def propose_rows(self, step, point, value, memory, restart, owners):
    slot = step % self._size
    change = _map(jnp.subtract, value, point)
    values = _put(memory['values'], value, slot)
    changes = _put(memory['changes'], change, slot)
    row = jnp.stack([owners.dots(_row(changes, m), change)
                     for m in range(self._size)], axis=-1)
    replace = lax.dynamic_update_index_in_dim
    gram = replace(memory['gram'], row, slot, axis=1)
    gram = replace(gram, row, slot, axis=2)
    known = jnp.where(restart, 1, jnp.minimum(memory['known'] + 1, self._size))
    age = (slot - jnp.arange(self._size)) % self._size
    weights = self._mixing_weights(gram, age < known[:, None])
    proposal = _mix(owners, weights, values)
    if self._damping != 1.0:
      proposal = _map(lambda x, y: x - (1 - self._damping) * y, proposal,
                      _mix(owners, weights, changes))
    return proposal, dict(values=values, changes=changes, gram=gram,
                          known=known)


class Broyden(updates.Broyden):
  """`updates.Broyden` on rows; the memory has leaves [M, R, ...]."""

  is_plain = False

  def init_rows(self, point, count):
    del count
    history = _map(
        lambda x: jnp.zeros((self._size,) + x.shape, x.dtype), point)
    nothing = _map(jnp.zeros_like, point)
    return dict(left=history, right=history, move=nothing, change=nothing)

  def propose_rows(self, step, point, value, memory, restart, owners):
    change = _map(jnp.subtract, value, point)
    slot = (step - 1) % self._size
    keep = 1.0 - (restart | (slot == 0))
    forget = lambda history: _map(
        lambda x, k: x * k, history, owners.spread(keep, point))
    left, right = forget(memory['left']), forget(memory['right'])
    last_move = owners.where(restart, _map(jnp.zeros_like, point),
                             memory['move'])
    difference = _map(jnp.subtract, change, memory['change'])
    row = self._apply(owners, right, left, last_move)
    column = _map(jnp.subtract, last_move,
                  self._apply(owners, left, right, difference))
    scale = owners.dots(row, difference)
    usable = jnp.abs(scale) > jnp.finfo(scale.dtype).eps * jnp.sqrt(
        owners.dots(row, row) * owners.dots(difference, difference))
    factor = jnp.where(usable, 1 / jnp.where(usable, scale, 1.0), 0.0)
    column = _map(lambda x, k: x * k, column, owners.spread(factor, column))
    left, right = _put(left, column, slot), _put(right, row, slot)
    move = _map(lambda x: -self._damping * x,
                self._apply(owners, left, right, change))
    return _map(jnp.add, point, move), dict(
        left=left, right=right, move=move, change=change)

  def _apply(self, owners, left, right, vector):
    """`(-I + sum_m left_m right_m^T) vector`, per instance."""
    coefficients = jnp.stack([owners.dots(_row(right, m), vector)
                              for m in range(self._size)], axis=-1)
    return _map(jnp.subtract, _mix(owners, coefficients, left), vector)


def _leaves(tree: _Tree):
  return jax.tree_util.tree_leaves(tree)


def _row(history: _Tree, m: int) -> _Tree:
  return _map(lambda x: x[m], history)


def _put(history: _Tree, new: _Tree, slot: _Array) -> _Tree:
  return _map(lambda x, y: lax.dynamic_update_index_in_dim(x, y, slot, axis=0),
              history, new)


def _mix(owners: Owners, weights: _Array, history: _Tree) -> _Tree:
  """Sums of histories, with weights [G, M] of every instance."""
  terms = [_map(lambda x, w: x * w, _row(history, m),
                owners.spread(weights[:, m], history))
           for m in range(weights.shape[1])]
  return _map(lambda *xs: sum(xs), *terms)


METHODS: Dict[str, Any] = {
    'picard': Picard, 'anderson': Anderson, 'broyden': Broyden}
