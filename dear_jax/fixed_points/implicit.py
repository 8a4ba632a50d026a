# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Fixed points with gradients: a solver under `jax.custom_vjp`."""

import dataclasses
import functools
import math
from typing import Any, Callable, List, NamedTuple, Optional, Tuple

from dear_jax.fixed_points import harmless
from dear_jax.fixed_points import per_instance
from dear_jax.fixed_points import solvers
from dear_jax.fixed_points import varying
import jax
import jax.numpy as jnp

_Tree = Any

GRADIENTS = ('implicit', 'one_step', 'unrolled')


def fixed_point(fun: Callable[..., _Tree],
                init: _Tree,
                *args: Any,
                forward: solvers.SolverConfig = solvers.SolverConfig(),
                backward: Optional[solvers.SolverConfig] = None,
                gradient: str = 'implicit',
                decay: float = 1.0,
                bound: float = math.inf,
                subsets: Optional[solvers.Subsets] = None,
                split: bool = True,
                backward_probe: Optional[jax.Array] = None,
                return_trajectory: bool = False) -> solvers.Solution:
  """Solves `z = fun(z, *args)`, differentiably with respect to `args`.

  `value` carries the gradient; steps, residual and the flags do not. The
  starting point gets none either: a fixed point does not depend on it. An
  instance that failed, with NaN or infinity on its way, adds nothing to any
  gradient.

  >>> import jax
  >>> import jax.numpy as jnp
  >>> def root(b):
  ...   sol = fixed_point(lambda z, b: 0.5 * (z + b / z), jnp.ones((1,)), b,
  ...                     forward=solvers.SolverConfig(tol=1e-6))
  ...   return sol.value[0]
  >>> round(float(root(4.0)), 3), round(float(jax.grad(root)(4.0)), 3)
  (2.0, 0.25)

  Args:
    fun: Maps a state and `args` to the next state, see `dear_jax.solve`.
    init: The state to start from.
    *args: What `fun` depends on; any pytree. Values that `fun` closes over
      are differentiated as well.
    forward: How to solve for the fixed point.
    backward: How to solve the linear system `u = J^T u + g` of the implicit
      gradient. By default as `forward`, with a tenth of its tolerance.
    gradient: 'implicit' applies the implicit function theorem at the solution,
      in memory that does not grow with the number of iterations. 'one_step'
      differentiates a single application of `fun` at the solution
      (Jacobian-free). 'unrolled' differentiates through the solver.
    decay: The backward solve is for `u = decay J^T u + g`. 1 is the implicit
      function theorem, 0 the one-step gradient; what is between stays bounded
      where a step is hardly contractive, see docs/implicit.md.
    bound: The most that the norm of `u` may be, as a multiple of that of `g`,
      for every instance; a longer `u` is shortened.
    subsets: What `args` has of which instance. Without it, arrays whose leading
      axis is as long as the batch are taken to have one entry an instance, if
      the others' results say so.
    split: Whether the others need not wait for stragglers, if there are
      `subsets`; not when 'unrolled'.
    backward_probe: [B, 3], of any value. What comes out as its gradient is no
      gradient, but a `BackwardReport`: how the backward solves fared.
    return_trajectory: As in `dear_jax.solve`. It carries no gradient, costs
      waiting for stragglers, and is not there when 'unrolled'.

  Returns:
    A `Solution`.

  Raises:
    ValueError: If `gradient` is unknown, `decay` or `bound` are out of range,
      or for a problem that `dear_jax.solve` refuses.
  """
  check_gradient(gradient, decay, bound)
  if backward is None:
    backward = default_backward(forward)
  init = jax.tree_util.tree_map(
      lambda x: jax.lax.stop_gradient(jnp.asarray(x)), init)
  args = varying.unshared(args, like=(init, args))
  # `custom_vjp` sees no gradients of closed-over values; arguments it does.
  explicit, closed_over = _with_explicit_closure(fun, init, args)
  if (varied := varying.like((args, closed_over), init)) is not init:
    init = varied  # under `jax.shard_map` states have the type of all inputs
    explicit, closed_over = _with_explicit_closure(fun, init, args)
  args = (*args, *closed_over)
  solvers.check_problem(explicit, init, args)
  batch_size = len(jax.tree_util.tree_leaves(init)[0])
  if not batch_size:  # and there is no instance to copy from
    solution = solvers.solve(explicit, init, *jax.lax.stop_gradient(args),
                             config=forward)
    return dataclasses.replace(solution, value=explicit(init, *args))
  if backward_probe is None:
    backward_probe = varying.like(
        (init, args), jnp.zeros((batch_size, len(BackwardReport._fields))))
  if closed_over:
    # They may have instances too, of which `subsets` knows nothing.
    fun, subsets = explicit, None

  def replay(state, *args):
    # What was traced for the whole batch need not be traced again.
    is_whole = len(jax.tree_util.tree_leaves(state)[0]) == batch_size
    return (explicit if is_whole else fun)(state, *args)

  plan = _Plan(gradient=gradient, forward=forward, backward=backward,
               decay=decay, bound=bound, subsets=subsets, split=split,
               return_trajectory=return_trajectory)
  if gradient == 'unrolled':
    return _unrolled(replay, plan, init, args)
  return _fixed_point(replay, plan, init, args, backward_probe)


