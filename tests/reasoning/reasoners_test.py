# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of reasoners: they say what their model says, of any question."""

import dataclasses
import functools
import json
import subprocess
import sys

import clrs
import dear_jax
from dear_jax.data import samplers
from dear_jax.reasoning import answers
from dear_jax.reasoning import cards
from dear_jax.reasoning import sources
from dear_jax.training import builders
from dear_jax.training import loop
import jax
import numpy as np
import pytest


def _config(*algorithms, **kwargs):
  return loop.TrainConfig(algorithms=algorithms, hidden_size=8,
                              **{'max_iter': 5, **kwargs})


@functools.lru_cache(maxsize=None)
def _untrained(*algorithms, **kwargs):
  """A model with random parameters, and its reasoner for the first task."""
  config = _config(*algorithms, **kwargs)
  made = [samplers.make_sampler(name, size=6, batch_size=4, seed=3,
                                split='test', with_lengths=True)
          for name in algorithms]
  examples = [sampler.batch(0) for sampler in made]
  model = builders.build_model(config, [x.spec for x in made], examples)
  model.init([x.features for x in examples], 1)
  return model, examples, config


def _ask(reasoner, feedback, **kwargs):
  inputs = {x.name: np.asarray(x.data) for x in feedback.features.inputs}
  if 'A' in inputs:
    return reasoner(adj=inputs['A'], source=inputs['s'].argmax(1), **kwargs)
  return reasoner(inputs['key'], **kwargs)


@pytest.mark.parametrize('task', ['bellman_ford', 'insertion_sort', 'minimum'])
def test_says_what_the_model_says(task):
  # Plain iteration: Anderson's mixing multiplies differences in rounding, which
  # the padding of questions brings about.
  model, (feedback,), config = _untrained(task, solver='picard')
  reasoner = dear_jax.Reasoner(config, model.params)
  outputs, details = _ask(reasoner, feedback, details=True)
  preds, instances = model.evaluate_instances(
      jax.random.PRNGKey(0), feedback, with_confidence=True)
  score = clrs.evaluate(feedback.outputs, preds)['score']
  if task == 'bellman_ford':
    np.testing.assert_array_equal(outputs['pi'], preds['pi'].data)
    assert outputs['pi'].dtype == np.int64
  elif task == 'minimum':
    np.testing.assert_array_equal(outputs['min'], preds['min'].data)
  else:
    assert list(outputs) == ['pred']
    first = np.asarray(preds['pred_mask'].data).argmax(1)
    np.testing.assert_array_equal(outputs['pred'][np.arange(4), first], first)
    others = outputs['pred'] != np.arange(6)
    np.testing.assert_array_equal(
        outputs['pred'][others],
        np.asarray(preds['pred'].data).argmax(-1)[others])
  for name in ('steps', 'residual', 'converged', 'confidence'):
    np.testing.assert_allclose(getattr(details, name), instances[name],
                               rtol=1e-5)
  assert set(details.confidences) == set(outputs)
  if task != 'insertion_sort':  # it has another output in the mean
    (of_entries,) = details.confidences.values()
    np.testing.assert_allclose(
        np.reshape(of_entries, (4, -1)).mean(axis=1), details.confidence,
        rtol=1e-5)
  check = _check(reasoner, feedback)
  np.testing.assert_allclose(check.score, score, rtol=1e-6)
  # A single question is the batch without its axis.
  alone = reasoner(**_single(feedback, 2))
  for name, value in outputs.items():
    np.testing.assert_array_equal(alone[name], value[2])


def _single(feedback, index):
  inputs = {x.name: np.asarray(x.data)[index]
            for x in feedback.features.inputs}
  if 'A' in inputs:
    return dict(adj=inputs['A'], source=int(inputs['s'].argmax()))
  return dict(keys=inputs['key'])


def _check(reasoner, feedback):
  inputs = {x.name: np.asarray(x.data) for x in feedback.features.inputs}
  asked = {'adj': inputs.get('A'), 'keys': inputs.get('key'),
           'target': inputs.get('target')}
  if 's' in inputs:
    asked['source'] = inputs['s'].argmax(1)
  return reasoner.check(**{name: asked[name] for name in reasoner.arguments})


