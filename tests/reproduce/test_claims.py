"""Verdicts on the paper's claims, from made-up tables in which they hold or do not hold."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from slabfield.reproduce.claims import CLAIMS, FAILS, Claim, judge
from slabfield.reproduce.rules import at_density, bar

SEEDS = (1, 2, 3)
DOCS = Path(__file__).parents[2] / "docs"


def verdict(start: str, **tables: pd.DataFrame) -> tuple[str, str]:
    (claim,) = [claim for claim in CLAIMS if claim.words.startswith(start)]
    found = judge(claim, tables)
    return found.verdict, found.measured


def scores(**changes: float) -> pd.DataFrame:
    """Scores in which all claims of figure 6 hold; ``changes`` replace some parameters.

    Likelihoods are parabolas in log density with their peak at the true density; those of L1
    methods are narrower and lower.
    """
    params = {
        "bayes": 0.0,
        "peak": 0.2,
        "mle": -0.3,
        "max": -0.5,
        "min": -0.8,
        "width": 0.3,
    } | changes
    params = {"found": 0.2, "sd": 0.01, "sigma0": 0.5} | params
    rows = []
    for kind in ("block", "lattice"):
        for seed in SEEDS:
            shared = {"world": kind, "seed": seed, "n_rows": 100, "true_density": 0.2}
            shared |= {"true_cll": 1.0, "f1": 0.6}
            for p0 in (0.02, 0.1, 0.2, 0.4, 0.8):
                cll = params["bayes"] - params["width"] * np.log(p0 / params["peak"]) ** 2
                sigma0 = params["sigma0"] if p0 == 0.8 else 1.0
                one = {"setting": p0, "density": p0, "cll": cll, "sigma0": sigma0}
                rows.append({**shared, "method": "Bayes p0", **one})
            for method, level in (("MLE", "mle"), ("Wain Max", "max"), ("Wain Min", "min")):
                for share in np.geomspace(1, 0.01, 9):
                    density = 0.9 * (1 - share) + 0.01
                    cll = params[level] - np.log(density / 0.2) ** 2
                    one = {"setting": share, "density": density, "cll": cll}
                    rows.append({**shared, "method": method, **one})
            for method in ("Bayes", "Bayes PM"):
                one = {"density": params["found"], "density_sd": params["sd"], "sigma0": 1.0}
                rows.append({**shared, "method": method, "cll": params["bayes"], "f1": 0.7, **one})
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("start", "changes"),
    [
        ("Bayes p0 beats", {"bayes": -1.0}),
        ("The curve of Bayes p0 peaks", {"peak": 0.8}),
        ("L1 methods under-fit", {"width": 3.0}),
        ("Bayes and Bayes PM find", {"found": 0.3}),
        ("MLE predicts better", {"mle": -0.6}),
        ("Wain Min is always", {"min": -0.4}),
        ("The density varies little", {"sd": 0.1}),
        ("sigma0 shrinks", {"sigma0": 1.1}),
    ],
)
def test_claims_about_scores(start: str, changes: dict[str, float]) -> None:
    assert verdict(start, figure06=scores())[0] == "holds"
    assert verdict(start, figure06=scores(**changes))[0] == "does not hold"


def test_upper_right() -> None:
    good = scores()
    assert verdict("Both end", figure09=good)[0] == "holds"
    better = good.assign(f1=good["f1"].where(good["method"] != "MLE", 0.9))
    assert verdict("Both end", figure09=better)[0] == "holds"  # in F1 alone
    better.loc[better["method"] == "MLE", "cll"] += 1.0
    found, words = verdict("Both end", figure09=better)
    assert found == "does not hold"
    assert "both exceeded by MLE" in words


def test_other_sizes() -> None:
    both = [scores(), scores().assign(n_rows=500)]
    assert verdict("The tendencies", sizes=pd.concat(both))[0] == "holds"
    both[1] = scores(bayes=-1.0).assign(n_rows=500)
    assert verdict("The tendencies", sizes=pd.concat(both))[0] == "does not hold"
    assert verdict("The tendencies", sizes=both[0])[0] == "not measured at this scale"


def edges(error: float) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    exact = rng.uniform(0.1, 0.9, 200)
    sign = rng.choice([-1, 1], 200)
    return pd.DataFrame(
        {
            "p0": 0.5, "probability_exact": exact, "probability": exact + error * sign,
            "mean_exact": 1.0, "mean": 1.0 + error * sign, "sd_exact": 0.3, "sd": 0.3 + error,
            "visit_share": 0.5,
        }
    )  # fmt: skip


@pytest.mark.parametrize(("error", "expected"), [(0.02, "holds"), (0.1, "does not hold")])
def test_approximate_against_exact(error: float, expected: str) -> None:
    found, words = verdict("The approximate sampler", figure04=edges(error))
    assert found == expected
    assert f"rms {error:.3f}" in words
    assert verdict("It gives the exact means", figure04=edges(error))[0] == expected
    both = [
        {"method": f"Bayes{exact}{last}", "setting": p0, "seed": seed,
         "cll": -3.0 - seed + error * (exact == "")}
        for exact in ("", " Exact") for seed in SEEDS
        for last, p0 in (("", np.nan), (" PM", np.nan), (" p0", 0.1), (" PM p0", 0.1))
    ]  # fmt: skip
    found, words = verdict("Approximate and exact", figure07=pd.DataFrame(both))
    assert found == expected
    assert f"Bayes PM p0 {error:.3f} +- 0.000" in words


def moments(ratio: float, shift: float) -> pd.DataFrame:
    mean = np.linspace(-1, 1, 20)
    return pd.DataFrame(
        {
            "mean_0": mean, "mean_0.9": mean + shift, "sd_0": 0.3, "sd_0.9": 0.3 + shift,
            "sd_exact": 0.3, "time_0": 1000.0 * ratio, "time_0.9": 1000.0, "iterations": 10**6,
        }
    )  # fmt: skip


def test_momentum() -> None:
    table = moments(5.0, 0.001)
    assert verdict("Partial momentum", figure02_moments=table)[0] == "holds"
    assert verdict("It leaves", figure02_moments=table)[0] == "holds"
    table = moments(1.5, 0.2)
    assert verdict("Partial momentum", figure02_moments=table)[0] == "does not hold"
    assert verdict("It leaves", figure02_moments=table)[0] == "does not hold"


@pytest.mark.parametrize(
    ("ratios", "expected"),
    [((1.0, 1.01, 1.1, 1.5), "holds"), ((1.0, 1.5, 1.1, 1.01), "does not hold")],
)
def test_large_steps(ratios: tuple[float, ...], expected: str) -> None:
    table = pd.DataFrame(
        {
            "persistence": [0.9, 0.0, 0.9, 0.99],
            "step_size": [1e-3, 3e-2, 3e-2, 3e-2],
            "sd_ratio": ratios,
            "sd_ratio_sd": 0.02,
        }
    )
    assert verdict("A large alpha", figure02_steps=table)[0] == expected


def recovery(**precision: float) -> pd.DataFrame:
    rows = []
    for method in ("Wain Max", "Wain Min", "MLE", "Bayes p0", "Bayes"):
        level = precision.get(method.replace(" ", "_"), 0.85)
        for seed in SEEDS:
            rows += [
                {"n_rows": 100, "seed": seed, "method": method, "recall": r, "precision": p}
                for r, p in ((0.0, np.nan), (0.3, level), (0.6, level / 2))
            ]
    return pd.DataFrame(rows)


def test_precision_and_recall() -> None:
    assert verdict("All methods with", figure05=recovery())[0] == "holds"
    found, words = verdict("All methods with", figure05=recovery(Bayes_p0=0.5))
    assert found == "does not hold"
    assert "over recalls 0.05 to 0.60" in words
    one = recovery().groupby(["method", "seed"]).nth(1)
    assert verdict("Bayes tends", figure05=one)[0] == "holds"
    low = recovery(Bayes=0.5).groupby(["method", "seed"]).nth(1)
    assert verdict("Bayes tends", figure05=low)[0] == "does not hold"


def test_shrinkage() -> None:
    table = pd.DataFrame(
        {
            "model": ["sparse"] * 3 + ["dense"] * 3,
            "true": [1.0, 2.0, 0.0] * 2,
            "Wain Max": [0.2, 0.5, 0.0, 2.0, 3.0, 1.5],
            "Bayes PM": [0.9, 1.9, 0.0, 0.5, 1.0, 0.1],
        }
    )
    assert verdict("Wain Max shrinks", figure08=table)[0] == "holds"
    swapped = table.rename(columns={"Wain Max": "Bayes PM", "Bayes PM": "Wain Max"})
    assert verdict("Wain Max shrinks", figure08=swapped)[0] == "does not hold"
    nothing = table.assign(**{"Wain Max": 0.0})
    assert verdict("Wain Max shrinks", figure08=nothing)[0] == "not measured at this scale"


def test_images() -> None:
    table = scores()
    both = pd.concat([table.assign(n_rows=n, world="mnist") for n in (100, 1000)])
    assert verdict("MNIST: Bayes p0 is better", figure10=both)[0] == "holds"
    worse = scores(bayes=-4.0).assign(world="mnist")
    assert verdict("MNIST: Bayes p0 is better", figure10=worse)[0] == "does not hold"
    one = pd.DataFrame(
        {
            "method": ["Wain Max", "Wain Min", "MLE", "Bayes PM p0", "Bayes p0"],
            "n_rows": 1000,
            "density": 0.2,
            "moment_error": [0.3, 0.3, 0.3, 0.2, 0.1],
            "cll": [-2.0, -2.0, -1.8, -1.9, -1.5],
        }
    )
    models = pd.concat([one.assign(seed=1), one.assign(seed=2, cll=one["cll"] - 0.5)])
    found, words = verdict("MNIST: Bayes PM is weak", figure11=models)
    assert found == "holds"
    assert "MLE -2.05 +- 0.35 at density 0.20" in words
    assert verdict("MNIST: Bayesian samples", figure11=models)[0] == "holds"
    other = one.assign(moment_error=0.3, cll=[-2.0, -2.0, -2.0, -1.9, -1.5])
    assert verdict("MNIST: Bayes PM is weak", figure11=other)[0] == "does not hold"
    assert verdict("MNIST: Bayesian samples", figure11=other)[0] == "does not hold"
    far = models.assign(density=0.05)
    assert verdict("MNIST: Bayes PM is weak", figure11=far)[0] == "not measured at this scale"


@pytest.mark.parametrize(("change", "expected"), [(0.01, "holds"), (0.5, "does not hold")])
def test_sensitivity(change: float, expected: str) -> None:
    rows = [
        {"world": "block", "method": "Bayes", "parameter": name, "value": value, "density": 0.2,
         "seed": seed, "cll": -4.0 - seed - change * (value == 20),
         "f1": 0.8 - change * (value == 1)}
        for name in ("a", "b", "c", "d", "sigma_b") for value in (1, 20) for seed in SEEDS
    ]  # fmt: skip
    found, words = verdict("Prediction is insensitive", sensitivity=pd.DataFrame(rows))
    assert found == expected
    assert f"likelihood {-6 - change / 2:.2f} +- 1.00 changes by a {change:.3f}" in words
    assert verdict("So is the structure", sensitivity=pd.DataFrame(rows))[0] == expected


def test_widths() -> None:
    rows = [
        {"world": "lattice", "seed": seed, "method": method, "width": width + seed}
        for method, width in (("Bayes PM", 8), ("Wain Max", 40), ("Wain Min", 30), ("MLE", 35))
        for seed in SEEDS
    ]
    found, words = verdict("A sparser model", figure06_width=pd.DataFrame(rows))
    assert found == "holds"
    assert "Bayes PM 10.0 +- 1.0" in words
    wide = pd.DataFrame(rows).replace({"Bayes PM": "MLE", "MLE": "Bayes PM"})
    assert verdict("A sparser model", figure06_width=wide)[0] == "does not hold"


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.words[:30])
def test_the_page_agrees_with_its_tables_has_error_bars_and_causes(claim: Claim) -> None:
    tables = {path.stem: pd.read_csv(path) for path in (DOCS / "reproduction").glob("*.csv")}
    found = judge(claim, tables)
    page = (DOCS / "reproduction.md").read_text().replace("**", "")
    assert f"| {found.measured} | {claim.rule.replace('|', '')} | {found.verdict} |" in page
    # an sd over data sets, edges or parameters, quartiles, or a Monte Carlo error
    assert any(mark in found.measured for mark in (" +- ", "quartiles", "Monte Carlo error"))
    if found.verdict == FAILS:
        assert claim.cause
        assert f"- *{claim.words}* {claim.cause}" in " ".join(page.split())


def test_every_claim_is_not_measured_without_its_tables() -> None:
    for claim in CLAIMS:
        found = judge(claim, {})
        assert found.verdict == "not measured at this scale"
        assert claim.tables[0] in found.measured


def test_helpers() -> None:
    assert bar([0.5]) == "0.500"
    path = pd.DataFrame({"density": [0.4, 0.0, 0.2], "cll": [-4.0, 0.0, -2.0]})
    np.testing.assert_allclose(at_density(path, [0.1, 0.3, 0.9]), [-1.0, -3.0, -4.0])
