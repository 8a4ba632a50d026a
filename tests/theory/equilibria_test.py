# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of whether algorithms come to rest, and of the command about it."""

import dataclasses
import json
import subprocess
import sys

import clrs
from dear_jax.theory import equilibria
from dear_jax.theory import hint_steps
import numpy as np
import pytest
from tests import commands


@pytest.fixture(name='command', scope='module')
def _command():
  return commands.Command('equilibria.py')


def one(index, size=3):
  return dict(i=np.eye(size)[index])


def names_in(spec, stage):
  return {name for name, (its_stage, _, _) in spec.items()
          if its_stage == stage}


def test_the_table_is_about_clrs30():
  assert set(equilibria.ALGORITHMS) == set(clrs.CLRS_30_ALGS_SETTINGS)


@pytest.mark.parametrize('name', equilibria.ALGORITHMS)
def test_the_table_agrees_with_the_spec(name):
  algorithm, spec = equilibria.ALGORITHMS[name], clrs.SPECS[name]
  hints = names_in(spec, clrs.Stage.HINT)
  read = {hint for group in algorithm.outputs.values() for hint in group}
  assert set(algorithm.outputs) == names_in(spec, clrs.Stage.OUTPUT)
  assert read <= hints
  assert set(algorithm.counters) <= hints
  assert not read & set(algorithm.counters)
  assert len(set(algorithm.counters)) == len(algorithm.counters)
  assert (algorithm.step is None) == (algorithm.run_on == equilibria.RERUN)


@pytest.mark.parametrize('size', [4, 9])
@pytest.mark.parametrize('name', equilibria.ALGORITHMS)
def test_steps_are_those_of_clrs(name, size):
  # `analyse` fails if a step differs from the hints, or if the final state
  # differs from the output.
  trajectories = equilibria.sample(name, size, 6, seed=3)
  report = equilibria.analyse(name, trajectories)
  step = equilibria.ALGORITHMS[name].step
  if step is None:
    assert report.covered is None
  elif size > 4:
    assert report.covered > 0
  if step in (hint_steps.bfs, hint_steps.bellman_ford, hint_steps.minimum,
              hint_steps.floyd_warshall, hint_steps.mst_kruskal):
    assert report.covered == 1


@pytest.mark.parametrize('name', ['bfs', 'bellman_ford', 'bubble_sort'])
def test_a_wrong_step_is_noticed(name):
  trajectory = next(t for t in equilibria.sample(name, 9, 9, seed=0)
                    if len(t.hints) > 2)
  output, (hint,) = next(iter(equilibria.ALGORITHMS[name].outputs.items()))
  if name == 'bubble_sort':  # It has no step, but its output is wrong.
    other = dict(trajectory.outputs, **{output: 1 + trajectory.outputs[output]})
    doctored = dataclasses.replace(trajectory, outputs=other)
    message = 'output of CLRS'
  else:
    hints = list(trajectory.hints)
    hints[1] = dict(hints[1], **{hint: hints[1][hint] + 1})
    doctored = dataclasses.replace(trajectory, hints=hints)
    message = 'differ after state 1 of'
  with pytest.raises(RuntimeError, match=message):
    equilibria.analyse(name, [trajectory, doctored])


@pytest.mark.parametrize('name', ['bfs', 'bellman_ford', 'mst_prim'])
def test_what_rests_and_what_was_cut_short(name):
  trajectory = next(t for t in equilibria.sample(name, 16, 64, seed=0)
                    if len(t.hints) > 3)
  report = equilibria.analyse(name, [trajectory])
  assert report.all_rest == report.state_rests == report.output_rests == 1
  assert report.verdict == 'rests'
  # As if the algorithm had ended at its second state and put that out.
  end = trajectory.hints[1]
  last = 1 if equilibria.ALGORITHMS[name].body_follows else 2
  doctored = equilibria.Trajectory(
      trajectory.inputs, trajectory.hints[:last], dict(pi=end['pi_h']))
  report = equilibria.analyse(name, [doctored])
  assert report.all_rest == report.state_rests == report.output_rests == 0
  assert report.verdict == 'moves on unless stopped'
  half = equilibria.analyse(name, [trajectory, doctored])
  assert half.all_rest == 0.5 and half.verdict == 'rests in 50%'


