# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Deep Equilibrium Algorithmic Reasoning in JAX, on top of CLRS."""

import importlib as _importlib
import typing as _typing

if _typing.TYPE_CHECKING:
  # pylint: disable=g-import-not-at-top
  from dear_jax.data.samplers import drop_hints as drop_hints
  from dear_jax.data.samplers import make_sampler as make_sampler
  from dear_jax.data.task_registry import register_task as register_task
  from dear_jax.fixed_points.config import Solution as Solution
  from dear_jax.fixed_points.config import SolverConfig as SolverConfig
  from dear_jax.fixed_points.implicit import fixed_point as fixed_point
  from dear_jax.fixed_points.regularisers import (
    jacobian_penalty as jacobian_penalty,
  )
  from dear_jax.fixed_points.solvers import solve as solve
  from dear_jax.models.dear import DEARModel as DEARModel
  from dear_jax.models.nar import NARModel as NARModel
  from dear_jax.networks.processors import (
    get_processor_factory as get_processor_factory,
  )
  from dear_jax.networks.registry import register as register
  from dear_jax.networks.registry import register_step as register_step
  from dear_jax.networks.registry import unregister as unregister
  from dear_jax.reasoning.cards import pretrained as pretrained
  from dear_jax.reasoning.loading import load as load
  from dear_jax.reasoning.reasoners import Reasoner as Reasoner
  from dear_jax.training.configs import TrainConfig as TrainConfig
  from dear_jax.training.loop import train as train
  from dear_jax.training.splits import make_splits as make_splits

from dear_jax import lean_clrs as _lean_clrs

__version__ = '0.2.0'

_lean_clrs.install()

# Where the public names live. They are imported when they are first used: clrs
# and haiku take seconds that a user of the solvers need not wait for.
_HOMES = {
    'DEARModel': 'models.dear',
    'drop_hints': 'data.samplers',
    'fixed_point': 'fixed_points.implicit',
    'get_processor_factory': 'networks.processors',
    'jacobian_penalty': 'fixed_points.regularisers',
    'load': 'reasoning.loading',
    'make_sampler': 'data.samplers',
    'make_splits': 'training.splits',
    'NARModel': 'models.nar',
    'pretrained': 'reasoning.cards',
    'Reasoner': 'reasoning.reasoners',
    'register': 'networks.registry',
    'register_step': 'networks.registry',
    'register_task': 'data.task_registry',
    'Solution': 'fixed_points.config',
    'solve': 'fixed_points.solvers',
    'SolverConfig': 'fixed_points.config',
    'train': 'training.loop',
    'TrainConfig': 'training.configs',
    'unregister': 'networks.registry',
}

__all__ = tuple(_HOMES)


def __getattr__(name: str):
  if name not in _HOMES:
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
  value = getattr(
      _importlib.import_module(f'{__name__}.{_HOMES[name]}'), name)
  globals()[name] = value  # the next access does not come here
  return value


def __dir__():
  return sorted({*globals(), *__all__})
