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


def test_booleans_that_are_certain():
  """And others in the same batch, which are what they are without these."""
  assert make_draws().booleans(1.0, 3, 3).all()
  assert make_draws().booleans(1, 9).all()
  assert not make_draws().booleans(0.0, 9).any()
  mixed = make_draws(range(4)).booleans(np.array([1.0, 0.4, 0.0, 1.0]), 99)
  assert mixed[[0, 3]].all() and not mixed[2].any()
  np.testing.assert_array_equal(mixed[1],
                                make_draws((1,)).booleans(0.4, 99)[0])


@pytest.mark.parametrize('p', [
    2.0**-33, 2.0**-32, 0.1, 0.5, 0.9, 1 - 2.0**-32, np.nextafter(1, 0)])
def test_booleans_are_32_bits_below_a_threshold(p):
  halves = make_draws(range(50)).words(50).view(np.uint32)
  np.testing.assert_array_equal(
      make_draws(range(50)).booleans(p, 100), halves < np.uint32(p * 2.0**32))


@pytest.mark.parametrize('p, named', [
    (1.5, '1.5'), (-0.1, '-0.1'), (np.nan, 'nan'), (np.inf, 'inf'),
    (np.array([0.5, 2.0]), '2.0')])
def test_what_is_no_probability(p, named):
  with pytest.raises(ValueError, match=f'from 0 to 1, got {named}[.]$'):
    make_draws().booleans(p, 3)


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
