"""Warm-up: starting states, the schedule of blocks, edge swaps, particle tuning."""
