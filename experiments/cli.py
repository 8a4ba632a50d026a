# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""What the command lines of all experiments have in common."""

import contextlib
import functools
import importlib
import importlib.util
import json
import os
import re
import sys
import traceback
from typing import Optional

from absl import app
from absl import flags
from absl import logging

# A flag that is defined here is one of the command that asks for it.
flags.disclaim_key_flags()

# What Python says of a text that should be a number.
_IN_PLAIN_WORDS = {
    'invalid literal for int.*': 'it must be a whole number.',
    'could not convert string to float.*': 'it must be a number.'}


def fail(message: str, code: int = 2):
  """Ends the program with one line on stderr."""
  print(f'{os.path.basename(sys.argv[0])}: {message}', file=sys.stderr)
  sys.exit(code)


def run(main, flags_parser=None):
  """Runs a command; Ctrl-C is answered in one line, whatever it was doing."""
  def safely(argv):
    try:
      main(argv)
    except KeyboardInterrupt:
      fail('aborted.', code=130)
  try:
    app.run(safely, flags_parser=flags_parser or parse_flags)
  except BrokenPipeError:  # such as by --help | head
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(1)


@contextlib.contextmanager
def failing(*errors, code=2):
  """Ends the program with one line on such errors, by default ValueErrors."""
  try:
    yield
  except errors or ValueError as e:
    fail(str(e).splitlines()[0], code)


def parse_flags(argv, positional=None, several=False):
  """Parses the command line; a mistake in it is answered in one line.

  Args:
    argv: The command line.
    positional: The name of the argument that is no flag, if there is one.
    several: Whether there can be more than one of these.

  Returns:
    What is left of the command line: the program and such arguments.
  """
  try:
    rest = flags.FLAGS(argv)
  except flags.Error as e:
    text = ' '.join(str(e).split())
    for python, plain in _IN_PLAIN_WORDS.items():
      text = re.sub(python, plain, text)
    fail(f'{text} (--help lists the flags.)')
  # Libraries log through absl at a level that app.run would make visible.
  logging.set_verbosity(logging.ERROR)
  count = 2 if positional else 1
  if len(rest) < count:
    fail(f'{positional} is missing. (--help tells more.)')
  if len(rest) > count and not several:
    fail(f'unexpected argument {rest[count]!r}: settings are given as '
         '--name=value.')
  return rest


parse_run_folder = functools.partial(parse_flags, positional='RUN_FOLDER')
parse_run_folders = functools.partial(parse_run_folder, several=True)


def define(setting, text):
  """Defines the flag of a setting of runs; None is that it is not given."""
  kinds = {int: flags.DEFINE_integer, Optional[int]: flags.DEFINE_integer,
           float: flags.DEFINE_float, Optional[float]: flags.DEFINE_float,
           bool: flags.DEFINE_boolean}
  return kinds.get(setting.type, flags.DEFINE_string)(setting.flag, None, text)


def define_import():
  """Defines --import, for commands that know steps and tasks by their names."""
  return flags.DEFINE_multi_string(
      'import', [], 'Python file or module to import first, which registers '
      'steps or tasks of your own by dear_jax.register_step or '
      'dear_jax.register_task; several are separated by commas',
      allow_override=True)  # several commands may be read into one process


def import_parts():
  """Imports what --import names; a mistake is answered in one line."""
  for text in flags.FLAGS['import'].value:
    for name in filter(None, map(str.strip, text.split(','))):
      _import(name)


def imports():
  """The flags that import the same in another command."""
  return [f'--import={text}' for text in flags.FLAGS['import'].value]


