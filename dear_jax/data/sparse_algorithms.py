# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Classical algorithms on graphs without matrices, with CLRS' answers.

Where several answers are right, these give the one that CLRS settles for, as
`algorithms` does for matrices. Time and memory go with the edges.
"""

from typing import Any, Callable, Dict, Optional, Tuple

from dear_jax.data import kernels
from dear_jax.data import sparse_graphs
import numpy as np

_Array = np.ndarray
_Arrays = Dict[str, _Array]


def bfs(graph: sparse_graphs.SparseGraph, source: int) -> _Array:
  """[N], parents in breadth-first search; unreached nodes are their own.

  The parent is the lowest of the nodes that are one edge nearer to the source.

  Args:
    graph: The graph.
    source: Where to start.

  Returns:
    The parents.
  """
  return breadth_first(graph, source)[0]


def breadth_first(graph: sparse_graphs.SparseGraph, source: int
                  ) -> Tuple[_Array, _Array]:
  """Parents [N], and how many edges nodes are from the source, -1 if none."""
  starts, receivers, _ = graph.by_sender()
  parents = np.arange(graph.nb_nodes)
  depth = np.full(graph.nb_nodes, -1)
  _bfs(starts, receivers, source, parents, depth,
       np.empty(graph.nb_nodes, np.int64))
  return parents, depth


def dfs(graph: sparse_graphs.SparseGraph) -> _Array:
  """[N], parents in depth-first search, started at every node not yet seen."""
  starts, receivers, _ = graph.by_sender()
  parents = np.arange(graph.nb_nodes)
  _dfs(starts, receivers, parents, np.zeros(graph.nb_nodes, bool),
       starts[:-1].copy())
  return parents


def bellman_ford(graph: sparse_graphs.SparseGraph, source: int) -> _Array:
  """[N], parents on shortest paths from the source."""
  starts, receivers, weights = graph.by_sender()
  size = graph.nb_nodes
  parents = np.arange(size)
  _bellman_ford(starts, receivers, weights, source, parents, np.zeros(size),
                np.zeros(size), np.zeros(size, bool), np.zeros(size, bool))
  return parents


# The tasks that are solved here, and how.
_SOLVE: Dict[str, Callable[..., _Array]] = {
    'bfs': bfs, 'dfs': dfs, 'bellman_ford': bellman_ford}
TASKS = tuple(_SOLVE)


def solve(task: str, graph: sparse_graphs.SparseGraph,
          source: Optional[int] = None) -> _Arrays:
  """The outputs of a task of `TASKS`, by their names in CLRS."""
  args: Any = (graph,) if source is None else (graph, source)
  return {'pi': _SOLVE[task](*args)}


@kernels.kernel
def _bfs(starts, receivers, source, parents, depth, queue):
  depth[source] = 0
  queue[0] = source
  first = 0
  end = 1
  while first < end:
    u = queue[first]
    first += 1
    for k in range(starts[u], starts[u + 1]):
      v = receivers[k]
      if depth[v] < 0:
        depth[v] = depth[u] + 1
        parents[v] = u
        queue[end] = v
        end += 1
      elif depth[v] == depth[u] + 1 and u < parents[v]:
        # The queue is in the order of discovery, CLRS goes by numbers.
        parents[v] = u


@kernels.kernel
def _dfs(starts, receivers, parents, seen, cursor):
  for root in range(len(parents)):
    if seen[root]:
      continue
    seen[root] = True
    u = root
    while True:
      k = cursor[u]
      while k < starts[u + 1] and seen[receivers[k]]:
        k += 1
      cursor[u] = k
      if k < starts[u + 1]:
        v = receivers[k]
        seen[v] = True
        parents[v] = u
        u = v
        continue
      if u == root:
        break
      u = parents[u]


@kernels.kernel
def _bellman_ford(starts, receivers, weights, source, parents, distance,
                  before, reached, reached_before):
  reached[source] = True
  changed = True
  while changed:
    # All nodes at once: a round sees the distances of the round before.
    before[:] = distance
    reached_before[:] = reached
    changed = False
    for u in range(len(parents)):
      if not reached_before[u]:
        continue
      for k in range(starts[u], starts[u + 1]):
        v = receivers[k]
        length = before[u] + weights[k]
        if not reached[v] or length < distance[v]:
          distance[v] = length
          parents[v] = u
          reached[v] = True
          changed = True
