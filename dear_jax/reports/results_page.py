# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""docs/results.md, made from what was collected of runs and nothing else."""

from typing import Any, Dict, List, Mapping, Optional, Sequence

from dear_jax.reports import campaign_figures as figures
from dear_jax.reports import inference_table
from dear_jax.reports import loss_charts
from dear_jax.reports import paper_figures
from dear_jax.reports import parts_table
from dear_jax.reports import rules_table
from dear_jax.training import campaigns

MISSING = 'not run yet'

_INTRO = '''# Results

This page is made by `python experiments/reproduce.py` from the files in
[results/runs](results/runs), one a run; a test holds it to them. Every file has
the command, the seed, all settings, the versions and the commit of its run.

```bash
python experiments/reproduce.py --dry_run              # what there is to run
python experiments/reproduce.py --only=bfs --budget=2h # some of it, for a while
python experiments/reproduce.py --jobs=4 --evaluate    # all of it
python experiments/reproduce.py --collect              # this page, once more
```

The runs are declared in `experiments/campaign.py`. The command can be stopped
at any moment and goes on where it was. With the same commit and versions, on as
many cores of the same kind of machine, a run has the same figures bit for bit;
otherwise they differ by rounding, and after some steps by more.

Scores are percent at size 64, on 100 test samples of every run, as means over
seeds with their standard deviation (n - 1) where there are several. *Steps* are
those of training. *Solver steps* and *converged* are means over the last tenth
of training, except for *at size 64*, which is the test; shares are rounded
down. *Minutes* are by the clock, whatever else the machine had to do. The
paper's figures are those of
{source}:
three seeds, 100 epochs of 100,000 samples, which are 312,500 steps. So ours are
of a fraction of its training, and on another code base.

- `floyd_warshall` is scored on edges, as in the paper, and on all pairs, as in
  CLRS.
- `search` is the paper's parallel search, scored by `return` alone.
- `strongly_connected_components_local` is SCC with every pointer on an edge, as
  in the paper.
'''


def make_page(results: Sequence[figures.Result],
              entries: Sequence[campaigns.Entry],
              inference: Optional[inference_table.Measured] = None) -> str:
  """The text of the page.

  Args:
    results: What was collected.
    entries: The runs that are declared. Those without a result are said to be
      missing, and results of others, or with other settings, are left out.
    inference: The seconds of samples, from `inference_table.read`.

  Returns:
    Markdown.
  """
  results, _ = figures.as_declared(results, entries)
  lines = [_INTRO.format(source=paper_figures.SOURCE).rstrip()]
  done = len(results)
  lines += ['', f'{done} of {len(entries)} runs are there.']
  for section in (_dear, _best, _parts, _long, _paper, _nar, _variants, _trust,
                  _rules, _sizes):
    lines += section(results, entries)
  lines += inference_table.lines(inference, tasks_of(entries), MISSING)
  lines += _losses(results, entries)
  lines += _origins(results)
  return '\n'.join(lines) + '\n'


def tasks_of(entries: Sequence[campaigns.Entry]) -> List[str]:
  """All tasks, in the order in which they are declared."""
  return list(dict.fromkeys(x.task for x in entries))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> List[str]:
  if not rows:
    return ['', 'No such run is declared.']
  return ['', *(f'| {" | ".join(row)} |'
                for row in (head, ['---'] * len(head), *rows))]


def _number(value: Optional[float], digits: int = 1) -> str:
  return '' if value is None else f'{value:.{digits}f}'


def _paper_cell(column: str, task: str) -> str:
  found = paper_figures.find(column, task)
  return f'{found[0]:.2f} ± {found[1]:.2f}' if found else ''


def _score_cell(results: Sequence[figures.Result],
                output: Optional[str] = None) -> str:
  known = [x for x in (figures.score(r, output) for r in results)
           if x is not None]
  if not known:
    return ''
  mean, deviation = figures.spread(known)
  return f'{mean:.2f}' if deviation is None else f'{mean:.2f} ± {deviation:.2f}'


def _steps_cell(results: Sequence[figures.Result]) -> str:
  """Training steps; of runs that differ in them, all."""
  return ', '.join(f'{x:,}' for x in sorted({
      int(result['settings']['train_steps']) for result in results}))


def _seeds_cell(results: Sequence[figures.Result]) -> str:
  """How many runs the score is of, and of how many if not of all."""
  known = sum(figures.score(x) is not None for x in results)
  return str(known) + (f' of {len(results)}' if known < len(results) else '')


