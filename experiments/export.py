# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Writes the parameters that a run kept, with its settings, to one small file.

Examples:

  python experiments/export.py RUN_FOLDER --out=my_bfs.npz

  # a run on several algorithms, of which the file has them all
  python experiments/export.py RUN_FOLDER --algorithm=bfs --out=my_two.npz

`dear_jax.load('my_bfs.npz')` then answers questions on any machine; the run
folder is not needed any more. The commands that made the file are kept in it,
as `made_by` of the loaded reasoner. A run on several algorithms is checked for
one of them; `dear_jax.load` has to be told again which one is to answer, and
can be told any.
"""

import os
import pathlib

from absl import flags
import cli

_OUT = flags.DEFINE_string(
    'out', None, 'file to write, ending in .npz (default: reasoner.npz in the '
    'run folder)')
_ALGORITHM = flags.DEFINE_string(
    'algorithm', None, 'which algorithm of a run on several has to be one that '
    'can be asked about (default: the only one); all are written')
_COMMAND = flags.DEFINE_string(
    'command', None, 'the command that made the run, to be kept in the file')
_HALF = flags.DEFINE_boolean(
    'half', False, 'write parameters in half precision, in half the space')
cli.define_import()


def main(argv):
  folder = argv[1]
  out = pathlib.Path(_OUT.value or os.path.join(folder, 'reasoner.npz'))
  with cli.silence():
    import dear_jax
    load = dear_jax.load
  cli.import_parts()
  if not os.path.isdir(folder):
    cli.fail(f'{folder} is not a run folder.')
  if not out.parent.is_dir():
    cli.fail(f'There is no folder {out.parent} to write {out.name} to.')
  with cli.failing():
    reasoner = load(folder, algorithm=_ALGORITHM.value)
    with cli.writing(out):
      reasoner.save(out, made_by=_COMMAND.value, half=_HALF.value)
  print(f'{out}: {reasoner}, {out.stat().st_size / 2**20:.2f} MiB')


if __name__ == '__main__':
  cli.run(main, cli.parse_run_folder)
