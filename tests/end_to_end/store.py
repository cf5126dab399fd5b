#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stores: cbank ingest and history. CBANK names the program (default build/cbank)."""

import datetime
import hashlib
import json
import math
import os
import random
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import unittest
from unittest import mock

from common import CBANK, ROOT, analysis, read_bytes, read_json, repetitions
from nights import DRIVER, SOURCE, Case, calibration_of, result_of, slower, start, utc, uuid

from cbank import store as stores

CARD = os.path.join(ROOT, "results/cards/h200.json")


class Ingest(Case):
    def test_a_folder_goes_in_once(self):
        self.nights("all", 4, 2)
        shutil.copy(CARD, self.path("all/card.json"))
        self.write("all/.hidden.json", "no JSON")
        self.write("all/notes.txt", "no JSON")
        passed = ", 1 passed over, which are no results\n"
        self.assertEqual(
            self.cbank("ingest", "store.db", "all").stdout, "8 new, 0 known, 0 refused" + passed
        )
        before = self.dump()
        os.rename(self.path("all/00"), self.path("all/moved"))
        self.assertEqual(
            self.cbank("ingest", "store.db", "all").stdout, "0 new, 8 known, 0 refused" + passed
        )
        self.assertEqual(self.dump(), before)
        self.assertEqual(
            self.cbank("ingest", "--quiet", "store.db", "all/01/gpu00.json").stdout, ""
        )
        self.assertEqual(
            self.cbank("ingest", "--list", "store.db", "all/01").stdout.splitlines(),
            [f"known     all/01/gpu{i:02d}.json" for i in range(4)] + ["0 new, 4 known, 0 refused"],
        )

    def test_what_results_say_is_in(self):
        result = result_of(5, 1, cells=24)
        result["started_utc"], milliseconds = result["started_utc"].replace("Z", ".250Z"), 250
        result["cells"][2].update(
            status="failed", reason="wrong output", verified=False, flags=["unstable", "throttled"]
        )
        result["cells"][4]["counters"]["ldc_instructions"]["value"] += 1
        digest = hashlib.sha256(read_bytes(self.write("one.json", result))).hexdigest()
        self.cbank("ingest", "store.db", "one.json")
        device, seconds = result["device"], int(
            start(5, 1).replace(tzinfo=datetime.timezone.utc).timestamp()
        )
        self.assertEqual(
            self.ask(
                "SELECT hash, file, started_ms, finished_ms, uuid, name, host, slot, job, engine,"
                " modelled, driver, vbios, tool_version, git_commit, complete, cells, failed FROM"
                " runs JOIN setups USING (setup_id)"
            ),
            [
                (
                    digest,
                    "one.json",
                    1000 * seconds + milliseconds,
                    1000 * (seconds + 2),
                    uuid(5),
                    device["name"],
                    "n00",
                    "00000000:05:00.0",
                    "1001",
                    "cuda",
                    0,
                    device["driver"],
                    device["vbios"],
                    result["tool"]["version"],
                    result["tool"]["git_commit"],
                    1,
                    24,
                    2,
                )
            ],
        )
        geometry = json.loads(self.ask("SELECT geometry FROM setups")[0][0])
        self.assertEqual({key: device[key] for key in geometry}, geometry)
        rows = {
            identity: row
            for identity, *row in self.ask(
                "SELECT identity, identity_id, status, reason, verified, time_ns, ci_low_ns,"
                " ci_high_ns, sm_clock_mhz, flags, sass_sha256 FROM times JOIN identities USING"
                " (identity_id) LEFT JOIN kernels USING (kernel_id)"
            )
        }
        self.assertEqual(len(rows), 24)
        result["cells"][4].update(
            status="invalid",
            reason="an exact counter is not as expected",
            time_ns={"ci_low": None, "ci_high": None},
        )
        for cell in result["cells"]:
            key, *row = rows[cell["identity"]]
            time = cell["time_ns"]
            self.assertEqual(
                row,
                [
                    cell["status"],
                    cell["reason"],
                    cell["verified"],
                    time["value"] if cell["status"] == "ok" else None,
                    time["ci_low"],
                    time["ci_high"],
                    cell["sm_clock_mhz"],
                    " ".join(cell["flags"]) or None,
                    cell["kernel"]["sass_sha256"],
                ],
            )
            self.assertEqual(
                sorted(
                    self.ask(
                        "SELECT name, status, value, expected FROM counters WHERE identity_id = ?",
                        key,
                    )
                ),
                sorted(
                    (name, *(counter[key] for key in ("status", "value", "expected")))
                    for name, counter in cell["counters"].items()
                    if counter["kind"] == "exact"
                ),
            )
        # Cells that read the same share a set of counters.
        self.write("again.json", result_of(5, 2, cells=24))
        sets = self.ask("SELECT count(*) FROM counter_sets")[0][0]
        self.cbank("ingest", "store.db", "again.json")
        self.assertLessEqual(self.ask("SELECT count(*) FROM counter_sets")[0][0], sets + 1)
        self.assertEqual(self.ask("SELECT count(*) FROM history"), [(48,)])

    def test_several_at_once_make_no_duplicates(self):
        self.nights("all", 5, 4)
        for number in range(repetitions(30, 3)):
            running = [
                subprocess.Popen(
                    [CBANK, "ingest", f"{number}.db", "all"],
                    cwd=self.folder,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
                for _ in range(4)
            ]
            said = [process.communicate(timeout=120) for process in running]
            self.assertEqual([process.returncode for process in running], [0] * 4, said)
            self.assertEqual(sum(int(out.split()[0]) for out, _ in said), 20)
            self.assertEqual(
                self.ask("SELECT count(*), count(DISTINCT hash) FROM runs", store=f"{number}.db"),
                [(20, 20)],
            )
            self.assertEqual(self.ask("SELECT count(*) FROM times", store=f"{number}.db"), [(60,)])
            self.dump(f"{number}.db")

    def test_killed_at_any_moment_nothing_that_was_in_is_lost(self):
        self.nights("all", 8, 25, cells=1)  # four transactions
        chance = random.Random(1)
        for attempt in range(repetitions(40, 4)):
            store = f"store{attempt}.db"
            with subprocess.Popen(
                [CBANK, "ingest", "--list", store, "all"],
                cwd=self.folder,
                stdout=subprocess.PIPE,
                text=True,
            ) as process:
                said = [
                    process.stdout.readline()
                    for _ in range(chance.choice([0, 1, 64, 65, 128, 192]))
                ]
                if chance.random() < 0.5:
                    try:
                        process.wait(chance.random() * 0.1)
                    except subprocess.TimeoutExpired:
                        pass
                process.send_signal(signal.SIGKILL)
                said += process.stdout.readlines()
            there = os.path.exists(self.path(store)) and self.ask(
                "SELECT 1 FROM sqlite_schema WHERE name = 'runs'", store=store
            )
            kept = (
                {name for name, in self.ask("SELECT file FROM runs", store=store)}
                if there
                else set()
            )
            lines = [line.split() for line in said if line.endswith("\n")]
            self.assertLessEqual(
                {line[1] for line in lines if line[0] == "new" and len(line) == 2}, kept
            )
            self.cbank("ingest", store, "all")
            self.assertEqual(
                self.ask("SELECT count(*), count(DISTINCT hash) FROM runs", store=store),
                [(200, 200)],
            )
            self.assertEqual(self.ask("SELECT count(*) FROM times", store=store), [(200,)])
            self.dump(store)

    def test_the_finished_result_takes_the_place_of_the_interrupted_one(self):
        whole = result_of(1, 1)
        self.write("whole.json", whole)
        self.write("part.json", {**whole, "complete": False, "finished_utc": None})
        self.cbank("ingest", "store.db", "part.json")
        self.assertEqual(self.ask("SELECT complete, finished_ms FROM runs"), [(0, None)])
        self.cbank("ingest", "store.db", "whole.json")
        self.assertEqual(self.ask("SELECT file, complete FROM runs"), [("whole.json", 1)])
        self.assertEqual(self.ask("SELECT count(*) FROM times"), [(3,)])
        self.assertEqual(
            self.cbank("ingest", "store.db", "part.json").stdout, "0 new, 1 known, 0 refused\n"
        )

    def test_predictions_without_uuid_may_begin_at_the_same_time(self):
        for name in ("one", "two"):
            self.cbank(
                "run",
                "--engine",
                "model",
                "--quiet",
                "--path",
                "global",
                "--elements",
                "4096",
                "--json",
                f"{name}.json",
                SLURM_JOB_ID="4711",
            )
        self.assertEqual(
            self.cbank("ingest", "store.db", "one.json", "two.json").stdout,
            "2 new, 0 known, 0 refused\n",
        )
        self.assertEqual(
            self.ask(
                "SELECT DISTINCT modelled, engine, host, job FROM runs JOIN setups USING (setup_id)"
            ),
            [(1, "model", os.uname().nodename, "4711")],
        )
        self.assertIn("modelled", self.cbank("history", "store.db").stdout)
        self.assertRegex(read_json(self.path("one.json"))["started_utc"], r":\d\d\.\d{3}Z$")

    def test_runs_of_one_second_are_told_apart_by_milliseconds(self):
        for name, fraction in (("a", ".001Z"), ("b", ".002Z")):
            result = result_of(1, 1)
            self.write(
                f"{name}.json",
                {**result, "started_utc": result["started_utc"].replace("Z", fraction)},
            )
        self.assertEqual(
            self.cbank("ingest", "store.db", "a.json", "b.json").stdout,
            "2 new, 0 known, 0 refused\n",
        )
        self.assertIn("02:00:01.002Z", self.cbank("history", "store.db").stdout)


class BadInput(Case):
    """Exit 2, a message with the file, and a store that says what it said."""

    def setUp(self):
        super().setUp()
        self.write("good.json", result_of(0, 0))
        self.cbank("ingest", "store.db", "good.json")
        self.before = self.dump()

    def test_files_that_are_refused(self):
        result = result_of(1, 0)
        cell = result["cells"][0]
        again = result_of(0, 0)
        slower(again, 1.5)
        huge = json.dumps(result).replace(f'"value": {cell["time_ns"]["value"]}', '"value": 1e999')
        rows = [
            ("text", "no JSON", "unexpected text"),
            ("cut", json.dumps(result)[:5000], "unexpected text"),
            ("deep", "[" * 100000, "nested too deeply"),
            ("nan", json.dumps({**result, "max_noise": math.nan}), "unexpected text"),
            (
                "later",
                {**result, "schema": {"name": "cbank-result", "version": "9.0"}},
                "schema.version: 9.0, this build reads 1.x",
            ),
            ("time", huge, r"cells\[0\].time_ns.value: the number is too large"),
            (
                "zero",
                {**result, "cells": [{**cell, "time_ns": {**cell["time_ns"], "value": None}}]},
                "is no time",
            ),
            (
                "status",
                {**result, "cells": [{**cell, "status": "fine"}]},
                r"cells\[0\].status: expected pending, ok",
            ),
            (
                "flag",
                {**result, "cells": [{**cell, "flags": ["a b"]}]},
                r"cells\[0\].flags: expected an array of flags",
            ),
            (
                "identity",
                {**result, "cells": [{**cell, "identity": "x"}]},
                "identity is no identity",
            ),
            ("twice", {**result, "cells": [cell, cell]}, "a cell is twice"),
            (
                "lacks",
                {**result, "cells": [{}]},
                r"cells\[0\].workload: expected a string, it is missing",
            ),
            ("kinds", {**result, "cells": 3}, "cells: expected an array"),
            ("device", {**result, "device": None}, "device: expected an object"),
            (
                "back",
                {**result, "finished_utc": "2026-02-01T00:00:00Z"},
                "finished before it began",
            ),
            (
                "half",
                {**result, "host": {**result["host"], "name": "\ud800"}},
                "unexpected text",
            ),
            ("start", again, "the same GPU and start as another run, good.json"),
            *(
                (
                    f"clock{i}",
                    {**result, "started_utc": text},
                    "day is out of range|is no time|started_utc: ",
                )
                for i, text in enumerate(
                    ("2026-02-30T00:00:00Z", "2026-03-01T00:00:00+01:00", "yesterday", None, 5)
                )
            ),
        ]
        for name, content, pattern in rows:
            with self.subTest(name):
                self.write(f"{name}.json", content)
                done = self.cbank("ingest", "store.db", f"{name}.json", status=2)
                self.assertRegex(done.stderr, rf"cbank: error: {name}.json:?\S* .*({pattern})")
                self.assertEqual(done.stdout, "0 new, 0 known, 1 refused\n")
                self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertEqual(self.dump(), self.before)
        self.write("some/good.json", result_of(2, 1))
        shutil.copy(self.path("cut.json"), self.path("some/cut.json"))
        self.assertEqual(
            self.cbank("ingest", "store.db", "some", status=2).stdout, "1 new, 0 known, 1 refused\n"
        )

    def test_what_is_passed_over_or_not_there(self):
        self.write("other.json", {"schema": {"name": "of somebody else", "version": "1.0"}})
        self.write("list.json", [1])
        self.assertEqual(
            self.cbank("ingest", "store.db", "other.json", "list.json").stdout,
            "0 new, 0 known, 0 refused, 2 passed over, which are no results\n",
        )
        self.assertEqual(self.dump(), self.before)
        # other cells of the same start
        self.write("more.json", {**result_of(0, 0, cells=4), "cells": SOURCE["cells"][3:4]})
        self.assertEqual(
            self.cbank("ingest", "store.db", "more.json").stdout, "1 new, 0 known, 0 refused\n"
        )
        os.makedirs(self.path("empty/deep"))
        for path, pattern in (
            ("empty", "empty has no .json file"),
            ("nowhere", "nowhere: No such file"),
            ("", "empty name"),
        ):
            self.assertRegex(self.cbank("ingest", "new.db", path, status=2).stderr, pattern)
            self.assertFalse(os.path.exists(self.path("new.db")))

    def test_files_that_are_no_stores(self):
        self.write("more.json", result_of(1, 1))
        for name, message in self.bad_stores():
            before = read_bytes(self.path(name))
            for command in (
                ["ingest", name, "more.json"],
                ["ingest", name, "--forget", "good.json"],
                ["history", name],
                ["fleet", name],
            ):
                with self.subTest(" ".join(command)):
                    self.assertIn(
                        message if command[0] != "history" or name != "text.db" else "text.db",
                        self.cbank(*command, status=2).stderr,
                    )
                    self.assertEqual(read_bytes(self.path(name)), before)
        os.mkdir(self.path("folder.db"))
        for name in ("folder.db", "nowhere/x.db", "/dev/full", "/proc/x.db"):
            self.assertIn(name, self.cbank("ingest", name, "good.json", status=2).stderr)

    def test_output_that_cannot_be_written(self):
        for command in (
            "ingest --list store.db good.json",
            "history store.db",
            "history --json store.db",
            "fleet store.db",
            "fleet store.db --json -",
        ):
            done = subprocess.run(
                f"{CBANK} {command} > /dev/full",
                shell=True,
                cwd=self.folder,
                capture_output=True,
                text=True,
                check=False,
            )
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)
            done = subprocess.run(
                f"{CBANK} {command} | true",
                shell=True,
                cwd=self.folder,
                capture_output=True,
                text=True,
                check=False,
            )
            self.assertEqual(done.stderr, "")

    def test_a_store_in_a_folder_that_nothing_can_be_written_to_is_read(self):
        """Also with a write that was not finished (a journal), or one that is not merged yet (a
        log): of these a copy is read."""
        drop = (
            ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
            if os.geteuid() == 0 and shutil.which("setpriv")
            else []
        )
        if drop and subprocess.run([*drop, "test", "-x", CBANK], check=False).returncode:
            self.skipTest("another user cannot reach the program")
        os.chmod(self.folder, 0o755)
        os.mkdir(self.path("temporary"))
        os.chmod(self.path("temporary"), 0o777)
        self.write("more.json", result_of(1, 1))
        said = self.cbank("history", "store.db", "--json").stdout
        for name, pragma in (
            ("whole", "cache_size = 10"),
            ("journal", "cache_size = 1"),
            ("log", "journal_mode = WAL"),
        ):
            locked = self.path(name)
            os.mkdir(locked)
            store = sqlite3.connect(self.path("store.db"), isolation_level=None)
            store.execute(f"PRAGMA {pragma}")
            if name != "whole":
                store.execute("BEGIN")
                store.execute("CREATE TABLE large (of TEXT)")
                store.executemany("INSERT INTO large VALUES (?)", [("x" * 5000,)] * 20)
                if name == "log":
                    store.execute("COMMIT")
            for end in ("", "-journal", "-wal"):
                if os.path.exists(self.path("store.db" + end)):
                    shutil.copy(self.path("store.db" + end), os.path.join(locked, "store.db" + end))
            store.close()
            there = sorted(os.listdir(locked))
            self.assertEqual(len(there), 1 if name == "whole" else 2)
            os.chmod(locked, 0o555)
            self.addCleanup(os.chmod, locked, 0o755)
            for words in (("history", "--json"), ("fleet",), ("check",)):
                with self.subTest(name, words=words):
                    done = subprocess.run(
                        [*drop, CBANK, *words, f"{name}/store.db"],
                        cwd=self.folder,
                        capture_output=True,
                        text=True,
                        check=False,
                        env={**os.environ, "TMPDIR": self.path("temporary")},
                    )
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertEqual("a copy of it is read" in done.stderr, name != "whole")
                    self.assertIn(said if words[0] == "history" else "", done.stdout)
            done = subprocess.run(
                [*drop, CBANK, "ingest", f"{name}/store.db", "more.json"],
                cwd=self.folder,
                capture_output=True,
                text=True,
                check=False,
            )
            self.assertRegex(
                str((done.returncode, done.stderr.splitlines()[-1])),
                rf"\(2, 'cbank: error: {name}/store.db: .*; .*may it be written to\?",
            )
            self.assertEqual(
                (sorted(os.listdir(locked)), os.listdir(self.path("temporary"))), (there, [])
            )

    def test_a_full_disk_takes_nothing_that_was_in(self):
        self.nights("all", 8, 12, cells=24)
        self.cbank("ingest", "--quiet", "whole.db", "all")
        limit = os.path.getsize(self.path("whole.db")) * 4 // 5  # after the first transaction
        done = subprocess.run(
            [CBANK, "ingest", "--list", "new.db", "all"],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        )
        self.assertEqual((done.returncode, len(done.stdout.splitlines())), (2, 64))
        self.assertRegex(
            done.stderr, r"^cbank: error: new.db: .*; (free some space|is there space.*)\n$"
        )
        self.assertEqual(
            sorted(os.listdir(self.folder)), ["all", "good.json", "new.db", "store.db", "whole.db"]
        )
        self.assertEqual(
            self.cbank("check", "new.db").stdout, "new.db: every row fits its checksum\n"
        )
        self.assertEqual(
            self.cbank("ingest", "new.db", "all").stdout, "32 new, 64 known, 0 refused\n"
        )
        done = subprocess.run(
            [CBANK, "ingest", "none.db", "all"],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
        )
        self.assertRegex(
            done.stderr, r"^cbank: error: none.db: .*; (free some space|is there space.*)\n$"
        )
        self.assertEqual(
            sorted(os.listdir(self.folder)), ["all", "good.json", "new.db", "store.db", "whole.db"]
        )

    def test_names_that_are_no_text(self):
        name = b"\xff\x1b[31m.json"
        with open(os.path.join(os.fsencode(self.folder), name), "wb") as file:
            file.write(json.dumps(result_of(1, 3)).encode())
        for command in (
            ["ingest", "--list", "store.db", "."],
            ["history", "store.db"],
            ["history", "--json", "store.db"],
        ):
            self.assertNotRegex(self.cbank(*command).stdout, "[\x00-\x09\x0b-\x1f]")


