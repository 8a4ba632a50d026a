# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""The settings of a training run, checked where they are made."""

import dataclasses
import math
import os
from typing import Any, Mapping, Optional, Tuple, Union

from dear_jax import checkpoints
from dear_jax import models
from dear_jax import processors
from dear_jax import samplers
from dear_jax import solvers
import numpy as np

MODELS = ('dear', 'nar')
SELECTIONS = ('auto', 'best', 'last')
NAR_KINDS = tuple(kind.removeprefix('dear_') for kind in processors.KINDS)
_ENCODER_INITS = ('default', 'xavier_on_scalars')


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainConfig:
  """The settings of a run; the defaults are the paper's where it has one.

  Attributes:
    algorithms: Names of CLRS algorithms; several share one processor.
    model: 'dear' solves for an equilibrium; 'nar' is the paper's baseline,
      which takes as many steps as the algorithm did.
    processor: A kind of `dear_jax.get_processor_factory`; the names of those of
      a 'nar' have no 'dear_' in front.
    test_steps: How many steps a 'nar' takes in validation and test: the 'true'
      number, what it has 'learned', or always that many.
    batch_size: Samples in a training batch.
    hidden_size: Width of the node states.
    learning_rate: Of Adam. The paper's is 3e-4, without an average of the
      parameters; with one, 2e-3 is better (docs/implicit.md).
    grad_clip_max_norm: Gradients are clipped to this norm; 0 does not clip.
    train_steps: Steps in all, each with one batch of every algorithm.
    seed: Of everything random.
    train_sizes: Smallest and largest training size. Every batch has one size,
      drawn uniformly; every size costs one compilation.
    val_size: Size of the validation samples.
    test_size: Size of the test samples.
    val_samples: Validation samples of every algorithm, a fixed set. Rounded
      up to whole batches of equal size, as another size of batch would cost
      another compilation.
    test_samples: The same for the test set.
    train_samples: None for fresh samples for ever; else the number of samples
      in the training set, rounded down to whole batches. Every epoch has them
      in another order.
    data_cache: A folder that keeps the samples, or None. It pays off for tasks
      that CLRS draws.
    eval_every: Steps between two validations. A run that ends in between is
      validated once more.
    checkpoint_every: Steps between two checkpoints.
    log_every: Steps between two training lines in metrics.jsonl.
    solver: 'anderson', 'picard' or 'broyden'.
    tol: Relative residual at which an instance has converged.
    max_iter: The most solver steps in training.
    gradient: 'implicit', 'one_step' or 'unrolled'.
    backward_max_iter: The most solver steps of the implicit gradient. What an
      instance has by then is taken: one that would need more has a step that is
      hardly contractive, and would hold up the batch.
    backward_decay: The implicit gradient solves `u = backward_decay J^T u + g`;
      1 is exact, see docs/implicit.md for why the default is less.
    backward_bound: The norm of `u` of an instance is at most this times that of
      `g`; 0 does not bound it.
    jacobian_weight: Weight of the Jacobian penalty. The paper's code has 1e-4,
      and the one-step gradient; docs/implicit.md tells why this is more.
    jacobian_fraction: The share of a batch that the penalty is estimated on.
    noise_stddev: Noise on the processor's output, in training only.
    use_ln: Whether the processor ends in a layer norm.
    norm: What that is: a 'layer' norm or 'granola'.
    cgp: Whether every step is followed by one on a Cayley graph.
    stochastic_depth: Whether to take a random number of further steps from the
      equilibrium in training.
    align_to: The folder of a trained run with `model='nar'`, whose states those
      of the solve are to align with, or None.
    align_weight: Weight of the distance to these states.
    init_from: The folder of a run whose best parameters to start from, or None.
    nb_triplet_fts: Triplet features, for processors that have some.
    nb_heads: Heads, for processors that have some.
    average: Whether to validate and keep the average of the parameters over the
      last steps, in place of the last ones.
    select: Which parameters are kept at the end: the 'best', with the lowest
      validation loss, as in the paper; the 'last'; or 'auto', the last if they
      are averages and otherwise the best. Until then the best are kept.
    encoder_init: 'default' or 'xavier_on_scalars', as in clrs.
    dropout_prob: Dropout rate.
    freeze_processor: Whether to train encoders and decoders only.
    layout: 'dense', 'sparse' (messages on lists of edges) or 'auto'.
  """
  algorithms: Tuple[str, ...] = ('bfs',)
  model: str = 'dear'
  processor: str = 'dear_pgn'
  test_steps: Union[str, int] = 'true'
  batch_size: int = 32
  hidden_size: int = 128
  learning_rate: float = 2e-3
  grad_clip_max_norm: float = 1.0
  train_steps: int = 10_000
  seed: int = 42
  train_sizes: Tuple[int, int] = (8, 16)
  val_size: int = 16
  test_size: int = 64
  val_samples: int = 100
  test_samples: int = 100
  train_samples: Optional[int] = None
  data_cache: Optional[str] = None
  eval_every: int = 50
  checkpoint_every: int = 500
  log_every: int = 10
  solver: str = 'anderson'
  tol: float = 0.1
  max_iter: int = 40
  gradient: str = 'implicit'
  backward_max_iter: int = 12
  backward_decay: float = 0.6
  backward_bound: float = 1.5
  jacobian_weight: float = 0.01
  jacobian_fraction: float = 0.25
  noise_stddev: float = 0.0
  use_ln: bool = True
  norm: str = 'layer'
  cgp: bool = False
  stochastic_depth: bool = False
  align_to: Optional[str] = None
  align_weight: float = 0.01
  init_from: Optional[str] = None
  nb_triplet_fts: int = 8
  nb_heads: int = 1
  average: bool = True
  select: str = 'auto'
  encoder_init: str = 'xavier_on_scalars'
  dropout_prob: float = 0.0
  freeze_processor: bool = False
  layout: str = 'auto'

  def __post_init__(self):
    algorithms = self.algorithms
    if isinstance(algorithms, str):
      algorithms = (algorithms,)
    object.__setattr__(self, 'algorithms', tuple(algorithms))
    object.__setattr__(self, 'train_sizes', tuple(self.train_sizes))
    if not self.algorithms:
      raise ValueError('algorithms must name at least one algorithm.')
    for algorithm in self.algorithms:
      samplers.check_choice('algorithm', algorithm, samplers.task_names())
    if len(set(self.algorithms)) < len(self.algorithms):
      raise ValueError(f'algorithms must not repeat one, got '
                       f'{", ".join(self.algorithms)}.')
    samplers.check_choice('model', self.model, MODELS)
    if self.model == 'nar':
      object.__setattr__(self, 'processor', self._without_prefix())
      samplers.check_choice('processor', self.processor, NAR_KINDS)
    elif self.processor in NAR_KINDS:
      raise ValueError(f"processor={self.processor} is that of a model=nar; "
                       f"did you mean 'dear_{self.processor}'?")
    else:
      samplers.check_choice('processor', self.processor, processors.KINDS)
    self._check_parts()
    samplers.check_choice('encoder_init', self.encoder_init, _ENCODER_INITS)
    samplers.check_choice('layout', self.layout, models.LAYOUTS)
    samplers.check_choice('select', self.select, SELECTIONS)
    for name in ('batch_size', 'hidden_size', 'train_steps', 'val_samples',
                 'test_samples', 'eval_every', 'checkpoint_every', 'log_every',
                 'nb_triplet_fts', 'nb_heads'):
      self._check_number(name, 1, whole=True)
    for algorithm in self.algorithms:
      for name in ('val_size', 'test_size'):
        self._check_number(name, samplers.min_size(algorithm), whole=True)
      samplers.check_size(algorithm, 'train_sizes', self.train_sizes)
    self._check_number('seed', 0, 2**31 - 1, whole=True)
    for name in ('learning_rate', 'grad_clip_max_norm', 'jacobian_weight',
                 'noise_stddev', 'backward_bound', 'align_weight'):
      self._check_number(name, 0)
    self._check_number('backward_decay', 0, 1)
    self._check_number('backward_max_iter', 1, whole=True)
    if not self.learning_rate:
      raise ValueError('learning_rate must be more than 0.')
    for name in ('dropout_prob', 'jacobian_fraction'):
      self._check_number(name, 0, 1)
    if not self.jacobian_fraction:
      raise ValueError('jacobian_fraction must be more than 0.')
    if self.dropout_prob == 1:
      raise ValueError('dropout_prob must be less than 1.')
    if self.train_samples is not None:
      self._check_number('train_samples', self.batch_size, whole=True)
    self.processor_factory()  # checks the solver's and gradient's options

  def _check_number(self, name: str, low: float, high: float = math.inf, *,
                    whole: bool = False):
    """Checks that a field is a number in [low, high]."""
    value = getattr(self, name)
    kinds = (int, np.integer) if whole else (int, float, np.number)
    if (isinstance(value, bool) or not isinstance(value, kinds) or
        not low <= value <= high or not math.isfinite(value)):
      kind = 'a whole number' if whole else 'a number'
      limits = (f'of at least {low}' if math.isinf(high)
                else f'from {low} to {high}')
      raise ValueError(f'{name} must be {kind} {limits}, got {value!r}.')

  def _without_prefix(self) -> str:
    return str(self.processor).removeprefix('dear_')

  def _check_parts(self):
    """Checks that the optional parts go together."""
    models.check_test_steps(self.test_steps)
    if self.layout == 'sparse':
      for algorithm in self.algorithms:
        if not samplers.has_graph(algorithm) or self.kind != 'dear_pgn':
          raise ValueError(
              f'layout=sparse needs a task with a graph and the processor '
              f'dear_pgn, not {algorithm} and {self.kind}; layout=auto takes '
              'it where it can.')
    if self.cgp:
      for algorithm in self.algorithms:
        if not samplers.has_graph(algorithm):
          raise ValueError(
              f'cgp is for tasks with a graph, and {algorithm} has none: its '
              'nodes are all connected already.')
    if self.model == 'dear' and self.test_steps != 'true':
      raise ValueError(f'test_steps={self.test_steps} needs model=nar: an '
                       'equilibrium has no number of steps.')
    if self.model == 'nar':
      for name in ('stochastic_depth', 'align_to'):
        if getattr(self, name):
          raise ValueError(f'{name} needs model=dear.')

  @property
  def kind(self) -> str:
    """The processor, as `get_processor_factory` calls it."""
    return f'dear_{self._without_prefix()}'

  @property
  def needs_lengths(self) -> bool:
    """Whether the number of steps of the algorithm has to be known."""
    return self.model == 'nar' or self.align_to is not None

  @property
  def keeps_last(self) -> bool:
    """Whether the parameters at the end are kept, not the best ones."""
    return self.select == 'last' or (self.select == 'auto' and self.average)

  def processor_factory(self):
    """The processor of this run, ready for a model."""
    return processors.get_processor_factory(
        self.kind, norm=self.norm, cgp=self.cgp, use_ln=self.use_ln,
        nb_triplet_fts=self.nb_triplet_fts, nb_heads=self.nb_heads,
        solver=solvers.SolverConfig(method=self.solver, tol=self.tol,
                                    max_iter=self.max_iter),
        backward=self.backward_solver(), gradient=self.gradient,
        backward_decay=self.backward_decay,
        backward_bound=self.backward_bound or math.inf)

  def backward_solver(self) -> solvers.SolverConfig:
    """The solver of the implicit gradient's linear system."""
    return solvers.SolverConfig(method=self.solver, tol=self.tol / 10,
                                max_iter=self.backward_max_iter)


