# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""The style sheet and the script of a report's page."""

# Colours of entries on white, in order; those on black are in the style sheet.
# Neighbours differ in lightness too, for those who see few colours.
PALETTE = ('#1864c7', '#d4570a', '#128048', '#b8327a', '#6a4bc4', '#0a7f8c',
           '#8f6400', '#5b6472')

_DARK_PALETTE = ('#74b0ff', '#ff9c5e', '#55cf90', '#f58bc0', '#b3a2ff',
                 '#4ccbd6', '#dcb44c', '#aeb6c2')


def _variables(colours):
  return ''.join(f'--c{i}:{colour};' for i, colour in enumerate(colours))


STYLE = '''
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --card: #ffffff; --ink: #171b21; --soft: #59626e;
  --rule: #dde1e7; --grid: #e9ecf0; --axis: #98a1ad; --tint: #fff4d6;
  --tint-rule: #e0b23c; --code: #f1f3f6; --shade: #eef1f5; --link: #1864c7;
  LIGHT
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #101318; --card: #191d24; --ink: #e8ebf0; --soft: #a3acb9;
    --rule: #313844; --grid: #272d37; --axis: #6b7482; --tint: #362e15;
    --tint-rule: #a88428; --code: #12161b; --shade: #222832; --link: #74b0ff;
    DARK
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; scroll-padding-top: 4rem; }
body {
  margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue",
      Arial, sans-serif;
  overflow-wrap: anywhere;
}
header, main, footer { max-width: 1320px; margin: 0 auto; padding: 0 20px; }
header { padding-top: 28px; padding-bottom: 14px; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 6px; }
h2 { font-size: 1.2rem; margin: 38px 0 12px; }
.sub { margin: 22px 0 10px; color: var(--soft); }
h3 { font-size: 1rem; margin: 0; }
p { margin: 0 0 8px; }
.soft, footer { color: var(--soft); font-size: .875rem; }
a { color: var(--link); text-decoration: none; }
a:hover { text-decoration: underline; }
.contents { display: flex; flex-wrap: wrap; gap: 2px 18px; font-size: .9rem; }
.under { margin: 8px 0 0; }
code, pre { font: .8125rem/1.5 ui-monospace, "SF Mono", Menlo, Consolas,
            "Liberation Mono", monospace; }
pre {
  margin: 6px 0 0; padding: 9px 12px; background: var(--code);
  border: 1px solid var(--rule); border-radius: 6px; overflow-x: auto;
  white-space: pre; overflow-wrap: normal;
}
.legend { list-style: none; margin: 0; padding: 0; display: flex;
          flex-wrap: wrap; gap: 2px 16px; font-size: .8125rem; }
.legend li, .runs label { display: inline-flex; align-items: center; gap: 7px; }
.runs {
  position: sticky; top: 0; z-index: 5; background: var(--page);
  border-bottom: 1px solid var(--rule);
}
.runs div {
  max-width: 1320px; margin: 0 auto; padding: 9px 20px; display: flex;
  gap: 8px 20px; overflow-x: auto; white-space: nowrap; font-size: .9rem;
}
.runs input { margin: 0; accent-color: var(--c); }
.key { flex: none; }
.key line { stroke: var(--c); stroke-width: 2.5;
            stroke-dasharray: var(--dash); }
.card {
  background: var(--card); border: 1px solid var(--rule); border-radius: 10px;
}
.scroll { overflow-x: auto; }
.scroll:focus-visible, pre:focus-visible {
  outline: 2px solid var(--link); outline-offset: 2px;
}
table { border-collapse: collapse; width: 100%; font-size: .875rem; }
th, td {
  padding: 8px 12px; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--rule); font-variant-numeric: tabular-nums;
}
tr:last-child > * { border-bottom: 0; }
thead th { color: var(--soft); font-weight: 600; vertical-align: bottom;
           white-space: normal; min-width: 5.5rem; overflow-wrap: normal; }
thead th small { display: block; font-weight: 400; font-size: .75rem; }
tbody th { font-weight: 600; }
th:first-child, td:first-child, .left { text-align: left; }
tbody th .key { margin-right: 8px; vertical-align: middle; }
td small, tbody th small { color: var(--soft); font-weight: 400; }
tbody th small { display: block; font-size: .75rem; margin-left: 34px;
                 white-space: normal; min-width: 8rem; max-width: 17rem; }
.best { font-weight: 700; }
.settings th, .settings td { text-align: left; padding: 5px 14px; }
.settings th { font-weight: 400; }
tr.differs > * { background: var(--tint); }
tr.differs > :first-child { box-shadow: inset 3px 0 var(--tint-rule);
                            font-weight: 600; }
.changed { font-weight: 600; }
.charts { display: grid; gap: 16px; grid-template-columns: minmax(0, 1fr); }
@media (min-width: 900px) {
  .charts { grid-template-columns: repeat(2, minmax(0, 1fr)); }
}
figure { margin: 0; padding: 14px 16px 12px; min-width: 0; display: flex;
         flex-direction: column; }
figcaption p { margin: 8px 0 0; font-size: .8125rem; color: var(--soft); }
.plot { position: relative; height: 250px; margin: 30px 14px 44px 48px; }
.frame { display: block; overflow: visible; }
.lines { overflow: hidden; }
.frame text { font-size: 12px; fill: var(--soft);
              font-variant-numeric: tabular-nums; }
text.y, text.end { text-anchor: end; }
text.x { text-anchor: middle; }
text.in { font-size: 11px; paint-order: stroke; stroke: var(--card);
          stroke-width: 3px; stroke-linejoin: round; }
.grid { stroke: var(--grid); }
.axis { stroke: var(--axis); }
.level { stroke: var(--soft); stroke-dasharray: 4 3; }
.span { fill: var(--shade); }
.lines path { fill: none; stroke: var(--c); vector-effect: non-scaling-stroke;
              stroke-linejoin: round; }
.lines .main { stroke-width: 2; stroke-dasharray: var(--dash); }
.lines .faint { stroke-width: 1; opacity: .28; }
.lines .many { opacity: .17; }
.lines .band { fill: var(--c); stroke: none; opacity: .16; }
.interval { stroke: var(--c); stroke-width: 2; }
.dot, .mark { fill: var(--c); stroke: var(--card); stroke-width: 1.5; }
.over { position: absolute; inset: 0; touch-action: pan-y; }
.hair { position: absolute; top: 0; bottom: 0; width: 1px;
        background: var(--axis); pointer-events: none; }
.tip {
  position: absolute; top: 0; z-index: 3; pointer-events: none;
  max-width: 90%; padding: 6px 10px; background: var(--card);
  border: 1px solid var(--axis); border-radius: 6px; font-size: .78rem;
  box-shadow: 0 3px 12px rgb(0 0 0 / .18); font-variant-numeric: tabular-nums;
}
.tip div { display: flex; align-items: center; gap: 7px; }
.tip b { margin-left: auto; padding-left: 10px; }
.tip i { flex: none; width: 9px; height: 9px; border-radius: 50%;
         background: var(--c); }
.note { padding: 14px 16px; margin-bottom: 12px; border-left: 4px solid
        var(--tint-rule); }
.note p { margin: 8px 0 0; font-size: .9rem; }
details { margin-top: 12px; }
summary { cursor: pointer; padding: 6px 0; }
.repeat { padding: 14px 16px; margin-bottom: 12px; }
.repeat h3 { display: flex; align-items: center; gap: 8px; }
footer { padding-top: 26px; padding-bottom: 40px; }
@media (max-width: 600px) {
  header, main, footer, .runs div { padding-left: 12px; padding-right: 12px; }
  h1 { font-size: 1.4rem; }
  figure { padding: 12px 10px 10px; }
  .plot { height: 220px; margin-left: 46px; margin-right: 12px; }
}
@media print {
  :root { --page: #fff; }
  .runs { position: static; }
  figure, .note, .repeat { break-inside: avoid; }
}
'''.replace('LIGHT', _variables(PALETTE)).replace(
    'DARK', _variables(_DARK_PALETTE))

