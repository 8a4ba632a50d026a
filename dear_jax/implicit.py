# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Fixed points with gradients: a solver under `jax.custom_vjp`."""

import dataclasses
import functools
from typing import Any, Callable, Optional

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
                gradient: str = 'implicit') -> solvers.Solution:
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
  solvers.check_problem(fun, init, args)
  if gradient == 'unrolled':
    return solvers.solve_unrolled(fun, init, *args, config=forward)
  # `custom_vjp` sees no gradients of closed-over values; arguments it does.
  fun, closed_over = jax.closure_convert(fun, init, *args)
  return _fixed_point(fun, forward, backward, gradient, init,
                      (*args, *closed_over))


def check_gradient(gradient: str) -> None:
  """Raises a ValueError unless this is the name of a gradient mode."""
  if gradient not in GRADIENTS:
    raise ValueError(
        f'gradient must be one of {", ".join(GRADIENTS)}, got {gradient!r}.')


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1, 2, 3))
def _fixed_point(fun, forward, backward, gradient, init, args):
  del backward, gradient
  return solvers.solve(fun, init, *args, config=forward)


def _fixed_point_fwd(fun, forward, backward, gradient, init, args):
  del backward, gradient
  solution, origin = solvers.solve_with_origin(fun, init, *args,
                                               config=forward)
  return solution, (origin, args)


def _fixed_point_bwd(fun, forward, backward, gradient, residuals, cotangents):
  """Equation 3 of Bai et al. (2019): `u = J^T u + g`, then pull back `u`.

  The step is linearised where its last application was taken, so that what is
  differentiated is what gave the value. At a tolerance of 0.1 the value itself
  is already another place.
  """
  del forward
  origin, args = residuals
  cotangent = cotangents.value
  _, pull_back = jax.vjp(fun, origin, *args)
  if gradient == 'implicit':
    # Started from g, the first evaluation is already one Neumann term ahead.
    cotangent = solvers.solve(
        lambda u, g: jax.tree_util.tree_map(jnp.add, pull_back(u)[0], g),
        cotangent, cotangent, config=backward).value
  no_gradient = jax.tree_util.tree_map(jnp.zeros_like, origin)
  return no_gradient, pull_back(cotangent)[1:]


_fixed_point.defvjp(_fixed_point_fwd, _fixed_point_bwd)
