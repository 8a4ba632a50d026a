# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""The families of graphs without matrices, one graph at a time.

Every family draws what it draws in `graph_families`, in the same order, so that
a sample is the same graph, drawn either way; its source is, too. Only
Erdos-Renyi graphs differ, for which a matrix has a random number for every pair
of nodes. Here the gaps between edges are drawn instead, from the same
distribution. Time and memory go with nodes and edges.
"""

import math
from typing import Callable, Dict, Optional, Tuple

from dear_jax.data import graph_families
from dear_jax.data import graph_names
from dear_jax.data import kernels
from dear_jax.data import sparse_algorithms
from dear_jax.data import sparse_graphs
from dear_jax.data import streams
from dear_jax.data import trees
import numpy as np

_Array = np.ndarray
# Both ends of every edge, which is there once.
_Edges = Tuple[_Array, _Array]

# CLRS' own graphs have up to 81 % of all pairs as edges.
FAMILIES = tuple(name for name in graph_names.CHOICES if name != graph_names.ER)

# The most neighbours of a node in a small world. Edges are rewired to nodes
# that are drawn uniformly: a node that gets fifty of them is never seen.
_MOST_NEIGHBOURS = 64


def draw(draws: streams.Draws, family: str,
         mean_degree: Optional[float] = None) -> sparse_graphs.SparseGraph:
  """Draws one graph.

  Args:
    draws: Where random numbers come from; of a batch of one.
    family: One of `FAMILIES`. In 'mixed', 'sparse_er' takes the place of 'er'.
    mean_degree: Of 'sparse_er', in place of its range.

  Returns:
    The graph, undirected.
  """
  if family == graph_names.MIXED:
    names = list(graph_names.MIXED_SHARES)
    ends = np.cumsum(list(graph_names.MIXED_SHARES.values()))
    choice = int(np.searchsorted(ends[:-1], draws.single(), side='right')[0])
    parts = [draws.some(np.arange(1)) for _ in names]
    name = names[choice]
    return draw(parts[choice],
                'sparse_er' if name == graph_names.ER else name)
  if mean_degree is not None:
    edges = _er(draws, min(mean_degree / max(1, draws.size - 1),
                           graph_families.ALMOST_SURE))
  else:
    edges = _DRAW[family](draws)
  return sparse_graphs.undirected(*edges, draws.size)


def _sparse_er(draws: streams.Draws) -> _Edges:
  return _er(draws, float(graph_families.sparse_probability(draws)[0]))


def _salsa_er(draws: streams.Draws) -> _Edges:
  p = float(graph_families.sparse_probability(draws)[0])
  return _until_connected(draws, lambda some: _er(some, p))


def _tree(draws: streams.Draws) -> _Edges:
  one, other = np.ascontiguousarray(trees.ends(draws)[0].T)
  return one, other


def _path(draws: streams.Draws) -> _Edges:
  nodes = np.arange(draws.size)
  return _rename(draws, nodes[:-1], nodes[1:])


def _cycle(draws: streams.Draws) -> _Edges:
  nodes = np.arange(draws.size)
  if draws.size == 2:
    return _rename(draws, nodes[:1], nodes[1:])
  return _rename(draws, nodes, np.roll(nodes, -1))


def _grid(draws: streams.Draws) -> _Edges:
  columns = math.isqrt(draws.size - 1) + 1
  nodes = np.arange(draws.size)
  above = nodes[:-columns] if columns < draws.size else nodes[:0]
  left = nodes[:-1][(nodes[:-1] + 1) % columns > 0]
  return _rename(draws, np.concatenate([above, left]),
                 np.concatenate([above + columns, left + 1]))


def _small_world(draws: streams.Draws) -> _Edges:
  edges = _ring(draws, *graph_families.ring_parameters(draws))
  return _rename(draws, *edges)


def _salsa_ws(draws: streams.Draws) -> _Edges:
  half, p = graph_families.ring_parameters(draws)
  return _until_connected(draws, lambda some: _ring(some, half, p))


def _preferential(draws: streams.Draws) -> _Edges:
  size = draws.size
  m = int(graph_families.attached(draws)[0])
  uniforms = draws.uniforms(size, max(graph_families.ATTACHED))[0]
  one, other = np.zeros((2, m + (size - m - 1) * m), np.int64)
  power = 1 << (size - 1).bit_length()
  _attach(m, size, uniforms, np.zeros(size, np.int64),
          np.zeros(power + 1, np.int64), one, other)
  return _rename(draws, one, other)


def _geometric(draws: streams.Draws) -> _Edges:
  from scipy import spatial  # pylint: disable=g-import-not-at-top
  degree = float(graph_families.geometric_degree(draws)[0])
  points = draws.uniforms(2, draws.size)[0]
  limit = degree / (math.pi * draws.size)
  # A little more, as the tree rounds otherwise; then by the same formula.
  pairs = spatial.cKDTree(points.T).query_pairs(
      math.sqrt(limit) * (1 + 1e-9), output_type='ndarray')
  one, other = pairs.T
  squared = np.square(points[:, one] - points[:, other]).sum(axis=0)
  return one[squared < limit], other[squared < limit]


def _delaunay(draws: streams.Draws) -> _Edges:
  from scipy import spatial  # pylint: disable=g-import-not-at-top
  points = draws.uniforms(2, draws.size)[0].T
  if draws.size == 2:
    return np.array([0]), np.array([1])
  triangles = spatial.Delaunay(points).simplices.astype(np.int64)
  pairs = np.sort(np.concatenate(
      [triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]))
  keys = np.unique(pairs[:, 0] * draws.size + pairs[:, 1])
  one, other = np.divmod(keys, draws.size)
  return one, other


_DRAW: Dict[str, Callable[[streams.Draws], _Edges]] = {
    'sparse_er': _sparse_er, 'tree': _tree, 'path': _path, 'cycle': _cycle,
    'grid': _grid, 'small_world': _small_world, 'preferential': _preferential,
    'geometric': _geometric, 'delaunay': _delaunay, 'salsa_er': _salsa_er,
    'salsa_ws': _salsa_ws, 'salsa_delaunay': _delaunay}


def _rename(draws: streams.Draws, one: _Array, other: _Array) -> _Edges:
  """Gives nodes random names, as `graph_families` does."""
  order = draws.uniforms(draws.size)[0].argsort(kind='stable')
  name = np.empty_like(order)
  name[order] = np.arange(draws.size)
  return name[one], name[other]


def _er(draws: streams.Draws, p: float) -> _Edges:
  """Erdos-Renyi graphs, from edge to edge (Batagelj and Brandes, 2005)."""
  size = draws.size
  nb_pairs = size * (size - 1) // 2
  mean = p * nb_pairs
  # Twelve standard deviations more: the last gap is beyond all pairs.
  count = min(nb_pairs, int(mean + 12 * math.sqrt(mean) + 64)) + 1
  uniforms = draws.uniforms(count)[0]
  gaps = np.floor(np.log1p(-uniforms) / math.log1p(-p))
  places = np.cumsum(np.minimum(gaps, nb_pairs).astype(np.int64) + 1) - 1
  places = places[places < nb_pairs]
  # Pair number i (i - 1) / 2 + j is that of nodes i > j.
  one = ((1 + np.sqrt(1 + 8 * places.astype(np.float64))) / 2).astype(np.int64)
  one -= one * (one - 1) // 2 > places
  one += one * (one + 1) // 2 <= places
  return one, places - one * (one - 1) // 2


def _ring(draws: streams.Draws, half: _Array, p: _Array) -> _Edges:
  """Watts and Strogatz' graphs."""
  size = draws.size
  shape = max(graph_families.RING_NEIGHBOURS) // 2, size
  whether, where = draws.uniforms(*shape)[0], draws.uniforms(*shape)[0]
  most = min(size, _MOST_NEIGHBOURS)
  neighbours = np.zeros((size, most), np.int64)
  degree = np.zeros(size, np.int64)
  if not _rewire(int(half[0]), float(p[0]), whether, where, neighbours, degree):
    raise ValueError(f'A node of a small world has more than {most} '
                     'neighbours.')
  one = np.repeat(np.arange(size), degree)
  other = neighbours[np.arange(most) < degree[:, None]]
  return one[one < other], other[one < other]


