# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""The table of results in README.md, made from what was collected of runs."""

from typing import Mapping, Sequence

from dear_jax.reports import campaign_figures as figures
from dear_jax.reports import paper_figures
from dear_jax.training import campaigns

BEGIN, END = '<!-- results -->', '<!-- end of results -->'

# Columns, and the groups of a campaign that are shown in each: the first one
# that has a run on a task.
_COLUMNS = {
    'our DEAR': figures.OUR_DEAR,
    '`--preset=best`': ('long', 'best'),
}


def make_table(results: Sequence[figures.Result],
               entries: Sequence[campaigns.Entry]) -> str:
  """The table.

  Args:
    results: What was collected.
    entries: The runs that are declared; results of others, or with other
      settings, are left out.

  Returns:
    Markdown, without the marks between which it stands.
  """
  results, _ = figures.as_declared(results, entries)
  columns = {title: figures.first_of(results, groups)
             for title, groups in _COLUMNS.items()}
  head = ['task', "the paper's DEAR", *columns]
  lines = [head, ['---'] * len(head)]
  for task in dict.fromkeys(x.task for x in entries):
    paper = paper_figures.find('dear', task)
    lines.append([f'`{task}`', f'{paper[0]:.1f}' if paper else '',
                  *(_cell(x.get(task, ())) for x in columns.values())])
  theirs = [paper_figures.find('dear', task) for task in paper_figures.TEN]
  mean = sum(x[0] for x in theirs if x) / len(theirs)
  lines.append(['mean of the ten without `search`', f'{mean:.1f}',
                *(_mean(x) for x in columns.values())])
  return '\n'.join(f'| {" | ".join(line)} |' for line in lines)


def put_into(text: str, table: str) -> str:
  """A text with the table between the marks; as it was if there are none."""
  if BEGIN not in text or END not in text:
    return text
  before, _, rest = text.partition(BEGIN)
  return f'{before}{BEGIN}\n\n{table}\n\n{END}{rest.partition(END)[2]}'


def _cell(results: Sequence[figures.Result]) -> str:
  results = [x for x in results if figures.score(x) is not None]
  known = [x for x in map(figures.score, results) if x is not None]
  if not known:
    return 'not run yet'
  mean, deviation = figures.spread(known)
  spread = '' if deviation is None else f' ± {deviation:.1f}'
  steps = ', '.join(sorted({f'{x["settings"]["train_steps"]:,}'
                            for x in results}))
  return f'{mean:.1f}{spread} ({len(known)} x {steps})'


def _mean(by_task: Mapping[str, Sequence[figures.Result]]) -> str:
  mean = figures.mean_of_ten(by_task)
  return 'not all run yet' if mean is None else f'{mean:.1f}'
