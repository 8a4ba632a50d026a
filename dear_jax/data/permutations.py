# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Sorted orders as permutations."""

from typing import Iterable, List, Tuple

import clrs
import numpy as np


def convert(feedback: clrs.Feedback, enforce: bool = True) -> clrs.Feedback:
  """`clrs.process_permutations` for one feedback, in numpy.

  CLRS' version runs jax operations one by one, on the very device that trains.
  """
  features = feedback.features
  return feedback._replace(
      features=features._replace(
          inputs=tuple(_permutation_probes(features.inputs, enforce)),
          hints=tuple(_permutation_probes(features.hints, enforce))),
      outputs=_permutation_probes(feedback.outputs, enforce))


def _permutation_probes(probes: Iterable[clrs.DataPoint], enforce: bool
                        ) -> List[clrs.DataPoint]:
  """Splits should-be permutations into a permutation and its first node."""
  result = []
  for probe in probes:
    if probe.type_ != clrs.Type.SHOULD_BE_PERMUTATION:
      result.append(probe)
      continue
    if not enforce:
      result.append(clrs.DataPoint(
          probe.name, probe.location, clrs.Type.POINTER, probe.data))
      continue
    permutation, first = _cyclic_permutation(np.asarray(probe.data))
    result.append(clrs.DataPoint(
        probe.name, probe.location, clrs.Type.PERMUTATION_POINTER,
        permutation))
    result.append(clrs.DataPoint(
        probe.name + '_mask', probe.location, clrs.Type.MASK_ONE, first))
  return result


def _cyclic_permutation(pointers: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
  """Closes linked lists of predecessors into cycles.

  Args:
    pointers: [..., N]; the first node of every list points to itself.

  Returns:
    One-hot pointers [..., N, N] in which the first node points to the last
    one, and a one-hot mask [..., N] of the first node.
  """
  one_hot = np.eye(pointers.shape[-1], dtype=np.float32)
  permutation = one_hot[pointers.astype(np.int64)]
  # No node points to the last one; only the first one points to itself.
  last = one_hot[permutation.sum(axis=-2).argmin(axis=-1)]
  first = one_hot[
      np.diagonal(permutation, axis1=-2, axis2=-1).argmax(axis=-1)]
  permutation += first[..., :, None] * (last - first)[..., None, :]
  return permutation, first
