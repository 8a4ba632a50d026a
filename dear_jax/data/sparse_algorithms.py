# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Classical algorithms on graphs without matrices, with CLRS' answers.

Where several answers are right, these give the one that CLRS settles for, as
`algorithms` does for matrices. Time and memory go with the edges.
"""

from typing import Any, Callable, Dict, Optional, Tuple

from dear_jax.data import kernels
from dear_jax.data import sparse_graphs
from dear_jax.data import sparse_queues
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
  return _depth_first(graph)[0]


def _depth_first(graph: sparse_graphs.SparseGraph) -> Tuple[_Array, _Array]:
  """Parents [N], and nodes in the order of their finish [N]."""
  starts, receivers, _ = graph.by_sender()
  parents = np.arange(graph.nb_nodes)
  order = np.empty_like(parents)
  _dfs(starts, receivers, np.arange(graph.nb_nodes), parents,
       np.zeros(graph.nb_nodes, bool), starts[:-1].copy(), order)
  return parents, order


def strongly_connected_components_local(graph: sparse_graphs.SparseGraph
                                        ) -> _Array:
  """[N], through which node Kosaraju's second pass reached every node."""
  _, order = _depth_first(graph)
  starts, receivers, _ = graph._replace(
      senders=graph.receivers, receivers=graph.senders).by_sender()
  parents = np.arange(graph.nb_nodes)
  _dfs(starts, receivers, order[::-1].copy(), parents,
       np.zeros(graph.nb_nodes, bool), starts[:-1].copy(), order)
  return parents


def bellman_ford(graph: sparse_graphs.SparseGraph, source: int) -> _Array:
  """[N], parents on shortest paths from the source."""
  starts, receivers, weights = graph.by_sender()
  size = graph.nb_nodes
  parents = np.arange(size)
  _bellman_ford(starts, receivers, weights, source, parents, np.zeros(size),
                np.zeros(size), np.zeros(size, bool), np.zeros(size, bool))
  return parents


def dag_shortest_paths(graph: sparse_graphs.SparseGraph, source: int) -> _Array:
  """[N], parents on shortest paths from the source, in topological order."""
  starts, receivers, weights = graph.by_sender()
  size = graph.nb_nodes
  parents, order = np.arange(size), np.empty(size, np.int64)
  nb_finished = _visit(starts, receivers, source, np.arange(size),
                       np.zeros(size, bool), starts[:-1].copy(), order, 0)
  _relax(starts, receivers, weights, order[:nb_finished][::-1].copy(), parents,
         np.zeros(size), np.zeros(size, bool))
  return parents


def mst_prim(graph: sparse_graphs.SparseGraph, source: int) -> _Array:
  """[N], parents in the minimum spanning tree that grows from the source."""
  return sparse_queues.grow(graph, source, adds_up=False)


def dijkstra(graph: sparse_graphs.SparseGraph, source: int) -> _Array:
  """[N], parents on shortest paths from the source, nearest nodes first."""
  return sparse_queues.grow(graph, source, adds_up=True)


# The tasks that are solved here, and how.
_SOLVE: Dict[str, Callable[..., _Array]] = {
    'bfs': bfs, 'dfs': dfs, 'bellman_ford': bellman_ford,
    'dag_shortest_paths': dag_shortest_paths, 'dijkstra': dijkstra,
    'mst_prim': mst_prim,
    'strongly_connected_components_local':
        strongly_connected_components_local}
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
def _visit(starts, receivers, root, parents, seen, cursor, order, nb_finished):
  """Searches depth-first from `root`, as the one of `algorithms`."""
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
    order[nb_finished] = u
    nb_finished += 1
    if u == root:
      return nb_finished
    u = parents[u]


@kernels.kernel
def _dfs(starts, receivers, roots, parents, seen, cursor, order):
  nb_finished = 0
  for root in roots:
    if not seen[root]:
      nb_finished = _visit(starts, receivers, root, parents, seen, cursor,
                           order, nb_finished)


@kernels.kernel
def _relax(starts, receivers, weights, order, parents, distance, reached):
  reached[order[0]] = True
  for u in order:
    for k in range(starts[u], starts[u + 1]):
      v = receivers[k]
      length = distance[u] + weights[k]
      if not reached[v] or length < distance[v]:
        distance[v] = length
        parents[v] = u
        reached[v] = True


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
