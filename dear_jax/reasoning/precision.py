# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Reasoners compute in single precision, whatever `jax_enable_x64` says."""

import contextlib
from typing import Iterator

import jax
from jax import experimental


@contextlib.contextmanager
def single() -> Iterator[None]:
  """Single precision, in which parameters are."""
  with (jax.enable_x64(False) if hasattr(jax, 'enable_x64') else
        getattr(experimental, 'disable_x64')()):  # in older versions of JAX
    yield
