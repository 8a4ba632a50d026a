# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""What is measured and how, for the benchmarks."""

import statistics
import time

import cli

# Parameters have to stay as they are, so that solves do.
LEARNING_RATE = 1e-12
# A recurrent model is left out if it would pass more messages than this, which
# takes about a minute.
_MOST_MESSAGES = 2e7
# What takes longer than this is measured less often than the rest.
_LONG_SECONDS = 3


class Measurements:
  """Named functions that are timed in turns."""

  def __init__(self):
    self._cases = {}
    self.seconds = {}

  def add(self, name, run, divisor=1):
    """Adds a function, whose result is waited for."""
    import jax
    cli.progress(f'compiling: {name}')
    self._cases[name] = lambda: jax.block_until_ready(run()), divisor
    self._cases[name][0]()

  def run(self, rounds, seconds=float('inf')):
    """Times all of them in turns, for so many rounds or seconds."""
    start = time.perf_counter()
    for i in range(rounds):
      cli.progress(f'measuring: round {i + 1} of at most {rounds}')
      for name, (run, divisor) in self._cases.items():
        if i >= 2 and self.seconds[name][-1] * divisor > _LONG_SECONDS:
          continue
        before = time.perf_counter()
        run()
        self.seconds.setdefault(name, []).append(
            (time.perf_counter() - before) / divisor)
      if i >= 2 and time.perf_counter() - start > seconds:
        break
    self._cases = {}

  def median(self, name):
    return statistics.median(self.seconds[name])


def unit(batch_size, size, width):
  """The two edge matrix products of one dense message-passing step."""
  import jax
  keys = jax.random.split(jax.random.PRNGKey(0), 3)
  messages = jax.random.normal(keys[0], (batch_size * size * size, width))
  first, second = (jax.random.normal(key, (width, width)) for key in keys[1:])
  products = jax.jit(lambda x, v, w: (x @ v, x @ w))
  return lambda: products(messages, first, second)


def typical_batch(sampler):
  """The one of nine batches with the median number of edges."""
  def count(batch):
    return sum(x.data.sum() for x in batch.features.inputs if x.name == 'adj')
  return sorted((sampler.batch(i) for i in range(9)), key=count)[4]


def sparse_graph(batch, degree):
  """The features of a sample with few edges, and their true mean degree."""
  import clrs
  import numpy as np
  inputs = batch.features.inputs
  size = next(x.data.shape[1] for x in inputs if x.name == 'adj')
  above = np.triu(np.random.RandomState(0).rand(size, size) < degree / size, 1)
  adjacency = (above | above.T)[None].astype(np.float32)
  return batch.features._replace(inputs=tuple(
      clrs.DataPoint(x.name, x.location, x.type_, adjacency if x.name == 'adj'
                     else x.data * adjacency if x.name == 'A' else x.data)
      for x in inputs)), float(adjacency.sum() / size)


def scratch_memory(model, batch):
  """Bytes of scratch space of a training step, as the compiler plans it."""
  import jax
  compiled = model.jitted_feedback.lower(
      model.params, jax.random.PRNGKey(0),
      model._batch(batch.features, batch.outputs, 0), model._extra(),
      model.opt_state, 0).compile()
  return compiled.memory_analysis().temp_size_in_bytes


def recurrent_model(task, size, batch_size, width):
  """CLRS' model with the step of dear_pgn: a prediction, and its steps."""
  import clrs
  from dear_jax.data import tasks
  from dear_jax.networks import processors
  import jax
  if task not in clrs.SPECS or size > 64:
    return None
  options = {'p': tasks.EDGE_PROBABILITIES} if 'adj' in clrs.SPECS[task] else {}
  sampler, spec = clrs.build_sampler(
      task, num_samples=-1, seed=0, length=size, track_max_steps=False,
      **options)
  # Single samples differ a lot: of nine, the one with the median of steps.
  batches = [sampler.next(batch_size) for _ in range(9 if batch_size == 1
                                                     else 1)]
  batch = sorted(batches, key=lambda x: len(x.features.hints[0].data))[
      len(batches) // 2]
  spec, iterator = clrs.process_permutations(spec, iter([batch]), True)
  batch = next(iterator)
  steps = max(1, batch.features.hints[0].data.shape[0] - 1)
  if steps * batch_size * size**2 > _MOST_MESSAGES:
    return None
  model = clrs.models.BaselineModel(
      spec, batch, processors.PGN, hidden_dim=width, decode_hints=False,
      encoder_init='xavier_on_scalars')
  model.init(batch.features, 0)
  return (lambda: model.predict(jax.random.PRNGKey(0), batch.features)[0],
          steps)
