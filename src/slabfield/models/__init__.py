"""Models of fields: immutable parameters, interactions and their features, conversions."""
