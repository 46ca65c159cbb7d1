"""Sizes of the experiments: those of the paper, or smaller ones."""

from __future__ import annotations

from typing import NamedTuple


class Scale(NamedTuple):
    """Sizes of all experiments; the defaults are the paper's, if it reports them.

    The paper reports fields, rows and iterations, but not the number of data sets or the grid of
    fixed p0.

    Attributes
    ----------
    name : str
    n_chains, n_draws, n_warmup : int, optional
        Of the default sampler on small fields; None is its default.
    large_draws, large_warmup, dense_draws, dense_warmup : int, optional
        The same on lattices, and on images or with p0 fixed at 0.2 or above.
    image_particles : int, optional
        Particles on images; None lets the sampler tune their number.
    paper_chains, paper_draws, paper_warmup, paper_thin : int
        Of the paper's own sampler (figures 2 to 4).
    paper_step, paper_window : float
        Its step size and jump scale; larger values make a short chain informative.
    exact_draws : int
        Of the exact sampler used as reference.
    block_sets, lattice_sets, image_sets, sensitivity_sets : int
        Numbers of data sets; ``sensitivity_sets`` limits the lattices of that experiment.
    n_test : int
        Test rows.
    side : int
        The lattice has side x side nodes.
    p0, lattice_p0, image_p0 : tuple of float
        Grids of fixed p0.
    sizes, image_sizes : tuple of int
        Training rows of the experiment on sizes, and of those with images.
    n_strengths : int
        Strengths on an L1 path.
    hyper : tuple of float
        Values of the hyperparameters in the experiment on sensitivity.
    """

    name: str = "paper"
    n_chains: int = 2
    n_draws: int | None = 500
    n_warmup: int | None = None
    large_draws: int | None = 200
    large_warmup: int | None = 80
    dense_draws: int | None = 50
    dense_warmup: int | None = 30
    image_particles: int | None = 1_024
    paper_chains: int = 1
    paper_draws: int = 10_000
    paper_warmup: int = 1_000
    paper_thin: int = 1_000
    paper_step: float = 1e-3
    paper_window: float = 0.01
    exact_draws: int = 20_000
    block_sets: int = 5
    lattice_sets: int = 3
    image_sets: int = 2
    sensitivity_sets: int = 3
    n_test: int = 10_000
    side: int = 10
    p0: tuple[float, ...] = (1e-4, 1e-3, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99)
    lattice_p0: tuple[float, ...] = (1e-4, 1e-3, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.57, 0.7, 0.9)
    image_p0: tuple[float, ...] = (1e-3, 0.03, 0.2, 0.6, 0.95)
    sizes: tuple[int, ...] = (50, 100, 200, 500, 1_000)
    image_sizes: tuple[int, ...] = (100, 1_000)
    n_strengths: int = 40
    hyper: tuple[float, ...] = (1.0, 5.0, 20.0)


SCALES = {
    "paper": Scale(),
    "quick": Scale(
        name="quick", n_chains=1, n_draws=500, n_warmup=100, large_draws=60, large_warmup=40,
        dense_draws=10, dense_warmup=8, image_particles=512, paper_chains=1,
        paper_draws=1_000, paper_warmup=100, paper_step=5e-3, paper_window=0.05,
        exact_draws=3_000, block_sets=5, lattice_sets=2, image_sets=1, sensitivity_sets=1,
        n_test=2_000, p0=(1e-4, 0.01, 0.1, 0.3, 0.5, 0.9, 0.99),
        lattice_p0=(1e-3, 0.02, 0.1, 0.3, 0.57, 0.9), image_p0=(0.01, 0.2, 0.6),
        sizes=(50, 100, 200), n_strengths=20, hyper=(1.0, 5.0, 20.0),
    ),
    "tiny": Scale(
        name="tiny", n_chains=1, n_draws=30, n_warmup=10, large_draws=6, large_warmup=4,
        dense_draws=4, dense_warmup=2, paper_chains=1, paper_draws=40, paper_warmup=5,
        paper_thin=50, exact_draws=60, block_sets=2, lattice_sets=2, image_sets=1,
        sensitivity_sets=1, n_test=60, side=4, p0=(0.01, 0.9), lattice_p0=(0.1, 0.9),
        image_p0=(0.2,), sizes=(50, 100), image_sizes=(40,), n_strengths=6, hyper=(1.0, 20.0),
    ),
}  # fmt: skip
"""Scales by name; ``tiny`` is for tests, and its results mean nothing."""
