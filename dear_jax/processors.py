# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Processors: the paper's PGN and Triplet-MPNN, and any CLRS kind, at rest.

A *step* is what a neural algorithmic reasoner repeats. It comes in two parts:
`prepare` computes, once, all that does not change while the state does; `step`
maps a state to the next. `Equilibrium` is a CLRS processor that returns the
fixed point of a step instead of its next state.
"""

import functools
import inspect
import math
from typing import Any, Callable, NamedTuple, Optional, Tuple, Union

import chex
import clrs
from clrs._src import processors as clrs_processors
from dear_jax import diagnostics
from dear_jax import edge_lists
from dear_jax import implicit
from dear_jax import layers
from dear_jax import regularisers
from dear_jax import solvers
from dear_jax import subsets
import haiku as hk
import jax
import jax.numpy as jnp

_Array = chex.Array
_Context = chex.ArrayTree
_EdgeFeatures = Union[chex.Array, layers.LowRank]
ProcessorFactory = Callable[[int], 'Equilibrium']

# How each CLRS kind is rebuilt: from the kind that masks by the adjacency
# matrix, and a matrix. For CLRS, 'mpnn' is a 'pgn' on the full graph and
# 'deepsets' one on self-loops only; stated so, all kinds respect padding.
_CLRS_KINDS = {
    'deepsets': ('pgn', 'self'),
    'gat': ('gat', 'graph'),
    'gat_full': ('gat', 'full'),
    'gatv2': ('gatv2', 'graph'),
    'gatv2_full': ('gatv2', 'full'),
    'memnet_full': ('memnet_masked', 'full'),
    'memnet_masked': ('memnet_masked', 'graph'),
    'mpnn': ('pgn', 'full'),
    'pgn': ('pgn', 'graph'),
    'pgn_mask': ('pgn_mask', 'graph'),
    'triplet_mpnn': ('triplet_pgn', 'full'),
    'triplet_pgn': ('triplet_pgn', 'graph'),
    'triplet_pgn_mask': ('triplet_pgn_mask', 'graph'),
    'gpgn': ('gpgn', 'graph'),
    'gpgn_mask': ('gpgn_mask', 'graph'),
    'gmpnn': ('gpgn', 'full'),
    'triplet_gpgn': ('triplet_gpgn', 'graph'),
    'triplet_gpgn_mask': ('triplet_gpgn_mask', 'graph'),
    'triplet_gmpnn': ('triplet_gpgn', 'full'),
}
_PREFIX = 'dear_'
KINDS = tuple(_PREFIX + kind for kind in _CLRS_KINDS)


class PGN(clrs_processors.Processor):
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
               nb_triplet_fts: int = 0,
               name: str = 'pgn'):
    super().__init__(name=name)
    self._out_size = out_size
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
    self._norm = layers.layer_norm('norm') if use_ln else lambda x: x
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

  def prepare(self, node_fts: _Array, edge_fts: _EdgeFeatures,
              graph_fts: _Array, adj_mat: _Array,
              edge_list: Optional[edge_lists.EdgeList] = None) -> _Context:
    """Everything that a solve can share between its evaluations.

    Args:
      node_fts: [B, N, F].
      edge_fts: [B, N, N, F]; with an edge list, [E, F] as `layers.LowRank`.
      graph_fts: [B, F].
      adj_mat: [B, N, N].
      edge_list: The edges, if messages are to be computed on them only.

    Returns:
      What `step` and `edges` need.
    """
    size = self._out_size
    chex.assert_axis_dimension(node_fts, -1, size)  # as everywhere in CLRS
    to_pairs = _to_pairs(node_fts.shape, edge_list)
    of_edges = (self._edge(edge_fts) if edge_list is None
                else edge_fts.apply(self._edge))
    messages = of_edges + to_pairs(
        self._receiver.constant(node_fts, size)
        + self._graph(graph_fts)[:, None],
        self._sender.constant(node_fts, size))
    # One product of a matrix with several is faster than several products.
    dtype = node_fts.dtype
    of_states = [layer.state_weights(size, size, dtype) for layer in (
        self._receiver, self._sender, self._update_state, self._gate_state)]
    of_messages = [layer.parameters(size, dtype) for layer in (
        self._update_messages, self._gate_messages)]
    context = dict(
        shared=dict(
            state_weights=jnp.concatenate(of_states, axis=1),
            message_weights=jnp.concatenate(
                [w for w, _ in of_messages], axis=1)),
        messages=messages,
        update=self._update_state.constant(node_fts, size) + of_messages[0][1],
        gate=self._gate_state.constant(node_fts, size) + of_messages[1][1],
        is_edge=adj_mat > 0.5,
        edge_list=edge_list)
    if self._nb_triplet_fts:
      on_nodes = [x.constant(node_fts, size) for x in self._triplet_nodes]
      on_edges = [x(edge_fts) for x in self._triplet_edges]
      context.update(
          triplet_nodes=on_nodes,
          triplet_edges=on_edges,
          triplet_graph=self._triplet_graph(graph_fts),
          is_node=jnp.any(adj_mat > 0.5, axis=1))
    return context

  def step(self, hidden: _Array, context: _Context) -> _Array:
    """The next state of the nodes, [B, N, F]."""
    receiver, sender, update, gate = jnp.split(
        hidden @ context['shared']['state_weights'], 4, axis=-1)
    edge_list = context['edge_list']
    to_pairs = _to_pairs(hidden.shape, edge_list)
    messages = self._message_mlp(
        context['messages'] + to_pairs(receiver, sender))
    if edge_list is None:
      messages = layers.masked_max(messages, context['is_edge'])
    else:
      batch_size, nb_nodes, _ = hidden.shape
      messages = jnp.reshape(
          layers.segment_max(messages, edge_list.receivers,
                             batch_size * nb_nodes), hidden.shape)

    to_update, to_gate = jnp.split(
        messages @ context['shared']['message_weights'], 2, axis=-1)
    update = self._norm(context['update'] + update + to_update)
    gate = jax.nn.sigmoid(self._gate_out(jax.nn.relu(
        context['gate'] + gate + to_gate)))
    return update * gate + hidden * (1 - gate)

  def edges(self, hidden: _Array, context: _Context) -> Optional[_Array]:
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
                         -clrs_processors.BIG_NUMBER)
    return jax.nn.relu(self._triplet_out(jnp.max(triplets, axis=1)))

  def __call__(self, node_fts: _Array, edge_fts: _Array, graph_fts: _Array,
               adj_mat: _Array, hidden: _Array,
               **unused_kwargs) -> Tuple[_Array, Optional[_Array]]:
    """A single step, as any CLRS processor."""
    context = self.prepare(node_fts, edge_fts, graph_fts, adj_mat)
    return self.step(hidden, context), self.edges(hidden, context)


def _to_pairs(shape: Tuple[int, ...],
              edge_list: Optional[edge_lists.EdgeList]
              ) -> Callable[[_Array, _Array], _Array]:
  """How what receivers and senders contribute is added up, pair by pair."""
  if edge_list is None:  # [B, sender, receiver, F]
    return lambda receiver, sender: receiver[:, None] + sender[:, :, None]
  def gather(values, indices):
    flat = jnp.reshape(values, (shape[0] * shape[1], -1))
    return flat.at[indices].get(mode='clip')
  return lambda receiver, sender: (
      gather(receiver, edge_list.receivers) + gather(sender, edge_list.senders))


class ClrsStep:
  """Any processor of CLRS as a step. XLA hoists what does not change."""

  def __init__(self, processor: clrs_processors.Processor):
    self._processor = processor
    self.module_name = processor.module_name
    self.inf_bias = processor.inf_bias
    self.inf_bias_edge = processor.inf_bias_edge

  def prepare(self, node_fts, edge_fts, graph_fts, adj_mat,
              edge_list=None) -> _Context:
    assert edge_list is None
    return dict(node_fts=node_fts, edge_fts=edge_fts, graph_fts=graph_fts,
                adj_mat=adj_mat)

  def step(self, hidden: _Array, context: _Context) -> _Array:
    return self._processor(hidden=hidden, **context)[0]

  def edges(self, hidden: _Array, context: _Context) -> Optional[_Array]:
    return self._processor(hidden=hidden, **context)[1]


class EquilibriumResult(NamedTuple):
  """A solved batch, and the step that it is a fixed point of."""
  solution: solvers.Solution
  edges: Optional[_Array]  # [B, N, N, F]
  fun: Callable[..., _Array]  # fun(hidden, *args) -> hidden
  args: Tuple[Any, ...]

  def jacobian_penalty(self, key: chex.PRNGKey, fraction: float = 1.0
                       ) -> _Array:
    """Estimates `||J||_F^2 / size` at the solution.

    Args:
      key: Source of the random directions, and of the instances.
      fraction: The share of the batch to estimate it on. Its gradient is among
        the most expensive things in a training step, and an estimate on few
        instances is about as good.

    Returns:
      A scalar.
    """
    batch_size = len(self.solution.value)
    count = math.ceil(fraction * batch_size)
    key, choice_key = jax.random.split(key)
    if count == batch_size:
      return regularisers.jacobian_penalty(
          self.fun, self.solution.value, *self.args, key=key)
    instances, value, args = self._take(
        jax.random.permutation(choice_key, batch_size)[:count])
    return regularisers.jacobian_penalty(
        self.fun, value, *args, key=key, mask=instances < batch_size)

  def spectral_radius(self, key: chex.PRNGKey, count: int = 4) -> _Array:
    """The mean over some instances of the step's spectral radius."""
    batch_size = len(self.solution.value)
    count = min(count, batch_size)
    instances, value, args = self._take(jnp.arange(count))
    radius = diagnostics.spectral_radius(self.fun, value, *args, key=key)
    return jnp.mean(radius, where=instances < batch_size)

  def _take(self, instances: _Array) -> Tuple[_Array, _Array, Any]:
    """Some instances, as far as there is room, with their part of all else."""
    instances = subsets.without_overflow(
        self.args, jnp.sort(instances), len(self.solution.value))
    value = jnp.take(self.solution.value, instances, axis=0, mode='clip')
    return instances, value, subsets.Subsets().take(self.args, instances)


