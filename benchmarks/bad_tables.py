"""Tables and parameters that cannot be used, for ``bad_input.py``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

_ZEROS_AND_ONES = np.random.default_rng(0).integers(0, 2, (30, 21))
_MANY = [f"patient {k}" for k in range(8)]
_PROSE = [f"they said that it was {word} today" for word in ("fine", "bad", "odd", "well", "ill")]
_ALTERNATE = [0, 1, 0, 1, 0, 1, 0, 1]


def _beside(values: list[Any]) -> pd.DataFrame:
    return pd.DataFrame({"a": values, "b": (_ALTERNATE * 2)[: len(values)]})


_SLEEP = pd.DataFrame({"sleep": ["never", "often", "seldom"] * 2, "work": [0, 1] * 3})

TABLES: dict[str, Any] = {
    "NaN in a column": _beside([0, 1, np.nan, 1]),
    "None among words": _beside(["yes", None, "no"]),
    "a column of nothing but NaN": _beside([np.nan] * 4),
    "infinity": _beside([0.0, np.inf, 1.0]),
    "more than 12 numbers": _beside([*range(13), 0]),
    "numbers that are far apart": _beside([1, 2, 1000, 2]),
    "decimals": _beside([0.5, 1.0, 2.0, 1.0]),
    "a measurement": _beside([36.6, 37.1, 38.4, 36.9, 37.0]),
    "a code for missing answers": _beside([0, 1, 9, 1]),
    "two values, one of them a likely code": _beside([1, 99, 1, 1]),
    "codes beside answers from 1 to 5": _beside([1, 2, 3, 4, 5, -99, 99, 99]),
    "a mark for missing answers": _beside(["yes", "no", "?", "."]),
    "numbers and a mark": _beside(["1", "2", ".", "1"]),
    "the same code as an answer in another column": pd.DataFrame(
        {"a": [0, 1, 9, 1], "b": [8, 9, 8, 9]}
    ),
    "blank text": _beside(["yes", " ", "no"]),
    "an identifier": _beside(list(range(101, 109))),
    "words, one for each row": _beside(_MANY),
    "free text": _beside(_PROSE),
    "dates": pd.DataFrame({"a": pd.date_range("2020-01-01", periods=6), "b": [0, 1] * 3}),
    "lists in a column": _beside([[1], [2], [1]]),
    "two faults at once": pd.DataFrame({"a": [0, 1, 2.5], "b": [0.0, np.nan, 1.0]}),
    "the same name twice": pd.DataFrame([[0, 1], [1, 0]], columns=["a", "a"]),
    "an unpaired surrogate in a name": pd.DataFrame(
        [[0, 1], [1, 0]], columns=pd.Index(["a", "\ud800"], dtype=object)
    ),
    "one row": [[0, 1, 1]],
    "no rows": np.zeros((0, 3)),
    "one column": [[0], [1]],
    "no columns": np.zeros((3, 0)),
    "one dimension": [0, 1, 1],
    "three dimensions": np.zeros((2, 2, 2)),
    "one number": 3,
    "rows of different lengths": [[0, 1], [1]],
    "complex numbers": np.array([[0j, 1j], [1j, 0j]]),
    "text": "answers.csv",
    "None": None,
    "a dict": {"a": [0, 1], "b": [1, 0]},
    "20,001 columns": np.zeros((2, 20_001), np.uint8),
}

WARNED: dict[str, Any] = {
    "a column of one value": [[0, 1], [0, 0], [0, 1]],
    "one word in several spellings": _beside(["Yes", "yes", "yes "]),
    "a level of one row": _beside([1, 2, 3, 1, 2, 3, 4]),
}

_ASYMMETRIC = np.array([[0.5, 0.1, 0.5], [0.2, 0.5, 0.5], [0.5, 0.5, 0.5]])
_NEGATIVE = np.full((3, 3), -0.1)

PARAMETERS: list[dict[str, Any]] = [
    {"likelihood": "fast"},
    {"likelihood": "exact", "X": _ZEROS_AND_ONES},
    {"preset": "papers"},
    {"preset": "paper", "likelihood": "pseudo"},
    {"n_chains": 0},
    {"n_chains": 2.5},
    {"n_draws": -1},
    {"n_draws": "many"},
    {"n_warmup": -1},
    {"max_draws": 0},
    {"time_budget": 0},
    {"time_budget": float("nan")},
    {"n_jobs": 0},
    {"random_state": -1},
    {"random_state": "seed"},
    {"edge_threshold": 1.5},
    {"bias_scale": 0},
    {"bias_scale": float("inf")},
    {"bias_scale": 1000},
    {"slab_prior": 0},
    {"slab_prior": 1000},
    {"slab_prior": (0.1, 0.1)},
    {"slab_prior": (5, -1)},
    {"slab_prior": (5, 5, 5)},
    {"slab_prior": "wide"},
    {"inclusion_prior": 0},
    {"inclusion_prior": 1.5},
    {"inclusion_prior": (0, 5)},
    {"inclusion_prior": "sparse"},
    {"inclusion_prior": np.full((2, 2), 0.5)},
    {"inclusion_prior": _ASYMMETRIC},
    {"inclusion_prior": _NEGATIVE},
    {"inclusion_prior": {("x0", "x9"): 0.5}},
    {"inclusion_prior": {("x0", "x1"): 2}},
    {"forbid": [("x0", "x0")]},
    {"forbid": [("x0", "sleep")]},
    {"forbid": [(0, 3)]},
    {"forbid": "x0"},
    {"forbid": [("x0", "x1")], "require": [(0, 1)]},
    {"communities": ["a", "b"], "within": 0.5},
    {"communities": ["a", "b", "b"]},
    {"within": 0.5},
    {"binarize": "mean"},
    {"binarize": {"sleep": 2}},
    {"na": "ignore"},
    {"binarize": 3, "X": _beside([1, 2, 3, 4, 5, 99])},
    {"na_values": 99, "binarize": 3, "X": _beside([1, 2, 3, 4, 5, 99])},
    {"na_values": 9, "binarize": 3, "X": _beside([1, 2, 9, 4, 5, 99])},
    {"na_values": [None]},
    {"na_values": {"sleep": 9}},
    {"levels": [0, 1]},
    {"levels": {"x0": [0]}},
    {"levels": {"sleep": [0, 1]}},
    {"levels": {"x0": [1, 2]}},
    {"levels": {"x0": [0, 1]}, "na_values": {"x0": 1}},
    {"kinds": "ordinel"},
    {"kinds": {"slep": "ordinal"}, "X": _SLEEP},
    {"kinds": {"sleep": "ordinal"}, "X": _SLEEP},
    {"kinds": "binary", "X": _beside([1, 2, 3, 1, 2, 3])},
    {"kinds": {"a": "blume-capel"}, "X": _beside([0, 1, 0, 1])},
    {"kinds": {"a": ("blume-capel", 7)}, "X": _beside([1, 2, 3, 1, 2, 3])},
    {"kinds": {"a": "ordinal"}, "binarize": {"a": 2}, "X": _beside([1, 2, 3, 1, 2, 3])},
    {"scores": "ragne"},
    {"scores": {"a": [0, 2, 1]}, "X": _beside([1, 2, 3, 1, 2, 3])},
    {"scores": {"a": [0, 1]}, "X": _beside([1, 2, 3, 1, 2, 3])},
    {"scores": {"a": [0, 1, 5]}, "kinds": "blume-capel", "X": _beside([1, 2, 3, 1, 2, 3])},
    {"levels": {"sleep": ["never", "often"]}, "X": _SLEEP},
    {"sampler": {"n_particles": 0}},
    {"sampler": {"step_size": -1}, "preset": "paper"},
    {"sampler": {"persistence": 1}, "preset": "paper"},
    {"sampler": {"add_probability": 0}, "preset": "paper"},
    {"sampler": {"preconditioner": "dense"}, "preset": "paper"},
]
