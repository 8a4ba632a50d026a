# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the files of a run."""

import dataclasses
import json
import pathlib
import shutil

from dear_jax.training import checkpoints
import jax
import numpy as np
import optax
import pytest


def make_state(step, value=None, best_step=0):
  value = step if value is None else value
  params = {'net/~/linear': {'w': np.full((2, 3), value, np.float32)},
            'algo_0_enc': {'b': np.arange(3, dtype=np.float32) + value}}
  opt = optax.chain(optax.clip_by_global_norm(1.0), optax.scale_by_adam())
  best = checkpoints.Best(
      params=jax.tree_util.tree_map(lambda x: x + 100, params))
  if best_step:
    best = dataclasses.replace(best, step=best_step, loss=0.1 + value,
                               score=0.9)
  return checkpoints.TrainState(
      params=params, opt_state=jax.device_get(opt.init(params)),
      rng_key=np.array([7, 2**32 - 1], np.uint32), best=best,
      samplers={'bfs': {'index': step}}, step=step, seconds=1.5)


def assert_same(a, b):
  a, b = dataclasses.asdict(a), dataclasses.asdict(b)
  assert (jax.tree_util.tree_structure(a) == jax.tree_util.tree_structure(b))
  jax.tree_util.tree_map(np.testing.assert_array_equal, a, b)


def steps_in(workdir, name):
  folder = pathlib.Path(workdir) / 'checkpoints' / name
  return sorted(int(path.name) for path in folder.iterdir())


def test_everything_comes_back(tmp_path):
  state = make_state(5, best_step=3)
  with checkpoints.Checkpoints(tmp_path) as saved:
    assert saved.latest_step is None
    saved.save(state)
  with checkpoints.Checkpoints(tmp_path) as saved:
    assert saved.latest_step == 5
    loaded = saved.restore(make_state(0))
  assert_same(loaded, state)
  assert isinstance(loaded.opt_state[1], optax.ScaleByAdamState)
  assert loaded.rng_key.dtype == np.uint32


def test_only_the_newest_are_kept(tmp_path):
  with checkpoints.Checkpoints(tmp_path) as saved:
    for step in (1, 2, 3):
      saved.save(make_state(step))
      saved.save_best(make_state(step, best_step=step).best)
  assert steps_in(tmp_path, 'latest') == [2, 3]
  assert steps_in(tmp_path, 'best') == [3]


def test_a_failed_save_leaves_the_one_before(tmp_path):
  good = make_state(1)
  with checkpoints.Checkpoints(tmp_path) as saved:
    saved.save(good)
    with pytest.raises(TypeError):
      saved.save(dataclasses.replace(make_state(2),
                                     samplers={'bfs': object()}))
  with checkpoints.Checkpoints(tmp_path) as saved:
    assert saved.latest_step == 1
    assert_same(saved.restore(make_state(0)), good)
    saved.save(make_state(2))  # what the failure left is not in the way
  assert steps_in(tmp_path, 'latest') == [1, 2]


def assert_kept(workdir, params):
  jax.tree_util.tree_map(np.testing.assert_array_equal,
                         checkpoints.load_kept(workdir), params)


def test_what_is_kept(tmp_path):
  best = make_state(4, best_step=4).best
  last = make_state(6, best_step=6).best
  with checkpoints.Checkpoints(tmp_path) as saved:
    saved.save_best(best)
    assert_kept(tmp_path, best.params)
    saved.save_final(checkpoints.Kept(**vars(last), which='last'))
    assert_kept(tmp_path, last.params)
    assert steps_in(tmp_path, 'best') == [4]
    saved.save_final(checkpoints.Kept(**vars(best)))  # an earlier step
    assert_kept(tmp_path, best.params)
    assert steps_in(tmp_path, 'final') == [4]
    saved.save_best(last)
    saved.remove_final()
    assert_kept(tmp_path, last.params)


def test_folders_of_older_versions(tmp_path):
  """Without checksums, settings in the checkpoint, and what was kept."""
  state = make_state(6, best_step=4)
  with checkpoints.Checkpoints(tmp_path) as saved:
    saved.save(state)
    saved.save_best(make_state(6, value=50, best_step=6).best)
  shutil.rmtree(tmp_path / 'checkpoints' / 'final')
  for path in tmp_path.rglob('checksums.json'):
    path.unlink()
  assert_kept(tmp_path, make_state(6, value=50, best_step=6).best.params)
  with checkpoints.Checkpoints(tmp_path) as saved:
    template = dataclasses.replace(make_state(0), settings={'tol': 0.2})
    assert_same(saved.restore(template), state)


