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
import functools
from typing import Any, Callable, Dict, List, Optional, Tuple

import clrs
from clrs._src import probing
from dear_jax import algorithms
from dear_jax import progress
from dear_jax import step_counts
from dear_jax import streams
import numpy as np

_Array = np.ndarray
_Arrays = Dict[str, _Array]

# Edge probabilities of Erdos-Renyi graphs, and the tasks that CLRS gives
# sparser graphs.
EDGE_PROBABILITIES = tuple(i / 10 for i in range(1, 10))
_SPARSE_TASKS = frozenset(
    {'articulation_points', 'bipartite_matching', 'bridges', 'mst_kruskal'})

# CLRS' graphs with strongly connected components: so many communities, and the
# share of entries that is flipped afterwards.
_NB_COMMUNITIES = 4
_FLIP_PROBABILITY = 0.01


@dataclasses.dataclass(frozen=True)
class Task:
  """A task that is drawn and solved in batches.

  Attributes:
    spec: As in `clrs.SPECS`.
    draw: Draws problems: a dictionary with the arguments of `solve`.
    solve: Gives the outputs of problems, by their names in the spec.
    first_hints: Gives CLRS' first step of hints for problems.
    length: Gives the number [B] of CLRS' steps of hints for problems.
    min_size: The smallest size that there is.
  """
  spec: clrs.Spec
  draw: Callable[[streams.Draws], _Arrays]
  solve: Callable[..., _Arrays]
  first_hints: Callable[..., _Arrays]
  length: Callable[..., _Array]
  min_size: int = 2

  def sample(self, draws: streams.Draws, random_pos: bool = False,
             with_lengths: bool = False) -> clrs.Feedback:
    """Draws a batch, with one step of hints."""
    problems = self.draw(draws)
    pos = None
    if random_pos:
      pos = np.sort(draws.uniforms(draws.size), axis=1)
    return self.feedback(pos, with_lengths, **problems)

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
      pos = _even_pos(batch_size, nb_nodes)
    inputs['pos'] = pos
    if 'A' in problems:
      inputs['adj'] = _with_loops(problems['A'])
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

  # Several of its samplers cannot draw anything smaller.
  min_size = 4

  def __init__(self, name: str):
    self._name = name
    self.spec = clrs.SPECS[name]
    self._kwargs = clrs_options(name)
    # CLRS warns, once a process, that it samples on the fly; that is the point
    # here, and the first sampler built says it unheard.
    with progress.quiet_absl():
      clrs.build_sampler(name, num_samples=-1, length=self.min_size,
                         track_max_steps=False)

  def sample(self, draws: streams.Draws, random_pos: bool = False,
             with_lengths: bool = False) -> clrs.Feedback:
    """Draws a batch, with one step of hints."""
    seeds = draws.words(4).view(np.uint32)
    feedback = _concatenate([self._sample(seed, draws.size, with_lengths)
                             for seed in seeds])
    return randomise_pos(feedback, draws) if random_pos else feedback

  def _sample(self, seed: _Array, size: int, with_lengths: bool
              ) -> clrs.Feedback:
    sampler, _ = clrs.build_sampler(
        self._name, num_samples=-1, seed=seed, length=size,
        track_max_steps=False, **self._kwargs)
    # The hints of a whole batch may take hundreds of megabytes; those of one
    # sample are dropped before the next one is made.
    return first_hint_step(sampler.next(1), with_lengths)

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
    algorithm = getattr(clrs.algorithms, self._name)
    feedbacks = []
    for arguments in zip(*problems.values()):
      # CLRS sorts in place.
      _, probes = algorithm(*(np.copy(x) for x in arguments))
      inputs, outputs, hints = probing.split_stages(probes, self.spec)
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
  return TASKS.get(name) or ClrsTask(name)


def spec_of(name: str) -> clrs.Spec:
  """The spec of a task."""
  return TASKS[name].spec if name in TASKS else clrs.SPECS[name]


def min_size(name: str) -> int:
  """The smallest size of which a task has samples."""
  return TASKS.get(name, ClrsTask).min_size


def task_names() -> Tuple[str, ...]:
  """The names of all tasks."""
  return tuple(sorted({*clrs.SPECS, *TASKS}))


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


def one_hot(indices: _Array, nb_classes: int) -> _Array:
  """[B, nb_classes], with a one where the index says."""
  result = np.zeros((len(indices), nb_classes))
  result[np.arange(len(indices)), indices] = 1
  return result


def _rows(row: _Array, batch_size: int) -> _Array:
  """The same for every sample."""
  return np.broadcast_to(row, (batch_size,) + row.shape)


def _with_loops(graph: _Array) -> _Array:
  """CLRS' adjacency: ones at edges and on the diagonal."""
  adjacency = (graph != 0).astype(np.float64)
  diagonal = np.arange(graph.shape[1])
  adjacency[:, diagonal, diagonal] = 1
  return adjacency


# How problems are drawn.