def _until_connected(draws: streams.Draws,
                     make: Callable[[streams.Draws], _Edges]) -> _Edges:
  """Draws graphs anew until one is connected."""
  only = np.arange(1)
  tries = draws.some(only)
  while True:
    edges = make(tries.some(only))
    graph = sparse_graphs.undirected(*edges, draws.size)
    if sparse_algorithms.breadth_first(graph, 0)[1].min() >= 0:
      return edges


@kernels.kernel
def _insert(neighbours, degree, u, v):
  """Adds a neighbour, in ascending order; false if there is no room."""
  if degree[u] == neighbours.shape[1]:
    return False
  k = degree[u]
  while k > 0 and neighbours[u, k - 1] > v:
    neighbours[u, k] = neighbours[u, k - 1]
    k -= 1
  neighbours[u, k] = v
  degree[u] += 1
  return True


@kernels.kernel
def _remove(neighbours, degree, u, v):
  k = 0
  while neighbours[u, k] != v:
    k += 1
  degree[u] -= 1
  for i in range(k, degree[u]):
    neighbours[u, i] = neighbours[u, i + 1]


@kernels.kernel
def _rewire(half, p, whether, where, neighbours, degree):
  """As that of `graph_families`, on sorted neighbours [N, most]."""
  nb_nodes = len(degree)
  for j in range(1, half + 1):
    for u in range(nb_nodes):
      v = (u + j) % nb_nodes
      # Rings of two and three nodes come to the same edge twice.
      known = False
      for i in range(degree[u]):
        known |= neighbours[u, i] == v
      if not known and not (_insert(neighbours, degree, u, v)
                            and _insert(neighbours, degree, v, u)):
        return False
  for j in range(1, half + 1):
    for u in range(nb_nodes):
      if whether[j - 1, u] >= p:
        continue
      free = nb_nodes - 1 - degree[u]
      if free == 0:
        continue
      w = int(where[j - 1, u] * free)
      passed = False  # u itself, which is not free either
      for i in range(degree[u]):
        if not passed and u < neighbours[u, i]:
          passed = True
          w += u <= w
        w += neighbours[u, i] <= w
      if not passed:
        w += u <= w
      v = (u + j) % nb_nodes
      _remove(neighbours, degree, u, v)
      _remove(neighbours, degree, v, u)
      if not (_insert(neighbours, degree, u, w)
              and _insert(neighbours, degree, w, u)):
        return False
  return True


