# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""The plain files of a run folder: settings, metrics, results.

A file is replaced as a whole or not at all, and whatever goes wrong with one
is a RunError, in a sentence that names it.
"""

import json
import math
import os
import pathlib
import re
import sys
from typing import Any, Callable, Collection, Mapping, Optional, Union

PathLike = Union[str, os.PathLike]

# How tensorstore, which writes the arrays of a checkpoint, passes on an error
# of the system.
_OS_ERROR_CODE = re.compile(r"os_error_code='(\d+)'")


class RunError(ValueError):
  """A run folder does not allow what was asked of it."""


def tell(text: str) -> None:
  """Says something to the user that is no reason to stop."""
  print(text, file=sys.stderr, flush=True)


def reason(error: BaseException) -> str:
  """What an error says, short enough for a part of a sentence."""
  text = str(error).strip()
  code = _OS_ERROR_CODE.search(text)
  if code:
    return os.strerror(int(code.group(1)))
  if isinstance(error, OSError) and error.strerror:
    return error.strerror
  lines = text.splitlines()
  return lines[0][:200] if lines else type(error).__name__


def read_json(workdir: PathLike, name: str) -> Any:
  """Reads a JSON file of a run folder; a RunError if it cannot."""
  path = pathlib.Path(workdir) / name
  try:
    return json.loads(path.read_text(encoding='utf-8'))
  except NotADirectoryError as e:
    raise RunError(f'{os.fspath(workdir)} is a file, not a run folder.') from e
  except FileNotFoundError as e:
    raise RunError(f'{os.fspath(workdir)} is not a run folder: it has no '
                   f'{name}.') from e
  except (OSError, ValueError) as e:
    raise RunError(f'{path} cannot be read ({reason(e)}).') from e


def write_json(workdir: PathLike, name: str, value: Any) -> None:
  """Writes a JSON file of a run folder, as a whole or not at all.

  Args:
    workdir: The run folder.
    name: Of the file.
    value: What it is to hold; NaN and infinity become null.

  Raises:
    RunError: if it cannot be written. The file is then as it was before.
  """
  _replace(pathlib.Path(workdir) / name,
           json.dumps(_strict(value), indent=2) + '\n')


def remove(workdir: PathLike, name: str) -> None:
  """Removes a file of a run folder, if it is there."""
  path = pathlib.Path(workdir) / name
  try:
    path.unlink(missing_ok=True)
  except OSError as e:
    raise RunError(f'{path} cannot be removed ({reason(e)}).') from e


def check_settings(workdir: PathLike, stored: Any, config: Mapping[str, Any],
                   may_change: Collection[str],
                   complete: Callable[[Any], Any] = lambda settings: settings
                   ) -> None:
  """Raises a RunError if a run cannot go on with these settings.

  Args:
    workdir: The run folder.
    stored: The settings that the run has had so far.
    config: Those that it is to have from now on.
    may_change: The names of those that may differ.
    complete: As in `checkpoints.check_folder`.
  """
  if not isinstance(stored, Mapping):
    raise RunError(f'The config.json in {os.fspath(workdir)} holds no '
                   'settings.')
  try:
    stored = json.loads(json.dumps(complete(stored)))
  except (TypeError, ValueError) as e:
    raise RunError(f'The config.json in {os.fspath(workdir)} holds settings '
                   f'that cannot be used ({reason(e)}).') from e
  # Tuples become lists, as in the file.
  for name, value in json.loads(json.dumps(config)).items():
    # A setting that is younger than the run had no effect on it.
    if name not in may_change and stored.get(name, value) != value:
      raise RunError(
          f'The run in {os.fspath(workdir)} has {name}={stored[name]!r}, which '
          f'cannot become {value!r} when it is resumed.')


class MetricsFile:
  """metrics.jsonl, one JSON object a line. A context manager."""

  NAME = 'metrics.jsonl'

  def __init__(self, workdir: PathLike, step: int,
               notify: Callable[[str], None] = tell):
    """Opens the file.

    Args:
      workdir: The run folder.
      step: Where the run stands. What the file holds of later steps, or of a
        final evaluation, is dropped: the run has not been there.
      notify: Called with a sentence if there were lines that make no sense.
        A last line that was cut short by a kill is none of them.

    Raises:
      RunError: if the file cannot be read or written.
    """
    self._path = path = pathlib.Path(workdir) / self.NAME
    try:
      lines = path.read_text(encoding='utf-8', errors='replace').split('\n')
    except FileNotFoundError:
      lines = ['']
    except OSError as e:
      raise RunError(f'{path} cannot be read ({reason(e)}).') from e
    steps = [_step_of(line) for line in lines]
    # What comes after the last line break was cut short, or is nothing.
    senseless = sum(x is None for line, x in zip(lines[:-1], steps)
                    if line.strip())
    _replace(path, ''.join(line + '\n' for line, x in zip(lines, steps)
                           if x is not None and x <= step))
    if senseless:
      what = '1 line' if senseless == 1 else f'{senseless} lines'
      notify(f'Left out {what} of {path} that had no step or could not be '
             'read.')
    try:
      self._file = path.open('a', encoding='utf-8')
    except OSError as e:
      raise self._error(e) from e

  def __enter__(self) -> 'MetricsFile':
    return self

  def __exit__(self, kind, *unused_exc_info):
    try:
      self._file.close()
    except OSError as e:  # what a full disk has no room for
      if kind is None:
        raise self._error(e) from e

  def write(self, values: Mapping[str, Any]) -> None:
    try:
      self._file.write(json.dumps(_strict(values)) + '\n')
      self._file.flush()
    except OSError as e:
      raise self._error(e) from e

  def _error(self, error: OSError) -> RunError:
    return RunError(f'{self._path} cannot be written ({reason(error)}).')


def _step_of(line: str) -> Optional[float]:
  """The step of a line of metrics, infinity of the final evaluation's.

  Args:
    line: Of metrics.jsonl.

  Returns:
    None if the line was cut short or is not one of metrics.
  """
  try:
    values = json.loads(line)
  except ValueError:
    return None
  step = values.get('step') if isinstance(values, dict) else None
  if isinstance(step, bool) or not isinstance(step, int):
    return None
  return math.inf if values.get('final', False) else step


def _strict(value: Any) -> Any:
  """Replaces what JSON has no word for, NaN and infinity, by null."""
  if isinstance(value, Mapping):
    return {k: _strict(v) for k, v in value.items()}
  if isinstance(value, (list, tuple)):
    return [_strict(v) for v in value]
  if isinstance(value, float) and not math.isfinite(value):
    return None
  return value


def _replace(path: pathlib.Path, text: str) -> None:
  """Writes a file so that a kill leaves either the old or the new one."""
  temporary = path.with_name(path.name + '.tmp')
  try:
    with temporary.open('w', encoding='utf-8') as file:
      file.write(text)
      file.flush()
      os.fsync(file.fileno())  # or the new name may outlive the new content
    os.replace(temporary, path)
  except OSError as e:
    try:
      temporary.unlink(missing_ok=True)
    except OSError:
      pass
    raise RunError(f'{path} cannot be written ({reason(e)}).') from e
