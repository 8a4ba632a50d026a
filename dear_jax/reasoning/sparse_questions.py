# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Questions about graphs that come as their edges, and stay so.

A graph is `(senders, receivers, n)` or `(senders, receivers, weights, n)`, a
sparse matrix of scipy, or a graph of networkx. It is checked as matrices are
in `questions`, with time and memory that go with its edges.
"""

import numbers
import sys
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from dear_jax.data import free_memory
from dear_jax.data import sparse_graphs
from dear_jax.data import task_names
from dear_jax.models import packed
from dear_jax.reasoning import messages
from dear_jax.reasoning import questions
from dear_jax.reasoning import ranges
import numpy as np

_Array = np.ndarray

# Up to so many nodes, sparse matrices of scipy and graphs of networkx become
# matrices: these cost nothing, and their programs are those of all others.
MATRIX_UP_TO = 256

# What a pair of nodes takes at least where there is a matrix: several numbers
# of inputs, outputs and logits.
_BYTES_A_PAIR = 48

# What a node takes at least, before there are states.
_BYTES_A_NODE = 48

_REMEDY = ('give its edges, as adj=(senders, receivers, n), to a reasoner '
           'whose processor works on lists of edges, such as dear_pgn_edges')


def is_list(args: Sequence[Any], kwargs: Mapping[str, Any],
            names: Sequence[str]) -> bool:
  """Whether a call has a list of questions, each a dictionary of arguments.

  Args:
    args: Those without names.
    kwargs: Those with names.
    names: Of all arguments. Where there is only one, nothing in a list is the
      empty array, and not no question.

  Returns:
    Whether it is one.

  Raises:
    ValueError: if it is one in part, or a dictionary without a list.
  """
  if len(args) == 1 and isinstance(args[0], Mapping):
    raise ValueError('A question that is a dictionary is given by name, as in '
                     'reasoner(**question), or in a list, as in '
                     'reasoner([question]).')
  if len(args) != 1 or kwargs or not isinstance(args[0], (list, tuple)):
    return False
  others = [i for i, x in enumerate(args[0]) if not isinstance(x, Mapping)]
  if 0 < len(others) < len(args[0]):
    raise ValueError('Every question of a list is a dictionary of arguments, '
                     f'but question {others[0]} is '
                     f'{type(args[0][others[0]]).__name__}.')
  return not others and (len(args[0]) > 0 or len(names) > 1)


def is_edges(adj: Any) -> bool:
  """Whether this is meant as edges: a tuple that ends in a number of nodes."""
  return (isinstance(adj, (tuple, list)) and len(adj) in (3, 4)
          and _is_number(adj[-1])
          and not any(_is_number(x) for x in adj[:2]))


def _is_number(value: Any) -> bool:
  """Whether it is one number, be it in an array."""
  return isinstance(value, numbers.Number) or (
      hasattr(value, 'dtype') and np.ndim(value) == 0)


def nb_nodes_of(adj: Any) -> Optional[int]:
  """The nodes of a graph that is no matrix of numbers; None if it is one."""
  if is_edges(adj):
    return np.asarray(adj[-1]).item()
  if hasattr(adj, 'tocoo') and len(np.shape(adj)) == 2:
    return np.shape(adj)[0]
  networkx = sys.modules.get('networkx')
  if networkx is not None and isinstance(adj, networkx.Graph):
    return len(adj)
  return None


def read(task: str, args: Sequence[Any], kwargs: Mapping[str, Any], *,
         min_size: int, width: int = 0) -> Optional[packed.Problem]:
  """Reads a question about a graph that comes as its edges.

  >>> read('bfs', (([0, 1], [1, 0], 2),), dict(source=1), min_size=2).source
  1
  >>> read('bfs', (([0], [1], 2),), dict(source=1), min_size=2)
  Traceback (most recent call last):
  ...
  ValueError: adj must have every edge in both directions for bfs, whose \
