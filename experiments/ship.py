# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Makes a reasoner that comes with the library, and its card.

Example:

  python experiments/ship.py runs/campaign/best_dfs_seed1 \\
      runs/campaign/best_dfs_seed2

Of several runs on the same task, which differ in their seed, the one with the
lowest validation loss is taken; tests play no part. Its parameters are written
in half precision. What `dear_jax.load` makes of that file is then tried on
questions that are asked as a user asks them, and the card tells how it did. A
file that was written before can take the place of the runs: then only its card
is made anew.
"""

import contextlib
import dataclasses
import json
import os
import pathlib
import shlex
import shutil
import tempfile

from absl import flags
import cli

ROOT = pathlib.Path(__file__).resolve().parent.parent

_OUT = flags.DEFINE_string(
    'out', str(ROOT / 'dear_jax' / 'pretrained'), 'folder to write to '
    '(default: that of the library)')
_SAMPLES = flags.DEFINE_integer(
    'samples', 96, 'questions of every size, and a quarter of that for '
    'every other family of graphs', lower_bound=1)
_SIZES = flags.DEFINE_list(
    'sizes', ['16', '32', '64'], 'sizes to try, on what the paper tests on')
_FAMILIES = flags.DEFINE_list(
    'families', ['path', 'tree', 'grid', 'small_world', 'preferential'],
    'families of graphs to try at the last of these sizes, where there are '
    'graphs')
_WEAKNESSES = flags.DEFINE_multi_string(
    'weakness', [], 'a sentence on what it is bad at, beside what the figures '
    'tell; may be given repeatedly')
cli.define_import()

# Questions that are asked at a time.
_BATCH = 8
# Scores below are weaknesses.
_GOOD = 0.95
# Weights are tried between 1 and 10,000, too, as many below 100 as above it.
_WIDE = 'er, wide weights'
_MAGNITUDES = 4
# Of a card's own test, in tests/reasoning.
_PROBE = dict(size=16, samples=8, seed=7)


def choose(folders):
  """The run with the lowest validation loss, with its result."""
  from dear_jax.training import configs
  from dear_jax.training import run_folder
  found, alike = [], None
  for folder in folders:
    with cli.failing(run_folder.RunError):
      config = configs.load_config(folder)
      result = run_folder.read_json(folder, 'result.json')
    if alike not in (None, dataclasses.replace(config, seed=0)):
      cli.fail(f'{folder} has other settings than {folders[0]}; runs to choose '
               'from may differ in their seed only.')
    alike = dataclasses.replace(config, seed=0)
    found.append((result['val_loss'], folder, config, result))
  return min(found, key=lambda x: x[0])


def command_of(config, preset):
  """What trains such a run again."""
  from dear_jax.training import configs
  from dear_jax.training import given_settings
  from dear_jax.training import settings
  given = {'algorithm': config.algorithms[0], 'seed': config.seed,
           'train_steps': config.train_steps}
  base = given_settings.make_config(given, preset)
  words = [f'--{name}={settings.as_text(getattr(config, name))}'
           for name in configs.SETTINGS
           if getattr(config, name) != getattr(base, name)]
  return shlex.join([
      'python', 'experiments/run.py', *([f'--preset={preset}'] if preset
                                        else []),
      *(f'--{name}={value}' for name, value in given.items()), *words])


def shortest_command(config):
  """The same, with the preset that needs the fewest flags."""
  return min((command_of(config, preset) for preset in (None, 'best')),
             key=len)


def ask(reasoner, family, size, samples, seed):
  """Asks as a user does; returns the figures of a `cards.Score`."""
  import dear_jax
  import numpy as np
  sampler = dear_jax.make_sampler(
      reasoner.task, size=size, batch_size=_BATCH, seed=seed, split='test',
      num_samples=max(samples // _BATCH, 1) * _BATCH,
      **({'graphs': family.split(',')[0]} if family else {}))
  scores, whole, converged, sure = [], [], [], []
  for i in range(sampler.nb_batches):
    inputs = {x.name: np.asarray(x.data)
              for x in sampler.batch(i).features.inputs}
    values = {'adj': inputs.get('A'), 'keys': inputs.get('key'),
              'target': inputs.get('target')}
    if family == _WIDE:
      values['adj'] = widened(values['adj'])
    if 's' in inputs:
      values['source'] = inputs['s'].argmax(axis=-1)
    question = {name: values[name] for name in reasoner.arguments}
    check = reasoner.check(**question)
    _, details = reasoner(**question, details=True)
    scores.append(check.score)
    whole.append(np.mean([
        not any(wrong[b].any() for wrong in check.wrong.values())
        for b in range(_BATCH)]))
    converged.append(np.mean(details.converged))
    sure.append(np.mean(details.confidence))
    cli.progress(f'{family or "arrays"} of size {size}: '
                 f'{(i + 1) * _BATCH}/{sampler.num_samples}')
  cli.progress('')
  mean = lambda values: round(float(np.mean(values)), 4)
  return dict(graphs=family, size=size, samples=sampler.num_samples,
              score=mean(scores), whole=mean(whole), converged=mean(converged),
              confidence=mean(sure))


def widened(weights):
  """Weights [B, N, N] of other magnitudes, in the same order in every graph."""
  import numpy as np
  result = np.zeros(weights.shape)
  for graph, wide in zip(weights, result):
    # Both directions of an edge have the same rank.
    found, rank = np.unique(graph[graph != 0], return_inverse=True)
    wide[graph != 0] = 10 ** (_MAGNITUDES * (rank + 1) / max(len(found), 1))
  return result


def find_weaknesses(scores):
  """What the figures tell by themselves, a sentence each."""
  from dear_jax.reasoning import cards
  found = [f'Nothing larger than {max(x["size"] for x in scores)} was tried.']
  for row in scores:
    kind = f'{row["graphs"]} graphs' if row['graphs'] else 'arrays'
    if row['graphs'] in ('er', _WIDE):
      kind = 'Erdos-Renyi graphs'
    if row['graphs'] == _WIDE:
      kind += ' with weights from 1 to 10,000'
    where = f'{kind} of size {row["size"]}'
    if row['converged'] < 0.99:
      found.append(f'On {where}, {1 - row["converged"]:.0%} of the solves do '
                   'not converge.')
    if row['score'] < _GOOD:
      sure = (', and it does not know' if row['confidence'] - row['score']
              > cards.TOO_SURE else '')
      found.append(f'On {where} its score is {row["score"]:.3f} at a '
                   f'confidence of {row["confidence"]:.3f}{sure}.')
  return found


def describe(config, result):
  """How it was trained and why it is this one, in a sentence each."""
  low, high = config.train_sizes
  on = f' on {config.graphs} graphs' if config.graphs != 'er' else ''
  training = (
      f'{config.processor}, {config.train_steps:,} steps of '
      f'{config.batch_size} instances with {low} to {high} nodes{on}, seed '
      f'{config.seed}.')
  chosen = '' if result is None else (
      f'The {result["kept"]} parameters were kept, with a validation loss of '
      f'{result["val_loss"]:.4f} at size {config.val_size}.')
  return training, chosen


def main(argv):
  with contextlib.ExitStack() as stack:
    ship(argv[1:], stack)


def ship(sources, stack):
  """Makes a reasoner and its card; the stack is for what is to be removed."""
  try:
    sizes = [int(x) for x in _SIZES.value]
  except ValueError:
    cli.fail('--sizes must be whole numbers such as 16,64, got '
             f'{",".join(_SIZES.value)!r}.')
  out = pathlib.Path(_OUT.value)
  if not out.is_dir():
    cli.fail(f'--out={out}: there is no such folder.')
  cli.prepare()
  cli.import_parts()
  import dear_jax
  from dear_jax.data import graph_names
  from dear_jax.reasoning import cards
  from dear_jax.reasoning import questions
  result = None
  if sources[0].endswith(cards.PARAMETERS):
    if len(sources) > 1:
      cli.fail('There is one file at a time, or run folders to choose from.')
    path = pathlib.Path(sources[0])
    with cli.failing():
      reasoner = dear_jax.load(path, verbose=False)
    config, command = reasoner.config, reasoner.made_by
  else:
    _, folder, config, result = choose(sources)
    command = shortest_command(config)
    name = f'{config.algorithms[0]}{cards.PARAMETERS}'
    # In place once there is a card, too.
    path = pathlib.Path(tempfile.mkdtemp(dir=out, prefix='.')) / name
    stack.callback(shutil.rmtree, path.parent)
    with cli.failing(), cli.writing(path):
      dear_jax.load(folder, verbose=False).save(
          path, made_by=f'{command} --workdir=RUN; python experiments/'
          f'export.py RUN --half --out={name}', half=True)
    reasoner = dear_jax.load(path, verbose=False)
  task = reasoner.task
  has_graph = task in graph_names.TASKS
  kinds = [('er' if has_graph else None, size) for size in sizes]
  if has_graph:
    with cli.failing():
      for family in _FAMILIES.value:
        graph_names.check_graphs(task, family, '--families')
    kinds += [(family, sizes[-1]) for family in _FAMILIES.value]
    if questions.graph_form(task).is_weighted:
      kinds += [(_WIDE, size) for size in (sizes[0], sizes[-1])]
  training, chosen = describe(config, result)
  old = out / f'{task}{cards.CARD}'
  if result is None and old.exists():
    before = json.loads(old.read_text(encoding='utf-8'))
    chosen, command = before['chosen'], before['command']
  elif len(sources) > 1:
    chosen += (f' Of {len(sources)} runs with different seeds it has the '
               'lowest.')
  with cli.failing():
    scores = [ask(reasoner, family, size, _SAMPLES.value if family in (
        None, 'er') else max(_SAMPLES.value // 4, 1), seed=0)
              for family, size in kinds]
    probe = ask(reasoner, kinds[0][0], **_PROBE)
  card = dict(name=task, arguments=list(reasoner.arguments), training=training,
              command=command, chosen=chosen,
              mebibytes=round(os.path.getsize(path) / 2**20, 3), scores=scores,
              weaknesses=[*_WEAKNESSES.value, *find_weaknesses(scores)],
              probe={**_PROBE, 'score': probe['score']})
  with cli.writing(old):
    old.write_text(json.dumps(card, indent=1) + '\n', encoding='utf-8')
    if result is not None:
      os.replace(path, out / path.name)
  print(cards.from_json(card))


if __name__ == '__main__':
  cli.run(main, lambda argv: cli.parse_flags(argv, 'A run folder', True))
