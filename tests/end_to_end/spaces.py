#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cbank spaces: the memory spaces of a user's kernel, ranked. On the simulated GPU each takes 3
% longer than the one before."""

import json
import math
import os
import re
import signal
import statistics
import subprocess
import sys
import time
import unittest

import jsonschema

import common
from common import FULL, ROOT, Scratch, kept_folder, read_json
from kernel_file import CHECK, CRC32, QUICK_RUN, Kernels, source
from simulated import CBANK


class Ranks(Kernels):
    MEASURED = "examples/crc32.cu, line 5: CBANK_TABLE(remainders, unsigned, 256, {});"

    def ranks(self, said):
        """(memory space, ratio, verdict) of the lines that were measured, in their order."""
        return re.findall(
            r"^(\w+)(?: \(as written\))? +\d\S* [mnu]s +(?:±\S+ +)?(\d\S+)x +(\w[a-z ]*?)  ",
            said,
            re.MULTILINE,
        )

    def test_the_fastest_comes_first(self):
        kept = self.path("kept.json")
        said = self.cbank("spaces", CRC32, "--size", "500", "--json", kept, *QUICK_RUN).stdout
        names, ratios, verdicts = zip(*self.ranks(said))
        self.assertEqual(
            names,
            (
                *("constant", "global", "readonly", "shared", "shared_async", "shared_bulk"),
                *("shared_copies", "param", "texture"),
            ),
        )
        self.assertEqual(list(map(float, ratios)), sorted(map(float, ratios)))
        self.assertEqual(verdicts, ("fastest",) + 8 * ("slower",))
        self.assertIn(" skipped: the threads of a warp hold 32 entries", said)
        self.assertTrue(said.rstrip().endswith(self.MEASURED.format("constant")), said)
        self.assertEqual(len(read_json(kept)["cells"]), 12)
        self.assertEqual(self.cbank("spaces", kept).stdout, said)
        ranks = self.path("ranks.json")
        measured = self.cbank(
            "spaces", CRC32, "--size", "500", "--quiet", "--ranks", ranks, *QUICK_RUN
        )
        self.assertEqual(measured.stdout, "")
        self.assertEqual(
            [(rank["path"], rank["verdict"]) for rank in read_json(ranks)["cells"]][:9],
            list(zip(names, verdicts)),
        )
        # 3 % is no difference where 5 % counts; the fastest and the next ones are as fast as each
        # other then.
        verdicts = [
            verdict
            for _, _, verdict in self.ranks(self.cbank("spaces", kept, "--threshold", "5").stdout)
        ]
        self.assertEqual(self.cbank("spaces", kept, "--quiet").stdout, "")
        self.assertEqual(verdicts[:2], ["fastest", "as fast"])
        self.assertEqual(verdicts[-1], "slower")

    def test_a_space_made_slower(self):
        said = self.cbank(
            "spaces", CRC32, "--size", "500", *QUICK_RUN, slow="constant", slow_factor=1.5
        ).stdout
        ranks = self.ranks(said)
        self.assertEqual((ranks[0][0], ranks[-1][0]), ("global", "constant"))
        self.assertTrue(said.rstrip().endswith(self.MEASURED.format("global")), said)

    def test_the_kernel_file_of_the_readme(self):
        """Its table's line ends with a comment, in which there are commas."""
        with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as readme:
            text = re.search(r"```cuda\n(.*?)```", readme.read(), re.DOTALL)[1]
        path = self.write("tone_map.cu", text)
        said = self.cbank(
            "spaces", path, "--size", "512", "--space", "constant,global", *QUICK_RUN
        ).stdout
        self.assertEqual([rank[0] for rank in self.ranks(said)], ["constant", "global"])
        self.assertTrue(
            said.rstrip().endswith("line 3: CBANK_TABLE(curve, float, 256, constant);"), said
        )

    def test_quiet_keeps_the_result_alone(self):
        kept = self.path("kept.json")
        words = ("--size", "500", "--space", "constant,global", "--json", kept, "--quiet")
        done = self.cbank("spaces", CRC32, *words, *QUICK_RUN)
        self.assertEqual((done.stdout, done.stderr), ("", ""))
        self.assertEqual([cell["status"] for cell in read_json(kept)["cells"]], ["ok", "ok"])

    def test_what_was_measured_is_kept(self):
        """After a signal and after kill -9, --resume measures the rest into the same cells."""

        def cells():
            return [
                (cell["identity"], cell["status"], cell["time_ns"] and cell["time_ns"]["samples"])
                for cell in read_json(self.file)["cells"]
            ]

        # long enough that the file is written before the end
        words = ("spaces", CRC32, "--size", "500,700", "--counters", "none", "--sample-us", "3000")
        words += ("--json", self.file)
        self.cbank(*words)
        whole = [cell[:2] for cell in cells()]
        for number in (signal.SIGTERM, signal.SIGKILL):
            with self.subTest(number):
                os.remove(self.file)
                program = subprocess.Popen(
                    [CBANK, *words], env={**os.environ, "CBANK_SIMULATED": "pace=1"}
                )
                while program.poll() is None and not (
                    os.path.exists(self.file) and any(cell[2] for cell in cells())
                ):
                    time.sleep(0.02)
                program.send_signal(number)
                self.assertEqual(program.wait(), -number)
                part = cells()
                self.assertEqual([cell[0] for cell in part], [cell[0] for cell in whole])
                self.assertFalse(read_json(self.file)["complete"])
                said = self.cbank("spaces", CRC32, "--resume", self.file).stdout
                self.assertRegex(said, r"crc32, size 500[^§]*fastest")
                self.assertEqual([cell[:2] for cell in cells()], whole)
                for before, after in zip(part, cells()):
                    if before[2]:
                        self.assertEqual(after[2][: len(before[2])], before[2])

    def test_what_is_not_kept_is_not_resumed(self):
        said = self.cbank(
            "spaces",
            self.write_kernel("part", "if (i) out[i] = value"),
            "--space",
            "written",
            *QUICK_RUN,
            status=1,
        ).stderr
        self.assertIn("cbank run --resume FILE, which --json FILE keeps, --kernel", said)

    def test_wrong_and_unverified_cells_have_no_rank(self):
        said = self.cbank("spaces", os.path.join(ROOT, "tests/data/show/kernel.json")).stdout
        self.assertRegex(said, r"(?m)^shared +22.80 us +(±\S+ +)?1.00x +fastest")
        self.assertRegex(said, r"(?m)^prmt .* failed .*\n +failed: out\[7\] is 1, not 2")
        self.assertRegex(
            said, r"(?m)^shared_copies +11.00 us +(±\S+ +)?- +ok .*\n +the output was not verified"
        )

    def test_a_place_by_the_address_of_its_memory(self):
        """At three of four addresses global memory is slower than shared memory, and so it is on
        average. A user's table has one address."""
        result = read_json(os.path.join(ROOT, "tests/data/show/kernel.json"))
        for cell in result["cells"]:
            times = {"shared": 4 * [22801], "global": [22000, 25000, 25000, 25000]}.get(
                cell["path"] if cell["identity"].startswith("crc32") else None
            )
            if times and cell["elements"] == 131072 and cell["cache_state"] == "hot":
                value = sum(times) / 4
                cell["buffer_sets"], cell["process_deviation"] = 4, 0
                cell["time_ns"].update(
                    value=value, samples=2 * times, ci_low=value - 10, ci_high=value + 10
                )
        path = self.write("places.json", json.dumps(result))
        said = self.cbank("spaces", path).stdout
        self.assertRegex(
            said,
            r"(?m)^global +24.25 us .* slower on average .*\n"
            r" +22.00 us to 25.00 us by the address of its memory; slower at 75 % of pairs\n"
            r" +of addresses",
        )
        self.assertEqual(said.count("by the address"), 1)

    def test_a_kernel_file_is_checked_without_a_gpu(self):
        """Each memory space, the launch, and the check. A kernel file that is not there is
        exit 2."""
        first = self.path("first.cu")
        self.cbank("spaces", first, "--new")
        self.assertIn(
            "is there; name a file", self.cbank("spaces", first, "--new", status=2).stderr
        )
        words = ("spaces", first, "--compile-only", "--arch", "75,90", "--size", "1000")
        said = self.cbank(*words).stdout
        self.assertEqual(re.findall(r"(?m)^tone_map, sm_(\d+), ", said), ["75", "90"])
        self.assertEqual(len(re.findall(r"(?m)^\w+ (?:\(as written\) )?+ *ok ", said)), 18)
        self.assertEqual(len(re.findall(r"(?m)^\w+ +skipped ", said)), 6)
        self.assertIn("size 1000: grid 4, block 256; buffers of 5000 bytes", said)
        self.assertRegex(said, r"check: buffer 2 should begin with \d")
        for command in (("spaces", "absent.cu"), ("run", "--kernel", "absent.cu")):
            done = self.cbank(*command, status=2)
            self.assertIn("cannot read absent.cu: No such file", done.stderr)

    def test_what_is_told_before_a_gpu_is_asked(self):
        for edit, words in (
            ((f"{CHECK};", "accept(out, {0, 0});"), None),
            (("CBANK_CASE(tidy", "CBANK_CASE(tidier"), r"called tidier and launches tidy; write"),
            (("output<float>(size)", "scratch<float>(size)"), "nothing could be checked"),
        ):
            path = self.write("k.cu", source("tidy").replace(*edit))
            done = self.cbank("spaces", path, "--compile-only", status=2 if words else 0)
            self.assertRegex(done.stderr, words or r"k\.cu:\d+: the case checks nothing: ")

    def test_usage(self):
        builtin = os.path.join(ROOT, "tests/data/show/measured.json")
        done = self.cbank("spaces", builtin, status=2)
        self.assertRegex(
            done.stdout + done.stderr, "^cbank: error: the result has no user's kernel;.*\n$"
        )
        self.assertIn(
            "the result has no user's kernel",
            self.cbank("spaces", builtin, "--quiet", status=2).stderr,
        )
        self.assertIn(
            "--json and --resume go with a kernel file",
            self.cbank("spaces", builtin, "--json", "x", status=2).stderr,
        )
        listed = re.findall(r"(?m)^  --([a-z-]+)", self.cbank("spaces", "--help=all").stdout)
        self.assertEqual(
            [
                name
                for name in ("space", "cache-state", "against", "kernel", "workload", "loads")
                if name in listed
            ],
            ["space", "cache-state", "against"],
        )
        self.cbank("spaces", CRC32, "--kernel", CRC32, status=2)
        self.assertIn(
            "valid: cuda, model, auto",
            self.cbank("spaces", CRC32, "--engine", "bogus", status=2).stderr,
        )
        model = json.loads(self.cbank("list", "devices", "--json").stdout)[-1]
        self.assertEqual(
            (model["engine"], model["memory_bytes"], model["uuid"]), ("model", None, None)
        )
        self.cbank("spaces", status=2)
        self.cbank("spaces", self.path("missing.cu"), status=2)


