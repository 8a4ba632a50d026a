# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of experiments/export.py on a run that was never really trained."""

import dear_jax
from tests import commands
from tests import scripted


def test_a_run_on_several_algorithms(tmp_path, monkeypatch):
  scripted.install(monkeypatch)
  run, out = tmp_path / 'run', tmp_path / 'two.npz'
  scripted.train(run, algorithms=('minimum', 'search'), train_steps=2)
  export = commands.Command('export.py')
  for args, message in (
      ([], 'choose one with algorithm=, of minimum, search.'),
      (['--algorithm=serch'], "did you mean 'search'?")):
    code, _, err = export(run, f'--out={out}', *args)
    assert code == 2 and err.count('\n') == 1 and message in err
    assert not out.exists()
  code, text, err = export(run, f'--out={out}', '--algorithm=search')
  assert code == 0, err
  assert 'Reasoner(search(' in text
  # The choice is not a part of the file, which has both.
  for task in ('minimum', 'search'):
    assert dear_jax.load(out, algorithm=task).task == task
