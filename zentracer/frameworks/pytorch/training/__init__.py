"""What can go wrong in a training besides NaN: one file a filter, and what they share.

RUNS IN the training process, while at least one tensor exception is armed.
"""
