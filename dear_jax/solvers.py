# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Batched fixed-point solvers: pure JAX, nothing to do with graphs.

Every leaf of the state has the instances along its leading axis. Instances are
solved side by side in one `lax.while_loop` but never influence each other:
each has its own residual, its own mixing weights and its own moment at which
its result is settled.
"""

import dataclasses
import functools
import math
from typing import Any, Callable, NamedTuple, Optional, Protocol, Tuple

import chex
from dear_jax import updates
import jax
from jax import lax
import jax.numpy as jnp

_Array = chex.Array
_Tree = chex.ArrayTree

METHODS = tuple(updates.METHODS)
STOP_MODES = ('rel', 'abs')
SELECTIONS = ('first', 'lowest', 'last')

# Once no more than a quarter of a batch is left to be solved, the quarter is
# solved on its own. More such stages would cost compilation and gain little.
_LAST_PART = 4


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
  select: str = 'first'

  def __post_init__(self):
    for field, choices in (('method', METHODS), ('stop_mode', STOP_MODES),
                           ('select', SELECTIONS)):
      if getattr(self, field) not in choices:
        raise ValueError(f'{field} must be one of {", ".join(choices)}, '
                         f'got {getattr(self, field)!r}.')
    for field in ('tol', 'damping'):
      value = getattr(self, field)
      if not (math.isfinite(value) and value > 0):
        raise ValueError(f'{field} must be a positive number, got {value!r}.')
    if not (math.isfinite(self.ridge) and self.ridge >= 0):
      raise ValueError(f'ridge must not be negative, got {self.ridge!r}.')
    for field in ('max_iter', 'memory'):
      value = getattr(self, field)
      if value != int(value) or value < 1:
        raise ValueError(
            f'{field} must be a whole number of at least 1, got {value!r}.')


@chex.dataclass(frozen=True)
class Solution:
  """What a solve returns; one entry per instance, except for the history.

  Attributes:
    value: The selected iterate, `f(z)` of the evaluation that was selected.
    steps: Evaluations of the function until the instance was settled: up to
      and including the one that passed, or all of them if none did.
    residual: The residual of the selected iterate.
    converged: Whether that residual is under the tolerance. Never true for an
      instance that produced NaN or infinity on its way.
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
  evaluations: _Array  # []
  trajectory: Optional[_Tree] = None  # [max_iter, B, ...]
  residuals: Optional[_Array] = None  # [max_iter, B]
  origins: Optional[_Tree] = None  # [max_iter, B, ...]


class Subsets(Protocol):
  """How to go on with some of the instances of a problem."""

  def fits(self, args: Any, wanted: _Array, size: int) -> _Array:
    """Whether a problem of `size` can hold the wanted instances, [B]."""

  def take(self, args: Any, instances: _Array) -> Any:
    """The arguments of some instances; those beyond the batch are fillers."""


def solve(fun: Callable[..., _Tree],
          init: _Tree,
          *args: Any,
          config: SolverConfig = SolverConfig(),
          return_trajectory: bool = False) -> Solution:
  """Solves `z = fun(z, *args)` for a batch of instances.

  Not differentiable in reverse mode: see `dear_jax.fixed_point` for that.

  >>> import jax.numpy as jnp
  >>> sol = solve(lambda z, b: 0.5 * z + b, jnp.zeros((2, 3)),
  ...             jnp.array([[1.0], [2.0]]), config=SolverConfig(tol=1e-5))
  >>> [round(float(x), 3) for x in sol.value[:, 0]]
  [2.0, 4.0]
  >>> bool(sol.converged.all())
  True

  Args:
    fun: Maps a state and `args` to a state of the same structure, shapes and
      dtypes.
    init: The state to start from: floating point leaves, instances along the
      leading axis.
    *args: Passed on to `fun`.
    config: Solver, tolerance and what to return.
    return_trajectory: Whether to keep all iterates, at the cost of
      2 `max_iter` times the memory of one state.

  Returns:
    A `Solution`.

  Raises:
    ValueError: If `fun` changes the structure, shapes or dtypes of the state,
      or if the state has no common leading axis or is not floating point.
  """
  check_problem(fun, init, args)
  return solve_with_origin(fun, init, *args, config=config,
                           return_trajectory=return_trajectory)[0]


