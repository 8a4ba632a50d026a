# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Trained reasoners that come with the package, as `dear_jax.load` finds them.

README.md beside this file has the commands that made them.
"""
