# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of campaigns, with runs that compute nothing."""

import dataclasses
import io
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time

import clrs
from dear_jax.data import tasks
from dear_jax.training import campaign_jobs
from dear_jax.training import campaign_progress
from dear_jax.training import campaigns
from dear_jax.training import locks
from dear_jax.training import run_folder
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

on_linux = pytest.mark.skipif(sys.platform != 'linux', reason='Needs Linux.')


def declare(label, *tasks, steps=3, **options):
  return campaigns.rows('some', tasks or ('bfs',), label=label,
                        train_steps=steps, **options)


def aligned():
  """A run that needs another, declared after one that does not."""
  return [*declare('nar', model='nar', processor='pgn'), *declare('plain'),
          *declare('gas', preset='gas', align_to='nar')]


@pytest.fixture(name='scripts')
def _scripts(tmp_path, monkeypatch):
  monkeypatch.setenv('PYTHONPATH', str(ROOT))
  folder = tmp_path / 'scripts'
  folder.mkdir()
  for name in ('run.py', 'evaluate.py'):
    shutil.copy(ROOT / 'tests' / 'fake_run.py', folder / name)
  return folder


class Campaign:
  """A folder of runs."""

  def __init__(self, runs, scripts):
    self.runs, self._scripts = runs, scripts
    runs.mkdir()
    self.said = ''

  def __call__(self, entries, clock=time.monotonic, **options):
    stream = io.StringIO()
    display = campaign_progress.Display(
        {x.name: x.config(self.runs).train_steps for x in entries},
        {x.name: x for x in entries}, jobs=options.get('jobs', 1),
        stream=stream)
    jobs = campaign_jobs.Jobs(entries, campaign_jobs.Options(
        runs=self.runs, scripts=self._scripts, **options), display, clock)
    outcome = jobs.run()
    self.said = stream.getvalue()
    return outcome

  def events(self, what=None):
    path = self.runs / 'events.jsonl'
    lines = path.read_text().splitlines() if path.exists() else []
    return [x for x in map(json.loads, lines) if what in (None, x['what'])]

  def kinds(self, entries):
    return [campaigns.state_of(x, self.runs).kind for x in entries]


@pytest.fixture(name='campaign')
def _campaign(tmp_path, scripts):
  return Campaign(tmp_path / 'runs', scripts)


def test_a_longer_run_goes_on_with_a_copy_of_a_shorter_one(campaign):
  entries = [*declare('short'),
             *declare('long', steps=5, continues='short')]
  campaigns.check(entries)
  assert not campaign(entries).failed
  assert campaign.kinds(entries) == [campaigns.DONE] * 2
  started = campaign.events('start')
  assert [x['step'] for x in started] == [0, 3]
  # Without the shorter one it begins at the beginning.
  shutil.rmtree(campaign.runs / 'short_bfs_seed1')
  shutil.rmtree(campaign.runs / 'long_bfs_seed1')
  assert not campaign(entries[1:]).failed
  assert campaign.events('start')[-1]['step'] == 0


def test_rows_and_what_is_chosen_of_them():
  entries = [*campaigns.rows('a', ('bfs', 'dfs'), seeds=(1, 2)),
             *campaigns.rows('b', ('bfs',), label='c', preset='gas',
                             align_to='a')]
  assert [x.name for x in entries] == [
      'a_bfs_seed1', 'a_dfs_seed1', 'a_bfs_seed2', 'a_dfs_seed2',
      'c_bfs_seed1']
  choose = lambda only: [x.name for x in campaigns.choose(entries, only)]
  assert choose(None) == [x.name for x in entries]
  assert choose('dfs') == ['a_dfs_seed1', 'a_dfs_seed2']
  assert choose('a_*_seed2, a_dfs_seed1') == [
      'a_dfs_seed1', 'a_bfs_seed2', 'a_dfs_seed2']
  # With what it needs.
  assert choose('b') == ['a_bfs_seed1', 'c_bfs_seed1']
  with pytest.raises(ValueError, match="'bsf' .did you mean 'bfs'"):
    choose('a,bsf')


def test_what_was_collected_elsewhere_is_not_missing(tmp_path):
  first = campaigns.rows('a', ('bfs', 'dfs', 'minimum'), train_steps=10)
  second = campaigns.rows('c', ('bfs', 'dfs'), align_to='a', train_steps=20)
  for entry, command in (
      (first[0], first[0].command()), (first[1], first[1].command()),
      (first[2], 'python experiments/run.py'), (second[1], None)):
    (tmp_path / f'{entry.name}.json').write_text(
        json.dumps({'command': command or entry.command()}))
  # One needs what was collected, and one was declared anew.
  assert [x.name for x in campaigns.missing(first + second, tmp_path)] == [
      'a_bfs_seed1', 'a_minimum_seed1', 'c_bfs_seed1']
  (tmp_path / 'c_bfs_seed1.json').write_text('{')
  assert campaigns.missing(second[1:], tmp_path) == []
  assert campaigns.missing(second[:1], tmp_path) == second[:1]


