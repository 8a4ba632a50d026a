# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""What is chosen by decoders, and how sure they are of it."""

from typing import Any, Dict, Optional

import clrs
from dear_jax.networks import clrs_private
from dear_jax.networks import padding
import jax
import jax.numpy as jnp

_Array = jax.Array

# As CLRS evaluates permutations.
_TEMPERATURE, _STEPS = 0.1, 50
# What it subtracts where nothing may point to itself.
_NEVER = 1e6


def choose(spec: clrs.Spec, output_preds: Dict[str, _Array],
           hard: bool = True) -> Dict[str, clrs.DataPoint]:
  """CLRS' `postprocess`, which is compiled in a fraction of the time.

  CLRS writes out all steps of its Sinkhorn operator, for which XLA takes more
  than half a minute; here they are a loop.

  Args:
    spec: The spec of the task.
    output_preds: What the decoders put out.
    hard: Whether to choose, or to give the probabilities of all choices.

  Returns:
    The outputs.
  """
  output_preds = {
      name: _sinkhorn(data)
      if spec[name][2] == clrs.Type.PERMUTATION_POINTER else data
      for name, data in output_preds.items()}
  # No more steps: what is left is to take the exponential, and to choose.
  return clrs_private.postprocess(spec, output_preds, hard=hard,
                                  sinkhorn_temperature=1.0, sinkhorn_steps=0)


def _sinkhorn(logits: _Array) -> _Array:
  """`log_sinkhorn` of CLRS."""
  logits = logits / _TEMPERATURE - _NEVER * jnp.eye(logits.shape[-1])
  return jax.lax.fori_loop(
      0, _STEPS, lambda _, x: jax.nn.log_softmax(
          jax.nn.log_softmax(x, axis=-1), axis=-2), logits)


def confidences(spec: clrs.Spec, output_preds: Dict[str, _Array],
                node_mask: Optional[_Array] = None) -> Dict[str, Any]:
  """The probabilities of what is chosen, and their mean.

  Args:
    spec: The spec of the task.
    output_preds: What the decoders put out.
    node_mask: [B, N], 0 at nodes that are padding: their entries do not count.

  Returns:
    `confidences` and `confidence` of `evaluate_instances`; nothing if all
    outputs are numbers, which have no distribution.
  """
  soft = choose(spec, output_preds, hard=False)
  chosen = {name: (jnp.maximum(point.data, 1 - point.data)
                   if point.type_ == clrs.Type.MASK
                   else jnp.max(point.data, axis=-1))
            for name, point in soft.items()
            if point.type_ != clrs.Type.SCALAR}
  if not chosen:
    return {}
  flat = lambda x: jnp.reshape(x, (len(x), -1))
  entries = jnp.concatenate([flat(x) for x in chosen.values()], axis=1)
  counts = None
  if node_mask is not None:
    # All axes but the first are of nodes: that of choices is gone.
    counts = jnp.concatenate([
        flat(padding.is_entry(node_mask, x.ndim - 1))
        for x in chosen.values()], axis=1)
  return dict(confidences=chosen,
              confidence=jnp.mean(entries, axis=1, where=counts))