class Document(Scratch):
    """--ranks: the ranking as JSON. What it must say is computed from a committed result."""

    RESULT = os.path.join(ROOT, "results/h200/kernels/suite.json")

    @classmethod
    def setUpClass(cls):
        path = os.path.join(kept_folder(cls), "ranks.json")
        cls.said = common.cbank("spaces", cls.RESULT, "--ranks", path, COLUMNS="200").stdout
        cls.document, cls.path_of = read_json(path), path
        cls.cells = cls.document["cells"]

    def groups(self, cells):
        """The cells of each kernel, size and cache state."""
        groups = {}
        for cell in cells:
            key = (cell["workload"], cell["elements"], cell["cache_state"])
            groups.setdefault(key, []).append(cell)
        return groups

    def addresses(self, cell):
        """The median time at each address: buffer sets take turns."""
        samples, sets = cell["time_ns"]["samples"], cell["buffer_sets"]
        return [statistics.median(samples[first::sets]) for first in range(sets)]

    def check_rank(self, rank, cell, best):
        """A rank with a time, by its cell and the fastest one in the result."""
        time, least = cell["time_ns"], best["time_ns"]
        halves = [(each["ci_high"] - each["ci_low"]) / 2 / each["value"] for each in (time, least)]
        ratio = time["value"] / least["value"]
        self.assertAlmostEqual(rank["ratio"]["value"], ratio)
        for key, sign in (("ci_low", -1), ("ci_high", 1)):
            self.assertEqual(rank["time_ns"][key], time[key])
            if cell is best:
                self.assertIsNone(rank["ratio"][key])
            else:
                self.assertAlmostEqual(rank["ratio"][key], ratio * (1 + sign * math.hypot(*halves)))
        places, others = self.addresses(cell), self.addresses(best)
        said = rank["addresses"]
        self.assertEqual(said["count"], cell["buffer_sets"])
        self.assertAlmostEqual(said["least_ns"], min(places))
        self.assertAlmostEqual(said["most_ns"], max(places))
        if cell is best:
            self.assertIsNone(said["slower_share"])
            return
        slower = [place > other for place in places for other in others]
        self.assertAlmostEqual(said["slower_share"], sum(slower) / len(slower))
        apart = max(places) >= 1.05 * min(places)
        self.assertEqual("by the address of its memory" in (rank["why"] or ""), apart)
        if rank["verdict"].startswith("slower"):
            self.assertGreater(ratio, 1.01)
            self.assertEqual(
                rank["verdict"] == "slower on average",
                apart and said["slower_share"] < 0.95,
            )
        else:
            self.assertLess(ratio, 1.02)

    def test_it_is_what_the_result_says(self):
        result = self.groups(read_json(self.RESULT)["cells"])
        ranked = self.groups(self.cells)
        self.assertEqual(set(ranked), set(result))
        verdicts = set()
        for key, cells in result.items():
            timed = [cell for cell in cells if cell["status"] == "ok" and cell["verified"]]
            timed.sort(key=lambda cell: cell["time_ns"]["value"])
            ranks = ranked[key]
            with self.subTest(key):
                self.assertEqual(
                    [rank["identity"] for rank in ranks[: len(timed)]],
                    [cell["identity"] for cell in timed],
                )
                self.assertEqual(
                    [rank["rank"] for rank in ranks],
                    [*range(1, len(timed) + 1), *[None] * (len(cells) - len(timed))],
                )
                for rank, cell in zip(ranks, timed):
                    self.check_rank(rank, cell, timed[0])
                for rank in ranks[len(timed) :]:
                    self.assertEqual(
                        (rank["status"], rank["verdict"], rank["ratio"], rank["addresses"]),
                        ("skipped", None, None, None),
                    )
                    self.assertTrue(rank["reason"])
            verdicts |= {rank["verdict"] for rank in ranks}
        self.assertEqual(
            verdicts,
            {None, "fastest", "as fast", "too close to call", "slower", "slower on average"},
        )

    def test_text_says_the_same(self):
        """Each row of the text, its interval and its reason, in the same order."""
        rows = re.findall(
            r"(?m)^([a-z]\w*)( \(as written\))? +(\S+ [mnu]s|-) .*? (\S+x|-) +(±\S+%|-) +"
            r"(fastest|as fast|too close to call|slower(?: on average)?|skipped)  .*\n"
            r"((?:    .*\n)*)",
            self.said,
        )
        self.assertEqual(len(rows), len(self.cells))
        for (space, written, _, ratio, half, verdict, why), rank in zip(rows, self.cells):
            with self.subTest(rank["identity"]):
                self.assertEqual(space, rank["kernel_file"]["spaces"])
                self.assertEqual(bool(written), rank["as_written"])
                self.assertEqual(verdict, rank["verdict"] or rank["status"])
                self.assertIn(rank["why"] or "", " ".join(why.split()))
                if rank["ratio"]:
                    value = rank["ratio"]["value"]
                    self.assertEqual(ratio, f"{value:.2f}x" if value < 100 else f"{value:.0f}x")
                if rank["ratio"] and rank["ratio"]["ci_high"]:
                    share = rank["ratio"]["ci_high"] / rank["ratio"]["value"] - 1
                    self.assertAlmostEqual(float(half[1:-1]), 100 * share, delta=0.0051)

    def test_it_is_valid_and_shown(self):
        jsonschema.validate(
            self.document, read_json(os.path.join(ROOT, "results/ranking.schema.json"))
        )
        self.assertIn("valid ", self.cbank("show", "--check", self.path_of).stdout)

    def test_on_stdout_it_is_alone(self):
        for words in ((), ("--quiet",)):
            said = json.loads(self.cbank("spaces", self.RESULT, "--ranks", "-", *words).stdout)
            self.assertEqual(said["cells"], self.cells)
        loose = json.loads(
            self.cbank("spaces", self.RESULT, "--ranks", "-", "--threshold", "5").stdout
        )
        self.assertEqual(loose["threshold"], 0.05)
        near = [rank for rank in loose["cells"] if rank["ratio"] and rank["ratio"]["value"] > 1]
        self.assertTrue(
            all(rank["ratio"]["value"] > 1.05 for rank in near if "slower" in rank["verdict"])
        )

    def test_where_there_is_no_ranking(self):
        for words, told in (
            (("new.cu", "--new"), "--ranks writes what was measured"),
            ((CRC32, "--compile-only"), "--ranks writes what was measured"),
            ((CRC32, "--device", "0,1"), "--ranks holds the ranks of one GPU"),
            ((CRC32, "--device", "all"), "--ranks holds the ranks of one GPU"),
        ):
            done = self.cbank("spaces", *words, "--ranks", "ranks.json", status=2)
            self.assertIn(told, done.stderr)
            self.assertFalse(os.path.exists(self.path("ranks.json")))


