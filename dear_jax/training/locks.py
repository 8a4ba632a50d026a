# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""One run at a time in a folder.

Whoever trains in a folder holds the file run.lock in it. The file says who that
is, so that other hosts on a shared file system can tell; on one host, a lock of
the system on the file tells whether its owner is still alive. So what a killed
process has left behind is taken over by the next one on the same host, and
nothing has to be cleaned up by hand.
"""

import contextlib
import json
import os
import pathlib
import socket
import time
from typing import Any, Dict, Iterator, Optional

from dear_jax.training import run_folder

try:
  import fcntl  # pylint: disable=g-import-not-at-top
except ImportError:  # not a Unix
  fcntl = None  # type: ignore[assignment]  # a module that is not there

NAME = 'run.lock'

# A lock without a name is either being made, for an instant, or was left by a
# process that was killed in that instant.
_ATTEMPTS = 10
_PAUSE = 0.05


@contextlib.contextmanager
def hold(workdir: run_folder.PathLike) -> Iterator[None]:
  """Holds the lock of a run folder, which has to exist.

  Args:
    workdir: The run folder.

  Yields:
    Nothing.

  Raises:
    run_folder.RunError: if another run holds it, or if it cannot be made.
  """
  path = pathlib.Path(workdir) / NAME
  try:
    descriptor = _acquire(path)
  except OSError as e:
    raise run_folder.RunError(f'{os.fspath(workdir)} cannot be written to '
                              f'({run_folder.reason(e)}).') from e
  try:
    yield
  finally:
    _release(path, descriptor)


def owner_of(workdir: run_folder.PathLike) -> Optional[str]:
  """Who trains in a folder, in words; None if nobody does.

  This only reads, and is in nobody's way. What a killed process on this machine
  has left behind is nobody's.
  """
  try:
    text = (pathlib.Path(workdir) / NAME).read_text(encoding='utf-8')
    owner = json.loads(text)
  except (OSError, ValueError):
    return None
  if not isinstance(owner, dict) or not owner or (
      _is_here(owner) and not _is_alive(owner, unless_known=True)):
    return None
  return _describe(owner)


def _acquire(path: pathlib.Path) -> int:
  """Makes the lock or takes it over; returns its file descriptor."""
  for attempt in range(_ATTEMPTS):
    if attempt:
      time.sleep(_PAUSE)
    is_new = True
    try:
      descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
    except FileExistsError:
      is_new = False
      try:
        descriptor = os.open(path, os.O_RDWR)
      except FileNotFoundError:  # released since
        continue
    try:
      if _take(path, descriptor, is_new, attempt == _ATTEMPTS - 1):
        return descriptor
    except OSError:
      if is_new:  # such as on a full disk
        path.unlink(missing_ok=True)
      os.close(descriptor)
      raise
    except BaseException:
      os.close(descriptor)
      raise
    os.close(descriptor)
  raise run_folder.RunError(
      f'{path.parent} is being locked and unlocked by other runs: try again, '
      'or choose another --workdir.')


def _take(path: pathlib.Path, descriptor: int, is_new: bool, is_last: bool
          ) -> bool:
  """Tries to become the owner; false if it is worth another attempt."""
  is_free = _lock(descriptor)
  owner = None if is_new and is_free is not False else _read(descriptor)
  if owner == {} and not is_last:
    return False
  if is_free is False:
    raise _in_use(path, owner)
  if owner and not _is_here(owner):
    raise run_folder.RunError(
        f'{path.parent} is locked by {_describe(owner)}: if that run is over, '
        f'delete {path} and try again.')
  # A file system may have no locks, or only pretend to. What this process has
  # the system's lock of, it had not been able to remove before.
  if owner and not (is_free and _is_this_process(owner)) and _is_alive(
      owner, unless_known=is_free is None):
    raise _in_use(path, owner)
  os.ftruncate(descriptor, 0)
  os.pwrite(descriptor, json.dumps(_myself()).encode(), 0)
  # Its last owner may have removed the file in between.
  try:
    return os.path.samestat(os.fstat(descriptor), os.stat(path))
  except FileNotFoundError:
    return False


def _release(path: pathlib.Path, descriptor: int) -> None:
  """Removes the lock, unless someone has put another in its place."""
  try:
    if os.path.samestat(os.fstat(descriptor), os.stat(path)):
      os.ftruncate(descriptor, 0)  # where it cannot be removed, it has no owner
      path.unlink()
  except OSError:
    pass  # the folder is gone, or cannot be written to any more
  finally:
    os.close(descriptor)


def _lock(descriptor: int) -> Optional[bool]:
  """Whether the system's lock is ours now; None if there is no such lock."""
  if fcntl is None:
    return None
  try:
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return True
  except BlockingIOError:
    return False
  except OSError:  # some network file systems have none
    return None


