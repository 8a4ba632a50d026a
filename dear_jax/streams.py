# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Random numbers that belong to a sample, not to the order of asking.

Philox-4x64-10 (Salmon et al., 2011), the generator behind
`numpy.random.Philox`, with the number of a sample as a part of its counter. So
a sample is the same whichever batch, worker or machine draws it, and two
samples of a task never get the same block of random numbers: for one key,
Philox is a bijection of its counters. `numpy` would need a new generator object
for every sample, which costs more than drawing a small one.
"""

import math
from typing import Tuple

from llvmlite import ir
import numba
from numba import extending
from numba import types
import numpy as np

_MULTIPLIERS = (np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157))
_WEYL = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBB67AE8584CAA73B))
_ROUNDS = 10
_BLOCK = 4  # words that one counter gives


class Stream:
  """The random words of every sample of one data set."""

  def __init__(self, *entropy: int):
    """Initialises the stream.

    Args:
      *entropy: Non-negative integers that name the data set.
    """
    key = np.random.SeedSequence(entropy).generate_state(2, np.uint64)
    self._key = (key[0], key[1])

  def words(self, indices: np.ndarray, count: int, *,
            lane: Tuple[int, int] = (0, 0)) -> np.ndarray:
    """Random 64-bit words.

    Args:
      indices: [B], the numbers of the samples.
      count: How many words every sample gets.
      lane: Two more parts of the counter; different lanes share nothing.

    Returns:
      [B, count], unsigned.
    """
    result = np.empty((len(indices), count), np.uint64)
    _fill(*self._key, np.ascontiguousarray(indices, np.uint64),
          np.uint64(lane[0]), np.uint64(lane[1]), result)
    return result

  def uniforms(self, indices: np.ndarray, count: int, *,
               lane: Tuple[int, int] = (0, 0)) -> np.ndarray:
    """Random numbers in [0, 1), with 53 bits each; see `words`."""
    words = self.words(indices, count, lane=lane)
    words >>= np.uint64(11)
    return words * 2.0**-53


class Draws:
  """What a batch of samples draws from a stream, one thing after the other."""

  def __init__(self, stream: Stream, indices: np.ndarray, *, split: int,
               size: int):
    """Initialises the draws.

    Args:
      stream: Where the numbers come from.
      indices: [B], the numbers of the samples.
      split: The number of the split; splits share nothing.
      size: The size of the samples; neither do sizes.
    """
    self.size = size
    self.batch_size = len(indices)
    self._stream = stream
    self._indices = indices
    self._split = split
    self._nb_draws = 0

  def words(self, *shape: int) -> np.ndarray:
    """[B, *shape] random 64-bit words."""
    return self._draw(self._stream.words, shape)

  def uniforms(self, *shape: int) -> np.ndarray:
    """[B, *shape] random numbers in [0, 1)."""
    return self._draw(self._stream.uniforms, shape)

  def integers(self, stop: int) -> np.ndarray:
    """[B] random integers in 0..stop - 1."""
    return (self.uniforms(1)[:, 0] * stop).astype(np.int64)

  def _draw(self, draw, shape):
    # Every draw has a lane of its own, so none needs to know how much the
    # others take.
    lane = self._split, self.size | self._nb_draws << 32
    self._nb_draws += 1
    flat = draw(self._indices, math.prod(shape), lane=lane)
    return flat.reshape((self.batch_size,) + shape)


@extending.intrinsic
def _multiply_high(unused_context, unused_a, unused_b):
  """The upper half of a 128-bit product, which numba has no type for."""
  def codegen(unused_context, builder, unused_signature, args):
    wide = ir.IntType(128)
    product = builder.mul(*(builder.zext(arg, wide) for arg in args))
    return builder.trunc(
        builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))
  return types.uint64(types.uint64, types.uint64), codegen


@numba.njit(nogil=True, cache=True)
def _fill(key0, key1, indices, lane0, lane1, result):
  """Fills every row of `result` from the counters (block, index, *lane)."""
  count = result.shape[1]
  for row in range(result.shape[0]):
    for start in range(0, count, _BLOCK):
      x0, x1 = np.uint64(start // _BLOCK), indices[row]
      x2, x3 = lane0, lane1
      k0, k1 = key0, key1
      for _ in range(_ROUNDS):
        low0 = x0 * _MULTIPLIERS[0]
        low1 = x2 * _MULTIPLIERS[1]
        x0, x2 = (_multiply_high(x2, _MULTIPLIERS[1]) ^ x1 ^ k0,
                  _multiply_high(x0, _MULTIPLIERS[0]) ^ x3 ^ k1)
        x1, x3 = low1, low0
        k0 += _WEYL[0]
        k1 += _WEYL[1]
      result[row, start] = x0
      if start + 1 < count:
        result[row, start + 1] = x1
      if start + 2 < count:
        result[row, start + 2] = x2
      if start + 3 < count:
        result[row, start + 3] = x3
