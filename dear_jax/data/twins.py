# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Twins of samples: other numbers, and the same execution.

What sorts or searches does the same for all arrays whose numbers are in the
same order (Rodionov and Prokhorenkova, Neural Algorithmic Reasoning Without
Intermediate Supervision, NeurIPS 2023). A twin of a sample has keys, a target
and positions of its own, with the ranks that those of the sample have.
"""

from typing import Any, Dict
import zlib

import clrs
from dear_jax.data import samplers
from dear_jax.data import streams
from dear_jax.data import task_names
from dear_jax.data import tasks
import numpy as np

# Not those of `samplers.TaskSampler`, of which a twin has to know nothing.
_STREAM = 3


class TwinSampler:
  """The batches of a sampler, with a twin behind every sample.

  Rows 2i and 2i + 1 of a batch are twins. The samples are those of the sampler,
  to the bit; twins are drawn from a stream of their own. In every epoch of a
  set a sample has another one.

  Attributes:
    spec: As in `samplers.TaskSampler`.
    batch_size: Samples in a batch, their twins not counted.
    index: The number of the next batch.
  """

  def __init__(self, sampler: samplers.TaskSampler, *, task: str, seed: int):
    """Initialises the sampler.

    Args:
      sampler: Has the samples.
      task: The name of its task, one of `task_names.WITH_TWINS`.
      seed: That of the sampler, or another one.

    Raises:
      ValueError: if the task has no twins.
    """
    task_names.check_twins([task])
    self._sampler = sampler
    self._stream = streams.Stream(seed, zlib.crc32(task.encode()), _STREAM)
    self._rows = slice(None)
    self.spec = sampler.spec
    self.batch_size = sampler.batch_size

  @property
  def index(self) -> int:
    return self._sampler.index

  @index.setter
  def index(self, index: int):
    self._sampler.index = index

  @property
  def state(self) -> Dict[str, int]:
    """As in `samplers.TaskSampler`."""
    return self._sampler.state

  @state.setter
  def state(self, state: Dict[str, int]):
    self._sampler.state = state

  def keep_rows(self, rows: slice) -> None:
    """As in `samplers.TaskSampler`; twins go with their samples."""
    self._rows = rows
    self._sampler.keep_rows(rows)

  def batch(self, index: int) -> clrs.Feedback:
    """The batch number `index`, whatever was asked for before."""
    feedback = self._sampler.batch(index)
    numbers = (np.arange(self.batch_size) + index * self.batch_size)[self._rows]
    problems = {x.name: x.data for x in feedback.features.inputs
                if x.name in ('target', 'key')}
    draws = streams.Draws(self._stream, numbers, split=0,
                          size=problems['key'].shape[1])
    twin = self._sampler.pose(True, **same_order(problems, draws))
    return interleave(feedback, tasks.randomise_pos(twin, draws))


def same_order(problems: Dict[str, np.ndarray], draws: streams.Draws
               ) -> Dict[str, np.ndarray]:
  """Other numbers with the same ranks.

  Keys and targets of the tasks are independent and uniform in [0, 1), apart
  from their order. So sorted uniform numbers in the places of theirs have the
  distribution of samples with this order.

  Args:
    problems: `key` [B, N] and, if there is one, `target` [B], which has a rank
      among the keys.
    draws: Where numbers come from.

  Returns:
    The same arrays with other values.
  """
  names = list(problems)
  columns = [problems[x].reshape(draws.batch_size, -1) for x in names]
  values = np.concatenate(columns, axis=1)
  ranks = values.argsort(axis=1, kind='stable').argsort(axis=1, kind='stable')
  drawn = np.sort(draws.uniforms(values.shape[1]), axis=1)
  drawn = np.take_along_axis(drawn, ranks, axis=1)
  parts = np.split(drawn, np.cumsum([x.shape[1] for x in columns])[:-1], axis=1)
  return {name: part.reshape(problems[name].shape)
          for name, part in zip(names, parts)}


def interleave(first: clrs.Feedback, second: clrs.Feedback) -> clrs.Feedback:
  """One batch of two, in which their rows take turns."""
  def join(a: Any, b: Any, axis: int = 0) -> np.ndarray:
    joined = np.stack([a, b], axis=axis + 1)
    return joined.reshape(*a.shape[:axis], -1, *a.shape[axis + 1:])

  def probes(ours, theirs, axis=0):
    by_name = {x.name: x for x in theirs}
    return [clrs.DataPoint(x.name, x.location, x.type_,
                           join(x.data, by_name[x.name].data, axis))
            for x in ours]

  ours, theirs = first.features, second.features
  return clrs.Feedback(
      clrs.Features(probes(ours.inputs, theirs.inputs),
                    probes(ours.hints, theirs.hints, axis=1),
                    join(ours.lengths, theirs.lengths)),
      probes(first.outputs, second.outputs))
