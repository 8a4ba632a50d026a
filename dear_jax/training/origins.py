# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""What code and cores a run of a campaign has, noted when it is started."""

import json
import os
import pathlib
import platform
import subprocess
from typing import Any, List, Optional

from dear_jax.training import run_folder

NAME = 'started.json'

_CODE = ('dear_jax', 'experiments')


def note(workdir: run_folder.PathLike, commit: Optional[str],
         nb_cores: Optional[int] = None) -> None:
  """Notes in a run folder, which is made, that a run is begun or resumed.

  Args:
    workdir: The run folder.
    commit: That of the code.
    nb_cores: How many it runs on, by default those of this process. XLA divides
      sums among them, so that rounding depends on their number.
  """
  if nb_cores is None:
    nb_cores = (len(os.sched_getaffinity(0))
                if hasattr(os, 'sched_getaffinity') else os.cpu_count())
  os.makedirs(workdir, exist_ok=True)
  run_folder.write_json(workdir, NAME, [*read(workdir), {
      'commit': commit, 'python': platform.python_version(),
      'cores': nb_cores}])


def read(workdir: run_folder.PathLike) -> List[Any]:
  """What was noted so far, oldest first."""
  try:
    found = json.loads(
        (pathlib.Path(workdir) / NAME).read_text(encoding='utf-8'))
  except (OSError, ValueError):
    return []
  return [x for x in found if isinstance(x, dict)] if isinstance(
      found, list) else []


def commit() -> Optional[str]:
  """The commit of the code; None if it is not in a checkout of its own.

  It ends in '+' if the code has changed since.
  """
  root = pathlib.Path(__file__).resolve().parents[2]
  def git(*words):
    return subprocess.run(['git', '-C', str(root), *words], check=True,
                          capture_output=True, text=True).stdout.strip()
  try:
    if pathlib.Path(git('rev-parse', '--show-toplevel')).resolve() != root:
      return None
    changed = git('status', '--porcelain', '--', *_CODE)
    return git('rev-parse', '--short=12', 'HEAD') + ('+' if changed else '')
  except (OSError, subprocess.CalledProcessError):
    return None
