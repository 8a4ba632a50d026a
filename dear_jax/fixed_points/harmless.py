# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Arguments of a step that do no harm, where an instance has failed.

A zero cotangent is not enough to keep an instance out of a gradient: its
product with the derivative of NaN is NaN. So a failed instance gets the
arguments of another one, and no cotangent.
"""

from typing import Any, Callable, Optional

from dear_jax.fixed_points import per_instance
from dear_jax.fixed_points import solvers
from dear_jax.fixed_points import varying
import jax
import jax.numpy as jnp

_Tree = Any


def without_failed(fun: Callable[..., _Tree],
                   subsets: Optional[solvers.Subsets], place: _Tree, args: Any,
                   failed: jax.Array) -> Callable[[Any], Any]:
  """What makes arguments harmless, where an instance failed.

  Which arrays have instances is known to `subsets`. Without them it is found
  out, if need be: an array with an entry for each instance can be changed at
  those that failed without any effect on the others.

  An array of which the others' results do not tell whether it has instances,
  such as a bias of as many equal entries, may be taken for one that has. So
  entries are given the value of others, and keep their own gradient.

  Args:
    fun: The step.
    subsets: As in `fixed_point`.
    place: A state, [B, ...], with B of at least one.
    args: The arguments of the step.
    failed: [B].

  Returns:
    A function of arguments.
  """
  source = jnp.argmin(failed)  # one that did not
  if subsets is not None:
    return lambda args: subsets.replace(_cut(args, failed), failed, source)
  place, tested = jax.lax.stop_gradient(
      (per_instance.copy(place, failed, source), args))
  places = [i for i, x in enumerate(jax.tree_util.tree_leaves(tested))
            if jnp.ndim(x) > 0 and len(x) == len(failed)
            and not varying.is_shared(x)]

  def replace(args, has_instances):
    leaves, treedef = jax.tree_util.tree_flatten(args)
    for i, has in zip(places, has_instances):
      leaves[i] = _with_value_of(leaves[i], failed & has, source)
    return jax.tree_util.tree_unflatten(treedef, leaves)

  def find_out(place, args):
    none = jnp.zeros(len(places), bool)
    before = fun(place, *args)
    def has_instances(i):
      after = fun(place, *replace(args, none.at[i].set(True)))
      same = jax.tree_util.tree_map(
          lambda x, y: jnp.all(per_instance.expand(failed, x) | (x == y)),
          before, after)
      return jnp.all(jnp.array(jax.tree_util.tree_leaves(same)))
    return jax.lax.map(has_instances, jnp.arange(len(places)))

  if not places:
    return lambda args: _cut(args, failed)
  has_instances = jax.lax.cond(
      jnp.any(failed), find_out,
      lambda *problem: varying.like(problem, jnp.ones(len(places), bool)),
      place, tested)
  return lambda args: replace(_cut(args, failed), has_instances)


def _with_value_of(x: jax.Array, where: jax.Array, source: jax.Array
                   ) -> jax.Array:
  """An array with one entry in the place of some others [B].

  Their gradient stays their own, but for numbers that are not finite.
  """
  if not jnp.issubdtype(jnp.result_type(x), jnp.inexact):
    return per_instance.copy(x, where, source)
  value = jax.lax.stop_gradient(x[source][None])
  finite = jnp.isfinite(x)
  nothing = jnp.where(finite, x, 0) - jax.lax.stop_gradient(
      jnp.where(finite, x, 0))
  return jnp.where(per_instance.expand(where, x), value + nothing, x)


def _cut(args: Any, failed: jax.Array) -> Any:
  """The same arguments, without a gradient if there is nothing to copy from.

  Not those that all devices share, whose gradient is also that of others.

  Args:
    args: The arguments.
    failed: [B].

  Returns:
    The arguments.
  """
  def cut(x):
    if varying.is_shared(x):
      return x
    return jnp.where(jnp.all(failed), jax.lax.stop_gradient(x), x)
  return jax.tree_util.tree_map(cut, args)
