# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""In which shape a batch is computed: on edges or all pairs, padded or not."""

import math
from typing import Any, Optional, Sequence, Tuple

import clrs
from dear_jax.models import batches
from dear_jax.models import devices
from dear_jax.models import ladders
from dear_jax.networks import cayley
from dear_jax.networks import device_lists
from dear_jax.networks import edge_lists
from dear_jax.networks import nets
from dear_jax.networks import padding

LAYOUTS = ('auto', 'dense', 'sparse')

# From this share of all pairs on, a list of edges saves nothing any more; nor
# does it with few pairs, and other lists mean other programs. In training on
# several sizes it is the other way round: they share the programs of lists.
_DENSE_FROM = 0.75
_SPARSE_FROM_PAIRS = 2048

# On an accelerator products of large matrices cost little, and places in memory
# that are far apart cost much; there a list has to save more.
_DENSE_FROM_ON_ACCELERATORS = 0.125
_SPARSE_FROM_PAIRS_ON_ACCELERATORS = 2**18

_Inputs = Sequence[clrs.DataPoint]
# How many nodes there are with padding, and the edges unless all pairs are
# computed with.
Shape = Tuple[int, Optional[edge_lists.EdgeList]]


class Layouts:
  """Chooses the shapes of batches, for one model."""

  def __init__(self, layout: str, processor_factory: Any,
               pad_to: Optional[int], where: devices.Devices):
    """Reads what the processor can do from its factory.

    Args:
      layout: Of `LAYOUTS`, as in `DEARModel`.
      processor_factory: That of the model.
      pad_to: As in `DEARModel`.
      where: Where it is computed.
    """
    check_layout(layout)
    self._layout = layout
    self._pad_to = pad_to
    self._devices = where
    able = lambda name: getattr(processor_factory, name, False)
    self._takes_edge_lists = able('takes_edge_lists')
    self.has_cayley_graph = able('cgp')
    self._ignores_padding = able('ignores_padding')
    self._is_cubic = able('is_cubic')
    # Steps with states on edges take lists in which all graphs have as many.
    self._uniform = able('has_edge_states')

  def shape(self, inputs: _Inputs, spec: clrs.Spec, training: bool) -> Shape:
    """The shape of a batch that is alike to those before and after it.

    Args:
      inputs: Of the batch; in training, of the part that this host has.
      spec: Of its task.
      training: Whether it is trained on.

    Returns:
      The shape, for all hosts the same.
    """
    size = self._padded_size(batches.size_of(inputs), spec, training)
    return size, self._edge_list(inputs, spec, size, training)

  def has_ladder(self, spec: clrs.Spec) -> bool:
    """Whether padding leaves the answers to a task exactly as they are."""
    return self._ignores_padding and padding.inputs_can_be_padded(spec)

  def rung(self, inputs: _Inputs, spec: clrs.Spec) -> Shape:
    """The shape of a batch that is unlike all others, on the ladder."""
    nb_nodes = batches.size_of(inputs)
    most = cayley.group_order(cayley.smallest_modulus(nb_nodes)) if (
        self.has_cayley_graph) else math.inf  # more have another Cayley graph
    is_cubic = self._is_cubic or any(
        (location, type_) == (clrs.Location.EDGE, clrs.Type.POINTER)
        for _, location, type_ in spec.values())
    takes_lists = self._may_take_edge_lists(spec)
    size = int(min(most, ladders.for_lists(nb_nodes) if (
        takes_lists and not is_cubic)
                   else ladders.for_pairs(nb_nodes, is_cubic)))
    if takes_lists:
      batch_size = len(inputs[0].data)
      nb_parts = self._devices.count if self._devices.splits(batch_size) else 1
      nb_in_list = (1 if self._uniform else batch_size // nb_parts) * size
      edge_list = device_lists.from_inputs(
          inputs, size, uniform=self._uniform, nb_parts=nb_parts,
          length_for=lambda count: ladders.for_edges(count, nb_in_list))
      if self._layout == 'sparse' or (
          ladders.lists_pay(batch_size * size**2, len(edge_list.pairs))
          and self._pays(batch_size * size**2, len(edge_list.pairs))):
        return size, edge_list
    return size, None

  def _padded_size(self, size: int, spec: clrs.Spec, training: bool) -> int:
    if (not training or not self._pad_to or size > self._pad_to
        or not nets.can_be_padded(spec)):
      return size
    if self.has_cayley_graph and (
        cayley.smallest_modulus(size) != cayley.smallest_modulus(self._pad_to)):
      return size  # more nodes would have another Cayley graph
    return self._pad_to

  def _may_take_edge_lists(self, spec: clrs.Spec) -> bool:
    """Whether layout, task and processor allow for lists of edges."""
    possible = self._takes_edge_lists and nets.takes_edge_lists(spec)
    if self._layout == 'sparse' and not possible:
      raise ValueError("layout='sparse' needs a task with a graph and a "
                       "processor with lists of edges, such as 'dear_pgn'; "
                       "'auto' takes it where it can.")
    return possible and self._layout != 'dense'

  def _pays(self, nb_pairs: int, length: int = 0) -> bool:
    """Whether a list of edges of this length is faster than all pairs."""
    cpus = self._devices.are_cpus
    least = (_SPARSE_FROM_PAIRS if cpus
             else _SPARSE_FROM_PAIRS_ON_ACCELERATORS)
    most = _DENSE_FROM if cpus else _DENSE_FROM_ON_ACCELERATORS
    return nb_pairs >= least and length <= most * nb_pairs

  def _edge_list(self, inputs: _Inputs, spec: clrs.Spec, padded_size: int,
                 training: bool) -> Optional[edge_lists.EdgeList]:
    """The edges of a batch, if messages are to be computed on them only."""
    if not self._may_take_edge_lists(spec):
      return None
    batch_size, nb_nodes = next(
        x.data.shape for x in inputs if x.name == 'pos')
    # In training, others have parts of their own.
    nb_hosts = self._devices.nb_hosts if training else 1
    nb_pairs = nb_hosts * batch_size * nb_nodes**2
    if self._layout == 'auto' and not self._pays(nb_pairs):
      return None
    # Lists of many graphs are alike in length; single graphs are not, and
    # someone waits for the answer.
    fine = batch_size == 1
    if self._devices.splits(nb_hosts * batch_size):
      largest = self._devices.largest if training else lambda count: count
      edge_list = device_lists.from_inputs(
          inputs, padded_size, uniform=self._uniform,
          nb_parts=self._devices.count // nb_hosts,
          length_for=lambda count: edge_lists.padded_length(
              largest(count), fine=fine))
    else:
      edge_list = edge_lists.from_inputs(inputs, padded_size, fine=fine,
                                         uniform=self._uniform)
    shared = training and self._shares_programs(spec)
    if self._layout == 'auto' and not shared and not self._pays(
        nb_pairs, nb_hosts * len(edge_list.pairs)):
      return None
    return edge_list

  def _shares_programs(self, spec: clrs.Spec) -> bool:
    """Whether lists of a length are one program, whatever the size."""
    # As measured on a CPU. Lists in which all graphs have as many edges are
    # longer, and with a Cayley graph not all sizes can be padded to one.
    return bool(self._pad_to and nets.can_be_padded(spec)
                and self._devices.are_cpus and not self._uniform
                and not self.has_cayley_graph)


def describe(size: int, shape: Shape) -> str:
  """Names the shape of graphs of a size, in words."""
  padded, edge_list = shape
  if edge_list is None:
    return f'size {size}'
  upto = 'size' if padded == size else 'sizes up to'
  return f'{upto} {padded} with up to {len(edge_list.pairs):,} edges'


def check_layout(layout: str) -> None:
  """Raises a ValueError unless this is the name of a layout."""
  if layout not in LAYOUTS:
    raise ValueError(
        f'layout must be one of {", ".join(LAYOUTS)}, got {layout!r}.')
