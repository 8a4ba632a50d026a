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
@pytest.mark.parametrize('task', [
    x for x in sparse_algorithms.TASKS if x in clrs.SPECS])
def test_answers_are_those_of_clrs(task, graphs):
  # Weights are drawn alike for all that have some, and CLRS' graphs for these.
  drawn = 'bellman_ford' if task == 'dijkstra' else task
  sampler = samplers.make_sampler(drawn, size=11, batch_size=16, seed=3,
                                  split='test', graphs=graphs)
  batch = sampler.batch(0)
  inputs = {x.name: np.asarray(x.data) for x in batch.features.inputs}
  for i, matrix in enumerate(inputs['A']):
    source = [int(inputs['s'][i].argmax())] if 's' in inputs else []
    truth, _ = getattr(clrs.algorithms, task)(matrix, *source)
    found = sparse_algorithms.solve(task, _of_matrix(matrix), *source)
    np.testing.assert_array_equal(found['pi'], truth)


@pytest.mark.parametrize('graphs', ['er', 'sparse_er', 'mixed'])
def test_second_passes_are_those_with_matrices(graphs):
  task = 'strongly_connected_components_local'
  batch = samplers.make_sampler(task, size=13, batch_size=16, seed=3,
                                split='test', graphs=graphs).batch(0)
  matrices, = (x.data for x in batch.features.inputs if x.name == 'adj')
  parents = algorithms.strongly_connected_components(
      np.where(np.eye(13), 0, matrices))[1]
  for matrix, expected in zip(matrices, parents):
    matrix = np.where(np.eye(13), 0, matrix)
    found = sparse_algorithms.solve(task, _of_matrix(matrix))
    np.testing.assert_array_equal(found['pi'], expected)


@pytest.mark.parametrize('task', [
    'bellman_ford', 'dag_shortest_paths', 'dijkstra', 'mst_prim'])
@pytest.mark.parametrize('nb_weights', [1, 2])
def test_ties_are_settled_as_clrs_settles_them(task, nb_weights):
  rng = np.random.default_rng(0)
  for _ in range(20):
    matrix = np.triu(rng.random((12, 12)) < 0.4, 1) * rng.integers(
        1, 1 + nb_weights, (12, 12)) / 2.0
    if task != 'dag_shortest_paths':
      matrix += matrix.T
    truth, _ = getattr(clrs.algorithms, task)(matrix, 2)
    found = sparse_algorithms.solve(task, _of_matrix(matrix), 2)
    np.testing.assert_array_equal(found['pi'], truth)


@pytest.mark.parametrize('task', ['dijkstra', 'mst_prim'])
def test_trees_of_a_large_graph_weigh_what_those_of_scipy_do(task):
  rng = np.random.default_rng(1)
  one, other = rng.integers(0, 5000, (2, 20000))
  keys = np.unique(np.sort(np.stack([one, other]), axis=0)[
      :, one != other], axis=1)
  # Whole numbers: many ties, and more nodes than are sorted for these.
  weights = rng.integers(1, 9, keys.shape[1]).astype(np.float64)
  graph = sparse_graphs.undirected(*keys, 5000, weights)
  parents = sparse_algorithms.solve(task, graph, 3)['pi']
  matrix = sparse.coo_matrix((graph.weights, (graph.senders, graph.receivers)),
                             shape=(5000, 5000)).tocsr()
  children = np.flatnonzero(parents != np.arange(5000))
  edges = np.asarray(matrix[parents[children], children]).ravel()
  assert np.all(edges > 0)
  distance = csgraph.dijkstra(matrix, indices=3)
  reached = np.isfinite(distance)
  assert len(children) == reached.sum() - 1
  if task == 'dijkstra':
    np.testing.assert_array_equal(
        distance[parents[children]] + edges, distance[children])
  else:
    part = matrix[reached][:, reached]
    assert edges.sum() == csgraph.minimum_spanning_tree(part).sum()


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
