# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""How solvers choose the next point, given what the function made of the last.

A method is made from a `SolverConfig`. Its `init` returns an empty memory, and
its `propose` the next points along with the new memory. Memories, too, have
the instances along the leading axis of all their arrays.
"""

from typing import Any, Dict, NamedTuple, Protocol, Tuple, Type

import jax
from jax import lax
import jax.numpy as jnp

_Array = jax.Array


def dot(x: _Array, y: _Array) -> _Array:
  """Inner products over the last axis, at full precision on every device."""
  return jnp.einsum('...d,...d->...', x, y, precision=lax.Precision.HIGHEST)


class Method(Protocol):
  """A rule for the next point; it remembers what it needs of earlier ones."""

  def __init__(self, config: Any):
    ...

  def init(self, point: _Array) -> Any:
    """The memory before the first evaluation at a point [B, D]."""

  def propose(self, step: _Array, point: _Array, value: _Array, memory: Any,
              restart: _Array) -> Tuple[_Array, Any]:
    """The next point after a value, and the memory then.

    Args:
      step: How many evaluations there were before.
      point: [B, D], where it was evaluated.
      value: [B, D], what that gave.
      memory: What is known of earlier evaluations.
      restart: [B], the instances that are to forget them.

    Returns:
      The next points [B, D], and the memory.
    """


class Picard:
  """Plain iteration, `z <- (1 - damping) z + damping f(z)`."""

  def __init__(self, config: Any):
    self._damping = config.damping

  def init(self, point):
    del point
    return ()

  def propose(self, step, point, value, memory, restart):
    del step, restart
    return point + self._damping * (value - point), memory


class _AndersonMemory(NamedTuple):
  values: _Array  # [B, M, D], past f(z)
  changes: _Array  # [B, M, D], past f(z) - z
  gram: _Array  # [B, M, M], inner products of the changes
  known: _Array  # [B], how many of the last evaluations are remembered


class Anderson:
  """Anderson acceleration (Anderson, 1965; section 4 of the DEAR paper).

  The next point is the mixture of the last M evaluations whose mixed change
  `f(z) - z` is smallest. The ridge is relative to the trace of the Gram matrix:
  forward solves have entries around 1e3 there, backward solves around 1e-8,
  and an absolute ridge would be nothing to the one and everything to the other.
  """

  def __init__(self, config: Any):
    self._size = int(min(config.memory, config.max_iter))
    self._ridge = config.ridge
    self._damping = config.damping

  def init(self, point):
    batch_size, size = point.shape
    history = jnp.zeros((batch_size, self._size, size), point.dtype)
    gram = jnp.zeros((batch_size, self._size, self._size), point.dtype)
    return _AndersonMemory(values=history, changes=history, gram=gram,
                           known=jnp.zeros((batch_size,), jnp.int32))

  def propose(self, step, point, value, memory, restart):
    slot = step % self._size
    change = value - point
    replace = lax.dynamic_update_index_in_dim
    values = replace(memory.values, value, slot, axis=1)
    changes = replace(memory.changes, change, slot, axis=1)
    # Only one row of the Gram matrix is new.
    row = jnp.einsum('bmd,bd->bm', changes, change,
                     precision=lax.Precision.HIGHEST)
    gram = replace(memory.gram, row, slot, axis=1)
    gram = replace(gram, row, slot, axis=2)
    known = jnp.where(restart, 1, jnp.minimum(memory.known + 1, self._size))
    age = (slot - jnp.arange(self._size)) % self._size
    used = age < known[:, None]
    solvable = gram
    if not self._ridge:
      # A singular system must not be solved where a gradient may go through.
      is_regular = self._is_regular(gram, used)
      solvable = jnp.where(is_regular[:, None, None], gram,
                           jnp.eye(self._size, dtype=gram.dtype))
    weights = self._mixing_weights(solvable, used)
    mix = lambda history: jnp.einsum(  # pylint:disable=g-long-lambda
        'bm,bmd->bd', weights, history, precision=lax.Precision.HIGHEST)
    proposal = mix(values)
    if self._damping != 1.0:
      proposal -= (1 - self._damping) * mix(changes)
    if not self._ridge:
      proposal = jnp.where(is_regular[:, None], proposal, value)
    return proposal, _AndersonMemory(values, changes, gram, known)

  def _is_regular(self, gram, used):
    """[B], whether there are weights; with a ridge there always are."""
    weights = self._mixing_weights(lax.stop_gradient(gram), used)
    return jnp.all(jnp.isfinite(weights), axis=-1)

  def _mixing_weights(self, gram, used):
    """Solves `(G^T G + ridge I) a = 1` and scales `a` to sum one."""
    used = used.astype(gram.dtype)
    gram = gram * used[:, :, None] * used[:, None, :]
    trace = jnp.trace(gram, axis1=-2, axis2=-1)[:, None, None]
    scaled = _divide(gram, jnp.where(trace > 0, trace, 1.0))
    # Slots that are not used get weight zero, through a one on the diagonal.
    diagonal = jnp.where(used > 0, self._ridge, 1.0).astype(gram.dtype)
    weights = _solve_positive_definite(
        scaled + diagonal[:, :, None] * jnp.eye(self._size, dtype=gram.dtype),
        used)
    return weights / jnp.sum(weights, axis=-1, keepdims=True)


def _solve_positive_definite(matrix: _Array, rhs: _Array) -> _Array:
  """Solves many tiny positive definite systems by Gauss-Jordan elimination.

  Elimination without pivoting is stable for such matrices. Written out, it
  needs no LAPACK call, so that it lowers for every platform, shards along the
  batch, and never leaves the device.

  Args:
    matrix: [B, M, M].
    rhs: [B, M].

  Returns:
    [B, M], not finite where a matrix is singular.
  """
  def eliminate(k, table):
    pivot_row = lax.dynamic_index_in_dim(table, k, axis=1)  # [B, 1, M + 1]
    pivot_row = pivot_row / lax.dynamic_index_in_dim(pivot_row, k, axis=2)
    factors = lax.dynamic_index_in_dim(table, k, axis=2)  # [B, M, 1]
    table = table - factors * pivot_row
    return lax.dynamic_update_slice_in_dim(table, pivot_row, k, axis=1)

  table = jnp.concatenate([matrix, rhs[..., None]], axis=-1)
  table = lax.fori_loop(0, matrix.shape[-1], eliminate, table)
  return table[..., -1]


@jax.custom_jvp
def _divide(x: _Array, y: _Array) -> _Array:
  """`x / y`, whose derivative is finite also where the square of y is zero.

  An instance whose state goes to zero has products of changes that small.
  """
  return x / y


@_divide.defjvp
def _divide_jvp(primals, tangents):
  (x, y), (dx, dy) = primals, tangents
  ratio = x / y
  is_sound = jnp.abs(y) > jnp.finfo(y.dtype).tiny
  return ratio, jnp.where(is_sound, dx - ratio * dy, 0.0) / jnp.where(
      is_sound, y, 1.0)


class _BroydenMemory(NamedTuple):
  """The inverse Jacobian of `f(z) - z` is `-I + sum_m left_m right_m^T`."""
  left: _Array  # [B, M, D]
  right: _Array  # [B, M, D]
  move: _Array  # [B, D], the last step taken
  change: _Array  # [B, D], f(z) - z before that step


class Broyden:
  """Broyden's good method with limited memory, started afresh when full.

  Kelley, Solving Nonlinear Equations with Newton's Method (2003), chapter 4.
  """

  def __init__(self, config: Any):
    self._size = int(min(config.memory, config.max_iter))
    self._damping = config.damping

  def init(self, point):
    batch_size, size = point.shape
    history = jnp.zeros((batch_size, self._size, size), point.dtype)
    nothing = jnp.zeros_like(point)
    return _BroydenMemory(history, history, nothing, nothing)

  def propose(self, step, point, value, memory, restart):
    change = value - point
    slot = (step - 1) % self._size
    forget = ((slot == 0) | restart)[:, None, None]
    left = jnp.where(forget, 0.0, memory.left)
    right = jnp.where(forget, 0.0, memory.right)
    last_move = jnp.where(restart[:, None], 0.0, memory.move)

    # The rank-one update that makes the last step satisfy the secant equation.
    # On the first evaluation there is no last step, and the update is zero.
    change_diff = change - memory.change
    row = _apply_low_rank(right, left, last_move)
    column = last_move - _apply_low_rank(left, right, change_diff)
    scale = dot(row, change_diff)
    eps = jnp.finfo(point.dtype).eps
    usable = jnp.abs(scale) > eps * jnp.sqrt(
        dot(row, row) * dot(change_diff, change_diff))
    column = jnp.where(usable[:, None],
                       _divide(column, jnp.where(usable, scale, 1.0)[:, None]),
                       0.0)
    replace = lax.dynamic_update_index_in_dim
    left = replace(left, column, slot, axis=1)
    right = replace(right, row, slot, axis=1)

    move = -self._damping * _apply_low_rank(left, right, change)
    return point + move, _BroydenMemory(left, right, move, change)


def _apply_low_rank(left: _Array, right: _Array, vector: _Array) -> _Array:
  """`(-I + sum_m left_m right_m^T) vector`, per instance."""
  coefficients = jnp.einsum('bmd,bd->bm', right, vector,
                            precision=lax.Precision.HIGHEST)
  return jnp.einsum('bm,bmd->bd', coefficients, left,
                    precision=lax.Precision.HIGHEST) - vector


METHODS: Dict[str, Type[Method]] = {
    'anderson': Anderson, 'picard': Picard, 'broyden': Broyden}
