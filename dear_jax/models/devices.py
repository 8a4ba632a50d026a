# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Where data is put: one device or many, of one host or many."""

from typing import Any, Dict, Optional

import jax
from jax.experimental import multihost_utils
import numpy as np

# The axis of the mesh that batches are split along.
AXIS = 'batch'


class Devices:
  """Puts data on all devices of all hosts: parameters whole, batches in parts.

  Attributes:
    count: How many devices there are, on all hosts together.
    are_one: Whether that is one.
    are_cpus: Whether they are processors, not accelerators.
    nb_hosts: How many processes there are, each with devices of its own.
    mesh: Of all devices, those of a host next to each other.
  """

  def __init__(self):
    devices = sorted(jax.devices(), key=lambda x: (x.process_index, x.id))
    self.count = len(devices)
    self.are_one = self.count == 1
    self.are_cpus = devices[0].platform == 'cpu'
    self.nb_hosts = jax.process_count()
    self.mesh = jax.sharding.Mesh(np.array(devices), (AXIS,))
    spec = jax.sharding.PartitionSpec
    self._whole = jax.sharding.NamedSharding(self.mesh, spec())
    self._parts = jax.sharding.NamedSharding(self.mesh, spec(AXIS))

  @property
  def for_results(self) -> Dict[str, Any]:
    """Options of `jax.jit` by which every host gets the whole of results."""
    return {} if self.nb_hosts == 1 else {'out_shardings': self._whole}

  def splits(self, batch_size: int) -> bool:
    """Whether a batch, of all hosts together, is split."""
    return not self.are_one and batch_size % self.count == 0

  def replicate(self, tree):
    """Puts the same on all devices; every host has to have it."""
    if self.nb_hosts == 1:
      return jax.device_put(tree, self._whole)
    return jax.tree_util.tree_map(self._replicate_one, tree)

  def _replicate_one(self, x):
    if isinstance(x, jax.Array) and x.sharding == self._whole:
      return x
    x = np.asarray(x)
    return jax.make_array_from_callback(x.shape, self._whole, lambda i: x[i])

  def split(self, tree, is_part: bool = False):
    """Splits along the leading axis where the devices divide it.

    Args:
      tree: Arrays of numpy.
      is_part: Whether a host has its own part only, all of them as much.
        Otherwise every host has all of it.

    Returns:
      The same on the devices.
    """
    sizes = {np.shape(x)[0] for x in jax.tree_util.tree_leaves(tree)}
    if self.nb_hosts == 1:
      even = all(size % self.count == 0 for size in sizes)
      return jax.device_put(tree, self._parts if even else self._whole)
    if is_part:
      return jax.tree_util.tree_map(
          lambda x: jax.make_array_from_process_local_data(
              self._parts, np.asarray(x)), tree)
    even = all(size % self.count == 0 for size in sizes)
    sharding = self._parts if even else self._whole
    return jax.tree_util.tree_map(
        lambda x: jax.make_array_from_callback(
            np.shape(x), sharding, lambda i: np.asarray(x)[i]), tree)

  def key(self, rng_key):
    """A random key, as programs on several hosts take it."""
    return rng_key if self.nb_hosts == 1 else np.asarray(rng_key)

  def largest(self, number: int) -> int:
    """The largest of the numbers that the hosts have; all have to ask."""
    if self.nb_hosts == 1:
      return number
    return int(np.max(multihost_utils.process_allgather(np.int32(number))))


def rows_of_host(batch_size: int) -> Optional[slice]:
  """Which samples of a batch this host is to draw; None for all."""
  nb_hosts = jax.process_count()
  if nb_hosts == 1:
    return None
  size = batch_size // nb_hosts
  return slice(jax.process_index() * size, (jax.process_index() + 1) * size)
