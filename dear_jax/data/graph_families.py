# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Families of undirected graphs, drawn for a whole batch.

A family is a function of `streams.Draws` that gives edges [B, N, N], symmetric
and without loops. What it gives a sample depends on that sample alone, neither
on the rest of the batch nor, in a mixture, on the families of the others. Nodes
stand in no order: where a construction numbers them, they are renamed at
random, except in SALSA-CLRS' small worlds, which SALSA-CLRS does not rename.

Graphs are connected, except 'er', 'sparse_er', 'geometric' and, if rewiring
happens to cut it, 'small_world'. Every family has graphs of two nodes and more;
where there are too few nodes for a parameter, it is made smaller.
"""

import math
from typing import Callable, Dict

from dear_jax.data import algorithms
from dear_jax.data import graph_names
from dear_jax.data import kernels
from dear_jax.data import streams
from dear_jax.data import trees
import numpy as np

_Array = np.ndarray
_Draw = Callable[[streams.Draws], _Array]

# Of small worlds: neighbours in the ring, and the ends of the probability that
# an edge is rewired. These and the range of `sparse_er` are SALSA-CLRS'.
RING_NEIGHBOURS = (4, 6, 8)
_REWIRED = (0.05, 0.2)
# Edges that a new node comes with, in preferential attachment.
ATTACHED = (1, 2, 3)
# `sparse_er` and `geometric` have so many times the expected degree ln(n) at
# which graphs begin to be connected.
_DEGREE_RANGE = (1.0, 3.0)
# The greatest probability of an edge, which is less than 1 by the last bit of
# `Draws.booleans`: `sparse_families` draws with the logarithm of 1 - p.
ALMOST_SURE = 1 - 2.0**-32


def draw(draws: streams.Draws, family: str, er: _Draw,
         finish: Callable[[streams.Draws, _Array], _Array] = (
             lambda unused_draws, edges: edges)) -> _Array:
  """Draws the edges of a batch.

  Args:
    draws: Where random numbers come from.
    family: One of `graph_names.CHOICES`.
    er: Draws what 'er' means for the task in hand, directed or not.
    finish: What the task makes of the undirected edges of all other families,
      such as giving them directions.

  Returns:
    [B, N, N], a truth value for every pair of nodes.
  """
  if family == graph_names.ER:
    return er(draws)
  if family != graph_names.MIXED:
    return finish(draws, FAMILIES[family](draws))
  names = list(graph_names.MIXED_SHARES)
  ends = np.cumsum(list(graph_names.MIXED_SHARES.values()))
  # Sums are not exact: whatever is beyond the last end is of the last family.
  choice = np.searchsorted(ends[:-1], draws.single(), side='right')
  edges = np.empty((draws.batch_size, draws.size, draws.size), bool)
  for number, name in enumerate(names):
    rows = np.flatnonzero(choice == number)
    # Also of no samples, so that the next family has the same lanes always.
    some = draws.some(rows)
    if len(rows):
      edges[rows] = draw(some, name, er, finish)
  return edges


def random_directions(draws: streams.Draws, edges: _Array) -> _Array:
  """Gives edges one direction, the other or both, each with one third.

  Args:
    draws: Where random numbers come from.
    edges: [B, N, N], symmetric.

  Returns:
    [B, N, N], where an edge leads from the first node to the second.
  """
  uniforms = draws.uniforms(draws.size, draws.size)
  forwards = np.triu(uniforms < 2 / 3, 1)
  backwards = np.triu(uniforms >= 1 / 3, 1).transpose(0, 2, 1)
  return edges & (forwards | backwards)


def sparse_er(draws: streams.Draws) -> _Array:
  """Erdos-Renyi graphs with p from ln(n) / n to 3 ln(n) / n."""
  return _er(draws, sparse_probability(draws))


def salsa_er(draws: streams.Draws) -> _Array:
  """The same among connected graphs: drawn again, with their p, until so."""
  p = sparse_probability(draws)
  return _until_connected(draws, lambda some, rows: _er(some, p[rows]))


def tree(draws: streams.Draws) -> _Array:
  """All labelled trees alike, by their Pruefer codes."""
  edges = _no_edges(draws)
  ends = trees.ends(draws)
  graph = np.arange(len(edges))[:, None]
  edges[graph, ends[..., 0], ends[..., 1]] = True
  return edges | edges.transpose(0, 2, 1)


def path(draws: streams.Draws) -> _Array:
  """A path through all nodes."""
  return _rename(draws, np.eye(draws.size, k=1, dtype=bool))


def cycle(draws: streams.Draws) -> _Array:
  """A cycle through all nodes; of two nodes, their edge."""
  edges = np.eye(draws.size, k=1, dtype=bool)
  edges[0, -1] = True
  return _rename(draws, edges)


def grid(draws: streams.Draws) -> _Array:
  """A grid, as square as can be; its last row may not be full."""
  columns = math.isqrt(draws.size - 1) + 1  # the root, rounded up
  edges = np.eye(draws.size, k=columns, dtype=bool)
  node = np.arange(draws.size - 1)
  node = node[(node + 1) % columns > 0]
  edges[node, node + 1] = True
  return _rename(draws, edges)


def small_world(draws: streams.Draws) -> _Array:
  """Watts and Strogatz' graphs: rings with a few edges rewired."""
  return _rename(draws, _rings(draws))


