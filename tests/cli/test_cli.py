"""The command line: what it prints and writes, and the exit codes of all failures."""

import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from rich.cells import cell_len
from rich.console import Console
from typer.testing import CliRunner, Result

import slabfield
from slabfield import datasets
from slabfield.cli.app import app
from slabfield.cli.option_values import parse_binarize, parse_na_values, parse_slab
from slabfield.cli.options import Likelihood, Preset
from slabfield.cli.parameter_options import as_option
from slabfield.cli.printing import (
    FILE_WIDTH,
    MAX_ROWS,
    convergence_text,
    edge_table,
    rows_to_print,
    table_console,
)
from slabfield.encoding import code_table
from slabfield.io.atomic import write_atomically
from slabfield.io.reading import read_table
from slabfield.plots._threshold import readable_threshold
from slabfield.posterior.convergence import Worst
from slabfield.posterior.exports import write_edges, write_matrix
from slabfield.validation import InputError, InputWarning, Message, Parameter, check_slab_prior
from slabfield.validation.estimator_parameters import LIKELIHOODS, PRESETS

GOOD = "sleep,work,joy\nyes,1,0\nno,0,1\nyes,0,1\nno,1,0\nno,1,1\n"


class FakeEstimator:
    """Replaces the real one: checks its table the same way, then makes up a posterior."""

    converged = True
    messages: tuple[Message, ...] = ()
    failure: BaseException | None = None
    calls: list[dict[str, Any]]

    def __init__(self, **settings: Any) -> None:
        self.settings = settings

    def fit(self, table: pd.DataFrame, checkpoint: Path, cluster: str | None) -> "FakeEstimator":
        assert checkpoint.name == "checkpoint"
        assert cluster is None
        self.calls.append(self.settings | {"columns": list(table.columns)})
        names = ("binarize", "na", "na_values", "levels", "kinds", "scores")
        coded = code_table(table, **{name: self.settings[name] for name in names})
        if self.failure is not None:
            raise self.failure
        n_nodes = len(coded.names)
        rng = np.random.default_rng(0)
        probability, coupling = (np.triu(rng.random((n_nodes, n_nodes)), 1) for _ in range(2))
        rows, columns = np.triu_indices(n_nodes, 1)
        edges = pd.DataFrame(
            {
                "node_1": [coded.names[i] for i in rows],
                "node_2": [coded.names[j] for j in columns],
                "inclusion_probability": probability[rows, columns],
                "bayes_factor": 2.5,
                "evidence": "inconclusive",
                "coupling_given_presence": coupling[rows, columns],
                "sd_given_presence": 0.1,
                "lower_given_presence": coupling[rows, columns] - 0.2,
                "upper_given_presence": coupling[rows, columns] + 0.2,
                "rhat": 1.002,
                "ess": 640.0,
            }
        ).sort_values("inclusion_probability", ascending=False)
        self.coding_notes_ = coded.notes
        self.posterior_ = SimpleNamespace(
            has_levels=False,
            feature_names=coded.names,
            inclusion_probability=probability + probability.T,
            coupling_given_presence=coupling + coupling.T,
            to_dataframe=lambda: edges,
            edge_bayes_factor=np.full(len(edges), 2.5),
            draws=SimpleNamespace(n_edges=len(edges), n_chains=4, n_draws=500),
            inclusion_prior=None,
            edge_least_bayes_factor=np.full(len(edges), np.nan),
            write_graphml=lambda path, threshold: path.write_text("<graphml/>"),
            save=lambda path: path.write_bytes(b"posterior"),
            messages=list(self.messages),
            problems=[] if self.converged else [Message("unconverged-edges", "")],
            converged=self.converged,
            convergence=SimpleNamespace(worst=Worst(1.002, "sigma0", 640.0, "p0")),
            settings={"engine": "exact", "n_draws": 500},
        )
        return self


@pytest.fixture
def estimator(monkeypatch: pytest.MonkeyPatch) -> type[FakeEstimator]:
    class Fake(FakeEstimator):
        calls: list[dict[str, Any]] = []  # noqa: RUF012

    monkeypatch.setitem(slabfield.__dict__, "SpikeSlabMRF", Fake)
    page = "<!doctype html>"  # tests/report/test_report.py has the real one
    monkeypatch.setattr("slabfield.report.write_report", lambda _, path, *__: path.write_text(page))
    for picture in ("inclusion_matrix", "edge_forest", "evidence", "convergence"):
        # tests/plots/test_plots.py has the real ones
        monkeypatch.setattr(slabfield.plots, picture, lambda _, **__: Figure().add_subplot())
    return Fake


@pytest.fixture
def csv_file(tmp_path: Path) -> Callable[..., Path]:
    def write(content: str | bytes = GOOD, name: str = "answers.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def call_process(*arguments: object) -> subprocess.CompletedProcess[str]:
    source = str(Path(slabfield.__file__).parents[1])
    paths = [source, os.environ.get("PYTHONPATH", "")]
    return subprocess.run(
        [sys.executable, "-c", "from slabfield.cli import main; main()", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "COLUMNS": "200"},
    )


# --- valid input ------------------------------------------------------------------------------


def test_results_are_not_replaced_in_silence(
    estimator: type[FakeEstimator], csv_file: Callable[..., Path], tmp_path: Path
) -> None:
    arguments = ("fit", csv_file(), "--out", tmp_path / "out", "--seed", 3)
    assert "will be replaced" not in call(*arguments).output
    again = call(*arguments).output.replace("\n", " ")
    assert re.search(r"The results of \d{4}-\d\d-\d\d \d\d:\d\d in .* will be replaced\.", again)
    assert "will be replaced" not in call(*arguments, "--quiet").output


def test_names_in_tables_are_cut_only_where_the_terminal_is_narrow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, io.StringIO())
    assert table_console().width == FILE_WIDTH
    monkeypatch.setenv("COLUMNS", "70")
    assert table_console().width == 70
    # a terminal that cannot move its cursor, of which rich assumes 80 columns
    monkeypatch.delenv("COLUMNS")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setattr(shutil, "get_terminal_size", lambda *_: os.terminal_size((133, 40)))
    assert table_console().width == 133


