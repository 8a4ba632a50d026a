# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""How sure decoders are of what is chosen."""

from typing import Any, Dict, Optional

import clrs
from dear_jax.networks import clrs_private
from dear_jax.networks import padding
import jax
import jax.numpy as jnp

_Array = jax.Array

# As CLRS evaluates.
SINKHORN: Any = dict(sinkhorn_temperature=0.1, sinkhorn_steps=50)


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
  soft = clrs_private.postprocess(spec, output_preds, hard=False, **SINKHORN)
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
