# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of experiments/run.py, in this process and as a program."""

import dataclasses
import importlib.util
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

from absl import flags
from absl.testing import flagsaver
from dear_jax.training import checkpoints
from dear_jax.training import configs
from dear_jax.training import loop
import jax
import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / 'experiments' / 'run.py'

TINY = ('--batch_size=2', '--hidden_size=8', '--train_lengths=4',
        '--val_size=4', '--test_size=4', '--val_samples=4',
        '--test_samples=4', '--eval_every=4', '--log_every=1')


@pytest.fixture(name='run', scope='module')
def _run():
  sys.path.insert(0, str(SCRIPT.parent))  # as when it is run as a program
  spec = importlib.util.spec_from_file_location('run_script', SCRIPT)
  module = importlib.util.module_from_spec(spec)
  spec.loader.exec_module(module)
  return module


def call(run, *args):
  """Runs the script's main in this process, as `app.run` would."""
  with flagsaver.flagsaver():
    run.main(run.parse_flags(['run.py', *args]))


def config_of(run, *args):
  with flagsaver.flagsaver():
    run.parse_flags(['run.py', *args])
    return run.make_config()


def test_every_setting_is_a_flag(run):
  del run
  for name, setting in configs.SETTINGS.items():
    flag = flags.FLAGS[setting.flag]
    assert flag.default is None
    assert setting.meaning in flag.help
    # What --help calls the default is read as the default.
    shown = re.search(r'default: (.*)\)$', flag.help).group(1)
    if shown != 'none':
      assert setting.read(flag.parser.parse(shown)) == getattr(
          configs.TrainConfig(), name)
  assert flags.FLAGS['tol'].help.endswith('(more than 0; default: 0.1)')


def test_no_flags_is_the_default_preset(run):
  assert config_of(run) == configs.TrainConfig()
  assert config_of(run, '--preset=paper') == configs.PRESETS['paper']


def test_flags_override_the_preset(run):
  config = config_of(run, '--preset=quick', '--algorithm=bfs, dfs',
                     '--train_lengths=8..12', '--nouse_ln', '--tol=0.01',
                     '--restrict_pointers=false')
  assert config.train_steps == configs.PRESETS['quick'].train_steps
  assert config.algorithms == ('bfs', 'dfs')
  assert config.train_sizes == (8, 12)
  assert not config.use_ln
  assert config.tol == 0.01
  assert config.restrict_pointers == 'false'


def test_the_best_settings_depend_on_the_task(run):
  best = config_of(run, '--preset=best', '--algorithm=bfs')
  assert (best.scalars, best.self_loops) == ('units', False)
  assert best == dataclasses.replace(configs.PRESETS['best'],
                                     test_criterion='node')
  array = config_of(run, '--preset=best', '--algorithm=minimum')
  assert array.test_criterion == 'same'
  for algorithm in ('mst_prim', 'bfs,dijkstra'):
    weighted = config_of(run, '--preset=best', f'--algorithm={algorithm}')
    assert (weighted.scalars, weighted.self_loops) == ('relative_units', False)
  pairs = config_of(run, '--preset=best', '--algorithm=floyd_warshall')
  assert (pairs.processor, pairs.edge_pointers, pairs.scalars) == (
      'dear_edge', 'triplet', 'differences')
  both = config_of(run, '--preset=best', '--algorithm=bfs,floyd_warshall')
  assert both.processor == 'dear_edge'
  own = config_of(run, '--preset=best', '--algorithm=floyd_warshall',
                  '--processor=dear_pgn', '--scalars=linear')
  assert (own.processor, own.edge_pointers, own.scalars) == (
      'dear_pgn', 'triplet', 'linear')
  with pytest.raises(ValueError, match='for model=dear, got nar'):
    config_of(run, '--preset=best', '--model=nar')
  with pytest.raises(ValueError, match="'bsf'"):
    config_of(run, '--preset=best', '--algorithm=bsf')


def test_gradients(run):
  assert config_of(run, '--gradient=damped') == configs.TrainConfig()
  exact = config_of(run, '--gradient=implicit')
  assert exact.backward_solver().max_iter == exact.max_iter == 40
  damped = config_of(run, '--preset=paper', '--gradient=damped',
                     '--backward_max_iter=20')
  assert (damped.backward_decay, damped.backward_max_iter) == (0.6, 20)