def test_confidence_is_that_of_the_decoder():
  model, (feedback,), _ = _untrained('minimum')
  _, instances = model.evaluate_instances(
      jax.random.PRNGKey(0), feedback, with_confidence=True)
  def logits(params, batch):
    return model.net_fn.apply(params, jax.random.PRNGKey(0), [batch.inputs],
                              repred=True, algorithm_index=0).output_preds
  batch = model._batch(feedback.features, (), 0)  # pylint:disable=protected-access
  found = jax.jit(logits)(model.params, batch)['min']
  np.testing.assert_allclose(
      instances['confidence'], jax.nn.softmax(found, axis=-1).max(axis=-1),
      rtol=1e-5)


@pytest.mark.parametrize('task', ['bellman_ford', 'insertion_sort', 'search'])
def test_confidence_is_the_mean_over_entries(task):
  model, (feedback,), _ = _untrained(task)
  preds, instances = model.evaluate_instances(
      jax.random.PRNGKey(0), feedback, with_confidence=True,
      by_entry=True)
  found = instances['confidences']
  assert set(found) == set(preds)
  for name, confidence in found.items():
    is_hard = preds[name].type_ in (clrs.Type.POINTER, clrs.Type.MASK)
    expected = preds[name].data.shape
    assert confidence.shape == (expected if is_hard else expected[:-1])
    assert (confidence > 0).all() and (confidence <= 1 + 1e-5).all()
  entries = np.concatenate([np.reshape(x, (4, -1)) for x in found.values()],
                           axis=1)
  np.testing.assert_allclose(instances['confidence'], entries.mean(axis=1),
                             rtol=1e-5)


def test_check_tells_where():
  outputs, truth = {'pi': np.array([0, 2, 1])}, {'pi': np.array([0, 0, 1])}
  check = answers.Check(outputs, truth, {'pi': outputs['pi'] != truth['pi']},
                          2 / 3)
  assert not check.agrees
  assert str(check) == ('score 0.667: different from the algorithm.\n'
                        'pi: 1 of 3 entries differ\n'
                        '  pi[1] is 0, but the answer was 2')
  same = answers.Check(truth, truth, {'pi': np.zeros(3, bool)}, 1.0)
  assert same.agrees and 'the same' in str(same)


def test_baselines_can_be_asked():
  model, (feedback,), config = _untrained('bfs', model='nar', processor='pgn')
  reasoner = dear_jax.Reasoner(config, model.params)
  outputs, details = _ask(reasoner, feedback, details=True)
  preds, _ = model.predict(jax.random.PRNGKey(0), feedback.features)
  np.testing.assert_array_equal(outputs['pi'], preds['pi'].data)
  np.testing.assert_array_equal(
      details.steps, np.maximum(feedback.features.lengths - 1, 1))
  assert details.residual is None and details.converged is None


def test_one_of_several_algorithms(tmp_path):
  model, examples, config = _untrained('bfs', 'minimum')
  reasoner = dear_jax.Reasoner(config, model.params, algorithm='minimum')
  outputs = _ask(reasoner, examples[1])
  preds, _ = model.predict(jax.random.PRNGKey(0), examples[1].features, 1)
  np.testing.assert_array_equal(outputs['min'], preds['min'].data)
  reasoner.save(tmp_path / 'two.npz')
  with pytest.raises(ValueError, match='of bfs, minimum'):
    dear_jax.load(tmp_path / 'two.npz')
  with pytest.raises(ValueError, match="'dfs'"):
    dear_jax.load(tmp_path / 'two.npz', algorithm='dfs')
  loaded = dear_jax.load(tmp_path / 'two.npz', algorithm='bfs')
  assert loaded.arguments == ('adj', 'source')


def test_a_file_holds_everything(tmp_path):
  model, (feedback,), config = _untrained('minimum')
  reasoner = dear_jax.Reasoner(
      dataclasses.replace(config, init_from='a/folder/of/mine'), model.params)
  path = tmp_path / 'minimum.npz'
  reasoner.save(path, made_by='a command')
  loaded = dear_jax.load(path)
  assert loaded.config == dataclasses.replace(config, criterion='node')
  assert loaded.made_by == 'a command'
  jax.tree_util.tree_map(np.testing.assert_array_equal,
                         loaded._params, model.params)  # pylint:disable=protected-access
  expected = _ask(reasoner, feedback)
  np.testing.assert_array_equal(_ask(loaded, feedback)['min'], expected['min'])
  # The limit is the one that is asked for, not four times as much.
  _, details = _ask(dear_jax.load(path, tol=1e-9, max_iter=3), feedback,
                    details=True)
  np.testing.assert_array_equal(details.steps, 3)
  assert not details.converged.any()
  _, details = _ask(dear_jax.load(path, tol=1e9), feedback, details=True)
  np.testing.assert_array_equal(details.steps, 1)


