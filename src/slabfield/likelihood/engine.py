"""What a likelihood engine answers: the hinge between the moves and where moments come from.

An engine is a named tuple of arrays. Each function here is chosen by the engine's class, in Python
and in compiled code alike.
"""

from __future__ import annotations

from slabfield._jit import generic


@generic
def advance(engine, state, rng):
    """Bring the engine to the parameters of the state (particles: sweep them)."""


@generic
def gradient_means(engine, state, bias_mean, coupling_mean):
    """Fill in the means of all bias features and of the features of present interactions."""


@generic
def moments_without(engine, state, alpha, mean, covariance):
    """Fill in mean and covariance of an interaction's features with its parameters at zero."""


@generic
def log_ratio(engine, sums, prior, state, alpha, target):
    """Log-likelihood gained by setting an interaction to ``target``, and the answer's variance.

    An engine that moves biases along with an interaction adds what their prior gains.
    """


@generic
def set_group(engine, state, alpha, target):
    """Take note that an interaction's parameters go to ``target`` (before the state changes).

    An engine that moves biases along with an interaction moves them here.
    """


@generic
def log_partition(engine):
    """Log partition function at the engine's parameters."""


@generic
def open_block(engine, state, nodes, mass):
    """Fill ``mass`` with the weights of the states of a block of nodes, all others summed out."""


@generic
def leave_block(engine, state, nodes, mass, rng):
    """Take note that parameters within a block have changed (particles: draw its nodes anew)."""
