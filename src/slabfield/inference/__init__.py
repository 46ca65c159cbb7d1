"""Inference in a given field: enumeration, variable elimination at small treewidth, Gibbs runs."""
