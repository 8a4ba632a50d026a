# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Batched fixed-point solvers: pure JAX, nothing to do with graphs.

Every leaf of the state has the instances along its leading axis. Instances are
solved side by side in one `lax.while_loop` but never influence each other:
each has its own residual, its own mixing weights and its own moment at which
its result is settled.
"""

import functools
import itertools
import math
from typing import (
  Any,
  Callable,
  NamedTuple,
  Optional,
  Protocol,
  Sequence,
  Tuple,
)

from dear_jax.fixed_points import config as config_lib
from dear_jax.fixed_points import updates
from dear_jax.fixed_points import varying
import jax
from jax import lax
import jax.numpy as jnp

_Array = jax.Array
_Tree = Any

SolverConfig = config_lib.SolverConfig
Solution = config_lib.Solution
METHODS = config_lib.METHODS
SELECTIONS = config_lib.SELECTIONS

# Once no more than a quarter of a batch is left to be solved, the quarter is
# solved on its own. More such stages would cost compilation and gain little.
_LAST_PART = 4


# A part has begun to move when its residual is so many times its last one.
_NEWS = 3.0


class Parts(Protocol):
  """How to go on with some of the instances of a problem."""

  def fits(self, args: Any, wanted: _Array, size: int) -> _Array:
    """Whether a problem of `size` can hold the wanted instances, [B]."""

  def take(self, args: Any, instances: _Array) -> Any:
    """The arguments of some instances; those beyond the batch are fillers."""


class Subsets(Parts, Protocol):
  """The same, and how to leave instances out."""

  def replace(self, args: Any, condition: _Array, source: _Array) -> Any:
    """The arguments, with those of one instance for some others [B]."""


def solve(fun: Callable[..., _Tree],
          init: _Tree,
          *args: Any,
          config: SolverConfig = SolverConfig(),
          return_trajectory: bool = False) -> Solution:
  """Solves `z = fun(z, *args)` for a batch of instances.

  Not differentiable in reverse mode: see `dear_jax.fixed_point` for that.
  Outside of `jax.jit` every call compiles its loop anew, in about half a
  second: `fun` may have changed since. Solve within a compiled function.

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
  closed_over = check_problem(fun, init, args)
  return solve_prepared(
      lambda args: lambda state: fun(state, *args[0]), init,
      (args, closed_over), config=config,
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
    fun, init, *args, config, return_trajectory: As in `solve`.
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
                   subsets: Optional[Parts] = None
                   ) -> Tuple[Solution, _Tree]:
  """As `solve_with_origin`, of a function that is made before the loop.

  Args:
    prepare: Maps the arguments to a function of the state. What it computes is
      computed once, and once more for every subset.
    init, config, return_trajectory: As in `solve`.
    args: What to prepare from.
    subsets: As in `solve_with_origin`, of `args`.

  Returns:
    The solution and its origin.
  """
  problem = _Problem(prepare(args), init, args, config, return_trajectory)
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
  with `max_iter`. Evaluations stop once every instance is settled, except under
  `jax.shard_map`.
  """
  closed_over = check_problem(fun, init, args)
  problem = _Problem(lambda state: fun(state, *args), init,
                     (args, closed_over), config, return_trajectory=False)

  def body(state, _):
    if varying.manual_axes():
      # The gradient of what all devices share is a sum over them, which would
      # wait forever for a device that is done.
      return problem.iterate(state), None
    state = lax.cond(jnp.all(state.settled), lambda s: s, problem.iterate,
                     state)
    return state, None

  state, _ = lax.scan(body, problem.initial_state(), length=config.max_iter)
  return problem.solution(state)


def check_problem(fun: Callable[..., _Tree], init: _Tree, args: Any
                  ) -> Sequence[Any]:
  """Raises a ValueError unless `fun` maps states like `init` to their like.

  Args:
    fun, init, args: As in `solve`.

  Returns:
    The arrays that `fun` closes over.
  """
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
  program, after = jax.make_jaxpr(fun, return_shape=True)(init, *args)
  before, after = describe(init), describe(after)
  if before != after:
    raise ValueError('`fun` must keep the structure, shapes and dtypes of the '
                     f'state, but it maps {before} to {after}.')
  return program.consts


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
  moves: _Array  # [B, parts], the last residuals of all parts
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
           for name in ('point', 'best', 'steps', 'failed', 'moves',
                        'memory')})

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

  def __init__(self, fun, init, args, config, return_trajectory):
    self._config = config
    self._args = args
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
    # The number of entries is given, as it cannot be told from no instance.
    leaves = [jnp.reshape(x, (x.shape[0], math.prod(x.shape[1:]))).astype(
        self._dtype) for x in jax.tree_util.tree_leaves(tree)]
    return leaves[0] if len(leaves) == 1 else jnp.concatenate(leaves, axis=-1)

  def _unravel(self, flat):
    return jax.tree_util.tree_unflatten(
        self._treedef, [leaf.astype(dtype) for leaf, dtype in zip(
            self._leaves(flat), self._dtypes)])

  def _leaves(self, flat):
    """The arrays that a flat vector, along its last axis, is made of."""
    sizes = [math.prod(shape[1:]) for shape in self._shapes]
    ends = list(itertools.accumulate(sizes))
    return [jnp.reshape(flat[..., end - size:end], flat.shape[:-1] + shape[1:])
            for size, end, shape in zip(sizes, ends, self._shapes)]

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
    return varying.like((self._init, self._args), _State(
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

  def iterate(self, state: _State, evaluate=None) -> _State:
    """Evaluates the function once and moves every unsettled instance."""
    config = self._config
    value = (evaluate or self.evaluate)(state.point)
    finite = jnp.all(jnp.isfinite(value), axis=-1)
    # Nothing that is not finite may enter the memory or the gradient.
    value = jnp.where(finite[:, None], value, state.point)
    moves = lax.stop_gradient(self._moves(value, state.point))
    residual = jnp.max(moves, axis=-1)
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
    return _State(
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
      distance = _ratio(distance, self._norms(value))
    return distance

  def _has_news(self, moves: _Array, last_moves: _Array) -> _Array:
    """[B], whether a part begins to move, which is to restart the solver."""
    if not self._config.restart:
      return jnp.zeros(len(moves), bool)
    return jnp.any((moves >= self._config.tol)
                   & (moves > _NEWS * last_moves), axis=-1)

  def _norms(self, flat: _Array) -> _Array:
    """[B, parts], the norms of the parts that have to be at rest."""
    axis = self._config.part_axis
    if axis is None:
      return jnp.sqrt(updates.dot(flat, flat))[:, None]
    norms = []
    for leaf in self._leaves(flat):
      if leaf.ndim <= axis:  # it has no such parts, and is one
        leaf = jnp.expand_dims(leaf, range(leaf.ndim, axis + 1))
      squares = jnp.square(leaf)
      others = tuple(i for i in range(1, leaf.ndim) if i != axis)
      norms.append(jnp.sqrt(jnp.sum(squares, axis=others)))
    return jnp.concatenate(norms, axis=-1)

  def solution(self, state: _State) -> Solution:
    selected = self._selected(state)
    unravel = lambda x: None if x is None else self._unravel(x)
    return Solution(
        value=self._unravel(selected.value),
        steps=state.steps,
        residual=selected.residual,
        converged=(selected.residual < self._config.tol) & ~state.failed,
        failed=state.failed,
        evaluations=state.cost / max(1, len(state.settled)),
        trajectory=unravel(state.trajectory),
        residuals=state.residuals,
        origins=unravel(state.origins))

  def origin(self, state: _State) -> _Tree:
    return self._unravel(self._selected(state).origin)

  def _selected(self, state: _State) -> _Iterate:
    if state.last is None:
      return state.best
    return state.last.update(state.failed, state.best)


def _ratio(distance: _Array, norm: _Array) -> _Array:
  """Their quotient. The zero state can be a fixed point: 0 / 0 counts as 0."""
  limits = jnp.finfo(distance.dtype)
  ratio = distance / jnp.maximum(norm, limits.tiny)
  return jnp.where(norm > 0, ratio, jnp.where(distance > 0, limits.max, 0.0))
