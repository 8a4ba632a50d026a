# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of experiments/reproduce.py."""

import json
import os
import pathlib
import subprocess
import sys
import time

from dear_jax.training import campaigns
from experiments import campaign as declared
import pytest
from tests import commands
from tests import run_folders

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / 'experiments' / 'reproduce.py'

TINY = '''
from dear_jax.training import campaigns
RUNS = campaigns.rows(
    'dear', ('minimum',), batch_size=2, hidden_size=8, train_lengths='4',
    val_size=4, test_size=4, val_samples=4, test_samples=4, eval_every=50,
    log_every=1, checkpoint_every=3, train_steps=%d)
SIZES = (4,)
'''


@pytest.fixture(name='reproduce', scope='module')
def _reproduce():
  return commands.Command('reproduce.py')


def test_the_list():
  entries = declared.RUNS
  campaigns.check(entries)
  count = lambda group: sum(x.group == group for x in entries)
  assert {x.group: count(x.group) for x in entries} == {
      'trust': 22, 'plain': 22, 'dear': 33, 'best': 22, 'parts': 54,
      'long': 33, 'paper': 11, 'nar': 11, 'variants': 13}
  # Of every seed that a shorter run has.
  continued = {x.name: x.continues for x in entries if x.continues}
  assert len(continued) == 3 * 22
  assert continued['dear_bfs_seed2'] == 'plain_bfs_seed2'
  assert 'long_bfs_seed3' not in continued
  configs = {x.name: x.config('runs') for x in entries}
  assert configs['dear_bfs_seed3'].train_steps == 10_000
  assert configs['trust_dfs_seed2'].train_steps == 2_000
  assert configs['best_floyd_warshall_seed1'].processor == 'dear_edge'
  assert configs['best_bfs_seed1'].scalars == 'units'
  assert configs['best_mst_prim_seed1'].scalars == 'relative_units'
  assert configs['paper_bfs_seed1'].gradient == 'implicit'
  assert configs['paper_bfs_seed1'].train_steps == 10_000
  assert {x.task for x in entries if x.group == 'nar'
          and configs[x.name].train_steps == 2_000} == {
              'floyd_warshall', 'dag_shortest_paths', 'dfs',
              'strongly_connected_components_local'}
  gas = configs['gas_mst_prim_seed1']
  assert gas.align_to == os.path.join('runs', 'nar_mst_prim_seed1')
  assert configs['nar_mst_prim_seed1'].model == 'nar'
  assert (gas.norm, gas.train_steps) == ('granola', 5_000)
  assert configs['nar_learned_bfs_seed1'].test_steps == 'learned'
  assert configs['cgp_dfs_seed1'].cgp
  assert configs['triplet_dfs_seed1'].processor == 'dear_triplet_mpnn'


def test_dry_run(reproduce, tmp_path):
  runs = tmp_path / 'runs'
  run_folders.write(runs / 'dear_bfs_seed1', lines=1000, algorithms=('bfs',),
                    seed=1)
  result = json.loads((runs / 'dear_bfs_seed1' / 'result.json').read_text())
  (runs / 'dear_bfs_seed1' / 'result.json').write_text(
      json.dumps({**result, 'steps': 10_000}))
  (runs / 'dear_bfs_seed1' / 'checkpoints' / 'latest' / '10000').mkdir(
      parents=True)
  before = sorted(tmp_path.rglob('*'))
  code, out, err = reproduce('--dry_run', f'--runs={runs}',
                             f'--docs={tmp_path / "docs"}',
                             '--only=dear_bfs_*,gas_mst_prim_seed1')
  assert code == 0, err
  rows = [line.split(' | ') for line in out.splitlines()[2:]
          if line.startswith('|')]
  assert [row[0] for row in rows] == [
      f'| {name}' for name in (
          'dear_bfs_seed1', 'dear_bfs_seed2', 'dear_bfs_seed3',
          'nar_mst_prim_seed1', 'gas_mst_prim_seed1')]
  assert rows[0][2:] == ['10000/10000', 'done |']
  assert rows[1][2:] == ['0/10000', 'not begun |']
  assert '1 of 5 runs done, 0 running, 4 left, about ' in out
  assert sorted(tmp_path.rglob('*')) == before
  files = tmp_path / 'docs' / 'results' / 'runs'
  files.mkdir(parents=True)
  entry, = campaigns.choose(declared.RUNS, 'dear_bfs_seed2')
  (files / 'dear_bfs_seed2.json').write_text(
      json.dumps({'command': entry.command()}))
  code, out, err = reproduce('--dry_run', '--missing', f'--runs={runs}',
                             f'--docs={tmp_path / "docs"}',
                             '--only=dear_bfs_*')
  assert code == 0 and 'dear_bfs_seed3' in out, err
  assert 'dear_bfs_seed2' not in out


