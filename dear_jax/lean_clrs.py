# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Lets `import clrs` leave TensorFlow alone until somebody asks for it.

CLRS imports TensorFlow and its data sets for two parts that nothing here uses,
`clrs.create_dataset` and its like and `clrs.clrs_text`; that takes seconds.
While `clrs` is imported, others stand in for these two and for TensorFlow. Then
they go, and what was left out is imported when it is first used, by its names:
`clrs.CLRSDataset` or `from clrs._src import dataset` are what they always were,
and so is TensorFlow for those who import it.

Nothing is done if TensorFlow or CLRS is there already.
"""

import importlib
import importlib.util
import sys
import types
from typing import Any, Dict, List, Mapping, Optional, Tuple

_TENSORFLOW = 'tensorflow'
_LEFT_OUT = ('clrs._src.dataset', 'clrs._src.clrs_text')


def install() -> None:
  """Makes the next `import clrs` a lean one."""
  if 'clrs' not in sys.modules and not any(
      isinstance(finder, _Finder) for finder in sys.meta_path):
    sys.meta_path.insert(0, _Finder())


class _Finder:
  """Finds clrs as everybody else does, and changes how it is executed."""

  def find_spec(self, name, path=None, target=None):
    del path, target
    if name != 'clrs':
      return None
    sys.meta_path.remove(self)
    spec = importlib.util.find_spec(name)
    if _TENSORFLOW in sys.modules or spec is None or spec.loader is None:
      return spec
    loader = spec.loader
    execute = loader.exec_module

    def execute_lean(module):
      del loader.exec_module  # that of its class is there again
      _execute(execute, module)

    # Not a loader of our own: there is more that is asked of one.
    loader.exec_module = execute_lean  # type: ignore[method-assign]
    return spec


def _execute(execute, module: types.ModuleType) -> None:
  """Executes clrs with others in place of what is left out."""
  others: List[_StandIn] = [_Tensorflow(_TENSORFLOW), *map(_Later, _LEFT_OUT)]
  for other in others:
    sys.modules[other.__name__] = other
  try:
    execute(module)
  finally:
    for other in others:
      other.is_over = True
      if sys.modules.get(other.__name__) is other:
        del sys.modules[other.__name__]
  homes: Dict[str, Tuple[str, Optional[str]]] = {}
  for name, value in list(vars(module).items()):
    if isinstance(value, _Later):
      homes[name] = value.__name__, None
    elif isinstance(value, _Name):
      homes[name] = value.module, value.name
    else:
      continue
    delattr(module, name)
  _import_when_asked(module, homes)


def _import_when_asked(
    module: types.ModuleType,
    homes: Mapping[str, Tuple[str, Optional[str]]]) -> None:
  """Gives a module the names that others have, without importing these."""
  otherwise = vars(module).get('__getattr__')

  def get(name: str):
    if name in homes:
      home, inner = homes[name]
      value: Any = importlib.import_module(home)
      value = value if inner is None else getattr(value, inner)
      setattr(module, name, value)
      return value
    if otherwise is not None:
      return otherwise(name)
    raise AttributeError(
        f'module {module.__name__!r} has no attribute {name!r}')

  module.__getattr__ = get  # type: ignore[method-assign]
  module.__dir__ = lambda: sorted(  # type: ignore[method-assign]
      {*vars(module), *homes})


class _Name:
  """A name in a module that is not imported yet."""

  def __init__(self, module: str, name: str):
    self.module = module
    self.name = name


class _StandIn(types.ModuleType):
  """Stands for a module while CLRS is imported."""

  is_over = False


class _Later(_StandIn):
  """Stands for a module of CLRS."""

  def __getattr__(self, name: str):
    if name.startswith('__'):
      raise AttributeError(name)
    if self.is_over:
      return getattr(importlib.import_module(self.__name__), name)
    return _Name(self.__name__, name)


class _Nothing:
  """Has no instances."""


class _Tensorflow(_StandIn):
  """Stands for TensorFlow in those modules of CLRS that know it.

  They ask whether something is a tensor, which nothing can be as long as nobody
  has imported TensorFlow.
  """

  def __getattr__(self, name: str):
    if name.startswith('__') or not self.is_over:
      raise AttributeError(name)
    if name == 'Tensor' and self.__name__ not in sys.modules:
      return _Nothing
    return getattr(importlib.import_module(self.__name__), name)
