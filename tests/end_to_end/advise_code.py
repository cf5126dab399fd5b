#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of what cbank advise --kernel takes, and of the answer that a person reads. CBANK names the
program (default build/cbank)."""

import json
import os
import shlex
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


class Answer(Scratch):
    """The text of a file with several kernels: those of tests/data/answer.cu."""

    CUBIN = os.path.join(CORPUS, "answer_sm_90.cubin")

    def said(self, *words, status=0):
        done = cbank("advise", "--kernel", self.CUBIN, *words)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout.replace(self.CUBIN, "FILE")

    def test_it_reads_as_it_did(self):
        """At 80 columns no line is longer, and no word or row is divided."""
        for name, words in (("answer", ()), ("answer_loads", ("--all-loads",))):
            said = self.said(*words)
            with open(os.path.join(ROOT, f"tests/golden/{name}.txt"), encoding="utf-8") as file:
                self.assertEqual(said, file.read(), name)
            self.assertLessEqual(max(map(len, said.splitlines())), 80)

    def test_the_summary_counts_what_the_document_has(self):
        code = json.loads(self.said("--json", "-"))["code"]
        verdicts = {}
        for kernel in code["kernels"]:
            for table in kernel["tables"]:
                variable = table["table_bytes"] is not None
                template = kernel["name"].split("I")[0]
                key = (None if variable else template, table["table"], table["memory"])
                verdicts.setdefault(key, set()).add(table["verdict"])
        said = self.said()
        self.assertIn(f"\n5 kernels of 3 names, {len(verdicts)} tables\n", said)
        worse = [key for key, told in verdicts.items() if "faster elsewhere" in told]
        self.assertEqual(worse, [(None, "lut", "constant")])
        self.assertIn("\n    1 would be faster elsewhere: lut in 2 kernels of scale<...>\n", said)
        fine = [key for key, told in verdicts.items() if told == {"as it should be"}]
        self.assertIn(f"\n    {len(fine)} are as they should be\n", said)

    def test_bytes_of_constant_banks(self):
        """256 and 64 floats, and 1,000 bytes; two pointers and, in one kernel, an integer behind
        the 528 bytes that the driver has on sm_90."""
        kernels = json.loads(self.said("--json", "-"))["code"]["kernels"]
        self.assertEqual({kernel["constant_bytes"] for kernel in kernels}, {1024 + 256 + 1000})
        self.assertEqual(
            {kernel["parameter_bytes"] - 528 for kernel in kernels if "mean" in kernel["name"]},
            {8 + 8 + 4},
        )
        self.assertIn("constant bank: 2280 bytes of 65536 in use", self.said())

    def test_a_kernel_is_chosen(self):
        for glob, kernels, left_out in (
            ("scale*", 3, 2),
            ("scale", 3, 2),
            ("scale<...>", 3, 2),
            ("*<float, 3>*", 1, 4),
            ("mean", 1, 4),
            ("filters::mean", 1, 4),
            ("filters::*", 1, 4),
            ("filters::mean(float const[*], float[*], int)", 1, 4),
            ("_Z5scaleIiLi1EEvPKT_PS0_", 1, 4),
            ("*", 5, 0),
        ):
            code = json.loads(self.said("--kernel-name", glob, "--json", "-"))["code"]
            self.assertEqual(len(code["kernels"]), kernels, glob)
            if left_out:
                self.assertIn(
                    f"(--kernel-name leaves out {left_out})", self.said("--kernel-name", glob)
                )
        done = cbank("advise", "--kernel", self.CUBIN, "--kernel-name", "nothing")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("none of 5 kernels of sm_90 is named nothing", done.stderr)

    def test_loads_of_one_template_are_printed(self):
        """Those of instances with the same loads once."""
        said = self.said("--kernel-name", "scale")
        self.assertEqual(said.count("\nkernel "), 2)
        self.assertIn("\nand 1 more of scale<...>, whose loads are alike\n", said)
        self.assertNotIn("\nkernel ", self.said())
        self.assertEqual(self.said("--all-loads").count("\nkernel "), 4)

    def test_fail_names_the_table(self):
        done = cbank("advise", "--kernel", self.CUBIN, "--fail")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(
            done.stderr, r"\Acbank: --fail: lut in 2 kernels of scale<...>: constant keeps .*x\n\Z"
        )
        self.assertEqual(done.stdout, cbank("advise", "--kernel", self.CUBIN).stdout)
        done = cbank("advise", "--kernel", self.CUBIN, "--fail", "--kernel-name", "mean")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_command_is_printed_so_that_a_shell_takes_it(self):
        said = cbank("advise", "--table-bytes", "64", "--elements", "1024").stdout
        command = said.split("\nmeasure: ")[1].split("\n\n")[0]
        self.assertIn(" \\\n", command)
        self.assertEqual(
            shlex.split(command.replace("\\\n", "")),
            shlex.split(
                json.loads(
                    cbank(
                        "advise", "--table-bytes", "64", "--elements", "1024", "--json", "-"
                    ).stdout
                )["measure"]
            ),
        )

    def test_options_of_code(self):
        for words in (("--kernel-name", "x"), ("--all-loads",), ("--fail",)):
            done = cbank("advise", "--table-bytes", "64", *words)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("--kernel", done.stderr)


if __name__ == "__main__":
    unittest.main()
