# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of docs/results.md, and of the files that it is made from."""

import dataclasses
import json
import pathlib
import re

from dear_jax.reports import campaign_figures
from dear_jax.reports import collected
from dear_jax.reports import inference_table
from dear_jax.reports import loss_charts
from dear_jax.reports import paper_figures
from dear_jax.reports import parts_table
from dear_jax.reports import readme_table
from dear_jax.reports import results_page
from dear_jax.training import campaigns
from dear_jax.training import origins
from dear_jax.training import pace
from experiments import campaign as declared
import numpy as np
import pytest
from tests import commands
from tests import run_folders

DOCS = pathlib.Path(__file__).resolve().parents[2] / 'docs'
RUNS = DOCS / 'results' / 'runs'


def result_of(entry, score=0.9, outputs=None, **changes):
  """What could have been collected of a run."""
  config = entry.config('runs')
  late = dict(solver_steps_mean=6.0, converged=1.0, backward_steps_mean=5.0,
              backward_converged=0.99)
  result = dict(
      name=entry.name, group=entry.group, task=entry.task, seed=entry.seed,
      command='', commit='abc', versions={'python': '3.11', 'jax': '0.10'},
      result=dict(test={entry.task: score},
                  test_outputs={entry.task: outputs or {'pi': score}},
                  test_converged=1.0, test_solver_steps_mean=7.0,
                  seconds=600.0),
      solver={'all': dict(late), 'last_tenth': late}, spectral_radius=0.9,
      steps_a_second={'first': 4.0, 'last': 3.0}, evaluation=None,
      train_loss={'steps': [10, 20, 30], 'values': [1.0, None, 0.5]},
      settings={**dataclasses.asdict(config), 'align_to': (
          config.align_to and pathlib.Path(config.align_to).name)})
  return {**result, **changes}


def rows_of(page, heading):
  """The cells of the table under a heading, by the first of them."""
  part = page.split(f'## {heading}\n')[1].split('\n## ')[0]
  cells = [[x.strip() for x in line.split('|')[1:-1]]
           for line in part.splitlines() if line.startswith('|')]
  return {row[0]: row[1:] for row in cells[2:]}


def test_the_page_is_what_the_files_give():
  page = (DOCS / 'results.md').read_text(encoding='utf-8')
  made = results_page.make_page(collected.read_all(RUNS), declared.RUNS,
                                inference_table.read(DOCS / 'results'))
  assert page == made, (
      'python experiments/reproduce.py --collect writes it anew.')


def test_the_table_of_the_readme_is_what_the_files_give():
  readme = (DOCS.parent / 'README.md').read_text(encoding='utf-8')
  assert readme_table.BEGIN in readme
  table = readme_table.make_table(collected.read_all(RUNS), declared.RUNS)
  assert readme == readme_table.put_into(readme, table), (
      'python experiments/reproduce.py --collect writes it anew.')


def test_the_table_of_the_readme_shows_the_longest_runs():
  runs = {(x.group, x.seed): x for x in declared.RUNS if x.task == 'bfs'}
  row = lambda *results: next(
      [x.strip() for x in line.split('|')[3:5]] for line in
      readme_table.make_table(results, declared.RUNS).splitlines()
      if line.startswith('| `bfs`'))
  assert row() == ['not run yet'] * 2
  short = [result_of(runs['trust', i], 0.9 + i / 100) for i in (1, 2)]
  assert row(*short, result_of(runs['best', 1], 0.97)) == [
      '91.5 ± 0.7 (2 x 2,000)', '97.0 (1 x 3,000)']
  assert row(*short, result_of(runs['dear', 3], 0.99)) == [
      '99.0 (1 x 10,000)', 'not run yet']
  assert readme_table.put_into('no marks', 'x') == 'no marks'


def test_every_file_is_of_a_declared_run():
  entries = {x.name: x for x in declared.RUNS}
  for path in RUNS.glob('*.json'):
    text = path.read_text(encoding='utf-8')
    found = json.loads(text)
    assert path.stem == found['name'] and found['name'] in entries
    assert not re.search(r'"[^"]*(?<![\w.])/(home|root|tmp|work|Users)/', text)
    assert len(text) < 20_000


