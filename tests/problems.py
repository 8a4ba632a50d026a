# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""A zoo of fixed-point problems with known answers."""

from typing import Any, Callable, NamedTuple, Tuple

import jax.numpy as jnp
import numpy as np


class Problem(NamedTuple):
  fun: Callable[..., Any]
  init: Any
  args: Tuple[Any, ...]
  answer: Any


def affine(radius: float, size: int = 5, batch_size: int = 3,
           dtype=np.float64) -> Problem:
  """`z -> z A + b` with a symmetric matrix of the given spectral radius."""
  rng = np.random.RandomState(0)
  basis, _ = np.linalg.qr(rng.randn(size, size))
  eigenvalues = np.linspace(-radius, radius, size)
  matrix = (basis * eigenvalues) @ basis.T
  offset = rng.randn(batch_size, size)
  answer = np.linalg.solve((np.eye(size) - matrix).T, offset.T).T
  return Problem(
      fun=lambda z, a, b: z @ a + b,
      init=jnp.zeros((batch_size, size), dtype),
      args=(jnp.asarray(matrix, dtype), jnp.asarray(offset, dtype)),
      answer=answer)


def rotation(radius: float = 0.95) -> Problem:
  """A shrinking rotation of the plane: complex eigenvalues."""
  cos, sin = np.cos(1.0), np.sin(1.0)
  matrix = radius * np.array([[cos, -sin], [sin, cos]])
  offset = np.array([[1.0, 0.0], [0.5, -2.0]])
  answer = np.linalg.solve((np.eye(2) - matrix).T, offset.T).T
  return Problem(lambda z, a, b: z @ a + b, jnp.zeros((2, 2)),
                 (jnp.asarray(matrix), jnp.asarray(offset)), answer)


def slow_decay(rate: float = 0.99) -> Problem:
  """Geometric approach to 1: residuals are small long before the end."""
  return Problem(lambda z, r, goal: r * z + (1 - r) * goal, jnp.zeros((1, 1)),
                 (jnp.asarray(rate), jnp.asarray(1.0)), np.ones((1, 1)))


def tanh_layer(batch_size: int = 2, size: int = 4) -> Problem:
  """A contractive nonlinear layer on a state of two arrays."""
  rng = np.random.RandomState(1)
  weights = 0.4 * rng.randn(size, size) / np.sqrt(size)
  bias = rng.randn(batch_size, size)

  def fun(z, params, bias):
    mixed = jnp.tanh(z['a'] @ params['w'] + bias)
    return dict(a=mixed + 0.2 * jnp.mean(z['b'], axis=-1),
                b=params['scale'] * jnp.sin(z['b'] + mixed[..., None]))

  init = dict(a=jnp.zeros((batch_size, size)),
              b=jnp.zeros((batch_size, size, 2)))
  params = dict(w=jnp.asarray(weights), scale=jnp.asarray(0.3))
  answer = init
  for _ in range(500):
    answer = fun(answer, params, bias)
  return Problem(fun, init, (params, jnp.asarray(bias)), answer)


def square(offset: float = 3 / 16) -> Problem:
  """`z -> z^2 + offset`: fixed points 1/4 and 3/4."""
  return Problem(lambda z, c: z * z + c, jnp.zeros((1, 1)),
                 (jnp.asarray(offset),), np.full((1, 1), 0.25))


ZOO = dict(
    contraction=lambda: affine(0.5),
    slow_contraction=lambda: affine(0.95),
    rotation=rotation,
    slow_decay=slow_decay,
    tanh_layer=tanh_layer,
    square=square,
)
