"""What an iteration of the preset "paper" costs: part by part, and as the number of nodes grows."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from loops import repeat_advance, repeat_hyper, repeat_jump, repeat_langevin, repeat_sweep
from slabfield.chains.chain_run import chain_rng
from slabfield.chains.paper_chain import PaperChain, start_chain, warm_up
from slabfield.configuration import paper
from slabfield.datasets import make_block, make_lattice, make_random
from slabfield.datasets.simulated import Simulated
from slabfield.models.binary import BinaryPairwise
from slabfield.moves.chain_state import ChainState, insert, new_state
from slabfield.moves.iteration import new_record
from slabfield.priors import Prior
from slabfield.problem import Problem
from timing import best_times, section, table, verdict

PARTS = ("hyper", "Gibbs sweep", "Langevin", "jump")
JUMP_LIMIT = 2.0
N_ROWS, MEAN_DEGREE = 200, 4
SIZES = (50, 100, 200, 500, 1_000)


def true_state(data: Simulated, model: BinaryPairwise, rng: np.random.Generator) -> ChainState:
    """Return the chain's state at the field that the data come from, with fresh momenta."""
    state = new_state(model.n_biases, model.n_interactions, model.n_interactions)
    coupling = data.field.coupling[model.ends]
    present = np.flatnonzero(coupling)
    for alpha in present:
        insert(state, alpha)
    state.bias[:] = data.field.bias
    state.coupling[:] = coupling
    state.hyper[:] = (len(present) + 5) / (len(coupling) + 10), np.std(coupling[present])
    state.bias_momentum[:] = rng.standard_normal(state.bias.size)
    state.coupling_momentum[present] = rng.standard_normal(len(present))
    return state


