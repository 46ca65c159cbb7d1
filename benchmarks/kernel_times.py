"""CPU time of the kernels of every likelihood engine, one round for every line of input.

``benchmarks/two_commits.py`` starts one such process for each of two commits and has them take
turns. Every round prints one line of JSON: for every engine its kernels with the seconds of a call.
What is measured does not depend on draws made before: chains stand at the field that the data
were drawn from.
"""

from __future__ import annotations

import copy
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

import kernel_loops as loops
from slabfield.adaptation.associations import association
from slabfield.adaptation.block_schedule import planned_for_particles
from slabfield.chains.chain_run import chain_rng
from slabfield.chains.collapsed_chain import CollapsedChain
from slabfield.chains.collapsed_warmup import start_collapsed
from slabfield.chains.paper_chain import PaperChain, start_chain, warm_up
from slabfield.chains.particle_chain import flip_recording_stats
from slabfield.configuration import Settings, bayes_exact, paper
from slabfield.datasets import make_block, make_lattice, make_random
from slabfield.datasets.simulated import Simulated
from slabfield.kernels.l1_nodes import node_path
from slabfield.likelihood.blocks import with_conditionals
from slabfield.models.binary import BinaryPairwise
from slabfield.moves.chain_state import insert
from slabfield.moves.iteration import new_record
from slabfield.priors import Prior
from slabfield.problem import Problem

# Seconds that a kernel is repeated for in a round
ROUND_SECONDS = 0.02
Repeat = Callable[[int], object]
Kernels = Iterator[tuple[str, Repeat, int]]
"""Names of kernels, what repeats them, and how often in a round (0: as often as time allows)."""


def random_field(n_nodes: int) -> Simulated:
    """1,000 rows of a random field of mean degree 4, or complete."""
    return make_random(
        1_000, n_nodes=n_nodes, mean_degree=min(4, n_nodes - 1), random_state=1, method="gibbs",
        n_sweeps=200,
    )  # fmt: skip


def problem_of(data: Simulated) -> Problem:
    model = BinaryPairwise(data.field.n_nodes)
    prior = Prior.standard(model.n_interactions)
    return Problem(model, data.rows, model.sums(data.rows), prior)


def go_to_truth(chain: CollapsedChain | PaperChain, data: Simulated) -> None:
    """Put a chain at the field that the data were drawn from."""
    state = chain.state
    coupling = data.field.coupling[chain.problem.model.ends]
    state.bias[:], state.coupling[:], state.present[:] = data.field.bias, coupling, 0
    state.n_members[0] = 0
    for alpha in np.flatnonzero(coupling):
        insert(state, int(alpha))
    state.hyper[:] = np.mean(coupling != 0), 1.0


def true_chain(data: Simulated, engine: str, n_particles: int = 0) -> CollapsedChain:
    """A chain of collapsed sweeps at the true field, with a plan that the data alone suggest."""
    settings = Settings(
        engine=engine, scheme="collapsed", thin=1, n_particles=n_particles, n_sweeps=1
    )
    problem = problem_of(data)
    chain = start_collapsed(problem, settings, chain_rng(1, 0), "empty")
    go_to_truth(chain, data)
    if engine == "particles" and len(chain.plan.blocks):
        inclusion_stats, score = (
            flip_recording_stats(problem.model),
            association(problem.model, problem),
        )
        # as after one visit of every edge
        inclusion_stats.evidence.sums[0, :, 2] = score / (20.0 + score)
        inclusion_stats.evidence.sums[0, :, 3], inclusion_stats.evidence.batch[1] = 1.0, 1
        present = chain.state.members[: chain.state.n_members[0]]
        plan = planned_for_particles(problem, inclusion_stats, chain.block.nodes.size, present)
        chain = chain._replace(plan=plan)
    return chain


def at_start(chain: CollapsedChain | PaperChain, run: Callable[[int], object]) -> Repeat:
    """Return what first goes back to the state and random numbers of now."""
    start, numbers = copy.deepcopy(chain.state), copy.deepcopy(chain.rng.bit_generator.state)

    def repeat(times: int) -> None:
        for array, before in zip(chain.state, start, strict=True):
            array[:] = before
        chain.rng.bit_generator.state = numbers
        run(times)

    return repeat


def sweeps_of(chain: CollapsedChain | PaperChain) -> Repeat:
    """Whole sweeps or iterations."""
    sizes = (chain.state.bias.size, chain.state.coupling.size, chain.state.present.size)
    empty = new_record(0, *sizes)
    return at_start(chain, lambda times: chain.iterate(empty, 0, 0, times))


def table_kernels(chain: CollapsedChain) -> Kernels:
    """Kernels of an engine that sums out all nodes but those of a block."""
    problem, engine, state, block = chain.problem, chain.engine, chain.state, chain.block
    sums, prior, plan, inclusion_stats, rng = (
        problem.sums,
        problem.prior,
        chain.plan,
        chain.inclusion_stats,
        chain.rng,
    )
    k = block.nodes.size
    nodes = np.arange(k)
    block.nodes[:] = nodes
    loops.repeat_open(engine, state, nodes, block.table, 1)
    start = block.table.copy()
    yield "block table", lambda t: loops.repeat_open(engine, state, nodes, block.table, t), 0
    yield "marginals", lambda t: loops.repeat_marginals(start, k, block.sums, t), 0
    room, saved, flips = copy.deepcopy(block), copy.deepcopy(state), plan._replace(n_flips=8)
    with_all = (sums, prior, state, saved, room, start, k)
    update = at_start(chain, lambda t: loops.repeat_block(*with_all, inclusion_stats, rng, t))
    yield "edges and biases of a block", update, 400
    flip = at_start(chain, lambda t: loops.repeat_flips(*with_all, flips, inclusion_stats, rng, t))
    yield "flips in a block", flip, 400