def test_names_of_clrs_work_too(run):
  config = config_of(run, '--algorithms=dfs', '--processor_type=dear_mpnn')
  assert (config.algorithms, config.processor) == (('dfs',), 'dear_mpnn')


@pytest.mark.parametrize('args, message', [
    (['--algorithm=bsf'], "'bsf' (did you mean 'bfs'?)"),
    (['--processor=dear_pgm'], "'dear_pgm' (did you mean 'dear_pgn'?)"),
    (['--algoritm=bfs'], "Unknown command line flag 'algoritm'"),
    (['--train_steps=many'], '--train_steps=many'),
    (['--train_lengths=big'], "got 'big'"),
    (['--preset=fast'], "'fast': choose from quick, default, best, gas"),
    (['--preset=gas'], 'preset=gas needs --align_to'),
    (['--align_weight=1'], 'align_weight=1.0 needs --align_to, the folder of'),
    (['--cgp', '--algorithm=minimum'], 'minimum has none'),
    (['--graphs=paths'], "did you mean 'path'?"),
    (['--graphs=mixed', '--algorithm=minimum'],
     'graphs=mixed is not for minimum'),
    (['--restrict_pointers=ture'], "did you mean 'true'?"),
    (['--algorithm=minimum', '--restrict_pointers=true'], 'minimum do not'),
    (['--norm=batch'], "Unknown norm 'batch': choose from layer, granola"),
    (['--norm=granola', '--processor=dear_gat'], "not for 'dear_gat'"),
    (['--model=nars'], "'nars' (did you mean 'nar'?)"),
    (['--processor=pgn'], "did you mean 'dear_pgn'?"),
    (['--test_steps=64'], 'test_steps=64 needs model=nar'),
    (['--model=nar', '--tol=0.5'], 'tol is of no use with model=nar'),
    (['--model=nar', '--gradient=implicit'], 'gradient is of no use with'),
    (['--model=nar', '--test_criterion=node'], 'which solves nothing'),
    (['--edge_pointers=triplet'], 'such as floyd_warshall, not for bfs'),
    (['--model=nar', '--test_steps=0'], 'got 0'),
    (['--align_to=nowhere'], 'align_to=nowhere is not a folder'),
    (['--init_from=nowhere'], 'init_from=nowhere is not a folder'),
    (['--solver=newton'], "'newton'"),
    (['--gradient=implicit', '--backward_decay=0.6'],
     'backward_decay is a setting of gradient=damped; gradient=implicit'),
    (['--preset=quick', '--backward_bound=2'],
     'backward_bound=2.0 is a setting of gradient=damped; gradient=one_step'),
    (['bfs'], "unexpected argument 'bfs'"),
    (['--resume'], '--resume needs the --workdir'),
    (['--resume', '--workdir=nowhere'], 'nowhere is not a run folder'),
    (['--data_cache=/dev/null/x'], '/dev/null/x cannot be used'),
    (['--algorithm=heapsort', '--train_lengths=3'], 'at least 4 for heapsort'),
    (['--processor=dear_mean'], '--import=FILE'),
    (['--algorithm=nearest'], '--import=FILE'),
    (['--import=nowhere.py'], '--import=nowhere.py: there is no such file.'),
    (['--import=nowhere'], '--import=nowhere: there is no module of this name'),
    (['--import=nowhere.at_all'], 'there is no module of this name'),
    (['--import', os.path.join(os.path.dirname(__file__), 'json.py')],
     'json.py: there is no such file'),
])
def test_a_mistake_is_answered_in_one_line(run, args, message, capfd, tmp_path,
                                           monkeypatch):
  monkeypatch.chdir(tmp_path)
  with pytest.raises(SystemExit) as stop:
    call(run, *args)
  assert stop.value.code == 2
  out, err = capfd.readouterr()
  assert not out
  assert err.count('\n') == 1 and message in err
  assert not list(tmp_path.iterdir())


