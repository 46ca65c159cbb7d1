"""What a run returns: draws, inclusion probabilities, summaries, and whether to trust them."""

from __future__ import annotations

from slabfield.posterior.posterior import Posterior

__all__ = ["Posterior"]
