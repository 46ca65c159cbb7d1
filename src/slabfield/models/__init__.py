"""What a field is: frozen data, groups of parameters, conversions."""
