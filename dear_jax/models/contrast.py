# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""The contrastive loss between the states of twins.

Two inputs whose execution is the same shall have the same states, node by node
(Rodionov and Prokhorenkova, Neural Algorithmic Reasoning Without Intermediate
Supervision, NeurIPS 2023). They compare the states of every step; an
equilibrium has one.
"""

from typing import Any

import jax
import jax.numpy as jnp

_Array = jax.Array

# Of cosines: a node is told from one whose state is at a right angle to its own
# with odds of e^10.
TEMPERATURE = 0.1


def originals(tree: Any) -> Any:
  """The samples of a batch in which rows 2i and 2i + 1 are twins."""
  return jax.tree_util.tree_map(lambda x: x[::2], tree)


def contrastive_loss(nodes: _Array, failed: _Array,
                     temperature: float = TEMPERATURE) -> _Array:
  """How hard it is to find the nodes of a sample among those of its twin.

  InfoNCE: for every node, the cross-entropy of finding the same node in the
  twin, by the cosine of their states, in both directions. It is found among the
  nodes of the twin alone: nodes of other samples may well be in the same
  situation, and shall then have the same state.

  Args:
    nodes: [2B, N, F], states; rows 2i and 2i + 1 are twins.
    failed: [2B], instances that count nothing, like their twins.
    temperature: Cosines are divided by it.

  Returns:
    A scalar: the mean over nodes, log(N) if all states are alike.
  """
  pairs = failed.reshape(-1, 2)
  is_sound = ~jnp.any(pairs, axis=1)
  # Zeros, and not only a weight of 0: a gradient of 0 times NaN is none.
  nodes = jnp.where(jnp.repeat(is_sound, 2)[:, None, None], nodes, 0)
  square = jnp.sum(jnp.square(nodes), axis=-1, keepdims=True)
  unit = nodes * jax.lax.rsqrt(square + jnp.finfo(nodes.dtype).eps)
  cosines = jnp.einsum('bif,bjf->bij', unit[::2], unit[1::2]) / temperature
  same = jnp.diagonal(cosines, axis1=1, axis2=2)
  entropy = (jax.nn.logsumexp(cosines, axis=2)
             + jax.nn.logsumexp(cosines, axis=1)) / 2 - same
  return jnp.sum(jnp.where(is_sound, jnp.mean(entropy, axis=1), 0)
                 ) / jnp.maximum(jnp.sum(is_sound), 1)
