# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the ladder: padded answers are the answers, and programs are few."""

import functools

import clrs
import dear_jax
from dear_jax.data import samplers
from dear_jax.models import ladders
from dear_jax.networks import kinds
from dear_jax.networks import nets
from dear_jax.reasoning import questions
from dear_jax.training import builders
from dear_jax.training import loop
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests import own_parts

# A task for every form of inputs and outputs among those that can be asked.
FORMS = ('articulation_points', 'bellman_ford', 'bfs', 'binary_search',
         'bridges', 'dfs', 'find_maximum_subarray', 'floyd_warshall',
         'insertion_sort', 'minimum', 'mst_kruskal', 'quickselect', 'search',
         'strongly_connected_components', 'topological_sort')


@functools.lru_cache(maxsize=None)
def _model(task, **kwargs):
  # Plain iteration: Anderson's mixing multiplies differences in rounding.
  config = loop.TrainConfig(
      algorithms=(task,), hidden_size=8,
      **{'max_iter': 3, 'solver': 'picard', 'criterion': 'node', 'tol': 0.02,
         **kwargs})
  example = _batch(task, 4)
  model = builders.build_model(config, [_sampler(task, 4, 3).spec], [example])
  model.init(example.features, 1)
  return model


def _sampler(task, size, batch_size):
  return samplers.make_sampler(task, size=size, batch_size=batch_size, seed=3,
                               split='test', with_lengths=True)


def _batch(task, size, batch_size=3):
  return _sampler(task, size, batch_size).batch(0)


def _assert_same(model, batch):
  """The answer on the ladder is that of a program of the very size."""
  key = jax.random.PRNGKey(0)
  preds, expected = model.evaluate_instances(
      key, batch, with_confidence=True, by_entry=True)
  answer, found = model.answer(key, batch.features)
  assert set(answer) == set(preds)
  for name, point in preds.items():
    assert answer[name].type_ == point.type_
    np.testing.assert_array_equal(answer[name].data, point.data, name)
  assert set(found) == set(expected)
  for name in ('steps', 'converged'):
    np.testing.assert_array_equal(found.get(name, ()), expected.get(name, ()))
  jax.tree_util.tree_map(functools.partial(
      np.testing.assert_allclose, rtol=1e-5, atol=1e-5), found, dict(expected))


@pytest.mark.parametrize('task', FORMS)
def test_padding_changes_no_answer(task):
  model, batch = _model(task), _batch(task, 5)
  data = model.prepare(batch.features)
  assert data.node_mask.shape == (3, 16) and data.node_mask.sum() == 15
  _assert_same(model, batch)


def test_all_tasks_that_can_be_asked_have_one_of_these_forms():
  def form(task):
    spec = _sampler(task, 4, 1).spec
    return (nets.has_graph(spec), 'pi' in spec, frozenset(
        (stage, location, type_) for stage, location, type_ in spec.values()
        if stage != clrs.Stage.HINT))
  known = {form(task) for task in FORMS}
  assert not [task for task in questions.TASKS if form(task) not in known]


@pytest.mark.parametrize('settings', [
    dict(processor='dear_triplet_mpnn'), dict(cgp=True), dict(layout='sparse'),
    dict(processor='dear_gat'), dict(solver='anderson', tol=0.3),
    dict(gradient='unrolled'),
], ids=str)
def test_other_models_on_the_ladder(settings):
  model, batch = _model('bfs', **settings), _batch('bfs', 5)
  data = model.prepare(batch.features)
  assert data.node_mask.shape[1] == (6 if 'cgp' in settings else 16)
  assert (data.edge_list is None) == ('layout' not in settings)
  _assert_same(model, batch)


@pytest.mark.parametrize('task, settings', [
    ('bfs', dict(processor='dear_pgn_edges')),
    ('bfs', dict(processor='dear_pgn_edges', layout='sparse')),
    ('floyd_warshall', dict(processor='dear_edge')),
    ('floyd_warshall', dict(processor='dear_edge', edge_pointers='paths')),
    ('minimum', dict(scalars='differences')),
    ('bfs', dict(self_loops=False)),
    ('bfs', dict(scalars='differences', layout='sparse')),
    ('bellman_ford', dict(scalars='units', layout='sparse')),
], ids=str)
def test_states_of_edges_and_differences_on_the_ladder(task, settings):
  model, batch = _model(task, **settings), _batch(task, 5)
  data = model.prepare(batch.features)
  assert data.node_mask.shape == (3, 16) and data.node_mask.sum() == 15
  assert (data.edge_list is None) == ('layout' not in settings)
  _assert_same(model, batch)