class Damage(Case):
    """A row that is not as it was put in is refused, and cbank check says where.
    tests/attacks/store.py tries more."""

    WHOLE = "store.db: every row fits its checksum\n"

    def setUp(self):
        super().setUp()
        self.nights("all", 2, 3)
        self.write("all/calibration.json", calibration_of(1, 0.001))
        self.cbank("ingest", "store.db", "all")
        self.cbank("ingest", "store.db", "--forget", "01/gpu01.json")
        self.data = read_bytes(self.path("store.db"))

    def change(self, statement):
        self.write_bytes("store.db", self.data)
        store = sqlite3.connect(self.path("store.db"), isolation_level=None)
        store.execute(statement)
        store.close()

    def test_a_row_that_does_not_fit_is_refused(self):
        cell = "add/constant/per_block/12800000/1024/hot"
        run, of_cell, every = (
            "the run all/02/gpu01.json does not fit",
            f"the times of {cell} do not fit",
            {"fleet", "history", "ingest"},
        )
        one = (
            "run_id = 6 AND identity_id = (SELECT identity_id FROM identities WHERE identity ="
            f" '{cell}')"
        )
        for statement, commands, messages in (
            ("UPDATE setups SET uuid = uuid || 'x'", every, ["the table setups does not fit"]),
            (
                "UPDATE runs SET started_ms = started_ms + 1 WHERE run_id = 2",
                every,
                ["the table runs does not fit"],
            ),
            ("UPDATE forgotten SET why = 'x'", every, ["the table forgotten does not fit"]),
            ("DELETE FROM forgotten", every, ["the table forgotten"]),
            ("UPDATE calibrated SET deviation = 1", every, ["the table calibrated does not fit"]),
            (
                "UPDATE sums SET sum = sum + 1 WHERE of = 'kernels'",
                every,
                ["the table kernels does not fit"],
            ),
            ("DELETE FROM runs WHERE run_id = 1", every, ["the table runs does not fit"]),
            ("DROP VIEW history", every, ["the schema is not cbank's"]),
            (
                f"UPDATE times SET time_ns = time_ns * 1.0000000001 WHERE {one}",
                {"fleet", "history"},
                [run, of_cell],
            ),
            (
                f"UPDATE times SET flags = 'unstable' WHERE {one}",
                {"fleet", "history"},
                [run, of_cell],
            ),
            (f"UPDATE times SET status = 'failed' WHERE {one}", {"fleet"}, [run]),
            (f"DELETE FROM times WHERE {one}", {"fleet", "history"}, [run, of_cell]),
            ("CREATE INDEX own ON times (run_id)", set(), []),
        ):  # users may add what they like
            self.change(statement)
            with self.subTest(statement):
                done = self.cbank("check", "store.db", status=1 if messages else 0)
                for line, message in zip(
                    done.stdout.splitlines(), messages or [self.WHOLE.strip()], strict=True
                ):
                    self.assertRegex(line, f"^store.db: .*({message})|^{message}")
                for words in (
                    ("fleet", "store.db", "--json", "verdict.json"),
                    ("history", "store.db"),
                    ("ingest", "store.db", "all"),
                    ("ingest", "store.db", "--forget", "00/gpu00.json"),
                ):
                    done = self.cbank(*words, status=2 if words[0] in commands else 0)
                    self.assertEqual(done.returncode and done.stdout, "" if done.returncode else 0)
                    self.assertFalse(done.returncode and os.path.exists(self.path("verdict.json")))
                if os.path.exists(self.path("verdict.json")):
                    os.remove(self.path("verdict.json"))
        self.json_of("check", "--json", "store.db", schema="check.schema.json")

    def test_a_large_store_is_checked_whole_when_it_grew_by_a_tenth(self):
        """So that a run of tonight takes no longer where many nights are in. A verdict and cbank
        check look at all of it. Here a store of four runs is a large one."""

        def outcome(*words):
            done = analysis(*words, folder=self.folder)
            return done.returncode, "the table setups does not fit" in done.stderr + done.stdout

        ingest = ("ingest", "store.db", "all", "--list")
        with mock.patch.object(stores, "RUNS_FEW", 4):
            self.assertEqual(outcome(*ingest), (0, False))
            self.assertEqual(outcome("check", "store.db"), (0, False))
            store = sqlite3.connect(self.path("store.db"), isolation_level=None)
            store.execute("UPDATE setups SET uuid = uuid || 'x'")
            store.close()
            self.write("all/03/gpu00.json", result_of(0, 3))
            for command, status in (("fleet", 2), ("history", 2), ("check", 1)):
                self.assertEqual(outcome(command, "store.db"), (status, True))
            # the seventh run goes in, and is more than a tenth of the six before it
            self.assertEqual(outcome(*ingest), (0, False))
            self.assertEqual(self.ask("SELECT max(run_id) FROM runs"), [(7,)])
            self.assertEqual(outcome(*ingest), (2, True))

    def test_a_page_that_contradicts_itself_is_refused(self):
        data = bytearray(self.data)
        data[4096 + 7] += 1  # what the second page has of bytes that are too few for a row
        self.write_bytes("store.db", data)
        for command, status in (("fleet", 2), ("history", 2), ("check", 1)):
            done = self.cbank(command, "store.db", status=status)
            self.assertRegex(
                done.stderr + done.stdout,
                r"^(cbank: error: )?store.db: .*Fragmentation .* on page 2; the store is damaged",
            )

    def test_what_goes_in_and_out_keeps_the_sums(self):
        for words in (
            ("ingest", "store.db", "--forget", "02/gpu00.json"),
            ("ingest", "store.db", "all"),
            ("ingest", "store.db", "--forget", "02/gpu00.json", "--undo"),
            ("ingest", "store.db", "all"),
        ):
            self.cbank(*words)
            self.assertEqual(self.cbank("check", "store.db").stdout, self.WHOLE)
        self.assertEqual(self.ask("SELECT file FROM forgotten"), [("all/01/gpu01.json",)])
        self.assertEqual(self.ask("SELECT count(*) FROM runs"), [(5,)])

    def test_the_key_is_the_hash_of_the_content(self):
        """So that the same file is one run under any name, and another file is another: of the
        same GPU and millisecond, other cells."""
        content = json.loads(read_bytes(self.path("all/00/gpu00.json")))
        self.write("renamed.json", read_bytes(self.path("all/00/gpu00.json")).decode())
        self.assertEqual(
            self.cbank("ingest", "store.db", "renamed.json").stdout, "0 new, 1 known, 0 refused\n"
        )
        self.write("other.json", {**content, "cells": SOURCE["cells"][3:5]})
        self.assertEqual(
            self.cbank("ingest", "store.db", "other.json").stdout, "1 new, 0 known, 0 refused\n"
        )
        self.assertEqual(
            self.ask("SELECT hash FROM runs WHERE file LIKE '%other%'"),
            [(hashlib.sha256(read_bytes(self.path("other.json"))).hexdigest(),)],
        )


