# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the alignment, against recursion and brute force."""

import functools
import itertools

import clrs
import dear_jax
from dear_jax.data import samplers
from dear_jax.fixed_points import solvers
from dear_jax.models import alignment
from dear_jax.networks import processors
import jax
import jax.numpy as jnp
import numpy as np
import pytest


def _recursive(distances):
  """The paper's two recursions, word for word."""
  nb_rows, nb_columns = distances.shape

  @functools.lru_cache(maxsize=None)
  def dp(i, j):
    if i == 0:
      return 0.0
    if j == 0:
      return np.inf
    previous = dp(i - 1, j) if nb_rows > nb_columns else dp(i - 1, j - 1)
    return min(previous + distances[i - 1, j - 1], dp(i, j - 1))

  return dp(nb_rows, nb_columns)


def _brute_force(distances):
  """The least cost of all maps from rows to columns that never go back."""
  nb_rows, nb_columns = distances.shape
  choose = (itertools.combinations_with_replacement
            if nb_rows > nb_columns else itertools.combinations)
  return min(sum(distances[i, j] for i, j in enumerate(columns))
             for columns in choose(range(nb_columns), nb_rows))


def test_least_cost_of_padded_problems_of_all_shapes():
  rng = np.random.RandomState(0)
  shapes = list(itertools.product(range(1, 6), range(1, 6)))
  distances = rng.rand(len(shapes), 6, 7).astype(np.float32)
  rows = np.zeros((len(shapes), 6), bool)
  columns = np.zeros((len(shapes), 7), bool)
  expected = []
  for i, (nb_rows, nb_columns) in enumerate(shapes):
    # Rows are missing anywhere, columns at the end.
    chosen = np.sort(rng.permutation(6)[:nb_rows])
    rows[i, chosen] = True
    columns[i, :nb_columns] = True
    problem = distances[i, chosen, :nb_columns]
    expected.append(_recursive(problem))
    assert expected[-1] == pytest.approx(_brute_force(problem))
  cost = jax.jit(alignment.alignment_cost)(distances, rows, columns)
  np.testing.assert_allclose(cost, expected, rtol=1e-5)


def test_cost_without_rows_is_nothing():
  cost = alignment.alignment_cost(
      jnp.ones((1, 2, 3)), jnp.zeros((1, 2), bool), jnp.ones((1, 3), bool))
  assert cost[0] == 0


def test_distances():
  rng = np.random.RandomState(1)
  states, others = rng.randn(3, 2, 4, 5), rng.randn(6, 2, 4, 5)
  mask = np.array([[1, 1, 1, 1], [1, 1, 0, 0]], float)
  distances = alignment.pairwise_distances(
      jnp.asarray(states), jnp.asarray(others), jnp.asarray(mask))
  assert distances.shape == (2, 3, 6)
  for b, t, s in itertools.product(range(2), range(3), range(6)):
    lengths = np.linalg.norm(states[t, b] - others[s, b], axis=-1)
    nodes = mask[b] > 0
    assert distances[b, t, s] == pytest.approx(lengths[nodes].mean(), rel=1e-5)


def _problem(seed=2):
  rng = np.random.RandomState(seed)
  states = rng.randn(5, 4, 3, 2).astype(np.float32)
  teacher = rng.randn(6, 4, 3, 2).astype(np.float32)
  return states, np.array([5, 3, 1, 4]), teacher, np.array([6, 2, 4, 1])


def test_loss_of_trajectories_of_different_lengths():
  states, steps, teacher, teacher_steps = _problem()
  loss = jax.jit(alignment.alignment_loss)(states, steps, teacher,
                                           teacher_steps)
  for b in range(4):
    distances = np.linalg.norm(
        states[:steps[b], None, b] - teacher[None, :teacher_steps[b], b],
        axis=-1).mean(axis=-1)
    expected = distances[-1, -1]
    rest = distances[:-1, :-1]
    if rest.size:  # a single state, or a teacher of one step, has no rest
      expected += _recursive(rest) / len(rest)
    assert loss[b] == pytest.approx(expected, rel=1e-5)


def test_what_is_beyond_the_last_steps_does_not_matter():
  states, steps, teacher, teacher_steps = _problem()
  loss = alignment.alignment_loss(states, steps, teacher, teacher_steps)
  padded_states, padded_teacher = states.copy(), teacher.copy()
  for b in range(4):
    padded_states[steps[b]:, b] = 1e3
    padded_teacher[teacher_steps[b]:, b] = -1e3
  np.testing.assert_allclose(
      alignment.alignment_loss(padded_states, steps, padded_teacher,
                               teacher_steps), loss, rtol=1e-6)


def test_equal_trajectories_cost_nothing_and_have_a_gradient():
  states, steps, _, _ = _problem()
  loss = lambda states, others: jnp.sum(
      alignment.alignment_loss(states, steps, others, steps))
  assert loss(states, states) == 0
  assert np.isfinite(jax.grad(loss)(states, states)).all()


