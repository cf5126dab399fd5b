#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""End-to-end tests of cbank fleet: on stores that scripts/make_fleet.py makes, with and without what it plants, and on
results of a GPU that are changed and ingested. CBANK names the program (default build/cbank)."""

import copy
import datetime
import hashlib
import json
import os
import random
import sqlite3
import subprocess
import sys
import unittest
import xml.etree.ElementTree

import jsonschema

from common import ROOT, Scratch, read_json, read_result, scale

CBANK = os.path.abspath(os.environ.get("CBANK", os.path.join(ROOT, "build/cbank")))
MAKE = os.path.join(ROOT, "scripts/make_fleet.py")
SOURCE = read_result(os.path.join(ROOT, "results/h200/core-matrix.json"))
FIRST_NIGHT = datetime.datetime(2026, 3, 1, 22, 0, 0)


def run(*arguments, cwd=None, status=0):
    done = subprocess.run([CBANK, *arguments], capture_output=True, text=True, timeout=120, check=False, cwd=cwd)
    if done.returncode != status:
        raise AssertionError(f"exit {done.returncode}, not {status}\n{done.stdout}{done.stderr}")
    return done


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


class Case(Scratch):
    def fleet(self, *options, store="store.db", status=0):
        """The verdict as JSON, which its schema allows. The store stays as it is."""
        before = digest(self.path(store))
        run("fleet", store, "--json", "verdict.json", *options, cwd=self.folder, status=status)
        self.assertEqual(digest(self.path(store)), before)
        verdict = read_json(self.path("verdict.json"))
        jsonschema.validate(verdict, read_json(os.path.join(ROOT, "results/fleet.schema.json")))
        self.assertEqual(verdict["verdict"], "finding" if status else "quiet")
        self.assertEqual(any(finding["fails"] for finding in verdict["findings"]), status == 1)
        return verdict


class Made(Case):
    """Fleets by scripts/make_fleet.py."""

    def make(self, name, *options):
        subprocess.run([sys.executable, MAKE, self.path(name), *options], check=True, timeout=120)

    def assert_found(self, plant, findings):
        """Exactly one finding of what is planted."""
        kinds = {"missing": "missing", "replaced": "replaced"}
        gpus = set(plant.get("by", plant["gpus"]))
        kind = kinds.get(plant["kind"], "slower")
        found = [f for f in findings if f["kind"] == kind and (gpus >= {gpu["uuid"] for gpu in f["gpus"]} or plant["kind"] == "driver")
                 and (plant["kind"] == "driver") == (f["level"] == "model")]
        self.assertEqual(len(found), 1, (plant, findings))
        findings.remove(found[0])
        if plant["kind"] == "driver":
            self.assertIn("driver 580.159.04 -> 590.44.01", found[0]["why"])
            self.assertTrue(found[0]["what"].startswith("every path"))
        else:
            self.assertEqual({gpu["uuid"] for gpu in found[0]["gpus"]}, gpus)
        if "change" in plant:
            self.assertAlmostEqual(found[0]["change"], plant["change"], delta=0.003 if plant["kind"] != "drift" else 0.012)
            self.assertEqual(found[0]["drift"], plant["kind"] == "drift")
        if plant["kind"] in ("step", "driver", "node"):
            night = datetime.datetime(2026, 1, 1, 22) + datetime.timedelta(days=plant["night"])
            since = datetime.datetime.strptime(found[0]["since_utc"], "%Y-%m-%dT%H:%M:%SZ")
            self.assertLess(abs(since - night), datetime.timedelta(days=1, hours=1))
        if plant.get("path"):
            self.assertTrue(found[0]["what"].startswith(plant["path"] + " path"), found[0]["what"])

    def test_all_that_is_planted_is_found_and_nothing_else(self):
        for seed, tails in (("1", "normal"), ("2", "heavy")):
            self.make(seed, "--gpus", "96", "--nights", "24", "--seed", seed, "--tails", tails, "--planted", self.path("planted.json"))
            findings = self.fleet(store=seed, status=1)["findings"]
            with self.subTest(seed=seed):
                for plant in read_json(self.path("planted.json")):
                    self.assert_found(plant, findings)
                self.assertEqual(findings, [])

    def test_page(self):
        """A section with the findings, and the map."""
        self.make("store.db", "--gpus", "24", "--nights", "6", "--seed", "3")
        findings = self.fleet(status=1)["findings"]
        run("report", "-o", "page", "verdict.json", cwd=self.folder)
        with open(self.path("page/index.html"), encoding="utf-8") as file:
            page = file.read()
        self.assertIn('<h2 id="fleet">', page)
        for finding in findings:
            self.assertIn(finding["who"], page)
        self.assertTrue(os.path.getsize(self.path("page/figures/verdict-fleet.svg")) > 1000)

    def test_page_of_a_history(self):
        """A section with what changed, and the figure; runs that were taken out."""
        self.make("store.db", "--gpus", "24", "--nights", "12", "--seed", "3")
        run("forget", "store.db", "003/0004.json", "--why", "a door was open", cwd=self.folder)
        self.write("history.json", run("history", "store.db", "--cell", "add/*/per_warp/12800000/*", "--json", cwd=self.folder).stdout)
        said = read_json(self.path("history.json"))
        run("report", "-o", "page", "history.json", cwd=self.folder)
        with open(self.path("page/index.html"), encoding="utf-8") as file:
            page = file.read()
        self.assertIn('<h2 id="history">', page)
        self.assertGreater(len(said["changes"]), 0)
        for change in said["changes"]:
            self.assertIn(change["cell"], page)
            self.assertIn(f"{100 * change['change']:+.2f}", page)
        self.assertIn("driver 580.159.04 -&gt; 590.44.01", page)
        self.assertIn("a door was open", page)
        self.assertTrue(os.path.getsize(self.path("page/figures/history-history.svg")) > 1000)

    def test_a_quiet_night_is_quiet(self):
        self.make("store.db", "--gpus", "96", "--nights", "24", "--quiet", "--tails", "heavy")
        verdict = self.fleet()
        self.assertEqual((verdict["findings"], verdict["answered"], verdict["expected"], verdict["nights"]), ([], 96, 96, 24))
        self.assertEqual({gpu["verdict"] for gpu in verdict["gpus"]}, {"quiet"})
        self.assertEqual(run("fleet", "store.db", cwd=self.folder).stdout.splitlines()[0], "96 of 96 GPUs answered, nothing is worse")

    def test_equal_arguments_make_an_equal_store(self):
        dumps = []
        for name in ("one.db", "two.db"):
            self.make(name, "--gpus", "16", "--nights", "6", "--seed", "5")
            store = sqlite3.connect(self.path(name))
            dumps.append(list(store.iterdump()))
            store.close()
        self.assertEqual(*dumps)


class Simulation(Scratch):
    def test_small(self):
        """Nothing without cause, and all that is planted: where that is not so, the table in docs/fleet.md is wrong, too."""
        trial = os.path.join(os.path.dirname(CBANK), "tests/fleet/fleet_trial")
        if not os.path.exists(trial):
            self.skipTest("make tests builds it")
        subprocess.run([sys.executable, os.path.join(ROOT, "scripts/fleet_simulation.py"), "--small", "--gpus", "80", "--trial", trial,
                        "--json", self.path("rows.json")], check=True, capture_output=True, timeout=300)
        for row in read_json(self.path("rows.json"))["rows"]:
            self.assertEqual(row["others"], 0, row)
            self.assertGreaterEqual(row["found"], 0.95 * row["planted"], row)
            if row["plant"] != "drift":
                self.assertGreaterEqual(row["dated"], 0.95 * row["planted"], row)


class Ingested(Case):
    """Results of 2 nodes of 4 GPUs, 6 nights."""

    NIGHTS, GPUS, NODE = 6, 8, 4

    def setUp(self):
        super().setUp()
        self.cells = [cell for cell in SOURCE["cells"] if cell["pattern"] in ("per_warp", "per_thread")]
        self.random = random.Random(7)

    def result(self, gpu, night):
        result = {**copy.deepcopy({key: value for key, value in SOURCE.items() if key != "cells"}),
                  "cells": copy.deepcopy(self.cells)}
        started = FIRST_NIGHT + datetime.timedelta(days=night, seconds=gpu)
        result["started_utc"] = started.strftime("%Y-%m-%dT%H:%M:%SZ")
        result["finished_utc"] = (started + datetime.timedelta(seconds=2)).strftime("%Y-%m-%dT%H:%M:%SZ")
        result["device"]["uuid"] = f"GPU-{gpu:08x}-1111-4111-8111-111111111111"
        result["host"] = {"name": f"n{gpu // self.NODE}", "slot": f"00000000:{gpu % self.NODE:02X}:00.0", "job": None}
        for cell in result["cells"]:
            scale(cell, 1 + 0.0005 * self.random.uniform(-1, 1))
        return result

    def ingest(self, change=lambda result, gpu, night: result, store="store.db"):
        """Of each GPU and night a result, as `change` makes it; None: it did not answer."""
        for night in range(self.NIGHTS):
            for gpu in range(self.GPUS):
                result = change(self.result(gpu, night), gpu, night)
                if result:
                    self.write(f"{night}-{gpu}.json", json.dumps(result))
        run("ingest", "--quiet", store, ".", cwd=self.folder)

    def only(self, verdict, kind):
        self.assertEqual([finding["kind"] for finding in verdict["findings"]], [kind], verdict["findings"])
        return verdict["findings"][0]

    def test_quiet(self):
        self.ingest()
        verdict = self.fleet("--markdown", "quiet.md", "--junit", "quiet.xml")
        self.assertEqual((verdict["findings"], verdict["answered"], verdict["expected"]), ([], 8, 8))
        suite = xml.etree.ElementTree.parse(self.path("quiet.xml")).getroot()
        self.assertEqual((suite.get("tests"), suite.get("failures"), len(suite.findall(".//testcase"))), ("8", "0", 8))
        with open(self.path("quiet.md"), encoding="utf-8") as file:
            self.assertIn("8 of 8 GPUs answered, nothing is worse", file.read())

    def test_slow_missing_swapped(self):
        def change(result, gpu, night):
            for cell in result["cells"]:
                if gpu == 2 and night >= 4 and cell["path"] == "constant":
                    scale(cell, 1.05)
            if gpu == 6 and night == 5:
                result["device"]["uuid"] = "GPU-00000066-1111-4111-8111-111111111111"
            return None if gpu == 5 and night == 5 else result

        self.ingest(change)
        verdict = self.fleet("--markdown", "verdict.md", "--junit", "verdict.xml", status=1)
        missing, replaced, slower = verdict["findings"]
        self.assertEqual((missing["kind"], missing["gpus"][0]["uuid"][:12]), ("missing", "GPU-00000005"))
        self.assertEqual((replaced["kind"], replaced["gpus"][0]["uuid"][:12], replaced["what"][:28]),
                         ("replaced", "GPU-00000066", "in place of GPU-00000006-111"))
        self.assertEqual((slower["kind"], slower["gpus"][0]["uuid"][:12], slower["since_utc"][:10], slower["what"]),
                         ("slower", "GPU-00000002", "2026-03-05", "constant path, 4 of 4 cells"))
        self.assertAlmostEqual(slower["change"], 0.05, delta=0.001)
        self.assertEqual((verdict["answered"], verdict["expected"]), (7, 8))
        suite = xml.etree.ElementTree.parse(self.path("verdict.xml")).getroot()
        failures = {case.get("name").split()[1][:12]: case.find("failure").get("type") for case in suite.findall(".//testcase")
                    if case.find("failure") is not None}
        self.assertEqual(failures, {"GPU-00000005": "missing", "GPU-00000066": "replaced", "GPU-00000002": "slower"})
        self.assertEqual((suite.get("tests"), suite.get("failures")), ("8", "3"))
        with open(self.path("verdict.md"), encoding="utf-8") as file:
            text = file.read()
        for part in ("3 findings", "n0:02:00.0 GPU-00000002", "n1:01:00.0 GPU-00000005", "4 of 4 cells"):
            self.assertIn(part, text)

    def test_a_node_is_one_finding(self):
        def change(result, gpu, night):
            if gpu >= self.NODE and night >= 3:
                result["device"]["driver"] = "590.1"
                for cell in result["cells"]:
                    scale(cell, 1.03)
            return result

        self.ingest(change)
        finding = self.only(self.fleet(status=1), "slower")
        self.assertEqual((finding["level"], len(finding["gpus"]), finding["since_utc"][:10]), ("driver", 4, "2026-03-04"))
        self.assertEqual(finding["who"], "all 4 GPUs with driver 590.1")
        self.assertEqual(finding["why"], f"driver {SOURCE['device']['driver']} -> 590.1")
        # Held against another baseline, it is the same finding; where no night before it is looked at, it is none.
        self.only(self.fleet("--baseline", SOURCE["device"]["driver"], status=1), "slower")
        self.only(self.fleet("--baseline", "2026-03-03", status=1), "slower")
        self.assertEqual(self.fleet("--nights", "3", "--threshold", "0.5%")["findings"], [])
        for wrong in ("590.2", "2025-01-01"):
            done = run("fleet", "store.db", "--baseline", wrong, cwd=self.folder, status=2)
            self.assertIn(f"drivers: {SOURCE['device']['driver']}, 590.1", done.stderr)

    def test_faster_moved_and_added_ones_pass(self):
        def change(result, gpu, night):
            if night == 5:
                result["host"]["slot"] = {1: "00000000:09:00.0"}.get(gpu, result["host"]["slot"])
            for cell in result["cells"]:
                if gpu == 3 and night >= 4:
                    scale(cell, 0.9)
            return None if gpu == 7 and night < 5 else result

        self.ingest(change)
        verdict = self.fleet()
        self.assertEqual([(finding["kind"], finding["gpus"][0]["uuid"][:12]) for finding in verdict["findings"]],
                         [("faster", "GPU-00000003"), ("moved", "GPU-00000001"), ("added", "GPU-00000007")])

    def test_counters_geometry_and_failed_cells(self):
        def change(result, gpu, night):
            if night < 5:
                return result
            if gpu == 1:
                result["cells"][0]["counters"]["ldc_instructions"]["value"] += 8
            if gpu == 4:
                result["device"]["sm_count"] = 130
            if gpu == 6:
                result["cells"][1].update(status="failed", reason="wrong output", verified=False)
            return result

        self.ingest(change)
        failed, counter, geometry = self.fleet(status=1)["findings"]
        self.assertEqual([(f["kind"], f["gpus"][0]["uuid"][:12]) for f in (failed, counter, geometry)],
                         [("failed", "GPU-00000006"), ("counter", "GPU-00000001"), ("geometry", "GPU-00000004")])
        self.assertIn("wrong output", failed["what"])
        value = self.cells[0]["counters"]["ldc_instructions"]["value"]
        self.assertIn(f"ldc_instructions is {value + 8}, expected {value}", counter["what"])
        self.assertEqual(geometry["what"], "sm_count is 130, on most GPUs 132")

    def test_two_values_on_each_side(self):
        """Find a step that one on each does not."""
        def change(result, gpu, night):
            for cell in result["cells"]:
                if gpu == 2 and night >= 4:
                    scale(cell, 1.015)
            return result if night in (2, 3, 4, 5) else None

        self.ingest(change)
        self.assertEqual(self.only(self.fleet(status=1), "slower")["gpus"][0]["uuid"][:12], "GPU-00000002")
        for night in (2, 5):
            for gpu in range(self.GPUS):
                os.remove(self.path(f"{night}-{gpu}.json"))
        run("ingest", "--quiet", "two.db", ".", cwd=self.folder)
        self.assertEqual(self.fleet(store="two.db")["findings"], [])

    def test_a_calibration_is_the_noise(self):
        """A step is none where a calibration in the store says that processes differ by 5 %."""
        def change(result, gpu, night):
            for cell in result["cells"] if gpu == 2 and night >= 4 else []:
                scale(cell, 1.015)
            return result if night in (2, 3, 4, 5) else None

        self.ingest(change)
        self.only(self.fleet(status=1), "slower")
        keys = ("workload", "path", "pattern", "elements", "block_size", "regime", "parameters", "array_bytes")
        calibration = {
            "schema": {"name": "cbank-calibration", "version": "2.0"}, "tool": SOURCE["tool"], "engine": "cuda", "modelled": False,
            "device": SOURCE["device"], "processes": 20,
            "cells": [{**{key: cell[key] for key in keys}, "noise": 0.2, "median_ns": cell["time_ns"]["value"],
                       "process_deviation": {"value": 0.05, "degrees_of_freedom": 20, "origin": "processes"},
                       "sass_sha256": cell["kernel"]["sass_sha256"]} for cell in self.cells]}
        for driver, findings in (("of another driver", 1), (SOURCE["device"]["driver"], 0)):
            self.write("calibration.json", json.dumps({**calibration, "device": {**SOURCE["device"], "driver": driver}}))
            run("ingest", "--quiet", "store.db", "calibration.json", cwd=self.folder)
            self.assertEqual(len(self.fleet(status=findings)["findings"]), findings)

    def test_inventory(self):
        self.ingest(lambda result, gpu, night: None if gpu == 3 else result)
        self.assertEqual(self.fleet()["findings"], [])
        self.write("inventory", "# nodes\nn0 4\nn1 4  # all\n")
        finding = self.only(self.fleet("--inventory", "inventory", status=1), "missing")
        self.assertEqual((finding["who"], finding["what"]), ("n0", "3 of 4 GPUs of n0 answered"))
        self.write("inventory", "n0 3\nn1 GPU-00000004-1111-4111-8111-111111111111\nn1 GPU-ffffffff-1111-4111-8111-111111111111\n")
        finding = self.only(self.fleet("--inventory", "inventory", status=1), "missing")
        self.assertIn("GPU-ffffffff", finding["what"])
        # Names that no result has are said with the file and the line.
        self.write("inventory", "n0 3\nn7 4\n")
        done = run("fleet", "store.db", "--inventory", "inventory", cwd=self.folder, status=1)
        self.assertIn("inventory:2: n7 never answered in store.db", done.stderr)
        self.assertIn("inventory: has no line for n1, which answered", done.stderr)
        for text, message in (("n0\n", "inventory:1: a line is a host"), ("n0 4 x\n", "inventory:1: a line is a host"),
                              ("n0 3\n\nn1 many\n", "inventory:3: many is no UUID"), ("n0 -4\n", "is no UUID"), ("# no\n", "has no host"),
                              ("n0 0\n", "is no UUID and no number")):
            self.write("inventory", text)
            self.assertIn(message, run("fleet", "store.db", "--inventory", "inventory", cwd=self.folder, status=2).stderr)
        run("fleet", "store.db", "--inventory", "nowhere", cwd=self.folder, status=2)

    def test_nights(self):
        """Runs of one night are its rounds; --gap says what a night is, --nights how many are looked at."""
        def change(result, gpu, night):
            for cell in result["cells"]:
                if gpu == 2 and night >= 4:
                    scale(cell, 1.05)
            return result

        self.ingest(change)
        self.assertEqual(self.fleet("--gap", "30", status=1)["nights"], 1)
        self.assertEqual(self.fleet("--nights", "4", status=1)["nights"], 4)
        # Without a past it still differs from the others.
        self.only(self.fleet("--nights", "1", status=1), "apart")
        self.assertEqual(self.fleet("--nights", "1", "--peer-threshold", "6%")["findings"], [])
        said = run("fleet", "store.db", "--nights", "1", "--peer-threshold", "6", cwd=self.folder).stdout
        self.assertIn("no past", " ".join(said.split()))
        self.assertLessEqual(max(map(len, said.splitlines())), 80)

    def test_bad_input(self):
        self.ingest()
        self.write("text.db", "no store\n")
        for name, message in (("text.db", "is no store"), ("0-0.json", "is no store"), ("/dev/null", "is no store"),
                              ("nowhere.db", "cannot read nowhere.db: No such file"), (".", "cannot read .: Is a directory")):
            self.assertIn(message, run("fleet", name, cwd=self.folder, status=2).stderr)
        for arguments, message in ((("--nights", "0"), "--nights: 0 is out of limits; 1 to 100000 nights"),
                                   (("--json", "store.db"), "--json: store.db is named for something else, too"),
                                   (("--baseline", ""), "--baseline")):
            self.assertIn(message, run("fleet", "store.db", *arguments, cwd=self.folder, status=2).stderr)
        sqlite3.connect(self.path("empty.db")).close()
        run("fleet", "empty.db", cwd=self.folder, status=2)

    def test_a_store_is_made_printable(self):
        self.ingest()
        store = sqlite3.connect(self.path("store.db"))
        with store:
            store.execute("UPDATE runs SET host_name = 'n\x1b[31m' WHERE host_name = 'n1'")
            store.execute("UPDATE times SET status = 'failed', reason = 'so\x1b]0;x\x07' WHERE run_id IN (SELECT run_id FROM runs"
                          " WHERE host_name LIKE 'n_[%')")
        store.close()
        for form in ("--json", "--markdown", "--junit"):
            self.assertNotIn("\x1b", run("fleet", "store.db", form, "-", cwd=self.folder, status=1).stdout)
        shown = run("fleet", "store.db", cwd=self.folder, status=1).stdout
        self.assertNotIn("\x1b", shown)
        self.assertIn("n?[31m", shown)

    def test_a_clock_that_is_ahead(self):
        def change(result, gpu, night):
            if gpu == 1 and night == 5:
                result["started_utc"], result["finished_utc"] = "2100-01-01T00:00:00Z", "2100-01-01T00:00:02Z"
            return result

        self.ingest(change)
        run("fleet", "store.db", "--quiet", cwd=self.folder, status=1)
        self.assertIn("./5-1.json: it began in the future", run("fleet", "store.db", cwd=self.folder, status=1).stderr)


if __name__ == "__main__":
    unittest.main()
