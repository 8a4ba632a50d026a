# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Shows which nodes a trained model gets wrong.

Examples:

  # the 100 test samples of a run, at size 64
  python experiments/errors.py RUN_FOLDER

  # at the size of training
  python experiments/errors.py RUN_FOLDER --size=16

For tasks on graphs whose output is a pointer of every node. Prints tables in
Markdown on stdout: the share of right nodes by their depth in the true tree, by
the order in which a depth-first search would visit them, by the number of their
edges and by their own number; and what was said where it was wrong. Of spanning
trees (mst_prim) also how much heavier the edges are that were said in error.
Writes all of it to errors.json in the run folder, or elsewhere with --output.
"""

import os

from absl import flags
import cli
import trained

_SIZE = flags.DEFINE_integer(
    'size', None, "size of the samples (default: that of the run's test)",
    lower_bound=2)
_SAMPLES = flags.DEFINE_integer(
    'samples', 100, 'how many there are, rounded up to whole batches',
    lower_bound=1)
_OUTPUT = flags.DEFINE_string(
    'output', None, 'file to write (default: RUN_FOLDER/errors.json)')
cli.define_import()

# Quantiles of how heavy edges are.
_SHARES = (0.1, 0.25, 0.5, 0.75, 0.9)


def find(run, size):
  """Of all samples the true pointers, those that are said, edges, weights."""
  import clrs
  import jax
  import numpy as np
  with cli.failing():
    test_set = run.test_set(size, _SAMPLES.value, run.config.batch_size)
  key = jax.random.fold_in(jax.random.PRNGKey(run.config.seed), 1)
  with cli.failing(code=1):
    model = run.model(test_set)
  truth, said, adj, weights = [], [], [], []
  for feedback in test_set:
    inputs = {x.name: x.data for x in feedback.features.inputs}
    outputs = [x for x in feedback.outputs if x.location == clrs.Location.NODE
               and x.type_ == clrs.Type.POINTER]
    if 'adj' not in inputs or len(outputs) != 1:
      cli.fail(f'{run.algorithm} has no graph whose nodes have one pointer '
               'each; this needs a task that has, such as dfs.')
    preds, _ = model.evaluate_instances(key, feedback)
    truth.append(np.asarray(outputs[0].data).astype(int))
    said.append(np.asarray(preds[outputs[0].name].data).astype(int))
    adj.append(np.asarray(inputs['adj']))
    # Tasks of one's own may have none.
    weights.append(np.asarray(inputs.get('A', inputs['adj'])))
    cli.progress(f'{sum(map(len, truth))} samples')
  cli.progress('')
  return [np.concatenate(x) for x in (truth, said, adj, weights)]


def main(argv):
  folder = argv[1]
  run = trained.Run(folder)
  output = _OUTPUT.value or os.path.join(folder, 'errors.json')
  cli.check_output(_OUTPUT, output)
  size = _SIZE.value or run.config.test_size
  run.check_size(size)
  cli.prepare()
  from dear_jax.reports import error_groups
  import numpy as np
  truth, said, adj, weights = find(run, size)
  right = truth == said
  by_rule = float((truth == error_groups.highest_below(adj)).mean())
  print(f'{run.algorithm}, {len(truth)} samples of size {size}: '
        f'{right.mean():.3f} of the nodes are right. To point to the last of '
        f'the neighbours with a lower number would be right for {by_rule:.3f}.'
        '\n')
  tables = {}
  for name, values in error_groups.describe(truth, adj).items():
    rows = tables[name] = error_groups.table(values, right)
    cli.print_table([name, 'nodes', 'right'], [
        [str(x['low']) if x['low'] == x['high'] else f'{x["low"]} to '
         f'{x["high"]}', f'{x["nodes"]:,}', f'{x["right"]:.3f}']
        for x in rows])
  places = error_groups.instead(truth, said)[~right]
  wrong = {name: float((places == i).mean()) if places.size else None
           for i, name in enumerate(error_groups.INSTEAD)}
  if places.size:
    cli.print_table(['said in place of the right node', 'of the wrong nodes'],
                    [[name, f'{share:.3f}'] for name, share in wrong.items()])
  heavier = {}
  if run.algorithm == 'mst_prim':
    values = error_groups.excess(truth, said, weights)
    heavier = dict(edges=len(values), **{
        f'{share:.2f}': float(np.quantile(values, share))
        for share in _SHARES if len(values)})
    cli.print_table(
        ['share of the edges that are not of the tree', 'weight, of that of '
         'the heaviest edge between their ends at the most'],
        [[share, f'{x:.3f}'] for share, x in heavier.items()
         if share != 'edges'])
  cli.write_json(output, dict(
      algorithm=run.algorithm, size=size, samples=len(truth),
      right=float(right.mean()), highest_below=by_rule, tables=tables,
      instead=wrong, heavier=heavier))


if __name__ == '__main__':
  cli.run(main, cli.parse_run_folder)
