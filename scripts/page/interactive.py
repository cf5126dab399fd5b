# SPDX-License-Identifier: MIT
"""What --interactive puts into the page: D3 with its licence, the cells as data, and the script that shows them."""


class NoLibrary(Exception):
    """There is no D3; the message says where to get it."""


def find_library(path):
    raise NoLibrary("not yet")


def of(program, results, library):
    return None
