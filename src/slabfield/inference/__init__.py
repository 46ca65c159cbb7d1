"""Exact inference: enumeration of small fields, variable elimination at small treewidth."""
