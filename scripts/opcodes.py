# SPDX-License-Identifier: MIT
"""The opcodes of machine code: the rows of harness/code/opcodes.def, which C expands."""

import collections
import os
import re

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../harness/code/opcodes.def")
ROW = re.compile(
    r'^OPCODE(?:_FROM_100|_BEFORE_90)?\((0x[0-9a-f]+), (\w+), "([\w.]+)", (MAY|NOT), (\w+), '
    r"(\w+), \d, ([\w |]+)\)$",
    re.M,
)
OLD = re.compile(r'^NAME_BEFORE_VOLTA\("(\w+)"\)', re.M)

Opcode = collections.namedtuple("Opcode", "number id name kernels loads effect fields")


def _read():
    with open(TABLE, encoding="utf-8") as file:
        text = file.read()
    rows = [
        Opcode(int(number, 16), *more)
        for number, *more in (row.groups() for row in ROW.finditer(text))
    ]
    if len(rows) != len(re.findall(r"^OPCODE", text, re.M)):
        raise ValueError(f"{TABLE}: rows that opcodes.py cannot read")
    return rows, OLD.findall(text)


ROWS, BEFORE_VOLTA = _read()


def numbers(*names):
    """The low 9 bits of the opcodes of these names, with their variants."""
    found = {row.number for row in ROWS if row.name in names}
    if unknown := set(names) - {row.name for row in ROWS}:
        raise ValueError(f"opcodes.def has no {', '.join(sorted(unknown))}")
    return found


def number(identifier):
    """The low 9 bits of one opcode, by its identifier in C."""
    return next(row.number for row in ROWS if row.id == identifier)


def of_kernels():
    """The names, without modifiers, that kernels of the program may have."""
    return {row.name.split(".")[0] for row in ROWS if row.kernels == "MAY"} | set(BEFORE_VOLTA)
