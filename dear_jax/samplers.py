# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Hint-free sampling of CLRS tasks.

An equilibrium model reads neither hints nor their number, so a batch here
carries one hint step (CLRS' data layout asks for at least one) and lengths of
one. Every batch is a pure function of what was asked for and of its index: a
run that is resumed at batch 1,000 sees exactly what it would have seen.
"""

import collections
import collections.abc
import concurrent.futures
import difflib
import zlib
from typing import Any, Callable, Dict, Iterable, Iterator, List, Tuple, Union

import clrs
from dear_jax import progress
import numpy as np

Size = Union[int, Tuple[int, int]]

SPLITS = ('train', 'val', 'test')

# Several CLRS samplers cannot draw anything smaller.
MIN_SIZE = 4

# The tasks whose `pred_h` hint never changes and is really an input.
_PRED_AS_INPUT = frozenset({
    'activity_selector', 'binary_search', 'find_maximum_subarray',
    'find_maximum_subarray_kadane', 'jarvis_march', 'kmp_matcher',
    'lcs_length', 'matrix_chain_order', 'minimum', 'naive_string_matcher',
    'optimal_bst', 'task_scheduling',
})

# Erdos-Renyi edge probabilities, and the tasks that CLRS gives sparser graphs.
_EDGE_PROBABILITIES = tuple(i / 10 for i in range(1, 10))
_SPARSE_TASKS = frozenset(
    {'articulation_points', 'bipartite_matching', 'bridges', 'mst_kruskal'})


def task_names() -> Tuple[str, ...]:
  """The names that `make_sampler` takes."""
  return tuple(sorted(clrs.SPECS))


def check_choice(what: str, name: Any, known: Iterable[str]) -> None:
  """Raises a one-sentence ValueError unless `name` is one of `known`."""
  known = tuple(known)
  if name in known:
    return
  close = difflib.get_close_matches(str(name), known, n=1)
  hint = f' (did you mean {close[0]!r}?)' if close else ''
  raise ValueError(
      f'Unknown {what} {name!r}{hint}: choose from {", ".join(known)}.')


def drop_hints(sampler: Any) -> Any:
  """Cuts the hint axis to one step, and the lengths to one.

  With CLRS' own `BaselineModel` the net calls its processor once for every
  hint step. An equilibrium processor needs to be called once.

  Args:
    sampler: A `clrs.Feedback`, a `clrs.Sampler` (anything with
      `next(batch_size)`), or an iterable of feedbacks.

  Returns:
    The same kind of thing: a feedback, an object with `next(batch_size)`, or
    an iterator.

  Raises:
    TypeError: if `sampler` is none of the three.
  """
  if isinstance(sampler, clrs.Feedback):
    return _cut_feedback(sampler)
  if callable(getattr(sampler, 'next', None)):
    return _HintFreeSampler(sampler)
  if isinstance(sampler, collections.abc.Iterable):
    return map(_cut_feedback, iter(sampler))
  raise TypeError(
      'drop_hints takes a clrs.Feedback, a sampler with next(batch_size) or '
      f'an iterable of feedbacks, not a {type(sampler).__name__}.')


def _cut_feedback(feedback: clrs.Feedback) -> clrs.Feedback:
  features = feedback.features
  hints = [clrs.DataPoint(hint.name, hint.location, hint.type_, hint.data[:1])
           for hint in features.hints]
  return feedback._replace(features=features._replace(
      hints=type(features.hints)(hints),
      lengths=np.ones_like(features.lengths)))


class _HintFreeSampler:
  """A `clrs.Sampler` whose batches have one hint step."""

  def __init__(self, sampler):
    self._sampler = sampler

  def next(self, *args, **kwargs) -> clrs.Feedback:
    return _cut_feedback(self._sampler.next(*args, **kwargs))


class TaskSampler:
  """The batches of one split of one task; see `make_sampler`."""

  def __init__(self, task: str, *, size: Tuple[int, int], batch_size: int,
               seed: int, split: str):
    self._task = task
    self._size = size
    self._batch_size = batch_size
    self._entropy = (seed, SPLITS.index(split), zlib.crc32(task.encode()))
    self._random_pos = split == 'train'
    self._kwargs = {}
    # Passing an option that the task's sampler lacks logs a warning; the
    # tasks that take `p` are those with a graph among their inputs.
    if 'adj' in clrs.SPECS[task]:
      scale = 0.5 if task in _SPARSE_TASKS else 1.0
      self._kwargs['p'] = tuple(scale * p for p in _EDGE_PROBABILITIES)
    self.spec = _final_spec(task)
    self.index = 0

  def batch(self, index: int) -> clrs.Feedback:
    """The batch number `index`, whatever was asked for before."""
    words = np.random.SeedSequence(self._entropy + (index,)).generate_state(8)
    rng = np.random.RandomState(words[4:])
    low, high = self._size
    sampler, _ = clrs.build_sampler(
        self._task, num_samples=-1, seed=words[:4],
        length=int(rng.randint(low, high + 1)), track_max_steps=False,
        **self._kwargs)
    # The hints go first: whatever is done to them afterwards is then cheap.
    iterator = iter([drop_hints(sampler.next(self._batch_size))])
    if self._random_pos:
      iterator = clrs.process_random_pos(iterator, rng)
    if self._task in _PRED_AS_INPUT:
      _, iterator = clrs.process_pred_as_input({}, iterator)
    return enforce_permutations(_whole_pointers(next(iterator)))

  def __iter__(self) -> 'TaskSampler':
    return self

  def __next__(self) -> clrs.Feedback:
    feedback = self.batch(self.index)
    self.index += 1
    return feedback

  next = __next__

  @property
  def state(self) -> Dict[str, int]:
    """What a checkpoint has to hold: the index of the next batch."""
    return {'index': self.index}

  @state.setter
  def state(self, state: Dict[str, int]):
    self.index = int(state['index'])


def make_sampler(task: str, *, size: Size, batch_size: int, seed: int,
                 split: str) -> TaskSampler:
  """Builds the sampler of one split of one task.

  Graphs are Erdos-Renyi with an edge probability drawn uniformly from
  {0.1, ..., 0.9} for every graph (half of that for the four tasks that CLRS
  gives sparser graphs), in every split. Training batches have random
  positions; validation and test batches have the evenly spaced ones.

  Args:
    task: The name of a CLRS algorithm.
    size: The number of nodes, or an inclusive range `(low, high)` from which
      every batch draws one size.
    batch_size: Samples in a batch.
    seed: Any non-negative integer.
    split: 'train', 'val' or 'test'; splits share no randomness.

  Returns:
    A sampler with `spec`, `batch(index)`, `next()` and `state`.

  Raises:
    ValueError: if an argument is not one of those.
  """
  check_choice('task', task, task_names())
  check_choice('split', split, SPLITS)
  low, high = (size, size) if isinstance(size, (int, np.integer)) else size
  if not MIN_SIZE <= low <= high:
    raise ValueError(f'size must be at least {MIN_SIZE}, or a range (low, '
                     f'high) of such sizes, got {size!r}.')
  if batch_size < 1:
    raise ValueError(f'batch_size must be at least 1, got {batch_size!r}.')
  if seed < 0:
    raise ValueError(f'seed must not be negative, got {seed!r}.')
  sampler = TaskSampler(task, size=(int(low), int(high)),
                        batch_size=batch_size, seed=seed, split=split)
  # CLRS warns, once a process, that it samples on the fly; that is the point
  # here, and the first sampler built says it unheard.
  with progress.quiet_absl():
    clrs.build_sampler(task, num_samples=-1, length=int(low),
                       track_max_steps=False)
  return sampler


def _final_spec(task: str) -> Dict[str, Any]:
  """The spec of a task's batches, after what `TaskSampler.batch` does."""
  spec = clrs.SPECS[task]
  if task in _PRED_AS_INPUT:
    spec, _ = clrs.process_pred_as_input(spec, iter(()))
  spec, _ = clrs.process_permutations(spec, iter(()), True)
  return spec


def _whole_pointers(feedback: clrs.Feedback) -> clrs.Feedback:
  """Makes pointer inputs integers.

  CLRS keeps hints as floats, and so the input that once was a hint; jax
  deprecates one-hot encodings of floats.
  """
  inputs = [
      clrs.DataPoint(x.name, x.location, x.type_, x.data.astype(np.int64))
      if x.type_ == clrs.Type.POINTER else x for x in feedback.features.inputs]
  return feedback._replace(features=feedback.features._replace(inputs=inputs))


def enforce_permutations(feedback: clrs.Feedback) -> clrs.Feedback:
  """`clrs.process_permutations(..., enforce=True)` for one feedback, in numpy.

  CLRS' version runs jax operations one by one, on the very device that trains.
  """
  features = feedback.features
  return feedback._replace(
      features=features._replace(
          inputs=tuple(_permutation_probes(features.inputs)),
          hints=tuple(_permutation_probes(features.hints))),
      outputs=_permutation_probes(feedback.outputs))


def _permutation_probes(
    probes: Iterable[clrs.DataPoint]) -> List[clrs.DataPoint]:
  """Splits should-be permutations into a permutation and its first node."""
  result = []
  for probe in probes:
    if probe.type_ != clrs.Type.SHOULD_BE_PERMUTATION:
      result.append(probe)
      continue
    permutation, first = _cyclic_permutation(np.asarray(probe.data))
    result.append(clrs.DataPoint(
        probe.name, probe.location, clrs.Type.PERMUTATION_POINTER,
        permutation))
    result.append(clrs.DataPoint(
        probe.name + '_mask', probe.location, clrs.Type.MASK_ONE, first))
  return result


def _cyclic_permutation(pointers: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
  """Closes linked lists of predecessors into cycles.

  Args:
    pointers: [..., N]; the first node of every list points to itself.

  Returns:
    One-hot pointers [..., N, N] in which the first node points to the last
    one, and a one-hot mask [..., N] of the first node.
  """
  one_hot = np.eye(pointers.shape[-1], dtype=np.float32)
  permutation = one_hot[pointers.astype(np.int64)]
  # No node points to the last one; only the first one points to itself.
  last = one_hot[permutation.sum(axis=-2).argmin(axis=-1)]
  first = one_hot[
      np.diagonal(permutation, axis1=-2, axis2=-1).argmax(axis=-1)]
  permutation += first[..., :, None] * (last - first)[..., None, :]
  return permutation, first


class Prefetcher:
  """Makes items ahead of time, in one background thread.

  An item has to be a function of its index alone. A failure in the background
  is raised by the `next` that would have returned the item. Use it as a
  context manager: on exit nothing is left running.
  """

  def __init__(self, make: Callable[[int], Any], start: int, stop: int, *,
               depth: int = 2):
    """Initialises the prefetcher.

    Args:
      make: Gives the item of an index.
      start: The first index.
      stop: One past the last index.
      depth: How many items to keep ready.
    """
    self._make = make
    self._indices = iter(range(start, stop))
    self._depth = depth
    self._pending = collections.deque()
    self._executor = concurrent.futures.ThreadPoolExecutor(
        max_workers=1, thread_name_prefix='dear_jax_prefetch')

  def __enter__(self) -> 'Prefetcher':
    self._fill()
    return self

  def __exit__(self, *unused_exc_info):
    self._executor.shutdown(wait=True, cancel_futures=True)

  def __iter__(self) -> Iterator[Any]:
    return self

  def __next__(self) -> Any:
    if not self._pending:
      raise StopIteration
    future = self._pending.popleft()
    self._fill()
    return future.result()

  def _fill(self):
    while len(self._pending) < self._depth:
      index = next(self._indices, None)
      if index is None:
        return
      self._pending.append(self._executor.submit(self._make, index))
