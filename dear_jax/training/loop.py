# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Training: the loop, validation, selection, metrics.

A run folder holds
  config.json     the settings and the versions of what it ran on
  metrics.jsonl   one JSON object a line: training and validation metrics
  pace.jsonl      how long steps took
  checkpoints/    the latest checkpoints, the best one, and at the end the one
                  that is kept
  result.json     the scores, once training is over
  run.lock        who is training in it, for as long as it lasts
"""

import collections
import contextlib
import dataclasses
import importlib
import math
import os
import time
from typing import Any, Callable, Deque, Dict, List, Optional, Sequence, Tuple

import clrs
from dear_jax.data import data_cache
from dear_jax.data import prefetch
from dear_jax.data import scoring
from dear_jax.training import ahead
from dear_jax.training import builders
from dear_jax.training import checkpoints
from dear_jax.training import cluster
from dear_jax.training import compile_cache
from dear_jax.training import configs
from dear_jax.training import convergence_watch
from dear_jax.training import figures
from dear_jax.training import locks
from dear_jax.training import pace
from dear_jax.training import progress
from dear_jax.training import run_folder
from dear_jax.training import selection
from dear_jax.training import shared_checkpoints
from dear_jax.training import splits
from dear_jax.training import stop_signals
import jax
import numpy as np

TrainConfig = configs.TrainConfig
enable_compilation_cache = compile_cache.enable_compilation_cache

# What a resumed run may change: how far it goes, how often it looks, where it
# keeps its samples, and which parameters are kept in the end, and how tested.
_RESUMABLE = ('train_steps', 'eval_every', 'checkpoint_every', 'data_cache',
              'select', 'test_criterion')

# Steps whose results may be outstanding. One hides the host's work behind the
# device's; more would only delay a signal and the progress display.
_MAX_IN_FLIGHT = 1


def train(config: TrainConfig,
          workdir: checkpoints.PathLike,
          *,
          resume: bool = False,
          should_stop: Optional[Callable[[int], bool]] = None
          ) -> Dict[str, Any]:
  """Trains a model, and tests the parameters that it keeps.

  SIGTERM and SIGINT end the run after the present step, with everything
  saved; a second one aborts it at once. A run that is resumed gives bit for
  bit the parameters of one that was never stopped.

  Args:
    config: The settings.
    workdir: The run folder; made if it does not exist.
    resume: Whether to go on with the run in `workdir`. Its settings have to
      be the same, except for `train_steps`, `eval_every`, `checkpoint_every`,
      `data_cache`, `select` and `test_criterion`.
    should_stop: Called with the number of steps done after each; true ends
      the run as a signal does.

  Returns:
    What result.json holds: scores, validation loss, solver statistics. Scores
    and 'val_loss' are those of the parameters that were kept, the 'best' or the
    'last', as 'kept' says, of 'kept_step'; 'best_step' is the one with the
    lowest validation loss, and 'by_rule' tells of both. If the run was
    stopped, only 'interrupted', 'step' and 'workdir'.

  Raises:
    checkpoints.RunError: if the folder holds a run and `resume` is false, if
      it holds none and `resume` is true, or if the settings differ; if another
      run is going on in it; if it cannot be written to, or there is no room
      left; if a run that this one builds on does not fit; or if the data cache
      cannot be used.
    FloatingPointError: if the loss is not finite.
  """
  cluster.check_batch(config.batch_size)
  with contextlib.ExitStack() as stack:
    def enter():  # at the first host, which has the folder
      if config.data_cache:
        try:
          data_cache.check_folder(config.data_cache)
        except ValueError as e:
          raise checkpoints.RunError(str(e)) from e
      builders.check_other_runs(config, resume)
      checkpoints.make_folder(workdir, resume)
      stack.enter_context(locks.hold(workdir))
      return checkpoints.check_folder(
          workdir, dataclasses.asdict(config), versions=_versions(),
          resume=resume, may_change=_RESUMABLE,
          complete=configs.complete_settings)

    stack.enter_context(cluster.noticing_losses())
    for notice in (cluster.from_first(enter), f'Run folder: '
                   f'{os.fspath(workdir)}; building the model ...'):
      if notice and cluster.is_first():
        run_folder.tell(notice)
    with (stop_signals.StopSignals() as signals,
          shared_checkpoints.SharedCheckpoints(workdir) as saved,
          cluster.folder_of(workdir) as folder):
      result = _Trainer(config, folder, saved, signals).run(resume, should_stop)
    return dict(result, workdir=os.fspath(workdir))


class _Trainer:
  """One run of `train`."""

  def __init__(self, config: TrainConfig, workdir: str,
               saved: shared_checkpoints.SharedCheckpoints,
               signals: stop_signals.StopSignals):
    self._config = config
    self._workdir = workdir
    self._saved = saved
    self._signals = signals
    self._any_host = cluster.AnyHost()
    self._started = time.monotonic()
    data = [splits.from_config(config, algorithm,
                               with_lengths=config.needs_lengths)
            for algorithm in config.algorithms]
    self._train_samplers = [split.train for split in data]
    cluster.share_batches(self._train_samplers)
    self._val_set = [list(split.val) for split in data]
    self._test_set = [split.test for split in data]
    root = jax.random.PRNGKey(config.seed)
    self._train_key = jax.random.fold_in(root, 0)
    self._eval_key = jax.random.fold_in(root, 1)
    examples = [batches[0] for batches in self._val_set]
    specs = [sampler.spec for sampler in self._train_samplers]
    self._model = builders.build_model(
        config, specs, examples,
        builders.load_teacher(config, specs, examples))
    self._tester = builders.build_tester(config, self._model, specs, examples)
    self._model.init([example.features for example in examples], config.seed)
    if config.init_from and saved.latest_step is None:
      self._model.restart(
          builders.initial_params(config, self._model.params))
    self._best = checkpoints.Best(params=self._model.params)
    self._seconds_before = 0.0
    self._watch = convergence_watch.ConvergenceWatch(config.log_every)
    self._pace = pace.Pace(pace.clocks_of(jax.default_backend()))

  def run(self, resume: bool, should_stop: Optional[Callable[[int], bool]]
          ) -> Dict[str, Any]:
    """Trains from where the run stands, then evaluates."""
    config = self._config
    start = self._restore() if resume else self._begin()
    if start > config.train_steps:
      raise checkpoints.RunError(
          f'The run in {self._workdir} has done {start} steps already, more '
          f'than train_steps={config.train_steps}.')
    # First of all: what it ended with before is not what it will end with.
    run_folder.remove(self._workdir, 'result.json')
    self._saved.remove_final()
    run_folder.write_json(self._workdir, 'config.json', {
        'config': dataclasses.asdict(config), 'versions': _versions()})
    self._save(start)  # from now on the run can be resumed
    with contextlib.ExitStack() as stack:
      self._metrics = stack.enter_context(
          run_folder.MetricsFile(self._workdir, start))
      self._times = stack.enter_context(pace.PaceFile(self._workdir, start))
      self._progress = stack.enter_context(
          progress.Progress(start=start, total=config.train_steps,
                            stream=cluster.stream()))
      self._programs = stack.enter_context(ahead.Ahead(
          self._model, config.algorithms,
          [batches[0] for batches in self._val_set], config.eval_every,
          self._progress, self._pace))
      if resume:
        self._progress.message(f'Resuming at step {start}.')
      step = self._train(start, should_stop or (lambda unused_step: False))
      result = self._finish() if step == config.train_steps else None
    if result is None:
      return {'interrupted': True, 'step': step, 'workdir': self._workdir}
    run_folder.write_json(self._workdir, 'result.json', result)
    return result

  def _train(self, start: int, should_stop: Callable[[int], bool]) -> int:
    """Runs the loop; returns the number of steps done when it ended."""
    config = self._config
    first = [sampler.index for sampler in self._train_samplers]
    def make(offset):
      feedbacks = [sampler.batch(index + offset)
                   for index, sampler in zip(first, self._train_samplers)]
      self._programs.expect(start + offset + 1, feedbacks)
      return feedbacks

    in_flight: Deque[Tuple[int, Any]] = collections.deque()
    def retire(keep):
      while len(in_flight) > keep:
        self._retire(*in_flight.popleft())

    done = start
    with prefetch.Prefetcher(make, 0, config.train_steps - start,
                             depth=ahead.LOOK_AHEAD) as batches:
      for feedbacks in batches:
        metrics = self._step(done, feedbacks)
        done += 1
        for sampler in self._train_samplers:
          sampler.index += 1
        in_flight.append((done, metrics))
        retire(keep=_MAX_IN_FLIGHT)
        stop = self._any_host(self._signals.requested or should_stop(done))
        validate = done % config.eval_every == 0
        save = (stop or done % config.checkpoint_every == 0
                or done == config.train_steps)
        if validate or save:
          retire(keep=0)
        if validate:
          self._validate(done)
        if save:
          self._save(done)
        if validate or save:
          self._pace.pause()
        if stop:
          break
    return done

  def _step(self, step: int, feedbacks: Sequence[clrs.Feedback]
            ) -> List[Dict[str, jax.Array]]:
    """One optimiser step on a batch of every algorithm; does not wait."""
    key = jax.random.fold_in(self._train_key, step)
    metrics = []
    for i, feedback in enumerate(feedbacks):
      self._programs.meet(ahead.TRAINING, i, feedback)
      self._model.feedback(jax.random.fold_in(key, i), feedback, i)
      metrics.append(dict(self._model.metrics))
    return metrics

  def _retire(self, step: int, metrics: List[Dict[str, jax.Array]]) -> None:
    """Waits for a step's results, then checks, logs and shows them."""
    for algorithm, values in zip(self._config.algorithms, metrics):
      loss = float(values['loss'])
      if not math.isfinite(loss):
        raise self._diverged(f'The loss of {algorithm} is {loss}', step)
      if float(values.get('failed', 0)) == 1:
        raise self._diverged(
            f'Every instance of {algorithm} led to NaN or infinity', step)
    self._programs.mark()
    self._pace.step()
    if step % self._config.log_every == 0:
      self._times.write({'step': step, **self._pace.take()})
      figures = [_floats(values) for values in metrics]
      for algorithm, of_one in zip(self._config.algorithms, figures):
        self._metrics.write({'split': 'train', 'step': step,
                             'algorithm': algorithm, **of_one})
      self._watch.look(figures, self._progress.message)
    self._progress.update(step, lambda: _combine(map(_floats, metrics)))

  def _validate(self, step: int, final: bool = False) -> None:
    """Validates, and keeps the parameters if they are the best so far."""
    with self._model.averaged():
      results = self._evaluate(self._val_set, with_spectral_radius=True)
      params = self._model.params
    for algorithm, values in zip(self._config.algorithms, results):
      self._metrics.write({'split': 'val', 'step': step,
                           **({'final': True} if final else {}),
                           'algorithm': algorithm, **values})
    mean = _combine(results)
    is_best = mean['task_loss'] < self._best.loss
    if is_best:
      self._best = checkpoints.Best(
          params=params, step=step, loss=mean['task_loss'],
          score=mean['score'])
      self._saved.save_best(self._best)
    self._progress.message(
        f'step {step}  validation loss {mean["task_loss"]:.4f}  '
        f'score {mean["score"]:.4f}  {progress.solver_summary(mean)}'
        f'{"  (best)" if is_best else ""}')

  def _candidates(self) -> Dict[str, checkpoints.Kept]:
    """What can be kept, by the rules of `selection`."""
    best = checkpoints.Kept(**vars(self._best))
    found = {selection.BEST: best} if best.step else {}
    if best.step == self._config.train_steps:  # they are the same
      return {**found, selection.LAST: dataclasses.replace(best, which='last')}
    with self._model.averaged():
      mean = _combine(self._evaluate(self._val_set))
      params = self._model.params
    if math.isfinite(mean['task_loss']):
      found[selection.LAST] = checkpoints.Kept(
          params=params, step=self._config.train_steps,
          loss=mean['task_loss'], score=mean['score'], which='last')
    return found

  def _evaluate(self, datasets, *, stoppable: bool = False,
                with_spectral_radius: bool = False, model=None
                ) -> List[Dict[str, float]]:
    """Scores the present parameters, one dictionary an algorithm.

    Args:
      datasets: The batches of every algorithm.
      stoppable: Whether a signal ends the evaluation with a `_Stopped`.
      with_spectral_radius: Whether to estimate it too.
      model: In place of the one that is trained.
    """
    model = model or self._model
    results = []
    for i, batches in enumerate(datasets):
      scores, metrics = [], []
      for feedback in batches:
        if stoppable and self._any_host(self._signals.requested):
          raise _Stopped
        self._programs.meet(ahead.EVALUATION, i, feedback)
        pred, values = model.evaluate(
            self._eval_key, feedback, i,
            with_spectral_radius=with_spectral_radius)
        scores.append(scoring.SampleScores(
            feedback.outputs, pred, feedback.features.inputs))
        metrics.append(values)
      result: Dict[str, Any] = _combine(map(_floats, metrics))
      outputs = scoring.SampleScores.concatenate(scores).scores()
      result['score'] = outputs.pop('score')
      result['outputs'] = outputs
      results.append(result)
    return results

  def _finish(self) -> Optional[Dict[str, Any]]:
    """Evaluates what is kept; None if a signal came in between."""
    config = self._config
    # Not part of the checkpoint that was saved just before: a run that is
    # resumed with more steps must not remember that it once ended here.
    if config.train_steps % config.eval_every:
      self._validate(config.train_steps, final=True)
    candidates = self._candidates()
    kept = selection.choose(candidates, config.keeps_last)
    if kept is None:
      raise self._diverged('No validation loss was finite',
                           config.train_steps)
    tested: Dict[int, List[Dict[str, float]]] = {}  # by step
    self._model.params = kept.params
    try:
      val = self._evaluate(self._val_set, stoppable=True,
                           with_spectral_radius=True)
      self._progress.wait(f'testing on {config.test_samples} samples of size '
                          f'{config.test_size} ...')
      for one in [kept, *candidates.values()]:
        if one.step not in tested:
          self._tester.params = one.params
          tested[one.step] = self._evaluate(self._test_set, stoppable=True,
                                            model=self._tester)
    except _Stopped:
      return None
    self._saved.save_final(kept)
    self._model.params = kept.params
    test = tested[kept.step]
    val_mean, test_mean = _combine(val), _combine(test)
    return {
        'val_score': val_mean['score'],
        'test_score': test_mean['score'],
        'val': {a: r['score'] for a, r in zip(config.algorithms, val)},
        'test': {a: r['score'] for a, r in zip(config.algorithms, test)},
        'test_outputs': {
            a: r['outputs'] for a, r in zip(config.algorithms, test)},
        'restrict_pointers': {
            a: config.restricts_pointers(a) for a in config.algorithms},
        'test_size': config.test_size,
        'kept': kept.which,
        'kept_step': kept.step,
        'best_step': self._best.step or None,
        'val_loss': kept.loss,
        'by_rule': selection.describe(candidates, {
            step: _combine(x)['score'] for step, x in tested.items()}),
        **{f'test_{name}': test_mean[name]
           for name in ('solver_steps_mean', 'converged', 'steps_mean')
           if name in test_mean},
        'steps': config.train_steps,
        'seconds': round(self._seconds(), 1),
        'workdir': self._workdir,
    }

  def _diverged(self, what: str, step: int) -> FloatingPointError:
    config = self._config
    return FloatingPointError(
        f'{what} at step {step}: try a learning_rate below '
        f'{config.learning_rate:g} or a grad_clip_max_norm below '
        f'{config.grad_clip_max_norm:g} in a new run; the checkpoint of step '
        f'{self._saved.latest_step} in {self._workdir} is still good.')

  def _seconds(self) -> float:
    return self._seconds_before + time.monotonic() - self._started

  def _state(self, step: int) -> checkpoints.TrainState:
    return checkpoints.TrainState(
        params=self._model.params, opt_state=self._model.opt_state,
        rng_key=np.asarray(self._train_key), best=self._best,
        samplers={a: s.state for a, s in zip(self._config.algorithms,
                                             self._train_samplers)},
        step=step, seconds=self._seconds(),
        settings={name: value for name, value in
                  dataclasses.asdict(self._config).items()
                  if name not in _RESUMABLE})

  def _save(self, step: int) -> None:
    """Saves the latest checkpoint, unless the parameters went astray."""
    state = self._state(step)
    # A gradient can overflow in a step whose loss was finite.
    if not all(np.isfinite(x).all()
               for x in jax.tree_util.tree_leaves(state.params)):
      raise self._diverged('A parameter is not finite', step)
    self._saved.save(state)

  def _begin(self) -> int:
    """Makes sure that nothing passes for a part of this run; returns 0."""
    self._saved.save_best(self._best)
    return 0

  def _restore(self) -> int:
    """Takes over the state of the latest checkpoint; returns its step."""
    state = self._saved.restore(self._state(0))
    self._model.params = state.params
    self._model.opt_state = state.opt_state
    self._train_key = jax.numpy.asarray(state.rng_key)
    self._best = state.best
    self._seconds_before = state.seconds
    for algorithm, sampler in zip(self._config.algorithms,
                                  self._train_samplers):
      sampler.state = state.samplers[algorithm]
    return state.step


class _Stopped(Exception):
  """A signal asked for the end of the run."""


def _versions() -> Dict[str, str]:
  names = ('clrs', 'dear_jax', 'haiku', 'jax', 'jaxlib', 'numpy', 'optax')
  return {name: importlib.import_module(name).__version__ for name in names}


_floats = figures.floats
_combine = figures.combine
