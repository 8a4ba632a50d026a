# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""How numbers, entries and other values are told to a user."""

from typing import Any, Sequence

import numpy as np


def number(value: Any) -> str:
  """A number, with as many digits as it takes to tell it from others.

  >>> number(0.3), number(0.1 + 0.2), number(1234567.0), number(2.0)
  ('0.3', '0.30000000000000004', '1234567', '2')
  """
  value = float(value)
  short = f'{value:g}'
  if float(short) == value or np.isnan(value):
    return short
  return repr(value).removesuffix('.0')


def entry(name: str, index: Sequence[int], is_single: bool) -> str:
  """An entry of an array, whose first axis was not given if it is single."""
  index = index[1:] if is_single else index
  return f'{name}[{", ".join(str(int(i)) for i in index)}]'


def shown(value: Any) -> str:
  """A value, cut short if it is long."""
  if isinstance(value, np.ndarray) and value.ndim:
    return f'an array of {value.dtype} of the shape {list(value.shape)}'
  text = repr(value.item() if isinstance(value, np.ndarray) else value)
  return text if len(text) <= 60 else f'{text[:57]}...'


def few(indices: np.ndarray) -> str:
  """The first few of several indices."""
  text = ', '.join(str(i) for i in indices[:8])
  return text if len(indices) <= 8 else f'{text}, ...'
