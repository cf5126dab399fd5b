#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""Memory spaces that nobody measures, bytes and words, and what a launch costs a table: on a GPU.

Proves the rows of docs/memory_spaces.md.

usage: memory_spaces.py --measure FOLDER [--programs DIR] [--processes 3] [--seconds 150]
                        [--program build/cbank] [--decoded build/tests/sass/decoded]
                        [--parts cells,proof,counters] [--without SPACE...]
       memory_spaces.py --build DIR [--arch 90]
       memory_spaces.py --show PART [--json FILE]

memory_spaces/questions.json has questions with guesses, which were committed before anything was
run. --build compiles the three programs of memory_spaces/ into DIR; they need no library of CUDA.
--measure uses those of DIR or newly compiled ones, and writes FOLDER/trial.json. Its parts:

- cells: the times, by as many processes as --seconds have room for.
- proof: the instructions of the programs are those that their memory spaces need, as the decoder
  of this project reads them (--program, --decoded).
- counters: those of lookups by width and distance, by the program (--program). Exact ones must
  equal what was predicted.
- sanitizer: few launches under compute-sanitizer: memcheck, racecheck, initcheck, synccheck.

Without cells, the other parts are added to a file that is there, if the programs are the same.
What cannot be done here has a reason in the file, and is no error. Exits 1 where an output, an
instruction, an exact counter or the sanitizer says that something is wrong. --show prints a part of
docs/memory_spaces.md.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import memory_space_tables
import trials

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "memory_spaces")
RESULT = os.path.join(trials.ROOT, "results/h200/memory_spaces/trial.json")
PROGRAMS = ("bytes", "short", "tables")
GPU = ("name", "uuid", "driver_version", "clocks.sm")
# Of these the code has multicast only under the name that ends with a.
OWN_FEATURES = (90, 100, 103, 110)
OPTIONS = ("-O3", "-std=c++17", "-lineinfo")
PARTS = ("cells", "proof", "counters", "sanitizer")
SANITIZERS = ("memcheck", "racecheck", "initcheck", "synccheck")
SANITIZER_SECONDS_MAX = 120

# -- the instructions ------------------------------------------------------------------------------

# By memory space: where its payload loads read, other instructions that its kernel must have, and
# the oldest architecture that has them. A load has 4 bytes, or those of the type in the kernel's
# name.
LOADS = {
    "constant_space": "constant",
    "parameter_space": "param",
    "global_space": "global",
    "readonly_space": "global",
    "shared_space": "shared",
    "shared_by_loads": "shared",
    "shared_by_async": "shared",
    "shared_by_bulk": "shared",
    "shared_by_multicast": "shared",
    "distributed": "shared",
}
ALSO = {
    "shared_by_loads": ("LDG", "STS"),
    "shared_by_async": ("LDGSTS",),
    "shared_by_bulk": ("UBLKCP", "SYNCS"),
    "shared_by_multicast": ("UBLKCP", "SYNCS", "UCGABAR"),
    "distributed": ("UBLKCP", "LD", "UCGABAR"),
}
TYPES = {
    "unsigned char": 1,
    "unsigned short": 2,
    "unsigned int": 4,
    "unsigned long long": 8,
    "ulonglong2": 16,
}
# On these ptxas makes a call of the driver (__cuda_syscall_cp_async_bulk_multicast) of a multicast.
CALLS = {(120, "shared_by_multicast"): ("CALL.ABS", "SYNCS", "UCGABAR")}
CALLS[121, "shared_by_multicast"] = CALLS[120, "shared_by_multicast"]
OLDEST = {
    "shared_by_async": 80,
    "shared_by_bulk": 90,
    "shared_by_multicast": 90,
    "distributed": 90,
}
WIDEST = 8  # bytes of a load of constant memory; wider values take several
# From here on the compiler reads values of 16 bytes of constant memory by four loads of words.
BY_WORDS = 100
SPACE_NAME = re.compile(r"\b(" + "|".join(sorted(LOADS, key=len, reverse=True)) + r")\b")
TYPE_NAME = re.compile(r"(?:strided|random_bytes)<([\w ]+?) ?>")

# -- the counters ----------------------------------------------------------------------------------

# From one lane to the next, in entries; below 1, several lanes read one.
DISTANCES = (0, 0.25, 1, 2, 4, 8, 32, 128)
WIDTHS = (1, 2, 4, 8, 16)
FARTHEST_BYTES = 512
PATHS = "constant,shared,global,readonly"
COUNTERS = (
    "ldc_instructions",
    "idc_requests",
    "idc_misses",
    "idc_active_cycles",
    "shared_load_instructions",
    "shared_wavefronts",
    "global_load_instructions",
    "l1_requests",
    "l1_sectors",
)
ELEMENTS, LOADS_OF_THREAD = 65536, 4


