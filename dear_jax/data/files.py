# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Files that are there as a whole or not at all."""

import contextlib
import os
from typing import Iterator


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[str]:
  """A path to write to, which takes the place of another once that is done.

  Args:
    path: The file to replace. Both have the same ending, which tells libraries
      what to write.

  Yields:
    The path to write to. Whatever goes wrong, it does not stay behind.
  """
  root, ending = os.path.splitext(os.fspath(path))
  temporary = f'{root}.tmp{ending}'
  try:
    yield temporary
    os.replace(temporary, path)
  finally:
    if os.path.exists(temporary):
      os.remove(temporary)
