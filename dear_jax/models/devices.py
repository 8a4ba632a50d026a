# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Where data is put: one device or many."""

import jax
import numpy as np


class Devices:
  """Puts data on all local devices: parameters whole, batches in parts."""

  def __init__(self):
    devices = jax.local_devices()
    self._count = len(devices)
    self.are_one = self._count == 1
    self.is_one_cpu = self.are_one and devices[0].platform == 'cpu'
    mesh = jax.sharding.Mesh(np.array(devices), ('batch',))
    spec = jax.sharding.PartitionSpec
    self._whole = jax.sharding.NamedSharding(mesh, spec())
    self._parts = jax.sharding.NamedSharding(mesh, spec('batch'))

  def replicate(self, tree):
    return jax.device_put(tree, self._whole)

  def split(self, tree):
    """Splits along the leading axis where the devices divide it."""
    sizes = {np.shape(x)[0] for x in jax.tree_util.tree_leaves(tree)}
    even = all(size % self._count == 0 for size in sizes)
    return jax.device_put(tree, self._parts if even else self._whole)
