# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the reading of run folders, and of the charts and the page."""

import dataclasses
import html.parser
import json
import re

from dear_jax import reports
from dear_jax.reports import charts
from dear_jax.reports import page
from dear_jax.reports import png
from dear_jax.reports import run_data
from dear_jax.training import checkpoints
from matplotlib import figure
import numpy as np
import pytest
from tests import run_folders

PNG = b'\x89PNG\r\n\x1a\n'


def charts_of(runs, traces=None):
  """The charts of runs on one algorithm, by their titles."""
  return {chart.title: chart
          for found in charts.of_runs(runs, traces or {}).values()
          for chart in found}


def chart_of(*lines, **options):
  """A chart of lines, given as pairs of xs and ys."""
  lines = tuple(
      charts.Line(charts.Style(f'line {i}', i),
                  tuple(np.array(x, float) for x in points))
      for i, points in enumerate(lines))
  return charts.Chart(**{**dict(title='Title', note='Note.', x_label='step',
                                y_label='loss', lines=lines), **options})


class TestReading:

  def test_a_finished_run(self, tmp_path):
    folder = run_folders.write(tmp_path / 'a', seed=7)
    run = reports.read_run(folder)
    assert (run.label, run.algorithms, run.is_dear) == ('a', ('bfs',), True)
    assert run.config['seed'] == 7 and run.versions == run_folders.VERSIONS
    assert run.status == 'finished'
    steps, losses = reports.series(run, 'train', 'task_loss', 'bfs')
    assert steps.tolist() == list(range(10, 601, 10))
    assert losses[0] > losses[-1]
    assert len(reports.series(run, 'val', 'score', 'bfs')[0]) == 12
    assert not run.notes
    numbers = run_data.final_numbers(run, 'bfs')
    assert numbers['kept_step'] == 600
    assert numbers['test_score'] == run.result['test']['bfs']
    assert (numbers['test_steps'], numbers['seconds']) == (7.5, 123.4)
    # What is kept need not be the best.
    run.result['kept_step'] = 550
    assert run_data.kept_step(run) == 550
    # Nobody has measured an interval.
    assert 'test_low' not in numbers
    (text, command), = run_data.missing(run)
    assert 'accuracy by size' in text
    assert command == f'python experiments/evaluate.py {folder}'

  def test_an_evaluation_gives_the_interval_of_the_same_score(self, tmp_path):
    run = reports.read_run(run_folders.write(tmp_path, is_evaluated=True))
    numbers = run_data.final_numbers(run, 'bfs')
    assert numbers['test_low'] == pytest.approx(numbers['test_score'] - 0.02)
    assert not run_data.missing(run)
    run.evaluation['sizes'][1]['score'] += 0.1
    assert 'test_low' not in run_data.final_numbers(run, 'bfs')
    run.evaluation['overridden'].append('tol')
    text, command = run_data.missing(run)[0]
    assert "other settings (['tol'])" in text and 'evaluate.py' in command

  def test_an_evaluation_of_other_parameters_is_left_out(self, tmp_path):
    run = reports.read_run(run_folders.write(tmp_path, is_evaluated=True))
    run.evaluation['kept_step'] = run.result['kept_step'] = 600
    assert run_data.evaluation_rows(run, 'sizes')
    assert not run_data.missing(run)
    run.evaluation['kept_step'] -= 10  # the run was resumed since
    assert not run_data.evaluation_rows(run, 'sizes')
    (text, command), = run_data.missing(run)
    assert 'of other parameters' in text and 'evaluate.py' in command

  def test_a_run_that_is_going_on(self, tmp_path):
    run = reports.read_run(run_folders.write(tmp_path, is_over=False))
    assert run.status == 'at step 600 of 1200'
    assert 'test_score' not in run_data.final_numbers(run, 'bfs')
    assert run_data.kept_step(run) == 600
    (text, command), _ = run_data.missing(run)
    assert 'still going, or was stopped' in text
    assert command.endswith(f'--workdir={tmp_path} --resume')

  def test_lines_that_are_cut_short_or_make_no_sense(self, tmp_path):
    run_folders.write(tmp_path, lines=20)
    with (tmp_path / 'metrics.jsonl').open('ab') as f:
      f.write(b'[1, 2]\n7\n{"step": 3}\n\n\xff\xfe\n')
      f.write(b'{"split": "train", "step": "x", "algorithm": "bfs"}\n')
      f.write(b'{"split": "train", "step": 210, "algorithm": "bfs", "task_lo')
    run = reports.read_run(tmp_path)
    assert max(reports.series(run, 'train', 'task_loss', 'bfs')[0]) == 200
    assert 'Left out: 6 of the lines' in run.notes[0]
    assert (run.notes[0], '') in run_data.missing(run)

  def test_null_is_a_gap_and_later_lines_count(self, tmp_path):
    run_folders.write(tmp_path, lines=5)
    with (tmp_path / 'metrics.jsonl').open('a') as f:
      for step, value in ((20, None), (30, 'x'), (10, 4)):
        f.write(json.dumps(dict(split='train', step=step, algorithm='bfs',
                                task_loss=value)) + '\n')
    steps, values = reports.series(reports.read_run(tmp_path), 'train',
                                   'task_loss', 'bfs')
    assert steps.tolist() == [10, 20, 30, 40, 50]
    assert np.isnan(values).tolist() == [False, True, True, False, False]
    assert values[0] == 4

  def test_several_algorithms(self, tmp_path):
    run = reports.read_run(run_folders.write(
        tmp_path, algorithms=('bfs', 'dfs'), is_over=False))
    first, second = (run_data.final_numbers(run, x) for x in ('bfs', 'dfs'))
    assert first['val_loss'] != second['val_loss']
    # The last validation is being written.
    lines = [line for key, lines in run.lines.items() for line in lines
             if (key, line['step']) != (('val', 'dfs'), 600)]
    (tmp_path / 'metrics.jsonl').write_text(
        '\n'.join(map(json.dumps, lines)))
    assert run_data.kept_step(reports.read_run(tmp_path)) == 550

  def test_settings_of_another_version_and_files_of_another_kind(
      self, tmp_path):
    run_folders.write(tmp_path)
    stored = checkpoints.read_json(tmp_path, 'config.json')
    stored['config']['warp'] = 9
    checkpoints.write_json(tmp_path, 'config.json', stored)
    (tmp_path / 'evaluation.json').write_text('[]')
    (tmp_path / 'result.json').write_text('{')
    run = reports.read_run(tmp_path)
    assert run_data.command(run) is None
    assert run_data.settings([run])['warp'] == ('None', ['9'])
    assert len(run.notes) == 3 and 'result.json' in run.notes[1]
    assert run.result is None and run.evaluation is None

  def test_nonsense_in_files_is_left_out(self, tmp_path):
    run_folders.write(tmp_path, lines=10, is_evaluated=True)
    for name, value in (
        ('config.json', dict(algorithms=5, model=[], train_sizes='x',
                             test_size={}, train_steps='many')),
        ('result.json', dict(test=3, best_step='x', seconds=[], test_size=64)),
        ('evaluation.json', dict(overridden=7, sizes=[
            3, dict(size=-1, score=1), dict(size='x', score=0.5),
            dict(size=64, score=10**400), dict(size=32, score=0.5)]))):
      checkpoints.write_json(tmp_path, name, dict(config=value, versions=3)
                             if name == 'config.json' else value)
    with (tmp_path / 'metrics.jsonl').open('a') as f:
      for values in (dict(step=True), dict(step=-10), dict(split=['train']),
                     dict(algorithm=None), dict(step=1e400),
                     dict(step=10**400)):
        f.write(json.dumps(dict(dict(split='train', step=110, algorithm='bfs'),
                                **values)) + '\n')
      f.write(json.dumps(dict(split='train', step=110, algorithm='bfs',
                              task_loss=1e300, converged='all')) + '\n')
    run = reports.read_run(tmp_path)
    assert 'Left out: 6 of' in ''.join(run.notes)
    assert run.algorithms == ('bfs',) and run.is_dear
    assert np.isnan(reports.series(run, 'train', 'task_loss', 'bfs')[1][-1])
    text = page.build([run], {}, {}, '')
    assert 'Score by size' in text and 'score: 0.5 in the end' in text

  def test_what_is_no_run_is_named_in_a_sentence(self, tmp_path):
    with pytest.raises(checkpoints.RunError, match='it has no config.json'):
      reports.read_run(tmp_path)
    (tmp_path / 'config.json').write_text('[]')
    with pytest.raises(checkpoints.RunError, match='holds no settings'):
      reports.read_run(tmp_path)
    run_folders.write(tmp_path, lines=5)
    for damage in (lambda path: path.write_text('\n'), lambda x: x.unlink()):
      damage(tmp_path / 'metrics.jsonl')
      with pytest.raises(checkpoints.RunError, match='has no metrics'):
        reports.read_run(tmp_path)


