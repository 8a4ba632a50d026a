# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of algorithms without matrices: their answers are those of CLRS."""

import clrs
from dear_jax.data import algorithms
from dear_jax.data import samplers
from dear_jax.data import sparse_algorithms
from dear_jax.data import sparse_graphs
import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csgraph


def _of_matrix(matrix):
  senders, receivers = np.nonzero(matrix)
  return sparse_graphs.SparseGraph(
      senders, receivers, matrix[senders, receivers], len(matrix))


@pytest.mark.parametrize('graphs', ['er', 'mixed', 'grid'])
@pytest.mark.parametrize('task', sparse_algorithms.TASKS)
def test_answers_are_those_of_clrs(task, graphs):
  sampler = samplers.make_sampler(task, size=11, batch_size=16, seed=3,
                                  split='test', graphs=graphs)
  batch = sampler.batch(0)
  inputs = {x.name: np.asarray(x.data) for x in batch.features.inputs}
  for i, matrix in enumerate(inputs['A']):
    source = [int(inputs['s'][i].argmax())] if 's' in inputs else []
    truth, _ = getattr(clrs.algorithms, task)(matrix, *source)
    found = sparse_algorithms.solve(task, _of_matrix(matrix), *source)
    np.testing.assert_array_equal(found['pi'], truth)


def test_breadth_first_search_of_equally_near_parents():
  # 5 is reached from 4 and 1, which are both next to the source, and 4 is
  # found first in no order of numbers: CLRS takes the lower one.
  one, other = np.array([[3, 4], [3, 1], [4, 5], [1, 5], [0, 2]]).T
  graph = sparse_graphs.undirected(one, other, 6)
  parents, depth = sparse_algorithms.breadth_first(graph, 3)
  assert parents.tolist() == [0, 3, 2, 3, 3, 1]
  assert depth.tolist() == [-1, 1, -1, 0, 1, 2]


def test_depths_are_those_of_scipy_on_a_large_graph():
  rng = np.random.default_rng(0)
  matrix = sparse.random(3000, 3000, density=0.001, random_state=rng)
  matrix = ((matrix + matrix.T) != 0).tocoo()
  graph = sparse_graphs.SparseGraph(matrix.row, matrix.col, None, 3000)
  parents, depth = sparse_algorithms.breadth_first(graph, 7)
  expected = csgraph.dijkstra(matrix.tocsr(), unweighted=True, indices=7)
  np.testing.assert_array_equal(np.where(depth < 0, np.inf, depth), expected)
  children = np.flatnonzero(depth > 0)
  assert np.all(depth[parents[children]] == depth[children] - 1)
  assert np.all(np.asarray(
      matrix.tocsr()[parents[children], children]).ravel())


def test_a_graph_and_its_matrix():
  graph = sparse_graphs.undirected(np.array([0, 1]), np.array([1, 2]), 4,
                                   np.array([0.5, 2]))
  np.testing.assert_array_equal(
      graph.matrix(), [[0, .5, 0, 0], [.5, 0, 2, 0], [0, 2, 0, 0], [0] * 4])
  np.testing.assert_array_equal(
      sparse_algorithms.bfs(graph, 0),
      algorithms.bfs(graph.matrix()[None], np.array([0]))[0])


def test_messages_pass_in_both_directions_and_to_oneself():
  graph = sparse_graphs.SparseGraph(np.array([2, 0]), np.array([0, 1]),
                                    np.array([0.5, 3.0]), 3)
  found = sparse_graphs.with_reverse(graph)
  pairs = list(zip(*(x.tolist() for x in found)))
  assert pairs == [(0, 0, 0, True), (1, 0, 0, False), (2, 0, 0.5, True),
                   (0, 1, 3, True), (1, 1, 0, True), (0, 2, 0, False),
                   (2, 2, 0, True)]
