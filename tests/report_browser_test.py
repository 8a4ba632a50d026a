# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Looks at the page of a report in a real browser, if there is one."""

import html
import json
import re
import shutil
import subprocess

from dear_jax import report_page
from dear_jax import reports
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
<iframe width="{narrow}" height="800" srcdoc="{page}"></iframe>
<iframe width="{wide}" height="800" srcdoc="{page}"></iframe>
<pre id="found"></pre>
<script>
const box = e => {{
  const b = e.getBoundingClientRect();
  return [b.left, b.top, b.right, b.bottom].map(x => Math.round(10 * x) / 10);
}};
function look(frame) {{
  const win = frame.contentWindow, doc = frame.contentDocument;
  const all = (parent, query) => [...parent.querySelectorAll(query)];
  const style = (e, name) => win.getComputedStyle(e).getPropertyValue(name);
  const plot = doc.querySelector('.plot');
  const over = plot.querySelector('.over');
  const hovers = [0.02, 0.5, 0.98].map(share => {{
    const [left, top, right] = box(plot);
    over.dispatchEvent(new win.PointerEvent('pointermove', {{
      clientX: left + share * (right - left), clientY: top + 50}}));
    const tip = plot.querySelector('.tip');
    return {{box: box(tip), hidden: tip.hidden,
            rows: all(tip, 'div').map(row => row.textContent)}};
  }});
  over.dispatchEvent(new win.PointerEvent('pointerleave'));
  const shown = () => all(doc, '.frame .s0').map(e => style(e, 'display'));
  const check = doc.querySelector('#show-0');
  check.click();
  const hidden = shown();
  check.click();
  return {{
    width: win.innerWidth,
    scroll: Math.max(doc.documentElement.scrollWidth, doc.body.scrollWidth),
    dark: win.matchMedia('(prefers-color-scheme: dark)').matches,
    figures: all(doc, 'figure').map(figure => ({{
      box: box(figure), frame: box(figure.querySelector('.frame')),
      title: figure.querySelector('h3').textContent,
      lines: all(figure, 'path.main').map(box),
      texts: all(figure, '.frame text').map(box),
      ticks: all(figure, 'text.x').map(box),
      heights: all(figure, 'text.y').map(box)}})),
    tables: all(doc, '.scroll').filter(e => e.offsetWidth).map(
        e => ({{box: box(e), scrolls: e.scrollWidth > e.clientWidth}})),
    code: all(doc, 'pre').map(box),
    hovers, tipAfter: plot.querySelector('.tip').hidden, hidden,
    shown: shown(),
    page: style(doc.body, 'background-color'),
    card: style(doc.querySelector('.card'), 'background-color'),
    ink: style(doc.body, 'color'),
    soft: style(doc.querySelector('figcaption p'), 'color'),
    tick: style(doc.querySelector('text.x'), 'fill'),
    strokes: all(plot, 'path.main').map(e => style(e, 'stroke')),
    dashes: all(plot, 'path.main').map(e => style(e, 'stroke-dasharray')),
  }};
}}
window.addEventListener('load', () => {{
  document.getElementById('found').textContent = JSON.stringify(
      [...document.querySelectorAll('iframe')].map(look));
}});
</script>
'''


def look_at(page, folder, dark):
  """What a browser makes of a page: both widths, and what it complains of."""
  folder.mkdir()
  wrapper = folder / 'wrapper.html'
  wrapper.write_text(WRAPPER.format(page=html.escape(page), narrow=NARROW,
                                    wide=WIDE), encoding='utf-8')
  done = subprocess.run(
      [BROWSER, '--headless', '--no-sandbox', '--disable-gpu',
       '--disable-background-networking', '--disable-component-update',
       '--disable-sync', '--no-first-run', '--enable-logging=stderr',
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
                                         learning_rate=3e-4)),
      reports.read_run(run_folders.write(folder / 'c', is_over=False, seed=1))]
  steps = np.arange(1, 13)[:, None]
  residuals = np.exp(-steps * np.linspace(0.2, 0.4, 5))
  page = report_page.build(runs, traces={runs[0].label: residuals},
                           remarks={'b': ['A remark.']}, made='Made now.')
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


def test_the_page_never_scrolls_sideways(views):
  for view in views:
    assert view['scroll'] <= view['width']
    for table in view['tables']:
      assert table['box'][2] <= view['width']
    for box in view['code']:
      assert box[2] <= view['width']
  assert any(table['scrolls'] for table in views[0]['tables'])


def test_two_columns_where_there_is_room(views):
  narrow, wide = ([figure['box'] for figure in view['figures'][:2]]
                  for view in views)
  assert narrow[0][0] == narrow[1][0] and narrow[0][3] < narrow[1][1]
  assert wide[0][1] == wide[1][1] and wide[0][2] < wide[1][0]


def test_all_charts_have_a_size_and_their_letters_fit(views):
  for view in views:
    assert len(view['figures']) >= 12
    for figure in view['figures']:
      left, top, right, bottom = figure['frame']
      assert right - left > 200 and bottom - top > 150, figure['title']
      assert figure['lines']
      for line in figure['lines']:
        assert is_inside(line, figure['frame'], slack=3), figure['title']
      assert max(x[2] - x[0] for x in figure['lines']) > 30 or (
          figure['title'] == 'Score by size')
      for text in figure['texts']:
        assert is_inside(text, figure['box']), figure['title']
      for one, next_one in zip(figure['ticks'], figure['ticks'][1:]):
        one, next_one = sorted([one, next_one])  # an axis may run down
        assert one[2] < next_one[0], figure['title']
      for one, next_one in zip(figure['heights'], figure['heights'][1:]):
        assert next_one[3] <= one[1] + 4, figure['title']


def test_values_can_be_read_off(views):
  for view in views:
    for hover in view['hovers']:
      step, *rows = hover['rows']
      assert not hover['hidden'] and step.startswith('step ')
      assert len(rows) == 3
      assert rows[0].startswith('a run of rather a long name, <b>indeed</b>')
      assert re.search(r'[\d.]+$', rows[1])
      assert 0 <= hover['box'][0] and hover['box'][2] <= view['width']
    # The first and the third run are over by then.
    assert view['hovers'][-1]['rows'][0].endswith('\N{EN DASH}') or (
        view['hovers'][-1]['rows'][1].endswith('\N{EN DASH}'))
    assert view['tipAfter']


def test_runs_can_be_hidden(views):
  for view in views:
    assert set(view['hidden']) == {'none'}
    assert 'none' not in view['shown']


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
