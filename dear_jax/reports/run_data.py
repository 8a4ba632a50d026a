# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""What run folders hold, as plain series and tables.

A run that is still going, or whose last line was cut short, is read so far.
"""

import collections
import dataclasses
import json
import math
import os
import pathlib
import shlex
import time
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from dear_jax.training import checkpoints
from dear_jax.training import configs
import numpy as np

Points = Tuple[np.ndarray, np.ndarray]  # [N] steps or the like, [N] values
_Table = Mapping[str, Any]

_MAX_POINTS = 60  # of a series, that can be told apart in a chart


@dataclasses.dataclass(frozen=True)
class Run:
  """A run folder, as far as it can be read."""
  folder: str
  label: str
  config: _Table
  # What metrics.jsonl holds, by split and algorithm, in the order of steps.
  lines: Mapping[Tuple[str, str], Sequence[_Table]]
  versions: _Table = dataclasses.field(default_factory=dict)
  result: Optional[_Table] = None  # of result.json; None if it is not over
  evaluation: Optional[_Table] = None  # of evaluation.json
  notes: Tuple[str, ...] = ()  # sentences about what is missing or odd
  is_current: bool = True  # whether this version knows all the settings

  @property
  def algorithms(self) -> Tuple[str, ...]:
    """All algorithms of the run, also those without a line so far."""
    names = self.config.get('algorithms')
    return tuple(dict.fromkeys([
        *(map(str, names) if isinstance(names, (list, tuple)) else ()),
        *(algorithm for _, algorithm in self.lines)]))

  @property
  def is_dear(self) -> bool:
    return self.config.get('model') != 'nar'

  @property
  def is_evaluated(self) -> bool:
    """Whether evaluation.json is of the parameters that the run has kept."""
    found = self.evaluation or {}
    # Earlier versions did not say of which it was.
    return self.result is None or found.get('kept_step', self.result.get(
        'kept_step')) == self.result.get('kept_step')

  @property
  def status(self) -> str:
    """How far the run is, in two words or three."""
    if self.result is not None:
      return 'finished'
    step = max(lines[-1]['step'] for lines in self.lines.values())
    return f'at step {step} of {self.config.get("train_steps")}'


def read_run(folder: checkpoints.PathLike, label: str = '') -> Run:
  """Reads a run folder; a `RunError` says why it is none, or has no metrics."""
  folder = os.fspath(folder)
  stored = checkpoints.read_json(folder, 'config.json')
  config = stored.get('config') if isinstance(stored, dict) else None
  if not isinstance(config, dict):
    raise checkpoints.RunError(f'{folder} is not a run folder: its config.json '
                               'holds no settings.')
  lines, unreadable = _read_metrics(pathlib.Path(folder))
  notes, is_current, found = [], True, {}
  try:
    config = dataclasses.asdict(configs.load_config(folder))
  except (checkpoints.RunError, OverflowError):
    is_current, config['train_sizes'] = False, None  # it could be anything
    notes.append('Its settings are those of another version of dear_jax, so '
                 'there is no command that repeats it.')
  if unreadable:
    notes.append(f'Left out: {unreadable} of the lines of its metrics.jsonl, '
                 'which could not be read, such as one that was cut short.')
  for name in ('result', 'evaluation'):
    if os.path.exists(os.path.join(folder, f'{name}.json')):
      try:
        found[name] = {**checkpoints.read_json(folder, f'{name}.json')}
      except (checkpoints.RunError, TypeError):
        notes.append(f'Its {name}.json is not one that dear_jax writes.')
  versions = stored.get('versions')
  return Run(folder, label or os.path.basename(os.path.abspath(folder)), config,
             lines, versions if isinstance(versions, dict) else {},
             notes=tuple(notes), is_current=is_current, **found)


def _read_metrics(folder: pathlib.Path) -> Tuple[Dict[Any, List[_Table]], int]:
  """The lines of metrics.jsonl, and how many of them could not be read."""
  path = folder / checkpoints.MetricsFile.NAME
  found: Dict[Any, Dict[int, _Table]] = collections.defaultdict(dict)
  unreadable = 0
  text = path.read_text('utf-8', 'replace') if path.exists() else ''
  for line in filter(str.strip, text.split('\n')):
    try:
      values = json.loads(line)
      step, split, name = (values[x] for x in ('step', 'split', 'algorithm'))
      if not (number(step) >= 0 and isinstance(step, int)
              and split in ('train', 'val') and isinstance(name, str)):
        raise ValueError('This is not a line of training.')
    except (ValueError, TypeError, KeyError):
      unreadable += 1
    else:
      # The later of two lines about the same step is that of the resumed run.
      found[split, name][step] = values
  if not found:
    raise checkpoints.RunError(
        f'{path} has no metrics: the run has not come to its first '
        'log_every steps yet, or failed before.')
  return {key: [lines[step] for step in sorted(lines)]
          for key, lines in found.items()}, unreadable


def number(value: Any) -> float:
  """A figure of a file; NaN if it is none, or not finite."""
  # No figure of ours is near these; beyond them a chart could not be computed.
  if isinstance(value, bool) or not isinstance(value, (int, float)) or not (
      abs(value) <= 1e100):
    return math.nan  # null stands for NaN and infinity
  return 0. if abs(value) < 1e-100 else float(value)


def series(run: Run, split: str, name: str, algorithm: str) -> Points:
  """One figure over the steps of a run; NaN where it was not finite."""
  lines = [x for x in run.lines.get((split, algorithm), ()) if name in x]
  return (np.array([line['step'] for line in lines], float),
          np.array([number(line[name]) for line in lines], float))


def summarise(points: Points, total: float) -> Tuple[Points, Any, float]:
  """Takes neighbours together where a series has more than can be seen.

  Returns means, the ends [2, N] of nine tenths of the values or None, and the
  steps that each stands for, the same for all that have `total` as last step.
  """
  xs, ys = points
  count = math.ceil(len(xs) * total / max(xs[-1], 1) / _MAX_POINTS)
  if count < 2:
    return points, None, 0
  at = np.arange(count, len(xs), count)
  known = [part[np.isfinite(part)] for part in np.split(ys, at)]
  mean, *ends = np.array([
      [part.mean(), *np.quantile(part, [0.05, 0.95])] if len(part) else
      3 * [np.nan] for part in known]).T
  middle = np.array([part.mean() for part in np.split(xs, at)])
  return (middle, mean), np.array(ends), count * xs[-1] / len(xs)


def kept_step(run: Run) -> Optional[int]:
  """The step whose parameters are kept; so far, that of the lowest loss."""
  result = run.result or {}
  # Before there was a kept_step, this was best_step.
  stated = number(result.get('kept_step', result.get('best_step')))
  if math.isfinite(stated):
    return int(stated)
  losses = collections.defaultdict(list)
  for algorithm in run.algorithms:
    for step, loss in zip(*series(run, 'val', 'task_loss', algorithm)):
      losses[int(step)].append(loss)
  # A step of which not all algorithms are written yet does not count.
  means = {step: np.mean(values) for step, values in losses.items()
           if len(values) == len(run.algorithms) and np.isfinite(values).all()}
  return min(means, key=lambda step: means[step]) if means else None


def final_numbers(run: Run, algorithm: str) -> Dict[str, float]:
  """The figures of a run that count in the end, or so far, if known."""
  result = run.result or {}
  tests = result.get('test')
  losses = series(run, 'train', 'task_loss', algorithm)[1]
  last = losses[-math.ceil(len(losses) / 30):]
  found = dict(
      kept_step=kept_step(run), seconds=result.get('seconds'),
      train_loss=float(last.mean()) if len(last) else None,
      test_score=tests.get(algorithm) if isinstance(tests, dict) else None)
  for line in run.lines.get(('val', algorithm), ()):
    if line['step'] == found['kept_step']:
      steps = line.get('solver_steps_mean', line.get('steps_mean'))
      found.update(val_loss=line.get('task_loss'), val_score=line.get('score'),
                   val_steps=steps, val_converged=line.get('converged'),
                   spectral_radius=line.get('spectral_radius'))
  if len(run.algorithms) == 1:  # these are means over algorithms
    found.update(test_converged=result.get('test_converged'),
                 test_steps=result.get('test_solver_steps_mean',
                                       result.get('test_steps_mean')))
  for row in evaluation_rows(run, 'sizes'):
    # An interval of other samples or settings is not one of this score.
    if (row.get('size'), row['score']) == (result.get('test_size'),
                                           found['test_score']):
      found.update(test_low=row.get('low'), test_high=row.get('high'))
  return {name: number(value) for name, value in found.items()
          if math.isfinite(number(value))}


def evaluation_rows(run: Run, part: str) -> List[_Table]:
  """The rows of a part of evaluation.json that have a score."""
  rows = (run.evaluation or {}).get(part) if run.is_evaluated else None
  return [row for row in (rows if isinstance(rows, list) else ())
          if isinstance(row, dict) and math.isfinite(number(row.get('score')))]


def show_setting(name: str, value: Any) -> str:
  """A setting as it is written on the command line.

  >>> show_setting('train_sizes', (8, 16)), show_setting('cgp', True)
  ('8..16', 'True')
  """
  if not isinstance(value, (list, tuple)):
    return str(value)
  comma = '..' if name == 'train_sizes' else ','
  return comma.join(dict.fromkeys(map(str, value)))


def settings(runs: Sequence[Run]) -> Dict[str, Tuple[str, List[str]]]:
  """The default of every setting, and the runs' values."""
  defaults = dataclasses.asdict(configs.PRESETS['default'])
  names = dict.fromkeys(name for run in runs for name in run.config)
  return {name: (show_setting(name, defaults.get(name)), [
      show_setting(name, run.config.get(name)) for run in runs])
          for name in names}


