"""How values read in a debugger: summaries, children and pages.

RUNS IN the user's training process. No framework and no debugger is imported here; both are used
only if the process has loaded them.
"""

from __future__ import annotations


def install() -> None:
    """Present values our way in the pydevd of this process.

    Raises:
        Exception: This version of pydevd lacks what we lean on; values read as in stock debugpy.
    """
    from zentracer.control.pydevd import variables
    from zentracer.present import providers

    providers.register()
    variables.install()
