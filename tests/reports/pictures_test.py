# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of pictures: what is on them, not how it looks."""

import itertools
import sys

import clrs
from dear_jax.data import samplers
from dear_jax.reasoning import tracing
from dear_jax.reports import colours
from dear_jax.reports import graph_panels
from dear_jax.reports import instances
from dear_jax.reports import panels as panels_lib
from dear_jax.reports import pictures
import matplotlib
from matplotlib import colors
from matplotlib import patches
import numpy as np
import PIL.Image
import pytest

WRONG = colors.to_rgba(colours.WRONG)
RIGHT = colors.to_rgba(colours.RIGHT)


def _trace(predictions, residuals, selected=None, converged=True):
  """A trace of a batch of one."""
  residuals = np.array(residuals, float)[:, None]
  return tracing.Trace(
      predictions={name: np.array(x, float)[:, None]
                   for name, x in predictions.items()},
      residuals=residuals, steps=np.array([len(residuals)]),
      converged=np.array([converged]),
      selected=np.array([len(residuals) - 1 if selected is None else selected]))


def _feedback(inputs, outputs):
  """A batch of one, from values by (name, location, type)."""
  points = lambda probes: [
      clrs.DataPoint(*key, np.array(value, float)[None])
      for key, value in probes.items()]
  return clrs.Feedback(
      clrs.Features(points(inputs), [], np.ones(1)), points(outputs))


# A path with the source at its end: every node points to the one before it.
GRAPH = _feedback(
    {('pos', 'node', 'scalar'): np.arange(4) / 4,
     ('s', 'node', 'mask_one'): [1, 0, 0, 0],
     ('adj', 'edge', 'mask'): np.eye(4) + np.eye(4, k=1) + np.eye(4, k=-1)},
    {('pi', 'node', 'pointer'): [0, 0, 1, 2]})
POINTERS = [[1, 0, 2, 3], [0, 2, 1, 2], [0, 0, 1, 2]]


def _graph_trace(**kwargs):
  return _trace({'pi': POINTERS}, [1.0, 0.3, 0.05], **kwargs)


KEYS = [0.4, 0.1, 0.9, 0.6]  # in order: 1, 0, 3, 2
SORTED = np.array([1, 1, 3, 0])


def _one_hot(indices):
  return np.eye(4)[np.array(indices)]


ARRAY = {('pos', 'node', 'scalar'): np.arange(4) / 4,
         ('key', 'node', 'scalar'): KEYS}


def _panels(figure):
  """The axes of panels, which have a title."""
  return [ax for ax in figure.axes if ax.get_title()]


def _notes(ax):
  return [text.get_text() for text in ax.texts]


def _arrows(ax, color):
  return [x for x in ax.patches if isinstance(x, patches.FancyArrowPatch)
          and x.get_edgecolor() == color]


def test_wrong_pointers_of_a_graph():
  instance = instances.read(_graph_trace(), GRAPH, 'bfs')
  assert (instance.kind, instance.size, len(instance)) == ('graph', 4, 3)
  np.testing.assert_array_equal(
      instance.wrong_pointers(),
      [[True, False, True, True], [False, True, False, False], [False] * 4])
  assert instance.wrong().tolist() == [3, 1, 0] and instance.scored() == 4
  assert instance.ending() == 'converged after 3 iterations'


def test_arrows_of_a_graph():
  figure = pictures.strip(_graph_trace(), GRAPH, 'bfs', tol=0.1)
  panels = _panels(figure)
  assert [ax.get_title() for ax in panels] == [
      'iteration 1', 'iteration 2', 'iteration 3']
  assert [_notes(ax)[0] for ax in panels] == [
      'residual 1, 3 of 4 wrong', 'residual 0.3, 1 of 4 wrong',
      'residual 0.05, 0 of 4 wrong']
  # Loops are circles. Of the first panel two are wrong, and the true one is
  # there without a pointer on it.
  assert [len(_arrows(ax, WRONG)) for ax in panels] == [1, 1, 0]
  assert [len(_arrows(ax, RIGHT)) for ax in panels] == [1, 2, 3]
  for ax in panels:
    assert all(x.get_linestyle() != '-' for x in _arrows(ax, WRONG))
    assert all(x.get_linestyle() == '-' for x in _arrows(ax, RIGHT))
  circles = [[x for x in ax.patches if isinstance(x, patches.Circle)]
             for ax in panels]
  # Four nodes, a true loop, and the loops that are answered.
  assert [len(x) for x in circles] == [7, 6, 6]
  dark = [[x.get_facecolor() == colors.to_rgba(colours.INK) for x in y]
          for y in circles]
  assert [sum(x) for x in dark] == [1, 1, 1]  # the source
  assert [text.get_text() for text in figure.legends[0].texts] == [
      'edge', 'source', 'true pointer', 'right pointer', 'wrong pointer']


