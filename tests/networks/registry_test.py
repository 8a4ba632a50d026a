# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of `register_step`; conformance_test.py has a registered step too."""

import clrs
import dear_jax
from dear_jax.networks import own_steps
from dear_jax.networks import processors
from dear_jax.networks import registry
from dear_jax.networks import steps
import haiku as hk
import jax
import jax.numpy as jnp
import pytest
from tests import graphs
from tests import own_parts

WIDTH = 8


def build(kind, **options):
  """Makes a processor of a kind; gives what `make` gets out of it."""
  factory = dear_jax.get_processor_factory(kind, **options)
  return hk.testing.transform_and_run(lambda: factory(WIDTH))()


def test_it_is_a_kind_everywhere():
  with pytest.raises(ValueError, match='register_step.*--import'):
    dear_jax.get_processor_factory('dear_mean')
  with pytest.raises(ValueError, match='register_step.*--import'):
    dear_jax.TrainConfig(processor='dear_mean')
  dear_jax.register_step('mean', own_parts.MeanStep)
  assert 'dear_mean' in processors.known_kinds()
  assert 'dear_mean' not in processors.KINDS
  dear_jax.TrainConfig(processor='dear_mean').processor_factory()
  nar = dear_jax.TrainConfig(processor='mean', model='nar')
  assert nar.kind == 'dear_mean'
  with pytest.raises(ValueError, match="did you mean 'dear_mean'"):
    dear_jax.TrainConfig(processor='mean')
  try:
    dear_jax.register()
    factory = clrs.get_processor_factory('dear_mean', use_ln=True,
                                         nb_triplet_fts=8)
  finally:
    dear_jax.unregister()
  net = hk.without_apply_rng(hk.transform(
      lambda *args: factory(WIDTH)(*args)[0]))
  inputs = graphs.random_graphs(width=WIDTH)
  params = net.init(jax.random.PRNGKey(0), *inputs)
  assert all('mean_clrs_processor' in name for name in params)
  assert jnp.isfinite(net.apply(params, *inputs)).all()


def test_it_is_given_the_settings_that_it_takes():
  given = {}

  class Picky(own_parts.MeanStep):

    def __init__(self, out_size, nb_heads, use_ln=True):
      super().__init__(out_size)
      given.update(nb_heads=nb_heads, use_ln=use_ln)

  dear_jax.register_step('picky', Picky)
  build('dear_picky', nb_heads=3, use_ln=False, nb_triplet_fts=2)
  assert given == dict(nb_heads=3, use_ln=False)
  with pytest.raises(ValueError, match="not for 'dear_picky'"):
    dear_jax.get_processor_factory('dear_picky', norm='granola')

  def make(out_size, norm):
    given.update(norm=norm)
    return own_parts.MeanStep(out_size)

  dear_jax.register_step('made', make)
  build('dear_made', norm='granola')
  assert given['norm'] == 'granola'


def test_a_processor_of_clrs_is_a_step_too():
  dear_jax.register_step(
      'two_heads', lambda out_size: clrs.processors.GAT(
          out_size, nb_heads=2, use_ln=True), connectivity='full')
  processor = build('dear_two_heads')
  assert isinstance(processor._step, steps.ClrsStep)
  assert processor._connectivity == 'full'


@pytest.mark.parametrize('takes_edge_lists', [True, False])
def test_lists_of_edges(takes_edge_lists):
  dear_jax.register_step('my_pgn', steps.PGN,
                         takes_edge_lists=takes_edge_lists)
  factory = dear_jax.get_processor_factory('dear_my_pgn')
  assert factory.takes_edge_lists == takes_edge_lists
  config = dict(processor='dear_my_pgn', layout='sparse')
  if takes_edge_lists:
    dear_jax.TrainConfig(**config)
  else:
    with pytest.raises(ValueError, match='not bfs and dear_my_pgn'):
      dear_jax.TrainConfig(**config)


@pytest.mark.parametrize('connectivity', ['full', 'self'])
def test_lists_have_only_what_is_an_edge(connectivity):
  """So they are not for steps whose messages pass elsewhere."""
  dear_jax.register_step('my_pgn', steps.PGN, takes_edge_lists=True,
                         connectivity=connectivity)
  factory = dear_jax.get_processor_factory('dear_my_pgn')
  assert not factory.takes_edge_lists
  with pytest.raises(ValueError, match='not bfs and dear_my_pgn'):
    dear_jax.TrainConfig(processor='dear_my_pgn', layout='sparse')


def other_step(out_size):
  return own_parts.MeanStep(out_size)


def test_names_that_clash():
  dear_jax.register_step('mean', own_parts.MeanStep)
  dear_jax.register_step('mean', own_parts.MeanStep)
  with pytest.raises(ValueError) as error:
    dear_jax.register_step('mean', other_step)
  assert 'tests.own_parts.MeanStep' in str(error.value)
  assert 'tests.networks.registry_test.other_step' in str(error.value)
  assert own_steps.REGISTERED['dear_mean'].make is own_parts.MeanStep
  for taken in ('gat', 'pgn', 'triplet_mpnn'):
    with pytest.raises(ValueError,
                       match=f"'dear_{taken}' is .*other_step needs"):
      dear_jax.register_step(taken, other_step)


def test_what_is_defined_anew_takes_the_place_of_the_old():
  """As when a cell of a notebook is run twice."""
  def define():
    class Mine(own_parts.MeanStep):
      pass
    return Mine

  first, second = define(), define()
  dear_jax.register_step('mine', first)
  dear_jax.register_step('mine', second)
  assert own_steps.REGISTERED['dear_mine'].make is second
  dear_jax.register_step('short', lambda out_size: first(out_size))
  with pytest.raises(ValueError, match='needs another name'):
    dear_jax.register_step('short', lambda out_size: second(out_size))


@pytest.mark.parametrize('arguments, options, message', [
    (('dear_mean', other_step), {}, "without the 'dear_'"),
    (('a mean', other_step), {}, "got 'a mean'"),
    ((3, other_step), {}, 'got 3'),
    (('mean', 'MeanStep'), {}, "makes one, got 'MeanStep'"),
    (('mean', other_step), dict(connectivity='auto'), "self, got 'auto'"),
])
def test_mistakes(arguments, options, message):
  with pytest.raises(ValueError, match=message):
    registry.register_step(*arguments, **options)
  assert not own_steps.REGISTERED


def test_what_is_no_step_is_told():
  dear_jax.register_step('linear', hk.Linear)
  with pytest.raises(ValueError, match='Linear without prepare, start, '):
    build('dear_linear')

  class Nameless(steps.NodeStates, hk.Module):
    inf_bias = inf_bias_edge = False
    prepare = step = edges = lambda self, *unused: None

    def __init__(self, out_size):
      super().__init__(name='nameless')

  dear_jax.register_step('nameless', Nameless)
  with pytest.raises(ValueError, match="'nameless'; without 'clrs_processor'"):
    build('dear_nameless')


def test_no_cayley_graph_on_top_of_virtual_nodes():
  class Virtual(own_parts.MeanStep):
    has_virtual_nodes = True

  dear_jax.register_step('virtual', Virtual)
  with pytest.raises(ValueError, match='dear_virtual has some'):
    build('dear_virtual', cgp=True)