@pytest.mark.parametrize('args, message', [
    (['--only=bsf'], "did you mean 'bfs'?"),
    (['--budget=long'], "--budget must be a time such as 2h, 90m or 30s, got "
     "'long'."),
    (['--budget=0s'], '--budget must be a time'),
    (['--budget='], '--budget must be a time'),
    (['--jobs=0'], '--jobs=0'),
    (['--jobs=two'], '--jobs=two'),
    (['--campaign=nowhere.py'], '--campaign=nowhere.py: there is no such'),
    (['--campaign=wrong.py', '--collect'], "Unknown algorithm 'bsf'"),
    (['--campaign=wrong.py'], "Unknown algorithm 'bsf'"),
    (['--campaign=empty.py'], "no attribute 'RUNS'"),
    (['--colect'], "Unknown command line flag 'colect'"),
    (['bfs'], "unexpected argument 'bfs'"),
])
def test_a_mistake_is_answered_in_one_line(reproduce, args, message, tmp_path,
                                           monkeypatch):
  monkeypatch.chdir(tmp_path)
  (tmp_path / 'wrong.py').write_text(TINY.replace('minimum', 'bsf') % 3)
  (tmp_path / 'empty.py').write_text('')
  before = sorted(tmp_path.rglob('*'))
  code, out, err = reproduce(*args, '--docs=docs')
  assert code == 2, err
  assert not out and err.count('\n') == 1 and message in err
  assert sorted(tmp_path.rglob('*')) == before


def test_a_mistake_in_a_campaign_is_told_by_a_process_of_its_own(tmp_path):
  """Where libraries are kept from writing to stderr, so is anything else."""
  done = subprocess.run(
      [sys.executable, SCRIPT, '--campaign=nowhere.py', '--dry_run'],
      cwd=tmp_path, capture_output=True, text=True, check=False)
  assert done.returncode == 2
  assert done.stderr == ('reproduce.py: --campaign=nowhere.py: there is no '
                         'such Python file.\n')


@pytest.mark.parametrize('text, seconds', [
    ('2h', 7200), ('90m', 5400), ('30s', 30), ('1h30m', 5400), ('0.5h', 1800)])
def test_budgets(reproduce, text, seconds):
  assert reproduce.scope['read_budget'](text) == seconds


