# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""NARModel, which unrolls."""

from typing import List, Optional, Union

import clrs
from dear_jax.models import base_model
from dear_jax.models import confidences
from dear_jax.networks import nets
from dear_jax.networks import pointers
from dear_jax.networks import processors
import jax
import jax.numpy as jnp
import numpy as np

_Array = jax.Array

# How a NARModel may choose its number of steps when it predicts.
TEST_STEPS = ('true', 'learned')

# Slots without a step cost little, programs for other numbers of them a lot.
_FEWEST_SLOTS = 16


class NARModel(base_model.ReasonerModel):
  """The paper's baseline: the same net, its step repeated, without hints.

  In training it takes as many steps as the algorithm did, which it reads from
  `features.lengths`: those of CLRS, or of `make_sampler(with_lengths=True)`.
  Everything else is as in `DEARModel`, down to the names of the parameters.
  """

  def __init__(self,
               spec: Union[clrs.Spec, List[clrs.Spec]],
               dummy_trajectory: Union[List[clrs.Feedback], clrs.Feedback],
               processor_factory: processors.ProcessorFactory,
               hidden_dim: int = 32,
               *,
               test_steps: Union[str, int] = 'true',
               restrict_pointers: pointers.Rule = None,
               edge_pointers: str = 'clrs',
               scalars: str = 'linear',
               self_loops: bool = True,
               layout: str = 'auto',
               pad_to: Optional[int] = None,
               average: bool = False,
               **kwargs):
    """Constructs the model.

    Args:
      spec: As in CLRS.
      dummy_trajectory: As in CLRS.
      processor_factory: From `dear_jax.get_processor_factory`, the kinds of
        which are named after the equilibria that they can also find.
      hidden_dim: As in CLRS.
      test_steps: How many steps to take in `predict` and `evaluate`: the 'true'
        number, what a network has 'learned' to be the number, or always that
        many.
      restrict_pointers, edge_pointers, scalars, self_loops: As in `DEARModel`.
      layout, pad_to, average: As in `DEARModel`.
      **kwargs: Of `BaselineModel`, except for hints.
    """
    check_test_steps(test_steps)
    self._test_steps = test_steps
    super().__init__(
        spec=spec, dummy_trajectory=dummy_trajectory,
        processor_factory=processor_factory, hidden_dim=hidden_dim,
        restrict_pointers=restrict_pointers, edge_pointers=edge_pointers,
        scalars=scalars, self_loops=self_loops, layout=layout, pad_to=pad_to,
        average=average, **kwargs)

  def _make_net(self, **kwargs):
    return nets.TerminatingNet(
        learns_to_stop=self._test_steps == 'learned', **kwargs)

  def _steps(self, features: clrs.Features, training: bool):
    steps = true_steps(features)
    if training:
      return steps, slots(self._devices.largest(steps.max()))
    if self._test_steps == 'learned':
      return None, None
    if self._test_steps != 'true':
      steps = np.full_like(steps, self._test_steps)
    return steps, None

  def _loss(self, params, rng_key, batch, extra, index):
    del extra
    net_output = self.net_fn.apply(
        params, rng_key, [batch.inputs], repred=False, algorithm_index=index,
        steps=batch.steps, slots=batch.slots, edge_list=batch.edge_list,
        node_mask=batch.node_mask)
    task_loss = base_model.task_loss(batch.outputs, net_output.output_preds,
                                     batch.node_mask)
    loss = task_loss + net_output.termination_loss
    metrics = dict(loss=loss, task_loss=task_loss,
                   **_step_metrics(net_output.steps))
    if self._test_steps == 'learned':
      metrics['termination_loss'] = net_output.termination_loss
    return loss, metrics

  def _evaluate(self, params, rng_key, batch, algorithm_index,
                with_spectral_radius=False, with_confidence=False):
    del with_spectral_radius  # of no meaning where nothing has to rest
    net_output = self.net_fn.apply(
        params, rng_key, [batch.inputs], repred=True,
        algorithm_index=algorithm_index, steps=batch.steps,
        edge_list=batch.edge_list, node_mask=batch.node_mask)
    metrics = dict(
        task_loss=base_model.task_loss(batch.outputs, net_output.output_preds),
        **_step_metrics(net_output.steps))
    instances = dict(steps=net_output.steps)
    if with_confidence:
      instances.update(confidences.confidences(
          self._spec[algorithm_index], net_output.output_preds,
          batch.node_mask))
    return (self._postprocess(net_output.output_preds, algorithm_index),
            metrics, instances, net_output.hidden)


def check_test_steps(test_steps: Union[str, int]) -> None:
  """Raises a ValueError unless this says how many steps to take."""
  if test_steps in TEST_STEPS:
    return
  if isinstance(test_steps, bool) or not isinstance(test_steps, int) or (
      test_steps < 1):
    raise ValueError(f'test_steps must be {", ".join(TEST_STEPS)} or a whole '
                     f'number of at least 1, got {test_steps!r}.')


def true_steps(features: clrs.Features) -> np.ndarray:
  """[B], the steps of the algorithm; the first hint is where it starts."""
  return np.maximum(np.asarray(features.lengths) - 1, 1).astype(np.int32)


def slots(most: int) -> np.ndarray:
  """As many numbers as there may be steps; few lengths, as each is compiled."""
  most = max(_FEWEST_SLOTS, int(most))
  return np.arange(1 << (most - 1).bit_length(), dtype=np.int32)


def _step_metrics(steps: _Array) -> base_model.Metrics:
  return dict(steps_mean=jnp.mean(steps.astype(jnp.float32)),
              steps_max=jnp.max(steps))
