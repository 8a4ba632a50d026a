# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Weights in a unit of their graph's own.

Which path is the shortest and which tree the lightest does not depend on the
unit of weights. A network that is given weights as they are does not know that:
on graphs of more nodes than those of training, the edges that matter are
lighter than any that mattered before. The unit is the mean, over all nodes, of
the lightest edge that comes in, which gets lighter in the same way.
"""

from typing import Any, Optional

from dear_jax.data import sparse_graphs
import numpy as np

_Array = np.ndarray

# In units: what is much heavier is squeezed together. On graphs larger than
# those of training the heaviest edges are many units more than any seen there.
_REACH = 32.0


def of_matrices(weights: Any, adj: Optional[Any] = None) -> _Array:
  """Weights in the unit of their graph, of a batch of matrices.

  Args:
    weights: [B, N, N], from the first node to the second.
    adj: [B, N, N], 1 where there is an edge; without it, they are everywhere.

  Returns:
    [B, N, N], between 0 and 33; 0 stays 0. An edge from a node to itself has no
    part in the unit. Where all edges weigh the same, they weigh 1.
  """
  weights = np.asarray(weights)
  is_edge = np.broadcast_to(~np.eye(weights.shape[1], dtype=bool),
                            weights.shape)
  if adj is not None:
    is_edge = is_edge & (np.asarray(adj) > 0.5)
  least = np.min(np.where(is_edge, weights, np.inf), axis=1)
  units = np.array([_unit(x[np.any(y, axis=0)])
                    for x, y in zip(least, is_edge)], weights.dtype)
  return _squeezed(weights, units[:, None, None])


def of_graph(graph: sparse_graphs.SparseGraph) -> sparse_graphs.SparseGraph:
  """The same of one graph without a matrix."""
  is_edge = graph.senders != graph.receivers
  weights, receivers = graph.values(), graph.receivers
  least = np.full(graph.nb_nodes, np.inf)
  np.minimum.at(least, receivers[is_edge], weights[is_edge])
  unit = _unit(least[np.unique(receivers[is_edge])])
  return graph._replace(weights=_squeezed(weights, unit))


def _unit(least: _Array) -> float:
  """The mean of the lightest edges; 1 if it could not be divided by."""
  unit = float(np.mean(least, dtype=np.float64)) if len(least) else 1.0
  return unit if unit else 1.0


def _squeezed(weights: _Array, units) -> _Array:
  """One unit stays one, and all others stay in order."""
  ratios = weights / units
  return (1 + _REACH) * ratios / (_REACH + ratios)
