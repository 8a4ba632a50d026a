# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Encode once, solve or unroll, decode once."""

import dataclasses
import functools
from typing import Any, Dict, NamedTuple, Optional, Sequence, Tuple

import clrs
from dear_jax.fixed_points import per_instance
from dear_jax.fixed_points import solvers
from dear_jax.networks import coding
from dear_jax.networks import edge_lists
from dear_jax.networks import processors
from dear_jax.networks import shards as shards_lib
import haiku as hk
import jax
import jax.numpy as jnp

_Array = jax.Array

# Stochastic depth is cut off here; more is drawn once in 256 batches.
_MAX_EXTRA_STEPS = 8

# Reasoners that learn when to stop are stopped after this many steps a node.
_MAX_STEPS_PER_NODE = 16

can_be_padded = coding.can_be_padded
has_graph = coding.has_graph
takes_edge_lists = coding.takes_edge_lists


class NetOutput(NamedTuple):
  """What an equilibrium net says of one batch."""
  output_preds: Dict[str, _Array]  # raw decoder outputs
  solution: solvers.Solution  # of the states
  jacobian_penalty: _Array  # [], zero unless asked for
  spectral_radius: Optional[_Array]  # [], if asked for
  equilibrium: processors.EquilibriumResult  # where the solution is from
  # The decoder outputs of every iterate, [max_iter, B, ...], if asked for.
  iterate_preds: Optional[Dict[str, _Array]] = None


class Request(NamedTuple):
  """What is asked of an equilibrium net, besides its inputs.

  Attributes:
    repred: False in training, True in evaluation.
    with_penalty: Whether to estimate the Jacobian penalty.
    edge_list: The edges of the graphs, if pairs without one are to be left
      out; see `takes_edge_lists`.
    node_mask: [B, N], 0 at nodes that are padding.
    backward_probe: As in `dear_jax.fixed_point`.
    with_spectral_radius: Whether to estimate it.
    shift: [B, N, F], added to the equilibrium before it is decoded. The
      gradient with respect to it is what the backward solve starts from.
    return_trajectory: As in `dear_jax.fixed_point`.
    decode_iterates: Whether to decode every state of the trajectory, which
      has to be asked for.
    with_gradient: Whether the solve has a gradient. In evaluation, limits go by
      the nodes of `node_mask` only without one.
    pause_at: [], after how many evaluations in all to pause such a solve.
    resume: From where to go on with it: `paused` of an earlier equilibrium.
  """
  repred: bool
  with_penalty: bool = False
  edge_list: Optional[edge_lists.EdgeList] = None
  node_mask: Optional[_Array] = None
  backward_probe: Optional[_Array] = None
  with_spectral_radius: bool = False
  shift: Optional[_Array] = None
  return_trajectory: bool = False
  decode_iterates: bool = False
  with_gradient: bool = True
  pause_at: Optional[_Array] = None
  resume: Optional[Any] = None


