"""From raw columns to rows of codes: variables, missing entries, row weights."""

from __future__ import annotations

from slabfield.encoding.counted import read_counted
from slabfield.encoding.encoder import EncodedRows, Encoder
from slabfield.encoding.row_weights import check_weights, merge_rows, replicate_rows
from slabfield.encoding.table import CodedTable, code_table, keep_names
from slabfield.encoding.variables import Variable

__all__ = [
    "CodedTable",
    "EncodedRows",
    "Encoder",
    "Variable",
    "check_weights",
    "code_table",
    "keep_names",
    "merge_rows",
    "read_counted",
    "replicate_rows",
]
