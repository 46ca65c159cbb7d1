"""Forbidden and required edges, on the command line and in files."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from slabfield import datasets
from slabfield.cli.app import app
from slabfield.cli.edge_lists import read_pairs
from slabfield.posterior.exports import (
    FORMULA_STARTS,
    harmless_name,
    original_name,
    read_edges,
    write_edges,
)
from slabfield.validation import InputError

NAMES = ["sleep", "work", "a:b", "b", "c", "@home", "=sum", "x, y"]


def refused(*texts: str, names: list[str] = NAMES) -> str:
    with pytest.raises(InputError) as caught:
        read_pairs(texts, names, "--forbid")
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("sleep:work", ("sleep", "work")),
        (" sleep : work ", ("sleep", "work")),
        ("a:b:c", ("a:b", "c")),
        ("c:a:b", ("c", "a:b")),
        ("@home:work", ("@home", "work")),
        ("=sum:x, y", ("=sum", "x, y")),
    ],
)
def test_pairs_are_split_at_the_right_colon(text: str, pair: tuple[str, str]) -> None:
    assert read_pairs([text], NAMES, "--forbid") == [pair]


def test_a_pair_that_can_be_read_in_two_ways_is_refused_but_not_in_a_file(tmp_path: Path) -> None:
    names = ["a", "a:b", "b:c", "c"]
    assert "can be read as 'a' and 'b:c' and 'a:b' and 'c'" in refused("a:b:c", names=names)
    file = tmp_path / "pairs.csv"
    file.write_text("a:b,c\n")
    assert read_pairs([f"@{file}"], names, "--forbid") == [("a:b", "c")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sleep", "two columns separated by a colon, or @FILE; got 'sleep'"),
        ("slep:work", "'slep' not found among 'sleep', 'work'"),
        ("sleep:wrok", "Did you mean 'work'?"),
        ("sleep:sleep", "found 'sleep' twice"),
        ("@nowhere.csv", "'nowhere.csv' cannot be read"),
    ],
)
def test_invalid_pairs(text: str, expected: str) -> None:
    assert expected in refused(text)


def test_slabfields_own_table_of_edges_is_a_file_of_pairs(tmp_path: Path) -> None:
    edges = pd.DataFrame({"node_1": ["=sum", "@home"], "node_2": ["x, y", "a:b"], "ess": 0.5})
    write_edges(edges, tmp_path / "edges.csv")
    assert "'=sum" in (tmp_path / "edges.csv").read_text()
    found = read_pairs([f"@{tmp_path / 'edges.csv'}", "b:c"], NAMES, "--require")
    assert found == [("=sum", "x, y"), ("@home", "a:b"), ("b", "c")]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "found none"),
        ("node_1,node_2\n", "found none"),
        ("sleep,work\nsleep,wrok\n", "line 2 holds 'sleep' and 'wrok'"),
        ("sleep\n", "line 1 holds 'sleep'"),
        ("sleep,work,1\n", "line 1 holds 'sleep', 'work' and '1'"),
        ("\xe9,work\n", "cannot be read"),
    ],
)
def test_bad_files_of_pairs(tmp_path: Path, content: str, expected: str) -> None:
    file = tmp_path / "pairs.csv"
    file.write_bytes(content.encode("latin-1"))
    assert expected in refused(f"@{file}")


def test_forbidden_and_required_edges_in_the_result(tmp_path: Path) -> None:
    rows = datasets.make_block(60, random_state=0, n_groups=1).rows
    pd.DataFrame(rows, columns=["a", "b", "c:1", "d"]).to_csv(tmp_path / "t.csv", index=False)
    arguments = ["fit", str(tmp_path / "t.csv"), "--out", str(tmp_path / "out"), "--draws", "30"]
    arguments += ["--warmup", "10", "--jobs", "1", "--seed", "1"]
    arguments += ["--forbid", "a:c:1", "--require", "d:b", "--forbid", "a:d"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code in (0, 1), result.output
    assert "You required 1 edge and forbade 2." in result.stdout
    edges = read_edges(tmp_path / "out" / "edges.csv").set_index(["node_1", "node_2"])
    probability = edges["inclusion_probability"]
    assert probability["b", "d"] == 1
    assert probability["a", "c:1"] == 0
    assert probability["a", "d"] == 0
    assert 0 < probability["a", "b"] < 1


def test_an_edge_both_forbidden_and_required_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b,c\n0,1,0\n1,0,1\n1,1,0\n")
    arguments = ["fit", str(tmp_path / "t.csv"), "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(app, [*arguments, "--forbid", "a:b", "--require", "b:a"])
    assert result.exit_code == 2
    assert "must not name the same edge" in result.output


@pytest.mark.parametrize("start", [*FORMULA_STARTS, "'", "''=", "'=", "x"])
def test_escaped_names_are_read_back(start: str) -> None:
    name = f"{start}cmd"
    assert original_name(harmless_name(name)) == name
    assert not harmless_name(name).startswith(FORMULA_STARTS)


def test_a_table_of_edges_is_read_back(tmp_path: Path) -> None:
    edges = pd.DataFrame(
        {"node_1": ["=a", "'tis", "NA"], "node_2": ["-b", "007", "'=q"], "ess": [0.5, np.nan, 2.0]}
    )
    write_edges(edges, tmp_path / "edges.csv")
    pd.testing.assert_frame_equal(read_edges(tmp_path / "edges.csv"), edges, check_dtype=False)
