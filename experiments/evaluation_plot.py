# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""The picture of what experiments/evaluate.py has found."""

import os

_MARKER = dict(color='tab:blue', marker='o', markersize=5, linewidth=1.5)
_FAINT = dict(color='grey', linestyle='--', linewidth=1)


def draw(report, path):
  """Draws what a report has: a column for sizes, densities and the solver.

  Args:
    report: What evaluation.json holds.
    path: Of the PNG file, which is replaced at once.

  Raises:
    ImportError: if matplotlib is not installed.
  """
  # pylint: disable=g-import-not-at-top
  import matplotlib
  matplotlib.use('agg')
  import matplotlib.pyplot as plt
  columns = []
  if 'sizes' in report:
    columns.append([_scores_by_size, _steps_by_size])
  if 'density' in report:
    columns.append([_scores_by_density, _steps_by_density])
  sweeps = [draw_sweep for part, draw_sweep in (
      ('tol', _by_tolerance), ('max_iter', _by_limit)) if part in report]
  if sweeps:
    columns.append(sweeps)
  figure, axes = plt.subplots(
      2, len(columns), figsize=(4.6 * len(columns) + 0.4, 7.2),
      layout='constrained', squeeze=False)
  # A single column is too narrow for the title in one line.
  title = _title(report)
  figure.suptitle(title.replace(': ', ':\n', 1) if len(columns) == 1 else title)
  for i, column in enumerate(columns):
    for ax, draw_panel in zip(axes[:, i], column):
      draw_panel(ax, report)
      ax.grid(alpha=0.3)
    for ax in axes[len(column):, i]:
      ax.axis('off')
  temporary = path + '.tmp'
  figure.savefig(temporary, dpi=110, format='png')
  plt.close(figure)
  os.replace(temporary, path)


def _title(report):
  settings = report['settings']
  if report['model'] == 'nar':
    how = f'{settings["test_steps"]} steps'
  else:
    how = (f'{settings["solver"]}, tolerance {settings["tol"]:g}, at most '
           f'{settings["max_iter"]} steps')
  return (f'{report["algorithm"]}, {report["model"]} ({report["processor"]}): '
          f'{how}')


def _values(rows, name):
  return [row[name] for row in rows]


def _draw_scores(ax, xs, rows, **style):
  """Scores with their intervals."""
  ends = [(row['score'] if row['low'] is None else row['low'],
           row['score'] if row['high'] is None else row['high'])
          for row in rows]
  # A percentile interval may lie beside the score itself.
  errors = [[max(row['score'] - low, 0) for row, (low, _) in zip(rows, ends)],
            [max(high - row['score'], 0) for row, (_, high) in zip(rows, ends)]]
  ax.errorbar(xs, _values(rows, 'score'), errors, capsize=3,
              **{**_MARKER, **style})
  ax.set(ylabel='score, 95 % interval')


def _draw_steps(ax, xs, rows):
  """Mean and largest number of steps."""
  ax.plot(xs, _values(rows, 'steps_mean'), label='mean', **_MARKER)
  ax.plot(xs, _values(rows, 'steps_max'), label='largest',
          **{**_MARKER, 'color': 'tab:orange', 'marker': 's'})
  ax.set(ylabel='solver steps' if 'converged' in rows[0] else 'steps')
  ax.set_ylim(bottom=0)
  ax.legend()


def _size_axis(ax, report):
  sizes = _values(report['sizes'], 'size')
  ax.set_xscale('log', base=2)
  ax.set_xticks(sizes, [str(size) for size in sizes])
  ax.minorticks_off()
  low, high = report['train_sizes']
  # As wide as a size on either side, so that a single one can be seen.
  ax.axvspan(low - 0.5, high + 0.5, color='grey', alpha=0.2, linewidth=0,
             label='sizes of training')
  ax.set(xlabel='size')


def _scores_by_size(ax, report):
  _draw_scores(ax, _values(report['sizes'], 'size'), report['sizes'])
  _size_axis(ax, report)
  ax.legend()
  ax.set(title='Score by size')


def _steps_by_size(ax, report):
  _size_axis(ax, report)
  _draw_steps(ax, _values(report['sizes'], 'size'), report['sizes'])
  ax.set(title='Steps by size')


def _scores_by_density(ax, report):
  rows = report['density']
  _draw_scores(ax, _values(rows, 'edges_mean'), rows)
  ax.set(xlabel='share of pairs that are edges',
         title=f'Score by density, size {report["sweep_size"]}')


def _steps_by_density(ax, report):
  rows = report['density']
  _draw_steps(ax, _values(rows, 'edges_mean'), rows)
  ax.set(xlabel='share of pairs that are edges',
         title=f'Steps by density, size {report["sweep_size"]}')


def _draw_sweep(ax, report, part):
  rows = report[part]
  xs = _values(rows, part)
  _draw_scores(ax, xs, rows, label='score')
  ax.plot(xs, _values(rows, 'converged'), label='converged', **_FAINT)
  ax.axvline(report['settings'][part], color='tab:red', linewidth=1,
             linestyle=':', label='in force')
  ax.set(ylabel='score, share converged', ylim=(-0.03, 1.03))
  ax.set_xticks(xs, [f'{x:g}' for x in xs])
  ax.minorticks_off()
  handles, labels = ax.get_legend_handles_labels()
  order = [labels.index(x) for x in ('score', 'converged', 'in force')]
  ax.legend([handles[i] for i in order], [labels[i] for i in order])


def _by_tolerance(ax, report):
  ax.set_xscale('log')
  _draw_sweep(ax, report, 'tol')
  ax.invert_xaxis()
  ax.set(xlabel='tolerance', title='Score against tolerance, size '
         f'{report["sweep_size"]}')


def _by_limit(ax, report):
  ax.set_xscale('log', base=2)
  _draw_sweep(ax, report, 'max_iter')
  ax.set(xlabel='iteration limit', title='Score against iteration limit, size '
         f'{report["sweep_size"]}')
