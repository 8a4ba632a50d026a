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
  """Has the polynomial-decay average of the parameters; the last in a chain.

  At a constant learning rate the parameters wander about a good place; their
  average is nearer to it. Shamir and Zhang, *Stochastic Gradient Descent for
  Non-smooth Optimization* (2013), section 4.

  Returns:
    A transformation that leaves updates as they are. Its state has the average,
    which only `add_to_average` moves.
  """
  def init(params):
    return AverageState(count=jnp.zeros((), jnp.int32),
                        average=jax.tree_util.tree_map(jnp.array, params))

  def update(updates, state, params=None):
    del params
    return updates, state

  return optax.GradientTransformation(init, update)


def add_to_average(opt_state: Any, params: optax.Params) -> Any:
  """Adds the parameters after a step to the average.

  They are averaged as they are, and not as updates would make them, since a
  step may leave out some of the updates: those of a frozen processor, or of the
  encoders and decoders of other algorithms. What did not move is averaged, too:
  the weight goes by the number of the step, which all parameters share.

  Args:
    opt_state: The state of a chain that ends with `track_average`.
    params: All parameters, after the step.

  Returns:
    The state with the new average.
  """
  state = opt_state[-1]
  count = state.count + 1
  weight = (_POWER + 1) / (count + _POWER)
  average = jax.tree_util.tree_map(
      lambda mean, new: mean + (weight * (new - mean)).astype(mean.dtype),
      state.average, params)
  return (*opt_state[:-1], AverageState(count, average))


def get_average(opt_state: Any) -> optax.Params:
  """The average in the state of a chain that ends with `track_average`."""
  return opt_state[-1].average
