# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Reasoners from a name, a run folder or a file."""

import dataclasses
import os
from typing import Any, Dict, Optional, Union

from dear_jax.data import graph_names
from dear_jax.reasoning import precision
from dear_jax.reasoning import reasoners
from dear_jax.reasoning import sources
from dear_jax.training import compile_cache


@precision.single()
def load(source: Union[str, os.PathLike], *, algorithm: Optional[str] = None,
         solver: Optional[str] = None, tol: Optional[float] = None,
         max_iter: Optional[int] = None, criterion: str = 'node',
         verbose: bool = True) -> reasoners.Reasoner:
  """Loads a trained model, to be asked about one's own graphs and arrays.

  >>> reasoner = load('bfs')
  >>> path = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
  >>> reasoner(adj=path, source=0)
  {'pi': array([0, 0, 1])}
  >>> print(reasoner.check(adj=path, source=2))
  score 1.000: the same as the algorithm.

  Args:
    source: The name of a reasoner that comes with the library (`pretrained`
      lists them), the folder of a run, or a file of `Reasoner.save`.
    algorithm: Which algorithm to answer for, if it was trained on several.
    solver: In place of the solver that it was trained with: 'anderson',
      'picard' or 'broyden'.
    tol: In place of its tolerance.
    max_iter: The most iterations of a solve; otherwise as many as `train` has
      in its test, and at least twice as many as there are nodes.
    criterion: What has to be at rest for a solve to have converged: every
      single 'node', or the 'state' as a whole, which is what models are trained
      with unless they were told otherwise. On a large graph a part of it may
      still be moving while the whole hardly does.
    verbose: Whether to say on stderr what a shipped one is bad at, and when
      an answer has to wait for the compiler. Programs are kept in the user's
      cache folder, unless `jax_compilation_cache_dir` names another one.

  Returns:
    The reasoner.

  Raises:
    ValueError: if there is nothing of that name, if it is damaged, or if it is
      not a trained model that can be asked.
  """
  trained = sources.read(source)
  config = trained.config
  compile_cache.enable_compilation_cache()
  given: Dict[str, Any] = {
      name: value for name, value in
           (('solver', solver), ('tol', tol), ('max_iter', max_iter))
           if value is not None}
  if given and config.model == 'nar':
    raise ValueError(f'{next(iter(given))} is of no use here: {source} was '
                     'trained with model=nar, which solves nothing.')
  given.update(criterion=criterion, test_criterion='same')
  # Only CLRS' own graphs have nodes with an edge to themselves.
  given['self_loops'] = config.self_loops and config.graphs == graph_names.ER
  reasoner = reasoners.Reasoner(
      dataclasses.replace(config, **given), trained.params,
      algorithm=algorithm, is_limit=trained.is_limit or max_iter is not None,
      made_by=trained.made_by, verbose=verbose)
  reasoner.check_params(source)
  if verbose:
    sources.warn(source)
  return reasoner