_HEAD = ('seeds', 'steps', 'solver steps', 'converged forward', 'backward',
         'at size 64', 'minutes')
_HEAD_OF_NAR = ('seeds', 'steps', 'steps at size 64', 'minutes')


def _cells(results: Sequence[figures.Result]) -> List[str]:
  """The cells under `_HEAD`."""
  late = lambda name: figures.mean_of(results, 'solver', 'last_tenth', name)
  return [_seeds_cell(results), _steps_cell(results),
          _number(late('solver_steps_mean')), figures.share(late('converged')),
          figures.share(late('backward_converged')),
          figures.share(figures.mean_of(results, 'result', 'test_converged')),
          _minutes(results)]


def _cells_of_nar(results: Sequence[figures.Result]) -> List[str]:
  """The cells under `_HEAD_OF_NAR`."""
  return [_seeds_cell(results), _steps_cell(results),
          _number(figures.mean_of(results, 'result', 'test_steps_mean')),
          _minutes(results)]


def _minutes(results: Sequence[figures.Result]) -> str:
  seconds = figures.mean_of(results, 'result', 'seconds')
  return _number(None if seconds is None else seconds / 60)


def _rows(by_task: Mapping[str, Sequence[figures.Result]], column: str,
          tasks: Sequence[str], cells: Any, width: int) -> List[List[str]]:
  """Rows of tasks: the paper's figure, ours, and the cells of our runs."""
  rows = []
  for task in tasks:
    found = by_task.get(task, [])
    paper = _paper_cell(column, task)
    label = f'`{task}`'
    if task == 'floyd_warshall':
      label += ', on edges'
    ours = [_score_cell(found), *cells(found)] if found else [
        MISSING, *[''] * width]
    rows.append([label, paper, *ours])
    if task == 'floyd_warshall' and found:
      rows.append([f'`{task}`, all pairs', '', _score_cell(found, 'Pi'),
                   *[''] * width])
  return rows


def _mean_row(by_task: Mapping[str, Sequence[figures.Result]], column: str,
              width: int) -> List[str]:
  """The row of the mean of the paper's ten tasks."""
  theirs = [paper_figures.find(column, task) for task in paper_figures.TEN]
  ours = figures.mean_of_ten(by_task)
  return ['mean of the ten without `search`',
          _number(sum(x[0] for x in theirs if x) / len(theirs), 2),
          'not all run yet' if ours is None else _number(ours, 2),
          *[''] * width]


def _tasks_in(entries: Sequence[campaigns.Entry], group: str) -> List[str]:
  return [task for task in tasks_of(entries)
          if any((x.group, x.task) == (group, task) for x in entries)]


def _beside_the_paper(results, entries, groups, column, head, cells
                      ) -> List[str]:
  by_task = figures.first_of(results, groups)
  tasks = _tasks_in(entries, groups[0])
  rows = _rows(by_task, column, tasks, cells, len(head))
  if set(paper_figures.TEN) <= set(tasks):
    rows.append(_mean_row(by_task, column, len(head)))
  return _table(['task', 'paper', 'ours', *head], rows)


def _dear(results, entries) -> List[str]:
  return ['', '## DEAR', '',
          'The default settings: `python experiments/run.py '
          '--algorithm=TASK --seed=SEED`. Tasks without a run of 10,000 steps '
          'have those of fewer. The paper states a mean of '
          f'{paper_figures.STATED_MEAN["dear"]:.2f}; that of its own rows is '
          'in the table.',
          *_beside_the_paper(results, entries, figures.OUR_DEAR, 'dear', _HEAD,
                             _cells)]


def _best(results, entries) -> List[str]:
  """What goes beyond the paper's model, beside runs without it."""
  by_task = figures.grouped(results, 'best')
  # Of two that are there, the longer one.
  longest: Dict[str, Dict[int, figures.Result]] = {}
  for group in ('trust', 'plain'):
    for task, found in figures.grouped(results, group).items():
      longest.setdefault(task, {}).update({x['seed']: x for x in found})
  plain = {task: list(found.values()) for task, found in longest.items()}
  tasks = _tasks_in(entries, 'best')

  def cells(found):
    """Those under `_HEAD`, after default runs with the same seeds."""
    seeds = {x['seed'] for x in found}
    others = [x for x in plain.get(found[0]['task'], ()) if x['seed'] in seeds]
    return [_score_cell(others) or MISSING, _steps_cell(others), *_cells(found)]

  rows = _rows(by_task, 'dear', tasks, cells, 2 + len(_HEAD))
  if set(paper_figures.TEN) <= set(tasks):
    row = _mean_row(by_task, 'dear', 2 + len(_HEAD))
    mean = figures.mean_of_ten(plain)
    row[3] = 'not all run yet' if mean is None else _number(mean, 2)
    rows.append(row)
  return ['', "## Beyond the paper's model", '',
          '`--preset=best` ([choosing.md](choosing.md#more-than-the-paper)). '
          'The column *plain* is our DEAR with default settings and the same '
          'seeds, for as many steps as there are.',
          *_table(['task', 'paper', 'ours', 'plain', 'its steps', *_HEAD],
                  rows)]


