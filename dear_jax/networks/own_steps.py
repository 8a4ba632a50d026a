# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""The table of steps that `dear_jax.register_step` has made known.

It needs neither Haiku nor CLRS, so that settings can be checked without them.
"""

from typing import Any, Callable, Dict, NamedTuple, Tuple

from dear_jax.networks import kinds

# Settings of a processor that a step is given if it has arguments of that name.
SETTINGS = ('use_ln', 'norm', 'nb_triplet_fts', 'nb_heads')

# What to say of a kind that nobody knows.
REMEDY = ('A step of your own has to be registered first: by '
          'dear_jax.register_step, or in the commands by --import=FILE.')


class OwnStep(NamedTuple):
  """A step, as it was registered."""
  make: Callable[..., Any]  # make(out_size, **settings) -> step
  settings: Tuple[str, ...]  # those of SETTINGS that it takes
  connectivity: str
  takes_edge_lists: bool


# By kind, such as 'dear_mean'.
REGISTERED: Dict[str, OwnStep] = kinds.registered


def describe(thing: Any) -> str:
  """Names a class or function, and where it comes from."""
  name = getattr(thing, '__qualname__', None) or repr(thing)
  return f'{getattr(thing, "__module__", None) or "?"}.{name}'


def is_same(one: Any, other: Any) -> bool:
  """Whether two classes or functions are the same, or the same defined anew.

  The latter is what running a cell of a notebook a second time does.
  """
  return one is other or (
      all(hasattr(x, '__qualname__') for x in (one, other))
      and describe(one) == describe(other)
      and '<lambda>' not in one.__qualname__)