def test_every_file_has_the_settings_that_are_declared():
  entries = {x.name: x for x in declared.RUNS}
  results = collected.read_all(RUNS)
  found, others = campaign_figures.as_declared(results, declared.RUNS)
  assert not others and len(found) == len(results)
  for result in results:
    assert result['command'] == entries[result['name']].command()
    assert result['result']['steps'] == result['settings']['train_steps']


@pytest.mark.parametrize('change', [
    dict(settings=dict(train_steps=2_999)), dict(settings=dict(seed=2)),
    dict(settings=dict(scalars='differences')),
    dict(settings=dict(no_such_setting=1)), dict(group='long'), dict(seed=2),
    dict(task='dfs')])
def test_a_file_of_a_run_with_other_settings_is_not_shown(change):
  entry, = campaigns.choose(declared.RUNS, 'best_mst_prim_seed1')
  good = result_of(entry, 0.777)
  bad = {**good, **change, 'settings': {**good['settings'],
                                        **change.get('settings', {})}}
  for result, is_there in ((good, True), (bad, False)):
    found, others = campaign_figures.as_declared([result], declared.RUNS)
    assert (found == [result], list(others) == [entry.name]) == (
        is_there, not is_there)
    page = results_page.make_page([result], declared.RUNS)
    assert f'{int(is_there)} of {len(declared.RUNS)} runs are there' in page
    assert ('77.70' in page) == is_there
    table = readme_table.make_table([result], declared.RUNS)
    assert ('77.7 (1 x 3,000)' in table) == is_there


def test_a_file_from_before_there_was_a_setting_is_shown():
  entry, = campaigns.choose(declared.RUNS, 'trust_bfs_seed1')
  result = result_of(entry)
  for name in ('scalars', 'self_loops', 'test_criterion'):
    del result['settings'][name]
  assert campaign_figures.as_declared([result], declared.RUNS) == ([result], {})
  # What it meant then is not what is declared.
  entry, = campaigns.choose(declared.RUNS, 'best_bfs_seed1')
  result = result_of(entry)
  del result['settings']['self_loops']
  assert campaign_figures.as_declared([result], declared.RUNS) == (
      [], {entry.name: 'self_loops=true, not false'})


def test_the_page_without_a_single_run():
  page = results_page.make_page([], declared.RUNS)
  assert f'0 of {len(declared.RUNS)} runs are there' in page
  for heading in ('DEAR', 'DEAR with the settings of the paper',
                  'NAR, given the true number of steps'):
    rows = rows_of(page, heading)
    assert len(rows) == 12  # eleven tasks and the mean
    for name, row in rows.items():
      assert row[1] == ('not all run yet' if name.startswith('mean') else
                        'not run yet')
      assert not any(row[2:])
  # One more for the rules of selection.
  assert page.count('Not run yet.') == len(loss_charts.COMPARISONS) + 1
  assert '.png' not in page
  # All tables are as wide as their heads.
  for table in re.findall(r'(?:^\|.*\n)+', page, re.MULTILINE):
    assert len({line.count('|') for line in table.splitlines()}) == 1


def test_the_table_of_dear():
  entries = [x for x in declared.RUNS if x.group == 'dear']
  scores = {1: 0.90, 2: 0.94, 3: 0.92}
  results = [result_of(x, scores[x.seed]) for x in entries
             if x.task in ('bfs', 'dfs')]
  results += [result_of(x, 0.3, {'Pi': 0.3, 'Pi_on_edges': 0.6})
              for x in entries if x.name == 'dear_floyd_warshall_seed1']
  results += [result_of(x, 0.8, {'return': 0.7, 'smaller': 0.9})
              for x in entries if x.name == 'dear_search_seed2']
  # The order of the files does not matter.
  page = results_page.make_page(results[::-1], declared.RUNS)
  assert page == results_page.make_page(results, declared.RUNS)
  rows = rows_of(page, 'DEAR')
  assert rows['`bfs`'] == [
      '98.73 ± 0.37', '92.00 ± 2.00', '3', '10,000', '6.0', '100.0 %',
      '99.0 %', '100.0 %', '10.0']
  assert rows['`floyd_warshall`, on edges'][:3] == ['55.75 ± 2.20', '60.00',
                                                    '1']
  assert rows['`floyd_warshall`, all pairs'][:2] == ['', '30.00']
  assert rows['`search`'][:2] == ['85.67 ± 0.58', '70.00']
  assert rows['`minimum`'][:2] == ['97.22 ± 3.82', 'not run yet']


