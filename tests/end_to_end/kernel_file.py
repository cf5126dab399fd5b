#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""End-to-end tests of users' kernels on the simulated GPU: a kernel file is compiled, measured,
compared and refused. The stand-in for nvcc (tests/simulated/compiler/nvcc) compiles for the
host."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
import unittest.mock

from common import CBANK, FULL, NOT_QUICK, QUICK, ROOT, read_json
from simulated import HERE, Case

EXAMPLES = os.path.join(ROOT, "examples")
CRC32 = os.path.join(EXAMPLES, "crc32.cu")
# Options of each example's launch, and two memory spaces beside constant memory that hold its
# table.
SIZES = {
    "aes_ctr": 256,
    "convolution_rows": 4,
    "crc32": 500,
    "fp4_matvec": 64,
    "iq2_matvec": 64,
    "jpeg_decode": 32,
    "json_tokens": 200,
    "lennard_jones": 4096,
    "marching_cubes": 16,
    "nf4_dequantize": 500,
    "pq_scan": 500,
    "reed_solomon": 500,
    "smith_waterman": 100,
    "sobol": 1000,
}
# of `make test`: several tables, and a table that all memory spaces hold
FEW = ("aes_ctr", "fp4_matvec")
SPACES = (
    "constant",
    "global",
    "readonly",
    "shared",
    "shared_async",
    "shared_bulk",
    "shared_copies",
    "param",
    "texture",
    "shuffle",
    "select",
    "prmt",
)
# A table of 1,000 bytes: its last 8 are no unit of asynchronous copies.
COPIES = """#include "cbank.cuh"
CBANK_TABLE(digits, unsigned char, 1000, global);
template <class Table> __global__ void look_up(Table table, const unsigned *in, unsigned *out)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

    table.stage();
    out[i] = table[i < 8 ? 992 + i : in[i] % 1000];
}
CBANK_CASE(look_up, 500)
{
    const auto table = entries<digits>([](unsigned i) { return 1 + i % 251; });
    const auto in = input<unsigned>(size);
    const auto out = output<unsigned>(size);

    launch(look_up<digits>, size / 50, 50)(table, in, out);
    check(out, [=](cbank_u64 i) { return 0u + table[i < 8 ? 992 + i : in[i] % 1000]; });
}
"""
QUICK_RUN = ("--counters", "none", "--max-samples", "20")

SOURCE = """#include <cbank.cuh>
CBANK_TABLE(squares, float, 16, constant);
template <class Table>
__global__ void NAME(Table table, const float *in, float *out, unsigned count)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    table.stage();
    if (i >= count)
        return;
    float value = table[(unsigned)(in[i] * 16)];
    BODY;
}
CBANK_CASE(NAME, 1000)
{
    const auto table = entries<squares>([](int i) { return 0.1f * i * i; });
    const auto in = input<float>(size);
    const auto out = ROLE;
    launch(NAME<squares>, (size + 127) / 128, 128)(table, in, out, size);
    CHECK;
}
"""
CHECK = "check(out, [=](cbank_u64 i) { return table[(int)(in[i] * 16)]; })"


def source(name, body="out[i] = value", role="output<float>(size)", check=CHECK):
    return (
        SOURCE.replace("NAME", name)
        .replace("BODY", body)
        .replace("ROLE", role)
        .replace("CHECK", check)
    )


@HERE
class Kernels(Case):
    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.shared)
        os.environ.update(
            CBANK_CACHE=os.path.join(cls.shared, "cache"),
            STAND_IN_LOG=os.path.join(cls.shared, "log"),
            CBANK_NVCC=os.path.join(ROOT, "tests/simulated/compiler/nvcc"),
        )

    def compilations(self):
        """How often the compiler ran."""
        with open(os.environ["STAND_IN_LOG"], encoding="utf-8") as file:
            return len(file.readlines())

    def kernel(self, name, *arguments, **settings):
        """The cells of a run by memory space, and what it said."""
        files = ",".join([name] if isinstance(name, str) else name)
        result, said = self.measure("--kernel", files, *QUICK_RUN, *arguments, **settings)
        return {cell["path"]: cell for cell in result["cells"]}, said

    def write_kernel(self, name, *arguments, **texts):
        return self.write(f"{name}.cu", source(name, *arguments, **texts))