@pytest.mark.parametrize('change, message', [
    (lambda params: {}, 'there is no '),
    (lambda params: dict(params, other={'w': np.ones(3)}), 'no w of other'),
    (lambda params: _changed(params, lambda x: x[:-1]),
     'has the shape [15, 8]'),
    (lambda params: _changed(params, lambda x: x.T), 'has the shape [8, 16]'),
    (lambda params: _changed(params, lambda x: x.astype(np.int32)),
     'is of int32, not float32'),
    (lambda params: _changed(params, lambda x: x * np.nan), 'is not finite'),
    (lambda params: _changed(params, lambda x: x + np.inf), 'is not finite'),
])
def test_parameters_of_another_model_are_not_loaded(change, message, tmp_path):
  model, _, config = _untrained('minimum')
  params = change(model.params)
  path = tmp_path / 'minimum.npz'
  dear_jax.Reasoner(config, params).save(path)
  with pytest.raises(ValueError) as error:
    dear_jax.load(path)
  text = str(error.value)
  assert message in text and str(path) in text
  assert '\n' not in text and text.endswith('.')


def _changed(params, change):
  """Changes one array, which is no square."""
  name = 'net/pgn_clrs_processor/~/update_state'  # [16, 8]
  return dict(params, **{
      name: dict(params[name], w=change(params[name]['w']))})


def test_a_damaged_file_is_not_loaded(tmp_path):
  model, _, config = _untrained('minimum')
  path = tmp_path / 'minimum.npz'
  dear_jax.Reasoner(config, model.params).save(path)
  assert [x.name for x in tmp_path.iterdir()] == ['minimum.npz']
  data = path.read_bytes()
  rng = np.random.default_rng(0)
  refused = 0
  for i in range(300):
    damaged = bytearray(data)
    if i % 3:
      damaged[rng.integers(len(data))] ^= 1 << rng.integers(8)
    else:
      del damaged[rng.integers(len(data)):]
    path.write_bytes(damaged)
    try:
      params = sources.read(path).params
    except ValueError as e:
      assert '\n' not in str(e) and str(path) in str(e)
      refused += 1
    else:  # some bytes mean nothing
      jax.tree_util.tree_map(np.testing.assert_array_equal, params,
                             model.params)
  assert refused > 200


def test_draws_how_a_question_is_solved(tmp_path):
  model, (feedback,), config = _untrained('minimum')
  reasoner = dear_jax.Reasoner(config, model.params)
  question = _single(feedback, 1)
  _, details = reasoner(**question, details=True)
  figure = reasoner.draw(**question, path=tmp_path / 'solve.png')
  assert (tmp_path / 'solve.png').read_bytes().startswith(b'\x89PNG')
  titles = [axes.get_title() for axes in figure.axes]
  assert any('iteration' in title for title in titles)
  assert details.steps <= len(titles)
  with pytest.raises(ValueError, match='one question at a time'):
    reasoner.draw(np.stack([question['keys']] * 2))