def _with_explicit_closure(fun: Callable[..., _Tree], init: _Tree, args: Any
                           ) -> Tuple[Callable[..., _Tree], List[Any]]:
  """As `jax.closure_convert`, but also of whole numbers and truth values.

  They have no gradient, but if they are traced, they must not be kept from the
  forward to the backward pass in a closure.

  Args:
    fun: The step, of a state and `args`.
    init: A state.
    args: Its other arguments.

  Returns:
    The step, of a state, `args` and what it closes over that is traced; and
    these values.
  """
  program, shape = jax.make_jaxpr(fun, return_shape=True)(init, *args)
  treedef = jax.tree_util.tree_structure(shape)
  is_traced = [isinstance(x, jax.core.Tracer) for x in program.consts]
  constants = [None if traced else x
               for x, traced in zip(program.consts, is_traced)]
  count = sum(is_traced)

  def explicit(*all_args):
    own, closed_over = (all_args[:len(all_args) - count],
                        iter(all_args[len(all_args) - count:]))
    return jax.tree_util.tree_unflatten(treedef, jax.core.eval_jaxpr(
        program.jaxpr, [next(closed_over) if traced else x for x, traced
                        in zip(constants, is_traced)],
        *jax.tree_util.tree_leaves(own)))

  return explicit, [x for x, traced in zip(program.consts, is_traced)
                    if traced]


def default_backward(forward: solvers.SolverConfig) -> solvers.SolverConfig:
  """How to solve for the implicit gradient, unless told otherwise.

  With a tenth of the forward tolerance, as the paper does. It is relative in
  any case: the linear system scales with the loss, of which an absolute
  tolerance knows nothing. Where the forward one is absolute, its tenth is taken
  for as good a guess as any, up to the paper's 0.01. Parts of an instance are
  not looked at: what matters of a gradient is the whole.

  Args:
    forward: The forward solver.

  Returns:
    The backward solver.
  """
  tol = forward.tol / 10
  if forward.stop_mode == 'abs':
    tol = min(tol, 0.01)
  return dataclasses.replace(forward, tol=tol, stop_mode='rel', part_axis=None,
                             restart=False)


class BackwardReport(NamedTuple):
  """How the backward solve fared: the columns of a `backward_probe`."""
  steps: jax.Array  # [B]
  residual: jax.Array  # [B]
  converged: jax.Array  # [B], 0 or 1


class _Plan(NamedTuple):
  """How to solve and how to differentiate: the options of `fixed_point`."""
  gradient: str
  forward: solvers.SolverConfig
  backward: solvers.SolverConfig
  decay: float
  bound: float
  subsets: Optional[solvers.Subsets]
  split: bool
  return_trajectory: bool

  @property
  def is_exact(self) -> bool:
    """Whether the gradient is that of the implicit function theorem."""
    return (self.gradient == 'implicit' and self.decay == 1
            and math.isinf(self.bound))

  @property
  def split_subsets(self) -> Optional[solvers.Subsets]:
    return self.subsets if self.split else None

  def solve(self, fun, init, args):
    return solvers.solve_with_origin(
        fun, init, *args, config=self.forward, subsets=self.split_subsets,
        return_trajectory=self.return_trajectory)


def check_gradient(gradient: str, decay: float = 1.0,
                   bound: float = math.inf) -> None:
  """Raises a ValueError unless these are settings of `fixed_point`."""
  if gradient not in GRADIENTS:
    raise ValueError(
        f'gradient must be one of {", ".join(GRADIENTS)}, got {gradient!r}.')
  if not 0 <= decay <= 1:
    raise ValueError(f'decay must be a number from 0 to 1, got {decay!r}.')
  if not bound > 0:
    raise ValueError(f'bound must be a positive number, got {bound!r}.')


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _fixed_point(fun, plan, init, args, backward_probe):
  del backward_probe
  return plan.solve(fun, init, args)[0]


def _fixed_point_fwd(fun, plan, init, args, backward_probe):
  del backward_probe
  solution, origin = plan.solve(fun, init, args)
  return solution, (origin, solution.value, solution.failed, args)


