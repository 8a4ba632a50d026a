# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Looking into feedbacks, and comparing them."""

from typing import Dict

import clrs
import jax
import numpy as np


def same(a, b) -> bool:
  """Whether two feedbacks, or parts of them, are equal to the last bit."""
  leaves_a, tree_a = jax.tree_util.tree_flatten(_lists(a))
  leaves_b, tree_b = jax.tree_util.tree_flatten(_lists(b))
  return tree_a == tree_b and all(
      np.asarray(x).dtype == np.asarray(y).dtype and np.array_equal(x, y)
      for x, y in zip(leaves_a, leaves_b))


def _lists(part):
  """CLRS has probes in lists here and in tuples there."""
  if isinstance(part, clrs.DataPoint) or not isinstance(part, (tuple, list)):
    return part
  return [_lists(x) for x in part]


def arrays(feedback: clrs.Feedback) -> Dict[str, np.ndarray]:
  """All data by name."""
  features = feedback.features
  return {x.name: np.asarray(x.data) for x in (
      *features.inputs, *features.hints, *feedback.outputs)}
