"""Every check of what a user hands in, and every message about it.

A message has three parts: what was wrong, what was found, what to do.
"""

from __future__ import annotations

from slabfield.checks.counted import read_counted
from slabfield.checks.errors import InputError, InputWarning, NotFiniteError
from slabfield.checks.knowledge import check_edge_prior, find_node
from slabfield.checks.parameters import (
    check_choice,
    check_exact_size,
    check_full_size,
    check_number,
    check_positive_int,
    seed_of,
)
from slabfield.checks.priors import (
    InclusionPrior,
    SlabPrior,
    check_inclusion_prior,
    check_slab_prior,
)
from slabfield.checks.recoding import RecodedTable, code_alike
from slabfield.checks.table import CodedTable, code_binary, keep_names
from slabfield.checks.told import check_told
from slabfield.checks.weights import check_weights, merge_rows, spread_rows

__all__ = [
    "CodedTable",
    "InclusionPrior",
    "InputError",
    "InputWarning",
    "NotFiniteError",
    "RecodedTable",
    "SlabPrior",
    "check_choice",
    "check_edge_prior",
    "check_exact_size",
    "check_full_size",
    "check_inclusion_prior",
    "check_number",
    "check_positive_int",
    "check_slab_prior",
    "check_told",
    "check_weights",
    "code_alike",
    "code_binary",
    "find_node",
    "keep_names",
    "merge_rows",
    "read_counted",
    "seed_of",
    "spread_rows",
]
