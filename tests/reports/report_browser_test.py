# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Looks at the page of a report in a real browser, if there is one."""

import html
import json
import re
import shutil
import subprocess

from dear_jax import reports
from dear_jax.reports import page as report_page
import numpy as np
import pytest
from tests import run_folders

BROWSER = next(filter(None, map(shutil.which, (
    'chromium', 'chromium-browser', 'google-chrome'))), None)
pytestmark = pytest.mark.skipif(
    BROWSER is None, reason='There is no chromium on this machine, so nobody '
    'has looked at the page.')

NARROW, WIDE = 390, 1400

# A page with the report in a frame of either width: a window cannot be made as
# narrow as a telephone. What is found is written where --dump-dom shows it.
WRAPPER = '''<!DOCTYPE html><meta charset="utf-8"><title>frames</title>
<iframe width="{narrow}" height="800" src="report.html"></iframe>
<iframe width="{wide}" height="800" src="report.html"></iframe>
<pre id="found"></pre>
<script>
const box = e => {{
  const b = e.getBoundingClientRect();
  return [b.left, b.top, b.right, b.bottom].map(x => Math.round(10 * x) / 10);
}};
const wait = ms => new Promise(done => setTimeout(done, ms));
async function look(frame) {{
  const win = frame.contentWindow, doc = frame.contentDocument;
  const all = (parent, query) => [...parent.querySelectorAll(query)].filter(
      e => e.getClientRects().length);
  const style = (e, name) => win.getComputedStyle(e).getPropertyValue(name);
  const plot = doc.querySelector('.plot');
  plot.scrollIntoView();
  const hovers = [];
  for (const share of [0.02, 0.98]) {{
    const [low, high] = plot._fullLayout.xaxis.range;
    win.Plotly.Fx.hover(plot, {{xval: low + share * (high - low)}}, 'xy');
    await wait(300);
    hovers.push(all(plot, '.hoverlayer text').map(
        e => e.textContent).join(' '));
  }}
  const hover = plot.querySelector('.hoverlayer .bg');
  const tip = {{fill: style(hover, 'fill'), box: box(hover)}};
  win.Plotly.Fx.unhover(plot);
  const shown = () => all(doc, '.plot').map(
      e => e._fullData.filter(x => x.visible && x.legendgroup === '0').length);
  const check = doc.querySelector('#show-0');
  const before = shown();
  check.click();
  const hidden = shown();
  check.click();
  return {{
    width: win.innerWidth, labels: all(doc, '.runs label').map(
        e => e.textContent.trim()), hovers, tip, before, hidden, after: shown(),
    scroll: Math.max(doc.documentElement.scrollWidth, doc.body.scrollWidth),
    dark: win.matchMedia('(prefers-color-scheme: dark)').matches,
    requests: win.performance.getEntriesByType('resource').map(x => x.name),
    figures: all(doc, 'figure').map(figure => ({{
      box: box(figure), title: figure.querySelector('h3').textContent,
      plot: box(figure.querySelector('.main-svg')),
      lines: all(figure, '.scatterlayer .js-line').map(box),
      texts: all(figure, '.main-svg text').map(box),
      ticks: all(figure, '.xtick text').map(box),
      heights: all(figure, '.ytick text').map(box)}})),
    tables: all(doc, 'table').map(e => ({{
      box: box(e.parentNode),
      scrolls: e.parentNode.scrollWidth > e.parentNode.clientWidth}})),
    code: all(doc, 'pre').map(box),
    page: style(doc.body, 'background-color'),
    card: style(doc.querySelector('.card'), 'background-color'),
    ink: style(doc.body, 'color'),
    soft: style(doc.querySelector('figcaption'), 'color'),
    tick: style(doc.querySelector('.xtick text'), 'fill'),
    strokes: all(plot, '.js-line').map(e => style(e, 'stroke')),
    dashes: all(plot, '.js-line').map(e => style(e, 'stroke-dasharray')),
  }};
}}
window.addEventListener('load', async () => {{
  const found = [];
  for (const frame of document.querySelectorAll('iframe'))
    found.push(await look(frame));
  document.getElementById('found').textContent = JSON.stringify(found);
}});
</script>
'''


def look_at(page, folder, dark):
  """What a browser makes of a page: both widths, and what it complains of."""
  folder.mkdir()
  (folder / 'report.html').write_text(page, encoding='utf-8')
  wrapper = folder / 'wrapper.html'
  wrapper.write_text(WRAPPER.format(narrow=NARROW, wide=WIDE),
                     encoding='utf-8')
  done = subprocess.run(
      [BROWSER, '--headless', '--no-sandbox', '--disable-gpu',
       '--disable-background-networking', '--disable-component-update',
       '--disable-sync', '--no-first-run', '--enable-logging=stderr',
       # The frames are files too, and time passes as fast as it can.
       '--allow-file-access-from-files', '--virtual-time-budget=20000',
       f'--user-data-dir={folder / "profile"}', '--window-size=1500,1800',
       f'--blink-settings=preferredColorScheme={0 if dark else 1}',
       '--dump-dom', wrapper.as_uri()],
      timeout=120, capture_output=True, text=True, check=False)
  match = re.search(r'<pre id="found">(.+?)</pre>', done.stdout, re.DOTALL)
  assert match, done.stderr[-2000:]
  complaints = [line for line in done.stderr.splitlines() if 'CONSOLE' in line]
  return json.loads(html.unescape(match.group(1))), complaints