def test_the_mean_needs_all_ten_tasks():
  entries = [x for x in declared.RUNS if x.group == 'dear' and x.seed == 1]
  results = []
  for i, entry in enumerate(entries):
    outputs = ({'Pi': 0.0, 'Pi_on_edges': i / 100}
               if entry.task == 'floyd_warshall' else
               {'return': 0.99} if entry.task == 'search' else None)
    results.append(result_of(entry, i / 100, outputs))
  mean = lambda results: [row for name, row in rows_of(
      results_page.make_page(results, declared.RUNS), 'DEAR').items()
                          if name.startswith('mean')][0]
  # Of 0, 1, ... 9: search, which is the eleventh, does not count.
  assert mean(results)[:2] == ['75.71', '4.50']
  assert mean(results[1:])[1] == 'not all run yet'
  assert mean(results[:-1])[1] == '4.50'


def test_what_goes_beyond_the_paper_stands_beside_runs_without_it():
  runs = {(x.group, x.seed): x for x in declared.RUNS if x.task == 'bfs'}
  best, short, plain = (runs[x, 1] for x in ('best', 'trust', 'plain'))
  others = [result_of(runs['trust', 2], 0.1),  # another seed
            result_of(runs['dear', 1], 0.2)]  # more steps
  heading = "Beyond the paper's model"
  row = lambda *results: rows_of(results_page.make_page(
      [*results, *others], declared.RUNS), heading)['`bfs`'][1:4]
  assert row(result_of(best, 0.9), result_of(short, 0.7)) == [
      '90.00', '70.00', '2,000']
  assert row(result_of(best, 0.9), result_of(short, 0.7), result_of(
      plain, 0.8)) == ['90.00', '80.00', '3,000']
  assert row(result_of(best, 0.9)) == ['90.00', results_page.MISSING, '']
  assert row()[0] == results_page.MISSING


def test_what_every_part_gains_is_of_the_same_seeds():
  runs = {x.name: x for x in declared.RUNS}
  result = lambda name, score: result_of(runs[name], score)
  results = [
      result('best_bfs_seed1', 0.9), result('best_bfs_seed2', 0.8),
      result('best_dfs_seed1', 0.5), result('plain_bfs_seed1', 0.7),
      result('plain_dfs_seed1', 0.4), result('plain_minimum_seed1', 0.3),
      result('at_state_bfs_seed1', 0.88), result('at_state_bfs_seed2', 0.8),
      result('with_loops_bfs_seed1', 0.85), result('with_loops_bfs_seed2', 0.8)]
  rows = parts_table.make_rows(results, declared.RUNS, 'missing')
  found = {(row[0].split(' (')[0], row[1]): row[2:] for row in rows}
  everything, loops = 'all of it', 'hidden edges of nodes to themselves'
  assert found[everything, '`bfs`'] == ['90.00', '70.00', '+20.00', '1']
  # There is nothing to compare it with.
  assert not [x for x in found if x == (everything, '`minimum`')]
  left, = [x for x in found if x[0] == everything and '`minimum`' in x[1]]
  assert '`search`' in left[1] and '`bfs`' not in left[1]
  assert found[left] == ['', 'missing', '', '']
  assert found[everything, 'mean of 2 of 11 tasks'] == [
      '70.00', '55.00', '+15.00', '']
  # What every node at rest gains is not among what the others do.
  assert found[loops, '`bfs`'] == ['84.00', '82.50', '+1.50 ± 2.12', '1, 2']
  assert found['rest of every node, at the test', '`bfs`'][2] == '+1.00 ± 1.41'
  assert not [x for x in found if x[0] == loops and 'mean' in x[1]]
  # Where it is known on all tasks, the others of the eleven count as 0.
  for task in {*declared.LOOPED} - {'bfs'}:
    for name in ('at_state', 'with_loops'):
      results.append(result(f'{name}_{task}_seed1', 0.5))
  rows = parts_table.make_rows(results, declared.RUNS, 'missing')
  *_, last = [x for x in rows if x[0].startswith(loops)]
  assert last[1:] == ['mean of all 11 tasks', '', '', f'{1.5 / 11:+.2f}', '']
  assert '| all of it (default settings) | `bfs` | 90.00 | 70.00 |' in (
      results_page.make_page(results, declared.RUNS))


