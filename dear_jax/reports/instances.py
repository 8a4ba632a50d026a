# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""One instance on its way to the equilibrium, beside what is true."""

import dataclasses
from typing import Any, Dict, Optional, Tuple

import clrs
from dear_jax.data import tasks
from dear_jax.networks import clrs_private
import numpy as np

_Array = np.ndarray
_Type = clrs.Type
_NODE, _GRAPH = clrs.Location.NODE, clrs.Location.GRAPH


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
  return np.asarray(clrs_private.fuse_perm_and_mask(
      clrs.DataPoint(name, _NODE, _Type.PERMUTATION_POINTER, permutation),
      clrs.DataPoint(f'{name}_mask', _NODE, _Type.MASK_ONE, mask)).data)


def _read_marks(found: _Array, probe: clrs.DataPoint, sample: int, size: int
                ) -> Marks:
  truth = np.asarray(probe.data[sample])
  if probe.location == _GRAPH:  # one pointer of the whole graph
    chosen = np.arange(size)
    return Marks(found=found.astype(int)[:, None] == chosen,
                 truth=chosen == int(truth), known=np.ones(size, bool),
                 is_one=True)
  return Marks(found=found > 0.5, truth=truth > 0.5,
               known=truth != clrs.OutputClass.MASKED,
               is_one=probe.type_ == _Type.MASK_ONE)
