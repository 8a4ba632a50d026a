# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""A short ladder of shapes, so that questions of many sizes share programs.

A compiled program is of one shape. Graphs that come one by one, each of another
size, would have the compiler run for every single one of them; so they get
nodes that are none, and lists of edges entries that are none, up to the next
rung. What that costs depends on what a node more is paid for with: with lists
of edges hardly anything, with all pairs of nodes their square. The more it
costs, the closer are the rungs.
"""

from dear_jax.networks import edge_lists

# The first rung. Programs for less are no faster.
_LEAST = 16

# Up to here lists of edges leave out every second rung, those of nodes as much
# as those of edges. Beyond, what is decoded for pairs of nodes has its price,
# and a solve takes so long that a dozen of them are worth a program.
_WIDE_UP_TO_NODES = 256
_WIDE_UP_TO_EDGES = 2**10

# The shortest list, in entries a node; and the share of all pairs from which on
# a list of edges saves nothing any more.
_LEAST_DEGREE = 4
_DENSE_FROM = 0.5

# With fewer pairs than that, lists of edges save nothing either.
_LISTS_FROM_PAIRS = 2048


def for_pairs(nb_nodes: int, cubic: bool = False) -> int:
  """How many nodes to have where all pairs of them are computed with.

  >>> sorted({for_pairs(n) for n in range(2, 129)})
  [16, 24, 32, 48, 64, 96, 128]

  Args:
    nb_nodes: How many there are.
    cubic: Whether something is computed for all triples, too.

  Returns:
    The next rung.
  """
  return max(_LEAST, edge_lists.padded_length(nb_nodes, fine=cubic))


def for_lists(nb_nodes: int) -> int:
  """How many nodes to have where only edges are computed with.

  >>> sorted({for_lists(n) for n in range(2, 1025)})
  [16, 64, 256, 512, 1024]

  Args:
    nb_nodes: How many there are.

  Returns:
    The next rung.
  """
  rung = _LEAST
  while rung < nb_nodes:
    rung *= 4 if rung < _WIDE_UP_TO_NODES else 2
  return rung


def for_edges(nb_edges: int, nb_nodes: int) -> int:
  """How long a list of edges is to be.

  >>> sorted({for_edges(n, 64) for n in range(64, 2**14)})
  [256, 1024, 2048, 3072, 4096, 6144, 8192, 12288, 16384]

  Args:
    nb_edges: How many there are in the batch, or in the largest of its graphs
      if each has a list of its own.
    nb_nodes: How many nodes the batch or the graph has, on its rung.

  Returns:
    The next rung.
  """
  rung = _LEAST_DEGREE * nb_nodes
  while rung < min(nb_edges, _WIDE_UP_TO_EDGES):
    rung = min(4 * rung, _WIDE_UP_TO_EDGES)
  if rung < nb_edges <= 2 * _WIDE_UP_TO_EDGES:
    return 2 * _WIDE_UP_TO_EDGES
  return max(rung, edge_lists.padded_length(nb_edges))


def lists_pay(nb_pairs: int, length: int) -> bool:
  """Whether a batch is faster with a list of edges than with all pairs.

  Args:
    nb_pairs: How many there are, on the rung of the nodes.
    length: How long the list would be.

  Returns:
    Whether it is.
  """
  return nb_pairs >= _LISTS_FROM_PAIRS and length <= _DENSE_FROM * nb_pairs
