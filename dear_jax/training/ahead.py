# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Programs that are compiled while others run.

Batches are drawn some steps ahead, so that it is known which programs will be
needed, and in which order. They are compiled in that order in the background,
as many at a time as there are cores. What a program computes does not depend on
who compiled it, nor on when.
"""

import concurrent.futures
import os
import threading
from typing import Any, Callable, Dict, Sequence, Set, Tuple

import clrs
from dear_jax.models import base_model
from dear_jax.training import pace as pace_lib
from dear_jax.training import progress as progress_lib

# How many batches are drawn ahead. A new shape is found so many steps before it
# is needed, and the first ones all at once, as they wait for the compiler.
LOOK_AHEAD = 32

# What is compiled at the same time at most, each of which takes a few hundred
# megabytes: the nine sizes of a default run.
_MOST_AT_ONCE = 9

TRAINING, EVALUATION = 'training step', 'evaluation'

_Key = Tuple[str, int, str]


class Ahead:
  """Has programs of a run compiled before they are needed. A context manager.

  An error of the compiler is raised where the program would have been run. On
  exit nothing is left running: what has begun is waited for, as a compiler
  cannot be interrupted, and the rest is dropped.
  """

  def __init__(self, model: base_model.ReasonerModel,
               algorithms: Sequence[str],
               val_batches: Sequence[clrs.Feedback], eval_every: int,
               progress: progress_lib.Progress, pace: pace_lib.Pace):
    """Compiles nothing yet.

    Args:
      model: Whose programs they are.
      algorithms: Their names.
      val_batches: For each of them a batch that is validated on.
      eval_every: Steps between two validations.
      progress: Is told what is waited for.
      pace: Is told which steps do not count.
    """
    self._model = model
    self._algorithms = algorithms
    self._val_batches = val_batches
    self._eval_every = eval_every
    self._progress = progress
    self._pace = pace
    self._met: Set[_Key] = set()
    self._futures: Dict[_Key, concurrent.futures.Future] = {}
    self._first_is_traced = threading.Event()
    self._executor = concurrent.futures.ThreadPoolExecutor(
        max_workers=min(_MOST_AT_ONCE, _nb_cores()),
        thread_name_prefix='dear_jax_compile')

  def __enter__(self) -> 'Ahead':
    return self

  def __exit__(self, *unused_exc_info):
    for future in self._futures.values():
      future.cancel()
    if self._nb_left():
      self._progress.wait('waiting for the compiler to end ...')
    self._executor.shutdown(wait=True, cancel_futures=True)

  def expect(self, step: int, feedbacks: Sequence[clrs.Feedback]) -> None:
    """Tells what a step will need; in any one thread, and in order of steps.

    Args:
      step: How many steps will be done after it.
      feedbacks: Its batches.
    """
    if not self._model.compiles_ahead:
      return
    if self._futures:
      # Nothing that is drawn is needed before the first program, and drawing
      # would slow down its tracing, which is Python, too.
      self._first_is_traced.wait()
    for i, feedback in enumerate(feedbacks):
      self._submit((TRAINING, i, self._shape(TRAINING, i, feedback)),
                   self._model.compile_feedback, feedback, i,
                   self._first_is_traced)
    if step % self._eval_every == 0:
      for i, feedback in enumerate(self._val_batches):
        self._submit((EVALUATION, i, self._shape(EVALUATION, i, feedback)),
                     self._model.compile_evaluate, feedback, i, True)

  def meet(self, what: str, index: int, feedback: clrs.Feedback) -> None:
    """A program is about to be run: waits for it, and says so if it must.

    Args:
      what: `TRAINING` or `EVALUATION`.
      index: Of the algorithm.
      feedback: The batch that it is run on.
    """
    key = what, index, self._shape(what, index, feedback)
    if key in self._met:
      return
    self._met.add(key)
    self._pace.disturb()
    future = self._futures.get(key)
    if future is None or not future.done():
      self._progress.wait(f'compiling the {what} of {self._algorithms[index]}, '
                          f'{key[-1]} ...')
    if future is not None:
      future.result()

  def mark(self) -> None:
    """A step has ended, which was slower if something is being compiled."""
    left = self._nb_left()
    if left:
      self._pace.disturb()
      self._progress.slow(
          f'compiling {left} more program{"s" if left > 1 else ""}')

  def _nb_left(self) -> int:
    return sum(not x.done() for x in tuple(self._futures.values()))

  def _shape(self, what: str, index: int, feedback: clrs.Feedback) -> str:
    return self._model.describe_shape(feedback.features, index,
                                      training=what == TRAINING)

  def _submit(self, key: _Key, compile_one: Callable[..., Any], *args: Any
              ) -> None:
    if key not in self._futures:
      future = self._executor.submit(compile_one, *args)
      future.add_done_callback(lambda _: self._first_is_traced.set())
      self._futures[key] = future


def _nb_cores() -> int:
  """Those that this process may use."""
  if hasattr(os, 'sched_getaffinity'):
    return len(os.sched_getaffinity(0))
  return os.cpu_count() or 1
