"""The spike, the slab and their hyper-priors (equations 6 to 8 of ``docs/maths.md``)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Prior(NamedTuple):
    r"""The prior of a run, as plain numbers and arrays.

    ``inclusion`` holds, for every interaction, NaN where its probability is p0, learnt under
    Beta(``beta_a``, ``beta_b``), and else its own probability: 0 forbids, 1 forces. ``slab_scale``
    is NaN where sigma0 is learnt, :math:`\sigma_0^{-2} \sim` Gamma(``gamma_shape``, rate
    ``gamma_rate``), and else its value.
    """

    beta_a: float
    beta_b: float
    gamma_shape: float
    gamma_rate: float
    slab_scale: float
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
    def learnt(self) -> NDArray[np.bool_]:
        """Interactions whose probability is p0, learnt."""
        return np.isnan(self.inclusion)

    @classmethod
    def standard(
        cls,
        n_interactions: int,
        inclusion: tuple[float, float] | float = (5.0, 5.0),
        slab: tuple[float, float] | float = (5.0, 5.0),
        bias_scale: float = 10.0,
    ) -> Prior:
        """One prior for all interactions; a number fixes p0 or sigma0.

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
            float(a), float(b), float(c), float(d), float(scale), bias_scale**-2,
            np.full(n_interactions, fixed, dtype=np.float64),
        )  # fmt: skip
