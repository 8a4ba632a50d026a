# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of hint-free sampling."""

import threading

import clrs
from dear_jax import samplers
import jax
import numpy as np
import pytest


def make(task='bfs', **kwargs):
  options = dict(size=5, batch_size=3, seed=1, split='train')
  options.update(kwargs)
  return samplers.make_sampler(task, **options)


def same(a, b):
  leaves_a, tree_a = jax.tree_util.tree_flatten(a)
  leaves_b, tree_b = jax.tree_util.tree_flatten(b)
  return tree_a == tree_b and all(
      np.array_equal(x, y) for x, y in zip(leaves_a, leaves_b))


def size_of(feedback):
  return next(
      x.data.shape[1] for x in feedback.features.inputs if x.name == 'pos')


@pytest.fixture(name='clrs_sampler')
def _clrs_sampler():
  sampler, _ = clrs.build_sampler('dfs', num_samples=4, seed=0, length=5)
  return sampler


def test_drop_hints_of_a_feedback(clrs_sampler):
  feedback = clrs_sampler.next()
  assert feedback.features.hints[0].data.shape[0] > 1
  cut = samplers.drop_hints(feedback)
  for before, after in zip(feedback.features.hints, cut.features.hints):
    assert after.name == before.name
    assert after.data.dtype == before.data.dtype
    np.testing.assert_array_equal(after.data, before.data[:1])
  np.testing.assert_array_equal(cut.features.lengths, np.ones(4))
  assert same(cut.features.inputs, feedback.features.inputs)
  assert same(cut.outputs, feedback.outputs)


def test_drop_hints_of_a_sampler_and_of_an_iterator(clrs_sampler):
  whole = clrs_sampler.next()
  batch = samplers.drop_hints(clrs_sampler).next(2)
  assert batch.features.hints[0].data.shape[:2] == (1, 2)
  batches = samplers.drop_hints(iter([whole, whole]))
  assert [x.features.hints[0].data.shape[0] for x in batches] == [1, 1]


def test_drop_hints_of_anything_else():
  with pytest.raises(TypeError, match='drop_hints takes .* not a int'):
    samplers.drop_hints(3)


# numpy deprecates what clrs' convex hull sampler does.
@pytest.mark.filterwarnings('ignore:Arrays of 2-dimensional vectors')
@pytest.mark.parametrize('task', samplers.task_names())
def test_every_task_matches_its_spec(task):
  sampler = make(task, batch_size=2)
  feedback = sampler.batch(0)
  features = feedback.features
  found = {}
  for stage, probes in ((clrs.Stage.INPUT, features.inputs),
                        (clrs.Stage.HINT, features.hints),
                        (clrs.Stage.OUTPUT, feedback.outputs)):
    found.update({x.name: (stage, x.location, x.type_) for x in probes})
  assert found == sampler.spec
  assert all(x.data.shape[0] == 1 for x in features.hints)
  np.testing.assert_array_equal(features.lengths, [1, 1])


@pytest.mark.parametrize('task', ['insertion_sort', 'quicksort'])
def test_permutations_equal_those_of_clrs(task):
  sampler, spec = clrs.build_sampler(task, num_samples=4, seed=0, length=7)
  raw = samplers.drop_hints(sampler.next())
  _, expected = clrs.process_permutations(spec, iter([raw]), True)
  actual = samplers.enforce_permutations(raw)
  assert same(actual, jax.device_get(next(expected)))
  assert actual.outputs[0].type_ == clrs.Type.PERMUTATION_POINTER


def test_a_batch_depends_on_its_index_alone():
  first, second = make(), make()
  assert same(first.batch(3), second.batch(3))
  for _ in range(3):
    next(first)
  assert same(next(first), second.batch(3))
  assert not same(first.batch(3), first.batch(4))


@pytest.mark.parametrize('other', [
    dict(seed=2), dict(split='val'), dict(split='test')])
def test_seeds_and_splits_share_nothing(other):
  graphs = [dict((x.name, x.data) for x in make(**kwargs, size=8).batch(0)
                 .features.inputs)['adj'] for kwargs in ({}, other)]
  assert not (graphs[0] == graphs[1]).all(axis=(1, 2)).any()


def test_pointer_inputs_are_integers():
  pred = next(x for x in make('minimum').batch(0).features.inputs
              if x.name == 'pred')
  assert pred.data.dtype == np.int64
  np.testing.assert_array_equal(pred.data[0], [0, 0, 1, 2, 3])


def test_positions_are_random_in_training_only():
  even = np.tile(np.arange(5) / 5, (3, 1))
  for split, expected in (('train', False), ('val', True), ('test', True)):
    pos = next(x.data for x in make(split=split).batch(0).features.inputs
               if x.name == 'pos')
    assert np.allclose(pos, even) == expected
    assert (np.diff(pos) > 0).all()


def test_a_range_gives_every_batch_one_of_its_sizes():
  sampler = make('minimum', size=(4, 6), batch_size=1)
  assert {size_of(sampler.batch(i)) for i in range(30)} == {4, 5, 6}


def test_state_is_the_index_of_the_next_batch():
  sampler = make()
  next(sampler)
  assert sampler.state == {'index': 1}
  resumed = make()
  resumed.state = sampler.state
  assert same(resumed.next(), sampler.batch(1))


@pytest.mark.parametrize('task, largest', [
    ('bfs', 0.9), ('mst_kruskal', 0.45), ('insertion_sort', None)])
def test_edge_probabilities(task, largest, monkeypatch, caplog):
  seen = []
  build = clrs.build_sampler
  def spy(*args, **kwargs):
    seen.append(kwargs.get('p'))
    return build(*args, **kwargs)
  monkeypatch.setattr(clrs, 'build_sampler', spy)
  make(task, split='test').batch(0)
  p = seen[-1]
  assert (p and max(p)) == largest
  assert p is None or len(p) == 9
  assert not caplog.records  # clrs warns of options that a task lacks


def test_wrong_arguments_are_named():
  with pytest.raises(ValueError, match="'bsf' .did you mean 'bfs'.*dijkstra"):
    make('bsf')
  with pytest.raises(ValueError, match="split 'valid'"):
    make(split='valid')
  with pytest.raises(ValueError, match=r'size .* \(8, 4\)'):
    make(size=(8, 4))
  with pytest.raises(ValueError, match='size .* at least 4'):
    make(size=3)
  with pytest.raises(ValueError, match='batch_size .* 0'):
    make(batch_size=0)
  with pytest.raises(ValueError, match='seed .* -1'):
    make(seed=-1)


def test_prefetcher_gives_all_items_in_order_from_one_thread():
  threads = set()
  def square(i):
    threads.add(threading.current_thread())
    return i * i
  with samplers.Prefetcher(square, 3, 7) as items:
    assert list(items) == [9, 16, 25, 36]
  assert len(threads) == 1 and threading.current_thread() not in threads
  assert not any(thread.is_alive() for thread in threads)


def test_prefetcher_works_ahead_but_not_far():
  made = []
  ready = threading.Event()
  def item(i):
    made.append(i)
    if len(made) == 2:
      ready.set()
    return i
  with samplers.Prefetcher(item, 0, 100, depth=2) as items:
    assert ready.wait(5)
    assert next(items) == 0
  assert len(made) <= 3


def test_prefetcher_raises_in_the_foreground():
  def item(i):
    if i == 1:
      raise KeyError('broken sample')
    return i
  with samplers.Prefetcher(item, 0, 5) as items:
    assert next(items) == 0
    with pytest.raises(KeyError, match='broken sample'):
      next(items)
