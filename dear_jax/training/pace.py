# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""How long training steps take, without what is compiled and validated.

It has a file of its own, pace.jsonl, as times differ from run to run, while
metrics.jsonl of a resumed run is that of an uninterrupted one to the letter.

Where the processor does the work, its time is noted beside that of the clock:
it is the same whatever else the machine has to do.
"""

import time
from typing import Any, Callable, Dict, Mapping, Optional, Sequence

from dear_jax.training import run_folder

_Clock = Callable[[], float]

CLOCK = 'seconds'
PROCESSOR = 'processor_seconds'

# Steps at the beginning and at the end of a run that are compared.
SPAN = 100

# While one step runs, the next is prepared: what is compiled for that one falls
# into the time of both.
_DISTURBED = 2


class PaceFile(run_folder.MetricsFile):
  """pace.jsonl: how many steps since the last line were timed, in seconds."""

  NAME = 'pace.jsonl'


def clocks_of(backend: str) -> Dict[str, _Clock]:
  """What to measure by on a backend of JAX."""
  clocks = {CLOCK: time.monotonic}
  # An accelerator works while the processor waits.
  if backend == 'cpu':
    clocks[PROCESSOR] = time.process_time
  return clocks


class Pace:
  """Times steps as they end."""

  def __init__(self, clocks: Mapping[str, _Clock]):
    self._clocks = clocks
    self._last: Optional[Dict[str, float]] = None
    self._disturbed = 0
    self._timed = 0
    self._seconds = dict.fromkeys(self._clocks, 0.0)

  def pause(self) -> None:
    """What has passed since the last step is not training."""
    self._last = None

  def disturb(self) -> None:
    """Something is compiled: the steps that it falls into do not count."""
    self._disturbed = _DISTURBED

  def step(self) -> None:
    """A step has ended."""
    now = {name: clock() for name, clock in self._clocks.items()}
    if self._disturbed:
      self._disturbed -= 1
    elif self._last is not None:
      self._timed += 1
      for name, last in self._last.items():
        self._seconds[name] += now[name] - last
    self._last = now

  def take(self) -> Any:
    """What was timed since the last time that this was called."""
    result = {'timed': self._timed,
              **{name: round(x, 4) for name, x in self._seconds.items()}}
    self._timed = 0
    self._seconds = dict.fromkeys(self._clocks, 0.0)
    return result


def seconds_a_step(lines: Sequence[Any], above: int, upto: int,
                   by: str = CLOCK) -> Optional[float]:
  """The mean time of some steps of a run.

  Args:
    lines: Of pace.jsonl.
    above: The step that the first of them comes after.
    upto: The last of them.
    by: `CLOCK` or `PROCESSOR`.

  Returns:
    Seconds, or None if none of these steps was timed so.
  """
  found = [x for x in lines if above < x['step'] <= upto and by in x]
  timed = sum(x['timed'] for x in found)
  return sum(x[by] for x in found) / timed if timed else None
