# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Run folders and files that version 0.2.0 wrote; see data_of_0_2/README.md."""

import json
import pathlib
import shutil
import tarfile

import dear_jax
from dear_jax import reports
from dear_jax.training import checkpoints
from dear_jax.training import configs
import numpy as np
import orbax.checkpoint as ocp
import pytest
from tests import commands

_DATA = pathlib.Path(__file__).parent / 'data_of_0_2'

# Losses were the same to the bit where this was made; gradients were not, in
# their last bits, as the rules for ties and for where they are linearised have
# changed since. Adam's steps are 2e-3 long also where a gradient is next to
# nothing but rounding, so that some parameters differ by a part of one.
_PART_OF_A_STEP = 6e-4


@pytest.fixture(name='recorded', scope='module')
def _recorded():
  with np.load(_DATA / 'recorded.npz') as stored:
    return dict(stored)


@pytest.fixture(name='runs', scope='module')
def _runs(tmp_path_factory):
  folder = tmp_path_factory.mktemp('runs_of_0_2')
  with tarfile.open(_DATA / 'runs.tar.gz') as archive:
    archive.extractall(folder, filter='data')
  return folder


def _part(recorded, prefix):
  return {name.removeprefix(prefix): value for name, value in recorded.items()
          if name.startswith(prefix)}


def _flat(params):
  return {f'{module}/{name}': np.asarray(value)
          for module, values in params.items()
          for name, value in values.items()}


def _check(found, expected, **tolerance):
  assert set(found) == set(expected)
  for name in expected:
    np.testing.assert_allclose(found[name], expected[name], err_msg=name,
                               **tolerance)


def _kept_by_0_2():
  # pylint:disable-next=protected-access
  return _flat(dear_jax.load(_DATA / 'reasoner.npz')._params)


def _lines(folder):
  text = (folder / 'metrics.jsonl').read_text('utf-8')
  return [json.loads(line) for line in text.splitlines()]


def _last_params(folder):
  """The parameters of the last step, which are not the average of steps."""
  step, = (folder / 'checkpoints' / 'latest').glob('6')
  with ocp.StandardCheckpointer() as reader:
    return reader.restore(step / 'arrays')['params']


def test_settings_mean_what_they_meant(runs):
  stored = json.loads((runs / 'finished' / 'config.json').read_text('utf-8'))
  assert stored['config']['gradient'] == 'implicit'  # with a decay of 0.6
  config = configs.load_config(runs / 'finished')
  assert config.gradient == 'damped'
  assert (config.backward_decay, config.backward_bound,
          config.backward_max_iter) == (0.6, 1.5, 12)


def test_what_was_kept_is_loaded(runs):
  _check(_flat(checkpoints.load_kept(runs / 'finished')), _kept_by_0_2(),
         rtol=0, atol=0)


@pytest.mark.parametrize('source', ['finished', 'reasoner.npz'])
def test_answers_are_those_that_were_recorded(source, runs, recorded):
  # Reasoners of then looked at the state as a whole.
  reasoner = dear_jax.load(
      _DATA / source if source.endswith('.npz') else runs / source,
      criterion='state')
  outputs, details = reasoner(adj=recorded['adj'], source=recorded['source'],
                              details=True)
  _check(outputs, _part(recorded, 'output/'), rtol=0, atol=0)
  np.testing.assert_array_equal(details.steps, recorded['steps'])
  np.testing.assert_array_equal(details.converged, recorded['converged'])
  for name in ('residual', 'confidence'):
    np.testing.assert_allclose(getattr(details, name), recorded[name],
                               rtol=1e-4)


def test_it_is_evaluated(runs):
  result = json.loads((runs / 'finished' / 'result.json').read_text('utf-8'))
  code, _, err = commands.Command('evaluate.py')(
      runs / 'finished', '--only=sizes', '--sizes=6', '--samples=2')
  assert code == 0, err
  found = json.loads(
      (runs / 'finished' / 'evaluation.json').read_text('utf-8'))
  row, = found['sizes']
  assert row['score'] == pytest.approx(result['test_score'])
  assert row['steps_mean'] == pytest.approx(result['test_solver_steps_mean'])


@pytest.mark.parametrize('name, status', [
    ('finished', 'finished'), ('interrupted', 'at step 4 of 6')])
def test_it_is_reported(name, status, runs):
  run = reports.read_run(runs / name)
  assert run.status == status and not run.notes
  code, _, err = commands.Command('report.py')(runs / name, '--nosolve')
  assert code == 0, err
  assert (runs / name / 'report.html').is_file()


def test_it_is_resumed(runs, recorded, tmp_path, capsys):
  """From step 4 on, to where that version itself went."""
  folder = tmp_path / 'resumed'
  shutil.copytree(runs / 'interrupted', folder)
  result = dear_jax.train(configs.load_config(folder), folder, resume=True)
  assert 'Resuming at step 4.' in capsys.readouterr().err
  assert [result[name] for name in ('steps', 'kept', 'kept_step')] == [
      6, 'last', 6]
  for found, expected in zip(_lines(folder), _lines(runs / 'finished'),
                             strict=True):
    numbers = [x for x in expected if not isinstance(expected[x], (str, dict))]
    assert [found[x] for x in numbers] == pytest.approx(
        [expected[x] for x in numbers], rel=1e-4)
  last = _flat(_last_params(folder))
  _check(last, _part(recorded, 'last/'), rtol=0, atol=_PART_OF_A_STEP)
  differences = np.concatenate([
      np.ravel(value - recorded[f'last/{name}'])
      for name, value in last.items()])
  assert np.mean(np.abs(differences) < 1e-6) > 0.8
  expected = json.loads((runs / 'finished' / 'result.json').read_text('utf-8'))
  for name in ('val_score', 'test_score', 'test_solver_steps_mean'):
    assert result[name] == pytest.approx(expected[name])
  assert result['val_loss'] == pytest.approx(expected['val_loss'], rel=1e-4)
  _check(_flat(checkpoints.load_kept(folder)), _kept_by_0_2(), rtol=0,
         atol=_PART_OF_A_STEP)
