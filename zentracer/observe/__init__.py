"""What only looks: pure functions that never change the run.

RUNS IN the user's training process.
"""