def run(*command, statuses=(0,)):
    return trials.call(*command, statuses=statuses).stdout


def target(architecture):
    return f"{architecture}a" if architecture in OWN_FEATURES else str(architecture)


def find_nvcc():
    return shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"


def build(folder, architecture, endings=("", ".cubin")):
    """Compiles the programs, and a cubin of each. A program has the code of its cubin as it is, so
    that what is proven of the one is true of the other."""
    os.makedirs(folder, exist_ok=True)
    code = f"arch=compute_{target(architecture)},code=sm_{target(architecture)}"
    kinds = {"": ("-cudart", "static", "-no-compress"), ".cubin": ("-cubin",)}
    commands = [
        (
            *(find_nvcc(), *OPTIONS, *kinds[ending], "-gencode", code),
            *("-o", os.path.join(folder, name + ending), os.path.join(HERE, f"{name}.cu")),
        )
        for name in PROGRAMS
        for ending in endings
    ]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda command: run(*command), commands))
    said = re.search(r"V([\d.]+)", run(find_nvcc(), "--version"))[1]
    with open(os.path.join(folder, "build.json"), "w", encoding="utf-8") as file:
        json.dump({"nvcc": said, "architecture": architecture}, file)


def code_of(cubin):
    """{kernel: code}"""
    (start,) = struct.unpack_from("<Q", cubin, 40)
    size, count, names = struct.unpack_from("<HHH", cubin, 58)
    rows = [struct.unpack_from("<IIQQQQ", cubin, start + size * i) for i in range(count)]
    found = {}
    for row in rows:
        first = rows[names][4] + row[0]
        name = cubin[first : cubin.index(b"\0", first)].decode()
        if name.startswith(".text."):
            found[name.removeprefix(".text.")] = cubin[row[4] : row[4] + row[5]]
    return found


def opcodes_of(decoded, architecture, code):
    """The names of the instructions of a kernel."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(code)
        file.flush()
        return {line.split()[0] for line in run(decoded, str(architecture), file.name).splitlines()}


def payload_of(kernel, architecture):
    """(memory space, memory, bytes of a payload load) of a kernel by its name."""
    space = SPACE_NAME.search(kernel)[1]
    kind = TYPE_NAME.search(kernel)
    width = TYPES[kind[1]] if kind else 4
    memory = LOADS[space]
    if memory == "constant" and width > WIDEST:
        width = 4 if architecture >= BY_WORDS else WIDEST
    return space, memory, width


def faults_of_kernel(kernel, architecture, opcodes):
    """What is wrong with the instructions of a kernel of the program's advice."""
    space, memory, width = payload_of(kernel["readable_name"], architecture)
    loads = [
        load
        for load in kernel["loads"]
        if load["memory"] == memory and load["width_bytes"] == width
    ]
    if not loads:
        yield f"{kernel['readable_name']} has no load of {width} bytes of {memory} memory"
    for name in CALLS.get((architecture, space), ALSO.get(space, ())):
        if name not in opcodes:
            yield f"{kernel['readable_name']} has no {name}"
    if any(
        load["memory"] == memory and load["table"] and load["width_bytes"] < width
        for load in kernel["loads"]
    ):
        yield f"{kernel['readable_name']} reads its table in smaller pieces"


def prove(folder, program, decoded):
    """How many kernels have the instructions of their memory spaces, and what is wrong."""
    architecture = trials.load(os.path.join(folder, "build.json"))["architecture"]
    proven, faults = 0, []
    for name in PROGRAMS:
        path = os.path.join(folder, name)
        with open(f"{path}.cubin", "rb") as file:
            codes = code_of(file.read())
        if os.path.exists(path):
            with open(path, "rb") as file:
                whole = file.read()
            if any(code not in whole for code in codes.values()):
                faults.append(f"{name} has other code than its cubin")
        with tempfile.TemporaryDirectory() as scratch:
            out = os.path.join(scratch, "advice.json")
            run(program, "advise", "--kernel", f"{path}.cubin", "--json", out)
            kernels = trials.load(out)["code"]["kernels"]
        for kernel in kernels:
            if OLDEST.get(SPACE_NAME.search(kernel["readable_name"])[1], 0) > architecture:
                continue  # never launched there
            opcodes = opcodes_of(decoded, architecture, codes[kernel["name"]])
            faults += faults_of_kernel(kernel, architecture, opcodes)
            proven += 1
    return {"architecture": architecture, "kernels": proven, "faults": faults}


