# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Haiku layers that the processors are made of."""

from typing import Sequence

import chex
import haiku as hk
import jax
import jax.numpy as jnp

_Array = chex.Array


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

  def _weights(self, input_size: int, dtype) -> _Array:
    return hk.get_parameter(
        'w', (input_size, self._output_size), dtype,
        init=hk.initializers.TruncatedNormal(stddev=input_size**-0.5))


class MessageMLP(hk.Module):
  """Linear layers with a layer norm and a ReLU before each of them."""

  def __init__(self, output_sizes: Sequence[int], name: str = 'message_mlp'):
    super().__init__(name=name)
    self._layers = [(layer_norm(f'norm_{i}'), hk.Linear(size, name=f'out_{i}'))
                    for i, size in enumerate(output_sizes)]

  def __call__(self, messages: _Array) -> _Array:
    for norm, linear in self._layers:
      messages = linear(jax.nn.relu(norm(messages)))
    return messages


def layer_norm(name: str) -> hk.LayerNorm:
  return hk.LayerNorm(axis=-1, create_scale=True, create_offset=True,
                      name=name)
