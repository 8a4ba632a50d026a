# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""What run folders hold, as plain series and tables.

Nothing here needs a run to be over: a run that is still going, or was stopped,
or whose last line was cut short, is read as far as it got.
"""

import collections
import dataclasses
import functools
import json
import math
import os
import pathlib
import shlex
import time
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from dear_jax import checkpoints
from dear_jax import configs
import numpy as np

Points = Tuple[np.ndarray, np.ndarray]  # [N] steps or the like, [N] values

# The most points of a series that are worth drawing.
MAX_POINTS = 300
# Of so many parts of a series, a running mean takes in one.
_WINDOWS = 30

# Flags of experiments/run.py that are not called as the setting is.
_FLAGS = {'algorithms': 'algorithm', 'train_sizes': 'train_lengths'}


@dataclasses.dataclass(frozen=True)
class Run:
  """A run folder, as far as it can be read.

  Attributes:
    folder: As it was given.
    label: What the run is called.
    config: The settings, by name.
    versions: Of the libraries that it ran on, by name.
    lines: What metrics.jsonl holds, in the order of steps.
    unreadable: The number of lines that were cut short or make no sense.
    result: What result.json holds; None if the run is not over.
    evaluation: What evaluation.json holds; None if there is none.
    notes: Sentences about what is missing or odd.
    is_current: Whether the settings are those of this version of dear_jax.
  """
  folder: str
  label: str
  config: Mapping[str, Any]
  versions: Mapping[str, str]
  lines: Tuple[Mapping[str, Any], ...]
  unreadable: int = 0
  result: Optional[Mapping[str, Any]] = None
  evaluation: Optional[Mapping[str, Any]] = None
  notes: Tuple[str, ...] = ()
  is_current: bool = True

  @functools.cached_property
  def algorithms(self) -> Tuple[str, ...]:
    """All algorithms of the run, also those without a line so far."""
    names = self.config.get('algorithms') or ()
    return tuple(dict.fromkeys(
        [*map(str, names), *(line['algorithm'] for line in self.lines)]))

  @property
  def model(self) -> str:
    return str(self.config.get('model', 'dear'))

  @functools.cached_property
  def step(self) -> int:
    """The last step that the metrics know of."""
    return max(line['step'] for line in self.lines)

  @functools.cached_property
  def _index(self) -> Mapping[Tuple[str, str], List[Mapping[str, Any]]]:
    # Long runs have tens of thousands of lines, and every chart asks for some.
    found = collections.defaultdict(list)
    for line in self.lines:
      found[line['split'], line['algorithm']].append(line)
    return dict(found)

  def lines_of(self, split: str, algorithm: str) -> List[Mapping[str, Any]]:
    """The lines about an algorithm, of 'train' or 'val'."""
    return self._index.get((split, algorithm), [])

  @property
  def status(self) -> str:
    """How far the run is, in two words or three."""
    if self.result is not None:
      return 'finished'
    total = self.config.get('train_steps')
    return f'at step {self.step:,}' + (
        f' of {total:,}' if isinstance(total, int) else '')


def read_run(folder: checkpoints.PathLike, label: str = '') -> Run:
  """Reads a run folder.

  Args:
    folder: The run folder.
    label: What to call the run; by default as the folder.

  Returns:
    What it holds. Whatever is missing is in its notes.

  Raises:
    checkpoints.RunError: if it is not a run folder, or has no metrics yet.
  """
  folder = os.fspath(folder)
  if not os.path.isdir(folder):
    raise checkpoints.RunError(f'{folder} is not a run folder: there is no '
                               'such folder.')
  stored = checkpoints.read_json(folder, 'config.json')
  if not isinstance(stored, dict) or not isinstance(
      stored.get('config'), dict):
    raise checkpoints.RunError(f'{folder} is not a run folder: its config.json '
                               'holds no settings.')
  lines, unreadable = _read_metrics(folder)
  notes, is_current = [], True
  try:
    config = dataclasses.asdict(configs.load_config(folder))
  except (checkpoints.RunError, OverflowError):
    config, is_current = _usable(stored['config']), False
    notes.append('Its settings are those of another version of dear_jax, so '
                 'there is no command that repeats it.')
  if unreadable:
    what = '1 line' if unreadable == 1 else f'{unreadable} lines'
    notes.append(f'Left out: {what} of its metrics.jsonl that could not be '
                 'read, such as one that was cut short.')
  optional = {}
  for name in ('result', 'evaluation'):
    try:
      optional[name] = _read_optional(folder, f'{name}.json')
    except checkpoints.RunError as e:
      notes.append(str(e))
  versions = stored.get('versions')
  return Run(folder=folder, label=label or unique_labels([folder])[0],
             config=config,
             versions={name: str(x) for name, x in versions.items()}
             if isinstance(versions, dict) else {},
             lines=lines, unreadable=unreadable, notes=tuple(notes),
             is_current=is_current, **optional)


def _usable(config: Mapping[str, Any]) -> Dict[str, Any]:
  """Settings of another version, without what could not be worked with."""
  is_good = {
      'model': lambda x: isinstance(x, str),
      'algorithms': lambda x: isinstance(x, list) and all(
          isinstance(name, str) for name in x),
      'train_sizes': lambda x: isinstance(x, list) and len(x) == 2 and all(
          number(size) >= 1 for size in x)}
  return {name: value for name, value in config.items()
          if name not in is_good or is_good[name](value)}


def _read_optional(folder: str, name: str) -> Optional[Dict[str, Any]]:
  if not os.path.exists(os.path.join(folder, name)):
    return None
  value = checkpoints.read_json(folder, name)
  if not isinstance(value, dict):
    raise checkpoints.RunError(f'Its {name} is not one that dear_jax writes.')
  return value


def _read_metrics(folder: str) -> Tuple[Tuple[Dict[str, Any], ...], int]:
  """The lines of metrics.jsonl, and how many of them could not be read."""
  path = pathlib.Path(folder) / checkpoints.MetricsFile.NAME
  try:
    text = path.read_text(encoding='utf-8', errors='replace')
  except FileNotFoundError:
    text = ''
  except OSError as e:
    raise checkpoints.RunError(f'{path} cannot be read '
                               f'({e.strerror}).') from e
  lines, unreadable = {}, 0
  for line in filter(str.strip, text.split('\n')):
    try:
      values = json.loads(line)
      key = values['step'], values['split'], values['algorithm']
    except (ValueError, TypeError, KeyError):
      key = None
    if key is None or not (
        number(key[0]) >= 0 and isinstance(key[0], int)
        and key[1] in ('train', 'val') and isinstance(key[2], str)):
      unreadable += 1
      continue
    # The later of two lines about the same step is that of the resumed run.
    lines[key] = values
  if not lines:
    raise checkpoints.RunError(
        f'{path} has no metrics: the run has not come to its first '
        'log_every steps yet, or failed before.')
  return tuple(lines[key] for key in sorted(lines)), unreadable


def unique_labels(folders: Sequence[checkpoints.PathLike]) -> List[str]:
  """Names folders by as much of the end of their paths as tells them apart.

  >>> unique_labels(['runs/a', 'runs/b/'])
  ['a', 'b']
  >>> unique_labels(['one/bfs', 'two/bfs', 'two/dfs'])
  ['one/bfs', 'two/bfs', 'dfs']

  Args:
    folders: The folders.

  Returns:
    A name for each of them, all different unless two folders are the same.
  """
  parts = [pathlib.Path(os.path.abspath(folder)).parts for folder in folders]
  counts = [1] * len(parts)
  name = lambda i: '/'.join(parts[i][-counts[i]:])
  while True:
    shared = collections.Counter(map(name, range(len(parts))))
    longer = [i for i in range(len(parts))
              if shared[name(i)] > 1 and counts[i] < len(parts[i])]
    if not longer:
      return [name(i) for i in range(len(parts))]
    for i in longer:
      counts[i] += 1


def series(run: Run, split: str, name: str, algorithm: str) -> Points:
  """One figure over the steps of a run.

  Args:
    run: The run.
    split: 'train' or 'val'.
    name: The figure, as metrics.jsonl calls it.
    algorithm: The algorithm.

  Returns:
    The steps [N] and the values [N]; NaN where the value was not finite.
  """
  lines = [line for line in run.lines_of(split, algorithm) if name in line]
  return (np.array([line['step'] for line in lines], float),
          np.array([number(line[name]) for line in lines], float))


def number(value: Any) -> float:
  """A figure of a file; NaN if it is none, or not finite."""
  if isinstance(value, bool) or not isinstance(value, (int, float)):
    return math.nan  # null stands for NaN and infinity
  # No figure of ours is near these; beyond them a chart could not be computed.
  if not abs(value) <= 1e100:
    return math.nan
  return 0. if abs(value) < 1e-100 else float(value)


def window_of(steps: np.ndarray, total: float) -> int:
  """How many values of a series a running mean takes in, an odd number.

  Args:
    steps: [N], the steps of the values.
    total: The steps of the longest series that this one is compared with, so
      that all are smoothed alike.

  Returns:
    The number; 1 if there is nothing to smooth.
  """
  if len(steps) < 2:
    return 1
  distance = (steps[-1] - steps[0]) / (len(steps) - 1)
  return 2 * int(total / distance / _WINDOWS / 2) + 1


def running_mean(values: np.ndarray, window: int) -> np.ndarray:
  """The mean of the values around each, of fewer at the ends.

  >>> import numpy as np
  >>> running_mean(np.array([0., 3., 6., 3.]), 3).tolist()
  [1.5, 3.0, 4.0, 4.5]

  Args:
    values: [N]; what is NaN is not counted, and stays NaN.
    window: The number of values around each, an odd one.

  Returns:
    [N]
  """
  known = np.isfinite(values)
  sums = np.cumsum(np.concatenate([[0.], np.where(known, values, 0.)]))
  counts = np.cumsum(np.concatenate([[0], known]))
  at = np.arange(len(values))
  low = np.maximum(at - window // 2, 0)
  high = np.minimum(at + window // 2 + 1, len(values))
  with np.errstate(invalid='ignore'):
    mean = (sums[high] - sums[low]) / (counts[high] - counts[low])
  return np.where(known, mean, np.nan)


def thin(points: Points, most: int = MAX_POINTS) -> Points:
  """Takes points at even distances, the first and the last among them."""
  xs, ys = points
  if len(xs) <= most:
    return points
  at = np.unique(np.linspace(0, len(xs) - 1, most).round().astype(int))
  return xs[at], ys[at]


def thin_extremes(points: Points, most: int = MAX_POINTS) -> Points:
  """Takes the lowest and the highest of every few points, so no spike is lost.

  >>> import numpy as np
  >>> steps = np.arange(8.)
  >>> values = np.array([1., 2., 9., 3., 4., 0., 4., 4.])
  >>> [x.tolist() for x in thin_extremes((steps, values), 4)]
  [[0.0, 2.0, 4.0, 5.0], [1.0, 9.0, 4.0, 0.0]]

  Args:
    points: The points.
    most: How many may be left.

  Returns:
    The points that are left, in their order.
  """
  xs, ys = points
  if len(xs) <= most:
    return points
  chosen = []
  for part in np.array_split(np.arange(len(xs)), most // 2):
    known = part[np.isfinite(ys[part])]
    if len(known):
      chosen += {int(known[ys[known].argmin()]), int(known[ys[known].argmax()])}
    else:
      chosen.append(int(part[0]))  # a gap stays one
  chosen.sort()
  return xs[chosen], ys[chosen]


def best_step(run: Run) -> Optional[int]:
  """The step whose parameters are kept, None before the first validation.

  Until a run is over it is that of the lowest validation loss.
  """
  stated = number((run.result or {}).get('best_step'))
  if math.isfinite(stated):
    return int(stated)
  losses = collections.defaultdict(list)
  for algorithm in run.algorithms:
    for line in run.lines_of('val', algorithm):
      losses[line['step']].append(number(line.get('task_loss')))
  # A step of which not all algorithms are written yet does not count.
  means = {step: np.mean(values) for step, values in losses.items()
           if len(values) == len(run.algorithms) and np.isfinite(values).all()}
  return min(means, key=means.get) if means else None


def final_numbers(run: Run, algorithm: str) -> Dict[str, float]:
  """The figures of a run that count in the end, or so far.

  Args:
    run: The run.
    algorithm: The algorithm.

  Returns:
    Numbers by name, without those that are not known: best_step, train_loss
    (the running mean at the end), val_loss, val_score, val_steps,
    val_converged, spectral_radius (all at the best step), test_score,
    test_low, test_high (its 95 % interval), test_steps, test_converged,
    seconds.
  """
  found = {}
  steps, losses = series(run, 'train', 'task_loss', algorithm)
  if len(losses):
    window = window_of(steps, steps[-1])
    found['train_loss'] = running_mean(losses, window)[-1]
  step = best_step(run)
  if step is not None:
    found['best_step'] = step
    for line in run.lines_of('val', algorithm):
      if line['step'] == step:
        for name, keys in (
            ('val_loss', ['task_loss']), ('val_score', ['score']),
            ('val_steps', ['solver_steps_mean', 'steps_mean']),
            ('val_converged', ['converged']),
            ('spectral_radius', ['spectral_radius'])):
          for key in keys:
            if key in line:
              found[name] = number(line[key])
  result = run.result or {}
  tests = result.get('test')
  if isinstance(tests, dict) and algorithm in tests:
    found['test_score'] = number(tests[algorithm])
  if len(run.algorithms) == 1:  # these are means over algorithms
    for name, key in (('test_steps', 'test_solver_steps_mean'),
                      ('test_steps', 'test_steps_mean'),
                      ('test_converged', 'test_converged')):
      if key in result:
        found[name] = number(result[key])
  if 'seconds' in result:
    found['seconds'] = number(result['seconds'])
  for row in evaluation_rows(run, 'sizes'):
    # An interval of other samples or settings is not one of this score.
    if (row.get('size') == result.get('test_size')
        and row.get('score') == found.get('test_score')):
      ends = number(row.get('low')), number(row.get('high'))
      if all(map(math.isfinite, ends)):
        found['test_low'], found['test_high'] = ends
  return {name: value for name, value in found.items()
          if math.isfinite(value)}


def evaluation_rows(run: Run, part: str) -> List[Mapping[str, Any]]:
  """The rows of a part of evaluation.json that have a score."""
  rows = (run.evaluation or {}).get(part)
  if not isinstance(rows, list):
    return []
  return [row for row in rows if isinstance(row, dict)
          and math.isfinite(number(row.get('score')))]


def differing_settings(runs: Sequence[Run]) -> Dict[str, List[Any]]:
  """The settings that are not the same in all runs, with all their values."""
  names = dict.fromkeys(name for run in runs for name in run.config)
  table = {name: [run.config.get(name) for run in runs] for name in names}
  return {name: values for name, values in table.items()
          if any(_plain(value) != _plain(values[0]) for value in values)}


def default_settings() -> Dict[str, Any]:
  """The settings of the default preset."""
  return dataclasses.asdict(configs.PRESETS['default'])


def changed_settings(run: Run) -> Dict[str, Any]:
  """The settings of a run that are not those of the default preset."""
  default = default_settings()
  return {name: value for name, value in run.config.items()
          if name not in default or _plain(value) != _plain(default[name])}


def _plain(value: Any) -> Any:
  """Tuples as lists, as they are in files."""
  return list(value) if isinstance(value, tuple) else value


def show_setting(name: str, value: Any) -> str:
  """A setting as it is written on the command line.

  >>> show_setting('train_sizes', (8, 16)), show_setting('cgp', True)
  ('8..16', 'True')

  Args:
    name: Of the setting.
    value: Its value.

  Returns:
    A text.
  """
  if isinstance(value, (list, tuple)):
    if name == 'train_sizes' and len(set(value)) == 1:
      value = value[:1]
    return ('..' if name == 'train_sizes' else ',').join(map(str, value))
  return str(value)


def command(run: Run) -> Optional[str]:
  """The command that repeats a run, with the settings that it changed.

  Args:
    run: The run.

  Returns:
    A line for a shell; None if this version does not know the settings.
  """
  if not run.is_current:
    return None
  changed = changed_settings(run)
  # What is trained should be seen, whatever the default is.
  changed = {'algorithms': run.config['algorithms'], **changed}
  words = ['python', 'experiments/run.py']
  for name, value in changed.items():
    flag = _FLAGS.get(name, name)
    if isinstance(value, bool):
      words.append(f'--{flag}' if value else f'--no{flag}')
    else:
      words.append(f'--{flag}={show_setting(name, value)}')
  return shlex.join(words)


def missing(run: Run) -> List[Tuple[str, str]]:
  """What a report of the run lacks, and the commands that make it.

  Args:
    run: The run.

  Returns:
    Pairs of a sentence and a command, which is empty if there is none.
  """
  found = []
  folder = run.folder
  if run.result is None:
    path = os.path.join(folder, checkpoints.MetricsFile.NAME)
    written = time.strftime('%Y-%m-%d %H:%M',
                            time.localtime(os.path.getmtime(path)))
    found.append((
        f'The run is {run.status} and has no test score: it is still going, or '
        f'was stopped. Its last line is of {written}. If it was stopped, this '
        'goes on with it:',
        shlex.join(['python', 'experiments/run.py', f'--workdir={folder}',
                    '--resume'])))
  evaluate = shlex.join(['python', 'experiments/evaluate.py', folder])
  if len(run.algorithms) > 1:
    found.append(('There is no accuracy by size: experiments/evaluate.py takes '
                  'runs on one algorithm.', ''))
  elif not evaluation_rows(run, 'sizes'):
    found.append(('There is no accuracy by size, which this measures:',
                  evaluate))
  else:
    if run.result is None:
      found.append((
          'Its evaluation.json is from before the run was over. Once it is, '
          'this brings it up to date:', evaluate))
    overridden = run.evaluation.get('overridden')
    if isinstance(overridden, list) and overridden:
      names = ', '.join(map(str, overridden))
      found.append((
          f'Its evaluation.json was made with another {names} than the run '
          'has. This makes one with its own:', evaluate))
  return found
