"""Compiled loops: plain arrays in, plain arrays out, no policy."""
