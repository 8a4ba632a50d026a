# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the reading of run folders, and of the charts and the page."""

import html.parser
import json
import pathlib
import re
from xml.etree import ElementTree

from dear_jax import checkpoints
from dear_jax import report_charts
from dear_jax import report_page
from dear_jax import report_style
from dear_jax import report_svg
from dear_jax import reports
import numpy as np
import pytest
from tests import run_folders

SVG = '{http://www.w3.org/2000/svg}'


def chart_of(*lines, **options):
  """A chart of lines, given as pairs of xs and ys."""
  lines = tuple(
      report_charts.Line(f'line {i}', i, tuple(np.array(x, float)
                                               for x in points))
      for i, points in enumerate(lines))
  return report_charts.Chart(**{**dict(
      title='Title', note='Note.', x_label='step', y_label='loss',
      lines=lines), **options})


def paths_of(chart, kind='main'):
  """The points of the paths of a chart, in the units of the inner picture."""
  root = ElementTree.fromstring(report_svg.draw(chart, 'c'))
  return [[tuple(map(float, pair.split(',')))
           for pair in re.findall(r'[-\d.]+,[-\d.]+', path.get('d'))]
          for path in root.iter(f'{SVG}path')
          if kind in path.get('class').split()]


class TestReading:

  def test_a_finished_run(self, tmp_path):
    folder = run_folders.write(tmp_path / 'a', seed=7)
    run = reports.read_run(folder)
    assert (run.label, run.algorithms, run.model) == ('a', ('bfs',), 'dear')
    assert run.config['seed'] == 7 and run.versions == run_folders.VERSIONS
    assert (run.status, run.step) == ('finished', 600)
    steps, losses = reports.series(run, 'train', 'task_loss', 'bfs')
    assert steps.tolist() == list(range(10, 601, 10))
    assert losses[0] > losses[-1]
    assert len(reports.series(run, 'val', 'score', 'bfs')[0]) == 12
    assert not run.notes and not run.unreadable
    numbers = reports.final_numbers(run, 'bfs')
    assert numbers['best_step'] == 600
    assert numbers['test_score'] == run.result['test']['bfs']
    assert (numbers['test_steps'], numbers['seconds']) == (7.5, 123.4)
    # Nobody has measured an interval.
    assert 'test_low' not in numbers
    (text, command), = reports.missing(run)
    assert 'accuracy by size' in text
    assert command == f'python experiments/evaluate.py {folder}'

  def test_an_evaluation_gives_the_interval_of_the_same_score(self, tmp_path):
    run = reports.read_run(run_folders.write(tmp_path, is_evaluated=True))
    numbers = reports.final_numbers(run, 'bfs')
    assert numbers['test_low'] == pytest.approx(numbers['test_score'] - 0.02)
    assert not reports.missing(run)
    run.evaluation['sizes'][1]['score'] += 0.1
    assert 'test_low' not in reports.final_numbers(run, 'bfs')
    run.evaluation['overridden'].append('tol')
    assert 'with another tol' in reports.missing(run)[0][0]

  def test_a_run_that_is_going_on(self, tmp_path):
    run = reports.read_run(run_folders.write(tmp_path, is_over=False))
    assert run.status == 'at step 600 of 1,200'
    assert 'test_score' not in reports.final_numbers(run, 'bfs')
    assert reports.best_step(run) == 600
    (text, command), _ = reports.missing(run)
    assert 'still going, or was stopped' in text
    assert command.endswith(f'--workdir={tmp_path} --resume')

  def test_lines_that_are_cut_short_or_make_no_sense(self, tmp_path):
    run_folders.write(tmp_path, lines=20)
    with (tmp_path / 'metrics.jsonl').open('ab') as f:
      f.write(b'[1, 2]\n7\n{"step": 3}\n\n\xff\xfe\n')
      f.write(b'{"split": "train", "step": "x", "algorithm": "bfs"}\n')
      f.write(b'{"split": "train", "step": 210, "algorithm": "bfs", "task_lo')
    run = reports.read_run(tmp_path)
    assert run.unreadable == 6 and run.step == 200
    assert '6 lines' in run.notes[0]

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
    first, second = (reports.final_numbers(run, x) for x in ('bfs', 'dfs'))
    assert first['val_loss'] != second['val_loss']
    # The last validation is being written.
    lines = [x for x in run.lines if (x['step'], x['split'], x['algorithm'])
             != (600, 'val', 'dfs')]
    (tmp_path / 'metrics.jsonl').write_text(
        '\n'.join(map(json.dumps, lines)))
    assert reports.best_step(reports.read_run(tmp_path)) == 550

  def test_settings_of_another_version_and_files_of_another_kind(
      self, tmp_path):
    run_folders.write(tmp_path)
    stored = checkpoints.read_json(tmp_path, 'config.json')
    stored['config']['warp'] = 9
    checkpoints.write_json(tmp_path, 'config.json', stored)
    (tmp_path / 'evaluation.json').write_text('[]')
    (tmp_path / 'result.json').write_text('{')
    run = reports.read_run(tmp_path)
    assert reports.command(run) is None
    assert reports.changed_settings(run)['warp'] == 9
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
    assert (run.unreadable, run.step) == (6, 110)
    assert run.algorithms == ('bfs',) and run.model == 'dear'
    assert np.isnan(reports.series(run, 'train', 'task_loss', 'bfs')[1][-1])
    text = report_page.build([run])
    assert 'Score by size' in text and 'at 32.' in text

  def test_what_is_no_run_is_named_in_a_sentence(self, tmp_path):
    with pytest.raises(checkpoints.RunError, match='there is no such folder'):
      reports.read_run(tmp_path / 'no')
    with pytest.raises(checkpoints.RunError, match='it has no config.json'):
      reports.read_run(tmp_path)
    (tmp_path / 'config.json').write_text('[]')
    with pytest.raises(checkpoints.RunError, match='holds no settings'):
      reports.read_run(tmp_path)
    run_folders.write(tmp_path, lines=5)
    for damage in (lambda path: path.write_text('\n'), pathlib.Path.unlink):
      damage(tmp_path / 'metrics.jsonl')
      with pytest.raises(checkpoints.RunError, match='has no metrics'):
        reports.read_run(tmp_path)


