# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Solves under `jax.shard_map`, with its types checked as by default.

In a process of its own: devices have to be there before JAX is started.
"""

import os
import pathlib
import subprocess
import sys

_PROGRAM = """
import dear_jax
from dear_jax.fixed_points import diagnostics
import jax
import jax.numpy as jnp
import numpy as np

jax.config.update('jax_enable_x64', True)
P = jax.sharding.PartitionSpec
mesh = jax.sharding.Mesh(np.array(jax.devices()), ('devices',))
rng = np.random.RandomState(0)
weights, inputs = jnp.asarray(0.4 * rng.randn(3, 3)), jnp.asarray(
    rng.randn(4, 3) * [[1], [1], [9], [9]])  # one device has more to do
over = lambda fun, outputs: jax.jit(jax.shard_map(
    fun, mesh=mesh, in_specs=(P(), P('devices')), out_specs=outputs))
step = lambda z, w, x: jnp.tanh(z @ w) + x
close = lambda *pair: np.testing.assert_allclose(*pair, rtol=1e-6)

for method in ('anderson', 'picard', 'broyden'):
  for select in ('first', 'last'):
    config = dear_jax.SolverConfig(method=method, select=select, tol=1e-9)
    def solve(w, x):
      sol = dear_jax.solve(step, jnp.zeros(x.shape), w, x, config=config)
      return sol.value, sol.steps
    for here, there in zip(over(solve, P('devices'))(weights, inputs),
                           solve(weights, inputs)):
      close(here, there)

config = dear_jax.SolverConfig(tol=1e-11, max_iter=80)
for gradient in ('implicit', 'one_step', 'unrolled'):
  for closes_over in (False, True):
    def loss(w, x):
      fun, args = (((lambda z: step(z, w, x)), ()) if closes_over
                   else (step, (w, x)))
      return jnp.sum(dear_jax.fixed_point(
          fun, jnp.zeros(x.shape), *args, forward=config,
          gradient=gradient).value**2)
    total = over(lambda w, x: jax.lax.psum(loss(w, x), 'devices'), P())
    grads = jax.jit(jax.grad(total, argnums=(0, 1)))(weights, inputs)
    for here, there in zip(grads, jax.grad(loss, argnums=(0, 1))(
        weights, inputs)):
      close(here, there)

# One device has nothing but an instance that fails.
some = inputs[::3].at[1].set(np.nan)
for gradient in ('implicit', 'one_step', 'unrolled'):
  def loss(w, x):
    sol = dear_jax.fixed_point(
        lambda z, w, x: jnp.tanh(z @ w + x), jnp.zeros(x.shape), w, x,
        forward=config, gradient=gradient)
    return jnp.sum(jnp.where(sol.failed[:, None], 0, sol.value)**2)
  total = over(lambda w, x: jax.lax.psum(loss(w, x), 'devices'), P())
  close(jax.jit(jax.grad(total))(weights, some), jax.grad(loss)(weights, some))

radius = lambda w, x: diagnostics.spectral_radius(
    step, 0 * x, w, x, key=jax.random.PRNGKey(0))
assert np.isfinite(over(radius, P('devices'))(weights, inputs)).all()
print('all equal')
"""


def test_solves_and_gradients_under_shard_map():
  root = pathlib.Path(__file__).parents[2]
  environment = dict(
      os.environ, PYTHONPATH=str(root), JAX_PLATFORMS='cpu',
      XLA_FLAGS=os.environ['XLA_FLAGS']
      + ' --xla_force_host_platform_device_count=2')
  result = subprocess.run([sys.executable, '-c', _PROGRAM], env=environment,
                          capture_output=True, text=True, timeout=600,
                          check=False)
  assert result.returncode == 0, result.stderr[-3000:]
  assert result.stdout.strip() == 'all equal'
