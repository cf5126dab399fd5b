#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lookups, whose indices are data, end to end: sources and files, bad files, resuming and
explaining, on the model engine and on the simulated GPU. CBANK names the program (default
build/cbank)."""

import hashlib
import json
import os
import random
import struct
import subprocess
import unittest

import jsonschema

from common import ROOT, Scratch, read_json

CBANK = os.path.abspath(os.environ.get("CBANK", os.path.join(ROOT, "build/cbank")))
SIMULATED = os.path.join(ROOT, "build/tests/simulated/cbank")
LOADING = [
    "constant",
    "global",
    "readonly",
    "restrict",
    "global_l2",
    "texture",
    "shared",
    "shared_copies",
    "param",
    "param_large",
]


def npy(path, code, shape, values, order="<", fortran=False):
    """Writes what numpy.save writes; code is of struct."""
    kind = {"f": "f", "d": "f"}.get(code, "u" if code.isupper() else "i") + str(
        struct.calcsize("<" + code)
    )
    descr = ("|" if kind.endswith("1") else order) + kind
    header = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}".encode()
    header += b" " * (-(10 + len(header) + 1) % 64) + b"\n"
    with open(path, "wb") as file:
        file.write(
            b"\x93NUMPY\x01\x00"
            + struct.pack("<H", len(header))
            + header
            + struct.pack(f"{order}{len(values)}{code}", *values)
        )


class Case(Scratch):
    program = CBANK

    def setUp(self):
        super().setUp()
        self.file, self.index_file = self.path("result.json"), self.path("indices.npy")

    def cbank(self, *arguments, status=0):
        done = subprocess.run(
            [self.program, *arguments],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env={**os.environ, "CBANK_CUPTI_DIR": os.path.dirname(SIMULATED)},
        )
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def run_lookup(self, *arguments, engine="model"):
        self.cbank(
            "run",
            "--engine",
            engine,
            "--workload",
            "lookup",
            "--quiet",
            "--json",
            self.file,
            *arguments,
        )
        result = read_json(self.file)
        jsonschema.Draft202012Validator(
            read_json(os.path.join(ROOT, "results/schema.json"))
        ).validate(result)
        return result

    def put(self, data):
        with open(self.index_file, "wb") as file:
            file.write(data)

    def refused(self, message, *arguments):
        done = self.cbank(
            "run",
            "--engine",
            "model",
            "--workload",
            "lookup",
            "--quiet",
            "--json",
            self.file,
            *arguments,
            status=2,
        )
        self.assertIn(message, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertFalse(os.path.exists(self.file))


class Model(Case):
    def test_default_plan(self):
        cells = self.run_lookup()["cells"]
        self.assertEqual(
            sorted({cell["pattern"] for cell in cells}),
            ["lockstep", "random", "runs", "sorted", "zipf"],
        )
        self.assertEqual(len(cells), 15)
        for cell in cells:
            self.assertEqual(cell["status"], "ok")
            self.assertEqual(cell["indices"]["source"], cell["pattern"])
            self.assertEqual(cell["grid_blocks"], 132 * 8)

    def test_requests_are_those_of_the_indices(self):
        values = [random.Random(1).randrange(500) for _ in range(3 * 640)]
        npy(self.index_file, "q", (3, 640), values)
        cells = self.run_lookup("--indices", self.index_file, "--path", "all")["cells"]
        warps = [values[first : first + 32] for first in range(0, len(values), 32)]
        sums = {
            "constant": sum(len(set(warp)) for warp in warps),
            "param": sum(len(set(warp)) for warp in warps),
            "global": sum(len({index * 4 // 32 for index in warp}) for warp in warps),
        }
        with open(self.index_file, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        for cell in cells:
            if cell["path"] in sums:
                self.assertAlmostEqual(
                    cell["counts"]["requests_per_load"], sums[cell["path"]] / len(warps)
                )
            if cell["status"] == "ok":
                self.assertEqual(
                    cell["counts"]["footprint_bytes"],
                    4 * len(set(values)) if cell["path"] != "shared_fill_only" else 0,
                )
                self.assertEqual(
                    cell["indices"], {"source": "file", "file": self.index_file, "hash": digest}
                )
                self.assertEqual(
                    cell["identity"],
                    (
                        f"lookup/{cell['path']}/file/640/256/hot/loads=3/in_flight=1/"
                        f"indices={digest[:16]}"
                    ),
                )
        self.assertEqual(
            [cell["path"] for cell in cells if cell["status"] == "skipped"],
            ["shuffle", "select_4", "select_16", "prmt", "constant_uniform", "constant_operand"],
        )

    def test_indices_follow_from_the_plan_alone(self):
        plan = ("--source", "all", "--elements", "5000", "--distinct", "3,32")
        first, second = (self.run_lookup(*plan, "--seed", seed)["cells"] for seed in ("1", "2"))
        self.assertEqual(len(first), 3 * 10)
        self.assertEqual([cell["indices"] for cell in first], [cell["indices"] for cell in second])

    def test_a_table_too_small_for_a_file(self):
        npy(self.index_file, "I", (2, 100), [3] * 150 + [600] * 50)
        cells = {
            cell["path"]: cell
            for cell in self.run_lookup("--indices", self.index_file, "--path", "constant,param")[
                "cells"
            ]
        }
        self.assertEqual(cells["constant"]["status"], "ok")
        self.assertEqual(cells["param"]["reason"], "param holds 512 entries; the indices go to 600")
        os.remove(self.file)
        self.refused(
            "index 600 at [1][50] is beyond a table of 500 entries",
            "--indices",
            self.index_file,
            "--table-bytes",
            "2000",
        )

    def test_tables_beyond_those_of_patterns(self):
        npy(self.index_file, "I", (2, 320), [299999] * 640)
        cells = self.run_lookup(
            "--indices", self.index_file, "--path", "all", "--table-bytes", "1200000"
        )["cells"]
        done = {cell["path"]: cell for cell in cells if cell["status"] == "ok"}
        self.assertEqual(set(done), {"global", "readonly", "restrict", "global_l2", "texture"})
        self.assertEqual(
            {(cell["table_bytes"], cell["array_bytes"]) for cell in done.values()},
            {(1200000, 1200000)},
        )
        skipped = {cell["path"]: cell for cell in cells if cell["status"] == "skipped"}
        self.assertEqual(
            (skipped["constant"]["array_bytes"], skipped["param"]["array_bytes"]), (65536, 2048)
        )
        shown = json.loads(self.cbank("show", self.file, "--json").stdout)
        self.assertEqual(
            [cell["identity"] for cell in shown["cells"]], [cell["identity"] for cell in cells]
        )
        self.assertIn("/table_bytes=1200000/", cells[0]["identity"])

    def test_tables_that_no_path_holds(self):
        self.refused(
            "--table-bytes: 134217729 is out of limits; 16 to 134217728 bytes",
            "--table-bytes",
            "134217729",
        )
        self.refused(
            (
                "--table-bytes: the table of a pattern has 65536 bytes at most; larger ones are for"
                " --workload lookup"
            ),
            "--workload",
            "add,refill",
            "--table-bytes",
            "64,131072",
        )
        cells = self.run_lookup(
            "--workload",
            "add,lookup",
            "--path",
            "global",
            "--pattern",
            "per_warp",
            "--source",
            "random",
            "--elements",
            "640",
            "--table-bytes",
            "65536,131072",
        )["cells"]
        self.assertEqual(
            [(cell["workload"], cell["status"]) for cell in cells],
            [("add", "ok"), ("add", "skipped"), ("lookup", "ok"), ("lookup", "ok")],
        )
        self.assertEqual(
            cells[1]["reason"],
            (
                "global holds a table of 65536 bytes at most; a larger one is for workloads "
                "whose indices are data"
            ),
        )

    def test_bad_files(self):
        good = list(range(100))
        npy(self.index_file, "i", (2, 50), good)
        with open(self.index_file, "rb") as file:
            whole = file.read()
        for message, write in {
            "it is empty": lambda: self.put(b""),
            "it is cut short": lambda: self.put(whole[:-1]),
            "it is no .npy file": lambda: self.put(b"PK" + whole),
            "it is too long": lambda: self.put(whole + b"1"),
            "its version is 4.0": lambda: self.put(whole.replace(b"NUMPY\x01", b"NUMPY\x04")),
            "its header is none of integers": lambda: self.put(
                whole.replace(b"(2, 50)", b"(100)  ")
            ),
            "its header is none": lambda: self.put(whole.replace(b"'descr'", b"'shape'")),
            "its shape is": lambda: self.put(
                whole.replace(b"(2, 50), }" + 17 * b" ", b"(4294967296, 4294967296), }")
            ),
            "its values are '|b1', no integers": lambda: self.put(
                whole.replace(b"'<i4'", b"'|b1'")
            ),
            "integers in one or two dimensions": lambda: self.put(
                whole.replace(b"(2, 50)", b"()     ")
            ),
            "it is in Fortran order": lambda: npy(
                self.index_file, "i", (2, 50), good, fortran=True
            ),
            "its values are '<f4', no integers": lambda: npy(self.index_file, "f", (2, 50), good),
            "its values are '>i4', not little-endian": lambda: npy(
                self.index_file, "i", (2, 50), good, order=">"
            ),
            "its header is none of": lambda: npy(self.index_file, "i", (2, 5, 10), good),
            "[load][thread] is [100][1], and a thread has 64 loads at most": lambda: npy(
                self.index_file, "i", (100, 1), good
            ),
            "index -1 at [1][3] is beyond": lambda: npy(
                self.index_file, "b", (2, 50), [1] * 53 + [-1] * 47
            ),
            f"index {2 ** 64 - 1} at [1][3] is beyond": lambda: npy(
                self.index_file, "Q", (2, 50), [1] * 53 + [2**64 - 1] * 47
            ),
            "index 16384 at [0][0] is beyond": lambda: npy(
                self.index_file, "q", (100,), [16384] * 100
            ),
        }.items():
            with self.subTest(message):
                write()
                self.refused(message, "--indices", self.index_file)
        npy(self.index_file, "i", (2, 50), good)
        self.refused(
            "has indices of 50 threads, not of 100",
            "--indices",
            self.index_file,
            "--elements",
            "100",
        )
        self.refused("cannot read", "--indices", self.path("nothing.npy"))
        self.refused("unknown source 'file'", "--source", "file")
        self.refused("name their --source", "--pattern", "per_warp")

    def test_options_of_other_workloads(self):
        for option, value in (("source", "zipf"), ("indices", self.index_file)):
            done = self.cbank("run", "--engine", "model", f"--{option}", value, status=2)
            self.assertIn("name --workload lookup", done.stderr)

    def test_a_parameter_that_no_cell_takes_is_refused(self):
        """It would be passed over. One that some cells take is theirs."""
        for plan, option in (
            ("--radius 3", "radius"),
            ("--pattern per_warp --distinct 3", "distinct"),
            ("--sweep widths --loads 2", "loads"),
            ("--workload lookup --source random --skew-percent 80", "skew-percent"),
        ):
            done = self.cbank("run", "--engine", "model", *plan.split(), status=2)
            self.assertIn(f"--{option}: no cell of this plan takes it", done.stderr)
        for plan in (
            "--workload add,lookup --loads 2",
            "--pattern per_warp,distinct --distinct 3",
            "--workload lookup --source random,zipf --skew-percent 80",
        ):
            self.cbank(
                "run", "--engine", "model", *plan.split(), "--elements", "4096", "--json", self.file
            )

    def test_a_file_whose_cell_has_more_indices_than_any(self):
        result = self.run_lookup("--source", "random", "--path", "global")
        result["cells"][0]["elements"] = 10**9
        del result["cells"][0]["identity"]
        with open(self.file, "w", encoding="utf-8") as file:
            json.dump(result, file)
        for words in (("explain", "--json", self.file), ("run", "--quiet", "--resume", self.file)):
            self.assertIn(
                "a cell of 1000000000 elements has more", self.cbank(*words, status=2).stderr
            )

    def test_resume_and_explain_want_the_same_file(self):
        npy(self.index_file, "H", (4, 1000), [random.Random(2).randrange(200) for _ in range(4000)])
        result = self.run_lookup("--indices", self.index_file, "--path", "constant,global")
        identity = result["cells"][1]["identity"]
        self.cbank("explain", "--json", self.file)
        self.cbank("show", self.file, "--cell", identity)
        result["cells"][1].update(status="pending", counters={})
        result["cells"][1]["time_ns"].update(value=None, median=None, samples=[], stop_reason=None)
        result.update(complete=False, finished_utc=None)
        with open(self.file, "w", encoding="utf-8") as file:
            json.dump(result, file)
        with open(self.index_file, "r+b") as file:
            file.seek(-1, os.SEEK_END)
            last = file.read(1)
            file.seek(-1, os.SEEK_END)
            file.write(bytes([last[0] ^ 1]))
        self.assertIn("has changed", self.cbank("run", "--resume", self.file, status=3).stderr)
        self.assertIn("has changed", self.cbank("explain", "--json", self.file, status=3).stderr)
        with open(self.index_file, "r+b") as file:
            file.seek(-1, os.SEEK_END)
            file.write(last)
        self.cbank("run", "--resume", self.file, "--quiet")
        again = read_json(self.file)
        self.assertTrue(again["complete"])
        self.assertEqual(again["cells"][1]["identity"], identity)
        os.remove(self.index_file)
        self.assertIn("cannot read", self.cbank("explain", "--json", self.file, status=2).stderr)
        # the text has no simple time, which alone needs the indices
        self.assertIn(identity, self.cbank("explain", self.file).stdout)


@unittest.skipUnless(
    os.path.exists(SIMULATED), "no program for the simulated GPU: make simulated says why"
)
class Gpu(Case):
    program = SIMULATED

    def measured(self, *arguments):
        """The result of a run, and its cells that are not skipped: all are verified, with
        counters as expected."""
        result = self.run_lookup(*arguments, "--max-samples", "20", engine="cuda")
        done = [cell for cell in result["cells"] if cell["status"] == "ok"]
        self.assertTrue(all(cell["verified"] for cell in done))
        self.assertEqual(result["exact_counters"]["differing"], 0)
        return result, done

    def test_every_path_is_verified_and_counted(self):
        npy(
            self.index_file,
            "h",
            (4, 3001),
            [random.Random(3).randrange(400) for _ in range(4 * 3001)],
        )
        result, done = self.measured(
            "--indices",
            self.index_file,
            "--source",
            "random,unequal",
            "--distinct",
            "5",
            "--path",
            "all",
            "--elements",
            "3001",
            "--in-flight",
            "1,4",
            "--table-bytes",
            "1600",
            "--width-bytes",
            "2,4",
        )
        self.assertEqual(len(done), 3 * 2 * 2 * (len(LOADING) + 1))
        self.assertGreater(result["exact_counters"]["equal"], 8 * len(done) - 40)

    def test_wide_entries_and_large_parameters(self):
        """Requests are those of constants. Entries of 12, 24 and 32 bytes take several loads
        each."""
        _, done = self.measured(
            "--source",
            "sorted",
            "--path",
            "param,param_large,constant,global,shared",
            "--table-bytes",
            "1920,32640",
            "--width-bytes",
            "1,4,12,16,24,32",
            "--elements",
            "32640",
        )
        done = {
            (cell["path"], cell["table_bytes"], cell["parameters"].get("width_bytes", 4)): cell
            for cell in done
        }
        self.assertEqual(len(done), 6 * (5 + 4))
        for (path, size, width), cell in done.items():
            if path.startswith("param"):
                self.assertEqual(cell["counts"], done["constant", size, width]["counts"])
        self.assertEqual(
            [
                done[path, 1920, width]["kernel"]["instruction"]
                for path in ("constant", "global")
                for width in (12, 24, 32)
            ],
            ["LDC", "LDC.64", "LDC.64", "LDG", "LDG.64", "LDG.128"],
        )
        self.cbank(
            "run",
            "--engine",
            "model",
            "--workload",
            "lookup",
            "--path",
            "param_large",
            "--fault",
            "counter",
            "--quiet",
            status=1,
        )

    def test_small_tables_in_every_space(self):
        result, done = self.measured(
            "--path",
            "all",
            "--source",
            "random,unequal",
            "--distinct",
            "5",
            "--elements",
            "1024",
            "--in-flight",
            "1,4",
            "--table-bytes",
            "16,64,128",
            "--width-bytes",
            "1,2,4,8,16",
        )
        skipped = {
            (cell["path"], cell["reason"])
            for cell in result["cells"]
            if cell["status"] == "skipped"
        }
        self.assertEqual(
            {path for path, reason in skipped if "entries" not in reason},
            {"select_4", "select_16", "prmt", "constant_uniform", "constant_operand"},
        )
        self.assertIn(("select_16", "select_16 holds a table of 64 bytes at most"), skipped)
        self.assertIn(("shuffle", "shuffle holds 32 entries at most"), skipped)
        self.assertEqual(
            {cell["path"] for cell in done},
            {*LOADING, "shared_fill_only", "shuffle", "select_4", "select_16", "prmt"},
        )
        instructions = {
            (cell["path"], cell["kernel"]["instruction"])
            for cell in done
            if cell["path"].startswith(("shuf", "sel", "prmt"))
        }
        self.assertEqual(
            instructions,
            {("shuffle", "SHFL"), ("select_4", "SEL"), ("select_16", "SEL"), ("prmt", "PRMT")},
        )

    def test_warps_and_room_of_an_sm(self):
        result, _ = self.measured(
            "--source",
            "random",
            "--path",
            "constant,shared",
            "--warps-per-sm",
            "8,64",
            "--extra-shared-bytes",
            "1024,102400",
            "--table-bytes",
            "65536,64",
            "--loads",
            "1",
            "--elements",
            str(64 * 32 * 132),
        )
        sms = {}
        for cell in result["cells"]:
            self.assertIn(cell["status"], ("ok", "skipped"))
            if cell["status"] == "ok":
                sms.setdefault(cell["parameters"]["warps_per_sm"], set()).add(cell["grid_blocks"])
            else:
                self.assertIn("an SM has room for", cell["reason"])
                self.assertEqual(cell["parameters"]["warps_per_sm"], 64)
        self.assertEqual(sms, {8: {132}, 64: {1056}})

    def test_elements_of_a_thread(self):
        """The grid is that of the elements; every count is exact, and all outputs are right."""
        _, done = self.measured(
            "--source",
            "random",
            "--path",
            "all",
            "--elements",
            "100000",
            "--table-bytes",
            "64",
            "--thread-elements",
            "1,3",
        )
        self.assertEqual(
            {
                (cell["parameters"].get("thread_elements"), cell["grid_blocks"])
                for cell in done
                if cell["path"] == "shared"
            },
            {(1, 391), (3, 131)},
        )
        self.assertEqual(len(done), 2 * (len(LOADING) + 2))

    def test_other_data_and_several_tables(self):
        result, done = self.measured(
            "--source",
            "random,distinct",
            "--distinct",
            "5",
            "--path",
            "all",
            "--elements",
            "4096",
            "--table-bytes",
            "64",
            "--table-count",
            "1,2,3",
            "--polluter-bytes",
            "4096,1048576",
        )
        self.assertEqual(
            {
                (cell["path"], cell["reason"])
                for cell in result["cells"]
                if cell["status"] == "skipped" and cell["path"].startswith("sh")
            },
            {("shuffle", "shuffle holds tables of 128 bytes together at most")},
        )
        self.assertEqual(len(done), 2 * 2 * (3 * (len(LOADING) + 1) + 2 + 1))
        self.assertEqual({cell["table_bytes"] for cell in done}, {64, 128, 192})

    def test_large_tables(self):
        """Cells grow the table that they share, and read it as they do a small one."""
        result, done = self.measured(
            "--source",
            "random,zipf",
            "--path",
            "constant,global,restrict,global_l2,texture",
            "--elements",
            "3001",
            "--width-bytes",
            "1,16",
            "--table-bytes",
            "65536,65552,2097152,131072",
        )
        large = [cell for cell in done if cell["table_bytes"] > 65536]
        self.assertEqual(
            {cell["path"] for cell in large}, {"global", "restrict", "global_l2", "texture"}
        )
        self.assertEqual(len(large), 2 * 2 * 3 * 4)
        self.assertTrue(all(cell["time_ns"]["value"] > 0 for cell in done))
        self.assertEqual({cell["status"] for cell in result["cells"]}, {"ok", "skipped"})
        self.assertGreater(result["exact_counters"]["equal"], 2 * len(large))

    def test_a_wrong_output_is_found(self):
        done = self.cbank(
            "run",
            "--workload",
            "lookup",
            "--source",
            "zipf",
            "--path",
            "global",
            "--elements",
            "1000",
            "--fault",
            "output",
            "--json",
            self.file,
            status=1,
        )
        self.assertIn("wrong output: element 500", done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
