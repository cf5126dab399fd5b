#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""scripts/studies/two_toolkits.py on toolkits whose compiler is a script, which hands out committed
cubins, and on a report that is written here."""

import os
import re
import struct
import subprocess
import sys
import unittest

from common import CBANK, ROOT, Scratch, read_bytes, read_json

SCRIPT = os.path.join(ROOT, "scripts/studies/two_toolkits.py")
CUBIN = os.path.join(ROOT, "tests/corpus/cubin/lookup_sm_90.cubin")
RESULT = os.path.join(ROOT, "results/compiler/two_toolkits.json")
LDC, MUFU, TABLE_BANK = 0xB82, 0x308, 3  # an opcode with its form; of __constant__ variables
NVCC = """#!/bin/sh
[ "$1" = --version ] && { echo 'release 13.0, V%s'; exit; }
echo "$@" >>'%s'
case $* in
*refused*) exit 1 ;;
*slow*) sleep 60 ;;
esac
while [ "$1" != -o ]; do shift; done
cp '%s' "$2"
"""


def without_table_loads(cubin):
    """The same file with another instruction in place of each load of a __constant__ table."""
    changed = bytearray(cubin)
    for at in range(0, len(cubin) - 15, 16):
        (low,) = struct.unpack_from("<Q", cubin, at)
        if low & 0xFFF == LDC and low >> 54 & 0x1F == TABLE_BANK:
            struct.pack_into("<H", changed, at, low & 0xF000 | MUFU)
    return bytes(changed)


class TwoToolkits(Scratch):
    def toolkit(self, name, version, cubin):
        with open(self.path(f"{name}.cubin"), "wb") as file:
            file.write(cubin)
        nvcc = self.write(
            f"{name}/bin/nvcc",
            NVCC % (version, self.path(f"{name}.log"), self.path(f"{name}.cubin")),
        )
        os.chmod(nvcc, 0o755)
        return self.path(name)

    def study(self, *words, status=0):
        done = subprocess.run(
            [sys.executable, SCRIPT, "--program", CBANK, *words],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
        )
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout if status == 0 else done.stderr

    def sides(self, new):
        old = self.toolkit("old", "12.4.131", read_bytes(CUBIN))
        return ("--old", old, "--new", self.toolkit("new", "13.0.88", new), "--json", "out.json")

    def words_of(self, side):
        with open(self.path(f"{side}.log"), encoding="utf-8") as file:
            return [line.split() for line in file]

    def test_the_same_code(self):
        said = self.study(*self.sides(read_bytes(CUBIN)), "--files=crc32,add")
        report = read_json(self.path("out.json"))
        self.assertEqual(report["toolkits"], {"old": "12.4.131", "new": "13.0.88"})
        # an example in three memory spaces and a workload, of five architectures
        self.assertEqual(len(report["files"]), (3 + 1) * 5)
        self.assertEqual([file["changed"] for file in report["files"]], [[]] * 20)
        self.assertRegex(said, r"sm_80 +4 +4 +0 +0 +0 +0 +0 +0\n")
        self.assertTrue(said.endswith("\n"))
        self.assertEqual(len(said.splitlines()), 2 + 5)
        # Both read the same sources for the same architectures.
        for words in zip(*(sorted(self.words_of(side)) for side in ("old", "new"))):
            self.assertEqual(*({*each} - {each[each.index("-o") + 1]} for each in words))

    def test_a_load_that_is_gone(self):
        new = without_table_loads(read_bytes(CUBIN))
        said = self.study(*self.sides(new), "--files=sobol", "--spaces=global")
        (row,) = read_json(self.path("out.json"))["files"][0]["changed"]
        self.assertTrue(row["loads"])
        self.assertEqual([[load[2] for load in row["loads"]]], [[0] * len(row["loads"])])
        self.assertRegex(said, r"sm_90 +1 +0 +1 +0 +0 +0 +0 +0\n")
        every = "sm_75, sm_80, sm_86, sm_89, sm_90"
        self.assertRegex(said, rf"\nsobol, tables in global memory, {every}: LDC: .*: 1 -> 0\n")

    def test_what_does_not_compile_is_named(self):
        words = self.sides(read_bytes(CUBIN))
        with open(self.path("new/bin/nvcc"), encoding="utf-8") as file:
            script = file.read()
        words += ("--files=sobol,crc32", "--spaces=written", "--architectures=80,90")
        self.write("new/bin/nvcc", script.replace("*refused*", "*sobol*90*"))
        said = self.study(*words)
        self.assertIn("\nleft out: sobol, written, sm_90: refused by the new toolkit\n", said)
        self.assertRegex(said, r"sm_80 +2 .*\nsm_90 +1 ")
        self.write("new/bin/nvcc", script.replace("*slow*", "*sobol*80*"))
        said = self.study(*words, "--seconds=1")
        self.assertIn("sobol, written, sm_80: not compiled in 1 s by the new toolkit\n", said)

    def test_the_table_counts(self):
        """Whether local memory grew is told by its bytes, else by its loads, else its stores."""
        changed = [
            {"kernel": "a", "registers": [20, 18]},
            {"kernel": "b", "registers": [20, 24], "local_bytes": [8, 16], "local_loads": [9, 1]},
            {"kernel": "c", "local_loads": [1, 0], "loads": [["LDL: array", 1, 0]]},
            {"kernel": "d", "parameter_bytes": [372, 548]},
            {"kernel": "e", "loads": [["LDS: x, block", 0, 1], ["LDS: x, thread", 1, 0]]},
            {"kernel": "f", "loads": [["LDS: x, block", 0, 1], ["LDS: x, thread", 1, 0]]},
        ]
        file = {"file": "add", "space": "written", "kernels": 9, "changed": changed}
        report = {
            "toolkits": {"old": "1.0", "new": "2.0"},
            "files": [{**file, "architecture": number, "only_in_one": []} for number in (90, 80)],
        }
        self.write("report.json", report)
        self.assertEqual(
            re.sub("  +", " ", self.study("--show", "report.json")),
            "nvcc 2.0 beside nvcc 1.0\n"
            "architecture kernels same loads other loads other addresses more local memory"
            " less local memory more registers less registers\n"
            "sm_80 9 6 1 2 1 1 1 1\n"
            "sm_90 9 6 1 2 1 1 1 1\n"
            "b, sm_80, sm_90: bytes of local memory 8 -> 16; loads from local memory 9 -> 1\n"
            "c, sm_80, sm_90: LDL: array: 1 -> 0; loads from local memory 1 -> 0\n"
            "e and 1 more, sm_80, sm_90: LDS: x, block: 0 -> 1; LDS: x, thread: 1 -> 0\n",
        )

    def test_usage(self):
        self.assertIn("no file none", self.study(*self.sides(b""), "--files=none", status=2))
        self.assertIn("--old DIR", self.study("--json", "out.json", status=2))

    def test_the_committed_report(self):
        """Of each file there is an answer for each architecture, and each change is one."""
        report = read_json(RESULT)
        keys = [(file["file"], file["space"], file["architecture"]) for file in report["files"]]
        self.assertEqual(len(keys), len(set(keys)))
        self.assertEqual(len(keys), len({key[:2] for key in keys}) * 5)
        for file in report["files"]:
            for row in file.get("changed", ()):
                for key in set(row) - {"kernel", "tables"}:
                    for before, after in (
                        [load[1:] for load in row[key]] if key == "loads" else [row[key]]
                    ):
                        self.assertNotEqual(before, after, (file["file"], row))


if __name__ == "__main__":
    unittest.main()
