# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""How long a sample takes a NAR and a DEAR: a section of docs/results.md."""

import json
import os
import pathlib
from typing import Any, List, Mapping, Optional, Sequence, Union

from dear_jax.reports import paper_figures

# Written by experiments/benchmark_inference.py, beside the folder of runs.
FILE = 'inference.json'

Measured = Mapping[str, Any]

_HEAD = ('task', 'NAR steps', 'NAR, s', 'DEAR steps', 'DEAR, s', 'NAR / DEAR',
         "paper's NAR, s", "paper's DEAR, s", "paper's NAR / DEAR")


def read(results: Union[str, os.PathLike]) -> Optional[Measured]:
  """What was measured, if it was; `results` is the folder of the file."""
  path = pathlib.Path(results) / FILE
  if not path.exists():
    return None
  return json.loads(path.read_text(encoding='utf-8'))


def lines(measured: Optional[Measured], tasks: Sequence[str], missing: str
          ) -> List[str]:
  """The section.

  Args:
    measured: From `read`.
    tasks: All tasks, in their order.
    missing: What stands where a task was not measured.

  Returns:
    Lines of Markdown.
  """
  result = ['', '## Seconds a sample', '']
  if measured is None:
    return [*result, f'{missing[0].upper()}{missing[1:]} (`python '
            'experiments/benchmark_inference.py`).']
  by_task = {row['task']: row for row in measured['rows']}
  samples = '/'.join(sorted({str(x['samples']) for x in by_task.values()}))
  rows = []
  for task in tasks:
    theirs = paper_figures.SECONDS.get(task)
    rows.append([f'`{task}`', *_ours(by_task.get(task), missing),
                 *(_seconds(*theirs) if theirs else [''] * 3)])
  return [
      *result, f'`{measured["command"]}`, in [{FILE}](results/{FILE}): means '
      f'of {samples} test samples of size {measured["size"]}, one at a time, '
      f'with everything compiled, on a {measured["device"].upper()} with '
      f'{measured["cores"]} cores and nothing else to do. The DEAR is the '
      'reasoner that comes with the library: of `--preset=best`, except for '
      '`bfs`, which has states on edges and plain iterations. The NAR is the '
      'same network with the same parameters, whose step is repeated for the '
      'true number of steps; it was not trained for that, which does not '
      'change its time. Where a ratio is more than 1, the DEAR is faster. The '
      "paper's figures are of the models of its own code on an RTX 4090; it "
      'does not tell the size of batches. Its *search* there is the binary '
      'one; it has no figure of parallel `search`.', '',
      *(f'| {" | ".join(row)} |'
        for row in (_HEAD, ['---'] * len(_HEAD), *rows))]


def _ours(row: Optional[Measured], missing: str) -> List[str]:
  if row is None:
    return [missing, *[''] * 4]
  nar, dear, ratio = _seconds(row['nar_seconds'], row['dear_seconds'])
  return [f'{row["nar_steps"]:.1f}', nar, f'{row["dear_steps"]:.1f}', dear,
          ratio]


def _seconds(nar: float, dear: float) -> List[str]:
  return [f'{nar:.4f}', f'{dear:.4f}', f'{nar / dear:.2f}']
