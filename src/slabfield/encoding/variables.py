"""Variables: what the codes 0, 1, ... of each column of an encoded table stand for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import numpy as np

from slabfield.encoding.missing_codes import AnswerRange
from slabfield.validation.level_parameters import KINDS

READERS: dict[str, tuple[type, Callable[[str], object]]] = {
    "datetime": (datetime, datetime.fromisoformat),  # before date, of which it is a subclass
    "date": (date, date.fromisoformat),
    "time": (time, time.fromisoformat),
    "decimal": (Decimal, Decimal),
}
"""Labels that JSON does not have: their types, and how they are read from their text."""


@dataclass(frozen=True)
class Variable:
    """A column of a table: its name, its levels, and the numbers that stand for them.

    Parameters
    ----------
    name : str
        Name of the column, and of the node.
    kind : {"binary", "ordinal", "blume-capel", "nominal"}
        What the model makes of the levels.
    labels : tuple
        The labels, in the order of their codes 0, 1, ...; None stands for a label that never
        occurs, as in a constant column. Of a column that was cut, the two sides of the cut.
    scores : tuple of float
        The number that a model uses for each label; none for a nominal variable.
    threshold : float, optional
        Where a column of numbers was cut; None where labels are encoded.
    na_values : tuple, optional
        Values that stand for missing entries; None if nothing was stated about them.
    levels : tuple, optional
        All values that the column may hold, in their order, if they were stated.
    answers : AnswerRange, optional
        Range of the values of a column that was cut, by which missing codes are recognized in new
        rows.
    positions : tuple of int
        Place of each label in the order of all levels: 0, 1, ... by default. A level that never
        occurs has no label, but keeps its place.
    reference : int, optional
        Position of the reference level of a Blume-Capel variable.

    Examples
    --------
    >>> from slabfield.encoding import Variable
    >>> sleep = Variable.binary("sleep", ("no", "yes"))
    >>> sleep.scores, sleep.n_levels
    ((0.0, 1.0), 2)
    >>> Variable("mood", "ordinal", (1, 2, 4), (0.0, 1.0, 3.0), positions=(0, 1, 3)).score_step
    1.0
    >>> Variable.from_record(sleep.as_record()) == sleep
    True
    """

    name: str
    kind: str
    labels: tuple[object, ...]
    scores: tuple[float, ...]
    threshold: float | None = None
    na_values: tuple[str | float, ...] | None = None
    levels: tuple[str | float, ...] | None = None
    answers: AnswerRange | None = None
    positions: tuple[int, ...] = ()
    reference: int | None = None

    def __post_init__(self) -> None:
        if not self.positions:
            object.__setattr__(self, "positions", tuple(range(self.n_levels)))
        if self.kind not in KINDS:
            raise ValueError(f"variable {self.name!r} of unknown kind {self.kind!r}")
        if len(self.scores) != (self.n_levels if self.is_scored else 0):
            raise ValueError(
                f"{self.n_levels} labels but {len(self.scores)} scores of {self.name!r}"
            )
        if len(self.positions) != self.n_levels:
            raise ValueError(f"{len(self.positions)} positions of {self.n_levels} labels")
        if self.kind == "binary" and self.n_levels != 2:
            raise ValueError(f"{self.n_levels} labels of the binary variable {self.name!r}")
        if (self.kind == "blume-capel") != (self.reference is not None):
            raise ValueError(f"{self.kind} variable {self.name!r} with reference {self.reference}")

    @property
    def n_levels(self) -> int:
        """Number of labels, those that never occur included."""
        return len(self.labels)

    @property
    def is_scored(self) -> bool:
        """Whether levels have an order and a score each, so that couplings have a sign."""
        return self.kind != "nominal"

    @property
    def score_step(self) -> float:
        """Mean difference of the scores of adjacent levels; NaN for a nominal variable."""
        if not self.is_scored:
            return float("nan")
        return (self.scores[-1] - self.scores[0]) / (self.positions[-1] - self.positions[0])

    @classmethod
    def binary(
        cls,
        name: str,
        labels: tuple[object, object],
        threshold: float | None = None,
        na_values: tuple[str | float, ...] | None = None,
        levels: tuple[str | float, ...] | None = None,
        answers: AnswerRange | None = None,
    ) -> Variable:
        """Return the variable of a column with two labels, or with a threshold."""
        scores = (0.0, 1.0)
        return cls(name, "binary", labels, scores, threshold, na_values, levels, answers)

    def as_record(self) -> dict[str, Any]:
        """Return the variable as plain values for a file.

        Dates, times and decimal numbers are marked as such; other labels that JSON does not have
        become text.
        """
        return {
            "name": self.name,
            "kind": self.kind,
            "labels": [_plain(label) for label in self.labels],
            "scores": list(self.scores),
            "threshold": self.threshold,
            "na_values": None if self.na_values is None else list(self.na_values),
            "levels": None if self.levels is None else list(self.levels),
            "answers": None if self.answers is None else [_plain(x) for x in self.answers],
            "positions": list(self.positions),
            "reference": self.reference,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Variable:
        """Return the variable that `as_record` described."""
        name, threshold, answers = record["name"], record["threshold"], record["answers"]
        if not isinstance(name, str):
            raise ValueError("a variable whose name is not text")
        return cls(
            name,
            record["kind"],
            tuple(_from_plain(label) for label in record["labels"]),
            tuple(float(score) for score in record["scores"]),
            None if threshold is None else float(threshold),
            _optional_tuple(record["na_values"]),
            _optional_tuple(record["levels"]),
            None if answers is None else AnswerRange(*answers),
            tuple(int(position) for position in record["positions"]),
            None if record["reference"] is None else int(record["reference"]),
        )


def _optional_tuple(values: Iterable[Any] | None) -> tuple[Any, ...] | None:
    return None if values is None else tuple(values)


def _plain(label: object) -> object:
    if isinstance(label, np.generic):
        label = label.item()
    if label is None or isinstance(label, (bool, int, float, str)):
        return label
    for name, (kind, _) in READERS.items():
        if isinstance(label, kind):
            return {name: str(label)}
    return str(label)


def _from_plain(label: object) -> object:
    if not isinstance(label, dict):
        return label
    ((name, text),) = label.items()
    return READERS[name][1](text)
