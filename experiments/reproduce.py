# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs what experiments/campaign.py declares, and makes docs/results.md.

Examples:

  # what there is to run, and how far it is
  python experiments/reproduce.py --dry_run

  # what is missing of two tasks, for two hours, with everything else first
  python experiments/reproduce.py --only=bfs,minimum --budget=2h --nice

  # four runs at a time, each on its share of the cores
  python experiments/reproduce.py --jobs=4

  # what nobody has run yet, here or on another machine
  python experiments/reproduce.py --missing

  # no run: the files of those that are over, and the page
  python experiments/reproduce.py --collect

Runs are those of experiments/run.py, in folders of RUNS (--runs), with what
they print beside them, in RUNS/NAME.log. The command can be stopped or killed
at any moment; given again, it does what is missing and goes on with what was
begun. On as many cores of the same kind, a run has the same figures bit for
bit. Ctrl-C (or SIGTERM, or the end of --budget) lets all runs save and stop; a
second one aborts.

At the end, and with --collect at once, the figures of every run that is over go
into docs/results/runs, a small file each, and docs/results.md with its charts
and the table in README.md are made from these files alone.
"""

import importlib.util
import os
import pathlib
import re
import sys

from absl import flags
import cli

HERE = pathlib.Path(__file__).resolve().parent
_UNITS = dict(h=3600, m=60, s=1)

_ONLY = flags.DEFINE_string(
    'only', None, 'groups, tasks or patterns of names such as dear_*_seed1, '
    'separated by commas (default: all). What these need is run too')
_RUNS = flags.DEFINE_string(
    'runs', os.path.join('runs', 'campaign'), 'folder of all run folders')
_JOBS = flags.DEFINE_integer(
    'jobs', 1, 'runs at a time; if there are several, each has its share of '
    'the cores', lower_bound=1)
_NICE = flags.DEFINE_boolean(
    'nice', False, 'give way to all other processes of the machine')
_BUDGET = flags.DEFINE_string(
    'budget', None, 'time after which all runs save and stop, such as 2h, 90m '
    'or 30s (default: none)')
_MISSING = flags.DEFINE_boolean(
    'missing', False, 'leave out runs whose file is in docs/results/runs '
    'already, wherever they were run')
_DRY_RUN = flags.DEFINE_boolean(
    'dry_run', False, 'list the runs and how far they are, and do nothing')
_COLLECT = flags.DEFINE_boolean(
    'collect', False, 'run nothing, collect what is there and make the page')
_EVALUATE = flags.DEFINE_boolean(
    'evaluate', False, 'evaluate runs by size once they are over, by '
    'experiments/evaluate.py')
_CAMPAIGN = flags.DEFINE_string(
    'campaign', str(HERE / 'campaign.py'),
    'Python file that declares RUNS and SIZES (default: that beside this one)')
_DOCS = flags.DEFINE_string(
    'docs', str(HERE.parent / 'docs'),
    'folder of results.md, results/runs and images (default: docs)')


def read_budget(text):
  """Seconds, of a text such as 1h30m; None for no limit."""
  if text is None:
    return None
  match = re.fullmatch(r'(?:([\d.]+)h)?(?:([\d.]+)m)?(?:([\d.]+)s)?', text)
  try:
    parts = [float(x) * unit for x, unit in zip(
        match.groups(), _UNITS.values()) if x] if match else []
  except ValueError:
    parts = []
  if not sum(parts):
    cli.fail(f'--budget must be a time such as 2h, 90m or 30s, got {text!r}.')
  return sum(parts)


def read_campaign(path):
  """The module that declares the runs, all of which are checked."""
  from dear_jax.training import campaigns
  spec = importlib.util.spec_from_file_location('declared_campaign', path)
  if spec is None or not os.path.isfile(path):
    raise ValueError(f'--campaign={path}: there is no such Python file.')
  module = importlib.util.module_from_spec(spec)
  try:
    spec.loader.exec_module(module)
    campaigns.check(module.RUNS)
    tuple(module.SIZES)
  except Exception as e:  # whatever is wrong with it
    raise ValueError(f'--campaign={path}: {" ".join(str(e).split())}') from e
  return module


def list_runs(entries, runs):
  """Prints the runs with how far they are."""
  from dear_jax.training import campaign_progress
  from dear_jax.training import campaigns
  states = {x.name: campaigns.state_of(x, runs) for x in entries}
  steps = {x.name: x.config(runs).train_steps for x in entries}
  words = {campaigns.NEW: 'not begun', campaigns.BEGUN: 'to be resumed'}
  rows = []
  for entry in entries:
    state = states[entry.name]
    rows.append([entry.name, entry.group,
                 f'{state.step}/{steps[entry.name]}',
                 state.about or words.get(state.kind, state.kind)])
  cli.print_table(['run', 'group', 'step', 'state'], rows)
  display = campaign_progress.Display(
      steps, {x.name: x for x in entries}, jobs=_JOBS.value)
  busy = sum(x.kind == campaigns.BUSY for x in states.values())
  print(display.summary(busy, states))


def run_jobs(entries, runs, sizes, budget):
  """Does what is missing; returns how that ended."""
  from dear_jax.training import campaign_jobs
  from dear_jax.training import campaign_progress
  options = campaign_jobs.Options(
      runs=runs, scripts=HERE, jobs=_JOBS.value, nice=_NICE.value,
      budget=budget, sizes=sizes, train=not _COLLECT.value)
  display = campaign_progress.Display(
      {x.name: x.config(runs).train_steps for x in entries},
      {x.name: x for x in entries}, jobs=_JOBS.value)
  with cli.failing():
    jobs = campaign_jobs.Jobs(entries, options, display)
  return jobs.run()


def collect(entries, runs, docs):
  """Writes the files of all runs that are over."""
  from dear_jax.training import campaigns
  from dear_jax.training import run_folder
  states = [(x, campaigns.state_of(x, runs)) for x in entries]
  done = [x for x, state in states if state.kind == campaigns.DONE]
  nb_written = 0
  for entry, state in states:
    if state.kind == campaigns.OTHER:
      print(f'{entry.name} is left out: {state.about}', file=sys.stderr)
  if done:
    with cli.silence():
      from dear_jax.reports import collected
    for entry in done:
      try:
        collected.write(docs / 'results' / 'runs',
                        collected.collect(entry, runs))
        nb_written += 1
      except run_folder.RunError as e:
        print(f'{entry.name} is left out: {e}', file=sys.stderr)
  return nb_written


def make_page(entries, docs):
  """Writes the page and its charts, from the files alone."""
  with cli.silence():
    from dear_jax.data import files
    from dear_jax.reports import campaign_figures
    from dear_jax.reports import collected
    from dear_jax.reports import inference_table
    from dear_jax.reports import loss_charts
    from dear_jax.reports import readme_table
    from dear_jax.reports import results_page
  results, others = campaign_figures.as_declared(
      collected.read_all(docs / 'results' / 'runs'), entries)
  for name, change in others.items():
    print(f'{name}.json is left out: its run has {change}.', file=sys.stderr)
  page, readme = docs / 'results.md', docs.parent / 'README.md'
  texts = {page: results_page.make_page(
      results, entries, inference_table.read(docs / 'results'))}
  if readme.exists():
    old = readme.read_text(encoding='utf-8')
    new = readme_table.put_into(old, readme_table.make_table(results, entries))
    if new != old:
      texts[readme] = new
  for path, text in texts.items():
    with (files.replacing(str(path)) as temporary,
          open(temporary, 'w', encoding='utf-8') as f):
      f.write(text)
  try:
    loss_charts.draw({x['name']: x for x in results},
                     results_page.tasks_of(entries), docs / 'images')
  except ImportError:
    print('matplotlib is not installed, so the charts are as they were.',
          file=sys.stderr)
  return page


def main(unused_argv):
  budget = read_budget(_BUDGET.value)
  # Absolute, as a run may name the folder of another.
  runs, docs = (pathlib.Path(os.path.abspath(x))
                for x in (_RUNS.value, _DOCS.value))
  with cli.silence():
    from dear_jax.training import campaigns
  with cli.failing(), cli.silence():  # for some settings, tasks are looked at
    module = read_campaign(_CAMPAIGN.value)
    entries = campaigns.choose(module.RUNS, _ONLY.value)
    if _MISSING.value:
      entries = campaigns.missing(entries, docs / 'results' / 'runs')
  if _DRY_RUN.value:
    list_runs(entries, runs)
    return
  with cli.writing(docs):  # known now rather than when all is over
    docs.mkdir(parents=True, exist_ok=True)
  outcome = None
  if not _COLLECT.value or _EVALUATE.value:
    with cli.writing(runs):
      runs.mkdir(parents=True, exist_ok=True)
    outcome = run_jobs(entries, runs, module.SIZES if _EVALUATE.value else (),
                       budget)
  with cli.writing(docs):
    count = collect(entries, runs, docs)
    page = make_page(module.RUNS, docs)
  print(f'Collected {count} of {len(entries)} runs and wrote {page}.',
        file=sys.stderr)
  if outcome and outcome.stopped:
    print('Stopped, everything is saved. The same command goes on.',
          file=sys.stderr)
  if outcome and outcome.failed:
    for name, why in outcome.failed.items():
      print(f'{name} failed: {why}', file=sys.stderr)
    sys.exit(1)


if __name__ == '__main__':
  cli.run(main)