def test_what_was_collected_with_other_settings_is_missing(tmp_path):
  entry, = declare('x', 'bfs')
  settings = dataclasses.asdict(entry.config('runs'))
  for change, is_missing in (({}, False), (dict(train_steps=4), True),
                             (dict(tol=0.2), True)):
    (tmp_path / f'{entry.name}.json').write_text(json.dumps(
        {'command': entry.command(), 'settings': {**settings, **change}}))
    assert campaigns.missing([entry], tmp_path) == [entry] * is_missing


def test_what_counts_as_the_same_setting():
  def change(task, declared, found):
    entry, = declare('x', task, scalars=declared)
    settings = dataclasses.asdict(entry.config('runs'))
    return campaigns.change_of(entry, {**settings, 'scalars': found})
  kinds = ('differences', 'relative', 'units', 'relative_units')
  for task in ('binary_search', 'insertion_sort', 'minimum', 'search'):
    # Of edges, which have no numbers there, all that these differ in.
    probes = tasks.spec_of(task).values()
    assert (clrs.Stage.INPUT, clrs.Location.EDGE,
            clrs.Type.SCALAR) not in probes
    assert not [x for x in kinds if change(task, 'units', x)]
    assert change(task, 'units', 'linear') == 'scalars=linear, not units'
    assert change(task, 'linear', 'units') == 'scalars=units, not linear'
  assert change('bfs', 'units', 'differences') == (
      'scalars=differences, not units')
  # A folder is told by its last name, and a new setting by what it meant.
  *_, entry = aligned()
  settings = dataclasses.asdict(entry.config('runs'))
  assert not campaigns.change_of(entry, {**settings,
                                         'align_to': 'there/nar_bfs_seed1'})
  assert campaigns.change_of(entry, {**settings, 'align_to': 'x'})
  del settings['graphs']
  assert not campaigns.change_of(entry, settings)
  assert campaigns.change_of(entry, {'tol': -1}).startswith(
      'settings that cannot be (')


@pytest.mark.parametrize('entries, message', [
    (declare('x', 'bsf'), "x_bsf_seed1 cannot be: Unknown algorithm 'bsf'"),
    (declare('x', tol=0.0), 'tol must be a number of more than 0'),
    (declare('x', stepps=3), "Unknown setting 'stepps'"),
    (declare('x', 'minimum', cgp=True), 'cgp is for tasks with a graph'),
    (declare('x', preset='fast'), "Unknown preset 'fast'"),
    (declare('x', preset='gas'), 'preset=gas needs --align_to'),
    (declare('x', gradient='implicit', backward_decay=0.5),
     'backward_decay=0.5 is a setting of gradient=damped'),
    (declare('x') + declare('x'), 'two runs of the name x_bfs_seed1'),
    (declare('x', continues='y'), 'continues y_bfs_seed1, which is not decl'),
    (declare('y') + declare('x', continues='y'), 'continue y_bfs_seed1, which '
     'has train_steps=3'),
    (declare('y', tol=0.2) + declare('x', continues='y', steps=5),
     'continue y_bfs_seed1, which has tol=0.2'),
    (declare('x', preset='gas', align_to='nar'),
     'x_bfs_seed1 needs nar_bfs_seed1, which is not declared before it'),
])
def test_what_cannot_be_is_refused(entries, message):
  with pytest.raises(ValueError, match=message) as error:
    campaigns.check(entries)
  assert '\n' not in str(error.value)


def test_flags_are_those_of_the_settings():
  assert declare('y', train_lengths=8)[0].config('runs').train_sizes == (8, 8)
  entry, = declare('x', cgp=True, train_lengths='4..5', preset='quick')
  config = entry.config('runs')
  assert (config.cgp, config.train_sizes, config.gradient) == (
      True, (4, 5), 'one_step')
  assert entry.flags('runs') == [
      '--preset=quick', '--algorithm=bfs', '--seed=1', '--train_steps=3',
      '--cgp=true', '--train_lengths=4..5']
  *_, entry = aligned()
  assert entry.config('runs').align_to == os.path.join('runs', 'nar_bfs_seed1')


def test_all_is_done_once_in_order_and_after_what_it_needs(campaign):
  entries = aligned()
  assert campaign.kinds(entries) == ['new'] * 3
  outcome = campaign(entries)
  assert not outcome.failed and not outcome.stopped
  assert [x['name'] for x in campaign.events('end')] == [
      'nar_bfs_seed1', 'plain_bfs_seed1', 'gas_bfs_seed1']
  assert campaign.kinds(entries) == ['done'] * 3
  assert '0 of 3 runs done, 1 running, 2 left' in campaign.said
  before = campaign.events()
  campaign(entries)
  assert campaign.events() == before  # there was nothing to do
  assert campaign.said == '3 of 3 runs done, 0 running, 0 left\n'
  # What takes room may be gone.
  shutil.rmtree(campaign.runs / 'plain_bfs_seed1' / 'checkpoints')
  assert campaign.kinds(entries) == ['done'] * 3


