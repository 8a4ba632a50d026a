# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Batches as the compiled programs of a model take them."""

from typing import Any, Dict, Iterable, NamedTuple, Optional, Sequence, Tuple

import clrs
from dear_jax.data import own_units
from dear_jax.fixed_points import per_instance
from dear_jax.networks import edge_lists
from dear_jax.networks import padding
from dear_jax.networks import specs
import jax
import jax.numpy as jnp
import numpy as np

_Array = jax.Array


class Batch(NamedTuple):
  """A batch of one algorithm."""
  inputs: Tuple[clrs.DataPoint, ...]
  outputs: Tuple[clrs.DataPoint, ...]
  edge_list: Optional[edge_lists.EdgeList] = None
  node_mask: Optional[_Array] = None  # [B, N], 0 at nodes that are padding
  # For what is unrolled: the steps of every instance [B], and an array that is
  # as long as the longest of them, rounded up, since a shape is compiled for.
  steps: Optional[_Array] = None
  slots: Optional[_Array] = None
  # For what is solved in parts, as in `nets.Request`.
  pause_at: Optional[_Array] = None
  resume: Optional[Any] = None
  # What a teacher is told, if that is not what the model is told.
  teacher_inputs: Optional[Tuple[clrs.DataPoint, ...]] = None


def convert(probes: Iterable[clrs.DataPoint]) -> Tuple[clrs.DataPoint, ...]:
  """The same data in the types that the device has."""
  def convert_one(probe):
    dtype = jax.dtypes.canonicalize_dtype(
        # Some of CLRS's samplers make indices floating point.
        np.int32 if probe.type_ == clrs.Type.POINTER else probe.data.dtype)
    return clrs.DataPoint(probe.name, probe.location, probe.type_,
                          probe.data.astype(dtype))

  return tuple(convert_one(probe) for probe in probes)


def shown(inputs: Iterable[clrs.DataPoint], spec: clrs.Spec, in_units: bool,
          self_loops: bool) -> Tuple[clrs.DataPoint, ...]:
  """What a network is told of a batch.

  Args:
    inputs: The inputs.
    spec: Of the task.
    in_units: Whether the numbers of edges are in units of their graphs.
    self_loops: Whether it sees which nodes have an edge to themselves.

  Returns:
    The inputs, in the types that the device has.
  """
  result = convert(inputs)
  if in_units:
    result = in_own_units(result)
  return result if self_loops else without_loops(result, spec)


def without_loops(inputs: Sequence[clrs.DataPoint], spec: clrs.Spec
                  ) -> Tuple[clrs.DataPoint, ...]:
  """Forgets which nodes have an edge to themselves, where it does not matter.

  It does where every pair of nodes has an answer, and so a node and itself.

  Args:
    inputs: The inputs of a batch.
    spec: Of the task.

  Returns:
    The inputs. Masks, where CLRS connects every node with itself, stay as they
    are.
  """
  if any(stage == clrs.Stage.OUTPUT and location == clrs.Location.EDGE
         for stage, location, _ in spec.values()):
    return tuple(inputs)

  def drop(probe):
    if (probe.location, probe.type_) != (clrs.Location.EDGE, clrs.Type.SCALAR):
      return probe
    is_pair = ~np.eye(probe.data.shape[1], dtype=bool)
    return clrs.DataPoint(probe.name, probe.location, probe.type_,
                          probe.data * is_pair)

  return tuple(map(drop, inputs))


def in_own_units(inputs: Sequence[clrs.DataPoint]
                 ) -> Tuple[clrs.DataPoint, ...]:
  """The inputs with the numbers of edges in units of their graphs."""
  adj = next((x.data for x in inputs if (x.location, x.type_) == specs.EDGES),
             None)
  return tuple(
      clrs.DataPoint(x.name, x.location, x.type_,
                     own_units.of_matrices(x.data, adj))
      if (x.location, x.type_) == (clrs.Location.EDGE, clrs.Type.SCALAR) else x
      for x in inputs)


