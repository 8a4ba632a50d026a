# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of hint-free sampling."""

import clrs
from dear_jax.data import permutations
from dear_jax.data import prefetch
from dear_jax.data import samplers
from dear_jax.data import streams
import jax
import numpy as np
import pytest
from scipy import stats
from tests import feedbacks
from tests.feedbacks import same


def make(task='bfs', **kwargs):
  options = dict(size=5, batch_size=3, seed=1, split='train')
  options.update(kwargs)
  return samplers.make_sampler(task, **options)


def size_of(feedback):
  return feedbacks.arrays(feedback)['pos'].shape[1]


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
  actual = permutations.convert(raw)
  assert same(actual, jax.device_get(next(expected)))
  assert actual.outputs[0].type_ == clrs.Type.PERMUTATION_POINTER


def test_a_batch_depends_on_its_index_alone():
  first, second = make(), make()
  assert same(first.batch(3), second.batch(3))
  for _ in range(3):
    next(first)
  assert same(next(first), second.batch(3))
  assert not same(first.batch(3), first.batch(4))


@pytest.mark.parametrize('task', ['bellman_ford', 'insertion_sort', 'search',
                                  'heapsort'])
def test_splits_and_seeds_share_no_sample(task):
  seen = {}
  for seed in (1, 2):
    for split in samplers.SPLITS:
      # Evenly spaced positions, which make nothing different that is not.
      sampler = make(task, seed=seed, split=split, batch_size=200,
                     random_pos=False)
      data = feedbacks.arrays(sampler.batch(0))
      for sample in data['A' if 'A' in data else 'key']:
        # Weights and keys are never equal by chance. (Graphs without weights
        # are: hardly any has an edge if p is 0.1.)
        if sample.any():
          seen.setdefault(sample.tobytes(), set()).add((seed, split))
  assert len(seen) > 1000
  assert all(len(owners) == 1 for owners in seen.values())


@pytest.mark.parametrize('task', ['bfs', 'insertion_sort', 'heapsort'])
def test_a_sample_does_not_depend_on_the_size_of_its_batch(task):
  whole = make(task, batch_size=6).batch(1)
  parts = [make(task, batch_size=2).batch(i) for i in (3, 4, 5)]
  for name, data in feedbacks.arrays(whole).items():
    axis = 0 if data.shape[0] == 6 else 1  # the hints have theirs second
    np.testing.assert_array_equal(data, np.concatenate(
        [feedbacks.arrays(part)[name] for part in parts], axis))


@pytest.mark.parametrize('task', ['dfs', 'heapsort'])
def test_samples_do_not_depend_on_the_number_of_workers(task):
  batches = []
  for workers in (1, 4):
    sampler = make(task, size=(4, 8))
    with prefetch.Prefetcher(sampler.batch, 0, 12, workers=workers) as items:
      batches.append(list(items))
  assert all(same(a, b) for a, b in zip(*batches))


def test_pointer_inputs_are_integers():
  pred = feedbacks.arrays(make('minimum').batch(0))['pred']
  assert pred.dtype == np.int64
  np.testing.assert_array_equal(pred[0], [0, 0, 1, 2, 3])


def test_pointer_outputs_are_integers():
  for task in ('floyd_warshall', 'bfs', 'search'):
    for probe in make(task).batch(0).outputs:
      assert (probe.data.dtype == np.int64) == (
          probe.type_ == clrs.Type.POINTER)


def test_positions_are_random_in_training_only():
  even = np.tile(np.arange(5) / 5, (3, 1))
  for split, expected in (('train', False), ('val', True), ('test', True)):
    for random_pos in (None, not expected, expected):
      pos = feedbacks.arrays(
          make(split=split, random_pos=random_pos).batch(0))['pos']
      is_even = expected if random_pos is None else not random_pos
      assert np.allclose(pos, even) == is_even
      assert (np.diff(pos) > 0).all()


def test_random_positions_are_ordered_uniform_numbers():
  pos = feedbacks.arrays(make('minimum', size=7, batch_size=2000).batch(0))[
      'pos']
  assert (np.diff(pos) > 0).all()
  for i in range(7):  # the i-th of 7 uniform numbers has a beta distribution
    assert stats.kstest(pos[:, i], stats.beta(i + 1, 7 - i).cdf).pvalue > 1e-3


@pytest.mark.parametrize('task', ['kmp_matcher', 'lcs_length'])
def test_random_positions_of_two_strings(task):
  data = feedbacks.arrays(make(task, size=10, batch_size=300).batch(0))
  even = feedbacks.arrays(make(task, size=10, batch_size=300, random_pos=False)
                          .batch(0))
  start, = np.flatnonzero(even['pos'][0] == 0)[1:]
  pos = data['pos']
  assert (0 <= pos).all() and (pos < 1).all()
  assert (np.diff(pos[:, :start]) > 0).all()
  assert (np.diff(pos[:, start:]) > 0).all()
  length = 10 - start
  for strings, nb in ((pos[:, :start], start), (pos[:, start:], length)):
    assert stats.kstest(strings[:, 0], stats.beta(1, nb).cdf).pvalue > 1e-3


