# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
r"""Measures how long someone who asks or trains has to wait, and for what.

  python experiments/benchmark_waiting.py
  python experiments/benchmark_waiting.py --graphs=sparse_er --nb_graphs=100
  python experiments/benchmark_waiting.py --train=dfs,minimum
  python experiments/benchmark_waiting.py --train=dfs --noin_background
  python experiments/benchmark_waiting.py --train=dfs --layout=sparse

Every row is a process of its own, once with nothing compiled, and once with
what the first one left in its cache. It imports, loads, and asks about graphs
each of which has another number of nodes; or, with --train, it begins a run
with default settings on a task. Seconds are those on the clock and, in
brackets, those of the processor: they differ where others are at work, too. Of
what is compiled at the same time, seconds in XLA are added up. The last line is
one JSON object.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

from absl import app
from absl import flags

_REASONER = flags.DEFINE_string('reasoner', 'bfs', 'What to load.')
_GRAPHS = flags.DEFINE_string(
    'graphs', 'sparse_er', 'The family of the graphs; see docs/data.md.')
_NB_GRAPHS = flags.DEFINE_integer('nb_graphs', 100, 'How many to ask about.')
_MIN_SIZE = flags.DEFINE_integer('min_size', 5, 'The nodes of the smallest.')
_MAX_SIZE = flags.DEFINE_integer('max_size', 256, 'The nodes of the largest.')
_TRAIN = flags.DEFINE_list(
    'train', [], 'Begin runs on these tasks, and ask no reasoner.')
_STEPS = flags.DEFINE_integer('steps', 200, 'How many steps to train.', 1)
_IN_BACKGROUND = flags.DEFINE_bool(
    'in_background', True, 'Whether runs compile while they train.')
_LAYOUT = flags.DEFINE_enum(
    'layout', 'auto', ['auto', 'dense', 'sparse'],
    'Where runs compute their messages, as in run.py.')
_CACHE = flags.DEFINE_string(
    'cache', None, 'Used by the processes that this one starts.')

_ASKING = ('import', 'load', 'first answer', 'the others', 'in all')
_TRAINING = ('import', 'first step', 'the others', 'in all')

# What a model has compiled, as JAX calls it.
_PROGRAMS = ('jit(_feedback)', 'jit(_evaluate)')


class _Laps:
  """Seconds on the clock and of the processor, from lap to lap."""

  def __init__(self):
    self._start = self._last = (time.perf_counter(), time.process_time())
    self.seconds = {}

  def lap(self, name: str) -> None:
    now = (time.perf_counter(), time.process_time())
    self.seconds[name] = [b - a for a, b in zip(self._last, now)]
    self.seconds['in all'] = [b - a for a, b in zip(self._start, now)]
    self._last = now


def _watch_compiler() -> dict:
  """Seconds in XLA, the programs of models, and what was not compiled."""
  import jax
  from jax import monitoring
  jax.config.update('jax_compilation_cache_dir', _CACHE.value)
  jax.config.update('jax_persistent_cache_min_compile_time_secs', 0.1)
  found = dict(in_xla=0.0, from_cache=0, nb_programs=0)

  def duration(event, seconds, fun_name='', **unused_kwargs):
    if event.endswith('backend_compile_duration'):
      found['in_xla'] += seconds
      found['nb_programs'] += fun_name in _PROGRAMS

  def count(event, **unused_kwargs):
    found['from_cache'] += event.endswith('cache_hits')

  monitoring.register_event_duration_secs_listener(duration)
  monitoring.register_event_listener(count)
  return found


def measure_training(task: str) -> dict:
  """What one process waits for that begins a run."""
  laps = _Laps()
  found = _watch_compiler()
  # pylint: disable=g-import-not-at-top
  import dear_jax
  import clrs  # noqa: F401  # isort: skip, this order is the quicker one
  from dear_jax.models import programs
  from dear_jax.training import host_memory
  host_memory.keep_freed_memory()
  if not _IN_BACKGROUND.value:
    programs.CompilesAhead.compiles_ahead = False
  config = dear_jax.TrainConfig(
      algorithms=(task,), layout=_LAYOUT.value)
  train = dear_jax.train
  laps.lap('import')
  counted = {}

  def at_step(done):
    # Its results are there one step later, which is little.
    if done in (1, _STEPS.value):
      laps.lap('first step' if done == 1 else 'the others')
      counted.update(found)  # what is compiled later does not count
    return done == _STEPS.value

  with tempfile.TemporaryDirectory() as workdir:
    train(config, workdir, should_stop=at_step)
  return dict(seconds=laps.seconds, **counted)


def measure_asking() -> dict:
  """What one process waits for that asks a reasoner."""
  laps = _Laps()
  found = _watch_compiler()
  # pylint: disable=g-import-not-at-top
  import dear_jax
  import clrs  # noqa: F401  # isort: skip, this order is the quicker one
  from dear_jax.data import samplers
  import numpy as np
  load = dear_jax.load
  laps.lap('import')
  reasoner = load(_REASONER.value, verbose=False)
  laps.lap('load')
  sizes = np.linspace(_MIN_SIZE.value, _MAX_SIZE.value,
                      _NB_GRAPHS.value).astype(int)
  slowest = 0.0
  asked = []
  for i, size in enumerate(np.random.default_rng(0).permutation(sizes)):
    sampler = samplers.make_sampler(
        'bfs', size=int(size), batch_size=1, seed=i, split='test',
        graphs=_GRAPHS.value)
    inputs = {x.name: x.data[0] for x in sampler.batch(0).features.inputs}
    asked.append((inputs['adj'] * (1 - np.eye(size)), inputs['s'].argmax()))
  laps.lap('samples')
  del laps.seconds['in all']
  for i, question in enumerate(asked):
    began, compiled = time.perf_counter(), reasoner.nb_programs
    reasoner(*question)
    if len(question[0]) <= 64 and reasoner.nb_programs == compiled:
      slowest = max(slowest, time.perf_counter() - began)
    if not i:
      laps.lap('first answer')
  laps.lap('the others')
  return dict(found, seconds=laps.seconds, nb_programs=reasoner.nb_programs,
              slowest_up_to_64=slowest)


def _in_new_process(cache: str, *options: str) -> dict:
  done = subprocess.run(
      [sys.executable, *sys.argv, f'--cache={cache}', *options], check=True,
      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
      env=dict(os.environ))
  return json.loads(done.stdout.splitlines()[-1])


def _table(title, columns, last=()):
  print(f'{title}, seconds (of the processor)\n')
  names = (*columns, 'programs', 'in XLA', *last)
  print(f'| cache | {" | ".join(names)} |\n' + '|---' * (len(names) + 1) + '|')


def _row(name, found, columns, last=()):
  cells = [f'{found["seconds"][x][0]:.1f} ({found["seconds"][x][1]:.1f})'
           for x in columns]
  cells += [str(found['nb_programs']), f'{found["in_xla"]:.1f}', *last]
  print(f'| {name} | {" | ".join(cells)} |', flush=True)


def _ask() -> dict:
  """Measures what someone waits for who asks."""
  results = {}
  _table(f'{_NB_GRAPHS.value} graphs ({_GRAPHS.value}) of {_MIN_SIZE.value} to '
         f'{_MAX_SIZE.value} nodes', _ASKING,
         ['slowest answer up to 64 nodes'])
  with tempfile.TemporaryDirectory() as cache:
    for name in ('empty', 'warm'):
      found = results[name] = _in_new_process(cache)
      _row(name, found, _ASKING, [f'{found["slowest_up_to_64"]:.3f}'])
  return results


def _train() -> dict:
  """Measures what someone waits for who trains."""
  results = {}
  _table(f'Runs with default settings, {_STEPS.value} steps', _TRAINING)
  for task in _TRAIN.value:
    results[task] = {}
    with tempfile.TemporaryDirectory() as cache:
      for name in ('empty', 'warm'):
        found = results[task][name] = _in_new_process(cache, f'--train={task}')
        _row(f'{task}, {name}', found, _TRAINING)
  return results


def main(unused_argv):
  if _CACHE.value:
    print(json.dumps(measure_training(_TRAIN.value[0]) if _TRAIN.value
                     else measure_asking()))
  elif _TRAIN.value:
    print(json.dumps({'training': _train()}))
  else:
    print(json.dumps(_ask()))


if __name__ == '__main__':
  app.run(main)
