# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of settings and training."""

import dataclasses
import json
import os
import pathlib
import shutil
import signal
import threading

from dear_jax.data import samplers
from dear_jax.data import task_names
from dear_jax.data import tasks
from dear_jax.fixed_points import solvers
from dear_jax.models import dear
from dear_jax.models import layouts
from dear_jax.models import nar
from dear_jax.networks import gradients
from dear_jax.networks import kinds
from dear_jax.training import checkpoints
from dear_jax.training import configs
from dear_jax.training import loop
from dear_jax.training import stop_signals
import jax
from jax.experimental.compilation_cache import compilation_cache
import numpy as np
import pytest

# Validation and test batches have one shape, so that there are three programs
# to compile: initialisation, training step, evaluation.
TINY = configs.TrainConfig(
    batch_size=2, hidden_size=8, train_steps=5, train_sizes=(4, 4), val_size=4,
    test_size=4, val_samples=4, test_samples=4, eval_every=2,
    checkpoint_every=2, log_every=1, select='best')

METRICS = ('loss', 'task_loss', 'jacobian_penalty', 'solver_steps_mean',
           'solver_steps_max', 'residual', 'converged', 'backward_converged')


def read_metrics(workdir):
  text = (pathlib.Path(workdir) / 'metrics.jsonl').read_text()
  return [json.loads(line) for line in text.splitlines()]


def latest(workdir):
  """The arrays of the latest checkpoint."""
  with checkpoints.Checkpoints(workdir) as saved:
    # The names of its parts are an internal matter of checkpoints.py.
    arrays, meta = checkpoints._load(saved._latest, saved.latest_step, None)
  meta.pop('seconds')
  return arrays, meta


def assert_same_run(a, b):
  """Same parameters, optimiser state, selection, metrics and scores."""
  arrays_a, meta_a = latest(a)
  arrays_b, meta_b = latest(b)
  jax.tree_util.tree_map(np.testing.assert_array_equal, arrays_a, arrays_b)
  assert meta_a == meta_b
  jax.tree_util.tree_map(np.testing.assert_array_equal,
                         checkpoints.load_kept(a), checkpoints.load_kept(b))
  assert read_metrics(a) == read_metrics(b)
  results = [checkpoints.read_json(x, 'result.json') for x in (a, b)]
  for result in results:
    del result['seconds'], result['workdir']
  assert results[0] == results[1]


@pytest.fixture(name='finished', scope='module')
def _finished(tmp_path_factory):
  workdir = tmp_path_factory.mktemp('finished')
  return workdir, loop.train(TINY, workdir)


