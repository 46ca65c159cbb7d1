"""Checks of parameters and priors, and the exceptions and warnings for invalid input.

A message has three parts: what was wrong, what was found, what to do.
"""

from __future__ import annotations

from slabfield.validation.edge_priors import check_edge_prior, find_edges, find_node
from slabfield.validation.errors import (
    InputError,
    InputWarning,
    Message,
    NotFiniteError,
    Parameter,
)
from slabfield.validation.estimator_parameters import (
    check_run_length,
    check_sampler,
    validate_params,
)
from slabfield.validation.parameters import (
    check_choice,
    check_exact_size,
    check_free_biases,
    check_full_size,
    check_number,
    check_positive_int,
    seed_of,
)
from slabfield.validation.prior_parameters import (
    InclusionPrior,
    SlabPrior,
    check_inclusion_prior,
    check_slab_prior,
)

__all__ = [
    "InclusionPrior",
    "InputError",
    "InputWarning",
    "Message",
    "NotFiniteError",
    "Parameter",
    "SlabPrior",
    "check_choice",
    "check_edge_prior",
    "check_exact_size",
    "check_free_biases",
    "check_full_size",
    "check_inclusion_prior",
    "check_number",
    "check_positive_int",
    "check_run_length",
    "check_sampler",
    "check_slab_prior",
    "find_edges",
    "find_node",
    "seed_of",
    "validate_params",
]
