# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""The training, validation and test data of a task."""

import dataclasses
from typing import Any, Dict, NamedTuple, Optional, Union

from dear_jax.data import own_tasks
from dear_jax.data import samplers
from dear_jax.data import twins
from dear_jax.training import configs


class Splits(NamedTuple):
  """Samplers that share no sample.

  Attributes:
    train: Has no end: fresh samples, or one epoch after the other. With a
      contrastive loss, every sample has a twin behind it.
    val: A fixed set, in batches of equal size; iterating gives all of them.
    test: The same.
  """
  train: Union[samplers.TaskSampler, twins.TwinSampler]
  val: samplers.TaskSampler
  test: samplers.TaskSampler


def make_splits(task: str, preset: str = 'paper', *,
                seed: int = configs.TrainConfig.seed,
                cache_dir: Optional[str] = None,
                graphs: str = configs.TrainConfig.graphs) -> Splits:
  """Makes the data that `experiments/run.py` trains, selects and tests on.

  The paper's are 100,000 training samples of sizes 8 to 16, 100 validation
  samples of size 16 and 100 test samples of size 64.

  Args:
    task: A name of `make_sampler`.
    preset: 'paper', 'default' or 'quick', which draw training samples for
      ever.
    seed: Any non-negative integer.
    cache_dir: See `make_sampler`.
    graphs: See `make_sampler`; of all three.

  Returns:
    The three samplers.

  Raises:
    ValueError: if an argument is not one of those.
  """
  samplers.check_choice('task', task, samplers.task_names(),
                        own_tasks.REMEDY)
  samplers.check_choice('preset', preset, configs.PRESETS)
  config = dataclasses.replace(
      configs.PRESETS[preset], algorithms=(task,), seed=seed,
      data_cache=cache_dir, graphs=graphs)
  return from_config(config, task)


def from_config(config: configs.TrainConfig, task: str, *,
                with_lengths: bool = False) -> Splits:
  """The data of one of the algorithms of a run.

  Args:
    config: The settings of the run.
    task: The algorithm.
    with_lengths: See `make_sampler`.

  Returns:
    The three samplers.
  """
  common: Dict[str, Any] = dict(batch_size=config.batch_size, seed=config.seed,
                cache_dir=config.data_cache, with_lengths=with_lengths,
                graphs=config.graphs)
  train = samplers.make_sampler(
      task, size=config.train_sizes, split='train',
      num_samples=config.train_samples, **common)
  return Splits(
      train=(twins.TwinSampler(train, task=task, seed=config.seed)
             if config.contrastive_weight else train),
      val=fixed_set(task, size=config.val_size, split='val',
                    num_samples=config.val_samples, **common),
      test=fixed_set(task, size=config.test_size, split='test',
                     num_samples=config.test_samples, **common))


def fixed_set(task: str, *, num_samples: int, batch_size: int,
              **kwargs) -> samplers.TaskSampler:
  """A set of at least so many samples, in batches of equal size.

  A smaller last batch would be compiled for separately.

  Args:
    task: A name of `make_sampler`.
    num_samples: Rounded up to whole batches.
    batch_size: The most samples in a batch.
    **kwargs: Of `make_sampler`.

  Returns:
    The sampler.
  """
  nb_batches = -(-num_samples // batch_size)
  batch_size = -(-num_samples // nb_batches)
  return samplers.make_sampler(
      task, batch_size=batch_size, num_samples=nb_batches * batch_size,
      **kwargs)
