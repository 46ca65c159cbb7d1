"""What a run returns: draws, inclusion probabilities, summaries, and whether to trust them."""

from __future__ import annotations

from slabfield.posterior.posterior import Posterior
from slabfield.posterior.storage import load_posterior

__all__ = ["Posterior", "load_posterior"]
