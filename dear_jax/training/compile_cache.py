# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Compiled programs, kept on disk."""

import os
from typing import Optional

import jax
from jax.experimental.compilation_cache import compilation_cache

_LEAST_SECONDS = 'jax_persistent_cache_min_compile_time_secs'


def enable_compilation_cache() -> Optional[str]:
  """Keeps compiled programs in the user's cache folder, for the next run.

  Leaves a cache alone that was configured already, by `jax.config` or by the
  variable JAX_COMPILATION_CACHE_DIR.

  Returns:
    The folder in use, or None if there is none that can be written.
  """
  # As JAX makes its settings up as it goes, types know none of them.
  configured = getattr(jax.config, 'jax_compilation_cache_dir')
  if configured:
    return configured
  base = os.environ.get('XDG_CACHE_HOME') or os.path.join('~', '.cache')
  folder = os.path.join(os.path.expanduser(base), 'dear_jax', 'xla')
  try:
    os.makedirs(folder, exist_ok=True)
  except OSError:
    return None
  if not os.access(folder, os.W_OK):
    return None
  jax.config.update('jax_compilation_cache_dir', folder)
  # Unless someone has chosen another one than JAX did.
  if getattr(jax.config, _LEAST_SECONDS) == 1.0:
    jax.config.update(_LEAST_SECONDS, 0.1)
  # If anything was compiled before, jax has settled on having no cache.
  compilation_cache.reset_cache()
  return folder
