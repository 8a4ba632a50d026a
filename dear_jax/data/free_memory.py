# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""What fits into memory, so that what does not is refused beforehand.

Linux promises more memory than there is. A program that asks for too much is
not told so; it is ended, together with what it was asked for before.
"""

import os
import pathlib
from typing import Optional

_MEMINFO = pathlib.Path('/proc/meminfo')
_LIMIT = pathlib.Path('/sys/fs/cgroup/memory.max')
_USED = pathlib.Path('/sys/fs/cgroup/memory.current')
_USES = pathlib.Path('/sys/fs/cgroup/memory.stat')

# What is used for copies of files, which the system gives up when it has to.
_COPIES = ('active_file', 'inactive_file')


def available() -> Optional[int]:
  """How many bytes a program can still get; None where that is not known."""
  found = [x for x in (_of_machine(), _of_container()) if x is not None]
  return min(found) if found else None


def _of_machine() -> Optional[int]:
  try:
    for line in _MEMINFO.read_text(encoding='utf-8').splitlines():
      if line.startswith('MemAvailable:'):
        return int(line.split()[1]) * 1024
    return os.sysconf('SC_AVPHYS_PAGES') * os.sysconf('SC_PAGE_SIZE')
  except (OSError, ValueError, AttributeError):  # not Linux
    return None


def _of_container() -> Optional[int]:
  try:
    free = (int(_LIMIT.read_text(encoding='utf-8'))
            - int(_USED.read_text(encoding='utf-8')))
  except (OSError, ValueError):  # no container, or one without a limit
    return None
  try:
    uses = dict(line.split() for line in _USES.read_text(
        encoding='utf-8').splitlines())
    return free + sum(int(uses.get(name, 0)) for name in _COPIES)
  except (OSError, ValueError):
    return free


def check(what: str, nb_bytes: int, remedy: str) -> None:
  """Raises a ValueError if something does not fit.

  Args:
    what: What it is, such as 'a matrix of 9 x 9 pairs of nodes'.
    nb_bytes: The least that it takes.
    remedy: What to do instead.
  """
  free = available()
  if free is not None and nb_bytes > free:
    raise ValueError(
        f'{what} would take at least {nb_bytes:,} bytes '
        f'({nb_bytes / 2**30:.1f} GiB), and {free:,} bytes '
        f'({free / 2**30:.1f} GiB) are free: {remedy}.')
