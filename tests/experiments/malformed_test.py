# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Wrong input to reasoners and commands: one clear sentence each.

No case gets as far as compiling anything.
"""

import functools
import json
import pathlib
import subprocess
import sys

import dear_jax
import numpy as np
import pytest

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_ADJ = np.ones((3, 3))
_PAIR = np.stack([_ADJ, _ADJ])
_KEYS = np.array([0.5, 0.1, 0.9])


@functools.lru_cache(maxsize=None)
def _reasoner(task):
  """A reasoner without parameters: questions are read before they are used."""
  return dear_jax.Reasoner(dear_jax.TrainConfig(algorithms=(task,)), {})


def _without(array, index, value):
  array = array.copy()
  array[index] = value
  return array


# Task, arguments, what the message has to say.
_QUESTIONS = [
    ('bfs', {}, 'adj is missing'),
    ('bfs', dict(adj=_ADJ), 'source is missing'),
    ('bfs', dict(source=0), 'adj is missing'),
    ('bfs', dict(adj=None, source=0), 'adj is missing'),
    ('bfs', dict(adj=_ADJ, source=0, target=1), 'not target'),
    ('bfs', dict(adj=_ADJ, sauce=0), 'not sauce'),
    ('bfs', dict(adj=_ADJ, A=_ADJ, source=0), 'adj was given twice'),
    ('bfs', dict(keys=_KEYS), 'takes adj and source, not keys'),
    ('bfs', dict(adj=_ADJ, source=3), 'from 0 to 2, got 3'),
    ('bfs', dict(adj=_ADJ, source=-1), 'from 0 to 2, got -1'),
    ('bfs', dict(adj=_ADJ, source=0.5), 'whole number, got 0.5'),
    ('bfs', dict(adj=_ADJ, source='a'), "whole number, got 'a'"),
    ('bfs', dict(adj=_ADJ, source=True), 'whole number, got True'),
    ('bfs', dict(adj=_ADJ, source=[0, 1]), 'shape [2]'),
    ('bfs', dict(adj=_ADJ, source=[[0], [0, 1]]), '[[0], [0, 1]]'),
    ('bfs', dict(adj=_PAIR, source=[0, 1, 2]), 'or 2 of them'),
    ('bfs', dict(adj=_PAIR, source=[0, 9]), 'got 9'),
    ('bfs', dict(adj=np.zeros((0, 0)), source=0), 'at least 2 nodes'),
    ('bfs', dict(adj=np.zeros((1, 1)), source=0), 'but adj has 1'),
    ('bfs', dict(adj=np.zeros((0, 3, 3)), source=0), 'empty batch'),
    ('bfs', dict(adj=np.zeros((2, 3)), source=0), 'shape [2, 3]'),
    ('bfs', dict(adj=np.zeros(4), source=0), 'shape [4]'),
    ('bfs', dict(adj=np.zeros((1, 1, 3, 3)), source=0), 'shape [1, 1, 3, 3]'),
    ('bfs', dict(adj=5, source=0), 'shape []'),
    ('bfs', dict(adj='graph.txt', source=0), "got 'graph.txt'"),
    ('bfs', dict(adj=[[0, 1], [1]], source=0), 'differ in length'),
    ('bfs', dict(adj=[[0, None], [1, 0]], source=0), 'NoneType'),
    ('bfs', dict(adj=_ADJ * 1j, source=0), 'must hold numbers'),
    ('bfs', dict(adj=_without(_ADJ, (1, 2), np.nan), source=0),
     'adj[1, 2] is nan'),
    ('bfs', dict(adj=_without(_ADJ, (2, 1), np.inf), source=0),
     'adj[2, 1] is inf'),
    ('bfs', dict(adj=_without(_ADJ, (0, 1), 0), source=0),
     'adj[0, 1] is 0 and adj[1, 0] is 1'),
    ('bfs', dict(adj=_without(_PAIR, (1, 0, 1), 0), source=0),
     'adj[1, 0, 1] is 0'),
    ('bfs', dict(adj=0.5 * _ADJ, source=0), '0 and 1 only'),
    ('bellman_ford', dict(adj=-_ADJ, source=0), 'must not be negative'),
    ('dag_shortest_paths', dict(adj=_ADJ, source=0), 'without cycles'),
    ('insertion_sort', {}, 'keys is missing'),
    ('insertion_sort', dict(keys=[]), 'at least 2 keys'),
    ('insertion_sort', dict(keys=[0.5]), 'but keys has 1'),
    ('insertion_sort', dict(keys=np.zeros((0, 4))), 'empty batch'),
    ('insertion_sort', dict(keys=0.5), 'shape []'),
    ('insertion_sort', dict(keys=np.zeros((1, 2, 3))), 'shape [1, 2, 3]'),
    ('insertion_sort', dict(keys=[0.1, np.nan]), 'keys[1] is nan'),
    ('insertion_sort', dict(keys=['b', 'a']), 'must hold numbers'),
    ('insertion_sort', dict(keys=[0.1, 10**400]), 'too large'),
    ('insertion_sort', dict(adj=_ADJ), 'takes keys, not adj'),
    ('search', dict(keys=[0.1, 0.2]), 'target is missing'),
    ('search', dict(keys=[0.2, 0.1], target=0.1), 'ascending order'),
    ('search', dict(keys=[0.1, 0.2], target=0.3), 'beyond the last key'),
    ('search', dict(keys=[0.1, 0.2], target=[0.1, 0.2]), 'one number'),
    ('search', dict(keys=[0.1, 0.2], target=np.nan), 'target must hold finite'),
]


@pytest.mark.parametrize('task, arguments, message', _QUESTIONS)
@pytest.mark.parametrize('method', ['__call__', 'check'])
def test_questions(task, arguments, message, method):
  with pytest.raises(ValueError) as info:
    getattr(_reasoner(task), method)(**arguments)
  _assert_one_sentence(str(info.value), message)


def test_too_many_positions():
  with pytest.raises(ValueError) as info:
    _reasoner('insertion_sort')(_KEYS, _KEYS)
  _assert_one_sentence(str(info.value), '2 values were given')


def _assert_one_sentence(text, message):
  assert message in text
  assert '\n' not in text and text.endswith('.') and len(text) < 500


@pytest.mark.parametrize('source, options, message', [
    ('bfz', {}, 'those are: '),
    (3, {}, 'got int'),
    ('README.md', {}, 'README.md was not written by'),
    ('docs', {}, 'docs is not a run folder'),
    ('bfs', dict(algorithm='dfs'), "Unknown algorithm 'dfs'"),
    ('bfs', dict(solver='newton'), 'newton'),
    ('bfs', dict(tol=-1), 'tol'),
    ('bfs', dict(max_iter=0), 'max_iter'),
])
def test_load(source, options, message, monkeypatch):
  monkeypatch.chdir(_ROOT)
  with pytest.raises(ValueError) as info:
    dear_jax.load(source, **options)
  _assert_one_sentence(str(info.value), message)


def test_tasks_that_cannot_be_asked_about():
  with pytest.raises(ValueError) as info:
    _reasoner('lcs_length')
  assert 'lcs_length takes neither a graph nor an array' in str(info.value)


def test_file_names(tmp_path):
  with pytest.raises(ValueError) as info:
    _reasoner('bfs').save(tmp_path / 'bfs.txt')
  _assert_one_sentence(str(info.value), "'bfs.txt'")


# Runs a command with several command lines, so that all of them wait for the
# library only once.
_DRIVER = '''
import contextlib, io, json, runpy, sys
from absl import app
from absl.testing import flagsaver

script, cases = sys.argv[1:]
sys.argv = [script]
sys.path.insert(0, 'experiments')

def run_all(main, flags_parser):
  for args in json.loads(cases):
    stderr, code = io.StringIO(), 0
    with contextlib.redirect_stderr(stderr), flagsaver.flagsaver():
      try:
        main(flags_parser([script, *args]))
      except SystemExit as e:
        code = e.code
    print(json.dumps([code, stderr.getvalue()]))

app.run = run_all
runpy.run_path(script, run_name='__main__')
'''

_COMMANDS = {
    'run.py': [
        (['--algorithm=bsf'], "did you mean 'bfs'?"),
        (['--processor=dear_gnn'], "'dear_gnn'"),
        (['--batch_size=many'], 'batch_size=many: it must be a whole number.'),
        (['--tol=small'], 'tol=small: it must be a number.'),
        (['--train_steps=0'], 'train_steps must be'),
        (['--train_lengths=16..8'], 'train_sizes'),
        (['--tol=-1'], 'tol'),
        (['--resume'], '--workdir'),
        (['--preset=quik'], "did you mean 'quick'?"),
        (['--model=nar', '--noise_stddev=0.001'], 'noise_stddev needs model='),
        (['--alogrithm=bfs'], 'alogrithm'),
        (['bfs'], "'bfs'"),
    ],
    'evaluate.py': [
        ([], 'RUN_FOLDER is missing'),
        (['no_such_folder'], 'no_such_folder'),
        (['docs'], 'docs is not a run folder'),
        (['docs', '--solver=newton'], ''),
        (['docs', 'tests'], "'tests'"),
    ],
    'export.py': [
        ([], 'RUN_FOLDER is missing'),
        (['no_such_folder'], 'no_such_folder is not a run folder'),
        (['docs'], 'docs is not a run folder'),
        (['docs', '--out=no_such_folder/x.npz'], 'no_such_folder'),
    ],
    'report.py': [
        ([], 'RUN_FOLDER'),
        (['no_such_folder'], 'no_such_folder'),
        (['docs'], 'docs'),
        (['docs', '--labels=a,b'], ''),
    ],
    'show.py': [
        ([], 'RUN_FOLDER is missing'),
        (['no_such_folder'], 'no_such_folder'),
        (['docs'], 'docs is not a run folder'),
        (['docs', '--size=x'], 'size'),
    ],
}


@pytest.mark.parametrize('script', list(_COMMANDS))
def test_commands(script):
  cases = _COMMANDS[script]
  result = subprocess.run(
      [sys.executable, '-c', _DRIVER, f'experiments/{script}',
       json.dumps([args for args, _ in cases])],
      cwd=_ROOT, text=True, capture_output=True, check=False)
  assert result.returncode == 0, result.stderr
  found = [json.loads(line) for line in result.stdout.splitlines()]
  assert len(found) == len(cases)
  for (args, message), (code, text) in zip(cases, found):
    assert code == 2, (args, code, text)
    assert message in text, (args, text)
    assert text.startswith(script) and text.count('\n') == 1, (args, text)
    assert 'Traceback' not in text


def test_there_are_fifty_of_them():
  assert len(_QUESTIONS) + sum(map(len, _COMMANDS.values())) >= 50


def test_nobody_reads_on():
  with subprocess.Popen(
      [sys.executable, 'experiments/run.py', '--help'], cwd=_ROOT, text=True,
      stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
    process.stdout.close()  # as head does when it has seen enough
    assert process.stderr.read() == ''
  assert process.returncode == 1
