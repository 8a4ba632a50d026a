# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Graphs and arrays for algorithms, with all that random ones seldom are."""

import numpy as np


def nb_graphs(size):
  """How many graphs of every kind; the reference takes up to size^3."""
  return max(2, min(24, 300 // size))


def graphs(size):
  """Batches of graphs, strange ones included, with and without weights."""
  rng = np.random.default_rng(size)
  batch = nb_graphs(size)
  shape = (batch, size, size)
  p = rng.choice([0.05, 0.2, 0.5, 0.9], size=(batch, 1, 1))
  directed = rng.random(shape) < p
  undirected = directed & directed.transpose(0, 2, 1)
  order = rng.permutation(size)
  acyclic = np.triu(directed, k=1)[:, order][:, :, order]
  path = np.zeros((size, size), bool)
  path[order[:-1], order[1:]] = True
  cycle = path.copy()
  cycle[order[-1], order[0]] = True
  star = np.zeros((size, size), bool)
  star[order[0]] = star[:, order[0]] = True
  half = np.arange(size) < size // 2
  special = np.stack([
      np.zeros((size, size), bool), np.ones((size, size), bool),
      np.eye(size, dtype=bool), ~np.eye(size, dtype=bool), path, path | path.T,
      cycle, cycle | cycle.T, star, half[:, None] == half,
      half[:, None] & ~half])
  edges = np.concatenate([directed, undirected, acyclic, special])
  yield edges.astype(np.int64)
  weights = rng.random(edges.shape)
  yield edges * weights
  yield edges * np.sqrt(weights * weights.transpose(0, 2, 1) + 1e-3)
  # Few different weights, so that many paths are equally long; all of them
  # exact in binary, so that sums are too.
  yield edges * rng.choice([0.25, 0.5, 1.0], size=edges.shape)
  equal = np.triu(rng.choice([0.5, 1.0], size=edges.shape))
  yield edges * np.maximum(equal, equal.transpose(0, 2, 1))


def arrays(size):
  """Batches of keys, with equal ones."""
  rng = np.random.default_rng(size)
  batch = 8 * nb_graphs(size)
  yield rng.random((batch, size))
  yield rng.choice([0.0, 0.25, 0.5], size=(batch, size))
  yield np.stack([np.zeros(size), np.arange(size) / size,
                  -np.arange(size) / size])
