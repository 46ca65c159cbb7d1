"""Reference implementation in C (gibbs.c) of the Gibbs sweeps of slabfield.kernels.gibbs.sweep."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from slabfield.kernels.gibbs import new_streams

SOURCE = Path(__file__).with_name("gibbs.c")
FLAGS = ("-O3", "-march=native", "-ffast-math")
VARIANTS = ("sweeps_plain", "sweeps_by_one", "sweeps_by_four")

Arrays = tuple[np.ndarray, ...]


def build() -> dict[str, Callable[..., None]] | None:
    """Compile gibbs.c in a temporary folder; return its variants by name, or None without gcc.

    Each takes the arrays of :func:`slabfield.kernels.gibbs.sweep` and a number of sweeps.
    """
    if shutil.which("gcc") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        parts, library = Path(folder) / "gibbs.o", Path(folder) / "gibbs.so"
        subprocess.run(["gcc", *FLAGS, "-fPIC", "-c", SOURCE, "-o", parts], check=True)
        # linked without -ffast-math, which would disable subnormal numbers in the whole process
        subprocess.run(["gcc", "-shared", parts, "-o", library], check=True)
        loaded = ctypes.CDLL(str(library))
    return {name: _caller(loaded[name]) for name in VARIANTS}


def _caller(function: Any) -> Callable[..., None]:
    function.restype = None
    function.argtypes = [ctypes.c_void_p] * 7 + [ctypes.c_int64] * 4

    def call(arrays: Arrays, n_sweeps: int) -> None:
        n_nodes, n = arrays[0].shape
        function(*(a.ctypes.data for a in arrays), n_nodes, n, arrays[2].shape[1], n_sweeps)

    return call


def random_field(n_nodes: int, n_particles: int, degree: int, seed: int) -> Arrays:
    """Make the arguments of a sweep: a random directed graph of equal degrees, particles, streams.

    Biases and weights are multiples of 1/1024, so that their sums are exact in any order and
    compilers that reorder them still draw the same states.
    """
    rng = np.random.default_rng(seed)
    nearby = [rng.permutation(np.delete(np.arange(n_nodes), i))[:degree] for i in range(n_nodes)]
    neighbors = np.zeros((n_nodes, n_nodes), np.int32)
    neighbors[:, :degree] = nearby
    return (
        (rng.random((n_nodes, n_particles)) < 0.5).astype(np.float32),
        np.round(rng.normal(size=n_nodes) * 1024) / 1024,
        neighbors,
        (np.round(rng.normal(0.0, 0.3, (n_nodes, n_nodes)) * 1024) / 1024).astype(np.float32),
        np.full(n_nodes, degree, np.int64),
        new_streams(n_particles, rng),
        np.zeros(n_particles, np.float32),
    )


def copy_of(arrays: Arrays) -> Arrays:
    """Copy every array."""
    return tuple(a.copy() for a in arrays)
