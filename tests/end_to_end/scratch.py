#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that change a scratch copy of the tree, build it and look at the outcome: that a row is all that a
new pattern, path or workload needs, and that the kernel checks catch kernels that were broken on purpose (more of
those: kernel_faults.py).

CBANK_CUDA names the CUDA toolkit; without one, what needs it is skipped. Kernels are built for one architecture, and
for one workload of each shape.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOLKIT = os.environ.get("CBANK_CUDA", "")
PATH = os.pathsep.join(([os.path.join(TOOLKIT, "bin")] if TOOLKIT else []) + [os.environ["PATH"]])
DISASSEMBLER = shutil.which("nvdisasm", path=PATH)

# Any disassembler that is about knows this one.
ARCHITECTURE = "90"

# Rows that no table has.
PATTERN = ('PATTERN(reversed, "neighbouring threads, backwards", INDEX_THREAD, 0, 0, 0, '
           '(length - 1u - thread) % length)\n')
PATH_ROW = ('PATH(fresh, "global memory, fetched again by every load", TABLE_GLOBAL, UNIT_L2, INDEX_THREAD, '
            '1024u, 0, 35, 1, "LDG.STRONG", "ld.global.cv", __ldcv(&table[index]))\n')
WORKLOAD = ('WORKLOAD(triple, "three loads a thread", map, 1, 3, INDEX_COMPILED, BEFORE_NOTHING, 0, 0, "lockstep", '
            '"4096", "64", input - 2u * sum)\n')

# One workload of each shape, and their kernels on an architecture that has every path: of add, 9 paths that take every
# one of 8 patterns, constant_uniform with 3 and constant_operand with 2; of the others lockstep on 11 paths, radius 1.
WORKLOADS = ["add", "stencil_1d", "conv_1d"]
KERNELS = 9 * 8 + 3 + 2 + 11 + 11


