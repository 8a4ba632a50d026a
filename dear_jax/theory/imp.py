# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""IMP, the paper's example language, with loops that denote fixed points.

The denotation of a command is a partial function from states to states, and
that of a loop `w = while b do c` is the least fixed point of the function

    f(w)(s) = w(c(s)) if b(s) else s

which is where the chain of approximations `f^n(undefined)` leads (the paper's
section on denotational semantics). The factorial of its appendix:

>>> loop = parse('while X > 0 do (Y := X * Y; X := X - 1)')
>>> state = {'X': 3, 'Y': 1}
>>> [approximation(loop, n)(state) for n in range(5)]
[None, None, None, None, {'X': 0, 'Y': 6}]
>>> fixed_point = denotation(loop)
>>> fixed_point(state), fixed_point({'X': -2, 'Y': 5})
({'X': 0, 'Y': 6}, {'X': -2, 'Y': 5})
>>> print(denotation(parse('while true do skip'))({}))
None
"""

import dataclasses
import operator
import re
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple, Union

# Maps locations to integers. A location is a variable, or 'A[3]' of an array.
State = Mapping[str, int]
# None is where it is undefined.
StateTransformer = Callable[[State], Optional[Dict[str, int]]]

# Whether a loop ever ends cannot be decided; after so many approximations it
# counts as undefined.
_LIMIT = 100_000


@dataclasses.dataclass(frozen=True)
class Number:
  value: int


@dataclasses.dataclass(frozen=True)
class Truth:
  value: bool


@dataclasses.dataclass(frozen=True)
class Location:
  name: str
  index: Optional['Expression'] = None


@dataclasses.dataclass(frozen=True)
class Operation:
  symbol: str
  operands: Tuple['Expression', ...]


@dataclasses.dataclass(frozen=True)
class Skip:
  pass


@dataclasses.dataclass(frozen=True)
class Assign:
  location: Location
  value: 'Expression'


@dataclasses.dataclass(frozen=True)
class Sequence:
  commands: Tuple['Command', ...]


@dataclasses.dataclass(frozen=True)
class If:
  condition: 'Expression'
  then: 'Command'
  otherwise: 'Command'


@dataclasses.dataclass(frozen=True)
class While:
  condition: 'Expression'
  body: 'Command'


Expression = Union[Number, Truth, Location, Operation]
Command = Union[Skip, Assign, Sequence, If, While]

# From those that bind least to those that bind most, with what they take and
# what they give.
_BINARY = (
    {'or': (operator.or_, bool, bool)},
    {'and': (operator.and_, bool, bool)},
    {'==': (operator.eq, int, bool), '!=': (operator.ne, int, bool),
     '<': (operator.lt, int, bool), '<=': (operator.le, int, bool),
     '>': (operator.gt, int, bool), '>=': (operator.ge, int, bool)},
    {'+': (operator.add, int, int), '-': (operator.sub, int, int)},
    {'*': (operator.mul, int, int)},
)
_UNARY = {'not': (operator.not_, bool, bool), '-': (operator.neg, int, int)}
_KEYWORDS = {'or', 'and', 'not', 'true', 'false', 'skip', 'if', 'then', 'else',
             'while', 'do'}
_TOKEN = re.compile(r'\s*(\d+|[A-Za-z_]\w*|:=|==|!=|<=|>=|[-+*<>()\[\];]|\S)')


def parse(text: str) -> Command:
  """Reads a command.

  >>> parse('if A < B then C := 0 else C := A - B').otherwise.location.name
  'C'

  Args:
    text: `skip`, `X := a`, `if b then c else c`, `while b do c`, or several
      commands `(c; c; ...)`. In expressions there are `+ - *`, comparisons,
      `true false and or not`, parentheses, and elements `A[a]` of arrays.

  Returns:
    The command.

  Raises:
    ValueError: If the text is no command.
  """
  parser = _Parser(text)
  command = parser.command()
  parser.expect('')
  return command


def denotation(command: Command, limit: int = _LIMIT) -> StateTransformer:
  """The partial function that a command denotes.

  Args:
    command: The command.
    limit: A loop that none of so many approximations defines counts as
      undefined.

  Returns:
    A function from states to new states, or to None where it is undefined.
    Locations that a state does not have are 0.
  """
  if isinstance(command, Skip):
    return dict
  if isinstance(command, Assign):
    return lambda state: {
        **state, _name(command.location, state): _value(command.value, state)}
  if isinstance(command, Sequence):
    parts = [denotation(part, limit) for part in command.commands]
    def run(state):
      for part in parts:
        if state is not None:
          state = part(state)
      return state
    return run
  if isinstance(command, If):
    then = denotation(command.then, limit)
    otherwise = denotation(command.otherwise, limit)
    return lambda state: (
        then if _value(command.condition, state) else otherwise)(state)

  def least_upper_bound(state):
    # The approximations agree where they are defined, so any of them will do.
    step, count = _step(command, limit), 1
    while True:
      result = _approximate(step, count, state)
      if result is not None or count >= limit:
        return result
      count = min(2 * count, limit)
  return least_upper_bound


def approximation(loop: While, count: int, limit: int = _LIMIT
                  ) -> StateTransformer:
  """The n-th approximation of a loop, `f^n` of what is defined nowhere.

  Args:
    loop: The loop.
    count: n.
    limit: As in `denotation`, for loops within the loop.

  Returns:
    A partial function that is defined for states from which the loop ends
    after less than n passes.
  """
  if not isinstance(loop, While):
    raise ValueError(f'Only loops are approximated, got {loop!r}.')
  step = _step(loop, limit)
  return lambda state: _approximate(step, count, state)


def _step(loop: While, limit: int
          ) -> Callable[[State], Tuple[bool, Optional[Dict[str, int]]]]:
  """`f`: whether to ask the next approximation, and with which state."""
  body = denotation(loop.body, limit)
  def step(state):
    goes_on = _value(loop.condition, state)
    return goes_on, body(state) if goes_on else dict(state)
  return step


def _approximate(step, count, state):
  for _ in range(count):
    goes_on, state = step(state)
    if not goes_on or state is None:
      return state
  return None


def _value(expression: Expression, state: State) -> Any:
  if isinstance(expression, (Number, Truth)):
    return expression.value
  if isinstance(expression, Location):
    return state.get(_name(expression, state), 0)
  values = [_value(x, state) for x in expression.operands]
  return _meaning(expression.symbol, len(values))[0](*values)


def _name(location: Location, state: State) -> str:
  if location.index is None:
    return location.name
  return f'{location.name}[{_value(location.index, state)}]'


def _meaning(symbol: str, count: int):
  if count == 1:
    return _UNARY[symbol]
  return next(level[symbol] for level in _BINARY if symbol in level)


def _kind(expression: Expression) -> type:
  if isinstance(expression, Operation):
    return _meaning(expression.symbol, len(expression.operands))[2]
  return bool if isinstance(expression, Truth) else int


class _Parser:
  """Recursive descent."""

  def __init__(self, text: str):
    self._tokens: List[str] = _TOKEN.findall(text) + ['']

  def command(self) -> Command:
    if self._take('skip'):
      return Skip()
    if self._take('('):
      commands = [self.command()]
      while self._take(';'):
        commands.append(self.command())
      self.expect(')')
      return Sequence(tuple(commands))
    if self._take('if'):
      condition = self._expression(bool)
      self.expect('then')
      then = self.command()
      self.expect('else')
      return If(condition, then, self.command())
    if self._take('while'):
      condition = self._expression(bool)
      self.expect('do')
      return While(condition, self.command())
    location = self._atom()
    if not isinstance(location, Location):
      raise ValueError(f'Only a location can be assigned to, got {location!r}.')
    self.expect(':=')
    return Assign(location, self._expression(int))

  def expect(self, token: str) -> None:
    if not self._take(token):
      describe = lambda x: repr(x) if x else 'the end'
      raise ValueError(f'Expected {describe(token)}, got '
                       f'{describe(self._tokens[0])}.')

  def _take(self, token: str) -> bool:
    if self._tokens[0] != token:
      return False
    if token:  # the end stays
      del self._tokens[0]
    return True

  def _expression(self, kind: type) -> Expression:
    return self._of_kind(self._binary(0), kind)

  def _of_kind(self, expression: Expression, kind: type) -> Expression:
    if _kind(expression) is not kind:
      wanted, got = (('a truth value', 'a number') if kind is bool
                     else ('a number', 'a truth value'))
      raise ValueError(f'Expected {wanted}, got {got}: {expression!r}.')
    return expression

  def _binary(self, level: int) -> Expression:
    if level == len(_BINARY):
      return self._unary()
    left = self._binary(level + 1)
    while self._tokens[0] in _BINARY[level]:
      symbol = self._tokens.pop(0)
      kind = _BINARY[level][symbol][1]
      right = self._of_kind(self._binary(level + 1), kind)
      left = Operation(symbol, (self._of_kind(left, kind), right))
    return left

  def _unary(self) -> Expression:
    for symbol, (_, kind, _) in _UNARY.items():
      if self._take(symbol):
        # `not` takes a whole comparison, a minus the next factor.
        operand = self._binary(2) if symbol == 'not' else self._unary()
        return Operation(symbol, (self._of_kind(operand, kind),))
    return self._atom()

  def _atom(self) -> Expression:
    token = self._tokens[0]
    if self._take('('):
      expression = self._binary(0)
      self.expect(')')
      return expression
    if token in ('true', 'false'):
      self._take(token)
      return Truth(token == 'true')
    if token.isdigit():
      self._take(token)
      return Number(int(token))
    if not token.isidentifier() or token in _KEYWORDS:
      raise ValueError('Expected an expression or a command, got '
                       f'{repr(token) if token else "the end"}.')
    self._take(token)
    if not self._take('['):
      return Location(token)
    index = self._expression(int)
    self.expect(']')
    return Location(token, index)
