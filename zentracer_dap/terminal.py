"""Starts debugpy's launcher in a terminal with our folder first on the terminal's PYTHONPATH.

RUNS IN the terminal that the editor opened, with the user's interpreter: ``python terminal.py
INJECT LAUNCHER ADDRESS -- …``. Only here is it known which PYTHONPATH the terminal has.
"""

import os
import runpy
import sys

if __name__ == "__main__":
    inject, launcher = sys.argv[1:3]
    paths = [inject, os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    del sys.argv[:2]
    # As if the launcher had been started itself: it finds its package through sys.path[0].
    sys.path[0] = launcher
    runpy.run_path(launcher, run_name="__main__")
