# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""A script that knows CLRS and three names of ours: the README's example."""

import pathlib
import re

import clrs
import dear_jax
import jax
import numpy as np
import pytest

_ROOT = pathlib.Path(__file__).parent.parent


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
