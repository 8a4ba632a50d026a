# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""The pages in docs/ do what they say, and what they name is there."""

import ast
import contextlib
import functools
import importlib
import inspect
import pathlib
import pkgutil
import re
import subprocess
import sys

import clrs
import dear_jax
from dear_jax.networks import processors
from dear_jax.training import configs
from experiments import settings_page
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = [ROOT / 'README.md', *sorted(ROOT.glob('docs/*.md'))]
# Every module by its own name; no two have the same.
MODULES = {m.name.rsplit('.', 1)[1]: m.name for m in pkgutil.walk_packages(
    dear_jax.__path__, 'dear_jax.') if not m.ispkg}
COMMANDS = sorted(path for path in ROOT.glob('experiments/*.py')
                  if '__main__' in path.read_text(encoding='utf-8')
                  and path.stem != 'settings_page')

# The pages whose Python is run: every block that begins with ```python and
# nothing else. One that is not to be run begins with ```python no-run.
RUN = ('adding_a_processor', 'adding_a_task', 'choosing', 'how_it_works',
       'troubleshooting')

each_page = pytest.mark.parametrize(
    'page', PAGES, ids=[path.stem for path in PAGES])


def read(path):
  return path.read_text(encoding='utf-8')


def doc(name):
  return read(ROOT / 'docs' / f'{name}.md')


def blocks(text, language):
  """The fenced blocks of a language, with the numbers of their first lines."""
  pattern = rf'^```{re.escape(language)}\n(.*?)^```$'
  for match in re.finditer(pattern, text, re.DOTALL | re.MULTILINE):
    yield match.group(1), text.count('\n', 0, match.start(1))


def without_blocks(text):
  return re.sub(r'^```.*?^```$', '', text, flags=re.DOTALL | re.MULTILINE)


def code_spans(text):
  """What stands between backticks, in one line each."""
  return [' '.join(span.split())
          for span in re.findall(r'`([^`]+)`', without_blocks(text))]


def code_lines(text):
  """Code spans, and the lines of blocks that are not Python."""
  lines = code_spans(text)
  for language in ('bash', 'text', ''):
    for block, _ in blocks(text, language):
      lines.extend(block.replace('\\\n', ' ').splitlines())
  return lines


@pytest.mark.parametrize('name', RUN)
def test_examples_run(name, tmp_path, monkeypatch):
  """In order, in one namespace, in an empty folder."""
  monkeypatch.chdir(tmp_path)
  scope = {'__name__': f'docs.{name}'}
  examples = list(blocks(doc(name), 'python'))
  assert examples
  for example, line in examples:
    # So that a traceback has the page and the line.
    code = compile('\n' * line + example, f'docs/{name}.md', 'exec')
    exec(code, scope)  # pylint:disable=exec-used


def anchors(text):
  """The names that GitHub gives to headings."""
  heads = re.findall(r'^#+ (.*)$', without_blocks(text), re.MULTILINE)
  return {re.sub(r'[^\w\- ]', '', head).strip().lower().replace(' ', '-')
          for head in heads}


@each_page
def test_links_lead_somewhere(page):
  text = without_blocks(read(page))
  for target in re.findall(r'\]\(([^)\s]+)\)', text):
    if target.startswith(('http://', 'https://')):
      continue
    path, _, anchor = target.partition('#')
    file = page if not path else page.parent / path
    assert file.exists(), target
    if anchor:
      assert anchor in anchors(read(file)), target


@functools.lru_cache(maxsize=None)
def flags_of_commands():
  """The flags of every command, from its --help."""
  running = {
      path.stem: subprocess.Popen([sys.executable, str(path), '--help'],
                                  stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)
      for path in COMMANDS}
  result = {}
  for name, process in running.items():
    text = process.communicate(timeout=120)[0]
    result[name] = {'help'}
    for no, flag in re.findall(r'^  --(\[no\])?(\w+):', text, re.MULTILINE):
      result[name] |= {flag, f'no{flag}'} if no else {flag}
    assert len(result[name]) > 1, f'{name}.py --help: {text}'
  return result


def flags_of_clrs():
  """The flags of CLRS's own example."""
  script = pathlib.Path(clrs.__file__).parent / 'examples' / 'run.py'
  return set(re.findall(r"flags\.DEFINE_\w+\('(\w+)'", read(script)))


@each_page
def test_flags_exist(page):
  known = flags_of_commands()
  for line in code_lines(read(page)):
    for part in re.split(r'&&|\|', line):
      # What comes before are flags of what starts it, such as srun.
      part = part[max(part.find('python experiments/'), 0):]
      command = re.search(r'(?:experiments/|^)(\w+)\.py\b', part)
      given = re.findall(r'(?<![\w-])--(\w+)', part)
      if 'clrs/examples/run.py' in part:
        missing = set(given) - flags_of_clrs()
      elif command and command.group(1) in known:
        missing = set(given) - known[command.group(1)]
      elif re.search(r'\b(pip|git|pytest)\b', part):
        continue
      else:  # of some command that the text is about
        missing = set(given) - set().union(*known.values())
      assert not missing, part


