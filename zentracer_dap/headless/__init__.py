"""``zentracer debug``: a debug session without an editor.

RUNS IN the ``zentracer`` command's own process. It is a DAP client of ``python -m zentracer_dap``
and knows nothing that an editor could not know.
"""
