# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Run folders as tables, charts and pictures.

Start with `read_run`, which reads a run folder, also of a run that is still
going, and `series`, one figure over its steps. `charts` decides what is drawn,
`page` draws it with Plotly into one HTML file, `png` with matplotlib. Import
these two by name: their libraries are an extra, `dear-jax[reports]`.
"""

from dear_jax.reports.run_data import read_run as read_run
from dear_jax.reports.run_data import series as series
