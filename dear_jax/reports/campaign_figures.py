# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Figures of collected runs, as a page of results has them."""

import dataclasses
import math
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from dear_jax.reports import paper_figures
from dear_jax.training import campaigns

Result = Mapping[str, Any]  # what `collected.collect` makes

# What a task is scored by, if that is not its score: parallel search by what is
# found alone, and Floyd-Warshall on edges, both as in the paper.
OUTPUTS = {'search': 'return', 'floyd_warshall': 'Pi_on_edges'}
# Groups of a campaign with default settings, those of most steps first.
OUR_DEAR = ('dear', 'plain', 'trust')


def get(result: Result, *names: str) -> Optional[float]:
  """A figure of a result; None if it is not there."""
  value: Any = result
  for name in names:
    value = value.get(name) if isinstance(value, Mapping) else None
  is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
  return float(value) if is_number and math.isfinite(value) else None


def as_declared(results: Sequence[Result], entries: Sequence[campaigns.Entry]
                ) -> Tuple[List[Result], Dict[str, str]]:
  """Those of declared runs that were run as they are declared.

  Args:
    results: What was collected.
    entries: The runs that are declared.

  Returns:
    These, and what the others that have the name of a declared run are, by
    their names.
  """
  by_name = {x.name: x for x in entries}
  found, others = [], {}
  for result in results:
    entry = by_name.get(result['name'])
    if entry is None:
      continue
    change = campaigns.change_of(entry, result['settings'])
    for name in ('group', 'task', 'seed'):
      if result[name] != getattr(entry, name):
        change = f'{name}={result[name]}, not {getattr(entry, name)}'
    if change:
      others[entry.name] = change
    else:
      found.append(result)
  return found, others


def score(result: Result, output: Optional[str] = None) -> Optional[float]:
  """The test score in percent, of one output if there is more than one."""
  task = result['task']
  output = output or OUTPUTS.get(task)
  found = (get(result, 'result', 'test_outputs', task, output) if output else
           get(result, 'result', 'test', task))
  return None if found is None else 100 * found


def spread(values: Sequence[float]) -> Tuple[float, Optional[float]]:
  """Mean and standard deviation, which a single value has none of.

  >>> spread([1.0, 3.0])
  (2.0, 1.4142135623730951)
  """
  mean = sum(values) / len(values)
  if len(values) < 2:
    return mean, None
  return mean, math.sqrt(
      sum((x - mean)**2 for x in values) / (len(values) - 1))


def mean_of(results: Sequence[Result], *names: str) -> Optional[float]:
  """The mean of a figure over runs; None if one of them does not have it."""
  values = [get(result, *names) for result in results]
  known = [x for x in values if x is not None]
  return sum(known) / len(known) if known and len(known) == len(values) else (
      None)


def mean_of_ten(by_task: Mapping[str, Sequence[Result]]) -> Optional[float]:
  """The mean over the paper's ten tasks; None unless all of them are there."""
  means = []
  for task in paper_figures.TEN:
    values = [score(x) for x in by_task.get(task, ())]
    known = [x for x in values if x is not None]
    if not known:
      return None
    means.append(spread(known)[0])
  return sum(means) / len(means)


@dataclasses.dataclass(frozen=True)
class Criterion:
  """What is asked of a run that is to be trusted."""
  title: str
  names: Tuple[str, ...]
  low: float = -math.inf
  high: float = math.inf
  as_share: bool = True

  def value(self, result: Result) -> Optional[float]:
    if self.names != ('speed',):
      return get(result, *self.names)
    return _speed(result)[0]

  def is_met(self, result: Result) -> bool:
    """Whether a run does; one that does not tell does not."""
    value = self.value(result)
    return value is not None and self.low <= value <= self.high

  def show(self, result: Result) -> str:
    value = self.value(result)
    if value is None:
      return 'not known'
    text = share(value) if self.as_share else f'{value:.2f}'
    text = text if self.is_met(result) else f'**{text}**'
    is_by_clock = self.names == ('speed',) and _speed(result)[1]
    return f'{text}, by the clock' if is_by_clock else text


def share(value: Optional[float]) -> str:
  """In percent, rounded down, so that what is shown was reached.

  >>> share(0.98999)
  '98.9 %'
  """
  if value is None:
    return ''
  return f'{math.floor(value * 1000 + 1e-9) / 10:.1f} %'


def _speed(result: Result) -> Tuple[Optional[float], bool]:
  """The speed at the end, of that at the beginning; whether by the clock."""
  # By the processor's time where it is known: what else a machine had to do
  # does not count.
  for unit in ('steps_a_processor_second', 'steps_a_second'):
    first, last = (get(result, unit, x) for x in ('first', 'last'))
    if first and last:
      return last / first, unit == 'steps_a_second'
  return None, False


_LATE = ('solver', 'last_tenth')
CRITERIA = (
    Criterion('converged, forward (at least 99 %)', (*_LATE, 'converged'),
              low=0.99),
    Criterion('converged, backward (at least 98 %)',
              (*_LATE, 'backward_converged'), low=0.98),
    Criterion('converged at size 64 (at least 98 %)',
              ('result', 'test_converged'), low=0.98),
    Criterion('solver steps, mean of all training steps (at most 12)',
              ('solver', 'all', 'solver_steps_mean'), high=12,
              as_share=False),
    Criterion('speed at the end, of that at the beginning (at least half)',
              ('speed',), low=0.5, as_share=False),
)


def grouped(results: Sequence[Result], group: str
            ) -> Dict[str, List[Result]]:
  """The results of a group by tasks, in the order of seeds."""
  found: Dict[str, List[Result]] = {}
  for result in sorted(results, key=lambda x: (x['seed'], x['name'])):
    if result['group'] == group:
      found.setdefault(result['task'], []).append(result)
  return found


def first_of(results: Sequence[Result], groups: Sequence[str]
             ) -> Dict[str, List[Result]]:
  """The results by tasks, each of the first group that has some."""
  found: Dict[str, List[Result]] = {}
  for group in reversed(groups):
    found.update(grouped(results, group))
  return found
