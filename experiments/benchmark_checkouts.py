# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
r"""Compares training steps of this checkout with those of another one.

  git worktree add ../before v0.2.0
  python experiments/benchmark_checkouts.py --other=../before
  python experiments/benchmark_checkouts.py --other=../before \
      --tasks=bfs,dfs --settings='{"backward_max_iter": 20}'

Each checkout has a process of its own, and the two take turns on the same
batches, from the same parameters, so that whatever else the machine does
happens to both. Of every task, the batches have the shape that is the most
frequent one in the first steps of a run. `this / other` is the median over the
rounds of how much longer this checkout takes, by the clock and by the
processor. `in XLA` is what the compiler took for the step, and `same results`
whether all losses and the parameters in the end agree bit for bit. The last
line is one JSON object.
"""

import collections
import hashlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from absl import flags
import cli

_HERE = pathlib.Path(__file__).resolve()

_OTHER = flags.DEFINE_string('other', None, 'the folder of the other checkout')
_TASKS = flags.DEFINE_list(
    'tasks', ['bellman_ford', 'floyd_warshall', 'dag_shortest_paths',
              'mst_prim', 'bfs', 'dfs', 'strongly_connected_components_local',
              'binary_search', 'minimum', 'insertion_sort', 'search'],
    'names of tasks')
_SETTINGS = flags.DEFINE_string(
    'settings', '{}', 'settings of both runs as a JSON object, such as those '
    'whose defaults the checkouts do not share')
_ROUNDS = flags.DEFINE_integer(
    'rounds', 6, 'how often both take their turn', lower_bound=1)
_STEPS = flags.DEFINE_integer(
    'steps', 40, 'training steps of a turn', lower_bound=1)
_WORKER = flags.DEFINE_boolean(
    'worker', False, 'used by the processes that this one starts')

# Batches that are looked at, and those of one shape that steps are taken on.
_LOOKED_AT = 32
_NB_BATCHES = 8


class _Worker:
  """One checkout at work. It uses only what older ones have as well."""

  def __init__(self):
    with cli.silence():
      from dear_jax.training import host_memory
      import jax
    if jax.default_backend() == 'cpu':
      host_memory.keep_freed_memory()
    self._in_xla = 0.0
    jax.monitoring.register_event_duration_secs_listener(self._listen)

  def _listen(self, event, seconds, **unused_kwargs):
    if event.endswith('backend_compile_duration'):
      self._in_xla += seconds

  def prepare(self, task, settings):
    """Compiles the training step of a task."""
    from dear_jax.training import builders
    from dear_jax.training import configs
    from dear_jax.training import splits
    import jax
    import numpy as np
    config = configs.TrainConfig(algorithms=(task,), **settings)
    split = splits.from_config(config, task)
    example = list(split.val)[0]
    self._model = builders.build_model(config, [split.train.spec], [example])
    self._model.init([example.features], config.seed)
    self._params = jax.tree_util.tree_map(np.asarray, self._model.params)
    found = collections.defaultdict(list)
    for i in range(_LOOKED_AT):
      batch = split.train.batch(i)
      found[self._model.describe_shape(batch.features, 0, training=True)
            ].append(batch)
    shape = max(found, key=lambda x: len(found[x]))
    self._batches = found[shape][:_NB_BATCHES]
    self._in_xla, before = 0.0, time.process_time()
    self._step(0)
    return dict(shape=shape, in_xla=self._in_xla,
                first_step=time.process_time() - before)

  def run(self, steps):
    """Takes steps from the initial parameters."""
    import jax
    import numpy as np
    self._model.restart(self._params)
    losses = [self._step(i) for i in range(2)]
    clock, processor = time.perf_counter(), time.process_time()
    losses += [self._step(i) for i in range(steps)]
    seconds = time.perf_counter() - clock, time.process_time() - processor
    arrays = jax.tree_util.tree_leaves(self._model.params) + losses
    return dict(seconds=seconds, digest=hashlib.md5(b''.join(
        np.asarray(x).tobytes() for x in arrays)).hexdigest())

  def _step(self, i):
    import jax
    return float(self._model.feedback(
        jax.random.PRNGKey(i), self._batches[i % len(self._batches)], 0))


