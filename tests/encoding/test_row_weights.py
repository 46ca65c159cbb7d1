"""Row weights, and merging and counting of equal rows."""

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from slabfield import SpikeSlabMRF, datasets
from slabfield.chains import row_sums as sampler_data
from slabfield.chains.row_sums import fingerprint, rows_and_sums, weighted_sums
from slabfield.configuration import Settings
from slabfield.encoding import check_weights, code_table, merge_rows, replicate_rows
from slabfield.encoding.row_weights import merge_packed
from slabfield.models.binary import BinaryPairwise
from slabfield.validation import InputError

ROWS = datasets.make_block(60, random_state=3, n_groups=2).rows.astype(np.uint8)
RNG = np.random.default_rng(5)
REPEATS = RNG.integers(0, 4, len(ROWS))
SHORT: dict[str, Any] = {"n_chains": 2, "n_warmup": 10, "n_draws": 30, "random_state": 1}
ENGINES = ("exact", "particles", "pseudo")


def draws_of(rows: Any, weights: Any = None, **settings: Any) -> tuple[Any, ...]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = SpikeSlabMRF(**SHORT | settings).fit(rows, sample_weight=weights)
    draws = fitted.posterior_.draws
    return draws.present, draws.coupling, draws.bias, draws.p0, draws.potential


@pytest.mark.parametrize("n_nodes", [2, 7, 8, 64, 65, 130])
def test_rows_are_merged_and_counted(n_nodes: int) -> None:
    pool = RNG.integers(0, 2, (20, n_nodes)).astype(np.uint8)
    pool[:2, :-1], pool[0, -1], pool[1, -1] = 1, 0, 1  # equal except for the last bit
    rows = pool[RNG.integers(0, 20, 300)]
    expected: dict[bytes, int] = {}
    for row in rows:
        expected[row.tobytes()] = expected.get(row.tobytes(), 0) + 1
    merged, counts = merge_rows(rows)
    assert {row.tobytes(): int(n) for row, n in zip(merged, counts, strict=True)} == expected
    assert len(merged) == len(expected)
    shuffled = merge_rows(rows[RNG.permutation(300)])
    assert np.array_equal(shuffled[0], merged)
    assert np.array_equal(shuffled[1], counts)
    again = merge_rows(merged, counts)
    assert np.array_equal(again[0], merged)
    assert np.array_equal(again[1], counts)


def test_rows_of_no_weight_are_left_out() -> None:
    merged, weights = merge_rows(
        np.array([[0, 1], [1, 1], [0, 1]], np.uint8), np.array([0, 2, 0.0])
    )
    assert merged.tolist() == [[1, 1]]
    assert weights.tolist() == [2.0]


def test_packed_rows_are_merged_in_the_same_way() -> None:
    packed, counts = merge_packed(np.packbits(ROWS, axis=1))
    merged, same = merge_rows(ROWS)
    assert np.array_equal(np.unpackbits(packed, axis=1, count=ROWS.shape[1]), merged)
    assert np.array_equal(counts, same)


def test_whole_weights_replicate_rows_exactly() -> None:
    merged, counts = merge_rows(ROWS)
    replicated = replicate_rows(merged, counts, 1000)
    assert np.array_equal(replicated, np.repeat(merged, counts.astype(int), axis=0))
    assert np.array_equal(merge_rows(replicated)[1], counts)


def test_other_weights_replicate_rows_in_proportion() -> None:
    rows = np.eye(5, dtype=np.uint8)
    weights = np.array([0.5, 10.2, 3.3, 1e-9, 86.0])
    found = replicate_rows(rows, weights, 57).sum(axis=0)
    assert found.sum() == 57
    assert np.all(np.abs(found - 57 * weights / weights.sum()) < 1)
    assert len(replicate_rows(rows, weights / 1000, 57)) == 1


@pytest.mark.parametrize("at_a_time", [7, 1 << 15])
def test_weighted_sums_are_those_of_repeated_rows(
    at_a_time: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampler_data, "ROWS_AT_A_TIME", at_a_time)
    repeated = np.repeat(ROWS, REPEATS, axis=0)
    model = BinaryPairwise(ROWS.shape[1])
    sums, same = weighted_sums(model, ROWS, REPEATS.astype(float)), model.sums(repeated)
    assert sums.n_rows == same.n_rows == REPEATS.sum()
    assert np.array_equal(sums.bias, same.bias)
    assert np.array_equal(sums.coupling, same.coupling)


@pytest.mark.parametrize("engine", ENGINES)
def test_weights_give_the_draws_of_repeated_rows(engine: str) -> None:
    repeated = np.repeat(ROWS, REPEATS, axis=0)
    weighted = draws_of(ROWS, REPEATS, likelihood=engine)
    shuffled = draws_of(repeated[RNG.permutation(len(repeated))], likelihood=engine)
    for one, other in zip(weighted, shuffled, strict=True):
        assert np.array_equal(one, other)
    plain = draws_of(ROWS, likelihood=engine)
    assert not np.array_equal(plain[1], weighted[1])