def test_fit_prints_and_writes(
    estimator: type[FakeEstimator], csv_file: Callable[..., Path], tmp_path: Path
) -> None:
    out = tmp_path / "new" / "folder"
    result = call("fit", csv_file(), "--out", out, "--seed", 3)
    assert result.exit_code == 0, result.output
    assert "Column 'sleep': 1 = 'yes', 0 = 'no'." in result.output
    assert "sleep - work" in result.output
    assert "possible edges" in result.output
    assert "largest R-hat 1.002 (sigma0), fewest effective draws 640 (p0)" in result.output
    pictures = ["network.png", "inclusion.png", "forest.png", "evidence.png", "convergence.png"]
    tables = ["edges.csv", "inclusion.csv", "couplings.csv"]
    written = sorted([*tables, "network.graphml", "posterior.nc", "report.html", *pictures])
    assert sorted(path.name for path in out.iterdir()) == written
    names = ", ".join([*tables, *pictures]) + ", network.graphml, posterior.nc and report.html."
    assert f"Written in {out}: {names}" in result.output.replace("\n", "")
    edges = pd.read_csv(out / "edges.csv")
    assert list(edges.columns[:3]) == ["node_1", "node_2", "inclusion_probability"]
    assert len(edges) == 3
    for picture in pictures:
        assert (out / picture).read_bytes().startswith(b"\x89PNG")


def test_options_reach_the_estimator(
    estimator: type[FakeEstimator], csv_file: Callable[..., Path], tmp_path: Path
) -> None:
    result = call(
        *("fit", csv_file("id,a,b,c\n7,0,2,1\n8,1,1,0\n9,0,2,1\n"), "--out", tmp_path / "out"),
        *("--columns", "c,a,id", "--drop", "id", "--binarize", "a=1", "--likelihood", "particles"),
        *("--preset", "paper", "--chains", 2, "--draws", 30, "--warmup", 10, "--seed", 5),
        *("--jobs", 2, "--quiet", "--time-budget", 60, "--nominal", "c", "--scores", "raw"),
    )
    assert result.exit_code == 0, result.output
    assert result.output == ""
    assert estimator.calls == [
        {
            "columns": ["c", "a"],
            "binarize": {"a": 1.0},
            "likelihood": "particles",
            "preset": "paper",
            "n_chains": 2,
            "n_draws": 30,
            "time_budget": 60.0,
            "n_warmup": 10,
            "tolerance": 0.02,
            "random_state": 5,
            "n_jobs": 2,
            "na": "error",
            "na_values": None,
            "levels": None,
            "kinds": {"c": "nominal"},
            "scores": "raw",
            "slab_prior": (5, 5),
            "max_memory": None,
            "forbid": [],
            "require": [],
            "inclusion_prior": (5, 5),
            "communities": None,
            "within": None,
            "between": None,
            "progress": False,
        }
    ]


@pytest.mark.parametrize(
    ("options", "expected"),
    [((), "auto"), (("--draws", "auto"), "auto"), (("--draws", "7"), 7),
     (("--preset", "paper"), "auto")],
)  # fmt: skip
def test_draws_are_auto_by_default(
    estimator: type[FakeEstimator], csv_file: Callable[..., Path], tmp_path: Path,
    options: tuple[str, ...], expected: object,
) -> None:  # fmt: skip
    assert call("fit", csv_file(), "--out", tmp_path / "out", *options).exit_code == 0
    assert estimator.calls[0]["n_draws"] == expected


@pytest.mark.parametrize("draws", ["0", "-3", "many", "1.5", "²"])
def test_invalid_draws_are_refused(
    csv_file: Callable[..., Path], tmp_path: Path, draws: str
) -> None:
    result = call("fit", csv_file(), "--out", tmp_path / "out", f"--draws={draws}")
    assert result.exit_code == 2
    assert "--draws must be a whole number" in result.output


def test_not_converged_is_exit_code_1_with_results_written(
    estimator: type[FakeEstimator], csv_file: Callable[..., Path], tmp_path: Path
) -> None:
    estimator.converged = False
    estimator.messages = (Message("disagree", "The chains disagree about 2 edges."),)
    result = call("fit", csv_file(), "--out", tmp_path / "out")
    assert result.exit_code == 1
    assert "have not converged" in result.output
    assert f"slabfield resume {tmp_path / 'out'}" in result.output.replace("\n", "")
    assert "Warning: The chains disagree about 2 edges." in result.output
    assert (tmp_path / "out" / "edges.csv").exists()


def test_input_warnings_are_printed_without_source_lines(
    estimator: type[FakeEstimator], csv_file: Callable[..., Path], tmp_path: Path
) -> None:
    table = csv_file("a,b,c\n0,1,0\n1,1,0\n0,1,1\n")
    result = call("fit", table, "--out", tmp_path / "out", "--quiet")
    assert result.exit_code == 0
    assert result.output.startswith("Warning: Column 'b' has the same value in every row.")
    assert ".py" not in result.output


