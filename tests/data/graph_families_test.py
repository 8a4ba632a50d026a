# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Families of graphs: their structure, checked by networkx and scipy."""

import hashlib
import math

import clrs
from dear_jax.data import data_cache
from dear_jax.data import drawing
from dear_jax.data import graph_families
from dear_jax.data import graph_names
from dear_jax.data import samplers
from dear_jax.data import streams
from dear_jax.data import tasks
from dear_jax.data import trees
from dear_jax.networks import edge_lists
import networkx as nx
import numpy as np
import pytest
from scipy import spatial
from scipy import stats
from tests import feedbacks

FAMILIES = sorted(graph_families.FAMILIES)
SIZES = (2, 3, 4, 5, 6, 7, 8, 13, 16, 41)
CONNECTED = ('tree', 'path', 'cycle', 'grid', 'preferential', 'delaunay',
             'salsa_er', 'salsa_ws', 'salsa_delaunay')


def make_draws(size, nb_samples=40, first=0):
  return streams.Draws(streams.Stream(1), first + np.arange(nb_samples),
                       split=0, size=size)


def draw(family, size, nb_samples=40):
  return graph_families.FAMILIES[family](make_draws(size, nb_samples))


def graphs_of(family, size, nb_samples=40):
  return [nx.from_numpy_array(x) for x in draw(family, size, nb_samples)]


def without_hints(feedback):
  return feedbacks.arrays(feedback._replace(
      features=feedback.features._replace(hints=())))


def test_names_are_those_of_the_functions():
  assert {*graph_names.FAMILIES} == {*FAMILIES, graph_names.ER}
  assert sum(graph_names.MIXED_SHARES.values()) == pytest.approx(1)


@pytest.mark.parametrize('size', SIZES)
@pytest.mark.parametrize('family', FAMILIES)
def test_graphs_are_undirected_and_without_loops(family, size):
  edges = draw(family, size)
  assert edges.shape == (40, size, size) and edges.dtype == bool
  np.testing.assert_array_equal(edges, edges.transpose(0, 2, 1))
  assert not edges[:, np.arange(size), np.arange(size)].any()
  if family in CONNECTED:
    assert all(nx.is_connected(nx.from_numpy_array(x)) for x in edges)


@pytest.mark.parametrize('size', SIZES)
def test_trees_paths_and_cycles(size):
  for graph in graphs_of('tree', size):
    assert nx.is_tree(graph)
  for graph in graphs_of('path', size):
    assert nx.is_tree(graph) and max(dict(graph.degree).values()) <= 2
  for graph in graphs_of('cycle', size):
    assert nx.is_isomorphic(graph, nx.cycle_graph(size)
                            if size > 2 else nx.path_graph(2))


def test_all_labelled_trees_are_alike():
  edges = draw('tree', 4, nb_samples=8000)
  _, counts = np.unique(edges.reshape(len(edges), -1), axis=0,
                        return_counts=True)
  assert len(counts) == 4**2  # Cayley's formula
  assert stats.chisquare(counts).pvalue > 1e-3


def test_pruefer_codes_are_those_of_networkx():
  codes = np.random.default_rng(0).integers(9, size=(50, 7))
  found = np.empty((50, 8, 2), np.int64)
  trees.decode(codes, np.empty(9, np.int64), found)
  for code, ends in zip(codes, found):
    expected = nx.from_prufer_sequence(code.tolist())
    assert {frozenset(x) for x in ends.tolist()} == {
        frozenset(x) for x in expected.edges}


@pytest.mark.parametrize('size', SIZES)
def test_grids(size):
  columns = math.ceil(math.sqrt(size))
  expected = nx.grid_2d_graph(math.ceil(size / columns), columns)
  expected.remove_nodes_from(sorted(expected)[size:])
  for graph in graphs_of('grid', size, 5):
    assert nx.is_isomorphic(graph, expected)


