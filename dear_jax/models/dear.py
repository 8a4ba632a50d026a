# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""DEARModel, which solves."""

import dataclasses
import functools
from typing import Any, Callable, List, NamedTuple, Optional, Tuple, Union

import clrs
from dear_jax.fixed_points import implicit
from dear_jax.fixed_points import solvers
from dear_jax.models import alignment
from dear_jax.models import base_model
from dear_jax.models import batches
from dear_jax.models import confidences
from dear_jax.models import contrast
from dear_jax.models import nar
from dear_jax.models import packed
from dear_jax.models import parts
from dear_jax.networks import nets
from dear_jax.networks import packed_nets
from dear_jax.networks import pointers
from dear_jax.networks import processors
import jax
import jax.numpy as jnp
import numpy as np

_Array = jax.Array

class DEARModel(base_model.ReasonerModel):
  """Deep equilibrium algorithmic reasoner, wherever a `BaselineModel` was.

  Reads inputs and outputs only: hints and their lengths are dropped before
  anything is compiled. After each `feedback`, `metrics` has the losses and how
  the solver fared.
  """

  def __init__(self,
               spec: Union[clrs.Spec, List[clrs.Spec]],
               dummy_trajectory: Union[List[clrs.Feedback], clrs.Feedback],
               processor_factory: processors.ProcessorFactory,
               hidden_dim: int = 32,
               encode_hints: bool = False,
               decode_hints: bool = True,
               encoder_init: str = 'default',
               use_lstm: bool = False,
               learning_rate: float = 0.005,
               grad_clip_max_norm: float = 0.0,
               checkpoint_path: str = '/tmp/clrs3',
               freeze_processor: bool = False,
               dropout_prob: float = 0.0,
               hint_teacher_forcing: float = 0.0,
               hint_repred_mode: str = 'soft',
               name: str = 'dear_model',
               nb_msg_passing_steps: int = 1,
               debug: bool = False,
               *,
               jacobian_weight: float = 1e-4,
               jacobian_fraction: float = 0.25,
               residual_weight: float = 0.0,
               wanted_steps: float = 0.0,
               eval_iterations: int = 4,
               eval_iterations_per_node: int = 2,
               noise_stddev: float = 0.0,
               restrict_pointers: pointers.Rule = None,
               edge_pointers: str = 'clrs',
               scalars: str = 'linear',
               self_loops: bool = True,
               layout: str = 'auto',
               pad_to: Optional[int] = None,
               average: bool = False,
               stochastic_depth: bool = False,
               teacher: Optional[nar.NARModel] = None,
               align_weight: float = 0.01,
               contrastive_weight: float = 0.0):
    """Constructs the model; the arguments are those of `BaselineModel`.

    What concerns hints is accepted and has no effect.

    Args:
      spec: As in CLRS, like all that is not mentioned here.
      dummy_trajectory: As in CLRS.
      processor_factory: From `dear_jax.get_processor_factory`.
      hidden_dim: As in CLRS.
      encode_hints: No effect.
      decode_hints: No effect.
      encoder_init: As in CLRS.
      use_lstm: Must be False, since there is no sequence of steps.
      learning_rate: As in CLRS.
      grad_clip_max_norm: As in CLRS.
      checkpoint_path: As in CLRS.
      freeze_processor: As in CLRS.
      dropout_prob: Dropout on the equilibrium before it is decoded.
      hint_teacher_forcing: No effect.
      hint_repred_mode: No effect.
      name: As in CLRS.
      nb_msg_passing_steps: Must be 1; a fixed point needs no repetition.
      debug: Whether `predict` also returns the equilibrium.
      jacobian_weight: Weight of the Jacobian penalty; 0 leaves it out.
      jacobian_fraction: The share of a batch that it is estimated on, drawn
        anew for every step.
      residual_weight: Weight of the residual penalty: how much one more step
        would change. It keeps the equilibrium within reach of the solver.
      wanted_steps: How many steps a solve may take before its residual counts,
        and the more so the more it takes; with 0 all residuals count alike.
      eval_iterations: How many times as many solver iterations `predict` may
        take at least.
      eval_iterations_per_node: How many it may take at least for every node of
        a graph: news travels by one edge an iteration.
      noise_stddev: Standard deviation of noise on the processor's output, in
        training only. The paper's code has 0.001, in evaluation too, and draws
        it anew for every evaluation of the processor; here it is drawn once a
        solve, so that there is a fixed point.
      restrict_pointers: Whether to choose pointers among edges and self-loops
        only. None does so on the tasks where the solution always allows it.
      edge_pointers: Decoder of the pointers of pairs of nodes: that of CLRS
        ('clrs'), or one that sees all pairs of three nodes ('triplet').
      scalars: How numbers are encoded: each by a 'linear' layer, as in CLRS, or
        with their 'differences', also of edges ('relative'), or like these two
        with edges in a unit of their graph ('units' and 'relative_units').
      self_loops: Whether the network sees which nodes have an edge to
        themselves. They change no answer, unless every pair of nodes has one;
        then they are seen.
      layout: 'dense' computes messages between all pairs of nodes, 'sparse' on
        lists of edges, and 'auto' chooses: lists for tasks with a graph and
        processors that know them, unless most pairs are edges or there are few
        pairs; on accelerators for large sparse graphs only. Lists of other
        lengths are compiled for anew.
      pad_to: In training on lists of edges, give all graphs this many nodes, so
        that several sizes share their programs; messages cost nothing more.
      average: Whether to keep the average of the parameters over training, to
        be used within `averaged()`.
      stochastic_depth: Whether to take a random number of further steps from
        the equilibrium in training, s of them with a probability of 0.5^s.
      teacher: A trained model of the same algorithms and width. In training the
        states of the solve are drawn to those of the teacher, which is told how
        many steps the algorithm took.
      align_weight: Weight of the distance to the teacher's states.
      contrastive_weight: Weight of `contrast.contrastive_loss`. Training
        batches are then those of `twins.TwinSampler`, and the task is trained
        on the samples alone.
    """
    del encode_hints, decode_hints, hint_teacher_forcing, hint_repred_mode
    if use_lstm:
      raise ValueError('use_lstm=True needs a sequence of steps, which an '
                       'equilibrium model does not have.')
    if nb_msg_passing_steps != 1:
      raise ValueError('nb_msg_passing_steps must be 1 in an equilibrium '
                       f'model, got {nb_msg_passing_steps}.')
    for setting, value in (('jacobian_weight', jacobian_weight),
                           ('residual_weight', residual_weight),
                           ('wanted_steps', wanted_steps),
                           ('eval_iterations_per_node',
                            eval_iterations_per_node),
                           ('noise_stddev', noise_stddev),
                           ('align_weight', align_weight),
                           ('contrastive_weight', contrastive_weight)):
      if value < 0:
        raise ValueError(f'{setting} must not be negative, got {value}.')
    if not 0 < jacobian_fraction <= 1:
      raise ValueError('jacobian_fraction must be more than 0 and at most 1, '
                       f'got {jacobian_fraction}.')
    if eval_iterations < 1:
      raise ValueError(
          f'eval_iterations must be at least 1, got {eval_iterations}.')
    self._jacobian_weight = jacobian_weight
    self._residual_weight = residual_weight
    self._wanted_steps = wanted_steps
    self._jacobian_fraction = jacobian_fraction
    self._eval_iterations = eval_iterations
    self._eval_iterations_per_node = eval_iterations_per_node
    self._noise_stddev = noise_stddev
    self._stochastic_depth = stochastic_depth
    self._teacher = teacher
    self._align_weight = align_weight
    self._contrastive_weight = contrastive_weight
    self._factory: Any = processor_factory
    self._hidden_dim = hidden_dim
    super().__init__(
        spec=spec, dummy_trajectory=dummy_trajectory,
        processor_factory=processor_factory, hidden_dim=hidden_dim,
        encoder_init=encoder_init, learning_rate=learning_rate,
        grad_clip_max_norm=grad_clip_max_norm,
        checkpoint_path=checkpoint_path, freeze_processor=freeze_processor,
        dropout_prob=dropout_prob, name=name, debug=debug,
        restrict_pointers=restrict_pointers, edge_pointers=edge_pointers,
        scalars=scalars, self_loops=self_loops, layout=layout, pad_to=pad_to,
        average=average)

  @property
  def teacher(self) -> Optional[nar.NARModel]:
    return self._teacher

  def _make_net(self, **kwargs):
    return nets.EquilibriumNet(
        eval_iterations=self._eval_iterations,
        eval_iterations_per_node=self._eval_iterations_per_node,
        noise_stddev=self._noise_stddev,
        jacobian_fraction=self._jacobian_fraction,
        stochastic_depth=self._stochastic_depth, **kwargs)

  @functools.cached_property
  def packed(self) -> packed.PackedAnswers:
    """How it answers for graphs of any sizes, without matrices."""
    return packed.PackedAnswers(
        self._spec, lambda: packed_nets.PackedNet(**self._net_settings),
        rule=self._coding['restrict_pointers'],
        processor_factory=self._factory, limit=self._limit,
        where=self._devices, width=self._hidden_dim,
        self_loops=self._self_loops, in_own_units=self._own_units)

  def _limit(self, nb_nodes: int) -> int:
    """The most iterations of an evaluation."""
    return nets.evaluation_limit(
        self._factory.solver.max_iter, nb_nodes, times=self._eval_iterations,
        per_node=self._eval_iterations_per_node)

  def _create_net_fns(self, *args, **kwargs):
    super()._create_net_fns(*args, **kwargs)
    self.jitted_iterates = jax.jit(self._evaluate_iterates, static_argnums=3,
                                   **self._devices.for_results)

  def evaluate_iterates(self, rng_key: _Array, feedback: clrs.Feedback,
                        algorithm_index: Optional[int] = None):
    """As `evaluate_instances`, at every iteration of the solver.

    Args:
      rng_key, algorithm_index: As in `predict`.
      feedback: The batch.

    Returns:
      The predictions [max_iter, B, ...], and arrays [B] as there with the
      `residuals` [max_iter, B]. Rows are valid where they are less than `steps`
      of the instance.
    """
    index = self._index(algorithm_index)
    return self.jitted_iterates(
        self._device_params, rng_key,
        self._batch(feedback.features, feedback.outputs, index), index)

  def inspect(self, rng_key: _Array, feedback: clrs.Feedback,
              look: Callable[[processors.EquilibriumResult, _Array], Any],
              algorithm_index: Optional[int] = None) -> Any:
    """Looks at the equilibrium of a batch more closely.

    Args:
      rng_key, algorithm_index: As in `predict`.
      feedback: The batch.
      look: Called with the equilibrium and the gradient of the task loss with
        respect to it, [B, N, F]. It is compiled, and may return any arrays.

    Returns:
      What `look` returned.
    """
    index = self._index(algorithm_index)

    def run(params, batch):
      apply = functools.partial(
          self.net_fn.apply, params, rng_key, [batch.inputs], repred=True,
          algorithm_index=index, edge_list=batch.edge_list)
      loss = lambda shift: base_model.task_loss(
          batch.outputs, apply(shift=shift).output_preds)
      result = apply().equilibrium
      return look(result, jax.grad(loss)(jnp.zeros_like(result.nodes)))

    return jax.jit(run)(self._device_params, self._batch(
        feedback.features, feedback.outputs, index))

  def _batch(self, features, outputs, index, training=False):
    # pylint: disable=protected-access
    batch = super()._batch(features, outputs, index, training)
    teacher = self._teacher
    if not training or teacher is None or (
        (teacher._own_units, teacher._self_loops)
        == (self._own_units, self._self_loops)):
      return batch
    # Its states mean nothing for inputs unlike those that it was trained on.
    # The edges are the same whatever is told of them, and so is their list.
    inputs = batches.pad(teacher._inputs(features, index),
                         batches.size_of(batch.inputs))
    return batch._replace(
        teacher_inputs=self._devices.split(inputs, is_part=True))

  def _steps(self, features: clrs.Features, training: bool):
    if self._teacher is None or not training:
      return None, None  # a solve has no use for them
    steps = nar.true_steps(features)
    return steps, nar.slots(self._devices.largest(steps.max()))

  def _extra(self) -> '_Extra':
    return _Extra(
        jacobian_weight=np.float32(self._jacobian_weight),
        residual_weight=np.float32(self._residual_weight),
        wanted_steps=np.float32(self._wanted_steps),
        align_weight=np.float32(self._align_weight),
        teacher_params=self._teacher and self._teacher.device_params,
        contrastive_weight=(np.float32(self._contrastive_weight)
                            if self._contrastive_weight else None))

  def _loss(self, params, backward_probe, rng_key, batch, extra, index):
    net_output = self.net_fn.apply(
        params, rng_key, [batch.inputs], repred=False, algorithm_index=index,
        with_penalty=self._jacobian_weight > 0, edge_list=batch.edge_list,
        node_mask=batch.node_mask, backward_probe=backward_probe,
        return_trajectory=self._teacher is not None)
    outputs, preds = batches.without_failed(
        batch.outputs, net_output.output_preds, net_output.solution.failed)
    if self._contrastive_weight:
      outputs, preds = contrast.originals((outputs, preds))
    task_loss = base_model.task_loss(outputs, preds, batch.node_mask)
    penalty = net_output.jacobian_penalty
    loss = task_loss + extra.jacobian_weight * penalty
    metrics = dict(task_loss=task_loss, jacobian_penalty=penalty,
                   **_solver_metrics(net_output.solution))
    if self._residual_weight > 0:
      residual_penalty = net_output.equilibrium.residual_penalty(
          extra.wanted_steps)
      loss += extra.residual_weight * residual_penalty
      metrics['residual_penalty'] = residual_penalty
    if self._teacher is not None:
      distance = self._alignment_loss(net_output.equilibrium, batch, extra,
                                      index, jax.random.fold_in(rng_key, 1))
      loss += extra.align_weight * distance
      metrics['alignment_loss'] = distance
    if self._contrastive_weight:
      contrastive_loss = contrast.contrastive_loss(
          net_output.equilibrium.nodes, net_output.solution.failed)
      loss += extra.contrastive_weight * contrastive_loss
      metrics['contrastive_loss'] = contrastive_loss
    return loss, dict(metrics, loss=loss)

  def _alignment_loss(self, equilibrium, batch, extra, index, key) -> _Array:
    """The mean distance of the states of the solve from the teacher's."""
    assert self._teacher is not None
    teacher_key, key = jax.random.split(key)
    inputs = (batch.inputs if batch.teacher_inputs is None
              else batch.teacher_inputs)
    taught = self._teacher.net_fn.apply(
        extra.teacher_params, teacher_key, [inputs], repred=True,
        algorithm_index=index, steps=batch.steps, slots=batch.slots,
        edge_list=batch.edge_list, node_mask=batch.node_mask, with_states=True)
    return alignment.mean_alignment_loss(
        equilibrium, taught.states, batch.steps, key=key,
        node_mask=batch.node_mask)

  def _compute_grad(self, params, rng_key, batch, extra, algorithm_index):
    batch_size = batch.inputs[0].data.shape[0]
    probe = jnp.zeros((batch_size, len(implicit.BackwardReport._fields)))
    (grads, report), metrics = jax.grad(
        self._loss, argnums=(0, 1), has_aux=True)(
            params, probe, rng_key, batch, extra, algorithm_index)
    report = implicit.BackwardReport(*jnp.moveaxis(report, -1, 0))
    metrics.update(gradient_norm=base_model.norm(grads),
                   backward_steps_mean=jnp.mean(report.steps),
                   backward_steps_max=jnp.max(report.steps),
                   backward_residual=jnp.mean(report.residual),
                   backward_converged=jnp.mean(report.converged))
    return grads, metrics

  def _evaluate(self, params, rng_key, batch, algorithm_index,
                with_spectral_radius=False, with_confidence=False):
    net_output = self.net_fn.apply(
        params, rng_key, [batch.inputs], repred=True, with_gradient=False,
        algorithm_index=algorithm_index, edge_list=batch.edge_list,
        node_mask=batch.node_mask, with_spectral_radius=with_spectral_radius,
        pause_at=batch.pause_at, resume=batch.resume)
    metrics = dict(
        task_loss=base_model.task_loss(batch.outputs, net_output.output_preds),
        **_solver_metrics(net_output.solution))
    if with_spectral_radius:
      metrics['spectral_radius'] = net_output.spectral_radius
    solution = net_output.solution
    instances = dict(steps=solution.steps, residual=solution.residual,
                     converged=solution.converged)
    if batch.resume is not None:
      instances['paused'] = net_output.equilibrium.paused
    if with_confidence:
      instances.update(confidences.confidences(
          self._spec[algorithm_index], net_output.output_preds,
          batch.node_mask))
    return (self._postprocess(net_output.output_preds, algorithm_index),
            metrics, instances, net_output.equilibrium.nodes)

  def _answer(self, rng_key, batch, index, nb_nodes, watch, compile_only):
    """In parts, if the form of a solve's state is known beforehand."""
    state_shapes = getattr(self._factory, 'state_shapes', None)
    if state_shapes is None:
      return super()._answer(rng_key, batch, index, nb_nodes, watch,
                             compile_only)
    limit = self._limit
    batch_size, padded = (len(batch.inputs[0].data),
                          batches.size_of(batch.inputs))
    nb_messages = (batch_size * padded**2 if batch.edge_list is None
                   else len(batch.edge_list.pairs))
    blank = _blank_state(
        state_shapes, (batch_size, padded, nb_messages // batch_size,
                       self._hidden_dim),
        dataclasses.replace(self._factory.solver, max_iter=limit(padded)))

    def call(state, pause_at):
      state, pause_at = self._devices.replicate((state, pause_at))
      preds, instances = super(DEARModel, self)._answer(
          rng_key, batch._replace(resume=state, pause_at=pause_at), index,
          nb_nodes, None, compile_only)
      return (preds, instances), instances.pop('paused')

    return parts.run(call, blank, limit=0 if compile_only else limit(nb_nodes),
                     operations=4 * nb_messages * self._hidden_dim**2,
                     watch=watch)

  def _evaluate_iterates(self, params, rng_key, batch, algorithm_index):
    net_output = self.net_fn.apply(
        params, rng_key, [batch.inputs], repred=True, with_gradient=False,
        algorithm_index=algorithm_index, edge_list=batch.edge_list,
        return_trajectory=True, decode_iterates=True)
    solution = net_output.solution
    postprocess = lambda preds: self._postprocess(preds, algorithm_index)
    return jax.vmap(postprocess)(net_output.iterate_preds), dict(
        steps=solution.steps, residual=solution.residual,
        converged=solution.converged, residuals=solution.residuals)


@functools.lru_cache(maxsize=32)
def _blank_state(state_shapes: Callable[..., Any], sizes: Tuple[int, ...],
                 config: solvers.SolverConfig):
  return solvers.blank_state(state_shapes(*sizes), config)


class _Extra(NamedTuple):
  """Arguments, so that any value of them has one program."""
  jacobian_weight: Union[_Array, np.float32]
  residual_weight: Union[_Array, np.float32]
  wanted_steps: Union[_Array, np.float32]
  align_weight: Union[_Array, np.float32]
  teacher_params: Any
  contrastive_weight: Any = None  # None adds no argument to a program


def _solver_metrics(solution: solvers.Solution) -> base_model.Metrics:
  return dict(
      solver_steps_mean=jnp.mean(solution.steps.astype(jnp.float32)),
      solver_steps_max=jnp.max(solution.steps),
      evaluations=solution.evaluations,
      residual=jnp.mean(solution.residual),
      converged=jnp.mean(solution.converged.astype(jnp.float32)),
      failed=jnp.mean(solution.failed.astype(jnp.float32)))