@pytest.fixture(name='found', scope='module')
def _found(tmp_path_factory):
  """What is found in the light and in the dark."""
  folder = tmp_path_factory.mktemp('report')
  runs = [
      reports.read_run(run_folders.write(folder / 'a', is_evaluated=True),
                       'a run of rather a long name, <b>indeed</b>'),
      reports.read_run(run_folders.write(folder / 'b', lines=400, model='nar',
                                         learning_rate=3e-4,
                                         is_evaluated=True)),
      reports.read_run(run_folders.write(folder / 'c', is_over=False, seed=1))]
  steps = np.arange(1, 13)[:, None]
  residuals = np.exp(-steps * np.linspace(0.2, 0.4, 5))
  page = report_page.build(runs, {runs[0].label: residuals},
                           {'b': ['A remark.']}, 'Made now.')
  return {dark: look_at(page, folder / str(dark), dark)
          for dark in (False, True)}


@pytest.fixture(name='views', params=[False, True], ids=['light', 'dark'])
def _views(request, found):
  (narrow, wide), _ = found[request.param]
  assert narrow['dark'] == wide['dark'] == request.param
  assert (narrow['width'], wide['width']) == (NARROW, WIDE)
  return narrow, wide


def is_inside(inner, outer, slack=1):
  return (inner[0] >= outer[0] - slack and inner[1] >= outer[1] - slack and
          inner[2] <= outer[2] + slack and inner[3] <= outer[3] + slack)


def contrast(first, second):
  """The contrast of two colours, as accessibility guidelines define it."""
  def luminance(text):
    rgb = np.array([float(x) for x in re.findall(r'[\d.]+', text)[:3]]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055)**2.4)
    return linear @ [0.2126, 0.7152, 0.0722]
  low, high = sorted([luminance(first), luminance(second)])
  return (high + 0.05) / (low + 0.05)


def test_no_complaints(found):
  for _, complaints in found.values():
    assert not complaints


def test_nothing_is_loaded(views):
  for view in views:
    assert not view['requests']


def test_the_page_never_scrolls_sideways(views):
  narrow, wide = views
  for view in views:
    assert view['scroll'] <= view['width']
    for table in view['tables']:
      assert table['box'][2] <= view['width']
    for box in view['code']:
      assert box[2] <= view['width']
  # Nor does anything in it where there is room.
  assert any(table['scrolls'] for table in narrow['tables'])
  assert not any(table['scrolls'] for table in wide['tables'])


def test_two_columns_where_there_is_room(views):
  narrow, wide = ([figure['box'] for figure in view['figures'][:2]]
                  for view in views)
  assert narrow[0][0] == narrow[1][0] and narrow[0][3] < narrow[1][1]
  assert wide[0][1] == wide[1][1] and wide[0][2] < wide[1][0]


def test_all_charts_have_a_size_and_their_letters_fit(views):
  for view in views:
    assert len(view['figures']) >= 12
    for figure in view['figures']:
      title = figure['title']
      left, top, right, bottom = figure['plot']
      assert right - left > 200 and bottom - top > 150, title
      assert is_inside(figure['plot'], figure['box']), title
      assert figure['lines'] and len(figure['ticks']) >= 2, title
      for box in figure['lines'] + figure['texts']:
        assert is_inside(box, figure['plot'], slack=3), title
      for name, start, end in (('ticks', 0, 2), ('heights', 1, 3)):
        boxes = sorted(figure[name], key=lambda box, at=start: box[at])
        for one, next_one in zip(boxes, boxes[1:]):
          assert one[end] <= next_one[start] + 4, title


def test_values_can_be_read_off(views):
  for view in views:
    first, last = view['hovers']
    label = 'a run of rather a long name, <b>indeed</b>'
    assert label in view['labels']
    assert label[:20] in first and re.search(r'b : [\d.]+', first), first
    # The first and the third run are over by then.
    assert label[:20] not in last and re.search(r'b : [\d.]+', last), last
    assert contrast(view['tip']['fill'], view['soft']) >= 4.5
    assert 0 <= view['tip']['box'][0] <= view['tip']['box'][2] <= view['width']


def test_runs_can_be_hidden(views):
  for view in views:
    assert any(view['before']) and view['before'] == view['after']
    assert not any(view['hidden'])


def test_colours_can_be_told_from_the_background(views):
  for view in views:
    for name in ('ink', 'soft', 'tick'):
      assert contrast(view[name], view['card']) >= 4.5
      assert contrast(view[name], view['page']) >= 4.5
    for stroke in view['strokes']:
      assert contrast(stroke, view['card']) >= 3
    assert len(set(view['strokes'])) == len(set(view['dashes'])) == 3


def test_dark_is_dark(found):
  (light, _), (dark, _) = found[False][0], found[True][0]
  assert contrast(light['page'], 'rgb(255, 255, 255)') < 1.2
  assert contrast(dark['page'], 'rgb(0, 0, 0)') < 1.3
