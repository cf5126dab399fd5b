#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Exports and conversions of results, read as the programs they are for would read them. CBANK
names the program (default build/cbank)."""

import csv
import io
import json
import math
import os
import statistics
import subprocess
import unittest

import jsonschema

from common import CBANK, ROOT, Scratch, read_json

FAILED, MISSING, SKIPPED = (
    f"add/{path}/per_warp/128000/1024/hot" for path in ("constant", "global", "readonly")
)
TIMED = "add/constant/per_block/12800000/1024/hot"

BMF = {
    "type": "object",
    "additionalProperties": {
        "type": "object",
        "propertyNames": {"maxLength": 64},
        "additionalProperties": {
            "type": "object",
            "required": ["value"],
            "additionalProperties": False,
            "properties": {
                key: {"type": "number"} for key in ("value", "lower_value", "upper_value")
            },
        },
    },
}
# As the schema of Kernel Tuner's T4 results, 1.0.0, says.
T4 = {
    "type": "object",
    "required": ["schema_version", "results"],
    "properties": {
        "schema_version": {"const": "1.0.0"},
        "metadata": {"const": {"timeunit": "milliseconds"}},
        "results": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["configuration", "times", "invalidity", "correctness"],
                "properties": {
                    "timestamp": {"type": "string"},
                    "objectives": {"const": ["time"]},
                    "correctness": {"type": "number"},
                    "configuration": {
                        "type": "object",
                        "additionalProperties": {"type": ["string", "number"]},
                    },
                    "times": {
                        "type": "object",
                        "properties": {"runtimes": {"type": "array", "items": {"type": "number"}}},
                    },
                    "invalidity": {
                        "enum": [
                            "timeout",
                            "compile",
                            "runtime",
                            "correctness",
                            "constraints",
                            "correct",
                        ]
                    },
                    "measurements": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["name", "value", "unit"],
                            "properties": {
                                "name": {"type": "string"},
                                "value": {"type": "number"},
                                "unit": {"type": "string"},
                            },
                        },
                    },
                },
            },
        },
    },
}


def strict(text):
    """The value of JSON without NaN and without a key that comes twice."""

    def once(pairs):
        assert len({key for key, _ in pairs}) == len(pairs), pairs
        return dict(pairs)

    def refuse(constant):
        raise ValueError(constant)

    return json.loads(text, object_pairs_hook=once, parse_constant=refuse)


def table(text):
    """Header and rows of CSV whose lines end as RFC 4180 says."""
    assert text.endswith("\r\n") and text.count("\n") == text.count("\r\n")
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    found = list(reader)
    assert all(None not in row and None not in row.values() for row in found)
    return reader.fieldnames, found


class Case(Scratch):
    def setUp(self):
        super().setUp()
        self.results = {}
        for name, source in (("one.json", "second-process.json"), ("two.json", "core-matrix.json")):
            self.results[name] = read_json(os.path.join(ROOT, "results/h200", source))
        for name, made in self.results.items():
            cells = {cell["identity"]: cell for cell in made["cells"]}
            made["device"]["name"] = 'NVIDIA "H200", 141 GB'
            self.untime(cells[SKIPPED], "skipped", "no room")
            if name == "one.json":
                self.untime(cells[FAILED], "failed", "output[7] is 1,\nnot 2")
                made["cells"].remove(cells[MISSING])
            self.write(name, made)

    @staticmethod
    def untime(cell, status, reason):
        cell.update(status=status, reason=reason, verified=False, counters={})
        cell["time_ns"].update(
            {
                key: None
                for key in ("value", "median", "ci_low", "ci_high", "min", "mad", "stop_reason")
            },
            samples=[],
        )

    def printed(self, *words, status=0):
        done = subprocess.run(
            [CBANK, *words],
            cwd=self.folder,
            capture_output=True,
            text=False,
            timeout=60,
            check=False,
        )
        self.assertEqual(done.returncode, status, done.stderr)
        return (done.stderr if status else done.stdout).decode()

    def cell(self, identity, name="one.json"):
        return next(cell for cell in self.results[name]["cells"] if cell["identity"] == identity)


class Table(Case):
    def test_a_parameter_is_no_column_of_its_own(self):
        file = os.path.join(ROOT, "results/h200/sweeps/lookup.json")
        cells = {cell["identity"]: cell for cell in read_json(file)["cells"]}
        header, found = table(self.printed("show", "--csv", file))
        self.assertEqual(
            header[2:11],
            [
                "workload",
                "path",
                "pattern",
                "elements",
                "block_size",
                "cache_state",
                "parameters",
                "width_bytes",
                "table_bytes",
            ],
        )
        self.assertEqual(len(found), len(cells))
        for row in found:
            cell = cells[row["identity"]]
            self.assertEqual(
                dict(word.split("=") for word in row["parameters"].split()),
                {name: str(value) for name, value in cell["parameters"].items()},
            )
            self.assertEqual(
                (row["width_bytes"], row["table_bytes"]),
                (str(cell["width_bytes"]), str(cell["table_bytes"])),
            )


class Conversions(Case):
    def converted(self, form, *files):
        return self.printed("convert", "--to", form, *(files or ("two.json", "one.json")))

    def test_google_benchmark_takes_repetitions_and_aggregates(self):
        """tools/gbench/report.py groups entries of one name, and refuses values that are all
        zero."""
        made = strict(self.converted("gbench"))
        groups, aggregates = {}, {}
        for entry in made["benchmarks"]:
            self.assertEqual(entry["time_unit"], "ns")
            self.assertGreaterEqual(entry["iterations"], 1)
            self.assertGreater(entry["cpu_time"], 0)
            if entry["run_type"] == "aggregate":
                self.assertEqual(entry["name"], f"{entry['run_name']}_{entry['aggregate_name']}")
                aggregates.setdefault(entry["run_name"], {})[entry["aggregate_name"]] = entry[
                    "real_time"
                ]
            else:
                self.assertEqual(
                    (entry["run_type"], entry["run_name"]), ("iteration", entry["name"])
                )
                groups.setdefault(entry["name"], []).append(entry)
        for name, entries in groups.items():
            times = [entry["real_time"] for entry in entries]
            self.assertEqual(
                [entry["repetition_index"] for entry in entries], list(range(len(entries)))
            )
            self.assertEqual(
                {(entry["repetitions"], entry["family_index"]) for entry in entries},
                {(len(entries), entries[0]["family_index"])},
            )
            for key, value in (
                ("mean", statistics.mean(times)),
                ("median", statistics.median(times)),
                ("stddev", statistics.stdev(times)),
                ("cv", statistics.stdev(times) / statistics.mean(times)),
            ):
                self.assertAlmostEqual(aggregates[name][key], value)
        self.assertEqual(
            [entry["real_time"] for entry in groups[TIMED]],
            [
                sample
                for name in ("two.json", "one.json")
                for sample in self.cell(TIMED, name)["time_ns"]["samples"]
            ],
        )
        self.assertEqual(list(made["context"]["cells_without_time"]), [SKIPPED])

    def test_bencher_takes_values_with_bounds(self):
        for files in (("one.json",), ("two.json", "one.json")):
            made = strict(self.converted("bmf", *files))
            jsonschema.Draft202012Validator(BMF).validate(made)
            self.assertNotIn(SKIPPED, made)
            for measures in made.values():
                for metric in measures.values():
                    self.assertLessEqual(metric.get("lower_value", -math.inf), metric["value"])
                    self.assertLessEqual(metric["value"], metric.get("upper_value", math.inf))
            if len(files) == 1:
                time = self.cell(TIMED)["time_ns"]
                self.assertEqual(
                    made[TIMED]["time_ns"],
                    {
                        "value": time["value"],
                        "lower_value": time["ci_low"],
                        "upper_value": time["ci_high"],
                    },
                )

    def test_kernel_tuner_takes_configurations(self):
        made = strict(self.converted("kernel_tuner", "one.json"))
        jsonschema.Draft202012Validator(T4).validate(made)
        self.assertEqual(len(made["results"]), len(self.results["one.json"]["cells"]))
        for result, cell in zip(made["results"], self.results["one.json"]["cells"], strict=True):
            measured = {one["name"]: one["value"] for one in result["measurements"]}
            self.assertEqual(
                result["times"]["runtimes"], [sample / 1e6 for sample in cell["time_ns"]["samples"]]
            )
            self.assertEqual(
                measured.get("time"), cell["time_ns"]["value"] and cell["time_ns"]["value"] / 1e6
            )
            self.assertEqual(result["configuration"]["width_bytes"], 4)

    def test_cells_of_several_gpus_are_several(self):
        """Two GPUs of other names, and two of one name, which the UUID tells apart; by hand from
        the committed files."""
        files = [
            os.path.join(ROOT, f"results/chips/{chip}/core-matrix.json")
            for chip in ("h100", "h200")
        ]
        twin = read_json(files[1])
        twin["device"]["uuid"] = "GPU-00000000-0000-0000-0000-000000000000"
        named = [
            ["NVIDIA H100 80GB HBM3", "NVIDIA H200"],
            ["NVIDIA H200 GPU-14f9466f", "NVIDIA H200 GPU-00000000"],
        ]
        for paths, gpus in zip((files, [files[1], self.write("twin.json", twin)]), named):
            made = strict(self.converted("bmf", *paths))
            jsonschema.Draft202012Validator(BMF).validate(made)
            self.assertEqual(len(made), 48)
            for path, gpu in zip(paths, gpus):
                time = next(
                    cell["time_ns"]
                    for cell in read_json(path)["cells"]
                    if cell["identity"] == TIMED
                )
                self.assertEqual(made[f"{gpu}/{TIMED}"]["time_ns"]["value"], time["value"])
            made = strict(self.converted("gbench", *paths))
            self.assertEqual(made["context"]["device"], ", ".join(gpus))
            self.assertEqual(
                {entry["run_name"].split("/add/")[0] for entry in made["benchmarks"]}, set(gpus)
            )
            made = strict(self.converted("kernel_tuner", *paths))
            jsonschema.Draft202012Validator(T4).validate(made)
            self.assertEqual(
                [result["configuration"]["gpu"] for result in made["results"]],
                [gpu for gpu in gpus for _ in range(24)],
            )

    def test_other_documents_are_refused(self):
        self.assertIn(
            "not a result",
            self.printed(
                "convert", "--to", "gbench", os.path.join(ROOT, "results/cards/h200.json"), status=2
            ),
        )


if __name__ == "__main__":
    unittest.main()
