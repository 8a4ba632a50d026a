# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""A room imports from the rooms above it, never from those below.

The contracts stand in pyproject.toml; import-linter reads the code and runs
none of it.
"""

import pathlib
import shutil
import subprocess
import sys

import pytest

_ROOT = pathlib.Path(__file__).parent.parent


def _lint(folder):
  """What import-linter says of the package in a folder, and its exit code."""
  done = subprocess.run(
      [sys.executable, '-c',
       'from importlinter import cli; cli.lint_imports_command()',
       '--no-cache'],
      cwd=folder, capture_output=True, text=True, check=False, timeout=120)
  return done.stdout + done.stderr, done.returncode


def test_imports_go_one_way():
  said, code = _lint(_ROOT)
  assert code == 0, said
  assert ' 0 broken' in said


@pytest.mark.parametrize('module, line, broken', [
    ('fixed_points/solvers.py', 'import haiku', 'Fixed points are pure JAX'),
    ('fixed_points/solvers.py', 'from dear_jax.networks import steps',
     'A room uses the rooms above it, never those below'),
    # Within a function, too: it is an import all the same.
    ('data/tasks.py', 'def f():\n  from dear_jax.training import loop',
     'A room uses the rooms above it, never those below'),
    # A room that nobody gave a place.
    ('attic/__init__.py', '',
     'A room uses the rooms above it, never those below'),
])
def test_a_wrong_import_is_found(module, line, broken, tmp_path):
  shutil.copy(_ROOT / 'pyproject.toml', tmp_path)
  shutil.copytree(_ROOT / 'dear_jax', tmp_path / 'dear_jax',
                  ignore=shutil.ignore_patterns('__pycache__', '*.npz'))
  file = tmp_path / 'dear_jax' / module
  file.parent.mkdir(exist_ok=True)
  with file.open('a', encoding='utf-8') as f:
    f.write(f'\n\n{line}\n')
  said, code = _lint(tmp_path)
  assert code == 1, said
  assert f'{broken} BROKEN' in said
