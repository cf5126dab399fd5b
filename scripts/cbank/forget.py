# SPDX-License-Identifier: MIT
"""Take a run out of a store, for good.

RUN is the name of its file, or the first digits of its hash. Its times and counters are deleted.
The store keeps which run it was, when and why it went; cbank history says so, and cbank ingest does
not take the file again, unless --undo allows it.
"""

from __future__ import annotations

import contextlib
import sqlite3

from .errors import Failure, printable
from .store import Writer, command_line, is_store, not_a_store, open_to_write, whole, write_time

DIGITS_LEAST = 6  # of a hash that names a run


def find(store: sqlite3.Connection, table: str, path: str, name: str) -> tuple[int, str, str]:
    """(start, hash, file) of the one run of a table that is named so. Raises Failure."""
    found = store.execute(
        (
            f"SELECT started_ms, hash, file FROM {table} WHERE file = ?1 OR substr(file,"
            " -length(?1) - 1) = '/' || ?1 OR (length(?1) >= ?2 AND substr(hash, 1, length(?1)) ="
            " ?1) ORDER BY started_ms, file LIMIT 2"
        ),
        (name, DIGITS_LEAST),
    ).fetchall()
    if len(found) > 1:
        raise Failure(
            f"{path}: several runs are named {name}: {found[0][1][:12]} and {found[1][1][:12]}, and"
            " perhaps more; give a hash"
        )
    if not found:
        raise Failure(
            f"{path}: no run is named {name}; give the name of its file, or at least"
            f" {DIGITS_LEAST} digits of its hash, which cbank history --json prints"
        )
    return found[0]


def main(words: list[str]) -> int:
    """Runs the command line `words`, without the name of the command; returns the exit code."""
    parser = command_line("forget", __doc__)
    parser.add_argument("store", metavar="STORE", help="a file that cbank ingest made")
    parser.add_argument("run", metavar="RUN", help="a run of it")
    parser.add_argument("--why", metavar="TEXT", help="the reason, which the store keeps")
    parser.add_argument(
        "--undo",
        action="store_true",
        help="of a forgotten run: let cbank ingest take its file again",
    )
    options = parser.parse_args(words)
    if not is_store(options.store):
        raise not_a_store(options.store)
    with whole(options.store), contextlib.closing(open_to_write(options.store)) as store:
        store.execute("BEGIN IMMEDIATE")
        started, key, file = find(
            store, "forgotten" if options.undo else "runs", options.store, options.run
        )
        writer = Writer(store)
        (writer.remember if options.undo else writer.forget)(key, options.why)
        writer.seal()
        store.execute("COMMIT")
    print(
        f"{'may come back' if options.undo else 'forgotten'}: {printable(file)} of"
        f" {write_time(started)}, hash {key[:12]}"
    )
    return 0
