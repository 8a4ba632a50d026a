# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Encoders and decoders: CLRS' own, on all pairs of nodes or on edges only."""

import functools
from typing import (
  Any,
  Callable,
  Dict,
  FrozenSet,
  List,
  NamedTuple,
  Optional,
  Sequence,
  Tuple,
  Union,
)

import clrs
from dear_jax.fixed_points import per_instance
from dear_jax.networks import clrs_private
from dear_jax.networks import differences
from dear_jax.networks import edge_lists
from dear_jax.networks import kinds
from dear_jax.networks import layers
from dear_jax.networks import padding
from dear_jax.networks import pointer_decoders
from dear_jax.networks import pointers
from dear_jax.networks import processors
from dear_jax.networks import shards as shards_lib
from dear_jax.networks import specs
from dear_jax.networks import triplet_decoder
import haiku as hk
import jax
import jax.numpy as jnp

_Array = jax.Array

has_graph = specs.has_graph


class Encoded(NamedTuple):
  """The encoded inputs of a batch."""
  node_fts: _Array  # [B, N, F]
  edge_fts: Union[_Array, layers.LowRank]  # [B, N, N, F], or [E, F]
  graph_fts: _Array  # [B, F]
  adj_mat: Any  # [B, N, N], or None without matrices


class CodingNet(clrs_private.Net):
  """A CLRS `Net` that encodes inputs and decodes outputs, and nothing else.

  Neither hints nor their number reach it. A subclass has a `request_type`, a
  tuple of what can be asked of it, and `_process`, which answers.
  """

  solves_once = True  # there is nothing for `hosts` to watch over
  request_type: Callable[..., Any]

  def __init__(self,
               spec: List[clrs.Spec],
               hidden_dim: int,
               processor_factory: processors.ProcessorFactory,
               *,
               encoder_init: str,
               dropout_prob: float,
               nb_dims: List[Dict[str, int]],
               restrict_pointers: pointers.Rule,
               edge_pointers: str = 'clrs',
               scalars: str = 'linear',
               mesh: Optional[jax.sharding.Mesh] = None,
               name: str = 'net'):
    """Constructs the net.

    Args:
      spec: One spec an algorithm.
      hidden_dim: Width of all features.
      processor_factory: From `dear_jax.get_processor_factory`.
      encoder_init: As in CLRS.
      dropout_prob: Dropout on the states before they are decoded.
      nb_dims: Sizes of the categorical features, by algorithm and name.
      restrict_pointers: Whether pointers are chosen among edges and self-loops
        only; None decides by `pointers.lie_on_edges`.
      edge_pointers: Decoder of the pointers of edges: 'clrs', 'triplet' or
        'paths'; the latter two are those of `TripletDecoder`.
      scalars: How numbers are encoded: each by a 'linear' layer, as in CLRS, or
        with their 'differences', or with those between numbers of edges too
        ('relative').
      mesh: The devices that batches are split over, as far as they divide
        them evenly.
      name: Name of the module.
    """
    super().__init__(
        spec=spec, hidden_dim=hidden_dim, encode_hints=False,
        decode_hints=False, processor_factory=processor_factory,
        use_lstm=False, encoder_init=encoder_init, dropout_prob=dropout_prob,
        hint_teacher_forcing=0.0, nb_dims=nb_dims, name=name)
    kinds.check_edge_pointers(edge_pointers)
    differences.check(scalars)
    self._scalars = scalars
    self._differences = functools.partial(
        differences.of_pairs, relative=scalars == 'relative')
    self._restrict_pointers = restrict_pointers
    self._edge_pointers = edge_pointers
    self._mesh = mesh

  @property
  def equilibrium(self) -> processors.Equilibrium:
    """The processor, as what `build` has made sure it is."""
    assert isinstance(self.processor, processors.Equilibrium)
    return self.processor

  def __call__(self, inputs_list: Sequence[Sequence[clrs.DataPoint]], *,
               algorithm_index: int, **request) -> Any:
    """Processes one batch.

    Args:
      inputs_list: The input probes of one algorithm, or of all to initialise.
      algorithm_index: Which algorithm the inputs are of; -1 for all.
      **request: What is asked for: the fields of the net's `request_type`.

    Returns:
      What the net says of the (last) algorithm.
    """
    indices = (list(range(len(inputs_list))) if algorithm_index == -1
               else [algorithm_index])
    assert len(indices) == len(inputs_list)
    self.build()
    for index, inputs in zip(indices, inputs_list):
      output = self._process(inputs, index, self.request_type(**request))
    return output

  def _process(self, inputs: Sequence[clrs.DataPoint], index: int, asked: Any
               ) -> Any:
    """Answers for one algorithm."""
    raise NotImplementedError

  @hk.name_like('__call__')  # so that parameters have the names of CLRS
  def build(self) -> None:
    """Makes the encoders, the decoders and the processor."""
    self.encoders, self.decoders = self._construct_encoders_decoders()
    if self._edge_pointers != 'clrs':
      for i, (spec, decoders) in enumerate(zip(self.spec, self.decoders)):
        for name in decoders:
          if _is_edge_pointer(spec[name]):
            decoders[name] = triplet_decoder.TripletDecoder(
                self.hidden_dim, self._edge_pointers,
                name=f'algo_{i}_{name}_{self._edge_pointers}')
    self._of_differences = [
        {where: hk.Linear(self.hidden_dim, name=f'algo_{i}_{where}_differences')
         for where in ('node', 'edge')} for i in range(len(self.spec))]
    self.processor = self.processor_factory(self.hidden_dim)
    if not isinstance(self.processor, processors.Equilibrium):
      raise ValueError(
          'An equilibrium model needs a processor of a kind in '
          f'{", ".join(processors.known_kinds())}, made by '
          'dear_jax.get_processor_factory; got '
          f'{type(self.processor).__name__}.')

  def encode(self, inputs: Sequence[clrs.DataPoint], index: int,
             edge_list: Optional[edge_lists.EdgeList]) -> Encoded:
    """Sums the encodings of all inputs into node, edge and graph features."""
    encs = self.encoders[index]
    batch_size, nb_nodes = _dimensions(inputs)
    node_fts = jnp.zeros((batch_size, nb_nodes, self.hidden_dim))
    edge_fts: Any = jnp.zeros(
        (batch_size, nb_nodes, nb_nodes, self.hidden_dim))
    graph_fts = jnp.zeros((batch_size, self.hidden_dim))
    adj_mat = jnp.tile(jnp.eye(nb_nodes), (batch_size, 1, 1))
    for probe in inputs:
      probe = clrs_private.preprocess(probe, nb_nodes)
      encoder = encs[probe.name]
      adj_mat = clrs_private.accum_adj_mat(probe, adj_mat)
      node_fts = clrs_private.accum_node_fts(encoder, probe, node_fts)
      graph_fts = clrs_private.accum_graph_fts(encoder, probe, graph_fts)
      if edge_list is None:
        edge_fts = clrs_private.accum_edge_fts(encoder, probe, edge_fts)
    if edge_list is not None:
      edge_fts = self._encode_edges(inputs, index, edge_list.pairs)
    if self._scalars != 'linear':
      encoders = self._of_differences[index]
      of_nodes = differences.of_nodes(inputs)
      if of_nodes is not None:
        node_fts += encoders['node'](of_nodes)
      of_pairs = self._differences(inputs) if edge_list is None else None
      if of_pairs is not None:
        edge_fts += encoders['edge'](of_pairs)
    if not has_graph(self.spec[index]):
      adj_mat = jnp.ones_like(adj_mat)
    return Encoded(node_fts, edge_fts, graph_fts, adj_mat)

  def _encode_edges(self, inputs: Sequence[clrs.DataPoint], index: int,
                    pairs: Optional[_Array]) -> layers.LowRank:
    """The encoding of what edges have, [E, F]; without a list, of all pairs."""
    by_device = functools.partial(
        shards_lib.by_device,
        shards_lib.for_batch(self._mesh, _dimensions(inputs)[0]))
    of_pairs = None
    if self._scalars != 'linear':
      of_pairs = (self._differences(inputs) if pairs is None
                  else by_device(self._differences)(list(inputs), pairs))
    pick = lambda data: jnp.ravel(data) if pairs is None else by_device(
        lambda data, pairs: jnp.ravel(data)[pairs])(data, pairs)
    return self.encode_columns(
        {probe.name: pick(probe.data) for probe in inputs
         if probe.location == clrs.Location.EDGE}, index, of_pairs)

  def encode_columns(self, edge_inputs: Dict[str, _Array], index: int,
                     of_pairs: Optional[_Array] = None) -> layers.LowRank:
    """The encoding of what edges have, never multiplied out.

    Args:
      edge_inputs: [E] each, by the names of masks and numbers of edges.
      index: Which algorithm they are of.
      of_pairs: [..., K], differences of both ends of every edge, if they are
        to be encoded, too.

    Returns:
      [E, F].
    """
    columns, weights, biases = [], [], []
    def add(encoder, values):  # [E, K]
      width = values.shape[-1]
      columns.append(values)
      biases.append(encoder(jnp.zeros((width,))))
      weights.append(encoder(jnp.eye(width)) - biases[-1])

    for name, column in edge_inputs.items():
      _, _, type_ = self.spec[index][name]
      assert type_ in (clrs.Type.MASK, clrs.Type.SCALAR)
      encoder, = self.encoders[index][name]
      add(encoder, column[:, None])
    if of_pairs is not None:
      add(self._of_differences[index]['edge'],
          jnp.reshape(of_pairs, (-1, of_pairs.shape[-1])))
    columns.append(jnp.ones_like(columns[0][:, :1]))
    return layers.LowRank(jnp.concatenate(columns, axis=-1),
                          jnp.concatenate(weights + [sum(biases)[None]]))

  def decode(self, inputs: Sequence[clrs.DataPoint], index: int,
             encoded: Encoded, hidden: _Array, edges: Optional[_Array], *,
             edge_list: Optional[edge_lists.EdgeList],
             node_mask: Optional[_Array], repred: bool) -> Dict[str, _Array]:
    """Decodes the outputs.

    Args:
      inputs: The input probes.
      index: Which algorithm they are of.
      encoded: What `encode` made of them.
      hidden: [B, N, F], the states of the nodes.
      edges: [B, N, N, F], embeddings of the edges, if the processor has some;
        with an edge list [B, E, F].
      edge_list: As in `encode`.
      node_mask: [B, N], 0 at nodes that are padding.
      repred: False in training, True in evaluation.

    Returns:
      The raw outputs of the decoders, by name.
    """
    spec = self.spec[index]
    restricted = pointers.restricted_locations(spec, self._restrict_pointers)
    edge_fts: Any = encoded.edge_fts
    if not repred and self._dropout_prob:
      hidden = hk.dropout(hk.next_rng_key(), self._dropout_prob, hidden)
    states = jnp.concatenate([encoded.node_fts, hidden], axis=-1)
    decoded_spec = spec
    if node_mask is not None:
      states = padding.copies_of_first(states, node_mask)
      decoded_spec = padding.as_pointers(spec)

    by_device = functools.partial(
        shards_lib.by_device, shards_lib.for_batch(self._mesh, len(states)))
    all_pairs = dict(self.decoders[index])
    output_preds = {}
    if edge_list is not None:
      if clrs.Location.NODE in restricted:
        output_preds = {
            name: pointer_decoders.on_edges(
                all_pairs.pop(name), states, edge_fts, edge_list, edges,
                by_device)
            for name in self.decoders[index]
            if spec[name][1:] == (clrs.Location.NODE, clrs.Type.POINTER)}
      # What else there is may need any pair of nodes.
      if all_pairs:
        edge_fts = self.encode(inputs, index, None).edge_fts
        if edges is not None:
          edges = by_device(lambda edge_list, edges, states: (
              edge_lists.to_matrix(edge_list, edges, *states.shape[:2])))(
                  edge_list, edges, states)
    for name in list(all_pairs):
      if not _is_edge_pointer(spec[name]):
        continue
      decoder = all_pairs.pop(name)
      of_pairs = (edge_fts if edge_list is None
                  else self._encode_edges(inputs, index, None))
      output_preds[name] = (
          decoder(states, of_pairs, edges, node_mask)
          if isinstance(decoder, triplet_decoder.TripletDecoder)
          else pointer_decoders.of_pairs(decoder, states, of_pairs, edges))
    if all_pairs:
      edge_embeddings = [edge_fts]
      if edges is not None:
        edge_embeddings.append(edges)
      output_preds.update(clrs_private.decode_fts(
          decoders=all_pairs,
          spec=decoded_spec,
          h_t=states,
          adj_mat=encoded.adj_mat,
          edge_fts=jnp.concatenate(edge_embeddings, axis=-1),
          graph_fts=encoded.graph_fts,
          inf_bias=self.processor.inf_bias,
          inf_bias_edge=self.processor.inf_bias_edge,
          repred=repred)[1])
    return _adjust_logits(spec, output_preds, inputs, encoded.adj_mat,
                          restricted, node_mask)