def _read(descriptor: int) -> Dict[str, Any]:
  """Who owns the lock; empty if it does not say."""
  try:
    owner = json.loads(os.pread(descriptor, 4096, 0))
  except ValueError:
    return {}
  return owner if isinstance(owner, dict) else {}


def _myself() -> Dict[str, Any]:
  return {'host': socket.gethostname(), 'boot': _boot(), 'pid': os.getpid(),
          'started': _start_of(os.getpid()),
          'since': time.strftime('%Y-%m-%d %H:%M:%S')}


def _is_here(owner: Dict[str, Any]) -> bool:
  """Whether a lock was made on this machine, be it in another container."""
  return owner.get('host') == socket.gethostname() or (
      owner.get('boot') is not None and owner['boot'] == _boot())


def _is_this_process(owner: Dict[str, Any]) -> bool:
  return (owner.get('host'), owner.get('pid')) == (
      socket.gethostname(), os.getpid())


def _is_alive(owner: Dict[str, Any], unless_known: bool) -> bool:
  """Whether the process that made a lock on this machine still runs.

  Args:
    owner: Of the lock.
    unless_known: What to say if that cannot be known.

  Returns:
    Whether it does.
  """
  if owner.get('boot') != _boot():
    return False  # the machine was started anew
  if owner.get('host') != socket.gethostname():
    return unless_known  # another container, with process numbers of its own
  started = _start_of(owner.get('pid'))
  if started is not None:
    return started == owner.get('started')
  if os.path.isdir('/proc/self') or not isinstance(owner.get('pid'), int):
    return False
  try:
    os.kill(owner['pid'], 0)
  except PermissionError:
    return True
  except OSError:
    return False
  return unless_known  # numbers of processes are used again


def _boot() -> Optional[str]:
  """What tells this start of this machine from others, where it is known."""
  try:
    return pathlib.Path('/proc/sys/kernel/random/boot_id').read_text().strip()
  except OSError:
    return None


def _start_of(pid: Any) -> Optional[str]:
  """When a process that runs was started, in the system's own units.

  Args:
    pid: Its number.

  Returns:
    None if there is no such process, or if that cannot be known.
  """
  try:
    stat = pathlib.Path(f'/proc/{int(pid)}/stat').read_text()
    fields = stat.rpartition(')')[2].split()
    return None if fields[0] in 'ZX' else fields[19]  # killed, not waited for
  except (OSError, TypeError, ValueError, IndexError):
    return None


def _in_use(path: pathlib.Path, owner: Optional[Dict[str, Any]]
            ) -> run_folder.RunError:
  return run_folder.RunError(
      f'{path.parent} is in use by {_describe(owner or {})}: wait for that run '
      'to end, or choose another --workdir.')


def _describe(owner: Dict[str, Any]) -> str:
  if not owner:
    return 'another run'
  return (f'process {owner.get("pid")} on {owner.get("host")}, since '
          f'{owner.get("since")}')
