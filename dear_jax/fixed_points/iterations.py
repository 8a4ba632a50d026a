# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""What solvers repeat: the state of their loop, and one iteration of it."""

from typing import Any, Callable, NamedTuple, Optional

from dear_jax.fixed_points import config as config_lib
from dear_jax.fixed_points import flat_states
from dear_jax.fixed_points import updates
from dear_jax.fixed_points import varying
import jax
from jax import lax
import jax.numpy as jnp

_Array = jax.Array
_Tree = Any

# A part has begun to move when its residual is so many times its last one.
NEWS = 3.0


class Iterate(NamedTuple):
  """A candidate for the result, of every instance."""
  origin: _Array  # [B, D], where the function was evaluated
  value: _Array  # [B, D], what it gave
  residual: _Array  # [B]

  def update(self, where: _Array, new: 'Iterate') -> 'Iterate':
    """Takes over the new iterate for some instances."""
    return Iterate(
        origin=jnp.where(where[:, None], new.origin, self.origin),
        value=jnp.where(where[:, None], new.value, self.value),
        residual=jnp.where(where, new.residual, self.residual))


class State(NamedTuple):
  """The carry of the loop. Vectors of an instance are flat, of size D."""
  step: _Array  # [], evaluations so far
  cost: _Array  # [], the instances that were evaluated, added up
  point: _Array  # [B, D], where to evaluate next
  best: Iterate  # the one of lowest residual
  last: Optional[Iterate]  # the last one; only kept for 'last'
  steps: _Array  # [B]
  settled: _Array  # [B], the result will not change any more
  failed: _Array  # [B], NaN or infinity came up
  moves: _Array  # [B, parts], the last residuals of all parts
  memory: Any
  trajectory: Optional[_Array]  # [max_iter, B, D]
  residuals: Optional[_Array]  # [max_iter, B]
  origins: Optional[_Array]  # [max_iter, B, D]

  def take(self, instances: _Array) -> 'State':
    """The state of some instances; fillers, beyond the batch, are settled."""
    fillers = instances >= self.settled.shape[0]
    take = lambda tree: jax.tree_util.tree_map(
        lambda x: jnp.take(x, instances, axis=0, mode='clip'), tree)
    return State(
        step=self.step,
        cost=self.cost,
        last=None,
        trajectory=None,
        residuals=None,
        origins=None,
        settled=take(self.settled) | fillers,
        **{name: take(getattr(self, name))
           for name in ('point', 'best', 'steps', 'failed', 'moves',
                        'memory')})

  def put(self, instances: _Array, part: 'State', goes_on_later: bool = False
          ) -> 'State':
    """Takes over what became of some instances.

    Args:
      instances: Where they are in the batch; fillers are beyond it.
      part: What became of them.
      goes_on_later: Whether to take over how to go on, too.

    Returns:
      The state of the batch.
    """
    names = ['best', 'steps', 'settled', 'failed']
    if goes_on_later:
      names += ['point', 'moves', 'memory']
    put = lambda x, y: x.at[instances].set(y, mode='drop')
    return self._replace(
        step=part.step,
        cost=part.cost,
        **{name: jax.tree_util.tree_map(put, getattr(self, name),
                                        getattr(part, name))
           for name in names})


