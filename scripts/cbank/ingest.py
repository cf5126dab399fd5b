# SPDX-License-Identifier: MIT
"""Put results into a store, an SQLite file for questions over time.

PATH is a result or a calibration, or a folder: then all *.json files in it and in its folders are
taken. Other documents of cbank are passed over. A file that is in already is known by the hash of
its content, and changes nothing. The exit code is 2 when a file was refused; the others are in.
Several commands may write to one store at once.

--forget takes a run out, for good: RUN is the name of its file, or the first digits of its hash.
Its times and counters are deleted. The store keeps which run it was, when and why it went; cbank
history says so. Its file is not taken again, unless --forget RUN --undo allows it.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import sqlite3
import sys
from collections.abc import Callable

from . import documents
from .dates import write_time
from .errors import USAGE, Failure, printable, say
from .kept import take
from .store import Refused, Writer, command_line, is_store, not_a_store, open_to_write, whole

FILES_A_TRANSACTION = 64
# what becomes of a file, in the order of the counts
WORDS = ("new", "known", "refused", "forgotten", "other")
DIGITS_LEAST = 6  # of a hash that names a run
ALWAYS = 3  # counts that are printed though they are 0


def files_of(path: str, deep: bool = True) -> list[str]:
    """The file, or the *.json files of a folder, and of its folders where deep, sorted. Hidden
    ones do not count. Raises Failure."""
    if not path:
        raise Failure("an empty name is no file")
    if not os.path.isdir(path):
        if not os.path.exists(path):
            raise Failure(f"cannot read {path}: No such file or directory")
        return [path]

    def fail(error: OSError) -> None:
        raise Failure(f"cannot read {error.filename}: {error.strerror}")

    found = []
    for folder, folders, names in os.walk(path, onerror=fail):
        folders[:] = [name for name in folders if deep and not name.startswith(".")]
        found += [
            os.path.join(folder, name)
            for name in names
            if name.endswith(".json") and not name.startswith(".")
        ]
    if not found:
        raise Failure(f"{path} has no .json file; name a folder with results")
    return sorted(found)


def mark_invalid(taken: dict, causes: dict[int, str]) -> None:
    """Takes the times of cells that the instrument calls invalid, by their index, and says why."""
    for index, words in causes.items():
        identity, *_, flags, clock, _, _, verified, kernel, counters = taken["times"][index]
        row = (identity, None, None, None, flags, clock, "invalid", words)
        taken["times"][index] = (*row, verified, kernel, counters)


def read(writer: Writer, paths: list[str]) -> list[tuple]:
    """(path, outcome, hash, what is kept) of files."""
    found, contents, failures = {}, {}, {}
    for path in paths:
        try:
            contents[path] = documents.read_bytes(path)
            key = hashlib.sha256(contents[path]).hexdigest()
            found[path] = writer.answer(key), key, None
        except Failure as failure:
            failures[path] = failure
    new = [path for path, (answer, *_) in found.items() if answer == "new"]
    checks = documents.Checks(new)
    for path in new:
        try:
            taken = take(path, contents[path])
            found[path] = "new" if taken else "other", found[path][1], taken
        except Failure as failure:
            failures[path] = failure
    for path in new:
        if found[path][0] == "new" and (failure := checks.failure(path)):
            failures[path] = failure
    for path in new:
        if path not in failures and found[path][0] == "new" and (bad := checks.invalid(path)):
            mark_invalid(found[path][2], bad)
            cells = len(found[path][2]["times"])
            words = min(bad.values())
            say("warning", f"{path}: {len(bad)} of {cells} cells invalid, such as: {words}")
    for path, failure in failures.items():
        say("error", failure)
        found[path] = "refused", None, None
    return [(path, *found[path]) for path in paths]


def add(writer: Writer, path: str, key: str, taken: dict) -> str:
    """Adds what was read; its outcome."""
    try:
        return writer.add(path, key, taken)
    except Refused as refused:
        say("error", refused)
        return "refused"


def add_all(
    store: sqlite3.Connection,
    paths: list[str],
    told: Callable[[str, str], object] = lambda outcome, path: None,
    later: bool = False,
) -> dict[str, int]:
    """Adds files, some in each transaction. `told` gets the outcome of a file once it is in.
    later: as Writer has it. Returns counts by outcome."""
    writer, counts = Writer(store, later), dict.fromkeys(WORDS, 0)
    for first in range(0, len(paths), FILES_A_TRANSACTION):
        files = read(writer, paths[first : first + FILES_A_TRANSACTION])
        store.execute("BEGIN IMMEDIATE")
        try:
            outcomes = [
                (path, add(writer, path, *rest) if outcome == "new" else outcome)
                for path, outcome, *rest in files
            ]
            writer.seal()
            store.execute("COMMIT")
        except BaseException:
            if store.in_transaction:
                store.execute("ROLLBACK")
            raise
        for path, outcome in outcomes:
            counts[outcome] += 1
            told(outcome, path)
        sys.stdout.flush()
    return counts


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


def forget(path: str, name: str, why: str | None, undo: bool) -> None:
    """Takes a run out of the store, or lets its file come back."""
    if not is_store(path):
        raise not_a_store(path)
    with whole(path), contextlib.closing(open_to_write(path)) as store:
        store.execute("BEGIN IMMEDIATE")
        started, key, file = find(store, "forgotten" if undo else "runs", path, name)
        writer = Writer(store)
        if undo:
            writer.remember(key)
        else:
            writer.forget(key, why)
        writer.seal()
        store.execute("COMMIT")
    print(
        f"{'may come back' if undo else 'forgotten'}: {printable(file)} of {write_time(started)},"
        f" hash {key[:12]}"
    )


def options_of(words: list[str]) -> argparse.Namespace:
    """The command line: it adds files, or forgets a run."""
    parser = command_line("ingest", __doc__)
    parser.writes(
        "store", metavar="STORE", help="an SQLite file, which is made where there is none"
    )
    parser.reads("paths", metavar="PATH", nargs="*", help="a result, a calibration or a folder")
    parser.add_argument(
        "--list", action="store_true", help="print what became of each file, once it is in"
    )
    parser.add_argument(
        "--later",
        action="store_true",
        help="take runs that began later than now and a day, too; nothing is judged by them before",
    )
    parser.add_argument("--quiet", action="store_true", help="print only errors and warnings")
    parser.add_argument("--forget", metavar="RUN", help="take a run out, for good")
    parser.add_argument("--why", metavar="TEXT", help="the reason, which the store keeps")
    parser.add_argument(
        "--undo", action="store_true", help="of a forgotten run: let its file be taken again"
    )
    options = parser.parse_args(words)
    if options.forget is None and not options.paths:
        parser.error("a PATH to add, or --forget RUN, is needed")
    if options.forget is not None and options.paths:
        parser.error("give a PATH, or --forget, not both")
    if options.forget is None and (options.why is not None or options.undo):
        parser.error("--why and --undo go with --forget")
    return options


def main(words: list[str]) -> int:
    """Runs the command line `words`, without the name of the command; returns the exit code."""
    options = options_of(words)
    if options.forget is not None:
        forget(options.store, options.forget, options.why, options.undo)
        return 0
    paths = [file for path in options.paths for file in files_of(path)]
    with whole(options.store), contextlib.closing(open_to_write(options.store)) as store:
        counts = add_all(
            store,
            paths,
            lambda outcome, path: options.list and print(f"{outcome:<9} {printable(path)}"),
            options.later,
        )
    if not options.quiet:
        print(
            ", ".join(
                f"{counts[word]} {word if word != 'other' else 'passed over, which are no results'}"
                for index, word in enumerate(WORDS)
                if index < ALWAYS or counts[word]
            )
        )
    return USAGE if counts["refused"] else 0