def solve_with_origin(fun: Callable[..., _Tree],
                      init: _Tree,
                      *args: Any,
                      config: SolverConfig,
                      return_trajectory: bool = False,
                      subsets: Optional[Subsets] = None
                      ) -> Tuple[Solution, _Tree]:
  """As `solve`, unchecked, with the state that `fun` mapped to the value.

  Args:
    fun: As in `solve`.
    init: As in `solve`.
    *args: As in `solve`.
    config: As in `solve`.
    return_trajectory: As in `solve`.
    subsets: If given, the last quarter of a batch is solved on its own, so that
      stragglers do not make all others pay.

  Returns:
    The solution and its origin.
  """
  return solve_prepared(
      lambda args: lambda state: fun(state, *args), init, args, config=config,
      return_trajectory=return_trajectory, subsets=subsets)


def solve_prepared(prepare: Callable[[Any], Callable[[_Tree], _Tree]],
                   init: _Tree,
                   args: Any,
                   *,
                   config: SolverConfig,
                   return_trajectory: bool = False,
                   subsets: Optional[Subsets] = None
                   ) -> Tuple[Solution, _Tree]:
  """As `solve_with_origin`, of a function that is made before the loop.

  Args:
    prepare: Maps the arguments to a function of the state. What it computes is
      computed once, and once more for every subset.
    init: As in `solve`.
    args: What to prepare from.
    config: As in `solve`.
    return_trajectory: As in `solve`.
    subsets: As in `solve_with_origin`, of `args`.

  Returns:
    The solution and its origin.
  """
  problem = _Problem(prepare(args), init, config, return_trajectory)
  goes_on = lambda s: (s.step < config.max_iter) & ~jnp.all(s.settled)
  state = problem.initial_state()
  batch_size = state.settled.shape[0]
  part_size = batch_size // _LAST_PART
  if (subsets is None or part_size < 2 or return_trajectory
      or config.select != 'first'):  # the others ask for all iterates
    state = lax.while_loop(goes_on, problem.iterate, state)
    return problem.solution(state), problem.origin(state)

  def are_few(s):
    return (jnp.sum(~s.settled) <= part_size) & subsets.fits(
        args, ~s.settled, part_size)

  def solve_rest(state):
    instances, = jnp.nonzero(~state.settled, size=part_size,
                             fill_value=batch_size)
    evaluate = problem.flat(prepare(subsets.take(args, instances)))
    rest = lax.while_loop(
        goes_on, functools.partial(problem.iterate, evaluate=evaluate),
        state.take(instances))
    return state.put(instances, rest)

  state = lax.while_loop(lambda s: goes_on(s) & ~are_few(s), problem.iterate,
                         state)
  state = lax.cond(goes_on(state), solve_rest, lambda s: s, state)
  return problem.solution(state), problem.origin(state)


def solve_unrolled(fun: Callable[..., _Tree],
                   init: _Tree,
                   *args: Any,
                   config: SolverConfig = SolverConfig()) -> Solution:
  """As `solve`, in a form that reverse mode can differentiate through.

  Keeps what every iteration needs for its backward pass, so that memory grows
  with `max_iter`. Evaluations stop once every instance is settled.
  """
  check_problem(fun, init, args)
  problem = _Problem(lambda state: fun(state, *args), init, config,
                     return_trajectory=False)

  def body(state, _):
    state = lax.cond(jnp.all(state.settled), lambda s: s, problem.iterate,
                     state)
    return state, None

  state, _ = lax.scan(body, problem.initial_state(), length=config.max_iter)
  return problem.solution(state)


