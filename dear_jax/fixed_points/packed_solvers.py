# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Solvers for instances of different sizes, whose rows lie in one array.

The rules are those of `solvers`: every instance has a residual, steps and a
limit of its own, and is settled when it would be if it were alone. There is no
gradient; trained models answer with it.
"""

from typing import Any, Callable, NamedTuple

from dear_jax.fixed_points import config as config_lib
from dear_jax.fixed_points import iterations
from dear_jax.fixed_points import packed_rows
import jax
from jax import lax
import jax.numpy as jnp

_Array = jax.Array
_Tree = Any

_map = jax.tree_util.tree_map


class State(NamedTuple):
  """The carry of the loop. Trees have rows [R, F] as leaves."""
  step: _Array  # [], evaluations so far
  point: _Tree  # where to evaluate next
  value: _Tree  # the result so far: the first that passed, or the best
  residual: _Array  # [G], that of the value
  steps: _Array  # [G]
  settled: _Array  # [G], the result will not change any more
  failed: _Array  # [G], NaN or infinity came up
  moves: _Tree  # [R] or [G], the last residuals of all parts, for restarts
  memory: Any


class PackedProblem:
  """One fixed-point problem of many instances, with its solver."""

  def __init__(self, fun: Callable[[_Tree], _Tree],
               owners: packed_rows.Owners, limits: _Array,
               config: config_lib.SolverConfig):
    """Initialises the problem.

    Args:
      fun: Maps a state, a tree of rows [R, F], to the next.
      owners: To which instances the rows belong.
      limits: [G], the most evaluations of every instance.
      config: Solver and tolerance; its own limit is of no effect.

    Raises:
      ValueError: if the config asks for what this cannot do.
    """
    if config.part_axis not in (None, 1):
      raise ValueError('part_axis must be None or 1 for packed instances, got '
                       f'{config.part_axis}.')
    if config.select != 'first':
      raise ValueError("select must be 'first' for packed instances, got "
                       f'{config.select!r}.')
    self._fun = fun
    self._owners = owners
    self._limits = limits
    self._config = config
    self._method = packed_rows.METHODS[config.method](config)

  def initial_state(self, init: _Tree) -> State:
    """The state before the first evaluation."""
    count = self._owners.nb_instances
    no = jnp.zeros((count,), bool)
    return State(
        step=jnp.zeros((), jnp.int32), point=init, value=init,
        residual=jnp.where(self._limits < 1, 0, jnp.inf).astype(jnp.float32),
        steps=jnp.zeros(count, jnp.int32), settled=self._limits < 1, failed=no,
        moves=_map(lambda x: jnp.full_like(x, jnp.inf), self._norms(init))
        if self._config.restart else (),
        memory=self._method.init_rows(init, count))

  def advance(self, state: State, pause_at: _Array) -> State:
    """Iterates until all instances are settled, or up to an evaluation.

    Args:
      state: From where to go on.
      pause_at: [], after how many evaluations in all to pause.

    Returns:
      The state to go on from, with the results so far.
    """
    return lax.while_loop(
        lambda s: (s.step < pause_at) & ~jnp.all(s.settled), self._iterate,
        state)

  def converged(self, state: State) -> _Array:
    """[G], whether the residual of the result is under the tolerance."""
    return (state.residual < self._config.tol) & ~state.failed

  def _iterate(self, state: State) -> State:
    owners, config = self._owners, self._config
    value = self._fun(state.point)
    moves = self._moves(value, state.point)
    residual = self._largest(moves)
    finite = jnp.isfinite(residual)
    active = ~state.settled
    is_best = active & finite & (residual < state.residual)
    settled = state.settled | ~finite | (residual < config.tol) | (
        state.steps + 1 >= self._limits)
    best = owners.where(is_best, value, state.value)
    if self._method.is_plain:
      point, memory = self._next_of_plain(settled, value, state), state.memory
    else:
      # Nothing that is not finite may enter the memory.
      value = owners.where(finite, value, state.point)
      proposal, memory = self._method.propose_rows(
          state.step, state.point, value, state.memory,
          self._has_news(moves, state.moves), owners)
      sound = ~owners.any(
          _map(lambda x: ~jnp.all(jnp.isfinite(x), axis=-1), proposal))
      point = owners.where(
          settled, state.point, owners.where(sound, proposal, value))
    return State(
        step=state.step + 1, point=point, value=best,
        residual=jnp.where(is_best, residual, state.residual),
        steps=state.steps + active, settled=settled,
        failed=state.failed | (active & ~finite),
        moves=moves if config.restart else (), memory=memory)

  def _next_of_plain(self, settled: _Array, value: _Tree, state: State
                     ) -> _Tree:
    """The next point of plain iterations, with as few copies as possible.

    States are hundreds of megabytes, and to look at all of them once more takes
    as long as a part of a step. A single instance that is settled is not
    iterated any more, so that it does not matter where it would go on.
    """
    if self._owners.nb_instances == 1:
      return value
    return self._owners.where(settled, state.point, value)

  def _moves(self, value: _Tree, point: _Tree) -> _Tree:
    """Residuals of all parts; infinity where there is no finite one."""
    distance = self._norms(_map(jnp.subtract, value, point))
    moves = distance
    if self._config.stop_mode == 'rel':
      moves = _map(iterations.ratio, distance, self._norms(value))
    return _map(lambda x, d: jnp.where(jnp.isfinite(d), x, jnp.inf), moves,
                distance)

  def _norms(self, state: _Tree) -> _Tree:
    """Of every row, or of every instance if that is the criterion."""
    squares = _map(lambda x: jnp.sum(jnp.square(x), axis=-1), state)
    if self._config.part_axis is None:
      return jnp.sqrt(self._owners.sums(squares))
    return _map(jnp.sqrt, squares)

  def _largest(self, parts: _Tree) -> _Array:
    """[G], the maximum over the parts of every instance."""
    if self._config.part_axis is None:
      return parts
    return self._owners.maxima(parts)

  def _has_news(self, moves: _Tree, last_moves: _Tree) -> _Array:
    """[G], whether a part begins to move, which is to restart the solver."""
    if not self._config.restart:
      return jnp.zeros(self._owners.nb_instances, bool)
    begins = lambda new, old: (new >= self._config.tol) & (
        new > iterations.NEWS * old)
    if self._config.part_axis is None:
      return begins(moves, last_moves)
    return self._owners.any(_map(begins, moves, last_moves))
