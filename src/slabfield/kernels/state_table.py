"""Table of the weights of all 2^D states of a binary field; bit i of an index is node i."""

from __future__ import annotations

import math

import numpy as np

from slabfield._jit import (
    fold_add,
    full,
    inner,
    load,
    maximum,
    multiply_add,
    polynomial,
    reduce_add,
    reduce_max,
    store,
)

LOG2E = 1.0 / math.log(2.0)
LN2 = math.log(2.0)
# Smallest exponent; e^-700 is still a normal number in double precision
LOWEST = -700.0
TAYLOR = tuple(1.0 / math.factorial(k) for k in range(14))
# Number of elements summed at a time (vector width): first, and of the remainder
WIDE, NARROW = 16, 4


@inner
def exponentiate(values, shift, powers, bits):
    """Replace ``values`` by exp(values - shift), to about 1e-14 relative; shift is their maximum.

    Vectorized: exp(x) = 2^k exp(r) with |r| below 0.35. ``powers`` is a buffer for powers of two
    and ``bits`` the same memory viewed as 64-bit integers; it must not overlap ``values``, or the
    loop could not be vectorized. Results are at least e^-700.
    """
    for s in range(values.size):
        x = values[s] - shift
        x = LOWEST if x < LOWEST else x
        k = np.floor(multiply_add(x, LOG2E, 0.5))
        values[s] = polynomial(multiply_add(k, -LN2, x), TAYLOR)
        bits[s] = (np.int64(np.int32(k)) + 1023) << 52
    for s in range(values.size):
        values[s] *= powers[s]


@inner
def add_shifted(target, source, shift):
    """Fill ``target`` with ``source`` plus a constant."""
    for s in range(source.size):
        target[s] = source[s] + shift


@inner
def add_two(target, source, other):
    """Fill ``target`` with ``source`` plus ``other``."""
    for s in range(source.size):
        target[s] = source[s] + other[s]


@inner
def add_times(target, source, factor):
    """Add a multiple of one array to another, in place."""
    for s in range(target.size):
        target[s] = multiply_add(factor, source[s], target[s])


@inner
def total_of(values):
    """Sum of an array."""
    wide, narrow = values.size - values.size % WIDE, values.size - values.size % NARROW
    sums = full(0.0, WIDE)
    for s in range(0, wide, WIDE):
        sums += load(values, s, WIDE)
    few = fold_add(sums, NARROW)
    for s in range(wide, narrow, NARROW):
        few += load(values, s, NARROW)
    total = reduce_add(few)
    for s in range(narrow, values.size):
        total += values[s]
    return total


@inner
def largest_of(values):
    """Maximum of an array."""
    whole = values.size - values.size % WIDE
    largest = values[0]
    if whole > 0:
        maxima = load(values, 0, WIDE)
        for s in range(WIDE, whole, WIDE):
            maxima = maximum(load(values, s, WIDE), maxima)
        largest = reduce_max(maxima)
    for s in range(whole, values.size):
        largest = values[s] if values[s] > largest else largest
    return largest


@inner
def fill_table(weights, scratch, bias, matrix):
    """Fill ``weights`` with the relative weights of all states; return the log of their scale.

    The log weights are built by doubling: the half of the table with node i at 1 equals the half
    with node i at 0 plus the field of node i, which is itself built by doubling.
    """
    weights[0] = 0.0
    for i in range(bias.size):
        size = 1 << i
        scratch[0] = bias[i]
        for j in range(i):
            half = 1 << j
            add_shifted(scratch[half : 2 * half], scratch[:half], matrix[i, j])
        add_two(weights[size : 2 * size], weights[:size], scratch[:size])
    shift = largest_of(weights)
    exponentiate(weights, shift, scratch, scratch.view(np.int64))
    return shift


@inner
def fold(target, high, low, size):
    """Add the ``size`` elements from ``high`` on to those from ``low`` on, in place."""
    for s in range(size):
        target[low + s] += target[high + s]


@inner
def fold_low(sums):
    """Turn weights into superset sums over the lowest four nodes, block by block."""
    for begin in range(0, sums.size, 16):
        for k in range(8):
            sums[begin + 2 * k] += sums[begin + 2 * k + 1]
        for k in range(0, 16, 4):
            for s in range(2):
                sums[begin + k + s] += sums[begin + k + 2 + s]
        for k in range(0, 16, 8):
            for s in range(4):
                sums[begin + k + s] += sums[begin + k + 4 + s]
        for s in range(8):
            sums[begin + s] += sums[begin + 8 + s]


@inner
def superset_sums(sums):
    """Replace the weight of every state by the sum over all states whose ones include its ones.

    In place (zeta transform over supersets). There are at least 16 weights.
    """
    fold_low(sums)
    size = 16
    while size < sums.size:
        for start in range(0, sums.size, 2 * size):
            fold(sums, start + size, start, size)
        size *= 2


# Entries of the table in which two nodes are 1 are visited in contiguous runs. Nodes below
# BLOCK_BITS vary within blocks of BLOCK entries, which are first summed into one block.
BLOCK_BITS = 4
BLOCK = 1 << BLOCK_BITS


@inner
def fold_blocks(weights, start, stop, block):
    """Add all blocks of weights[start:stop] to ``block``."""
    sums = load(block, 0, BLOCK)
    for begin in range(start, stop, BLOCK):
        sums += load(weights, begin, BLOCK)
    store(block, 0, sums)


@inner
def scale_run(weights, start, count, step, factor):
    """Multiply ``count`` weights, from ``start`` on and ``step`` apart, by a factor."""
    for s in range(count):
        weights[start + s * step] *= factor


@inner
def sum_where(weights, low, high, block):
    """Sum of the weights of the states in which nodes low <= high are both 1."""
    size = weights.size
    a, b = 1 << low, 1 << high
    total = 0.0
    if low >= BLOCK_BITS:
        for outer in range(b, size, 2 * b):
            if low == high:
                total += total_of(weights[outer : outer + b])
            else:
                for start in range(outer + a, outer + b, 2 * a):
                    total += total_of(weights[start : start + a])
        return total
    block[:] = 0.0
    mask = a
    if high < BLOCK_BITS:
        mask |= b
        fold_blocks(weights, 0, size, block)
    else:
        for outer in range(b, size, 2 * b):
            fold_blocks(weights, outer, outer + b, block)
    for t in range(BLOCK):
        if t & mask == mask:
            total += block[t]
    return total


@inner
def scale_where(weights, low, high, factor):
    """Multiply the weights of the states in which nodes low <= high are both 1 by a factor."""
    size = weights.size
    a, b = 1 << low, 1 << high
    if high < BLOCK_BITS:
        for t in range(BLOCK):
            if t & a and t & b:
                scale_run(weights, t, size // BLOCK, BLOCK, factor)
        return
    for outer in range(b, size, 2 * b):
        if low == high:
            scale_run(weights, outer, b, 1, factor)
        elif low < BLOCK_BITS:
            for offset in range(a):
                scale_run(weights, outer + a + offset, b // (2 * a), 2 * a, factor)
        else:
            for start in range(outer + a, outer + b, 2 * a):
                scale_run(weights, start, a, 1, factor)
