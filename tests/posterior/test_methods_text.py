"""The text on methods: its facts are those of the run, in every variant, and it is grammatical."""

import ast
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import slabfield
from report_helpers import made_up
from slabfield import Posterior, SpikeSlabMRF, load_posterior
from slabfield.chains.checkpoint import Checkpoint
from slabfield.datasets import make_block
from slabfield.encoding import Encoder, Variable
from slabfield.estimators.run_files import read_run
from slabfield.posterior.methods_convergence import REASONS
from slabfield.posterior.methods_text import MAX_RULES
from slabfield.report.page import make_page

NAMES = [f"item {k}" for k in range(9)]
PLAIN = [Variable.binary(name, (0, 1)) for name in NAMES]
N_EDGES = 36


def paragraph_of(
    n_chains: int = 4, n_draws: int = 500, info: dict[str, Any] | None = None,
    variables: Sequence[Variable] = PLAIN, **settings: Any,
) -> str:  # fmt: skip
    """Return the paragraph, without references, of a made-up run with some settings changed."""
    posterior = made_up(9, n_chains=n_chains, n_draws=n_draws, names=NAMES)
    posterior.settings.update(
        scheme="collapsed", n_missing=0, n_dropped=0, weighted=False, total_weight=300,
        n_chains=n_chains, stopped_by="draws",
    )  # fmt: skip
    posterior.settings.update(settings)
    for chain in posterior.info:
        chain.update(info or {})
    posterior = replace(posterior, encoder=Encoder(tuple(variables)))
    return check_grammar(posterior.methods_text().split("\n\n")[0])


def check_grammar(text: str) -> str:
    """Check what holds of every correct paragraph, and return it."""
    assert not re.search(r"\b(nan|None|inf|unknown\b(?! and))|\{|\}|  |\.\.|,,| [,;.]|\(\)", text)
    assert not re.search(r"\b(1|[Oo]ne) (\w+ )?(draws|chains|edges|biases|variables|entries)", text)
    assert text.count("(") == text.count(")")
    for sentence in re.split(r"(?<=\.) (?=[A-Z])", text):
        assert sentence[0].isupper()
        assert sentence.endswith(".")
        assert not re.search(r"\.\s[a-z]", sentence.replace("et al. ", "")), sentence
    return text


def test_data_and_model() -> None:
    text = paragraph_of()
    assert "among 9 binary variables were estimated from 300 observations" in text
    assert "pairwise Markov random field (an Ising model" in text
    assert "weight" not in text
    assert "There were no missing entries." in text
    assert "All variables had the values 0 and 1 in the data." in text


def test_weights() -> None:
    text = paragraph_of(weighted=True, total_weight=412.5)
    assert "Observations were weighted; the weights sum to 412.5." in text


@pytest.mark.parametrize(
    ("n_missing", "expected"),
    [
        (27, "The 27 missing entries (1.0% of all entries) were treated as unknowns and drawn"),
        (1, "The one missing entry (less than 0.1% of all entries) was treated as an unknown and"),
    ],
)
def test_imputed_entries(n_missing: int, expected: str) -> None:
    text = paragraph_of(n_missing=n_missing)
    assert expected in text
    assert "missing at random" in text
    assert "no missing" not in text


@pytest.mark.parametrize(
    ("n_dropped", "expected"),
    [(12, "A further 12 observations with missing entries were excluded (listwise deletion)."),
     (1, "A further observation with missing entries was excluded (listwise deletion).")],
)  # fmt: skip
def test_dropped_rows(n_dropped: int, expected: str) -> None:
    text = paragraph_of(n_dropped=n_dropped)
    assert expected in text
    assert "no missing" not in text


def coded(**labels: tuple[object, object]) -> list[Variable]:
    return [Variable.binary(name, pair) for name, pair in labels.items()]


def test_all_columns_coded_alike() -> None:
    text = paragraph_of(variables=coded(sleep=("no", "yes"), work=("no", "yes")))
    assert "All variables were coded 1 = 'yes', 0 = 'no'." in text


def test_columns_coded_in_different_ways() -> None:
    age = Variable.binary("age", ("less than 30", "at least 30"), 30.0)
    variables = [*coded(sleep=("no", "yes"), work=("no", "yes"), joy=(1, 2), a=(0, 1)), age]
    text = paragraph_of(variables=variables)
    assert (
        "Variables were coded as follows: 1 = 'yes', 0 = 'no' for sleep and work; 1 = 2, 0 = 1 for "
        "joy; 1 = at least 30, 0 = less than 30 for age. The other variable had the values 0 and 1 "
        "in the data."
    ) in text


