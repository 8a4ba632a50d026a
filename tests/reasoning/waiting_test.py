# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what someone who waits is told, and of not having to wait."""

import functools
import os
import subprocess
import sys
import time

import dear_jax
from dear_jax.data import samplers
from dear_jax.reasoning import examples
from dear_jax.reasoning import questions
from dear_jax.reasoning import waiting
from dear_jax.training import builders
from dear_jax.training import loop
import jax
import numpy as np
import pytest

PATH = np.eye(4, k=1) + np.eye(4, k=-1)


def _reasoner(task='bfs', verbose=True, is_limit=False, **kwargs):
  config = loop.TrainConfig(algorithms=(task,), hidden_size=8,
                            **{'max_iter': 3, **kwargs})
  return dear_jax.Reasoner(config, _params(task), verbose=verbose,
                           is_limit=is_limit)


@functools.lru_cache(maxsize=None)
def _params(task):
  sampler = samplers.make_sampler(task, size=4, batch_size=1, seed=0,
                                  split='test')
  model = builders.build_model(
      loop.TrainConfig(algorithms=(task,), hidden_size=8), [sampler.spec],
      [sampler.batch(0)])
  model.init(sampler.batch(0).features, 0)
  return model.params


def test_one_line_tells_of_the_compiler(capsys, monkeypatch):
  monkeypatch.setattr(waiting, '_SAY_AFTER', 0.0)
  reasoner = _reasoner()
  reasoner(PATH, 0)
  said = capsys.readouterr().err
  assert said.startswith('dear_jax: compiling bfs for up to 16 nodes ... ')
  assert said.endswith(' s\n') and said.count('\n') == 1
  reasoner(np.zeros((9, 9)), 3)  # of the same rung
  assert not capsys.readouterr().err
  reasoner(np.stack([PATH, PATH]), 0)
  assert '2 times up to 16 nodes' in capsys.readouterr().err
  _reasoner(verbose=False)(PATH, 0)
  assert not capsys.readouterr().err


def test_a_short_wait_is_not_spoken_of(capsys):
  with waiting.Announcement('waiting', after=60):
    pass
  assert not capsys.readouterr().err
  with pytest.raises(KeyboardInterrupt):
    with waiting.Announcement('waiting', after=0):
      time.sleep(0.2)
      raise KeyboardInterrupt
  assert capsys.readouterr().err.endswith(' s (not finished)\n')


def test_warm_up_compiles_ahead():
  reasoner = _reasoner(verbose=False)
  assert reasoner.warm_up(sizes=(4, 16)) == 1
  assert reasoner.nb_programs == 1
  size = lambda: reasoner._model.jitted_evaluate._cache_size()  # pylint:disable=protected-access
  compiled = size()
  reasoner(PATH, 0)
  assert size() == compiled
  assert reasoner.warm_up(sizes=11) == 0
  assert reasoner.warm_up(sizes=5, batch_size=2) == 1
  with pytest.raises(ValueError, match='size must be a whole number'):
    reasoner.warm_up(sizes=('16',))


@pytest.mark.parametrize('task', questions.TASKS)
def test_examples_can_be_asked(task):
  for example in examples.examples(task, 6, 2):
    question = questions.read(task, (), example, min_size=2)
    assert not question.is_single


def test_examples_are_of_all_densities():
  sums = [x['adj'].sum() for x in examples.examples('bfs', 64)]
  assert sums[0] == 0 and sums[-1] == 64 * 63
  assert all(y <= 2 * x + 2 * 63 for x, y in zip(sums, sums[1:]))


def test_progress(capsys):
  reasoner, seen = _reasoner(verbose=False), []
  _, details = reasoner(PATH, 0, details=True,
                        progress=lambda *x: seen.append(x))
  assert seen == [(details.steps, 12, details.residual)]
  assert not capsys.readouterr().err
  reasoner(PATH, 0, progress=True)
  said = capsys.readouterr().err
  assert f'{details.steps} of at most 12 iterations' in said
  assert f'residual {details.residual:.2g}' in said
  with pytest.raises(ValueError, match="True, False or a function, got 'yes'"):
    reasoner(PATH, 0, progress='yes')


def test_a_long_solve_can_be_interrupted():
  """Python has its turn again and again, which is when Ctrl-C arrives.

  No signal is sent: where tests run in the background, it may be ignored.
  """
  reasoner = _reasoner(verbose=False, is_limit=True, max_iter=10**8, tol=1e-30)
  reasoner.warm_up(4)
  seen = []

  def interrupt(step, most, residual):
    del most, residual
    seen.append(step)
    if len(seen) == 3:
      raise KeyboardInterrupt

  with pytest.raises(KeyboardInterrupt):
    reasoner(PATH, 0, progress=interrupt)
  assert 0 < seen[0] < seen[1] < seen[2] < 10**8
  assert reasoner.warm_up(4) == 0  # and it can be asked again


@pytest.mark.parametrize('own', [False, True])
def test_load_keeps_programs_where_the_user_wants_them(own, tmp_path):
  program = (
      'import jax, dear_jax; dear_jax.load("bfs");'
      'print(jax.config.jax_compilation_cache_dir);'
      'print(jax.config.jax_persistent_cache_min_compile_time_secs)')
  environment = dict(os.environ, XDG_CACHE_HOME=str(tmp_path))
  environment.pop('JAX_COMPILATION_CACHE_DIR', None)
  if own:
    environment['JAX_COMPILATION_CACHE_DIR'] = str(tmp_path / 'mine')
  done = subprocess.run([sys.executable, '-c', program], text=True, check=True,
                        env=environment, capture_output=True)
  folder, seconds = done.stdout.split()
  assert folder == str(tmp_path / 'mine' if own
                       else tmp_path / 'dear_jax' / 'xla')
  assert float(seconds) == (1.0 if own else 0.1)


def test_answers_do_not_depend_on_warming_up():
  cold, warm = _reasoner(verbose=False), _reasoner(verbose=False)
  warm.warm_up(4)
  jax.tree_util.tree_map(np.testing.assert_array_equal, cold(PATH, 1),
                         warm(PATH, 1))
