# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Hint-free sampling.

An equilibrium model reads neither hints nor their number, so a batch here
carries one hint step (CLRS' data layout asks for at least one) and lengths of
one, unless the number of CLRS' steps is asked for. Every sample is a pure
function of the seed, the split, its size and its number: whoever draws it, and
in whatever order, gets the same.
"""

import collections.abc
import functools
from typing import Any, Dict, Iterator, Optional, Tuple, Union
import zlib

import clrs
from dear_jax.data import data_cache
from dear_jax.data import free_memory
from dear_jax.data import graph_names
from dear_jax.data import own_tasks
from dear_jax.data import permutations as permutations_lib
from dear_jax.data import sparse_samples
from dear_jax.data import streams
from dear_jax.data import task_names as names
from dear_jax.data import tasks
from dear_jax.networks import specs
import numpy as np

Size = Union[int, Tuple[int, int]]

SPLITS = ('train', 'val', 'test')

# What a pair of nodes takes at least while a batch is drawn: a random number,
# its weight and whether it is an edge.
_BYTES_A_PAIR = 24

check_choice = names.check_choice
check_size = names.check_size
min_size = names.min_size
task_names = tasks.task_names

# The tasks whose `pred_h` hint never changes and is really an input.
_PRED_AS_INPUT = frozenset({
    'activity_selector', 'binary_search', 'find_maximum_subarray',
    'find_maximum_subarray_kadane', 'jarvis_march', 'kmp_matcher',
    'lcs_length', 'matrix_chain_order', 'minimum', 'naive_string_matcher',
    'optimal_bst', 'task_scheduling',
})


def has_graph(task: str) -> bool:
  """Whether a task comes with a graph; the nodes of others are an array."""
  return specs.has_graph(tasks.spec_of(task))


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
    return tasks.first_hint_step(sampler)
  if callable(getattr(sampler, 'next', None)):
    return _HintFreeSampler(sampler)
  if isinstance(sampler, collections.abc.Iterable):
    return map(tasks.first_hint_step, iter(sampler))
  raise TypeError(
      'drop_hints takes a clrs.Feedback, a sampler with next(batch_size) or '
      f'an iterable of feedbacks, not a {type(sampler).__name__}.')


class _HintFreeSampler:
  """A `clrs.Sampler` whose batches have one hint step."""

  def __init__(self, sampler):
    self._sampler = sampler

  def next(self, *args, **kwargs) -> clrs.Feedback:
    return tasks.first_hint_step(self._sampler.next(*args, **kwargs))


class TaskSampler:
  """The batches of one split of one task; see `make_sampler`.

  Attributes:
    spec: The spec of the batches.
    batch_size: Samples in a batch.
    num_samples: Samples in the set, or None if there is no end of them.
    index: The number of the next batch.
  """

  def __init__(self, task: str, *, size: Tuple[int, int], batch_size: int,
               seed: int, split: str, num_samples: Optional[int],
               random_pos: bool, pred_as_input: bool, permutations: bool,
               cache_dir: Optional[str], with_lengths: bool = False,
               graphs: str = graph_names.ER, sparse: bool = False,
               mean_degree: Optional[float] = None):
    self._task = tasks.get_task(task)
    self._name = task
    self._sparse = sparse
    self._mean_degree = mean_degree
    self._split = split
    self._lane = SPLITS.index(split)
    self._sizes = size
    self._random_pos = random_pos
    self._pred_as_input = pred_as_input and task in _PRED_AS_INPUT
    self._permutations = permutations
    self._with_lengths = with_lengths
    self._graphs = graphs
    self._has_order = any(type_ == clrs.Type.SHOULD_BE_PERMUTATION
                          for _, _, type_ in self._task.spec.values())
    entropy = (seed, zlib.crc32(task.encode()))
    # Not 0: trailing zeros make no difference to the streams' entropy.
    self._samples = streams.Stream(*entropy)
    self._batch_sizes = streams.Stream(*entropy, 1)
    self._shuffles = streams.Stream(*entropy, 2)
    self.batch_size = batch_size
    self.nb_batches = num_samples // batch_size if num_samples else None
    self.num_samples = self.nb_batches and self.nb_batches * batch_size
    self.spec = _final_spec(self._task.spec, self._pred_as_input, permutations)
    self.index = 0
    self._rows = slice(None)
    self._epoch = functools.lru_cache(maxsize=2)(self._make_epoch)
    self._cache = None
    if cache_dir:
      # What was kept before there were other graphs stays of use.
      family = {} if graphs == graph_names.ER else {'graphs': graphs}
      self._cache = data_cache.SampleCache(
          cache_dir, task, self.spec, self._sample, with_lengths, split=split,
          seed=seed, random_pos=random_pos, pred_as_input=self._pred_as_input,
          permutations=permutations, **family)

  def batch(self, index: int) -> clrs.Feedback:
    """The batch number `index`, whatever was asked for before."""
    if index < 0:
      raise IndexError(f'There is no batch {index}.')
    if self.nb_batches is None:
      size = int(self._draw_sizes(np.array([index]))[0])
      samples = np.arange(self.batch_size) + index * self.batch_size
    else:
      epoch, position = divmod(index, self.nb_batches)
      sizes, rows = self._epoch(epoch if self._split == 'train' else 0)
      size, samples = int(sizes[position]), rows[position]
    samples = samples[self._rows]
    if self._cache is not None:
      return self._cache.get(size, samples)
    return self._sample(size, samples)

  def keep_rows(self, rows: slice) -> None:
    """From now on, draws no other samples of a batch than these.

    So several hosts draw parts of the very batches that one would draw.

    Args:
      rows: Their places in every batch.
    """
    self._rows = rows

  def next(self, batch_size: Optional[int] = None) -> clrs.Feedback:
    """The next batch. A set that has an end begins anew.

    Args:
      batch_size: For scripts that were written for samplers of CLRS, which are
        told it every time; it has to be that of this sampler.

    Returns:
      The batch.
    """
    if batch_size not in (None, self.batch_size):
      raise ValueError(f'This sampler was made for a batch_size of '
                       f'{self.batch_size}, not {batch_size!r}.')
    feedback = self.batch(self.index)
    self.index += 1
    return feedback

  def __next__(self) -> clrs.Feedback:
    return self.next()

  def __iter__(self) -> Iterator[clrs.Feedback]:
    """A validation or test set once through; anything else for ever."""
    if self.nb_batches is None or self._split == 'train':
      return self
    return map(self.batch, range(self.nb_batches))

  def __len__(self) -> int:
    """The number of batches in the set."""
    if self.nb_batches is None:
      raise TypeError('This sampler has no end; make_sampler(..., num_samples) '
                      'makes one that has.')
    return self.nb_batches

  @property
  def state(self) -> Dict[str, int]:
    """What a checkpoint has to hold: the index of the next batch."""
    return {'index': self.index}

  @state.setter
  def state(self, state: Dict[str, int]):
    self.index = int(state['index'])

  def _draw_sizes(self, batches: np.ndarray) -> np.ndarray:
    """The size of the samples in every batch."""
    low, high = self._sizes
    if low == high:
      return np.full(len(batches), low)
    u = self._batch_sizes.uniforms(batches, 1, lane=(self._lane, 0))[:, 0]
    return low + (u * (high - low + 1)).astype(np.int64)

  def _make_epoch(self, epoch: int) -> Tuple[np.ndarray, np.ndarray]:
    """The sizes [nb_batches] and samples [nb_batches, B] of an epoch.

    A sample has the same size in all epochs. From the second epoch on samples
    of one size change places, and so do batches.
    """
    assert self.nb_batches is not None and self.num_samples is not None
    sizes = self._draw_sizes(np.arange(self.nb_batches))
    samples = np.arange(self.num_samples).reshape(sizes.size, -1)
    if epoch == 0:
      return sizes, samples
    words = self._shuffles.words(
        np.array([epoch]), self.num_samples + sizes.size,
        lane=(self._lane, 0))[0]
    by_size = np.lexsort((words[:self.num_samples],
                          np.repeat(sizes, self.batch_size)))
    samples[sizes.argsort(kind='stable')] = by_size.reshape(samples.shape)
    order = words[self.num_samples:].argsort(kind='stable')
    return sizes[order], samples[order]

  def _sample(self, size: int, samples: np.ndarray) -> Any:
    """Makes the samples of these numbers."""
    draws = streams.Draws(self._samples, samples, split=self._lane, size=size)
    if self._sparse:
      return sparse_samples.sample(self._name, draws, self._graphs,
                                   self._mean_degree)
    return self._present(self._task.sample(
        draws, self._random_pos, self._with_lengths, self._graphs))

  def pose(self, with_outputs: bool = True, **problems: np.ndarray
           ) -> clrs.Feedback:
    """The batch of given problems, in the form that this sampler's have.

    Args:
      with_outputs: Whether to solve them.
      **problems: As in `tasks.Task.feedback`; of any number and size.

    Returns:
      The batch, with evenly spaced positions.
    """
    return self._present(self._task.feedback(
        with_lengths=self._with_lengths, with_outputs=with_outputs, **problems))

  def _present(self, feedback: clrs.Feedback) -> clrs.Feedback:
    """What is done to every batch of the task."""
    if self._pred_as_input:
      feedback = move_pred_to_inputs(feedback)
    feedback = _whole_pointers(feedback)
    if self._has_order:
      feedback = permutations_lib.convert(
          feedback, self._permutations)
    return feedback


def make_sampler(task: str, *, size: Size, batch_size: int, seed: int,
                 split: str, num_samples: Optional[int] = None,
                 random_pos: Optional[bool] = None,
                 enforce_pred_as_input: bool = True,
                 enforce_permutations: bool = True,
                 cache_dir: Optional[str] = None,
                 with_lengths: bool = False,
                 graphs: str = graph_names.ER,
                 sparse: bool = False,
                 mean_degree: Optional[float] = None) -> TaskSampler:
  """Builds the sampler of one split of one task.

  Unless `graphs` says otherwise, graphs are Erdos-Renyi with an edge
  probability drawn uniformly from {0.1, ..., 0.9} for every graph (half of that
  for the four tasks that CLRS gives sparser graphs), in every split.

  Args:
    task: A name of `task_names()`: those of CLRS, 'search',
      'strongly_connected_components_local', and those of your own
      (`dear_jax.register_task`).
    size: The number of nodes, or an inclusive range `(low, high)` from which
      every batch draws one size.
    batch_size: Samples in a batch.
    seed: Any non-negative integer.
    split: 'train', 'val' or 'test'; splits share no randomness.
    num_samples: None draws fresh samples for ever. A number makes a set of
      that many, rounded down to whole batches, which a training sampler goes
      through in epochs, in a new order every time.
    random_pos: Whether `pos` is random, as by `clrs.process_random_pos`, or
      evenly spaced; None makes it random in training only.
    enforce_pred_as_input: Whether constant `pred_h` hints become inputs, as by
      `clrs.process_pred_as_input`.
    enforce_permutations: Whether sorted orders become permutations, as by
      `clrs.process_permutations`, or stay pointers.
    cache_dir: A folder that keeps the samples, for tasks that are slow to
      draw; several samplers and processes may share it.
    with_lengths: Whether `features.lengths` says how many steps of hints CLRS
      has for every sample ('search', of which it has none, takes two); hints
      are cut to one step all the same.
    graphs: The family of graphs, for the tasks of `graph_names.TASKS`: 'er',
      which are CLRS'; 'sparse_er', 'path', 'tree', 'cycle', 'grid',
      'small_world', 'preferential', 'geometric' or 'delaunay'; 'mixed', where
      every sample draws one of these; or SALSA-CLRS' 'salsa_er', 'salsa_ws' or
      'salsa_delaunay'. docs/data.md tells what they are.
    sparse: Whether batches are `sparse_samples.SparseBatch` without matrices,
      whose time and memory go with the edges: for 'bfs', 'bellman_ford',
      'dijkstra' and 'mst_prim', on all families but 'er'. Samples are the same
      graphs, but for Erdos-Renyi.
    mean_degree: The expected degree in 'sparse_er' with `sparse`, in place of
      ln(n) to 3 ln(n).

  Returns:
    A sampler with `spec`, `batch(index)`, `next()` and `state`.

  Raises:
    ValueError: if an argument is not one of those, or if the matrices of a
      batch would not fit into memory.
  """
  check_choice('task', task, task_names(), own_tasks.REMEDY)
  check_choice('split', split, SPLITS)
  graph_names.check_graphs(task, graphs)
  sizes = check_size(task, 'size', size)
  if with_lengths:
    own_tasks.check_lengths([task])
  for name, value, least in (('batch_size', batch_size, 1), ('seed', seed, 0)):
    if not names.is_whole(value) or value < least:
      raise ValueError(f'{name} must be a whole number of at least {least}, '
                       f'got {value!r}.')
  if sparse:
    sparse_samples.check(task, graphs, mean_degree)
    if cache_dir or with_lengths:
      raise ValueError('sparse=True goes with neither cache_dir nor '
                       'with_lengths.')
  elif mean_degree is not None:
    raise ValueError(f'mean_degree={mean_degree} needs sparse=True.')
  elif has_graph(task):
    free_memory.check(
        f'A batch of {batch_size} with {sizes[1]:,} x {sizes[1]:,} pairs of '
        'nodes', batch_size * sizes[1]**2 * _BYTES_A_PAIR, 'draw less at a '
        f'time, or graphs without matrices with sparse=True, which '
        f'{", ".join(sparse_samples.TASKS)} have')
  if num_samples is not None and (
      not names.is_whole(num_samples) or num_samples < batch_size):
    raise ValueError('num_samples must be None or a whole number of at least '
                     f'the batch_size of {batch_size}, got {num_samples!r}.')
  return TaskSampler(
      task, size=sizes, batch_size=int(batch_size), seed=int(seed),
      split=split, num_samples=num_samples,
      random_pos=split == 'train' if random_pos is None else random_pos,
      pred_as_input=enforce_pred_as_input, permutations=enforce_permutations,
      cache_dir=cache_dir, with_lengths=with_lengths, graphs=graphs,
      sparse=sparse, mean_degree=mean_degree)


def _final_spec(spec: clrs.Spec, pred_as_input: bool, permutations: bool
                ) -> Dict[str, Any]:
  """The spec of a task's batches, after what is done to them."""
  if pred_as_input:
    spec, _ = clrs.process_pred_as_input(spec, iter(()))
  spec, _ = clrs.process_permutations(spec, iter(()), permutations)
  return spec


def move_pred_to_inputs(feedback: clrs.Feedback) -> clrs.Feedback:
  """`clrs.process_pred_as_input` for one feedback with one hint step."""
  features = feedback.features
  pred = next(x for x in features.hints if x.name == 'pred_h')
  moved = clrs.DataPoint('pred', pred.location, pred.type_, pred.data[0])
  return feedback._replace(features=features._replace(
      inputs=(*features.inputs, moved),
      hints=tuple(x for x in features.hints if x.name != 'pred_h')))


def _whole_pointers(feedback: clrs.Feedback) -> clrs.Feedback:
  """Makes pointers integers.

  CLRS keeps hints as floats, and so the input that once was a hint, and the
  output of Floyd-Warshall; jax deprecates one-hot encodings of floats.
  """
  def convert(probes):
    return [
        clrs.DataPoint(x.name, x.location, x.type_, x.data.astype(np.int64))
        if x.type_ == clrs.Type.POINTER and x.data.dtype != np.int64 else x
        for x in probes]
  features = feedback.features
  return feedback._replace(
      features=features._replace(inputs=convert(features.inputs)),
      outputs=convert(feedback.outputs))
