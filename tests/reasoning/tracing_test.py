# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of tracing: the answers of a model at every iteration."""

import clrs
import dear_jax
from dear_jax.reasoning import tracing
import jax
import numpy as np
import pytest

KEY = jax.random.PRNGKey(3)


def _model(task, solver=None, batch_size=4, size=5, kind='dear_pgn',
           cls=dear_jax.DEARModel, **options):
  sampler = dear_jax.make_sampler(task, size=size, batch_size=batch_size,
                                  seed=0, split='val')
  feedback = sampler.batch(0)
  cgp = options.pop('cgp', False)
  model = cls(
      sampler.spec, feedback, dear_jax.get_processor_factory(
          kind, solver=solver or dear_jax.SolverConfig(), cgp=cgp),
      hidden_dim=8, **options)
  model.init(feedback.features, 1)
  return model, feedback


def _is_what_the_model_predicts(model, feedback, found):
  preds, instances = model.evaluate_instances(KEY, feedback)
  np.testing.assert_array_equal(found.steps, instances['steps'])
  np.testing.assert_array_equal(found.converged, instances['converged'])
  answers = found.answers()
  assert set(answers) == set(preds) == {x.name for x in feedback.outputs}
  for name, pred in preds.items():
    np.testing.assert_array_equal(answers[name], pred.data)
  rows = np.arange(len(found.steps))
  np.testing.assert_allclose(found.residuals[found.selected, rows],
                             instances['residual'], rtol=1e-4)


def _check_form(found):
  """What holds of any trace."""
  length, batch_size = found.residuals.shape
  assert len(found) == length == found.steps.max()
  is_over = np.arange(length)[:, None] >= found.steps
  np.testing.assert_array_equal(np.isnan(found.residuals), is_over)
  answers = found.answers()
  for name, data in found.predictions.items():
    assert isinstance(data, np.ndarray)
    assert data.shape[:2] == (length, batch_size)
    for t, b in zip(*np.nonzero(is_over)):
      np.testing.assert_array_equal(data[t, b], answers[name][b])


# Pointers; with states of edges; a permutation with a mask; and virtual nodes.
@pytest.mark.parametrize('task,options', [
    ('bfs', {}),
    ('bfs', dict(layout='sparse')),
    ('bfs', dict(kind='dear_triplet_mpnn')),
    ('bfs', dict(cgp=True)),
    ('insertion_sort', dict(batch_size=8)),  # a quarter of it is left alone
    ('minimum', {}),
])
def test_last_prediction_is_that_of_the_model(task, options):
  model, feedback = _model(task, **options)
  found = tracing.trace(model, feedback)
  _check_form(found)
  _is_what_the_model_predicts(model, feedback, found)
  assert found.converged.all()
  np.testing.assert_array_equal(found.selected, found.steps - 1)


def test_predictions_are_those_of_solves_that_stop_earlier():
  solver = dear_jax.SolverConfig(tol=1e-3, max_iter=12)
  model, feedback = _model('bfs', solver, eval_iterations=1,
                           eval_iterations_per_node=0)
  found = tracing.trace(model, feedback)
  _check_form(found)
  assert len(found) > 2
  for t in (1, 2):
    shorter, _ = _model('bfs', dear_jax.SolverConfig(
        tol=1e-3, max_iter=t, select='last'), eval_iterations=1,
                           eval_iterations_per_node=0)
    preds, instances = shorter.evaluate_instances(KEY, feedback)
    np.testing.assert_array_equal(found.predictions['pi'][t - 1],
                                  preds['pi'].data)
    np.testing.assert_allclose(found.residuals[t - 1], instances['residual'],
                               rtol=1e-4)


def test_answer_of_a_solve_that_does_not_converge_is_of_lowest_residual():
  solver = dear_jax.SolverConfig(method='picard', tol=1e-30, max_iter=6)
  model, feedback = _model('bfs', solver, eval_iterations=2,
                           eval_iterations_per_node=0)
  found = tracing.trace(model, feedback)
  _check_form(found)
  assert not found.converged.any()
  np.testing.assert_array_equal(found.steps, 12)
  np.testing.assert_array_equal(found.selected,
                                np.argmin(found.residuals, axis=0))
  _is_what_the_model_predicts(model, feedback, found)


def test_one_of_several_algorithms():
  batches = [dear_jax.make_sampler(task, size=4, batch_size=2, seed=0,
                                   split='val') for task in ('bfs', 'minimum')]
  feedbacks = [x.batch(0) for x in batches]
  model = dear_jax.DEARModel(
      [x.spec for x in batches], feedbacks,
      dear_jax.get_processor_factory('dear_pgn'), hidden_dim=8)
  model.init([x.features for x in feedbacks], 0)
  assert set(tracing.trace(model, feedbacks[1], 1).predictions) == {'min'}
  with pytest.raises(ValueError, match='algorithm_index must be in 0..1'):
    tracing.trace(model, feedbacks[1])


def test_second_trace_compiles_nothing():
  model, feedback = _model('bfs')
  tracing.trace(model, feedback)
  tracing.trace(model, feedback, rng_key=KEY)
  assert model.jitted_iterates._cache_size() == 1


def test_what_has_no_equilibrium_is_refused():
  model, feedback = _model('bfs', cls=dear_jax.NARModel)
  with pytest.raises(ValueError, match='a DEARModel .* got a NARModel.'):
    tracing.trace(model, feedback)
  with pytest.raises(ValueError, match='got a BaselineModel.'):
    tracing.trace(object.__new__(clrs.models.BaselineModel), feedback)
