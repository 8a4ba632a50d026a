# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Aligning the states of a solve with those of an algorithmic reasoner.

The paper's appendix on the alignment algorithm: every state of the solve goes
with one of the other trajectory and never back in time; states of the other
trajectory may be skipped. The last states always align. Both trajectories start
from 0, and these first states, which align at no cost, are left out here.
"""

from typing import Optional

import chex
import jax
from jax import lax
import jax.numpy as jnp

_Array = chex.Array

# In place of infinity, whose products with zero are no numbers.
_NEVER = 1e9


def alignment_loss(states: _Array,
                   steps: _Array,
                   teacher_states: _Array,
                   teacher_steps: _Array,
                   *,
                   key: Optional[chex.PRNGKey] = None,
                   node_mask: Optional[_Array] = None) -> _Array:
  """How far the states of a solve are from those of a teacher.

  Args:
    states: [T, B, N, F], of the solve.
    steps: [B], how many of them there are; the last of these is the solution.
    teacher_states: [S, B, N, F].
    teacher_steps: [B].
    key: If given, only a random half of the states is aligned (and at least
      one), so that others may lie in between. The last one always is.
    node_mask: [B, N], 0 at nodes that are padding.

  Returns:
    [B], the mean distance of the aligned states, plus that of the last ones.
  """
  distances = pairwise_distances(states, teacher_states, node_mask)
  instances = jnp.arange(distances.shape[0])
  last = distances[instances, steps - 1, teacher_steps - 1]
  rows = jnp.arange(distances.shape[1]) < (steps - 1)[:, None]
  if key is not None:
    rows = _random_half(rows, key)
  columns = jnp.arange(distances.shape[2]) < (teacher_steps - 1)[:, None]
  count = jnp.sum(rows, axis=1)
  # With nothing to align or nothing to align to, only the last ones count.
  possible = (count > 0) & jnp.any(columns, axis=1)
  cost = alignment_cost(distances, rows, columns)
  return last + jnp.where(possible, cost / jnp.maximum(count, 1), 0.0)


def pairwise_distances(states: _Array, others: _Array,
                       node_mask: Optional[_Array] = None) -> _Array:
  """L2 distances between states, averaged over nodes.

  Args:
    states: [T, B, N, F].
    others: [S, B, N, F].
    node_mask: [B, N], 0 at nodes that are padding.

  Returns:
    [B, T, S].
  """
  # One pair of steps after the other, to keep memory small.
  def to_all(state):
    squares = jnp.sum(jnp.square(state - others), axis=-1)  # [S, B, N]
    # The root of zero has no derivative, but equal states need none.
    lengths = jnp.where(squares > 0, jnp.sqrt(
        jnp.where(squares > 0, squares, 1.0)), 0.0)
    if node_mask is None:
      return jnp.mean(lengths, axis=-1)
    return jnp.sum(lengths * node_mask, axis=-1) / jnp.maximum(
        jnp.sum(node_mask, axis=-1), 1)

  return jnp.transpose(lax.map(to_all, states), (2, 0, 1))


def alignment_cost(distances: _Array, rows: _Array, columns: _Array) -> _Array:
  """The least sum of distances over all alignments, by dynamic programming.

  If there are more rows than columns, several rows may align with the same
  column; otherwise each gets one of its own. In either case the columns of
  later rows never come earlier.

  >>> import jax.numpy as jnp
  >>> distances = jnp.array([[[0.0, 1.0, 5.0], [4.0, 3.0, 1.0]]])
  >>> rows, columns = jnp.ones((1, 2), bool), jnp.ones((1, 3), bool)
  >>> float(alignment_cost(distances, rows, columns)[0])
  1.0

  Args:
    distances: [B, T, S].
    rows: [B, T], which rows there are. The others are passed over.
    columns: [B, S], which columns there are.

  Returns:
    [B], the costs; 0 without rows, and very large without columns.
  """
  batch_size, _, width = distances.shape
  distances = jnp.where(columns[:, None], distances, _NEVER)
  is_unique = jnp.sum(rows, axis=1) <= jnp.sum(columns, axis=1)
  never = jnp.full((batch_size, 1), _NEVER, distances.dtype)

  def align_row(costs, row):
    # costs[:, j]: the best for all rows so far, with the columns before j.
    is_row, distance = row
    before = jnp.where(is_unique[:, None], costs[:, :-1], costs[:, 1:])
    # A column that is skipped hands on what came before it: a running minimum.
    taken = lax.cummin(before + distance, axis=1)
    return jnp.where(is_row[:, None], jnp.concatenate([never, taken], axis=1),
                     costs), None

  costs = jnp.zeros((batch_size, width + 1), distances.dtype)
  costs, _ = lax.scan(align_row, costs,
                      (rows.T, jnp.swapaxes(distances, 0, 1)))
  return costs[:, -1]


def _random_half(rows: _Array, key: chex.PRNGKey) -> _Array:
  """Keeps half of the rows of every instance, but at least one."""
  order = jax.random.uniform(key, rows.shape)
  order = jnp.where(rows, order, jnp.inf)
  rank = jnp.argsort(jnp.argsort(order, axis=1), axis=1)
  count = jnp.sum(rows, axis=1, keepdims=True)
  return rows & (rank < jnp.maximum(count // 2, 1))
