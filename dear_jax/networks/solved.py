# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""A batch whose equilibrium was found, and what can be asked about it."""

import dataclasses
import math
from typing import Any, Callable, NamedTuple, Optional, Tuple

import chex
from dear_jax.fixed_points import diagnostics
from dear_jax.fixed_points import iterations
from dear_jax.fixed_points import per_instance
from dear_jax.fixed_points import regularisers
from dear_jax.fixed_points import solvers
from dear_jax.networks import shards as shards_lib
from dear_jax.networks import subsets
import jax
import jax.numpy as jnp

_Array = jax.Array
_State = Any


class EquilibriumResult(NamedTuple):
  """A solved batch, and the step that it is a fixed point of."""
  solution: solvers.Solution
  nodes: _Array  # [B, N, F]
  edges: Optional[_Array]  # [B, N, N, F]
  fun: Callable[..., _State]  # fun(state, *args) -> state
  args: Tuple[Any, ...]
  of_nodes: Callable[[_State], _Array]  # gets their part out of any state
  of_edges: Callable[[_State], Optional[_Array]]  # as `edges`, of any state
  # Of the numbers in a state, those that are no padding; None if all are.
  share: Optional[_Array] = None
  # From where to go on, if the solve was one that can be paused.
  paused: Optional[iterations.State] = None
  # How the batch is split over devices, if it is.
  shards: Optional[shards_lib.Shards] = None

  def without(self, failed: _Array) -> 'EquilibriumResult':
    """The same, with these instances [B] among those that failed."""
    solution = self.solution
    return self._replace(solution=dataclasses.replace(
        solution, failed=solution.failed | failed,
        converged=solution.converged & ~failed))

  def jacobian_penalty(self, key: chex.PRNGKey, fraction: float = 1.0
                       ) -> _Array:
    """Estimates `||J||_F^2 / size` at the solution.

    Args:
      key: Source of the random directions, and of the instances.
      fraction: The share of the batch to estimate it on. Its gradient is among
        the most expensive things in a training step, and an estimate on few
        instances is about as good.

    Returns:
      A scalar.
    """
    batch_size = len(self.nodes)
    count = math.ceil(fraction * batch_size)
    key, choice_key = jax.random.split(key)
    sound = self._with_copies_of_failed()
    is_sound = ~self.solution.failed
    if count == batch_size:
      return regularisers.jacobian_penalty(
          self.fun, sound.solution.value, *sound.args, key=key, mask=is_sound,
          is_sound=True)
    chosen = jax.random.permutation(choice_key, batch_size)[:count]
    is_chosen = lambda instances: is_sound.at[instances].get(
        mode='fill', fill_value=False)
    if self.shards is not None:
      # To be taken, they would have to leave their devices.
      instances = subsets.without_overflow(
          self.args, jnp.sort(chosen), batch_size, is_split=True)
      return regularisers.jacobian_penalty(
          self.fun, sound.solution.value, *sound.args, key=key,
          mask=is_chosen(instances), instances=instances)
    instances, value, args = sound._take(chosen)
    return regularisers.jacobian_penalty(
        self.fun, value, *args, key=key, mask=is_chosen(instances),
        is_sound=True)

  def residual_penalty(self, wanted_steps: _Array) -> _Array:
    """How much one more step would change, as a share of the state.

    Args:
      wanted_steps: How many steps a solve may take. An instance that takes no
        more does not count, one that takes k times as many counts k^2 - 1
        times. With 0 all of them count once.

    Returns:
      A scalar.
    """
    sound = self._with_copies_of_failed()
    steps = self.solution.steps.astype(self.nodes.dtype)
    excess = jnp.square(steps / jnp.where(wanted_steps > 0, wanted_steps, 1))
    weights = jnp.where(wanted_steps > 0, jnp.maximum(excess - 1, 0), 1)
    # Most batches of most tasks have no long solve, and then it costs nothing.
    return jax.lax.cond(
        jnp.any(weights > 0),
        lambda args: regularisers.residual_penalty(
            self.fun, sound.solution.value, *args, mask=~self.solution.failed,
            weights=weights, is_sound=True),
        lambda args: jnp.zeros((), weights.dtype), sound.args)

  def spectral_radius(self, key: chex.PRNGKey, count: int = 4) -> _Array:
    """The mean over some instances of the step's spectral radius.

    Args:
      key: Source of the vectors that it is estimated with.
      count: How many instances to estimate it on, from the first one on. Those
        that failed do not count.

    Returns:
      A scalar; NaN if all of them failed.
    """
    batch_size = len(self.nodes)
    count = min(count, batch_size)
    if self.shards is not None:
      instances = subsets.without_overflow(
          self.args, jnp.arange(count), batch_size, is_split=True)
      radius = diagnostics.spectral_radius(
          self.fun, self.solution.value, *self.args, key=key)[:count]
    else:
      instances, value, args = self._take(jnp.arange(count))
      radius = diagnostics.spectral_radius(self.fun, value, *args, key=key)
    # Fillers, which are beyond the batch, do not count either.
    return jnp.mean(radius, where=~self.solution.failed.at[instances].get(
        mode='fill', fill_value=True))

  def for_more_steps(self) -> 'EquilibriumResult':
    """The same, with a step that can be applied again and differentiated.

    Without a cotangent, an instance that failed would still make the gradient
    NaN: its product with the derivative of NaN is NaN. So it gets the state and
    the arguments of another one. If all of them failed there is none, and the
    arguments get no gradient.

    Returns:
      The same, where no instance failed.
    """
    sound = self._with_copies_of_failed()
    nothing = jnp.all(self.solution.failed)
    return sound._replace(args=jax.tree_util.tree_map(
        lambda x: jnp.where(nothing, jax.lax.stop_gradient(x), x), sound.args))

  def _with_copies_of_failed(self) -> 'EquilibriumResult':
    """With a sound instance in place of each that failed."""
    failed = self.solution.failed
    source = jnp.argmin(failed)
    value = per_instance.copy(self.solution.value, failed, source)
    return self._replace(
        solution=dataclasses.replace(self.solution, value=value),
        args=subsets.Subsets(self.shards).replace(self.args, failed, source))

  def _take(self, instances: _Array) -> Tuple[_Array, _State, Any]:
    """Some instances, as far as there is room, with their part of all else."""
    instances = subsets.without_overflow(
        self.args, jnp.sort(instances), len(self.nodes))
    value = jax.tree_util.tree_map(
        lambda x: jnp.take(x, instances, axis=0, mode='clip'),
        self.solution.value)
    return instances, value, subsets.Subsets().take(self.args, instances)
