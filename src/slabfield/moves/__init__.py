"""Moves of the Markov chain; each knows its mathematics and no input or output."""
