# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""DEAR processors in CLRS's own models, nets and scripts."""

import os
import pathlib
import re
import subprocess
import sys

import clrs
import dear_jax
import jax
import numpy as np
import pytest

_ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _clean_up():
  yield
  dear_jax.unregister()


def _readme_example() -> str:
  text = (_ROOT / 'README.md').read_text(encoding='utf-8')
  section = text.split('## Drop-in', 1)[1]
  return re.search(r'```python\n(.*?)```', section, flags=re.DOTALL).group(1)


def test_readme_example_trains_and_predicts(capsys):
  scope = {}
  exec(compile(_readme_example(), 'README.md', 'exec'), scope)  # pylint:disable=exec-used
  score = float(capsys.readouterr().out.splitlines()[-1])
  assert 0 <= score <= 1
  losses = [float(x) for x in scope['losses']]
  assert np.isfinite(losses).all()
  assert np.mean(losses[-5:]) < np.mean(losses[:5])
  assert type(scope['model']) is clrs.models.BaselineModel  # pylint:disable=unidiomatic-typecheck


def test_every_parameter_moves():
  """CLRS updates by module name; a name it does not know never trains."""
  dear_jax.register()
  sampler, spec = clrs.build_sampler('bfs', num_samples=8, length=4, seed=1)
  sampler = dear_jax.drop_hints(sampler)
  feedback = sampler.next(4)
  model = clrs.models.BaselineModel(
      spec, feedback, clrs.get_processor_factory(
          'dear_pgn', use_ln=True, nb_triplet_fts=8, nb_heads=1),
      hidden_dim=8, decode_hints=False)
  model.init(feedback.features, 0)
  before = model.params
  model.feedback(jax.random.PRNGKey(0), feedback)
  after = model.params
  still = {f'{m}/{n}' for m in before for n in before[m]
           if np.array_equal(before[m][n], after[m][n])}
  # bfs has no graph features, so the weights on them see zeros only; and the
  # last bias is the same on all logits, which a softmax does not notice.
  assert {name.rsplit('/~', 1)[-1] for name in still} <= {
      '/message_graph/w',
      '_construct_encoders_decoders/algo_0_pi_dec_linear_3/b'}


# One of every kind of output, except for sorting: CLRS' Sinkhorn operator
# takes a minute to compile.
@pytest.mark.parametrize('task', [
    'search', 'strongly_connected_components_local', 'floyd_warshall',
    'minimum'])
def test_models_of_clrs_take_our_batches_as_they_are(task):
  sampler = dear_jax.make_sampler(task, size=4, batch_size=3, seed=0,
                                  split='train')
  feedback = sampler.next()
  model = clrs.models.BaselineModel(
      sampler.spec, feedback, clrs.get_processor_factory(
          'mpnn', use_ln=False, nb_triplet_fts=0),
      hidden_dim=4, decode_hints=False, encode_hints=False)
  model.init(feedback.features, 0)
  assert np.isfinite(model.feedback(jax.random.PRNGKey(0), feedback))
  predictions, _ = model.predict(jax.random.PRNGKey(0), feedback.features)
  assert 0 <= clrs.evaluate(feedback.outputs, predictions)['score'] <= 1


# CLRS makes one-hot vectors of hints that are no integers.
uses_hints = pytest.mark.filterwarnings(
    'ignore:jax.nn.one_hot:DeprecationWarning')


def _batch(task, length=4, batch_size=3):
  sampler, spec = clrs.build_sampler(task, num_samples=8, length=length, seed=1)
  return sampler.next(batch_size), spec


def _model(spec, batch, processor=(), **options):
  model = clrs.models.BaselineModel(
      spec, batch,
      dear_jax.get_processor_factory('dear_pgn', **dict(processor)),
      **dict(dict(hidden_dim=8, decode_hints=False), **options))
  model.init(batch.features if isinstance(batch, clrs.Feedback)
             else [b.features for b in batch], 0)
  return model


def _train_and_predict(model, batch):
  loss = model.feedback(jax.random.PRNGKey(0), batch)
  outputs, _ = model.predict(jax.random.PRNGKey(1), batch.features)
  return loss, {name: np.asarray(x.data) for name, x in outputs.items()}


def _assert_same(a, b):
  assert a[0] == b[0]
  jax.tree_util.tree_map(np.testing.assert_array_equal, a[1], b[1])


def test_the_number_of_hints_makes_no_difference():
  """CLRS asks once for every hint, and gets the same equilibrium."""
  batch, spec = _batch('bfs', length=8, batch_size=8)
  assert len(batch.features.hints[0].data) > 3
  assert len(set(batch.features.lengths)) > 1
  dropped = dear_jax.drop_hints(batch)
  expected = _train_and_predict(_model(spec, dropped), dropped)
  _assert_same(_train_and_predict(_model(spec, batch), batch), expected)
  # With outputs after every step, and more than one call in each.
  model = _model(spec, batch, nb_msg_passing_steps=2, debug=True)
  outputs, _, hidden = model.predict(
      jax.random.PRNGKey(0), batch.features, return_all_outputs=True)
  assert len(outputs['pi'].data) == len(hidden) > 2
  for x in (outputs['pi'].data, hidden):
    np.testing.assert_array_equal(x, np.broadcast_to(x[:1], x.shape))


