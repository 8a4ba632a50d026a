# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""What a setting is: declared once, and everything else made from that.

A field of `configs.TrainConfig` is declared by `setting`, with its default, its
meaning and its range. Checks, docstring, flags with their `--help`, and
docs/settings.md all come from there. Nothing here imports JAX or CLRS, so that
a command line is answered at once.
"""

import dataclasses
import math
import numbers
import operator
import re
import textwrap
import typing
from typing import Any, List, Optional, Tuple, Type, TypeVar, Union

from dear_jax.data import task_names

_T = TypeVar('_T')
_KEY = 'setting'

# What a number may be compared with, and how to say it.
_BOUNDS = (
    ('low', operator.ge, 'at least'), ('above', operator.gt, 'more than'),
    ('high', operator.le, 'at most'), ('below', operator.lt, 'less than'))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Setting:
  """What is known of a setting.

  Attributes:
    meaning: What it is, in whole sentences.
    choices: The words that it can be, if it cannot be just any.
    low: The least number that it can be; or `above`, just not that number.
    high: The greatest number that it can be; or `below`, just not that number.
    heading: In the docs, of this setting and of those that follow.
    flag: Its name on a command line.
    name: That of the field, like `type` and `default`.
  """
  meaning: str
  choices: Tuple[str, ...] = ()
  low: Optional[float] = None
  above: Optional[float] = None
  high: Optional[float] = None
  below: Optional[float] = None
  heading: str = ''
  flag: str = ''
  name: str = ''
  type: Any = None
  default: Any = None

  @property
  def limits(self) -> str:
    """What it can be, in words; empty if there is nothing to say."""
    limits = ' and '.join(f'{words} {getattr(self, name)}'
                          for name, _, words in _BOUNDS
                          if getattr(self, name) is not None)
    if self.low is not None and self.high is not None:
      limits = f'from {self.low} to {self.high}'
    if not self.choices:
      return limits
    words = (*self.choices, f'a number of {limits}') if limits else self.choices
    return f'{", ".join(words[:-1])} or {words[-1]}'

  @property
  def help(self) -> str:
    """The meaning, with limits and default."""
    limits = f'{self.limits}; ' if self.limits else ''
    return f'{self.meaning} ({limits}default: {as_text(self.default)})'

  def check(self, value: Any) -> None:
    """Raises a ValueError, in one sentence, unless it can be this value."""
    types = (typing.get_args(self.type)
             if typing.get_origin(self.type) is Union else (self.type,))
    if value in self.choices or value is None and type(None) in types:
      return
    if self.type is bool and value not in (True, False):
      raise ValueError(f'{self.name} must be True or False, got {value!r}.')
    if int in types or float in types:
      self._check_number(value, whole=int in types)
    elif self.choices:
      task_names.check_choice(self.name, value, self.choices)

  def _check_number(self, value: Any, whole: bool) -> None:
    kind = numbers.Integral if whole else numbers.Real
    if (isinstance(value, kind) and not isinstance(value, bool) and all(
        compare(value, getattr(self, name)) for name, compare, _ in _BOUNDS
        if getattr(self, name) is not None) and math.isfinite(value)):
      return
    words = self.limits
    if not self.choices:
      kind_of = 'a whole number' if whole else 'a number'
      words = f'{kind_of} {"" if words.startswith("from") else "of "}{words}'
    raise ValueError(f'{self.name} must be {words}, got {value!r}.')

  def read(self, text: Any) -> Any:
    """The value of a flag; the inverse of `as_text`."""
    if isinstance(text, int) and self.type == Tuple[int, int]:
      text = str(text)
    if self.type == Tuple[str, ...]:
      return tuple(word.strip() for word in text.split(','))
    if self.type == Tuple[int, int]:
      match = re.fullmatch(r'(\d+)(?:\.\.(\d+))?', text.strip())
      if not match:
        raise ValueError(f'{self.flag} must be a size or a range such as '
                         f'{as_text(self.default)}, got {text!r}.')
      return int(match[1]), int(match[2] or match[1])
    if self.type == Union[str, int] and text.isdigit():
      return int(text)
    return text


def as_text(value: Any) -> str:
  """A value as it stands on a command line."""
  if isinstance(value, tuple):
    return ('..' if isinstance(value[0], int) else ',').join(map(str, value))
  if value is None or isinstance(value, bool):
    return str(value).lower()
  return str(value)


def setting(default: Any, meaning: str, **about: Any) -> Any:
  """Declares a field of a dataclass; what else there is to say is a keyword."""
  return dataclasses.field(default=default, metadata={
      _KEY: Setting(meaning=meaning, **about)})


def of(cls: Any) -> List[Setting]:
  """The settings of a dataclass, or of an instance of it, in order."""
  result = []
  for field in dataclasses.fields(cls):
    about = field.metadata[_KEY]
    result.append(dataclasses.replace(
        about, name=field.name, flag=about.flag or field.name, type=field.type,
        default=field.default))
  return result


def documented(cls: Type[_T]) -> Type[_T]:
  """Adds the settings of a dataclass to its docstring."""
  lines = [textwrap.fill(f'{x.name}: {x.help}', 78, initial_indent=' ' * 4,
                         subsequent_indent=' ' * 6) for x in of(cls)]
  cls.__doc__ = '\n'.join(
      ((cls.__doc__ or '').rstrip(), '', '  Attributes:', *lines, '  '))
  return cls
