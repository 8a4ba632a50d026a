# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of graphs that are drawn without matrices."""

from dear_jax.data import free_memory
from dear_jax.data import samplers
from dear_jax.data import sparse_families
from dear_jax.data import sparse_graphs
import numpy as np
import pytest

# All of these draw the very graphs that matrices would have.
_SAME = ('tree', 'path', 'cycle', 'grid', 'small_world', 'preferential',
         'geometric', 'delaunay', 'salsa_ws', 'salsa_delaunay')


def _sampler(graphs, size, batch_size=6, sparse=True, **kwargs):
  return samplers.make_sampler(
      kwargs.pop('task', 'bfs'), size=size, batch_size=batch_size, seed=4,
      split='test', graphs=graphs, sparse=sparse, **kwargs)


@pytest.mark.parametrize('size', [2, 3, 5, 17, 40])
@pytest.mark.parametrize('graphs', _SAME)
def test_samples_are_those_with_matrices(graphs, size):
  with_matrices = _sampler(graphs, size, sparse=False).batch(1)
  without = _sampler(graphs, size).batch(1)
  inputs = {x.name: x.data for x in with_matrices.features.inputs}
  for i, question in enumerate(without.questions):
    np.testing.assert_array_equal(question['adj'].matrix(), inputs['A'][i])
    assert question['source'] == inputs['s'][i].argmax()
    np.testing.assert_array_equal(without.outputs[i]['pi'],
                                  with_matrices.outputs[0].data[i])


def test_of_a_mixture_all_but_erdos_renyi_are_the_same():
  with_matrices = _sampler('mixed', 12, 40, sparse=False).batch(0)
  inputs = {x.name: x.data for x in with_matrices.features.inputs}
  without = _sampler('mixed', 12, 40).batch(0)
  same = [np.array_equal(question['adj'].matrix(), matrix)
          for question, matrix in zip(without.questions, inputs['A'])]
  assert 0.4 < np.mean(same) < 0.9  # 65 % are of the other families


def test_families_are_all_but_that_of_clrs():
  assert set(sparse_families.FAMILIES) == set(sparse_families._DRAW) | {'mixed'}


def test_erdos_renyi_graphs_have_their_mean_degree():
  graphs = [x['adj'] for x in _sampler(
      'sparse_er', 2000, 8, mean_degree=8).batch(0).questions]
  for graph in graphs:
    assert np.all(graph.senders != graph.receivers)
    keys = graph.senders * 2000 + graph.receivers
    assert len(np.unique(keys)) == len(keys)
    back = graph.receivers * 2000 + graph.senders
    assert set(keys) == set(back)
  degrees = [len(x.senders) / 2000 for x in graphs]
  # Of 8 graphs with 8,000 edges each, the mean has a deviation of 0.03.
  assert abs(np.mean(degrees) - 8) < 0.15


def test_every_pair_is_as_likely_as_any_other():
  batch = _sampler('sparse_er', 5, 3000, mean_degree=2.0).batch(0)
  share = np.mean([x['adj'].matrix() for x in batch.questions], axis=0)
  np.testing.assert_allclose(share[~np.eye(5, dtype=bool)], 0.5, atol=0.05)
  full = _sampler('sparse_er', 5, 1, mean_degree=1e9).batch(0).questions[0]
  np.testing.assert_array_equal(full['adj'].matrix(), 1 - np.eye(5))


@pytest.mark.parametrize('graphs', sparse_families.FAMILIES)
def test_large_graphs(graphs):
  size = 20_000
  batch = _sampler(graphs, size, 1).batch(0)
  graph = batch.questions[0]['adj']
  assert isinstance(graph, sparse_graphs.SparseGraph)
  assert size - 1 <= len(graph.senders) / 2 <= 20 * size
  assert batch.outputs[0]['pi'].shape == (size,)
  if graphs != 'sparse_er':
    # Nothing is left out, or the family is one that need not be connected.
    assert np.mean(batch.outputs[0]['pi'] != np.arange(size)) > 0.9


@pytest.mark.parametrize('task', ['bellman_ford', 'dijkstra', 'mst_prim'])
def test_weights(task):
  batch = _sampler('tree', 50, 2, task=task).batch(0)
  for question, outputs in zip(*batch):
    matrix = question['adj'].matrix()
    np.testing.assert_array_equal(matrix, matrix.T)
    assert 0 < matrix[matrix != 0].min() and matrix.max() < 1.01
    has_edge = matrix[outputs['pi'], np.arange(50)] > 0
    assert np.all(has_edge | (outputs['pi'] == np.arange(50)))
    assert has_edge.sum() == 49  # all but the source


@pytest.mark.parametrize('kwargs, message', [
    (dict(task='dfs'), "bellman_ford, bfs, .*, not for 'dfs'"),
    (dict(graphs='er'), 'choose from sparse_er, path'),
    (dict(graphs='tree', mean_degree=8), 'graphs=sparse_er, not'),
    (dict(mean_degree=-1), 'above 0, got -1'),
    (dict(mean_degree=float('nan')), 'above 0, got nan'),
    (dict(cache_dir='somewhere'), 'neither cache_dir'),
    (dict(sparse=False, mean_degree=8), 'needs sparse=True'),
])
def test_what_cannot_be_drawn(kwargs, message):
  with pytest.raises(ValueError, match=message):
    _sampler(**{'graphs': 'sparse_er', 'size': 10, **kwargs})


def test_matrices_that_do_not_fit_are_refused(monkeypatch):
  with pytest.raises(ValueError, match='24,000,000,000,000 bytes') as e:
    _sampler('sparse_er', 10**6, 1, sparse=False)
  assert 'sparse=True' in str(e.value)
  monkeypatch.setattr(free_memory, 'available', lambda: None)
  _sampler('sparse_er', 10**6, 1, sparse=False)  # who knows
