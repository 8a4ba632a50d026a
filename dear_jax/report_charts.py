# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""The charts of a report: what is in them, not how they are drawn."""

import dataclasses
import math
from typing import Any, Callable, List, Mapping, Optional, Sequence, Tuple

from dear_jax import reports
import numpy as np

# The most algorithms of a single run that share a chart.
_MAX_SHARED = 8


@dataclasses.dataclass(frozen=True)
class Entry:
  """What has a colour: a run, or an algorithm of the only run."""
  label: str
  style: int
  run: reports.Run
  algorithm: str


@dataclasses.dataclass(frozen=True)
class Line:
  """One entry's line in a chart.

  Attributes:
    label: Of the entry.
    style: Of the entry.
    points: The line itself; NaN where there is a gap.
    faint: Lines to draw faintly, such as every single value.
    low: Lower ends of a band or of intervals, one a point, or None.
    high: Upper ends, or None.
    mark: A point to point out, or None.
  """
  label: str
  style: int
  points: reports.Points
  faint: Tuple[reports.Points, ...] = ()
  low: Optional[np.ndarray] = None  # [N]
  high: Optional[np.ndarray] = None  # [N]
  mark: Optional[Tuple[float, float]] = None


@dataclasses.dataclass(frozen=True)
class Chart:
  """A chart.

  Attributes:
    title: What it shows.
    note: How to read it.
    x_label: Of the horizontal axis.
    y_label: Of the vertical axis.
    lines: At least one.
    x_scale: 'linear', 'log', or 'log2', which has a tick at every point.
    y_scale: 'linear', 'zero' (linear, from 0), 'log', 'share' (up to 1) or
      'percent' (the same, written in percent).
    x_down: Whether the horizontal axis runs from large to small.
    with_dots: Whether there is a dot, with its interval, at every point.
    level: A height with a name, such as a tolerance, or None.
    span: A part of the horizontal axis with a name, or None.
  """
  title: str
  note: str
  x_label: str
  y_label: str
  lines: Tuple[Line, ...]
  x_scale: str = 'linear'
  y_scale: str = 'linear'
  x_down: bool = False
  with_dots: bool = False
  level: Optional[Tuple[float, str]] = None
  span: Optional[Tuple[float, float, str]] = None


@dataclasses.dataclass(frozen=True)
class Section:
  """Charts under a heading."""
  title: str
  charts: Tuple[Chart, ...]


def groups(runs: Sequence[reports.Run]) -> List[Tuple[str, List[Entry]]]:
  """Decides what is drawn in the same charts.

  Runs on the same algorithm share charts, and so do a few algorithms of a
  single run. Losses of different algorithms in different runs are not to be
  compared, so there every algorithm has charts of its own.

  Args:
    runs: The runs.

  Returns:
    Pairs of a heading, which is empty if there is only one, and the entries.
  """
  algorithms = list(dict.fromkeys(
      algorithm for run in runs for algorithm in run.algorithms))
  if len(runs) == 1 and 1 < len(algorithms) <= _MAX_SHARED:
    return [('', [Entry(algorithm, i, runs[0], algorithm)
                  for i, algorithm in enumerate(algorithms)])]
  return [(algorithm if len(algorithms) > 1 else '',
           [Entry(run.label, i, run, algorithm)
            for i, run in enumerate(runs) if algorithm in run.algorithms])
          for algorithm in algorithms]


def legend(runs: Sequence[reports.Run]) -> List[Tuple[int, str]]:
  """The styles in use and what they stand for."""
  return list(dict.fromkeys(
      (entry.style, entry.label)
      for _, entries in groups(runs) for entry in entries))