class Trial(Kernels):
    """scripts/studies/kernel_trial.py, of one kernel in place of the suite."""

    def trial(self, *arguments):
        return subprocess.run(
            [sys.executable, os.path.join(ROOT, "scripts/studies/kernel_trial.py"), *arguments],
            capture_output=True,
            text=True,
            check=False,
        )

    def tried(self, clock):
        """The output of a trial in which the slowed process has this SM clock (MHz), and its
        report."""
        program, report = self.path("cbank"), self.path("report.json")
        with open(
            os.open(program, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o755), "w", encoding="utf-8"
        ) as file:
            file.write(
                f"""#!/bin/sh
export CBANK_SIMULATED=noise=0.0002
case "$*" in *--slow*) CBANK_SIMULATED=$CBANK_SIMULATED,clock={clock};; esac
[ "$1" = run ] || exec {CBANK} "$@"
shift 2
exec {CBANK} run --kernel {CRC32} --size 500 "$@"
"""
            )
        done = self.trial(
            "--program", program, "--processes", "5", "--trials", "1", "--json", report
        )
        again = self.trial("--show", report)
        self.assertEqual(
            (again.returncode, again.stdout), (done.returncode, done.stdout), done.stderr
        )
        return done.stdout, read_json(report)

    def test_clocks(self):
        """A planted slowdown is found; where the clock moved by a step, it is not, and the
        report says so."""
        said, report = self.tried(1980)
        self.assertRegex(said, r"SM clocks of the processes, MHz: (19[78]\d)(, \1){4}\n")
        self.assertRegex(
            said, r"worst +0.00\d\d +asked for +0.010 at most +met +in time or cycles: 0.00\d\d\n"
        )
        self.assertRegex(said, r"not found +0.0000 .* met   of 1 where clocks were equal: 0.0000\n")
        self.assertEqual(report["slowed"][0]["missed"], [])
        ranges = [cell["cycles_range"] for cell in report["cells"]]
        self.assertTrue(max(ranges) > 0 and all(0 <= of < 0.005 for of in ranges), ranges)
        said, report = self.tried(1995)
        self.assertRegex(said, r"not found +1.0000 .* MISSED   of 0 where clocks were equal: nan\n")
        self.assertRegex(
            said,
            (
                r"\n  planted, inconclusive, \d of \d: ratio 1.0\d+ to 1.0\d+, of clocks 0.992\d to"
                r" 0.99\d+: crc32/global/"
            ),
        )
        (missed,) = report["slowed"][0]["missed"]
        self.assertEqual(
            sorted(missed), ["adjusted_p", "clock_ratio", "identity", "ratio", "verdict"]
        )


