# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Evaluates a trained run by size, graph density and solver settings.

Examples:

  # everything: sizes, graph densities, tolerances, iteration limits
  python experiments/evaluate.py RUN_FOLDER

  # a first look, with fewer samples and settings
  python experiments/evaluate.py RUN_FOLDER --quick

  # the parameters of a baseline, solved for an equilibrium
  python experiments/evaluate.py RUN_FOLDER --model=dear --only=sizes

  # on other graphs than Erdos-Renyi ones, small and large
  python experiments/evaluate.py RUN_FOLDER --only=graphs --sizes=16,160,1600 \
      --graphs=sparse_er,path,tree,grid,small_world,preferential --samples=10

  # on graphs for which there is no matrix any more
  python experiments/evaluate.py RUN_FOLDER --only=graphs --samples=2 \
      --graphs=sparse_er --sizes=1600,10000

  # another solver than in training, with a file of its own
  python experiments/evaluate.py RUN_FOLDER --solver=broyden --output=b.json

Samples are those of the run's test set, so that the score of as many samples of
its test size is that of its result.json, unless something is overridden.
Intervals are 95 % bootstrap intervals over samples. A run with model=nar has
steps in place of solver steps, and neither tolerance nor iteration limit.

--graphs adds a table by family of graphs and size: which share of nodes and of
whole graphs is right, and how sure the model is. An answer is called sure if
its solve converged and its confidence is at least 0.95. A reliability table of
all of these samples follows, and the expected calibration error.

Above 2,048 nodes bfs and bellman_ford are drawn and answered without matrices,
by processors that work on lists of edges; these graphs are of any family but
er, for which mixed has sparse_er.