# -- measurements ----------------------------------------------------------------------------------


def add_process(found, name, text):
    """Adds what a process of a program printed to {cell as text: row}."""
    for line in text.splitlines():
        row = json.loads(line)
        kept = found.setdefault(
            json.dumps(row["cell"]), {"program": name, "cell": row["cell"], "samples": []}
        )
        for key in ("skipped", "failed"):
            if key in row:
                kept[key] = row[key]
        kept["verified"] = kept.get("verified", 0) + row.get("verified", 0)
        if "samples" in row:
            kept["samples"].append(row["samples"])


def measure(folder, processes, seconds, left_out):
    """(rows, processes, faults). Another process of all programs begins where there is time for
    it. Nothing begins after a program that failed; what it printed before counts."""
    found, faults, longest, start = {}, [], 0, time.monotonic()
    for done in range(processes):
        begin = time.monotonic()
        if faults or done and begin - start + longest > seconds:
            return list(found.values()), done, faults
        for name in PROGRAMS:
            try:
                ended = subprocess.run(
                    (os.path.join(folder, name), *left_out),
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    timeout=seconds,
                    check=False,
                )
                if ended.returncode:
                    faults.append(f"{name} exited {ended.returncode}: {ended.stderr.decode()}")
                said = ended.stdout
            except subprocess.TimeoutExpired as late:
                faults.append(f"{name} did not end in {seconds} s")
                said = late.stdout or b""
            # The last line of a program that was ended may be a part of one.
            add_process(found, name, said.decode()[: said.rfind(b"\n") + 1])
            print(f"process {done + 1}, {name}: {time.monotonic() - start:.0f} s", file=sys.stderr)
        longest = max(longest, time.monotonic() - begin)
    return list(found.values()), processes, faults


def write_indices(path, distance):
    """Of each warp the same: lane x distance."""
    values = [int(thread % 32 * distance) for thread in range(ELEMENTS)] * LOADS_OF_THREAD
    shape = f"({LOADS_OF_THREAD}, {ELEMENTS})"
    head = f"{{'descr': '<u4', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode())
        file.write(struct.pack(f"<{len(values)}I", *values))


def counted(cell, distance):
    """What is kept of a cell of the program."""
    return {
        "path": cell["path"],
        "distance": distance,
        "width": cell["width_bytes"],
        "verified": cell["verified"],
        "instruction": cell["kernel"]["instruction"],
        "time_ns": cell["time_ns"]["value"],
        "warp_loads": ELEMENTS // 32 * LOADS_OF_THREAD,
        "requests_of_load": cell["counts"]["requests_per_load"],
        "exact_counters": cell["exact_counters"],
        "counters": {name: cell["counters"][name]["value"] for name in COUNTERS},
    }


def count(program):
    """{"rows": ...} by path, width and distance."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        indices, out = os.path.join(folder, "indices.npy"), os.path.join(folder, "result.json")
        for distance in DISTANCES:
            widths = [width for width in WIDTHS if width * distance <= FARTHEST_BYTES]
            write_indices(indices, distance)
            run(
                *(program, "run", "--engine", "cuda", "--quiet", "--workload", "lookup"),
                *("--indices", indices, "--path", PATHS, "--table-bytes", "16384"),
                *("--width-bytes", ",".join(map(str, widths)), "--in-flight", "4"),
                *("--block-size", "256", "--counters", ",".join(COUNTERS), "--json", out),
                statuses=(0, 1, 4),
            )
            rows += [
                counted(cell, distance)
                for cell in trials.load(out)["cells"]
                if cell["status"] == "ok"
            ]
    return {"rows": rows}


def sanitize(folder):
    """{program: {tool: what it says last}}, and whether all are clean."""
    said, clean = {}, True
    for name in PROGRAMS:
        for tool in SANITIZERS:
            command = ("compute-sanitizer", "--tool", tool, "--error-exitcode", "99")
            try:
                done = subprocess.run(
                    (*command, os.path.join(folder, name), "--small"),
                    capture_output=True,
                    text=True,
                    timeout=SANITIZER_SECONDS_MAX,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                clean, text = False, f"did not end in {SANITIZER_SECONDS_MAX} s"
            else:
                last = re.findall(r"=+ (.*SUMMARY.*)", done.stdout) or [done.stderr.strip()[-200:]]
                clean &= done.returncode == 0
                text = f"exit status {done.returncode}; {last[-1]}"
            said.setdefault(name, {})[tool] = text
            print(f"{name}, {tool}: {text}", file=sys.stderr)
    return {"said": said, "clean": clean}


def attempt(what, needed, function, *arguments):
    """The function's value; {"not_done": why} where what it needs is not here."""
    for path in needed:
        if not (path and (os.path.exists(path) or shutil.which(path))):
            return {"not_done": f"{what}: {path} is not here"}
    return function(*arguments)


