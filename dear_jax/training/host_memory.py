# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Memory of the host, for programs that compute on the CPU."""

import ctypes
import os
import sys

# From glibc's malloc.h.
_M_TRIM_THRESHOLD = -1
_M_MMAP_MAX = -4
_NEVER = 2**31 - 1


def keep_freed_memory() -> bool:
  """Makes the C library keep the memory that is freed, for the next request.

  A compiled program asks for tens of megabytes of scratch space every time it
  runs. By default glibc gets memory of that size from the system and gives it
  back, so that the system clears every page again; this takes a third of the
  time of a training step on a CPU. The process then holds on to the most
  memory that it ever used.

  Leaves the C library alone where it is not glibc, or where the user has set
  one of its MALLOC_ variables.

  Returns:
    Whether it was done.
  """
  if not sys.platform.startswith('linux') or any(
      name.startswith('MALLOC_') for name in os.environ):
    return False
  try:
    mallopt = ctypes.CDLL(None).mallopt
  except (OSError, AttributeError):  # another C library
    return False
  return bool(mallopt(_M_MMAP_MAX, 0) and mallopt(_M_TRIM_THRESHOLD, _NEVER))
