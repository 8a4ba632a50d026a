# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what is chosen by decoders."""

import clrs
from dear_jax.models import confidences
from dear_jax.networks import clrs_private
import jax
import numpy as np
import pytest

_TYPES = {'order': clrs.Type.PERMUTATION_POINTER,
          'pointer': clrs.Type.POINTER, 'first': clrs.Type.MASK_ONE,
          'mask': clrs.Type.MASK}
_SPEC = {name: (clrs.Stage.OUTPUT, clrs.Location.NODE, type_)
         for name, type_ in _TYPES.items()}


@pytest.mark.parametrize('hard', [True, False])
def test_it_is_what_clrs_chooses(hard):
  keys = jax.random.split(jax.random.PRNGKey(0), len(_SPEC))
  preds = {name: 3 * jax.random.normal(key, (4, 6, 6) if name in (
      'order', 'pointer') else (4, 6))
           for name, key in zip(_SPEC, keys)}
  found = confidences.choose(_SPEC, preds, hard)
  expected = clrs_private.postprocess(
      _SPEC, preds, sinkhorn_temperature=0.1, sinkhorn_steps=50, hard=hard)
  assert set(found) == set(expected) == set(_SPEC)
  for name, point in expected.items():
    assert found[name].type_ == point.type_
    np.testing.assert_allclose(found[name].data, point.data, rtol=1e-4,
                               atol=1e-6, err_msg=name)