@pytest.mark.parametrize('ahead', [None, 6, 8])
def test_resuming_puts_the_best_back(tmp_path, ahead):
  state = make_state(6, best_step=4)
  with checkpoints.Checkpoints(tmp_path) as saved:
    saved.save(state)
    if ahead:
      saved.save_best(make_state(ahead, value=50, best_step=ahead).best)
  with checkpoints.Checkpoints(tmp_path) as saved:
    saved.restore(make_state(0))
  assert steps_in(tmp_path, 'best') == [4]
  jax.tree_util.tree_map(np.testing.assert_array_equal,
                         checkpoints.load_kept(tmp_path), state.best.params)


def test_resuming_before_any_validation_forgets_a_later_best(tmp_path):
  with checkpoints.Checkpoints(tmp_path) as saved:
    saved.save(make_state(1))
    saved.save_best(make_state(2, best_step=2).best)
    saved.restore(make_state(0))
  with pytest.raises(checkpoints.RunError, match='not validated yet'):
    checkpoints.load_kept(tmp_path)


def test_load_kept_falls_back_on_the_latest(tmp_path):
  state = make_state(6, best_step=4)
  with checkpoints.Checkpoints(tmp_path) as saved:
    saved.save(state)
  jax.tree_util.tree_map(np.testing.assert_array_equal,
                         checkpoints.load_kept(tmp_path), state.best.params)


def test_a_missing_checkpoint(tmp_path):
  assert not checkpoints.has_checkpoint(tmp_path / 'nowhere')
  with checkpoints.Checkpoints(tmp_path) as saved:
    with pytest.raises(checkpoints.RunError, match='no checkpoint to resume'):
      saved.restore(make_state(0))
  assert not checkpoints.has_checkpoint(tmp_path)
  with pytest.raises(checkpoints.RunError, match='not a run folder'):
    checkpoints.load_kept(tmp_path / 'nowhere')


def test_a_damaged_checkpoint(tmp_path):
  with checkpoints.Checkpoints(tmp_path) as saved:
    saved.save(make_state(1))
  assert checkpoints.has_checkpoint(tmp_path)
  for path in (tmp_path / 'checkpoints/latest/1/arrays').rglob('*'):
    if path.is_file():
      path.write_bytes(b'nonsense')
  with checkpoints.Checkpoints(tmp_path) as saved:
    with pytest.raises(checkpoints.RunError, match='damaged'):
      saved.restore(make_state(0))


def test_a_checkpoint_of_another_model(tmp_path):
  with checkpoints.Checkpoints(tmp_path) as saved:
    saved.save(make_state(1))
    other = dataclasses.replace(
        make_state(0), params={'other': {'w': np.zeros(3, np.float32)}})
    with pytest.raises(checkpoints.RunError, match='another model'):
      saved.restore(other)
    other = dataclasses.replace(
        make_state(0), params=jax.tree_util.tree_map(
            lambda x: np.concatenate([x, x]), make_state(0).params))
    with pytest.raises(checkpoints.RunError, match='other shapes'):
      saved.restore(other)


def test_a_checkpoint_of_other_settings(tmp_path):
  state = dataclasses.replace(make_state(1), settings={'sizes': (4, 5)})
  with checkpoints.Checkpoints(tmp_path) as saved:
    saved.save(state)
    assert_same(saved.restore(dataclasses.replace(state, step=0)),
                dataclasses.replace(state, settings={'sizes': [4, 5]}))
    with pytest.raises(checkpoints.RunError,
                       match=r'sizes=\[4, 5\], .* become \[4, 4\]'):
      saved.restore(dataclasses.replace(state, settings={'sizes': (4, 4)}))


def test_settings_of_an_earlier_version_in_a_checkpoint(tmp_path):
  """They mean the same as those of config.json, which is read first."""
  for workdir, old, new in (
      (tmp_path / 'nar', {'model': 'nar', 'noise_stddev': 0.001},
       {'model': 'nar', 'noise_stddev': 0.0}),
      (tmp_path / 'floyd_warshall',
       {'algorithms': ['floyd_warshall'], 'restrict_pointers': 'auto'},
       {'algorithms': ['floyd_warshall'], 'restrict_pointers': 'nodes'})):
    state = dataclasses.replace(make_state(1), settings=old)
    with checkpoints.Checkpoints(workdir) as saved:
      saved.save(state)
      saved.restore(dataclasses.replace(state, settings=new))


