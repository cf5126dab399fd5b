#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that change a scratch copy of the tree, build it and look at the outcome: that a row is all that a
new pattern needs, and that the kernel checks catch kernels that were broken on purpose.

CBANK_CUDA names the CUDA toolkit; without one, what needs it is skipped.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOOLKIT = os.environ.get("CBANK_CUDA", "")
PATH = os.pathsep.join(([os.path.join(TOOLKIT, "bin")] if TOOLKIT else []) + [os.environ["PATH"]])
DISASSEMBLER = shutil.which("nvdisasm", path=PATH)

# Any disassembler that is about knows this one.
ARCHITECTURE = "90"

# A pattern that no table has: neighbouring threads in reverse.
ROW = 'PATTERN(reversed, "neighbouring threads, backwards", (length - 1u - thread) % length)\n'
ROW_COUNT = 5


class Scratch:
    """A copy of the tree, with what was built so far: only what a change touches is built again."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = os.path.join(self.folder.name, "cbank")
        skip = shutil.ignore_patterns(".git", "asan", "clang", "nocuda", "local", "__pycache__")
        shutil.copytree(ROOT, self.root, ignore=skip, symlinks=True)

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
        return self.check("check_ptx", "--program", "build/cbank", f"build/images/kernels.compute_{ARCHITECTURE}.ptx")


class Case(unittest.TestCase):
    def setUp(self):
        self.scratch = Scratch()
        self.addCleanup(self.scratch.close)

    def needs(self, architecture):
        """Skips the test where the toolkit is too old, or too new, for the architecture."""
        known = self.scratch.run(os.path.join(TOOLKIT, "bin/nvcc"), "--list-gpu-code").stdout.split()
        if f"sm_{architecture}" not in known:
            self.skipTest(f"this toolkit does not know sm_{architecture}")


class PatternRow(Case):
    """A pattern is one row in one file."""

    def test_row_is_all_a_pattern_needs(self):
        self.scratch.edit("patterns/patterns.def", "#undef PATTERN", ROW + "#undef PATTERN")
        self.scratch.make()

        rows = json.loads(self.scratch.run("build/cbank", "list", "patterns", "--json").stdout)
        self.assertEqual(len(rows), ROW_COUNT)
        self.assertEqual(rows[-1]["name"], "reversed")
        self.assertIn("thread", rows[-1]["formula"])

        done = self.scratch.run("build/cbank", "run", "--engine", "model", "--json", "result.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("reversed", done.stdout)
        with open(os.path.join(self.scratch.root, "result.json"), encoding="utf-8") as file:
            cells = json.load(file)["cells"]
        self.assertEqual(len(cells), ROW_COUNT * 3 * 2)
        new = [cell for cell in cells if cell["pattern"] == "reversed"]
        self.assertEqual(len(new), 6)
        for cell in new:
            self.assertEqual(cell["status"], "ok")
            if cell["path"] == "constant":
                self.assertEqual(cell["model"]["requests_per_load"], 32)

        if TOOLKIT:
            done = self.scratch.check_ptx()
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertRegex(done.stdout, rf"compute_{ARCHITECTURE} +15 +15")
            self.assertTrue(all(cell["kernel"]["name"] for cell in new))
        if TOOLKIT and DISASSEMBLER:
            done = self.scratch.check_sass()
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertRegex(done.stdout, rf"sm_{ARCHITECTURE} +15 +15")


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

    def test_constant_reads_global_memory(self):
        said = self.broken("kernels/paths.def", '"LDC", "ld.const", cbank_values[index]',
                           '"LDC", "ld.const", table[index]')
        self.assertEqual(len(re.findall(r"FAIL compute_90 \S*path_constant\S*: expected 1 ld.const, 1 ld.global, "
                                        r"1 st.global; found 2 ld.global, 1 st.global", said)), 4)

    def test_readonly_reads_plainly(self):
        said = self.broken("kernels/paths.def", "__ldg(&table[index])", "table[index]")
        self.assertEqual(len(re.findall("FAIL compute_90 .*path_readonly", said)), 4)

    def test_loads_twice(self):
        said = self.broken("kernels/kernels.cu", "sum += Path::load(args.table, index | divergence);",
                           "sum += Path::load(args.table, index | divergence) + "
                           "Path::load(args.table, (index | divergence) ^ 1u);")
        self.assertEqual(len(re.findall("FAIL compute_90", said)), 12)

    def test_missing_kernels(self):
        said = self.broken("kernels/kernels.cu", "template struct path_instances<workload_##name>;", "")
        self.assertEqual(len(re.findall("there 0 times, expected once", said)), 12)


@unittest.skipUnless(TOOLKIT, "no CUDA toolkit")
class HarnessCheck(Case):
    """What the harness reads from the images, with no disassembler."""

    def test_divergence_mask(self):
        """Without it, a warp-uniform index goes through the uniform datapath on recent architectures."""
        self.needs("100")
        self.scratch.edit("kernels/kernels.cu", "index | divergence", "index")
        self.scratch.make("100", "build/tests/test_kernels")
        done = self.scratch.run("build/tests/test_kernels")
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout + done.stderr, "kernels.sm_100.cubin .*path_constant.*per_block")


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
        self.assertRegex(done.stdout, rf"sm_{ARCHITECTURE} +12 +12")

    def test_constant_reads_global_memory(self):
        said = self.broken("kernels/paths.def", '"LDC", "ld.const", cbank_values[index]',
                           '"LDC", "ld.const", table[index]')
        self.assertEqual(len(re.findall(r"FAIL sm_90 \S*path_constant\S*: expected 1 LDC, 1 LDG, 1 STG; "
                                        r"found 2 LDG, 1 STG", said)), 4)

    def test_readonly_reads_plainly(self):
        said = self.broken("kernels/paths.def", "__ldg(&table[index])", "table[index]")
        self.assertEqual(len(re.findall("FAIL sm_90 .*path_readonly", said)), 4)

    def test_compile_time_index_makes_an_operand(self):
        """What PTX cannot tell: it still says ld.const."""
        said = self.broken("kernels/kernels.cu", "sum += Path::load(args.table, index | divergence);",
                           "sum += Path::load(args.table, 5u);")
        self.assertEqual(len(re.findall("FAIL sm_90 .*path_constant.*of the user bank", said)), 4)
        self.assertEqual(self.scratch.check_ptx().returncode, 0)

    def test_divergence_mask(self):
        """Without it, a warp-uniform index goes through the uniform datapath on recent architectures."""
        self.needs("100")
        self.scratch.edit("kernels/kernels.cu", "index | divergence", "index")
        self.scratch.make("100")
        done = self.scratch.check_sass()
        if "cannot decode" in done.stdout:
            self.skipTest("this nvdisasm cannot decode sm_100")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertRegex(done.stdout, "FAIL sm_100 .*path_constant.*pattern_per_block.*LDCU of the user bank")

    def test_loop(self):
        said = self.broken("kernels/kernels.cu", "sum += Path::load(args.table, index | divergence);",
                           "for (uint32_t i = 0; i < args.elements; i++) "
                           "{ sum += i; asm volatile(\"\" : \"+r\"(sum)); }\n"
                           "sum += Path::load(args.table, index | divergence);")
        self.assertGreaterEqual(len(re.findall("FAIL sm_90 .*a loop", said)), 12)


if __name__ == "__main__":
    unittest.main()
