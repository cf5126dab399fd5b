#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of cbank advise where nothing is measured. Near lookups and counts are those that are
written by hand. CBANK names the program (default build/cbank)."""

import itertools
import json
import os
import random
import re
import shlex
import shutil
import struct
import subprocess
import unittest

import jsonschema

from common import CBANK, ROOT, Scratch, cbank, read_json

os.environ["COLUMNS"] = "100"
SIMULATED = os.path.join(ROOT, "build/tests/simulated/cbank")
# A load that each kernel of tests/data/loads.cu has.
LOAD_OF_KERNEL = {
    "constant_register": "LDC c[3][register]",
    "constant_widths": "LDC.64 c[3][register]",
    "constant_number": "c[3][number]",
    "constant_converted": "c[3][number]",
    "constant_uniform": "ULDC/LDCU c[3][register]",
    "constant_loop": "LDC c[3][register]",
    "constant_called": "LDC c[3][register]",
    "parameter": "LDC c[0][register]",
    "global_plain": "LDG",
    "global_read_only": "LDG.CONSTANT",
    "global_past_l1": "LDG.128.STRONG",
    "shared": "LDS",
    "by_texture": "TEX/TLD",
    "shuffle": "SHFL",
    "local": "LDL",
    "generic": "LD",
    "switched": "LDC c[3][register]",
    "pointer": "c[0][number]",
}
ELEMENTS = 16384
SMALL = ("--elements", str(ELEMENTS))


def nvcc():
    """The newest toolkit's; None: there is none."""
    toolkit = os.environ.get("CBANK_CUDA") or "/usr/local/cuda"
    return shutil.which("nvcc", path=os.pathsep.join([f"{toolkit}/bin", os.environ["PATH"]]))


def write_npy(path, rows):
    """Rows of 32-bit integers."""
    header = f"{{'descr': '<u4', 'fortran_order': False, 'shape': ({len(rows)}, {len(rows[0])}), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        for row in rows:
            file.write(struct.pack(f"<{len(row)}I", *row))


