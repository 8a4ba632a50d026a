# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""A report of runs as one page of HTML that needs nothing else.

Whatever comes from files is escaped, and a policy in the page's head keeps
browsers from loading anything from elsewhere.
"""

import functools
import os
from typing import Any, List, Mapping, Sequence

from dear_jax.reports import charts
from dear_jax.reports import run_data
from dear_jax.training import progress
import jinja2
import markupsafe
import numpy as np
import plotly.graph_objects as go
import plotly.offline

_COLUMNS = {
    'test_score': 'Test score', 'val_score': 'Validation score',
    'val_loss': 'Validation loss', 'train_loss': 'Training loss',
    'test_steps': 'Steps, test', 'test_converged': 'Converged, test',
    'val_steps': 'Steps, validation', 'val_converged': 'Converged, validation',
    'spectral_radius': 'Spectral radius', 'kept_step': 'Kept step',
    'seconds': 'Time'}

_GREY = 'rgba(128,136,150,{})'.format  # of any opacity, on white and on black


def build(runs: Sequence[run_data.Run], traces: Mapping[str, Any],
          remarks: Mapping[str, Sequence[str]], made: str) -> str:
  """Makes the page.

  Residuals [T, B] of solves, and remarks on what is missing, are by labels.
  """
  environment = jinja2.Environment(
      loader=jinja2.FileSystemLoader(os.path.dirname(__file__)),
      autoescape=True, trim_blocks=True, lstrip_blocks=True,
      undefined=jinja2.StrictUndefined)
  rows = _rows(runs)
  missing = {run.label: run_data.missing(run) + [
      (text, '') for text in remarks.get(run.label, ())] for run in runs}
  text = environment.get_template('page.html.jinja').render(
      runs=runs, title=charts.title_of(runs), rows=rows, draw=draw, made=made,
      styles={x[0].number: x[0] for x in rows}, missing=missing,
      columns={name: heading for name, heading in _COLUMNS.items()
               if any(name in row[1] for row in rows)},
      blocks=charts.of_runs(runs, traces), settings=run_data.settings(runs),
      command=run_data.command, duration=progress.duration,
      plotly=markupsafe.Markup(plotly.offline.get_plotlyjs()))
  # Names of files can have halves of characters, which no page may have.
  return text.encode('utf-8', 'replace').decode('utf-8')


def _rows(runs: Sequence[run_data.Run]) -> List[Any]:
  """Entries, their final numbers, the best of these, and the algorithm."""
  rows = []
  for algorithm, entries in charts.groups(runs):
    numbers = [run_data.final_numbers(x.run, x.algorithm) for x in entries]
    best = {}
    for name in ('test_score', 'val_score', 'val_loss', 'train_loss'):
      values = {x[name] for x in numbers if name in x}
      # Different algorithms are not to be compared.
      if len(runs) > 1 and len(values) > 1:
        best[name] = (min if 'loss' in name else max)(values)
    rows += [(x, y, best, algorithm) for x, y in zip(entries, numbers)]
  return rows


def draw(chart: charts.Chart) -> markupsafe.Markup:
  """A chart as Plotly takes it; the style sheet has the colours of letters."""
  axis = dict(automargin=True, zeroline=False, gridcolor=_GREY(0.2), nticks=7,
              title_standoff=8)
  figure = go.Figure(layout=dict(
      template='none', hovermode='x unified', hoverlabel_namelength=28,
      showlegend=False, uirevision=True, font_family='inherit',
      margin=dict(l=0, r=8, t=8, b=0), paper_bgcolor=_GREY(0),
      plot_bgcolor=_GREY(0), xaxis=dict(
          axis, title_text=chart.x_label, tickvals=chart.x_ticks,
          tickformat='~g', type='log' if chart.x_scale != 'linear' else '-',
          autorange='reversed' if chart.x_scale == 'down' else True,
          rangemode='tozero' if chart.x_label == 'step' else 'normal'),
      yaxis=dict(
          # Plotly would name all of 1, 2, 3 to 9 if it were allowed to.
          axis, nticks=3 if chart.y_scale == 'log' else 7,
          title_text=chart.y_label,
          tickformat='.1~%' if chart.y_scale == 'percent' else '~g',
          type='log' if chart.y_scale == 'log' else 'linear',
          range=None if chart.y_range[1] is None else chart.y_range,
          rangemode='tozero' if chart.y_scale == 'zero' else 'normal')))
  rule = dict(color=_GREY(0.9), width=1, dash='dash')
  if chart.span is not None:
    figure.add_vrect(*chart.span, fillcolor=_GREY(0.15), line=rule)
  if chart.level is not None:
    figure.add_hline(chart.level[0], line=rule, label=dict(
        text=chart.level[1], textposition='end',
        yanchor='top' if chart.level_is_on_top else 'bottom'))
  for line in chart.lines:
    _draw_line(figure, line)
  return markupsafe.Markup(figure.to_json())  # which has no tags


def _draw_line(figure: go.Figure, line: charts.Line) -> None:
  """Adds an entry's line, from the back to the front."""
  (xs, ys), colour, error = line.points, line.style.colour, None
  add = functools.partial(
      figure.add_scatter, legendgroup=str(line.style.number), mode='lines',
      line_color=colour, marker_color=colour, hoverinfo='skip')
  if line.ends is not None and line.with_dots:
    # Where intervals of several runs overlap, their ends do not.
    error = dict(array=line.ends[1] - ys, arrayminus=ys - line.ends[0],
                 width=4 + 3 * line.style.number, thickness=1.5)
  elif line.ends is not None:
    at = np.flatnonzero(np.isfinite(ys))
    add(x=xs[[*at, *at[::-1]]], y=[*line.ends[0, at], *line.ends[1, at[::-1]]],
        fill='toself', fillcolor=colour, line_width=0, opacity=0.16)
  for points in line.faint:
    add(x=points[0], y=points[1], opacity=0.25, line_width=1)
  add(x=xs, y=ys, error_y=error, hoverinfo='all', marker_size=7,
      mode='lines+markers' if line.with_dots or len(xs) == 1 else 'lines',
      line_dash=','.join(f'{x}px' for x in line.style.dash) or 'solid',
      # Plotly reads tags in texts.
      name=str(markupsafe.escape(line.style.label)))
  if line.mark is not None:
    add(x=line.mark[:1], y=line.mark[1:], mode='markers', marker_size=11)
