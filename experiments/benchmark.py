# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Measures training steps, inference, compilation and memory.

Examples:

  # everything, on BFS
  python experiments/benchmark.py

  # a first look in under two minutes
  python experiments/benchmark.py --task=insertion_sort --quick

Times are medians of rounds in which all measurements take turns, and are also
given in units U: the time, in the same rounds, of the two edge matrix products
of one dense message-passing step, [batch * n * n, 128] x [128, 128] twice. So
the noise of a machine mostly cancels. Nothing else should run at the same time.
The network is untrained unless --run names the folder of a run; solves take as
many evaluations as the table says.

CLRS is `clrs.models.BaselineModel` with the same step as its processor,
unrolled for as many steps as the algorithm takes.

Prints tables in Markdown on stdout and writes the same numbers, and all single
measurements, to --out. Progress goes to stderr.
"""

import functools
import json
import os
import subprocess
import sys
import tempfile
import time

from absl import flags
import cli
import measuring

_TASK = flags.DEFINE_string('task', 'bfs', 'task to measure on')
_PROCESSOR = flags.DEFINE_string('processor', 'dear_pgn', 'kind of processor')
_LAYOUT = flags.DEFINE_string('layout', 'auto', 'auto, dense or sparse')
_RUN = flags.DEFINE_string(
    'run', None, 'folder of a run whose parameters are measured')
_QUICK = flags.DEFINE_boolean(
    'quick', False, 'fewer sizes and rounds; no unrolled gradient, no memory, '
    'no cold start')
_OUT = flags.DEFINE_string('out', 'benchmark.json', 'file for the numbers')
_FIRST_STEP = flags.DEFINE_boolean(
    'first_step', False, 'only print how long the first training step takes, '
    'from the start of the program; the benchmark calls itself with this')
_LARGE_GRAPH = flags.DEFINE_boolean(
    'large_graph', False, 'only print time and memory of BFS on a large sparse '
    'graph; the benchmark calls itself with this')
_BATCH_SIZE = flags.DEFINE_integer(
    'batch_size', 32, 'batch to train with, and to infer with besides 1',
    lower_bound=1)
_TRAINING_SIZE = flags.DEFINE_integer(
    'training_size', 16, 'size of the training samples', lower_bound=1)
_SIZES = flags.DEFINE_list(
    'sizes', None, 'sizes to infer at (default: 16,64,128,256; with --quick '
    '16,64)')
_WIDTH = flags.DEFINE_integer('width', 128, 'width of the node states',
                              lower_bound=1)

_ITERATIONS = 10
# Larger dense batches would need more memory than a laptop has.
_MOST_PAIRS = 32 * 128 * 128


def sampler_of(size, batch_size):
  import dear_jax
  return dear_jax.make_sampler(_TASK.value, size=size, batch_size=batch_size,
                               seed=0, split='train')


def model_of(sampler, gradient='damped', max_iter=40, layout=None,
             jacobian_fraction=None):
  """A model with the settings of a run otherwise, and a batch."""
  import dear_jax
  from dear_jax.training import builders
  from dear_jax.training import checkpoints
  from dear_jax.training import configs
  config = configs.TrainConfig(processor=_PROCESSOR.value, gradient=gradient,
                               max_iter=max_iter)
  batch = measuring.typical_batch(sampler)
  model = dear_jax.DEARModel(
      sampler.spec, batch, config.processor_factory(), hidden_dim=_WIDTH.value,
      encoder_init=config.encoder_init, learning_rate=measuring.LEARNING_RATE,
      grad_clip_max_norm=config.grad_clip_max_norm,
      jacobian_fraction=jacobian_fraction or config.jacobian_fraction,
      layout=layout or _LAYOUT.value)
  model.init(batch.features, 0)
  if _RUN.value:
    with cli.failing(checkpoints.RunError, code=1):
      builders.set_params(model, checkpoints.load_kept(_RUN.value), [batch],
                          _RUN.value)
  return model, batch


def measure_iterations(results):
  """One iteration of the solver, and what of it is bookkeeping."""
  from dear_jax.fixed_points import solvers
  from dear_jax.networks import processors
  import haiku as hk
  import jax
  import jax.numpy as jnp
  batch_size, size, width = (
      _BATCH_SIZE.value, _TRAINING_SIZE.value, _WIDTH.value)
  keys = jax.random.split(jax.random.PRNGKey(0), 5)
  features = (jax.random.normal(keys[0], (batch_size, size, width)),
              jax.random.normal(keys[1], (batch_size, size, size, width)),
              jax.random.normal(keys[2], (batch_size, width)),
              jnp.ones((batch_size, size, size)))
  hidden = jax.random.normal(keys[3], (batch_size, size, width))
  make = lambda name: hk.without_apply_rng(hk.transform(
      lambda *args: getattr(processors.PGN(width), name)(*args)))
  params = make('__call__').init(keys[4], *features, hidden)
  context = jax.jit(make('prepare').apply)(params, *features)
  step = make('step').apply
  fun = lambda hidden, params, context: step(params, hidden, context)
  measurements = measuring.Measurements()
  measurements.add('U', measuring.unit(batch_size, size, width))
  loop = jax.jit(lambda *args: jax.lax.fori_loop(
      0, _ITERATIONS, lambda _, hidden: fun(hidden, *args[1:]), args[0]))
  measurements.add('step alone', lambda: loop(hidden, params, context),
                   _ITERATIONS)
  for method in solvers.METHODS:
    config = solvers.SolverConfig(method=method, tol=1e-9,
                                  max_iter=_ITERATIONS)
    solve = jax.jit(lambda *args, config=config: solvers.solve(
        fun, *args, config=config))
    measurements.add(method, functools.partial(solve, hidden, params, context),
                     _ITERATIONS)
  measurements.run(20, 10)
  alone = measurements.median('step alone')
  rows = []
  for name in ('step alone', *solvers.METHODS):
    seconds = measurements.median(name)
    rows.append(dict(
        solver=name, seconds=seconds, units=seconds / measurements.median('U'),
        bookkeeping=1 - alone / seconds if name != 'step alone' else None))
  results['iterations'] = rows
  results['measurements']['iterations'] = measurements.seconds
  print(f'One iteration, dense, batch {batch_size}, size {size}:\n')
  cli.print_table(['', 'ms', 'U', 'bookkeeping'], [
      [row['solver'], f'{1e3 * row["seconds"]:.2f}', f'{row["units"]:.2f}',
       '' if row['bookkeeping'] is None else f'{row["bookkeeping"]:.0%}']
      for row in rows])


def measure_training(results, rounds):
  """Training steps with the three gradients.

  Each of them with the Jacobian penalty on a part of the batch, as by default,
  and on the whole batch, as in the paper's code.
  """
  from dear_jax.training import configs
  import jax
  sampler = sampler_of(_TRAINING_SIZE.value, _BATCH_SIZE.value)
  measurements = measuring.Measurements()
  measurements.add('U', measuring.unit(
      _BATCH_SIZE.value, _TRAINING_SIZE.value, _WIDTH.value))
  solver = {}
  memory = {}
  gradients = ('one_step', 'damped')
  if not _QUICK.value:
    gradients += ('unrolled',)
  whole = lambda gradient: f'{gradient}, penalty on the whole batch'
  key = jax.random.PRNGKey(0)
  for gradient in gradients:
    for name, fraction in ((gradient, None), (whole(gradient), 1.0)):
      model, batch = model_of(sampler, gradient, jacobian_fraction=fraction)
      measurements.add(name, functools.partial(model.feedback, key, batch))
      if fraction is None:
        solver[gradient] = model.metrics
  for gradient in gradients[1:]:
    for max_iter in (10, 160) if not _QUICK.value else ():
      cli.progress(f'memory: {gradient} with max_iter={max_iter}')
      memory[f'{gradient} {max_iter}'] = measuring.scratch_memory(
          *model_of(sampler, gradient, max_iter))
  measurements.run(rounds, 60)
  rows = []
  for gradient, metrics in solver.items():
    needed, paid, backwards = (float(metrics[x]) for x in (
        'solver_steps_mean', 'evaluations', 'backward_steps_mean'))
    seconds = measurements.median(gradient)
    rows.append(dict(
        gradient=gradient, seconds=seconds,
        units=seconds / measurements.median('U'),
        whole_penalty_seconds=measurements.median(whole(gradient)),
        evaluations=needed,
        evaluations_paid=paid, waste=paid / needed,
        backward_evaluations=backwards,
        memory={x: memory.get(f'{gradient} {x}') for x in (10, 160)}))
  results['training'] = rows
  results['measurements']['training'] = measurements.seconds
  megabytes = lambda x: '' if x is None else f'{x / 2**20:,.0f}'
  print(f'Training step of {_TASK.value}, batch {_BATCH_SIZE.value}, size '
        f'{_TRAINING_SIZE.value}. The Jacobian penalty is on '
        f'{configs.TrainConfig().jacobian_fraction:g} of the batch, and in a '
        "column of its own on all of it, as in the paper's code. Evaluations "
        'are those that an instance needs and those that it pays for, as '
        'others need more; memory is the scratch space in MiB:\n')
  cli.print_table(
      ['gradient', 'ms', 'U', 'ms, whole penalty', 'evaluations', 'paid',
       'paid / needed', 'backwards', 'memory, max_iter 10', 'max_iter 160'],
      [[row['gradient'], f'{1e3 * row["seconds"]:.0f}', f'{row["units"]:.1f}',
        f'{1e3 * row["whole_penalty_seconds"]:.0f}',
        f'{row["evaluations"]:.1f}', f'{row["evaluations_paid"]:.1f}',
        f'{row["waste"]:.2f}', f'{row["backward_evaluations"]:.1f}',
        megabytes(row['memory'][10]),
        megabytes(row['memory'][160])] for row in rows])


def measure_inference(results, sizes, rounds):
  """Predictions, next to those of CLRS' recurrent model."""
  import jax
  measurements = measuring.Measurements()
  rows = []
  for size in sizes:
    for batch_size in (1, _BATCH_SIZE.value):
      if batch_size * size * size > _MOST_PAIRS:
        continue
      name = f'size {size}, batch {batch_size}'
      sampler = sampler_of(size, batch_size)
      model, batch = model_of(sampler)
      key = jax.random.PRNGKey(0)
      _, metrics = model.evaluate(key, batch)
      measurements.add(f'U {name}', measuring.unit(batch_size, size,
                                                   _WIDTH.value))
      predict = lambda model: functools.partial(model.predict, key,
                                                batch.features)
      measurements.add(name, predict(model))
      row = dict(size=size, batch_size=batch_size, name=name,
                 evaluations=float(metrics['solver_steps_mean']))
      if 'edges' in model.describe_shape(batch.features, 0, training=False):
        dense, _ = model_of(sampler, layout='dense')
        measurements.add(f'dense {name}', predict(dense))
      recurrent = None
      if _PROCESSOR.value == 'dear_pgn':
        recurrent = measuring.recurrent_model(
            _TASK.value, size, batch_size, _WIDTH.value)
      if recurrent is not None:
        run, row['steps'] = recurrent
        measurements.add(f'CLRS {name}', run)
      rows.append(row)
  measurements.run(rounds, 120)
  for row in rows:
    name, samples = row['name'], row['batch_size']
    row['seconds'] = measurements.median(name) / samples
    row['units'] = (measurements.median(name)
                    / measurements.median(f'U {name}'))
    if f'dense {name}' in measurements.seconds:
      row['dense_seconds'] = measurements.median(f'dense {name}') / samples
    if 'steps' in row:
      row['clrs_seconds'] = measurements.median(f'CLRS {name}') / samples
  results['inference'] = rows
  results['measurements']['inference'] = measurements.seconds
  print(f'Inference of {_TASK.value}; times are of one sample. Dense is the '
        'same model without lists of edges:\n')
  def compared(row, name):
    if f'{name}_seconds' not in row:
      return ['', '']
    seconds = row[f'{name}_seconds']
    return [f'{1e3 * seconds:.1f}', f'{seconds / row["seconds"]:.1f}']

  cli.print_table(
      ['size', 'batch', 'ms', 'U', 'evaluations', 'dense ms', 'times faster',
       'CLRS steps', 'CLRS ms', 'times faster'],
      [[str(row['size']), str(row['batch_size']), f'{1e3 * row["seconds"]:.1f}',
        f'{row["units"]:.1f}', f'{row["evaluations"]:.1f}',
        *compared(row, 'dense'), str(row.get('steps', '')),
        *compared(row, 'clrs')] for row in rows])


