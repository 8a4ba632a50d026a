# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Prim's and Dijkstra's algorithms on graphs without matrices.

They are one: the nearest node of a queue is taken out and looks at its
neighbours. Only what counts as near differs.
"""

from dear_jax.data import kernels
from dear_jax.data import sparse_graphs
import numpy as np

_Array = np.ndarray

# Up to so many nodes, ties are settled by CLRS' own call of `np.argsort`, which
# sorts all nodes for each of them.
_SORT_UP_TO = 4096


def grow(graph: sparse_graphs.SparseGraph, source: int, adds_up: bool
         ) -> _Array:
  """Parents in the tree that grows from the source, nearest nodes first.

  Which of several nearest nodes CLRS takes is the whim of `np.argsort`. In
  graphs of more than some thousand nodes it is the lowest one here.

  Args:
    graph: The graph.
    source: Where to start.
    adds_up: Whether nodes are as near as their path from the source is short
      (Dijkstra), or as the edge to their parent is (Prim).

  Returns:
    [N], unreached nodes are their own.
  """
  starts, receivers, weights = graph.by_sender()
  size = graph.nb_nodes
  parents, key = np.arange(size), np.zeros(size)
  room = len(receivers) + 1
  is_tied = _grow(
      starts, receivers, weights, source, adds_up, parents, key,
      np.zeros(size, np.int8), np.empty(room), np.empty(room, np.int64))
  if is_tied and size <= _SORT_UP_TO:
    return _grow_sorting(starts, receivers, weights, source, adds_up)
  return parents


def _grow_sorting(starts: _Array, receivers: _Array, weights: _Array,
                  source: int, adds_up: bool) -> _Array:
  """As CLRS does it, with a sort of all nodes for each of them."""
  size = len(starts) - 1
  parents, key = np.arange(size), np.zeros(size)
  is_done, is_queued = np.zeros((2, size), bool)
  is_queued[source] = True
  for _ in range(size):
    u = np.argsort(key + np.where(is_queued, 0.0, 1e9))[0]
    if not is_queued[u]:
      break
    is_queued[u] = False
    is_done[u] = True
    part = slice(starts[u], starts[u + 1])
    nodes = receivers[part]
    near = weights[part] + key[u] if adds_up else weights[part]
    better = ~is_done[nodes] & (~is_queued[nodes] | (near < key[nodes]))
    parents[nodes[better]] = u
    key[nodes[better]] = near[better]
    is_queued[nodes[better]] = True
  return parents


@kernels.kernel
def _push(heap_keys, heap_nodes, count, key, node):
  """Puts a node into a binary heap that has `count` of them."""
  i = count
  while i > 0:
    above = (i - 1) // 2
    if heap_keys[above] < key or (
        heap_keys[above] == key and heap_nodes[above] <= node):
      break
    heap_keys[i] = heap_keys[above]
    heap_nodes[i] = heap_nodes[above]
    i = above
  heap_keys[i] = key
  heap_nodes[i] = node


@kernels.kernel
def _pop(heap_keys, heap_nodes, count):
  """Removes the first node of a heap that has `count` of them."""
  key = heap_keys[count - 1]
  node = heap_nodes[count - 1]
  i = 0
  while True:
    below = 2 * i + 1
    if below >= count - 1:
      break
    if below + 1 < count - 1 and (
        heap_keys[below + 1] < heap_keys[below]
        or (heap_keys[below + 1] == heap_keys[below]
            and heap_nodes[below + 1] < heap_nodes[below])):
      below += 1
    if key < heap_keys[below] or (
        key == heap_keys[below] and node <= heap_nodes[below]):
      break
    heap_keys[i] = heap_keys[below]
    heap_nodes[i] = heap_nodes[below]
    i = below
  heap_keys[i] = key
  heap_nodes[i] = node


@kernels.kernel
def _grow(starts, receivers, weights, source, adds_up, parents, key, status,
          heap_keys, heap_nodes):
  """Sets parents; whether nodes were equally near, so that one was chosen.

  Args:
    starts, receivers, weights: From `SparseGraph.by_sender`.
    source: Where to start.
    adds_up: As in `grow`.
    parents: [N], updated.
    key: [N], zeros: how near nodes are.
    status: [N], zeros: 1 for nodes in the queue, 2 for those that were.
    heap_keys: [E + 1], of the queue. An entry whose key is not that of its node
      any more, or whose node is done, is of no account.
    heap_nodes: [E + 1], of the queue.

  Returns:
    Whether there were ties.
  """
  is_tied = False
  status[source] = 1
  heap_keys[0] = 0.0
  heap_nodes[0] = source
  count = 1
  while count > 0:
    u = heap_nodes[0]
    is_news = status[u] == 1 and heap_keys[0] == key[u]
    _pop(heap_keys, heap_nodes, count)
    count -= 1
    if not is_news:
      continue
    status[u] = 2
    while count > 0 and (status[heap_nodes[0]] == 2
                         or heap_keys[0] != key[heap_nodes[0]]):
      _pop(heap_keys, heap_nodes, count)
      count -= 1
    if count > 0 and heap_keys[0] == key[u]:
      is_tied = True
    for k in range(starts[u], starts[u + 1]):
      v = receivers[k]
      near = weights[k] + key[u] if adds_up else weights[k]
      if status[v] == 0 or (status[v] == 1 and near < key[v]):
        parents[v] = u
        key[v] = near
        status[v] = 1
        _push(heap_keys, heap_nodes, count, near, v)
        count += 1
  return is_tied
