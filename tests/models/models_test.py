# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of DEARModel."""

import functools
import inspect
import json
import os
import subprocess
import sys

import clrs
import dear_jax
from dear_jax.data import samplers
from dear_jax.fixed_points import diagnostics
from dear_jax.fixed_points import per_instance
from dear_jax.models import batches
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests import graphs

KEY = jax.random.PRNGKey(0)
METRICS = {'loss', 'task_loss', 'jacobian_penalty', 'solver_steps_mean',
           'solver_steps_max', 'residual', 'converged', 'evaluations',
           'gradient_norm', 'backward_steps_mean', 'backward_steps_max',
           'backward_residual', 'backward_converged', 'failed'}


def _model(spec=None, feedback=None, **options):
  spec = spec or graphs.SPEC
  feedback = feedback or graphs.feedback()
  model = dear_jax.DEARModel(
      spec, feedback, dear_jax.get_processor_factory('dear_pgn'),
      **(dict(hidden_dim=8, learning_rate=0.01) | options))
  features = ([f.features for f in feedback] if isinstance(feedback, list)
              else feedback.features)
  model.init(features, 0)
  return model


@pytest.fixture(name='model', scope='module')
def _shared_model():
  return _model()


def test_has_the_name_that_it_was_given():
  options = dict(processor_factory=dear_jax.get_processor_factory('dear_pgn'),
                 spec=graphs.SPEC, dummy_trajectory=graphs.feedback())
  for model in (dear_jax.DEARModel, dear_jax.NARModel):
    assert model(name='mine', **options).name == 'mine'
  assert dear_jax.DEARModel(**options).name == 'dear_model'


def test_is_a_baseline_model_with_its_constructor():
  assert issubclass(dear_jax.DEARModel, clrs.models.BaselineModel)
  ours = inspect.signature(dear_jax.DEARModel.__init__).parameters
  theirs = inspect.signature(clrs.models.BaselineModel.__init__).parameters
  for name, parameter in theirs.items():
    assert ours[name].kind == parameter.kind
    if name != 'name':
      assert ours[name].default == parameter.default
  assert list(ours)[:len(theirs)] == list(theirs)


def test_metrics_after_feedback(model):
  loss = model.feedback(KEY, graphs.feedback())
  metrics = {name: float(x) for name, x in model.metrics.items()}
  assert set(metrics) == METRICS
  assert float(loss) == metrics['loss']
  np.testing.assert_allclose(
      metrics['loss'],
      metrics['task_loss'] + 1e-4 * metrics['jacobian_penalty'], rtol=1e-6)
  assert metrics['jacobian_penalty'] > 0
  assert 1 <= metrics['solver_steps_mean'] <= metrics['solver_steps_max'] <= 40
  assert 0 <= metrics['converged'] <= 1
  assert 1 <= metrics['backward_steps_mean'] <= metrics['backward_steps_max']
  assert metrics['gradient_norm'] > 0


def _with_second_instance(batch, change):
  """The batch, with another second instance; `change` makes its inputs."""
  def convert(points, change):
    return tuple(clrs.DataPoint(
        x.name, x.location, x.type_, np.stack([x.data[0], change(x)]))
                 for x in points)
  first = lambda x: x.data[0]
  return batch._replace(
      features=batch.features._replace(
          inputs=convert(batch.features.inputs, change)),
      outputs=convert(batch.outputs, first))


@pytest.mark.parametrize('poison', [np.nan, np.inf])
@pytest.mark.parametrize('layout', ['dense', 'sparse'])
def test_instances_that_fail_are_counted_and_not_learnt_from(layout, poison):
  """Half of the gradient is missing then, and nothing else."""
  model = _model(layout=layout, jacobian_weight=0.1, jacobian_fraction=1.0)
  batch = graphs.feedback()
  broken = _with_second_instance(batch, lambda x: np.where(
      x.name == 'weight', poison, x.data[0]))
  _, grads = model.compute_grad(KEY, broken)
  metrics = {name: float(x) for name, x in model.metrics.items()}
  assert metrics['failed'] == 0.5 and metrics['converged'] == 0.5
  assert all(np.isfinite(x) for x in metrics.values())
  assert all(np.isfinite(x).all() for x in jax.tree_util.tree_leaves(grads))
  assert metrics['jacobian_penalty'] > 0

  model = _model(layout=layout, jacobian_weight=0)
  loss, grads = model.compute_grad(KEY, broken)
  expected_loss, expected = model.compute_grad(
      KEY, _with_second_instance(batch, lambda x: x.data[0]))
  assert model.metrics['failed'] == 0
  np.testing.assert_allclose(loss, expected_loss, rtol=1e-5)
  jax.tree_util.tree_map(
      lambda x, y: np.testing.assert_allclose(2 * x, y, rtol=1e-4, atol=1e-7),
      grads, expected)
  _, metrics = model.evaluate(KEY, broken)
  assert metrics['failed'] == 0.5 and metrics['converged'] <= 0.5


