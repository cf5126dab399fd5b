#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""End-to-end tests of cells of a user's kernel on the simulated GPU: the plan, --resume, compare
and gate. CBANK names the program that is linked to it (default build/tests/simulated/cbank)."""

import json
import os
import re
import shutil
import struct
import subprocess
import tempfile
import unittest

import jsonschema

from common import ROOT, Scratch, read_json

CBANK = os.path.abspath(os.environ.get("CBANK", os.path.join(ROOT, "build/tests/simulated/cbank")))
NVCC = os.path.join(ROOT, "tests/simulated/compiler/nvcc")
KERNEL = """#include <cbank.cuh>
CBANK_TABLE(squares, unsigned, 16, constant);
template <class Table>
__global__ void lookup(Table table, const unsigned *index, unsigned *out, unsigned count)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    table.stage();
    if (i < count)
        out[i] = table[index[i] & 15];
}
CBANK_CASE(lookup, 64, 256)
{
    const auto table = entries<squares>([](unsigned i) { return i * i; });
    const auto index = input<unsigned>(size);
    const auto out = output<unsigned>(size);
    launch(lookup<squares>, (size + 63) / 64, 64)(table, index, out, size);
    check(out, [=](cbank_u64 i) { return (index[i] & 15) * (index[i] & 15); });
}
"""
PLAN = [
    "--space",
    "constant,shared",
    "--size",
    "64,128",
    "--cache-state",
    "hot,cold",
    "--counters",
    "none",
]


@unittest.skipUnless(
    os.path.exists(CBANK), "no program for the simulated GPU: make simulated says why"
)
class Case(Scratch):
    kept = None  # a folder for all classes: what is compiled once stays

    @classmethod
    def setUpClass(cls):
        if Case.kept:
            return
        Case.kept = tempfile.mkdtemp()
        unittest.addModuleCleanup(shutil.rmtree, Case.kept)
        Case.file, Case.base = (
            os.path.join(Case.kept, name) for name in ("lookup.cu", "base.json")
        )
        with open(Case.file, "w", encoding="utf-8") as file:
            file.write(KERNEL)
        cls.cbank(cls, "run", "--kernel", Case.file, *PLAN, "--json", Case.base)

    def cbank(self, *arguments, status=0):
        done = subprocess.run(
            [CBANK, *arguments],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env={
                **os.environ,
                "CBANK_NVCC": NVCC,
                "CBANK_CACHE": os.path.join(self.kept, "cache"),
                "COLUMNS": "200",
            },
        )
        if done.returncode != status:
            raise AssertionError(f"{arguments}: {done.returncode}\n{done.stdout}{done.stderr}")
        return re.sub(r"\s+", " ", done.stdout + done.stderr)

    def changed(self, name, text=KERNEL.replace("i * i;", "i * i + 0u;")):
        return self.write(name, text)


class Suite(Case):
    def test_the_kernel_files_that_are_installed_with_the_program(self):
        os.makedirs(self.path("bin"))
        shutil.copy(CBANK, self.path("bin"))
        for library in (name for name in os.listdir(os.path.dirname(CBANK)) if ".so" in name):
            os.symlink(os.path.join(os.path.dirname(CBANK), library), self.path(f"bin/{library}"))
        command = [self.path("bin/cbank"), "run", "--suite", *PLAN, "--json", "suite.json"]
        environment = {
            **os.environ,
            "CBANK_NVCC": NVCC,
            "CBANK_CACHE": os.path.join(self.kept, "cache"),
        }
        for code, said in ((3, "make install puts"), (2, "share/cbank/examples has no .cu file")):
            done = subprocess.run(
                command,
                cwd=self.folder,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
            self.assertIn(said, done.stderr)
            os.makedirs(self.path("share/cbank/examples"), exist_ok=True)
        shutil.copy(self.file, self.path("share/cbank/examples"))
        self.write("share/cbank/examples/notes.txt", "no kernel file")
        done = subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        result = read_json(self.path("suite.json"))
        self.assertEqual(
            [row["file"] for row in result["kernel_files"]], ["share/cbank/examples/lookup.cu"]
        )
        self.assertEqual(
            {cell["identity"] for cell in result["cells"]},
            {cell["identity"] for cell in read_json(self.base)["cells"]},
        )

    def test_other_options_that_choose_kernels_are_refused(self):
        self.assertIn("--suite", self.cbank("run", "--suite", "--kernel", self.file, status=2))


class Run(Case):
    def test_the_plan_is_spaces_by_sizes_by_cache_states(self):
        result = read_json(self.base)
        jsonschema.Draft202012Validator(
            read_json(os.path.join(ROOT, "results/schema.json"))
        ).validate(result)
        (kernel,) = result["kernel_files"]
        self.assertEqual(
            (kernel["name"], kernel["file"], kernel["line"]), ("lookup", self.file, 11)
        )
        self.assertGreater(kernel["compile_seconds"], 0)
        again = self.path("again.json")
        self.cbank("run", "--kernel", self.file, *PLAN, "--json", again)
        self.assertEqual(read_json(again)["kernel_files"], [{**kernel, "compile_seconds": 0}])
        self.assertRegex(kernel["headers_sha256"], "^[0-9a-f]{64}$")
        self.assertEqual(
            [cell["identity"] for cell in result["cells"]],
            [
                f"lookup/{space}/own/{size}/0/{state}/kernel={kernel['sha256'][:16]}"
                for size in (64, 128)
                for state in ("hot", "cold")
                for space in ("constant", "shared")
            ],
        )
        for cell in result["cells"]:
            self.assertEqual(
                (cell["status"], cell["verified"], cell["case"]["findings"]),
                ("ok", True, []),
                cell["identity"],
            )
            self.assertEqual(cell["case"]["as_written"], cell["path"] == "constant")

    def test_sizes_are_those_of_the_case(self):
        path = self.path("own.json")
        self.cbank(
            "run",
            "--kernel",
            self.file,
            "--space",
            "constant",
            "--counters",
            "none",
            "--json",
            path,
        )
        self.assertEqual([cell["elements"] for cell in read_json(path)["cells"]], [64, 256])

    def test_options_that_do_not_go_together(self):
        for words, status, said in (
            (["--kernel", self.file, "--workload", "add"], 2, "the file says what is measured"),
            (["--kernel", self.file, "--distinct", "4"], 2, "the file says what is measured"),
            (["--size", "64"], 2, "go with --kernel FILE"),
            (["--kernel", self.file, "--size", "0"], 2, "--size: 0 is out of limits"),
            (
                ["--kernel", f"{self.file},{self.file}", "--space", "constant"],
                2,
                "lookup.cu:11: lookup is there twice",
            ),
            (
                ["--kernel", self.file, "--engine", "model"],
                3,
                "the engine model has no model of it",
            ),
        ):
            self.assertIn(
                said, self.cbank("run", *words, "--json", self.path("none.json"), status=status)
            )
        self.assertFalse(os.path.exists(self.path("none.json")))


class Resume(Case):
    def interrupted(self, file=None):
        """A result whose first cells are missing."""
        result = read_json(self.base)
        result.update(complete=False, finished_utc=None)
        for cell in result["cells"][:3]:
            cell["status"] = "pending"
            cell["time_ns"].update(samples=[], stop_reason=None)
        if file:
            result["kernel_files"][0]["file"] = file
        return self.write("interrupted.json", result)

    def test_pending_cells_are_measured(self):
        path = self.interrupted()
        self.assertIn("8 verified", self.cbank("run", "--resume", path, "--kernel", self.file))
        result = read_json(path)
        self.assertTrue(
            result["complete"] and all(cell["status"] == "ok" for cell in result["cells"])
        )

    def test_only_a_file_that_the_user_names_is_compiled(self):
        path = self.interrupted()
        self.assertIn(
            f"cells of the kernel file {self.file} are pending, and no file is compiled because a"
            " document names it; name it by --kernel FILE",
            self.cbank("run", "--resume", path, status=2),
        )
        self.assertIn(
            "leave out the options",
            self.cbank("run", "--resume", path, "--space", "shared", status=2),
        )
        changed = self.changed("lookup.cu", KERNEL + "an error\n")
        self.assertIn(
            "lookup.cu is not the file that was measured",
            self.cbank("run", "--resume", path, "--kernel", changed, status=2),
        )
        moved = self.path("moved/lookup.cu")
        os.mkdir(os.path.dirname(moved))
        shutil.copy(self.file, moved)
        self.assertIn("8 verified", self.cbank("run", "--resume", path, "--kernel", moved))

    def test_options_of_the_result_are_given_again_unless_they_are_harmless(self):
        path = self.path("options.json")
        words = ["--kernel", self.file, *PLAN, "--json", path]
        for options, refused in (("-DN=1 -O2", None), ("-DN=1 -use_fast_math", "-use_fast_math")):
            with self.subTest(options):
                self.cbank("run", *words, f"--compiler-options={options}")
                result = read_json(path)
                result.update(complete=False, finished_utc=None)
                result["cells"][0]["status"] = "pending"
                result["cells"][0]["time_ns"].update(samples=[], stop_reason=None)
                self.write("options.json", result)
                resume = ["run", "--resume", path, "--kernel", self.file]
                gate = ["gate", path, "--kernel", self.file, "--processes", "1", "--counters=none"]
                if refused:
                    for command in (resume, gate):
                        self.assertIn(
                            f"the compiler's option {refused}, and of a document only",
                            self.cbank(*command, status=2),
                        )
                    self.assertIn(
                        "is not the file that was measured",
                        self.cbank(*resume, "--compiler-options=-O1", status=2),
                    )
                    resume.append(f"--compiler-options={options}")
                    gate.append(f"--compiler-options={options}")
                self.assertIn("8 verified", self.cbank(*resume))
                self.cbank(*gate, status=4)


class Compare(Case):
    def test_cells_of_one_file_are_paired(self):
        again = self.path("again.json")
        self.cbank("run", "--kernel", self.file, *PLAN, "--json", again)
        compared = json.loads(self.cbank("compare", self.base, again, "--json", "-", status=4))
        jsonschema.Draft202012Validator(
            read_json(os.path.join(ROOT, "results/comparison.schema.json"))
        ).validate(compared)
        self.assertEqual(compared["counts"]["missing"] + compared["counts"]["new"], 0)
        self.assertEqual(len(compared["cells"]), 8)

    def test_a_file_that_changed_is_said(self):
        again = self.path("again.json")
        self.cbank(
            "run",
            "--kernel",
            self.changed("lookup.cu"),
            "--space",
            "constant",
            "--size",
            "64",
            "--counters",
            "none",
            "--json",
            again,
        )
        said = self.cbank("compare", self.base, again, status=3)
        self.assertIn("the kernel file of lookup changed: ", said)
        self.assertIn("8 missing", said)

    def test_a_gate_measures_the_file_of_base_again(self):
        path = self.path("gate.json")
        words = ["gate", self.base, "--processes", "1", "--counters", "none", "--json", path]
        self.assertIn(
            f"BASE has cells of the kernel file {self.file}, and no file is compiled because a"
            " document names it; name it by --kernel FILE",
            self.cbank(*words, status=2),
        )
        self.cbank(*words, "--kernel", self.file, status=4)
        compared = read_json(path)
        self.assertEqual(
            (len(compared["cells"]), compared["counts"]["missing"] + compared["counts"]["new"]),
            (8, 0),
        )

    def test_one_process_a_side_tells_no_change_and_a_gate_does(self):
        """A gate measures three processes of NEW or more, which tell the noise of the kernel."""
        slow = ["--kernel", self.file, "--counters", "none", "--slow", "constant:100"]
        new = self.path("new.json")
        self.cbank("run", *slow, *PLAN[:-2], "--json", new)
        said = self.cbank("compare", self.base, new, status=4)
        self.assertIn("as one process a side of a kernel tells no change (exit 4)", said)
        self.assertIn("measure three processes a side", said)
        slow[-1] = "constant:1.5"
        gate = ["gate", self.base, "--json", self.path("gate.json")]
        self.cbank(*gate, *slow, status=1)
        cells = read_json(self.path("gate.json"))["cells"]
        self.assertEqual(
            {cell["path"] for cell in cells if cell["verdict"] == "regressed"}, {"constant"}
        )
        self.cbank(*gate, *slow[:-2])

    def test_a_gate_refuses_another_file_before_it_is_compiled(self):
        changed = self.changed("lookup.cu", KERNEL + "an error\n")
        said = self.cbank("gate", self.base, "--kernel", changed, "--counters", "none", status=2)
        self.assertIn("lookup.cu is not the file that was measured", said)
        self.assertNotIn("an error", said)


class Data(Case):
    """.npy files that a case names are a part of the kernel."""

    def npy(self, name, values):
        data = struct.pack(f"<{len(values)}I", *values)
        head = "{'descr': '<u4', 'fortran_order': False, 'shape': (%d,), }" % len(values)
        head = head.ljust(117) + "\n"
        with open(self.path(name), "wb") as file:
            file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data)

    def case(self, name):
        text = KERNEL.replace("input<unsigned>(size)", f"input<unsigned>(size, npy{{{name}}})")
        return self.write("data.cu", text.replace("& 15)", "% 16)").replace("lookup", "data"))

    def run_data(self, status=0, *options):
        said = self.cbank(
            *("run", "--kernel", self.path("data.cu"), "--space", "written", "--size", "64"),
            *("--counters=none", "--json", self.path("data.json"), *options),
            status=status,
        )
        return said, None if status else read_json(self.path("data.json"))

    def test_their_bytes_are_a_part_of_the_hash(self):
        self.case('"index.npy"')
        hashes = []
        for first in (1, 2, 1):
            self.npy("index.npy", [first] + [3] * 63)
            _, result = self.run_data()
            self.assertTrue(result["cells"][0]["verified"])
            hashes.append(result["kernel_files"][0]["sha256"])
        self.assertNotEqual(hashes[0], hashes[1])
        self.assertEqual(hashes[0], hashes[2])

    def test_a_name_that_is_no_literal_is_refused(self):
        self.npy("index.npy", [3] * 64)
        self.case('"in" "dex.npy"')
        said = self.run_data(2)[0]
        self.assertIn("index.npy: the hash of", said)
        self.assertIn("write its name as one literal that ends with .npy", said)


if __name__ == "__main__":
    unittest.main()
