# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""How many steps the algorithms of CLRS take, without running them.

Every function takes a batch of problems, under the names that they have in the
specs, and gives what CLRS has in `features.lengths` for each of them: the
number of its hints, the first state included, as a float. Graphs `A` are
[B, N, N] matrices whose zeros are no edges, sources `s` are [B], keys are
[B, N] and targets [B]; counts come back as [B].
"""

from dear_jax.data import algorithms
from dear_jax.data import kernels
import numpy as np

_Array = np.ndarray


def bfs(A: _Array, s: _Array) -> _Array:
  """One for every level, as the last round finds nothing new."""
  return 1.0 + algorithms.bfs_depths(A > 0, s).max(axis=1)


def dfs(A: _Array) -> _Array:
  """Three a node: it is found (or the search starts there), seen, finished."""
  return _same(A, 3 * A.shape[1])


def strongly_connected_components(A: _Array) -> _Array:
  """A depth-first search and a second one, in which CLRS forgets a hint.

  It does not reset the times of discovery, and so takes the nodes of the second
  pass for seen, except for those at which it starts: one a component.
  """
  nb_nodes = A.shape[1]
  representatives, _ = algorithms.strongly_connected_components(A)
  nb_components = (representatives == np.arange(nb_nodes)).sum(axis=1)
  return 5.0 * nb_nodes + nb_components


def bellman_ford(A: _Array, s: _Array) -> _Array:
  """One for every round, the last of which changes nothing."""
  return algorithms.bellman_ford_rounds(A, s).astype(np.float64)


def dag_shortest_paths(A: _Array, s: _Array) -> _Array:
  """Three for every reached node (found, finished, relaxed), and one before."""
  return 1.0 + 3 * _nb_reached(A, s)


def mst_prim(A: _Array, s: _Array) -> _Array:
  """One for every node that joins the tree, and one before."""
  return 1.0 + _nb_reached(A, s)


def floyd_warshall(A: _Array) -> _Array:
  """One a node; CLRS has no hint of the state after the last of them."""
  return _same(A, A.shape[1])


def minimum(key: _Array) -> _Array:
  """One a key."""
  return _same(key, key.shape[1])


def insertion_sort(key: _Array) -> _Array:
  """One a key, however far it moves."""
  return _same(key, key.shape[1])


def binary_search(target: _Array, key: _Array) -> _Array:
  """One for every halving, and one before."""
  counts = np.ones(len(key))
  _count_halvings(target, key, counts)
  return counts


def search(target: _Array, key: _Array) -> _Array:
  """Two: all keys are compared at once."""
  del target
  return _same(key, 2)


def _same(batch: _Array, count: int) -> _Array:
  return np.full(len(batch), count, np.float64)


def _nb_reached(A: _Array, s: _Array) -> _Array:
  """[B]: the nodes to which a path leads from the source, itself included."""
  return (algorithms.bfs_depths(A != 0, s) >= 0).sum(axis=1)


@kernels.kernel
def _count_halvings(target, key, counts):
  """Adds to `counts` [B]. Halves of odd intervals are not equally long."""
  batch_size, nb_nodes = key.shape
  for b in range(batch_size):
    low = 0
    high = nb_nodes - 1
    while low < high:
      middle = (low + high) // 2
      if target[b] <= key[b, middle]:
        high = middle
      else:
        low = middle + 1
      counts[b] += 1
