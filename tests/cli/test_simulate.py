"""Simulated fields and rows; shell completion."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from slabfield import datasets
from slabfield.cli.app import app


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


MADE = {
    "block": (("--groups", 2), lambda: datasets.make_block(30, 5, n_groups=2)),
    "lattice": (("--shape", "3x4"), lambda: datasets.make_lattice(30, (3, 4), 5)),
    "random": (
        ("--nodes", 9, "--mean-degree", 2),
        lambda: datasets.make_random(30, 9, 2.0, 5),
    ),
}


@pytest.mark.parametrize("kind", MADE)
def test_rows_and_truth_match_python(tmp_path: Path, kind: str) -> None:
    options, make = MADE[kind]
    result = call("simulate", kind, "--rows", 30, "--seed", 5, "--out", tmp_path / "out", *options)
    assert result.exit_code == 0, result.output
    data = make()
    rows = pd.read_csv(tmp_path / "out" / "rows.csv")
    np.testing.assert_array_equal(rows.to_numpy(), data.rows)
    truth = pd.read_csv(tmp_path / "out" / "truth.csv")
    assert len(truth) == data.field.n_edges
    coupling = pd.DataFrame(0.0, index=rows.columns, columns=rows.columns)
    for first, second, value in truth.itertuples(index=False):
        coupling.loc[first, second] = coupling.loc[second, first] = value
    np.testing.assert_allclose(coupling, data.field.coupling)
    biases = pd.read_csv(tmp_path / "out" / "biases.csv")
    assert list(biases["node"]) == list(rows.columns)
    np.testing.assert_allclose(biases["bias"], data.field.bias)
    assert f"{data.field.n_edges} edges (drawn by {data.method})" in result.stdout


LEVELS = {
    "ordinal": (("--levels", 4), lambda: datasets.make_ordinal(30, 6, 4, 3.0, 5)),
    "ordinal by kind": (("--kind", "ordinal"), lambda: datasets.make_ordinal(30, 6, 5, 3.0, 5)),
    "nominal": (("--kind", "nominal"), lambda: datasets.make_nominal(30, 6, 3, 3.0, 5)),
}


@pytest.mark.parametrize("kind", LEVELS)
def test_rows_and_truth_of_levels_match_python(tmp_path: Path, kind: str) -> None:
    options, make = LEVELS[kind]
    random = ("random", "--nodes", 6, "--mean-degree", 3, "--rows", 30, "--seed", 5)
    result = call("simulate", *random, "--out", tmp_path / "out", *options)
    assert result.exit_code == 0, result.output
    data = make()
    rows = pd.read_csv(tmp_path / "out" / "rows.csv")
    names = [f"x{k}" for k in range(1, 7)]
    assert list(rows.columns) == names
    assert rows.to_numpy().tolist() == data.table.to_numpy().tolist()
    truth = pd.read_csv(tmp_path / "out" / "truth.csv")
    column = "strength" if kind == "nominal" else "coupling"
    assert list(truth.columns) == ["node_1", "node_2", column]
    assert len(truth) == data.field.n_edges > 0
    for first, second, value in truth.itertuples(index=False):
        energy = data.field.pair_energy(names.index(first), names.index(second))
        if kind == "nominal":  # the zero-sum table has half the norm of its parameters
            centered = energy - energy.mean(0) - energy.mean(1)[:, None] + energy.mean()
            assert np.isclose(value, 2 * np.linalg.norm(centered))
        else:
            scores = data.variables[0].scores
            np.testing.assert_allclose(energy, value * np.outer(scores, scores), atol=1e-12)
    biases = pd.read_csv(tmp_path / "out" / "biases.csv")
    assert list(biases.columns) == ["node", "level", "bias"]
    energies = [data.field.node_energy(i) for i in range(6)]
    np.testing.assert_allclose(biases["bias"], np.concatenate(energies))
    assert biases["level"].tolist() == [x for each in data.variables for x in each.labels]
    assert f"{data.field.n_edges} edges (drawn by enumeration)" in result.stdout


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("block", "--levels", 3), "--kind and --levels are of random fields"),
        (("random", "--kind", "binary", "--levels", 3), "--kind binary has two levels"),
        (("random", "--levels", 40), "--levels must be from 2 to 26"),
        (("lattice", "--shape", "3"), "--shape must be a height and a width"),
        (("lattice", "--shape", "0x3"), "--shape must be a height and a width"),
        (("random", "--nodes", 4, "--mean-degree", 9), "--mean-degree must be from 0"),
        (("random", "--nodes", 300), "Ask for approximate draws with --method gibbs,"),
        (("ring",), "ring"),
        (("block", "--rows", 0), "--rows"),
    ],
)
def test_bad_requests(tmp_path: Path, options: tuple[object, ...], expected: str) -> None:
    result = call("simulate", *options, "--out", tmp_path / "out", "--seed", 1)
    assert result.exit_code == 2
    assert expected in result.output
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # as the shell requests it: otherwise typer searches the parent processes for the shell
    result = CliRunner().invoke(
        app, [], prog_name="slabfield", env={"_SLABFIELD_COMPLETE": f"source_{shell}"}
    )
    assert result.exit_code == 0
    assert "_SLABFIELD_COMPLETE" in result.stdout
    assert "slabfield" in result.stdout


@pytest.mark.parametrize(
    ("line", "expected"),
    [("slabfield si", {"simulate"}), ("slabfield fit --forb", {"--forbid"}),
     ("slabfield simulate la", {"lattice"}),
     ("slabfield fit --likelihood p", {"particles", "pseudo"})],
)  # fmt: skip
def test_completion_completes(line: str, expected: set[str]) -> None:
    variables = {
        "_SLABFIELD_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split()) - 1),
    }
    result = CliRunner().invoke(app, [], prog_name="slabfield", env=variables)
    assert set(result.stdout.split()) == expected
