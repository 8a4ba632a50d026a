# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""What is computed on three nodes at a time, in the memory of two.

All triples of nodes at once would be [B, N, N, N, F]. Here the node in the
middle is taken one after the other, and gradients are computed anew for each,
so that nothing has more entries than [B, N, N, F] or [B, N, N, N].
"""

from typing import Any, Tuple

import jax
import jax.numpy as jnp

_Array = jax.Array

_LEAST = -1e6  # of a maximum over no nodes, as in CLRS


@jax.custom_vjp
def relu_product(ends: _Array, first: _Array, second: _Array, weights: _Array
                 ) -> _Array:
  """A linear layer with one output on the ReLU of sums over three pairs.

  Args:
    ends: [B, N, N, F], of (i, j).
    first: [B, N, N, F], of (i, k).
    second: [B, N, N, F], of (k, j).
    weights: [F].

  Returns:
    [B, N, N, N], the sum over f of w[f] * relu(ends[b, i, j, f]
    + first[b, i, k, f] + second[b, k, j, f]) at (b, i, j, k).
  """
  def of_node(pairs):
    rows = jax.nn.relu(_sum(ends, *pairs))
    return jnp.reshape(jnp.reshape(rows, (-1, rows.shape[-1]))
                       @ weights[:, None], rows.shape[:-1])

  return jnp.moveaxis(
      jax.lax.map(of_node, _by_middle(first, second)), 0, -1)


def _relu_product_fwd(ends, first, second, weights):
  return (relu_product(ends, first, second, weights),
          (ends, first, second, weights))


def _relu_product_bwd(residuals, cotangent):
  ends, first, second, weights = residuals

  def of_node(to_ends, row):
    pairs, cotangent = row  # the latter is [B, N, N]
    part = jnp.where(_sum(ends, *pairs) > 0, cotangent[..., None], 0)
    return to_ends + part, (jnp.sum(part, axis=2), jnp.sum(part, axis=1))

  to_ends, to_pairs = jax.lax.scan(
      of_node, jnp.zeros_like(ends),
      (_by_middle(first, second), jnp.moveaxis(cotangent, -1, 0)))
  sums = (to_ends, *_from_middle(*to_pairs))
  # A ReLU is what it is given, times whether that is positive.
  to_weights: Any = sum(jnp.einsum('bijf,bijf->f', value, part)
                        for value, part in zip(residuals, sums))
  return tuple(weights * part for part in sums) + (to_weights,)


relu_product.defvjp(_relu_product_fwd, _relu_product_bwd)


@jax.custom_vjp
def max_plus(first: _Array, second: _Array, is_node: _Array) -> _Array:
  """The product of matrices with maxima for sums, and sums for products.

  Of negative lengths it is the length of the shortest path by way of a third
  node. Of several maxima the gradient goes to the first.

  Args:
    first: [B, N, N, F], of (i, k).
    second: [B, N, N, F], of (k, j).
    is_node: [B, N], which nodes k there are.

  Returns:
    [B, N, N, F], the maximum over k of first[b, i, k, f] + second[b, k, j, f].
  """
  return _max_plus(first, second, is_node)[0]


def _max_plus(first: _Array, second: _Array, is_node: _Array
              ) -> Tuple[_Array, _Array]:
  """The maxima, and of which k they are; -1 if there is none."""
  def of_node(best, row):
    number, pairs, exists = row
    maxima, where = best
    values = jnp.where(exists[:, None, None, None], _sum(0, *pairs), _LEAST)
    is_more = values > maxima
    return (jnp.where(is_more, values, maxima),
            jnp.where(is_more, number, where)), None

  start = (jnp.full_like(first, _LEAST),
           jnp.full(first.shape, -1, jnp.int32))
  return jax.lax.scan(
      of_node, start, (jnp.arange(first.shape[1], dtype=jnp.int32),
                       _by_middle(first, second), is_node.T))[0]


def _max_plus_fwd(first, second, is_node):
  maxima, where = _max_plus(first, second, is_node)
  return maxima, where


def _max_plus_bwd(where, cotangent):
  def of_node(number):
    part = jnp.where(where == number, cotangent, 0)
    return jnp.sum(part, axis=2), jnp.sum(part, axis=1)

  numbers = jnp.arange(where.shape[1], dtype=jnp.int32)
  return (*_from_middle(*jax.lax.map(of_node, numbers)), None)


max_plus.defvjp(_max_plus_fwd, _max_plus_bwd)


def _by_middle(first: _Array, second: _Array) -> Tuple[_Array, _Array]:
  """What three nodes have in common for each k: [K, B, I, F], [K, B, J, F]."""
  return jnp.moveaxis(first, 2, 0), jnp.moveaxis(second, 1, 0)


def _from_middle(first: _Array, second: _Array) -> Tuple[_Array, _Array]:
  return jnp.moveaxis(first, 0, 2), jnp.moveaxis(second, 0, 1)


def _sum(ends: Any, first: _Array, second: _Array) -> _Array:
  return ends + first[:, :, None] + second[:, None]
