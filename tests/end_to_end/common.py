# SPDX-License-Identifier: MIT
"""What the tests of this folder share."""

import os

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# What many repetitions or many files show is tried with few in `make test`, and with all in `make test-all`.
# tests/unit/size.h reads the same variable.
FULL = os.environ.get("CBANK_TEST") == "full"


def repetitions(everything, few):
    """All of it, or few."""
    return everything if FULL else few
