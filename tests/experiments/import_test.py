# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of --import: steps and tasks of the user's own in the commands."""

import importlib
import json
import pathlib
import subprocess
import sys

import dear_jax
from dear_jax.data import own_tasks
from dear_jax.networks import own_steps
from dear_jax.training import checkpoints
from dear_jax.training import configs
import pytest
from tests import commands

TINY = ('--batch_size=2', '--hidden_size=8', '--train_lengths=4',
        '--val_size=4', '--test_size=4', '--val_samples=4',
        '--test_samples=4', '--eval_every=4', '--log_every=1',
        '--train_steps=4')
OWN = ('--processor=dear_mean', '--algorithm=nearest')

PARTS = """
import dear_jax
import neighbour_of_my_parts
from tests import own_parts

dear_jax.register_step('mean', own_parts.MeanStep)
dear_jax.register_task('nearest', own_parts.NEAREST, own_parts.draw,
                       own_parts.solve)
"""


def forget():
  """As in a new process."""
  own_steps.REGISTERED.clear()
  own_tasks.REGISTERED.clear()
  for name in ('my_parts', 'neighbour_of_my_parts'):
    sys.modules.pop(name, None)


@pytest.fixture(name='folder')
def _folder(tmp_path, monkeypatch):
  """A folder to work in, with a file of one's own."""
  monkeypatch.chdir(tmp_path)
  monkeypatch.setattr(sys, 'path', list(sys.path))
  (tmp_path / 'parts').mkdir()
  (tmp_path / 'parts' / 'my_parts.py').write_text(PARTS)
  (tmp_path / 'parts' / 'neighbour_of_my_parts.py').write_text('')
  yield tmp_path
  forget()


def test_import_in_all_commands(folder):
  parts = '--import=parts/my_parts.py'
  run = commands.Command('run.py')
  code, out, err = run(*TINY, *OWN, '--workdir=run', parts)
  assert code == 0, err
  assert json.loads(out.splitlines()[-1])['steps'] == 4
  # What is read from a folder never runs code that the folder names.
  assert 'my_parts' not in pathlib.Path('run/config.json').read_text()

  forget()
  evaluate = commands.Command('evaluate.py')
  few = ('run', '--only=sizes', '--sizes=4', '--samples=4')
  code, _, err = evaluate(*few)
  assert code == 2 and err.count('\n') == 1
  assert "'nearest'" in err and '--import=FILE' in err
  with pytest.raises(checkpoints.RunError, match='dear_jax.register_task'):
    configs.load_config('run')
  code, _, err = evaluate(*few, parts)
  assert code == 0, err
  code, out, err = evaluate(*few, parts, '--model=nar')
  assert code == 2 and not out and err.count('\n') == 1
  assert 'nearest was registered without length' in err

  forget()
  code, _, err = run('--workdir=run', '--resume', parts)
  assert code == 0, err

  forget()
  code, _, err = commands.Command('report.py')('run', '--nopng', parts)
  assert code == 0, err
  assert 'There is no residual per iteration' not in (
      pathlib.Path('run/report.html').read_text(encoding='utf-8'))


def test_a_reasoner_with_a_step_of_ones_own(folder):
  parts = '--import=parts/my_parts.py'
  code, _, err = commands.Command('run.py')(
      *TINY, '--processor=dear_mean', '--workdir=run', parts)
  assert code == 0, err
  forget()
  export = commands.Command('export.py')
  code, _, err = export('run')
  assert code == 2 and 'dear_mean' in err and '--import=FILE' in err
  code, _, err = export('run', '--out=mean.npz', parts)
  assert code == 0, err
  forget()
  with pytest.raises(ValueError, match='dear_jax.register_step'):
    dear_jax.load('mean.npz')
  sys.path.append('parts')
  importlib.import_module('my_parts')
  answer = dear_jax.load('mean.npz')(adj=[[0, 1], [1, 0]], source=0)
  assert set(answer) == {'pi'}


def imports(*args):
  """Runs with these flags, up to the first mistake."""
  code, out, err = commands.Command('run.py')(*args, '--preset=none')
  assert code == 2 and not out and err.count('\n') == 1
  return err


def test_import_of_modules_and_of_several(folder):
  (folder / 'here.py').write_text('import json')
  (folder / 'there.py').write_text('import my_parts')
  assert "preset 'none'" in imports('--import=here, parts/my_parts.py',
                                 '--import=there.py')
  assert 'dear_mean' in own_steps.REGISTERED
  # A file that is there already is not run again.
  own_steps.REGISTERED.clear()
  assert "preset 'none'" in imports('--import=parts/my_parts.py')
  assert not own_steps.REGISTERED
  for name in ('here', 'there'):
    del sys.modules[name]


@pytest.mark.parametrize('text, message', [
    ('\nx = 1 / 0', 'wrong.py, line 2: ZeroDivisionError: division by zero'),
    ('import dear_jax\nf = print\ndear_jax.register_step("gat", f)',
     "wrong.py, line 3: ValueError: 'dear_gat' is a processor of dear_jax"),
    ('import nothing_of_this_name', "No module named 'nothing_of_this_name'"),
    ('x = (', 'SyntaxError'),
])
def test_import_of_a_file_with_a_mistake(folder, text, message):
  (folder / 'wrong.py').write_text(text)
  assert message in imports('--import=wrong.py')
  assert 'wrong' not in sys.modules


def test_import_of_a_file_named_like_another_module(folder):
  (folder / 'json.py').write_text('')
  assert 'another module of the name json' in imports('--import=json.py')


def test_libraries_that_the_file_imports_are_not_heard(folder):
  (folder / 'loud.py').write_text('import clrs\n')
  result = subprocess.run(
      [sys.executable, str(commands.EXPERIMENTS / 'run.py'),
       '--import=loud.py', '--algorithm=bsf'],
      timeout=600, capture_output=True, text=True, check=False)
  assert result.returncode == 2 and result.stderr.count('\n') == 1
  assert "did you mean 'bfs'?" in result.stderr
