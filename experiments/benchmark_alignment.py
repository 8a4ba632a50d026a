# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Measures what alignment costs, and how good its gradient is.

Example:

  python experiments/benchmark_alignment.py RUN_FOLDER

The run has to be one that was trained with --align_to. Times a training step
with and without alignment, in turns, and the teacher on its own; then compares
gradients of the alignment loss. What is trained with applies the step once more
to one state of every instance, drawn at random; that is compared with applying
it to all states, and with the last state alone. Prints tables in Markdown on
stdout; progress goes to stderr.
"""

import functools

from absl import flags
import cli
import measuring
import trained

_ROUNDS = flags.DEFINE_integer('rounds', 15, 'how often to time each step',
                               lower_bound=3)
_BATCHES = flags.DEFINE_integer('batches', 8, 'batches to compare gradients on',
                                lower_bound=1)
_SIZE = flags.DEFINE_integer('size', 16, 'size of the instances',
                             lower_bound=2)
cli.define_import()


def _teacher_inputs(data):
  """A teacher sees numbers as it was trained, which may be in another way."""
  return data.inputs if data.teacher_inputs is None else data.teacher_inputs


def measure(run, sampler):
  """Median seconds of a step with and without alignment, and of the teacher."""
  import jax
  batch = sampler.batch(0)
  key = jax.random.PRNGKey(0)
  plain = run.model(sampler, learning_rate=measuring.LEARNING_RATE)
  aligned = run.model(sampler, with_teacher=True,
                      learning_rate=measuring.LEARNING_RATE)
  for model in (plain, aligned):
    model.restart(run.params)
  teacher = aligned.teacher
  data = aligned._batch(batch.features, batch.outputs, 0, training=True)
  teach = jax.jit(lambda params: teacher.net_fn.apply(
      params, key, [_teacher_inputs(data)], repred=True, algorithm_index=0,
      steps=data.steps, slots=data.slots, edge_list=data.edge_list,
      node_mask=data.node_mask, with_states=True).states)
  measurements = measuring.Measurements()
  for name, case in (('plain step', lambda: plain.feedback(key, batch)),
                     ('aligned step', lambda: aligned.feedback(key, batch)),
                     ('teacher alone', lambda: teach(teacher.device_params))):
    measurements.add(name, case)
  measurements.run(_ROUNDS.value)
  return {x: measurements.median(x) for x in measurements.seconds}, aligned


def compare_gradients(model, sampler):
  """Mean cosines of gradients of the alignment loss with the whole one."""
  from dear_jax.models import alignment
  import jax
  import jax.numpy as jnp
  import numpy as np
  teacher = model.teacher

  def loss(params, data, key, kind):
    equilibrium = model.net_fn.apply(
        params, key, [data.inputs], repred=False, algorithm_index=0,
        edge_list=data.edge_list, node_mask=data.node_mask,
        return_trajectory=True).equilibrium
    taught = teacher.net_fn.apply(
        teacher.device_params, key, [_teacher_inputs(data)], repred=True,
        algorithm_index=0, steps=data.steps, slots=data.slots,
        edge_list=data.edge_list, node_mask=data.node_mask,
        with_states=True).states
    if kind == 'one':
      return jnp.mean(alignment.solve_alignment_loss(
          equilibrium, taught, data.steps, key=key, node_mask=data.node_mask))
    solution = equilibrium.solution
    states = jax.lax.stop_gradient(equilibrium.of_nodes(solution.trajectory))
    if kind == 'all':
      states = jax.lax.map(
          jax.checkpoint(lambda z: equilibrium.of_nodes(
              equilibrium.fun(z, *equilibrium.args))), solution.origins)
    rows = jnp.arange(len(states))[:, None, None, None]
    is_last = rows == (solution.steps - 1)[:, None, None]
    states = jnp.where(is_last, equilibrium.nodes, states)
    return jnp.mean(alignment.alignment_loss(
        states, solution.steps, taught, data.steps,
        key=jax.random.split(key)[0], node_mask=data.node_mask))

  gradients = {kind: jax.jit(jax.grad(functools.partial(loss, kind=kind)))
               for kind in ('all', 'one', 'last')}
  cosines = {'one': [], 'last': []}
  for i in range(_BATCHES.value):
    cli.progress(f'gradients of batch {i + 1} of {_BATCHES.value}')
    batch = sampler.batch(i)
    data = model._batch(batch.features, batch.outputs, 0, training=True)
    flat = {}
    for kind, gradient in gradients.items():
      tree = gradient(model.device_params, data, jax.random.PRNGKey(i))
      flat[kind] = np.concatenate(
          [np.ravel(x) for x in jax.tree_util.tree_leaves(tree)])
    for kind, values in cosines.items():
      values.append(flat[kind] @ flat['all'] / max(
          np.linalg.norm(flat[kind]) * np.linalg.norm(flat['all']), 1e-300))
  return {kind: float(np.mean(values)) for kind, values in cosines.items()}


def main(argv):
  run = trained.Run(argv[1], only_dear=True)
  cli.prepare()
  if run.config.align_to is None:
    cli.fail(f'{argv[1]} was trained without --align_to; this needs a run '
             'with it.')
  sampler = run.sampler(_SIZE.value, run.config.batch_size, split='train',
                        with_lengths=True)
  with cli.failing(code=1):
    seconds, model = measure(run, sampler)
  cosines = compare_gradients(model, sampler)
  cli.progress('')
  plain, aligned = seconds['plain step'], seconds['aligned step']
  teacher = seconds['teacher alone']
  print(f'{run.algorithm}, batches of {run.config.batch_size} at size '
        f'{_SIZE.value}:\n')
  cli.print_table(
      ['', 'ms', 'times the plain step'],
      [[name, f'{1e3 * value:.0f}', f'{value / plain:.2f}'] for name, value in (
          ('plain step', plain), ('aligned step', aligned),
          ('aligned step without its teacher', aligned - teacher),
          ('teacher alone', teacher))])
  cli.print_table(
      ['gradient of the alignment loss through',
       'cosine with that through all'],
      [['one state of every instance, and the last', f'{cosines["one"]:.2f}'],
       ['the last state', f'{cosines["last"]:.2f}']])


if __name__ == '__main__':
  cli.run(main, cli.parse_run_folder)