def test_demo(estimator: type[FakeEstimator], tmp_path: Path) -> None:
    result = call("demo", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert estimator.calls[0]["columns"] == datasets.load_adhd().feature_names
    assert len(pd.read_csv(tmp_path / "out" / "edges.csv")) == 153
    assert f"The {MAX_ROWS // 2} most probable of 153 edges" in result.output


def test_names_are_never_formulas_markup_or_terminal_commands(
    estimator: type[FakeEstimator], csv_file: Callable[..., Path], tmp_path: Path
) -> None:
    names = ["=cmd()", "[bold]x[/bold]", "\x1b[31mred", "+1", "@b", "-c", ":smile:", "$y$"]
    rows = np.random.default_rng(1).integers(0, 2, size=(20, len(names)))
    table = csv_file(pd.DataFrame(rows, columns=names).to_csv(index=False))
    result = call("fit", table, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "[bold]x[/bold]" in result.output
    assert ":smile:" in result.output
    assert "\x1b" not in result.output
    edges = pd.read_csv(tmp_path / "out" / "edges.csv", dtype=str)
    written = {*edges["node_1"], *edges["node_2"]}
    assert {"'=cmd()", "'+1", "'@b", "'-c", "[bold]x[/bold]"} <= written
    assert not any(name.startswith(("=", "+", "-", "@")) for name in written)


def test_a_name_in_a_script_that_the_font_lacks(
    estimator: type[FakeEstimator], csv_file: Callable[..., Path], tmp_path: Path
) -> None:
    table = csv_file(GOOD.replace("sleep", "睡眠"))
    result = call("fit", table, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "睡眠" in (tmp_path / "out" / "edges.csv").read_text(encoding="utf-8")


# --- reading --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (GOOD, "a.csv"),
        (GOOD.replace(",", ";"), "a.csv"),
        (GOOD.replace(",", "\t"), "a.tsv"),
        (GOOD.replace(",", "\t"), "a.txt"),
        (GOOD.replace(",", ", "), "a.csv"),
        (GOOD.replace("\n", "\r\n"), "a.csv"),
        (GOOD + "\n\n", "a.csv"),
        ("\ufeff" + GOOD, "a.csv"),
        (GOOD.encode("utf-16"), "a.csv"),
        (GOOD.replace("sleep", '"sleep"'), "a.csv"),
    ],
)
def test_dialects(csv_file: Callable[..., Path], content: str | bytes, name: str) -> None:
    table = read_table(csv_file(content, name))
    assert list(table.columns) == ["sleep", "work", "joy"]
    assert table["work"].tolist() == [1, 0, 0, 1, 1]
    assert table["sleep"].tolist() == ["yes", "no", "yes", "no", "no"]


def test_a_delimiter_at_the_end_of_lines_makes_no_column(csv_file: Callable[..., Path]) -> None:
    table = read_table(csv_file("a,b,\n0,1,\n1,0,\n"))
    assert list(table.columns) == ["a", "b"]
    assert list(read_table(csv_file("a,b,\n0,1,1\n1,0,\n")).columns) == ["a", "b", "column 3"]


def test_a_quoted_name_may_hold_the_delimiter_and_a_line_break(
    csv_file: Callable[..., Path],
) -> None:
    table = read_table(csv_file('"a, or b","two\nlines",c\n0,1,0\n1,0,1\n'))
    assert list(table.columns) == ["a, or b", "two\nlines", "c"]
    assert len(table) == 2


BAD_FILES = {
    "empty": ("", "found an empty file"),
    "blank": ("\n \n", "found an empty file"),
    "header only": ("a,b\n", "found only the line of column names"),
    "too many fields": ("a,b\n0,1\n0,1,1\n", "line 3 has 3, expected 2"),
    "too few fields": ("a,b,c\n0,1,1\n\n0,1\n", "line 4 has 2, expected 3"),
    "no header": ("0,1,1\n1,0,1\n", "must hold the column names; found 0, 1 and 1"),
    "same name twice": ("a,b,a\n0,1,1\n1,0,0\n", "found 'a' more than once"),
    "binary": (b"a,b\n\x00\x01\x02", "bytes that are not text"),
    "spreadsheet": (b"PK\x03\x04rest", "a damaged one"),
    "one column": ("a\n0\n1\n", "found 1 feature"),
    "one row": ("a,b\n0,1\n", "found 1 sample"),
    "missing": ("a,b\n0,1\n,0\n1,0\n", "found 1, in column 'a' (1)"),
    "decimals": ("a,b\n0,1\n1,2.5\n1,3\n", "column 'b' holds decimals: 1, 2.5 and 3"),
    "identifier": (
        "id,b\n" + "".join(f"{k},{k % 2}\n" for k in range(20)),
        "'id' has as many different values as there are rows (20)",
    ),
    "free text": (
        "a,b\n" + "".join(f"{k % 2},it was number {k}\n" for k in range(20)),
        "'b' looks like free text",
    ),
}


@pytest.mark.parametrize(("content", "expected"), BAD_FILES.values(), ids=BAD_FILES.keys())
def test_bad_files(
    estimator: type[FakeEstimator],
    csv_file: Callable[..., Path],
    tmp_path: Path,
    content: str | bytes,
    expected: str,
) -> None:
    result = call("fit", csv_file(content), "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert result.output.startswith("Error: ")
    assert expected in result.output
    assert "Traceback" not in result.output
    assert not list((tmp_path).glob("out/*"))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--columns", "slep"), "'slep' not found among 'sleep', 'work' and 'joy'. Did you mean"),
        (("--drop", "xyz,uvw"), "'xyz' and 'uvw' not found"),
        (("--columns", "work"), "at least two columns"),
        (("--binarize", "often"), "--binarize must be a number"),
        (("--binarize", "nan"), "--binarize must be a number"),
        (("--binarize", "sleep=inf"), "--binarize must be a number"),
        (("--binarize", "sleep=2"), "--binarize needs columns of numbers"),
        (("--out", __file__), "--out must be a folder that can be written in"),
        (("--chains", "0"), "chains"),
        (("--sheet", "one"), "--sheet names a sheet of an Excel file"),
        (("--forbid", "sleep:wrok"), "Did you mean 'work'?"),
        (("--likelihood", "fast"), "fast"),
        (("--na-values", "slep:9"), "--na-values names 'slep', which the table does not have"),
        (("--na-values", "sleep:"), "--na-values must be values separated by commas"),
        (("--levels", "sleep"), "--levels must be a column, an equals sign and all values"),
        (("--levels", "slep=1,2"), "--levels names 'slep'"),
        (("--levels", "sleep=yes"), "--levels must list two or more"),
        (("--levels", "sleep=yes,maybe"), "column 'sleep' also holds 'no' (3 times)"),
        (("--encoding", "utf-9"), "--encoding must be the name of a text encoding"),
        (("--decimal", ":"), "decimal"),
        (("--slab", "wide"), "--slab must be a number, which fixes sigma0"),
        (("--slab", "1,2,3"), "--slab must be a number, which fixes sigma0"),
    ],
)
def test_bad_options(
    estimator: type[FakeEstimator],
    csv_file: Callable[..., Path],
    tmp_path: Path,
    options: tuple[str, ...],
    expected: str,
) -> None:
    result = call("fit", csv_file(), "--out", tmp_path / "out", *options)
    assert result.exit_code == 2
    assert expected in result.output


