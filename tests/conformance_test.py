# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""What every processor, solver and gradient mode has in common.

One table, one suite: each row of it must have the right shapes, give the same
with and without jit, ignore padding, follow a renaming of the nodes, keep
instances apart, produce no NaN, train all of its parameters, and compile once.
"""

import functools

import dear_jax
from dear_jax.fixed_points import solvers
from dear_jax.networks import gradients
from dear_jax.networks import own_steps
from dear_jax.networks import processors
import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests import graphs
from tests import own_parts

WIDTH = 8

# Those that are there, and a step such as a user would register.
KINDS = (*processors.KINDS, 'dear_mean')

# Every processor with the default solver, every solver and gradient mode with
# the default processor, and the corners of the second one of the paper.
TABLE = [(kind, 'anderson', 'damped') for kind in KINDS] + [
    ('dear_pgn', method, gradient) for method in solvers.METHODS
    for gradient in gradients.GRADIENTS
    if (method, gradient) != ('anderson', 'damped')
] + [('dear_triplet_mpnn', 'picard', 'one_step'),
     ('dear_triplet_mpnn', 'broyden', 'unrolled')]

# It adds the same to the logits of all nodes, which a softmax does not see:
# nothing but rounding moves it.
_NO_EFFECT = 'algo_0_pi_dec_linear_3/b'

# CLRS initialises its memory networks with zeros throughout, reads features as
# word indices and ends in a ReLU: at the start every gradient is exactly zero.
_NEVER_TRAINS = ('memnet',)


@pytest.fixture(autouse=True, scope='module')
def _register_a_step():
  dear_jax.register_step('mean', own_parts.MeanStep)
  yield
  del own_steps.REGISTERED['dear_mean']


def _factory(kind, method, gradient):
  return dear_jax.get_processor_factory(
      kind, use_ln=True, nb_triplet_fts=4, nb_heads=2, gradient=gradient,
      solver=dear_jax.SolverConfig(method=method, max_iter=12))


class _Processor:
  """A row of the table on its own: one compilation for all checks."""

  def __init__(self, kind, method):
    net = hk.without_apply_rng(hk.transform(
        lambda *args, node_mask: _factory(kind, method, 'implicit')(WIDTH)(
            *args, node_mask=node_mask)))
    inputs = graphs.random_graphs(width=WIDTH)
    self.params = jax.jit(net.init)(jax.random.PRNGKey(0), *inputs,
                                    node_mask=jnp.ones((3, 5)))
    self.apply = functools.partial(net.apply, self.params)
    self.jitted = jax.jit(self.apply)


@pytest.fixture(
    name='processor', scope='module',
    params=[(kind, 'anderson') for kind in KINDS]
    + [('dear_pgn', 'picard'), ('dear_pgn', 'broyden')],
    ids='-'.join)
def _processor(request):
  return _Processor(*request.param)


def _pad(inputs, nb_nodes):
  """Adds nodes full of garbage, connected to everything."""
  extra = nb_nodes - inputs.node_fts.shape[1]
  rng = np.random.RandomState(9)

  def pad(x, axes):
    widths = [(0, extra if axis in axes else 0) for axis in range(x.ndim)]
    inside = jnp.pad(jnp.ones_like(x), widths)
    garbage = 10 * jnp.asarray(rng.rand(*inside.shape), x.dtype)
    return jnp.where(inside > 0, jnp.pad(x, widths), garbage)

  return graphs.Graphs(
      node_fts=pad(inputs.node_fts, (1,)),
      edge_fts=pad(inputs.edge_fts, (1, 2)),
      graph_fts=inputs.graph_fts,
      adj_mat=(pad(inputs.adj_mat, (1, 2)) > 0.5).astype(jnp.float32),
      hidden=pad(inputs.hidden, (1,)))


def test_processor(processor):
  inputs = graphs.random_graphs(width=WIDTH)
  nodes = jnp.ones((3, 5))
  padded = _pad(inputs, 7)
  mask = jnp.pad(nodes, ((0, 0), (0, 2)))
  close = functools.partial(np.testing.assert_allclose, rtol=2e-3, atol=2e-4)

  hidden, edges = processor.jitted(*padded, node_mask=mask)
  assert hidden.shape == (3, 7, WIDTH) and hidden.dtype == jnp.float32
  assert edges is None or edges.shape[:3] == (3, 7, 7)
  assert jnp.isfinite(hidden).all()
  np.testing.assert_array_equal(hidden[:, 5:], 0)

  # Padding invariance, and jit = no jit, in one: the other side has neither.
  alone, _ = processor.apply(*inputs, node_mask=None)
  close(hidden[:, :5], alone)

  # Batch independence: other instances change, this one keeps every bit.
  other = _pad(graphs.random_graphs(width=WIDTH, seed=5), 7)
  mixed = jax.tree_util.tree_map(
      lambda x, y: jnp.concatenate([x[:1], y[1:]]), padded, other)
  np.testing.assert_array_equal(
      processor.jitted(*mixed, node_mask=mask)[0][0], hidden[0])

  # Node permutation equivariance.
  order = np.random.RandomState(1).permutation(7)
  renamed = graphs.Graphs(
      node_fts=padded.node_fts[:, order],
      edge_fts=padded.edge_fts[:, order][:, :, order],
      graph_fts=padded.graph_fts,
      adj_mat=padded.adj_mat[:, order][:, :, order],
      hidden=padded.hidden[:, order])
  close(processor.jitted(*renamed, node_mask=mask[:, order])[0],
        hidden[:, order])


@pytest.mark.parametrize('kind, method, gradient', TABLE,
                         ids=['-'.join(row) for row in TABLE])
def test_training(kind, method, gradient):
  batches = [graphs.feedback(seed=seed, nb_hints=seed + 1)
             for seed in range(3)]
  model = dear_jax.DEARModel(
      graphs.SPEC, batches[0], _factory(kind, method, gradient),
      hidden_dim=WIDTH, learning_rate=0.01, grad_clip_max_norm=1.0,
      jacobian_weight=0.1)
  model.init(batches[0].features, 0)
  before = model.params
  for i, batch in enumerate(batches):
    model.feedback(jax.random.PRNGKey(i), batch)
    assert np.isfinite(float(model.metrics['loss']))
  assert model.jitted_feedback._cache_size() == 1  # pylint:disable=protected-access
  after = model.params

  still = []
  for module, leaves in before.items():
    for name in leaves:
      assert np.isfinite(after[module][name]).all()
      if np.array_equal(leaves[name], after[module][name]):
        still.append(f'{module}/{name}')
  still = [name for name in still if not name.endswith(_NO_EFFECT)]
  if any(tag in kind for tag in _NEVER_TRAINS):
    assert all('memnet' in name or 'enc_linear' in name for name in still)
  else:
    assert not still
