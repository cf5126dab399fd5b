#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of what cbank advise --kernel takes, and of the answer that a person reads. CBANK names the
program (default build/cbank)."""

import json
import os
import re
import shlex
import shutil
import subprocess
import unittest

import jsonschema

from common import ROOT, Scratch, cbank, read_bytes, read_json

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

    def test_static_kernels_have_their_names(self):
        """nvcc hides those of code that is linked on the device behind a hash."""
        if not nvcc():
            self.skipTest("no nvcc")
        with open(self.path("hidden.cu"), "w", encoding="utf-8") as file:
            file.write(
                "static __global__ void hidden(int *out) { out[1] = out[0]; }\n"
                "void launch(int *out) { hidden<<<1, 1>>>(out); }\n"
            )
        subprocess.run(
            [nvcc(), "-rdc=true", "-arch=sm_90", "-c", "hidden.cu"],
            check=True,
            capture_output=True,
            cwd=self.path(""),
        )
        (kernel,) = self.kernels(self.MAGIC + member("a.o/", read_bytes(self.path("hidden.o"))))
        self.assertRegex(kernel["name"], "^__nv_static_.*_Z6hiddenPi$")
        self.assertEqual(kernel["readable_name"], "hidden(int*)")

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
        self.assertIn("\n    1 would be faster elsewhere: lut in 3 kernels of scale<...>\n", said)
        fine = [key for key, told in verdicts.items() if told == {"as it should be"}]
        self.assertIn(f"\n    {len(fine)} are as they should be\n", said)

    def test_a_table_of_several_verdicts_counts_once(self):
        """Each heading has its line in the summary."""
        said = cbank(
            "advise",
            "--kernel",
            self.CUBIN.replace("answer", "verdicts"),
            "--kernel-name",
            "*side*",
        ).stdout
        self.assertIn("\n    1 would be faster elsewhere: c in once_beside_a_sine\n", said)
        self.assertIn("\ndepends: ", said)
        self.assertIn(
            "\n    of these, some depend on which loads run most in other kernels\n", said
        )

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
            done.stderr,
            r"\Acbank: --fail: lut in 3 kernels of scale<...>: by the card of H200, constant keeps"
            r" .*x\n\Z",
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


class Against(Scratch):
    """--against OLD: what differs between two files."""

    HEAD = """__constant__ float lut[256];
#define KERNEL(name) extern "C" __global__ void name(const float *x, float *o, int n)
"""
    OLD = """KERNEL(kept) { o[threadIdx.x] = x[threadIdx.x]; }
KERNEL(moved) { o[threadIdx.x] = lut[threadIdx.x] * x[threadIdx.x]; }
KERNEL(gone) { o[threadIdx.x] = 2 * x[threadIdx.x]; }
"""
    NEW = """KERNEL(kept) { o[threadIdx.x] = x[threadIdx.x]; }
