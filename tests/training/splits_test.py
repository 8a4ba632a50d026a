# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the data of a task."""

import dear_jax
from dear_jax.training import configs
from dear_jax.training import splits as splits_of
import numpy as np
import pytest
from tests import feedbacks


def sizes_of(sampler, nb_batches):
  return {feedbacks.arrays(sampler.batch(i))['pos'].shape[1]
          for i in range(nb_batches)}


def test_the_splits_of_the_paper():
  splits = dear_jax.make_splits('search', preset='paper', seed=3)
  train, val, test = splits
  assert [s.num_samples for s in splits] == [100_000, 100, 100]
  assert train.batch_size == 32
  assert sizes_of(train, 60) == set(range(8, 17))
  for sampler, size in ((val, 16), (test, 64)):
    batches = [feedbacks.arrays(batch) for batch in sampler]
    keys = np.concatenate([batch['key'] for batch in batches])
    assert keys.shape == (100, size)
    assert len(np.unique(keys)) == keys.size


def test_other_presets_train_on_fresh_samples():
  quick = dear_jax.make_splits('bfs', preset='quick', seed=0)
  assert quick.train.num_samples is None
  assert quick.val.num_samples == 100


def test_seeds_matter():
  first, same, other = (
      dear_jax.make_splits('minimum', seed=seed).val.batch(0)
      for seed in (1, 1, 2))
  assert feedbacks.same(first, same)
  assert not feedbacks.same(first, other)


def test_cached(tmp_path):
  plain = dear_jax.make_splits('minimum', seed=1).val.batch(0)
  for _ in range(2):
    cached = dear_jax.make_splits('minimum', seed=1, cache_dir=tmp_path)
    assert feedbacks.same(cached.val.batch(0), plain)


def test_wrong_arguments_are_named():
  with pytest.raises(ValueError, match="task 'bsf' .did you mean 'bfs'"):
    dear_jax.make_splits('bsf', seed=0)
  with pytest.raises(ValueError, match="preset 'papers'.*quick, default"):
    dear_jax.make_splits('bfs', preset='papers', seed=0)
  with pytest.raises(ValueError, match='seed .* -1'):
    dear_jax.make_splits('bfs', seed=-1)
  with pytest.raises(ValueError, match="graphs 'gird' .did you mean 'grid'"):
    dear_jax.make_splits('bfs', graphs='gird')


def test_graphs_of_all_splits():
  splits = dear_jax.make_splits('bfs', preset='default', graphs='path')
  for sampler in splits:
    edges = feedbacks.arrays(sampler.batch(0))['A']
    nb_nodes = edges.shape[1]
    assert (edges.sum(axis=(1, 2)) == 2 * (nb_nodes - 1)).all()
    assert edges.sum(axis=2).max() == 2
  config = dear_jax.TrainConfig(algorithms=('bfs', 'mst_prim'), graphs='mixed')
  sampler = dear_jax.make_splits('mst_prim', preset='default', graphs='mixed',
                                 seed=config.seed).val
  from_config = splits_of.from_config(config, 'mst_prim').val
  assert feedbacks.same(sampler.batch(0), from_config.batch(0))


def test_graphs_are_for_tasks_that_have_them():
  with pytest.raises(ValueError, match='graphs=mixed is not for minimum, .* '
                     'bellman_ford, bfs, .*components_local.$'):
    dear_jax.TrainConfig(algorithms=('bfs', 'minimum'), graphs='mixed')
  assert dear_jax.TrainConfig(algorithms=('minimum',)).graphs == 'er'
  # What older runs were trained on.
  assert configs.from_settings({'algorithms': ['bfs']}).graphs == 'er'
