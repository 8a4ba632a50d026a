# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""One iteration of an `instances.Instance`, its legend, and its residuals.

Axes of iterations have no ticks, and units that fit what is on them.
"""

from typing import Tuple

from dear_jax.reports import colours
from dear_jax.reports import graph_panels
import numpy as np

_Array = np.ndarray


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
               color=colours.INK, pad=18)
  ax.annotate(f'{text}, {instance.wrong()[row]} of {instance.scored()} wrong',
              (0.5, 1), xycoords='axes fraction', xytext=(0, 3),
              textcoords='offset points', ha='center', va='bottom', fontsize=9,
              color=colours.INK)
  ax.set(xticks=[], yticks=[])
  for spine in ax.spines.values():
    spine.set_visible(False)
  dict(graph=graph_panels.draw, order=_draw_order, choice=_draw_choice)[
      instance.kind](ax, instance, row, size)


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
  styles = [_bar_style(colours.RIGHT, is_wrong) for is_wrong in wrong]
  _draw_bars(ax, instance, at, width, styles, size)
  if not is_chain:
    ax.text(0, 1, 'not a single chain', transform=ax.transAxes, ha='left',
            va='top', fontsize=8, style='italic', color=colours.WRONG)
  if len(lost):
    ax.axvline(nb_nodes - len(lost) - 0.5, ymax=0.88, color=colours.INK,
               linewidth=0.8, linestyle=':')
    ax.text(1, 1, 'in a circle', transform=ax.transAxes, ha='right', va='top',
            fontsize=8, style='italic', color=colours.INK)


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
  styles = [_bar_style(colours.RIGHT if chosen[i] else
                       colours.CHOSEN if marked[i] else colours.OTHER, wrong[i],
                       is_filled=chosen[i]) for i in range(nb_nodes)]
  at = np.arange(nb_nodes, dtype=float)
  _draw_bars(ax, instance, at, np.full(nb_nodes, 0.8), styles, size)
  keys = instance.inputs['key']
  low, high = ax.get_ylim()
  true = np.flatnonzero(any_of([x.truth for x in one]))
  ax.plot(true, np.maximum(keys[true], 0) + 0.06 * (high - low), 'v',
          color=colours.INK, markersize=5, zorder=4)
  if 'target' in instance.inputs:
    ax.axhline(float(instance.inputs['target']), color=colours.INK,
               linewidth=0.8, linestyle='--', zorder=3)


def _bar_style(color, is_wrong, is_filled=True):
  if not is_wrong:
    return dict(facecolor=color, edgecolor=color, linewidth=0.8)
  return dict(facecolor=colours.HIGHLIGHT if is_filled else color,
              edgecolor=colours.WRONG, linewidth=1, linestyle='--',
              hatch='////')


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
  ax.axhline(0, color=colours.INK, linewidth=0.8, zorder=3)
  slot = 72 * size[0] / len(keys)  # in points
  fontsize = min(8, 0.62 * slot)
  for i, share in enumerate(width):
    # A digit is about 0.6 of the size of its font.
    if fontsize > 4.5 and 0.6 * fontsize * len(str(i)) < share * slot:
      ax.text(at[i], low - 0.02 * (high - low), str(i), ha='center', va='top',
              fontsize=fontsize, color=colours.INK)


def legend(instance):
  """What the signs of a picture mean."""
  # pylint: disable=g-import-not-at-top
  from matplotlib import lines
  from matplotlib import patches
  line = lambda label, **style: lines.Line2D([], [], label=label, **style)
  dot = lambda label, color: line(
      label, linestyle='none', marker='o', markersize=8,
      markerfacecolor=color, markeredgecolor=colours.INK, markeredgewidth=0.8)
  bar = lambda label, color, is_wrong=False: patches.Patch(
      label=label, **_bar_style(color, is_wrong))
  if instance.kind == 'order':
    return [bar('after the right element', colours.RIGHT),
            bar('after a wrong one', colours.RIGHT, True)]
  if instance.kind == 'choice':
    result = [line('the right one', linestyle='none', marker='v',
                   color=colours.INK),
              bar('chosen, right', colours.RIGHT),
              bar('wrong', colours.RIGHT, True)]
    result += [bar(name, colours.CHOSEN) for name, x in instance.marks.items()
               if not x.is_one]
    if 'target' in instance.inputs:
      result.append(line('target', color=colours.INK, linewidth=0.8,
                         linestyle='--'))
    return result
  result = [line('edge', color=colours.EDGE, linewidth=1)]
  if graph_panels.source_of(instance) is not None:
    result.append(dot('source', colours.INK))
  result += [dot(name, colours.CHOSEN) for name in instance.marks]
  if instance.pointers is None:
    return result + [lines.Line2D(
        [], [], label='wrong', color=colours.WRONG, linestyle=colours.DASHED)]
  return result + [
      line('true pointer', color=colours.TRUE, linewidth=7,
           solid_capstyle='round'),
      line('right pointer', color=colours.RIGHT, linewidth=1.5, marker='>',
           markersize=5),
      line('wrong pointer', color=colours.WRONG, linewidth=1.5,
           linestyle=colours.DASHED, marker='>', markersize=5)]


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
  for rows, color in ((slice(None), '#d8e4ec'), (reached, colours.RIGHT)):
    ax.plot(numbers[rows], residuals[rows], color=color, linewidth=1.5,
            marker='.', markersize=4, zorder=3)
  ax.plot(numbers[shown], residuals[shown], linestyle='none', marker='o',
          color=colours.RIGHT, markersize=6.5, zorder=4)
  ax.set_yscale('log')
  ends = [x for x in (*residuals, tol or 0) if x > 0]
  if ends:
    # Nothing lies on a border, nor does a word on a point.
    low, high = min(ends), max(ends)
    margin = max(1.3, (high / low)**0.15)
    ax.set_ylim(low / margin, high * margin)
  if tol is not None:
    ax.axhline(tol, color=colours.INK, linestyle='--', linewidth=1, zorder=2)
    ax.annotate('tolerance', (0, tol), xycoords=('axes fraction', 'data'),
                xytext=(4, 2), textcoords='offset points', ha='left',
                va='bottom', fontsize=8, color=colours.INK)
  ax.set(xlim=(0.4, len(instance) + 0.6))
  ax.set_xlabel('iteration', fontsize=9, color=colours.INK)
  ax.set_ylabel('residual', fontsize=9, color=colours.RIGHT)
  ax.xaxis.set_major_locator(ticker.MaxNLocator(integer=True, nbins=16))

  counts.bar(numbers[reached], instance.wrong()[reached], width=0.7,
             color='#f6d9c6', zorder=1)
  counts.yaxis.tick_right()
  counts.yaxis.set_label_position('right')
  counts.set(ylim=(0, 1.1 * max(1, instance.wrong().max())))
  counts.set_ylabel('wrong', fontsize=9, color=colours.WRONG)
  counts.yaxis.set_major_locator(ticker.MaxNLocator(integer=True, nbins=4))
  ax.set_zorder(counts.get_zorder() + 1)
  ax.patch.set_visible(False)
  for each in (ax, counts):
    each.tick_params(labelsize=8, colors=colours.INK)
    each.spines['top'].set_visible(False)