class TestConfig:

  @pytest.mark.parametrize('field, value, message', [
      ('algorithms', ('bfs', 'dijkstr'), "'dijkstr' .did you mean 'dijkstra'"),
      ('algorithms', (), 'at least one'),
      ('restrict_pointers', 'maybe', 'auto, nodes, true, false'),
      ('restrict_pointers', 1, 'auto, nodes, true, false'),
      ('edge_pointers', 'pairs', 'clrs, triplet, paths'),
      ('algorithms', ('bfs', 'bfs'), 'repeat'),
      ('processor', 'dear_pgm', "'dear_pgm' .did you mean 'dear_pgn'"),
      ('processor', 'pgn', "did you mean 'dear_pgn'"),
      ('norm', 'batch', "norm 'batch': choose from layer, granola"),
      ('align_weight', -1.0, 'align_weight must be a number of at least 0'),
      ('batch_size', 0, 'batch_size must be .* at least 1, got 0'),
      ('batch_size', 2.5, 'batch_size must be a whole number'),
      ('train_steps', True, 'train_steps must be a whole number'),
      ('seed', -1, 'seed must be .* from 0'),
      ('learning_rate', 0.0, 'learning_rate must be .* more than 0'),
      ('learning_rate', float('nan'), 'learning_rate must be'),
      ('learning_rate', '1', "learning_rate must be .* got '1'"),
      ('jacobian_weight', -1.0, 'jacobian_weight must be'),
      ('jacobian_fraction', 0, 'jacobian_fraction must be .* more than 0'),
      ('jacobian_fraction', 1.5, 'jacobian_fraction must be .* at most 1'),
      ('backward_max_iter', 0, 'backward_max_iter must be'),
      ('dropout_prob', 1.0, 'dropout_prob must be .* less than 1'),
      ('train_sizes', (16, 8), 'train_sizes must be'),
      ('train_sizes', (1, 8), 'train_sizes must be .* at least 2'),
      ('test_size', 1, 'test_size must be .* at least 2'),
      ('train_samples', 1, 'train_samples must be .* at least 32'),
      ('encoder_init', 'zeros', "encoder_init 'zeros'"),
      ('solver', 'newton', "'newton': choose from anderson"),
      ('tol', 0.0, 'tol must be'),
      ('max_iter', 0, 'max_iter must be'),
      ('gradient', 'exact', "'exact': choose from damped, implicit"),
      ('use_ln', 'no', "use_ln must be True or False, got 'no'"),
      ('test_steps', 'most', "true, learned or a number .*, got 'most'"),
      ('backward_decay', 1.5, 'backward_decay must be a number from 0 to 1'),
  ])
  def test_a_wrong_value_is_one_sentence(self, field, value, message):
    with pytest.raises(ValueError, match=message) as error:
      configs.TrainConfig(**{field: value})
    assert '\n' not in str(error.value)

  @pytest.mark.parametrize('name, value', [
      ('noise_stddev', 0.001), ('stochastic_depth', True),
      ('align_to', 'a_run')])
  def test_what_a_baseline_cannot_have(self, name, value):
    configs.TrainConfig(**{name: value})
    with pytest.raises(ValueError, match=f'^{name} needs model=dear.$'):
      configs.TrainConfig(model='nar', **{name: value})

  def test_choices_are_those_of_the_library(self):
    for name, known in (
        ('solver', solvers.METHODS), ('gradient', gradients.GRADIENTS),
        ('layout', layouts.LAYOUTS), ('test_steps', nar.TEST_STEPS)):
      assert set(configs.SETTINGS[name].choices) == set(known), name
    assert tasks.task_names() == task_names.known_tasks()
    assert set(task_names.BATCHED) == set(tasks.TASKS)
    for name in task_names.known_tasks():
      assert task_names.min_size(name) == tasks.get_task(name).min_size

  def test_the_docstring_has_all_settings(self):
    for name, setting in configs.SETTINGS.items():
      assert f'\n    {name}: ' in configs.TrainConfig.__doc__
      assert setting.meaning[:20] in configs.TrainConfig.__doc__

  def test_tasks_and_kinds_of_users(self, monkeypatch):
    monkeypatch.setitem(task_names.registered, 'mine', tasks.TASKS['minimum'])
    monkeypatch.setitem(kinds.registered, 'dear_mine', object)
    config = configs.TrainConfig(algorithms='mine', processor='dear_mine')
    assert (config.algorithms, config.kind) == (('mine',), 'dear_mine')
    config = configs.TrainConfig(model='nar', processor='mine')
    assert (config.processor, config.kind) == ('mine', 'dear_mine')

  def test_one_algorithm_may_be_a_string(self):
    assert configs.TrainConfig(algorithms='dfs').algorithms == ('dfs',)

  def test_rule_for_pointers(self):
    config = configs.TrainConfig(algorithms=('bfs', 'minimum', 'dfs'))
    rules = lambda x: [x.restricts_pointers(a) for a in x.algorithms]
    assert rules(config) == [True, False, True]
    config = dataclasses.replace(config, restrict_pointers=False)
    assert config.restrict_pointers == 'false'
    assert rules(config) == [False, False, False]
    assert rules(configs.TrainConfig(restrict_pointers=True)) == [True]
    config = configs.TrainConfig(algorithms=('bfs', 'floyd_warshall'))
    assert rules(config) == [True, True]
    assert rules(dataclasses.replace(config, restrict_pointers='nodes')) == [
        True, False]
    for algorithm in ('topological_sort', 'minimum'):
      with pytest.raises(ValueError, match=f'those of {algorithm} do not'):
        configs.TrainConfig(algorithms=algorithm, restrict_pointers='true')

  def test_presets(self):
    quick, paper = configs.PRESETS['quick'], configs.PRESETS['paper']
    assert configs.PRESETS['default'] == configs.TrainConfig()
    assert (quick.train_steps, quick.train_sizes) == (1000, (16, 16))
    assert paper.train_steps * paper.batch_size == 100 * paper.train_samples

  def test_the_paper_preset_is_the_paper(self):
    """Its constants, by the section of the paper that has them."""
    paper = configs.PRESETS['paper']
    expected = {
        # The model.
        'model': 'dear', 'processor': 'dear_pgn', 'use_ln': True,
        'norm': 'layer', 'hidden_size': 128, 'dropout_prob': 0.0,
        # The solver, and the theorem to the letter.
        'solver': 'anderson', 'tol': 0.1, 'max_iter': 40,
        'criterion': 'state', 'test_criterion': 'same', 'damping': 1.0,
        'restart': False, 'gradient': 'implicit', 'backward_decay': None,
        'backward_bound': None, 'backward_max_iter': None,
        # Losses and what is kept.
        'jacobian_weight': 1e-4, 'jacobian_fraction': 1.0,
        'residual_weight': 0.0, 'wanted_steps': 0.0, 'noise_stddev': 0.0,
        'contrastive_weight': 0.0, 'average': False, 'select': 'best',
        # The parts that have a switch.
        'cgp': False, 'stochastic_depth': False, 'align_to': None,
        # The protocol.
        'learning_rate': 3e-4, 'grad_clip_max_norm': 1.0, 'batch_size': 32,
        'graphs': 'er', 'train_sizes': (8, 16), 'train_samples': 100_000,
        'train_steps': 312_500, 'val_size': 16, 'val_samples': 100,
        'test_size': 64, 'test_samples': 100,
    }
    assert {name: getattr(paper, name) for name in expected} == expected
    assert not paper.keeps_last
    backward = paper.backward_solver()
    assert backward == solvers.SolverConfig(
        method='anderson', tol=paper.tol / 10, max_iter=40)
    # What only concerns how a run goes about it, or what has no effect here.
    rest = set(vars(paper)) - set(expected)
    assert rest == {
        'algorithms', 'test_steps', 'seed', 'data_cache', 'eval_every',
        'checkpoint_every', 'log_every', 'align_weight', 'init_from',
        'nb_triplet_fts', 'nb_heads', 'encoder_init', 'freeze_processor',
        'layout', 'edge_pointers', 'scalars', 'self_loops'} | (
            rest & {'restrict_pointers'})

  def test_defaults_that_are_not_the_papers_are_named(self):
    """The docstring of `TrainConfig` lists them."""
    default, paper = configs.TrainConfig(), configs.PRESETS['paper']
    differing = {name for name in vars(default)
                 if getattr(default, name) != getattr(paper, name)}
    assert differing == {
        'gradient', *configs.DAMPED_SETTINGS, 'learning_rate', 'average',
        'select', 'jacobian_weight', 'jacobian_fraction', 'residual_weight',
        'wanted_steps',
        'train_samples', 'train_steps', 'eval_every'}

  def test_settings_of_the_damped_gradient(self):
    damped = configs.TrainConfig(backward_decay=0.3)
    assert (damped.backward_decay, damped.backward_max_iter) == (0.3, 20)
    for gradient in ('implicit', 'one_step', 'unrolled'):
      other = dataclasses.replace(configs.TrainConfig(), gradient=gradient)
      assert (other.backward_decay, other.backward_bound,
              other.backward_max_iter) == (None, None, None)
      assert dataclasses.replace(other, gradient='damped') == (
          configs.TrainConfig())
      with pytest.raises(ValueError, match='backward_decay=0.3 is a setting '
                         f'of gradient=damped; gradient={gradient}'):
        dataclasses.replace(damped, gradient=gradient)

  @pytest.mark.parametrize('old, expected', [
      # As 0.2 and what followed it wrote them.
      (dict(gradient='implicit', backward_decay=0.6, backward_bound=1.5,
            backward_max_iter=12),
       dict(gradient='damped', backward_decay=0.6, backward_bound=1.5,
            backward_max_iter=12)),
      (dict(gradient='implicit', backward_decay=0.3, backward_bound=0.0,
            backward_max_iter=20),
       dict(gradient='damped', backward_decay=0.3, backward_bound=0.0,
            backward_max_iter=20)),
      (dict(gradient='implicit', backward_decay=1.0, backward_bound=0.0,
            backward_max_iter=40, max_iter=40),
       dict(gradient='implicit', backward_decay=None)),
      (dict(gradient='implicit', backward_max_iter=12),
       dict(gradient='damped', backward_decay=1, backward_bound=0,
            backward_max_iter=12)),
      (dict(gradient='implicit'),
       dict(gradient='implicit', backward_max_iter=None,
            jacobian_fraction=1.0)),
      (dict(gradient='one_step', backward_decay=0.5, backward_bound=1.5,
            backward_max_iter=12),
       dict(gradient='one_step', backward_decay=None)),
      # Noise was accepted where there was none.
      (dict(model='nar', processor='pgn', noise_stddev=0.001),
       dict(model='nar', noise_stddev=0.0)),
      (dict(model='dear', noise_stddev=0.001), dict(noise_stddev=0.001)),
      (dict(noise_stddev=0.001), dict(noise_stddev=0.001)),
  ])
  def test_settings_of_earlier_versions(self, old, expected):
    config = configs.from_settings({'max_iter': 40, **old})
    assert {name: getattr(config, name) for name in expected} == expected

  @pytest.mark.parametrize('gradient', ['damped', 'implicit', 'one_step'])
  def test_what_is_written_today_is_read_as_it_is(self, gradient):
    config = configs.TrainConfig(gradient=gradient)
    stored = json.loads(json.dumps(dataclasses.asdict(config)))
    assert configs.from_settings(stored) == config

  def test_is_read_back_from_a_run_folder(self, finished, tmp_path):
    workdir, _ = finished
    assert configs.load_config(workdir) == TINY
    (tmp_path / 'config.json').write_text('{"config": {"colour": 1}}')
    with pytest.raises(checkpoints.RunError, match='colour'):
      configs.load_config(tmp_path)


