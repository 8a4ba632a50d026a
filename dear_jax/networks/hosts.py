# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""An equilibrium in a net of CLRS: asked once, and told what the task is.

CLRS's nets call their processor once for every hint, and hand over what it
returned the last time. They do so with hints off, too. Of an equilibrium the
number of these calls must not be seen: neither in its state, nor in what is
decoded, which in CLRS are the last state and the one before. A processor sees
the net that makes it, and changes how that one net takes its steps.
"""

import inspect
from typing import Any, Optional
import warnings

import clrs
from dear_jax.networks import clrs_private
from dear_jax.networks import specs
from haiku._src import base as hk_base
import jax.numpy as jnp

_REPEATED = (
    'This net of CLRS takes a step for every hint. A DEAR finds one '
    'equilibrium, which has no steps, and ')
_ENCODED = _REPEATED + (
    'encode_hints=True gives it another hint in every step: it is solved anew '
    'for each, and the number of steps of the algorithm reaches the result. '
    'Pass encode_hints=False and decode_hints=False, which is '
    "--hint_mode=none in CLRS's run.py.")
_DECODED = _REPEATED + (
    'decode_hints=True trains that one equilibrium to show the hints of all '
    'steps at once. The outputs do not depend on the number of steps, but the '
    'loss does. Pass decode_hints=False, which is --hint_mode=none in '
    "CLRS's run.py.")
_LSTM = _REPEATED + (
    'use_lstm=True changes it once more in every step, so that the number of '
    'steps of the algorithm reaches the result. Pass use_lstm=False.')
_CHUNKED = (
    "CLRS's chunked training cuts samples into pieces of time. An equilibrium "
    'has no time: a DEAR is solved for every slice of a chunk, the first of '
    'which has the inputs of another sample. Train with '
    "clrs.models.BaselineModel, which is --nochunked_training in CLRS's "
    'run.py.')
_UNKNOWN = (
    'This version of CLRS has another net than dear_jax knows. Take the hints '
    'out of all batches with dear_jax.drop_hints, or the number of steps of '
    'the algorithm may reach the result, and on tasks without a graph pass '
    'fully_connected=True to get_processor_factory.')


class Host:
  """A net of CLRS whose further steps leave its equilibrium as it is.

  The first step of a batch is CLRS's own. Unless hints are encoded, or there is
  an LSTM, all others would find the same again: they are left out. The others
  are taken with a state of zeros, and a warning.
  """

  def __init__(self, net: clrs_private.Net):
    self._net = net
    self._is_chunked = isinstance(net, clrs_private.NetChunked)
    self._spec: Optional[clrs.Spec] = None
    self._first: Any = None  # what the first step gave to be stacked
    # pylint: disable=protected-access
    self._step: Any = getattr(net, '_msg_passing_step', None)
    if self._step is None or not {'mp_state', 'spec'} <= set(
        inspect.signature(self._step).parameters):
      _warn(_UNKNOWN)
      return
    # Of this net only, which is made anew whenever a program is traced.
    setattr(net, '_msg_passing_step', self._take_step)

  @property
  def has_graph(self) -> bool:
    """Whether the task at hand has one; if nobody knows, take it for one."""
    return self._spec is None or specs.has_graph(self._spec)

  def _take_step(self, *args, **kwargs):
    """In place of the net's `_msg_passing_step`."""
    call = inspect.signature(self._step).bind(*args, **kwargs)
    given = call.arguments
    self._spec = given['spec']
    is_first = given.get('first_step', False)
    if self._is_chunked:
      _warn(_CHUNKED)
    elif is_first:
      self._warn_of_hints(given['hints'])
    elif not self._net.encode_hints and not self._net.use_lstm:
      return given['mp_state'], self._first
    state = given['mp_state']
    if state.hiddens is not None:
      given['mp_state'] = state.replace(hiddens=jnp.zeros_like(state.hiddens))
    state, stacked = self._step(*call.args, **call.kwargs)
    if is_first:
      self._first = stacked
    return state, stacked

  def _warn_of_hints(self, hints) -> None:
    if not hints or len(hints[0].data) <= 2:
      return  # CLRS takes a single step, as after `drop_hints`
    if self._net.encode_hints:
      _warn(_ENCODED)
    elif self._net.decode_hints:
      _warn(_DECODED)
    if self._net.use_lstm:
      _warn(_LSTM)


def find() -> Optional[Host]:
  """The net of CLRS that is being built, unless it is one of ours."""
  # Haiku has no public name for the modules that are being called.
  for state in hk_base.current_frame().module_stack:
    if isinstance(state.module, clrs_private.Net):
      return (None if getattr(state.module, 'solves_once', False)
              else Host(state.module))
  return None


def _warn(message: str) -> None:
  # Python shows the same warning of the same place once.
  warnings.warn(message, stacklevel=2)
