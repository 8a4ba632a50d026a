# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Which nodes a trained model gets wrong: by depth, order, degree, number.

A pointer of every node to another makes up a forest, whose roots point to
themselves. Arrays are [B, N], of graphs with as many nodes.
"""

from typing import Any, Dict, List

import numpy as np

_Array = np.ndarray

# What is said in place of the right node.
INSTEAD = ('itself', 'an ancestor', 'a descendant', 'another')


def depths(pointers: _Array) -> _Array:
  """How many edges there are to the root; -1 on a cycle, and above one."""
  batch = np.arange(len(pointers))[:, None]
  nodes = np.broadcast_to(np.arange(pointers.shape[1]), pointers.shape)
  found = np.where(pointers == nodes, 0, -1)
  for depth in range(1, pointers.shape[1]):
    above = found[batch, pointers] == depth - 1
    found = np.where(above & (found < 0), depth, found)
  return found


def preorder(pointers: _Array) -> _Array:
  """When a node is met: after its parent, children by their numbers.

  That is the order of CLRS's depth-first search if pointers are its tree.
  Nodes that hang on a cycle have -1.
  """
  result = np.full(pointers.shape, -1)
  for order, parents in zip(result, pointers):
    children: Dict[int, List[int]] = {}
    for node, parent in enumerate(parents.tolist()):
      if parent != node:
        children.setdefault(parent, []).append(node)
    count = 0
    stack = [x for x in range(len(parents))[::-1] if parents[x] == x]
    while stack:
      node = stack.pop()
      order[node] = count
      count += 1
      stack.extend(reversed(children.get(node, [])))
  return result


def is_above(pointers: _Array) -> _Array:
  """[B, N, N], whether the second node is an ancestor of the first."""
  batch_size, nb_nodes = pointers.shape
  above = np.zeros((batch_size, nb_nodes, nb_nodes), bool)
  batch = np.arange(batch_size)[:, None]
  nodes = np.arange(nb_nodes)
  at = np.broadcast_to(nodes, pointers.shape)
  for _ in range(nb_nodes):
    at = pointers[batch, at]
    above[batch, nodes, at] = True
  above[:, nodes, nodes] = False
  return above


def instead(truth: _Array, said: _Array) -> _Array:
  """Where in the true tree the node is that is said: a place in `INSTEAD`."""
  above = is_above(truth)
  batch = np.arange(len(truth))[:, None]
  nodes = np.arange(truth.shape[1])
  return np.select(
      [said == nodes, above[batch, nodes, said], above[batch, said, nodes]],
      [0, 1, 2], 3)


def excess(truth: _Array, said: _Array, weights: _Array) -> _Array:
  """How much heavier than necessary the edges are that are said in error.

  An edge that is not in a lightest spanning tree closes a cycle with it, on
  which it is the heaviest. If it is hardly heavier than the next one, it was a
  close call.

  Args:
    truth: [B, N], pointers that make up lightest spanning trees.
    said: [B, N], other pointers.
    weights: [B, N, N], of the edges.

  Returns:
    [K], for every edge that is said and not in the tree: its weight as a
    multiple of the heaviest one of the tree on that cycle.
  """
  found = []
  for parents, others, weight in zip(truth, said, weights):
    for node in np.flatnonzero(others != parents):
      other = others[node]
      if other == node or parents[other] == node:
        continue  # no edge, or one of the tree in the wrong direction
      first, second = (_path(parents, int(x)) for x in (node, other))
      if first[-1] != second[-1]:
        continue  # of two trees
      apart = set(first) ^ set(second)  # but for the node where paths meet
      found.append(weight[node, other]
                   / max(weight[x, parents[x]] for x in apart))
  return np.asarray(found, float)


def _path(parents: _Array, node: int) -> List[int]:
  """The nodes from this one to its root."""
  path = [int(node)]
  while parents[path[-1]] != path[-1]:
    path.append(int(parents[path[-1]]))
  return path


def highest_below(adj: _Array) -> _Array:
  """What a rule says that looks at the numbers of neighbours, and no further.

  Args:
    adj: As in `describe`.

  Returns:
    [B, N], of the nodes with an edge into it and a lower number the last; a
    node without such is its own.
  """
  nodes = np.arange(adj.shape[1])
  into = (np.swapaxes(adj, 1, 2) != 0) & (nodes < nodes[:, None])
  last = np.where(into, nodes, -1).max(-1)
  return np.where(last < 0, nodes, last)


def describe(truth: _Array, adj: _Array) -> Dict[str, _Array]:
  """What is known of every node.

  Args:
    truth: [B, N], the true pointers.
    adj: [B, N, N], not 0 where there is an edge from the first to the second
      node.

  Returns:
    By a description: [B, N].
  """
  edges = adj != 0
  nodes = np.arange(truth.shape[1])
  edges[:, nodes, nodes] = False
  return {
      'depth in the true tree': depths(truth),
      'place in the order of visits': preorder(truth),
      'edges into it': edges.sum(1),
      'number of the node': np.broadcast_to(nodes, truth.shape),
  }


def table(values: _Array, right: _Array, most: int = 8
          ) -> List[Dict[str, Any]]:
  """The share that is right, in groups of about as many nodes.

  Args:
    values: [B, N], integers by which to group.
    right: [B, N], which pointers are right.
    most: The most groups.

  Returns:
    A row a group: 'low' and 'high', both of them in it, 'nodes' and 'right'.
  """
  values, right = np.ravel(values), np.ravel(right)
  ends = np.unique(np.quantile(values, np.linspace(0, 1, most + 1)[1:],
                               method='inverted_cdf'))
  rows, above = [], None
  for end in ends:
    inside = values <= end
    if above is not None:
      inside &= values > above
    rows.append(dict(low=int(values[inside].min()), high=int(end),
                     nodes=int(inside.sum()),
                     right=float(right[inside].mean())))
    above = end
  return rows
