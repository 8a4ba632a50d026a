# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""A trained net on graphs of any sizes, packed into one list of edges.

Nodes of all graphs stand in one row, and edges in another; nothing is as large
as the pairs of nodes. It has the parameters of an `EquilibriumNet`, and answers
what that one would answer for each of the graphs alone.
"""

from typing import Any, Dict, NamedTuple, Optional, Tuple

import clrs
from dear_jax.fixed_points import packed_rows
from dear_jax.fixed_points import packed_solvers
from dear_jax.networks import chunks
from dear_jax.networks import clrs_private
from dear_jax.networks import coding
from dear_jax.networks import differences
from dear_jax.networks import layers
from dear_jax.networks import pointers
import jax
import jax.numpy as jnp

_Array = jax.Array


class PackedGraphs(NamedTuple):
  """Graphs of any sizes: N nodes, K * C edges, G graphs, with padding.

  Attributes:
    inputs: What nodes have, [1, N] each.
    edge_inputs: What edges have, [K, C] each, by the names of inputs.
    edges: The edges, in either direction and with self-loops.
    node_graphs: [N], the number of a node's graph; G at nodes that are none.
    limits: [G], the most iterations of every graph; 0 where there is none.
  """
  inputs: Tuple[clrs.DataPoint, ...]
  edge_inputs: Dict[str, _Array]
  edges: chunks.Chunks
  node_graphs: _Array
  limits: _Array


class Request(NamedTuple):
  """What is asked of a net, besides its graphs.

  Attributes:
    resume: From where to go on with the solve; None asks for its start.
    args: What a step takes beside its state, as the start gave it.
    pause_at: [], after how many evaluations to pause; None asks for answers.
  """
  resume: Optional[packed_solvers.State] = None
  args: Any = None
  pause_at: Optional[_Array] = None


class PackedNet(coding.CodingNet):
  """Solves packed graphs.

  Without a state it answers with that of the start of the solve and with the
  arguments of a step, with a state and a pause with the next state, and with a
  state alone with what it says of the nodes and of the graphs.
  """

  request_type = Request

  def _process(self, inputs: Any, index: int, asked: Request) -> Any:
    graphs: PackedGraphs = inputs
    encoded = self._encode_packed(graphs, index)
    nb_graphs = len(graphs.limits)
    is_node = (graphs.node_graphs < nb_graphs).astype(jnp.float32)
    problem = self.equilibrium.problem(
        *encoded, jnp.zeros_like(encoded.node_fts), node_mask=is_node[None],
        edge_list=graphs.edges)
    # Given arguments are not computed again: that would be as much as a step.
    solver = packed_solvers.PackedProblem(
        lambda state: _rows(problem.fun(_batch(state), *asked.args)),
        _owners(graphs, problem.start), graphs.limits, self.equilibrium.solver)
    if asked.resume is None:
      return solver.initial_state(_rows(problem.start)), problem.args
    if asked.pause_at is not None:
      return solver.advance(asked.resume, asked.pause_at)
    state = _batch(asked.resume.value)
    answers = self._decode_packed(graphs, index, encoded, problem.nodes(state),
                                  problem.edges(state))
    return answers, dict(
        steps=asked.resume.steps, residual=asked.resume.residual,
        converged=solver.converged(asked.resume))

  def _encode_packed(self, graphs: PackedGraphs, index: int) -> coding.Encoded:
    """As `encode`, with chunks of edges and no adjacency matrix."""
    nb_nodes = len(graphs.node_graphs)
    node_fts = jnp.zeros((1, nb_nodes, self.hidden_dim))
    graph_fts = jnp.zeros((1, self.hidden_dim))
    for probe in graphs.inputs:
      probe = clrs_private.preprocess(probe, nb_nodes)
      node_fts = clrs_private.accum_node_fts(
          self.encoders[index][probe.name], probe, node_fts)
    of_pairs = None
    edge_inputs = {name: jnp.ravel(x)
                   for name, x in graphs.edge_inputs.items()}
    if self._scalars != 'linear':
      of_pairs = differences.of_edges(
          graphs.inputs, jnp.ravel(graphs.edges.senders),
          jnp.ravel(graphs.edges.receivers), nb_nodes,
          [x for name, x in edge_inputs.items()
           if self._scalars == 'relative'
           and self.spec[index][name][2] == clrs.Type.SCALAR],
          edge_inputs.get('adj'))
    edge_fts = self.encode_columns(edge_inputs, index, of_pairs)
    return coding.Encoded(node_fts, edge_fts, graph_fts, None)

  def _decode_packed(self, graphs: PackedGraphs, index: int,
                     encoded: coding.Encoded, hidden: _Array,
                     edges: Optional[_Array]) -> Dict[str, Any]:
    """Chosen nodes [N] and their probabilities [N], by the names of outputs."""
    states = jnp.concatenate([encoded.node_fts, hidden], axis=-1)[0]
    edge_fts: Any = encoded.edge_fts
    return {name: choose(graphs.edges, _edge_logits(
        self.decoders[index][name], states, edge_fts, graphs.edges, edges),
                         len(states)) for name in self.decoders[index]}


def answers_packed(spec: clrs.Spec, rule: pointers.Rule) -> bool:
  """Whether a task asks for nothing but pointers along edges, from nodes.

  Args:
    spec: The spec of the task.
    rule: `restrict_pointers` of the model.

  Returns:
    Whether a `PackedNet` can answer.
  """
  outputs = [what[1:] for what in spec.values()
             if what[0] == clrs.Stage.OUTPUT]
  inputs = [what[1] for what in spec.values() if what[0] == clrs.Stage.INPUT]
  return (coding.takes_edge_lists(spec)
          and clrs.Location.GRAPH not in inputs
          and all(x == (clrs.Location.NODE, clrs.Type.POINTER)
                  for x in outputs)
          and clrs.Location.NODE in pointers.restricted_locations(spec, rule))


def choose(edge_list: chunks.Chunks, logits: _Array, nb_nodes: int
           ) -> Tuple[_Array, _Array]:
  """What every node chooses among those that send to it.

  Args:
    edge_list: The edges.
    logits: [K, C], of every edge.
    nb_nodes: How many nodes there are.

  Returns:
    [N], the sender of the edge with the greatest logit, the first one if
    there are several; and [N], the probability of that edge.
  """
  receivers, senders = jnp.ravel(edge_list.receivers), jnp.ravel(
      edge_list.senders)
  logits = jnp.ravel(logits)
  pick = lambda x: x.at[receivers].get(mode='clip')
  reduce = lambda fun, x: fun(x, receivers, nb_nodes + 1,
                              indices_are_sorted=True)[:nb_nodes]
  maxima = reduce(jax.ops.segment_max, logits)
  chosen = reduce(jax.ops.segment_min, jnp.where(
      logits == pick(maxima), senders, nb_nodes))
  total = reduce(jax.ops.segment_sum, jnp.exp(logits - pick(maxima)))
  return chosen, 1 / total


def _edge_logits(decoder, states: _Array, edge_fts: layers.LowRank,
                 edge_list: chunks.Chunks, edges: Optional[_Array]) -> _Array:
  """[K, C], by CLRS' decoder of node pointers, as on lists of edges.

  Args:
    decoder: CLRS' four layers.
    states: [N, F].
    edge_fts: [E, F].
    edge_list: The edges.
    edges: [1, E, F'], the states of edges, if there are some.

  Returns:
    The logits, with -1e9 for what is no edge.
  """
  of_receiver, of_sender, of_edge, out = decoder
  at_receiver, at_sender = of_receiver(states), of_sender(states)
  pick = lambda x, places: x.at[places].get(mode='clip')

  def of_chunk(nothing, logits, senders, receivers, columns, rows):
    del logits
    features = columns @ edge_fts.weights
    if rows is not None:
      features = jnp.concatenate([features, rows], axis=-1)
    hidden = jnp.maximum(pick(at_receiver, receivers),
                         pick(at_sender, senders) + of_edge(features))
    return nothing, jnp.where(receivers < len(states),
                              jnp.squeeze(out(hidden), -1), pointers.NO_EDGE)

  return edge_list.each(
      of_chunk, (), jnp.full(edge_list.senders.shape, pointers.NO_EDGE),
      edge_list.split(edge_fts.inputs),
      None if edges is None else edge_list.split(edges))[1]


def _owners(graphs: PackedGraphs, state: Any) -> packed_rows.Owners:
  """To which graphs the rows of a state belong."""
  nb_graphs = len(graphs.limits)
  rows: Any = graphs.node_graphs
  if isinstance(state, dict):
    of_edges = graphs.node_graphs.at[jnp.ravel(graphs.edges.receivers)].get(
        mode='fill', fill_value=nb_graphs)
    rows = dict(nodes=rows, edges=of_edges)
  return packed_rows.Owners(rows, nb_graphs)


def _rows(state: Any) -> Any:
  """Rows of a batch of one."""
  return jax.tree_util.tree_map(lambda x: x[0], state)


def _batch(rows: Any) -> Any:
  return jax.tree_util.tree_map(lambda x: x[None], rows)
