# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Figures of several batches or algorithms, put together."""

from typing import Any, Dict, Iterable, Mapping

import numpy as np


def floats(metrics: Mapping[str, Any]) -> Dict[str, float]:
  """Waits for figures that are being computed."""
  return {name: float(value) for name, value in metrics.items()}


def combine(metrics: Iterable[Mapping[str, float]]) -> Dict[str, float]:
  """Means over batches or algorithms, except that maxima stay maxima.

  The scores of single outputs, whose names differ, are left out.
  """
  metrics = list(metrics)
  return {
      name: float((np.max if name.endswith('_max') else np.mean)(
          [m[name] for m in metrics]))
      for name in metrics[0] if name != 'outputs'}
