# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Trained models, for commands that look at a run folder."""

import dataclasses
import functools

from absl import flags
import cli
from dear_jax.training import configs

# A flag that is defined here is one of the command that asks for it.
flags.disclaim_key_flags()


def define_solver():
  """Defines and returns flags for solving otherwise than in the run's test."""
  texts = {x: f"{configs.SETTINGS[x].meaning} ({configs.SETTINGS[x].limits}; "
              "default: the run's)" for x in ('solver', 'tol', 'criterion')}
  texts['max_iter'] = (
      "The most solver steps (default: four times the run's max_iter, as in "
      'its own test, and at least two a node)')
  defined = [cli.define(configs.SETTINGS[x], texts[x]) for x in texts]
  for flag in defined:
    flags.register_validator(
        flag, functools.partial(_check, configs.SETTINGS[flag.name]))
  return defined


def _check(setting, value):
  """Whether a flag can have this value; None is that it is not given."""
  try:
    if value is not None:
      setting.check(value)
    return True
  except ValueError as e:
    raise flags.ValidationError(str(e)) from e


class Run:
  """The settings and the kept parameters of a run on one algorithm."""

  def __init__(self, folder, only_dear=False):
    with cli.silence():
      import clrs  # noqa: F401, which all that follows would import aloud
      from dear_jax.data import logs
      from dear_jax.training import checkpoints
    cli.import_parts()
    with cli.failing(checkpoints.RunError), logs.quiet_absl():
      self.config = configs.load_config(folder).for_test
      self.params = checkpoints.load_kept(folder)
    if len(self.config.algorithms) > 1:
      cli.fail(f'{folder} was trained on {len(self.config.algorithms)} '
               'algorithms; this needs a run with one.')
    if only_dear and self.config.model != 'dear':
      cli.fail(f'{folder} has model={self.config.model}; this needs a run with '
               'model=dear, which has an equilibrium.')
    # After which step; None as long as the run is not over.
    try:
      self.kept_step = checkpoints.read_json(folder, 'result.json').get(
          'kept_step')
    except (AttributeError, checkpoints.RunError):
      self.kept_step = None
    self.algorithm, = self.config.algorithms
    self._folder = folder

  def sampler(self, size, batch_size, split='test', with_lengths=False):
    """Samples that training did not see, unless asked for those."""
    import dear_jax
    with cli.failing():
      return dear_jax.make_sampler(self.algorithm, size=size,
                                   batch_size=batch_size,
                                   seed=self.config.seed, split=split,
                                   with_lengths=with_lengths,
                                   graphs=self.config.graphs)

  def test_set(self, size, num_samples, batch_size, graphs=None,
               sparse=False):
    """The samples that the run is tested on, if the numbers are the run's.

    Args:
      size: Of the samples.
      num_samples: How many there are, rounded up to whole batches.
      batch_size: The most samples in a batch.
      graphs: The family of graphs, if it is not that of the run.
      sparse: Whether graphs are drawn without matrices.

    Returns:
      The sampler.

    Raises:
      ValueError: if there are no such samples, or they do not fit into memory.
    """
    from dear_jax.training import splits
    return splits.fixed_set(
        self.algorithm, size=size, num_samples=num_samples,
        batch_size=batch_size, seed=self.config.seed, split='test',
        with_lengths=self.config.needs_lengths and not sparse,
        graphs=graphs or self.config.graphs, sparse=sparse)

  def check_size(self, size):
    """Fails if --size is less than the algorithm can do with."""
    from dear_jax.data import samplers
    least = samplers.min_size(self.algorithm)
    if size < least:
      cli.fail(f'--size must be at least {least} for {self.algorithm}, got '
               f'{size}.')

  def convert(self, model):
    """Makes a 'dear' of a 'nar', or the reverse, with the same parameters.

    What only one of the two can be trained with is left out. Fails if there
    can be no such model of the algorithm.

    Args:
      model: 'dear' or 'nar'.
    """
    from dear_jax.training import builders
    if model == self.config.model:
      return
    self.change(
        model=model, processor=self.config.kind, test_steps='true',
        align_to=None, stochastic_depth=False, noise_stddev=0.0,
        contrastive_weight=0.0)
    self.params = builders.without_termination(self.params)

  def change(self, **changes):
    """Puts settings in place of those of the run; fails if they are wrong."""
    with cli.failing():
      self.config = dataclasses.replace(self.config, **changes)

  def solver_settings(self, solver=None, tol=None, max_iter=None,
                      criterion=None, *, size):
    """How a size is solved: as in a test, except for what is given."""
    from dear_jax.networks import nets
    return dict(
        solver=solver or self.config.solver, tol=tol or self.config.tol,
        criterion=criterion or self.config.criterion,
        max_iter=max_iter or nets.evaluation_limit(self.config.max_iter, size))

  def model(self, sampler, *, with_teacher=False, is_limit=False, **changes):
    """The model with its trained parameters.

    Args:
      sampler: Of the samples that it is for.
      with_teacher: Whether it is to go on with its teacher, if it had one.
      is_limit: As in `builders.build_model`.
      **changes: Settings, in place of those of the run.

    Returns:
      A `DEARModel` or a `NARModel`.

    Raises:
      ValueError: if the parameters are not those of the settings.
    """
    from dear_jax.training import builders
    from dear_jax.training import checkpoints
    config = dataclasses.replace(self.config, **changes)
    specs, examples = [sampler.spec], [sampler.batch(0)]
    teacher = None
    if with_teacher:
      with cli.failing(checkpoints.RunError):
        teacher = builders.load_teacher(config, specs, examples)
    model = builders.build_model(config, specs, examples, teacher,
                                 is_limit=is_limit)
    builders.set_params(model, self.params, examples, self._folder)
    return model
