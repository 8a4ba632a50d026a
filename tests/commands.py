# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Calls the programs of experiments/ without a process for each call."""

import contextlib
import io
import os
import pathlib
import sys
from unittest import mock

from absl import app
from absl import flags
from absl.testing import flagsaver

EXPERIMENTS = pathlib.Path(__file__).resolve().parent.parent / 'experiments'

# Of libraries. All flags that come later are those of some program.
_COMMON = frozenset(flags.FLAGS)


def _programs():
  return {name: flags.FLAGS[name] for name in flags.FLAGS
          if name not in _COMMON}


@contextlib.contextmanager
def _flags_of_one_program(own):
  """Hides the flags of other programs; new ones are added to `own`."""
  others = _programs()
  _swap(others, own)
  try:
    yield
  finally:
    own.update(_programs())
    _swap(own, others)


def _swap(old, new):
  for name in old:
    delattr(flags.FLAGS, name)
  for name, flag in new.items():
    flags.FLAGS[name] = flag


class Command:
  """A program in this process: it need not wait for TensorFlow and others.

  Attributes:
    scope: The program's global names.
  """

  def __init__(self, script):
    path = EXPERIMENTS / script
    self._path = str(path)
    self._flags = {}
    if str(EXPERIMENTS) not in sys.path:
      sys.path.insert(0, str(EXPERIMENTS))  # as when it is run as a program
    self.scope = {'__name__': '__main__', '__file__': self._path}
    code = compile(path.read_text(encoding='utf-8'), self._path, 'exec')
    with _flags_of_one_program(self._flags):
      with mock.patch.object(app, 'run') as run:
        exec(code, self.scope)  # pylint:disable=exec-used
    (self._main,), options = run.call_args
    self._parse = options['flags_parser']

  def __call__(self, *args):
    """Returns the exit code, stdout and stderr of a command line."""
    argv = [self._path, *map(str, args)]
    out, err, code = io.StringIO(), io.StringIO(), 0
    with (contextlib.redirect_stdout(out), contextlib.redirect_stderr(err),
          mock.patch.object(sys, 'argv', argv),
          mock.patch.dict(os.environ), self._own_flags()):
      try:
        self._main(self._parse(argv))
      except SystemExit as e:
        code = e.code
    return code, out.getvalue(), err.getvalue()

  @contextlib.contextmanager
  def parsed(self, *args):
    """Within it, parts of the program see the flags of a command line."""
    with self._own_flags():
      self._parse([self._path, *map(str, args)])
      yield

  @contextlib.contextmanager
  def _own_flags(self):
    with _flags_of_one_program(self._flags), flagsaver.flagsaver():
      yield