def measure_start(results):
  """The first training step, from the start of a program."""
  seconds = []
  with tempfile.TemporaryDirectory() as folder:
    for what in ('cold', 'with cache'):
      cli.progress(f'first training step, {what}')
      seconds.append(in_new_process('--first_step', {
          'JAX_COMPILATION_CACHE_DIR': folder,
          'JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS': '0.1',
          'NUMBA_CACHE_DIR': folder}))
  results['start'] = dict(zip(('cold', 'cached'), seconds))
  print('First training step, in seconds from the start of the program:\n')
  cli.print_table(['', 'import', 'build', 'first step', 'in all'], [
      [what, *(f'{x[part]:.1f}' for part in ('import', 'build', 'step')),
       f'{sum(x.values()):.1f}']
      for what, x in zip(('cold', 'with the compilation cache'), seconds)])


def in_new_process(flag, environment):
  """Calls this program with a flag; returns the JSON that it prints."""
  output = subprocess.run(
      [sys.executable, os.path.abspath(__file__), flag,
       f'--task={_TASK.value}', f'--processor={_PROCESSOR.value}',
       f'--layout={_LAYOUT.value}', f'--width={_WIDTH.value}',
       f'--batch_size={_BATCH_SIZE.value}',
       f'--training_size={_TRAINING_SIZE.value}'],
      env={**os.environ, **environment}, check=True, stdout=subprocess.PIPE,
      text=True).stdout
  return json.loads(output.splitlines()[-1])


