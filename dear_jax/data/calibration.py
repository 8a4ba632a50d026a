# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Whether a model is right as often as it is sure.

Every entry of an output, such as the pointer of a node, comes with the
probability that the model gave to what it chose. Entries are sorted into bins
by that confidence. In a bin of a calibrated model the share that is right is
the mean confidence. The expected calibration error (Naeini et al., 2015; Guo et
al., 2017) is the mean of the differences, weighted by the entries in the bins.

Sums are kept for every sample, so that those of any set of samples add up.
"""

from typing import Dict, Iterable, List, Mapping, Optional, Union

import clrs
import numpy as np

_Array = np.ndarray

# Bins of equal width, from 0 to 1.
NB_BINS = 10


def bin_sums(outputs: Iterable[clrs.DataPoint],
             predictions: Mapping[str, clrs.DataPoint],
             confidences: Mapping[str, _Array]) -> _Array:
  """What a reliability table is made of.

  Args:
    outputs: The truth.
    predictions: From `evaluate_instances` of a model.
    confidences: From there as well: the probability of every choice, by the
      names of outputs. An output without, which is a number, does not count.

  Returns:
    [B, NB_BINS, 3]: in every bin the entries of a sample, the sum of their
    confidences, and how many of them are right. Entries that CLRS does not
    score do not count.
  """
  parts = []
  for truth in outputs:
    if truth.name not in confidences:
      continue
    confidence = np.asarray(confidences[truth.name], np.float64)
    expected = np.asarray(truth.data)
    found = np.asarray(predictions[truth.name].data)
    if truth.type_ == clrs.Type.POINTER:
      right, known = found == expected, np.ones(expected.shape, bool)
    elif truth.type_ == clrs.Type.MASK:
      right = (found > 0.5) == (expected > 0.5)
      known = expected != clrs.OutputClass.MASKED
    else:  # one of several, of which an axis tells
      right = found.argmax(-1) == expected.argmax(-1)
      known = np.all(expected != clrs.OutputClass.MASKED, axis=-1)
    parts.append(_sums(confidence, right, known))
  return np.sum(parts, axis=0)


def _sums(confidence: _Array, right: _Array, known: _Array) -> _Array:
  """[B, NB_BINS, 3], of arrays [B, ...]."""
  confidence, right, known = (
      x.reshape(len(x), -1) for x in (confidence, right, known))
  bins = np.clip((confidence * NB_BINS).astype(np.int64), 0, NB_BINS - 1)
  place = np.arange(len(bins))[:, None] * NB_BINS + bins
  count = lambda weights: np.bincount(
      place[known], weights[known], minlength=len(bins) * NB_BINS)
  columns = [count(x.astype(np.float64))
             for x in (np.ones_like(confidence), confidence, right)]
  return np.stack(columns, axis=-1).reshape(len(bins), NB_BINS, 3)


def reliability_table(sums: _Array) -> List[Dict[str, Union[int, float]]]:
  """The bins that have entries, from low to high confidence.

  Args:
    sums: [S, NB_BINS, 3], from `bin_sums`.

  Returns:
    For each the ends `low` and `high`, the number of `entries`, their mean
    `confidence` and the share of them that is `right`.
  """
  return [dict(low=i / NB_BINS, high=(i + 1) / NB_BINS, entries=int(entries),
               confidence=float(confidence / entries),
               right=float(right / entries))
          for i, (entries, confidence, right) in enumerate(sums.sum(axis=0))
          if entries]


def expected_error(sums: _Array) -> Optional[float]:
  """The expected calibration error, from 0 to 1; None if there is no entry.

  >>> sure_and_wrong = np.zeros((1, NB_BINS, 3))
  >>> sure_and_wrong[0, -1] = 4, 4 * 0.99, 1
  >>> round(expected_error(sure_and_wrong), 6)
  0.74
  """
  entries, confidence, right = sums.sum(axis=0).T
  if not entries.sum():
    return None
  return float(np.abs(confidence - right).sum() / entries.sum())
