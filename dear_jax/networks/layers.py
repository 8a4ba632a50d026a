# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Haiku layers that the processors are made of."""

import functools
from typing import Any, Callable, NamedTuple, Sequence, Tuple

import haiku as hk
import jax
import jax.numpy as jnp

_Array = jax.Array

BIG_NUMBER = 1e6  # as CLRS has it


class LowRank(NamedTuple):
  """A product of two matrices that is never taken.

  Features of edges are encoded from one or two numbers. A linear layer on top
  of that is a layer on these numbers, with hardly any cost.
  """
  inputs: _Array  # [E, K], with a small K
  weights: _Array  # [K, F]

  def apply(self, linear: Callable[[_Array], _Array]) -> _Array:
    """What a linear layer makes of it, [E, F]."""
    bias = linear(jnp.zeros_like(self.weights[:1]))
    return self.inputs @ (linear(self.weights) - bias) + bias


class SplitLinear(hk.Module):
  """A linear layer on `[constant, state]`, applied to either half alone.

  Has the parameters and the initialisation of one `hk.Linear` on the
  concatenation, but the product with the constant half can be taken once,
  outside of a solver's loop. The bias goes with the constant half.
  """

  def __init__(self, output_size: int, name: str):
    super().__init__(name=name)
    self._output_size = output_size

  def constant(self, inputs: _Array, state_size: int) -> _Array:
    """The part of the output that the constant half contributes."""
    weights = self._weights(inputs.shape[-1] + state_size, inputs.dtype)
    bias = hk.get_parameter('b', (self._output_size,), inputs.dtype,
                            init=jnp.zeros)
    return inputs @ weights[:inputs.shape[-1]] + bias

  def state(self, inputs: _Array, constant_size: int) -> _Array:
    """The part of the output that the state contributes."""
    weights = self._weights(constant_size + inputs.shape[-1], inputs.dtype)
    return inputs @ weights[constant_size:]

  def state_weights(self, constant_size: int, state_size: int, dtype
                    ) -> _Array:
    """The weights of `state`, to be multiplied with elsewhere."""
    return self._weights(constant_size + state_size, dtype)[constant_size:]

  def _weights(self, input_size: int, dtype) -> _Array:
    return hk.get_parameter(
        'w', (input_size, self._output_size), dtype,
        init=hk.initializers.TruncatedNormal(stddev=input_size**-0.5))


class Linear(hk.Linear):
  """A linear layer that tells its parameters."""

  def parameters(self, input_size: int, dtype) -> Tuple[_Array, _Array]:
    """Weights and bias, to be used elsewhere."""
    weights = hk.get_parameter(
        'w', (input_size, self.output_size), dtype,
        init=hk.initializers.TruncatedNormal(stddev=input_size**-0.5))
    bias = hk.get_parameter('b', (self.output_size,), dtype, init=jnp.zeros)
    return weights, bias


class MessageMLP(hk.Module):
  """Linear layers with a layer norm and a ReLU before each of them."""

  def __init__(self, output_sizes: Sequence[int], name: str = 'message_mlp'):
    super().__init__(name=name)
    self._layers = [(layer_norm(f'norm_{i}'), hk.Linear(size, name=f'out_{i}'))
                    for i, size in enumerate(output_sizes)]

  def __call__(self, messages: _Array) -> _Array:
    # As rows of a matrix: on a CPU the gradients of weights are faster so.
    rows = jnp.reshape(messages, (-1, messages.shape[-1]))
    for norm, linear in self._layers:
      rows = linear(jax.nn.relu(norm(rows)))
    return jnp.reshape(rows, messages.shape[:-1] + rows.shape[-1:])


class Granola(hk.Module):
  """A layer norm whose scale and shift are made by message passing.

  Eliasof et al., *GRANOLA: Adaptive Normalization for Graph Neural Networks*
  (2024). The net sees the state and random features. These are drawn by
  `prepare`, once a solve: a step that draws new ones every time, as in the
  paper's code, has no fixed point.
  """

  NB_RANDOM_FEATURES = 128

  def __init__(self, size: int, name: str = 'granola'):
    super().__init__(name=name)
    self._size = size
    self._own = SplitLinear(size, name='own')
    self._neighbours = SplitLinear(size, name='neighbours')
    self._norm = hk.LayerNorm(axis=-1, create_scale=False,
                              create_offset=False, name='norm')
    self._scale = hk.Linear(size, b_init=jnp.ones, name='scale')
    self._shift = hk.Linear(size, name='shift')

  def prepare(self, node_fts: _Array, nb_neighbours: _Array) -> Any:
    """Draws the random features and does what can be done with them alone.

    Args:
      node_fts: [B, N, F], for its shape.
      nb_neighbours: [B, N, 1].

    Returns:
      What a call needs.
    """
    features = jax.random.normal(
        hk.next_rng_key(), node_fts.shape[:-1] + (self.NB_RANDOM_FEATURES,),
        node_fts.dtype)
    return dict(own=self._own.constant(features, self._size),
                neighbours=self._neighbours.constant(features, self._size),
                nb_neighbours=nb_neighbours)

  def __call__(self, values: _Array, prepared: Any,
               sum_of_neighbours: Callable[[_Array], _Array]) -> _Array:
    """Normalises [B, N, F]."""
    state = lambda layer: layer.state(values, self.NB_RANDOM_FEATURES)
    received = sum_of_neighbours(
        prepared['neighbours'] + state(self._neighbours))
    hidden = jax.nn.relu(prepared['own'] + state(self._own)
                         + received / prepared['nb_neighbours'])
    return self._scale(hidden) * self._norm(values) + self._shift(hidden)