def test_result(finished):
  workdir, result = finished
  assert result == checkpoints.read_json(workdir, 'result.json')
  assert result['val_score'] == result['val']['bfs']
  assert result['test_score'] == result['test']['bfs']
  assert result['test_outputs'] == {'bfs': {'pi': result['test_score']}}
  assert result['restrict_pointers'] == {'bfs': True}
  assert 0 <= result['test_score'] <= 1
  assert 0 <= result['test_converged'] <= 1
  assert result['test_solver_steps_mean'] >= 1
  assert (result['test_size'], result['steps']) == (4, 5)
  assert result['workdir'] == str(workdir)


def test_a_run_of_an_earlier_version_is_resumed(finished, tmp_path):
  workdir = tmp_path / 'old'
  shutil.copytree(finished[0], workdir)
  stored = checkpoints.read_json(workdir, 'config.json')
  stored['config']['gradient'] = 'implicit'  # the name that damped had
  checkpoints.write_json(workdir, 'config.json', stored)
  assert configs.load_config(workdir) == TINY
  longer = dataclasses.replace(TINY, train_steps=6)
  assert loop.train(longer, workdir, resume=True)['steps'] == 6
  exact = dataclasses.replace(TINY, gradient='implicit', train_steps=7)
  with pytest.raises(checkpoints.RunError, match="gradient='damped'"):
    loop.train(exact, workdir, resume=True)


