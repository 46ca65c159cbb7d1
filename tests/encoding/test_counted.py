"""Chunked reading of files, and the memory of a run."""

import gzip
import warnings
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slabfield import SpikeSlabMRF
from slabfield.chains.memory import check_memory, memory_needed
from slabfield.cli.options import Likelihood
from slabfield.cli.table_options import read_request
from slabfield.configuration import default_exact, default_particles, pseudo
from slabfield.encoding import CodedTable, code_table, merge_rows
from slabfield.encoding import streaming as chunk_coding
from slabfield.encoding.counted import read_counted
from slabfield.io.reading import comes_in_chunks, read_table
from slabfield.validation import InputError, InputWarning, memory_limit

RNG = np.random.default_rng(3)
N_ROWS = 20_000


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """A table of some 2 MB; column 'late' has its second label in the last row only."""
    bits = (RNG.random((N_ROWS, 8)) < RNG.random(8)) | (RNG.random((N_ROWS, 1)) < 0.2)
    frame = pd.DataFrame(bits.astype(int), columns=[f"item {k}" for k in range(8)])
    frame["answer"] = np.where(bits[:, 0], "no", "yes")
    frame["score"] = RNG.integers(0, 10, N_ROWS)
    frame["truth"] = bits[:, 1]
    frame["one"] = np.where(bits[:, 2], 1.0, 2.0)
    frame["late"] = "present"
    frame.loc[N_ROWS - 1, "late"] = "absent"
    return frame


def write_csv(frame: pd.DataFrame, path: Path) -> None:
    frame.to_csv(path, index=False)


def write_gzip(frame: pd.DataFrame, path: Path) -> None:
    path.write_bytes(gzip.compress(frame.to_csv(index=False).encode()))


def write_semicolons(frame: pd.DataFrame, path: Path) -> None:
    path.write_text(frame.to_csv(index=False, sep=";"), encoding="utf-16")


def write_parquet(frame: pd.DataFrame, path: Path) -> None:
    frame.to_parquet(path, row_group_size=1_500, index=False)


