"""The report, the printed table and the result files of nodes with levels."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from made_up_posteriors import make_up_levels, mixed_variables
from report_helpers import made_up
from slabfield import Posterior
from slabfield.cli.printing import edge_table, show_edges
from slabfield.cli.result_files import write_results
from slabfield.encoding import Variable
from slabfield.posterior.exports import write_thresholds
from slabfield.report.page import make_page
from slabfield.report.payload import report_payload
from slabfield.report.text import coupling_help, main_settings, sentences


@pytest.fixture(scope="module")
def posterior() -> Posterior:
    return make_up_levels()


def test_the_payload_has_the_tables_of_pairs(posterior: Posterior) -> None:
    payload = report_payload(posterior)
    levels, edges = payload["levels"], payload["edges"]
    for edge, (i, j) in enumerate(posterior.interactions.cliques()):
        left, right = (np.array(levels["embedding"][k]) for k in (i, j))
        group = edges["parameters"][edge] or [edges["coupling_given_presence"][edge]]
        if None in group:
            continue
        table = left @ np.reshape(group, (left.shape[1], right.shape[1])) @ right.T
        expected = posterior.interaction_table(i, j)
        np.testing.assert_allclose(table, expected, atol=1e-4)
    unsigned = [parameters is not None for parameters in edges["parameters"]]
    np.testing.assert_array_equal(unsigned, ~posterior.edge_is_signed)


def test_the_payload_has_levels_and_thresholds(posterior: Posterior) -> None:
    levels = report_payload(posterior)["levels"]
    assert levels["kind"] == ["binary", "ordinal", "ordinal", "Blume-Capel", "nominal", "nominal"]
    assert levels["labels"][2] == ["never", "rarely", "often"]
    assert levels["share"][4] == [0.3333] * 3
    flat = np.concatenate(levels["mean"])
    np.testing.assert_allclose(flat, posterior.bias_mean, rtol=1e-3)
    posterior = make_up_levels()
    del posterior.settings["level_shares"]
    assert report_payload(posterior)["levels"]["share"] is None


def test_binary_reports_have_no_levels() -> None:
    payload = report_payload(made_up(5))
    assert payload["levels"] is None
    assert "parameters" not in payload["edges"]
    assert list(coupling_help(made_up(5))) == ["coupling"]


def test_the_text_has_the_right_words(posterior: Posterior) -> None:
    assert "place - work (strength 2.89)" in sentences(posterior)[1]
    assert "sleep - mood (coupling 0.86)" in sentences(posterior)[1]
    settings = dict(main_settings(posterior))
    assert settings["Nodes"] == "6 variables (1 binary, 2 ordinal, 1 Blume-Capel and 2 nominal)"
    assert "50 (I + J)" in settings["Prior of thresholds"]
    assert list(coupling_help(posterior)) == ["coupling", "strength", "threshold"]
    scored = make_up_levels(mixed_variables()[:4])
    assert list(coupling_help(scored)) == ["coupling", "threshold"]
    assert "<b>threshold</b>" in make_page(scored)


def test_labels_of_levels_cannot_be_markup() -> None:
    hostile = ("<script>window.hacked=1</script>", "</script>", "&lt;")
    place = Variable("place", "nominal", hostile, ())
    page = make_page(make_up_levels([place, Variable.binary("sleep", ("<b>", "no"))], n_draws=20))
    assert "<script>window" not in page
    assert page.count("</script>") == 2


def test_strengths_are_printed_between_bars(
    posterior: Posterior, capsys: pytest.CaptureFixture[str]
) -> None:
    edges = posterior.to_dataframe()
    cells = list(edge_table(edges, len(edges), 120).columns[4].cells)
    for cell, kind, value in zip(
        cells, edges["kind"], edges["coupling_given_presence"], strict=True
    ):
        if not np.isnan(value):
            expected = f"|{value:.2f}|" if kind == "strength" else f"{value:z.2f}"
            assert cell == expected
    show_edges(edges)
    assert "Between bars: the strength" in " ".join(capsys.readouterr().out.split())
    show_edges(make_up_levels(mixed_variables()[:4]).to_dataframe())
    assert "strength" not in capsys.readouterr().out


def test_result_files(posterior: Posterior, tmp_path: Path) -> None:
    written = write_results(posterior, posterior.to_dataframe(), tmp_path)
    assert "thresholds.csv" in written
    assert all((tmp_path / name).exists() for name in written)
    table = pd.read_csv(tmp_path / "thresholds.csv", keep_default_na=False)
    assert list(table.columns)[:6] == ["node", "level", "mean", "sd", "lower", "upper"]
    np.testing.assert_allclose(table["mean"], posterior.bias_mean, rtol=1e-5)
    couplings = pd.read_csv(tmp_path / "couplings.csv", index_col=0)
    assert couplings.loc["place", "work"] == pytest.approx(posterior.edge_mean[-1], rel=1e-5)
    # a table of binary columns has no thresholds, and the file does not stay behind
    binary = made_up(3)
    assert "thresholds.csv" not in write_results(binary, binary.to_dataframe(), tmp_path)
    assert not (tmp_path / "thresholds.csv").exists()


def test_labels_in_the_table_of_thresholds_are_harmless(tmp_path: Path) -> None:
    mood = Variable("=mood", "ordinal", (-2, "-1", "=1+1"), (0.0, 1.0, 2.0))
    posterior = make_up_levels([mood, Variable.binary("sleep", (0, 1))], n_draws=20)
    write_thresholds(posterior.thresholds(), tmp_path / "thresholds.csv")
    table = pd.read_csv(tmp_path / "thresholds.csv", dtype=str)
    assert table["node"].tolist() == ["'=mood", "'=mood", "sleep"]
    assert table["level"].tolist() == ["-1", "'=1+1", "1"]