def corner(probes: Iterable[clrs.DataPoint]) -> Tuple[clrs.DataPoint, ...]:
  """The first two nodes of the first instance."""
  nodes = {clrs.Location.GRAPH: (), clrs.Location.NODE: (slice(2),),
           clrs.Location.EDGE: (slice(2), slice(2))}
  return tuple(
      clrs.DataPoint(probe.name, probe.location, probe.type_,
                     probe.data[(slice(1), *nodes[probe.location])])
      for probe in probes)


def pad(probes: Iterable[clrs.DataPoint], size: int
        ) -> Tuple[clrs.DataPoint, ...]:
  """Adds nodes at the end: zeros, and pointers to none."""
  def pad_one(probe):
    nodes = {clrs.Location.GRAPH: 0, clrs.Location.NODE: 1,
             clrs.Location.EDGE: 2}[probe.location]
    data = np.asarray(probe.data)
    widths = [(0, size - data.shape[axis] if 1 <= axis <= nodes else 0)
              for axis in range(data.ndim)]
    nothing = -1 if probe.type_ == clrs.Type.POINTER else 0
    return clrs.DataPoint(probe.name, probe.location, probe.type_,
                          np.pad(data, widths, constant_values=nothing))

  return tuple(pad_one(probe) for probe in probes)


def node_mask(inputs: Sequence[clrs.DataPoint], size: int) -> np.ndarray:
  """[B, size], ones at the nodes that inputs have before they are padded."""
  mask = np.zeros((len(inputs[0].data), size), np.float32)
  mask[:, :size_of(inputs)] = 1
  return mask


def crop(preds: Dict[str, clrs.DataPoint], instances: Dict[str, Any], size: int
         ) -> Tuple[Dict[str, clrs.DataPoint], Dict[str, Any]]:
  """What `evaluate_instances` says of the first `size` nodes, on the host.

  On a device, every size would be another program.

  Args:
    preds: The predictions.
    instances: How the instances fared.
    size: How many nodes there are.

  Returns:
    Both, in numpy arrays.
  """
  arrays, instances = jax.device_get(
      ({name: x.data for name, x in preds.items()}, instances))
  if 'confidences' in instances:
    # All axes but the first are of nodes: that of choices is gone.
    instances['confidences'] = {
        name: x[(slice(None),) + (slice(size),) * (x.ndim - 1)]
        for name, x in instances['confidences'].items()}
  return {name: clrs.DataPoint(name, x.location, x.type_,
                               arrays[name][padding.crop(x, size)])
          for name, x in preds.items()}, instances


def without_failed(outputs: Tuple[clrs.DataPoint, ...],
                   output_preds: Dict[str, _Array], failed: _Array):
  """Truth and predictions with a copy in the place of those that failed.

  The copies carry no gradient. They keep the loss what it is on the others: it
  is a mean over the batch.

  Args:
    outputs: The true outputs.
    output_preds: Raw decoder outputs.
    failed: [B].

  Returns:
    The same, of which a loss can be taken.
  """
  source = jnp.argmin(failed)
  copy = lambda tree: per_instance.copy(tree, failed, source)
  return copy(outputs), per_instance.where(
      failed, jax.lax.stop_gradient(copy(output_preds)), output_preds)


def size_of(inputs: Iterable[clrs.DataPoint]) -> int:
  """The number of nodes."""
  return next(x.data.shape[1] for x in inputs
              if x.location != clrs.Location.GRAPH)


def describe(batch: Batch) -> str:
  """Names what a program is compiled for, in words."""
  batch_size = len(batch.inputs[0].data)
  upto = 'up to ' if batch.node_mask is not None else ''
  text = f'{upto}{size_of(batch.inputs)} nodes'
  if batch.edge_list is not None:
    text += f' and {len(batch.edge_list.pairs):,} edges'
  return text if batch_size == 1 else f'{batch_size} times {text}'
