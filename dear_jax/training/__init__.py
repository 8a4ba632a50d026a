# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs: settings, the loop, and all that makes a run survive.

Start with `configs.TrainConfig`, the one home of all settings, and
`loop.train`. A run folder and its files are those of `run_folder` and
`checkpoints`; `locks` lets one run at a time into it.
"""
