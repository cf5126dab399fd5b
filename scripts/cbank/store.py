# SPDX-License-Identifier: MIT
"""A store: one SQLite file that keeps the times of many results, for questions over time and over
many GPUs.

store.sql is the schema. A run's key is the hash of its file's content, a cell's key is its
identity.

A damaged store is refused: every table has a sum of the hashes of its rows, every run and every
cell one of its times. A verdict compares all that it reads with them.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import re
import signal
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from . import files
from .checksums import hashes, modulo, sum_of, table_sum, text_hash
from .dates import latest_ms, write_time
from .errors import Failure, Parser, printable, say

APPLICATION = 0x63626E6B  # "cbnk" in ASCII: marks an SQLite file as a store
VERSION = 3  # of store.sql
WAIT_SECONDS = 120  # for another command that writes
# columns of a setup, but for its keys
SETUP = (
    *("uuid", "name", "engine", "modelled", "host", "slot", "driver", "vbios", "geometry"),
    *("part_number", "constant_cache_groups"),
)
# tables with one sum
SUMMED = (
    "setups",
    "runs",
    "identities",
    "kernels",
    "counter_sets",
    "forgotten",
    "calibrations",
    "calibrated",
)
# A store is checked whole before it is written to where it has few runs, or grew by a tenth since:
# the check takes as long as the store is large, and a run of tonight must not.
RUNS_FEW, GROWTH = 1000, 1.1
LAST_CHECK = "checked"  # in the table sums: how many runs there were at the last such check
BAD = ("failed", "invalid")  # of a row: what the instrument calls an invalid cell has no time


class Refused(Failure):
    """A file that cannot go into a store."""


def command_line(name: str, description: str) -> argparse.ArgumentParser:
    """The parser of a command about stores."""
    return Parser(
        prog=f"cbank {name}",
        description=description,
        epilog=(
            "Exit codes: 0 done, nothing is worse; 1 a finding;"
            " 2 usage, I/O or malformed input; 3 a package of Python is missing."
        ),
    )


# ---- Opening -------------------------------------------------------------------------------------


def is_store(path: str) -> bool:
    """Whether a file is a database of SQLite. Raises Failure when it cannot be read."""
    return files.read_bytes(path, 16) == b"SQLite format 3\0"


def not_a_store(path: str) -> Failure:
    """The failure of a file that is no store."""
    return Failure(f"{path} is no store; name one that cbank ingest made")


REMEDIES = {
    "full": "free some space",
    "disk I/O": "is there space, and may files be that large (ulimit -f)?",
    "locked": "wait for the other command, and try again",
    "readonly": "may it be written to?",
    "unable to open": "is there such a folder, and may it be written to?",
}


@contextlib.contextmanager
def whole(path: str) -> Iterator[None]:
    """Turns errors of SQLite, and those of values that no store has, into a Failure."""
    try:
        yield
    except (
        sqlite3.Error,
        LookupError,
        TypeError,
        ValueError,
        AttributeError,
        ArithmeticError,
    ) as error:
        remedy = next(
            (remedy for word, remedy in REMEDIES.items() if word in str(error)),
            "the store is damaged: ingest the results into a new one",
        )
        raise Failure(
            f"{path}:"
            f" {error if isinstance(error, sqlite3.Error) else 'it has values that no store has'};"
            f" {remedy}"
        ) from error


def connect(path: str, mode: str) -> sqlite3.Connection:
    """The database in a file. mode: as in a URI of SQLite: rw, rwc."""
    from urllib.parse import quote

    files.need_store(path)
    uri = f"file:{quote(os.fsencode(os.path.abspath(path)))}?mode={mode}"
    store = sqlite3.connect(uri, uri=True, timeout=WAIT_SECONDS, isolation_level=None)
    # Views and triggers of somebody else's file call no function that could do more than compute.
    store.execute("PRAGMA trusted_schema = OFF")
    return store


def check_version(store: sqlite3.Connection, path: str) -> None:
    """Raises Failure where a database is no store of this version."""
    found = [
        store.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
    ]
    if found[0] != APPLICATION:
        raise not_a_store(path)
    if found[1] != VERSION:
        raise Failure(
            f"{path} has version {found[1]} of the schema, this cbank reads {VERSION}; ingest the"
            " results again"
        )


@contextlib.contextmanager
def readable(path: str) -> Iterator[str]:
    """The path of a store that can be read: its own, or that of a copy. A killed command, or a
    log of writes, leaves work that is finished at the next open. It cannot be done where nothing
    can be written."""
    if not is_store(path):
        raise not_a_store(path)
    try:
        with contextlib.closing(connect(path, "rw")) as store:
            store.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.OperationalError as error:
        if not any(word in str(error) for word in ("readonly", "unable to open")):
            raise
        import shutil
        import tempfile

        say("", f"{path}: it cannot be opened where nothing can be written; a copy of it is read")
        with tempfile.TemporaryDirectory(prefix="cbank-") as folder:
            for end in ("", "-journal", "-wal"):
                with contextlib.suppress(FileNotFoundError):
                    shutil.copyfile(
                        os.path.realpath(path) + end, os.path.join(folder, "store.db" + end)
                    )
            yield os.path.join(folder, "store.db")
    else:
        yield path


def check_structure(path: str, check: str) -> None:
    """Raises sqlite3.Error where pages are damaged, or a row names another that is not there."""
    with contextlib.closing(connect(path, "rw")) as store:
        for pragma in (check, "foreign_key_check"):
            for row in store.execute(f"PRAGMA {pragma}"):
                if row != ("ok",):
                    raise sqlite3.DatabaseError(" ".join(map(str, row)).replace("\n", " "))


@contextlib.contextmanager
def beside(function: Callable[..., object], *arguments: object) -> Iterator[None]:
    """Calls a function in a thread beside the caller, who waits for its end and what it raised."""
    failures = []

    def call() -> None:
        try:
            function(*arguments)
        except Exception as failure:
            failures.append(failure)

    thread = threading.Thread(target=call)
    thread.start()
    try:
        yield
    finally:
        thread.join()
    for failure in failures:
        raise failure


@contextlib.contextmanager
def reading(
    path: str, check: str | None = "quick_check(1)", tables: tuple[str, ...] = SUMMED
) -> Iterator[sqlite3.Connection]:
    """A store that nothing is written to, in one transaction. Tables, all but times unless others
    are named, are verified copies in memory, under their names. check: how SQLite checks the
    structure of the file at the same time; None: not at all."""
    with whole(path), readable(path) as there, contextlib.closing(
        connect(there, "rw")
    ) as store, beside(check_structure, there, check) if check else contextlib.nullcontext():
        store.execute("PRAGMA temp_store = MEMORY")
        store.execute("BEGIN")
        check_version(store, path)
        schema = "SELECT name, sql FROM sqlite_schema WHERE sql NOT NULL"
        with contextlib.closing(open_in_memory()) as empty:
            wanted = set(empty.execute(schema))
        if not set(store.execute(schema)) >= wanted:
            raise sqlite3.DatabaseError("the schema is not cbank's")
        for table in tables:
            store.execute(f"CREATE TEMP TABLE {table} AS SELECT * FROM main.{table} NOT INDEXED")
            if table_sum(store, table) != sum_of(store, table):
                raise sqlite3.DatabaseError(f"the table {table} does not fit its checksum")
        yield store


def make(store: sqlite3.Connection) -> None:
    """Writes the schema into an empty database."""
    schema = files.read_bytes(os.path.join(os.path.dirname(__file__), "store.sql")).decode()
    for statement in re.sub(r"--.*", "", schema).split(";"):
        store.execute(statement)
    store.execute(f"PRAGMA application_id = {APPLICATION}")
    store.execute(f"PRAGMA user_version = {VERSION}")


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Signals that end a command come after it: of what takes moments, and leaves files."""
    ends = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def create(path: str) -> None:
    """Makes a store, whole or not at all; nothing where another command made it meanwhile."""
    import tempfile

    with undisturbed(), tempfile.TemporaryDirectory(
        dir=os.path.dirname(os.path.abspath(path)), prefix=".cbank-"
    ) as folder:
        new = os.path.join(folder, "store.db")
        with contextlib.closing(connect(new, "rwc")) as store:
            store.execute("BEGIN")
            make(store)
            store.execute("COMMIT")
        os.link(new, path)


