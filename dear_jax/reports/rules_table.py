# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""What either rule of selection has: the best parameters or the last ones."""

import json
from typing import Dict, List, Sequence, Tuple

from dear_jax.reports import campaign_figures as figures
from dear_jax.training import campaigns

HEAD = ('run', 'lowest loss at step', 'score', 'last step', 'score')


def make_rows(results: Sequence[figures.Result],
              entries: Sequence[campaigns.Entry]
              ) -> Tuple[str, List[List[str]]]:
  """Sums up what is known of the rules, in words and in rows.

  Args:
    results: What was collected.
    entries: The runs that are declared.

  Returns:
    A paragraph, and the rows of the table; nothing if no run tells.
  """
  order = {entry.name: i for i, entry in enumerate(entries)}
  rows, gains, same = [], [], 0
  trainings: Dict[str, str] = {}
  again = []
  for result in sorted(results, key=lambda x: order[x['name']]):
    steps, scores = ([figures.get(result, 'result', 'by_rule', rule, name)
                      for rule in ('best', 'last')]
                     for name in ('step', 'test_score'))
    known = [x for x in (*steps, *scores) if x is not None]
    if len(known) < 4:
      continue
    training = _training(result)
    if training in trainings:
      again.append((result['name'], trainings[training]))
      continue
    trainings[training] = result['name']
    same += known[0] == known[1]
    best, last = (100 * x for x in known[2:])
    gains.append(last - best)
    rows.append([f'`{result["name"]}`', f'{known[0]:,.0f}', f'{best:.2f}',
                 f'{known[1]:,.0f}', f'{last:.2f}'])
  if not rows:
    return '', rows
  mean, deviation = figures.spread(gains)
  spread = '' if deviation is None else f' ± {deviation:.2f}'
  return (
      'Averages of parameters are kept as they are after the last step '
      '(`--select=last`), not where the validation loss at size 16 is lowest '
      '(`--select=best`). Both are tested, by the score of CLRS. At size 64, '
      f'the score of the last ones less that of the others is {mean:.2f}'
      f'{spread}, over {len(rows)} trainings; in {same} of them both are of '
      f'the same step.{_say_again(again)}', rows)


def _say_again(again: Sequence[Tuple[str, str]]) -> str:
  """What to say of runs that are the same training as another one."""
  if not again:
    return ''
  is_test = lambda name: name.startswith('at_state_')
  nb_tested = sum(is_test(name) for name, _ in again)
  said = [f'{nb_tested} were tested with another criterion (*at_state* of '
          '*best*)'] if nb_tested else []
  said += [f'`{name}` is `{first}`, as their settings come to the same'
           for name, first in again if not is_test(name)]
  return (f' {len(again)} more runs are of these trainings, and do not count '
          f'again: {"; ".join(said)}.')


def _training(result: figures.Result) -> str:
  """What two runs share if one training was tested in two ways."""
  return json.dumps([result['task'], result['seed'], result['train_loss']])
