"""The spike-and-slab prior and its hyperpriors (equations 6 to 8 of ``docs/maths.md``)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# Prior probability beyond which the tail of sigma0 is cut off, and the least bound on it
SLAB_TAIL = 1e-6
LEAST_BOUND = 5.0


def largest_slab_scale(gamma_shape: float, gamma_rate: float) -> float:
    """Return the bound on sigma0: what its prior exceeds with probability 1e-6, or 5 if larger.

    Where columns exclude or imply each other, the likelihood is flat over a cone in which
    couplings, biases and sigma0 grow together, and only this bound ends it. It is at least 5, so
    that ordinary data may contradict a narrow prior.

    Examples
    --------
    >>> from slabfield.priors import largest_slab_scale
    >>> round(largest_slab_scale(5.0, 5.0), 2), largest_slab_scale(20.0, 5.0)
    (5.44, 5.0)
    """
    from scipy.special import gammaincinv

    return max(float(np.sqrt(gamma_rate / gammaincinv(gamma_shape, SLAB_TAIL))), LEAST_BOUND)


class Prior(NamedTuple):
    r"""The prior of a run, as plain numbers and arrays.

    ``inclusion`` holds the prior inclusion probability of every interaction: NaN stands for p0,
    learned under Beta(``beta_a``, ``beta_b``); a number is fixed, 0 forbids and 1 forces.
    ``slab_scale`` is sigma0 if fixed, and NaN if it is learned under :math:`\sigma_0^{-2} \sim`
    Gamma(``gamma_shape``, rate ``gamma_rate``), restricted to sigma0 <= ``max_slab_scale``.
    """

    beta_a: float
    beta_b: float
    gamma_shape: float
    gamma_rate: float
    slab_scale: float
    max_slab_scale: float
    bias_precision: float
    inclusion: NDArray[np.float64]

    @property
    def forced(self) -> NDArray[np.bool_]:
        """Interactions that are always present."""
        return np.asarray(self.inclusion == 1)

    @property
    def forbidden(self) -> NDArray[np.bool_]:
        """Interactions that are never present."""
        return np.asarray(self.inclusion == 0)

    @property
    def learned(self) -> NDArray[np.bool_]:
        """Interactions whose inclusion probability is p0, which is learned."""
        return np.isnan(self.inclusion)

    def facts(self) -> dict[str, Any]:
        """Return the prior as plain numbers, to be stored with the draws.

        In ``inclusion_prior``, ``a`` and ``b`` are the parameters of the Beta prior of p0, and
        ``edges`` the fixed probabilities: None if all edges have p0, one number if all have the
        same, or a list with None for edges that have p0. In ``slab_prior``, ``sigma0`` is None if
        it is learned, and ``max`` the bound on it.

        Examples
        --------
        >>> from slabfield.priors import Prior
        >>> Prior.standard(3).facts()["inclusion_prior"]
        {'a': 5.0, 'b': 5.0, 'edges': None}
        >>> Prior.standard(3, inclusion=0.1).facts()["inclusion_prior"]["edges"]
        0.1
        """
        own = [None if value != value else value for value in self.inclusion.tolist()]
        edges = own[0] if len(set(own)) == 1 else own
        sigma0 = None if np.isnan(self.slab_scale) else float(self.slab_scale)
        return {
            "inclusion_prior": {"a": self.beta_a, "b": self.beta_b, "edges": edges},
            "slab_prior": {
                "c": self.gamma_shape,
                "d": self.gamma_rate,
                "sigma0": sigma0,
                "max": self.max_slab_scale,
            },
        }

    @classmethod
    def standard(
        cls,
        n_interactions: int,
        inclusion: tuple[float, float] | float = (5.0, 5.0),
        slab: tuple[float, float] | float = (5.0, 5.0),
        bias_scale: float = 10.0,
    ) -> Prior:
        """Return the same prior for all interactions; a number fixes p0 or sigma0.

        Examples
        --------
        >>> from slabfield.priors import Prior
        >>> Prior.standard(3).beta_a
        5.0
        >>> Prior.standard(3, inclusion=0.1).inclusion
        array([0.1, 0.1, 0.1])
        """
        a, b = inclusion if isinstance(inclusion, tuple) else (1.0, 1.0)
        c, d = slab if isinstance(slab, tuple) else (1.0, 1.0)
        fixed = np.nan if isinstance(inclusion, tuple) else inclusion
        scale = np.nan if isinstance(slab, tuple) else slab
        return cls(
            float(a), float(b), float(c), float(d), float(scale), largest_slab_scale(c, d),
            bias_scale**-2, np.full(n_interactions, fixed, dtype=np.float64),
        )  # fmt: skip
