# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Cayley graphs of SL(2, Z_n): sparse graphs in which nothing is far away.

The paper passes messages on such a graph in turns with the input graph
(section on CGP; Deac et al., Expander Graph Propagation, 2022).
"""

import functools
from typing import NamedTuple

import numpy as np

# A group has more elements than this times n^3 (6 / pi^2 is the limit).
_LEAST_DENSITY = 0.6


class CayleyGraph(NamedTuple):
  """A Cayley graph; its nodes are ordered by their distance from the first."""
  modulus: int
  elements: np.ndarray  # [V, 2, 2], the matrices, the identity first
  neighbours: np.ndarray  # [V, D], where each generator leads


def group_order(modulus: int) -> int:
  """The number of 2 x 2 matrices over Z_n with determinant 1.

  >>> [group_order(n) for n in range(2, 9)]
  [6, 24, 48, 120, 144, 336, 384]

  Args:
    modulus: n, at least 2.

  Returns:
    n^3 times the product of (1 - p^-2) over the primes p that divide n.
  """
  _check_modulus(modulus)
  order, rest, factor = modulus**3, modulus, 2
  while rest > 1:
    if factor * factor > rest:
      factor = rest  # what is left is a prime
    if rest % factor == 0:
      order = order // factor**2 * (factor**2 - 1)
      while rest % factor == 0:
        rest //= factor
    factor += 1
  return order


def smallest_modulus(size: int) -> int:
  """The n of the smallest group that has a node for each of `size` nodes.

  Orders do not grow steadily: 12 has fewer matrices than 11.

  >>> smallest_modulus(64), smallest_modulus(1100)
  (5, 12)

  Args:
    size: Number of nodes that have to fit.

  Returns:
    n.
  """
  if size < 1:
    raise ValueError(f'size must be at least 1, got {size}.')
  best, modulus = None, 2
  while best is None or _LEAST_DENSITY * modulus**3 < group_order(best):
    if group_order(modulus) >= size and (
        best is None or group_order(modulus) < group_order(best)):
      best = modulus
    modulus += 1
  return best


@functools.lru_cache(maxsize=32)
def cayley_graph(modulus: int) -> CayleyGraph:
  """The Cayley graph of SL(2, Z_n) with its four elementary generators.

  >>> graph = cayley_graph(3)
  >>> graph.elements.shape, graph.neighbours.shape
  ((24, 2, 2), (24, 4))

  Args:
    modulus: n. With n = 2 a generator is its own inverse, so there are two.

  Returns:
    The graph. Every edge is there in both directions.
  """
  _check_modulus(modulus)
  generators = np.unique(np.array([
      [[1, 1], [0, 1]], [[1, -1], [0, 1]], [[1, 0], [1, 1]],
      [[1, 0], [-1, 1]]]) % modulus, axis=0)
  digits = modulus ** np.arange(3, -1, -1)
  code = lambda matrices: matrices.reshape(*matrices.shape[:-2], 4) @ digits
  times = lambda matrices: (  # every matrix with every generator
      np.einsum('vij,gjk->vgik', matrices, generators) % modulus)

  layers = [np.eye(2, dtype=np.int64)[None]]
  seen = code(layers[0])
  while len(layers[-1]):
    reached = times(layers[-1]).reshape(-1, 2, 2)
    codes, first = np.unique(code(reached), return_index=True)
    is_new = ~np.isin(codes, seen)
    seen = np.concatenate([seen, codes[is_new]])
    layers.append(reached[first[is_new]])
  elements = np.concatenate(layers)
  assert len(elements) == group_order(modulus)

  codes = code(elements)
  by_code = np.argsort(codes)
  neighbours = by_code[np.searchsorted(codes, code(times(elements)),
                                       sorter=by_code)]
  for array in (elements, neighbours):
    array.setflags(write=False)  # it is shared by all who ask for it
  return CayleyGraph(modulus, elements, neighbours)


def _check_modulus(modulus: int) -> None:
  if modulus < 2:
    raise ValueError(f'modulus must be at least 2, got {modulus}.')
