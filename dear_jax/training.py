# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Training: the loop, validation, selection, metrics.

A run folder holds
  config.json     the settings and the versions of what it ran on
  metrics.jsonl   one JSON object a line: training and validation metrics
  checkpoints/    the latest and the best checkpoint
  result.json     the scores, once training is over
"""

import collections
import contextlib
import dataclasses
import importlib
import math
import os
import pathlib
import signal
import sys
import threading
import time
from typing import (Any, Callable, Dict, Iterable, Iterator, List, Mapping,
                    Optional, Sequence)

import clrs
from dear_jax import builders
from dear_jax import checkpoints
from dear_jax import configs
from dear_jax import data_cache
from dear_jax import host_memory
from dear_jax import prefetch
from dear_jax import progress
from dear_jax import splits
import jax
from jax.experimental.compilation_cache import compilation_cache
import numpy as np

TrainConfig = configs.TrainConfig
PRESETS = configs.PRESETS

# What a resumed run may change: how far it goes, how often it looks, where it
# keeps its samples, and which parameters are kept in the end.
_RESUMABLE = ('train_steps', 'eval_every', 'checkpoint_every', 'data_cache',
              'select')

# Steps whose results may be outstanding. One hides the host's work behind the
# device's; more would only delay a signal and the progress display.
_MAX_IN_FLIGHT = 1

# A share of converged instances under this, over so many logged steps in a
# row, is told to the user.
_LOW_CONVERGED = 0.9
_CONVERGED_WINDOW = 10
_LOW_CONVERGED_ADVICE = {
    'converged': (
        'of the instances reached an equilibrium; the others were cut off by '
        'max_iter. A larger max_iter, a larger jacobian_weight or a lower '
        'learning_rate may help.'),
    'backward_converged': (
        'of the backward solves converged, so the gradient of the others is an '
        'approximation. A smaller backward_decay, a larger jacobian_weight or '
        'backward_max_iter may help; gradient=one_step needs no such solve.'),
}


def enable_compilation_cache() -> Optional[str]:
  """Keeps compiled programs in the user's cache folder, for the next run.

  Leaves a cache alone that was configured already, by `jax.config` or by the
  variable JAX_COMPILATION_CACHE_DIR.

  Returns:
    The folder in use, or None if there is none that can be written.
  """
  if jax.config.jax_compilation_cache_dir:
    return jax.config.jax_compilation_cache_dir
  base = os.environ.get('XDG_CACHE_HOME') or os.path.join('~', '.cache')
  folder = os.path.join(os.path.expanduser(base), 'dear_jax', 'xla')
  try:
    os.makedirs(folder, exist_ok=True)
  except OSError:
    return None
  if not os.access(folder, os.W_OK):
    return None
  jax.config.update('jax_compilation_cache_dir', folder)
  jax.config.update('jax_persistent_cache_min_compile_time_secs', 0.1)
  # If anything was compiled before, jax has settled on having no cache.
  compilation_cache.reset_cache()
  return folder


def train(config: TrainConfig,
          workdir: checkpoints.PathLike,
          *,
          resume: bool = False,
          should_stop: Optional[Callable[[int], bool]] = None
          ) -> Dict[str, Any]:
  """Trains a model, selects the best parameters and tests them.

  SIGTERM and SIGINT end the run after the present step, with everything
  saved; a second one aborts it at once. A run that is resumed gives bit for
  bit the parameters of one that was never stopped.

  Args:
    config: The settings.
    workdir: The run folder; made if it does not exist.
    resume: Whether to go on with the run in `workdir`. Its settings have to
      be the same, except for `train_steps`, `eval_every`, `checkpoint_every`.
    should_stop: Called with the number of steps done after each; true ends
      the run as a signal does.

  Returns:
    What result.json holds: scores, validation loss, solver statistics. If the
    run was stopped, only 'interrupted', 'step' and 'workdir'.

  Raises:
    checkpoints.RunError: if the folder holds a run and `resume` is false, if
      it holds none and `resume` is true, or if the settings differ; if a run
      that this one builds on does not fit; or if the data cache cannot be
      used.
    FloatingPointError: if the loss is not finite.
  """
  if config.data_cache:
    try:
      data_cache.check_folder(config.data_cache)
    except ValueError as e:
      raise checkpoints.RunError(str(e)) from e
  builders.check_other_runs(config, resume)
  notice = checkpoints.check_folder(
      workdir, dataclasses.asdict(config), versions=_versions(),
      resume=resume, may_change=_RESUMABLE)
  if notice:
    print(notice, file=sys.stderr)
  print(f'Run folder: {os.fspath(workdir)}; building the model ...',
        file=sys.stderr, flush=True)
  if jax.default_backend() == 'cpu':
    host_memory.keep_freed_memory()
  with _StopSignals() as signals, checkpoints.Checkpoints(workdir) as saved:
    trainer = _Trainer(config, os.fspath(workdir), saved, signals)
    return trainer.run(resume, should_stop)


class _Trainer:
  """One run of `train`."""

  def __init__(self, config: TrainConfig, workdir: str,
               saved: checkpoints.Checkpoints, signals: '_StopSignals'):
    self._config = config
    self._workdir = workdir
    self._saved = saved
    self._signals = signals
    self._started = time.monotonic()
    data = [splits.from_config(config, algorithm,
                               with_lengths=config.needs_lengths)
            for algorithm in config.algorithms]
    self._train_samplers = [split.train for split in data]
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
    self._model.init([example.features for example in examples], config.seed)
    if config.init_from and saved.latest_step is None:
      self._model.restart(
          builders.initial_params(config, self._model.params))
    self._best = checkpoints.Best(params=self._model.params)
    self._seconds_before = 0.0
    self._announced = set()
    # What is still watched; whatever has been warned of is not.
    self._converged = {name: collections.deque(maxlen=_CONVERGED_WINDOW)
                       for name in _LOW_CONVERGED_ADVICE}

  def run(self, resume: bool, should_stop: Optional[Callable[[int], bool]]
          ) -> Dict[str, Any]:
    """Trains from where the run stands, then evaluates."""
    config = self._config
    start = self._restore() if resume else 0
    if start > config.train_steps:
      raise checkpoints.RunError(
          f'The run in {self._workdir} has done {start} steps already, more '
          f'than train_steps={config.train_steps}.')
    checkpoints.write_json(self._workdir, 'config.json', {
        'config': dataclasses.asdict(config), 'versions': _versions()})
    self._save(start)  # from now on the run can be resumed
    (pathlib.Path(self._workdir) / 'result.json').unlink(missing_ok=True)
    with contextlib.ExitStack() as stack:
      self._metrics = stack.enter_context(
          checkpoints.MetricsFile(self._workdir, start))
      self._progress = stack.enter_context(
          progress.Progress(start=start, total=config.train_steps))
      if resume:
        self._progress.message(f'Resuming at step {start}.')
      step = self._train(start, should_stop or (lambda unused_step: False))
      result = self._finish() if step == config.train_steps else None
    if result is None:
      return {'interrupted': True, 'step': step, 'workdir': self._workdir}
    checkpoints.write_json(self._workdir, 'result.json', result)
    return result

  def _train(self, start: int, should_stop: Callable[[int], bool]) -> int:
    """Runs the loop; returns the number of steps done when it ended."""
    config = self._config
    first = [sampler.index for sampler in self._train_samplers]
    def make(offset):
      return [sampler.batch(index + offset)
              for index, sampler in zip(first, self._train_samplers)]

    in_flight = collections.deque()
    def retire(keep):
      while len(in_flight) > keep:
        self._retire(*in_flight.popleft())

    done = start
    with prefetch.Prefetcher(make, 0, config.train_steps - start) as batches:
      for feedbacks in batches:
        metrics = self._step(done, feedbacks)
        done += 1
        for sampler in self._train_samplers:
          sampler.index += 1
        in_flight.append((done, metrics))
        retire(keep=_MAX_IN_FLIGHT)
        stop = self._signals.requested or should_stop(done)
        validate = done % config.eval_every == 0
        save = (stop or done % config.checkpoint_every == 0
                or done == config.train_steps)
        if validate or save:
          retire(keep=0)
        if validate:
          self._validate(done)
        if save:
          self._save(done)
        if stop:
          break
    return done

  def _step(self, step: int, feedbacks: Sequence[clrs.Feedback]
            ) -> List[Dict[str, jax.Array]]:
    """One optimiser step on a batch of every algorithm; does not wait."""
    key = jax.random.fold_in(self._train_key, step)
    metrics = []
    for i, feedback in enumerate(feedbacks):
      self._announce('training step', i, feedback)
      self._model.feedback(jax.random.fold_in(key, i), feedback, i)
      metrics.append(dict(self._model.metrics))
    return metrics

  def _retire(self, step: int, metrics: List[Dict[str, jax.Array]]) -> None:
    """Waits for a step's results, then checks, logs and shows them."""
    for algorithm, values in zip(self._config.algorithms, metrics):
      loss = float(values['loss'])
      if not math.isfinite(loss):
        raise self._diverged(f'The loss of {algorithm} is {loss}', step)
    if step % self._config.log_every == 0:
      metrics = [_floats(values) for values in metrics]
      for algorithm, values in zip(self._config.algorithms, metrics):
        self._metrics.write({'split': 'train', 'step': step,
                             'algorithm': algorithm, **values})
      self._watch_convergence(metrics)
    self._progress.update(step, lambda: _combine(map(_floats, metrics)))

  def _watch_convergence(self, metrics: List[Dict[str, float]]) -> None:
    for name, window in list(self._converged.items()):
      if name not in metrics[0]:
        continue  # nothing is solved
      window.append(np.mean([values[name] for values in metrics]))
      if len(window) == _CONVERGED_WINDOW and max(window) < _LOW_CONVERGED:
        steps = _CONVERGED_WINDOW * self._config.log_every
        self._progress.message(
            f'Warning: over the last {steps} steps only {np.mean(window):.0%} '
            + _LOW_CONVERGED_ADVICE[name])
        del self._converged[name]

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

  def _keep_last(self) -> None:
    """Puts the parameters at the end in the place of the best ones."""
    if self._best.step == self._config.train_steps:
      return
    with self._model.averaged():
      mean = _combine(self._evaluate(self._val_set))
      params = self._model.params
    if math.isfinite(mean['task_loss']):
      self._best = checkpoints.Best(
          params=params, step=self._config.train_steps,
          loss=mean['task_loss'], score=mean['score'])
      self._saved.save_best(self._best)

  def _evaluate(self, datasets, *, stoppable: bool = False,
                with_spectral_radius: bool = False) -> List[Dict[str, float]]:
    """Scores the present parameters, one dictionary an algorithm.

    Args:
      datasets: The batches of every algorithm.
      stoppable: Whether a signal ends the evaluation with a `_Stopped`.
      with_spectral_radius: Whether to estimate it too.
    """
    results = []
    for i, batches in enumerate(datasets):
      truths, preds, metrics = [], [], []
      for feedback in batches:
        if stoppable and self._signals.requested:
          raise _Stopped
        self._announce('evaluation', i, feedback)
        pred, values = self._model.evaluate(
            self._eval_key, feedback, i,
            with_spectral_radius=with_spectral_radius)
        truths.append(feedback.outputs)
        preds.append(pred)
        metrics.append(values)
      result = _combine(map(_floats, metrics))
      scores = _floats(
          clrs.evaluate(_concatenate(truths), _concatenate(preds)))
      result['score'] = scores.pop('score')
      result['outputs'] = scores
      results.append(result)
    return results

  def _finish(self) -> Optional[Dict[str, Any]]:
    """Evaluates the best parameters; None if a signal came in between."""
    config = self._config
    # Not part of the checkpoint that was saved just before: a run that is
    # resumed with more steps must not remember that it once ended here.
    if config.train_steps % config.eval_every:
      self._validate(config.train_steps, final=True)
    if config.keeps_last:
      self._keep_last()
    if not self._best.step:
      raise self._diverged('No validation loss was finite',
                           config.train_steps)
    self._model.params = self._best.params
    try:
      val = self._evaluate(self._val_set, stoppable=True,
                           with_spectral_radius=True)
      self._progress.wait(f'testing on {config.test_samples} samples of size '
                          f'{config.test_size} ...')
      test = self._evaluate(self._test_set, stoppable=True)
    except _Stopped:
      return None
    val_mean, test_mean = _combine(val), _combine(test)
    return {
        'val_score': val_mean['score'],
        'test_score': test_mean['score'],
        'val': {a: r['score'] for a, r in zip(config.algorithms, val)},
        'test': {a: r['score'] for a, r in zip(config.algorithms, test)},
        'test_outputs': {
            a: r['outputs'] for a, r in zip(config.algorithms, test)},
        'test_size': config.test_size,
        'best_step': self._best.step,
        'val_loss': self._best.loss,
        **{f'test_{name}': test_mean[name]
           for name in ('solver_steps_mean', 'converged', 'steps_mean')
           if name in test_mean},
        'steps': config.train_steps,
        'seconds': round(self._seconds(), 1),
        'workdir': self._workdir,
    }

  def _announce(self, what: str, index: int, feedback: clrs.Feedback) -> None:
    """Says that something is compiled, if these shapes are new."""
    shape = self._model.describe_shape(feedback.features, index,
                                       training=what == 'training step')
    if (what, index, shape) not in self._announced:
      self._announced.add((what, index, shape))
      self._progress.wait(f'compiling the {what} of '
                          f'{self._config.algorithms[index]}, {shape} ...')

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
        step=step, seconds=self._seconds())

  def _save(self, step: int) -> None:
    """Saves the latest checkpoint, unless the parameters went astray."""
    state = self._state(step)
    # A gradient can overflow in a step whose loss was finite.
    if not all(np.isfinite(x).all()
               for x in jax.tree_util.tree_leaves(state.params)):
      raise self._diverged('A parameter is not finite', step)
    self._saved.save(state)

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