class Documentation(Case):
    def test_questions_in_sql_are_answered(self):
        for gpu in range(3):
            result = result_of(gpu, 0, cells=24)
            result["started_utc"] = utc(
                datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(hours=2)
            )
            result["finished_utc"] = None
            if gpu == 1:
                result["cells"][4]["counters"]["ldc_instructions"]["value"] += 1
            self.write(f"all/{gpu}.json", result)
        self.cbank("ingest", "store.db", "all")
        with open(os.path.join(ROOT, "docs/fleet.md"), encoding="utf-8") as file:
            blocks = re.findall(r"^```sql\n(.*?)^```", file.read(), re.MULTILINE | re.DOTALL)
        answers = [
            self.ask(question)
            for block in blocks
            for question in block.split(";")
            if question.strip()
        ]
        self.assertEqual([len(rows) for rows in answers], [3, 1])
        self.assertEqual(answers[1][0][0], uuid(1))


class Forget(Case):
    def setUp(self):
        super().setUp()
        self.nights("all", 2, 2)
        self.cbank("ingest", "store.db", "all")

    def test_a_run_goes_and_stays_away(self):
        (digest,) = self.ask("SELECT hash FROM runs WHERE file = 'all/01/gpu01.json'")[0]
        done = self.cbank(
            "ingest", "store.db", "--forget", digest[:12], "--why", "the door was open"
        )
        self.assertEqual(
            done.stdout,
            f"forgotten: all/01/gpu01.json of 2026-03-02T02:00:01Z, hash {digest[:12]}\n",
        )
        self.assertEqual(
            self.ask("SELECT hash, file, uuid, why FROM forgotten"),
            [(digest, "all/01/gpu01.json", uuid(1), "the door was open")],
        )
        self.assertEqual(self.ask("SELECT count(DISTINCT run_id), count(*) FROM times"), [(3, 9)])
        self.assertEqual(
            self.cbank("ingest", "store.db", "all").stdout,
            "0 new, 3 known, 0 refused, 1 forgotten\n",
        )
        self.cbank("ingest", "store.db", "--forget", "all/00/gpu00.json")
        self.assertEqual(
            self.ask("SELECT why FROM forgotten WHERE file = 'all/00/gpu00.json'"), [(None,)]
        )
        said = self.json_of("history", "store.db", "--json", schema="history.schema.json")
        self.assertEqual(
            [(row["file"], row["why"]) for row in said["forgotten"]],
            [("all/00/gpu00.json", None), ("all/01/gpu01.json", "the door was open")],
        )
        self.assertEqual(
            [row["file"] for row in said["rows"]], ["all/00/gpu01.json", "all/01/gpu00.json"]
        )
        self.assertIn("the door was open", self.cbank("history", "store.db").stdout)

    def test_a_command_adds_or_forgets(self):
        """Never both, and it makes no store to forget something in."""
        before = self.dump()
        for words, message in (
            (("store.db",), "a PATH to add, or --forget RUN, is needed"),
            (("store.db", "all", "--forget", "gpu00.json"), "give a PATH, or --forget, not both"),
            (("store.db", "all", "--why", "noise"), "--why and --undo go with --forget"),
            (("store.db", "all", "--undo"), "--why and --undo go with --forget"),
            (("new.db", "--forget", "gpu00.json"), "cannot read new.db"),
        ):
            self.assertIn(message, self.cbank("ingest", *words, status=2).stderr)
        self.assertEqual(self.dump(), before)
        self.assertFalse(os.path.exists(self.path("new.db")))

    def test_a_name_is_of_one_run(self):
        before = self.dump()
        for name, message in (
            ("gpu01.json", "several runs are named gpu01.json"),
            ("nothing.json", "no run is named"),
            ("u01.json", "no run is named"),
            ("%", "no run is named"),
        ):
            done = self.cbank("ingest", "store.db", "--forget", name, status=2)
            self.assertIn(message, done.stderr)
        self.assertEqual(self.dump(), before)