def salsa_ws(draws: streams.Draws) -> _Array:
  """The same among connected graphs, with nodes in the order of their ring.

  As in networkx, everything but the parameters is drawn again until so.
  """
  k, p = ring_parameters(draws)
  return _until_connected(
      draws, lambda some, rows: _rings(some, k[rows], p[rows]))


def preferential(draws: streams.Draws) -> _Array:
  """Barabasi and Albert's graphs: new nodes prefer those with many edges.

  As in networkx, the first m + 1 nodes are a star.
  """
  size = draws.size
  m = attached(draws)
  edges = _no_edges(draws)
  _attach(m, draws.uniforms(size, max(ATTACHED)), np.empty(size, np.int64),
          edges)
  return _rename(draws, edges)


def geometric(draws: streams.Draws) -> _Array:
  """Points in a square, with an edge if they are near each other.

  The radius r is such that pi r^2 n, which is the expected degree far from the
  sides of the square, is from ln(n) to 3 ln(n).
  """
  degree = geometric_degree(draws)
  points = draws.uniforms(2, draws.size)
  squared = np.square(points[..., :, None] - points[..., None, :]).sum(axis=1)
  edges = squared < (degree / (math.pi * draws.size))[:, None, None]
  return edges & ~np.eye(draws.size, dtype=bool)


def delaunay(draws: streams.Draws) -> _Array:
  """The Delaunay triangulation of points in a square."""
  size = draws.size
  edges = _no_edges(draws)
  _triangulate(draws.uniforms(2, size), np.empty((size, size), bool),
               np.empty((8 * size, 2), np.int64), edges)
  return edges


FAMILIES: Dict[str, _Draw] = {
    'sparse_er': sparse_er, 'tree': tree, 'path': path, 'cycle': cycle,
    'grid': grid, 'small_world': small_world, 'preferential': preferential,
    'geometric': geometric, 'delaunay': delaunay, 'salsa_er': salsa_er,
    'salsa_ws': salsa_ws, 'salsa_delaunay': delaunay}


def _no_edges(draws: streams.Draws) -> _Array:
  return np.zeros((draws.batch_size, draws.size, draws.size), bool)


def _rename(draws: streams.Draws, edges: _Array) -> _Array:
  """Gives nodes random names.

  Args:
    draws: Where random numbers come from.
    edges: [B, N, N], or [N, N] for all samples, in either direction or both.

  Returns:
    [B, N, N], symmetric.
  """
  order = draws.uniforms(draws.size).argsort(axis=1, kind='stable')
  rows, columns = order[:, :, None], order[:, None, :]
  edges = edges | edges.swapaxes(-1, -2)
  if edges.ndim == 2:
    return edges[rows, columns]
  return edges[np.arange(len(edges))[:, None, None], rows, columns]


def _er(draws: streams.Draws, p: _Array) -> _Array:
  edges = np.triu(draws.booleans(p, draws.size, draws.size), 1)
  return edges | edges.transpose(0, 2, 1)


def attached(draws: streams.Draws) -> _Array:
  """[B], how many edges new nodes come with in preferential attachment."""
  m = np.array(ATTACHED)[draws.integers(len(ATTACHED))]
  return np.minimum(m, draws.size - 1)


def geometric_degree(draws: streams.Draws) -> _Array:
  """[B], expected degrees of geometric graphs, far from the sides."""
  low, high = _DEGREE_RANGE
  return (low + (high - low) * draws.single()) * math.log(draws.size)


def sparse_probability(draws: streams.Draws) -> _Array:
  """[B], the edge probabilities of `sparse_er`."""
  low, high = _DEGREE_RANGE
  threshold = math.log(draws.size) / draws.size
  p = (low + (high - low) * draws.single()) * threshold
  return np.minimum(p, ALMOST_SURE)


