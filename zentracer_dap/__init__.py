"""The debug adapter of ZenTracer: a DAP proxy in front of ``python -m debugpy.adapter``.

RUNS IN the adapter process. Of the runtime it imports only ``zentracer.wire``.
"""
