# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""What a model would answer at every iteration of its solver."""

import dataclasses
from typing import Dict, Optional

import clrs
from dear_jax.models import dear
import jax
import numpy as np


@dataclasses.dataclass(frozen=True)
class Trace:
  """The solves of a batch, iteration by iteration.

  T is the number of iterations of the slowest instance. An instance that is
  done earlier keeps its answer from then on.

  Attributes:
    predictions: Hard predictions under the names of the task's outputs, in the
      form that `predict` of a model has them.
    residuals: Of every iteration; NaN after the last one of an instance, and
      infinity if an iteration had no finite result.
    steps: How many iterations every instance took.
    converged: Whether its residual is under the tolerance.
    selected: The row of the iteration that the model's answer is from. That is
      the last one, unless the instance did not converge: then it is the one of
      lowest residual.
  """
  predictions: Dict[str, np.ndarray]  # [T, B, ...]
  residuals: np.ndarray  # [T, B]
  steps: np.ndarray  # [B]
  converged: np.ndarray  # [B], bool
  selected: np.ndarray  # [B]

  def __len__(self) -> int:
    """The number of iterations."""
    return len(self.residuals)

  def answers(self) -> Dict[str, np.ndarray]:
    """What the model answers, [B, ...]."""
    instances = np.arange(len(self.steps))
    return {name: x[self.selected, instances]
            for name, x in self.predictions.items()}


def trace(model: dear.DEARModel, feedback: clrs.Feedback,
          algorithm_index: Optional[int] = None,
          rng_key: Optional[jax.Array] = None) -> Trace:
  """Solves a batch as `model.evaluate_instances` does, and keeps every step.

  Args:
    model: A model with parameters.
    feedback: The batch.
    algorithm_index: As in `predict`; needed with several algorithms only.
    rng_key: As in `predict`; an equilibrium does not depend on it.

  Returns:
    The trace.

  Raises:
    ValueError: if the model has no equilibrium.
  """
  if not isinstance(model, dear.DEARModel):
    raise ValueError('Only a DEARModel has an equilibrium to trace, got a '
                     f'{type(model).__name__}.')
  if rng_key is None:
    rng_key = jax.random.PRNGKey(0)
  preds, found = jax.device_get(
      model.evaluate_iterates(rng_key, feedback, algorithm_index))
  steps = found['steps']
  length = steps.max()
  residuals = found['residuals'][:length]
  # Which one that is depends on the solver's settings.
  selected = np.argmax(residuals == found['residual'], axis=0)
  is_over = np.arange(length)[:, None] >= steps
  instances = np.arange(len(steps))

  def hold(data):
    answer = data[selected, instances]
    return np.where(np.expand_dims(is_over, tuple(range(2, data.ndim))),
                    answer, data[:length])

  return Trace(
      predictions={name: hold(x.data) for name, x in preds.items()},
      residuals=np.where(is_over, np.nan, residuals), steps=steps,
      converged=found['converged'], selected=selected)
