# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Faults of the machine: kills, full and read-only disks, damaged files.

Nothing is lost before the last good save, and whoever asks for what is not
there is told so in one sentence.
"""

import contextlib
import errno
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys

from dear_jax import reports
from dear_jax.data import data_cache
from dear_jax.training import checkpoints
from dear_jax.training import configs
from dear_jax.training import locks
from dear_jax.training import run_folder
import jax
import numpy as np
import pytest
from tests import commands
from tests import scripted
from tests.training import checkpoints_test

# Events of Python by which a folder is changed, but for `open`.
_CHANGES = ('os.mkdir', 'os.remove', 'os.rename', 'os.rmdir', 'os.truncate')


def changes(folder, event, args):
  """Whether an event of `sys.addaudithook` changes something in a folder."""
  if event == 'open':
    path, mode, flags = args
    if not (isinstance(mode, str) and set(mode) & set('wax+')
            or isinstance(flags, int) and flags & (
                os.O_WRONLY | os.O_RDWR | os.O_CREAT)):
      return False
  elif event in _CHANGES:
    path = args[0]
  else:
    return False
  return isinstance(path, (str, os.PathLike)) and os.fspath(path).startswith(
      str(folder))


class _Failing:
  """Makes every change in a folder fail, also for a superuser."""

  def __init__(self):
    self.folder = self.code = None
    sys.addaudithook(self._hook)  # for good, so there is only one

  def _hook(self, event, args):
    if self.folder is not None and changes(self.folder, event, args):
      raise OSError(self.code, os.strerror(self.code), str(args[0]))

  @contextlib.contextmanager
  def __call__(self, folder, code):
    self.folder, self.code = folder, code
    try:
      yield
    finally:
      self.folder = None


@pytest.fixture(name='failing', scope='module')
def _failing():
  return _Failing()


@pytest.fixture(name='script')
def _script(monkeypatch):
  return scripted.install(monkeypatch)


@pytest.fixture(name='finished', scope='module')
def _finished(tmp_path_factory):
  """The folder of a run that is over."""
  folder = tmp_path_factory.mktemp('runs') / 'finished'
  with pytest.MonkeyPatch.context() as monkeypatch:
    scripted.install(monkeypatch)
    scripted.train(folder)
  return folder


@pytest.fixture(name='run')
def _run(finished, tmp_path):
  """A copy of it."""
  return pathlib.Path(shutil.copytree(finished, tmp_path / 'run'))


def message_of(error):
  text = str(error.value)
  assert '\n' not in text and text.endswith('.') and len(text) < 500, text
  return text


def assert_same_run(folder, other):
  """Same metrics, same parameters, same end."""
  for name in ('latest', 'best', 'final'):
    steps = scripted.steps_in(other, name)
    assert scripted.steps_in(folder, name)[-1:] == steps[-1:]
  assert ((folder / 'metrics.jsonl').read_text()
          == (other / 'metrics.jsonl').read_text())
  jax.tree_util.tree_map(
      np.testing.assert_array_equal, checkpoints.load_kept(folder),
      checkpoints.load_kept(other))
  assert not (folder / locks.NAME).exists()


def damage(path, how):
  data = bytearray(path.read_bytes())
  if how == 'cut':
    data = data[:len(data) // 2]
  elif how == 'flip':
    data[len(data) // 2] ^= 4
  else:
    path.unlink()
    return
  path.write_bytes(data)


def files_of(folder):
  return sorted(path for path in folder.rglob('*') if path.is_file())


# Saves everything again and again, and is killed in the course of it, every
# time a few changes of the folder later.
_KILLED = '''
import os, pathlib, shutil, signal, sys
from dear_jax.training import checkpoints
from tests.training import checkpoints_test, faults_test

def save(folder, step):
  with checkpoints.Checkpoints(folder) as saved:
    state = checkpoints_test.make_state(step, best_step=step)
    saved.save_best(state.best)
    saved.save(state)
    saved.save_final(checkpoints.Kept(**vars(state.best)))

def killed_at(folder, count):
  """Whether the process has come as far as to be killed."""
  left = [count]
  def hook(event, args):
    if faults_test.changes(folder, event, args):
      left[0] -= 1
      if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
  pid = os.fork()  # nothing has been computed, so there are no threads yet
  if not pid:
    try:
      sys.addaudithook(hook)
      for step in (1, 2) if folder.name == 'base' else (3,):
        save(folder, step)
      os._exit(0)
    except BaseException as e:
      print(repr(e), file=sys.stderr, flush=True)
      os._exit(1)
  status = os.waitpid(pid, 0)[1]
  assert os.WIFSIGNALED(status) or not os.WEXITSTATUS(status)
  return os.WIFSIGNALED(status)

parent = pathlib.Path(sys.argv[1])
base = parent / 'base'
assert not killed_at(base, 10**9)
for count in range(1, 1000, 11):
  folder = parent / str(count)
  shutil.copytree(base, folder)
  if not killed_at(folder, count):
    break
'''


def test_killed_while_it_saves(tmp_path):
  root = pathlib.Path(__file__).resolve().parents[2]
  result = subprocess.run(
      [sys.executable, '-c', _KILLED, str(tmp_path)], cwd=root, text=True,
      env=dict(os.environ, PYTHONPATH=str(root)), capture_output=True,
      check=False)
  assert result.returncode == 0, result.stderr
  folders = sorted(tmp_path.iterdir(), key=lambda path: path.name)
  assert len(folders) > 5
  found = set()
  for folder in folders:
    kept = checkpoints.load_kept(folder)  # needs no mending
    with checkpoints.Checkpoints(folder) as saved:
      told = []
      state = saved.restore(checkpoints_test.make_state(0), told.append)
      assert not told
      step = state.step
      checkpoints_test.assert_same(
          state, checkpoints_test.make_state(step, best_step=step))
      saved.save(checkpoints_test.make_state(4))  # nothing is in the way
    which = kept['net/~/linear']['w'].flat[0] - 100
    assert which in (2, 3)
    found.add((step, int(which)))
  assert {(2, 2), (3, 3)} <= found, found


@pytest.mark.parametrize('how', ['cut', 'flip', 'remove'])
def test_a_damaged_latest_checkpoint(run, finished, script, how, capsys):
  del script
  assert scripted.steps_in(run, 'latest') == [2, 4]
  for path in files_of(run / 'checkpoints' / 'latest' / '4' / 'arrays'):
    damage(path, how)
  scripted.train(run, resume=True)
  err = capsys.readouterr().err
  assert 'latest/4 is damaged' in err and 'checkpoint of step 2' in err
  assert 'Traceback' not in err and 'Resuming at step 2.' in err
  assert_same_run(run, finished)
  assert (run / 'checkpoints' / 'damaged-4').is_dir()


def test_every_damage_of_a_checkpoint_is_found(tmp_path):
  with checkpoints.Checkpoints(tmp_path / 'good') as saved:
    for step in (1, 2):
      saved.save(checkpoints_test.make_state(step))
  names = [path.relative_to(tmp_path / 'good')
           for path in files_of(tmp_path / 'good')
           if '2' in path.parts and path.name != 'checksums.json']
  assert len(names) > 5
  for i, name in enumerate(names):
    folder = tmp_path / str(i)
    shutil.copytree(tmp_path / 'good', folder)
    damage(folder / name, ('cut', 'flip', 'remove')[i % 3])
    told = []
    with checkpoints.Checkpoints(folder) as saved:
      state = saved.restore(checkpoints_test.make_state(0), told.append)
    checkpoints_test.assert_same(state, checkpoints_test.make_state(1))
    assert len(told) == 1 and name.name in told[0]


def test_all_latest_checkpoints_damaged(run, script):
  del script
  for path in files_of(run / 'checkpoints' / 'latest'):
    damage(path, 'cut')
  before = files_of(run)
  with pytest.raises(checkpoints.RunError) as error:
    scripted.train(run, resume=True)
  assert 'latest/4 is damaged' in message_of(error)
  assert files_of(run) == before  # whoever can mend it, may


@pytest.mark.parametrize('name', ['best', 'final'])
def test_damaged_parameters(run, finished, script, name):
  del script
  if name == 'best':
    shutil.rmtree(run / 'checkpoints' / 'final')
  for path in files_of(run / 'checkpoints' / name):
    damage(path, 'flip')
  with pytest.raises(checkpoints.RunError) as error:
    checkpoints.load_kept(run)
  assert f'{name}/2 is damaged' in message_of(error)
  assert '--resume makes it anew' in message_of(error)
  scripted.train(run, resume=True)
  assert_same_run(run, finished)
  shutil.rmtree(run / 'checkpoints' / 'final')
  assert scripted.kept(run) == 2  # now that of `best`


@pytest.mark.parametrize('name', ['config.json', 'metrics.jsonl',
                                  'result.json'])
def test_damaged_files(run, name):
  """Whatever is read from them, nothing else than a RunError comes of it."""
  data = (run / name).read_bytes()
  rng = random.Random(name)
  for i in range(60):
    damaged = bytearray(data)
    if i % 3:
      damaged[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    else:
      del damaged[rng.randrange(len(data)):]
    (run / name).write_bytes(damaged)
    for read in (configs.load_config, reports.read_run, _resume_check):
      try:
        read(run)
      except checkpoints.RunError as e:
        assert '\n' not in str(e)


def _resume_check(run):
  with checkpoints.MetricsFile(run, 2, lambda unused_text: None):
    pass
  return checkpoints.check_folder(
      run, {'tol': 0.1}, versions={'jax': '1'}, resume=True, may_change=())


def test_a_line_without_a_step(run, finished, script, capsys):
  del script
  path = run / 'metrics.jsonl'
  path.write_text('{"split": "train", "loss": 1.0}\n' + path.read_text())
  assert any(note.startswith('Left out: 1 of the lines')
             for note in reports.read_run(run).notes)
  scripted.train(run, resume=True)
  assert 'Left out 1 line of' in capsys.readouterr().err
  assert_same_run(run, finished)


def test_a_read_only_folder(run, script, failing):
  del script
  before = files_of(run)
  with failing(run, errno.EROFS):
    with pytest.raises(checkpoints.RunError) as error:
      scripted.train(run, resume=True)
    assert 'cannot be written to (Read-only file system)' in message_of(error)
    code, out, err = commands.Command('run.py')(f'--workdir={run}', '--resume')
    assert checkpoints.load_kept(run)  # readers do not mind
  assert code == 2 and not out
  assert err.count('\n') == 1 and 'Read-only file system' in err
  assert files_of(run) == before


# When the disk is full, and up to which step the run has been saved by then.
@pytest.mark.parametrize('full_at, saved_at', [(1, 0), (2, 0), (3, 2)])
def test_a_full_disk(full_at, saved_at, tmp_path, finished, script, failing):
  del script
  run = tmp_path / 'run'
  with contextlib.ExitStack() as stack:
    def fill(step):
      if step == full_at:
        stack.enter_context(failing(run, errno.ENOSPC))
      return False
    with pytest.raises(checkpoints.RunError) as error:
      scripted.train(run, should_stop=fill)
    assert 'cannot be' in message_of(error)
    assert 'No space left on device' in message_of(error)
    assert checkpoints.has_checkpoint(run)
  with checkpoints.Checkpoints(run) as saved:
    assert saved.latest_step == saved_at
  scripted.train(run, resume=True)
  assert_same_run(run, finished)


def test_a_full_disk_that_is_real(tmp_path, finished, script):
  del script
  disk = tmp_path / 'disk'
  disk.mkdir()
  if os.getuid() or subprocess.run(
      ['mount', '-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', str(disk)],
      capture_output=True, check=False).returncode:
    pytest.skip('only a superuser can have a small disk.')
  try:
    filler = disk / 'filler'
    def fill(step):
      if step == 3:
        with contextlib.suppress(OSError), filler.open('wb', 0) as file:
          while True:
            file.write(bytes(4096))
      return False
    with pytest.raises(checkpoints.RunError) as error:
      scripted.train(disk / 'run', should_stop=fill)
    assert 'No space left on device' in message_of(error)
    filler.unlink()
    scripted.train(disk / 'run', resume=True)
    assert_same_run(disk / 'run', finished)
  finally:
    subprocess.run(['umount', str(disk)], check=True)


def test_errors_of_the_library_that_writes_arrays():
  error = ValueError(
      'RESOURCE_EXHAUSTED: Error writing local file "/a/b": Failed to write '
      "113 bytes to file 7: No space left on device [os_error_code='28']")
  assert run_folder.reason(error) == os.strerror(errno.ENOSPC)


def test_parameters_of_other_settings(run):
  """As left by two runs in one folder, when there was no lock."""
  stored = checkpoints.read_json(run, 'config.json')
  stored['config']['hidden_size'] = 5
  checkpoints.write_json(run, 'config.json', stored)
  wrong = f'The parameters in {run} are not those of its settings: '
  for script, expected in (('evaluate.py', 1), ('convergence.py', 1),
                           ('export.py', 2), ('gradient_noise.py', 2)):
    code, _, err = commands.Command(script)(run)
    assert code == expected, (script, err)
    line = err.splitlines()[-1]
    assert wrong in line and 'Traceback' not in err, (script, err)
  # A report has more to say than that.
  code, _, err = commands.Command('report.py')(run, '--nopng')
  assert code == 0, err
  assert wrong in (run / 'report.html').read_text(encoding='utf-8')


def test_a_file_that_cannot_be_exported(run, tmp_path, failing):
  out = tmp_path / 'out'
  out.mkdir()
  export = commands.Command('export.py')
  assert export(run, f'--out={out}/a.npz')[0] == 0
  good = (out / 'a.npz').read_bytes()
  with failing(out, errno.ENOSPC):
    code, _, err = export(run, f'--out={out}/a.npz')
  assert code == 1 and err.count('\n') == 1
  assert 'a.npz cannot be written (No space left on device).' in err
  assert [x.name for x in out.iterdir()] == ['a.npz']
  assert (out / 'a.npz').read_bytes() == good


def test_results_that_cannot_be_written_leave_the_old_ones(tmp_path, failing):
  checkpoints.write_json(tmp_path, 'evaluation.json', {'old': 1})
  with failing(tmp_path, errno.ENOSPC):
    with pytest.raises(checkpoints.RunError) as error:
      checkpoints.write_json(tmp_path, 'evaluation.json', {'new': 1})
  assert 'evaluation.json cannot be written (No space' in message_of(error)
  assert checkpoints.read_json(tmp_path, 'evaluation.json') == {'old': 1}
  assert [path.name for path in tmp_path.iterdir()] == ['evaluation.json']


def test_a_cache_that_cannot_be_read(tmp_path):
  cache = data_cache.SampleCache(str(tmp_path), 'bfs', {}, None, split='train')
  path = tmp_path / 'file'
  path.mkdir()  # which cannot be opened, not even by a superuser
  records = np.zeros((2, 3), np.uint8)
  # pylint:disable-next=protected-access
  assert cache._read(str(path), np.arange(2), records) == [0, 1]


def test_two_runs_in_one_folder(tmp_path, finished, script):
  del script
  run = tmp_path / 'run'
  refusals = []
  def begin_another(step):
    if step == 3:
      config = json.loads((run / 'config.json').read_text())
      for resume, rate in ((False, 0.5), (True, scripted.CONFIG.learning_rate)):
        with pytest.raises(checkpoints.RunError) as error:
          scripted.train(run, resume=resume, learning_rate=rate)
        refusals.append(message_of(error))
      code, out, err = commands.Command('run.py')(
          f'--workdir={run}', '--resume')
      assert code == 2 and not out and err.count('\n') == 1
      refusals.append(err)
      assert json.loads((run / 'config.json').read_text()) == config
    return False
  scripted.train(run, should_stop=begin_another)
  assert len(refusals) == 3
  assert all(f'in use by process {os.getpid()}' in x for x in refusals)
  assert_same_run(run, finished)


def test_the_lock_goes_with_the_run(tmp_path, script):
  assert not (tmp_path / locks.NAME).exists()
  script['task_losses'] = dict.fromkeys(range(7), float('nan'))
  with pytest.raises(FloatingPointError):
    scripted.train(tmp_path)
  assert not (tmp_path / locks.NAME).exists()