class TestSeries:

  def test_running_mean_skips_gaps(self):
    values = np.array([1, np.nan, 3, 5])
    np.testing.assert_array_equal(
        reports.running_mean(values, 3), [1, np.nan, 4, 4])
    np.testing.assert_array_equal(reports.running_mean(values, 1), values)

  def test_windows_cover_the_same_steps(self):
    often, seldom = np.arange(0, 3001, 10.), np.arange(0, 3001, 50.)
    short = np.arange(0, 301, 10.)
    assert reports.window_of(often, 3000) == 11
    assert reports.window_of(seldom, 3000) == 3
    assert reports.window_of(short, 3000) == 11
    assert reports.window_of(short, 300) == 1
    assert reports.window_of(often[:1], 3000) == 1

  def test_thinning(self):
    xs = np.arange(10_000.)
    ys = np.ones(10_000)
    ys[1234], ys[4321] = 50, -50
    few = reports.thin((xs, ys))
    assert len(few[0]) == 300 and (few[0][0], few[0][-1]) == (0, 9999)
    few = reports.thin_extremes((xs, ys))
    assert len(few[0]) <= 300
    assert few[1].max() == 50 and few[1].min() == -50
    assert few[0][few[1].argmax()] == 1234
    assert (np.diff(few[0]) > 0).all()
    ys[:5000] = np.nan
    assert np.isnan(reports.thin_extremes((xs, ys))[1]).any()
    assert reports.thin((xs[:5], ys[:5]))[0].tolist() == [0, 1, 2, 3, 4]

  def test_hold_last(self):
    nan = np.nan
    residuals = np.array([[1., 1., nan], [.5, nan, nan], [.1, nan, nan]])
    np.testing.assert_array_equal(
        report_charts.hold_last(residuals),
        [[1., 1., nan], [.5, 1., nan], [.1, 1., nan]])


