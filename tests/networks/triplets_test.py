# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what is computed node by node against all triples at once."""

from dear_jax.networks import triplets
import jax
from jax.extend import core
import jax.numpy as jnp
import numpy as np
import pytest


def _all_relu_products(ends, first, second, weights):
  sums = (ends[:, :, :, None] + first[:, :, None]
          + second.transpose(0, 2, 1, 3)[:, None])  # [b, i, j, k, f]
  return jnp.einsum('bijkf,f->bijk', jnp.maximum(sums, 0), weights)


def _all_max_plus(first, second, is_node):
  sums = first[:, :, None] + second.transpose(0, 2, 1, 3)[:, None]
  sums = jnp.where(is_node[:, None, None, :, None], sums, -1e6)
  return jnp.max(sums, axis=3)


def _draw(*shapes):
  rng = np.random.RandomState(0)
  return [jnp.asarray(rng.randn(*shape)) for shape in shapes]


PAIRS = (2, 4, 4, 3)


@pytest.mark.parametrize('name', ['relu_product', 'max_plus'])
def test_values_and_gradients(name):
  """Those of the plain computation, and those of finite differences."""
  with jax.enable_x64(True):
    if name == 'relu_product':
      fun, plain = triplets.relu_product, _all_relu_products
      args = _draw(PAIRS, PAIRS, PAIRS, (3,))
      shape = (2, 4, 4, 4)
    else:
      is_node = jnp.asarray([[1, 1, 1, 1], [1, 0, 1, 1]], bool)
      fun = lambda *args: triplets.max_plus(*args, is_node)
      plain = lambda *args: _all_max_plus(*args, is_node)
      args = _draw(PAIRS, PAIRS)
      shape = PAIRS
    assert args[0].dtype == jnp.float64
    found, expected = fun(*args), plain(*args)
    assert found.shape == shape
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)

    weights, = _draw(shape)
    loss = lambda fun: lambda *args: jnp.sum(jnp.sin(fun(*args)) * weights)
    which = tuple(range(len(args)))
    gradients = jax.jit(jax.grad(loss(fun), which))(*args)
    for ours, theirs in zip(gradients, jax.grad(loss(plain), which)(*args)):
      np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)
    directions = _draw(*[x.shape for x in args])
    at = lambda t: loss(fun)(*[x + t * d for x, d in zip(args, directions)])
    slope = (at(1e-6) - at(-1e-6)) / 2e-6
    along = sum(jnp.sum(g * d) for g, d in zip(gradients, directions))
    np.testing.assert_allclose(along, slope, rtol=1e-6)


def test_maximum_over_no_nodes():
  first, second = _draw(PAIRS, PAIRS)
  is_node = jnp.asarray([[1, 1, 1, 1], [0, 0, 0, 0]], bool)
  found, pull = jax.vjp(lambda *x: triplets.max_plus(*x, is_node), first,
                        second)
  assert (found[1] == -1e6).all() and (found[0] > -100).all()
  for gradient in pull(jnp.ones_like(found)):
    assert (gradient[1] == 0).all() and np.sum(gradient[0]) == found[0].size


def test_the_first_of_several_maxima_gets_the_gradient():
  zeros = jnp.zeros((1, 3, 3, 1))
  _, pull = jax.vjp(
      lambda *x: triplets.max_plus(*x, jnp.ones((1, 3), bool)), zeros, zeros)
  to_first, _ = pull(jnp.ones_like(zeros))
  np.testing.assert_array_equal(to_first[0, :, :, 0], [[3, 0, 0]] * 3)


@pytest.mark.parametrize('name', ['relu_product', 'max_plus'])
def test_memory_is_that_of_pairs(name):
  """No value of the program or of its gradient has entries for all triples."""
  size, width = 8, 5
  args = [jax.ShapeDtypeStruct((2, size, size, width), jnp.float32)] * 2
  if name == 'relu_product':
    args = args + args[:1] + [jax.ShapeDtypeStruct((width,), jnp.float32)]
    fun = triplets.relu_product
  else:
    fun = lambda *x: triplets.max_plus(*x, jnp.ones((2, size), bool))
  gradient = jax.grad(lambda *x: jnp.sum(fun(*x)**2), argnums=(0, 1))
  program = jax.make_jaxpr(gradient)(*args)
  most = max(np.prod(v.aval.shape) for v in _values(program.jaxpr))
  assert most <= 2 * size**2 * max(size, width)


def _values(jaxpr):
  for equation in jaxpr.eqns:
    yield from equation.outvars
    for inner in core.jaxprs_in_params(equation.params):
      yield from _values(inner)