def _fixed_point_bwd(fun, plan, residuals, cotangents):
  """Equation 3 of Bai et al. (2019): `u = J^T u + g`, then pull back `u`.

  The theorem speaks of the fixed point, to which the value is closest.
  Gradients that are not exact are taken where the last application was: what
  is differentiated is what gave the value. Networks train better so
  (docs/implicit.md).
  """
  origin, value, failed, args = residuals
  place = value if plan.is_exact else origin
  restore = harmless.without_failed(fun, plan.subsets, place, args, failed)
  place = per_instance.copy(place, failed, jnp.argmin(failed))
  cotangent = per_instance.zero(cotangents.value, failed)
  nothing = jnp.where(failed, 0.0, 0.0)  # of the type that failed has
  report = BackwardReport(steps=nothing, residual=nothing,
                          converged=nothing + 1)
  if plan.gradient == 'implicit':
    solution = solve_adjoint(
        fun, place, restore(args), cotangent, config=plan.backward,
        decay=plan.decay, subsets=plan.split_subsets)
    report = BackwardReport(
        solution.steps.astype(float), solution.residual,
        solution.converged.astype(float))
    cotangent = _bounded(solution.value, cotangent, plan.bound)
  _, pull_back = jax.vjp(lambda *args: fun(place, *restore(args)), *args)
  no_gradient = jax.tree_util.tree_map(jnp.zeros_like, origin)
  return no_gradient, pull_back(cotangent), jnp.stack(report, axis=-1)


_fixed_point.defvjp(_fixed_point_fwd, _fixed_point_bwd)


def _unrolled(fun, plan, init, args):
  """Through the solver, except for instances that fail on the way.

  Which ones do is found out by a solve without a gradient. A zero cotangent
  would not be enough: its product with the derivative of NaN is NaN.
  """
  solution, origin = plan.solve(fun, init, jax.lax.stop_gradient(args))
  failed = solution.failed
  restore = harmless.without_failed(fun, plan.subsets, origin, args, failed)
  unrolled = solvers.solve_unrolled(
      fun, per_instance.copy(init, failed, jnp.argmin(failed)), *restore(args),
      config=plan.forward)
  value = per_instance.where(failed, jax.lax.stop_gradient(solution.value),
                          unrolled.value)
  return dataclasses.replace(solution, value=value)


def solve_adjoint(fun: Callable[..., _Tree], origin: _Tree, args: Any,
                  cotangent: _Tree, *, config: solvers.SolverConfig,
                  decay: float = 1.0,
                  subsets: Optional[solvers.Subsets] = None
                  ) -> solvers.Solution:
  """Solves `u = decay J^T u + g`, the system of the implicit gradient.

  Args:
    fun: The step.
    origin: Where it is linearised.
    args: The other arguments of the step.
    cotangent: `g`, the gradient with respect to the fixed point.
    config: How to solve.
    decay, subsets: As in `fixed_point`.

  Returns:
    The solution `u`.
  """
  def prepare(problem):
    origin, args, cotangent = problem
    _, pull_back = jax.vjp(lambda z: fun(z, *args), origin)
    return lambda u: jax.tree_util.tree_map(
        lambda x, g: decay * x + g, pull_back(u)[0], cotangent)

  # Started from g, the first evaluation is already one Neumann term ahead.
  return solvers.solve_prepared(
      prepare, cotangent, (origin, args, cotangent), config=config,
      subsets=subsets and _LinearSubsets(subsets))[0]


def _bounded(value: _Tree, reference: _Tree, bound: float) -> _Tree:
  """Shortens what is longer than `bound` times its reference."""
  if math.isinf(bound):
    return value
  length = per_instance.norms(value)
  limit = bound * per_instance.norms(reference)
  factor = jnp.where(length > limit, limit / jnp.maximum(
      length, jnp.finfo(length.dtype).tiny), 1.0)
  return jax.tree_util.tree_map(
      lambda x: x * per_instance.expand(factor, x).astype(x.dtype), value)


class _LinearSubsets:
  """Subsets of the linear problem, whose own arguments have instances too."""

  def __init__(self, subsets: solvers.Subsets):
    self._subsets = subsets

  def fits(self, args, wanted, size):
    return self._subsets.fits(args[1], wanted, size)

  def take(self, args, instances):
    origin, args, cotangent = args
    pick = lambda x: jnp.take(x, instances, axis=0, mode='clip')
    return (jax.tree_util.tree_map(pick, origin),
            self._subsets.take(args, instances),
            jax.tree_util.tree_map(pick, cotangent))