class ByHand(Kernels):
    """scripts/studies/by_hand.py beside programs that print what ncu, NVBench and kernels
    written by hand print."""

    TIMES = [
        {"kernel": "crc32", "size": 500, "space": space, "time_ns": ns, "alone_ns": ns + 5000}
        for space, ns in (
            ("constant", 60000),
            ("global", 20000),
            ("texture", 30000),
            ("shared", 19999),
        )
    ]
    NVBENCH = """Benchmark,Device,kernel,size,space,Skipped,Samples,CPU Time (sec),Noise,\
GPU Time (sec),Noise,Samples,Batch GPU (sec)
by_hand,0,crc32,500,constant,No,7738,1.1e-04,0.09,6.461e-05,0.008,8112,6.052e-05
by_hand,0,crc32,500,global,No,24371,5.9e-05,0.2,2.2e-05,0.01,24398,2.05e-05
"""

    def study(self, nvbench, *arguments):
        """Runs it with NVBench's output; returns the process, and the report's path."""
        durations = "".join(f'"{i}","{1000 * (i + 1)}"\n' for i in range(len(self.TIMES)))
        programs = {
            "by_hand": json.dumps({"device": "Simulated H200", "times": self.TIMES}),
            "ncu": f'==PROF==\n"ID","Metric Value"\n{durations}',
        }
        for name, printed in {**programs, "nvbench": nvbench}.items():
            os.chmod(
                self.write(
                    name,
                    (
                        f"#!/bin/sh\necho \"$0 $*\" >> {self.path('words')}\n[ \"$1\" != --version"
                        f" ] || exec echo NVBench v0.1.0\ncat << 'END'\n{printed.rstrip()}\nEND\n"
                    ),
                ),
                0o755,
            )
        done = subprocess.run(
            [
                sys.executable,
                os.path.join(ROOT, "scripts/studies/by_hand.py"),
                "--program",
                CBANK,
                "--by-hand",
                self.path("by_hand"),
                "--nvbench",
                self.path("nvbench"),
                "--json",
                self.path("report.json"),
                *arguments,
            ],
            capture_output=True,
            text=True,
            check=False,
            env={
                **os.environ,
                "PATH": f"{self.folder}:{os.environ['PATH']}",
                "CBANK_SIMULATED": "",
            },
        )
        return done, self.path("report.json")

    def test_nvbench(self):
        """Launches of 20 us or more in three memory spaces have NVBench's times. None of those
        by hand agrees: they are made up."""
        done, report = self.study(
            self.NVBENCH,
            "--size",
            "500",
            "--space",
            "constant,global,texture,shared",
            "--max-samples",
            "20",
        )
        self.assertEqual(done.returncode, 1, done.stderr)
        report = read_json(report)
        self.assertEqual(report["nvbench"], "NVBench v0.1.0")
        found = {
            row["space"]: [
                row.get(key) and round(row[key], 3) for key in ("nvbench_ns", "nvbench_cold_ns")
            ]
            for row in report["times"]
        }
        self.assertEqual(
            found,
            {
                "constant": [60520, 64610],
                "global": [20500, 22000],
                "texture": [None] * 2,
                "shared": [None] * 2,
            },
        )
        self.assertRegex(
            done.stdout, r"by hand +cbank +% +NVBench +events +ncu +cbank +ncu +cbank +NVBench\n"
        )
        self.assertRegex(
            done.stdout, r"(?m)^  constant +60\.00 .* 60\.52 +65\.00 .* 64\.61   MISSED$"
        )
        with open(self.path("words"), encoding="utf-8") as words:
            self.assertIn(
                " --benchmark by_hand --axis kernel=crc32 --axis size=500 --axis space=global\n",
                words.read(),
            )

    def test_a_column_that_is_not_there(self):
        for before, after in (
            ("GPU Time (sec),", "GPU Time (ms),"),
            ("Batch GPU (sec)", "Batch GPU"),
            ("6.052e-05", ""),
            ("6.052e-05", "nan"),
            ("500,constant,No", "131072,constant,No"),
        ):
            done, _ = self.study(self.NVBENCH.replace(before, after))
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertRegex(
                done.stderr, r"NVBench has no (GPU Time|Batch GPU) \(sec\) of crc32 500 constant\n"
            )


