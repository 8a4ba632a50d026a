# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of weights in units of their graphs."""

from dear_jax.data import own_units
from dear_jax.data import sparse_graphs
import numpy as np
import pytest


def _graphs(directed, seed=0):
  rng = np.random.default_rng(seed)
  adj = (rng.random((4, 7, 7)) < [[[0.1]], [[0.3]], [[0.6]], [[1.0]]]) * 1.0
  weights = rng.random((4, 7, 7))
  if not directed:
    adj, weights = (np.maximum(x, x.swapaxes(1, 2)) for x in (adj, weights))
  return weights * adj, adj


@pytest.mark.parametrize('directed', [False, True])
def test_the_unit_is_the_mean_of_the_lightest_edges(directed):
  weights, adj = _graphs(directed)
  found = own_units.of_matrices(weights, adj)
  for b in range(4):
    lightest = []
    for j in range(7):
      into = [weights[b, i, j] for i in range(7) if i != j and adj[b, i, j]]
      if into:
        lightest.append(min(into))
    ratio = weights[b] / np.mean(lightest)
    np.testing.assert_allclose(found[b], 33 * ratio / (32 + ratio), rtol=1e-6)
    np.testing.assert_array_equal(np.argsort(found[b], axis=None),
                                  np.argsort(weights[b], axis=None))


@pytest.mark.parametrize('factor', [1e-3, 60.0])
def test_it_does_not_matter_what_weights_are_measured_in(factor):
  weights, adj = _graphs(directed=True)
  np.testing.assert_allclose(own_units.of_matrices(factor * weights, adj),
                             own_units.of_matrices(weights, adj), rtol=1e-9)


def test_what_weighs_the_same_stays_bit_for_bit():
  _, adj = _graphs(directed=False)
  adj = adj.astype(np.float32)
  found = own_units.of_matrices(adj, adj)
  assert found.dtype == np.float32
  np.testing.assert_array_equal(found, adj)
  np.testing.assert_array_equal(own_units.of_matrices(5 * adj, adj), adj)


def test_a_graph_without_a_matrix_is_the_same():
  weights, adj = _graphs(directed=True)
  for of_one, expected in zip(weights, own_units.of_matrices(weights, adj)):
    senders, receivers = np.nonzero(of_one)
    graph = own_units.of_graph(sparse_graphs.SparseGraph(
        senders, receivers, of_one[senders, receivers], 7))
    np.testing.assert_allclose(graph.matrix(), expected, rtol=1e-12)


def test_graphs_without_edges_or_weight():
  nothing = np.zeros((1, 3, 3))
  np.testing.assert_array_equal(own_units.of_matrices(nothing, nothing),
                                nothing)
  np.testing.assert_array_equal(own_units.of_matrices(nothing), nothing)
  none = np.zeros(0, int)
  graph = sparse_graphs.SparseGraph(none, none, np.zeros(0), 3)
  assert not own_units.of_graph(graph).matrix().any()
  # Without weights, all of them are 1.
  one = sparse_graphs.SparseGraph(np.array([0, 1]), np.array([1, 1]), None, 3)
  np.testing.assert_array_equal(own_units.of_graph(one).values(), 1)
