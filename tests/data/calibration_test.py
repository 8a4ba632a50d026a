# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of how sure a model is and how often it is right."""

import clrs
from dear_jax.data import calibration
import numpy as np
import pytest


def _points(type_, truth, found):
  point = lambda data: clrs.DataPoint('x', clrs.Location.NODE, type_,
                                      np.array(data))
  return [point(truth)], {'x': point(found)}


def _sums(type_, truth, found, confidence):
  return calibration.bin_sums(*_points(type_, truth, found),
                              {'x': np.array(confidence)})


def test_pointers():
  sums = _sums(clrs.Type.POINTER, [[0, 1, 2], [0, 0, 0]],
               [[0, 1, 1], [0, 1, 1]], [[1.0, 0.95, 0.5], [0.05, 0.51, 0.59]])
  assert sums.shape == (2, calibration.NB_BINS, 3)
  np.testing.assert_allclose(sums[0, 9], [2, 1.95, 2])
  np.testing.assert_allclose(sums[0, 5], [1, 0.5, 0])
  np.testing.assert_allclose(sums[1, 0], [1, 0.05, 1])
  np.testing.assert_allclose(sums[1, 5], [2, 1.1, 0])
  assert sums[..., 0].sum() == 6
  low, middle, high = calibration.reliability_table(sums)
  assert (low['low'], low['high'], low['entries']) == (0, 0.1, 1)
  assert middle == pytest.approx(
      dict(low=0.5, high=0.6, entries=3, confidence=1.6 / 3, right=0))
  assert high['right'] == 1 and high['confidence'] == pytest.approx(0.975)
  assert calibration.expected_error(sums) == pytest.approx(
      (0.95 + 1.6 + 0.05) / 6)


def test_masks_and_categories_leave_out_what_clrs_does():
  masked = clrs.OutputClass.MASKED
  sums = _sums(clrs.Type.MASK, [[1., 0., masked]], [[0.9, 0.7, 0.9]],
               [[0.9, 0.7, 0.9]])
  np.testing.assert_allclose(sums.sum(axis=1), [[2, 1.6, 1]])
  sums = _sums(clrs.Type.CATEGORICAL, [[[1, 0], [0, 1], [masked, masked]]],
               [[[1, 0], [1, 0], [1, 0]]], [[0.8, 0.6, 1.]])
  np.testing.assert_allclose(sums.sum(axis=1), [[2, 1.4, 1]])


def test_a_calibrated_model_has_no_error():
  rng = np.random.default_rng(0)
  confidence = rng.uniform(size=(50, 4000))
  right = rng.uniform(size=confidence.shape) < confidence
  sums = _sums(clrs.Type.POINTER, np.zeros(right.shape), ~right, confidence)
  assert calibration.expected_error(sums) < 0.005
  for row in calibration.reliability_table(sums):
    assert row['right'] == pytest.approx(row['confidence'], abs=0.02)
  # Those of samples add up.
  np.testing.assert_allclose(
      sums[:9], _sums(clrs.Type.POINTER, np.zeros((9, 4000)), ~right[:9],
                      confidence[:9]))


def test_nothing_to_tell():
  empty = np.zeros((3, calibration.NB_BINS, 3))
  assert calibration.expected_error(empty) is None
  assert calibration.reliability_table(empty) == []
