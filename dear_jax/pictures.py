# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Pictures of one instance on its way to the equilibrium.

A panel shows what the model would answer after an iteration: a graph with its
pointers, the order of an array, or the element that was chosen. What is wrong
has another colour and is dashed or hatched as well. Beneath are the residuals.
"""

import dataclasses
import os
from typing import Any, Dict, List, Optional, Tuple

import clrs
from clrs._src import evaluation
from dear_jax import picture_panels as panels
from dear_jax import tasks
import numpy as np

_Array = np.ndarray
_Type = clrs.Type
_NODE, _GRAPH = clrs.Location.NODE, clrs.Location.GRAPH

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


@dataclasses.dataclass(frozen=True)
class Marks:
  """An output that marks some nodes, or exactly one."""
  found: _Array  # [T, N], bool
  truth: _Array  # [N], bool
  known: _Array  # [N], bool: whether it counts what is found there
  is_one: bool

  @property
  def wrong(self) -> _Array:
    """[T, N], the nodes that are marked and should not be, or the reverse."""
    return (self.found != self.truth) & self.known

  def counts(self) -> _Array:
    """[T], how many mistakes there are; a choice is one at most."""
    wrong = self.wrong
    return wrong.any(axis=1).astype(int) if self.is_one else wrong.sum(axis=1)

  @property
  def scored(self) -> int:
    return 1 if self.is_one else int(self.known.sum())


@dataclasses.dataclass(frozen=True)
class Instance:
  """One instance of a trace, with the truth. T is its number of iterations.

  Attributes:
    task: The name of the task.
    kind: 'graph', 'order' or 'choice'; see `kind_of`.
    inputs: Its inputs, by name.
    pointers: Of every node, after every iteration, if the task has pointers. A
      permutation and its mask are made pointers, as in CLRS' scores.
    true_pointers: What they should be.
    marks: The other outputs, by name.
    residuals: Of every iteration.
    converged: Whether the last one is under the tolerance.
    selected: The row of the iteration that the model's answer is from.
  """
  task: str
  kind: str
  inputs: Dict[str, _Array]
  pointers: Optional[_Array]  # [T, N]
  true_pointers: Optional[_Array]  # [N]
  marks: Dict[str, Marks]
  residuals: _Array  # [T]
  converged: bool
  selected: int

  def __len__(self) -> int:
    """The number of iterations."""
    return len(self.residuals)

  @property
  def size(self) -> int:
    return len(self.inputs['pos'])

  def wrong_pointers(self) -> _Array:
    """[T, N], which pointers are wrong."""
    if self.pointers is None:
      return np.zeros((len(self), self.size), bool)
    return self.pointers != self.true_pointers

  def wrong_nodes(self) -> _Array:
    """[T, N], the nodes with a wrong pointer or mark."""
    return np.any([self.wrong_pointers()] + [
        x.wrong for x in self.marks.values()], axis=0)

  def wrong(self) -> _Array:
    """[T], how many pointers and marks are wrong."""
    return self.wrong_pointers().sum(axis=1) + sum(
        x.counts() for x in self.marks.values())

  def scored(self) -> int:
    """How many pointers and marks there are."""
    pointers = 0 if self.pointers is None else self.size
    return pointers + sum(x.scored for x in self.marks.values())

  def ending(self) -> str:
    """Says how the solve ended."""
    count = len(self)
    iterations = f'{count} iteration' + 's' * (count != 1)
    if self.converged:
      return f'converged after {iterations}'
    return (f'not converged after {iterations}: the answer is that of '
            f'iteration {self.selected + 1}')


def kind_of(task: str, spec: Dict[str, Tuple[str, str, str]]) -> str:
  """How the outputs of a task are drawn.

  Args:
    task: Its name, for the error message.
    spec: Its spec.

  Returns:
    'graph', 'order' or 'choice'.

  Raises:
    ValueError: if there is no picture of such outputs.
  """
  kind = _kind(spec)
  if kind is None:
    known = [x for x in tasks.task_names() if _kind(tasks.spec_of(x))]
    raise ValueError(f'There is no picture of the outputs of {task}; there is '
                     f'one for {", ".join(known)}.')
  return kind


def _kind(spec) -> Optional[str]:
  """As `kind_of`, or None."""
  outputs = [x[1:] for x in spec.values() if x[0] == clrs.Stage.OUTPUT]
  marks = {(_NODE, _Type.MASK), (_NODE, _Type.MASK_ONE)}
  pointers = [x for x in outputs if x not in marks]
  if 'adj' in spec:
    return 'graph' if pointers in ([], [(_NODE, _Type.POINTER)]) else None
  if spec.get('key', ())[1:] != (_NODE, _Type.SCALAR):
    return None
  if pointers in ([(_NODE, _Type.PERMUTATION_POINTER)],
                  [(_NODE, _Type.SHOULD_BE_PERMUTATION)],
                  [(_NODE, _Type.POINTER)]):
    return 'order'
  return 'choice' if pointers in ([], [(_GRAPH, _Type.POINTER)]) else None


def read(trace: Any, feedback: clrs.Feedback, task: str, sample: int = 0
         ) -> Instance:
  """Takes one instance out of a trace.

  Args:
    trace: A `tracing.Trace`.
    feedback: The batch that it is of.
    task: The name of the task.
    sample: The number of the instance in the batch.

  Returns:
    The instance.

  Raises:
    ValueError: if there is no such instance, or no picture of the task.
  """
  batch_size = len(trace.steps)
  if not 0 <= sample < batch_size:
    raise ValueError(f'sample must be in 0..{batch_size - 1}, got {sample}.')
  probes = [(clrs.Stage.INPUT, x) for x in feedback.features.inputs] + [
      (clrs.Stage.OUTPUT, x) for x in feedback.outputs]
  kind = kind_of(task, {x.name: (stage, x.location, x.type_)
                        for stage, x in probes})
  steps = int(trace.steps[sample])
  inputs = {x.name: np.asarray(x.data[sample])
            for x in feedback.features.inputs}
  found = {name: np.asarray(x[:steps, sample])
           for name, x in trace.predictions.items()}
  pointers, true_pointers, marks = None, None, {}
  outputs = {x.name: x for x in feedback.outputs}
  for name, probe in outputs.items():
    if probe.type_ == _Type.PERMUTATION_POINTER:
      mask = f'{name}_mask'
      pointers = _fuse(name, found[name], found[mask])
      true_pointers = _fuse(name, probe.data[sample],
                            outputs[mask].data[sample])
    elif probe.location == _NODE and probe.type_ == _Type.POINTER:
      pointers = found[name].astype(int)
      true_pointers = np.asarray(probe.data[sample]).astype(int)
    elif not name.endswith('_mask') or kind != 'order':
      marks[name] = _read_marks(found[name], probe, sample, len(inputs['pos']))
  return Instance(
      task=task, kind=kind, inputs=inputs, pointers=pointers,
      true_pointers=true_pointers, marks=marks,
      residuals=np.asarray(trace.residuals[:steps, sample]),
      converged=bool(trace.converged[sample]),
      selected=int(trace.selected[sample]))


def _fuse(name: str, permutation: _Array, mask: _Array) -> _Array:
  """[..., N], the pointers that CLRS scores."""
  return evaluation.fuse_perm_and_mask(
      clrs.DataPoint(name, _NODE, _Type.PERMUTATION_POINTER, permutation),
      clrs.DataPoint(f'{name}_mask', _NODE, _Type.MASK_ONE, mask)).data


def _read_marks(found: _Array, probe: clrs.DataPoint, sample: int, size: int
                ) -> Marks:
  truth = np.asarray(probe.data[sample])
  if probe.location == _GRAPH:  # one pointer of the whole graph
    chosen = np.arange(size)
    return Marks(found=found.astype(int)[:, None] == chosen,
                 truth=int(truth) == chosen, known=np.ones(size, bool),
                 is_one=True)
  return Marks(found=found > 0.5, truth=truth > 0.5,
               known=truth != clrs.OutputClass.MASKED,
               is_one=probe.type_ == _Type.MASK_ONE)


def choose_iterations(instance: Instance, most: int = MOST_PANELS) -> List[int]:
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
  instance = read(trace, feedback, task, sample)
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
    trace: As in `strip`.
    feedback: As there.
    task: As there.
    path: Of the file, which is replaced once all is drawn.
    sample: As there, like the rest.
    tol: As there.
    title: As there.

  Raises:
    ImportError: if matplotlib is not installed.
    ValueError: As there, or if the path does not end in .gif.
  """
  if not str(path).endswith('.gif'):
    raise ValueError(f'An animation is a file that ends in .gif, got {path!r}.')
  instance = read(trace, feedback, task, sample)
  page = _Page(_FRAME_SIZE[instance.kind], 1)
  page.write_head(instance, tol, title)
  page.draw_legend(instance)
  from matplotlib import animation  # pylint: disable=g-import-not-at-top
  writer = animation.PillowWriter(fps=_FRAMES_PER_SECOND)
  temporary = f'{os.fspath(path)[:-4]}.tmp.gif'
  rows = choose_iterations(instance, MOST_FRAMES)
  ax, = page.panels
  try:
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
    os.replace(temporary, path)
  finally:
    if os.path.exists(temporary):
      os.remove(temporary)


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
                     va='center', color=panels.INK, **style)

  def draw_legend(self, instance):
    self.figure.legend(
        handles=panels.legend(instance), loc='center', frameon=False,
        bbox_to_anchor=(0.5, 1 - self._legend_at / self._height), ncols=8,
        fontsize=9, handlelength=2.2, columnspacing=1.6,
        labelcolor=panels.INK, borderaxespad=0)