class Problem:
  """One fixed-point problem with its solver: the pieces of the loop.

  Args:
    fun: Maps a state to the next.
    init: The state to start from.
    args: All that `fun` closes over, for its types under `jax.shard_map`.
    config: Solver, tolerance and what to return.
    return_trajectory: Whether to keep all iterates.
  """

  def __init__(self, fun: Callable[[_Tree], _Tree], init: _Tree, args: Any,
               config: config_lib.SolverConfig,
               return_trajectory: bool = False):
    self._config = config
    self._args = args
    self._return_trajectory = return_trajectory
    self._init = init
    self._states = flat_states.FlatStates(init)
    self._evaluate = self.flat(fun)
    self._method = updates.METHODS[config.method](config)

  def flat(self, fun: Callable[[_Tree], _Tree]) -> Callable[[_Array], _Array]:
    """The same function, of vectors, for `iterate`."""
    return self._states.function(fun)

  def initial_state(self) -> State:
    """The state before the first evaluation."""
    point = self._states.ravel(self._init)
    batch_size = point.shape[0]
    nothing = Iterate(origin=point, value=point, residual=jnp.full(
        (batch_size,), jnp.inf, self._states.dtype))
    no = jnp.zeros((batch_size,), bool)
    trajectory = residuals = origins = None
    if self._return_trajectory:
      length = self._config.max_iter
      trajectory = jnp.zeros((length,) + point.shape, self._states.dtype)
      residuals = jnp.full((length, batch_size), jnp.inf, self._states.dtype)
      origins = trajectory
    return varying.like((self._init, self._args), State(
        step=jnp.zeros((), jnp.int32),
        cost=jnp.zeros((), jnp.int32),
        point=point,
        best=nothing,
        last=nothing if self._config.select == 'last' else None,
        steps=jnp.zeros((batch_size,), jnp.int32),
        settled=no,
        failed=no,
        moves=jnp.full_like(self._norms(point), jnp.inf),
        memory=self._method.init(point),
        trajectory=trajectory,
        residuals=residuals,
        origins=origins))

  def iterate(self, state: State, evaluate=None) -> State:
    """Evaluates the function once and moves every unsettled instance."""
    config = self._config
    value = (evaluate or self._evaluate)(state.point)
    finite = jnp.all(jnp.isfinite(value), axis=-1)
    # Nothing that is not finite may enter the memory or the gradient.
    value = jnp.where(finite[:, None], value, state.point)
    moves = lax.stop_gradient(self._moves(value, state.point))
    residual = jnp.max(moves, axis=-1)
    finite &= jnp.isfinite(residual)
    active = ~state.settled
    new = Iterate(origin=state.point, value=value, residual=residual)
    best = state.best.update(
        active & finite & (residual < state.best.residual), new)
    last = state.last and state.last.update(active & finite, new)

    # An exactly fixed iterate cannot be improved on, whatever the selection.
    done = (residual < config.tol) if config.select == 'first' else (
        residual == 0)
    settled = state.settled | ~finite | done

    proposal, memory = self._method.propose(
        state.step, state.point, value, state.memory,
        self._has_news(moves, state.moves))
    sound = jnp.all(jnp.isfinite(proposal), axis=-1)
    proposal = jnp.where(sound[:, None], proposal, value)
    # A settled instance rests: it stays finite and costs no attention.
    point = jnp.where(settled[:, None], state.point, proposal)

    trajectory, residuals, origins = (state.trajectory, state.residuals,
                                      state.origins)
    if trajectory is not None:
      put = lambda history, new: lax.dynamic_update_index_in_dim(
          history, new, state.step, axis=0)
      trajectory = put(trajectory, jnp.where(active[:, None], value, 0))
      residuals = put(residuals, jnp.where(active & finite, residual, jnp.inf))
      origins = put(origins, state.point)
    return State(
        step=state.step + 1,
        cost=state.cost + len(point),
        point=point,
        best=best,
        last=last,
        steps=state.steps + active,
        settled=settled,
        failed=state.failed | (active & ~finite),
        moves=moves,
        memory=memory,
        trajectory=trajectory,
        residuals=residuals,
        origins=origins)

  def _moves(self, value: _Array, point: _Array) -> _Array:
    """[B, parts]. Their maximum is the paper's pre-fixed-point criterion."""
    distance = self._norms(value - point)
    if self._config.stop_mode == 'rel':
      distance = ratio(distance, self._norms(value))
    return distance

  def _norms(self, flat: _Array) -> _Array:
    return self._states.norms(flat, self._config.part_axis)

  def _has_news(self, moves: _Array, last_moves: _Array) -> _Array:
    """[B], whether a part begins to move, which is to restart the solver."""
    if not self._config.restart:
      return jnp.zeros(len(moves), bool)
    return jnp.any((moves >= self._config.tol)
                   & (moves > NEWS * last_moves), axis=-1)

  def solution(self, state: State) -> config_lib.Solution:
    """What there is to say when the loop is over."""
    selected = self._selected(state)
    unravel = lambda x: None if x is None else self._states.unravel(x)
    return config_lib.Solution(
        value=self._states.unravel(selected.value),
        steps=state.steps,
        residual=selected.residual,
        converged=(selected.residual < self._config.tol) & ~state.failed,
        failed=state.failed,
        evaluations=state.cost / max(1, len(state.settled)),
        trajectory=unravel(state.trajectory),
        residuals=state.residuals,
        origins=unravel(state.origins))

  def origin(self, state: State) -> _Tree:
    """The state that was mapped to the solution's value."""
    return self._states.unravel(self._selected(state).origin)

  def _selected(self, state: State) -> Iterate:
    if state.last is None:
      return state.best
    return state.last.update(state.failed, state.best)


def ratio(distance: _Array, norm: _Array) -> _Array:
  """Their quotient. The zero state can be a fixed point: 0 / 0 counts as 0."""
  limits = jnp.finfo(distance.dtype)
  ratio = distance / jnp.maximum(norm, limits.tiny)
  return jnp.where(norm > 0, ratio, jnp.where(distance > 0, limits.max, 0.0))