@pytest.mark.parametrize("write", [write_csv, write_gzip, write_semicolons, write_parquet])
@pytest.mark.parametrize("chunk_rows", [999, None])
def test_chunks_are_coded_as_the_whole_table_is(
    write: Callable[[pd.DataFrame, Path], None],
    chunk_rows: int | None,
    table: pd.DataFrame,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(chunk_coding, "MERGE_ROWS", 2_000)
    path = tmp_path / "table"
    write(table, path)
    read = read_counted(path, binarize={"score": 5}, chunk_rows=chunk_rows)
    whole = code_table(read_table(path), {"score": 5})
    rows, counts = merge_rows(whole.rows)
    assert np.array_equal(read.rows, rows)
    assert read.counts is not None
    assert np.array_equal(read.counts, counts)
    assert read.n_rows == N_ROWS
    assert read.variables == whole.variables
    assert read.notes == whole.notes


def test_columns_are_chosen_and_every_number_is_cut(table: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    write_csv(table, path)
    names = ["score", "answer", "item 3"]
    read = read_counted(path, lambda _: names, 1, chunk_rows=3_000)
    whole = code_table(table[names], 1)
    assert read.names == names
    assert np.array_equal(read.rows, merge_rows(whole.rows)[0])
    assert read.variables == whole.variables


def test_numbers_followed_by_words(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,b\n" + "0,1\n" * 50 + "x,0\n0,1\n" * 10)
    read = read_counted(path, chunk_rows=20)
    assert read.variables == code_table(read_table(path)).variables
    assert [variable.labels for variable in read.variables] == [("0", "x"), (0, 1)]


def test_decimals_before_words_are_words(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,b\n" + 2 * "-1.5,0\n0,0\n1,1\n" + "yes,0\n" * 2)
    whole = code_table(read_table(path))
    assert whole.variables[0].labels == ("-1.5", "0", "1", "yes")
    assert read_counted(path, chunk_rows=1).variables == whole.variables


def test_draws_are_those_of_the_whole_table(table: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    frame = table[[f"item {k}" for k in range(6)]]
    write_csv(frame, path)
    options: dict[str, Any] = {"n_chains": 1, "n_warmup": 5, "n_draws": 20, "random_state": 0}
    read = SpikeSlabMRF(**options).fit(read_counted(path, chunk_rows=700))
    whole = SpikeSlabMRF(**options).fit(frame)
    assert np.array_equal(read.posterior_.draws.coupling, whole.posterior_.draws.coupling)
    assert read.n_rows_ == whole.n_rows_ == N_ROWS
    assert list(read.feature_names_in_) == list(frame.columns)
    with pytest.raises(InputError, match="already coded takes no binarize"):
        SpikeSlabMRF(**options, binarize=1).fit(read_counted(path))


WORDS = "".join(f"w{k},1\n" for k in range(1, 20))
NUMBERS = WORDS.replace("w", "")


@pytest.mark.parametrize(
    ("content", "binarize", "expected"),
    [
        ("a,b\n1,1\n" + "0,1\n" * 30 + "1.5,1\n", None, r"decimals: 0, 1 and 1.5[^$]*in row 32 "),
        ("a,b\n" + "1,0\n0,1\n" * 15 + ",1\n", None, r"missing values[^$]*in row 31 "),
        ("a,b\n" + "w0,0\n" * 30 + WORDS, None, r"'a' looks like free text[^$]*row 42 "),
        ("a,b\n" + "0,0\n" * 30 + NUMBERS, None, r"'a' holds 20 values: 0, 1[^$]*row 42 "),
        ("a,b\n" + "1,0\n" * 30 + "x,1\n", {"a": 1}, "found words in 'a'"),
        ("a,b\n" + "1,0\n" * 30 + "inf,1\n", {"a": 1}, r"found infinity[^$]*row 31 "),
        ("a,b\n" + "1,0\n" * 35 + "inf,1\n", None, r"found infinity[^$]*row 36 "),
        ("a,b\n2,1\n1,1\n0.5,1\n", None, r"'a' holds decimals: 0.5, 1 and 2[^$]*in row 3 "),
        ("a,b\n1,0\n" + "0,0\n" * 30 + "5000,1\n", None, r"far apart: 0, 1 and 5000[^$]*row 32 "),
        ("a,b\n1,0\n", {"a": "median"}, "binarize must be numbers for a file that is read in"),
        ("a,b\n1,0\n", [1], "binarize must be a number"),
        ("a,b\n" + "1,0\n" * 300_000 + "1,\0\n", None, "found bytes that are not text"),
        (",".join(f"c{k}" for k in range(20_001)), None, "at most 20,000 columns"),
        ("a,b\n" + "1,0\n" * 30 + "1,0,1\n", None, "the same number of fields in every line"),
        ("a,b\n1,0\n", {"c": 1}, "binarize names 'c', which the table does not have"),
        ("a,b\n1,0\n", "median", "binarize must be numbers for a file that is read in chunks"),
        ("a,b\n1,0\n", None, "at least two rows and two columns"),
        ("a\n1\n0\n", None, "at least two rows and two columns"),
        ("", None, "found an empty file"),
        ("1,0\n0,0\n", None, "must hold the column names"),
    ],
)  # fmt: skip
def test_bad_chunks_get_a_message(
    content: str, binarize: Any, expected: str, tmp_path: Path
) -> None:
    path = tmp_path / "table.csv"
    path.write_text(content)
    with pytest.raises(InputError, match=expected):
        read_counted(path, binarize=binarize, chunk_rows=10 if len(content) < 10_000 else None)


def test_bad_parquet_files_get_a_message(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    pd.DataFrame({"a": [0, 1], "b": [[1, 2], [3]]}).to_parquet(path)
    with pytest.raises(InputError, match="column 'b' holds objects such as"):
        read_counted(path)
    pd.DataFrame(np.zeros((1, 20_001), np.uint8)).rename(columns=str).to_parquet(path)
    with pytest.raises(InputError, match="at most 20,000 columns"):
        read_counted(path)


def test_text_that_is_not_text_is_refused_in_utf_16(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,b\n" + "1,0\n" * 300_000 + "1,\0\n", encoding="utf-16")
    with pytest.raises(InputError, match="found bytes that are not text"):
        read_counted(path)


def table_or_message(read: Callable[[], CodedTable]) -> CodedTable | str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        try:
            return read()
        except InputError as error:
            return str(error)


ENTRIES = (
    "0",
    "1",
    "1.0",
    "01",
    "2",
    "-1.5",
    "yes",
    "No",
    "no",
    "True",
    "false",
    "1e3",
    " x",
    "a,b",
    "99",
    "9",
    ".",
    "YES ",
    "1,5",
    "",
)


@given(
    st.lists(st.lists(st.sampled_from(ENTRIES), min_size=1, max_size=5), min_size=2, max_size=3),
    st.randoms(use_true_random=False),
    st.integers(2, 12),
    st.integers(1, 5),
    st.sampled_from([None, 1, {"c0": 1.5}]),
    st.sampled_from([None, 99, [".", 9], {"c0": [], None: "99"}]),
    st.sampled_from([None, {"c1": ["yes", "no"]}, {"c0": [0, 1, 2, 9]}]),
    st.sampled_from(["error", "drop"]),
    st.sampled_from([None, "binary", "nominal", {"c0": "ordinal"}, {"c1": ("blume-capel", 1)}]),
)
@settings(max_examples=400, deadline=None)
def test_any_file_is_encoded_in_chunks_as_it_is_whole(
    tmp_path_factory: pytest.TempPathFactory,
    choices: list[list[str]],
    random: Random,
    n_rows: int,
    chunk_rows: int,
    binarize: Any,
    na_values: Any,
    levels: Any,
    na: str,
    kinds: Any,
) -> None:
    path = tmp_path_factory.mktemp("chunks") / "table.csv"
    frame = pd.DataFrame(
        {f"c{k}": [random.choice(some) for _ in range(n_rows)] for k, some in enumerate(choices)}
    )
    frame.to_csv(path, index=False, sep=";")
    stated: dict[str, Any] = {"na": na, "na_values": na_values, "levels": levels, "kinds": kinds}
    whole = table_or_message(lambda: code_table(read_table(path), binarize, **stated))
    read = table_or_message(
        lambda: read_counted(path, binarize=binarize, chunk_rows=chunk_rows, **stated)
    )
    if isinstance(read, str):
        # words after the first chunk, where every number is cut, are refused in chunks only
        assert isinstance(whole, str) or (isinstance(binarize, int) and "found words in" in read)
        messages = (
            "The first fault is in row",
            "found words in",
            "Likely codes",
            "at least two rows",
            "likely identifier",
            "free text",
            "must have an order",
            "three or more levels",
            "must be one of its levels",
            "must not name the same column",
        )
        assert any(message in read for message in messages)
        return
    assert isinstance(whole, CodedTable)
    rows, counts = merge_rows(whole.rows)
    assert np.array_equal(read.rows, rows)
    assert np.array_equal(read.counts, counts)
    # 0 and 0.0 are one label, but 0 and False are two
    assert read.variables == whole.variables
    for one, other in zip(read.variables, whole.variables, strict=True):
        kinds = [[isinstance(x, bool) for x in variable.labels] for variable in (one, other)]
        assert kinds[0] == kinds[1]
    assert read.notes == whole.notes


@pytest.mark.parametrize("chunk_rows", [1, 2, 5])
@pytest.mark.parametrize(
    ("lines", "labels"),
    [
        # text, since not every entry of the column is a truth value, dropped or not
        ("True,0\n0,9\nTrue,0\nTrue,1\n", (None, "True")),
        ("0,9\nTrue,0\nfalse,1\n", ("false", "True")),
        ("True,0\n.,1\nFalse,1\n", ("False", "True")),
        # truth values: empty entries are of no kind
        ("True,0\n,1\nFalse,1\n", (False, True)),
        ("True,0\nFalse,9\nTrue,1\n", (False, True)),
        # numbers, though a word was dropped
        ("True,9\n0,0\n1,1\n", (0, 1)),
    ],
)
def test_dropped_rows_count_for_the_type_of_a_column_in_chunks_as_in_the_whole(
    lines: str, labels: tuple[object, object], chunk_rows: int, tmp_path: Path
) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,b\n" + lines)
    stated: dict[str, Any] = {"na": "drop", "na_values": [".", 9]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)  # constant columns
        whole = code_table(read_table(path), **stated)
        read = read_counted(path, chunk_rows=chunk_rows, **stated)
    for table in (whole, read):
        found = table.variables[0].labels
        assert found == labels
        assert [type(x) for x in found] == [type(x) for x in labels]
    assert read.notes == whole.notes


@pytest.mark.parametrize(
    "content", [b"\x1f\x8b broken", b"PAR1 broken", b"a,b\n\x01\xff,1\n", b"PK\x03\x04"]
)
def test_damaged_files_get_a_message(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "table"
    path.write_bytes(content)
    with pytest.raises(InputError, match="must be"):
        read_counted(path)
    with pytest.raises(InputError, match="must be a file that can be read"):
        read_counted(tmp_path / "none")


def test_too_many_different_rows_are_refused(
    table: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "table.csv"
    write_csv(table.drop(columns="score"), path)
    monkeypatch.setattr(chunk_coding, "available_memory", lambda: 10_000)
    with pytest.raises(InputError, match=r"must fit in memory; found .* Name fewer columns"):
        read_counted(path)


def test_which_files_come_in_chunks(tmp_path: Path) -> None:
    path = tmp_path / "table"
    path.write_bytes(b"a,b\n0,1\n")
    assert comes_in_chunks(path, 5)
    assert not comes_in_chunks(path, 8)
    path.write_bytes(b"PK\x03\x04 a spreadsheet")
    assert not comes_in_chunks(path, 5)


def test_commas_and_points_in_one_column_are_words_in_any_chunk(tmp_path: Path) -> None:
    path = tmp_path / "mixed.csv"
    path.write_text("a;b\n0;1.0\n1;1,5\n0;1,5\n", encoding="utf-8")
    whole, read = code_table(read_table(path)), read_counted(path, chunk_rows=1)
    assert read.variables == whole.variables
    assert whole.variables[1].labels == ("1,5", "1.0")


def test_the_command_line_counts_rows_of_large_files(
    table: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "table.csv"
    write_csv(table, path)
    arguments: dict[str, Any] = dict.fromkeys(
        ("drop", "sheet", "forbid", "time_budget", "warmup", "seed", "jobs")
    ) | {
        "columns": ["score,item 1"], "binarize": ["1"], "require": ["score:item 1"], "chains": 1,
        "draws": "auto", "tolerance": 0.02,
        "likelihood": Likelihood.auto,
    }  # fmt: skip
    whole, request, _ = read_request(path, **arguments, counted=True)
    assert isinstance(whole, pd.DataFrame)
    assert request.binarize == 1
    monkeypatch.setattr("slabfield.cli.table_options.BIG_FILE", 1000)
    counted, request, _ = read_request(path, **arguments, counted=True)
    assert isinstance(counted, CodedTable)
    assert (counted.n_rows, counted.names) == (N_ROWS, ["score", "item 1"])
    assert request.binarize is None
    assert isinstance(read_request(path, **arguments)[0], pd.DataFrame)


def test_constant_columns_are_warned_of(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,b,c\n" + "1,0,x\n1,1,x\n" * 20)
    with pytest.warns(InputWarning, match="'a' and 'c' have the same value"):
        read = read_counted(path, chunk_rows=7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = code_table(read_table(path))
    assert np.array_equal(read.rows, merge_rows(whole.rows)[0])


def test_memory_grows_with_the_run() -> None:
    base = memory_needed(1_000, [2] * 20, default_exact(), 4, 1_000)
    assert memory_needed(1_000_000, [2] * 20, default_exact(), 4, 1_000).data > base.data
    assert memory_needed(1_000, [2] * 20, default_exact(), 8, 1_000).chains == 2 * base.chains
    assert memory_needed(1_000, [2] * 20, default_exact(), 4, 9_000).draws > 2 * base.draws
    rows = [memory_needed(n, [2] * 100, pseudo(), 4, 1_000).chains for n in (1_000, 100_000)]
    assert rows[1] - rows[0] > 4 * 99_000 * 100 * 24
    some = [memory_needed(n, [2] * 100, default_particles(), 4, 10).chains for n in (10**5, 10**7)]
    assert some[0] == some[1]


def test_runs_that_do_not_fit_are_refused_with_a_feasible_size() -> None:
    whole = memory_needed(5_000, [2] * 50, pseudo(), 4, 10_000).total
    assert check_memory(5_000, [2] * 50, pseudo(), 4, 10_000, whole).total == whole
    with pytest.raises(InputError, match=r"would take .* allowed") as refused:
        check_memory(5_000, [2] * 50, pseudo(), 4, 10_000, whole - 1)
    draws = int(str(refused.value).split("n_draws=")[1].split(" ")[0])
    assert memory_needed(5_000, [2] * 50, pseudo(), 4, draws).total < whole
    assert memory_needed(5_000, [2] * 50, pseudo(), 4, draws + 1).total >= whole
    with pytest.raises(InputError, match="Find a larger machine; or allow more"):
        check_memory(5_000, [2] * 50, pseudo(), 4, 10_000, 1)


def test_the_estimator_refuses_before_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = RNG.integers(0, 2, (100, 6))
    with pytest.raises(InputError, match=r"found 1\.0 MB allowed \(max_memory\)"):
        SpikeSlabMRF(max_memory="1MB").fit(rows)
    with pytest.raises(InputError, match="max_memory must be a number of bytes"):
        SpikeSlabMRF(max_memory="much").fit(rows)
    monkeypatch.setattr("slabfield.chains.memory.available_memory", lambda: 2_000_000)
    with pytest.raises(InputError, match=r"found 2\.0 MB available"):
        SpikeSlabMRF().fit(rows)


@pytest.mark.parametrize("bad", ["", "4", "GB", "-1GB", 0, -5, True, float("nan"), [1]])
def test_bad_limits(bad: Any) -> None:
    with pytest.raises(InputError, match="max_memory must be"):
        memory_limit.check_memory_limit(bad)


def test_memory_of_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    meminfo, limit, used = tmp_path / "meminfo", tmp_path / "limit", tmp_path / "used"
    meminfo.write_text("MemTotal: 4000 kB\nMemAvailable:   2000 kB\n")
    limit.write_text("max\n")
    used.write_text("500\n")
    monkeypatch.setattr(memory_limit, "MEMINFO", meminfo)
    monkeypatch.setattr(memory_limit, "CGROUP_FILES", ((limit, used),))
    assert memory_limit.available_memory() == 2000 * 1024
    limit.write_text("1500\n")
    assert memory_limit.available_memory() == 1000
    meminfo.unlink()
    limit.unlink()
    assert (memory_limit.available_memory() or 1) > 0
