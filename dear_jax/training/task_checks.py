# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks of settings that have to look at what a task consists of.

They import CLRS, which takes seconds, where most checks import nothing.
"""

from typing import Sequence

from dear_jax.data import task_names
from dear_jax.networks import kinds

# pylint: disable=g-import-not-at-top


def check_graphs(algorithms: Sequence[str], layout: str, cgp: bool, kind: str
                 ) -> None:
  """Checks what only tasks with a graph can have."""
  from dear_jax.data import samplers
  for algorithm in algorithms:
    has_graph = samplers.has_graph(algorithm)
    if layout == 'sparse' and not (
        has_graph and kinds.takes_edge_lists(kind)):
      raise ValueError(
          'layout=sparse needs a task with a graph and a processor with '
          f'lists of edges, such as dear_pgn, not {algorithm} and '
          f'{kind}; layout=auto takes it where it can.')
    if cgp and not has_graph:
      raise ValueError(
          f'cgp is for tasks with a graph, and {algorithm} has none: its '
          'nodes are all connected already.')


def has_edge_pointers(algorithm: str) -> bool:
  """Whether pairs of nodes point to nodes, as in Floyd-Warshall's algorithm."""
  import clrs
  from dear_jax.data import tasks
  return (clrs.Stage.OUTPUT, clrs.Location.EDGE, clrs.Type.POINTER) in (
      tasks.spec_of(algorithm).values())


def check_pointers(algorithms: Sequence[str]) -> None:
  """Checks that pointers can be restricted."""
  from dear_jax.data import tasks
  from dear_jax.networks import pointers
  from dear_jax.networks import specs
  for algorithm in algorithms:
    spec = tasks.spec_of(algorithm)
    # Of a user's own task only its author knows where pointers lie.
    if not pointers.lie_on_edges(spec) and (
        algorithm not in task_names.registered or not specs.has_graph(spec)):
      raise ValueError(
          'restrict_pointers=true is for tasks with a graph whose pointers '
          f'always lie on edges, and those of {algorithm} do not; '
          'restrict_pointers=auto restricts where that is so.')
