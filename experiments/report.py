# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Makes a report of a run, or of several side by side.

Examples:

  # curves, solver statistics, accuracy and settings of a run
  python experiments/report.py RUN_FOLDER

  # a baseline and an equilibrium in the same charts, under these names
  python experiments/report.py runs/nar runs/dear --labels=NAR,DEAR --out=r.html

  # at once, from the files alone; the run may still be going
  python experiments/report.py RUN_FOLDER --nosolve

Writes one page of HTML that needs nothing else, and the same charts as a
picture next to it. It shows what there is: accuracy by size is measured by
experiments/evaluate.py, and the page says so where it has not been run. For the
residual per iteration, every equilibrium is solved on some test samples with
the parameters that were kept, which compiles a program first.
"""

import contextlib
import glob
import io
import os
import sys
import time

from absl import flags
import cli

# Samples whose residuals are drawn.
_SAMPLES = 16
_EVENTS = '.dear_jax'

_OUT = flags.DEFINE_string(
    'out', None, 'the page; the picture goes next to it (default: report.html '
    'in the first RUN_FOLDER)')
_PNG = flags.DEFINE_boolean('png', True, 'write the charts as a picture too')
_TENSORBOARD = flags.DEFINE_boolean(
    'tensorboard', False, 'write event files for TensorBoard into '
    'RUN_FOLDER/tensorboard too; needs tensorboardX')
_LABELS = flags.DEFINE_string(
    'labels', None, 'what to call the runs, separated by commas (default: as '
    'their folders)')
_SOLVE = flags.DEFINE_boolean(
    'solve', True, 'solve for equilibria, for the residual per iteration; '
    '--nosolve only reads files')
cli.define_import()


def check_folders(folders):
  """Fails if a folder is not there, or there twice."""
  seen = {}
  for folder in folders:
    if not os.path.isdir(folder):
      cli.fail(f'{folder} is not a run folder: there is no such folder.')
    real = os.path.realpath(folder)
    if real in seen:
      cli.fail(f'{folder} is the same run as {seen[real]}; give every run '
               'once.')
    seen[real] = folder


def read_labels(folders):
  """The labels that were asked for, or the names of the folders."""
  if _LABELS.value is None:
    return unique_labels(folders)
  labels = [label.strip() for label in _LABELS.value.split(',')]
  if not len(folders) == len(labels) == len(set(filter(None, labels))):
    cli.fail(f'--labels has to have {len(folders)} different names, separated '
             f'by commas, got {_LABELS.value!r}.')
  return labels


def output_paths(folder):
  """Where page and picture go; fails if nothing can be written there."""
  path = _OUT.value or os.path.join(folder, 'report.html')
  stem, ending = os.path.splitext(path)
  if ending.lower() not in ('.html', '.htm'):
    cli.fail(f'--out must name a file that ends in .html, got {path!r}.')
  cli.check_output(_OUT, path)
  return path, stem + '.png'


def unique_labels(folders):
  """Names folders by the ends of their paths, or by more if these are equal."""
  paths = [os.path.abspath(folder) for folder in folders]
  names = [os.path.basename(path) for path in paths]
  if len(set(names)) == len(names):
    return names
  parent = os.path.commonpath([os.path.dirname(path) for path in paths])
  return [os.path.relpath(path, parent) for path in paths]


def read_runs(folders, labels):
  """Reads all run folders; fails if one is none."""
  from dear_jax import reports
  from dear_jax.training import checkpoints
  try:
    return [reports.read_run(folder, label)
            for folder, label in zip(folders, labels)]
  except checkpoints.RunError as e:
    cli.fail(str(e))
  except OSError as e:
    cli.fail(f'{e.filename} cannot be read ({e.strerror}).')


def solve_all(runs):
  """Solves for the equilibria of some test samples of every run.

  Args:
    runs: The runs.

  Returns:
    Residuals [T, B] by label, and sentences about those that have none, by
    label.
  """
  traces, remarks = {}, {}
  for i, run in enumerate(runs):
    if not run.is_dear:
      continue
    if len(run.algorithms) > 1:
      remarks[run.label] = [
          'There is no residual per iteration: it was trained on '
          f'{len(run.algorithms)} algorithms, and only runs on one are solved.']
      continue
    cli.progress(f'[{i + 1}/{len(runs)}] solving {_SAMPLES} samples of size '
                 f'{run.config.get("test_size")} with {run.label} ...')
    try:
      traces[run.label] = residuals_of(run)
    except ValueError as e:
      text = str(e).splitlines()[0]
      remarks[run.label] = [f'There is no residual per iteration: {text}']
  cli.progress('')
  return traces, remarks


def residuals_of(run):
  """The residuals [T, B] of a run's test samples; a ValueError says why not."""
  import trained
  # What would end another command is a remark here.
  said = io.StringIO()
  try:
    with contextlib.redirect_stderr(said):
      loaded = trained.Run(run.folder, only_dear=True)
  except SystemExit as e:
    raise ValueError(said.getvalue().strip().partition(': ')[2]) from e
  from dear_jax.reasoning import tracing
  import jax
  import numpy as np
  cli.prepare()
  samples = loaded.sampler(loaded.config.test_size, _SAMPLES)
  model = loaded.model(samples)
  # That of the run's own test.
  key = jax.random.fold_in(jax.random.PRNGKey(loaded.config.seed), 1)
  return np.asarray(tracing.trace(
      model, samples.batch(0), rng_key=key).residuals)


