# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of `register_task`."""

import clrs
import dear_jax
from dear_jax.data import own_tasks
from dear_jax.data import samplers
from dear_jax.data import tasks
import numpy as np
import pytest
from tests import feedbacks
from tests import own_parts

SPEC = own_parts.NEAREST


def register(name='nearest', spec=None, **options):
  parts = dict(draw=own_parts.draw, solve=own_parts.solve) | options
  dear_jax.register_task(name, spec or SPEC, **parts)


def test_it_is_a_task_everywhere():
  for ask in (
      lambda: dear_jax.make_sampler('nearest', size=5, batch_size=2, seed=0,
                                    split='train'),
      lambda: dear_jax.TrainConfig(algorithms=('nearest',)),
      lambda: dear_jax.make_splits('nearest')):
    with pytest.raises(ValueError, match='register_task.*--import'):
      ask()
  register(min_size=3)
  assert 'nearest' in tasks.known_tasks()
  assert 'nearest' not in tasks.TASKS
  assert samplers.min_size('nearest') == 3
  assert samplers.has_graph('nearest')
  batch = dear_jax.make_sampler('nearest', size=5, batch_size=4, seed=0,
                                split='val').batch(0)
  data = feedbacks.arrays(batch)
  expected = own_parts.solve(data['A'])['pi']
  np.testing.assert_array_equal(data['pi'], expected)
  config = dear_jax.TrainConfig(algorithms=('bfs', 'nearest'))
  assert config.restricts_pointers('nearest')
  with pytest.raises(ValueError, match='test_size must be .* at least 3'):
    dear_jax.TrainConfig(algorithms=('nearest',), test_size=2)


def test_the_number_of_steps_is_asked_for_only_where_it_is_needed():
  register()
  for ask in (
      lambda: dear_jax.TrainConfig(algorithms=('nearest',), model='nar',
                                   processor='pgn'),
      lambda: dear_jax.TrainConfig(algorithms=('nearest',), align_to='run'),
      lambda: dear_jax.make_sampler('nearest', size=5, batch_size=2, seed=0,
                                    split='train', with_lengths=True)):
    with pytest.raises(ValueError, match='nearest was registered without len'):
      ask()
  register(length=lambda A: np.full(len(A), 2.0))
  dear_jax.TrainConfig(algorithms=('nearest',), model='nar', processor='pgn')
  batch = dear_jax.make_sampler('nearest', size=5, batch_size=2, seed=0,
                                split='train', with_lengths=True).next()
  np.testing.assert_array_equal(batch.features.lengths, 2)


class FewKeys(clrs.Sampler):
  """A sampler as CLRS has them."""

  CAN_TRUNCATE_INPUT_DATA = True

  def _sample_data(self, length, low=0.0, high=1.0):
    return [self._random_sequence(length=length, low=low, high=high)]


def test_a_sampler_as_clrs_has_them():
  dear_jax.register_task('my_minimum', clrs.SPECS['minimum'], sampler=FewKeys,
                         algorithm=clrs.algorithms.minimum)
  assert samplers.min_size('my_minimum') == 4
  sampler = dear_jax.make_sampler('my_minimum', size=6, batch_size=3, seed=0,
                                  split='train', with_lengths=True)
  batch = sampler.batch(0)
  data = feedbacks.arrays(batch)
  np.testing.assert_array_equal(data['min'].argmax(1), data['key'].argmin(1))
  np.testing.assert_array_equal(batch.features.lengths, 6)
  assert feedbacks.same(batch, sampler.batch(0))
  assert not feedbacks.same(batch, sampler.batch(1))
  posed = sampler.pose(key=data['key'])
  np.testing.assert_array_equal(feedbacks.arrays(posed)['min'], data['min'])


def other_solve(A):
  return own_parts.solve(A)


def test_names_that_clash():
  register()
  register()
  with pytest.raises(ValueError) as error:
    register(solve=other_solve)
  assert 'tests.own_parts.solve' in str(error.value)
  assert 'tests.data.task_registry_test.other_solve' in str(error.value)
  for taken in ('bfs', 'search', 'dijkstra'):
    with pytest.raises(ValueError, match=f"'{taken}' is .* another name"):
      register(taken)


@pytest.mark.parametrize('options, message', [
    (dict(name='near est'), "got 'near est'"),
    (dict(draw=None), 'needs draw and solve, or sampler and algorithm'),
    (dict(draw=None, solve=None), 'needs draw and solve'),
    (dict(sampler=FewKeys, algorithm=clrs.algorithms.minimum),
     'needs draw and solve'),
    (dict(spec={'pos': SPEC['pos'], 'A': SPEC['A']}), 'has no output'),
    (dict(spec={'A': SPEC['A'], 'pi': SPEC['pi']}), "needs an entry 'pos'"),
    (dict(spec=SPEC | {'x': ('node', 'input', 'scalar')}), "'x' must have a"),
    (dict(spec=SPEC | {'x': ('input', 'nodes', 'scalar')}), "'nodes'"),
    (dict(spec=SPEC | {'x': ('input', 'node', 'scaler')}), 'types scalar, cat'),
    (dict(spec=SPEC | {'x': None}), "'x' must have a .* got None"),
    (dict(spec=SPEC | {'d': ('output', 'node', 'scalar')}), "has no 'd'"),
    (dict(spec=SPEC | {'h': ('hint', 'node', 'scalar')}), "has no 'h'"),
    (dict(draw=lambda draws: {'B': 1}), "has no 'key'"),
    (dict(solve=lambda A: {'pi': A[:, 0, 0]}), r'pi of nearest is on a node'),
])
def test_mistakes(options, message):
  with pytest.raises(ValueError, match=message):
    register(**options)
  assert not own_tasks.REGISTERED


def test_hints_and_lengths_of_a_sampler_are_its_own():
  with pytest.raises(ValueError, match='known from its algorithm'):
    dear_jax.register_task('my_minimum', clrs.SPECS['minimum'],
                           sampler=FewKeys, algorithm=clrs.algorithms.minimum,
                           length=lambda key: len(key))
