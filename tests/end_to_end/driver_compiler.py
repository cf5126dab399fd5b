#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""End-to-end tests of kernels that the driver compiles (--jit), on a simulated GPU
(tests/simulated/simulated.h), whose program CBANK names (default build/tests/simulated/cbank, of
`make simulated`). Its driver makes of PTX the cubin of a folder: that of the toolkit, or one in
which a test changed bits of instructions."""

import os
import struct
import subprocess
import unittest

import jsonschema

from common import ROOT, Scratch, read_bytes, read_json

CBANK = os.path.abspath(os.environ.get("CBANK", os.path.join(ROOT, "build/tests/simulated/cbank")))
IMAGES = os.path.join(ROOT, "build/images")
ABSENT = os.path.join(ROOT, "build/tests/faults/symbol_faults.so")
PLAN = ["--elements", "12800", "--pattern", "per_warp", "--counters", "none"]
CALLS = ("cuLinkCreate", "cuLinkAddData", "cuLinkComplete", "cuLinkDestroy")
# as the vendor's header has them
VERSIONED = {name: f"{name}_v2" for name in ("cuLinkCreate", "cuLinkAddData")}
LDC, S2R, MUFU = 0xB82, 0x919, 0x308  # opcodes with their forms
TABLE_BANK = 3  # of __constant__ variables


def code_sections(cubin):
    """(name, offset, bytes) of each section of code."""
    table, count, names = (
        *struct.unpack_from("<Q", cubin, 0x28),
        *struct.unpack_from("<HH", cubin, 0x3C),
    )
    rows = [struct.unpack_from("<IIQQQQ", cubin, table + 64 * i) for i in range(count)]
    for row in rows:
        start = rows[names][4] + row[0]
        name = cubin[start : cubin.index(0, start)].decode()
        if name.startswith(".text."):
            yield name, row[4], row[5]


def opcode(code, at):
    return struct.unpack_from("<H", code, at)[0] & 0xFFF


def bank(code, at):
    """The constant bank of an LDC."""
    return struct.unpack_from("<Q", code, at)[0] >> 54 & 0x1F


def first(code, start, end, wanted):
    return next(at for at in range(start, end, 16) if opcode(code, at) == wanted)


def other_opcode(code, start, end):
    struct.pack_into("<H", code, first(code, start, end, S2R), MUFU)


def other_register(code, start, end):
    code[first(code, start, end, S2R) + 2] ^= 1  # where it goes


def other_stall(code, start, _):
    code[start + 13] ^= 2


def other_offset(code, start, end):
    code[first(code, start, end, LDC) + 5] ^= 4  # bit 42


def other_payload(code, start, end):
    """The load of the table becomes another instruction."""
    for at in range(start, end, 16):
        if opcode(code, at) == LDC and bank(code, at) == TABLE_BANK:
            struct.pack_into("<H", code, at, MUFU)


PARTS = {
    "opcodes": other_opcode,
    "operands": other_register,
    "constant_offsets": other_offset,
    "scheduling": other_stall,
}


KERNEL = """#include "cbank.cuh"
CBANK_TABLE(digits, unsigned, 100, constant);
template <class Table> __global__ void look_up(Table table, const unsigned *in, unsigned *out)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

    table.stage();
    out[i] = table[in[i] % 100];
}
CBANK_CASE(look_up, 512)
{
    const auto table = entries<digits>([](unsigned i) { return 1 + i; });
    const auto in = input<unsigned>(size);
    const auto out = output<unsigned>(size);

    launch(look_up<digits>, size / 64, 64)(table, in, out);
    check(out, [=](cbank_u64 i) { return 0u + table[in[i] % 100]; });
}
"""


@unittest.skipUnless(
    os.path.exists(CBANK), "no program for the simulated GPU: make simulated says why"
)
class Case(Scratch):
    def cbank(self, *words, status=0, images=IMAGES, simulated="", **environment):
        done = subprocess.run(
            [CBANK, *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            cwd=self.folder,
            env={
                **os.environ,
                "CBANK_CUPTI_DIR": os.path.dirname(CBANK),
                "CBANK_SIMULATED": ",".join(filter(None, [f"ptx={images},known=1", simulated])),
                **environment,
            },
        )
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def measure(self, *words, to="x.json", **settings):
        """The cells of a run by their path, and what it said."""
        plan = () if "--kernel" in words or "--resume" in words else PLAN
        done = self.cbank("run", "--quiet", *plan, *words, "--json", to, **settings)
        result = read_json(self.path(to))
        jsonschema.Draft202012Validator(
            read_json(os.path.join(ROOT, "results/schema.json"))
        ).validate(result)
        self.result = result
        return {cell["path"]: cell for cell in result["cells"]}, " ".join(done.stderr.split())

    def changed(self, name="changed", **changes):
        """A folder whose module of `add` has one change in the kernels of each path."""
        folder = self.path(name)
        os.makedirs(folder)
        code = bytearray(read_bytes(os.path.join(IMAGES, "add.sm_90.cubin")))
        for section, offset, size in code_sections(code):
            for path, change in changes.items():
                if f"path_{path}1" in section:
                    change(code, offset, offset + size)
        with open(os.path.join(folder, "add.sm_90.cubin"), "wb") as file:
            file.write(code)
        return folder


class Run(Case):
    def test_what_the_driver_compiled_is_said_beside_the_toolkit_s(self):
        cells, _ = self.measure("--jit")
        toolkit, _ = self.measure(to="t.json")
        for path, cell in cells.items():
            kernel, beside = cell["kernel"], cell["kernel"]["jit"]
            self.assertTrue(cell["jit"] and cell["verified"])
            self.assertEqual(cell["identity"], toolkit[path]["identity"] + "/jit=driver")
            self.assertEqual(kernel["image"], "add.compute_90.ptx")
            self.assertEqual(
                beside["cubin_bytes"], os.path.getsize(os.path.join(IMAGES, "add.sm_90.cubin"))
            )
            self.assertGreater(beside["cubin_kernels"], 100)
            self.assertGreater(beside["compile_ms"], 0)
            self.assertEqual(beside["compute_cache"], "off")
            self.assertEqual(beside["toolkit_image"], "add.sm_90.cubin")
            self.assertEqual(beside["toolkit_sass_sha256"], kernel["sass_sha256"])
            self.assertEqual(beside["toolkit_code_bytes"], kernel["code_bytes"])
            self.assertEqual(beside["toolkit_local_bytes"], 0)
            self.assertGreater(beside["toolkit_registers"], 0)
            for key in ("registers", "local_bytes"):
                self.assertEqual(beside[key], beside[f"toolkit_{key}"])
            self.assertEqual((beside["moved"], beside["change"]), ([], None))
            self.assertNotIn("jit", toolkit[path])
            self.assertNotIn("jit", toolkit[path]["kernel"])
        self.assertIn("jit=driver", self.cbank("show", "x.json").stdout)
        self.assertNotIn("jit", self.cbank("show", "t.json").stdout)

    def test_each_part_of_the_code_that_moved_is_named(self):
        for part, change in PARTS.items():
            with self.subTest(part):
                images = self.changed(part, **{"global": change})
                cells, _ = self.measure("--jit", images=images)
                beside = cells["global"]["kernel"]["jit"]
                # another opcode has other operands
                self.assertEqual(beside["moved"][0], part)
                self.assertTrue(len(beside["moved"]) == 1 or part == "opcodes")
                words = {"opcodes": "MUFU 0 -> 1", "constant_offsets": "constant offsets differ"}
                self.assertIn(words.get(part, f"{part} differ"), beside["change"])
                self.assertEqual(cells["constant"]["kernel"]["jit"]["moved"], [])

    def test_a_payload_load_that_is_not_there_fails_the_cell(self):
        images = self.changed(constant=other_payload)
        cells, _ = self.measure("--jit", images=images, status=1)
        self.assertEqual(cells["constant"]["status"], "failed")
        self.assertIn("constant wants 1 LDC", cells["constant"]["reason"])
        self.assertEqual(cells["global"]["status"], "ok")

    def test_the_cache_of_the_driver_is_off_whatever_the_user_set(self):
        cells, _ = self.measure("--jit", CUDA_CACHE_DISABLE="0")
        self.assertEqual(cells["global"]["kernel"]["jit"]["compute_cache"], "off")

    def test_what_is_resumed_is_compiled_by_the_driver_again(self):
        self.measure("--jit", simulated="fail=cuLinkComplete:1:unknown", status=1)
        self.cbank("run", "--quiet", "--resume", "x.json", "--retry-failed")
        cells = read_json(self.path("x.json"))["cells"]
        self.assertEqual({cell["status"] for cell in cells}, {"ok"})
        self.assertEqual({cell["kernel"]["image"] for cell in cells}, {"add.compute_90.ptx"})
        done = self.cbank("run", "--resume", "x.json", "--jit", status=2)
        self.assertIn("--resume takes its plan from x.json", " ".join(done.stderr.split()))

    def test_without_a_driver_nothing_is_compiled(self):
        done = self.cbank("run", "--jit", "--engine", "model", status=3)
        self.assertIn("--jit: the driver of a GPU compiles", done.stderr)

    def test_ptx_that_no_driver_compiles_for_this_gpu(self):
        done = self.cbank("run", "--jit", simulated="capability=80", status=3)
        self.assertIn("make ARCHS=80", " ".join(done.stderr.split()))


class Kernels(Case):
    """Kernels of a file, which the stand-in for nvcc compiles: it keeps what its driver takes."""

    SPACES = ["--space", "constant,global", "--size", "512", "--counters", "none"]

    def setUp(self):
        super().setUp()
        self.environment = {
            "CBANK_NVCC": os.path.join(ROOT, "tests/simulated/compiler/nvcc"),
            "CBANK_CACHE": self.path("cache"),
        }
        self.write("k.cu", KERNEL)

    def test_a_kernel_of_a_file_in_each_memory_space(self):
        for name in ("compiled.json", "cached.json"):
            cells, _ = self.measure(
                "--kernel", "k.cu", *self.SPACES, "--jit", to=name, **self.environment
            )
            for cell in cells.values():
                beside = cell["kernel"]["jit"]
                self.assertTrue(cell["verified"] and cell["identity"].endswith("/jit=driver"))
                self.assertEqual(beside["toolkit_sass_sha256"], cell["kernel"]["sass_sha256"])
                self.assertEqual(beside["toolkit_image"], "k.cu")
                self.assertEqual((beside["moved"], beside["cubin_kernels"]), ([], 2))
            self.assertEqual(set(cells), {"constant", "global"})
        self.measure("--kernel", "k.cu", *self.SPACES, to="toolkit.json", **self.environment)
        self.cbank("compare", "toolkit.json", "cached.json", status=3)
        self.cbank("compare", "toolkit.json", "cached.json", "--jit", "--threshold=5%")
        self.cbank(
            *("gate", "toolkit.json", "--kernel", "k.cu", "--jit", "--processes=3"),
            *("--counters=none", "--threshold=5%"),
            **self.environment,
        )
        self.cbank("spaces", "k.cu", *self.SPACES, "--jit", **self.environment)

    def test_ptx_that_the_driver_does_not_compile(self):
        for call in CALLS[:3]:
            cells, said = self.measure(
                *("--kernel", "k.cu", *self.SPACES, "--jit"),
                to=f"{call}.json",
                simulated=f"fail={call}:1:unknown",
                status=1,
                **self.environment,
            )
            self.assertEqual(sorted(cell["status"] for cell in cells.values()), ["failed", "ok"])
            self.assertIn("cannot compile k.cu", said)


class Faults(Case):
    def test_each_call_of_the_linker_fails_once(self):
        for call in CALLS:
            with self.subTest(call):
                leaks = self.path(f"{call}.leaks")
                undone = call == "cuLinkDestroy"
                cells, said = self.measure(
                    "--jit",
                    to=f"{call}.json",
                    simulated=f"fail={call}:1:unknown,leaks={leaks}",
                    status=0 if undone else 1,
                )
                if undone:
                    self.assertEqual({cell["status"] for cell in cells.values()}, {"ok"})
                    continue
                self.assertEqual({cell["status"] for cell in cells.values()}, {"failed"})
                self.assertIn(call, cells["constant"]["reason"])
                self.assertIn("cannot compile add.compute_90.ptx", said)
                self.assertEqual(read_bytes(leaks), b"")

    def test_a_driver_without_a_linker(self):
        for call in CALLS:
            with self.subTest(call):
                symbol = VERSIONED.get(call, call)
                environment = {"LD_PRELOAD": ABSENT, "CBANK_ABSENT": symbol}
                done = self.cbank("run", "--jit", *PLAN, status=3, **environment)
                self.assertIn(f"the NVIDIA driver has no {symbol}, ", " ".join(done.stderr.split()))
                cells, _ = self.measure(**environment)
                self.assertEqual({cell["status"] for cell in cells.values()}, {"ok"})


class Pairs(Case):
    def setUp(self):
        super().setUp()
        self.measure(to="toolkit.json")
        self.images = self.changed(**{"global": other_opcode, "constant": other_stall})
        self.measure("--jit", to="driver.json", images=self.images)

    def test_compilers_are_paired_where_it_is_asked_for_alone(self):
        for sides in (("toolkit.json", "driver.json"), ("driver.json", "toolkit.json")):
            done = self.cbank("compare", *sides, status=3)
            self.assertIn("no cell in common", done.stdout)
            words = "base, and the toolkit new" if sides[0][0] == "d" else "new, and the toolkit"
            self.assertIn(f"the driver compiled {words}", " ".join(done.stdout.split()))
        self.cbank(
            "compare", "toolkit.json", "driver.json", "--jit", "--json", "c.json", "--threshold=5%"
        )
        comparison = read_json(self.path("c.json"))
        jsonschema.Draft202012Validator(
            read_json(os.path.join(ROOT, "results/comparison.schema.json"))
        ).validate(comparison)
        self.assertTrue(comparison["options"]["jit"])
        moved = {cell["path"]: cell["code_moved"][:1] for cell in comparison["cells"]}
        self.assertEqual(moved, {"constant": ["scheduling"], "global": ["opcodes"], "readonly": []})
        for cell in comparison["cells"]:
            self.assertEqual((cell["base_jit"], cell["new_jit"]), (False, True))
            self.assertEqual(cell["verdict"], "same")

    def test_two_drivers_are_two_codes(self):
        self.measure("--jit", to="other.json")
        self.cbank("compare", "other.json", "driver.json", status=3)
        done = self.cbank("compare", "other.json", "driver.json", "--jit", "--threshold=5%").stdout
        self.assertIn("MUFU 0 -> 1", " ".join(done.split()))
        said = " ".join(done.split())
        self.assertIn("the code of 2 of 3 cells is another (in 1 opcodes", said)
        self.assertIn("of these 2 are as fast", said)
        self.assertIn("1 cell is the same; --all lists them", said)

    def test_a_side_has_one_compiler(self):
        done = self.cbank("compare", "toolkit.json", "toolkit.json", "--jit")
        self.assertIn("no cell was compiled by a driver: cbank run --jit", done.stdout)
        done = self.cbank("compare", "toolkit.json,driver.json", "driver.json", "--jit", status=2)
        self.assertIn("give each a side of its own", " ".join(done.stderr.split()))


class Gate(Case):
    WORDS = (*PLAN, "--processes", "3", "--jit", "--threshold", "3%")

    def gate(self, *words, status=0, **settings):
        done = self.cbank(
            "gate", *words, *self.WORDS, "--json", "g.json", status=status, **settings
        )
        cells = read_json(self.path("g.json"))["cells"]
        return {cell["path"]: cell for cell in cells}, " ".join(done.stdout.split())

    def test_results_of_the_toolkit_against_this_driver(self):
        self.measure(to="toolkit.json")
        images = self.changed(**{"global": other_opcode})
        cells, said = self.gate("toolkit.json", images=images)
        self.assertEqual({cell["verdict"] for cell in cells.values()}, {"same"})
        self.assertEqual((cells["global"]["base_jit"], cells["global"]["new_jit"]), (False, True))
        self.assertEqual(cells["global"]["code_moved"][0], "opcodes")
        self.assertIn("MUFU 0 -> 1", said)

    def test_this_program_by_both_compilers_in_turn(self):
        cells, _ = self.gate("--base-program", CBANK)
        self.assertEqual({cell["base_jit"] for cell in cells.values()}, {False})
        self.assertEqual({cell["new_jit"] for cell in cells.values()}, {True})
        self.assertEqual({cell["verdict"] for cell in cells.values()}, {"same"})

    def test_a_driver_whose_code_is_slower(self):
        self.measure(to="toolkit.json")
        cells, said = self.gate(
            "toolkit.json",
            images=self.changed(**{"global": other_opcode}),
            simulated="slow=global,slow_factor=1.5",
            status=1,
        )
        self.assertEqual(cells["global"]["verdict"], "regressed")
        self.assertEqual(cells["constant"]["verdict"], "same")
        self.assertIn("0 faster, 1 slower", said)

    def test_of_another_driver_s_results_and_without_jit(self):
        self.measure("--jit", to="driver.json")
        self.gate("driver.json")
        done = self.cbank("gate", "driver.json", *PLAN, "--processes", "1", status=3)
        self.assertIn("no cell in common", done.stdout)


def table_of_docs():
    """The rows of the table in docs/comparing.md: what a driver changes, and what sees it."""
    with open(os.path.join(ROOT, "docs/comparing.md"), encoding="utf-8") as file:
        text = file.read().partition("| what a driver changes | seen by |\n|---|---|\n")[2]
    return dict(
        (cell.strip() for cell in line.strip("|").split("|", 1))
        for line in text.partition("\n\n")[0].splitlines()
    )


class Document(Case):
    """The table of docs/comparing.md: what a test can plant is seen as it says."""

    def of_part(self, part):
        self.measure("--jit", to="old.json")
        images = self.changed(part, **{"global": PARTS[part]})
        self.measure("--jit", to="new.json", images=images)
        plain = 0 if part == "constant_offsets" else 3
        self.cbank("compare", "old.json", "new.json", "--threshold=5%", status=plain)
        self.cbank("compare", "old.json", "new.json", "--jit", "--json=c.json", "--threshold=5%")
        moved = [cell["code_moved"][:1] for cell in read_json(self.path("c.json"))["cells"]]
        self.assertEqual(moved, [[part], [], []])

    def payload(self):
        images = self.changed("payload", constant=other_payload)
        cells, _ = self.measure("--jit", images=images, status=1)
        self.assertEqual(cells["constant"]["status"], "failed")

    def wrong_output(self):
        cells, _ = self.measure("--jit", "--fault", "output", status=1)
        self.assertIn("failed", {cell["status"] for cell in cells.values()})

    def no_code(self):
        cells, said = self.measure("--jit", images=self.folder, status=1)
        self.assertEqual({cell["status"] for cell in cells.values()}, {"failed"})
        self.assertIn("cannot compile add.compute_90.ptx", said)

    def no_linker(self):
        without = {"LD_PRELOAD": ABSENT, "CBANK_ABSENT": "cuLinkComplete"}
        self.cbank("run", "--jit", *PLAN, status=3, **without)
        self.measure(**without)

    def usage(self):
        kernel = self.measure("--jit")[0]["global"]["kernel"]
        for key in ("registers", "local_bytes", "code_bytes"):
            self.assertIsInstance(kernel[key], int)
        self.assertGreater(kernel["jit"]["compile_ms"], 0)

    def gate_of(self, base, new, status):
        self.measure(to="old.json", simulated=base)
        return self.cbank(
            "gate",
            "old.json",
            *PLAN,
            "--processes=3",
            "--threshold=3%",
            simulated=new,
            status=status,
        ).stdout

    def slower(self):
        self.assertIn("regressed", self.gate_of("", "slow=global,slow_factor=1.5", 1))

    def clocks(self):
        self.assertIn("clocks differs", self.gate_of("", "clock=1800", 3))

    def memory(self):
        self.assertIn("invalid", self.gate_of("", "ecc_uncorrected=0/1", 1))

    def toolkit(self):
        self.measure(to="old.json")
        images = self.changed("unread", **{"global": other_opcode})
        self.measure(to="new.json", images=images)
        self.cbank("compare", "old.json", "new.json", "--threshold=5%")

    def launch_path(self, setting, path):
        """A gate fails where calls, or a graph's launches, take longer."""
        costs = {"launch_us": 2, "copy_us": 5, "load_us": 300, "graph_ns": 0}
        plan = ("--workload", "launch_overhead", "--parameter-bytes", "64", "--symbol-bytes", "4")

        def cost(**more):
            return ",".join(f"{key}={value}" for key, value in {**costs, **more}.items())

        for name in ("a.json", "b.json", "c.json"):
            self.cbank("run", *plan, "--json", name, simulated=cost())
        self.cbank(
            *("gate", "a.json,b.json,c.json", *plan, "--processes=3", "--threshold=10%"),
            *("--json", "gate.json"),
            simulated=cost(**{setting: 3 * costs[setting] + 300}),
            status=1,
        )
        regressed = {
            cell["pattern"]
            for cell in read_json(self.path("gate.json"))["cells"]
            if cell["verdict"] == "regressed"
        }
        self.assertIn(path, regressed)
        self.assertLessEqual(regressed, {path, "stream"} if path == "graph" else {path})

    def test_each_row(self):
        planted = {
            "what its compiler makes: opcodes": lambda: self.of_part("opcodes"),
            "what its compiler makes: operands": lambda: self.of_part("operands"),
            "what its compiler makes: constant offsets": lambda: self.of_part("constant_offsets"),
            "what its compiler makes: scheduling": lambda: self.of_part("scheduling"),
            "a payload load that is another instruction": self.payload,
            "code that computes something else": self.wrong_output,
            "PTX that no longer compiles": self.no_code,
            "a driver without a linker": self.no_linker,
            "registers, local memory, bytes of code": self.usage,
            "the time to compile": self.usage,
            "speed of code that is the same": self.slower,
            "clocks that it sets lower": self.clocks,
            "memory that it reports as damaged": self.memory,
            "the machine code that the toolkit made": self.toolkit,
            "the cost of a launch in a stream, by the bytes of its parameters": (
                lambda: self.launch_path("launch_us", "stream")
            ),
            "the cost of a launch in a graph, by the bytes of its parameters": (
                lambda: self.launch_path("graph_ns", "graph")
            ),
            "the cost of a copy to a symbol": lambda: self.launch_path("copy_us", "symbol_copy"),
            "the cost of loading a module with 64 KB of constants": (
                lambda: self.launch_path("load_us", "module_load")
            ),
        }
        rows = table_of_docs()
        # Nothing on a simulated GPU has these.
        of_a_gpu = {change for change, seen in rows.items() if seen.startswith("not seen")}
        elsewhere = {"the energy of a launch"}  # energy.py
        self.assertEqual(set(rows), set(planted) | of_a_gpu | elsewhere)
        self.assertEqual(len(of_a_gpu - set(planted)), 3)
        for change, check in planted.items():
            with self.subTest(change):
                check()


if __name__ == "__main__":
    unittest.main()
