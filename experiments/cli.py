# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""What the command lines of all experiments have in common."""

import contextlib
import os
import sys

from absl import flags


def fail(message: str, code: int = 2):
  """Ends the program with one line on stderr."""
  print(f'{os.path.basename(sys.argv[0])}: {message}', file=sys.stderr)
  sys.exit(code)


def parse_flags(argv, positional=None):
  """Parses the command line; a mistake in it is answered in one line.

  Args:
    argv: The command line.
    positional: The name of the argument that is no flag, if there is one.

  Returns:
    What is left of the command line: the program and such an argument.
  """
  try:
    rest = flags.FLAGS(argv)
  except flags.Error as e:
    fail(f'{" ".join(str(e).split())} (--help lists the flags.)')
  count = 2 if positional else 1
  if len(rest) < count:
    fail(f'{positional} is missing. (--help tells more.)')
  if len(rest) > count:
    fail(f'unexpected argument {rest[count]!r}: settings are given as '
         '--name=value.')
  return rest


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