def _draw_edges(draws: streams.Draws) -> _Array:
  """[B, N, N]: every entry an edge, with a probability of its sample's own."""
  p = np.array(EDGE_PROBABILITIES)[draws.integers(len(EDGE_PROBABILITIES))]
  return draws.booleans(p, draws.size, draws.size)


def _draw_undirected(draws: streams.Draws) -> _Array:
  """An edge has to be drawn in both directions, so its probability is p^2."""
  edges = _draw_edges(draws)
  return edges & edges.transpose(0, 2, 1)


def _draw_graph(draws: streams.Draws) -> _Arrays:
  return {'A': _draw_edges(draws).astype(np.int64)}


def _draw_graph_and_source(draws: streams.Draws) -> _Arrays:
  return {'A': _draw_undirected(draws).astype(np.int64),
          's': draws.integers(draws.size)}


def _draw_weighted(draws: streams.Draws) -> _Arrays:
  return {'A': algorithms.symmetric_weights(
      _draw_undirected(draws), draws.uniforms(draws.size, draws.size))}


def _draw_weighted_and_source(draws: streams.Draws) -> _Arrays:
  return {**_draw_weighted(draws), 's': draws.integers(draws.size)}


def _draw_acyclic_and_source(draws: streams.Draws) -> _Arrays:
  # Edges go from lower to higher rank, which are in no order of the nodes.
  rank = draws.uniforms(draws.size)
  edges = _draw_edges(draws) & (rank[:, :, None] < rank[:, None, :])
  return {'A': edges * draws.uniforms(draws.size, draws.size),
          's': draws.integers(draws.size)}


def _draw_communities(draws: streams.Draws) -> _Arrays:
  """Communities in a row, with a few entries flipped except backwards."""
  size = draws.size
  nb_communities = min(_NB_COMMUNITIES, size)
  community = np.minimum(np.arange(size) // (size // nb_communities),
                         nb_communities - 1).astype(np.int8)
  # The nodes stand in that row in no order.
  community = community[draws.uniforms(size).argsort(axis=1, kind='stable')]
  rows, columns = community[:, :, None], community[:, None, :]
  edges = _draw_edges(draws) & (rows == columns)
  edges ^= draws.booleans(_FLIP_PROBABILITY, size, size) & (rows <= columns)
  return {'A': edges.astype(np.float64)}


def _draw_keys(draws: streams.Draws) -> _Arrays:
  return {'key': draws.uniforms(draws.size)}


def _draw_sorted_keys_and_target(draws: streams.Draws) -> _Arrays:
  keys = np.sort(draws.uniforms(draws.size), axis=1)
  target = draws.single()
  # A target beyond all keys would have no place in the array: it becomes the
  # last key, and the last key the target.
  last = keys[:, -1]
  keys[:, -1], target = np.maximum(last, target), np.minimum(last, target)
  return {'target': target, 'key': keys}


# CLRS' first step of hints. What is the same for all problems of a size is made
# once, and cannot be written to.


def _made_once(make: Callable[..., _Array]) -> Callable[..., _Array]:
  @functools.lru_cache(maxsize=256)
  def cached(batch_size, *args):
    result = _rows(make(*args), batch_size)
    result.flags.writeable = False
    return result
  return cached


@_made_once
def _even_pos(nb_nodes: int) -> _Array:
  return np.arange(nb_nodes) * 1.0 / nb_nodes


@_made_once
def _zeros(*shape: int) -> _Array:
  return np.zeros(shape)


@_made_once
def _node(nb_nodes: int, index: int) -> _Array:
  """A mask of one node."""
  return one_hot(np.array([index]), nb_nodes)[0]


@_made_once
def _own_parents(nb_nodes: int) -> _Array:
  """Every node points to itself."""
  return np.arange(nb_nodes, dtype=np.float64)


@_made_once
def _line_of_nodes(nb_nodes: int) -> _Array:
  """Every node of an array points to the one before it."""
  return np.maximum(np.arange(nb_nodes, dtype=np.float64) - 1, 0)


@_made_once
def _unvisited(nb_nodes: int) -> _Array:
  """The colours of nodes: the first of three."""
  return one_hot(np.zeros(nb_nodes, int), 3)


@_made_once
def _own_rows(nb_nodes: int) -> _Array:
  """Every pair of nodes points to its first."""
  return np.arange(nb_nodes, dtype=np.float64)[:, None].repeat(nb_nodes, 1)


def _depth_first_hints(A: _Array) -> _Arrays:
  """What the tasks built on depth-first search have in common."""
  shape = A.shape[:2]
  first, zeros = _node(*shape, 0), _zeros(*shape)
  return {'pi_h': _own_parents(*shape), 's_prev': _own_parents(*shape),
          'color': _unvisited(*shape), 'd': zeros, 'f': zeros, 's': first,
          'u': first, 'v': first, 's_last': first, 'time': _zeros(len(A))}


def _components_hints(A: _Array) -> _Arrays:
  hints = _depth_first_hints(A)
  return {**hints, 'scc_id_h': hints['pi_h'],
          'A_t': _with_loops(A).transpose(0, 2, 1), 'phase': hints['time']}


