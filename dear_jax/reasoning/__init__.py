# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""A trained model at work on one's own graphs and arrays.

Start with `loading.load`. `questions` turns what a user asks into the inputs
of a task, and `tracing` follows a solve from iterate to iterate.
"""
