# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""The charts of a report: what is in them, not how they are drawn."""

import dataclasses
import functools
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from dear_jax.reports import run_data
import numpy as np

# Colours that stand out from white and from black; strokes and gaps of lines.
COLOURS = ('#1f77d0', '#e0620d', '#16935a', '#cf4a94', '#7d62dd', '#0f909e',
           '#a67a12', '#737d8c')
_DASHES = ((), (5, 2), (1.5, 2), (7, 2, 2, 2))

_Runs = Sequence[run_data.Run]
_Entries = Sequence['Entry']
_Traces = Mapping[str, Any]  # residuals [T, B] of solves, by labels of runs
_Level = Optional[Tuple[float, str]]  # a height and what it means

_STEPS = ('A DEAR evaluates its step until the residual is under the '
          'tolerance, a NAR as often as the algorithm does.')


@dataclasses.dataclass(frozen=True)
class Style:
  """What an entry or a line is called, and the number of its looks."""
  label: str
  number: int

  @property
  def colour(self) -> str:
    return COLOURS[self.number % len(COLOURS)]

  @property
  def dash(self) -> Tuple[float, ...]:
    """Another dash for the same colour, once all colours are used."""
    return _DASHES[(self.number + self.number // len(COLOURS)) % len(_DASHES)]


@dataclasses.dataclass(frozen=True)
class Entry(Style):
  """What has a style: a run, or an algorithm of the only run."""
  run: run_data.Run
  algorithm: str


@dataclasses.dataclass(frozen=True)
class Line:
  """One entry's line in a chart."""
  style: Style
  points: run_data.Points  # NaN where there is a gap
  ends: Optional[np.ndarray] = None  # [2, N], of a band or of intervals
  faint: Tuple[run_data.Points, ...] = ()  # such as single instances
  mark: Optional[Tuple[float, float]] = None  # a point to point out
  with_dots: bool = False  # and intervals in place of a band


@dataclasses.dataclass(frozen=True)
class Chart:
  """A chart, with at least one line."""
  title: str
  note: str
  x_label: str
  y_label: str
  lines: Tuple[Line, ...]
  x_scale: str = 'linear'  # or 'log', or 'down' (log, from large to small)
  y_scale: str = 'linear'  # or 'zero' (from 0), 'log', 'share', 'percent'
  level: _Level = None
  span: Optional[Tuple[float, float]] = None  # a part of the x axis

  @property
  def y_range(self) -> Tuple[Optional[float], Optional[float]]:
    """The ends of the vertical axis; None where a library may choose."""
    if self.y_scale not in ('share', 'percent'):
      return 0. if self.y_scale == 'zero' else None, None
    low = min(np.nanmin(x) for line in self.lines
              for x in (line.points[1], line.ends) if x is not None)
    # Differences of scores near 1 are to be seen, but not those of noise.
    return 0. if low < 0.4 or low > 0.999 else min(low, 0.9) - 0.02, 1.02

  @property
  def level_is_on_top(self) -> bool:
    """Whether there is room for a word under the level only."""
    return self.level is not None and self.level[0] >= max(
        np.nanmax(x) for line in self.lines
        for x in (line.points[1], *(ys for _, ys in line.faint))
        if np.isfinite(x).any())

  @property
  def x_ticks(self) -> Optional[List[float]]:
    """Where the ticks of the horizontal axis have to be, if anywhere."""
    xs = sorted({x for line in self.lines for x in line.points[0]})
    return xs if self.x_scale != 'linear' and len(xs) <= 9 else None


def groups(runs: _Runs) -> List[Tuple[str, List[Entry]]]:
  """Decides what is drawn in the same charts, with a heading or ''.

  Runs on the same algorithm share charts, and so do a few algorithms of a
  single run. Those of several runs are not to be compared.
  """
  algorithms = list(dict.fromkeys(x for run in runs for x in run.algorithms))
  if len(runs) == 1 and 1 < len(algorithms) <= len(COLOURS):
    return [('', [Entry(algorithm, i, runs[0], algorithm)
                  for i, algorithm in enumerate(algorithms)])]
  return [(algorithm if len(algorithms) > 1 else '',
           [Entry(run.label, i, run, algorithm)
            for i, run in enumerate(runs) if algorithm in run.algorithms])
          for algorithm in algorithms]


def title_of(runs: _Runs) -> str:
  """What the runs are about: their algorithms, if these are few, and names."""
  names = list(dict.fromkeys(x for run in runs for x in run.algorithms))
  what = ', '.join(names) if len(names) < 4 else f'{len(names)} algorithms'
  return f'{what}: ' + ' vs '.join(run.label for run in runs)


def of_runs(runs: _Runs, traces: _Traces) -> Dict[str, List[Chart]]:
  """All charts by headings."""
  return {f'{algorithm}: {title}' if algorithm else title: found
          for algorithm, entries in groups(runs)
          for title, found in _sections(entries, traces).items() if found}


def _sections(entries: _Entries, traces: _Traces) -> Dict[str, List[Chart]]:
  """The charts that entries share, if there are figures for them."""
  train = functools.partial(_curve, entries, 'train')
  val = functools.partial(_curve, entries, 'val')
  measured = functools.partial(_measured, entries)
  steps, scores = ['steps_mean', 'steps_max'], ['score', 'converged']
  loss = 'Loss of the task, without penalties.'
  backward = 'backward_steps_mean'
  found = {'Training': [
      train('Training loss', ['task_loss'], 'task loss', 'log', loss),
      val('Validation loss', ['task_loss'], 'task loss', 'log', loss),
      val('Validation score', ['score'], 'score', 'share', ''),
      train('Gradient norm', ['gradient_norm'], 'norm', 'log',
            'Before clipping.',
            level=_level(entries, 'grad_clip_max_norm', 'clipped above')),
  ], 'Equilibrium': [
      train('Steps in training', ['solver_steps_mean', 'steps_mean'],
            'steps, mean of a batch', 'zero', _STEPS),
      train('Converged in training', ['converged'], 'share of instances',
            'percent', 'Instances of a training batch whose residual came '
            'under the tolerance within max_iter steps.'),
      _residuals(entries, traces),
      train('Slowest instance', ['solver_steps_max'], 'steps, most in a batch',
            'zero', 'Solver steps of the slowest instance of a training batch.',
            level=_level(entries, 'max_iter', 'limit')),
      train('Backward solve: steps', [backward], 'steps, mean of a batch',
            'zero', 'Of the linear system of the damped or the implicit '
            'gradient.', needs=backward),
      train('Backward solve: converged', ['backward_converged'],
            'share of instances', 'percent', 'Where it did not converge, the '
            'gradient is an approximation.', needs=backward),
      val('Spectral radius', ['spectral_radius'], 'radius', 'linear',
          "Largest absolute eigenvalue of the step's Jacobian at the "
          'equilibrium, in validation.',
          level=(1., 'above 1, plain iteration diverges')),
  ], 'Accuracy': [
      measured('Score by size', 'sizes', 'size', ['score'], 'size', 'log'),
      measured('Steps by size', 'sizes', 'size', steps, 'size', 'log'),
      measured('Score by density', 'density', 'edges_mean', ['score'],
               'share of pairs that are edges', 'linear'),
      measured('Steps by density', 'density', 'edges_mean', steps,
               'share of pairs that are edges', 'linear'),
      measured('Score by tolerance', 'tol', 'tol', scores, 'tolerance', 'down'),
      measured('Score by iteration limit', 'max_iter', 'max_iter', scores,
               'iteration limit', 'log'),
      _families(entries),
      _reliability(entries),
  ]}
  return {title: list(filter(None, x)) for title, x in found.items()}


def _curve(entries: _Entries, split: str, title: str, names: Sequence[str],
           y_label: str, y_scale: str, note: str, *, needs: str = '',
           level: _Level = None) -> Optional[Chart]:
  """A chart over steps, of entries that have a name, and not 0 of its needs."""
  found, lines = [], []
  for entry in entries:
    get = functools.partial(run_data.series, entry.run, split,
                            algorithm=entry.algorithm)
    points = max(map(get, names), key=lambda points: len(points[0]))
    if np.isfinite(points[1]).any() and (
        not needs or np.nan_to_num(get(needs)[1]).any()):
      found.append((entry, points))
  if not found:
    return None
  total = max(steps[-1] for _, (steps, _) in found)
  for entry, (steps, values) in found:
    best = dict(zip(steps, zip(steps, values))).get(
        run_data.kept_step(entry.run)) if split == 'val' else None
    points, ends, width = run_data.summarise((steps, values), total)
    lines.append(Line(entry, points, ends, mark=best))
  values = np.concatenate([line.points[1] for line in lines])
  if level and not np.nanmin(values) / 30 <= level[0] <= 3 * np.nanmax(values):
    level = None  # all the rest would be squeezed for it
  if y_scale == 'log' and np.nanmax(values) <= 0:
    y_scale = 'zero'  # nothing has a logarithm
  note += ' Dots mark the parameters that are kept.' * (split == 'val')
  if width:
    note += (f' Means over {width:,.0f} steps; bands are nine tenths of the '
             'single values.')
  return Chart(title, note.strip(), 'step', y_label, tuple(lines),
               y_scale=y_scale, level=level)


def _residuals(entries: _Entries, traces: _Traces) -> Optional[Chart]:
  """Residuals of the instances of a batch over the iterations of a solve."""
  lines = []
  for entry in entries:
    residuals = np.array(traces.get(entry.run.label, np.zeros([0, 0])), float)
    residuals[np.isinf(residuals)] = np.nan
    xs, known = np.arange(1., len(residuals) + 1), np.isfinite(residuals)
    last = np.maximum.accumulate(known * np.arange(len(xs))[:, None], axis=0)
    held = np.take_along_axis(residuals, last, axis=0)
    # An instance without a single finite residual says nothing.
    held = held[:, known[:1].any(axis=0)]
    if held.size:
      ends = np.quantile(held, [0.25, 0.5, 0.75], axis=1)
      lines.append(Line(entry, (xs, ends[1]), ends[[0, 2]],
                        tuple((xs, ys) for ys in residuals.T)))
  return None if not lines else Chart(
      'Residual per iteration',
      'Median and quartiles over some test samples, with the parameters that '
      'are kept; single instances are faint. One that is done keeps its '
      'residual.', 'iteration of the solver', 'relative residual', tuple(lines),
      y_scale='log', level=_level(entries, 'tol', 'tolerance'))


def _measured(entries: _Entries, title: str, part: str, key: str,
              names: Sequence[str], x_label: str, x_scale: str
              ) -> Optional[Chart]:
  """What evaluate.py has measured: the first figure, of a single run all."""
  lines: List[Line] = []
  found: List[Mapping[str, Any]] = []
  for entry in entries:
    rows = run_data.evaluation_rows(entry.run, part)
    styles = [entry] if len(entries) > 1 else [
        Style(x.rpartition('_')[2], i) for i, x in enumerate(names)]
    lines += filter(None, [_line(style, rows, key, name)
                           for style, name in zip(styles, names)])
    found += [entry.run.evaluation or {}] if rows else []
  if not lines:
    return None
  is_score = names[0] == 'score'
  note = ('Bars are 95 % bootstrap intervals over samples.' if is_score else
          'Mean over samples. ' + _STEPS)
  if part == 'sizes':
    sizes = _common([x.run.config.get('train_sizes') for x in entries])
    # As wide as a size on either side, so that a single one can be seen.
    span = (sizes[0] - 0.5, sizes[1] + 0.5) if sizes else None
    x_label += ' (grey: trained on)' if span else ''
  else:
    title += f', size {_common([x.get("sweep_size") for x in found])}'
    in_force = _common([(x.get('settings') or {}).get(part) for x in found])
    span = (in_force, in_force) if in_force else None
    x_label += ' (grey: in force)' if span else ''
  return Chart(title, note, x_label, names[0].partition('_')[0], tuple(lines),
               x_scale, 'share' if is_score else 'zero', span=span)


def _families(entries: _Entries) -> Optional[Chart]:
  """Scores by size of every family of graphs, of a single run."""
  if len(entries) > 1:
    return None
  rows = run_data.evaluation_rows(entries[0].run, 'graphs')
  names = list(dict.fromkeys(str(row.get('graphs')) for row in rows))
  lines = tuple(filter(None, [
      _line(Style(name, i), [x for x in rows if x.get('graphs') == name],
            'size', 'score') for i, name in enumerate(names)]))
  return Chart('Score by family of graphs',
               'Bars are 95 % bootstrap intervals over samples.', 'size',
               'score', lines, 'log', 'share') if lines else None


def _reliability(entries: _Entries) -> Optional[Chart]:
  """How often runs are right, by how sure they are."""
  lines = []
  for entry in entries:
    found = (entry.run.evaluation or {}).get('reliability')
    bins = found.get('bins') if isinstance(found, dict) else None
    rows = [row for row in (bins if isinstance(bins, list) else ())
            if isinstance(row, dict)]
    table = np.array([[run_data.number(row.get(x))
                       for x in ('confidence', 'right')]
                      for row in rows]).reshape(-1, 2)
    table = table[np.isfinite(table).all(axis=1)]
    if len(table):
      style = Style(entry.label or entry.algorithm, entry.number)
      lines.append(Line(style, (table[:, 0], table[:, 1]), with_dots=True))
  if not lines:
    return None
  ideal = Line(Style('as sure as right', len(COLOURS) - 1),
               (np.array([0., 1.]), np.array([0., 1.])))
  return Chart('Reliability', 'Nodes in bins by the probability of what was '
               'chosen, of all graphs of the chart by family. Below the '
               'diagonal the model is too sure.', 'confidence', 'share right',
               (*lines, ideal), y_scale='share')


def _line(style: Style, rows: Sequence[Mapping[str, Any]], key: str, name: str
          ) -> Optional[Line]:
  """A line through the rows of an evaluation, with intervals of scores."""
  table = np.array([[run_data.number(row.get(x)) for row in rows]
                    for x in (key, name, 'low', 'high')])  # [4, N]
  # All but densities are on axes without a 0.
  least = 0 if key == 'edges_mean' else 1e-9
  table = table[:, (table[0] >= least) & np.isfinite(table[1])]
  xs, ys, *ends = table[:, table[0].argsort()]
  has_ends = name == 'score' and np.isfinite(ends).all()
  return Line(style, (xs, ys), np.array(ends) if has_ends else None,
              with_dots=True) if len(xs) else None


def _common(values: Sequence[Any]) -> Any:
  """A value that all agree on; else None."""
  return values[0] if values and all(x == values[0] for x in values) else None


def _level(entries: _Entries, name: str, text: str) -> _Level:
  # A nar has solver settings too, and no use for them.
  value = run_data.number(_common([
      x.run.config.get(name) for x in entries
      if x.run.is_dear or name not in ('tol', 'max_iter')]))
  return (value, f'{text} {value:g}') if value > 0 else None