KERNEL(moved) { o[threadIdx.x] = lut[blockIdx.x] * x[threadIdx.x]; }
KERNEL(added) { o[threadIdx.x] = 2 * x[threadIdx.x]; }
"""
    # 64 values that are all in use across a barrier: 32 registers do not hold them.
    PRESSED = """KERNEL(pressed) {
    float v[64], s = 0;
#pragma unroll
    for (int i = 0; i < 64; i++) v[i] = x[threadIdx.x + 64 * i];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 64; i++) { s = s * v[i] + v[63 - i]; o[threadIdx.x + 64 * i] = s; }
}
"""

    def compile(self, name, code, *options, architecture=90):
        with open(self.path("kernels.cu"), "w", encoding="utf-8") as file:
            file.write(self.HEAD + code)
        subprocess.run(
            [
                nvcc(),
                "-cubin",
                f"-arch=sm_{architecture}",
                *options,
                "-o",
                f"{name}.cubin",
                "kernels.cu",
            ],
            check=True,
            capture_output=True,
            cwd=self.path(""),
        )
        return self.path(f"{name}.cubin")

    def compared(self, new, old):
        done = cbank("advise", "--kernel", new, "--against", old, "--json", "-")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        advice = json.loads(done.stdout)
        jsonschema.validate(advice, read_json(os.path.join(ROOT, "results/advice.schema.json")))
        text = cbank("advise", "--kernel", new, "--against", old)
        self.assertEqual((text.returncode, text.stderr), (0, ""))
        return advice["against"], text.stdout

    def test_a_file_beside_itself(self):
        path = os.path.join(CORPUS, "answer_sm_90.cubin")
        against, said = self.compared(path, path)
        self.assertEqual((against["changes"], against["only_in_one"]), ([], []))
        self.assertIn("\n5 kernels are in both, 0 of them changed", said)
        self.assertEqual(against["architecture"], 90)

    def test_files_without_a_common_kernel(self):
        names = [os.path.join(CORPUS, f"{name}_sm_90.cubin") for name in ("answer", "lookup")]
        done = cbank("advise", "--kernel", names[0], "--against", names[1])
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn(f"no kernel is in both {names[0]} and {names[1]}", done.stderr)
        done = cbank("advise", "--kernel", names[0], "--against", self.path("none"))
        self.assertEqual((done.returncode, done.stdout), (2, ""))

    def test_loads_and_tables(self):
        """A table is read at another index; a kernel is in one file alone."""
        if not nvcc():
            self.skipTest("no nvcc")
        for options in ((), ("-lineinfo",)):
            old = self.compile("old", self.OLD, *options)
            against, said = self.compared(self.compile("new", self.NEW, *options), old)
            self.assertEqual(against["file"], old)
            self.assertEqual({change["kernel"] for change in against["changes"]}, {"moved"})
            (table,) = [change for change in against["changes"] if change["kind"] == "table"]
            self.assertEqual(
                [table[key] for key in ("name", "verdict_before", "verdict_after")],
                ["lut in constant", "faster elsewhere", "as it should be"],
            )
            loads = {
                re.sub(", kernels.cu:4", "", change["name"]): (change["before"], change["after"])
                for change in against["changes"]
                if change["kind"] == "load"
            }
            self.assertEqual(
                loads,
                {"LDC: lut, affine, 4 bytes apart": (1, 0), "ULDC: lut, block": (0, 1)},
            )
            self.assertEqual(
                sorted((kernel["kernel"], kernel["before"]) for kernel in against["only_in_one"]),
                [("added", False), ("gone", True)],
            )
            self.assertIn("\n2 kernels are in both, 1 of them changed", said)
            self.assertIn("\nonly before: gone\nonly after: added\n", said)
            self.assertIn("\nkernel moved\n", said)
            self.assertNotIn("kernel kept", said)

    def test_names_of_a_file_alone(self):
        """nvcc puts a hash of the file's path into them. Kernels of one file are told apart."""
        if not nvcc():
            self.skipTest("no nvcc")
        source = (
            "namespace { struct tag {}; __constant__ float lut[64]; }\n"
            "template <class T> __global__ void look_up(float *o, int i)\n"
            "{ o[threadIdx.x] = lut[INDEX]; }\n"
            "void *kernel = (void *)&look_up<tag>;\n"
        )
        for folder, index in (("a", "threadIdx.x"), ("b", "i")):
            self.write(f"{folder}/k.cu", source)
            subprocess.run(
                [nvcc(), "-cubin", "-arch=sm_90", f"-DINDEX={index}", "-o", f"{folder}.cubin"]
                + [os.path.join(folder, "k.cu")],
                check=True,
                capture_output=True,
                cwd=self.path(""),
            )
        against, said = self.compared(self.path("b.cubin"), self.path("a.cubin"))
        self.assertEqual(against["only_in_one"], [])
        self.assertIn("\n1 kernel is in both, 1 of them changed", said)
        # One table, whose verdict changed; not one that came and one that went.
        tables = [change for change in against["changes"] if change["kind"] == "table"]
        self.assertLessEqual(len(tables), 1)
        for table in tables:
            self.assertNotIn(None, (table["verdict_before"], table["verdict_after"]))
        self.assertIn("load", {change["kind"] for change in against["changes"]})

    def test_namesakes_of_two_files(self):
        """Kernels of one name in two files of a library: which is which cannot be told where the
        files moved, and where they did not it can."""
        if not nvcc():
            self.skipTest("no nvcc")
        for folder in "xy":
            for name in "ab":
                value = "x[1]" if name == "a" else "x[2] + x[3]"
                self.write(
                    f"{folder}/{name}/k.cu",
                    "static __global__ void hidden(float *x) { x[0] = " + value + "; }\n"
                    f"void {name}(float *x) {{ hidden<<<1, 1>>>(x); }}\n",
                )
                subprocess.run(
                    [nvcc(), "-rdc=true", "-arch=sm_90", "-c", "-o", f"{folder}{name}.o"]
                    + [os.path.join(folder, name, "k.cu")],
                    check=True,
                    capture_output=True,
                    cwd=self.path(""),
                )
            subprocess.run(
                ["ar", "qc", f"{folder}.a", f"{folder}a.o", f"{folder}b.o"],
                check=True,
                cwd=self.path(""),
            )
        against, said = self.compared(self.path("x.a"), self.path("x.a"))
        self.assertEqual((against["changes"], against["only_in_one"]), ([], []))
        self.assertIn("\n2 kernels are in both, 0 of them changed", said)
        # The name of the kernel, not that of the function of its file, which the name has, too.
        done = cbank("advise", "--kernel", self.path("x.a"), "--kernel-name=hidden", "--json=-")
        kernels = json.loads(done.stdout)["code"]["kernels"]
        self.assertEqual([kernel["readable_name"] for kernel in kernels], 2 * ["hidden(float*)"])
        done = cbank("advise", "--kernel", self.path("y.a"), "--against", self.path("x.a"))
        self.assertEqual((done.returncode, done.stdout), (3, ""))

    def test_spills(self):
        """The same source with 32 registers: the rest is in local memory."""
        if not nvcc():
            self.skipTest("no nvcc")
        old = self.compile("old", self.PRESSED)
        against, said = self.compared(self.compile("new", self.PRESSED, "-maxrregcount=32"), old)
        changes = {change["name"]: change for change in against["changes"]}
        self.assertLessEqual(changes["registers"]["after"], 32)
        self.assertGreater(changes["registers"]["before"], 64)
        for name in ("bytes of local memory", "loads from local memory", "stores to local memory"):
            self.assertEqual(changes[name]["before"], 0)
            self.assertGreater(changes[name]["after"], 0)
        # Half of the 64 values at least.
        self.assertGreaterEqual(changes["bytes of local memory"]["after"], 4 * 32)
        self.assertIn("\n  local memory, array 1: - -> ", said)

    def test_wavefronts(self):
        """Rows of 32 words begin in one bank, rows of 34 in 16, rows of 33 in all."""
        if not nvcc():
            self.skipTest("no nvcc")
        code = """KERNEL(column) {
    __shared__ float t[32 * ROW];
    for (int i = threadIdx.x; i < 32 * ROW; i += blockDim.x) t[i] = x[i];
    __syncthreads();
    o[threadIdx.x] = t[threadIdx.x % 32 * ROW];
}
"""
        old = self.compile("old", code, "-DROW=32")
        against, said = self.compared(self.compile("new", code, "-DROW=34"), old)
        (table,) = [change for change in against["changes"] if change["kind"] == "table"]
        self.assertEqual((table["verdict_before"], table["verdict_after"]), 2 * ("bank conflicts",))
        self.assertEqual((table["wavefronts_before"], table["wavefronts_after"]), (32, 2))
        self.assertIn("bank conflicts; wavefronts of a load 32 -> 2\n", said.replace("\n    ", " "))
        against, said = self.compared(self.compile("new", code, "-DROW=33"), old)
        (table,) = [change for change in against["changes"] if change["kind"] == "table"]
        self.assertEqual((table["wavefronts_before"], table["wavefronts_after"]), (32, 1))
        self.assertIn(
            "bank conflicts -> as it should be; wavefronts of a load 32 -> 1\n",
            said.replace("\n    ", " "),
        )

    def test_architectures_begin_shared_memory_elsewhere(self):
        """From sm_90 on the first KB is the driver's: the same array is at another offset."""
        if not nvcc():
            self.skipTest("no nvcc")
        code = """KERNEL(tile) {
    __shared__ float t[256];
    t[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    o[threadIdx.x] = t[255 - threadIdx.x];
}
"""
        old = self.compile("old", code, architecture=80)
        against, _ = self.compared(self.compile("new", code), old)
        self.assertEqual(
            [change["name"] for change in against["changes"] if change["kind"] != "use"], []
        )
        self.assertEqual(against["architecture"], 80)


if __name__ == "__main__":
    unittest.main()
