# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""What all models here have in common: data, programs, optimiser steps."""

import contextlib
import functools
import re
from typing import Any, Dict, Iterable, List, Optional, Tuple, Union

import clrs
from dear_jax.models import averaging
from dear_jax.models import batches
from dear_jax.models import confidences
from dear_jax.models import devices
from dear_jax.models import layouts
from dear_jax.models import parts
from dear_jax.models import programs
from dear_jax.networks import clrs_private
from dear_jax.networks import differences
from dear_jax.networks import kinds
from dear_jax.networks import pointers
import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax

_Array = jax.Array
Metrics = Dict[str, _Array]


class ReasonerModel(programs.CompilesAhead, clrs.models.BaselineModel):
  """A `BaselineModel` that reads inputs and outputs only.

  A subclass has `_make_net`, `_loss` and `_evaluate`. After each `feedback`,
  `metrics` has the losses and how the model fared.
  """

  def __init__(self, *, restrict_pointers: pointers.Rule, edge_pointers: str,
               scalars: str, self_loops: bool, layout: str,
               pad_to: Optional[int], average: bool, processor_factory,
               **kwargs):
    """Takes what it names as in `DEARModel`, and the rest as in CLRS."""
    kinds.check_edge_pointers(edge_pointers)
    differences.check(scalars)
    self._coding = dict(restrict_pointers=restrict_pointers,
                        edge_pointers=edge_pointers,
                        scalars=differences.of_net(scalars))
    self._own_units = differences.has_units(scalars)
    self._self_loops = self_loops
    self._average = average
    self._devices = devices.Devices()
    self.layouts = layouts.Layouts(layout, processor_factory, pad_to,
                                    self._devices)
    self.metrics: Metrics = {}
    super().__init__(processor_factory=processor_factory, decode_hints=False,
                     **kwargs)
    if average:
      self.opt = optax.chain(self.opt, averaging.track_average())

  def _make_net(self, **kwargs):
    """The Haiku module; the arguments are those that all nets have."""
    raise NotImplementedError

  def _loss(self, params, rng_key, batch, extra, index):
    """Loss and metrics of a batch."""
    raise NotImplementedError

  def _evaluate(self, params, rng_key, batch, index,
                with_spectral_radius=False, with_confidence=False):
    """Predictions, metrics, how every instance fared, and node states."""
    raise NotImplementedError

  def _create_net_fns(self, hidden_dim, encode_hints, processor_factory,
                      use_lstm, encoder_init, dropout_prob,
                      hint_teacher_forcing, hint_repred_mode):
    del encode_hints, use_lstm, hint_teacher_forcing, hint_repred_mode

    self._net_settings = dict(
        spec=self._spec, hidden_dim=hidden_dim,
        processor_factory=processor_factory, encoder_init=encoder_init,
        dropout_prob=dropout_prob, nb_dims=self.nb_dims,
        mesh=self._devices.mesh, **self._coding)

    def use_net(*args, **kwargs):
      return self._make_net(**self._net_settings)(*args, **kwargs)

    self.net_fn = hk.transform(use_net)
    # One program serves one device or many: it follows where its data is.
    jit = functools.partial(jax.jit, **self._devices.for_results)
    self.jitted_init = jit(functools.partial(
        self.net_fn.init, repred=True, algorithm_index=-1))
    self.jitted_grad = jit(self._compute_grad, static_argnums=4)
    self.jitted_feedback = programs.Program(
        self._feedback, batch=2, static=(5,), donate=(0, 4), jit=jit)
    self.jitted_evaluate = programs.Program(
        self._evaluate, batch=2, static=(3, 4, 5), jit=jit)
    self.jitted_accum_opt_update = jit(self._accum_opt_update,
                                       donate_argnums=(0, 2))

  def init(self, features: Union[clrs.Features, List[clrs.Features]],
           seed: int):
    """Draws new parameters."""
    self.params = self.jitted_init(
        self._devices.key(jax.random.PRNGKey(seed)),
        self._smallest_inputs(features))
    self.opt_state = self.opt.init(self._device_params)

  def describe_params(self, features: Union[clrs.Features, List[clrs.Features]]
                      ) -> Any:
    """Names, shapes and types of the parameters; compiles nothing."""
    return jax.eval_shape(self.jitted_init, jax.random.PRNGKey(0),
                          self._smallest_inputs(features))

  def _smallest_inputs(self, features):
    """The inputs of every algorithm, as small as they can be.

    Parameters depend on neither batch nor size, but time and memory would.
    """
    features = features if isinstance(features, list) else [features]
    if len(features) != len(self._spec):
      raise ValueError(f'The model has {len(self._spec)} algorithms, but got '
                       f'features of {len(features)}.')
    return [self._devices.replicate(
        batches.corner(batches.convert(f.inputs))) for f in features]

  @property
  def params(self):
    return jax.device_get(self._device_params)

  @params.setter
  def params(self, params):
    self._device_params = self._devices.replicate(params)

  def restart(self, params) -> None:
    """Begins anew from these parameters."""
    self.params = params
    self.opt_state = self.opt.init(self._device_params)

  @property
  def opt_state(self):
    return jax.device_get(self._device_opt_state)

  @opt_state.setter
  def opt_state(self, opt_state):
    self._device_opt_state = self._devices.replicate(opt_state)

  @property
  def device_params(self):
    """The parameters where they are, to be passed to a program."""
    return self._device_params

  @contextlib.contextmanager
  def averaged(self):
    """In this context the parameters are the average of those so far."""
    if not self._average:
      yield
      return
    present = self._device_params
    self._device_params = averaging.get_average(self._device_opt_state)
    try:
      yield
    finally:
      self._device_params = present

  def feedback(self, rng_key: _Array, feedback: clrs.Feedback,
               algorithm_index: Optional[int] = None) -> _Array:
    """Takes one optimiser step; returns the loss, regularisers included.

    On several hosts each gives its part of a batch, all of one size, and all
    take the same step. What is evaluated, every host gives and gets as a whole.
    """
    index = self._index(algorithm_index)
    batch = self._batch(feedback.features, feedback.outputs, index,
                        training=True)
    self._device_params, self._device_opt_state, self.metrics = (
        self.jitted_feedback(self._device_params, self._devices.key(rng_key),
                             batch, self._extra(), self._device_opt_state,
                             index))
    return self.metrics['loss']

  def compute_grad(self, rng_key: _Array, feedback: clrs.Feedback,
                   algorithm_index: Optional[int] = None
                   ) -> Tuple[_Array, hk.Params]:
    """Returns loss and gradients without taking a step."""
    index = self._index(algorithm_index)
    batch = self._batch(feedback.features, feedback.outputs, index,
                        training=True)
    grads, self.metrics = self.jitted_grad(
        self._device_params, self._devices.key(rng_key), batch, self._extra(),
        index)
    return self.metrics['loss'], grads

  def update_model_params_accum(self, grads) -> None:
    """Takes a step with gradients collected from several algorithms."""
    self._device_params, self._device_opt_state = self.jitted_accum_opt_update(
        self._device_params, self._devices.replicate(grads),
        self._device_opt_state)

  def predict(self, rng_key: _Array, features: clrs.Features,
              algorithm_index: Optional[int] = None,
              return_hints: bool = False,
              return_all_outputs: bool = False):
    """Predicts outputs, as `BaselineModel.predict`; there are no hints."""
    del return_hints
    index = self._index(algorithm_index)
    preds, _, _, hidden = self.jitted_evaluate(
        self._device_params, self._devices.key(rng_key),
        self._batch(features, (), index), index)
    if return_all_outputs:
      preds = jax.tree_util.tree_map(lambda x: x[None], preds)
    return (preds, None, hidden[None]) if self.debug else (preds, None)

  def evaluate(self, rng_key: _Array, feedback: clrs.Feedback,
               algorithm_index: Optional[int] = None,
               with_spectral_radius: bool = False
               ) -> Tuple[Dict[str, clrs.DataPoint], Metrics]:
    """Predictions, with the task loss and how the solver fared."""
    index = self._index(algorithm_index)
    preds, metrics, _, _ = self.jitted_evaluate(
        self._device_params, self._devices.key(rng_key),
        self._batch(feedback.features, feedback.outputs, index), index,
        with_spectral_radius)
    return preds, metrics

  def evaluate_instances(self, rng_key: _Array, feedback: clrs.Feedback,
                         algorithm_index: Optional[int] = None,
                         with_confidence: bool = False,
                         by_entry: bool = False
                         ) -> Tuple[Dict[str, clrs.DataPoint], Dict[str, Any]]:
    """Predictions, with how every instance fared.

    Args:
      rng_key, algorithm_index: As in `predict`.
      feedback: The batch; its outputs may be left out.
      with_confidence: Whether to tell how sure the decoders are.
      by_entry: Whether to tell that of every entry of an output too.

    Returns:
      The predictions, and arrays [B]: `steps`, of a solve also `residual` and
      `converged`, and `confidence` if asked for: the mean over all entries of
      the outputs of the probability that was given to what was chosen. If
      asked for by entry, `confidences` has these probabilities by the names of
      outputs, such as [B, N] for the pointers of nodes.
    """
    index = self._index(algorithm_index)
    preds, _, instances, _ = self.jitted_evaluate(
        self._device_params, self._devices.key(rng_key),
        self._batch(feedback.features, feedback.outputs, index), index, False,
        with_confidence)
    if not by_entry:
      instances.pop('confidences', None)
    return preds, instances

  def answer(self, rng_key: _Array, features: clrs.Features,
             algorithm_index: Optional[int] = None, *,
             prepared: Optional[batches.Batch] = None,
             watch: Optional[parts.Watch] = None, compile_only: bool = False
             ) -> Tuple[Dict[str, clrs.DataPoint], Dict[str, Any]]:
    """As `evaluate_instances`, for batches of which each has another size.

    They share programs, by nodes that are none (see `ladders`), and a solve can
    be watched, and interrupted by Ctrl-C (see `parts`). The answers are the
    same, with all that can be told of them.

    Args:
      rng_key, algorithm_index: As in `predict`.
      features: The batch.
      prepared: The batch as `prepare` made it, if that was done already.
      watch: Is told how far the solve is, several times if it takes long.
      compile_only: Whether to stop before the first iteration.

    Returns:
      As there, in numpy arrays.
    """
    index = self._index(algorithm_index)
    size = batches.size_of(features.inputs)
    preds, instances = self._answer(
        rng_key, prepared or self.prepare(features, index), index, size, watch,
        compile_only)
    return batches.crop(preds, instances, size)

  def _answer(self, rng_key, batch, index, nb_nodes, watch, compile_only):
    """Predictions and how instances fared, with padding."""
    del nb_nodes, watch, compile_only  # there is nothing to watch
    preds, _, instances, _ = self.jitted_evaluate(
        self._device_params, self._devices.key(rng_key), batch, index, False,
        True)
    return preds, instances

  def describe_shape(self, features: clrs.Features, algorithm_index: int,
                     training: bool) -> str:
    """Names what a program is compiled for, such as 'size 16'."""
    text = layouts.describe(
        batches.size_of(features.inputs), self.layouts.shape(
            features.inputs, self._spec[algorithm_index], training))
    _, slots = self._steps(features, training)
    return text if slots is None else f'{text}, up to {len(slots)} steps'

  def _extra(self) -> Any:
    """What else `_loss` needs, as arguments of its programs."""
    return ()

  def _batch(self, features: clrs.Features,
             outputs: Iterable[clrs.DataPoint], index: int,
             training: bool = False) -> batches.Batch:
    """Puts a batch on the devices."""
    size = batches.size_of(features.inputs)
    padded, edge_list = self.layouts.shape(features.inputs,
                                            self._spec[index], training)
    inputs = self._inputs(features, index)
    answers = batches.convert(outputs)
    node_mask = None
    if edge_list is not None and padded != size:
      node_mask = batches.node_mask(inputs, padded)
      inputs = batches.pad(inputs, padded)
      answers = batches.pad(answers, padded)
    return self._put(inputs, answers, edge_list, node_mask,
                     *self._steps(features, training), is_part=training)

  def _inputs(self, features: clrs.Features, index: int
              ) -> Tuple[clrs.DataPoint, ...]:
    """What the network is told of a batch."""
    return batches.shown(features.inputs, self._spec[index],
                         self._own_units, self._self_loops)

  def prepare(self, features: clrs.Features,
              algorithm_index: Optional[int] = None) -> batches.Batch:
    """Puts inputs on the devices for `answer`, in a shape that others have too.

    A batch is left as it is if its padding would change its results.

    Args:
      features: The batch.
      algorithm_index: As in `predict`.

    Returns:
      What `answer` takes; its shapes are what is compiled for.
    """
    index = self._index(algorithm_index)
    spec = self._spec[index]
    if not self.layouts.has_ladder(spec):
      return self._batch(features, (), index)
    inputs = self._inputs(features, index)
    size, edge_list = self.layouts.rung(inputs, spec)
    return self._put(batches.pad(inputs, size), (), edge_list,
                     batches.node_mask(inputs, size),
                     *self._steps(features, training=False))

  def _put(self, inputs, answers, edge_list, node_mask, steps, slots,
           is_part=False) -> batches.Batch:
    """Puts all that a batch has on the devices."""
    inputs, answers, edge_list, node_mask, steps = self._devices.split(
        (inputs, answers, edge_list, node_mask, steps), is_part)
    return batches.Batch(inputs, answers, edge_list, node_mask, steps,
                         self._devices.replicate(slots))

  def _steps(self, features: clrs.Features, training: bool
             ) -> Tuple[Optional[np.ndarray], Optional[np.ndarray]]:
    """The `steps` and `slots` of a batch."""
    del features, training
    return None, None

  def _index(self, algorithm_index: Optional[int]) -> int:
    if algorithm_index is None and len(self._spec) == 1:
      return 0
    if algorithm_index is None or not 0 <= algorithm_index < len(self._spec):
      raise ValueError(f'algorithm_index must be in 0..{len(self._spec) - 1}, '
                       f'got {algorithm_index}.')
    return algorithm_index

  def _postprocess(self, output_preds: Dict[str, _Array], index: int
                   ) -> Dict[str, clrs.DataPoint]:
    """Hard predictions from what the decoders put out."""
    return confidences.choose(self._spec[index], output_preds)

  def _compute_grad(self, params, rng_key, batch, extra, algorithm_index):
    grads, metrics = jax.grad(self._loss, has_aux=True)(
        params, rng_key, batch, extra, algorithm_index)
    return grads, dict(metrics, gradient_norm=norm(grads))

  def _feedback(self, params, rng_key, batch, extra, opt_state,
                algorithm_index):
    grads, metrics = self._compute_grad(params, rng_key, batch, extra,
                                        algorithm_index)
    params, opt_state = self._update_params(params, grads, opt_state,
                                            algorithm_index)
    return params, opt_state, metrics

  def _accum_opt_update(self, params, grads, opt_state):
    # CLRS does not hand on the parameters, of which some optimisers make use.
    opt = optax.GradientTransformation(
        self.opt.init, lambda g, state: self.opt.update(g, state, params))
    params, opt_state = clrs_private.accum_opt_update(
        params, grads, opt_state, opt, self._freeze_processor)
    return params, self._add_to_average(opt_state, params)

  def _update_params(self, params, grads, opt_state, algorithm_index):
    """One step that leaves what the algorithm does not use as it was.

    That is the encoders and decoders of other algorithms: their momenta must
    not decay while others train. Their averages go on, of values that stay.
    """
    trained = {
        module: jax.tree_util.tree_map(
            lambda _, on=self._is_trained(module, algorithm_index): on, leaves)
        for module, leaves in params.items()}
    updates, new_opt_state = self.opt.update(grads, opt_state, params)
    updates = jax.tree_util.tree_map(
        lambda on, x: x if on else jnp.zeros_like(x), trained, updates)
    trained_state = optax.tree_utils.tree_map_params(
        self.opt, lambda _, on: on, opt_state, trained,
        transform_non_params=lambda _: True)
    opt_state = jax.tree_util.tree_map(
        lambda on, new, old: new if on else old, trained_state, new_opt_state,
        opt_state)
    params = optax.apply_updates(params, updates)
    return params, self._add_to_average(opt_state, params)

  def _add_to_average(self, opt_state, params):
    if not self._average:
      return opt_state
    return averaging.add_to_average(opt_state, params)

  def _is_trained(self, module: str, algorithm_index: int) -> bool:
    if clrs_private.PROCESSOR_TAG in module:
      return not self._freeze_processor
    owner = re.search(r'algo_(\d+)_', module)
    return owner is None or int(owner.group(1)) == algorithm_index


def task_loss(outputs, output_preds, node_mask=None) -> _Array:
  """The sum of CLRS's output losses, without any regulariser."""
  loss = jnp.zeros(())
  for truth in outputs:
    pred = output_preds[truth.name]
    term: Any = clrs_private.output_loss(truth=truth, pred=pred,
                                         nb_nodes=pred.shape[-1])
    if node_mask is not None:
      # A pointer to none adds nothing, but CLRS' mean counts it.
      nodes = 2 if truth.location == clrs.Location.EDGE else 1
      term /= jnp.mean(node_mask)**nodes
    loss += term
  return loss


def norm(tree) -> _Array:
  """The norm of all arrays of a tree together."""
  return jnp.sqrt(sum(jnp.sum(jnp.square(x))
                      for x in jax.tree_util.tree_leaves(tree)))
