# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the solvers on problems with known answers."""

import dataclasses
import functools
import warnings

import dear_jax
from dear_jax.fixed_points import solvers
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests import problems

METHODS = solvers.METHODS
Config = dear_jax.SolverConfig


@pytest.fixture(autouse=True)
def x64():
  with jax.enable_x64(True):
    yield


def _solve(problem, return_trajectory=False, **options):
  return dear_jax.solve(problem.fun, problem.init, *problem.args,
                        config=Config(**options),
                        return_trajectory=return_trajectory)


@pytest.mark.parametrize('method', METHODS)
@pytest.mark.parametrize('name', sorted(problems.ZOO))
def test_reaches_the_known_answer(name, method):
  problem = problems.ZOO[name]()
  sol = _solve(problem, method=method, tol=1e-9, max_iter=3000)
  assert sol.converged.all()
  assert (sol.residual < 1e-9).all()
  jax.tree_util.tree_map(
      functools.partial(np.testing.assert_allclose, atol=2e-6), sol.value,
      problem.answer)


def test_acceleration_needs_fewer_evaluations_than_plain_iteration():
  problem = problems.affine(0.95)
  steps = {method: int(_solve(problem, method=method, tol=1e-8,
                              max_iter=1000).steps.max())
           for method in METHODS}
  assert steps['anderson'] < steps['picard'] / 10
  assert steps['broyden'] < steps['picard'] / 10


def test_anderson_agrees_with_constrained_least_squares():
  """Against a dense solve of the minimisation that defines the method."""
  problem = problems.tanh_layer()
  memory = 3
  sol = _solve(problem, return_trajectory=True, memory=memory, ridge=0.0,
               tol=1e-9, max_iter=7)
  flat = lambda tree, i: np.concatenate(
      [np.ravel(x[i]) for x in jax.tree_util.tree_leaves(tree)])
  unflat = lambda vector: dict(a=vector[None, :4],
                               b=vector[4:].reshape(1, 4, 2))
  params, bias = problem.args
  for instance in range(2):
    points, values = [flat(problem.init, instance)], []
    for t in range(7):
      value = flat(problem.fun(unflat(points[-1]), params,
                               bias[instance:instance + 1]), 0)
      values.append(value)
      got = flat(jax.tree_util.tree_map(lambda x, t=t: x[t], sol.trajectory),
                 instance)
      np.testing.assert_allclose(got, value, rtol=1e-6, atol=1e-9)
      kept = list(range(max(0, t + 1 - memory), t + 1))
      changes = np.stack([values[k] - points[k] for k in kept], axis=-1)
      # Weights of sum one: a particular solution plus differences.
      basis = np.eye(len(kept))[:, :-1] - np.eye(len(kept))[:, -1:]
      last = np.eye(len(kept))[:, -1]
      reduced = np.linalg.lstsq(changes @ basis, -changes @ last,
                                rcond=None)[0] if len(kept) > 1 else []
      weights = last + basis @ np.asarray(reduced)
      points.append(np.stack([values[k] for k in kept], axis=-1) @ weights)


def test_broyden_agrees_with_a_dense_inverse_jacobian():
  problem = problems.affine(0.8, batch_size=1)
  sol = _solve(problem, return_trajectory=True, method='broyden', memory=20,
               tol=1e-12, max_iter=6)
  matrix, offset = [np.asarray(x) for x in problem.args]
  point, inverse = np.zeros(5), -np.eye(5)
  value = point @ matrix + offset[0]
  for t in range(6):
    np.testing.assert_allclose(sol.trajectory[t, 0], value, rtol=1e-8)
    change = value - point
    move = -inverse @ change
    point = point + move
    value = point @ matrix + offset[0]
    difference = (value - point) - change
    inverse = inverse + np.outer(
        move - inverse @ difference,
        move @ inverse) / (move @ inverse @ difference)


