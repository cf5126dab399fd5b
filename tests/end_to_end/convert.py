#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Exports and conversions of results and cards, read as the programs they are for would read them.
CBANK names the program (default build/cbank)."""

import array
import csv
import hashlib
import io
import json
import math
import os
import statistics
import subprocess
import sys
import unittest

import jsonschema

from common import CBANK, FULL, ROOT, Scratch, read_bytes, read_json

FAILED, MISSING, SKIPPED = (
    f"add/{path}/per_warp/128000/1024/hot" for path in ("constant", "global", "readonly")
)
CARDS = os.path.join(ROOT, "results/cards")
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


class NVBench(Case):
    """Files as its compare scripts read them: by tags of summaries, and by the name and the number
    of samples that a summary says."""

    def converted(self, *files):
        self.printed("convert", "--to", "nvbench", "--output", "made.json", *files)
        return read_json(os.path.join(self.folder, "made.json"))

    def value(self, state, tag, name="value"):
        (data,) = [one["data"] for one in state["summaries"] if one["tag"] == tag]
        (found,) = [one for one in data if one["name"] == name]
        self.assertIsInstance(found["value"], str)
        return {"float64": float, "int64": int, "string": str}[found["type"]](found["value"])

    def samples(self, state):
        """The samples in the file that the state names."""
        tag = "nv/json/bin:nv/cold/sample_times"
        name, size = self.value(state, tag, "filename"), self.value(state, tag, "size")
        self.assertRegex(name, r"^made\.json-bin/[0-9]+\.bin$")
        with open(os.path.join(self.folder, name), "rb") as file:
            read = array.array("f", file.read())
        if sys.byteorder == "big":
            read.byteswap()
        self.assertEqual(len(read), size)
        return read

    def states(self, made):
        """{axis values: state} of all benchmarks; every axis of a state is declared."""
        found = {}
        for index, bench in enumerate(made["benchmarks"]):
            self.assertEqual(bench["index"], index)
            for state in bench["states"]:
                self.assertIn(state["device"], bench["devices"])
                axes = {one["name"]: one for one in bench["axes"]}
                self.assertEqual([one["name"] for one in state["axis_values"]], list(axes))
                for one in state["axis_values"]:
                    self.assertIn(
                        one["value"], [each["input_string"] for each in axes[one["name"]]["values"]]
                    )
                key = (state["device"], *(one["value"] for one in state["axis_values"]))
                self.assertEqual(
                    state["name"],
                    " ".join(
                        [f"Device={state['device']}"]
                        + [f"{one['name']}={one['value']}" for one in state["axis_values"]]
                    ),
                )
                self.assertNotIn(key, found)
                found[key] = state
        return found

    def test_states_have_the_samples_of_their_cells(self):
        made = self.converted("one.json")
        self.assertEqual(made["meta"]["version"]["json"]["string"], "1.0.0")
        (device,) = made["devices"]
        self.assertEqual(
            (device["id"], device["sm_version"], device["number_of_sms"]), (0, 900, 132)
        )
        states = self.states(made)
        self.assertEqual(len(states), len(self.results["one.json"]["cells"]))
        for identity in (FAILED, SKIPPED):
            cell = self.cell(identity)
            state = states[0, *identity.split("/")[1:]]
            self.assertTrue(state["is_skipped"])
            self.assertIsNone(state["summaries"])
            self.assertIn(cell["reason"].split(",")[0], state["skip_reason"])
        state, cell = states[0, *TIMED.split("/")[1:]], self.cell(TIMED)
        seconds = [sample * 1e-9 for sample in cell["time_ns"]["samples"]]
        for read, written in zip(self.samples(state), seconds, strict=True):
            self.assertAlmostEqual(read / written, 1, places=6)
        tag, ordered = "nv/cold/time/gpu/", sorted(seconds)
        mean, deviation = statistics.mean(seconds), statistics.stdev(seconds)
        for name, expected in (
            ("mean", mean),
            ("min", ordered[0]),
            ("max", ordered[-1]),
            ("stdev/absolute", deviation),
            ("stdev/relative", deviation / mean),
            # NVBench's rank: halves are rounded up, as floor(x + 1/2)
            ("median", ordered[math.floor((len(ordered) - 1) / 2 + 0.5)]),
            ("q1", ordered[math.floor((len(ordered) - 1) / 4 + 0.5)]),
        ):
            self.assertAlmostEqual(self.value(state, tag + name) / expected, 1, 9, name)
        self.assertAlmostEqual(
            self.value(state, "nv/cold/sm_clock_rate/mean"), cell["sm_clock_mhz"] * 1e6, places=0
        )
        self.assertEqual(self.value(state, "nv/cold/sample_size"), len(seconds))
        (mean,) = [one for one in state["summaries"] if one["tag"] == tag + "mean"]
        self.assertIn("of one more launch in a stream", mean["description"])

    def test_parameters_are_axes_and_few_samples_have_no_noise(self):
        file = os.path.join(ROOT, "results/h200/sweeps/lookup.json")
        result = read_json(file)
        result["engine"] = "model"
        timed = next(cell for cell in result["cells"] if cell["time_ns"]["samples"])
        timed["time_ns"]["samples"] = timed["time_ns"]["samples"][:3]
        made = self.converted(self.write("few.json", result))
        names = {bench["name"] for bench in made["benchmarks"]}
        self.assertIn("lookup(table_bytes,loads,in_flight)", names)
        self.assertTrue(made["devices"][0]["name"].endswith(" (modelled)"))
        axes = [timed[key] for key in ("path", "pattern", "elements", "block_size", "cache_state")]
        state = self.states(made)[0, *map(str, [*axes, *timed["parameters"].values()])]
        self.assertEqual(len(self.samples(state)), 3)
        self.assertEqual(self.value(state, "nv/cold/time/gpu/stdev/relative"), math.inf)

    def test_gpus_are_devices(self):
        made = self.converted(
            *(
                os.path.join(ROOT, f"results/chips/{chip}/core-matrix.json")
                for chip in ("h100", "h200")
            )
        )
        self.assertEqual(
            [(one["id"], one["name"]) for one in made["devices"]],
            [(0, "NVIDIA H100 80GB HBM3"), (1, "NVIDIA H200")],
        )
        self.assertEqual({key[0] for key in self.states(made)}, {0, 1})

    def test_it_needs_a_file_to_write(self):
        said = self.printed("convert", "--to", "nvbench", "one.json", status=2)
        self.assertIn("--output", said)
        self.assertEqual(
            self.printed(
                "convert", "--to", "nvbench", "-o", "one.json", "one.json", status=2
            ).count("one.json"),
            1,
        )


def options_of(text):
    """Options as option_parser.cc reads a file: # begins a comment, words lie between blanks, and
    each option takes the next word."""
    words = " ".join(line.partition("#")[0] for line in text.splitlines()).split()
    assert len(words) % 2 == 0 and all(word.startswith("-") for word in words[::2]), words
    assert len(set(words[::2])) == len(words) / 2, words
    return dict(zip(words[::2], words[1::2]))


class Simulators(Case):
    H200 = tuple(
        os.path.join(ROOT, f"results/{kind}/h200.json") for kind in ("cards", "characterizations")
    )

    def test_a_card_is_lines_of_gpgpusim(self):
        """By hand from the committed card: 64 warps are 2048 threads; L2 272.236 less L1 41.375."""
        text = self.printed("convert", "--to", "gpgpusim", self.H200[0])
        options = options_of(text)
        self.assertEqual(
            options,
            {
                "-gpgpu_compute_capability_major": "9",
                "-gpgpu_compute_capability_minor": "0",
                "-gpgpu_occupancy_sm_number": "90",
                "-gpgpu_n_clusters": "132",
                "-gpgpu_n_cores_per_cluster": "1",
                "-gpgpu_shader_core_pipeline": "2048:32",
                "-gpgpu_shader_cta": "32",
                "-gpgpu_shmem_size": "233472",
                "-gpgpu_shmem_sizeDefault": "233472",
                "-gpgpu_num_sched_per_core": "4",
                "-gpgpu_max_insn_issue_per_warp": "1",
                "-gpgpu_l1_latency": "41",
                "-gpgpu_l2_rop_latency": "231",
            },
        )
        for name in ("-gpgpu_smem_latency", "-gpgpu_const_cache:l1", "-gpgpu_clock_domains"):
            self.assertRegex(text, f"(?m)^# not known: {name}")

    def test_a_characterization_adds_what_it_measured(self):
        """8 sets of 4 ways of 64 bytes; 94 cycles of a texture, a load in 4 cycles: of 4 units
        each takes one in 16."""
        made = options_of(self.printed("convert", "--to", "gpgpusim", *self.H200))
        self.assertEqual(made["-gpgpu_const_cache:l1"], "N:8:64:4,L:R:f:N:L,S:2:64,4")
        self.assertEqual(made["-gpgpu_smem_latency"], "23")
        made = options_of(self.printed("convert", "--to", "accelsim", *self.H200))
        self.assertEqual(made["-trace_opcode_latency_initiation_spec_op_2"], "94,16")
        self.assertEqual(made["-trace_opcode_latency_initiation_spec_op_4"], "6,2")
        self.assertEqual(len(made), 2)

    def test_every_committed_card_has_its_lines(self):
        for name in ("t4", "gtx480") if not FULL else sorted(os.listdir(CARDS)):
            path = os.path.join(CARDS, f"{name.removesuffix('.json')}.json")
            card = read_json(path)
            made = options_of(self.printed("convert", "--to", "gpgpusim", path))
            self.assertEqual(
                made["-gpgpu_n_clusters"], str(card["model"]["sm_count"]["value"]), name
            )
            self.assertIs("-gpgpu_num_sched_per_core" in made, card["cc_major"] >= 7, name)

    def test_other_files_are_refused(self):
        t4 = os.path.join(ROOT, "results/cards/t4.json")
        for words, says in (
            (["one.json"], "one.json is a result"),
            ([t4, t4], "is a card; --to gpgpusim takes one card"),
            ([t4, self.H200[1]], "compute capability 7.5, and the characterization of 9.0"),
        ):
            self.assertIn(says, self.printed("convert", "--to", "gpgpusim", *words, status=2))


def mt4g(**changes):
    """As MT4G writes it, of a GPU that there is not."""

    def found(size, confidence=0.9):
        return {"size": size, "confidence": confidence, "unit": "bytes", "method": "p-chase"}

    def latency(mean, deviation):
        return {"mean": mean, "stdev": deviation, "measurements": 255, "unit": "cycles"}

    return {
        "compute": {
            "multiProcessorCount": 40,
            "maxThreadsPerMultiProcessor": 1536,
            "maxBlocksPerMultiProcessor": 16,
        },
        "general": {
            "name": "NVIDIA Example",
            "vendor": "NVIDIA",
            "computeCapability": {"major": 7, "minor": 5},
            "clockRate": {"value": 1500500, "unit": "kHz"},
        },
        "memory": {
            "constant": {
                "l1": {
                    "size": found(2112),
                    "fetchGranularity": found(64),
                    "lineSize": found(64),
                    "latency": latency(27.5, 0),
                },
                "l1.5": {
                    "size": found(65537, confidence=0.0),
                    "fetchGranularity": found(256),
                    "latency": latency(90, 4),
                },
            },
            "l1": {"latency": latency(32, 0.5)},
            "l2": {
                "latency": latency(200, 150),
                "size": {"value": 4194304, "unit": "bytes"},
                "readBandwidth": {"value": 1000, "unit": "GiB/s"},
            },
            "shared": {
                "sharedMemPerMultiProcessor": {"value": 65536},
                "reservedSharedMemPerBlock": {"value": 0},
            },
        },
        "meta": {"timestamp": "2025-08-10T00:50:56Z"},
        **changes,
    }


class Quoted(Case):
    def card(self, *words):
        self.printed("convert", "--to", "card", "-o", "card.json", *words)
        card = read_json(os.path.join(self.folder, "card.json"))
        self.printed("show", "--check", "card.json")
        schema = read_json(os.path.join(ROOT, "results/card.schema.json"))
        jsonschema.Draft202012Validator(schema).validate(card)
        return card

    def test_mt4g_fills_a_card_with_published_numbers(self):
        card = self.card(self.write("mt4g.json", mt4g()))
        self.assertEqual((card["name"], card["chip"], card["cc_major"]), ("Example", None, 7))
        ranges = {
            key: (entry["value"], entry["low"], entry["high"])
            for key, entry in card["model"].items()
        }
        rate = 1000 * 2**30 / 1e9
        for key, expected in (
            ("warps_per_sm", (48, 48, 48)),
            ("sm_clock_mhz", (1500.5, 1500.5, 1500.5)),
            ("l2_bytes_per_ns", (rate, rate, rate)),
            ("l1_latency_cycles", (32, 31, 33)),
            ("l2_latency_cycles", (200, 0, 500)),
            ("constant_l1_bytes", (2112, 2048, 2112)),
        ):
            for value, wanted in zip(ranges[key], expected, strict=True):
                self.assertAlmostEqual(value, wanted, 9, key)
        for entry in card["model"].values():
            self.assertEqual(entry["from"], "published")
            self.assertIn("MT4G, 2025-08-10", entry["method"])
        self.assertNotIn("dram_bytes_per_ns", ranges)
        (missing,) = [one for one in card["numbers"] if one["name"] == "capacity_bytes"][1:]
        self.assertIsNone(missing["value"])
        self.assertIn("did not find it", missing["reason"])
        (file,) = card["evidence"].values()
        content = read_bytes(os.path.join(self.folder, "mt4g.json"))
        self.assertEqual(
            (file["file"], file["sha256"]), ("mt4g.json", hashlib.sha256(content).hexdigest())
        )

    def test_what_a_card_has_stays(self):
        t4 = os.path.join(ROOT, "results/cards/t4.json")
        before, after = read_json(t4), self.card(t4, self.write("mt4g.json", mt4g()))
        self.assertEqual(after["name"], "Tesla T4")
        for key, entry in before["model"].items():
            if entry:
                self.assertEqual(after["model"][key], entry)
        self.assertEqual(after["model"]["constant_l1_bytes"]["value"], 2112)
        self.assertEqual(after["numbers"][: len(before["numbers"])], before["numbers"])

    def test_a_card_of_another_gpu_is_refused(self):
        file = self.write("mt4g.json", mt4g())
        for card in ("h200", "rtx2080ti"):  # another capability; another number of SMs
            path = os.path.join(ROOT, f"results/cards/{card}.json")
            self.assertIn(
                "name files of one GPU",
                self.printed("convert", "--to", "card", path, file, status=2),
            )
        other = mt4g(general={"name": "AMD Example", "vendor": "AMD"})
        self.assertIn(
            "no NVIDIA GPU",
            self.printed("convert", "--to", "card", self.write("amd.json", other), status=2),
        )

    def test_files_of_other_programs_are_named(self):
        self.write("mt4g.json", mt4g())
        for name, keys in (
            ("nvbench", ("meta", "devices", "benchmarks")),
            ("gbench", ("context", "benchmarks")),
            ("kernel_tuner", ("schema_version", "metadata", "results")),
        ):
            self.write(f"{name}.json", dict.fromkeys(keys))
        header = '"ID","Process ID","Process Name","Host Name"\n"0","1","a.out","127.0.0.1"\n'
        for name, text in (
            ("ncu.csv", header),
            ("said.csv", f"==PROF== Connected to process 1\n{header}"),
            ("app.csv", f"my program says this\n{header}"),
        ):
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        for name, says in (
            ("mt4g.json", "JSON of MT4G; cbank convert --to card"),
            ("nvbench.json", "JSON of NVBench; cbank convert --to nvbench"),
            ("gbench.json", "JSON of Google Benchmark"),
            ("kernel_tuner.json", "JSON of Kernel Tuner"),
            ("ncu.csv", "CSV of ncu; cbank run counts by itself"),
            ("said.csv", "CSV of ncu"),
            ("app.csv", "CSV of ncu"),
        ):
            said = self.printed("show", name, status=2)
            self.assertEqual(said, f"cbank: error: {name} is {says}{said.partition(says)[2]}")
            self.assertEqual(said.count("\n"), 1, said)
        for words in (("compare", "one.json"), ("convert", "--to", "bmf")):
            said = self.printed(*words, "mt4g.json", status=2)
            self.assertEqual(said.count("mt4g.json is JSON of MT4G;"), 1, said)


if __name__ == "__main__":
    unittest.main()
