# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of stochastic depth."""

import dear_jax
from dear_jax.fixed_points import solvers
from dear_jax.networks import nets
from dear_jax.networks import processors
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests import graphs

WIDTH = 8
KEY = jax.random.PRNGKey(0)


def test_numbers_of_steps():
  """s with a probability of 0.5^s; the last also has all that is beyond."""
  count = 1 << 15
  numbers = np.asarray(jax.jit(jax.vmap(nets.number_of_extra_steps))(
      jax.random.split(KEY, count)))
  assert set(numbers) == set(range(1, 9))
  expected = 0.5 ** np.array([1, 2, 3, 4, 5, 6, 7, 7])
  shares = [np.mean(numbers == s) for s in range(1, 9)]
  deviation = np.sqrt(expected * (1 - expected) / count)
  assert (np.abs(shares - expected) < 4 * deviation).all()


def _counting(scale, inputs, failed):
  """An equilibrium at 0, of a step that adds a number and divides by inputs."""
  solution = solvers.Solution(
      value={'count': jnp.zeros((2, 1))}, steps=None, residual=None,
      converged=None, failed=jnp.array(failed), evaluations=None)
  return processors.EquilibriumResult(
      solution=solution, nodes=None, edges=None,
      fun=lambda state, scale, context, *_: {
          'count': state['count'] + scale / context['inputs']},
      args=(scale, dict(inputs=inputs), None, None), of_nodes=None,
      of_edges=None)


def test_as_many_steps_as_were_drawn():
  """With the draw itself, on a step that counts."""
  def advance(scale, key):
    result = _counting(scale, jnp.ones((2, 1)), [False, False])
    return jnp.sum(nets._extra_steps(result, key)['count'])  # pylint:disable=protected-access

  keys = jax.random.split(KEY, 64)
  totals, slopes = jax.jit(jax.vmap(
      jax.value_and_grad(advance), in_axes=(None, 0)))(3.0, keys)
  numbers = jax.vmap(nets.number_of_extra_steps)(keys)
  assert len(set(np.asarray(numbers))) > 4
  np.testing.assert_array_equal(totals, 2 * 3 * numbers)
  np.testing.assert_array_equal(slopes, 2 * numbers)


@pytest.mark.parametrize('failed', [[False, True], [True, True]])
def test_what_failed_goes_nowhere_and_has_no_gradient(failed):
  """Its own derivative is not finite, and no cotangent of 0 could undo that."""
  def advance(scale, inputs):
    state = nets._extra_steps(_counting(scale, inputs, failed), KEY)['count']  # pylint:disable=protected-access
    return jnp.sum(state), state

  inputs = jnp.where(jnp.array(failed)[:, None], 0.0, 1.0)
  (slope, slopes), state = jax.jit(jax.grad(
      advance, argnums=(0, 1), has_aux=True))(3.0, inputs)
  number = nets.number_of_extra_steps(KEY)
  sound = 1.0 - np.array(failed)
  np.testing.assert_array_equal(state[:, 0], 3 * number * sound)
  np.testing.assert_array_equal(slopes[:, 0], -3 * number * sound)
  assert slope == number * sound.sum()


@pytest.fixture(name='models', scope='module')
def _models():
  """With and without, with the same parameters."""
  batch = graphs.feedback()
  # All that a state can have: virtual nodes and embeddings of edges. So few
  # steps end far from where more would lead to.
  factory = dear_jax.get_processor_factory(
      'dear_triplet_mpnn', nb_triplet_fts=4, cgp=True, gradient='one_step',
      solver=dear_jax.SolverConfig(method='picard', max_iter=2))
  models = {}
  for option in (False, True):
    models[option] = dear_jax.DEARModel(
        graphs.SPEC, batch, factory, hidden_dim=WIDTH, noise_stddev=0.1,
        stochastic_depth=option, debug=True)
  models[False].init(batch.features, 0)
  models[True].params = models[False].params
  return models


def _steps_ahead(output, count):
  """The states of nodes and edges after some more steps, by hand."""
  result = output.equilibrium
  state = result.solution.value
  for _ in range(count):
    state = result.fun(state, *result.args)
  return dict(hidden=state['nodes'], edges=result.of_edges(state))


def test_decodes_the_last_state(models, monkeypatch):
  """And differentiates through the steps that led there."""
  monkeypatch.setattr(
      nets.EquilibriumNet, 'decode',
      lambda self, inputs, index, encoded, hidden, edges, **kwargs: dict(
          hidden=hidden, edges=edges))
  inputs = [tuple(graphs.feedback().features.inputs)]
  weights = jax.random.normal(KEY, (2, 4, WIDTH))

  def loss(params, count, option, by_hand):
    monkeypatch.setattr(nets, 'number_of_extra_steps', lambda key: count)
    output = models[option].net_fn.apply(
        params, KEY, inputs, repred=False, algorithm_index=0)
    decoded = (output.output_preds if by_hand is None
               else _steps_ahead(output, by_hand))
    return (jnp.sum(weights * decoded['hidden'])
            + jnp.mean(decoded['edges'])), decoded

  run = jax.jit(jax.value_and_grad(loss, has_aux=True), static_argnums=(2, 3))
  params = models[True].device_params
  results = {count: run(params, count, True, None) for count in (0, 1, 3)}
  for count, ((_, decoded), grads) in results.items():
    (_, expected), expected_grads = run(params, 0, False, count)
    for name in ('hidden', 'edges'):
      np.testing.assert_allclose(decoded[name], expected[name], rtol=1e-5,
                                 atol=1e-5)
    jax.tree_util.tree_map(
        lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-4),
        grads, expected_grads)

  ((_, without), grads_without), ((_, after), grads_after) = (
      results[0], results[3])
  for name in ('hidden', 'edges'):
    assert jnp.abs(after[name] - without[name]).max() > 1e-2
  jax.tree_util.tree_map(lambda x: np.testing.assert_(jnp.isfinite(x).all()),
                         grads_after)
  for module in grads_after:
    if module.endswith('update_state'):
      change = grads_after[module]['w'] - grads_without[module]['w']
      assert jnp.abs(change).max() > 1e-2
      break
  else:
    assert False, 'There is no such module.'


def test_predictions_have_no_extra_steps(models, monkeypatch):
  monkeypatch.setattr(nets, 'number_of_extra_steps', lambda key: 3)
  features = graphs.feedback().features
  (preds, _, hidden), (expected, _, expected_hidden) = [
      models[option].predict(KEY, features) for option in (True, False)]
  np.testing.assert_array_equal(hidden, expected_hidden)
  for name in expected:
    np.testing.assert_array_equal(preds[name].data, expected[name].data)


def test_is_a_setting_of_a_run():
  assert not dear_jax.TrainConfig().stochastic_depth
  with pytest.raises(ValueError, match='stochastic_depth needs model=dear'):
    dear_jax.TrainConfig(model='nar', stochastic_depth=True)
