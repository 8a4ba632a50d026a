# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""What a user sees while a campaign is under way.

On a terminal a bar for every run that is going on and one for all, elsewhere
plain lines; all on stderr, as in `progress`.
"""

import sys
import time
from typing import Any, Callable, Dict, List, Mapping, Optional, TextIO

from dear_jax.training import campaigns
from dear_jax.training import progress
import tqdm

# Seconds between two looks at the run folders.
_BAR_INTERVAL = 2.0
_LINE_INTERVAL = 60.0

_TOTAL_FORMAT = '{percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} runs{postfix}'
_BAR_FORMAT = '{desc} {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt}{postfix}'


class Display:
  """Shows how a campaign goes. A context manager."""

  def __init__(self, steps: Mapping[str, int],
               entries: Mapping[str, campaigns.Entry], *, jobs: int = 1,
               stream: Optional[TextIO] = None,
               clock: Callable[[], float] = time.monotonic):
    """Initialises the display.

    Args:
      steps: How many every run has in all, by its name.
      entries: The runs by their names.
      jobs: Runs at a time.
      stream: Where to write; stderr unless given.
      clock: Gives the time in seconds.
    """
    self._steps = steps
    self._entries = entries
    self._jobs = jobs
    self._stream = stream if stream is not None else sys.stderr
    self._clock = clock
    self._shown_at = -float('inf')
    self._bars: Dict[int, Any] = {}
    self._total: Any = None
    self._is_terminal = self._stream.isatty()

  def __enter__(self) -> 'Display':
    return self

  def __exit__(self, *unused_exc_info):
    for bar in [*self._bars.values(), self._total]:
      if bar is not None:
        bar.close()

  def message(self, text: str) -> None:
    """Says something that has to be seen."""
    if self._is_terminal:
      tqdm.tqdm.write(text, file=self._stream)
    else:
      print(text, file=self._stream, flush=True)

  def begin(self, slot: int, entry: campaigns.Entry, what: str) -> None:
    """Tells that a process is started."""
    self.message(f'{entry.name}: '
                 f'{"evaluating" if what == "evaluate" else "training"} ...')
    if self._is_terminal:
      self._bars[slot] = tqdm.tqdm(
          total=self._steps[entry.name], file=self._stream, desc=entry.name,
          dynamic_ncols=True, position=slot + 1, leave=False,
          bar_format=_BAR_FORMAT)

  def end(self, entry: campaigns.Entry, how: str) -> None:
    """Tells that a process has ended, or that a run cannot be."""
    for slot in [i for i, bar in self._bars.items() if bar.desc == entry.name]:
      self._bars.pop(slot).close()
    self.message(f'{entry.name}: {how}.')
    self._shown_at = -float('inf')

  def is_due(self) -> bool:
    """Whether it is time to show how far the runs are."""
    interval = _BAR_INTERVAL if self._is_terminal else _LINE_INTERVAL
    return self._clock() - self._shown_at >= interval

  def show(self, running: Mapping[int, campaigns.Entry],
           states: Mapping[str, campaigns.State]) -> None:
    """Shows how far everything is.

    Args:
      running: The runs that are going on, by their slots.
      states: Of all runs, by their names.
    """
    self._shown_at = self._clock()
    # Those that are over are being evaluated.
    running = {slot: entry for slot, entry in running.items()
               if states[entry.name].kind != campaigns.DONE}
    text = self.summary(len(running), states)
    if not self._is_terminal:
      for entry in running.values():
        print(f'{entry.name}: {self._step_of(states[entry.name], entry)}',
              file=self._stream)
      print(text, file=self._stream, flush=True)
      return
    if self._total is None:
      self._total = tqdm.tqdm(
          total=len(states), file=self._stream, dynamic_ncols=True, position=0,
          bar_format=_TOTAL_FORMAT)
    self._total.n = sum(x.kind == campaigns.DONE for x in states.values())
    self._total.set_postfix_str(text.partition(', ')[2])
    for slot, entry in running.items():
      state = states[entry.name]
      self._bars[slot].n = state.step
      self._bars[slot].set_postfix_str(_speed(state))

  def summary(self, running: int, states: Mapping[str, campaigns.State]
              ) -> str:
    """How much is done and left, in one line."""
    done = sum(x.kind == campaigns.DONE for x in states.values())
    parts: List[str] = [
        f'{done} of {len(states)} runs done', f'{running} running',
        f'{len(states) - done - running} left']
    seconds = campaigns.seconds_left([
        (self._entries[name], state, self._steps[name])
        for name, state in states.items()])
    if seconds is not None and done < len(states):
      parts.append(f'about {progress.duration(seconds / self._jobs)} to go')
    return ', '.join(parts)

  def _step_of(self, state: campaigns.State, entry: campaigns.Entry) -> str:
    speed = _speed(state)
    return (f'step {state.step}/{self._steps[entry.name]}'
            f'{"  " if speed else ""}{speed}')


def _speed(state: campaigns.State) -> str:
  return f'{1 / state.seconds:.2f} steps/s' if state.seconds else ''