def faults_of(report):
    """What is wrong, one line each."""
    yield from report["faults"]
    yield from report["proof"].get("faults", ())
    for row in report["cells"]:
        if "failed" in row:
            yield f"{json.dumps(row['cell'])}: {row['failed']}"
    if not report["sanitizer"].get("clean", True):
        yield f"compute-sanitizer: {json.dumps(report['sanitizer']['said'])}"
    for row in report["counters"].get("rows", ()):
        place = f"{row['path']}, {row['width']} bytes, {row['distance']} entries apart"
        if not row["verified"]:
            yield f"{place}: not verified"
        if row["exact_counters"]["differing"]:
            yield f"{place}: {row['exact_counters']['differing']} exact counters differ"


def hashes_of(folder):
    """Of the programs, so that parts of a report are of the same ones."""
    found = {}
    for name in PROGRAMS:
        with open(os.path.join(folder, name), "rb") as file:
            found[name] = hashlib.sha256(file.read()).hexdigest()
    return found


def begin_report(folder, path, parts):
    """A new report, or the one that parts are added to; and the compute capability, times 10."""
    told = run("nvidia-smi", f"--query-gpu={','.join(GPU)},compute_cap", "--format=csv,noheader")
    *gpu, capability = told.splitlines()[0].split(", ")
    if not os.listdir(folder):
        build(folder, int(capability.replace(".", "")))
    hashes = hashes_of(folder)
    if "cells" in parts:
        return {
            "gpu": dict(zip(GPU, gpu)),
            "nvcc": trials.load(os.path.join(folder, "build.json"))["nvcc"],
            "programs": hashes,
            **{part: {"not_done": f"{part}: not asked for"} for part in PARTS[1:]},
        }
    report = trials.load(path)
    if report["programs"] != hashes:
        trials.fail(f"{path} is of other programs; name theirs by --programs")
    return report


def measure_all(asked):
    """Writes the report, again after each part; returns whether nothing is wrong."""
    parts, path = asked.parts.split(","), os.path.join(asked.measure, "trial.json")
    if unknown := set(parts) - set(PARTS):
        trials.fail(f"--parts: no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    os.makedirs(asked.measure, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = asked.programs or scratch
        report = begin_report(folder, path, parts)
        tools = (asked.program, asked.decoded)

        def cells():
            start = time.monotonic()
            rows, report["processes"], report["faults"] = measure(
                folder, asked.processes, asked.seconds, asked.without
            )
            report["seconds"] = round(time.monotonic() - start)
            return rows

        make = {
            "cells": cells,
            "proof": lambda: attempt("proof", tools, prove, folder, *tools),
            "counters": lambda: attempt("counters", tools[:1], count, asked.program),
            "sanitizer": lambda: attempt("sanitizer", ("compute-sanitizer",), sanitize, folder),
        }
        for part in parts:
            report[part] = make[part]()
            with open(path, "w", encoding="utf-8") as file:
                json.dump(report, file)
    memory_space_tables.show("summary", report)
    faults = list(faults_of(report))
    for fault in faults:
        print(f"memory_spaces: error: {fault}", file=sys.stderr)
    return not faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("--measure", metavar="FOLDER")
    parser.add_argument("--build", metavar="DIR", help="compile the programs")
    parser.add_argument("--show", metavar="PART", choices=memory_space_tables.PARTS)
    parser.add_argument("--arch", type=int, default=90, help="of --build")
    parser.add_argument("--programs", metavar="DIR", help="what --build made")
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=150, help="for all processes")
    parser.add_argument("--program", default=os.path.join(trials.ROOT, "build/cbank"))
    parser.add_argument("--decoded", default=os.path.join(trials.ROOT, "build/tests/sass/decoded"))
    parser.add_argument("--parts", metavar="LIST", default="cells,proof,counters")
    parser.add_argument("--without", metavar="SPACE", nargs="*", default=[], help="of --measure")
    parser.add_argument("--json", metavar="FILE", default=RESULT, help="of --show")
    asked = parser.parse_args()
    if asked.build:
        build(asked.build, asked.arch)
    elif asked.measure:
        sys.exit(0 if measure_all(asked) else 1)
    elif asked.show and os.path.exists(asked.json):
        memory_space_tables.show(asked.show, trials.load(asked.json))
    elif asked.show:
        print("Not measured yet.")
    else:
        parser.error("--measure, --build or --show is needed")


if __name__ == "__main__":
    main()
