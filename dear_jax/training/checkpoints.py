# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""The checkpoints of a run: save, restore, resume.

They are written by orbax, which makes a checkpoint visible only once it is
complete, and each has the checksums of its files beside it:

  checkpoints/latest  everything that training needs to go on bit for bit, of
                      the last two times that it was saved
  checkpoints/best    the parameters with the lowest validation loss so far
  checkpoints/final   the parameters that the run kept when it ended: the best
                      or the last ones, as its settings say

The latest one also holds the best parameters. A run that was killed between
two saves may have left `best` newer than `latest`; resuming puts it back to
what it was at that step. A run that is resumed has no `final` until it ends
again. Folders of older versions have none at all: there `best` holds what was
kept, also if that were the last parameters.
"""

import contextlib
import dataclasses
import hashlib
import os
import pathlib
import shutil
from typing import Any, Callable, Collection, Dict, Mapping, Optional

from dear_jax.data import logs
from dear_jax.training import old_settings
from dear_jax.training import run_folder
import jax
import numpy as np
import orbax.checkpoint as ocp

# The files of a run folder are looked for here, too.
PathLike = run_folder.PathLike
RunError = run_folder.RunError
MetricsFile = run_folder.MetricsFile
read_json = run_folder.read_json
write_json = run_folder.write_json

_CHECKSUMS = 'checksums.json'
# Of the latest checkpoints, so that one of them may be damaged.
_KEPT = 2


def make_folder(workdir: PathLike, resume: bool) -> None:
  """Makes a run folder; if a run is resumed, it has to be there."""
  if resume:
    if not os.path.isdir(workdir):
      raise _nothing_to_resume(workdir)
    return
  try:
    os.makedirs(workdir, exist_ok=True)
  except OSError as e:
    raise RunError(f'{os.fspath(workdir)} cannot be made '
                   f'({run_folder.reason(e)}).') from e


def check_folder(workdir: PathLike, config: Mapping[str, Any], *,
                 versions: Mapping[str, str], resume: bool,
                 may_change: Collection[str],
                 complete: Callable[[Any], Any] = lambda settings: settings
                 ) -> Optional[str]:
  """Checks that a run can be begun in a folder, or resumed.

  Args:
    workdir: The run folder, see `make_folder`.
    config: The settings.
    versions: Of the libraries in use.
    resume: Whether the folder has to hold a run already, or must not.
    may_change: The settings in which a resumed run may differ.
    complete: Makes all settings of today out of those that an earlier version
      has stored. What a run does not name otherwise may change.

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
    return None
  if not has_checkpoint(workdir):
    raise _nothing_to_resume(workdir)
  stored = read_json(workdir, 'config.json')
  stored = stored if isinstance(stored, dict) else {}
  run_folder.check_settings(workdir, stored.get('config'), config, may_change,
                            complete)
  before = stored.get('versions')
  changed = [name for name, version in before.items()
             if versions.get(name, version) != version
             ] if isinstance(before, dict) else []
  if changed:
    return (f'This run was begun with another version of {", ".join(changed)}:'
            ' from here on it may differ from one that was never stopped.')
  return None


@dataclasses.dataclass(frozen=True)
class Best:
  """The best parameters so far, by mean task loss on the validation set."""
  params: Any
  step: int = 0  # 0: nothing was validated yet
  loss: float = float('inf')
  score: float = float('nan')


@dataclasses.dataclass(frozen=True)
class Kept(Best):
  """The parameters that a run keeps when it ends."""
  which: str = 'best'  # or 'last'


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
  # Those that a run has to keep; older versions did not save them.
  settings: Optional[Mapping[str, Any]] = None