def test_agrees_with_jaxopt():
  with warnings.catch_warnings():
    warnings.simplefilter('ignore')  # jaxopt announces that it is retired
    import jaxopt  # pylint:disable=g-import-not-at-top
  problem = problems.affine(0.9, batch_size=1)
  oracle = jaxopt.AndersonAcceleration(
      problem.fun, history_size=5, tol=1e-10, maxiter=200, ridge=1e-8)
  expected = oracle.run(problem.init, *problem.args).params
  np.testing.assert_allclose(
      _solve(problem, tol=1e-10, max_iter=200).value, expected, rtol=1e-7)
  plain = jaxopt.FixedPointIteration(problem.fun, tol=1e-3, maxiter=500)
  state = plain.run(problem.init, *problem.args).state
  sol = _solve(problem, method='picard', stop_mode='abs', tol=1e-3,
               max_iter=500)
  assert abs(int(sol.steps[0]) - int(state.iter_num)) <= 1


def test_first_iterate_that_passes_in_closed_form():
  rate, tol = 0.99, 0.1
  problem = problems.slow_decay(rate)
  # After k evaluations f = 1 - rate^k, and the change was rate^(k-1) (1-rate).
  k = next(k for k in range(1, 100)
           if rate**(k - 1) * (1 - rate) / (1 - rate**k) < tol)
  sol = _solve(problem, method='picard', tol=tol)
  assert sol.steps[0] == k
  np.testing.assert_allclose(sol.value[0, 0], 1 - rate**k, rtol=1e-12)
  np.testing.assert_allclose(
      sol.residual[0], rate**(k - 1) * (1 - rate) / (1 - rate**k), rtol=1e-9)


def test_absolute_residual():
  rate, tol = 0.9, 0.01
  sol = _solve(problems.slow_decay(rate), method='picard', stop_mode='abs',
               tol=tol, max_iter=100)
  k = next(k for k in range(1, 100) if rate**(k - 1) * (1 - rate) < tol)
  assert sol.steps[0] == k
  np.testing.assert_allclose(sol.residual[0], rate**(k - 1) * (1 - rate))


@pytest.mark.parametrize('method', METHODS)
def test_selection(method):
  problem = problems.affine(0.5)
  first, lowest, last = [
      _solve(problem, method=method, select=select, tol=0.1, max_iter=12,
             return_trajectory=True) for select in solvers.SELECTIONS]
  assert (first.steps < 12).all()
  assert (lowest.steps == 12).all() and (last.steps == 12).all()
  for i in range(3):
    np.testing.assert_array_equal(
        first.value[i], first.trajectory[first.steps[i] - 1, i])
    assert first.residuals[first.steps[i] - 1, i] == first.residual[i]
    assert np.isinf(first.residuals[first.steps[i]:, i]).all()
  np.testing.assert_array_equal(last.value, last.trajectory[-1])
  np.testing.assert_array_equal(lowest.residuals.min(axis=0), lowest.residual)
  assert (lowest.residual < first.residual).all()
  assert (lowest.residual <= last.residual).all()
  # All of them walk the same path; they only differ in where they stop.
  np.testing.assert_allclose(lowest.trajectory, last.trajectory)


def test_returns_the_least_of_two_fixed_points():
  sol = _solve(problems.square(), method='picard', tol=1e-6, max_iter=200)
  np.testing.assert_allclose(sol.value, 0.25, atol=1e-4)


@pytest.mark.parametrize('method', METHODS)
@pytest.mark.parametrize('select', solvers.SELECTIONS)
def test_a_fixed_point_to_start_with_returns_at_once(method, select):
  fun = lambda z, b: 0.5 * z + b
  init = jnp.array([[2.0, 4.0], [0.0, 0.0]])
  sol = dear_jax.solve(fun, init, init / 2,
                       config=Config(method=method, select=select))
  np.testing.assert_array_equal(sol.steps, 1)
  np.testing.assert_array_equal(sol.value, init)
  np.testing.assert_array_equal(sol.residual, 0)
  assert sol.converged.all()


