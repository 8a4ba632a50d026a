# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""What a solver is told, and what it answers."""

import dataclasses
import math
import numbers
from typing import Any, Optional, TYPE_CHECKING

import chex
from dear_jax.fixed_points import updates
import jax

if TYPE_CHECKING:
  # What chex makes is one too, but chex has no types to say so.
  from dataclasses import dataclass as _dataclass
else:
  _dataclass = chex.dataclass  # a tree, to JAX

_Array = jax.Array
_Tree = Any

METHODS = tuple(updates.METHODS)
STOP_MODES = ('rel', 'abs')
SELECTIONS = ('first', 'lowest', 'last')


@dataclasses.dataclass(frozen=True, kw_only=True)
class SolverConfig:
  """How to look for a fixed point, and which iterate to return.

  Attributes:
    method: 'anderson', 'picard' (plain iteration) or 'broyden'.
    tol: An iterate passes when its residual is under this value.
    max_iter: The most evaluations of the function.
    memory: How many past evaluations 'anderson' mixes; how many rank-one
      updates 'broyden' collects before it starts afresh.
    ridge: Ridge on Anderson's Gram matrix, relative to the matrix's trace.
    damping: 1 takes the full step, less than 1 a part of it.
    stop_mode: The residual is `||f(z) - z||`, divided by `||f(z)||` if 'rel'.
      Norms are roots of sums of squares, in single precision unless states are
      in double: numbers far below 1e-15 or above 1e15 should be rescaled.
    part_axis: None takes these norms over the whole of an instance. A number
      takes them for each entry along that axis, such as the nodes along axis 1
      of [B, N, F], and the residual is the largest of theirs: then nothing may
      move any more, however small a part of the whole it is.
    restart: Whether a solver forgets what it remembers of an instance when news
      arrives: when a part of it that was at rest begins to move. Where news
      travels, as from node to node along a path, 'anderson' would otherwise mix
      it with the time before, and take four times as many steps.
    select: 'first' returns the first iterate that passes (the paper's least
      fixed point), or the one of lowest residual if none does. 'lowest' and
      'last' spend all `max_iter` evaluations, unless an iterate is exactly
      fixed, and return the iterate of lowest residual or the last one.
  """
  method: str = 'anderson'
  tol: float = 0.1
  max_iter: int = 40
  memory: int = 6
  ridge: float = 1e-4
  damping: float = 1.0
  stop_mode: str = 'rel'
  part_axis: Optional[int] = None
  restart: bool = False
  select: str = 'first'

  def __post_init__(self):
    for field, choices in (('method', METHODS), ('stop_mode', STOP_MODES),
                           ('select', SELECTIONS)):
      if getattr(self, field) not in choices:
        raise ValueError(f'{field} must be one of {", ".join(choices)}, '
                         f'got {getattr(self, field)!r}.')
    if not isinstance(self.restart, bool):
      raise ValueError(f'restart must be True or False, got {self.restart!r}.')
    for field in ('tol', 'damping'):
      value = getattr(self, field)
      if not (_is_number(value) and value > 0):
        raise ValueError(f'{field} must be a positive number, got {value!r}.')
    if not (_is_number(self.ridge) and self.ridge >= 0):
      raise ValueError(f'ridge must be a number of at least 0, got '
                       f'{self.ridge!r}.')
    for field in ('max_iter', 'memory', 'part_axis'):
      value = getattr(self, field)
      if field == 'part_axis' and value is None:
        continue
      # Not 6.0 either: it becomes the length of an axis.
      if not (isinstance(value, numbers.Integral) and _is_number(value)
              and int(value) >= 1):
        raise ValueError(
            f'{field} must be a whole number of at least 1, got {value!r}.')


def _is_number(value: Any) -> bool:
  return (isinstance(value, numbers.Real) and not isinstance(value, bool)
          and math.isfinite(value))


@_dataclass(frozen=True, kw_only=True)
class Solution:
  """What a solve returns; one entry per instance, except for the history.

  Attributes:
    value: The selected iterate, `f(z)` of the evaluation that was selected.
    steps: Evaluations of the function until the instance was settled: up to
      and including the one that passed, or all of them if none did.
    residual: The residual of the selected iterate.
    converged: Whether that residual is under the tolerance. Never true for an
      instance that failed.
    failed: Whether the instance produced NaN or infinity on its way. Its value
      is finite all the same, if the start is, and `dear_jax.fixed_point` gives
      it no gradient.
    evaluations: How many evaluations of the whole batch were paid for. It is
      more than the mean of `steps`, as others have to wait for stragglers.
    trajectory: `f(z)` of every evaluation if asked for; row `t` is valid for
      the instances with `t < steps`.
    residuals: The residual of every evaluation, if the trajectory was asked
      for; infinity where there was none.
    origins: Where the trajectory was evaluated, if it was asked for.
  """
  value: _Tree  # [B, ...]
  steps: _Array  # [B], int32
  residual: _Array  # [B]
  converged: _Array  # [B], bool
  failed: _Array  # [B], bool
  evaluations: _Array  # []
  trajectory: Optional[_Tree] = None  # [max_iter, B, ...]
  residuals: Optional[_Array] = None  # [max_iter, B]
  origins: Optional[_Tree] = None  # [max_iter, B, ...]
