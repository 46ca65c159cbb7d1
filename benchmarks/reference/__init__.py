"""Reference implementations: the same computations written plainly, in C and in compiled loops."""
