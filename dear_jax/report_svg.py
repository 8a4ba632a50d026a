# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Charts as SVG that keeps its letters and lines when it is made narrower.

The picture is the plot area itself. Lines are in an inner picture that is
stretched to any size without their widths; ticks, letters and dots are placed
by percentages, and those outside the plot area reach into the margin that the
page leaves around it.
"""

import dataclasses
import html
import math
import re
from typing import Any, Iterable, List, Optional, Sequence, Tuple

from dear_jax import report_charts
import numpy as np

# Units of the inner picture, on both axes.
SIZE = 1000
COLOURS = 8

# Control characters; halves of pairs, which names of files can have; and
# what is no character at all.
_FORBIDDEN = re.compile(
    '[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]')

# Dashes, as lengths of strokes and gaps in pixels; the first has none.
DASHES = ((), (7, 3), (2, 2.5), (9, 3, 2, 3))


def colour_of(style: int) -> int:
  return style % COLOURS


def dash_of(style: int) -> Tuple[float, ...]:
  """Another dash for the same colour, once all colours are used."""
  return DASHES[(style + style // COLOURS) % len(DASHES)]


@dataclasses.dataclass(frozen=True)
class Axis:
  """A range of values, and what is written along it."""
  low: float
  high: float
  log: bool
  ticks: Tuple[Tuple[float, str], ...]
  down: bool = False

  def place(self, values: Any) -> np.ndarray:
    """Where values are, from 0 at the start of the axis to 1 at its end.

    What has no logarithm is at the start.
    """
    values = np.asarray(values, float)
    low, high = self.low, self.high
    if self.log:
      low, high = math.log(low), math.log(high)
      with np.errstate(divide='ignore', invalid='ignore'):
        values = np.where(values > 0, np.log(values),
                          np.where(np.isnan(values), np.nan, low))
    at = (values - low) / (high - low)
    return 1 - at if self.down else at


def nice_ticks(low: float, high: float, count: int = 5) -> List[float]:
  """Round numbers between two values, about as many as asked for.

  >>> nice_ticks(0, 3000, 4)
  [0.0, 1000.0, 2000.0, 3000.0]
  >>> nice_ticks(0.91, 1.0)
  [0.92, 0.94, 0.96, 0.98, 1.0]

  Args:
    low: The lower end.
    high: The upper end.
    count: How many there may be, about.

  Returns:
    The numbers.
  """
  power = 10.0**math.floor(math.log10((high - low) / count))
  step = min((x * power for x in (1, 2, 5, 10)),
             key=lambda x: abs(math.log((high - low) / x / (count - 0.5))))
  first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
  digits = max(0, -math.floor(math.log10(step)))
  return [round(i * step, digits) for i in range(first, last + 1)]


def _log_ticks(low: float, high: float) -> List[float]:
  """Powers of ten, or simple multiples of them if there are few."""
  first = math.floor(math.log10(low))
  last = math.ceil(math.log10(high))
  for factors in ((1,), (1, 3), (1, 2, 5), tuple(range(1, 10))):
    ticks = [round(factor * 10.0**power, 12 - power)
             for power in range(first, last + 1) for factor in factors]
    ticks = [x for x in ticks if low <= x <= high]
    if len(ticks) >= 3:
      return ticks[::math.ceil(len(ticks) / 7)]
  return nice_ticks(low, high, 4)


def _write(value: float, step: float = 0) -> str:
  """A number for an axis."""
  if value and not 1e-4 <= abs(value) < 1e7:
    mantissa, power = f'{value:.3e}'.split('e')
    return f'{float(mantissa):g}e{int(power)}'
  digits = max(0, -math.floor(math.log10(step) + 1e-9)) if step else 0
  return f'{value:,.{digits}f}' if step else (
      f'{value:,.0f}' if value == round(value) else f'{value:g}')


def x_axis(chart: report_charts.Chart) -> Axis:
  """The horizontal axis of a chart."""
  values = np.concatenate([line.points[0] for line in chart.lines])
  if chart.x_scale == 'linear':
    low = min(0., values.min()) if chart.x_label == 'step' else values.min()
    high = values.max()
    if low == high:
      low, high = low - 1, high + 1
    elif chart.with_dots:
      low, high = low - 0.04 * (high - low), high + 0.04 * (high - low)
    else:
      high += 0.015 * (high - low)
    ticks = nice_ticks(low, high, 4)  # their texts are wide
    if chart.x_label.startswith('iteration'):
      ticks = [x for x in ticks if x == round(x)]
    step = ticks[1] - ticks[0] if len(ticks) > 1 else 1
    return Axis(low, high, False, tuple((x, _write(x, step)) for x in ticks))
  ends = [values.min(), values.max(), *(chart.span or ())[:2]]
  ratio = (max(ends) / min(ends))**0.05 if max(ends) > min(ends) else 1.5
  low, high = min(ends) / ratio, max(ends) * ratio
  ticks = sorted(set(values))
  if chart.x_scale == 'log' or len(ticks) > 9:
    ticks = _log_ticks(low, high)
  return Axis(low, high, True, tuple((x, _write(x)) for x in ticks),
              chart.x_down)


def y_axis(chart: report_charts.Chart) -> Axis:
  """The vertical axis of a chart, with room for all that is in it."""
  log = chart.y_scale == 'log'
  values = np.concatenate([
      x for line in chart.lines
      for x in (line.points[1], line.low, line.high, *_faint_range(line, log))
      if x is not None])
  values = values[np.isfinite(values) & ((values > 0) | (not log))]
  low, high = (values.min(), values.max()) if len(values) else (0.1, 1.)
  if chart.level is not None and (not log or chart.level[0] > 0):
    # Worth showing, but not if all the rest would be squeezed for it.
    level = chart.level[0]
    near = (low / 30 <= level <= high * 30 if log else
            low - (high - low) <= level <= high + (high - low))
    if near or low == high:
      low, high = min(low, level), max(high, level)
  if log:
    ratio = max(high / low, 1.2)**0.05
    low, high = low / ratio, high * ratio
    ticks = _log_ticks(low, high)
    return Axis(low, high, True, tuple((x, _write(x)) for x in ticks))
  if chart.y_scale in ('share', 'percent'):
    high = max(high, 1.)
    # Differences of scores near 1 are to be seen, but not those of noise.
    low = 0. if low < 0.4 or low > 0.999 else min(low, 0.9)
  elif chart.y_scale == 'zero':
    low = min(0., low)
  if high == low:
    low, high = low - 0.5, high + 0.5
  pad = 0.05 * (high - low)
  is_share = chart.y_scale in ('share', 'percent')
  low, high = low - pad * (low != 0), high + pad
  ticks = nice_ticks(low, min(high, 1.) if is_share else high)
  step = ticks[1] - ticks[0] if len(ticks) > 1 else 1
  write = lambda x: _write(x, step)
  if chart.y_scale == 'percent':
    write = lambda x: f'{_write(100 * x, max(100 * step, 0.1))} %'.replace(
        ' %', '\N{NO-BREAK SPACE}%')
  return Axis(low, high, False, tuple((x, write(x)) for x in ticks))


def _faint_range(line: report_charts.Line, log: bool) -> List[np.ndarray]:
  """The values of faint lines that have to fit in.

  On a logarithmic axis a single value close to 0 would squeeze all the others,
  so the outermost ones of a noisy line may run out of the picture.
  """
  values = [ys[np.isfinite(ys)] for _, ys in line.faint]
  if log and len(values) == 1 and values[0].size:
    return [np.quantile(values[0], [0.01, 0.99])]
  return values


def draw(chart: report_charts.Chart, name: str) -> str:
  """Draws a chart.

  Args:
    chart: The chart.
    name: An identifier that no other chart of the page has.

  Returns:
    An <svg> element. Its classes are those of the page's style sheet.
  """
  x, y = x_axis(chart), y_axis(chart)
  parts = [
      '<svg xmlns="http://www.w3.org/2000/svg" class="frame" role="img" '
      f'width="100%" height="100%" aria-labelledby="{name}-t {name}-d">',
      f'<title id="{name}-t">{escape(chart.title)}</title>',
      f'<desc id="{name}-d">{escape(describe(chart))}</desc>',
  ]
  if chart.span is not None:
    left, right = sorted(np.clip(x.place(chart.span[:2]), 0, 1))
    parts.append(_tag('rect', x=_percent(left), y='0', height='100%',
                      width=_percent(right - left), **{'class': 'span'}))
  for value, text in y.ticks:
    at = _percent(1 - y.place(value))
    parts.append(_tag('line', x1='0', x2='100%', y1=at, y2=at,
                      **{'class': 'grid'}))
    parts.append(_label(text, 'tick y', x='0', y=at, dx=-8, dy='0.32em'))
  for value, text in x.ticks:
    at = _percent(x.place(value))
    parts.append(_tag('line', x1=at, x2=at, y1='0', y2='100%',
                      **{'class': 'grid'}))
    parts.append(_label(text, 'tick x', x=at, y='100%', dy=18))
  parts.append(_tag('line', x1='0', x2='100%', y1='100%', y2='100%',
                    **{'class': 'axis'}))
  if chart.span is not None:
    parts.append(_label(chart.span[2], 'in', x=_percent(left), y='100%', dx=4,
                        dy=-6))
  parts.append(_label(chart.y_label, 'name', x='0', y='0', dx=-46, dy=-12))
  parts.append(_label(chart.x_label, 'name end', x='100%', y='100%', dy=36))
  level = None if chart.level is None else float(y.place(chart.level[0]))
  has_level = level is not None and 0 <= level <= 1
  if has_level:
    at = _percent(1 - level)
    parts.append(_tag('line', x1='0', x2='100%', y1=at, y2=at,
                      **{'class': 'level'}))
  for i, line in enumerate(chart.lines):
    parts.append(
        f'<svg class="lines" x="{shift(chart, i):g}" width="100%" '
        f'height="100%" viewBox="0 0 {SIZE} {SIZE}" '
        'preserveAspectRatio="none">')
    parts += _paths(chart, line, x, y)
    parts.append('</svg>')
  for i, line in enumerate(chart.lines):
    parts.append(f'<g class="run s{line.style}" '
                 f'transform="translate({shift(chart, i):g} 0)">')
    parts += _dots(chart, line, x, y)
    parts.append('</g>')
  if has_level:
    # Above its line unless there is no room, and above all that is drawn.
    kind, x0, dx = (('in', '0', 4) if level_on_left(chart, x, y)
                    else ('in end', '100%', -4))
    parts.append(_label(chart.level[1], kind, x=x0, y=at, dx=dx,
                        dy=-5 if level < 0.92 else 13))
  parts.append('</svg>')
  return '\n'.join(parts)


def shift(chart: report_charts.Chart, index: int) -> float:
  """By how many pixels a line is set off, so that intervals do not overlap."""
  if not any(line.low is not None for line in chart.lines) or (
      not chart.with_dots):
    return 0.
  apart = min(6., 24 / len(chart.lines))
  return apart * (index - (len(chart.lines) - 1) / 2)


def level_on_left(chart: report_charts.Chart, x: Axis, y: Axis) -> bool:
  """Whether the name of a level is less in the way of lines on the left."""
  level = y.place(chart.level[0])
  nearest = []
  for start, end in ((0, 0.35), (0.65, 1)):
    gaps = [np.abs(y.place(ys)[np.isfinite(ys) & (x.place(xs) >= start)
                               & (x.place(xs) <= end)] - level)
            for xs, ys in (line.points for line in chart.lines)]
    nearest.append(min((gap.min() for gap in gaps if gap.size), default=1))
  return nearest[0] > nearest[1]


def _paths(chart: report_charts.Chart, line: report_charts.Line, x: Axis,
           y: Axis) -> Iterable[str]:
  """What is stretched: lines and bands."""
  yield f'<g class="run s{line.style}">'
  xs, ys = line.points
  if line.low is not None and not chart.with_dots:
    known = np.isfinite(line.low) & np.isfinite(line.high)
    outline = (np.concatenate([xs[known], xs[known][::-1]]),
               np.concatenate([line.low[known], line.high[known][::-1]]))
    yield _tag('path', d=path(*outline, x, y) + 'Z', **{'class': 'band'})
  for faint in line.faint:
    many = ' many' if max(len(line.faint), len(chart.lines) - 2) > 1 else ''
    yield _tag('path', d=path(*faint, x, y), **{'class': f'faint{many}'})
  yield _tag('path', d=path(xs, ys, x, y),
             **{'class': 'main', 'data-label': line.label})
  yield '</g>'


def _dots(chart: report_charts.Chart, line: report_charts.Line, x: Axis,
          y: Axis) -> Iterable[str]:
  """What keeps its shape: dots and intervals."""
  xs, ys = line.points
  if chart.with_dots and line.low is not None:
    for value, low, high in zip(xs, line.low, line.high):
      at = _percent(x.place(value))
      yield _tag('line', x1=at, x2=at, y1=_percent(1 - y.place(low)),
                 y2=_percent(1 - y.place(high)), **{'class': 'interval'})
  alone = np.ones(len(xs), bool) if chart.with_dots else _alone(ys)
  for value, height in zip(xs[alone], ys[alone]):
    yield _dot(x, y, value, height, 'dot')
  if line.mark is not None and math.isfinite(line.mark[1]):
    yield _dot(x, y, *line.mark, 'mark')


def _alone(values: np.ndarray) -> np.ndarray:
  """Which values have no neighbour that a line could be drawn to."""
  known = np.isfinite(values)
  beside = np.concatenate([[False], known, [False]])
  return known & ~beside[:-2] & ~beside[2:]


def _dot(x: Axis, y: Axis, value: float, height: float, kind: str) -> str:
  return _tag('circle', cx=_percent(x.place(value)),
              cy=_percent(1 - y.place(height)), r=3.5 if kind == 'dot' else 4.5,
              **{'class': kind})


def path(xs: np.ndarray, ys: np.ndarray, x: Axis, y: Axis) -> str:
  """The commands that draw a line, with a gap at everything that is NaN."""
  words, pen = [], 'M'
  for across, down in zip(SIZE * x.place(xs), SIZE * (1 - y.place(ys))):
    if math.isfinite(across) and math.isfinite(down):
      words.append(f'{pen}{_short(across)},{_short(down)}')
      pen = 'L'
    else:
      pen = 'M'
  return ''.join(words)


def describe(chart: report_charts.Chart) -> str:
  """What a chart shows, for those who cannot see it."""
  texts = [f'{chart.y_label} against {chart.x_label}.']
  for line in chart.lines:
    xs, ys = line.points
    known = np.isfinite(ys)
    if known.any():
      (x0, *_, x1), (y0, *_, y1) = (
          [a[known][0], a[known][-1]] for a in (xs, ys))
      text = f'{line.label}: {y0:.4g} at {x0:,g}'
      texts.append(text + (f', {y1:.4g} at {x1:,g}.' if x1 != x0 else '.'))
  return ' '.join(texts)


def _short(value: float) -> str:
  return f'{value:.1f}'.removesuffix('.0').replace('-0', '0', 1) if (
      abs(value) < 0.05) else f'{value:.1f}'.removesuffix('.0')


def _percent(share: Any) -> str:
  return f'{100 * float(share):.2f}%'


def _label(text: str, kind: str, **attributes: Any) -> str:
  return _tag('text', text, **attributes, **{'class': kind})


def _tag(name: str, text: Optional[str] = None, **attributes: Any) -> str:
  """An element, with everything in it escaped."""
  words = ''.join(f' {key}="{escape(value)}"'
                  for key, value in attributes.items())
  return (f'<{name}{words}/>' if text is None else
          f'<{name}{words}>{escape(text)}</{name}>')


def escape(value: Any) -> str:
  """Escapes a text; characters that no page may have are replaced.

  >>> escape('<b> & "\\x00"')
  '&lt;b&gt; &amp; &quot;\ufffd&quot;'

  Args:
    value: Anything; most likely from a file, so it can be anything.

  Returns:
    A text for HTML or XML, between tags or in an attribute.
  """
  return html.escape(_FORBIDDEN.sub('\N{REPLACEMENT CHARACTER}', str(value)))


def legend_key(style: int) -> str:
  """A short piece of a line, as it is in the charts."""
  return (f'<svg class="key s{style}" width="26" height="10" '
          'aria-hidden="true"><line x1="1" y1="5" x2="25" y2="5"/></svg>')


def style_rules(styles: Sequence[int]) -> str:
  """The colours and dashes of entries, as rules of a style sheet."""
  rules = []
  for style in styles:
    dash = ' '.join(f'{x:g}' for x in dash_of(style)) or 'none'
    rules.append(f'.s{style}{{--c:var(--c{colour_of(style)});--dash:{dash}}}')
  return '\n'.join(rules)
