# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Whether the algorithms of CLRS-30 come to rest.

A DEAR looks for a state that a step leaves unchanged. The paper argues from the
semantics of `while b do c` that algorithms have one: where `b` is false, the
step `if b then c else skip` does nothing. Two questions are left to be
measured, on the hints of random samples:

  Does it rest without the condition? `c` alone is applied to the final state,
    again and again, and counted loops start over (`hint_steps`).
  Can a network know the condition from the hints? There is a step with a
    condition on them if equal states have equal successors, and the last state
    is its own.

Both are asked about all hints, and about those that are not counters.
"""

import dataclasses
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple
import warnings

import clrs
from dear_jax.data import logs
from dear_jax.data import tasks
from dear_jax.theory import hint_steps
import numpy as np

_Array = np.ndarray
_State = hint_steps.State

# What hints may change by and still count as unchanged: Floyd-Warshall adds the
# same weights in another order when it runs on.
_ROUNDING = 1e-9

BODY = 'body'
LOOP = 'loop'
RERUN = 'rerun'


@dataclasses.dataclass(frozen=True)
class Algorithm:
  """What has to be known about an algorithm of CLRS.

  Attributes:
    run_on: How it goes on past its end: its loop's body again, its counted loop
      again, or the whole algorithm again.
    step: A function of `hint_steps`; None if the whole algorithm runs again.
    outputs: The hint in which an output takes shape, or the hints from which it
      is computed after the last of them.
    counters: Hints that say where a loop is, not what it has found.
    body_follows: Whether CLRS runs the body once more after its last hint.
  """
  run_on: str
  step: Optional[Callable[..., Optional[_State]]]
  outputs: Mapping[str, Tuple[str, ...]]
  counters: Tuple[str, ...] = ()
  body_follows: bool = False


def _algorithm(how, step, outputs, counters='', body_follows=False):
  """With names separated by blanks, and outputs as 'name:hint+hint'."""
  pairs = (item.split(':') for item in outputs.split())
  return Algorithm(how, step,
                   {name: tuple(hints.split('+')) for name, hints in pairs},
                   tuple(counters.split()), body_follows)


_SEARCH = 's u v s_last time'

ALGORITHMS = {
    'activity_selector': _algorithm(
        LOOP, hint_steps.activity_selector, 'selected:selected_h', 'm'),
    'articulation_points': _algorithm(
        LOOP, hint_steps.depth_first_search, 'is_cut:is_cut_h', _SEARCH),
    'bellman_ford': _algorithm(
        BODY, hint_steps.bellman_ford, 'pi:pi_h', body_follows=True),
    'bfs': _algorithm(BODY, hint_steps.bfs, 'pi:pi_h', body_follows=True),
    'binary_search': _algorithm(
        BODY, hint_steps.binary_search, 'return:high'),
    'bridges': _algorithm(
        LOOP, hint_steps.depth_first_search, 'is_bridge:is_bridge_h', _SEARCH),
    'bubble_sort': _algorithm(RERUN, None, 'pred:pred_h', 'i j'),
    'dag_shortest_paths': _algorithm(
        BODY, hint_steps.dag_shortest_paths, 'pi:pi_h',
        'u v s_last topo_head_h phase'),
    'dfs': _algorithm(
        LOOP, hint_steps.depth_first_search, 'pi:pi_h', _SEARCH),
    'dijkstra': _algorithm(BODY, hint_steps.dijkstra, 'pi:pi_h', 'u'),
    'find_maximum_subarray_kadane': _algorithm(
        LOOP, hint_steps.find_maximum_subarray_kadane,
        'start:best_low end:best_high', 'j'),
    'floyd_warshall': _algorithm(
        LOOP, hint_steps.floyd_warshall, 'Pi:Pi_h', 'k', body_follows=True),
    'graham_scan': _algorithm(
        LOOP, hint_steps.graham_scan, 'in_hull:in_hull_h', 'i phase'),
    'heapsort': _algorithm(
        RERUN, None, 'pred:pred_h', 'i j largest heap_size phase'),
    'insertion_sort': _algorithm(RERUN, None, 'pred:pred_h', 'i j'),
    'jarvis_march': _algorithm(
        BODY, hint_steps.jarvis_march, 'in_hull:in_hull_h', 'i phase'),
    'kmp_matcher': _algorithm(
        BODY, hint_steps.kmp_matcher, 'match:s', 'i phase', body_follows=True),
    'lcs_length': _algorithm(
        BODY, hint_steps.lcs_length, 'b:b_h', body_follows=True),
    'matrix_chain_order': _algorithm(
        BODY, hint_steps.matrix_chain_order, 's:s_h', body_follows=True),
    'minimum': _algorithm(LOOP, hint_steps.minimum, 'min:min_h', 'i'),
    'mst_kruskal': _algorithm(
        LOOP, hint_steps.mst_kruskal, 'in_mst:in_mst_h',
        'u v root_u root_v mask_u mask_v phase'),
    'mst_prim': _algorithm(BODY, hint_steps.mst_prim, 'pi:pi_h', 'u'),
    'naive_string_matcher': _algorithm(
        BODY, hint_steps.naive_string_matcher, 'match:s', 'i j',
        body_follows=True),
    'optimal_bst': _algorithm(LOOP, hint_steps.optimal_bst, 'root:root_h'),
    'quickselect': _algorithm(
        RERUN, None, 'median:pivot', 'p r i j i_rank target'),
    'quicksort': _algorithm(RERUN, None, 'pred:pred_h', 'p r i j'),
    'segments_intersect': _algorithm(
        LOOP, hint_steps.segments_intersect, 'intersect:dir+on_seg', 'i j k'),
    'strongly_connected_components': _algorithm(
        LOOP, hint_steps.strongly_connected_components, 'scc_id:scc_id_h',
        _SEARCH + ' phase'),
    'task_scheduling': _algorithm(
        LOOP, hint_steps.task_scheduling, 'selected:selected_h', 'i'),
    'topological_sort': _algorithm(
        LOOP, hint_steps.depth_first_search,
        'topo:topo_h topo_head:topo_head_h', 's u v s_last'),
}


@dataclasses.dataclass(frozen=True)
class Trajectory:
  """One sample: arrays by their names in `clrs.SPECS`, without a batch axis."""
  inputs: Mapping[str, _Array]
  hints: Sequence[_State]  # one for every time
  outputs: Mapping[str, _Array]


@dataclasses.dataclass(frozen=True)
class Report:
  """What was found about an algorithm, on average over samples.

  Attributes:
    algorithm: Its name.
    run_on: How it was run past its end (`Algorithm.run_on`).
    steps: States of a trajectory.
    covered: Share of steps inside of trajectories that `Algorithm.step` is
      about, all of which it reproduces.
    all_rest: Share of samples in which running on leaves all hints as they are.
    state_rests: The same without the counters.
    output_rests: The same for the hints in which the output takes shape.
    all_determine: Share of samples in which a step can be a function of the
      hints (`is_function`).
    state_determines: The same without the counters.
    output_in_hints: Share of samples whose last hints hold the output.
    output_final_after: The time from which on they hold it, between 0 (the
      first state) and 1 (the last, or later), over samples with several states.
  """
  algorithm: str
  run_on: str
  steps: float
  covered: Optional[float]
  all_rest: float
  state_rests: float
  output_rests: float
  all_determine: float
  state_determines: float
  output_in_hints: Optional[float]
  output_final_after: Optional[float]

  @property
  def verdict(self) -> str:
    """In a few words."""
    if self.all_rest == 1:
      return 'rests'
    if self.state_rests == 1:
      return 'rests but for counters'
    if self.all_rest > 0:
      return (f'rests in {self.all_rest:.0%}'
              + (', its output always' if self.output_rests == 1 else ''))
    if self.output_rests == 1:
      return 'only its output rests'
    return 'moves on unless stopped'


def sample(name: str, size: int, count: int, seed: int) -> List[Trajectory]:
  """Draws trajectories from CLRS' sampler.

  Args:
    name: The algorithm.
    size: How many nodes, as CLRS counts them for it.
    count: How many trajectories.
    seed: Seed of the sampler.

  Returns:
    The trajectories.
  """
  with warnings.catch_warnings(), logs.quiet_absl():
    # CLRS asks NumPy for cross products in the plane, which it frowns upon.
    warnings.simplefilter('ignore', DeprecationWarning)
    sampler, _ = clrs.build_sampler(name, num_samples=count, length=size,
                                    seed=seed, **tasks.clrs_options(name))
  features, outputs = sampler.next()
  def take(probes, index):
    return {probe.name: np.asarray(probe.data)[index] for probe in probes}
  return [
      Trajectory(take(features.inputs, b),
                 [take(features.hints, (t, b)) for t in range(int(length))],
                 take(outputs, b))
      for b, length in enumerate(features.lengths)]


def final_state(name: str, trajectory: Trajectory) -> _State:
  """The state in which CLRS stops. Not all algorithms record it as a hint."""
  last = trajectory.hints[-1]
  if ALGORITHMS[name].body_follows:
    return _step(name, trajectory.inputs, last)
  return last


def run_on(name: str, trajectory: Trajectory) -> List[_State]:
  """The states after the final one if nothing stops the algorithm."""
  state = final_state(name, trajectory)
  if ALGORITHMS[name].step is None:
    return sort_again(name, trajectory.inputs, state)
  states = []
  # Twice as many steps as the algorithm took are enough for another sweep.
  for _ in range(2 * len(trajectory.hints)):
    states.append(_step(name, trajectory.inputs, state))
    if _same(states[-1], state):
      break
    state = states[-1]
  return states


def sort_again(name: str, x: Mapping[str, _Array], h: _State) -> List[_State]:
  """The states of a sorting algorithm that runs on the array it left behind.

  It is CLRS' own function that runs, from its beginning. Its hints are about
  positions in that array; they come back as hints about the nodes.

  Args:
    name: Its name in CLRS.
    x: The inputs.
    h: The last state.

  Returns:
    All states of the second run.
  """
  order = _order(h['pred_h'])
  _, probes = getattr(clrs.algorithms, name)(x['key'][order])
  hints = probes[clrs.Stage.HINT]
  values = {}
  for hint, (stage, location, type_) in clrs.SPECS[name].items():
    if stage != clrs.Stage.HINT:
      continue
    data = np.asarray(hints[location][hint]['data'], float)
    if type_ == clrs.Type.POINTER:
      data = order[data.astype(int)]
    if location == clrs.Location.NODE:
      data[:, order] = data.copy()
    values[hint] = data
  count = len(values['pred_h'])
  return [{hint: data[t] for hint, data in values.items()}
          for t in range(count)]


def _order(pointers: _Array) -> _Array:
  """The nodes in the order in which each points to the one before it."""
  pointers = pointers.astype(int)
  nodes = np.arange(len(pointers))
  following = dict(zip(pointers[pointers != nodes], nodes[pointers != nodes]))
  order = [nodes[pointers == nodes][0]]
  while order[-1] in following:
    order.append(following[order[-1]])
  return np.array(order)


def is_function(states: Sequence[_State],
                hints: Optional[Sequence[str]] = None) -> bool:
  """Whether a step can be a function of the state that rests at the last one.

  Args:
    states: The states of a trajectory.
    hints: Of which hints a state consists; all of them by default.

  Returns:
    Whether equal states have equal successors, the last one being its own.
  """
  keys = [_key(state, hints) for state in states]
  successors: Dict[Any, Any] = {}
  return all(successors.setdefault(key, following) == following
             for key, following in zip(keys, keys[1:] + keys[-1:]))


def analyse(name: str, trajectories: Sequence[Trajectory]) -> Report:
  """Looks at the trajectories of an algorithm.

  Args:
    name: The algorithm.
    trajectories: Samples.

  Returns:
    The report.

  Raises:
    RuntimeError: if the step written down here is not CLRS' own.
  """
  found = [_look_at(name, trajectory) for trajectory in trajectories]
  means: Dict[str, Any] = {}
  for key in found[0]:
    values = [x for x in (figures[key] for figures in found) if x is not None]
    means[key] = float(np.mean(values)) if values else None
  return Report(algorithm=name, run_on=ALGORITHMS[name].run_on, **means)


def _look_at(name: str, trajectory: Trajectory) -> Dict[str, Optional[float]]:
  """The figures of one sample, by their names in a report."""
  algorithm = ALGORITHMS[name]
  hints = trajectory.hints
  state = [hint for hint in hints[0] if hint not in algorithm.counters]
  read = [hint for group in algorithm.outputs.values() for hint in group]
  covered = _check_steps(name, trajectory)
  final = final_state(name, trajectory)
  if _holds_outputs(algorithm, final, trajectory.outputs) is False:
    raise RuntimeError(
        f'The final state of {name} does not hold the output of CLRS.')
  after = run_on(name, trajectory)
  rests = lambda names: all(_same(final, x, names, _ROUNDING) for x in after)
  changing = [t for t, x in enumerate(hints) if not _same(final, x, read)]
  # The counter of a loop that has ended has no value that a hint could hold.
  until_final = [*hints, final] if algorithm.body_follows else hints
  return dict(
      steps=len(hints),
      covered=covered,
      all_rest=rests(None),
      state_rests=rests(state),
      output_rests=rests(read),
      all_determine=is_function(hints if algorithm.counters else until_final),
      state_determines=is_function(until_final, state),
      output_in_hints=_holds_outputs(algorithm, hints[-1], trajectory.outputs),
      output_final_after=(
          min(1.0, (max(changing, default=-1) + 1) / (len(hints) - 1))
          if len(hints) > 1 else None))


def _check_steps(name: str, trajectory: Trajectory) -> Optional[float]:
  """Compares steps with the hints; gives the share of those there are."""
  if ALGORITHMS[name].step is None or len(trajectory.hints) == 1:
    return None
  covered = 0
  for t, (state, following) in enumerate(
      zip(trajectory.hints, trajectory.hints[1:])):
    ours = ALGORITHMS[name].step(trajectory.inputs, state)
    if ours is None:
      continue
    if not _same(ours, following):
      raise RuntimeError(
          f'The step of {name} in dear_jax is not that of the installed CLRS: '
          f'they differ after state {t + 1} of {len(trajectory.hints)}.')
    covered += 1
  return covered / (len(trajectory.hints) - 1)


def _holds_outputs(algorithm: Algorithm, state: _State,
                   outputs: Mapping[str, _Array]) -> Optional[bool]:
  if any(len(hints) > 1 for hints in algorithm.outputs.values()):
    return None
  return all(np.array_equal(state[hint], outputs[name])
             for name, (hint,) in algorithm.outputs.items())


def _step(name: str, inputs: Mapping[str, _Array], state: _State) -> _State:
  following = ALGORITHMS[name].step(inputs, state)
  if following is None:
    raise RuntimeError(
        f'{name} ended in a state in which none of its loops can end.')
  return following


def _same(a: _State, b: _State, hints: Optional[Sequence[str]] = None,
          tolerance: float = 0.0) -> bool:
  return all(np.all(np.abs(a[hint] - b[hint]) <= tolerance)
             for hint in (a if hints is None else hints))


def _key(state: _State, hints: Optional[Sequence[str]]) -> bytes:
  names = sorted(state) if hints is None else hints
  return b''.join(np.asarray(state[name], np.float64).tobytes()
                  for name in names)
