"""``zentracer.stalled``: trainable parameters that do not learn, and the line that is to blame.

RUNS IN the training process. docs/tensor-exceptions.md has the kinds and their thresholds.
"""
