# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""What a user asks of a trained model: own graphs and arrays, checked.

Everything that cannot be answered is refused here, in one sentence, before
anything is compiled. What is left has the form in which training has seen its
problems.
"""

import dataclasses
import sys
from typing import (
  Any,
  Dict,
  Mapping,
  NamedTuple,
  Optional,
  Sequence,
  Tuple,
  Union,
)

from dear_jax.reasoning import messages
from dear_jax.reasoning import ranges
import numpy as np

_Array = np.ndarray


class Question(NamedTuple):
  """A batch of problems of one size.

  Attributes:
    problems: `A` [B, N, N] and, if there is a source, `s` [B]; or `key` [B, N]
      and, if there is one, `target` [B].
    is_single: Whether it was one problem without a batch axis.
  """
  problems: Dict[str, _Array]
  is_single: bool


@dataclasses.dataclass(frozen=True)
class _Graph:
  """The graphs of a task."""
  has_source: bool = False
  is_weighted: bool = False
  is_directed: bool = False
  is_acyclic: bool = False
  # Whether it does not matter how much lighter one edge is than another.
  is_by_order: bool = False

  @property
  def names(self) -> Tuple[str, ...]:
    return ('adj', 'source') if self.has_source else ('adj',)


@dataclasses.dataclass(frozen=True)
class _Keys:
  """The arrays of a task."""
  has_target: bool = False
  is_sorted: bool = False
  # Keys of either sign, of which sums are taken: they have a zero to keep.
  is_signed: bool = False

  @property
  def names(self) -> Tuple[str, ...]:
    return ('keys', 'target') if self.has_target else ('keys',)


_FORMS: Dict[str, Union[_Graph, _Keys]] = {
    'articulation_points': _Graph(),
    'bellman_ford': _Graph(has_source=True, is_weighted=True),
    'bfs': _Graph(has_source=True),
    'binary_search': _Keys(has_target=True, is_sorted=True),
    'bridges': _Graph(),
    'bubble_sort': _Keys(),
    'dag_shortest_paths': _Graph(has_source=True, is_weighted=True,
                                 is_directed=True, is_acyclic=True),
    'dfs': _Graph(is_directed=True),
    'dijkstra': _Graph(has_source=True, is_weighted=True),
    'find_maximum_subarray': _Keys(is_signed=True),
    'find_maximum_subarray_kadane': _Keys(is_signed=True),
    'floyd_warshall': _Graph(is_weighted=True),
    'heapsort': _Keys(),
    'insertion_sort': _Keys(),
    'minimum': _Keys(),
    'mst_kruskal': _Graph(is_weighted=True, is_by_order=True),
    'mst_prim': _Graph(has_source=True, is_weighted=True, is_by_order=True),
    'quickselect': _Keys(),
    'quicksort': _Keys(),
    'search': _Keys(has_target=True, is_sorted=True),
    'strongly_connected_components': _Graph(is_directed=True),
    'strongly_connected_components_local': _Graph(is_directed=True),
    'topological_sort': _Graph(is_directed=True, is_acyclic=True),
}
TASKS = tuple(_FORMS)

# From here on, whole numbers that differ may be equal in double precision.
_MOST = 2.0**53
_WHOLE = 'whole numbers between -2**53 and 2**53'

# The names that CLRS has for the same things.
_ALIASES = {'A': 'adj', 's': 'source', 'key': 'keys'}


def check_task(task: str) -> None:
  """Raises a ValueError unless questions can be asked about a task."""
  if task not in _FORMS:
    raise ValueError(
        f'{task} takes neither a graph nor an array of keys, which is all that '
        f'can be asked about so far: {", ".join(TASKS)}.')


def read(task: str, args: Sequence[Any], kwargs: Mapping[str, Any], *,
         min_size: int) -> Question:
  """Reads the arguments of a question.

  >>> read('bfs', (), dict(adj=[[0, 1], [1, 0]], source=1), min_size=2).problems
  {'A': array([[[0., 1.],
          [1., 0.]]]), 's': array([1])}
  >>> read('bfs', (), dict(adj=[[0, 1], [0, 0]], source=1), min_size=2)
  Traceback (most recent call last):
  ...
  ValueError: adj must be symmetric for bfs, whose graphs are undirected, but \
