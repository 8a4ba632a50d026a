# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Which of its parameters a run keeps, and what it would have with others.

The lowest validation loss, at the size of training, says little about larger
instances; so a run tells how both rules do, and keeps what its settings say.
"""

from typing import Any, Dict, Mapping, Optional

from dear_jax.training import checkpoints

BEST, LAST = 'best', 'last'

Candidates = Mapping[str, checkpoints.Kept]


def choose(candidates: Candidates, keeps_last: bool
           ) -> Optional[checkpoints.Kept]:
  """What a run keeps; None if there is nothing.

  Args:
    candidates: What was found finite, by the rule that would keep it.
    keeps_last: Whether the last parameters are wanted, not the best ones.

  Returns:
    The best ones too if the last ones are not finite.
  """
  if keeps_last and LAST in candidates:
    return candidates[LAST]
  return candidates.get(BEST)


def describe(candidates: Candidates, test_scores: Mapping[int, float]
             ) -> Dict[str, Dict[str, Any]]:
  """What either rule selects.

  Args:
    candidates: As above.
    test_scores: By the step of a candidate.

  Returns:
    By the name of the rule, what can be written as JSON.
  """
  return {rule: {'step': kept.step, 'val_loss': kept.loss,
                 'val_score': kept.score,
                 'test_score': test_scores[kept.step]}
          for rule, kept in candidates.items()}
