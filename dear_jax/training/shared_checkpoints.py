# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of a run on several hosts, which the first one keeps.

All hosts have the same parameters, so that one of them saves everything, and
what is restored can go to any number of hosts. Only the first host needs to see
the run folder.
"""

import dataclasses
from typing import Any, Optional

from dear_jax.training import checkpoints
from dear_jax.training import cluster
import jax
import numpy as np


class SharedCheckpoints:
  """As `checkpoints.Checkpoints`; the others' do nothing, except to restore."""

  def __init__(self, workdir: checkpoints.PathLike):
    """Opens the checkpoints of a run folder, if this is the first host."""
    self._own: Optional[checkpoints.Checkpoints] = None
    def open_at_first():
      self._own = checkpoints.Checkpoints(workdir)
      return self._own.latest_step
    self._latest_step = cluster.from_first(open_at_first)

  def __enter__(self) -> 'SharedCheckpoints':
    return self

  def __exit__(self, *exc_info):
    if self._own is not None:
      self._own.__exit__(*exc_info)

  @property
  def latest_step(self) -> Optional[int]:
    """The step of the latest checkpoint, None if there is none."""
    return self._latest_step if self._own is None else self._own.latest_step

  def save(self, state: checkpoints.TrainState) -> None:
    if self._own is not None:
      self._own.save(state)
    self._latest_step = state.step

  def save_best(self, best: checkpoints.Best) -> None:
    if self._own is not None:
      self._own.save_best(best)

  def save_final(self, kept: checkpoints.Kept) -> None:
    if self._own is not None:
      self._own.save_final(kept)

  def remove_final(self) -> None:
    if self._own is not None:
      self._own.remove_final()

  def restore(self, template: checkpoints.TrainState
              ) -> checkpoints.TrainState:
    """Loads the latest checkpoint, the same one at all hosts."""
    def restore_at_first() -> Any:
      assert self._own is not None
      state = self._own.restore(template)
      leaves = jax.tree_util.tree_leaves((state.params, state.opt_state))
      # Trees hold types of optax', some of which cannot be pickled.
      return (list(map(np.asarray, leaves)), dataclasses.replace(
          state, params=None, opt_state=None))

    if cluster.count() == 1:
      assert self._own is not None
      return self._own.restore(template)
    leaves, rest = cluster.from_first(restore_at_first)
    trees = jax.tree_util.tree_unflatten(
        jax.tree_util.tree_structure((template.params, template.opt_state)),
        leaves)
    return dataclasses.replace(rest, params=trees[0], opt_state=trees[1])
