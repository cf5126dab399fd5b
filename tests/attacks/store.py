#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Damages a store, in its bytes or in its rows: fleet and history refuse it, or say what they said
before.

A row of the second class has another value, that of another row, or is deleted or copied: its page
is whole.
"""

import os
import sqlite3
import sys
from unittest import mock

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
from common import analysis, read_bytes  # noqa: E402
from nights import calibration_of, Case, result_of, slower  # noqa: E402
from run import FAILED, Campaign  # noqa: E402

COUNT, QUICK = 100, 4
CELL = "add/constant/per_block/12800000/1024/hot"
COMMANDS = (("fleet", "--json", "-"), ("history", "--json"), ("history", "--json", "--cell", CELL))
PAGE = 4096


def make():
    """Makes store.db, of 4 GPUs and 5 nights, with all that a store can have. It is always the
    same."""
    case = Case()
    case.folder = "."
    for night in range(5):
        for gpu in range(4):
            result = result_of(gpu, night, cells=3)
            slower(
                result,
                1.05 if gpu == 1 and night >= 3 else 1 + 0.0001 * ((7 * gpu + 3 * night) % 5),
            )
            if gpu == 2 and night == 4:
                result["cells"][1].update(status="failed", reason="wrong output", verified=False)
            case.write(f"{night}-{gpu}.json", result)
    case.write("calibration.json", calibration_of(3, 0.001, cells=3))
    with mock.patch("time.time", return_value=1.8e9):
        for words in (
            ("ingest", "store.db", "."),
            ("ingest", "store.db", "--forget", "0-0.json", "--why", "a test"),
        ):
            assert analysis(*words).returncode == 0


def damage_bytes(chance, data):
    """Other bytes of a file."""
    data, at = bytearray(data), chance.randrange(len(data))
    if chance.random() < 0.5:  # near the beginning of a page: heads and pointers of cells
        at = min(at // PAGE * PAGE + chance.randrange(128), len(data) - 1)
    length = chance.choice((1, 2, 8, 64, 512, PAGE))
    kind = chance.randrange(6)
    if kind == 0:
        data[at] ^= 1 << chance.randrange(8)
    elif kind == 1:
        data[at] = chance.randrange(256)
    elif kind == 2:
        data[at : at + length] = bytes(len(data[at : at + length]))
    elif kind == 3:
        data[at : at + length] = chance.randbytes(len(data[at : at + length]))
    elif kind == 4:
        other = chance.randrange(len(data) // PAGE)
        page = data[other * PAGE :][:PAGE]
        data[at // PAGE * PAGE :][:PAGE] = page
        data[at // PAGE * PAGE : at // PAGE * PAGE + PAGE] = page
    else:
        del data[at:]
    return data


def damage_rows(chance, path):
    """Changes rows of a store by SQL."""
    store = sqlite3.connect(path)
    store.execute("PRAGMA ignore_check_constraints = ON")
    tables = [
        name for name, in store.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
    ]
    table = chance.choice((*tables, "times", "times", "runs"))
    rows = store.execute(f"SELECT * FROM {table}")
    columns = [column[0] for column in rows.description]
    rows = rows.fetchall()
    row, other = chance.choice(rows), chance.choice(rows)
    where, column = " AND ".join(f"{name} IS ?" for name in columns), chance.randrange(len(columns))
    value = row[column]
    if isinstance(value, (int, float)):
        value = chance.choice(
            (
                value + 1,
                value * 2,
                -value,
                value * 1.0000001 if isinstance(value, float) else value ^ 1,
                other[column],
            )
        )
    else:
        value = chance.choice((other[column], (value or "") + "x", (value or "x")[:-1], None))
    kind = chance.randrange(8)
    try:
        if kind == 0:
            store.execute(f"DELETE FROM {table} WHERE {where}", row)
        elif kind == 1:
            copy = [value if i == column else of for i, of in enumerate(row)]
            store.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(copy))})", copy)
        else:
            store.execute(f"UPDATE {table} SET {columns[column]} = ? WHERE {where}", (value, *row))
        store.commit()
    except sqlite3.Error:  # the schema forbids it
        pass
    store.close()
    return read_bytes(path)


def outcomes(path):
    """(exit code, output, messages) of each command; what it raised in place of an output."""
    found = []
    for command, *options in COMMANDS:
        try:
            done = analysis(command, path, *options)
            found.append((done.returncode, done.stdout, done.stderr))
        except Exception as error:  # pylint: disable=broad-exception-caught
            found.append((None, repr(error), ""))
    return found


def main():
    campaign = Campaign(COUNT, QUICK)
    os.chdir(campaign.folder)
    make()
    data, before = read_bytes("store.db"), outcomes("store.db")
    assert all(status in (0, 1) for status, _, _ in before), before
    refused = 0
    for number in range(campaign.options.count):
        chance, name = campaign.chance(number), ("store, bytes", "store, rows")[number % 2]
        with open("store.db", "wb") as file:
            file.write(data if number % 2 else damage_bytes(chance, data))
        changed = damage_rows(chance, "store.db") if number % 2 else read_bytes("store.db")
        campaign.tried[name] = campaign.tried.get(name, 0) + 1
        after = outcomes("store.db")
        refused += any(status == 2 for status, _, _ in after)
        for command, old, (status, out, said) in zip(COMMANDS, before, after):
            if (status, out) != old[:2] and (status != 2 or out or "cbank: error: " not in said):
                campaign.failed[name] = campaign.failed.get(name, 0) + 1
                os.makedirs(FAILED, exist_ok=True)
                kept = os.path.join(FAILED, f"store-{campaign.options.seed}-{number}.db")
                with open(kept, "wb") as file:
                    file.write(changed)
                print(
                    f"{name}: exit {status},"
                    f" {'raised ' + out if status is None else 'other output'}; cbank"
                    f" {command[0]} {kept} {' '.join(command[1:])}"
                )
                break
    print(
        f"{refused} of {campaign.options.count} stores were refused, the others give the same"
        " output"
    )
    return campaign.end()


if __name__ == "__main__":
    sys.exit(main())