def test_metrics_file(finished):
  lines = read_metrics(finished[0])
  train = [line for line in lines if line['split'] == 'train']
  val = [line for line in lines if line['split'] == 'val']
  assert [line['step'] for line in train] == [1, 2, 3, 4, 5]
  assert all(set(METRICS) <= set(line) for line in train)
  # The last step is no multiple of eval_every, and validated all the same.
  assert [line['step'] for line in val] == [2, 4, 5]
  assert [line.get('final', False) for line in val] == [False, False, True]
  assert all({'task_loss', 'score', 'converged'} <= set(line) for line in val)


def test_the_lowest_validation_loss_is_selected(finished):
  workdir, result = finished
  val = [x for x in read_metrics(workdir) if x['split'] == 'val']
  best = min(val, key=lambda line: line['task_loss'])
  assert result['best_step'] == best['step']
  assert result['val_loss'] == best['task_loss']
  assert result['val_score'] == best['score']


def test_the_last_average_is_selected(finished, tmp_path):
  workdir = tmp_path / 'copy'
  shutil.copytree(finished[0], workdir)
  config = dataclasses.replace(TINY, select='last')
  result = loop.train(config, workdir, resume=True)
  # Whichever is kept, a run tells of both.
  assert result['by_rule'] == finished[1]['by_rule']
  for found in (result, finished[1]):
    rule = found['by_rule'][found['kept']]
    assert (rule['step'], rule['val_loss'], rule['test_score']) == (
        found['kept_step'], found['val_loss'], found['test_score'])
  last = [x for x in read_metrics(workdir) if x['split'] == 'val'][-1]
  assert (result['kept'], result['kept_step']) == ('last', 5)
  assert result['val_score'] == last['score']
  assert result['val_loss'] == pytest.approx(last['task_loss'])
  average = latest(workdir)[0]['opt_state'][-1]['average']
  jax.tree_util.tree_map(np.testing.assert_array_equal,
                         checkpoints.load_kept(workdir), average)
  # Whoever goes on from here does not remember that it once ended.
  loop.train(TINY, workdir, resume=True)
  assert_same_run(workdir, finished[0])