Prints tables in Markdown on stdout; progress goes to stderr. Writes
evaluation.json and evaluation.png into the run folder, or where --output says,
once all is done. Parts that were evaluated before stay in that file if they are
of the same parameters and settings. Every setting and every size needs a
compilation, which can take longer than the evaluation; compiled programs are
kept for the next time.
"""

import itertools
import json
import math
import os
import sys

from absl import flags
import cli
import evaluation_tables
import evaluator
import trained

# What is taken unless a flag says otherwise.
_FULL = dict(sizes='16,32,64,128', samples=100, tols='0.3,0.1,0.03,0.01,0.001',
             max_iters='1,2,4,8,16,32,64')
_QUICK = dict(sizes='16,64', samples=25, tols='0.3,0.1,0.01',
              max_iters='2,8,32')
PARTS = ('sizes', 'density', 'tol', 'max_iter', 'graphs')
_SWEEPS = ('tol', 'max_iter')


def _defaults(name):
  return f'(default: {_FULL[name]}; with --quick: {_QUICK[name]})'


_SOLVER, _TOL, _CRITERION, _MAX_ITER = trained.define_solver()
_MODEL = flags.DEFINE_string(
    'model', None, "dear or nar: use the run's parameters in this kind of "
    "model (default: the run's)")
_TEST_STEPS = flags.DEFINE_string(
    'test_steps', None, 'steps of a run with model=nar: the true number, the '
    "one that it has learned, or a number such as 64 (default: the run's)")
_RESTRICT_POINTERS = flags.DEFINE_string(
    'restrict_pointers', None, 'choose pointers among edges: true, false '
    '(among all nodes, as CLRS does), auto, or nodes (those of nodes only) '
    "(default: the run's)")
_SIZES = flags.DEFINE_string('sizes', None,
                             'sizes to evaluate on, separated by commas '
                             + _defaults('sizes'))
_SAMPLES = flags.DEFINE_integer(
    'samples', None, 'samples of every size, rounded up to whole batches '
    f'{_defaults("samples")}')
_BATCH_SIZE = flags.DEFINE_integer(
    'batch_size', None, "the most samples in a batch (default: the run's); "
    'there are less at sizes over 128')
_GRAPHS = flags.DEFINE_string(
    'graphs', None, 'families of graphs, separated by commas, to evaluate on '
    'at all sizes, such as er,path,grid; docs/data.md has all (default: none; '
    'with --only=graphs all that mixed has)')
_SWEEP_SIZE = flags.DEFINE_integer(
    'sweep_size', None, 'size of the samples for densities, tolerances and '
    "iteration limits (default: the run's test_size)")
_TOLS = flags.DEFINE_string('tols', None,
                            'tolerances to go through, separated by commas '
                            + _defaults('tols'))
_MAX_ITERS = flags.DEFINE_string(
    'max_iters', None,
    'iteration limits to go through, separated by commas '
    + _defaults('max_iters'))
_ONLY = flags.DEFINE_string(
    'only', None, f'some of {", ".join(PARTS)}, separated by commas (default: '
    'all that the run has)')
_QUICK_MODE = flags.DEFINE_boolean(
    'quick', False, 'fewer samples and settings, for a first look')
_OUTPUT = flags.DEFINE_string(
    'output', None, 'a JSON file for all figures; the picture goes next to it '
    '(default: RUN_FOLDER/evaluation.json)')
cli.define_import()


def given_or_default(flag):
  """The value of a flag, or what stands for it in this mode."""
  defaults = _QUICK if _QUICK_MODE.value else _FULL
  return defaults[flag.name] if flag.value is None else flag.value


def read_numbers(flag, kind, is_valid, meaning):
  """Reads numbers that are separated by commas, sorted and each once."""
  text = given_or_default(flag)
  try:
    numbers = sorted({kind(x) for x in text.split(',')})
  except ValueError:
    numbers = []
  if not numbers or not all(map(is_valid, numbers)):
    cli.fail(f'--{flag.name} must be {meaning}, separated by commas, got '
             f'{text!r}.')
  return numbers


def is_tolerance(value):
  return math.isfinite(value) and value > 0


def check_flags():
  """Fails if a flag cannot be right, whatever the run is."""
  for flag in (_SAMPLES, _BATCH_SIZE):
    if flag.value is not None and flag.value < 1:
      cli.fail(f'--{flag.name} must be at least 1, got {flag.value}.')
  read_numbers(_SIZES, int, lambda x: x > 0, 'sizes')
  read_numbers(_TOLS, float, is_tolerance, 'numbers above 0')
  read_numbers(_MAX_ITERS, int, lambda x: x > 0, 'whole numbers of at least 1')
  if _MODEL.value not in (None, 'dear', 'nar'):
    cli.fail(f'--model must be dear or nar, got {_MODEL.value!r}.')
  for part in chosen_parts() or ():
    if part not in PARTS:
      cli.fail(f'--only must be some of {", ".join(PARTS)}, separated by '
               f'commas, got {_ONLY.value!r}.')


def chosen_parts():
  """What --only names, or None."""
  if _ONLY.value is None:
    return None
  return [part.strip() for part in _ONLY.value.split(',')]


def output_path(folder):
  """Where the JSON goes; fails if nothing can be written there."""
  path = _OUTPUT.value or os.path.join(folder, 'evaluation.json')
  if not path.endswith('.json'):
    cli.fail(f'--output must name a file that ends in .json, got {path!r}.')
  cli.check_output(_OUTPUT, path)
  return path


def settings_in_force(run):
  """How the run is evaluated: as it was tested, except for what flags say."""
  from dear_jax.models import nar
  config = run.config
  if config.model == 'nar':
    for flag in (_SOLVER, _TOL, _CRITERION, _MAX_ITER, _TOLS, _MAX_ITERS):
      if flag.value is not None:
        cli.fail(f'--{flag.name}={flag.value} needs a run with model=dear; '
                 'this one has model=nar, which solves nothing.')
    steps = config.test_steps if _TEST_STEPS.value is None else (
        _TEST_STEPS.value)
    steps = int(steps) if str(steps).isdigit() else steps
    try:
      nar.check_test_steps(steps)
    except ValueError as e:
      cli.fail(f'--{e}')
    if steps == 'learned' and config.test_steps != 'learned':
      cli.fail('--test_steps=learned needs a run that was trained with '
               f'test_steps=learned; this one has test_steps='
               f'{config.test_steps}, and can be given true or a number.')
    return dict(test_steps=steps)
  if _TEST_STEPS.value is not None:
    cli.fail(f'--test_steps={_TEST_STEPS.value} needs a run with model=nar; '
             'this one has model=dear, an equilibrium of which has no number '
             'of steps.')
  return run.solver_settings(
      _SOLVER.value, _TOL.value, _MAX_ITER.value, _CRITERION.value,
      size=config.test_size)


def parts_of(run):
  """The parts to do; fails if one is asked for that the run cannot have."""
  from dear_jax.data import graph_names
  from dear_jax.data import samplers
  missing = {}
  if run.algorithm not in graph_names.TASKS:
    missing['graphs'] = f'{run.algorithm} has no families of graphs'
  if not samplers.has_graph(run.algorithm):
    missing['density'] = f'{run.algorithm} has no graph'
  if run.config.model != 'dear':
    for part in _SWEEPS:
      missing[part] = f'a run with model={run.config.model} solves nothing'
  for part in chosen_parts() or ():
    if part in missing:
      cli.fail(f'--only={part} does not apply: {missing[part]}.')
  if _GRAPHS.value is None:
    missing['graphs'] = 'not asked for'
  elif 'graphs' not in (chosen_parts() or ['graphs']):
    cli.fail(f'--graphs={_GRAPHS.value} has no effect with '
             f'--only={_ONLY.value}; that table is a part of its own, '
             f'--only={_ONLY.value},graphs.')
  return [part for part in PARTS
          if part in (chosen_parts() or set(PARTS) - set(missing))]


def refuse_flags_of_others(parts):
  """Fails if a flag is given that none of the parts takes notice of."""
  for flag, takers in ((_SIZES, ('sizes', 'graphs')), (_TOLS, ('tol',)),
                       (_MAX_ITERS, ('max_iter',)),
                       (_SWEEP_SIZE, ('density', *_SWEEPS))):
    if flag.value is not None and not set(takers) & set(parts):
      cli.fail(f'--{flag.name}={flag.value} has no effect on '
               f'{" and ".join(parts)}, which is all that is evaluated.')


def read_graphs(run):
  """The families of graphs to evaluate on, each once."""
  from dear_jax.data import graph_names
  if _GRAPHS.value is None:
    return list(graph_names.MIXED_SHARES)
  names = [name.strip() for name in _GRAPHS.value.split(',')]
  for name in names:
    try:
      graph_names.check_graphs(run.algorithm, name, '--graphs')
    except ValueError as e:
      cli.fail(str(e))
  return list(dict.fromkeys(names))


def limit_at(run, settings, size):
  """The iteration limit at a size, if it is another than in the settings."""
  if 'max_iter' not in settings:
    return {}
  limit = run.solver_settings(max_iter=_MAX_ITER.value, size=size)['max_iter']
  return {} if limit == settings['max_iter'] else dict(max_iter=limit)


def read_sizes(run):
  """The sizes to evaluate on, and that of everything else."""
  from dear_jax.data import samplers
  sizes = read_numbers(_SIZES, int, lambda x: x > 0, 'sizes')
  sweep_size = run.config.test_size
  if _SWEEP_SIZE.value is not None:
    sweep_size = _SWEEP_SIZE.value
  least = samplers.min_size(run.algorithm)
  for name, size in [('sizes', x) for x in sizes] + [
      ('sweep_size', sweep_size)]:
    if size < least:
      cli.fail(f'--{name} must be at least {least} for {run.algorithm}, got '
               f'{size}.')
  return sizes, sweep_size


def evaluate_graphs(of_run, name, families, limits):
  """Evaluates on families of graphs, and prints it.

  Args:
    of_run: The `Evaluator`.
    name: What to call the run.
    families: Names of families.
    limits: From `limit_at`, by the sizes of graphs.

  Returns:
    The rows `graphs`, and what their samples together say of `reliability`.
  """
  from dear_jax.data import calibration
  import numpy as np
  rows, sums = [], []
  for family in families:
    for size, changes in limits.items():
      rows.append(dict(graphs=family, size=size, **changes,
                       **of_run.summary(size, family, **changes)))
      _, found = of_run.get(size, family, **changes)
      sums += [found['bin_sums']] if 'bin_sums' in found else []
  evaluation_tables.print_graphs(f'{name} by family of graphs and size', rows)
  if not sums:
    return dict(graphs=rows)
  total = np.concatenate(sums)
  reliability = dict(bins=calibration.reliability_table(total),
                     expected_error=calibration.expected_error(total))
  evaluation_tables.print_reliability(name, reliability)
  return dict(graphs=rows, reliability=reliability)


def evaluate(run, settings, parts):
  """Does all that was asked for, and prints it.

  Args:
    run: The trained run.
    settings: From `settings_in_force`.
    parts: From `parts_of`.

  Returns:
    The figures, by part.
  """
  sizes, sweep_size = read_sizes(run)
  of_run = evaluator.Evaluator(run, settings, given_or_default(_SAMPLES),
                               _BATCH_SIZE.value or run.config.batch_size)
  sweeps = {}
  for part, flag, kind in (('tol', _TOLS, float),
                           ('max_iter', _MAX_ITERS, int)):
    if part in parts:
      # The setting in force is known anyway. Loose tolerances come first, and
      # high limits, most of which no solve meets.
      sweeps[part] = sorted({*map(kind, given_or_default(flag).split(',')),
                             settings[part]}, reverse=True)
  families = read_graphs(run) if 'graphs' in parts else []
  limits = {size: limit_at(run, settings, size) for size in sizes}
  points = dict(sizes=[(size, None, limits[size]) for size in sizes],
                density=[(sweep_size, None, {})],
                graphs=[(size, family, limits[size])
                        for family in families for size in sizes],
                **{part: [(sweep_size, None, {part: value}) for value in values]
                   for part, values in sweeps.items()})
  for size, graphs in dict.fromkeys(
      x[:2] for part in parts for x in points[part]):
    of_run.check(size, graphs)
  of_run.plan(itertools.chain(*(points[part] for part in parts)))

  name = f'{run.algorithm} ({run.config.model})'
  result = {}
  if 'sizes' in parts:
    result['sizes'] = [
        dict(size=size, **limits[size], **of_run.summary(size, **limits[size]))
        for size in sizes]
    evaluation_tables.print_part(f'{name} by size', 'size', result['sizes'],
                                 lambda row: str(row['size']))
  if 'density' in parts:
    result['density'] = evaluator.by_density(*of_run.get(sweep_size))
    evaluation_tables.print_part(
        f'{name} by share of pairs that are edges, size {sweep_size}', 'edges',
        result['density'],
        lambda row: f'{row["edges_min"]:.1%} to {row["edges_max"]:.1%}')
  for part, values in sweeps.items():
    rows = [{part: value, **of_run.summary(sweep_size, **{part: value})}
            for value in values]
    if part == 'max_iter':
      rows.reverse()
    result[part] = rows
    what = dict(tol='tolerance', max_iter='iteration limit')[part]
    evaluation_tables.print_part(
        f'{name} by {what}, size {sweep_size}', what, rows,
        lambda row, part=part: f'{row[part]:g}')
  if 'graphs' in parts:
    result.update(evaluate_graphs(of_run, name, families, limits))
  return dict(sweep_size=sweep_size, **result)


def other_parts(path, report, parts):
  """What was evaluated before, of the same parameters in the same way."""
  try:
    with open(path, encoding='utf-8') as f:
      before = json.load(f)
    same = json.loads(json.dumps(report))
    if any(before.get(name) != value for name, value in same.items()):
      return {}
    kept = [part for part in PARTS if part in before and part not in parts]
    kept += ['reliability'] if 'graphs' in kept else []
    return {name: before[name] for name in kept if name in before}
  except (AttributeError, OSError, ValueError):
    return {}


def main(argv):
  folder = argv[1]
  check_flags()
  run = trained.Run(folder)
  if _MODEL.value is not None:
    run.convert(_MODEL.value)
  if _RESTRICT_POINTERS.value is not None:
    run.change(restrict_pointers=_RESTRICT_POINTERS.value)
  path = output_path(folder)
  settings = settings_in_force(run)
  parts = parts_of(run)
  refuse_flags_of_others(parts)
  read_sizes(run)
  if _GRAPHS.value is not None:
    read_graphs(run)
  from dear_jax.data import scoring
  from dear_jax.training import checkpoints
  cli.prepare()
  shown = ', '.join(f'{name}={value}' for name, value in settings.items())
  print(f'{folder}: {shown}\n', flush=True)
  try:
    found = evaluate(run, settings, parts)
  except KeyboardInterrupt:
    cli.fail('aborted; nothing was written.', code=130)
  except ValueError as e:
    # Such as parameters that another version of the library has named.
    cli.fail(f'{folder} cannot be evaluated: {str(e).splitlines()[0]}', code=1)
  config = run.config
  report = dict(
      algorithm=run.algorithm, model=config.model, processor=config.processor,
      seed=config.seed, settings=settings, trained_on=config.graphs,
      restrict_pointers=config.restricts_pointers(run.algorithm),
      overridden=[flag.name for flag in (
          _MODEL, _SOLVER, _TOL, _CRITERION, _MAX_ITER, _TEST_STEPS,
          _RESTRICT_POINTERS) if flag.value is not None],
      trained_with={name: getattr(config, name) for name in settings},
      train_sizes=config.train_sizes, kept_step=run.kept_step, interval=dict(
          confidence=scoring.CONFIDENCE, resamples=scoring.RESAMPLES,
          seed=scoring.SEED), sweep_size=found.pop('sweep_size'))
  report = {**report, **other_parts(path, report, parts), **found}
  try:
    checkpoints.write_json(*os.path.split(path), report)
  except checkpoints.RunError as e:
    cli.fail(str(e), code=1)
  picture = os.path.splitext(path)[0] + '.png'
  try:
    from dear_jax.reports import png
    with cli.writing(picture):
      png.draw_evaluation(report, picture)
  except ImportError:
    print(f'Wrote {path}; matplotlib is not installed, so there is no picture.',
          file=sys.stderr)
  else:
    print(f'Wrote {path} and {picture}.', file=sys.stderr)


if __name__ == '__main__':
  cli.run(main, cli.parse_run_folder)