class Checkpoints:
  """The checkpoints of a run folder, to be written. A context manager."""

  def __init__(self, workdir: PathLike):
    self._workdir = pathlib.Path(workdir)
    self._deleted = _folder(workdir, 'deleted')
    shutil.rmtree(self._deleted, ignore_errors=True)  # if a kill left it
    self._latest = _open(_folder(workdir, 'latest'), keep=_KEPT)
    self._best = _open(_folder(workdir, 'best'))
    self._final = _open(_folder(workdir, 'final'))

  def __enter__(self) -> 'Checkpoints':
    return self

  def __exit__(self, *unused_exc_info):
    for manager in (self._latest, self._best, self._final):
      manager.close()

  @property
  def latest_step(self) -> Optional[int]:
    """The step of the latest checkpoint, None if there is none."""
    return self._latest.latest_step()

  def save(self, state: TrainState) -> None:
    """Saves everything; older checkpoints go once this one stands.

    Args:
      state: Where the run stands.

    Raises:
      RunError: if it cannot be written. What was saved before is as it was.
    """
    if self.latest_step == state.step:  # orbax refuses to write a step twice
      return
    arrays = {'params': state.params, 'opt_state': state.opt_state,
              'rng_key': state.rng_key, 'best_params': state.best.params}
    meta = {'step': state.step, 'seconds': state.seconds,
            'samplers': state.samplers, 'best': _describe(state.best),
            'settings': state.settings}
    try:
      _save(self._latest, state.step, arrays, meta)
    except RunError as e:
      self._latest.reload()
      if self.latest_step is None:
        raise
      raise RunError(f'{_clause(e)}; once that is mended, --resume goes on '
                     f'from step {self.latest_step}.') from e

  def save_best(self, best: Best) -> None:
    """Makes `best` the best checkpoint, also if the present one is newer."""
    for step in self._best.all_steps():
      if step >= best.step:
        self._delete(self._best, step)
    if best.step:
      _save(self._best, best.step, {'params': best.params}, _describe(best))

  def save_final(self, kept: Kept) -> None:
    """Keeps what a run ends with."""
    self.remove_final()
    _save(self._final, kept.step, {'params': kept.params},
          {**_describe(kept), 'which': kept.which})

  def remove_final(self) -> None:
    """Forgets that the run once ended."""
    for step in self._final.all_steps():
      self._delete(self._final, step)

  def restore(self, template: TrainState,
              notify: Callable[[str], None] = run_folder.tell) -> TrainState:
    """Loads the latest checkpoint, and sets the best one back to match it.

    If that one is damaged, the one before it is taken.

    Args:
      template: A state of the same structure and shapes, such as that of a
        model that was just initialised.
      notify: Called with a sentence about a checkpoint that is damaged.

    Returns:
      The saved state.

    Raises:
      RunError: if there is no checkpoint, or none that fits.
    """
    steps = sorted(self._latest.all_steps(), reverse=True)
    if not steps:
      raise _nothing_to_resume(self._workdir)
    failures = {}
    for step in steps:
      try:
        state = self._restore(step, template)
        break
      except RunError as e:
        failures[step] = e
    else:
      raise failures[steps[0]]
    for damaged, failure in failures.items():
      aside = _folder(self._workdir, f'damaged-{damaged}')
      self._move(self._latest, damaged, aside)
      notify(f'{_clause(failure)}; it was moved to {aside}, and the run goes '
             f'back to the checkpoint of step {step}.')
    self.save_best(state.best)
    return state

  def _restore(self, step: int, template: TrainState) -> TrainState:
    expected = {'params': template.params, 'opt_state': template.opt_state,
                'rng_key': template.rng_key,
                'best_params': template.best.params}
    arrays, meta = _load(self._latest, step, expected)
    # Orbax takes over an array of any shape.
    shapes = [[np.shape(x) for x in jax.tree_util.tree_leaves(tree)]
              for tree in (expected, arrays)]
    if shapes[0] != shapes[1]:
      raise RunError(
          f'The checkpoint {self._latest.directory}/{step} belongs to another '
          'model: its arrays have other shapes.')
    if template.settings is not None and meta.get('settings') is not None:
      # A folder that two runs have written to.
      run_folder.check_settings(self._workdir, meta['settings'],
                                template.settings, may_change=(),
                                complete=old_settings.complete)
    try:
      best = Best(params=arrays['best_params'], **meta['best'])
      return TrainState(
          params=arrays['params'], opt_state=arrays['opt_state'],
          rng_key=arrays['rng_key'], best=best, samplers=meta['samplers'],
          step=meta['step'], seconds=meta['seconds'],
          settings=meta.get('settings'))
    except (AttributeError, KeyError, TypeError) as e:
      raise RunError(f'The checkpoint {self._latest.directory}/{step} was not '
                     f'written by this version of dear_jax ({e}).') from e

  def _delete(self, manager: ocp.CheckpointManager, step: int) -> None:
    """Deletes a checkpoint so that a kill leaves no half of it."""
    self._move(manager, step, self._deleted)
    shutil.rmtree(self._deleted, ignore_errors=True)

  def _move(self, manager: ocp.CheckpointManager, step: int,
            target: pathlib.Path) -> None:
    """Puts a checkpoint out of the way."""
    folder = pathlib.Path(manager.directory) / str(step)
    try:
      if target.exists():
        shutil.rmtree(target)
      os.rename(folder, target)
    except OSError as e:
      raise RunError(f'{folder} cannot be moved ({run_folder.reason(e)}).'
                     ) from e
    manager.reload()


def has_checkpoint(workdir: PathLike) -> bool:
  """Whether a folder holds a run that can be resumed."""
  folder = _folder(workdir, 'latest')
  if not folder.is_dir():
    return False
  with contextlib.closing(_open(folder, read_only=True)) as manager:
    return manager.latest_step() is not None


