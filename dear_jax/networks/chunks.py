# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Long lists of edges, some thousands of them at a time.

What a step computes on edges is as wide as its states, and several times that
while it is at work. A graph of a hundred thousand nodes has a million edges, so
that all of it at once would be gigabytes. Of a chunk it is megabytes, which is
also what caches hold.
"""

from typing import Any, Callable, NamedTuple, Optional, Tuple

from dear_jax.networks import layers
import haiku as hk
import jax
import jax.numpy as jnp

_Array = jax.Array
_Tree = Any

# Edges in a chunk: what fits into the caches of two cores. Of 2,048, XLA takes
# the operations apart that it fuses of 4,096.
SIZE = 4096


class Chunks(NamedTuple):
  """The edges of packed graphs, in the order of their receivers.

  Entries that are no edges are at the end. They have a receiver beyond all
  nodes.
  """
  senders: _Array  # [K, C]
  receivers: _Array  # [K, C]
  nb_used: _Array  # [], how many chunks have edges at all

  @property
  def nb_entries(self) -> int:
    """How many entries there are, K * C."""
    return self.senders.shape[0] * self.senders.shape[1]

  def split(self, rows: _Array) -> _Array:
    """[K, C, F], of what entries have [..., F]."""
    return jnp.reshape(rows, self.senders.shape + rows.shape[-1:])

  def each(self, fun: Callable[..., Tuple[_Tree, _Tree]], carry: _Tree,
           rows: _Tree, *given: _Tree) -> Tuple[_Tree, _Tree]:
    """Goes through the chunks that have edges.

    Args:
      fun: Maps the carry, the rows of a chunk, its senders and receivers [C],
        and its part of what is given, to the next carry and to new rows.
      carry: What is handed on from chunk to chunk.
      rows: A tree of arrays [K, C, ...]. The new ones take their place.
      *given: More trees of such arrays, which stay as they are.

    Returns:
      The last carry and the rows.
    """
    def at(k, state):
      carry, rows = state
      take = lambda tree: jax.tree_util.tree_map(
          lambda x: jax.lax.dynamic_index_in_dim(x, k, keepdims=False), tree)
      carry, new = fun(carry, *take((rows, self.senders, self.receivers,
                                     *given)))
      put = lambda x, y: jax.lax.dynamic_update_index_in_dim(x, y, k, 0)
      return carry, jax.tree_util.tree_map(put, rows, new)

    if len(self.senders) == 1:
      return at(0, (carry, rows))
    return hk.fori_loop(0, self.nb_used, at, (carry, rows))


class Constants(NamedTuple):
  """What messages are made of beside the states: a sum, never taken."""
  receiver: _Array  # [B, N, F]
  sender: _Array  # [B, N, F]
  columns: _Array  # [K, C, few], of edges
  weights: _Array  # [few, F]


def constants(edge_list: Any, receiver: _Array, sender: _Array, edge_fts: Any,
              linear: Callable[[_Array], _Array]) -> Constants:
  """Makes the constants of messages.

  Args:
    edge_list: The edges, as `Chunks`.
    receiver: [B, N, F], what receivers contribute.
    sender: [B, N, F], what senders contribute.
    edge_fts: [E, F], features of the edges, as `layers.LowRank`.
    linear: The layer that messages see them through.

  Returns:
    The constants.
  """
  bias = linear(jnp.zeros_like(edge_fts.weights[:1]))
  return Constants(receiver + bias, sender, edge_list.split(edge_fts.inputs),
                   linear(edge_fts.weights) - bias)


def pass_messages(
    edge_list: Chunks, constant: Constants, receiver: _Array, sender: _Array,
    message: Callable[..., Tuple[_Array, Optional[_Array]]],
    edges: Optional[_Array] = None) -> Tuple[_Array, Optional[_Array]]:
  """The maxima of the messages that nodes receive.

  Args:
    edge_list: The edges.
    constant: From `constants`.
    receiver: [1, N, F], what the states of receivers contribute.
    sender: [1, N, F], what those of senders contribute.
    message: Maps the sum of all contributions [C, F], the states of edges
      [C, F'] and which of them are edges [C] to messages [C, F] and new states.
    edges: [1, E, F'], the states of edges, if they have some.

  Returns:
    [1, N, F], and the new states.
  """
  receiver = (constant.receiver + receiver)[0]
  sender = (constant.sender + sender)[0]
  nb_nodes = len(receiver)
  pick = lambda x, places: x.at[places].get(mode='clip')

  def of_chunk(maxima, states, senders, receivers, columns):
    # Gathered and added in one go: two arrays less to be written and read.
    of_nodes = jax.lax.optimization_barrier(
        pick(receiver, receivers) + pick(sender, senders))
    messages, states = message(columns @ constant.weights + of_nodes, states,
                               receivers < nb_nodes)
    maxima = maxima.at[receivers].max(messages, mode='drop',
                                      indices_are_sorted=True)
    return maxima, states

  nothing = jnp.full_like(receiver, -layers.BIG_NUMBER)
  states = None if edges is None else edge_list.split(edges)
  maxima, states = edge_list.each(of_chunk, nothing, states, constant.columns)
  if edges is not None:
    edges = jnp.reshape(states, edges.shape)
  return maxima[None], edges
