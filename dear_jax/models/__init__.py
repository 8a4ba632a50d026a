# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Models with parameters and an optimiser, wherever CLRS has a `BaselineModel`.

Start with `dear.DEARModel`, which solves, and `nar.NARModel`, which
unrolls; `base_model` has what they share: devices, programs, optimiser steps.
"""
