# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""A step and a task such as users write them."""

import clrs
from dear_jax.networks import steps
import haiku as hk
import jax.numpy as jnp
import numpy as np


class MeanStep(steps.Step):
  """Every node takes the mean of what its neighbours send."""

  def __init__(self, out_size, *, name='mean'):
    super().__init__(name=name)
    linear = lambda name: hk.Linear(out_size, name=name)
    self._of_nodes = linear('of_nodes')
    self._of_edges = linear('of_edges')
    self._of_graph = linear('of_graph')
    self._own = linear('own')
    self._sent = linear('sent')

  def prepare(self, node_fts, edge_fts, graph_fts, adj_mat, edge_list=None,
              node_mask=None):
    is_edge = (adj_mat > 0.5).astype(node_fts.dtype)
    shares = is_edge / jnp.maximum(is_edge.sum(axis=1, keepdims=True), 1)
    constant = (
        self._of_nodes(node_fts) + self._of_graph(graph_fts)[:, None]
        + jnp.einsum('bij,bijf->bjf', shares, self._of_edges(edge_fts)))
    return dict(shares=shares, constant=constant)

  def step(self, hidden, context):
    mean = jnp.einsum('bij,bif->bjf', context['shares'], self._sent(hidden))
    return jnp.tanh(context['constant'] + self._own(hidden) + mean)


NEAREST = {
    'pos': (clrs.Stage.INPUT, clrs.Location.NODE, clrs.Type.SCALAR),
    'A': (clrs.Stage.INPUT, clrs.Location.EDGE, clrs.Type.SCALAR),
    'adj': (clrs.Stage.INPUT, clrs.Location.EDGE, clrs.Type.MASK),
    'pi': (clrs.Stage.OUTPUT, clrs.Location.NODE, clrs.Type.POINTER),
}


def draw(draws):
  weights = (draws.booleans(0.4, draws.size, draws.size)
             * draws.uniforms(draws.size, draws.size))
  return {'A': np.triu(weights, k=1) + np.triu(weights, k=1).swapaxes(1, 2)}


def solve(A):
  """Every node points to its nearest neighbour."""
  weights = np.where(A > 0, A, np.inf)
  return {'pi': np.where(np.isinf(weights.min(axis=2)), np.arange(A.shape[1]),
                         weights.argmin(axis=2))}