def measure_large_graph(results):
  """BFS on a graph of 1,024 nodes with a mean degree of 8."""
  cli.progress('a large sparse graph')
  result = in_new_process('--large_graph', {})
  results['large_graph'] = result
  print('Inference of bfs on one graph with 1,024 nodes and a mean degree of '
        f'{result["degree"]:.1f}: {1e3 * result["seconds"]:.0f} ms; the whole '
        f'process had {result["peak"] / 2**20:,.0f} MiB at most, and '
        f'{result["before"] / 2**20:,.0f} MiB before.\n')


def large_graph():
  """Predicts on a large graph and prints time and memory."""
  import resource
  with cli.silence():
    import jax
  cli.prepare()
  sampler = sampler_of(1024, 1)
  model, _ = model_of(sampler)
  features, degree = measuring.sparse_graph(sampler.batch(0), degree=8)
  peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
  before = peak()
  predict = lambda: jax.block_until_ready(
      model.predict(jax.random.PRNGKey(0), features))
  predict()
  start = time.perf_counter()
  predict()
  print(json.dumps({'seconds': time.perf_counter() - start, 'peak': peak(),
                    'before': before, 'degree': degree}))


def first_step():
  """Takes one training step and prints how long that took."""
  start = time.perf_counter()
  with cli.silence():
    import jax
  cli.prepare()
  imported = time.perf_counter()
  model, batch = model_of(sampler_of(_TRAINING_SIZE.value, _BATCH_SIZE.value))
  built = time.perf_counter()
  jax.block_until_ready(model.feedback(jax.random.PRNGKey(0), batch))
  done = time.perf_counter()
  print(json.dumps({'import': imported - start, 'build': built - imported,
                    'step': done - built}))


