# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the memory of the host."""

import ctypes
import sys

from dear_jax.training import host_memory
from experiments import cli
import pytest
from tests import scripted


@pytest.fixture(name='calls')
def _calls(monkeypatch):
  calls = []
  class Library:
    def __init__(self, unused_name):
      pass

    @staticmethod
    def mallopt(option, value):
      calls.append((option, value))
      return 1
  monkeypatch.setattr(ctypes, 'CDLL', Library)
  monkeypatch.setattr(sys, 'platform', 'linux')
  monkeypatch.delenv('MALLOC_ARENA_MAX', raising=False)
  return calls


def test_neither_maps_nor_trims(calls):
  assert host_memory.keep_freed_memory()
  assert calls == [(-4, 0), (-1, 2**31 - 1)]


def test_leaves_alone_what_the_user_has_set(calls, monkeypatch):
  monkeypatch.setenv('MALLOC_ARENA_MAX', '2')
  assert not host_memory.keep_freed_memory()
  assert not calls


def test_other_systems(calls, monkeypatch):
  monkeypatch.setattr(sys, 'platform', 'darwin')
  assert not host_memory.keep_freed_memory()
  monkeypatch.setattr(sys, 'platform', 'linux')
  monkeypatch.setattr(ctypes, 'CDLL', lambda unused_name: object())
  assert not host_memory.keep_freed_memory()
  assert not calls


def test_commands_choose_it_and_the_library_does_not(monkeypatch, tmp_path):
  calls = []
  monkeypatch.setattr(host_memory, 'keep_freed_memory',
                      lambda: calls.append(1))
  scripted.install(monkeypatch)
  scripted.train(tmp_path, train_steps=1)
  assert not calls
  cli.prepare()
  assert calls == [1]