def test_what_is_selected_by_itself():
  assert configs.TrainConfig().keeps_last
  assert not configs.TrainConfig(average=False).keeps_last
  assert not configs.TrainConfig(select='best').keeps_last
  assert configs.TrainConfig(average=False, select='last').keeps_last
  assert not configs.PRESETS['paper'].keeps_last
  with pytest.raises(ValueError, match="Unknown select 'first'"):
    configs.TrainConfig(select='first')


def test_config_file_has_versions(finished):
  versions = checkpoints.read_json(finished[0], 'config.json')['versions']
  assert versions['jax'] == jax.__version__
  assert {'clrs', 'dear_jax'} <= set(versions)


def test_every_encoder_trains(finished):
  arrays, meta = latest(finished[0])
  assert meta['samplers'] == {'bfs': {'index': 5}}
  moments = arrays['opt_state'][0][1]['mu']  # beside the average
  encoders = [leaves for name, leaves in moments.items() if '_enc_' in name]
  assert encoders
  assert all(np.abs(x).max() > 0
             for x in jax.tree_util.tree_leaves(encoders))


def test_interrupted_and_resumed_is_bit_for_bit_the_same(finished, tmp_path):
  workdir, _ = finished
  before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
  def stop(step):
    if step == 3:  # no multiple of checkpoint_every, just past a validation
      os.kill(os.getpid(), signal.SIGTERM)
    return False
  stopped = loop.train(TINY, tmp_path, should_stop=stop)
  # The signal is seen no later than the step after it.
  assert stopped == {'interrupted': True, 'step': stopped['step'],
                     'workdir': str(tmp_path)}
  assert stopped['step'] in (3, 4)
  assert not (tmp_path / 'result.json').exists()
  assert before == (signal.getsignal(signal.SIGTERM),
                    signal.getsignal(signal.SIGINT))
  loop.train(TINY, tmp_path, resume=True)
  assert_same_run(tmp_path, workdir)