def sections(entries: Sequence[Entry], traces: Mapping[str, Any]
             ) -> List[Section]:
  """All the charts that there are figures for.

  Args:
    entries: What shares the charts.
    traces: The residuals [T, B] of runs, by their labels.

  Returns:
    The sections, none of them empty.
  """
  found = [
      Section('Training', _charts([
          _curve(entries, 'train', ['task_loss'], title='Training loss',
                 y_label='task loss', y_scale='log',
                 note='Loss of the task, without penalties.'),
          _curve(entries, 'val', ['task_loss'], title='Validation loss',
                 y_label='task loss', y_scale='log', with_best=True,
                 note='The dot marks the parameters that are kept.'),
          _curve(entries, 'val', ['score'], title='Validation score',
                 y_label='score', y_scale='share', with_best=True,
                 note=f'On samples of size {_sizes(entries, "val_size")}; the '
                 'dot marks the parameters that are kept.'),
          _curve(entries, 'train', ['gradient_norm'], title='Gradient norm',
                 y_label='norm', y_scale='log',
                 level=_level(entries, 'grad_clip_max_norm', 'clipped above'),
                 note='Before clipping.'),
      ])),
      Section('Equilibrium', _charts([
          _curve(entries, 'train', ['solver_steps_mean', 'steps_mean'],
                 title='Steps in training', y_label='steps, mean of a batch',
                 y_scale='zero', note=_about_steps(entries)),
          _curve(entries, 'train', ['converged'], y_scale='percent',
                 title='Converged in training', y_label='share of instances',
                 note='Instances of a training batch whose residual came under '
                 'the tolerance within max_iter steps.'),
          _residuals(entries, traces),
          _curve(entries, 'train', ['solver_steps_max'],
                 title='Slowest instance', y_scale='zero',
                 y_label='steps, most in a batch',
                 level=_level(entries, 'max_iter', 'limit'),
                 note='Solver steps of the slowest instance of a training '
                 'batch.'),
          _curve(entries, 'train', ['backward_steps_mean'],
                 title='Backward solve: steps', y_scale='zero',
                 y_label='steps, mean of a batch', skip_zero=True,
                 note='Of the linear system of the implicit gradient.'),
          _curve(entries, 'train', ['backward_converged'],
                 title='Backward solve: converged', y_scale='percent',
                 y_label='share of instances', needs='backward_steps_mean',
                 note='Where it did not converge, the gradient is an '
                 'approximation.'),
          _curve(entries, 'val', ['spectral_radius'], title='Spectral radius',
                 y_label='radius',
                 level=(1., 'above 1, plain iteration diverges'),
                 note="Largest absolute eigenvalue of the step's Jacobian at "
                 'the equilibrium, in validation.'),
      ])),
      Section('Accuracy', _charts([
          _by_size(entries), _steps_by_size(entries),
          _by_part(entries, 'density', 'edges_mean',
                   title='Score by density',
                   x_label='share of pairs that are edges'),
          _by_part(entries, 'tol', 'tol', title='Score by tolerance',
                   x_label='tolerance of the solver', x_scale='log',
                   x_down=True),
          _by_part(entries, 'max_iter', 'max_iter',
                   title='Score by iteration limit', x_scale='log2',
                   x_label='the most solver steps'),
      ])),
  ]
  return [section for section in found if section.charts]


def _charts(charts: Sequence[Optional[Chart]]) -> Tuple[Chart, ...]:
  return tuple(chart for chart in charts if chart is not None)


