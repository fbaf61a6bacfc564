"""What torchrun does, in small: starts one process a rank, with RANK in its environment."""

import os
import subprocess
import sys
from pathlib import Path

if __name__ == "__main__":
    program = Path(__file__).with_name("nan_log.py")
    ranks = [
        subprocess.Popen([sys.executable, program], env={**os.environ, "RANK": str(number)})
        for number in range(2)
    ]
    for process in ranks:
        process.wait()
    print("all ranks done", flush=True)