def test_many_codings_are_counted() -> None:
    variables = coded(**{f"v{k}": (f"no {k}", f"so {k}") for k in range(MAX_RULES + 1)})
    text = paragraph_of(variables=[*variables, *PLAIN])
    assert f"for v{MAX_RULES - 1}; 1 further variable in other ways." in text
    assert f"v{MAX_RULES}" not in text
    assert "The other 9 variables had the values 0 and 1" in text


# --- prior ----------------------------------------------------------------------------------


def prior_of(edges: object, sigma0: float | None = None) -> dict[str, Any]:
    return {
        "inclusion_prior": {"a": 2.0, "b": 8.5, "edges": edges},
        "slab_prior": {"c": 3.0, "d": 4.0, "sigma0": sigma0, "max": 12.3456},
    }


def test_learned_prior() -> None:
    text = paragraph_of(**prior_of(None), bias_scale=2.5)
    assert "Each of the 36 possible edges had the same prior inclusion probability p0" in text
    assert "p0, which had a Beta(2, 8.5) prior." in text
    assert "standard deviation sigma0, with a Gamma prior of shape 3 and rate 4 on 1/sigma" in text
    assert "1/sigma0^2 and sigma0 at most 12.3." in text
    assert "Biases had normal priors with mean 0 and standard deviation 2.5." in text
    assert "(p0, sigma0, the density of the network and the log potential of the data)" in text


def test_fixed_p0_and_slab() -> None:
    text = paragraph_of(**prior_of(0.1, 1.5))
    assert "Each of the 36 possible edges had a prior inclusion probability of 0.1." in text
    assert "normal with mean 0 and standard deviation 1.5." in text
    assert "(the density of the network and the log potential of the data)" in text
    assert "p0" not in text
    assert "sigma0" not in text
    assert "at most 12.3" not in text
    assert "Beta" not in text


@pytest.mark.parametrize(("value", "expected"), [(0.0, "was excluded"), (1.0, "was included")])
def test_all_edges_decided_a_priori(value: float, expected: str) -> None:
    assert f"Each of the 36 possible edges {expected} a priori." in paragraph_of(**prior_of(value))


def test_prior_knowledge_of_edges() -> None:
    edges = [0.0, 1.0, 1.0, 0.25, 0.25, 0.25, *[None] * 30]
    assert (
        "Of the 36 possible edges, one was excluded a priori, two were included a priori, three "
        "had a prior inclusion probability of 0.25 and the other 30 had the prior inclusion "
        "probability p0, which had a Beta(2, 8.5) prior."
    ) in paragraph_of(**prior_of(edges))


def test_every_edge_with_a_probability_of_its_own() -> None:
    edges = np.round(np.linspace(0.1, 0.8, N_EDGES), 2).tolist()
    text = paragraph_of(**prior_of(edges))
    assert "36 had prior inclusion probabilities of their own, from 0.1 to 0.8." in text
    assert "p0" not in text


def test_two_nodes_have_one_edge() -> None:
    text = check_grammar(made_up(2, n_draws=500).methods_text().split("\n\n")[0])
    assert "The only possible edge had the prior inclusion probability p0, which" in text


# --- sampler --------------------------------------------------------------------------------


def test_exact_engine() -> None:
    assert "computed exactly, as a sum over all 512 states." in paragraph_of(engine="exact")


def test_particles_adapted_in_warm_up() -> None:
    text = paragraph_of(engine="particles", n_particles=0, info={"n_particles": 1024})
    assert "(1,024 in each chain, a number chosen during warm-up)" in text
    assert "particles that passed checks" in text


def test_particles_set_by_the_user() -> None:
    text = paragraph_of(engine="particles", n_particles=64, restart=True)
    assert "(64 in each chain, restarted from observations in every iteration)." in text
    assert "chosen during warm-up" not in text


def test_particles_that_differ_between_chains() -> None:
    posterior = made_up(9)
    posterior.settings.update(engine="particles", n_particles=0)
    for chain, number in zip(posterior.info, (512, 2048, 512, 512), strict=True):
        chain["n_particles"] = number
    assert "(512 to 2,048 by chain, a number chosen" in posterior.methods_text()


def test_pseudo_likelihood() -> None:
    text = paragraph_of(engine="pseudo", pseudo_weight=0.5)
    assert "pseudo-likelihood, the product of the conditional probabilities" in text
    assert "raised to the power 0.5." in text
    assert "chosen automatically" not in text
    assert "raised" not in paragraph_of(engine="pseudo", pseudo_weight=1.0)


def test_a_run_that_fell_back_says_so() -> None:
    text = paragraph_of(engine="pseudo", pseudo_weight=0.5, fell_back="The particles do not mix.")
    assert "chosen automatically, because particles proved unreliable during warm-up." in text