def test_residuals_are_beneath():
  figure = pictures.strip(_graph_trace(), GRAPH, 'bfs', tol=0.1)
  residuals, counts = figure.axes[-2:]
  assert residuals.get_yscale() == 'log'
  curve = residuals.lines[1]
  np.testing.assert_allclose(curve.get_xydata(),
                             [[1, 1.0], [2, 0.3], [3, 0.05]])
  assert [0.1, 0.1] in [list(x.get_ydata()) for x in residuals.lines]
  assert [bar.get_height() for bar in counts.patches] == [3, 1, 0]
  low, high = residuals.get_ylim()
  assert low < 0.05 and high > 1


def test_no_text_is_over_another_or_cut_off():
  size, length = 16, 30
  rng = np.random.default_rng(0)
  graph = _feedback(
      {('pos', 'node', 'scalar'): np.arange(size),
       ('adj', 'edge', 'mask'): rng.random((size, size)) < 0.3},
      {('pi', 'node', 'pointer'): np.maximum(np.arange(size) - 2, 0)})
  array = _feedback(
      {('pos', 'node', 'scalar'): np.arange(size),
       ('key', 'node', 'scalar'): rng.random(size)},
      {('pred', 'node', 'pointer'): np.maximum(np.arange(size) - 1, 0)})
  pointers = rng.integers(size, size=(length, size))
  residuals = np.geomspace(1, 0.1, length) * 0.999
  for feedback, name in ((graph, 'pi'), (array, 'pred')):
    figure = pictures.strip(_trace({name: pointers}, residuals), feedback,
                            'some_task', tol=0.1)
    assert len(_panels(figure)) == 8
    figure.draw_without_rendering()
    boxes = [(text.get_text(), text.get_window_extent())
             for text in figure.findobj(matplotlib.text.Text)
             if text.get_text() and text.get_visible()]
    # Ticks outside of the axes are not drawn.
    boxes = [(text, box) for text, box in boxes if '$' not in text]
    assert len(boxes) > 8 * 2
    for (a, box_a), (b, box_b) in itertools.combinations(boxes, 2):
      assert not box_a.padded(-1).overlaps(box_b.padded(-1)), (a, b)
    for text, box in boxes:
      assert figure.bbox.contains(*box.min), text
      assert figure.bbox.contains(*box.max), text


def test_which_iterations_are_shown():
  def shown(length, **kwargs):
    trace = _trace({'pi': np.zeros((length, 4))}, np.ones(length), **kwargs)
    return pictures.choose_iterations(instances.read(trace, GRAPH, 'bfs'))

  assert shown(1) == [0]
  assert shown(8) == list(range(8))
  many = shown(33)
  assert len(many) == 8 and many[0] == 0 and many[-1] == 32
  assert set(np.diff(many)) <= {4, 5}
  # The answer is always there, whatever it is that is left out for it.
  for selected in (0, 1, 17, 30, 31):
    rows = shown(33, selected=selected, converged=False)
    assert selected in rows and rows == sorted(set(rows))
    assert len(rows) == 8 and rows[0] == 0 and rows[-1] == 32


def test_a_solve_that_failed():
  trace = _trace({'pi': POINTERS[:1]}, [np.inf], converged=False)
  figure = pictures.strip(trace, GRAPH, 'bfs', tol=0.1, title='Some title')
  ax, = _panels(figure)
  assert _notes(ax)[0] == 'not finite, 3 of 4 wrong'
  figure.draw_without_rendering()
  assert [text.get_text() for text in figure.texts] == [
      'Some title', 'not converged after 1 iteration: the answer is that of '
      'iteration 1 (tolerance 0.1)']
  pictures.strip(trace, GRAPH, 'bfs').draw_without_rendering()


def test_nodes_that_are_marked():
  """A topological sort has pointers, off the edges, and a first node."""
  inputs = {('pos', 'node', 'scalar'): np.arange(4),
            ('adj', 'edge', 'mask'): np.eye(4) + np.eye(4, k=1)}
  feedback = _feedback(inputs, {
      ('topo', 'node', 'pointer'): [1, 2, 3, 3],
      ('topo_head', 'node', 'mask_one'): [1, 0, 0, 0]})
  trace = _trace({'topo': [[1, 2, 3, 3]] * 2,
                  'topo_head': [[0, 1, 0, 0], [1, 0, 0, 0]]}, [1, 0.1])
  instance = instances.read(trace, feedback, 'topological_sort')
  # One choice is wrong, and two nodes show it.
  assert instance.wrong().tolist() == [1, 0] and instance.scored() == 5
  assert instance.wrong_nodes().sum(axis=1).tolist() == [2, 0]
  figure = pictures.strip(trace, feedback, 'topological_sort')
  assert 'topo_head' in [x.get_text() for x in figure.legends[0].texts]
  assert 'source' not in [x.get_text() for x in figure.legends[0].texts]

  cuts = _feedback(inputs, {('is_cut', 'node', 'mask'): [0, 1, 1, -1]})
  trace = _trace({'is_cut': [[1, 0, 1, 1]]}, [0.1])
  instance = instances.read(trace, cuts, 'articulation_points')
  assert instance.wrong().tolist() == [2] and instance.scored() == 3
  pictures.strip(trace, cuts, 'articulation_points')


