# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of work done ahead of time."""

import subprocess
import sys
import threading
import time

from dear_jax.data import prefetch
import pytest


@pytest.mark.parametrize('workers', [1, 3])
def test_all_items_in_order_and_nothing_left_running(workers):
  threads = set()
  def square(i):
    threads.add(threading.current_thread())
    time.sleep(0.01 if i % 2 else 0.0)  # the later ones are ready first
    return i * i
  with prefetch.Prefetcher(square, 3, 13, workers=workers) as items:
    assert list(items) == [i * i for i in range(3, 13)]
  assert 1 <= len(threads) <= workers
  assert threading.current_thread() not in threads
  assert not any(thread.is_alive() for thread in threads)


def test_works_ahead_but_not_far():
  made = []
  ready = threading.Event()
  def item(i):
    made.append(i)
    if len(made) == 2:
      ready.set()
    return i
  with prefetch.Prefetcher(item, 0, 100, depth=2) as items:
    assert ready.wait(5)
    assert next(items) == 0
  assert len(made) <= 3


def test_a_failure_is_raised_in_the_foreground_with_its_cause():
  def item(i):
    if i == 1:
      try:
        raise OSError('disk on fire')
      except OSError as e:
        raise KeyError('broken sample') from e
    return i
  with prefetch.Prefetcher(item, 0, 5) as items:
    assert next(items) == 0
    with pytest.raises(KeyError, match='broken sample') as error:
      next(items)
  assert 'disk on fire' in str(error.value.__cause__)
  assert any(entry.name == 'item' for entry in error.traceback)


def test_leaving_early_stops_the_threads():
  before = threading.active_count()
  with pytest.raises(ZeroDivisionError):
    with prefetch.Prefetcher(lambda i: i, 0, 10**6, workers=2) as items:
      next(items)
      raise ZeroDivisionError
  assert threading.active_count() == before


def test_an_abandoned_prefetcher_does_not_keep_the_program_alive():
  program = ('from dear_jax.data import prefetch\n'
             'items = prefetch.Prefetcher(lambda i: i, 0, 10**9).__enter__()\n'
             'print(next(items), flush=True)\n')
  result = subprocess.run([sys.executable, '-c', program], timeout=120,
                          capture_output=True, text=True, check=True)
  assert result.stdout == '0\n'
