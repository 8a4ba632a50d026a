# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Does what is missing of a campaign, some runs at a time.

Every run is a process of its own, `experiments/run.py`, which can be killed at
any moment and goes on from its last checkpoint. So can what is here: it keeps
nothing that is not in the folders of the runs.
"""

import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
from typing import Any, Callable, Dict, List, Optional, Sequence, Set

from dear_jax.training import campaigns
from dear_jax.training import launch
from dear_jax.training import locks
from dear_jax.training import origins
from dear_jax.training import stop_signals

_POLL = 0.2  # seconds
_NICE = 19
# What a process is given to end by itself when it is told to for the second
# time.
_PATIENCE = 5.0


@dataclasses.dataclass(frozen=True)
class Options:
  """How a campaign is run.

  Attributes:
    runs: The folder of all run folders.
    scripts: The folder of run.py and evaluate.py.
    jobs: Processes at a time.
    nice: Whether they give way to everything else.
    budget: Seconds after which they are to save and stop; None for no end.
    sizes: To evaluate on, once a run is over; none for no evaluation.
    train: Whether to train what is missing, not just to evaluate.
  """
  runs: pathlib.Path
  scripts: pathlib.Path
  jobs: int = 1
  nice: bool = False
  budget: Optional[float] = None
  sizes: Sequence[int] = ()
  train: bool = True


@dataclasses.dataclass
class Outcome:
  """How a campaign ended."""
  stopped: str = ''  # 'budget' or 'signal', if there is more to do
  failed: Dict[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class _Job:
  entry: campaigns.Entry
  what: str
  process: subprocess.Popen
  log: pathlib.Path


def shares(cores: Sequence[int], jobs: int) -> List[List[int]]:
  """Cores of every job; with more jobs than cores, some share one.

  >>> shares([0, 1, 2, 3, 4], 2)
  [[0, 1], [2, 3, 4]]
  """
  if jobs > len(cores):
    return [[cores[i % len(cores)]] for i in range(jobs)]
  ends = [i * len(cores) // jobs for i in range(jobs + 1)]
  return [list(cores[a:b]) for a, b in zip(ends, ends[1:])]


def is_evaluated(folder: pathlib.Path, sizes: Sequence[int]) -> bool:
  """Whether a run that is over has been evaluated on these sizes since."""
  path = folder / 'evaluation.json'
  try:
    found = json.loads(path.read_text(encoding='utf-8'))
    return (not found['overridden']
            and set(sizes) <= {row['size'] for row in found['sizes']}
            and path.stat().st_mtime
            >= (folder / 'result.json').stat().st_mtime)
  except (KeyError, OSError, TypeError, ValueError):
    return False


class Jobs:
  """Runs a campaign."""

  def __init__(self, entries: Sequence[campaigns.Entry], options: Options,
               display: Any, clock: Callable[[], float] = time.monotonic):
    """Initialises it; a ValueError if a folder holds another run.

    Args:
      entries: The runs, in the order in which they are started.
      options: How.
      display: Is told what happens; see `campaign_progress.Display`.
      clock: Gives the time in seconds.
    """
    self._clock = clock
    self._entries = list(entries)
    self._options = options
    self._display = display
    self._running: Dict[int, _Job] = {}
    self._outcome = Outcome()
    self._commit = origins.commit()
    self.states = {x.name: campaigns.state_of(x, options.runs)
                   for x in entries}
    self._evaluated: Set[str] = {
        x.name for x in entries
        if is_evaluated(options.runs / x.name, options.sizes)}
    for entry in entries:
      state = self.states[entry.name]
      if state.kind == campaigns.OTHER:
        raise ValueError(
            f'{entry.name} cannot be run: {state.about}; move it away or '
            'choose other runs with --only.')
    cores = (sorted(os.sched_getaffinity(0)) if options.jobs > 1
             and hasattr(os, 'sched_getaffinity') else None)
    self._cores = shares(cores, options.jobs) if cores else None

  def run(self) -> Outcome:
    """Goes on until all is done, the budget is used up or a signal comes."""
    started = self._clock()
    with stop_signals.StopSignals() as signals, self._display:
      try:
        while True:
          budget = self._options.budget
          if not self._outcome.stopped:
            if signals.requested:
              self._stop('signal')
            elif budget is not None and self._clock() - started >= budget:
              self._stop('budget')
          for slot in [i for i, job in self._running.items()
                       if job.process.poll() is not None]:
            self._end(self._running.pop(slot))
          if not self._outcome.stopped:
            self._start_all()
          if not self._running and (
              self._outcome.stopped or not self._waits_for_others()):
            break
          self._look()
          time.sleep(_POLL)
        self._display.show({}, self.states)
      finally:
        self._abort()
    return self._outcome

  def _stop(self, why: str) -> None:
    """Tells all processes to save and stop, if there is anything to stop."""
    if not (self._running or self._next() or self._waits_for_others()):
      return
    self._outcome.stopped = why
    for job in self._running.values():
      job.process.send_signal(signal.SIGTERM)
    what = ('the budget is used up' if why == 'budget' else
            'stopping; once more aborts')
    self._display.message(f'{what}: waiting for {len(self._running)} to save.')

  def _abort(self) -> None:
    """Ends what is still running, after a second signal or an error."""
    for job in self._running.values():
      job.process.terminate()
    for job in self._running.values():
      try:
        job.process.wait(_PATIENCE)
      except subprocess.TimeoutExpired:
        job.process.kill()
        job.process.wait()

  def _start_all(self) -> None:
    for slot in range(self._options.jobs):
      if slot in self._running:
        continue
      entry = self._next()
      if entry is None:
        return
      self._running[slot] = self._start(entry, slot)

  def _next(self) -> Optional[campaigns.Entry]:
    """The first run of which something can be done now."""
    active = {job.entry.name for job in self._running.values()}
    for entry in self._entries:
      if entry.name in active or entry.name in self._outcome.failed:
        continue
      what = self._what(entry)
      if what == 'train' and entry.align_to:
        needed = self.states.get(entry.align_to)
        if entry.align_to in self._outcome.failed:
          self._fail(entry, f'needs {entry.align_to}, which failed')
          continue
        if needed is None or needed.kind != campaigns.DONE:
          continue
      if what == 'train' and entry.continues in self.states and (
          entry.continues not in self._outcome.failed):
        if self.states[entry.continues].kind != campaigns.DONE:
          continue  # it takes over what that one does now
      if what and self._is_free(entry):
        return entry
    return None

  def _what(self, entry: campaigns.Entry) -> str:
    """What there is to do: 'train', 'evaluate' or ''."""
    if self.states[entry.name].kind != campaigns.DONE:
      return 'train' if self._options.train else ''
    is_wanted = self._options.sizes and entry.name not in self._evaluated
    return 'evaluate' if is_wanted else ''

  def _is_free(self, entry: campaigns.Entry) -> bool:
    """Whether no other process trains in its folder, perhaps an earlier one."""
    if self.states[entry.name].kind == campaigns.BUSY:
      self.states[entry.name] = campaigns.state_of(entry, self._options.runs)
    return self.states[entry.name].kind != campaigns.BUSY and bool(
        self._what(entry))

  def _waits_for_others(self) -> bool:
    """Whether a run is left that another process is busy with."""
    return self._options.train and any(
        state.kind == campaigns.BUSY for name, state in self.states.items()
        if name not in self._outcome.failed)

  def _start(self, entry: campaigns.Entry, slot: int) -> _Job:
    """Starts the process of a run."""
    runs, scripts = self._options.runs, self._options.scripts
    folder, what = runs / entry.name, self._what(entry)
    if what == 'evaluate':
      words = [str(scripts / 'evaluate.py'), str(folder), '--only=sizes',
               '--sizes=' + ','.join(map(str, self._options.sizes))]
    else:
      if self.states[entry.name].kind == campaigns.NEW and (
          campaigns.take_over(entry, runs)):
        self.states[entry.name] = campaigns.state_of(entry, runs)
      origins.note(folder, self._commit,
                   len(self._cores[slot]) if self._cores else None)
      words = [str(scripts / 'run.py'), f'--workdir={folder}']
      words += (['--resume'] if self.states[entry.name].kind == campaigns.BEGUN
                else entry.flags(runs))
    log = runs / f'{entry.name}.log'
    command = launch.wrap(
        [sys.executable, *words], nice=_NICE if self._options.nice else 0,
        cores=self._cores[slot] if self._cores else None)
    with log.open('a', encoding='utf-8') as file:
      # In a session of its own, so that Ctrl-C comes here first, and once.
      process = subprocess.Popen(
          command, stdin=subprocess.DEVNULL, stdout=file, stderr=file,
          start_new_session=True)
    self._display.begin(slot, entry, what)
    return _Job(entry, what, process, log)

  def _end(self, job: _Job) -> None:
    """Finds out what has become of a run whose process has ended."""
    entry, code = job.entry, job.process.returncode
    state = campaigns.state_of(entry, self._options.runs)
    self.states[entry.name] = state
    if job.what == 'evaluate' and is_evaluated(
        self._options.runs / entry.name, self._options.sizes):
      self._evaluated.add(entry.name)
      self._display.end(entry, 'evaluated')
    elif job.what == 'train' and state.kind == campaigns.DONE:
      self._display.end(entry, 'done')
    elif self._outcome.stopped:
      self._display.end(entry, f'stopped at step {state.step}')
    elif locks.owner_of(self._options.runs / entry.name):
      self._display.end(entry, state.about)
    elif code == 0:
      self._fail(entry, f'was stopped at step {state.step}')
    else:
      self._fail(entry, f'{_last_line(job.log)} (exit code {code}; '
                 f'{job.log.name} has more)')

  def _fail(self, entry: campaigns.Entry, why: str) -> None:
    self._outcome.failed[entry.name] = why
    self._display.end(entry, f'failed: {why}')

  def _look(self) -> None:
    """Shows how far everything is, if it is time to."""
    if not self._display.is_due():
      return
    for job in self._running.values():
      if job.what == 'train':
        now = campaigns.state_of(job.entry, self._options.runs)
        self.states[job.entry.name] = dataclasses.replace(
            now, kind=self.states[job.entry.name].kind)
    self._display.show(
        {slot: job.entry for slot, job in self._running.items()}, self.states)


def _last_line(path: pathlib.Path) -> str:
  """What a process said last."""
  with path.open('rb') as file:
    file.seek(max(0, path.stat().st_size - 4096))
    lines = file.read().decode('utf-8', 'replace').split('\n')
  return next((x.strip() for x in reversed(lines) if x.strip()), 'no message')

