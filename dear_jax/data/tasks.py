# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""The tasks: what their samples look like and how they are drawn.

The paper's tasks are drawn and solved here, whole batches at a time, without
the hints that an equilibrium model never reads; their distributions and their
outputs are those of CLRS. All other tasks of CLRS come from its own samplers.

Three tasks differ from CLRS, as in the paper:
  binary_search: the target is never greater than all keys.
  search: the same problem made parallel. `return` is one pointer for the whole
    graph, and a mask says which keys are smaller than the target.
  strongly_connected_components_local: every node points to the node through
    which the second pass reached it, so that all pointers lie on edges.
"""

import dataclasses
from typing import Any, Callable, Dict, List, Optional, Tuple

import clrs
from dear_jax.data import algorithms
from dear_jax.data import drawing
from dear_jax.data import first_hints
from dear_jax.data import graph_names
from dear_jax.data import logs
from dear_jax.data import step_counts
from dear_jax.data import streams
from dear_jax.data import task_names as names
from dear_jax.networks import clrs_private
import numpy as np

_Array = np.ndarray
_Arrays = Dict[str, _Array]

EDGE_PROBABILITIES = drawing.EDGE_PROBABILITIES
one_hot = first_hints.one_hot

# Tasks that CLRS gives sparser graphs.
_SPARSE_TASKS = frozenset(
    {'articulation_points', 'bipartite_matching', 'bridges', 'mst_kruskal'})

# How the problems of CLRS' tasks are drawn on other graphs than its own.
_DRAW_FOR_CLRS = {'dijkstra': drawing.weighted_and_source}


@dataclasses.dataclass(frozen=True)
class Task:
  """A task that is drawn and solved in batches.

  Attributes:
    spec: As in `clrs.SPECS`.
    draw: Draws problems: a dictionary with the arguments of `solve`. That of
      a task in `graph_names.TASKS` also takes the name of a graph family.
    solve: Gives the outputs of problems, by their names in the spec.
    first_hints: Gives CLRS' first step of hints for problems.
    length: Gives the number [B] of CLRS' steps of hints for problems.
    min_size: The smallest size that there is.
  """
  spec: clrs.Spec
  draw: Callable[..., _Arrays]
  solve: Callable[..., _Arrays]
  first_hints: Callable[..., _Arrays]
  length: Callable[..., _Array]
  min_size: int = names.MIN_SIZE

  def sample(self, draws: streams.Draws, random_pos: bool = False,
             with_lengths: bool = False, graphs: str = graph_names.ER
             ) -> clrs.Feedback:
    """Draws a batch, with one step of hints."""
    problems = (self.draw(draws) if graphs == graph_names.ER
                else self.draw(draws, graphs))
    pos = None
    if random_pos:
      pos = np.sort(draws.uniforms(draws.size), axis=1)
    return self.feedback(pos, with_lengths, True, **problems)

  def feedback(self, pos: Optional[_Array] = None, with_lengths: bool = False,
               with_outputs: bool = True, **problems: _Array) -> clrs.Feedback:
    """The batch of these problems.

    Args:
      pos: [B, N], if positions are not evenly spaced.
      with_lengths: Whether lengths are those of CLRS, or ones.
      with_outputs: Whether to solve the problems.
      **problems: `A` [B, N, N] and, if there is a source, `s` [B]; or `key`
        [B, N] and, if there is one, `target` [B].

    Returns:
      Inputs, one step of hints and, if asked for, outputs, as CLRS would have
      them.
    """
    inputs = dict(problems)
    batch_size, nb_nodes = problems['A' if 'A' in problems else 'key'].shape[:2]
    if pos is None:
      pos = first_hints.even_pos(batch_size, nb_nodes)
    inputs['pos'] = pos
    if 'A' in problems:
      inputs['adj'] = first_hints.with_loops(problems['A'])
    if 's' in problems:
      inputs['s'] = one_hot(problems['s'], nb_nodes)
    hints = {name: np.asarray(data, np.float64)[None]
             for name, data in self.first_hints(**problems).items()}
    lengths = self.length(**problems) if with_lengths else np.ones(batch_size)
    return clrs.Feedback(
        clrs.Features(self._probes(clrs.Stage.INPUT, inputs),
                      self._probes(clrs.Stage.HINT, hints), lengths),
        self._probes(clrs.Stage.OUTPUT, self.solve(**problems))
        if with_outputs else [])

  def _probes(self, stage: str, data: _Arrays) -> List[clrs.DataPoint]:
    return [clrs.DataPoint(name, location, type_, data[name])
            for name, (its_stage, location, type_) in self.spec.items()
            if its_stage == stage]


class ClrsTask:
  """A task from CLRS' own sampler, one sample at a time, its hints dropped."""

  min_size = names.MIN_SIZE_OF_CLRS

  def __init__(self, name: str):
    self._name = name
    self.spec = clrs.SPECS[name]
    self.algorithm = getattr(clrs.algorithms, name)
    self._kwargs = clrs_options(name)
    # CLRS warns, once a process, that it samples on the fly; that is the point
    # here, and the first sampler built says it unheard.
    with logs.quiet_absl():
      clrs.build_sampler(name, num_samples=-1, length=self.min_size,
                         track_max_steps=False)

  def sample(self, draws: streams.Draws, random_pos: bool = False,
             with_lengths: bool = False, graphs: str = graph_names.ER
             ) -> clrs.Feedback:
    """Draws a batch, with one step of hints.

    CLRS has one kind of graphs; of others the problems are drawn here.

    Args:
      draws: Where random numbers come from.
      random_pos: Whether positions are random.
      with_lengths: Whether lengths are those of CLRS, or ones.
      graphs: The family, if the task is one of `graph_names.TASKS`.

    Returns:
      The batch.
    """
    if graphs == graph_names.ER:
      seeds = draws.words(4).view(np.uint32)
      feedback = _concatenate([self._sample(seed, draws.size, with_lengths)
                               for seed in seeds])
    else:
      problems = _DRAW_FOR_CLRS[self._name](draws, graphs)
      feedback = self.feedback(with_lengths=with_lengths, with_outputs=True,
                               **problems)
    return randomise_pos(feedback, draws) if random_pos else feedback

  def _sample(self, seed: Any, size: int, with_lengths: bool
              ) -> clrs.Feedback:
    # The hints of a whole batch may take hundreds of megabytes; those of one
    # sample are dropped before the next one is made.
    return first_hint_step(self._sampler(seed, size).next(1), with_lengths)

  def _sampler(self, seed: Any, size: int) -> clrs.Sampler:
    return clrs.build_sampler(
        self._name, num_samples=-1, seed=seed, length=size,
        track_max_steps=False, **self._kwargs)[0]

  def feedback(self, *, with_lengths: bool = False, with_outputs: bool = True,
               **problems: _Array) -> clrs.Feedback:
    """The batch of these problems, as in `Task`.

    CLRS' algorithm is run in either case, as it is what makes the inputs.

    Args:
      with_lengths: Whether lengths are those of CLRS, or ones.
      with_outputs: Whether to keep what the algorithm has found.
      **problems: `A` [B, N, N] and, if there is a source, `s` [B]; or `key`
        [B, N].

    Returns:
      Inputs, one step of hints and, if asked for, outputs.
    """
    feedbacks = []
    for arguments in zip(*problems.values()):
      # CLRS sorts in place.
      _, probes = self.algorithm(*(np.copy(x) for x in arguments))
      inputs, outputs, hints = clrs_private.split_stages(probes, self.spec)
      lengths = np.array([len(hints[0].data)], np.float64)
      feedbacks.append(first_hint_step(clrs.Feedback(
          clrs.Features(inputs, hints, lengths),
          outputs if with_outputs else []), with_lengths))
    return _concatenate(feedbacks)