class Equilibrium(clrs_processors.Processor):
  """A CLRS processor that returns the fixed point of a step.

  It has no parameters of its own: those of its step are named as if the step
  were used directly.
  """

  def __init__(self,
               step,
               *,
               solver: solvers.SolverConfig,
               backward: Optional[solvers.SolverConfig],
               gradient: str,
               decay: float,
               bound: float,
               connectivity: str,
               name: str = 'equilibrium'):
    super().__init__(name=name)
    self._step = step
    self.solver = solver
    self._backward = backward
    self._gradient = gradient
    self._decay = decay
    self._bound = bound
    self._connectivity = connectivity

  @property
  def inf_bias(self):
    return self._step.inf_bias

  @property
  def inf_bias_edge(self):
    return self._step.inf_bias_edge

  def __call__(self, node_fts: _Array, edge_fts: _Array, graph_fts: _Array,
               adj_mat: _Array, hidden: _Array, *,
               node_mask: Optional[_Array] = None,
               **unused_kwargs) -> Tuple[_Array, Optional[_Array]]:
    """Solves from `hidden`; the rest is as in `clrs.models`."""
    result = self.solve(node_fts, edge_fts, graph_fts, adj_mat, hidden,
                        node_mask=node_mask)
    return result.solution.value, result.edges

  def solve(self, node_fts: _Array, edge_fts: _EdgeFeatures,
            graph_fts: _Array, adj_mat: _Array, hidden: _Array, *,
            node_mask: Optional[_Array] = None,
            noise: Optional[_Array] = None,
            solver: Optional[solvers.SolverConfig] = None,
            edge_list: Optional[edge_lists.EdgeList] = None,
            split: bool = True,
            backward_probe: Optional[_Array] = None) -> EquilibriumResult:
    """Solves `H = P(H, inputs)` (equation 4 of the paper).

    Args:
      node_fts: [B, N, F], encoded inputs.
      edge_fts: [B, N, N, F]; with an edge list, [E, F] as `layers.LowRank`.
      graph_fts: [B, F].
      adj_mat: [B, N, N], 1 where messages may pass, self-loops included.
      hidden: [B, N, F], where to start; the paper starts from 0.
      node_mask: [B, N], 0 at nodes that are padding. Their state is held at 0,
        so that they enter neither messages nor residuals.
      noise: [B, N, F], added to what every step returns. It is the same in all
        of them, since a step that changes has no fixed point.
      solver: In place of the processor's own forward solver.
      edge_list: The edges, to compute messages on them only. It takes the
        place of the adjacency matrix. Only factories with `takes_edge_lists`
        make processors that know it.
      split: Whether the last quarter of a batch is solved on its own.
      backward_probe: As in `dear_jax.fixed_point`.

    Returns:
      The solution, along with the step.
    """
    adj_mat = self._adjacency(adj_mat, node_mask)
    context = self._step.prepare(node_fts, edge_fts, graph_fts, adj_mat,
                                 edge_list)
    if hk.running_init():
      # One step makes all parameters; there is no need to compile a solver.
      hidden = self._step.step(hidden, context)
      solution = solvers.Solution(
          value=hidden,
          steps=jnp.ones(hidden.shape[:1], jnp.int32),
          residual=jnp.full(hidden.shape[:1], jnp.inf, hidden.dtype),
          converged=jnp.zeros(hidden.shape[:1], bool),
          evaluations=jnp.ones(()))
      return EquilibriumResult(
          solution=solution, edges=self._step.edges(hidden, context),
          fun=lambda hidden: hidden, args=())

    # Everything that is differentiated must be an explicit argument of the
    # solve, and Haiku's parameters are no exception.
    step = hk.without_apply_rng(hk.transform(self._step.step))

    def fun(hidden, params, context, node_mask, noise):
      hidden = step.apply(params, hidden, context)
      if noise is not None:
        hidden += noise
      return hidden if node_mask is None else hidden * node_mask[..., None]

    args = (self._step_params(), context, node_mask, noise)
    if node_mask is not None:
      hidden = hidden * node_mask[..., None]
    solution = implicit.fixed_point(
        fun, hidden, *args, forward=solver or self.solver,
        backward=self._backward, gradient=self._gradient, decay=self._decay,
        bound=self._bound,
        subsets=subsets.Subsets() if split else None,
        backward_probe=backward_probe)
    return EquilibriumResult(
        solution=solution, edges=self._step.edges(solution.value, context),
        fun=fun, args=args)

  def _adjacency(self, adj_mat, node_mask):
    if self._connectivity == 'full':
      adj_mat = jnp.ones_like(adj_mat)
    elif self._connectivity == 'self':
      adj_mat = jnp.broadcast_to(
          jnp.eye(adj_mat.shape[-1], dtype=adj_mat.dtype), adj_mat.shape)
    if node_mask is not None:
      adj_mat = adj_mat * node_mask[:, None, :] * node_mask[:, :, None]
    return adj_mat

  def _step_params(self) -> hk.Params:
    prefix = self._step.module_name
    return hk.data_structures.filter(
        lambda module, name, value: (  # pylint:disable=g-long-lambda
            module == prefix or module.startswith(prefix + '/')),
        hk.get_params())


