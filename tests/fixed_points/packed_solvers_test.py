# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of packed solves: every instance fares as it does alone."""

from dear_jax.fixed_points import config as config_lib
from dear_jax.fixed_points import packed_rows
from dear_jax.fixed_points import packed_solvers
from dear_jax.fixed_points import solvers
import jax
import jax.numpy as jnp
import numpy as np
import pytest

# Rows of nodes and of edges of three instances.
_NODES, _EDGES = (2, 5, 3), (4, 1, 2)
_SLOPES = (0.3, 0.9, 0.6)


def _problem(slopes):
  """Rows that approach their goals, each a little drawn to the next one."""
  rng = np.random.default_rng(0)
  goals = dict(nodes=rng.normal(size=(10, 3)), edges=rng.normal(size=(7, 2)))
  goals = jax.tree_util.tree_map(lambda x: x.astype(np.float32), goals)
  owners = dict(nodes=np.repeat(np.arange(3), _NODES),
                edges=np.repeat(np.arange(3), _EDGES))
  slopes = np.asarray(slopes, np.float32)

  def fun(state):
    step = lambda x, goal, owner: slopes[owner][:, None] * jnp.sin(
        x @ jnp.eye(x.shape[1])[::-1]) + goal
    return jax.tree_util.tree_map(step, state, goals, owners)

  return fun, goals, owners


def _alone(i, slopes, config):
  """The same instance by the solver for equal sizes."""
  _, goals, owners = _problem(slopes)
  mine = {name: goals[name][owners[name] == i][None] for name in goals}
  fun = lambda state: {
      name: jnp.float32(slopes[i]) * jnp.sin(
          x @ jnp.eye(x.shape[-1])[::-1]) + mine[name]
      for name, x in state.items()}
  return solvers.solve(
      fun, jax.tree_util.tree_map(jnp.zeros_like, mine), config=config)


def _packed(slopes, config, limits=(40, 40, 40), pauses=(1000,), padding=0):
  fun, goals, owners = _problem(slopes)
  if padding:  # rows that belong to none, and that never come to rest
    inner = fun
    fun = lambda state: jax.tree_util.tree_map(
        lambda new, old: jnp.concatenate([new, 1 - old[-padding:]]),
        inner(jax.tree_util.tree_map(lambda x: x[:-padding], state)), state)
    goals = jax.tree_util.tree_map(
        lambda x: np.pad(x, ((0, padding), (0, 0))), goals)
    owners = jax.tree_util.tree_map(
        lambda x: np.pad(x, (0, padding), constant_values=3), owners)

  @jax.jit
  def advance(state, pause_at):
    return solver.advance(state, pause_at)

  solver = packed_solvers.PackedProblem(
      fun, packed_rows.Owners(jax.tree_util.tree_map(jnp.asarray, owners), 3),
      jnp.array(limits), config)
  state = solver.initial_state(jax.tree_util.tree_map(jnp.zeros_like, goals))
  for pause_at in pauses:
    state = advance(state, jnp.int32(pause_at))
  return state, solver.converged(state), owners


@pytest.mark.parametrize('kwargs', [
    dict(method='picard', part_axis=1), dict(method='picard', damping=0.7),
    dict(method='anderson'), dict(method='anderson', part_axis=1, restart=True),
    dict(method='anderson', damping=0.5, stop_mode='abs', memory=3),
    dict(method='broyden'), dict(method='broyden', memory=2, part_axis=1)])
@pytest.mark.parametrize('padding', [0, 2])
def test_every_instance_fares_as_it_does_alone(kwargs, padding):
  config = config_lib.SolverConfig(tol=1e-3, max_iter=40, **kwargs)
  state, converged, owners = _packed(_SLOPES, config, padding=padding)
  assert len(set(np.asarray(state.steps))) > 1
  for i in range(3):
    alone = _alone(i, _SLOPES, config)
    assert state.steps[i] == alone.steps[0]
    assert converged[i] == alone.converged[0]
    np.testing.assert_allclose(state.residual[i], alone.residual[0],
                               rtol=2e-2, atol=1e-6)
    for name, value in state.value.items():
      np.testing.assert_allclose(value[owners[name] == i],
                                 alone.value[name][0], atol=2e-4)


def test_parts_make_up_the_same_solve():
  config = config_lib.SolverConfig(tol=1e-4, max_iter=40)
  whole, _, _ = _packed(_SLOPES, config)
  parts, _, _ = _packed(_SLOPES, config, pauses=(1, 3, 4, 1000))
  jax.tree_util.tree_map(np.testing.assert_array_equal, whole, parts)


def test_limits_are_those_of_every_instance():
  config = config_lib.SolverConfig(method='picard', tol=1e-6, max_iter=1)
  state, converged, _ = _packed(_SLOPES, config, limits=(3, 200, 0))
  assert state.steps[0] == 3 and not converged[0]
  assert 20 < state.steps[1] < 200 and converged[1]
  assert state.steps[2] == 0 and state.residual[2] == 0  # there is no such one


@pytest.mark.parametrize('method', ['picard', 'anderson', 'broyden'])
def test_an_instance_that_fails_leaves_the_others_alone(method):
  config = config_lib.SolverConfig(method=method, tol=1e-3, max_iter=40)
  state, converged, owners = _packed((0.3, np.nan, 0.6), config)
  np.testing.assert_array_equal(state.failed, [False, True, False])
  np.testing.assert_array_equal(converged, [True, False, True])
  good, _, _ = _packed(_SLOPES, config)
  for name, value in state.value.items():
    assert np.isfinite(value).all()
    rows = owners[name] != 1
    np.testing.assert_allclose(value[rows], good.value[name][rows], atol=1e-6)


def test_a_single_instance_needs_no_segments():
  config = config_lib.SolverConfig(method='anderson', tol=1e-3)
  rows = jnp.array([0, 0, 1])  # the last one is padding
  for count, spare in ((1, 1), (2, 2)):
    owners = packed_rows.Owners(jnp.where(rows < 1, 0, spare), count)
    x = jnp.array([1.0, 2.0, 50.0])
    np.testing.assert_allclose(owners.sums(x)[0], 3)
    np.testing.assert_allclose(owners.maxima(x)[0], 2)
    solver = packed_solvers.PackedProblem(
        lambda z: 0.5 * jnp.cos(z), owners, jnp.full(count, 40), config)
    state = solver.advance(solver.initial_state(jnp.zeros((3, 2))),
                           jnp.int32(40))
    np.testing.assert_allclose(state.value[:2], 0.4502, atol=1e-2)
    assert solver.converged(state)[0]


@pytest.mark.parametrize('kwargs, message', [
    (dict(part_axis=2), 'part_axis must be None or 1 .* got 2'),
    (dict(select='last'), "must be 'first' .* got 'last'")])
def test_what_it_cannot_do(kwargs, message):
  with pytest.raises(ValueError, match=message):
    packed_solvers.PackedProblem(
        lambda x: x, packed_rows.Owners(jnp.zeros(2, int), 1), jnp.array([1]),
        config_lib.SolverConfig(**kwargs))