def write_events(run):
  """Writes the metrics of a run for TensorBoard.

  Args:
    run: The run.

  Raises:
    ImportError: if tensorboardX is not installed.
  """
  from dear_jax.reports import run_data
  import tensorboardX
  folder = os.path.join(run.folder, 'tensorboard')
  # Those of an earlier report would be drawn on top.
  for old in glob.glob(os.path.join(glob.escape(folder), f'*{_EVENTS}')):
    os.remove(old)
  with tensorboardX.SummaryWriter(folder, filename_suffix=_EVENTS) as writer:
    for (split, algorithm), lines in run.lines.items():
      prefix = f'{split}/{algorithm}' if len(run.algorithms) > 1 else split
      for line in lines:
        for name, value in line.items():
          value = run_data.number(value)
          if name != 'step' and value == value:  # a number, and not NaN
            writer.add_scalar(f'{prefix}/{name}', value, line['step'])


def main(argv):
  folders = argv[1:]
  check_folders(folders)
  labels = read_labels(folders)
  page, picture = output_paths(folders[0])
  cli.need('reports', 'jinja2', 'plotly')
  with cli.silence():
    import dear_jax
    from dear_jax.data import files
    from dear_jax.reports import page as report_page
  cli.import_parts()
  runs = read_runs(folders, labels)
  try:
    if _SOLVE.value:
      traces, remarks = solve_all(runs)
    else:
      traces, remarks = {}, {
          run.label: ['There is no residual per iteration: the report was made '
                      'with --nosolve.']
          for run in runs if run.is_dear}
    made = time.strftime('%Y-%m-%d %H:%M')
    text = report_page.build(
        runs, traces, remarks, 'Made by experiments/report.py of dear_jax '
        f'{dear_jax.__version__} on {made}.')
    with (files.replacing(page) as temporary,
          open(temporary, 'w', encoding='utf-8') as f):
      f.write(text)
    written, lacking = [page], []
    if _PNG.value:
      try:
        from dear_jax.reports import png
        png.draw_runs(runs, traces, picture)
        written.append(picture)
      except ImportError:
        lacking.append('matplotlib is not installed, so there is no picture.')
    if _TENSORBOARD.value:
      try:
        for run in runs:
          write_events(run)
          written.append(os.path.join(run.folder, 'tensorboard'))
      except ImportError:
        lacking.append('tensorboardX is not installed, so there are no event '
                       'files (pip install tensorboardX).')
  except OSError as e:
    # A full disk is told of without the name of the file.
    cli.fail(f'{e.filename or page} cannot be written ({e.strerror or e}).',
             code=1)
  print(f'Wrote {", ".join(written)}.', file=sys.stderr)
  for text in lacking:
    print(text, file=sys.stderr)


if __name__ == '__main__':
  cli.run(main, cli.parse_run_folders)