def test_ends_when_every_instance_has_passed():
  """Counts real evaluations: the loop must not go on to `max_iter`."""
  calls = []

  def fun(z):
    jax.debug.callback(lambda: calls.append(1))
    return 0.5 * z + 1.0

  sol = dear_jax.solve(fun, jnp.zeros((2, 3)), config=Config(method='picard'))
  jax.effects_barrier()
  assert len(calls) == sol.steps.max() == 4


@pytest.mark.parametrize('method', METHODS)
@pytest.mark.parametrize('select', solvers.SELECTIONS)
def test_instances_do_not_influence_each_other(method, select):
  """Whatever its neighbours do, an instance returns the very same bits."""
  rates = jnp.array([0.3, 0.9, 0.99, 5.0, -1.0])
  kinds = jnp.array([0, 0, 0, 1, 2])

  def fun(z, rates, kinds):
    rates, kinds = rates[:, None], kinds[:, None]
    calm = rates * jnp.sin(z) + 1.0
    explosive = jnp.exp(rates * z) + 1.0
    return jnp.where(kinds == 0, calm,
                     jnp.where(kinds == 1, explosive, jnp.nan))

  config = Config(method=method, select=select, tol=1e-4, max_iter=30)
  solve = jax.jit(functools.partial(dear_jax.solve, fun, config=config))
  together = solve(jnp.zeros((5, 3)), rates, kinds)
  for i in range(5):
    alone = solve(jnp.zeros((5, 3)), jnp.full_like(rates, rates[i]),
                  jnp.full_like(kinds, kinds[i]))
    for field in ('value', 'steps', 'residual', 'converged'):
      np.testing.assert_array_equal(together[field][i], alone[field][0])
  assert jnp.isfinite(together.value).all()
  assert not together.converged[3:].any()


