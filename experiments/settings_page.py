# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/settings.md, all settings of a run, from where they are declared.

  python experiments/settings_page.py
"""

import pathlib

from dear_jax.data import task_names
from dear_jax.training import best_settings
from dear_jax.training import configs
from dear_jax.training import settings

PAGE = pathlib.Path(__file__).resolve().parent.parent / 'docs' / 'settings.md'

_INTRO = '''# All settings of a run

The flags of `experiments/run.py` and the fields of `dear_jax.TrainConfig`; a
field has the name of its flag, or the one in brackets.
[choosing.md](choosing.md) helps to choose. This page is made by `python
experiments/settings_page.py` from `dear_jax/training/configs.py`, the one place
to change a setting.
'''


def _row(*cells: str) -> str:
  return f'| {" | ".join(cells)} |'


def _head(*cells: str) -> list[str]:
  """The lines that a table begins with."""
  return ['', _row(*cells), _row(*['---'] * len(cells))]


def _chosen_by_task() -> dict[tuple, list[str]]:
  """The tasks of the library by what `preset=best` sets for them."""
  found: dict[tuple, list[str]] = {}
  # Not those that a user has registered.
  for task in sorted((*task_names.BATCHED, *task_names.FROM_CLRS)):
    chosen = tuple(sorted(best_settings.for_tasks((task,)).items()))
    found.setdefault(chosen, []).append(task)
  return dict(sorted(found.items(), reverse=True))


def make_page() -> str:
  """The text of the page."""
  lines = [_INTRO.rstrip()]
  for setting in configs.SETTINGS.values():
    if setting.heading:
      lines += ['', f'## {setting.heading}',
                *_head('flag', 'default', 'can be', 'meaning')]
    field = f' (`{setting.name}`)' if setting.name != setting.flag else ''
    lines.append(_row(
        f'`--{setting.flag}`{field}', settings.as_text(setting.default),
        setting.limits, setting.meaning))
  default = configs.TrainConfig()
  presets = {name: preset for name, preset in configs.PRESETS.items()
             if preset != default}
  lines += ['', '## Presets', '',
            'What `--preset` sets to other values than the defaults above.',
            *_head('setting', *(f'`{name}`' for name in presets))]
  for name in configs.SETTINGS:
    cells = ['' if getattr(preset, name) == getattr(default, name)
             else settings.as_text(getattr(preset, name))
             for preset in presets.values()]
    if any(cells):
      lines.append(_row(f'`{name}`', *cells))
  lines += ['', 'What `best` sets on top of that, by the type of a task. A run '
            'of several tasks has what is for any of them, or only what is for '
            '`floyd_warshall` if one of them is of that type.',
            *_head('tasks', 'settings')]
  lines += [_row(', '.join(f'`{task}`' for task in tasks),
                 ', '.join(f'`{name}={settings.as_text(value)}`'
                           for name, value in chosen) or 'none')
            for chosen, tasks in _chosen_by_task().items()]
  return '\n'.join(lines) + '\n'


if __name__ == '__main__':
  PAGE.write_text(make_page(), encoding='utf-8')
