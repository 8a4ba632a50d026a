# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Several hosts that train one model: two processes on this machine."""

import json
import os
import pathlib
import socket
import subprocess
import sys
import time

from dear_jax.data import samplers
from dear_jax.training import checkpoints
from dear_jax.training import cluster
from dear_jax.training import host_flags
from dear_jax.training import loop
import jax
import numpy as np
import pytest
from tests import commands
from tests.training import host_worker

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORKER = ROOT / 'tests' / 'training' / 'host_worker.py'


@pytest.mark.parametrize('flags, message', [
    (['--host=1'], '--host needs --coordinator, --num_hosts too'),
    (['--coordinator=a:1', '--host=0'], 'needs --num_hosts too'),
    (['--coordinator=a', '--num_hosts=2', '--host=0'], "HOST:PORT, got 'a'"),
    (['--coordinator=a:99999', '--num_hosts=2', '--host=0'], 'HOST:PORT'),
    (['--coordinator=a:1', '--num_hosts=2', '--host=2'],
     '--host must be from 0 to 1 with --num_hosts=2, got 2'),
    (['--coordinator=a:1', '--num_hosts=2', '--host=-1'], 'got -1'),
    (['--coordinator=a:1', '--num_hosts=0', '--host=0'], 'at least 1, got 0'),
    (['--distributed', '--host=0'], '--distributed finds out by itself'),
    (['--coordinator=a:1', '--num_hosts=3', '--host=0', '--batch_size=32'],
     'batch_size=32 cannot be shared evenly by 3 hosts'),
])
def test_wrong_flags_are_one_sentence(flags, message):
  code, _, err = commands.Command('run.py')('--algorithm=bfs', *flags)
  assert code == 2 and message in err
  assert len(err.strip().splitlines()) == 1


def test_a_port_that_is_taken_is_one_sentence():
  with socket.socket() as taken:
    taken.bind(('', 0))
    taken.listen()
    port = taken.getsockname()[1]
    code, _, err = commands.Command('run.py')(
        '--algorithm=bfs', f'--coordinator=localhost:{port}', '--num_hosts=2',
        '--host=0')
  assert code == 2 and f'port {port} is not free on this host' in err
  assert len(err.strip().splitlines()) == 1


def test_right_flags():
  host_flags.check(None, None, None)
  host_flags.check(None, None, None, distributed=True)
  host_flags.check('localhost:1234', 2, 1)
  host_flags.check_batch(32, None)
  host_flags.check_batch(32, 4)


@pytest.mark.parametrize('num_samples', [None, 12])
def test_hosts_draw_parts_of_one_stream(num_samples):
  def make(rows=slice(None)):
    sampler = samplers.make_sampler(
        'bfs', size=(4, 9), batch_size=6, seed=3, split='train',
        num_samples=num_samples)
    sampler.keep_rows(rows)
    return sampler
  parts = [make(slice(i, i + 2)) for i in (0, 2, 4)]
  for index in (0, 1, 5):
    whole = make().batch(index)
    drawn = [part.batch(index) for part in parts]
    jax.tree_util.tree_map(
        lambda x, *rows: np.testing.assert_array_equal(
            x, np.concatenate(rows)),
        *[(x.features.inputs, x.outputs) for x in (whole, *drawn)])


def test_one_host_asks_nobody(tmp_path):
  assert cluster.count() == 1 and cluster.is_first()
  assert cluster.from_first(lambda: 3) == 3
  asked = cluster.AnyHost()
  assert asked(True) and not asked(False)
  with cluster.folder_of(tmp_path) as folder:
    assert folder == str(tmp_path)


def _free_port():
  with socket.socket() as s:
    s.bind(('localhost', 0))
    return s.getsockname()[1]


