# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the random streams."""

from dear_jax.data import streams
import numpy as np
import pytest


def philox_of_numpy(entropy, index, lane):
  """numpy's own generator, standing before the block with this counter."""
  key = np.random.SeedSequence(entropy).generate_state(2, np.uint64)
  counter = index << 64 | lane[0] << 128 | lane[1] << 192
  # numpy counts up before it makes a block.
  return np.random.Philox(key=key, counter=(counter - 1) % 2**256)


@pytest.mark.parametrize('count', [1, 2, 3, 4, 5, 37])
def test_words_are_those_of_numpy(count):
  indices = np.array([0, 1, 7, 2**40])
  lane = (2, 2**63 + 5)
  words = streams.Stream(3, 5).words(indices, count, lane=lane)
  assert words.shape == (4, count) and words.dtype == np.uint64
  for row, index in zip(words, indices):
    np.testing.assert_array_equal(
        row, philox_of_numpy((3, 5), int(index), lane).random_raw(count))


def test_uniforms_are_those_of_numpy():
  uniforms = streams.Stream(3).uniforms(np.array([9]), 1000)
  generator = np.random.Generator(philox_of_numpy((3,), 9, (0, 0)))
  np.testing.assert_array_equal(uniforms[0], generator.random(1000))


def make_draws(indices=(0, 1), split=0, size=4, entropy=(1,)):
  return streams.Draws(streams.Stream(*entropy), np.array(indices),
                       split=split, size=size)


def test_draws_depend_on_the_sample_alone():
  both, second = make_draws((0, 1)), make_draws((1,))
  for _ in range(3):
    np.testing.assert_array_equal(both.uniforms(2, 3)[1],
                                  second.uniforms(2, 3)[0])
  np.testing.assert_array_equal(both.integers(9)[1], second.integers(9)[0])


def test_nothing_is_drawn_twice():
  seen = set()
  total = 0
  for entropy in ((1,), (2,), (1, 1)):
    for split in range(3):
      for size in (4, 5):
        draws = make_draws(range(10), split, size, entropy)
        for _ in range(3):
          words = draws.words(4)
          seen.update(words.ravel().tolist())
          total += words.size
  assert len(seen) == total


def test_integers_cover_their_range():
  integers = make_draws(range(1000)).integers(3)
  assert integers.dtype == np.int64
  counts = np.bincount(integers)
  assert counts.shape == (3,) and counts.min() > 270


def test_some_of_the_samples_draw_on_their_own():
  whole, part = make_draws((3, 4, 5)), make_draws((5, 3))
  first, second = whole.some(np.array([1])), whole.some(np.array([0, 2]))
  part.some(np.array([], int))
  alone = part.some(np.array([0, 1]))
  drawn = second.uniforms(4)
  # Whoever else is in the batch, and whatever was drawn before.
  np.testing.assert_array_equal(drawn, alone.uniforms(4)[::-1])
  nested = second.some(np.array([0])), second.some(np.array([0]))
  all_draws = [whole.uniforms(4), first.uniforms(4), drawn,
               *(x.uniforms(4) for x in nested)]
  words = np.concatenate([x.ravel() for x in all_draws])
  assert len(np.unique(words)) == words.size
