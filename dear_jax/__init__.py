# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Deep Equilibrium Algorithmic Reasoning in JAX, on top of CLRS."""

import importlib as _importlib
import typing as _typing

if _typing.TYPE_CHECKING:
  # pylint: disable=g-import-not-at-top
  from dear_jax.implicit import fixed_point
  from dear_jax.models import DEARModel
  from dear_jax.models import NARModel
  from dear_jax.processors import get_processor_factory
  from dear_jax.processors import register
  from dear_jax.processors import unregister
  from dear_jax.reasoners import load
  from dear_jax.reasoners import Reasoner
  from dear_jax.regularisers import jacobian_penalty
  from dear_jax.samplers import drop_hints
  from dear_jax.samplers import make_sampler
  from dear_jax.solvers import Solution
  from dear_jax.solvers import solve
  from dear_jax.solvers import SolverConfig
  from dear_jax.splits import make_splits
  from dear_jax.training import train
  from dear_jax.training import TrainConfig

__version__ = '0.2.0'


# Where the public names live. They are imported when they are first used: clrs
# imports TensorFlow, which takes seconds that a user of the solvers need not
# wait for.
_HOMES = {
    'DEARModel': 'models',
    'drop_hints': 'samplers',
    'fixed_point': 'implicit',
    'get_processor_factory': 'processors',
    'jacobian_penalty': 'regularisers',
    'load': 'reasoners',
    'make_sampler': 'samplers',
    'make_splits': 'splits',
    'NARModel': 'models',
    'Reasoner': 'reasoners',
    'register': 'processors',
    'Solution': 'solvers',
    'solve': 'solvers',
    'SolverConfig': 'solvers',
    'train': 'training',
    'TrainConfig': 'training',
    'unregister': 'processors',
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
