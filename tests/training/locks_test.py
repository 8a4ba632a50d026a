# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the lock of a run folder."""

import json
import os
import signal
import subprocess
import sys
import threading

from dear_jax.training import checkpoints
from dear_jax.training import locks
import pytest

# Holds the lock until it is told to end, or for ever.
_HOLDER = '''
import sys
from dear_jax.training import locks
with locks.hold(sys.argv[1]):
  print('held', flush=True)
  sys.stdin.read()
'''


def hold_elsewhere(folder):
  process = subprocess.Popen(
      [sys.executable, '-c', _HOLDER, str(folder)], text=True,
      stdin=subprocess.PIPE, stdout=subprocess.PIPE)
  assert process.stdout.readline() == 'held\n'
  return process


def assert_refused(folder, *parts):
  with pytest.raises(checkpoints.RunError) as info:
    with locks.hold(folder):
      pass
  text = str(info.value)
  assert '\n' not in text and text.endswith('.')
  for part in parts:
    assert part in text, text


def change(path, **values):
  path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def owned_by(folder, **values):
  """Writes a lock as this process would, except for some values."""
  with locks.hold(folder):
    text = (folder / locks.NAME).read_text()
  (folder / locks.NAME).write_text(text)
  change(folder / locks.NAME, **values)


def test_is_held_and_released(tmp_path):
  with locks.hold(tmp_path):
    owner = json.loads((tmp_path / locks.NAME).read_text())
    assert owner['pid'] == os.getpid()
    assert_refused(tmp_path, f'in use by process {os.getpid()} on ',
                   owner['host'], owner['since'], '--workdir')
  assert not list(tmp_path.iterdir())
  with pytest.raises(KeyError):
    with locks.hold(tmp_path):
      raise KeyError
  assert not list(tmp_path.iterdir())


def test_another_process(tmp_path):
  with hold_elsewhere(tmp_path) as process:
    assert_refused(tmp_path, f'in use by process {process.pid} on ')
    process.communicate('')
  with locks.hold(tmp_path):
    pass
  with hold_elsewhere(tmp_path) as process:
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert (tmp_path / locks.NAME).exists()
    # Nothing has to be cleaned up by hand.
    with locks.hold(tmp_path):
      owner = json.loads((tmp_path / locks.NAME).read_text())
      assert owner['pid'] == os.getpid()
  assert not list(tmp_path.iterdir())


def test_another_host(tmp_path):
  owned_by(tmp_path, host='elsewhere', boot='another', pid=7)
  assert_refused(tmp_path, 'process 7 on elsewhere',
                 f'delete {tmp_path / locks.NAME}')
  (tmp_path / locks.NAME).unlink()
  with locks.hold(tmp_path):
    pass


def test_this_host_after_it_was_started_anew(tmp_path):
  owned_by(tmp_path, boot='another')
  with locks.hold(tmp_path):
    pass


@pytest.mark.parametrize('content', ['', '{"pid"', '3'])
def test_a_lock_without_an_owner_is_taken_after_a_while(tmp_path, content,
                                                        monkeypatch):
  monkeypatch.setattr(locks, '_PAUSE', 0.001)
  (tmp_path / locks.NAME).write_text(content)
  with locks.hold(tmp_path):
    pass
  assert not list(tmp_path.iterdir())


class TestWithoutLocksOfTheSystem:
  """As on some network file systems: the process is looked up instead."""

  @pytest.fixture(autouse=True)
  def _no_flock(self, monkeypatch):
    def flock(*unused_args):
      raise OSError(38, 'Function not implemented')
    monkeypatch.setattr(locks.fcntl, 'flock', flock)

  def test_alive(self, tmp_path):
    with locks.hold(tmp_path):
      assert_refused(tmp_path, 'in use by process')
    assert not list(tmp_path.iterdir())

  def test_dead(self, tmp_path):
    dead = subprocess.Popen([sys.executable, '-c', ''])
    dead.wait()
    owned_by(tmp_path, pid=dead.pid, started='1')
    with locks.hold(tmp_path):
      pass

  def test_another_process_with_its_number(self, tmp_path):
    owned_by(tmp_path, pid=os.getppid(), started='not then')
    with locks.hold(tmp_path):
      pass

  def test_another_container(self, tmp_path):
    owned_by(tmp_path, host='container')
    assert_refused(tmp_path, 'on container')


def test_one_of_many_gets_it(tmp_path):
  held, refused = [], []
  start = threading.Barrier(8)
  done = threading.Barrier(8)
  def work():
    start.wait()
    try:
      with locks.hold(tmp_path):
        held.append(1)
        done.wait()
    except checkpoints.RunError:
      refused.append(1)
      done.wait()
  threads = [threading.Thread(target=work) for _ in range(8)]
  for thread in threads:
    thread.start()
  for thread in threads:
    thread.join()
  assert len(held) == 1 and len(refused) == 7


def test_the_lock_of_someone_else_is_not_removed(tmp_path):
  with locks.hold(tmp_path):
    (tmp_path / locks.NAME).unlink()  # by hand
    (tmp_path / locks.NAME).write_text('theirs')
  assert (tmp_path / locks.NAME).read_text() == 'theirs'


def test_a_folder_that_cannot_be_written_to(tmp_path):
  assert_refused(tmp_path / 'nowhere', 'nowhere cannot be written to (No such')
