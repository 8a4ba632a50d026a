# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""The parts of `dear_jax.pictures`: panels, their legend and residuals.

The instances that they draw are those of that module. Axes have no ticks, and
units that fit what is on them.
"""

from typing import Optional, Tuple

import numpy as np

_Array = np.ndarray

# Colours that those who are colour-blind can tell apart.
_RIGHT = '#0072b2'
_WRONG = '#d55e00'
_TRUE = '#e8dfb5'
INK = '#333333'
_EDGE = '#c8c8c8'
_CHOSEN = '#bfdcf0'
_OTHER = '#d9d9d9'
_HIGHLIGHT = '#f6c9aa'
_DASHED = (0, (3, 1.5))


def circle_layout(pointers: Optional[_Array], size: int,
                  source: Optional[int] = None) -> _Array:
  """Places the nodes of a graph on a circle.

  On a circle no line runs through a node that is not its end. The order is one
  in which the forest of pointers is walked through from its roots, so that no
  two of these cross: what crosses them is wrong.

  Args:
    pointers: [N], of every node to its parent or to itself, if there are any.
    size: N.
    source: The node to begin with, at the top.

  Returns:
    [N, 2], points at a distance of 1 from the origin, clockwise.
  """
  if pointers is None:
    pointers = np.arange(size)
  children = [np.flatnonzero((pointers == node) & (np.arange(size) != node))
              for node in range(size)]
  order, seen = [], set()
  roots = np.flatnonzero(pointers == np.arange(size)).tolist()
  # Those that are on no tree, but on a cycle, come last.
  stack = list(range(size))[::-1] + roots[::-1]
  if source is not None:
    stack.append(source)
  while stack:
    node = int(stack.pop())
    if node not in seen:
      seen.add(node)
      order.append(node)
      stack.extend(children[node][::-1])
  angles = np.empty(size)
  angles[order] = np.pi / 2 - 2 * np.pi * np.arange(size) / size
  return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def places(pointers: _Array) -> Tuple[_Array, bool]:
  """Where the elements of an array go, by pointers to the one before.

  Args:
    pointers: [N]; that of the first element is to itself.

  Returns:
    [N], how many elements are before each one, -1 where the pointers lead in a
    circle; and whether they are a single chain, so that all places differ.
  """
  size = len(pointers)
  steps, present = np.zeros(size, int), np.arange(size)
  for _ in range(size):
    steps += pointers[present] != present
    present = pointers[present]
  ends = pointers[present] == present
  result = np.where(ends, steps, -1)
  return result, sorted(result) == list(range(size))


def draw_panel(ax, instance, row, size):
  """What the model would answer after an iteration."""
  residual = instance.residuals[row]
  text = f'residual {residual:.3g}' if np.isfinite(residual) else 'not finite'
  ax.set_title(f'iteration {row + 1}', fontsize=10.5, fontweight='bold',
               color=INK, pad=18)
  ax.annotate(f'{text}, {instance.wrong()[row]} of {instance.scored()} wrong',
              (0.5, 1), xycoords='axes fraction', xytext=(0, 3),
              textcoords='offset points', ha='center', va='bottom', fontsize=9,
              color=INK)
  ax.set(xticks=[], yticks=[])
  for spine in ax.spines.values():
    spine.set_visible(False)
  dict(graph=_draw_graph, order=_draw_order, choice=_draw_choice)[
      instance.kind](ax, instance, row, size)


def _draw_graph(ax, instance, row, size):
  """Nodes on a circle, the edges, and an arrow for every pointer."""
  from matplotlib import patches  # pylint: disable=g-import-not-at-top
  nb_nodes, source = instance.size, _source(instance)
  at = circle_layout(instance.true_pointers, nb_nodes, source)
  radius = min(0.1, 0.6 * np.sin(np.pi / nb_nodes))
  reach = 1 + 3 * radius  # of loops
  point = 2 * reach / (72 * size[0])
  ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect='equal')
  width = min(1.9, max(0.8, 0.19 * radius / point))

  def draw_loop(node, **style):
    ax.add_patch(patches.Circle(at[node] * (1 + 1.5 * radius), 0.85 * radius,
                                fill=False, **style))

  tails, heads, is_directed = _edges(instance.inputs['adj'])
  # Many lines would be one grey disc.
  faint = min(0.6, 8 / np.sqrt(1 + len(tails)))
  _draw_curves(ax, at[tails], at[heads], edgecolors=_EDGE, linewidths=faint,
               zorder=0)
  if is_directed:
    _draw_heads(ax, at[tails], at[heads], radius * faint / 0.6, radius)
  if instance.pointers is not None:
    own = np.arange(nb_nodes)
    is_loop = instance.true_pointers == own
    thickness = min(9, radius / point)
    _draw_curves(ax, at[own[~is_loop]],
                 at[instance.true_pointers[~is_loop]], edgecolors=_TRUE,
                 linewidths=thickness, capstyle='round', zorder=1)
    for node in own[is_loop]:
      draw_loop(node, edgecolor=_TRUE, linewidth=thickness, zorder=1)
    wrong = instance.wrong_pointers()[row]
    for node, target in enumerate(instance.pointers[row]):
      style = dict(color=_WRONG if wrong[node] else _RIGHT, linewidth=width,
                   linestyle=_DASHED if wrong[node] else '-',
                   zorder=4 if wrong[node] else 3)
      if node == target:
        draw_loop(node, **style)
      else:
        bend = _bend(at[node], at[target])
        if instance.pointers[row, target] == node:
          bend += 0.1  # else the two would be one line
        ax.add_patch(patches.FancyArrowPatch(
            at[node], at[target], arrowstyle='-|>', shrinkA=radius / point,
            shrinkB=radius / point + 0.5, mutation_scale=5 * width + 1.5,
            connectionstyle=f'arc3,rad={bend}', **style))

  is_marked = np.any([np.zeros(nb_nodes, bool)] + [
      x.found[row] for x in instance.marks.values()], axis=0)
  is_wrong = instance.wrong_nodes()[row]
  for node in range(nb_nodes):
    fill = _CHOSEN if is_marked[node] else 'white'
    ax.add_patch(patches.Circle(
        at[node], radius, facecolor=INK if node == source else fill, zorder=5,
        edgecolor=_WRONG if is_wrong[node] else INK,
        linewidth=width if is_wrong[node] else 0.8,
        linestyle=_DASHED if is_wrong[node] else '-'))
    if radius / point > 4.5:
      ax.text(*at[node], str(node), ha='center', va='center_baseline',
              fontsize=min(9, 0.95 * radius / point), zorder=6,
              color='white' if node == source else INK)


def _source(instance) -> Optional[int]:
  source = instance.inputs.get('s')
  return None if source is None else int(np.argmax(source))


def _edges(adjacency: _Array) -> Tuple[_Array, _Array, bool]:
  """Tails, heads and whether that matters; without loops."""
  is_edge = (adjacency != 0) & ~np.eye(len(adjacency), dtype=bool)
  is_directed = bool((is_edge != is_edge.T).any())
  return *np.nonzero(is_edge if is_directed else np.triu(is_edge)), is_directed


# Lines bend to the centre, so that they keep clear of the nodes in between:
# the control point of a quadratic curve is the middle, moved by this share of
# the length, the less the nearer it already is.
_BEND = 0.4


def _controls(tails: _Array, heads: _Array) -> _Array:
  """[E, 2], the control points of lines between nodes."""
  length = np.linalg.norm(heads - tails, axis=-1, keepdims=True)
  return (tails + heads) / 2 * (1 - _BEND * length)


def _bend(tail: _Array, head: _Array) -> float:
  """The same as the `rad` of matplotlib's arc3."""
  across = np.array([1, -1]) * (head - tail)[::-1]
  shift = _controls(tail, head) - (tail + head) / 2
  return float(across @ shift / (across @ across))


