# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""What `preset=best` chooses by the type of a task (docs/choosing.md)."""

from typing import Any, Dict, Sequence

from dear_jax.training import task_checks


def for_tasks(algorithms: Sequence[str]) -> Dict[str, Any]:
  """The settings that depend on what is asked.

  Args:
    algorithms: The tasks of a run, which share one processor.

  Returns:
    Settings by name, on top of those of the preset.
  """
  # pylint: disable=g-import-not-at-top
  import clrs
  from dear_jax.data import task_names
  from dear_jax.data import tasks
  from dear_jax.networks import specs
  found: Dict[str, Any] = {}
  for algorithm in algorithms:
    spec = tasks.spec_of(algorithm)
    if task_checks.has_edge_pointers(algorithm):
      # Every pair of nodes points to a third one: pairs need states. With
      # these, units of weights have not been tried, and every node at rest did
      # not help.
      return dict(processor='dear_edge', edge_pointers='triplet',
                  scalars='differences')
    if specs.has_graph(spec):
      # News travels far on large graphs, and the last nodes wait for it.
      found['test_criterion'] = 'node'
    number = (clrs.Stage.INPUT, clrs.Location.EDGE, clrs.Type.SCALAR)
    if algorithm not in task_names.EQUAL_EDGES and number in spec.values():
      # Which edges of a node are light is worth knowing where they differ.
      found['scalars'] = 'relative_units'
  return found
