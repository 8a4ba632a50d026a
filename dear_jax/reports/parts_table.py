# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""What the parts of the preset best gain: runs with all of them but one."""

from typing import Dict, List, Mapping, Sequence

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
    that are not.
  """
  by_name = {x['name']: x for x in results}
  runs: Dict[str, Dict[str, List[campaigns.Entry]]] = {}
  for entry in entries:
    if entry.group in _GROUPS:
      label = entry.name.removesuffix(f'_{entry.task}_seed{entry.seed}')
      runs.setdefault(label, {}).setdefault(entry.task, []).append(entry)
  rows = []
  for label, by_task in runs.items():
    title, means, left = _WITHOUT.get(label, label), [], []
    base = _FIRST if label not in ('plain', _FIRST) else 'best'
    for task, declared in by_task.items():
      of_base = base if task in runs.get(base, {}) else 'best'
      pairs = _pairs(declared, by_name, of_base)
      if not pairs:
        left.append(f'`{task}`')
        continue
      means.append([sum(x) / len(pairs) for x in zip(*pairs.values())])
      rows.append([title, f'`{task}`', *_cells(pairs),
                   ', '.join(map(str, pairs))])
    if len(means) > 1:
      best, without = (sum(x) / len(means) for x in zip(*means))
      rows.append([title, f'mean of {len(means)} of {len(by_task)} tasks',
                   f'{best:.2f}', f'{without:.2f}', f'{best - without:+.2f}',
                   ''])
    if left:
      rows.append([title, ', '.join(left), '', missing, '', ''])
  return rows


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
