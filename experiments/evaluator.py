# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Evaluates a trained run in several settings, for experiments/evaluate.py."""

import time

import cli

_NB_BINS = 5

# From this size on batches are smaller, so that pairs of nodes stay as many,
# and graphs are lists of edges on every device.
_LARGE = 128
_LARGE_BATCH = 32
# Those of single graphs have many lengths, each of which is compiled for.
_LEAST_BATCH = 2

# Above this size graphs are drawn and answered without matrices.
WITH_MATRIX_UP_TO = 2048

# An answer is sure if its solve converged and its confidence is at least this.
SURE = 0.95


class Evaluator:
  """Evaluates a run in several settings, in each of them once."""

  def __init__(self, run, settings, samples, batch_size):
    import jax
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
      points: Sizes and families of graphs, or None for that of the run, with
        the settings that are other than those in force.
    """
    self._planned = list(dict.fromkeys(
        self._point(size, graphs, changes) for size, graphs, changes in points))

  def get(self, size, graphs=None, **changes):
    """The scores of the samples of a size, with arrays about every sample."""
    point = self._point(size, graphs, changes)
    if point not in self._outcomes:
      outcome = self._same_as(point)
      if outcome is None:
        self._show(point)
        outcome = self._evaluate(size, graphs, dict(point[-1]))
        cli.progress('')
      self._outcomes[point] = outcome
    return self._outcomes[point]

  def summary(self, size, graphs=None, **changes):
    """What there is to report of the samples of a size."""
    return summarise(*self.get(size, graphs, **changes))

  def _point(self, size, graphs, changes):
    return (size, graphs or self._run.config.graphs,
            tuple({**self._settings, **changes}.items()))

  def _same_as(self, point):
    """An outcome that has to be the same: under a limit that no solve met."""
    *samples, settings = point
    limit = dict(settings).get('max_iter')
    for (*other_samples, others), outcome in self._outcomes.items():
      if limit is None or (
          other_samples, {**dict(others), 'max_iter': limit}) != (
              samples, dict(settings)):
        continue
      _, found = outcome
      if found['converged'].all() and found['steps'].max() <= min(
          limit, dict(others)['max_iter']):
        return outcome
    return None

  def check(self, size, graphs=None):
    """Raises a ValueError if samples of a size cannot be had."""
    if self._without_matrix(size):
      self._run.test_set(size, self._samples, 1, graphs, sparse=True)
    else:
      self._run.test_set(size, self._samples, self._batch_size_at(size), graphs)

  def _without_matrix(self, size):
    """Whether samples of a size are drawn and answered without matrices."""
    from dear_jax.data import sparse_samples
    if size <= WITH_MATRIX_UP_TO or (
        self._run.algorithm not in sparse_samples.TASKS
        or self._run.config.model != 'dear' or not self._takes_edge_lists()):
      return False
    return self._model(self._settings, False).packed.refusal(0) is None

  def _evaluate_without_matrix(self, size, graphs, settings):
    """As `_evaluate`, one graph after the other."""
    import clrs
    from dear_jax.data import calibration
    from dear_jax.data import scoring
    from dear_jax.models import packed
    import numpy as np
    model = self._model(settings, False)
    scores, found = [], []
    for batch in self._run.test_set(size, self._samples, 1, graphs,
                                    sparse=True):
      (question,), (outputs,) = batch
      answer, = model.packed.answer(
          model.device_params,
          [packed.Problem(question['adj'], question['source'])], 0)
      points = lambda arrays: {name: clrs.DataPoint(
          name, clrs.Location.NODE, clrs.Type.POINTER, x[None])
                               for name, x in arrays.items()}
      truth, preds = points(outputs), points(answer.outputs)
      scores.append(scoring.SampleScores(truth.values(), preds))
      nb_edges = len(question['adj'].senders)
      found.append(dict(
          {name: np.array([x]) for name, x in answer.instance.items()},
          bin_sums=calibration.bin_sums(truth.values(), preds, {
              name: x[None] for name, x in answer.confidences.items()}),
          whole=scores[-1].whole(),
          edge_share=np.array([nb_edges / (size * (size - 1))])))
    return scoring.SampleScores.concatenate(scores), {
        name: np.concatenate([x[name] for x in found]) for name in found[0]}

  def _evaluate(self, size, graphs, settings):
    from dear_jax.data import calibration
    from dear_jax.data import scoring
    import jax
    import numpy as np
    if self._without_matrix(size):
      return self._evaluate_without_matrix(size, graphs, settings)
    model = self._model(settings, size > _LARGE and self._takes_edge_lists())
    scores, found = [], []
    for feedback in self._get_batches(size, graphs):
      preds, instances = model.evaluate_instances(
          self._key, feedback, with_confidence=True, by_entry=True)
      preds, instances = jax.device_get((preds, instances))
      scores.append(scoring.SampleScores(feedback.outputs, preds,
                                         feedback.features.inputs))
      confidences = instances.pop('confidences', None)
      if confidences:
        instances['bin_sums'] = calibration.bin_sums(
            feedback.outputs, preds, confidences)
      found.append(dict(instances, whole=scores[-1].whole(),
                        **edge_shares(feedback.features.inputs)))
    return scoring.SampleScores.concatenate(scores), {
        name: np.concatenate([x[name] for x in found]) for name in found[0]}

  def _get_batches(self, size, graphs):
    """The samples of a size, of which only small ones are kept for later."""
    graphs = graphs or self._run.config.graphs
    if (size, graphs) in self._batches:
      return self._batches[size, graphs]
    batches = self._run.test_set(size, self._samples,
                                 self._batch_size_at(size), graphs)
    if size <= _LARGE:
      self._batches[size, graphs] = list(batches)
      return self._batches[size, graphs]
    return batches

  def _batch_size_at(self, size):
    if size <= _LARGE:
      return self._batch_size
    pairs = _LARGE_BATCH * _LARGE**2
    return min(self._batch_size, max(_LEAST_BATCH, pairs // size**2))

  def _takes_edge_lists(self):
    from dear_jax.data import samplers
    from dear_jax.networks import kinds
    return (samplers.has_graph(self._run.algorithm)
            and kinds.takes_edge_lists(self._run.config.kind)
            and self._run.config.layout != 'dense')

  def _model(self, settings, on_edge_lists):
    key = *settings.items(), on_edge_lists
    if key not in self._models:
      changes = dict(settings, layout='sparse') if on_edge_lists else settings
      # The limit is meant as it stands, not as one of training.
      self._models[key] = self._run.model(
          self._run.test_set(self._run.config.test_size, 1, 1),
          is_limit=True, **changes)
    return self._models[key]

  def _show(self, point):
    """Says what is being done, and about how much longer it takes."""
    from dear_jax.training import progress
    size, graphs, settings = point
    # Compiling, and pairs of nodes.
    cost = lambda x: 1 + min(x[0], WITH_MATRIX_UP_TO) * x[0] / 64**2
    done = sum(map(cost, self._outcomes))
    left = sum(cost(x) for x in self._planned if x not in self._outcomes)
    text = ', '.join(f'{name} {value}' for name, value in settings)
    if graphs != self._run.config.graphs:
      text = f'{graphs}, {text}'
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
                steps_max=int(found['steps'].max()),
                whole=float(found['whole'].mean()))
  if 'converged' in found:
    result['converged'] = float(found['converged'].mean())
  if 'confidence' in found:
    result.update(_about_confidence(scores, found))
  return result


def _about_confidence(scores, found):
  """How sure the model is, and whether it is right where it is."""
  from dear_jax.data import calibration
  import numpy as np
  is_sure = (found['confidence'] >= SURE) & found.get('converged', True)
  result = dict(confidence=float(found['confidence'].mean()),
                calibration_error=calibration.expected_error(found['bin_sums']),
                sure=float(is_sure.mean()), score_if_sure=None)
  if is_sure.any():
    result['score_if_sure'] = scores.take(
        np.flatnonzero(is_sure)).scores()['score']
  return result


def by_density(scores, found):
  """Figures of bins of about equal numbers of samples, sparse graphs first."""
  import numpy as np
  share = found['edge_share']
  # Equal graphs stay together: small ones have few densities.
  ends = np.unique(np.quantile(share, np.linspace(0, 1, _NB_BINS + 1)[1:],
                               method='inverted_cdf'))
  bins = np.searchsorted(ends, share)
  members = [np.flatnonzero(bins == i) for i in range(len(ends))]
  return [dict(edges_min=float(share[x].min()), edges_max=float(share[x].max()),
               edges_mean=float(share[x].mean()), **summarise(scores, found, x))
          for x in members if len(x)]
