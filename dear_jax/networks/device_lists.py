# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Lists of edges for several devices, each with those of its own graphs.

They are one behind the other, all of one length, and nodes are numbered from 0
on in each. So a device that gets its part of the list has a list of its part of
the batch, and needs nothing from the others.
"""

from typing import Any, Callable, Sequence

import clrs
from dear_jax.networks import edge_lists
import numpy as np


def from_inputs(inputs: Sequence[clrs.DataPoint], size: int, *,
                nb_parts: int, length_for: Callable[[int], int],
                uniform: bool = False) -> edge_lists.EdgeList:
  """Lists the pairs between which messages pass, part by part.

  Args:
    inputs: As in `edge_lists.from_inputs`.
    size: How many nodes to number every graph with.
    nb_parts: How many devices share the batch evenly.
    length_for: How long a list of so many edges is to be. It is called once,
      for the part with the most, or for the graph with the most if uniform.
    uniform: As in `edge_lists.from_inputs`.

  Returns:
    The lists, in numpy arrays.
  """
  batch_size = len(inputs[0].data) // nb_parts
  parts = [[clrs.DataPoint(x.name, x.location, x.type_,
                           x.data[i * batch_size:(i + 1) * batch_size])
            for x in inputs] for i in range(nb_parts)]
  counts = []
  def count(number):
    counts.append(number)
    return number
  for part in parts:
    edge_lists.from_inputs(part, size, length_for=count, uniform=uniform)
  length = length_for(max(counts))
  lists = [edge_lists.from_inputs(part, size, length_for=lambda _: length,
                                  uniform=uniform) for part in parts]
  fields: Any = map(np.concatenate, zip(*lists))
  return edge_lists.EdgeList(*fields)