@uses_hints
def test_decoded_hints_leave_the_outputs_alone():
  batch, spec = _batch('bfs')
  with pytest.warns(UserWarning, match='decode_hints=True trains that one'):
    model = _model(spec, batch, decode_hints=True)
    outputs, hints = model.predict(jax.random.PRNGKey(0), batch.features,
                                   return_hints=True)
    assert len(hints) == len(batch.features.hints[0].data) - 1
    params = model.params
    assert np.isfinite(model.feedback(jax.random.PRNGKey(0), batch))
  plain = _model(spec, batch)
  plain.params = {module: params[module] for module in plain.params}
  expected, _ = plain.predict(jax.random.PRNGKey(0), batch.features)
  np.testing.assert_array_equal(outputs['pi'].data, expected['pi'].data)


@uses_hints
@pytest.mark.parametrize('options, message', [
    (dict(encode_hints=True, decode_hints=True),
     'encode_hints=True gives it another hint in every step.*--hint_mode=none'),
    (dict(decode_hints=True), 'decode_hints=True trains that one equilibrium'),
    (dict(use_lstm=True), 'use_lstm=True changes it once more'),
])
def test_what_cannot_be_made_safe_is_said(options, message):
  batch, spec = _batch('bfs')
  with pytest.warns(UserWarning, match=message):
    _model(spec, batch, **options)
  _model(spec, dear_jax.drop_hints(batch), **options)  # a single step: no word


@uses_hints
def test_chunked_training_is_warned_of():
  sampler, spec = clrs.build_sampler('bfs', num_samples=8, length=4, seed=1)
  def batches():
    while True:
      yield sampler.next(2)
  chunk = next(clrs.chunkify(batches(), 4))
  model = clrs.models.BaselineModelChunked(
      spec, chunk, dear_jax.get_processor_factory('dear_pgn'), hidden_dim=8,
      decode_hints=False)
  with pytest.warns(UserWarning, match='cuts samples into pieces of time'):
    model.init([[chunk.features]], 0)


def test_nodes_of_arrays_are_connected_and_those_of_graphs_are_not():
  """By the task, not by the values: a graph without edges stays one."""
  batches, specs = zip(_batch('minimum'), _batch('bfs'))
  adj = next(x for x in batches[1].features.inputs if x.name == 'adj')
  adj.data[:] = np.eye(4)
  results = {}
  for fully_connected in (None, True, False):
    # Plain iteration shows messages, Anderson's weights depend on all nodes.
    model = _model(list(specs), list(batches), dict(
        fully_connected=fully_connected, solver=dear_jax.SolverConfig(
            method='picard', select='last', max_iter=3)), debug=True)
    results[fully_connected] = [
        np.asarray(model.predict(jax.random.PRNGKey(0), batch.features,
                                 algorithm_index=i)[2][-1])
        for i, batch in enumerate(batches)]
  auto, full, sparse = results.values()
  for i, same, other in ((0, full, sparse), (1, sparse, full)):
    np.testing.assert_allclose(auto[i], same[i], rtol=1e-5, atol=1e-6)
    assert np.abs(auto[i] - other[i]).max() > 1e-3


# What a user changes in CLRS's own example, clrs/examples/run.py.
_CHANGES = (
    ('import clrs\n', 'import clrs\nimport dear_jax\ndear_jax.register()\n'),
    ("['deepsets', 'mpnn',", "['dear_pgn', 'deepsets', 'mpnn',"),
)
_FLAGS = ('--processor_type=dear_pgn', '--hint_mode=none')


def test_the_example_script_of_clrs(tmp_path):
  """Two lines and two flags; everything else is as CLRS has it."""
  script = pathlib.Path(clrs.__file__).parent / 'examples' / 'run.py'
  text = script.read_text(encoding='utf-8')
  # The benchmark's test set would have to be downloaded.
  for old, new in (*_CHANGES, ('test_lengths=[-1],', 'test_lengths=[4],')):
    assert text.count(old) == 1
    text = text.replace(old, new)
  (tmp_path / 'run.py').write_text(text, encoding='utf-8')
  done = subprocess.run(
      [sys.executable, '-W', 'error::UserWarning:dear_jax.networks.hosts',
       'run.py', *_FLAGS, '--algorithms=minimum', '--train_lengths=4',
       '--train_steps=2', '--hidden_size=8', '--batch_size=4',
       f'--checkpoint_path={tmp_path}'],
      cwd=tmp_path, env=dict(os.environ, PYTHONPATH=str(_ROOT)), text=True,
      capture_output=True, timeout=600, check=False)
  assert done.returncode == 0, done.stderr
  assert re.search(r"\(test\) algo minimum : .*'score'", done.stderr)


def test_the_readme_shows_these_changes():
  section = (_ROOT / 'README.md').read_text(encoding='utf-8').split(
      '## Drop-in', 1)[1].split('\n## ', 1)[0]
  for _, new in _CHANGES:
    for line in new.splitlines():
      assert f'{line}' in section
  for flag in _FLAGS:
    assert flag in section
