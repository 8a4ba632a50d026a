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

What is not given on the command line comes from the preset. Progress goes to
stderr. The last line on stdout is one JSON object with the validation score
and the test score of the parameters that were kept (--select).
Ctrl-C (or SIGTERM) saves and stops; a second one aborts.
"""

import contextlib
import dataclasses
import json
import os
import re
import shlex
import sys
import time

from absl import app
from absl import flags
from absl import logging

import cli

_DEFINE = {'string': flags.DEFINE_string, 'integer': flags.DEFINE_integer,
           'float': flags.DEFINE_float, 'boolean': flags.DEFINE_boolean}

# Flag, type, value in the default preset, meaning. All of them are optional
# and have no default of their own, so that presets and resumed runs can tell
# what was asked for. The values are written out because --help must not wait
# for the library to be imported; a test compares them.
SETTINGS = (
    ('algorithm', 'string', 'bfs',
     'task to train on, or several, separated by commas: any algorithm of '
     'clrs, or search or strongly_connected_components_local'),
    ('model', 'string', 'dear',
     'dear solves for an equilibrium; nar, the baseline, takes as many steps '
     'as the algorithm'),
    ('processor', 'string', 'dear_pgn',
     'dear_pgn, dear_triplet_mpnn, or dear_<kind> for any processor of clrs; '
     'with --model=nar the same without dear_'),
    ('test_steps', 'string', 'true',
     'steps of a nar in validation and test: true (those of the algorithm), '
     'learned, or a number such as 64'),
    ('batch_size', 'integer', '32', 'samples in a training batch'),
    ('hidden_size', 'integer', '128', 'width of the node states'),
    ('learning_rate', 'float', '0.002',
     'learning rate of Adam; the paper has 0.0003 and --noaverage'),
    ('grad_clip_max_norm', 'float', '1.0',
     'norm to which gradients are clipped, 0 for no clipping'),
    ('train_steps', 'integer', '10000', 'training steps'),
    ('seed', 'integer', '42', 'random seed'),
    ('train_lengths', 'string', '8..16',
     'training sizes: a range such as 8..16, or one size'),
    ('val_size', 'integer', '16', 'size of the validation samples'),
    ('test_size', 'integer', '64', 'size of the test samples'),
    ('val_samples', 'integer', '100',
     'number of validation samples, rounded up to whole batches'),
    ('test_samples', 'integer', '100',
     'number of test samples, rounded up to whole batches'),
    ('train_samples', 'integer', 'None',
     'size of the training set; without it, samples are drawn afresh for ever'),
    ('data_cache', 'string', 'None',
     'folder that keeps the samples, for tasks that are slow to draw'),
    ('eval_every', 'integer', '50', 'steps between validations'),
    ('checkpoint_every', 'integer', '500', 'steps between checkpoints'),
    ('log_every', 'integer', '10', 'steps between lines in metrics.jsonl'),
    ('solver', 'string', 'anderson',
     'fixed-point solver: anderson, picard or broyden'),
    ('tol', 'float', '0.1', 'relative residual at which the solver stops'),
    ('max_iter', 'integer', '40',
     'the most solver steps in training; four times as many in validation and '
     'test'),
    ('gradient', 'string', 'implicit',
     'gradient of the equilibrium: implicit, one_step or unrolled'),
    ('backward_max_iter', 'integer', '12',
     'the most solver steps of the implicit gradient'),
    ('backward_decay', 'float', '0.6',
     'decay d of the implicit gradient, which solves u = d J^T u + g: 1 is '
     'exact but can be all noise, 0 is the one-step gradient'),
    ('backward_bound', 'float', '1.5',
     'the implicit gradient u of an instance is at most this many times as '
     'long as g; 0 for no bound'),
    ('jacobian_weight', 'float', '0.01',
     "weight of the Jacobian penalty; the paper's code has 0.0001, with the "
     'one-step gradient'),
    ('jacobian_fraction', 'float', '0.25',
     'share of a batch that the Jacobian penalty is estimated on'),
    ('noise_stddev', 'float', '0.0',
     "noise on the processor's output in training; the paper's code has 0.001"),
    ('use_ln', 'boolean', 'True', 'layer norm at the end of the processor'),
    ('norm', 'string', 'layer',
     'norm at the end of the processor: layer or granola'),
    ('cgp', 'boolean', 'False',
     'Cayley graph propagation: every step is followed by one on a Cayley '
     'graph; for tasks with a graph'),
    ('stochastic_depth', 'boolean', 'False',
     'a random number of further steps from the equilibrium, in training'),
    ('align_to', 'string', 'None',
     'folder of a trained --model=nar run; the states of the solve are drawn '
     'to its states'),
    ('align_weight', 'float', '0.01', 'weight of the alignment loss'),
    ('init_from', 'string', 'None',
     'folder of a run, dear or nar, whose best parameters training starts '
     'from'),
    ('nb_triplet_fts', 'integer', '8',
     'triplet features of the triplet processors'),
    ('nb_heads', 'integer', '1', 'attention heads of the gat processors'),
    ('average', 'boolean', 'True',
     'validate and keep the average of the parameters over the last tenth of '
     'the steps, in place of the last ones'),
    ('select', 'string', 'auto',
     'parameters to keep at the end: best (the lowest validation loss, as in '
     'the paper), last, or auto, which is last with --average'),
    ('encoder_init', 'string', 'xavier_on_scalars',
     'initialiser of the encoders: default or xavier_on_scalars'),
    ('dropout_prob', 'float', '0.0',
     'dropout on the states before they are decoded, in training'),
    ('freeze_processor', 'boolean', 'False',
     'train the encoders and decoders only'),
    ('layout', 'string', 'auto',
     'where messages are computed: dense (all pairs of nodes), sparse (edges '
     'only) or auto (whichever is faster)'),
)

for _name, _kind, _default, _meaning in SETTINGS:
  _DEFINE[_kind](_name, None, f'{_meaning} (default: {_default})')
flags.DEFINE_alias('algorithms', 'algorithm')
flags.DEFINE_alias('processor_type', 'processor')
_PRESET = flags.DEFINE_string(
    'preset', None,
    'where the settings not given come from: quick (1,000 steps at size 16 '
    'with the one-step gradient), default (10,000 steps on sizes 8 to 16), '
    'paper (100 epochs of 100,000 samples) or gas (default, with granola, '
    'stochastic depth, and alignment with the run in --align_to)')
_WORKDIR = flags.DEFINE_string(
    'workdir', None,
    'folder of this run (default: a new one in runs/)')
_RESUME = flags.DEFINE_boolean(
    'resume', False, 'go on with the run in --workdir')


def parse_flags(argv):
  """Parses the command line; a mistake in it is answered in one line."""
  rest = cli.parse_flags(argv)
  if _RESUME.value and not _WORKDIR.value:
    cli.fail('--resume needs the --workdir of the run to go on with.')
  return rest


def read_lengths(text: str):
  """Reads '8..16' or '16'."""
  match = re.fullmatch(r'(\d+)(?:\.\.(\d+))?', text.strip())
  if not match:
    raise ValueError('train_lengths must be a size or a range such as 8..16, '
                     f'got {text!r}.')
  low, high = match.groups()
  return int(low), int(high or low)


def make_config(configs):
  """Puts the settings together: those given, the rest from where they are."""
  if _PRESET.value is None and _RESUME.value:
    base = configs.load_config(_WORKDIR.value)
  else:
    name = _PRESET.value or 'default'
    if name not in configs.PRESETS:
      raise ValueError(f'preset must be one of '
                       f'{", ".join(configs.PRESETS)}, got {name!r}.')
    base = configs.PRESETS[name]
  given = {name: flags.FLAGS[name].value for name, *_ in SETTINGS
           if flags.FLAGS[name].value is not None}
  if 'algorithm' in given:
    given['algorithms'] = tuple(
        name.strip() for name in given.pop('algorithm').split(','))
  if 'train_lengths' in given:
    given['train_sizes'] = read_lengths(given.pop('train_lengths'))
  if given.get('test_steps', '').isdigit():
    given['test_steps'] = int(given['test_steps'])
  if _PRESET.value == 'gas' and 'align_to' not in given:
    raise ValueError('preset=gas needs --align_to, the folder of a trained '
                     '--model=nar run.')
  return dataclasses.replace(base, **given)


def default_workdir(config) -> str:
  """A new folder in runs/, named after what is trained."""
  algorithms = '+'.join(config.algorithms)
  if len(algorithms) > 60:
    algorithms = f'{len(config.algorithms)}_algorithms'
  stamp = time.strftime('%Y%m%d-%H%M%S')
  return os.path.join(
      'runs', f'{algorithms}_{config.processor}_seed{config.seed}_{stamp}')


def main(unused_argv):
  # Libraries log through absl at a level that app.run makes visible.
  logging.set_verbosity(logging.ERROR)
  with cli.silence():
    # Not at the top: a mistyped flag and --help should not wait for it.
    # pylint: disable=g-import-not-at-top
    from dear_jax import checkpoints
    from dear_jax import configs
    from dear_jax import training
  try:
    config = make_config(configs)
  except ValueError as e:
    cli.fail(str(e))
  workdir = _WORKDIR.value or default_workdir(config)
  training.enable_compilation_cache()
  try:
    with contextlib.redirect_stdout(sys.stderr):
      result = training.train(config, workdir, resume=_RESUME.value)
  except checkpoints.RunError as e:
    cli.fail(str(e))
  except FloatingPointError as e:
    cli.fail(str(e), code=1)
  except KeyboardInterrupt:
    cli.fail('aborted.', code=130)
  if result.get('interrupted'):
    command = shlex.join(
        ['python', sys.argv[0], f'--workdir={workdir}', '--resume'])
    print(f'Stopped at step {result["step"]}, everything is saved. To go on: '
          f'{command}', file=sys.stderr)
  print(json.dumps(result), flush=True)


if __name__ == '__main__':
  app.run(main, flags_parser=parse_flags)
