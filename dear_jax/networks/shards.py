# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""A batch whose instances are on several devices, some on each.

What is computed for an instance needs no other, so that every device can work
on its own: under `jax.shard_map` a solve ends at a device when its instances
are settled, and the edges of its graphs are numbered from 0 on. Where nothing
depends on that, programs are written as for one device, and JAX splits them.
"""

from typing import Any, Callable, Optional

from dear_jax.fixed_points import config as config_lib
from dear_jax.fixed_points import iterations
from dear_jax.fixed_points import varying
from dear_jax.networks import edge_lists
import jax

_Array = jax.Array
_Spec = jax.sharding.PartitionSpec


class Shards:
  """How a batch is split over the devices of a mesh."""

  def __init__(self, mesh: jax.sharding.Mesh):
    self._mesh = mesh
    self.axis, = mesh.axis_names
    self.count = mesh.size
    self._split = _Spec(self.axis)
    self._shared = _Spec()

  def by_device(self, fun: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, computed by every device for its instances.

    Args:
      fun: Its arguments and results have instances along their leading axes,
        or the edges of these.

    Returns:
      The function of a whole batch.
    """
    return self._map(fun, self._split, self._split)

  def fun(self, fun: Callable[..., Any]) -> Callable[..., Any]:
    """A step of a solve, fun(state, *args), as one of a whole batch."""
    def call(state, *args):
      return self._map(lambda state, args: fun(state, *args),
                       (self._split, self._specs_of(args)),
                       self._split)(state, args)
    return call

  def prepare(self, prepare: Callable[..., Any], params: Any, key: Any,
              *inputs: Any) -> Any:
    """What a step prepares for a batch, from its encoded inputs.

    Args:
      prepare: Maps parameters, a random key and the inputs to a context.
      params: The same for all devices.
      key: Of which every device gets another one.
      *inputs: Node, edge and graph features, and all else that `prepare` of a
        step takes; by instances or by edges.

    Returns:
      The context.
    """
    def of_device(params, key, inputs):
      key = jax.random.fold_in(key, jax.lax.axis_index(self.axis))
      return prepare(params, key, *inputs)

    node_fts, edge_fts, *rest = inputs
    specs = (self._split, type(edge_fts)(self._split, self._shared),
             *[self._split] * len(rest))
    context = jax.eval_shape(prepare, params, key, *inputs)
    return self._map(of_device, (self._shared, self._shared, specs),
                     self._of_context(context))(params, key, inputs)

  def solve(self, solve: Callable[..., Any], start: Any, args: Any,
            probe: Optional[_Array]) -> config_lib.Solution:
    """Solves the instances of every device on their own.

    Args:
      solve: Maps a start, arguments and a probe to a `Solution`.
      start: The state to start from.
      args: Parameters, context, mask and noise.
      probe: As in `dear_jax.fixed_point`, or None.

    Returns:
      The solution of the whole batch.
    """
    def of_device(start, args, probe):
      return self._mean_cost(solve(start, self._varying(start, args), probe))

    return self._map(of_device, (self._split, self._specs_of(args),
                                 self._split),
                     self._of_solution())(start, args, probe)

  def solve_part(self, solve: Callable[..., Any], start: Any, args: Any,
                 limit: Optional[_Array], state: Optional[iterations.State]):
    """As `solve`, of a part of a solve (`solvers.solve_up_to`).

    Args:
      solve: Maps a start, arguments, a limit and a state to both results.
      start, args: As in `solve`.
      limit: When to pause.
      state: From where to go on.

    Returns:
      The solution and the state of the whole batch.
    """
    def of_device(start, args, limit, state):
      state = self._varying(start, state)
      solution, state = solve(start, self._varying(start, args), limit, state)
      # Devices that are not yet done have all taken the most steps.
      return self._mean_cost(solution), state._replace(
          step=jax.lax.pmax(state.step, self.axis),
          cost=jax.lax.psum(state.cost, self.axis) // self.count)

    specs: Any = dict.fromkeys(iterations.State._fields, self._split)
    specs.update(dict.fromkeys(('step', 'cost'), self._shared),
                 **dict.fromkeys(('trajectory', 'residuals', 'origins'),
                                 _Spec(None, self.axis)))
    of_state = iterations.State(**specs)
    return self._map(of_device, (
        self._split, self._specs_of(args), self._shared,
        self._shared if state is None else of_state),
                     (self._of_solution(), of_state))(
                         start, args, limit, state)

  def _mean_cost(self, solution: config_lib.Solution) -> config_lib.Solution:
    return solution.replace(  # type: ignore[attr-defined]  # of chex
        evaluations=jax.lax.pmean(solution.evaluations, self.axis))

  def _map(self, fun, in_specs, out_specs):
    return jax.shard_map(fun, mesh=self._mesh, in_specs=in_specs,
                         out_specs=out_specs)

  def _varying(self, start: Any, tree: Any) -> Any:
    """The same values; those that all devices share count as each one's own.

    So gradients of parameters are added up once, at the end, and not in every
    iteration, in which a device would wait for the others.
    """
    source = jax.tree_util.tree_leaves(start)[0]
    return jax.tree_util.tree_map(
        lambda x: varying.like(source, x) if varying.is_shared(x) else x, tree)

  def _of_solution(self) -> Any:
    specs: Any = dict.fromkeys(
        ('value', 'steps', 'residual', 'converged', 'failed'), self._split)
    specs.update(dict.fromkeys(('trajectory', 'residuals', 'origins'),
                               _Spec(None, self.axis)))
    specs['evaluations'] = self._shared
    return config_lib.Solution(**specs)

  def _specs_of(self, args: Any) -> Any:
    _, context, *_ = args
    return (self._shared, self._of_context(context),
            *[self._split] * (len(args) - 2))

  def _of_context(self, context: Any) -> Any:
    """As `subsets` describes contexts."""
    if 'cayley' in context:
      return {name: self._split if name == 'node_mask'
              else self._of_context(part) for name, part in context.items()}
    return {name: self._shared if name == 'shared' or isinstance(
        part, edge_lists.Neighbours) else self._split
            for name, part in context.items()}


def for_batch(mesh: Optional[jax.sharding.Mesh], batch_size: int
              ) -> Optional[Shards]:
  """How a batch is split; None if it is not, or if there is one device."""
  if mesh is None or mesh.size == 1 or batch_size % mesh.size:
    return None
  return Shards(mesh)


def by_device(shards: Optional[Shards], fun: Callable[..., Any]
              ) -> Callable[..., Any]:
  """As `Shards.by_device`, if there are any; otherwise the function itself."""
  return fun if shards is None else shards.by_device(fun)
