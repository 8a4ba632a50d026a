# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""One of several hosts, which `cluster_test` starts and in part kills.

  python host_worker.py HOST NUM_HOSTS PORT FOLDER

In double precision and with small steps: solves by Anderson's method multiply
what rounding does to them, so that single precision would tell nothing after a
few steps.
"""

import json
import os
import pathlib
import signal
import sys

STOPPED = 20  # bfs, by a signal at one host
SAVED, KILLED = 24, 26  # insertion_sort


def config(task, **settings):
  from dear_jax.training import configs  # pylint:disable=g-import-not-at-top
  return configs.TrainConfig(**{**dict(
      algorithms=(task,), batch_size=8, hidden_size=8, train_sizes=(8, 8),
      val_size=8, test_size=8, val_samples=8, test_samples=8, log_every=1,
      learning_rate=2e-4, train_steps=40, eval_every=100, checkpoint_every=12,
      # Devices have lists of different lengths, and yet there are two programs.
      **(dict(layout='sparse', graphs='small_world') if task == 'bfs' else {})),
      **settings})


def main(host, num_hosts, port, folder):
  from experiments import cli  # pylint:disable=g-import-not-at-top
  with cli.silence():
    from dear_jax.training import cluster  # pylint:disable=g-import-not-at-top
    from dear_jax.training import loop  # pylint:disable=g-import-not-at-top
  import jax  # pylint:disable=g-import-not-at-top
  cluster.start(f'localhost:{port}', num_hosts, host)
  loop.enable_compilation_cache()
  said = dict(devices=jax.device_count(), hosts=jax.process_count())

  def terminate(step):
    if step == STOPPED - 1 and host == 1:  # it is heard after the next step
      os.kill(os.getpid(), signal.SIGTERM)
    return False

  said['stopped'] = loop.train(config('bfs'), folder / 'bfs',
                               should_stop=terminate)['step']
  # The very end: validation and test.
  said['result'] = loop.train(config('bfs', train_steps=STOPPED),
                              folder / 'bfs', resume=True)
  (folder / f'said_{host}.json').write_text(json.dumps(said))

  def kill(step):
    if step == KILLED and host == 1:
      os.kill(os.getpid(), signal.SIGKILL)
    return False

  with cluster.leaving_at_once(), cli.failing():
    loop.train(config('insertion_sort'), folder / 'insertion_sort',
               should_stop=kill)


if __name__ == '__main__':
  main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]),
       pathlib.Path(sys.argv[4]))
