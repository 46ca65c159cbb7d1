"""The C reference of the benchmarks gives the same states as the compiled kernel."""

import numpy as np
import pytest

from slabfield.kernels.gibbs import sweep
from slabfield.yardsticks import gibbs_in_c


@pytest.fixture(scope="module")
def reference():
    return gibbs_in_c


@pytest.fixture(scope="module")
def variants(reference):
    built = reference.build()
    if built is None:
        pytest.skip("gcc is not installed: the C version of the Gibbs sweep cannot be built")
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
