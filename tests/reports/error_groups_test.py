# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of where errors are."""

import clrs
from dear_jax.reports import error_groups
import networkx
import numpy as np

# A tree 0 - (1 - (3, 4), 2), a root 5 and its child 6.
_TREE = np.array([[0, 0, 0, 1, 1, 5, 5]])


def test_depths_and_orders():
  np.testing.assert_array_equal(error_groups.depths(_TREE),
                                [[0, 1, 1, 2, 2, 0, 1]])
  np.testing.assert_array_equal(error_groups.preorder(_TREE),
                                [[0, 1, 4, 2, 3, 5, 6]])


def test_what_hangs_on_a_cycle_has_no_depth():
  pointers = np.array([[0, 2, 1, 2]])
  np.testing.assert_array_equal(error_groups.depths(pointers),
                                [[0, -1, -1, -1]])
  np.testing.assert_array_equal(error_groups.preorder(pointers),
                                [[0, -1, -1, -1]])


def test_the_order_is_that_of_the_search_of_clrs():
  graph = networkx.gnp_random_graph(12, 0.3, seed=3)
  adj = networkx.to_numpy_array(graph)
  pointers, _ = clrs.algorithms.dfs(adj)
  # networkx visits neighbours in the order of its lists, which is by number.
  wanted = {}
  for root in graph:
    for node in networkx.dfs_preorder_nodes(graph, root):
      wanted.setdefault(node, len(wanted))
  found = error_groups.preorder(np.asarray(pointers)[None].astype(int))[0]
  np.testing.assert_array_equal(found, [wanted[x] for x in range(12)])


def test_what_is_said_instead():
  said = np.array([[0, 3, 1, 0, 4, 6, 0]])
  names = [error_groups.INSTEAD[x]
           for x in error_groups.instead(_TREE, said)[0]]
  assert names == ['itself', 'a descendant', 'another', 'an ancestor',
                   'itself', 'a descendant', 'another']


def test_groups_cover_every_node_once():
  rng = np.random.default_rng(0)
  values, right = rng.integers(0, 20, (2, 5, 40))
  right = right < 10
  rows = error_groups.table(values, right, most=4)
  assert len(rows) <= 4
  assert sum(x['nodes'] for x in rows) == values.size
  for row in rows:
    inside = (values >= row['low']) & (values <= row['high'])
    assert inside.sum() == row['nodes']
    assert row['right'] == right[inside].mean()


def test_what_describes_a_node():
  adj = np.zeros((1, 7, 7))
  adj[0, 0, 0] = adj[0, 0, 3] = adj[0, 1, 3] = adj[0, 6, 3] = 1
  found = error_groups.describe(_TREE, adj)
  np.testing.assert_array_equal(found['edges into it'],
                                [[0, 0, 0, 3, 0, 0, 0]])
  np.testing.assert_array_equal(error_groups.highest_below(adj),
                                [[0, 1, 2, 1, 4, 5, 6]])
  assert adj[0, 0, 0] == 1  # it is not touched


def test_how_much_heavier_an_edge_is_than_what_it_is_said_for():
  # A path 0 - 1 - 2 - 3 with weights 1, 4 and 2; (3, 0) weighs 5.
  weights = np.zeros((1, 5, 5))
  for i, j, weight in ((0, 1, 1), (1, 2, 4), (2, 3, 2), (3, 0, 5), (3, 1, 6)):
    weights[0, i, j] = weights[0, j, i] = weight
  truth = np.array([[0, 0, 1, 2, 4]])
  excess = lambda *said: error_groups.excess(
      truth, np.array([said]), weights).tolist()
  assert excess(0, 0, 1, 0, 4) == [5 / 4]
  assert excess(0, 3, 1, 1, 4) == [6 / 4, 6 / 4]
  # The right tree, its edges the wrong way around, itself, another tree.
  assert not excess(0, 0, 1, 2, 4) and not excess(0, 2, 3, 3, 0)
