# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Where trained models are read from: run folders, files, this library."""

import dataclasses
import importlib.resources
import json
import os
import pathlib
import sys
from typing import Any, Dict, NamedTuple, Optional, Union
import zipfile

from dear_jax.data import logs
from dear_jax.reasoning import cards
from dear_jax.training import checkpoints
from dear_jax.training import configs
from dear_jax.training import run_folder
import jax
import numpy as np

_Array = np.ndarray

SUFFIX = cards.PARAMETERS
FORMAT = 1


class Trained(NamedTuple):
  """A trained model.

  Attributes:
    config: Its settings.
    params: Its parameters, in single precision.
    made_by: The commands that made it, if they are known.
    is_limit: As in `builders.build_model`.
  """
  config: configs.TrainConfig
  params: Any
  made_by: Optional[str] = None
  is_limit: bool = False


def read(source: Union[str, os.PathLike]) -> Trained:
  """The settings and parameters of what `load` is asked for."""
  if not isinstance(source, (str, os.PathLike)):
    raise ValueError('load takes a name, a run folder or a file, got '
                     f'{type(source).__name__}.')
  path = pathlib.Path(source)
  if path.is_dir():
    with logs.quiet_absl():
      return Trained(configs.load_config(path),
                     _in_single(checkpoints.load_kept(path)))
  if path.is_file():
    return _read_file(path)
  if str(source) in cards.names():
    with importlib.resources.as_file(
        cards.data() / f'{source}{SUFFIX}') as shipped_file:
      return _read_file(shipped_file)
  raise ValueError(
      f'There is no run folder or file {str(source)!r}, and no reasoner of '
      f'that name comes with dear_jax (those are: {", ".join(cards.names())}).')


def warn(source: Union[str, os.PathLike]) -> None:
  """Says what a shipped reasoner is bad at, if that is what was loaded."""
  if str(source) in cards.names() and not pathlib.Path(source).exists():
    caution = cards.caution(cards.pretrained()[str(source)])
    if caution:
      print(f'dear_jax: {caution}', file=sys.stderr)


def _in_single(params: Any) -> Any:
  """Parameters of a model that was trained in double precision, rounded."""
  return jax.tree_util.tree_map(
      lambda x: np.asarray(x, np.float32 if x.dtype == np.float64 else None),
      params)


def in_half(value: _Array) -> _Array:
  """Numbers in half precision; a ValueError if one is too large for that."""
  if not np.issubdtype(value.dtype, np.floating):
    return value
  with np.errstate(over='ignore'):
    result = value.astype(np.float16)
  if not np.isfinite(result).all():
    raise ValueError(
        f'A parameter is {np.abs(value).max():g}, and half precision ends at '
        f'{np.finfo(np.float16).max:g}; save with half=False.')
  return result


def write(path: Union[str, os.PathLike], config: configs.TrainConfig,
          params: Any, made_by: Optional[str], half: bool = False,
          is_limit: bool = False) -> None:
  """Writes settings and parameters to a file, as `Reasoner.save` says."""
  path = pathlib.Path(path)
  if path.suffix != SUFFIX:
    raise ValueError(f'The name of the file must end in {SUFFIX}, got '
                     f'{path.name!r}.')
  entries = [(module, name) for module, values in params.items()
             for name in values]
  # Folders of the machine that it was trained on mean nothing elsewhere.
  config = dataclasses.replace(config, align_to=None, init_from=None,
                               data_cache=None)
  about = {'format': FORMAT, 'config': dataclasses.asdict(config),
           'made_by': made_by, 'is_limit': is_limit, 'parameters': entries}
  arrays: Dict[str, Any] = {
      f'parameter_{i}': np.asarray(params[module][name])
            for i, (module, name) in enumerate(entries)}
  if half:
    arrays = {name: in_half(x) for name, x in arrays.items()}
  temporary = path.with_name(path.name + '.tmp')
  try:
    with temporary.open('wb') as file:
      np.savez_compressed(file, about=json.dumps(about), **arrays)
    os.replace(temporary, path)
  finally:
    temporary.unlink(missing_ok=True)


def _read_file(path: pathlib.Path) -> Trained:
  """Reads what `Reasoner.save` wrote."""
  try:
    if not zipfile.is_zipfile(path):  # which numpy would take for a pickle
      raise ValueError('it is no .npz file')
    # Given a path, numpy would leave a damaged file open.
    with path.open('rb') as file, np.load(file, allow_pickle=False) as stored:
      about = json.loads(str(stored['about']))
      if about['format'] != FORMAT:
        raise ValueError(f'it has format {about["format"]}, not {FORMAT}')
      params: Dict[str, Dict[str, _Array]] = {}
      for i, (module, name) in enumerate(about['parameters']):
        value = stored[f'parameter_{i}']
        params.setdefault(module, {})[name] = (
            value.astype(np.float32) if value.dtype == np.float16 else value)
    try:
      config = configs.from_settings(about['config'])
    except ValueError as e:  # such as a step of one's own, not yet registered
      unknown = str(e)
    else:
      return Trained(config, _in_single(params), about.get('made_by'),
                     about.get('is_limit', False))
  # Of a damaged file, zipfile, zlib and numpy raise whatever they come upon.
  except Exception as e:
    raise ValueError(
        f'{path} was not written by Reasoner.save of this version of dear_jax, '
        f'or is damaged ({run_folder.reason(e)}).') from e
  raise ValueError(f'{path} cannot be used here ({unknown}).')
