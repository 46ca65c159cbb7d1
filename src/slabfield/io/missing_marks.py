"""Texts that often stand for a missing answer."""

from __future__ import annotations

MISSING_MARKS = frozenset(
    {".", "..", "?", "-", "--", "*", "na", "n/a", "n.a.", "nan", "null", "k.a.", "missing"}
    | {"unknown", "don't know", "dont know", "dk", "refused", "no answer", "not answered"}
    | {"not applicable", "prefer not to say"}
)
"""Texts that often stand for a missing answer, in lower case."""