class TestSeries:

  def test_neighbours_are_taken_together(self):
    xs = np.arange(10., 6010, 10)
    ys = np.where(xs > 3000, 2., 1.)
    ys[::10] += 1
    (steps, means), (low, high), width = run_data.summarise((xs, ys), 6000)
    assert len(steps) == 60 and width == 100
    np.testing.assert_allclose(means, np.repeat([1.1, 2.1], 30))
    np.testing.assert_allclose(low, np.repeat([1, 2], 30))
    assert (low <= means).all() and (means <= high).all()
    assert (steps[0], steps[-1]) == (55, 5955)

  def test_all_that_is_compared_is_taken_together_alike(self):
    xs = np.arange(10., 610, 10)
    assert run_data.summarise((xs, xs), 600)[1:] == (None, 0)
    (steps, _), _, width = run_data.summarise((xs, xs), 6000)
    assert len(steps) == 6 and width == 100
    for short in (xs[:1], xs[:1] * 0):
      assert run_data.summarise((short, short), 10)[0][0] is short

  def test_gaps_stay(self):
    xs, ys = np.arange(1., 601), np.ones(600)
    ys[100:200] = np.nan
    ys[5] = np.nan
    (steps, means), (low, _), _ = run_data.summarise((xs, ys), 600)
    is_gap = (steps > 100) & (steps <= 200)
    assert np.isnan(means[is_gap]).all() and np.isnan(low[is_gap]).all()
    assert (means[~is_gap] == 1).all()


