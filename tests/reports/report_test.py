# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of experiments/report.py."""

import json
import os
import pathlib
import shlex
import subprocess
import sys

import dear_jax
from dear_jax import reports
from dear_jax.reports import run_data
from dear_jax.training import builders
from dear_jax.training import checkpoints
from dear_jax.training import configs
import pytest
from tests import run_folders

EXPERIMENTS = pathlib.Path(__file__).resolve().parents[2] / 'experiments'

# Runs command lines, one after the other, in one process, as importing takes
# longer than most of them. Its flags would clash with those of other programs.
DRIVER = '''
import contextlib, dataclasses, io, json, sys
sys.path.insert(0, {path!r})
sys.argv = ['report.py']
import report
from absl.testing import flagsaver
for line in sys.stdin:
  request = json.loads(line)
  if request['program'] == 'run':
    import run  # its flags have to outlast the flagsaver
  out, err, code = io.StringIO(), io.StringIO(), 0
  hidden = {{name: sys.modules.pop(name, None) for name in request['hide']}}
  sys.modules.update(dict.fromkeys(hidden))
  with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
    with flagsaver.flagsaver():
      try:
        if request['program'] == 'report':
          report.main(report.cli.parse_run_folders(
              ['report.py', *request['args']]))
        else:  # only what settings it would train with
          run.parse_flags(['run.py', *request['args']])
          json.dump(dataclasses.asdict(run.make_config()), out)
      except SystemExit as e:
        code = e.code
  for name, module in hidden.items():
    del sys.modules[name]
    if module is not None:
      sys.modules[name] = module
  print(json.dumps([code, out.getvalue(), err.getvalue()]), flush=True)
'''

PNG = b'\x89PNG\r\n\x1a\n'


