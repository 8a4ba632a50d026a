# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Cayley graph propagation: every step is followed by one on a Cayley graph.

Section 'Globally propagating information' of the paper, after Wilson et al.,
*Cayley Graph Propagation* (2024). The nodes of the input graph are the first of
the Cayley graph, and those that it has more are virtual nodes: they have a
state, which is a part of the equilibrium, but no inputs and no outputs.
"""

from typing import Any, Dict, Optional

from dear_jax.networks import cayley
from dear_jax.networks import clrs_private
from dear_jax.networks import edge_lists
from dear_jax.networks import steps
import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np

_Array = jax.Array
_Context = Any
_State = Dict[str, _Array]


class CayleyStep:
  """A step on the input graph, then the same step on a Cayley graph."""

  has_virtual_nodes = True

  def __init__(self, step):
    self._step = step
    self.module_name = step.module_name
    self.draws = getattr(step, 'draws', True)
    self.inf_bias = step.inf_bias
    self.inf_bias_edge = step.inf_bias_edge
    # Nothing trains whose name lacks the tag.
    self._edge = _EdgeFeature(f'cayley_{clrs_private.PROCESSOR_TAG}')

  def start(self, hidden: _Array) -> _State:
    batch_size, nb_nodes, width = hidden.shape
    order = cayley.group_order(cayley.smallest_modulus(nb_nodes))
    return dict(nodes=hidden, virtual=jnp.zeros(
        (batch_size, order - nb_nodes, width), hidden.dtype))

  def start_in(self, hidden: _Array, context: _Context) -> _State:
    del context
    return self.start(hidden)

  def nodes(self, state: _State) -> _Array:
    return state['nodes']

  def prepare(self, node_fts: _Array, edge_fts: steps.EdgeFeatures,
              graph_fts: _Array, adj_mat: _Array,
              edge_list: Optional[edge_lists.EdgeList] = None,
              node_mask: Optional[_Array] = None) -> _Context:
    """As that of any step, for both graphs.

    Args:
      node_fts: [B, N, F].
      edge_fts: [B, N, N, F]; with an edge list, [E, F].
      graph_fts: [B, F].
      adj_mat: [B, N, N].
      edge_list: The edges of the input graph, if messages are to be computed
        on them only.
      node_mask: [B, N], 0 at nodes that are padding. The Cayley graph has
        other uses for them: there they are virtual nodes.

    Returns:
      What `step` and `edges` need.
    """
    batch_size, nb_nodes, width = node_fts.shape
    graph = cayley.cayley_graph(cayley.smallest_modulus(nb_nodes))
    order = len(graph.elements)
    edge = self._edge(width, node_fts.dtype)
    if isinstance(self._step, steps.PGN):
      connections = edge_lists.Neighbours(np.ascontiguousarray(
          graph.neighbours.T.astype(np.int32)))
      of_edges, adjacency = edge, jnp.zeros((batch_size, order, 1))
    else:
      connections = None
      matrix = np.zeros((order, order), np.float32)
      matrix[graph.neighbours.T, np.arange(order)] = 1
      of_edges = jnp.broadcast_to(matrix[..., None] * edge,
                                  (batch_size, order, order, width))
      adjacency = jnp.broadcast_to(matrix, (batch_size, order, order))
    if node_mask is not None:
      node_fts *= node_mask[..., None]
    return dict(
        graph=self._step.prepare(node_fts, edge_fts, graph_fts, adj_mat,
                                 edge_list),
        cayley=self._step.prepare(
            jnp.pad(node_fts, ((0, 0), (0, order - nb_nodes), (0, 0))),
            of_edges, graph_fts, adjacency, connections),
        node_mask=node_mask)

  def step(self, state: _State, context: _Context) -> _State:
    """The next state of nodes and virtual nodes."""
    nodes = self._step.step(state['nodes'], context['graph'])
    if context['node_mask'] is not None:
      nodes = jnp.where(context['node_mask'][..., None] > 0.5, nodes,
                        state['nodes'])
    states = self._step.step(
        jnp.concatenate([nodes, state['virtual']], axis=1), context['cayley'])
    nb_nodes = nodes.shape[1]
    return dict(nodes=states[:, :nb_nodes], virtual=states[:, nb_nodes:])

  def edges(self, state: _State, context: _Context) -> Optional[_Array]:
    return self._step.edges(state['nodes'], context['graph'])


class _EdgeFeature(hk.Module):
  """The feature of all edges of a Cayley graph."""

  def __call__(self, size: int, dtype) -> _Array:
    return hk.get_parameter('feature', (size,), dtype,
                            init=hk.initializers.TruncatedNormal())
