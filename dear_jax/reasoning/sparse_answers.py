# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""What a reasoner says of graphs that are packed into one list of edges."""

from typing import Any, Callable, List, Sequence, Tuple

from dear_jax.data import sparse_algorithms
from dear_jax.models import packed
from dear_jax.reasoning import answers
from dear_jax.reasoning import sparse_questions
import numpy as np

Answered = Tuple[answers.Outputs, answers.Details]


def plain(answer: packed.Answer) -> Answered:
  """An answer in the form that single questions have theirs."""
  found = answer.instance
  return answer.outputs, answers.Details(
      confidence=found['confidence'], steps=found['steps'],
      residual=found['residual'], converged=found['converged'],
      confidences=answer.confidences)


def check(task: str, problems: Sequence[packed.Problem],
          answered: Sequence[Answered], pose: Callable[..., Any]
          ) -> List[answers.Check]:
  """Compares answers with those of the classical algorithm.

  Args:
    task: The name of the task.
    problems: The questions.
    answered: What was answered.
    pose: That of a sampler of the task, which solves problems with matrices.
      It is asked for tasks that have no algorithm on lists of edges.

  Returns:
    For every question both answers and where they differ.

  Raises:
    ValueError: if the task needs a matrix that does not fit into memory.
  """
  return [_check(outputs, _solve(task, problem, pose))
          for problem, (outputs, _) in zip(problems, answered)]


def _solve(task: str, problem: packed.Problem, pose: Callable[..., Any]
           ) -> answers.Outputs:
  if task in sparse_algorithms.TASKS:
    return sparse_algorithms.solve(task, problem.graph, problem.source)
  found = pose(True, **sparse_questions.as_matrix(problem)).outputs
  return {name: x[0] for name, x in answers.plain(
      {x.name: x for x in found}).items()}


def _check(outputs: answers.Outputs, truth: answers.Outputs) -> answers.Check:
  wrong = {name: outputs[name] != expected
           for name, expected in truth.items()}
  score = float(np.mean([1 - x.mean() for x in wrong.values()]))
  return answers.Check(outputs, truth, wrong, score)


def describe(problems: Sequence[packed.Problem]) -> str:
  """Names what a program is compiled for, in words."""
  nb_nodes = sum(x.graph.nb_nodes for x in problems)
  nb_edges = sum(len(x.graph.senders) for x in problems)
  count = '' if len(problems) == 1 else f'{len(problems)} graphs of '
  return f'{count}{nb_nodes:,} nodes and {nb_edges:,} edges'


def each(found: Sequence[Answered], details: bool) -> List[Any]:
  """What a list of questions is answered with."""
  return [x if details else x[0] for x in found]
