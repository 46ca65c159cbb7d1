"""Samples from known fields, exact where that is feasible, and small real data sets."""

from slabfield.datasets.adhd import load_adhd
from slabfield.datasets.block import make_block
from slabfield.datasets.boredom import load_boredom
from slabfield.datasets.digits import load_digits_binary
from slabfield.datasets.lattice import make_lattice
from slabfield.datasets.mnist import MnistPatches, load_mnist_patches
from slabfield.datasets.random_graph import make_random
from slabfield.datasets.random_levels import SimulatedLevels, make_nominal, make_ordinal
from slabfield.datasets.simulated import Simulated, draw_rows

__all__ = [
    "MnistPatches",
    "Simulated",
    "SimulatedLevels",
    "draw_rows",
    "load_adhd",
    "load_boredom",
    "load_digits_binary",
    "load_mnist_patches",
    "make_block",
    "make_lattice",
    "make_nominal",
    "make_ordinal",
    "make_random",
]
