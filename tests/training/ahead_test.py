# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of programs that are compiled while others run."""

import dataclasses
import io
import os
import signal
import threading
import time
import types

from dear_jax.models import dear
from dear_jax.models import programs
from dear_jax.training import ahead
from dear_jax.training import builders
from dear_jax.training import checkpoints
from dear_jax.training import loop
from dear_jax.training import pace
from dear_jax.training import progress
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests import scripted
from tests.training import training_test

SIZES = dict(train_sizes=(4, 5), train_steps=8, eval_every=4, val_size=5,
             test_size=5)


def _train(workdir, monkeypatch):
  """Trains; returns the model with what it has compiled."""
  made = []
  build = builders.build_model
  with monkeypatch.context() as patch:
    patch.setattr(builders, 'build_model',
                  lambda *args: made.append(build(*args)) or made[0])
    loop.train(dataclasses.replace(training_test.TINY, **SIZES), workdir)
  return made[0]


# pylint:disable=protected-access
def test_same_run_with_and_without(tmp_path, monkeypatch):
  threads = []
  compile_one = programs.Program.compile
  with monkeypatch.context() as patch:
    patch.setattr(programs.Program, 'compile', lambda self, *args, **kwargs: (
        threads.append(threading.current_thread()),
        compile_one(self, *args, **kwargs)))
    model = _train(tmp_path / 'with', monkeypatch)
  # Two sizes and the validation, each of them once, none where it is run.
  assert len(threads) == 3
  assert threading.main_thread() not in threads
  assert not any(thread.is_alive() for thread in threads)
  assert len(model.jitted_feedback._ahead) == 2
  assert model.jitted_feedback._cache_size() == 2

  monkeypatch.setattr(programs.CompilesAhead, 'compiles_ahead', False)
  plain = _train(tmp_path / 'without', monkeypatch)
  assert not plain.jitted_feedback._ahead
  assert plain.jitted_feedback._cache_size() == 2
  training_test.assert_same_run(tmp_path / 'with', tmp_path / 'without')


def test_a_program_is_found_by_the_shapes_of_its_batch():
  traced = []
  def fun(weight, batch, power):
    traced.append(batch.shape)
    return weight * batch**power
  program = programs.Program(fun, batch=1, static=(2,))
  program.compile(jax.ShapeDtypeStruct((), jnp.float32), jnp.ones(3), 2)
  program.compile(jax.ShapeDtypeStruct((), jnp.float32), jnp.ones(3), 2)
  assert traced == [(3,)] and program._cache_size() == 1
  for size, power, nb_traced in ((3, 2, 1), (4, 2, 2), (3, 1, 3), (4, 2, 3)):
    got = program(jnp.float32(2), jnp.full(size, 3.0), power)
    np.testing.assert_array_equal(got, np.full(size, 2 * 3.0**power))
    assert len(traced) == nb_traced


@pytest.fixture(name='script')
def _script(monkeypatch):
  return scripted.install(monkeypatch)


def test_an_error_of_the_compiler_is_raised(script, monkeypatch, tmp_path):
  del script
  def fail(*unused_args):
    raise RuntimeError('no such instruction')
  monkeypatch.setattr(dear.DEARModel, 'compile_feedback', fail)
  with pytest.raises(RuntimeError, match='no such instruction'):
    scripted.train(tmp_path)
  # What can be resumed is resumed once the compiler is well.
  scripted.compile_nothing(monkeypatch)
  assert scripted.train(tmp_path, resume=True)['steps'] == 4


def test_a_signal_while_it_compiles(script, monkeypatch, tmp_path):
  del script
  begun = []
  def compile_feedback(*unused_args):
    begun.append(threading.current_thread())
    if len(begun) == 1:
      os.kill(os.getpid(), signal.SIGTERM)  # which finds the run waiting
      time.sleep(0.2)
  monkeypatch.setattr(dear.DEARModel, 'compile_feedback', compile_feedback)
  result = scripted.train(tmp_path)
  assert result['interrupted'] and result['step'] == 1
  assert not any(thread.is_alive() for thread in begun)
  with checkpoints.Checkpoints(tmp_path) as saved:
    assert saved.latest_step == 1


class _Model:
  """Compiles when it is told to."""
  compiles_ahead = True
  tracing_takes = 0.0

  def __init__(self):
    self.begun = []
    self.go_on = threading.Semaphore(0)

  def describe_shape(self, features, unused_index, training):
    del training
    return features

  def compile_feedback(self, feedback, unused_index, traced):
    self.begun.append(feedback.features)
    time.sleep(self.tracing_takes)
    traced.set()
    assert self.go_on.acquire(timeout=10)

  def compile_evaluate(self, feedback, unused_index, unused_radius):
    self.begun.append(f'evaluation, {feedback.features}')
    assert self.go_on.acquire(timeout=10)


