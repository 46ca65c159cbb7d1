"""Comparison of slabfield with the baselines on a user's table."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from slabfield.cli.app import app
from slabfield.cli.comparison_table import score_table
from slabfield.datasets import make_block, make_ordinal
from slabfield.encoding import CodedTable
from slabfield.reproduce.comparison import (
    Score,
    compare,
    estimators,
    random_groups,
    score_file,
    score_method,
    split_rows,
)

SHORT = ("--draws", "30", "--warmup", "10", "--chains", "1", "--jobs", "1")
METHODS = {
    "slabfield, mixture of draws", "slabfield, one field", "L1 neighborhood, max",
    "L1 neighborhood, min", "L1 pseudo-likelihood", "Chow-Liu tree", "independent",
}  # fmt: skip


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["compare", *map(str, arguments)])


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    rows = make_block(80, random_state=1, n_groups=2).rows
    table = pd.DataFrame(rows, columns=[f"q{k}" for k in range(8)])
    table["q0"] = np.where(table["q0"] == 1, "yes", "no")
    table["id"] = np.arange(80)
    path = tmp_path / "answers.csv"
    table.to_csv(path, index=False)
    return path


def test_compare_prints_and_writes(answers: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = (answers, "--drop", "id", "--out", out, "--seed", 3, *SHORT)
    result = call(*arguments)
    assert result.exit_code == 1, result.output  # one short chain is not converged
    assert "Trained on 60 rows, tested on 20 others." in result.output
    assert "Column 'q0': 1 = 'yes', 0 = 'no'." in result.output
    assert "fewer than four chains" in result.output
    assert "(worst: q" in result.output  # the user's own names
    scores = pd.read_csv(out / "compare.csv")
    assert set(scores["method"]) == METHODS
    assert scores["cll"].between(-8, 0).all()
    # with eight columns a group is all of them, so cll is the log-likelihood
    assert (scores["cll_error"] > 0).all()
    assert (out / "compare.png").read_bytes().startswith(b"\x89PNG")
    again = call(*arguments[: -len(SHORT)], *SHORT, "--quiet")
    assert "Trained on" not in again.output
    same = ["cll", "pll", "density"]
    pd.testing.assert_frame_equal(scores[same], pd.read_csv(out / "compare.csv")[same])


@pytest.mark.parametrize(
    ("content", "options", "expected"),
    [
        ("a,b\n0,1\n1,0\n", (), "needs at least 20 rows"),
        ("a,b\n" + "0,1\n1,2\n2.5,0\n" * 10, (), "Binarize with --binarize a="),
        ("a,b\n" + "0,1\n1,\n" * 10, (), "missing"),
        ("a,b\n" + "0,1\n1,0\n" * 10, ("--drop", "c"), "--drop must name columns"),
        ("a,b\n" + "0,1\n1,0\n" * 10, ("--held-out", "1.5"), "--held-out"),
    ],
)
def test_bad_input(content: str, options: tuple[str, ...], expected: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(content)
    result = call(path, "--out", tmp_path / "out", *SHORT, *options)
    assert result.exit_code == 2
    assert expected in result.output
    assert not (tmp_path / "out" / "compare.csv").exists()


def test_rows_are_held_out_at_random_and_by_seed() -> None:
    train, test = split_rows(100, 0.3, seed=1)
    assert sorted([*train, *test]) == list(range(100))
    assert len(test) == 30
    np.testing.assert_array_equal(test, split_rows(100, 0.3, seed=1)[1])
    assert not np.array_equal(test, split_rows(100, 0.3, seed=2)[1])
    assert len(split_rows(20, 0.9, seed=0)[0]) == 10


def test_stored_rows_get_the_same_scores(tmp_path: Path) -> None:
    rows = make_block(120, random_state=2).rows
    np.savez(tmp_path / "rows.npz", train=rows[:80], test=rows[80:])
    settings = {"n_draws": 20, "n_warmup": 5, "n_chains": 1}
    methods = estimators(4, 1, **settings)
    scores = {score.method: score for score in compare(methods, rows[:60], rows[80:110], 4)}
    for name in methods:
        found = score_file(str(tmp_path / "rows.npz"), name, 60, 30, 4, list(settings.items()))
        for k, method in enumerate(found["method"]):
            assert found["cll"][k] == scores[method].cll
            assert found["pll"][k] == scores[method].pll
        assert bool(found["converged"]) == (name != "slabfield")


def test_methods_of_a_table_with_levels() -> None:
    methods = estimators(0, 1, two_valued=False)
    assert {"Chow-Liu tree", "independent", "L1 multinomial"} <= set(methods)
    assert all(method.takes_levels for method in methods.values())
    assert not {"L1 neighborhood, max", "L1 pseudo-likelihood"} & set(methods)


@pytest.mark.parametrize(("most_levels", "size"), [(2, 9), (3, 5), (5, 3), (8, 3), (600, 1)])
def test_groups_of_nodes_with_levels_have_few_states(most_levels: int, size: int) -> None:
    groups = random_groups(12, 30, 1, most_levels)
    assert groups.shape == (30, size)
    # the same nodes come first, however many
    np.testing.assert_array_equal(groups, random_groups(12, 30, 1)[:, :size])


def test_a_method_without_a_joint_distribution_is_scored_by_its_conditionals() -> None:
    data = make_ordinal(120, 5, 3, 2.0, 1)
    train = CodedTable(data.rows[:90], data.variables, [], True, np.zeros((90, 5), np.bool_))
    method = estimators(0, 1, two_valued=False)["L1 multinomial"].set_params(n_strengths=4)
    (score,) = score_method("L1", method, train, data.rows[90:], random_groups(5, 30, 0, 3))
    assert np.isnan(score.cll)
    assert np.isnan(score.cll_error)
    assert score.pll == method.score_codes(data.rows[90:]).mean()
    assert score.density == np.count_nonzero(method.coupling_) / 20
    other = Score("tree", -3.0, 0.1, -2.0, 0.4, 1.0)
    columns = score_table([score, other]).columns
    assert [list(column.cells) for column in columns[:2]] == [
        ["tree", "L1"],
        ["-3.000 +- 0.100", ""],
    ]


def test_the_table_of_real_data(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    rows = make_block(120, random_state=3).rows
    (tmp_path / "debd").mkdir()
    np.savez(tmp_path / "debd" / "nltcs.npz", train=rows[:80], test=rows[80:])
    page = tmp_path / "page.md"
    command = [
        *(sys.executable, root / "benchmarks" / "real_data.py", "--sets", "nltcs", "--jobs", "1"),
        *("--minutes", "0.05", "--out", page, "--work", tmp_path / "work"),
    ]
    environment = os.environ | {"SLABFIELD_DATA": str(tmp_path)}
    subprocess.run(command, env=environment, check=True, timeout=300, capture_output=True)
    text = page.read_text(encoding="utf-8")
    assert "## nltcs: 12 columns, 80 training rows, 40 test rows" in text
    methods = ("slabfield, mixture of draws", "slabfield, one field", "L1 pseudo-likelihood")
    assert all(f"| {method} " in text for method in (*methods, "Chow-Liu tree"))
    assert "| nltcs | 12 | 80 | exact |" in text
    assert "## Effective draws per CPU second\n\nNot run." in text
    assert "finite on 1 of 1 tables" in text.replace("\n", " ")
    del environment["SLABFIELD_DATA"]
    subprocess.run([*command, "--page-only"], env=environment, check=True, capture_output=True)
    assert page.read_text(encoding="utf-8") == text
    failed = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    assert failed.returncode == 1
    assert "SLABFIELD_DATA" in failed.stderr
