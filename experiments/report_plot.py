# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""The charts of experiments/report.py as one picture."""

import os
import warnings

_COLUMNS = 3
_DPI = 120


def draw(runs, traces, path):
  """Draws the charts of a report.

  Args:
    runs: The runs, as `dear_jax.reports` reads them.
    traces: Residuals of solves by the labels of the runs.
    path: Of the PNG file, which is replaced at once.

  Raises:
    ImportError: if matplotlib is not installed.
  """
  # pylint: disable=g-import-not-at-top
  from matplotlib import figure
  from matplotlib import lines
  from dear_jax import report_charts
  from dear_jax import report_page
  rows = _rows(runs, traces)
  columns = max(map(len, rows))
  # With room for the title and the legend.
  picture = figure.Figure(figsize=(5 * columns, 3.5 * len(rows) + 0.9),
                          layout='constrained')
  axes = picture.subplots(len(rows), columns, squeeze=False)
  for line, row in zip(axes, rows):
    for ax, (algorithm, chart) in zip(line, row):
      _draw_chart(ax, chart, algorithm)
    for ax in line[len(row):]:
      ax.axis('off')
  legend = report_charts.legend(runs)
  if len(legend) > 1:
    handles = [lines.Line2D([], [], **_style(style)) for style, _ in legend]
    # One that begins with an underscore would be left out.
    labels = [' ' + _plain(label) for _, label in legend]
    picture.legend(handles, labels, loc='outside upper center', frameon=False,
                   # As many columns as fit.
                   ncols=min(len(labels), max(1, 150 // max(map(len, labels)))),
                   handlelength=3, title=_plain(report_page.subject(runs)),
                   title_fontproperties=dict(weight='bold', size=13))
  else:
    picture.suptitle(_plain(f'{report_page.subject(runs)}: '
                            f'{runs[0].label}'), fontweight='bold')
  temporary = path + '.tmp'
  with warnings.catch_warnings():
    # About letters of labels that its font lacks.
    warnings.simplefilter('ignore')
    picture.savefig(temporary, dpi=_DPI, format='png')
  os.replace(temporary, path)


def _rows(runs, traces):
  """The charts with the names of their algorithms, in rows."""
  from dear_jax import report_charts  # pylint: disable=g-import-not-at-top
  groups = report_charts.groups(runs)
  rows = []
  for algorithm, entries in groups:
    sections = report_charts.sections(entries, traces)
    if len(groups) > 1:
      # Of several algorithms a row each of learning curves: the page has all.
      sections = [x for x in sections if x.title == 'Training']
    charts = [(algorithm, chart) for x in sections for chart in x.charts]
    columns = _COLUMNS if len(groups) == 1 else max(1, len(charts))
    rows += [charts[i:i + columns] for i in range(0, len(charts), columns)]
  return rows


def _style(style):
  # pylint: disable=g-import-not-at-top
  from dear_jax import report_style
  from dear_jax import report_svg
  dash = report_svg.dash_of(style)
  return dict(color=report_style.PALETTE[report_svg.colour_of(style)],
              # Lengths are in pixels there, and in widths of the line here.
              linestyle=(0, [x / 2 for x in dash]) if dash else '-',
              linewidth=1.8)


def _draw_chart(ax, chart, algorithm):
  """Draws one chart of `report_charts`, within the limits of the page's."""
  from dear_jax import report_svg  # pylint: disable=g-import-not-at-top
  for axis, made in (('x', report_svg.x_axis(chart)),
                     ('y', report_svg.y_axis(chart))):
    ticks, texts = zip(*made.ticks) if made.ticks else ((), ())
    ends = (made.high, made.low) if made.down else (made.low, made.high)
    ax.set(**{f'{axis}scale': 'log' if made.log else 'linear',
              f'{axis}lim': ends})
    getattr(ax, f'set_{axis}ticks')(ticks, texts)
  ax.minorticks_off()
  if chart.span is not None:
    ax.axvspan(*chart.span[:2], color='#eef1f5', linewidth=0)
    ax.text(chart.span[0], 0.97, f' {chart.span[2]}', va='top', color='grey',
            transform=ax.get_xaxis_transform(), fontsize=8)
  if chart.level is not None:
    ax.axhline(chart.level[0], color='grey', linewidth=1, linestyle='--')
    low, high = ax.get_ylim()
    if low <= chart.level[0] <= high:
      on_left = report_svg.level_on_left(
          chart, report_svg.x_axis(chart), report_svg.y_axis(chart))
      ax.text(0.01 if on_left else 0.99, chart.level[0], chart.level[1],
              ha='left' if on_left else 'right', va='bottom', color='grey',
              transform=ax.get_yaxis_transform(), fontsize=8)
  for i, line in enumerate(chart.lines):
    _draw_line(ax, chart, line, report_svg.shift(chart, i))
  title = f'{algorithm}: {chart.title}' if algorithm else chart.title
  ax.set_title(_plain(title), loc='left', fontweight='bold', fontsize=11)
  ax.set(xlabel=chart.x_label, ylabel=chart.y_label)
  ax.grid(alpha=0.3)
  ax.spines[['top', 'right']].set_visible(False)


def _draw_line(ax, chart, line, shift):
  """Draws what an entry has in a chart, that many pixels to the right."""
  from matplotlib import transforms  # pylint: disable=g-import-not-at-top
  style = _style(line.style)
  place = ax.transData + transforms.ScaledTranslation(
      shift / 96, 0, ax.figure.dpi_scale_trans)
  colour = style['color']
  for points in line.faint:
    ax.plot(*points, color=colour, linewidth=0.8,
            alpha=0.28 if len(line.faint) == 1 and len(chart.lines) < 4
            else 0.17)
  xs, ys = line.points
  if line.low is not None and chart.with_dots:
    ax.vlines(xs, line.low, line.high, color=colour, linewidth=1.8,
              transform=place)
  elif line.low is not None:
    ax.fill_between(xs, line.low, line.high, color=colour, alpha=0.16,
                    linewidth=0)
  marker = 'o' if chart.with_dots or len(xs) == 1 else None
  ax.plot(xs, ys, marker=marker, markersize=5, transform=place, **style)
  if line.mark is not None:
    ax.plot(*line.mark, marker='o', markersize=6, color=colour,
            markeredgecolor='white', clip_on=False, zorder=5)


def _plain(text):
  """Keeps matplotlib from reading formulas into names of folders."""
  return str(text).encode('utf-8', 'replace').decode('utf-8').replace(
      '$', r'\$')
