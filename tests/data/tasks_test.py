# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""The samples of the tasks: the same as CLRS', drawn in the same way."""

import hashlib

import clrs
from dear_jax.data import data_cache
from dear_jax.data import streams
from dear_jax.data import tasks
from dear_jax.networks import clrs_private
import numpy as np
import pytest
from scipy import stats
from tests import feedbacks

# The tasks of which CLRS has the same.
CLRS_TASKS = sorted({*tasks.TASKS} & {*clrs.SPECS})
GRAPH_TASKS = [name for name in CLRS_TASKS if 'adj' in clrs.SPECS[name]]
SEARCHES = ['binary_search', 'search']


def make_draws(size, nb_samples, entropy=0):
  return streams.Draws(streams.Stream(1, entropy), np.arange(nb_samples),
                       split=0, size=size)


def draw(name, size, nb_samples):
  return tasks.TASKS[name].draw(make_draws(size, nb_samples))


def solved_by_clrs(name, problems):
  """The feedback that CLRS itself makes of problems, with one hint step."""
  algorithm = getattr(clrs.algorithms, name)
  samples = []
  for arguments in zip(*problems.values()):
    _, probes = algorithm(*(np.copy(x) for x in arguments))
    inputs, outputs, hints = clrs_private.split_stages(probes, clrs.SPECS[name])
    # CLRS batches hints as floats.
    hints = [clrs.DataPoint(x.name, x.location, x.type_,
                            x.data[:1].astype(np.float64)) for x in hints]
    samples.append(clrs.Feedback(
        clrs.Features(inputs, hints, np.ones(1)), outputs))
  return tasks._concatenate(samples)


@pytest.mark.parametrize('name', CLRS_TASKS)
def test_whole_samples_are_those_of_clrs(name):
  for size in (2, 3, 5, 12, 17):
    problems = draw(name, size, 6)
    assert feedbacks.same(tasks.TASKS[name].feedback(**problems),
                          solved_by_clrs(name, problems))


def test_equal_keys_are_sorted_as_in_clrs():
  rng = np.random.default_rng(0)
  for size in range(2, 41):
    problems = {'key': rng.integers(4, size=(10, size)) / 4}
    assert feedbacks.same(tasks.TASKS['insertion_sort'].feedback(**problems),
                          solved_by_clrs('insertion_sort', problems))


def test_search_points_to_where_the_target_belongs():
  for size in (2, 3, 16, 40):
    batch = feedbacks.arrays(tasks.TASKS['search'].sample(
        make_draws(size, 200)))
    assert batch['return'].shape == (200,)
    for keys, target, position, smaller in zip(
        batch['key'], batch['target'], batch['return'], batch['smaller']):
      assert position == np.searchsorted(keys, target)
      np.testing.assert_array_equal(smaller, keys < target)
      # The paper's words: the smallest key that is greater than the target.
      assert keys[position] == min(key for key in keys if key > target)
    one_position = tasks.TASKS['binary_search'].feedback(
        target=batch['target'], key=batch['key']).outputs[0].data
    np.testing.assert_array_equal(one_position.argmax(1), batch['return'])


def test_spec_of_search():
  spec = tasks.TASKS['search'].spec
  assert spec['return'] == (
      clrs.Stage.OUTPUT, clrs.Location.GRAPH, clrs.Type.POINTER)
  assert spec['smaller'] == (
      clrs.Stage.OUTPUT, clrs.Location.NODE, clrs.Type.MASK)


def test_local_components_point_along_edges():
  local = feedbacks.arrays(
      tasks.TASKS['strongly_connected_components_local'].sample(
          make_draws(16, 50)))
  original = feedbacks.arrays(
      tasks.TASKS['strongly_connected_components'].sample(make_draws(16, 50)))
  np.testing.assert_array_equal(local['A'], original['A'])
  for adj, parents, component in zip(
      local['adj'], local['pi'], original['scc_id']):
    assert adj[np.arange(16), parents].all()
    np.testing.assert_array_equal(component[parents], component)


# Distributions. Seeds are fixed, so these tests either pass or do not; with
# other seeds one in a thousand comparisons would fail.


def assert_same_distribution(ours, theirs, what):
  p_value = stats.ks_2samp(ours, theirs).pvalue
  assert p_value > 1e-3, f'{what}: p-value {p_value}'


def assert_uniform(values, nb_values, what):
  p_value = stats.chisquare(np.bincount(values, minlength=nb_values)).pvalue
  assert p_value > 1e-3, f'{what}: p-value {p_value}'


def statistics(feedback):
  """Numbers [B] that describe the samples of a batch."""
  data = {x.name: x.data for x in feedback.features.inputs}
  result = {}
  if 'A' in data:
    graph = data['A']
    edges = graph != 0
    loops = np.einsum('bii->bi', edges)
    result['edges'] = edges.sum((1, 2))
    result['loops'] = loops.sum(1)
    result['both ways'] = (edges & edges.transpose(0, 2, 1)).sum((1, 2))
    result['upper half'] = np.triu(edges).sum((1, 2))
    result['weight'] = graph.sum((1, 2))
    result['weight of loops'] = np.einsum('bii->b', graph)
    result['first weight'] = graph[:, 0, 1]
    result['largest weight'] = graph.max((1, 2))
  if 's' in data:
    result['source'] = data['s'].argmax(1)
  for probe in feedback.outputs:
    if probe.type_ == clrs.Type.POINTER and probe.data.ndim == 2:
      own = probe.data == np.arange(probe.data.shape[1])
      result['own parents'] = own.sum(1)
      result['mean pointer'] = probe.data.mean(1)
  if 'key' in data:
    result['first key'] = data['key'][:, 0]
    result['last key'] = data['key'][:, -1]
    result['mean key'] = data['key'].mean(1)
  return result


