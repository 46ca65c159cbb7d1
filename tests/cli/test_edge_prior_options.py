"""Prior probabilities of edges, and communities of columns, on the command line and in files."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from slabfield import SpikeSlabMRF, datasets
from slabfield.cli.app import app
from slabfield.cli.edge_prior_options import read_communities, read_inclusion
from slabfield.posterior.exports import read_edges
from slabfield.validation import InputError

NAMES = ["sleep", "work", "a:b", "c=d", "=sum"]


def test_probabilities_of_edges(tmp_path: Path) -> None:
    file = tmp_path / "prior.csv"
    file.write_text("node_1,node_2,inclusion_probability\nsleep,work,0.25\n'=sum,a:b,1\n")
    assert read_inclusion([], NAMES) == (5, 5)
    assert read_inclusion(["0.2"], NAMES) == 0.2
    assert read_inclusion(["c=d:a:b=0.5", f"@{file}"], NAMES) == {
        ("c=d", "a:b"): 0.5,
        ("sleep", "work"): 0.25,
        ("=sum", "a:b"): 1.0,
    }


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["often"], "got 'often'. Pass for example --inclusion sleep:=sum=0.1"),
        (["sleep:work"], "A:B=P for one, or @FILE; got 'sleep:work'"),
        (["sleep:work=often"], "got 'sleep:work=often'"),
        (["sleep:wrok=0.5"], "'wrok' not found among"),
        (["0.5", "sleep:work=0.1"], "got '0.5'"),
        (["@nowhere.csv"], "'nowhere.csv' cannot be read"),
    ],
)
def test_invalid_probabilities(texts: list[str], expected: str) -> None:
    with pytest.raises(InputError, match="must") as caught:
        read_inclusion(texts, NAMES)
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("sleep,work\n", "must hold two columns and a probability"),
        ("sleep,work,often\n", "line 1 holds 'sleep', 'work' and 'often'"),
        ("sleep,wrok,0.5\n", "line 1 holds 'sleep', 'wrok' and '0.5'"),
        ("a,b,c\na,b,0.5\n", "line 2 holds 'a', 'b' and '0.5'"),
    ],
)
def test_bad_files_of_probabilities(tmp_path: Path, content: str, expected: str) -> None:
    (tmp_path / "prior.csv").write_text(content)
    with pytest.raises(InputError) as caught:
        read_inclusion([f"@{tmp_path / 'prior.csv'}"], NAMES)
    assert expected in str(caught.value)


def test_communities_of_columns(tmp_path: Path) -> None:
    file = tmp_path / "communities.csv"
    file.write_text("node,group\nsleep,night\nwork,day\nelsewhere,day\n'=sum, night\n")
    expected = {"sleep": "night", "work": "day", "=sum": "night"}
    assert read_communities(str(file), NAMES) == read_communities(f"@{file}", NAMES) == expected
    file.write_text("sleep,night\nsleep,day\n")
    with pytest.raises(InputError, match="line 2 puts 'sleep' in 'day', and an earlier one in"):
        read_communities(str(file), NAMES)
    file.write_text("slep,night\nwork,day\n")
    with pytest.raises(InputError, match=r"'sleep' has none\. Is 'slep' a misspelling of it\?"):
        read_communities(str(file), NAMES)
    file.write_text("sleep,night\nsleep\n")
    with pytest.raises(InputError, match="must hold a column and its community"):
        read_communities(str(file), NAMES)


def test_prior_options_reach_the_run(tmp_path: Path) -> None:
    rows = datasets.make_block(60, random_state=0, n_groups=1).rows
    table = pd.DataFrame(rows, columns=list("abcd"))
    table.to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "communities.csv").write_text("a,1\nb,1\nc,2\nd,2\n")
    arguments = ["fit", str(tmp_path / "t.csv"), "--out", str(tmp_path / "out"), "--draws", "30"]
    arguments += ["--warmup", "10", "--jobs", "1", "--seed", "1", "--quiet", "--inclusion", "a:b=0"]
    arguments += [
        "--communities",
        str(tmp_path / "communities.csv"),
        "--within",
        "0.9",
        "--between",
        "0.1",
    ]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code in (0, 1), result.output
    edges = read_edges(tmp_path / "out" / "edges.csv").set_index(["node_1", "node_2"])
    same = SpikeSlabMRF(
        n_draws=30, n_warmup=10, random_state=1, inclusion_prior={("a", "b"): 0},
        communities=[1, 1, 2, 2], within=0.9, between=0.1,
    ).fit(table)  # fmt: skip
    for i, j in zip(*np.triu_indices(4, 1), strict=True):
        found = edges["inclusion_probability"]["abcd"[i], "abcd"[j]]
        assert found == pytest.approx(same.inclusion_probability_[i, j], abs=1e-6)
    resumed = SpikeSlabMRF.from_checkpoint(tmp_path / "out").resume(5)
    assert resumed.inclusion_probability_[0, 1] == 0
    assert resumed.posterior_.draws.n_draws == 35


def test_communities_without_probabilities_are_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b,c\n0,1,0\n1,0,1\n1,1,0\n")
    (tmp_path / "communities.csv").write_text("a,1\nb,1\n")
    arguments = ["fit", str(tmp_path / "t.csv"), "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(
        app, [*arguments, "--communities", str(tmp_path / "communities.csv")]
    )
    assert result.exit_code == 2
    result = CliRunner().invoke(
        app, [*arguments, "--communities", str(tmp_path / "communities.csv"), "--within", "0.5"]
    )
    assert result.exit_code == 2
    assert "'c' has none" in " ".join(result.output.split())