def test_an_array_that_is_not_sorted_does_not_rest():
  trajectory = equilibria.sample('insertion_sort', 8, 1, seed=0)[0]
  states = equilibria.run_on('insertion_sort', trajectory)
  pointers = trajectory.outputs['pred']
  assert len(states) == len(trajectory.hints)
  assert all(np.array_equal(state['pred_h'], pointers) for state in states)
  # From the array as it was, or any other, it sorts.
  for start in trajectory.hints[0], trajectory.hints[4]:
    states = equilibria.sort_again('insertion_sort', trajectory.inputs, start)
    assert np.array_equal(states[0]['pred_h'], start['pred_h'])
    assert not np.array_equal(states[0]['pred_h'], pointers)
    assert np.array_equal(states[-1]['pred_h'], pointers)


def test_binary_search_rests_unless_the_target_is_beyond_the_keys():
  trajectories = equilibria.sample('binary_search', 4, 40, seed=0)
  beyond = [t.inputs['target'] > t.inputs['key'].max() for t in trajectories]
  assert any(beyond) and not all(beyond)
  for trajectory, is_beyond in zip(trajectories, beyond):
    report = equilibria.analyse('binary_search', [trajectory])
    assert report.all_rest == (not is_beyond)


def test_counted_loops():
  report = lambda name: equilibria.analyse(
      name, equilibria.sample(name, 8, 20, seed=0))
  minimum = report('minimum')
  assert minimum.all_rest == 0 and minimum.state_rests == 1
  assert minimum.verdict == 'rests but for counters'
  # Without its counter, the minimum so far does not say what comes next.
  assert minimum.all_determine == 1 and minimum.state_determines < 1
  assert 0 < minimum.output_final_after < 1
  floyd_warshall = report('floyd_warshall')
  assert floyd_warshall.verdict == 'rests but for counters'
  # The last hint is from before the last round.
  assert floyd_warshall.output_in_hints < 1
  kadane = report('find_maximum_subarray_kadane')
  assert kadane.output_rests < 1
  assert report('task_scheduling').verdict == 'only its output rests'


def test_equal_states_with_different_successors():
  a, b, c = (one(i) for i in range(3))
  assert equilibria.is_function([a])
  assert equilibria.is_function([a, b, c])
  assert equilibria.is_function([a, b, c, c])
  assert not equilibria.is_function([a, a, b])
  assert not equilibria.is_function([a, b, a])
  counted = [dict(state, k=np.float64(t)) for t, state in enumerate([a, b, a])]
  assert equilibria.is_function(counted)
  assert not equilibria.is_function(counted, ['i'])


def test_command(tmp_path):
  result = subprocess.run(
      [sys.executable, str(commands.EXPERIMENTS / 'equilibria.py'),
       '--algorithm=minimum,bfs', '--size=5', '--samples=3',
       f'--output={tmp_path}/figures.json'], timeout=300, capture_output=True,
      text=True, check=False)
  assert result.returncode == 0, result.stderr
  lines = [line for line in result.stdout.splitlines() if line.startswith('|')]
  rows = [[cell.strip() for cell in line.split('|')[1:-1]] for line in lines]
  assert len({len(row) for row in rows}) == 1
  assert [row[0] for row in rows[2:]] == ['minimum', 'bfs']
  assert rows[2][2:6] == ['loop', '0%', '100%', '100%']
  assert rows[3][-1] == 'rests'
  assert 'Of 2 algorithms, on 3 samples of size 5' in result.stdout
  figures = json.loads((tmp_path / 'figures.json').read_text())
  assert figures['size'] == 5
  assert [x['verdict'] for x in figures['algorithms']] == [
      'rests but for counters', 'rests']


@pytest.mark.parametrize('arg, message', [
    ('--algorithm=bsf', "Unknown algorithm 'bsf' (did you mean 'bfs'?)"),
    ('--size=3', '--size=3: 3 is not integer >= 4'),
    ('--samples=0', '--samples=0: 0 is not a positive integer'),
    ('--output=no/such/folder.json', 'there is no folder'),
    ('--output=.', '. is a folder; --output has to name a file'),
    ('bfs', "unexpected argument 'bfs'")])
def test_a_mistake_is_one_line(command, arg, message):
  code, out, err = command(arg)
  assert code == 2
  assert message in err
  assert err.count('\n') == 1


def test_an_interrupt_is_answered_in_one_line(monkeypatch):
  def interrupt(*unused_args):
    raise KeyboardInterrupt
  monkeypatch.setattr(equilibria, 'sample', interrupt)
  code, out, err = commands.Command('equilibria.py')('--algorithm=bfs')
  assert (code, out) == (130, '') and err.endswith('equilibria.py: aborted.\n')
  assert not out
