#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of the verdicts of `cbank advise --kernel` on tables of kernels that are compiled here:
tests/data/verdicts.cu says them beside each kernel. Costs are worked out here, by hand or from
indices that are counted here. CBANK names the program (default build/cbank)."""

import collections
import json
import os
import re
import subprocess
import unittest

import jsonschema

from advise import nvcc, write_npy
from common import ROOT, Scratch, cbank, read_json

SOURCE = os.path.join(ROOT, "tests/data/verdicts.cu")
CARD = {
    key: row["value"]
    for key, row in read_json(os.path.join(ROOT, "results/cards/h200.json"))["model"].items()
}
ADDRESS = CARD["constant_address_cycles"]
WAVEFRONT = 1 / CARD["shared_wavefronts_per_cycle"]
REQUEST = 1 / CARD["l1_requests_per_cycle"]


def expected():
    """{kernel: [(table, memory, verdict, better)]} of the comments."""
    rows, found = [], {}
    with open(SOURCE, encoding="utf-8") as file:
        for line in file:
            if line.startswith("// verdict: "):
                table, memory, verdict, better = line.split()[2:]
                rows.append(
                    (
                        table.replace("parameter-", "parameter "),
                        memory,
                        verdict.replace("-", " "),
                        None if better == "-" else better,
                    )
                )
            elif line.startswith("KERNEL("):
                found[re.match(r"KERNEL\((\w+)\)", line)[1]] = rows
                rows = []
    return found


class Compiled(Scratch):
    def setUp(self):
        super().setUp()
        if not nvcc():
            self.skipTest("no nvcc")

    def compile(self, source, architecture=90):
        """The path of the cubin of a file, or of the text of one."""
        path = source
        if not os.path.exists(source):
            path = self.path("own.cu")
            with open(path, "w", encoding="utf-8") as file:
                file.write(source)
        cubin = self.path(f"sm_{architecture}.cubin")
        subprocess.run(
            [
                nvcc(),
                "-cubin",
                f"-arch=sm_{architecture}",
                "-lineinfo",
                "-o",
                cubin,
                path,
            ],
            check=True,
            capture_output=True,
        )
        return cubin

    def tables(self, cubin, *words, status=0):
        """{kernel: its tables}"""
        done = cbank("advise", "--kernel", cubin, "--json", "-", "--card", "h200", *words)
        self.assertEqual(done.returncode, status)
        self.assertEqual(done.stderr.count("\n"), status)
        self.assertEqual("--fail: " in done.stderr, status == 1)
        advice = json.loads(done.stdout)
        jsonschema.validate(advice, read_json(os.path.join(ROOT, "results/advice.schema.json")))
        return {kernel["name"]: kernel["tables"] for kernel in advice["code"]["kernels"]}


class Banks(Compiled):
    """Entries of less than a word: where they begin in one decides which threads meet in a bank."""

    # The index, in C and in Python, bytes of an entry, and whether its wavefronts are told.
    INDICES = {
        "row": ("lane + n", lambda lane, n: lane + n, 1, True),
        "begin_known": ("33 * lane + 1", lambda lane, n: 33 * lane + 1, 1, True),
        "begin_not_known": ("33 * lane + n", lambda lane, n: 33 * lane + n, 1, False),
        "ring": ("(33 * lane + n) & 4095", lambda lane, n: 33 * lane + n & 4095, 1, False),
        "ring_parts_a_word": (
            "((33 * lane + 4 * n) & 4095) + 1",
            lambda lane, n: (33 * lane + 4 * n & 4095) + 1,
            1,
            False,
        ),
        "ring_of_65": ("((lane + n) & 31) * 65", lambda lane, n: (lane + n & 31) * 65, 2, False),
        "ring_of_words": ("((lane + n) & 31) * 33", lambda lane, n: (lane + n & 31) * 33, 4, True),
    }

    def source(self):
        text = ""
        for name, (index, _, width, _) in self.INDICES.items():
            entry = {1: "unsigned char", 2: "unsigned short", 4: "unsigned"}[width]
            text += f"""
