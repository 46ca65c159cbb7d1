"""Runs: iterations, warm-up, chains."""