class Advise(Scratch):
    def advise(self, *words):
        done = cbank("advise", *words, "--json", "-")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def modelled(self, *words):
        """{path: time} by the model engine."""
        done = cbank(
            "run",
            "--engine",
            "model",
            "--quiet",
            "--counters",
            "none",
            "--json",
            "-",
            *words,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return {
            cell["path"]: cell["time_ns"]["value"]
            for cell in json.loads(done.stdout)["cells"]
            if cell["status"] == "ok"
        }

    def refused(self, *words, saying):
        done = cbank("advise", *words)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        for word in saying:
            self.assertIn(word, done.stderr)

    def test_a_pattern_is_that_of_add(self):
        advice = self.advise(
            "--table-bytes", "65536", "--pattern", "per_warp", "--elements", "128000"
        )
        times = self.modelled(
            "--path",
            "constant,global,shared",
            "--pattern",
            "per_warp",
            "--elements",
            "128000",
            "--table-bytes",
            "65536",
        )
        for space in advice["ranking"]:
            if space["path"] in times:
                self.assertTrue(0 < space["busy_ns"] < times[space["path"]])
        self.assertEqual((advice["answer"], advice["near"]), ([], []))

    def test_a_card_without_times_says_counts_alone(self):
        done = cbank("advise", "--table-bytes", "4096", "--card", "v100", *SMALL)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        said = " ".join(done.stdout.split())
        self.assertIn("no ranking: no measured lookups are near", said)
        advice = self.advise("--table-bytes", "4096", "--card", "v100", *SMALL)
        self.assertIsNone(advice["choice"])
        self.assertEqual({space["standing"] for space in advice["ranking"]}, {"not known"})
        self.assertEqual({space["time_ns"] for space in advice["ranking"]}, {None})

    def measured(self, *rows):
        """A file of lookups as if measured: table bytes, and times by path."""
        lookups = [
            {
                "identity": "",
                **dict(zip(("workload", "path", "pattern"), ("lookup", "global", "random"))),
                "elements": ELEMENTS,
                "block_size": 256,
                "cache_state": "hot",
                "parameters": {"table_bytes": table_bytes, "loads": 4, "in_flight": 1},
                "array_bytes": max(65536, table_bytes),
                "addresses_per_load": 31,
                "sectors_per_load": 28,
                "wavefronts_per_load": 3.4,
                "file": "by-hand.json",
                "times": [{"path": path, "ns": ns} for path, ns in times.items()],
            }
            for table_bytes, times in rows
        ]
        path = self.path("measured.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(
                {
                    "schema": {"name": "cbank-lookups", "version": "1.0"},
                    "card": "H200",
                    "lookups": lookups,
                },
                file,
            )
        return f"--measured={path}"

    def test_lookups_that_are_near_rank(self):
        file = self.measured(
            (2048, {"global": 1000, "texture": 1002, "shared": 1100, "constant": 5000}),
            (8192, {"global": 1000, "texture": 1006, "shared": 1100, "constant": 9000}),
            (1 << 20, {"global": 1100, "texture": 1000}),
        )
        advice = self.advise("--table-bytes", "4096", *SMALL, file)
        self.assertEqual((advice["answer"], advice["why"]), (["global", "texture"], None))
        self.assertEqual(
            {space["path"]: space["standing"] for space in advice["ranking"]},
            {
                "global": "best",
                "texture": "as good",
                "shared": "slower",
                "constant": "slower",
                **dict.fromkeys(
                    ("readonly", "restrict", "global_l2", "shared_copies", "param_large"),
                    "not known",
                ),
            },
        )
        self.assertEqual([row["parameters"]["table_bytes"] for row in advice["near"]], [2048, 8192])
        said = cbank("advise", "--table-bytes", "4096", *SMALL, file).stdout
        self.assertIn("\nbest, by lookups near these: global; as good: texture\n", said)
        self.assertRegex(
            said, r"(?m)^    lookup/global/random/.*/table_bytes=2048/.*, by-hand.json$"
        )
        self.assertRegex(said, r"(?m)^constant .* 5.00x to 9.00x +slower ")

    def test_lookups_that_do_not_agree_or_are_on_one_side_rank_nothing(self):
        for rows, why in (
            (
                [
                    (2048, {"global": 1000, "shared": 1200, "constant": 5000}),
                    (8192, {"global": 1200, "shared": 1000, "constant": 5000}),
                ],
                "do not agree",
            ),
            (
                [
                    (2048, {"global": 1000, "shared": 1200, "constant": 5000}),
                    (1024, {"global": 1000, "shared": 1200, "constant": 5000}),
                ],
                "with larger, or smaller tables alone",
            ),
            (  # of constant nothing is known
                [
                    (2048, {"global": 1000, "shared": 1200}),
                    (8192, {"global": 1000, "shared": 1200}),
                ],
                "was not measured near",
            ),
            ([(1 << 20, {"global": 1000, "texture": 1200})], "no measured lookups are near"),
        ):
            advice = self.advise("--table-bytes", "4096", *SMALL, self.measured(*rows))
            self.assertIn(why, advice["why"] or "")
            self.assertEqual((advice["answer"], advice["choice"]), ([], None))
            self.assertEqual({space["standing"] for space in advice["ranking"]}, {"not known"})

    def test_a_launch_with_another_number_of_warps_is_another(self):
        """A lookup that was measured with 64 warps an SM alone says nothing of a launch with as
        many as fit, and lookups of another GPU say nothing of this one."""
        advice = self.advise("--table-bytes", "16384", "--block-size", "128", "--card", "h200")
        self.assertEqual(advice["near"], [])
        file = self.measured((2048, {"global": 1000, "constant": 1100}))
        done = cbank("advise", "--table-bytes", "4096", *SMALL, "--card", "a100", file)
        self.assertEqual(done.returncode, 2)
        self.assertIn("has lookups of H200, and the card is that of A100", done.stderr)

    def test_committed_lookups_answer_by_name(self):
        """A lookup that was measured is answered by its own times."""
        path = os.path.join(ROOT, "results/h200/sweeps/large.json")
        times = {
            cell["path"]: cell["time_ns"]["value"]
            for cell in read_json(path)["cells"]
            if cell["identity"].endswith(
                "/random/1048576/256/hot/table_bytes=262144/loads=4/in_flight=1"
            )
        }
        advice = self.advise("--table-bytes", "262144", "--card", "h200")
        (near,) = advice["near"]
        self.assertEqual((near["file"], near["distance"]), ("results/h200/sweeps/large.json", 0))
        self.assertEqual(advice["answer"][0], min(times, key=times.get))
        for space in advice["ranking"]:
            if space["path"] in times:
                self.assertAlmostEqual(
                    space["near"]["mean"],
                    times[space["path"]] / min(times.values()),
                    delta=1e-4,
                )

    def test_counts_are_those_of_the_indices(self):
        """Every warp reads 32 addresses of the first 128 bytes in one load, and one in the
        other."""
        path = self.path("indices.npy")
        write_npy(path, [[thread % 32 for thread in range(ELEMENTS)], [5] * ELEMENTS])
        advice = self.advise("--table-bytes", "1024", "--indices", path)
        self.assertEqual(
            advice["counts"],
            {
                "addresses_per_load": 16.5,
                "lines_per_load": 1.5,
                "sectors_per_load": 2.5,
                "wavefronts_per_load": 1,
                "footprint_bytes": 128,
            },
        )
        requests = {space["path"]: space["requests_per_load"] for space in advice["ranking"]}
        self.assertEqual(
            (requests["constant"], requests["global_l2"], requests["shared"]),
            (16.5, 2.5, 1),
        )
        self.assertIn(
            (
                "distinct addresses 16.5; lines of 64 bytes 1.5; sectors of 32 2.5; wavefronts of"
                " shared memory 1."
            ),
            " ".join(cbank("advise", "--table-bytes", "1024", "--indices", path).stdout.split()),
        )
        self.assertEqual(
            (advice["configuration"]["elements"], advice["configuration"]["loads"]),
            (ELEMENTS, 2),
        )
        write_npy(path, [[0] * 100, [300] + [0] * 99])
        self.refused(
            "--table-bytes",
            "1024",
            "--indices",
            path,
            saying=["index 300", "[1][0]", "256 entries"],
        )
        self.advise("--table-bytes", "2048", "--indices", path, "--elements", "100")

    def test_the_document_follows_the_schema(self):
        schema = read_json(os.path.join(ROOT, "results/advice.schema.json"))
        every = {
            path["name"]
            for path in json.loads(cbank("list", "--json").stdout)["paths"]
            if path["loads"]
        }
        file = self.path("advice.json")
        for words in (
            ("4096",),
            ("65536", "--pattern", "distinct", "--distinct", "4"),
            ("64", "--width-bytes", "16"),
        ):
            done = cbank("advise", "--table-bytes", *words, *SMALL, "--json", file)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn(
                "nothing was measured here; busy times are by the card of H200", done.stdout
            )
            advice = read_json(file)
            jsonschema.validate(advice, schema)
            self.assertEqual(
                sorted(space["path"] for space in advice["ranking"] + advice["excluded"]),
                sorted(every),
            )

    def test_the_command_that_measures_runs(self):
        """It names all paths that may be the best, and the lookups as they were asked for."""
        for options in (
            ("--source", "zipf", *SMALL),
            ("--source", "lockstep", *SMALL),
            ("--cache-state", "cold", *SMALL),
            ("--polluter-bytes", "65536", *SMALL),
            ("--table-count", "2", *SMALL),
            ("--indices", "plain.npy"),
            ("--indices", "it's $HOME.npy"),
        ):
            if options[0] == "--indices":
                options = ("--indices", self.path(options[1]))
                write_npy(options[1], [[0] * 64])
            advice = self.advise("--table-bytes", "512", "--width-bytes", "8", *options)
            words = shlex.split(advice["measure"])
            self.assertEqual(
                (words[:2], words[words.index(options[0]) + 1]),
                (["cbank", "run"], options[1]),
            )
            self.assertEqual(
                set(self.modelled(*words[2:])),
                {space["path"] for space in advice["ranking"] if space["standing"] != "slower"},
            )

    def test_a_table_above_64_KB(self):
        """The limit of the constant bank comes first, also where several tables exceed it
        together."""
        for words, total in (
            (("65808",), 65808),
            (("65536",), None),
            (("32772", "--table-count", "2"), 65544),
        ):
            done = cbank("advise", "--table-bytes", *words, *SMALL)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(
                done.stdout.startswith(f"No constant bank holds {total} bytes: it has 65536"),
                total is not None,
            )
            self.assertEqual("No constant bank" in done.stdout, total is not None)

    def test_bad_input(self):
        self.refused(saying=["--table-bytes"])
        for words, reason in (
            (
                ("64", "--loads", "1", "--in-flight", "2"),
                "--in-flight must divide --loads, and 2 does not divide 1",
            ),
            (
                ("64", "--polluter-bytes", "4096", "--in-flight", "2", "--loads", "2"),
                "with one lookup in flight alone",
            ),
            (
                ("64", "--elements", "2147483648"),
                "lookup has 1073741824 indices at most",
            ),
            (
                ("64", "--source", "distinct", "--distinct", "17"),
                "the table has 16 entries",
            ),
            (
                ("134217728", "--table-count", "2"),
                "holds tables of 134217728 bytes together at most",
            ),
            (("100", "--width-bytes", "8"), "no whole number of elements of 8"),
            (
                ("96", "--pattern", "per_warp"),
                "a pattern's table are a power of two; lookups by --source or",
            ),
        ):
            with self.subTest(reason):
                self.refused(
                    "--table-bytes",
                    *words,
                    saying=["no path can make these lookups: ", reason],
                )
        self.refused(
            "--table-bytes",
            "64",
            "--card",
            self.path("none.json"),
            saying=["none.json"],
        )
        self.refused(
            "--table-bytes",
            "64",
            "--indices",
            self.path("none.npy"),
            saying=["none.npy"],
        )
        for options in (
            ("--elements", "64,128"),
            ("--source", "zipf,random"),
            ("--loads", "1,2"),
            ("--cache-state", "all"),
        ):
            self.refused(
                "--table-bytes",
                "64",
                *options,
                saying=["advice is of one configuration"],
            )


class SeveralTables(Scratch):
    """--tables, against all assignments tried here."""

    ROOM = {"constant": 65536, "shared": 49152, "param": 32640, "elsewhere": 1 << 40}

    def solved(self, *tables, options=()):
        done = cbank("advise", "--tables", ",".join(tables), "--json", "-", *SMALL, *options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        answer = json.loads(done.stdout)
        jsonschema.validate(answer, read_json(os.path.join(ROOT, "results/tables.schema.json")))
        return answer

    def taken(self, answer, places):
        """The copies and the longest of the sums over tables of each unit; the copies and all
        units. None: they do not fit."""
        tables = answer["tables"]
        for place, room in self.ROOM.items():
            if sum(table["table_bytes"] for table, at in zip(tables, places) if at == place) > room:
                return None
        if any(at not in table["busy_ns"] for table, at in zip(tables, places)):
            return None
        shared, elsewhere = (
            [table for table, at in zip(tables, places) if at == which]
            for which in ("shared", "elsewhere")
        )
        step = answer["shared"][-(-sum(table["table_bytes"] for table in shared) // 1024)]
        copies = step["waves"] * sum(table["copy_ns"] for table in shared)
        units = {
            unit: sum(table["busy_ns"][at][unit] for table, at in zip(tables, places))
            for unit in tables[0]["busy_ns"]["elsewhere"]
        }
        if elsewhere:
            bytes_there = sum(table["table_bytes"] for table in elsewhere)
            missed, before = (
                max(1 - of["l1_bytes"] / bytes_there, 0) for of in (step, answer["shared"][0])
            )
            units["L2"] += (missed - before) * sum(table["l2_ns"] for table in elsewhere)
        return copies + max(units.values()), copies + sum(units.values())

    def test_no_assignment_is_better(self):
        chance = random.Random(37)
        for _ in range(12):
            spec = [
                f"t{i}:{chance.choice((64, 1024, 2048, 16384, 30000, 40000, 65536, 131072))}:"
                f"{chance.choice((1, 4, 8, 16))}:"
                f"{chance.randint(1, 90)}:{chance.choice(('random', 'lockstep', 'zipf', 'runs'))}"
                for i in range(chance.randint(1, 5))
            ] + ["last:512:4:9"]
            with self.subTest(spec):
                answer = self.solved(*spec)
                tables = answer["tables"]
                chosen = [table["chosen"].removesuffix("_large") for table in tables]
                places = [place if place in self.ROOM else "elsewhere" for place in chosen]
                time, total = self.taken(answer, places)
                tried = [
                    self.taken(answer, tried)
                    for tried in itertools.product(self.ROOM, repeat=len(tables))
                ]
                tried = [taken for taken in tried if taken is not None]
                self.assertAlmostEqual(time, answer["time_ns"])
                self.assertLessEqual(time, 1.01 * min(tried)[0] + 1e-6)
                self.assertAlmostEqual(
                    total,
                    min(other for longest, other in tried if longest <= 1.01 * min(tried)[0]),
                )
                for place in ("constant", "shared", "param"):
                    self.assertEqual(
                        answer[f"{place}_bytes"],
                        sum(
                            table["table_bytes"] for table, at in zip(tables, places) if at == place
                        ),
                    )

    def test_constants_go_to_the_table_that_warps_read_together(self):
        """A warp has one address in the first table, up to 32 in the second. Constant memory has
        room for one."""
        for reads in (1, 1000):
            answer = self.solved(f"together:40000:4:{reads}:lockstep", "apart:40000:4:100:random")
            self.assertNotEqual(answer["tables"][1]["chosen"], "constant")
        cell = self.solved("together:512:4:1:lockstep", "apart:512:4:1:random")["tables"]
        # One address a load, and of 32 draws from 128 entries so many distinct ones in the mean.
        ratio = (
            cell[1]["busy_ns"]["constant"]["constant cache"]
            / cell[0]["busy_ns"]["constant"]["constant cache"]
        )
        self.assertAlmostEqual(ratio, 128 * (1 - (127 / 128) ** 32), delta=0.3)

    def test_copies_to_shared_memory_count(self):
        """10,000 words by 256 threads, four at a time, each time waiting for L2. An SM has 228
        KB for 8 blocks: where a block has more than 27 KB (and 1 KB of the system's), the grid
        takes two waves. A small table is worth its copy."""
        card = read_json(os.path.join(ROOT, "results/cards/h200.json"))["model"]
        spec, grid = ("a:40000:4:1", "b:1024:4:1"), (
            "--card",
            "h200",
            "--elements",
            "1048576",
            "--block-size",
            "256",
        )
        answer = self.solved(*spec, options=grid)
        self.assertAlmostEqual(
            answer["tables"][0]["copy_ns"],
            10 * card["l2_latency_cycles"]["value"] / card["sm_clock_mhz"]["value"] * 1000,
        )
        self.assertEqual([step["waves"] for step in answer["shared"]], [1] * 28 + [2] * 21)
        self.assertNotEqual(answer["tables"][0]["chosen"], "shared")
        small = self.solved("a:16384:4:8", options=grid)
        self.assertEqual(
            (small["tables"][0]["chosen"], small["copy_ns"]),
            ("shared", small["tables"][0]["copy_ns"]),
        )

    def test_shared_memory_is_taken_from_l1(self):
        """Five blocks with 43 KB, and 1 KB of the system's, leave 8 KB of 228 to L1: the lookups
        of another table miss it."""
        grid = ("--card", "h200", "--elements", "1048576", "--block-size", "256")
        answer = self.solved(
            "few:256:4:1:lockstep",
            "shared:44000:4:4",
            "elsewhere:32768:4:3",
            options=grid,
        )
        self.assertEqual(
            [answer["shared"][at]["l1_bytes"] for at in (0, 43)], [228 * 1024, 8 * 1024]
        )
        self.assertNotEqual(answer["tables"][1]["chosen"], "shared")

    def test_text(self):
        done = cbank("advise", "--tables", "a:40000:4:5:lockstep,b:65536:4:9", *SMALL)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for words in (
            "constant memory: 40000 of 65536 bytes",
            "with copies to shared memory, ",
            "All assignments were tried",
        ):
            self.assertIn(words, " ".join(done.stdout.split()))

    def test_what_is_no_table(self):
        for spec, saying in (
            ("a:16", "'a:16' is no NAME:BYTES"),
            ("a:16:4:1,", "'' is no NAME"),
            ("a:16:3:1", "'a:16:3:1' is no"),
            ("a:16:4:0", "is no NAME"),
            ("a:16:4:1:random:", "is no NAME"),
            ("a:16:4:1:none", "unknown source 'none'"),
            ("a:16:4:1,a:16:4:1", "two tables are called a"),
            ("a:18:4:1", "no whole number"),
            ("a:131072:4:1,b:262144:4:1", "no constant bank holds any"),
            (",".join(f"t{i}:16:4:1" for i in range(11)), "10 tables at most"),
        ):
            done = cbank("advise", "--tables", spec, *SMALL)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(saying, done.stderr)
        done = cbank("advise", "--tables", "a:16:4:1", "--table-bytes", "16")
        self.assertIn("leave out", done.stderr)


class Write(Scratch):
    """Kernel files of advice. (options, loads of a table in the kernel's loop, what the file
    says)"""

    CASES = (
        (
            ("--width-bytes", "16", "--source", "zipf", "--skew-percent", "150"),
            2,
            [
                "CBANK_TABLE(table_a, uint4, entry_count,",
                "entry_count = 256,",
                "CBANK_CASE(lookup, 16384)",
                "skew_percent = 150;",
                "<<stride",
            ],
        ),
        (
            ("--table-count", "3", "--loads", "8", "--polluter-bytes", "4096"),
            3,
            [
                "CBANK_TABLE(table_c, unsigned, entry_count, global);",
                "if (load + 2 < loads)",
                "other_count = 1024",
                "<<stride",
            ],
        ),
        (
            (
                "--thread-elements",
                "1",
                "--loads",
                "8",
                "--in-flight",
                "4",
                "--source",
                "sorted",
            ),
            4,
            [
                "(elements + 255) / 256, 256, 0)",
                "(at % elements * entry_count",
                "#pragma unroll 4",
            ],
        ),
        (
            (
                "--thread-elements",
                "3",
                "--width-bytes",
                "1",
                "--source",
                "runs",
                "--extra-shared-bytes",
                "2048",
            ),
            1,
            [
                "unsigned char, entry_count,",
                "(elements + 767) / 768, 256, 2048)",
                "run_threads = 8;",
                "<<stride",
            ],
        ),
        (
            ("--indices", "it's 8.npy"),
            1,
            ["const unsigned *index", "it's 8.npy\"}", "<<stride"],
        ),
    )

    def write(self, *options, name="mine.cu"):
        path = self.path(name)
        size = () if "--table-bytes" in options else ("--table-bytes", "4096")
        done = cbank("advise", *size, *options, "--write", path)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(done.stdout.endswith(f"\n    cbank spaces {path}\n"))
        with open(path, encoding="utf-8") as file:
            return path, file.read()

    def cases(self):
        for number, (options, loads, said) in enumerate(self.CASES):
            if options[0] == "--indices":
                options = ("--indices", self.path(options[1]))
                write_npy(options[1], [[thread % 8 for thread in range(64)]] * 2)
            else:
                options = (*options, *SMALL)
            yield loads, said, *self.write(*options, name=f"{number}.cu")

    def test_the_file_says_what_was_asked_for(self):
        for _, said, _, text in self.cases():
            for words in said:
                self.assertIn(
                    "i += gridDim.x * blockDim.x" if words == "<<stride" else words,
                    text,
                )
            self.assertNotRegex(text, r"[$?]\w|^\*")

    def test_the_file_compiles(self):
        """The kernel's loop has the loads of each table, one for each lookup that is in flight."""
        if not nvcc():
            self.skipTest("no nvcc")
        for loads, _, path, text in self.cases():
            tables = "".join(f"#define CBANK_SPACE_table_{letter} ,constant\n" for letter in "abc")
            with open(self.path("whole.cu"), "w", encoding="utf-8") as file:
                file.write(f'{tables}#include "{path}"\n')
            subprocess.run(
                [
                    nvcc(),
                    "-DCBANK_MEASURE",
                    "-std=c++17",
                    "-cubin",
                    "-arch=sm_90",
                    "-Ikernels",
                    "-Werror",
                    "all-warnings",
                    "-o",
                    self.path("whole.cubin"),
                    self.path("whole.cu"),
                ],
                check=True,
                capture_output=True,
                cwd=ROOT,
            )
            done = cbank(
                "advise",
                "--table-bytes",
                "64",
                *SMALL,
                "--kernel",
                self.path("whole.cubin"),
                "--json",
                "-",
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            (kernel,) = [
                kernel
                for kernel in json.loads(done.stdout)["code"]["kernels"]
                if kernel["name"] != "cbank_case_call"
            ]
            self.assertEqual(
                sum(
                    row["in_loops"]
                    for row in kernel["kinds"]
                    if row["load"].endswith("c[3][register]")
                ),
                loads,
                text,
            )

    def test_the_check_holds(self):
        """On the simulated GPU, where the loads of two tables are in turn, and indices are of a
        file."""
        if not os.path.exists(SIMULATED):
            self.skipTest("no simulated GPU")
        indices = self.path("indices.npy")
        write_npy(
            indices,
            [[(7 * thread + load) % 16 for thread in range(100)] for load in range(3)],
        )
        path, _ = self.write(
            "--table-bytes",
            "64",
            "--indices",
            indices,
            "--thread-elements",
            "1",
            "--polluter-bytes",
            "4096",
        )
        for file, spaces in (
            (path, "constant,select"),
            (
                self.write(
                    "--table-bytes",
                    "64",
                    "--table-count",
                    "2",
                    "--loads",
                    "3",
                    "--elements",
                    "512",
                    "--source",
                    "zipf",
                    name="two.cu",
                )[0],
                "shared",
            ),
        ):
            result = self.path("result.json")
            done = subprocess.run(
                [
                    SIMULATED,
                    "run",
                    "--kernel",
                    file,
                    "--space",
                    spaces,
                    "--max-samples",
                    "10",
                    "--counters",
                    "none",
                    "--quiet",
                    "--json",
                    result,
                ],
                capture_output=True,
                text=True,
                check=False,
                timeout=120,
                env={
                    **os.environ,
                    "CBANK_NVCC": os.path.join(ROOT, "tests/simulated/compiler/nvcc"),
                },
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            cells = read_json(result)["cells"]
            self.assertEqual(
                [(cell["status"], cell["verified"]) for cell in cells],
                [("ok", True)] * len(spaces.split(",")),
            )

    def test_what_is_not_written(self):
        path, text = self.write(*SMALL)
        self.assertEqual(
            text.replace(path, "-"),
            cbank("advise", "--table-bytes", "4096", *SMALL, "--write", "-").stdout,
        )
        for words, said in (
            (("--write", path), [path, "is there already"]),
            (("--write", self.path("none/a.cu")), ["none/a.cu"]),
            (
                ("--pattern", "per_warp", "--write", self.path("b.cu")),
                ["--source random", "--indices"],
            ),
            (
                (
                    "--source",
                    "distinct",
                    "--distinct",
                    "2",
                    "--write",
                    self.path("b.cu"),
                ),
                ["--source random"],
            ),
        ):
            done = cbank("advise", "--table-bytes", "4096", *SMALL, *words)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1))
            for word in said:
                self.assertIn(word, done.stderr)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), text)
        long = os.path.join(self.path("n" * 200), "n" * 100 + ".npy")
        os.mkdir(os.path.dirname(long))
        write_npy(long, [[0] * 64])
        done = cbank(
            "advise",
            "--table-bytes",
            "64",
            "--indices",
            long,
            "--write",
            self.path("c.cu"),
        )
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("255 bytes at most", done.stderr)


class Tables(Scratch):
    """Verdicts on the tables of kernels that are compiled here. A row: (kernel's body, memory of
    a table, verdict, better, distinct addresses of a warp's load)"""

    HEAD = """__constant__ float c[1024];
__constant__ int lut[256], r[215], far[9000], eight[8];
__constant__ float4 q[256];
#define KERNEL(name) extern "C" __global__ void name(const int *x, float *o, int n)
#define I (blockIdx.x * blockDim.x + threadIdx.x)
"""
    ROWS = {
        "together": (
            "float s = 0; for (int k = 0; k < n; k++) s += c[k] * x[I + k]; o[I] = s;",
            "constant",
            "as it should be",
            None,
            1,
        ),
        "of_block": ("o[I] = c[blockIdx.x];", "constant", "as it should be", None, 1),
        "of_argument": ("o[I] = c[n];", "constant", "as it should be", None, 1),
        "of_warp": (
            "o[I] = c[threadIdx.x / 32];",
            "constant",
            "as it should be",
            None,
            1,
        ),
        "shuffled": (
            "o[I] = c[__shfl_sync(~0u, x[I], 0)];",
            "constant",
            "as it should be",
            None,
            1,
        ),
        "own": ("o[I] = c[threadIdx.x];", "constant", "faster elsewhere", "global", 32),
        "uneven": (
            "o[I] = c[threadIdx.x & 5];",
            "constant",
            "faster elsewhere",
            "global",
            4,
        ),
        "fours": (
            "o[I] = c[threadIdx.x / 4];",
            "constant",
            "faster elsewhere",
            "global",
            8,
        ),
        "first_eight": (
            "if (threadIdx.x < 8) o[I] = eight[threadIdx.x];",
            "constant",
            "faster elsewhere",
            "global",
            8,
        ),
        "far_away": ("o[I] = far[8999];", "constant", "as it should be", None, 1),
        "byte": (
            (
                'float s = 0; _Pragma("unroll 1") for (unsigned char k = 0; k < n; k++) s = s *'
                " x[I] + c[k & 31]; o[I] = s;"
            ),
            "constant",
            "as it should be",
            None,
            1,
        ),
        "staged_in_part": (
            (
                "__shared__ float t[1024]; t[threadIdx.x] = c[threadIdx.x * n >> 3 & 1023];"
                " __syncthreads(); o[I] = t[n];"
            ),
            "constant",
            "as it should be",
            None,
            None,
        ),
        "least": (
            "o[I] = c[min(min(x[0], x[1]), x[2])];",
            "constant",
            "as it should be",
            None,
            1,
        ),
        "packed": (
            'int v; asm("cvt.rni.sat.u8.f32 %0, %1;" : "=r"(v) : "f"(x[0] * 0.5f)); o[I] = c[v];',
            "constant",
            "as it should be",
            None,
            1,
        ),
        "data": ("o[I] = lut[x[I]];", "constant", "cannot tell", None, None),
        "of_arguments": (
            "o[I] = c[threadIdx.x >> (n & 7)];",
            "constant",
            "cannot tell",
            None,
            None,
        ),
        "copied": (
            (
                "__shared__ int t[256]; t[threadIdx.x] = lut[0]; __syncthreads(); o[I] = t[x[I] &"
                " 255];"
            ),
            "shared",
            "cannot tell",
            None,
            None,
        ),
        "staged": (
            (
                "__shared__ float t[1024]; t[threadIdx.x] = c[threadIdx.x]; __syncthreads(); o[I] ="
                " t[n];"
            ),
            "constant",
            "as it should be",
            None,
            32,
        ),
        "staged_and_read": (
            (
                "__shared__ float t[1024]; for (int k = threadIdx.x; k < 1024; k += 64) t[k] ="
                " c[k]; __syncthreads(); o[I] = t[n] + c[threadIdx.x / 4];"
            ),
            "constant",
            "faster elsewhere",
            "shared",
            8,
        ),
        "kept": (
            (
                "__shared__ float t[1024]; t[threadIdx.x] = c[threadIdx.x] * c[5]; __syncthreads();"
                " o[I] = t[n];"
            ),
            "constant",
            "faster elsewhere",
            "global",
            16.5,
        ),
        "column": (
            (
                "__shared__ int t[1024]; t[threadIdx.x] = n; __syncthreads(); o[I] = t[threadIdx.x"
                " * 32];"
            ),
            "shared",
            "bank conflicts",
            None,
            32,
        ),
        "row": (
            (
                "__shared__ int t[1024]; t[threadIdx.x] = n; __syncthreads(); o[I] = t[255 -"
                " threadIdx.x];"
            ),
            "shared",
            "as it should be",
            None,
            32,
        ),
        "even": (
            (
                "__shared__ int t[1024]; t[threadIdx.x] = n; __syncthreads(); o[I] = t[threadIdx.x"
                " * 2];"
            ),
            "shared",
            "bank conflicts",
            None,
            32,
        ),
        "skewed": (
            (
                "__shared__ int t[1024]; t[threadIdx.x] = n; __syncthreads(); o[I] = t[(threadIdx.x"
                " & 3) * 32 + threadIdx.x / 16];"
            ),
            "shared",
            "bank conflicts",
            None,
            8,
        ),
        "wide": (
            (
                "__shared__ int4 t[256]; t[threadIdx.x].y = n; __syncthreads(); int4 v = t[255 -"
                " threadIdx.x]; o[I] = v.x ^ v.y ^ v.z ^ v.w;"
            ),
            "shared",
            "as it should be",
            None,
            32,
        ),
        "quads": (
            "float4 v = q[threadIdx.x]; o[I] = v.x + v.y * v.z - v.w;",
            "constant",
            "faster elsewhere",
            "global",
            32,
        ),
        "halves": (
            "float4 v = q[threadIdx.x]; o[I] = v.x + v.y;",
            "constant",
            "faster elsewhere",
            "global",
            32,
        ),
        "rest": (
            "uint2 v = ((const uint2 *)r)[x[0]]; o[I] = v.x + v.y;",
            "constant",
            "as it should be",
            None,
            1,
        ),
        "streamed": ("o[I] = x[I];", "global", "as it should be", None, 32),
        "indexed": (
            (
                "int t[64]; for (int k = 0; k < n; k++) t[x[k] & 63] = x[k + 9]; o[I] = t[x[I + n]"
                " & 63];"
            ),
            "local",
            "cannot tell",
            None,
            None,
        ),
        "made_once": (
            (
                'int t[32], s = 0; _Pragma("unroll") for (int k = 0; k < 32; k++) t[k] = x[k] ^ n;'
                " for (int k = 0; k < n; k++) s = s * 5 + t[x[I + k] & 31]; o[I] = s;"
            ),
            "local",
            "cannot tell",
            None,
            None,
        ),
    }
    IMAGES = {
        "image": "o[I] = tex2D<float>(n, c[x[0]], x[I]);",
        "layered": "o[I] = tex2DLayered<float>(n, x[I], x[I + 1], 1);",
        "volume": "o[I] = tex3D<float>(n, 1, 2, x[I]);",
        "filtered": "o[I] = tex1D<float>(n, x[I]);",
        "whole_numbers": (
            'asm volatile("tex.2d.v4.f32.s32 {%0,%0,%0,%0},[%1,{%2,%3}];" : "=f"(o[I]) : "l"((long'
            ' long)n), "r"(3), "r"(x[I]));'
        ),
    }
    WAVEFRONTS = {
        "column": 32,
        "even": 2,
        "row": 1,
        "wide": 4,
        "own": 1,
        "uneven": 1,
        "fours": 1,
        "first_eight": 1,
        "skewed": 4,
        "quads": 2,
        "halves": 4,
    }

    def setUp(self):
        super().setUp()
        if not nvcc():
            self.skipTest("no nvcc")

    def compile(self, *names, rows=None, source=None, architecture=90, lines=True):
        """lines: with the PTX in the file, which names tables."""
        rows = rows or {name: self.ROWS[name] for name in names}
        with open(self.path("tables.cu"), "w", encoding="utf-8") as file:
            file.write(
                self.HEAD
                + "".join(f"KERNEL({name}) {{ {row[0]} }}\n" for name, row in rows.items())
            )
        subprocess.run(
            [
                nvcc(),
                "-cubin",
                *(("-lineinfo",) if lines else ()),
                f"-arch=sm_{architecture}",
                "-o",
                self.path("tables.cubin"),
                source or self.path("tables.cu"),
            ],
            check=True,
            capture_output=True,
        )
        return "advise", *SMALL, "--kernel", self.path("tables.cubin")

    def tables(self, command, *words, status=0):
        """{kernel: {memory: table}}; a table that has a name comes before others."""
        done = cbank(*command, *words, "--json", "-")
        self.assertEqual((done.returncode, done.stderr), (status, ""))
        advice = json.loads(done.stdout)
        jsonschema.validate(advice, read_json(os.path.join(ROOT, "results/advice.schema.json")))
        for kernel in advice["code"]["kernels"]:
            for load in kernel["loads"]:
                self.assertEqual(load["evidence"][0].split(":")[0], hex(load["address"]))
        return {
            kernel["name"]: {
                table["memory"]: table
                for table in sorted(kernel["tables"], key=lambda table: bool(table["table"]))
            }
            for kernel in advice["code"]["kernels"]
        }

    def test_tables_of_the_library_are_named_and_not_judged(self):
        self.compile(rows={"sine": ("o[I] = (int)(1e9 * sin((double)x[I]));",)})
        command = "advise", "--kernel", self.path("tables.cubin")
        self.assertEqual(set(self.tables(command)["sine"]), {"global", "local"})
        self.assertEqual(self.tables(command)["sine"]["global"]["table"], "parameter 0")
        self.assertIn("__cudart_sin_cos_coeffs", cbank(*command).stdout)

    def test_without_lines_nothing_says_which_table_data_index(self):
        """The number beside the index may be that of another table."""
        table = self.tables(self.compile("data"), "--source", "random")["data"]["constant"]
        self.assertEqual((table["table"], table["table_bytes"]), ("lut", 1024))
        done = cbank(*self.compile("data", lines=False), "--source", "random")
        self.assertEqual(done.returncode, 2)
        self.assertIn("name the size of the table: --table-bytes BYTES", done.stderr)

    def test_verdicts(self):
        tables = self.tables(self.compile(*self.ROWS))
        for name, (_, memory, verdict, better, addresses) in self.ROWS.items():
            with self.subTest(name):
                table = tables[name][memory]
                self.assertEqual(
                    (table["verdict"], table["better"], table["addresses"]),
                    (verdict, better, addresses),
                )
                self.assertEqual(
                    table["wavefronts"], self.WAVEFRONTS.get(name, table["wavefronts"])
                )
                self.assertFalse(table["assumed"])
        self.assertEqual(
            {
                (name, table["table"], table["table_bytes"])
                for name, of in tables.items()
                for memory, table in of.items()
                if memory == "constant" and name not in ("copied", "quads", "halves", "rest")
            },
            {
                ("data", "lut", 1024),
                ("first_eight", "eight", 32),
                ("far_away", "far", 36000),
                *(
                    (name, "c", 4096)
                    for name, row in self.ROWS.items()
                    if row[1] == "constant"
                    and name
                    not in (
                        "data",
                        "first_eight",
                        "far_away",
                        "quads",
                        "halves",
                        "rest",
                    )
                ),
            },
        )
        # There, c[5] is an operand of the product that is stored.
        self.assertEqual(
            self.tables(self.compile("kept", architecture=80))["kept"]["constant"]["addresses"],
            16.5,
        )
        chains = {
            kernel["name"]: [step.split(":")[1] for step in kernel["loads"][0]["evidence"]]
            for kernel in json.loads(
                cbank(*self.compile("own", "of_argument"), "--json", "-").stdout
            )["code"]["kernels"]
        }
        self.assertEqual(chains["own"][:: len(chains["own"]) - 1], ["LDC", "S2R"])
        self.assertEqual(chains["of_argument"][0], "LDC")
        # By the card: the cycles of an address in the constant cache, over those of a load from
        # global memory: one request, or its wavefronts.
        card = read_json(os.path.join(ROOT, "results/cards/h200.json"))["model"]
        number = {key: row["value"] for key, row in card.items()}
        request = 1 / number["l1_requests_per_cycle"]
        for name, addresses, wavefronts in (
            ("own", 32, 1),
            ("fours", 8, 1),
            ("quads", 32, 2),
            ("halves", 32, 4),
        ):
            self.assertAlmostEqual(
                tables[name]["constant"]["unit_time_ratio"],
                addresses
                * number["constant_address_cycles"]
                / max(request, wavefronts / number["shared_wavefronts_per_cycle"]),
                places=6,
            )
        # In text, where another memory would be faster alone.
        said = cbank(*self.compile("own", "of_block")).stdout
        self.assertEqual(
            re.findall(r"(?m)^  c \(constant.* unit time (\S+)x \(", said),
            [f"{tables['own']['constant']['unit_time_ratio']:.2f}"],
            said,
        )
        # The tables are larger than the L1 constant cache: misses come on top.
        self.assertIsNone(tables["own"]["constant"]["high"])
        self.assertAlmostEqual(
            tables["own"]["constant"]["low"] * 1.25,
            32 * card["constant_address_cycles"]["low"] * card["l1_requests_per_cycle"]["low"],
            places=6,
        )

    def test_code_without_lookups_to_rank(self):
        """Code is read where no __constant__ table has a size to rank lookups of."""
        command = ("advise", "--kernel", self.compile("streamed", "row")[-1])
        self.assertEqual(sorted(self.tables(command)), ["row", "streamed"])
        self.assertTrue(
            cbank(*command, "--json", self.path("advice.json")).stdout.startswith("code: ")
        )
        advice = read_json(self.path("advice.json"))
        self.assertEqual(
            [advice[key] for key in ("configuration", "counts", "ranking", "measure")],
            [None, None, [], None],
        )
        said = cbank("show", self.path("advice.json")).stdout
        self.assertRegex(said, r"code.kernels\nkernel +tables +loads\n\w+")
        self.assertNotIn("ranking", said)
        for words in (("--source", "random"), ("--loads", "2"), ("--elements", "64")):
            done = cbank(*command, *words)
            self.assertEqual(
                (done.returncode, "name the size of the table" in done.stderr),
                (2, True),
            )

    def test_images_are_no_tables(self):
        """Nothing is proven about an image by its first coordinate, which is the same in all
        threads in three kernels."""
        rows = {name: (body, "image", "no table", None, None) for name, body in self.IMAGES.items()}
        rows["fetched"] = (
            "o[I] = tex1Dfetch<float>(n, x[I]);",
            "texture",
            "cannot tell",
            None,
            None,
        )
        rows["fetched_together"] = (
            "o[I] = tex1Dfetch<float>(n, x[0] * 0 + n);",
            "texture",
            "as it should be",
            None,
            1,
        )
        for architecture in (75, 90, 120):
            tables = self.tables(
                self.compile(rows=rows, architecture=architecture),
                "--table-bytes",
                "1024",
            )
            for name, (_, memory, verdict, _, addresses) in rows.items():
                with self.subTest(name, architecture=architecture):
                    self.assertEqual(
                        (
                            tables[name][memory]["verdict"],
                            tables[name][memory]["addresses"],
                        ),
                        (verdict, addresses),
                    )

    def test_kernels_of_the_shape_of_samples(self):
        """Six of NVIDIA's samples have tables and images of these shapes; none of them reads a
        table in a better place."""
        where = {
            "binomial": "constant",
            "quasirandom": "constant",
            "large": "param",
            "convolution": "constant",
            "bilateral": "constant",
            "volume": "constant",
        }
        for architecture in (75, 90, 120):
            tables = self.tables(
                self.compile(
                    source=os.path.join(ROOT, "tests/data/samples.cu"),
                    architecture=architecture,
                )
            )
            self.assertEqual(sorted(tables), sorted(where))
            for name, memory in where.items():
                with self.subTest(name, architecture=architecture):
                    self.assertEqual(
                        (
                            tables[name][memory]["verdict"],
                            tables[name][memory]["addresses"],
                        ),
                        ("as it should be", 1),
                    )
                    self.assertEqual(
                        {table["verdict"] for table in tables[name].values()}
                        - {"as it should be", "no table"},
                        set(),
                    )
            self.assertEqual(
                {name for name, of in tables.items() if "image" in of},
                {"convolution", "bilateral", "volume"},
            )

    def test_blocks_of_two_dimensions(self):
        """Rows are whole warps under a condition that is said; the shape decides it."""
        rows = {
            "by_row": (
                "o[(I * blockDim.y + threadIdx.y)] = c[threadIdx.y];",
                "constant",
                None,
                None,
                None,
            ),
            "by_column": (
                "o[(I * blockDim.y + threadIdx.y)] = c[threadIdx.x];",
                "constant",
                None,
                None,
                None,
            ),
        }
        command = self.compile(rows=rows)
        for words, by_row, by_column, condition in (
            ((), 1, 32, "if blockDim.x is a multiple of 32; --block-dim decides it"),
            (("--block-dim", "8,8"), 4, 8, None),
            (("--block-dim", "16,4,2"), 2, 16, None),
            (("--block-dim", "64,2"), 1, 32, None),
            (("--block-dim", "10,7"), None, None, None),
        ):
            with self.subTest(words):
                tables = self.tables(command, *words)
                self.assertEqual(
                    [
                        (
                            tables[name]["constant"]["addresses"],
                            tables[name]["constant"]["condition"],
                        )
                        for name in rows
                    ],
                    [(by_row, condition), (by_column, condition)],
                )
        said = cbank(*command).stdout
        self.assertEqual(said.count("if blockDim.x is a multiple of 32"), 1)
        self.assertIn("\n* if blockDim.x is a multiple of 32", said)
        self.assertEqual(said.count(" *\n"), 2, said)  # the tables of both kernels
        self.assertIn(
            "--kernel",
            cbank("advise", "--table-bytes", "64", "--block-dim", "8").stderr,
        )
        for wrong in ("8,8,32", "8,", "a", "0,4", "1,2,3,4", "2048"):
            done = cbank(*command, "--block-dim", wrong)
            self.assertEqual((done.returncode, done.stdout), (2, ""), wrong)
            self.assertIn(f"--block-dim {wrong}: a block has one to three dimensions", done.stderr)

    def test_the_users_indices_stand_for_data_alone(self):
        command = self.compile("data", "own", "of_block", "of_arguments")
        indices = self.path("indices.npy")
        write_npy(indices, [[thread % 4 for thread in range(64)]])
        tables = self.tables(
            ("advise", "--kernel", command[-1]),
            "--table-bytes",
            "1024",
            "--indices",
            indices,
        )
        self.assertEqual(
            [
                (
                    tables[name]["constant"]["addresses"],
                    tables[name]["constant"]["assumed"],
                )
                for name in ("data", "own", "of_block")
            ],
            [(4, True), (32, False), (1, False)],
        )
        # Arguments decide: a formula or a file stands for them, and a source of random indices does
        # not.
        for words, assumed in (
            (("--indices", indices), True),
            (("--pattern", "per_thread", "--elements", "64"), True),
            (("--source", "random"), False),
        ):
            table = self.tables(
                ("advise", "--kernel", command[-1]), "--table-bytes", "4096", *words
            )["of_arguments"]["constant"]
            self.assertEqual(
                (table["variation"], table["assumed"], "--pattern" in table["why"]),
                ("thread", assumed, not assumed),
            )
        # They stand for each table by its own size: --table-bytes is that of tables whose size is
        # not known. One whose entries end before an index is not told.
        write_npy(self.path("far.npy"), [[300] * 64])
        for path, addresses, why in (
            (indices, 4, "by your indices, a load of a warp takes 4 addresses"),
            (self.path("far.npy"), None, "index 300"),
        ):
            table = self.tables(
                ("advise", "--kernel", command[-1]),
                "--table-bytes",
                "2048",
                "--indices",
                path,
            )["data"]["constant"]
            self.assertEqual(
                (table["addresses"], table["assumed"]),
                (addresses, addresses is not None),
            )
            self.assertIn(why, table["why"])

    def test_the_table_of_the_code_is_taken(self):
        # The largest of those whose index is not proven, where lookups are asked about.
        self.assertIn(
            "table: 1024 bytes, 256 entries of 4\n",
            cbank(*self.compile("data", "own")).stdout,
        )
        for name in ("data", "own"):
            said = cbank("advise", "--kernel", self.compile(name)[-1]).stdout
            self.assertTrue(said.startswith("code: "))
            self.assertNotIn("to the best", said)
        self.assertIn("table: 1024 bytes", cbank(*self.compile("data")).stdout)
        self.assertIn(
            "table: 512 bytes",
            cbank(*self.compile("data"), "--table-bytes", "512").stdout,
        )
        self.assertIn(
            "table: 856 bytes, 107 entries of 8\n",
            cbank(*self.compile("rest"), "--loads", "2").stdout,
        )
        # An index less 1 looks like the end of the table before; the number beside it says more.
        rows = {"own_less_one": ("o[I] = lut[threadIdx.x - 1];",)}
        tables = self.tables(self.compile(rows=rows))
        self.assertEqual(tables["own_less_one"]["constant"]["table"], "lut")
        # A pointer to an entry before a table may be one behind the table before, counted back.
        rows = {
            "less_one": ("o[I] = (lut - 1)[x[I]];",),
            "back_from_the_end": ("const float *end = c + 1024 - x[I]; o[I] = end[-1];",),
        }
        tables = self.tables(self.compile(rows=rows), "--table-bytes", "1024")
        self.assertIn(tables["less_one"]["constant"]["table"], (None, "lut"))
        self.assertIn(tables["back_from_the_end"]["constant"]["table"], (None, "c"))
        # What is added to an index may lie in another table.
        rows = {"below": ("o[I] = lut[x[I] - 40];",)}
        below = self.tables(self.compile(rows=rows), "--table-bytes", "1024")["below"]
        self.assertIn(below["constant"]["table"], (None, "lut"))
        self.assertIn(
            " c ",
            cbank(
                *self.compile(rows={"from_the_end": ("o[I] = c[1023 - threadIdx.x] + lut[n];",)})
            ).stdout,
        )
        self.HEAD = "__constant__ float c[64];\n#define" + self.HEAD.partition("#define")[2]
        self.assertEqual(
            self.tables(self.compile(rows={"less": ("o[I] = c[x[I] - 1];",)}))["less"]["constant"][
                "table"
            ],
            "c",
        )

    def test_parameters_and_the_loads_that_count(self):
        """A table among the parameters is no all-clear, and loads in loops count before those
        outside."""
        subprocess.run(
            [
                nvcc(),
                "-cubin",
                "-arch=sm_90",
                "-o",
                self.path("tables.cubin"),
                os.path.join(ROOT, "tests/data/parameters.cu"),
            ],
            check=True,
            capture_output=True,
        )
        tables = self.tables(
            (
                "advise",
                *SMALL,
                "--table-bytes",
                "1024",
                "--kernel",
                self.path("tables.cubin"),
            )
        )
        for name, verdict, addresses in (
            ("of_data", "cannot tell", None),
            ("of_thread", "faster elsewhere", 8),
            ("of_all", "as it should be", 1),
        ):
            if "param" in tables[name]:  # one that all read may come as a plain parameter
                self.assertEqual(
                    (
                        tables[name]["param"]["verdict"],
                        tables[name]["param"]["addresses"],
                    ),
                    (verdict, addresses),
                    name,
                )
        self.assertIn("param", tables["of_data"])
        self.assertIn("param", tables["of_thread"])
        read = json.loads(
            cbank(
                "advise",
                *SMALL,
                "--table-bytes",
                "1024",
                "--kernel",
                self.path("tables.cubin"),
                "--json",
                "-",
            ).stdout
        )
        rows = {
            table["table"]: table
            for kernel in read["code"]["kernels"]
            if kernel["name"] == "in_loop"
            for table in kernel["tables"]
        }
        self.assertEqual(
            (
                rows["parameter 0"]["width_bytes"],
                rows["parameter 0"]["depth"],
                rows["parameter 0"]["verdict"],
            ),
            (8, 1, "cannot tell"),
        )
        self.assertEqual(tables["in_loop"]["shared"]["depth"], 0)
        # Generic loads of a function that is called.
        for name, memory, verdict in (
            ("passed", "shared", "as it should be"),
            ("passed_from_host", "global", "as it should be"),
            ("passed_either", "generic", "cannot tell"),
        ):
            self.assertEqual(
                (tables[name][memory]["verdict"], tables[name][memory]["addresses"]),
                (verdict, 32),
                name,
            )

    def test_fail(self):
        command = self.compile("own")
        self.assertEqual(
            [
                cbank(*command, *words).returncode
                for words in ((), ("--fail",), ("--fail", "--threshold", "10000"))
            ],
            [0, 1, 0],
        )
        done = cbank(*command, "--fail")
        self.assertRegex(
            done.stderr,
            r"^cbank: --fail: c: by the card of H200, constant keeps its unit busy \d+\.\d+x or"
            r" more as long as global; the limit is 1\.10x\n$",
        )
        done = cbank(*command, "--fail", "--json", "-")
        self.assertEqual((done.returncode, len(json.loads(done.stdout)["code"]["kernels"])), (1, 1))
        for name in ("together", "data", "column"):
            self.assertEqual(
                cbank(*self.compile(name), "--table-bytes", "1024", "--fail").returncode,
                0,
            )
        self.assertEqual(cbank(*self.compile("data"), "--source", "random", "--fail").returncode, 1)
        done = cbank("advise", "--table-bytes", "64", "--fail")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("--kernel", done.stderr)


class Kernel(Scratch):
    """Advice about cubins: those of the corpus, and some that are damaged."""

    ADVISE = ("advise", "--table-bytes", "64", *SMALL)
    CORPUS = os.path.join(ROOT, "tests/corpus/cubin")
    SYMBOL = "_Z6lookupPKiPfi"

    @classmethod
    def file(cls, architecture):
        return os.path.join(cls.CORPUS, f"lookup_sm_{architecture}.cubin")

    def advise(self, path, *words):
        done = cbank(*self.ADVISE, "--kernel", path, "--json", "-", *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        advice = json.loads(done.stdout)
        jsonschema.validate(advice, read_json(os.path.join(ROOT, "results/advice.schema.json")))
        return advice

    def refused(self, data, saying, status=2):
        path = self.path("user.cubin")
        with open(path, "wb") as file:
            file.write(data)
        done = cbank(*self.ADVISE, "--kernel", path)
        self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)
        for word in (path, *saying):
            self.assertIn(word, done.stderr)

    def test_loads_of_a_table_in_constant_memory(self):
        for architecture in (70, 90):
            code = self.advise(self.file(architecture))["code"]
            self.assertEqual(
                (code["file"], code["architecture"]),
                (self.file(architecture), architecture),
            )
            (kernel,) = code["kernels"]
            self.assertEqual(kernel["name"], self.SYMBOL)
            rows = {
                row["load"]: (row["count"], row["in_loops"], row["width_bytes"])
                for row in kernel["kinds"]
            }
            self.assertEqual((rows["LDC c[3][register]"], rows["LDG"]), ((1, 1, 4), (1, 1, 4)))
            # The table's index comes from an array, which each thread reads at its own place.
            loads = {load["instruction"]: load for load in kernel["loads"]}
            self.assertEqual(
                (
                    loads["LDC"]["variation"],
                    loads["LDC"]["reason"],
                    loads["LDC"]["depth"],
                    loads["LDC"]["line"],
                ),
                ("data", "the index comes from memory", 1, None),
            )
            self.assertEqual(
                (loads["LDC"]["table"], loads["LDG"]["table"]), ("table", "parameter 0")
            )
            self.assertEqual(
                [loads["LDG"][key] for key in ("variation", "stride_bytes", "addresses", "reason")],
                ["affine", 4, 32, None],
            )
            said = cbank(*self.ADVISE, "--kernel", self.file(architecture)).stdout
            self.assertRegex(said, r"(?m)^parameter 0 +LDG +affine, 4 bytes apart \* +1$")
            self.assertRegex(said, r"(?m)^table +LDC +data +1$")
            readable = subprocess.run(
                ["c++filt", self.SYMBOL], capture_output=True, text=True, check=True
            ).stdout.strip()
            self.assertEqual(
                (kernel["readable_name"], readable),
                (readable, "lookup(int const*, float*, int)"),
            )
            self.assertIn(f"\nkernel {readable}\n", said)
            self.assertRegex(said, r"(?m)^LDC c\[3\]\[register\] +1 +1$")
            self.assertIn("\nLDC c[3][register]: a __constant__ table, at an index", said)

    def test_what_is_no_cubin(self):
        with open(self.file(90), "rb") as file:
            data = file.read()
        host = (
            b"\x7fELF\x02\x01\x01".ljust(18, b"\0")
            + struct.pack("<H", 62)
            + bytes(38)
            + struct.pack("<3H", 64, 0, 0)
        )
        for bad, saying in (
            (b"", ["no ELF file"]),
            (b"LDC R1, c[0x3][R2]\n" * 9, ["text, no machine code"]),
            (b"\x7fLDC\n", ["no ELF file"]),
            (b"__global__ void k() {}\n", ["nvcc -cubin -arch=sm_90 -lineinfo FILE"]),
            (host, ["no machine code of a GPU"]),
            (b".version 9.0\n.target sm_90\n", ["PTX", "ptxas"]),
            (
                b"//\n// Generated by NVIDIA\n\n.version 9.0\n.target sm_90\n",
                ["PTX", "ptxas"],
            ),
            (
                struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 64) + data[:32],
                ["fatbin", "cut off"],
            ),
            (
                struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 0),
                ["cuobjdump -xptx all FILE", "ptxas -arch=sm_90"],
            ),
            (b"!<arch>\n", ["no machine code of a GPU"]),
            (b"!<thin>\n", ["a thin archive", "name the objects", "ar t FILE"]),
            (data[:4] + b"\x01" + data[5:], ["32 bits"]),
            (data[:40], ["cut off"]),
        ):
            self.refused(bad, saying)

    def test_containers(self):
        """The code of fatbins, which two toolkits compressed, and of an object that has one, as
        of the cubin alone."""
        for name in ("lookup_lz4.fatbin", "lookup_zstd.fatbin", "lookup.o"):
            path = os.path.join(self.CORPUS, name)
            self.assertEqual(
                [
                    self.advise(path, *words)["code"]["architecture"]
                    for words in ((), ("--arch", "70"), ("--arch", "90"))
                ],
                [90, 70, 90],
            )
            self.assertEqual(
                self.advise(path)["code"]["kernels"],
                self.advise(self.file(90))["code"]["kernels"],
            )
            self.assertIn(
                ", sm_90\nthe file also has sm_70, which --arch chooses\n",
                cbank(*self.ADVISE, "--kernel", path).stdout,
            )
            done = cbank(*self.ADVISE, "--kernel", path, "--arch", "80")
            self.assertEqual(
                (done.returncode, done.stderr),
                (
                    2,
                    f"cbank: error: {path}: no machine code of sm_80; it has sm_70 sm_90\n",
                ),
            )
        with open(self.path("libzstd.so.1"), "wb") as file:
            file.write(b"no library of zstd")
        path = os.path.join(self.CORPUS, "lookup_zstd.fatbin")
        done = subprocess.run(
            [CBANK, *self.ADVISE, "--kernel", path],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "LD_LIBRARY_PATH": self.path("")},
        )
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertEqual(
            done.stderr,
            (
                f"cbank: error: {path}: code compressed by zstd, and there is no libzstd.so.1;"
                " install it, or: cuobjdump -xelf all FILE takes the cubins out of it\n"
            ),
        )
        with open(os.path.join(self.CORPUS, "lookup.o"), "rb") as file:
            data = file.read()
        self.refused(
            data.replace(b".nv_fatbin\0", b".no_fatbin\0"),
            ["no machine code of a GPU", "ptxas"],
        )
        self.refused(
            data.replace(b"\x50\xed\x55\xba", b"\x50\xed\x55\xbb"),
            ["fatbin", "damaged"],
        )
        self.refused(data[: len(data) - 64], ["cut off"])

    def test_containers_that_a_compiler_makes(self):
        """Programs, libraries and objects of two sources; code that is linked, and code that is
        not."""
        if not nvcc():
            self.skipTest("no nvcc")
        with open(self.path("main.cu"), "w", encoding="utf-8") as file:
            file.write(
                "extern __constant__ int one[8];\n__global__ void second(int *);\n__global__ void"
                " first(int *out) { out[1] = one[out[0]]; }\nint main() { first<<<1, 1>>>(0);"
                " second<<<1, 1>>>(0); }\n"
            )
        with open(self.path("other.cu"), "w", encoding="utf-8") as file:
            file.write(
                "__constant__ int one[8];\n__global__ void second(int *out) { out[2] ="
                " one[out[0]]; }\n"
            )
        both = [
            "-gencode",
            "arch=compute_80,code=sm_80",
            "-gencode",
            "arch=compute_90,code=[sm_90,compute_90]",
        ]
        for name, options, kernels in (
            ("linked", ["-rdc=true", "main.cu", "other.cu"], {"first", "second"}),
            (
                "apart.so",
                ["-shared", "-Xcompiler", "-fPIC", "-cudart", "static", "other.cu"],
                {"second"},
            ),
            ("object.o", ["-rdc=true", "-c", "main.cu"], {"first"}),
            ("other.fatbin", ["-fatbin", "other.cu"], {"second"}),
        ):
            subprocess.run(
                [nvcc(), "-w", *both, "-o", name, *options],
                check=True,
                capture_output=True,
                cwd=self.path(""),
            )
            for words, architecture in (((), 90), (("--arch", "80"), 80)):
                code = self.advise(self.path(name), *words)["code"]
                self.assertEqual(
                    (
                        code["architecture"],
                        {re.sub(r"_Z\d+|Pi$", "", kernel["name"]) for kernel in code["kernels"]},
                    ),
                    (architecture, kernels),
                    name,
                )
        subprocess.run(
            [
                nvcc(),
                "-w",
                "-fatbin",
                "-arch=compute_90",
                "-o",
                "ptx.fatbin",
                "other.cu",
            ],
            check=True,
            capture_output=True,
            cwd=self.path(""),
        )
        done = cbank(*self.ADVISE, "--kernel", self.path("ptx.fatbin"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("cuobjdump -xptx all FILE", done.stderr)

    def test_architectures_that_cannot_be_read(self):
        with open(self.file(90), "rb") as file:
            data = bytearray(file.read())
        (flags,) = struct.unpack_from("<I", data, 48)
        for architecture in (0, 62, 69, 122, 255):
            struct.pack_into("<I", data, 48, flags & ~0xFF00 | architecture << 8)
            self.refused(
                bytes(data),
                [f"sm_{architecture}", "sm_70 to sm_121", "nvdisasm"],
                status=3,
            )

    def test_architectures_whose_code_was_never_seen(self):
        """The same bytes under another label: what they mean there nobody has checked."""
        with open(self.file(90), "rb") as file:
            data = bytearray(file.read())
        (flags,) = struct.unpack_from("<I", data, 48)
        proven = self.advise(self.file(90))["code"]["kernels"]
        self.assertTrue(any(load["reason"] is None for load in proven[0]["loads"]))
        for architecture in (71, 102, 105, 107, 119):
            struct.pack_into("<I", data, 48, flags & ~0xFF00 | architecture << 8)
            path = self.path(f"sm_{architecture}.cubin")
            with open(path, "wb") as file:
                file.write(data)
            (kernel,) = self.advise(path)["code"]["kernels"]
            self.assertEqual(
                {(load["variation"], load["reason"]) for load in kernel["loads"]},
                {("unknown", f"code of sm_{architecture} was never seen here")},
            )

    def test_kernels_that_share_their_code(self):
        """Every symbol a kernel of the whole file: no time is lost on reading it again for each."""
        with open(self.file(90), "rb") as file:
            data = bytearray(file.read())
        sections, count = (
            struct.unpack_from("<Q", data, 40)[0],
            struct.unpack_from("<H", data, 60)[0],
        )
        headers = [
            (
                sections + 64 * i,
                *struct.unpack_from("<IIQQQQI", data, sections + 64 * i),
            )
            for i in range(count)
        ]
        (text,) = [
            i for i, header in enumerate(headers) if header[2] == 1 and header[3] & 4
        ]  # code
        struct.pack_into("<QQ", data, headers[text][0] + 24, 0, len(data))
        (table,) = [header for header in headers if header[2] == 2]  # symbols
        for at in range(table[5], table[5] + table[6], 24):
            struct.pack_into("<BBH", data, at + 4, 0x12, 0x10, text)
        self.refused(bytes(data), ["damaged", "larger than the file"])

    def test_kernels_that_a_compiler_makes(self):
        """tests/data/loads.cu: each kernel has the load that its name says, as the newest
        toolkit here makes it."""
        if not nvcc():
            self.skipTest("no nvcc")
        path = self.path("user.cubin")
        subprocess.run(
            [
                nvcc(),
                "-cubin",
                "-arch=sm_90",
                "-o",
                path,
                os.path.join(ROOT, "tests/data/loads.cu"),
            ],
            check=True,
            capture_output=True,
        )
        code = self.advise(path)["code"]
        kernels = {kernel["name"]: kernel for kernel in code["kernels"]}
        looped = {
            name: {row["load"]: (row["count"], row["in_loops"]) for row in kernel["kinds"]}
            for name, kernel in kernels.items()
        }
        self.assertEqual(set(looped), set(LOAD_OF_KERNEL))
        for name, load in LOAD_OF_KERNEL.items():
            self.assertTrue(
                any(row == load or row.endswith(" " + load) for row in looped[name]),
                (name, looped[name]),
            )
        widths = {
            row["width_bytes"]
            for row in kernels["constant_widths"]["kinds"]
            if "c[3]" in row["load"]
        }
        self.assertEqual(widths, {1, 2, 4, 8})
        self.assertEqual(looped["local"]["LDL"], (1, 1))
        for name, counts in (
            ("loop", (2, 1)),
            ("called", (1, 1)),
            ("register", (1, 0)),
        ):
            self.assertEqual(looped[f"constant_{name}"]["LDC c[3][register]"], counts)
        self.assertEqual(looped["switched"]["LDC c[3][register]"], (3, 3))
        self.assertEqual(
            [name for name, kernel in kernels.items() if kernel["calls_out"]],
            ["pointer"],
        )


if __name__ == "__main__":
    unittest.main()