class TestShipped:
  """The reasoners that come with the library."""

  def test_are_small_and_say_how_they_were_made(self):
    assert 'bfs' in cards.names()
    for name, card in dear_jax.pretrained().items():
      size = len((cards.data() / f'{name}.npz').read_bytes()) / 2**20
      assert size < 1 and card.mebibytes == pytest.approx(size, abs=1e-3)
      reasoner = dear_jax.load(name)
      assert (reasoner.task, reasoner.arguments) == (name, card.arguments)
      assert f'--algorithm={name}' in reasoner.made_by
      assert card.command in reasoner.made_by
      for part in (card.training, card.chosen, *card.weaknesses, card.command):
        assert part and part in str(card)
      assert {x.size for x in card.scores} >= {16, 64}
      assert name in repr(card)

  @pytest.mark.parametrize('name', cards.names())
  def test_know_their_algorithm(self, name):
    """On a small set, as well as their card says."""
    probe = json.loads((cards.data() / f'{name}.json').read_text())['probe']
    sampler = dear_jax.make_sampler(
        name, size=probe['size'], batch_size=probe['samples'],
        seed=probe['seed'], split='test')
    check = _check(dear_jax.load(name), sampler.batch(0))
    assert check.score == pytest.approx(probe['score'], abs=0.03)
    assert probe['score'] > 0.8

  def test_what_they_are_bad_at_is_said_at_once(self, capsys):
    for name, card in dear_jax.pretrained().items():
      caution = cards.caution(card)
      dear_jax.load(name, verbose=False)
      assert capsys.readouterr().err == ''
      dear_jax.load(name)
      assert capsys.readouterr().err == (
          f'dear_jax: {caution}\n' if caution else '')
    good, = [x for x in dear_jax.pretrained()['bfs'].scores
             if (x.graphs, x.size) == ('path', 64)]
    bad = dataclasses.replace(good, score=good.confidence - 0.2)
    assert cards.caution(dataclasses.replace(card, scores=(good,))) is None
    assert 'path (0.80 right, 1.00 sure)' in cards.caution(
        dataclasses.replace(card, scores=(good, bad)))

  def test_equal_and_close_keys_are_sorted(self):
    """Equal ones stay in the order in which they stand."""
    rng = np.random.default_rng(0)
    keys = np.stack([*rng.integers(0, 5, (3, 16)), *10**rng.uniform(
        -3, 3, (3, 16)), np.ones(16), np.repeat([1, 1 + 1e-9], 8)])
    order = np.argsort(keys, axis=1, kind='stable')
    expected = np.empty_like(order)
    # Everyone points to the one before, and the first to itself.
    np.put_along_axis(expected, order, np.concatenate(
        [order[:, :1], order[:, :-1]], axis=1), axis=1)
    reasoner = dear_jax.load('insertion_sort')
    np.testing.assert_array_equal(reasoner(keys)['pred'], expected)
    assert reasoner.check(keys).agrees

  @pytest.mark.parametrize('name', ['search', 'binary_search'])
  def test_targets_that_are_keys_are_found(self, name):
    keys = np.sort(np.random.default_rng(0).integers(0, 9, (8, 16)), axis=1)
    targets = keys[:, 5]
    found = dear_jax.load(name)(keys, targets)['return']
    first = (keys < targets[:, None]).sum(axis=1)
    np.testing.assert_array_equal(
        found if found.ndim == 1 else found.argmax(axis=-1), first)

  def test_bfs_is_right_on_a_path(self):
    """On one that is longer than any Erdos-Renyi graph of its size."""
    adj = np.eye(16, k=1) + np.eye(16, k=-1)
    outputs, details = dear_jax.load('bfs')(adj, 0, details=True)
    np.testing.assert_array_equal(outputs['pi'], [0, *range(15)])
    assert details.converged and details.steps > 15

  def test_a_run_folder_comes_first(self, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'bfs').mkdir()
    with pytest.raises(ValueError, match='config.json'):
      dear_jax.load('bfs')


def test_importing_the_library_imports_neither_clrs_nor_jax():
  code = ('import sys, dear_jax; '
          'assert "dear_jax" in sys.modules; '
          'print([x for x in ("clrs", "tensorflow", "jax") '
          'if x in sys.modules]); '
          'dear_jax.pretrained(); dear_jax.SolverConfig; '
          'print([x for x in ("clrs", "tensorflow") if x in sys.modules])')
  result = subprocess.run([sys.executable, '-c', code], check=True, text=True,
                          capture_output=True)
  assert result.stdout.split('\n')[:2] == ['[]', '[]']


def test_an_edge_from_a_node_to_itself_changes_nothing():
  """Training on mixed graphs has seen none."""
  reasoner = dear_jax.load('bfs', verbose=False)
  adj = np.zeros((6, 6))
  for i, j in ((0, 1), (1, 2), (4, 5)):
    adj[i, j] = adj[j, i] = 1
  plain, details = reasoner(adj=adj, source=0, details=True)
  np.testing.assert_array_equal(plain['pi'], [0, 0, 1, 3, 4, 5])
  looped, others = reasoner(adj=adj + np.eye(6), source=0, details=True)
  np.testing.assert_array_equal(looped['pi'], plain['pi'])
  assert others.residual == details.residual
  senders, receivers = np.nonzero(adj + np.eye(6))
  listed, others = reasoner(adj=(senders, receivers, 6), source=0,
                            details=True)
  np.testing.assert_array_equal(listed['pi'], plain['pi'])
  assert others.residual == pytest.approx(details.residual, rel=1e-3)


def test_half_precision(tmp_path):
  model, (feedback,), config = _untrained('minimum')
  reasoner = dear_jax.Reasoner(config, model.params)
  for name, half in (('whole', False), ('half', True)):
    reasoner.save(tmp_path / f'{name}.npz', half=half)
  def nb_bytes(name):
    with np.load(tmp_path / name) as stored:
      return sum(stored[x].nbytes for x in stored.files if x != 'about')
  assert nb_bytes('half.npz') == nb_bytes('whole.npz') / 2
  loaded = dear_jax.load(tmp_path / 'half.npz')._params  # pylint:disable=protected-access
  def compare(found, expected):
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-6)
  jax.tree_util.tree_map(compare, loaded, model.params)
  params = _changed(model.params, lambda x: x + 1e6)
  with pytest.raises(ValueError, match='half precision ends at 65504'):
    dear_jax.Reasoner(config, params).save(tmp_path / 'x.npz', half=True)
  assert not (tmp_path / 'x.npz').exists()