def test_a_longer_run_continues_a_shorter_one(finished, tmp_path):
  workdir, _ = finished
  # Ends on a validation that the longer run does not have.
  first = loop.train(dataclasses.replace(TINY, train_steps=1), tmp_path)
  assert first['best_step'] == 1
  loop.train(TINY, tmp_path, resume=True)
  assert_same_run(tmp_path, workdir)
  # Once more, with nothing left to train.
  loop.train(TINY, tmp_path, resume=True)
  assert_same_run(tmp_path, workdir)
  with pytest.raises(checkpoints.RunError, match='5 steps already'):
    loop.train(dataclasses.replace(TINY, train_steps=4), tmp_path,
                   resume=True)
  assert configs.load_config(tmp_path) == TINY


def test_more_at_rest_in_the_test_changes_nothing_else(finished, tmp_path):
  workdir, before = finished
  other = dataclasses.replace(TINY, test_criterion='node')
  after = loop.train(other, tmp_path / 'new')
  jax.tree_util.tree_map(np.testing.assert_array_equal,
                         *[latest(x)[0] for x in (tmp_path / 'new', workdir)])
  assert after['val'] == before['val']
  assert after['test_solver_steps_mean'] > before['test_solver_steps_mean']
  # A run that is over can be tested anew.
  shutil.copytree(workdir, tmp_path / 'old')
  again = loop.train(other, tmp_path / 'old', resume=True)
  for result in (after, again):
    del result['seconds'], result['workdir']
  assert again == after


def test_a_folder_with_a_run_needs_resume(finished, tmp_path):
  workdir, _ = finished
  with pytest.raises(checkpoints.RunError, match='already holds a run'):
    loop.train(TINY, workdir)
  with pytest.raises(checkpoints.RunError, match='learning_rate=0.002'):
    loop.train(dataclasses.replace(TINY, learning_rate=0.1), workdir,
                   resume=True)
  with pytest.raises(checkpoints.RunError, match='no checkpoint'):
    loop.train(TINY, tmp_path, resume=True)


def test_a_run_that_is_older_than_a_setting(finished, tmp_path):
  workdir = tmp_path / 'old'
  shutil.copytree(finished[0], workdir)
  stored = checkpoints.read_json(workdir, 'config.json')
  del stored['config']['restrict_pointers']
  checkpoints.write_json(workdir, 'config.json', stored)
  assert configs.load_config(workdir) == TINY
  with pytest.raises(checkpoints.RunError,
                     match="restrict_pointers='auto', .* become 'false'"):
    loop.train(dataclasses.replace(TINY, restrict_pointers='false'),
                   workdir, resume=True)
  result = loop.train(TINY, workdir, resume=True)
  assert result['restrict_pointers'] == {'bfs': True}


@pytest.mark.parametrize('stored, expected', [
    (dict(algorithms=['floyd_warshall']), 'nodes'),
    (dict(algorithms=['floyd_warshall'], restrict_pointers='auto'), 'nodes'),
    (dict(algorithms=['bfs', 'floyd_warshall']), 'nodes'),
    (dict(algorithms=['floyd_warshall'], restrict_pointers='false'), 'false'),
    (dict(algorithms=['floyd_warshall'], restrict_pointers='auto',
          edge_pointers='clrs'), 'auto'),
    (dict(algorithms=['bfs']), 'auto')])
