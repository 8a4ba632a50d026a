# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Signals that ask a run to end."""

import signal
import threading


class StopSignals:
  """Turns SIGTERM and SIGINT into a flag. A context manager.

  The second signal finds the handlers that end a process at once. Only the
  main thread may set handlers; in any other one the flag stays down.
  """

  def __init__(self):
    self.requested = False
    self._previous = {}

  def __enter__(self) -> 'StopSignals':
    if threading.current_thread() is threading.main_thread():
      for number in (signal.SIGTERM, signal.SIGINT):
        self._previous[number] = signal.signal(number, self._handle)
    return self

  def __exit__(self, *unused_exc_info):
    for number, handler in self._previous.items():
      signal.signal(number, handler)

  def _handle(self, unused_number, unused_frame):
    self.requested = True
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