ADVICE = {
    "identifier": ("id,b\n1,0\n2,1\n3,0\n4,1\n5,0\n6,1\n", "Drop it, for example --drop id."),
    "missing": (
        "a,b c\n1,\n0,1\n1,0\n",
        "Pass --na drop to drop the rows that have them, or --na impute to sample them along with "
        "the parameters; or --drop 'b c'.",
    ),
    "one": (
        "a,b\n0,yes\n1.5,no\n2,no\n",
        "Binarize with --binarize 1.5 (1 where the value is at least 1.5); or list its values in "
        "their order, for example --levels a=0,1.5,2; or --drop a.",
    ),
    "codes": (
        "a,b c\n0,1\n1,99\n9,0\n1,0\n",
        "If they are missing, pass --na-values 9,99 together with --na drop or --na impute. If "
        "not, list all answers of the column, for example --levels a=0,1,9.",
    ),
    "codes of one column": (
        "a,b c\n0,8\n1,9\n9,8\n1,9\n",
        "If they are missing, pass --na-values a:9 together with --na drop or --na impute. If not, "
        "list all answers of the column, for example --levels a=0,1,9.",
    ),
    "some": (
        "a,b\n0,1\n" + "".join(f"{k},1\n" for k in range(13)),
        "Binarize with --binarize a=6 (1 where the value is at least 6), or --drop a.",
    ),
}


