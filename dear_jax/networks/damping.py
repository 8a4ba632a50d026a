# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""The numbers of the damped gradient, where settings find them without JAX.

Its backward solve is for `u = DECAY J^T u + g`, takes at most MAX_ITER steps,
and `u` is at most BOUND times as long as `g`. docs/implicit.md tells where
these numbers come from.
"""

DECAY = 0.6
BOUND = 1.5
MAX_ITER = 20
