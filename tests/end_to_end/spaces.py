#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cbank spaces: the memory spaces of a user's kernel, ranked. On the simulated GPU each takes 3 % longer than the one
before."""

import json
import os
import re
import subprocess
import sys
import unittest

from common import ROOT, read_json
from kernel_file import CRC32, QUICK_RUN, Kernels, source
from simulated import CBANK


class Ranks(Kernels):
    MEASURED = "examples/crc32.cu, line 5: CBANK_TABLE(remainders, unsigned, 256, {});"

    def ranks(self, said):
        """(memory space, ratio, verdict) of the lines that were measured, in their order."""
        return re.findall(r"^(\w+)(?: \(as written\))? +\d\S* [mnu]s +(?:±\S+ +)?(\d\S+)x +(\w[a-z ]*?)  ", said, re.MULTILINE)

    def test_the_fastest_comes_first(self):
        kept = self.path("kept.json")
        said = self.cbank("spaces", CRC32, "--size", "500", "--json", kept, *QUICK_RUN).stdout
        names, ratios, verdicts = zip(*self.ranks(said))
        self.assertEqual(names, ("constant", "global", "readonly", "shared", "shared_copies", "param", "texture"))
        self.assertEqual(list(map(float, ratios)), sorted(map(float, ratios)))
        self.assertEqual(verdicts, ("fastest",) + 6 * ("slower",))
        self.assertIn(" skipped: the threads of a warp hold 32 entries", said)
        self.assertTrue(said.rstrip().endswith(self.MEASURED.format("constant")), said)
        self.assertEqual(len(read_json(kept)["cells"]), 10)
        self.assertEqual(self.cbank("spaces", kept).stdout, said)
        # 3 % is no difference where 5 % counts; the fastest and the next ones are as fast as each other then.
        verdicts = [verdict for _, _, verdict in self.ranks(self.cbank("spaces", kept, "--threshold", "5").stdout)]
        self.assertEqual(verdicts[:2], ["fastest", "as fast"])
        self.assertEqual(verdicts[-1], "slower")

    def test_a_space_made_slower(self):
        said = self.cbank("spaces", CRC32, "--size", "500", *QUICK_RUN, slow="constant", slow_factor=1.5).stdout
        ranks = self.ranks(said)
        self.assertEqual((ranks[0][0], ranks[-1][0]), ("global", "constant"))
        self.assertTrue(said.rstrip().endswith(self.MEASURED.format("global")), said)

    def test_the_kernel_file_of_the_readme(self):
        """Its table's line ends with a comment, in which there are commas."""
        with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as readme:
            text = re.search(r"```cuda\n(.*?)```", readme.read(), re.DOTALL)[1]
        path = self.write("tone_map.cu", text)
        said = self.cbank("spaces", path, "--size", "512", "--space", "constant,global", *QUICK_RUN).stdout
        self.assertEqual([rank[0] for rank in self.ranks(said)], ["constant", "global"])
        self.assertTrue(said.rstrip().endswith("line 3: CBANK_TABLE(curve, float, 256, constant);"), said)

    def test_what_is_not_kept_is_not_resumed(self):
        said = self.cbank("spaces", self.write_kernel("part", "if (i) out[i] = value"), "--space", "written", *QUICK_RUN, status=1).stderr
        self.assertIn("cbank run --resume FILE, which --json FILE keeps, --retry-failed tries again", said)

    def test_wrong_and_unverified_cells_have_no_rank(self):
        said = self.cbank("spaces", os.path.join(ROOT, "tests/data/show/kernel.json")).stdout
        self.assertRegex(said, r"(?m)^shared +22.80 us +(±\S+ +)?1.00x +fastest")
        self.assertRegex(said, r"(?m)^prmt .* failed .*\n +failed: out\[7\] is 1, not 2")
        self.assertRegex(said, r"(?m)^shared_copies +11.00 us +(±\S+ +)?- +ok .*\n +the output was not verified")

    def test_usage(self):
        builtin = os.path.join(ROOT, "tests/data/show/measured.json")
        done = self.cbank("spaces", builtin, status=2)
        self.assertRegex(done.stdout + done.stderr, "^cbank: error: the result has no user's kernel;.*\n$")
        self.assertIn("--json goes with a kernel file", self.cbank("spaces", builtin, "--json", "x", status=2).stderr)
        listed = re.findall(r"(?m)^  --([a-z-]+)", self.cbank("spaces", "--help").stdout)
        self.assertEqual([name for name in ("space", "cache-state", "against", "kernel", "workload", "loads") if name in listed],
                         ["space", "cache-state", "against"])
        self.cbank("spaces", CRC32, "--kernel", CRC32, status=2)
        self.assertIn("valid: cuda, model, auto", self.cbank("spaces", CRC32, "--engine", "bogus", status=2).stderr)
        model = json.loads(self.cbank("list", "devices", "--json").stdout)[-1]
        self.assertEqual((model["engine"], model["memory_bytes"], model["uuid"]), ("model", None, None))
        self.cbank("spaces", status=2)
        self.cbank("spaces", self.path("missing.cu"), status=2)