@pytest.mark.parametrize("kind", ADVICE)
def test_the_advice_is_given_as_options(
    estimator: type[FakeEstimator], csv_file: Callable[..., Path], tmp_path: Path, kind: str
) -> None:
    content, expected = ADVICE[kind]
    result = call("fit", csv_file(content), "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert result.output.splitlines()[1:] == [expected]


def test_resume_reports_a_checkpoint_as_its_folder(tmp_path: Path) -> None:
    (tmp_path / "checkpoint").mkdir()
    result = call("resume", tmp_path)
    assert result.exit_code == 2
    assert result.output.startswith("Error: FOLDER must be the folder of a run;")


def test_compare_offers_only_the_options_it_has(
    csv_file: Callable[..., Path], tmp_path: Path
) -> None:
    result = call("compare", csv_file("a,b\n1,\n0,1\n1,0\n"), "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert "Pass --na drop to drop the rows" in result.output
    assert "na='impute' (in Python)" in result.output
    assert "or --drop b." in result.output


NAMED_LIKE_PARAMETERS = ["binarize", "n_jobs", "out", "sheet", "--jobs", "{n_draws}", "{"]


@pytest.mark.parametrize("name", NAMED_LIKE_PARAMETERS)
def test_a_column_with_decimals_is_reported_by_its_own_name(
    estimator: type[FakeEstimator], csv_file: Callable[..., Path], tmp_path: Path, name: str
) -> None:
    table = csv_file(f"{name},b\n0,1\n1.5,0\n2,1\n")
    found = (
        "Every column must hold two values, or 3 to 12 whole numbers or words; column "
        f"'{name}' holds decimals: 0, 1.5 and 2.\n"
    )
    with pytest.raises(InputError) as caught:
        code_table(read_table(table))
    assert caught.value.code == "invalid-columns"
    assert str(caught.value) == (
        f"{found}Binarize with binarize={{{name!r}: 1.5}} (1 where the value is at least 1.5); or "
        f"list its values in their order, for example levels={{{name!r}: [0, 1.5, 2]}}; or drop "
        "the column."
    )
    result = call("fit", table, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert result.output == (
        f"Error: {found}Binarize with --binarize {shlex.quote(f'{name}=1.5')} (1 where the value "
        "is at least 1.5); or list its values in their order, for example --levels "
        f"{shlex.quote(f'{name}=0,1.5,2')}; or --drop {shlex.quote(name)}.\n"
    )


@pytest.mark.parametrize("name", NAMED_LIKE_PARAMETERS)
def test_a_column_of_words_is_reported_by_its_own_name(
    estimator: type[FakeEstimator], csv_file: Callable[..., Path], tmp_path: Path, name: str
) -> None:
    table = csv_file(f"{name},b\nlow,1\nmiddle,0\nhigh,1\n")
    result = call("fit", table, "--out", tmp_path / "out", "--ordinal", name)
    assert result.output == (
        "Error: Levels of ordinal and Blume-Capel columns must have an order; found 'high', 'low' "
        f"and 'middle' in column '{name}'.\nList them in their order, for example --levels "
        f"{shlex.quote(f'{name}=high,low,middle')}; or pass --nominal {shlex.quote(name)}.\n"
    )


@pytest.mark.parametrize("name", NAMED_LIKE_PARAMETERS)
def test_a_name_that_occurs_twice_is_reported_as_it_is(
    estimator: type[FakeEstimator], csv_file: Callable[..., Path], tmp_path: Path, name: str
) -> None:
    table = csv_file(f"{name},{name}\n0,1\n1,0\n")
    with pytest.raises(InputError) as caught:
        read_table(table)
    assert caught.value.code == "duplicate-names-in-file"
    assert caught.value.fields["names"] == repr(name)
    result = call("fit", table, "--out", tmp_path / "out")
    assert result.output == f"Error: {caught.value}\n"


@pytest.mark.parametrize("name", NAMED_LIKE_PARAMETERS)
def test_a_warning_about_a_column_has_its_own_name(
    estimator: type[FakeEstimator], csv_file: Callable[..., Path], tmp_path: Path, name: str
) -> None:
    table = csv_file(f"{name},b,c\n1,1,0\n1,0,0\n1,1,1\n")
    expected = f"Column '{name}' has the same value in every row."
    with pytest.warns(InputWarning) as caught:
        code_table(read_table(table))
    assert str(caught[0].message).startswith(expected)
    result = call("fit", table, "--out", tmp_path / "out", "--quiet")
    assert result.output.startswith(f"Warning: {expected}")


def test_columns_can_be_left_out_by_several_options(
    estimator: type[FakeEstimator], csv_file: Callable[..., Path], tmp_path: Path
) -> None:
    table = csv_file("a,b,c,d\n1,1,0,3\n1,0,0,1\n0,1,1,2\n")
    options = ("--drop", "a", "--drop", "b", "--binarize", "d=2")
    result = call("fit", table, "--out", tmp_path / "out", "--quiet", *options)
    assert result.exit_code == 0, result.output
    assert estimator.calls[0]["columns"] == ["c", "d"]


def test_some_rows_can_be_fitted(
    estimator: type[FakeEstimator], csv_file: Callable[..., Path], tmp_path: Path
) -> None:
    table = csv_file("group,a,b,c\n1,1,0,1\n2,1,0,1\n1,0,1,0\n1,0,0,1\n")
    result = call("fit", table, "--out", tmp_path / "out", "--where", "group=1")
    assert result.exit_code == 0, result.output
    assert estimator.calls[0]["columns"] == ["a", "b", "c"]
    assert "3 of 4 rows have group=1." in result.output


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("grup=1", "--where must name columns of the file; 'grup' not found among"),
        ("grup=1", "Did you mean 'group'?"),
        ("group", "--where must be a column, an equals sign and a value"),
        ("group=", "--where must be a column, an equals sign and a value"),
        ("group=3", "--where group=3 selects no row; the values of group are 1 and 2."),
    ],
)
def test_conditions_that_select_no_rows(
    csv_file: Callable[..., Path], tmp_path: Path, condition: str, message: str
) -> None:
    table = csv_file("group,a,b\n1,1,0\n2,1,0\n1,0,1\n")
    result = call("fit", table, "--out", tmp_path / "out", "--where", condition)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", NAMED_LIKE_PARAMETERS)
def test_warnings_of_a_posterior_name_options_and_leave_nodes_as_they_are(
    estimator: type[FakeEstimator], csv_file: Callable[..., Path], tmp_path: Path, name: str
) -> None:
    advice = Message("advice", "Set {n_draws}", {"n_draws": Parameter("n_draws")})
    message = Message("worst", "Worst: {worst}. {advice}.", {"worst": name, "advice": advice})
    estimator.messages = (message,)
    assert str(message) == f"Worst: {name}. Set n_draws."
    result = call("fit", csv_file(), "--out", tmp_path / "out", "--quiet")
    assert result.output == f"Warning: Worst: {name}. Set --draws.\n"


@pytest.mark.parametrize("name", ["anwsers.csv", "nothing-like-it", "no/such/folder.csv"])
def test_a_file_that_is_not_there(csv_file: Callable[..., Path], tmp_path: Path, name: str) -> None:
    csv_file()
    result = call("fit", tmp_path / name)
    assert result.exit_code == 2
    assert "found no such file" in result.output
    assert ("did you mean answers.csv?" in result.output) == (name == "anwsers.csv")


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    result = call("fit", tmp_path)
    assert result.exit_code == 2
    assert "found a folder" in result.output


def test_ctrl_c_has_an_exit_code_of_its_own(
    estimator: type[FakeEstimator], csv_file: Callable[..., Path], tmp_path: Path
) -> None:
    estimator.failure = KeyboardInterrupt()
    result = call("fit", csv_file(), "--out", tmp_path / "out")
    assert result.exit_code == 130
    assert "nothing was written" in result.output
    assert not list((tmp_path / "out").iterdir())


def test_a_bug_keeps_its_traceback(
    estimator: type[FakeEstimator], csv_file: Callable[..., Path], tmp_path: Path
) -> None:
    estimator.failure = RuntimeError("a bug")
    result = call("fit", csv_file(), "--out", tmp_path / "out")
    assert isinstance(result.exception, RuntimeError)


CODED = "a;größe;c\n0;1,5;yes\n1;2,5;Yes\n9;-99;no\n0;2;no\n1;1;yes\n0;2,5;NO\n"


def test_codes_levels_encoding_and_slab_reach_the_estimator(
    estimator: type[FakeEstimator], csv_file: Callable[..., Path], tmp_path: Path
) -> None:
    result = call(
        *("fit", csv_file(CODED.encode("latin-1")), "--out", tmp_path / "out"),
        *("--na-values", "-99", "--na-values", "a:9", "--na", "drop", "--binarize", "größe=median"),
        *("--levels", "c=no,yes", "--slab", "1.5"),
    )
    assert result.exit_code == 0, result.output
    (given,) = estimator.calls
    assert given["columns"] == ["a", "größe", "c"]
    assert given["na_values"] == {"a": [9], None: [-99]}
    assert given["levels"] == {"c": ["no", "yes"]}
    assert given["binarize"] == {"größe": "median"}
    assert given["slab_prior"] == 1.5
    output = result.output.replace("\n", " ")
    assert "is not in UTF-8 and was read as Windows-1252; check that names look right." in output
    assert "Column 'größe': commas are decimal commas (1,5 is 1.5)." in output


def test_encoding_and_decimal_separator_are_not_guessed_where_they_are_given(
    estimator: type[FakeEstimator], csv_file: Callable[..., Path], tmp_path: Path
) -> None:
    path = csv_file(CODED.encode("latin-1"))
    options = ("--out", tmp_path / "out", "--drop", "a", "--na-values", "-99", "--na", "drop")
    result = call("fit", path, *options, "--encoding", "latin-1", "--binarize", "2")
    assert result.exit_code == 0, result.output
    assert "UTF-8" not in result.output
    assert call("fit", path, *options, "--encoding", "utf-8").exit_code == 2
    refused = call("fit", path, *options, "--decimal", ".", "--binarize", "größe=2")
    assert "--binarize needs columns of numbers; 'größe'" in refused.output


@pytest.mark.parametrize("text", ["0.5", "3,2"])
def test_the_slab_option_is_read_as_its_parameter(text: str) -> None:
    slab = parse_slab(text)
    assert repr(check_slab_prior(slab)) == repr(check_slab_prior(0.5 if text == "0.5" else (3, 2)))
    assert as_option(Parameter("slab_prior", slab)) == f"--slab {text}"


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["9,99"], [9, 99]),
        (["9", "99"], [9, 99]),
        (["-99,n/a"], [-99, "n/a"]),
        (["none"], []),
        (["time:of:day:9"], {"time:of:day": [9]}),
        (["age:none", "9"], {"age": [], None: [9]}),
        (['"don\'t know, sorry",9'], ["don't know, sorry", 9]),
    ],
)
def test_missing_codes_are_parsed_and_rendered(texts: list[str], expected: Any) -> None:
    assert parse_na_values(texts) == expected
    if None not in (expected if isinstance(expected, dict) else ()) and expected != []:
        rendered = shlex.split(as_option(Parameter("na_values", expected)))
        assert parse_na_values([text for text in rendered if text != "--na-values"]) == expected