def test_gradient_is_that_of_finite_differences():
  states, steps, teacher, teacher_steps = _problem()
  with jax.enable_x64(True):
    states, teacher = states.astype(np.float64), teacher.astype(np.float64)
    loss = jax.jit(lambda states: jnp.sum(alignment.alignment_loss(
        states, steps, teacher, teacher_steps)))
    grad = jax.grad(loss)(states)
    direction = np.random.RandomState(3).randn(*states.shape)
    numeric = (loss(states + 1e-6 * direction)
               - loss(states - 1e-6 * direction)) / 2e-6
    np.testing.assert_allclose(jnp.sum(grad * direction), numeric, rtol=1e-6)
  # Intermediate states get some, states that are not there get none.
  assert np.abs(grad[0, 0]).max() > 0
  assert not grad[1:, 2].any() and not grad[3:, 1].any()


def test_a_random_half_is_aligned():
  rows = np.array([[True] * 7, [True] * 2 + [False] * 5,
                   [True] + [False] * 6, [False] * 7])
  half = jax.vmap(lambda key: alignment._random_half(rows, key))(  # pylint: disable=protected-access
      jax.random.split(jax.random.PRNGKey(0), 2000))
  np.testing.assert_array_equal(half.sum(axis=-1),
                                np.tile([3, 1, 1, 0], (2000, 1)))
  assert not (half & ~rows).any()
  # Without replacement, and each as often as any other.
  np.testing.assert_allclose(half[:, 0].mean(axis=0), 3 / 7, atol=0.04)


def test_the_last_states_are_aligned_whatever_is_drawn():
  states, steps, teacher, teacher_steps = _problem()
  last = [np.linalg.norm(states[steps[b] - 1, b]
                         - teacher[teacher_steps[b] - 1, b], axis=-1).mean()
          for b in range(4)]
  for seed in range(5):
    loss = alignment.alignment_loss(states, steps, teacher, teacher_steps,
                                    key=jax.random.PRNGKey(seed))
    assert (np.asarray(loss) >= np.array(last) - 1e-5).all()


def _solve(weight, inputs=None, failed=(False, False, False)):
  """States whose values `P(z) = weight z + 1` depend on a parameter."""
  rng = np.random.RandomState(0)
  origins = jnp.asarray(rng.randn(6, 3, 4, 2), jnp.float32)
  if inputs is None:
    inputs = jnp.ones((3, 1, 1))
  fun = lambda z, w, context, *_: w * z / context['inputs'] + 1
  trajectory = jax.lax.stop_gradient(weight) * origins + 1
  steps = jnp.array([6, 4, 1])
  nodes = weight * origins[steps - 1, np.arange(3)] + 1
  solution = solvers.Solution(
      value=nodes, steps=steps, residual=None,
      converged=jnp.ones(3, bool), failed=jnp.array(failed), evaluations=None,
      trajectory=trajectory, origins=origins)
  teacher = jnp.asarray(rng.randn(5, 3, 4, 2), jnp.float32)
  return processors.EquilibriumResult(
      solution=solution, nodes=nodes, edges=None, fun=fun,
      args=(weight, dict(inputs=inputs), None, None), of_nodes=lambda x: x,
      of_edges=None), teacher


def test_loss_of_a_solve_is_that_of_its_states():
  result, teacher = _solve(jnp.array(0.5))
  teacher_steps = np.array([5, 3, 4])
  for seed in range(3):
    key = jax.random.PRNGKey(seed)
    half_key, _ = jax.random.split(key)
    expected = alignment.alignment_loss(
        result.solution.trajectory, result.solution.steps, teacher,
        teacher_steps, key=half_key)
    loss = alignment.solve_alignment_loss(result, teacher, teacher_steps,
                                          key=key)
    np.testing.assert_allclose(loss, expected, rtol=1e-4)


def test_gradient_of_a_solve_is_right_on_average():
  teacher_steps = np.array([5, 3, 4])

  def exact(weight, key):
    """Every state is made by one application that has a gradient."""
    result, teacher = _solve(weight)
    states = result.fun(result.solution.origins, *result.args)
    half_key, _ = jax.random.split(key)
    return jnp.sum(alignment.alignment_loss(
        states, result.solution.steps, teacher, teacher_steps, key=half_key))

  def cheap(weight, key):
    result, teacher = _solve(weight)
    return jnp.sum(alignment.solve_alignment_loss(result, teacher,
                                                  teacher_steps, key=key))

  keys = jax.random.split(jax.random.PRNGKey(0), 4000)
  mean = lambda fun: np.asarray(jax.jit(jax.vmap(
      jax.grad(fun), in_axes=(None, 0)))(0.5, keys)).mean()
  assert mean(cheap) == pytest.approx(mean(exact), abs=0.05)
  # Without the gradient of the states in between it would be another one.
  def last_only(weight, key):
    del key
    result, teacher = _solve(weight)
    return jnp.sum(alignment.pairwise_distances(
        result.nodes[None], teacher[teacher_steps - 1, np.arange(3)][None]))
  assert abs(mean(last_only) - mean(exact)) > 0.2


