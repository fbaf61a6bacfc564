"""Runs every seeded fault and every healthy twin, with a stop before each.

Usage: python faults.py
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.programs import seeded


def main():
    programs = {name: function for name, (function, _) in seeded.FAULTS.items()}
    programs.update(seeded.HEALTHY)
    for name, program in programs.items():
        print(name)  # @next
        program()
    print("end")  # @end


main()
