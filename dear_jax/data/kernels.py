# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""How loops are compiled for the host."""

from typing import Any, Callable

import numba


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
  """Compiles a function on its first use, for the types in hand.

  It is kept on disk for the next program, and holds no lock while it runs, so
  that a background thread can use it. A kernel should get all of its arrays
  from outside: one that only loops compiles in half a second, one that makes
  arrays may take four.
  """
  try:
    return numba.njit(nogil=True, cache=True)(function)
  except RuntimeError:  # no folder to keep it in can be written to
    return numba.njit(nogil=True)(function)
