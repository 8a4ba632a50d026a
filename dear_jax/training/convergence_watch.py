# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tells a user, once, that solves do not converge or lead to NaN."""

import collections
from typing import Callable, Deque, Dict, List

import numpy as np

# A share of converged instances under this, over so many logged steps in a
# row, is told to the user.
_LOW = 0.9
_WINDOW = 10
_ADVICE = {
    'converged': (
        'of the instances reached an equilibrium; the others were cut off by '
        'max_iter. A larger residual_weight, a larger max_iter or a lower '
        'learning_rate may help.'),
    'backward_converged': (
        'of the backward solves converged, so the gradient of the others is an '
        'approximation. A smaller backward_decay, a larger jacobian_weight or '
        'backward_max_iter may help; gradient=one_step needs no such solve.'),
}
_FAILED_ADVICE = (
    'Warning: some instances led to NaN or infinity (`failed` in metrics.jsonl '
    'says how many). They are left out of the gradient; look for inputs that '
    'are not finite.')


class ConvergenceWatch:
  """Looks at the metrics of logged steps, as they come."""

  def __init__(self, log_every: int):
    self._log_every = log_every
    self._told_of_failures = False
    # What is still watched; whatever has been warned of is not.
    self._shares: Dict[str, Deque[float]] = {
        name: collections.deque(maxlen=_WINDOW) for name in _ADVICE}

  def look(self, metrics: List[Dict[str, float]],
           tell: Callable[[str], None]) -> None:
    """Takes the metrics of a step, one dictionary an algorithm."""
    if not self._told_of_failures and any(
        values.get('failed') for values in metrics):
      self._told_of_failures = True
      tell(_FAILED_ADVICE)
    for name, window in list(self._shares.items()):
      if name not in metrics[0]:
        continue  # nothing is solved
      window.append(float(np.mean([values[name] for values in metrics])))
      if len(window) == _WINDOW and max(window) < _LOW:
        tell(f'Warning: over the last {_WINDOW * self._log_every} steps only '
             f'{np.mean(window):.0%} {_ADVICE[name]}')
        del self._shares[name]
