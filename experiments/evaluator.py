# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Evaluates a trained run in several settings, for experiments/evaluate.py."""

import time

import cli

_NB_BINS = 5


class Evaluator:
  """Evaluates a run in several settings, in each of them once."""

  def __init__(self, run, settings, samples, batch_size):
    import jax  # pylint: disable=g-import-not-at-top
    self._run = run
    self._settings = settings
    self._samples = samples
    self._batch_size = batch_size
    # That of the run's own test.
    self._key = jax.random.fold_in(jax.random.PRNGKey(run.config.seed), 1)
    self._models = {}
    self._batches = {}
    self._outcomes = {}
    self._planned = []
    self._started = time.monotonic()

  def plan(self, points):
    """Says what will be asked for, so that there can be an estimate.

    Args:
      points: Sizes with the settings that are other than those in force.
    """
    self._planned = list(dict.fromkeys(
        self._point(size, changes) for size, changes in points))

  def get(self, size, **changes):
    """The scores of the samples of a size, with arrays about every sample."""
    point = self._point(size, changes)
    if point not in self._outcomes:
      outcome = self._same_as(point)
      if outcome is None:
        self._show(point)
        outcome = self._evaluate(size, dict(point[1]))
        cli.progress('')
      self._outcomes[point] = outcome
    return self._outcomes[point]

  def summary(self, size, **changes):
    """What there is to report of the samples of a size."""
    return summarise(*self.get(size, **changes))

  def _point(self, size, changes):
    return size, tuple({**self._settings, **changes}.items())

  def _same_as(self, point):
    """An outcome that has to be the same: under a limit that no solve met."""
    size, settings = point
    limit = dict(settings).get('max_iter')
    for (other_size, others), outcome in self._outcomes.items():
      if limit is None or (other_size, {**dict(others), 'max_iter': limit}) != (
          size, dict(settings)):
        continue
      _, found = outcome
      if found['converged'].all() and found['steps'].max() <= min(
          limit, dict(others)['max_iter']):
        return outcome
    return None

  def _evaluate(self, size, settings):
    # pylint: disable=g-import-not-at-top
    from dear_jax.data import scoring
    import jax
    import numpy as np
    if size not in self._batches:
      self._batches[size] = list(self._run.test_set(
          size, self._samples, self._batch_size))
    model = self._model(settings)
    scores, found = [], []
    for feedback in self._batches[size]:
      preds, instances = model.evaluate_instances(self._key, feedback)
      scores.append(scoring.SampleScores(feedback.outputs, preds,
                                         feedback.features.inputs))
      found.append(dict(jax.device_get(instances),
                        **edge_shares(feedback.features.inputs)))
    return scoring.SampleScores.concatenate(scores), {
        name: np.concatenate([x[name] for x in found]) for name in found[0]}

  def _model(self, settings):
    key = tuple(settings.items())
    if key not in self._models:
      # The limit is meant as it stands, not as one of training.
      self._models[key] = self._run.model(
          self._run.test_set(self._run.config.test_size, 1, 1),
          is_limit=True, **settings)
    return self._models[key]

  def _show(self, point):
    """Says what is being done, and about how much longer it takes."""
    from dear_jax.training import progress  # pylint: disable=g-import-not-at-top
    size, settings = point
    cost = lambda x: 1 + (x[0] / 64)**2  # compiling, and pairs of nodes
    done = sum(map(cost, self._outcomes))
    left = sum(cost(x) for x in self._planned if x not in self._outcomes)
    text = ', '.join(f'{name} {value}' for name, value in settings)
    text = (f'[{len(self._outcomes) + 1}/{len(self._planned)}] size {size}, '
            f'{text}')
    if done:
      seconds = (time.monotonic() - self._started) * left / done
      text += f' (about {progress.duration(seconds)} left)'
    cli.progress(text)


def edge_shares(inputs):
  """The share [B] of pairs of different nodes that are edges, by its name."""
  for probe in inputs:
    if probe.name == 'adj':
      nb_nodes = probe.data.shape[-1]
      # Every node has a loop.
      edges = (probe.data != 0).sum(axis=(1, 2)) - nb_nodes
      return dict(edge_share=edges / (nb_nodes * (nb_nodes - 1)))
  return {}


def summarise(scores, found, samples=None):
  """The figures of samples, or of some of them.

  Args:
    scores: Their `SampleScores`.
    found: Arrays about them, [S].
    samples: The numbers of those that count; by default all.

  Returns:
    A dictionary of plain numbers.
  """
  if samples is not None:
    scores = scores.take(samples)
    found = {name: x[samples] for name, x in found.items()}
  outputs = scores.scores()
  score = outputs.pop('score')
  low, high = scores.interval()
  result = dict(samples=len(scores), score=score, low=low, high=high,
                outputs=outputs, steps_mean=float(found['steps'].mean()),
                steps_max=int(found['steps'].max()))
  if 'converged' in found:
    result['converged'] = float(found['converged'].mean())
  return result


def by_density(scores, found):
  """Figures of bins of about equal numbers of samples, sparse graphs first."""
  import numpy as np  # pylint: disable=g-import-not-at-top
  share = found['edge_share']
  # Equal graphs stay together: small ones have few densities.
  ends = np.unique(np.quantile(share, np.linspace(0, 1, _NB_BINS + 1)[1:],
                               method='inverted_cdf'))
  bins = np.searchsorted(ends, share)
  members = [np.flatnonzero(bins == i) for i in range(len(ends))]
  return [dict(edges_min=float(share[x].min()), edges_max=float(share[x].max()),
               edges_mean=float(share[x].mean()), **summarise(scores, found, x))
          for x in members if len(x)]
