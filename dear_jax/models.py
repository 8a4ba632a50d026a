# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""DEARModel: a CLRS `BaselineModel` that solves instead of unrolling."""

import functools
import re
from typing import (Any, Callable, Dict, Iterable, List, NamedTuple, Optional,
                    Tuple, Union)

import chex
import clrs
from clrs._src import baselines
from clrs._src import decoders
from clrs._src import losses
from clrs._src import processors as clrs_processors
from dear_jax import edge_lists
from dear_jax import implicit
from dear_jax import nets
from dear_jax import processors
from dear_jax import solvers
import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax

_Array = chex.Array
_Metrics = Dict[str, _Array]


LAYOUTS = ('auto', 'dense', 'sparse')

# From this share of all pairs on, a list of edges saves nothing any more; nor
# does it with few pairs, and other lists mean other programs.
_DENSE_FROM = 0.75
_SPARSE_FROM_PAIRS = 2048


class DEARModel(clrs.models.BaselineModel):
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
               pad_to: Optional[int] = None):
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
    self._restrict_pointers = restrict_pointers
    check_layout(layout)
    self._layout = layout
    self._pad_to = pad_to
    self._takes_edge_lists = getattr(processor_factory, 'takes_edge_lists',
                                     False)
    self._devices = _Devices()
    self.metrics: _Metrics = {}
    super().__init__(
        spec=spec, dummy_trajectory=dummy_trajectory,
        processor_factory=processor_factory, hidden_dim=hidden_dim,
        decode_hints=False, encoder_init=encoder_init,
        learning_rate=learning_rate, grad_clip_max_norm=grad_clip_max_norm,
        checkpoint_path=checkpoint_path, freeze_processor=freeze_processor,
        dropout_prob=dropout_prob, name=name, debug=debug)

  def _create_net_fns(self, hidden_dim, encode_hints, processor_factory,
                      use_lstm, encoder_init, dropout_prob,
                      hint_teacher_forcing, hint_repred_mode):
    del encode_hints, use_lstm, hint_teacher_forcing, hint_repred_mode

    def use_net(*args, **kwargs):
      net = nets.EquilibriumNet(
          self._spec, hidden_dim, processor_factory,
          encoder_init=encoder_init, dropout_prob=dropout_prob,
          nb_dims=self.nb_dims, eval_iterations=self._eval_iterations,
          noise_stddev=self._noise_stddev,
          restrict_pointers=self._restrict_pointers,
          jacobian_fraction=self._jacobian_fraction,
          split=self._devices.are_one)
      return net(*args, **kwargs)

    self.net_fn = hk.transform(use_net)
    # One program serves one device or many: it follows where its data is.
    self.jitted_init = jax.jit(functools.partial(
        self.net_fn.init, repred=True, algorithm_index=-1))
    self.jitted_grad = jax.jit(self._compute_grad, static_argnums=3)
    self.jitted_feedback = jax.jit(self._feedback, donate_argnums=(0, 3),
                                   static_argnums=4)
    self.jitted_evaluate = jax.jit(self._evaluate, static_argnums=(3, 4))
    self.jitted_accum_opt_update = jax.jit(
        baselines.accum_opt_update, donate_argnums=(0, 2),
        static_argnums=(3, 4))

  def init(self, features: Union[clrs.Features, List[clrs.Features]],
           seed: int):
    """Draws new parameters."""
    if not isinstance(features, list):
      features = [features]
    if len(features) != len(self._spec):
      raise ValueError(f'The model has {len(self._spec)} algorithms, but got '
                       f'features of {len(features)}.')
    # Parameters depend on neither batch nor size, but time and memory would.
    inputs = [self._devices.replicate(_corner(_probes(f.inputs)))
              for f in features]
    self.params = self.jitted_init(jax.random.PRNGKey(seed), inputs)
    self.opt_state = self.opt.init(self._device_params)

  @property
  def params(self):
    return jax.device_get(self._device_params)

  @params.setter
  def params(self, params):
    self._device_params = self._devices.replicate(params)

  @property
  def opt_state(self):
    return jax.device_get(self._device_opt_state)

  @opt_state.setter
  def opt_state(self, opt_state):
    self._device_opt_state = self._devices.replicate(opt_state)

  def feedback(self, rng_key: _Array, feedback: clrs.Feedback,
               algorithm_index: Optional[int] = None) -> _Array:
    """Takes one optimiser step; returns the loss, regularisers included."""
    index = self._index(algorithm_index)
    data = self._data(feedback.features.inputs, feedback.outputs, index,
                      training=True)
    self._device_params, self._device_opt_state, self.metrics = (
        self.jitted_feedback(self._device_params, rng_key, data,
                             self._device_opt_state, index))
    return self.metrics['loss']

  def compute_grad(self, rng_key: _Array, feedback: clrs.Feedback,
                   algorithm_index: Optional[int] = None
                   ) -> Tuple[_Array, hk.Params]:
    """Returns loss and gradients without taking a step."""
    index = self._index(algorithm_index)
    data = self._data(feedback.features.inputs, feedback.outputs, index,
                      training=True)
    grads, self.metrics = self.jitted_grad(
        self._device_params, rng_key, data, index)
    return self.metrics['loss'], grads

  def update_model_params_accum(self, grads) -> None:
    """Takes a step with gradients collected from several algorithms."""
    self._device_params, self._device_opt_state = self.jitted_accum_opt_update(
        self._device_params, self._devices.replicate(grads),
        self._device_opt_state, self.opt, self._freeze_processor)

  def predict(self, rng_key: _Array, features: clrs.Features,
              algorithm_index: Optional[int] = None,
              return_hints: bool = False,
              return_all_outputs: bool = False):
    """Predicts outputs, as `BaselineModel.predict`; there are no hints."""
    del return_hints
    index = self._index(algorithm_index)
    preds, _, hidden = self.jitted_evaluate(
        self._device_params, rng_key, self._data(features.inputs, (), index),
        index)
    if return_all_outputs:
      preds = jax.tree_util.tree_map(lambda x: x[None], preds)
    if self.debug:
      return preds, None, hidden[None]
    return preds, None

  def evaluate(self, rng_key: _Array, feedback: clrs.Feedback,
               algorithm_index: Optional[int] = None,
               with_spectral_radius: bool = False
               ) -> Tuple[Dict[str, clrs.DataPoint], _Metrics]:
    """Predictions, with the task loss and how the solver fared."""
    index = self._index(algorithm_index)
    preds, metrics, _ = self.jitted_evaluate(
        self._device_params, rng_key,
        self._data(feedback.features.inputs, feedback.outputs, index), index,
        with_spectral_radius)
    return preds, metrics

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

    def run(params, data):
      apply = functools.partial(
          self.net_fn.apply, params, rng_key, [data.inputs], repred=True,
          algorithm_index=index, edge_list=data.edge_list)
      loss = lambda shift: _task_loss(data.outputs,
                                      apply(shift=shift).output_preds)
      result = apply().equilibrium
      return look(result,
                  jax.grad(loss)(jnp.zeros_like(result.solution.value)))

    return jax.jit(run)(self._device_params, self._data(
        feedback.features.inputs, feedback.outputs, index))

  def describe_shape(self, features: clrs.Features, algorithm_index: int,
                     training: bool) -> str:
    """Names what a program is compiled for, such as 'size 16'."""
    size = _size(features.inputs)
    padded = self._padded_size(size, algorithm_index, training)
    edge_list = self._edge_list(features.inputs, algorithm_index, padded)
    if edge_list is None:
      return f'size {size}'
    upto = 'size' if padded == size else 'sizes up to'
    return f'{upto} {padded} with up to {len(edge_list.pairs):,} edges'

  def _data(self, inputs: Iterable[clrs.DataPoint],
            outputs: Iterable[clrs.DataPoint], index: int,
            training: bool = False) -> '_Data':
    """Puts a batch on the devices."""
    size = _size(inputs)
    padded = self._padded_size(size, index, training)
    edge_list = self._edge_list(inputs, index, padded)
    inputs, outputs, node_mask = _probes(inputs), _probes(outputs), None
    if edge_list is not None and padded != size:
      node_mask = np.zeros((len(inputs[0].data), padded), np.float32)
      node_mask[:, :size] = 1
      inputs, outputs = _pad(inputs, padded), _pad(outputs, padded)
    inputs, outputs, edge_list, node_mask = self._devices.split(
        (inputs, outputs, edge_list, node_mask))
    return _Data(np.float32(self._jacobian_weight), inputs, outputs, edge_list,
                 node_mask)

  def _padded_size(self, size: int, index: int, training: bool) -> int:
    if (not training or not self._pad_to or size > self._pad_to
        or not nets.can_be_padded(self._spec[index])):
      return size
    return self._pad_to

  def _edge_list(self, inputs: Iterable[clrs.DataPoint], index: int,
                 padded_size: int) -> Optional[edge_lists.EdgeList]:
    """The edges of a batch, if messages are to be computed on them only."""
    possible = self._takes_edge_lists and nets.takes_edge_lists(
        self._spec[index])
    if self._layout == 'sparse' and not possible:
      raise ValueError("layout='sparse' needs a task with a graph and the "
                       "processor 'dear_pgn'; 'auto' takes it where it can.")
    if not possible or self._layout == 'dense' or (
        self._layout == 'auto' and not self._devices.is_one_cpu):
      return None
    batch_size, nb_nodes = next(
        x.data.shape for x in inputs if x.name == 'pos')
    nb_pairs = batch_size * nb_nodes**2
    if self._layout == 'auto' and nb_pairs < _SPARSE_FROM_PAIRS:
      return None
    # Lists of many graphs are alike in length; single graphs are not, and
    # someone waits for the answer.
    edge_list = edge_lists.from_inputs(inputs, padded_size,
                                       fine=batch_size == 1)
    if (self._layout == 'auto'
        and len(edge_list.pairs) > _DENSE_FROM * nb_pairs):
      return None
    return edge_list

  def _index(self, algorithm_index: Optional[int]) -> int:
    if algorithm_index is None and len(self._spec) == 1:
      return 0
    if algorithm_index is None or not 0 <= algorithm_index < len(self._spec):
      raise ValueError(f'algorithm_index must be in 0..{len(self._spec) - 1}, '
                       f'got {algorithm_index}.')
    return algorithm_index

  def _loss(self, params, backward_probe, rng_key, data, algorithm_index):
    net_output = self.net_fn.apply(
        params, rng_key, [data.inputs], repred=False,
        algorithm_index=algorithm_index,
        with_penalty=self._jacobian_weight > 0, edge_list=data.edge_list,
        node_mask=data.node_mask, backward_probe=backward_probe)
    task_loss = _task_loss(data.outputs, net_output.output_preds,
                           data.node_mask)
    penalty = net_output.jacobian_penalty
    loss = task_loss + data.jacobian_weight * penalty
    metrics = dict(loss=loss, task_loss=task_loss, jacobian_penalty=penalty,
                   **_solver_metrics(net_output.solution))
    return loss, metrics

  def _compute_grad(self, params, rng_key, data, algorithm_index):
    batch_size = data.inputs[0].data.shape[0]
    probe = jnp.zeros((batch_size, len(implicit.BackwardReport._fields)))
    (grads, report), metrics = jax.grad(
        self._loss, argnums=(0, 1), has_aux=True)(
            params, probe, rng_key, data, algorithm_index)
    report = implicit.BackwardReport(*jnp.moveaxis(report, -1, 0))
    metrics.update(gradient_norm=_norm(grads),
                   backward_steps_mean=jnp.mean(report.steps),
                   backward_steps_max=jnp.max(report.steps),
                   backward_residual=jnp.mean(report.residual),
                   backward_converged=jnp.mean(report.converged))
    return grads, metrics

  def _feedback(self, params, rng_key, data, opt_state, algorithm_index):
    grads, metrics = self._compute_grad(params, rng_key, data, algorithm_index)
    params, opt_state = self._update_params(params, grads, opt_state,
                                            algorithm_index)
    return params, opt_state, metrics

  def _update_params(self, params, grads, opt_state, algorithm_index):
    """One step that leaves what the algorithm does not use as it was.

    That is the encoders and decoders of other algorithms: their momenta must
    not decay while others train.
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
    return optax.apply_updates(params, updates), opt_state

  def _is_trained(self, module: str, algorithm_index: int) -> bool:
    if clrs_processors.PROCESSOR_TAG in module:
      return not self._freeze_processor
    owner = re.search(r'algo_(\d+)_', module)
    return owner is None or int(owner.group(1)) == algorithm_index

  def _evaluate(self, params, rng_key, data, algorithm_index,
                with_spectral_radius=False):
    net_output = self.net_fn.apply(
        params, rng_key, [data.inputs], repred=True,
        algorithm_index=algorithm_index, edge_list=data.edge_list,
        with_spectral_radius=with_spectral_radius)
    preds = decoders.postprocess(
        self._spec[algorithm_index], net_output.output_preds,
        sinkhorn_temperature=0.1, sinkhorn_steps=50, hard=True)
    metrics = dict(task_loss=_task_loss(data.outputs, net_output.output_preds),
                   **_solver_metrics(net_output.solution))
    if with_spectral_radius:
      metrics['spectral_radius'] = net_output.spectral_radius
    return preds, metrics, net_output.solution.value


class _Data(NamedTuple):
  """A batch as the compiled programs take it."""
  jacobian_weight: _Array  # an argument, so that any value has one program
  inputs: Tuple[clrs.DataPoint, ...]
  outputs: Tuple[clrs.DataPoint, ...]
  edge_list: Optional[edge_lists.EdgeList]
  node_mask: Optional[_Array] = None  # [B, N], 0 at nodes that are padding


def check_layout(layout: str) -> None:
  """Raises a ValueError unless this is the name of a layout."""
  if layout not in LAYOUTS:
    raise ValueError(
        f'layout must be one of {", ".join(LAYOUTS)}, got {layout!r}.')


def _probes(probes: Iterable[clrs.DataPoint]) -> Tuple[clrs.DataPoint, ...]:
  """The same data in the types that the device has."""
  def convert(probe):
    dtype = jax.dtypes.canonicalize_dtype(probe.data.dtype)
    if probe.type_ == clrs.Type.POINTER:
      dtype = np.int32  # some of CLRS's samplers make indices floating point
    return clrs.DataPoint(probe.name, probe.location, probe.type_,
                          probe.data.astype(dtype))

  return tuple(convert(probe) for probe in probes)


def _corner(probes: Iterable[clrs.DataPoint]) -> Tuple[clrs.DataPoint, ...]:
  """The first two nodes of the first instance."""
  nodes = {clrs.Location.GRAPH: (), clrs.Location.NODE: (slice(2),),
           clrs.Location.EDGE: (slice(2), slice(2))}
  return tuple(
      clrs.DataPoint(probe.name, probe.location, probe.type_,
                     probe.data[(slice(1), *nodes[probe.location])])
      for probe in probes)


def _pad(probes: Iterable[clrs.DataPoint], size: int
         ) -> Tuple[clrs.DataPoint, ...]:
  """Adds nodes at the end: zeros, and pointers to none."""
  def pad(probe):
    nodes = {clrs.Location.GRAPH: 0, clrs.Location.NODE: 1,
             clrs.Location.EDGE: 2}[probe.location]
    data = np.asarray(probe.data)
    widths = [(0, size - data.shape[axis] if 1 <= axis <= nodes else 0)
              for axis in range(data.ndim)]
    nothing = -1 if probe.type_ == clrs.Type.POINTER else 0
    return clrs.DataPoint(probe.name, probe.location, probe.type_,
                          np.pad(data, widths, constant_values=nothing))

  return tuple(pad(probe) for probe in probes)


def _size(inputs: Iterable[clrs.DataPoint]) -> int:
  return next(x.data.shape[1] for x in inputs
              if x.location != clrs.Location.GRAPH)


def _task_loss(outputs, output_preds, node_mask=None) -> _Array:
  """The sum of CLRS's output losses, without any regulariser."""
  loss = jnp.zeros(())
  for truth in outputs:
    pred = output_preds[truth.name]
    term = losses.output_loss(truth=truth, pred=pred, nb_nodes=pred.shape[-1])
    if node_mask is not None:
      # A pointer to none adds nothing, but CLRS' mean counts it.
      nodes = 2 if truth.location == clrs.Location.EDGE else 1
      term /= jnp.mean(node_mask)**nodes
    loss += term
  return loss


