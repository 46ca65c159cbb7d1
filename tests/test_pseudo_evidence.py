"""The page on Bayes factors of the pseudo-likelihood: its statistics, and a tiny version of it."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

import evidence_comparison as comparison
import pseudo_bayes_factors
from reference import plain_levels


def run_of(log10_factor: list[float], **columns: list[float]) -> pd.DataFrame:
    return pd.DataFrame({"log10_factor": log10_factor, **columns})


def test_claims_count_what_is_left_of_strong_evidence() -> None:
    by = run_of([2.0, 1.5, 1.1, 0.9, -1.2, -3.0])
    other = run_of([2.0, 0.8, 0.2, 0.9, -0.9, -2.0])
    assert comparison.claims(by, other) == (3, 2, 1)
    assert comparison.claims(by, other, sign=-1) == (2, 1, 0)
    assert comparison.claims(other, by) == (1, 0, 0)


def test_pairs_near_a_threshold_are_counted_by_their_errors() -> None:
    run = run_of([1.1, 1.1, -0.9, 0.0], log10_error=[0.06, 0.04, 0.06, 0.06])
    assert comparison.near_threshold(run) == 2


def test_area_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    coupling = rng.normal(size=60) * (rng.random(60) < 0.5)
    factor = rng.integers(5, size=60) + (coupling != 0)  # with ties
    tables = comparison.Tables(np.repeat(range(6), 10), np.full(60, 100), coupling)
    area = comparison.whole(comparison.auc(run_of(factor), tables))
    assert area == pytest.approx(roc_auc_score(coupling != 0, factor))


def test_coverage_counts_true_edges_only() -> None:
    tables = comparison.Tables(np.zeros(4, int), np.full(4, 100), np.array([1.0, 2.0, 0.0, -1.0]))
    run = run_of([0.0] * 4, lower=[0.5, 2.1, 1.0, np.nan], upper=[1.5, 3.0, 2.0, np.nan])
    assert comparison.whole(comparison.coverage(run, tables)) == pytest.approx(1 / 3)


def test_standard_errors_are_those_of_means_over_tables() -> None:
    rng = np.random.default_rng(1)
    means = rng.normal(size=40)
    run = run_of([0.0] * 200, inclusion=np.repeat(means, 5))
    tables = comparison.Tables(np.repeat(range(40), 5), np.full(200, 100), np.ones(200))
    zero = run_of([0.0] * 200, inclusion=[0.0] * 200)
    error = comparison.standard_error(comparison.mean_inclusion_gap(run, zero), tables)
    assert error == pytest.approx(means.std() / np.sqrt(40), rel=0.1)


def test_couplings_of_simulated_tables_are_in_the_order_of_pairs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fields = []
    draw = plain_levels.draw_field
    monkeypatch.setattr(
        plain_levels, "draw_field", lambda *given: fields.append(draw(*given)) or fields[-1]
    )
    found = pseudo_bayes_factors.simulate(5, 3, 200, seed=0)
    matrix = np.zeros((5, 5))
    matrix[np.triu_indices(5, 1)] = found.coupling
    groups = fields[-1][1]
    assert 0 < len(groups) < 10
    assert {pair: b.item() for pair, b in groups.items()} == {
        (i, j): matrix[i, j] for i, j in np.argwhere(matrix)
    }


def test_a_tiny_page_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pseudo_bayes_factors, "DESIGNS", ((4, 3),))
    monkeypatch.setattr(pseudo_bayes_factors, "N_ROWS", (100, 300))
    monkeypatch.setattr(pseudo_bayes_factors, "SEEDS", (1,))
    monkeypatch.setattr(comparison, "N_BOOTSTRAP", 20)
    monkeypatch.delenv("SLABFIELD_DATA", raising=False)
    out = tmp_path / "docs" / "page.md"
    out.parent.mkdir()
    options = ["--fields", "2", "--draws", "60", "--particle-draws", "60"]
    places = ["--cache", str(tmp_path / "cache"), "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["pseudo_bayes_factors.py", *options, *places])
    pseudo_bayes_factors.main()
    text = out.read_text(encoding="utf-8")
    assert "24 pairs" in text
    assert "Left out: SLABFIELD_DATA" in text
    assert (out.parent / "images" / "pseudo-evidence.png").is_file()
    assert len(list((tmp_path / "cache").iterdir())) == 4 * 4
    monkeypatch.setattr(pseudo_bayes_factors, "SpikeSlabMRF", None)  # all pieces are kept
    pseudo_bayes_factors.main()
    assert out.read_text(encoding="utf-8") == text
