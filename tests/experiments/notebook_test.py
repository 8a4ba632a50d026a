# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""The notebook is run from start to end, in its quick form."""

import pathlib

import nbclient
import nbformat

_PATH = (pathlib.Path(__file__).resolve().parents[2] / 'experiments'
         / 'notebooks' / 'dear_on_clrs.ipynb')


def test_runs_from_start_to_end(monkeypatch, tmp_path):
  monkeypatch.setenv('DEAR_JAX_QUICK', '1')
  monkeypatch.setenv('PYDEVD_DISABLE_FILE_VALIDATION', '1')
  monkeypatch.setenv('TMPDIR', str(tmp_path))
  notebook = nbformat.read(_PATH, as_version=4)
  # A cell that fails raises here, with its traceback.
  nbclient.NotebookClient(notebook, timeout=600, kernel_name='python3',
                          resources={'metadata': {'path': str(tmp_path)}}
                          ).execute()
  outputs = [output for cell in notebook.cells if cell.cell_type == 'code'
             for output in cell.outputs]
  pictures = [x for x in outputs if 'image/png' in x.get('data', {})]
  assert len(pictures) == 4
  printed = ''.join(x.text for x in outputs
                    if x.output_type == 'stream' and x.name == 'stdout')
  assert 'the same as the algorithm' in printed
  assert 'Test score: DEAR' in printed


def test_is_kept_without_outputs():
  notebook = nbformat.read(_PATH, as_version=4)
  nbformat.validate(notebook)
  for cell in notebook.cells:
    assert cell.cell_type != 'code' or not cell.outputs