def runs_to_check(path: str) -> int | None:
    """The runs of a store that is to be checked whole before it is written to; None: it grew little
    since it was."""
    with readable(path) as there, contextlib.closing(connect(there, "rw")) as store:
        check_version(store, path)
        (runs,) = store.execute("SELECT coalesce(max(run_id), 0) FROM runs").fetchone()
        last = sum_of(store, LAST_CHECK)
    return None if runs >= RUNS_FEW and last <= runs <= GROWTH * last else runs


def open_to_write(path: str) -> sqlite3.Connection:
    """A store, which is made where there is none."""
    runs = None
    if not os.path.exists(path):
        with contextlib.suppress(OSError):  # such as a file system without links: it is made below
            create(path)
    if os.path.exists(path) and os.path.getsize(path):
        if not is_store(path):
            raise Failure(f"{path} is no store; name one that cbank ingest made, or a new file")
        runs = runs_to_check(path)
        with reading(path) if runs is not None else reading(path, None, ()):
            pass  # a damaged one is refused
    store = connect(path, "rwc")
    try:
        store.execute("PRAGMA foreign_keys = ON")
        store.execute("BEGIN IMMEDIATE")
        try:
            if not store.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
                make(store)
            check_version(store, path)
            if runs is not None and runs >= RUNS_FEW:
                store.execute("REPLACE INTO sums VALUES (?, 0, ?)", (LAST_CHECK, runs))
        finally:
            store.execute("COMMIT")
    except BaseException:
        store.close()
        raise
    return store


