# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""What other libraries log."""

import contextlib

from absl import logging


@contextlib.contextmanager
def quiet_absl():
  """Hides what libraries log through absl below the level of an error."""
  verbosity = logging.get_verbosity()
  logging.set_verbosity(logging.ERROR)
  try:
    yield
  finally:
    logging.set_verbosity(verbosity)
