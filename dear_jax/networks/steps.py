# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Steps: what a neural algorithmic reasoner repeats.

A step comes in two parts: `prepare` computes, once, all that does not change
while the state does; `step` maps a state to the next. `start` makes a first
state of those of the nodes, and `nodes` gets theirs out of any.
"""

import abc
import functools
from typing import Any, Callable, Dict, Mapping, Optional, Tuple, Union

import chex
from dear_jax.networks import chunks
from dear_jax.networks import clrs_private
from dear_jax.networks import edge_lists
from dear_jax.networks import layers
from dear_jax.networks import own_steps
import haiku as hk
import jax
import jax.numpy as jnp

_Array = jax.Array
_Context = Any
# Of the nodes [B, N, F], or a tree that holds it among others.
State = Any
EdgeFeatures = Union[jax.Array, layers.LowRank]
Connections = Union[edge_lists.EdgeList, edge_lists.Neighbours, chunks.Chunks]

# What the solve of an equilibrium asks of a step.
_PARTS = ('prepare', 'start', 'start_in', 'step', 'nodes', 'edges',
          'has_virtual_nodes', 'module_name', 'inf_bias', 'inf_bias_edge')


class NodeStates:
  """For steps whose state is that of the nodes, [B, N, F], and nothing else."""

  # Whether a state holds more than the nodes that were asked about.
  has_virtual_nodes = False

  def start(self, hidden: _Array) -> _Array:
    return hidden

  def start_in(self, hidden: _Array, context: _Context) -> State:
    """As `start`, for a state whose shape depends on more than the nodes."""
    del context
    return self.start(hidden)

  def nodes(self, state: State) -> _Array:
    return state


def state_shapes(batch_size: int, nb_nodes: int, nb_edges: int, out_size: int
                 ) -> State:
  """What a state of the nodes alone looks like, without making one.

  Args:
    batch_size: How many graphs there are.
    nb_nodes: Nodes of each, with padding.
    nb_edges: Entries of its list of edges, or all pairs of its nodes.
    out_size: Width of the states of nodes.

  Returns:
    Shapes and types.
  """
  del nb_edges
  return jax.ShapeDtypeStruct((batch_size, nb_nodes, out_size), jnp.float32)


class Step(NodeStates, clrs_private.Processor):
  """Where a step of one's own begins: it needs `prepare` and `step`.

  Layers are made in `__init__`, and `super().__init__(name=...)` is called
  first; docs/adding_a_processor.md has the rules and an example.
  """

  @abc.abstractmethod
  def prepare(self, node_fts: _Array, edge_fts: EdgeFeatures,
              graph_fts: _Array, adj_mat: _Array,
              edge_list: Optional[Connections] = None,
              node_mask: Optional[_Array] = None) -> _Context:
    """Everything that a solve can share between its evaluations.

    Args:
      node_fts: [B, N, F].
      edge_fts: [B, N, N, F]; with an edge list, [E, F] as `layers.LowRank`.
      graph_fts: [B, F].
      adj_mat: [B, N, N], 1 where node i sends to node j, self-loops included.
      edge_list: None, unless the step was registered with `takes_edge_lists`.
      node_mask: [B, N], 0 at nodes that are padding; these have no edges.

    Returns:
      What `step` and `edges` need.
    """

  @abc.abstractmethod
  def step(self, hidden: State, context: _Context) -> State:
    """The next state of the nodes, [B, N, F]."""

  def edges(self, hidden: State, context: _Context) -> Optional[_Array]:
    """Embeddings of edges for the decoders, [B, N, N, F], if there are any."""
    del hidden, context
    return None

  def __call__(self, node_fts: _Array, edge_fts: _Array, graph_fts: _Array,
               adj_mat: _Array, hidden: _Array,
               **unused_kwargs) -> Tuple[_Array, Optional[_Array]]:
    """A single step, as any CLRS processor."""
    context = self.prepare(node_fts, edge_fts, graph_fts, adj_mat)
    return self.step(hidden, context), self.edges(hidden, context)


class PGN(Step):
  """The paper's default step (section 4; appendix on differences to Ibarz).

  A pointer graph network with max aggregation and a gate as in Ibarz et al.
  (2022), but: no nonlinearity after the step, a layer norm before each ReLU of
  the message MLP, and a gate whose bias starts at 0. At CLRS's -3 the state
  would move so slowly that it passes for a fixed point long before it is one.

  With triplet features it is the paper's Triplet-MPNN: the same node update,
  and edge embeddings made of triplet messages for the decoders. As in the
  paper's code its messages, too, stay on the edges of the graph.
  """

  def __init__(self,
               out_size: int,
               *,
               use_ln: bool = True,
               norm: str = 'layer',
               nb_triplet_fts: int = 0,
               name: str = 'pgn'):
    super().__init__(name=name)
    self._out_size = out_size
    self._granola = layers.Granola(out_size) if norm == 'granola' else None
    self._nb_triplet_fts = nb_triplet_fts
    split = lambda name: layers.SplitLinear(out_size, name=name)
    linear = lambda name: layers.Linear(out_size, name=name)
    self._receiver = split('message_receiver')
    self._sender = split('message_sender')
    self._edge = linear('message_edge')
    self._graph = linear('message_graph')
    self._message_mlp = layers.MessageMLP([out_size, out_size])
    self._update_state = split('update_state')
    self._update_messages = linear('update_messages')
    self._norm = lambda x: x
    if use_ln and not self._granola:
      self._norm = layers.layer_norm('norm')
    self._gate_state = split('gate_state')
    self._gate_messages = linear('gate_messages')
    self._gate_out = linear('gate_out')
    if nb_triplet_fts:
      narrow = functools.partial(hk.Linear, nb_triplet_fts)
      self._triplet_nodes = [
          layers.SplitLinear(nb_triplet_fts, name=f'triplet_node_{i}')
          for i in range(3)]
      self._triplet_edges = [narrow(name=f'triplet_edge_{i}')
                             for i in range(3)]
      self._triplet_graph = narrow(name='triplet_graph')
      self._triplet_out = linear('triplet_out')

  @property
  def draws(self) -> bool:
    """Whether `prepare` draws random numbers."""
    return self._granola is not None

  def prepare(self, node_fts: _Array, edge_fts: EdgeFeatures,
              graph_fts: _Array, adj_mat: _Array,
              edge_list: Optional[Connections] = None,
              node_mask: Optional[_Array] = None) -> _Context:
    """Everything that a solve can share between its evaluations.

    Args:
      node_fts: [B, N, F].
      edge_fts: [B, N, N, F]; with an edge list, [E, F] as `layers.LowRank`;
        with neighbours, anything that can be broadcast to [B, D, N, F].
      graph_fts: [B, F].
      adj_mat: [B, N, N]; None with chunks of edges.
      edge_list: The edges or the neighbours, if messages are to be computed on
        them only.
      node_mask: [B, N]; not needed, as nodes that are padding have no edges.

    Returns:
      What `step` and `edges` need.
    """
    del node_mask
    size = self._out_size
    chex.assert_axis_dimension(node_fts, -1, size)  # as everywhere in CLRS
    is_chunked = isinstance(edge_list, chunks.Chunks)
    of_edges: Any = None if is_chunked else (
        edge_fts.apply(self._edge) if isinstance(edge_fts, layers.LowRank)
        else self._edge(edge_fts))
    of_nodes = (self._receiver.constant(node_fts, size)
                + self._graph(graph_fts)[:, None],
                self._sender.constant(node_fts, size))
    messages: Any = (
        chunks.constants(edge_list, *of_nodes, edge_fts, self._edge)
        if is_chunked
        else of_edges + _to_pairs(node_fts.shape, edge_list)(*of_nodes))
    # One product of a matrix with several is faster than several products.
    dtype = node_fts.dtype
    of_states = [layer.state_weights(size, size, dtype) for layer in (
        self._receiver, self._sender, self._update_state, self._gate_state)]
    of_messages = [layer.parameters(size, dtype) for layer in (
        self._update_messages, self._gate_messages)]
    is_edge = None if adj_mat is None else adj_mat > 0.5
    context: Dict[str, Any] = dict(
        shared=dict(
            state_weights=jnp.concatenate(of_states, axis=1),
            message_weights=jnp.concatenate(
                [w for w, _ in of_messages], axis=1)),
        messages=messages,
        update=self._update_state.constant(node_fts, size) + of_messages[0][1],
        gate=self._gate_state.constant(node_fts, size) + of_messages[1][1],
        is_edge=is_edge,
        edge_list=edge_list)
    if self._granola:
      context['granola'] = self._granola.prepare(
          node_fts, nb_neighbours(is_edge, edge_list))
    if self._nb_triplet_fts and edge_list is None:
      on_nodes = [x.constant(node_fts, size) for x in self._triplet_nodes]
      assert not isinstance(edge_fts, layers.LowRank)  # that is for edge lists
      on_edges = [x(edge_fts) for x in self._triplet_edges]
      context.update(
          triplet_nodes=on_nodes,
          triplet_edges=on_edges,
          triplet_graph=self._triplet_graph(graph_fts),
          is_node=jnp.any(adj_mat > 0.5, axis=1))
    return context

  def step(self, hidden: State, context: _Context) -> State:
    """The next state of the nodes, [B, N, F]."""
    edge_list = context['edge_list']
    if isinstance(edge_list, chunks.Chunks):
      return self._step_in_chunks(
          hidden, context,
          lambda sums, *_: (self._message_mlp(sums), None))[0]
    receiver, sender, update, gate = jnp.split(
        hidden @ context['shared']['state_weights'], 4, axis=-1)
    to_pairs = _to_pairs(hidden.shape, edge_list)
    messages = self._message_mlp(
        context['messages'] + to_pairs(receiver, sender))
    if edge_list is None:
      messages = layers.masked_max(messages, context['is_edge'])
    elif isinstance(edge_list, edge_lists.Neighbours):
      messages = layers.masked_max(messages, jnp.ones((1, 1, 1), bool))
    else:
      batch_size, nb_nodes, _ = hidden.shape
      messages = jnp.reshape(
          layers.segment_max(messages, edge_list.receivers,
                             batch_size * nb_nodes), hidden.shape)

    return self._update_nodes(hidden, update, gate, messages, context)

  def _step_in_chunks(
      self, hidden: _Array, context: _Context,
      message: Callable[..., Tuple[_Array, Optional[_Array]]],
      edges: Optional[_Array] = None) -> Tuple[_Array, Optional[_Array]]:
    """The next states of the nodes and edges of packed graphs.

    Of a hundred thousand nodes every array is too large for caches, and one
    wide product that is then split would be written and read once more. Each of
    these products is fused with what it is added to.

    Args:
      hidden: [1, N, F], the state of the nodes.
      context: From `prepare`.
      message: As in `chunks.pass_messages`.
      edges: [1, E, F'], the states of edges, if they have some.

    Returns:
      Both.
    """
    of_states, of_messages = (
        jnp.split(context['shared'][name], count, axis=1)
        for name, count in (('state_weights', 4), ('message_weights', 2)))
    apart = jax.lax.optimization_barrier  # XLA would join the products
    messages, edges = chunks.pass_messages(
        context['edge_list'], context['messages'],
        apart(hidden) @ of_states[0], apart(hidden) @ of_states[1], message,
        edges)
    add = lambda name, i: (context[name] + apart(hidden) @ of_states[2 + i]
                           + apart(messages) @ of_messages[i])
    return self._gated(hidden, add('update', 0), add('gate', 1)), edges

  def _update_nodes(self, hidden: _Array, update: _Array, gate: _Array,
                    messages: _Array, context: _Context) -> _Array:
    """The next state of the nodes, [B, N, F].

    Args:
      hidden: [B, N, F], their state.
      update: [B, N, F], what it contributes to its update.
      gate: [B, N, F], what it contributes to the gate.
      messages: [B, N, F], what its neighbours say.
      context: From `prepare`.

    Returns:
      The next state.
    """
    to_update, to_gate = jnp.split(
        messages @ context['shared']['message_weights'], 2, axis=-1)
    update = context['update'] + update + to_update
    if self._granola:
      update = self._granola(update, context['granola'], functools.partial(
          sum_of_neighbours, is_edge=context['is_edge'],
          edge_list=context.get('edge_list')))
    else:
      update = self._norm(update)
    gate = jax.nn.sigmoid(self._gate_out(jax.nn.relu(
        context['gate'] + gate + to_gate)))
    return update * gate + hidden * (1 - gate)

  def _gated(self, hidden: _Array, update: _Array, gate: _Array) -> _Array:
    """The next state, of all that contributes to the update and to the gate."""
    update = self._norm(update)
    gate = jax.nn.sigmoid(self._gate_out(jax.nn.relu(gate)))
    return update * gate + hidden * (1 - gate)

  def edges(self, hidden: State, context: _Context) -> Optional[_Array]:
    """Edge embeddings [B, N, N, F] from triplets (Dudzik and Velickovic)."""
    if not self._nb_triplet_fts:
      return None
    nodes = [
        constant + layer.state(hidden, self._out_size)
        for layer, constant in zip(self._triplet_nodes,
                                   context['triplet_nodes'])]
    edges = context['triplet_edges']
    triplets = (
        nodes[0][:, :, None, None] + nodes[1][:, None, :, None]
        + nodes[2][:, None, None, :]
        + edges[0][:, :, :, None] + edges[1][:, :, None, :]
        + edges[2][:, None, :, :]
        + context['triplet_graph'][:, None, None, None])  # [B, N, N, N, T]
    triplets = jnp.where(context['is_node'][:, :, None, None, None], triplets,
                         -clrs_private.BIG_NUMBER)
    return jax.nn.relu(self._triplet_out(jnp.max(triplets, axis=1)))


def _to_pairs(shape: Tuple[int, ...], edge_list: Optional[Connections]
              ) -> Callable[[_Array, _Array], _Array]:
  """How what receivers and senders contribute is added up, pair by pair."""
  if edge_list is None:  # [B, sender, receiver, F]
    return lambda receiver, sender: receiver[:, None] + sender[:, :, None]
  if isinstance(edge_list, edge_lists.Neighbours):  # [B, D, receiver, F]
    return lambda receiver, sender: (
        receiver[:, None] + jnp.take(sender, edge_list.senders, axis=1))
  def gather(values, indices):
    flat = jnp.reshape(values, (shape[0] * shape[1], -1))
    return flat.at[indices].get(mode='clip')
  return lambda receiver, sender: (
      gather(receiver, edge_list.receivers) + gather(sender, edge_list.senders))


def sum_of_neighbours(values: _Array, *, is_edge: _Array,
                      edge_list: Optional[Connections]) -> _Array:
  """[B, N, F], for every node the sum over those that send to it."""
  if edge_list is None:
    return jnp.einsum('bij,bif->bjf', is_edge.astype(values.dtype), values)
  if isinstance(edge_list, edge_lists.Neighbours):
    return jnp.sum(jnp.take(values, edge_list.senders, axis=1), axis=1)
  batch_size, nb_nodes, size = values.shape
  flat = jnp.reshape(values, (batch_size * nb_nodes, size))
  sent = flat.at[edge_list.senders].get(mode='clip')
  sums = jax.ops.segment_sum(sent, edge_list.receivers, len(flat) + 1,
                             indices_are_sorted=True)[:-1]
  return jnp.reshape(sums, values.shape)


def nb_neighbours(is_edge: _Array, edge_list: Optional[Connections]) -> _Array:
  """[B, N, 1], how many send to a node, and at least 1."""
  if isinstance(edge_list, edge_lists.Neighbours):
    counts = jnp.full(is_edge.shape[:1] + edge_list.senders.shape[1:],
                      len(edge_list.senders), jnp.float32)
  else:
    counts = jnp.sum(is_edge, axis=1, dtype=jnp.float32)
  return jnp.maximum(counts, 1)[..., None]


class ClrsStep(NodeStates):
  """Any processor of CLRS as a step. XLA hoists what does not change."""

  def __init__(self, processor: clrs_private.Processor):
    self._processor = processor
    self.module_name = processor.module_name
    self.inf_bias = processor.inf_bias
    self.inf_bias_edge = processor.inf_bias_edge

  def prepare(self, node_fts, edge_fts, graph_fts, adj_mat,
              edge_list=None, node_mask=None) -> _Context:
    del node_mask
    assert edge_list is None
    return dict(node_fts=node_fts, edge_fts=edge_fts, graph_fts=graph_fts,
                adj_mat=adj_mat)

  def step(self, hidden: _Array, context: _Context) -> _Array:
    return self._processor(hidden=hidden, **context)[0]

  def edges(self, hidden: _Array, context: _Context) -> Optional[_Array]:
    return self._processor(hidden=hidden, **context)[1]


def make_own(kind: str, out_size: int, settings: Mapping[str, Any]) -> Any:
  """Makes the step of a kind that was registered.

  Args:
    kind: Such as 'dear_mean'.
    out_size: Width of the states.
    settings: Those in `own_steps.SETTINGS`, of which it gets what it takes.

  Returns:
    The step.

  Raises:
    ValueError: if it is none, or could not be trained by CLRS's models.
  """
  own = own_steps.REGISTERED[kind]
  step = own.make(out_size, **{name: settings[name] for name in own.settings})
  if isinstance(step, clrs_private.Processor) and not hasattr(step, 'prepare'):
    step = ClrsStep(step)
  lacking = [name for name in _PARTS if not hasattr(step, name)]
  if lacking:
    raise ValueError(
        f'{own_steps.describe(own.make)}, which is registered for {kind}, '
        f'gives a {type(step).__name__} without {", ".join(lacking)}; a step '
        'is a steps.Step, or any processor of CLRS.')
  if clrs_private.PROCESSOR_TAG not in step.module_name:
    raise ValueError(
        f'The step of {kind} has the module name {step.module_name!r}; without '
        f'{clrs_private.PROCESSOR_TAG!r} in it nothing would train.')
  return step
