# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tasks of one's own, beside those of CLRS and of the paper."""

import dataclasses
from typing import Any, Callable, Dict, Optional

import clrs
from dear_jax.data import logs
from dear_jax.data import own_tasks
from dear_jax.data import streams
from dear_jax.data import tasks
from dear_jax.networks import own_steps
import numpy as np

_Arrays = Dict[str, np.ndarray]

_STAGES = (clrs.Stage.INPUT, clrs.Stage.OUTPUT, clrs.Stage.HINT)
_LOCATIONS = (clrs.Location.NODE, clrs.Location.EDGE, clrs.Location.GRAPH)
_TYPES = (clrs.Type.SCALAR, clrs.Type.CATEGORICAL, clrs.Type.MASK,
          clrs.Type.MASK_ONE, clrs.Type.POINTER, clrs.Type.SOFT_POINTER,
          clrs.Type.SHOULD_BE_PERMUTATION, clrs.Type.PERMUTATION_POINTER)
_ENTRY = (_STAGES, _LOCATIONS, _TYPES)
_POS = (clrs.Stage.INPUT, clrs.Location.NODE, clrs.Type.SCALAR)

# Samples that are drawn when a task is registered, to see what it gives.
_TRIED = 2


@dataclasses.dataclass(frozen=True)
class _BatchTask(tasks.Task):
  has_length: bool = True


class _SamplerTask(tasks.ClrsTask):
  """A task from a sampler that was written as CLRS's are."""

  has_length = True

  # pylint: disable=super-init-not-called
  def __init__(self, spec, sampler, algorithm, min_size):
    self.spec = spec
    self.min_size = min_size
    self.algorithm = algorithm
    self._make = sampler

  def _sampler(self, seed, size):
    return self._make(self.algorithm, self.spec, -1, seed=seed, length=size,
                      track_max_steps=False)


def register_task(
    name: str,
    spec: clrs.Spec,
    draw: Optional[Callable[[streams.Draws], _Arrays]] = None,
    solve: Optional[Callable[..., _Arrays]] = None,
    *,
    first_hints: Optional[Callable[..., _Arrays]] = None,
    length: Optional[Callable[..., np.ndarray]] = None,
    sampler: Optional[Callable[..., clrs.Sampler]] = None,
    algorithm: Optional[Callable[..., Any]] = None,
    min_size: Optional[int] = None) -> None:
  """Makes a task of one's own known, everywhere in this process.

  `make_sampler`, `make_splits` and `TrainConfig` then take its name. The
  commands in experiments/ know it if --import names the file that registers
  it. A task has either `draw` and `solve`, for whole batches of numpy arrays,
  or `sampler` and `algorithm`, as CLRS has them, for one sample at a time.

  >>> import numpy as np
  >>> register_task(
  ...     'largest_key',
  ...     spec={'pos': ('input', 'node', 'scalar'),
  ...           'key': ('input', 'node', 'scalar'),
  ...           'largest': ('output', 'node', 'mask_one')},
  ...     draw=lambda draws: {'key': draws.uniforms(draws.size)},
  ...     solve=lambda key: {
  ...         'largest': np.eye(key.shape[1])[key.argmax(axis=1)]})
  >>> from dear_jax.data import samplers
  >>> batch = samplers.make_sampler('largest_key', size=5, batch_size=3, seed=0,
  ...                               split='train').next()
  >>> batch.outputs[0].data.shape
  (3, 5)

  Args:
    name: Of the task.
    spec: As in `clrs.SPECS`: stage, location and type of every name. There has
      to be a 'pos', as in all specs of CLRS, and an output.
    draw: Draws problems from a `streams.Draws`: a dictionary with the arguments
      of `solve`. There has to be an 'A' [B, N, N] or a 'key' [B, N].
    solve: Gives the outputs of problems, by their names in the spec.
    first_hints: Gives the first step of hints of problems; only if the spec has
      hints. No model here reads them.
    length: Gives the number [B] of steps of hints of problems, which is what
      `model='nar'` and `align_to` go by; the others do without.
    sampler: A class like those in CLRS: a `clrs.Sampler` with `_sample_data`,
      whose argument `length` is the size.
    algorithm: The function that CLRS's samplers are made with: it takes what
      `_sample_data` returns and gives its result, and probes.
    min_size: The smallest size that can be drawn: 2, with a sampler 4.

  Raises:
    ValueError: if there is such a task already, unless it is the very same, or
      if what a first sample consists of is not what the spec says.
  """
  if not isinstance(name, str) or not name.isidentifier():
    raise ValueError('A task needs a name of letters, digits and underscores, '
                     f'got {name!r}.')
  by_batch = [x is not None for x in (draw, solve)]
  by_sample = [x is not None for x in (sampler, algorithm)]
  if sorted((by_batch, by_sample)) != [[False, False], [True, True]]:
    raise ValueError(f'The task {name} needs draw and solve, or sampler and '
                     'algorithm.')
  _check_clash(name, algorithm if draw is None else solve)
  _check_spec(name, spec)
  if draw is None:
    if first_hints or length:
      raise ValueError('first_hints and length are for a task with draw and '
                       f'solve; those of {name} are known from its algorithm.')
    task: Any = _SamplerTask(
        spec, sampler, algorithm,
        tasks.ClrsTask.min_size if min_size is None else min_size)
  else:
    assert solve is not None  # as was checked
    if length is None:
      no_length: Any = lambda **unused: own_tasks.check_lengths([name])
    task = _BatchTask(
        spec=spec, draw=draw, solve=solve,
        first_hints=first_hints or (lambda **unused: {}),
        length=no_length if length is None else length,
        min_size=2 if min_size is None else min_size,
        has_length=length is not None)
  _try_out(name, task)
  own_tasks.REGISTERED[name] = task