def test_unknown_public_names():
  with pytest.raises(AttributeError, match='no attribute'):
    dear_jax.solvre  # pylint:disable=pointless-statement
  assert set(dear_jax.__all__) <= set(dir(dear_jax))


def test_settings_are_kept():
  model, _, config = _untrained('minimum')
  reasoner = dear_jax.Reasoner(config, model.params)
  assert 'minimum(keys)' in repr(reasoner)
  assert dataclasses.asdict(reasoner.config)['hidden_size'] == 8


def test_a_shipped_reasoner_does_not_mind_what_weights_are_measured_in():
  reasoner = dear_jax.load('mst_prim', verbose=False)
  rng = np.random.default_rng(0)
  weights = np.triu(rng.random((12, 12)) * (rng.random((12, 12)) < 0.5), 1)
  weights += weights.T
  answers = [reasoner(adj=unit * weights, source=3)['pi']
             for unit in (1.0, 0.01, 300.0)]
  for answer in answers[1:]:
    np.testing.assert_array_equal(answer, answers[0])


def test_answers_are_in_single_precision_whatever_jax_is_told(tmp_path):
  model, (feedback,), config = _untrained('bellman_ford')
  path = tmp_path / 'in_double.npz'
  doubled = jax.tree_util.tree_map(lambda x: np.asarray(x, np.float64),
                                   model.params)
  dear_jax.Reasoner(config, doubled).save(path)
  question = _single(feedback, 1)
  edges = np.nonzero(question['adj'])
  asked = [question, dict(question, adj=(
      *edges, question['adj'][edges], len(question['adj'])))]
  expected = [dear_jax.load(path)(**x, details=True) for x in asked]
  with jax.enable_x64(True):
    reasoner = dear_jax.load(path)
    for x, (outputs, details) in zip(asked, expected):
      found = reasoner(**x, details=True)
      np.testing.assert_array_equal(found[0]['pi'], outputs['pi'])
      assert found[1].confidence.dtype == np.float32
      assert found[1].confidence == details.confidence
    assert reasoner.check(**question).outputs['pi'].dtype == np.int64


def test_a_limit_that_was_given_is_kept(tmp_path):
  path = tmp_path / 'limited.npz'
  chain = np.eye(12, k=1) + np.eye(12, k=-1)
  steps = lambda reasoner: reasoner(chain, 0, details=True)[1].steps
  limited = dear_jax.load('bfs', max_iter=3, verbose=False)
  limited.save(path)
  assert steps(limited) == steps(dear_jax.load(path)) == 3
  assert steps(dear_jax.load(path, max_iter=5)) == 5


def test_lists_and_sizes_that_are_none():
  model, _, config = _untrained('minimum')
  reasoner = dear_jax.Reasoner(config, model.params)
  with pytest.raises(ValueError, match='Question 1 .* not details'):
    reasoner([dict(keys=[2, 1]), dict(keys=[2, 1], details=True)])
  with pytest.raises(ValueError, match='whole number .* got 16.0'):
    reasoner.warm_up(16.0)
  check = answers.Check({'return': np.array(1)}, {'return': np.array(2)},
                        {'return': np.array(True)}, 0.0)
  assert 'return is 2, but' in str(check)


def test_trees_of_edges_of_equal_weight_are_trees():
  networkx = pytest.importorskip('networkx')
  reasoner = dear_jax.load('mst_prim', verbose=False)
  rng = np.random.default_rng(0)
  for highest in (2, 4):  # all weights are 1; they are 1, 2 or 3
    weights = np.triu(rng.integers(1, highest, (12, 12)), 1)
    weights *= rng.random((12, 12)) < 0.6
    weights += weights.T
    parents = reasoner(adj=weights, source=3)['pi']
    tree = networkx.Graph([(p, i) for i, p in enumerate(parents) if p != i])
    assert networkx.is_tree(tree) and len(tree) == 12
    lightest = networkx.minimum_spanning_tree(networkx.Graph(weights))
    assert sum(weights[p, i] for p, i in tree.edges) == lightest.size('weight')