def _import(name):
  """Imports a module, or a file under the name that it would have as one."""
  module, path = name, None
  if name.endswith('.py'):
    path = os.path.realpath(os.path.expanduser(name))
    module = os.path.basename(path)[:-len('.py')]
    if not os.path.isfile(path):
      fail(f'--import={name}: there is no such file.')
    present = sys.modules.get(module)
    if present is not None:
      if os.path.realpath(getattr(present, '__file__', None) or '') == path:
        return
      fail(f'--import={name}: there is another module of the name {module}; '
           'give the file another one.')
  # At the end, so that nothing there takes the place of a library. A file finds
  # its neighbours, and a module may be in the folder that we are in.
  folder = os.path.dirname(path) if path else os.getcwd()
  if folder not in sys.path:
    sys.path.append(folder)
  with silence():
    import clrs  # noqa: F401, which the user's code would import aloud
  try:
    if path is None:
      importlib.import_module(module)
    else:
      spec = importlib.util.spec_from_file_location(module, path)
      sys.modules[module] = importlib.util.module_from_spec(spec)
      spec.loader.exec_module(sys.modules[module])
  except Exception as e:  # whatever the user's code raises
    sys.modules.pop(module, None)
    if isinstance(e, ModuleNotFoundError) and e.name and (
        module == e.name or module.startswith(f'{e.name}.')):
      fail(f'--import={name}: there is no module of this name, neither '
           'installed nor in this folder.')
    fail(f'--import={name}: {_where(e)}{type(e).__name__}: '
         f'{" ".join(str(e).split())}')


def _where(error):
  """The last line of code of the user's own that led to an error."""
  libraries = (os.path.dirname(__file__), os.path.dirname(importlib.__file__))
  for frame in reversed(traceback.extract_tb(error.__traceback__)):
    if not frame.filename.startswith(('<', *libraries)) and (
        f'{os.sep}dear_jax{os.sep}' not in frame.filename):
      return f'{os.path.basename(frame.filename)}, line {frame.lineno}: '
  return ''


@contextlib.contextmanager
def silence():
  """Hides what native libraries write to stderr while they are imported."""
  os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
  # CLRS imports TensorFlow, and that imports Keras unless it is the old one
  # that is asked for, which is not installed. Nothing here uses either.
  os.environ.setdefault('TF_USE_LEGACY_KERAS', '1')
  sys.stderr.flush()
  saved = os.dup(2)
  try:
    with open(os.devnull, 'w') as devnull:
      os.dup2(devnull.fileno(), 2)
    yield
  finally:
    os.dup2(saved, 2)
    os.close(saved)


def prepare():
  """Makes this process keep what it compiles, and the memory that it frees.

  All commands that compute have the same settings, so that their times can be
  compared; a library must not choose them for the process that it is used in.
  """
  from dear_jax.training import compile_cache
  from dear_jax.training import host_memory
  import jax
  compile_cache.enable_compilation_cache()
  if jax.default_backend() == 'cpu':
    host_memory.keep_freed_memory()


def need(extra, *libraries):
  """Fails unless libraries are installed, which an extra of dear-jax has."""
  for name in libraries:
    if importlib.util.find_spec(name) is None:
      fail(f"{name} is not installed: pip install 'dear-jax[{extra}]' gets it.",
           code=1)


def check_output(flag, path):
  """Fails unless a file can be written; `flag` is what names another."""
  parent = os.path.dirname(os.path.abspath(path))
  if not os.path.isdir(parent):
    fail(f'--{flag.name}={path}: there is no folder {parent}.')
  if os.path.isdir(path):
    fail(f'{path} is a folder; --{flag.name} has to name a file.')
  if not os.access(parent, os.W_OK):
    fail(f'{parent} cannot be written to; choose another --{flag.name}.')


def write_json(path, value):
  """Writes a JSON file; ends the program with one line if that fails."""
  with writing(path), open(path, 'w', encoding='utf-8') as f:
    json.dump(value, f, indent=1)


@contextlib.contextmanager
def writing(path):
  """Ends the program with one line if a file cannot be written."""
  try:
    yield
  except OSError as e:
    fail(f'{path} cannot be written ({e.strerror or e}).', code=1)


def progress(message):
  """One line on stderr that is overwritten by the next, on a terminal."""
  if sys.stderr.isatty():
    print(f'\r\x1b[K{message}', end='', file=sys.stderr, flush=True)
  elif message:
    print(message, file=sys.stderr, flush=True)


def print_table(head, rows):
  """Prints a table in Markdown on stdout."""
  print('| ' + ' | '.join(head) + ' |')
  print('|' + '---|' * len(head))
  for row in rows:
    print('| ' + ' | '.join(row) + ' |')
  print(flush=True)