adj[0, 1] is 1 and adj[1, 0] is 0.

  Args:
    task: The name of the task.
    args: What was given by position: `adj` and `source`, or `keys` and
      `target`.
    kwargs: What was given by name.
    min_size: The fewest nodes that there must be.

  Returns:
    The problems.

  Raises:
    ValueError: if something is missing, or is not what the task is about.
  """
  check_task(task)
  form = _FORMS[task]
  given = arguments(task, form.names, args, kwargs)
  if isinstance(form, _Graph):
    return _read_graph(task, form, given, min_size)
  return _read_keys(task, form, given, min_size)


def argument_names(task: str) -> Tuple[str, ...]:
  """The arguments that a question about a task has."""
  check_task(task)
  return _FORMS[task].names


def is_directed(task: str) -> bool:
  """Whether edges of the task's graphs have a direction."""
  form = _FORMS[task]
  return isinstance(form, _Graph) and form.is_directed


def graph_form(task: str) -> Optional[_Graph]:
  """What the graphs of a task are like; None if it has none."""
  form = _FORMS.get(task)
  return form if isinstance(form, _Graph) else None


def arguments(task: str, names: Tuple[str, ...], args: Sequence[Any],
              kwargs: Mapping[str, Any]) -> Dict[str, Any]:
  """Puts arguments by position and by name together."""
  wanted = ' and '.join(names)
  if len(args) > len(names):
    raise ValueError(f'{task} takes {wanted}, but {len(args)} values were '
                     'given.')
  given = dict(zip(names, args))
  for name, value in kwargs.items():
    name = _ALIASES.get(name, name)
    if name not in names:
      raise ValueError(f'{task} takes {wanted}, not {name}.')
    if name in given:
      raise ValueError(f'{name} was given twice.')
    given[name] = value
  for name in names:
    if given.get(name) is None:
      raise ValueError(f'{task} takes {wanted}, but {name} is missing.')
  return given


def _read_graph(task: str, form: _Graph, given: Mapping[str, Any],
                min_size: int) -> Question:
  """Reads an adjacency matrix, a networkx graph, or several of them."""
  adj, labels = _from_networkx(given['adj'], form)
  adj = numbers('adj', adj)
  if adj.ndim not in (2, 3) or adj.shape[-1] != adj.shape[-2]:
    raise ValueError('adj must be a square matrix [N, N], or a batch of them '
                     f'[B, N, N], but has the shape {list(adj.shape)}.')
  is_single = adj.ndim == 2
  adj = adj[None] if is_single else adj
  _check_size(task, 'adj', adj.shape, min_size, 'nodes')
  if form.is_weighted:
    _refuse('adj', adj, adj < 0, 'must not be negative: its entries are '
            'weights, and 0 is no edge', is_single)
  else:
    _refuse('adj', adj, (adj != 0) & (adj != 1), f'must hold 0 and 1 only, '
            f'since {task} knows no weights (adj != 0 makes such a matrix)',
            is_single)
  if not form.is_directed:
    different = np.argwhere(adj != adj.transpose(0, 2, 1))
    if len(different):
      b, i, j = different[0]
      raise ValueError(
          f'adj must be symmetric for {task}, whose graphs are undirected, but '
          f'{messages.entry("adj", (b, i, j), is_single)} is '
          f'{messages.number(adj[b, i, j])} and '
          f'{messages.entry("adj", (b, j, i), is_single)} is '
          f'{messages.number(adj[b, j, i])}.')
  if form.is_acyclic:
    _check_acyclic(task, adj, is_single)
  if form.is_weighted:
    weights, adj = adj, ranges.scaled_weights(adj, form.is_by_order)
    _refuse('adj', weights, (weights > 0) & (adj < ranges.LEAST_WEIGHT),
            ranges.TOO_WIDE, is_single)
  problems = {'A': adj}
  if form.has_source:
    problems['s'] = read_source(given['source'], labels, adj.shape[:2],
                                is_single)
  return Question(problems, is_single)