def test_pointers_of_runs_before_those_of_edges_were_restricted(stored,
                                                                expected):
  config = configs.from_settings(stored)
  assert (config.restrict_pointers, config.edge_pointers) == (expected, 'clrs')
  again = configs.from_settings(dataclasses.asdict(config))
  assert again == config
  assert not config.restricts_pointers(config.algorithms[-1]) or (
      expected == 'auto')


@pytest.fixture(name='fake_step')
def _fake_step(monkeypatch):
  """Replaces the training step by one that only sets the metrics."""
  def install(change):
    def feedback(self, unused_key, unused_feedback, unused_index):
      install.calls += 1
      self.metrics = dict.fromkeys(METRICS, np.float32(1.0))
      change(self, install.calls)
    install.calls = 0
    monkeypatch.setattr(dear.DEARModel, 'feedback', feedback)
    monkeypatch.setattr(dear.DEARModel, 'compile_feedback', lambda *args: None)
  return install


def test_nan_stops_the_run_and_keeps_the_last_checkpoint(fake_step, tmp_path):
  def change(model, call):
    if call == 4:
      model.metrics['loss'] = np.float32('nan')
  fake_step(change)
  with pytest.raises(FloatingPointError, match=(
      'loss of bfs is nan at step 4: .*learning_rate.* step 2 ')):
    loop.train(TINY, tmp_path)
  assert latest(tmp_path)[1]['step'] == 2


def test_bad_parameters_are_not_saved(fake_step, tmp_path):
  def change(model, call):
    if call == 3:
      model.params = jax.tree_util.tree_map(
          lambda x: np.full_like(x, np.inf), model.params)
  fake_step(change)
  with pytest.raises(FloatingPointError, match='parameter is not finite'):
    loop.train(TINY, tmp_path)
  arrays, meta = latest(tmp_path)
  assert meta['step'] == 2
  assert all(np.isfinite(x).all()
             for x in jax.tree_util.tree_leaves(arrays['params']))


@pytest.mark.parametrize('forward, backward, told', [
    (0.5, 1.0, ['reached an equilibrium']),
    (1.0, 0.5, ['of the backward solves converged']),
    (0.95, 0.95, [])])
def test_low_convergence_is_told_once(forward, backward, told, fake_step,
                                      tmp_path, capsys):
  def change(model, unused_call):
    model.metrics['converged'] = np.float32(forward)
    model.metrics['backward_converged'] = np.float32(backward)
  fake_step(change)
  config = dataclasses.replace(TINY, train_steps=25, eval_every=100,
                               checkpoint_every=100)
  loop.train(config, tmp_path)
  warnings = [line for line in capsys.readouterr().err.splitlines()
              if line.startswith('Warning: ')]
  assert len(warnings) == len(told)
  assert all('only 50%' in line and text in line
             for line, text in zip(warnings, told))


def test_a_training_set_of_fixed_size_is_gone_through_in_epochs(
    fake_step, tmp_path, monkeypatch):
  seen = []
  sample = samplers.TaskSampler._sample
  def spy(self, size, samples):
    if threading.current_thread() is not threading.main_thread():
      seen.append(samples.tolist())
    return sample(self, size, samples)
  monkeypatch.setattr(samplers.TaskSampler, '_sample', spy)
  fake_step(lambda model, call: None)
  loop.train(dataclasses.replace(TINY, train_samples=5), tmp_path)
  assert seen[:2] == [[0, 1], [2, 3]]  # 5 // 2 batches
  assert sorted(sum(seen[2:4], [])) == [0, 1, 2, 3]
  assert len(seen) == 5


def test_runs_in_a_thread_without_signal_handlers(fake_step, tmp_path):
  fake_step(lambda model, call: None)
  results = []
  thread = threading.Thread(
      target=lambda: results.append(loop.train(TINY, tmp_path)))
  thread.start()
  thread.join()
  assert results[0]['steps'] == 5