class TestSettings:

  def test_what_differs(self, tmp_path):
    runs = [reports.read_run(run_folders.write(
        tmp_path / str(i), cgp=bool(i), train_sizes=(8, 8 + i)))
            for i in range(2)]
    differing = reports.differing_settings(runs)
    assert differing == {'cgp': [False, True],
                         'train_sizes': [(8, 8), (8, 9)]}
    assert set(reports.changed_settings(runs[0])) == {
        'train_sizes', 'train_steps'}

  def test_the_command_is_for_a_shell(self, tmp_path):
    run = reports.read_run(run_folders.write(
        tmp_path, algorithms=('dfs',), model='nar', test_steps=64,
        train_sizes=(8, 8), use_ln=False, align_weight=3e-5,
        init_from="my runs/$HOME's"))
    assert reports.command(run) == (
        'python experiments/run.py --algorithm=dfs --model=nar --processor=pgn '
        '--test_steps=64 --train_steps=600 --train_lengths=8 --nouse_ln '
        """--align_weight=3e-05 '--init_from=my runs/$HOME'"'"'s'""")


class TestAxes:

  @pytest.mark.parametrize('low, high, ticks', [
      (0, 2000, [0, 500, 1000, 1500, 2000]), (0.3, 0.52, [0.3, 0.35, 0.4, 0.45,
                                                     0.5]),
      (0, 7, [0, 2, 4, 6]), (-1, 1, [-1, -0.5, 0, 0.5, 1]),
  ])
  def test_ticks_are_round(self, low, high, ticks):
    assert report_svg.nice_ticks(low, high) == pytest.approx(ticks)

  def test_log_axis(self):
    axis = report_svg.y_axis(chart_of(([1, 2], [100, 0.01]), y_scale='log'))
    assert axis.log
    assert [text for _, text in axis.ticks] == ['0.01', '0.1', '1', '10', '100']
    assert axis.place(1) == pytest.approx(0.5)
    # What has no logarithm is at the lower edge, and a gap stays one.
    assert axis.place([0, -1]).tolist() == [0, 0]
    assert np.isnan(axis.place(np.nan))

  @pytest.mark.parametrize('values, bottom', [
      ([1, 1], 0), ([0.98, 0.99], 0.9), ([0.7, 0.9], 0.7), ([0.1, 0.9], 0)])
  def test_shares_end_at_one(self, values, bottom):
    axis = report_svg.y_axis(chart_of(([1, 2], values), y_scale='percent'))
    assert axis.ticks[-1] == (1, '100\N{NO-BREAK SPACE}%')
    assert axis.low == pytest.approx(bottom, abs=0.02)

  def test_a_single_value_has_an_axis(self):
    for scale in ('linear', 'zero', 'log', 'share'):
      for value in (0., 1e-9, 0.5, 1., 1e9):
        chart = chart_of(([5], [value]), y_scale=scale)
        axis = report_svg.y_axis(chart)
        assert axis.low < axis.high and axis.ticks
        assert np.isfinite(axis.place(value))
        assert 0 <= report_svg.x_axis(chart).place(5) <= 1

  def test_a_single_value_near_zero_does_not_squeeze_the_rest(self):
    xs = np.arange(1., 301)
    noisy = 1 + 0.5 * np.sin(xs)
    noisy[7] = 1e-9
    line = report_charts.Line('a', 0, (xs, np.ones(300)), faint=((xs, noisy),))
    chart = chart_of(lines=(line,), y_scale='log')
    axis = report_svg.y_axis(chart)
    assert 0.3 < axis.low < 0.51 and 1.49 < axis.high < 2
    (faint,) = paths_of(chart, 'faint')
    assert len(faint) == 300 and max(y for _, y in faint) > 1000
    linear = chart_of(lines=(line,))
    assert report_svg.y_axis(linear).low < 1e-9

  def test_a_far_level_does_not_squeeze_the_rest(self):
    near = chart_of(([1, 2], [0.2, 4]), y_scale='log', level=(0.1, 'x'))
    far = chart_of(([1, 2], [0.2, 4]), y_scale='log', level=(1e-6, 'x'))
    assert report_svg.y_axis(near).low < 0.1
    assert report_svg.y_axis(far).low > 0.1
    assert 'class="level"' in report_svg.draw(near, 'c')
    assert 'class="level"' not in report_svg.draw(far, 'c')