def _is_finite(tree):
  return all(np.isfinite(x).all() for x in jax.tree_util.tree_leaves(tree))


@pytest.mark.parametrize('layout', ['dense', 'sparse'])
def test_instances_that_fail_go_no_further_steps(layout):
  """Half of the gradient is missing then too, and nothing else."""
  model = _model(layout=layout, jacobian_weight=0.0, stochastic_depth=True)
  batch = graphs.feedback()
  expected_loss, expected = model.compute_grad(
      KEY, _with_second_instance(batch, lambda x: x.data[0]))
  for poison in (np.nan, 1e38):
    loss, grads = model.compute_grad(KEY, _with_second_instance(
        batch, lambda x, p=poison: np.where(x.name == 'weight', p, x.data[0])))
    assert model.metrics['failed'] == 0.5
    np.testing.assert_allclose(loss, expected_loss, rtol=1e-5)
    jax.tree_util.tree_map(
        lambda x, y: np.testing.assert_allclose(2 * x, y, rtol=1e-4, atol=1e-6),
        grads, expected)


@pytest.mark.parametrize('layout', ['dense', 'sparse'])
def test_instances_that_fail_are_not_aligned(layout):
  """Neither those of the model nor those of its teacher."""
  batch = graphs.feedback(nb_hints=4)
  teacher = dear_jax.NARModel(
      graphs.SPEC, batch, dear_jax.get_processor_factory('dear_pgn'),
      hidden_dim=8)
  teacher.init(batch.features, 1)
  model = _model(layout=layout, jacobian_weight=0.0, teacher=teacher)
  losses = []
  for poison in (np.nan, np.inf, 1e38):
    loss, grads = model.compute_grad(KEY, _with_second_instance(
        batch, lambda x, p=poison: np.where(x.name == 'weight', p, x.data[0])))
    assert model.metrics['failed'] == 0.5
    assert np.isfinite(loss) and _is_finite(grads)
    losses.append(float(model.metrics['alignment_loss']))
  # What is left is the loss of the first instance, which was sound.
  assert losses[0] > 0
  np.testing.assert_allclose(losses, losses[0], rtol=1e-5)


@pytest.mark.parametrize('layout', ['dense', 'sparse'])
def test_instances_that_fail_have_no_spectral_radius(layout):
  model = _model(layout=layout)
  batch = graphs.feedback()
  broken = _with_second_instance(batch, lambda x: np.where(
      x.name == 'weight', 1e38, x.data[0]))
  def look(result, unused_gradient):
    each = diagnostics.spectral_radius(
        result.fun, result.solution.value, *result.args, key=KEY)
    return result.solution.failed, each, result.spectral_radius(KEY)
  failed, each, mean = model.inspect(KEY, broken, look)
  np.testing.assert_array_equal(failed, [False, True])
  np.testing.assert_allclose(mean, each[0], rtol=1e-5)
  assert not np.isfinite(each[1])
  _, metrics = model.evaluate(KEY, broken, with_spectral_radius=True)
  assert np.isfinite(metrics['spectral_radius'])


def test_residual_penalty_is_what_one_more_step_changes():
  model = _model(residual_weight=0.5, jacobian_weight=0.0)
  batch = graphs.feedback()
  def look(result, unused_gradient):
    value = result.solution.value
    after = result.fun(value, *result.args)
    return per_instance.norms(after - value) / per_instance.norms(after)
  residuals = model.inspect(KEY, batch, look)**2
  expected = np.mean(residuals)
  loss, grads = model.compute_grad(KEY, batch)
  metrics = model.metrics
  np.testing.assert_allclose(metrics['residual_penalty'], expected, rtol=1e-4)
  np.testing.assert_allclose(loss, metrics['task_loss'] + 0.5 * expected,
                             rtol=1e-4)
  plain = _model(jacobian_weight=0.0)
  _, others = plain.compute_grad(KEY, batch)
  changed = [name for name in grads if any(
      not np.array_equal(grads[name][x], others[name][x])
      for x in grads[name])]
  assert any('clrs_processor' in name for name in changed)
  assert not any('_dec_' in name for name in changed)

  # Long solves alone: what takes k times the wanted steps counts k^2 - 1 times.
  steps = model.inspect(KEY, batch, lambda result, _: result.solution.steps)
  wanted = float(np.median(steps)) - 0.5
  assert steps.max() > wanted
  long = _model(residual_weight=0.5, jacobian_weight=0.0, wanted_steps=wanted)
  long.compute_grad(KEY, batch)
  np.testing.assert_allclose(
      long.metrics['residual_penalty'],
      np.mean(residuals * np.maximum((steps / wanted)**2 - 1, 0)), rtol=1e-4)

  # Where none is long, training is what it is without the penalty.
  short = _model(residual_weight=0.5, jacobian_weight=0.0,
                 wanted_steps=float(steps.max()))
  _, same = short.compute_grad(KEY, batch)
  assert short.metrics['residual_penalty'] == 0
  jax.tree_util.tree_map(
      lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-6, atol=1e-9),
      same, others)