def without_nonsense(inputs: Sequence[clrs.DataPoint]
                     ) -> Tuple[List[clrs.DataPoint], _Array]:
  """Zeros in place of instances with NaN or infinity among their inputs.

  Even without a cotangent they would make the gradient of an encoder NaN.

  Args:
    inputs: The inputs of a batch.

  Returns:
    The inputs, and [B], which instances are sound.
  """
  is_sound = functools.reduce(jnp.logical_and, [
      jnp.all(jnp.isfinite(x.data), axis=tuple(range(1, x.data.ndim)))
      for x in inputs])
  return [clrs.DataPoint(
      x.name, x.location, x.type_,
      per_instance.zero(x.data, ~is_sound))
          for x in inputs], is_sound


def takes_edge_lists(spec: clrs.Spec) -> bool:
  """Whether the inputs of a task can be encoded on a list of edges."""
  return has_graph(spec) and not any(
      stage == clrs.Stage.INPUT and (
          type_ in (clrs.Type.POINTER, clrs.Type.PERMUTATION_POINTER)
          or location == clrs.Location.EDGE
          and type_ not in (clrs.Type.MASK, clrs.Type.SCALAR))
      for stage, location, type_ in spec.values())


def can_be_padded(spec: clrs.Spec) -> bool:
  """Whether a task can be trained on graphs with nodes that are none."""
  return takes_edge_lists(spec) and all(
      type_ == clrs.Type.POINTER and location != clrs.Location.GRAPH
      for stage, location, type_ in spec.values()
      if stage == clrs.Stage.OUTPUT)


