# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""The names and sizes of tasks, for those who cannot wait for CLRS.

CLRS imports TensorFlow, which takes seconds, and a mistyped name should be
answered at once. So what is built in is listed here by hand; the tests compare
it with CLRS and with `tasks`, which has all else about a task.
"""

import difflib
import numbers
from typing import Any, Dict, Iterable, Tuple

# Drawn and solved in whole batches, by `tasks`.
BATCHED = (
    'bellman_ford', 'bfs', 'binary_search', 'dag_shortest_paths', 'dfs',
    'floyd_warshall', 'insertion_sort', 'minimum', 'mst_prim', 'search',
    'strongly_connected_components', 'strongly_connected_components_local')

# Drawn by CLRS' own samplers, one sample at a time.
FROM_CLRS = (
    'activity_selector', 'articulation_points', 'bipartite_matching', 'bridges',
    'bubble_sort', 'dijkstra', 'find_maximum_subarray',
    'find_maximum_subarray_kadane', 'graham_scan', 'heapsort', 'jarvis_march',
    'kmp_matcher', 'lcs_length', 'matrix_chain_order', 'mst_kruskal',
    'naive_string_matcher', 'optimal_bst', 'quickselect', 'quicksort',
    'segments_intersect', 'task_scheduling', 'topological_sort')

# Tasks whose edges all weigh the same, though CLRS has a number for each.
EQUAL_EDGES = (
    'articulation_points', 'bfs', 'bipartite_matching', 'bridges', 'dfs',
    'strongly_connected_components', 'strongly_connected_components_local',
    'topological_sort')

# The answers of these depend on nothing but the order of keys and target, so
# that `twins` can draw others with the same.
WITH_TWINS = ('binary_search', 'bubble_sort', 'heapsort', 'insertion_sort',
              'minimum', 'quickselect', 'quicksort', 'search')

# The least that there is of a task that does not say so itself. Several of
# CLRS' samplers cannot draw anything smaller.
MIN_SIZE = 2
MIN_SIZE_OF_CLRS = 4

# The tasks of users, by name. `tasks.TASKS` adds to it and looks here first.
registered: Dict[str, Any] = {}


def known_tasks() -> Tuple[str, ...]:
  """The names of all tasks: those that are built in, and those of users."""
  return tuple(sorted({*BATCHED, *FROM_CLRS, *registered}))


def min_size(name: str) -> int:
  """The smallest size of which a task has samples."""
  if name in registered:
    return registered[name].min_size
  return MIN_SIZE if name in BATCHED else MIN_SIZE_OF_CLRS


def check_twins(algorithms: Iterable[str]) -> None:
  """Raises a ValueError unless samples of all these tasks have twins."""
  for algorithm in algorithms:
    if algorithm not in WITH_TWINS:
      raise ValueError(
          'contrastive_weight is for tasks whose answers depend on nothing but '
          f'the order of numbers ({", ".join(WITH_TWINS)}), and {algorithm} is '
          'none of them.')


def check_choice(what: str, name: Any, known: Iterable[str],
                 remedy: str = '') -> None:
  """Raises a ValueError, in one line, unless `name` is one of `known`."""
  known = tuple(known)
  if name in known:
    return
  close = difflib.get_close_matches(str(name), known, n=1)
  hint = f' (did you mean {close[0]!r}?)' if close else ''
  raise ValueError(
      f'Unknown {what} {name!r}{hint}: choose from {", ".join(known)}.'
      + (f' {remedy}' if remedy else ''))


def check_size(task: str, what: str, size: Any) -> Tuple[int, int]:
  """Reads a size or an inclusive range of sizes of a task.

  Args:
    task: The name of the task.
    what: What to call the size in an error message.
    size: A whole number, or two of them.

  Returns:
    The smallest and the largest size.

  Raises:
    ValueError: if it is neither, or too small for the task.
  """
  least = min_size(task)
  pair = tuple(size) if isinstance(size, (tuple, list)) else (size, size)
  if (len(pair) == 2 and all(is_whole(x) for x in pair)
      and least <= pair[0] <= pair[1]):
    return int(pair[0]), int(pair[1])
  raise ValueError(
      f'{what} must be a size of at least {least} for {task}, or a range '
      f'(low, high) of such sizes, got {size!r}.')


def is_whole(value: Any) -> bool:
  """Whether this is a whole number, of Python or of numpy; no bool is."""
  return (isinstance(value, numbers.Integral)
          and not isinstance(value, bool))
