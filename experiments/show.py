# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Shows how a trained model finds the equilibrium of one instance.

Examples:

  # the first graph of size 16 of the run's test samples
  python experiments/show.py RUN_FOLDER

  # another one, larger than in training
  python experiments/show.py RUN_FOLDER --size=32 --sample=3

  # what becomes of it if the solver goes on, with plain iteration
  python experiments/show.py RUN_FOLDER --solver=picard --tol=0.001

  # only the PNG, into another folder
  python experiments/show.py RUN_FOLDER --noanimation --out=pictures

Writes equilibrium.png, with up to eight iterations side by side, and
equilibrium.gif, with one frame an iteration: the graph with the pointers that
the model would answer at that point, an array in the order that they give, or
the element that was chosen. What is wrong is orange and dashed; the residuals
are beneath. Prints a table in Markdown on stdout. Samples are those of the
run's test, which training did not see. Needs matplotlib.
"""

import os

from absl import flags
import cli
import trained

_SIZE = flags.DEFINE_integer('size', 16, 'size of the instance')
_SAMPLE = flags.DEFINE_integer(
    'sample', 0, "number of the instance among the run's test samples")
_SOLVER, _TOL, _CRITERION, _MAX_ITER = trained.define_solver()
_OUT = flags.DEFINE_string(
    'out', None, 'a folder for the pictures (default: RUN_FOLDER)')
_ANIMATION = flags.DEFINE_boolean(
    'animation', True, 'whether to write a GIF as well')
cli.define_import()

_NAME = 'equilibrium'
_DPI = 120
_MOST_ROWS = 20


def output_folder(folder):
  """Where the pictures go; fails if nothing can be written there."""
  out = _OUT.value or folder
  if not os.path.isdir(out):
    cli.fail(f'--out={out}: there is no such folder.')
  cli.check_output(_OUT, os.path.join(out, f'{_NAME}.png'))
  return out


def choose_sample(run):
  """The sampler of the run's test samples, each of them a batch."""
  from dear_jax.reports import instances
  run.check_size(_SIZE.value)
  count = run.config.test_samples
  if not 0 <= _SAMPLE.value < count:
    cli.fail(f'--sample must be in 0..{count - 1}, as the run has {count} test '
             f'samples, got {_SAMPLE.value}.')
  with cli.failing():
    sampler = run.test_set(_SIZE.value, count, 1)
    instances.kind_of(run.algorithm, sampler.spec)
  return sampler


def print_iterations(instance):
  """Prints residuals and mistakes, of some iterations if there are many."""
  from dear_jax.reports import pictures
  what = 'wrong outputs' if instance.marks else 'wrong pointers'
  wrong = instance.wrong()
  cli.print_table(
      ['iteration', 'residual', f'{what} of {instance.scored()}'],
      [[str(row + 1), f'{instance.residuals[row]:.4g}', str(wrong[row])]
       for row in pictures.choose_iterations(instance, _MOST_ROWS)])


def draw(trace, feedback, run, settings, out):
  """Writes the pictures."""
  from dear_jax.data import files
  from dear_jax.reports import pictures
  options = dict(
      tol=settings['tol'],
      title=f'{run.algorithm}, size {_SIZE.value}, test sample '
            f'{_SAMPLE.value}, {settings["solver"]}')
  path = os.path.join(out, f'{_NAME}.png')
  with cli.writing(path), files.replacing(path) as temporary:
    pictures.strip(trace, feedback, run.algorithm, **options).savefig(
        temporary, dpi=_DPI)
  print(f'Wrote {path}.', flush=True)
  if _ANIMATION.value:
    path = os.path.join(out, f'{_NAME}.gif')
    with cli.writing(path):
      pictures.animate(trace, feedback, run.algorithm, path, **options)
    print(f'Wrote {path}.', flush=True)


def main(argv):
  folder = argv[1]
  cli.need('plots', 'matplotlib')
  run = trained.Run(folder, only_dear=True)
  out = output_folder(folder)
  settings = run.solver_settings(_SOLVER.value, _TOL.value, _MAX_ITER.value,
                                 _CRITERION.value, size=_SIZE.value)
  sampler = choose_sample(run)
  from dear_jax.reasoning import tracing
  from dear_jax.reports import instances
  cli.prepare()
  feedback = sampler.batch(_SAMPLE.value)
  try:
    # The limit is meant as it stands, not as one of training.
    model = run.model(sampler, is_limit=True, **settings)
    trace = tracing.trace(model, feedback)
    instance = instances.read(trace, feedback, run.algorithm)
    print(f'{run.algorithm}, size {_SIZE.value}, test sample {_SAMPLE.value}, '
          f'{settings["solver"]}, tolerance {settings["tol"]:g}: '
          f'{instance.ending()}.\n')
    print_iterations(instance)
    draw(trace, feedback, run, settings, out)
  except ValueError as e:
    # Such as parameters that another version of the library has named.
    cli.fail(f'{folder} cannot be shown: {str(e).splitlines()[0]}', code=1)


if __name__ == '__main__':
  cli.run(main, cli.parse_run_folder)