@pytest.mark.parametrize(
    ("scheme", "expected"),
    [
        ("collapsed", "sampled by collapsed Gibbs sampling"),
        ("approximate", "sampled with Algorithm 1 of Chen and Welling (2012)"),
        ("adjusted", "each followed by an exact acceptance step"),
    ],
)
def test_schemes(scheme: str, expected: str) -> None:
    assert expected in paragraph_of(scheme=scheme)


def test_chains_warm_up_and_draws() -> None:
    assert (
        "Four independent chains were run, with 500 draws kept in each (one every 2 iterations) "
        "after 50 discarded warm-up draws, 2,000 draws in total."
    ) in paragraph_of(n_warmup=50, thin=2)
    assert "kept in each after 1 discarded warm-up draw, 2,000" in paragraph_of(n_warmup=1, thin=1)
    assert "A total of 12 independent chains were run" in paragraph_of(n_chains=12)


def test_one_chain() -> None:
    text = paragraph_of(n_chains=1, n_draws=1, n_warmup=0, thin=1)
    assert "One chain was run, with 1 draw kept and no warm-up." in text
    assert "in total" not in text


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("converged", "increased until the criteria below on R-hat and effective draws held."),
        ("time", "The run was ended by a time limit."),
        ("interrupt", "The run, planned with 4 chains, was interrupted before its end."),
    ],
)
def test_why_the_run_ended(reason: str, expected: str) -> None:
    assert expected in paragraph_of(stopped_by=reason)
    assert expected not in paragraph_of()


def test_warm_up_cut_short() -> None:
    text = paragraph_of(info={"warmed_up_for": 1})
    assert "In 4 chains, the time limit ended warm-up after 1 draw." in text


# --- convergence ----------------------------------------------------------------------------


def worst(posterior: Posterior, names: tuple[str, ...]) -> tuple[float, float]:
    found = posterior.diagnostics
    undecided = (posterior.edge_probability >= 0.05) & (posterior.edge_probability <= 0.95)
    kept = {name: undecided if name == "present" else slice(None) for name in names}
    rhat = max(np.nanmax(found[f"rhat_{name}"][kept[name]]) for name in names)
    return rhat, min(np.nanmin(found[f"ess_{name}"][kept[name]]) for name in names)


def test_convergence_with_the_numbers_of_the_run() -> None:
    posterior = made_up(9, n_draws=500)
    assert posterior.converged
    text = check_grammar(posterior.methods_text().split("\n\n")[0])
    first = worst(posterior, tuple(posterior.convergence.quantities))
    second = worst(posterior, ("bias", "present"))
    assert "All criteria were met." in text
    assert "from at least four chains, an R-hat of at most 1.05 and at least 100 effective" in text
    assert "for each bias and for the inclusion indicator of each edge with an inclusion" in text
    assert "an inclusion probability from 0.05 to 0.95; a Monte Carlo standard error of" in text
    assert f"The largest R-hat was {first[0]:.3f} for the global" in text
    assert f"and {second[0]:.3f} for biases and such edges; " in text
    assert f"effective sample size was {first[1]:,.0f} for the global quantities and " in text
    assert f"and {second[1]:,.0f} for biases and such edges; " in text
    error = np.max(posterior.convergence.probability_mcse)
    assert f"standard error of an inclusion probability was {error:.3f}." in text


def test_what_has_not_converged_is_counted() -> None:
    posterior = made_up(9, n_draws=20)
    text = check_grammar(posterior.methods_text().split("\n\n")[0])
    convergence = posterior.convergence
    n_biases, n_edges = convergence.unconverged_biases.size, convergence.unconverged_edges.size
    assert n_biases > 1
    assert n_edges > 1
    assert f"{n_biases} biases and {n_edges} edges had not converged. The results are" in text
    assert "All criteria were met" not in text


def test_too_few_chains() -> None:
    text = paragraph_of(n_chains=1)
    assert "not all met: there were too few chains to judge convergence" in text
    assert "R-hat could not be computed; the smallest effective sample size was" in text


def test_too_few_draws() -> None:
    text = paragraph_of(n_draws=2)
    assert "there were too few draws to judge convergence. The results are therefore prov" in text
    assert "R-hat and effective sample sizes could not be computed." in text


@pytest.mark.parametrize(
    ("info", "code"),
    [
        ({"not_finite": 1}, "chains-restarted"),
        ({"in_dense_mode": True}, "dense-mode"),
        ({"noise": 9.0}, "too-few-particles"),
        ({"two_start_discrepancy": 99.0}, "particles-do-not-mix"),
        ({"moment_misfit": 99.0}, "particles-lag"),
    ],
)
def test_warnings_of_particles_are_reasons(info: dict[str, Any], code: str) -> None:
    text = paragraph_of(engine="particles", n_particles=100, info=info)
    assert f"The criteria were not all met: {REASONS[code]}. The results" in text


