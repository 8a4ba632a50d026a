# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Samples kept on disk.

One file for every task, split and size, in which a sample has the place of its
number and carries a checksum. A place that was never written, or whose writing
was cut off, fails its checksum and is made again; so a crash at any moment
costs the samples in hand and nothing else. Several processes may share a file:
what two of them write to one place is the same.
"""

import hashlib
import json
import os
import struct
from typing import Any, Callable, Dict, List, Sequence, Tuple
import zlib

from absl import logging
import clrs
import numpy as np

# To be raised whenever a sample of a given seed, split, size and number
# changes; older files are then left alone.
DATA_VERSION = 1

# No probe has a name with a dot.
_LENGTHS = 'features.lengths'

_CHECKSUM = struct.Struct('<Q')
# Tells a checksum of zero from a place that was never written.
_WRITTEN = 1 << 32


def check_folder(cache_dir: str) -> None:
  """Makes the folder; a ValueError if it cannot be made or written to."""
  folder = os.path.expanduser(os.fspath(cache_dir))
  try:
    os.makedirs(folder, exist_ok=True)
    if not os.access(folder, os.W_OK):
      raise PermissionError('no permission to write')
  except OSError as e:
    raise ValueError(f'The data cache {folder} cannot be used '
                     f'({e.strerror or e}).') from e


class SampleCache:
  """Gives samples from disk, and makes and keeps those that are not there."""

  def __init__(self, cache_dir: str, task: str, spec: clrs.Spec,
               make: Callable[[int, np.ndarray], clrs.Feedback],
               with_lengths: bool = False, **identity: Any):
    """Initialises the cache.

    Args:
      cache_dir: The folder; made if it does not exist.
      task: The name of the task.
      spec: The spec of the samples.
      make: Makes the samples of a size and of these numbers.
      with_lengths: Whether their lengths are kept, in files of their own;
        otherwise they are ones.
      **identity: Whatever else a sample depends on; with a `split`.

    Raises:
      ValueError: if the folder cannot be written to.
    """
    self._folder = os.path.expanduser(os.fspath(cache_dir))
    self._task = task
    self._spec = spec
    self._make = make
    self._with_lengths = with_lengths
    self._identity = identity
    self._files: Dict[int, Tuple[str, _Layout]] = {}
    self._warned = False
    check_folder(self._folder)

  def get(self, size: int, samples: np.ndarray) -> clrs.Feedback:
    """The samples of these numbers, as one batch."""
    if size not in self._files:
      layout = _Layout(self._spec, self._make(size, samples[:1]),
                       self._with_lengths)
      self._files[size] = self._path(size, layout), layout
    path, layout = self._files[size]
    records = np.zeros((len(samples), layout.record_size), np.uint8)
    missing = self._read(path, samples, records)
    if missing:
      records[missing] = layout.pack(self._make(size, samples[missing]))
      self._write(path, samples[missing], records[missing])
    return layout.unpack(records)

  def _path(self, size: int, layout: '_Layout') -> str:
    identity = {'data_version': DATA_VERSION, 'layout': layout.fields,
                'clrs': clrs.__version__, **self._identity}
    digest = hashlib.sha256(
        json.dumps(identity, sort_keys=True).encode()).hexdigest()
    name = f'{self._task}-{self._identity["split"]}-{size}-{digest[:16]}'
    return os.path.join(self._folder, f'{name}.samples')

  def _read(self, path: str, samples: np.ndarray, records: np.ndarray
            ) -> List[int]:
    """Fills in what the file has; returns the rows that it does not have."""
    if not os.path.exists(path):
      return list(range(len(samples)))
    missing = []
    stride = records.shape[1] + _CHECKSUM.size
    try:
      with open(path, 'rb') as file:
        for row, sample in enumerate(samples):
          file.seek(int(sample) * stride)
          data = file.read(stride)
          if (len(data) == stride and data[-_CHECKSUM.size:] ==
              _checksum(data[:-_CHECKSUM.size])):
            records[row] = np.frombuffer(data, np.uint8, records.shape[1])
          else:
            missing.append(row)
    except OSError:  # a damaged disk, or the file of another user
      return list(range(len(samples)))
    return missing

  def _write(self, path: str, samples: np.ndarray, records: np.ndarray):
    """Writes samples to their places. That it cannot is no reason to stop."""
    stride = records.shape[1] + _CHECKSUM.size
    try:
      with open(path, 'ab'):
        pass  # makes the file if there is none, and never truncates it
      with open(path, 'r+b') as file:
        for sample, record in zip(samples, records):
          data = record.tobytes()
          file.seek(int(sample) * stride)
          file.write(data + _checksum(data))
    except OSError as e:
      if not self._warned:
        logging.warning('The data cache %s cannot be written to (%s); going '
                        'on without it.', self._folder, e.strerror or e)
      self._warned = True


def _checksum(data: bytes) -> bytes:
  return _CHECKSUM.pack(zlib.crc32(data) | _WRITTEN)


class _Layout:
  """Where the probes of a sample, and its length, are in its record."""

  def __init__(self, spec: clrs.Spec, example: clrs.Feedback,
               with_lengths: bool):
    self._spec = spec
    self._with_lengths = with_lengths
    # Name, type and shape of all of them, without the axis of the batch.
    self.fields: List[Tuple[str, str, Sequence[int]]] = [
        (name, data.dtype.str, data.shape[1:])
        for name, data in self._arrays(example)]
    self._sizes = [np.dtype(dtype).itemsize * int(np.prod(shape))
                   for _, dtype, shape in self.fields]
    self.record_size = sum(self._sizes)

  def pack(self, feedback: clrs.Feedback) -> np.ndarray:
    """[B, record_size], the bytes of a batch."""
    return np.concatenate(
        [np.ascontiguousarray(data).reshape(len(data), -1).view(np.uint8)
         for _, data in self._arrays(feedback)], axis=1)

  def unpack(self, records: np.ndarray) -> clrs.Feedback:
    """The batch of these bytes."""
    probes: Dict[str, List[clrs.DataPoint]] = {
        stage: [] for stage in (
            clrs.Stage.INPUT, clrs.Stage.HINT, clrs.Stage.OUTPUT)}
    lengths = np.ones(len(records))
    start = 0
    for (name, dtype, shape), size in zip(self.fields, self._sizes):
      data = np.ascontiguousarray(records[:, start:start + size]).view(dtype)
      data = data.reshape((len(records),) + tuple(shape))
      start += size
      if name == _LENGTHS:
        lengths = data
        continue
      stage, location, type_ = self._spec[name]
      if stage == clrs.Stage.HINT:
        data = data[None]
      probes[stage].append(clrs.DataPoint(name, location, type_, data))
    return clrs.Feedback(
        clrs.Features(tuple(probes[clrs.Stage.INPUT]),
                      tuple(probes[clrs.Stage.HINT]), lengths),
        probes[clrs.Stage.OUTPUT])

  def _arrays(self, feedback: clrs.Feedback) -> List[Tuple[str, np.ndarray]]:
    """The names and the data [B, ...] of all that is in a record."""
    features = feedback.features
    lengths = [(_LENGTHS, features.lengths)] if self._with_lengths else []
    return ([(x.name, x.data) for x in features.inputs]
            + [(x.name, x.data[0]) for x in features.hints]
            + [(x.name, x.data) for x in feedback.outputs] + lengths)
