# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""Installs the `dear-jax` package."""

import pathlib
import re

import setuptools

_ROOT = pathlib.Path(__file__).parent
_VERSION = re.search(
    r"^__version__ = '(.*)'$",
    (_ROOT / 'dear_jax' / '__init__.py').read_text(encoding='utf-8'),
    flags=re.MULTILINE).group(1)

setuptools.setup(
    name='dear-jax',
    version=_VERSION,
    description='Deep Equilibrium Algorithmic Reasoning in JAX, on CLRS',
    long_description=(_ROOT / 'README.md').read_text(encoding='utf-8'),
    long_description_content_type='text/markdown',
    author='The dear_jax authors',
    license='Apache-2.0',
    packages=setuptools.find_packages(include=['dear_jax', 'dear_jax.*']),
    package_data={'dear_jax': ['py.typed', 'pretrained/*'],
                  'dear_jax.reports': ['*.jinja']},
    python_requires='>=3.10',
    # requirements.txt has the exact set that the tests pass with.
    install_requires=[
        'absl-py>=2.0',
        'chex>=0.1.90',
        'dm-clrs>=2.0.3',
        'dm-haiku>=0.0.14',
        'jax>=0.6',
        'numba>=0.60',
        'numpy>=1.26',
        'optax>=0.2.4',
        'orbax-checkpoint>=0.11',
        'tqdm>=4.60',
    ],
    extras_require={
        'plots': ['matplotlib>=3.8'],
        'reports': ['jinja2>=3.1', 'matplotlib>=3.8', 'plotly>=6'],
        'tensorboard': ['tensorboardX>=2.6'],
        'test': ['import-linter>=2.1', 'ipykernel>=6', 'jaxopt>=0.8.5',
                 'jinja2>=3.1', 'matplotlib>=3.8', 'mypy>=1.15',
                 'nbclient>=0.10', 'nbformat>=5', 'networkx>=3', 'plotly>=6',
                 'pytest>=8', 'pytest-xdist>=3', 'ruff>=0.9',
                 'tensorboardX>=2.6'],
    },
    classifiers=[
        'Programming Language :: Python :: 3',
        'Topic :: Scientific/Engineering :: Artificial Intelligence',
    ],
)
