# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""What the paper's algorithms put out, for whole batches and without hints.

Every function takes a batch of inputs and gives what the function of the same
name in `clrs` gives for each of them, bit for bit: ties are broken as CLRS
breaks them, which is why the loops follow its order of nodes where the order
matters. `bfs_depths` and `bellman_ford_rounds` give what else such a loop finds
out. Graphs are [B, N, N] matrices whose zeros are no edges, sources are [B];
pointers come back as [B, N].
"""

import math
from typing import Tuple

from dear_jax.data import kernels
import numpy as np

_Array = np.ndarray


def bfs(graph: _Array, source: _Array) -> _Array:
  """Parents in breadth-first search; unreached nodes are their own."""
  parents, _ = _breadth_first(graph > 0, source)
  return parents


def bfs_depths(edges: _Array, source: _Array) -> _Array:
  """[B, N]: how many edges nodes are from the source; -1 if unreached."""
  _, depth = _breadth_first(edges, source)
  return depth


def dfs(graph: _Array) -> _Array:
  """Parents in depth-first search, started at every node not yet seen."""
  parents = _own_parents(graph)
  _dfs(graph != 0, parents, *_scratch(graph))
  return parents


def strongly_connected_components(graph: _Array) -> Tuple[_Array, _Array]:
  """Kosaraju's algorithm.

  Args:
    graph: The graphs.

  Returns:
    For every node the representative of its component (CLRS' output), and the
    node through which the second pass, on the transposed graph, reached it.
    The representative was reached through none and is its own.
  """
  edges = graph != 0
  seen, cursor, order = _scratch(graph)
  _dfs(edges, _own_parents(graph), seen, cursor, order)
  representatives, parents = _own_parents(graph), _own_parents(graph)
  seen[:] = False
  cursor[:] = 0
  _second_pass(np.ascontiguousarray(edges.transpose(0, 2, 1)), order,
               representatives, parents, seen, cursor, np.empty_like(order))
  return representatives, parents


def bellman_ford(graph: _Array, source: _Array) -> _Array:
  """Parents on shortest paths from the source."""
  parents, _ = _shortest_paths(graph, source)
  return parents


def bellman_ford_rounds(graph: _Array, source: _Array) -> _Array:
  """[B]: the rounds until distances stay as they are, the last included."""
  _, rounds = _shortest_paths(graph, source)
  return rounds


def dag_shortest_paths(graph: _Array, source: _Array) -> _Array:
  """Parents on shortest paths from the source, in topological order."""
  parents = _own_parents(graph)
  seen, cursor, order = _scratch(graph)
  _dag_shortest_paths(
      np.asarray(graph, np.float64), graph != 0, source, parents,
      _own_parents(graph), seen, cursor, order, np.zeros(parents.shape),
      np.zeros_like(seen))
  return parents


def floyd_warshall(graph: _Array) -> _Array:
  """[B, N, N]: the last node before j on a shortest path from i."""
  nb_nodes = graph.shape[1]
  distance = np.array(graph, np.float64)  # a copy, which is overwritten
  reached = (graph != 0) | np.eye(nb_nodes, dtype=bool)
  last = np.empty(graph.shape)  # CLRS keeps these pointers in floats
  last[:] = np.arange(nb_nodes)[:, None]
  _floyd_warshall(distance, reached, last, np.empty(nb_nodes),
                  np.empty(nb_nodes))
  return last


def mst_prim(graph: _Array, source: _Array) -> _Array:
  """Parents in the minimum spanning tree that grows from the source."""
  graph = np.asarray(graph, np.float64)
  parents = _own_parents(graph)
  tied = np.zeros(len(graph), bool)
  _mst_prim(graph, source, parents, tied, np.zeros(parents.shape, bool),
            np.full(parents.shape, np.inf))
  for b in np.flatnonzero(tied):
    parents[b] = _mst_prim_with_ties(graph[b], source[b])
  return parents


def minimum(keys: _Array) -> _Array:
  """[B]: the position of the first smallest key."""
  return keys.argmin(axis=1)


def insertion_sort(keys: _Array) -> _Array:
  """The node before every node in sorted order; the first is its own."""
  order = keys.argsort(axis=1, kind='stable')
  previous = np.concatenate([order[:, :1], order[:, :-1]], axis=1)
  parents = np.empty_like(order)
  np.put_along_axis(parents, order, previous, axis=1)
  return parents


def binary_search(target: _Array, keys: _Array) -> _Array:
  """[B]: where to insert the target into sorted keys, but inside the array."""
  smaller = (keys < target[:, None]).sum(axis=1)
  return np.minimum(smaller, keys.shape[1] - 1)


def symmetric_weights(edges: _Array, uniforms: _Array) -> _Array:
  """[B, N, N]: CLRS' weights of undirected edges.

  Args:
    edges: [B, N, N], symmetric.
    uniforms: [B, N, N], two numbers for every edge.

  Returns:
    The root of their product at edges; an epsilon keeps it from being zero.
  """
  graph = np.zeros(edges.shape)
  _symmetric_weights(edges, uniforms, graph)
  return graph


def _own_parents(graph: _Array) -> _Array:
  """[B, N]: every node its own parent."""
  parents = np.empty(graph.shape[:2], np.int64)
  parents[:] = np.arange(graph.shape[1])
  return parents


def _scratch(graph: _Array) -> Tuple[_Array, _Array, _Array]:
  """For a depth-first search: what is seen, cursors, the order of finish."""
  shape = graph.shape[:2]
  return np.zeros(shape, bool), np.zeros(shape, np.int64), np.empty(
      shape, np.int64)


def _breadth_first(edges: _Array, source: _Array) -> Tuple[_Array, _Array]:
  """Parents and depths [B, N]."""
  parents = _own_parents(edges)
  depth = np.full_like(parents, -1)
  _bfs(edges, source, parents, depth)
  return parents, depth


def _shortest_paths(graph: _Array, source: _Array) -> Tuple[_Array, _Array]:
  """Parents [B, N] and the rounds [B] of Bellman-Ford."""
  parents = _own_parents(graph)
  distance = np.zeros(parents.shape)
  reached = np.zeros(parents.shape, bool)
  rounds = np.zeros(len(graph), np.int64)
  _bellman_ford(np.asarray(graph, np.float64), source, parents, rounds,
                distance, distance.copy(), reached, reached.copy())
  return parents, rounds


@kernels.kernel
def _symmetric_weights(edges, uniforms, graph):
  batch_size, nb_nodes = edges.shape[:2]
  for b in range(batch_size):
    for i in range(nb_nodes):
      for j in range(i + 1):
        if edges[b, i, j]:
          weight = math.sqrt(uniforms[b, i, j] * uniforms[b, j, i] + 1e-3)
          graph[b, i, j] = weight
          graph[b, j, i] = weight


@kernels.kernel
def _bfs(edges, source, parents, depth):
  batch_size, nb_nodes = parents.shape
  for b in range(batch_size):
    depth[b, source[b]] = 0
    level = 0
    grown = True
    # Every level in order of its nodes, so that the first of them wins.
    while grown:
      grown = False
      for u in range(nb_nodes):
        if depth[b, u] != level:
          continue
        for v in range(nb_nodes):
          if edges[b, u, v] and depth[b, v] < 0:
            depth[b, v] = level + 1
            parents[b, v] = u
            grown = True
      level += 1


@kernels.kernel
def _visit(edges, b, root, parents, seen, cursor, order, nb_finished):
  """Searches depth-first from `root`, among the nodes not yet seen.

  Args:
    edges: [B, N, N].
    b: Which of the graphs.
    root: Where to start.
    parents: [B, N], updated.
    seen: [B, N], updated.
    cursor: [B, N], the next neighbour to look at; zero for nodes not seen.
    order: [B, N], gets the visited nodes in the order of their finish.
    nb_finished: How many of them there are already.

  Returns:
    How many there are now.
  """
  nb_nodes = edges.shape[1]
  seen[b, root] = True
  u = root
  while True:
    v = cursor[b, u]
    while v < nb_nodes and (seen[b, v] or not edges[b, u, v]):
      v += 1
    cursor[b, u] = v
    if v < nb_nodes:
      seen[b, v] = True
      parents[b, v] = u
      u = v
      continue
    order[b, nb_finished] = u
    nb_finished += 1
    if u == root:
      return nb_finished
    u = parents[b, u]


@kernels.kernel
def _dfs(edges, parents, seen, cursor, order):
  batch_size, nb_nodes = parents.shape
  for b in range(batch_size):
    nb_finished = 0
    for root in range(nb_nodes):
      if not seen[b, root]:
        nb_finished = _visit(
            edges, b, root, parents, seen, cursor, order, nb_finished)


@kernels.kernel
def _second_pass(transposed, first_order, representatives, parents, seen,
                 cursor, order):
  batch_size, nb_nodes = parents.shape
  for b in range(batch_size):
    nb_finished = 0
    for i in range(nb_nodes - 1, -1, -1):
      root = first_order[b, i]
      if seen[b, root]:
        continue
      start = nb_finished
      nb_finished = _visit(
          transposed, b, root, parents, seen, cursor, order, nb_finished)
      for j in range(start, nb_finished):
        representatives[b, order[b, j]] = root


@kernels.kernel
def _bellman_ford(graph, source, parents, rounds, distance, before, reached,
                  reached_before):
  batch_size, nb_nodes = parents.shape
  for b in range(batch_size):
    reached[b, source[b]] = True
    changed = True
    while changed:
      rounds[b] += 1
      # All nodes at once: a round sees the distances of the round before.
      for v in range(nb_nodes):
        before[b, v] = distance[b, v]
        reached_before[b, v] = reached[b, v]
      for u in range(nb_nodes):
        if not reached_before[b, u]:
          continue
        for v in range(nb_nodes):
          if graph[b, u, v] == 0:
            continue
          length = before[b, u] + graph[b, u, v]
          if not reached[b, v] or length < distance[b, v]:
            distance[b, v] = length
            parents[b, v] = u
            reached[b, v] = True
      changed = False
      for v in range(nb_nodes):
        changed |= distance[b, v] != before[b, v]


@kernels.kernel
def _dag_shortest_paths(graph, edges, source, parents, visit_parents, seen,
                        cursor, order, distance, reached):
  batch_size, nb_nodes = parents.shape
  for b in range(batch_size):
    nb_finished = _visit(
        edges, b, source[b], visit_parents, seen, cursor, order, 0)
    reached[b, source[b]] = True
    # The last node of the order has nowhere to go, and CLRS does not ask it.
    for i in range(nb_finished - 1, 0, -1):
      u = order[b, i]
      for v in range(nb_nodes):
        if graph[b, u, v] == 0:
          continue
        length = distance[b, u] + graph[b, u, v]
        if not reached[b, v] or length < distance[b, v]:
          distance[b, v] = length
          parents[b, v] = u
          reached[b, v] = True


@kernels.kernel
def _floyd_warshall(distance, reached, last, to_k, from_k):
  batch_size, nb_nodes = distance.shape[:2]
  for b in range(batch_size):
    for k in range(nb_nodes):
      for i in range(nb_nodes):
        to_k[i] = distance[b, i, k]
        from_k[i] = distance[b, k, i]
      for i in range(nb_nodes):
        if not reached[b, i, k]:
          continue
        for j in range(nb_nodes):
          if not reached[b, k, j]:
            continue
          length = to_k[i] + from_k[j]
          if not reached[b, i, j] or length < distance[b, i, j]:
            distance[b, i, j] = length
            last[b, i, j] = last[b, k, j]
            reached[b, i, j] = True


@kernels.kernel
def _mst_prim(graph, source, parents, tied, done, key):
  """Sets parents, and whether nodes were equally near so that one was chosen.

  Args:
    graph: [B, N, N].
    source: [B].
    parents: [B, N], updated.
    tied: [B], updated.
    done: [B, N], false.
    key: [B, N], infinite: the distances to the tree of nodes not done.
  """
  batch_size, nb_nodes = parents.shape
  for b in range(batch_size):
    u = source[b]
    while u >= 0:
      done[b, u] = True
      nearest = -1
      least = np.inf
      equal = False
      for v in range(nb_nodes):
        if done[b, v]:
          continue
        weight = graph[b, u, v]
        if weight != 0 and weight < key[b, v]:
          parents[b, v] = u
          key[b, v] = weight
        if key[b, v] < least:
          least = key[b, v]
          nearest = v
          equal = False
        elif key[b, v] == least and nearest >= 0:
          equal = True
      tied[b] |= equal
      u = nearest


def _mst_prim_with_ties(graph: _Array, source: int) -> _Array:
  """Prim's algorithm for one graph in which weights are equal.

  Which of several nearest nodes CLRS takes is the whim of `np.argsort`, whose
  sort is not stable and differs between processors; so we ask it as well.
  Random weights are never equal, so that this can be slow.
  """
  nb_nodes = len(graph)
  parents = np.arange(nb_nodes)
  done = np.zeros(nb_nodes, bool)
  queued = np.zeros(nb_nodes, bool)
  queued[source] = True
  key = np.zeros(nb_nodes)
  for _ in range(nb_nodes):
    u = np.argsort(key + np.where(queued, 0.0, 1e9))[0]
    if not queued[u]:
      break
    queued[u] = False
    done[u] = True
    better = (graph[u] != 0) & ~done & (~queued | (graph[u] < key))
    parents[better] = u
    key[better] = graph[u, better]
    queued |= better
  return parents
