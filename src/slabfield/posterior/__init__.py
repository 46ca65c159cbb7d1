"""Results of a run: draws, inclusion probabilities, summaries and convergence diagnostics."""

from __future__ import annotations

from slabfield.posterior.posterior import Posterior
from slabfield.posterior.storage import load_posterior

__all__ = ["Posterior", "load_posterior"]