class EquilibriumNet(coding.CodingNet):
  """A net whose message passing is one solve; it answers with a `NetOutput`."""

  request_type = Request

  def __init__(self,
               *args,
               eval_iterations: int,
               eval_iterations_per_node: int = 0,
               noise_stddev: float,
               jacobian_fraction: float = 1.0,
               stochastic_depth: bool = False,
               **kwargs):
    """Constructs the net.

    Args:
      *args: Of `CodingNet`.
      eval_iterations: How many times as many iterations a solve may take at
        evaluation.
      eval_iterations_per_node: How many it may take there at least for every
        node.
      noise_stddev: Standard deviation of the noise on the processor's output,
        in training.
      jacobian_fraction: The share of a batch that the Jacobian penalty is
        estimated on.
      stochastic_depth: Whether to go on for a few steps from the equilibrium,
        in training.
      **kwargs: Of `CodingNet`.
    """
    super().__init__(*args, **kwargs)
    self._eval_limit = functools.partial(
        evaluation_limit, times=eval_iterations,
        per_node=eval_iterations_per_node)
    self._noise_stddev = noise_stddev
    self._jacobian_fraction = jacobian_fraction
    self._stochastic_depth = stochastic_depth

  def _process(self, inputs: Sequence[clrs.DataPoint], index: int,
               asked: Request) -> NetOutput:
    inputs, is_sound = coding.without_nonsense(inputs)
    encoded = self.encode(inputs, index, asked.edge_list)
    solver, part = self.equilibrium.solver, None
    if asked.repred:
      solver, part = self._part(asked, solver, encoded.node_fts.shape[1])
    noise = None
    if not asked.repred and self._noise_stddev:
      noise = self._noise_stddev * jax.random.normal(
          hk.next_rng_key(), encoded.node_fts.shape, encoded.node_fts.dtype)
    result = self.equilibrium.solve(
        *encoded, jnp.zeros_like(encoded.node_fts), node_mask=asked.node_mask,
        noise=noise, solver=solver, edge_list=asked.edge_list,
        backward_probe=asked.backward_probe,
        return_trajectory=asked.return_trajectory, part=part,
        shards=shards_lib.for_batch(self._mesh, len(encoded.node_fts)))
    result = result.without(~is_sound)
    hidden, edges = result.nodes, result.edges
    if self._stochastic_depth and not asked.repred:
      state = _extra_steps(result, hk.next_rng_key())
      hidden, edges = result.of_nodes(state), result.of_edges(state)
    if asked.shift is not None:
      hidden += asked.shift
    decode = functools.partial(
        self.decode, inputs, index, encoded, edge_list=asked.edge_list,
        node_mask=asked.node_mask, repred=asked.repred)
    output_preds = decode(hidden, edges)
    iterate_preds = None
    if asked.decode_iterates:
      iterate_preds = _decode_iterates(decode, result, output_preds)
    penalty = jnp.zeros((), hidden.dtype)
    if asked.with_penalty:
      penalty = result.jacobian_penalty(hk.next_rng_key(),
                                        self._jacobian_fraction)
      if result.share is not None:
        penalty /= result.share  # it is a mean over what there is
    radius = None
    if asked.with_spectral_radius:
      radius = result.spectral_radius(hk.next_rng_key())
    return NetOutput(
        output_preds=output_preds, solution=result.solution,
        jacobian_penalty=penalty, spectral_radius=radius, equilibrium=result,
        iterate_preds=iterate_preds)

  def _part(self, asked: Request, solver: solvers.SolverConfig,
            nb_nodes: int) -> Tuple[Any, Optional[processors.Part]]:
    """The solver of an evaluation, and how far it is to go.

    Args:
      asked: What is asked of the net.
      solver: That of training.
      nb_nodes: The size of the graphs, nodes that are padding included.

    Returns:
      Both. Nodes that are padding do not make the limit higher.
    """
    limits = [] if asked.pause_at is None else [asked.pause_at]
    if asked.node_mask is not None:
      limits.append(self._eval_limit(
          solver.max_iter, nb_nodes=count_nodes(asked.node_mask)))
    limit = functools.reduce(jnp.minimum, limits) if limits else None
    return dataclasses.replace(solver, max_iter=self._eval_limit(
        solver.max_iter, nb_nodes=nb_nodes)), (
            None if asked.with_gradient else processors.Part(
                limit=limit, state=asked.resume))


def count_nodes(node_mask: _Array) -> _Array:
  """[], how many nodes the largest graph of a batch has."""
  return jnp.max(jnp.sum(node_mask > 0.5, axis=1))


def evaluation_limit(max_iter: int, nb_nodes: Any, times: int = 4,
                     per_node: int = 2) -> Any:
  """The most iterations of a solve that nothing is learnt from.

  News travels by one edge an iteration, so that a graph may need as many as it
  has nodes.

  Args:
    max_iter: The limit in training.
    nb_nodes: The size of the graph; a number, or an array [].
    times: How many times that limit there are at least.
    per_node: How many there are at least for every node.

  Returns:
    The limit.
  """
  largest = max if isinstance(nb_nodes, int) else jnp.maximum
  return largest(times * max_iter, per_node * nb_nodes)


def _decode_iterates(decode, result: processors.EquilibriumResult,
                     like: Dict[str, _Array]) -> Dict[str, _Array]:
  """Decodes the states of a solve, one after the other.

  Args:
    decode: Maps states of nodes and of edges to outputs.
    result: A solve with its trajectory.
    like: Outputs of the same shapes.

  Returns:
    The outputs [max_iter, B, ...], zeros after the last step of the batch.
  """
  most = jnp.max(result.solution.steps)

  def decode_one(row):
    number, state = row
    # A limit is seldom met, so that most rows are empty.
    return hk.cond(
        number < most,
        lambda x: decode(result.of_nodes(x), result.of_edges(x)),
        lambda x: jax.tree_util.tree_map(jnp.zeros_like, like), state)

  trajectory, residuals = (result.solution.trajectory,
                           result.solution.residuals)
  assert residuals is not None
  return hk.map(decode_one, (jnp.arange(len(residuals)), trajectory))


