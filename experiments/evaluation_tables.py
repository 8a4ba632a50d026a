# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""The tables that experiments/evaluate.py prints."""

import cli


def _columns_of(row):
  """The cells that all tables have in common, by their heads."""
  cells = {'samples': str(row['samples']), 'score': f'{row["score"]:.4f}',
           '95 % interval': '-' if row['low'] is None else
                            f'{row["low"]:.4f} to {row["high"]:.4f}'}
  if len(row['outputs']) > 1:
    cells.update({f'`{name}`': f'{x:.4f}'
                  for name, x in row['outputs'].items()})
  solves = 'converged' in row
  cells['solver steps' if solves else 'steps'] = f'{row["steps_mean"]:.1f}'
  cells['at most'] = str(row['steps_max'])
  if solves:
    cells['converged'] = f'{row["converged"]:.0%}'
  return cells


def print_part(title, head, rows, label):
  """Prints a table, with what the rows differ in as its first column."""
  print(f'{title}:\n')
  cells = [{head: label(row), **_columns_of(row)} for row in rows]
  cli.print_table(list(cells[0]), [list(x.values()) for x in cells])


def _columns_of_graphs(row):
  """The cells of the table by family of graphs."""
  cells = _columns_of(row)
  score = cells.pop('score')
  share = lambda name: ('-' if row.get(name) is None else f'{row[name]:.4f}')
  return {'graphs': row['graphs'], 'size': str(row['size']),
          'samples': cells.pop('samples'), 'nodes right': score,
          '95 % interval': cells.pop('95 % interval'),
          'graphs right': share('whole'), **cells,
          'confidence': share('confidence'),
          'calibration error': share('calibration_error'),
          'sure': f'{row["sure"]:.0%}' if 'sure' in row else '-',
          'right if sure': share('score_if_sure')}


def print_graphs(title, rows):
  """Prints the table by family of graphs and size."""
  print(f'{title}:\n')
  cells = [_columns_of_graphs(row) for row in rows]
  cli.print_table(list(cells[0]), [list(x.values()) for x in cells])


def print_reliability(name, reliability):
  """Prints how often the model is right, by how sure it is."""
  print(f'{name}, reliability over all of these graphs:\n')
  cli.print_table(
      ['confidence', 'nodes', 'mean confidence', 'right'],
      [[f'{row["low"]:.1f} to {row["high"]:.1f}', f'{row["entries"]:,}',
        f'{row["confidence"]:.4f}', f'{row["right"]:.4f}']
       for row in reliability['bins']])
  print('Expected calibration error: '
        f'{reliability["expected_error"]:.4f}\n', flush=True)
