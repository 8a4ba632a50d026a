# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the gradients: three ways to get them, and closed forms."""

import functools

import dear_jax
from dear_jax.fixed_points import implicit
from dear_jax.fixed_points import per_instance
from dear_jax.fixed_points import solvers
import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests import problems

Config = dear_jax.SolverConfig
EXACT = Config(tol=1e-13, max_iter=400, ridge=1e-8)


@pytest.fixture(autouse=True)
def x64():
  with jax.enable_x64(True):
    yield


def _loss(problem, gradient, forward=EXACT):
  """A scalar function of the flattened arguments, and their values."""
  flat, unflatten = jax.flatten_util.ravel_pytree(problem.args)

  def loss(flat):
    sol = dear_jax.fixed_point(problem.fun, problem.init, *unflatten(flat),
                               forward=forward, gradient=gradient)
    return sum(jnp.sum(jnp.sin(leaf + 1))
               for leaf in jax.tree_util.tree_leaves(sol.value))

  return loss, flat


def _finite_differences(loss, flat, step=1e-6):
  loss = jax.jit(loss)
  columns = []
  for direction in np.eye(flat.size):
    columns.append((loss(flat + step * direction)
                    - loss(flat - step * direction)) / (2 * step))
  return np.array(columns)


@pytest.mark.parametrize('name', sorted(problems.ZOO))
def test_implicit_unrolled_and_finite_differences_agree(name):
  problem = problems.ZOO[name]()
  loss, flat = _loss(problem, 'implicit')
  expected = _finite_differences(loss, flat)
  implicit_grad = jax.jit(jax.grad(loss))(flat)
  scale = np.abs(expected).max()
  np.testing.assert_allclose(implicit_grad, expected, rtol=1e-5,
                             atol=1e-5 * scale)
  unrolled, _ = _loss(problem, 'unrolled')
  np.testing.assert_allclose(jax.jit(jax.grad(unrolled))(flat), expected,
                             rtol=1e-5, atol=1e-5 * scale)


def test_implicit_gradient_in_closed_form():
  """For `z = z A + b` the gradient of `sum(z)` in b is `(I - A)^-1 1`."""
  problem = problems.affine(0.9)
  matrix, offset = problem.args
  grad = jax.grad(lambda b: dear_jax.fixed_point(
      problem.fun, problem.init, matrix, b, forward=EXACT).value.sum())(offset)
  expected = np.linalg.solve(np.eye(5) - np.asarray(matrix), np.ones(5))
  np.testing.assert_allclose(grad, np.tile(expected, (3, 1)), rtol=1e-9)


def test_one_step_gradient_is_that_of_the_last_application():
  """Also at a loose tolerance, where it matters which application it is."""
  problem = problems.tanh_layer()
  loss, flat = _loss(problem, 'one_step',
                     forward=Config(method='picard', tol=1e-9, max_iter=3))
  origin = problem.init
  for _ in range(2):
    origin = problem.fun(origin, *problem.args)
  _, unflatten = jax.flatten_util.ravel_pytree(problem.args)
  once = lambda flat: sum(
      jnp.sum(jnp.sin(leaf + 1)) for leaf in jax.tree_util.tree_leaves(
          problem.fun(origin, *unflatten(flat))))
  np.testing.assert_allclose(jax.grad(loss)(flat), jax.grad(once)(flat),
                             rtol=1e-9)


