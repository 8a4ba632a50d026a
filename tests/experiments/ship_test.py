# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of experiments/ship.py on tiny runs."""

import json
import shutil

import dear_jax
from dear_jax.reasoning import cards
from dear_jax.training import configs
from dear_jax.training import loop
import numpy as np
import pytest
from tests import commands


@pytest.fixture(name='ship', scope='module')
def _ship():
  return commands.Command('ship.py')


@pytest.fixture(name='runs', scope='module')
def _runs(tmp_path_factory):
  """Two runs that differ in their seed, the second with the lower loss."""
  first, second = (tmp_path_factory.mktemp(x) for x in ('first', 'second'))
  loop.train(configs.TrainConfig(
      algorithms=('minimum',), batch_size=4, hidden_size=8, train_steps=1,
      train_sizes=(4, 4), val_size=4, test_size=6, val_samples=4,
      test_samples=4, scalars='units', self_loops=False), first)
  shutil.copytree(first, second, dirs_exist_ok=True)
  for name, change in (('config.json', {'seed': 2}), ('result.json', {})):
    found = json.loads((second / name).read_text())
    (found['config'] if name == 'config.json' else found).update(
        change or {'val_loss': found['val_loss'] / 2})
    (second / name).write_text(json.dumps(found))
  return first, second


def test_the_lowest_validation_loss_is_shipped(ship, runs, tmp_path):
  code, out, err = ship(*runs, f'--out={tmp_path}', '--sizes=4,6',
                        '--samples=8', '--weakness=It is tiny.')
  assert code == 0, err
  assert sorted(x.name for x in tmp_path.iterdir()) == [
      'minimum.json', 'minimum.npz']
  values = json.loads((tmp_path / 'minimum.json').read_text())
  card = cards.from_json(values)
  assert str(card) == out.rstrip('\n')
  assert 'seed 2' in card.training and 'Of 2 runs' in card.chosen
  assert '--preset=best' in card.command and '--seed=2' in card.command
  assert '--hidden_size=8' in card.command and 'scalars' not in card.command
  reasoner = dear_jax.load(tmp_path / 'minimum.npz')
  assert card.command in reasoner.made_by
  assert [(x.graphs, x.size, x.samples) for x in card.scores] == [
      (None, 4, 8), (None, 6, 8)]
  assert card.weaknesses[0] == 'It is tiny.'
  # Its card alone, once more.
  code, _, err = ship(tmp_path / 'minimum.npz', f'--out={tmp_path}',
                      '--sizes=4', '--samples=8')
  assert code == 0, err
  again = json.loads((tmp_path / 'minimum.json').read_text())
  assert again['scores'] == values['scores'][:1]
  assert all(again[x] == values[x] for x in ('chosen', 'command'))


def test_figures_tell_weaknesses(ship):
  row = dict(graphs='grid', size=64, samples=8, whole=0.0, converged=1.0)
  found = ship.scope['find_weaknesses']([
      dict(row, score=0.96, confidence=0.99),
      dict(row, score=0.8, confidence=0.82),
      dict(row, score=0.8, confidence=0.99),
      dict(row, score=0.99, confidence=0.99, converged=0.5)])
  assert found == [
      'Nothing larger than 64 was tried.',
      'On grid graphs of size 64 its score is 0.800 at a confidence of 0.820.',
      'On grid graphs of size 64 its score is 0.800 at a confidence of 0.990, '
      'and it does not know.',
      'On grid graphs of size 64, 50% of the solves do not converge.']


def test_wide_weights_have_the_same_order(ship):
  graph = np.array([[0, 0.5, 0.1], [0.5, 0, 0.9], [0.1, 0.9, 0]])
  found, = ship.scope['widened'](graph[None])
  np.testing.assert_array_equal(found, found.T)
  assert 1 < found[0, 2] < 100 < found[0, 1] < found[1, 2]
  assert found[1, 2] == pytest.approx(1e4) and not found.diagonal().any()


@pytest.mark.parametrize('args, message', [
    ([], 'run folder is missing'),
    (['no_such_folder'], 'no_such_folder'),
    (['no_such_file.npz'], 'no_such_file.npz'),
    (['docs', '--out=no_such_folder'], '--out=no_such_folder'),
    (['docs', '--sizes=many'], '--sizes must be whole numbers such as 16,64'),
])
def test_wrong_input(ship, args, message):
  code, out, err = ship(*args)
  assert (code, out) == (2, '')
  assert message in err and err.count('\n') == 1


def test_families_are_known_before_anything_is_asked(ship, tmp_path):
  shutil.copy(cards.data() / 'bfs.npz', tmp_path / 'bfs.npz')
  code, out, err = ship(tmp_path / 'bfs.npz', '--families=gird',
                        f'--out={tmp_path}')
  assert code == 2 and "did you mean 'grid'?" in err
  assert not out and 'er of size' not in err


def test_other_settings_are_no_choice(ship, runs, tmp_path):
  other = tmp_path / 'other'
  shutil.copytree(runs[0], other)
  found = json.loads((other / 'config.json').read_text())
  found['config']['tol'] = 0.2
  (other / 'config.json').write_text(json.dumps(found))
  code, _, err = ship(runs[0], other)
  assert code == 2 and 'other settings' in err
