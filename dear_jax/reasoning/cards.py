# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""The reasoners that come with the library, and what is known about each.

A card is a JSON file beside the parameters, written by experiments/ship.py.
Reading one takes neither JAX nor CLRS.
"""

import dataclasses
import importlib.resources
import json
from typing import Any, Dict, List, Mapping, Optional, Tuple

PARAMETERS = '.npz'
CARD = '.json'

# A confidence that is so far above the score is a weakness.
TOO_SURE = 0.05

_HEAD = ('graphs', 'size', 'samples', 'score', 'right throughout', 'converged',
         'confidence')


@dataclasses.dataclass(frozen=True)
class Score:
  """How a reasoner does on instances of one kind and size.

  Attributes:
    graphs: Their family; None for arrays.
    size: How many nodes or keys they have.
    samples: How many there were.
    score: That of CLRS, from 0 to 1.
    whole: The share of instances without a mistake.
    converged: The share of solves that converged.
    confidence: How sure it was, on average.
  """
  graphs: Optional[str]
  size: int
  samples: int
  score: float
  whole: float
  converged: float
  confidence: float


@dataclasses.dataclass(frozen=True)
class Card:
  """What is known about a reasoner that comes with the library.

  `print` shows all of it.

  Attributes:
    name: What `dear_jax.load` takes.
    arguments: The names of what a question consists of.
    training: How it was trained, in a sentence.
    command: What made it.
    chosen: Why it is this one, in a sentence.
    mebibytes: The size of its file.
    scores: What it was tried on.
    weaknesses: What it is known to be bad at, a sentence each.
  """
  name: str
  arguments: Tuple[str, ...]
  training: str
  command: str
  chosen: str
  mebibytes: float
  scores: Tuple[Score, ...]
  weaknesses: Tuple[str, ...]

  def __repr__(self) -> str:
    largest = max(self.scores, key=lambda x: (
        x.graphs in (None, 'er'), x.size), default=None)
    about = largest and (f': {largest.score:.3f} right at size {largest.size}')
    return f'Card({self.name}({", ".join(self.arguments)}){about or ""})'

  def __str__(self) -> str:
    rows = [_HEAD, *(_cells(x) for x in self.scores)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEAD))]
    table = ['  '.join(cell.ljust(width) for cell, width in zip(row, widths))
             .rstrip() for row in rows]
    return '\n'.join([
        f'{self.name}({", ".join(self.arguments)}), '
        f'{self.mebibytes:.2f} MiB', '', self.training, self.chosen, '', *table,
        '', 'Known weaknesses:', *(f'- {x}' for x in self.weaknesses), '',
        'Made by:', self.command])


def _cells(score: Score) -> List[str]:
  return [score.graphs or 'arrays', str(score.size), str(score.samples),
          *(f'{x:.3f}' for x in (score.score, score.whole, score.converged,
                                 score.confidence))]


def caution(card: Card) -> Optional[str]:
  """What someone who loads a reasoner should know at once, if anything.

  Args:
    card: Of the reasoner.

  Returns:
    A sentence that names the kinds of graphs on which it is wrong and sure, at
    the largest size that was tried.
  """
  size = max(x.size for x in card.scores)
  kinds = [f'{x.graphs or "arrays"} ({x.score:.2f} right, {x.confidence:.2f} '
           'sure)' for x in card.scores
           if x.size == size and x.confidence - x.score > TOO_SURE]
  if not kinds:
    return None
  return (f'{card.name} is wrong more often than it knows at size {size} on '
          f'{", ".join(kinds)}; print(dear_jax.pretrained()[{card.name!r}]) '
          'tells more.')


def data():
  """The folder of what comes with the library."""
  return importlib.resources.files('dear_jax') / 'pretrained'


def names() -> List[str]:
  """The names of the reasoners that come with the library."""
  return sorted(entry.name.removesuffix(PARAMETERS)
                for entry in data().iterdir()
                if entry.name.endswith(PARAMETERS))


def from_json(values: Mapping[str, Any]) -> Card:
  """Reads a card; what is not known to this version is left out."""
  fields = [x.name for x in dataclasses.fields(Card)]
  found: Dict[str, Any] = {
      name: tuple(x) if isinstance(x, list) else x
      for name, x in values.items() if name in fields}
  found['scores'] = tuple(Score(**x) for x in values['scores'])
  return Card(**found)


def pretrained() -> Dict[str, Card]:
  """Lists the trained reasoners that come with the library.

  >>> pretrained()['bfs'].arguments
  ('adj', 'source')

  Returns:
    What is known about each, by the name that `dear_jax.load` takes; `print`
    shows one in full.
  """
  return {name: from_json(json.loads(
      (data() / f'{name}{CARD}').read_text(encoding='utf-8')))
          for name in names()}
