# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Steps that remember on edges, too.

A node of the paper's step cannot remember which of its neighbours was first:
what they say is aggregated, and neighbours have no names. A network then learns
to tell distances apart instead, and is lost beyond those that it was trained
on. A state on every edge can hold it, whatever the distance.
"""

from typing import Any, Callable, Optional, Tuple

from dear_jax.networks import chunks
from dear_jax.networks import edge_lists
from dear_jax.networks import kinds
from dear_jax.networks import layers
from dear_jax.networks import steps
from dear_jax.networks import triplets
import haiku as hk
import jax
import jax.numpy as jnp

_Array = jax.Array
_Context = Any


class EdgePGN(steps.PGN):
  """The paper's step, in which edges have states beside those of the nodes.

  A message also sees the state of its edge, and updates it as nodes update
  theirs: by a gate, to something normalised. The states of edges start at 1,
  not at 0: a gate that hardly opens would change little in absolute terms, and
  everything in relative ones.
  """

  has_virtual_nodes = True

  def __init__(self, out_size: int, *, use_ln: bool = True,
               name: str = 'pgn_edges'):
    super().__init__(out_size, use_ln=use_ln, name=name)
    self._edge_size = _edge_size(out_size)
    self._edge_state = hk.Linear(out_size, with_bias=False, name='edge_state')
    self._edge_update = layers.Linear(self._edge_size, name='edge_update')
    self._edge_gate = layers.Linear(self._edge_size, name='edge_gate')
    self._edge_norm = layers.layer_norm('edge_norm')

  def prepare(self, node_fts: _Array, edge_fts: steps.EdgeFeatures,
              graph_fts: _Array, adj_mat: _Array,
              edge_list: Optional[steps.Connections] = None,
              node_mask: Optional[_Array] = None) -> _Context:
    """As that of `PGN`; with an edge list, all graphs have as many entries."""
    context = super().prepare(node_fts, edge_fts, graph_fts, adj_mat,
                              edge_list)
    context['node_mask'] = node_mask
    if isinstance(edge_list, chunks.Chunks):
      context['edge_mask'] = jnp.reshape(
          edge_list.receivers < node_fts.shape[1], (1, -1))
      return context
    context.pop('edge_list')
    if edge_list is None:
      context['edge_mask'] = _flat_pairs(context['is_edge'])
      return context
    # Everything by instance, of which a solver may take some.
    assert isinstance(edge_list, edge_lists.EdgeList)
    senders, receivers, is_edge = edge_lists.by_instance(
        edge_list, *node_fts.shape[:2])
    messages = context['messages']
    return dict(context, senders=senders, receivers=receivers,
                edge_mask=is_edge, messages=jnp.reshape(
                    messages, is_edge.shape + messages.shape[-1:]))

  def start_in(self, hidden: _Array, context: _Context) -> steps.State:
    """The first state: that of the nodes, and ones on the edges."""
    mask = context['edge_mask'][..., None].astype(hidden.dtype)
    return dict(nodes=hidden, edges=jnp.broadcast_to(
        mask, mask.shape[:-1] + (self._edge_size,)))

  def nodes(self, state: steps.State) -> _Array:
    return state['nodes']

  def share_of_entries(self, state: steps.State, context: _Context
                       ) -> Optional[_Array]:
    """Of the numbers in a state, those of nodes and edges that there are.

    Args:
      state: Any state.
      context: From `prepare`.

    Returns:
      [], or None if there is nothing else.
    """
    nodes, edges = state['nodes'], state['edges']
    node_mask = context['node_mask']
    of_nodes = (nodes.size if node_mask is None
                else jnp.sum(node_mask) * nodes.shape[-1])
    of_edges = jnp.sum(context['edge_mask']) * edges.shape[-1]
    return (of_nodes + of_edges) / (nodes.size + edges.size)

  def step(self, hidden: steps.State, context: _Context) -> steps.State:
    """The next state of the nodes [B, N, F] and of the edges [B, E, F']."""
    edges, hidden = hidden['edges'], hidden['nodes']
    if 'edge_list' in context:  # by chunks, of packed graphs
      nodes, edges = self._step_in_chunks(
          hidden, context, self._messages_of_chunk(), edges)
    else:
      receiver, sender, update, gate = jnp.split(
          hidden @ context['shared']['state_weights'], 4, axis=-1)
      to_pairs, to_nodes = _connections(context)
      messages = jnp.reshape(context['messages'], edges.shape[:2] + (-1,))
      messages, edges = self._messages(
          messages + to_pairs(receiver, sender), edges, context['edge_mask'],
          context)
      nodes = self._update_nodes(hidden, update, gate, to_nodes(messages),
                                 context)
    if context['node_mask'] is not None:
      nodes *= context['node_mask'][..., None]
    return dict(nodes=nodes, edges=edges)

  def _messages(self, sums: _Array, edges: _Array, is_edge: _Array,
                context: _Context) -> Tuple[_Array, _Array]:
    """Messages, and the next states of the edges that they pass.

    Args:
      sums: [..., E, F], what both nodes contribute, and all that is constant.
      edges: [..., E, F'], the states of the edges.
      is_edge: [..., E].
      context: From `prepare`.

    Returns:
      Both, with zeros for the states of what is no edge.
    """
    messages = self._message_mlp(sums + self._of_edges(edges, context))
    opened = jax.nn.sigmoid(self._edge_gate(messages))
    edges += opened * (self._edge_norm(self._edge_update(messages)) - edges)
    return messages, jnp.where(is_edge[..., None], edges, 0)

  def _messages_of_chunk(self) -> Callable[..., Tuple[_Array, _Array]]:
    """As `_messages`, with one product for update and gate."""
    size = self._out_size
    of_both = [layer.parameters(size, jnp.float32)
               for layer in (self._edge_update, self._edge_gate)]
    weights, biases = (jnp.concatenate(x, axis=-1) for x in zip(*of_both))

    def messages_of(sums, edges, is_edge):
      messages = self._message_mlp(sums + self._edge_state(edges))
      update, gate = jnp.split(messages @ weights + biases, 2, axis=-1)
      edges += jax.nn.sigmoid(gate) * (self._edge_norm(update) - edges)
      return messages, jnp.where(is_edge[..., None], edges, 0)

    return messages_of

  def _of_edges(self, edges: _Array, context: _Context) -> _Array:
    """[B, E, F], what the states of edges contribute to messages."""
    del context
    return self._edge_state(edges)

  def edges(self, hidden: steps.State, context: _Context) -> _Array:
    """[B, N, N, F'], or [B, E, F'] where there is a list of edges."""
    edges = hidden['edges']
    if 'senders' in context or 'edge_list' in context:
      return edges
    nb_nodes = hidden['nodes'].shape[1]
    return jnp.reshape(edges, (-1, nb_nodes, nb_nodes, self._edge_size))


class PairPGN(EdgePGN):
  """The same with a state on every pair of nodes, which looks for a way.

  In every step a pair (i, j) also sees the best of what (i, k) and (k, j) say
  together, over all nodes k in between. Lengths of paths can be put together
  so: where a state is minus the length of the shortest path known, as many
  steps as the logarithm of the number of edges find the shortest of all. It
  takes as many additions as there are triples of nodes, node by node.
  """

  def __init__(self, out_size: int, *, use_ln: bool = True,
               name: str = 'edge'):
    super().__init__(out_size, use_ln=use_ln, name=name)
    self._legs = hk.Linear(2 * self._edge_size, name='legs')
    self._ways = hk.Linear(out_size, with_bias=False, name='ways')

  def prepare(self, node_fts: _Array, edge_fts: steps.EdgeFeatures,
              graph_fts: _Array, adj_mat: _Array,
              edge_list: Optional[steps.Connections] = None,
              node_mask: Optional[_Array] = None) -> _Context:
    """As that of `PGN`; there are no lists of pairs."""
    assert edge_list is None
    context = super().prepare(node_fts, edge_fts, graph_fts, adj_mat,
                              node_mask=node_mask)
    is_node = (jnp.ones(node_fts.shape[:2], bool) if node_mask is None
               else node_mask > 0.5)
    return dict(context, is_node=is_node, edge_mask=_flat_pairs(
        is_node[:, :, None] & is_node[:, None]))

  def share_of_entries(self, state: steps.State, context: _Context
                       ) -> Optional[_Array]:
    """All pairs have a state, unless there are nodes that are padding."""
    return (None if context['node_mask'] is None
            else super().share_of_entries(state, context))

  def _of_edges(self, edges: _Array, context: _Context) -> _Array:
    is_node = context['is_node']
    nb_nodes = is_node.shape[1]
    legs = jnp.reshape(self._legs(edges), (-1, nb_nodes, nb_nodes,
                                           2 * self._edge_size))
    best = triplets.max_plus(*jnp.split(legs, 2, axis=-1), is_node)
    return super()._of_edges(edges, context) + _flat_pairs(self._ways(best))


def _flat_pairs(pairs: _Array) -> _Array:
  """[B, N * N, ...] of [B, N, N, ...]."""
  return jnp.reshape(pairs, (len(pairs), -1) + pairs.shape[3:])


def _connections(context: _Context) -> Tuple[
    Callable[[_Array, _Array], _Array], Callable[[_Array], _Array]]:
  """How nodes become pairs [B, E, F], and pairs become nodes again."""
  if 'senders' not in context:
    is_edge = context['is_edge']
    as_pairs = lambda flat: jnp.reshape(flat, is_edge.shape + flat.shape[2:])
    return (
        lambda receiver, sender: _flat_pairs(
            receiver[:, None] + sender[:, :, None]),
        lambda messages: layers.masked_max(as_pairs(messages), is_edge))
  senders, receivers = context['senders'], context['receivers']
  batch_size, nb_nodes, _ = context['is_edge'].shape
  # One more node for every graph receives what is no edge.
  segments = receivers + jnp.arange(batch_size)[:, None] * (nb_nodes + 1)

  def to_pairs(receiver, sender):
    pick = lambda x, places: jnp.take_along_axis(
        x, places[..., None], axis=1, mode='clip')
    return pick(receiver, receivers) + pick(sender, senders)

  def to_nodes(messages):
    maxima = layers.segment_max(
        jnp.reshape(messages, (-1, messages.shape[-1])),
        jnp.reshape(segments, -1), batch_size * (nb_nodes + 1))
    return jnp.reshape(
        maxima, (batch_size, nb_nodes + 1, -1))[:, :nb_nodes]

  return to_pairs, to_nodes


def state_shapes(batch_size: int, nb_nodes: int, nb_edges: int, out_size: int
                 ) -> steps.State:
  """What a state looks like, as `steps.state_shapes`."""
  return dict(
      nodes=steps.state_shapes(batch_size, nb_nodes, nb_edges, out_size),
      edges=jax.ShapeDtypeStruct(
          (batch_size, nb_edges, _edge_size(out_size)), jnp.float32))


def _edge_size(out_size: int) -> int:
  return max(1, out_size // 4)


STEPS = {kinds.PGN_EDGES: EdgePGN, kinds.EDGE: PairPGN}