def resolve(name):
  """Finds 'a.b.c' under dear_jax; an AttributeError if it is not there."""
  found, path = dear_jax, 'dear_jax'
  for part in name.split('.'):
    path = f'{path}.{part}'
    if inspect.ismodule(found) and not hasattr(found, part):
      with contextlib.suppress(ModuleNotFoundError):
        importlib.import_module(path)
    found = getattr(found, part)
  return found


@each_page
def test_names_exist(page):
  text = read(page)
  names = set(re.findall(r'\bdear_jax\.([a-zA-Z_]\w*(?:\.[a-zA-Z_]\w*)*)',
                         text))
  # Of modules, as in `nets.EquilibriumNet`; files have names with a dot too.
  for line in code_lines(text):
    for module, name in re.findall(r'(?<![\w./])(\w+)\.([a-zA-Z_]\w*)', line):
      if module in MODULES and name not in (
            'py', 'md', 'json', 'jsonl', 'png'):
        names.add(f'{MODULES[module]}.{name}'.removeprefix('dear_jax.'))
  for name in sorted(names):
    resolve(name)


@each_page
def test_files_exist(page):
  for path in re.findall(
      r'(?<![\w/])(?:dear_jax|tests|docs|experiments)/[\w/*.-]+'
      r'\.(?:py|md|ipynb|png)\b', read(page)):
    assert list(ROOT.glob(path)), path


@pytest.mark.parametrize('name', RUN)
def test_changes_fit_the_files(name):
  """What a diff takes away, and what it leaves, is in the file."""
  for diff, _ in blocks(doc(name), 'diff'):
    file = read(ROOT / re.search(r'^--- a/(.*)$', diff, re.MULTILINE).group(1))
    hunks = diff.split('@@\n')[1:]
    assert hunks
    for hunk in hunks:
      old = ''.join(line[1:] for line in hunk.splitlines(keepends=True)
                    if line[0] in ' -')
      assert old in file, hunk


def test_every_module_has_its_place():
  table = doc('how_it_works').split('## Where is what?')[1]
  rows = dict(re.findall(r'^\| `(\w+)/` \| (.*?) \|', table, re.MULTILINE))
  for room, names in rows.items():
    if room == 'pretrained':
      continue
    expected = {name for name, path in MODULES.items()
                if path.startswith(f'dear_jax.{room}.')}
    # Words in brackets explain.
    found = set(re.findall(r'`(\w+)`', re.sub(r'\(.*?\)', '', names)))
    assert found == expected, room
  files = set(re.findall(r'^\| `(\w+)\.py` \|', table, re.MULTILINE))
  assert {path.split('.')[1] for path in MODULES.values()} | {
      'pretrained'} == set(rows) | files


def test_every_kind_of_processor_can_be_chosen():
  spans = code_spans(doc('choosing'))
  for kind in processors.KINDS:
    assert kind in spans or kind.endswith('_mask'), kind


def test_defaults_that_differ():
  """The table of docs/choosing.md, against the code."""
  theirs = {
      name: parameter.default
      for fun in (dear_jax.get_processor_factory, dear_jax.DEARModel.__init__)
      for name, parameter in inspect.signature(fun).parameters.items()}
  rows = re.findall(r'^\| `(\w+)`(?: \(`(\w+)`\))? \| (\S+) \| (\S+) \|$',
                    doc('choosing').split('## Settings that differ')[1],
                    re.MULTILINE)
  names = {'hidden_size': 'hidden_dim'}
  default = configs.TrainConfig()
  for name, other, ours, model in rows:
    assert other == names.get(name, '')
    assert ours == str(getattr(default, name)), name
    assert model == str(theirs[other or name]), name
  # None is missing; a solver is a name here and an object there, the rule for
  # pointers a word here and None or a bool there, and the None of what the
  # damped gradient has stands for the same numbers.
  other_types = ('solver', 'restrict_pointers')
  fields = {name: names.get(name, name) for name in vars(default)
            if name not in configs.DAMPED_SETTINGS}
  assert {row[0] for row in rows} == {
      name for name, other in fields.items()
      if name not in other_types
      and theirs.get(other, getattr(default, name)) != getattr(default, name)}


def test_the_page_of_settings_is_up_to_date():
  assert doc('settings') == settings_page.make_page(), (
      'python experiments/settings_page.py writes it anew.')


def messages_in(path):
  """All strings of a module, with what is filled in left out."""
  for node in ast.walk(ast.parse(read(path))):
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
      yield node.value


def test_quoted_messages_exist():
  """Quotations in docs/troubleshooting.md; dots stand for anything."""
  page = without_blocks(doc('troubleshooting'))
  quoted = re.findall(r'\*\*`([^`]+)`\*\*', page)
  quoted += [' '.join(quote.replace('>', ' ').split())
             for quote in re.findall(r'(?:^> .*\n)+', page, re.MULTILINE)]
  assert len(quoted) > 5
  messages = [message for path in ROOT.glob('dear_jax/**/*.py')
              for message in messages_in(path)]
  for quote in quoted:
    for piece in quote.split('...'):
      piece = piece.strip()
      assert any(piece in message for message in messages), (quote, piece)
