# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""CLRS' scores with bootstrap intervals.

The score of an output depends on sums over the samples only: of hits and tries,
or, for masks, of true positives, false positives and false negatives. These are
kept for every sample, as an F1 score is no mean over samples. The score of any
part or resample of a set is then that of `clrs.evaluate`, at next to no cost.

CLRS scores pointers of edges on all pairs of nodes, the paper on the edges of
the graph. The latter is a score of its own, in addition (`Pi_on_edges`).
"""

from typing import (
  Any,
  Dict,
  Iterable,
  Mapping,
  NamedTuple,
  Optional,
  Sequence,
  Tuple,
)

import clrs
from dear_jax.networks import clrs_private
import numpy as np

RESAMPLES = 1000
CONFIDENCE = 0.95
# Of the resamples: equal numbers of samples have equal ones, so that intervals
# of one set in several settings can be compared.
SEED = 0
# The name of an output with this is that of its score on edges alone.
ON_EDGES = '_on_edges'

_Array = np.ndarray


class _Output(NamedTuple):
  """What the score of one output is made of."""
  type_: str
  sums: _Array  # [S, K], of every sample
  counts: bool = True  # in the mean over outputs, which is CLRS' score


class SampleScores:
  """What the scores of a set of samples are made of."""

  def __init__(self, outputs: Iterable[clrs.DataPoint],
               predictions: Mapping[str, clrs.DataPoint],
               inputs: Iterable[clrs.DataPoint] = ()):
    """Compares a batch with the truth.

    Args:
      outputs: The truth.
      predictions: From `predict` of a model.
      inputs: What the model was given. If a graph is among it, pointers of
        edges are also scored on its edges alone.
    """
    predictions = {name: _on_host(x) for name, x in predictions.items()}
    is_edge = _edges(inputs)
    self._outputs = {}
    for truth, pred in _pairs(list(map(_on_host, outputs)), predictions):
      self._outputs[truth.name] = _Output(truth.type_, _sums(truth, pred))
      if is_edge is not None and (truth.location, truth.type_) == (
          clrs.Location.EDGE, clrs.Type.POINTER):
        self._outputs[truth.name + ON_EDGES] = _Output(
            truth.type_,
            _sum_up(is_edge & (pred.data == truth.data), is_edge),
            counts=False)

  @classmethod
  def concatenate(cls, parts: Sequence['SampleScores']) -> 'SampleScores':
    """The scores of several batches together."""
    result = cls((), {})
    # pylint: disable=protected-access
    result._outputs = {
        name: output._replace(sums=np.concatenate(
            [part._outputs[name].sums for part in parts]))
        for name, output in parts[0]._outputs.items()}
    return result

  def __len__(self) -> int:
    return len(next(iter(self._outputs.values())).sums)

  def take(self, samples: _Array) -> 'SampleScores':
    """The scores of some of the samples."""
    result = SampleScores((), {})
    result._outputs = {name: output._replace(sums=output.sums[samples])
                       for name, output in self._outputs.items()}
    return result

  def scores(self) -> Dict[str, float]:
    """What `clrs.evaluate` gives: every output's score, and their mean.

    Returns:
      The scores by the names of the outputs, and their mean as 'score'. Scores
      on edges alone, whose names end in `ON_EDGES`, do not count in the mean.
    """
    weights = np.ones((1, len(self)))
    return {**{name: float(_weighted(output, weights)[0])
               for name, output in self._outputs.items()},
            'score': float(self._means(weights)[0])}

  def whole(self) -> _Array:
    """[S], whether a sample is right throughout, in all of its outputs."""
    return np.all([_is_whole(output) for output in self._outputs.values()
                   if output.counts], axis=0)

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
    scores = self._means(weights)
    scores = scores[np.isfinite(scores)]
    if not len(scores):
      return None, None
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(scores, [tail, 1 - tail])
    return float(low), float(high)

  def _means(self, weights: _Array) -> _Array:
    """[R], the means over outputs if samples have weights [R, S]."""
    return np.mean([_weighted(output, weights)
                    for output in self._outputs.values() if output.counts],
                   axis=0)


def _weighted(output: _Output, weights: _Array) -> _Array:
  """[R], the scores of an output if samples have weights [R, S]."""
  return _score(output.type_, (weights @ output.sums).T)


def _is_whole(output: _Output) -> _Array:
  """[S], whether an output of a sample has nothing wrong."""
  if output.type_ == clrs.Type.MASK:
    return (output.sums[:, 1:] == 0).all(axis=1)
  if output.type_ == clrs.Type.SCALAR:
    return output.sums[:, 0] == 0  # the squared error
  return output.sums[:, 0] == output.sums[:, 1]


def _on_host(point: clrs.DataPoint) -> clrs.DataPoint:
  return clrs.DataPoint(point.name, point.location, point.type_,
                        np.asarray(point.data))


def _edges(inputs: Iterable[clrs.DataPoint]) -> Optional[_Array]:
  """[B, N, N], the pairs that messages pass between: edges and self-loops.

  The paper's code has the same edges, and adds the loops as well.
  """
  for probe in inputs:
    if (probe.location, probe.type_) == (clrs.Location.EDGE, clrs.Type.MASK):
      is_edge = np.asarray(probe.data) > 0.5
      return (is_edge | is_edge.swapaxes(1, 2)
              | np.eye(is_edge.shape[-1], dtype=bool))
  return None


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
      truth = clrs_private.fuse_perm_and_mask(truth, truths[mask])
      pred = clrs_private.fuse_perm_and_mask(pred, predictions[mask])
    yield truth, pred


def _sums(truth: clrs.DataPoint, pred: clrs.DataPoint) -> _Array:
  """[B, K], what the score of an output is made of, for every sample."""
  expected, found = truth.data, pred.data
  terms: Tuple[Any, ...]
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
  return _sum_up(*terms)


def _sum_up(*terms: _Array) -> _Array:
  """[B, K], the sums of K arrays [B, ...] over everything but samples."""
  return np.stack([x.reshape(len(x), -1).sum(axis=1, dtype=np.float64)
                   for x in terms], axis=-1)


def _score(type_: str, sums: _Array) -> _Array:
  """The scores [R] from sums over samples [K, R]."""
  if type_ != clrs.Type.MASK:
    numerator, denominator = sums
    return _ratio(numerator, denominator, otherwise=np.nan)
  hits, false_alarms, misses = sums
  precision = _ratio(hits, hits + false_alarms, otherwise=1)
  recall = _ratio(hits, hits + misses, otherwise=1)
  return _ratio(2 * precision * recall, precision + recall, otherwise=0)


def _ratio(numerator: _Array, denominator: _Array, otherwise: float) -> _Array:
  return np.divide(numerator, denominator, where=denominator > 0,
                   out=np.full_like(denominator, otherwise, dtype=float))
