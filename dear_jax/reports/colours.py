# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""The colours of the pictures of a solve."""

# Colours that those who are colour-blind can tell apart.
RIGHT = '#0072b2'
WRONG = '#d55e00'
TRUE = '#e8dfb5'
INK = '#333333'
EDGE = '#c8c8c8'
CHOSEN = '#bfdcf0'
OTHER = '#d9d9d9'
HIGHLIGHT = '#f6c9aa'
DASHED = (0, (3, 1.5))
