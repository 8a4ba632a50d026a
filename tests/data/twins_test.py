# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of twins, whose answers have to be those of their samples."""

import clrs
from dear_jax.data import samplers
from dear_jax.data import streams
from dear_jax.data import task_names
from dear_jax.data import tasks
from dear_jax.data import twins
import numpy as np
import pytest


def samplers_of(task, **kwargs):
  """A sampler, and the same with twins."""
  settings = dict(size=(4, 12), batch_size=6, seed=5, split='train', **kwargs)
  plain = samplers.make_sampler(task, **settings)
  return plain, twins.TwinSampler(samplers.make_sampler(task, **settings),
                                  task=task, seed=5)


def probes(feedback):
  return {x.name: x.data
          for x in (*feedback.features.inputs, *feedback.outputs)}


def classical(task, inputs, row):
  """What CLRS' own algorithm answers for a row."""
  arguments = [np.copy(inputs['key'][row])]
  if 'target' in inputs:
    arguments.insert(0, inputs['target'][row])
  _, found = getattr(clrs.algorithms, task)(*arguments)
  output = next(x for x, (stage, _, _) in clrs.SPECS[task].items()
                if stage == clrs.Stage.OUTPUT)
  return found[clrs.Stage.OUTPUT][clrs.SPECS[task][output][1]][output]['data']


@pytest.mark.parametrize('task', task_names.WITH_TWINS)
def test_twins(task):
  plain, with_twins = samplers_of(task)
  assert with_twins.spec == plain.spec
  for index in (0, 1, 7):
    batch = plain.batch(index)
    ours, both = probes(batch), probes(with_twins.batch(index))
    assert list(both) == list(ours)
    for name, data in both.items():
      # Samples are what they are without twins, to the bit.
      np.testing.assert_array_equal(data[::2], ours[name])
    for output in batch.outputs:
      np.testing.assert_array_equal(both[output.name][::2],
                                    both[output.name][1::2])
    numbers = [x for x in ('key', 'target', 'pos') if x in both]
    for name in numbers:
      assert (both[name][::2] != both[name][1::2]).all()
      assert (both[name] >= 0).all() and (both[name] < 1).all()
    values = np.concatenate([both[x].reshape(len(both['key']), -1)
                             for x in numbers if x != 'pos'], axis=1)
    ranks = values.argsort(axis=1)
    np.testing.assert_array_equal(ranks[::2], ranks[1::2])
    assert (np.diff(both['pos'], axis=1) > 0).all()


@pytest.mark.parametrize(
    'task', [x for x in task_names.WITH_TWINS if x in clrs.SPECS])
def test_the_classical_algorithm_gives_twins_the_same_answer(task):
  _, with_twins = samplers_of(task)
  inputs = probes(with_twins.batch(2))
  for row in range(0, 12, 2):
    np.testing.assert_array_equal(classical(task, inputs, row),
                                  classical(task, inputs, row + 1))


def test_the_search_of_twins():
  _, with_twins = samplers_of('search')
  both = probes(with_twins.batch(0))
  smaller = both['key'] < both['target'][:, None]
  np.testing.assert_array_equal(smaller.sum(axis=1), both['return'])
  np.testing.assert_array_equal(both['return'][::2], both['return'][1::2])


def test_twins_have_the_distribution_of_samples():
  """Of keys in no order, and of the target between two keys."""
  for task in ('minimum', 'search'):
    draw = tasks.get_task(task).draw
    problems = draw(streams.Draws(streams.Stream(1), np.arange(20_000),
                                  split=0, size=4))
    others = twins.same_order(problems, streams.Draws(
        streams.Stream(2), np.arange(20_000), split=0, size=4))
    for name, values in problems.items():
      assert others[name].shape == values.shape
      for quantile in (0.1, 0.5, 0.9):
        np.testing.assert_allclose(np.quantile(others[name], quantile, axis=0),
                                   np.quantile(values, quantile, axis=0),
                                   atol=0.02)


def test_a_batch_does_not_depend_on_others():
  _, first = samplers_of('minimum')
  _, second = samplers_of('minimum')
  for _ in range(3):
    last = first.batch(first.index)
    first.index += 1
  assert first.state == {'index': 3}
  second.state = first.state
  assert second.index == 3
  for a, b in zip(last.features.inputs, second.batch(2).features.inputs):
    np.testing.assert_array_equal(a.data, b.data)
  # A host that draws a part of it gets the twins of that part.
  second.keep_rows(slice(2, 4))
  for a, b in zip(last.features.inputs, second.batch(2).features.inputs):
    np.testing.assert_array_equal(a.data[4:8], b.data)


def test_in_every_epoch_there_are_other_twins():
  _, sampler = samplers_of('minimum', num_samples=6)
  keys = [probes(sampler.batch(i))['key'] for i in (0, 1)]
  order = [np.lexsort(x[::2].T) for x in keys]
  np.testing.assert_array_equal(keys[0][::2][order[0]], keys[1][::2][order[1]])
  assert (keys[0][1::2][order[0]] != keys[1][1::2][order[1]]).all()


def test_other_tasks_have_no_twins():
  sampler = samplers.make_sampler('bfs', size=4, batch_size=2, seed=0,
                                  split='train')
  with pytest.raises(ValueError, match='and bfs is none of them'):
    twins.TwinSampler(sampler, task='bfs', seed=0)
