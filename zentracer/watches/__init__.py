"""What the user watches: how it changed since the last stop, and its history.

RUNS IN the user's training process. Of a tensor only a bounded sample is kept, never the tensor
or its graph. No framework is imported here.
"""
