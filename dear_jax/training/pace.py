# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""How long training steps take, without what is compiled and validated.

It has a file of its own, pace.jsonl, as times differ from run to run, while
metrics.jsonl of a resumed run is that of an uninterrupted one to the letter.
"""

import time
from typing import Any, Callable, Optional, Sequence

from dear_jax.training import run_folder

# Steps at the beginning and at the end of a run that are compared.
SPAN = 100

# While one step runs, the next is prepared: what is compiled for that one falls
# into the time of both.
_DISTURBED = 2


class PaceFile(run_folder.MetricsFile):
  """pace.jsonl: how many steps since the last line were timed, in seconds."""

  NAME = 'pace.jsonl'


class Pace:
  """Times steps as they end."""

  def __init__(self, clock: Callable[[], float] = time.monotonic):
    self._clock = clock
    self._last: Optional[float] = None
    self._disturbed = 0
    self._timed = 0
    self._seconds = 0.0

  def pause(self) -> None:
    """What has passed since the last step is not training."""
    self._last = None

  def disturb(self) -> None:
    """Something is compiled: the steps that it falls into do not count."""
    self._disturbed = _DISTURBED

  def step(self) -> None:
    """A step has ended."""
    now = self._clock()
    if self._disturbed:
      self._disturbed -= 1
    elif self._last is not None:
      self._timed += 1
      self._seconds += now - self._last
    self._last = now

  def take(self) -> Any:
    """What was timed since the last time that this was called."""
    result = {'timed': self._timed, 'seconds': round(self._seconds, 4)}
    self._timed, self._seconds = 0, 0.0
    return result


def seconds_a_step(lines: Sequence[Any], above: int, upto: int
                   ) -> Optional[float]:
  """The mean time of some steps of a run.

  Args:
    lines: Of pace.jsonl.
    above: The step that the first of them comes after.
    upto: The last of them.

  Returns:
    Seconds, or None if none of these steps was timed.
  """
  found = [x for x in lines if above < x['step'] <= upto]
  timed = sum(x['timed'] for x in found)
  return sum(x['seconds'] for x in found) / timed if timed else None