class Spaces(Kernels):
    def test_every_memory_space(self):
        """Each is verified or skipped with the compiler's reason; the result is shown, compared
        and measured again without a compiler."""
        cells, said = self.kernel(CRC32, "--size", "500")
        self.assertEqual(tuple(sorted(cells)), tuple(sorted(SPACES)))
        for space, cell in cells.items():
            fits = space not in ("shuffle", "select", "prmt")
            self.assertEqual(
                (cell["status"], cell["verified"]),
                ("ok", True) if fits else ("skipped", False),
                space,
            )
            self.assertRegex(
                cell["identity"], rf"^crc32/{space}/own/500/0/hot/kernel=[0-9a-f]{{16}}$"
            )
            if not fits:
                self.assertRegex(
                    cell["reason"],
                    "threads of a warp hold 32|selects among 16 words|PRMT reads tables",
                    space,
                )
        self.assertEqual(
            {
                space: cell["case"]["instructions"]
                for space, cell in cells.items()
                if cell["status"] == "ok"
            },
            {
                "constant": "1 LDC",
                "global": "1 LDG",
                "readonly": "1 LDG.CONSTANT",
                "shared": "1 LDS",
                "shared_async": "1 LDS, 1 LDGSTS",
                "shared_bulk": "1 LDS, 1 UBLKCP",
                "shared_copies": "1 LDS",
                "param": "1 LDC.PARAMETER",
                "texture": "1 TLD",
            },
        )
        self.assertEqual(
            (cells["shared"]["case"]["grid"], cells["shared"]["case"]["block"]),
            ([2, 1, 1], [256, 1, 1]),
        )
        self.assertRegex(said, r"constant \(as written\) \| \S+ us 1.00x")
        self.assertIn("shared_copies", self.cbank("show", self.file).stdout)
        first, runs = self.path("first.json"), self.compilations()
        os.rename(self.file, first)
        self.kernel(CRC32, "--size", "500", seed=2)
        self.assertEqual(self.compilations(), runs)
        # One process a side decides no time; three cells were skipped.
        said = self.cbank("compare", first, self.file, status=4).stdout
        self.assertIn("9 inconclusive, 3 same of 12", " ".join(said.split()))

    @unittest.skipIf(QUICK, NOT_QUICK)
    def test_faults_of_asynchronous_copies(self):
        """Headers next to the kernel file, in which a copy is not waited for, has another size, or
        goes to no multiple of 16 bytes. The table has a rest of 8 bytes."""
        names = ("cbank.cuh", "cbank_shared.cuh", "cbank_case.h")
        texts = {}
        for name in names:
            with open(os.path.join(ROOT, "kernels", name), encoding="utf-8") as file:
                texts[name] = file.read()
        kernel = self.write("copies.cu", COPIES)
        shared = texts["cbank_shared.cuh"]
        for fault, own, bulk in (
            ("none", ("", ""), ("", "")),
            (
                "no wait",
                ("wait_for_units();", ";"),
                ("wait_for_bulk(&table::staged::room()->barrier);", ";"),
            ),
            (
                "size",
                ("end = room->whole;", "end = room->whole - copied_unit;"),
                ("this->entries, room->whole);", "this->entries, room->whole - copied_unit);"),
            ),
            (
                "place",
                ("copy_unit(room->bytes + i,", "copy_unit(room->bytes + 4 + i,"),
                ("room->bytes, this->entries", "room->bytes + 4, this->entries"),
            ),
            (
                "rest",
                ("room->copy_rest(by, from);", ""),
                ("room->copy_rest(by, this->entries);", ""),
            ),
        ):
            with self.subTest(fault):
                changed = shared
                for before, after in (own, bulk):
                    self.assertTrue(not before or changed.count(before) == 1, before)
                    changed = changed.replace(before, after) if before else changed
                for name in names:
                    self.write(name, changed if name == "cbank_shared.cuh" else texts[name])
                words = ("--space", "shared_async,shared_bulk", "--size", "500", *QUICK_RUN)
                whole = ("--kernel", kernel, *words, "--json", self.file)
                done = self.cbank("run", *whole, status=None)
                self.assertEqual(done.returncode == 0, fault == "none", done.stderr)
                self.assertEqual(
                    [cell["status"] == "ok" for cell in read_json(self.file)["cells"]],
                    2 * [fault == "none"],
                )

    def test_random_contents_are_those_of_every_run(self):
        """Whatever the run's seed: element 5 of the input is that of SplitMix64, computed here."""
        bits = (0x9E3779B97F4A7C15 + 5 * 0xD1B54A32D192ED03) % 2**64
        for factor, shift in ((0xBF58476D1CE4E5B9, 30), (0x94D049BB133111EB, 27)):
            bits = (bits ^ bits >> shift) * factor % 2**64
        check = "check(out, [=](cbank_u64 i) { return i == 5 ? VALUE : in[i]; })".replace(
            "VALUE", f"{(bits ^ bits >> 31) >> 40}.0f / (1 << 24)"
        )
        name = self.write_kernel("contents", body="out[i] = in[i] + 0 * value", check=check)
        for seed in ("1", "2"):
            cells, _ = self.kernel(name, "--space", "constant", "--seed", seed)
            self.assertEqual(
                (cells["constant"]["status"], cells["constant"]["verified"]),
                ("ok", True),
                cells["constant"]["reason"],
            )

    def test_a_slowdown_in_one_memory_space(self):
        """gate finds it, and nothing else. compare of one process a side says that it takes
        more."""
        spaces = ("--space", "constant,shared,global", "--size", "500", "--seed", "1")
        self.kernel(CRC32, *spaces)
        first = self.path("first.json")
        os.rename(self.file, first)
        self.kernel(CRC32, *spaces, slow="shared", slow_factor=1.03)
        said = self.cbank("compare", first, self.file, status=4).stdout
        self.assertIn("measure three processes a side", " ".join(said.split()))
        self.cbank("gate", first, "--kernel", CRC32, "--json", self.path("gate.json"))
        self.cbank(
            "gate",
            first,
            "--kernel",
            CRC32,
            "--json",
            self.path("gate.json"),
            status=1,
            slow="shared",
            slow_factor=1.03,
        )
        pairs = {
            pair["identity"].split("/")[1]: pair["verdict"]
            for pair in read_json(self.path("gate.json"))["cells"]
        }
        self.assertEqual(pairs, {"constant": "same", "global": "same", "shared": "regressed"})

    def test_examples(self):
        """Two of them as written and in one other memory space; `make test-long` takes all in
        all."""
        names = sorted(name[:-3] for name in os.listdir(EXAMPLES) if name.endswith(".cu"))
        self.assertEqual(names, sorted(SIZES))
        for name in names if FULL else FEW:
            with self.subTest(name):
                cells, _ = self.kernel(
                    os.path.join(EXAMPLES, f"{name}.cu"),
                    "--size",
                    str(SIZES[name]),
                    *(() if FULL else ("--space", "written,shared")),
                )
                measured = {space for space, cell in cells.items() if cell["status"] != "skipped"}
                self.assertLessEqual({"shared"}, measured)
                self.assertGreaterEqual(len(measured), 5 if FULL else 2)
                for space in measured:
                    self.assertEqual(
                        (
                            cells[space]["status"],
                            cells[space]["verified"],
                            cells[space]["case"]["findings"],
                        ),
                        ("ok", True, []),
                        (space, cells[space]["reason"]),
                    )