@on_linux
def test_jobs_share_the_cores_and_wait_for_what_they_need(campaign):
  # The second has to wait for the first, so that the third is beside that.
  entries = [*declare('nar', model='nar', processor='pgn', steps=200),
             *declare('gas', preset='gas', align_to='nar'), *declare('plain')]
  assert not campaign(entries, jobs=2, nice=True).failed
  begun = {x['name']: x for x in campaign.events('start')}
  ended = {x['name']: x for x in campaign.events('end')}
  assert begun['plain_bfs_seed1']['at'] < ended['nar_bfs_seed1']['at']
  assert begun['gas_bfs_seed1']['at'] > ended['nar_bfs_seed1']['at']
  cores = sorted(os.sched_getaffinity(0))
  expected = campaign_jobs.shares(cores, 2)
  assert begun['nar_bfs_seed1']['cores'] == expected[0]
  assert begun['plain_bfs_seed1']['cores'] == expected[1]
  assert {x['nice'] for x in begun.values()} == {19}


def test_shares_are_disjoint_and_cover_the_cores():
  for cores in (1, 2, 3, 8):
    for jobs in range(1, cores + 1):
      parts = campaign_jobs.shares(list(range(cores)), jobs)
      assert sorted(sum(parts, [])) == list(range(cores)) and all(parts)
  assert campaign_jobs.shares([4, 7], 3) == [[4], [7], [4]]


def test_the_budget_stops_and_another_goes_on(campaign, monkeypatch):
  monkeypatch.setenv('FAKE_PAUSE', '0.1')
  entries = declare('x', 'bfs', 'dfs', steps=40)
  # It is used up when the first one has begun.
  outcome = campaign(entries, budget=50.0, clock=lambda: (
      100.0 if campaign.events('start') else 0.0))
  assert outcome.stopped == 'budget' and not outcome.failed
  stopped, = campaign.events('stop')
  assert 0 < stopped['step'] < 40
  assert campaign.kinds(entries) == ['begun', 'new']
  assert f'x_bfs_seed1: stopped at step {stopped["step"]}.' in campaign.said
  monkeypatch.setenv('FAKE_PAUSE', '0')
  assert not campaign(entries, budget=100.0).stopped
  assert [x['step'] for x in campaign.events('start')] == [
      0, stopped['step'], 0]
  assert campaign.kinds(entries) == ['done'] * 2


def test_a_signal_stops(campaign, monkeypatch):
  monkeypatch.setenv('FAKE_PAUSE', '0.1')
  def interrupt():
    while not campaign.events('start'):
      time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGINT)
  thread = threading.Thread(target=interrupt)
  thread.start()
  outcome = campaign(declare('x', steps=1000))
  thread.join()
  assert outcome.stopped == 'signal'
  assert len(campaign.events('stop')) == 1


def test_what_fails_is_told_and_does_not_stop_others(campaign):
  entries = [*declare('bad', model='nar', processor='pgn'), *declare('good'),
             *declare('gas', preset='gas', align_to='bad')]
  outcome = campaign(entries)
  assert list(outcome.failed) == ['bad_bfs_seed1', 'gas_bfs_seed1']
  assert 'The loss is nan. (exit code 1;' in outcome.failed['bad_bfs_seed1']
  assert outcome.failed['gas_bfs_seed1'] == (
      'needs bad_bfs_seed1, which failed')
  assert campaign.kinds(entries) == ['begun', 'done', 'new']


def test_a_folder_with_other_settings_is_refused(campaign):
  campaign(declare('x'))
  entries = declare('x', hidden_size=8)
  assert 'hidden_size=128, not 8' in campaigns.state_of(
      entries[0], campaign.runs).about
  with pytest.raises(ValueError, match='hidden_size=128, not 8'):
    campaign(entries)


def test_it_waits_for_a_run_that_another_process_is_in(campaign):
  entries = declare('x', 'bfs', 'dfs')
  folder = campaign.runs / 'x_bfs_seed1'
  folder.mkdir()
  held = locks.hold(folder)
  held.__enter__()
  assert campaign.kinds(entries) == ['busy', 'new']
  assert f'process {os.getpid()}' in campaigns.state_of(
      entries[0], campaign.runs).about
  def release():
    while not campaign.events('end'):
      time.sleep(0.05)
    held.__exit__(None, None, None)
  thread = threading.Thread(target=release)
  thread.start()
  assert not campaign(entries).failed
  thread.join()
  assert [x['name'] for x in campaign.events('end')] == [
      'x_dfs_seed1', 'x_bfs_seed1']


