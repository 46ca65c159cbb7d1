"""Compilation: a function that Python calls owns private copies of its callees."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from slabfield._jit import inner, jit, numba
from slabfield.kernels.state_table import exponentiate


@inner
def total(values):
    result = np.float32(0.0)
    for k in range(values.size):
        result += values[k] * values[k]
    return result


@inner
def root(values):
    return np.sqrt(total(values))


def sealed_root(values):
    return root(values)


def shared_functions(dispatcher) -> list[str]:
    """Functions in compiled code that the linker may replace by those of another library."""
    (compiled,) = dispatcher.overloads.values()
    return [
        function.name
        for function in compiled.library.get_defined_functions()
        if function.linkage.name.startswith(("linkonce", "weak")) and function.name[:3] == "_ZN"
    ]


def test_a_function_that_python_calls_shares_no_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slabfield._jit.compiler.CACHE_FOLDER", None)
    compiled = jit(sealed_root)
    values = np.arange(1_000, dtype=np.float32)
    np.testing.assert_allclose(compiled(values), np.sqrt(np.sum(values**2)), rtol=1e-5)
    assert shared_functions(compiled) == []
    # and a lookup by name cannot find a private copy, whose signature may differ
    (found,) = compiled.overloads.values()
    names = [function.name for function in found.library.get_defined_functions()]
    assert not [name for name in names if ("root" in name or "total" in name)
                and "sealed_root" not in name and not name.endswith(".own")]  # fmt: skip


def test_shared_functions_detects_shared_code() -> None:
    @numba.njit
    def plain_numba(values, powers, bits):
        exponentiate(values, 0.0, powers, bits)
        exponentiate(values[1:], 1.0, powers, bits)
        exponentiate(values[2:], 2.0, powers, bits)
        exponentiate(values[3:], 3.0, powers, bits)

    powers = np.zeros(50)
    plain_numba(np.zeros(50), powers, powers.view(np.int64))
    assert shared_functions(plain_numba)


def test_inner_function_has_no_entry_point_but_python_can_call_it() -> None:
    values = np.arange(10, dtype=np.float32)
    assert root(values) == np.sqrt(np.float32(285.0))
    jit(sealed_root)(values)
    (part,) = root.overloads.values()
    with pytest.raises((TypeError, ValueError)):
        part.entry_point(values)
    assert part.library.name == "root"
    assert not [f for f in part.library.get_defined_functions() if "cpython" in f.name]


FIT = """
import hashlib
from slabfield import SpikeSlabMRF, datasets
rows = datasets.make_block(60, random_state=0, n_groups=1).rows
draws = SpikeSlabMRF(n_chains=1, n_warmup=10, n_draws=20, random_state=0, n_jobs=1).fit(rows)
print(hashlib.sha256(draws.posterior_.draws.bias.tobytes()).hexdigest())
"""


@pytest.mark.slow
def test_numba_s_public_interface_gives_the_same_draws(tmp_path: Path) -> None:
    found = set()
    for kind in ("", "plain"):
        environment = os.environ | {"SLABFIELD_JIT": kind, "SLABFIELD_CACHE": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", FIT], env=environment, capture_output=True,
            text=True, check=True,
        )  # fmt: skip
        found.add(done.stdout)
    assert len(found) == 1
    assert len(list(tmp_path.iterdir())) == 2


COMPILE = """
import numpy as np
from slabfield.likelihood.quadratic_surrogate import mean_moments
mean_moments(np.zeros((2, 3)), np.zeros((2, 3)))
print(sum(mean_moments.stats.cache_misses.values()))
"""


def test_of_two_processes_one_compiles_and_the_other_waits(tmp_path: Path) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", COMPILE], stdout=subprocess.PIPE, text=True,
            env=os.environ | {"SLABFIELD_CACHE": str(tmp_path)},
        )
        for _ in range(2)
    ]  # fmt: skip
    assert sorted(process.communicate()[0].strip() for process in processes) == ["0", "1"]
