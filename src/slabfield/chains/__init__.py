"""Chains: iterations, warm-up, parallel runs, checkpoints."""