class TestSettings:

  def test_what_differs(self, tmp_path):
    runs = [reports.read_run(run_folders.write(
        tmp_path / str(i), cgp=bool(i), train_sizes=(8, 8 + i)))
            for i in range(2)]
    settings = run_data.settings(runs)
    assert {name: x for name, x in settings.items() if set(x[1]) != {x[0]}} == {
        'cgp': ('False', ['False', 'True']),
        'train_sizes': ('8..16', ['8', '8..9']),
        'train_steps': ('10000', ['600', '600'])}
    assert len(settings) == len(runs[0].config)

  def test_the_command_is_for_a_shell(self, tmp_path):
    run = reports.read_run(run_folders.write(
        tmp_path, algorithms=('dfs',), model='nar', test_steps=64,
        train_sizes=(8, 8), use_ln=False, align_weight=3e-5,
        init_from="my runs/$HOME's"))
    assert run_data.command(run) == (
        'python experiments/run.py --algorithm=dfs --model=nar --processor=pgn '
        """--nouse_ln --train_steps=600 '--init_from=my runs/$HOME'"'"'s' """
        '--align_weight=3e-05 --train_lengths=8 --test_steps=64')


class TestCharts:

  @pytest.mark.parametrize('values, bottom', [
      ([1, 1], 0), ([0.98, 0.99], 0.88), ([0.7, 0.9], 0.68), ([0.1, 0.9], 0)])
  def test_shares_end_at_one(self, values, bottom):
    chart = chart_of(([1, 2], values), y_scale='percent')
    assert chart.y_range == pytest.approx((bottom, 1.02))
    assert chart_of(([1, 2], values)).y_range == (None, None)
    assert chart_of(([1, 2], values), y_scale='zero').y_range == (0, None)

  def test_every_style_is_its_own_and_stands_out(self):
    styles = [charts.Style('', i) for i in range(32)]
    assert len({(style.colour, style.dash) for style in styles}) == 32
    for colour in charts.COLOURS:
      rgb = np.array([int(colour[i:i + 2], 16) for i in (1, 3, 5)]) / 255
      luminance = np.where(rgb <= 0.04045, rgb / 12.92, (
          (rgb + 0.055) / 1.055)**2.4) @ [0.2126, 0.7152, 0.0722]
      # From white, and from the cards of the dark page.
      assert 1.05 > 3 * (luminance + 0.05) > 9 * (0.0123 + 0.05), colour

  def test_dear_and_nar_share_charts(self, tmp_path):
    runs = [reports.read_run(run_folders.write(
        tmp_path / x, model=x, is_evaluated=True)) for x in ('nar', 'dear')]
    found = charts_of(runs)
    for name in ('Training loss', 'Validation loss', 'Steps in training',
                 'Score by size', 'Score by tolerance, size 64'):
      assert [line.style.label for line in found[name].lines] == ['nar', 'dear']
    # Only one of them solves; its style stays its own.
    line, = found['Converged in training'].lines
    assert (line.style.label, line.style.number) == ('dear', 1)
    assert found['Training loss'].y_scale == 'log'
    best, = {line.mark[0] for line in found['Validation loss'].lines}
    assert best == 600
    assert found['Score by size'].span == (7.5, 16.5)
    assert found['Score by size'].x_label == 'size (grey: trained on)'
    assert 'Residual per iteration' not in found

  def test_single_values_of_long_runs_are_a_band(self, tmp_path):
    runs = [reports.read_run(run_folders.write(tmp_path / str(n), lines=n))
            for n in (60, 600)]
    chart = charts_of(runs)['Training loss']
    assert [len(line.points[0]) for line in chart.lines] == [6, 60]
    assert 'Means over 100 steps; bands are nine tenths' in chart.note
    for line in chart.lines:
      assert (line.ends[0] <= line.points[1]).all()
    chart = charts_of(runs[:1])['Training loss']
    assert chart.lines[0].ends is None and 'Means' not in chart.note

  def test_a_far_level_does_not_squeeze_the_rest(self, tmp_path):
    near, far = (charts_of([reports.read_run(run_folders.write(
        tmp_path / str(n), max_iter=n))])['Slowest instance'].level
                 for n in (20, 40))
    assert near == (20, 'limit 20') and far is None

  def test_residuals(self, tmp_path):
    run = reports.read_run(run_folders.write(tmp_path))
    nan = np.nan
    residuals = np.array([[1., 0.5, np.inf], [0.3, 0.05, nan],
                          [0.05, nan, nan]])
    chart = charts_of([run], {run.label: residuals})['Residual per iteration']
    line, = chart.lines
    np.testing.assert_allclose(line.points[0], [1, 2, 3])
    # One that is done keeps its residual, one that never had one is left out.
    np.testing.assert_allclose(line.points[1], [0.75, 0.175, 0.05])
    assert [np.isfinite(ys).sum() for _, ys in line.faint] == [3, 2, 0]
    assert chart.level == (0.1, 'tolerance 0.1')
    assert 'Residual per iteration' not in charts_of(
        [run], {run.label: residuals[:, 2:]})

  def test_what_evaluate_has_measured(self, tmp_path):
    run = reports.read_run(run_folders.write(tmp_path, is_evaluated=True))
    run.evaluation['settings'] = dict(tol=0.1, max_iter=160)
    found = charts_of([run])
    assert list(found)[-4:] == [
        'Score by size', 'Steps by size', 'Score by tolerance, size 64',
        'Score by iteration limit, size 64']
    assert [x.style.label for x in found['Steps by size'].lines] == [
        'mean', 'max']
    score, converged = found['Score by iteration limit, size 64'].lines
    np.testing.assert_allclose(score.ends, [[0.8] * 3, [0.95] * 3])
    assert converged.ends is None and converged.style.label == 'converged'
    chart = found['Score by tolerance, size 64']
    assert (chart.span, chart.x_scale) == ((0.1, 0.1), 'down')
    assert chart.x_label == 'tolerance (grey: in force)'
    assert chart.x_ticks == [0.01, 0.1, 0.3]
    assert chart.lines[0].ends is None  # nobody has measured them

  def test_families_of_graphs_and_reliability(self, tmp_path):
    runs = [reports.read_run(run_folders.write(tmp_path / name))
            for name in 'ab']
    row = lambda graphs, size, score: dict(
        graphs=graphs, size=size, score=score, low=score - 0.1, high=score)
    runs[0] = dataclasses.replace(runs[0], evaluation=dict(
        graphs=[row('path', 64, 0.3), row('path', 16, 0.5), row('er', 16, 1.)],
        reliability=dict(expected_error=0.1, bins=[
            dict(confidence=0.55, right=0.6), 3, dict(confidence='x', right=1),
            dict(confidence=0.97, right=0.8)])))
    found = charts_of(runs[:1])
    path, er = found['Score by family of graphs'].lines
    assert (path.style.label, er.style.label) == ('path', 'er')
    np.testing.assert_allclose(path.points, [[16, 64], [0.5, 0.3]])
    np.testing.assert_allclose(path.ends, [[0.4, 0.2], [0.5, 0.3]])
    line, ideal = found['Reliability'].lines
    np.testing.assert_allclose(line.points, [[0.55, 0.97], [0.6, 0.8]])
    np.testing.assert_allclose(*ideal.points)
    # Runs can be compared in the one chart, and would be too many in the other.
    runs[1] = dataclasses.replace(
        runs[1], evaluation=dict(reliability=dict(bins=5)))
    found = charts_of(runs)
    assert 'Score by family of graphs' not in found
    assert len(found['Reliability'].lines) == 2

  def test_algorithms_of_one_run_and_of_several(self, tmp_path):
    two = reports.read_run(run_folders.write(
        tmp_path / 'two', algorithms=('bfs', 'dfs')))
    (heading, entries), = charts.groups([two])
    assert not heading and [x.label for x in entries] == ['bfs', 'dfs']
    one = reports.read_run(run_folders.write(tmp_path / 'one',
                                             algorithms=('dfs',)))
    groups = dict(charts.groups([two, one]))
    assert [x.label for x in groups['bfs']] == ['two']
    assert [(x.label, x.number) for x in groups['dfs']] == [('two', 0),
                                                            ('one', 1)]
    assert list(charts.of_runs([two, one], {})) == [
        'bfs: Training', 'bfs: Equilibrium', 'dfs: Training',
        'dfs: Equilibrium']


