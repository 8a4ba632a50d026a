# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of programs that are compiled while others run."""

import dataclasses
import os
import signal
import threading

from dear_jax.models import dear
from dear_jax.models import programs
from dear_jax.training import ahead
from dear_jax.training import builders
from dear_jax.training import checkpoints
from dear_jax.training import loop
from dear_jax.training import pace
from dear_jax.training import progress
import pytest
from tests import scripted
from tests.training import training_test

SIZES = dict(train_sizes=(4, 6), train_steps=12, eval_every=6, val_size=6,
             test_size=6)


def _train(workdir, monkeypatch, **settings):
  """Trains; returns the model with what it has compiled."""
  made = []
  build = builders.build_model
  with monkeypatch.context() as patch:
    patch.setattr(builders, 'build_model',
                  lambda *args: made.append(build(*args)) or made[0])
    loop.train(dataclasses.replace(training_test.TINY, **SIZES, **settings),
               workdir)
  return made[0]


def test_same_run_with_and_without(tmp_path, monkeypatch):
  calls = []
  compile_one = programs.Program.compile
  with monkeypatch.context() as patch:
    patch.setattr(programs.Program, 'compile', lambda self, *args: (
        calls.append(threading.current_thread()), compile_one(self, *args)))
    model = _train(tmp_path / 'with', monkeypatch)
  # Three sizes and the validation, each of them once, none where it is run.
  assert len(calls) == 4
  assert threading.main_thread() not in calls
  assert not any(thread.is_alive() for thread in calls)
  assert len(model.jitted_feedback._ahead) == 3  # pylint:disable=protected-access
  assert model.jitted_feedback._cache_size() == 3  # pylint:disable=protected-access

  monkeypatch.setattr(programs.CompilesAhead, 'compiles_ahead', False)
  plain = _train(tmp_path / 'without', monkeypatch)
  assert not plain.jitted_feedback._ahead  # pylint:disable=protected-access
  assert plain.jitted_feedback._cache_size() == 3  # pylint:disable=protected-access
  training_test.assert_same_run(tmp_path / 'with', tmp_path / 'without')