@pytest.mark.parametrize(
    ("likelihood", "sampler"), [("particles", {"restart": True}), ("exact", {})]
)
def test_weights_in_the_paper_s_sampler(likelihood: str, sampler: dict[str, Any]) -> None:
    settings: dict[str, Any] = {"preset": "paper", "likelihood": likelihood}
    settings["sampler"] = {"thin": 5, **sampler}
    weighted = draws_of(ROWS, REPEATS, **settings)
    repeated = draws_of(np.repeat(ROWS, REPEATS, axis=0), **settings)
    for one, other in zip(weighted, repeated, strict=True):
        assert np.array_equal(one, other)


def test_a_sample_of_many_rows_changes_the_start_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exact chains of sweeps know the sums alone; a larger field starts from the sample."""
    many = datasets.make_block(300, random_state=1, n_groups=2).rows
    whole = draws_of(many, likelihood="exact")
    table = code_table(datasets.make_random(400, 30, random_state=0, method="gibbs").rows)
    model = BinaryPairwise(30)
    all_rows, _, sums = rows_and_sums(model, table, Settings())
    assert len(all_rows) == 400
    monkeypatch.setattr(sampler_data, "MOST_ROWS", 50)
    for one, other in zip(whole, draws_of(many, likelihood="exact"), strict=True):
        assert np.array_equal(one, other)
    sample, _, same = rows_and_sums(model, table, Settings())
    assert len(sample) == 50
    assert np.array_equal(sums.coupling, same.coupling)
    assert len(rows_and_sums(model, table, Settings(restart=True))[0]) == 400
    assert len(rows_and_sums(model, table, Settings(engine="pseudo"))[0]) == 400
    present = draws_of(table.rows, likelihood="particles", n_draws=10)[0]
    assert present.shape == (2, 10, 435)


def test_two_half_weights_equal_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fractional weights: each row twice, with weight one half."""
    twice, halves = np.concatenate([ROWS, ROWS]), np.full(2 * len(ROWS), 0.5)
    for one, other in zip(
        draws_of(ROWS, likelihood="exact"), draws_of(twice, halves, likelihood="exact"), strict=True
    ):
        assert np.array_equal(one, other)


def test_weights_are_recorded_in_the_settings() -> None:
    weights = np.linspace(0.1, 2.0, len(ROWS))
    fitted = SpikeSlabMRF(**SHORT).fit(ROWS, sample_weight=weights)
    recorded = fitted.posterior_.settings
    assert fitted.n_rows_ == recorded["n_rows"] == len(ROWS)
    assert recorded["total_weight"] == pytest.approx(weights.sum())
    prints = {
        recorded["data_fingerprint"],
        fingerprint(code_table(ROWS)),
        fingerprint(code_table(ROWS, sample_weight=weights + 1)),
    }
    assert len(prints) == 3


def test_sparse_tables_take_weights() -> None:
    fitted = SpikeSlabMRF(**SHORT).fit(sparse.csr_array(ROWS), sample_weight=REPEATS)
    assert fitted.posterior_.settings["total_weight"] == REPEATS.sum()


def test_the_median_uses_weights() -> None:
    rows = [[1.0, 0], [2.0, 1], [3.0, 0], [4.0, 1]]
    assert code_table(rows, {"x0": "median"}).variables[0].threshold == 3.0
    weighted = code_table(rows, {"x0": "median"}, sample_weight=[1, 5, 1, 1])
    assert weighted.variables[0].threshold == 3.0
    assert (
        code_table(rows, {"x0": "median"}, sample_weight=[9, 5, 1, 1]).variables[0].threshold == 2.0
    )
    assert (
        code_table(rows, {"x0": "median"}, sample_weight=[0, 5, 1, 1]).variables[0].threshold == 3.0
    )


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ([1.0] * 5, r"that is 60 .* found shape \(5,\)"),
        (np.ones((60, 2)), r"found shape \(60, 2\)"),
        ([-1.0] + [1.0] * 59, "at least 0; found -1 for row 0. Correct"),
        ([1.0] * 58 + [np.nan, np.inf], "found nan for row 58 and 1 more like it"),
        (np.zeros(60), "found only zeros"),
        (["many"] * 60, "must hold a number for each row"),
        ([1j] * 60, "must hold a number for each row"),
    ],
)
def test_bad_weights_get_a_message(weights: Any, expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        SpikeSlabMRF(**SHORT).fit(ROWS, sample_weight=weights)


def test_fractional_weights_of_the_pseudo_likelihood_lie_between_whole_ones() -> None:
    strong = np.repeat([[0, 0, 1], [1, 1, 0], [0, 1, 1], [1, 0, 0]], 4, axis=0)
    settings = {"likelihood": "pseudo", "inclusion_prior": 0.5, "random_state": 1, "n_draws": 2_000}
    found = [
        SpikeSlabMRF(**settings)
        .fit(strong, sample_weight=[weight] * 8 + [1] * 8)
        .inclusion_probability_[0, 1]
        for weight in (2, 3.5, 5)
    ]
    assert found == sorted(found)
    assert found[0] + 0.05 < found[1] < found[2] - 0.02


def test_a_scalar_weight_applies_to_all_rows() -> None:
    assert check_weights(2, 3).tolist() == [2.0, 2.0, 2.0]