@pytest.mark.parametrize('family', ['small_world', 'salsa_ws'])
def test_small_worlds_have_the_edges_of_their_rings(family):
  counts = {graph.number_of_edges() for graph in graphs_of(family, 16, 100)}
  assert counts == {16 * k // 2 for k in (4, 6, 8)}
  assert {graph.number_of_edges() for graph in graphs_of(family, 8)} == {
      8 * k // 2 for k in (4, 6)}  # 8 neighbours are too many
  # A complete graph has no edge to rewire.
  assert {graph.number_of_edges() for graph in graphs_of(family, 5)} == {10}


def test_rings_are_rewired_as_often_as_in_networkx():
  size, nb_samples = 20, 2000
  half = np.full(nb_samples, 2)
  p = np.full(nb_samples, 0.15)
  found = graph_families._rings(make_draws(size, nb_samples), half, p)
  expected = np.stack([nx.to_numpy_array(nx.watts_strogatz_graph(
      size, 4, 0.15, seed=i)) for i in range(nb_samples)])
  kept = [np.mean([x[:, np.arange(size), np.arange(size) - j].mean()
                   for j in (1, 2)]) for x in (found, expected)]
  assert kept[0] == pytest.approx(kept[1], abs=0.01)
  # Where the other ends go, and who keeps its neighbours.
  for values in (lambda x: x.sum(axis=2).ravel(), lambda x: x[:, 0, 10]):
    assert stats.ks_2samp(values(found), values(expected),
                          method='asymp').pvalue > 1e-3


def test_small_worlds_keep_their_order_in_salsa_only():
  ring = np.eye(16, k=1, dtype=bool)
  assert draw('salsa_ws', 16)[:, ring].mean() > 0.8
  assert draw('small_world', 16)[:, ring].mean() < 0.5


def test_preferential_attachment():
  for graph in graphs_of('preferential', 16, 100):
    # m edges for every node but the first star, which has m as well.
    assert graph.number_of_edges() in {m * (16 - m) for m in (1, 2, 3)}
  for size in (2, 3):
    for graph in graphs_of('preferential', size):
      assert graph.number_of_edges() in {m * (size - m) for m in (1, 2)}


@pytest.mark.parametrize('m', [1, 2, 3])
def test_nodes_with_many_edges_are_preferred_as_in_networkx(m):
  size, nb_samples = 12, 3000
  found = np.zeros((nb_samples, size, size), bool)
  graph_families._attach(
      np.full(nb_samples, m), make_draws(size, nb_samples).uniforms(size, 3),
      np.empty(size, np.int64), found)
  expected = np.stack([nx.to_numpy_array(nx.barabasi_albert_graph(
      size, m, seed=i)) for i in range(nb_samples)])
  np.testing.assert_allclose(found.mean(axis=0), expected.mean(axis=0),
                             atol=0.05)
  most = [np.sort(x.sum(axis=2), axis=1)[:, -1] for x in (found, expected)]
  assert stats.ks_2samp(*most, method='asymp').pvalue > 1e-3


@pytest.mark.parametrize('size', SIZES)
def test_triangulations_are_those_of_scipy(size):
  points = make_draws(size).uniforms(2, size)
  edges = draw('delaunay', size)
  for point, found in zip(points, edges):
    assert nx.check_planarity(nx.from_numpy_array(found))[0]
    expected = np.zeros((size, size), bool)
    if size == 2:
      expected[:] = True
    else:
      for a in spatial.Delaunay(point.T).simplices:
        expected[np.ix_(a, a)] = True
    np.fill_diagonal(expected, False)
    np.testing.assert_array_equal(found, expected)


def test_a_large_triangulation():
  found, = draw('delaunay', 1600, 1)
  point, = make_draws(1600, 1).uniforms(2, 1600)
  hull = len(spatial.ConvexHull(point.T).vertices)
  assert found.sum() // 2 == 3 * 1600 - 3 - hull
  assert nx.is_connected(nx.from_numpy_array(found))


@pytest.mark.parametrize('size', [16, 80])
def test_densities_of_sparse_graphs(size):
  threshold = math.log(size) / size
  for family in ('sparse_er', 'salsa_er'):
    shares = draw(family, size, 1000).sum(axis=(1, 2)) / size / (size - 1)
    assert threshold / 2 < shares.min() < shares.max() < 4 * threshold
    if family == 'sparse_er':
      assert shares.mean() == pytest.approx(2 * threshold, rel=0.05)
  # Fewer towards the sides of the square.
  degrees = draw('geometric', size, 1000).sum(axis=2).mean()
  assert math.log(size) < degrees < 2 * math.log(size)


def test_geometric_graphs_are_of_points():
  draws = make_draws(30)
  degree = (1 + 2 * draws.single()) * math.log(30)
  points = draws.uniforms(2, 30)
  for edges, point, its_degree in zip(draw('geometric', 30), points, degree):
    radius = math.sqrt(its_degree / math.pi / 30)
    expected = nx.random_geometric_graph(
        30, radius, pos={i: tuple(x) for i, x in enumerate(point.T)})
    np.testing.assert_array_equal(edges, nx.to_numpy_array(expected))


@pytest.mark.parametrize('family', ['path', 'grid', 'small_world',
                                    'preferential', 'cycle'])
def test_names_of_nodes_say_nothing(family):
  share = draw(family, 8, 4000).mean(axis=0)
  off_diagonal = share[~np.eye(8, dtype=bool)]
  np.testing.assert_allclose(off_diagonal, off_diagonal.mean(), atol=0.05)


def test_shares_of_a_mixture():
  draws = make_draws(6, 20_000)
  er = lambda some: np.ones((some.batch_size, 6, 6), bool)
  edges = graph_families.draw(draws, 'mixed', er)
  assert edges.all(axis=(1, 2)).mean() == pytest.approx(0.2, abs=0.01)
  is_cycle = (edges.sum(axis=2) == 2).all(axis=1)
  assert 0.05 < is_cycle.mean() < 0.1  # and a few of other families


@pytest.mark.parametrize('family', graph_names.CHOICES)
def test_a_sample_does_not_depend_on_its_batch(family):
  for task in ('bfs', 'dfs', 'dag_shortest_paths',
               'strongly_connected_components'):
    def make(batch_size, task=task):
      return samplers.make_sampler(task, size=9, batch_size=batch_size, seed=3,
                                   split='val', graphs=family)
    whole = without_hints(make(12).batch(1))
    alone = [without_hints(make(1).batch(i)) for i in range(12, 24)]
    for name, data in whole.items():
      np.testing.assert_array_equal(
          data, np.concatenate([x[name] for x in alone]))


def test_a_sample_of_a_mixture_has_many_companions():
  """Whatever families the others have, and in whatever order they come."""
  draws = make_draws(7, 60)
  whole = drawing.weighted_and_source(draws, 'mixed')
  order = np.random.default_rng(0).permutation(60)[:25]
  some = drawing.weighted_and_source(
      streams.Draws(streams.Stream(1), order, split=0, size=7), 'mixed')
  for name, data in some.items():
    np.testing.assert_array_equal(data, whole[name][order])


@pytest.mark.parametrize('task', [x for x in graph_names.TASKS
                                  if x in clrs.SPECS])
@pytest.mark.parametrize('family', graph_names.CHOICES)
def test_outputs_are_those_of_clrs(task, family):
  for size in (4, 11):
    sampler = samplers.make_sampler(task, size=size, batch_size=4, seed=0,
                                    split='test', graphs=family)
    feedback = sampler.next()
    data = without_hints(feedback)
    arguments = [data['A']] + (
        [data['s'].argmax(axis=1)] if 's' in data else [])
    output, = feedback.outputs
    for found, *problem in zip(output.data, *arguments):
      expected, _ = getattr(clrs.algorithms, task)(*map(np.copy, problem))
      np.testing.assert_array_equal(found, expected)


def test_directions():
  edges = draw('sparse_er', 16, 500)
  directed = graph_families.random_directions(make_draws(16, 500), edges)
  np.testing.assert_array_equal(directed | directed.transpose(0, 2, 1), edges)
  both = directed & directed.transpose(0, 2, 1)
  assert both.sum() / edges.sum() == pytest.approx(1 / 3, abs=0.02)
  one_way = directed & ~both
  upper = np.triu(np.ones((16, 16), bool))
  assert one_way[:, upper].sum() / one_way.sum() == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize('task', graph_names.TASKS)
def test_the_default_is_er(task):
  default, er = (samplers.make_sampler(task, size=8, batch_size=4, seed=0,
                                       split='train', **options)
                 for options in ({}, {'graphs': 'er'}))
  assert feedbacks.same(default.next(), er.next())


def test_samples_are_the_same_on_every_machine():
  digest = hashlib.sha256()
  for task in sorted({*graph_names.TASKS} & {*tasks.TASKS}):
    for family in graph_names.CHOICES:
      feedback = samplers.make_sampler(
          task, size=9, batch_size=4, seed=0, split='val',
          graphs=family).batch(0)
      for name, data in sorted(feedbacks.arrays(feedback).items()):
        digest.update(name.encode() + np.ascontiguousarray(data).tobytes())
  # If a change of what is drawn is meant, raise data_cache.DATA_VERSION.
  assert (data_cache.DATA_VERSION, digest.hexdigest()[:16]) == (
      1, '78831243dbd6387e')


def test_kept_samples_are_of_one_family(tmp_path):
  make = lambda cache_dir, **options: samplers.make_sampler(
      'bfs', size=6, batch_size=4, seed=0, split='val', cache_dir=cache_dir,
      **options).batch(0)
  for options in ({}, {'graphs': 'path'}, {'graphs': 'mixed'}) * 2:
    assert feedbacks.same(make(tmp_path, **options), make(None, **options))
  assert len(list(tmp_path.iterdir())) == 3
  make(tmp_path, graphs='er')  # what there was before there were families
  assert len(list(tmp_path.iterdir())) == 3


def test_tasks_with_families_are_those_whose_draw_takes_one():
  for name, task in tasks.TASKS.items():
    takes = 'family' in task.draw.__code__.co_varnames
    assert takes == (name in graph_names.TASKS)


def test_clrs_own_algorithm_on_other_graphs():
  make = lambda task: without_hints(samplers.make_sampler(
      task, size=7, batch_size=5, seed=0, split='train', graphs='tree',
      with_lengths=True).batch(0))
  batch = make('dijkstra')
  assert ((batch['A'] > 0).sum(axis=(1, 2)) == 2 * 6).all()
  # In a tree there is one path to every node.
  expected, = tasks.TASKS['bellman_ford'].feedback(
      A=batch['A'], s=batch['s'].argmax(axis=1)).outputs
  np.testing.assert_array_equal(batch['pi'], expected.data)
  assert (np.diff(batch['pos']) > 0).all()
  assert not np.allclose(batch['pos'], np.arange(7) / 7)


def test_mixtures_need_no_more_programs():
  """Programs are compiled for lengths of lists of edges."""
  lengths = {}
  for family in ('er', 'mixed'):
    sampler = samplers.make_sampler('bfs', size=(8, 16), batch_size=32, seed=0,
                                    split='train', graphs=family)
    lengths[family] = {
        len(edge_lists.from_inputs(sampler.batch(i).features.inputs).pairs)
        for i in range(200)}
  assert len(lengths['mixed']) <= len(lengths['er']) <= 6


def test_wrong_names():
  make = lambda task, graphs: samplers.make_sampler(
      task, size=8, batch_size=2, seed=0, split='train', graphs=graphs)
  with pytest.raises(ValueError, match="Unknown graphs 'paths' .did you mean "
                     "'path'.*choose from er, sparse_er"):
    make('bfs', 'paths')
  for task in ('minimum', 'mst_kruskal', 'search'):
    with pytest.raises(ValueError, match=f'not for {task}.*bellman_ford, bfs'):
      make(task, 'mixed')
    make(task, 'er')
