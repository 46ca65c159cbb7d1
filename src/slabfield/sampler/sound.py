"""Whether a state that was read from a file is one that compiled code can be given.

Compiled code does not look at what it is given: a wrong number would have other memory read.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from slabfield.kernels.cloud import GROUPS
from slabfield.kernels.patterns import Clusters
from slabfield.likelihood.cubes import ExactCubes, ParticleCubes, particle_cubes
from slabfield.likelihood.pseudo import PseudoRows
from slabfield.moves.pair import MOST_EDGES, Tally, new_block, new_tally
from slabfield.moves.state import ChainState
from slabfield.sampler.collapsed import CollapsedChain, start_exact, start_pseudo
from slabfield.sampler.particles import MOST_PARTICLES, whole_lanes
from slabfield.sampler.patterns import MOST_NODES as MOST_CLUSTERED
from slabfield.sampler.plan import FULL_NODES
from slabfield.sampler.settings import Settings
from slabfield.sampler.starts import Sketch
from slabfield.sampler.warmup import Problem


def check_sound(chain: Any, like: Any) -> None:
    """Raise ValueError unless a chain has the form of another, and its indices are in bounds."""
    problem, settings = like.problem, like.settings
    n_edges, n_nodes = problem.model.n_interactions, problem.model.n_nodes
    _expect(type(chain) is type(like), "another kind of chain")
    if isinstance(chain, CollapsedChain):
        like = like._replace(
            plan=_plan_like(chain, like),
            tally=_tally_like(chain, like),
            rough=_rough_like(chain, n_nodes),
        )
        if settings.engine == "particles":
            like = like._replace(engine=_particles_like(chain, problem, settings))
        blocks = np.sort(chain.plan.blocks, axis=1)
        _expect(_within(blocks, 0, n_nodes) and bool(np.all(np.diff(blocks) > 0)), "a wrong plan")
        _expect(bool(np.all(np.sort(chain.block.order) == np.arange(n_nodes))), "a wrong order")
        _expect(_within(chain.block.nodes, 0, n_nodes), "a wrong block")
        if chain.rough is not None:
            edges = chain.rough.edges
            good = _within(edges, 0, n_edges) and np.unique(edges).size == edges.size
            _expect(good, "a wrong rough answer")
    else:
        _expect(_within(chain.jumps.order, 0, n_edges), "a wrong order of jumps")
        _expect(0 <= chain.jumps.n_learnt <= chain.jumps.order.size, "a wrong number of jumps")
    _check_form(chain, like, "the chain")
    if isinstance(chain, CollapsedChain):
        _check_moves(chain)
    _check_state(chain.state, n_edges)
    for name, bound in (("first", n_nodes), ("second", n_nodes), ("neighbours", n_nodes),
                        ("degree", n_nodes)):  # fmt: skip
        _expect(_within(getattr(chain.engine, name, np.zeros(0)), 0, bound), f"a wrong {name}")
    if isinstance(chain.engine, ExactCubes):
        order = np.sort(chain.engine.bowl.order)
        _expect(np.array_equal(order, np.arange(n_edges)), "a wrong order of edges")
    if isinstance(chain.engine, PseudoRows):
        for name in ("bounds", "times", "empty", "counted"):
            same = np.array_equal(getattr(chain.engine, name), getattr(like.engine, name))
            _expect(same, f"a wrong {name}")


def collapsed_like(problem: Problem, settings: Settings) -> CollapsedChain:
    """Return a chain at its start, made without drawing much: its form is what counts."""
    rng = np.random.default_rng(0)
    if settings.engine == "exact":
        return start_exact(problem, settings, rng, "empty")
    like = start_pseudo(problem, settings, rng, "empty")
    if settings.engine == "pseudo":
        return like
    block = new_block(like.block.data_mean, like.block.nodes.size, GROUPS)
    return like._replace(block=block)


def _plan_like(chain: CollapsedChain, like: CollapsedChain) -> Any:
    blocks, moves = chain.plan.blocks, chain.plan.moves
    for array in (blocks, moves):
        _expect(isinstance(array, np.ndarray) and array.ndim == 2, "a wrong plan")
    n_nodes, k = like.state.bias.size, like.plan.blocks.shape[1]
    return like.plan._replace(
        blocks=np.zeros((blocks.shape[0], k), np.int64),
        together=np.zeros((0 if blocks.size else n_nodes, k), np.int64),
        moves=np.zeros((moves.shape[0], MOST_EDGES), np.int64),
        move_start=np.zeros(blocks.shape[0] + 1, np.int64),
    )


def _tally_like(chain: CollapsedChain, like: CollapsedChain) -> Tally:
    flips = chain.tally.flips
    _expect(isinstance(flips, np.ndarray) and flips.ndim == 2, "wrong flips")
    return new_tally(like.tally.chance.size, flips.shape[0])


def _rough_like(chain: CollapsedChain, n_nodes: int) -> Sketch | None:
    if chain.rough is None:
        return None
    edges = getattr(chain.rough, "edges", None)
    _expect(isinstance(edges, np.ndarray) and edges.ndim == 1, "a wrong rough answer")
    n = chain.rough.edges.size
    return Sketch(np.zeros(n_nodes), np.zeros(n, np.int32), np.zeros(n), np.zeros(2))


def _check_moves(chain: CollapsedChain) -> None:
    """Check that flips, planned and listed, are of nodes, edges and blocks that there are."""
    plan, tally = chain.plan, chain.tally
    n_blocks, k = plan.blocks.shape
    n_places = k * (k - 1) // 2
    together = np.sort(plan.together, axis=1)
    good = _within(together, 0, chain.state.bias.size) and bool(np.all(np.diff(together) > 0))
    own = np.array_equal(plan.together[:, 0], np.arange(len(together)))
    _expect(good and own, "nodes that do not go together")
    _expect(_within(plan.moves, -1, n_places), "a wrong move")
    _expect(_within(plan.moves[:, :1], 0, n_places), "an empty move")
    start = plan.move_start
    whole = start[0] == 0 and start[-1] == len(plan.moves) and bool(np.all(np.diff(start) >= 0))
    _expect(whole, "wrong starts of moves")
    _expect(_within(tally.flips[:, 0], 0, max(n_blocks, 1)), "flips of a wrong block")
    _expect(_within(tally.flips[:, 1:], -1, n_places), "flips of wrong edges")
    _expect(int(tally.n_flips[0]) >= 0, "a wrong number of flips")


def _particles_like(chain: CollapsedChain, problem: Problem, settings: Settings) -> ParticleCubes:
    engine, model = chain.engine, problem.model
    _expect(isinstance(engine, ParticleCubes) and engine.states.ndim == 2, "another engine")
    n, k = engine.states.shape[1], chain.block.nodes.size  # type: ignore[union-attr]
    most = max(MOST_PARTICLES, whole_lanes(settings.n_particles))
    _expect(0 < n <= most and n % GROUPS == 0, f"{n} particles")
    weighted = model.n_nodes <= FULL_NODES
    like = particle_cubes(model, n, 1, k, weighted, np.random.default_rng(0))
    return like._replace(clusters=_clusters_like(engine.clusters, model.n_nodes))  # type: ignore[union-attr]


def _clusters_like(clusters: Any, n_nodes: int) -> Clusters:
    """Check that clusters are of nodes and patterns that there are; return them."""
    _expect(isinstance(clusters, Clusters), "wrong clusters")
    for array in clusters:
        good = isinstance(array, np.ndarray) and array.ndim == 1 and array.dtype == np.int64
        _expect(good, "wrong clusters")
    sizes, counts = np.diff(clusters.node_start), np.diff(clusters.pattern_start)
    for start, numbers in ((clusters.node_start, clusters.nodes),
                           (clusters.pattern_start, clusters.patterns)):  # fmt: skip
        whole = start.size > 0 and start[0] == 0 and start[-1] == numbers.size
        _expect(whole and bool(np.all(np.diff(start) > 0)), "wrong clusters")
    _expect(sizes.size == counts.size and _within(sizes, 0, MOST_CLUSTERED + 1), "wrong clusters")
    _expect(_within(clusters.nodes, 0, n_nodes), "clusters of wrong nodes")
    beyond = np.repeat(1 << sizes, counts)
    _expect(bool(np.all((clusters.patterns >= 0) & (clusters.patterns < beyond))), "wrong patterns")
    found: Clusters = clusters
    return found


def _check_state(state: ChainState, n_edges: int) -> None:
    """Check that the list of what is present is that of what is marked as present."""
    n = int(state.n_members[0])
    _expect(0 <= n <= n_edges, f"{n} interactions present")
    _expect(_within(state.members, 0, n_edges), "wrong interactions")
    listed = state.members[:n]
    _expect(np.array_equal(np.sort(listed), np.flatnonzero(state.present)), "a wrong list")


def _check_form(value: Any, like: Any, where: str) -> None:
    """Check types, shapes and kinds of numbers all the way down."""
    _expect(type(value) is type(like), f"{type(value).__name__} in {where}")
    if isinstance(value, np.ndarray):
        same = value.shape == like.shape and value.dtype == like.dtype
        _expect(same, f"an array of shape {value.shape} and type {value.dtype} in {where}")
    elif isinstance(value, tuple):
        _expect(len(value) == len(like), f"too little in {where}")
        for name, part, other in zip(
            getattr(value, "_fields", range(len(value))), value, like, strict=True
        ):
            _check_form(part, other, f"{where}, {name}")


def _within(numbers: Any, low: int, high: int) -> bool:
    return numbers.size == 0 or bool(numbers.min() >= low and numbers.max() < high)


def _expect(holds: bool, found: str) -> None:
    if not holds:
        raise ValueError(found)
