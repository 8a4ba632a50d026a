# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""What the spec of a task says of its graphs."""

import clrs

# Where and what the input is that says which pairs of nodes have an edge. CLRS
# calls it 'adj'; a user's own task may call it anything.
EDGES = (clrs.Location.EDGE, clrs.Type.MASK)


def has_graph(spec: clrs.Spec) -> bool:
  """Whether the task comes with a graph; if not, its nodes are an array."""
  return any(stage == clrs.Stage.INPUT and (location, type_) == EDGES
             for stage, location, type_ in spec.values())
