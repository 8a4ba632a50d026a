# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""The files of a run: save, restore, resume.

A run folder holds its settings, its metrics and two checkpoints. These are
written by orbax, which makes a checkpoint visible only once it is complete:

  checkpoints/latest  everything that training needs to go on bit for bit
  checkpoints/best    the parameters with the lowest validation loss, or those
                      that were kept at the end of the run

The latest one also holds the best parameters. A run that was killed between
two saves may have left `best` newer than `latest`; resuming puts it back to
what it was at that step.
"""

import contextlib
import dataclasses
import json
import math
import os
import pathlib
from typing import Any, Collection, Dict, Mapping, Optional, Union

from dear_jax import progress
import numpy as np
import orbax.checkpoint as ocp

PathLike = Union[str, os.PathLike]


class RunError(ValueError):
  """A run folder does not allow what was asked of it."""


def read_json(workdir: PathLike, name: str) -> Any:
  """Reads a JSON file of a run folder; a RunError if it cannot."""
  path = pathlib.Path(workdir) / name
  try:
    return json.loads(path.read_text())
  except FileNotFoundError as e:
    raise RunError(f'{os.fspath(workdir)} is not a run folder: it has no '
                   f'{name}.') from e
  except (OSError, ValueError) as e:
    raise RunError(f'{path} cannot be read ({_first_line(e)}).') from e


def write_json(workdir: PathLike, name: str, value: Any) -> None:
  """Writes a JSON file of a run folder, as a whole or not at all."""
  path = pathlib.Path(workdir) / name
  _replace(path, json.dumps(_strict(value), indent=2) + '\n')


def check_folder(workdir: PathLike, config: Mapping[str, Any], *,
                 versions: Mapping[str, str], resume: bool,
                 may_change: Collection[str]) -> Optional[str]:
  """Checks that a run can be begun in a folder, or resumed.

  Args:
    workdir: The run folder; made if a run begins and it does not exist.
    config: The settings.
    versions: Of the libraries in use.
    resume: Whether the folder has to hold a run already, or must not.
    may_change: The settings in which a resumed run may differ.

  Returns:
    What the user should know, if anything.

  Raises:
    RunError: if the folder, or a setting, does not allow it.
  """
  workdir = pathlib.Path(workdir)
  if not resume:
    if has_checkpoint(workdir):
      raise RunError(f'{workdir} already holds a run: pass --resume to go on '
                     'with it, or choose another --workdir.')
    try:
      workdir.mkdir(parents=True, exist_ok=True)
    except OSError as e:
      raise RunError(f'{workdir} cannot be made ({_first_line(e)}).') from e
    return None
  if not has_checkpoint(workdir):
    raise RunError(f'There is no checkpoint to resume from in {workdir}: '
                   'start the run without --resume.')
  stored = read_json(workdir, 'config.json')
  settings = stored.get('config', {})
  # Tuples become lists, as in the file.
  for name, value in json.loads(json.dumps(config)).items():
    # A setting that is younger than the run had no effect on it.
    if name not in may_change and settings.get(name, value) != value:
      raise RunError(
          f'The run in {workdir} has {name}={settings[name]!r}, which cannot '
          f'become {value!r} when it is resumed.')
  changed = [name for name, version in stored.get('versions', {}).items()
             if versions.get(name, version) != version]
  if changed:
    return (f'This run was begun with another version of {", ".join(changed)}:'
            ' from here on it may differ from one that was never stopped.')
  return None


class MetricsFile:
  """metrics.jsonl, one JSON object a line. A context manager."""

  NAME = 'metrics.jsonl'

  def __init__(self, workdir: PathLike, step: int):
    """Opens the file.

    Args:
      workdir: The run folder.
      step: Where the run stands. What the file holds of later steps, or of a
        final evaluation, is dropped: the run has not been there.
    """
    path = pathlib.Path(workdir) / self.NAME
    lines = path.read_text().splitlines() if path.exists() else []
    _replace(path, ''.join(
        line + '\n' for line in lines if _is_before(line, step)))
    self._file = path.open('a')

  def __enter__(self) -> 'MetricsFile':
    return self

  def __exit__(self, *unused_exc_info):
    self._file.close()

  def write(self, values: Mapping[str, Any]) -> None:
    self._file.write(json.dumps(_strict(values)) + '\n')
    self._file.flush()


def _is_before(line: str, step: int) -> bool:
  try:
    values = json.loads(line)
  except ValueError:  # cut short by a kill
    return False
  return values['step'] <= step and not values.get('final', False)


@dataclasses.dataclass(frozen=True)
class Best:
  """The best parameters so far, by mean task loss on the validation set."""
  params: Any
  step: int = 0  # 0: nothing was validated yet
  loss: float = float('inf')
  score: float = float('nan')


@dataclasses.dataclass(frozen=True)
class TrainState:
  """What a run needs to go on as if it had never stopped."""
  params: Any
  opt_state: Any
  rng_key: np.ndarray  # [2], the raw words of the key
  best: Best
  samplers: Dict[str, Dict[str, int]]
  step: int = 0
  seconds: float = 0.0


class Checkpoints:
  """The two checkpoints of a run folder. A context manager."""

  def __init__(self, workdir: PathLike):
    self._workdir = pathlib.Path(workdir)
    self._latest = _open(_folder(workdir, 'latest'))
    self._best = _open(_folder(workdir, 'best'))

  def __enter__(self) -> 'Checkpoints':
    return self

  def __exit__(self, *unused_exc_info):
    self._latest.close()
    self._best.close()

  @property
  def latest_step(self) -> Optional[int]:
    """The step of the latest checkpoint, None if there is none."""
    return self._latest.latest_step()

  def save(self, state: TrainState) -> None:
    """Saves everything; the checkpoint before it goes once this one stands."""
    if self.latest_step == state.step:  # orbax refuses to write a step twice
      return
    arrays = {'params': state.params, 'opt_state': state.opt_state,
              'rng_key': state.rng_key, 'best_params': state.best.params}
    meta = {'step': state.step, 'seconds': state.seconds,
            'samplers': state.samplers, 'best': _best_meta(state.best)}
    _save(self._latest, state.step, arrays, meta)

  def save_best(self, best: Best) -> None:
    """Makes `best` the best checkpoint, also if the present one is newer."""
    for step in self._best.all_steps():
      if step >= best.step:
        self._best.delete(step)
    if best.step:
      _save(self._best, best.step, {'params': best.params}, _best_meta(best))

  def restore(self, template: TrainState) -> TrainState:
    """Loads the latest checkpoint, and sets the best one back to match it.

    Args:
      template: A state of the same structure and shapes, such as that of a
        model that was just initialised.

    Returns:
      The saved state.

    Raises:
      RunError: if there is no checkpoint, or one that does not fit.
    """
    step = self.latest_step
    if step is None:
      raise RunError(f'There is no checkpoint to resume from in '
                     f'{self._workdir}: start this run without --resume.')
    arrays, meta = _load(self._latest, step, {
        'params': template.params, 'opt_state': template.opt_state,
        'rng_key': template.rng_key, 'best_params': template.best.params})
    try:
      best = Best(params=arrays['best_params'], **meta['best'])
      state = TrainState(
          params=arrays['params'], opt_state=arrays['opt_state'],
          rng_key=arrays['rng_key'], best=best, samplers=meta['samplers'],
          step=meta['step'], seconds=meta['seconds'])
    except (KeyError, TypeError) as e:
      raise RunError(f'The checkpoint in {self._workdir} was not written by '
                     f'this version of dear_jax ({e}).') from e
    if self._best.all_steps() != ([best.step] if best.step else []):
      self.save_best(best)
    return state


def has_checkpoint(workdir: PathLike) -> bool:
  """Whether a folder holds a run that can be resumed."""
  folder = _folder(workdir, 'latest')
  if not folder.is_dir():
    return False
  with contextlib.closing(_open(folder, read_only=True)) as manager:
    return manager.latest_step() is not None


def load_best(workdir: PathLike) -> Any:
  """Loads the best parameters of a run.

  Args:
    workdir: The run folder.

  Returns:
    The parameters, as a Haiku tree of numpy arrays.

  Raises:
    RunError: if the folder holds none.
  """
  # A run killed while it replaced its best checkpoint has them in the other.
  for name, key in (('best', 'params'), ('latest', 'best_params')):
    folder = _folder(workdir, name)
    if not folder.is_dir():
      continue
    with contextlib.closing(_open(folder, read_only=True)) as manager:
      step = manager.latest_step()
      if step is None:
        continue
      arrays, meta = _load(manager, step, None)
    if name == 'best' or meta.get('best', {}).get('step'):
      return arrays[key]
  raise RunError(f'{os.fspath(workdir)} holds no best checkpoint: it is not a '
                 'run folder, or the run was not validated yet.')


def _folder(workdir: PathLike, name: str) -> pathlib.Path:
  return pathlib.Path(workdir).absolute() / 'checkpoints' / name


def _open(folder: pathlib.Path, read_only: bool = False
          ) -> ocp.CheckpointManager:
  """Opens one checkpoint folder."""
  # Not asynchronous: a save is short and has to be over before the
  # process may end.
  options = ocp.CheckpointManagerOptions(
      max_to_keep=None if read_only else 1, enable_async_checkpointing=False,
      cleanup_tmp_directories=not read_only, create=not read_only,
      read_only=read_only)
  try:
    with progress.quiet_absl():
      return ocp.CheckpointManager(folder, options=options)
  except Exception as e:
    raise RunError(f'{folder} cannot be used for checkpoints '
                   f'({_first_line(e)}).') from e


def _save(manager: ocp.CheckpointManager, step: int, arrays: Any, meta: Any):
  with progress.quiet_absl():
    manager.save(step, force=True, args=ocp.args.Composite(
        arrays=ocp.args.StandardSave(arrays), meta=ocp.args.JsonSave(meta)))
    manager.wait_until_finished()


def _load(manager: ocp.CheckpointManager, step: int, template: Any):
  """Loads one checkpoint: its arrays, and its plain values."""
  try:
    with progress.quiet_absl():
      loaded = manager.restore(step, args=ocp.args.Composite(
          arrays=ocp.args.StandardRestore(template),
          meta=ocp.args.JsonRestore()))
  # Orbax raises whatever its layers raise for a damaged or foreign folder.
  except Exception as e:
    raise RunError(
        f'The checkpoint {manager.directory}/{step} is damaged or belongs to '
        f'another model ({_first_line(e)}).') from e
  return loaded.arrays, loaded.meta


def _best_meta(best: Best) -> Dict[str, Any]:
  return {'step': best.step, 'loss': best.loss, 'score': best.score}


def _first_line(error: Exception) -> str:
  lines = str(error).strip().splitlines()
  return lines[0][:200] if lines else type(error).__name__


def _strict(value: Any) -> Any:
  """Replaces what JSON has no word for, NaN and infinity, by null."""
  if isinstance(value, Mapping):
    return {k: _strict(v) for k, v in value.items()}
  if isinstance(value, (list, tuple)):
    return [_strict(v) for v in value]
  if isinstance(value, float) and not math.isfinite(value):
    return None
  return value


def _replace(path: pathlib.Path, text: str) -> None:
  """Writes a file so that a kill leaves either the old or the new one."""
  temporary = path.with_name(path.name + '.tmp')
  temporary.write_text(text)
  os.replace(temporary, path)
