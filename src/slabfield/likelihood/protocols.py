"""The interface of likelihood engines: the functions that moves call.

An engine is a named tuple of arrays. Each function here dispatches on the engine's class, in Python
and in compiled code alike.
"""

from __future__ import annotations

from slabfield._jit import generic


@generic
def advance(engine, state, rng):
    """Bring the engine to the parameters of the state (particles: one or more Gibbs sweeps)."""


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


@generic
def open_block(engine, state, nodes, table):
    """Fill ``table`` with the weights of the states of a block of nodes, all others summed out."""


@generic
def leave_block(engine, state, nodes, table, rng):
    """Update the engine for changed parameters within a block (particles: redraw its nodes)."""