def test_a_range_gives_every_batch_one_of_its_sizes():
  sampler = make('minimum', size=(4, 6), batch_size=1)
  assert {size_of(sampler.batch(i)) for i in range(30)} == {4, 5, 6}


def test_sizes_are_uniform():
  sampler = make('minimum', size=(8, 16), batch_size=1)
  sizes = sampler._draw_sizes(np.arange(9000))
  assert stats.chisquare(np.bincount(sizes)[8:]).pvalue > 1e-3
  assert sizes.min() == 8 and sizes.max() == 16
  np.testing.assert_array_equal(
      sizes[:20], [size_of(sampler.batch(i)) for i in range(20)])


def keys_of(feedback):
  return [(size_of(feedback), key) for key in
          feedbacks.arrays(feedback)['key'][:, 0].tolist()]


def test_a_training_set_is_shuffled_in_every_epoch():
  sampler = make('minimum', size=(4, 6), batch_size=4, num_samples=83)
  assert len(sampler) == 20 and sampler.num_samples == 80
  epochs = []
  for _ in range(3):
    epochs.append([keys_of(sampler.next()) for _ in range(20)])
  samples = [sorted(sum(epoch, [])) for epoch in epochs]
  assert len(set(samples[0])) == 80
  assert samples[0] == samples[1] == samples[2]
  # Neither the order nor the company of a sample stays the same.
  batches = [{frozenset(batch) for batch in epoch} for epoch in epochs]
  assert len(batches[0] & batches[1]) <= 2
  assert len(batches[1] & batches[2]) <= 2
  assert [b[0][0] for b in epochs[0]] != [b[0][0] for b in epochs[1]]
  # The first epoch is how an endless stream begins.
  endless = make('minimum', size=(4, 6), batch_size=4)
  assert [keys_of(endless.next()) for _ in range(20)] == epochs[0]


def test_validation_sets_come_once_through_and_in_order():
  sampler = make(split='val', num_samples=9)
  batches = list(sampler)
  assert len(batches) == len(sampler) == 3
  assert all(same(batch, sampler.batch(i)) for i, batch in enumerate(batches))
  assert len(list(sampler)) == 3  # again, from the start
  assert same(sampler.batch(3), batches[0])
  assert same(sampler.batch(4), batches[1])


def test_batch_size_may_be_told_again_as_to_samplers_of_clrs():
  assert same(make().next(3), make().next())
  with pytest.raises(ValueError, match='batch_size of 3, not 4'):
    make().next(4)


def test_endless_samplers_have_no_length():
  with pytest.raises(TypeError, match='no end'):
    len(make())
  with pytest.raises(IndexError, match='-1'):
    make().batch(-1)


@pytest.mark.filterwarnings('ignore:Arrays of 2-dimensional vectors')
@pytest.mark.parametrize('pred_as_input', [True, False])
@pytest.mark.parametrize('permutations', [True, False])
def test_options_do_what_those_of_clrs_do(pred_as_input, permutations):
  for task in ('insertion_sort', 'minimum', 'binary_search', 'jarvis_march',
               'lcs_length', 'bfs'):
    sampler = make(task, random_pos=False, size=6,
                   enforce_pred_as_input=pred_as_input,
                   enforce_permutations=permutations)
    plain = make(task, random_pos=False, size=6, enforce_pred_as_input=False,
                 enforce_permutations=False)
    spec = clrs.SPECS[task]
    feedback = iter([plain._task.sample(streams.Draws(
        plain._samples, np.arange(3), split=0, size=6))])
    if pred_as_input and task in samplers._PRED_AS_INPUT:
      spec, feedback = clrs.process_pred_as_input(spec, feedback)
    spec, feedback = clrs.process_permutations(spec, feedback, permutations)
    assert sampler.spec == spec
    expected = jax.device_get(next(feedback))
    actual = sampler.batch(0)
    assert ([x.name for x in actual.features.inputs]
            == [x.name for x in expected.features.inputs])
    expected = feedbacks.arrays(expected)
    assert feedbacks.arrays(actual).keys() == expected.keys()
    for name, data in feedbacks.arrays(actual).items():
      np.testing.assert_array_equal(data, expected[name])


def test_state_is_the_index_of_the_next_batch():
  sampler = make()
  next(sampler)
  assert sampler.state == {'index': 1}
  resumed = make()
  resumed.state = sampler.state
  assert same(resumed.next(), sampler.batch(1))


@pytest.mark.parametrize('task, largest', [
    ('dijkstra', 0.9), ('mst_kruskal', 0.45), ('heapsort', None)])
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
  with pytest.raises(ValueError, match='size .* at least 4 for heapsort'):
    make('heapsort', size=3)
  with pytest.raises(ValueError, match='size .* at least 2 for bfs.* 1'):
    make(size=1)
  with pytest.raises(ValueError, match='size .* 4.5'):
    make(size=4.5)
  with pytest.raises(ValueError, match=r'size .*\(4, 5, 6\)'):
    make(size=(4, 5, 6))
  with pytest.raises(ValueError, match='num_samples .* 3, got 2'):
    make(num_samples=2)
  with pytest.raises(ValueError, match='batch_size .* 0'):
    make(batch_size=0)
  with pytest.raises(ValueError, match='seed .* -1'):
    make(seed=-1)
