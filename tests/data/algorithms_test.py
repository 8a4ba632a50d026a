# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""The outputs of the algorithms are those of CLRS, ties included."""

import inspect

import clrs
from dear_jax.data import algorithms
from dear_jax.networks import clrs_private
import numpy as np
import pytest
from tests import inputs

# Small graphs have the strange cases; a few large ones have what they lack.
SIZES = (2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 17, 24, 40)


@pytest.fixture(name='no_hints')
def _no_hints(monkeypatch):
  """Keeps CLRS from recording hints, which is most of its work."""
  probing = inspect.getmodule(clrs_private.split_stages)
  for name in ('push', 'finalize', 'mask_one', 'array_cat'):
    monkeypatch.setattr(probing, name, lambda *unused_args, **unused: None)


def reference(name, *problem):
  """What CLRS returns for every problem of a batch."""
  algorithm = getattr(clrs.algorithms, name)
  return np.stack([algorithm(*(np.copy(x) for x in arguments))[0]
                   for arguments in zip(*problem)])


@pytest.mark.usefixtures('no_hints')
@pytest.mark.parametrize('name', [
    'bfs', 'bellman_ford', 'dag_shortest_paths', 'mst_prim'])
def test_parents_from_a_source(name):
  total = 0
  for size in SIZES:
    rng = np.random.default_rng(size)
    for graph in inputs.graphs(size):
      source = rng.integers(size, size=len(graph))
      expected = reference(name, graph, source)
      actual = getattr(algorithms, name)(graph, source)
      np.testing.assert_array_equal(actual, expected)
      assert actual.dtype == expected.dtype
      total += len(graph)
  assert total > 3000


@pytest.mark.usefixtures('no_hints')
@pytest.mark.parametrize('name', [
    'dfs', 'strongly_connected_components', 'floyd_warshall'])
def test_whole_graphs(name):
  total = 0
  for size in SIZES:
    for graph in inputs.graphs(size):
      expected = reference(name, graph)
      actual = getattr(algorithms, name)(graph)
      if name == 'strongly_connected_components':
        actual, _ = actual
      np.testing.assert_array_equal(actual, expected)
      assert actual.dtype == expected.dtype
      total += len(graph)
  assert total > 3000


@pytest.mark.usefixtures('no_hints')
def test_arrays():
  total = 0
  for size in SIZES:
    rng = np.random.default_rng(size)
    for keys in inputs.arrays(size):
      np.testing.assert_array_equal(
          algorithms.minimum(keys), reference('minimum', keys))
      # CLRS returns the sorted keys; where they came from is in its probes,
      # which the test of whole samples compares. Stability is what remains.
      pred = algorithms.insertion_sort(keys)
      for row, sorted_keys, before in zip(
          keys, reference('insertion_sort', keys), pred):
        order = walk(before)
        np.testing.assert_array_equal(row[order], sorted_keys)
        ties = np.diff(row[order]) == 0
        assert (np.diff(order)[ties] > 0).all()
      keys = np.sort(keys, axis=1)
      for target in (rng.random(len(keys)), keys[:, size // 2],
                     keys[:, 0] - 1, keys[:, -1] + 1):
        np.testing.assert_array_equal(
            algorithms.binary_search(target, keys),
            reference('binary_search', target, keys))
      total += len(keys)
  assert total > 3000


def walk(before):
  """The order of a linked list, from its first node to its last."""
  last, = set(range(len(before))) - {
      b for i, b in enumerate(before) if b != i}
  order = [last]
  while before[order[-1]] != order[-1]:
    order.append(before[order[-1]])
  return np.array(order[::-1])


def reachability(edges):
  """Whether there is a path, of any length including none."""
  paths = edges | np.eye(len(edges), dtype=bool)
  for _ in range(len(edges)):
    paths = (paths.astype(int) @ paths.astype(int)) > 0
  return paths


def test_local_components_are_trees_on_transposed_edges():
  # Not by a second implementation, but by what they have to be.
  for size in SIZES[:11]:
    for graph in inputs.graphs(size):
      component, parents = algorithms.strongly_connected_components(graph)
      for edges, root_of, parent in zip(graph != 0, component, parents):
        paths = reachability(edges)
        same = paths & paths.T
        roots = parent == np.arange(size)
        # One root a component, and it is CLRS' representative.
        np.testing.assert_array_equal(roots, root_of == np.arange(size))
        np.testing.assert_array_equal(root_of[:, None] == root_of, same)
        child = np.flatnonzero(~roots)
        # Every pointer is a transposed edge inside the component.
        assert edges[child, parent[child]].all()
        assert same[child, parent[child]].all()
        # And following them ends at the root.
        end = parent
        for _ in range(size):
          end = parent[end]
        np.testing.assert_array_equal(end, root_of)


def test_local_components_follow_the_second_pass():
  # By hand. First pass from 0: 0, 1, 2, 3 in a row, so 0 finishes last and
  # starts the second pass, which goes backwards along the edges: to 0 lead 2
  # and 3. The lower comes first, and reaches 1; 3 is left to the root.
  edges = np.zeros((1, 4, 4), int)
  for u, v in ((0, 1), (1, 2), (2, 0), (2, 3), (3, 0)):
    edges[0, u, v] = 1
  component, parents = algorithms.strongly_connected_components(edges)
  np.testing.assert_array_equal(component[0], [0, 0, 0, 0])
  np.testing.assert_array_equal(parents[0], [0, 2, 0, 0])


def test_inputs_are_left_alone():
  graph = next(inputs.graphs(6)) * 0.5
  before = graph.copy()
  source = np.zeros(len(graph), int)
  for name in ('bfs', 'bellman_ford', 'dag_shortest_paths', 'mst_prim'):
    getattr(algorithms, name)(graph, source)
  for name in ('dfs', 'strongly_connected_components', 'floyd_warshall'):
    getattr(algorithms, name)(graph)
  np.testing.assert_array_equal(graph, before)
