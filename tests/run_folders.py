# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Run folders that were never trained, for tests of what reads them."""

import dataclasses
import math

from dear_jax.training import checkpoints
from dear_jax.training import configs
import numpy as np

VERSIONS = {'dear_jax': '0.0.0', 'jax': '0.6.0'}


def write(folder, *, lines=60, is_over=True, is_evaluated=False, **settings):
  """Writes a run folder.

  Args:
    folder: A `pathlib.Path`; made if it does not exist.
    lines: Of training metrics, one every 10 steps.
    is_over: Whether there is a result.
    is_evaluated: Whether experiments/evaluate.py was run.
    **settings: Of the run.

  Returns:
    The folder.
  """
  config = configs.TrainConfig(**{
      'train_steps': 10 * lines if is_over else 20 * lines, **settings})
  folder.mkdir(parents=True, exist_ok=True)
  checkpoints.write_json(folder, 'config.json', {
      'config': dataclasses.asdict(config), 'versions': VERSIONS})
  rng = np.random.default_rng(config.seed)
  best = {}
  with checkpoints.MetricsFile(folder, 0) as metrics:
    for step in range(10, 10 * lines + 1, 10):
      for i, algorithm in enumerate(config.algorithms):
        loss = (2 + i) * math.exp(-step / 200) + 0.05 * rng.random()
        values = dict(task_loss=loss, loss=loss + 0.1, **_solver(config, rng))
        metrics.write(dict(split='train', step=step, algorithm=algorithm,
                           gradient_norm=3 * loss, **values))
        if step % 50 == 0:
          best[algorithm] = dict(step=step, score=1 - loss / 5)
          metrics.write(dict(
              split='val', step=step, algorithm=algorithm,
              spectral_radius=0.9 + 0.2 * rng.random(), outputs={'pi': 1.0},
              score=1 - loss / 5, **values))
  scores = {algorithm: x['score'] for algorithm, x in best.items()}
  if is_over:
    checkpoints.write_json(folder, 'result.json', dict(
        val=scores, test=scores, test_score=np.mean(list(scores.values())),
        test_size=config.test_size, best_step=10 * lines // 50 * 50,
        test_solver_steps_mean=7.5, test_converged=0.98, seconds=123.4))
  if is_evaluated:
    algorithm, = config.algorithms
    row = dict(samples=100, outputs={}, steps_mean=6.5, steps_max=9,
               converged=1.0)
    checkpoints.write_json(folder, 'evaluation.json', dict(
        overridden=[], sweep_size=64, sizes=[
            dict(row, size=size, score=score, low=score - 0.02,
                 high=score + 0.01)
            for size, score in ((16, 0.98), (64, scores[algorithm]),
                                (128, 0.6))],
        tol=[dict(row, tol=tol, score=0.9, low=None, high=None)
             for tol in (0.3, 0.1, 0.01)],
        max_iter=[dict(row, max_iter=n, score=0.9, low=0.8, high=0.95)
                  for n in (1, 8, 160)]))
  return folder


def _solver(config, rng):
  if config.model == 'nar':
    return dict(steps_mean=4 + rng.random(), steps_max=6.0)
  return dict(solver_steps_mean=6 + rng.random(), solver_steps_max=9.0,
              converged=1.0 if rng.random() < 0.9 else 0.97, residual=0.08,
              backward_steps_mean=5.0, backward_converged=1.0)
