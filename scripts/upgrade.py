# SPDX-License-Identifier: MIT
"""Documents of JSON read from files."""

import json
import os

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAM = os.environ.get("CBANK", os.path.join(ROOT, "build/cbank"))


def read(path, program=None):  # pylint: disable=unused-argument
    """The content of a file."""
    with open(path, encoding="utf-8") as file:
        return json.load(file)
