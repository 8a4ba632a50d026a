# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""The gradients that a user chooses from, in terms of `fixed_point`.

'damped' is what trains, 'implicit' the theorem to the letter. For `fixed_point`
both are implicit; they differ in the system that is solved backwards.
"""

import dataclasses
import math
from typing import Any, Dict, Optional

from dear_jax.fixed_points import implicit
from dear_jax.fixed_points import solvers
from dear_jax.networks import damping

GRADIENTS = ('damped', *implicit.GRADIENTS)

DECAY = damping.DECAY
BOUND = damping.BOUND
MAX_ITER = damping.MAX_ITER


def check(gradient: str) -> None:
  """Raises a ValueError unless this is the name of a gradient."""
  if gradient not in GRADIENTS:
    raise ValueError(
        f'gradient must be one of {", ".join(GRADIENTS)}, got {gradient!r}.')


def backward_solver(gradient: str, forward: solvers.SolverConfig
                    ) -> solvers.SolverConfig:
  """The solver of the linear system, unless another one is asked for.

  Args:
    gradient: The name of the gradient.
    forward: The solver of the equilibrium.

  Returns:
    That of `dear_jax.fixed_point`. For the damped gradient it takes at most
    `MAX_ITER` steps.
  """
  limit = forward.max_iter if gradient == 'implicit' else MAX_ITER
  return dataclasses.replace(implicit.default_backward(forward),
                             max_iter=limit)


def options(gradient: str, forward: solvers.SolverConfig, *,
            backward: Optional[solvers.SolverConfig] = None,
            decay: Optional[float] = None,
            bound: Optional[float] = None) -> Dict[str, Any]:
  """What `fixed_point` is called with for a gradient.

  Args:
    gradient: The name of the gradient.
    forward: The solver of the equilibrium.
    backward: The solver of the linear system, or None for the usual one.
    decay: Of the damped gradient; None is `DECAY`.
    bound: Of the damped gradient; None is `BOUND`.

  Returns:
    The keyword arguments `backward`, `gradient`, `decay` and `bound`.

  Raises:
    ValueError: If the gradient is unknown, a number is out of range, or decay
      or bound are given to another gradient than the damped one.
  """
  check(gradient)
  if gradient != 'damped':
    for name, value in (('backward_decay', decay), ('backward_bound', bound)):
      if value is not None:
        raise ValueError(f"{name}={value} is a setting of gradient='damped'; "
                         f'gradient={gradient!r} has no such setting.')
    decay, bound = 1.0, math.inf
  else:
    decay = DECAY if decay is None else decay
    bound = BOUND if bound is None else bound
    gradient = 'implicit'
    backward = backward or backward_solver('damped', forward)
  implicit.check_gradient(gradient, decay, bound)
  return dict(backward=backward or backward_solver('implicit', forward),
              gradient=gradient, decay=decay, bound=bound)
