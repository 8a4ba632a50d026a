# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Some of the instances of a batch that is being solved.

What a step is solved with are parameters, a context that its `prepare` made, a
mask of nodes and noise. In a context all arrays have the instances along their
leading axis, except for what is in its entry `shared`, and for `messages` if
there is an `edge_list`: these have edges there. Where there is a Cayley graph,
a context consists of two, `graph` and `cayley`.
"""

from typing import Any, Optional

from dear_jax.fixed_points import per_instance
from dear_jax.networks import edge_lists
from dear_jax.networks import shards as shards_lib
import jax
import jax.numpy as jnp

_Array = jax.Array


class Subsets:
  """How a solver goes on with some of the instances (`solvers.Subsets`)."""

  def __init__(self, shards: Optional[shards_lib.Shards] = None):
    """Takes how the batch is split, of which only `replace` makes use."""
    self._shards = shards

  def fits(self, args: Any, wanted: _Array, size: int) -> _Array:
    context = _of_graph(args[1])
    edge_list = context.get('edge_list')
    if edge_list is None:
      return jnp.array(True)
    return edge_lists.fits(edge_list, wanted, context['is_edge'].shape[-1],
                           size)

  def take(self, args: Any, instances: _Array) -> Any:
    params, context, node_mask, noise = args
    return (params, _take_context(context, instances),
            *_take((node_mask, noise), instances))

  def replace(self, args: Any, condition: _Array, source: _Array) -> Any:
    params, context, node_mask, noise = args
    return (params, self._replace_context(context, condition, source),
            node_mask, per_instance.copy(noise, condition, source))

  def _replace_context(self, context: Any, condition: _Array, source: _Array
                       ) -> Any:
    if 'cayley' in context:
      return {name: part if name == 'node_mask'
              else self._replace_context(part, condition, source)
              for name, part in context.items()}
    context = dict(context)
    kept = {name: context.pop(name) for name in ('shared', 'edge_list')
            if name in context}
    if isinstance(kept.get('edge_list'), edge_lists.EdgeList):
      # A list has no room for the edges of another graph; its own stay, and say
      # nothing.
      nb_nodes = context['is_edge'].shape[1]
      is_of = shards_lib.by_device(
          self._shards, lambda condition, receivers: condition.at[
              receivers // nb_nodes].get(mode='fill', fill_value=True))(
                  condition, kept['edge_list'].receivers)
      kept['messages'] = jnp.where(is_of[:, None], 0, context.pop('messages'))
      kept['is_edge'] = context.pop('is_edge')
    return dict(per_instance.copy(context, condition, source), **kept)


def without_overflow(args: Any, instances: _Array, batch_size: int,
                     is_split: bool = False) -> _Array:
  """The instances, with fillers for those at the end that do not fit.

  Args:
    args: Of the step.
    instances: [K].
    batch_size: How many there are in all.
    is_split: Whether each device has a list of its own. There is room for all
      of them then, but they are the same as with a single list.

  Returns:
    [K].
  """
  context = _of_graph(args[1])
  if context.get('edge_list') is None:
    return instances
  if is_split:
    return edge_lists.without_overflow_of_one(context['is_edge'], instances)
  return edge_lists.without_overflow(
      context['edge_list'], instances, batch_size,
      context['is_edge'].shape[-1])


def _of_graph(context: Any) -> Any:
  """The context of the input graph, also where there is a Cayley graph."""
  return context['graph'] if 'cayley' in context else context


def _take_context(context: Any, instances: _Array) -> Any:
  if 'cayley' in context:
    return dict(
        graph=_take_context(context['graph'], instances),
        cayley=_take_context(context['cayley'], instances),
        node_mask=_take(context['node_mask'], instances))
  context = dict(context)
  kept = {name: context.pop(name) for name in ('shared', 'edge_list')
          if name in context}
  if isinstance(kept.get('edge_list'), edge_lists.EdgeList):
    batch_size, nb_nodes, _ = context['is_edge'].shape
    kept['edge_list'], edges = edge_lists.take(
        kept['edge_list'], instances, batch_size, nb_nodes)
    kept['messages'] = _take(context.pop('messages'), edges)
  return dict(_take(context, instances), **kept)


def _take(tree: Any, indices: _Array) -> Any:
  return jax.tree_util.tree_map(
      lambda x: jnp.take(x, indices, axis=0, mode='clip'), tree)
