# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""The algorithms of CLRS-30 as steps from one state of their hints to the next.

A step takes the inputs of one sample and the hints of one time, both by their
names in `clrs.SPECS`, and gives the hints of the next time, as the loop of the
algorithm in CLRS does. It looks at nothing else, so it can be applied to the
last state as well, where CLRS has stopped:

  a body that finds nothing to do, or that asks for itself whether it is done
    (an empty queue, a match), gives the state back as it was;
  a counted loop starts over: its counter goes back to its first value.

Conditions of loops are left out otherwise. With them every step would rest at
the end by definition. A step gives None for states that it is not about: those
inside of a search, where only the loop around it is written down here, and
those of earlier loops of an algorithm that has several.
"""

from typing import Any, Dict, List, Mapping, Optional

import numpy as np

_Array = np.ndarray
State = Dict[str, _Array]
_Arrays = Mapping[str, _Array]

# What CLRS adds to the keys of nodes that are not in the queue.
_FAR = 1e9


def bfs(x: _Arrays, h: _Arrays) -> State:
  """A round: all edges out of nodes that were reached before it."""
  reach, pi = h['reach_h'].copy(), h['pi_h'].copy()
  nodes = np.arange(len(pi))
  for i in np.flatnonzero(h['reach_h']):
    edges = x['A'][i] > 0
    pi[edges & (pi == nodes) & (nodes != _at(x['s']))] = i
    reach[edges] = 1
  return _after(h, reach_h=reach, pi_h=pi)


def bellman_ford(x: _Arrays, h: _Arrays) -> State:
  """A round: all edges out of nodes that were reached before it."""
  d, msk, pi = h['d'].copy(), h['msk'].copy(), h['pi_h'].copy()
  for u in np.flatnonzero(h['msk']):
    edges = x['A'][u] != 0
    length = h['d'][u] + x['A'][u]
    better = edges & ((msk == 0) | (length < d))
    d[better], pi[better] = length[better], u
    msk[edges] = 1
  return _after(h, d=d, msk=msk, pi_h=pi)


def dijkstra(x: _Arrays, h: _Arrays) -> State:
  """The nearest node of the queue; none if it is empty."""
  return _grow(x, h, 'd', lambda d, u: d[u])


def mst_prim(x: _Arrays, h: _Arrays) -> State:
  """The nearest node of the queue; none if it is empty."""
  return _grow(x, h, 'key', lambda unused_key, unused_u: 0)


def _grow(x: _Arrays, h: _Arrays, name: str, offset) -> State:
  """Takes the nearest node from the queue and looks along its edges."""
  key, mark = h[name].copy(), h['mark'].copy()
  queue, pi = h['in_queue'].copy(), h['pi_h'].copy()
  u = np.argsort(key + (1.0 - queue) * _FAR)[0]
  if queue[u] == 0:
    return dict(h)
  mark[u], queue[u] = 1, 0
  length = offset(key, u) + x['A'][u]
  better = (x['A'][u] != 0) & (mark == 0) & ((queue == 0) | (length < key))
  pi[better], key[better], queue[better] = u, length[better], 1
  return _after(h, pi_h=pi, mark=mark, in_queue=queue, u=_one(u, len(pi)),
                **{name: key})


def dag_shortest_paths(x: _Arrays, h: _Arrays) -> Optional[State]:
  """The second loop, along the topological order."""
  if not h['phase']:
    return None
  d, mark, pi = h['d'].copy(), h['mark'].copy(), h['pi_h'].copy()
  i = _at(h['topo_head_h'])
  length = d[i] + x['A'][i]
  better = (x['A'][i] != 0) & ((mark == 0) | (length < d))
  d[better], pi[better], mark[better] = length[better], i, 1
  head = int(h['topo_h'][i])
  return _after(h, d=d, pi_h=pi, mark=mark, topo_head_h=_one(head, len(pi)))


def floyd_warshall(unused_x: _Arrays, h: _Arrays) -> State:
  """All paths through one node; after the last comes the first again."""
  d, msk, pi = h['D'].copy(), h['msk'].copy(), h['Pi_h'].copy()
  k = _at(h['k'])
  reached = (h['msk'][:, k, None] > 0) & (h['msk'][k] > 0)
  length = h['D'][:, k, None] + h['D'][k]
  better = reached & ((msk == 0) | (length < d))
  d[better] = length[better]
  pi[better] = np.broadcast_to(h['Pi_h'][k], pi.shape)[better]
  msk[reached] = 1
  return _after(h, D=d, msk=msk, Pi_h=pi, k=_one((k + 1) % len(d), len(d)))


def mst_kruskal(x: _Arrays, h: _Arrays) -> State:
  """Climbs to the root of an end of an edge, joins, or takes the next edge."""
  n = len(x['A'])
  pi, in_mst = h['pi'].astype(int), h['in_mst_h'].copy()
  u, v, phase = _at(h['u']), _at(h['v']), _at(h['phase'])
  root_u, root_v = _at(h['root_u']), _at(h['root_v'])
  mask_u, mask_v = h['mask_u'].copy(), h['mask_v'].copy()
  if phase == 0:
    rows, columns = np.nonzero(np.triu(x['A'], 1))
    if not rows.size:
      return dict(h)
    order = np.argsort(x['A'][rows, columns])
    done = np.flatnonzero((rows[order] == u) & (columns[order] == v))
    chosen = order[(done[0] + 1) % len(order) if done.size else 0]
    u = root_u = rows[chosen]
    v = root_v = columns[chosen]
    mask_u, mask_v, phase = _one(u, n), _one(v, n), 1
  elif phase == 1 and pi[root_u] != root_u:
    root_u = pi[root_u]
    pi[mask_u == 1] = root_u
    mask_u[root_u] = 1
  elif pi[root_v] != root_v:
    root_v, phase = pi[root_v], 2
    pi[mask_v == 1] = root_v
    mask_v[root_v] = 1
  else:
    phase = 0
    if root_u != root_v:
      in_mst[u, v] = in_mst[v, u] = 1
      pi[min(root_u, root_v)] = max(root_u, root_v)
  return _after(
      h, pi=pi, in_mst_h=in_mst, u=_one(u, n), v=_one(v, n),
      root_u=_one(root_u, n), root_v=_one(root_v, n), mask_u=mask_u,
      mask_v=mask_v, phase=_one(phase, 3))


def depth_first_search(unused_x: _Arrays, h: _Arrays) -> Optional[State]:
  """The loop over roots: the first node not yet seen is the next one."""
  return _next_root(h, lambda white: white[0])


def strongly_connected_components(unused_x: _Arrays, h: _Arrays
                                  ) -> Optional[State]:
  """The second loop over roots: the node that the first one finished last."""
  if not h['phase']:
    return None
  return _next_root(h, lambda white: white[np.argmax(h['f'][white])])


def _next_root(h: _Arrays, choose) -> Optional[State]:
  color, u = h['color'].argmax(axis=-1), _at(h['u'])
  if color[u] != 2 or h['s_prev'][u] != u:
    return None
  white = np.flatnonzero(color == 0)
  if not white.size:
    return dict(h)
  root = _one(choose(white), len(color))
  return _after(h, s=root, u=root, v=root, s_last=root)


def matrix_chain_order(x: _Arrays, h: _Arrays) -> State:
  """A round: all chains, from what was known before it."""
  p, before, known = x['p'], h['m'], h['msk']
  m, msk, s = before.copy(), known.copy(), h['s_h'].copy()
  for i in range(1, len(p)):
    for j in range(i + 1, len(p)):
      k = np.arange(i, j)
      k = k[(known[i, k] == 1) & (known[k + 1, j] == 1)]
      if not k.size:
        continue
      cost = before[i, k] + before[k + 1, j] + p[i - 1] * p[k] * p[j]
      best = np.argmin(cost)
      if known[i, j] == 0 or cost[best] < before[i, j]:
        m[i, j], s[i, j] = cost[best], k[best]
      msk[i, j] = 1
  return _after(h, m=m, msk=msk, s_h=s)


def lcs_length(x: _Arrays, h: _Arrays) -> State:
  """A round: all pairs of prefixes, from what was known before it."""
  first, second = _strings(x)
  n = len(first)
  before = h['c'][:n, n:]
  c, b = before.copy(), h['b_h'][:n, n:].argmax(axis=-1)
  same = (first[:, None] == second)[1:, 1:]
  above, left = before[:-1, 1:], before[1:, :-1]
  c[1:, 1:] = np.where(same, before[:-1, :-1] + 1, np.maximum(above, left))
  b[1:, 1:] = np.where(same, 0, np.where(above >= left, 1, 2))
  all_c, all_b = h['c'].copy(), h['b_h'].copy()
  all_c[:n, n:] = c
  all_b[:n, n:] = np.eye(all_b.shape[-1])[b]
  return _after(h, c=all_c, b_h=all_b)


def optimal_bst(x: _Arrays, h: _Arrays) -> State:
  """The next diagonal; all of them again once the tables are full."""
  e, w, msk = h['e'].copy(), h['w'].copy(), h['msk'].copy()
  root = h['root_h'].copy()
  n = len(e) - 1
  # The loop's counter is no hint, but the mask tells it.
  filled = sum(np.diagonal(msk, l).all() for l in range(n + 1))
  for l in [filled] if filled <= n else range(1, n + 1):
    for i in range(n - l + 1):
      j = i + l
      w[i, j] = w[i, j - 1] + x['p'][j - 1] + x['q'][j]
      cost = e[i, i:j] + e[i + 1:j + 1, j] + w[i, j]
      e[i, j] = cost.min()
      root[i, j] = i + cost.argmin()
      msk[i, j] = 1
  return _after(h, e=e, w=w, msk=msk, root_h=root)


def minimum(x: _Arrays, h: _Arrays) -> State:
  """The next key."""
  n = len(x['key'])
  i, best = _next(_at(h['i']), n), _at(h['min_h'])
  if x['key'][best] > x['key'][i]:
    best = i
  return _after(h, i=_one(i, n), min_h=_one(best, n))


def binary_search(x: _Arrays, h: _Arrays) -> State:
  """Halves the range, and also one that holds a single key."""
  n = len(x['key'])
  low, high = _at(h['low']), _at(h['high'])
  mid = (low + high) // 2
  if x['target'] <= x['key'][mid]:
    high = mid
  else:
    low = mid + 1
  return _after(h, low=_one(low, n), high=_one(high, n),
                mid=_one((low + high) // 2, n))


def find_maximum_subarray_kadane(x: _Arrays, h: _Arrays) -> State:
  """The next key."""
  n = len(x['key'])
  i, j, total = _at(h['i']), _next(_at(h['j']), n), h['sum']
  if total + x['key'][j] >= x['key'][j]:
    total = total + x['key'][j]
  else:
    i, total = j, x['key'][j]
  after = _after(h, i=_one(i, n), j=_one(j, n), sum=total)
  if total > h['best_sum']:
    after.update(best_low=after['i'], best_high=after['j'], best_sum=total)
  return after


def activity_selector(x: _Arrays, h: _Arrays) -> State:
  """The activity that ends next."""
  n = len(x['f'])
  m = _next_of_order(np.argsort(x['f']), h['m'], h['selected_h'])
  after = _after(h, m=_one(m, n))
  if not h['selected_h'].any() or x['s'][m] >= x['f'][_at(h['k'])]:
    after.update(k=after['m'],
                 selected_h=np.maximum(h['selected_h'], after['m']))
  return after


def task_scheduling(x: _Arrays, h: _Arrays) -> State:
  """The next task by weight."""
  n = len(x['w'])
  i = _next_of_order(np.argsort(-x['w']), h['i'], h['selected_h'])
  after = _after(h, i=_one(i, n))
  if not h['selected_h'].any() or h['t'] < x['d'][i]:
    after.update(t=h['t'] + 1,
                 selected_h=np.maximum(h['selected_h'], after['i']))
  return after


def naive_string_matcher(x: _Arrays, h: _Arrays) -> State:
  """The next letter, or the next shift."""
  text, pattern = _strings(x)
  n = len(text) + len(pattern)
  s, i, j = _at(h['s']), _at(h['i']), _at(h['j']) - len(text)
  if text[i] != pattern[j]:
    s += 1
    i, j = s, 0
  elif j == len(pattern) - 1:  # A match: CLRS returns from here.
    return dict(h)
  else:
    i, j = i + 1, j + 1
  return _after(h, s=_one(s, n), i=_one(i, n), j=_one(len(text) + j, n))


def kmp_matcher(x: _Arrays, h: _Arrays) -> Optional[State]:
  """The second loop, over the text."""
  if not h['phase']:
    return None
  text, pattern = _strings(x)
  n = len(text) + len(pattern)
  s, i, q = _at(h['s']), _at(h['i']), _at(h['q']) - len(text)
  reset: Any = h['q_reset']
  if not reset and pattern[q + 1] != text[i]:
    if h['is_reset'][len(text) + q]:
      q, reset = 0, 1
    else:
      q = int(h['pi'][len(text) + q]) - len(text)
  else:
    q = -1 if reset else q
    if pattern[q + 1] == text[i]:
      if q == len(pattern) - 2:  # A match: CLRS returns from here.
        return dict(h)
      q += 1
    reset = float(q == -1)
    q, i = max(q, 0), i + 1
    s += i >= len(pattern)
  return _after(h, s=_one(s, n), i=_one(i, n), q=_one(len(text) + q, n),
                q_reset=reset)


def segments_intersect(x: _Arrays, h: _Arrays) -> State:
  """The next end of a segment."""
  k = (_at(h['k']) + 1) % 4 if _at(h['i']) != _at(h['j']) else 0
  i, j = (2, 3) if k < 2 else (0, 1)
  points = np.stack([x['x'], x['y']], axis=1)
  direction, on_seg = h['dir'].copy(), h['on_seg'].copy()
  direction[k] = _cross(points, i, k, j)
  ends = points[[i, j]]
  on_seg[k] = np.all((ends.min(axis=0) <= points[k])
                     & (points[k] <= ends.max(axis=0)))
  return _after(h, i=_one(i, 4), j=_one(j, 4), k=_one(k, 4), dir=direction,
                on_seg=on_seg)


def graham_scan(x: _Arrays, h: _Arrays) -> Optional[State]:
  """The last loop, over the points by their angles."""
  phase, n = _at(h['phase']), len(x['x'])
  if phase < 2:
    return None
  points = np.stack([x['x'], x['y']], axis=1)
  angles = h['atans'].copy()
  angles[_at(h['best'])] = -np.inf
  order = np.argsort(angles)
  in_hull, previous = h['in_hull_h'].copy(), h['stack_prev'].astype(int)
  top, rank = _at(h['last_stack']), order.tolist().index(_at(h['i']))
  if phase != 3:
    rank = _next(rank, n)
  point = order[rank]
  if rank >= 3 and _cross(points, previous[top], top, point) <= 0:
    phase = 3
    in_hull[top] = 0
    previous[top], top = top, previous[top]
  else:
    phase = 4
    in_hull[point] = 1
    previous[point] = top
    top = point
  return _after(h, in_hull_h=in_hull, stack_prev=previous,
                last_stack=_one(top, n), i=_one(point, n), phase=_one(phase, 5))


def jarvis_march(x: _Arrays, h: _Arrays) -> Optional[State]:
  """The loop around the hull, where it has looked at all points once."""
  n = len(x['x'])
  if _at(h['i']) != n - 1:
    return None
  last, end = _at(h['last_point']), _at(h['endpoint'])
  if not h['in_hull_h'][end]:
    in_hull = np.maximum(h['in_hull_h'], h['endpoint'])
    return _after(h, in_hull_h=in_hull, last_point=h['endpoint'],
                  endpoint=_one(0, n), i=_one(0, n))
  points = np.stack([x['x'], x['y']], axis=1)
  for i in range(n):  # CLRS has stopped here; another look at all points.
    if end == last or (i not in (last, end)
                       and _cross(points, last, end, i) <= 0):
      end = i
  return _after(h, endpoint=_one(end, n))


def _at(mask: _Array) -> int:
  return int(np.argmax(mask))


def _one(index: int, size: int) -> _Array:
  """[size], with a one at the index; without any if it is beyond the end."""
  return (np.arange(size) == index).astype(float)


def _after(h: _Arrays, **changes: _Array) -> State:
  return {**h, **changes}


def _next(counter: int, stop: int) -> int:
  """Of a loop from 1, after which it starts over."""
  return counter % (stop - 1) + 1


def _next_of_order(order: _Array, current: _Array, selected: _Array) -> int:
  """The first node of an order is for the start; the loop is over the rest."""
  if not selected.any():
    return order[0]
  return order[_next(order.tolist().index(_at(current)), len(order))]


def _strings(x: _Arrays) -> List[_Array]:
  letters = x['key'].argmax(axis=-1)
  return [letters[x['string'] == 0], letters[x['string'] == 1]]


def _cross(points: _Array, i: int, j: int, k: int) -> float:
  a, b = points[j] - points[i], points[k] - points[i]
  return a[0] * b[1] - a[1] * b[0]
