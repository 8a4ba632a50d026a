# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""CLRS' first step of hints of the tasks that are drawn and solved here.

No model of ours reads hints, but CLRS' own nets look at their shapes. What is
the same for all problems of a size is made once, and cannot be written to.
"""

import functools
from typing import Callable, Dict

import numpy as np

_Array = np.ndarray
_Arrays = Dict[str, _Array]


def one_hot(indices: _Array, nb_classes: int) -> _Array:
  """[B, nb_classes], with a one where the index says."""
  result = np.zeros((len(indices), nb_classes))
  result[np.arange(len(indices)), indices] = 1
  return result


def _rows(row: _Array, batch_size: int) -> _Array:
  """The same for every sample."""
  return np.broadcast_to(row, (batch_size,) + row.shape)


def with_loops(graph: _Array) -> _Array:
  """CLRS' adjacency: ones at edges and on the diagonal."""
  adjacency = (graph != 0).astype(np.float64)
  diagonal = np.arange(graph.shape[1])
  adjacency[:, diagonal, diagonal] = 1
  return adjacency


def _made_once(make: Callable[..., _Array]) -> Callable[..., _Array]:
  @functools.lru_cache(maxsize=256)
  def cached(batch_size, *args):
    result = _rows(make(*args), batch_size)
    result.flags.writeable = False
    return result
  return cached


@_made_once
def even_pos(nb_nodes: int) -> _Array:
  return np.arange(nb_nodes) * 1.0 / nb_nodes


@_made_once
def _zeros(*shape: int) -> _Array:
  return np.zeros(shape)


@_made_once
def _node(nb_nodes: int, index: int) -> _Array:
  """A mask of one node."""
  return one_hot(np.array([index]), nb_nodes)[0]


@_made_once
def _own_parents(nb_nodes: int) -> _Array:
  """Every node points to itself."""
  return np.arange(nb_nodes, dtype=np.float64)


@_made_once
def _line_of_nodes(nb_nodes: int) -> _Array:
  """Every node of an array points to the one before it."""
  return np.maximum(np.arange(nb_nodes, dtype=np.float64) - 1, 0)


@_made_once
def _unvisited(nb_nodes: int) -> _Array:
  """The colours of nodes: the first of three."""
  return one_hot(np.zeros(nb_nodes, int), 3)


@_made_once
def _own_rows(nb_nodes: int) -> _Array:
  """Every pair of nodes points to its first."""
  return np.arange(nb_nodes, dtype=np.float64)[:, None].repeat(nb_nodes, 1)


def depth_first(A: _Array) -> _Arrays:
  """What the tasks built on depth-first search have in common."""
  shape = A.shape[:2]
  first, zeros = _node(*shape, 0), _zeros(*shape)
  return {'pi_h': _own_parents(*shape), 's_prev': _own_parents(*shape),
          'color': _unvisited(*shape), 'd': zeros, 'f': zeros, 's': first,
          'u': first, 'v': first, 's_last': first, 'time': _zeros(len(A))}


def components(A: _Array) -> _Arrays:
  hints = depth_first(A)
  return {**hints, 'scc_id_h': hints['pi_h'],
          'A_t': with_loops(A).transpose(0, 2, 1), 'phase': hints['time']}


def bfs(A: _Array, s: _Array) -> _Arrays:
  return {'reach_h': one_hot(s, A.shape[1]),
          'pi_h': _own_parents(*A.shape[:2])}


def bellman_ford(A: _Array, s: _Array) -> _Arrays:
  shape = A.shape[:2]
  return {'pi_h': _own_parents(*shape), 'd': _zeros(*shape),
          'msk': one_hot(s, A.shape[1])}


def mst_prim(A: _Array, s: _Array) -> _Arrays:
  shape = A.shape[:2]
  source = one_hot(s, A.shape[1])
  return {'pi_h': _own_parents(*shape), 'key': _zeros(*shape),
          'mark': _zeros(*shape), 'in_queue': source, 'u': source}


def dag_shortest_paths(A: _Array, s: _Array) -> _Arrays:
  hints = depth_first(A)
  source = one_hot(s, A.shape[1])
  return {**hints, 'mark': hints['d'], 'topo_h': hints['pi_h'],
          'topo_head_h': hints['u'], 'u': source, 'v': source,
          's_last': source, 'phase': hints['time']}


def floyd_warshall(A: _Array) -> _Arrays:
  shape = A.shape[:2]
  return {'Pi_h': _own_rows(*shape), 'D': A, 'msk': with_loops(A),
          'k': _node(*shape, 0)}


def sort(key: _Array) -> _Arrays:
  first = _node(*key.shape, 0)
  return {'pred_h': _line_of_nodes(*key.shape), 'i': first, 'j': first}


def minimum(key: _Array) -> _Arrays:
  first = _node(*key.shape, 0)
  return {'pred_h': _line_of_nodes(*key.shape), 'min_h': first, 'i': first}


def binary_search(target: _Array, key: _Array) -> _Arrays:
  del target  # the first step looks at nothing
  last = key.shape[1] - 1
  return {'pred_h': _line_of_nodes(*key.shape), 'low': _node(*key.shape, 0),
          'high': _node(*key.shape, last),
          'mid': _node(*key.shape, last // 2)}


def search(target: _Array, key: _Array) -> _Arrays:
  del target
  return {'smaller_h': _zeros(*key.shape)}
