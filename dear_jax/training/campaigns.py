# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""A campaign: many runs that are declared in a table, and how far each is.

Importing this takes neither JAX nor CLRS: looking at a campaign is quick.
"""

import dataclasses
import fnmatch
import json
import os
import pathlib
import shlex
import shutil
from typing import Any, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from dear_jax.data import task_names
from dear_jax.training import configs
from dear_jax.training import given_settings
from dear_jax.training import locks
from dear_jax.training import pace
from dear_jax.training import run_folder
from dear_jax.training import settings

PathLike = run_folder.PathLike

# Settings that name folders. They differ from machine to machine, and what is
# in them is told by the name of the run that another one builds on.
FOLDERS = ('align_to', 'init_from', 'data_cache')

# Kinds of `scalars` that differ in what they make of the numbers of edges.
# Where there are none, they are the same, bit for bit.
_WITH_DIFFERENCES = ('differences', 'relative', 'units', 'relative_units')

# What a run can be: over, to be resumed, not begun, under way in some process,
# or one whose folder holds a run with other settings.
DONE, BEGUN, NEW, BUSY, OTHER = 'done', 'begun', 'new', 'busy', 'other'


@dataclasses.dataclass(frozen=True)
class Entry:
  """A run of a campaign.

  Attributes:
    name: Of the run and of its folder; no two have the same.
    group: What it is run for.
    given: Its settings, by the names of their flags.
    preset: Where all other settings come from.
    align_to: The name of the run whose folder it is aligned to, if any. It has
      to be over first.
    continues: The name of a run with fewer steps and the same settings
      otherwise. If that is over, this one goes on with a copy of it, which
      gives what it would give from the start.
  """
  name: str
  group: str
  given: Mapping[str, Any]
  preset: Optional[str] = None
  align_to: Optional[str] = None
  continues: Optional[str] = None

  @property
  def task(self) -> str:
    return str(self.given['algorithm'])

  @property
  def seed(self) -> int:
    return int(self.given['seed'])

  def flags(self, runs: PathLike) -> List[str]:
    """The flags of `experiments/run.py`, without that of the folder."""
    words = [f'--preset={self.preset}'] if self.preset else []
    return words + [f'--{name}={settings.as_text(value)}'
                    for name, value in self._all(runs).items()]

  def command(self) -> str:
    """What a user types to run it, the same on every machine."""
    return shlex.join(['python', 'experiments/run.py', *self.flags('RUNS')])

  def config(self, runs: PathLike) -> configs.TrainConfig:
    """The settings of the run; a ValueError if they are wrong."""
    try:
      return given_settings.make_config(self._all(runs), self.preset)
    except ValueError as e:
      raise ValueError(f'The run {self.name} cannot be: {e}') from e

  def _all(self, runs: PathLike) -> Dict[str, Any]:
    if not self.align_to:
      return dict(self.given)
    return {**self.given, 'align_to': os.path.join(runs, self.align_to)}


def rows(group: str, tasks: Sequence[str], *, seeds: Sequence[int] = (1,),
         label: str = '', preset: Optional[str] = None,
         align_to: Optional[str] = None, continues: Optional[str] = None,
         **given: Any) -> List[Entry]:
  """Runs that differ in task and seed only.

  Args:
    group: What they are run for.
    tasks: Names of tasks.
    seeds: Of every task.
    label: The beginning of their names; that of the group unless given.
    preset: Where settings that are not given come from.
    align_to: The label of the runs, with seed 1, to align to.
    continues: The label of shorter runs that these go on with.
    **given: Settings, by the names of their flags.

  Returns:
    The runs, one seed after the other.
  """
  return [Entry(
      f'{label or group}_{task}_seed{seed}', group,
      {'algorithm': task, 'seed': seed, **given}, preset,
      align_to and f'{align_to}_{task}_seed1',
      continues and f'{continues}_{task}_seed{seed}')
          for seed in seeds for task in tasks]


def check(entries: Sequence[Entry]) -> None:
  """Raises a ValueError, in one line, unless all of the runs can be."""
  known: Dict[str, Entry] = {}
  for entry in entries:
    if entry.name in known:
      raise ValueError(f'There are two runs of the name {entry.name}.')
    if entry.align_to and entry.align_to not in known:
      raise ValueError(f'The run {entry.name} needs {entry.align_to}, which is '
                       'not declared before it.')
    config = entry.config('runs')
    if entry.continues:
      if entry.continues not in known:
        raise ValueError(f'The run {entry.name} continues {entry.continues}, '
                         'which is not declared before it.')
      shorter = known[entry.continues].config('runs')
      change = _difference(
          config, dataclasses.replace(shorter, train_steps=config.train_steps))
      if change or shorter.train_steps >= config.train_steps:
        change = change or f'train_steps={shorter.train_steps}'
        raise ValueError(f'The run {entry.name} cannot continue '
                         f'{entry.continues}, which has {change}.')
    known[entry.name] = entry


def choose(entries: Sequence[Entry], only: Optional[str]) -> List[Entry]:
  """Some of the runs.

  Args:
    entries: All runs.
    only: Groups, tasks or patterns of names such as dear_*_seed1, separated by
      commas; None for all.

  Returns:
    The runs that one of these names, and those that they need.

  Raises:
    ValueError: if one of these names nothing.
  """
  if only is None:
    return list(entries)
  found = set()
  for word in map(str.strip, only.split(',')):
    names = {x.name for x in entries if word in (x.group, x.task)
             or fnmatch.fnmatchcase(x.name, word)}
    if not names:
      task_names.check_choice('group, task or name', word, dict.fromkeys(
          [x.group for x in entries] + [x.task for x in entries]),
          'Names may have * in them; --dry_run lists them.')
      raise ValueError(f'There is no run {word!r}.')
    found |= names
  return _with_needed(entries, found)


def missing(entries: Sequence[Entry], collected: PathLike) -> List[Entry]:
  """The runs of which no file was collected, on this machine or another.

  Args:
    entries: Runs.
    collected: The folder of the collected files, one a run.

  Returns:
    Those without a file, or with one of another command or of other settings,
    and what they need.
  """
  found = set()
  for entry in entries:
    try:
      path = pathlib.Path(collected) / f'{entry.name}.json'
      file = json.loads(path.read_text(encoding='utf-8'))
      is_there = file['command'] == entry.command() and not (
          'settings' in file and change_of(entry, file['settings']))
    except (OSError, KeyError, TypeError, ValueError):
      is_there = False
    if not is_there:
      found.add(entry.name)
  return _with_needed(entries, found)


def change_of(entry: Entry, settings_of_run: Mapping[str, Any]) -> str:
  """What a collected run has that is not as it is declared now.

  Args:
    entry: The run.
    settings_of_run: Its settings, as any version so far has collected them.

  Returns:
    The first setting that differs, in words, or ''.
  """
  try:
    found = configs.from_settings(settings_of_run)
  except (OverflowError, TypeError, ValueError) as e:
    return f'settings that cannot be ({e})'
  return _difference(entry.config('runs'), found)


def _with_needed(entries: Sequence[Entry], names: Set[str]) -> List[Entry]:
  """The runs of these names, and those that they are aligned to."""
  found = set(names)
  for entry in reversed(entries):  # what is needed is declared before
    if entry.name in found and entry.align_to:
      found.add(entry.align_to)
  return [x for x in entries if x.name in found]


@dataclasses.dataclass(frozen=True)
class State:
  """How far a run is.

  Attributes:
    kind: One of the words above.
    step: Steps that are done.
    seconds: A step took on average: of the whole run if it is over, else of the
      last ones; None if that is not known.
    about: What else there is to say.
  """
  kind: str
  step: int = 0
  seconds: Optional[float] = None
  about: str = ''


def state_of(entry: Entry, runs: PathLike) -> State:
  """Looks at the folder of a run."""
  folder = pathlib.Path(runs) / entry.name
  if folder.exists() and not folder.is_dir():
    return State(OTHER, about=f'{folder} is a file, not the folder of a run')
  owner = locks.owner_of(folder)
  step, seconds = _progress(folder)
  if owner:
    return State(BUSY, step, seconds, f'in use by {owner}')
  # One that is over may have been relieved of its checkpoints.
  if not _has_checkpoint(folder) and not (folder / 'result.json').exists():
    return State(NEW)
  config = entry.config(runs)
  try:
    change = _difference(config, configs.load_config(folder))
    result = run_folder.read_json(folder, 'result.json') if (
        folder / 'result.json').exists() else None
  except run_folder.RunError as e:
    return State(OTHER, step, seconds, str(e))
  if change:
    return State(OTHER, step, seconds, f'{folder} holds a run with {change}')
  if isinstance(result, dict) and result.get('steps') == config.train_steps:
    spent = result.get('seconds')
    return State(DONE, config.train_steps,
                 spent / config.train_steps if spent else seconds)
  return State(BEGUN, step, seconds)


def take_over(entry: Entry, runs: PathLike) -> bool:
  """Begins a run with a copy of the shorter one that it continues, if any.

  Args:
    entry: The run, which has no folder yet.
    runs: The folder of all run folders.

  Returns:
    Whether there is something to resume now. If the shorter one is not over,
    or not what it should be, nothing was done.
  """
  if not entry.continues:
    return False
  source, folder = (pathlib.Path(runs) / x
                    for x in (entry.continues, entry.name))
  config = entry.config(runs)
  try:
    found = configs.load_config(source)
    result = run_folder.read_json(source, 'result.json')
  except run_folder.RunError:
    return False
  alike = dataclasses.replace(config, train_steps=found.train_steps)
  if (_difference(alike, found) or result.get('steps') != found.train_steps
      or found.train_steps >= config.train_steps
      or not _has_checkpoint(source) or locks.owner_of(source)):
    return False
  # A folder that is there is one that can be resumed.
  part = folder.with_name(f'.{folder.name}.part')
  shutil.rmtree(part, ignore_errors=True)
  shutil.copytree(source, part,
                  ignore=shutil.ignore_patterns('result.json', '*.lock',
                                                'evaluation.*', 'final'))
  saved = run_folder.read_json(part, 'config.json')
  saved['config']['train_steps'] = config.train_steps
  run_folder.write_json(part, 'config.json', saved)
  part.replace(folder)
  return True


def _difference(declared: configs.TrainConfig, found: configs.TrainConfig
                ) -> str:
  """The first setting that is not as declared, in words, or ''."""
  for name in configs.SETTINGS:
    ours, theirs = getattr(declared, name), getattr(found, name)
    if _meaning(declared, name) != _meaning(found, name):
      return (f'{name}={settings.as_text(theirs)}, not '
              f'{settings.as_text(ours)}')
  return ''


def _meaning(config: configs.TrainConfig, name: str) -> Any:
  """A setting, alike wherever runs are the same with it."""
  value = getattr(config, name)
  if name in FOLDERS and value:  # a campaign may be moved
    return os.path.basename(os.path.normpath(value))
  if (name == 'scalars' and value in _WITH_DIFFERENCES
      and set(config.algorithms) <= set(task_names.WITH_TWINS)):
    return _WITH_DIFFERENCES  # arrays of keys: no edge has a number
  return value


def _has_checkpoint(folder: pathlib.Path) -> bool:
  """As `checkpoints.has_checkpoint`, without the library that it takes."""
  latest = folder / 'checkpoints' / 'latest'
  return latest.is_dir() and any(x.name.isdigit() for x in latest.iterdir())


def _progress(folder: pathlib.Path) -> Tuple[int, Optional[float]]:
  """The last step that pace.jsonl tells of, and the seconds of a late one."""
  lines = read_lines(folder / pace.PaceFile.NAME)
  if not lines:
    return 0, None
  step = lines[-1]['step']
  return step, pace.seconds_a_step(lines, step - pace.SPAN, step)


def read_lines(path: pathlib.Path) -> List[Dict[str, Any]]:
  """The lines of pace.jsonl; one that is being written is left out."""
  try:
    text = path.read_text(encoding='utf-8', errors='replace')
  except OSError:
    return []
  found = []
  for line in text.split('\n'):
    try:
      values = json.loads(line)
      found.append({
          'step': int(values['step']), 'timed': int(values['timed']),
          pace.CLOCK: float(values[pace.CLOCK]),
          **{name: float(values[name]) for name in (pace.PROCESSOR,)
             if name in values}})
    except (KeyError, TypeError, ValueError):
      continue
  return found


def seconds_left(states: Sequence[Tuple[Entry, State, int]]
                 ) -> Optional[float]:
  """An estimate of the time that what is left takes in one process.

  Args:
    states: Runs with how far they are, and how many steps they have in all.

  Returns:
    Seconds; None as long as no run says how long a step takes.
  """
  # Runs on the same task with the same model are alike, and more so if they
  # have processor and preset in common, too.
  kinds = lambda entry: (
      (entry.task, entry.given.get('model'), entry.given.get('processor'),
       entry.preset),
      (entry.task, entry.given.get('model')))
  known: Dict[Any, List[float]] = {}
  for entry, state, _ in states:
    if state.seconds:
      for kind in kinds(entry):
        known.setdefault(kind, []).append(state.seconds)
  if not known:
    return None
  mean = lambda values: sum(values) / len(values)
  other = mean([mean(values) for kind, values in known.items()
                if len(kind) == 2])
  total = 0.0
  for entry, state, steps in states:
    each = state.seconds or next(
        (mean(known[kind]) for kind in kinds(entry) if kind in known), other)
    total += (steps - state.step) * each
  return total