extern "C" __global__ void {name}(unsigned *out, unsigned n)
{{
    __shared__ {entry} s[8192];
    const unsigned lane = threadIdx.x & 31;

    for (unsigned i = threadIdx.x; i < 8192; i += blockDim.x)
        s[i] = i * 7;
    __syncthreads();
    out[threadIdx.x] = s[{index}];
}}
"""
        return text

    def test_no_more_is_told_than_holds_wherever_they_begin(self):
        for architecture in (75, 90):
            tables = self.tables(self.compile(self.source(), architecture))
            for name, (_, index, width, told) in self.INDICES.items():
                with self.subTest(name, architecture=architecture):
                    (table,) = (of for of in tables[name] if of["memory"] == "shared")
                    truth = {
                        wavefronts([index(lane, n) for lane in range(32)], width)
                        for n in range(4096)
                    }
                    self.assertEqual(table["wavefronts"] is not None, told)
                    if told:
                        self.assertEqual(truth, {table["wavefronts"]})
                    else:
                        self.assertEqual(table["verdict"], "cannot tell")
                        self.assertIn("depends on where their entries begin", table["why"])


class Verdicts(Compiled):
    def test_each_is_the_one_beside_the_kernel(self):
        for architecture in (75, 90, 120):
            tables = self.tables(self.compile(SOURCE, architecture))
            self.assertEqual(sorted(tables), sorted(expected()))
            for kernel, rows in expected().items():
                shared = sorted(
                    (table for table in tables[kernel] if table["memory"] == "shared"),
                    key=lambda table: int(table["table"].removeprefix("offset "), 16),
                )
                for name, memory, verdict, better in rows:
                    with self.subTest(kernel, table=name, architecture=architecture):
                        if memory == "shared":
                            table = shared[int(name)]
                        else:
                            (table,) = (
                                table
                                for table in tables[kernel]
                                if table["memory"] == memory
                                and table["table"] == (None if name == "-" else name)
                            )
                        self.assertEqual((table["verdict"], table["better"]), (verdict, better))

    def test_what_a_load_costs(self):
        """By hand: 32 lanes, and the numbers of the card."""
        tables = self.tables(self.compile(SOURCE))
        (once,) = (table for table in tables["once_without_a_loop"] if table["table"] == "c")
        self.assertAlmostEqual(once["constant_cycles"], 32 * ADDRESS)
        self.assertAlmostEqual(once["global_cycles"], REQUEST)
        # The copy into shared memory is a load and a store, and then the table is read.
        self.assertAlmostEqual(once["shared_cycles"], REQUEST + 2 * WAVEFRONT)
        self.assertIsNone(once["shuffle_cycles"])  # no 1024 entries
        (held,) = (table for table in tables["warp_holds_it"] if table["table"] == "small")
        self.assertAlmostEqual(held["shuffle_cycles"], WAVEFRONT)
        self.assertEqual(held["close"], ["shared"])
        (fifth,) = (table for table in tables["every_fifth"] if table["table"] == "rows_of_five")
        # 31 * 20 + 4 bytes: 20 sectors, 5 lines, two of which are in one of four banks.
        self.assertEqual((fifth["sectors"], fifth["sectors_least"]), (20, 4))
        self.assertAlmostEqual(fifth["global_cycles"], 2 * WAVEFRONT)
        (pairs,) = (table for table in tables["pairs"] if table["table"] == "parameter 1")
        self.assertEqual((pairs["sectors"], pairs["sectors_least"]), (4, 4))
        (rows,) = (
            table for table in tables["rows_of_4096_bytes"] if table["table"] == "parameter 1"
        )
        self.assertEqual((rows["sectors"], rows["sectors_least"]), (32, 4))

    def test_where_blocks_disagree_the_ends_are_those_of_the_blocks(self):
        (table,) = (
            table
            for table in self.tables(self.compile(SOURCE))["rare_loop_inside"]
            if table["table"] == "c"
        )
        self.assertAlmostEqual(
            table["low"] * 1.25, ADDRESS / WAVEFRONT, delta=0.01
        )  # the inner loop alone
        self.assertIsNone(table["high"])  # 4096 bytes exceed the L1 constant cache
        self.assertRegex(
            table["why"],
            r"^it depends on which loads run most: line \d+, 32 addresses of a warp's load where 1"
            r" would do; line \d+, 1 address of a warp's load where 1 would do$",
        )

    def test_an_array_that_is_read_at_an_index_less_a_number(self):
        """1 KB before shared memory begins no array is."""
        for reads, name in (("t[k - 256]", "offset -0x400"), ("t[k - 256] + t[k]", "offset 0x0")):
            cubin = self.compile(
                'extern "C" __global__ void less(float *o, const float *x, const int *d) {'
                " __shared__ float t[1024]; for (int i = threadIdx.x; i < 1024; i += 64)"
                " t[i] = x[i]; __syncthreads(); const int k = d[threadIdx.x];"
                f" o[threadIdx.x] = {reads}; }}\n",
                80,
            )
            (table,) = (t for t in self.tables(cubin)["less"] if t["memory"] == "shared")
            self.assertEqual(table["table"], name)
            text = cbank("advise", "--kernel", cubin, "--all-loads").stdout
            self.assertIn(f"shared memory at {name.split()[1]}", text)

    def test_only_a_gain_that_nothing_undoes_fails(self):
        for kernel, body, status in (
            (
                "hot",
                "float s = 0; for (int i = 0; i < n; i++) s += c[threadIdx.x + i] * x[i];",
                1,
            ),
            (
                "once",
                "float s = 0, m = c[threadIdx.x]; for (int i = 0; i < n; i++) s += m * x[i];",
                0,
            ),
            ("column", "float s = x[threadIdx.x * 1024];", 0),
        ):
            cubin = self.compile(
                "__constant__ float c[2048];\n"
                f'extern "C" __global__ void {kernel}(float *o, const float *x, int n)'
                f" {{ {body} o[threadIdx.x] = s; }}\n"
            )
            self.tables(cubin, "--fail", status=status)

    def test_the_shape_of_a_block_is_a_condition(self):
        """A kernel that reads threadIdx.x alone may be launched with blocks of several rows."""
        cubin = self.compile(
            "__constant__ float c[1024];\n"
            'extern "C" __global__ void x_only(float *o) { o[blockIdx.x * 8 + threadIdx.x] ='
            " c[threadIdx.x]; }\n"
        )
        condition = "if blocks have one dimension; --block-dim decides it"
        for words, addresses, said in (
            ((), 32, condition),
            (("--block-dim", "256"), 32, None),
            (("--block-dim", "8,32"), 8, None),
        ):
            (table,) = self.tables(cubin, *words)["x_only"]
            self.assertEqual((table["addresses"], table["condition"]), (addresses, said))
            text = cbank("advise", "--kernel", cubin, *words).stdout
            self.assertEqual(text.count(condition), 1 if said else 0)


# One variable, in kernels of as many answers.
ANSWERS = """
__constant__ float c[64];
extern "C" __global__ void loop(float *o)
{
    float s = 0;
    for (int k = 0; k < 64; k++)
        s += c[k] * o[k];
    o[threadIdx.x] = s;
}
extern "C" __global__ void row(float *o) { o[threadIdx.x] = c[threadIdx.y]; }
extern "C" __global__ void once(float *o, int *in) { o[threadIdx.x] = c[in[threadIdx.x] & 63]; }
extern "C" __global__ void pairs(float *o) { o[threadIdx.x] = c[threadIdx.x / 16]; }
extern "C" __global__ void lanes(float *o, int n)
{
    float s = 0;
    for (int k = threadIdx.x; k < n; k += blockDim.x)
        s += c[k & 63];
    o[threadIdx.x] = s;
}
"""


class Several(Compiled):
    def test_a_variable_of_several_kernels_has_the_reason_and_condition_of_each(self):
        """And the summary names the kernel with the most to gain."""
        cubin = self.compile(ANSWERS)
        said = " ".join(cbank("advise", "--kernel", cubin, "--card", "h200").stdout.split())
        self.assertRegex(said, r"5 kernels, \d+ tables? 1 would be faster elsewhere: c in lanes ")
        table = r" c \(constant, 256 bytes\): "
        for reason, row in (
            ("a load of a warp takes 32 addresses: .*?", r"32 addresses .*?; in lanes \*"),
            ("a load of a warp takes 2 addresses: .*?", r"2 addresses .*?; in pairs \*\*"),
            (".*? give --source or --indices", "in once"),
            ("a warp has one address: nothing is serialized", "1 address a load; in loop"),
            (".*? little besides these lookups", r"1 address a load; in row \*"),
        ):
            self.assertRegex(said, f": {reason}{table}{row} ")

    def test_it_is_said_whose_cycles_they_are(self):
        cubin = self.compile(ANSWERS, 75)
        for card, said in (
            (
                "h200",
                "cycles: by the card of H200, sm_90; nothing was measured. Those of sm_75 may",
            ),
            ("t4", "cycles: by the card of Tesla T4; nothing was measured\n"),
        ):
            text = cbank("advise", "--kernel", cubin, "--card", card).stdout
            self.assertIn(said, text.replace("\n    ", " "))


class Measured(unittest.TestCase):
    def test_equals_are_taken_in_the_measured_order(self):
        """load_cost.h says so of small tables where a warp has several addresses."""
        cells, compared = {}, collections.Counter()
        for cell in read_json(os.path.join(ROOT, "results/h200/lookups.json"))["cells"]:
            if cell["status"] == "ok" and cell["pattern"] != "lockstep":
                key = cell["pattern"], cell["table_bytes"], cell["width_bytes"]
                cells.setdefault(key, {})[cell["path"]] = cell["time_ns"]["value"]
        for (_, _, width), times in cells.items():
            for first, second in (("shuffle", "shared"), ("shared", "global")):
                if first in times and (first != "shuffle" or width <= 4):
                    self.assertLess(times[first], times[second])
                    compared[first] += 1
        self.assertGreater(min(compared.values()), 4)


class Words(Scratch):
    """What is said of the same kernels, as a toolkit compiled them once: a golden file, which
    CBANK_UPDATE_GOLDEN=1 writes."""

    CUBIN = os.path.join(ROOT, "tests/corpus/cubin/verdicts_sm_90.cubin")
    GOLDEN = os.path.join(ROOT, "tests/golden/table_verdicts.txt")

    def test_words(self):
        done = cbank("advise", "--kernel", self.CUBIN, "--json", "-", "--card", "h200")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        said = ""
        for kernel in json.loads(done.stdout)["code"]["kernels"]:
            said += f"{kernel['name']}\n"
            for table in kernel["tables"]:
                better = f" ({table['better']})" if table["better"] else ""
                said += (
                    f"  {table['table'] or '-'}, {table['memory']}: {table['verdict']}{better}\n"
                    f"    because: {table['why']}\n"
                )
                if table["condition"]:
                    said += f"    {table['condition']}\n"
        if os.environ.get("CBANK_UPDATE_GOLDEN"):
            with open(self.GOLDEN, "w", encoding="utf-8") as file:
                file.write(said)
        with open(self.GOLDEN, encoding="utf-8") as file:
            self.assertEqual(said, file.read())


class Indices(Compiled):
    """--source and --indices hold for every table whose index is data."""

    CODE = """__constant__ unsigned short halves[256];
