# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of experiments/evaluate.py on tiny runs."""

import json
import os
import shutil
import subprocess
import sys

from dear_jax.training import configs
from dear_jax.training import loop
import pytest
from tests import commands


def run(*args, options=()):
  return subprocess.run(
      [sys.executable, *options, str(commands.EXPERIMENTS / 'evaluate.py'),
       *map(str, args)],
      timeout=600, capture_output=True, text=True, check=False)


@pytest.fixture(name='command', scope='module')
def _command():
  return commands.Command('evaluate.py')


def tables(text):
  """Every table in a text, as rows of cells by their heads."""
  found = []
  for block in text.split('\n\n'):
    lines = [[cell.strip() for cell in line.split('|')[1:-1]]
             for line in block.splitlines() if line.startswith('|')]
    if lines:
      found.append([dict(zip(lines[0], line)) for line in lines[2:]])
  return found


def _train(folder, **kwargs):
  # Two batches of three in the test.
  return loop.train(configs.TrainConfig(
      batch_size=4, hidden_size=8, train_steps=2, train_sizes=(4, 4),
      val_size=4, test_size=6, val_samples=4, test_samples=6, eval_every=2,
      **kwargs), folder)


@pytest.fixture(name='dear', scope='module')
def _dear(tmp_path_factory):
  folder = tmp_path_factory.mktemp('dear')
  return folder, _train(folder)


@pytest.fixture(name='floyd', scope='module')
def _floyd(tmp_path_factory):
  folder = tmp_path_factory.mktemp('floyd')
  return folder, _train(folder, algorithms=('floyd_warshall',))


@pytest.fixture(name='nar', scope='module')
def _nar(tmp_path_factory):
  folder = tmp_path_factory.mktemp('nar')
  return folder, _train(folder, model='nar', algorithms=('minimum',))


def _listing(folder):
  return sorted(os.listdir(folder))


def test_everything_about_a_dear(dear):
  folder, result = dear
  done = run(folder, '--sizes=6,4', '--samples=6', '--tols=0.3',
             '--max_iters=1')
  assert done.returncode == 0, done.stderr
  assert '[1/4] size 4, solver anderson, tol 0.1' in done.stderr
  assert 'left)' in done.stderr
  found = json.loads((folder / 'evaluation.json').read_text())
  assert found['settings'] == dict(
      solver='anderson', tol=0.1, criterion='state', max_iter=160)
  assert found['overridden'] == [] and found['sweep_size'] == 6

  small, tested = found['sizes']
  assert (small['size'], tested['size']) == (4, 6)
  assert tested['samples'] == 6
  # As the run was tested: the same samples, in the same batches.
  assert tested['score'] == result['test_score']
  assert tested['outputs'] == result['test_outputs']['bfs']
  assert tested['steps_mean'] == pytest.approx(result['test_solver_steps_mean'])
  assert tested['converged'] == pytest.approx(result['test_converged'])
  assert tested['low'] <= tested['score'] <= tested['high']

  assert sum(row['samples'] for row in found['density']) == 6
  ends = [x for row in found['density']
          for x in (row['edges_min'], row['edges_max'])]
  assert ends == sorted(ends) and 0 <= ends[0] and ends[-1] <= 1
  assert sum(row['samples'] * row['score'] for row in found['density']
             ) / 6 == pytest.approx(tested['score'])

  loose, strict = found['tol']
  assert (loose['tol'], strict['tol']) == (0.3, 0.1)
  assert loose['steps_mean'] <= strict['steps_mean']
  short, full = found['max_iter']
  assert (short['max_iter'], full['max_iter']) == (1, 160)
  assert short['steps_max'] == 1  # the limit is the one in force
  for row in (strict, full):
    assert row['score'] == tested['score']

  sizes, density, tols, limits = tables(done.stdout)
  assert [row['size'] for row in sizes] == ['4', '6']
  assert sizes[1]['score'] == f'{tested["score"]:.4f}'
  assert len(density) == len(found['density'])
  assert [row['tolerance'] for row in tols] == ['0.3', '0.1']
  assert [row['iteration limit'] for row in limits] == ['1', '160']
  picture = (folder / 'evaluation.png').read_bytes()
  assert picture.startswith(b'\x89PNG') and len(picture) > 20_000