def test_both_rules_of_selection_are_shown():
  entry = next(x for x in declared.RUNS if x.group == 'best')
  result = result_of(entry)
  heading = 'Which parameters are kept?'
  page = lambda: results_page.make_page([result], declared.RUNS)
  assert 'Not run yet.' in page().split(heading)[1].split('##')[0]
  result['result']['by_rule'] = {
      'best': dict(step=150, test_score=0.5), 'last': dict(
          step=3000, test_score=0.75)}
  assert rows_of(page(), heading)[f'`{entry.name}`'] == [
      '150', '50.00', '3,000', '75.00']
  assert ('that of the others is 25.00, over 1 trainings; in 0 of them both '
          'are of the same step.') in page()
  # A score that is not a number is null in a file.
  result['result']['by_rule']['best']['test_score'] = None
  assert 'Not run yet.' in page().split(heading)[1].split('##')[0]


def test_a_training_that_was_tested_twice_counts_once():
  runs = {x.name: x for x in declared.RUNS}
  def result(name, best, last, loss, step=150):
    return result_of(
        runs[name], train_loss={'steps': [10], 'values': [loss]}, result={
            **result_of(runs[name])['result'], 'by_rule': {
                'best': dict(step=step, test_score=best),
                'last': dict(step=3000, test_score=last)}})
  results = [result('best_bfs_seed1', 0.5, 0.7, 1.0),
             result('at_state_bfs_seed1', 0.5, 0.9, 1.0),
             # Another seed, and another training with the same seed.
             result('best_bfs_seed2', 0.6, 0.6, 1.0, step=3000),
             result('no_differences_bfs_seed1', 0.5, 0.6, 2.0)]
  heading = 'Which parameters are kept?'
  page = results_page.make_page(results, declared.RUNS)
  assert list(rows_of(page, heading)) == [
      '`best_bfs_seed1`', '`best_bfs_seed2`', '`no_differences_bfs_seed1`']
  assert ('is 10.00 ± 10.00, over 3 trainings; in 1 of them both are of the '
          'same step. 1 more runs are of these trainings') in page


def test_a_run_without_a_score_does_not_count_as_a_seed():
  runs = {x.seed: x for x in declared.RUNS if x.group == 'dear'
          and x.task == 'bfs'}
  results = [result_of(runs[1], 0.9), result_of(runs[2], None)]
  row = lambda: rows_of(results_page.make_page(results, declared.RUNS),
                        'DEAR')['`bfs`']
  assert row()[1:3] == ['90.00', '1 of 2']
  assert '| 90.0 (1 x 10,000) |' in readme_table.make_table(results,
                                                            declared.RUNS)
  del results[0]
  assert row()[1:3] == ['', '0 of 1']


def test_shorter_runs_stand_in_for_those_of_most_steps():
  runs = {x.name: x for x in declared.RUNS}
  names = ('trust_bfs_seed1', 'plain_bfs_seed1', 'plain_dfs_seed1',
           'dear_dfs_seed1', 'trust_minimum_seed1')
  results = [result_of(runs[name], i / 10) for i, name in enumerate(names)]
  rows = rows_of(results_page.make_page(results, declared.RUNS), 'DEAR')
  assert {task: rows[f'`{task}`'][1:4] for task in ('bfs', 'dfs', 'minimum')
          } == {'bfs': ['10.00', '1', '3,000'], 'dfs': ['30.00', '1', '10,000'],
                'minimum': ['40.00', '1', '2,000']}
  assert rows['`search`'][1] == results_page.MISSING