def _parts(results, entries) -> List[str]:
  return ['', '## What every part of it gains', '',
          'The preset with all of its parts but one, by runs with the same '
          'seeds and as many steps. Arrays have neither weights nor edges of '
          'nodes to themselves, so that differences of numbers are all of it; '
          'nor does a unit matter where all edges weigh the same. The rows '
          'after *rest of every node* are of runs that were all tested with '
          '`--test_criterion=same`, those with the part, too.',
          *_table(['left out', 'task', 'with it', 'without it', 'gain',
                   'seeds'],
                  parts_table.make_rows(results, entries, MISSING))]


def _long(results, entries) -> List[str]:
  return ['', "## Beyond the paper's model, trained for longer", '',
          '`--preset=best --train_steps=10000`.',
          *_beside_the_paper(results, entries, ('long',), 'dear', _HEAD,
                             _cells)]


def _paper(results, entries) -> List[str]:
  return ['', '## DEAR with the settings of the paper', '',
          '`--preset=paper`, with fewer steps than it had.',
          *_beside_the_paper(results, entries, ('paper',), 'dear', _HEAD,
                             _cells)]


def _nar(results, entries) -> List[str]:
  return ['', '## NAR, given the true number of steps', '',
          '`--model=nar --processor=pgn`. The paper states a mean of '
          f'{paper_figures.STATED_MEAN["nar"]:.2f}.',
          *_beside_the_paper(results, entries, ('nar',), 'nar', _HEAD_OF_NAR,
                             _cells_of_nar)]


_VARIANTS = {'nar_learned': 'NAR, learnt termination', 'cgp': 'DEAR with CGP',
             'gas': 'DEAR, aligned (GAS)', 'triplet': 'DEAR, Triplet-MPNN',
             'relative': '`--preset=best --scalars=relative '
                         '--wanted_steps=20 --test_criterion=same`',
             'long_units': '`--preset=best --scalars=units '
                           '--test_criterion=same`'}


def _variants(results, entries) -> List[str]:
  """What else the paper has, each beside what it is a variant of."""
  by_name = {x['name']: x for x in results}
  rows = []
  for entry in entries:
    if entry.group != 'variants':
      continue
    kind = entry.name.removesuffix(f'_{entry.task}_seed{entry.seed}')
    result = by_name.get(entry.name)
    row = [_VARIANTS.get(kind, kind), f'`{entry.task}`',
           _paper_cell(kind, entry.task)]
    if result is None:
      rows.append([*row, MISSING, *[''] * (len(_HEAD) + 1)])
      continue
    other = _varied(entry, result, results)
    cells = _cells([result])[1:]
    rows.append([*row, _score_cell([result]),
                 _score_cell(other) or MISSING, _steps_cell(other), *cells])
  return ['', '## Variants', '',
          'Seed 1. The column *plain* is what it is a variant of, with the '
          'same seed: our DEAR or NAR above or, for variants of '
          '`--preset=best`, that preset for as many steps, whose tests wait '
          'for every node on graphs. `floyd_warshall` is scored on edges.',
          *_table(['variant', 'task', 'paper', 'ours', 'plain', 'its steps',
                   *_HEAD[1:]], rows)]


def _varied(entry: campaigns.Entry, result: figures.Result,
            results: Sequence[figures.Result]) -> List[figures.Result]:
  """The run, if it is there, that another is a variant of."""
  steps = lambda x: x['settings']['train_steps']
  groups = ('best', 'long') if entry.preset == 'best' else (
      entry.given.get('model', 'dear'),)
  return [x for x in results if x['group'] in groups
          and (x['task'], x['seed']) == (entry.task, entry.seed)
          and (entry.preset != 'best' or steps(x) == steps(result))]