class TestDrawing:

  def test_points_are_where_they_belong(self):
    chart = chart_of(([0, 500, 1000], [0, 5, 10]), ([0, 1000], [10, 10]),
                     y_scale='zero')
    first, second = paths_of(chart)
    right = 1000 / 1.015  # the axis ends a little later
    top = 1000 - 1000 / 1.05
    np.testing.assert_allclose(first, [
        (0, 1000), (right / 2, (1000 + top) / 2), (right, top)], atol=0.1)
    np.testing.assert_allclose(second, [(0, top), (right, top)], atol=0.1)

  def test_gaps_and_lonely_points(self):
    chart = chart_of(([1, 2, 3, 4, 5], [1, np.nan, 3, 4, np.nan]))
    root = ElementTree.fromstring(report_svg.draw(chart, 'c'))
    path, = root.iter(f'{SVG}path')
    assert path.get('d').count('M') == 2 and path.get('d').count('L') == 1
    dot, = root.iter(f'{SVG}circle')  # the first point has no line
    assert dot.get('cy') == '95.45%'

  def test_bands_intervals_and_marks(self):
    points = np.array([1., 2.]), np.array([3., 4.])
    line = report_charts.Line(
        'a', 0, points, low=points[1] - 1, high=points[1] + 1, mark=(2., 4.),
        faint=(points, points))
    chart = chart_of(lines=(line,))
    (band,), faint = paths_of(chart, 'band'), paths_of(chart, 'faint')
    assert len(band) == 4 and len(faint) == 2
    root = ElementTree.fromstring(report_svg.draw(chart, 'c'))
    assert [x.get('class') for x in root.iter(f'{SVG}circle')] == ['mark']
    dots = chart_of(lines=(line,), with_dots=True)
    root = ElementTree.fromstring(report_svg.draw(dots, 'c'))
    assert len([x for x in root.iter(f'{SVG}line')
                if x.get('class') == 'interval']) == 2
    assert not paths_of(dots, 'band')

  def test_what_is_read_aloud(self):
    chart = chart_of(([10, 3000], [2, 0.5]), title='Loss')
    root = ElementTree.fromstring(report_svg.draw(chart, 'c'))
    assert root.get('role') == 'img'
    assert root.get('aria-labelledby') == 'c-t c-d'
    title, desc = root.find(f'{SVG}title'), root.find(f'{SVG}desc')
    assert (title.get('id'), title.text) == ('c-t', 'Loss')
    assert desc.text == ('loss against step. line 0: 2 at 10, 0.5 at 3,000.')

  def test_lines_stand_out_from_the_background(self):
    def luminance(colour):
      rgb = np.array([int(colour[i:i + 2], 16) for i in (1, 3, 5)]) / 255
      return np.where(rgb <= 0.04045, rgb / 12.92,
                      ((rgb + 0.055) / 1.055)**2.4) @ [0.2126, 0.7152, 0.0722]
    light, dark = re.findall(r'--card: (#\w+)', report_style.STYLE)
    for i in range(report_svg.COLOURS):
      on_light, on_dark = re.findall(rf'--c{i}:(#\w+)', report_style.STYLE)
      assert on_light == report_style.PALETTE[i]
      assert luminance(light) + 0.05 > 3 * (luminance(on_light) + 0.05)
      assert luminance(on_dark) + 0.05 > 3 * (luminance(dark) + 0.05)

  def test_every_style_is_its_own(self):
    styles = [(report_svg.colour_of(i), report_svg.dash_of(i))
              for i in range(32)]
    assert len(set(styles)) == 32

  def test_intervals_of_several_lines_stand_side_by_side(self):
    points = np.array([1., 2.]), np.array([3., 4.])
    line = report_charts.Line('a', 0, points, low=points[1], high=points[1])
    chart = chart_of(lines=(line,) * 3, with_dots=True)
    assert [report_svg.shift(chart, i) for i in range(3)] == [-6, 0, 6]
    chart = chart_of(lines=(line,) * 3)
    assert not any(report_svg.shift(chart, i) for i in range(3))