@pytest.fixture(name='hosts', scope='module')
def _hosts(tmp_path_factory):
  """Two hosts with two devices each; one kills itself in the end."""
  folder = tmp_path_factory.mktemp('hosts')
  env = dict(
      os.environ, PYTHONPATH=str(ROOT), JAX_ENABLE_X64='1',
      XLA_FLAGS=os.environ['XLA_FLAGS']
      + ' --xla_force_host_platform_device_count=2')
  port, processes = _free_port(), []
  for host in range(2):
    with open(folder / f'err_{host}', 'w') as err:
      processes.append(subprocess.Popen(
          [sys.executable, str(WORKER), str(host), '2', str(port),
           str(folder)], env=env, stdout=subprocess.DEVNULL, stderr=err))
  try:
    assert processes[1].wait(timeout=900) == -9, (
        (folder / 'err_1').read_text()[-3000:])
    began = time.monotonic()
    code = processes[0].wait(timeout=60)
  finally:
    for process in processes:
      process.kill()
  return dict(folder=folder, code=code, seconds=time.monotonic() - began,
              said=[json.loads((folder / f'said_{i}.json').read_text())
                    for i in range(2)])


def losses_of(folder):
  lines = map(json.loads, (folder / 'metrics.jsonl').read_text().splitlines())
  return [x['loss'] for x in lines if x['split'] == 'train']


def params_of(folder, step=None):
  with checkpoints.Checkpoints(folder) as saved:
    step = step or saved.latest_step
    arrays, _ = checkpoints._load(saved._latest, step, None)  # pylint:disable=protected-access
  return step, arrays['params']


def train_here(task, folder, upto, resume=False):
  """On one device of this process."""
  # For all threads: programs are compiled in others, too.
  jax.config.update('jax_enable_x64', True)
  try:
    loop.train(host_worker.config(task), folder, resume=resume,
               should_stop=lambda step: step == upto)
  finally:
    jax.config.update('jax_enable_x64', False)


def assert_same_training(folder, other, step):
  """Losses to 1e-5, and parameters of a step to 1e-4."""
  losses = [losses_of(x)[:step] for x in (folder, other)]
  assert len(losses[0]) == len(losses[1]) == step
  np.testing.assert_allclose(*losses, rtol=1e-5)
  jax.tree_util.tree_map(
      lambda x, y: np.testing.assert_allclose(x, y, rtol=0, atol=1e-4),
      *[params_of(x, step)[1] for x in (folder, other)])


def test_two_hosts_train_as_one_device_does(hosts, tmp_path):
  """Lists of edges: every device has those of its graphs."""
  train_here('bfs', tmp_path / 'one', host_worker.STOPPED)
  assert_same_training(hosts['folder'] / 'bfs', tmp_path / 'one',
                       host_worker.STOPPED)


def test_all_hosts_say_the_same(hosts):
  first, second = hosts['said']
  for said in hosts['said']:
    assert said['result'].pop('seconds') > 0
  assert first == second
  assert first['devices'] == 4 and first['hosts'] == 2
  assert first['result']['workdir'] == str(hosts['folder'] / 'bfs')
  stored = json.loads((hosts['folder'] / 'bfs' / 'result.json').read_text())
  assert stored['test_score'] == first['result']['test_score']


def test_a_signal_at_one_host_stops_all_after_the_same_step(hosts):
  for said in hosts['said']:
    assert said['stopped'] == host_worker.STOPPED
  assert params_of(hosts['folder'] / 'bfs')[0] == host_worker.STOPPED


def test_others_stop_when_a_host_dies(hosts):
  assert hosts['code'] not in (0, None) and hosts['seconds'] < 60
  err = (hosts['folder'] / 'err_0').read_text()
  assert err.strip().splitlines()[-1].endswith(cluster.LOST)
  assert 'Traceback' not in err


def test_one_process_goes_on_with_what_two_have_saved(hosts, tmp_path):
  folder, whole = hosts['folder'] / 'insertion_sort', tmp_path / 'whole'
  upto = host_worker.SAVED + 4
  assert params_of(folder)[0] == host_worker.SAVED
  train_here('insertion_sort', whole, upto)
  assert_same_training(folder, whole, host_worker.SAVED)
  before = losses_of(folder)[:host_worker.SAVED]
  train_here('insertion_sort', folder, upto, resume=True)
  assert losses_of(folder)[:host_worker.SAVED] == before
  assert_same_training(folder, whole, upto)