def _trust(results, entries) -> List[str]:
  """Every run of the group with every criterion."""
  by_name = {x['name']: x for x in results}
  rows, met, found = [], 0, 0
  declared = [x for x in entries if x.group == 'trust']
  for entry in declared:
    result = by_name.get(entry.name)
    start = [f'`{entry.task}`', str(entry.seed)]
    if result is None:
      rows.append([*start, MISSING, *[''] * (len(figures.CRITERIA) + 3)])
      continue
    found += 1
    of_all = [figures.share(figures.get(result, 'solver', 'all', name))
              for name in ('converged', 'backward_converged')]
    late = figures.get(result, 'solver', 'last_tenth', 'solver_steps_mean')
    of_all.append('' if late is None else f'{late:.2f}')
    met += all(x.is_met(result) for x in figures.CRITERIA)
    rows.append([*start, _score_cell([result]),
                 *(x.show(result) for x in figures.CRITERIA), *of_all])
  return ['', '## Can the solves be trusted?', '',
          'DEAR with default settings, every run on its own. What does not '
          'meet its criterion is bold. Shares of converged solves are of the '
          'last tenth of training; those of all steps are beside them. Speeds '
          'are those of the first and of the last hundred steps, without what '
          'is compiled and validated, in steps a second of processor time. '
          'Where that was not measured yet they are by the clock, as it says '
          'there: whatever else the machine did counts too.', '',
          f'{met} of the {found} runs that are there meet all criteria; '
          f'{len(declared) - found} of {len(declared)} are {MISSING}.',
          *_table(['task', 'seed', 'score',
                   *(x.title for x in figures.CRITERIA),
                   'all steps, forward', 'all steps, backward',
                   'solver steps, last tenth'], rows)]


def _rules(results, entries) -> List[str]:
  """What either rule of selection would have."""
  text, rows = rules_table.make_rows(results, entries)
  return ['', '## Which parameters are kept?', '', *(
      [text, *_table(rules_table.HEAD, rows)] if rows
      else [f'{MISSING[0].upper()}{MISSING[1:]}.'])]


def _sizes(results, entries) -> List[str]:
  """Scores by size, of the runs that were evaluated."""
  order = {entry.name: i for i, entry in enumerate(entries)}
  evaluated = sorted((x for x in results if x.get('evaluation')),
                     key=lambda x: order[x['name']])
  sizes = sorted({row['size'] for x in evaluated for row in x['evaluation']})
  rows = []
  for result in evaluated:
    by_size = {row['size']: row for row in result['evaluation']}
    rows.append([f'`{result["name"]}`', *(
        _size_cell(result['task'], by_size.get(size)) for size in sizes)])
  lines = ['', '## By size', '']
  if not rows:
    return [*lines, 'No run was evaluated by size yet (`python '
            'experiments/reproduce.py --collect --evaluate`).']
  return [*lines, 'Scores on 100 test samples of every size, with the share of '
          'solves that converged.',
          *_table(['run', *map(str, sizes)], rows)]


def _size_cell(task: str, row: Optional[Mapping[str, Any]]) -> str:
  if row is None:
    return ''
  output = figures.OUTPUTS.get(task)
  score = figures.get(row, 'outputs', output) if output else figures.get(
      row, 'score')
  converged = figures.get(row, 'converged')
  if score is None:
    return ''
  text = f'{100 * score:.2f}'
  return text if converged is None else f'{text} ({100 * converged:.0f} %)'


def _losses(results, entries) -> List[str]:
  """The charts of which both curves are there."""
  by_name = {x['name']: x for x in results}
  lines = ['', '## Training losses', '',
           'Seed 1, the loss of the task without penalties, as means over a '
           'hundredth of the run each. The curve of a DEAR ends where its '
           'longest run with default settings does.']
  for comparison in loss_charts.COMPARISONS:
    tasks = loss_charts.tasks_of(comparison, by_name, tasks_of(entries))
    what = (f'![{comparison.title}](images/{comparison.file})' if tasks else
            f'{MISSING[0].upper()}{MISSING[1:]}.')
    lines += ['', f'### {comparison.title}', '', what]
  return lines


def _origins(results) -> List[str]:
  """What the runs were made with."""
  found: Dict[str, List[str]] = {}
  for result in results:
    versions = ', '.join(f'{name} {version or "not known"}'
                         for name, version in result['versions'].items())
    key = f'{result["commit"] or "not known"} | {versions}'
    found.setdefault(key, []).append(result['name'])
  if not found:
    return []
  return ['', '## Made with', '',
          'A commit with a + had changes that were not committed.',
          *_table(['commit', 'versions', 'runs'],
                  [[key, str(len(names))] for key, names in found.items()])]
