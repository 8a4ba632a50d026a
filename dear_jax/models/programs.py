# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Compiled programs of a model, some of them made before they are needed.

A program is of one shape, and takes seconds to make. A thread of its own can
have that done while others run: what it makes is found by the shapes of a
batch, and is the very program that would have been made otherwise.
"""

import threading
from typing import Any, Callable, Dict, Hashable, Optional, Sequence, Tuple

import clrs
import jax

# Held while a function is traced. That is Python, of which only one thread runs
# at a time: two at once would both be done when the second of them could be,
# and whoever waits for the first would wait twice as long.
_TRACING = threading.Lock()


class Program:
  """A compiled function of a batch and other arguments: one program a shape.

  Arguments that are neither the batch nor static have the same shapes in all
  calls.
  """

  def __init__(self, fun: Callable[..., Any], *, batch: int,
               static: Sequence[int] = (), donate: Sequence[int] = (),
               jit: Callable[..., Any] = jax.jit):
    """Compiles nothing yet.

    Args:
      fun: The function.
      batch: Which of its arguments is the batch.
      static: Those that are part of the program.
      donate: Those whose memory the results may take.
      jit: What compiles: `jax.jit`, with arguments of its own.
    """
    self._batch = batch
    self._static = tuple(static)
    self._jitted: Any = jit(fun, static_argnums=self._static,
                            donate_argnums=tuple(donate))
    self._ahead: Dict[Hashable, jax.stages.Compiled] = {}

  def __call__(self, *args: Any) -> Any:
    # Who compiles nothing ahead pays for no look at the shapes.
    compiled = self._ahead.get(self._key(args)) if self._ahead else None
    if compiled is None:
      return self._jitted(*args)
    return compiled(*(x for i, x in enumerate(args) if i not in self._static))

  def compile(self, *args: Any,
              traced: Optional[threading.Event] = None) -> None:
    """Makes the program of a call, which may be one with shapes for arrays.

    Any thread may do so, but not two of them the same.

    Args:
      *args: Those of the call.
      traced: Is set when only XLA is left to be waited for, or on an error.
    """
    try:
      key = self._key(args)
      if key in self._ahead:
        return
      with _TRACING:
        lowered = self._jitted.lower(*args)
    finally:
      if traced is not None:
        traced.set()
    self._ahead[key] = lowered.compile()

  def trace(self, *args: Any) -> Any:
    """As that of a `jax.jit`."""
    return self._jitted.trace(*args)

  def lower(self, *args: Any) -> jax.stages.Lowered:
    """As that of a `jax.jit`."""
    return self._jitted.lower(*args)

  def _cache_size(self) -> int:
    """How many programs there are; as that of a `jax.jit`."""
    return self._jitted._cache_size() + len(self._ahead)

  def _key(self, args: Tuple[Any, ...]) -> Hashable:
    leaves, treedef = jax.tree_util.tree_flatten(args[self._batch])
    return (treedef, tuple((x.shape, x.dtype) for x in leaves),
            tuple((i, args[i]) for i in self._static if i < len(args)))


class CompilesAhead:
  """For models whose programs can be made in the background."""

  # Of the model that this is a part of.
  jitted_feedback: Any
  jitted_evaluate: Any
  _device_params: Any
  _device_opt_state: Any
  _devices: Any
  _index: Any
  _batch: Any
  _extra: Any

  @property
  def compiles_ahead(self) -> bool:
    """Whether `compile_feedback` and `compile_evaluate` are of use.

    On many devices or hosts results say where they are only once there are
    some, and whoever looks for faults has programs run in another way.
    """
    is_alone = self._devices.are_one and jax.process_count() == 1
    return is_alone and not any(
        getattr(jax.config, name) for name in (
            'jax_disable_jit', 'jax_debug_nans', 'jax_debug_infs'))

  def compile_feedback(self, feedback: clrs.Feedback, algorithm_index: int,
                       traced: Optional[threading.Event] = None) -> None:
    """Makes the program of `feedback` for such a batch; in any thread."""
    index = self._index(algorithm_index)
    batch = self._batch(feedback.features, feedback.outputs, index,
                        training=True)
    self.jitted_feedback.compile(
        _like(self._device_params), jax.random.PRNGKey(0), batch,
        self._extra(), _like(self._device_opt_state), index, traced=traced)

  def compile_evaluate(self, feedback: clrs.Feedback,
                       algorithm_index: int,
                       with_spectral_radius: bool = False) -> None:
    """Makes the program of `evaluate` for such a batch; in any thread."""
    index = self._index(algorithm_index)
    batch = self._batch(feedback.features, feedback.outputs, index)
    self.jitted_evaluate.compile(
        _like(self._device_params), jax.random.PRNGKey(0), batch, index,
        with_spectral_radius)


def _like(tree: Any) -> Any:
  """Shapes and places of arrays, which may be gone by the time of a call."""
  return jax.tree_util.tree_map(
      lambda x: jax.ShapeDtypeStruct(
          x.shape, x.dtype, sharding=x.sharding, weak_type=x.weak_type), tree)