def test_second_signal_aborts():
  with stop_signals.StopSignals() as signals:
    os.kill(os.getpid(), signal.SIGINT)
    assert signals.requested
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    with pytest.raises(KeyboardInterrupt):
      os.kill(os.getpid(), signal.SIGINT)
      threading.Event().wait(5)


def test_compilation_cache(tmp_path, monkeypatch):
  before = (jax.config.jax_compilation_cache_dir,
            jax.config.jax_persistent_cache_min_compile_time_secs)
  try:
    jax.config.update('jax_compilation_cache_dir', str(tmp_path / 'mine'))
    assert loop.enable_compilation_cache() == str(tmp_path / 'mine')
    jax.config.update('jax_compilation_cache_dir', None)
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path))
    folder = tmp_path / 'dear_jax' / 'xla'
    assert loop.enable_compilation_cache() == str(folder)
    assert folder.is_dir()
    assert jax.config.jax_compilation_cache_dir == str(folder)
    jax.config.update('jax_compilation_cache_dir', None)
    (tmp_path / 'file').write_text('')
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'file'))
    assert loop.enable_compilation_cache() is None
  finally:
    jax.config.update('jax_compilation_cache_dir', before[0])
    jax.config.update('jax_persistent_cache_min_compile_time_secs', before[1])
    compilation_cache.reset_cache()


def test_several_algorithms(tmp_path):
  config = dataclasses.replace(
      TINY, algorithms=('bfs', 'minimum'), train_steps=2, solver='picard',
      gradient='one_step')  # which is less to compile
  result = loop.train(config, tmp_path)
  assert set(result['test']) == {'bfs', 'minimum'}
  assert result['test_score'] == pytest.approx(
      np.mean(list(result['test'].values())))
  assert [(x['split'], x['step'], x['algorithm'])
          for x in read_metrics(tmp_path)] == [
              ('train', 1, 'bfs'), ('train', 1, 'minimum'),
              ('train', 2, 'bfs'), ('train', 2, 'minimum'),
              ('val', 2, 'bfs'), ('val', 2, 'minimum')]


@pytest.fixture(name='poison')
def _poison(monkeypatch):
  """Puts NaN among the inputs of the first instances of training batches."""
  count = [0]
  from_config = loop.splits.from_config

  class Poisoned:

    def __init__(self, sampler):
      self.__dict__['sampler'] = sampler

    def __getattr__(self, name):
      return getattr(self.sampler, name)

    def __setattr__(self, name, value):
      setattr(self.sampler, name, value)

    def batch(self, index):
      batch = self.sampler.batch(index)
      for point in batch.features.inputs:
        if point.name == 'pos':
          point.data = np.array(point.data)
          point.data[:count[0]] = np.nan
      return batch

  monkeypatch.setattr(
      loop.splits, 'from_config', lambda *args, **kwargs: (
          lambda split: split._replace(train=Poisoned(split.train)))(
              from_config(*args, **kwargs)))
  return lambda value: count.__setitem__(0, value)


def test_instances_with_nan_are_counted_and_left_out(poison, tmp_path, capsys):
  poison(1)  # of two
  loop.train(TINY, tmp_path / 'one')
  rows = [row for row in read_metrics(tmp_path / 'one')
          if row['split'] == 'train']
  assert [row['failed'] for row in rows] == [0.5] * TINY.train_steps
  assert all(row['loss'] < 10 for row in rows)  # what was left out is not in it
  assert max(row['gradient_norm'] for row in rows) > 0
  assert capsys.readouterr().err.count('led to NaN or infinity') == 1
  params = checkpoints.load_kept(tmp_path / 'one')
  assert all(np.isfinite(x).all() for x in jax.tree_util.tree_leaves(params))

  poison(2)
  with pytest.raises(FloatingPointError, match=(
      'Every instance of bfs led to NaN or infinity at step 1: .* the '
      'checkpoint of step 0 in .* is still good')):
    loop.train(TINY, tmp_path / 'all')