def test_overrides_and_choices(dear, command, tmp_path, monkeypatch):
  folder, _ = dear
  before = _listing(folder)
  monkeypatch.setitem(sys.modules, 'matplotlib', None)
  line = [folder, '--solver=picard', '--tol=0.5', '--max_iter=3', '--samples=6']
  code, out, err = command(*line, '--only=sizes', '--sizes=6',
                           f'--output={tmp_path}/x.json')
  assert code == 0, err
  assert 'matplotlib is not installed' in err
  found = json.loads((tmp_path / 'x.json').read_text())
  assert found['settings'] == dict(
      solver='picard', tol=0.5, criterion='state', max_iter=3)
  assert found['overridden'] == ['solver', 'tol', 'max_iter']
  assert found['trained_with'] == dict(
      solver='anderson', tol=0.1, criterion='state', max_iter=40)
  assert 'tol' not in found and 'density' not in found
  assert found['sizes'][0]['steps_max'] <= 3
  assert len(tables(out)) == 1
  assert _listing(tmp_path) == ['x.json']
  # What fails on the way leaves nothing behind.
  def fail(*unused_args):
    raise RuntimeError('halfway')
  monkeypatch.setattr(command.scope['evaluator'], 'by_density', fail)
  with pytest.raises(RuntimeError, match='halfway'):
    command(*line, '--only=sizes,density', '--sizes=6')
  assert _listing(folder) == before


def test_pointers_of_edges_have_two_scores(floyd, command, tmp_path):
  folder, result = floyd
  path = tmp_path / 'x.json'
  code, out, err = command(folder, '--only=sizes', '--sizes=6', '--samples=6',
                           f'--output={path}')
  assert code == 0, err
  tested = result['test_outputs']['floyd_warshall']
  assert set(tested) == {'Pi', 'Pi_on_edges'}
  assert result['test_score'] == tested['Pi'] != tested['Pi_on_edges']
  row, = json.loads(path.read_text())['sizes']
  assert row['outputs'] == tested and row['score'] == tested['Pi']
  (shown,), = tables(out)
  assert shown['`Pi_on_edges`'] == f'{tested["Pi_on_edges"]:.4f}'


def test_families_of_graphs(dear, command, tmp_path):
  folder, result = dear
  path = tmp_path / 'x.json'
  code, out, err = command(
      folder, '--graphs=er,path', '--only=graphs', '--sizes=4,6', '--samples=6',
      f'--output={path}')
  assert code == 0, err
  assert '[3/4] size 4, path, solver anderson' in err
  found = json.loads(path.read_text())
  rows = {(row['graphs'], row['size']): row for row in found['graphs']}
  assert list(rows) == [('er', 4), ('er', 6), ('path', 4), ('path', 6)]
  tested = rows['er', 6]
  assert tested['score'] == result['test_score']
  assert 0 <= tested['whole'] <= tested['score']
  for row in rows.values():
    assert 0 < row['confidence'] <= 1 and 0 <= row['calibration_error'] <= 1
    assert (row['score_if_sure'] is None) == (row['sure'] == 0)
  bins = found['reliability']['bins']
  assert sum(row['entries'] for row in bins) == 2 * 6 * (4 + 6)
  assert sum(row['entries'] * row['right'] for row in bins) == pytest.approx(
      sum(row['score'] * 6 * row['size'] for row in rows.values()))
  families, reliability = tables(out)
  assert [row['graphs'] for row in families] == ['er', 'er', 'path', 'path']
  assert families[1]['nodes right'] == f'{tested["score"]:.4f}'
  assert families[1]['graphs right'] == f'{tested["whole"]:.4f}'
  assert len(reliability) == len(bins)
  assert (f'Expected calibration error: '
          f'{found["reliability"]["expected_error"]:.4f}') in out
  assert (tmp_path / 'x.png').exists()


def test_limits_grow_with_the_size(dear, command, tmp_path):
  folder, _ = dear
  path = tmp_path / 'x.json'
  line = [folder, '--only=sizes,graphs', '--graphs=path', '--sizes=6,130',
          '--samples=2', '--tol=1e-9', f'--output={path}']
  for flags, limits in (([], [None, 260]), (['--max_iter=3'], [None, None])):
    code, _, err = command(*line, *flags)
    assert code == 0, err
    found = json.loads(path.read_text())
    for part in ('sizes', 'graphs'):
      assert [x.get('max_iter') for x in found[part]] == limits
      assert found[part][1]['steps_max'] == (limits[1] or 3)


