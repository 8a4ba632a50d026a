# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Stands for experiments/run.py and evaluate.py in tests of campaigns.

It takes the same flags and leaves the same files, as far as a campaign looks at
them, and computes nothing: every step is a pause.
"""

import dataclasses
import json
import os
import pathlib
import sys
import time

from dear_jax.training import configs
from dear_jax.training import given_settings
from dear_jax.training import locks
from dear_jax.training import pace
from dear_jax.training import run_folder
from dear_jax.training import stop_signals

PAUSE = float(os.environ.get('FAKE_PAUSE', '0.02'))


def evaluate(folder, sizes):
  run_folder.write_json(folder, 'evaluation.json', {
      'overridden': [], 'sizes': [
          {'size': int(x), 'score': 0.5, 'outputs': {}, 'steps_mean': 3.0}
          for x in sizes.split(',')]})


def train(folder, config, start):
  """Steps from where it was; the events tell when it ran, and on what."""
  run_folder.write_json(folder, 'config.json', {
      'config': dataclasses.asdict(config), 'versions': {'jax': '0'}})
  def note(**event):
    with open(folder.parent / 'events.jsonl', 'a', encoding='utf-8') as f:
      f.write(json.dumps({'name': folder.name, 'at': time.time(), **event})
              + '\n')
  latest = folder / 'checkpoints' / 'latest'
  (latest / str(start)).mkdir(parents=True, exist_ok=True)
  with (run_folder.MetricsFile(folder, start) as metrics,
        pace.PaceFile(folder, start) as times,
        stop_signals.StopSignals() as signals):
    cores = (sorted(os.sched_getaffinity(0))
             if hasattr(os, 'sched_getaffinity') else None)
    note(what='start', step=start, cores=cores, nice=os.nice(0))
    for step in range(start + 1, config.train_steps + 1):
      time.sleep(PAUSE)
      metrics.write({'split': 'train', 'step': step, 'task_loss': 1 / step,
                     'algorithm': config.algorithms[0]})
      times.write({'step': step, 'timed': 1, 'seconds': PAUSE})
      (latest / str(step)).mkdir()
      if folder.name.startswith('bad') and step == 2:
        print('run.py: The loss is nan.', file=sys.stderr)
        sys.exit(1)
      if signals.requested:
        note(what='stop', step=step)
        return
  task, = config.algorithms
  run_folder.write_json(folder, 'result.json', {
      'test': {task: 0.9}, 'steps': config.train_steps, 'seconds': 1.5,
      'workdir': str(folder)})
  note(what='end', step=config.train_steps)


def main(argv):
  if argv[0].endswith('evaluate.py'):
    evaluate(pathlib.Path(argv[1]), argv[-1].partition('=')[2])
    return
  given = dict(word.removeprefix('--').partition('=')[::2] for word in argv[1:])
  folder = pathlib.Path(given.pop('workdir'))
  start = 0
  with locks.hold(folder):
    if 'resume' in given:
      config = configs.load_config(folder)
      start = max(int(x.name) for x in
                  (folder / 'checkpoints' / 'latest').iterdir())
    else:
      for name in given:
        setting = configs.SETTINGS.get(name)
        if setting is not None and setting.type in (int, float):
          given[name] = setting.type(given[name])
      config = given_settings.make_config(given, given.pop('preset', None))
    train(folder, config, start)


if __name__ == '__main__':
  main(sys.argv)
