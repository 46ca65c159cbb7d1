"""Counts of particles in which a node, or both nodes of a pair, are 1, from bit-packed states."""

from __future__ import annotations

import numpy as np

from slabfield._jit import count_bits, inner, jit, load, reduce_add


def n_words(n_particles: int) -> int:
    """Return the number of 64-bit words that hold the states of one node in all particles."""
    return -(-n_particles // 64)


@inner
def pack_full(state, start, powers):
    """Pack 16 zeros and ones into a number, lowest bit first: a dot product, exact in float32."""
    return reduce_add(load(state, start, 16) * load(powers, 0, 16))


@jit
def pack(states, packed):
    """Pack states (D, n) of float32 zeros and ones into words (ceil(n / 64), D)."""
    n_nodes, n = states.shape
    powers = np.empty(16, np.float32)
    for t in range(16):
        powers[t] = np.float32(1 << t)
    packed[:] = 0
    for i in range(n_nodes):
        state = states[i]
        start = 0
        while start + 16 <= n:
            word = np.uint64(np.int32(pack_full(state, start, powers)))
            packed[start >> 6, i] |= word << np.uint64(start & 48)
            start += 16
        while start < n:
            packed[start >> 6, i] |= np.uint64(state[start] != 0) << np.uint64(start & 63)
            start += 1


@inner
def count_pair(packed, i, j):
    """Number of particles in which nodes i and j are both 1 (i may equal j)."""
    total = np.uint64(0)
    for w in range(packed.shape[0]):
        total += count_bits(packed[w, i] & packed[w, j])
    return np.int64(total)


@inner
def add_row(counts, word, words):
    """Add to ``counts`` the number of bits that ``word`` shares with each of ``words``."""
    for j in range(words.size):
        counts[j] += count_bits(word & words[j])


@jit
def count_all_pairs(packed, counts):
    """Fill ``counts`` with the pair counts of all pairs, in the order of ``triu_indices(D, 1)``."""
    width, n_nodes = packed.shape
    counts[:] = 0
    edge = 0
    for i in range(n_nodes - 1):
        row = counts[edge : edge + n_nodes - 1 - i]
        for w in range(width):
            add_row(row, packed[w, i], packed[w, i + 1 :])
        edge += n_nodes - 1 - i
