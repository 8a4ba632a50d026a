# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the contrastive loss, and of training with it."""

import dataclasses
from unittest import mock

from dear_jax.data import samplers
from dear_jax.models import contrast
from dear_jax.training import builders
from dear_jax.training import configs
from dear_jax.training import loop
from dear_jax.training import splits
import jax
import jax.numpy as jnp
import numpy as np
import pytest

TINY = configs.TrainConfig(
    algorithms=('minimum',), batch_size=2, hidden_size=8, train_steps=2,
    train_sizes=(4, 4), val_size=4, test_size=4, val_samples=4, test_samples=4,
    eval_every=2, checkpoint_every=2, log_every=1, contrastive_weight=0.5)
PLAIN = dataclasses.replace(TINY, contrastive_weight=0.0)


def slow_loss(nodes, failed, temperature):
  """InfoNCE, term by term."""
  terms = []
  for a, b in zip(range(0, len(nodes), 2), range(1, len(nodes), 2)):
    if failed[a] or failed[b]:
      continue
    for ours, theirs in ((nodes[a], nodes[b]), (nodes[b], nodes[a])):
      for i, state in enumerate(ours):
        cosines = np.array([
            state @ x / np.linalg.norm(state) / np.linalg.norm(x)
            for x in theirs]) / temperature
        terms.append(-np.log(np.exp(cosines[i]) / np.exp(cosines).sum()))
  return np.mean(terms)


def test_loss_against_numpy():
  nodes = np.random.RandomState(0).randn(6, 5, 7)
  failed = np.zeros(6, bool)
  for temperature in (0.1, 2.0):
    loss = contrast.contrastive_loss(jnp.asarray(nodes), jnp.asarray(failed),
                                     temperature)
    assert loss == pytest.approx(slow_loss(nodes, failed, temperature), 1e-4)
  failed[3] = True
  expected = slow_loss(nodes, failed, 0.1)
  nodes[3] = np.nan  # whatever is in there, and in its twin
  nodes[2] *= 100
  fun = lambda x: contrast.contrastive_loss(x, jnp.asarray(failed))
  loss, gradient = jax.value_and_grad(fun)(jnp.asarray(nodes))
  assert loss == pytest.approx(expected, 1e-4)
  assert not gradient[2:4].any() and gradient[:2].any()
  assert np.isfinite(gradient).all()


def test_loss_at_its_ends():
  same = np.repeat(np.eye(4)[None], 4, axis=0)
  none = np.zeros(4, bool)
  assert contrast.contrastive_loss(same, none) == pytest.approx(0, abs=1e-3)
  alike = jnp.ones((4, 4, 3))
  assert contrast.contrastive_loss(alike, none) == pytest.approx(np.log(4),
                                                                 1e-5)
  assert contrast.contrastive_loss(alike, ~none) == 0
  # States that are all zeros, as before the first step, have a gradient.
  gradient = jax.grad(contrast.contrastive_loss)(jnp.zeros((2, 4, 3)),
                                                 none[:2])
  assert np.isfinite(gradient).all()


def model_of(config):
  data = splits.from_config(config, *config.algorithms)
  examples = [data.val.batch(0)]
  model = builders.build_model(config, [data.train.spec], examples)
  model.init([x.features for x in examples], 0)
  return model, data.train.batch(0)


def test_its_gradient_trains_encoder_and_processor():
  """The loss is that of the samples, and the rest is the weight times it."""
  key = jax.random.PRNGKey(1)
  found = []
  for weight in (0.5, 1.5):
    model, batch = model_of(dataclasses.replace(
        TINY, contrastive_weight=weight, jacobian_weight=0.0,
        residual_weight=0.0))
    loss, grads = model.compute_grad(key, batch)
    metrics = jax.device_get(model.metrics)
    assert float(loss) == pytest.approx(
        metrics['task_loss'] + weight * metrics['contrastive_loss'], 1e-5)
    found.append(grads)
  names = {name for name, leaves in found[0].items() for x in leaves
           if (np.abs(found[1][name][x] - found[0][name][x]) > 1e-7).any()}
  assert any('processor' in x for x in names)
  assert any('_enc_' in x for x in names)
  assert not any('_dec_' in x for x in names)


def test_the_task_loss_is_that_of_the_samples_alone():
  model, batch = model_of(TINY)
  plain, samples = model_of(PLAIN)
  key = jax.random.PRNGKey(2)
  for one, feedback in ((model, batch), (plain, samples)):
    one.compute_grad(key, feedback)
  assert float(model.metrics['task_loss']) == pytest.approx(
      float(plain.metrics['task_loss']), 1e-5)
  assert 'contrastive_loss' not in plain.metrics


def test_without_it_programs_are_what_they_were():
  """A weight of zero adds neither an argument nor an operation."""
  model, samples = model_of(PLAIN)
  assert isinstance(splits.from_config(PLAIN, 'minimum').train,
                    samplers.TaskSampler)
  extra = model._extra()
  assert extra.contrastive_weight is None
  assert len(jax.tree_util.tree_leaves(extra)) == 4
  with mock.patch.object(contrast, 'contrastive_loss') as loss:
    model.compute_grad(jax.random.PRNGKey(0), samples)
    assert not loss.called


def test_a_run_with_it(tmp_path):
  result = loop.train(TINY, tmp_path / 'run')
  lines = (tmp_path / 'run' / 'metrics.jsonl').read_text().splitlines()
  assert sum('"contrastive_loss"' in x for x in lines) == 2
  assert np.isfinite(result['test_score'])


@pytest.mark.parametrize('changes, message', [
    (dict(contrastive_weight=-1.0),
     'contrastive_weight must be a number of at least 0, got -1.0.'),
    (dict(model='nar'), 'contrastive_weight needs model=dear.'),
    (dict(algorithms=('minimum', 'bfs')),
     r'depend on nothing but the order of numbers \(binary_search, .*\), and '
     'bfs is none of them.')])
def test_what_it_does_not_go_with(changes, message):
  with pytest.raises(ValueError, match=message) as error:
    dataclasses.replace(TINY, **changes)
  assert '\n' not in str(error.value)
