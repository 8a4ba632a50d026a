# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Deep Equilibrium Algorithmic Reasoning in JAX, on top of CLRS."""

from dear_jax.implicit import fixed_point
from dear_jax.models import DEARModel
from dear_jax.models import NARModel
from dear_jax.processors import get_processor_factory
from dear_jax.processors import register
from dear_jax.processors import unregister
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

__all__ = (
    'DEARModel',
    'drop_hints',
    'fixed_point',
    'get_processor_factory',
    'jacobian_penalty',
    'make_sampler',
    'make_splits',
    'NARModel',
    'register',
    'Solution',
    'solve',
    'SolverConfig',
    'train',
    'TrainConfig',
    'unregister',
)
