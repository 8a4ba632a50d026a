# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""All that is taken from `clrs._src`, which CLRS may change without notice.

No other module imports from there, so that a new version of CLRS has to fit
here and nowhere else. What is missing, or takes other arguments, is told when
this is imported, and not in the middle of a run.
"""

import inspect

import clrs

KNOWN_VERSIONS = (
    'dm-clrs 2.0.3 and the main branch of CLRS of 26 March 2026 (bfd042f)')


def _error(what: str) -> ImportError:
  version = getattr(clrs, '__version__', 'of no version')
  return ImportError(f'This CLRS ({version}) does not fit dear_jax, which '
                     f'knows {KNOWN_VERSIONS}: {what}.')


# Not in one with `import clrs`: if a package is missing that CLRS needs, that
# is for CLRS to tell.
try:
  # pylint: disable=g-import-not-at-top
  from clrs._src import processors
  from clrs._src.baselines import accum_opt_update
  from clrs._src.decoders import construct_decoders
  from clrs._src.decoders import decode_fts
  from clrs._src.decoders import log_sinkhorn
  from clrs._src.decoders import postprocess
  from clrs._src.encoders import accum_adj_mat
  from clrs._src.encoders import accum_edge_fts
  from clrs._src.encoders import accum_graph_fts
  from clrs._src.encoders import accum_node_fts
  from clrs._src.encoders import preprocess
  from clrs._src.evaluation import fuse_perm_and_mask
  from clrs._src.losses import output_loss
  from clrs._src.nets import Net
  from clrs._src.nets import NetChunked
  from clrs._src.probing import split_stages
  from clrs._src.processors import BIG_NUMBER
  from clrs._src.processors import get_processor_factory
  from clrs._src.processors import Processor
  from clrs._src.processors import PROCESSOR_TAG
except ImportError as e:
  raise _error(e.msg) from e

__all__ = (
    'accum_adj_mat',
    'accum_edge_fts',
    'accum_graph_fts',
    'accum_node_fts',
    'accum_opt_update',
    'BIG_NUMBER',
    'construct_decoders',
    'decode_fts',
    'fuse_perm_and_mask',
    'get_processor_factory',
    'log_sinkhorn',
    'Net',
    'NetChunked',
    'output_loss',
    'postprocess',
    'preprocess',
    'Processor',
    'PROCESSOR_TAG',
    'processors',
    'split_stages',
)

# What these are called with here. Methods are among them that a subclass calls,
# or puts something of its own in place of, which would otherwise be left out in
# silence. What CLRS has beyond that needs a default.
_ARGUMENTS = (
    (accum_adj_mat, 'dp adj_mat'),
    (accum_edge_fts, 'encoders dp edge_fts'),
    (accum_graph_fts, 'encoders dp graph_fts'),
    (accum_node_fts, 'encoders dp node_fts'),
    (accum_opt_update, 'params grads opt_state opt freeze_processor'),
    (decode_fts, 'decoders spec h_t adj_mat edge_fts graph_fts inf_bias '
     'inf_bias_edge repred'),
    (fuse_perm_and_mask, 'perm mask'),
    # CLRS's own, also while `registry.register` has put ours in its place.
    (inspect.unwrap(get_processor_factory),
     'kind use_ln nb_triplet_fts nb_heads'),
    (log_sinkhorn, 'x steps temperature zero_diagonal noise_rng_key'),
    (output_loss, 'truth pred nb_nodes'),
    (postprocess, 'spec preds sinkhorn_temperature sinkhorn_steps hard'),
    (preprocess, 'dp nb_nodes'),
    (split_stages, 'probes spec'),
    ((Processor, '__init__'), 'self name'),
    ((Net, '__init__'),
     'self spec hidden_dim encode_hints decode_hints processor_factory '
     'use_lstm encoder_init dropout_prob hint_teacher_forcing nb_dims name'),
    ((Net, '_construct_encoders_decoders'), 'self'),
    ((clrs.models.BaselineModel, '_create_net_fns'),
     'self hidden_dim encode_hints processor_factory use_lstm encoder_init '
     'dropout_prob hint_teacher_forcing hint_repred_mode'),
)


def _check_arguments() -> None:
  """Raises an ImportError unless everything can be called as it is here."""
  for callee, expected in _ARGUMENTS:
    if isinstance(callee, tuple):
      owner, name = callee
      callee, name = getattr(owner, name, None), f'{owner.__name__}.{name}'
      if callee is None:
        raise _error(f'there is no {name}')
    else:
      name = f'{callee.__module__}.{callee.__name__}'
    parameters = inspect.signature(callee).parameters
    found = [x for x, parameter in parameters.items()
             if x in expected.split()
             or parameter.default is parameter.empty and parameter.kind not in (
                 parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)]
    if found != expected.split():
      raise _error(f'{name} takes ({", ".join(parameters)}), and not '
                   f'({expected.replace(" ", ", ")})')


_check_arguments()
