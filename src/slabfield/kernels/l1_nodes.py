r"""The regularization path of an L1-penalized logistic regression of one node on the others.

.. math:: \min_{b, v}\; \sum_r \log(1 + e^{\eta_r}) - y_r \eta_r + \lambda \sum_j |v_j|,
    \quad \eta = b + X v

Proximal Newton steps on a working set. Coordinate descent minimizes the quadratic model, with the
intercept eliminated from its Hessian. The Hessian is kept from step to step, and from strength to
strength, as long as steps shrink the duality gap well: the weights of the rows hardly change.
"""

from __future__ import annotations

import numpy as np

from slabfield._jit import inner, jit
from slabfield.kernels.logistic import (
    dot,
    dots,
    dual_curvature,
    dual_value,
    feasible,
    fill_with,
    multiply,
    proxy_gap,
    soft,
    statistics,
)
from slabfield.kernels.state_table import add_times, total_of

POOR = 0.01
"""The Hessian is recomputed after a step that leaves more than this fraction of the gap."""
SUFFICIENT = 1e-4
"""Fraction of the predicted decrease that a line search must reach (Armijo condition)."""
ROUNDING = 1e-13
"""Rounding error of the objective that a line search allows, relative to the objective."""
INNER_SHARE = 0.1
"""Tolerance on gradients in coordinate descent, relative to strength times relative gap."""
MOST_PASSES = 2_000
"""Upper bound on passes of coordinate descent."""
POLISH_EVERY = 5
"""Passes of coordinate descent between joint steps of the nonzero coordinates."""
RIDGE = 1e-11
"""Ridge added to the Hessian in such a step, relative to its mean diagonal."""
MOST_HALVINGS = 40
"""Upper bound on step halvings in a line search."""


@inner
def extend_gram(columns, order, old, new, weight, total, gram, margin, scratch):
    """Add rows ``old`` to ``new`` - 1 of the Hessian, the intercept eliminated."""
    for a in range(old, new):
        multiply(columns[order[a]], weight, scratch)
        dots(columns, order, a + 1, scratch, gram[a])
        margin[a] = gram[a, a]  # a 0/1 predictor is its own square
        for b in range(a + 1):
            gram[a, b] -= margin[a] * margin[b] / total
            gram[b, a] = gram[a, b]


@inner
def factorize(matrix, n):
    """Replace the lower triangle of a positive definite matrix by its Cholesky factor."""
    for a in range(n):
        for b in range(a):
            matrix[a, b] = (matrix[a, b] - dot(matrix[a, :b], matrix[b, :b])) / matrix[b, b]
        matrix[a, a] = np.sqrt(max(matrix[a, a] - dot(matrix[a, :a], matrix[a, :a]), 1e-300))


@inner
def polish(gram, n, gradient, value, moved, strength):
    """Move the nonzero coordinates, signs kept, to their joint minimum, or until one is 0.

    Coordinate descent converges slowly where predictors are nearly collinear; this step does not.
    The small ridge turns a collinear direction into a long step that ends where a coordinate
    reaches 0.
    """
    active = np.flatnonzero(value[:n])
    size = active.size
    matrix, step = np.zeros((size, size)), np.zeros(size)
    trace = 0.0
    for a in range(size):
        trace += gram[active[a], active[a]]
    for a in range(size):
        for b in range(a + 1):
            matrix[a, b] = gram[active[a], active[b]]
        matrix[a, a] += RIDGE * trace / size
        step[a] = -gradient[active[a]] - strength * np.sign(value[active[a]])
    factorize(matrix, size)
    for a in range(size):
        step[a] = (step[a] - dot(matrix[a, :a], step[:a])) / matrix[a, a]
    for a in range(size - 1, -1, -1):
        step[a] /= matrix[a, a]
        add_times(step[:a], matrix[a, :a], -step[a])
    scale, first = 1.0, -1
    for a in range(size):
        old = value[active[a]]
        if old * (old + scale * step[a]) < 0.0:
            scale, first = -old / step[a], a
    for a in range(size):
        j = active[a]
        new = 0.0 if a == first else value[j] + scale * step[a]
        change = new - value[j]
        value[j] = new
        moved[j] += change
        add_times(gradient[:n], gram[j, :n], change)


