# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs with made-up losses, in which nothing is compiled but the beginning."""

import dataclasses

from dear_jax.models import dear
from dear_jax.training import checkpoints
from dear_jax.training import configs
from dear_jax.training import loop
import jax
import numpy as np

CONFIG = configs.TrainConfig(
    algorithms=('minimum',), batch_size=2, hidden_size=4, train_steps=4,
    train_sizes=(4, 4), val_size=4, test_size=4, val_samples=2, test_samples=2,
    eval_every=1, checkpoint_every=2, log_every=1, average=False,
    select='best')

# By step. The lowest task loss comes twice, and is not where the lowest loss
# with regularisers is, nor at the end.
TASK_LOSSES = {1: 3.0, 2: 1.0, 3: 1.0, 4: 2.0, 5: 4.0, 6: 1.5}
LOSSES = {1: 0.5, 2: 4.0, 3: 3.0, 4: 0.1, 5: 0.2, 6: 0.3}
# What is added to parameters when they are averaged.
AVERAGED = 100


def value_of(params):
  """The number that all parameters are; 0 of those that were just drawn."""
  module = next(name for name in params if 'b' in params[name])
  return int(params[module]['b'].flat[0])


def filled(params, value):
  return jax.tree_util.tree_map(lambda x: np.full_like(x, value), params)


def install(monkeypatch):
  """Makes parameters count steps, and losses those above.

  Args:
    monkeypatch: That of pytest.

  Returns:
    A dictionary: `task_losses`, to be changed, and a count of `evaluations`.
  """
  script = dict(task_losses=dict(TASK_LOSSES), evaluations=0)
  metrics = dict.fromkeys(('solver_steps_mean', 'solver_steps_max',
                           'converged'), np.float32(1.0))

  def feedback(self, unused_key, unused_feedback, unused_index):
    step = value_of(self.params) + 1
    self.params = filled(self.params, step)
    if self._average:  # pylint:disable=protected-access
      *others, average = self.opt_state
      self.opt_state = (*others, average._replace(
          average=filled(average.average, AVERAGED + step)))
    self.metrics = dict(metrics, loss=np.float32(1.0))

  def evaluate(self, unused_key, feedback, unused_index, **unused_options):
    script['evaluations'] += 1
    step = value_of(self.params) % AVERAGED
    return {x.name: x for x in feedback.outputs}, dict(
        metrics, task_loss=script['task_losses'][step], loss=LOSSES[step])

  monkeypatch.setattr(dear.DEARModel, 'feedback', feedback)
  monkeypatch.setattr(dear.DEARModel, 'evaluate', evaluate)
  compile_nothing(monkeypatch)
  return script


def compile_nothing(monkeypatch):
  """Has nothing compiled ahead for steps that are not taken."""
  for name in ('compile_feedback', 'compile_evaluate'):
    monkeypatch.setattr(dear.DEARModel, name, lambda *args: None)


def train(workdir, resume=False, should_stop=None, **settings):
  return loop.train(dataclasses.replace(CONFIG, **settings), workdir,
                        resume=resume, should_stop=should_stop)


def kept(workdir):
  return value_of(checkpoints.load_kept(workdir))


def steps_in(workdir, name):
  return sorted(int(path.name) for path in
                (workdir / 'checkpoints' / name).iterdir())