def _work():
  """Answers one request a line."""
  worker = _Worker()
  for line in sys.stdin:
    name, *args = json.loads(line)
    print(json.dumps(getattr(worker, name)(*args)), flush=True)


class _Checkout:
  """The process of a checkout."""

  def __init__(self, folder):
    self._folder = folder
    # Nothing that was compiled before: that would tell nothing of XLA.
    kept = {x: y for x, y in os.environ.items()
            if x != 'JAX_COMPILATION_CACHE_DIR'}
    self._said = tempfile.TemporaryFile('w+')
    self._process = subprocess.Popen(
        [sys.executable, str(_HERE), '--worker'], cwd=folder, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said,
        env=dict(kept, PYTHONPATH=str(folder)))

  def ask(self, *request):
    try:
      self._process.stdin.write(json.dumps(request) + '\n')
      self._process.stdin.flush()
    except BrokenPipeError:
      pass  # what it said is below
    answer = self._process.stdout.readline()
    if not answer:
      self._said.seek(0)
      said = self._said.read().strip().splitlines()
      cli.fail(f'{self._folder}: {said[-1] if said else "no answer"}', code=1)
    return json.loads(answer)

  def end(self):
    self._process.kill()
    self._process.communicate()


def _compare(this, other, task, settings):
  """The figures of one task."""
  cli.progress(f'{task}: compiling')
  made = [x.ask('prepare', task, settings) for x in (this, other)]
  turns = []
  for i in range(_ROUNDS.value):
    cli.progress(f'{task}: round {i + 1} of {_ROUNDS.value}')
    order = (this, other) if i % 2 else (other, this)
    done = {x: x.ask('run', _STEPS.value) for x in order}
    turns.append([done[this], done[other]])
  ratios = [statistics.median(a['seconds'][k] / b['seconds'][k]
                              for a, b in turns) for k in (0, 1)]
  return dict(
      task=task, shapes=[x['shape'] for x in made],
      in_xla=[x['in_xla'] for x in made], clock=ratios[0], processor=ratios[1],
      milliseconds=[1e3 * statistics.median(x[k]['seconds'][0] for x in turns)
                    / _STEPS.value for k in (0, 1)],
      same=len({x['digest'] for turn in turns for x in turn}) == 1)


def main(unused_argv):
  if _WORKER.value:
    _work()
    return
  if _OTHER.value is None:
    cli.fail('--other is missing: the folder of another checkout.')
  folder = pathlib.Path(_OTHER.value).resolve()
  if not (folder / 'dear_jax' / '__init__.py').is_file():
    cli.fail(f'--other={_OTHER.value}: there is no dear_jax in this folder.')
  try:
    settings = json.loads(_SETTINGS.value)
  except ValueError:
    settings = None
  if not isinstance(settings, dict):
    cli.fail('--settings must be a JSON object such as {"seed": 1}, got '
             f'{_SETTINGS.value!r}.')
  checkouts = []
  try:
    for x in (_HERE.parent.parent, folder):
      checkouts.append(_Checkout(x))
    rows = []
    for task in _TASKS.value:
      rows.append(_compare(*checkouts, task, settings))
    cli.progress('')
  finally:
    for checkout in checkouts:
      checkout.end()
  cli.print_table(
      ['task', 'shape', 'ms a step, this', 'other', 'this / other, clock',
       'processor', 'in XLA, this', 'other', 'same results'],
      [[x['task'], x['shapes'][0] if len(set(x['shapes'])) == 1
        else ' or '.join(x['shapes']), *(f'{y:.1f}' for y in x['milliseconds']),
        f'{x["clock"]:.3f}', f'{x["processor"]:.3f}',
        *(f'{y:.1f}' for y in x['in_xla']), 'yes' if x['same'] else 'no']
       for x in rows])
  print(json.dumps(dict(steps=_STEPS.value, rounds=_ROUNDS.value, rows=rows)))


if __name__ == '__main__':
  cli.run(main)
