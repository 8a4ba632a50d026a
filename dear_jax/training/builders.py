# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Models from the settings of a run, and from the folders of others."""

import os
import re
from typing import Any, Dict, Mapping, Optional, Sequence

import clrs
from dear_jax.models import base_model
from dear_jax.models import dear
from dear_jax.models import nar
from dear_jax.training import checkpoints
from dear_jax.training import cluster
from dear_jax.training import configs
import numpy as np

# The network that decides when to stop: not every model has one.
_OPTIONAL = re.compile(r'algo_\d+_stop(_hidden)?$')


def build_model(config: configs.TrainConfig, specs: Sequence[clrs.Spec],
                examples: Sequence[clrs.Feedback],
                teacher: Optional[nar.NARModel] = None,
                is_limit: bool = False) -> base_model.ReasonerModel:
  """The model of a run, without parameters.

  Args:
    config: The settings.
    specs: One an algorithm.
    examples: A batch of every algorithm.
    teacher: From `load_teacher`, if there is one.
    is_limit: Whether `config.max_iter` is the limit in evaluation too, and not
      only in training.

  Returns:
    A `DEARModel` or a `NARModel`.
  """
  common: Dict[str, Any] = dict(
      spec=list(specs), dummy_trajectory=list(examples),
      processor_factory=config.processor_factory(),
      hidden_dim=config.hidden_size, encoder_init=config.encoder_init,
      learning_rate=config.learning_rate,
      grad_clip_max_norm=config.grad_clip_max_norm,
      dropout_prob=config.dropout_prob,
      freeze_processor=config.freeze_processor, layout=config.layout,
      pad_to=config.train_sizes[1], average=config.average,
      restrict_pointers=config.pointer_rule,
      edge_pointers=config.edge_pointers, scalars=config.scalars,
      self_loops=config.self_loops)
  if teacher is not None and teacher.layouts.has_cayley_graph:
    # It would have another one, of more nodes than in its own training.
    common['pad_to'] = None
  if config.model == 'nar':
    return nar.NARModel(test_steps=config.test_steps, **common)
  if is_limit:
    common.update(eval_iterations=1, eval_iterations_per_node=0)
  return dear.DEARModel(
      jacobian_weight=config.jacobian_weight,
      jacobian_fraction=config.jacobian_fraction,
      residual_weight=config.residual_weight,
      wanted_steps=config.wanted_steps,
      noise_stddev=config.noise_stddev,
      stochastic_depth=config.stochastic_depth, teacher=teacher,
      align_weight=config.align_weight,
      contrastive_weight=config.contrastive_weight, **common)


def build_tester(config: configs.TrainConfig, model: base_model.ReasonerModel,
                 specs: Sequence[clrs.Spec], examples: Sequence[clrs.Feedback]
                 ) -> base_model.ReasonerModel:
  """The model of a run's test, which may ask for more to be at rest.

  Args:
    config: The settings of the run.
    model: That which is trained.
    specs: One an algorithm.
    examples: A batch of every algorithm.

  Returns:
    `model` itself, or another one, without parameters.
  """
  if config.for_test is config:
    return model
  return build_model(config.for_test, specs, examples)


def set_params(model: base_model.ReasonerModel, params: Any,
               examples: Sequence[clrs.Feedback], source: checkpoints.PathLike
               ) -> None:
  """Gives a model parameters from a file, if they are ones that it can have.

  Nothing is compiled for that.

  Args:
    model: From `build_model`.
    params: The parameters.
    examples: A batch of every algorithm.
    source: Where they are from.

  Raises:
    checkpoints.RunError: if a parameter is missing or has no place in the
      model, if it has another shape or type, or if it is not finite.
  """
  wrong = _first_difference(
      params, model.describe_params([x.features for x in examples]))
  if wrong:
    raise checkpoints.RunError(
        f'The parameters in {os.fspath(source)} are not those of its settings: '
        f'{wrong}.')
  model.params = params


