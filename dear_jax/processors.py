# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Processors: the paper's PGN and Triplet-MPNN, and any CLRS kind, at rest.

A *step* (see steps.py) is what a neural algorithmic reasoner repeats.
`Equilibrium` is a CLRS processor that returns the fixed point of a step instead
of its next state.
"""

import functools
import inspect
import math
from typing import Any, Callable, NamedTuple, Optional, Tuple

import chex
import clrs
from clrs._src import processors as clrs_processors
from dear_jax import cayley_step
from dear_jax import diagnostics
from dear_jax import edge_lists
from dear_jax import implicit
from dear_jax import regularisers
from dear_jax import solvers
from dear_jax import steps
from dear_jax import subsets
import haiku as hk
import jax
import jax.numpy as jnp

_Array = chex.Array
_State = chex.ArrayTree
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
_OWN_KINDS = ('dear_pgn', 'dear_triplet_mpnn')

PGN = steps.PGN


class Problem(NamedTuple):
  """A batch of inputs, ready to be solved or unrolled."""
  start: _State
  fun: Callable[..., _State]  # fun(state, *args) -> state
  args: Tuple[Any, ...]
  nodes: Callable[[_State], _Array]  # the states of the nodes, [B, N, F]
  edges: Callable[[_State], Optional[_Array]]  # for the decoders, [B, N, N, F]


class EquilibriumResult(NamedTuple):
  """A solved batch, and the step that it is a fixed point of."""
  solution: solvers.Solution
  nodes: _Array  # [B, N, F]
  edges: Optional[_Array]  # [B, N, N, F]
  fun: Callable[..., _State]  # fun(state, *args) -> state
  args: Tuple[Any, ...]
  of_nodes: Callable[[_State], _Array]  # gets their part out of any state
  of_edges: Callable[[_State], Optional[_Array]]  # as `edges`, of any state

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
    batch_size = len(self.nodes)
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
    batch_size = len(self.nodes)
    count = min(count, batch_size)
    instances, value, args = self._take(jnp.arange(count))
    radius = diagnostics.spectral_radius(self.fun, value, *args, key=key)
    return jnp.mean(radius, where=instances < batch_size)

  def _take(self, instances: _Array) -> Tuple[_Array, _State, Any]:
    """Some instances, as far as there is room, with their part of all else."""
    instances = subsets.without_overflow(
        self.args, jnp.sort(instances), len(self.nodes))
    value = jax.tree_util.tree_map(
        lambda x: jnp.take(x, instances, axis=0, mode='clip'),
        self.solution.value)
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
  def has_virtual_nodes(self):
    return self._step.has_virtual_nodes

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
    return result.nodes, result.edges

  def solve(self, node_fts: _Array, edge_fts: steps.EdgeFeatures,
            graph_fts: _Array, adj_mat: _Array, hidden: _Array, *,
            node_mask: Optional[_Array] = None,
            noise: Optional[_Array] = None,
            solver: Optional[solvers.SolverConfig] = None,
            edge_list: Optional[edge_lists.EdgeList] = None,
            split: bool = True,
            backward_probe: Optional[_Array] = None,
            return_trajectory: bool = False) -> EquilibriumResult:
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
      return_trajectory: As there.

    Returns:
      The solution, along with the step.
    """
    problem = self.problem(node_fts, edge_fts, graph_fts, adj_mat, hidden,
                           node_mask=node_mask, noise=noise,
                           edge_list=edge_list)
    if hk.running_init():
      # One step made all parameters; there is no need to compile a solver.
      batch = hidden.shape[:1]
      solution = solvers.Solution(
          value=problem.start,
          steps=jnp.ones(batch, jnp.int32),
          residual=jnp.full(batch, jnp.inf, hidden.dtype),
          converged=jnp.zeros(batch, bool),
          evaluations=jnp.ones(()))
    else:
      solution = implicit.fixed_point(
          problem.fun, problem.start, *problem.args,
          forward=solver or self.solver, backward=self._backward,
          gradient=self._gradient, decay=self._decay, bound=self._bound,
          subsets=subsets.Subsets() if split else None,
          backward_probe=backward_probe, return_trajectory=return_trajectory)
    return EquilibriumResult(
        solution=solution, nodes=problem.nodes(solution.value),
        edges=problem.edges(solution.value), fun=problem.fun,
        args=problem.args, of_nodes=problem.nodes, of_edges=problem.edges)

  def problem(self, node_fts: _Array, edge_fts: steps.EdgeFeatures,
              graph_fts: _Array, adj_mat: _Array, hidden: _Array, *,
              node_mask: Optional[_Array] = None,
              noise: Optional[_Array] = None,
              edge_list: Optional[edge_lists.EdgeList] = None) -> Problem:
    """Prepares the step for a batch; the arguments are those of `solve`."""
    adj_mat = self._adjacency(adj_mat, node_mask)
    context = self._step.prepare(node_fts, edge_fts, graph_fts, adj_mat,
                                 edge_list, node_mask)
    if node_mask is not None:
      hidden = hidden * node_mask[..., None]
    start = self._step.start(hidden)
    if hk.running_init():
      edges = lambda state: self._step.edges(state, context)
      start = self._step.step(start, context)
      return Problem(start, lambda state: state, (), self._step.nodes, edges)

    # Everything that is differentiated must be an explicit argument of the
    # solve, and Haiku's parameters are no exception.
    params = self._step_params()
    step = hk.without_apply_rng(hk.transform(self._step.step))
    edges = hk.without_apply_rng(hk.transform(self._step.edges))

    def fun(state, params, context, node_mask, noise):
      state = step.apply(params, state, context)
      if noise is not None:
        state = jax.tree_util.tree_map(jnp.add, state, noise)
      return state if node_mask is None else state * node_mask[..., None]

    if self.has_virtual_nodes:
      node_mask = None  # the step itself sees to it
      if noise is not None:
        noise = self._step.start(noise)
    return Problem(start, fun, (params, context, node_mask, noise),
                   self._step.nodes,
                   lambda state: edges.apply(params, state, context))

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
    fully_connected: bool = False,
    norm: str = 'layer',
    cgp: bool = False) -> ProcessorFactory:
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
    norm: What the step ends with if `use_ln`: a 'layer' norm, or 'granola' for
      the paper's two processors.
    cgp: Whether every step is followed by one on a Cayley graph, for tasks with
      a graph.

  Returns:
    A callable from the hidden size to a processor.

  Raises:
    ValueError: If the kind or the gradient mode is unknown, or a number out of
      range.
  """
  _check_kind(kind, KINDS)
  implicit.check_gradient(gradient, backward_decay, backward_bound)
  name = kind[len(_PREFIX):]
  check_norm(norm, kind, use_ln)
  base, connectivity = _CLRS_KINDS[name]
  if name in ('pgn', 'triplet_mpnn'):
    connectivity = 'graph'
  if fully_connected:
    connectivity = 'full'

  def factory(out_size: int) -> Equilibrium:
    if name == 'pgn':
      step = PGN(out_size, use_ln=use_ln, norm=norm)
    elif name == 'triplet_mpnn':
      step = PGN(out_size, use_ln=use_ln, norm=norm,
                 nb_triplet_fts=nb_triplet_fts, name='triplet_mpnn')
    else:
      step = steps.ClrsStep(_CLRS_FACTORY(
          base, use_ln=use_ln, nb_triplet_fts=nb_triplet_fts,
          nb_heads=nb_heads)(out_size))
    if cgp:
      step = cayley_step.CayleyStep(step)
    return Equilibrium(step, solver=solver, backward=backward,
                       gradient=gradient, decay=backward_decay,
                       bound=backward_bound, connectivity=connectivity)

  factory.cgp = cgp
  factory.takes_edge_lists = name == 'pgn' and not fully_connected
  return factory


def check_norm(norm: str, kind: str, use_ln: bool) -> None:
  """Raises a ValueError unless the processor can end with this norm."""
  if norm not in steps.NORMS:
    raise ValueError(
        f'norm must be one of {", ".join(steps.NORMS)}, got {norm!r}.')
  if norm == 'layer':
    return
  if kind not in _OWN_KINDS:
    raise ValueError(f'norm={norm!r} is for the processors '
                     f'{" and ".join(_OWN_KINDS)}, not for {kind!r}.')
  if not use_ln:
    raise ValueError(f'norm={norm!r} and use_ln=False contradict each other.')


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