@unittest.skipUnless(FULL, "takes long: make test-long")
class SpacesByHand(Kernels):
    """scripts/studies/spaces_by_hand.py of short launches, beside a program that prints what
    kernels written by hand print."""

    def study(self, *changed):
        """The exit status, and what is printed, where by_hand.cu says for shared_bulk what is
        changed."""
        lines = []
        for k, space in enumerate(("shared", "shared_async", "shared_bulk")):
            for tables in ("100 KB", "256 KB", "100 KB and 256 KB"):
                row = {"cell": {"tables": tables, "size": 512, "space": space}}
                if tables == "256 KB":
                    lines.append({**row, "skipped": "a block has 232448 bytes"})
                    continue
                ns = 5450 + 150 * (k + (tables != "100 KB"))
                row.update({"verified": 2, "samples": [ns] * 3})
                lines.append({**row, **(dict(changed) if space == "shared_bulk" else {})})
        text = "\n".join(map(json.dumps, lines))
        by_hand = self.write("by_hand", f"#!/bin/sh\ncat << 'END'\n{text}\nEND\n")
        os.chmod(by_hand, 0o755)
        study = os.path.join(ROOT, "scripts/studies/spaces_by_hand.py")
        words = ("--json", self.path("report.json"), "--size", "512", "--max-samples", "20")
        done = subprocess.run(
            [sys.executable, study, "--program", CBANK, "--by-hand", by_hand, *words],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout

    def test_times_agree(self):
        """Memory spaces that one side alone measured are told."""
        code, said = self.study()
        self.assertEqual(code, 1)
        self.assertRegex(said, r"(?m)^256 KB not in shared, shared_async, shared_bulk: the shared")
        self.assertRegex(said, r"(?m)^  shared_bulk +5\.75 +5\.\d\d +[+-]0\.\d\d$")
        self.assertRegex(said, r"(?m)^  global +- +5\.\d\d +MISSED$")
        self.assertRegex(said, r"\n\d+ times: MISSED\n$")

    def test_times_differ(self):
        said = self.study(("samples", [9000.0]))[1]
        self.assertRegex(said, r"(?m)^  shared_bulk +9\.00 +5\.\d\d +-36\.\d\d   MISSED$")
        said = self.study(("failed", "output 3 is 1, and must be 2"))[1]
        self.assertRegex(said, r"(?m)^  shared_bulk .* MISSED output 3 is 1, and must be 2$")


class Against(Kernels):
    """Two builds of a kernel, measured in one process."""

    def against(self, first, second, *arguments, status=0):
        done = self.cbank(
            "run",
            "--kernel",
            first,
            "--against",
            second,
            "--space",
            "constant,shared",
            "--json",
            self.file,
            *QUICK_RUN,
            *arguments,
            status=status,
        )
        return (
            sorted(
                re.findall(
                    r"^ *\w+/(constant|shared)/own/\S+/hot .* (\w+)$", done.stdout, re.MULTILINE
                )
            ),
            done,
        )

    def test_the_same_file(self):
        verdicts, done = self.against(CRC32, CRC32, "--size", "500", "--against-options", "-O1")
        self.assertEqual(verdicts, [("constant", "same"), ("shared", "same")], done.stdout)
        first, second = read_json(self.file)["kernel_files"]
        self.assertEqual(
            (first["against"], second["against"], first["options"], second["options"]),
            (False, True, None, "-O1"),
        )
        self.assertNotEqual(first["sha256"], second["sha256"])
        self.assertIn("(nvcc", done.stdout)
        shown = self.cbank("show", self.file).stdout
        for title in (
            "crc32 of crc32.cu, nvcc [0-9.]+, hot",
            "crc32 of crc32.cu, nvcc [0-9.]+ -O1, hot",
        ):
            self.assertRegex(shown, f"(?m)^{title}$")

    def test_examples_in_two_builds(self):
        """An array of structs and an array for each member; a lookup for each code and three
        PRMT for four codes."""
        for name, size, option, loads in (
            ("layout/shading", "5000", "-DMEMBERS", "4 LDC"),
            ("packed/dot", "64", "-DPERMUTE", "1 LDC"),
        ):
            path = os.path.join(ROOT, "examples", f"{name}.cu")
            self.against(path, path, "--size", size, "--against-options", option)
            self.assertEqual(
                [
                    (cell["verified"], cell["case"]["instructions"])
                    for cell in read_json(self.file)["cells"]
                    if cell["path"] == "constant"
                ],
                [(True, "1 LDC"), (True, loads)],
            )

    def test_a_slower_one(self):
        """It has 128 times the threads, and most do nothing."""
        first = self.write("first.cu", source("one"))
        second = self.write(
            "second.cu",
            source("one").replace("launch(one<squares>, (size", "launch(one<squares>, 128 * (size"),
        )
        verdicts, done = self.against(first, second, status=1)
        self.assertEqual(
            verdicts, [("constant", "regressed"), ("shared", "regressed")], done.stdout
        )
        self.assertEqual({cell["verified"] for cell in read_json(self.file)["cells"]}, {True})
        verdicts, _ = self.against(first, second, "--threshold", "1000")
        self.assertEqual(verdicts, [("constant", "same"), ("shared", "same")])
        verdicts, _ = self.against(second, first)
        self.assertEqual(verdicts, [("constant", "improved"), ("shared", "improved")])

    def test_outputs_are_held_against_each_other(self):
        first = self.write("first.cu", source("one", check=""))
        second = self.write("second.cu", source("one", "out[i] = value + 1", check=""))
        verdicts, _ = self.against(first, second, status=1)
        self.assertEqual(verdicts, [("constant", "invalid"), ("shared", "invalid")])
        cells = read_json(self.file)["cells"]
        self.assertEqual([cell["status"] for cell in cells], ["ok", "ok", "failed", "failed"])
        self.assertRegex(
            cells[2]["reason"],
            "differs between the kernel files: element 0 of buffer 2 is \S+, with the first \S",
        )

    def test_usage(self):
        for words, said in (
            (("--against", CRC32), "go with --kernel FILE"),
            (("--kernel", f"{CRC32},{CRC32}", "--against", CRC32), "name one file by --kernel"),
            (("--kernel", CRC32, "--against-options", "-O1"), "go with --against FILE"),
            (("--kernel", CRC32, "--threshold", "5"), "--threshold goes with --against FILE"),
        ):
            self.assertIn(said, self.cbank("run", *words, status=2).stderr)


if __name__ == "__main__":
    unittest.main()