@pytest.mark.parametrize(
    'name', [name for name in CLRS_TASKS if name != 'binary_search'])
def test_distribution_is_that_of_clrs(name):
  nb_samples = 1500
  p = ({'p': tasks.EDGE_PROBABILITIES} if name in GRAPH_TASKS else {})
  sampler, _ = clrs.build_sampler(
      name, num_samples=-1, seed=0, length=9, track_max_steps=False, **p)
  theirs = statistics(sampler.next(nb_samples))
  ours = statistics(tasks.TASKS[name].sample(make_draws(9, nb_samples)))
  assert ours and ours.keys() == theirs.keys()
  for what, values in ours.items():
    assert_same_distribution(values, theirs[what], what)


@pytest.mark.parametrize('name', SEARCHES)
def test_targets_never_lie_beyond_the_keys(name):
  ours = draw(name, 8, 3000)
  assert (ours['target'] < ours['key'].max(axis=1)).all()
  assert (np.diff(ours['key']) > 0).all()
  # As drawn by CLRS, with the target and the last key changing places.
  sampler, _ = clrs.build_sampler(
      'binary_search', num_samples=-1, seed=0, length=8, track_max_steps=False)
  theirs = feedbacks.arrays(sampler.next(3000))
  beyond = theirs['target'] > theirs['key'][:, -1]
  assert beyond.mean() > 0.05
  theirs['target'][beyond], theirs['key'][beyond, -1] = (
      theirs['key'][beyond, -1], theirs['target'][beyond])
  assert_same_distribution(ours['target'], theirs['target'], 'target')
  for i in range(8):
    assert_same_distribution(ours['key'][:, i], theirs['key'][:, i], 'key')


@pytest.mark.parametrize('name, undirected', [
    ('dfs', False), ('bfs', True), ('bellman_ford', True)])
def test_edge_probabilities(name, undirected):
  # At size 64 the share of edges tells with which p a graph was drawn.
  edges = draw(name, 64, 900)['A'] != 0
  off_diagonal = ~np.eye(64, dtype=bool)
  density = edges[:, off_diagonal].mean(1)
  p = np.sqrt(density) if undirected else density
  drawn = np.rint(10 * p).astype(int)
  assert drawn.min() >= 1 and drawn.max() <= 9
  assert_uniform(drawn - 1, 9, 'p')
  # Loops are drawn once: p, not p^2.
  loops = np.einsum('bii->bi', edges).mean(1)
  for i in range(1, 10):
    assert abs(density[drawn == i].mean() - (i / 10)**(2 if undirected else 1)
               ) < 0.01
    assert abs(loops[drawn == i].mean() - i / 10) < 0.03
  assert np.array_equal(edges, edges.transpose(0, 2, 1)) == undirected


def test_acyclic_graphs_are_acyclic_in_any_order():
  edges = draw('dag_shortest_paths', 6, 4000)['A'] != 0
  walks = edges.astype(int)
  for _ in range(5):
    walks = np.minimum(walks @ edges, 1)
  assert not walks.any()  # no walk is longer than there are other nodes
  share = edges.mean(0)[~np.eye(6, dtype=bool)]
  np.testing.assert_allclose(share, 0.25, atol=0.03)  # p / 2


@pytest.mark.parametrize('name', ['bfs', 'mst_prim', 'dag_shortest_paths'])
def test_sources_are_uniform(name):
  assert_uniform(draw(name, 7, 2000)['s'], 7, 'source')


def test_communities_of_a_size_that_four_does_not_divide():
  # CLRS gives the last community what is left over.
  graph = draw('strongly_connected_components', 11, 3000)['A']
  sampler, _ = clrs.build_sampler(
      'strongly_connected_components', num_samples=-1, seed=0, length=11,
      track_max_steps=False, p=tasks.EDGE_PROBABILITIES)
  theirs = np.stack([
      sampler._sample_data(length=11, p=tasks.EDGE_PROBABILITIES)[0]
      for _ in range(3000)])
  for degree in (1, 2):
    assert_same_distribution((graph != 0).sum(degree).max(1),
                             (theirs != 0).sum(degree).max(1), 'degree')


def test_samples_are_the_same_on_every_machine():
  digest = hashlib.sha256()
  for name in sorted(tasks.TASKS):
    batch = tasks.TASKS[name].sample(make_draws(9, 4))
    for key, data in sorted(feedbacks.arrays(batch).items()):
      digest.update(key.encode() + np.ascontiguousarray(data).tobytes())
  # If a change of what is drawn is meant, raise data_cache.DATA_VERSION.
  assert (data_cache.DATA_VERSION, digest.hexdigest()[:16]) == (
      1, '3ce7ef57e2448739')


def test_fallback_is_the_sampler_of_clrs():
  task = tasks.get_task('heapsort')
  assert isinstance(task, tasks.ClrsTask)
  batch = task.sample(make_draws(6, 3))
  assert batch.features.hints[0].data.shape[:2] == (1, 3)
  keys = feedbacks.arrays(batch)['key']
  assert feedbacks.same(batch, solved_by_clrs('heapsort', {'key': keys}))
