# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of samples kept on disk."""

import os

from dear_jax.data import samplers
from dear_jax.data import tasks
import numpy as np
import pytest
from tests import feedbacks


class Counter:
  """Counts the samples that a task draws."""

  def __init__(self, monkeypatch):
    self.drawn = 0
    sample = tasks.Task.sample
    def spy(task, draws, *options):
      self.drawn += draws.batch_size
      return sample(task, draws, *options)
    monkeypatch.setattr(tasks.Task, 'sample', spy)


@pytest.fixture(name='counter')
def _counter(monkeypatch):
  return Counter(monkeypatch)


def make(cache_dir, task='insertion_sort', **kwargs):
  options = dict(size=5, batch_size=4, seed=1, split='train',
                 cache_dir=cache_dir)
  options.update(kwargs)
  return samplers.make_sampler(task, **options)


def the_file(folder):
  name, = os.listdir(folder)
  return os.path.join(folder, name)


@pytest.mark.parametrize('task', [
    'insertion_sort', 'search', 'floyd_warshall', 'minimum', 'heapsort'])
def test_what_comes_back_is_what_was_made(tmp_path, task):
  expected = make(None, task).batch(2)
  for _ in range(2):  # made, then read
    actual = make(tmp_path, task).batch(2)
    assert feedbacks.same(actual, expected)


def test_nothing_is_made_twice(tmp_path, counter):
  make(tmp_path).batch(0)
  assert counter.drawn == 5  # one more, for the layout
  again = make(tmp_path)
  again.batch(0)
  assert counter.drawn == 6
  again.batch(0)
  assert counter.drawn == 6
  # Samples are kept, not batches: other batches of them make only the rest.
  make(tmp_path, batch_size=6).batch(0)
  assert counter.drawn == 6 + 1 + 2


@pytest.mark.parametrize('damage', ['truncate', 'zero', 'flip', 'empty'])
def test_a_crash_while_writing_costs_only_what_was_in_hand(
    tmp_path, counter, damage):
  expected = make(tmp_path).batch(0)
  path = the_file(tmp_path)
  with open(path, 'rb') as file:
    data = bytearray(file.read())
  stride = len(data) // 4
  if damage == 'truncate':  # in the middle of the last sample
    data = data[:-stride // 2]
  elif damage == 'zero':  # a hole in the middle
    data[stride:stride + stride // 2] = bytes(stride // 2)
  elif damage == 'flip':
    data[2 * stride + 3] ^= 1
  else:
    data = b''
  with open(path, 'wb') as file:
    file.write(data)
  counter.drawn = 0
  assert feedbacks.same(make(tmp_path).batch(0), expected)
  assert counter.drawn == 1 + (4 if damage == 'empty' else 1)
  counter.drawn = 0
  assert feedbacks.same(make(tmp_path).batch(0), expected)
  assert counter.drawn == 1  # it has been mended


@pytest.mark.parametrize('other', [
    dict(seed=2), dict(split='val'), dict(size=6), dict(random_pos=False),
    dict(enforce_permutations=False)])
def test_other_data_has_other_files(tmp_path, other):
  for kwargs in ({}, other):
    assert feedbacks.same(make(tmp_path, **kwargs).batch(0),
                                make(None, **kwargs).batch(0))
  assert len(os.listdir(tmp_path)) == 2


def test_a_folder_that_cannot_be_used_is_an_error_at_once(tmp_path):
  (tmp_path / 'file').write_text('')
  with pytest.raises(ValueError, match='data cache .*file cannot be used'):
    make(tmp_path / 'file')


def test_a_full_disk_is_a_warning(tmp_path, monkeypatch, caplog):
  sampler = make(tmp_path)
  path = os.path.join(tmp_path, 'no', 'such', 'folder')
  monkeypatch.setattr(sampler._cache, '_path', lambda *unused: path)
  for _ in range(2):
    assert feedbacks.same(sampler.batch(0), make(None).batch(0))
  assert sum('going on without it' in x.message for x in caplog.records) == 1


def test_many_samples_in_any_order(tmp_path):
  cached = make(tmp_path, num_samples=40, size=(4, 6))
  plain = make(None, num_samples=40, size=(4, 6))
  for index in np.random.default_rng(0).permutation(30):
    assert feedbacks.same(cached.batch(index), plain.batch(index))