def _check_clash(name: str, solver: Any) -> None:
  """Raises a ValueError if a name belongs to another task."""
  taken = None
  if name in tasks.TASKS or name in clrs.SPECS:
    taken = 'a task of dear_jax or of CLRS'
  elif name in own_tasks.REGISTERED:
    present = own_tasks.REGISTERED[name]
    present = getattr(present, 'solve', None) or present.algorithm
    if not own_steps.is_same(present, solver):
      taken = f'the task of {own_steps.describe(present)}'
  if taken:
    raise ValueError(f'{name!r} is {taken} already; that of '
                     f'{own_steps.describe(solver)} needs another name.')


def _check_spec(name: str, spec: clrs.Spec) -> None:
  """Raises a ValueError unless this is a spec as CLRS has them."""
  for probe, entry in spec.items():
    if not (isinstance(entry, (tuple, list)) and len(entry) == 3
            and all(x in known for x, known in zip(entry, _ENTRY))):
      raise ValueError(
          f'In the spec of {name}, {probe!r} must have a stage, a location and '
          f'a type, got {entry!r}. Stages are {", ".join(_STAGES)}; locations '
          f'{", ".join(_LOCATIONS)}; types {", ".join(_TYPES)}.')
  if spec.get('pos') != _POS:
    raise ValueError(f"The spec of {name} needs an entry 'pos': {_POS}, the "
                     'positions of the nodes, as all of CLRS have it.')
  if not any(stage == clrs.Stage.OUTPUT for stage, _, _ in spec.values()):
    raise ValueError(f'The spec of {name} has no output.')


def _try_out(name: str, task: Any) -> None:
  """Raises a ValueError unless a small batch has what the spec says."""
  size = task.min_size
  draws = streams.Draws(streams.Stream(0), np.arange(_TRIED), split=0,
                        size=size)
  try:
    with logs.quiet_absl():
      feedback = task.sample(draws, random_pos=True)
  except KeyError as e:
    raise ValueError(
        f'A first sample of {name} has no {e}: draw has to give A or key, and '
        'draw, solve and first_hints all that is in the spec.') from e
  axes = {clrs.Location.NODE: (_TRIED, size),
          clrs.Location.EDGE: (_TRIED, size, size),
          clrs.Location.GRAPH: (_TRIED,)}
  for point in (*feedback.features.inputs, *feedback.outputs):
    expected = axes[point.location]
    if np.shape(point.data)[:len(expected)] != expected:
      raise ValueError(
          f'{point.name} of {name} is on a {point.location}, so for {_TRIED} '
          f'samples of size {size} its shape has to begin with {expected}, got '
          f'{np.shape(point.data)}.')
