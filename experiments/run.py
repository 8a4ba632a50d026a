# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Trains a deep equilibrium reasoner, or a baseline, on CLRS algorithms.

Examples:

  # BFS in a few minutes on a laptop
  python experiments/run.py --algorithm=bfs --preset=quick

  # two algorithms that share one processor
  python experiments/run.py --algorithm=bfs,bellman_ford

  # go on with a run that was stopped; its folder knows the settings
  python experiments/run.py --workdir=runs/my_run --resume

  # on two hosts; the other one has --host=1
  python experiments/run.py --algorithm=bfs --workdir=runs/my_run \
      --coordinator=FIRST_HOST:12345 --num_hosts=2 --host=0

What is not given on the command line comes from the preset. Progress goes to
stderr. The last line on stdout is one JSON object with the validation score
and the test score of the parameters that were kept (--select).
Ctrl-C (or SIGTERM) saves and stops; a second one aborts.
"""

import contextlib
import json
import os
import shlex
import sys
import time

from absl import flags
import cli
from dear_jax.training import configs
from dear_jax.training import given_settings
from dear_jax.training import host_flags

# None of them has a default of its own, so that presets and resumed runs can
# tell what was asked for.
for _setting in configs.SETTINGS.values():
  cli.define(_setting, _setting.help)
flags.DEFINE_alias('algorithms', 'algorithm')
flags.DEFINE_alias('processor_type', 'processor')
_PRESET = flags.DEFINE_string(
    'preset', None,
    'where the settings not given come from: quick (1,000 steps at size 16 '
    'with the one-step gradient), default (10,000 steps on sizes 8 to 16), '
    "best (default, with more than the paper's encoders, and with states on "
    'pairs of nodes where these are asked about), '
    'paper (100 epochs of 100,000 samples with the exact implicit gradient, '
    "and all else as in the paper) or gas (default, with granola, stochastic "
    'depth, and alignment with the run in --align_to)')
_WORKDIR = flags.DEFINE_string(
    'workdir', None,
    'folder of this run (default: a new one in runs/)')
_RESUME = flags.DEFINE_boolean(
    'resume', False, 'go on with the run in --workdir')
_COORDINATOR = flags.DEFINE_string(
    'coordinator', None,
    'train on several hosts: HOST:PORT of the first one (docs/scaling.md)')
_NUM_HOSTS = flags.DEFINE_integer(
    'num_hosts', None, 'how many hosts there are, with --coordinator')
_HOST = flags.DEFINE_integer(
    'host', None, 'which of them this is, from 0 on, with --coordinator')
_DISTRIBUTED = flags.DEFINE_boolean(
    'distributed', False,
    'train on several hosts of a cluster that JAX knows, such as Slurm, Open '
    'MPI or a TPU pod, in place of the three')
cli.define_import()


def parse_flags(argv):
  """Parses the command line; a mistake in it is answered in one line."""
  rest = cli.parse_flags(argv)
  if _RESUME.value and not _WORKDIR.value:
    cli.fail('--resume needs the --workdir of the run to go on with.')
  with cli.failing():
    host_flags.check(_COORDINATOR.value, _NUM_HOSTS.value, _HOST.value,
                     _DISTRIBUTED.value)
  return rest


def make_config() -> configs.TrainConfig:
  """Puts the settings together: those given, the rest from where they are."""
  is_resumed = _PRESET.value is None and _RESUME.value
  given = {setting.flag: flags.FLAGS[setting.flag].value
           for setting in configs.SETTINGS.values()
           if flags.FLAGS[setting.flag].value is not None}
  return given_settings.make_config(
      given, _PRESET.value,
      configs.load_config(_WORKDIR.value) if is_resumed else None)


def default_workdir(config) -> str:
  """A new folder in runs/, named after what is trained."""
  algorithms = '+'.join(config.algorithms)
  if len(algorithms) > 60:
    algorithms = f'{len(config.algorithms)}_algorithms'
  stamp = time.strftime('%Y%m%d-%H%M%S')
  return os.path.join(
      'runs', f'{algorithms}_{config.processor}_seed{config.seed}_{stamp}')


def main(unused_argv):
  cli.import_parts()
  with cli.failing(), cli.silence():  # for some settings, tasks are looked at
    config = make_config()
    host_flags.check_batch(config.batch_size, _NUM_HOSTS.value)
  with cli.silence():
    # Not at the top: --help and mistakes should not wait for it.
    from dear_jax.training import checkpoints
    from dear_jax.training import cluster
    from dear_jax.training import loop
  with (cluster.leaving_at_once(), cli.failing(checkpoints.RunError),
        cli.failing(FloatingPointError, code=1),
        contextlib.redirect_stdout(sys.stderr)):
    if _COORDINATOR.value or _DISTRIBUTED.value:
      with cli.failing():
        cluster.start(_COORDINATOR.value, _NUM_HOSTS.value, _HOST.value)
    cli.prepare()
    workdir = _WORKDIR.value or cluster.from_first(
        lambda: default_workdir(config))
    result = loop.train(config, workdir, resume=_RESUME.value)
    cluster.end()
  if not cluster.is_first():
    return
  if result.get('interrupted'):
    command = shlex.join(
        ['python', sys.argv[0], f'--workdir={workdir}', '--resume',
         *cli.imports()])
    print(f'Stopped at step {result["step"]}, everything is saved. To go on: '
          f'{command}', file=sys.stderr)
  print(json.dumps(result), flush=True)


if __name__ == '__main__':
  cli.run(main, parse_flags)
