# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Fixed points with gradients: a solver under `jax.custom_vjp`."""

import dataclasses
import functools
from typing import Any, Callable, NamedTuple, Optional

import chex
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
                subsets: Optional[solvers.Subsets] = None,
                backward_probe: Optional[chex.Array] = None
                ) -> solvers.Solution:
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
    subsets: How to take some instances out of `args`. If given, the others do
      not wait for stragglers, except when 'unrolled'.
    backward_probe: [B, 3], of any value. What comes out as its gradient is no
      gradient, but a `BackwardReport`: how the backward solves fared.

  Returns:
    A `Solution`, without trajectory.

  Raises:
    ValueError: If `gradient` is unknown, or for a problem that
      `dear_jax.solve` refuses.
  """
  check_gradient(gradient)
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

  return _fixed_point(replay, forward, backward, gradient, subsets, init,
                      (*args, *closed_over), backward_probe)


class BackwardReport(NamedTuple):
  """How the backward solve fared: the columns of a `backward_probe`."""
  steps: chex.Array  # [B]
  residual: chex.Array  # [B]
  converged: chex.Array  # [B], 0 or 1


def check_gradient(gradient: str) -> None:
  """Raises a ValueError unless this is the name of a gradient mode."""
  if gradient not in GRADIENTS:
    raise ValueError(
        f'gradient must be one of {", ".join(GRADIENTS)}, got {gradient!r}.')


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1, 2, 3, 4))
def _fixed_point(fun, forward, backward, gradient, subsets, init, args,
                 backward_probe):
  del backward, gradient, backward_probe
  return solvers.solve_with_origin(fun, init, *args, config=forward,
                                   subsets=subsets)[0]


def _fixed_point_fwd(fun, forward, backward, gradient, subsets, init, args,
                     backward_probe):
  del backward, gradient, backward_probe
  solution, origin = solvers.solve_with_origin(
      fun, init, *args, config=forward, subsets=subsets)
  return solution, (origin, args)


def _fixed_point_bwd(fun, forward, backward, gradient, subsets, residuals,
                     cotangents):
  """Equation 3 of Bai et al. (2019): `u = J^T u + g`, then pull back `u`.

  The step is linearised where its last application was taken, so that what is
  differentiated is what gave the value. At a tolerance of 0.1 the value itself
  is already another place.
  """
  del forward
  origin, args = residuals
  cotangent = cotangents.value
  batch_size = len(jax.tree_util.tree_leaves(origin)[0])
  nothing = jnp.zeros(batch_size)
  report = BackwardReport(steps=nothing, residual=nothing,
                          converged=nothing + 1)
  if gradient == 'implicit':
    solution = _solve_linear(fun, backward, subsets, origin, args, cotangent)
    report = BackwardReport(
        solution.steps.astype(float), solution.residual,
        solution.converged.astype(float))
    cotangent = solution.value
  _, pull_back = jax.vjp(fun, origin, *args)
  no_gradient = jax.tree_util.tree_map(jnp.zeros_like, origin)
  return no_gradient, pull_back(cotangent)[1:], jnp.stack(report, axis=-1)


_fixed_point.defvjp(_fixed_point_fwd, _fixed_point_bwd)


def _solve_linear(fun, config, subsets, origin, args, cotangent):
  """Solves `u = J^T u + g`."""
  def prepare(problem):
    origin, args, cotangent = problem
    _, pull_back = jax.vjp(lambda z: fun(z, *args), origin)
    return lambda u: jax.tree_util.tree_map(jnp.add, pull_back(u)[0],
                                            cotangent)

  # Started from g, the first evaluation is already one Neumann term ahead.
  return solvers.solve_prepared(
      prepare, cotangent, (origin, args, cotangent), config=config,
      subsets=subsets and _LinearSubsets(subsets))[0]


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