def exact_kernels() -> Kernels:
    for n_nodes in (12, 17):
        for name, run, times in table_kernels(true_chain(random_field(n_nodes), "exact")):
            yield f"{name}, {n_nodes} nodes", run, times
    for n_nodes, times in ((4, 800), (12, 200), (16, 50)):
        yield (
            f"sweep, {n_nodes} nodes",
            sweeps_of(true_chain(random_field(n_nodes), "exact")),
            times,
        )
    weights, scratch = np.zeros(1 << 14), np.zeros(1 << 14)
    bias, matrix = np.full(14, -1.0), np.full((14, 14), 0.1)
    yield "table of all states", lambda t: loops.repeat_table(weights, scratch, bias, matrix, t), 0


def particle_kernels() -> Kernels:
    chain = true_chain(random_field(50), "particles", 1024)
    yield from table_kernels(chain)
    engine, state, block, rng = chain.engine, chain.state, chain.block, chain.rng
    engine, nodes = with_conditionals(engine), np.arange(block.nodes.size)
    yield "Gibbs sweep", lambda t: loops.repeat_advance(engine, state, rng, t), 0
    yield "forest", lambda t: loops.repeat_tree_sweep(engine, state, rng, t), 0
    yield "block table and draw", lambda t: loops.repeat_leave(
        engine, state, nodes, block.table, rng, t
    ), 0  # fmt: skip
    sums, prior = chain.problem.sums, chain.problem.prior
    rare = at_start(
        chain,
        lambda t: loops.repeat_rare(
            engine, sums, prior, state, block, chain.plan, chain.inclusion_stats, rng, t
        ),
    )
    yield "unlikely edges", rare, 40
    block_data = make_block(100, random_state=1)
    lattice = make_lattice(200, (7, 7), random_state=1)
    yield "sweep, 12 nodes", sweeps_of(true_chain(block_data, "particles", 1024)), 50
    yield "sweep, 49 nodes", sweeps_of(true_chain(lattice, "particles", 1024)), 4


def pseudo_kernels() -> Kernels:
    chain = true_chain(random_field(50), "pseudo")
    e = chain.engine
    yield "probabilities", lambda t: loops.repeat_probability(
        e.field[0], e.p[0], e.powers, e.empty, t
    ), 0  # fmt: skip
    yield "power sums", lambda t: loops.repeat_power_sums(e.p, e.ones, t), 0
    yield "derivatives", lambda t: loops.repeat_tilted_sums(e.p, e.x, e.counted, t), 0
    yield "log-likelihood", lambda t: loops.repeat_log_sum(
        e.p, e.x, e.bounds, e.times, t
    ), 0  # fmt: skip
    yield "sweep, 12 nodes", sweeps_of(true_chain(random_field(12), "pseudo")), 60
    yield "sweep, 50 nodes", sweeps_of(chain), 6


def paper_kernels() -> Kernels:
    block, lattice = make_block(100, random_state=1), make_lattice(200, (7, 7), random_state=1)
    for name, data, settings, times in (
        ("particles, 12 nodes", block, paper(), 5_000),
        ("particles, 49 nodes", lattice, paper(), 600),
        ("exact, 12 nodes", block, bayes_exact(100), 100),
    ):
        settings = replace(settings, thin=50, n_warmup=10)
        chain = warm_up(start_chain(problem_of(data), settings, chain_rng(1, 0)), lambda _: None)
        go_to_truth(chain, data)
        yield name, sweeps_of(chain), times


def l1_kernels() -> Kernels:
    columns = np.ascontiguousarray(random_field(50).rows.T)
    allowed, strengths = np.arange(50) != 0, np.geomspace(0.1, 0.005, 10)

    def path(times: int) -> None:
        for _ in range(times):
            node_path(columns, 0, allowed, strengths, 1e-6, 100)

    yield "path of a node", path, 0


ENGINES = {
    "exact": exact_kernels,
    "particles": particle_kernels,
    "pseudo": pseudo_kernels,
    "paper": paper_kernels,
    "L1": l1_kernels,
}


def calibrated(run: Repeat, times: int) -> int:
    """How many times a kernel is repeated in a round; it is compiled first."""
    run(1)
    if times > 0:
        return times
    times = 1
    while True:
        start = time.process_time()
        run(times)
        taken = time.process_time() - start
        if taken > ROUND_SECONDS / 4:
            return max(1, int(times * ROUND_SECONDS / taken))
        times *= 4


def main() -> None:
    kernels = {
        (engine, name): (run, calibrated(run, times))
        for engine, make in ENGINES.items()
        for name, run, times in make()
    }
    for _ in sys.stdin:
        found: dict[str, dict[str, float]] = {engine: {} for engine in ENGINES}
        for (engine, name), (run, times) in kernels.items():
            start = time.process_time()
            run(times)
            found[engine][name] = (time.process_time() - start) / times
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
