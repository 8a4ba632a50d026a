# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of models that build on other runs: teachers and warm starts."""

import dataclasses
import functools
import shutil

from dear_jax.models import dear
from dear_jax.models import nar
from dear_jax.training import builders
from dear_jax.training import checkpoints
from dear_jax.training import configs
from dear_jax.training import loop
from dear_jax.training import splits
import jax
import numpy as np
import pytest

NAR = configs.TrainConfig(
    model='nar', test_steps='learned', batch_size=2, hidden_size=8,
    train_steps=2, train_sizes=(4, 4), val_size=4, test_size=4, val_samples=2,
    test_samples=2, eval_every=1, checkpoint_every=1, log_every=1)
# How it solves makes no difference here, but to the time of compiling it.
DEAR = dataclasses.replace(NAR, model='dear', processor='dear_pgn',
                           test_steps='true', solver='picard',
                           gradient='one_step')


@pytest.fixture(name='nar', scope='module')
def _nar(tmp_path_factory):
  workdir = tmp_path_factory.mktemp('nar')
  result = loop.train(NAR, workdir)
  assert result['test_steps_mean'] >= 1
  assert 'test_converged' not in result
  return str(workdir)


@pytest.fixture(name='dear', scope='module')
def _dear(nar, tmp_path_factory):
  """A run that is taught, and starts from the parameters of its teacher."""
  workdir = tmp_path_factory.mktemp('dear')
  config = dataclasses.replace(DEAR, align_to=nar, init_from=nar)
  loop.train(config, workdir)
  return str(workdir), config


@functools.lru_cache(maxsize=None)
def _built(config):
  split = splits.from_config(config, 'bfs', with_lengths=config.needs_lengths)
  batch = split.train.batch(0)
  model = builders.build_model(
      config, [split.train.spec], [batch],
      builders.load_teacher(config, [split.train.spec], [batch]))
  model.init([batch.features], 0)
  return model, batch, model.params


def _model(config):
  """A model as it starts; those of equal settings share their programs."""
  model, batch, params = _built(config)
  model.restart(params)
  return model, batch


def test_settings_choose_the_model():
  assert isinstance(_model(NAR)[0], nar.NARModel)
  assert isinstance(_model(DEAR)[0], dear.DEARModel)


def test_parameters_go_from_an_unrolled_model_to_an_equilibrium(nar, dear):
  theirs = checkpoints.load_kept(nar)
  config = dear[1]
  fresh = _model(dataclasses.replace(config, align_to=None))[0].params
  params = builders.initial_params(config, fresh)
  assert set(params) == set(fresh)
  for module, values in params.items():
    jax.tree_util.tree_map(np.testing.assert_array_equal, values,
                           theirs[module])
  # What the other has more of is its network that decides when to stop.
  assert {module.split('/')[-1] for module in set(theirs) - set(params)} == {
      'algo_0_stop', 'algo_0_stop_hidden'}


def test_only_the_network_that_ends_a_run_is_optional():
  """Not what a user's own task has called by a name that begins as it does."""
  params = {f'net/~/{name}': {'w': np.ones(2)} for name in (
      'algo_0_stop', 'algo_12_stop_hidden', 'algo_0_stop_time_dec_linear',
      'algo_0_bus_stop_enc_linear')}
  assert {name.split('/')[-1] for name in builders.without_termination(params)
          } == {'algo_0_stop_time_dec_linear', 'algo_0_bus_stop_enc_linear'}


@pytest.mark.parametrize('cgp, padded', [(False, 5), (True, None)])
def test_a_teacher_has_the_cayley_graph_of_its_training(cgp, padded):
  config = dataclasses.replace(DEAR, train_sizes=(4, 5))
  split = splits.from_config(config, 'bfs', with_lengths=True)
  made = [split.train.spec], [split.train.batch(0)]
  teacher = builders.build_model(dataclasses.replace(NAR, cgp=cgp), *made)
  model = builders.build_model(config, *made, teacher)
  assert model.layouts._pad_to == padded