def test_learns(model):
  feedback = graphs.feedback()
  _, before = model.evaluate(KEY, feedback)
  for i in range(80):
    model.feedback(jax.random.PRNGKey(i), feedback)
  _, after = model.evaluate(KEY, feedback)
  assert float(after['task_loss']) < 0.85 * float(before['task_loss'])


def test_hints_and_lengths_have_no_effect():
  """Not on the result, and not on what is compiled either."""
  losses = []
  model = _model()
  params, opt_state = model.params, model.opt_state
  for nb_hints in (1, 2, 17):
    model.params, model.opt_state = params, opt_state
    losses.append(float(model.feedback(KEY, graphs.feedback(
        nb_hints=nb_hints))))
    model.predict(KEY, graphs.feedback(nb_hints=nb_hints).features)
  assert len(set(losses)) == 1
  assert model.jitted_feedback._cache_size() == 1  # pylint:disable=protected-access
  assert model.jitted_evaluate._cache_size() == 1  # pylint:disable=protected-access


def test_compute_grad_and_accumulated_updates(model):
  feedback = graphs.feedback()
  loss, grads = model.compute_grad(KEY, feedback)
  assert np.isfinite(float(loss))
  before = model.params
  model.update_model_params_accum([grads, grads])
  after = model.params
  for module, leaves in before.items():
    for name, leaf in leaves.items():
      moved = after[module][name] - leaf
      grad = np.asarray(grads[module][name])
      assert (moved[np.abs(grad) > 1e-4] != 0).all()


def test_predict(model):
  feedback = graphs.feedback()
  preds, hints = model.predict(KEY, feedback.features)
  assert hints is None
  assert preds['pi'].data.shape == (2, 4)
  same, _ = model.evaluate(KEY, feedback)
  np.testing.assert_array_equal(preds['pi'].data, same['pi'].data)
  assert 0 <= clrs.evaluate(feedback.outputs, preds)['score'] <= 1
  stacked, _ = model.predict(KEY, feedback.features, return_hints=True,
                             return_all_outputs=True)
  np.testing.assert_array_equal(stacked['pi'].data[0], preds['pi'].data)


def test_debug_returns_the_equilibrium():
  model = _model(debug=True)
  _, _, hidden = model.predict(KEY, graphs.feedback().features)
  assert hidden.shape == (1, 2, 4, 8)


def test_save_and_restore(model, tmp_path):
  other = _model(checkpoint_path=str(tmp_path))
  model.checkpoint_path = str(tmp_path)
  model.save_model('checkpoint')
  other.restore_model('checkpoint')
  jax.tree_util.tree_map(np.testing.assert_array_equal, model.params,
                         other.params)


def test_several_algorithms_train_in_turn():
  """And a turn of one leaves what belongs to the other alone, momenta too."""
  tasks = ['bfs', 'search']
  batches, specs = [], []
  for task in tasks:
    sampler = samplers.make_sampler(task, size=4, batch_size=2, seed=0,
                                    split='train')
    batches.append(sampler.batch(0))
    specs.append(sampler.spec)
  model = _model(specs, batches)
  first_loss = {}
  for i in range(12):
    for index, batch in enumerate(batches):
      params, momenta = model.params, model.opt_state[0].mu
      loss = float(model.feedback(jax.random.PRNGKey(i), batch, index))
      first_loss.setdefault(index, loss)
      moved = {m for m in params if any(
          (params[m][n] != model.params[m][n]).any() for n in params[m])}
      assert any('clrs_processor' in m for m in moved)
      assert any(f'algo_{index}_' in m for m in moved)
      assert not any(f'algo_{1 - index}_' in m for m in moved)
      for m in params:
        if f'algo_{1 - index}_' in m:
          jax.tree_util.tree_map(np.testing.assert_array_equal, momenta[m],
                                 model.opt_state[0].mu[m])
  for index, batch in enumerate(batches):
    _, metrics = model.evaluate(KEY, batch, index)
    assert float(metrics['task_loss']) < first_loss[index]
  with pytest.raises(ValueError, match='algorithm_index must be in 0..1, got'):
    model.predict(KEY, batches[0].features)


