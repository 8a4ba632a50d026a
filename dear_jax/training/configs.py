# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""The settings of a training run, checked where they are made.

This is their one home: flags, `--help`, config.json and docs/settings.md are
made from the fields of `TrainConfig`; see `settings`. Importing this takes
neither JAX nor CLRS, and nor do most checks.
"""

import dataclasses
import math
import os
import typing
from typing import Any, Mapping, Optional, Tuple, Union

from dear_jax.data import graph_names
from dear_jax.data import own_tasks
from dear_jax.data import task_names
from dear_jax.networks import damping as damping_lib
from dear_jax.networks import kinds
from dear_jax.networks import own_steps
from dear_jax.training import old_settings
from dear_jax.training import run_folder
from dear_jax.training import settings
from dear_jax.training import task_checks
from dear_jax.training.settings import setting

# pylint: disable=g-import-not-at-top
if typing.TYPE_CHECKING:
  from dear_jax.fixed_points import solvers

# What only the damped gradient has.
DAMPED_SETTINGS = ('backward_max_iter', 'backward_decay', 'backward_bound')


@settings.documented
@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainConfig:
  """The settings of a run.

  The defaults are the paper's, except for how long is trained and for what goes
  with the damped gradient: the gradient itself, the learning rate, the average,
  which parameters are kept, the Jacobian penalty and that on residuals.
  `PRESETS['paper']` has the paper's there too.
  """
  algorithms: Tuple[str, ...] = setting(
      ('bfs',), 'Tasks to train on; several, separated by commas, share one '
      'processor. Any algorithm of CLRS, search (in parallel), or '
      'strongly_connected_components_local.', flag='algorithm',
      heading='Task and model')
  model: str = setting(
      'dear', "dear solves for an equilibrium; nar is the paper's baseline, "
      'which takes as many steps as the algorithm did.',
      choices=('dear', 'nar'))
  processor: str = setting(
      'dear_pgn', "Kind of processor. dear_pgn and dear_triplet_mpnn are the "
      "paper's; any kind of CLRS with dear_ in front is another. Those of a "
      'nar have the same names without dear_.')
  hidden_size: int = setting(128, 'Width of the node states.', low=1)
  use_ln: bool = setting(True, 'Whether the processor ends in a norm.')
  norm: str = setting(
      'layer', 'Norm at the end of the processor, if use_ln; granola is for '
      "the paper's two processors.", choices=kinds.NORMS)
  nb_triplet_fts: int = setting(
      8, 'Triplet features, for processors that have some.', low=1)
  nb_heads: int = setting(
      1, 'Attention heads, for processors that have some.', low=1)
  cgp: bool = setting(
      False, 'Cayley graph propagation: whether every step is followed by one '
      'on a Cayley graph; for tasks with a graph.')
  encoder_init: str = setting(
      'xavier_on_scalars', 'Initialiser of the encoders, as in CLRS.',
      choices=('default', 'xavier_on_scalars'))
  layout: str = setting(
      'auto', 'Where messages are computed: on all pairs of nodes (dense), on '
      'lists of edges (sparse) or where it is faster. Results are the same but '
      'for rounding and what is drawn at random.',
      choices=('auto', 'dense', 'sparse'))
  restrict_pointers: Union[str, bool] = setting(
      'auto', "Whether the pointers of nodes are chosen among a node's edges "
      'and itself, as in the paper, and those of pairs (i, j) among i and the '
      'nodes with an edge to j (true), or all among all nodes, as in CLRS '
      '(false). auto is true for the tasks whose solutions always lie on '
      'edges, and nodes is auto for the pointers of nodes only. result.json '
      'says which it was.', choices=('auto', 'nodes', 'true', 'false'))
  edge_pointers: str = setting(
      'clrs', "Decoder of the pointers of pairs of nodes, which floyd_warshall "
      "has: CLRS's, which scores a node for a pair without looking at what is "
      'between them (clrs), or one that sees all three pairs of the three '
      'nodes (triplet), also after looking for paths (paths).',
      choices=kinds.EDGE_POINTERS)
  scalars: str = setting(
      'linear', 'How numbers are encoded: each on its own, as in CLRS '
      '(linear), or also by how they differ, at several scales, from those of '
      'other nodes and of the graph (differences), and of edges that begin or '
      'end where an edge does (relative); or by differences (units) or '
      'relative (relative_units), with those of edges in a unit of their '
      'graph.', choices=kinds.SCALARS)
  self_loops: bool = setting(
      True, 'Whether the network sees which nodes have an edge to themselves, '
      'which CLRS draws like any other. They change no answer, unless every '
      'pair of nodes has one; there they are always seen.')

  solver: str = setting(
      'anderson', 'Fixed-point solver.', heading='Solver and gradient',
      choices=('anderson', 'picard', 'broyden'))
  tol: float = setting(
      0.1, 'Relative residual at which an instance has converged.', above=0)
  criterion: str = setting(
      'state', 'What has to be at rest when an instance has converged: its '
      'state as a whole (state), as in the paper, or every single node '
      '(node).', choices=('state', 'node'))
  test_criterion: str = setting(
      'same', 'The same for the test: as in training (same), or as criterion '
      'has it. The last nodes of a large graph may still be moving when its '
      'state as a whole hardly does.', choices=('same', 'state', 'node'))
  damping: float = setting(
      1.0, 'How much of each step the solver takes. With less than 1, nodes '
      'that would flip back and forth come to rest.', above=0, high=1)
  restart: bool = setting(
      False, 'Whether the solver forgets what it remembers of an instance when '
      'a part of it that was at rest begins to move. Where news travels from '
      'node to node, Anderson acceleration would hold it up.')
  max_iter: int = setting(
      40, 'The most solver steps in training; four times as many in validation '
      'and test.', low=1)
  gradient: str = setting(
      'damped', 'Gradient of the equilibrium. damped is the implicit one with '
      'a decay, a bound and a limit of its own; implicit is exact, with the '
      'limit of the forward solver. docs/implicit.md tells which to choose.',
      choices=('damped', 'implicit', 'one_step', 'unrolled'))
  backward_max_iter: Optional[int] = setting(
      damping_lib.MAX_ITER, 'The most solver steps of the damped gradient. '
      'What an instance has by then is taken: one that would need more has a '
      'step that is hardly contractive, and would hold up the batch.', low=1)
  backward_decay: Optional[float] = setting(
      damping_lib.DECAY, 'Decay d of the damped gradient, which solves '
      'u = d J^T u + g: 1 is exact but can be all noise, 0 is the one-step '
      'gradient.', low=0, high=1)
  backward_bound: Optional[float] = setting(
      damping_lib.BOUND, 'The damped gradient u of an instance is at most this '
      'many times as long as g; 0 for no bound.', low=0)
  jacobian_weight: float = setting(
      0.01, "Weight of the Jacobian penalty. The paper's code has 0.0001, and "
      'the one-step gradient; docs/implicit.md tells why this is more.', low=0)
  jacobian_fraction: float = setting(
      0.25, 'Share of a batch that the Jacobian penalty is estimated on.',
      above=0, high=1)
  residual_weight: float = setting(
      3.0, 'Weight of the residual penalty: how much one more step would '
      'change, where a solve takes long. Without it training leaves the '
      'equilibrium on some tasks (docs/implicit.md).', low=0)
  wanted_steps: float = setting(
      10.0, 'Solver steps from which on the residual penalty applies to an '
      'instance: at k times as many it counts k^2 - 1 times. With 0 it applies '
      'to all alike.', low=0)

  batch_size: int = setting(
      32, 'Samples in a training batch.', low=1, heading='Training')
  train_steps: int = setting(
      10_000, 'Steps in all, each with one batch of every algorithm.', low=1)
  learning_rate: float = setting(
      2e-3, 'Learning rate of Adam. The paper has 0.0003, without an average '
      'of the parameters; with one, 0.002 is better (docs/implicit.md).',
      above=0)
  grad_clip_max_norm: float = setting(
      1.0, 'Norm to which gradients are clipped; 0 does not clip.', low=0)
  seed: int = setting(
      42, 'Seed of everything random.', low=0, high=2**31 - 1)
  average: bool = setting(
      True, 'Whether to validate and keep the average of the parameters over '
      'the last tenth of the steps, in place of the last ones.')
  select: str = setting(
      'auto', 'Which parameters are kept at the end: the best, with the lowest '
      'validation loss, as in the paper; the last; or auto, the last if they '
      'are averages and otherwise the best. Until then the best are kept.',
      choices=('auto', 'best', 'last'))
  dropout_prob: float = setting(
      0.0, 'Dropout on the states before they are decoded, in training.', low=0,
      below=1)
  noise_stddev: float = setting(
      0.0, "Noise on the processor's output, in training. The paper's code has "
      '0.001.', low=0)
  stochastic_depth: bool = setting(
      False, 'Whether to take a random number of further steps from the '
      'equilibrium, in training.')
  freeze_processor: bool = setting(
      False, 'Whether to train encoders and decoders only.')
  init_from: Optional[str] = setting(
      None, 'Folder of a run, dear or nar, whose parameters training starts '
      'from.')
  align_to: Optional[str] = setting(
      None, 'Folder of a trained run with model=nar, whose states those of the '
      'solve are drawn to.')
  align_weight: float = setting(
      0.01, 'Weight of the distance to the states of align_to.', low=0)
  contrastive_weight: float = setting(
      0.0, 'Weight of the contrastive loss: every sample is solved with a '
      'twin, of other numbers in the same order, and the states of both are to '
      'be alike, node by node; for tasks on arrays of keys.', low=0)

  train_sizes: Tuple[int, int] = setting(
      (8, 16), 'Smallest and largest training size. Every batch has one size, '
      'drawn uniformly; every size costs one compilation.',
      flag='train_lengths', heading='Data')
  graphs: str = setting(
      graph_names.ER, 'Family of graphs of training, validation and test, for '
      "the paper's tasks with a graph; mixed draws one for every sample. "
      'docs/data.md tells what they are.', choices=graph_names.CHOICES)
  train_samples: Optional[int] = setting(
      None, 'Samples in the training set, rounded down to whole batches, in '
      'another order in every epoch. Without it samples are fresh for ever.',
      low=1)
  val_size: int = setting(16, 'Size of the validation samples.', low=2)
  val_samples: int = setting(
      100, 'Validation samples of every algorithm, a fixed set, rounded up to '
      'whole batches of equal size: another size of batch would cost another '
      'compilation.', low=1)
  test_size: int = setting(64, 'Size of the test samples.', low=2)
  test_samples: int = setting(
      100, 'Test samples of every algorithm, rounded up likewise.', low=1)
  test_steps: Union[str, int] = setting(
      'true', 'Steps of a nar in validation and test: the true number, what it '
      'has learned, or always that many.', choices=('true', 'learned'), low=1)
  data_cache: Optional[str] = setting(
      None, 'Folder that keeps the samples. It pays off for tasks that CLRS '
      'draws.')

  eval_every: int = setting(
      50, 'Steps between two validations. A run that ends in between is '
      'validated once more.', low=1, heading='Intervals')
  checkpoint_every: int = setting(
      500, 'Steps between two checkpoints.', low=1)
  log_every: int = setting(
      10, 'Steps between two training lines in metrics.jsonl.', low=1)

  def __post_init__(self):
    if isinstance(self.algorithms, str):
      self._set('algorithms', (self.algorithms,))
    self._set('algorithms', tuple(self.algorithms))
    if isinstance(self.restrict_pointers, bool):
      self._set('restrict_pointers', str(self.restrict_pointers).lower())
    for name, about in SETTINGS.items():
      about.check(getattr(self, name))
    self._check_algorithms()
    self._check_processor()
    self._check_gradient()
    self._check_parts()
    if self.restrict_pointers == 'true':
      task_checks.check_pointers(self.algorithms)

  def _set(self, name: str, value: Any):
    object.__setattr__(self, name, value)

  def _check_algorithms(self):
    """Checks the names of algorithms, and sizes and samples with them."""
    if not self.algorithms:
      raise ValueError('algorithms must name at least one algorithm.')
    for algorithm in self.algorithms:
      task_names.check_choice('algorithm', algorithm, task_names.known_tasks(),
                              own_tasks.REMEDY)
      for name in ('val_size', 'test_size'):
        dataclasses.replace(
            SETTINGS[name], low=task_names.min_size(algorithm)
        ).check(getattr(self, name))
      self._set('train_sizes', task_names.check_size(
          algorithm, 'train_sizes', self.train_sizes))
      graph_names.check_graphs(algorithm, self.graphs)
    if len(set(self.algorithms)) < len(self.algorithms):
      raise ValueError(f'algorithms must not repeat one, got '
                       f'{", ".join(self.algorithms)}.')
    dataclasses.replace(SETTINGS['train_samples'], low=self.batch_size).check(
        self.train_samples)

  def _check_processor(self):
    """Checks the kind, and what goes with it; that of a nar has no prefix."""
    known = kinds.known_kinds()
    plain = tuple(kind.removeprefix(kinds.PREFIX) for kind in known)
    if self.model == 'nar':
      self._set('processor', str(self.processor).removeprefix(kinds.PREFIX))
      task_names.check_choice('processor', self.processor, plain,
                              own_steps.REMEDY)
    elif self.processor in plain:
      raise ValueError(f"processor={self.processor} is that of a model=nar; "
                       f"did you mean 'dear_{self.processor}'?")
    else:
      task_names.check_choice('processor', self.processor, known,
                              own_steps.REMEDY)
    kinds.check_norm(self.norm, self.kind, self.use_ln)
    kinds.check_cgp(self.cgp, self.kind)

  def _check_gradient(self):
    """Settings that the gradient does not have are None."""
    for name in DAMPED_SETTINGS:
      default, value = SETTINGS[name].default, getattr(self, name)
      if self.gradient != 'damped':
        # The default is what `dataclasses.replace` brings along.
        if value is not None and value != default:
          raise ValueError(f'{name}={value} is a setting of gradient=damped; '
                           f'gradient={self.gradient} has no such setting.')
        self._set(name, None)
      elif value is None:
        self._set(name, default)

  def _check_parts(self):
    """Checks that the optional parts go together."""
    if self.layout == 'sparse' or self.cgp:
      task_checks.check_graphs(self.algorithms, self.layout, self.cgp,
                               self.kind)
    if self.model == 'dear' and self.test_steps != 'true':
      raise ValueError(f'test_steps={self.test_steps} needs model=nar: an '
                       'equilibrium has no number of steps.')
    if self.needs_lengths:
      own_tasks.check_lengths(self.algorithms)
    if self.contrastive_weight:
      task_names.check_twins(self.algorithms)
    if self.model == 'nar':
      for name in ('noise_stddev', 'stochastic_depth', 'align_to',
                   'contrastive_weight'):
        if getattr(self, name):
          raise ValueError(f'{name} needs model=dear.')

  @property
  def kind(self) -> str:
    """The processor, as `get_processor_factory` calls it."""
    return kinds.PREFIX + self.processor.removeprefix(kinds.PREFIX)

  @property
  def needs_lengths(self) -> bool:
    """Whether the number of steps of the algorithm has to be known."""
    return self.model == 'nar' or self.align_to is not None

  @property
  def keeps_last(self) -> bool:
    """Whether the parameters at the end are kept, not the best ones."""
    return self.select == 'last' or (self.select == 'auto' and self.average)

  @property
  def for_test(self) -> 'TrainConfig':
    """The settings of the test."""
    if self.test_criterion == 'same' or self.model == 'nar':
      return self
    return dataclasses.replace(self, criterion=self.test_criterion,
                               test_criterion='same')

  @property
  def pointer_rule(self) -> Union[bool, str, None]:
    """`restrict_pointers`, as models take it."""
    rule = str(self.restrict_pointers)
    return {'true': True, 'false': False, 'auto': None}.get(rule, rule)

  def restricts_pointers(self, algorithm: str) -> bool:
    """Whether pointers of this algorithm are chosen among edges only."""
    from dear_jax.data import tasks
    from dear_jax.networks import pointers
    return pointers.restricts(tasks.spec_of(algorithm), self.pointer_rule)

  def processor_factory(self):
    """The processor of this run, ready for a model."""
    from dear_jax.networks import processors
    bound = self.backward_bound
    return processors.get_processor_factory(
        self.kind, norm=self.norm, cgp=self.cgp, use_ln=self.use_ln,
        nb_triplet_fts=self.nb_triplet_fts, nb_heads=self.nb_heads,
        solver=self.forward_solver(), backward=self.backward_solver(),
        gradient=self.gradient, backward_decay=self.backward_decay,
        backward_bound=math.inf if bound == 0 else bound)

  def forward_solver(self) -> 'solvers.SolverConfig':
    """The solver of the equilibrium, in training."""
    from dear_jax.fixed_points import solvers
    return solvers.SolverConfig(
        method=self.solver, tol=self.tol, max_iter=self.max_iter,
        part_axis=1 if self.criterion == 'node' else None,
        damping=self.damping, restart=self.restart)

  def backward_solver(self) -> 'solvers.SolverConfig':
    """The solver of the linear system of the damped or implicit gradient."""
    from dear_jax.networks import gradients
    # Of a linear system no part flips back and forth for want of damping.
    solver = gradients.backward_solver(self.gradient, dataclasses.replace(
        self.forward_solver(), damping=1.0))
    if self.backward_max_iter is None:
      return solver
    return dataclasses.replace(solver, max_iter=self.backward_max_iter)


SETTINGS = {x.name: x for x in settings.of(TrainConfig)}

PRESETS = {
    # For a laptop: one training size, so one compilation, and the gradient that
    # needs no backward solve, with the Jacobian weight of the paper's code.
    # With that gradient bfs does better at a smaller learning rate.
    'quick': TrainConfig(train_steps=1_000, train_sizes=(16, 16),
                         eval_every=100, gradient='one_step',
                         learning_rate=1e-3, jacobian_weight=1e-4,
                         residual_weight=0.0, wanted_steps=0.0),
    'default': TrainConfig(),
    # More than the paper's encoder, and what `best_settings` adds by task.
    'best': TrainConfig(scalars='units', self_loops=False),
    # The three remedies that the paper combines for its results with alignment.
    'gas': TrainConfig(norm='granola', stochastic_depth=True),
    # The paper to the letter: the exact gradient, the Jacobian penalty on whole
    # batches with the weight of the paper's code, and the parameters with the
    # lowest validation loss. 100 epochs of 1e5 samples, each validated once.
    'paper': TrainConfig(gradient='implicit', jacobian_weight=1e-4,
                         jacobian_fraction=1.0, residual_weight=0.0,
                         wanted_steps=0.0, learning_rate=3e-4,
                         average=False, select='best', train_samples=100_000,
                         train_steps=312_500, eval_every=3_125),
}


def from_settings(stored: Mapping[str, Any]) -> TrainConfig:
  """The settings that were stored as a dictionary, by any version so far."""
  return TrainConfig(**old_settings.complete(stored))


def complete_settings(stored: Mapping[str, Any]) -> Mapping[str, Any]:
  """The same as a dictionary of all settings that there are today."""
  return dataclasses.asdict(from_settings(stored))


def load_config(workdir: run_folder.PathLike) -> TrainConfig:
  """Reads the settings of a run from its folder.

  Args:
    workdir: The run folder.

  Returns:
    The settings.

  Raises:
    run_folder.RunError: if the folder holds no readable settings.
  """
  stored = run_folder.read_json(workdir, 'config.json')
  try:
    return from_settings(stored['config'])
  except (KeyError, OverflowError, TypeError, ValueError) as e:
    raise run_folder.RunError(
        f'The config.json in {os.fspath(workdir)} cannot be used here '
        f'({e}).') from e
