"""Compiled functions: a function that Python calls owns all that it calls."""

import numpy as np
import pytest

from slabfield._jit import inner, jit, numba
from slabfield.kernels.table import exponentiate


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
    """Functions in compiled code that another compiled function may take the place of."""
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
    # nor can a name that is looked up find what it owns, which need not take the same arguments
    (found,) = compiled.overloads.values()
    names = [function.name for function in found.library.get_defined_functions()]
    assert not [name for name in names if ("root" in name or "total" in name)
                and "sealed_root" not in name and not name.endswith(".own")]  # fmt: skip


def test_the_check_finds_shared_code() -> None:
    @numba.njit
    def open_twice(values, powers, bits):
        exponentiate(values, 0.0, powers, bits)
        exponentiate(values[1:], 1.0, powers, bits)
        exponentiate(values[2:], 2.0, powers, bits)
        exponentiate(values[3:], 3.0, powers, bits)

    powers = np.zeros(50)
    open_twice(np.zeros(50), powers, powers.view(np.int64))
    assert shared_functions(open_twice)


def test_a_part_has_no_code_of_its_own_and_python_can_call_it_all_the_same() -> None:
    values = np.arange(10, dtype=np.float32)
    assert root(values) == np.sqrt(np.float32(285.0))
    jit(sealed_root)(values)
    (part,) = root.overloads.values()
    with pytest.raises((TypeError, ValueError)):
        part.entry_point(values)
    assert part.library.name == "root"
    assert not [f for f in part.library.get_defined_functions() if "cpython" in f.name]
