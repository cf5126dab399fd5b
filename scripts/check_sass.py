#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""Disassembles every kernel of every architecture in the program and checks its loads.

A path names the instruction that its payload load must be. This check takes the kernel images out
of the program that measures. It fails if a kernel is missing, if a payload load is another
instruction, or if the number of loads differs from the workload's. Exit status: 0 all kernels are
right, 1 some are not, 2 usage, 3 no disassembler on this machine.
"""

import argparse
import collections
import concurrent.futures
import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import kernel_check
import opcodes

IMAGE_SECTION = ".cbank_images"
TABLE_SYMBOL = "cbank_values"
PARAMETER_BANK = 0
RELEASE = re.compile(rb"Cuda compilation tools, release ([\d.]+)")  # in PTX

# Braces are around the pairs that Maxwell and Pascal issue together; the second of a pair has no
# semicolon.
SECTION = re.compile(r"^\s*\.section\s+\.text\.(\w+)")
LABEL = re.compile(r"^([.$\w]+):")
LABEL_USE = re.compile(r"`\(([.$\w]+)\)")
ADDRESS = re.compile(r"^\s*/\*([0-9a-f]+)\*/")
INSTRUCTION = re.compile(
    r"^\s*/\*[0-9a-f]+\*/\s+(?:\{\s*)?((?:@!?U?P\w+\s+)?)([A-Z][A-Z0-9_.]*)\s*(.*?)\s*[;}]"
)
# No thread executes it: code for Volta has such SHFL.
NEVER = re.compile(r"\*/\s+(?:\{\s*)?@!PT\s")
# registers that a texture load writes; all four where it does not say
WRITTEN = re.compile(r"1D, (\w+)$")
BANK = re.compile(r"\bc\[0x([0-9a-f]+)\]\s*\[([^\]]*)\]")

# Control flow that this check cannot follow: a kernel with it has no fixed number of loads. A
# switch makes the first.
INDIRECT = {"BRX", "BRXU", "JMX", "JMXU"}
UNCOUNTABLE = {"CALL", "RET", "CAL", "JCAL", "CONT"}
MEMORY = ("LD", "ST", "ATOM", "RED", "TLD", "TEX", "SULD", "SUST", "UBLK")
NOT_MEMORY = {"REDUX", "TEXDEPBAR"}

# The words that loads may have besides their width. Others are an eviction priority, a prefetch
# size, a stronger order or the like, and no path names them.
WORDS = {
    "LDC": set(),
    "ULDC": set(),
    "LDCU": set(),
    "LDG": {"E", "CONSTANT", "STRONG", "GPU"},
    "LDS": {"U", "32", "X4", "X8", "X16"},
    "TLD": {"LZ", "SCR", "T", "P", "B", "NODEP"},
    "TEX": {"LZ", "B", "T", "P", "NODEP"},
}
OLD_WORDS = {"SYS", "S", "T", "P"}  # before sm_80: of plain loads, and of Kepler

# The instructions that kernels may have; loads, stores and calls are also counted. Some units have
# more.
KNOWN = opcodes.of_kernels()
KNOWN_OLD = {"MEMBAR"}  # Maxwell and Pascal: before a barrier
# CUDA 13 for sm_75 and sm_80: in loops of strong loads. CUDA 11.8 for sm_90: behind branches of the
# stencil.
KNOWN_OF = {
    "l2": {"YIELD", "VOTE", "VOTEU"},
    **dict.fromkeys(("shared", "uniform", "imc"), {"WARPSYNC"}),
}
SPECIAL = re.compile(r"\b(SR_\w+(\.[XYZ])?)")
SPECIAL_KNOWN = {"SR_TID.X", "SR_CTAID.X", "SR_CgaCtaId", "SR_LANEID"}

# Before Volta (sm_70) instructions are of 64 bits, and some of these have another spelling. Kepler
# (sm_3x) has no load of its own for global memory: LD is the plain one, and its LDG goes through
# the texture cache.
KEPLER = {"LD": "LDG", "LDG": "LDG.CONSTANT", "ST": "STG"}
WIDTHS = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}
SHORT = {"TLDS": "TLD", "TEXS": "TEX"}  # Maxwell and Pascal
BEFORE_VOLTA = {"CI": "CONSTANT", "CG": "STRONG.GPU", "CV": "STRONG.SYS"}


class Undecodable(Exception):
    """nvdisasm does not know the architecture; the text says what it says."""


def unpack(program, folder):
    """Puts the images of the program into a folder; their names, sorted. Raises Failure."""
    if not os.access(program, os.R_OK):
        raise kernel_check.Failure(f"cannot read {program}; build it first: make")
    archive = os.path.abspath(os.path.join(folder, "images.a"))
    subprocess.run(
        ["objcopy", "--dump-section", f"{IMAGE_SECTION}={archive}", program, "/dev/null"],
        capture_output=True,
        check=False,
    )
    if not os.path.exists(archive) or not os.path.getsize(archive):
        return []
    done = subprocess.run(
        ["ar", "xv", archive], cwd=folder, capture_output=True, text=True, check=True
    )
    return sorted(line.removeprefix("x - ") for line in done.stdout.splitlines())


def toolkit_of(folder, name):
    """Version of the toolkit that a file of PTX names; None in another."""
    with open(os.path.join(folder, name), "rb") as file:
        said = RELEASE.search(file.read())
    return said and said.group(1).decode()


def user_bank(cubin):
    """Number of the constant bank that TABLE_SYMBOL is in; None where it is in none."""
    said = subprocess.run(
        ["readelf", "-SsW", cubin], capture_output=True, text=True, check=True
    ).stdout
    section = re.search(rf"(?m) (\d+) {TABLE_SYMBOL}$", said)
    bank = section and re.search(rf"(?m)^ *\[ *{section.group(1)}\] \.nv\.constant(\d+) ", said)
    return bank and int(bank.group(1))


def spelling(opcode, architecture):
    """The opcode as it is spelt since Volta."""
    base, *modifiers = opcode.split(".")
    if architecture < 50:
        base = KEPLER.get(base, base)
    if architecture < 70:
        base = SHORT.get(base, base)
        modifiers = [BEFORE_VOLTA.get(word, word) for word in modifiers]
    return ".".join([base] + modifiers)


def width(base, modifiers, operands):
    """Bytes that a thread loads by the instruction; of a texture load, of the registers that it
    writes."""
    if base in ("TLD", "TEX"):
        written = WRITTEN.search(operands)
        return {"0x1": 4, "R": 4, "0x3": 8, "RG": 8}.get(written.group(1) if written else None, 16)
    return next((WIDTHS[word] for word in modifiers if word in WIDTHS), 4)


def classify(opcode, operands, user_bank):
    """The class that an instruction is counted under; None when it touches no memory of
    interest."""
    base, *modifiers = opcode.split(".")
    family = family_of(base, modifiers, operands, user_bank)
    if not family or base.startswith(("ST", "LDL")) or family in ("OPERAND", "SEL", "PRMT"):
        return family
    return kernel_check.sass_name(family, width(base, modifiers, operands))


def family_of(base, modifiers, operands, user_bank):
    """The same without the width."""
    banks = [(int(bank, 16), index) for bank, index in BANK.findall(operands)]
    index = next((index for bank, index in banks if bank == user_bank), None)
    if index is not None:
        if base in ("ULDC", "LDCU"):
            return "ULDC"
        if base != "LDC":
            return "OPERAND"
        return "LDC" if indexed(index) else kernel_check.UNINDEXED
    if base == "LDC":
        return (
            "LDC.PARAMETER"
            if any(bank == PARAMETER_BANK and indexed(index) for bank, index in banks)
            else None
        )
    if base in ("ULDC", "LDCU"):
        return None  # parameters
    if base == "LDG":
        return next((f"LDG.{word}" for word in ("CONSTANT", "STRONG") if word in modifiers), "LDG")
    if base in ("TLD", "TEX"):
        return "TLD"
    if base in ("SHFL", "SEL", "PRMT"):
        return base
    if base.startswith(MEMORY) and base not in NOT_MEMORY:
        return base
    return None


def indexed(index):
    """Whether an index into a bank has an ordinary register, and no uniform one."""
    return "UR" not in index and re.search(r"\bR\d", index)


def branches(code):
    """(address, target, text) of each branch but the padding behind the last EXIT; target None
    where it is not said."""
    exits = [address for address, opcode, _ in code if opcode.split(".")[0] == "EXIT"]
    for address, opcode, operands in code:
        if opcode.split(".")[0] in ("BRA", "JMP"):
            target = re.search(r"0x[0-9a-f]+", operands)
            target = int(target.group(), 16) if target else None
            if target != address or not exits or address < exits[-1]:
                yield address, target, f"{opcode} {operands} at {address:#x}"


def faults_of_words(code, kernel, architecture):
    """Instructions, modifiers and registers that no path names."""
    known = KNOWN | KNOWN_OF.get(kernel.path["unit"], set())
    known |= (KNOWN_OLD if architecture < 70 else set()) | UNCOUNTABLE | INDIRECT
    allowed = WIDTHS.keys() | (OLD_WORDS if architecture < 80 else set())
    for address, opcode, operands in code:
        base, *words = opcode.split(".")
        special = SPECIAL.search(operands)
        if base in UNCOUNTABLE | (set() if kernel.switched else INDIRECT):
            yield f"{opcode} at {address:#x}: a call or an indirect branch"
        if set(words) - WORDS.get(base, set(words)) - allowed:
            yield f"{opcode} at {address:#x}: modifiers that no path names"
        if base not in known:
            yield f"{opcode} at {address:#x}: an instruction that no path names"
        if special and special.group(1) not in SPECIAL_KNOWN:
            yield f"{opcode} {special.group(1)} at {address:#x}: a register that no path names"


def faults_of_branches(code, kernel, payload):
    """Loops that should not be there, or are missing; branches to where nobody knows."""
    loops = 0  # around payload loads
    for address, target, text in branches(code):
        if target is None:
            yield f"{text}: a branch to an unknown address"
        elif kernel.strides:
            loops += any(target <= load <= address for load in payload)
        elif target <= address and not kernel.staged:
            yield f"{text}: a loop"
        elif any(target <= load <= address for load in payload):
            yield f"{text}: a loop around {kernel.payload}"
    if kernel.strides and kernel.payload_loads and not loops:
        yield f"no loop around {kernel.payload}, and its grid strides"


def predicated_most(code, kernel):
    """Payload loads that may be under a predicate."""
    if kernel.payload == "LDG":
        return kernel.loads
    chosen = kernel.path["chosen"] or kernel.path["unit"] == "select"
    return len(code) if chosen else 0


def examine(code, user_bank, kernel, architecture):
    """Counter of load classes, and other faults, of one kernel's (address, opcode, operands)
    list."""
    classes = [
        (address, classify(opcode, operands, user_bank)) for address, opcode, operands in code
    ]
    counts = collections.Counter(kind for _, kind in classes if kind)
    payload = [address for address, kind in classes if kind == kernel.payload]
    guard = next((address for address, opcode, _ in code if opcode.split(".")[0] == "EXIT"), None)
    faults = []
    if guard is None:
        faults.append("no EXIT")
    elif sum(address > guard for address in payload) < min(len(payload), kernel.payload_loads):
        faults.append(
            f"{kernel.payload} before the EXIT of threads without an element, at {guard:#x}"
        )
    predicated = sum(
        kind == kernel.payload and operands.startswith("@")
        for (_, kind), (_, _, operands) in zip(classes, code)
    )
    if predicated > predicated_most(code, kernel):
        faults.append(f"{predicated} {kernel.payload} under a predicate")
    faults += faults_of_words(code, kernel, architecture)
    faults += faults_of_branches(code, kernel, payload)
    return counts, faults


def resolve(operands, labels):
    """The operands with the addresses of labels in place of their names."""
    return LABEL_USE.sub(lambda use: labels.get(use.group(1), use.group(0)), operands)


def kernels(text, architecture):
    """(symbol, code) of each kernel in nvdisasm's text; code is a list of (address, opcode,
    operands)."""
    found, labels, waiting = [], {}, []
    for line in text.splitlines():
        section, label, address = SECTION.match(line), LABEL.match(line), ADDRESS.match(line)
        if section:
            found.append((section.group(1), []))
        elif label:
            waiting.append(label.group(1))
        elif address and found:
            instruction = INSTRUCTION.match(line)
            if not instruction:
                raise kernel_check.Failure(f"no way to read this line of nvdisasm: {line.strip()}")
            labels.update((name, f"0x{address.group(1)}") for name in waiting)
            waiting = []
            predicate, opcode, operands = (
                ("", "NOP", "") if NEVER.search(line) else instruction.groups()
            )
            found[-1][1].append(
                (int(address.group(1), 16), spelling(opcode, architecture), predicate + operands)
            )
    return [
        (
            symbol,
            [(address, opcode, resolve(operands, labels)) for address, opcode, operands in code],
        )
        for symbol, code in found
    ]


def disassemble(nvdisasm, cubin, architecture):
    """(symbol, code) pairs, and the text, of one cubin file; no pairs when it cannot be decoded."""
    # -ndf: no analysis of where the code goes, which takes long on Kepler and puts notes into the
    # lines.
    done = subprocess.run(
        [nvdisasm, "-c", "-ndf", cubin], capture_output=True, text=True, check=False
    )
    found = kernels(done.stdout, architecture) if done.returncode == 0 else []
    if any(not code for _, code in found):
        found = []
    return found, done.stdout + done.stderr


def examine_image(nvdisasm, path, expected):
    """The kernels of one image: (symbol, Counter, faults) of each; Undecodable else. Their text
    goes into the folder of the image."""
    architecture = int(path.split(".")[-2][len("sm_") :])
    functions, text = disassemble(nvdisasm, path, architecture)
    with open(path.removesuffix("cubin") + "sass", "w", encoding="utf-8") as file:
        file.write(text)
    if not functions:
        raise Undecodable((text.strip().splitlines() or ["no output"])[-1].strip())
    bank = user_bank(path)
    if bank is None:
        return [
            (symbol, collections.Counter(), [f"{TABLE_SYMBOL} is not in a constant bank"])
            for symbol, _ in functions
        ]
    unknown = next(iter(expected.values()))  # compare says which they are
    return [
        (symbol, *examine(code, bank, expected.get(symbol, unknown), architecture))
        for symbol, code in functions
    ]


def examine_images(nvdisasm, folder, names, expected):
    """({architecture: the kernels of all its images}, {architecture: why it cannot be decoded})."""
    found, undecodable = {}, {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        waiting = [
            (
                name.split(".")[1],
                pool.submit(
                    examine_image,
                    nvdisasm,
                    os.path.join(folder, name),
                    expected[name.split(".")[1]],
                ),
            )
            for name in names
        ]
        for architecture, outcome in waiting:
            try:
                found.setdefault(architecture, []).extend(outcome.result())
            except Undecodable as reason:
                undecodable[architecture] = reason
    return {name: rows for name, rows in found.items() if name not in undecodable}, undecodable


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", nargs="?", default="build/cbank")
    parser.add_argument("--dump", metavar="DIR", help="keep the images and their disassembly there")
    parser.add_argument(
        "--skip-undecodable",
        action="store_true",
        help="skip architectures that this machine's nvdisasm cannot decode, and say so",
    )
    options = parser.parse_args()

    nvdisasm = shutil.which("nvdisasm")
    if not nvdisasm:
        print(
            "check_sass: no nvdisasm on PATH; it is part of the CUDA toolkit (package"
            " cuda-nvdisasm)"
        )
        return 3
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.dump or scratch
        os.makedirs(folder, exist_ok=True)
        names = unpack(options.program, folder)
        modules = {
            workload["name"]
            for workload in kernel_check.rows(options.program, "workloads")
            if kernel_check.reads_a_table(workload)
        }
        images = [
            name for name in names if name.endswith(".cubin") and name.split(".")[0] in modules
        ]
        if not images:
            print("check_sass: this program was built without CUDA and holds no kernels")
            return 3
        toolkit = next(filter(None, map(functools.partial(toolkit_of, folder), names)), "unknown")
        expected = {
            name: kernel_check.expected_kernels(
                options.program, kernel_check.SASS, int(name[len("sm_") :])
            )
            for name in {name.split(".")[1] for name in images}
        }
        found, undecodable = examine_images(nvdisasm, folder, images, expected)
    table, choices = [], {}
    for name, rows in found.items():
        good, choices[name] = kernel_check.compare(name, expected[name], rows)
        table.append((name, len(expected[name]), len(rows), good))
    status = kernel_check.report(table)
    status |= kernel_check.report_choices(toolkit, choices)
    for name, reason in undecodable.items():
        print(
            f"{'SKIP' if options.skip_undecodable else 'FAIL'} {name}: {nvdisasm} cannot decode it:"
            f" {reason}"
        )
    return status if options.skip_undecodable else status or int(bool(undecodable))


kernel_check.run(main)
