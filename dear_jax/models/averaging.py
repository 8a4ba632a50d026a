# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""The average of the parameters that an optimiser goes through."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

# The weight of a step grows with this power of its number, so that the average
# is over about the last tenth of a run, however long that is.
_POWER = 8


class AverageState(NamedTuple):
  # The name is that of run folders; that it is also a tuple's is no harm.
  count: jax.Array  # type: ignore[assignment]  # []
  average: optax.Params


def track_average() -> optax.GradientTransformation:
  """Keeps the polynomial-decay average of the parameters; the last in a chain.

  At a constant learning rate the parameters wander about a good place; their
  average is nearer to it. Shamir and Zhang, *Stochastic Gradient Descent for
  Non-smooth Optimization* (2013), section 4.

  Returns:
    A transformation that leaves updates as they are. Its state has the average.
  """
  def init(params):
    return AverageState(count=jnp.zeros((), jnp.int32),
                        average=jax.tree_util.tree_map(jnp.array, params))

  def update(updates, state, params=None):
    if params is None:
      raise ValueError('The average needs update(..., params).')
    count = state.count + 1
    weight = (_POWER + 1) / (count + _POWER)
    average = jax.tree_util.tree_map(
        lambda mean, new: mean + (weight * (new - mean)).astype(mean.dtype),
        state.average, optax.apply_updates(params, updates))
    return updates, AverageState(count, average)

  return optax.GradientTransformation(init, update)


def get_average(opt_state: Any) -> optax.Params:
  """The average in the state of a chain that ends with `track_average`."""
  return opt_state[-1].average