def ring_parameters(draws: streams.Draws):
  """Half the neighbours in the ring [B], and probabilities to rewire [B]."""
  half = np.array(RING_NEIGHBOURS)[draws.integers(len(RING_NEIGHBOURS))] // 2
  low, high = _REWIRED
  return (np.clip(half, 1, max(1, (draws.size - 1) // 2)),
          low + (high - low) * draws.single())


def _rings(draws: streams.Draws, *parameters: _Array) -> _Array:
  """Watts and Strogatz' graphs, with given parameters or drawn ones."""
  half, p = parameters or ring_parameters(draws)
  edges = _no_edges(draws)
  shape = max(RING_NEIGHBOURS) // 2, draws.size
  _rewire(half, p, draws.uniforms(*shape), draws.uniforms(*shape), edges)
  return edges


def _until_connected(
    draws: streams.Draws,
    make: Callable[[streams.Draws, _Array], _Array]) -> _Array:
  """Draws graphs anew that are not connected.

  Args:
    draws: Where random numbers come from.
    make: Draws the graphs of some samples, whose places in the batch it gets.

  Returns:
    Graphs that are.
  """
  edges = _no_edges(draws)
  missing = np.arange(draws.batch_size)
  # How often others were tried must not matter to what is drawn afterwards.
  tries = draws.some(missing)
  while len(missing):
    found = make(tries.some(missing), missing)
    edges[missing] = found
    depths = algorithms.bfs_depths(found, np.zeros(len(found), np.int64))
    missing = missing[(depths < 0).any(axis=1)]
  return edges


@kernels.kernel
def _rewire(half, p, whether, where, edges):
  """Makes rings and rewires them, edge by edge as networkx does.

  Args:
    half: [B], how many next nodes a node has an edge to.
    p: [B], the probability that an edge is rewired.
    whether: [B, K, N], uniforms that decide it.
    where: [B, K, N], uniforms that choose the new end.
    edges: [B, N, N], updated.
  """
  batch_size, nb_nodes = edges.shape[:2]
  for b in range(batch_size):
    for j in range(1, half[b] + 1):
      for u in range(nb_nodes):
        v = (u + j) % nb_nodes
        edges[b, u, v] = True
        edges[b, v, u] = True
    for j in range(1, half[b] + 1):
      for u in range(nb_nodes):
        if whether[b, j - 1, u] >= p[b]:
          continue
        free = nb_nodes - 1
        for w in range(nb_nodes):
          free -= edges[b, u, w]
        if free == 0:
          continue
        left = int(where[b, j - 1, u] * free)
        w = 0
        while w == u or edges[b, u, w] or left > 0:
          if w != u and not edges[b, u, w]:
            left -= 1
          w += 1
        v = (u + j) % nb_nodes
        edges[b, u, v] = False
        edges[b, v, u] = False
        edges[b, u, w] = True
        edges[b, w, u] = True


@kernels.kernel
def _attach(m, uniforms, degree, edges):
  """Adds nodes that choose m different ones each, by their degrees.

  Args:
    m: [B].
    uniforms: [B, N, at least m], for the choices.
    degree: [N], scratch.
    edges: [B, N, N], updated.
  """
  batch_size, nb_nodes = edges.shape[:2]
  for b in range(batch_size):
    degree[:] = 0
    for u in range(1, m[b] + 1):
      edges[b, 0, u] = True
      edges[b, u, 0] = True
      degree[u] = 1
    degree[0] = m[b]
    for u in range(m[b] + 1, nb_nodes):
      for j in range(m[b]):
        total = 0
        for v in range(u):
          if not edges[b, u, v]:
            total += degree[v]
        left = int(uniforms[b, u, j] * total)
        v = 0
        while edges[b, u, v] or left >= degree[v]:
          if not edges[b, u, v]:
            left -= degree[v]
          v += 1
        edges[b, u, v] = True
        edges[b, v, u] = True
      for v in range(u):
        degree[v] += edges[b, u, v]
      degree[u] = m[b]


@kernels.kernel
def _triangulate(points, done, stack, edges):
  """Delaunay triangulations, from edge to edge.

  The triangle to the left of an edge has the node that sees the edge at the
  widest angle, for the circle through the three then has no node inside.

  Args:
    points: [B, 2, N], no three of them on a line.
    done: [N, N], scratch: whether what is left of an edge is known.
    stack: [8 N, 2], scratch: edges whose left side may be unknown. A graph has
      less than 2 N triangles, and each adds two.
    edges: [B, N, N], updated.
  """
  batch_size, nb_nodes = edges.shape[:2]
  for b in range(batch_size):
    x, y = points[b, 0], points[b, 1]
    done[:] = False
    # A node and the one next to it have an edge.
    nearest = 1
    least = np.inf
    for v in range(1, nb_nodes):
      distance = (x[v] - x[0])**2 + (y[v] - y[0])**2
      if distance < least:
        least = distance
        nearest = v
    stack[0, 0] = 0
    stack[0, 1] = nearest
    stack[1, 0] = nearest
    stack[1, 1] = 0
    top = 2
    edges[b, 0, nearest] = True
    edges[b, nearest, 0] = True
    while top > 0:
      top -= 1
      u = stack[top, 0]
      v = stack[top, 1]
      if done[u, v]:
        continue
      done[u, v] = True
      third = -1
      least = np.inf
      for w in range(nb_nodes):
        ux, uy, vx, vy = x[u] - x[w], y[u] - y[w], x[v] - x[w], y[v] - y[w]
        cross = ux * vy - uy * vx
        if w == u or w == v or cross <= 0:
          continue
        cotangent = (ux * vx + uy * vy) / cross
        if cotangent < least:
          least = cotangent
          third = w
      if third < 0:
        continue  # nothing is left of it
      done[v, third] = True
      done[third, u] = True
      edges[b, v, third] = True
      edges[b, third, v] = True
      edges[b, u, third] = True
      edges[b, third, u] = True
      if top + 2 <= len(stack):  # always so, but for errors of rounding
        stack[top, 0] = third
        stack[top, 1] = v
        stack[top + 1, 0] = u
        stack[top + 1, 1] = third
        top += 2