def _extra_steps(result: processors.EquilibriumResult, key: jax.Array
                 ) -> Any:
  """Takes s more steps from the equilibrium, with a probability of 0.5^s.

  Section 'Alignment' of the paper. One number for the whole batch, which is at
  least 1.

  Args:
    result: The equilibrium.
    key: Source of the number.

  Returns:
    The last state. That of an instance that failed is the equilibrium itself.
  """
  count = number_of_extra_steps(key)
  sound = result.for_more_steps()

  def step(state, i):
    # Of the two branches only one is run.
    return jax.lax.cond(i < count, lambda x: sound.fun(x, *sound.args),
                        lambda x: x, state), None

  state = jax.lax.scan(step, sound.solution.value,
                       jnp.arange(_MAX_EXTRA_STEPS))[0]
  # If all of them failed, they went on with their own arguments.
  return per_instance.where(result.solution.failed, result.solution.value,
                            state)


def number_of_extra_steps(key: jax.Array) -> _Array:
  """Draws s with a probability of 0.5^s."""
  draw = jax.random.uniform(key, minval=jnp.finfo(jnp.float32).tiny)
  return jnp.clip(jnp.ceil(-jnp.log2(draw)), 1, _MAX_EXTRA_STEPS)


class UnrolledOutput(NamedTuple):
  """What an unrolled net says of one batch."""
  output_preds: Dict[str, _Array]  # raw decoder outputs
  hidden: _Array  # [B, N, F], the last states
  steps: _Array  # [B], how many were taken
  termination_loss: _Array  # [], zero unless it learns to stop
  states: Optional[_Array]  # [S, B, N, F], of every step, if asked for


class UnrolledRequest(NamedTuple):
  """What is asked of an unrolled net, besides its inputs.

  Attributes:
    repred: False in training, True in evaluation.
    steps: [B], how many steps to take; None lets the net decide, which it can
      in evaluation only.
    slots: [S], with S at least the largest number of steps. If given, the
      steps can be differentiated through; memory grows with S.
    edge_list, node_mask: As in `Request`.
    with_states: Whether to return the states of all slots.
  """
  repred: bool
  steps: Optional[_Array] = None
  slots: Optional[_Array] = None
  edge_list: Optional[edge_lists.EdgeList] = None
  node_mask: Optional[_Array] = None
  with_states: bool = False


class TerminatingNet(coding.CodingNet):
  """A net that repeats its step: the paper's baseline, without hints.

  In training it takes as many steps as the algorithm did. Its parameters have
  the names of an `EquilibriumNet`'s, so that one can go on from the other. It
  answers with an `UnrolledOutput`.
  """

  request_type = UnrolledRequest

  def __init__(self, *args, learns_to_stop: bool, **kwargs):
    """Constructs the net.

    Args:
      *args: Of `CodingNet`.
      learns_to_stop: Whether it has a network that decides when to stop, from
        the maximum over all nodes of their states (Velickovic et al., 2020).
      **kwargs: Of `CodingNet`.
    """
    super().__init__(*args, **kwargs)
    self._learns_to_stop = learns_to_stop

  def _process(self, inputs: Sequence[clrs.DataPoint], index: int,
               asked: UnrolledRequest) -> UnrolledOutput:
    edge_list, node_mask = asked.edge_list, asked.node_mask
    encoded = self.encode(inputs, index, edge_list)
    problem = self.equilibrium.problem(
        *encoded, jnp.zeros_like(encoded.node_fts), node_mask=node_mask,
        edge_list=edge_list,
        shards=shards_lib.for_batch(self._mesh, len(encoded.node_fts)))
    stop = self._termination(index) if self._learns_to_stop else None
    loss, states = jnp.zeros(()), None
    if hk.running_init():
      state, steps = problem.start, jnp.ones(len(encoded.node_fts))
      if stop:
        stop(_pool(problem.nodes(state), None))
    elif asked.slots is not None:
      assert asked.steps is not None
      steps = asked.steps
      state, pooled, states = _unroll(problem, steps, asked.slots, node_mask,
                                      asked.with_states)
      if stop:
        loss = _termination_loss(stop(pooled), steps)
    else:
      state, steps = _unroll_until(problem, asked.steps, stop, node_mask)
    hidden = problem.nodes(state)
    return UnrolledOutput(
        output_preds=self.decode(
            inputs, index, encoded, hidden, problem.edges(state),
            edge_list=edge_list, node_mask=node_mask, repred=asked.repred),
        hidden=hidden, steps=steps, termination_loss=loss, states=states)

  def _termination(self, index: int):
    """Maps pooled states [..., F] to logits [...] of stopping."""
    layers = [hk.Linear(self.hidden_dim, name=f'algo_{index}_stop_hidden'),
              hk.Linear(1, name=f'algo_{index}_stop')]
    return lambda x: jnp.squeeze(layers[1](jax.nn.relu(layers[0](x))), -1)