class TestCharts:

  def titles(self, runs, traces=None):
    return [[chart.title for section in report_charts.sections(
        entries, traces or {}) for chart in section.charts]
            for _, entries in report_charts.groups(runs)]

  def test_dear_and_nar_share_charts(self, tmp_path):
    runs = [reports.read_run(run_folders.write(tmp_path / x, model=x))
            for x in ('nar', 'dear')]
    (_, entries), = report_charts.groups(runs)
    charts = {chart.title: chart
              for section in report_charts.sections(entries, {})
              for chart in section.charts}
    for name in ('Training loss', 'Validation loss', 'Steps in training',
                 'Score by size'):
      assert [line.label for line in charts[name].lines] == ['nar', 'dear']
    # Only one of them solves; its style stays its own.
    line, = charts['Converged in training'].lines
    assert (line.label, line.style) == ('dear', 1)
    assert charts['Training loss'].y_scale == 'log'
    best, = {line.mark[0] for line in charts['Validation loss'].lines}
    assert best == 600
    assert charts['Score by size'].note == (
        'Only the test score is known of nar, dear.')
    assert 'Residual per iteration' not in charts

  def test_residuals(self, tmp_path):
    run = reports.read_run(run_folders.write(tmp_path))
    residuals = np.array([[1., 0.5, np.inf], [0.3, 0.05, np.inf],
                          [0.05, np.nan, np.inf]])
    (_, entries), = report_charts.groups([run])
    chart, = (chart for section in report_charts.sections(
        entries, {run.label: residuals}) for chart in section.charts
              if chart.title == 'Residual per iteration')
    line, = chart.lines
    np.testing.assert_allclose(line.points[0], [1, 2, 3])
    np.testing.assert_allclose(line.points[1], [0.75, 0.175, 0.05])
    assert [len(xs) for xs, _ in line.faint] == [3, 2, 0]
    assert chart.level == (0.1, 'tolerance 0.1')

  def test_what_evaluate_has_measured(self, tmp_path):
    run = reports.read_run(run_folders.write(tmp_path, is_evaluated=True))
    titles, = self.titles([run])
    assert titles[-4:] == ['Score by size', 'Steps by size',
                           'Score by tolerance', 'Score by iteration limit']

  def test_algorithms_of_one_run_and_of_several(self, tmp_path):
    two = reports.read_run(run_folders.write(
        tmp_path / 'two', algorithms=('bfs', 'dfs')))
    (heading, entries), = report_charts.groups([two])
    assert not heading and [x.label for x in entries] == ['bfs', 'dfs']
    one = reports.read_run(run_folders.write(tmp_path / 'one',
                                             algorithms=('dfs',)))
    groups = dict(report_charts.groups([two, one]))
    assert [x.label for x in groups['bfs']] == ['two']
    assert [(x.label, x.style) for x in groups['dfs']] == [('two', 0),
                                                           ('one', 1)]
    assert report_charts.legend([two, one]) == [(0, 'two'), (1, 'one')]


