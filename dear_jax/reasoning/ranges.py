# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""How the numbers of a question are brought to where training has seen them.

None of this changes an answer. Shortest paths stay what they are if all weights
are multiplied by the same number, and ties stay ties if that is a power of two,
which rounds nothing; sorting, searching and spanning trees go by the order of
numbers alone.
"""

from typing import Dict, Optional

import numpy as np

_Array = np.ndarray

# Numbers that are drawn between 0 and 1 are further apart than one part in so
# many times the square of their count, in nineteen of twenty draws.
_CLOSE = 20

# The least weight that is given to a network, where the greatest are about 1:
# there are eight more powers of ten in single precision.
LEAST_WEIGHT = 1e-30
TOO_WIDE = f'must not have weights below {LEAST_WEIGHT:g} of the greatest one'


def scaled(weights: _Array, greatest: _Array) -> _Array:
  """Weights of graphs divided by a power of two, given the greatest ones.

  The greatest of several weights that are drawn between 0 and 1 is hardly ever
  below a quarter, so that 0.25 to 1 is what training has seen.
  """
  is_seen = (greatest <= 1) & ((greatest >= 0.25) | (greatest == 0))
  mantissa, exponent = np.frexp(greatest)
  exponent = exponent - (mantissa == 0.5)  # a power of two becomes 1
  return np.ldexp(weights, np.where(is_seen, 0, -exponent))


def scaled_weights(adj: _Array, by_order: bool = False) -> _Array:
  """Weights of graphs as training has seen them.

  Args:
    adj: [B, N, N], weights; 0 is no edge.
    by_order: Whether nothing but the order of the weights of a graph matters,
      whose edges have no direction.

  Returns:
    [B, N, N].
  """
  loops = np.diagonal(adj, axis1=1, axis2=2)
  others = adj * ~np.eye(adj.shape[1], dtype=bool)
  greatest = greatest_of(others.max(axis=(1, 2), keepdims=True),
                         loops.max(axis=1)[:, None, None])
  lightest = np.where(others > 0, others, np.inf).min(axis=2)
  result = scaled(others, greatest)
  nodes = np.arange(adj.shape[1])
  result[:, nodes, nodes] = scaled_loops(loops, lightest, greatest[..., 0])
  if by_order:
    for given, graph in zip(adj, result):
      senders, receivers = np.nonzero(np.triu(given, 1))
      graph[senders, receivers] = graph[receivers, senders] = spaced(
          graph[senders, receivers], given[senders, receivers],
          LEAST_WEIGHT)
  return result


def greatest_of(others: _Array, loops: _Array) -> _Array:
  """What weights of graphs are measured by.

  Args:
    others: The greatest weights of edges between two nodes; 0 without any.
    loops: Those of edges from a node to itself.

  Returns:
    The greatest of both where training has seen such; otherwise loops do not
    count, unless there is nothing else.
  """
  both = np.maximum(others, loops)
  # One of few edges may well be below a quarter, but not by much.
  is_seen = (both <= 1) & (both >= 0.25) & (others >= 1 / 32)
  return np.where(is_seen | (others == 0), both, others)


def scaled_loops(loops: _Array, lightest: _Array, greatest: _Array) -> _Array:
  """Weights of edges from nodes to themselves, beside those of all others.

  The only one who looks at loops is Floyd-Warshall's algorithm, which asks
  whether one is heavier than to go to the nearest neighbour and back. So one
  that is heavier than all that training has seen can be made three times as
  heavy as the way there.

  Args:
    loops: [..., N], the weights; 0 is no edge.
    lightest: [..., N], of the other edges of every node; infinity if it has
      none.
    greatest: [..., 1], what the graph is measured by.

  Returns:
    [..., N], scaled as the other edges are.
  """
  nearest = np.where(np.isfinite(lightest), lightest, 0)
  with np.errstate(over='ignore'):  # what is infinity is no bound
    most = np.maximum(1 / scaled(np.ones(()), greatest), 3 * nearest)
  result = scaled(np.minimum(loops, most), greatest)
  return np.where(loops > 0, np.maximum(result, LEAST_WEIGHT), 0)


def scaled_keys(problems: Dict[str, _Array]) -> Dict[str, _Array]:
  """Keys of which nothing but the order matters, as training has seen them.

  Args:
    problems: `key` [B, N] and, if there is one, `target` [B].

  Returns:
    The same, with all of them between 0 and 1.
  """
  # A target comes first: one that is equal to a key is looked for before it.
  given = np.concatenate([
      np.reshape(problems[name], (len(problems['key']), -1))
      for name in ('target', 'key') if name in problems], axis=1)
  greatest = np.abs(given).max(axis=1, keepdims=True)
  # So that no difference overflows.
  values = np.where(greatest > 1, scaled(given, greatest), given)
  low = values.min(axis=1, keepdims=True)
  high = values.max(axis=1, keepdims=True)
  # N uniform keys leave as much room at the ends as between them.
  room = 1 / (values.shape[1] + 1)
  spread = np.where(high > low, high - low, 1)
  is_inside = (low >= 0) & (greatest <= 1)
  factor = np.where(is_inside, 1, (1 - 2 * room) / spread)
  values = values * factor + np.where(is_inside, 0, room - low * factor)
  values = np.array([spaced(*x) for x in zip(values, given)])
  if 'target' not in problems:
    return {'key': values}
  return {'key': values[:, 1:], 'target': values[:, 0]}


def scaled_signed_keys(keys: _Array) -> _Array:
  """Keys [B, N] that are summed up: they have a zero to keep."""
  greatest = np.abs(keys).max(axis=1, keepdims=True)
  return np.where(greatest > 1, scaled(keys, greatest), keys)


def spaced(values: _Array, given: Optional[_Array] = None,
           least: float = 0.0) -> _Array:
  """Numbers at equal distances, if some are closer than those of training.

  A network hardly sees the difference between numbers that are nearly equal,
  and has never seen any that are.

  >>> spaced(np.array([0.5, 0.1, 0.9]))
  array([0.5, 0.1, 0.9])
  >>> spaced(np.array([0.5, 0.1, 0.5, 0.9]))
  array([0.4, 0.2, 0.6, 0.8])

  Args:
    values: [N], between 0 and 1.
    given: [N], the same before they were brought between 0 and 1, where numbers
      that differ may have become equal.
    least: What all of them have to be, for them to stay as they are.

  Returns:
    [N], between 0 and 1 and in the same order, with equal ones in that in which
    they stand.
  """
  count = len(values)
  order = np.argsort(values if given is None else given, kind='stable')
  distances = np.diff(values[order])
  if not count or (values.min() >= least and distances.min(initial=1)
                   >= 1 / (_CLOSE * count**2)):
    return values
  result = np.empty(count)
  result[order] = np.arange(1, count + 1) / (count + 1)
  return result