class TestPictures:

  @pytest.mark.parametrize('scale, values, expected', [
      ('log', [0.3, 0.0301], ['0.05', '0.1', '0.2']),
      ('log', [0.39, 0.28], ['0.3', '0.36']),
      ('log', [20.0, 2e-6], ['0.0001', '0.01', '1']),
      ('percent', [1.0, 0.93], ['90%', '92%', '98%', '100%']),
      ('share', [1.0, 0.93], ['0.90', '1.00']),
  ])
  def test_ticks_are_plain_numbers(self, scale, values, expected):
    ax = figure.Figure().add_subplot()
    chart = chart_of(([1, 2], values), y_scale=scale)
    png._draw_chart(ax, chart)  # pylint:disable=protected-access
    ax.figure.draw_without_rendering()
    low, high = ax.get_ylim()
    texts = [x.get_text() for x, y in zip(ax.get_yticklabels(), ax.get_yticks())
             if low <= y <= high]
    assert set(expected) <= set(texts) and len(texts) < 10, texts
    assert not {'102%', '1.02'} & set(texts)

  def test_what_a_level_means_is_within_the_chart(self):
    for values, is_on_top in (([0.2, 0.9], True), ([0.2, 1.1], False)):
      chart = chart_of(([1, 2], values), level=(1.0, 'one'))
      assert chart.level_is_on_top == is_on_top
      ax = figure.Figure().add_subplot()
      png._draw_chart(ax, chart)  # pylint:disable=protected-access
      assert ax.texts[0].get_va() == ('top' if is_on_top else 'bottom')
      label = json.loads(page.draw(chart))['layout']['shapes'][0]['label']
      assert label['yanchor'] == ax.texts[0].get_va()

  def test_of_runs(self, tmp_path):
    two = reports.read_run(run_folders.write(
        tmp_path / 'two', algorithms=('bfs', 'dfs')), '_$x^_\udcff \u65e5')
    one = reports.read_run(run_folders.write(tmp_path / 'one',
                                             is_evaluated=True))
    bare = run_data.Run('', 'bare', {}, {('train', 'bfs'): [dict(step=1)]})
    residuals = np.array([[1.], [0.1], [np.nan]])
    for i, runs in enumerate(([one], [two], [one, two], [bare])):
      path = tmp_path / f'{i}.png'
      png.draw_runs(runs, {one.label: residuals}, str(path))
      assert path.read_bytes().startswith(PNG)
    assert not list(tmp_path.glob('*.tmp'))

  def test_a_run_that_has_only_just_begun(self, tmp_path):
    # Nothing of it has a logarithm, or is known at all.
    for value in (0., None, -1):
      run = run_data.Run(str(tmp_path), 'a', {}, {
          ('train', 'bfs'): [dict(step=0, task_loss=value, converged=value)]})
      (tmp_path / 'metrics.jsonl').write_text('')
      png.draw_runs([run], {}, str(tmp_path / 'a.png'))
      assert 'a vs a' in page.build([run, run], {}, {}, '')