class Page(html.parser.HTMLParser):
  """The tags and texts of a page."""

  VOID = {'meta', 'input', 'br'}

  def __init__(self, text):
    super().__init__()
    self.tags, self.texts, self._open = [], [], []
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


class TestPage:

  def test_everything_from_files_is_escaped(self, tmp_path):
    evil = '<script>alert("1")</script>&\x00\udcff'
    run = reports.read_run(run_folders.write(tmp_path, is_over=False), evil)
    run.config['seed'] = '<img src=x onerror=alert(2)>'
    run.config['<u>'] = '"><b>'
    run.versions['<i>'] = '</style>'
    for line in run.lines:
      line['algorithm'] = "<a href='x'>"
    text = report_page.build([run, run], made='<b>now</b>',
                             remarks={evil: ['<em>']})
    page = Page(text)
    text.encode('utf-8')
    assert {'script', 'style'} <= {tag for tag, _ in page.tags}
    assert sum(tag == 'script' for tag, _ in page.tags) == 1
    assert not {'img', 'u', 'b', 'i', 'em'} & {tag for tag, _ in page.tags}
    links = [attrs['href'] for tag, attrs in page.tags if tag == 'a']
    assert all(link.startswith('#part-') for link in links)
    shown = evil.replace('\x00', '\ufffd').replace('\udcff', '\ufffd')
    assert shown in page.texts

  def test_needs_nothing_else(self, tmp_path):
    text = report_page.build([reports.read_run(run_folders.write(tmp_path))])
    page = Page(text)
    assert not {'link', 'img', 'iframe', 'object', 'base'} & {
        tag for tag, _ in page.tags}
    assert not any({'src', 'srcset', 'action'} & set(attrs)
                   for _, attrs in page.tags)
    assert not re.search(r'@import|url\(', text)
    assert set(re.findall(r'https?://[^"\']*', text)) == {
        'http://www.w3.org/2000/svg'}
    assert any("default-src 'none'" in (attrs.get('content') or '')
               for _, attrs in page.tags)

  def test_identifiers_and_links_fit(self, tmp_path):
    runs = [reports.read_run(run_folders.write(tmp_path / x, model=x))
            for x in ('nar', 'dear')]
    page = Page(report_page.build(runs))
    names = [attrs['id'] for _, attrs in page.tags if 'id' in attrs]
    assert len(set(names)) == len(names)
    for _, attrs in page.tags:
      assert attrs.get('href', '#part-0')[1:] in names
      for name in attrs.get('aria-labelledby', '').split():
        assert name in names
    headings = [tag for tag, _ in page.tags if tag in ('h1', 'h2', 'h3')]
    assert headings[:2] == ['h1', 'h2'] and headings.count('h1') == 1

  def test_tables(self, tmp_path):
    runs = [reports.read_run(run_folders.write(
        tmp_path / x, model=x, seed=i, is_evaluated=not i))
            for i, x in enumerate(('nar', 'dear'))]
    text = report_page.build(runs)
    low, high = (reports.final_numbers(runs[0], 'bfs')[x]
                 for x in ('test_low', 'test_high'))
    assert f'[{low:.3f}, {high:.3f}]' in text
    assert text.count('class=best') >= 3
    rows = re.findall(r'<tr class="differs">.*?<code>(\w+)</code>', text)
    assert set(rows) == {'model', 'processor', 'seed'}
    for run in runs:
      assert reports.command(run) in text
    assert 'jax 0.6.0' in text and '2m03s' in text
    assert 'python experiments/evaluate.py' in text

  def test_versions_that_differ_are_told(self, tmp_path):
    runs = [reports.read_run(run_folders.write(tmp_path / x)) for x in 'ab']
    assert 'different versions' not in report_page.build(runs)
    runs[1].versions['jax'] = '9'
    assert 'different versions of jax' in report_page.build(runs)
