# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""The flags that make a process one of several hosts (`cluster`)."""

from typing import Optional


def check(coordinator: Optional[str], num_hosts: Optional[int],
          host: Optional[int], distributed: bool = False) -> None:
  """Raises a ValueError unless hosts can be started with these flags."""
  flags = {'--coordinator': coordinator, '--num_hosts': num_hosts,
           '--host': host}
  given = [name for name, value in flags.items() if value is not None]
  missing = [name for name, value in flags.items() if value is None]
  if distributed and given:
    raise ValueError(f'--distributed finds out by itself what {given[0]} says: '
                     'give one or the other.')
  if not given:
    return
  if missing:
    raise ValueError(f'{", ".join(given)} needs {", ".join(missing)} too: '
                     '--coordinator, --num_hosts and --host go together.')
  assert coordinator is not None and num_hosts is not None and host is not None
  name, _, port = coordinator.rpartition(':')
  if not name or not port.isdigit() or not 0 < int(port) < 65536:
    raise ValueError('--coordinator must be the name or address of the first '
                     f'host and a free port on it, HOST:PORT, got '
                     f'{coordinator!r}.')
  if num_hosts < 1:
    raise ValueError(f'--num_hosts must be at least 1, got {num_hosts}.')
  if not 0 <= host < num_hosts:
    raise ValueError(f'--host must be from 0 to {num_hosts - 1} with '
                     f'--num_hosts={num_hosts}, got {host}.')


def check_batch(batch_size: int, num_parts: Optional[int],
                parts: str = 'hosts') -> None:
  """Raises a ValueError unless a batch can be shared evenly."""
  if num_parts and batch_size % num_parts:
    raise ValueError(f'batch_size={batch_size} cannot be shared evenly by '
                     f'{num_parts} {parts}: choose a multiple of {num_parts}.')