def _first_difference(params: Any, expected: Any) -> Optional[str]:
  """What is wrong with parameters, if anything."""
  if not isinstance(params, Mapping) or not all(
      isinstance(values, Mapping) for values in params.values()):
    return 'they are no parameters of Haiku'
  found = {(module, name): value for module, values in params.items()
           for name, value in values.items()}
  wanted = {(module, name): value for module, values in expected.items()
            for name, value in values.items()}
  for module, name in wanted:
    if (module, name) not in found:
      return f'there is no {name} of {module}'
  for (module, name), value in found.items():
    if (module, name) not in wanted and _OPTIONAL.search(module):
      continue
    if (module, name) not in wanted:
      return f'the model has no {name} of {module}'
    value, want = np.asarray(value), wanted[module, name]
    if value.shape != want.shape:
      return (f'{name} of {module} has the shape {list(value.shape)}, not '
              f'{list(want.shape)}')
    if value.dtype != want.dtype:
      return f'{name} of {module} is of {value.dtype}, not {want.dtype}'
    if not np.isfinite(value).all():
      return f'{name} of {module} is not finite'
  return None


def check_other_runs(config: configs.TrainConfig, resume: bool) -> None:
  """Raises a RunError if a run cannot build on the folders that it names."""
  if config.align_to is not None:
    theirs = _load_matching('align_to', config.align_to, config)
    if theirs.model != 'nar':
      raise checkpoints.RunError(
          f'align_to={config.align_to} needs a run with model=nar, but that '
          f'one has model={theirs.model}.')
  if config.init_from is not None and not resume:
    _load_matching('init_from', config.init_from, config)


def load_teacher(config: configs.TrainConfig, specs: Sequence[clrs.Spec],
                 examples: Sequence[clrs.Feedback]
                 ) -> Optional[nar.NARModel]:
  """The trained model in the folder `config.align_to`, if there is one.

  Args:
    config: The settings of the run that is taught.
    specs: One an algorithm.
    examples: A batch of every algorithm.

  Returns:
    The teacher with its parameters.

  Raises:
    checkpoints.RunError: if the folder holds no teacher for this run.
  """
  if config.align_to is None:
    return None
  check_other_runs(config, resume=True)
  theirs = configs.load_config(config.align_to)
  teacher = build_model(theirs, specs, examples)
  assert isinstance(teacher, nar.NARModel)  # as was just checked
  set_params(teacher, _load_kept(config.align_to), examples, config.align_to)
  return teacher


def initial_params(config: configs.TrainConfig, params: Any) -> Any:
  """The parameters to start from: fresh ones, or those of another run.

  Args:
    config: The settings; `init_from` is the folder of the other run.
    params: Fresh parameters. What the other run does not have to have, such as
      a network that decides when to stop, is taken from here.

  Returns:
    The parameters.

  Raises:
    checkpoints.RunError: if the folder holds no parameters for this run.
  """
  if config.init_from is None:
    return params
  theirs = _load_kept(config.init_from)
  result = {}
  for module, values in params.items():
    result[module] = theirs.get(module, values)
    fits = module in theirs and {
        k: np.shape(v) for k, v in theirs[module].items()} == {
            k: np.shape(v) for k, v in values.items()}
    if not fits and (module in theirs or not _OPTIONAL.search(module)):
      raise checkpoints.RunError(
          f'init_from={config.init_from} has no parameters that fit {module}: '
          'the two runs must not differ in norm, cgp, use_ln or the like.')
    if not all(np.isfinite(x).all() for x in result[module].values()):
      raise checkpoints.RunError(
          f'init_from={config.init_from} has parameters of {module} that are '
          'not finite.')
  for module in theirs:
    if module not in params and not _OPTIONAL.search(module):
      raise checkpoints.RunError(
          f'init_from={config.init_from} has parameters of {module}, for which '
          'this run has no use: the two must not differ in norm, cgp, use_ln '
          'or the like.')
  return result


def _load_kept(folder: str) -> Any:
  """The parameters that a run keeps, read by the first host."""
  return cluster.from_first(lambda: checkpoints.load_kept(folder))


def without_termination(params: Any) -> Any:
  """Parameters without those of the network that decides when to stop."""
  return {module: values for module, values in params.items()
          if not _OPTIONAL.search(module)}


def _load_matching(name: str, folder: str, config: configs.TrainConfig
                   ) -> configs.TrainConfig:
  """The settings of another run, if its states mean what ours do."""
  if not os.path.isdir(folder):
    raise checkpoints.RunError(f'{name}={folder} is not a folder.')
  theirs = configs.load_config(folder)
  for setting, ours, other in (
      ('algorithm', ','.join(config.algorithms), ','.join(theirs.algorithms)),
      ('processor', config.kind, theirs.kind),
      ('hidden_size', config.hidden_size, theirs.hidden_size)):
    if ours != other:
      raise checkpoints.RunError(
          f'{name}={folder} was trained with {setting}={other}, but this run '
          f'has {setting}={ours}.')
  return theirs
