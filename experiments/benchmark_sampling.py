# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Measures how fast samples are drawn, against CLRS in the same process.

Examples:

  # the paper's ten tasks at sizes 16 and 64, and training steps to compare with
  python experiments/benchmark_sampling.py

  # two tasks at one size, without training steps
  python experiments/benchmark_sampling.py --tasks=bfs,dfs --sizes=16 --nosteps

Prints one table in Markdown on stdout; progress goes to stderr. Ours is what
training gets: batches of 32 with random positions, permutations and integer
pointers. CLRS is `clrs.build_sampler(...).next(32)` alone, or fewer samples at
a time where that takes long. The two are measured in turns and the fastest turn
of each counts. The first batch includes compiling the kernels that no task
before it had. A training step is one of `--preset=quick` at size 16. Nothing
else should run at the same time.
"""

import os
import statistics
import tempfile
import time

from absl import flags
import cli

_TASKS = flags.DEFINE_string(
    'tasks', 'bellman_ford,floyd_warshall,dag_shortest_paths,mst_prim,bfs,dfs,'
    'strongly_connected_components,binary_search,minimum,insertion_sort',
    'tasks that CLRS has too, separated by commas')
_SIZES = flags.DEFINE_string('sizes', '16,64', 'sizes, separated by commas')
_STEPS = flags.DEFINE_boolean(
    'steps', True, 'whether to measure training steps too, which compiles one '
    'program a task')
_SECONDS = flags.DEFINE_float(
    'seconds', 0.5, 'how long to measure each side, in each of three turns')

_BATCH_SIZE = 32
_TURNS = 3
_TRAINING_SIZE = 16


def sampling_rate(draw, seconds):
  """Samples per second of `draw(index)`, which returns how many it made."""
  samples = index = 0
  start = time.perf_counter()
  while (elapsed := time.perf_counter() - start) < seconds or not samples:
    samples += draw(index)
    index += 1
  return samples / elapsed


def measure_sampling(task, size, seconds):
  """Samples per second by CLRS and by us, and our first batch in seconds."""
  import clrs
  import dear_jax
  from dear_jax.data import tasks
  options = ({'p': tasks.EDGE_PROBABILITIES}
             if 'adj' in clrs.SPECS[task] else {})
  theirs, _ = clrs.build_sampler(task, num_samples=-1, seed=1, length=size,
                                 track_max_steps=False, **options)
  start = time.perf_counter()
  ours = dear_jax.make_sampler(task, size=size, batch_size=_BATCH_SIZE, seed=1,
                               split='train')
  ours.batch(0)
  first = time.perf_counter() - start
  per_sample = 1 / sampling_rate(lambda _: bool(theirs.next(1)), 0)
  at_once = max(1, min(_BATCH_SIZE, int(seconds / per_sample)))
  def draw_theirs(unused_index):
    theirs.next(at_once)
    return at_once
  def draw_ours(index):
    ours.batch(index)
    return _BATCH_SIZE
  turns = [(sampling_rate(draw_theirs, seconds),
            sampling_rate(draw_ours, seconds)) for _ in range(_TURNS)]
  return (*map(max, zip(*turns)), first)


def measure_step(task):
  """Seconds of a training step."""
  import dear_jax
  from dear_jax.training import builders
  from dear_jax.training import configs
  import jax
  sampler = dear_jax.make_sampler(
      task, size=_TRAINING_SIZE, batch_size=_BATCH_SIZE, seed=1, split='train')
  batch = sampler.batch(0)
  model = builders.build_model(configs.PRESETS['quick'], [sampler.spec],
                               [batch])
  model.init(batch.features, 0)
  seconds = []
  for index in range(6):
    batch = sampler.batch(index)
    start = time.perf_counter()
    model.feedback(jax.random.PRNGKey(index), batch)
    jax.block_until_ready(model.params)
    seconds.append(time.perf_counter() - start)
  return statistics.median(seconds[1:])  # the first one compiles


def main(unused_argv):
  with tempfile.TemporaryDirectory() as folder:
    # An empty cache, so that the first batch pays for compiling its kernels.
    os.environ['NUMBA_CACHE_DIR'] = folder
    with cli.silence():
      import clrs
      from dear_jax.data import samplers
    names = [name.strip() for name in _TASKS.value.split(',')]
    with cli.failing():
      for name in names:
        samplers.check_choice('task', name, sorted(clrs.SPECS))
      sizes = [int(size) for size in _SIZES.value.split(',')]
      for name in names:
        for size in sizes:
          samplers.check_size(name, 'sizes', size)
    cli.prepare()
    report(names, sizes)


def report(names, sizes):
  """Measures everything and prints the table."""
  head = ['task']
  for size in sizes:
    head += [f'CLRS samples/s, size {size}', f'ours, size {size}', 'times',
             f'ms a batch of {_BATCH_SIZE}']
  head.append('first batch, s')
  if _STEPS.value:
    head += ['training step, ms', 'sampling / step']
  rows, speedups, batch_ms, shares = [], {size: [] for size in sizes}, [], []
  for i, name in enumerate(names):
    row, firsts = [name], []
    for size in sizes:
      cli.progress(f'{i + 1}/{len(names)} {name}: sampling at size {size}')
      theirs, ours, first = measure_sampling(name, size, _SECONDS.value)
      speedups[size].append(ours / theirs)
      milliseconds = 1e3 * _BATCH_SIZE / ours
      row += [f'{theirs:,.0f}' if theirs >= 10 else f'{theirs:.2g}',
              f'{ours:,.0f}', f'{ours / theirs:,.0f}', f'{milliseconds:.2f}']
      firsts.append(first)
      if size == _TRAINING_SIZE:
        batch_ms.append(milliseconds)
    row.append(f'{firsts[0]:.1f}')
    if _STEPS.value:
      cli.progress(f'{i + 1}/{len(names)} {name}: training step')
      step = 1e3 * measure_step(name)
      shares += [x / step for x in batch_ms[-1:]]
      row += [f'{step:.0f}', f'{shares[-1]:.2%}' if shares else '-']
    rows.append(row)
  cli.progress('')
  cli.print_table(head, rows)
  for size, times in speedups.items():
    print(f'Size {size}: {statistics.geometric_mean(times):,.0f} times the '
          'samples per second of CLRS (geometric mean), at least '
          f'{min(times):,.0f} times.\n')
  if batch_ms:
    print(f'A batch of {_BATCH_SIZE} at size {_TRAINING_SIZE} takes less than '
          f'1 ms for {sum(x < 1 for x in batch_ms)} of {len(batch_ms)} tasks, '
          f'and {max(batch_ms):.2f} ms at most'
          + (f'; {max(shares):.2%} of a training step at most.' if shares
             else '.'))


if __name__ == '__main__':
  cli.run(main)
