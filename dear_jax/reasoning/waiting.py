# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""What someone who waits for an answer is told."""

import sys
import threading
import time
from typing import Any, Callable, Optional, Union

import numpy as np
import tqdm

# Called with the number of iterations so far, the most that there may be, and
# the residual: that of the instance which is farthest from rest.
Watch = Callable[[int, int, float], None]

# Nobody needs to be told of a shorter wait, such as that for a program which is
# read from the cache.
_SAY_AFTER = 0.5

_BAR_FORMAT = '{n_fmt} of at most {total_fmt} iterations [{elapsed}{postfix}]'


class Announcement:
  """Says what is waited for, if it takes long, and how long it took.

  A context manager. All of it is one line on stderr, begun while waiting.
  """

  def __init__(self, text: str, after: Optional[float] = None):
    """Initialises the announcement.

    Args:
      text: What is waited for.
      after: How many seconds to keep quiet; half a second unless given.
    """
    self._text = text
    self._timer = threading.Timer(_SAY_AFTER if after is None else after,
                                  self._say)
    self._timer.daemon = True
    self._lock = threading.Lock()
    self._is_over = self._was_said = False
    self._began = 0.0

  def __enter__(self) -> 'Announcement':
    self._began = time.monotonic()
    self._timer.start()
    return self

  def __exit__(self, kind, *unused_exc_info):
    self._timer.cancel()
    with self._lock:
      self._is_over = True
    if self._was_said:
      end = '' if kind is None else ' (not finished)'
      print(f' {time.monotonic() - self._began:.1f} s{end}', file=sys.stderr,
            flush=True)

  def _say(self):
    with self._lock:
      if not self._is_over:
        self._was_said = True
        print(f'dear_jax: {self._text} ...', end='', file=sys.stderr,
              flush=True)


class Bar:
  """A line on stderr that tells how far a solve is. A context manager."""

  def __init__(self):
    self._bar: Any = None

  def __enter__(self) -> 'Bar':
    return self

  def __exit__(self, *unused_exc_info):
    if self._bar is not None:
      self._bar.close()

  def __call__(self, step: int, limit: int, residual: float) -> None:
    if self._bar is None:
      self._bar = tqdm.tqdm(total=limit, file=sys.stderr, unit='',
                            bar_format=_BAR_FORMAT)
    self._bar.set_postfix_str(f'residual {residual:.2g}', refresh=False)
    self._bar.update(step - self._bar.n)
    self._bar.refresh()


def check_progress(progress: Union[bool, Watch]) -> None:
  """Raises a ValueError unless this says how to show progress."""
  if not isinstance(progress, (bool, np.bool_)) and not callable(progress):
    raise ValueError('progress must be True, False or a function, got '
                     f'{progress!r}.')
