# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Looks at how the solves of a trained model fare, instance by instance.

Examples:

  # sixteen graphs of size 16, one row each, the slowest first
  python experiments/convergence.py RUN_FOLDER

  # sixteen of size 64, where dense Jacobians would not fit into memory
  python experiments/convergence.py RUN_FOLDER --size=64 --nodense

Prints a table in Markdown on stdout and writes convergence.json and
convergence.png into the run folder, or elsewhere with --output. The table has,
for every instance: the solver's steps and residual; the distance from there to
the fixed point; the spectral radius of the step at the state that the solver
returned, and at the fixed point; steps and residual of the backward solve, its
error against a dense solve in double precision, and by what factor the exact
adjoint u = (I - J^T)^-1 g is longer than g. Jacobians take (size * width)^2
numbers: 16 MB an instance at size 16 and width 128.
"""

import dataclasses
import os
import sys

from absl import flags
import cli
import trained

_SIZE = flags.DEFINE_integer('size', 16, 'size of the instances', lower_bound=2)
_INSTANCES = flags.DEFINE_integer(
    'instances', 16, 'how many to look at', lower_bound=1)
_TOL = flags.DEFINE_float(
    'tol', None, "forward tolerance (default: the run's)",
    lower_bound=1e-9)
_DECAY = flags.DEFINE_float(
    'decay', None, 'backward_decay (default: that of the run, or of the damped '
    'gradient if the run had none)',
    lower_bound=0, upper_bound=1)
_BACKWARD_MAX_ITER = flags.DEFINE_integer(
    'backward_max_iter', None, 'the most steps of the backward solve '
    "(default: the run's)", lower_bound=1)
_DENSE = flags.DEFINE_boolean(
    'dense', True, 'whether to compute Jacobians, and what follows from them')
_SPECTRA = flags.DEFINE_integer(
    'spectra', 2, 'number of instances of which to compute all eigenvalues; '
    'each takes seconds', lower_bound=0)
_OUTPUT = flags.DEFINE_string(
    'output', None, 'where to write the JSON and the picture, without ending; '
    'by default RUN_FOLDER/convergence')
cli.define_import()

# What counts as the fixed point itself, where plain numbers of the solver are
# not enough.
_EXACT_TOL = 1e-4
_EXACT_MAX_ITER = 200
_HISTORY = 40
_POWER_ITERATIONS = 60


def look_at(model, batch, forward, backward, decay):
  """Arrays about a batch, with the instances along their leading axis."""
  from dear_jax.fixed_points import diagnostics
  from dear_jax.fixed_points import implicit
  from dear_jax.fixed_points import per_instance
  from dear_jax.fixed_points import solvers
  import jax
  import jax.numpy as jnp
  key = jax.random.PRNGKey(0)

  def look(result, cotangent):
    fun, args = result.fun, result.args
    init = jnp.zeros_like(result.solution.value)
    solution, origin = solvers.solve_with_origin(fun, init, *args,
                                                 config=forward)
    settled = solvers.solve(fun, init, *args, config=dataclasses.replace(
        forward, tol=_EXACT_TOL, max_iter=_EXACT_MAX_ITER))
    history = solvers.solve(fun, init, *args, config=dataclasses.replace(
        forward, tol=_EXACT_TOL, max_iter=_HISTORY), return_trajectory=True)
    adjoint = implicit.solve_adjoint(fun, origin, args, cotangent,
                                     config=backward, decay=decay)
    radius = lambda state: diagnostics.spectral_radius(
        fun, state, *args, key=key, num_iterations=_POWER_ITERATIONS)
    norms = per_instance.norms
    found = dict(
        steps=solution.steps,
        residual=solution.residual,
        converged=solution.converged,
        settled=settled.converged,
        distance=norms(solution.value - settled.value) / norms(settled.value),
        residuals=history.residuals.T,
        radius=radius(origin),
        settled_radius=radius(settled.value),
        backward_steps=adjoint.steps,
        backward_residual=adjoint.residual,
        backward_converged=adjoint.converged)
    arrays = dict(cotangent=cotangent, adjoint=adjoint.value)
    if _DENSE.value:
      arrays['jacobian'] = diagnostics.jacobian(fun, origin, *args)
    return found, arrays

  return jax.device_get(model.inspect(key, batch, look))


def compare_with_dense(found, arrays, decay):
  """Errors of the backward solves, exact adjoints, and some spectra."""
  import numpy as np
  count = len(found['steps'])
  flat = lambda x: np.reshape(x, (count, -1)).astype(np.float64)
  adjoint, cotangent = flat(arrays['adjoint']), flat(arrays['cotangent'])
  by_radius = np.argsort(-found['radius'], kind='stable')
  chosen = set(by_radius[np.linspace(
      0, count - 1, min(_SPECTRA.value, count)).astype(int)].tolist())
  errors, growth, spectra = [], [], []
  for i in range(count):
    cli.progress(f'dense solve {i + 1}/{count}')
    jacobian = arrays['jacobian'][i].astype(np.float64)
    solve = lambda decay: np.linalg.solve(
        np.eye(len(jacobian)) - decay * jacobian.T, cotangent[i])
    exact = solve(decay)
    errors.append(np.linalg.norm(adjoint[i] - exact)
                  / max(np.linalg.norm(exact), 1e-300))
    growth.append(np.linalg.norm(solve(1.0))
                  / max(np.linalg.norm(cotangent[i]), 1e-300))
    spectra.append(np.linalg.eigvals(jacobian) if i in chosen else None)
  cli.progress('')
  return dict(backward_error=np.array(errors),
              exact_growth=np.array(growth)), spectra


def draw(found, spectra, tol, backward_tol, title, path):
  """Pictures of residuals, radii, backward solves and spectra."""
  import matplotlib
  matplotlib.use('agg')
  import matplotlib.pyplot as plt
  import numpy as np
  figure, axes = plt.subplots(2, 2, figsize=(11, 8.5), layout='constrained')
  figure.suptitle(title)
  line = dict(color='grey', linestyle='--', linewidth=1)

  ax = axes[0, 0]
  for residuals in found['residuals']:
    shown = np.isfinite(residuals)
    ax.semilogy(1 + np.flatnonzero(shown), residuals[shown], linewidth=1)
  ax.axhline(tol, **line)
  ax.set(xlabel='evaluation', ylabel='relative residual',
         title='Forward: what would come after the tolerance')

  ax = axes[0, 1]
  ax.scatter(found['settled_radius'], found['radius'])
  ax.axvline(1, **line)
  ax.axhline(1, **line)
  ax.set(xlabel='at the fixed point', ylabel='at the returned state',
         title='Spectral radius of the step')

  ax = axes[1, 0]
  if 'backward_error' in found:
    ax.loglog(found['backward_residual'], found['backward_error'], 'o')
    ax.set(ylabel='relative error against a dense solve')
  else:
    ax.semilogx(found['backward_residual'], found['backward_steps'], 'o')
    ax.set(ylabel='steps')
  ax.axvline(backward_tol, **line)
  ax.set(xlabel='relative residual', title='Backward solve')

  ax = axes[1, 1]
  ax.add_patch(plt.Circle((0, 0), 1, fill=False, **line))
  for i, spectrum in enumerate(spectra):
    if spectrum is not None:
      ax.plot(spectrum.real, spectrum.imag, '.', markersize=3,
              label=f'radius {found["radius"][i]:.2f}')
  if any(spectrum is not None for spectrum in spectra):
    ax.legend(loc='upper left')
  ax.set(xlabel='real', ylabel='imaginary', aspect='equal',
         title='Eigenvalues at the returned state')
  figure.savefig(path, dpi=100)
  plt.close(figure)


def main(argv):
  folder = argv[1]
  run = trained.Run(folder, only_dear=True)
  output = _OUTPUT.value or os.path.join(folder, 'convergence')
  cli.check_output(_OUTPUT, output + '.json')
  cli.prepare()
  from dear_jax.networks import gradients
  import numpy as np
  config = run.config
  if config.cgp:
    cli.fail(f'{folder} was trained with --cgp; this looks at states of nodes '
             'only, and not at virtual nodes.')
  tol = _TOL.value or config.tol
  # A run with the one-step gradient is looked at as if it were damped.
  decay = 1.0 if config.gradient == 'implicit' else gradients.DECAY
  for given in (config.backward_decay, _DECAY.value):
    decay = decay if given is None else given
  backward = config.backward_solver()
  if _BACKWARD_MAX_ITER.value:
    backward = dataclasses.replace(backward, max_iter=_BACKWARD_MAX_ITER.value)
  sampler = run.sampler(_SIZE.value, _INSTANCES.value)
  cli.progress('solving')
  with cli.failing(code=1):
    model = run.model(sampler, layout='dense')
  found, arrays = look_at(
      model, sampler.batch(0),
      dataclasses.replace(config.forward_solver(), tol=tol), backward, decay)
  spectra = []
  if _DENSE.value:
    dense, spectra = compare_with_dense(found, arrays, decay)
    found.update(dense)

  order = np.lexsort((-found['radius'], -found['steps']))
  columns = {
      'steps': ('steps', 'd'), 'residual': ('residual', '.3f'),
      'distance': ('distance to the fixed point', '.3f'),
      'radius': ('spectral radius', '.2f'),
      'settled_radius': ('at the fixed point', '.2f'),
      'backward_steps': ('backward steps', 'd'),
      'backward_residual': ('backward residual', '.4f'),
      'backward_error': ('backward error', '.4f'),
      'exact_growth': ('exact adjoint / g', '.1f')}
  columns = {name: column for name, column in columns.items() if name in found}
  print(f'{run.algorithm}, size {_SIZE.value}, tolerance {tol:g}, decay '
        f'{decay:g}:\n')
  cli.print_table(
      [head for head, _ in columns.values()],
      [[format(found[name][i].item(), spec)
        for name, (_, spec) in columns.items()] for i in order])
  print(f'Converged: {np.mean(found["converged"]):.0%} forward, '
        f'{np.mean(found["backward_converged"]):.0%} backward; '
        f'{np.mean(found["settled"]):.0%} when solved to {_EXACT_TOL:g} in '
        f'{_EXACT_MAX_ITER} steps.')
  kept = {name: np.asarray(value)[order].tolist()
          for name, value in found.items()}
  kept['residuals'] = [[x for x in row if np.isfinite(x)]
                       for row in kept['residuals']]
  cli.write_json(output + '.json', dict(
      algorithm=run.algorithm, size=_SIZE.value, tol=tol, decay=decay, **kept))
  try:
    with cli.writing(output + '.png'):
      draw(found, spectra, tol, backward.tol,
           f'{run.algorithm}, size {_SIZE.value}, after '
           f'{config.train_steps:,} steps, {config.gradient} gradient',
           output + '.png')
  except ImportError:
    print('matplotlib is not installed, so there is no picture.',
          file=sys.stderr)


if __name__ == '__main__':
  cli.run(main, cli.parse_run_folder)
