# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Batched fixed-point solvers: pure JAX, nothing to do with graphs.

Every leaf of the state has the instances along its leading axis. Instances are
solved side by side in one `lax.while_loop` but never influence each other:
each has its own residual, its own mixing weights and its own moment at which
its result is settled.
"""

import functools
from typing import Any, Callable, Optional, Protocol, Sequence, Tuple

from dear_jax.fixed_points import config as config_lib
from dear_jax.fixed_points import iterations
from dear_jax.fixed_points import varying
import jax
from jax import lax
import jax.numpy as jnp
import numpy as np

_Array = jax.Array
_Tree = Any

SolverConfig = config_lib.SolverConfig
Solution = config_lib.Solution
METHODS = config_lib.METHODS
SELECTIONS = config_lib.SELECTIONS

# Once no more than a quarter of a batch is left to be solved, the quarter is
# solved on its own. More such stages would cost compilation and gain little.
_LAST_PART = 4


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
  problem, state = _run(prepare, init, args, config, return_trajectory,
                        subsets)
  return problem.solution(state), problem.origin(state)


def solve_up_to(fun: Callable[..., _Tree],
                init: _Tree,
                *args: Any,
                config: SolverConfig,
                limit: Optional[_Array] = None,
                state: Optional[iterations.State] = None,
                return_trajectory: bool = False,
                subsets: Optional[Parts] = None
                ) -> Tuple[Solution, iterations.State]:
  """As `solve`, unchecked; it can be told to pause, and goes on later.

  A solve in several parts takes the very iterations of one in a single part.

  Args:
    fun, init, *args, config, return_trajectory: As in `solve`.
    limit: [], after how many evaluations to pause, counted from the start of
      the solve; it may be computed. `config.max_iter` stays the limit of all.
    state: From where to go on: what an earlier part returned, or for the first
      one `blank_state`, so that all parts may share a program.
    subsets: As in `solve_with_origin`.

  Returns:
    The solution so far, and the state to go on from.
  """
  problem, state = _run(
      lambda args: lambda x: fun(x, *args), init, args, config,
      return_trajectory, subsets, limit, state, goes_on_later=True)
  return problem.solution(state), state


def blank_state(like: _Tree, config: SolverConfig) -> iterations.State:
  """What `solve_up_to` takes for the start of a solve, in numpy arrays.

  Args:
    like: A state, or the shapes and types of one.
    config: The solver.

  Returns:
    Zeros, which the solve replaces.
  """
  shapes = jax.eval_shape(
      lambda init: iterations.Problem(lambda x: x, init, (), config)
      .initial_state(), like)
  return jax.tree_util.tree_map(lambda x: np.zeros(x.shape, x.dtype), shapes)


def _run(prepare, init, args, config, return_trajectory, subsets, limit=None,
         state=None, goes_on_later=False
         ) -> Tuple[iterations.Problem, iterations.State]:
  """Iterates until all instances are settled, or a limit is met."""
  problem = iterations.Problem(prepare(args), init, args, config,
                               return_trajectory)
  most = config.max_iter if limit is None else jnp.minimum(
      limit, config.max_iter)
  goes_on = lambda s: (s.step < most) & ~jnp.all(s.settled)
  first = problem.initial_state()
  state = first if state is None else jax.tree_util.tree_map(
      functools.partial(jnp.where, state.step > 0), state, first)
  batch_size = state.settled.shape[0]
  part_size = batch_size // _LAST_PART
  if (subsets is None or part_size < 2 or return_trajectory
      or config.select != 'first'):  # the others ask for all iterates
    return problem, lax.while_loop(goes_on, problem.iterate, state)

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
    return state.put(instances, rest, goes_on_later)

  state = lax.while_loop(lambda s: goes_on(s) & ~are_few(s), problem.iterate,
                         state)
  state = lax.cond(goes_on(state), solve_rest, lambda s: s, state)
  return problem, state


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
  problem = iterations.Problem(lambda state: fun(state, *args), init,
                               (args, closed_over), config)

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
