"""What the adapter does differently from debugpy, one file per user feature."""
