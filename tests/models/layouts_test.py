# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of how batches are laid out, one after the other."""

import dear_jax
from dear_jax.data import samplers
import jax
import numpy as np
import pytest


@pytest.mark.parametrize('task', ['bfs', 'mst_prim'])
def test_every_batch_has_its_own_edges(task):
  """Batches that are not of training share arrays, such as positions."""
  sampler = samplers.make_sampler(task, size=12, batch_size=4, seed=0,
                                  split='val', num_samples=12)
  batches = [sampler.batch(i) for i in range(3)]
  shared = [np.shares_memory(x.data, y.data) for x, y in zip(
      batches[0].features.inputs, batches[1].features.inputs)]
  assert any(shared) and not all(shared)
  scores = {}
  for layout in ('sparse', 'dense'):
    model = dear_jax.DEARModel(
        [sampler.spec], [batches[0]],
        dear_jax.get_processor_factory('dear_pgn', use_ln=True), hidden_dim=8,
        layout=layout)
    model.init(batches[0].features, 1)
    scores[layout] = [
        {name: float(value) for name, value in model.evaluate(
            jax.random.PRNGKey(0), batch)[1].items()} for batch in batches]
  for sparse, dense in zip(scores['sparse'], scores['dense']):
    assert set(sparse) == set(dense)
    np.testing.assert_allclose(sparse['task_loss'], dense['task_loss'],
                               rtol=1e-3)