def test_freeze_processor():
  model = _model(freeze_processor=True)
  before = model.params
  model.feedback(KEY, graphs.feedback())
  for module, leaves in model.params.items():
    same = [np.array_equal(leaves[n], before[module][n]) for n in leaves]
    assert all(same) if 'clrs_processor' in module else not all(same)


@pytest.mark.parametrize('options, message', [
    (dict(use_lstm=True), 'use_lstm'),
    (dict(nb_msg_passing_steps=3), 'nb_msg_passing_steps must be 1.*got 3'),
    (dict(jacobian_weight=-1.0), 'jacobian_weight must not be negative'),
    (dict(jacobian_fraction=0.0), 'jacobian_fraction must be more than 0'),
    (dict(eval_iterations=0), 'eval_iterations must be at least 1, got 0'),
    (dict(wanted_steps=-1.0), 'wanted_steps must not be negative, got -1'),
    (dict(eval_iterations_per_node=-1), 'per_node must not be negative'),
])
def test_bad_arguments(options, message):
  with pytest.raises(ValueError, match=message):
    _model(**options)


@pytest.mark.parametrize('platform', ['cuda', 'tpu'])
def test_lowers_for_accelerators(platform):
  """The whole training step and the prediction, on this machine's CPU."""
  sampler = samplers.make_sampler('insertion_sort', size=4, batch_size=2,
                                  seed=0, split='train')
  feedback = sampler.batch(0)
  model = dear_jax.DEARModel(
      sampler.spec, feedback, dear_jax.get_processor_factory('dear_pgn'),
      hidden_dim=8, grad_clip_max_norm=1.0)
  inputs, outputs = jax.tree_util.tree_map(
      lambda x: jnp.asarray(x, jnp.float32),
      (tuple(feedback.features.inputs), tuple(feedback.outputs)))
  params = jax.eval_shape(model.jitted_init, KEY, [inputs])
  opt_state = jax.eval_shape(model.opt.init, params)

  def export(fun, *args):
    # Static arguments and clrs' probes are bound: only arrays cross.
    leaves, treedef = jax.tree_util.tree_flatten(args)
    flat = lambda *leaves: jax.tree_util.tree_leaves(
        fun(*jax.tree_util.tree_unflatten(treedef, leaves)))
    return jax.export.export(jax.jit(flat), platforms=[platform])(*leaves)

  train = export(
      functools.partial(model._feedback, algorithm_index=0),  # pylint:disable=protected-access
      params, KEY, batches.Batch(inputs, outputs), model._extra(), opt_state)  # pylint:disable=protected-access
  predict = export(
      functools.partial(model._evaluate, algorithm_index=0),  # pylint:disable=protected-access
      params, KEY, batches.Batch(inputs, outputs))
  for exported in (train, predict):
    assert exported.platforms == (platform,)
    assert 'while' in exported.mlir_module()


_ON_TWO_DEVICES = '''
import json
import jax
from tests.models import models_test
print(json.dumps(dict(models_test.losses_on_devices(),
                      devices=jax.local_device_count())))
'''


def losses_on_devices():
  """A few steps, on batches that two devices can and cannot share."""
  model = _model()
  losses = [
      float(model.feedback(KEY, graphs.feedback(batch_size=size)))
      for size in (4, 4, 3)]
  preds, _ = model.predict(KEY, graphs.feedback(batch_size=4).features)
  return dict(losses=losses, spread=len(preds['pi'].data.sharding.device_set),
              pointers=np.asarray(preds['pi'].data).tolist())


def test_several_devices_agree_with_one():
  env = dict(os.environ, XLA_FLAGS=os.environ['XLA_FLAGS']
             + ' --xla_force_host_platform_device_count=2')
  out = subprocess.run([sys.executable, '-c', _ON_TWO_DEVICES], env=env,
                       capture_output=True, text=True, check=False)
  assert out.returncode == 0, out.stderr[-2000:]
  two = json.loads(out.stdout.splitlines()[-1])
  one = losses_on_devices()
  assert two['devices'] == two['spread'] == 2 and one['spread'] == 1
  np.testing.assert_allclose(two['losses'], one['losses'], rtol=1e-3)
  assert two['pointers'] == one['pointers']
