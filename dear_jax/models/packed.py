# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Answers for graphs of any sizes, packed into one list of edges.

No array is as large as the pairs of a graph's nodes, from the edges that are
given to the pointers that are answered. Shapes are padded to few, as every
shape is compiled for; chunks of edges that are padding are never computed.
"""

from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence

import clrs
from dear_jax.data import free_memory
from dear_jax.data import own_units
from dear_jax.data import sparse_graphs
from dear_jax.models import devices
from dear_jax.models import parts
from dear_jax.networks import chunks
from dear_jax.networks import edge_lists
from dear_jax.networks import packed_nets
from dear_jax.networks import pointers
import haiku as hk
import jax
import numpy as np

_Array = np.ndarray

# The least of all rungs of the ladder.
_LEAST_NODES = 64
_LEAST_EDGES = 256

# From here on nodes and edges cost more than a program does.
_MANY_NODES = 8192
_MANY_EDGES = 65536

# How many arrays of the states' size there are at the least: what is constant
# for either end, update and gate, and three states.
_ARRAYS_OF_NODES = 7

# About how many operations a solver takes for every number of a state.
_OPERATIONS_PER_WIDTH = 4


class Problem(NamedTuple):
  """A graph and, if the task has one, its source."""
  graph: sparse_graphs.SparseGraph
  source: Optional[int] = None


class Answer(NamedTuple):
  """What is said of one graph.

  Attributes:
    outputs: Pointers [N], by the names of outputs.
    confidences: The probability [N] of each of them.
    instance: `steps`, `residual`, `converged` and `confidence`.
  """
  outputs: Dict[str, _Array]
  confidences: Dict[str, _Array]
  instance: Dict[str, Any]


class PackedAnswers:
  """The programs of one model, and how graphs become their arguments."""

  def __init__(self, specs: Sequence[clrs.Spec],
               make_net: Callable[[], packed_nets.PackedNet],
               rule: pointers.Rule, processor_factory: Any,
               limit: Callable[[int], int], where: devices.Devices,
               width: int, self_loops: bool = True,
               in_own_units: bool = False):
    """Initialises the programs.

    Args:
      specs: One an algorithm.
      make_net: Makes the net; called within `hk.transform`.
      rule: `restrict_pointers` of the model.
      processor_factory: That of the model.
      limit: The most iterations for a graph of so many nodes.
      where: Where it is computed.
      width: Of the states.
      self_loops: Whether the net sees edges from a node to itself.
      in_own_units: Whether it is given weights in units of their graphs.
    """
    net = hk.transform(lambda *args, **kwargs: make_net()(*args, **kwargs))

    def run(params, graphs, index, resume=None, args=None, pause_at=None):
      return net.apply(params, None, [graphs], algorithm_index=index,
                       resume=resume, args=args, pause_at=pause_at)

    self._run = jax.jit(run, static_argnums=2)
    # A state is hundreds of megabytes, and the one before is of no more use.
    self._advance = jax.jit(run, static_argnums=2, donate_argnums=3)
    self._specs = specs
    self._rule = rule
    self._factory = processor_factory
    self._limit = limit
    self._devices = where
    self._width = width
    self._self_loops = self_loops
    self._own_units = in_own_units

  def refusal(self, index: int) -> Optional[str]:
    """Why graphs cannot be packed for an algorithm; None if they can."""
    able = lambda name: getattr(self._factory, name, False)
    if not able('takes_chunks'):
      return 'its processor does not work on packed lists of edges'
    if not packed_nets.answers_packed(self._specs[index], self._rule):
      return 'its answers are not pointers from nodes along edges'
    return None

  def prepare(self, problems: Sequence[Problem], index: int
              ) -> packed_nets.PackedGraphs:
    """Packs graphs that fit into memory, in a shape that others have too."""
    nb_nodes = sum(x.graph.nb_nodes for x in problems)
    free_memory.check(
        f'{nb_nodes:,} nodes with states of {self._width} numbers',
        _ARRAYS_OF_NODES * 4 * self._width * nb_nodes,
        'ask about smaller graphs, or about fewer at a time')
    if not self._self_loops:
      problems = [x._replace(graph=x.graph.without_loops()) for x in problems]
    if self._own_units:
      problems = [x._replace(graph=own_units.of_graph(x.graph))
                  for x in problems]
    return self._devices.replicate(
        pack(problems, self._specs[index], self._limit))

  def answer(self, params: Any, problems: Sequence[Problem], index: int, *,
             prepared: Optional[packed_nets.PackedGraphs] = None,
             watch: Optional[parts.Watch] = None, compile_only: bool = False
             ) -> List[Answer]:
    """Solves graphs side by side, each until it is settled.

    Args:
      params: The parameters of the model.
      problems: The graphs.
      index: Which algorithm they are for.
      prepared: What `prepare` made of them, if that was done already.
      watch: Is told how far the solve is.
      compile_only: Whether to stop before the first iteration.

    Returns:
      One answer a graph.
    """
    graphs = prepared or self.prepare(problems, index)
    limit = 0 if compile_only else max(
        self._limit(x.graph.nb_nodes) for x in problems)

    def call(state, pause_at):
      # A program is of one sharding, too.
      state, pause_at = self._devices.replicate((state, pause_at))
      state = self._advance(params, graphs, index, state, args, pause_at)
      return state, state

    start, args = self._run(params, graphs, index)
    state = parts.run(
        call, start, limit=limit, watch=watch, operations=(
            _OPERATIONS_PER_WIDTH * graphs.edges.nb_entries * self._width**2),
        residual_of=lambda state: state.residual)
    outputs, instances = jax.device_get(
        self._run(params, graphs, index, state))
    return _unpack(problems, outputs, instances)


def pack(problems: Sequence[Problem], spec: clrs.Spec,
         limit: Callable[[int], int]) -> packed_nets.PackedGraphs:
  """Packs graphs into one list of edges, in numpy arrays.

  Args:
    problems: The graphs.
    spec: The spec of their task.
    limit: The most iterations for a graph of so many nodes.

  Returns:
    The graphs, with padding.
  """
  sizes = np.array([x.graph.nb_nodes for x in problems])
  firsts = np.cumsum(sizes) - sizes
  lists = [sparse_graphs.with_reverse(x.graph) for x in problems]
  join = lambda i: np.concatenate([x[i] for x in lists])
  shifts = np.repeat(firsts, [len(x[0]) for x in lists])
  senders, receivers = join(0) + shifts, join(1) + shifts
  nb_nodes = _padded_size(int(sizes.sum()))
  nb_graphs = 1 << (len(problems) - 1).bit_length()
  shape = _shape_of_chunks(len(senders))
  count: Any = np.int32(-(-len(senders) // shape[1]))
  pad: Any = lambda x, length, value, dtype: np.concatenate(
      [x, np.full(length - len(x), value)]).astype(dtype)
  split: Any = lambda x, value, dtype: pad(
      x, shape[0] * shape[1], value, dtype).reshape(shape)
  node_inputs = {
      'pos': np.concatenate([np.arange(n) * 1.0 / n for n in sizes])}
  if spec.get('s', ('',))[0] == clrs.Stage.INPUT:
    node_inputs['s'] = np.zeros(sizes.sum())
    node_inputs['s'][firsts + [x.source for x in problems]] = 1
  edge_inputs = {'A': join(2), 'adj': join(3)}
  inputs = [name for name, (stage, _, _) in spec.items()
            if stage == clrs.Stage.INPUT]
  return packed_nets.PackedGraphs(
      inputs=tuple(
          clrs.DataPoint(name, spec[name][1], spec[name][2], pad(
              node_inputs[name], nb_nodes, 0, np.float32)[None])
          for name in inputs if name in node_inputs),
      edge_inputs={name: split(edge_inputs[name], 0, np.float32)
                   for name in inputs if name in edge_inputs},
      edges=chunks.Chunks(
          split(senders, 0, np.int32), split(receivers, nb_nodes, np.int32),
          count),
      node_graphs=pad(np.repeat(np.arange(len(sizes)), sizes), nb_nodes,
                      nb_graphs, np.int32),
      limits=pad(np.array([limit(int(n)) for n in sizes]), nb_graphs, 0,
                 np.int32))


def _padded_size(nb_nodes: int) -> int:
  """How many nodes to have; of many, hardly more than there are."""
  if nb_nodes > _MANY_NODES:
    return _hardly_more(nb_nodes)
  return max(_LEAST_NODES, edge_lists.padded_length(nb_nodes, fine=True))


def _hardly_more(count: int) -> int:
  """The least number that is not smaller and has at most six binary digits."""
  unit = 1 << (count.bit_length() - 6)
  return -(-count // unit) * unit


def _shape_of_chunks(nb_edges: int):
  """How many chunks there are, and how many edges each has room for."""
  length = _hardly_more(nb_edges) if nb_edges > _MANY_EDGES else max(
      _LEAST_EDGES, edge_lists.padded_length(nb_edges))
  if length <= chunks.SIZE:
    return 1, length
  return -(-length // chunks.SIZE), chunks.SIZE


def _unpack(problems: Sequence[Problem], outputs: Dict[str, Any],
            instances: Dict[str, _Array]) -> List[Answer]:
  """What is said of each of the graphs, with its own numbers of nodes."""
  answers, first = [], 0
  for i, problem in enumerate(problems):
    part = slice(first, first + problem.graph.nb_nodes)
    pointers_of = {name: x[part].astype(np.int64) - first
                   for name, (x, _) in outputs.items()}
    # Of a state that is not finite, the decoder may point anywhere.
    are_nodes = {name: (0 <= x) & (x < problem.graph.nb_nodes)
                 for name, x in pointers_of.items()}
    confidences = {name: np.where(are_nodes[name] & np.isfinite(x[part]),
                                  x[part], 0)
                   for name, (_, x) in outputs.items()}
    answers.append(Answer(
        {name: np.where(are_nodes[name], x, np.arange(len(x)))
         for name, x in pointers_of.items()}, confidences,
        dict({name: x[i] for name, x in instances.items()},
             confidence=np.mean(list(confidences.values()),
                                dtype=np.float32))))
    first = part.stop
  return answers
