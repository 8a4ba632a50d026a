# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the IMP interpreter, against the paper's example and Python."""

import math

from dear_jax.theory import imp
import pytest

FACTORIAL = imp.parse('while X > 0 do (Y := X * Y; X := X - 1)')


def run(text, **state):
  return imp.denotation(imp.parse(text))(state)


@pytest.mark.parametrize('count', range(7))
def test_approximations_of_the_factorial(count):
  """The closed form at the end of the paper's appendix."""
  approximate = imp.approximation(FACTORIAL, count)
  for x in range(-3, 8):
    state = {'X': x, 'Y': 7}
    if count == 0 or (x > 0 and x >= count):
      assert approximate(state) is None
    elif x > 0:
      assert approximate(state) == {'X': 0, 'Y': 7 * math.factorial(x)}
    else:
      assert approximate(state) == state


def test_approximations_are_a_chain_whose_limit_is_a_fixed_point():
  fixed_point = imp.denotation(FACTORIAL)
  body = imp.denotation(FACTORIAL.body)
  for x in range(-2, 9):
    state = {'X': x, 'Y': 1}
    results = [imp.approximation(FACTORIAL, n)(state) for n in range(12)]
    defined = [result for result in results if result is not None]
    assert results == [None] * (12 - len(defined)) + defined
    assert all(result == fixed_point(state) for result in defined)
    # f(w) = w.
    assert fixed_point(state) == (fixed_point(body(state)) if x > 0 else state)


def test_loops_without_end_are_undefined():
  assert run('while true do skip') is None
  assert imp.denotation(imp.parse('while X > 0 do X := X + 1'), limit=50)(
      {'X': 1}) is None
  loop = imp.denotation(imp.parse('while X != 0 do X := X - 2'), limit=50)
  assert loop({'X': 8}) == {'X': 0}
  assert loop({'X': 7}) is None
  # Nor is anything defined that comes after one.
  assert imp.denotation(imp.parse('(while true do skip; X := 1)'),
                        limit=50)({}) is None
  inner = 'while X < 3 do (X := X + 1; while X == 2 do skip)'
  assert imp.denotation(imp.parse(inner), limit=50)({}) is None


def test_insertion_sort():
  program = '''
      (i := 1;
       while i < n do (
         key := A[i]; j := i;
         while j > 0 and A[j - 1] > key do (A[j] := A[j - 1]; j := j - 1);
         A[j] := key; i := i + 1))'''
  keys = [5, -3, 8, 0, 5, -7, 2]
  state = {'n': len(keys), **{f'A[{i}]': key for i, key in enumerate(keys)}}
  result = imp.denotation(imp.parse(program))(state)
  assert [result[f'A[{i}]'] for i in range(len(keys))] == sorted(keys)
  assert state['A[0]'] == 5  # what went in is as it was


@pytest.mark.parametrize('expression', [
    '(5+4)*3', '2 + 3 * 4', '10 - 3 - 2', '-2 * 3', '2 * -3 + 1', '-(1 - 4)'])
def test_arithmetic_is_python_s(expression):
  # pylint: disable-next=eval-used
  assert run(f'X := {expression}')['X'] == eval(expression)


@pytest.mark.parametrize('condition', [
    'X == 0 and 3 * X < 2', 'X == 1 or true', 'not X == 1',
    'not X == 0 or X < 9', 'true and not false',
    'X <= 0 and (X >= 0 and X != 1)', 'not not X > 4'])
@pytest.mark.parametrize('x', [0, 1, 5])
def test_truth_is_python_s(condition, x):
  in_python = condition.replace('true', 'True').replace('false', 'False')
  expected = eval(in_python, {'X': x})  # pylint: disable=eval-used
  assert run(f'if {condition} then Y := 1 else Y := 0', X=x)['Y'] == expected


def test_if_from_the_paper():
  program = 'if A < B then C := 0 else C := A - B'
  assert run(program, A=3, B=5)['C'] == 0
  assert run(program, A=5, B=3)['C'] == 2


@pytest.mark.parametrize('text, message', [
    ('', 'got the end'),
    ('X = 1', "Expected ':=', got '='"),
    ('X := 1; Y := 2', "Expected the end, got ';'"),
    ('(X := 1', "Expected '\\)', got the end"),
    ('3 := X', 'Only a location can be assigned to'),
    ('while X do skip', 'Expected a truth value, got a number'),
    ('X := true', 'Expected a number, got a truth value'),
    ('X := 1 + (2 < 3)', 'Expected a number, got a truth value'),
    ('if true then skip', "Expected 'else', got the end"),
    ('X := while', "got 'while'"),
    ('X := A[true]', 'Expected a number'),
    ('X := 3 @ 4', "Expected the end, got '@'")])
def test_what_is_no_command(text, message):
  with pytest.raises(ValueError, match=message):
    imp.parse(text)


def test_only_loops_are_approximated():
  with pytest.raises(ValueError, match='Only loops are approximated'):
    imp.approximation(imp.Skip(), 3)