@kernels.kernel
def _add(sums, node, value):
  """Adds to a number in a tree of partial sums (Fenwick, 1994)."""
  k = node + 1
  while k < len(sums):
    sums[k] += value
    k += k & -k


@kernels.kernel
def _attach(m, size, uniforms, degree, sums, one, other):
  """As that of `graph_families`, with the sums of degrees in a tree.

  Args:
    m: How many nodes a new one chooses.
    size: How many nodes there are.
    uniforms: [N, at least m], for the choices.
    degree: [N], zeros.
    sums: [P + 1] with a power of two P of at least N, zeros.
    one: [E], gets the new end of every edge.
    other: [E], gets the chosen one.
  """
  count = 0
  for u in range(1, m + 1):
    one[count] = u
    other[count] = 0
    count += 1
    degree[u] = 1
    _add(sums, u, 1)
  degree[0] = m
  _add(sums, 0, m)
  total = 2 * m
  for u in range(m + 1, size):
    left_in_all = total
    for j in range(m):
      left = int(uniforms[u, j] * left_in_all)
      v = 0
      span = (len(sums) - 1)
      while span > 0:
        if v + span < len(sums) and sums[v + span] <= left:
          v += span
          left -= sums[v]
        span //= 2
      one[count + j] = u
      other[count + j] = v
      # Whoever was chosen is not there for the next choice.
      _add(sums, v, -degree[v])
      left_in_all -= degree[v]
    for j in range(m):
      v = other[count + j]
      degree[v] += 1
      _add(sums, v, degree[v])
    degree[u] = m
    _add(sums, u, m)
    count += m
    total += 2 * m
