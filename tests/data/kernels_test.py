# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of how loops are compiled."""

from dear_jax.data import kernels
import numba
import numpy as np


def test_works_where_nothing_can_be_written(monkeypatch):
  njit = numba.njit
  def no_cache(*args, cache=False, **kwargs):
    if cache:  # what numba does if it finds no folder
      raise RuntimeError('cannot cache function: no locator available')
    return njit(*args, **kwargs)
  monkeypatch.setattr(numba, 'njit', no_cache)
  @kernels.kernel
  def double(x):
    for i in range(x.shape[0]):
      x[i] *= 2
  x = np.arange(3)
  double(x)
  np.testing.assert_array_equal(x, [0, 2, 4])
