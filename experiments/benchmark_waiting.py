# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
r"""Measures how long someone who asks a reasoner has to wait, and for what.

  python experiments/benchmark_waiting.py
  python experiments/benchmark_waiting.py --graphs=sparse_er --nb_graphs=100

Every row is a process of its own, which imports, loads, and asks about graphs
each of which has another number of nodes: once with nothing compiled, and once
with what the first one left in its cache. Seconds are those on the clock and,
in brackets, those of the processor: they differ where others are at work, too.
The last line is one JSON object.
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
_CACHE = flags.DEFINE_string(
    'cache', None, 'Used by the processes that this one starts.')

_COLUMNS = ('import', 'load', 'first answer', 'the others', 'in all')


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


def measure() -> dict:
  """What one process waits for."""
  laps = _Laps()
  # pylint: disable=g-import-not-at-top
  import jax
  jax.config.update('jax_compilation_cache_dir', _CACHE.value)
  jax.config.update('jax_persistent_cache_min_compile_time_secs', 0.1)
  import clrs  # noqa: F401
  import dear_jax
  from dear_jax.data import samplers
  from jax import monitoring
  import numpy as np
  load = dear_jax.load
  found = dict(in_xla=0.0, from_cache=0)

  def duration(event, seconds, **unused_kwargs):
    found['in_xla'] += seconds * event.endswith('backend_compile_duration')

  def count(event, **unused_kwargs):
    found['from_cache'] += event.endswith('cache_hits')

  monitoring.register_event_duration_secs_listener(duration)
  monitoring.register_event_listener(count)
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
  return dict(seconds=laps.seconds, nb_programs=reasoner.nb_programs,
              slowest_up_to_64=slowest, **found)


def _in_new_process(cache: str) -> dict:
  done = subprocess.run(
      [sys.executable, *sys.argv, f'--cache={cache}'], check=True,
      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
      env=dict(os.environ))
  return json.loads(done.stdout.splitlines()[-1])


def main(unused_argv):
  if _CACHE.value:
    print(json.dumps(measure()))
    return
  results = {}
  print(f'{_NB_GRAPHS.value} graphs ({_GRAPHS.value}) of {_MIN_SIZE.value} to '
        f'{_MAX_SIZE.value} nodes, seconds (of the processor)\n')
  print(f'| cache | {" | ".join(_COLUMNS)} | programs | in XLA | slowest '
        'answer up to 64 nodes |\n' + '|---' * (len(_COLUMNS) + 4) + '|')
  with tempfile.TemporaryDirectory() as cache:
    for name in ('empty', 'warm'):
      found = results[name] = _in_new_process(cache)
      cells = [f'{found["seconds"][x][0]:.1f} ({found["seconds"][x][1]:.1f})'
               for x in _COLUMNS]
      print(f'| {name} | {" | ".join(cells)} | {found["nb_programs"]} | '
            f'{found["in_xla"]:.1f} | {found["slowest_up_to_64"]:.3f} |',
            flush=True)
  print(json.dumps(results))


if __name__ == '__main__':
  app.run(main)
