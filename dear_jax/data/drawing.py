# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""How the problems of tasks are drawn: graphs, sources, keys and targets.

A function gives the arguments of its task's algorithm for a whole batch. The
distributions are those of CLRS, unless another family of graphs is asked for.
The edges of all families are undirected: depth-first search and strongly
connected components get them with random directions, and shortest paths in
acyclic graphs from lower to higher random rank, as CLRS does.
"""

from typing import Dict

from dear_jax.data import algorithms
from dear_jax.data import graph_families
from dear_jax.data import graph_names
from dear_jax.data import streams
import numpy as np

_Array = np.ndarray
_Arrays = Dict[str, _Array]

# Edge probabilities of Erdos-Renyi graphs.
EDGE_PROBABILITIES = tuple(i / 10 for i in range(1, 10))

# CLRS' graphs with strongly connected components: so many communities, and the
# share of entries that is flipped afterwards.
_NB_COMMUNITIES = 4
_FLIP_PROBABILITY = 0.01


def _edges(draws: streams.Draws) -> _Array:
  """[B, N, N]: every entry an edge, with a probability of its sample's own."""
  p = np.array(EDGE_PROBABILITIES)[draws.integers(len(EDGE_PROBABILITIES))]
  return draws.booleans(p, draws.size, draws.size)


def _undirected(draws: streams.Draws) -> _Array:
  """An edge has to be drawn in both directions, so its probability is p^2."""
  edges = _edges(draws)
  return edges & edges.transpose(0, 2, 1)


def graph(draws: streams.Draws, family: str = graph_names.ER) -> _Arrays:
  return {'A': graph_families.draw(
      draws, family, _edges, graph_families.random_directions
  ).astype(np.int64)}


def graph_and_source(draws: streams.Draws, family: str = graph_names.ER
                     ) -> _Arrays:
  return {'A': graph_families.draw(draws, family, _undirected).astype(np.int64),
          's': draws.integers(draws.size)}


def weighted(draws: streams.Draws, family: str = graph_names.ER) -> _Arrays:
  return {'A': algorithms.symmetric_weights(
      graph_families.draw(draws, family, _undirected),
      draws.uniforms(draws.size, draws.size))}


def weighted_and_source(draws: streams.Draws, family: str = graph_names.ER
                        ) -> _Arrays:
  return {**weighted(draws, family), 's': draws.integers(draws.size)}


def acyclic_and_source(draws: streams.Draws, family: str = graph_names.ER
                       ) -> _Arrays:
  # Edges go from lower to higher rank, which are in no order of the nodes.
  rank = draws.uniforms(draws.size)
  edges = graph_families.draw(draws, family, _edges)
  edges = edges & (rank[:, :, None] < rank[:, None, :])
  return {'A': edges * draws.uniforms(draws.size, draws.size),
          's': draws.integers(draws.size)}


def communities(draws: streams.Draws, family: str = graph_names.ER) -> _Arrays:
  return {'A': graph_families.draw(
      draws, family, _community_edges, graph_families.random_directions
  ).astype(np.float64)}


def _community_edges(draws: streams.Draws) -> _Array:
  """Communities in a row, with a few entries flipped except backwards."""
  size = draws.size
  nb_communities = min(_NB_COMMUNITIES, size)
  community = np.minimum(np.arange(size) // (size // nb_communities),
                         nb_communities - 1).astype(np.int8)
  # The nodes stand in that row in no order.
  community = community[draws.uniforms(size).argsort(axis=1, kind='stable')]
  rows, columns = community[:, :, None], community[:, None, :]
  edges = _edges(draws) & (rows == columns)
  edges ^= draws.booleans(_FLIP_PROBABILITY, size, size) & (rows <= columns)
  return edges


def keys(draws: streams.Draws) -> _Arrays:
  return {'key': draws.uniforms(draws.size)}


def sorted_keys_and_target(draws: streams.Draws) -> _Arrays:
  keys = np.sort(draws.uniforms(draws.size), axis=1)
  target = draws.single()
  # A target beyond all keys would have no place in the array: it becomes the
  # last key, and the last key the target.
  last = keys[:, -1]
  keys[:, -1], target = np.maximum(last, target), np.minimum(last, target)
  return {'target': target, 'key': keys}
