# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""The numbers of steps are those of CLRS, and samplers tell them if asked."""

import dataclasses
import inspect
import os

import clrs
from dear_jax.data import samplers
from dear_jax.data import step_counts
from dear_jax.data import streams
from dear_jax.data import tasks
from dear_jax.networks import clrs_private
from dear_jax.training import configs
from dear_jax.training import splits
import numpy as np
import pytest
from tests import feedbacks
from tests import inputs

LOCAL = 'strongly_connected_components_local'
# The tasks that are solved here, by the algorithm that CLRS has for them.
ALGORITHMS = {name: name for name in tasks.TASKS if name in clrs.SPECS}
ALGORITHMS[LOCAL] = 'strongly_connected_components'
SIZES = (2, 3, 4, 5, 7, 8, 12, 17)


def make(task, **kwargs):
  options = dict(size=6, batch_size=4, seed=1, split='train')
  options.update(kwargs)
  return samplers.make_sampler(task, **options)


def lengths_of(feedback):
  return feedback.features.lengths


def with_ones(feedback):
  """The same with lengths of one."""
  return feedback._replace(features=feedback.features._replace(
      lengths=np.ones(len(lengths_of(feedback)))))


def run_clrs(name, problems):
  """What CLRS returns for every problem of a batch."""
  algorithm = getattr(clrs.algorithms, name)
  return [algorithm(*(np.copy(x) for x in arguments))
          for arguments in zip(*problems)]


@pytest.fixture(name='count_hints')
def _count_hints(monkeypatch):
  """Counts CLRS' hints without recording them, which is most of its work."""
  stages = []
  def push(unused_probes, stage, next_probe):
    del next_probe
    stages.append(stage)
  probing = inspect.getmodule(clrs_private.split_stages)
  monkeypatch.setattr(probing, 'push', push)
  for name in ('finalize', 'mask_one', 'array_cat'):
    monkeypatch.setattr(probing, name, lambda *unused_args, **unused: None)

  def count(name, *problems):
    result = []
    for arguments in zip(*problems):
      stages.clear()
      run_clrs(name, [[x] for x in arguments])
      result.append(stages.count(clrs.Stage.HINT))
    return result
  return count


def assert_counts(actual, expected):
  np.testing.assert_array_equal(actual, expected)
  assert actual.dtype == np.float64


def test_every_task_is_compared_with_clrs():
  assert {*tasks.TASKS} == {*ALGORITHMS, 'search'}


@pytest.mark.parametrize('name', sorted(ALGORITHMS))
def test_drawn_problems_have_the_lengths_of_clrs(name):
  algorithm = ALGORITHMS[name]
  for size in (2, 3, 5, 8, 16):
    problems = tasks.TASKS[name].draw(streams.Draws(
        streams.Stream(1, 2), np.arange(12), split=0, size=size))
    hints = [clrs_private.split_stages(probes, clrs.SPECS[algorithm])[2]
             for _, probes in run_clrs(algorithm, problems.values())]
    # As CLRS itself finds them when it makes a batch.
    of_clrs = inspect.getmodule(clrs.build_sampler)
    _, expected = of_clrs._batch_hints(hints, 0)
    batch = tasks.TASKS[name].feedback(with_lengths=True, **problems)
    assert_counts(lengths_of(batch), expected)
    assert expected.dtype == np.float64


@pytest.mark.parametrize('name', [
    'bfs', 'bellman_ford', 'dag_shortest_paths', 'mst_prim'])
def test_any_graph_from_any_source(name, count_hints):
  seen = set()
  for size in SIZES:
    rng = np.random.default_rng(size)
    for graph in inputs.graphs(size):
      source = rng.integers(size, size=len(graph))
      # Nothing leads away from the source of one graph in four.
      graph[np.arange(0, len(graph), 4), source[::4]] = 0
      expected = count_hints(name, graph, source)
      assert_counts(getattr(step_counts, name)(graph, source), expected)
      seen.update(expected)
  assert len(seen) > 10