def test_binarize_is_parsed() -> None:
    assert parse_binarize("median") == "median"
    assert parse_binarize("a=median,b=2") == {"a": "median", "b": 2.0}
    assert parse_binarize(None) is None
    assert parse_binarize("1e-1") == 0.1
    assert parse_binarize('"a, b"=2, c = 3') == {"a, b": 2.0, "c": 3.0}


# --- writing and showing --------------------------------------------------------------------


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "edges.csv"
    path.write_text("old")

    def fail(temporary: Path) -> None:
        temporary.write_text("half")
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space"):
        write_atomically(path, fail)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_edges_are_not_changed_by_writing(tmp_path: Path) -> None:
    edges = pd.DataFrame({"node_1": ["=a"], "node_2": ["b"], "ess": [1 / 3]})
    write_edges(edges, tmp_path / "edges.csv")
    assert edges["node_1"].tolist() == ["=a"]
    assert (tmp_path / "edges.csv").read_text() == "node_1,node_2,ess\n'=a,b,0.333333\n"


def made_up_run(
    codes: Sequence[str] = (),
    n_chains: int = 4,
    worst: Worst = Worst(1.002, "sigma0", 640.0, "p0"),  # noqa: B008
) -> Any:
    return SimpleNamespace(
        problems=[Message(code, "") for code in codes],
        converged=not codes,
        convergence=SimpleNamespace(worst=worst),
        draws=SimpleNamespace(n_chains=n_chains),
        settings={"engine": "exact"},
    )


def made_up_edges(probabilities: list[float], mean: float = 1.0, rhat: float = 1.0) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "node_1": "a",
            "node_2": [f"b{k}" for k in range(len(probabilities))],
            "inclusion_probability": probabilities,
            "bayes_factor": 0.05,
            "evidence": "strong against",
            "coupling_given_presence": mean,
            "lower_given_presence": mean,
            "upper_given_presence": mean,
            "rhat": rhat,
            "ess": 500.0,
        }
    )