def command(run: Run) -> Optional[str]:
  """The shell command that repeats a run; None if this version cannot."""
  if not run.is_current:
    return None
  # What is trained should be seen, whatever the default is.
  words = ['python', 'experiments/run.py',
           '--algorithm=' + ','.join(run.algorithms)]
  for name, (default, (text,)) in settings([run]).items():
    # None stands for a setting that does not go with another one.
    if text not in (default, 'None') and name != 'algorithms':
      name = 'train_lengths' if name == 'train_sizes' else name
      words.append({'True': f'--{name}', 'False': f'--no{name}'}.get(
          text, f'--{name}={text}'))
  return shlex.join(words)


def missing(run: Run) -> List[Tuple[str, str]]:
  """What a report of the run lacks, with the commands that make it, or ''."""
  written = time.ctime(os.path.getmtime(
      os.path.join(run.folder, checkpoints.MetricsFile.NAME)))
  resume = shlex.join(['python', 'experiments/run.py',
                       f'--workdir={run.folder}', '--resume'])
  evaluate = shlex.join(['python', 'experiments/evaluate.py', run.folder])
  is_measured = bool(evaluation_rows(run, 'sizes'))
  overridden = is_measured and (run.evaluation or {}).get('overridden')
  cases = (
      (run.result is None, f'The run is {run.status} and has no test score: it '
       f'is still going, or was stopped. Its last line is of {written}. If it '
       'was stopped, this goes on with it:', resume),
      (len(run.algorithms) > 1, 'There is no accuracy by size: '
       'experiments/evaluate.py takes runs on one algorithm.', ''),
      (len(run.algorithms) == 1 and not is_measured and run.is_evaluated,
       'There is no accuracy by size, which this measures:', evaluate),
      (is_measured and run.result is None, 'Its evaluation.json is from before '
       'the run was over. Once it is, this brings it up to date:', evaluate),
      (not run.is_evaluated, 'Its evaluation.json is of other parameters than '
       'those that the run has kept, and is left out. This brings it up to '
       'date:', evaluate),
      (overridden, 'Its evaluation.json was made with other settings '
       f'({overridden}) than the run has. This makes one with its own:',
       evaluate),
      *((True, note, '') for note in run.notes))
  return [(text, command) for is_so, text, command in cases if is_so]