@inner
def descend(gram, n, gradient, value, moved, strength, tolerance):
    """Minimize gradient.d + d.gram.d / 2 + strength |value + d| by coordinate descent.

    ``gradient`` is updated to the gradient at the current d; ``value`` becomes value + d. Passes
    over the nonzero coordinates alternate with passes over all coordinates, until no gradient
    exceeds the tolerance.
    """
    everything = True
    for count in range(1, MOST_PASSES):
        largest = 0.0
        for a in range(n):
            old = value[a]
            if not everything and old == 0.0:
                continue
            curvature = gram[a, a]
            if curvature <= 0.0:
                continue
            new = soft(old * curvature - gradient[a], strength) / curvature
            change = new - old
            if change != 0.0:
                value[a] = new
                moved[a] += change
                add_times(gradient[:n], gram[a, :n], change)
                change = abs(change) * curvature
                largest = change if change > largest else largest
        if largest <= tolerance:
            if everything:
                return
            everything = True
        else:
            everything = False
            if count % POLISH_EVERY == 0:
                polish(gram, n, gradient, value, moved, strength)


@inner
def exact_gap(target, residual, ones, correlation, cross, count, loss, penalty, strength):
    """Duality gap, from the correlations of all allowed predictors (0 for the others)."""
    n = target.size
    above, factor = feasible(ones, n, ones - total_of(residual))
    largest = 0.0
    for j in range(correlation.size):
        if above:
            c = (1.0 - factor) * cross[j] + factor * correlation[j]
        else:
            c = cross[j] - count[j] + factor * (count[j] - cross[j] + correlation[j])
        # a predictor that is not allowed has zeros in all three arrays
        largest = abs(c) if abs(c) > largest else largest
    shrink = strength / largest if largest > strength else 1.0
    return loss + penalty - dual_value(target, residual, above, factor, shrink)


@inner
def admit(order, position, n, value, correlation, strength):
    """Add every predictor whose correlation exceeds the strength to the working set, at 0."""
    for j in range(position.size):
        if position[j] < 0 and abs(correlation[j]) > strength:
            order[n], value[n], position[j] = j, 0.0, n
            n += 1
    return n


@inner
def prune(order, position, n, value, gradient, strength):
    """Drop predictors from the working set that are zero and satisfy the KKT condition at zero."""
    kept = 0
    for a in range(n):
        j = order[a]
        if value[a] != 0.0 or abs(gradient[a]) > strength:
            order[kept], value[kept], gradient[kept], position[j] = j, value[a], gradient[a], kept
            kept += 1
        else:
            position[j] = -1
    return kept


@inner
def enlarged(gram, n):
    """Return the matrix, copied into a larger one unless it has n rows."""
    size = gram.shape[0]
    if n <= size:
        return gram
    larger = np.zeros((2 * n, 2 * n))
    larger[:size, :size] = gram
    return larger


