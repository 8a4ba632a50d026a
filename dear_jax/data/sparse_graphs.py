# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Graphs without matrices: the ends and the weights of their edges."""

from typing import NamedTuple, Optional, Tuple

import numpy as np

_Array = np.ndarray


class SparseGraph(NamedTuple):
  """A graph as its edges, each of which leads from a sender to a receiver.

  An undirected edge is there in both directions.

  Attributes:
    senders: [E], where edges begin.
    receivers: [E], where they end.
    weights: [E], or None if all of them are 1.
    nb_nodes: How many nodes there are, numbered from 0.
  """
  senders: _Array
  receivers: _Array
  weights: Optional[_Array]
  nb_nodes: int

  def values(self) -> _Array:
    """[E], the weights, or ones."""
    return (np.ones(len(self.senders)) if self.weights is None
            else self.weights)

  def matrix(self) -> _Array:
    """[N, N], the weights of all pairs; 0 is no edge."""
    result = np.zeros((self.nb_nodes, self.nb_nodes))
    result[self.senders, self.receivers] = self.values()
    return result

  def without_loops(self) -> 'SparseGraph':
    """The graph without edges from a node to itself."""
    keep = self.senders != self.receivers
    return self._replace(
        senders=self.senders[keep], receivers=self.receivers[keep],
        weights=None if self.weights is None else self.weights[keep])

  def by_sender(self) -> Tuple[_Array, _Array, _Array]:
    """Starts [N + 1], receivers and weights [E], in the order of both ends."""
    order = np.lexsort((self.receivers, self.senders))
    starts = np.zeros(self.nb_nodes + 1, np.int64)
    np.cumsum(np.bincount(self.senders, minlength=self.nb_nodes),
              out=starts[1:])
    return (starts, self.receivers[order].astype(np.int64),
            self.values()[order].astype(np.float64))


def undirected(one: _Array, other: _Array, nb_nodes: int,
               weights: Optional[_Array] = None) -> SparseGraph:
  """A graph of edges that are given once each, in any direction.

  Args:
    one: [E], one end of every edge.
    other: [E], the other one, which is another node.
    nb_nodes: How many nodes there are.
    weights: [E], if edges have some.

  Returns:
    The graph.
  """
  if weights is not None:
    weights = np.concatenate([weights, weights])
  return SparseGraph(np.concatenate([one, other]),
                     np.concatenate([other, one]), weights, nb_nodes)


def with_reverse(graph: SparseGraph
                 ) -> Tuple[_Array, _Array, _Array, _Array]:
  """The pairs between which messages pass: edges either way, and self-loops.

  Args:
    graph: The graph, without an edge that is there twice.

  Returns:
    Senders, receivers, weights and whether there is an edge from the sender to
    the receiver, or it is a loop, all [E'] and in the order of receivers, then
    of senders. The weight is 0 where there is no such edge.
  """
  nb_nodes = graph.nb_nodes
  of = lambda senders, receivers: (
      np.asarray(receivers, np.int64) * nb_nodes + senders)
  given = of(graph.senders, graph.receivers)
  nodes = np.arange(nb_nodes)
  keys = np.unique(np.concatenate(
      [given, of(graph.receivers, graph.senders), of(nodes, nodes)]))
  receivers, senders = np.divmod(keys, nb_nodes)
  places = np.searchsorted(keys, given)
  weights = np.zeros(len(keys))
  weights[places] = graph.values()
  return senders, receivers, weights, (weights != 0) | (senders == receivers)
