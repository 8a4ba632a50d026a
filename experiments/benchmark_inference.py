# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Measures how long a DEAR and a NAR take for a sample, on the paper's tasks.

Examples:

  # all tasks; takes three minutes on two fast cores
  python experiments/benchmark_inference.py

  # some of them; the rows of others stay as they are in the file
  python experiments/benchmark_inference.py --tasks=bfs,insertion_sort

  # docs/results.md, with what was measured
  python experiments/reproduce.py --collect

The DEAR is the reasoner that comes with the library, and solves as in the test
of its run. The NAR is the same network, whose step is repeated as often as the
algorithm takes steps. It has the parameters of the DEAR, with which it was not
trained to answer: that changes none of its time. Both answer for the same
samples, one at a time, with everything compiled, and take turns. Times are
means over samples of the median of rounds. Nothing else should run at the same
time.

Prints a table in Markdown on stdout and writes the figures to --out. Progress
goes to stderr.
"""

import dataclasses
import json
import os
import pathlib
import statistics
import sys

from absl import flags
import campaign
import cli
import measuring

ROOT = pathlib.Path(__file__).resolve().parent.parent

_TASKS = flags.DEFINE_list(
    'tasks', list(campaign.TASKS), 'tasks to measure (default: all of the '
    "paper's)")
_SIZE = flags.DEFINE_integer('size', 64, 'size of the samples', lower_bound=2)
_SAMPLES = flags.DEFINE_integer('samples', 8, 'samples to answer for',
                                lower_bound=1)
_ROUNDS = flags.DEFINE_integer(
    'rounds', 5, 'times that each is measured; what takes longer than '
    'three seconds is measured twice', lower_bound=1)
_OUT = flags.DEFINE_string(
    'out', str(ROOT / 'docs' / 'results' / 'inference.json'),
    'file for the figures (default: that of docs/results.md)')

_MODELS = ('nar', 'dear')


def models_of(task):
  """The reasoner of a task, and the same network as a NAR."""
  import dear_jax
  from dear_jax.reasoning import sources
  from dear_jax.training import builders
  trained, params, *_ = sources.read(task)
  reasoner = dear_jax.load(task, criterion=trained.for_test.criterion,
                           verbose=False)
  sampler = dear_jax.make_sampler(
      task, size=_SIZE.value, batch_size=1, seed=reasoner.config.seed,
      split='test', with_lengths=True)
  samples = [sampler.batch(i) for i in range(_SAMPLES.value)]
  models = {}
  for name in _MODELS:
    # Whatever the settings of solver and loss are, a NAR has no use for them.
    config = dataclasses.replace(reasoner.config, model=name)
    models[name] = builders.build_model(config, [sampler.spec], samples[:1])
    builders.set_params(models[name], params, samples[:1], task)
  return reasoner, models, samples


def measure(task):
  """The row of a task."""
  import jax
  reasoner, models, samples = models_of(task)
  key = jax.random.PRNGKey(0)
  measurements = measuring.Measurements()
  row = dict(task=task, made_by=reasoner.made_by, samples=len(samples))
  for name, model in models.items():
    steps = []
    for i, sample in enumerate(samples):
      _, instances = model.evaluate_instances(key, sample)
      steps.append(int(instances['steps'][0]))
      measurements.add(f'{task}, {name}, {i}', lambda model=model, x=sample: (
          model.predict(key, x.features)))
    row[f'{name}_steps'] = statistics.mean(steps)
  measurements.run(_ROUNDS.value)
  for name in models:
    row[f'{name}_seconds'] = statistics.mean(
        measurements.median(f'{task}, {name}, {i}')
        for i in range(len(samples)))
  return row


def read_rows(path):
  """The rows that the file has already, by their tasks."""
  if not os.path.exists(path):
    return {}
  with open(path, encoding='utf-8') as f:
    found = json.load(f)
  if found['size'] != _SIZE.value:
    raise ValueError(f'{path} is of size {found["size"]}, not {_SIZE.value}; '
                     'choose another --out.')
  return {row['task']: row for row in found['rows']}


def main(unused_argv):
  with cli.silence():
    import dear_jax
    from dear_jax.data import samplers
    import jax
  cli.check_output(_OUT, _OUT.value)
  with cli.failing():
    for task in _TASKS.value:
      samplers.check_choice('tasks', task, campaign.TASKS)
    rows = read_rows(_OUT.value)
  cli.prepare()
  for task in _TASKS.value:
    rows[task] = measure(task)
    results = dict(
        command='python experiments/benchmark_inference.py', size=_SIZE.value,
        device=jax.devices()[0].device_kind, cores=os.cpu_count(),
        versions={'dear_jax': dear_jax.__version__, 'jax': jax.__version__},
        rows=[rows[x] for x in campaign.TASKS if x in rows])
    cli.write_json(_OUT.value, results)  # so that nothing is lost
  cli.progress('')
  cli.print_table(
      ['task', 'NAR steps', 'NAR ms', 'DEAR steps', 'DEAR ms', 'NAR / DEAR'],
      [[task, f'{row["nar_steps"]:.1f}', f'{1e3 * row["nar_seconds"]:.1f}',
        f'{row["dear_steps"]:.1f}', f'{1e3 * row["dear_seconds"]:.1f}',
        f'{row["nar_seconds"] / row["dear_seconds"]:.2f}']
       for task, row in rows.items() if task in _TASKS.value])
  print(f'The figures are in {_OUT.value}.', file=sys.stderr)


if __name__ == '__main__':
  cli.run(main)
