# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Graphs as lists of their edges.

Most pairs of nodes are not connected: in the paper's undirected graphs two
thirds of them. A list holds the edges of a whole batch, whose nodes are
numbered through; it is made on the host and padded to one of few lengths, since
every length is compiled for.
"""

import functools
from typing import Callable, Iterable, NamedTuple, Optional, Tuple, Union

import clrs
import jax
import jax.numpy as jnp
import numpy as np

_Array = jax.Array


class EdgeList(NamedTuple):
  """The edges of a batch of graphs, ordered by their receivers.

  Entries that are no edges have a receiver of B * N, which is no node. They are
  at the end of the list, or of the part of each graph if it is uniform.
  """
  senders: _Array  # [E], b * N + i
  receivers: _Array  # [E], b * N + j
  pairs: _Array  # [E], the place of (b, i, j) in a flattened [B, N, N]


class Neighbours(NamedTuple):
  """One graph for all instances, in which every node has D neighbours."""
  senders: Union[_Array, np.ndarray]  # [D, N], the nodes that send to each


def from_inputs(inputs: Iterable[clrs.DataPoint],
                size: Optional[int] = None,
                fine: bool = False,
                length_for: Optional[Callable[[int], int]] = None,
                uniform: bool = False) -> EdgeList:
  """Lists the pairs between which messages pass.

  As in CLRS' adjacency matrices, these are edges in either direction and
  self-loops.

  Args:
    inputs: The inputs of a task that has a graph and no pointers.
    size: How many nodes to number every graph with, if it is to have nodes
      without edges at its end.
    fine: As in `padded_length`.
    length_for: How long a list of so many edges is to be, in place of that.
    uniform: Whether all graphs are to have as many entries, for `by_instance`.
      Then both go by the edges of the largest graph.

  Returns:
    The list, in numpy arrays.
  """
  masks = [np.asarray(x.data) > 0 for x in inputs
           if x.location == clrs.Location.EDGE and x.type_ == clrs.Type.MASK]
  connected = np.any(masks, axis=0)
  nb_nodes = size or connected.shape[1]
  # By receiver, and without asking whether it was (i, j) or (j, i).
  connected = connected | connected.transpose(0, 2, 1)
  connected |= np.eye(connected.shape[1], dtype=bool)
  graph, receivers, senders = np.nonzero(connected)
  if length_for is None:
    length_for = functools.partial(padded_length, fine=fine)
  if uniform:
    counts = np.bincount(graph, minlength=len(connected))
    room = length_for(int(max(counts)))
    length = len(connected) * room
    firsts = np.cumsum(counts) - counts
    places = np.arange(len(graph)) + (
        np.arange(len(connected)) * room - firsts)[graph]
  else:
    length = length_for(len(graph))
    places = np.arange(len(graph))
  def pad(values, value):
    result = np.full(length, value, np.int32)
    result[places] = values
    return result
  return EdgeList(
      senders=pad(graph * nb_nodes + senders, 0),
      receivers=pad(graph * nb_nodes + receivers, len(connected) * nb_nodes),
      pairs=pad((graph * nb_nodes + senders) * nb_nodes + receivers, 0))


def by_instance(edge_list: EdgeList, batch_size: int, nb_nodes: int
                ) -> Tuple[_Array, _Array, _Array]:
  """A uniform list, cut into those of its graphs.

  Args:
    edge_list: A list in which all graphs have as many entries.
    batch_size: How many graphs there are.
    nb_nodes: Nodes of each.

  Returns:
    Senders, receivers and which entries are edges, [B, E]. Nodes are numbered
    from 0 on in every graph; what is no edge has a receiver of N.
  """
  is_edge = edge_list.receivers < batch_size * nb_nodes
  parts = (edge_list.senders % nb_nodes,
           jnp.where(is_edge, edge_list.receivers % nb_nodes, nb_nodes),
           is_edge)
  senders, receivers, is_edge = (
      jnp.reshape(x, (batch_size, -1)) for x in parts)
  return senders, receivers, is_edge


def to_matrix(edge_list: EdgeList, values: _Array, batch_size: int,
              nb_nodes: int) -> _Array:
  """What edges have, [B, N, N, F]; zeros where there is none.

  Args:
    edge_list: The edges.
    values: Their values; as many as there are entries, along any axes, but for
      the last one.
    batch_size: How many graphs there are.
    nb_nodes: Nodes of each.

  Returns:
    The values of all pairs.
  """
  rows = jnp.reshape(values, (-1, values.shape[-1]))
  is_edge = edge_list.receivers < batch_size * nb_nodes
  places = jnp.where(is_edge, edge_list.pairs, batch_size * nb_nodes**2)
  matrix = jnp.zeros((batch_size * nb_nodes**2, rows.shape[-1]), rows.dtype)
  return jnp.reshape(matrix.at[places].set(rows, mode='drop'),
                     (batch_size, nb_nodes, nb_nodes, -1))


def fits(edge_list: EdgeList, wanted: _Array, nb_nodes: int, size: int
         ) -> _Array:
  """Whether `take` has room for the edges of all wanted instances.

  Args:
    edge_list: The edges of all.
    wanted: [B], the instances in question.
    nb_nodes: Nodes of an instance.
    size: How many instances are to be taken.

  Returns:
    A truth value.
  """
  graphs = edge_list.receivers // nb_nodes
  is_wanted = wanted.at[graphs].get(mode='fill', fill_value=False)
  return jnp.sum(is_wanted) <= _room(edge_list, size, len(wanted), nb_nodes)


def without_overflow(edge_list: EdgeList, instances: _Array, batch_size: int,
                     nb_nodes: int) -> _Array:
  """The instances, with fillers in place of the last ones if need be.

  Args:
    edge_list: The edges of all.
    instances: [K], as `take` takes them.
    batch_size: How many there are in all.
    nb_nodes: Nodes of an instance.

  Returns:
    [K], instances whose edges `take` has room for.
  """
  counts = jnp.zeros(batch_size, int).at[
      edge_list.receivers // nb_nodes].add(1, mode='drop')
  counts = counts.at[instances].get(mode='fill', fill_value=0)
  room = _room(edge_list, len(instances), batch_size, nb_nodes)
  return jnp.where(jnp.cumsum(counts) <= room, instances, batch_size)


def without_overflow_of_one(is_edge: _Array, instances: _Array) -> _Array:
  """As `without_overflow`, for the list that one device would have.

  Args:
    is_edge: [B, N, N], all edges.
    instances: As there.

  Returns:
    As there.
  """
  batch_size, nb_nodes, _ = is_edge.shape
  counts = jnp.sum(is_edge, axis=(1, 2))
  # As `padded_length`, which is computed on the host.
  total = jnp.sum(counts, dtype=jnp.int32)
  power = jnp.left_shift(1, 32 - jax.lax.clz(total - 1))
  unit = jnp.maximum(1, power // 4)
  length = -(-total // unit) * unit
  room = jnp.minimum(length, jnp.maximum(
      length * len(instances) // batch_size, nb_nodes**2))
  counts = counts.at[instances].get(mode='fill', fill_value=0)
  return jnp.where(jnp.cumsum(counts) <= room, instances, batch_size)


def take(edge_list: EdgeList, instances: _Array, batch_size: int, nb_nodes: int
         ) -> Tuple[EdgeList, _Array]:
  """The edges of some instances.

  Args:
    edge_list: The edges of all.
    instances: [K], in ascending order; those beyond the batch get no edges.
    batch_size: How many there are in all.
    nb_nodes: Nodes of an instance.

  Returns:
    Their list, shorter in proportion, and from where its rows are taken. Edges
    that it has no room for are missing, which `fits` tells.
  """
  size = len(instances)
  length = _room(edge_list, size, batch_size, nb_nodes)
  graphs = edge_list.receivers // nb_nodes
  new_graph_of = jnp.full(batch_size, size).at[instances].set(
      jnp.arange(size), mode='drop')
  new_graphs = new_graph_of.at[graphs].get(mode='fill', fill_value=size)
  rows, = jnp.nonzero(new_graphs < size, size=length,
                      fill_value=len(graphs))
  pick = lambda x, beyond: x.at[rows].get(mode='fill', fill_value=beyond)
  graphs = pick(new_graphs, size)
  is_edge = graphs < size
  senders, receivers, pairs = (
      jnp.where(is_edge, pick(x, 0) % span + graphs * span, beyond)
      for x, span, beyond in (
          (edge_list.senders, nb_nodes, 0),
          (edge_list.receivers, nb_nodes, size * nb_nodes),
          (edge_list.pairs, nb_nodes**2, 0)))
  return EdgeList(senders, receivers, pairs), rows


def _room(edge_list: EdgeList, size: int, batch_size: int, nb_nodes: int
          ) -> int:
  """How many edges some instances may have; any single one has room."""
  length = len(edge_list.receivers)
  return min(length, max(length * size // batch_size, nb_nodes**2))


def padded_length(length: int, fine: bool = False) -> int:
  """The least permitted length that is not smaller.

  Args:
    length: How many edges there are.
    fine: Whether 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, ... are permitted, or
      only 2, 3, 4, 6, 8, 12, 16, ...: less padding, or fewer programs.

  Returns:
    How long the list is to be.
  """
  power = 1 << max(1, (length - 1).bit_length())
  unit = max(1, power // (8 if fine else 4))
  return max(2, -(-length // unit) * unit)