class Page(html.parser.HTMLParser):
  """The tags and texts of a page, and the charts in it."""

  VOID = {'meta', 'input', 'br'}

  def __init__(self, text):
    super().__init__()
    self.tags, self.texts, self.charts, self._open = [], [], [], []
    self.feed(text)
    self.close()
    assert not self._open, self._open

  def handle_starttag(self, tag, attrs):
    self.tags.append((tag, dict(attrs)))
    if tag not in self.VOID:
      self._open.append(tag)

  def handle_startendtag(self, tag, attrs):
    self.tags.append((tag, dict(attrs)))

  def handle_endtag(self, tag):
    assert self._open.pop() == tag

  def handle_data(self, data):
    self.texts.append(data)
    if self.tags and self.tags[-1] == ('script', {'type': 'application/json'}):
      if self._open[-1] == 'script':
        self.charts.append(json.loads(data))


class TestPage:

  def test_everything_from_files_is_escaped(self, tmp_path):
    evil = '<script>alert("1")</script>&\udcff'
    run = reports.read_run(run_folders.write(tmp_path, is_over=False), evil)
    run.config['seed'] = '<img src=x onerror=alert(2)>'
    run.config['<u>'] = '"><b>'
    run.versions['<i>'] = '</style>'
    run.lines['val', "<a href='x'>"] = run.lines['val', 'bfs']
    text = page.build([run, run], {}, {evil: ['<em>']}, '<b>now</b>')
    found = Page(text)
    text.encode('utf-8')
    # The library and our own, and a chart each.
    assert sum(tag == 'script' for tag, _ in found.tags) == (
        2 + len(found.charts))
    assert not {'img', 'u', 'b', 'i', 'em'} & {tag for tag, _ in found.tags}
    links = [attrs['href'] for tag, attrs in found.tags if tag == 'a']
    assert all(link.startswith('#') for link in links)
    assert any(evil.replace('\udcff', '?') in text for text in found.texts)
    # Plotly would read tags.
    assert {trace['name'] for chart in found.charts for trace in chart['data']
            if 'name' in trace} == {
                '&lt;script&gt;alert(&#34;1&#34;)&lt;/script&gt;&amp;\udcff'}

  def test_needs_nothing_else(self, tmp_path):
    text = page.build([reports.read_run(run_folders.write(tmp_path))], {}, {},
                      '')
    found = Page(text)
    assert not {'link', 'img', 'iframe', 'object', 'base'} & {
        tag for tag, _ in found.tags}
    assert not any({'src', 'srcset', 'action'} & set(attrs)
                   for _, attrs in found.tags)
    style = text.split('<style>')[1].split('</style>')[0]
    assert not re.search(r'@import|url\(', style)
    assert text.count('plotly.js v') == 1
    policy, = (attrs['content'] for _, attrs in found.tags
               if attrs.get('http-equiv') == 'Content-Security-Policy')
    assert "default-src 'none'" in policy and 'http' not in policy

  def test_identifiers_and_links_fit(self, tmp_path):
    runs = [reports.read_run(run_folders.write(tmp_path / x, model=x))
            for x in ('nar', 'dear')]
    found = Page(page.build(runs, {}, {}, ''))
    names = [attrs['id'] for _, attrs in found.tags if 'id' in attrs]
    assert len(set(names)) == len(names)
    for _, attrs in found.tags:
      assert attrs.get('href', '#numbers')[1:] in names
    headings = [tag for tag, _ in found.tags if tag in ('h1', 'h2', 'h3')]
    assert headings[:2] == ['h1', 'h2'] and headings.count('h1') == 1

  def test_tables(self, tmp_path):
    runs = [reports.read_run(run_folders.write(
        tmp_path / x, model=x, seed=i, is_evaluated=not i))
            for i, x in enumerate(('nar', 'dear'))]
    text = page.build(runs, {}, {'dear': ['A remark.']}, 'Made now.')
    low, high = (run_data.final_numbers(runs[0], 'bfs')[x]
                 for x in ('test_low', 'test_high'))
    assert f'[{low:.3f}, {high:.3f}]' in text
    assert text.count('class="best"') >= 3
    rows = re.findall(r'<tr class="differs">.*?<code>(\w+)</code>', text)
    assert set(rows) == {'model', 'processor', 'seed'}
    text = text.replace('<span>', '').replace('</span>', '')  # between flags
    for run in runs:
      assert run_data.command(run) in text
    assert 'jax 0.6.0' in text and '2m03s' in text and '98.0%' in text
    assert 'python experiments/evaluate.py' in text
    assert 'val_size is 16. test_size is 64.' in text
    assert 'A remark.' in text and 'Made now.' in text
    # What is the default in all runs is there too.
    assert '<code>cgp=False</code>' in text

  def test_charts(self, tmp_path):
    run = reports.read_run(run_folders.write(tmp_path, lines=600,
                                             is_evaluated=True))
    residuals = np.array([[1.], [0.1], [np.nan]])
    found = Page(page.build([run], {run.label: residuals}, {}, ''))
    assert len(found.charts) == len(charts_of([run], {run.label: residuals}))
    loss = found.charts[0]
    band, line = loss['data']
    assert band['fill'] == 'toself' and line['name'] == run.label
    assert loss['layout']['yaxis']['type'] == 'log'
    assert found.charts[1]['data'][-1]['mode'] == 'markers'  # what is kept
    for chart in found.charts:
      assert chart['layout']['xaxis']['title']['text']
      assert chart['layout']['yaxis']['title']['text']
    by_limit = found.charts[-1]
    assert 'arrayminus' in by_limit['data'][0]['error_y']

  def test_versions_that_differ_are_told(self, tmp_path):
    runs = [reports.read_run(run_folders.write(tmp_path / x)) for x in 'ab']
    assert 'different versions' not in page.build(runs, {}, {}, '')
    runs[1].versions['jax'] = '9'
    assert 'different versions' in page.build(runs, {}, {}, '')