def _draw_curves(ax, tails, heads, **style):
  # pylint: disable=g-import-not-at-top
  from matplotlib import collections
  from matplotlib import path
  codes = [path.Path.MOVETO, path.Path.CURVE3, path.Path.CURVE3]
  ax.add_collection(collections.PathCollection(
      [path.Path(points, codes) for points in np.stack(
          [tails, _controls(tails, heads), heads], axis=1)],
      facecolors='none', **style))


def _draw_heads(ax, tails, heads, length, radius):
  """Triangles in front of the nodes where edges end."""
  from matplotlib import collections  # pylint: disable=g-import-not-at-top
  along = heads - _controls(tails, heads)
  along /= np.linalg.norm(along, axis=-1, keepdims=True)
  across = 0.22 * length * np.stack([-along[:, 1], along[:, 0]], axis=-1)
  tips = heads - radius * along
  base = tips - 0.6 * length * along
  ax.add_collection(collections.PolyCollection(
      np.stack([tips, base + across, base - across], axis=1),
      facecolors=_EDGE, edgecolors='none', zorder=0))


def _draw_order(ax, instance, row, size):
  """The keys as bars, where the pointers put them."""
  nb_nodes = instance.size
  place, is_chain = places(instance.pointers[row])
  lost = np.flatnonzero(place < 0)
  at, width = place.astype(float), np.full(nb_nodes, 0.8)
  for i in np.unique(place[place >= 0]):
    nodes = np.flatnonzero(place == i)
    width[nodes] = 0.8 / len(nodes)
    at[nodes] = i + width[nodes] * (np.arange(len(nodes))
                                    - (len(nodes) - 1) / 2)
  # The others have no place beyond their number, so that these ones are free.
  at[lost] = nb_nodes - len(lost) + np.arange(len(lost))
  wrong = instance.wrong_pointers()[row]
  styles = [_bar_style(_RIGHT, is_wrong) for is_wrong in wrong]
  _draw_bars(ax, instance, at, width, styles, size)
  if not is_chain:
    ax.text(0, 1, 'not a single chain', transform=ax.transAxes, ha='left',
            va='top', fontsize=8, style='italic', color=_WRONG)
  if len(lost):
    ax.axvline(nb_nodes - len(lost) - 0.5, ymax=0.88, color=INK,
               linewidth=0.8, linestyle=':')
    ax.text(1, 1, 'in a circle', transform=ax.transAxes, ha='right', va='top',
            fontsize=8, style='italic', color=INK)