def check(workdir, resume=False, versions=None, **config):
  return checkpoints.check_folder(
      workdir, dict({'tol': 0.1, 'train_steps': 5, 'sizes': (4, 5)}, **config),
      versions=versions or {'jax': '1'}, resume=resume,
      may_change=('train_steps',))


def test_a_new_folder_is_made(tmp_path):
  checkpoints.make_folder(tmp_path / 'a' / 'b', resume=False)
  assert (tmp_path / 'a' / 'b').is_dir()
  assert check(tmp_path / 'a' / 'b') is None  # nothing was saved in it yet
  with pytest.raises(checkpoints.RunError, match='no checkpoint to resume'):
    checkpoints.make_folder(tmp_path / 'c', resume=True)
  assert not (tmp_path / 'c').exists()


def test_what_a_resumed_run_may_change(tmp_path):
  with pytest.raises(checkpoints.RunError, match='no checkpoint'):
    check(tmp_path, resume=True)
  with checkpoints.Checkpoints(tmp_path) as saved:
    saved.save(make_state(1))
  for nothing in ([], {}, {'config': 3}):
    checkpoints.write_json(tmp_path, 'config.json', nothing)
    with pytest.raises(checkpoints.RunError, match='holds no settings'):
      check(tmp_path, resume=True)
  checkpoints.write_json(tmp_path, 'config.json', {
      'config': {'tol': 0.1, 'train_steps': 5, 'sizes': (4, 5)},
      'versions': {'jax': '1'}})
  with pytest.raises(checkpoints.RunError, match='--resume .* --workdir'):
    check(tmp_path)
  with pytest.raises(checkpoints.RunError, match='tol=0.1, .* become 0.2'):
    check(tmp_path, resume=True, tol=0.2)
  assert check(tmp_path, resume=True, train_steps=9, young=1) is None
  notice = check(tmp_path, resume=True, versions={'jax': '2'})
  assert 'another version of jax' in notice


def test_a_workdir_that_is_a_file(tmp_path):
  (tmp_path / 'file').write_text('')
  with pytest.raises(checkpoints.RunError, match='cannot be made'):
    checkpoints.make_folder(tmp_path / 'file', resume=False)


def test_unreadable_json(tmp_path):
  (tmp_path / 'config.json').write_text('{')
  with pytest.raises(checkpoints.RunError, match='config.json cannot be read'):
    checkpoints.read_json(tmp_path, 'config.json')


def test_metrics_past_the_step_are_dropped(tmp_path):
  with checkpoints.MetricsFile(tmp_path, 0) as metrics:
    for step in (1, 2, 3):
      metrics.write({'step': step, 'loss': float('nan')})
    metrics.write({'step': 2, 'final': True})
  path = tmp_path / 'metrics.jsonl'
  with path.open('a') as f:
    f.write('{"step": 1, "lo')  # a kill in the middle of a line
  with checkpoints.MetricsFile(tmp_path, 2) as metrics:
    metrics.write({'step': 3, 'loss': 0.5})
  lines = [json.loads(line) for line in path.read_text().splitlines()]
  assert lines == [{'step': 1, 'loss': None}, {'step': 2, 'loss': None},
                   {'step': 3, 'loss': 0.5}]


def test_metrics_that_make_no_sense_are_dropped_and_told(tmp_path):
  path = tmp_path / 'metrics.jsonl'
  good = b'{"step": 1, "loss": 0.5}\n'
  path.write_bytes(good + b'{"loss": 0.5}\n[1]\n{"step": "1"}\n"step"\n'
                   b'{"step": null}\n{"step": true}\n\xff\n\n\0\0\n' + good
                   + b'{"loss"')  # the last one is what a kill leaves
  told = []
  with checkpoints.MetricsFile(tmp_path, 2, told.append):
    pass
  assert path.read_bytes() == 2 * good
  assert len(told) == 1 and 'Left out 8 lines of' in told[0]
  with checkpoints.MetricsFile(tmp_path, 2, told.append):
    pass
  assert len(told) == 1