@pytest.mark.parametrize('name', [
    'dfs', 'strongly_connected_components', 'floyd_warshall'])
def test_any_graph(name, count_hints):
  for size in SIZES:
    graph = next(inputs.graphs(size))  # weights make no difference
    assert_counts(getattr(step_counts, name)(graph), count_hints(name, graph))


def test_any_array(count_hints):
  for size in range(2, 18):
    rng = np.random.default_rng(size)
    for keys in inputs.arrays(size):
      keys = keys[:40]
      for name in ('minimum', 'insertion_sort'):
        assert_counts(getattr(step_counts, name)(keys),
                      count_hints(name, keys))
      keys = np.sort(keys, axis=1)
      for target in (rng.random(len(keys)), keys[:, size // 2],
                     keys[:, 0] - 1, keys[:, -1] + 1):
        assert_counts(step_counts.binary_search(target, keys),
                      count_hints('binary_search', target, keys))


def test_parallel_search_is_one_step_after_the_first_state():
  batch = make('search', with_lengths=True).batch(0)
  assert_counts(lengths_of(batch), [2, 2, 2, 2])


@pytest.mark.parametrize('name', ['quickselect', 'heapsort', 'kmp_matcher'])
def test_other_tasks_keep_the_lengths_of_clrs(name, monkeypatch):
  expected = []
  build = clrs.build_sampler
  def spy(*args, **kwargs):
    sampler, spec = build(*args, **kwargs)
    sampler_next = sampler.next
    def record(batch_size):
      feedback = sampler_next(batch_size)
      # The hints of a batch of one end where they end.
      expected.append(feedback.features.hints[0].data.shape[0])
      return feedback
    sampler.next = record
    return sampler, spec
  monkeypatch.setattr(clrs, 'build_sampler', spy)
  batch = make(name, with_lengths=True, batch_size=8).batch(0)
  assert_counts(lengths_of(batch), expected)
  assert max(expected) > 1


@pytest.mark.parametrize('split', ['train', 'val'])
@pytest.mark.parametrize('name', [*sorted(tasks.TASKS), 'heapsort'])
def test_nothing_else_is_different(name, split):
  plain = make(name, split=split)
  asked = make(name, split=split, with_lengths=True)
  assert asked.spec == plain.spec
  for index in (0, 3):
    batch = plain.batch(index)
    assert_counts(lengths_of(batch), np.ones(4))
    other = asked.batch(index)
    assert (lengths_of(other) > 1).any()
    assert feedbacks.same(with_ones(other), batch)


@pytest.mark.parametrize('name', ['bfs', 'insertion_sort', 'heapsort'])
def test_lengths_are_kept_on_disk_in_files_of_their_own(tmp_path, name):
  for with_lengths in (False, True):
    expected = make(name, with_lengths=with_lengths).batch(1)
    for _ in range(2):  # made, then read
      cached = make(name, with_lengths=with_lengths, cache_dir=tmp_path)
      assert feedbacks.same(cached.batch(1), expected)
  assert len(os.listdir(tmp_path)) == 2


def test_a_cache_without_lengths_is_where_it_was(tmp_path, monkeypatch):
  monkeypatch.setattr(clrs, '__version__', 'any')  # is part of the name
  make('bfs', cache_dir=tmp_path).batch(0)
  assert os.listdir(tmp_path) == ['bfs-train-6-dcd1aecf95bc7cf6.samples']


def test_splits_pass_it_on():
  config = dataclasses.replace(
      configs.PRESETS['quick'], algorithms=('dfs',), test_size=20)
  for sampler in splits.from_config(config, 'dfs'):
    assert (lengths_of(sampler.batch(0)) == 1).all()
  for sampler in splits.from_config(config, 'dfs', with_lengths=True):
    batch = sampler.batch(0)
    size = feedbacks.arrays(batch)['pos'].shape[1]
    assert (lengths_of(batch) == 3 * size).all()
