# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Shared set-up of the tests."""

import functools
import gc
from importlib import metadata
import os
import warnings

# Before the first import of JAX and TensorFlow. Nearly all of the time goes
# into compiling programs that run once, so compile them without optimisation.
os.environ['JAX_PLATFORMS'] = 'cpu'
_XLA_FLAGS = ['--xla_backend_optimization_level=0',
              '--xla_llvm_disable_expensive_passes=true',
              # Otherwise two devices of one processor may wait for ever, each
              # in another exchange (experiments/benchmark_devices.py).
              '--xla_cpu_enable_concurrency_optimized_scheduler=false']
if metadata.version('jaxlib').startswith('0.10.'):
  # The older emitters take half the time, and a file of its own for every
  # thread takes some, too. Other versions may not know these two, and XLA ends
  # the process over a flag that it does not know.
  _XLA_FLAGS += ['--xla_cpu_use_fusion_emitters=false',
                 '--xla_cpu_parallel_codegen_split_count=1']
os.environ['XLA_FLAGS'] = ' '.join([os.environ.get('XLA_FLAGS', ''),
                                    *_XLA_FLAGS])

from experiments import cli  # noqa: E402
import pytest  # noqa: E402

# Tests of one file share what they have trained and compiled, and so run in one
# process. These share nothing, and fill up what is left at the end.
_SPREAD = ('conformance_test.py',)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
  """Distributes files, unless another way to distribute was asked for."""
  if config.option.dist != 'load':
    return None
  from xdist import scheduler  # pylint:disable=g-import-not-at-top

  class Scheduling(scheduler.LoadScopeScheduling):

    def _split_scope(self, nodeid):
      file = nodeid.split('::')[0]
      return nodeid if file.endswith(_SPREAD) else file

  return Scheduling(config, log)


@pytest.fixture(autouse=True)
def _nothing_stays_registered():
  """Steps and tasks of a test's own are forgotten with it."""
  # pylint:disable=g-import-not-at-top
  from dear_jax.data import own_tasks
  from dear_jax.networks import own_steps
  tables = (own_steps.REGISTERED, own_tasks.REGISTERED)
  before = [dict(table) for table in tables]
  yield
  for table, content in zip(tables, before):
    table.clear()
    table.update(content)


@pytest.fixture(scope='module', autouse=True)
def _programs_are_forgotten():
  """What one file has compiled fills the memory and slows down the others."""
  yield
  import jax  # pylint:disable=g-import-not-at-top
  jax.clear_caches()
  gc.collect()


def pytest_collect_file():
  """Where tests are distributed, only processes that run them need it."""
  _import_libraries()


@functools.lru_cache(maxsize=None)
def _import_libraries():
  with warnings.catch_warnings(), cli.silence():
    # TensorFlow and its friends warn on import; that is not ours to mend.
    warnings.simplefilter('ignore')
    import clrs  # noqa: F401
    from dear_jax.training import loop
    import orbax.checkpoint  # noqa: F401

    # Before any program has defined flags.
    from tests import commands  # noqa: F401
  # Later runs find what was compiled.
  loop.enable_compilation_cache()
  # What is there by now stays: no need to look through it time and again.
  gc.freeze()