@pytest.mark.parametrize('size', [1, 2, 9])
def test_true_pointers_do_not_cross(size):
  rng = np.random.default_rng(size)
  names = rng.permutation(size)
  pointers = np.empty(size, int)
  for i, node in enumerate(names):  # to one that came before, or itself
    pointers[node] = names[rng.integers(i + 1)]
  source = names[0]
  at = graph_panels.circle_layout(pointers, size, source)
  np.testing.assert_allclose(np.linalg.norm(at, axis=1), 1)
  np.testing.assert_allclose(at[source], [0, 1], atol=1e-9)
  turn = np.mod(np.pi / 2 - np.arctan2(at[:, 1], at[:, 0]) + 1e-9, 2 * np.pi)
  place = np.argsort(np.argsort(turn))
  assert len(set(np.round(turn, 6))) == size
  chords = [sorted((place[i], place[j])) for i, j in enumerate(pointers)
            if i != j]
  for (a, b), (c, d) in itertools.permutations(chords, 2):
    assert not a < c < b < d


def test_layout_without_trees():
  ring = graph_panels.circle_layout(np.array([1, 2, 0]), 3)
  plain = graph_panels.circle_layout(None, 3)
  assert len(np.unique(np.round(ring, 6), axis=0)) == 3
  np.testing.assert_allclose(plain[0], [0, 1], atol=1e-9)
  assert plain[1, 0] > 0  # clockwise


def test_places_in_an_array():
  places = lambda *x: (lambda y, is_chain: (y.tolist(), is_chain))(
      *panels_lib.places(np.array(x)))
  assert places(0) == ([0], True)
  assert places(1, 1, 3, 0) == ([1, 0, 3, 2], True)
  assert places(1, 1, 1, 0) == ([1, 0, 1, 2], False)  # two after the first
  assert places(0, 1, 0, 1) == ([0, 0, 1, 1], False)  # two first ones
  assert places(0, 2, 1, 2) == ([0, -1, -1, -1], False)  # in a circle
  assert places(3, 0, 1, 2) == ([-1] * 4, False)


def _order_trace(rows, firsts):
  return _trace({'pred': [_one_hot(row) for row in rows],
                 'pred_mask': _one_hot(firsts)}, np.geomspace(1, .1, len(rows)))


def test_order_of_an_array():
  # In the second row node 0 is first, and the others point in a circle.
  trace = _order_trace([[1, 2, 3, 0], [2, 3, 1, 2]], [1, 0])
  feedback = _feedback(ARRAY, {
      ('pred', 'node', 'permutation_pointer'): _one_hot([1, 2, 3, 0]),
      ('pred_mask', 'node', 'mask_one'): _one_hot(1)})
  instance = instances.read(trace, feedback, 'insertion_sort')
  assert instance.kind == 'order'
  np.testing.assert_array_equal(instance.true_pointers, SORTED)
  np.testing.assert_array_equal(instance.pointers, [SORTED, [0, 3, 1, 2]])
  assert instance.wrong().tolist() == [0, 4] and instance.scored() == 4

  figure = pictures.strip(trace, feedback, 'insertion_sort')
  panels = _panels(figure)
  bars = [[x for x in ax.patches if isinstance(x, patches.Rectangle)]
          for ax in panels]
  centres = [[x.get_x() + x.get_width() / 2 for x in row] for row in bars]
  np.testing.assert_allclose(centres, [[1, 0, 3, 2], [0, 1, 2, 3]])
  np.testing.assert_allclose([x.get_height() for x in bars[0]], KEYS)
  assert [[bool(x.get_hatch()) for x in row] for row in bars] == [
      [False] * 4, [True] * 4]
  assert 'not a single chain' not in _notes(panels[0])
  assert {'not a single chain', 'in a circle'} <= set(_notes(panels[1]))


def test_elements_that_share_a_place():
  trace = _order_trace([[1, 2, 1, 1]], [1])  # all others after node 1
  feedback = _feedback(ARRAY, {
      ('pred', 'node', 'permutation_pointer'): _one_hot([1, 2, 3, 0]),
      ('pred_mask', 'node', 'mask_one'): _one_hot(1)})
  ax, = _panels(pictures.strip(trace, feedback, 'heapsort'))
  bars = sorted((x.get_x(), x.get_x() + x.get_width()) for x in ax.patches)
  ends = list(itertools.chain(*bars))
  assert np.all(np.diff(ends) > -1e-9) and 0.5 < ends[2] and ends[-1] < 1.5


