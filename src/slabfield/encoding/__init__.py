"""From raw columns to 0/1 rows: labels, thresholds, missing entries, row weights."""

from __future__ import annotations

from slabfield.encoding.counted import read_counted
from slabfield.encoding.recoding import RecodedTable, code_alike
from slabfield.encoding.row_weights import check_weights, merge_rows, replicate_rows
from slabfield.encoding.table import CodedTable, code_binary, keep_names

__all__ = [
    "CodedTable",
    "RecodedTable",
    "check_weights",
    "code_alike",
    "code_binary",
    "keep_names",
    "merge_rows",
    "read_counted",
    "replicate_rows",
]
