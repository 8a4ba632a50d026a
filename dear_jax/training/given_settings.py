# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Settings that are given, on top of a preset or of those of a run."""

import dataclasses
from typing import Any, Mapping, Optional

from dear_jax.data import own_tasks
from dear_jax.data import task_names
from dear_jax.training import best_settings
from dear_jax.training import configs
from dear_jax.training import task_checks

# What a network that is unrolled takes no notice of.
_OF_SOLVES = (
    'solver', 'tol', 'max_iter', 'criterion', 'test_criterion', 'damping',
    'restart', 'gradient', *configs.DAMPED_SETTINGS, 'jacobian_weight',
    'jacobian_fraction', 'residual_weight', 'wanted_steps')


def make_config(given: Mapping[str, Any], preset: Optional[str] = None,
                base: Optional[configs.TrainConfig] = None
                ) -> configs.TrainConfig:
  """Puts settings together: those given, the rest from where they are.

  Args:
    given: Settings by the names of their flags, as these are read: a text is
      what stands on a command line.
    preset: Where the others come from; 'default' unless there is a `base`.
    base: The settings of a run that is resumed.

  Returns:
    The settings.

  Raises:
    ValueError: if there is no such setting or preset, a value cannot be, or
      settings do not go together.
  """
  by_flag = {setting.flag: setting for setting in configs.SETTINGS.values()}
  if preset is not None or base is None:
    preset = preset or 'default'
    task_names.check_choice('preset', preset, configs.PRESETS)
    base = configs.PRESETS[preset]
  values = {}
  for flag, value in given.items():
    task_names.check_choice('setting', flag, by_flag)
    values[by_flag[flag].name] = by_flag[flag].read(value)
  if preset == 'gas' and 'align_to' not in values:
    raise ValueError('preset=gas needs --align_to, the folder of a trained '
                     '--model=nar run.')
  if preset == 'best':
    values = {**_best_for(values), **values}
  _check_effect(values, base)
  config = dataclasses.replace(base, **values)
  for name in configs.DAMPED_SETTINGS:
    if name in values and getattr(config, name) is None:
      raise ValueError(f'{name} is a setting of gradient=damped; gradient='
                       f'{config.gradient} has no such setting.')
  if 'align_weight' in values and config.align_to is None:
    raise ValueError(f'align_weight={config.align_weight} needs --align_to, '
                     'the folder of a trained --model=nar run.')
  return config


def _check_effect(values: Mapping[str, Any], base: configs.TrainConfig) -> None:
  """Raises a ValueError if a setting that is given would change nothing."""
  if values.get('model', base.model) == 'nar':
    useless = [x for x in _OF_SOLVES if x in values]
    if useless:
      raise ValueError(f'{useless[0]} is of no use with model=nar, which '
                       'solves nothing.')
  algorithms = values.get('algorithms', base.algorithms)
  if 'edge_pointers' in values and all(
      x in task_names.known_tasks() for x in algorithms) and not any(
          task_checks.has_edge_pointers(x) for x in algorithms):
    raise ValueError(
        'edge_pointers is for tasks in which pairs of nodes point to nodes, '
        f'such as floyd_warshall, not for {" and ".join(algorithms)}.')


def _best_for(values: Mapping[str, Any]) -> Mapping[str, Any]:
  """What the preset 'best' chooses for the tasks that are given."""
  if values.get('model', 'dear') != 'dear':
    raise ValueError(f'preset=best is for model=dear, got '
                     f'{values["model"]}.')
  algorithms = values.get('algorithms', configs.TrainConfig().algorithms)
  for algorithm in algorithms:
    task_names.check_choice('algorithm', algorithm, task_names.known_tasks(),
                            own_tasks.REMEDY)
  return best_settings.for_tasks(algorithms)