class Refused(Kernels):
    """Mistakes in a kernel file or about one: the exit code, and where it is."""

    def refused(self, words, status, name=None, *, text=None, arguments=(), **environment):
        path = self.write("bad.cu", text) if text else name or self.write_kernel("plain")
        with unittest.mock.patch.dict(os.environ, environment):
            said = self.cbank(
                "run", "--kernel", path, *QUICK_RUN, *arguments, "--json", self.file, status=status
            )
        self.assertRegex(re.sub(r"\s+", " ", said.stderr), words)
        self.assertFalse(os.path.exists(self.file))

    def test_files(self):
        plain = source("plain")
        self.refused(
            r"bad\.cu\(11\): error: .*undeclared_name",
            2,
            text=plain.replace("out[i] = value", "out[i] = undeclared_name"),
        )
        self.refused(r"bad\.cu: no CBANK_CASE", 2, text=plain.split("CBANK_CASE")[0])
        self.refused(
            r"bad\.cu\(21\): error: redefinition of .*one_CBANK_CASE_a_file",
            2,
            text=plain + "CBANK_CASE(plain, 1) {}\n",
        )
        self.refused(
            r"error: #error the kernel file needs #include <cbank\.cuh>",
            2,
            text=plain.replace("#include <cbank.cuh>", ""),
        )
        self.refused(
            (
                r"bad\.cu:18:.*error: .*the case gives the kernel another number of arguments than"
                r" it takes"
            ),
            2,
            text=plain.replace("in, out, size)", "in, out, size, size)"),
        )
        self.refused(
            (
                r"bad\.cu:18:.*error: .*a pointer to elements of that buffer; those of an input are"
                r" const"
            ),
            2,
            text=plain.replace("in, out, size)", "out, in, size)"),
        )
        self.refused(
            (
                r"bad\.cu:13: nothing could be checked; make what the kernel writes an output or an"
                r" inout"
            ),
            2,
            text=source("plain", role="scratch<float>(size)", check=""),
        )
        self.refused(r"absent\.cu", 2, self.path("absent.cu"))
        self.refused(r"cannot read \S+: Is a directory", 2, self.path(""))

    def test_names(self):
        self.refused(
            r"unknown memory space 'sharde'; valid: constant, ", 2, arguments=("--space", "sharde")
        )
        self.refused(
            r"unknown table 'cubes'; valid: squares", 2, arguments=("--space", "cubes=shared")
        )
        self.refused("--kernel: the file says what is measured", 2, arguments=("--workload", "add"))

    def test_compilers(self):
        self.refused(r"cannot run /absent/nvcc", 3, CBANK_NVCC="/absent/nvcc")
        self.refused(
            r"Unknown option '--nonsense'", 2, arguments=("--compiler-options=--nonsense",)
        )

    def test_a_compiler_that_fails_by_itself(self):
        """No fault of the file: exit code 3, with the signal or the full disk. Nothing of it is
        kept, in no phase of a compile."""
        space = ("--space", "global", "--size", "500")
        for ends, words in (
            ("9", r"plain\.cu: \S+nvcc was killed by signal 9 \(Killed\)"),
            ("11", r"was killed by signal 11 \(Segmentation fault\)"),
            ("nothing", r"exited with 0 and wrote nothing"),
            ("silent", r"exited with 1 and wrote nothing"),
            (
                "nvcc error   : 'cicc' died due to signal 9 (Kill signal)",
                r"'cicc' died due to signal 9",
            ),
            (
                "ptxas error   : cannot write x.cubin: No space left on device",
                r"No space left on device; make room there, or name another folder by TMPDIR",
            ),
        ):
            with self.subTest(ends):
                self.refused(words, 3, arguments=space, STAND_IN_ENDS=ends)
        for option in ("-M", "-shared"):
            with self.subTest(option):
                self.refused(
                    "was killed by signal 9", 3, STAND_IN_ENDS="9", STAND_IN_ENDS_AT=option
                )
        self.refused(
            r"nvcc --version was killed by signal 11 \(Segmentation fault\)",
            3,
            STAND_IN_ENDS="11",
            STAND_IN_ENDS_AT="--version",
        )
        self.refused(
            r"nvcc has not said its version for \d s; it is ended after 1 s.*"
            r"nvcc --version did not end in 1 s, and was ended",
            3,
            arguments=("--compiler-seconds", "1"),
            STAND_IN_ENDS="hang",
            STAND_IN_ENDS_AT="--version",
        )
        self.refused(
            r"nvcc has been compiling the tables as written for \d s; it is ended after 1 s .*"
            r"plain\.cu: \S+nvcc did not end in 1 s, and was ended; --compiler-seconds N waits",
            3,
            arguments=("--compiler-seconds", "1"),
            STAND_IN_ENDS="hang",
        )
        cells, _ = self.kernel(self.write_kernel("plain"), *space)
        self.assertEqual(cells["global"]["status"], "ok")

    def test_a_source_that_speaks_of_signals_and_disks(self):
        """What a mistake in the file says is the file's."""
        for said in ("No space left on device", "died due to signal 9"):
            self.refused(
                rf"bad\.cu\(1\): error: #error {said}", 2, text=f"#error {said}\n{source('x')}"
            )

    def test_a_full_disk(self):
        """A compiler whose messages find no room, too. The disk is one of 64 KB."""
        small = self.path("small")
        os.mkdir(small)
        done = subprocess.run(
            [
                *("unshare", "-rm", "sh", "-c"),
                f"mount -t tmpfs -o size=64k none {small} && echo mounted;"
                f" head -c 80k /dev/zero > {small}/full; TMPDIR={small}"
                f" CBANK_CUPTI_DIR={os.path.dirname(CBANK)} exec {CBANK} run"
                f" --kernel {self.write_kernel('plain')} --engine cuda",
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        if not done.stdout.startswith("mounted"):
            self.skipTest("no disk can be mounted here")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertRegex(done.stderr, f"no room is left on the disk of {small}/")

    def test_a_table_that_is_too_large(self):
        self.refused(
            r"as they are written: constant memory has 65,536 bytes; write another memory space",
            2,
            text=source("plain").replace("float, 16, constant", "float, 20000, constant"),
        )
        cells, said = self.kernel(CRC32, "--space", "prmt,global", "--size", "500")
        self.assertEqual(cells["global"]["status"], "ok")
        self.assertEqual(cells["prmt"]["status"], "skipped")
        self.assertIn("PRMT reads tables of up to 16 bytes", said)


class Safety(Kernels):
    """Kernels that do what they should not are named, and others lose nothing."""

    def test_what_kernels_do_wrong(self):
        output = "output<float>(size)"
        added = "inout<float>(size, cbank::zeros{})"
        # A number so large that what comes after it is lost: each order of blocks has a sum of its
        # own.
        added_up = "atomicAdd(&out[0], i == 0 ? 1e9f : value); "
        # name: (what it does, the buffer, the reference), its findings, and the reason of a failure
        kernels = {
            "right": ((), [], None),
            "wrong": (
                ("out[i] = value + (i == 7)",),
                [],
                r"wrong output: element 7 of buffer 2 is \S+, not",
            ),
            "beyond": (
                ("out[i] = value; if (i == 0) out[count + 3] = 1",),
                ["guard_zone"],
                "bytes behind it, the nearest 12 bytes",
            ),
            "before": (
                ("out[i] = value; if (i == 0) out[-1] = 1",),
                ["guard_zone"],
                "4 bytes before it, the nearest 0 bytes",
            ),
            "overwrites": (
                ("out[i] = value; if (i == 5) ((float *)in)[i] = 0",),
                ["input_changed"],
                "changes buffer 1",
            ),
            "unwritten": (
                ("if (i != 9) out[i] = value",),
                [],
                "does not write element 9 of buffer 2",
            ),
            "number": (
                ("out[i] = i == 5 ? sqrtf(-1 - value) : value", output, ""),
                ["not_a_number"],
                None,
            ),
            "state": (("out[i] += value", added), ["depends_on_earlier_launch"], None),
            "order": (
                (added_up, "inout<float>(1, cbank::zeros{})", "accept(out, {1e-4})"),
                ["depends_on_earlier_launch", "not_deterministic"],
                None,
            ),
            "unordered": (
                (added_up, "inout<float>(1, cbank::zeros{})", ""),
                ["not_deterministic"],
                "differs from launch to launch",
            ),
        }
        paths = [self.write_kernel(name, *texts) for name, (texts, _, _) in kernels.items()]
        result, _ = self.measure(
            "--kernel", ",".join(paths), "--space", "written", *QUICK_RUN, status=1
        )
        cells = {cell["workload"]: cell for cell in result["cells"]}
        self.assertEqual(set(cells), set(kernels))
        for name, (_, findings, reason) in kernels.items():
            with self.subTest(name):
                self.assertEqual(
                    (cells[name]["status"], cells[name]["verified"]),
                    ("failed", False) if reason else ("ok", True),
                )
                self.assertEqual(set(findings) - set(cells[name]["case"]["findings"]), set())
                self.assertEqual(
                    set(cells[name]["case"]["findings"]) - {*findings, "depends_on_earlier_launch"},
                    set(),
                )
                self.assertRegex(cells[name]["reason"] or "", reason or "^$")

    def test_references(self):
        """The check runs on the processor, where it is compiled for it and does not end: else it
        runs on the GPU, and its cells are verified there."""
        # name: (what the build for the processor has, the check), the reference, what is said
        checks = {
            "cpu": (("", CHECK), "cpu", None),
            "wrong": (("", CHECK.replace("return", "return ON_CPU +")), "cpu", None),
            "refused": (
                ("#error no processor", CHECK),
                "gpu",
                r"cannot be compiled for the processor, .*error: .*no processor",
            ),
            "null": (
                ("", CHECK.replace("return", "return 0 * out[i] +")),
                "gpu",
                "fails on the processor, .*Segmentation fault",
            ),
            "leaves": (
                ("", CHECK.replace("return", "if (ON_CPU) exit(0); return")),
                "gpu",
                "fails on the processor, .*it cannot run",
            ),
        }
        paths = [
            self.write(
                f"{name}.cu",
                "#ifdef CBANK_REFERENCE\n#define ON_CPU 1\n#include <stdlib.h>\n"
                + text
                + "\n#else\n#define ON_CPU 0\n#endif\n"
                + source(name, check=check),
            )
            for name, ((text, check), _, _) in checks.items()
        ]
        result, said = self.measure(
            "--kernel", ",".join(paths), "--space", "written", *QUICK_RUN, status=1
        )
        cells = {cell["workload"]: cell for cell in result["cells"]}
        for name, (_, reference, words) in checks.items():
            with self.subTest(name):
                self.assertEqual(
                    (cells[name]["verified"], cells[name]["case"]["reference"]),
                    (name != "wrong", reference),
                )
                self.assertRegex(said, rf"{name}\.cu: the check {words}" if words else ".")
        self.assertRegex(cells["wrong"]["reason"], "wrong output: element 0 of buffer 2")

    def test_what_ends_a_run(self):
        """The cell fails; --resume measures the others, and tries that one no more."""
        for body, words in (
            ("out[i] = in[1ull << 45]", "illegal memory access"),
            ("while (*(volatile const float *)in >= 0)", "did not come back"),
        ):
            with self.subTest(words):
                ends = self.write_kernel("ends", body)
                paths = f"{ends},{self.write_kernel('right')}"
                _, said = self.measure(
                    "--kernel",
                    paths,
                    "--space",
                    "written",
                    "--seed",
                    "1",
                    "--watchdog-slack",
                    "1",
                    *QUICK_RUN,
                    status=1,
                    limit_ms=100,
                )
                self.assertRegex(
                    said,
                    (
                        rf"{words}.*; look in the kernel file .*, then cbank run --resume"
                        rf" {self.file} --kernel {paths} measures the rest"
                    ),
                )
                self.cbank("run", "--resume", self.file, "--kernel", paths, status=1)
                cells = {cell["workload"]: cell for cell in read_json(self.file)["cells"]}
                self.assertEqual(
                    {name: cell["status"] for name, cell in cells.items()},
                    {"ends": "failed", "right": "ok"},
                )
                self.assertIn(words, cells["ends"]["reason"])


if __name__ == "__main__":
    unittest.main()
