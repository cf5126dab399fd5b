#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of what cbank advise --kernel takes, and of the answer that a person reads. CBANK names the
program (default build/cbank)."""

import json
import os
import shutil
import subprocess
import unittest

from common import ROOT, Scratch, cbank, read_bytes

CORPUS = os.path.join(ROOT, "tests/corpus/cubin")
os.environ["COLUMNS"] = "80"


def nvcc():
    """The newest toolkit's; None: there is none."""
    toolkit = os.environ.get("CBANK_CUDA") or "/usr/local/cuda"
    return shutil.which("nvcc", path=os.pathsep.join([f"{toolkit}/bin", os.environ["PATH"]]))


def member(name, data, size=None):
    """A member of an archive; its header may lie about its size."""
    size = len(data) if size is None else size
    return (
        f"{name:16}{0:<12}{0:<6}{0:<6}{644:<8}{size:<10}`\n".encode()
        + data
        + b"\n" * (len(data) % 2)
    )


class Archives(Scratch):
    """Static libraries."""

    MAGIC = b"!<arch>\n"
    LONG = b"a_name_of_more_than_fifteen_bytes.o/\n"

    def setUp(self):
        super().setUp()
        self.object = read_bytes(os.path.join(CORPUS, "lookup.o"))
        self.cubin = read_bytes(os.path.join(CORPUS, "lookup_sm_90.cubin"))

    def advise(self, data, *words):
        with open(self.path("lib.a"), "wb") as file:
            file.write(data)
        return cbank("advise", "--kernel", self.path("lib.a"), *words)

    def kernels(self, data):
        done = self.advise(data, "--json", "-")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)["code"]["kernels"]

    def refused(self, data, saying):
        done = self.advise(data)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertEqual(
            done.stderr, f"cbank: error: {self.path('lib.a')}{saying}; copy it again\n"
        )

    def test_the_kernels_of_every_member(self):
        (alone,) = self.kernels(self.object)
        odd = b"an odd text"
        for name in ("a.o/", "/0", "#1/8"):
            found = self.kernels(
                self.MAGIC
                + member("/", b"\0\0\0\0")
                + member("//", self.LONG)
                + member("note.txt/", odd)
                + member(name, (b"bsd.o\0\0\0" if name == "#1/8" else b"") + self.object)
                + member("b.cubin/", self.cubin)
            )
            self.assertEqual(found, [alone, alone], name)

    def test_one_that_ar_wrote(self):
        (kernel,) = self.kernels(read_bytes(os.path.join(CORPUS, "lookup.a")))
        self.assertEqual(kernel, self.kernels(self.object)[0])

    def test_objects_that_are_not_linked(self):
        if not nvcc():
            self.skipTest("no nvcc")
        for name in ("first", "second"):
            with open(self.path(f"{name}.cu"), "w", encoding="utf-8") as file:
                file.write(f"__global__ void {name}(int *out) {{ out[1] = out[0]; }}\n")
        subprocess.run(
            [nvcc(), "-rdc=true", "-arch=sm_90", "-c", "first.cu", "second.cu"],
            check=True,
            capture_output=True,
            cwd=self.path(""),
        )
        objects = [read_bytes(self.path(f"{name}.o")) for name in ("first", "second")]
        self.assertEqual(
            [
                kernel["readable_name"]
                for kernel in self.kernels(
                    self.MAGIC + member("first.o/", objects[0]) + member("second.o/", objects[1])
                )
            ],
            ["first(int*)", "second(int*)"],
        )

    def test_damaged_ones(self):
        whole = self.MAGIC + member("a.o/", self.object)
        damaged = ": an archive that is cut off or damaged"
        self.refused(whole[:30], damaged)
        self.refused(whole[:-1], damaged)
        for size in (len(self.object) + 1, 9999999999, -1, "", "0x10", "1 0"):
            self.refused(self.MAGIC + member("a.o/", self.object, size), damaged)
        for name in ("/0", "/x", "#1/999999", "#1/"):
            self.refused(self.MAGIC + member(name, self.object), damaged)
        self.refused(
            self.MAGIC + member("//", self.LONG) + member(f"/{len(self.LONG)}", b""), damaged
        )
        # The member that is damaged is named.
        self.refused(
            self.MAGIC + member("//", self.LONG) + member("/0", self.object[:-64]),
            "(a_name_of_more_than_fifteen_bytes.o): an ELF file that is cut off or damaged",
        )


if __name__ == "__main__":
    unittest.main()