def load_kept(workdir: PathLike) -> Any:
  """Loads the parameters that a run keeps.

  Those are what it ended with, and before that, or if a version of dear_jax
  has written it that did not tell the two apart, the best.

  Args:
    workdir: The run folder. It may be that of a run that is still going.

  Returns:
    The parameters, as a Haiku tree of numpy arrays.

  Raises:
    RunError: if the folder holds none, or if they are damaged.
  """
  # A run killed while it replaced its best checkpoint has them in the latest.
  for name, key in (('final', 'params'), ('best', 'params'),
                    ('latest', 'best_params')):
    loaded = _load_newest(_folder(workdir, name))
    if loaded is None:
      continue
    arrays, meta = loaded
    if name != 'latest' or meta.get('best', {}).get('step'):
      return arrays[key]
  raise RunError(f'{os.fspath(workdir)} holds no best checkpoint: it is not a '
                 'run folder, or the run was not validated yet.')


def _load_newest(folder: pathlib.Path):
  """Arrays and plain values of a checkpoint folder; None if it has none."""
  if not folder.is_dir():
    return None
  with contextlib.closing(_open(folder, read_only=True)) as manager:
    step = manager.latest_step()
    while step is not None:
      try:
        return _load(manager, step, None)
      except RunError as e:
        manager.reload()
        failed, step = step, manager.latest_step()
        # A run that is going may have replaced it in the meantime.
        if step == failed:
          raise RunError(f'{_clause(e)}; if its run is over, --resume makes '
                         'it anew.') from e
  return None


def _folder(workdir: PathLike, name: str) -> pathlib.Path:
  return pathlib.Path(workdir).absolute() / 'checkpoints' / name


def _open(folder: pathlib.Path, keep: int = 1, read_only: bool = False
          ) -> ocp.CheckpointManager:
  """Opens one checkpoint folder."""
  # Of several hosts only the first one comes here.
  alone = {}
  if jax.process_count() > 1:
    if not read_only:
      folder.mkdir(parents=True, exist_ok=True)
    alone = dict(multiprocessing_options=ocp.options.MultiprocessingOptions(
        primary_host=0, active_processes={0}))
  # Not asynchronous: a save is short and has to be over before the
  # process may end.
  options = ocp.CheckpointManagerOptions(
      max_to_keep=None if read_only else keep,
      enable_async_checkpointing=False,
      cleanup_tmp_directories=not read_only, read_only=read_only,
      create=not read_only and not alone, **alone)
  try:
    with logs.quiet_absl():
      return ocp.CheckpointManager(folder, options=options)
  except Exception as e:
    raise RunError(f'{folder} cannot be used for checkpoints '
                   f'({run_folder.reason(e)}).') from e


def _save(manager: ocp.CheckpointManager, step: int, arrays: Any, meta: Any):
  """Saves one checkpoint; a RunError if there is no room or the like."""
  try:
    with logs.quiet_absl():
      manager.save(step, force=True, args=ocp.args.Composite(
          arrays=ocp.args.StandardSave(arrays), meta=ocp.args.JsonSave(meta)))
      manager.wait_until_finished()
    folder = pathlib.Path(manager.directory) / str(step)
    checksums = _checksums(folder)
  except (OSError, ValueError) as e:  # tensorstore has a ValueError for all
    raise RunError(f'The checkpoint of step {step} cannot be written to '
                   f'{manager.directory} ({run_folder.reason(e)}).') from e
  write_json(folder, _CHECKSUMS, checksums)


def _load(manager: ocp.CheckpointManager, step: int, template: Any):
  """Loads one checkpoint: its arrays, and its plain values."""
  folder = pathlib.Path(manager.directory) / str(step)
  try:
    # Orbax would read over some damages, and be loud about others.
    if (folder / _CHECKSUMS).exists():
      stored, found = read_json(folder, _CHECKSUMS), _checksums(folder)
      for name, checksum in stored.items():
        if found.get(name) != checksum:
          raise ValueError(f'{name} is not as it was written')
    with logs.quiet_absl():
      loaded = manager.restore(step, args=ocp.args.Composite(
          arrays=ocp.args.StandardRestore(template),
          meta=ocp.args.JsonRestore()))
  # Orbax raises whatever its layers raise for a damaged or foreign folder.
  except Exception as e:
    raise RunError(
        f'The checkpoint {folder} is damaged or belongs to another model '
        f'({run_folder.reason(e)}).') from e
  return loaded.arrays, loaded.meta


def _checksums(folder: pathlib.Path) -> Dict[str, str]:
  """Those of all files in a folder, by their names in it."""
  return {
      path.relative_to(folder).as_posix():
          hashlib.sha256(path.read_bytes()).hexdigest()
      for path in sorted(folder.rglob('*'))
      if path.is_file() and path.name != _CHECKSUMS}


def _describe(best: Best) -> Dict[str, Any]:
  return {'step': best.step, 'loss': best.loss, 'score': best.score}


def _clause(error: RunError) -> str:
  """A sentence, to be gone on with."""
  return str(error).removesuffix('.')


def _nothing_to_resume(workdir: PathLike) -> RunError:
  return RunError(f'There is no checkpoint to resume from in '
                  f'{os.fspath(workdir)}: start the run without --resume.')