def settled_chain(data: Simulated, n_iterations: int) -> PaperChain:
    """Return a chain that has run for a while from the true field."""
    model = BinaryPairwise(data.field.n_nodes)
    prior = Prior.standard(model.n_interactions)
    problem = Problem(model, data.rows, model.sums(data.rows), prior)
    n_segments = min(10, n_iterations)
    settings = replace(paper(), thin=n_iterations // n_segments, n_warmup=n_segments)
    rng = chain_rng(1, 0)
    chain = start_chain(problem, settings, rng)
    return warm_up(chain._replace(state=true_state(data, model, rng)), lambda _: None)


def part_loops(chain: PaperChain) -> dict[str, Callable[[int], object]]:
    """Return what repeats each part of an iteration, the sweep alone, and all of it."""
    problem, engine, starts = chain.problem, chain.engine, chain.problem.model.group_start
    sums, prior, rng, state = problem.sums, problem.prior, chain.rng, chain.state
    nothing = new_record(0, *(len(a) for a in (state.bias, state.coupling, state.present)))
    return {
        "hyper": lambda k: repeat_hyper(state, prior, chain.jumps.n_learned, starts, rng, k),
        "Gibbs sweep": lambda k: repeat_advance(engine, state, rng, k),
        "Langevin": lambda k: repeat_langevin(
            engine, sums, prior, starts, chain.langevin, state, chain.work, rng, k
        ),
        "jump": lambda k: repeat_jump(
            engine, sums, prior, starts, chain.jumps, state, chain.jump_work, rng, k
        ),
        "sweep alone": lambda k: repeat_sweep(
            engine.states, state.bias, engine.neighbors, engine.weights, engine.degree,
            engine.lanes, engine.field, k,
        ),
        "all": lambda k: chain.iterate(nothing, 0, 0, k),
    }  # fmt: skip


def time_parts(
    chains: list[PaperChain], times: Sequence[int], n_rounds: int
) -> list[dict[str, float]]:
    """Microseconds of every part in every chain: the least of several, all taking turns.

    A part starts from the chain's state every time; the particles go on from where they are.
    """
    loops = [part_loops(chain) for chain in chains]
    starts = [copy.deepcopy(chain.state) for chain in chains]
    best = [dict.fromkeys(parts, float("inf")) for parts in loops]
    for _ in range(n_rounds):
        for chain, parts, start, k, found in zip(chains, loops, starts, times, best, strict=True):
            for name, loop in parts.items():
                for array, before in zip(chain.state, start, strict=True):
                    array[:] = before
                loop(1)
                seconds = best_times({name: lambda f=loop, k=k: f(k)}, 1)[name]
                found[name] = min(found[name], seconds / k * 1e6)
    return best


def by_part(quick: bool) -> str:
    """Section on the parts of an iteration."""
    n_settle = 200 if quick else 5_000
    sets = {
        "block": make_block(100, random_state=1),
        "lattice": make_lattice(100, random_state=1),
    }
    chains = [settled_chain(data, n_settle) for data in sets.values()]
    n_edges = [int(chain.state.n_members[0]) for chain in chains]
    costs = time_parts(chains, (20, 20) if quick else (4_000, 500), 2 if quick else 15)
    rows = []
    for name, chain, edges, cost in zip(sets, chains, n_edges, costs, strict=True):
        ratio = cost["jump"] / cost["Gibbs sweep"]
        rows.append((
            name, f"{chain.state.present.size:,}", edges,
            *(f"{cost[part]:.1f}" for part in PARTS),
            f"{sum(cost[part] for part in PARTS):.1f}", f"{cost['all']:.1f}",
            f"{ratio:.2f}", f"{cost['jump'] / cost['sweep alone']:.2f}",
            verdict(ratio <= JUMP_LIMIT) if name == "lattice" else "not required",
        ))  # fmt: skip
    head = (
        "data", "candidates", "edges at start", *PARTS, "sum of parts", "iteration",
        "jump / Gibbs sweep", "jump / sweep alone", f"at most {JUMP_LIMIT:.0f}",
    )  # fmt: skip
    return section(
        'One iteration of preset "paper", by part',
        f"Microseconds per iteration, N = 100, {paper().n_particles} particles; each part in a "
        "compiled loop of its own, and the whole iteration. The chains start at the true edges and "
        f"couplings and run {n_settle:,} iterations before they are timed. *Gibbs sweep* is all "
        "that the particle engine does in an iteration: lists of neighbors, sweep, packing; "
        "*sweep alone* leaves out the lists and the packing.",
        table(head, rows),
    )


def by_nodes(quick: bool, picture: Path) -> str:
    """Section on the cost as the number of nodes grows; draws the picture."""
    sizes = np.array(SIZES[:2] if quick else SIZES)
    chains = []
    for size in sizes:
        data = make_random(
            N_ROWS, n_nodes=int(size), mean_degree=MEAN_DEGREE, random_state=1, method="gibbs",
            n_sweeps=20 if quick else 100,
        )  # fmt: skip
        chains.append(settled_chain(data, 50 if quick else 1_000))
    n_edges = [int(chain.state.n_members[0]) for chain in chains]
    times = [20 if quick else max(30, 40_000 // int(size)) for size in sizes]
    costs = time_parts(chains, times, 2 if quick else 15)
    rows = [
        (f"{size:,}", f"{chain.state.present.size:,}", f"{edges:,}",
         *(f"{cost[part]:.1f}" for part in (*PARTS, "all")))
        for size, chain, edges, cost in zip(sizes, chains, n_edges, costs, strict=True)
    ]  # fmt: skip
    curves = {name: np.array([cost[name] for cost in costs]) for name in (*PARTS, "all")}
    gradients = {name: np.polyfit(np.log(sizes), np.log(y), 1) for name, y in curves.items()}
    rows.append(("fitted exponent", "", "", *(f"{s[0]:.2f}" for s in gradients.values())))
    draw(sizes, curves, gradients["all"], picture)
    last = np.log(curves["all"][-1] / curves["all"][-2]) / np.log(sizes[-1] / sizes[-2])
    head = ("nodes", "candidates", "edges at start", *PARTS, "iteration")
    return section(
        "Cost per iteration as the number of nodes grows",
        f'Microseconds per iteration of preset "paper" on random graphs of mean degree '
        f"{MEAN_DEGREE}, N = {N_ROWS}, settled from the true edges. The last row is the slope of a "
        "straight line through the logarithms; between the last two sizes the slope of the whole "
        f"iteration is {last:.2f}.",
        table(head, rows),
        f"![Cost per iteration against the number of nodes]({picture.name})",
    )


def draw(sizes: np.ndarray, curves: dict, line: np.ndarray, picture: Path) -> None:
    """Draw cost against nodes on logarithmic axes, with the fitted line."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FixedLocator, NullLocator

    figure = Figure(figsize=(6.4, 4.4), layout="constrained")
    axes = figure.add_subplot()
    for name, values in curves.items():
        style = {"color": "black", "linewidth": 2} if name == "all" else {"linewidth": 1.2}
        label = "whole iteration" if name == "all" else name
        axes.loglog(sizes, values, "o-", markersize=4, label=label, **style)
    fit = np.exp(np.polyval(line, np.log(sizes)))
    axes.loglog(sizes, fit, "--", color="gray", label=f"fit: nodes to the power {line[0]:.2f}")
    axes.xaxis.set_major_locator(FixedLocator(sizes))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticklabels([f"{size:,}" for size in sizes])
    axes.set_xlabel(f"nodes (random graphs, mean degree {MEAN_DEGREE})")
    axes.set_ylabel("microseconds per iteration")
    axes.set_title('Cost of an iteration of preset "paper"')
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize="small")
    figure.savefig(picture, dpi=120)