def _draw_choice(ax, instance, row, size):
  """The keys as bars, with what was chosen, and triangles at what is right."""
  nb_nodes = instance.size
  one = [x for x in instance.marks.values() if x.is_one]
  some = [x for x in instance.marks.values() if not x.is_one]
  any_of = lambda rows: np.any([np.zeros(nb_nodes, bool)] + rows, axis=0)
  chosen = any_of([x.found[row] for x in one])
  # An element is wrong that was chosen and is not the one, not the reverse.
  wrong = any_of([x.found[row] & x.wrong[row] for x in one]
                 + [x.wrong[row] for x in some])
  marked = any_of([x.found[row] for x in some])
  styles = [_bar_style(_RIGHT if chosen[i] else
                       _CHOSEN if marked[i] else _OTHER, wrong[i],
                       is_filled=chosen[i]) for i in range(nb_nodes)]
  at = np.arange(nb_nodes, dtype=float)
  _draw_bars(ax, instance, at, np.full(nb_nodes, 0.8), styles, size)
  keys = instance.inputs['key']
  low, high = ax.get_ylim()
  true = np.flatnonzero(any_of([x.truth for x in one]))
  ax.plot(true, np.maximum(keys[true], 0) + 0.06 * (high - low), 'v',
          color=INK, markersize=5, zorder=4)
  if 'target' in instance.inputs:
    ax.axhline(float(instance.inputs['target']), color=INK, linewidth=0.8,
               linestyle='--', zorder=3)


def _bar_style(color, is_wrong, is_filled=True):
  if not is_wrong:
    return dict(facecolor=color, edgecolor=color, linewidth=0.8)
  return dict(facecolor=_HIGHLIGHT if is_filled else color, edgecolor=_WRONG,
              linewidth=1, linestyle='--', hatch='////')


def _draw_bars(ax, instance, at, width, styles, size):
  """Bars of the keys, with the numbers of their nodes if these fit."""
  from matplotlib import patches  # pylint: disable=g-import-not-at-top
  keys = instance.inputs['key']
  for i, key in enumerate(keys):
    ax.add_patch(patches.Rectangle((at[i] - width[i] / 2, min(0, key)),
                                   width[i], abs(key), zorder=2, **styles[i]))
  low, high = min(0, keys.min()), max(0, keys.max())
  ax.set(xlim=(-0.6, len(keys) - 0.4), ylim=(low - 0.11 * (high - low),
                                             high + 0.22 * (high - low)))
  ax.axhline(0, color=INK, linewidth=0.8, zorder=3)
  slot = 72 * size[0] / len(keys)  # in points
  fontsize = min(8, 0.62 * slot)
  for i, share in enumerate(width):
    # A digit is about 0.6 of the size of its font.
    if fontsize > 4.5 and 0.6 * fontsize * len(str(i)) < share * slot:
      ax.text(at[i], low - 0.02 * (high - low), str(i), ha='center', va='top',
              fontsize=fontsize, color=INK)


