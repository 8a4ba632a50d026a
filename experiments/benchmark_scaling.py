# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
r"""Measures time and memory of answers for large graphs without matrices.

  python experiments/benchmark_scaling.py --output=docs/results/scaling.json
  python experiments/benchmark_scaling.py --sizes=1000,2000 --mean_degree=4

Every row is a process of its own, which loads a reasoner, has it compile, and
then asks about one Erdos-Renyi graph with that mean degree. Seconds are those
of the answer alone: on the clock, and those of the processor, over all of its
cores. They differ where others are at work, which the load of the machine
tells. The peak is that of the whole process; next to it is what the process had
before it was asked. Ratios are to the row above: of edges, of processor seconds
a step, and of the memory that the answer took. The last line is one JSON
object.
"""

import json
import os
import resource
import subprocess
import sys
import time

from absl import app
from absl import flags

_REASONER = flags.DEFINE_string('reasoner', 'bfs', 'What to load.')
_SIZES = flags.DEFINE_list(
    'sizes', ['1000', '3000', '10000', '30000', '100000'],
    'How many nodes the graphs have.')
_DEGREE = flags.DEFINE_float('mean_degree', 8.0, 'Mean degree of the graphs.')
_SEED = flags.DEFINE_integer('seed', 0, 'Of the graphs.')
_OUTPUT = flags.DEFINE_string('output', None, 'A JSON file for all figures.')
_SIZE = flags.DEFINE_integer(
    'size', None, 'Used by the processes that this one starts.')

_COLUMNS = ('nodes', 'edges', 'steps', 'converged', 'nodes right',
            'as near as the right one', 'confidence', 'seconds',
            'processor seconds', 'peak, GiB', 'before, GiB', 'edges, ratio',
            'seconds a step, ratio', 'memory, ratio')


def _status(name):
  """Bytes, from what Linux says of this process."""
  with open('/proc/self/status', encoding='utf-8') as file:
    for line in file:
      if line.startswith(name + ':'):
        return int(line.split()[1]) * 1024
  return 0


def measure():
  """One graph in this process."""
  # pylint: disable=g-import-not-at-top
  import dear_jax
  from dear_jax.data import sparse_algorithms
  from dear_jax.models import packed
  import numpy as np
  sampler = dear_jax.make_sampler(
      'bfs', size=_SIZE.value, batch_size=1, seed=_SEED.value, split='test',
      graphs='sparse_er', sparse=True, mean_degree=_DEGREE.value)
  question, = sampler.batch(0).questions
  reasoner = dear_jax.load(_REASONER.value, verbose=False)
  problem = packed.Problem(question['adj'], question['source'])
  model = reasoner._model  # pylint: disable=protected-access
  before = _status('VmRSS')
  began = time.perf_counter()
  model.packed.answer(model.device_params, [problem], 0, compile_only=True)
  compiling = time.perf_counter() - began
  load = os.getloadavg()[0]
  began = time.perf_counter(), time.process_time()
  outputs, details = reasoner(**question, details=True)
  seconds, processor = (time.perf_counter() - began[0],
                        time.process_time() - began[1])
  peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
  truth, depth = sparse_algorithms.breadth_first(*problem)
  found = outputs['pi']
  is_near = np.where(truth == np.arange(len(truth)), found == truth,
                     depth[found] == depth - 1)
  return {
      'nodes': _SIZE.value, 'edges': len(question['adj'].senders) // 2,
      'steps': int(details.steps), 'converged': bool(details.converged),
      'residual': float(details.residual),
      'nodes right': float(np.mean(found == truth)),
      'as near as the right one': float(np.mean(is_near)),
      'confidence': float(details.confidence), 'seconds': seconds,
      'processor seconds': processor, 'compiling': compiling,
      'peak': peak, 'before': before, 'load': load}


def _with_ratios(row, last):
  """The row with what it has to the one before."""
  if last is None:
    return row
  per_step = lambda x: x['processor seconds'] / x['steps']
  memory = lambda x: max(1, x['peak'] - x['before'])
  return {**row, 'edges, ratio': row['edges'] / last['edges'],
          'seconds a step, ratio': per_step(row) / per_step(last),
          'memory, ratio': memory(row) / memory(last)}


def _cells(row):
  shown = {**row, 'nodes': f'{row["nodes"]:,}', 'edges': f'{row["edges"]:,}',
           'peak, GiB': row['peak'] / 2**30,
           'before, GiB': row['before'] / 2**30}
  for name, digits in (('nodes right', 4), ('as near as the right one', 4),
                       ('confidence', 4), ('seconds', 1),
                       ('processor seconds', 1), ('peak, GiB', 2),
                       ('before, GiB', 2), ('edges, ratio', 2),
                       ('seconds a step, ratio', 2), ('memory, ratio', 2)):
    shown[name] = f'{shown[name]:.{digits}f}' if name in shown else ''
  return [str(shown[name]) for name in _COLUMNS]


def main(unused_argv):
  if _SIZE.value:
    print(json.dumps(measure()))
    return
  try:
    sizes = [int(size) for size in _SIZES.value]
  except ValueError:
    sys.exit('benchmark_scaling.py: --sizes must be whole numbers such as '
             f'1000,3000, got {",".join(_SIZES.value)!r}.')
  print(f'| {" | ".join(_COLUMNS)} |\n' + '|---' * len(_COLUMNS) + '|',
        flush=True)
  rows = []
  for size in sizes:
    done = subprocess.run(
        [sys.executable, *sys.argv, f'--size={size}'], check=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    row = json.loads(done.stdout.splitlines()[-1])
    rows.append(_with_ratios(row, rows[-1] if rows else None))
    print(f'| {" | ".join(_cells(rows[-1]))} |', flush=True)
  command = ' '.join(['python', 'experiments/benchmark_scaling.py',
                      *sys.argv[1:]])
  result = dict(command=command, reasoner=_REASONER.value,
                mean_degree=_DEGREE.value, seed=_SEED.value,
                cores=os.cpu_count(), rows=rows)
  if _OUTPUT.value:
    with open(_OUTPUT.value, 'w', encoding='utf-8') as file:
      json.dump(result, file, indent=1)
  print(json.dumps(result))


if __name__ == '__main__':
  app.run(main)