@pytest.fixture(name='call', scope='module')
def _call():
  with subprocess.Popen(
      [sys.executable, '-c', DRIVER.format(path=str(EXPERIMENTS))], text=True,
      stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:

    def call(*args, program='report', hide=()):
      """The exit code, stdout and stderr of a command line."""
      print(json.dumps(dict(args=list(map(str, args)), program=program,
                            hide=hide)), file=process.stdin, flush=True)
      return json.loads(process.stdout.readline())

    yield call
    process.stdin.close()


def run(*args, options=()):
  return subprocess.run(
      [sys.executable, *options, str(EXPERIMENTS / 'report.py'),
       *map(str, args)],
      timeout=600, capture_output=True, text=True, check=False)


def test_from_files_alone(call, tmp_path):
  first = run_folders.write(tmp_path / 'x' / 'a', is_evaluated=True)
  second = run_folders.write(tmp_path / 'y' / 'a', model='nar', is_over=False)
  several = run_folders.write(tmp_path / 'two', algorithms=('bfs', 'dfs'))
  odd = run_folders.write(tmp_path / '_$x^_<&', lines=6)
  out = tmp_path / 'all.html'
  for args in (
      [first], [first, second, several, odd, f'--out={out}'],
      [second, first, '--labels=N <1>, D', '--nopng',
       f'--out={tmp_path}/labels.html']):
    code, printed, err = call(*args, '--nosolve')
    assert code == 0 and not printed, err
    assert err.count('\n') == 1 and 'Wrote ' in err
  assert (first / 'report.html').is_file() and not (
      second / 'report.html').exists()
  assert (first / 'report.png').read_bytes().startswith(PNG)
  assert out.with_suffix('.png').read_bytes().startswith(PNG)
  assert not (tmp_path / 'labels.png').exists()
  page = out.read_text(encoding='utf-8')
  for label in ('x/a', 'y/a', 'two', '_$x^_&lt;&amp;'):
    assert label in page
  assert 'made with --nosolve' in page and '--resume' in page
  assert 'N &lt;1&gt; vs D' in (tmp_path / 'labels.html').read_text(
      encoding='utf-8')
  # Nothing is left of the writing.
  assert not list(tmp_path.rglob('*.tmp'))


def test_without_matplotlib_and_tensorboard(call, tmp_path):
  folder = run_folders.write(tmp_path / 'a', lines=10)
  code, _, err = call(folder, '--nosolve', '--tensorboard',
                      hide=['matplotlib', 'tensorboardX'])
  assert code == 0
  wrote, picture, events = err.splitlines()
  assert wrote.endswith('report.html.')
  assert picture == 'matplotlib is not installed, so there is no picture.'
  assert events.startswith('tensorboardX is not installed')
  assert (folder / 'report.html').is_file()
  assert sorted(os.listdir(folder)) == [
      'config.json', 'metrics.jsonl', 'report.html', 'result.json']


def test_without_what_makes_the_page(call, tmp_path):
  folder = run_folders.write(tmp_path / 'a', lines=10)
  for name in ('plotly', 'jinja2'):
    code, out, err = call(folder, '--nosolve', hide=[name])
    assert code == 1 and not out
    assert err == (f'report.py: {name} is not installed: pip install '
                   "'dear-jax[reports]' gets it.\n")
  assert sorted(os.listdir(folder)) == [
      'config.json', 'metrics.jsonl', 'result.json']


def test_event_files(call, tmp_path):
  pytest.importorskip('tensorboardX', reason='tensorboardX is not installed.')
  folder = run_folders.write(tmp_path / 'a', lines=10)
  for _ in range(2):
    code, _, err = call(folder, '--nosolve', '--nopng', '--tensorboard')
    assert code == 0 and 'tensorboard' in err
  # Those of the first time are gone.
  events, = (folder / 'tensorboard').iterdir()
  # pylint: disable-next=g-import-not-at-top
  from tensorflow.python.summary import summary_iterator
  found = {(value.tag, event.step): value.simple_value
           for event in summary_iterator.summary_iterator(str(events))
           for value in event.summary.value}
  run_read = reports.read_run(folder)
  for split in ('train', 'val'):
    steps, values = reports.series(run_read, split, 'task_loss', 'bfs')
    for step, value in zip(steps, values, strict=True):
      assert found[f'{split}/task_loss', step] == pytest.approx(value)
  assert not any(tag.endswith('/step') for tag, _ in found)


def write_parameters(folder):
  """Gives a run folder parameters, though not trained ones."""
  config = configs.load_config(folder)
  sampler = dear_jax.make_sampler('bfs', size=4, batch_size=2, seed=1,
                                  split='test')
  example = sampler.batch(0)
  model = builders.build_model(config, [sampler.spec], [example], None)
  model.init([example.features], 1)
  with checkpoints.Checkpoints(folder) as saved:
    saved.save_best(checkpoints.Best(params=model.params, step=50))


def test_residuals_of_solves(call, tmp_path):
  real = run_folders.write(tmp_path / 'real', lines=10, hidden_size=8,
                           test_size=4, max_iter=4)
  write_parameters(real)
  empty = run_folders.write(tmp_path / 'empty', lines=10)
  several = run_folders.write(tmp_path / 'two', lines=10,
                              algorithms=('bfs', 'dfs'))
  nar = run_folders.write(tmp_path / 'nar', lines=10, model='nar')
  code, _, err = call(real, empty, several, nar, '--nopng')
  assert code == 0, err
  assert '[1/4] solving 16 samples of size 4 with real ...' in err
  assert 'with nar' not in err and 'with two' not in err
  page = (real / 'report.html').read_text(encoding='utf-8')
  assert page.count('>Residual per iteration</h3>') == 1
  assert page.count('There is no residual per iteration') == 2
  assert 'holds no best checkpoint' in page
  assert 'trained on 2 algorithms' in page


def test_the_commands_repeat_the_runs(call, tmp_path):
  runs = [reports.read_run(run_folders.write(
      tmp_path / str(i), lines=6, **settings))
          for i, settings in enumerate([
              {}, dict(algorithms=('bfs', 'dfs'), cgp=True, train_sizes=(8, 8)),
              dict(model='nar', test_steps=64, use_ln=False,
                   learning_rate=3e-4),
              dict(align_to='my runs/$HOME', train_samples=640, average=False,
                   jacobian_weight=1e-7)])]
  for read in runs:
    python, script, *args = shlex.split(run_data.command(read))
    assert (python, script) == ('python', 'experiments/run.py')
    code, out, err = call(*args, program='run')
    assert code == 0, err
    assert json.loads(out) == json.loads(json.dumps(read.config))


def test_a_mistake_is_answered_in_one_line(call, tmp_path):
  good = run_folders.write(tmp_path / 'good', lines=6)
  other = run_folders.write(tmp_path / 'other', lines=6)
  empty = run_folders.write(tmp_path / 'empty', lines=6)
  (empty / 'metrics.jsonl').write_text('')
  (tmp_path / 'nothing').mkdir()
  (tmp_path / 'link').symlink_to(good)
  (tmp_path / 'page.html').mkdir()
  before = {path: sorted(os.listdir(path)) for path in (good, other, empty)}
  cases = (
      ([], 'RUN_FOLDER is missing'),
      ([tmp_path / 'no'], 'no is not a run folder: there is no such folder'),
      ([good / 'config.json'], 'there is no such folder'),
      ([tmp_path / 'nothing'], 'it has no config.json'),
      ([good, empty], 'metrics.jsonl has no metrics'),
      ([good, tmp_path / 'link'], f'is the same run as {good}'),
      ([good, f'{good}/'], 'give every run once'),
      ([good, other, '--labels=a'], "2 different names, separated by commas"),
      ([good, '--labels=a,b'], "got 'a,b'"),
      ([good, other, '--labels=a,'], "got 'a,'"),
      ([good, other, '--labels=a, a'], "different names, separated by commas, "
       "got 'a, a'"),
      ([good, f'--out={tmp_path}/no/x.html'], 'there is no folder'),
      ([good, f'--out={tmp_path}/page.html'], 'is a folder'),
      ([good, '--out=x.pdf'], "ends in .html, got 'x.pdf'"),
      ([good, '--label=a'], "Unknown command line flag 'label'"),
  )
  for args, message in cases:
    code, out, err = call(*args)
    assert code == 2, (args, err)
    assert message in err, (args, err)
    assert err.count('\n') == 1 and not out, err
  assert {path: sorted(os.listdir(path)) for path in before} == before


def test_help_does_not_wait_for_the_library():
  done = run('--help', options=['-X', 'importtime'])
  assert '--tensorboard' in done.stdout or '--[no]tensorboard' in done.stdout
  imported = {line.split('|')[-1].strip() for line in done.stderr.splitlines()}
  assert 'cli' in imported
  assert not imported & {'clrs', 'dear_jax', 'jax', 'matplotlib', 'plotly'}
