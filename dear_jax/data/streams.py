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
from typing import Iterator, Tuple, Union

from dear_jax.data import kernels
from llvmlite import ir
from numba import extending
from numba import types
import numpy as np

_MULTIPLIERS = (np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157))
_WEYL = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBB67AE8584CAA73B))
_ROUNDS = 10
_BLOCK = 4  # words that one counter gives

# Of a lane: the bits that name the split, and how often draws can be taken
# apart, which can be done thrice one after the other.
_SPLIT_BITS = 16
_CALLS = 1 << 16


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
    # Whole blocks are made, and what is too much is cut off.
    blocks = np.empty((len(indices), -(-count // _BLOCK), _BLOCK), np.uint64)
    _fill(*self._key, np.asarray(indices, np.uint64), np.uint64(lane[0]),
          np.uint64(lane[1]), blocks)
    return blocks.reshape(len(indices), -1)[:, :count]

  def uniforms(self, indices: np.ndarray, count: int, *,
               lane: Tuple[int, int] = (0, 0)) -> np.ndarray:
    """Random numbers in [0, 1), with 53 bits each; see `words`."""
    words = self.words(indices, count, lane=lane)
    result = np.empty(words.shape)
    _to_uniforms(words, result)
    return result


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
    self._indices = np.asarray(indices, np.uint64)
    self._split = split
    self._origin = 0
    self._nb_draws = 0
    self._nb_calls = 0
    self._singles: Iterator[np.ndarray] = iter(())

  def words(self, count: int) -> np.ndarray:
    """[B, count] random 64-bit words."""
    return self._stream.words(self._indices, count, lane=self._next_lane())

  def uniforms(self, *shape: int) -> np.ndarray:
    """[B, *shape] random numbers in [0, 1)."""
    flat = self._stream.uniforms(
        self._indices, math.prod(shape), lane=self._next_lane())
    return flat.reshape((self.batch_size,) + shape)

  def booleans(self, p: Union[float, np.ndarray], *shape: int) -> np.ndarray:
    """[B, *shape], true with probability `p`, which may be one a sample.

    Takes 32 bits for each, so `p` is rounded down to a multiple of 2^-32.

    Args:
      p: From 0 to 1, a number or [B].
      *shape: Of what a sample gets.

    Returns:
      The truth values.

    Raises:
      ValueError: if there is a `p` that is no probability.
    """
    p = np.asarray(p, np.float64).reshape(-1, 1)
    wrong = p[~((p >= 0) & (p <= 1))]  # NaN is among these
    if wrong.size:
      raise ValueError(f'p must be a probability from 0 to 1, got {wrong[0]}.')
    count = math.prod(shape)
    halves = self.words(-(-count // 2)).view(np.uint32)[:, :count]
    # The threshold of what is certain, 2^32, is more than 32 bits can hold;
    # comparing in 64 takes two to three times as long.
    is_certain = p == 1
    below = halves < np.where(is_certain, 0, p * 2.0**32).astype(np.uint32)
    if is_certain.any():
      below |= is_certain
    return below.reshape((self.batch_size,) + shape)

  def single(self) -> np.ndarray:
    """[B] random numbers in [0, 1)."""
    column = next(self._singles, None)
    if column is None:  # the words of a block cost as much as one of them
      self._singles = iter(self.uniforms(_BLOCK).T)
      column = next(self._singles)
    return column

  def integers(self, stop: int) -> np.ndarray:
    """[B] random integers in 0..stop - 1."""
    return (self.single() * stop).astype(np.int64)

  def some(self, rows: np.ndarray) -> 'Draws':
    """What some of the samples draw on their own.

    It shares nothing with what the whole batch draws, nor with another call of
    this. A sample draws the same whichever others are taken with it, if calls
    come in the same order; a call may be for no samples at all.

    Args:
      rows: [K], their places in the batch.

    Returns:
      The draws of these.
    """
    result = Draws(self._stream, self._indices[rows], split=self._split,
                   size=self.size)
    # The number of a call, behind those that led here; the rest of the batch
    # has an origin of 0.
    self._nb_calls += 1
    if self._nb_calls >= _CALLS:
      raise ValueError(f'There can be less than {_CALLS} calls of some.')
    result._origin = self._origin * _CALLS + self._nb_calls
    return result

  def alone(self, row: int) -> 'Draws':
    """What one of the samples draws, as if it were a batch of its own."""
    assert not (self._nb_draws or self._nb_calls or self._origin)
    return Draws(self._stream, self._indices[row:row + 1], split=self._split,
                 size=self.size)

  def _next_lane(self) -> Tuple[int, int]:
    # Every draw has a lane of its own, so none needs to know how much the
    # others take.
    lane = (self._split | self._origin << _SPLIT_BITS,
            self.size | self._nb_draws << 32)
    self._nb_draws += 1
    return lane


@extending.intrinsic
def _multiply(unused_context, unused_a, unused_b):
  """Both halves of a 128-bit product, which numba has no type for."""
  def codegen(context, builder, signature, args):
    wide, word = ir.IntType(128), ir.IntType(64)
    product = builder.mul(*(builder.zext(arg, wide) for arg in args))
    high = builder.lshr(product, ir.Constant(wide, 64))
    return context.make_tuple(
        builder, signature.return_type,
        [builder.trunc(high, word), builder.trunc(product, word)])
  pair = types.UniTuple(types.uint64, 2)
  return pair(types.uint64, types.uint64), codegen


@kernels.kernel
def _fill(key0, key1, indices, lane0, lane1, blocks):
  """Fills [B, K, 4] from the counters (k, index, *lane)."""
  for row in range(blocks.shape[0]):
    for k in range(blocks.shape[1]):
      x0, x1, x2, x3 = np.uint64(k), indices[row], lane0, lane1
      k0, k1 = key0, key1
      for _ in range(_ROUNDS):
        # numba hands an intrinsic its first argument itself.
        high0, low0 = _multiply(  # type: ignore[call-arg, var-annotated]
            x0, _MULTIPLIERS[0])
        high1, low1 = _multiply(x2, _MULTIPLIERS[1])
        x0, x1, x2, x3 = high1 ^ x1 ^ k0, low1, high0 ^ x3 ^ k1, low0
        k0 += _WEYL[0]
        k1 += _WEYL[1]
      blocks[row, k, 0] = x0
      blocks[row, k, 1] = x1
      blocks[row, k, 2] = x2
      blocks[row, k, 3] = x3


@kernels.kernel
def _to_uniforms(words, result):
  """As numpy does: the upper 53 bits, as a fraction."""
  for row in range(words.shape[0]):
    for i in range(words.shape[1]):
      result[row, i] = (words[row, i] >> np.uint64(11)) * 2.0**-53