__constant__ float2 pairs[64];
__device__ float far[1024];
__device__ unsigned char odd[80];
#define KERNEL(name) \\
    extern "C" __global__ void name(float *o, const int *y, int n, const float *t, \\
                                    cudaTextureObject_t u)
#define INDEX(entries) (y[i * 256 + threadIdx.x] & entries - 1)
#define LOOP(value) { float s = 0; for (int i = 0; i < n; i++) s += value; o[threadIdx.x] = s; }
KERNEL(of_halves) LOOP(halves[INDEX(256)])
KERNEL(of_pairs) LOOP(pairs[INDEX(64)].x * pairs[INDEX(64)].y)
KERNEL(of_far) LOOP(far[INDEX(1024)])
KERNEL(of_odd) LOOP(odd[INDEX(64)])
KERNEL(of_pointer) LOOP(t[INDEX(512)])
KERNEL(of_texture) LOOP(tex1Dfetch<float>(u, INDEX(512)))
KERNEL(of_shared)
{
    __shared__ float copy[512];
    for (int i = threadIdx.x; i < 512; i += 256) copy[i] = t[i];
    __syncthreads();
    LOOP(copy[INDEX(512)])
}
"""
    NAMES = {
        "of_halves": ("halves", "constant", 512, 2),
        "of_pairs": ("pairs", "constant", 512, 8),
        "of_far": ("far", "global", 4096, 4),
        "of_odd": ("odd", "global", 80, 1),
        "of_pointer": ("parameter 3", "global", None, 4),
        "of_texture": (None, "texture", None, 4),
        "of_shared": (None, "shared", None, 4),
    }

    def table_of(self, tables, kernel):
        name, memory, _, _ = self.NAMES[kernel]
        (table,) = (
            table
            for table in tables[kernel]
            if table["memory"] == memory and (name is None or table["table"] == name)
        )
        return table

    def test_each_table_by_its_own_size_and_width(self):
        cubin = self.compile(self.CODE)
        path = self.path("indices.npy")
        warp = [7 * lane % 40 for lane in range(32)]
        write_npy(path, [warp * 8])
        for words, size in (((), None), (("--table-bytes", "2048"), 2048)):
            # The kernels' own tables have a size, so lookups need none.
            tables = self.tables(cubin, "--indices", path, *words)
            for kernel, (_, memory, own, width) in self.NAMES.items():
                with self.subTest(kernel, words=words):
                    table = self.table_of(tables, kernel)
                    if own is None and size is None:
                        self.assertEqual(
                            (table["verdict"], table["assumed"]), ("cannot tell", False)
                        )
                        self.assertIn("give --table-bytes", table["why"])
                        continue
                    self.assertTrue(table["assumed"])
                    self.assertEqual(table["addresses"], len(set(warp)))
                    self.assertEqual(table["sectors"], len({index * width // 32 for index in warp}))
                    self.assertEqual(table["wavefronts"], wavefronts(warp, width))
                    self.assertEqual(
                        table["verdict"],
                        "faster elsewhere" if memory == "constant" else "as it should be",
                    )

    def test_what_was_given_is_not_asked_for(self):
        cubin = self.compile(self.CODE)
        for kernel in self.NAMES:
            self.assertRegex(
                self.table_of(self.tables(cubin), kernel)["why"],
                "^the index is data: give --source or --indices(, and --table-bytes)?$",
            )
        tables = self.tables(cubin, "--source", "random", "--table-bytes", "2048")
        for kernel in self.NAMES:
            table = self.table_of(tables, kernel)
            self.assertTrue(table["assumed"], kernel)
            self.assertNotIn("give", table["why"])

    def test_a_kernel_without_constants(self):
        """The sizes of tables in global memory are known, too."""
        cubin = self.compile(
            "__device__ float far[1024];\n"
            'extern "C" __global__ void k(float *o, const int *y)'
            " { o[threadIdx.x] = far[y[threadIdx.x] & 1023]; }\n"
        )
        (table,) = (
            table
            for table in self.tables(cubin, "--source", "random")["k"]
            if table["table"] == "far"
        )
        self.assertTrue(table["assumed"])

    def test_indices_of_one_address_leave_constants_where_they_are(self):
        cubin = self.compile(self.CODE)
        tables = self.tables(cubin, "--source", "lockstep", "--table-bytes", "2048")
        for kernel in self.NAMES:
            table = self.table_of(tables, kernel)
            self.assertEqual((table["verdict"], table["addresses"]), ("as it should be", 1), kernel)

    def test_a_copy_of_a_global_table_depends_on_how_often_it_is_read(self):
        table = self.table_of(self.tables(self.compile(self.CODE), "--source", "random"), "of_far")
        self.assertEqual((table["verdict"], table["better"]), ("depends", "shared"))
        self.assertGreater(table["global_cycles"], 1.25 * table["shared_cycles"])


def wavefronts(warp, width):
    """The most distinct words in one of 32 banks, of parts of a warp where entries are wide."""
    words = max(width // 4, 1)
    part = 32 // words
    total = 0
    for first in range(0, 32, part):
        read = {
            word
            for index in warp[first : first + part]
            for word in range(index * width // 4, index * width // 4 + words)
        }
        total += max(collections.Counter(word % 32 for word in read).values())
    return total


if __name__ == "__main__":
    unittest.main()
