# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""What a reasoner answers: outputs, how they were found, whether they agree."""

import dataclasses
from typing import Dict, Mapping, Optional, Tuple

import clrs
from dear_jax.networks import clrs_private
from dear_jax.reasoning import messages
import numpy as np

_Array = np.ndarray
Outputs = Dict[str, _Array]

# How many differences a check spells out.
_MOST_DIFFERENCES = 10


@dataclasses.dataclass(frozen=True)
class Details:
  """How answers were found. Of a single question, without the batch axis."""
  confidence: _Array  # [B], the mean probability of what was chosen
  steps: _Array  # [B], evaluations of the processor
  residual: Optional[_Array]  # [B]; None for a model that solves nothing
  converged: Optional[_Array]  # [B]; likewise
  # For every output, the probability of each choice, such as [B, N].
  confidences: Outputs


@dataclasses.dataclass(frozen=True)
class Check:
  """Answers beside those of the classical algorithm.

  `print` shows where they differ, in words.

  Attributes:
    outputs: What the reasoner said.
    truth: What the algorithm found.
    wrong: For every output, where the two differ.
    score: The score of CLRS, from 0 to 1.
  """
  outputs: Outputs
  truth: Outputs
  wrong: Outputs
  score: float

  @property
  def agrees(self) -> bool:
    """Whether there is no difference at all."""
    return not any(wrong.any() for wrong in self.wrong.values())

  def __str__(self) -> str:
    lines = [f'score {self.score:.3f}: ' + (
        'the same as the algorithm.' if self.agrees else
        'different from the algorithm.')]
    for name, wrong in self.wrong.items():
      places = np.argwhere(wrong)
      if not len(places):
        continue
      lines.append(f'{name}: {len(places)} of {wrong.size} entries differ')
      lines.extend(self._difference(name, tuple(place))
                   for place in places[:_MOST_DIFFERENCES])
      if len(places) > _MOST_DIFFERENCES:
        lines.append(f'  ... and {len(places) - _MOST_DIFFERENCES} more')
    return '\n'.join(lines)

  def _difference(self, name: str, place: Tuple[int, ...]) -> str:
    where = ', '.join(str(int(i)) for i in place)
    where = f'[{where}]' if place else ''
    said, found = self.outputs[name][place], self.truth[name][place]
    return (f'  {name}{where} is {messages.number(found)}, but the answer was '
            f'{messages.number(said)}')


def plain(points: Mapping[str, clrs.DataPoint]) -> Outputs:
  """Arrays [B, ...]; a permutation with its first node becomes pointers."""
  points = {
      name: clrs.DataPoint(name, x.location, x.type_, np.asarray(x.data))
      for name, x in points.items()}
  masks = {f'{name}_mask' for name, x in points.items()
           if x.type_ == clrs.Type.PERMUTATION_POINTER}
  result = {}
  for name, point in points.items():
    if name in masks:
      continue  # a part of the permutation
    if point.type_ == clrs.Type.PERMUTATION_POINTER:
      point = clrs_private.fuse_perm_and_mask(point, points[f'{name}_mask'])
    is_pointer = point.type_ == clrs.Type.POINTER
    result[name] = np.asarray(
        point.data, np.int64 if is_pointer else np.float64)
  return result
