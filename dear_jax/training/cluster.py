# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Several hosts that train one model together.

A host is a process with devices of its own. All of them run the same program,
step by step, on their parts of every batch, by `jax.distributed`. The first one
writes the run folder. docs/scaling.md tells how to start them, and what happens
if one of them is lost.
"""

import contextlib
import ctypes
import io
import os
import pickle
import re
import signal
import socket
import sys
import tempfile
from typing import Any, Callable, Iterable, Iterator, Optional, TextIO

from dear_jax.models import devices
from dear_jax.training import host_flags
from dear_jax.training import run_folder
import jax
from jax.experimental import multihost_utils
import jax.numpy as jnp
import numpy as np

# A host that has not been heard of for so many seconds is given up.
_HEARTBEAT_SECONDS = 20
# How long to wait for the others, in the beginning and in the end.
_START_SECONDS = 300
_END_SECONDS = 30

LOST = ('Another host of this run was lost, so this one stops too; what was '
        'saved last is in the run folder, and --resume goes on from there, '
        'with any number of hosts.')
_NOT_STARTED = ('The hosts of this run did not find each other within '
                f'{_START_SECONDS} seconds: each has to be started, with the '
                'same --coordinator and --num_hosts and with a --host of its '
                'own.')
_EXIT_CODE = 1

# What JAX, gloo and NCCL say of a connection that is gone.
_LOST_WORDS = re.compile(
    'gloo|nccl|connection|peer|socket|coordination|heartbeat|unavailable|'
    'deadline|aborted|cancelled', re.IGNORECASE)


class HostLostError(run_folder.RunError):
  """Another host is gone."""


def start(coordinator: Optional[str] = None, num_hosts: Optional[int] = None,
          host: Optional[int] = None) -> None:
  """Makes this process one of several hosts; before JAX computes anything.

  Args:
    coordinator: 'HOST:PORT' of the first host; None asks the cluster, such as
      Slurm or a TPU pod, for all three.
    num_hosts: How many there are.
    host: Which of them this is, from 0 on.

  Raises:
    ValueError: if there is no cluster that JAX knows, or if this is the first
      host and its port is taken.
    HostLostError: if the others cannot be found.
  """
  if coordinator is not None and host == 0:
    _check_port(coordinator)
  # Between the processors of hosts; accelerators have ways of their own.
  jax.config.update('jax_cpu_collectives_implementation', 'gloo')
  # It would take SIGTERM away from us.
  jax.config.update('jax_enable_preemption_service', False)
  _say_it_when_aborted(_NOT_STARTED)
  # All arguments are known, or none; a detection must not fill in one.
  detection = None if coordinator is None else 'deactivate'
  if num_hosts is not None and num_hosts > 1:
    print(f'Host {host} of {num_hosts} looks for the others at {coordinator}, '
          f'for {_START_SECONDS} seconds at the most.', file=sys.stderr,
          flush=True)
  try:
    jax.distributed.initialize(
        coordinator, num_hosts, host, initialization_timeout=_START_SECONDS,
        cluster_detection_method=detection,
        heartbeat_timeout_seconds=_HEARTBEAT_SECONDS,
        shutdown_timeout_seconds=_END_SECONDS)
  except ValueError as e:
    if coordinator is not None:
      raise
    raise ValueError(
        '--distributed needs a cluster that JAX knows, such as Slurm, Open MPI '
        'or a TPU pod; elsewhere give every host --coordinator, --num_hosts '
        'and --host.') from e
  except RuntimeError as e:
    raise HostLostError(_NOT_STARTED) from e
  _say_it_when_aborted(LOST)


def _check_port(coordinator: str) -> None:
  """Raises a ValueError if the port is taken, of which JAX would crash."""
  port = int(coordinator.rpartition(':')[2])
  with socket.socket() as probe:
    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
      probe.bind(('', port))
    except OSError as e:
      raise ValueError(f'--coordinator={coordinator}: port {port} is not free '
                       'on this host; choose another one.') from e


def end() -> None:
  """Waits for the others, for a moment, before this host goes."""
  if jax.distributed.is_initialized():
    jax.distributed.shutdown()


@contextlib.contextmanager
def leaving_at_once() -> Iterator[None]:
  """Ends the process as soon as it fails, so that others need not wait."""
  try:
    yield
  except SystemExit as e:
    if e.code and jax.distributed.is_initialized():
      sys.stdout.flush()
      sys.stderr.flush()
      os._exit(e.code if isinstance(e.code, int) else 1)
    raise


def count() -> int:
  """How many hosts there are."""
  return jax.process_count()


def is_first() -> bool:
  """Whether this is the host that writes the run folder."""
  return jax.process_index() == 0


def from_first(make: Callable[[], Any]) -> Any:
  """What the first host makes, or the RunError that it raises, for all.

  Args:
    make: Called at the first host only. What it returns has to be something
      that can be pickled.

  Returns:
    The same at every host.
  """
  if count() == 1:
    return make()
  text = b''
  if is_first():
    try:
      value, error = make(), None
    except run_folder.RunError as e:
      value, error = None, e
    text = pickle.dumps((value, error))
  broadcast = multihost_utils.broadcast_one_to_all
  length = int(broadcast(np.int32(len(text))))
  padded = np.frombuffer(text.ljust(length), np.uint8)
  value, error = pickle.loads(np.asarray(broadcast(padded)).tobytes())
  if error is not None:
    raise error
  return value


@contextlib.contextmanager
def folder_of(workdir: run_folder.PathLike) -> Iterator[str]:
  """The run folder, at the first host; at others, what is thrown away."""
  if is_first():
    yield os.fspath(workdir)
    return
  with tempfile.TemporaryDirectory(prefix='dear_jax_host_') as scratch:
    yield scratch


def stream() -> Optional[TextIO]:
  """Where progress is shown: stderr, unless this is another than the first."""
  return None if is_first() else io.StringIO()


def share_batches(samplers: Iterable[Any]) -> None:
  """Has this host draw its part of every batch, in place of all of it."""
  for sampler in samplers:
    rows = devices.rows_of_host(sampler.batch_size)
    if rows is not None:
      sampler.keep_rows(rows)


def check_batch(batch_size: int) -> None:
  """Raises a RunError unless the devices of several hosts can share it."""
  if count() > 1:
    try:
      host_flags.check_batch(batch_size, jax.device_count(),
                             f'devices of {count()} hosts')
    except ValueError as e:
      raise run_folder.RunError(str(e)) from e


@contextlib.contextmanager
def noticing_losses() -> Iterator[None]:
  """Turns what JAX says of a lost host into a `HostLostError`."""
  try:
    yield
  except jax.errors.JaxRuntimeError as e:
    if count() > 1 and _LOST_WORDS.search(str(e)):
      raise HostLostError(LOST) from e
    raise


class AnyHost:
  """Whether one of the hosts says yes; all of them have to ask."""

  def __init__(self):
    self._devices = devices.Devices()
    self._program = jax.jit(jnp.any, **self._devices.for_results)

  def __call__(self, yes: bool) -> bool:
    if count() == 1:
      return yes
    return bool(self._program(self._devices.split(
        np.full(jax.local_device_count(), yes), is_part=True)))


_Handler = ctypes.CFUNCTYPE(None, ctypes.c_int)


def _say_it_when_aborted(sentence: str) -> None:
  """Has the last words of this process be a sentence, if JAX aborts it.

  JAX watches over all hosts, and when one is lost it ends the process from a
  thread of its own, by abort(). No handler of Python's would ever be called.

  Args:
    sentence: What to say.
  """
  words = f'\n{os.path.basename(sys.argv[0])}: {sentence}\n'.encode()

  def handle(unused_number):
    os.write(2, words)
    os._exit(_EXIT_CODE)

  handler = _Handler(handle)
  _HANDLERS.append(handler)  # C holds no reference
  libc = ctypes.CDLL(None)
  libc.signal.argtypes = [ctypes.c_int, _Handler]
  libc.signal.restype = ctypes.c_void_p
  libc.signal(signal.SIGABRT, handler)


_HANDLERS: list = []