def clrs_options(name: str) -> Dict[str, Any]:
  """What CLRS' sampler of a task is given besides a size and a seed."""
  # Passing an option that the task's sampler lacks logs a warning; the tasks
  # that take `p` are those with a graph among their inputs.
  if 'adj' not in clrs.SPECS[name]:
    return {}
  scale = 0.5 if name in _SPARSE_TASKS else 1.0
  return {'p': tuple(scale * p for p in EDGE_PROBABILITIES)}


def get_task(name: str) -> Any:
  """The `Task` or `ClrsTask` of a name."""
  return _ours(name) or ClrsTask(name)


def spec_of(name: str) -> clrs.Spec:
  """The spec of a task."""
  task = _ours(name)
  return task.spec if task else clrs.SPECS[name]


def _ours(name: str) -> Any:
  """The task of a name, unless it is from CLRS."""
  return names.registered.get(name) or TASKS.get(name)


def task_names() -> Tuple[str, ...]:
  """The names of all tasks, also those of a CLRS newer than our lists."""
  return tuple(sorted({*names.known_tasks(), *clrs.SPECS}))


known_tasks = task_names


def first_hint_step(feedback: clrs.Feedback, keep_lengths: bool = False
                    ) -> clrs.Feedback:
  """Cuts the hint axis to one step, and the lengths to one unless kept."""
  features = feedback.features
  lengths = (features.lengths if keep_lengths
             else np.ones_like(features.lengths))
  hints = [clrs.DataPoint(hint.name, hint.location, hint.type_, hint.data[:1])
           for hint in features.hints]
  return feedback._replace(features=features._replace(
      hints=type(features.hints)(hints), lengths=lengths))


def _concatenate(feedbacks: List[clrs.Feedback]) -> clrs.Feedback:
  """One batch of several that have one step of hints."""
  def join(groups, axis):
    return [clrs.DataPoint(probes[0].name, probes[0].location, probes[0].type_,
                           np.concatenate([x.data for x in probes], axis))
            for probes in zip(*groups)]
  features = [feedback.features for feedback in feedbacks]
  return clrs.Feedback(
      clrs.Features(join([x.inputs for x in features], 0),
                    join([x.hints for x in features], 1),
                    np.concatenate([x.lengths for x in features])),
      join([feedback.outputs for feedback in feedbacks], 0))


