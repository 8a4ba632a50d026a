# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Shared set-up of the tests."""

import os

# Before the first import of JAX and TensorFlow. Nearly all of the time goes into
# compiling programs that run once, so compile them without optimisation.
os.environ['JAX_PLATFORMS'] = 'cpu'
os.environ['XLA_FLAGS'] = ' '.join([
    os.environ.get('XLA_FLAGS', ''), '--xla_backend_optimization_level=0',
    '--xla_llvm_disable_expensive_passes=true'])
os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')

import warnings  # pylint:disable=g-import-not-at-top

with warnings.catch_warnings():
  # TensorFlow and its friends warn on import; that is not ours to mend.
  warnings.simplefilter('ignore')
  import clrs  # pylint:disable=unused-import
  import orbax.checkpoint  # pylint:disable=unused-import

from dear_jax import training

# Later runs find what was compiled.
training.enable_compilation_cache()


def pytest_configure(config):
  config.addinivalue_line('filterwarnings', 'error')
