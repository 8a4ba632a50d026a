# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""What `preset=best` chooses by the type of a task (docs/choosing.md)."""

from typing import Any, Dict, Sequence


def for_tasks(algorithms: Sequence[str]) -> Dict[str, Any]:
  """The settings that depend on what is asked.

  Args:
    algorithms: The tasks of a run, which share one processor.

  Returns:
    Settings by name, on top of those of the preset.
  """
  # pylint: disable=g-import-not-at-top
  import clrs
  from dear_jax.data import tasks
  for algorithm in algorithms:
    for stage, location, type_ in tasks.spec_of(algorithm).values():
      if (stage, location, type_) == (
          clrs.Stage.OUTPUT, clrs.Location.EDGE, clrs.Type.POINTER):
        # Every pair of nodes points to a third one: pairs need states. Units
        # of weights have not been tried with these.
        return dict(processor='dear_edge', edge_pointers='triplet',
                    scalars='differences')
  return {}