def check_problem(fun: Callable[..., _Tree], init: _Tree, args: Any) -> None:
  """Raises a ValueError unless `fun` maps states like `init` to their like."""
  leaves = jax.tree_util.tree_leaves(init)
  if not leaves:
    raise ValueError('The initial state has no arrays in it.')
  for leaf in leaves:
    if not jnp.issubdtype(jnp.result_type(leaf), jnp.floating):
      raise ValueError('The state must be floating point, but a leaf of it is '
                       f'{jnp.result_type(leaf)}.')
  if any(jnp.ndim(leaf) == 0 for leaf in leaves) or (
      len({jnp.shape(leaf)[0] for leaf in leaves}) > 1):
    raise ValueError(
        'Every leaf of the state must have the batch as its leading axis, got '
        f'shapes {[jnp.shape(leaf) for leaf in leaves]}.')
  describe = lambda tree: jax.tree_util.tree_map(  # pylint:disable=g-long-lambda
      lambda x: f'{jnp.result_type(x)}{list(jnp.shape(x))}', tree)
  before, after = describe(init), describe(jax.eval_shape(fun, init, *args))
  if before != after:
    raise ValueError('`fun` must keep the structure, shapes and dtypes of the '
                     f'state, but it maps {before} to {after}.')


class _Iterate(NamedTuple):
  """A candidate for the result, of every instance."""
  origin: _Array  # [B, D], where the function was evaluated
  value: _Array  # [B, D], what it gave
  residual: _Array  # [B]

  def update(self, where: _Array, new: '_Iterate') -> '_Iterate':
    """Takes over the new iterate for some instances."""
    return _Iterate(
        origin=jnp.where(where[:, None], new.origin, self.origin),
        value=jnp.where(where[:, None], new.value, self.value),
        residual=jnp.where(where, new.residual, self.residual))


class _State(NamedTuple):
  """The carry of the loop. Vectors of an instance are flat, of size D."""
  step: _Array  # [], evaluations so far
  cost: _Array  # [], the instances that were evaluated, added up
  point: _Array  # [B, D], where to evaluate next
  best: _Iterate  # the one of lowest residual
  last: Optional[_Iterate]  # the last one; only kept for 'last'
  steps: _Array  # [B]
  settled: _Array  # [B], the result will not change any more
  failed: _Array  # [B], NaN or infinity came up
  memory: Any
  trajectory: Optional[_Array]  # [max_iter, B, D]
  residuals: Optional[_Array]  # [max_iter, B]
  origins: Optional[_Array]  # [max_iter, B, D]

  def take(self, instances: _Array) -> '_State':
    """The state of some instances; fillers, beyond the batch, are settled."""
    fillers = instances >= self.settled.shape[0]
    take = lambda tree: jax.tree_util.tree_map(
        lambda x: jnp.take(x, instances, axis=0, mode='clip'), tree)
    return _State(
        step=self.step,
        cost=self.cost,
        last=None,
        trajectory=None,
        residuals=None,
        origins=None,
        settled=take(self.settled) | fillers,
        **{name: take(getattr(self, name))
           for name in ('point', 'best', 'steps', 'failed', 'memory')})

  def put(self, instances: _Array, part: '_State') -> '_State':
    """Takes over what became of some instances, but not how to go on."""
    put = lambda x, y: x.at[instances].set(y, mode='drop')
    return self._replace(
        step=part.step,
        cost=part.cost,
        **{name: jax.tree_util.tree_map(put, getattr(self, name),
                                        getattr(part, name))
           for name in ('best', 'steps', 'settled', 'failed')})