def test_a_run_is_evaluated_on_the_graphs_that_it_was_trained_on(
    command, tmp_path):
  result = _train(tmp_path, graphs='path')
  code, _, err = command(tmp_path, '--only=sizes', '--sizes=6', '--samples=6')
  assert code == 0, err
  found = json.loads((tmp_path / 'evaluation.json').read_text())
  assert found['trained_on'] == 'path'
  assert found['sizes'][0]['score'] == result['test_score']
  assert 'graphs' not in found


def test_rule_for_pointers(dear, command, tmp_path):
  folder, result = dear
  assert result['restrict_pointers'] == {'bfs': True}
  found = []
  for i, flags in enumerate(([], ['--restrict_pointers=false'])):
    path = tmp_path / f'{i}.json'
    code, _, err = command(folder, '--only=sizes', '--sizes=6', '--samples=6',
                           f'--output={path}', *flags)
    assert code == 0, err
    found.append(json.loads(path.read_text()))
  own, other = found
  assert own['restrict_pointers'] is True and own['overridden'] == []
  assert other['restrict_pointers'] is False
  assert other['overridden'] == ['restrict_pointers']
  # Of all nodes the same network rarely points to the right one.
  assert own['sizes'][0]['score'] == result['test_score']
  assert other['sizes'][0]['score'] < own['sizes'][0]['score']


def test_a_nar(nar, command, tmp_path):
  folder, result = nar
  code, out, err = command(folder, '--sizes=4,6', '--samples=6')
  assert code == 0, err
  found = json.loads((folder / 'evaluation.json').read_text())
  assert (folder / 'evaluation.png').exists()
  assert found['settings'] == dict(test_steps='true')
  tested = found['sizes'][1]
  assert tested['score'] == result['test_score']
  assert tested['steps_mean'] == pytest.approx(result['test_steps_mean'])
  assert not {'density', 'tol', 'max_iter'} & set(found)
  (rows,) = tables(out)
  assert 'steps' in rows[0] and 'converged' not in rows[0]
  code, _, err = command(folder, '--sizes=6', '--samples=6', '--test_steps=3',
                         f'--output={tmp_path}/x.json')
  assert code == 0, err
  found = json.loads((tmp_path / 'x.json').read_text())
  assert found['settings'] == dict(test_steps=3)
  assert found['sizes'][0]['steps_mean'] == 3


def test_parts_stay_that_were_evaluated_before(dear, command, tmp_path):
  folder, result = dear
  path = tmp_path / 'x.json'
  line = [folder, f'--output={path}', '--samples=6', '--sweep_size=6']
  for only, extra in (('density', []), ('sizes', ['--sizes=6'])):
    args = [x for x in line if only != 'sizes' or 'sweep' not in str(x)]
    code, _, err = command(*args, f'--only={only}', *extra)
    assert code == 0, err
  found = json.loads(path.read_text())
  assert found['kept_step'] == result['kept_step']
  assert found['density'] and found['sizes'][0]['size'] == 6
  # Those of other settings go.
  code, _, err = command(folder, f'--output={path}', '--samples=6',
                         '--only=density', '--tol=0.5')
  assert code == 0, err
  found = json.loads(path.read_text())
  assert found['density'] and 'sizes' not in found


