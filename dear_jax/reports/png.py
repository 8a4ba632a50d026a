# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""The charts of a report as one picture."""

import math
from typing import Any, Mapping, Sequence, Set
import warnings

from dear_jax.data import files
from dear_jax.reports import charts
from dear_jax.reports import run_data


def draw_runs(runs: Sequence[run_data.Run], traces: Mapping[str, Any],
              path: str) -> None:
  """Draws the charts of `charts.of_runs`."""
  found = charts.of_runs(runs, traces)
  if len(charts.groups(runs)) > 1:
    # Of several algorithms only the learning curves: the page has all.
    found = {title: x for title, x in found.items() if 'Training' in title}
  _draw({f'{title.rpartition("Training")[0]}{x.title}': x
         for title, some in found.items() for x in some},
        charts.title_of(runs), path)


def draw_evaluation(report: Mapping[str, Any], path: str) -> None:
  """Draws what experiments/evaluate.py has found and writes as JSON."""
  run = run_data.Run('', '', dict(report, algorithms=[report['algorithm']]), {},
                     evaluation=report)
  how = ('{test_steps} steps' if report['model'] == 'nar' else
         '{solver}, tolerance {tol:g}, at most {max_iter} steps')
  _draw({x.title: x for x in charts.of_runs([run], {}).get('Accuracy', ())},
        '{algorithm}, {model} ({processor}):\n'.format(**report)
        + how.format(**report['settings']), path)


def _draw(found: Mapping[str, charts.Chart], title: str, path: str) -> None:
  """Draws charts under titles; the file is replaced at once."""
  from matplotlib import figure  # pylint: disable=g-import-not-at-top
  columns = min(3, max(len(found), 1))
  rows = math.ceil(len(found) / columns)
  explained: Set[str] = set()
  picture = figure.Figure(figsize=(5 * columns, 3.6 * rows + 0.6),
                          layout='constrained')
  picture.suptitle(_plain(title), fontweight='bold')
  for i, (name, chart) in enumerate(found.items()):
    ax = picture.add_subplot(rows, columns, i + 1)
    _draw_chart(ax, chart)
    ax.set_title(_plain(name), loc='left', fontsize=11, fontweight='bold')
    labels = {line.style.label for line in chart.lines}
    if len(labels) > 1 and not labels <= explained:
      ax.legend(fontsize=8)
      explained |= labels
  with warnings.catch_warnings():
    warnings.simplefilter('ignore')  # about letters that its font lacks
    with files.replacing(path) as temporary:
      picture.savefig(temporary, dpi=110, format='png')


def _draw_chart(ax: Any, chart: charts.Chart) -> None:
  """Draws one chart."""
  from matplotlib import ticker  # pylint: disable=g-import-not-at-top
  ax.set(xlabel=chart.x_label, ylabel=chart.y_label,
         xscale='linear' if chart.x_scale == 'linear' else 'log',
         yscale='log' if chart.y_scale == 'log' else 'linear')
  grey = dict(color='grey', linewidth=1, linestyle='--')
  if chart.span is not None:
    ax.axvspan(*chart.span, **dict(grey, color=None, ec='grey', fc='#8883'))
  if chart.level is not None:
    ax.axhline(chart.level[0], **grey)
    ax.annotate(chart.level[1], (0.99, chart.level[0]), fontsize=8, ha='right',
                va='top' if chart.level_is_on_top else 'bottom',
                xycoords=('axes fraction', 'data'))
  for line in chart.lines:
    (xs, ys), colour = line.points, line.style.colour
    for points in line.faint:
      ax.plot(*points, color=colour, linewidth=0.8, alpha=0.25)
    if line.ends is not None and line.with_dots:
      ax.errorbar(xs, ys, abs(line.ends - ys), color=colour, linestyle='',
                  capsize=2 + 2 * line.style.number)
    elif line.ends is not None:
      ax.fill_between(xs, *line.ends, color=colour, alpha=0.16, linewidth=0)
    # A label that begins with an underscore would be left out.
    ax.plot(xs, ys, color=colour, linestyle=(0, line.style.dash),
            label=_plain(f' {line.style.label}'), markersize=4,
            marker='o' if line.with_dots or len(xs) == 1 else None)
    if line.mark is not None:
      ax.plot(*line.mark, marker='o', markersize=8, color=colour)
  places = {float(x) for line in chart.lines for x in line.points[0]}
  if len(places) == 1 and chart.x_scale != 'linear' and chart.span is None:
    place, = places  # which makes no range of its own on such an axis
    ax.set_xlim(place / 2, place * 2)
  if chart.x_ticks:
    ax.set_xticks(chart.x_ticks, [f'{x:g}' for x in chart.x_ticks])
    ax.xaxis.minorticks_off()
  if chart.x_scale == 'down':
    ax.invert_xaxis()
  if chart.x_label == 'step':
    ax.set_xlim(0)
    ax.xaxis.set_major_locator(ticker.MaxNLocator(integer=True))
  ax.set_ylim(*chart.y_range)
  low, high = ax.get_ylim()
  if chart.y_scale == 'zero':
    ax.set_ylim(0, 1.05 * high)  # no line lies on the frame
  elif chart.y_scale in ('share', 'percent'):
    ax.set_yticks([y for y in ax.get_yticks() if low <= y < 1.001])
    if chart.y_scale == 'percent':
      ax.yaxis.set_major_formatter(ticker.PercentFormatter(1, decimals=0))
  elif chart.y_scale == 'log':
    between = (1, 2, 5) if high < 1e3 * low else (1,)
    ax.yaxis.set(
        major_locator=ticker.LogLocator(subs=between) if high > 10 * low else
        ticker.AutoLocator(), minor_locator=ticker.NullLocator(),
        major_formatter=ticker.FuncFormatter(lambda y, _: f'{y:g}'))
  ax.grid(alpha=0.3)


def _plain(text: str) -> str:
  """Names of folders are no formulas, and may have halves of characters."""
  return text.encode('utf-8', 'replace').decode().replace('$', r'\$')
