r"""The sweep operator: regression on a set of variables that come in and go out one by one.

``table`` is symmetric: a precision matrix :math:`\Lambda`, and in its last row and column a linear
term h. When the variables of a set S have been brought in, it holds minus the inverse of
:math:`\Lambda_{SS}`, the means :math:`\Lambda_{SS}^{-1} h_S` in the last column, and for the others
what is left of their precisions and linear terms when those of S give way.
"""

from __future__ import annotations

import math

import numpy as np

from slabfield._jit import inner
from slabfield.kernels.hill import factorise
from slabfield.kernels.table import add_times


@inner
def pivot(table, one, row, comes):
    """Bring a variable in, or take it out again. ``row`` is room for a row of the table."""
    size = row.size
    for other in range(size):
        row[other] = table[max(one, other), min(one, other)]
    share = 1.0 / row[one]
    for other in range(size):
        add_times(table[other, : other + 1], row, -share * row[other])
    by = share if comes else -share
    for other in range(size):
        table[max(one, other), min(one, other)] = by * row[other]
    table[one, one] = -share


@inner
def draw_inside(table, inside, n, factor, normal, values):
    """Draw the n variables listed in ``inside``, lowest first, which have been brought in.

    ``normal`` holds independent standard normal numbers, ``factor`` is room. Tells whether the
    covariance was positive definite.
    """
    for a in range(n):
        for b in range(a + 1):
            factor[a, b] = -table[inside[a], inside[b]]
    if not factorise(factor, np.arange(n), n, factor) > -math.inf:
        return False
    last = table.shape[0] - 1
    for a in range(n):
        total = table[last, inside[a]]
        for c in range(a + 1):
            total += factor[a, c] * normal[c]
        values[inside[a]] = total
    return True
