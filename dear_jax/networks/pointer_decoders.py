# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""CLRS' decoders of pointers, computed where there is something to compute."""

from typing import Any, Callable, Optional, Sequence, Union

from dear_jax.networks import edge_lists
from dear_jax.networks import layers
from dear_jax.networks import pointers
import haiku as hk
import jax
import jax.numpy as jnp

_Array = jax.Array


def on_edges(decoder: Sequence[hk.Linear], states: _Array,
             edge_fts: layers.LowRank, edge_list: edge_lists.EdgeList,
             edges: Optional[_Array], by_device: Callable[..., Any]
             ) -> _Array:
  """CLRS' decoder of node pointers, for those that lie on edges.

  Args:
    decoder: CLRS' four layers.
    states: [B, N, F].
    edge_fts: [E, F].
    edge_list: The edges.
    edges: Their embeddings, if there are some; E of them in all.
    by_device: Computes what a device can for its own instances.

  Returns:
    [B, N, N], the logits of every node for each of its neighbours.
  """
  batch_size, nb_nodes, _ = states.shape
  flat = jnp.reshape(states, (batch_size * nb_nodes, -1))
  of_receiver, of_sender, of_edge, out = decoder
  pick = by_device(lambda x, indices: x.at[indices].get(mode='clip'))
  if edges is None:
    on_edges = edge_fts.apply(of_edge)
  else:
    rows = jnp.reshape(edges, (-1, edges.shape[-1]))
    on_edges = of_edge(jnp.concatenate(
        [edge_fts.inputs @ edge_fts.weights, rows], axis=-1))
  hidden = jnp.maximum(
      pick(of_receiver(flat), edge_list.receivers),
      pick(of_sender(flat), edge_list.senders) + on_edges)
  logits = jnp.squeeze(out(hidden), -1)

  def to_matrix(states, edge_list, logits):
    # Padding has a receiver beyond all nodes, so it falls out of the matrix.
    places = edge_list.receivers * nb_nodes + edge_list.senders % nb_nodes
    matrix = jnp.full(len(states) * nb_nodes * nb_nodes, pointers.NO_EDGE,
                      logits.dtype)
    matrix = matrix.at[places].set(logits, mode='drop')
    return jnp.reshape(matrix, (len(states), nb_nodes, nb_nodes))

  return by_device(to_matrix)(states, edge_list, logits)


def of_pairs(decoder: Sequence[hk.Linear], states: _Array,
             edge_fts: Union[_Array, layers.LowRank],
             edges: Optional[_Array]) -> _Array:
  """CLRS' decoder of pointers from edges to nodes, in less memory.

  Args:
    decoder: CLRS' five layers.
    states: [B, N, F].
    edge_fts: [B, N, N, F], or [B * N * N, F] as `layers.LowRank`.
    edges: [B, N, N, F], embeddings of all pairs, if there are some.

  Returns:
    [B, N, N, N], the logits of every edge for each node.
  """
  of_sender, of_receiver, of_edge, of_node, out = decoder
  pairs = of_sender(states)[:, :, None] + of_receiver(states)[:, None]
  if edges is not None:
    if isinstance(edge_fts, layers.LowRank):
      edge_fts = jnp.reshape(edge_fts.inputs @ edge_fts.weights, pairs.shape)
    pairs += of_edge(jnp.concatenate([edge_fts, edges], axis=-1))
  elif isinstance(edge_fts, layers.LowRank):
    pairs += jnp.reshape(edge_fts.apply(of_edge), pairs.shape)
  else:
    pairs += of_edge(edge_fts)
  nodes = of_node(states)
  bias = out(jnp.zeros_like(nodes[0, :1]))[0]
  weights = out(jnp.eye(nodes.shape[-1], dtype=nodes.dtype)) - bias
  return layers.max_product(pairs, nodes, weights[:, 0]) + bias
