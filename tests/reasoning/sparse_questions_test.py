# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of questions about graphs that come as their edges."""

import functools

import dear_jax
from dear_jax.data import free_memory
from dear_jax.data import samplers
from dear_jax.models import packed
from dear_jax.reasoning import questions
from dear_jax.reasoning import sparse_questions
from dear_jax.training import builders
from dear_jax.training import configs
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import sparse

_PATH = ([0, 1, 1, 2], [1, 0, 2, 1], 3)


def _read(adj, task='bfs', min_size=2, **kwargs):
  kwargs = {'source': 0} if 'source' not in kwargs else kwargs
  return sparse_questions.read(task, (adj,), kwargs, min_size=min_size)


def test_edges_are_read():
  problem = _read(_PATH, source=2)
  assert problem.source == 2 and problem.graph.nb_nodes == 3
  np.testing.assert_array_equal(problem.graph.matrix(),
                                [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
  # Rows may be arrays, and weights may be there and be None or ones.
  for weights in ((), (None,), (np.ones(4),)):
    adj = tuple(map(np.asarray, _PATH[:2])) + weights + (np.int64(3),)
    np.testing.assert_array_equal(_read(adj).graph.matrix(),
                                  problem.graph.matrix())
  assert _read(([], [], 2)).graph.matrix().tolist() == [[0, 0], [0, 0]]
  # A graph as a sampler gives it.
  assert _read(problem.graph, source=1).source == 1


def test_weights_are_brought_into_the_range_of_training():
  problem = _read(([0, 1], [1, 0], [4.0, 4.0], 2), 'bellman_ford')
  np.testing.assert_array_equal(problem.graph.weights, [1, 1])
  problem = _read(([0, 1], [1, 0], [0.5, 0.5], 2), 'bellman_ford')
  np.testing.assert_array_equal(problem.graph.weights, [0.5, 0.5])
  expected = questions.read('bellman_ford', ([[0, 3], [3, 0]], 0), {},
                            min_size=2).problems['A'][0]
  found = _read(([0, 1], [1, 0], [3, 3], 2), 'bellman_ford').graph.matrix()
  np.testing.assert_array_equal(found, expected)


def test_the_number_of_nodes_may_be_an_array():
  for size in (np.int32(2), np.array(2), jnp.array(2)):
    assert _read(([0, 1], [1, 0], size)).graph.nb_nodes == 2


def test_weights_of_very_different_magnitudes():
  edges = [0, 1, 1, 2], [1, 0, 2, 1]
  with pytest.raises(ValueError, match='the edge from 0 to 1 has 1e-50'):
    _read((*edges, [1e-50, 1e-50, 1, 1], 3), 'bellman_ford')
  found = _read((*edges, [1e-50, 1e-50, 1, 1], 3), 'mst_prim').graph
  np.testing.assert_allclose(found.weights, [1 / 3, 1 / 3, 2 / 3, 2 / 3])


@pytest.mark.parametrize('task', ['bellman_ford', 'mst_prim'])
def test_weights_are_those_of_the_same_question_with_a_matrix(task):
  rng = np.random.default_rng(0)
  draws = (rng.random((6, 6)) * 1e-3, rng.random((6, 6)),
           rng.integers(1, 3, (6, 6)), 10**rng.uniform(0, 6, (6, 6)))
  for weights in draws:
    adj = np.triu(weights * (rng.random((6, 6)) < 0.7), 1)
    adj += adj.T
    expected = questions.read(task, (adj, 0), {}, min_size=2).problems['A'][0]
    senders, receivers = rng.permutation(np.argwhere(adj)).T
    graph = _read((senders, receivers, adj[senders, receivers], 6), task).graph
    np.testing.assert_array_equal(graph.matrix(), expected)
    looped = adj + np.diag([9.0, 0, 1e-40, 0, 0.1, 0])
    expected = questions.read(task, (looped, 0), {}, min_size=2).problems['A']
    senders, receivers = rng.permutation(np.argwhere(looped)).T
    graph = _read((senders, receivers, looped[senders, receivers], 6),
                  task).graph
    np.testing.assert_array_equal(graph.matrix(), expected[0])


def test_a_graph_of_one_edge_from_a_node_to_itself():
  graph = _read(([1], [1], [6.0], 3), 'bellman_ford').graph
  np.testing.assert_array_equal(graph.weights, [0.75])


def test_small_sparse_matrices_and_networkx_graphs_stay_questions_of_matrices():
  networkx = pytest.importorskip('networkx')
  assert _read(sparse.eye(256)) is None
  assert _read(networkx.path_graph(256)) is None
  assert _read(np.eye(3)) is None
  assert _read([[0, 1], [1, 0]]) is None
  assert _read(((0, 1, 0), (1, 0, 1), (0, 1, 0))) is None
  assert sparse_questions.read('minimum', ([3, 1, 2],), {}, min_size=2) is None


def test_large_ones_become_edges():
  networkx = pytest.importorskip('networkx')
  graph = networkx.relabel_nodes(networkx.path_graph(300), lambda i: f'n{i}')
  graph.add_edge('n5', 'n5')
  problem = _read(graph, source='n7')
  assert problem.source == 7
  expected = networkx.to_numpy_array(graph, weight=None)
  np.testing.assert_array_equal(problem.graph.matrix(), expected)
  senders, receivers = np.nonzero(expected)
  matrix = sparse.coo_matrix(  # with a 0 that is stored, but no edge
      (np.append(np.ones(len(senders)), 0),
       (np.append(senders, 0), np.append(receivers, 9))), (300, 300)).tocsr()
  np.testing.assert_array_equal(_read(matrix).graph.matrix(), expected)
  for bad, source, message in (
      (networkx.MultiGraph(networkx.path_graph(300)), 0, 'MultiGraph'),
      (networkx.path_graph(300, networkx.DiGraph()), 0, 'both directions'),
      (graph, 'n999', "a node of the graph, got 'n999'"),
      (sparse.eye(300, 301), 0, r'square matrix .* \[300, 301\]'),
      (sparse.coo_matrix(([1, 1], ([0, 0], [0, 0])), (300, 300)), 0,
       'the edge from 0 to 0 has 2'),
      (sparse.eye(300) * np.nan, 0, 'finite')):
    with pytest.raises(ValueError, match=message):
      _read(bad, source=source)
  # What is stored twice counts twice, as in scipy itself.
  ends = [0, 1, 0, 1], [1, 0, 1, 0]
  for size in (3, 300):
    twice = sparse.coo_matrix((np.full(4, 0.25), ends), (size, size))
    found = _read(twice, 'bellman_ford')
    weights = questions.read('bellman_ford', (twice, 0), {}, min_size=2
                             ).problems['A'] if size == 3 else (
                                 found.graph.matrix())
    assert weights.max() == 0.5
  assert twice.nnz == 4  # what was given is as it was
  networkx.set_edge_attributes(graph, 0.25, 'weight')
  weights = _read(graph, 'bellman_ford', source='n0').graph.weights
  assert set(weights) == {0.25}
  graph['n0']['n1']['weight'] = 0
  with pytest.raises(ValueError, match="'n0' to 'n1' has a weight of 0"):
    _read(graph, 'bellman_ford', source='n0')


@pytest.mark.parametrize('adj, message', [
    (([0, 1], [1, 7], 2), r'from 0 to 1, but receivers\[1\] is 7'),
    (([0, -1], [1, 0], 2), r'from 0 to 1, but senders\[1\] is -1'),
    (([0, 1], [1], 2), 'as many senders as receivers, got 2 and 1'),
    (([[0, 1]], [[1, 0]], 2), r'a row \[E\] of whole numbers'),
    (([0.0, 1.0], [1.0, 0.0], 2), 'whole numbers, got float64'),
    (([0, 1], [1, 0], 2.5), 'a whole number, got 2.5'),
    (([0, 1], [1, 0], True), 'a whole number, got True'),
    (([], [], 0), 'at least 2 nodes, but adj has 0'),
    (([0, 1, 0], [1, 0, 1], 2), 'from 0 to 1 twice'),
    (([0], [1], 2), 'one from 0 to 1 of weight 1 and none from 1 to 0'),
    (([0, 1], [1, 0], [1, np.nan], 2), r'finite numbers, but weights\[1\]'),
    (([0, 1], [1, 0], [1, 1, 1], 2), r'a row of 2, .* shape \[3\]'),
    (([0, 1], [1, 0], [2, 2], 2), 'bfs knows no weights, but the edge'),
    (([0, 1], [1, 0], [0, 0], 2), 'from 0 to 1 has a weight of 0'),
    (([0, 1, 1, 2], [1, 0, 2, 1]), 'end in its number of nodes if'),
    (([0, 1], [1, 0], [1, 1]), 'end in its number of nodes if'),
    (([0, 1], [1, 0], None), 'end in its number of nodes if'),
    (([0, 1, 2], [1, 2, 0], '3'), 'end in its number of nodes if'),
    (([0, 1], [1, 0], np.array(2.5)), 'a whole number, got 2.5'),
    (([0, 1], [1, 0], 10**15), '48,000,000,000,000,000 bytes'),
    ([sparse.eye(3), sparse.eye(3)], 'list of questions'),
    ([np.eye(3), np.eye(4)], 'list of questions'),
])
def test_what_is_wrong_is_said_in_one_sentence(adj, message):
  with pytest.raises(ValueError, match=message) as e:
    _read(adj)
  assert '\n' not in str(e.value) and str(e.value).endswith('.')


def test_weights_directions_and_cycles():
  with pytest.raises(ValueError, match='one from 1 to 0 of 2'):
    _read(([0, 1], [1, 0], [1, 2], 2), 'bellman_ford')
  with pytest.raises(ValueError, match='negative.* from 0 to 1 has -1'):
    _read(([0, 1], [1, 0], [-1, -1], 2), 'bellman_ford')
  acyclic = ([0, 0, 1], [1, 2, 2], 3)
  assert _read(acyclic, 'dag_shortest_paths').graph.nb_nodes == 3
  for more in ((2, 0), (1, 1)):
    adj = (acyclic[0] + [more[0]], acyclic[1] + [more[1]], 3)
    with pytest.raises(ValueError, match='has one through node'):
      _read(adj, 'dag_shortest_paths')
  with pytest.raises(ValueError, match='from 0 to 2, got 3'):
    _read(_PATH, source=3)
  with pytest.raises(ValueError, match='but source is missing'):
    sparse_questions.read('bfs', (_PATH,), {}, min_size=2)


def test_matrices_that_do_not_fit_are_refused(monkeypatch):
  huge = np.broadcast_to(np.float32(0), (10**6, 10**6))
  with pytest.raises(ValueError, match='48,000,000,000,000 bytes') as e:
    _read(huge)
  assert 'adj=(senders, receivers, n)' in str(e.value)
  # Messages between all pairs are far more than their inputs.
  monkeypatch.setattr(free_memory, 'available', lambda: 10**6)
  sparse_questions.check_matrix((1, 100))
  with pytest.raises(ValueError, match='10,720,000 bytes'):
    sparse_questions.check_matrix((1, 100), width=128)
  with pytest.raises(ValueError, match='3 times 100 x 100'):
    sparse_questions.check_matrix((3, 100))


def test_what_is_free_is_known_on_linux():
  free = free_memory.available()
  assert free is None or 2**20 < free < 2**50


def test_copies_of_files_are_free_in_containers(tmp_path, monkeypatch):
  for name, text in (('_LIMIT', '5000\n'), ('_USED', '4000\n'),
                     ('_USES', 'anon 2500\nactive_file 600\n'
                      'inactive_file 900\n')):
    monkeypatch.setattr(free_memory, name, tmp_path / name)
    (tmp_path / name).write_text(text)
  assert free_memory.available() == 2500
  (tmp_path / '_USES').unlink()
  assert free_memory.available() == 1000
  (tmp_path / '_LIMIT').write_text('max\n')
  assert free_memory.available() != 1000


@functools.lru_cache(maxsize=None)
def _reasoner(task='bfs', **kwargs):
  config = configs.TrainConfig(algorithms=(task,), hidden_size=8, **{
      'max_iter': 6, 'processor': 'dear_pgn_edges', 'solver': 'picard',
      **kwargs})
  made = samplers.make_sampler(task, size=6, batch_size=1, seed=0,
                               split='test')
  model = builders.build_model(config, [made.spec], [made.batch(0)])
  model.init([made.batch(0).features], 1)
  return dear_jax.Reasoner(config, model.params, verbose=False)


def test_a_list_of_questions_is_answered_by_a_list():
  reasoner = _reasoner()
  matrix = 1 - np.eye(5)
  asked = [dict(adj=_PATH, source=1), dict(adj=matrix, source=4),
           dict(adj=sparse.csr_matrix(matrix), source=0)]
  found = reasoner(asked, details=True)
  assert [x['pi'].shape for x, _ in found] == [(3,), (5,), (5,)]
  for question, (outputs, details) in zip(asked, found):
    alone, how = reasoner(**question, details=True)
    np.testing.assert_array_equal(outputs['pi'], alone['pi'])
    assert outputs['pi'].dtype == alone['pi'].dtype
    for name in ('steps', 'converged'):
      assert getattr(details, name) == getattr(how, name)
    np.testing.assert_allclose(details.confidence, how.confidence, atol=1e-5)
    np.testing.assert_allclose(details.confidences['pi'],
                               how.confidences['pi'], atol=1e-5)
  for one, (outputs, _) in zip(reasoner(asked), found):
    np.testing.assert_array_equal(one['pi'], outputs['pi'])
  checks = reasoner.check(asked)
  for check, question, (outputs, _) in zip(checks, asked, found):
    np.testing.assert_array_equal(check.outputs['pi'], outputs['pi'])
    right = reasoner.check(**question)
    assert check.score == right.score
  assert reasoner.check(adj=_PATH, source=0).truth['pi'].tolist() == [0, 0, 1]
  with pytest.raises(ValueError, match='but question 1 is a batch'):
    reasoner([asked[0], dict(adj=matrix[None], source=0)])
  with pytest.raises(ValueError, match='Question 1 of the list: senders of'):
    reasoner([asked[0], dict(adj=([9], [0], 2), source=0)])
  with pytest.raises(ValueError, match='dictionary .* question 1 is int'):
    reasoner([asked[0], 3])
  with pytest.raises(ValueError, match='is given by name, as in'):
    reasoner(asked[0])
  assert reasoner([]) == reasoner([], details=True) == reasoner.check([]) == []


def test_states_that_do_not_fit_are_refused(monkeypatch):
  reasoner = _reasoner()
  monkeypatch.setattr(free_memory, 'available', lambda: 3 * 48)
  with pytest.raises(ValueError, match='3 nodes with states of .* 144 bytes'):
    reasoner(adj=_PATH, source=1)


def test_what_cannot_be_packed_is_answered_with_a_matrix(monkeypatch):
  reasoner = _reasoner('bfs', processor='dear_mpnn')
  matrix = np.eye(3, k=1) + np.eye(3, k=-1)
  found, = reasoner([dict(adj=_PATH, source=1)])
  np.testing.assert_array_equal(found['pi'], reasoner(matrix, 1)['pi'])
  monkeypatch.setattr(free_memory, 'available', lambda: 200)
  with pytest.raises(ValueError, match='3 x 3 pairs .* 200 bytes'):
    reasoner(adj=_PATH, source=1)


def test_arrays_of_several_lengths():
  reasoner = _reasoner('minimum', processor='dear_pgn')
  asked = [dict(keys=[3, 1, 2]), dict(keys=[0.5, 0.1])]
  found = reasoner(asked)
  for question, outputs in zip(asked, found):
    np.testing.assert_array_equal(outputs['min'],
                                  reasoner(**question)['min'])


def test_the_shipped_reasoner_on_a_sample_of_the_sampler():
  reasoner = dear_jax.load('bfs', verbose=False)
  sampler = dear_jax.make_sampler('bfs', size=300, batch_size=2, seed=0,
                                  split='test', graphs='tree', sparse=True)
  batch = sampler.batch(0)
  for outputs, truth in zip(reasoner(batch.questions), batch.outputs):
    assert np.mean(outputs['pi'] == truth['pi']) > 0.98
  assert isinstance(reasoner._read((), batch.questions[0]), packed.Problem)
