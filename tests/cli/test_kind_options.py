"""Options for kinds and levels of columns."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

from slabfield.cli.app import app
from slabfield.cli.kind_options import parse_kinds, parse_levels
from slabfield.cli.options import Likelihood, ScoreRule
from slabfield.cli.table_options import read_request
from slabfield.encoding import CodedTable, code_table
from slabfield.validation import InputError


def test_kinds_are_read_from_lists_and_files(tmp_path: Path) -> None:
    names = tmp_path / "names.csv"
    names.write_text('a,"b, c"\nd:2\n')
    assert parse_kinds() is None
    assert parse_kinds(["x, y", '"u, v"'], ["z"]) == {
        "x": "ordinal", "y": "ordinal", "u, v": "ordinal", "z": "nominal",
    }  # fmt: skip
    assert parse_kinds([f"@{names}"]) == dict.fromkeys(["a", "b, c", "d:2"], "ordinal")
    assert parse_kinds(blume_capel=[f"@{names}", "time:of:day:often", "of:day:"]) == {
        "a": "blume-capel", "b, c": "blume-capel", "d": ("blume-capel", 2),
        "time:of:day": ("blume-capel", "often"), "of:day": "blume-capel",
    }  # fmt: skip
    assert parse_kinds(['"@home"']) == {"@home": "ordinal"}


def test_levels_are_read_from_texts_and_files(tmp_path: Path) -> None:
    file = tmp_path / "levels.csv"
    file.write_text('mood,bad,"so, so",good\nsleep,1,2,3\n')
    assert parse_levels(None) is None
    assert parse_levels([f"@{file}"]) == {"mood": ["bad", "so, so", "good"], "sleep": [1, 2, 3]}
    assert parse_levels(['a=no<"a < b"<yes', "b=1,2", "c=x"]) == {
        "a": ["no", "a < b", "yes"], "b": [1, 2], "c": ["x"],
    }  # fmt: skip
    assert parse_levels(["age=<30,30+"]) == {"age": ["<30", "30+"]}


@pytest.mark.parametrize(
    ("parse", "code"),
    [
        (lambda: parse_kinds(["a,,b"]), "invalid-names-option"),
        (lambda: parse_kinds([""]), "invalid-names-option"),
        (lambda: parse_kinds(["a"], ["a"]), "column-of-two-kinds"),
        (lambda: parse_kinds(["a"], None, ["a:3"]), "column-of-two-kinds"),
        (lambda: parse_kinds(["@nowhere.csv"]), "unreadable-option-file"),
        (lambda: parse_levels(["sleep"]), "invalid-levels-option"),
        (lambda: parse_levels(["@nowhere.csv"]), "unreadable-option-file"),
    ],
)
def test_bad_options(parse: Any, code: str) -> None:
    with pytest.raises(InputError) as refused:
        parse()
    assert refused.value.code == code


def test_bad_lines_of_levels(tmp_path: Path) -> None:
    file = tmp_path / "levels.csv"
    file.write_text("sleep,never,often\nmood,1\n")
    with pytest.raises(InputError, match="line 2 holds 'mood,1'"):
        parse_levels([f"@{file}"])


FRAME = pd.DataFrame(
    {"a": [1, 2, 3] * 4, "b": ["often", "never", "seldom"] * 4, "c": [0, 1] * 6, "d": [3, 1, 2] * 4}
)
GIVEN: dict[str, Any] = {
    "levels": ["b=never<seldom<often"], "nominal": ["a"], "blume_capel": ["d:1"],
    "scores": ScoreRule.raw,
}  # fmt: skip


def test_options_become_parameters_and_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "table.csv"
    FRAME.to_csv(path, index=False)
    arguments: dict[str, Any] = dict.fromkeys(
        ("columns", "drop", "sheet", "binarize", "forbid", "require", "time_budget", "warmup",
         "seed", "jobs")
    ) | {
        "chains": 1, "tolerance": 0.02, "draws": "auto", "likelihood": Likelihood.auto,
    } | GIVEN  # fmt: skip
    whole, request, _ = read_request(path, **arguments, counted=True)
    assert request.kinds == {"a": "nominal", "d": ("blume-capel", 1)}
    assert request.scores == "raw"
    table = code_table(whole, levels=request.levels, kinds=request.kinds, scores=request.scores)
    assert [variable.kind for variable in table.variables] == [
        "nominal", "ordinal", "binary", "blume-capel",
    ]  # fmt: skip
    assert table.variables[3].reference == 0
    monkeypatch.setattr("slabfield.cli.table_options.BIG_FILE", 10)
    counted, request, _ = read_request(path, **arguments, counted=True)
    assert isinstance(counted, CodedTable)
    assert counted.variables == table.variables
    assert (request.kinds, request.levels, request.scores) == (None, None, "standard")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--ordinal", "b"], "--levels b=never,often,seldom; or pass --nominal b."),
        (["--ordinal", "bb"], "--ordinal, --nominal or --blume-capel names 'bb'"),
        (["--blume-capel", "a:7"], "Pass for example --blume-capel a:2."),
        (["--scores", "ragne"], "Invalid value for '--scores'"),
    ],
)
def test_messages_name_options(options: list[str], expected: str, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    FRAME.to_csv(path, index=False)
    result = CliRunner().invoke(app, ["fit", str(path), "--out", str(tmp_path / "out"), *options])
    assert result.exit_code == 2
    assert expected in result.output.replace("\n│ ", " ")