def _pool(nodes: _Array, node_mask: Optional[_Array]) -> _Array:
  """[B, F], the maximum over nodes."""
  if node_mask is not None:
    nodes = jnp.where(node_mask[..., None] > 0.5, nodes, -jnp.inf)
  return jnp.max(nodes, axis=1)


def _unroll(problem: processors.Problem, steps: _Array, slots: _Array,
            node_mask: Optional[_Array], with_states: bool):
  """Takes given numbers of steps, differentiably.

  Args:
    problem: What to unroll.
    steps: [B].
    slots: [S], from 0 on.
    node_mask: [B, N].
    with_states: Whether to keep the states of all steps.

  Returns:
    The last state, the maxima over nodes [S, B, F] and the states of the nodes
    [S, B, N, F] after every step.
  """
  most = jnp.max(steps)

  # Only states are kept for the backward pass; what a step computes on edges is
  # computed again. It would be gigabytes otherwise.
  @jax.checkpoint
  def step(state, slot):
    new = jax.lax.cond(slot < most,
                       lambda x: problem.fun(x, *problem.args),
                       lambda x: x, state)
    state = per_instance.where(slot < steps, new, state)
    nodes = problem.nodes(state)
    return state, (_pool(nodes, node_mask), nodes if with_states else None)

  state, (pooled, states) = jax.lax.scan(step, problem.start, slots)
  return state, pooled, states


def _unroll_until(problem: processors.Problem, steps: Optional[_Array], stop,
                  node_mask: Optional[_Array]):
  """Takes steps until all instances are done, without a gradient.

  Args:
    problem: What to unroll.
    steps: [B], or None to ask `stop`.
    stop: Maps pooled states [B, F] to logits [B] of stopping.
    node_mask: [B, N], 0 at nodes that are padding.

  Returns:
    The last state, and how many steps were taken, [B].
  """
  nodes = problem.nodes(problem.start)
  batch_size, nb_nodes, _ = nodes.shape
  if steps is None:
    assert stop is not None
    most = nb_nodes if node_mask is None else count_nodes(node_mask)
    limit = jnp.full(batch_size, _MAX_STEPS_PER_NODE * most)
  else:
    limit = steps

  def advance(carry):
    state, taken, done = carry
    state = per_instance.where(~done, problem.fun(state, *problem.args), state)
    taken += ~done
    done |= taken >= limit
    if steps is None:
      done |= stop(_pool(problem.nodes(state), node_mask)) > 0
    return state, taken, done

  state, taken, _ = hk.while_loop(
      lambda carry: ~jnp.all(carry[2]), advance,
      (problem.start, jnp.zeros(batch_size, jnp.int32), limit < 1))
  return state, taken


def _termination_loss(logits: _Array, steps: _Array) -> _Array:
  """Binary cross-entropy of stopping after the last step and at no other.

  Args:
    logits: [S, B], after every step.
    steps: [B], how many there are.

  Returns:
    The mean over the steps of every instance, then over instances.
  """
  number = jnp.arange(1, len(logits) + 1)[:, None]
  is_last = number == steps
  loss = jax.nn.softplus(jnp.where(is_last, -logits, logits))
  is_step = number <= steps
  return jnp.mean(jnp.sum(jnp.where(is_step, loss, 0), axis=0) / steps)