def _from_networkx(adj: Any, form: _Graph) -> Tuple[Any, Optional[list]]:
  """Makes matrices of networkx graphs; anything else stays as it is.

  Args:
    adj: What was given.
    form: The graphs of the task.

  Returns:
    The matrices, and the nodes of every graph in the order of the rows.
  """
  if hasattr(adj, 'toarray'):  # a sparse matrix
    return adj.toarray(), None
  # Whoever has such a graph has imported the library.
  networkx = sys.modules.get('networkx')
  if networkx is None:
    return adj, None
  if isinstance(adj, networkx.Graph):
    matrix, nodes = _networkx_matrix(networkx, adj, form)
    return matrix, [nodes]
  if isinstance(adj, (list, tuple)) and adj and all(
      isinstance(graph, networkx.Graph) for graph in adj):
    matrices, nodes = zip(*(_networkx_matrix(networkx, graph, form)
                            for graph in adj))
    return list(matrices), list(nodes)
  return adj, None


def _networkx_matrix(networkx, graph, form: _Graph):
  """The matrix and the nodes of one networkx graph."""
  if graph.is_multigraph():
    raise ValueError('adj must have one edge between two nodes at the most, '
                     f'not be a {type(graph).__name__}.')
  nodes = list(graph.nodes)
  if not nodes:
    return np.zeros((0, 0)), nodes
  if form.is_weighted:
    networkx_weights(list(graph.edges(data='weight', default=1)))
  return networkx.to_numpy_array(
      graph, weight='weight' if form.is_weighted else None), nodes


def networkx_weights(edges: Sequence[Tuple[Any, Any, Any]]) -> _Array:
  """The weights of edges, each with its two ends before it."""
  for one, other, weight in edges:
    if not isinstance(weight, (int, float, np.number, np.bool_)):
      raise ValueError(f'the edge from {one!r} to {other!r} must have a number '
                       f'as its weight, got {weight!r}.')
    if weight == 0:
      raise ValueError(f'the edge from {one!r} to {other!r} has a weight of '
                       '0, which would be no edge.')
  return numbers('weights', [weight for _, _, weight in edges])


def read_source(source: Any, labels: Optional[list], shape: Tuple[int, ...],
                is_single: bool) -> _Array:
  """The index of every source, in graphs [B, N]."""
  batch_size, nb_nodes = shape
  if labels is not None:
    sources = [source] if is_single else _as_list('source', source, batch_size)
    return np.array([_index_of(nodes, label)
                     for nodes, label in zip(labels, sources)])
  try:
    source = np.asarray(source)
  except ValueError:
    source = np.asarray(repr(source))
  shape = () if is_single else (batch_size,)
  if source.dtype.kind not in 'iu' or source.shape not in ((), shape):
    what = ('a whole number' if is_single else
            f'a whole number, or {batch_size} of them, one for each graph')
    raise ValueError(f'source must be {what}, got {messages.shown(source)}.')
  for value in np.ravel(source):
    if not 0 <= value < nb_nodes:
      raise ValueError('source must be the index of a node, from 0 to '
                       f'{nb_nodes - 1}, got {value}.')
  return np.broadcast_to(source, (batch_size,)).astype(np.int64)


def _index_of(nodes: list, label: Any) -> int:
  """Where a node of a networkx graph is among all of them."""
  try:
    return {node: i for i, node in enumerate(nodes)}[label]
  except (KeyError, TypeError):  # an array is no node either
    raise ValueError(
        f'source must be a node of the graph, got {label!r}.') from None


def _as_list(name: str, value: Any, count: int) -> list:
  if hasattr(value, 'dtype') and np.ndim(value) == 1:
    value = np.asarray(value).tolist()
  if not isinstance(value, (list, tuple)) or len(value) != count:
    raise ValueError(f'{name} must be a list of {count}, one for each graph, '
                     f'got {messages.shown(value)}.')
  return list(value)


