"""Programs about parameters that do not learn: with a fault at a marked line, and without."""
