"""Compiled Gibbs sweeps and annealing of nodes with levels, against their plain Python."""

from __future__ import annotations

import numpy as np

from level_fields import MIXED, random_field
from slabfield.inference.level_gibbs_runs import neighbor_table
from slabfield.kernels.energy_gibbs import anneal_levels, sweep_levels
from slabfield.models.energy_field import EnergyField


def test_compiled_sweeps_equal_their_plain_python() -> None:
    energies = EnergyField.of(random_field(MIXED, 1, share=0.7))
    found = []
    for function in (sweep_levels, sweep_levels.py_func):
        rng = np.random.default_rng(0)
        states = rng.integers(0, energies.n_states[:, None], (4, 9), dtype=np.uint8)
        sums = np.zeros(energies.node.size)
        function(
            states, energies.start, energies.node, energies.pair, 0.8,
            *neighbor_table(energies.edges), 5, rng, sums,
        )  # fmt: skip
        found.append((states, sums))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_allclose(found[0][1], found[1][1])
    np.testing.assert_allclose(np.add.reduceat(found[0][1], energies.start[:-1]), 9 * 5)


def test_compiled_annealing_equals_its_plain_python() -> None:
    energies = EnergyField.of(random_field(MIXED, 2, share=0.7))
    found = []
    for function in (anneal_levels, anneal_levels.py_func):
        rng = np.random.default_rng(0)
        states = rng.integers(0, energies.n_states[:, None], (4, 6), dtype=np.uint8)
        log_weight = np.zeros(6)
        function(
            states, energies.start, np.zeros(energies.node.size), energies.node, energies.pair,
            *neighbor_table(energies.edges), np.linspace(0, 1, 8), 2, rng, log_weight,
        )  # fmt: skip
        found.append(log_weight)
    np.testing.assert_allclose(found[0], found[1], atol=1e-10)