def test_the_table_shows_no_nan_and_no_rounded_certainty() -> None:
    table = edge_table(made_up_edges([1.0, 0.9999, 0.5, 0.001, 0.0], mean=np.nan), 5, 80)
    cells = list(table.columns[1].cells)
    assert cells == ["1.00", "> 0.99", "0.50", "< 0.01", "0.00"]
    assert list(table.columns[2].cells) == ["1/20"] * 5
    assert list(table.columns[3].cells) == ["strong against"] * 5
    assert list(table.columns[4].cells) == [""] * 5
    assert edge_table(made_up_edges([0.5] * 9), 4, 80).row_count == 4


def printed(edges: pd.DataFrame, width: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width)
    console.print(edge_table(edges, MAX_ROWS, console.width))
    assert isinstance(console.file, io.StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines() if line.strip()]


@pytest.mark.parametrize("width", [70, 80, 120])
@pytest.mark.parametrize("letter", ["x", "睡"])
def test_headings_are_never_cut_and_long_names_are_shortened_in_the_middle(
    width: int, letter: str
) -> None:
    edges = made_up_edges([0.9, 0.8], mean=-1.25)
    edges["node_1"] = [f"begin {letter * 40} end", "short"]
    edges["node_2"] = [f"first {letter * 90} last", "name"]
    first, second, _, long, short = printed(edges, width)
    headings = ["Inclusion", "Bayes", "Coupling", "95%", "interval"]
    below = ["Edge", "probability", "factor", "Evidence", "if", "present", "if", "present"]
    values = ["0.90", "1/20", "strong", "against", "-1.25", "-1.25", "to", "-1.25"]
    # at 80 characters there is no room for the interval, and at 70 none for the coupling
    n_left_out = {120: 0, 80: 2, 70: 3}[width]
    assert first.split() == headings[: len(headings) - n_left_out]
    assert second.split() == below[: 8 - 2 * min(n_left_out, 1) - 2 * (n_left_out == 3)]
    shown = values[: {120: 8, 80: 5, 70: 4}[width]]
    assert long.split()[-len(shown) :] == shown
    assert max(cell_len(line) for line in (first, second, long, short)) <= width
    node_1, node_2 = long.removesuffix(long[long.index("0.90") :]).strip().split(" - ")
    assert node_1.startswith("be")
    assert node_1.endswith("d")
    assert "…" in node_1
    assert node_2.startswith("fi")
    assert node_2.endswith("t")
    assert "…" in node_2
    assert "short - name" in short


def test_a_very_narrow_console_gets_fewer_columns() -> None:
    first, second, *_ = printed(made_up_edges([0.9]), 46)
    assert first.split() == ["Inclusion", "Bayes"]
    assert second.split() == ["Edge", "probability", "factor"]