def randomise_pos(feedback: clrs.Feedback, draws: streams.Draws
                  ) -> clrs.Feedback:
  """`clrs.process_random_pos` for one feedback.

  Every run of positions, which begins with a zero, becomes an ordered sequence
  of random numbers. Only string tasks have more than one run.
  """
  inputs = list(feedback.features.inputs)
  i, pos = next((i, x) for i, x in enumerate(inputs) if x.name == 'pos')
  run = np.cumsum(pos.data == 0, axis=1) - 1
  data = np.sort(draws.uniforms(pos.data.shape[1]) + run, axis=1) - run
  inputs[i] = clrs.DataPoint(pos.name, pos.location, pos.type_, data)
  return feedback._replace(features=feedback.features._replace(inputs=inputs))


def _pi(algorithm: Callable[..., _Array]) -> Callable[..., _Arrays]:
  return lambda A, s: {'pi': algorithm(A, s)}


def _solve_binary_search(target: _Array, key: _Array) -> _Arrays:
  return {'return': one_hot(algorithms.binary_search(target, key),
                            key.shape[1])}


def _solve_search(target: _Array, key: _Array) -> _Arrays:
  smaller = key < target[:, None]
  return {'return': smaller.sum(axis=1),
          'smaller': smaller.astype(np.float64)}


_INPUT_KEYS = {
    'pos': (clrs.Stage.INPUT, clrs.Location.NODE, clrs.Type.SCALAR),
    'key': (clrs.Stage.INPUT, clrs.Location.NODE, clrs.Type.SCALAR),
    'target': (clrs.Stage.INPUT, clrs.Location.GRAPH, clrs.Type.SCALAR),
}
_SEARCH_SPEC = {
    **_INPUT_KEYS,
    'return': (clrs.Stage.OUTPUT, clrs.Location.GRAPH, clrs.Type.POINTER),
    'smaller': (clrs.Stage.OUTPUT, clrs.Location.NODE, clrs.Type.MASK),
    'smaller_h': (clrs.Stage.HINT, clrs.Location.NODE, clrs.Type.MASK),
}
# Parents, so they have the name that parents have in all other tasks.
_LOCAL_COMPONENTS_SPEC = {
    {'scc_id': 'pi', 'scc_id_h': 'pi_h'}.get(name, name): probe
    for name, probe in clrs.SPECS['strongly_connected_components'].items()
}

TASKS = {
    'bfs': Task(
        clrs.SPECS['bfs'], drawing.graph_and_source, _pi(algorithms.bfs),
        first_hints.bfs, step_counts.bfs),
    'dfs': Task(
        clrs.SPECS['dfs'], drawing.graph, lambda A: {'pi': algorithms.dfs(A)},
        first_hints.depth_first, step_counts.dfs),
    'strongly_connected_components': Task(
        clrs.SPECS['strongly_connected_components'], drawing.communities,
        lambda A: {'scc_id': algorithms.strongly_connected_components(A)[0]},
        first_hints.components, step_counts.strongly_connected_components),
    'strongly_connected_components_local': Task(
        _LOCAL_COMPONENTS_SPEC, drawing.communities,
        lambda A: {'pi': algorithms.strongly_connected_components(A)[1]},
        first_hints.components, step_counts.strongly_connected_components),
    'bellman_ford': Task(
        clrs.SPECS['bellman_ford'], drawing.weighted_and_source,
        _pi(algorithms.bellman_ford), first_hints.bellman_ford,
        step_counts.bellman_ford),
    'dag_shortest_paths': Task(
        clrs.SPECS['dag_shortest_paths'], drawing.acyclic_and_source,
        _pi(algorithms.dag_shortest_paths), first_hints.dag_shortest_paths,
        step_counts.dag_shortest_paths),
    'mst_prim': Task(
        clrs.SPECS['mst_prim'], drawing.weighted_and_source,
        _pi(algorithms.mst_prim), first_hints.mst_prim, step_counts.mst_prim),
    'floyd_warshall': Task(
        clrs.SPECS['floyd_warshall'], drawing.weighted,
        lambda A: {'Pi': algorithms.floyd_warshall(A)},
        first_hints.floyd_warshall, step_counts.floyd_warshall),
    'minimum': Task(
        clrs.SPECS['minimum'], drawing.keys,
        lambda key: {'min': one_hot(algorithms.minimum(key), key.shape[1])},
        first_hints.minimum, step_counts.minimum),
    'insertion_sort': Task(
        clrs.SPECS['insertion_sort'], drawing.keys,
        lambda key: {'pred': algorithms.insertion_sort(key)}, first_hints.sort,
        step_counts.insertion_sort),
    'binary_search': Task(
        clrs.SPECS['binary_search'], drawing.sorted_keys_and_target,
        _solve_binary_search, first_hints.binary_search,
        step_counts.binary_search),
    'search': Task(
        _SEARCH_SPEC, drawing.sorted_keys_and_target, _solve_search,
        first_hints.search, step_counts.search),
}
