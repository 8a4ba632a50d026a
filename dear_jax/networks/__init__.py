# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""What is solved for: steps on graphs, and the nets around them.

A net encodes its inputs, asks a processor for the fixed point of a step, and
decodes it. Start with `steps.PGN`, the paper's step, then `processors` for the
equilibrium of any step, and `nets` for the whole. Other rooms may import
anything from here; from here only `fixed_points` is imported.
"""