@jit
def node_path(columns, node, allowed, strengths, tolerance, most_steps):
    """Solve for every strength, from the largest to the smallest, with warm starts.

    Parameters
    ----------
    columns : float64 (D, N)
        The variables; 0 or 1.
    node : int
        Index of the response, which must take both values.
    allowed : bool (D,)
        Which variables may be predictors.
    strengths : float64 (K,), decreasing
        On the scale of the mean loss.
    tolerance : float
        Relative duality gap at which the iteration stops.
    most_steps : int
        Upper bound on Newton steps for one strength.

    Returns
    -------
    intercept (K,), coefficient (K, D), gap (K,), steps (K,)
        ``gap`` is relative to the objective.
    """
    n_columns, n = columns.shape
    n_strengths = strengths.size
    intercepts, coefficients = np.zeros(n_strengths), np.zeros((n_strengths, n_columns))
    gaps, steps = np.zeros(n_strengths), np.zeros(n_strengths, np.int64)
    target = columns[node].astype(np.float64)
    ones = total_of(target)
    correlation, cross, count = np.zeros(n_columns), np.zeros(n_columns), np.zeros(n_columns)
    candidates = np.flatnonzero(allowed)
    found = np.zeros(n_columns)
    eta, change = np.zeros(n), np.zeros(n)
    residual, weight, reference, scratch = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    order, position = np.zeros(n_columns, np.int64), np.full(n_columns, -1)
    gram, margin = np.zeros((16, 16)), np.zeros(n_columns)
    gradient, value, moved = np.zeros(n_columns), np.zeros(n_columns), np.zeros(n_columns)
    model_gradient, before = np.zeros(n_columns), np.zeros(n_columns)

    for j in candidates:
        cross[j] = dot(columns[j], target)
        count[j] = total_of(columns[j])
    intercept = np.log(ones / (n - ones))
    fill_with(eta, intercept)
    loss = statistics(eta, target, residual, weight, scratch)
    dots(columns, candidates, candidates.size, residual, found)
    for k in range(candidates.size):
        correlation[candidates[k]] = found[k]
    n_work, n_built, total = 0, 0, 1.0
    for s in range(n_strengths):
        strength = strengths[s] * n
        n_work = admit(order, position, n_work, value, correlation, strength)
        for a in range(n_work):
            gradient[a] = -correlation[order[a]]
        target_gap, previous, outdated = tolerance, np.inf, n_built == 0
        step = 0
        while True:
            penalty = 0.0
            for a in range(n_work):
                penalty += strength * abs(value[a])
            objective = loss + penalty
            residual_sum = total_of(residual)
            approximate_gap = proxy_gap(
                value,
                n_work,
                gradient,
                intercept * residual_sum,
                strength,
                dual_curvature(residual, weight),
            )
            if approximate_gap <= target_gap * objective or step == most_steps:
                dots(columns, candidates, candidates.size, residual, found)
                for k in range(candidates.size):
                    correlation[candidates[k]] = found[k]
                gap = exact_gap(
                    target, residual, ones, correlation, cross, count, loss, penalty, strength
                )
                gaps[s] = gap / objective
                if gap <= tolerance * objective or step == most_steps:
                    break
                grown = admit(order, position, n_work, value, correlation, strength)
                for a in range(n_work, grown):
                    gradient[a] = -correlation[order[a]]
                if grown == n_work:
                    target_gap *= 0.1
                n_work, previous = grown, np.inf
            if approximate_gap > POOR * previous or outdated:
                n_work = prune(order, position, n_work, value, gradient, strength)
                reference[:] = weight
                total = total_of(reference)
                n_built = 0
            previous = approximate_gap
            gram = enlarged(gram, n_work)
            extend_gram(columns, order, n_built, n_work, reference, total, gram, margin, scratch)
            n_built = n_work
            for a in range(n_work):
                model_gradient[a] = gradient[a] + margin[a] * residual_sum / total
                moved[a] = 0.0
                before[a] = value[a]
            descend(
                gram, n_work, model_gradient, value, moved, strength,
                INNER_SHARE * max(target_gap, 0.1 * approximate_gap / objective) * strength,
            )  # fmt: skip
            shift, directional = residual_sum, 0.0
            for a in range(n_work):
                shift -= margin[a] * moved[a]
                directional += gradient[a] * moved[a] + strength * (abs(value[a]) - abs(before[a]))
            shift /= total
            directional -= shift * residual_sum
            fill_with(change, shift)
            for a in range(n_work):
                if moved[a] != 0.0:
                    add_times(change, columns[order[a]], moved[a])
            scale = 1.0
            add_times(eta, change, 1.0)
            for _ in range(MOST_HALVINGS):
                loss = statistics(eta, target, residual, weight, scratch)
                penalty = 0.0
                for a in range(n_work):
                    penalty += strength * abs(before[a] + scale * moved[a])
                if loss + penalty <= objective + SUFFICIENT * scale * directional + (
                    ROUNDING * objective
                ):
                    break
                scale *= 0.5
                add_times(eta, change, -scale)
            outdated = scale < 1.0
            for a in range(n_work):
                value[a] = before[a] + scale * moved[a]
            intercept += scale * shift
            dots(columns, order, n_work, residual, gradient)
            for a in range(n_work):
                gradient[a] = -gradient[a]
            step += 1
        intercepts[s], steps[s] = intercept, step
        for a in range(n_work):
            coefficients[s, order[a]] = value[a]
    return intercepts, coefficients, gaps, steps