def test_variants_of_the_preset_stand_beside_it():
  runs = {x.name: x for x in declared.RUNS}
  names = ('relative', 'best', 'long', 'dear', 'at_state')
  results = [result_of(runs[f'{name}_mst_prim_seed1'], i / 10)
             for i, name in enumerate(names)]
  results.append(result_of(runs['long_units_mst_prim_seed1'], 0.7))
  def rows():
    page = results_page.make_page(results, declared.RUNS)
    lines = page.split('## Variants')[1].split('##')[0].splitlines()
    return [[x.strip() for x in line.split('|')[2:8]] for line in lines
            if line.startswith('| `--preset=best')]
  assert rows() == [
      ['`mst_prim`', '', '0.00', '10.00', '3,000', '3,000'],
      ['`mst_prim`', '', '70.00', '20.00', '10,000', '10,000']]
  del results[1]
  assert rows()[0][3:5] == [results_page.MISSING, '']


def test_a_file_that_is_left_out_is_told(tmp_path):
  entry, other = campaigns.rows('dear', ('bfs', 'dfs'), train_steps=10)
  (tmp_path / 'campaign.py').write_text('''
from dear_jax.training import campaigns
RUNS = campaigns.rows('dear', ('bfs', 'dfs'), train_steps=10)
SIZES = (4,)
''')
  files = tmp_path / 'docs' / 'results' / 'runs'
  collected.write(files, result_of(entry, 0.5))
  changed = result_of(other, 0.5)
  changed['settings']['train_steps'] = 20
  collected.write(files, changed)
  code, _, err = commands.Command('reproduce.py')(
      '--collect', f'--campaign={tmp_path / "campaign.py"}',
      f'--runs={tmp_path / "runs"}', f'--docs={tmp_path / "docs"}')
  assert code == 0, err
  assert ('dear_dfs_seed1.json is left out: its run has train_steps=20, not '
          '10.\n') in err
  assert 'dear_bfs_seed1' not in err
  assert '1 of 2 runs are there.' in (
      tmp_path / 'docs' / 'results.md').read_text()


def test_the_figures_of_the_paper():
  """Against the means that the paper states, as far as they are right."""
  of = lambda column: [paper_figures.find(column, x)[0]
                       for x in paper_figures.TEN]
  assert np.mean(of('nar')) == pytest.approx(71.42, abs=0.01)
  assert np.mean(of('nar_triplet')) == pytest.approx(77.58, abs=0.01)
  assert np.mean(of('nar_learned')) == pytest.approx(70.07, abs=0.01)
  five = ('floyd_warshall', 'dfs', 'strongly_connected_components_local',
          'search', 'insertion_sort')
  assert np.mean([paper_figures.find('triplet', x)[0] for x in five]
                 ) == pytest.approx(63.90, abs=0.01)
  assert paper_figures.find('cgp', 'minimum') is None
  assert paper_figures.find('gas', 'bfs') is None
  assert set(declared.TASKS) == {*paper_figures.TEN, 'search'}


@pytest.mark.parametrize('path, value, column', [
    (('solver', 'last_tenth', 'converged'), 0.9899, 0),
    (('solver', 'last_tenth', 'backward_converged'), 0.9799, 1),
    (('solver', 'last_tenth', 'backward_converged'), None, 1),
    (('result', 'test_converged'), 0.97, 2),
    (('solver', 'all', 'solver_steps_mean'), 12.1, 3),
    (('steps_a_second', 'last'), 1.9, 4),
    (('steps_a_second', 'first'), None, 4),
    (('steps_a_processor_second',), {'first': 4.0, 'last': 1.9}, 4)])
def test_every_criterion_of_trust_can_fail(path, value, column):
  entry = next(x for x in declared.RUNS if x.group == 'trust')
  good = result_of(entry)
  page = results_page.make_page([good], declared.RUNS)
  count = sum(x.group == 'trust' for x in declared.RUNS)
  assert ('1 of the 1 runs that are there meet all criteria; '
          f'{count - 1} of {count} are not run yet') in page
  bad = json.loads(json.dumps(good))
  inner = bad
  for name in path[:-1]:
    inner = inner[name]
  inner[path[-1]] = value
  page = results_page.make_page([bad], declared.RUNS)
  assert '0 of the 1 runs that are there meet all criteria' in page
  first = page.split('## Can the solves')[1].split('--- |\n')[1].splitlines()[0]
  cells = [x.strip() for x in first.split('|')[1:-1]][3:8]
  assert [x.startswith('**') or x == 'not known' for x in cells] == [
      i == column for i in range(5)]