_FAILURES = [(False, True, False), (True, False, False), (True, True, True)]


@pytest.mark.parametrize('failed', _FAILURES)
@pytest.mark.parametrize('taught', [None, np.nan, 1e30])
def test_what_failed_is_left_out_with_its_gradient(failed, taught):
  """Whether the solve had no result there, or the teacher no usable states."""
  teacher_steps, key = np.array([5, 3, 4]), jax.random.PRNGKey(1)
  is_out = np.array(failed)[:, None, None]

  def each(weight):
    return alignment.solve_alignment_loss(*_solve(weight), teacher_steps,
                                          key=key)

  def mean(weight, inputs):
    if taught is None:
      result, teacher = _solve(weight, inputs, failed)
    else:
      result, teacher = _solve(weight)
      teacher = jnp.where(is_out, taught, teacher)
    return alignment.mean_alignment_loss(result, teacher, teacher_steps,
                                         key=key)

  # The step of a solve that failed has no derivative.
  inputs = jnp.where(is_out, 0.0, 1.0)
  loss, grads = jax.jit(jax.value_and_grad(mean, argnums=(0, 1)))(0.5, inputs)
  sound = ~np.array(failed)
  count = max(1, sound.sum())
  np.testing.assert_allclose(loss, each(0.5)[sound].sum() / count, rtol=1e-5)
  np.testing.assert_allclose(
      grads[0], jax.jacobian(each)(0.5)[sound].sum() / count, rtol=1e-4)
  assert np.isfinite(grads[1]).all() and not grads[1][~sound].any()


def _loops(batch, value):
  """The batch with other weights of edges from a node to itself."""
  change = lambda x: clrs.DataPoint(
      x.name, x.location, x.type_, np.where(
          np.eye(x.data.shape[1], dtype=bool), value, x.data)
      if x.name == 'A' else x.data)
  return batch._replace(features=batch.features._replace(
      inputs=tuple(map(change, batch.features.inputs))))


@pytest.mark.parametrize('layout', ['dense', 'sparse'])
def test_a_teacher_is_told_what_it_was_when_it_learnt(layout):
  """And not what the model that it teaches is told."""
  sampler = samplers.make_sampler('bellman_ford', size=5, batch_size=2, seed=0,
                                  split='train', with_lengths=True)
  batch = _loops(sampler.batch(0), 0.75)
  make = lambda kind, **options: kind(
      sampler.spec, batch, dear_jax.get_processor_factory('dear_pgn'),
      hidden_dim=8, layout=layout, pad_to=8, **options)
  key = jax.random.PRNGKey(0)
  batch_of = lambda model: model._batch(  # pylint: disable=protected-access
      batch.features, batch.outputs, 0, training=True)
  theirs = dict(scalars='linear', self_loops=True)
  ours = dict(scalars='relative_units', self_loops=False)
  for of_teacher, of_model in ((theirs, ours), (ours, theirs)):
    teacher = make(dear_jax.NARModel, **of_teacher)
    told = batch_of(make(dear_jax.DEARModel, teacher=teacher, **of_model))
    expected = batch_of(teacher)
    jax.tree_util.tree_map(np.testing.assert_array_equal, told.teacher_inputs,
                           expected.inputs)
    jax.tree_util.tree_map(np.testing.assert_array_equal, told.edge_list,
                           expected.edge_list)
    assert any(np.any(np.asarray(x.data) != np.asarray(y.data))
               for x, y in zip(told.inputs, told.teacher_inputs))

  teacher = make(dear_jax.NARModel, **theirs)
  teacher.init(batch.features, 1)
  model = make(dear_jax.DEARModel, teacher=teacher, **ours)
  model.init(batch.features, 0)
  losses = []
  for value in (0.75, 50.0):  # which the model does not see, but the teacher
    model.compute_grad(key, _loops(batch, value))
    losses.append(model.metrics)
  assert losses[0]['task_loss'] == losses[1]['task_loss']
  assert abs(losses[0]['alignment_loss'] - losses[1]['alignment_loss']) > 1e-2

  # Where there is nothing else to tell, programs have no other input.
  model = make(dear_jax.DEARModel, teacher=teacher, **theirs)
  assert batch_of(model).teacher_inputs is None


def test_fast_distances():
  rng = np.random.RandomState(0)
  states = rng.randn(3, 2, 4, 5).astype(np.float32)
  others = np.concatenate([states[:1], rng.randn(2, 2, 4, 5)]).astype(
      np.float32)
  mask = np.array([[1, 1, 1, 0], [1, 1, 0, 0]], np.float32)
  for node_mask in (None, mask):
    np.testing.assert_allclose(
        alignment.fast_pairwise_distances(states, others, node_mask),
        alignment.pairwise_distances(states, others, node_mask), atol=2e-3)
