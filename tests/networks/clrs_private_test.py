# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what is taken from CLRS's private modules, and from where."""

import importlib.util
import pathlib
import re
import sys

import clrs
from dear_jax.networks import clrs_private
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def import_again():
  """Runs the module once more, under another name."""
  spec = importlib.util.spec_from_file_location('again', clrs_private.__file__)
  spec.loader.exec_module(importlib.util.module_from_spec(spec))


def module_of(name):
  return sys.modules[f'clrs.{"_src"}.{name}']


def test_no_other_file_goes_into_the_private_modules():
  files = [path for folder in ('dear_jax', 'experiments', 'tests', 'docs')
           for path in (ROOT / folder).rglob('*')
           if path.suffix in ('.py', '.md', '.ipynb')]
  assert len(files) > 100
  imports = re.compile(r'(from|import) clrs\._src|clrs import _src|'
                       r'clrs\._src\.\w')
  found = {path.name for path in files
           if imports.search(path.read_text(encoding='utf-8'))}
  assert found == {pathlib.Path(clrs_private.__file__).name,
                   pathlib.Path(__file__).name,
                   # Which of them are imported, and when.
                   'lean_clrs.py', 'lean_clrs_test.py'}


def test_all_names_are_used():
  text = ''.join(path.read_text(encoding='utf-8')
                 for folder in ('dear_jax', 'tests')
                 for path in (ROOT / folder).rglob('*.py'))
  for name in clrs_private.__all__:
    assert f'clrs_private.{name}' in text, name
    assert hasattr(clrs_private, name)


@pytest.mark.parametrize('module, name', [
    ('losses', 'output_loss'), ('processors', 'PROCESSOR_TAG'),
    ('nets', 'NetChunked')])
def test_a_missing_name_is_told_in_one_sentence(module, name, monkeypatch):
  import_again()
  monkeypatch.delattr(module_of(module), name)
  with pytest.raises(ImportError) as error:
    import_again()
  text = str(error.value)
  assert f'CLRS ({clrs.__version__}) does not fit' in text
  assert clrs_private.KNOWN_VERSIONS in text and name in text
  assert '\n' not in text and text.endswith('.')


def test_a_missing_module_is_told_too(monkeypatch):
  monkeypatch.setitem(sys.modules, 'clrs._src.losses', None)
  with pytest.raises(ImportError, match='does not fit.*losses'):
    import_again()


def test_a_missing_method_is_told(monkeypatch):
  monkeypatch.delattr(clrs.models.BaselineModel, '_create_net_fns')
  with pytest.raises(ImportError,
                     match='there is no BaselineModel._create_net_fns.$'):
    import_again()


@pytest.mark.parametrize('other', [
    lambda truth, pred: 0, lambda pred, truth, nb_nodes: 0,
    lambda truth, pred, nb_nodes, weights: 0])
def test_other_arguments_are_told(other, monkeypatch):
  monkeypatch.setattr(module_of('losses'), 'output_loss', other)
  with pytest.raises(ImportError, match=r'and not \(truth, pred, nb_nodes\)'):
    import_again()


def test_more_arguments_with_defaults_are_none_of_our_business(monkeypatch):
  monkeypatch.setattr(
      module_of('losses'), 'output_loss',
      lambda truth, pred, weights=None, nb_nodes=0, **options: 0)
  import_again()
