# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""The table of tasks that `dear_jax.register_task` has made known.

It does not need CLRS, so that settings can be checked without it.
"""

from typing import Iterable

from dear_jax.data import task_names

# What to say of a task that nobody knows.
REMEDY = ('A task of your own has to be registered first: by '
          'dear_jax.register_task, or in the commands by --import=FILE.')

REGISTERED = task_names.registered  # by name; all are like a `tasks.Task`


def check_lengths(names: Iterable[str]) -> None:
  """Raises a ValueError unless all tasks know their numbers of steps."""
  for name in names:
    if name in REGISTERED and not REGISTERED[name].has_length:
      raise ValueError(
          f'{name} was registered without length, the number of steps of its '
          'algorithm, which model=nar and align_to have to know.')
