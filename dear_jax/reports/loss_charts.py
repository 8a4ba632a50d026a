# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Training losses of collected runs, side by side."""

import dataclasses
from typing import Any, Dict, List, Mapping, Sequence

from dear_jax.reports import campaign_figures
from dear_jax.reports import run_data


@dataclasses.dataclass(frozen=True)
class Comparison:
  """Two kinds of runs, by the beginnings of their names."""
  file: str
  title: str
  labels: Mapping[str, str]


COMPARISONS = (
    Comparison('results_nar_dear.png', 'NAR against DEAR',
               {'nar': 'NAR', 'dear': 'DEAR'}),
    Comparison('results_cgp.png', 'With and without Cayley graph propagation',
               {'cgp': 'DEAR with CGP', 'dear': 'DEAR'}),
    Comparison('results_alignment.png', 'With and without alignment',
               {'gas': 'DEAR with GAS', 'dear': 'DEAR'}),
)


def tasks_of(comparison: Comparison, results: Mapping[str, Any],
             tasks: Sequence[str]) -> List[str]:
  """The tasks, of those given, of which both curves are there."""
  return [task for task in tasks if all(
      _run(kind, task, results) for kind in comparison.labels)]


def runs_of(comparison: Comparison, results: Mapping[str, Any],
            tasks: Sequence[str]) -> List[run_data.Run]:
  """What `png.draw_runs` draws: a run of every kind, on all of these tasks."""
  runs = []
  for kind, label in comparison.labels.items():
    lines: Dict[Any, Any] = {}
    for task in tasks:
      loss = _run(kind, task, results)['train_loss']
      lines['train', task] = [
          {'step': step, 'task_loss': value}
          for step, value in zip(loss['steps'], loss['values'])]
    runs.append(run_data.Run('', label, {'algorithms': list(tasks)}, lines))
  return runs


def draw(results: Mapping[str, Any], tasks: Sequence[str], folder: Any
         ) -> List[str]:
  """Draws all comparisons of which there is one.

  Args:
    results: What was collected, by names of runs.
    tasks: In their order.
    folder: Of the pictures, a `pathlib.Path`.

  Returns:
    The names of the files that were written. Those of comparisons that are not
    there any more are removed.

  Raises:
    ImportError: if matplotlib is not installed.
  """
  from dear_jax.reports import png  # pylint: disable=g-import-not-at-top
  written = []
  for comparison in COMPARISONS:
    found = tasks_of(comparison, results, tasks)
    if not found:
      (folder / comparison.file).unlink(missing_ok=True)
      continue
    folder.mkdir(parents=True, exist_ok=True)
    png.draw_runs(runs_of(comparison, results, found), {},
                  str(folder / comparison.file))
    written.append(comparison.file)
  return written


def _run(kind: str, task: str, results: Mapping[str, Any]) -> Any:
  """The run of a kind, or the first steps of it if that is all there is."""
  kinds = campaign_figures.OUR_DEAR if kind == 'dear' else (kind,)
  found = (results.get(f'{name}_{task}_seed1') for name in kinds)
  return next((x for x in found if _has_curve(x)), None)


def _has_curve(result: Any) -> bool:
  return bool(result) and any(
      x is not None for x in result['train_loss']['values'])