def _norm(tree) -> _Array:
  return jnp.sqrt(sum(jnp.sum(jnp.square(x))
                      for x in jax.tree_util.tree_leaves(tree)))


def _solver_metrics(solution: solvers.Solution) -> _Metrics:
  return dict(
      solver_steps_mean=jnp.mean(solution.steps.astype(jnp.float32)),
      solver_steps_max=jnp.max(solution.steps),
      evaluations=solution.evaluations,
      residual=jnp.mean(solution.residual),
      converged=jnp.mean(solution.converged.astype(jnp.float32)))


class _Devices:
  """Puts data on all local devices: parameters whole, batches in parts."""

  def __init__(self):
    devices = jax.local_devices()
    self._count = len(devices)
    self.are_one = self._count == 1
    self.is_one_cpu = self.are_one and devices[0].platform == 'cpu'
    mesh = jax.sharding.Mesh(np.array(devices), ('batch',))
    spec = jax.sharding.PartitionSpec
    self._whole = jax.sharding.NamedSharding(mesh, spec())
    self._parts = jax.sharding.NamedSharding(mesh, spec('batch'))

  def replicate(self, tree):
    return jax.device_put(tree, self._whole)

  def split(self, tree):
    """Splits along the leading axis where the devices divide it."""
    sizes = {np.shape(x)[0] for x in jax.tree_util.tree_leaves(tree)}
    even = all(size % self._count == 0 for size in sizes)
    return jax.device_put(tree, self._parts if even else self._whole)
