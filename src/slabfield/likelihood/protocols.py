"""The two protocols of likelihood engines: the functions that moves call.

An engine is a named tuple of arrays, and each function dispatches on its class, in Python and in
compiled code alike. Engines of the *moments* protocol answer what the paper's moves ask, for any
log-linear model; engines of the *blocks* protocol serve the collapsed updates of the default
sampler. The functions that moves call are listed (``REQUIRES`` in :mod:`slabfield.moves.iteration`,
``requirements`` in :mod:`slabfield.moves.block_sweep`), and a chain checks its engine against them
before it starts (:func:`check_engine`). A function with a default needs no
implementation.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import singledispatch
from typing import Any

from slabfield._jit import generic, optional

# ---- both protocols


@generic
def advance(engine, state, rng):
    """Bring the engine to the parameters of the state (particles: one or more Gibbs sweeps)."""


@optional
def refresh_data(engine, missing_entries, state, rng):
    """Bring the engine up to date after missing entries were redrawn; most use only sums."""


# ---- moments: the paper's moves


@generic
def gradient_means(engine, state, bias_mean, coupling_mean):
    """Fill in the means of all bias features and of the features of present interactions."""


@generic
def moments_without(engine, state, alpha, mean, covariance):
    """Fill in mean and covariance of an interaction's features with its parameters at zero."""


@generic
def log_ratio(engine, sums, prior, state, alpha, target):
    """Log-likelihood gain of setting an interaction to ``target``, and the estimate's variance.

    An engine that moves biases along with an interaction adds the gain of their log prior.
    """


@generic
def set_group(engine, state, alpha, target):
    """Update the engine for an interaction that goes to ``target`` (before the state changes).

    An engine that moves biases along with an interaction moves them here.
    """


@generic
def log_partition(engine):
    """Log partition function at the engine's parameters."""


# ---- blocks: the collapsed updates


@optional
def begin_sweep(engine, state):
    """Prepare the engine for a sweep over blocks; by default do nothing."""


@generic
def open_block(engine, state, nodes, table):
    """Fill ``table`` with the weights of the states of a block of nodes, all others summed out."""


@generic
def leave_block(engine, state, nodes, table, rng):
    """Update the engine for changed parameters within a block (particles: redraw its nodes)."""


@optional
def between_blocks(engine, state, number, n_blocks, rng):
    """Update the engine after block ``number`` of a scheduled sweep; by default do nothing."""


@generic
def tree_sweep(engine, state, rng):
    """Redraw a random forest of nodes jointly, and the others one by one, in all particles."""


@optional
def n_bias_updates(engine, k):
    """Number of nodes of a scheduled block, from the first, whose biases are updated.

    By default all: with the table of the block available, a bias costs little.
    """
    return k


# ---- in Python: engines of particles


@singledispatch
def more_particles(engine: Any, n_particles: int, rng: Any) -> Any:
    """Return the engine with another number of particles, initialized as copies of the old ones."""
    raise NotImplementedError(type(engine).__name__)


@singledispatch
def copied_particles(engine: Any) -> Any:
    """Return the engine with a copy of its particles, with which to run ahead."""
    raise NotImplementedError(type(engine).__name__)


@singledispatch
def with_buffers(engine: Any) -> Any:
    """Return the engine with the buffers that it has only while compiled code runs."""
    return engine


def check_engine(engine: Any, requirements: Iterable[Any]) -> None:
    """Raise TypeError unless an engine implements all functions that moves require."""
    missing = [f.__name__ for f in requirements if not f.implemented_by(type(engine))]
    if missing:
        raise TypeError(f"{type(engine).__name__} must implement {', '.join(sorted(missing))}.")
