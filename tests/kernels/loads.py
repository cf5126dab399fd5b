# SPDX-License-Identifier: MIT
"""The loads of the kernels of loads.cu: they agree with the kernels' names and with a disassembler."""

import collections
import re
import subprocess

WIDTHS = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}
LINE = re.compile(r"^\s*/\*[0-9a-f]+\*/\s+(@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]*)\s*(.*?)\s*;")
BANK = re.compile(r"\bc\[0x([0-9a-f]+)\]\s*\[([^\]]*)\]")
WRITTEN = re.compile(r", 0x([0-9a-f])$")
INDEXED = {"LDC": "LDC", "ULDC": "ULDC/LDCU", "LDCU": "ULDC/LDCU"}
FIXED = {"LDC/ULDC/LDCU c[3][number]", "operand c[3][number]"}
UNIFORM = {"ULDC/LDCU c[3][register]", "LDC c[3][register]"}  # the second before Turing

# A load that each kernel has, one of them; None: none of a table.
OF_KERNEL = {
    "constant_register": {"LDC c[3][register]"}, "constant_widths": {"LDC c[3][register]"}, "constant_number": FIXED,
    "constant_converted": FIXED, "constant_uniform": UNIFORM, "constant_loop": {"LDC c[3][register]"},
    "constant_called": {"LDC c[3][register]"}, "parameter": {"LDC c[0][register]"}, "global_plain": {"LDG"},
    "global_read_only": {"LDG.CONSTANT"}, "global_past_l1": {"LDG.STRONG"}, "shared": {"LDS"}, "by_texture": {"TEX/TLD"},
    "shuffle": {"SHFL"}, "local": {"LDL"}, "generic": {"LD"}, "switched": {"LDC c[3][register]"}, "pointer": {"c[0][number]"}}


def constant(base, bank, index, width):
    indexed = re.search(r"R\d", index)
    if base not in INDEXED:
        return {0: "c[0][number]", 3: "operand c[3][number]"}.get(bank, "c[2], c[4]"), 4
    if bank == 3:
        return (f"{INDEXED[base]} c[3][register]" if indexed else "LDC/ULDC/LDCU c[3][number]"), width
    if bank == 0:
        return (f"{INDEXED[base]} c[0][register]" if indexed else "c[0][number]"), width
    return "c[2], c[4]", width


def load(opcode, operands):
    """(what cbank calls it, bytes); None for what is no load."""
    base, *modifiers = opcode.split(".")
    width = next((WIDTHS[word] for word in modifiers if word in WIDTHS), 4)
    bank = BANK.search(operands)
    if bank:
        return constant(base, int(bank.group(1), 16), bank.group(2), width)
    if base == "LDG":
        return next((f"LDG.{word}" for word in ("CONSTANT", "STRONG") if word in modifiers), "LDG"), width
    if base in ("TEX", "TLD", "TLD4", "TXD"):
        written = WRITTEN.search(operands)
        registers = bin(int(written.group(1), 16)).count("1") if written else 4
        return "TEX/TLD", 16 if registers > 2 else 4 * registers
    if base in ("LDS", "LD", "LDL"):
        return base, width
    return (base, 4) if base in ("SHFL", "LDGSTS") else None


def disassembled(nvdisasm, cubin):
    """{kernel: Counter of (load, bytes)}"""
    done = subprocess.run([nvdisasm, "-c", "-ndf", cubin], capture_output=True, text=True, check=True)
    found, counts = {}, None
    for line in done.stdout.splitlines():
        section, instruction = re.match(r"\s*\.section\s+\.text\.(\w+)", line), LINE.match(line)
        if section:
            counts = found[section.group(1)] = collections.Counter()
        elif instruction and counts is not None and (instruction.group(1) or "").strip() != "@!PT":
            counts.update(filter(None, [load(*instruction.groups()[1:])]))
    return found


def said(code):
    """The same of what cbank advise says."""
    return {kernel["name"]: collections.Counter({(re.sub(r"\.(U8|U16|64|128)\b", "", row["load"]), row["width_bytes"]): row["count"]
                                                 for row in kernel["loads"]}) for kernel in code["kernels"]}
