# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Compares different gradients of a trained model: do batches agree on them?

Example:

  python experiments/gradient_noise.py RUN_FOLDER

Computes the gradient of the task loss on several batches of training data, in
several ways: through one step, damped by different decays (1 is the implicit
function theorem to the letter) with and without a bound, exactly, and through
the unrolled solver. A gradient is of use for training if batches agree on it:
'agreement' is the mean cosine between the gradients of two batches. Prints a
table in Markdown on stdout; progress goes to stderr.
"""

import os

from absl import flags
import cli
import trained

_BATCHES = flags.DEFINE_integer('batches', 8, 'how many batches to compare',
                                lower_bound=2)
_SIZE = flags.DEFINE_integer('size', 16, 'size of the instances',
                             lower_bound=2)
_DECAYS = flags.DEFINE_string('decays', '0.3,0.6,0.8,1',
                              'decays of the damped gradient, separated by '
                              'commas')
_BOUND = flags.DEFINE_float('bound', 1.5, 'bound of the damped gradient',
                            lower_bound=0)
_UNROLLED = flags.DEFINE_boolean(
    'unrolled', True, 'whether to differentiate through the solver too')
cli.define_import()


def gradients_to_compare():
  """Their names, with the settings that make them."""
  damped = lambda decay, bound: dict(
      gradient='damped', backward_decay=decay, backward_bound=bound)
  # The run may have been damped in its own way, which these know nothing of.
  undamped = dict(backward_decay=None, backward_bound=None,
                  backward_max_iter=None)
  result = {'one step': dict(gradient='one_step', **undamped)}
  for decay in map(float, _DECAYS.value.split(',')):
    result[f'damped, decay {decay:g}'] = damped(decay, 0.0)
    result[f'damped, decay {decay:g}, bound {_BOUND.value:g}'] = damped(
        decay, _BOUND.value)
  # The theorem to the letter, and as many steps as it takes.
  result['implicit, exact'] = dict(damped(1.0, 0.0), backward_max_iter=200)
  if _UNROLLED.value:
    result['unrolled'] = dict(gradient='unrolled', **undamped)
  return result


def measure(model, batches):
  """Gradients of all batches as rows of a matrix, and how the solves fared."""
  import jax
  import numpy as np
  rows, metrics = [], []
  for batch in batches:
    _, grads = model.compute_grad(jax.random.PRNGKey(0), batch)
    rows.append(np.concatenate(
        [np.ravel(x) for x in jax.tree_util.tree_leaves(grads)]))
    metrics.append([float(model.metrics[x]) for x in (
        'backward_steps_mean', 'backward_converged')])
  return np.array(rows, np.float64), np.mean(metrics, axis=0)


def main(argv):
  try:
    choices = gradients_to_compare()
  except ValueError:
    cli.fail('--decays must be numbers, separated by commas, got '
             f'{_DECAYS.value!r}.')
  run = trained.Run(argv[1], only_dear=True)
  cli.prepare()
  import numpy as np
  sampler = run.sampler(_SIZE.value, run.config.batch_size, split='train')
  # None that the run has seen, unless its training set was finite.
  batches = [sampler.batch(run.config.train_steps + i)
             for i in range(_BATCHES.value)]
  unit = lambda x: x / np.maximum(
      np.linalg.norm(x, axis=-1, keepdims=True), 1e-300)
  rows = []
  for name, changes in choices.items():
    cli.progress(name)
    with cli.failing():
      model = run.model(sampler, jacobian_weight=0.0, **changes)
    grads, (steps, converged) = measure(model, batches)
    if name == 'one step':
      one_step = unit(grads.mean(axis=0))
    cosines = unit(grads) @ unit(grads).T
    count = len(batches)
    rows.append(dict(
        gradient=name, norm=float(np.linalg.norm(grads, axis=1).mean()),
        agreement=float((cosines.sum() - count) / (count * (count - 1))),
        cosine=float(unit(grads.mean(axis=0)) @ one_step),
        backward_steps=float(steps), backward_converged=float(converged)))
  cli.progress('')
  print(f'{run.algorithm}, {len(batches)} batches of {run.config.batch_size} '
        f'at size {_SIZE.value}:\n')
  solved = lambda row, text: (
      '' if row['gradient'] in ('one step', 'unrolled') else text)
  cli.print_table(
      ['gradient', 'norm', 'agreement', 'cosine with one step',
       'backward steps', 'converged'],
      [[row['gradient'], f'{row["norm"]:.2f}', f'{row["agreement"]:.2f}',
        f'{row["cosine"]:.2f}', solved(row, f'{row["backward_steps"]:.1f}'),
        solved(row, f'{row["backward_converged"]:.0%}')] for row in rows])
  cli.write_json(os.path.join(argv[1], 'gradient_noise.json'), rows)


if __name__ == '__main__':
  cli.run(main, cli.parse_run_folder)