def test_trains_and_ends_with_one_line_of_json(run, capfd, tmp_path,
                                               monkeypatch):
  monkeypatch.chdir(tmp_path)
  call(run, *TINY, '--train_steps=4')
  out, err = capfd.readouterr()
  assert out.count('\n') == 1
  result = json.loads(out)
  assert {'val_score', 'test_score', 'test_size', 'best_step'} <= set(result)
  assert result['workdir'].startswith('runs/bfs_dear_pgn_seed42_')
  assert 'compiling the training step of bfs' in err
  assert 'validation loss' in err
  # The folder of a finished run knows its settings.
  call(run, f'--workdir={result["workdir"]}', '--resume')
  again = json.loads(capfd.readouterr().out)
  assert again['test_score'] == result['test_score']
  with pytest.raises(SystemExit):
    call(run, *TINY, f'--workdir={result["workdir"]}')
  assert 'already holds a run' in capfd.readouterr().err


@pytest.mark.parametrize('args, status', [
    (['--help'], 1), (['--algoritm=bfs'], 2), (['--algorithm=bsf'], 2),
    (['--processor=dear_pgm'], 2), (['--tol=0'], 2)])
def test_help_and_mistakes_do_not_wait_for_libraries(args, status):
  """Which take seconds to import."""
  done = subprocess.run(
      [sys.executable, '-X', 'importtime', str(SCRIPT), *args], text=True,
      env=dict(os.environ, PYTHONPATH=str(ROOT)), capture_output=True)
  assert done.returncode == status, done.stderr
  imported = set(re.findall(r'\| +(\w+)$', done.stderr, re.MULTILINE))
  assert 'dear_jax' in imported
  assert not imported & {'clrs', 'haiku', 'jax', 'numpy', 'tensorflow'}


def start(*args):
  env = dict(os.environ, PYTHONPATH=str(ROOT), JAX_PLATFORMS='cpu')
  return subprocess.Popen(
      [sys.executable, str(SCRIPT), *args], env=env, text=True,
      stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def wait_for_step(process, workdir, step):
  """Waits until a run has a checkpoint of `step` or a later one."""
  folder = workdir / 'checkpoints' / 'latest'
  deadline = time.monotonic() + 300
  while time.monotonic() < deadline:
    assert process.poll() is None, process.communicate()
    if folder.is_dir() and any(path.name.isdigit() and int(path.name) >= step
                               for path in folder.iterdir()):
      return
    time.sleep(0.05)
  raise AssertionError(f'No checkpoint of step {step} in 300 s.')


def test_killed_stopped_and_resumed_is_bit_for_bit_the_same(tmp_path):
  workdir = tmp_path / 'killed'
  process = start(*TINY, '--train_steps=100000', '--checkpoint_every=3',
                  f'--workdir={workdir}')
  wait_for_step(process, workdir, 6)
  again = start(f'--workdir={workdir}', '--resume')
  _, err = again.communicate(timeout=120)
  assert again.returncode == 2, err
  assert err.count('\n') == 1
  assert f'{workdir} is in use by process {process.pid} on ' in err
  process.kill()
  process.communicate()
  assert (workdir / 'run.lock').exists()  # and is in nobody's way
  with checkpoints.Checkpoints(workdir) as saved:
    killed_at = saved.latest_step
  assert killed_at >= 6 and killed_at % 3 == 0

  process = start(f'--workdir={workdir}', '--resume')
  wait_for_step(process, workdir, killed_at + 3)
  process.send_signal(signal.SIGTERM)
  out, err = process.communicate(timeout=120)
  assert process.returncode == 0, err
  stopped = json.loads(out)
  assert stopped['interrupted'] and stopped['step'] > killed_at
  assert not (workdir / 'run.lock').exists()
  assert f'--workdir={workdir} --resume' in err.splitlines()[-1]
  assert f'Resuming at step {killed_at}.' in err

  steps = stopped['step'] + 2
  config = configs.load_config(workdir)
  assert config.train_steps == 100000
  config = configs.TrainConfig(
      **{**config.__dict__, 'train_steps': steps, 'checkpoint_every': 1000})
  resumed = loop.train(config, workdir, resume=True)
  whole = loop.train(config, tmp_path / 'whole')
  for result in (resumed, whole):
    del result['seconds'], result['workdir']
  assert resumed == whole
  assert ((workdir / 'metrics.jsonl').read_text()
          == (tmp_path / 'whole' / 'metrics.jsonl').read_text())
  jax.tree_util.tree_map(
      np.testing.assert_array_equal, checkpoints.load_kept(workdir),
      checkpoints.load_kept(tmp_path / 'whole'))