def permutation_logits(log_matrix: _Array) -> _Array:
  """Keeps permutation logits from being very negative at the start.

  The leaky ReLU with its kink at (-6, -6) of the paper's appendix on the
  differences to Ibarz et al. (2022), applied after the Sinkhorn operator.
  """
  return jax.nn.leaky_relu(log_matrix + 6.0) - 6.0


def _adjust_logits(spec: clrs.Spec, preds: Dict[str, _Array],
                   inputs: Sequence[clrs.DataPoint], adj_mat: _Array,
                   restricted: FrozenSet[str], node_mask: Optional[_Array]
                   ) -> Dict[str, _Array]:
  """What is done to logits beyond CLRS's decoders."""
  adjusted = {}
  for name, logits in preds.items():
    _, location, type_ = spec[name]
    if type_ == clrs.Type.PERMUTATION_POINTER:
      if node_mask is not None:
        logits = padding.permutation(logits, node_mask)
      logits = permutation_logits(logits)
    elif type_ == clrs.Type.POINTER and location in restricted:
      logits = (pointers.restrict_nodes(logits, adj_mat)
                if location == clrs.Location.NODE
                else pointers.restrict_edges(logits, inputs))
    if node_mask is not None:
      logits = padding.mask_choices(logits, type_, node_mask)
    adjusted[name] = logits
  return adjusted


def _is_edge_pointer(what: Tuple[str, str, str]) -> bool:
  return what[1:] == (clrs.Location.EDGE, clrs.Type.POINTER)


def _dimensions(inputs: Any):
  for probe in inputs:
    if probe.location in (clrs.Location.NODE, clrs.Location.EDGE):
      return probe.data.shape[:2]
  raise ValueError('There is no input on nodes or edges to tell the size from.')
