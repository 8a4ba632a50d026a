# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""A report of runs as one page of HTML that needs nothing else.

Whatever comes from files is escaped, and a policy in the page's head keeps
browsers from loading anything from elsewhere.
"""

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from dear_jax import progress
from dear_jax import report_charts
from dear_jax import report_style
from dear_jax import report_svg
from dear_jax import reports

_POLICY = ("default-src 'none'; style-src 'unsafe-inline'; "
           "script-src 'unsafe-inline'; img-src data:")

# Name in `reports.final_numbers`, heading, setting with the size of the
# samples, how to write it, and whether more or less of it is better.
_COLUMNS = (
    ('test_score', 'Test score', 'test_size', '{:.4f}', max),
    ('val_score', 'Validation score', 'val_size', '{:.4f}', max),
    ('val_loss', 'Validation loss', 'val_size', '{:.4g}', min),
    ('train_loss', 'Training loss', None, '{:.4g}', min),
    ('test_steps', 'Steps, test', 'test_size', '{:.1f}', None),
    ('test_converged', 'Converged, test', 'test_size', '{:.1%}', None),
    ('val_steps', 'Steps, validation', 'val_size', '{:.1f}', None),
    ('val_converged', 'Converged, validation', 'val_size', '{:.1%}', None),
    ('spectral_radius', 'Spectral radius', 'val_size', '{:.3f}', None),
    ('best_step', 'Best step', None, '{:,.0f}', None),
)
escape = report_svg.escape
_UNKNOWN = '\N{EN DASH}'


def build(runs: Sequence[reports.Run], *,
          traces: Optional[Mapping[str, Any]] = None,
          remarks: Optional[Mapping[str, Sequence[str]]] = None,
          made: str = '') -> str:
  """Makes the page.

  Args:
    runs: The runs, with labels that are all different.
    traces: The residuals [T, B] of solves, by the labels of the runs.
    remarks: More sentences about what is missing, by the labels of the runs.
    made: When and by what the page was made.

  Returns:
    A whole document.
  """
  legend = report_charts.legend(runs)
  title = _title(runs)
  blocks = [('Final numbers', _numbers(runs)),
            *_charts(runs, traces or {}),
            ('What is missing', _missing(runs, remarks or {})),
            ('Settings', _settings(runs)), ('To repeat', _repeat(runs))]
  blocks = [(title, f'<section id="part-{i}"><h2>{title}</h2>{block}'
             '</section>')
            for i, (title, block) in enumerate(blocks) if block]
  hide = '\n'.join(
      f'body:has(#show-{style}:not(:checked)) .run.s{style}{{display:none}}'
      for style, _ in legend)
  parts = [
      '<!DOCTYPE html>', '<html lang="en">', '<head>',
      '<meta charset="utf-8">',
      f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
      '<meta name="viewport" content="width=device-width, initial-scale=1">',
      f'<title>{escape(title)}</title>',
      f'<style>{report_style.STYLE}'
      f'{report_svg.style_rules([style for style, _ in legend])}\n'
      f'{hide}</style>',
      '</head>', '<body>',
      f'<header><h1>{escape(title)}</h1>{_contents(blocks)}</header>',
      _run_bar(legend), '<main>', *(block for _, block in blocks), '</main>',
      f'<footer>{escape(made)}</footer>' if made else '',
      f'<script>{report_style.SCRIPT}</script>', '</body>', '</html>',
  ]
  return '\n'.join(part for part in parts if part) + '\n'


def subject(runs: Sequence[reports.Run]) -> str:
  """What the runs are about: their algorithms, if they are few."""
  algorithms = list(dict.fromkeys(x for run in runs for x in run.algorithms))
  return (', '.join(algorithms) if len(algorithms) <= 3
          else f'{len(algorithms)} algorithms')


def _title(runs: Sequence[reports.Run]) -> str:
  labels = [run.label for run in runs]
  return f'{subject(runs)}: ' + (' vs '.join(labels) if len(labels) <= 4
                        else f'{len(labels)} runs')


def _contents(blocks: Sequence[Tuple[str, str]]) -> str:
  links = ''.join(f'<a href="#part-{i}">{title}</a> '
                  for i, (title, _) in enumerate(blocks))
  return f'<nav class="contents" aria-label="Contents">{links}</nav>'


def _about(run: reports.Run) -> str:
  """What a run is, and how far it got, in a line."""
  parts = [name for name, on in (
      ('CGP', run.config.get('cgp')), ('aligned', run.config.get('align_to')),
      ('GRANOLA', run.config.get('norm') == 'granola'),
      ('stochastic depth', run.config.get('stochastic_depth'))) if on]
  return ', '.join([run.model, str(run.config.get('processor', '')), *parts,
                    f'seed {run.config.get("seed", "?")}', run.status])


def _run_bar(legend: Sequence[Tuple[int, str]]) -> str:
  """The legend of all charts, where runs can be hidden."""
  if len(legend) < 2:
    return ''
  labels = ''.join(
      f'<label class="s{style}"><input type="checkbox" id="show-{style}" '
      f'checked>{report_svg.legend_key(style)}{escape(label)}</label>'
      for style, label in legend)
  return (f'<nav class="runs" aria-label="Runs to show"><div>{labels}</div>'
          '</nav>')


def _numbers(runs: Sequence[reports.Run]) -> str:
  """The table of final numbers."""
  rows = []
  for algorithm, entries in report_charts.groups(runs):
    # In a single run's group every entry is an algorithm of its own.
    found = [(entry, reports.final_numbers(entry.run, entry.algorithm))
             for entry in entries]
    shared = len({entry.algorithm for entry in entries}) == 1
    best = _best([numbers for _, numbers in found]) if shared else {}
    rows += [(algorithm, entry, numbers, best) for entry, numbers in found]
  columns = [column for column in _COLUMNS
             if any(column[0] in numbers for _, _, numbers, _ in rows)]
  with_algorithm = any(algorithm for algorithm, *_ in rows)
  is_shared = len({entry.run.label for _, entry, *_ in rows}) < len(rows)
  head = ['<th scope="col">' + ('Algorithm' if is_shared and not with_algorithm
                                else 'Run') + '</th>']
  if with_algorithm:
    head.append('<th scope="col" class="left">Algorithm</th>')
  head += [_head(runs, title, setting) for _, title, setting, _, _ in columns]
  head.append('<th scope="col">Time</th>')
  body = []
  for algorithm, entry, numbers, best in rows:
    cells = [f'<th scope="row">{report_svg.legend_key(entry.style)}'
             f'{escape(entry.label)} <small>{escape(_about(entry.run))}</small>'
             '</th>']
    if with_algorithm:
      cells.append(f'<td class="left">{escape(algorithm)}</td>')
    cells += [_cell(numbers, name, form, best) for name, _, _, form, _ in
              columns]
    seconds = numbers.get('seconds')
    cells.append('<td>' + (_UNKNOWN if seconds is None else escape(
        progress.duration(seconds))) + '</td>')
    body.append(f'<tr>{"".join(cells)}</tr>')
  note = ('Training loss is the running mean at the end. Validation figures '
          'and test are those of the parameters that are kept, which are of the '
          'best step.')
  if any(best for *_, best in rows):
    note += ' The best of several runs is bold.'
  return (f'{_table("Final numbers", head, body)}'
          f'<p class="soft under">{note}</p>')


def _best(numbers: Sequence[Mapping[str, float]]) -> Dict[str, float]:
  """The best value of every column, if there is a choice."""
  found = {}
  for name, _, _, _, better in _COLUMNS:
    values = [x[name] for x in numbers if name in x]
    if better is not None and len(set(values)) > 1:
      found[name] = better(values)
  return found


def _head(runs: Sequence[reports.Run], title: str, setting: Optional[str]
          ) -> str:
  sizes = {str(run.config.get(setting)) for run in runs}
  note = ''
  if setting is not None and len(sizes) == 1:
    note = f'<small>size {escape(sizes.pop())}</small>'
  return f'<th scope="col">{escape(title)}{note}</th>'


def _cell(numbers: Mapping[str, float], name: str, form: str,
          best: Mapping[str, float]) -> str:
  if name not in numbers:
    return f'<td>{_UNKNOWN}</td>'
  text = escape(form.format(numbers[name]))
  if name == 'test_score' and 'test_low' in numbers:
    text += (f' <small>[{numbers["test_low"]:.3f}, '
             f'{numbers["test_high"]:.3f}]</small>')
  is_best = name in best and numbers[name] == best[name]
  return f'<td{" class=best" if is_best else ""}>{text}</td>'


def _missing(runs: Sequence[reports.Run],
             remarks: Mapping[str, Sequence[str]]) -> str:
  """What is not in the report, and how to get it."""
  blocks = []
  for run in runs:
    items = [f'<p>{escape(text)}</p>{_code(command) if command else ""}'
             for text, command in reports.missing(run)]
    items += [f'<p>{escape(text)}</p>'
              for text in (*run.notes, *remarks.get(run.label, ()))]
    if items:
      blocks.append(f'<div class="card note"><h3>{escape(run.label)}</h3>'
                    f'{"".join(items)}</div>')
  return '\n'.join(blocks)


def _charts(runs: Sequence[reports.Run], traces: Mapping[str, Any]
            ) -> List[Tuple[str, str]]:
  """All charts, as pairs of a heading and what is under it."""
  blocks = []
  count = 0
  with_legend = len(report_charts.legend(runs)) > 1
  for algorithm, entries in report_charts.groups(runs):
    parts = []
    for section in report_charts.sections(entries, traces):
      figures = []
      for chart in section.charts:
        count += 1
        figures.append(_figure(chart, f'chart-{count}', with_legend))
      figures = f'<div class="charts">{"".join(figures)}</div>'
      if algorithm:
        parts.append(f'<h3 class="sub">{section.title}</h3>{figures}')
      else:
        blocks.append((section.title, figures))
    if parts:
      blocks.append((escape(algorithm), ''.join(parts)))
  return blocks


def _figure(chart: report_charts.Chart, name: str, with_legend: bool) -> str:
  axes = ''
  for key, axis in (('x', report_svg.x_axis(chart)),
                    ('y', report_svg.y_axis(chart))):
    kind = 'log' if axis.log else 'linear'
    axes += (f' data-{key}="{kind} {axis.low:.9g} {axis.high:.9g}'
             f'{" down" if axis.down else ""}"')
  legend = ''
  if with_legend:
    legend = '<ul class="legend">' + ''.join(
        f'<li class="run s{line.style}">{report_svg.legend_key(line.style)}'
        f'{escape(line.label)}</li>' for line in chart.lines) + '</ul>'
  return (f'<figure class="card" id="{name}"><h3>{escape(chart.title)}</h3>'
          f'<div class="plot"{axes} data-x-label="{escape(chart.x_label)}">'
          f'{report_svg.draw(chart, name)}</div>'
          f'<figcaption>{legend}<p>{escape(chart.note)}</p></figcaption>'
          '</figure>')


def _settings(runs: Sequence[reports.Run]) -> str:
  """What the runs differ in, and from the default; then everything."""
  differing = reports.differing_settings(runs)
  changed = [reports.changed_settings(run) for run in runs]
  names = list(dict.fromkeys(name for run in runs for name in run.config))
  some = [name for name in names
          if name in differing or any(name in x for x in changed)]
  parts = []
  intro = 'Settings that are not those of the default preset'
  if len(runs) > 1:
    intro += (', or not the same in all runs; the latter are marked'
              if differing else '; they are the same in all runs')
  parts.append(f'<p class="soft">{intro}.</p>')
  if some:
    parts.append(_setting_table(runs, some, differing, changed))
  parts.append(f'<details><summary>All {len(names)} settings</summary>'
               f'{_setting_table(runs, names, differing, changed)}</details>')
  return '\n'.join(parts)


def _setting_table(runs: Sequence[reports.Run], names: Sequence[str],
                   differing: Mapping[str, Any],
                   changed: Sequence[Mapping[str, Any]]) -> str:
  head = ['<th scope="col">Setting</th>',
          *(f'<th scope="col">{escape(run.label)}</th>' for run in runs),
          '<th scope="col">Default</th>']
  defaults = reports.default_settings()
  show = lambda settings, name: (
      escape(reports.show_setting(name, settings[name])) if name in settings
      else _UNKNOWN)
  body = []
  for name in names:
    cells = [f'<th scope="row"><code>{escape(name)}</code></th>']
    cells += [f'<td{" class=changed" if name in change else ""}>'
              f'{show(run.config, name)}</td>'
              for run, change in zip(runs, changed)]
    cells.append(f'<td>{show(defaults, name)}</td>')
    mark = ' class="differs"' if name in differing else ''
    body.append(f'<tr{mark}>{"".join(cells)}</tr>')
  return _table('Settings', head, body, 'settings')


def _repeat(runs: Sequence[reports.Run]) -> str:
  """The commands that repeat the runs, and the versions they ran on."""
  parts = []
  styles = {run.label: i for i, run in enumerate(runs)}
  for run in runs:
    command = reports.command(run)
    versions = ', '.join(f'{name} {version}'
                         for name, version in run.versions.items())
    key = (report_svg.legend_key(styles[run.label]) if len(runs) > 1 else '')
    parts.append(
        f'<div class="card repeat"><h3>{key}{escape(run.label)}</h3>'
        + (_code(command) if command else
           '<p>Its settings are those of another version of dear_jax.</p>')
        + f'<p class="soft under">Folder {escape(run.folder)}'
        + (f'; {escape(versions)}' if versions else '') + '.</p></div>')
  names = dict.fromkeys(name for run in runs for name in run.versions)
  differing = [name for name in names
               if len({run.versions.get(name) for run in runs}) > 1]
  if differing:
    parts.append('<div class="card note">The runs were made with different '
                 f'versions of {escape(", ".join(differing))}.</div>')
  return '\n'.join(parts)


def _table(label: str, head: List[str], body: List[str], kind: str = ''
           ) -> str:
  """A table in a box of its own, which scrolls if the page is narrow."""
  return (f'<div class="card scroll" tabindex="0" role="region" '
          f'aria-label="{escape(label)}"><table class="{kind}">'
          f'<thead><tr>{"".join(head)}</tr></thead>'
          f'<tbody>{"".join(body)}</tbody></table></div>')


def _code(text: str) -> str:
  return f'<pre tabindex="0">{escape(text)}</pre>'

