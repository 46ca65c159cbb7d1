"""Likelihood engines: they compute moments, likelihood ratios and block tables."""
