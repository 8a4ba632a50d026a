# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Models on four devices, which are forced and so in a process of their own."""

import json
import os
import pathlib
import subprocess
import sys

import dear_jax
from dear_jax.data import samplers
from dear_jax.models import layouts
import jax
import numpy as np
import pytest

KEY = jax.random.PRNGKey(5)

# A task, a layout, a processor and its width. Edges have a quarter of it, and a
# layer norm of two numbers is close to a sign: where they are nearly equal, its
# derivative multiplies rounding.
CASES = (('insertion_sort', 'auto', 'dear_pgn', 8),
         ('bfs', 'sparse', 'dear_pgn', 8),
         ('bfs', 'sparse', 'dear_pgn_edges', 32))

_PROGRAM = '''
import json
from tests.models import devices_test
print(json.dumps(devices_test.on_four_devices()))
'''


def make(task, layout, kind, width, size=8):
  sampler = samplers.make_sampler(task, size=size, batch_size=8, seed=1,
                                  split='train')
  model = dear_jax.DEARModel(
      sampler.spec, sampler.batch(0), dear_jax.get_processor_factory(kind),
      hidden_dim=width, layout=layout, grad_clip_max_norm=1.0,
      jacobian_weight=0.1, residual_weight=0.1)
  model.init(sampler.batch(0).features, 3)
  return model, sampler


def results(*case):
  """Loss, gradients and answers of one batch."""
  model, sampler = make(*case)
  batch = sampler.batch(1)
  loss, grads = model.compute_grad(KEY, batch)
  preds, instances = model.answer(KEY, batch.features)
  return dict(
      loss=float(loss), steps=np.asarray(instances['steps']).tolist(),
      grads=[np.asarray(x).tolist() for x in jax.tree_util.tree_leaves(grads)],
      preds={name: np.asarray(x.data).tolist() for name, x in preds.items()},
      evaluations=float(model.metrics['evaluations']),
      most=float(model.metrics['solver_steps_max']))


def lowered(*case, platform):
  """The training step and the prediction, as programs for other devices."""
  model, sampler = make(*case, size=4)
  batch = sampler.batch(0)
  texts = []
  for fun, rest, data in (
      (model.jitted_feedback, (model._extra(), model._device_opt_state, 0),  # pylint:disable=protected-access
       model._batch(batch.features, batch.outputs, 0, training=True)),  # pylint:disable=protected-access
      (model.jitted_evaluate, (0,),
       model._batch(batch.features, batch.outputs, 0))):  # pylint:disable=protected-access
    traced = fun.trace(model.device_params, KEY, data, *rest)
    texts.append(traced.lower(lowering_platforms=(platform,)).as_text())
  return texts


def on_four_devices():
  for platform in ('cuda', 'tpu'):
    for case in CASES[:2]:
      for text in lowered(*case, platform=platform):
        assert 'while' in text and 'manual_computation' in text, case
  return [results(*case) for case in CASES]


@pytest.fixture(name='four', scope='module')
def _four():
  env = dict(
      os.environ, PYTHONPATH=str(pathlib.Path(__file__).parents[2]),
      XLA_FLAGS=os.environ['XLA_FLAGS']
      + ' --xla_force_host_platform_device_count=4')
  out = subprocess.run([sys.executable, '-c', _PROGRAM], env=env,
                       capture_output=True, text=True, check=False)
  assert out.returncode == 0, out.stderr[-3000:]
  return json.loads(out.stdout.splitlines()[-1])


@pytest.mark.parametrize('number', range(len(CASES)))
def test_four_devices_agree_with_one(four, number):
  one, several = results(*CASES[number]), four[number]
  np.testing.assert_allclose(several['loss'], one['loss'], rtol=1e-4)
  for x, y in zip(several['grads'], one['grads']):
    np.testing.assert_allclose(x, y, atol=2e-3)
  assert several['preds'] == one['preds']
  assert several['steps'] == one['steps']


def test_devices_do_not_wait_for_each_other(four):
  """On average they pay for fewer iterations than the longest solve takes."""
  assert any(case['evaluations'] < case['most'] for case in four)
  assert all(case['evaluations'] <= case['most'] for case in four)


@pytest.mark.parametrize('platform', ['cuda', 'tpu'])
def test_lists_of_edges_lower_for_accelerators(platform):
  for text in lowered(*CASES[1], platform=platform):
    assert 'while' in text


def test_auto_asks_more_of_lists_on_accelerators(monkeypatch):
  def choose(size):
    sampler = samplers.make_sampler('bfs', size=size, batch_size=4, seed=0,
                                    split='train', graphs='path')
    batch = sampler.batch(0)
    model = dear_jax.DEARModel(
        sampler.spec, batch, dear_jax.get_processor_factory('dear_pgn'),
        hidden_dim=4)
    model._devices.are_cpus = False  # pylint:disable=protected-access
    shape = model.layouts.shape(batch.features.inputs, sampler.spec, False)
    return 'dense' if shape[1] is None else 'sparse'

  assert choose(64) == 'dense'  # few pairs
  assert choose(256) == 'sparse'
  monkeypatch.setattr(layouts, '_DENSE_FROM_ON_ACCELERATORS', 0.001)
  assert choose(256) == 'dense'