def test_a_share_just_below_is_not_shown_as_met():
  low = campaign_figures.CRITERIA[0]
  entry = next(x for x in declared.RUNS if x.group == 'trust')
  result = result_of(entry)
  result['solver']['last_tenth']['converged'] = 0.98999
  assert low.show(result) == '**98.9 %**'
  result['solver']['last_tenth']['converged'] = 0.99
  assert low.show(result) == '99.0 %'
  # Nor in the columns beside them, and in other tables.
  result['solver']['all']['converged'] = 0.99999
  result['solver']['all']['backward_converged'] = 0.9999
  row, = (x for x in results_page.make_page([result], declared.RUNS)
          .split('## Can the solves')[1].splitlines()
          if f'`{entry.task}` | {entry.seed} |' in x)
  assert [x.strip() for x in row.split('|')][9:11] == ['99.9 %', '99.9 %']
  best, = campaigns.choose(declared.RUNS, 'best_bfs_seed1')
  result = result_of(best)
  result['solver']['last_tenth']['converged'] = 0.9999
  rows = rows_of(results_page.make_page([result], declared.RUNS),
                 "Beyond the paper's model")
  assert rows['`bfs`'][7] == '99.9 %'


def test_speeds_by_the_clock_are_marked():
  speed = campaign_figures.CRITERIA[-1]
  entry = next(x for x in declared.RUNS if x.group == 'trust')
  result = result_of(entry)
  assert speed.show(result) == '0.75, by the clock'
  result['steps_a_second']['last'] = 1.0
  assert speed.show(result) == '**0.25**, by the clock'
  result['steps_a_processor_second'] = {'first': 4.0, 'last': 3.6}
  assert speed.show(result) == '0.90'


def test_seconds_a_sample(tmp_path):
  heading = 'Seconds a sample'
  row = lambda task, seconds: dict(
      task=task, samples=8, nar_steps=63, dear_steps=6.25,
      nar_seconds=seconds, dear_seconds=0.1)
  assert inference_table.read(tmp_path) is None
  page = results_page.make_page([], declared.RUNS)
  assert 'Not run yet (`python experiments/benchmark_inference.py`).' in page
  (tmp_path / inference_table.FILE).write_text(json.dumps(dict(
      command='python some.py', size=64, device='cpu', cores=2,
      rows=[row('minimum', 0.25), row('binary_search', 0.02)])))
  page = results_page.make_page([], declared.RUNS,
                                inference_table.read(tmp_path))
  rows = rows_of(page, heading)
  assert set(rows) == {f'`{x}`' for x in declared.TASKS}
  assert rows['`minimum`'] == ['63.0', '0.2500', '6.2', '0.1000', '2.50',
                               '0.0684', '0.0174', '3.93']
  assert rows['`binary_search`'][3:] == ['0.1000', '0.20', '0.0125', '0.0131',
                                         '0.95']
  assert rows['`search`'] == ['not run yet', *[''] * 7]
  assert rows['`bfs`'] == ['not run yet', '', '', '', '', '0.0094', '0.0137',
                           '0.69']
  assert 'of 8 test samples of size 64' in page


def test_all_tasks_of_the_paper_were_timed():
  measured = inference_table.read(DOCS / 'results')
  assert [x['task'] for x in measured['rows']] == list(declared.TASKS)
  # The paper's table of seconds has binary search, and not the parallel one.
  assert set(paper_figures.SECONDS) | {'search'} == set(declared.TASKS)
  assert paper_figures.SECONDS['binary_search'] == (.0125, .0131)
  for row in measured['rows']:
    assert row['nar_seconds'] > 0 and row['dear_seconds'] > 0


