# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the programs that look into a trained model."""

import functools
import json
import subprocess
import sys

from dear_jax.data import free_memory
from dear_jax.training import checkpoints
from dear_jax.training import configs
from dear_jax.training import loop
import pytest
from tests import commands
from tests import run_folders

# Every program is started once as one; mistakes are made in this process.
command = functools.lru_cache(maxsize=None)(commands.Command)


def run(script, *args):
  return subprocess.run(
      [sys.executable, str(commands.EXPERIMENTS / script), *map(str, args)],
      timeout=600, capture_output=True, text=True, check=False)


def table(text):
  """The rows of the one table in a text, as lists of cells."""
  lines = [line for line in text.splitlines() if line.startswith('|')]
  return [[cell.strip() for cell in line.split('|')[1:-1]] for line in lines]


@pytest.fixture(name='folder', scope='module')
def _folder(tmp_path_factory):
  folder = tmp_path_factory.mktemp('run')
  loop.train(configs.TrainConfig(
      batch_size=2, hidden_size=8, train_steps=2, train_sizes=(4, 4),
      val_size=4, test_size=4, val_samples=4, test_samples=4, eval_every=2,
      residual_weight=0.0),  # a step that is not contractive, to look at
                 folder)
  return folder


def test_convergence_of_every_instance(folder):
  result = run('convergence.py', folder, '--size=4', '--instances=3',
               '--spectra=1', '--backward_max_iter=60')
  assert result.returncode == 0, result.stderr
  assert 'WARNING' not in result.stderr  # of libraries that CLRS imports
  head, _, *rows = table(result.stdout)
  assert len(rows) == 3 and all(len(row) == len(head) for row in rows)
  found = json.loads((folder / 'convergence.json').read_text())
  assert found['algorithm'] == 'bfs' and found['decay'] == 0.6
  assert found['steps'] == sorted(found['steps'], reverse=True)
  # The solver's adjoint against LAPACK's.
  assert max(found['backward_error']) < 0.05
  for i, residuals in enumerate(found['residuals']):
    # The first one that passes, or the lowest if none does.
    residuals = residuals[:found['steps'][i]]
    expected = residuals[-1] if found['converged'][i] else min(residuals)
    assert found['residual'][i] == pytest.approx(expected, rel=1e-3)
  picture = (folder / 'convergence.png').read_bytes()
  assert picture.startswith(b'\x89PNG') and len(picture) > 10_000


def test_agreement_of_gradients(folder):
  result = run('gradient_noise.py', folder, '--size=4', '--batches=3',
               '--decays=0,1', '--nounrolled')
  assert result.returncode == 0, result.stderr
  rows = {row[0]: row for row in table(result.stdout)[2:]}
  assert list(rows) == [
      'one step', 'damped, decay 0', 'damped, decay 0, bound 1.5',
      'damped, decay 1', 'damped, decay 1, bound 1.5', 'implicit, exact']
  # Without any passing on, the damped gradient is the one-step gradient.
  assert rows['damped, decay 0'][1:4] == rows['one step'][1:4]
  assert rows['one step'][3] == '1.00'
  assert -1 <= float(rows['implicit, exact'][2]) <= 1


def test_where_errors_are(folder):
  code, out, err = command('errors.py')(folder, '--samples=4', '--size=5')
  assert code == 0, err
  found = json.loads((folder / 'errors.json').read_text())
  assert found['samples'] == 4 and found['size'] == 5
  assert len(found['tables']) == 4
  for rows in found['tables'].values():
    assert sum(x['nodes'] for x in rows) == 20
    assert sum(x['nodes'] * x['right'] for x in rows) == pytest.approx(
        20 * found['right'])
  assert f'{found["right"]:.3f} of the nodes are right' in out


@pytest.fixture(name='aligned', scope='module')
def _aligned(tmp_path_factory):
  """A run that was taught by another."""
  teacher, student = (tmp_path_factory.mktemp(x) for x in ('nar', 'dear'))
  tiny = dict(batch_size=2, hidden_size=8, train_steps=1, train_sizes=(4, 4),
              val_size=4, test_size=4, val_samples=2, test_samples=2,
              eval_every=1)
  loop.train(configs.TrainConfig(model='nar', **tiny), teacher)
  loop.train(configs.TrainConfig(align_to=str(teacher), **tiny), student)
  return teacher, student


def test_cost_and_gradient_of_alignment(aligned):
  result = run('benchmark_alignment.py', aligned[1], '--size=4', '--rounds=3',
               '--batches=2')
  assert result.returncode == 0, result.stderr
  rows = {row[0]: row[1:] for row in table(result.stdout)}
  assert rows['plain step'][1] == '1.00'
  assert float(rows['teacher alone'][1]) > 0
  for row in ('one state of every instance, and the last', 'the last state'):
    assert -1 <= float(rows[row][0]) <= 1


def test_what_has_no_equilibrium_cannot_be_looked_into(aligned, folder):
  for script, where, message in (
      ('convergence.py', aligned[0], 'has model=nar'),
      ('benchmark_alignment.py', folder, 'without --align_to')):
    code, _, err = command(script)(where)
    assert code == 2
    assert message in err and err.count('\n') == 1


def test_mistakes_are_one_line(tmp_path, folder, monkeypatch):
  dijkstra = tmp_path / 'dijkstra'
  run_folders.write(dijkstra, algorithms=('dijkstra',))
  monkeypatch.setattr(checkpoints, 'load_kept', lambda _: {})  # not looked at
  monkeypatch.setattr(free_memory, 'available', lambda: 2**30)
  for script, args, message in (
      ('convergence.py', [], 'RUN_FOLDER is missing'),
      ('convergence.py', [tmp_path], 'config.json'),
      ('convergence.py', [folder, '--decay=2'], 'decay'),
      ('errors.py', [folder, '--size=1'], 'size'),
      ('errors.py', [dijkstra, '--size=3'],
       '--size must be at least 4 for dijkstra, got 3.'),
      ('errors.py', [folder, '--size=200000'],
       '200,000 x 200,000 pairs of nodes would'),
      ('gradient_noise.py', [folder, '--decays=0.5,x'], "got '0.5,x'"),
      ('gradient_noise.py', [folder, tmp_path], 'unexpected argument')):
    code, out, err = command(script)(*args)
    assert code == 2, err
    assert message in err
    assert err.count('\n') == 1, err
    assert not out
