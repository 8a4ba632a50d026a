# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""CLRS' scores with bootstrap intervals.

The score of an output depends on sums over the samples only: of hits and tries,
or, for masks, of true positives, false positives and false negatives. These are
kept for every sample, as an F1 score is no mean over samples. The score of any
part or resample of a set is then that of `clrs.evaluate`, at next to no cost.
"""

from typing import Dict, Iterable, Mapping, Optional, Sequence, Tuple

import clrs
from clrs._src import evaluation
import numpy as np

RESAMPLES = 1000
CONFIDENCE = 0.95
# Of the resamples: equal numbers of samples have equal ones, so that intervals
# of one set in several settings can be compared.
SEED = 0

_Array = np.ndarray


class SampleScores:
  """What the scores of a set of samples are made of."""

  def __init__(self, outputs: Iterable[clrs.DataPoint],
               predictions: Mapping[str, clrs.DataPoint]):
    """Compares a batch with the truth.

    Args:
      outputs: The truth.
      predictions: From `predict` of a model.
    """
    predictions = {name: _on_host(x) for name, x in predictions.items()}
    self._sums = {
        truth.name: (truth.type_, _sums(truth, pred))
        for truth, pred in _pairs(list(map(_on_host, outputs)), predictions)}

  @classmethod
  def concatenate(cls, parts: Sequence['SampleScores']) -> 'SampleScores':
    """The scores of several batches together."""
    result = cls((), {})
    # pylint: disable=protected-access
    result._sums = {
        name: (type_, np.concatenate([part._sums[name][1] for part in parts]))
        for name, (type_, _) in parts[0]._sums.items()}
    return result

  def __len__(self) -> int:
    return len(next(iter(self._sums.values()))[1])

  def take(self, samples: _Array) -> 'SampleScores':
    """The scores of some of the samples."""
    result = SampleScores((), {})
    result._sums = {name: (type_, sums[samples])
                    for name, (type_, sums) in self._sums.items()}
    return result

  def scores(self) -> Dict[str, float]:
    """What `clrs.evaluate` gives: every output's score, and their mean."""
    found = self._weighted(np.ones((1, len(self))))
    result = {name: float(x[0]) for name, x in found.items()}
    return dict(result, score=sum(result.values()) / len(result))

  def interval(self) -> Tuple[Optional[float], Optional[float]]:
    """A bootstrap interval of the score: percentiles over resamples.

    Returns:
      Its ends; None if the score is not defined, or if one sample says nothing
      about others.
    """
    count = len(self)
    if count < 2:
      return None, None
    weights = np.random.default_rng(SEED).multinomial(
        count, np.full(count, 1 / count), size=RESAMPLES)
    scores = np.mean(list(self._weighted(weights).values()), axis=0)
    scores = scores[np.isfinite(scores)]
    if not len(scores):
      return None, None
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(scores, [tail, 1 - tail])
    return float(low), float(high)

  def _weighted(self, weights: _Array) -> Dict[str, _Array]:
    """The scores [R] of all outputs if samples have weights [R, S]."""
    return {name: _score(type_, (weights @ sums).T)
            for name, (type_, sums) in self._sums.items()}


def _on_host(point: clrs.DataPoint) -> clrs.DataPoint:
  return clrs.DataPoint(point.name, point.location, point.type_,
                        np.asarray(point.data))


def _pairs(outputs, predictions):
  """Truths with predictions; a permutation and its mask are made pointers."""
  masks = {f'{x.name}_mask' for x in outputs
           if x.type_ == clrs.Type.PERMUTATION_POINTER}
  truths = {x.name: x for x in outputs}
  for truth in outputs:
    if truth.name in masks:
      continue
    pred = predictions[truth.name]
    if truth.type_ == clrs.Type.PERMUTATION_POINTER:
      mask = f'{truth.name}_mask'
      truth = evaluation.fuse_perm_and_mask(truth, truths[mask])
      pred = evaluation.fuse_perm_and_mask(pred, predictions[mask])
    yield truth, pred


def _sums(truth: clrs.DataPoint, pred: clrs.DataPoint) -> _Array:
  """[B, K], what the score of an output is made of, for every sample."""
  expected, found = truth.data, pred.data
  if truth.type_ == clrs.Type.POINTER:
    terms = found == expected, np.ones_like(expected)
  elif truth.type_ == clrs.Type.SCALAR:
    terms = (found - expected)**2, np.ones_like(expected)
  elif truth.type_ in (clrs.Type.MASK_ONE, clrs.Type.CATEGORICAL):
    known = np.all(expected != clrs.OutputClass.MASKED, axis=-1)
    terms = (known & (found.argmax(-1) == expected.argmax(-1))), known
  elif truth.type_ == clrs.Type.MASK:
    known = expected != clrs.OutputClass.MASKED
    terms = (known & (found > 0.5) & (expected > 0.5),
             known & (found > 0.5) & (expected < 0.5),
             known & (found < 0.5) & (expected > 0.5))
  else:
    raise ValueError(f'CLRS has no score for the output {truth.name} of type '
                     f'{truth.type_}.')
  return np.stack([x.reshape(len(x), -1).sum(axis=1, dtype=np.float64)
                   for x in terms], axis=-1)


def _score(type_: str, sums: _Array) -> _Array:
  """The scores [R] from sums over samples [K, R]."""
  if type_ != clrs.Type.MASK:
    return _ratio(*sums, otherwise=np.nan)
  hits, false_alarms, misses = sums
  precision = _ratio(hits, hits + false_alarms, otherwise=1)
  recall = _ratio(hits, hits + misses, otherwise=1)
  return _ratio(2 * precision * recall, precision + recall, otherwise=0)


def _ratio(numerator: _Array, denominator: _Array, otherwise: float) -> _Array:
  return np.divide(numerator, denominator, where=denominator > 0,
                   out=np.full_like(denominator, otherwise, dtype=float))
