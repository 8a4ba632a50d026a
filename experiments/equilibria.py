# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks which algorithms of CLRS-30 end in an equilibrium.

Examples:

  # all thirty, 100 samples of size 16 each
  python experiments/equilibria.py

  # two of them at another size, with all figures in a file
  python experiments/equilibria.py --algorithm=bfs,dfs --size=64 --output=x.json

Prints a table in Markdown on stdout. Every algorithm is run on past its end,
without the condition that stopped it: 'body' applies the body of its last loop
to the final state, 'loop' starts a counted loop over, 'rerun' runs the whole
algorithm on the array that it left behind. Then the table has the share of
samples in which this changed nothing: no hint at all, none but counters and
cursors, not the hints that hold the output. 'determined' is the share of
samples in which equal hints are always followed by equal hints, so that a
function of them can take the algorithm's steps and stay at its last state; with
counters, and without. 'output final after' is the part of the trajectory after
which the hints that hold the output no longer change.
"""

import dataclasses

from absl import flags
import cli

_ALGORITHM = flags.DEFINE_string(
    'algorithm', None, 'algorithms, separated by commas (default: all of '
    'CLRS-30)')
_SIZE = flags.DEFINE_integer('size', 16, 'size of the samples', lower_bound=4)
_SAMPLES = flags.DEFINE_integer(
    'samples', 100, 'how many samples of each algorithm', lower_bound=1)
_SEED = flags.DEFINE_integer('seed', 0, 'seed of the samples', lower_bound=0,
                             upper_bound=2**32 - 1)
_OUTPUT = flags.DEFINE_string(
    'output', None, 'a JSON file for all figures (default: none is written)')


def analyse_all(names):
  """The reports of all algorithms, with progress on stderr."""
  from dear_jax.theory import equilibria
  reports = []
  for i, name in enumerate(names):
    cli.progress(f'{i + 1}/{len(names)} {name}')
    reports.append(equilibria.analyse(name, equilibria.sample(
        name, _SIZE.value, _SAMPLES.value, _SEED.value)))
  cli.progress('')
  return reports


def print_reports(reports):
  """The table, and how often each verdict was given."""
  share = lambda value: '-' if value is None else f'{value:.0%}'
  cli.print_table(
      ['algorithm', 'states', 'run on', 'all hints rest', 'but for counters',
       'output', 'determined', 'without counters', 'output final after',
       'verdict'],
      [[report.algorithm, f'{report.steps:.1f}', report.run_on,
        *map(share, (report.all_rest, report.state_rests, report.output_rests,
                     report.all_determine, report.state_determines,
                     report.output_final_after)), report.verdict]
       for report in reports])
  count = lambda test: sum(map(test, reports))
  print(
      f'Of {len(reports)} algorithms, on {_SAMPLES.value} samples of size '
      f'{_SIZE.value} each (seed {_SEED.value}): run on without a condition, '
      f'{count(lambda r: r.all_rest == 1)} leave all hints as they are in '
      f'every sample, {count(lambda r: r.state_rests == 1)} all hints but '
      f'counters, and {count(lambda r: r.output_rests == 1)} their output. The '
      f'hints determine every step and the end of '
      f'{count(lambda r: r.all_determine == 1)}, and without the counters of '
      f'{count(lambda r: r.state_determines == 1)}. In '
      f'{count(lambda r: (r.output_in_hints or 0) < 1)} the last hints do not '
      'always hold the output.')


def main(unused_argv):
  if _OUTPUT.value is not None:
    cli.check_output(_OUTPUT, _OUTPUT.value)
  with cli.silence():
    from dear_jax.data import samplers
    from dear_jax.theory import equilibria
  names = list(equilibria.ALGORITHMS)
  if _ALGORITHM.value is not None:
    known, names = names, [x.strip() for x in _ALGORITHM.value.split(',')]
    with cli.failing():
      for name in names:
        samplers.check_choice('algorithm', name, known)
  with cli.failing(RuntimeError, code=1):
    reports = analyse_all(names)
  print_reports(reports)
  if _OUTPUT.value is not None:
    cli.write_json(_OUTPUT.value, dict(
        size=_SIZE.value, samples=_SAMPLES.value, seed=_SEED.value, algorithms=[
            dict(dataclasses.asdict(report), verdict=report.verdict)
            for report in reports]))


if __name__ == '__main__':
  cli.run(main)
