# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Small random graphs with features, and a task for every part of a net."""

from typing import NamedTuple

import clrs
import jax.numpy as jnp
import numpy as np


class Graphs(NamedTuple):
  """The arguments of a processor, in its order."""
  node_fts: jnp.ndarray  # [B, N, F]
  edge_fts: jnp.ndarray  # [B, N, N, F]
  graph_fts: jnp.ndarray  # [B, F]
  adj_mat: jnp.ndarray  # [B, N, N]
  hidden: jnp.ndarray  # [B, N, F]


def random_graphs(batch_size=3, nb_nodes=5, width=8, seed=0,
                  dtype=np.float32) -> Graphs:
  rng = np.random.RandomState(seed)
  adj = rng.rand(batch_size, nb_nodes, nb_nodes) < 0.3
  adj = adj | adj.transpose(0, 2, 1) | np.eye(nb_nodes, dtype=bool)
  draw = lambda *shape: rng.randn(*shape)
  graphs = Graphs(
      node_fts=draw(batch_size, nb_nodes, width),
      edge_fts=draw(batch_size, nb_nodes, nb_nodes, width),
      graph_fts=draw(batch_size, width),
      adj_mat=adj,
      hidden=np.zeros((batch_size, nb_nodes, width)))
  return Graphs(*[jnp.asarray(x, dtype) for x in graphs])


_INPUT, _OUTPUT = clrs.Stage.INPUT, clrs.Stage.OUTPUT
_NODE, _EDGE, _GRAPH = (clrs.Location.NODE, clrs.Location.EDGE,
                        clrs.Location.GRAPH)

# Inputs on nodes, edges and the graph; outputs that read nodes and edges.
SPEC = {
    'pos': (_INPUT, _NODE, clrs.Type.SCALAR),
    'weight': (_INPUT, _EDGE, clrs.Type.SCALAR),
    'level': (_INPUT, _GRAPH, clrs.Type.SCALAR),
    'adj': (_INPUT, _EDGE, clrs.Type.MASK),
    'pi': (_OUTPUT, _NODE, clrs.Type.POINTER),
    'heavy': (_OUTPUT, _EDGE, clrs.Type.MASK),
}


def feedback(batch_size=2, nb_nodes=4, seed=0, nb_hints=1) -> clrs.Feedback:
  """A batch of a made-up task with the spec above."""
  rng = np.random.RandomState(seed)
  adj = rng.rand(batch_size, nb_nodes, nb_nodes) < 0.5
  adj = adj | adj.transpose(0, 2, 1)
  data = dict(
      pos=rng.rand(batch_size, nb_nodes),
      weight=rng.rand(batch_size, nb_nodes, nb_nodes),
      level=rng.rand(batch_size),
      adj=adj,
      # The first neighbour; a node without any points to itself.
      pi=np.argmax(adj | np.eye(nb_nodes, dtype=bool), axis=-1),
      heavy=rng.rand(batch_size, nb_nodes, nb_nodes) < 0.5)
  probes = {
      name: clrs.DataPoint(name, location, type_,
                           data[name].astype(np.float64))
      for name, (_, location, type_) in SPEC.items()}
  hints = (clrs.DataPoint('pi_h', _NODE, clrs.Type.POINTER,
                          np.zeros((nb_hints, batch_size, nb_nodes))),)
  pick = lambda stage: tuple(p for name, p in probes.items()
                             if SPEC[name][0] == stage)
  features = clrs.Features(inputs=pick(_INPUT), hints=hints,
                           lengths=np.full((batch_size,), float(nb_hints)))
  return clrs.Feedback(features=features, outputs=pick(_OUTPUT))
