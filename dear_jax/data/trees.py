# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Random trees, of which all labelled ones are alike."""

from dear_jax.data import kernels
from dear_jax.data import streams
import numpy as np


def ends(draws: streams.Draws) -> np.ndarray:
  """[B, N - 1, 2], both ends of every edge."""
  size = draws.size
  codes = (draws.uniforms(max(size - 2, 0)) * size).astype(np.int64)
  found = np.empty((len(codes), size - 1, 2), np.int64)
  decode(codes, np.empty(size, np.int64), found)
  return found


@kernels.kernel
def decode(codes, degree, found):
  """Decodes Pruefer codes [B, N - 2]; `degree` [N] is scratch."""
  batch_size, nb_edges = found.shape[:2]
  for b in range(batch_size):
    degree[:] = 1
    for i in range(nb_edges - 1):
      degree[codes[b, i]] += 1
    first = 0  # no node before it is a leaf that is left
    while degree[first] != 1:
      first += 1
    leaf = first
    for i in range(nb_edges - 1):
      node = codes[b, i]
      found[b, i, 0] = leaf
      found[b, i, 1] = node
      degree[node] -= 1
      if degree[node] == 1 and node < first:
        leaf = node
        continue
      first += 1
      while degree[first] != 1:
        first += 1
      leaf = first
    if nb_edges:  # the last node is never taken away
      found[b, nb_edges - 1, 0] = leaf
      found[b, nb_edges - 1, 1] = nb_edges
