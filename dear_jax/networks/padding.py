# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Nodes that are none: what decoders have to do to leave them out exactly.

A batch with such nodes has a `node_mask` [B, N], which is 0 there. Steps see to
it that they send no messages; here they are kept from being chosen, from being
pooled, and from taking part in a permutation.
"""

from typing import Any, Tuple

import clrs
from dear_jax.networks import clrs_private
import jax
import jax.numpy as jnp

_Array = jax.Array

# A finite stand-in for minus infinity: its softmax is exactly zero, and its
# product with a zero of a one-hot target is no NaN.
NEVER = -1e9

# CLRS' settings of the operator within its decoder of permutations.
_SINKHORN: Any = dict(steps=10, temperature=0.1, zero_diagonal=True,
                      noise_rng_key=None)


def inputs_can_be_padded(spec: clrs.Spec) -> bool:
  """Whether the encodings of a task's inputs are those of its nodes alone.

  CLRS takes the mean over all nodes of what edges point to, so that pointers of
  edges cannot be padded. Of the tasks of CLRS-30 none has them as inputs.

  Args:
    spec: The spec of the task.

  Returns:
    Whether they are.
  """
  return not any(
      stage == clrs.Stage.INPUT and location == clrs.Location.EDGE
      and type_ in (clrs.Type.POINTER, clrs.Type.PERMUTATION_POINTER)
      for stage, location, type_ in spec.values())


def copies_of_first(states: _Array, node_mask: _Array) -> _Array:
  """States [B, N, F] with that of the first node at all that are none.

  CLRS' decoders of the graph take the maximum over all nodes, which a copy does
  not change.
  """
  return jnp.where(node_mask[..., None] > 0.5, states, states[:, :1])


def as_pointers(spec: clrs.Spec) -> clrs.Spec:
  """The spec with pointers for permutations, whose logits are then left alone.

  They have to be masked before the Sinkhorn operator, which CLRS applies as
  soon as it has decoded them.
  """
  return {name: (stage, location, clrs.Type.POINTER)
          if type_ == clrs.Type.PERMUTATION_POINTER
          else (stage, location, type_)
          for name, (stage, location, type_) in spec.items()}


def permutation(logits: _Array, node_mask: _Array) -> _Array:
  """CLRS' Sinkhorn operator on the nodes, and apart from it on the others.

  Rows and columns of either kind have nothing at those of the other, so that
  neither normalises the other. Where there is a single node that is none, it
  has to point to itself: the -1e6 of CLRS on the diagonal is still far more
  than what keeps it from all others.

  Args:
    logits: [B, N, N].
    node_mask: [B, N].

  Returns:
    [B, N, N], the logarithm of a doubly stochastic matrix.
  """
  is_node = node_mask > 0.5
  is_same = is_node[:, :, None] == is_node[:, None, :]
  logits = jnp.where(is_node[:, :, None], logits, 0.0)
  return clrs_private.log_sinkhorn(
      jnp.where(is_same, logits, NEVER), **_SINKHORN)


def mask_choices(logits: _Array, type_: str, node_mask: _Array) -> _Array:
  """Logits of which none chooses a node that is none."""
  if type_ not in (clrs.Type.POINTER, clrs.Type.MASK_ONE):
    return logits  # a permutation is masked before it is one
  is_node = jnp.expand_dims(node_mask > 0.5, range(1, logits.ndim - 1))
  return jnp.where(is_node, logits, NEVER)


def is_entry(node_mask: _Array, axes: int) -> _Array:
  """[B, N, ...], which entries of an array with so many axes are of nodes."""
  result = jnp.ones(node_mask.shape[:1], bool)
  for _ in range(axes):
    result = result[..., None] & jnp.expand_dims(
        node_mask > 0.5, range(1, result.ndim))
  return result


def crop(probe: Any, size: int) -> Tuple[slice, ...]:
  """Which part of an output's array is of the first `size` nodes."""
  axes = {clrs.Location.GRAPH: 0, clrs.Location.NODE: 1,
          clrs.Location.EDGE: 2}[probe.location]
  if probe.type_ == clrs.Type.PERMUTATION_POINTER:
    axes += 1
  elif (probe.location, probe.type_) == (clrs.Location.GRAPH,
                                         clrs.Type.MASK_ONE):
    axes += 1
  return (slice(None),) + (slice(size),) * axes