def test_collect_reads_only_what_is_over_and_as_declared(reproduce, tmp_path):
  (tmp_path / 'campaign.py').write_text('''
from dear_jax.training import campaigns
RUNS = campaigns.rows('dear', ('bfs', 'dfs', 'minimum'), train_steps=600)
SIZES = (4,)
''')
  for task, settings in (('bfs', {}), ('dfs', dict(is_over=False)),
                         ('minimum', dict(hidden_size=64))):
    folder = tmp_path / 'runs' / f'dear_{task}_seed1'
    run_folders.write(folder, algorithms=(task,), seed=1,
                      **{'train_steps': 600, **settings})
    (folder / 'checkpoints' / 'latest' / '600').mkdir(parents=True)
    if task != 'dfs':
      result = json.loads((folder / 'result.json').read_text())
      (folder / 'result.json').write_text(json.dumps({**result, 'steps': 600}))
  code, _, err = reproduce(
      '--collect', f'--campaign={tmp_path / "campaign.py"}',
      f'--runs={tmp_path / "runs"}', f'--docs={tmp_path / "docs"}')
  assert code == 0, err
  assert 'Collected 1 of 3 runs' in err
  assert 'dear_minimum_seed1 is left out: ' in err and 'hidden_size=64' in err
  assert [x.name for x in (tmp_path / 'docs/results/runs').iterdir()] == [
      'dear_bfs_seed1.json']
  page = (tmp_path / 'docs' / 'results.md').read_text()
  assert '1 of 3 runs are there.' in page
  assert '| `dfs` | 40.62 ± 0.44 | not run yet |' in page


def test_what_is_collected_is_counted(reproduce, tmp_path):
  (tmp_path / 'campaign.py').write_text(TINY % 600)
  folder = tmp_path / 'runs' / 'dear_minimum_seed1'
  args = ['--collect', f'--campaign={tmp_path / "campaign.py"}',
          f'--runs={tmp_path / "runs"}', f'--docs={tmp_path / "docs"}']
  folder.parent.mkdir()
  folder.write_text('no folder')
  code, _, err = reproduce(*args)
  assert code == 0 and 'Collected 0 of 1 runs' in err
  assert 'is a file, not the folder of a run' in err


def test_killed_and_given_again(tmp_path):
  """With a real run, which goes on from where it was."""
  runs, docs = tmp_path / 'runs', tmp_path / 'docs'
  file = tmp_path / 'campaign.py'
  args = [sys.executable, str(SCRIPT), f'--campaign={file}', f'--runs={runs}',
          f'--docs={docs}']
  env = dict(os.environ, PYTHONPATH=str(ROOT), JAX_PLATFORMS='cpu')
  file.write_text(TINY % 100_000)
  process = subprocess.Popen(args, env=env, stderr=subprocess.PIPE, text=True)
  entry, = campaigns.rows('dear', ('minimum',))
  latest = runs / entry.name / 'checkpoints' / 'latest'
  deadline = time.monotonic() + 300
  def steps():
    return [int(x.name) for x in latest.iterdir() if x.name.isdigit()] if (
        latest.is_dir()) else []
  while max(steps(), default=0) < 6:
    assert process.poll() is None, process.communicate()
    assert time.monotonic() < deadline
    time.sleep(0.05)
  process.kill()
  process.communicate()
  # Its run saves and stops by itself, or at once where nobody tells it.
  done = subprocess.run([*args, '--budget=1s'], env=env, text=True,
                        capture_output=True, timeout=300)
  assert done.returncode == 0, done.stderr
  assert 'The same command goes on.' in done.stderr
  reached = max(steps())
  # The end of a run is a setting that can change; here it is soon.
  total = reached + 30
  file.write_text(TINY % total)
  config = json.loads((runs / entry.name / 'config.json').read_text())
  config['config']['train_steps'] = total
  (runs / entry.name / 'config.json').write_text(json.dumps(config))
  done = subprocess.run(args, env=env, text=True, capture_output=True,
                        timeout=300)
  assert done.returncode == 0, done.stderr
  log = (runs / f'{entry.name}.log').read_text()
  assert f'Resuming at step {reached}.' in log
  found = json.loads(
      (docs / 'results' / 'runs' / f'{entry.name}.json').read_text())
  assert found['result']['steps'] == total
  assert found['train_loss']['steps'][-1] == total
  assert found['steps_a_second']['first'] > 0
  assert str(tmp_path) not in json.dumps(found)
  assert '| `minimum` | 97.22 ± 3.82 | ' in (docs / 'results.md').read_text()