class _Problem:
  """One fixed-point problem with its solver: the pieces of the loop."""

  def __init__(self, fun, init, config, return_trajectory):
    self._config = config
    self._return_trajectory = return_trajectory
    self._init = init
    leaves, self._treedef = jax.tree_util.tree_flatten(init)
    self._shapes = [jnp.shape(leaf) for leaf in leaves]
    self._dtypes = [jnp.result_type(leaf) for leaf in leaves]
    # Narrow types hold a state well enough, but not the sums over one.
    self._dtype = jnp.promote_types(jnp.result_type(*self._dtypes),
                                    jnp.float32)
    self.evaluate = self.flat(fun)
    self._method = updates.METHODS[config.method](config)

  def flat(self, fun):
    """The same function, of states with a flat vector for each instance."""
    return lambda point: self._ravel(fun(self._unravel(point)))

  def _ravel(self, tree):
    leaves = [jnp.reshape(x, (x.shape[0], -1)).astype(self._dtype)
              for x in jax.tree_util.tree_leaves(tree)]
    return leaves[0] if len(leaves) == 1 else jnp.concatenate(leaves, axis=-1)

  def _unravel(self, flat):
    leaves, start = [], 0
    for shape, dtype in zip(self._shapes, self._dtypes):
      size = math.prod(shape[1:])
      leaf = flat[..., start:start + size].astype(dtype)
      leaves.append(jnp.reshape(leaf, flat.shape[:-1] + shape[1:]))
      start += size
    return jax.tree_util.tree_unflatten(self._treedef, leaves)

  def initial_state(self) -> _State:
    point = self._ravel(self._init)
    batch_size = point.shape[0]
    nothing = _Iterate(origin=point, value=point, residual=jnp.full(
        (batch_size,), jnp.inf, self._dtype))
    no = jnp.zeros((batch_size,), bool)
    trajectory = residuals = origins = None
    if self._return_trajectory:
      length = self._config.max_iter
      trajectory = jnp.zeros((length,) + point.shape, self._dtype)
      residuals = jnp.full((length, batch_size), jnp.inf, self._dtype)
      origins = trajectory
    return _State(
        step=jnp.zeros((), jnp.int32),
        cost=jnp.zeros((), jnp.int32),
        point=point,
        best=nothing,
        last=nothing if self._config.select == 'last' else None,
        steps=jnp.zeros((batch_size,), jnp.int32),
        settled=no,
        failed=no,
        memory=self._method.init(point),
        trajectory=trajectory,
        residuals=residuals,
        origins=origins)

  def iterate(self, state: _State, evaluate=None) -> _State:
    """Evaluates the function once and moves every unsettled instance."""
    config = self._config
    value = (evaluate or self.evaluate)(state.point)
    finite = jnp.all(jnp.isfinite(value), axis=-1)
    # Nothing that is not finite may enter the memory or the gradient.
    value = jnp.where(finite[:, None], value, state.point)
    residual = lax.stop_gradient(_residual(value, state.point,
                                           config.stop_mode))
    finite &= jnp.isfinite(residual)
    active = ~state.settled
    new = _Iterate(origin=state.point, value=value, residual=residual)
    best = state.best.update(
        active & finite & (residual < state.best.residual), new)
    last = state.last and state.last.update(active & finite, new)

    # An exactly fixed iterate cannot be improved on, whatever the selection.
    done = (residual < config.tol) if config.select == 'first' else (
        residual == 0)
    settled = state.settled | ~finite | done

    proposal, memory = self._method.propose(state.step, state.point, value,
                                            state.memory)
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
    return _State(
        step=state.step + 1,
        cost=state.cost + len(point),
        point=point,
        best=best,
        last=last,
        steps=state.steps + active,
        settled=settled,
        failed=state.failed | (active & ~finite),
        memory=memory,
        trajectory=trajectory,
        residuals=residuals,
        origins=origins)

  def solution(self, state: _State) -> Solution:
    selected = self._selected(state)
    unravel = lambda x: None if x is None else self._unravel(x)
    return Solution(
        value=self._unravel(selected.value),
        steps=state.steps,
        residual=selected.residual,
        converged=(selected.residual < self._config.tol) & ~state.failed,
        evaluations=state.cost / len(state.settled),
        trajectory=unravel(state.trajectory),
        residuals=state.residuals,
        origins=unravel(state.origins))

  def origin(self, state: _State) -> _Tree:
    return self._unravel(self._selected(state).origin)

  def _selected(self, state: _State) -> _Iterate:
    if state.last is None:
      return state.best
    return state.last.update(state.failed, state.best)


def _residual(value: _Array, point: _Array, stop_mode: str) -> _Array:
  """The paper's pre-fixed-point criterion, one entry an instance."""
  change = value - point
  distance = jnp.sqrt(updates.dot(change, change))
  if stop_mode == 'abs':
    return distance
  norm = jnp.sqrt(updates.dot(value, value))
  # The zero state can be a fixed point too: 0 / 0 counts as 0.
  limits = jnp.finfo(distance.dtype)
  ratio = distance / jnp.maximum(norm, limits.tiny)
  return jnp.where(norm > 0, ratio, jnp.where(distance > 0, limits.max, 0.0))
