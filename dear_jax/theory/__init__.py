# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Algorithms as equilibria: the paper's IMP, and CLRS-30 run past its end.

Start with `imp`, an interpreter of the language that the paper argues with, and
`equilibria`, which looks for the algorithms whose last state is a fixed point.
"""
