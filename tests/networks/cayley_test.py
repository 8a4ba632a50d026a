# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of Cayley graphs, against the group's definition."""

import itertools
import math

from dear_jax.networks import cayley
import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import linalg


def _adjacency(graph):
  size = len(graph.elements)
  adjacency = np.zeros((size, size))
  adjacency[np.arange(size)[:, None], graph.neighbours] = 1
  return adjacency


def _distances(graph):
  """Of all nodes from the first one."""
  distances = np.full(len(graph.elements), -1)
  front, distance = np.array([0]), 0
  while len(front):
    distances[front] = distance
    front = np.unique(graph.neighbours[front])
    front = front[distances[front] < 0]
    distance += 1
  return distances


@pytest.mark.parametrize('modulus', range(2, 14))
def test_order_by_counting(modulus):
  count = sum((a * d - b * c) % modulus == 1 % modulus
              for a, b, c, d in itertools.product(range(modulus), repeat=4))
  assert cayley.group_order(modulus) == count
  assert len(cayley.cayley_graph(modulus).elements) == count


@pytest.mark.parametrize('modulus', range(2, 14))
def test_it_is_the_cayley_graph_of_the_group(modulus):
  graph = cayley.cayley_graph(modulus)
  determinants = (graph.elements[:, 0, 0] * graph.elements[:, 1, 1]
                  - graph.elements[:, 0, 1] * graph.elements[:, 1, 0])
  assert (determinants % modulus == 1).all()
  assert len(np.unique(graph.elements.reshape(-1, 4), axis=0)) == len(
      graph.elements)
  degree = 2 if modulus == 2 else 4
  adjacency = _adjacency(graph)
  assert (adjacency.sum(axis=1) == degree).all()
  assert graph.neighbours.shape[1] == degree
  assert not adjacency.diagonal().any()
  np.testing.assert_array_equal(adjacency, adjacency.T)  # inverse-closed
  # A generator apart: x^-1 y has a single entry off the identity.
  for sender, receiver in ((0, 0), (len(graph.elements) // 2, degree - 1)):
    other = graph.elements[graph.neighbours[sender, receiver]]
    (a, b), (c, d) = graph.elements[sender]
    quotient = (np.array([[d, -b], [-c, a]]) @ other) % modulus
    assert sorted(quotient.ravel().tolist()) in (
        [0, 1, 1, 1], [0, 1, 1, modulus - 1])


@pytest.mark.parametrize('modulus', range(2, 14))
def test_nothing_is_far_away(modulus):
  graph = cayley.cayley_graph(modulus)
  distances = _distances(graph)
  assert distances.min() == 0  # connected
  assert (np.diff(distances) >= 0).all()  # in the order of the distance
  # The same from every node, as the graph looks the same from all of them.
  assert distances.max() <= 1.7 * math.log(len(distances))
  second, first = linalg.eigsh(
      sparse.csr_array(_adjacency(graph)), k=2, which='LA', v0=np.arange(
          1.0, 1 + len(distances)), return_eigenvectors=False)
  assert first == pytest.approx(graph.neighbours.shape[1])
  assert first - second > 0.3


def test_smallest_group_that_fits():
  orders = {n: cayley.group_order(n) for n in range(2, 60)}
  for size in (1, 2, 6, 7, 16, 24, 25, 64, 120, 121, 1024, 1100, 1200, 5000):
    expected = min((n for n in orders if orders[n] >= size),
                   key=lambda n: orders[n])
    assert orders[cayley.smallest_modulus(size)] == orders[expected]


def test_wrong_sizes():
  with pytest.raises(ValueError, match='modulus must be at least 2, got 1'):
    cayley.cayley_graph(1)
  with pytest.raises(ValueError, match='size must be at least 1, got 0'):
    cayley.smallest_modulus(0)
