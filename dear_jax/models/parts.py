# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Solves in parts, between which one can look at them or interrupt them.

A compiled program cannot be interrupted, and says nothing while it runs. So a
reasoner calls the same program again and again, each time for some iterations
more; the state of the solver is what goes in and comes out. As it is one and
the same program, the parts make up the very same solve, bit for bit.
"""

import time
from typing import Any, Callable, Optional, Tuple

import jax
import numpy as np

# What a part of a solve may take, in seconds; and for the first part, of which
# no time is known yet, what a processor does in a second. However small they
# are, iterations take a while.
_SECONDS = 0.7
_OPERATIONS = 3e10
_ITERATIONS = 1000

# Called with the iterations so far, the most there may be, and the residual.
Watch = Callable[[int, int, float], None]


def run(call: Callable[[Any, Any], Tuple[Any, Any]], blank: Any, *,
        limit: int, operations: float, watch: Optional[Watch] = None,
        residual_of: Callable[[Any], Any] = lambda state: state.best.residual
        ) -> Any:
  """Runs a solve to its end.

  Args:
    call: Maps a state of `solvers.solve_up_to`, and after how many evaluations
      to pause, to whatever it says and to the next state.
    blank: The state at the start.
    limit: The most evaluations.
    operations: About how many operations an evaluation takes.
    watch: Is told after every part how far it is.
    residual_of: Where a state has the residuals of instances.

  Returns:
    What the last call said.
  """
  count = int(np.clip(_OPERATIONS / operations, 1, _ITERATIONS))
  state, step = blank, 0
  while True:
    began = time.perf_counter()
    said, state = call(state, np.int32(min(limit, step + count)))
    step, settled, residual = jax.device_get(
        (state.step, state.settled, residual_of(state)))
    if watch is not None:
      watch(int(step), limit, float(residual.max()))
    if settled.all() or step >= limit:
      return said
    took = time.perf_counter() - began
    count = int(np.clip(count * _SECONDS / took, 1, 4 * count))
