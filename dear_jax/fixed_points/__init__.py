# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Fixed points of batched functions: solvers, gradients and their nature.

Pure JAX: nothing here knows of Haiku, of CLRS or of graphs. Start with
`solvers.solve` and `implicit.fixed_point`; `updates` has the rules by which
solvers choose their next point, `regularisers` the Jacobian penalty, and
`diagnostics` spectral radii and whole Jacobians.
"""
