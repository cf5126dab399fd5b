#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""End-to-end tests of stores and of several GPUs: cbank ingest, forget and compare, on copies of a committed result of a
GPU. CBANK names the program (default build/cbank)."""

import collections
import copy
import csv
import datetime
import hashlib
import json
import math
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import unittest
import unittest.mock
import xml.etree.ElementTree

import jsonschema

from common import ROOT, Scratch, read_json, read_result, repetitions, scale

sys.path.insert(0, os.path.join(ROOT, "scripts"))
import process_deviation  # noqa: E402

CBANK = os.path.abspath(os.environ.get("CBANK", os.path.join(ROOT, "build/cbank")))
SOURCE = read_result(os.path.join(ROOT, "results/h100/core-matrix.json"))
for CELL in SOURCE["cells"]:  # of a quiet GPU, whatever the committed one was: samples are in +-0.08 % of their time
    TIME, COUNT = CELL["time_ns"]["value"], len(CELL["time_ns"]["samples"])
    CELL["time_ns"].update(median=TIME, ci_low=TIME * 0.9998, ci_high=TIME * 1.0002, mad=TIME * 0.0004, min=TIME * 0.9992,
                           samples=[TIME * (1 + 0.0004 * (place % 5 - 2)) for place in range(COUNT // 5 * 5)])
CARD = os.path.join(ROOT, "results/cards/h200.json")
FIRST_NIGHT = datetime.datetime(2026, 3, 1, 2, 0, 0)


def utc(when):
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


def default_deviation(cause, ns):
    """Of deviation.def, of hot cells, and its degrees of freedom."""
    relative, part, degrees = process_deviation.written()[cause, "hot"]
    return math.hypot(relative, part / ns), degrees


def seconds(text):
    return int(datetime.datetime.strptime(text + "+0000", "%Y-%m-%dT%H:%M:%SZ%z").timestamp())


def result_of(gpu, night, cells=3, host=True):
    """A result of that GPU in that night."""
    result = {**copy.deepcopy({key: value for key, value in SOURCE.items() if key != "cells"}),
              "cells": copy.deepcopy(SOURCE["cells"][:cells])}
    started = FIRST_NIGHT + datetime.timedelta(days=night, seconds=gpu)
    result["started_utc"], result["finished_utc"] = utc(started), utc(started + datetime.timedelta(seconds=2))
    result["device"]["uuid"] = f"GPU-{gpu:08x}-1111-4111-8111-111111111111"
    if host:
        result["host"] = {"name": f"n{gpu // 8:02d}", "slot": f"00000000:{gpu % 8:02X}:00.0", "job": str(1000 + night)}
    return result


class Case(Scratch):
    def cbank(self, *arguments, status=0):
        done = subprocess.run([CBANK, *arguments], capture_output=True, text=True, timeout=120, check=False,
                              cwd=self.folder)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def nights(self, folder, gpus, nights, **options):
        """Results of GPUs in nights, a file each."""
        for night in range(nights):
            for gpu in range(gpus):
                self.write(f"{folder}/{night:02d}/gpu{gpu:02d}.json", result_of(gpu, night, **options))

    def ask(self, question, *values, store="store.db"):
        database = sqlite3.connect(self.path(store))
        try:
            return database.execute(question, values).fetchall()
        finally:
            database.close()

    def dump(self, store="store.db"):
        """All that the store says, when it is whole."""
        self.assertEqual(self.ask("PRAGMA integrity_check", store=store), [("ok",)])
        database = sqlite3.connect(self.path(store))
        try:
            return list(database.iterdump())
        finally:
            database.close()


class Ingest(Case):
    def test_a_folder_goes_in_once(self):
        self.nights("all", 4, 2)
        shutil.copy(CARD, self.path("all/card.json"))
        self.write("all/.hidden.json", "no JSON")
        self.write("all/notes.txt", "no JSON")
        self.assertEqual(self.cbank("ingest", "store.db", "all").stdout,
                         "8 new, 0 known, 0 refused, 1 passed over, which are no results\n")
        before = self.dump()
        os.rename(self.path("all/00"), self.path("all/moved"))
        self.assertEqual(self.cbank("ingest", "store.db", "all").stdout,
                         "0 new, 8 known, 0 refused, 1 passed over, which are no results\n")
        self.assertEqual(self.dump(), before)
        self.assertEqual(self.cbank("ingest", "--quiet", "store.db", "all/01/gpu00.json").stdout, "")
        self.assertEqual(self.cbank("ingest", "--list", "store.db", "all/01").stdout.splitlines(),
                         [f"known     all/01/gpu{i:02d}.json" for i in range(4)] + ["0 new, 4 known, 0 refused"])

    def test_what_results_say_is_in(self):
        result = result_of(5, 1, cells=24)
        result["cells"][2].update(status="failed", reason="wrong output", verified=False, flags=["unstable"])
        result["cells"][3]["counters"]["l1_sectors"].update(value=None, status="unsupported", reason="no such metric")
        result["cells"][4]["counters"]["ldc_instructions"]["value"] += 1
        path = self.write("one.json", result)
        self.cbank("ingest", "store.db", "one.json")
        with open(path, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        device = result["device"]
        self.assertEqual(
            self.ask("SELECT hash, file, started_utc, finished_utc, uuid, gpus.name, host_name, host_slot, host_job, engine,"
                     " modelled, driver, vbios, tool_version, git_commit, complete, sm_count, l2_bytes, compute_capability"
                     " FROM runs JOIN gpus USING (gpu_id) JOIN geometries USING (geometry_id)"),
            [(digest, "one.json", seconds(result["started_utc"]), seconds(result["finished_utc"]), device["uuid"],
              device["name"], "n00", "00000000:05:00.0", "1001", "cuda", 0, device["driver"], device["vbios"],
              result["tool"]["version"], result["tool"]["git_commit"], 1, device["sm_count"], device["l2_bytes"],
              device["compute_capability"])])
        found = self.ask("SELECT identity, cell, status, reason, verified, time_ns, ci_low_ns, ci_high_ns, min_ns, mad_ns,"
                         " sample_count, stop_reason, cycles, sm_clock_mhz, flags, sass_sha256, identity_id"
                         " FROM times JOIN identities USING (identity_id) LEFT JOIN kernels USING (kernel_id)")
        self.assertEqual(len(found), 24)
        names = {1 << bit: name for bit, name in enumerate(SOURCE["flag_reasons"])}
        self.assertLessEqual(names.items(), dict(self.ask("SELECT bit, name FROM flags")).items())
        for row in found:
            where = json.loads(row[1])
            self.assertEqual(row[0], where["identity"])
            cell, = [cell for cell in result["cells"] if all(cell[key] == where[key] for key in (
                "workload", "path", "pattern", "elements", "block_size", "regime", "parameters", "array_bytes"))]
            time = cell["time_ns"]
            self.assertEqual(row[2:14], (cell["status"], cell["reason"], cell["verified"], time["value"], time["ci_low"],
                                         time["ci_high"], time["min"], time["mad"], len(time["samples"]),
                                         time["stop_reason"], cell["cycles"], cell["sm_clock_mhz"]))
            self.assertEqual([name for bit, name in names.items() if row[14] & bit], cell["flags"])
            self.assertEqual(row[15], cell["kernel"]["sass_sha256"])
            counters = self.ask("SELECT name, kind, unit, status, value, expected FROM counters WHERE identity_id = ?", row[16])
            self.assertEqual(sorted(counters), sorted(
                (name, *(counter[key] for key in ("kind", "unit", "status", "value", "expected")))
                for name, counter in cell["counters"].items()))
        # Cells of one kernel and size that read the same share a set: fewer than one a cell and run.
        self.write("again.json", result_of(5, 2, cells=24))
        sets = self.ask("SELECT count(*) FROM counter_sets")
        self.cbank("ingest", "store.db", "again.json")
        self.assertLessEqual(self.ask("SELECT count(*) FROM counter_sets")[0][0], sets[0][0] + 2)
        self.assertEqual(self.ask("SELECT count(*) FROM history"), [(48,)])

    def test_several_at_once_make_no_duplicates(self):
        self.nights("all", 5, 4)
        running = [subprocess.Popen([CBANK, "ingest", "store.db", "all"], cwd=self.folder, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True) for _ in range(4)]
        said = [process.communicate(timeout=120) for process in running]
        self.assertEqual([process.returncode for process in running], [0] * 4, said)
        self.assertEqual(sum(int(out.split()[0]) for out, _ in said), 20)
        self.assertEqual(self.ask("SELECT count(*), count(DISTINCT hash) FROM runs"), [(20, 20)])
        self.assertEqual(self.ask("SELECT count(*) FROM times"), [(60,)])
        self.dump()

    def test_many_make_a_store_at_the_same_time(self):
        """Whoever comes while another makes the store, or changes how it is written, waits."""
        self.nights("all", 1, 1, cells=1)
        for number in range(repetitions(200, 60)):
            words = [CBANK, "ingest", f"store{number}.db", "all"]
            running = [subprocess.Popen(words, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                       for _ in range(6)]
            said = [process.communicate(timeout=120)[1] for process in running]
            self.assertEqual([process.returncode for process in running], [0] * 6, said)

    def test_killed_at_any_moment_nothing_that_was_in_is_lost(self):
        self.nights("all", 8, 25, cells=1)  # four transactions
        chance = random.Random(1)
        for attempt in range(repetitions(40, 6)):
            store = f"store{attempt}.db"
            # What is said on stdout is read as it comes; the kill is between two lines, or during what follows.
            with subprocess.Popen([CBANK, "ingest", "--list", store, "all"], cwd=self.folder, stdout=subprocess.PIPE,
                                  text=True) as process:
                said = [process.stdout.readline() for _ in range(chance.choice([0, 1, 64, 65, 128, 192]))]
                if chance.random() < 0.5:
                    try:
                        process.wait(chance.random() * 0.05)
                    except subprocess.TimeoutExpired:
                        pass
                process.send_signal(signal.SIGKILL)
                said += process.stdout.readlines()
            there = os.path.exists(self.path(store)) and self.ask(
                "SELECT count(*) FROM sqlite_schema WHERE name = 'runs'", store=store)[0][0]
            kept = {name for name, in self.ask("SELECT file FROM runs", store=store)} if there else set()
            lines = [line.split() for line in said if line.endswith("\n")]
            self.assertLessEqual({line[1] for line in lines if line[0] == "new" and len(line) == 2}, kept)
            self.cbank("ingest", store, "all")
            self.assertEqual(self.ask("SELECT count(*), count(DISTINCT hash) FROM runs", store=store), [(200, 200)])
            self.assertEqual(self.ask("SELECT count(*) FROM times", store=store), [(200,)])
            self.dump(store)

    def test_the_finished_result_takes_the_place_of_the_interrupted_one(self):
        whole = result_of(1, 1)
        part = {**copy.deepcopy(whole), "complete": False, "finished_utc": None}
        self.write("part.json", part)
        self.write("whole.json", whole)
        self.cbank("ingest", "store.db", "part.json")
        self.assertEqual(self.ask("SELECT complete, finished_utc FROM runs"), [(0, None)])
        self.cbank("ingest", "store.db", "whole.json")
        self.assertEqual(self.ask("SELECT file, complete FROM runs"), [("whole.json", 1)])
        self.assertEqual(self.ask("SELECT count(*) FROM times"), [(3,)])
        self.assertEqual(self.cbank("ingest", "store.db", "part.json").stdout, "0 new, 1 known, 0 refused\n")

    def test_predictions_without_uuid_may_begin_in_the_same_second(self):
        for name in ("one", "two"):
            self.cbank("run", "--engine", "model", "--quiet", "--elements", "4096", "--json", f"{name}.json")
        self.assertEqual(self.cbank("ingest", "store.db", "one.json", "two.json").stdout, "2 new, 0 known, 0 refused\n")
        self.assertEqual(self.ask("SELECT DISTINCT modelled, engine FROM runs"), [(1, "model")])


class BadInput(Case):
    """Exit 2, a message with the file, and a store that says what it said."""

    def setUp(self):
        super().setUp()
        self.write("good.json", result_of(0, 0))
        self.cbank("ingest", "store.db", "good.json")
        self.before = self.dump()

    def refused(self, path, pattern, counts="0 new, 0 known, 1 refused\n"):
        done = self.cbank("ingest", "store.db", path, status=2)
        self.assertRegex(done.stderr, pattern)
        self.assertIn(path, done.stderr)
        self.assertEqual(done.stdout, counts)
        self.assertEqual(self.dump(), self.before)

    def test_files_that_are_no_results(self):
        result = result_of(1, 0)
        self.write("text.json", "no JSON")
        self.refused("text.json", "unexpected text")
        self.write("cut.json", json.dumps(result)[:5000])
        self.refused("cut.json", "truncated|ends within")
        self.write("later.json", {**result, "schema": {"name": "cbank-result", "version": "3.0"}})
        self.refused("later.json", r"schema.version: 3.0")
        self.write("cell.json", {**result, "cells": [{**result["cells"][0], "pattern": "unheard_of"}]})
        self.refused("cell.json", "unheard_of")
        self.write("twice.json", {**result, "cells": [result["cells"][0], result["cells"][0]]})
        self.refused("twice.json", "a cell is twice")

    def test_another_document_is_passed_over(self):
        self.write("other.json", {"schema": {"name": "of somebody else", "version": "1.0"}})
        self.assertEqual(self.cbank("ingest", "store.db", "other.json").stdout,
                         "0 new, 0 known, 0 refused, 1 passed over, which are no results\n")
        self.assertEqual(self.dump(), self.before)

    def test_a_folder_without_results(self):
        os.makedirs(self.path("empty/deep"))
        for path, pattern in (("empty", "empty has no .json file"), ("nowhere", "nowhere: No such file"), ("", "empty name")):
            done = self.cbank("ingest", "new.db", path, status=2)
            self.assertRegex(done.stderr, pattern)
            self.assertFalse(os.path.exists(self.path("new.db")))

    def test_two_results_of_one_gpu_at_one_second(self):
        again = result_of(0, 0)
        again["cells"][0]["time_ns"]["value"] *= 1.5
        self.write("again.json", again)
        self.refused("again.json", "again.json: the same GPU and second as another run, good.json")
        other = result_of(0, 0, cells=4)
        self.write("other.json", {**other, "cells": other["cells"][3:]})
        self.cbank("ingest", "store.db", "other.json")  # other cells, which a GPU can measure in that second

    def test_clocks_that_run_backwards(self):
        result = result_of(1, 1)
        self.write("back.json", {**result, "finished_utc": "2026-03-01T00:00:00Z"})
        self.refused("back.json", "finished before it began")
        for name, text in (("day", "2026-02-30T00:00:00Z"), ("zone", "2026-03-01T00:00:00+01:00"), ("word", "yesterday")):
            self.write(f"{name}.json", {**result, "started_utc": text})
            self.refused(f"{name}.json", "started_utc is no time")

    def test_the_others_are_in(self):
        self.write("some/a.json", result_of(1, 1))
        self.write("some/b.json", "{")
        self.write("some/c.json", result_of(2, 1))
        self.assertEqual(self.cbank("ingest", "store.db", "some", status=2).stdout, "2 new, 0 known, 1 refused\n")

    def stores(self):
        """(name, message) of files that are no stores."""
        shutil.copy(self.path("store.db"), self.path("newer.db"))
        for name, statements in (("newer.db", "PRAGMA user_version = 1000"), ("foreign.db", "CREATE TABLE t (x)")):
            database = sqlite3.connect(self.path(name))
            database.execute(statements)
            database.commit()
            database.close()
        self.write("text.db", "this is a text, and no database of any kind" * 100)
        with open(self.path("store.db"), "rb") as file:
            data = bytearray(file.read())
        data[5000:] = os.urandom(len(data) - 5000)
        with open(self.path("damaged.db"), "wb") as file:
            file.write(data)
        return [("newer.db", "newer.db is a store of version 1000, and this cbank knows those up to"),
                ("foreign.db", "foreign.db is a database of another program"), ("text.db", "text.db is no S"),
                ("damaged.db", "damaged.db is damaged")]

    def test_files_that_are_no_stores(self):
        self.write("more.json", result_of(1, 1))
        for name, message in self.stores():
            with open(self.path(name), "rb") as file:
                before = file.read()
            for command in (["ingest", name, "more.json"], ["forget", name, "good.json"]):
                with self.subTest(" ".join(command)):
                    if name == "text.db" and command[0] == "forget":
                        message = "text.db is no store"
                    self.assertIn(message, self.cbank(*command, status=2).stderr)
                    with open(self.path(name), "rb") as file:
                        self.assertEqual(file.read(), before)

    def test_a_store_that_cannot_be_written(self):
        os.mkdir(self.path("folder.db"))
        self.assertIn("folder.db", self.cbank("ingest", "folder.db", "good.json", status=2).stderr)
        self.assertIn("nowhere/x.db", self.cbank("ingest", "nowhere/x.db", "good.json", status=2).stderr)


@unittest.skipUnless("nocuda" in CBANK, "this build has SQLite")
class WithoutSqlite(Case):
    """A build without the library says what is missing, and reads folders as ever."""

    def test_what_is_missing_is_said(self):
        self.nights("all", 2, 1)
        sqlite3.connect(self.path("store.db")).executescript("CREATE TABLE t (x)")
        for command in (["ingest", "store.db", "all"], ["forget", "store.db", "x"], ["history", "store.db"]):
            said = self.cbank(*command, status=3).stderr
            self.assertIn("store.db: this build has no SQLite", said)
            self.assertIn("libsqlite3-dev", said)
        self.cbank("history", "all/00")
        self.cbank("compare", "all/00", "all/00")


class Versions(Case):
    """A store of the first version is brought up by whatever opens it, and keeps what it says."""

    SCHEMA = "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name"

    def first_version(self):
        """The store as the first version made it."""
        database = sqlite3.connect(self.path("store.db"))
        database.executescript("DROP VIEW process_deviations; DROP TABLE calibrated; DROP TABLE calibrations;"
                               " DROP TABLE default_deviations; PRAGMA user_version = 1")
        made = sqlite3.connect(":memory:")
        with open(os.path.join(ROOT, "harness/store/store_1.sql"), encoding="utf-8") as file:
            made.executescript(file.read())
        self.assertEqual(database.execute(self.SCHEMA).fetchall(), made.execute(self.SCHEMA).fetchall())
        database.close()

    def test_brought_up(self):
        self.nights("all", 3, 5)
        self.nights("more", 3, 6)
        commands = (["history", "store.db"], ["fleet", "store.db"],
                    ["ingest", "store.db", "all"], ["ingest", "store.db", "more"], ["forget", "store.db", "all/00/gpu00.json"])
        for command in commands:
            with self.subTest(" ".join(command)):
                for name in ("store.db", "new.db"):
                    if os.path.exists(self.path(name)):
                        os.remove(self.path(name))
                    self.cbank("ingest", name, "all")
                rows = [line for line in self.dump() if "INTO \"times\"" in line or "INTO \"runs\"" in line]
                self.first_version()
                said = self.cbank(*command)
                self.assertEqual(self.ask(self.SCHEMA), self.ask(self.SCHEMA, store="new.db"))
                self.assertEqual(self.ask("PRAGMA user_version"), self.ask("PRAGMA user_version", store="new.db"))
                self.assertEqual(said.stderr, "")
                kept = set(rows) & set(self.dump())
                self.assertEqual(len(kept), len(rows) - (4 if command[0] == "forget" else 0))


class Documentation(Case):
    def test_questions_in_sql_are_answered(self):
        for gpu in range(3):
            result = result_of(gpu, 0, cells=24)
            result["started_utc"] = utc(datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(hours=2))
            result["finished_utc"] = None
            if gpu == 1:
                result["cells"][4]["counters"]["ldc_instructions"]["value"] += 1
                result["device"]["sm_count"] -= 2
            self.write(f"all/{gpu}.json", result)
        self.cbank("ingest", "store.db", "all")
        with open(os.path.join(ROOT, "docs/fleet.md"), encoding="utf-8") as file:
            blocks = re.findall(r"^```sql\n(.*?)^```", file.read(), re.MULTILINE | re.DOTALL)
        answers = [self.ask(question) for block in blocks for question in block.split(";") if question.strip()]
        self.assertEqual([len(rows) for rows in answers], [3, 1, 1, 24])
        self.assertEqual(answers[1][0][0], result_of(1, 0)["device"]["uuid"])
        self.assertEqual(answers[2], [(SOURCE["device"]["name"], 2)])
        self.assertEqual({(origin, count) for _, origin, _, count in answers[3]}, {("default", 3)})


class Forget(Case):
    def setUp(self):
        super().setUp()
        self.nights("all", 2, 2)
        self.cbank("ingest", "store.db", "all")

    def test_a_run_goes_and_stays_away(self):
        digest, = self.ask("SELECT hash FROM runs WHERE file = 'all/01/gpu01.json'")[0]
        done = self.cbank("forget", "store.db", digest[:12], "--why", "the door was open")
        self.assertEqual(done.stdout, f"forgotten: all/01/gpu01.json of 2026-03-02T02:00:01Z, hash {digest[:12]}\n")
        self.assertEqual(self.ask("SELECT hash, file, why FROM forgotten"),
                         [(digest, "all/01/gpu01.json", "the door was open")])
        for table, count in (("runs", 3), ("times", 9)):
            self.assertEqual(self.ask(f"SELECT count(DISTINCT run_id), count(*) FROM {table}"), [(3, count)])
        self.assertEqual(self.ask("SELECT count(DISTINCT run_id) FROM measured_counters"), [(3,)])
        self.assertEqual(self.cbank("ingest", "store.db", "all").stdout, "0 new, 3 known, 0 refused, 1 forgotten\n")
        self.cbank("forget", "store.db", "all/00/gpu00.json")
        self.assertEqual(self.ask("SELECT why FROM forgotten WHERE file = 'all/00/gpu00.json'"), [(None,)])

    def test_a_name_is_of_one_run(self):
        before = self.dump()
        for name, message in (("gpu01.json", "several runs are named gpu01.json"), ("nothing.json", "no run is named"),
                              ("u01.json", "no run is named"), ("%", "no run is named")):
            self.assertIn(message, self.cbank("forget", "store.db", name, status=2).stderr)
        self.assertEqual(self.dump(), before)


class Host(Case):
    def test_results_say_where_they_were_measured(self):
        run = ["run", "--engine", "model", "--quiet", "--path", "global", "--pattern", "per_warp", "--elements", "4096"]
        with unittest.mock.patch.dict(os.environ, {"SLURM_JOB_ID": "4711"}):
            self.cbank(*run, "--json", "said.json")
            self.cbank(*run, "--anonymous", "--json", "unsaid.json")
            os.mkdir(self.path("named"))
            self.cbank(*run, "--anonymous", "--json", "named/")
        self.assertEqual(read_json(self.path("said.json"))["host"], {"name": os.uname().nodename, "slot": None, "job": "4711"})
        self.assertEqual(read_json(self.path("unsaid.json"))["host"], {"name": None, "slot": None, "job": None})
        name, = os.listdir(self.path("named"))
        self.assertTrue(re.search(r"-host-0-\d{8}T", name), name)
        self.cbank("ingest", "store.db", "said.json", "unsaid.json")
        self.assertEqual(self.ask("SELECT host_name, host_job FROM runs ORDER BY file"),
                         [(os.uname().nodename, "4711"), (None, None)])


class Compare(Case):
    """Each GPU with itself, and one verdict for all."""

    def setUp(self):
        super().setUp()
        self.nights("all", 8, 1, cells=24)
        os.rename(self.path("all/00"), self.path("base"))
        shutil.copytree(self.path("base"), self.path("new"))
        for gpu in range(8):
            self.change(gpu, started_utc=utc(FIRST_NIGHT + datetime.timedelta(days=1, seconds=gpu)), finished_utc=None)

    def change(self, gpu, slower=1.0, uuid=None, **keys):
        """Changes the result of a GPU in new/."""
        result = {**read_json(self.path(f"new/gpu{gpu:02d}.json")), **keys}
        result["device"]["uuid"] = uuid or result["device"]["uuid"]
        for cell in result["cells"]:
            if cell["path"] == "constant":
                scale(cell, slower)
        self.write(f"new/gpu{gpu:02d}.json", result)

    def compare(self, base, new, *options, status=0):
        self.cbank("compare", base, new, "--json", "out.json", "--quiet", *options, status=status)
        comparison = read_json(self.path("out.json"))
        jsonschema.validate(comparison, read_json(os.path.join(ROOT, "results/comparison.schema.json")))
        return comparison

    def both(self, *options, status=0):
        """The comparison of the folders."""
        return self.compare("base", "new", *options, status=status)

    def test_a_quiet_night(self):
        comparison = self.both()
        self.assertEqual([gpu["verdict"] for gpu in comparison["gpus"]], ["same"] * 8)
        self.assertEqual(comparison["summary"],
                         "NEW is the same: 8 same of 8 GPUs; 192 same of 192 cells (threshold 1 %)")
        self.assertEqual([gpu["host"]["slot"] for gpu in comparison["gpus"]],
                         [f"00000000:{gpu:02X}:00.0" for gpu in range(8)])

    def test_one_gpu_is_slower(self):
        self.change(3, slower=1.05)
        comparison = self.both(status=1)
        slow = result_of(3, 0)["device"]["uuid"]
        self.assertEqual({gpu["uuid"]: gpu["verdict"] for gpu in comparison["gpus"] if gpu["verdict"] != "same"},
                         {slow: "regressed"})
        self.assertEqual(comparison["gpus"][0]["counts"]["regressed"], 8)
        self.assertEqual({(cell["uuid"], cell["path"]) for cell in comparison["cells"] if cell["verdict"] != "same"},
                         {(slow, "constant")})
        for cell in comparison["cells"][:8]:
            self.assertAlmostEqual(cell["ratio"]["value"], 1.05)
        table = self.cbank("compare", "base", "new", status=1).stdout
        self.assertRegex(table, r"GPU-00000003 +n00 .*regressed +8 regressed, 16 same|GPU-00000003 +n00 +regressed +8")
        self.assertNotRegex(table, "GPU-00000002")

    def test_a_gpu_on_one_side_alone(self):
        os.remove(self.path("new/gpu05.json"))
        self.change(6, uuid="GPU-99999999-2222-4222-8222-222222222222")
        self.change(7, uuid="GPU-88888888-2222-4222-8222-222222222222", host={"name": "n55", "slot": "x", "job": None})
        comparison = self.both(status=1)
        found = {gpu["uuid"][4:12]: gpu["verdict"] for gpu in comparison["gpus"] if gpu["verdict"] != "same"}
        self.assertEqual(found, {"00000005": "missing", "00000006": "missing", "00000007": "missing", "88888888": "new",
                                 "99999999": "new"})
        self.assertEqual((comparison["counts"]["missing"], comparison["counts"]["new"]), (72, 48))
        # A GPU more is no finding, as a cell more is none.
        self.assertEqual([gpu["verdict"] for gpu in self.compare("new/gpu00.json", "new/gpu00.json,new/gpu01.json")["gpus"]],
                         ["new", "same"])

    def test_formats_name_the_gpu_of_a_cell(self):
        self.change(3, slower=1.05)
        os.remove(self.path("new/gpu05.json"))
        self.cbank("compare", "base", "new", "--quiet", "--junit", "out.xml", "--markdown", "out.md", status=1)
        root = xml.etree.ElementTree.parse(self.path("out.xml")).getroot()
        cases = {(case.get("classname"), case.get("name")): case for case in root.iter("testcase")}
        self.assertEqual((len(cases), root.get("tests"), root.get("failures")), (8 * 24, str(8 * 24), str(8 + 24)))
        self.assertIn(("GPU-00000003.add.constant", "add/constant/per_warp/128000/1024/hot"), cases)
        with open(self.path("out.md"), encoding="utf-8") as file:
            self.assertRegex(file.read(), r"\| GPU-00000005 \| n00 \|.*\*\*missing\*\* \| 24 missing")

    def test_allow_diff_uuid_compares_two_named_gpus(self):
        self.assertIn("BASE has 8, NEW 8", self.cbank("compare", "base", "new", "--allow-diff", "uuid", status=2).stderr)
        self.assertIn("BASE has 1, NEW 8",
                      self.cbank("compare", "base/gpu01.json", "new", "--allow-diff", "uuid", status=2).stderr)
        comparison = self.compare("base/gpu01.json", "new/gpu02.json", "--allow-diff", "uuid", status=4)  # boards differ by more
        self.assertEqual(len(comparison["gpus"]), 1)
        self.assertEqual([row["facet"] for row in comparison["differences"]], ["uuid"])
        self.cbank("compare", "base/gpu01.json", "new/gpu02.json", status=3)

    def test_what_may_not_differ_is_of_one_gpu(self):
        result = read_json(self.path("new/gpu04.json"))
        result["device"]["ecc"] = "off"
        self.write("new/gpu04.json", result)
        comparison = self.both(status=1)
        self.assertEqual({gpu["uuid"][4:12]: gpu["verdict"] for gpu in comparison["gpus"] if gpu["verdict"] != "same"},
                         {"00000004": "invalid"})


class History(Case):
    """Planted steps: found on their GPU, in their path, with their date, and with what changed at the same time."""

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
                    factor *= 1.02 if gpu == 1 and cell["path"] == "constant" and night >= self.STEP else 1
                    factor *= 0.99 if gpu == 2 and cell["path"] == "global" and night >= 5 else 1
                    time = cell["time_ns"]
                    for key in ("value", "ci_low", "ci_high"):
                        time[key] *= factor
                self.write(f"all/{night:02d}-{gpu}.json", result)
        self.cbank("ingest", "store.db", "all")

    def history(self, *arguments):
        said = json.loads(self.cbank("history", *arguments, "--json").stdout)
        jsonschema.validate(said, read_json(os.path.join(ROOT, "results/history.schema.json")))
        return said

    def test_a_store_says_what_its_files_say(self):
        for options in ([], ["--cell", self.CELL], ["--cell", "*/constant/*"]):
            files, store = self.history("all", *options), self.history("store.db", *options)
            for row in files["rows"] + store["rows"]:
                del row["hash"], row["failed"]
            self.assertEqual(files["rows"], store["rows"])
            self.assertEqual(files["changes"], store["changes"])
            texts = [self.cbank("history", source, *options).stdout for source in ("all", "store.db")]
            self.assertEqual(*texts)

    def test_a_run_that_is_given_twice_counts_once(self):
        """So that one bad night is no new level of two runs."""
        last = f"all/{self.NIGHTS - 1:02d}-0.json"
        bad = read_json(os.path.join(self.folder, last))
        for cell in bad["cells"]:
            for key in ("value", "ci_low", "ci_high"):
                cell["time_ns"][key] *= 1.05
        self.write(last, bad)
        once = self.history("all")["changes"]
        self.assertEqual(self.history("all", last)["changes"], once)
        self.assertEqual(self.history("all", "all")["changes"], once)
        said = self.cbank("history", "all", last).stderr
        self.assertIn(f"6 of {6 * (self.NIGHTS * self.GPUS + 1)} times are of runs that were read already; they count once", said)

    def test_steps_are_found(self):
        changes = self.history("store.db")["changes"]
        found = {(change["uuid"][4:12], change["cell"].split("/")[1]) for change in changes}
        self.assertEqual(found, {("00000001", "constant"), ("00000002", "global")})
        self.assertEqual(len(changes), 4)  # two cells of each path
        for change in changes:
            constant = "/constant/" in change["cell"]
            night, size = (self.STEP, 0.02) if constant else (5, -0.01)
            gpu = 1 if constant else 2
            self.assertEqual(change["since_utc"], utc(FIRST_NIGHT + datetime.timedelta(days=night, seconds=gpu)))
            self.assertEqual(change["until_utc"], utc(FIRST_NIGHT + datetime.timedelta(days=night - 1, seconds=gpu)))
            self.assertLess(change["ci_low"], size)
            self.assertLess(size, change["ci_high"])
            self.assertLess(change["ci_high"] - change["ci_low"], 0.004)
            self.assertEqual((change["runs_before"], change["runs_after"]), (night, self.NIGHTS - night))
            self.assertEqual(change["with"], None if constant else
                             f"driver {SOURCE['device']['driver']} -> 590.44.01")
            self.assertEqual((change["host"], change["driver_after"]), ("n00", "590.44.01"))
        self.assertEqual([change["since_utc"] for change in changes],
                         sorted((change["since_utc"] for change in changes), reverse=True))

    def calibration(self, gpu, deviation=0.05):
        """A calibration of that GPU, which says that processes differ by 5 %."""
        cells = [{**{key: cell[key] for key in ("workload", "path", "pattern", "elements", "block_size", "regime",
                                               "parameters", "array_bytes")},
                  "noise": 0.1, "process_deviation": {"value": deviation, "degrees_of_freedom": 20, "origin": "calibration"},
                  "median_ns": cell["time_ns"]["value"], "sass_sha256": cell["kernel"]["sass_sha256"]}
                 for cell in SOURCE["cells"][:6]]
        return {"schema": {"name": "cbank-calibration", "version": "2.0"}, "tool": SOURCE["tool"], "engine": "cuda",
                "modelled": False, "device": {**result_of(gpu, 0)["device"], "driver": SOURCE["device"]["driver"]},
                "processes": 20, "cells": cells}

    def test_a_calibration_is_the_noise(self):
        """Where processes differ by 5 %, no step is one: whether the calibration is a file, or in the store."""
        self.write("calibration.json", self.calibration(1))
        self.assertEqual(self.history("store.db", "--calibration", "calibration.json")["changes"], [])
        before = self.history("store.db")["changes"]
        self.assertEqual({change["noise_origin"] for change in before}, {"default"})
        self.assertEqual(self.cbank("ingest", "store.db", "calibration.json").stdout, "1 new, 0 known, 0 refused\n")
        self.assertEqual(self.cbank("ingest", "store.db", "calibration.json").stdout, "0 new, 1 known, 0 refused\n")
        self.assertEqual(self.history("store.db")["changes"], [])
        self.assertEqual(self.ask("SELECT name, driver, processes, file FROM calibrations"),
                         [(SOURCE["device"]["name"], SOURCE["device"]["driver"], 20, "calibration.json")])

    def test_a_calibration_of_that_gpu_goes_first(self):
        """Of the three that apply: that of the GPU itself, and of two the later."""
        for gpu, deviation in ((1, 0.0001), (1, 0.0002), (0, 0.0004)):
            self.write("calibration.json", self.calibration(gpu, deviation))
            self.cbank("ingest", "store.db", "calibration.json")
        found = {change["uuid"][4:12]: (change["noise_origin"], change["noise"]) for change in self.history("store.db")["changes"]}
        self.assertEqual(found["00000001"], ("calibration", 0.0002))
        medians = self.ask("SELECT DISTINCT calibrated.median_ns FROM calibrated")
        others = self.ask("SELECT DISTINCT deviation FROM process_deviations WHERE origin = 'calibration_of_another_board'")
        self.assertEqual({round(deviation, 12) for deviation, in others},
                         {round(math.hypot(0.0004, default_deviation("board", ns)[0]), 12) for ns, in medians})

    def test_the_store_says_which_deviation_holds(self):
        """The view and the program say the same, of each origin."""
        self.write("calibration.json", self.calibration(1, 0.0003))
        self.cbank("ingest", "store.db", "calibration.json")
        rows = self.ask("SELECT uuid, driver, identity, times.time_ns, deviation, degrees, origin, calibration,"
                        " calibrated.median_ns FROM process_deviations JOIN identities USING (identity_id) JOIN runs USING (run_id) JOIN gpus USING (gpu_id)"
                        " JOIN times USING (run_id, identity_id)"
                        " LEFT JOIN (SELECT DISTINCT identity_id, median_ns FROM calibrated) AS calibrated USING (identity_id)")
        self.assertEqual(len(rows), self.NIGHTS * self.GPUS * 6)
        for uuid, driver, _, time, deviation, degrees, origin, file, calibrated in rows:
            if driver != SOURCE["device"]["driver"]:
                self.assertEqual((origin, file), ("default", None))
                for value, expected in zip((deviation, degrees), default_deviation("process", time)):
                    self.assertAlmostEqual(value, expected, 12)
            elif uuid.startswith("GPU-00000001"):
                self.assertEqual((origin, deviation, degrees, file), ("calibration", 0.0003, 20, "calibration.json"))
            else:
                self.assertEqual((origin, file), ("calibration_of_another_board", "calibration.json"))
                self.assertAlmostEqual(deviation, math.hypot(0.0003, default_deviation("board", calibrated)[0]), 12)
                self.assertLess(degrees, 20)
        first = {(uuid, driver, cell): deviation for uuid, driver, cell, _, deviation, *_ in rows}
        for change in self.history("store.db")["changes"]:
            if change["noise_origin"] != "default":
                self.assertAlmostEqual(change["noise"], first[change["uuid"], SOURCE["device"]["driver"], change["cell"]],
                                       12)

    def test_other_calibrations_say_nothing_of_a_gpu(self):
        for change in ({"modelled": True}, {"device": {**self.calibration(1)["device"], "uuid": None}}):
            self.write("calibration.json", {**self.calibration(1), **change})
            self.assertEqual(self.cbank("ingest", "store.db", "calibration.json").stdout,
                             "0 new, 0 known, 0 refused, 1 passed over, which are no results\n")
        self.write("calibration.json", {**self.calibration(1), "processes": "many"})
        self.assertIn("calibration.json: processes", self.cbank("ingest", "store.db", "calibration.json", status=2).stderr)
        self.assertEqual(self.ask("SELECT count(*) FROM calibrations"), [(0,)])

    def test_what_was_forgotten_is_said(self):
        self.cbank("forget", "store.db", "13-1.json", "--why", "a door was open")
        said = self.history("store.db")
        self.assertEqual([(row["file"], row["why"]) for row in said["forgotten"]], [("all/13-1.json", "a door was open")])
        self.assertNotIn("all/13-1.json", [row["file"] for row in said["rows"]])
        self.assertIn("a door was open", self.cbank("history", "store.db").stdout)

    def test_columns(self):
        text = self.cbank("history", "store.db", "--cell", self.CELL).stdout
        self.assertIn(self.CELL, text)
        self.assertRegex(text, r"GPU-00000001 +n00 +590.44.01 ")
        self.assertRegex(text, r"(?s)Levels that changed:.*2026-03-10T02:00:01Z +GPU-00000001 +n00 +\+2.0\d%")
        self.assertIn("| started |", self.cbank("history", "store.db", "--markdown").stdout)

    def test_a_threshold(self):
        self.assertEqual({change["uuid"][4:12] for change in self.history("store.db", "--threshold", "1.5")["changes"]},
                         {"00000001"})
        self.assertGreaterEqual(len(self.history("store.db", "--threshold", "0")["changes"]), 4)

    def test_bad_input(self):
        for source in ("store.db", "all"):
            self.assertRegex(self.cbank("history", source, "--cell", "nonsense", status=2).stderr, "(?i)no cell.*nonsense")
        for name, message in BadInput.stores(self):
            if name != "text.db":
                self.assertIn(message, self.cbank("history", name, status=2).stderr)


if __name__ == "__main__":
    unittest.main()
