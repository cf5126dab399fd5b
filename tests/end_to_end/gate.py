#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""End-to-end tests of compare, calibrate, history and export on committed results of a real GPU and on copies of
them with a planted change. CBANK names the program (default build/cbank)."""

import csv
import glob
import io
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import unittest
import xml.etree.ElementTree as xml

import jsonschema

from common import ROOT, Scratch, read_json, read_result, scale

sys.path.insert(0, os.path.join(ROOT, "scripts"))
from page import others  # noqa: E402

CBANK = os.path.abspath(os.environ.get("CBANK", os.path.join(ROOT, "build/cbank")))
FIRST = os.path.join(ROOT, "results/h200/core-matrix.json")
SECOND = os.path.join(ROOT, "results/h200/second-process.json")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Case(Scratch):
    def cbank(self, *arguments, status=0):
        done = subprocess.run([CBANK, *arguments], capture_output=True, text=True, timeout=120, check=False,
                              cwd=self.folder, env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def plant(self, change, source=SECOND, name="new.json"):
        """A copy of a result after change(result)."""
        result = read_result(source)
        change(result)
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(result, file)
        return path

    def compare(self, base, new, *options, status=0):
        """The comparison as JSON, valid under its schema."""
        done = self.cbank("compare", base, new, "--json", "-", *options, status=status)
        comparison = json.loads(done.stdout)
        schema = read_json(os.path.join(ROOT, "results/comparison.schema.json"))
        jsonschema.Draft202012Validator(schema).validate(comparison)
        return comparison


def verdicts(comparison):
    return {(cell["path"], cell["pattern"], cell["elements"]): cell["verdict"] for cell in comparison["cells"]}


class Verdicts(Case):
    def test_two_processes_on_one_gpu(self):
        comparison = self.compare(FIRST, SECOND)
        self.assertLessEqual(set(verdicts(comparison).values()), {"same", "inconclusive"})
        self.assertGreaterEqual(comparison["counts"]["same"], 23)

    def test_one_code_is_no_regression_whatever_the_plan(self):
        """One GPU, driver and code: plans differ, and with them where buffers lie; some cells did not settle. (The
        cells of the workload refill have several modes each, and say nothing.)"""
        folder = os.path.join(ROOT, "results/h200")
        files = ["core-matrix.json", "second-process.json", "core-matrix-cold.json", "sizes.json", "all-paths.json",
                 "sample-us-100.json", "sample-us-2000.json", "stencil-blocks.json"]
        for base, new in itertools.combinations(files, 2):
            done = subprocess.run([CBANK, "compare", os.path.join(folder, base), os.path.join(folder, new), "--json", "-"],
                                  capture_output=True, text=True, timeout=60, check=False)
            with self.subTest(base=base, new=new):
                counts = json.loads(done.stdout)["counts"]
                self.assertEqual((counts["regressed"], counts["improved"]), (0, 0))

    def test_one_process_says_what_it_assumes(self):
        comparison = self.compare(FIRST, SECOND)
        for cell in comparison["cells"]:
            self.assertEqual(cell["process_deviation"]["origin"], "default")
            self.assertEqual(cell["degrees_of_freedom_of_sides"], 0)
        said = " ".join(self.cbank("compare", FIRST, SECOND).stdout.split())
        self.assertIn("the default, assumed of this GPU; cbank calibrate measures it", said)

    def test_an_unstable_cell_is_at_worst_inconclusive(self):
        def slower(result):
            for cell in result["cells"][:12]:
                scale(cell, 1.1)
            for cell in result["cells"][:6]:
                cell["flags"].append("unstable")

        comparison = self.compare(FIRST, self.plant(slower), status=1)
        self.assertEqual(comparison["counts"]["regressed"], 6)
        for cell in comparison["cells"]:
            if "unstable" in (cell["note"] or ""):
                self.assertEqual((cell["verdict"], cell["processes_to_settle"]), ("inconclusive", None))

    def test_what_would_settle_a_cell(self):
        """The advice is a number of processes and commands that can be run as they stand."""
        self.cbank("run", "--engine", "model", "--quiet", "--path", "constant", "--elements", "4096", "--json", "a.json")
        path = os.path.join(self.folder, "a.json")

        def measured(factor):
            def change(result):
                result["engine"], result["modelled_time"] = "cuda", False
                result["started_utc"] = f"202{round(factor * 5)}-01-02T03:04:05Z"
                for cell in result["cells"]:
                    samples = [1000 * factor * (1 + i / 500) for i in range(20)]
                    cell["time_ns"] = {**cell["time_ns"], "samples": samples, "value": sum(samples) / 20, "median": samples[10],
                                       "ci_low": samples[5], "ci_high": samples[14], "min": samples[0], "mad": 10,
                                       "stop_reason": "converged"}
            return change

        base, new = self.plant(measured(1), path, "base.json"), self.plant(measured(1.008), path, "new.json")
        comparison = self.compare(base, new)
        settle = {cell["processes_to_settle"] for cell in comparison["cells"]}
        self.assertEqual(comparison["counts"]["inconclusive"], len(comparison["cells"]))
        self.assertEqual(len(settle), 1)
        said = " ".join(self.cbank("compare", "base.json", "new.json").stdout.split())
        self.assertIn(f"{settle.pop()} processes a side would settle", said)
        command = re.search(r"cbank gate --base-program \S+ .*? --processes \d+", said).group(0)
        done = subprocess.run(["bash", "-e", "-c", command.replace("cbank gate", f"{CBANK} gate")], check=False,
                              capture_output=True, text=True, timeout=120, cwd=self.folder)
        self.assertIn("NEW is the same", done.stdout, done.stderr)

        for driver, file in (("1.1", base), ("999.1", new)):  # BASE cannot be measured here again
            self.plant(lambda result, driver=driver: result["device"].update(driver=driver), file, os.path.basename(file))
        said = " ".join(self.cbank("compare", "base.json", "new.json").stdout.split())
        command = re.search(r"mkdir -p more-base .*?cbank compare \S+ \S+", said).group(0)
        done = subprocess.run(["bash", "-e", "-c", command.replace("cbank compare", f"{CBANK} compare")], check=False,
                              capture_output=True, text=True, timeout=120, cwd=self.folder)
        self.assertTrue(os.path.exists(os.path.join(self.folder, "more-new/1.json")), done.stderr)

    def test_a_slower_path_regresses(self):
        def slower(result):
            for cell in result["cells"]:
                if cell["path"] == "global":
                    scale(cell, 1.02)

        comparison = self.compare(FIRST, self.plant(slower), status=1)
        for (path, _, _), verdict in verdicts(comparison).items():
            self.assertIn(verdict, ("regressed",) if path == "global" else ("same", "inconclusive"))
        self.assertLessEqual(comparison["counts"]["inconclusive"], 1)
        self.assertTrue(all(cell["verdict"] == "regressed" for cell in comparison["cells"][:8]))  # worst first

    def test_a_change_below_the_threshold_passes(self):
        def slower(result):
            for cell in result["cells"]:
                scale(cell, 1.003)

        self.assertNotIn("regressed", verdicts(self.compare(FIRST, self.plant(slower))).values())

    def test_the_threshold_is_the_users(self):
        def slower(result):
            scale(result["cells"][9], 1.02)

        new = self.plant(slower)
        self.compare(FIRST, new, "--threshold", "5%")
        self.compare(FIRST, new, "--threshold", "1", status=1)

    def test_improvement_never_fails(self):
        def faster(result):
            for cell in result["cells"]:
                scale(cell, 0.9)

        self.assertEqual(set(verdicts(self.compare(FIRST, self.plant(faster))).values()), {"improved"})

    def test_a_missing_cell_fails_and_a_new_one_does_not(self):
        def shorter(result):
            del result["cells"][0]

        short = self.plant(shorter)
        self.assertIn("missing", verdicts(self.compare(FIRST, short, status=1)).values())
        self.assertIn("new", verdicts(self.compare(short, FIRST)).values())

    def test_an_exact_counter_that_moved_fails(self):
        def moved(result):
            result["cells"][3]["counters"]["idc_requests"]["value"] += 1

        comparison = self.compare(FIRST, self.plant(moved), status=1)
        self.assertEqual(comparison["cells"][0]["verdict"], "regressed")
        self.assertIn("idc_requests", json.dumps(comparison["cells"][0]))

    def test_a_failed_cell_is_invalid(self):
        def failed(result):
            result["cells"][5].update(status="failed", reason="planted")

        self.assertIn("invalid", verdicts(self.compare(FIRST, self.plant(failed), status=1)).values())

    def test_wide_samples_are_inconclusive(self):
        def noisy(result):
            samples = result["cells"][7]["time_ns"]["samples"]
            result["cells"][7]["time_ns"]["samples"] = [s * (0.9 if 7 * i % 11 < 5 else 1.1) for i, s in enumerate(samples)]

        new = self.plant(noisy)
        self.assertIn("inconclusive", verdicts(self.compare(FIRST, new)).values())
        self.compare(FIRST, new, "--strict", status=4)

    def test_the_same_files_give_the_same_report(self):
        self.assertEqual(self.cbank("compare", FIRST, SECOND, "--all").stdout,
                         self.cbank("compare", FIRST, SECOND, "--all").stdout)

    def test_several_processes_on_a_side(self):
        counts = self.compare(f"{FIRST},{SECOND}", SECOND)["counts"]
        self.assertGreaterEqual(counts["same"], 23)
        self.assertEqual(counts["same"] + counts["inconclusive"], 24)

    def test_a_file_given_twice_is_one_process(self):
        """It makes nothing surer: a side has its samples once."""
        once, twice = self.compare(FIRST, SECOND), self.compare(f"{FIRST},{FIRST}", f"{SECOND},{os.path.dirname(SECOND)}/./{os.path.basename(SECOND)}")
        self.assertEqual(twice["cells"], once["cells"])
        self.assertIn("in 24 of 24 cells; they count once", self.cbank("compare", f"{FIRST},{FIRST}", SECOND).stderr)


class SameData(Case):
    """A folder against itself, and against copies of it."""

    FOLDER = os.path.dirname(FIRST)

    def copies(self, change):
        """A folder with copies of the results after change(result)."""
        os.makedirs(os.path.join(self.folder, "copies"))
        for name in sorted(os.listdir(self.FOLDER)):
            if name.endswith(".json"):
                self.plant(change, os.path.join(self.FOLDER, name), os.path.join("copies", name))
        return os.path.join(self.folder, "copies")

    def test_a_folder_with_itself(self):
        comparison = self.compare(self.FOLDER, self.FOLDER, "--strict")
        self.assertEqual(comparison["counts"]["same"], len(comparison["cells"]))
        timed = [cell for cell in comparison["cells"] if cell["ratio"]]
        self.assertGreater(len(timed), 1000)
        self.assertTrue(all(cell["same_data"] for cell in timed))
        self.assertIn(f"the same data in {len(timed)} of {len(comparison['cells'])} cells",
                      " ".join(self.cbank("compare", self.FOLDER, self.FOLDER).stdout.split()))

    def test_samples_and_files_in_another_order(self):
        def reordered(result):
            result["cells"].reverse()
            for cell in result["cells"]:
                if cell["status"] == "ok":
                    cell["time_ns"]["samples"] = sorted(cell["time_ns"]["samples"], key=lambda its: its % 1)

        copies = self.copies(reordered)
        names = sorted(os.listdir(copies))
        for name, other in zip(names, reversed(names)):
            os.rename(os.path.join(copies, name), os.path.join(copies, "z" + other))
        comparison = self.compare(self.FOLDER, copies, "--strict")
        self.assertEqual(comparison["counts"]["same"], len(comparison["cells"]))
        self.assertEqual(sum(cell["same_data"] for cell in comparison["cells"]),
                         sum(cell["ratio"] is not None for cell in comparison["cells"]))

    def test_one_sample_that_differs(self):
        """The intervals decide then: of a quiet cell that it is the same, of one that varies more than 1 % that they do not."""
        def width(cell):
            time = cell["time_ns"]
            return (time["ci_high"] - time["ci_low"]) / time["value"]

        def changed(result):
            widest = max((cell for cell in result["cells"] if cell["status"] == "ok"), key=width)
            widest["time_ns"]["samples"][3] *= 1.0001

        for name, verdict in (("h200/core-matrix.json", "same"), ("h100/refill.json", "inconclusive")):
            with self.subTest(name):
                path = os.path.join(os.path.dirname(self.FOLDER), name)
                comparison = self.compare(path, self.plant(changed, path))
                other, = (cell for cell in comparison["cells"] if cell["ratio"] and not cell["same_data"])
                self.assertEqual(other["verdict"], verdict)
                self.assertLess(other["ratio"]["ci_low"], other["ratio"]["ci_high"])
                self.assertEqual(comparison["counts"]["same"], len(comparison["cells"]) - (verdict != "same"))

    def test_many_cells_that_are_slower(self):
        def slower(result):
            result["started_utc"] = "2027" + result["started_utc"][4:]
            for cell in result["cells"]:
                if cell["status"] == "ok":
                    scale(cell, 1.05)

        path = os.path.join(self.FOLDER, "serialization.json")
        comparison = self.compare(path, self.plant(slower, path), status=1)
        sure = [cell for cell in read_json(path)["cells"]
                if cell["status"] == "ok" and not {"unstable", "multimodal", "shared"} & set(cell["flags"])]
        self.assertGreater(comparison["counts"]["regressed"], 0.95 * len(sure))
        for cell in comparison["cells"]:
            self.assertIn(cell["verdict"], ("regressed", "inconclusive") if cell["ratio"] else ("same", "invalid"))
        self.assertFalse(any(cell["same_data"] for cell in comparison["cells"]))


class Comparable(Case):
    def test_another_gpu_is_refused_unless_allowed(self):
        def other(result):
            result["device"]["uuid"] = "GPU-00000000-0000-0000-0000-000000000000"

        new = self.plant(other)
        done = self.cbank("compare", FIRST, new, status=3)
        self.assertIn("uuid", done.stdout + done.stderr)
        self.cbank("compare", FIRST, new, "--allow-diff", "uuid")

    def test_another_driver_is_what_the_gate_is_for(self):
        def other(result):
            result["device"]["driver"] = "999.1"

        self.assertIn("999.1", self.cbank("compare", FIRST, self.plant(other)).stdout)

    def test_another_code_is_said(self):
        def other(result):
            for cell in result["cells"][:3]:
                cell["kernel"]["sass_sha256"] = "0" * 64

        new = self.plant(other)
        self.assertIn("sass", self.cbank("compare", FIRST, new, status=3).stdout)
        said = " ".join(self.cbank("compare", FIRST, new, "--allow-diff", "sass", "--all").stdout.split())
        self.assertEqual(said.count("how is not known: results before schema 2.2 do not hold it"), 3)

    def test_how_code_changed_is_said(self):
        """In every format: opcodes, and the first instruction that differs."""
        was = read_json(FIRST)["cells"][0]["kernel"]["sass_sha256"]
        opcodes, letters, hashes = read_json(FIRST)["code"][was].split(";")
        words = dict(zip(opcodes.split(" ")[::2], opcodes.split(" ")[1::2]))
        place = 3 + letters[3:].index("A")

        def other(result):
            """One instruction is the last opcode, a branch, instead of the first."""
            first, last = list(words)[0], list(words)[-1]
            counts = {**words, first: int(words[first]) - 1, last: int(words[last]) + 1}
            result["code"]["f" * 64] = ";".join((" ".join(f"{name} {count}" for name, count in counts.items()),
                                                 letters[:place] + letters[-1] + letters[place + 1:],
                                                 "".join("+-"[hash == "+"] if i == place // 8 else hash
                                                         for i, hash in enumerate(hashes))))
            for cell in result["cells"]:
                if cell["kernel"]["sass_sha256"] == was:
                    cell["kernel"]["sass_sha256"] = "f" * 64

        new = self.plant(other)
        comparison = self.compare(FIRST, new, "--allow-diff", "sass")
        changed = [cell["code"] for cell in comparison["cells"] if cell["code"]]
        self.assertEqual(len(changed), sum(cell["sass_differs"] for cell in comparison["cells"]))
        name = list(words)[0]
        self.assertEqual((changed[0]["first_from"], changed[0]["first_to"], changed[0]["first_other_opcode"]),
                         (place // 8 * 8 + 1, place + 1, place + 1))
        self.assertEqual((changed[0]["base_opcode"], changed[0]["new_opcode"]), (name, "BRA"))
        page = others.code_text(next(cell for cell in comparison["cells"] if cell["code"]))
        self.assertIn(f"{len(letters)} instructions, {name} {words[name]} to {int(words[name]) - 1}, BRA 1 to 2, the first "
                      f"other opcode is {place + 1}, {name} and BRA", page)
        line = f"{len(letters)} instructions: {name} {words[name]} -> {int(words[name]) - 1}, BRA 1 -> 2; the first"
        self.cbank("compare", FIRST, new, "--allow-diff", "sass", "--markdown", "r.md", "--junit", "r.xml", "--csv", "r.csv",
                   "--quiet")
        self.assertIn(line, " ".join(self.cbank("compare", FIRST, new, "--allow-diff", "sass").stdout.split()))
        for report, escape in (("r.md", "&gt;"), ("r.xml", "&gt;"), ("r.csv", ">")):
            self.assertIn(line.replace(">", escape), read(os.path.join(self.folder, report)), report)

    def test_code_takes_little_of_a_result(self):
        """Of every workload by every path, without counters and samples, which are most of a measured one."""
        self.cbank("run", "--engine", "model", "--quiet", "--counters", "none", "--workload", "all", "--path", "all", "--json",
                   "all.json")
        path = os.path.join(self.folder, "all.json")
        result = read_json(path)
        self.assertGreater(len(result["cells"]), 380)
        self.assertEqual({cell["kernel"]["sass_sha256"] for cell in result["cells"]} - {None}, set(result["code"]))
        self.assertLess(len(json.dumps(result["code"])), 0.1 * os.path.getsize(path))
        self.cbank("show", path, "--json")

    def test_modelled_against_measured(self):
        self.cbank("run", "--engine", "model", "--quiet", "--json", "model.json")
        self.cbank("compare", FIRST, "model.json", status=3)

    def test_no_cell_in_common(self):
        self.cbank("run", "--engine", "model", "--elements", "77", "--quiet", "--json", "a.json")
        self.cbank("run", "--engine", "model", "--elements", "78", "--quiet", "--json", "b.json")
        done = self.cbank("compare", "a.json", "b.json", status=3)
        self.assertEqual(len(done.stdout.splitlines()), 2, done.stdout)  # of one sentence
        self.assertIn("no cell in common", done.stdout)
        self.assertEqual(done.stderr, "")
        self.cbank("compare", "a.json", "b.json", "--markdown", "r.md", "--quiet", status=3)
        self.assertNotIn("|", read(os.path.join(self.folder, "r.md")))

    def test_bad_input(self):
        bad = os.path.join(self.folder, "bad.json")
        with open(bad, "w", encoding="utf-8") as file:
            file.write(read(FIRST)[:5000])
        for arguments in ((FIRST, bad), (bad, FIRST), (FIRST, "absent.json"), (FIRST, self.folder + "/empty")):
            os.makedirs(self.folder + "/empty", exist_ok=True)
            with self.subTest(arguments):
                done = self.cbank("compare", *arguments, status=2)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        done = self.cbank("compare", FIRST, SECOND, "--allow-diff", "uuids", status=2)
        self.assertIn("did you mean 'uuid'", done.stderr)


class Reports(Case):
    def test_every_format(self):
        def slower(result):
            scale(result["cells"][4], 1.5)

        new = self.plant(slower)
        self.cbank("compare", FIRST, new, "--markdown", "r.md", "--junit", "r.xml", "--csv", "r.csv", "--quiet", status=1)
        self.assertIn("regressed", read(os.path.join(self.folder, "r.md")))
        suite = xml.parse(os.path.join(self.folder, "r.xml")).getroot()
        self.assertEqual(len(list(suite.iter("testcase"))), 24)
        self.assertEqual(len(list(suite.iter("failure"))), 1)
        rows = list(csv.DictReader(io.StringIO(read(os.path.join(self.folder, "r.csv")))))
        self.assertEqual(len({tuple(row[key] for key in ("path", "pattern", "elements")) for row in rows}), 24)

    def test_a_report_that_cannot_be_written(self):
        self.cbank("compare", FIRST, SECOND, "--markdown", "/nonexistent/r.md", status=2)

    def test_a_report_takes_the_place_of_nothing_that_is_named(self):
        """Neither of a side, by whatever name, nor of a calibration, nor of another report."""
        for name in ("a.json", "b.json", "c.json"):
            shutil.copy(SECOND, os.path.join(self.folder, name))
        os.symlink("a.json", os.path.join(self.folder, "link.json"))
        for command in (("compare", "a.json,b.json", "c.json"), ("gate", "a.json,b.json", "--engine", "model")):
            for options in (("--json", "b.json"), ("--csv", "./a.json"), ("--markdown", "link.json"),
                            ("--json", "new.json", "--junit", "new.json"), ("--json", "-", "--csv", "-"),
                            ("--calibration", "c.json", "--json", "c.json")):
                with self.subTest(command=command[0], options=options):
                    done = self.cbank(*command, *options, status=2)
                    self.assertIn(f"{options[-1]} is named for something else, too", done.stderr)
        self.assertEqual({read(os.path.join(self.folder, f"{name}.json")) for name in "abc"}, {read(SECOND)})
        self.cbank("compare", "a.json", "b.json", "--json", "/dev/null", "--csv", "/dev/null", "--quiet")

    def test_no_control_character_of_a_file_reaches_the_terminal(self):
        def hostile(result):
            result["device"]["name"] = "H200\u001b[2J"
            result["device"]["driver"] = "580\u0007\n"

        new = self.plant(hostile)
        for arguments, word in ((("show", new), "H200?[2J"), (("history", new), "580??"),
                                (("compare", new, new), "H200?[2J")):
            text = self.cbank(*arguments).stdout
            self.assertIn(word, text)
            self.assertNotRegex(text, "[\x00-\x09\x0b-\x1f]")

    def test_history(self):
        text = self.cbank("history", os.path.dirname(FIRST)).stdout
        starts = [line.split()[0] for line in text.split("\n\n")[0].splitlines()[1:] if line[0] == "2"]
        self.assertEqual(starts, sorted(starts))
        self.assertEqual(len(starts), len(glob.glob(os.path.join(os.path.dirname(FIRST), "*.json"))))
        self.assertTrue(all(len(line) <= 80 for line in text.splitlines()), text)
        for word in ("measured", read_json(FIRST)["device"]["uuid"][:12], read_json(FIRST)["device"]["driver"]):
            self.assertIn(word, text)
        wide = self.cbank("history", FIRST, "--markdown").stdout
        for word in ("| engine |", "| cuda |", "| host |"):
            self.assertIn(word, wide)
        identity = "add/constant/per_warp/128000/1024/hot"
        for name in (identity, "*constant/per_warp/128000/*"):
            series = self.cbank("history", FIRST, SECOND, "--cell", name).stdout.splitlines()
            self.assertEqual((series[0], len(series)), (identity, 4))

    def test_history_names_cells_as_all_do(self):
        for name in ("constant/per_warp/128000", "nonsense", "add/constant/per_warp/128000/1024/hott"):
            said = self.cbank("history", FIRST, "--cell", name, status=2).stderr
            self.assertEqual(len(said.splitlines()), 1)
            self.assertIn("no cell is named", said)
        self.assertIn("the nearest is 'add/constant/per_warp/128000/1024/hot'", said)

    def test_history_for_programs(self):
        history = json.loads(self.cbank("history", FIRST, SECOND, "--json").stdout)
        jsonschema.validate(history, read_json(os.path.join(ROOT, "results/history.schema.json")))
        rows = history["rows"]
        self.assertEqual([(row["engine"], row["times"], row["cells"], row["failed"]) for row in rows],
                         [("cuda", "measured", 24, 0)] * 2)
        self.assertEqual(rows[1]["uuid"], read_json(SECOND)["device"]["uuid"])
        name = rows[1]["cell"]
        series = list(csv.DictReader(io.StringIO(self.cbank("history", FIRST, SECOND, "--csv", "--cell", name).stdout)))
        self.assertEqual(float(series[1]["change"]), rows[1]["change"])
        self.assertEqual([row["cell"] for row in series], [name, name])
        self.assertIn("| started |", self.cbank("history", FIRST, "--markdown").stdout)
        self.cbank("history", FIRST, "--markdown", "--csv", status=2)

    def test_history_says_what_is_modelled(self):
        self.cbank("run", "--engine", "model", "--quiet", "--elements", "4096", "--json", "model.json")
        for arguments in ((), ("--cell", "*"), ("--csv",), ("--json",), ("--markdown",)):
            self.assertIn("modelled", self.cbank("history", "model.json", *arguments).stdout)


class Calibration(Case):
    def test_processes_of_the_model_engine_do_not_differ(self):
        text = self.cbank("calibrate", "--engine", "model", "--processes", "3", "--elements", "128000", "--json",
                          "noise.json", "--keep", "kept").stdout
        self.assertIn("3 modelled processes", text)
        calibration = read_json(os.path.join(self.folder, "noise.json"))
        schema = read_json(os.path.join(ROOT, "results/calibration.schema.json"))
        jsonschema.Draft202012Validator(schema).validate(calibration)
        self.assertEqual({cell["noise"] for cell in calibration["cells"]}, {0})
        self.assertEqual((calibration["engine"], calibration["modelled"], calibration["processes"]), ("model", True, 3))
        self.assertEqual(len(os.listdir(os.path.join(self.folder, "kept"))), 3)
        self.assertIn("3 modelled results", self.cbank("compare", "kept", "kept", "--calibration", "noise.json").stdout)

    def test_abbreviations_reach_the_processes(self):
        self.cbank("calibrate", "--proc", "2", "--eng", "model", "--elem", "4096", "--path=constant", "--json", "noise.json")
        calibration = read_json(os.path.join(self.folder, "noise.json"))
        self.assertEqual({(cell["path"], cell["elements"]) for cell in calibration["cells"]}, {("constant", 4096)})
        self.assertEqual(calibration["processes"], 2)

    def test_a_change_within_the_noise_does_not_count(self):
        def slower(result):
            for cell in result["cells"]:
                scale(cell, 1.02)

        new = self.plant(slower)
        self.compare(FIRST, new, status=1)
        noise = {"schema": {"name": "cbank-calibration", "version": "2.1"}, "processes": 5, "engine": "cuda",
                 "tool": {"name": "cbank", "version": "0.1.0"}, "modelled": False, "device": read_json(FIRST)["device"],
                 "cells": [{**{key: cell[key] for key in ("workload", "path", "pattern", "elements", "block_size",
                                                          "regime", "array_bytes")},
                            "parameters": {}, "noise": 0.03,
                            "process_deviation": {"value": 0.0127, "degrees_of_freedom": 3.8, "origin": "processes"},
                            "median_ns": cell["time_ns"]["value"],
                            "sass_sha256": cell["kernel"]["sass_sha256"]} for cell in read_result(FIRST)["cells"]]}
        path = os.path.join(self.folder, "noise.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(noise, file)
        self.assertNotIn("regressed", verdicts(self.compare(FIRST, new, "--calibration", path)).values())


class Simulation(Case):
    """What is known of the gate by simulation, and the defaults that it rests on."""

    COMMITTED = [os.path.join(ROOT, f"results/{chip}/gate/gate-simulation.json") for chip in ("h200", "h100")]

    def script(self, name, *arguments, status=0):
        done = subprocess.run([sys.executable, os.path.join(ROOT, "scripts", name), *arguments], capture_output=True,
                              text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def test_the_default_deviations_are_what_the_committed_results_say(self):
        self.script("process_deviation.py", "--check")

    def test_a_few_trials(self):
        path = os.path.join(self.folder, "simulation.json")
        self.script("gate_simulation.py", "--program", CBANK, "--trials", "8", "--first", "2", "--json", path)
        rows = read_json(path)["rows"]
        self.assertEqual([(row["processes"], row["threshold_percent"]) for row in rows], [(1, 0.5), (1, 1)])
        self.assertEqual((rows[1]["alarms"], rows[1]["found"]), (0, 16))

    def test_a_few_gates(self):
        path = os.path.join(self.folder, "looks.json")
        self.script("gate_simulation.py", "--program", CBANK, "--gate", "--trials", "6", "--first", "2", "--json", path)
        rows = read_json(path)["rows"]
        self.assertEqual([row["threshold_percent"] for row in rows], [0.5, 1])
        self.assertEqual([(row["alarms"], row["found"]) for row in rows], [(0, 12), (0, 12)])
        self.assertLess(rows[1]["processes"], 6 * 10)

    def test_the_committed_table_of_gates(self):
        """No more than one gate in twenty with a false alarm, by four standard errors, whatever the noise."""
        path = os.path.join(ROOT, "results/h200/gate/gate-looks.json")
        report = read_json(path)
        trials = report["trials"]
        self.assertGreaterEqual(trials, 60)
        for row in report["rows"]:
            self.assertLessEqual(row["alarms"], 0.05 * trials + 4 * (0.05 * 0.95 * trials) ** 0.5, row)
            if (row["regime"], row["noise"]) == ("hot", 1):
                self.assertGreaterEqual(row["found"], 0.95 * 2 * trials, row)
        self.assertEqual(len(self.script("gate_simulation.py", "--show", path).stdout.splitlines()), 2 + 2 + 12)

    def test_the_committed_table(self):
        """No more false alarms than one comparison in twenty (with heavy tails, one in ten), by four standard errors,
        where the noise is what is assumed, and whatever it is from three processes a side on or with a calibration."""
        for path in self.COMMITTED:
            with self.subTest(path):
                self.check_table(path)

    def check_table(self, path):
        report = read_json(path)
        trials = report["trials"]
        allowed = {tails: share * trials + 4 * (share * (1 - share) * trials) ** 0.5
                   for tails, share in (("normal", 0.05), ("heavy", 0.1))}
        for row in report["rows"]:
            if row["noise"] == 1 or row["processes"] > 1 or row["calibrated"]:
                self.assertLessEqual(row["alarms"], allowed[row["tails"]], row)
            if (row["regime"], row["noise"]) == ("hot", 1) and row["threshold_percent"] >= 1:
                self.assertGreaterEqual(row["found"], 0.95 * 2 * trials, row)
        table = self.script("gate_simulation.py", "--show", path).stdout
        self.assertEqual(len(table.splitlines()), 2 + 2 + 12)


class Parameters(Case):
    """Cells that a parameter alone tells apart, from the run to every report."""

    PLAN = ("--engine", "model", "--workload", "add,refill,conv_1d", "--pattern", "per_warp,distinct,lockstep",
            "--path", "constant,param", "--elements", "4096")

    def setUp(self):
        super().setUp()
        self.cbank("run", *self.PLAN, "--quiet", "--json", "a.json")
        self.file = self.path("a.json")
        self.cells = read_json(self.file)["cells"]

    def test_the_result_follows_its_schema_and_is_written_again_alike(self):
        schema = read_json(os.path.join(ROOT, "results/schema.json"))
        jsonschema.Draft202012Validator(schema).validate(read_json(self.file))
        self.assertEqual({cell["status"] for cell in self.cells}, {"ok", "skipped"})
        for cell in self.cells:
            self.assertEqual(set(cell["parameters"]),
                             {name for row, names in (("refill", {"refill_bytes"}), ("conv_1d", {"radius"}),
                                                      ("distinct", {"distinct", "stride_bytes"}))
                              if row in (cell["workload"], cell["pattern"]) for name in names})
            self.assertEqual(cell["array_bytes"], {"constant": 65536, "param": 2048}[cell["path"]])
            self.assertEqual(cell["operations"] is None, cell["status"] == "skipped")
            self.assertEqual(cell["operations_per_byte"]["ideal"], 0.5 if cell["workload"] == "conv_1d" else None)
        self.cbank("run", "--resume", "a.json", "--quiet")
        self.assertEqual(read_json(self.file)["cells"], self.cells)

    def test_compare(self):
        def slower(result):
            cell, = (cell for cell in result["cells"] if cell["path"] == "param" and cell["workload"] == "add" and
                     cell["parameters"] == {"distinct": 8, "stride_bytes": 64})
            scale(cell, 1.5)

        new = self.plant(lambda result: (slower(result), result["cells"].reverse()), self.file)
        comparison = self.compare("a.json", new, "--markdown", "r.md", "--junit", "r.xml", "--csv", "r.csv", status=1)
        found = comparison["cells"][0]
        self.assertEqual((found["verdict"], found["parameters"]), ("regressed", {"distinct": 8, "stride_bytes": 64}))
        self.assertEqual(comparison["counts"]["regressed"], 1)
        self.assertEqual(comparison["counts"]["same"], len(self.cells) - 1)
        self.assertIn("distinct=8/stride\\_bytes=64", read(os.path.join(self.folder, "r.md")))
        names = [case.get("name") for case in xml.parse(os.path.join(self.folder, "r.xml")).getroot().iter("testcase")]
        self.assertEqual(len(set(names)), len(self.cells))
        self.assertIn("add/param/distinct/4096/1024/hot/distinct=8/stride_bytes=64", names)
        worst = next(csv.DictReader(io.StringIO(read(os.path.join(self.folder, "r.csv")))))
        self.assertEqual((worst["parameters"], worst["width_bytes"]), ("distinct=8 stride_bytes=64", "4"))

    def test_calibrate(self):
        self.cbank("calibrate", *self.PLAN, "--processes", "2", "--json", "noise.json")
        calibration = read_json(os.path.join(self.folder, "noise.json"))
        schema = read_json(os.path.join(ROOT, "results/calibration.schema.json"))
        jsonschema.Draft202012Validator(schema).validate(calibration)
        keys = ("workload", "path", "pattern", "parameters")
        self.assertEqual(*({json.dumps([cell[key] for key in keys]) for cell in cells}
                           for cells in (calibration["cells"], self.cells)))
        self.cbank("compare", "a.json", "a.json", "--calibration", "noise.json")

    def test_history_and_exports(self):
        rows = json.loads(self.cbank("history", "a.json", "--cell", "*/radius=3", "--json").stdout)["rows"]
        self.assertEqual(len(rows), sum("radius" in cell["parameters"] for cell in self.cells))
        self.assertEqual(sum(row["time_ns"] is None for row in rows),
                         sum("radius" in cell["parameters"] and cell["status"] == "skipped" for cell in self.cells))
        for name in ("csv", "jsonl"):
            self.assertIn("radius=3", self.cbank("export", "a.json", "--format", name).stdout)


class Workflow(Case):
    """The workflow of docs/comparing.md, line by line, on planted data."""

    def run_steps(self, status):
        block = re.search(r"```yaml\n(.*?)```", read(os.path.join(ROOT, "docs/comparing.md")), re.DOTALL).group(1)
        steps = [line.split("- run: ", 1)[1] for line in block.splitlines() if "- run: " in line]
        self.assertEqual(len(steps), 3)
        steps = [step.replace("build/cbank", CBANK) for step in steps if step != "make"]
        done = subprocess.run(["bash", "-e", "-c", "\n".join(steps)], capture_output=True, text=True, timeout=120,
                              check=False, cwd=self.folder,
                              env={**os.environ, "CUDA_VISIBLE_DEVICES": "",
                                   "GITHUB_STEP_SUMMARY": os.path.join(self.folder, "summary.md")})
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertGreater(len(read(os.path.join(self.folder, "summary.md"))), 50)

    def test_nothing_changed(self):
        self.cbank("run", "--quiet", "--json", "baseline.json")
        self.run_steps(0)

    def test_a_push_made_cells_slower(self):
        self.cbank("run", "--quiet", "--json", "fast.json")

        def faster(result):
            for cell in result["cells"]:
                scale(cell, 0.9)

        self.plant(faster, os.path.join(self.folder, "fast.json"), "baseline.json")
        self.run_steps(1)


if __name__ == "__main__":
    unittest.main()
