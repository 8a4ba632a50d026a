# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""What the parts of the preset best gain: runs with all of them but one."""

from typing import Dict, List, Mapping, Sequence

from dear_jax.data import graph_names
from dear_jax.reports import campaign_figures as figures
from dear_jax.training import campaigns

# What is left out, by the labels of the runs without it.
_WITHOUT = {
    'plain': 'all of it (default settings)',
    'at_state': 'rest of every node, at the test (`--test_criterion=same`)',
    'no_differences': 'all that is known of numbers (`--scalars=linear`)',
    'no_units': 'units and comparisons of weights (`--scalars=differences`)',
    'no_relative': 'comparisons of weights (`--scalars=units`)',
    'with_loops': 'hidden edges of nodes to themselves (`--self_loops`)',
    'no_pairs': 'states on pairs (`--processor=dear_pgn`)',
    'no_triplets': 'the decoder of triplets (`--edge_pointers=clrs`)',
}
_GROUPS = ('plain', 'parts')
# All of the others were left out where it was, too.
_FIRST = 'at_state'
# On arrays, leaving this out is leaving all of it out.
_ALL_OF_ARRAYS = 'no_differences'


def make_rows(results: Sequence[figures.Result],
              entries: Sequence[campaigns.Entry], missing: str
              ) -> List[List[str]]:
  """The rows of the table.

  Args:
    results: What was collected.
    entries: The runs that are declared.
    missing: What stands for runs that are not there.

  Returns:
    What is left out, the task, the score with all parts, that without this one,
    the gain, and the seeds that both are of. A part that was left out of
    several tasks ends with their mean, of those that are there, and with those
    that are not; or, if all are there, with what it gains on the mean of all
    tasks, on the others of which it changes nothing.
  """
  by_name = {x['name']: x for x in results}
  runs: Dict[str, Dict[str, List[campaigns.Entry]]] = {}
  for entry in entries:
    if entry.group in _GROUPS:
      label = entry.name.removesuffix(f'_{entry.task}_seed{entry.seed}')
      runs.setdefault(label, {}).setdefault(entry.task, []).append(entry)
  rows: List[List[str]] = []
  gains: Dict[str, Dict[str, float]] = {}
  for label, by_task in runs.items():
    title, means, left = _WITHOUT.get(label, label), [], []
    gains[label] = {}
    base = _FIRST if label not in ('plain', _FIRST) else 'best'
    for task, declared in by_task.items():
      of_base = base if task in runs.get(base, {}) else 'best'
      pairs = _pairs(declared, by_name, of_base)
      if not pairs:
        left.append(f'`{task}`')
        continue
      means.append([sum(x) / len(pairs) for x in zip(*pairs.values())])
      gains[label][task] = means[-1][0] - means[-1][1]
      rows.append([title, f'`{task}`', *_cells(pairs),
                   ', '.join(map(str, pairs))])
    if len(means) > 1:
      best, without = (sum(x) / len(means) for x in zip(*means))
      rows.append([title, f'mean of {len(means)} of {len(by_task)} tasks',
                   f'{best:.2f}', f'{without:.2f}', f'{best - without:+.2f}',
                   ''])
    if left:
      rows.append([title, ', '.join(left), '', missing, '', ''])
    elif label != 'plain':
      rows += _mean_of_all(title, label, gains, list(runs['plain']))
  return rows


def _mean_of_all(title: str, label: str,
                 gains: Mapping[str, Mapping[str, float]],
                 tasks: Sequence[str]) -> List[List[str]]:
  """What a part gains on the mean of all tasks, if that is known."""
  gain = dict(gains[label])
  if label == _ALL_OF_ARRAYS:
    arrays = [x for x in tasks if x not in graph_names.TASKS]
    if any(x not in gains['plain'] for x in arrays):
      return []
    gain.update((x, gains['plain'][x]) for x in arrays)
  return [[title, f'mean of all {len(tasks)} tasks', '', '',
           f'{sum(gain.values()) / len(tasks):+.2f}', '']]


def _pairs(declared: Sequence[campaigns.Entry],
           by_name: Mapping[str, figures.Result], base: str
           ) -> Dict[int, List[float]]:
  """By seed, the score of what it is compared with, and that without it."""
  pairs = {}
  for entry in declared:
    scores = [figures.score(by_name[name]) for name in (
        f'{base}_{entry.task}_seed{entry.seed}', entry.name) if name in by_name]
    known = [x for x in scores if x is not None]
    if len(known) == 2:
      pairs[entry.seed] = known
  return pairs


def _cells(pairs: Mapping[int, Sequence[float]]) -> List[str]:
  """Score with all parts, score without one, gain."""
  best, without = zip(*pairs.values())
  gain, deviation = figures.spread([x - y for x, y in pairs.values()])
  spread = '' if deviation is None else f' ± {deviation:.2f}'
  return [f'{figures.spread(best)[0]:.2f}', f'{figures.spread(without)[0]:.2f}',
          f'{gain:+.2f}{spread}']
