"""Loads what every training script loads first: what benchmarks/startup.py starts."""

import torch

print(torch.__version__)  # @first
