"""Likelihood engines: where moments and likelihood ratios come from."""
