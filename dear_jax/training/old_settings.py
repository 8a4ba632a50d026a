# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Settings that earlier versions have stored, as this one writes them."""

from typing import Any, Dict, Mapping

# What was done before there was a setting.
_BEFORE = {'average': False, 'select': 'best', 'jacobian_fraction': 1.0,
           'criterion': 'state', 'test_criterion': 'same', 'damping': 1.0,
           'restart': False,
           'residual_weight': 0.0, 'wanted_steps': 0.0, 'graphs': 'er',
           'edge_pointers': 'clrs', 'scalars': 'linear',
           'self_loops': True, 'contrastive_weight': 0.0}

_OF_DAMPED = ('backward_decay', 'backward_bound', 'backward_max_iter')


def upgrade(settings: Mapping[str, Any]) -> Dict[str, Any]:
  """The same settings with the names and values of today.

  Until 0.2 the gradient 'implicit' had the decay, the bound and the limit that
  are those of 'damped' now. Before that there were no such settings, and it was
  exact. Today 'implicit' is stored with None for all three. A baseline could
  have a noise_stddev, of which it took no notice.

  Args:
    settings: The settings of a run, by any version so far.

  Returns:
    Settings that mean the same.
  """
  result = {**settings}
  numbers = {name: result[name] for name in _OF_DAMPED
             if result.get(name) is not None}
  if result.get('gradient') == 'implicit':
    exact = dict(backward_decay=1, backward_bound=0,
                 backward_max_iter=result.get('max_iter'))
    if any(value != exact[name] for name, value in numbers.items()):
      result.update(exact, gradient='damped', **numbers)
    elif numbers:
      result.update(dict.fromkeys(numbers))
  elif result.get('gradient') in ('one_step', 'unrolled') and numbers:
    result.update(dict.fromkeys(numbers))  # they had no effect
  if result.get('model') == 'nar' and 'noise_stddev' in result:
    result['noise_stddev'] = 0.0  # nor had this
  return result


def complete(settings: Mapping[str, Any]) -> Dict[str, Any]:
  """As `upgrade`, with settings that the run did not have yet.

  Until there were two decoders of the pointers of edges, these pointers were
  not restricted by restrict_pointers='auto', which is 'nodes' today. Of the
  tasks of then only floyd_warshall has any.

  Args:
    settings: The settings of a run, by any version so far.

  Returns:
    All settings of today that mean the same.
  """
  result = {**_BEFORE, **upgrade(settings)}
  if ('edge_pointers' not in settings
      and 'floyd_warshall' in (result.get('algorithms') or ())
      and result.get('restrict_pointers', 'auto') == 'auto'):
    result['restrict_pointers'] = 'nodes'
  return result
