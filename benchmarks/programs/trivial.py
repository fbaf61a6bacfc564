"""The shortest program: what benchmarks/startup.py starts."""

print("started")  # @first
