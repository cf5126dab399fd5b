# SPDX-License-Identifier: MIT
"""`cbank report`."""

import os
import subprocess
import sys

from . import instrument


def main(words):
    script = os.path.join(instrument.HERE, "../report.py")
    if not os.path.exists(script):
        script = os.path.join(instrument.HERE, "../../scripts/report.py")
    return subprocess.run([sys.executable, "-I", "-B", script, "--program", instrument.program(), *words], check=False).returncode