def test_pictures_are_written_as_the_options_say(
    estimator: type[FakeEstimator], csv_file: Callable[..., Path], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    options = ("--format", "svg, pdf", "--threshold", "0.3")
    result = call("fit", csv_file(), "--out", out, "--quiet", *options)
    assert result.exit_code == 0, result.output
    assert (out / "network.pdf").read_bytes().startswith(b"%PDF")
    assert "<svg" in (out / "network.svg").read_text(encoding="utf-8")
    assert not list(out.glob("*.png"))
    call("demo", "--out", tmp_path / "demo", "--dpi", 40, "--draws", 5)
    call("demo", "--out", tmp_path / "large", "--dpi", 80, "--draws", 5)
    sizes = [plt.imread(tmp_path / name / "network.png").shape[0] for name in ("demo", "large")]
    assert sizes[1] == pytest.approx(2 * sizes[0], abs=1)


@pytest.mark.parametrize(
    "options", [("--format", "gif"), ("--format", ","), ("--threshold", "nan"), ("--dpi", "0")]
)
def test_bad_options_of_pictures_are_refused_before_the_run(
    options: tuple[str, ...],
    estimator: type[FakeEstimator],
    csv_file: Callable[..., Path],
    tmp_path: Path,
) -> None:
    assert call("fit", csv_file(), "--out", tmp_path / "out", *options).exit_code == 2
    assert estimator.calls == []


def test_matrices_have_names_and_are_harmless_in_a_spreadsheet(tmp_path: Path) -> None:
    values = np.array([[0, 1 / 3, 0.5], [1 / 3, 0, -2], [0.5, -2, 0]])
    write_matrix(values, ["=a", "b, c", "d"], tmp_path / "couplings.csv")
    assert (tmp_path / "couplings.csv").read_text(encoding="utf-8") == (
        ',\'=a,"b, c",d\n\'=a,0,0.333333,0.5\n"b, c",0.333333,0,-2\nd,0.5,-2,0\n'
    )


def test_a_coupling_that_rounds_to_zero_has_no_sign() -> None:
    table = edge_table(made_up_edges([0.5], mean=-0.001), 1, 120)
    assert list(table.columns[4].cells) == ["0.00"]
    assert list(table.columns[5].cells) == ["0.00 to 0.00"]


def test_all_of_few_edges_are_printed() -> None:
    assert rows_to_print(np.linspace(1, 0, MAX_ROWS)) == list(range(MAX_ROWS))


def test_of_many_edges_the_most_probable_and_one_near_each_tenth_are_printed() -> None:
    probability = np.r_[np.full(30, 1.0), np.linspace(0.999, 0.001, 999)]
    chosen = probability[rows_to_print(probability)]
    np.testing.assert_allclose(chosen[:10], 1.0)
    np.testing.assert_allclose(chosen[10:], [*np.arange(9, 0, -1) / 10, 0.001], atol=1e-9)


def test_an_edge_is_printed_once_and_levels_that_no_edge_reaches_are_left_out() -> None:
    certain, undecided = np.full(50, 1.0), np.array([0.95, 0.45])
    assert rows_to_print(np.r_[certain, undecided]) == [*range(10), 51]
    assert rows_to_print(certain) == [*range(10), 49]
    assert rows_to_print(np.full(50, 0.05)) == [*range(10), 49]


@pytest.mark.parametrize(("value", "threshold"), [(0.6, 0.9), (0.95, 0.99), (1.0, 0.99)])
def test_a_dense_network_is_drawn_at_a_higher_threshold(value: float, threshold: float) -> None:
    sparse = SimpleNamespace(inclusion_probability=np.eye(20) * value)
    dense = SimpleNamespace(inclusion_probability=np.full((20, 20), value))
    assert readable_threshold(sparse) == 0.5
    assert readable_threshold(dense) == threshold


@pytest.mark.parametrize(
    ("codes", "n_chains", "expected"),
    [
        (["too-few-chains"], 2, "(--chains 4)"),
        (["too-few-chains", "unconverged-edges"], 2, "slabfield resume out"),
        (["unconverged-quantity"], 4, "slabfield resume out"),
        (["too-few-draws"], 4, "slabfield resume out"),
        (["dense-mode"], 4, "provisional."),
    ],
)
def test_the_summary_says_what_to_do(codes: list[str], n_chains: int, expected: str) -> None:
    run = made_up_run(codes, n_chains)
    assert expected in convergence_text(run, "slabfield resume out")
    assert expected not in convergence_text(made_up_run([], n_chains), "slabfield resume out")


def test_the_summary_has_the_r_hat_of_the_progress() -> None:
    text = convergence_text(made_up_run(), "")
    assert "largest R-hat 1.002 (sigma0), fewest effective draws 640 (p0)" in text
    unknown = made_up_run(["too-few-draws"], worst=Worst())
    assert "cannot be computed" in convergence_text(unknown, "")


# --- with the real estimator -----------------------------------------------------------------


@pytest.fixture
def block_file(csv_file: Callable[..., Path]) -> Path:
    rows = datasets.make_block(80, random_state=0, n_groups=1).rows
    return csv_file(pd.DataFrame(rows, columns=list("abcd")).to_csv(index=False))


def test_fit_with_the_real_estimator_is_reproducible(block_file: Path, tmp_path: Path) -> None:
    options = ("--draws", 60, "--warmup", 20, "--chains", 2, "--seed", 4, "--jobs", 1)
    for out in ("one", "two"):
        result = call("fit", block_file, "--out", tmp_path / out, *options)
        assert result.exit_code in (0, 1), result.output
        assert "Of 6 possible edges" in result.output
    one, two = ((tmp_path / out / "edges.csv").read_text() for out in ("one", "two"))
    assert one == two
    edges = pd.read_csv(tmp_path / "one" / "edges.csv")
    assert edges["inclusion_probability"].is_monotonic_decreasing
    assert (edges["lower_given_presence"] <= edges["upper_given_presence"]).all()
    posterior = slabfield.load_posterior(tmp_path / "one" / "posterior.nc")
    assert posterior.feature_names == list("abcd")
    assert posterior.settings["seed"] == 4
    assert np.isfinite(posterior.bayes_factor[0, 1:]).all()
    graph = nx.read_graphml(tmp_path / "one" / "network.graphml")
    threshold = readable_threshold(posterior)
    assert graph.number_of_edges() == (edges["inclusion_probability"] >= threshold).sum()
    inclusion, couplings = (
        pd.read_csv(tmp_path / "one" / f"{name}.csv", index_col=0)
        for name in ("inclusion", "couplings")
    )
    for matrix in (inclusion, couplings):
        assert list(matrix.columns) == list(matrix.index) == list("abcd")
    np.testing.assert_allclose(inclusion, posterior.inclusion_probability, rtol=1e-5)
    # what R users compute from the two: the average over graphs
    np.testing.assert_allclose(couplings * inclusion, posterior.coupling_averaged, rtol=1e-4)


def test_more_nodes_than_the_exact_engine_takes(
    csv_file: Callable[..., Path], tmp_path: Path
) -> None:
    rows = np.random.default_rng(0).integers(0, 2, size=(30, 25))
    table = csv_file(pd.DataFrame(rows).add_prefix("x").to_csv(index=False))
    result = call("fit", table, "--out", tmp_path / "out", "--likelihood", "exact")
    assert result.exit_code == 2
    assert "found 25 columns with 33,554,432 joint states" in result.output
    assert "--likelihood particles" in result.output


# --- in a separate process -----------------------------------------------------------------


def test_help_and_version_in_a_process() -> None:
    shown = call_process("--help")
    assert shown.returncode == 0, shown.stderr
    assert "fit" in shown.stdout
    assert "demo" in shown.stdout
    version = call_process("--version")
    assert version.stdout == f"slabfield {slabfield.__version__}\n"


def test_bad_input_in_a_process(csv_file: Callable[..., Path], tmp_path: Path) -> None:
    content, expected = BAD_FILES["too few fields"]
    for path, message in (
        (tmp_path / "not-there.csv", "found no such file"),
        (csv_file(content), expected),
    ):
        result = call_process("fit", path, "--out", tmp_path / "out")
        assert result.returncode == 2
        assert message in result.stderr
        assert "Traceback" not in result.stderr
        assert result.stdout == ""


def test_the_command_line_offers_every_likelihood_and_preset() -> None:
    assert tuple(Likelihood) == LIKELIHOODS
    assert tuple(Preset) == PRESETS
