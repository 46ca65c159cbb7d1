"""Short vectors: each compiled function equals its plain version."""

from __future__ import annotations

import numpy as np
import pytest

from slabfield._jit import (
    exponents,
    fold_add,
    fold_multiply,
    full,
    jit,
    load,
    mantissas,
    maximum,
    multiply_add,
    polynomial,
    reduce_add,
    reduce_max,
    reduce_multiply,
    store,
    where,
)

WIDTH = 16


@jit
def elementwise(one, other, out):
    """Every function of two vectors, one row for each."""
    a, b = load(one, 0, 16), load(other, 0, 16)
    store(out, 0, a + b)
    store(out, 16, maximum(a, b))
    store(out, 32, where(a < b, a, b))
    store(out, 48, full(one[0], 16) * b)


@jit
def split(one, out):
    """Mantissas, and the sum of exponents, of positive numbers."""
    a = load(one, 0, 16)
    store(out, 0, mantissas(a))
    return reduce_add(exponents(a))


@jit
def fused(one, other, out):
    """Functions that may be fused, that is, rounded once."""
    a, b = load(one, 0, 16), load(other, 0, 16)
    store(out, 0, multiply_add(a, b, a))
    store(out, 16, polynomial(a, (one[1], one[2], one[3])))


@jit
def reductions(one, out):
    """Functions that reduce a vector to half a vector or to one number."""
    a = load(one, 0, 16)
    store(out, 0, fold_add(a, 8))
    store(out, 8, fold_multiply(a, 8))
    out[16] = reduce_add(a)
    out[17] = reduce_multiply(a)
    out[18] = reduce_max(a)


def numbers(seed: int, dtype: type) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=WIDTH).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("seed", range(5))
def test_elementwise_functions(seed, dtype):
    one, other = numbers(seed, dtype), numbers(seed + 10, dtype)
    found, plain = np.zeros(64, dtype), np.zeros(64, dtype)
    elementwise(one, other, found)
    elementwise.py_func(one, other, plain)
    assert np.array_equal(found, plain)


@pytest.mark.parametrize("seed", range(5))
def test_mantissas_and_exponents(seed):
    one = np.exp(20 * numbers(seed, np.float64))
    found, plain = np.zeros(WIDTH), np.zeros(WIDTH)
    assert split(one, found) == split.py_func(one, plain) == np.floor(np.log2(one)).sum()
    assert np.array_equal(found, plain)
    assert np.array_equal(found, one / 2.0 ** np.floor(np.log2(one)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("seed", range(5))
def test_fused_products_are_within_rounding_error(seed, dtype):
    one, other = numbers(seed, dtype), numbers(seed + 10, dtype)
    found, plain = np.zeros(32, dtype), np.zeros(32, dtype)
    fused(one, other, found)
    fused.py_func(one, other, plain)
    assert np.abs(found - plain).max() <= 8 * np.finfo(dtype).eps * np.abs(plain).max()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("seed", range(5))
def test_reductions_halve_the_vector(seed, dtype):
    """Bit for bit: the order of additions is part of the contract."""
    one = numbers(seed, dtype)
    found, plain, left = np.zeros(19, dtype), np.zeros(19, dtype), one.copy()
    reductions(one, found)
    reductions.py_func(one, plain)
    assert np.array_equal(found, plain)
    while left.size > 1:
        left = left[: left.size // 2] + left[left.size // 2 :]
    assert found[16] == left[0]
    assert found[18] == one.max()