def open_in_memory() -> sqlite3.Connection:
    """A store without a file."""
    make(store := sqlite3.connect(":memory:", isolation_level=None))
    return store


# ---- Writing -------------------------------------------------------------------------------------


class Writer:
    """Adds documents to a store, within transactions of the caller's. seal() comes before the
    end of each."""

    def __init__(self, store: sqlite3.Connection, later: bool = False):
        """later: of runs that began later than now and a day, too."""
        # by (table, cell): what is to be added to the checksums
        self.store, self.later, self.sums = store, later, Counter()
        self.keys = {}  # of rows that runs share, by table and text

    def answer(self, key: str) -> str:
        """new, known or forgotten: what the store knows of a file with that hash."""
        found = self.store.execute(
            (
                "SELECT 'known' FROM runs WHERE hash = ?1 UNION ALL SELECT 'forgotten' FROM"
                " forgotten WHERE hash = ?1 UNION ALL SELECT 'known' FROM calibrations WHERE hash"
                " = ?1"
            ),
            (key,),
        ).fetchone()
        return found[0] if found else "new"

    def count(self, table: str, column: str, key: object, sign: int = 1) -> None:
        """Adds rows that are in a table to its checksum, or takes them off."""
        self.sums[table, 0] += sign * sum(
            map(text_hash, self.store.execute(f"SELECT * FROM {table} WHERE {column} = ?", (key,)))
        )

    def sums_of(self, rows: Iterable[tuple], sign: int = 1) -> tuple[int, int]:
        """Adds rows of times to the checksums of their cells; the two checksums of a run with
        these rows."""
        of_time = of_rest = 0
        for row in rows:
            ns, point, rest = hashes(row)
            self.sums["times", row[0]] += sign * (ns + point)
            of_time, of_rest = of_time + ns, of_rest + point + rest
        return modulo(of_time), modulo(of_rest)

    def seal(self) -> None:
        """Writes the checksums."""
        self.store.executemany(
            (
                "INSERT INTO sums VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET sum = (sum + ?3) &"
                " 0x3FFFFFFFFFFFFFFF"
            ),
            [(*of, modulo(total)) for of, total in self.sums.items()],
        )
        self.sums.clear()

    def key(
        self, table: str, column: str, text: str, others: tuple[str, ...] = (), values: tuple = ()
    ) -> int:
        """The key of the row with that text, which is added where it is not there."""
        key = self.keys.get((table, text))
        if key is None:
            id_of = {
                "identities": "identity_id",
                "kernels": "kernel_id",
                "setups": "setup_id",
                "counter_sets": "counter_set_id",
            }[table]
            names = ", ".join((column, *others))
            added = self.store.execute(
                (
                    f"INSERT OR IGNORE INTO {table} ({names}) VALUES"
                    f" ({', '.join('?' * (1 + len(values)))})"
                ),
                (text, *values),
            ).rowcount
            key = self.store.execute(
                f"SELECT {id_of} FROM {table} WHERE {column} = ?", (text,)
            ).fetchone()[0]
            if added:
                self.count(table, id_of, key)
            self.keys[table, text] = key
        return key

    def shared(self, table: str, column: str, text: str) -> int:
        """As key, of a row that is found by the hash of its text."""
        key = self.keys.get((table, text))
        if key is None:
            key = self.keys[table, text] = self.key(
                table, "key", hashlib.sha256(text.encode()).hexdigest(), (column,), (text,)
            )
        return key

    def setup(self, values: tuple) -> int:
        """The key of a setup with these values of its columns."""
        return self.key(
            "setups",
            "key",
            hashlib.sha256(json.dumps(values).encode()).hexdigest(),
            SETUP,
            values,
        )

    def add_calibration(self, file: str, key: str, taken: dict) -> str:
        found = self.store.execute(
            "INSERT INTO calibrations (hash, file, uuid, name, driver) VALUES (?, ?, ?, ?, ?)",
            (key, file, taken["uuid"], taken["name"], taken["driver"]),
        ).lastrowid
        self.store.executemany(
            "INSERT INTO calibrated VALUES (?, ?, ?, ?, ?, ?)",
            [
                (self.key("identities", "identity", identity), found, *values)
                for identity, *values in taken["cells"]
            ],
        )
        self.count("calibrations", "calibration_id", found)
        self.count("calibrated", "calibration_id", found)
        return "new"

    def make_way(self, file: str, setup_id: int, started: int, taken: dict) -> str:
        """new or known, where the GPU has a run of the same start. An interrupted run gives way
        to its continuation. It adds nothing to the finished one. Two finished ones: raises
        Refused."""
        others = self.store.execute(
            (
                "SELECT run_id, file, complete FROM runs JOIN setups AS other USING (setup_id),"
                " setups AS own ON own.setup_id = ? WHERE started_ms = ? AND other.uuid = own.uuid"
                " AND other.name = own.name AND other.engine = own.engine"
            ),
            (setup_id, started),
        ).fetchall()
        for run_id, name, complete in others:
            own = [self.key("identities", "identity", row[0]) for row in taken["times"]]
            if not any(
                self.store.execute(
                    "SELECT 1 FROM times WHERE identity_id = ? AND run_id = ?", (i, run_id)
                ).fetchone()
                for i in own
            ):
                continue
            if not complete:
                self.remove(run_id)
            elif not taken["complete"]:
                return "known"
            else:
                raise Refused(
                    f"{printable(file)}: the same GPU and start as another run, {printable(name)},"
                    " which is in; cbank ingest --forget takes that out"
                )
        return "new"

    def add_result(self, file: str, key: str, taken: dict) -> str:
        if not self.later and taken["started"] > latest_ms():
            raise Refused(
                f"{printable(file)}: it began at {write_time(taken['started'])}, which is later"
                " than now and a day: the clock of its host is wrong, or that of this one; set it"
                " right and measure again, or take it by --later"
            )
        setup_id = self.setup(taken["setup"])
        if taken["setup"][0] and self.make_way(file, setup_id, taken["started"], taken) == "known":
            return "known"
        run_id = self.store.execute("SELECT coalesce(max(run_id), 0) + 1 FROM runs").fetchone()[0]
        rows = [
            (
                self.key("identities", "identity", identity),
                run_id,
                *values,
                self.key("kernels", "sass_sha256", sha) if sha else None,
                self.shared("counter_sets", "counters", counters),
            )
            for identity, *values, sha, counters in taken["times"]
        ]
        self.add_run(
            (
                run_id,
                key,
                file,
                taken["started"],
                taken["finished"],
                setup_id,
                taken["job"],
                taken["version"],
                taken["commit"],
                taken["complete"],
                len(rows),
                sum(row[7] in BAD for row in rows),
            ),
            rows,
        )
        self.store.executemany(
            "INSERT INTO times VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows
        )
        return "new"

    def add_run(self, values: tuple, rows: list[tuple]) -> None:
        """Adds a row of runs, its checksums left out, of a run with these rows of times."""
        self.store.execute(
            f"INSERT INTO runs VALUES ({', '.join('?' * 14)})", (*values, *self.sums_of(rows))
        )
        self.count("runs", "run_id", values[0])

    def add(self, path: str, key: str, taken: dict) -> str:
        """Adds what kept.take() gave. Returns new, known or forgotten; raises Refused. Nothing
        stays of what is not new, but for identities."""
        answer = self.answer(key)
        if answer != "new":
            return answer
        file = os.fsencode(path).decode("utf-8", "replace")
        return (self.add_result if "setup" in taken else self.add_calibration)(file, key, taken)

    def remove(self, run_id: int) -> None:
        """Deletes a run with its times."""
        of_run = (
            "FROM times WHERE run_id = ? AND identity_id IN (SELECT identity_id FROM identities)"
        )
        self.sums_of(self.store.execute("SELECT * " + of_run, (run_id,)), -1)
        self.count("runs", "run_id", run_id, -1)
        self.store.execute("DELETE " + of_run, (run_id,))
        self.store.execute("DELETE FROM runs WHERE run_id = ?", (run_id,))

    def remember(self, key: str) -> None:
        """Undoes forget, but for the times."""
        self.count("forgotten", "hash", key, -1)
        self.store.execute("DELETE FROM forgotten WHERE hash = ?", (key,))

    def forget(self, key: str, why: str | None) -> None:
        """Takes the run with that hash out. The table forgotten keeps which it was."""
        (run_id,) = self.store.execute("SELECT run_id FROM runs WHERE hash = ?", (key,)).fetchone()
        self.store.execute(
            (
                "INSERT INTO forgotten SELECT hash, file, uuid, started_ms, ?, ? FROM runs JOIN"
                " setups USING (setup_id) WHERE run_id = ?"
            ),
            (round(time.time() * 1000), why, run_id),
        )
        self.count("forgotten", "hash", key)
        self.remove(run_id)
