r"""Gibbs sweeps over many particles of a binary pairwise field at once.

Particles are contiguous: ``states`` is (D, n), so that each neighbor of a node adds one scaled row.
Every particle has its own random stream (xoshiro128+, Blackman & Vigna 2021).
"""

from __future__ import annotations

from mmap import mmap

import numpy as np
from numpy.typing import NDArray

from slabfield._jit import inner, jit, multiply_add, polynomial

# tanh(y) = y P(y^2) / Q(y^2) on |y| <= LIMIT to 2e-8, or 3e-7 in single precision: the minimax
# (equal-ripple) rational, fitted by linear programming. Beyond LIMIT, 1 - |tanh| is below 2e-8.
LIMIT = np.float32(9.0)
NUMERATOR = (
    np.float32(0.9999999063168353),
    np.float32(0.1337319785149892),
    np.float32(0.003486582227342444),
    np.float32(2.0471840123004673e-05),
    np.float32(1.318424285839516e-08),
)
DENOMINATOR = (
    np.float32(1.0),
    np.float32(0.46706494700147777),
    np.float32(0.025841980107271404),
    np.float32(0.00032713861277796285),
    np.float32(7.702670132664976e-07),
)
ZERO, HALF, ONE = np.float32(0.0), np.float32(0.5), np.float32(1.0)
# A signed 32-bit integer times this is in [-1, 1)
SCALE = np.float32(2.0**-31)


def new_streams(n_particles: int, rng: np.random.Generator) -> NDArray[np.uint32]:
    """Return the initial state of every particle's random stream: (4, n) nonzero words."""
    return rng.integers(1, 2**32, size=(4, n_particles), dtype=np.uint32)


def new_lists(n_nodes: int) -> tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.int64]]:
    """Return empty neighbor lists, their weights, each (D, D), and their lengths.

    In memory all first neighbors precede all second neighbors, and so on; pages beyond the largest
    degree are never touched and take no memory.
    """
    shape, n_bytes = (n_nodes, n_nodes), 4 * n_nodes**2
    neighbors = np.frombuffer(mmap(-1, n_bytes), np.int32).reshape(shape).T
    weights = np.frombuffer(mmap(-1, n_bytes), np.float32).reshape(shape).T
    return neighbors, weights, np.zeros(n_nodes, np.int64)


@inner
def accumulate(field, bias, neighbors, weights, degree, states):
    r"""Fill ``field`` with :math:`b_i + \sum_j \theta_{ij} x_j`, four neighbors at a time."""
    n = field.size
    for t in range(n):
        field[t] = bias
    k = 0
    while k + 4 <= degree:
        a, b = states[neighbors[k]], states[neighbors[k + 1]]
        c, d = states[neighbors[k + 2]], states[neighbors[k + 3]]
        p, q, r, s = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
        for t in range(n):
            two = multiply_add(q, np.float32(b[t]), multiply_add(p, np.float32(a[t]), field[t]))
            four = multiply_add(r, np.float32(c[t]), two)
            field[t] = multiply_add(s, np.float32(d[t]), four)
        k += 4
    while k < degree:
        a = states[neighbors[k]]
        p = weights[k]
        for t in range(n):
            field[t] = multiply_add(p, np.float32(a[t]), field[t])
        k += 1


@inner
def resample(state, field, streams):
    r"""Draw one node in every particle: 1 where :math:`v < \tanh(h/2)`, v uniform on (-1, 1).

    That event has probability :math:`\sigma(h)` (equation 5). The comparison with the rational
    tanh needs no division. Every operation of the generator is cast back to 32 bits.
    """
    s0, s1, s2, s3 = streams[0], streams[1], streams[2], streams[3]
    for t in range(state.size):
        a, b, c, d = s0[t], s1[t], s2[t], s3[t]
        word = np.int32(np.uint32(a + d))
        shifted = np.uint32(b << np.uint32(9))
        c = np.uint32(c ^ a)
        d = np.uint32(d ^ b)
        s1[t] = np.uint32(b ^ c)
        s0[t] = np.uint32(a ^ d)
        s2[t] = np.uint32(c ^ shifted)
        s3[t] = np.uint32(np.uint32(d << np.uint32(11)) | np.uint32(d >> np.uint32(21)))
        v = np.float32(word) * SCALE
        y = HALF * field[t]
        y = LIMIT if y > LIMIT else y
        y = -LIMIT if y < -LIMIT else y
        z = y * y
        numerator = y * polynomial(z, NUMERATOR)
        denominator = polynomial(z, DENOMINATOR)
        state[t] = ONE if v * denominator < numerator else ZERO


@jit
def sweep(states, bias, neighbors, weights, degree, streams, field):
    r"""Resample every node of every particle once, in place (equation 5).

    .. math:: P(x_i = 1 \mid x_{-i}) = \sigma(b_i + \sum_j \theta_{ij} x_j)

    Parameters
    ----------
    states : float32 or uint8 (D, n), zeros and ones, changed in place
    bias : float (D,)
    neighbors, weights : int32 and float32 (D, width), row i has ``degree[i]`` entries in use
    degree : int (D,)
    streams : uint32 (4, n), state of the random streams; changed in place
    field : float32 (n,), workspace
    """
    for i in range(states.shape[0]):
        accumulate(field, np.float32(bias[i]), neighbors[i], weights[i], degree[i], states)
        resample(states[i], field, streams)


@inner
def fill_neighbors(first, second, members, n_members, coupling, neighbors, weights, degree):
    """Write the edges listed in ``members`` into padded neighbor lists."""
    degree[:] = 0
    for k in range(n_members):
        edge = members[k]
        i, j = first[edge], second[edge]
        value = np.float32(coupling[edge])
        neighbors[i, degree[i]] = j
        weights[i, degree[i]] = value
        degree[i] += 1
        neighbors[j, degree[j]] = i
        weights[j, degree[j]] = value
        degree[j] += 1


@inner
def list_near(nodes, inside, neighbors, degree, near):
    """List the neighbors of a block's nodes, then its nodes; return the length of the list."""
    count = 0
    for b in range(nodes.size):
        inside[nodes[b]] = True
    for b in range(nodes.size):
        i = nodes[b]
        for m in range(degree[i]):
            j = neighbors[i, m]
            if not inside[j]:
                inside[j] = True
                near[count] = j
                count += 1
    for b in range(nodes.size):
        near[count + b] = nodes[b]
    count += nodes.size
    for m in range(count):
        inside[near[m]] = False
    return count
