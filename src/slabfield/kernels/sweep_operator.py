r"""The sweep operator: regression on a set of variables that enter and leave one at a time.

``table`` is symmetric: a precision matrix :math:`\Lambda`, with a linear term h in its last row and
column. After the variables of a set S have been swept, it holds minus the inverse of
:math:`\Lambda_{SS}`, the means :math:`\Lambda_{SS}^{-1} h_S` in the last column, and for the other
variables the Schur complement: precisions and linear terms with S maximized out. Only the lower
triangle is stored.
"""

from __future__ import annotations

import math

import numpy as np

from slabfield._jit import inner
from slabfield.kernels.laplace import factorize
from slabfield.kernels.state_table import add_times


@inner
def sweep_out(table, one, row, enters):
    """Sweep a variable in, or out if not ``enters``. ``row`` is a buffer for a row of the table."""
    size = row.size
    for other in range(size):
        row[other] = table[max(one, other), min(one, other)]
    inverse = 1.0 / row[one]
    for other in range(size):
        add_times(table[other, : other + 1], row, -inverse * row[other])
    factor = inverse if enters else -inverse
    for other in range(size):
        table[max(one, other), min(one, other)] = factor * row[other]
    table[one, one] = -inverse


@inner
def sample_coefficients(table, inside, n, factor, normal, values):
    """Draw the n variables listed in ``inside``, in increasing order, which have been swept in.

    ``normal`` holds independent standard normal draws; ``factor`` is workspace. Returns whether the
    covariance was positive definite.
    """
    for a in range(n):
        for b in range(a + 1):
            factor[a, b] = -table[inside[a], inside[b]]
    if not factorize(factor, np.arange(n), n, factor) > -math.inf:
        return False
    last = table.shape[0] - 1
    for a in range(n):
        total = table[last, inside[a]]
        for c in range(a + 1):
            total += factor[a, c] * normal[c]
        values[inside[a]] = total
    return True
