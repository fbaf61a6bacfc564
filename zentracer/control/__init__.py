"""What changes the run: stops, breakpoints and conditions.

RUNS IN the training process.
"""
