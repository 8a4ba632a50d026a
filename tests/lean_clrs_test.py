# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of importing CLRS without TensorFlow."""

import subprocess
import sys
import textwrap


def run(code):
  """What a new process prints that executes this."""
  done = subprocess.run([sys.executable, '-c', textwrap.dedent(code)],
                        capture_output=True, text=True)
  assert done.returncode == 0, done.stderr
  return done.stdout.split('\n')[:-1]


# Every name that clrs/__init__.py imports, read from its text.
_NAMES = '''
def names():
  import ast, inspect
  tree = ast.parse(inspect.getsource(clrs))
  return {x.asname or x.name for node in tree.body
          if isinstance(node, ast.ImportFrom) for x in node.names}
'''


def test_nothing_is_missing():
  # One process, as TensorFlow takes seconds: what comes first is without it.
  found = run(_NAMES + '''
import sys
import dear_jax
from dear_jax.reasoning import reasoners
from dear_jax.training import loop
import clrs
import jax
import numpy as np
point = clrs.DataPoint('pos', 'node', 'scalar', np.zeros(2))
assert jax.tree.map(lambda x: x + 1, point).name == 'pos'
assert {'CLRSDataset', 'clrs_text'} <= names() <= set(dir(clrs))
try:
  clrs.nonsense
except AttributeError as e:
  print(e)
print([x for x in sys.modules if x.split('.')[0].startswith('tensorflow')])

from clrs import CLRSDataset
from clrs._src import dataset
from clrs._src import clrs_text
import tensorflow as tf
assert CLRSDataset is dataset.CLRSDataset is clrs.CLRSDataset
assert clrs_text is clrs.clrs_text and clrs_text.generate_clrs_text
assert all(getattr(clrs, x) is not None for x in names())
assert dataset.tf is tf and tf.__version__
point = clrs.DataPoint(tf.constant('pos'), 'node', 'scalar', np.zeros(2))
print(point.name)
''')
  assert found == ["module 'clrs' has no attribute 'nonsense'", '[]', 'pos']


def test_who_has_imported_clrs_keeps_it():
  assert run('''
      import clrs
      names = dir(clrs)
      import dear_jax
      from dear_jax.networks import clrs_private
      assert dir(clrs) == names and clrs.CLRSDataset
      import sys
      print('tensorflow' in sys.modules)
      ''') == ['True']


def test_an_import_that_fails_leaves_nothing_behind(tmp_path):
  (tmp_path / 'clrs').mkdir()
  (tmp_path / 'clrs' / '__init__.py').write_text('1 / 0')
  assert run(f'''
      import sys
      sys.path.insert(0, {str(tmp_path)!r})
      import dear_jax
      try:
        import clrs
      except ZeroDivisionError:
        print([x for x in sys.modules
               if x.startswith(('clrs', 'tensorflow'))])
      ''') == ['[]']