def _bfs_hints(A: _Array, s: _Array) -> _Arrays:
  return {'reach_h': one_hot(s, A.shape[1]),
          'pi_h': _own_parents(*A.shape[:2])}


def _bellman_ford_hints(A: _Array, s: _Array) -> _Arrays:
  shape = A.shape[:2]
  return {'pi_h': _own_parents(*shape), 'd': _zeros(*shape),
          'msk': one_hot(s, A.shape[1])}


def _mst_prim_hints(A: _Array, s: _Array) -> _Arrays:
  shape = A.shape[:2]
  source = one_hot(s, A.shape[1])
  return {'pi_h': _own_parents(*shape), 'key': _zeros(*shape),
          'mark': _zeros(*shape), 'in_queue': source, 'u': source}


def _dag_shortest_paths_hints(A: _Array, s: _Array) -> _Arrays:
  hints = _depth_first_hints(A)
  source = one_hot(s, A.shape[1])
  return {**hints, 'mark': hints['d'], 'topo_h': hints['pi_h'],
          'topo_head_h': hints['u'], 'u': source, 'v': source,
          's_last': source, 'phase': hints['time']}


def _floyd_warshall_hints(A: _Array) -> _Arrays:
  shape = A.shape[:2]
  return {'Pi_h': _own_rows(*shape), 'D': A, 'msk': _with_loops(A),
          'k': _node(*shape, 0)}


def _sort_hints(key: _Array) -> _Arrays:
  first = _node(*key.shape, 0)
  return {'pred_h': _line_of_nodes(*key.shape), 'i': first, 'j': first}


def _minimum_hints(key: _Array) -> _Arrays:
  first = _node(*key.shape, 0)
  return {'pred_h': _line_of_nodes(*key.shape), 'min_h': first, 'i': first}


def _binary_search_hints(target: _Array, key: _Array) -> _Arrays:
  del target  # the first step looks at nothing
  last = key.shape[1] - 1
  return {'pred_h': _line_of_nodes(*key.shape), 'low': _node(*key.shape, 0),
          'high': _node(*key.shape, last),
          'mid': _node(*key.shape, last // 2)}


def _search_hints(target: _Array, key: _Array) -> _Arrays:
  del target
  return {'smaller_h': _zeros(*key.shape)}


# What the algorithms put out, under the names of the specs.


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
        clrs.SPECS['bfs'], _draw_graph_and_source, _pi(algorithms.bfs),
        _bfs_hints, step_counts.bfs),
    'dfs': Task(
        clrs.SPECS['dfs'], _draw_graph, lambda A: {'pi': algorithms.dfs(A)},
        _depth_first_hints, step_counts.dfs),
    'strongly_connected_components': Task(
        clrs.SPECS['strongly_connected_components'], _draw_communities,
        lambda A: {'scc_id': algorithms.strongly_connected_components(A)[0]},
        _components_hints, step_counts.strongly_connected_components),
    'strongly_connected_components_local': Task(
        _LOCAL_COMPONENTS_SPEC, _draw_communities,
        lambda A: {'pi': algorithms.strongly_connected_components(A)[1]},
        _components_hints, step_counts.strongly_connected_components),
    'bellman_ford': Task(
        clrs.SPECS['bellman_ford'], _draw_weighted_and_source,
        _pi(algorithms.bellman_ford), _bellman_ford_hints,
        step_counts.bellman_ford),
    'dag_shortest_paths': Task(
        clrs.SPECS['dag_shortest_paths'], _draw_acyclic_and_source,
        _pi(algorithms.dag_shortest_paths), _dag_shortest_paths_hints,
        step_counts.dag_shortest_paths),
    'mst_prim': Task(
        clrs.SPECS['mst_prim'], _draw_weighted_and_source,
        _pi(algorithms.mst_prim), _mst_prim_hints, step_counts.mst_prim),
    'floyd_warshall': Task(
        clrs.SPECS['floyd_warshall'], _draw_weighted,
        lambda A: {'Pi': algorithms.floyd_warshall(A)}, _floyd_warshall_hints,
        step_counts.floyd_warshall),
    'minimum': Task(
        clrs.SPECS['minimum'], _draw_keys,
        lambda key: {'min': one_hot(algorithms.minimum(key), key.shape[1])},
        _minimum_hints, step_counts.minimum),
    'insertion_sort': Task(
        clrs.SPECS['insertion_sort'], _draw_keys,
        lambda key: {'pred': algorithms.insertion_sort(key)}, _sort_hints,
        step_counts.insertion_sort),
    'binary_search': Task(
        clrs.SPECS['binary_search'], _draw_sorted_keys_and_target,
        _solve_binary_search, _binary_search_hints, step_counts.binary_search),
    'search': Task(
        _SEARCH_SPEC, _draw_sorted_keys_and_target, _solve_search,
        _search_hints, step_counts.search),
}
