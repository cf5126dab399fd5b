#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of the kernel checks with kernels that were broken on purpose: in each a load of the table
is another, or missing, or elsewhere. CBANK_CUDA names the CUDA toolkit; without one, what needs it
is skipped.
"""

import contextlib
import functools
import io
import os
import re
import sys
import unittest
import unittest.mock

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "end_to_end"))
from common import ROOT  # noqa: E402
from tree import DISASSEMBLER, TOOLKIT, BrokenPath, Scratch  # noqa: E402

sys.path.insert(0, os.path.join(ROOT, "scripts"))
import kernel_check  # noqa: E402

MAP_SUM = (
    "uint32_t sum = stage<Path>(args, Path::words(args));\n        const uint32_t element ="
    " blockIdx"
)
MAP_LOAD = "sum += Path::load(space, map_index<Workload, Path, Pattern>(args, step));"
PATHS, KERNELS, ENTRY = "kernels/paths.def", "kernels/kernels.cu", "kernels/entry.cuh"


class Fault:
    """A fault, and which kernels it breaks: parts of their names. `row` is a path of its own
    that is wrong, `change` is (old, new) text of `file`. `found` is what the disassembly shows,
    `harness` a pattern of what the harness says."""

    def __init__(
        self,
        workload,
        found,
        row=None,
        path="constant",
        change=None,
        file=KERNELS,
        ptx=True,
        harness=None,
    ):
        self.workload, self.found, self.row, self.change, self.file = (
            workload,
            found,
            row,
            change,
            file,
        )
        self.path = row.name if row else path
        self.ptx = ptx  # the PTX shows it already
        # it does not see where a load is
        self.harness = harness or (r"the kernel has \d" if "; found" in found else "")


def path_fault(name, path, load, fault, found):
    return Fault("conv_1d", found, row=BrokenPath(name, path, load, fault))


def more_fault(name, path, load, fault, found, harness, workload="conv_1d"):
    return Fault(
        workload, found, row=BrokenPath(name, path, load, fault), ptx=False, harness=harness
    )


def before(statement, load):
    """A load, with a statement that goes before it."""
    return f"([&] {{ {statement}; return {load}; }}())"


def loaded_by(instruction, operands='"l"(&table[index])'):
    """A load of a word by an instruction of PTX."""
    code = instruction if ";" in instruction else f"{instruction}.u32 %0, [%1];"
    return (
        f'([&] {{ uint32_t word = 0; table_element of = {{}}; asm volatile("{code}" : "=r"(word) :'
        f" {operands}); memcpy(&of, &word, sizeof(of) < 4 ? sizeof(of) : 4); return of; }}())"
    )


def special(register):
    return f'uint32_t of; asm volatile("mov.u32 %0, %{register};" : "=r"(of))'


TEXTURE, SHARED = "tex1Dfetch<table_element>(texture, (int)index)", "staged[index]"
CONSTANT, WITH_IT, TABLE, L2 = (
    "cbank_values[index]",
    "cbank_values[index ^ (of & 1u)]",
    "table[index]",
    "__ldcg(&table[index])",
)
MODIFIED, REGISTER, COMPUTED = (
    r"\d+ with other modifiers",
    r"\d+ of other special registers",
    r"\d+ more arithmetic instructions than global",
)

# `found`: of what the path of a kernel with 3 payload loads, conv_1d of radius 1, is made then; or
# another fault.
FAULTS = {
    "a plain load where a read-only one should be": path_fault(
        "read_plainly",
        "readonly",
        "__ldg(&table[index])",
        "table[index]",
        "3 LDG, 3 LDG.CONSTANT, 1 STG; found 6 LDG, 1 STG",
    ),
    "a load that does not go past L1": path_fault(
        "not_past_l1",
        "global_l2",
        "__ldcg(&table[index])",
        "table[index]",
        "3 LDG, 3 LDG.STRONG, 1 STG; found 6 LDG, 1 STG",
    ),
    "a plain load where the texture unit should load": path_fault(
        "no_texture",
        "texture",
        "tex1Dfetch<table_element>(texture, (int)index)",
        "table[index]",
        "3 LDG, 1 STG, 3 TLD; found 6 LDG, 1 STG",
    ),
    "global memory where shared memory should be": path_fault(
        "not_shared",
        "shared",
        "staged[index]",
        "table[index]",
        "3 LDG, 3 LDS, 1 STG and copies; found ",
    ),
    "the constant bank where parameters should be": path_fault(
        "no_param",
        "param",
        "values.elements[index]",
        "cbank_values[index]",
        "3 LDC.PARAMETER, 3 LDG, 1 STG; found 3 LDC, 3 LDG, 1 STG",
    ),
    "an index known when it is compiled": Fault(
        "conv_1d",
        "3 LDC, 3 LDG, 1 STG; found ",
        ptx=False,
        change=("Path::load(space, zero + index)", "Path::load(space, index)"),
    ),
    "a load before the threads without an element are gone": Fault(
        "add",
        "LDC before the EXIT of threads without an element",
        change=(
            MAP_SUM,
            MAP_SUM.replace(
                "(args));\n",
                (
                    "(args)) + Path::load(space, map_index<Workload, Path, Pattern>(args, 0));\n"
                    "        if (sum == 1u)\n            args.output[0] = sum;\n"
                ),
            ),
        ),
    ),
    "a load that is missing": Fault(
        "conv_1d",
        "3 LDC, 3 LDG, 1 STG; found 2 LDC, 2 LDG, 1 STG",
        change=("dx <= rx; dx++, step++", "dx < rx; dx++, step++"),
    ),
    "a load in a loop": Fault(
        "add",
        "a loop",
        change=(
            MAP_LOAD,
            "\n#pragma unroll 1\n            "
            "for (uint32_t i = 0; i <= args.divergence; i++)\n                " + MAP_LOAD,
        ),
    ),
    "a coefficient loaded once for two steps": Fault(
        "conv_1d",
        "3 LDC, 3 LDG, 1 STG; found 2 LDC, 3 LDG, 1 STG",
        change=("Path::load(space, zero + index)", "Path::load(space, zero + (index & ~1u))"),
    ),
    "only half of an element is loaded": Fault(
        "lookup",
        "1 LDG, 1 LDG.128, 1 STG; found 1 LDG, 1 LDG.64, 1 STG",
        path="global",
        ptx=False,
        file=ENTRY,
        change=(
            "ELEMENT(16, uint4, element.x + element.y + element.z + element.w)",
            "ELEMENT(16, uint4, element.x + element.y)",
        ),
    ),
    "a choice that leaves a bit of the index out": Fault(
        "lookup",
        "expected 5 LDG, 2 SEL, 1 STG",
        path="select_4",
        file=ENTRY,
        change=(
            "return entry & half ? high : low;",
            "return half > 1 && entry & half ? high : low;",
        ),
    ),
    "bytes of the first half alone": Fault(
        "lookup",
        "expected 5 LDG, 2 PRMT, 1 STG",
        path="prmt",
        file=ENTRY,
        change=("return (uint8_t)(index & 8 ? high : low);", "return (uint8_t)low;"),
    ),
    "a copy that nobody waits for": Fault(
        "add",
        "",
        path="shared",
        ptx=False,
        change=("__syncthreads();\n        uint32_t sum = 0;", "uint32_t sum = 0;"),
        harness="no barrier behind the copy",
    ),
    # In these the right load is there as often as it should be; what is wrong is around it, or in
    # its modifiers.
    "a wait before each load": more_fault(
        "slept",
        "constant",
        CONSTANT,
        before("__nanosleep(1)", CONSTANT),
        "NANOSLEEP",
        "NANOSLEEP and not 0",
    ),
    "lines that are evicted first": more_fault(
        "evict_first", "global", TABLE, "__ldcs(&table[index])", "LDG.E.EF", MODIFIED
    ),
    "lines that are not kept in L1": more_fault(
        "not_allocated",
        "readonly",
        "__ldg(&table[index])",
        loaded_by("ld.global.nc.L1::no_allocate"),
        "LDG.E.NA.CONSTANT",
        MODIFIED,
    ),
    "a fence before each load": more_fault(
        "fenced",
        "constant",
        CONSTANT,
        before("__threadfence()", CONSTANT),
        "MEMBAR",
        "MEMBAR and not 0",
        "stencil_1d",
    ),
    "lookups that do not wait for each other": Fault(
        "lookup",
        "",
        path="constant",
        ptx=False,
        change=("((loaded[k] | polluter) &", "((polluter) &"),
        harness="0 loads of a round wait for those of the round before, and not 1",
    ),
    "lines that are evicted last": more_fault(
        "evict_last", "global", TABLE, loaded_by("ld.global.L1::evict_last"), "LDG.E.EL", MODIFIED
    ),
    "lines that are used last": more_fault(
        "last_use", "global", TABLE, "__ldlu(&table[index])", "LDG.E.LU", MODIFIED
    ),
    "a prefetch into L2 with each load": more_fault(
        "prefetching", "global", TABLE, loaded_by("ld.global.L2::128B"), "LDG.E.LTC128B", MODIFIED
    ),
    "a strong load of the whole system": more_fault(
        "of_the_system",
        "global_l2",
        L2,
        loaded_by("ld.relaxed.sys.global"),
        "LDG.E.STRONG.SYS",
        MODIFIED,
    ),
    "a prefetch before each load": more_fault(
        "prefetched",
        "global",
        TABLE,
        before('asm volatile("prefetch.global.L2 [%0];" :: "l"(&table[index]))', TABLE),
        "CCTL",
        "CCTL and not 0",
    ),
    "a vote before each load": more_fault(
        "voted",
        "constant",
        CONSTANT,
        before('uint32_t of; asm volatile("activemask.b32 %0;" : "=r"(of))', WITH_IT),
        "VOTE",
        "VOTEU? and not 0",
    ),
    "a clock that is read": more_fault(
        "clocked", "constant", CONSTANT, before(special("%clock"), WITH_IT), "SR_CLOCKLO", REGISTER
    ),
    "an SM that is asked for": more_fault(
        "located",
        "constant",
        CONSTANT,
        before(special("%smid"), WITH_IT),
        "SR_VIRTUALSMID",
        REGISTER,
    ),
    "an event before each load": more_fault(
        "triggered",
        "constant",
        CONSTANT,
        before('asm volatile("pmevent 1;")', CONSTANT),
        "PMTRIG",
        "PMTRIG and not 0",
    ),
    "a barrier before each load": more_fault(
        "stopped",
        "constant",
        CONSTANT,
        before("__syncthreads()", CONSTANT),
        "",
        "[1-9] BAR and not [01],?",
    ),
    "an index that is divided": more_fault(
        "divided",
        "constant",
        CONSTANT,
        "cbank_values[index % (index >> 3 | 5u)]",
        "",
        "I2F and not 0",
    ),
    "more arithmetic for each index": more_fault(
        "computed",
        "constant",
        CONSTANT,
        "cbank_values[index ^ (index >> 3) * 7u ^ (index >> 5) * 11u]",
        "",
        COMPUTED,
    ),
    **{
        f"one more operation for each index of {path}, {workload}": more_fault(
            f"one_more_{path}",
            path,
            load,
            load.replace("index", f"(index {more})"),
            "",
            "opcodes of no row",
            workload,
        )
        for path, load, more, workload in (
            ("constant", CONSTANT, "^ 1u", "add"),
            ("global", TABLE, "^ 1u", "add"),
            ("texture", TEXTURE, "^ 1u", "add"),
            ("shared", SHARED, "* 3u", "add"),
            ("param", "values.elements[index]", "^ 1u", "add"),
            ("readonly", "__ldg(&table[index])", "* 3u", "lookup"),
            ("global_l2", L2, "* 3u", "lookup"),
            ("shared_copies", "copied[index * copies]", "^ 1u", "lookup"),
            ("shuffle", "shuffled(mine, index)", "^ 1u", "lookup"),
            ("param_large", "values.elements[index]", "^ 1u", "lookup"),
        )
    },
    "an element that is loaded for some threads": more_fault(
        "for_some",
        "shared",
        SHARED,
        f"(index & 1u ? {SHARED} : table_element{{}})",
        "LDS under a predicate",
        MODIFIED,
    ),
    "an index that comes from another thread": more_fault(
        "exchanged",
        "constant",
        CONSTANT,
        "cbank_values[__shfl_sync(~0u, index, 0)]",
        "SHFL",
        "SHFL that no path names",
    ),
    "an index that is chosen": more_fault(
        "chosen",
        "constant",
        CONSTANT,
        "cbank_values[index & 1u ? index : index >> 1]",
        "",
        "SEL that no path names",
    ),
    "a warp that waits for its threads": more_fault(
        "warp_waits",
        "constant",
        CONSTANT,
        before("__syncwarp()", CONSTANT),
        "",
        "[1-9] NOP and not 0",
    ),
    "a texture of two dimensions": more_fault(
        "two_dimensions",
        "texture",
        TEXTURE,
        loaded_by("tex.2d.v4.u32.s32 {%0, _, _, _}, [%1, {%2, %2}];", '"l"(texture), "r"(index)'),
        "TLD.128",
        MODIFIED,
    ),
}


class Found:
    """The findings of the three readers for a tree with some of the faults, which are in
    different workloads or paths."""

    def __init__(self, faults):
        with contextlib.closing(Scratch()) as scratch:
            for fault in faults:
                if fault.row:
                    scratch.write(PATHS, fault.row.add(scratch.read(PATHS)))
                else:
                    scratch.edit(fault.file, *fault.change)
            modules = " ".join(sorted({fault.workload for fault in faults}))
            scratch.make(f"MODULES={modules}", "build/tests/unit/test_kernels", "all")
            self.ptx = scratch.check_ptx()
            self.sass = scratch.check_sass() if DISASSEMBLER else None
            self.harness = scratch.run("build/tests/unit/test_kernels")


@functools.lru_cache(maxsize=None)
def found(name):
    """A tree that has the fault: with one fault all paths are wrong, others have a fault for
    each workload."""
    if FAULTS[name].row:
        return found_together(tuple(other for other in FAULTS if FAULTS[other].row))
    changes = [other for other in FAULTS if FAULTS[other].change]
    first = changes.index(name) // 2 * 2
    return found_together(tuple(changes[first : first + 2]))


@functools.lru_cache(maxsize=None)
def found_together(names):
    return Found([FAULTS[name] for name in names])


@unittest.skipUnless(TOOLKIT, "no CUDA toolkit")
class Faults(unittest.TestCase):
    def look(self, done, text):
        self.assertNotEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout + done.stderr, text)

    def check(self, name):
        fault, readers = FAULTS[name], found(name)
        kernel = rf"workload_{fault.workload}ILj\dEE\S*path_{fault.path}[1L]\S*"
        if fault.ptx:
            self.look(readers.ptx, rf"FAIL compute_\d+ \S*{kernel}: ")
        if readers.sass and fault.found:
            self.look(readers.sass, rf"FAIL sm_\d+ \S*{kernel}: .*{re.escape(fault.found)}")
        if fault.harness:
            self.look(
                readers.harness,
                (
                    rf"{fault.workload}\.sm_\d+\.cubin"
                    rf" {fault.workload}/{fault.path}/\S+.*{fault.harness}"
                ),
            )


def add_test(name):
    setattr(Faults, "test_" + re.sub(r"\W+", "_", name), lambda self: self.check(name))


for NAME in FAULTS:
    add_test(NAME)


class Choices(unittest.TestCase):
    """The compiler's choice next to the known one, which is that of the toolkit before."""

    KNOWN = {
        ("11.8", "sm_90", "constant_uniform"): (24, 27),
        ("13.0", "sm_90", "constant_uniform"): (20, 27),
    }

    def test_another_choice_than_the_known_one(self):
        for toolkit, taken, found in (
            ("13.0", 20, 0),
            ("11.8", 24, 0),
            ("12.4", 24, 0),
            ("14.0", 20, 0),
            ("11.0", 0, 0),
            ("13.1", 0, 1),
        ):
            said = io.StringIO()
            with contextlib.redirect_stdout(said), unittest.mock.patch.object(
                kernel_check, "known_choices", lambda: self.KNOWN
            ):
                status = kernel_check.report_choices(
                    toolkit, {"sm_90": {"constant_uniform": (taken, 27)}}
                )
            self.assertEqual(status, found, toolkit)
        self.assertIn(
            (
                "FAIL sm_90 constant_uniform: 0 of 27 kernels have its instruction; with CUDA 13.0"
                " it was 20 of 27"
            ),
            said.getvalue(),
        )


if __name__ == "__main__":
    unittest.main()
