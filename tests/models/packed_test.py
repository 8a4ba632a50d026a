# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of packed graphs: answers are those with matrices, without one."""

import functools

from dear_jax.data import samplers
from dear_jax.data import sparse_graphs
from dear_jax.models import packed
from dear_jax.networks import chunks
from dear_jax.training import builders
from dear_jax.training import configs
import jax
import numpy as np
import pytest


@functools.lru_cache(maxsize=None)
def _model(task='bfs', init=True, **kwargs):
  config = configs.TrainConfig(
      algorithms=(task,), hidden_size=8, **{
          'max_iter': 6, 'processor': 'dear_pgn_edges', 'solver': 'picard',
          'criterion': 'node', **kwargs})
  sampler = samplers.make_sampler(task, size=6, batch_size=1, seed=0,
                                  split='test')
  model = builders.build_model(config, [sampler.spec], [sampler.batch(0)])
  if init:
    model.init([sampler.batch(0).features], 1)
  return model


def _batch(task, size, batch_size=3, graphs='sparse_er'):
  return samplers.make_sampler(task, size=size, batch_size=batch_size, seed=2,
                               split='test', graphs=graphs).batch(0)


def _problems(batch):
  inputs = {x.name: np.asarray(x.data) for x in batch.features.inputs}
  problems = []
  for i, matrix in enumerate(inputs['A']):
    senders, receivers = np.nonzero(matrix)
    problems.append(packed.Problem(
        sparse_graphs.SparseGraph(senders, receivers,
                                  matrix[senders, receivers], len(matrix)),
        int(inputs['s'][i].argmax()) if 's' in inputs else None))
  return problems


def _compare(model, batch, found, atol=1e-4):
  preds, instances = model.evaluate_instances(
      jax.random.PRNGKey(0), batch, with_confidence=True, by_entry=True)
  for i, answer in enumerate(found):
    np.testing.assert_array_equal(answer.outputs['pi'], preds['pi'].data[i])
    np.testing.assert_allclose(answer.confidences['pi'],
                               instances['confidences']['pi'][i], atol=atol)
    for name in ('steps', 'converged'):
      assert answer.instance[name] == instances[name][i], name
    for name in ('residual', 'confidence'):
      np.testing.assert_allclose(answer.instance[name], instances[name][i],
                                 rtol=1e-3, atol=atol)


@pytest.mark.parametrize('task, kwargs', [
    ('bfs', {}),
    ('bfs', dict(processor='dear_pgn', scalars='differences')),
    ('bfs', dict(solver='anderson', criterion='state', restart=True)),
    ('bellman_ford', dict(scalars='relative')),
    ('dfs', dict(processor='dear_pgn')),  # directed: edges go both ways
    ('dag_shortest_paths', {}),
    # Edges that are there for messages alone have no part in comparisons.
    ('dag_shortest_paths', dict(scalars='relative')),
    # Nothing converges here, and rounding grows from step to step.
    ('dag_shortest_paths', dict(scalars='relative_units', max_iter=3)),
])
def test_answers_are_those_with_matrices(task, kwargs):
  model = _model(task, **kwargs)
  batch = _batch(task, 9)
  found = model.packed.answer(model.device_params, _problems(batch), 0)
  _compare(model, batch, found)


def test_graphs_of_several_sizes_are_answered_as_they_are_alone(monkeypatch):
  # Several chunks, one of which ends within a graph and within a node.
  monkeypatch.setattr(chunks, 'SIZE', 128)
  model = _model(tol=1e-3)
  batches = [_batch('bfs', size, 1, graphs) for size, graphs in (
      (2, 'path'), (30, 'tree'), (5, 'er'), (50, 'sparse_er'))]
  problems = [x for batch in batches for x in _problems(batch)]
  graphs = packed.pack(problems, model._spec[0], lambda n: 2 * n)
  assert len(graphs.edges.senders) > 3
  assert graphs.edges.nb_used < len(graphs.edges.senders)
  np.testing.assert_array_equal(graphs.limits, [4, 60, 10, 100])
  found = model.packed.answer(model.device_params, problems, 0)
  assert len({int(x.instance['steps']) for x in found}) > 1
  for batch, answer in zip(batches, found):
    _compare(model, batch, [answer])


def _sizes_of_arrays(jaxpr):
  """How many entries every array of a program has, of inner ones, too."""
  for equation in jaxpr.eqns:
    for variable in equation.outvars:
      yield int(np.prod(variable.aval.shape, dtype=np.int64)), equation
    for value in equation.params.values():
      for inner in value if isinstance(value, (tuple, list)) else [value]:
        inner = getattr(inner, 'jaxpr', inner)
        if hasattr(inner, 'eqns'):
          yield from _sizes_of_arrays(inner)


def test_no_array_has_all_pairs_of_nodes():
  model = _model()
  nb_nodes = 4000
  one = np.arange(nb_nodes - 1)
  problem = packed.Problem(
      sparse_graphs.undirected(one, one + 1, nb_nodes), 0)
  graphs = packed.pack([problem], model._spec[0], lambda n: n)
  run = model.packed._run
  start, args = jax.eval_shape(lambda: run(model.device_params, graphs, 0))
  for values in ((), (start, args, np.int32(3)), (start,)):
    program = jax.make_jaxpr(
        lambda *x: run(model.device_params, graphs, 0, *x))(*values)
    largest, where = max(_sizes_of_arrays(program.jaxpr), key=lambda x: x[0])
    # An edge has the features of a message at the most.
    assert largest <= 4 * 8 * graphs.edges.nb_entries < nb_nodes**2 / 15, where


def test_shapes_are_few_and_padding_is_short():
  for size in (3, 70, 5000, 9000, 100_000, 1_000_001):
    padded = packed._padded_size(size)
    assert size <= padded <= max(64, 1.26 * size)
    if size > 8192:
      assert padded <= size * 1.04
  sizes = {packed._padded_size(n) for n in range(1, 8193)}
  assert len(sizes) < 40
  for count in (5, 8192, 8193, 900_000):
    rows, width = packed._shape_of_chunks(count)
    assert width <= chunks.SIZE and count <= rows * width
    assert rows * width <= max(256, 1.51 * count + chunks.SIZE)


@pytest.mark.parametrize('kwargs, why', [
    (dict(processor='dear_mpnn'), 'does not work on packed'),
    (dict(processor='dear_pgn', cgp=True), 'does not work on packed'),
    (dict(processor='dear_pgn', norm='granola'), 'does not work on packed'),
    (dict(restrict_pointers='false'), 'not pointers from nodes along edges'),
    (dict(task='topological_sort'), 'not pointers from nodes along edges'),
    (dict(task='minimum', processor='dear_pgn'), 'not pointers')])
def test_what_cannot_be_packed(kwargs, why):
  assert why in _model(init=False, **kwargs).packed.refusal(0)


def test_a_program_is_compiled_once():
  model = _model(max_iter=7)
  problems = _problems(_batch('bfs', 9))
  seen = []
  model.packed.answer(model.device_params, problems, 0, compile_only=True)
  model.packed.answer(model.device_params, problems, 0,
                      watch=lambda *x: seen.append(x))
  assert model.packed._advance._cache_size() == 1
  assert seen and all(np.isfinite(residual) for *_, residual in seen)
