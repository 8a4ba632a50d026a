# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""The kinds of processors by name, for those who cannot wait for JAX.

Settings and command lines are checked against these lists; `processors` builds
what they name.
"""

from typing import Any, Dict, Tuple

# How each CLRS kind is rebuilt: from the kind that masks by the adjacency
# matrix, and a matrix. For CLRS, 'mpnn' is a 'pgn' on the full graph and
# 'deepsets' one on self-loops only; stated so, all kinds respect padding.
CLRS_KINDS = {
    'deepsets': ('pgn', 'self'),
    'gat': ('gat', 'graph'),
    'gat_full': ('gat', 'full'),
    'gatv2': ('gatv2', 'graph'),
    'gatv2_full': ('gatv2', 'full'),
    'memnet_full': ('memnet_masked', 'full'),
    'memnet_masked': ('memnet_masked', 'graph'),
    'mpnn': ('pgn', 'full'),
    'pgn': ('pgn', 'graph'),
    'pgn_mask': ('pgn_mask', 'graph'),
    'triplet_mpnn': ('triplet_pgn', 'full'),
    'triplet_pgn': ('triplet_pgn', 'graph'),
    'triplet_pgn_mask': ('triplet_pgn_mask', 'graph'),
    'gpgn': ('gpgn', 'graph'),
    'gpgn_mask': ('gpgn_mask', 'graph'),
    'gmpnn': ('gpgn', 'full'),
    'triplet_gpgn': ('triplet_gpgn', 'graph'),
    'triplet_gpgn_mask': ('triplet_gpgn_mask', 'graph'),
    'triplet_gmpnn': ('triplet_gpgn', 'full'),
}
PREFIX = 'dear_'
# The paper's step with states on edges, and on all pairs of nodes, which
# neither the paper nor CLRS has.
PGN_EDGES = 'dear_pgn_edges'
EDGE = 'dear_edge'
KINDS = (*(PREFIX + kind for kind in CLRS_KINDS), PGN_EDGES, EDGE)
OWN_KINDS = ('dear_pgn', 'dear_triplet_mpnn')
NORMS = ('layer', 'granola')
# How numbers are encoded.
SCALARS = ('linear', 'differences', 'relative', 'units', 'relative_units')
EDGE_POINTERS = ('clrs', 'triplet', 'paths')  # their decoders

# The kinds of users, with the prefix, and what their processors are made from.
registered: Dict[str, Any] = {}


def known_kinds() -> Tuple[str, ...]:
  """All kinds: those that are built in, and those of users."""
  return tuple(dict.fromkeys((*KINDS, *registered)))


def takes_edge_lists(kind: str) -> bool:
  """Whether messages of this kind can be computed on lists of edges."""
  if kind in registered:
    own = registered[kind]
    return own.takes_edge_lists and own.connectivity == 'graph'
  return kind in ('dear_pgn', PGN_EDGES)


def ignores_padding(kind: str, norm: str) -> bool:
  """Whether nodes that are padding change nothing at all of a kind's results.

  They do where random features are drawn, as many as there are nodes. Among the
  kinds of CLRS they do where a maximum or a softmax over all nodes is taken
  whatever the adjacency matrix: in triplets, in the memory of memory networks,
  and in the bias of masks, which is the least of all logits. The paper's
  triplets know which nodes there are. Of the steps of a user only those are
  trusted that take lists of edges, as training pads these too.

  Args:
    kind: Of the processor.
    norm: What its step ends with.

  Returns:
    Whether graphs of several sizes may share a program.
  """
  if norm == 'granola':
    return False
  if kind in OWN_KINDS:
    return True
  if kind in registered:
    return registered[kind].takes_edge_lists
  return not any(x in kind for x in ('triplet', 'memnet', 'mask'))


def takes_setting(kind: str, setting: str) -> bool:
  """Whether this kind is a step of the user's own that takes a setting."""
  return kind in registered and setting in registered[kind].settings


def check_edge_pointers(decoder: str) -> None:
  """Raises a ValueError unless there is such a decoder."""
  if decoder not in EDGE_POINTERS:
    raise ValueError('edge_pointers must be one of '
                     f'{", ".join(EDGE_POINTERS)}, got {decoder!r}.')


def check_cgp(cgp: bool, kind: str) -> None:
  """Raises a ValueError if a Cayley graph would have edges without states."""
  if cgp and kind in (PGN_EDGES, EDGE):
    raise ValueError(f'cgp is for processors whose states are those of nodes; '
                     f'{kind} has states on edges too.')


def check_norm(norm: str, kind: str, use_ln: bool) -> None:
  """Raises a ValueError unless the processor can end with this norm."""
  if norm not in NORMS:
    raise ValueError(f'norm must be one of {", ".join(NORMS)}, got {norm!r}.')
  if norm == 'layer':
    return
  if kind not in OWN_KINDS and not takes_setting(kind, 'norm'):
    raise ValueError(f'norm={norm!r} is for the processors '
                     f'{" and ".join(OWN_KINDS)}, not for {kind!r}.')
  if not use_ln:
    raise ValueError(f'norm={norm!r} and use_ln=False contradict each other.')