def _curve(entries: Sequence[Entry], split: str, names: Sequence[str], *,
           note: str, with_best: bool = False, skip_zero: bool = False,
           needs: Optional[str] = None, **options: Any) -> Optional[Chart]:
  """A chart over the steps of training.

  Args:
    entries: What is in it.
    split: 'train' or 'val'.
    names: Of the figure; the first of them that an entry has.
    note: How to read it.
    with_best: Whether to mark the best step.
    skip_zero: Whether an entry with nothing but zeros is left out.
    needs: A figure; entries that have only zeros of it are left out.
    **options: Of the chart.

  Returns:
    The chart, or None if no entry has the figure.
  """
  lines, windows = [], set()
  all_points = [_first_series(entry, split, names) for entry in entries]
  total = max((steps[-1] for steps, _ in all_points if len(steps)), default=0)
  for entry, (steps, values) in zip(entries, all_points):
    tested = values if needs is None else _first_series(
        entry, split, [needs])[1]
    if not np.isfinite(values).any():
      continue
    if (skip_zero or needs) and not np.nan_to_num(tested).any():
      continue
    window = reports.window_of(steps, total) if split == 'train' else 1
    mean = reports.running_mean(values, window)
    best = reports.best_step(entry.run) if with_best else None
    at = np.flatnonzero(steps == best) if best is not None else []
    if window > 1:
      windows.add(int(round(window * (steps[-1] - steps[0])
                            / max(len(steps) - 1, 1))))
    lines.append(Line(
        label=entry.label, style=entry.style,
        points=reports.thin((steps, mean)),
        faint=(reports.thin_extremes((steps, values)),) if window > 1 else (),
        mark=(steps[at[0]], values[at[0]]) if len(at) else None))
  if not lines:
    return None
  if windows:
    span = ' or '.join(f'{x:,}' for x in sorted(windows)[:2])
    span = span if len(windows) <= 2 else f'up to {max(windows):,}'
    note += f' Running mean over {span} steps; single values are faint' + (
        ', and the outermost may lie outside.'
        if options.get('y_scale') == 'log' else '.')
  return Chart(lines=tuple(lines), note=note, x_label='step', **options)


def _first_series(entry: Entry, split: str, names: Sequence[str]
                  ) -> reports.Points:
  for name in names:
    points = reports.series(entry.run, split, name, entry.algorithm)
    if len(points[0]):
      break
  return points


def _residuals(entries: Sequence[Entry], traces: Mapping[str, Any]
               ) -> Optional[Chart]:
  """Residuals of the instances of a batch over the iterations of a solve."""
  lines = []
  for entry in entries:
    if entry.run.label not in traces:
      continue
    residuals = np.array(traces[entry.run.label], float)
    residuals[np.isinf(residuals)] = np.nan
    xs = np.arange(1., len(residuals) + 1)
    held = hold_last(residuals)
    # An instance without a single finite residual says nothing.
    held = held[:, np.isfinite(held[0])]
    if not held.size:
      continue
    low, median, high = np.quantile(held, [0.25, 0.5, 0.75], axis=1)
    lines.append(Line(
        label=entry.label, style=entry.style, points=(xs, median), low=low,
        high=high, faint=tuple(
            (xs[np.isfinite(y)], y[np.isfinite(y)]) for y in residuals.T)))
  if not lines:
    return None
  sizes = _sizes(entries, 'test_size')
  count = max(len(line.faint) for line in lines)
  return Chart(
      title='Residual per iteration', y_label='relative residual',
      x_label='iteration of the solver', y_scale='log', lines=tuple(lines),
      level=_level(entries, 'tol', 'tolerance'),
      note=f'Median and quartiles over {count} test samples of size {sizes}, '
      'with the '
      'best parameters; single instances are faint. An instance that is done '
      'keeps its residual.')


def hold_last(residuals: np.ndarray) -> np.ndarray:
  """Replaces what is NaN by the last value before it; [T, B]."""
  at = np.where(np.isfinite(residuals), np.arange(len(residuals))[:, None], 0)
  at = np.maximum.accumulate(at, axis=0)
  return np.take_along_axis(residuals, at, axis=0)


def _by_size(entries: Sequence[Entry]) -> Optional[Chart]:
  """Scores by size: those of evaluation.json, or the test score alone."""
  lines, only_tested = [], []
  for entry in entries:
    rows = _rows(entry, 'sizes')
    if not rows:
      score = reports.final_numbers(entry.run, entry.algorithm).get(
          'test_score')
      if score is None:
        continue
      only_tested.append(entry.label)
      rows = [dict(size=entry.run.config.get('test_size'), score=score)]
    line = _score_line(entry, rows, 'size')
    if line is not None:
      lines.append(line)
  note = 'Score with its 95 % bootstrap interval over samples.'
  if only_tested:
    note = (note if len(only_tested) < len(lines) else '') + (
        ' Only the test score is known of ' + ', '.join(only_tested) + '.')
  sizes = [entry.run.config.get('train_sizes') for entry in entries]
  span = None
  if sizes[0] and all(list(x or ()) == list(sizes[0]) for x in sizes):
    # As wide as a size on either side, so that a single one can be seen.
    span = (sizes[0][0] - 0.5, sizes[0][-1] + 0.5, 'trained on')
  return None if not lines else Chart(
      title='Score by size', note=note.strip(), x_label='size',
      y_label='score', x_scale='log2', y_scale='share', with_dots=True,
      lines=tuple(lines), span=span)