class History(Case):
    """Planted steps: found on their GPU, in their path, with their date, and with what changed
    at the same time."""

    NIGHTS, GPUS, STEP = 14, 3, 9
    CELL = "add/constant/per_warp/12800000/1024/hot"

    def setUp(self):
        super().setUp()
        chance = random.Random(7)
        for night in range(self.NIGHTS):
            for gpu in range(self.GPUS):
                result = result_of(gpu, night, cells=6)
                if night >= 5:
                    result["device"]["driver"] = "590.44.01"
                for cell in result["cells"]:
                    factor = 1 + chance.gauss(0, 0.0002)
                    factor *= (
                        1.02
                        if gpu == 1 and cell["path"] == "constant" and night >= self.STEP
                        else 1
                    )
                    factor *= 0.99 if gpu == 2 and cell["path"] == "global" and night >= 5 else 1
                    for key in ("value", "ci_low", "ci_high"):
                        cell["time_ns"][key] *= factor
                self.write(f"all/{night:02d}-{gpu}.json", result)
        self.cbank("ingest", "store.db", "all")

    def history(self, *arguments):
        return self.json_of("history", *arguments, "--json", schema="history.schema.json")

    def test_a_store_says_what_its_files_say(self):
        for options in ([], ["--cell", self.CELL], ["--cell", "*/constant/*"]):
            self.assertEqual(*(self.history(source, *options) for source in ("all", "store.db")))
            self.assertEqual(
                *(self.cbank("history", source, *options).stdout for source in ("all", "store.db"))
            )

    def test_a_run_that_is_given_twice_counts_once(self):
        """So that one bad night is no new level of two runs."""
        last = f"all/{self.NIGHTS - 1:02d}-0.json"
        bad = read_json(self.path(last))
        slower(bad, 1.05)
        self.write(last, bad)
        once = self.history("all")["changes"]
        self.assertEqual(self.history("all", last)["changes"], once)
        self.assertIn("1 of 43 files were read already", self.cbank("history", "all", last).stderr)
        self.cbank("ingest", "new.db", "all")
        self.assertEqual(self.history("all", "new.db")["changes"], once)
        self.assertIn(
            "252 of 504 times are of runs that were read already",
            self.cbank("history", "all", "new.db").stderr,
        )

    def test_steps_are_found(self):
        changes = self.history("store.db")["changes"]
        self.assertEqual(
            [(change["uuid"], change["cell"].split("/")[1]) for change in changes],
            [(uuid(1), "constant")] * 2 + [(uuid(2), "global")] * 2,
        )
        for change in changes:  # the latest first
            gpu, night, size = (
                (1, self.STEP, 0.02) if "/constant/" in change["cell"] else (2, 5, -0.01)
            )
            self.assertEqual(
                (change["since_utc"], change["until_utc"]),
                (utc(start(gpu, night)), utc(start(gpu, night - 1))),
            )
            self.assertTrue(
                change["ci_low"] < size < change["ci_high"] < change["ci_low"] + 0.004, change
            )
            self.assertEqual(
                (change["runs_before"], change["runs_after"]), (night, self.NIGHTS - night)
            )
            self.assertEqual(change["with"], None if gpu == 1 else f"driver {DRIVER} -> 590.44.01")
            self.assertEqual((change["host"], change["driver_after"]), ("n00", "590.44.01"))
            self.assertLess(abs(change["change"] - size), 0.0005)
            self.assertLess(change["p"], 0.05)
        self.assertEqual(
            {
                change["uuid"]
                for change in self.history("store.db", "--threshold", "1.5%")["changes"]
            },
            {uuid(1)},
        )
        self.assertGreaterEqual(len(self.history("store.db", "--threshold", "0")["changes"]), 4)

    def test_few_runs_show_levels_alone(self):
        """Nine nights say nothing of a change, ten do."""
        for first, tested in ((1, False), (0, True)):
            folder = f"from-{first}"
            for night in range(first, 10):
                for gpu in range(self.GPUS):
                    name = f"{night:02d}-{gpu}.json"
                    self.write(f"{folder}/{name}", read_json(self.path(f"all/{name}")))
            said = self.history(folder, "--cell", "*/global/*")
            found, none = ("changes", "levels") if tested else ("levels", "changes")
            self.assertEqual(said[none], [])
            self.assertEqual({change["uuid"] for change in said[found]}, {uuid(2)})
            self.assertEqual([change["runs_before"] for change in said[found]], [5 - first] * 2)
            self.assertIn(
                "Levels that changed:" if tested else "fewer than 10 runs, which may be chance:",
                self.cbank("history", folder).stdout,
            )

    def test_a_calibration_is_the_noise(self):
        """Where processes differ by 5 %, few runs have one level. A calibration is of its GPU
        alone; of two the later one."""

        def levels():
            return {level["uuid"] for level in self.history("few.db")["levels"]}

        last = [f"all/{name}" for name in sorted(os.listdir(self.path("all")))[-9 * self.GPUS :]]
        self.cbank("ingest", "few.db", *last)
        self.assertEqual(levels(), {uuid(1)})
        self.write("calibration.json", calibration_of(1))
        for changes in (
            {"modelled": True},
            {"device": {**SOURCE["device"], "uuid": None}},
            # that say nothing of a run here
            {"device": {**SOURCE["device"], "uuid": uuid(1), "driver": "another"}},
        ):
            self.write("none.json", calibration_of(1, **changes))
            self.cbank("ingest", "few.db", "none.json")
            self.assertEqual(levels(), {uuid(1)})
        self.assertEqual(self.ask("SELECT count(*) FROM calibrations", store="few.db"), [(1,)])
        new = {"device": {**SOURCE["device"], "uuid": uuid(1), "driver": "590.44.01"}}
        self.write("calibration.json", calibration_of(1, **new))
        for counts in ("1 new, 0 known", "0 new, 1 known"):
            self.assertEqual(
                self.cbank("ingest", "few.db", "calibration.json").stdout,
                f"{counts}, 0 refused\n",
            )
        self.assertEqual(levels(), set())
        for gpu, deviation, found in ((2, 0.05, set()), (1, 0.0002, {uuid(1)})):
            new["device"]["uuid"] = uuid(gpu)
            self.write("calibration.json", calibration_of(gpu, deviation, **new))
            self.cbank("ingest", "few.db", "calibration.json")
            self.assertEqual(levels(), found)

    def test_the_text_is_for_a_terminal(self):
        text = self.cbank("history", "store.db", "--cell", self.CELL).stdout
        self.assertTrue(text.startswith(self.CELL + "\n"))
        self.assertRegex(text, r"GPU-00000001 +n00 +590.44.01 ")
        self.assertRegex(
            text, r"(?s)Levels that changed:.*2026-03-10T02:00:01Z +GPU-00000001 +n00 +\+2.0\d%"
        )
        self.assertTrue(all(len(line) <= 80 for line in text.splitlines()))
        self.assertIn(
            f"no cell is named '{self.CELL}t'",
            self.cbank("history", "store.db", "--cell", self.CELL + "t", status=2).stderr,
        )

    def test_results_that_say_little_are_shown(self):
        def without(part, *keys):
            part.update(dict.fromkeys(keys))

        changes = {
            "cells": lambda result: result.update(cells=[]),
            "device": lambda result: without(result["device"], "uuid", "driver", "vbios"),
            "host": lambda result: without(result["host"], "name", "slot", "job"),
            "kernel": lambda result: result["cells"][0].update(counters={}),
            "interval": lambda result: without(result["cells"][1]["time_ns"], "ci_low", "ci_high"),
            "times": lambda result: [
                cell.update(
                    status="skipped",
                    reason="x",
                    time_ns={**cell["time_ns"], **dict.fromkeys(("value", "ci_low", "ci_high"))},
                )
                for cell in result["cells"]
            ],
        }
        for night, (name, change) in enumerate(changes.items()):
            result = result_of(0, night)
            change(result)
            self.write(f"few/{name}.json", result)
            self.cbank("ingest", f"{name}.db", f"few/{name}.json")
        self.cbank("ingest", "few.db", "few")
        for name in (*changes, "few"):
            for words in (
                ["history"],
                ["history", "--json"],
                ["fleet"],
                *(["fleet", form, "-"] for form in ("--json", "--markdown")),
            ):
                with self.subTest(name, words=words):
                    self.assertNotEqual(self.cbank(words[0], f"{name}.db", *words[1:]).stdout, "")


if __name__ == "__main__":
    unittest.main()