class Scratch:
    """A copy of the tree, with what was built so far: only what a change touches is built again."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = os.path.join(self.folder.name, "cbank")
        shutil.copytree(ROOT, self.root, ignore=self.ignored, symlinks=True)
        if TOOLKIT:
            self.keep_workloads()

    @staticmethod
    def ignored(folder, names):
        if folder == os.path.join(ROOT, "build"):  # whatever else people build there
            return set(names) - {"obj", "images", "cbank", "libcjson.so.1"}
        return {".git", "local", "__pycache__"} & set(names)

    def keep_workloads(self):
        """Leaves WORKLOADS in the table, convolutions with one radius, and what compilers choose of these open."""
        path = os.path.join(self.root, "kernels/workloads.def")
        with open(path, encoding="utf-8") as file:
            head, *rows = re.split(r"(?m)^(?=WORKLOAD\(|#undef)", file.read())
        rows = [re.sub(r'(PARAMETER_BIT\(radius\), )\d', r"\g<1>1", row) for row in rows
                if row.startswith("#undef") or re.match(r"WORKLOAD\((\w+)", row).group(1) in WORKLOADS]
        if len(rows) != len(WORKLOADS) + 1:
            raise AssertionError("kernels/workloads.def is not as this test thinks")
        with open(path, "w", encoding="utf-8") as file:
            file.write(head + "".join(rows))
        with open(os.path.join(self.root, "scripts/chosen.txt"), "w", encoding="utf-8") as file:
            file.write("1.0 sm_10 none 0 0\n")

    def close(self):
        self.folder.cleanup()

    def edit(self, name, old, new):
        """Replaces the one place where old stands."""
        path = os.path.join(self.root, name)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if text.count(old) != 1:
            raise AssertionError(f"{name} holds {text.count(old)} times: {old}")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(old, new))

    def run(self, *command):
        # A make of its own: nothing of the job server or the variables of the make that runs the tests.
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS"))}
        return subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=False, timeout=500,
                              env={**clean, "PATH": PATH})

    def make(self, architecture=ARCHITECTURE, target="all", variables=()):
        toolkit = [f"CUDA={TOOLKIT}", f"ARCHS={architecture}"] if TOOLKIT else ["NO_CUDA=1"]
        done = self.run("make", *toolkit, *variables, target)
        if done.returncode != 0:
            raise AssertionError(f"make fails:\n{done.stdout}{done.stderr}")
        return done

    def check(self, script, *arguments):
        return self.run(sys.executable, f"scripts/{script}.py", *arguments)

    def check_sass(self):
        return self.check("check_sass", "build/cbank")

    def check_ptx(self):
        images = os.path.join(self.root, "build/images")
        names = [row["name"] for row in self.rows("workloads")]
        return self.check("check_ptx", "--program", "build/cbank",
                          *(os.path.join(images, f"{name}.compute_{ARCHITECTURE}.ptx") for name in names))

    def rows(self, table):
        return json.loads(self.run("build/cbank", "list", table, "--json").stdout)

    def cells(self, *arguments):
        """The cells of a run of the model engine, and what it prints."""
        done = self.run("build/cbank", "run", "--engine", "model", "--json", "result.json", *arguments)
        if done.returncode != 0:
            raise AssertionError(f"run fails:\n{done.stdout}{done.stderr}")
        with open(os.path.join(self.root, "result.json"), encoding="utf-8") as file:
            return json.load(file)["cells"], done.stdout


class Case(unittest.TestCase):
    def setUp(self):
        self.scratch = Scratch()
        self.addCleanup(self.scratch.close)

    def needs(self, architecture):
        """Skips the test where the toolkit is too old, or too new, for the architecture."""
        known = self.scratch.run(os.path.join(TOOLKIT, "bin/nvcc"), "--list-gpu-code").stdout.split()
        if f"sm_{architecture}" not in known:
            self.skipTest(f"this toolkit does not know sm_{architecture}")


class Row(Case):
    """A pattern, a path and a workload are one row in one file."""

    def checks(self, kernels):
        """The kernel checks find so many kernels, all right."""
        if TOOLKIT:
            done = self.scratch.check_ptx()
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertRegex(done.stdout, rf"compute_{ARCHITECTURE} +{kernels} +{kernels}\b")
        if TOOLKIT and DISASSEMBLER:
            done = self.scratch.check_sass()
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertRegex(done.stdout, rf"sm_{ARCHITECTURE} +{kernels} +{kernels}\b")

    def check_ok(self, cells, *skipped):
        """All cells are ok, with their kernel where there are kernels, but for those of some paths."""
        for cell in cells:
            self.assertEqual(cell["status"], "skipped" if cell["path"] in skipped else "ok", cell)
            self.assertEqual(bool(cell["reason"]), cell["path"] in skipped, cell)
            if TOOLKIT and cell["status"] == "ok":
                self.assertTrue(cell["kernel"]["name"], cell)

    def test_pattern(self):
        self.scratch.edit("patterns/patterns.def", "#undef PATTERN", PATTERN + "#undef PATTERN")
        self.scratch.make()
        rows = self.scratch.rows("patterns")
        self.assertEqual((len(rows), rows[-1]["name"]), (9, "reversed"))
        self.assertIn("thread", rows[-1]["formula"])

        cells, printed = self.scratch.cells("--pattern", "reversed", "--path", "all")
        self.assertIn("reversed", printed)
        self.assertEqual(len(cells), 11 * 2)
        self.check_ok(cells, "constant_uniform", "constant_operand")
        for cell in cells:
            if cell["path"] in ("constant", "param"):
                self.assertEqual(cell["model"]["requests_per_load"], 32)
        self.checks(KERNELS + 9)

    def test_path(self):
        self.scratch.edit("kernels/paths.def", "#undef PATH", PATH_ROW + "#undef PATH")
        self.scratch.make()
        rows = self.scratch.rows("paths")
        self.assertEqual((len(rows), rows[-1]["name"]), (12, "fresh"))

        cells, printed = self.scratch.cells("--path", "constant,fresh", "--workload", "add,conv_1d", "--radius", "1",
                                            "--elements", "4096")
        self.assertIn("fresh", printed)
        self.assertEqual(len(cells), 2 * (4 + 1))
        self.check_ok(cells)
        self.assertEqual({cell["array_bytes"] for cell in cells if cell["path"] == "fresh"}, {1024})
        self.checks(KERNELS + 8 + 1 + 1)

    def test_workload(self):
        self.scratch.edit("kernels/workloads.def", "#undef WORKLOAD", WORKLOAD + "#undef WORKLOAD")
        self.scratch.make()
        self.assertEqual(self.scratch.rows("workloads")[-1]["name"], "triple")

        cells, printed = self.scratch.cells("--workload", "triple", "--path", "all")
        self.assertIn("triple, 4096 elements, blocks of 64, hot", printed)
        self.assertEqual(len(cells), 11)
        self.check_ok(cells)
        self.checks(KERNELS + 11)


# Where a map kernel loads.
MAP_LOAD = "sum += Path::load(place, map_index<Workload, Path, Pattern>(args, step));"
# What keeps the compiler from seeing that an index is the same in all threads of a warp.
HIDDEN = "Path::scope == INDEX_THREAD ? threadIdx.x & args.divergence"
INSTANCES = "template struct radius_instances<WORKLOAD_TYPE(CBANK_WORKLOAD), WORKLOAD_TYPE(CBANK_WORKLOAD)<0>::radius_max>;"
# Mangled names of kernels of the path, and of no path whose name begins alike.
CONSTANT = r"\S*path_constant\d\S*"


@unittest.skipUnless(TOOLKIT, "no CUDA toolkit")
class PtxCheck(Case):
    def broken(self, name, old, new):
        self.scratch.edit(name, old, new)
        self.scratch.make()
        done = self.scratch.check_ptx()
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        return done.stdout

    def test_as_it_is(self):
        self.scratch.make()
        done = self.scratch.check_ptx()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, rf"compute_{ARCHITECTURE} +{KERNELS} +{KERNELS}\b")

    def test_constant_reads_global_memory(self):
        said = self.broken("kernels/paths.def", '"LDC", "ld.const", cbank_values[index]',
                           '"LDC", "ld.const", table[index]')
        self.assertEqual(len(re.findall(rf"FAIL compute_90 {CONSTANT}: expected", said)), 10)
        self.assertEqual(len(re.findall(rf"FAIL compute_90 {CONSTANT}: expected 1 ld.const, 1 ld.global, "
                                        r"1 st.global; found 2 ld.global, 1 st.global", said)), 8)

    def test_loads_twice(self):
        said = self.broken("kernels/kernels.cu", MAP_LOAD,
                           "{ " + MAP_LOAD + "\n" + MAP_LOAD.replace("(args, step)", "(args, step) ^ 1u") + " }")
        # 8 paths that take every pattern and load.
        self.assertGreaterEqual(len(re.findall(r"FAIL compute_90 \S*workload_add\S*: expected", said)), 8 * 8)

    def test_missing_kernels(self):
        said = self.broken("kernels/kernels.cu", INSTANCES, "")
        self.assertEqual(len(re.findall("there 0 times, expected once", said)), KERNELS)


@unittest.skipUnless(TOOLKIT, "no CUDA toolkit")
class HarnessCheck(Case):
    """What the harness reads from the images, with no disassembler."""

    def test_divergence_mask(self):
        """Without it, a warp-uniform index goes through the uniform datapath on recent architectures."""
        self.needs("100")
        self.scratch.edit("kernels/kernels.cu", HIDDEN, "Path::scope == INDEX_THREAD ? 0")
        self.scratch.make("100", "build/tests/unit/test_kernels")
        done = self.scratch.run("build/tests/unit/test_kernels")
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout + done.stderr, "add.sm_100.cubin add/constant/per_block.* (LDCU|ULDC)")


class Install(Case):
    def test_install_and_uninstall(self):
        self.scratch.make()
        place = os.path.join(self.scratch.root, "place")
        self.scratch.make(target="install", variables=[f"DESTDIR={place}", "PREFIX=/usr"])
        done = self.scratch.run(os.path.join(place, "usr/bin/cbank"), "list", "patterns")
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in ("schema.json", "card.schema.json", "cards/h200.json"):
            self.assertTrue(os.path.isfile(os.path.join(place, "usr/share/cbank", name)), name)
        self.scratch.make(target="uninstall", variables=[f"DESTDIR={place}", "PREFIX=/usr"])
        left = [file for _, _, files in os.walk(place) for file in files]
        self.assertEqual(left, [])

    def test_nothing_to_do_the_second_time(self):
        self.scratch.make()
        self.assertEqual(len(self.scratch.make().stdout.splitlines()), 1)


@unittest.skipUnless(TOOLKIT, "no CUDA toolkit")
@unittest.skipUnless(DISASSEMBLER, "no nvdisasm")
class SassCheck(Case):
    def broken(self, name, old, new):
        self.scratch.edit(name, old, new)
        self.scratch.make()
        done = self.scratch.check_sass()
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        return done.stdout

    def test_as_it_is(self):
        self.scratch.make()
        done = self.scratch.check_sass()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, rf"sm_{ARCHITECTURE} +{KERNELS} +{KERNELS}\b")

    def test_constant_reads_global_memory(self):
        said = self.broken("kernels/paths.def", '"LDC", "ld.const", cbank_values[index]',
                           '"LDC", "ld.const", table[index]')
        self.assertEqual(len(re.findall(rf"FAIL sm_90 {CONSTANT}: expected", said)), 10)
        self.assertEqual(len(re.findall(rf"FAIL sm_90 {CONSTANT}: expected 1 LDC, 1 LDG, 1 STG; "
                                        r"found 2 LDG, 1 STG", said)), 8)

    def test_divergence_mask(self):
        """Without it, a warp-uniform index goes through the uniform datapath on recent architectures."""
        self.needs("100")
        self.scratch.edit("kernels/kernels.cu", HIDDEN, "Path::scope == INDEX_THREAD ? 0")
        self.scratch.make("100")
        done = self.scratch.check_sass()
        if "cannot decode" in done.stdout:
            self.skipTest("this nvdisasm cannot decode sm_100")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"FAIL sm_100 \S*path_constant\d+pattern_per_block\S*: .*U?LDCU?")


if __name__ == "__main__":
    unittest.main()
