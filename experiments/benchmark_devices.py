# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Measures what devices gain when none has to wait for the others.

Example:

  python experiments/benchmark_devices.py --devices=4

A batch of breadth-first searches is split over forced devices of this machine's
processor, and solved by the shipped reasoner. One device gets paths, on which
news travels far, and the others graphs that take few iterations. Each solve is
timed twice, in turns: as a whole, which ends when the last instance of the
batch is settled, and device by device (`jax.shard_map`). Prints a table in
Markdown on stdout; progress goes to stderr.

Forced devices share the cores of the machine, so that ratios of times show work
that was saved, not what devices of their own would gain.
"""

import dataclasses
import os
from unittest import mock

from absl import flags
import cli
import measuring

_DEVICES = flags.DEFINE_integer('devices', 4, 'how many devices to force',
                                lower_bound=2)
_ROUNDS = flags.DEFINE_integer('rounds', 7, 'how often to time each',
                               lower_bound=3)
_SIZE = flags.DEFINE_integer('size', 32, 'nodes of every graph',
                             lower_bound=4)
_PER_DEVICE = flags.DEFINE_integer('per_device', 4, 'graphs on every device',
                                   lower_bound=1)


def uneven_batch():
  """Paths at the first device, dense graphs at all others."""
  import dear_jax
  import jax
  import numpy as np
  parts = []
  for graphs, count in (('path', 1), ('er', _DEVICES.value - 1)):
    sampler = dear_jax.make_sampler(
        'bfs', size=_SIZE.value, batch_size=count * _PER_DEVICE.value, seed=0,
        split='test', graphs=graphs)
    parts.append(sampler.batch(0))
  inputs, outputs = jax.tree_util.tree_map(
      lambda *x: np.concatenate(x),
      *[(part.features.inputs, part.outputs) for part in parts])
  last = parts[-1]
  return sampler, last._replace(
      features=last.features._replace(inputs=inputs), outputs=outputs)


def build(config, params, sampler, batch, whole):
  """A model whose solves end together, or each device by itself."""
  from dear_jax.training import builders
  model = builders.build_model(config, [sampler.spec], [batch])
  if whole:
    # Data is split all the same, solves are not.
    model._net_settings['mesh'] = None
  model.restart(params)
  return model


def main(unused_argv):
  os.environ['XLA_FLAGS'] = ' '.join([
      os.environ.get('XLA_FLAGS', ''),
      # What does not depend on each other may run in any order, so that one
      # device waits in one exchange and its partner in another one, for ever.
      # Solves as a whole have many, and ended so once in a few times.
      '--xla_cpu_enable_concurrency_optimized_scheduler=false',
      f'--xla_force_host_platform_device_count={_DEVICES.value}'])
  os.environ['JAX_PLATFORMS'] = 'cpu'
  with cli.silence():
    import clrs  # noqa: F401, which all that follows would import aloud
    import dear_jax
    from dear_jax.fixed_points import solvers
    import jax
  cli.prepare()
  reasoner = dear_jax.load('bfs', verbose=False)
  config = dataclasses.replace(
      reasoner.config, layout='dense', learning_rate=measuring.LEARNING_RATE,
      train_sizes=(_SIZE.value,) * 2, batch_size=_DEVICES.value)
  sampler, batch = uneven_batch()
  key = jax.random.PRNGKey(0)
  measurements, figures = measuring.Measurements(), {}
  for whole in (True, False):
    model = build(config, reasoner._params, sampler, batch, whole)
    name = 'as a whole' if whole else 'device by device'
    # Stragglers cannot be taken out of a batch that is not split by hand.
    last_part = len(batch.outputs[0].data) + 1 if whole else solvers._LAST_PART
    with mock.patch.object(solvers, '_LAST_PART', last_part):
      measurements.add(f'inference, {name}', lambda model=model: (
          model.evaluate(key, batch)[1]))
      _, metrics = model.evaluate(key, batch)
      figures[f'inference, {name}'] = float(metrics['evaluations'])
      measurements.add(f'training step, {name}', lambda model=model: (
          model.feedback(key, batch)))
      figures[f'training step, {name}'] = float(model.metrics['evaluations'])
  measurements.run(_ROUNDS.value)
  rows = []
  for what in ('inference', 'training step'):
    before, after = f'{what}, as a whole', f'{what}, device by device'
    times = [measurements.median(name) for name in (before, after)]
    rows.append([
        what, f'{figures[before]:.1f}', f'{figures[after]:.1f}',
        *[f'{1000 * x:.0f}' for x in times], f'{times[1] / times[0]:.2f}'])
  cli.print_table(['', 'iterations a device, as a whole',
                   'iterations a device, device by device',
                   'ms, as a whole', 'ms, device by device',
                   'time, as a ratio'], rows)


if __name__ == '__main__':
  cli.run(main)
