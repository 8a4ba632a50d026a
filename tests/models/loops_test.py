# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of edges from a node to itself."""

import clrs
import dear_jax
from dear_jax.data import samplers
from dear_jax.models import batches
from dear_jax.reasoning import questions
import jax
import numpy as np
import pytest

# Their graphs have cycles anyway.
_TASKS = [task for task in questions.TASKS
          if 'adj' in questions.argument_names(task)
          and task not in ('dag_shortest_paths', 'topological_sort')]


def _graph():
  rng = np.random.default_rng(0)
  adj = np.triu(rng.random((8, 8)) < 0.4, 1).astype(float)
  return adj + adj.T


@pytest.mark.parametrize('task', _TASKS)
def test_they_change_no_answer_of_clrs(task):
  """Where they do, they are seen."""
  plain = _graph()
  loops = plain + np.diag([0.0, 1.0] * 4)
  source = [3] if 'source' in questions.argument_names(task) else []
  algorithm = getattr(clrs.algorithms, task.removesuffix('_local'))
  answers = [np.asarray(algorithm(adj, *source)[0]) for adj in (plain, loops)]
  sampler = samplers.make_sampler(task, size=8, batch_size=1, seed=0,
                                  split='test')
  problems = {'A': loops[None], **{'s': np.array(source)
                                   for _ in source}}
  inputs = batches.without_loops(
      sampler.pose(with_outputs=False, **problems).features.inputs,
      sampler.spec)
  seen = {x.name: x.data for x in inputs}
  np.testing.assert_array_equal(np.diagonal(seen['adj'], axis1=1, axis2=2), 1)
  if any((stage, location) == ('output', 'edge')
         for stage, location, _ in sampler.spec.values()):
    np.testing.assert_array_equal(seen['A'][0], loops)
  else:
    np.testing.assert_array_equal(seen['A'][0], plain)
    np.testing.assert_array_equal(*answers)


def test_a_model_that_does_not_see_them():
  sampler = samplers.make_sampler('bfs', size=8, batch_size=2, seed=0,
                                  split='test')
  adj = np.stack([_graph()] * 2)
  asked = [sampler.pose(A=adj + loops, s=np.array([3, 3])) for loops in (
      0, np.diag([0.0, 1.0] * 4))]
  for sees_them in (True, False):
    model = dear_jax.DEARModel(
        [sampler.spec], [asked[0]],
        dear_jax.get_processor_factory('dear_pgn', use_ln=True), hidden_dim=8,
        self_loops=sees_them)
    model.init(asked[0].features, 1)
    losses = [float(model.evaluate(jax.random.PRNGKey(0), x, 0)[1]['task_loss'])
              for x in asked]
    assert (losses[0] == losses[1]) == (not sees_them)