def _read_keys(task: str, form: _Keys, given: Mapping[str, Any], min_size: int
               ) -> Question:
  """Reads arrays of keys and, where the task has them, targets."""
  keys = numbers('keys', given['keys'])
  if keys.ndim not in (1, 2):
    raise ValueError('keys must be an array [N], or a batch of them [B, N], '
                     f'but has the shape {list(keys.shape)}.')
  is_single = keys.ndim == 1
  keys = keys[None] if is_single else keys
  _check_size(task, 'keys', keys.shape, min_size, 'keys')
  if form.is_sorted:
    _refuse('keys', keys[:, 1:], keys[:, 1:] < keys[:, :-1],
            f'must be in ascending order for {task}', is_single, offset=1)
  problems = {'key': keys}
  if form.has_target:
    target = numbers('target', given['target'])
    if target.shape not in ((), () if is_single else (len(keys),)):
      what = ('one number' if is_single else
              f'one number, or {len(keys)} of them, one for each array')
      raise ValueError(f'target must be {what}, but has the shape '
                       f'{list(target.shape)}.')
    target = np.broadcast_to(target, (len(keys),)).copy()
    for value, last in zip(target, keys[:, -1]):
      if value > last:
        raise ValueError('target must not be beyond the last key, '
                         f'{messages.number(last)}, got '
                         f'{messages.number(value)}.')
    problems['target'] = target
  if form.is_signed:
    problems['key'] = ranges.scaled_signed_keys(keys)
  else:
    problems = ranges.scaled_keys(problems)
  return Question(problems, is_single)


def numbers(name: str, value: Any) -> _Array:
  """An array of finite numbers."""
  try:
    array = np.asarray(value)
  except ValueError:
    raise ValueError(f'{name} must be an array, but its rows differ in '
                     'length.') from None
  if np.ma.is_masked(value):
    raise ValueError(f'{name} must hold numbers, but some of its entries are '
                     'masked.')
  is_whole = array.dtype.kind in 'iu'
  if array.dtype.kind == 'O' and (array.ndim or isinstance(value, int)):
    others = sorted({type(x).__name__ for x in array.ravel()
                     if not isinstance(x, (int, float, np.number))})
    if others:
      raise ValueError(f'{name} must hold numbers, but some of its entries are '
                       f'{" and ".join(others)}.')
    is_whole = True  # in part: all are looked at
  # The narrow types of accelerators, such as bfloat16, are none of numpy's.
  elif array.dtype.kind not in 'biuf' and 'float' not in array.dtype.name:
    raise ValueError(f'{name} must hold numbers, got {messages.shown(value)}.')
  try:
    array = array.astype(np.float64)
  except OverflowError:
    raise ValueError(f'{name} must hold numbers, but some of its entries are '
                     'too large.') from None
  _refuse(name, array, ~np.isfinite(array), 'must hold finite numbers')
  if is_whole:
    _refuse(name, array, np.abs(array) >= _MOST, f'must hold {_WHOLE}')
  return array


def _check_size(task: str, name: str, shape: Tuple[int, ...], min_size: int,
                what: str) -> None:
  if not shape[0]:
    raise ValueError(f'{name} is an empty batch.')
  if shape[1] < min_size:
    raise ValueError(f'{task} needs at least {min_size} {what}, but {name} has '
                     f'{shape[1]}.')


def _check_acyclic(task: str, adj: _Array, is_single: bool) -> None:
  """Raises a ValueError if a graph has a cycle."""
  for b, graph in enumerate(adj):
    left = np.ones(len(graph), bool)
    while left.any():
      # What no edge from any of the others leads to comes first.
      free = left & ~(graph[left] != 0).any(axis=0)
      if not free.any():
        where = '' if is_single else f' number {b}'
        raise ValueError(f'{task} needs graphs without cycles, but adj{where} '
                         f'has one through some of the nodes '
                         f'{messages.few(np.flatnonzero(left))}.')
      left &= ~free


def _refuse(name: str, array: _Array, wrong: _Array, why: str,
            is_single: bool = False, offset: int = 0) -> None:
  """Raises a ValueError that names the first wrong entry, if there is one.

  Args:
    name: Of the array.
    array: The array.
    wrong: Where it is wrong.
    why: What is wrong with it.
    is_single: Whether its first axis was not given by the user.
    offset: The index of its first entry along the last axis.
  """
  found = np.argwhere(wrong)
  if not len(found):
    return
  index = tuple(int(i) for i in found[0])
  value = array[index]
  if not index:
    raise ValueError(f'{name} {why}, got {messages.number(value)}.')
  shown = index[:-1] + (index[-1] + offset,)
  raise ValueError(
      f'{name} {why}, but {messages.entry(name, shown, is_single)} is '
      f'{messages.number(value)}.')
