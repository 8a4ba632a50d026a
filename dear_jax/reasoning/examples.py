# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Questions that are asked for the sake of their shape alone."""

from typing import Any, Dict, Iterator

from dear_jax.reasoning import questions
import numpy as np


def examples(task: str, size: int, batch_size: int = 1
             ) -> Iterator[Dict[str, Any]]:
  """Questions of one size, of all densities if they are about graphs.

  >>> [int(x['adj'].sum()) for x in examples('bfs', 4)]
  [0, 6, 10, 12]

  Args:
    task: The name of the task.
    size: How many nodes or keys there are.
    batch_size: How many questions to ask at a time; 1 is without a batch axis.

  Yields:
    The arguments of a question.

  Raises:
    ValueError: if the size or the batch size is not a whole number from 1 on.
  """
  for name, value in (('size', size), ('batch_size', batch_size)):
    if not isinstance(value, (int, np.integer)) or value < 1:
      raise ValueError(f'{name} must be a whole number of at least 1, got '
                       f'{value!r}.')
  names = questions.argument_names(task)
  batch = lambda x: x if batch_size == 1 else np.stack([x] * batch_size)
  if 'keys' in names:
    keys = np.arange(size) / size
    yield {'keys': batch(keys), **({'target': 0.0} if 'target' in names
                                   else {})}
    return
  distance = np.arange(size) - np.arange(size)[:, None]
  reach = 0
  while True:
    adj = (distance > 0) & (distance <= reach)  # without cycles
    if not questions.is_directed(task):
      adj = adj | adj.T
    yield {'adj': batch(adj.astype(float)),
           **({'source': 0} if 'source' in names else {})}
    if reach >= size - 1:
      return
    reach = min(size - 1, max(reach + 1, 5 * reach // 4))