def test_runs_are_evaluated_once_they_are_over(campaign):
  entries = declare('x')
  campaign(entries, sizes=(16, 32), train=False)
  assert not campaign.events()
  campaign(entries, sizes=(16, 32))
  assert 'x_bfs_seed1: evaluated.' in campaign.said
  campaign(entries, sizes=(16,))
  assert 'evaluated' not in campaign.said
  campaign(entries, sizes=(16, 64))
  assert 'evaluated' in campaign.said
  # A result that is younger than its evaluation has another one.
  path = campaign.runs / 'x_bfs_seed1' / 'evaluation.json'
  os.utime(path, (1, 1))
  assert not campaign_jobs.is_evaluated(path.parent, (16,))


@on_linux
def test_runs_of_a_campaign_that_is_killed_save_and_stop(campaign, scripts,
                                                         monkeypatch):
  monkeypatch.setenv('FAKE_PAUSE', '0.1')
  code = f'''
import pathlib
from dear_jax.training import campaign_jobs, campaign_progress, campaigns
entries = campaigns.rows('some', ('bfs',), label='x', train_steps=10_000)
display = campaign_progress.Display(
    {{x.name: 10_000 for x in entries}}, {{x.name: x for x in entries}})
campaign_jobs.Jobs(entries, campaign_jobs.Options(
    runs=pathlib.Path({str(campaign.runs)!r}),
    scripts=pathlib.Path({str(scripts)!r})), display).run()
'''
  process = subprocess.Popen([sys.executable, '-c', code],
                             stderr=subprocess.PIPE)
  deadline = time.monotonic() + 300
  while not campaign.events('start'):
    assert process.poll() is None and time.monotonic() < deadline
    time.sleep(0.05)
  process.kill()
  process.communicate()
  while not campaign.events('stop'):
    assert time.monotonic() < deadline
    time.sleep(0.05)
  assert campaign.kinds(declare('x', steps=10_000))[0] in ('begun', 'busy')


def test_the_estimate():
  entries = declare('x', 'bfs', 'dfs', 'minimum')
  state = campaigns.State
  # 1 s a step on bfs, 3 s on dfs; nothing is known of minimum: the mean.
  states = [(entries[0], state('done', 10, 1.0), 10),
            (entries[0], state('new'), 10),
            (entries[1], state('begun', 4, 3.0), 10),
            (entries[2], state('new'), 10)]
  assert campaigns.seconds_left(states) == 10 * 1 + 6 * 3 + 10 * 2
  assert campaigns.seconds_left(states[1:2]) is None


def test_the_estimate_goes_by_processor_and_preset():
  state = campaigns.State
  plain, = declare('x')
  best, = declare('best', preset='best')
  again, = declare('again', preset='best')
  edges, = declare('edges', processor='dear_edge')
  states = [(plain, state('done', 10, 1.0), 10),
            (best, state('done', 10, 3.0), 10)]
  assert campaigns.seconds_left([*states, (again, state('new'), 10)]) == 30
  # No run with that processor tells: the mean of those on the task.
  assert campaigns.seconds_left([*states, (edges, state('new'), 10)]) == 20


def test_bars_on_a_terminal():
  class Terminal(io.StringIO):
    def isatty(self):
      return True
  entries = {x.name: x for x in declare('x', 'bfs', 'dfs', steps=10)}
  stream = Terminal()
  first = next(iter(entries.values()))
  with campaign_progress.Display(dict.fromkeys(entries, 10), entries, jobs=2,
                                 stream=stream) as display:
    assert display.is_due()
    display.begin(0, first, 'train')
    display.show({0: first}, {
        'x_bfs_seed1': campaigns.State('begun', 5, 0.25),
        'x_dfs_seed1': campaigns.State('new')})
    assert not display.is_due()
    display.end(first, 'done')
  said = stream.getvalue()
  assert '5/10' in said and '4.00 steps/s' in said
  assert '1 running, 1 left, about 2s to go' in said
  assert 'x_bfs_seed1: done.' in said


def test_owners_of_locks(tmp_path):
  assert locks.owner_of(tmp_path) is None
  with locks.hold(tmp_path):
    assert f'process {os.getpid()}' in locks.owner_of(tmp_path)
  owner = dict(locks._myself(), pid=2**30)  # pylint:disable=protected-access
  run_folder.write_json(tmp_path, locks.NAME, owner)
  assert locks.owner_of(tmp_path) is None  # what a killed process left
  run_folder.write_json(tmp_path, locks.NAME, dict(
      owner, host='elsewhere', boot='another'))
  assert 'elsewhere' in locks.owner_of(tmp_path)