class Trial(Kernels):
    """scripts/studies/kernel_trial.py, of one kernel in place of the suite."""

    def trial(self, *arguments):
        return subprocess.run([sys.executable, os.path.join(ROOT, "scripts/studies/kernel_trial.py"), *arguments],
                              capture_output=True, text=True, check=False)

    def tried(self, clock):
        """The output of a trial in which the slowed process has this SM clock (MHz), and its report."""
        program, report = self.path("cbank"), self.path("report.json")
        with open(os.open(program, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o755), "w", encoding="utf-8") as file:
            file.write(f"""#!/bin/sh
export CBANK_SIMULATED=noise=0.0002
case "$*" in *--slow*) CBANK_SIMULATED=$CBANK_SIMULATED,clock={clock};; esac
[ "$1" = run ] || exec {CBANK} "$@"
shift 2
exec {CBANK} run --kernel {CRC32} --size 500 "$@"
""")
        done = self.trial("--program", program, "--processes", "2", "--trials", "1", "--json", report)
        again = self.trial("--show", report)
        self.assertEqual((again.returncode, again.stdout), (done.returncode, done.stdout), done.stderr)
        return done.stdout, read_json(report)

    def test_clocks(self):
        """A planted slowdown is found; where the clock moved by a step, it is not, and the report says so."""
        said, report = self.tried(1980)
        self.assertRegex(said, r"SM clocks of the processes, MHz: (19[78]\d), \1\n")
        self.assertRegex(said, r"worst +0.00\d\d +asked for +0.010 at most +met +in cycles: 0.00\d\d\n")
        self.assertRegex(said, r"not found +0.0000 .* met   of 1 where clocks were equal: 0.0000\n")
        self.assertEqual(report["slowed"][0]["missed"], [])
        ranges = [cell["cycles_range"] for cell in report["cells"]]
        self.assertTrue(max(ranges) > 0 and all(0 <= of < 0.005 for of in ranges), ranges)
        said, report = self.tried(1995)
        self.assertRegex(said, r"not found +1.0000 .* MISSED   of 0 where clocks were equal: nan\n")
        self.assertRegex(said, r"\n  planted, inconclusive, \d of \d: ratio 1.0\d+ to 1.0\d+, of clocks 0.992\d to 0.99\d+: crc32/global/")
        missed, = report["slowed"][0]["missed"]
        self.assertEqual(sorted(missed), ["adjusted_p", "clock_ratio", "identity", "ratio", "verdict"])


class Against(Kernels):
    """Two builds of a kernel, measured in one process."""

    def against(self, first, second, *arguments, status=0):
        done = self.cbank("run", "--kernel", first, "--against", second, "--space", "constant,shared", "--json", self.file,
                          *QUICK_RUN, *arguments, status=status)
        return sorted(re.findall(r"^ *\w+/(constant|shared)/own/\S+/hot .* (\w+)$", done.stdout, re.MULTILINE)), done

    def test_the_same_file(self):
        verdicts, done = self.against(CRC32, CRC32, "--size", "500", "--against-options", "-O1")
        self.assertEqual(verdicts, [("constant", "same"), ("shared", "same")], done.stdout)
        first, second = read_json(self.file)["kernel_files"]
        self.assertEqual((first["against"], second["against"], first["options"], second["options"]), (False, True, None, "-O1"))
        self.assertNotEqual(first["sha256"], second["sha256"])
        self.assertIn("(nvcc", done.stdout)
        self.assertRegex(self.cbank("show", self.file).stdout, "crc32 of crc32.cu, nvcc [0-9.]+, hot\n(.|\n)*crc32 of crc32.cu, nvcc [0-9.]+ -O1, hot\n")

    def test_a_slower_one(self):
        """It has 128 times the threads, and most do nothing."""
        first = self.write("first.cu", source("one"))
        second = self.write("second.cu", source("one").replace("launch(one<squares>, (size", "launch(one<squares>, 128 * (size"))
        verdicts, done = self.against(first, second, status=1)
        self.assertEqual(verdicts, [("constant", "regressed"), ("shared", "regressed")], done.stdout)
        self.assertEqual({cell["verified"] for cell in read_json(self.file)["cells"]}, {True})
        verdicts, _ = self.against(second, first)
        self.assertEqual(verdicts, [("constant", "improved"), ("shared", "improved")])

    def test_outputs_are_held_against_each_other(self):
        first = self.write("first.cu", source("one", check=""))
        second = self.write("second.cu", source("one", "out[i] = value + 1", check=""))
        verdicts, _ = self.against(first, second, status=1)
        self.assertEqual(verdicts, [("constant", "invalid"), ("shared", "invalid")])
        cells = read_json(self.file)["cells"]
        self.assertEqual([cell["status"] for cell in cells], ["ok", "ok", "failed", "failed"])
        self.assertRegex(cells[2]["reason"], "differs between the kernel files: element 0 of buffer 2 is \S+, with the first \S")

    def test_usage(self):
        for words, said in ((("--against", CRC32), "go with --kernel FILE"),
                            (("--kernel", f"{CRC32},{CRC32}", "--against", CRC32), "name one file by --kernel"),
                            (("--kernel", CRC32, "--against-options", "-O1"), "go with --against FILE")):
            self.assertIn(said, self.cbank("run", *words, status=2).stderr)


if __name__ == "__main__":
    unittest.main()
