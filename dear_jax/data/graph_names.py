# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""The names of graph families, and the tasks that can be drawn on them.

`graph_families` draws them. Settings are checked without it, and so without
numba and CLRS; the tests compare both.
"""

from typing import Any

from dear_jax.data import task_names

# CLRS' own graphs, and so the paper's.
ER = 'er'
# Every sample draws its family.
MIXED = 'mixed'

# How likely a sample of 'mixed' is to be of a family: 35 % Erdos-Renyi, 33 %
# graphs of large diameter, 32 % in between.
MIXED_SHARES = {
    ER: 0.20, 'sparse_er': 0.15,
    'path': 0.10, 'tree': 0.10, 'cycle': 0.05, 'grid': 0.08,
    'small_world': 0.10, 'preferential': 0.08, 'geometric': 0.07,
    'delaunay': 0.07}

# The test distributions of SALSA-CLRS.
SALSA = ('salsa_er', 'salsa_ws', 'salsa_delaunay')

FAMILIES = (*MIXED_SHARES, *SALSA)
CHOICES = (*FAMILIES, MIXED)

# The tasks that have more than CLRS' graphs.
TASKS = ('bellman_ford', 'bfs', 'dag_shortest_paths', 'dfs', 'dijkstra',
         'floyd_warshall', 'mst_prim', 'strongly_connected_components',
         'strongly_connected_components_local')


def check_graphs(task: str, graphs: Any, what: str = 'graphs') -> None:
  """Raises a ValueError unless a task can be drawn on such graphs.

  Args:
    task: The name of the task.
    graphs: The name of a family, or 'mixed'.
    what: What to call it in an error message.
  """
  task_names.check_choice(what, graphs, CHOICES)
  if graphs != ER and task not in TASKS:
    raise ValueError(
        f'{what}={graphs} is not for {task}, whose samples are always drawn '
        f'as CLRS does ({what}={ER}); the tasks that have graphs to choose '
        f'from are {", ".join(TASKS)}.')