def test_states_of_edges_have_lists_of_one_length():
  model = _model('bfs', processor='dear_pgn_edges', layout='sparse')
  # The graphs of a batch have different numbers of edges.
  edge_list = model.prepare(_batch('bfs', 7).features).edge_list
  is_edge = np.reshape(np.asarray(edge_list.receivers) < 3 * 16, (3, -1))
  assert is_edge.shape[1] == 64
  assert len(set(is_edge.sum(axis=1))) > 1
  graphs = np.reshape(np.asarray(edge_list.receivers) // 16, (3, -1))
  for i in range(3):
    assert set(graphs[i][is_edge[i]]) == {i}


@pytest.mark.parametrize('task, test_steps', [
    ('bfs', 'learned'), ('minimum', 'true'), ('topological_sort', 3)])
def test_baselines_on_the_ladder(task, test_steps):
  model = _model(task, model='nar', processor='pgn', test_steps=test_steps,
                 solver='anderson', tol=0.1, criterion='state')
  _assert_same(model, _batch(task, 5))


@pytest.mark.parametrize('kind', ['dear_pgn', 'dear_pgn_edges'])
def test_long_lists_of_edges(kind):
  model = _model('bellman_ford', processor=kind)
  batch = _batch('bellman_ford', 30, 1)
  assert model.prepare(batch.features).edge_list is not None
  _assert_same(model, batch)


def test_what_padding_would_change_is_not_padded():
  for settings in (dict(norm='granola'), dict(processor='dear_pgn_mask')):
    model, batch = _model('bfs', **settings), _batch('bfs', 5)
    assert model.prepare(batch.features).node_mask is None
    _assert_same(model, batch)
  left = {kind for kind in kinds.KINDS
          if not kinds.ignores_padding(kind, 'layer')}
  assert left == {f'dear_{kind}' for kind in (
      'memnet_full', 'memnet_masked', 'pgn_mask', 'gpgn_mask', 'triplet_pgn',
      'triplet_pgn_mask', 'triplet_gpgn', 'triplet_gpgn_mask',
      'triplet_gmpnn')}


def test_limits_go_by_the_nodes_that_there_are():
  # 5 nodes and 16 on the ladder, and a tolerance that is never met.
  model = _model('bfs', max_iter=1, tol=1e-12)
  for size in (3, 5, 7):
    _, found = model.answer(jax.random.PRNGKey(0), _batch('bfs', size).features)
    assert set(found['steps']) == {max(4, 2 * size)}
  model = _model('bfs', model='nar', processor='pgn', test_steps='learned',
                 solver='anderson', tol=0.1, criterion='state')
  params = jax.tree_util.tree_map(jnp.zeros_like, model.params)  # never stops
  model = builders.build_model(
      loop.TrainConfig(algorithms=('bfs',), hidden_size=8, model='nar',
                       processor='pgn', test_steps='learned'),
      [_sampler('bfs', 4, 1).spec], [_batch('bfs', 4)])
  model.params = params
  _, found = model.answer(jax.random.PRNGKey(0), _batch('bfs', 5, 1).features)
  assert found['steps'] == 16 * 5


def test_a_rung_has_one_program():
  model = _model('bfs', tol=0.05)
  before = model.jitted_evaluate._cache_size()  # pylint:disable=protected-access
  for size in (4, 9, 13, 16):
    model.answer(jax.random.PRNGKey(0), _batch('bfs', size, 1).features)
  assert model.jitted_evaluate._cache_size() == before + 1  # pylint:disable=protected-access


def test_ladders_are_short():
  sizes = range(5, 257)
  assert len({ladders.for_pairs(n) for n in sizes}) == 9
  assert len({ladders.for_pairs(n, cubic=True) for n in sizes}) == 17
  rungs = {(ladders.for_lists(n), ladders.for_edges(e, ladders.for_lists(n)))
           for n in sizes for e in range(n, n**2 + 1, n)}
  assert len([x for x in rungs if ladders.lists_pay(x[0]**2, x[1])]) == 13
  for ladder in (ladders.for_pairs, ladders.for_lists):
    assert all(ladder(n) >= n for n in range(1, 3000))
    assert all(ladder(ladder(n)) == ladder(n) for n in range(1, 3000))


@pytest.mark.parametrize('task, settings', [
    ('bfs', {}), ('minimum', {}),
    ('bfs', dict(processor='dear_pgn_edges', layout='sparse')),
], ids=str)
def test_parts_make_up_the_same_solve(task, settings, monkeypatch):
  model, batch = _model(task, max_iter=10, tol=1e-4, solver='anderson',
                        **settings), (
      _batch(task, 6, 9))  # nine, so that the last of them are solved alone
  key, seen = jax.random.PRNGKey(0), []
  whole = model.answer(key, batch.features)
  monkeypatch.setattr('dear_jax.models.parts._OPERATIONS', 1)
  monkeypatch.setattr('dear_jax.models.parts._SECONDS', 0)
  in_parts = model.answer(key, batch.features,
                          watch=lambda *x: seen.append(x))
  data = lambda found: ({name: x.data for name, x in found[0].items()},
                        found[1])
  jax.tree_util.tree_map(np.testing.assert_array_equal, data(whole),
                         data(in_parts))
  most = int(whole[1]['steps'].max())
  assert [step for step, _, _ in seen] == list(range(1, most + 1))
  assert {limit for _, limit, _ in seen} == {40}
  np.testing.assert_allclose(seen[-1][2], whole[1]['residual'].max())


def test_steps_of_users_are_padded_if_training_pads_them():
  for takes_edge_lists in (False, True):
    name = f'own{takes_edge_lists}'
    dear_jax.register_step(name, own_parts.MeanStep,
                           takes_edge_lists=takes_edge_lists)
    assert kinds.ignores_padding(f'dear_{name}', 'layer') == takes_edge_lists