@jax.custom_jvp
def masked_max(values: _Array, mask: _Array) -> _Array:
  """The maximum over the second axis, where the mask allows.

  Entries that tie share the derivative, as those of `jnp.max` do. The virtual
  nodes of a Cayley graph do tie: they start alike.

  Args:
    values: [B, M, N, F].
    mask: [B, M, N]; where it is false everywhere, the maximum is -1e6 as in
      CLRS.

  Returns:
    [B, N, F].
  """
  return jnp.max(jnp.where(mask[..., None], values, -BIG_NUMBER), axis=1)


@masked_max.defjvp
def _masked_max_jvp(primals, tangents):
  """A sum with weights that no derivative reaches.

  JAX's own rule counts ties and divides by the count in every product with the
  derivative. Weights are made once, before a solver's loop.
  """
  values, mask = primals
  maxima = masked_max(values, mask)
  is_maximum = mask[..., None] & (values == maxima[:, None])
  weights = is_maximum / _at_least_one(jnp.sum(
      is_maximum, axis=1, keepdims=True, dtype=values.dtype))
  return maxima, jnp.sum(weights * tangents[0], axis=1)


@functools.partial(jax.custom_jvp, nondiff_argnums=(2,))
def segment_max(values: _Array, segments: _Array, num_segments: int) -> _Array:
  """The maxima of rows that belong together; as `masked_max`.

  Args:
    values: [E, F].
    segments: [E], to which of the segments a row belongs, in ascending order;
      rows of a segment that there is none of are left out.
    num_segments: How many segments there are. The maximum of one without rows
      is -1e6, as that of `masked_max`.

  Returns:
    [num_segments, F].
  """
  maxima = jax.ops.segment_max(values, segments, num_segments + 1,
                               indices_are_sorted=True)[:num_segments]
  return jnp.maximum(maxima, -BIG_NUMBER)


@segment_max.defjvp
def _segment_max_jvp(num_segments, primals, tangents):
  values, segments = primals
  maxima = segment_max(values, segments, num_segments)
  is_row = (segments < num_segments)[:, None]
  is_maximum = is_row & (values == maxima.at[segments].get(mode='clip'))
  add = lambda rows: jax.ops.segment_sum(
      rows, segments, num_segments + 1, indices_are_sorted=True)[:num_segments]
  counts = _at_least_one(add(is_maximum.astype(values.dtype)))
  weights = is_maximum / counts.at[segments].get(mode='clip')
  return maxima, add(weights * tangents[0])


def _at_least_one(counts: _Array) -> _Array:
  return jnp.maximum(counts, 1)


@jax.custom_vjp
def max_product(pairs: _Array, nodes: _Array, weights: _Array) -> _Array:
  """A linear layer with one output on the maxima of all pairs and nodes.

  It is what CLRS' decoder of the pointers of edges ends with. Node by node, the
  maxima are never all there at once: they would be 16 times the messages at
  size 16, and much slower.

  Args:
    pairs: [B, N, N, F].
    nodes: [B, K, F].
    weights: [F].

  Returns:
    [B, N, N, K], the sum over f of w[f] * max(pairs[b, i, j, f],
    nodes[b, k, f]).
  """
  def of_node(node):
    maxima = jnp.maximum(pairs, node[:, None, None])
    rows = jnp.reshape(maxima, (-1, maxima.shape[-1]))
    return jnp.reshape(rows @ weights[:, None], maxima.shape[:-1])

  return jnp.moveaxis(jax.lax.map(of_node, jnp.moveaxis(nodes, 1, 0)), 0, -1)


def _max_product_fwd(pairs, nodes, weights):
  return max_product(pairs, nodes, weights), (pairs, nodes, weights)


def _max_product_bwd(residuals, cotangent):
  """To whichever is greater, whole; to the pairs if they are equal."""
  pairs, nodes, weights = residuals

  def of_node(to_pairs, node_and_cotangent):
    node, cotangent = node_and_cotangent  # [B, F], [B, N, N]
    part = jnp.where(pairs >= node[:, None, None], cotangent[..., None], 0)
    rest = jnp.sum(cotangent, axis=(1, 2))[:, None] - jnp.sum(part, axis=(1, 2))
    return to_pairs + part, rest

  to_pairs, to_nodes = jax.lax.scan(
      of_node, jnp.zeros_like(pairs),
      (jnp.moveaxis(nodes, 1, 0), jnp.moveaxis(cotangent, -1, 0)))
  to_nodes = jnp.moveaxis(to_nodes, 0, 1)
  to_weights = (jnp.einsum('bijf,bijf->f', pairs, to_pairs)
                + jnp.einsum('bkf,bkf->f', nodes, to_nodes))
  return weights * to_pairs, weights * to_nodes, to_weights


max_product.defvjp(_max_product_fwd, _max_product_bwd)


def layer_norm(name: str) -> hk.LayerNorm:
  return hk.LayerNorm(axis=-1, create_scale=True, create_offset=True,
                      name=name)