@pytest.mark.parametrize('method', solvers.METHODS)
def test_backward_works_with_every_solver(method):
  problem = problems.tanh_layer()
  config = Config(method=method, tol=1e-12, max_iter=300)
  loss, flat = _loss(problem, 'implicit', forward=config)
  reference, _ = _loss(problem, 'implicit')
  np.testing.assert_allclose(jax.grad(loss)(flat), jax.grad(reference)(flat),
                             rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize('gradient', implicit.GRADIENTS)
def test_value_does_not_depend_on_the_gradient_mode(gradient):
  problem = problems.tanh_layer()
  forward = Config(tol=1e-3)
  sol = dear_jax.fixed_point(problem.fun, problem.init, *problem.args,
                             forward=forward, gradient=gradient)
  expected = dear_jax.solve(problem.fun, problem.init, *problem.args,
                            config=forward)
  np.testing.assert_array_equal(sol.steps, expected.steps)
  np.testing.assert_allclose(sol.value['a'], expected.value['a'], rtol=1e-12)


def test_backward_solver_defaults_to_a_tenth_of_the_tolerance(monkeypatch):
  seen = []
  solve = solvers.solve_prepared
  monkeypatch.setattr(
      implicit.solvers, 'solve_prepared',
      lambda *a, config, **k: seen.append(config) or solve(
          *a, config=config, **k))
  problem = problems.affine(0.5)
  for backward in (None, Config(tol=0.03)):
    jax.grad(lambda b, back=backward: dear_jax.fixed_point(
        problem.fun, problem.init, problem.args[0], b,
        forward=Config(tol=0.2, memory=4), backward=back).value.sum())(
            problem.args[1])
  assert [c.tol for c in seen] == [0.2, 0.02, 0.2, 0.03]
  assert [c.memory for c in seen] == [4, 4, 4, 6]


def test_closed_over_values_get_their_gradient():
  problem = problems.affine(0.5)
  matrix, offset = problem.args
  argument = lambda b: dear_jax.fixed_point(
      problem.fun, problem.init, matrix, b, forward=EXACT).value.sum()
  closure = lambda b: dear_jax.fixed_point(
      lambda z: problem.fun(z, matrix, b), problem.init,
      forward=EXACT).value.sum()
  for transform in (jax.grad, lambda f: jax.jit(jax.grad(f))):
    np.testing.assert_allclose(transform(closure)(offset),
                               transform(argument)(offset))


@pytest.mark.parametrize('gradient', implicit.GRADIENTS)
def test_integer_arguments_and_start_get_no_gradient(gradient):
  def loss(init, scale, index):
    fun = lambda z, s, i: 0.5 * z + s[i]
    return dear_jax.fixed_point(fun, init, scale, index, forward=EXACT,
                                gradient=gradient).value.sum()

  init, scale = jnp.ones((2, 1)), jnp.array([1.0, 2.0, 3.0])
  grad_init, grad_scale = jax.grad(loss, argnums=(0, 1))(init, scale, 1)
  np.testing.assert_array_equal(grad_init, 0)
  expected = 2.0 if gradient == 'one_step' else 4.0
  np.testing.assert_allclose(grad_scale, [0, expected, 0], rtol=1e-9)


@pytest.mark.parametrize('gradient', implicit.GRADIENTS)
def test_vmap_of_the_gradient(gradient):
  problem = problems.affine(0.5)
  matrix, offset = problem.args
  grad = jax.grad(lambda b: jnp.sum(dear_jax.fixed_point(
      problem.fun, problem.init, matrix, b, forward=Config(tol=1e-9),
      gradient=gradient).value**2))
  offsets = jnp.stack([offset, -3 * offset])
  mapped = jax.jit(jax.vmap(grad))(offsets)
  for i in range(2):
    np.testing.assert_allclose(mapped[i], grad(offsets[i]), rtol=1e-6)


def test_inside_a_haiku_transform():
  """With the step's parameters lifted and passed as an argument."""
  def forward(x):
    step = hk.transform(lambda z, x: jnp.tanh(
        hk.Linear(4, w_init=hk.initializers.RandomNormal(0.1))(z) + x))
    params = hk.transparent_lift(step.init, allow_reuse=True)(
        hk.maybe_next_rng_key(), x, x)
    return dear_jax.fixed_point(
        lambda z, params, x: step.apply(params, None, z, x),
        jnp.zeros_like(x), params, x, forward=EXACT).value

  net = hk.without_apply_rng(hk.transform(forward))
  x = jnp.asarray(np.random.RandomState(0).randn(3, 4))
  params = net.init(jax.random.PRNGKey(0), x)
  loss = lambda params: jnp.sum(net.apply(params, x)**2)
  grad = jax.jit(jax.grad(loss))(params)
  flat, unflatten = jax.flatten_util.ravel_pytree(params)
  expected = _finite_differences(lambda f: loss(unflatten(f)), flat)
  np.testing.assert_allclose(jax.flatten_util.ravel_pytree(grad)[0], expected,
                             rtol=1e-5, atol=1e-8)


def test_one_bad_instance_does_not_change_the_gradient_of_others():
  """Its forward solve never converges, and its backward solve diverges."""
  def loss(b, scale):
    fun = lambda z, b, scale: jnp.sin(scale * z) + b
    return dear_jax.fixed_point(fun, jnp.zeros((2, 3)), b, scale,
                                forward=Config(tol=1e-8)).value.sum()

  b = jnp.asarray(np.random.RandomState(0).randn(2, 3))
  calm = jax.grad(loss)(b, jnp.array([[0.5], [0.4]]))
  wild = jax.grad(loss)(b, jnp.array([[0.5], [40.0]]))
  np.testing.assert_array_equal(calm[0], wild[0])
  assert jnp.isfinite(wild).all()


def test_memory_of_the_implicit_mode_does_not_grow_with_iterations():
  def temporary_bytes(gradient, max_iter):
    def loss(w, b):
      return dear_jax.fixed_point(
          lambda z, w, b: jnp.tanh(z @ w + b), jnp.zeros_like(b), w, b,
          forward=Config(max_iter=max_iter), gradient=gradient).value.sum()

    w, b = jnp.zeros((32, 32)), jnp.zeros((8, 32))
    compiled = jax.jit(jax.grad(loss)).lower(w, b).compile()
    return compiled.memory_analysis().temp_size_in_bytes

  state = 8 * 32 * 8
  for gradient in ('implicit', 'one_step'):
    few, many = [temporary_bytes(gradient, n) for n in (10, 1000)]
    assert abs(many - few) < state
  # The yardstick: what it would cost to backpropagate through the solver.
  few, many = [temporary_bytes('unrolled', n) for n in (10, 100)]
  assert many - few > 90 * state


def _adjoints(weights, matrix, **options):
  """`d (weights . z) / d b` of `z = matrix z + b`, which is the adjoint."""
  def loss(offset):
    sol = dear_jax.fixed_point(
        lambda z, b: z @ matrix.T + b, jnp.zeros_like(offset), offset,
        forward=EXACT, **options)
    return jnp.sum(weights * sol.value)
  return jax.grad(loss)(jnp.ones_like(weights))


@pytest.mark.parametrize('decay', [0.0, 0.7, 1.0])
def test_decay_in_closed_form(decay):
  rng = np.random.RandomState(0)
  matrix = 0.3 * rng.randn(4, 4)
  weights = rng.randn(3, 4)
  expected = np.linalg.solve(np.eye(4) - decay * matrix.T, weights.T).T
  np.testing.assert_allclose(_adjoints(weights, matrix, decay=decay), expected,
                             rtol=1e-9)


def test_decay_keeps_the_sign_where_a_step_is_not_contractive():
  # Anderson finds the fixed point of z = 1.2 z + b, from which plain iteration
  # moves away: there dz / db = 1 / (1 - 1.2) is negative.
  weights, matrix = jnp.ones((1, 1)), jnp.array([[1.2]])
  assert _adjoints(weights, matrix)[0, 0] == pytest.approx(-5)
  assert _adjoints(weights, matrix, decay=0.5)[0, 0] == pytest.approx(2.5)


def test_bound_shortens_long_adjoints_only():
  weights = jnp.array([[1.0, 0.0], [0.0, 1.0]])
  matrix = jnp.diag(jnp.array([0.9, 0.1]))
  adjoints = _adjoints(weights, matrix, bound=2.0)
  np.testing.assert_allclose(adjoints, [[2.0, 0.0], [0.0, 1 / 0.9]])
  # Nothing comes of nothing, not even a NaN.
  assert not _adjoints(jnp.zeros((2, 2)), matrix, bound=2.0).any()


@pytest.mark.parametrize('options, message', [
    (dict(decay=1.5), 'decay must be a number from 0 to 1, got 1.5'),
    (dict(decay=float('nan')), 'decay must be a number from 0 to 1, got nan'),
    (dict(bound=0.0), 'bound must be a positive number, got 0.0')])
def test_decay_and_bound_out_of_range(options, message):
  with pytest.raises(ValueError, match=message):
    _adjoints(jnp.ones((1, 1)), jnp.zeros((1, 1)), **options)


def test_unknown_gradient_mode():
  with pytest.raises(ValueError, match='implicit, one_step, unrolled, got '
                                       "'jfb'"):
    dear_jax.fixed_point(lambda z: z, jnp.zeros((1, 1)), gradient='jfb')


@pytest.mark.parametrize('gradient', implicit.GRADIENTS)
def test_bad_problems_are_refused(gradient):
  with pytest.raises(ValueError, match='must keep the structure'):
    dear_jax.fixed_point(lambda z: z[:, :1], jnp.zeros((1, 2)),
                         gradient=gradient)


def test_check_grads():
  problem = problems.tanh_layer()
  fun = functools.partial(dear_jax.fixed_point, problem.fun, problem.init,
                          forward=EXACT)
  jax.test_util.check_grads(lambda *args: fun(*args).value, problem.args,
                            order=1, modes=['rev'], rtol=1e-5)


class _Rows:
  """Subsets of `_coupled`."""

  def fits(self, args, wanted, size):
    return jnp.array(True)

  def take(self, args, instances):
    weights, rates, goals = args
    pick = lambda x: jnp.take(x, instances, axis=0, mode='clip')
    return weights, pick(rates), pick(goals)

  def replace(self, args, condition, source):
    weights, *others = args
    return weights, *per_instance.copy(others, condition, source)


def _coupled(z, weights, rates, goals):
  return goals + rates * jnp.sin(z @ weights)


def test_solving_the_last_instances_on_their_own_keeps_gradients():
  rng = np.random.RandomState(0)
  weights = jnp.asarray(rng.randn(3, 3) / 3)
  rates = jnp.asarray(np.append(np.full(9, 0.2), [0.9, 0.8, 0.1]))[:, None]
  goals = jnp.asarray(rng.randn(12, 3))
  def loss(args, probe, subsets):
    sol = dear_jax.fixed_point(
        _coupled, jnp.zeros((12, 3)), *args, forward=EXACT, subsets=subsets,
        backward_probe=probe)
    return jnp.sum(jnp.cos(sol.value)), sol
  args, probe = (weights, rates, goals), jnp.zeros((12, 3))
  results = [jax.jit(jax.grad(lambda *a, s=subsets: loss(*a, s),
                              argnums=(0, 1), has_aux=True))(args, probe)
             for subsets in (None, _Rows())]
  ((grads, report), sol), ((split_grads, split_report), split_sol) = results
  assert split_sol.evaluations < sol.evaluations
  for x, y in zip(split_grads, grads):
    np.testing.assert_allclose(x, y, rtol=1e-6, atol=1e-9)
  np.testing.assert_array_equal(split_report[:, 0], report[:, 0])


def test_the_probe_reports_the_backward_solve():
  problem = problems.affine(0.9)
  matrix, offset = problem.args
  def report(gradient, **options):
    loss = lambda probe: dear_jax.fixed_point(
        problem.fun, problem.init, matrix, offset, forward=EXACT,
        backward=Config(**options), gradient=gradient,
        backward_probe=probe).value.sum()
    return implicit.BackwardReport(*jax.grad(loss)(jnp.ones((3, 3))).T)
  cotangent = jnp.ones((3, 5))
  expected = dear_jax.solve(lambda u: u @ matrix.T + cotangent, cotangent,
                            config=Config(tol=1e-3))
  seen = report('implicit', tol=1e-3)
  np.testing.assert_array_equal(seen.steps, expected.steps)
  np.testing.assert_allclose(seen.residual, expected.residual, rtol=1e-6)
  np.testing.assert_array_equal(seen.converged, 1)
  np.testing.assert_array_equal(
      report('implicit', tol=1e-9, max_iter=2).converged, 0)
  seen = report('one_step')
  np.testing.assert_array_equal(seen.steps, 0)
  np.testing.assert_array_equal(seen.converged, 1)


def test_gradients_do_not_depend_on_the_scale_of_the_loss():
  """The backward solve is relative, also if the forward one is not."""
  forward = Config(tol=1e-3, stop_mode='abs', max_iter=400)
  def slope(scale, **options):
    return jax.grad(lambda b: scale * dear_jax.fixed_point(
        lambda z, b: 0.9 * z + b, jnp.zeros((1, 1)), b, forward=forward,
        **options).value.sum())(jnp.ones(())) / scale
  for scale in (1.0, 1e-4, 1e4):
    np.testing.assert_allclose(slope(scale), 10.0, rtol=1e-3)
  # Unless it is asked for.
  asked = Config(tol=1e-3, stop_mode='abs', method='picard')
  assert slope(1e-4, backward=asked) < 5


@pytest.mark.parametrize('forward, tol', [
    (Config(tol=0.5), 0.05), (Config(tol=0.5, stop_mode='abs'), 0.01),
    (Config(tol=1e-3, stop_mode='abs'), 1e-4)])
def test_default_of_the_backward_solver(forward, tol):
  backward = implicit.default_backward(forward)
  assert backward.stop_mode == 'rel' and np.isclose(backward.tol, tol)


# A step, and what makes the second instance fail.
_FAILURES = dict(
    nan=(lambda z, w, x: jnp.tanh(z @ w + x), np.nan),
    infinity=(lambda z, w, x: jnp.tanh(z @ w + x) * x, np.inf),
    # The arguments are finite, but the first evaluation is not.
    first=(lambda z, w, x: jnp.sqrt(0.1 * z @ w + x + 3), -50.0),
    # Ten evaluations are fine.
    late=(lambda z, w, x: jnp.where(
        x > 4, jnp.exp(0.1 * z) * (z + 1), jnp.tanh(z @ w + x)), 5.0),
)


class _Shared:
  """Subsets of problems whose first argument is shared."""

  def replace(self, args, condition, source):
    shared, values = args
    return shared, jnp.where(condition[:, None], values[source], values)


@pytest.mark.parametrize('gradient', implicit.GRADIENTS)
@pytest.mark.parametrize('failure', sorted(_FAILURES))
@pytest.mark.parametrize('told', [False, True])
def test_failed_instances_add_nothing_to_shared_gradients(gradient, failure,
                                                          told):
  """Neither NaN nor anything else, also if nobody says what is shared.

  The weights have as many rows as there are instances.
  """
  fun, poison = _FAILURES[failure]
  rng = np.random.RandomState(0)
  weights = jnp.asarray(0.3 * rng.randn(3, 3))
  inputs = jnp.asarray(rng.randn(3, 3))

  @jax.jit
  def grad(weights, inputs, counts):
    def loss(weights, inputs):
      sol = dear_jax.fixed_point(
          fun, jnp.zeros((3, 3)), weights, inputs, gradient=gradient,
          forward=Config(tol=1e-10, max_iter=60, method='picard'),
          subsets=_Shared() if told else None, split=False)
      return jnp.sum(jnp.sin(sol.value) * counts[:, None]), sol.failed
    return jax.grad(loss, argnums=(0, 1), has_aux=True)(weights, inputs)

  (of_weights, of_inputs), failed = grad(
      weights, inputs.at[1].set(poison), jnp.ones(3))
  np.testing.assert_array_equal(failed, [False, True, False])
  (expected, of_others), _ = grad(weights, inputs, jnp.array([1, 0, 1]))
  np.testing.assert_array_equal(of_inputs[1], 0)
  np.testing.assert_allclose(of_weights, expected, rtol=1e-12)
  np.testing.assert_allclose(of_inputs, of_others, rtol=1e-12)


@pytest.mark.parametrize('gradient', implicit.GRADIENTS)
def test_if_all_instances_fail_there_is_no_gradient(gradient):
  grad = jax.grad(lambda w: dear_jax.fixed_point(
      lambda z, w, x: jnp.tanh(w * z + x), jnp.zeros((2, 1)), w,
      jnp.full((2, 1), jnp.nan), gradient=gradient).value.sum())(jnp.ones(()))
  np.testing.assert_array_equal(grad, 0)


def test_the_exact_gradient_is_taken_at_the_value():
  """The others where the last application was, which gave the value."""
  config = Config(method='picard', tol=0.2, max_iter=40)
  fun = lambda z, b: jnp.tanh(1.5 * z) + b
  b = jnp.array([[0.5]])
  solve = functools.partial(dear_jax.fixed_point, fun, jnp.zeros((1, 1)),
                            forward=config, backward=EXACT)
  _, origin = solvers.solve_with_origin(fun, jnp.zeros((1, 1)), b,
                                        config=config)
  value = solve(b).value
  slope = lambda z: float(1.5 * (1 - jnp.tanh(1.5 * z) ** 2)[0, 0])
  assert not np.isclose(slope(value), slope(origin), rtol=0.1)
  for options, expected in (
      (dict(), 1 / (1 - slope(value))),
      (dict(decay=0.5), 1 / (1 - 0.5 * slope(origin))),
      (dict(bound=1e6), 1 / (1 - slope(origin)))):
    grad = jax.grad(lambda b, o=options: solve(b, **o).value.sum())(b)
    np.testing.assert_allclose(grad[0, 0], expected, rtol=1e-8)


@pytest.mark.parametrize('gradient', implicit.GRADIENTS)
def test_what_is_as_long_as_the_batch_keeps_its_gradient(gradient):
  """Equal entries of a bias, and infinite ones of a mask, say nothing."""
  rng = np.random.default_rng(0)
  weights = jnp.asarray(0.2 * rng.standard_normal((3, 3)))
  mask = jnp.where(jnp.eye(3) > 0, -jnp.inf, jnp.zeros((3, 3)))
  inputs = jnp.asarray(rng.standard_normal((3, 3))).at[1].set(jnp.nan)

  @functools.partial(jax.jit, static_argnums=1)
  @jax.grad
  def grad(bias, sound_only):
    x = inputs[::2] if sound_only else inputs
    sol = dear_jax.fixed_point(
        lambda z, b, m, x: jnp.tanh(z @ weights @ jax.nn.softmax(m) + b + x),
        jnp.zeros_like(x), bias, mask, x, gradient=gradient,
        forward=Config(tol=1e-12, max_iter=200))
    return jnp.sum(jnp.where(sol.failed[:, None], 0, sol.value)**2)

  np.testing.assert_allclose(grad(jnp.zeros(3), False),
                             grad(jnp.zeros(3), True), rtol=1e-9)


@pytest.mark.parametrize('way', ['jit', 'vmap', 'scan', 'checkpoint'])
def test_closed_over_indices(way):
  weights = jnp.array([[0.3, -0.2], [0.1, 0.4]])
  order = jnp.array([0, 2, 1])

  def loss(inputs, order, chosen):
    step = lambda z: jnp.where(chosen, jnp.tanh(z @ weights + inputs[order]), z)
    return jnp.sum(dear_jax.fixed_point(step, jnp.zeros((3, 2)),
                                        forward=EXACT).value**2)

  chosen = jnp.ones((3, 2), bool)
  ways = {
      'jit': jax.jit(loss),
      'vmap': lambda x, *args: jnp.sum(jax.vmap(loss, (None, 0, 0))(
          x, *(y[None] for y in args))),
      'scan': lambda x, *args: jax.lax.scan(
          lambda total, y: (total + loss(x, *y), None), 0.0,
          jax.tree_util.tree_map(lambda y: y[None], args))[0],
      'checkpoint': jax.checkpoint(loss)}
  inputs = jnp.asarray(np.random.default_rng(0).standard_normal((3, 2)))
  np.testing.assert_allclose(jax.grad(ways[way])(inputs, order, chosen),
                             jax.grad(loss)(inputs, order, chosen), rtol=1e-9)


def test_unrolled_gradient_of_singular_systems():
  """Without a ridge, evaluations that are alike have no mixture."""
  inputs = jnp.array([[1 / 3, 1 / 2], [2 / 3, 5 / 6]])
  grad = jax.grad(lambda b: jnp.sum(dear_jax.fixed_point(
      lambda z, b: 0.5 * z + b, jnp.zeros((2, 2)), b, gradient='unrolled',
      forward=Config(ridge=0.0, tol=1e-6, max_iter=12)).value))
  np.testing.assert_allclose(grad(inputs), np.full((2, 2), 2.0), rtol=1e-4)


@pytest.mark.parametrize('method', ['anderson', 'broyden'])
def test_unrolled_gradient_beside_an_instance_that_goes_to_zero(method):
  """Squares of its changes are zero in single precision."""
  goals = jnp.array([[0.0, 0.0], [1.0, 2.0]], jnp.float32)
  config = Config(method=method, tol=1e-6, max_iter=30)
  def value(rate, goals):
    return dear_jax.fixed_point(
        lambda z, rate, goals: rate * jnp.array([1.0, 0.7], jnp.float32) * z
        + goals, jnp.full((2, 2), 1e-9, jnp.float32), rate, goals,
        gradient='unrolled', forward=config).value[1]
  rate = jnp.float32(0.5)
  grad = jax.grad(lambda rate: jnp.sum(value(rate, goals)))(rate)
  # 1 / (1 - r) + 2 / (1 - 0.7 r)
  expected = 1 / 0.5**2 + 2 * 0.7 / 0.65**2
  np.testing.assert_allclose(grad, expected, rtol=1e-2)


@pytest.mark.parametrize('gradient', implicit.GRADIENTS)
def test_an_empty_batch_has_a_gradient_of_zero(gradient):
  grad = jax.grad(lambda w: jnp.sum(dear_jax.fixed_point(
      lambda z, w: z * w, jnp.zeros((0, 2)), w, gradient=gradient).value))
  assert grad(0.5) == 0


def test_bound_in_half_precision():
  """Squares of small gradients are zero there."""
  ones = jnp.ones((1, 128), jnp.float16)
  grad = jax.grad(lambda b: 1e-4 * jnp.sum(dear_jax.fixed_point(
      lambda z, b: (0.5 * z + b).astype(z.dtype), jnp.zeros_like(ones), b,
      bound=1.5).value))
  np.testing.assert_allclose(grad(ones), 1.5e-4, rtol=0.01)
