# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Becomes another command, on some cores and with the priority it should have.

A campaign starts this file by its path as a child process, with the settings
of the process and then the command. Done before the command begins, all its
threads inherit it; XLA makes as many threads as there are cores to run on.
"""

import ctypes
import json
import os
import signal
import sys
from typing import List, Optional, Sequence

_PR_SET_PDEATHSIG = 1  # of Linux


def wrap(command: Sequence[str], *, cores: Optional[Sequence[int]] = None,
         nice: int = 0) -> List[str]:
  """The command line that runs a command as it should be run.

  Args:
    command: What to run; its first word is a path.
    cores: To run on; None for all.
    nice: How much to lower the priority.

  Returns:
    The words of the command line.
  """
  about = dict(cores=cores, nice=nice, parent=os.getpid())
  return [sys.executable, os.path.abspath(__file__), json.dumps(about),
          *command]


def main(argv: Sequence[str]) -> None:
  about, command = json.loads(argv[1]), list(argv[2:])
  if about['nice']:
    os.nice(about['nice'])
  if about['cores'] and hasattr(os, 'sched_setaffinity'):
    os.sched_setaffinity(0, about['cores'])
  if sys.platform == 'linux':
    # If the campaign is killed, its runs save and stop.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != about['parent']:
      sys.exit(1)  # it was, in this very instant
  os.execv(command[0], command)


if __name__ == '__main__':
  main(sys.argv)