def test_every_problem_has_a_reason() -> None:
    """The codes are read from the source of the diagnostics."""
    source = Path(slabfield.__file__).parent / "posterior" / "diagnostics.py"
    tree = ast.parse(source.read_text(encoding="utf-8"))
    (deviations,) = (each for each in tree.body if getattr(each, "name", None) == "find_deviations")
    codes = [
        {
            node.args[0].value
            for node in ast.walk(part)
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Message"
        }
        for part in (tree, deviations)
    ]
    named = {"unconverged-quantity", "unconverged-biases", "unconverged-edges"}
    assert codes[0] - codes[1] - {"run-longer"} == set(REASONS) | named


# --- software, references, real runs ----------------------------------------------------------


def test_versions_seed_and_references() -> None:
    versions = {"slabfield": "1.2.3", "python": "3.12.1", "numpy": "2.1.0"}
    text = paragraph_of(versions=versions, seed=2**63)
    assert "run in slabfield 1.2.3 with Python 3.12.1 and NumPy 2.1.0; the random seed was" in text
    assert f"{2**63}." in text
    _, paper, software, rhat = made_up(9).methods_text().split("\n\n")
    assert paper.startswith("Chen, Y., & Welling, M. (2012).")
    assert software == "The slabfield developers. slabfield (Version 0.1.0) [Computer software]."
    assert "(2021). Rank-normalization" in rhat


def test_what_is_not_stored_is_left_out() -> None:
    posterior = Posterior(made_up(3).draws, ["a", "b", "c"], {})
    text = check_grammar(posterior.methods_text().split("\n\n")[0])
    assert "among 3 binary variables were estimated with a pairwise" in text
    for word in ("observation", "coded", "missing", "prior", "likelihood", "warm-up", "slabfield"):
        assert word not in text, word


def test_the_report_has_the_text() -> None:
    posterior = made_up(9, names=NAMES)
    page = make_page(posterior)
    for part in posterior.methods_text().split("\n\n"):
        assert f"<p>{part.replace('&', '&amp;')}</p>" in page


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rows = make_block(60, random_state=0, n_groups=1).rows
    return pd.DataFrame(np.where(rows == 1, "yes", "no"), columns=list("abcd"))


def fitted(table: pd.DataFrame, **parameters: Any) -> Posterior:
    weights = parameters.pop("sample_weight", None)
    model = SpikeSlabMRF(n_draws=20, n_warmup=5, n_chains=2, random_state=3, **parameters)
    return model.fit(table, sample_weight=weights).posterior_


def text_of(posterior: Posterior) -> str:
    return check_grammar(posterior.methods_text().split("\n\n")[0])


def test_facts_of_a_real_run(table: pd.DataFrame, tmp_path: Path) -> None:
    posterior = fitted(table)
    text = text_of(posterior)
    for fact in (
        "4 binary variables", "60 observations", "All variables were coded 1 = 'yes', 0 = 'no'.",
        "no missing entries", "Beta(5, 5)", "all 16 states", "Two independent chains",
        "20 draws kept in each", "5 discarded warm-up draws", "40 draws in total",
        "too few chains", "the random seed was 3.", f"slabfield {slabfield.__version__}",
    ):  # fmt: skip
        assert fact in text, fact
    posterior.save(tmp_path / "posterior.nc")
    assert load_posterior(tmp_path / "posterior.nc").methods_text() == posterior.methods_text()


def test_missing_entries_of_real_runs(table: pd.DataFrame) -> None:
    holes = table.copy()
    holes.iloc[[2, 5], 1] = None
    holes.iloc[5, 2] = None
    assert "The three missing entries (1.2% of all entries)" in text_of(fitted(holes, na="impute"))
    dropped = text_of(fitted(holes, na="drop"))
    assert "from 58 observations" in dropped
    assert "A further two" not in dropped
    assert "A further 2 observations with missing entries were excluded" in dropped


def test_weights_and_prior_knowledge_of_a_real_run(table: pd.DataFrame) -> None:
    posterior = fitted(
        table, sample_weight=np.full(60, 0.5), forbid=[("a", "b")], require=[("c", "d")],
        slab_prior=1.5,
    )  # fmt: skip
    text = text_of(posterior)
    assert "the weights sum to 30." in text
    assert "one was excluded a priori, one was included a priori and the other four had" in text
    assert "standard deviation 1.5." in text


def test_a_checkpoint_keeps_the_number_of_dropped_rows(table: pd.DataFrame, tmp_path: Path) -> None:
    holes = table.copy()
    holes.iloc[2, 1] = None
    model = SpikeSlabMRF(n_draws=20, n_warmup=5, n_chains=2, random_state=3, na="drop")
    assert "A further observation" in text_of(model.fit(holes, checkpoint=tmp_path).posterior_)
    _, stored = read_run(Checkpoint(tmp_path))
    assert stored.n_dropped == 1