def inference_sizes():
  """The sizes to infer at."""
  if _SIZES.value is None:
    return (16, 64) if _QUICK.value else (16, 64, 128, 256)
  try:
    return tuple(int(size) for size in _SIZES.value)
  except ValueError:
    raise ValueError('sizes must be whole numbers such as 16,64, got '
                     f'{",".join(_SIZES.value)!r}.') from None


def check_run():
  """Raises an error unless the run fits what is to be measured."""
  from dear_jax.training import checkpoints
  from dear_jax.training import configs
  config = configs.load_config(_RUN.value)
  has = (config.algorithms, config.processor, config.hidden_size)
  needs = ((_TASK.value,), _PROCESSOR.value, _WIDTH.value)
  if has != needs:
    raise ValueError(
        f'--run must be a run of {_TASK.value} with {_PROCESSOR.value} and '
        f'hidden_size {_WIDTH.value}; that in {_RUN.value} is of '
        f'{", ".join(has[0])} with {has[1]} and hidden_size {has[2]}.')
  checkpoints.load_kept(_RUN.value)


def main(unused_argv):
  if _FIRST_STEP.value:
    first_step()
    return
  if _LARGE_GRAPH.value:
    large_graph()
    return
  with cli.silence():
    import dear_jax
    from dear_jax.data import samplers
    from dear_jax.models import layouts
    from dear_jax.networks import processors
    from dear_jax.training import checkpoints
    import jax
  cli.check_output(_OUT, _OUT.value)
  with cli.failing(ValueError, checkpoints.RunError):
    samplers.check_choice('task', _TASK.value, samplers.task_names())
    samplers.check_choice('processor', _PROCESSOR.value, processors.KINDS)
    samplers.check_choice('layout', _LAYOUT.value, layouts.LAYOUTS)
    sizes = inference_sizes()
    for name, size in (('training_size', _TRAINING_SIZE.value),
                       *(('sizes', size) for size in sizes)):
      samplers.check_size(_TASK.value, name, size)
    if _RUN.value:
      check_run()
  cli.prepare()
  results = {
      'task': _TASK.value, 'processor': _PROCESSOR.value,
      'layout': _LAYOUT.value, 'run': _RUN.value,
      'versions': {'dear_jax': dear_jax.__version__, 'jax': jax.__version__},
      'device': jax.devices()[0].device_kind, 'cores': os.cpu_count(),
      'measurements': {}}
  rounds = 4 if _QUICK.value else 15
  measure_iterations(results)
  measure_training(results, rounds)
  measure_inference(results, sizes, rounds)
  if not _QUICK.value:
    measure_start(results)
    if _TASK.value == 'bfs':
      measure_large_graph(results)
  cli.progress('')
  cli.write_json(_OUT.value, results)
  print(f'All numbers are in {_OUT.value}.', file=sys.stderr)


if __name__ == '__main__':
  cli.run(main)
