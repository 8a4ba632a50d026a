# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Trained models, for commands that look at a run folder."""

import dataclasses

import cli


class Run:
  """The settings and the best parameters of a run on one algorithm."""

  def __init__(self, folder):
    # pylint: disable=g-import-not-at-top
    with cli.silence():
      from dear_jax import checkpoints
      from dear_jax import configs
      from dear_jax import progress
    try:
      with progress.quiet_absl():
        self.config = configs.load_config(folder)
        self.params = checkpoints.load_best(folder)
    except checkpoints.RunError as e:
      cli.fail(str(e))
    if len(self.config.algorithms) > 1:
      cli.fail(f'{folder} was trained on {len(self.config.algorithms)} '
               'algorithms; this needs a run with one.')
    self.algorithm, = self.config.algorithms

  def sampler(self, size, batch_size, split='test'):
    """Samples that training did not see, unless asked for those."""
    import dear_jax  # pylint: disable=g-import-not-at-top
    try:
      return dear_jax.make_sampler(self.algorithm, size=size,
                                   batch_size=batch_size,
                                   seed=self.config.seed, split=split)
    except ValueError as e:
      cli.fail(str(e))

  def model(self, sampler, *, layout=None, jacobian_weight=None, **changes):
    """The model with its trained parameters.

    Args:
      sampler: Of the samples that it is for.
      layout: In place of the run's own.
      jacobian_weight: In place of the run's own.
      **changes: Other settings of the processor or its solvers.

    Returns:
      A `DEARModel`.
    """
    import dear_jax  # pylint: disable=g-import-not-at-top
    config = dataclasses.replace(self.config, **changes)
    if jacobian_weight is None:
      jacobian_weight = config.jacobian_weight
    model = dear_jax.DEARModel(
        sampler.spec, sampler.batch(0), config.processor_factory(),
        hidden_dim=config.hidden_size, encoder_init=config.encoder_init,
        jacobian_weight=jacobian_weight, layout=layout or config.layout)
    model.params = self.params
    return model
