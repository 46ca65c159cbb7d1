"""Moves of the Markov chain: compiled updates, without any input or output."""
