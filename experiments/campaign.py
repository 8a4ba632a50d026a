# Copyright 2026 The dear_jax authors.
# SPDX-License-Identifier: Apache-2.0
"""The runs of experiments/reproduce.py. Settings are flags of run.py."""

from dear_jax.training import campaigns

# The paper's ten, with SCC restated so that all pointers lie on edges, and its
# parallel search.
TASKS = (
    'bellman_ford', 'floyd_warshall', 'dag_shortest_paths', 'mst_prim', 'bfs',
    'dfs', 'strongly_connected_components_local', 'binary_search', 'minimum',
    'insertion_sort', 'search')
# Those on which a NAR takes many steps, so that it trains slowly.
LONG = ('floyd_warshall', 'dag_shortest_paths', 'dfs',
        'strongly_connected_components_local')
SHORT = tuple(task for task in TASKS if task not in LONG)
# Those on arrays; all others have a graph.
ARRAYS = ('binary_search', 'minimum', 'insertion_sort', 'search')
GRAPHS = tuple(task for task in TASKS if task not in ARRAYS)
# Those whose edges of nodes to themselves can be hidden: Floyd-Warshall's are
# pairs with an answer of their own.
LOOPED = tuple(task for task in GRAPHS if task != 'floyd_warshall')
# Those with weights, of which the preset best makes more.
WEIGHTED = ('bellman_ford', 'dag_shortest_paths', 'mst_prim')

NAR = dict(model='nar', processor='pgn')
# As the default preset is tested, so that runs of earlier commits tell, too.
ALL_BUT_ONE = dict(preset='best', seeds=(1, 2), train_steps=3_000,
                   test_criterion='same')

RUNS = [
    # Can the solver be trusted, on every task?
    *campaigns.rows('trust', TASKS, seeds=(1, 2), train_steps=2_000),
    # The same for longer: what the group best is compared with.
    *campaigns.rows('plain', TASKS, seeds=(1, 2), train_steps=3_000,
                    continues='trust'),
    # What goes beyond the paper's model.
    *campaigns.rows('best', TASKS, preset='best', seeds=(1, 2),
                    train_steps=3_000),
    # All of that but one part. On arrays, differences are all that it has.
    *campaigns.rows('parts', LOOPED, label='at_state', **ALL_BUT_ONE),
    *campaigns.rows('parts', GRAPHS, label='no_differences', scalars='linear',
                    **ALL_BUT_ONE),
    *campaigns.rows('parts', WEIGHTED, label='no_units', scalars='differences',
                    **ALL_BUT_ONE),
    *campaigns.rows('parts', WEIGHTED, label='no_relative', scalars='units',
                    **ALL_BUT_ONE),
    *campaigns.rows('parts', LOOPED, label='with_loops', self_loops=True,
                    **ALL_BUT_ONE),
    *campaigns.rows('parts', ('floyd_warshall',), label='no_pairs',
                    processor='dear_pgn', **ALL_BUT_ONE),
    *campaigns.rows('parts', ('floyd_warshall',), label='no_triplets',
                    edge_pointers='clrs', **ALL_BUT_ONE),
    # Our DEAR beside the paper's.
    *campaigns.rows('dear', TASKS, seeds=(1, 2), train_steps=10_000,
                    continues='plain'),
    *campaigns.rows('dear', TASKS, seeds=(3,), train_steps=10_000),
    # The best that we have beside the paper's.
    *campaigns.rows('long', TASKS, preset='best', seeds=(1, 2),
                    train_steps=10_000, continues='best'),
    *campaigns.rows('long', TASKS, preset='best', seeds=(3,),
                    train_steps=10_000),
    # The paper's settings, for as many steps.
    *campaigns.rows('paper', TASKS, preset='paper', train_steps=10_000),
    # The baseline, which is given the true number of steps.
    *campaigns.rows('nar', SHORT, **NAR, train_steps=10_000),
    *campaigns.rows('nar', LONG, **NAR, train_steps=2_000),
    # The other parts of the paper.
    *campaigns.rows('variants', ('bfs', 'bellman_ford'), label='nar_learned',
                    **NAR, test_steps='learned', train_steps=5_000),
    *campaigns.rows('variants', ('bellman_ford', 'mst_prim', 'dfs'),
                    label='cgp', cgp=True, train_steps=5_000),
    *campaigns.rows('variants', ('dag_shortest_paths', 'mst_prim',
                                 'binary_search'),
                    label='gas', preset='gas', align_to='nar',
                    train_steps=5_000),
    # The best that we have for a task that nothing else helps.
    *campaigns.rows('variants', ('mst_prim',), label='relative', preset='best',
                    scalars='relative', wanted_steps=20,
                    test_criterion='same', train_steps=3_000),
    *campaigns.rows('variants', ('mst_prim',), label='long_units',
                    preset='best', scalars='units', test_criterion='same',
                    train_steps=10_000),
    *campaigns.rows('variants', ('floyd_warshall', 'dfs', 'insertion_sort'),
                    label='triplet', processor='dear_triplet_mpnn',
                    train_steps=5_000),
]

# Sizes of --evaluate.
SIZES = (16, 32, 64)
