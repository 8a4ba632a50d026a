# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Aligning the states of a solve with those of an algorithmic reasoner.

The paper's appendix on the alignment algorithm: every state of the solve goes
with one of the other trajectory and never back in time; states of the other
trajectory may be skipped. The last states always align. Both trajectories start
from 0, and these first states, which align at no cost, are left out here.
"""

from typing import Any, Optional

from dear_jax.fixed_points import per_instance
import jax
from jax import lax
import jax.numpy as jnp

_Array = jax.Array

# In place of infinity, whose products with zero are no numbers.
_NEVER = 1e9


def alignment_loss(states: _Array,
                   steps: _Array,
                   teacher_states: _Array,
                   teacher_steps: _Array,
                   *,
                   key: Optional[jax.Array] = None,
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
  return last + _mean_cost(distances, *_what_to_align(
      distances, steps, teacher_steps, key))


def mean_alignment_loss(result: Any,
                        teacher_states: _Array,
                        teacher_steps: _Array,
                        *,
                        key: jax.Array,
                        node_mask: Optional[_Array] = None) -> _Array:
  """The mean of `solve_alignment_loss` over instances with something to learn.

  Left out are those whose solve failed, and those for which the teacher has no
  states that a distance can be taken from.

  Args:
    result: As there, like all others.
    teacher_states: [S, B, N, F].
    teacher_steps: [B].
    key: Source of the states that are aligned.
    node_mask: [B, N], 0 at nodes that are padding.

  Returns:
    A scalar, 0 if no instance is left.
  """
  # The square of a state that is all but infinite would be.
  is_taught = jnp.isfinite(jnp.sum(jnp.square(teacher_states), axis=(0, 2, 3)))
  result = result.without(~is_taught)
  losses = solve_alignment_loss(result, teacher_states, teacher_steps, key=key,
                                node_mask=node_mask)
  return jnp.sum(losses) / jnp.maximum(jnp.sum(~result.solution.failed), 1)


def solve_alignment_loss(result: Any,
                         teacher_states: _Array,
                         teacher_steps: _Array,
                         *,
                         key: jax.Array,
                         node_mask: Optional[_Array] = None) -> _Array:
  """`alignment_loss` of a solve, with a gradient that is cheap to compute.

  The iterates of a solve carry no gradient. The distance of a state `P(z)` has
  one, with respect to the parameters of `P`, if `P` is applied to `z` once
  more; but doing so to all of them would cost as much as another solve. Hence
  one state of every instance is drawn from those that are aligned, and only its
  distance has a gradient: on average that of the mean distance. The last state,
  which is the solution, has its own gradient. The value is exact.

  Args:
    result: A `processors.EquilibriumResult` with a trajectory.
    teacher_states: [S, B, N, F].
    teacher_steps: [B].
    key: Source of the states that are aligned.
    node_mask: [B, N], 0 at nodes that are padding.

  Returns:
    [B], 0 without a gradient for instances that failed.
  """
  solution, nodes = result.solution, result.of_nodes
  steps, failed = solution.steps, solution.failed
  # Nothing of what failed may be differentiated, not even with a cotangent of
  # 0: its product with the derivative of NaN is NaN.
  sound = result.for_more_steps()
  teacher_states = lax.stop_gradient(
      jnp.where(failed[:, None, None], 0, teacher_states))
  half_key, draw_key = jax.random.split(key)
  states = lax.stop_gradient(nodes(solution.trajectory))
  distances = per_instance.zero(
      fast_pairwise_distances(states, teacher_states, node_mask), failed)
  rows, columns = _what_to_align(distances, steps, teacher_steps, half_key)

  def total(distances):
    costs = _mean_cost(distances, rows, columns)
    return jnp.sum(costs), costs

  matching, mean = jax.grad(total, has_aux=True)(distances)

  # `matching` is 1 / count where a row is aligned, and 0 elsewhere.
  weights = jnp.sum(matching, axis=2)
  row = jax.random.categorical(
      draw_key, jnp.where(weights > 0, 0.0, -jnp.inf), axis=1)
  row = jnp.where(jnp.any(weights > 0, axis=1), row, 0)
  instances = jnp.arange(len(row))
  column = jnp.argmax(matching[instances, row], axis=1)
  origin = jax.tree_util.tree_map(lambda x: lax.stop_gradient(
      x[row, instances]), solution.origins)
  origin = per_instance.copy(origin, failed, jnp.argmin(failed))
  state = nodes(sound.fun(origin, *sound.args))
  drawn = _distance(per_instance.zero(state, failed),
                    teacher_states[column, instances], node_mask)
  drawn = jnp.where(jnp.any(weights > 0, axis=1), drawn, 0.0)
  last = _distance(per_instance.zero(result.nodes, failed),
                   teacher_states[teacher_steps - 1, instances], node_mask)
  loss = last + mean + (drawn - lax.stop_gradient(drawn))
  return jnp.where(failed, 0.0, loss)


def _what_to_align(distances, steps, teacher_steps, key):
  """The rows and columns that take part: [B, T] and [B, S]."""
  rows = jnp.arange(distances.shape[1]) < (steps - 1)[:, None]
  if key is not None:
    rows = _random_half(rows, key)
  columns = jnp.arange(distances.shape[2]) < (teacher_steps - 1)[:, None]
  return rows, columns


def _mean_cost(distances, rows, columns):
  """The least mean distance, [B]; zero if there is nothing to align (to)."""
  count = jnp.sum(rows, axis=1)
  possible = (count > 0) & jnp.any(columns, axis=1)
  cost = alignment_cost(distances, rows, columns)
  return jnp.where(possible, cost / jnp.maximum(count, 1), 0.0)


def _distance(states: _Array, others: _Array, node_mask: Optional[_Array]
              ) -> _Array:
  """[B], of states [B, N, F]."""
  return pairwise_distances(states[None], others[None], node_mask)[:, 0, 0]


def fast_pairwise_distances(states: _Array, others: _Array,
                            node_mask: Optional[_Array] = None) -> _Array:
  """`pairwise_distances` by matrix products, not to be differentiated."""
  squares = lambda x: jnp.sum(jnp.square(x), axis=-1)
  products = jnp.einsum('tbnf,sbnf->bnts', states, others,
                        precision=lax.Precision.HIGHEST)
  lengths = jnp.sqrt(jnp.maximum(
      jnp.moveaxis(squares(states), 0, -1)[..., None]
      + jnp.moveaxis(squares(others), 0, -1)[..., None, :] - 2 * products, 0))
  if node_mask is None:
    return jnp.mean(lengths, axis=1)
  return jnp.einsum('bnts,bn->bts', lengths, node_mask) / jnp.maximum(
      jnp.sum(node_mask, axis=-1), 1)[:, None, None]


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


def _random_half(rows: _Array, key: jax.Array) -> _Array:
  """Keeps half of the rows of every instance, but at least one."""
  order = jax.random.uniform(key, rows.shape)
  order = jnp.where(rows, order, jnp.inf)
  rank = jnp.argsort(jnp.argsort(order, axis=1), axis=1)
  count = jnp.sum(rows, axis=1, keepdims=True)
  return rows & (rank < jnp.maximum(count // 2, 1))
