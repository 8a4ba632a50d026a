# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""What is kept of a run of a campaign: one small file without paths."""

import json
import math
import os
import pathlib
from typing import Any, Dict, List, Mapping, Optional

from dear_jax.reports import run_data
from dear_jax.training import campaigns
from dear_jax.training import origins
from dear_jax.training import pace
import numpy as np

# Of the training loss.
MAX_POINTS = 100

_SOLVER = ('solver_steps_mean', 'converged', 'backward_steps_mean',
           'backward_converged', 'steps_mean')
_EVALUATED = ('size', 'samples', 'score', 'low', 'high', 'outputs',
              'steps_mean', 'steps_max', 'converged')
# Names of packages, as they are installed, by those of modules.
_PACKAGES = {'dear_jax': 'dear_jax', 'jax': 'jax', 'haiku': 'haiku',
             'optax': 'optax', 'clrs': 'dm-clrs'}
_DIGITS = 6


def collect(entry: campaigns.Entry, runs: campaigns.PathLike
            ) -> Dict[str, Any]:
  """What there is to keep of a run that is over.

  Args:
    entry: The run.
    runs: The folder of all run folders.

  Returns:
    What can be written as JSON.

  Raises:
    run_folder.RunError: if the folder cannot be read.
  """
  folder = pathlib.Path(runs) / entry.name
  run = run_data.read_run(folder)
  settings = {name: _without_folder(name, value)
              for name, value in run.config.items()}
  result = {name: value for name, value in (run.result or {}).items()
            if name != 'workdir'}
  started = origins.read(folder)
  commits = list(dict.fromkeys(x.get('commit') for x in started))
  pythons = list(dict.fromkeys(x.get('python') for x in started))
  cores = list(dict.fromkeys(x.get('cores') for x in started))
  solver = _solver_figures(run, entry.task)
  return _rounded({
      'name': entry.name, 'group': entry.group, 'task': entry.task,
      'seed': entry.seed,
      'command': entry.command(),
      # Of a run that was resumed with other code, all of them.
      'commit': ', '.join(map(str, filter(None, commits))) or None,
      'cores': ', '.join(map(str, filter(None, cores))) or None,
      'versions': {
          'python': ', '.join(map(str, filter(None, pythons))) or None,
          **{ours: run.versions.get(name)
             for name, ours in _PACKAGES.items()}},
      'result': result,
      'solver': solver,
      'spectral_radius': _last(run, entry.task, 'spectral_radius'),
      'steps_a_second': _speeds(folder, pace.CLOCK),
      'steps_a_processor_second': _speeds(folder, pace.PROCESSOR),
      'train_loss': _thinned(run_data.series(
          run, 'train', 'task_loss', entry.task)),
      'evaluation': [{name: row.get(name) for name in _EVALUATED if name in row}
                     for row in run_data.evaluation_rows(run, 'sizes')] or None,
      'settings': settings,
  })


def write(folder: pathlib.Path, found: Mapping[str, Any]) -> pathlib.Path:
  """Writes what was collected of a run, one part a line."""
  folder.mkdir(parents=True, exist_ok=True)
  path = folder / f'{found["name"]}.json'
  lines = [f' {json.dumps(name)}: {json.dumps(value)}'
           for name, value in found.items()]
  temporary = path.with_name(path.name + '.tmp')
  temporary.write_text('{\n' + ',\n'.join(lines) + '\n}\n', encoding='utf-8')
  os.replace(temporary, path)
  return path


def read_all(folder: pathlib.Path) -> List[Dict[str, Any]]:
  """Everything that was collected in a folder, by names."""
  return [json.loads(path.read_text(encoding='utf-8'))
          for path in sorted(folder.glob('*.json'))]


def _solver_figures(run: run_data.Run, task: str) -> Dict[str, Any]:
  """Means over all training steps that were logged, and over the last tenth."""
  figures: Dict[str, Any] = {'all': {}, 'last_tenth': {}}
  for name in _SOLVER:
    steps, values = run_data.series(run, 'train', name, task)
    if not len(steps):
      continue
    late = steps > 0.9 * float(run.config['train_steps'])
    for part, which in (('all', values), ('last_tenth', values[late])):
      known = which[np.isfinite(which)]
      figures[part][name] = float(known.mean()) if len(known) else None
  return figures


def _last(run: run_data.Run, task: str, name: str) -> Optional[float]:
  """A figure of the last validation."""
  values = run_data.series(run, 'val', name, task)[1]
  return float(values[-1]) if len(values) and math.isfinite(values[-1]) else (
      None)


def _speeds(folder: pathlib.Path, by: str
            ) -> Optional[Dict[str, Optional[float]]]:
  """Steps a second at the beginning and at the end; None if not measured."""
  lines = campaigns.read_lines(folder / pace.PaceFile.NAME)
  if not any(by in x for x in lines):
    return None
  end = lines[-1]['step']
  seconds = {'first': pace.seconds_a_step(lines, 0, pace.SPAN, by),
             'last': pace.seconds_a_step(lines, end - pace.SPAN, end, by)}
  return {name: 1 / x if x else None for name, x in seconds.items()}


def _thinned(points: run_data.Points) -> Dict[str, List[Any]]:
  """A series as means of at most so many parts, each at its last step."""
  steps, values = points
  count = max(1, math.ceil(len(steps) / MAX_POINTS))
  parts = [slice(i, i + count) for i in range(0, len(steps), count)]
  means = []
  for part in parts:
    known = values[part][np.isfinite(values[part])]
    means.append(float(known.mean()) if len(known) else None)
  return {'steps': [int(steps[part][-1]) for part in parts], 'values': means}


def _without_folder(name: str, value: Any) -> Any:
  """The name of the run in a folder, in place of where that is."""
  if name == 'data_cache':
    return None
  if name in campaigns.FOLDERS and value:
    return os.path.basename(os.path.normpath(str(value)))
  return value


def _rounded(value: Any) -> Any:
  """Plain JSON, with as many digits as a reader could want."""
  if isinstance(value, Mapping):
    return {name: _rounded(x) for name, x in value.items()}
  if isinstance(value, (list, tuple)):
    return [_rounded(x) for x in value]
  if isinstance(value, float):
    return float(f'{value:.{_DIGITS}g}') if math.isfinite(value) else None
  return value
