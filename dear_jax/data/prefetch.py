# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Work done ahead of time, while the device computes."""

import collections
import concurrent.futures
from typing import Any, Callable, Deque, Iterator, Optional


class Prefetcher:
  """Makes items ahead of time, in background threads.

  An item has to be a function of its index alone; items come in the order of
  their indices, however many threads make them. A failure in the background is
  raised by the `next` that would have returned the item. Use it as a context
  manager: on exit nothing is left running.
  """

  def __init__(self, make: Callable[[int], Any], start: int, stop: int, *,
               workers: int = 1, depth: Optional[int] = None):
    """Initialises the prefetcher.

    Args:
      make: Gives the item of an index.
      start: The first index.
      stop: One past the last index.
      workers: How many threads make them.
      depth: How many items to keep ready; two for every worker unless given.
    """
    self._make = make
    self._indices = iter(range(start, stop))
    self._depth = depth or 2 * workers
    self._pending: Deque[concurrent.futures.Future] = collections.deque()
    self._executor = concurrent.futures.ThreadPoolExecutor(
        max_workers=workers, thread_name_prefix='dear_jax_prefetch')

  def __enter__(self) -> 'Prefetcher':
    self._fill()
    return self

  def __exit__(self, *unused_exc_info):
    self._executor.shutdown(wait=True, cancel_futures=True)

  def __iter__(self) -> Iterator[Any]:
    return self

  def __next__(self) -> Any:
    if not self._pending:
      raise StopIteration
    future = self._pending.popleft()
    self._fill()
    return future.result()

  def _fill(self):
    while len(self._pending) < self._depth:
      index = next(self._indices, None)
      if index is None:
        return
      self._pending.append(self._executor.submit(self._make, index))