@pytest.mark.parametrize('task,output,answers', [
    ('minimum', ('min', 'node', 'mask_one'), _one_hot([2, 1])),
    ('search', ('return', 'graph', 'pointer'), [2, 1]),
])
def test_chosen_element(task, output, answers):
  inputs = dict(ARRAY)
  outputs, found = {output: answers[1]}, {output[0]: answers}
  if task == 'search':
    inputs['target', 'graph', 'scalar'] = 0.5
    outputs['smaller', 'node', 'mask'] = [1, 1, 0, 0]
    found['smaller'] = [[1, 0, 0, 0], [1, 1, 0, 0]]
  feedback, trace = _feedback(inputs, outputs), _trace(found, [1, 0.1])
  instance = instances.read(trace, feedback, task)
  assert instance.kind == 'choice'
  expected = dict(minimum=([1, 0], 1), search=([2, 0], 5))[task]
  assert (instance.wrong().tolist(), instance.scored()) == expected
  figure = pictures.strip(trace, feedback, task)
  before, after = _panels(figure)
  hatched = lambda ax: [i for i, x in enumerate(ax.patches) if x.get_hatch()]
  assert hatched(before) == dict(minimum=[2], search=[1, 2])[task]
  assert not hatched(after)
  assert after.patches[1].get_facecolor() == RIGHT
  for ax in (before, after):  # a triangle over the true one
    np.testing.assert_array_equal(ax.lines[1].get_xdata(), [1])
  assert ('target' in [x.get_text() for x in figure.legends[0].texts]) == (
      task == 'search')


def test_tasks_with_and_without_a_picture():
  spec = lambda task: samplers.make_sampler(
      task, size=4, batch_size=1, seed=0, split='val').spec
  kinds = {task: instances.kind_of(task, spec(task)) for task in (
      'bfs', 'bellman_ford', 'dfs', 'mst_prim', 'dag_shortest_paths',
      'dijkstra', 'strongly_connected_components', 'topological_sort',
      'strongly_connected_components_local', 'articulation_points')}
  assert set(kinds.values()) == {'graph'}
  for task in ('insertion_sort', 'bubble_sort', 'heapsort', 'quicksort'):
    assert instances.kind_of(task, spec(task)) == 'order'
  for task in ('minimum', 'binary_search', 'search', 'quickselect'):
    assert instances.kind_of(task, spec(task)) == 'choice'
  for task in ('floyd_warshall', 'mst_kruskal', 'graham_scan', 'lcs_length',
               'kmp_matcher', 'segments_intersect'):
    with pytest.raises(ValueError, match=(
        f'no picture of the outputs of {task}; there is one for .*bfs.*'
        'insertion_sort.*minimum')) as e:
      instances.kind_of(task, spec(task))
    assert str(e.value).count(task) == 1


def test_only_instances_that_there_are():
  for sample in (-1, 1):
    with pytest.raises(ValueError, match=f'must be in 0..0, got {sample}'):
      pictures.strip(_graph_trace(), GRAPH, 'bfs', sample)


def test_animation(tmp_path):
  path = tmp_path / 'solve.gif'
  pictures.animate(_graph_trace(), GRAPH, 'bfs', path, tol=0.1)
  assert [x.name for x in tmp_path.iterdir()] == ['solve.gif']
  with PIL.Image.open(path) as image:
    assert image.format == 'GIF' and image.n_frames == 3
    durations = []
    for i in range(3):
      image.seek(i)
      durations.append(image.info['duration'])
  assert durations[0] == durations[1] < durations[2]  # the end stays
  with pytest.raises(ValueError, match="ends in .gif, got '.*solve.mp4'"):
    pictures.animate(_graph_trace(), GRAPH, 'bfs', str(tmp_path / 'solve.mp4'))


def test_nothing_is_left_of_an_animation_that_failed(tmp_path, monkeypatch):
  def fail(*unused_args, **unused_kwargs):
    raise KeyboardInterrupt
  monkeypatch.setattr(panels_lib, 'draw_residuals', fail)
  with pytest.raises(KeyboardInterrupt):
    pictures.animate(_graph_trace(), GRAPH, 'bfs', tmp_path / 'solve.gif')
  assert not list(tmp_path.iterdir())


def test_without_matplotlib(monkeypatch):
  monkeypatch.setitem(sys.modules, 'matplotlib', None)
  with pytest.raises(ImportError, match=r'pip install .dear-jax\[plots\]'):
    pictures.strip(_graph_trace(), GRAPH, 'bfs')
