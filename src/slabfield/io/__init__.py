"""Files and data frames to raw columns; atomic writes."""