def legend(instance):
  """What the signs of a picture mean."""
  # pylint: disable=g-import-not-at-top
  from matplotlib import lines
  from matplotlib import patches
  line = lambda label, **style: lines.Line2D([], [], label=label, **style)
  dot = lambda label, color: line(
      label, linestyle='none', marker='o', markersize=8,
      markerfacecolor=color, markeredgecolor=INK, markeredgewidth=0.8)
  bar = lambda label, color, is_wrong=False: patches.Patch(
      label=label, **_bar_style(color, is_wrong))
  if instance.kind == 'order':
    return [bar('after the right element', _RIGHT),
            bar('after a wrong one', _RIGHT, True)]
  if instance.kind == 'choice':
    result = [line('the right one', linestyle='none', marker='v', color=INK),
              bar('chosen, right', _RIGHT), bar('wrong', _RIGHT, True)]
    result += [bar(name, _CHOSEN) for name, x in instance.marks.items()
               if not x.is_one]
    if 'target' in instance.inputs:
      result.append(line('target', color=INK, linewidth=0.8, linestyle='--'))
    return result
  result = [line('edge', color=_EDGE, linewidth=1)]
  if _source(instance) is not None:
    result.append(dot('source', INK))
  result += [dot(name, _CHOSEN) for name in instance.marks]
  if instance.pointers is None:
    return result + [lines.Line2D(
        [], [], label='wrong', color=_WRONG, linestyle=_DASHED)]
  return result + [
      line('true pointer', color=_TRUE, linewidth=7, solid_capstyle='round'),
      line('right pointer', color=_RIGHT, linewidth=1.5, marker='>',
           markersize=5),
      line('wrong pointer', color=_WRONG, linewidth=1.5, linestyle=_DASHED,
           marker='>', markersize=5)]


def draw_residuals(ax, counts, instance, tol, shown, upto=None):
  """Residuals of all iterations, and how much was wrong.

  Args:
    ax: Where the residuals go.
    counts: Axes in the same place.
    instance: Of what.
    tol: The tolerance, or None.
    shown: The rows that panels show.
    upto: The last row that has been reached; by default all are.
  """
  from matplotlib import ticker  # pylint: disable=g-import-not-at-top
  upto = len(instance) - 1 if upto is None else upto
  numbers = 1 + np.arange(len(instance))
  residuals = np.where(np.isfinite(instance.residuals), instance.residuals,
                       np.nan)
  reached = numbers - 1 <= upto
  for rows, color in ((slice(None), '#d8e4ec'), (reached, _RIGHT)):
    ax.plot(numbers[rows], residuals[rows], color=color, linewidth=1.5,
            marker='.', markersize=4, zorder=3)
  ax.plot(numbers[shown], residuals[shown], linestyle='none', marker='o',
          color=_RIGHT, markersize=6.5, zorder=4)
  ax.set_yscale('log')
  ends = [x for x in (*residuals, tol or 0) if x > 0]
  if ends:
    # Nothing lies on a border, nor does a word on a point.
    low, high = min(ends), max(ends)
    margin = max(1.3, (high / low)**0.15)
    ax.set_ylim(low / margin, high * margin)
  if tol is not None:
    ax.axhline(tol, color=INK, linestyle='--', linewidth=1, zorder=2)
    ax.annotate('tolerance', (0, tol), xycoords=('axes fraction', 'data'),
                xytext=(4, 2), textcoords='offset points', ha='left',
                va='bottom', fontsize=8, color=INK)
  ax.set(xlim=(0.4, len(instance) + 0.6))
  ax.set_xlabel('iteration', fontsize=9, color=INK)
  ax.set_ylabel('residual', fontsize=9, color=_RIGHT)
  ax.xaxis.set_major_locator(ticker.MaxNLocator(integer=True, nbins=16))

  counts.bar(numbers[reached], instance.wrong()[reached], width=0.7,
             color='#f6d9c6', zorder=1)
  counts.yaxis.tick_right()
  counts.yaxis.set_label_position('right')
  counts.set(ylim=(0, 1.1 * max(1, instance.wrong().max())))
  counts.set_ylabel('wrong', fontsize=9, color=_WRONG)
  counts.yaxis.set_major_locator(ticker.MaxNLocator(integer=True, nbins=4))
  ax.set_zorder(counts.get_zorder() + 1)
  ax.patch.set_visible(False)
  for each in (ax, counts):
    each.tick_params(labelsize=8, colors=INK)
    each.spines['top'].set_visible(False)
