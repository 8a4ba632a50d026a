# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Differences of numbers as features, so that close ones can be told apart.

CLRS encodes a number by one linear layer, and a network that is to compare two
of them has to find out what is left of a difference behind layer norms. On
arrays four times as long as those of training, neighbouring keys differ by a
hundredth. Here the difference itself is an input, at several scales: the
steepest is close to the sign. That is more than the paper's encoders have.

With 'relative', the number of an edge is also compared with the least one that
comes in at its end, and with the least one that goes out at its beginning: the
lightest edge of a node is known as such.
"""

from typing import Optional, Sequence

import clrs
from dear_jax.networks import kinds
from dear_jax.networks import specs
import jax
import jax.numpy as jnp

_Array = jax.Array

# Of tanh. Keys and positions are between 0 and 1.
SLOPES = (1.0, 8.0, 64.0, 512.0)


def check(scalars: str) -> None:
  """Raises a ValueError unless numbers can be encoded so."""
  if scalars not in kinds.SCALARS:
    raise ValueError(f'scalars must be one of {", ".join(kinds.SCALARS)}, got '
                     f'{scalars!r}.')


def has_units(scalars: str) -> bool:
  """Whether the numbers of edges are in units of their graph."""
  return scalars in ('units', 'relative_units')


def of_net(scalars: str) -> str:
  """How a net encodes numbers; units are chosen before it gets any."""
  return {'units': 'differences', 'relative_units': 'relative'}.get(
      scalars, scalars)


def of_nodes(inputs: Sequence[clrs.DataPoint]) -> Optional[_Array]:
  """Between the numbers of every node and those of the graph.

  Args:
    inputs: The inputs of a batch.

  Returns:
    [B, N, K], or None if nodes or the graph have no numbers.
  """
  nodes = _numbers(inputs, clrs.Location.NODE)
  graph = _numbers(inputs, clrs.Location.GRAPH)
  return _at_scales([x - y[:, None] for x in nodes for y in graph])


def of_pairs(inputs: Sequence[clrs.DataPoint],
             pairs: Optional[_Array] = None, *,
             relative: bool = False) -> Optional[_Array]:
  """Between the numbers of both ends of every pair of nodes.

  Args:
    inputs: The inputs of a batch.
    pairs: [E], places in a flattened [B, N, N], if not all of them are wanted.
    relative: Whether to compare the numbers of edges, too.

  Returns:
    [B, N, N, K] or [E, K]: the first node's number less the second one's; if
    asked for, then the number of the edge less the least one that comes in at
    the second node, and less the least one that goes out at the first. None if
    there are no numbers.
  """
  nodes = _numbers(inputs, clrs.Location.NODE)
  above = _above_least(inputs) if relative else []
  if pairs is None:
    return _at_scales([*(x[:, :, None] - x[:, None] for x in nodes), *above])

  def on_list(x):
    nb_nodes = x.shape[1]
    flat = jnp.ravel(x)
    seconds = pairs // nb_nodes**2 * nb_nodes + pairs % nb_nodes
    return flat[pairs // nb_nodes] - flat[seconds]

  return _at_scales([*(on_list(x) for x in nodes),
                     *(jnp.ravel(x)[pairs] for x in above)])


def of_edges(inputs: Sequence[clrs.DataPoint], senders: _Array,
             receivers: _Array, nb_nodes: int,
             of_edge: Sequence[_Array] = (),
             adj: Optional[_Array] = None) -> Optional[_Array]:
  """As `of_pairs`, of nodes that are named by their numbers.

  Args:
    inputs: The inputs of a batch of one.
    senders: [E], the first node of every pair.
    receivers: [E], the second one; it may be beyond all nodes.
    nb_nodes: How many nodes there are.
    of_edge: [E] each, the numbers of edges, if they are to be compared.
    adj: [E], 0 where a pair is there for messages alone, and is no edge.

  Returns:
    [E, K], or None if there are no numbers.
  """
  pick = lambda x, places: jnp.ravel(x).at[places].get(mode='clip')
  is_edge = (senders != receivers) & (receivers < nb_nodes)
  if adj is not None:
    is_edge &= adj > 0.5
  def above_least(x, ends):
    least = jnp.full(nb_nodes, jnp.inf).at[ends].min(
        jnp.where(is_edge, x, jnp.inf), mode='drop')
    return jnp.where(is_edge, x - pick(least, ends), 0.0)

  return _at_scales([
      *(pick(x, senders) - pick(x, receivers)
        for x in _numbers(inputs, clrs.Location.NODE)),
      *(above_least(x, ends) for x in of_edge
        for ends in (receivers, senders))])


def _above_least(inputs: Sequence[clrs.DataPoint]) -> Sequence[_Array]:
  """[B, N, N] each: numbers of edges less the least at either end."""
  found = []
  for x in _numbers(inputs, clrs.Location.EDGE):
    is_edge = ~jnp.eye(x.shape[1], dtype=bool)
    for probe in inputs:
      if (probe.location, probe.type_) == specs.EDGES:
        is_edge = is_edge & (probe.data > 0.5)
    for axis in (1, 2):  # what comes in, what goes out
      least = jnp.min(jnp.where(is_edge, x, jnp.inf), axis=axis, keepdims=True)
      found.append(jnp.where(is_edge, x - least, 0.0))
  return found


def _numbers(inputs: Sequence[clrs.DataPoint], location: str):
  return [x.data for x in inputs
          if x.location == location and x.type_ == clrs.Type.SCALAR]


def _at_scales(values: Sequence[_Array]) -> Optional[_Array]:
  """[..., K], the differences behind tanh, at every slope."""
  if not values:
    return None
  return jnp.stack([jnp.tanh(slope * x) for x in values for slope in SLOPES],
                   axis=-1)