def _steps_by_size(entries: Sequence[Entry]) -> Optional[Chart]:
  lines = [_score_line(entry, _rows(entry, 'sizes'), 'size', 'steps_mean')
           for entry in entries]
  lines = [line for line in lines if line is not None]
  return None if not lines else Chart(
      title='Steps by size', note='Mean over samples. ' + _about_steps(entries),
      x_label='size', y_label='steps', x_scale='log2', y_scale='zero',
      with_dots=True, lines=tuple(lines))


def _by_part(entries: Sequence[Entry], part: str, key: str, **options: Any
             ) -> Optional[Chart]:
  """Scores by something else that evaluate.py goes through."""
  lines, sizes = [], []
  for entry in entries:
    line = _score_line(entry, _rows(entry, part), key)
    if line is not None:
      lines.append(line)
      sizes.append(entry.run.evaluation.get('sweep_size'))
  if not lines:
    return None
  sizes = ', '.join(dict.fromkeys(map(str, sizes)))
  return Chart(
      note=f'Score on samples of size {sizes} with its 95 % bootstrap '
      'interval.', y_label='score', y_scale='share', with_dots=True,
      lines=tuple(lines), **options)


def _rows(entry: Entry, part: str) -> List[Mapping[str, Any]]:
  # evaluate.py takes runs on one algorithm.
  if len(entry.run.algorithms) > 1:
    return []
  return reports.evaluation_rows(entry.run, part)


def _score_line(entry: Entry, rows: Sequence[Mapping[str, Any]], key: str,
                name: str = 'score') -> Optional[Line]:
  """A line through the rows of an evaluation, with intervals of scores."""
  read = lambda row, key: reports.number(row.get(key))
  # All but densities are on axes without a 0.
  least = 0. if key == 'edges_mean' else 1e-9
  rows = sorted((row for row in rows if read(row, key) >= least
                 and math.isfinite(read(row, name))),
                key=lambda row: row[key])
  if not rows:
    return None
  column = lambda key: np.array([read(row, key) for row in rows])
  values, low, high = column(name), column('low'), column('high')
  if name != 'score' or not (np.isfinite(low) & np.isfinite(high)).all():
    low = high = None
  return Line(label=entry.label, style=entry.style,
              points=(column(key), values), low=low, high=high)


def _about_steps(entries: Sequence[Entry]) -> str:
  models = {entry.run.model for entry in entries}
  dear = 'valuations of the step until the residual is under the tolerance'
  nar = 's many as the algorithm takes'
  if models == {'dear'}:
    return f'E{dear}.'
  if models == {'nar'}:
    return f'A{nar}.'
  return f'DEAR: e{dear}. NAR: a{nar}.'


def _common(entries: Sequence[Entry], name: str,
            only: Callable[[reports.Run], bool] = lambda run: True) -> Any:
  """A setting, if all the runs agree on it; else None."""
  values = [entry.run.config.get(name) for entry in entries if only(entry.run)]
  return values[0] if values and all(x == values[0] for x in values) else None


def _level(entries: Sequence[Entry], name: str, text: str
           ) -> Optional[Tuple[float, str]]:
  # A nar has solver settings too, and no use for them.
  value = reports.number(_common(
      entries, name,
      lambda run: name not in ('tol', 'max_iter') or run.model == 'dear'))
  return (value, f'{text} {value:g}') if value > 0 else None


def _sizes(entries: Sequence[Entry], name: str) -> str:
  return ' or '.join(dict.fromkeys(
      str(entry.run.config.get(name)) for entry in entries))
