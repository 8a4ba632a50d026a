# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""The documentation is run, or at least held to what is there."""

import doctest
import importlib
import pathlib
import pkgutil
import re

import dear_jax
import pytest

_ROOT = pathlib.Path(__file__).parent.parent
_MODULES = sorted(m.name for m in pkgutil.iter_modules(dear_jax.__path__))


@pytest.mark.parametrize('name', _MODULES)
def test_docstring_examples(name):
  module = importlib.import_module(f'dear_jax.{name}')
  assert doctest.testmod(module).failed == 0


def test_there_are_docstring_examples():
  found = [
      test for name in _MODULES for test in doctest.DocTestFinder().find(
          importlib.import_module(f'dear_jax.{name}')) if test.examples]
  assert len(found) >= 2


def test_public_names():
  for name in dear_jax.__all__:
    assert hasattr(dear_jax, name)
    assert getattr(dear_jax, name).__doc__


def test_ci_runs_the_line_of_the_readme():
  readme = (_ROOT / 'README.md').read_text(encoding='utf-8')
  last = (_ROOT / '.ci' / 'run').read_text(encoding='utf-8').splitlines()[-1]
  assert 'pytest' in last and last in readme.splitlines()


def _run_example(page, section=''):
  """Runs the first Python example of a section; returns its names."""
  text = (_ROOT / page).read_text(encoding='utf-8').split(section, 1)[1]
  example = re.search(r'```python\n(.*?)```', text, re.DOTALL).group(1)
  scope = {'dear_jax': dear_jax}
  exec(compile(example, page, 'exec'), scope)  # pylint:disable=exec-used
  return scope


def test_the_example_of_the_data_page():
  assert len(_run_example('docs/data.md', '# Data')['splits'].train) == 3125


def test_the_first_question_of_the_readme():
  scope = _run_example('README.md', '## Ask')
  assert scope['outputs']['pi'].tolist() == [0, 0, 1]


def test_version_is_in_the_changelog():
  changelog = (_ROOT / 'CHANGELOG.md').read_text(encoding='utf-8')
  assert re.search(rf'^## \[{re.escape(dear_jax.__version__)}\]', changelog,
                   flags=re.MULTILINE)