def _batch(size):
  return types.SimpleNamespace(features=f'size {size}')


def _wait_until(condition):
  deadline = time.monotonic() + 10
  while not condition():
    assert time.monotonic() < deadline
    time.sleep(0.001)


@pytest.fixture(name='parts')
def _parts(monkeypatch):
  """A model, what is said, the pace, and a compiler with one core."""
  monkeypatch.setattr(ahead, '_nb_cores', lambda: 1)
  model, said = _Model(), io.StringIO()
  shown = progress.Progress(start=0, total=100, stream=said,
                            clock=iter(range(0, 1000, 20)).__next__)
  measured = pace.Pace({'seconds': iter(range(1000)).__next__})
  compiler = ahead.Ahead(model, ['bfs'], [_batch(64)], 2, shown, measured)
  return model, said, shown, measured, compiler


def test_in_the_order_of_need_and_once(parts):
  model, said, _, _, compiler = parts
  for _ in range(9):
    model.go_on.release()
  with compiler:
    for step, size in enumerate((8, 9, 8, 10), start=1):
      compiler.expect(step, [_batch(size)])
    compiler.meet(ahead.TRAINING, 0, _batch(10))
    compiler.meet(ahead.TRAINING, 0, _batch(8))
    said.truncate(0)
    compiler.meet(ahead.TRAINING, 0, _batch(8))
  assert model.begun == ['size 8', 'size 9', 'evaluation, size 64', 'size 10']
  assert not said.getvalue().strip('\0')  # nobody waits twice


def test_the_first_is_traced_before_others_are_looked_for(parts):
  model, _, _, _, compiler = parts
  model.tracing_takes = 0.1
  with compiler:
    compiler.expect(1, [_batch(8)])
    began = time.monotonic()
    compiler.expect(3, [_batch(9)])
    assert time.monotonic() - began > 0.05
    for _ in range(2):
      model.go_on.release()
    compiler.meet(ahead.TRAINING, 0, _batch(9))
  assert model.begun == ['size 8', 'size 9']


def test_programs_are_traced_one_at_a_time():
  at_work, most = [], []

  def fun(x):
    at_work.append(x)
    most.append(len(at_work))
    time.sleep(0.02)
    at_work.pop()
    return x

  program = programs.Program(fun, batch=0)
  events = [threading.Event() for _ in range(3)]
  threads = [threading.Thread(target=program.compile, args=[jnp.ones(n)],
                              kwargs={'traced': event})
             for n, event in enumerate(events, start=1)]
  for thread in threads:
    thread.start()
  for thread in threads:
    thread.join()
  assert most == [1, 1, 1]
  assert all(event.is_set() for event in events)


def test_what_is_not_begun_is_dropped_at_the_end(parts):
  model, said, _, _, compiler = parts
  with compiler:
    for step in (1, 3, 5):
      compiler.expect(step, [_batch(step)])
    _wait_until(lambda: model.begun)
    threading.Timer(0.05, model.go_on.release).start()
  assert model.begun == ['size 1']
  assert 'waiting for the compiler' in said.getvalue()


def test_the_display_is_truthful(parts):
  model, said, shown, measured, compiler = parts
  metrics = dict(loss=1.0, steps_mean=1.0, steps_max=1.0)

  def step(number):
    said.seek(0)
    said.truncate()
    compiler.mark()
    measured.step()
    shown.update(number, lambda: metrics)
    return said.getvalue()

  with compiler:
    compiler.expect(1, [_batch(8)])
    compiler.expect(3, [_batch(9)])
    model.go_on.release()
    compiler.meet(ahead.TRAINING, 0, _batch(8))
    _wait_until(lambda: len(model.begun) == 2)
    # No speed is told, and none measured, as long as others are compiled.
    assert step(1).endswith('  compiling 1 more program\n')
    assert 'steps/s' not in step(2)
    model.go_on.release()
    compiler.meet(ahead.TRAINING, 0, _batch(9))
    assert 'compiling' not in step(3)
    assert '  0.05 steps/s  ' in step(4)
    step(5)
  assert measured.take() == {'timed': 1, 'seconds': 1.0}


def test_without_a_background_everything_is_announced(parts):
  model, said, _, _, compiler = parts
  model.compiles_ahead = False
  with compiler:
    compiler.expect(1, [_batch(8)])
    compiler.meet(ahead.TRAINING, 0, _batch(8))
  assert not model.begun
  assert said.getvalue() == 'compiling the training step of bfs, size 8 ...\n'
