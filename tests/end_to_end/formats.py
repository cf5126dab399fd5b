#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads the golden files of reports and exports as the programs they are for would, and what cbank show prints. CBANK names
the program (default build/cbank)."""

import csv
import datetime
import glob
import io
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

import jsonschema

from common import ROOT, read_result

sys.path.insert(0, os.path.join(ROOT, "scripts"))
from stats import trimmed_mean  # noqa: E402

CBANK = os.path.abspath(os.environ.get("CBANK", os.path.join(ROOT, "build/cbank")))
GOLDEN = os.path.join(ROOT, "tests", "golden")
COMPARISONS = ("every", "driver", "refused")
VERDICTS_FAILED = {"regressed", "missing", "invalid"}
VERDICTS_SKIPPED = {"inconclusive", "new"}


def golden(name):
    return os.path.join(GOLDEN, name)


def load(path):
    """Strict JSON: no NaN, no key twice."""
    def once(pairs):
        keys = [key for key, _ in pairs]
        assert len(keys) == len(set(keys)), keys
        return dict(pairs)

    def refuse(constant):
        raise ValueError(constant)

    with open(path, encoding="utf-8") as file:
        return json.load(file, object_pairs_hook=once, parse_constant=refuse)


def rows(path):
    """Header and rows of a CSV file whose lines end as RFC 4180 says."""
    with open(path, "rb") as file:
        text = file.read()
    assert text.endswith(b"\r\n") and text.count(b"\n") == text.count(b"\r\n"), path
    with open(path, newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file, strict=True)
        found = list(reader)
    for row in found:
        assert None not in row and None not in row.values(), row
    return reader.fieldnames, found


def identity(cell):
    """Of a cell in JSON or, by with_parameters, of a row of CSV."""
    keys = ("workload", "path", "pattern", "elements", "block_size", "regime")
    parameters = [f"{name}={value}" for name, value in cell["parameters"].items()]
    return "/".join([str(cell[key]) for key in keys] + parameters)


def with_parameters(_header, found):
    """Rows of CSV with the text of parameters as a member."""
    return [{**row, "parameters": dict(one.split("=") for one in row["parameters"].split())} for row in found]


class Reports(unittest.TestCase):
    def test_json_follows_the_schema(self):
        schema = load(os.path.join(ROOT, "results", "comparison.schema.json"))
        jsonschema.Draft202012Validator.check_schema(schema)
        for name in COMPARISONS:
            with self.subTest(name):
                jsonschema.Draft202012Validator(schema).validate(load(golden(f"compare_{name}.json")))

    def test_schema_knows_every_key(self):
        schema = load(os.path.join(ROOT, "results", "comparison.schema.json"))

        def check(value, part):
            part = schema["$defs"][part["$ref"].split("/")[-1]] if "$ref" in part else part
            if isinstance(value, dict) and "properties" in part:
                self.assertLessEqual(set(value), set(part["properties"]))
                for key, member in value.items():
                    check(member, part["properties"][key])
            for element in value if isinstance(value, list) else []:
                check(element, part["items"])

        for name in COMPARISONS:
            check(load(golden(f"compare_{name}.json")), schema)

    def test_counts_agree(self):
        for name in COMPARISONS:
            comparison = load(golden(f"compare_{name}.json"))
            verdicts = [cell["verdict"] for cell in comparison["cells"]]
            for verdict, count in comparison["counts"].items():
                with self.subTest(name, verdict=verdict):
                    self.assertEqual(verdicts.count(verdict), count)

    def test_junit_is_well_formed_and_agrees(self):
        for name in COMPARISONS:
            with self.subTest(name):
                comparison = load(golden(f"compare_{name}.json"))
                root = xml.etree.ElementTree.parse(golden(f"compare_{name}.xml")).getroot()
                suite = root.find("testsuite")
                cases = {case.get("name"): case for case in suite.findall("testcase")}
                self.assertEqual(root.tag, "testsuites")
                for attribute, element in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
                    self.assertEqual(int(suite.get(attribute)), len(suite.findall(f"testcase/{element}")))
                    self.assertEqual(root.get(attribute), suite.get(attribute))
                self.assertEqual(int(suite.get("tests")), len(cases))
                self.assertEqual(len(cases), len(comparison["cells"]) + (not comparison["comparable"]))
                for cell in comparison["cells"]:
                    case = cases[identity(cell)]
                    self.assertEqual(case.find("failure") is not None, cell["verdict"] in VERDICTS_FAILED)
                    self.assertEqual(case.find("skipped") is not None, cell["verdict"] in VERDICTS_SKIPPED)

    def test_text_survives_escaping(self):
        root = xml.etree.ElementTree.parse(golden("compare_every.xml")).getroot()
        properties = {entry.get("name"): entry.get("value") for entry in root.iter("property")}
        self.assertEqual(properties["base"], 'results/<base> & "co"|*')
        self.assertEqual(load(golden("compare_every.json"))["base"]["label"], 'results/<base> & "co"|*')

    def test_csv_agrees(self):
        for name in COMPARISONS:
            with self.subTest(name):
                comparison = load(golden(f"compare_{name}.json"))
                found = with_parameters(*rows(golden(f"compare_{name}.csv")))
                times = [row for row in found if row["quantity"] == "time_ns"]
                moved = [row for row in found if row["quantity"] != "time_ns"]
                self.assertEqual([identity(row) for row in times], [identity(cell) for cell in comparison["cells"]])
                self.assertEqual(len(moved), sum(len(cell["counters"]) for cell in comparison["cells"]))
                for row, cell in zip(times, comparison["cells"]):
                    self.assertEqual(row["verdict"], cell["verdict"])
                    self.assertEqual(float(row["base"]) if row["base"] else None, cell["base_ns"])
                    self.assertEqual(float(row["ratio"]) if row["ratio"] else None,
                                     cell["ratio"] and cell["ratio"]["value"])

    def test_markdown_tables_are_whole(self):
        for name in COMPARISONS:
            with open(golden(f"compare_{name}.md"), encoding="utf-8") as file:
                lines = [line for line in file.read().splitlines() if line.startswith("|")]
            self.assertGreater(len(lines), 2)
            for line in lines:
                with self.subTest(line):
                    self.assertEqual(line.replace("\\|", "").count("|"), 10)


class Explanations(unittest.TestCase):
    def test_json_follows_the_schema(self):
        schema = load(os.path.join(ROOT, "results", "explanation.schema.json"))
        for name in ("every", "modelled"):
            with self.subTest(name):
                explained = load(golden(f"explain_{name}.json"))
                jsonschema.Draft202012Validator(schema).validate(explained)
                for result in explained["results"]:
                    self.check_sums(result)

    def check_sums(self, result):
        for cell in result["cells"]:
            if cell["modelled"]:
                parts = cell["modelled"]["parts_ns"]
                bound = sum(parts[name] for name in cell["modelled"]["bound_by"])
                self.assertAlmostEqual(parts["launch"] + parts["wave"] + bound, cell["modelled"]["time_ns"])
            self.assertEqual(cell["within"] is None, cell["remainder"] is None)
        for kind in ("long", "short"):
            timed = [cell for cell in result["cells"] if cell["remainder"] is not None and
                     (cell["time_ns"]["value"] > result["summary"]["long_ns"]) == (kind == "long")]
            self.assertEqual(result["summary"][kind]["cells"], len(timed))
            self.assertEqual(result["summary"][kind]["within"], sum(cell["within"] for cell in timed))


class Gbench(unittest.TestCase):
    """As tools/gbench/report.py groups and compares: entries of one name are repetitions."""

    def times(self, name):
        groups = {}
        for entry in load(golden(name))["benchmarks"]:
            if entry["run_type"] == "aggregate":
                continue
            self.assertEqual(entry["run_type"], "iteration")
            self.assertEqual(entry["time_unit"], "ns")
            self.assertEqual(entry["run_name"], entry["name"])
            self.assertGreaterEqual(entry["iterations"], 1)
            groups.setdefault(entry["name"], []).append(entry)
        for entries in groups.values():
            self.assertEqual([entry["repetition_index"] for entry in entries], list(range(len(entries))))
            self.assertEqual({entry["repetitions"] for entry in entries}, {len(entries)})
            self.assertEqual({entry["family_index"] for entry in entries}, {entries[0]["family_index"]})
        return {key: ([entry["real_time"] for entry in entries], [entry["cpu_time"] for entry in entries])
                for key, entries in groups.items()}

    def test_repetitions(self):
        one, two = self.times("export_gbench_one.json"), self.times("export_gbench_two.json")
        self.assertEqual(one["add/global/per_block/128000/256/hot"][0], [2000, 2000.25, 2000.5])
        self.assertEqual(two["add/global/per_block/128000/256/hot"][0], [2000, 2000.25, 2000.5] * 2)
        self.assertTrue(set(one) < set(two))

    def test_aggregates_are_those_of_the_repetitions(self):
        for name in ("export_gbench_one.json", "export_gbench_two.json"):
            times, found = self.times(name), {}
            for entry in load(golden(name))["benchmarks"]:
                if entry["run_type"] == "aggregate":
                    self.assertEqual(entry["name"], f"{entry['run_name']}_{entry['aggregate_name']}")
                    self.assertEqual(entry["iterations"], len(times[entry["run_name"]][0]))
                    found.setdefault(entry["run_name"], {})[entry["aggregate_name"]] = entry["real_time"]
            self.assertEqual(set(found), {cell for cell, (real, _) in times.items() if len(real) > 1})
            for cell, values in found.items():
                real = times[cell][0]
                self.assertAlmostEqual(values["mean"], statistics.mean(real))
                self.assertAlmostEqual(values["median"], statistics.median(real))
                self.assertAlmostEqual(values["stddev"], statistics.stdev(real))
                self.assertAlmostEqual(values["cv"], statistics.stdev(real) / statistics.mean(real))

    def test_every_entry_can_be_compared(self):
        for name in ("export_gbench_one.json", "export_gbench_two.json"):
            for real, cpu in self.times(name).values():
                # Means are geometric, and the U test refuses values that are all zero.
                self.assertTrue(all(time > 0 for time in real + cpu))

    def test_cells_without_time_are_named(self):
        for name in ("export_gbench_one.json", "export_gbench_two.json"):
            without = load(golden(name))["context"]["cells_without_time"]
            self.assertEqual(list(without), ["add/constant/per_warp/128000/256/hot"])
            self.assertFalse(set(without) & set(self.times(name)))


class Bmf(unittest.TestCase):
    SCHEMA = {
        "type": "object",
        "additionalProperties": {
            "type": "object",
            "propertyNames": {"maxLength": 64},
            "additionalProperties": {
                "type": "object",
                "required": ["value"],
                "properties": {key: {"type": "number"} for key in ("value", "lower_value", "upper_value")},
                "additionalProperties": False,
            },
        },
    }

    def test_metrics(self):
        for name in ("export_bmf_one.json", "export_bmf_two.json"):
            found = load(golden(name))
            jsonschema.Draft202012Validator(self.SCHEMA).validate(found)
            for benchmark, measures in found.items():
                for measure, metric in measures.items():
                    with self.subTest(name, benchmark=benchmark, measure=measure):
                        low, high = metric.get("lower_value", -math.inf), metric.get("upper_value", math.inf)
                        self.assertLessEqual(low, metric["value"])
                        self.assertLessEqual(metric["value"], high)

    def test_interval_of_one_result(self):
        metric = load(golden("export_bmf_one.json"))["add/global/per_block/128000/256/hot"]["time_ns"]
        self.assertEqual(metric, {"value": 2000.25, "lower_value": 2000, "upper_value": 2000.5})


class KernelTuner(unittest.TestCase):
    """As the schema of its T4 results, 1.0.0, says."""

    SCHEMA = {
        "type": "object",
        "required": ["schema_version", "results"],
        "properties": {
            "schema_version": {"const": "1.0.0"},
            "results": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["configuration", "times", "invalidity", "correctness"],
                    "properties": {
                        "timestamp": {"type": "string"},
                        "configuration": {"type": "object", "additionalProperties": {"type": ["string", "number"]}},
                        "objectives": {"const": ["time"]},
                        "times": {"type": "object", "properties": {"runtimes": {"type": "array",
                                                                               "items": {"type": "number"}}}},
                        "invalidity": {"enum": ["timeout", "compile", "runtime", "correctness", "constraints", "correct"]},
                        "correctness": {"type": "number"},
                        "measurements": {"type": "array", "items": {
                            "type": "object", "required": ["name", "value", "unit"],
                            "properties": {"name": {"type": "string"}, "value": {"type": "number"},
                                           "unit": {"type": "string"}}}},
                    },
                },
            },
        },
    }

    def test_results(self):
        for name in ("one", "two"):
            found = load(golden(f"export_kernel_tuner_{name}.json"))
            jsonschema.Draft202012Validator(self.SCHEMA).validate(found)
            for result in found["results"]:
                measured = {one["name"]: one["value"] for one in result["measurements"]}
                self.assertEqual("time" in measured, bool(result["times"]["runtimes"]))
                if "time" in measured:
                    self.assertAlmostEqual(trimmed_mean(result["times"]["runtimes"], 1)[0], measured["time"])
            self.assertEqual(found["metadata"], {"timeunit": "milliseconds"})
            for result in found["results"]:  # what a result leaves out is said, and is never 0
                self.assertEqual({key: result["configuration"][key] for key in ("width_bytes", "table_bytes")},
                                 {"width_bytes": 4, "table_bytes": "whole"})
        first = load(golden("export_kernel_tuner_one.json"))["results"][0]
        self.assertEqual(first["configuration"]["workload"], "add")
        self.assertIn(0.002000, {result["times"]["runtimes"][0] for result in
                                 load(golden("export_kernel_tuner_one.json"))["results"] if result["times"]["runtimes"]})


class OtavaConfig(unittest.TestCase):
    def test_it_names_the_columns_of_the_csv(self):
        """The lines of a mapping in YAML: each key indented below its own, a metric a flow mapping."""
        for name in ("one", "two"):
            with open(golden(f"export_otava_config_{name}.yaml"), encoding="utf-8") as file:
                lines = file.read().splitlines()
            header, _ = rows(golden(f"export_otava_{name}.csv"))
            self.assertEqual(lines[:5], ["tests:", "  cbank:", "    type: csv", "    file: cbank.csv", "    time_column: time"])
            self.assertEqual(lines[5], f"    attributes: [{', '.join(header[1:7])}]")
            self.assertEqual(lines[6:10], ["    csv_options:", '      delimiter: ","', "      quote_char: '\"'", "    metrics:"])
            metrics = [re.fullmatch(r'      "([^"\\]+)": \{direction: -1, scale: 1\}', line).group(1) for line in lines[10:]]
            self.assertEqual(metrics, header[7:])


class Accelsim(unittest.TestCase):
    """What their tuner takes of a file: lines that begin with '-', each a key and a value, and the name of the device."""

    LINE = re.compile(r"-(\w+(?::\w+)?) (\S+)")
    CACHE = re.compile(r"N:(\d+):(\d+):(\d+),[LF]:[A-Za-z]:[a-z]:[A-Z]:[A-Z],[A-Z]:\d+:\d+,\d+")

    def lines(self, card):
        text = printed("export", "--format", "accelsim", card)
        taken = [self.LINE.fullmatch(line).groups() for line in text.splitlines() if line.startswith("-")]
        others = {line for line in text.splitlines() if line and not line.startswith(("-", "#"))}
        self.assertEqual(len(others), 1)
        return text, dict(taken), others.pop()

    def test_a_measured_card(self):
        card = load(os.path.join(ROOT, "results/cards/h200.json"))
        text, taken, device = self.lines("h200")
        self.assertEqual(device, "Device Name = NVIDIA H200")
        self.assertEqual(set(taken), {"gpgpu_const_cache:l1", "gpgpu_perfect_inst_const_cache", "gpgpu_cache:il1",
                                      "trace_opcode_latency_initiation_spec_op_4"})
        sets, line, ways = map(int, self.CACHE.fullmatch(taken["gpgpu_const_cache:l1"]).groups())
        self.assertEqual((sets * line * ways, line, ways),
                         tuple(card["levels"][0][key] for key in ("capacity_bytes", "line_bytes", "ways")))
        self.assertTrue(self.CACHE.fullmatch(taken["gpgpu_cache:il1"]))
        self.assertEqual(taken["trace_opcode_latency_initiation_spec_op_4"], "6,1")  # 6.25 and 0.59 cycles
        self.assertIn("tree pseudo-LRU, which cannot be said there", text)
        self.assertIn(card["origins"]["levels.idc.ways"]["method"], text)

    def test_what_nobody_has_published_is_no_line(self):
        text, taken, _ = self.lines("v100")
        self.assertEqual(set(taken), {"gpgpu_perfect_inst_const_cache", "gpgpu_cache:il1"})
        self.assertIn("No line for -gpgpu_const_cache:l1", text)
        self.assertIn("size not known bytes, line 256 bytes", text)

    def test_bad_input(self):
        self.assertIn("takes one card", printed("export", "--format", "accelsim", "h200", "h100", status=2))
        self.assertIn("no_such", printed("export", "--format", "accelsim", "no_such", status=2))
        printed("export", "--format", "accelsim", os.path.join(ROOT, "results/h200/core-matrix.json"), status=2)


class Csv(unittest.TestCase):
    def test_tidy(self):
        for name in ("export_csv_one.csv", "export_csv_two.csv"):
            header, found = rows(golden(name))
            self.assertEqual(header[-2:], ["sample", "time_ns"])
            for row in found:
                self.assertEqual(row["status"] == "ok", row["time_ns"] != "")
                self.assertEqual(row["sample"] != "", row["time_ns"] != "")
                self.assertEqual(row["device"], 'NVIDIA "H200", 141 GB')

    def test_times_are_those_of_the_other_formats(self):
        found = with_parameters(*rows(golden("export_csv_one.csv")))
        self.assertIn({"distinct": "8", "stride_bytes": "64"}, [row["parameters"] for row in found])
        bmf = load(golden("export_bmf_one.json"))
        groups = {}
        for row in found:
            if row["time_ns"]:
                groups.setdefault(identity(row), []).append(float(row["time_ns"]))
        for cell, times in groups.items():
            self.assertAlmostEqual(trimmed_mean(times, 1)[0], bmf[cell]["time_ns"]["value"])

    def test_otava(self):
        """As its CsvImporter does: a header, ISO times in order, every metric a float."""
        for name in ("export_otava_one.csv", "export_otava_two.csv"):
            header, found = rows(golden(name))
            self.assertEqual(header[0], "time")
            metrics = [column for column in header if "/" in column]
            self.assertEqual(len(metrics) + 7, len(header))
            times = [datetime.datetime.fromisoformat(row["time"].replace("Z", "+00:00")) for row in found]
            self.assertEqual(times, sorted(times))
            for row in found:
                for metric in metrics:
                    float(row[metric])
        self.assertTrue(math.isnan(float(found[0]["add/constant/per_warp/128000/256/hot"])))


def printed(*arguments, width=80, status=0):
    """What the program prints on a terminal so wide."""
    done = subprocess.run([CBANK, *arguments], capture_output=True, text=True, timeout=60, check=False,
                          env={**os.environ, "COLUMNS": str(width)})
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout if status == 0 else done.stderr


class Show(unittest.TestCase):
    FILE = os.path.join(ROOT, "results/h200/core-matrix.json")
    CELL = "add/constant/pseudo_random/12800000/1024/hot"

    @classmethod
    def setUpClass(cls):
        cls.cells = {identity(cell): cell for cell in read_result(cls.FILE)["cells"]}

    def test_no_line_is_wider_than_the_terminal(self):
        """Every committed result, as tables, by counters, and two of its cells."""
        for file in glob.glob(os.path.join(ROOT, "results/h[12]00/*.json")):
            cells = [identity(cell) for cell in load(file)["cells"]]
            for width in (80, 200):
                for arguments in (("show", file), ("counters", file), ("show", file, "--cell", cells[0]),
                                  ("show", file, "--cell", cells[-1])):
                    for line in printed(*arguments, width=width).splitlines():
                        with self.subTest(file, arguments=arguments, width=width):
                            self.assertLessEqual(len(line), width, line)

    def test_wide_terminals_are_used(self):
        self.assertIn("left out for want of room", printed("show", self.FILE, width=80).lower())
        wide = printed("show", self.FILE, width=200)
        self.assertNotIn("left out", wide.lower())
        for heading in ("ratio", "req", "GB/s"):
            self.assertEqual(len(re.findall(rf" {heading}\b", wide.split("\n\n")[1])), 3)

    def test_csv_is_a_row_a_cell(self):
        found = list(csv.DictReader(io.StringIO(printed("show", self.FILE, "--csv"))))
        self.assertEqual(sorted(row["identity"] for row in found), sorted(self.cells))
        for row in found:
            cell = self.cells[row["identity"]]
            time = cell["time_ns"]
            self.assertEqual(float(row["time_ns"]), time["value"])
            for key in ("ci_low", "ci_high", "min", "mad"):
                self.assertEqual(float(row[f"{key}_ns"]), time[key])
            self.assertEqual(int(row["samples"]), len(time["samples"]))
            # An element in, one out, one payload load.
            self.assertAlmostEqual(float(row["gigabytes_per_second"]), 12 * cell["elements"] / time["value"])

    def test_csv_of_several_files_has_one_header(self):
        text = printed("show", self.FILE, self.FILE, "--csv", "--cell", "*/per_warp/128000/*")
        self.assertEqual(len(list(csv.DictReader(io.StringIO(text)))), 6)
        self.assertEqual(text.count("identity"), 1)

    def test_json_is_the_result(self):
        written = json.loads(printed("show", self.FILE, "--json"))
        schema = load(os.path.join(ROOT, "results/schema.json"))
        jsonschema.Draft202012Validator(schema).validate(written)
        for cell in written["cells"]:
            self.assertEqual(cell["time_ns"]["samples"], self.cells[identity(cell)]["time_ns"]["samples"])

    def test_markdown_has_whole_tables(self):
        tables = [line for line in printed("show", self.FILE, "--markdown").splitlines() if line.startswith("|")]
        self.assertEqual({line.count("|") for line in tables}, {1 + 1 + 3 * 5})
        self.assertEqual(len(tables), 2 * (2 + 4))

    def test_cell(self):
        """What is known of a number is there, in 80 columns."""
        text, cell = printed("show", self.FILE, "--cell", self.CELL), self.cells[self.CELL]
        whole = re.sub(r"\s+", "", text)
        for value in (self.CELL, "converged", cell["kernel"]["name"], cell["kernel"]["sass_sha256"],
                      load(self.FILE)["device"]["uuid"], load(self.FILE)["tool"]["git_commit"], load(self.FILE)["seed"],
                      self.FILE, load(self.FILE)["tool"]["argv"]):
            self.assertIn(re.sub(r"\s+", "", value), whole)
        for name, counter in cell["counters"].items():
            self.assertRegex(text, rf"(?m)^ +{name} +{counter['value']} ")
            self.assertIn(counter["metric"], text)
        counts = re.findall(r"(?m)^ +[\d.]+ [mun]s +(\d+)(?: +#+)?$", text)
        self.assertEqual(sum(map(int, counts)), len(cell["time_ns"]["samples"]))

    def test_cells_are_named_exactly(self):
        """An identity names one cell, and a part of one none."""
        whole = printed("show", self.FILE, "--cell", "add/constant/per_warp/128000/1024/hot")
        self.assertNotIn("12800000", whole)
        for name in ("nonsense", "constant", "constant/per_warp/128000"):
            self.assertIn("no cell is named", printed("show", self.FILE, "--cell", name, status=2))

    def test_formats_exclude_each_other(self):
        for arguments in (("--csv", "--json"), ("--markdown", "--csv"), ("--cell", "*", "--json"), ("--json", self.FILE)):
            self.assertIn("error", printed("show", self.FILE, *arguments, status=2))


class Golden(unittest.TestCase):
    def test_every_file_is_read_here(self):
        names = {os.path.basename(path) for path in glob.glob(golden("export_*")) + glob.glob(golden("compare_*"))}
        names -= {f"compare_{name}.txt" for name in (*COMPARISONS, "all")}
        read = {f"compare_{name}.{ending}" for name in COMPARISONS for ending in ("md", "xml", "json", "csv")}
        read |= {f"export_{kind}_{count}.{ending}" for count in ("one", "two")
                 for kind, ending in (("csv", "csv"), ("gbench", "json"), ("bmf", "json"), ("otava", "csv"),
                                      ("otava_config", "yaml"), ("kernel_tuner", "json"))}
        self.assertEqual(names, read)


if __name__ == "__main__":
    unittest.main()