PRESETS = {
    # For a laptop: one training size, so one compilation, and the gradient that
    # needs no backward solve, with the Jacobian weight of the paper's code. With
    # that gradient bfs does better at a smaller learning rate.
    'quick': TrainConfig(train_steps=1_000, train_sizes=(16, 16),
                         eval_every=100, gradient='one_step',
                         learning_rate=1e-3, jacobian_weight=1e-4),
    'default': TrainConfig(),
    # The three remedies that the paper combines for its results with alignment.
    'gas': TrainConfig(norm='granola', stochastic_depth=True),
    # 100 epochs of 1e5 samples, validated once an epoch.
    'paper': TrainConfig(learning_rate=3e-4, train_samples=100_000,
                         train_steps=312_500,
                         eval_every=3_125, select='best'),
}


# What settings were before there was a setting.
_BEFORE = {'average': False, 'select': 'best'}


def from_settings(settings: Mapping[str, Any]) -> TrainConfig:
  """The settings that were stored as a dictionary, by any version so far."""
  return TrainConfig(**{**_BEFORE, **settings})


def load_config(workdir: checkpoints.PathLike) -> TrainConfig:
  """Reads the settings of a run from its folder.

  Args:
    workdir: The run folder.

  Returns:
    The settings.

  Raises:
    checkpoints.RunError: if the folder holds no readable settings.
  """
  stored = checkpoints.read_json(workdir, 'config.json')
  try:
    return from_settings(stored['config'])
  except (KeyError, TypeError, ValueError) as e:
    raise checkpoints.RunError(
        f'The config.json in {os.fspath(workdir)} was not written by this '
        f'version of dear_jax ({e}).') from e
