# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""The documentation is run, or at least held to what is there."""

import dataclasses
import doctest
import importlib
import json
import pathlib
import pkgutil
import re

import dear_jax
from dear_jax.data import task_names
from dear_jax.training import configs
from dear_jax.training import given_settings
import pytest

_ROOT = pathlib.Path(__file__).parent.parent
_MODULES = sorted(m.name for m in pkgutil.walk_packages(
    dear_jax.__path__, 'dear_jax.'))


@pytest.mark.parametrize('name', _MODULES)
def test_docstring_examples(name):
  module = importlib.import_module(name)
  assert doctest.testmod(module).failed == 0


def test_there_are_docstring_examples():
  found = [
      test for name in _MODULES for test in doctest.DocTestFinder().find(
          importlib.import_module(name)) if test.examples]
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


def _table(page, first_cells):
  """The rows of the table whose head begins like this, as lists of cells."""
  text = (_ROOT / page).read_text(encoding='utf-8')
  start = text.index(f'| {" | ".join(first_cells)} |')
  rows = text[start:].split('\n\n')[0].splitlines()[2:]
  return [[cell.strip() for cell in row.split('|')[1:-1]] for row in rows]


def test_the_comparison_with_the_code_of_the_paper_adds_up():
  """Every 'times faster' is the ratio of the figures beside it."""
  ratios = {}
  rows = _table('docs/performance.md', ['task', 'PyTorch, ms'])
  for _, theirs, quarter, ratio, whole, equal, _, _ in rows:
    for name, ours, times in (('quarter', quarter, ratio),
                              ('whole', whole, equal)):
      assert f'{float(theirs) / float(ours):.1f}' == times
      ratios.setdefault(name, []).append(float(times))
  for row in _table('docs/performance.md', ['task', 'PyTorch, batch 1']):
    for theirs, ours, times in (row[1:4], row[4:7]):
      assert f'{float(theirs) / float(ours):.1f}' == times
      ratios.setdefault('inference', []).append(float(times))
  text = (_ROOT / 'docs/performance.md').read_text(encoding='utf-8')
  for name in ('quarter', 'whole', 'inference'):
    low, high = min(ratios[name]), max(ratios[name])
    assert f'{low} to {high}' in ' '.join(text.split()), name


def test_the_lead_of_the_damped_gradient_is_that_of_the_table():
  text = ' '.join((_ROOT / 'docs/implicit.md').read_text(
      encoding='utf-8').split())
  scores = {}
  for task, _, gradient, _, test, *_ in _table(
      'docs/implicit.md', ['task', 'seed', 'gradient', 'validation', 'test']):
    scores.setdefault((task, gradient), []).append(float(test))
  mean = lambda values: sum(values) / len(values)
  leads = [f'{mean(scores[task, "damped"]) - mean(other):.4f}'
           for task, reviewed in (('bfs', [0.991, 0.995]),
                                  ('bellman_ford', [0.950, 0.947]))
           for other in (reviewed, scores[task, 'one step'])]
  assert leads == ['0.0030', '0.0100', '0.0135', '0.0230']
  assert ('the lead of the damped gradient is 0.003 on `bfs` and 0.014 on '
          '`bellman_ford`, not 0.010 and 0.023 as in the table' in text)
  damped, one_step = (mean([x for (_, name), values in scores.items()
                            for x in values if name == gradient])
                      for gradient in ('damped', 'one step'))
  assert (f'The mean of the seven test scores is {damped:.3f} (damped) and '
          f'{one_step:.3f} (one step)') in text


def test_the_page_of_settings_tells_all_that_the_preset_best_sets():
  rows = _table('docs/settings.md', ['tasks', 'settings'])
  tasks = [re.findall(r'`(\w+)`', row[0]) for row in rows]
  assert sorted(sum(tasks, [])) == sorted(
      (*task_names.BATCHED, *task_names.FROM_CLRS))
  fixed = configs.PRESETS['best']
  for names, (_, cell) in zip(tasks, rows):
    given = dict(re.findall(r'`(\w+)=(\w+)`', cell))
    for name in names:
      config = given_settings.make_config({'algorithm': name}, 'best')
      assert config == dataclasses.replace(fixed, algorithms=(name,), **given)


def test_version_is_in_the_changelog():
  changelog = (_ROOT / 'CHANGELOG.md').read_text(encoding='utf-8')
  assert re.search(rf'^## \[{re.escape(dear_jax.__version__)}\]', changelog,
                   flags=re.MULTILINE)


def test_the_examples_of_the_page_on_scaling():
  scope = _run_example('docs/scaling.md', '# Scaling')
  assert scope['outputs']['pi'].tolist() == [0, 0, 1]


def test_the_table_of_the_page_on_scaling_is_that_of_its_file():
  rows = json.loads((_ROOT / 'docs/results/scaling.json').read_text(
      encoding='utf-8'))['rows']
  shown = _table('docs/scaling.md', ['nodes', 'edges'])
  assert [x[0] for x in shown] == [f'{row["nodes"]:,}' for row in rows]
  for cells, row in zip(shown, rows):
    assert cells[4] == f'{row["nodes right"]:.4f}'
    assert cells[8] == f'{row["processor seconds"]:.1f}'
    assert cells[9] == f'{row["peak"] / 2**30:.2f}'
  largest = rows[-1]
  assert largest['nodes'] == 100_000 and largest['peak'] < 4 * 2**30


def test_the_table_of_steps_before_and_after_is_that_of_its_file():
  runs = json.loads((_ROOT / 'docs/results/steps_before_and_after.json'
                     ).read_text(encoding='utf-8'))['runs']
  shown = _table('docs/performance.md', ['task', 'ms a step, now'])
  assert shown == [
      [f'`{x["task"]}`', *(f'{y:.1f}' for y in x['milliseconds']),
       f'{x["clock"]:.3f}', f'{x["processor"]:.3f}',
       *(f'{y:.1f}' for y in x['in_xla']), 'yes' if x['same'] else 'no']
      for x in runs[0]['rows']]
  text = (_ROOT / 'docs/performance.md').read_text(encoding='utf-8')
  *first, last = (f'{x["clock"]:.3f}' for x in runs[1]['rows'])
  assert f'{", ".join(first)} and {last} times as long' in text
