# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Trained models that answer questions about one's own graphs and arrays."""

import contextlib
import dataclasses
import functools
import os
from typing import (
  Any,
  Iterable,
  List,
  Optional,
  Set,
  Tuple,
  Union,
)

import clrs
from dear_jax.data import samplers
from dear_jax.data import scoring
from dear_jax.models import batches
from dear_jax.models import packed
from dear_jax.networks import kinds
from dear_jax.reasoning import answers
from dear_jax.reasoning import examples
from dear_jax.reasoning import precision
from dear_jax.reasoning import questions
from dear_jax.reasoning import sources
from dear_jax.reasoning import sparse_answers
from dear_jax.reasoning import sparse_questions
from dear_jax.reasoning import tracing
from dear_jax.reasoning import waiting
from dear_jax.reports import pictures
from dear_jax.training import builders
from dear_jax.training import configs
import jax
import numpy as np

_Outputs = answers.Outputs

# What `warm_up` compiles for unless told otherwise.
_WARM_SIZES = (16, 64)


class Reasoner:
  """A trained model that takes and gives numpy arrays; see `loading.load`.

  Attributes:
    task: The name of the algorithm.
    arguments: The names of what a question consists of.
    config: The settings that the model was trained with, with those of the
      solver that it answers with.
    made_by: The commands that made it, if it came with them.
    verbose: Whether to say so when someone has to wait for the compiler.
  """

  @precision.single()
  def __init__(self, config: configs.TrainConfig, params: Any, *,
               algorithm: Optional[str] = None,
               is_limit: bool = False,
               made_by: Optional[str] = None,
               verbose: bool = True):
    """Constructs a reasoner; `loading.load` is easier.

    Args:
      config: The settings of the model.
      params: Its parameters.
      algorithm: Which of its algorithms to answer for, if it has several.
      is_limit: As in `builders.build_model`.
      made_by: The commands that made it.
      verbose: As in `load`.
    """
    self.task = _choose_algorithm(config.algorithms, algorithm)
    self.arguments = questions.argument_names(self.task)
    self.config = config
    self.made_by = made_by
    self.verbose = verbose
    self._index = config.algorithms.index(self.task)
    self._params = params
    self._is_limit = is_limit
    self._samplers = [
        samplers.make_sampler(
            name, size=samplers.min_size(name), batch_size=1, seed=0,
            split='test', with_lengths=config.model == 'nar')
        for name in config.algorithms]
    self._programs: Set[Any] = set()

  def __repr__(self) -> str:
    return (f'Reasoner({self.task}({", ".join(self.arguments)}), '
            f'processor={self.config.processor}, '
            f'hidden_size={self.config.hidden_size})')

  @property
  def nb_programs(self) -> int:
    """How many programs its questions have needed so far."""
    return len(self._programs)

  @precision.single()
  def __call__(self, *args: Any, details: bool = False,
               progress: Union[bool, waiting.Watch] = False, **kwargs: Any
               ) -> Union[_Outputs, Tuple[_Outputs, answers.Details],
                          List[Any]]:
    """Answers a question, or a batch of questions of one size.

    Tasks on graphs take `adj` and, where the algorithm has one, `source`. The
    matrix `adj` [N, N] has ones at edges, or their weights. It may also be a
    networkx graph, whose nodes are then numbered in its own order; `source` is
    a node of it. Tasks on arrays take `keys` [N] and, for searches, `target`.
    All of them may have a batch axis in front.

    Large graphs need no matrix: `adj` may be `(senders, receivers, n)` or
    `(senders, receivers, weights, n)` with rows of node numbers, or a sparse
    matrix of scipy. Time and memory then go with the edges, of which an
    undirected one is there in both directions. A list of questions, each a
    dictionary of its arguments, is answered by a list: graphs of different
    sizes are solved side by side, and as they would be alone.

    Weights and keys are brought to where training has seen them, in a way that
    does not change the answer (`ranges`). Equal keys count as they stand.

    Questions of other sizes get nodes that are none, up to the next size on a
    short ladder, so that few of them wait for the compiler; the answers are the
    same. The first one on a rung does wait: see `warm_up`. A solve that takes
    long can be watched, and Ctrl-C ends it.

    Args:
      *args: The question, in the order of `arguments`.
      details: Whether to tell how the answer was found.
      progress: Whether to show how far the solve is, on stderr; or a function
        to be called with the number of iterations so far, the most that there
        may be, and the residual.
      **kwargs: The question, by name.

    Returns:
      The outputs, under their names in CLRS: pointers are the indices of nodes,
      masks have ones. With `details`, a pair of these and `Details`.

    Raises:
      ValueError: if the question is not one that the task answers.
      KeyboardInterrupt: on Ctrl-C, within about a second.
    """
    waiting.check_progress(progress)
    with contextlib.ExitStack() as stack:
      watch = (stack.enter_context(waiting.Bar()) if progress is True
               else progress or None)
      if sparse_questions.is_list(args, kwargs, self.arguments):
        return sparse_answers.each(self._answer_list(args[0], watch), details)
      question = self._read(args, kwargs)
      if isinstance(question, packed.Problem):
        found, = self._answer_packed([question], watch)
        return found if details else found[0]
      feedback = self._pose(question, with_outputs=False)
      preds, found = self._answer(feedback.features, watch)
    outputs = answers.plain(preds)
    if question.is_single:
      outputs, found = jax.tree_util.tree_map(
          lambda x: x[0], (outputs, found))
    if not details:
      return outputs
    return outputs, answers.Details(
        confidence=found['confidence'], steps=found['steps'],
        residual=found.get('residual'), converged=found.get('converged'),
        confidences={name: x for name, x in found['confidences'].items()
                     if name in outputs})

  @precision.single()
  def check(self, *args: Any, **kwargs: Any
            ) -> Union[answers.Check, List[Any]]:
    """Answers a question, and compares with the classical algorithm.

    Args:
      *args: As in a call.
      **kwargs: As in a call.

    Returns:
      Both answers and where they differ. A difference need not be a mistake:
      where a problem has several solutions, CLRS settles for one of them. A
      list of questions has a list of these.

    Raises:
      ValueError: as in a call.
    """
    if sparse_questions.is_list(args, kwargs, self.arguments):
      found = self._read_list(args[0])
      return (self._check_packed(sparse_questions.as_edges(found))
              if self._packs else [self.check(**x) for x in args[0]])
    question = self._read(args, kwargs)
    if isinstance(question, packed.Problem):
      return self._check_packed([question])[0]
    feedback = self._pose(question, with_outputs=True)
    preds, _ = self._answer(feedback.features)
    outputs = answers.plain(preds)
    truth = answers.plain({x.name: x for x in feedback.outputs})
    score = scoring.SampleScores(feedback.outputs, preds).scores()['score']
    wrong = {name: (outputs[name] != expected)
                   & (expected != clrs.OutputClass.MASKED)
             for name, expected in truth.items()}
    if question.is_single:
      outputs, truth, wrong = (
          {name: x[0] for name, x in values.items()}
          for values in (outputs, truth, wrong))
    return answers.Check({name: outputs[name] for name in truth}, truth, wrong,
                         score)

  @precision.single()
  def draw(self, *args: Any,
           path: Optional[Union[str, os.PathLike]] = None, **kwargs: Any):
    """Draws how a single question is solved, iteration by iteration.

    Args:
      *args: As in a call.
      path: A file to write: an animation if its name ends in '.gif', and
        otherwise a picture of the kind that its ending says.
      **kwargs: As in a call.

    Returns:
      The picture, a `matplotlib.figure.Figure`.

    Raises:
      ValueError: as in a call; for a batch; or for a task or a model of which
        there is no picture.
    """
    question = self._read(args, kwargs)
    if isinstance(question, packed.Problem):
      question = questions.Question(sparse_questions.as_matrix(question), True)
    if not question.is_single:
      raise ValueError('draw takes one question at a time, not a batch.')
    feedback = self._pose(question, with_outputs=True)
    trace = tracing.trace(self._model, feedback, self._index)
    picture = (trace, feedback, self.task)
    figure = pictures.strip(*picture, tol=self.config.tol)
    if path is not None and os.fspath(path).lower().endswith('.gif'):
      pictures.animate(*picture, os.fspath(path), tol=self.config.tol)
    elif path is not None:
      figure.savefig(path)
    return figure

  def save(self, path: Union[str, os.PathLike], made_by: Optional[str] = None,
           *, half: bool = False) -> None:
    """Writes the reasoner to one file, which `load` reads.

    Args:
      path: The file; its name ends in '.npz'.
      made_by: The commands that made it, to be kept with it.
      half: Whether to write parameters in half precision, in half the space.
        What is loaded computes in single precision as ever.

    Raises:
      ValueError: if the name of the file ends in something else, or parameters
        are too large for half precision.
      OSError: if it cannot be written. What was there before is then as it
        was.
    """
    sources.write(path, self.config, self._params, made_by or self.made_by,
                  half, self._is_limit)

  @precision.single()
  def warm_up(self, sizes: Union[int, Iterable[int]] = _WARM_SIZES,
              batch_size: int = 1) -> int:
    """Compiles ahead all that questions with matrices of some sizes need.

    Those that give edges, and lists of questions, have programs of their own,
    which are compiled when they are first needed. Programs are kept in the
    compilation cache, also for other processes.

    Args:
      sizes: The numbers of nodes, or of keys. All sizes on the same rung are
        compiled for together, and graphs of all densities.
      batch_size: How many questions are going to be asked at a time.

    Returns:
      How many programs there were to be compiled or read from the cache.

    Raises:
      ValueError: if a size is too small for the task, or not a whole number.
    """
    before = self.nb_programs
    for size in sizes if isinstance(sizes, Iterable) else [sizes]:
      for example in examples.examples(self.task, size, batch_size):
        question = self._read((), example)
        assert isinstance(question, questions.Question)
        self._answer(self._pose(question, with_outputs=False).features,
                     only_if_new=True)
    return self.nb_programs - before

  def _answer(self, features: clrs.Features,
              watch: Optional[waiting.Watch] = None, only_if_new: bool = False):
    """Asks the model, and says so if someone has to wait for the compiler.

    Args:
      features: The question.
      watch: As in `answer` of models.
      only_if_new: Whether to ask only for the program's sake.

    Returns:
      What the model says; None if there was no need to ask.
    """
    batch = self._model.prepare(features, self._index)
    shapes = tuple(np.shape(x) for x in jax.tree_util.tree_leaves(batch))
    ask = functools.partial(
        self._model.answer, jax.random.PRNGKey(0), features, self._index,
        prepared=batch)
    if shapes not in self._programs:
      with contextlib.ExitStack() as stack:
        if self.verbose:
          stack.enter_context(waiting.Announcement(
              f'compiling {self.task} for {batches.describe(batch)}'))
        found = ask(compile_only=True)
      self._programs.add(shapes)
    elif only_if_new:
      return None
    return found if only_if_new else ask(watch=watch)

  def _answer_packed(self, problems: List[packed.Problem],
                     watch: Optional[waiting.Watch] = None
                     ) -> List[sparse_answers.Answered]:
    """As `_answer`, for graphs that come as their edges."""
    if not problems:
      return []
    pack = self._model.packed
    graphs = pack.prepare(problems, self._index)
    shapes = tuple(np.shape(x) for x in jax.tree_util.tree_leaves(graphs))
    ask = functools.partial(pack.answer, self._model.device_params, problems,
                            self._index, prepared=graphs)
    if shapes not in self._programs:
      with contextlib.ExitStack() as stack:
        if self.verbose:
          stack.enter_context(waiting.Announcement(
              f'compiling {self.task} for '
              f'{sparse_answers.describe(problems)}'))
        ask(compile_only=True)
      self._programs.add(shapes)
    return [sparse_answers.plain(x) for x in ask(watch=watch)]

  def _answer_list(self, asked: List[Any],
                   watch: Optional[waiting.Watch]) -> List[Any]:
    """Answers several questions, in one program if they can be packed."""
    found = self._read_list(asked)  # before any of them is answered
    if self._packs:
      return self._answer_packed(sparse_questions.as_edges(found), watch)
    return [self(details=True, progress=watch or False, **x) for x in asked]

  def _read_list(self, asked: List[Any]) -> List[Any]:
    return sparse_questions.read_list(asked, lambda x: self._read((), x))

  def _check_packed(self, problems: List[packed.Problem]
                    ) -> List[answers.Check]:
    return sparse_answers.check(
        self.task, problems, self._answer_packed(problems),
        self._samplers[self._index].pose)

  @functools.cached_property
  def _packs(self) -> bool:
    """Whether it answers for graphs without matrices."""
    return (questions.graph_form(self.task) is not None
            and self.config.model == 'dear'
            and self._model.packed.refusal(self._index) is None)

  def _read(self, args, kwargs
            ) -> Union[questions.Question, packed.Problem]:
    """Reads a question; as a matrix if it is one, or if it has to be."""
    least = samplers.min_size(self.task)
    takes_lists = self._packs or kinds.takes_edge_lists(self.config.kind)
    problem = sparse_questions.read(
        self.task, args, kwargs, min_size=least,
        width=0 if takes_lists else self.config.hidden_size)
    if problem is not None:
      return problem if self._packs else questions.Question(
          sparse_questions.as_matrix(problem), True)
    return questions.read(self.task, args, kwargs, min_size=least)

  def _pose(self, question: questions.Question, with_outputs: bool
            ) -> clrs.Feedback:
    return self._samplers[self._index].pose(with_outputs, **question.problems)

  @functools.cached_property
  def _model(self):
    model = self._build()
    model.params = self._params
    return model

  def _build(self):
    config = dataclasses.replace(self.config, align_to=None, init_from=None)
    return builders.build_model(
        config, [sampler.spec for sampler in self._samplers],
        [sampler.batch(0) for sampler in self._samplers],
        is_limit=self._is_limit)

  def check_params(self, source: Union[str, os.PathLike]) -> None:
    """Raises a ValueError unless the parameters are those of the settings.

    Args:
      source: Where they are from, for the message.
    """
    model = self._build()
    builders.set_params(model, self._params, [
        sampler.batch(0) for sampler in self._samplers], source)
    self._model = model


def _choose_algorithm(known: Tuple[str, ...], wanted: Optional[str]) -> str:
  if wanted is None and len(known) == 1:
    return known[0]
  if wanted is None:
    raise ValueError('This model was trained on several algorithms: choose one '
                     f'with algorithm=, of {", ".join(known)}.')
  samplers.check_choice('algorithm', wanted, known)
  return wanted
