# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""How the numbers of a question are brought to where training has seen them.

None of this changes an answer. Shortest paths stay what they are if all weights
are multiplied by the same number; sorting, searching and spanning trees go by
the order of numbers alone.
"""

from typing import Dict, Optional

import numpy as np

_Array = np.ndarray

# Numbers that are drawn between 0 and 1 are further apart than one part in so
# many times the square of their count, in nineteen of twenty draws.
_CLOSE = 20


def scale_of_weights(greatest: _Array) -> _Array:
  """What to divide weights by, given the greatest ones.

  The greatest of several weights that are drawn between 0 and 1 is hardly ever
  below a quarter, so that 0.25 to 1 is what training has seen.
  """
  is_seen = (greatest <= 1) & ((greatest >= 0.25) | (greatest == 0))
  return np.where(is_seen, 1, greatest)


def scaled_weights(adj: _Array, by_order: bool = False) -> _Array:
  """Weights of graphs as training has seen them.

  Args:
    adj: [B, N, N], weights; 0 is no edge.
    by_order: Whether nothing but the order of the weights of a graph matters,
      whose edges have no direction.

  Returns:
    [B, N, N].
  """
  scaled = adj / scale_of_weights(adj.max(axis=(1, 2), keepdims=True))
  if by_order:
    for given, graph in zip(adj, scaled):
      senders, receivers = np.nonzero(np.triu(given))
      graph[senders, receivers] = graph[receivers, senders] = spaced(
          graph[senders, receivers], given[senders, receivers])
  return scaled


def scaled_keys(problems: Dict[str, _Array]) -> Dict[str, _Array]:
  """Keys of which nothing but the order matters, as training has seen them.

  Args:
    problems: `key` [B, N] and, if there is one, `target` [B].

  Returns:
    The same, with all of them between 0 and 1.
  """
  # A target comes first: one that is equal to a key is looked for before it.
  values = np.concatenate([
      np.reshape(problems[name], (len(problems['key']), -1))
      for name in ('target', 'key') if name in problems], axis=1)
  low = values.min(axis=1, keepdims=True)
  high = values.max(axis=1, keepdims=True)
  # N uniform keys leave as much room at the ends as between them.
  room = 1 / (values.shape[1] + 1)
  spread = np.where(high > low, high - low, 1)
  is_inside = (low >= 0) & (high <= 1)
  factor = np.where(is_inside, 1, (1 - 2 * room) / spread)
  scaled = values * factor + np.where(is_inside, 0, room - low * factor)
  values = np.array([spaced(*x) for x in zip(scaled, values)])
  if 'target' not in problems:
    return {'key': values}
  return {'key': values[:, 1:], 'target': values[:, 0]}


def scaled_signed_keys(keys: _Array) -> _Array:
  """Keys [B, N] that are summed up: they have a zero to keep."""
  return keys * (1 / np.maximum(np.abs(keys).max(axis=1, keepdims=True), 1))


def spaced(values: _Array, given: Optional[_Array] = None) -> _Array:
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

  Returns:
    [N], between 0 and 1 and in the same order, with equal ones in that in which
    they stand.
  """
  count = len(values)
  order = np.argsort(values if given is None else given, kind='stable')
  distances = np.diff(values[order])
  if not len(distances) or distances.min() >= 1 / (_CLOSE * count**2):
    return values
  result = np.empty(count)
  result[order] = np.arange(1, count + 1) / (count + 1)
  return result
