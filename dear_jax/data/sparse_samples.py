# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Samples of tasks on graphs without matrices, as one would ask about them."""

from typing import Any, Dict, List, NamedTuple, Optional

from dear_jax.data import sparse_algorithms
from dear_jax.data import sparse_families
from dear_jax.data import streams
import numpy as np

_Array = np.ndarray

# The tasks that are drawn here: undirected, with a source, and solved without
# a matrix.
TASKS = ('bellman_ford', 'bfs', 'dijkstra', 'mst_prim')
_WEIGHTED = ('bellman_ford', 'dijkstra', 'mst_prim')


class SparseBatch(NamedTuple):
  """Some samples.

  Attributes:
    questions: One a sample: the arguments of a reasoner, with `adj` as a
      `sparse_graphs.SparseGraph` and `source` as a number. A reasoner takes the
      whole list, too.
    outputs: What the algorithm answers to each, by the names of CLRS.
  """
  questions: List[Dict[str, Any]]
  outputs: List[Dict[str, _Array]]


def check(task: str, graphs: str, mean_degree: Optional[float]) -> None:
  """Raises a ValueError unless such samples can be drawn."""
  if task not in TASKS:
    raise ValueError(f'sparse=True is for {", ".join(TASKS)}, not for '
                     f'{task!r}.')
  if graphs not in sparse_families.FAMILIES:
    raise ValueError(
        f'graphs={graphs} has up to 81 % of all pairs of nodes as edges; with '
        'sparse=True choose from '
        f'{", ".join(sparse_families.FAMILIES)}.')
  if mean_degree is None:
    return
  if graphs != 'sparse_er':
    raise ValueError('mean_degree is for graphs=sparse_er, not for '
                     f'graphs={graphs}.')
  if (not isinstance(mean_degree, (int, float, np.number))
      or isinstance(mean_degree, bool) or not 0 < mean_degree < np.inf):
    raise ValueError(f'mean_degree must be a number above 0, got '
                     f'{mean_degree!r}.')


def sample(task: str, draws: streams.Draws, graphs: str,
           mean_degree: Optional[float] = None) -> SparseBatch:
  """Draws samples, one graph at a time.

  Args:
    task: One of `TASKS`.
    draws: Where random numbers come from.
    graphs: One of `sparse_families.FAMILIES`.
    mean_degree: As in `sparse_families.draw`.

  Returns:
    The samples.
  """
  questions, outputs = [], []
  for row in range(draws.batch_size):
    alone = draws.alone(row)
    graph = sparse_families.draw(alone, graphs, mean_degree)
    if task in _WEIGHTED:
      count = len(graph.senders) // 2
      uniforms = alone.uniforms(2, count)[0]
      weights = np.sqrt(uniforms[0] * uniforms[1] + 1e-3)  # as CLRS has them
      graph = graph._replace(weights=np.concatenate([weights, weights]))
    source = int(alone.integers(alone.size)[0])
    questions.append(dict(adj=graph, source=source))
    outputs.append(sparse_algorithms.solve(task, graph, source))
  return SparseBatch(questions, outputs)
