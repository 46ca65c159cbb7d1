"""The tables of docs/real-data.md: rows to learn from, and other rows to score."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[Any]

N_TRAIN, MOST_TEST, SEED = 1_000, 3_000, 1
SPIKES_TEST, SURVEY_TEST = 5_000, 1_000
HELD_OUT = 0.2
MSWEB_COLUMNS, BFI_ITEMS = 150, 25
ONE_HOT_ROWS, ONE_HOT_SEED = 4_000, 3


class Table(NamedTuple):
    """Training rows, which may have gaps (NaN), and complete test rows."""

    train: Rows
    test: Rows


class Source(NamedTuple):
    """Where a table comes from, and how it is fitted.

    Attributes
    ----------
    read : callable
        Returns the `Table`, given the folder of the data.
    rate_draws : int
        Draws of a chain where two commits are compared.
    has_levels : bool
        Whether columns have more than two values.
    is_wide : bool
        Whether there are too many columns for exact sums; two-valued tables are then fitted on the
        pseudo-likelihood, too.
    """

    read: Callable[[Path], Table]
    rate_draws: int
    has_levels: bool = False
    is_wide: bool = True


def read_table(name: str, folder: Path) -> Table:
    """Read a table, without columns that are constant in its training rows.

    Test rows with gaps, or with values that no training row has, are left out.
    """
    train, test = SOURCES[name].read(folder)
    varies = np.nanmin(train, axis=0) != np.nanmax(train, axis=0)
    train, test = train[:, varies], test[:, varies]
    known = [np.isin(test[:, k], np.unique(train[:, k])) for k in range(train.shape[1])]
    # np.unique keeps NaN, which is equal to nothing
    return Table(train, test[np.all(known, axis=0)])


def density_set(
    folder: Path, name: str, n_train: int | None = N_TRAIN, n_columns: int | None = None
) -> Table:
    """Read the first rows of a set, with its most frequent columns."""
    with np.load(folder / "debd" / f"{name}.npz") as stored:
        train, test = stored["train"][:n_train], stored["test"][:MOST_TEST]
    chosen = np.sort(np.argsort(-train.sum(axis=0, dtype=int), kind="stable")[:n_columns])
    return Table(train[:, chosen], test[:, chosen])


def split(rows: Rows, n_test: int, n_train: int | None = None) -> Table:
    """Hold out random rows; learn from so many of the others, or from all."""
    order = np.random.default_rng(SEED).permutation(len(rows))
    train = order[n_test:][:n_train]
    return Table(rows[np.sort(train)], rows[np.sort(order[:n_test])])


def stored_rows(folder: Path, file: str, n_test: int, n_train: int | None = N_TRAIN) -> Table:
    """Split the rows ``X`` of a file."""
    with np.load(folder / file) as stored:
        return split(stored["X"], n_test, n_train)


def survey(folder: Path, file: str, n_test: int = 0, n_train: int | None = None) -> Table:
    """Split the answers in a CSV file; a fifth of them is held out where no number is given."""
    import pandas as pd

    answers = pd.read_csv(folder / file).iloc[:, :BFI_ITEMS].to_numpy()
    return split(answers, n_test or round(HELD_OUT * len(answers)), n_train)


def one_hot_codes(folder: Path, n_columns: int) -> Table:
    """Make one-hot codes by the function in ``cases/one_hot.py`` beside the folder of the data."""
    file = folder.parent / "cases" / "one_hot.py"
    if not file.exists():
        raise FileNotFoundError(file)
    spec = importlib.util.spec_from_file_location("one_hot_cases", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    rows = module.one_hot(ONE_HOT_SEED, n_rows=ONE_HOT_ROWS, n_columns=n_columns)
    return Table(rows[:N_TRAIN], rows[N_TRAIN:])


WORDS, SPIKES = "newsgroups_w100.npz", "spikes15.npz"
SOURCES = {
    "nltcs": Source(partial(density_set, name="nltcs"), 2_000, is_wide=False),
    "nltcs_all": Source(partial(density_set, name="nltcs", n_train=None), 2_000, is_wide=False),
    "spikes15": Source(partial(stored_rows, file=SPIKES, n_test=SPIKES_TEST), 2_000, is_wide=False),
    "spikes15_all": Source(
        partial(stored_rows, file=SPIKES, n_test=SPIKES_TEST, n_train=None), 2_000, is_wide=False
    ),
    "wenchuan_binary": Source(
        partial(survey, file="wenchuan_ptsd_binary_ge3.csv"), 2_000, is_wide=False
    ),
    "wenchuan_ordinal": Source(
        partial(survey, file="wenchuan_ptsd_ordinal.csv"), 400, has_levels=True
    ),
    "bfi": Source(
        partial(survey, file="bfi.csv", n_test=SURVEY_TEST, n_train=N_TRAIN), 400, has_levels=True
    ),
    "plants": Source(partial(density_set, name="plants"), 200),
    "bnetflix": Source(partial(density_set, name="bnetflix"), 350),
    "newsgroups": Source(partial(stored_rows, file=WORDS, n_test=MOST_TEST), 300),
    "msweb": Source(partial(density_set, name="msweb", n_columns=MSWEB_COLUMNS), 150),
    "dna": Source(partial(density_set, name="dna"), 150),
    "onehot30": Source(partial(one_hot_codes, n_columns=30), 300),
    "onehot60": Source(partial(one_hot_codes, n_columns=60), 300),
    "onehot110": Source(partial(one_hot_codes, n_columns=110), 150),
}