# Reads values off the lines that are drawn, so nothing is in the page twice. It
# only ever sets texts and positions: names of runs cannot become code.
SCRIPT = '''
'use strict';
for (const plot of document.querySelectorAll('.plot')) {
  const axes = ['x', 'y'].map(name => {
    const [kind, low, high, down] = plot.dataset[name].split(' ');
    const map = kind === 'log' ? Math.log : v => v;
    const back = kind === 'log' ? Math.exp : v => v;
    const [a, b] = [map(+low), map(+high)];
    return at => back(a + (b - a) * (down === 'down' ? 1 - at : at));
  });
  const lines = [...plot.querySelectorAll('path.main')].map(path => ({
    label: path.dataset.label,
    group: path.parentNode,
    points: [...path.getAttribute('d').matchAll(/([-\\d.]+),([-\\d.]+)/g)]
        .map(m => [m[1] / 1000, m[2] / 1000]),
  })).filter(line => line.points.length);
  const make = (parent, name, kind, text) => {
    const element = document.createElement(name);
    element.className = kind;
    element.textContent = text || '';
    parent.append(element);
    return element;
  };
  const write = v => Math.abs(v) >= 1e5 ? v.toExponential(2)
      : Math.abs(v) >= 1000 ? Math.round(v).toLocaleString('en')
      : Number(v.toPrecision(3)).toString();
  const over = make(plot, 'div', 'over');
  const hair = make(plot, 'div', 'hair');
  const tip = make(plot, 'div', 'tip');
  hair.hidden = tip.hidden = true;
  const show = event => {
    const box = plot.getBoundingClientRect();
    const at = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    const visible = lines.filter(
        line => getComputedStyle(line.group).display !== 'none');
    const nearest = line => line.points.reduce(
        (a, b) => Math.abs(b[0] - at) < Math.abs(a[0] - at) ? b : a);
    const found = visible.map(line => [line, nearest(line)]);
    if (!found.length) return;
    const x = found.map(([, point]) => point[0]).reduce(
        (a, b) => Math.abs(b - at) < Math.abs(a - at) ? b : a);
    tip.replaceChildren();
    make(tip, 'div', '', plot.dataset.xLabel + ' ' + write(axes[0](x)));
    for (const [line, point] of found) {
      // A line that has ended, or has no point near here, has no value here.
      const gap = Math.abs(point[0] - x) > 0.03;
      const row = make(tip, 'div', line.group.getAttribute('class'));
      make(row, 'i', '');
      make(row, 'span', '', line.label);
      make(row, 'b', '', gap ? '\\u2013' : write(axes[1](1 - point[1])));
    }
    hair.hidden = tip.hidden = false;
    hair.style.left = 100 * x + '%';
    const room = box.width - tip.offsetWidth;
    const side = x * box.width + 12;
    tip.style.left = Math.max(0, Math.min(room,
        side < room ? side : x * box.width - tip.offsetWidth - 12)) + 'px';
  };
  over.addEventListener('pointermove', show);
  over.addEventListener('pointerdown', show);
  over.addEventListener('pointerleave', () => {
    hair.hidden = tip.hidden = true;
  });
}
'''
