# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Shared set-up of the tests."""

import os

# Before the first import of JAX and TensorFlow.
os.environ['JAX_PLATFORMS'] = 'cpu'
os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')

import warnings  # pylint:disable=g-import-not-at-top

with warnings.catch_warnings():
  # TensorFlow and its friends warn on import; that is not ours to mend.
  warnings.simplefilter('ignore')
  import clrs  # pylint:disable=unused-import
  import orbax.checkpoint  # pylint:disable=unused-import

from dear_jax import training

# Compiling is most of what the tests do. Later runs find it done.
training.enable_compilation_cache()


def pytest_configure(config):
  config.addinivalue_line('filterwarnings', 'error')
