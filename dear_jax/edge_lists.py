# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Graphs as lists of their edges.

Most pairs of nodes are not connected: in the paper's undirected graphs two
thirds of them. A list holds the edges of a whole batch, whose nodes are
numbered through; it is made on the host and padded to one of few lengths, since
every length is compiled for.
"""

from typing import Iterable, NamedTuple

import chex
import clrs
import numpy as np

_Array = chex.Array


class EdgeList(NamedTuple):
  """The edges of a batch of graphs, ordered by their receivers.

  Entries beyond the last edge have a receiver of B * N, which is no node.
  """
  senders: _Array  # [E], b * N + i
  receivers: _Array  # [E], b * N + j
  pairs: _Array  # [E], the place of (b, i, j) in a flattened [B, N, N]


def from_inputs(inputs: Iterable[clrs.DataPoint]) -> EdgeList:
  """Lists the pairs between which messages pass.

  As in CLRS' adjacency matrices, these are edges in either direction and
  self-loops.

  Args:
    inputs: The inputs of a task that has a graph and no pointers.

  Returns:
    The list, in numpy arrays.
  """
  masks = [np.asarray(x.data) > 0 for x in inputs
           if x.location == clrs.Location.EDGE and x.type_ == clrs.Type.MASK]
  nb_nodes = masks[0].shape[1]
  connected = np.any(masks, axis=0)
  # By receiver, and without asking whether it was (i, j) or (j, i).
  connected = connected | connected.transpose(0, 2, 1)
  connected |= np.eye(nb_nodes, dtype=bool)
  graph, receivers, senders = np.nonzero(connected)
  length = padded_length(len(graph))
  def pad(values, value):
    result = np.full(length, value, np.int32)
    result[:len(values)] = values
    return result
  return EdgeList(
      senders=pad(graph * nb_nodes + senders, 0),
      receivers=pad(graph * nb_nodes + receivers, len(connected) * nb_nodes),
      pairs=pad((graph * nb_nodes + senders) * nb_nodes + receivers, 0))


def padded_length(length: int) -> int:
  """The least of 2, 3, 4, 6, 8, 12, 16, ... that is not smaller."""
  power = 1 << max(1, (length - 1).bit_length())
  return 3 * power // 4 if 3 * power // 4 >= length else power
