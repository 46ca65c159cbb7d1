"""The report file: its content, that it loads nothing, and unusual input."""

import ast
import json
import os
import re
from datetime import datetime
from html.parser import HTMLParser
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from report_helpers import HOSTILE, made_up
from slabfield import Posterior, SpikeSlabMRF
from slabfield.cli.app import app
from slabfield.cli.result_files import source_text
from slabfield.draws import Draws
from slabfield.plots import network
from slabfield.plots._layout import place_network
from slabfield.posterior import diagnostics
from slabfield.report import payload as payload_module
from slabfield.report import write_report
from slabfield.report.page import make_page
from slabfield.report.payload import report_payload
from slabfield.report.text import (
    all_settings,
    main_settings,
    sentences,
    verdict,
    warnings_in_words,
)
from slabfield.validation import InputError


class Page(HTMLParser):
    """Parser of a page: its elements, their attributes, its scripts and its text."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.elements and self.lasttag == "script" and self.cdata_elem == "script":
            self.scripts.append(data)
        else:
            self.text += data

    @property
    def payload(self) -> dict[str, Any]:
        (text,) = [text for text in self.scripts if text.startswith("{")]
        found: dict[str, Any] = json.loads(text)
        return found


def as_floats(values: list[Any]) -> np.ndarray:
    return np.array([np.nan if value is None else float(value) for value in values])


@pytest.fixture
def posterior() -> Posterior:
    return made_up(9)


def test_the_data_of_the_page_are_those_of_the_posterior(posterior: Posterior) -> None:
    page = Page(make_page(posterior)).payload
    first, second = np.triu_indices(9, 1)
    edges = page["edges"]
    assert edges["first"] == first.tolist()
    assert edges["second"] == second.tolist()
    assert edges["probability"] == posterior.edge_probability.tolist()
    table = posterior.to_dataframe().set_index(["node_1", "node_2"])
    names = posterior.feature_names
    assert page["nodes"]["name"] == names
    pairs = [(names[i], names[j]) for i, j in zip(first, second, strict=True)]
    for name in (
        "coupling_given_presence", "lower_given_presence", "upper_given_presence",
        "coupling_averaged", "odds_ratio", "rhat", "ess",
    ):  # fmt: skip
        expected = [table.loc[pair, name] for pair in pairs]
        np.testing.assert_allclose(as_floats(edges[name]), expected, rtol=1e-5, err_msg=name)
    factor = posterior.bayes_factor[first, second]
    np.testing.assert_allclose(as_floats(edges["factor"]), factor, rtol=1e-5)
    assert np.isfinite(factor).all()
    assert edges["evidence"] == posterior.edge_evidence.tolist()
    error = posterior.log_bayes_factor_mcse[first, second]
    np.testing.assert_allclose(as_floats(edges["mcse"]), error, rtol=1e-5)
    assert np.isnan(posterior.edge_mean).any()
    np.testing.assert_allclose(page["nodes"]["bias"], posterior.bias_mean, rtol=1e-5)


def test_report_and_plot_place_nodes_alike(posterior: Posterior) -> None:
    nodes = report_payload(posterior)["nodes"]
    places = np.column_stack([nodes["x"], nodes["y"]])
    strength = np.nan_to_num(posterior.coupling_given_presence)
    shared = place_network(posterior.inclusion_probability, strength)
    np.testing.assert_allclose(places, shared, atol=1e-4)
    # The plot moves nodes a little where their names would overlap
    drawn = {text.get_text(): text.get_position() for text in network(posterior).texts}
    moved = np.array([drawn[name] for name in nodes["name"]]) - places
    assert np.abs(moved).max() < 0.2


def test_the_page_loads_nothing(posterior: Posterior) -> None:
    text = make_page(posterior)
    page = Page(text)
    for tag, attributes in page.elements:
        for name in ("src", "href", "srcset", "action", "data", "poster", "style"):
            assert (attributes.get(name) or "#").startswith(("#", "data:,")), (tag, attributes)
        assert not any(name.startswith("on") for name in attributes), (tag, attributes)
    assert "://" not in text
    assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest|WebSocket|import\(", text)
    assert len([tag for tag, _ in page.elements if tag == "script"]) == 2
    (policy,) = [a["content"] for t, a in page.elements if t == "meta" and "http-equiv" in a]
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy


def test_hostile_names_are_text_and_nothing_else() -> None:
    posterior = made_up(len(HOSTILE), names=HOSTILE, certain=True)
    ordinary = Page(make_page(made_up(len(HOSTILE), certain=True)))
    page = Page(make_page(posterior))
    assert page.elements == ordinary.elements
    assert page.payload["nodes"]["name"] == HOSTILE
    for name in HOSTILE[:5]:  # the summary names the strongest edges
        assert name in page.text


def test_the_scripts_cannot_end_their_element() -> None:
    text = make_page(made_up(3))
    assert text.count("</script") == 2
    assert "<!--" not in text


def test_the_report_is_written_atomically(
    posterior: Posterior, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.html"
    path.write_text("the old one")

    def fail(*_: object) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail)
        with pytest.raises(OSError, match="no space left"):
            write_report(posterior, path)
    assert path.read_text() == "the old one"
    assert list(tmp_path.iterdir()) == [path]
    write_report(posterior, path)
    assert path.read_text("utf-8").startswith("<!doctype html>\n")
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(InputError, match="must lie in a folder that exists"):
        write_report(posterior, tmp_path / "nowhere" / "report.html")


def test_the_same_posterior_gives_the_same_page(posterior: Posterior) -> None:
    assert make_page(posterior) == make_page(made_up(9))


def test_the_page_is_small() -> None:
    assert len(make_page(made_up(12))) < 150_000


def test_only_the_most_probable_edges_are_kept_where_there_are_too_many(
    posterior: Posterior, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(payload_module, "MAX_EDGES", 20)
    found = report_payload(posterior)
    kept, least = np.array(found["edges"]["probability"]), found["network"]["min_threshold"]
    assert kept.size == 20
    assert found["network"]["n_edges"] == 36
    for threshold in (least, least + 0.01, 0.95):
        assert np.sum(kept >= threshold) == np.sum(posterior.edge_probability >= threshold)
    assert np.sum(kept >= least - 0.02) < np.sum(posterior.edge_probability >= least - 0.02)
    assert found["network"]["threshold"] >= least


# --- text -----------------------------------------------------------------------------------


def test_the_summary_counts_edges(posterior: Posterior) -> None:
    factor = posterior.edge_bayes_factor
    supported, absent = np.sum(factor > 10), np.sum(factor < 0.1)
    text = sentences(posterior)[0]
    assert f"Of 36 possible edges, the data give strong evidence for {supported} (" in text
    assert f"strong evidence against {absent} (below 1/10)" in text
    page = Page(make_page(posterior)).text
    assert text in page
    assert f"{np.sum((factor >= 1 / 3) & (factor <= 3))}inconclusive" in re.sub(r"\s", "", page)


def test_the_verdict_says_what_to_do() -> None:
    short = made_up(5, n_draws=20)
    assert not short.converged
    assert "resume the run" in verdict(short)
    assert "--" not in verdict(short)
    page = Page(make_page(short))
    assert "Not converged" in page.text
    for warning in short.warnings:
        assert warning in page.text
    assert "resume" not in verdict(made_up(5, n_chains=2, n_draws=1200))
    long = made_up(5, n_draws=600)
    assert long.converged
    assert "more draws would change these numbers little" in Page(make_page(long)).text
    assert "approximation" not in verdict(long)
    long.settings["engine"] = "pseudo"
    assert "approximation" in verdict(long)


# Names of parameters and options, which no reader of a report needs to know
NAMES = re.compile(
    rf"\b({'|'.join(name for name in signature(SpikeSlabMRF).parameters if '_' in name)})\b"
    r"|\b(na|likelihood|sampler|n_[a-z]+) ?=|\bn_[a-z]+|--[a-z]|\w\.\w+\(|\(in Python\)"
)


def with_everything_wrong() -> Posterior:
    """Make up a run with every deviation and every problem that a report can tell of."""
    posterior = made_up(5, n_chains=2, n_draws=20)
    posterior.settings.update(
        n_chains=4, likelihood="auto", n_draws=20, stopped_by="time",
        fell_back="The particles do not mix on these data.",
    )  # fmt: skip
    for chain in posterior.info:
        chain |= {
            "warmed_up_for": 20, "not_finite": 1, "in_dense_mode": True, "noise": 9.0,
            "two_start_discrepancy": 40.0, "moment_misfit": 40.0,
        }  # fmt: skip
    return posterior


def test_the_report_names_neither_parameters_nor_options() -> None:
    wrong = with_everything_wrong()
    short = made_up(5, n_chains=1, n_draws=2)
    short.settings.update(stopped_by="interrupt", n_chains=4)
    codes = {message.code for each in (wrong, short) for message in each.messages}
    written = {
        ast.literal_eval(node.args[0])
        for node in ast.walk(ast.parse(Path(diagnostics.__file__).read_text("utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Message"
    }
    assert codes == written - {"run-longer"}  # which is part of other messages
    for posterior in (wrong, short):
        _, body = make_page(posterior).split("</style>")
        text = Page(body).text
        assert not (found := NAMES.search(text)), text[found.start() - 80 : found.end() + 80]
    warnings = warnings_in_words(wrong)
    assert any(text.endswith("Run with at least four chains.") for text in warnings)
    assert any("use the pseudo-likelihood, or more particles, or more" in text for text in warnings)
    # the names are there for those who use Python
    assert any(text.endswith("Run with n_chains=4.") for text in wrong.warnings)
    assert NAMES.search(" ".join(wrong.warnings))


def test_a_single_chain_is_not_spoken_of_as_several() -> None:
    one = made_up(4, n_chains=1)
    one.settings["n_chains"] = 1
    one.info[0]["warmed_up_for"] = 20
    (text,) = one.notes
    assert text == (
        "The time budget ended the warm-up of the only chain after 20 of 50 draws. It may mix more "
        "slowly, and its first draws may still depend on the starting point."
    )
    assert "1 chain of 100 draws" in Page(make_page(one)).text


def test_the_report_says_of_which_file_it_is() -> None:
    posterior = made_up(4)
    posterior.settings["file"] = "data/<my> symptoms.csv"
    source = source_text(posterior, datetime(2026, 3, 4))
    assert source == (
        "data/<my> symptoms.csv: 300 rows \N{MULTIPLICATION SIGN} 4 columns. Fitted on 2026-03-04 "
        "with slabfield 0.1.0."
    )
    assert source in Page(make_page(posterior, source=source)).text


def test_the_main_settings_are_listed(posterior: Posterior) -> None:
    listed = dict(main_settings(posterior))
    assert listed["Seed"] == "7"
    assert listed["Engine"].startswith("exact: the exact likelihood")
    assert listed["Prior of an edge"] == "p0, learned, with prior Beta(5, 5)"
    assert listed["Versions"] == "slabfield 0.1.0, numpy 2.0"
    text = Page(make_page(posterior)).text
    assert posterior.settings["data_fingerprint"] in text
    assert "Yutian Chen and Max Welling" in text


def test_long_settings_are_shortened() -> None:
    posterior = made_up(4)
    posterior.settings["inclusion_prior"]["edges"] = [0.5] * 500
    assert "500 values" in all_settings(posterior)
    assert "given for single edges" in dict(main_settings(posterior))["Prior of an edge"]
    posterior.settings["inclusion_prior"]["edges"] = 0.2
    assert dict(main_settings(posterior))["Prior of an edge"] == "probability 0.2, fixed"


def test_the_report_describes_the_coding_of_columns() -> None:
    table = pd.DataFrame({"sleep": ["no", "yes", "yes", "no"], "mood": [1, 4, 3, 2]})
    model = SpikeSlabMRF(binarize={"mood": 3}, n_draws=5, n_warmup=5, random_state=0).fit(table)
    coding = dict(main_settings(model.posterior_))["Coding of columns"]
    assert "Column 'sleep': 1 = 'yes', 0 = 'no'." in coding
    assert "Column 'mood': 1 = at least 3, 0 = less than 3." in coding
    plain = SpikeSlabMRF(n_draws=5, n_warmup=5, random_state=0).fit([[0, 1], [1, 0], [1, 1]])
    assert dict(main_settings(plain.posterior_))["Coding of columns"] == "0 and 1, unchanged"


# --- unusual posteriors ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_nodes", "n_chains", "n_draws"), [(2, 1, 1), (2, 4, 50), (3, 1, 5), (5, 12, 8)]
)
def test_small_and_short_runs_have_pages_too(n_nodes: int, n_chains: int, n_draws: int) -> None:
    posterior = made_up(n_nodes, n_chains=n_chains, n_draws=n_draws)
    payload = Page(make_page(posterior)).payload
    assert len(payload["edges"]["coupling_given_presence"]) == n_nodes * (n_nodes - 1) // 2
    assert len(payload["convergence"]["traces"][0]["chains"]) == n_chains


def test_a_run_without_settings_and_without_edges() -> None:
    nothing = np.zeros((2, 30, 3))
    draws = Draws.from_dense(
        nothing, nothing != 0, nothing, np.full((2, 30), 0.5), np.ones((2, 30)), np.ones((2, 30))
    )
    page = Page(make_page(Posterior(draws, ["a", "b", "c"], {})))
    payload = page.payload
    assert payload["edges"]["factor"] == payload["edges"]["coupling_given_presence"] == [None] * 3
    assert [part["fixed"] for part in payload["convergence"]["global"]] == [True] * 4
    assert payload["convergence"]["worst"] == []
    assert "engine: unknown" in page.text


def test_unconverged_edges_come_first() -> None:
    posterior = made_up(6, n_draws=20)
    worst = report_payload(posterior)["convergence"]["worst"]
    states = [edge["converged"] for edge in worst]
    assert False in states
    assert states == sorted(states)


# --- the command ----------------------------------------------------------------------------


def test_the_command_writes_beside_the_posterior_or_to_out(
    posterior: Posterior, tmp_path: Path
) -> None:
    posterior.save(tmp_path / "posterior.nc")
    result = CliRunner().invoke(app, ["report", str(tmp_path / "posterior.nc")])
    assert result.exit_code == 0, result.output
    assert str(tmp_path / "report.html") in result.output.replace("\n", "")
    page = (tmp_path / "report.html").read_text("utf-8")
    stored = datetime.fromtimestamp((tmp_path / "posterior.nc").stat().st_mtime)
    assert page == make_page(posterior, source=f"Fitted on {stored:%Y-%m-%d} with slabfield 0.1.0.")
    (tmp_path / "report.html").unlink()
    result = CliRunner().invoke(app, ["report", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "report.html").read_text("utf-8") == page
    other = tmp_path / "other.html"
    result = CliRunner().invoke(
        app, ["report", str(tmp_path / "posterior.nc"), "--out", str(other)]
    )
    assert result.exit_code == 0
    assert other.read_text("utf-8") == page


def test_the_command_redraws_the_plots(posterior: Posterior, tmp_path: Path) -> None:
    posterior.save(tmp_path / "posterior.nc")
    again = tmp_path / "again"
    again.mkdir()
    options = ["--threshold", "0.8", "--format", "svg,pdf", "--out", str(again / "page.html")]
    result = CliRunner().invoke(app, ["report", str(tmp_path), *options])
    assert result.exit_code == 0, result.output
    names = ["network", "inclusion", "forest", "evidence", "convergence"]
    files = {f"{name}.{form}" for name in names for form in ("svg", "pdf")}
    assert {path.name for path in again.iterdir()} == {"page.html", *files}
    assert Page((again / "page.html").read_text("utf-8")).payload["network"]["threshold"] == 0.8
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["posterior.nc"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.nc"], "no such file"),
        (["not.nc"], "must be a posterior"),
        (["not.nc", "--out", "nowhere/report.html"], "must lie in a folder that exists"),
        (["not.nc", "--out", "."], "is a folder"),
        (["."], "without it"),
        (["not.nc", "--threshold", "nan"], "--threshold"),
        (["not.nc", "--format", "gif"], "--format must be one or more of png, svg, pdf"),
    ],
)
def test_bad_input_is_exit_code_2(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "not.nc").write_text("hello")
    result = CliRunner().invoke(app, ["report", *arguments])
    assert result.exit_code == 2
    assert message in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["not.nc"]
