# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""The 'dear_*' kinds among those of CLRS, and steps of one's own among them."""

import functools
import inspect
from typing import Any, Callable, Dict

import clrs
from dear_jax.networks import clrs_private
from dear_jax.networks import own_steps
from dear_jax.networks import processors

_NAME = 'get_processor_factory'
_MODULES = (clrs, clrs_private.processors)
# By module: our function, and the one that was there.
_put_in_place: Dict[Any, Any] = {}


def _with_our_kinds(original):
  """A `get_processor_factory` that takes our kinds, and passes on all others.

  Args:
    original: What was there: CLRS's own function, or one that a user has put
      in its place.

  Returns:
    A function with the same arguments.
  """
  @functools.wraps(original)
  def get_processor_factory(kind: str, *args, **kwargs):
    if isinstance(kind, str) and kind.startswith(processors.PREFIX):
      return processors.get_processor_factory(kind, *args, **kwargs)
    return original(kind, *args, **kwargs)

  return get_processor_factory


def register() -> None:
  """Makes `clrs.get_processor_factory` take the 'dear_*' kinds as well.

  Every other kind goes on to the function that was there before, so that kinds
  of a newer CLRS, or of one's own, are as they were.
  """
  for module in _MODULES:
    present = getattr(module, _NAME)
    if present is not _put_in_place.get(module, (None,))[0]:
      ours = _with_our_kinds(present)
      setattr(module, _NAME, ours)
      _put_in_place[module] = (ours, present)


def unregister() -> None:
  """Takes back `register`, unless the function was replaced since then."""
  for module in _MODULES:
    ours, original = _put_in_place.pop(module, (None, None))
    if ours is not None and getattr(module, _NAME) is ours:
      setattr(module, _NAME, original)


def register_step(name: str, step: Callable[..., Any], *,
                  connectivity: str = 'graph',
                  takes_edge_lists: bool = False) -> None:
  """Makes a step of one's own a kind of processor, everywhere in this process.

  After `register_step('mean', MeanStep)`, 'dear_mean' is a kind for
  `get_processor_factory` (for that of CLRS, too, after `register`) and for
  `TrainConfig`, whose `model='nar'` calls it 'mean'. The commands in
  experiments/ know it if --import names the file that registers it.

  >>> from dear_jax.networks import steps
  >>> import haiku as hk
  >>> import jax
  >>> class Neighbours(steps.Step):
  ...   def __init__(self, out_size, name='neighbours'):
  ...     super().__init__(name=name)
  ...     self._inputs = hk.Linear(out_size)
  ...     self._sent = hk.Linear(out_size)
  ...   def prepare(self, node_fts, edge_fts, graph_fts, adj_mat,
  ...               edge_list=None, node_mask=None):
  ...     shares = adj_mat / (1 + adj_mat.sum(axis=1, keepdims=True))
  ...     return dict(inputs=self._inputs(node_fts), shares=shares)
  ...   def step(self, hidden, context):
  ...     shares = context['shares'].swapaxes(1, 2)
  ...     return jax.nn.tanh(context['inputs'] + shares @ self._sent(hidden))
  >>> register_step('neighbours', Neighbours)
  >>> factory = processors.get_processor_factory('dear_neighbours')

  Args:
    name: Of the kind, without the 'dear_' that will be in front of it.
    step: A class, or any function, that is called with the width of the states
      and returns a `steps.Step`, or a processor of CLRS. Of `use_ln`, `norm`,
      `nb_triplet_fts` and `nb_heads` it is given those that are among its
      arguments; the others do not reach it.
    connectivity: Where messages may pass: 'graph' is along the edges (and
      between all nodes of a task without a graph), 'full' between all nodes,
      'self' nowhere.
    takes_edge_lists: Whether `prepare` knows lists of edges.

  Raises:
    ValueError: if the kind is there already, unless by the very same step, or
      if an argument is not what it has to be.
  """
  if not isinstance(name, str) or not name.isidentifier():
    raise ValueError('A step needs a name of letters, digits and underscores, '
                     f'got {name!r}.')
  if name.startswith(processors.PREFIX):
    raise ValueError(f'A step is registered without the {processors.PREFIX!r} '
                     f'that its kind begins with, got {name!r}.')
  if not callable(step):
    raise ValueError('A step is a class or a function that makes one, got '
                     f'{step!r}.')
  if connectivity not in processors.CONNECTIVITIES:
    raise ValueError('connectivity must be one of '
                     f'{", ".join(processors.CONNECTIVITIES)}, got '
                     f'{connectivity!r}.')
  kind = processors.PREFIX + name
  taken = None
  if kind in processors.KINDS:
    taken = 'a processor of dear_jax'
  elif kind in own_steps.REGISTERED:
    present = own_steps.REGISTERED[kind].make
    if not own_steps.is_same(present, step):
      taken = own_steps.describe(present)
  if taken:
    raise ValueError(f'{kind!r} is {taken} already; '
                     f'{own_steps.describe(step)} needs another name.')
  # Haiku's metaclass hides the arguments of a class.
  arguments = inspect.signature(
      step.__init__ if inspect.isclass(step) else step).parameters
  own_steps.REGISTERED[kind] = own_steps.OwnStep(
      make=step, connectivity=connectivity, takes_edge_lists=takes_edge_lists,
      settings=tuple(x for x in own_steps.SETTINGS if x in arguments))