def test_parameters_go_back(dear):
  fresh = _model(NAR)[0].params
  config = dataclasses.replace(NAR, init_from=dear[0])
  params = builders.initial_params(config, fresh)
  theirs = checkpoints.load_kept(dear[0])
  for module, values in params.items():
    jax.tree_util.tree_map(np.testing.assert_array_equal, values,
                           theirs.get(module, fresh[module]))


def test_a_warm_start_averages_from_there(nar):
  model, _ = _model(DEAR)
  params = builders.initial_params(
      dataclasses.replace(DEAR, init_from=nar), model.params)
  model.restart(params)
  with model.averaged():
    jax.tree_util.tree_map(np.testing.assert_array_equal, model.params, params)


def test_alignment_trains_and_its_teacher_does_not(nar):
  config = dataclasses.replace(DEAR, align_to=nar)
  model, batch = _model(config)
  teacher = checkpoints.load_kept(nar)
  key = jax.random.PRNGKey(0)
  _, plain = _model(DEAR)[0].compute_grad(key, batch)
  _, aligned = model.compute_grad(key, batch)
  assert float(model.metrics['alignment_loss']) > 0
  assert float(model.metrics['loss']) == pytest.approx(
      float(model.metrics['task_loss']
            + 0.01 * model.metrics['jacobian_penalty']
            + 0.01 * model.metrics['alignment_loss']), rel=1e-5)
  # Decoders see nothing of the alignment, the processor does.
  differs = {
      module: any(np.max(np.abs(x - y)) > 1e-6 for x, y in zip(
          jax.tree_util.tree_leaves(plain[module]),
          jax.tree_util.tree_leaves(aligned[module])))
      for module in plain}
  assert differs['net/pgn_clrs_processor/~/update_state']
  assert not any(x for module, x in differs.items() if '_dec_' in module)
  model.feedback(key, batch)
  jax.tree_util.tree_map(np.testing.assert_array_equal,
                         model.teacher.params, teacher)


def test_resuming_does_not_need_where_it_started_from(dear, nar, tmp_path):
  shutil.copytree(dear[0], tmp_path / 'run')
  config = dataclasses.replace(dear[1], train_steps=3)
  moved = dataclasses.replace(config, init_from=nar)
  result = loop.train(moved, tmp_path / 'run', resume=True)
  assert result['steps'] == 3


@pytest.mark.parametrize('changes, message', [
    (dict(hidden_size=16), 'trained with hidden_size=8, but this run has '
     'hidden_size=16'),
    (dict(processor='dear_gat'), 'processor=dear_pgn, but this run has '
     'processor=dear_gat'),
    (dict(algorithms=('dfs',)), 'algorithm=bfs, but this run has '
     'algorithm=dfs')])
@pytest.mark.parametrize('setting', ['align_to', 'init_from'])
def test_other_runs_have_to_match(setting, changes, message, nar, tmp_path):
  config = dataclasses.replace(DEAR, **changes, **{setting: nar})
  with pytest.raises(checkpoints.RunError, match=f'{setting}=.*{message}'):
    loop.train(config, tmp_path)


@pytest.mark.parametrize('setting', ['align_to', 'init_from'])
def test_other_runs_have_to_exist(setting, tmp_path):
  config = dataclasses.replace(DEAR, **{setting: str(tmp_path / 'nowhere')})
  with pytest.raises(checkpoints.RunError, match='is not a folder'):
    loop.train(config, tmp_path / 'run')
  config = dataclasses.replace(DEAR, **{setting: str(tmp_path)})
  with pytest.raises(checkpoints.RunError, match='is not a run folder'):
    loop.train(config, tmp_path / 'run')


def test_teachers_are_unrolled(dear, tmp_path):
  config = dataclasses.replace(DEAR, align_to=dear[0])
  with pytest.raises(checkpoints.RunError, match='needs a run with model=nar'):
    loop.train(config, tmp_path)


def test_a_warm_start_needs_the_same_parts(nar, tmp_path):
  config = dataclasses.replace(DEAR, init_from=nar, norm='granola')
  with pytest.raises(checkpoints.RunError, match='granola'):
    loop.train(config, tmp_path)