def get_processor_factory(
    kind: str,
    use_ln: bool = True,
    nb_triplet_fts: int = 8,
    nb_heads: int = 1,
    *,
    solver: solvers.SolverConfig = solvers.SolverConfig(),
    backward: Optional[solvers.SolverConfig] = None,
    gradient: str = 'implicit',
    backward_decay: float = 1.0,
    backward_bound: float = math.inf,
    fully_connected: bool = False) -> ProcessorFactory:
  """Returns a factory of equilibrium processors, for any CLRS model.

  Args:
    kind: 'dear_pgn' and 'dear_triplet_mpnn' are the paper's processors. Every
      other 'dear_<kind>' wraps the processor that CLRS calls `kind`, just as
      CLRS configures it. Of these the gated ones start with a gate bias of -3,
      at which a tolerance of 0.1 is easily met without an equilibrium.
    use_ln: Whether the step ends with a layer norm (before its gate).
    nb_triplet_fts: How many triplet features to compute, for triplet kinds.
    nb_heads: Number of attention heads, for the GAT kinds.
    solver: The forward solver.
    backward: The solver of the implicit gradient; by default as the forward
      one, with a tenth of the tolerance.
    gradient: 'implicit', 'one_step' or 'unrolled'.
    backward_decay: `decay` of `dear_jax.fixed_point`.
    backward_bound: `bound` of `dear_jax.fixed_point`.
    fully_connected: Whether messages pass between all nodes, whatever the
      adjacency matrix. `DEARModel` does this by itself on tasks without a
      graph; in CLRS's own models ask for it there, since without hints their
      adjacency matrix of an array holds little more than self-loops.

  Returns:
    A callable from the hidden size to a processor.

  Raises:
    ValueError: If the kind or the gradient mode is unknown, or a number out of
      range.
  """
  _check_kind(kind, KINDS)
  implicit.check_gradient(gradient, backward_decay, backward_bound)
  name = kind[len(_PREFIX):]
  base, connectivity = _CLRS_KINDS[name]
  if name in ('pgn', 'triplet_mpnn'):
    connectivity = 'graph'
  if fully_connected:
    connectivity = 'full'

  def factory(out_size: int) -> Equilibrium:
    if name == 'pgn':
      step = PGN(out_size, use_ln=use_ln)
    elif name == 'triplet_mpnn':
      step = PGN(out_size, use_ln=use_ln, nb_triplet_fts=nb_triplet_fts,
                 name='triplet_mpnn')
    else:
      step = ClrsStep(_CLRS_FACTORY(
          base, use_ln=use_ln, nb_triplet_fts=nb_triplet_fts,
          nb_heads=nb_heads)(out_size))
    return Equilibrium(step, solver=solver, backward=backward,
                       gradient=gradient, decay=backward_decay,
                       bound=backward_bound, connectivity=connectivity)

  factory.takes_edge_lists = name == 'pgn' and not fully_connected
  return factory


def _check_kind(kind: str, known: Tuple[str, ...]) -> None:
  if kind not in known:
    raise ValueError(f'Unknown processor kind {kind!r}; the known ones are '
                     f'{", ".join(sorted(known))}.')


# CLRS's own function, also while `register` has put ours in its place.
_CLRS_FACTORY = inspect.unwrap(clrs_processors.get_processor_factory)


@functools.wraps(_CLRS_FACTORY)
def _registered_factory(kind: str, *args, **kwargs):
  """CLRS's `get_processor_factory`, which also takes the 'dear_*' kinds."""
  _check_kind(kind, KINDS + tuple(_CLRS_KINDS))
  if kind in KINDS:
    return get_processor_factory(kind, *args, **kwargs)
  return _CLRS_FACTORY(kind, *args, **kwargs)


def register() -> None:
  """Makes `clrs.get_processor_factory` take the 'dear_*' kinds as well."""
  for module in (clrs, clrs_processors):
    module.get_processor_factory = _registered_factory


def unregister() -> None:
  """Takes back `register`."""
  for module in (clrs, clrs_processors):
    module.get_processor_factory = _CLRS_FACTORY
