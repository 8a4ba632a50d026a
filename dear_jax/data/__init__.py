# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tasks, their samples and their scores.

The paper's tasks are drawn and solved in whole batches, without hints and with
outputs equal to those of CLRS; all other tasks come from CLRS' own samplers.
Start with `samplers.make_sampler`; `tasks` knows what there is, `algorithms`
the batched solutions, and `scoring` how good an answer is.
"""