class _StopSignals:
  """Turns SIGTERM and SIGINT into a flag. A context manager.

  The second signal finds the handlers that end a process at once. Only the
  main thread may set handlers; in any other one the flag stays down.
  """

  def __init__(self):
    self.requested = False
    self._previous = {}

  def __enter__(self) -> '_StopSignals':
    if threading.current_thread() is threading.main_thread():
      for number in (signal.SIGTERM, signal.SIGINT):
        self._previous[number] = signal.signal(number, self._handle)
    return self

  def __exit__(self, *unused_exc_info):
    for number, handler in self._previous.items():
      signal.signal(number, handler)

  def _handle(self, unused_number, unused_frame):
    self.requested = True
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _versions() -> Dict[str, str]:
  names = ('clrs', 'dear_jax', 'haiku', 'jax', 'jaxlib', 'numpy', 'optax')
  return {name: importlib.import_module(name).__version__ for name in names}


def _floats(metrics: Mapping[str, Any]) -> Dict[str, float]:
  return {name: float(value) for name, value in metrics.items()}


def _combine(metrics: Iterable[Mapping[str, float]]) -> Dict[str, float]:
  """Means over batches or algorithms, except that maxima stay maxima.

  The scores of single outputs, whose names differ, are left out.
  """
  metrics = list(metrics)
  return {
      name: float((np.max if name.endswith('_max') else np.mean)(
          [m[name] for m in metrics]))
      for name in metrics[0] if name != 'outputs'}


def _concatenate(trees: Sequence[Any]) -> Any:
  return jax.tree_util.tree_map(lambda *x: np.concatenate(x), *trees)
