# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""What a user sees while a run is under way.

On a terminal a live bar, elsewhere (a log file, a batch system) plain lines;
the same facts in both, all on stderr.
"""

import sys
import time
from typing import Callable, Mapping, Optional, TextIO

import tqdm

Metrics = Mapping[str, float]

# Seconds between two refreshes of the bar, and between two plain lines.
_BAR_INTERVAL = 0.5
_LINE_INTERVAL = 10.0

# Short enough for all of it to fit on 80 columns.
_BAR_FORMAT = ('{percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} '
               '[{remaining} left, {rate_noinv_fmt}{postfix}]')


class Progress:
  """Shows how a run goes. A context manager."""

  def __init__(self, *, start: int, total: int,
               stream: Optional[TextIO] = None,
               clock: Callable[[], float] = time.monotonic):
    """Initialises the display.

    Args:
      start: Steps done already.
      total: Steps to do in all.
      stream: Where to write; stderr unless given.
      clock: Gives the time in seconds.
    """
    self._total = total
    self._stream = stream if stream is not None else sys.stderr
    self._clock = clock
    self._bar = None
    if self._stream.isatty():
      self._bar = tqdm.tqdm(
          total=total, initial=start, file=self._stream, dynamic_ncols=True,
          unit='', bar_format=_BAR_FORMAT)
    self._step = start
    self._shown_at = clock()
    # Steps/s are counted from here on, a time and a step. The first step, and
    # whatever else was compiled for, move it.
    self._counted_from = (self._shown_at, start)
    self._waited = True
    self._reason = ''

  def __enter__(self) -> 'Progress':
    return self

  def __exit__(self, *unused_exc_info):
    if self._bar is not None:
      self._bar.close()

  def message(self, text: str) -> None:
    """Says something that has to be seen, such as a validation result."""
    if self._bar is not None:
      self._bar.clear()
    print(text, file=self._stream, flush=True)
    if self._bar is not None:
      self._bar.refresh()

  def wait(self, text: str) -> None:
    """Gives the reason of a wait that is about to begin."""
    self._waited = True
    if self._bar is None:
      print(text, file=self._stream, flush=True)
    else:
      self._bar.set_postfix_str(text)

  def slow(self, reason: str) -> None:
    """Tells why the next step to be told of took longer than others will."""
    self._waited, self._reason = True, f'  {reason}'

  def update(self, step: int, read: Callable[[], Metrics]) -> None:
    """Tells that `step` steps are done.

    Args:
      step: Steps done so far.
      read: Gives the metrics of the last step. Called only if they are about
        to be shown: reading them waits for the device.
    """
    if self._bar is not None:
      self._bar.update(step - self._step)
    self._step = step
    now = self._clock()
    reason, self._reason = self._reason, ''
    if self._waited:
      self._waited, self._counted_from = False, (now, step)
    interval = _LINE_INTERVAL if self._bar is None else _BAR_INTERVAL
    if now - self._shown_at < interval and step < self._total:
      return
    self._shown_at = now
    metrics = read()
    if self._bar is not None:
      self._bar.set_postfix_str(  # there is no room for both
          f'loss {metrics["loss"]:.3f}'
          f'{reason or "  " + solver_summary(metrics, short=True)}')
    else:
      print(f'step {step}/{self._total}  loss {metrics["loss"]:.4f}  '
            f'{solver_summary(metrics)}{self._speed(now)}{reason}',
            file=self._stream, flush=True)

  def _speed(self, now: float) -> str:
    since, step = self._counted_from
    if self._step == step or now <= since:
      return ''
    rate = (self._step - step) / (now - since)
    left = duration((self._total - self._step) / rate)
    return f'  {rate:.2f} steps/s  {left} left'


def solver_summary(metrics: Metrics, short: bool = False) -> str:
  """How the solves fared, in one line; or how many steps were taken."""
  if 'solver_steps_mean' not in metrics:
    text = f'steps {metrics["steps_mean"]:.1f} (max {metrics["steps_max"]:.0f})'
    if 'gradient_norm' in metrics and not short:
      text += f'  gradient {metrics["gradient_norm"]:.2f}'
    return text
  mean, most = metrics['solver_steps_mean'], metrics['solver_steps_max']
  converged = metrics['converged']
  backward = metrics.get('backward_steps_mean')  # 0 if there is no such solve
  if short:
    text = f'solver {mean:.1f} (max {most:.0f})'
    text += f' + {backward:.1f}' if backward else ''
    if backward:
      converged = min(converged, metrics['backward_converged'])
    return f'{text}  conv. {converged:.0%}'
  text = f'solver steps {mean:.1f} (max {most:.0f})  converged {converged:.0%}'
  if backward:
    text += (f'  backward {backward:.1f} (max '
             f'{metrics["backward_steps_max"]:.0f})  converged '
             f'{metrics["backward_converged"]:.0%}')
  if 'gradient_norm' in metrics:
    text += f'  gradient {metrics["gradient_norm"]:.2f}'
  if 'spectral_radius' in metrics:
    text += f'  spectral radius {metrics["spectral_radius"]:.2f}'
  return text


def duration(seconds: float) -> str:
  """Writes a time span for people: '42s', '3m07s', '2h05m'."""
  seconds = int(round(seconds))
  if seconds < 60:
    return f'{seconds}s'
  if seconds < 3600:
    return f'{seconds // 60}m{seconds % 60:02d}s'
  return f'{seconds // 3600}h{seconds % 3600 // 60:02d}m'