graphs are undirected, but has one from 0 to 1 of weight 1 and none from 1 to 0.

  Args:
    task: The name of the task.
    args: As in `questions.read`.
    kwargs: As there.
    min_size: The fewest nodes that there must be.
    width: Of the messages between all pairs of nodes, if a matrix is answered
      with such.

  Returns:
    The problem; None if it is a question for `questions.read`.

  Raises:
    ValueError: if something is missing, or is not what the task is about; or
      if it is a matrix with which no answer fits into memory.
  """
  form = questions.graph_form(task)
  if form is None:
    return None
  given = questions.arguments(task, form.names, args, kwargs)
  adj = given['adj']
  _refuse_several(adj)
  _refuse_without_size(adj)
  nb_nodes = nb_nodes_of(adj)
  if nb_nodes is None or not (is_edges(adj) or nb_nodes > MATRIX_UP_TO):
    shape = getattr(adj, 'shape', ())
    if len(shape) in (2, 3):
      check_matrix((1, *shape)[-3:-1], width)
    return None
  if task_names.is_whole(nb_nodes) and nb_nodes < min_size:
    raise ValueError(f'{task} needs at least {min_size} nodes, but adj has '
                     f'{nb_nodes}.')
  if task_names.is_whole(nb_nodes):
    free_memory.check(f'{nb_nodes:,} nodes', _BYTES_A_NODE * int(nb_nodes),
                      'ask about a smaller graph')
  labels = None
  if is_edges(adj):
    graph = _from_tuple(adj)
  elif hasattr(adj, 'tocoo'):
    graph = _from_scipy(adj)
  else:
    graph, labels = _from_networkx(adj, form.is_weighted)
  graph = _checked(task, form, graph)
  source = None
  if form.has_source:
    source = int(questions.read_source(
        given['source'], labels and [labels], (1, graph.nb_nodes), True)[0])
  return packed.Problem(graph, source)


def as_matrix(problem: packed.Problem) -> Dict[str, _Array]:
  """The problem as `questions` has it, if its matrix fits into memory."""
  check_matrix((1, problem.graph.nb_nodes))
  found = {'A': problem.graph.matrix()[None]}
  return found if problem.source is None else dict(
      found, s=np.array([problem.source]))


def read_list(asked: Sequence[Any], read_one: Callable[[Any], Any]
              ) -> List[Any]:
  """Reads a list of questions.

  Args:
    asked: The questions.
    read_one: Maps one to what `read` or `questions.read` gives for it.

  Returns:
    What it gives.

  Raises:
    ValueError: as those two do, with the number of the question; or if one is
      a batch.
  """
  found = []
  for number, arguments in enumerate(asked):
    try:
      question = read_one(arguments)
    except ValueError as error:
      raise ValueError(f'Question {number} of the list: {error}') from error
    if not isinstance(question, packed.Problem) and not question.is_single:
      raise ValueError('Every question of a list is about one graph or array, '
                       f'but question {number} is a batch.')
    found.append(question)
  return found


def as_edges(found: Sequence[Any]) -> List[packed.Problem]:
  """What was read, with all of it as edges."""
  return [x if isinstance(x, packed.Problem) else of_matrix(x.problems)
          for x in found]


def of_matrix(problems: Mapping[str, _Array]) -> packed.Problem:
  """The edges of a matrix, of a batch of one."""
  matrix, = problems['A']
  senders, receivers = np.nonzero(matrix)
  return packed.Problem(
      sparse_graphs.SparseGraph(senders, receivers, matrix[senders, receivers],
                                len(matrix)),
      int(problems['s'][0]) if 's' in problems else None)


def check_matrix(shape: Tuple[int, ...], width: int = 0) -> None:
  """Raises a ValueError if questions with matrices would not fit into memory.

  Args:
    shape: [B, N], how many graphs of how many nodes.
    width: Of the messages between all pairs of nodes, if there are such.
  """
  batch_size, nb_nodes = shape
  # What goes into a layer and what comes out of it.
  nb_bytes = batch_size * nb_nodes**2 * (_BYTES_A_PAIR + 2 * 4 * width)
  times = '' if batch_size == 1 else f'{batch_size} times '
  free_memory.check(
      f'{times}{nb_nodes:,} x {nb_nodes:,} pairs of nodes', nb_bytes, _REMEDY)


def _refuse_several(adj: Any) -> None:
  """Raises a ValueError for graphs that only a list of questions can hold."""
  if is_edges(adj) or not isinstance(adj, (list, tuple)):
    return
  sizes: List[Any] = [nb_nodes_of(x) for x in adj]
  are_sparse = any(is_edges(x) or hasattr(x, 'tocoo') for x in adj)
  if not are_sparse and None in sizes:
    sizes = [x.shape[0] if isinstance(x, np.ndarray) and x.ndim == 2 else None
             for x in adj]
  if are_sparse or (None not in sizes and len(set(sizes)) > 1):
    raise ValueError(
        'adj holds several graphs that do not make one array; ask about them '
        'in a list of questions, as in reasoner([dict(adj=..., source=...), '
        '...]).')


def _refuse_without_size(adj: Any) -> None:
  """Raises a ValueError for edges that do not say how many nodes there are."""
  if is_edges(adj) or not isinstance(adj, tuple) or len(adj) not in (2, 3, 4):
    return
  if any(np.ndim(x) != 1 for x in adj[:2]):
    return
  is_square = all(np.shape(x) == (len(adj),) for x in adj)
  if len(adj[0]) == len(adj[1]) and not is_square:
    raise ValueError(
        'adj must end in its number of nodes if it is given by its edges, as '
        '(senders, receivers, n) or (senders, receivers, weights, n).')


def _from_tuple(adj: Sequence[Any]) -> sparse_graphs.SparseGraph:
  """Reads senders, receivers, weights and the number of nodes."""
  *ends, nb_nodes = adj
  nb_nodes = np.asarray(nb_nodes).item()
  weights = ends.pop() if len(ends) == 3 else None
  if not task_names.is_whole(nb_nodes):
    raise ValueError('adj must end in its number of nodes, a whole number, got '
                     f'{nb_nodes!r}.')
  senders, receivers = (_indices(name, x, int(nb_nodes)) for name, x in zip(
      ('senders', 'receivers'), ends))
  if len(senders) != len(receivers):
    raise ValueError(f'adj must have as many senders as receivers, got '
                     f'{len(senders)} and {len(receivers)}.')
  if weights is not None:
    weights = _weights(weights, len(senders))
    zeros = np.flatnonzero(weights == 0)
    if len(zeros):
      raise ValueError(f'the edge from {senders[zeros[0]]} to '
                       f'{receivers[zeros[0]]} has a weight of 0, which would '
                       'be no edge.')
  return sparse_graphs.SparseGraph(senders, receivers, weights, int(nb_nodes))


def _indices(name: str, value: Any, nb_nodes: int) -> _Array:
  try:
    array = np.asarray(value)
  except ValueError:
    raise ValueError(f'{name} of adj must be a row [E] of whole numbers, got '
                     f'{messages.shown(value)}.') from None
  if array.size == 0:
    array = array.astype(np.int64)
  if array.ndim != 1 or array.dtype.kind not in 'iu':
    raise ValueError(f'{name} of adj must be a row [E] of whole numbers, got '
                     f'{array.dtype} of the shape {list(array.shape)}.')
  wrong = np.flatnonzero((array < 0) | (array >= nb_nodes))
  if len(wrong):
    raise ValueError(
        f'{name} of adj must be nodes, from 0 to {nb_nodes - 1}, but '
        f'{name}[{wrong[0]}] is {array[wrong[0]]}.')
  return array.astype(np.int64)


def _weights(value: Any, nb_edges: int) -> _Array:
  array = questions.numbers('weights', value)
  if array.shape != (nb_edges,):
    raise ValueError(f'weights of adj must be a row of {nb_edges}, one for '
                     f'each edge, but have the shape {list(array.shape)}.')
  return array


def _from_scipy(adj: Any) -> sparse_graphs.SparseGraph:
  """Reads a sparse matrix; what is stored as 0 is no edge."""
  if adj.shape[0] != adj.shape[1]:
    raise ValueError('adj must be a square matrix [N, N], but has the shape '
                     f'{list(adj.shape)}.')
  adj = adj.tocoo(copy=True)
  adj.sum_duplicates()  # what is stored twice counts twice, as in scipy
  weights = questions.numbers('weights', adj.data)
  is_edge = weights != 0
  return sparse_graphs.SparseGraph(
      adj.row[is_edge].astype(np.int64), adj.col[is_edge].astype(np.int64),
      weights[is_edge], adj.shape[0])


def _from_networkx(adj: Any, is_weighted: bool
                   ) -> Tuple[sparse_graphs.SparseGraph, list]:
  """Reads a graph of networkx; nodes are numbered in its own order."""
  if adj.is_multigraph():
    raise ValueError('adj must have one edge between two nodes at the most, '
                     f'not be a {type(adj).__name__}.')
  labels = list(adj.nodes)
  number = {label: i for i, label in enumerate(labels)}
  edges = list(adj.edges(data='weight', default=1))
  weights = None
  if is_weighted:
    weights = questions.networkx_weights(edges)
  ends = np.array([[number[one], number[other]] for one, other, _ in edges],
                  np.int64).reshape(-1, 2)
  graph = sparse_graphs.SparseGraph(ends[:, 0], ends[:, 1], weights,
                                    len(labels))
  if not adj.is_directed():
    graph = _both_ways(graph)
  return graph, labels


def _both_ways(graph: sparse_graphs.SparseGraph) -> sparse_graphs.SparseGraph:
  """The graph with the reverse of every edge but of loops."""
  others = graph.senders != graph.receivers
  join = lambda x, y: np.concatenate([x, y[others]])
  return sparse_graphs.SparseGraph(
      join(graph.senders, graph.receivers),
      join(graph.receivers, graph.senders),
      graph.weights if graph.weights is None else join(
          graph.weights, graph.weights), graph.nb_nodes)


def _checked(task: str, form: Any, graph: sparse_graphs.SparseGraph
             ) -> sparse_graphs.SparseGraph:
  """The graph as training has seen them, if the task is about such graphs."""
  keys = graph.senders * graph.nb_nodes + graph.receivers
  order = np.argsort(keys, kind='stable')
  keys, values = keys[order], graph.values()[order]
  edge = lambda key: 'from {} to {}'.format(*divmod(int(key), graph.nb_nodes))
  twice = np.flatnonzero(keys[1:] == keys[:-1])
  if len(twice):
    raise ValueError('adj must have one edge between two nodes at the most, '
                     f'but has the one {edge(keys[twice[0]])} twice.')
  is_wrong, why = (
      (values < 0, 'must not be negative: its entries are weights')
      if form.is_weighted else
      (values != 1, f'must hold edges of weight 1 only, since {task} knows no '
       'weights'))
  wrong = np.flatnonzero(is_wrong)
  if len(wrong):
    raise ValueError(f'adj {why}, but the edge {edge(keys[wrong[0]])} has '
                     f'{messages.number(values[wrong[0]])}.')
  if not form.is_directed:
    _check_symmetric(task, keys, values, graph.nb_nodes, edge)
  if form.is_acyclic:
    _check_acyclic(task, graph)
  weights = None
  if form.is_weighted:
    scaled = _scaled(keys, values, graph.nb_nodes)
    if form.is_by_order:
      scaled = _spaced(keys, scaled, values, graph.nb_nodes)
    lost = np.flatnonzero(scaled < ranges.LEAST_WEIGHT)
    if len(lost):
      raise ValueError(f'adj {ranges.TOO_WIDE}, but the edge '
                       f'{edge(keys[lost[0]])} has '
                       f'{messages.number(values[lost[0]])}.')
    weights = np.empty(len(order))
    weights[order] = scaled
  return graph._replace(weights=weights)


def _scaled(keys: _Array, values: _Array, nb_nodes: int) -> _Array:
  """Weights as `ranges.scaled_weights` has them, in the order of `keys`."""
  senders, receivers = np.divmod(keys, nb_nodes)
  is_loop = senders == receivers
  greatest = ranges.greatest_of(values[~is_loop].max(initial=0),
                                values[is_loop].max(initial=0))
  result = ranges.scaled(values, greatest)
  lightest = np.full(nb_nodes, np.inf)
  np.minimum.at(lightest, senders[~is_loop], values[~is_loop])
  result[is_loop] = ranges.scaled_loops(
      values[is_loop], lightest[senders[is_loop]], greatest)
  return result


def _spaced(keys: _Array, scaled: _Array, given: _Array, nb_nodes: int
            ) -> _Array:
  """Weights of undirected edges, in the order of `keys`, in even steps."""
  senders, receivers = np.divmod(keys, nb_nodes)
  is_one_way = senders < receivers
  is_other_way = senders > receivers
  result = scaled.copy()
  result[is_one_way] = ranges.spaced(
      scaled[is_one_way], given[is_one_way], ranges.LEAST_WEIGHT)
  reverse = receivers * nb_nodes + senders
  result[is_other_way] = result[is_one_way][
      np.searchsorted(keys[is_one_way], reverse[is_other_way])]
  return result


def _check_symmetric(task, keys, values, nb_nodes, edge) -> None:
  """Raises a ValueError unless edges are there both ways, with one weight."""
  senders, receivers = np.divmod(keys, nb_nodes)
  reverse = receivers * nb_nodes + senders
  places = np.minimum(np.searchsorted(keys, reverse), max(0, len(keys) - 1))
  is_there = keys[places] == reverse
  wrong = np.flatnonzero(~is_there | (values[places] != values))
  if not len(wrong):
    return
  first = wrong[0]
  other = (f'one {edge(reverse[first])} of '
           f'{messages.number(values[places[first]])}' if is_there[first]
           else f'none {edge(reverse[first])}')
  raise ValueError(
      f'adj must have every edge in both directions for {task}, whose graphs '
      f'are undirected, but has one {edge(keys[first])} of weight '
      f'{messages.number(values[first])} and {other}.')


def _check_acyclic(task: str, graph: sparse_graphs.SparseGraph) -> None:
  """Raises a ValueError if there is a cycle."""
  from scipy import sparse  # pylint: disable=g-import-not-at-top
  from scipy.sparse import csgraph  # pylint: disable=g-import-not-at-top
  matrix = sparse.coo_matrix(
      (np.ones(len(graph.senders)), (graph.senders, graph.receivers)),
      shape=(graph.nb_nodes, graph.nb_nodes))
  _, component = csgraph.connected_components(matrix, connection='strong')
  loops = graph.senders[graph.senders == graph.receivers]
  cyclic = np.flatnonzero(np.bincount(component)[component] > 1)
  if len(loops) or len(cyclic):
    first = loops[0] if len(loops) else cyclic[0]
    raise ValueError(f'{task} needs graphs without cycles, but adj has one '
                     f'through node {first}.')
