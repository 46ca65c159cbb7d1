"""The C reference of the benchmarks gives the same states as the compiled kernel; speed ratios."""

import json

import numpy as np
import pytest

import ratios
from reference import gibbs_in_c
from skips import NO_GCC
from slabfield.kernels.gibbs import sweep


@pytest.fixture(scope="module")
def reference():
    return gibbs_in_c


@pytest.fixture(scope="module")
def variants(reference):
    built = reference.build()
    if built is None:
        pytest.skip(NO_GCC)
    return built


# 37 particles leave a remainder in every vector loop; 7 neighbors, after a pass of four
@pytest.mark.parametrize(("n_particles", "degree"), [(128, 4), (37, 7), (64, 0)])
@pytest.mark.parametrize("name", ["sweeps_plain", "sweeps_by_one", "sweeps_by_four"])
def test_c_and_compiled_kernel_draw_identical_states(
    reference, variants, name, n_particles, degree
):
    compiled = reference.random_field(20, n_particles, degree, seed=1)
    start, in_c = reference.copy_of(compiled), reference.copy_of(compiled)
    for _ in range(10):
        sweep(*compiled)
    variants[name](in_c, 10)
    assert not np.array_equal(compiled[0], start[0])
    for ours, theirs in zip(compiled, in_c, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_subnormal_numbers_survive_loading_the_c_library(variants):
    assert np.nextafter(0.0, 1.0) * np.ones(1) > 0


def test_the_check_detects_a_different_random_stream(reference, variants):
    compiled = reference.random_field(20, 64, 4, seed=1)
    other = reference.copy_of(compiled)
    other[5][0, 0] ^= 1 << 31
    sweep(*compiled)
    variants["sweeps_by_four"](other, 1)
    assert not np.array_equal(compiled[5], other[5])


def test_ratios_are_shown_beside_recorded_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    fixed = [
        ratio._replace(measure=lambda k=k: 1000.0 + k) for k, ratio in enumerate(ratios.RATIOS)
    ]
    fixed[0] = fixed[0]._replace(measure=lambda: None)
    monkeypatch.setattr(ratios, "RATIOS", fixed)
    page = ratios.beside_record()
    recorded = json.loads(ratios.RECORDED.read_text(encoding="utf-8"))
    for k, ratio in enumerate(fixed):
        (line,) = (line for line in page.splitlines() if ratio.what in line)
        shown = "gcc not found" if k == 0 else f"{1000.0 + k:.3g}"
        assert f"| {shown} | {recorded['ratios'][ratio.name]:.3g} |" in line
    assert recorded["setting"] in page


def test_the_record_was_written_by_a_run() -> None:
    facts = json.loads(ratios.RECORDED.read_text(encoding="utf-8"))
    assert facts["made_by"] == "benchmarks/ratios.py"
    assert set(facts["ratios"]) == {ratio.name for ratio in ratios.RATIOS}
    assert all(value > 0 for value in facts["ratios"].values())


def test_ratios_can_be_measured() -> None:
    assert 0 < ratios.pairs_beside_product(times=3) < 1e3
    beside_c = ratios.gibbs_beside_c(n_sweeps=2)
    assert beside_c is None or 0 < beside_c < 1e3
