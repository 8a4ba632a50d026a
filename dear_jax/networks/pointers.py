# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Which nodes a pointer can be, and logits that leave the others out."""

import functools
from typing import FrozenSet, Sequence, Union

import clrs
from dear_jax.networks import padding
from dear_jax.networks import specs
import jax
import jax.numpy as jnp

_Array = jax.Array

# None decides by the task, True and False for all pointers alike; 'nodes' is
# None without the pointers of edges.
Rule = Union[bool, str, None]

NODES = 'nodes'
_RULES = (None, True, False, NODES)

NO_EDGE = padding.NEVER


def lie_on_edges(spec: clrs.Spec) -> bool:
  """Whether every pointer of the task's solution is an edge or a self-loop.

  That is so for the predecessor trees `pi` of bfs, dfs, bellman_ford,
  dijkstra, dag_shortest_paths, mst_prim and of the local variant of strongly
  connected components. It is so for the predecessors `Pi[i, j]` on the paths
  from i to j of floyd_warshall, which are i or have an edge to j. It is not for
  the order of a topological sort or for the representatives of strongly
  connected components.

  Args:
    spec: The spec of the task.

  Returns:
    Whether pointers may be restricted.
  """
  return bool(restricted_locations(spec, None))


def restricts(spec: clrs.Spec, rule: Rule) -> bool:
  """Whether pointers of a task are chosen among edges and self-loops.

  Args:
    spec: The spec of the task.
    rule: As in `restricted_locations`.

  Returns:
    Whether any are.
  """
  return bool(restricted_locations(spec, rule))


def restricted_locations(spec: clrs.Spec, rule: Rule) -> FrozenSet[str]:
  """Where the pointers of a task are that are restricted.

  Args:
    spec: The spec of the task.
    rule: Whether they are to be; None decides by `lie_on_edges`, and 'nodes' is
      what None was before pointers of edges could be restricted.

  Returns:
    Of `clrs.Location.NODE` and `clrs.Location.EDGE` both, one or none.

  Raises:
    ValueError: if there is no such rule.
  """
  if rule not in _RULES:
    raise ValueError('restrict_pointers must be one of '
                     f'{", ".join(map(str, _RULES))}, got {rule!r}.')
  known = {clrs.Location.NODE: 'pi', clrs.Location.EDGE: 'Pi'}
  if rule is True:
    return frozenset(known)
  if rule is False or not specs.has_graph(spec):
    return frozenset()
  if rule == NODES:
    del known[clrs.Location.EDGE]
  return frozenset(
      location for location, name in known.items()
      if spec.get(name) == (clrs.Stage.OUTPUT, location, clrs.Type.POINTER))


def restrict_nodes(logits: _Array, adj_mat: _Array) -> _Array:
  """Leaves a node its edges, in either direction, and itself.

  Args:
    logits: [B, N, N], of every node for each node.
    adj_mat: [B, N, N], symmetric and with self-loops, as messages pass.

  Returns:
    The logits, with -1e9 for all others.
  """
  return jnp.where(adj_mat > 0.5, logits, NO_EDGE)


def restrict_edges(logits: _Array, inputs: Sequence[clrs.DataPoint]) -> _Array:
  """Leaves a pair (i, j) the node i and the nodes with an edge to j.

  Args:
    logits: [B, N, N, N], of every pair for each node.
    inputs: The inputs of the task. Edges have the direction that they have
      there, which that of messages has not.

  Returns:
    The logits, with -1e9 for all others.
  """
  masks = [x.data > 0 for x in inputs if x.location == clrs.Location.EDGE
           and x.type_ == clrs.Type.MASK]
  if not masks:
    return logits  # an array, in which all nodes are connected
  edges = functools.reduce(jnp.logical_or, masks)
  is_first = jnp.eye(logits.shape[1], dtype=bool)[:, None]  # [i, 1, k]
  has_edge = jnp.swapaxes(edges, 1, 2)[:, None]  # [B, 1, j, k]
  return jnp.where(is_first | has_edge, logits, NO_EDGE)
