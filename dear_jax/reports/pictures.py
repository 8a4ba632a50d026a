# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Pictures of one instance on its way to the equilibrium.

A panel shows what the model would answer after an iteration: a graph with its
pointers, the order of an array, or the element that was chosen. What is wrong
has another colour and is dashed or hatched as well. Beneath are the residuals.
"""

from typing import Any, List, Optional

import clrs
from dear_jax.data import files
from dear_jax.reports import colours
from dear_jax.reports import instances
from dear_jax.reports import panels
import numpy as np

MOST_PANELS = 8
MOST_FRAMES = 60

# All lengths of a page are in inches.
_MARGIN = 0.3
_GAP = 0.25
_HEAD = 0.75
_PANEL_TITLE = 0.56
_LEGEND = 0.5
_RESIDUALS = 1.35
_AXIS_LABELS = 0.55
_AXIS_WIDTH = 0.55
_LEAST_WIDTH = 7.2
_MOST_COLUMNS = 4
_PANEL_SIZE = dict(graph=(2.7, 2.7), order=(2.7, 1.7), choice=(2.7, 1.7))
_LARGE_FROM = 24  # nodes; from there on panels are larger
_LARGE = 1.25
_FRAME_SIZE = dict(graph=(5.4, 5.4), order=(6.6, 3.3), choice=(6.6, 3.3))

_FRAMES_PER_SECOND = 2
_HELD_FRAMES = 6  # for which the last one is shown
_FRAME_DPI = 100


def choose_iterations(instance: instances.Instance,
                      most: int = MOST_PANELS) -> List[int]:
  """Rows to show: first, last and that of the answer, the others evenly."""
  last = len(instance) - 1
  rows = np.unique(np.round(np.linspace(0, last, min(last + 1, most))
                            ).astype(int))
  if instance.selected not in rows and len(rows) > 2:
    rows[1 + np.argmin(abs(rows[1:-1] - instance.selected))] = instance.selected
  return rows.tolist()


def strip(trace: Any, feedback: clrs.Feedback, task: str, sample: int = 0, *,
          tol: Optional[float] = None, title: Optional[str] = None,
          most_panels: int = MOST_PANELS):
  """Draws some iterations side by side, and the residuals of all beneath.

  Args:
    trace: A `tracing.Trace`.
    feedback: The batch that it is of.
    task: The name of the task.
    sample: The number of the instance in the batch.
    tol: The solver's tolerance, to be drawn as a line.
    title: What to write above; by default task and size.
    most_panels: The most iterations to show, of at least 3.

  Returns:
    A `matplotlib.figure.Figure`.

  Raises:
    ImportError: if matplotlib is not installed.
    ValueError: if there is no such instance, or no picture of the task.
  """
  instance = instances.read(trace, feedback, task, sample)
  rows = choose_iterations(instance, most_panels)
  scale = _LARGE if instance.size >= _LARGE_FROM else 1
  page = _Page([scale * x for x in _PANEL_SIZE[instance.kind]], len(rows))
  page.write_head(instance, tol, title)
  for ax, row in zip(page.panels, rows):
    panels.draw_panel(ax, instance, row, page.panel_size)
  page.draw_legend(instance)
  panels.draw_residuals(page.residuals, page.counts, instance, tol, shown=rows)
  return page.figure


def animate(trace: Any, feedback: clrs.Feedback, task: str, path: str,
            sample: int = 0, *, tol: Optional[float] = None,
            title: Optional[str] = None) -> None:
  """Writes a GIF with one frame an iteration.

  Args:
    trace, feedback, task, sample, tol, title: As in `strip`.
    path: Of the file, which is replaced once all is drawn.

  Raises:
    ImportError: if matplotlib is not installed.
    ValueError: as in `strip`, or if the path does not end in .gif.
  """
  if not str(path).endswith('.gif'):
    raise ValueError(f'An animation is a file that ends in .gif, got {path!r}.')
  instance = instances.read(trace, feedback, task, sample)
  page = _Page(_FRAME_SIZE[instance.kind], 1)
  page.write_head(instance, tol, title)
  page.draw_legend(instance)
  from matplotlib import animation  # pylint: disable=g-import-not-at-top
  writer = animation.PillowWriter(fps=_FRAMES_PER_SECOND)
  rows = choose_iterations(instance, MOST_FRAMES)
  ax, = page.panels
  with files.replacing(path) as temporary:
    writer.setup(page.figure, temporary, dpi=_FRAME_DPI)
    for row in rows:
      for each in (ax, page.residuals, page.counts):
        each.clear()
      panels.draw_panel(ax, instance, row, page.panel_size)
      panels.draw_residuals(page.residuals, page.counts, instance, tol,
                            shown=[row], upto=row)
      for _ in range(_HELD_FRAMES if row == rows[-1] else 1):
        writer.grab_frame()
    writer.finish()


class _Page:
  """A figure with axes for panels, with residuals beneath them."""

  def __init__(self, panel_size, count):
    try:
      from matplotlib import figure  # pylint: disable=g-import-not-at-top
    except ImportError as e:
      raise ImportError('Pictures need matplotlib, which is not installed: '
                        "pip install 'dear-jax[plots]' installs it.") from e
    self.panel_size = panel_size
    width, height = panel_size
    nb_rows = -(-count // _MOST_COLUMNS)
    nb_columns = -(-count // nb_rows)
    panels_width = nb_columns * (width + _GAP) - _GAP
    self._width = max(panels_width + 2 * _MARGIN, _LEAST_WIDTH)
    self._height = (_HEAD + nb_rows * (_PANEL_TITLE + height) + _LEGEND
                    + _RESIDUALS + _AXIS_LABELS)
    self.figure = figure.Figure(figsize=(self._width, self._height),
                                facecolor='white')
    self.panels = []
    for i in range(count):
      row, column = divmod(i, nb_columns)
      in_row = min(nb_columns, count - row * nb_columns)
      left = (self._width - in_row * (width + _GAP) + _GAP) / 2
      self.panels.append(self._axes(
          left + column * (width + _GAP),
          _HEAD + row * (_PANEL_TITLE + height) + _PANEL_TITLE, width, height))
    self._legend_at = self._height - _AXIS_LABELS - _RESIDUALS - _LEGEND / 2
    inner = self._width - 2 * (_MARGIN + _AXIS_WIDTH)
    self.residuals = self._axes(
        _MARGIN + _AXIS_WIDTH, self._height - _AXIS_LABELS - _RESIDUALS, inner,
        _RESIDUALS)
    self.counts = self.residuals.twinx()

  def _axes(self, left, top, width, height):
    return self.figure.add_axes((
        left / self._width, 1 - (top + height) / self._height,
        width / self._width, height / self._height))

  def write_head(self, instance, tol, title):
    """Says what it is, and how it ended."""
    text = title or f'{instance.task}, size {instance.size}'
    end = instance.ending()
    if tol is not None:
      end += f' (tolerance {tol:g})'
    self._text(0.24, text, fontsize=14, fontweight='bold')
    self._text(0.54, end, fontsize=10.5)

  def _text(self, top, text, **style):
    self.figure.text(0.5, 1 - top / self._height, text, ha='center',
                     va='center', color=colours.INK, **style)

  def draw_legend(self, instance):
    self.figure.legend(
        handles=panels.legend(instance), loc='center', frameon=False,
        bbox_to_anchor=(0.5, 1 - self._legend_at / self._height), ncols=8,
        fontsize=9, handlelength=2.2, columnspacing=1.6,
        labelcolor=colours.INK, borderaxespad=0)
