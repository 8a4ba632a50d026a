# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""DEARModel: a CLRS `BaselineModel` that solves instead of unrolling."""

import functools
from typing import Any, Callable, List, Optional, Union

import chex
import clrs
from dear_jax import base_model
from dear_jax import implicit
from dear_jax import nets
from dear_jax import processors
from dear_jax import solvers
import jax
import jax.numpy as jnp
import numpy as np

_Array = chex.Array

LAYOUTS = base_model.LAYOUTS


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
               eval_iterations: int = 4,
               noise_stddev: float = 0.0,
               restrict_pointers: Optional[bool] = None,
               layout: str = 'auto',
               pad_to: Optional[int] = None,
               average: bool = False):
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
      eval_iterations: How many times as many solver iterations `predict` may
        take.
      noise_stddev: Standard deviation of noise on the processor's output, in
        training only. The paper's code has 0.001, in evaluation too, and draws
        it anew for every evaluation of the processor; here it is drawn once a
        solve, so that there is a fixed point.
      restrict_pointers: Whether to choose pointers among edges and self-loops
        only. None does so on the tasks where the solution always allows it.
      layout: 'dense' computes messages between all pairs of nodes, 'sparse' on
        lists of edges, and 'auto' chooses: lists on a single CPU for tasks with
        a graph and processors that know them, unless most pairs are edges or
        there are few pairs. Lists of other lengths are compiled for anew.
      pad_to: In training on lists of edges, give all graphs this many nodes, so
        that several sizes share their programs; messages cost nothing more.
      average: Whether to keep the average of the parameters over training, to
        be used within `averaged()`.
    """
    del encode_hints, decode_hints, hint_teacher_forcing, hint_repred_mode
    if use_lstm:
      raise ValueError('use_lstm=True needs a sequence of steps, which an '
                       'equilibrium model does not have.')
    if nb_msg_passing_steps != 1:
      raise ValueError('nb_msg_passing_steps must be 1 in an equilibrium '
                       f'model, got {nb_msg_passing_steps}.')
    for name, value in (('jacobian_weight', jacobian_weight),
                        ('noise_stddev', noise_stddev)):
      if value < 0:
        raise ValueError(f'{name} must not be negative, got {value}.')
    if not 0 < jacobian_fraction <= 1:
      raise ValueError('jacobian_fraction must be more than 0 and at most 1, '
                       f'got {jacobian_fraction}.')
    if eval_iterations < 1:
      raise ValueError(
          f'eval_iterations must be at least 1, got {eval_iterations}.')
    self._jacobian_weight = jacobian_weight
    self._jacobian_fraction = jacobian_fraction
    self._eval_iterations = eval_iterations
    self._noise_stddev = noise_stddev
    super().__init__(
        spec=spec, dummy_trajectory=dummy_trajectory,
        processor_factory=processor_factory, hidden_dim=hidden_dim,
        encoder_init=encoder_init, learning_rate=learning_rate,
        grad_clip_max_norm=grad_clip_max_norm,
        checkpoint_path=checkpoint_path, freeze_processor=freeze_processor,
        dropout_prob=dropout_prob, name=name, debug=debug,
        restrict_pointers=restrict_pointers, layout=layout, pad_to=pad_to,
        average=average)

  def _make_net(self, **kwargs):
    return nets.EquilibriumNet(
        eval_iterations=self._eval_iterations,
        noise_stddev=self._noise_stddev,
        jacobian_fraction=self._jacobian_fraction,
        split=self._devices.are_one, **kwargs)

  def inspect(self, rng_key: _Array, feedback: clrs.Feedback,
              look: Callable[[processors.EquilibriumResult, _Array], Any],
              algorithm_index: Optional[int] = None) -> Any:
    """Looks at the equilibrium of a batch more closely.

    Args:
      rng_key: As in `predict`.
      feedback: The batch.
      look: Called with the equilibrium and the gradient of the task loss with
        respect to it, [B, N, F]. It is compiled, and may return any arrays.
      algorithm_index: As in `predict`.

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

  def _extra(self) -> _Array:
    # An argument, so that any value of it has one program.
    return np.float32(self._jacobian_weight)

  def _loss(self, params, backward_probe, rng_key, batch, extra, index):
    net_output = self.net_fn.apply(
        params, rng_key, [batch.inputs], repred=False, algorithm_index=index,
        with_penalty=self._jacobian_weight > 0, edge_list=batch.edge_list,
        node_mask=batch.node_mask, backward_probe=backward_probe)
    task_loss = base_model.task_loss(batch.outputs, net_output.output_preds,
                                     batch.node_mask)
    penalty = net_output.jacobian_penalty
    loss = task_loss + extra * penalty
    metrics = dict(loss=loss, task_loss=task_loss, jacobian_penalty=penalty,
                   **_solver_metrics(net_output.solution))
    return loss, metrics

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
                with_spectral_radius=False):
    net_output = self.net_fn.apply(
        params, rng_key, [batch.inputs], repred=True,
        algorithm_index=algorithm_index, edge_list=batch.edge_list,
        with_spectral_radius=with_spectral_radius)
    metrics = dict(
        task_loss=base_model.task_loss(batch.outputs, net_output.output_preds),
        **_solver_metrics(net_output.solution))
    if with_spectral_radius:
      metrics['spectral_radius'] = net_output.spectral_radius
    return (self._postprocess(net_output.output_preds, algorithm_index),
            metrics, net_output.equilibrium.nodes)


def _solver_metrics(solution: solvers.Solution) -> base_model.Metrics:
  return dict(
      solver_steps_mean=jnp.mean(solution.steps.astype(jnp.float32)),
      solver_steps_max=jnp.max(solution.steps),
      evaluations=solution.evaluations,
      residual=jnp.mean(solution.residual),
      converged=jnp.mean(solution.converged.astype(jnp.float32)))
