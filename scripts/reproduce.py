#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws the figures of README.md and docs/ from the committed results, by scripts/plot.py: the same bytes each time.

usage: reproduce.py [--program FILE] [-o DIR]
"""

import argparse
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FIGURES = ("matrix", "serialization", "capacity", "parts")
FILES = ("results/h200/core-matrix.json", "results/characterizations/h200.json")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage=argparse.SUPPRESS)
    parser.add_argument("--program", metavar="FILE", default=os.path.join(ROOT, "build/cbank"))
    parser.add_argument("-o", "--output", metavar="DIR", default=os.path.join(ROOT, "docs/figures"))
    asked = parser.parse_args()
    return subprocess.run([sys.executable, os.path.join(ROOT, "scripts/plot.py"), *(f"--figure={name}" for name in FIGURES),
                           "--format", "svg", "--program", asked.program, "-o", asked.output,
                           *(os.path.join(ROOT, file) for file in FILES)], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