@pytest.mark.parametrize('method', METHODS)
@pytest.mark.parametrize('bad', [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize('select', solvers.SELECTIONS)
def test_trouble_freezes_an_instance_at_its_best_iterate(method, bad, select):
  """The second instance turns bad on its third evaluation."""
  def fun(z):
    first, second = z[:, :1], z[:, 1:]  # the second entry counts evaluations
    turned = (jnp.arange(2)[:, None] == 1) & (second > 1.5)
    return jnp.concatenate(
        [jnp.where(turned, bad, 0.5 * first + 1), second + 1], axis=-1)

  init = jnp.zeros((2, 2))
  sol = dear_jax.solve(fun, init, return_trajectory=True,
                       config=Config(method=method, tol=1e-12, max_iter=9,
                                     memory=1, select=select))
  assert jnp.isfinite(sol.value).all()
  assert not sol.converged[1]
  if method == 'picard':
    assert sol.steps[1] == 3 and sol.steps[0] == 9
    residuals = [np.linalg.norm(np.subtract(f, z)) / np.linalg.norm(f)
                 for z, f in (([0, 0], [1, 1]), ([1, 1], [1.5, 2]))]
    np.testing.assert_allclose(sol.residual[1], min(residuals))
    np.testing.assert_allclose(sol.value[1], [1.5, 2])


def test_trouble_at_the_first_evaluation_returns_the_start():
  sol = dear_jax.solve(lambda z: z / 0, jnp.ones((1, 2)))
  np.testing.assert_array_equal(sol.value, 1.0)
  assert sol.steps[0] == 1 and not sol.converged[0]
  assert jnp.isinf(sol.residual[0])


def test_divergence_returns_the_lowest_residual():
  sol = dear_jax.solve(lambda z: 2 * z + 1, jnp.zeros((1, 1)),
                       config=Config(method='picard', stop_mode='abs',
                                     max_iter=20))
  assert not sol.converged[0] and sol.steps[0] == 20
  np.testing.assert_array_equal(sol.value, 1.0)
  np.testing.assert_array_equal(sol.residual, 1.0)


@pytest.mark.parametrize('ridge', [0.0, 1e-4])
def test_singular_gram_matrix_is_no_crash(ridge):
  """All residuals are the same: the Gram matrix has rank one."""
  sol = dear_jax.solve(lambda z: z + 1.0, jnp.zeros((2, 3)),
                       config=Config(ridge=ridge, tol=1e-3, max_iter=20))
  assert jnp.isfinite(sol.value).all()
  assert not sol.converged.any()


def test_ridge_is_relative():
  """Scaling the problem scales the iterates, down to tiny cotangents."""
  small, large = [
      dear_jax.solve(lambda z, s: s * jnp.tanh(0.9 * z / s + 1.0),
                     jnp.zeros((1, 4)), scale, return_trajectory=True,
                     config=Config(tol=1e-6))
      for scale in (1e-9, 1e3)]
  np.testing.assert_array_equal(small.steps, large.steps)
  np.testing.assert_allclose(small.trajectory * 1e12, large.trajectory)


@pytest.mark.parametrize('method', METHODS)
def test_damping(method):
  problem = problems.affine(0.5, batch_size=1)
  sol = _solve(problem, return_trajectory=True, method=method, damping=0.3,
               tol=1e-9, max_iter=3)
  offset = problem.args[1]
  np.testing.assert_allclose(sol.trajectory[0], offset)
  np.testing.assert_allclose(
      sol.trajectory[1], problem.fun(0.3 * offset, *problem.args))


@pytest.mark.parametrize('method', METHODS)
def test_jit_vmap_and_pytrees(method):
  problem = problems.tanh_layer()
  run = functools.partial(dear_jax.solve, problem.fun,
                          config=Config(method=method, tol=1e-8, max_iter=200))
  plain = run(problem.init, *problem.args)
  jitted = jax.jit(run)(problem.init, *problem.args)
  jax.tree_util.tree_map(np.testing.assert_allclose, plain.value, jitted.value)
  params, bias = problem.args
  biases = jnp.stack([bias, 3 * bias])
  mapped = jax.vmap(run, in_axes=(None, None, 0))(problem.init, params, biases)
  again = run(problem.init, params, biases[1])
  np.testing.assert_array_equal(mapped.steps[0], plain.steps)
  np.testing.assert_array_equal(mapped.steps[1], again.steps)
  np.testing.assert_allclose(mapped.value['b'][1], again.value['b'])


def test_narrow_dtypes_are_kept():
  fun = lambda z: (0.5 * z + 1).astype(jnp.bfloat16)
  sol = dear_jax.solve(fun, jnp.zeros((2, 3), jnp.bfloat16))
  assert sol.value.dtype == jnp.bfloat16
  assert sol.converged.all()


def test_products_are_at_highest_precision():
  """Whatever `jax_default_matmul_precision` says."""
  for method in METHODS:
    jaxpr = str(jax.make_jaxpr(lambda z, m=method: dear_jax.solve(
        lambda z: 0.5 * z + 1, z, config=Config(method=m)).value)(
            jnp.zeros((2, 3))))
    assert jaxpr.count('dot_general') >= 2
    assert jaxpr.count('dot_general') == jaxpr.count('Precision.HIGHEST') / 2


@pytest.mark.parametrize('options, message', [
    (dict(method='newton'), "method must be one of anderson, picard, broyden, "
                            "got 'newton'"),
    (dict(select='best'), "select must be one of .*, got 'best'"),
    (dict(stop_mode='l1'), "stop_mode must be one of rel, abs, got 'l1'"),
    (dict(tol=0.0), 'tol must be a positive number, got 0.0'),
    (dict(tol=-1.0), 'tol must be a positive number, got -1.0'),
    (dict(tol=float('nan')), 'tol must be a positive number, got nan'),
    (dict(max_iter=0), 'max_iter must be a whole number .* got 0'),
    (dict(memory=2.5), 'memory must be a whole number .* got 2.5'),
    (dict(ridge=-1e-4), 'ridge must be a number of at least 0, got -0.0001'),
    (dict(damping=0.0), 'damping must be a positive number, got 0.0'),
    (dict(tol='0.1'), "tol must be a positive number, got '0.1'"),
    (dict(tol=None), 'tol must be a positive number, got None'),
    (dict(tol=True), 'tol must be a positive number, got True'),
    (dict(ridge='1'), "ridge must be a number of at least 0, got '1'"),
    (dict(memory=6.0), 'memory must be a whole number .* got 6.0'),
    (dict(restart=1), 'restart must be True or False, got 1'),
    (dict(part_axis=0), 'part_axis must be a whole number .* got 0'),
    (dict(part_axis=1.0), 'part_axis must be a whole number .* got 1.0'),
    (dict(max_iter='40'), "max_iter must be a whole number .* got '40'"),
    (dict(max_iter=True), 'max_iter must be a whole number .* got True'),
])
def test_bad_options(options, message):
  with pytest.raises(ValueError, match=message):
    Config(**options)


@pytest.mark.parametrize('fun, init, message', [
    (lambda z: z[:, :1], jnp.zeros((2, 3), jnp.float32),
     r'float32\[2, 3\] to float32\[2, 1\]'),
    (lambda z: z.astype(jnp.float16), jnp.zeros((2, 3), jnp.float32),
     r'float32\[2, 3\] to float16\[2, 3\]'),
    (lambda z: (z, z), jnp.zeros((2, 3)), 'must keep the structure'),
    (lambda z: z, jnp.zeros((2, 3), jnp.int32), 'must be floating point'),
    (lambda z: z, jnp.zeros(()), 'leading axis'),
    (lambda z: z, dict(a=jnp.zeros((2,)), b=jnp.zeros((3,))), 'leading axis'),
    (lambda z: z, {}, 'no arrays'),
])
def test_bad_problems(fun, init, message):
  with pytest.raises(ValueError, match=message):
    dear_jax.solve(fun, init)


class _Rows:
  """Subsets of a problem whose arguments all have instances."""

  def __init__(self, room=8):
    self._room = room

  def fits(self, args, wanted, size):
    return jnp.sum(wanted) <= self._room

  def take(self, args, instances):
    return jax.tree_util.tree_map(
        lambda x: jnp.take(x, instances, axis=0, mode='clip'), args)


@pytest.mark.parametrize('method', METHODS)
@pytest.mark.parametrize('room', [8, 2, 0])
def test_the_last_instances_can_be_solved_on_their_own(method, room):
  rates = jnp.array([0.1] * 5 + [0.99] + [0.3] * 8 + [0.97] + [0.2])[:, None]
  fun = lambda z, rate, goal: goal + rate * jnp.sin(z - goal)
  init, goals = jnp.zeros((16, 3)), 1.0 + jnp.arange(16.0)[:, None]
  config = Config(method=method, tol=1e-4, max_iter=60)
  seen = []
  def solve(subsets):
    @jax.jit
    def run(rates, goals):
      counted = lambda z, *args: seen.append(len(z)) or fun(z, *args)
      return solvers.solve_with_origin(counted, init, rates, goals,
                                       config=config, subsets=subsets)
    return run(rates, goals)
  together, origin = solve(None)
  assert set(seen) == {16}
  split, split_origin = solve(_Rows(room))
  assert set(seen) == {16, 4}
  np.testing.assert_array_equal(split.steps, together.steps)
  np.testing.assert_array_equal(split.converged, together.converged)
  np.testing.assert_allclose(split.value, together.value, rtol=1e-12)
  np.testing.assert_allclose(split.residual, together.residual, rtol=1e-9)
  np.testing.assert_allclose(split_origin, origin, rtol=1e-12)
  # What was paid: everyone until four are left, and then the four.
  steps = np.sort(together.steps)
  assert steps[-3] < steps[-2]
  assert together.evaluations == steps[-1]
  all_until = steps[-5] if room else steps[-1]
  if room == 2:
    all_until = steps[-3]
  np.testing.assert_allclose(
      split.evaluations, all_until + (steps[-1] - all_until) / 4)


def test_numbers_of_numpy_are_numbers():
  config = Config(tol=np.float32(0.5), memory=np.int64(2), max_iter=np.int32(3))
  sol = _solve(problems.affine(0.5), **dataclasses.asdict(config))
  assert sol.converged.all()


@pytest.mark.parametrize('select', solvers.SELECTIONS)
def test_no_instances(select):
  sol = dear_jax.solve(lambda z: 0.5 * z, jnp.zeros((0, 3)),
                       config=Config(select=select), return_trajectory=True)
  assert sol.value.shape == (0, 3) and sol.trajectory.shape == (40, 0, 3)
  assert sol.steps.shape == sol.converged.shape == sol.failed.shape == (0,)
  assert sol.evaluations == 0


def test_failures_are_told_from_slow_convergence():
  rates = jnp.array([0.5, 1.5, jnp.nan])
  sol = dear_jax.solve(lambda z, r: r[:, None] * z + 1, jnp.zeros((3, 1)),
                       rates, config=Config(method='picard', max_iter=9))
  np.testing.assert_array_equal(sol.failed, [False, False, True])
  np.testing.assert_array_equal(sol.converged, [True, False, False])


def _frontier(size, batch_size=1):
  """A signal that goes along a path, a node an evaluation: [B, N, 2]."""
  def fun(z):
    start = jnp.ones_like(z[:, :1])
    return jnp.concatenate([start, z[:, :-1]], axis=1)
  return fun, jnp.full((batch_size, size, 2), 0.01)


def test_a_small_part_that_moves_is_no_equilibrium():
  """One node of many has little weight in the norm of all."""
  fun, init = _frontier(400)
  config = Config(method='picard', tol=0.1, max_iter=500)
  whole = dear_jax.solve(fun, init, config=config)
  assert whole.converged[0] and whole.steps[0] < 120
  assert not np.allclose(whole.value, 1)
  parts = dear_jax.solve(fun, init, config=dataclasses.replace(
      config, part_axis=1))
  assert parts.converged[0] and parts.steps[0] == 401
  np.testing.assert_array_equal(parts.value, 1)
  short = dear_jax.solve(fun, init, config=dataclasses.replace(
      config, part_axis=1, max_iter=100))
  assert not short.converged[0] and short.residual[0] > 0.9


def test_news_travels_as_fast_as_it_can():
  """A mixture with the time before would hold it up at every node."""
  fun, init = _frontier(40)
  config = Config(tol=0.1, max_iter=400, part_axis=1)
  for method in solvers.METHODS:
    sol = dear_jax.solve(fun, init, config=dataclasses.replace(
        config, method=method, restart=True))
    assert sol.converged[0] and sol.steps[0] == 41, method
    np.testing.assert_array_equal(sol.value, 1)
  held_up = dear_jax.solve(fun, init, config=config)
  assert held_up.steps[0] > 60


@pytest.mark.parametrize('method', ['anderson', 'broyden'])
def test_a_restart_forgets(method):
  """What follows is what a solve from there would do, of that instance alone.

  The second part rests for as long as the first is small.
  """
  def fun(z):
    first, second = z[:, :1], z[:, 1:]
    return jnp.concatenate(
        [0.8 * first + 0.4, jnp.where(first > 1, 0.9 * second + 1, 1)], 1)
  config = Config(method=method, tol=1e-4, max_iter=60, part_axis=1,
                  restart=True)
  init = jnp.stack([jnp.array([[0.2], [1.0]]), jnp.array([[0.5], [1.0]])])
  sol = dear_jax.solve(fun, init, config=config, return_trajectory=True)
  moves = np.abs(sol.trajectory - sol.origins)[:, 0, 1, 0]
  begin = int(np.argmax(moves > 1e-4))
  assert begin > 1  # it was at rest before
  again = dear_jax.solve(fun, sol.origins[begin][:1], config=config,
                         return_trajectory=True)
  count = int(again.steps[0])
  assert sol.steps[0] == begin + count and again.converged[0]
  np.testing.assert_allclose(sol.trajectory[begin:begin + count, 0],
                             again.trajectory[:count, 0], rtol=1e-4)
  alone = dear_jax.solve(fun, init[1:], config=config)
  np.testing.assert_allclose(alone.value[0], sol.value[1], rtol=1e-6)


def test_restarts_leave_what_only_acceleration_can_solve():
  problem = problems.rotation(1.05)  # plain iteration would run away
  sol = dear_jax.solve(
      problem.fun, problem.init, *problem.args,
      config=Config(tol=1e-6, max_iter=60, restart=True))
  assert sol.converged.all()
  np.testing.assert_allclose(sol.value, problem.answer, rtol=1e-4)


@pytest.mark.parametrize('stop_mode', solvers.config_lib.STOP_MODES)
@pytest.mark.parametrize('axis', [1, 2])
def test_the_largest_residual_of_all_parts(axis, stop_mode):
  """Of two arrays, of which one has no such axis; against plain loops."""
  rng = np.random.RandomState(0)
  state = dict(a=rng.randn(3, 4, 5), b=rng.randn(3, 2) if axis == 2
               else rng.randn(3, 2, 3))
  after = {name: x + 0.1 * rng.randn(*x.shape) for name, x in state.items()}
  after['a'][0, 1] = state['a'][0, 1] = 0  # nothing, and it stays so
  sol = dear_jax.solve(
      lambda z: jax.tree_util.tree_map(jnp.asarray, after),
      jax.tree_util.tree_map(jnp.asarray, state),
      config=Config(method='picard', max_iter=1, part_axis=axis, tol=1e-9,
                    stop_mode=stop_mode))
  for i in range(3):
    residuals = []
    for name, value in after.items():
      change = value[i] - state[name][i]
      parts = ([(value[i], change)] if value.ndim <= axis else
               [(value[i].take(k, axis - 1), change.take(k, axis - 1))
                for k in range(value.shape[axis])])
      for part, moved in parts:
        norm = np.linalg.norm(part) if stop_mode == 'rel' else 1
        residuals.append(np.linalg.norm(moved) / norm if norm else 0)
    np.testing.assert_allclose(sol.residual[i], max(residuals), rtol=1e-6)


def test_solutions_cannot_be_changed():
  sol = _solve(problems.affine(0.5))
  with pytest.raises(dataclasses.FrozenInstanceError):
    sol.steps = 0


@pytest.mark.parametrize('method', solvers.METHODS)
def test_a_solve_in_parts_is_the_same_solve(method):
  config = solvers.SolverConfig(method=method, tol=1e-5, max_iter=30)
  rates = jnp.linspace(0.1, 0.8, 5)[:, None]
  fun = lambda z, rates: rates * jnp.cos(z) + 0.3
  init = jnp.zeros((5, 3))

  @jax.jit
  def go(state, limit):
    return solvers.solve_up_to(fun, init, rates, config=config, limit=limit,
                               state=state)

  blank = solvers.blank_state(init, config)
  whole, _ = go(blank, 30)
  np.testing.assert_array_equal(
      whole.steps, solvers.solve(fun, init, rates, config=config).steps)
  state, steps = blank, []
  for limit in range(0, 31, 3):
    found, state = go(state, limit)
    steps.append(int(state.step))
  assert steps[:3] == [0, 3, 6]
  jax.tree_util.tree_map(np.testing.assert_array_equal, dict(found),
                         dict(whole))
