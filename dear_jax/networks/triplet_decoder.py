# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""A decoder of the pointers of edges that sees all pairs of three nodes."""

from typing import Optional, Union

from dear_jax.networks import layers
from dear_jax.networks import triplets
import haiku as hk
import jax
import jax.numpy as jnp

_Array = jax.Array

_WIDTH = 32  # of the features of pairs
_NB_LEGS = 16  # of these that look for the best way, in each round

# How often pairs are composed: after r rounds a pair can know of all paths of
# up to 2^r edges, and the decoder adds one more.
ROUNDS = {'triplet': 0, 'paths': 2}


class TripletDecoder(hk.Module):
  """Scores a node k for a pair (i, j) by what is between the three of them.

  The predecessor of j on the shortest path from i is the k for which the length
  of the path from i to k and that of the edge from k to j have the least sum.
  CLRS's decoder cannot tell: for k it takes what k is like, whatever i and j
  are. Here every pair has features, made by a small network from the states of
  both nodes and from their edge, and a score is made from those of (i, j),
  (i, k) and (k, j).

  In the rounds of 'paths', which share their parameters, each pair (i, j) first
  looks for the best way from i to j by a third node. So it comes to know of
  longer paths than single edges, without a net for the nodes that would have to
  remember the way to each of the others.
  """

  def __init__(self, hidden_dim: int, kind: str, name: str):
    """Constructs the decoder.

    Args:
      hidden_dim: Width of the layer that sees both nodes and their edge.
      kind: 'triplet' or 'paths'.
      name: Has to contain `algo_<i>_`, or CLRS never trains it.
    """
    super().__init__(name=name)
    self._rounds = ROUNDS[kind]
    linear = lambda size, name: hk.Linear(size, name=name)
    self._sender = linear(hidden_dim, 'sender')
    self._receiver = linear(hidden_dim, 'receiver')
    self._edge = linear(hidden_dim, 'edge')
    self._embedding = linear(hidden_dim, 'edge_embedding')
    if self._rounds:
      self._pair = linear(_WIDTH, 'pair')
      self._legs = linear(2 * _NB_LEGS, 'legs')
      self._own = linear(hidden_dim, 'own')
      self._best = linear(hidden_dim, 'best')
      self._update = linear(_WIDTH, 'update')
    self._scored = linear(3 * _WIDTH, 'scored')

  def __call__(self, states: _Array, edge_fts: Union[_Array, layers.LowRank],
               edges: Optional[_Array], node_mask: Optional[_Array]) -> _Array:
    """Scores all nodes for all pairs.

    Args:
      states: [B, N, F].
      edge_fts: [B, N, N, F], or [B * N * N, F] as `layers.LowRank`.
      edges: [B, N, N, F], embeddings of the edges, if the processor has some.
      node_mask: [B, N], 0 at nodes that are padding.

    Returns:
      [B, N, N, N], the logits of every pair for each node.
    """
    pairs = self._sender(states)[:, :, None] + self._receiver(states)[:, None]
    if isinstance(edge_fts, layers.LowRank):
      pairs += jnp.reshape(edge_fts.apply(self._edge), pairs.shape)
    else:
      pairs += self._edge(edge_fts)
    if edges is not None:
      pairs += self._embedding(edges)
    # A node and itself: no state has to tell them from two that are alike.
    of_loop = hk.get_parameter(
        'loop', pairs.shape[-1:], pairs.dtype,
        init=hk.initializers.TruncatedNormal())
    pairs += jnp.eye(pairs.shape[1], dtype=pairs.dtype)[..., None] * of_loop
    pairs = jax.nn.relu(pairs)
    if self._rounds:
      pairs = self._pair(pairs)
      is_node = (jnp.ones(states.shape[:2], bool) if node_mask is None
                 else node_mask > 0.5)
      for _ in range(self._rounds):
        best = triplets.max_plus(
            *jnp.split(self._legs(pairs), 2, axis=-1), is_node)
        pairs += self._update(jax.nn.relu(
            self._own(pairs) + self._best(best)))
    weights = hk.get_parameter(
        'weights', (_WIDTH,), pairs.dtype,
        init=hk.initializers.TruncatedNormal(stddev=_WIDTH**-0.5))
    return triplets.relu_product(
        *jnp.split(self._scored(pairs), 3, axis=-1), weights)
