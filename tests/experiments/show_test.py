# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of experiments/show.py on tiny runs."""

import importlib.util
import json
import os
import shutil

from dear_jax.data import free_memory
from dear_jax.training import configs
from dear_jax.training import loop
import numpy as np
import PIL.Image
import pytest
from tests import commands


@pytest.fixture(name='command', scope='module')
def _command():
  return commands.Command('show.py')


@pytest.fixture(name='folder', scope='module')
def _folder(tmp_path_factory):
  folder = tmp_path_factory.mktemp('run')
  loop.train(configs.TrainConfig(
      batch_size=2, hidden_size=8, train_steps=1, train_sizes=(4, 4),
      val_size=4, test_size=4, val_samples=2, test_samples=3, eval_every=1),
                 folder)
  return folder


def _changed(folder, copy, **settings):
  """A copy of a run with other settings, which its parameters do not fit."""
  shutil.copytree(folder, copy)
  path = copy / 'config.json'
  content = json.loads(path.read_text())
  content['config'].update(settings)
  path.write_text(json.dumps(content))
  return copy


def _rows(text):
  """The table in a text, without its head."""
  lines = [[cell.strip() for cell in line.split('|')[1:-1]]
           for line in text.splitlines() if line.startswith('|')]
  return lines[0], lines[2:]


def _pictures(folder):
  """Format, size and number of frames of every picture in a folder."""
  found = {}
  for name in sorted(os.listdir(folder)):
    if name.startswith('equilibrium'):
      with PIL.Image.open(os.path.join(folder, name)) as image:
        found[name] = image.format, image.size, getattr(image, 'n_frames', 1)
  return found


def test_pictures_and_table(command, folder):
  code, out, err = command(folder, '--size=5', '--sample=2', '--tol=1e-9',
                           '--max_iter=4')
  assert code == 0, err
  assert not err
  head, rows = _rows(out)
  assert head == ['iteration', 'residual', 'wrong pointers of 5']
  assert [row[0] for row in rows] == ['1', '2', '3', '4']
  lowest = 1 + np.argmin([float(row[1]) for row in rows])
  assert out.splitlines()[0] == (
      'bfs, size 5, test sample 2, anderson, tolerance 1e-09: not converged '
      f'after 4 iterations: the answer is that of iteration {lowest}.')
  assert out.splitlines()[-2:] == [f'Wrote {folder}/equilibrium.{x}.'
                                   for x in ('png', 'gif')]
  found = _pictures(folder)
  assert list(found) == ['equilibrium.gif', 'equilibrium.png']
  assert found['equilibrium.png'][0] == 'PNG'
  assert min(found['equilibrium.png'][1]) > 500
  format_, _, frames = found['equilibrium.gif']
  assert format_ == 'GIF' and frames == 4


def test_instance_is_that_of_the_test(command, folder):
  """Samples have the numbers that they have in the batches of the run."""
  with command.parsed(folder):
    run = command.scope['trained'].Run(folder)
  alone = run.test_set(4, run.config.test_samples, 1)
  together = run.test_set(4, run.config.test_samples, run.config.batch_size)
  whole = [x for batch in together for x in batch.outputs[0].data]
  for i in range(3):
    np.testing.assert_array_equal(alone.batch(i).outputs[0].data[0], whole[i])


def test_options(command, folder, tmp_path):
  code, out, err = command(
      folder, '--size=4', '--solver=picard', '--tol=1e-12', '--max_iter=30',
      '--noanimation', f'--out={tmp_path}')
  assert code == 0, err
  assert 'not converged after 30 iterations: the answer is that of' in out
  _, rows = _rows(out)
  assert len(rows) == 20 and rows[0][0] == '1' and rows[-1][0] == '30'
  assert list(_pictures(tmp_path)) == ['equilibrium.png']
  assert os.listdir(tmp_path) == ['equilibrium.png']


def test_mistakes_are_one_line(command, folder, tmp_path, monkeypatch):
  nar = _changed(folder, tmp_path / 'nar', model='nar', processor='pgn')
  edges = _changed(folder, tmp_path / 'edges', algorithms=['mst_kruskal'])
  sort = _changed(folder, tmp_path / 'sort', algorithms=['insertion_sort'])
  monkeypatch.setattr(free_memory, 'available', lambda: 2**30)
  for args, message in (
      ([], 'RUN_FOLDER is missing'),
      ([tmp_path / 'none'], 'none'),
      ([nar], 'has model=nar; this needs a run with model=dear'),
      ([edges], 'no picture of the outputs of mst_kruskal; there is one for '),
      ([folder, '--sample=3'], '--sample must be in 0..2, as the run has 3 '
                               'test samples, got 3.'),
      ([folder, '--sample=-1'], '--sample must be in 0..2'),
      ([folder, '--size=1'], '--size must be at least 2 for bfs, got 1.'),
      ([folder, '--size=x'], 'size'),
      ([folder, '--size=200000'], '200,000 x 200,000 pairs of nodes would'),
      ([folder, '--solver=newton'], "Unknown solver 'newton'"),
      ([folder, '--tol=0'], 'tol must be a number of more than 0, got 0.'),
      ([folder, '--tol=nan'], 'tol must be a number of more than 0, got nan.'),
      ([folder, '--max_iter=0'], 'whole number of at least 1, got 0.'),
      ([folder, f'--out={tmp_path}/a/b'], 'there is no such folder'),
      ([folder, folder], 'unexpected argument')):
    code, out, err = command(*args)
    assert code == 2, (args, err)
    assert message in err, err
    assert err.count('\n') == 1 and err.startswith('show.py: '), err
    assert not out
  code, out, err = command(sort, '--size=4')
  assert code == 1 and not out and err.count('\n') == 1
  assert f'{sort} cannot be shown: ' in err
  monkeypatch.setattr(importlib.util, 'find_spec', lambda name: None)
  code, out, err = command(folder)
  assert (code, out) == (1, '') and 'matplotlib is not installed' in err
