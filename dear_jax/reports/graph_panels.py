# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""A graph on a circle, with its edges and the pointers that were found."""

from typing import Optional, Tuple

from dear_jax.reports import colours
import numpy as np

_Array = np.ndarray


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


def draw(ax, instance, row, size):
  """Nodes on a circle, the edges, and an arrow for every pointer."""
  from matplotlib import patches  # pylint: disable=g-import-not-at-top
  nb_nodes, source = instance.size, source_of(instance)
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
  _draw_curves(ax, at[tails], at[heads], edgecolors=colours.EDGE,
               linewidths=faint, zorder=0)
  if is_directed:
    _draw_heads(ax, at[tails], at[heads], radius * faint / 0.6, radius)
  if instance.pointers is not None:
    own = np.arange(nb_nodes)
    is_loop = instance.true_pointers == own
    thickness = min(9, radius / point)
    _draw_curves(ax, at[own[~is_loop]],
                 at[instance.true_pointers[~is_loop]], edgecolors=colours.TRUE,
                 linewidths=thickness, capstyle='round', zorder=1)
    for node in own[is_loop]:
      draw_loop(node, edgecolor=colours.TRUE, linewidth=thickness, zorder=1)
    wrong = instance.wrong_pointers()[row]
    for node, target in enumerate(instance.pointers[row]):
      style = dict(color=colours.WRONG if wrong[node] else colours.RIGHT,
                   linewidth=width,
                   linestyle=colours.DASHED if wrong[node] else '-',
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
    fill = colours.CHOSEN if is_marked[node] else 'white'
    ax.add_patch(patches.Circle(
        at[node], radius, zorder=5,
        facecolor=colours.INK if node == source else fill,
        edgecolor=colours.WRONG if is_wrong[node] else colours.INK,
        linewidth=width if is_wrong[node] else 0.8,
        linestyle=colours.DASHED if is_wrong[node] else '-'))
    if radius / point > 4.5:
      ax.text(*at[node], str(node), ha='center', va='center_baseline',
              fontsize=min(9, 0.95 * radius / point), zorder=6,
              color='white' if node == source else colours.INK)


def source_of(instance) -> Optional[int]:
  source = instance.inputs.get('s')
  return None if source is None else int(np.argmax(source))


def _edges(adjacency: _Array) -> Tuple[_Array, _Array, bool]:
  """Tails, heads and whether that matters; without loops."""
  is_edge = (adjacency != 0) & ~np.eye(len(adjacency), dtype=bool)
  is_directed = bool((is_edge != is_edge.T).any())
  tails, heads = np.nonzero(is_edge if is_directed else np.triu(is_edge))
  return tails, heads, is_directed


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
      list(np.stack([tips, base + across, base - across], axis=1)),
      facecolors=colours.EDGE, edgecolors='none', zorder=0))