def test_mistakes_are_one_line(dear, nar, command, tmp_path):
  dear, nar = dear[0], nar[0]
  before = _listing(dear), _listing(nar)
  cases = (
      ([], 'RUN_FOLDER is missing'),
      ([tmp_path], 'is not a run folder'),
      ([dear, '--solver=anderso'], "did you mean 'anderson'?"),
      ([dear, '--tol=0'], 'tol must be a number of more than 0, got 0'),
      ([dear, '--tol=nan'], 'got nan'),
      ([dear, '--tol=x'], 'tol'),
      ([dear, '--max_iter=0'], 'max_iter must be a whole number of at least'),
      ([dear, '--samples=0'], '--samples must be at least 1, got 0'),
      ([dear, '--sizes=16,1'], '--sizes must be at least 2 for bfs, got 1'),
      ([dear, '--sizes=16;32'], "got '16;32'"),
      ([dear, '--sweep_size=1'], '--sweep_size must be at least 2'),
      ([dear, '--tols=0.1,-1'], "numbers above 0, separated by commas, got"),
      ([dear, '--max_iters=1.5'], "got '1.5'"),
      ([dear, '--only=size'], 'sizes, density, tol, max_iter'),
      ([dear, '--restrict_pointers=ture'], "did you mean 'true'?"),
      ([nar, '--restrict_pointers=true'], 'those of minimum do not'),
      ([dear, '--test_steps=4'], '--test_steps=4 needs a run with model=nar'),
      ([dear, '--output=x.png'], 'ends in .json'),
      ([dear, f'--output={tmp_path}/no/x.json'], 'there is no folder'),
      ([nar, '--tol=0.1'], '--tol=0.1 needs a run with model=dear'),
      ([nar, '--max_iters=3'], '--max_iters=3 needs a run with model=dear'),
      ([nar, '--test_steps=0'], "whole number of at least 1, got 0"),
      ([nar, '--test_steps=ture'], "got 'ture'"),
      ([nar, '--test_steps=learned'], 'has test_steps=true'),
      ([nar, '--only=density'], 'minimum has no graph'),
      ([nar, '--only=tol'], '--only=tol does not apply'),
      ([dear, '--graphs=er,paths'], "did you mean 'path'?"),
      ([dear, '--graphs=er', '--only=sizes'], '--only=sizes,graphs'),
      ([dear, '--only=sizes', '--tols=0.1'], '--tols=0.1 has no effect on'),
      ([dear, '--only=tol,density', '--sizes=8'], 'no effect on density and'),
      ([nar, '--sweep_size=8'], '--sweep_size=8 has no effect on sizes'),
      ([dear / 'result.json'], 'result.json is a file, not a run folder'),
      ([nar, '--graphs=path'], '--graphs=path is not for minimum'),
      ([nar, '--only=graphs'], 'minimum has no families of graphs'))
  for args, message in cases:
    code, out, err = command(*args)
    assert code == 2, (args, err)
    assert message in err, (args, err)
    assert err.count('\n') == 1 and not out, err
  assert (_listing(dear), _listing(nar)) == before


def test_help_does_not_wait_for_the_library():
  done = run('--help', options=['-X', 'importtime'])
  assert '--max_iters' in done.stdout
  imported = {line.split('|')[-1].strip() for line in done.stderr.splitlines()}
  assert 'cli' in imported
  # The settings, whose flags it has, are there without these.
  assert not imported & {'clrs', 'jax', 'matplotlib', 'numba'}


def test_parameters_of_a_baseline_solved_for_an_equilibrium(
    nar, command, tmp_path):
  path = tmp_path / 'as_dear.json'
  code, out, err = command(
      nar[0], '--model=dear', '--only=sizes', '--sizes=4', '--samples=4',
      f'--output={path}')
  assert code == 0, err
  assert 'solver steps' in out
  found = json.loads(path.read_text())
  assert (found['model'], found['processor']) == ('dear', 'dear_pgn')
  assert found['overridden'] == ['model']


def test_parameters_of_a_dear_in_a_baseline(nar, command, tmp_path):
  """Whatever it was trained with that a baseline cannot be."""
  folder, result = nar
  copy = tmp_path / 'dear'
  shutil.copytree(folder, copy)
  stored = json.loads((copy / 'config.json').read_text())
  stored['config'].update(
      model='dear', processor='dear_pgn', contrastive_weight=0.5,
      noise_stddev=0.001, stochastic_depth=True)
  (copy / 'config.json').write_text(json.dumps(stored))
  code, _, err = command(copy, '--model=nar', '--only=sizes', '--sizes=6',
                         '--samples=6')
  assert code == 0, err
  found = json.loads((copy / 'evaluation.json').read_text())
  assert (found['model'], found['processor']) == ('nar', 'pgn')
  assert found['sizes'][0]['score'] == result['test_score']


def test_large_graphs_are_evaluated_without_matrices(dear, command, tmp_path):
  folder, _ = dear
  path = tmp_path / 'x.json'
  line = [folder, '--only=graphs', '--samples=2', f'--output={path}',
          '--max_iter=4', '--tol=1e-9']
  code, _, err = command(*line, '--sizes=6,2100', '--graphs=tree,sparse_er')
  assert code == 0, err
  rows = json.loads(path.read_text())['graphs']
  assert [(x['graphs'], x['size']) for x in rows] == [
      ('tree', 6), ('tree', 2100), ('sparse_er', 6), ('sparse_er', 2100)]
  for row in rows:
    assert row['samples'] == 2 and row['steps_max'] == 4
    assert row['converged'] == 0 and 0 < row['confidence'] <= 1
    assert row['score'] * row['size'] >= 1  # a source points to itself
  code, _, err = command(*line, '--sizes=2100', '--graphs=er')
  assert code == 1 and 'choose from sparse_er' in err
