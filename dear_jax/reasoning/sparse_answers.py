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


def check(task: str, problem: packed.Problem, outputs: answers.Outputs,
          with_matrix: Callable[..., Any]) -> answers.Check:
  """Compares outputs with those of the classical algorithm.

  Args:
    task: The name of the task.
    problem: The question.
    outputs: What was answered.
    with_matrix: Gives the outputs of the algorithm for a matrix. It is asked
      for tasks that have no algorithm on lists of edges.

  Returns:
    Both and where they differ.

  Raises:
    ValueError: if the task needs a matrix that does not fit into memory.
  """
  if task in sparse_algorithms.TASKS:
    truth = sparse_algorithms.solve(task, problem.graph, problem.source)
  else:
    truth = {name: x[0] for name, x in with_matrix(
        **sparse_questions.as_matrix(problem)).items()}
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
