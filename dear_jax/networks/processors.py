# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Processors: the paper's PGN and Triplet-MPNN, and any CLRS kind, at rest.

A *step* (see steps.py) is what a neural algorithmic reasoner repeats.
`Equilibrium` is a CLRS processor that returns the fixed point of a step instead
of its next state.
"""

import inspect
from typing import Any, Callable, NamedTuple, Optional, Tuple

from dear_jax.fixed_points import implicit
from dear_jax.fixed_points import iterations
from dear_jax.fixed_points import solvers
from dear_jax.networks import cayley_step
from dear_jax.networks import clrs_private
from dear_jax.networks import edge_lists
from dear_jax.networks import edge_states
from dear_jax.networks import gradients
from dear_jax.networks import hosts
from dear_jax.networks import kinds
from dear_jax.networks import own_steps
from dear_jax.networks import shards as shards_lib
from dear_jax.networks import solved
from dear_jax.networks import steps
from dear_jax.networks import subsets
import haiku as hk
import jax
import jax.numpy as jnp

_Array = jax.Array
_State = Any
ProcessorFactory = Callable[[int], 'Equilibrium']

PREFIX = kinds.PREFIX
KINDS = kinds.KINDS
known_kinds = kinds.known_kinds

CONNECTIVITIES = ('graph', 'full', 'self')

PGN = steps.PGN
EquilibriumResult = solved.EquilibriumResult

# CLRS's own function, also while `register` has put ours in its place.
_CLRS_FACTORY = inspect.unwrap(clrs_private.get_processor_factory)


class Problem(NamedTuple):
  """A batch of inputs, ready to be solved or unrolled."""
  start: _State
  fun: Callable[..., _State]  # fun(state, *args) -> state
  fun_of_device: Callable[..., _State]  # the same, of a device's instances
  args: Tuple[Any, ...]
  nodes: Callable[[_State], _Array]  # the states of the nodes, [B, N, F]
  edges: Callable[[_State], Optional[_Array]]  # for the decoders, [B, N, N, F]
  share: Optional[_Array] = None  # as in `EquilibriumResult`


class Part(NamedTuple):
  """A part of a solve, as `solvers.solve_up_to` has it."""
  limit: Optional[_Array] = None  # []
  state: Optional[iterations.State] = None


class Equilibrium(clrs_private.Processor):
  """A CLRS processor that returns the fixed point of a step.

  It has no parameters of its own: those of its step are named as if the step
  were used directly.

  Within a net of CLRS it is solved once a batch, however many hints there are;
  see `hosts`.
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
    """Constructs the processor.

    Args:
      step: What is repeated, see steps.py.
      solver: The forward solver.
      backward: As in `dear_jax.fixed_point`, like the three that follow.
      gradient: As there, so not 'damped'.
      decay: As there.
      bound: As there.
      connectivity: Where messages may pass: 'graph' is the adjacency matrix,
        'full' all pairs of nodes, 'self' none. 'auto' is 'full' where a net of
        CLRS has a task without a graph, and otherwise 'graph'.
      name: Name of the module.
    """
    super().__init__(name=name)
    self._host = hosts.find()
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
    """Solves from zeros; the rest is as in `clrs.models`.

    CLRS's nets pass what the last call returned. An equilibrium must not depend
    on how often it was asked for, so nothing but the shape of it is used.

    Args:
      node_fts: As in `solve`, like all that is not mentioned here.
      edge_fts: As there.
      graph_fts: As there.
      adj_mat: As there.
      hidden: [B, N, F], ignored.
      node_mask: As there.

    Returns:
      The states of nodes and, if the step has some, of edges.
    """
    if (self._connectivity == 'auto' and self._host is not None
        and not self._host.has_graph):
      adj_mat = jnp.ones_like(adj_mat)
    result = self.solve(node_fts, edge_fts, graph_fts, adj_mat,
                        jnp.zeros_like(hidden), node_mask=node_mask)
    return result.nodes, result.edges

  def solve(self, node_fts: _Array, edge_fts: steps.EdgeFeatures,
            graph_fts: _Array, adj_mat: _Array, hidden: _Array, *,
            node_mask: Optional[_Array] = None,
            noise: Optional[_Array] = None,
            solver: Optional[solvers.SolverConfig] = None,
            edge_list: Optional[edge_lists.EdgeList] = None,
            split: bool = True,
            backward_probe: Optional[_Array] = None,
            return_trajectory: bool = False,
            part: Optional[Part] = None,
            shards: Optional[shards_lib.Shards] = None) -> EquilibriumResult:
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
      part: Where to begin and where to pause. A solve with it has no gradient,
        and takes nothing from the settings of gradients.
      shards: How the batch is split over devices, if it is. Each of them ends
        when its own instances are settled.

    Returns:
      The solution, along with the step.
    """
    problem = self.problem(node_fts, edge_fts, graph_fts, adj_mat, hidden,
                           node_mask=node_mask, noise=noise,
                           edge_list=edge_list, shards=shards)
    paused = None

    def solve(start, args, probe):
      return implicit.fixed_point(
          problem.fun_of_device, start, *args,
          forward=solver or self.solver, backward=self._backward,
          gradient=self._gradient, decay=self._decay, bound=self._bound,
          subsets=subsets.Subsets(), split=split, backward_probe=probe,
          return_trajectory=return_trajectory)

    def solve_part(start, args, limit, state):
      return solvers.solve_up_to(
          problem.fun_of_device, start, *args, config=solver or self.solver,
          limit=limit, state=state,
          subsets=subsets.Subsets() if split else None,
          return_trajectory=return_trajectory)

    if hk.running_init():
      batch = hidden.shape[:1]  # one step made all parameters; nothing to solve
      solution = solvers.Solution(
          value=problem.start,
          steps=jnp.ones(batch, jnp.int32),
          residual=jnp.full(batch, jnp.inf, hidden.dtype),
          converged=jnp.zeros(batch, bool),
          failed=jnp.zeros(batch, bool),
          evaluations=jnp.ones(()))
    elif part is not None:
      problem_part = (problem.start, problem.args, part.limit, part.state)
      solution, paused = (
          solve_part(*problem_part) if shards is None
          else shards.solve_part(solve_part, *problem_part))
    else:
      whole = (problem.start, problem.args, backward_probe)
      solution = (solve(*whole) if shards is None
                  else shards.solve(solve, *whole))
    return EquilibriumResult(
        solution=solution, nodes=problem.nodes(solution.value),
        edges=problem.edges(solution.value), fun=problem.fun,
        args=problem.args, of_nodes=problem.nodes, of_edges=problem.edges,
        share=problem.share, paused=paused, shards=shards)

  def problem(self, node_fts: _Array, edge_fts: steps.EdgeFeatures,
              graph_fts: _Array, adj_mat: _Array, hidden: _Array, *,
              node_mask: Optional[_Array] = None,
              noise: Optional[_Array] = None,
              edge_list: Optional[steps.Connections] = None,
              shards: Optional[shards_lib.Shards] = None) -> Problem:
    """Prepares the step for a batch; the arguments are those of `solve`."""
    adj_mat = self._adjacency(adj_mat, node_mask)
    inputs = (node_fts, edge_fts, graph_fts, adj_mat, edge_list, node_mask)
    if edge_list is None:
      shards = None  # there is nothing that would have to stay on a device
    context = (self._step.prepare(*inputs) if shards is None
               else self._prepare_on(shards, *inputs))
    if node_mask is not None:
      hidden = hidden * node_mask[..., None]
    start = self._step.start_in(hidden, context)
    if hk.running_init():
      edges = lambda state: self._step.edges(state, context)
      start = self._step.step(start, context)
      rest = lambda state: state
      return Problem(start, rest, rest, (), self._step.nodes, edges)

    # Everything that is differentiated must be an explicit argument of the
    # solve, and Haiku's parameters are no exception.
    params = self._step_params()
    step: Any = hk.without_apply_rng(hk.transform(self._step.step))
    of_edges: Any = hk.without_apply_rng(hk.transform(self._step.edges))

    def fun(state, params, context, node_mask, noise):
      state = step.apply(params, state, context)
      if noise is not None:
        state = jax.tree_util.tree_map(jnp.add, state, noise)
      return state if node_mask is None else state * node_mask[..., None]

    share = None
    if hasattr(self._step, 'share_of_entries'):
      share = self._step.share_of_entries(start, context)
    elif node_mask is not None and not self.has_virtual_nodes:
      share = jnp.mean(node_mask)
    if self.has_virtual_nodes:
      node_mask = None  # the step itself sees to it
      if noise is not None:
        noise = jax.tree_util.tree_map(
            jnp.subtract, self._step.start_in(noise, context),
            self._step.start_in(jnp.zeros_like(noise), context))
    args = (params, context, node_mask, noise)
    edges = lambda state, params, context, *unused: of_edges.apply(
        params, state, context)
    on = (lambda x: x) if shards is None else shards.fun
    return Problem(start, on(fun), fun, args, self._step.nodes,
                   lambda state: on(edges)(state, *args), share)

  def _prepare_on(self, shards: shards_lib.Shards, *inputs) -> Any:
    """What the step prepares, by every device for its own instances."""
    prepare: Any = hk.transform(self._step.prepare)
    key = (hk.next_rng_key() if getattr(self._step, 'draws', True)
           else jax.random.PRNGKey(0))
    return shards.prepare(prepare.apply, self._step_params(), key, *inputs)

  def _adjacency(self, adj_mat, node_mask):
    if adj_mat is None:
      return None  # the edges are listed elsewhere
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
    gradient: str = 'damped',
    backward_decay: Optional[float] = None,
    backward_bound: Optional[float] = None,
    fully_connected: Optional[bool] = None,
    norm: str = 'layer',
    cgp: bool = False) -> ProcessorFactory:
  """Returns a factory of equilibrium processors, for any CLRS model.

  Args:
    kind: 'dear_pgn' and 'dear_triplet_mpnn' are the paper's processors, and
      'dear_pgn_edges' has states on edges, too (`edge_states`). Every other
      'dear_<kind>' wraps the processor that CLRS calls `kind`, just as CLRS
      configures it, or is a step of your own (`dear_jax.register_step`).
      Of those of CLRS the gated ones start with a gate bias of -3, at which a
      tolerance of 0.1 is easily met without an equilibrium.
    use_ln: Whether the step ends with a layer norm (before its gate).
    nb_triplet_fts: How many triplet features to compute, for triplet kinds.
    nb_heads: Number of attention heads, for the GAT kinds.
    solver: The forward solver.
    backward: The solver of the linear system of a damped or implicit gradient.
      By default as the forward one, with a tenth of the tolerance; the damped
      gradient takes at most `gradients.MAX_ITER` steps.
    gradient: 'damped', 'implicit' (to the letter), 'one_step' or 'unrolled';
      docs/implicit.md tells which to choose.
    backward_decay: `decay` of `dear_jax.fixed_point`, a setting of the damped
      gradient; None is `gradients.DECAY`.
    backward_bound: `bound` of `dear_jax.fixed_point`, a setting of the damped
      gradient; None is `gradients.BOUND`.
    fully_connected: Whether messages pass between all nodes, whatever the
      adjacency matrix. None does so on tasks without a graph, in the models of
      CLRS and of this library. A processor that is called on its own then goes
      by the matrix that it is given.
    norm: What the step ends with if `use_ln`: a 'layer' norm, or 'granola' for
      the paper's two processors.
    cgp: Whether every step is followed by one on a Cayley graph, for tasks with
      a graph.

  Returns:
    A callable from the hidden size to a processor.

  Raises:
    ValueError: If the kind or the gradient is unknown, a number out of range,
      or decay or bound are given to another gradient than the damped one.
  """
  if kind not in known_kinds():
    raise ValueError(f'Unknown processor kind {kind!r}; the known ones are '
                     f'{", ".join(sorted(known_kinds()))}. {own_steps.REMEDY}')
  backward_pass = gradients.options(
      gradient, solver, backward=backward, decay=backward_decay,
      bound=backward_bound)
  name = kind[len(PREFIX):]
  kinds.check_norm(norm, kind, use_ln)
  kinds.check_cgp(cgp, kind)
  own = kinds.registered.get(kind)
  base, connectivity = (
      (None, own.connectivity) if own
      else kinds.CLRS_KINDS.get(name, (None, 'graph')))
  if name in ('pgn', 'triplet_mpnn'):
    connectivity = 'graph'
  if fully_connected:
    connectivity = 'full'
  elif fully_connected is None and connectivity == 'graph':
    connectivity = 'auto'

  def factory(out_size: int) -> Equilibrium:
    step: Any
    if name == 'pgn':
      step = PGN(out_size, use_ln=use_ln, norm=norm)
    elif name == 'triplet_mpnn':
      step = PGN(out_size, use_ln=use_ln, norm=norm,
                 nb_triplet_fts=nb_triplet_fts, name='triplet_mpnn')
    elif kind in edge_states.STEPS:
      step = edge_states.STEPS[kind](out_size, use_ln=use_ln)
    elif own:
      step = steps.make_own(kind, out_size, dict(
          use_ln=use_ln, norm=norm, nb_triplet_fts=nb_triplet_fts,
          nb_heads=nb_heads))
    else:
      step = steps.ClrsStep(_CLRS_FACTORY(
          base, use_ln=use_ln, nb_triplet_fts=nb_triplet_fts,
          nb_heads=nb_heads)(out_size))
    if cgp and step.has_virtual_nodes:
      raise ValueError('cgp is for steps without virtual nodes, and '
                       f'{kind} has some.')
    if cgp:
      step = cayley_step.CayleyStep(step)
    return Equilibrium(step, solver=solver, connectivity=connectivity,
                       **backward_pass)

  # Models read what a factory makes from its attributes.
  vars(factory).update(
      cgp=cgp, has_edge_states=kind == kinds.PGN_EDGES, takes_edge_lists=(
          kinds.takes_edge_lists(kind) and not fully_connected),
      takes_chunks=(kind in ('dear_pgn', kinds.PGN_EDGES) and norm == 'layer'
                    and not cgp and not fully_connected),
      ignores_padding=kinds.ignores_padding(kind, norm),
      is_cubic='triplet' in kind or kind == kinds.EDGE, solver=solver,
      # What the state of a solve looks like is known without making one.
      state_shapes=None if cgp or own else (
          edge_states.state_shapes if kind in edge_states.STEPS
          else steps.state_shapes))
  return factory