def test_variants_and_losses(tmp_path):
  names = ('cgp_mst_prim_seed1', 'dear_mst_prim_seed1', 'nar_bfs_seed1',
           'nar_learned_bfs_seed1', 'dear_mst_prim_seed2')
  results = [result_of(x) for x in declared.RUNS if x.name in names]
  page = results_page.make_page(results, declared.RUNS)
  lines = [line for line in page.splitlines() if line.startswith('| DEAR with')]
  assert any('`mst_prim` | 86.37 ± 0.36 | 90.00 | 90.00 | 10,000 | 5,000' in
             line for line in lines)
  assert '| NAR, learnt termination | `bfs` | 99.51 ± 0.06 | 90.00' in page
  # A chart needs both curves: there is a NAR on bfs, but no DEAR.
  assert re.findall(r'images/(\w+\.png)', page) == ['results_cgp.png']
  by_name = {x['name']: x for x in results}
  (tmp_path / 'results_alignment.png').write_text('of runs that are gone')
  assert loss_charts.draw(by_name, declared.TASKS, tmp_path) == [
      'results_cgp.png']
  assert [x.name for x in tmp_path.iterdir()] == ['results_cgp.png']
  # A shorter run has the first steps of one that is not there.
  by_name['plain_mst_prim_seed1'] = by_name.pop('dear_mst_prim_seed1')
  runs = loss_charts.runs_of(loss_charts.COMPARISONS[1], by_name, ['mst_prim'])
  assert [x.label for x in runs] == ['DEAR with CGP', 'DEAR']


def test_what_is_collected_of_a_run(tmp_path):
  entry, = campaigns.rows('some', ('bfs',), preset='gas', align_to='nar',
                          train_steps=3000)
  folder = tmp_path / entry.name
  run_folders.write(folder, lines=300, algorithms=('bfs',), seed=1,
                    is_evaluated=True, align_to=str(tmp_path / 'nar'),
                    data_cache=str(tmp_path / 'cache'), train_steps=3000)
  origins.note(folder, 'abc')
  origins.note(folder, 'def', 3)
  with pace.PaceFile(folder, 0) as times:
    for step in range(10, 3001, 10):
      times.write({'step': step, 'timed': 9,
                   'seconds': 1.8 if step <= 100 else 3.6 if step > 2900
                              else 100,
                   'processor_seconds': 0.9})
  path = collected.write(tmp_path / 'out', collected.collect(entry, tmp_path))
  text = path.read_text(encoding='utf-8')
  assert str(tmp_path) not in text and len(text) < 8_000
  found, = collected.read_all(tmp_path / 'out')
  assert found['commit'] == 'abc, def'
  here, there = found['cores'].split(', ')
  assert int(here) >= 1 and there == '3'
  assert found['versions']['dear_jax'] == '0.0.0'
  assert found['versions']['dm-clrs'] is None
  assert found['steps_a_second'] == {'first': 5.0, 'last': 2.5}
  assert found['steps_a_processor_second'] == {'first': 10.0, 'last': 10.0}
  assert found['settings']['align_to'] == 'nar'
  assert '--align_to=RUNS/nar_bfs_seed1' in found['command']
  assert [x['size'] for x in found['evaluation']] == [16, 64, 128]
  lines = [json.loads(x) for x in
           (folder / 'metrics.jsonl').read_text().splitlines()]
  train = [x for x in lines if x['split'] == 'train']
  for part, some in (('all', train), ('last_tenth', train[-30:])):
    for name in ('solver_steps_mean', 'converged', 'backward_converged'):
      assert found['solver'][part][name] == pytest.approx(
          np.mean([x[name] for x in some]), rel=1e-5)
  assert found['spectral_radius'] == pytest.approx(
      [x for x in lines if x['split'] == 'val'][-1]['spectral_radius'], 1e-5)
  loss = found['train_loss']
  assert len(loss['steps']) == len(loss['values']) == 100
  assert loss['steps'][:2] == [30, 60] and loss['steps'][-1] == 3000
  assert loss['values'][0] == pytest.approx(
      np.mean([x['task_loss'] for x in train[:3]]), rel=1e-5)


def test_a_run_whose_times_are_not_known(tmp_path):
  entry, = campaigns.rows('some', ('bfs',), train_steps=600)
  run_folders.write(tmp_path / entry.name, algorithms=('bfs',), seed=1)
  found = collected.collect(entry, tmp_path)
  assert found['steps_a_second'] is None
  assert found['steps_a_processor_second'] is None
  assert found['commit'] is None and found['evaluation'] is None
