# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Fixed points with gradients: a solver under `jax.custom_vjp`."""

import dataclasses
import functools
import math
from typing import Any, Callable, NamedTuple, Optional

import chex
from dear_jax import diagnostics
from dear_jax import solvers
import jax
import jax.numpy as jnp

_Tree = chex.ArrayTree

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
                backward_probe: Optional[chex.Array] = None,
                return_trajectory: bool = False) -> solvers.Solution:
  """Solves `z = fun(z, *args)`, differentiably with respect to `args`.

  `value` carries the gradient; steps, residual and the converged flag do not.
  The starting point gets none either: a fixed point does not depend on it.

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
    subsets: How to take some instances out of `args`. If given, the others do
      not wait for stragglers, except when 'unrolled'.
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
    backward = dataclasses.replace(forward, tol=forward.tol / 10)
  init = jax.tree_util.tree_map(
      lambda x: jax.lax.stop_gradient(jnp.asarray(x)), init)
  # `custom_vjp` sees no gradients of closed-over values; arguments it does.
  explicit, closed_over = jax.closure_convert(fun, init, *args)
  solvers.check_problem(explicit, init, (*args, *closed_over))
  if gradient == 'unrolled':
    return solvers.solve_unrolled(fun, init, *args, config=forward)
  if backward_probe is None:
    batch_size = len(jax.tree_util.tree_leaves(init)[0])
    backward_probe = jnp.zeros((batch_size, len(BackwardReport._fields)))
  if closed_over:
    # They may have instances too, of which `subsets` knows nothing.
    fun, subsets = explicit, None

  def replay(state, *args):
    # What was traced for the whole batch need not be traced again.
    is_whole = len(jax.tree_util.tree_leaves(state)[0]) == len(backward_probe)
    return (explicit if is_whole else fun)(state, *args)

  backward_pass = _BackwardPass(gradient, backward, decay, bound)
  return _fixed_point(replay, forward, backward_pass, subsets,
                      return_trajectory, init, (*args, *closed_over),
                      backward_probe)


class BackwardReport(NamedTuple):
  """How the backward solve fared: the columns of a `backward_probe`."""
  steps: chex.Array  # [B]
  residual: chex.Array  # [B]
  converged: chex.Array  # [B], 0 or 1


class _BackwardPass(NamedTuple):
  """How the gradient is computed."""
  gradient: str
  config: solvers.SolverConfig
  decay: float
  bound: float


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


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1, 2, 3, 4))
def _fixed_point(fun, forward, backward_pass, subsets, return_trajectory, init,
                 args, backward_probe):
  del backward_pass, backward_probe
  return solvers.solve_with_origin(
      fun, init, *args, config=forward, subsets=subsets,
      return_trajectory=return_trajectory)[0]


def _fixed_point_fwd(fun, forward, backward_pass, subsets, return_trajectory,
                     init, args, backward_probe):
  del backward_pass, backward_probe
  solution, origin = solvers.solve_with_origin(
      fun, init, *args, config=forward, subsets=subsets,
      return_trajectory=return_trajectory)
  return solution, (origin, args)


def _fixed_point_bwd(fun, forward, backward_pass, subsets, return_trajectory,
                     residuals, cotangents):
  """Equation 3 of Bai et al. (2019): `u = J^T u + g`, then pull back `u`.

  The step is linearised where its last application was taken, so that what is
  differentiated is what gave the value. At a tolerance of 0.1 the value itself
  is already another place.
  """
  del forward, return_trajectory
  origin, args = residuals
  cotangent = cotangents.value
  batch_size = len(jax.tree_util.tree_leaves(origin)[0])
  nothing = jnp.zeros(batch_size)
  report = BackwardReport(steps=nothing, residual=nothing,
                          converged=nothing + 1)
  if backward_pass.gradient == 'implicit':
    solution = solve_adjoint(
        fun, origin, args, cotangent, config=backward_pass.config,
        decay=backward_pass.decay, subsets=subsets)
    report = BackwardReport(
        solution.steps.astype(float), solution.residual,
        solution.converged.astype(float))
    cotangent = _bounded(solution.value, cotangent, backward_pass.bound)
  _, pull_back = jax.vjp(fun, origin, *args)
  no_gradient = jax.tree_util.tree_map(jnp.zeros_like, origin)
  return no_gradient, pull_back(cotangent)[1:], jnp.stack(report, axis=-1)


_fixed_point.defvjp(_fixed_point_fwd, _fixed_point_bwd)


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
    decay: As in `fixed_point`.
    subsets: As in `fixed_point`.

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
  length, limit = diagnostics.norms(value), bound * diagnostics.norms(reference)
  factor = jnp.where(length > limit, limit / jnp.maximum(
      length, jnp.finfo(length.dtype).tiny), 1.0)
  return jax.tree_util.tree_map(
      lambda x: x * jnp.expand_dims(factor, range(1, x.ndim)), value)


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
