#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""Holds the answers of `cbank advise --kernel` about the loads of tests/sass/corpus against the
counters of a GPU.

Proves the sentence of docs/advise.md on counters.

usage: answers_on_gpu.py [--json FILE] [--keep DIRECTORY] CBANK
       answers_on_gpu.py --show FILE

Each file of the corpus becomes a program (tests/sass/gpu/run.cuh) that launches each of its kernels
once. Nsight Compute counts for each instruction how often warps executed it, the sectors that its
global loads asked for, and the wavefronts of its shared loads; for each kernel the requests to the
L1 constant cache, of which a load makes one for each distinct address of a warp. CBANK reads the
loads of the same program. A count above what an answer allows makes it false. Counts below are no
fault: threads of a warp may be inactive.
"""

import argparse
import concurrent.futures
import csv
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CORPUS = os.path.join(ROOT, "tests/sass/corpus")
# Their arguments are images, which run.cuh does not make.
NOT_LAUNCHED = ("images.cu",)
KERNEL = re.compile(r"^KERNEL\w*\s+(\w+)\(", re.MULTILINE)
VARIABLE = re.compile(r"^__(?:constant|device)__ [\w ]*?(\w+)\[\d+\];", re.MULTILINE)
WARP, SECTOR_BYTES = 32, 32

# By what is kept of an instruction: its column of Nsight Compute's source page.
COLUMNS = {
    "executed": "Instructions Executed",
    "threads": "Predicated-On Thread Instructions Executed",
    "sectors": "L2 Theoretical Sectors Global",
    "ways": "L1 Conflicts Shared N-Way",
}
REQUESTS = "idc__requests.sum"
ONE_ADDRESS = ("constant", "grid", "block", "warp")
# LDC at an address that stands in the instruction.
LDC_KNOWN = re.compile(r"\bLDC\S* R\d+, c\[0x\w+\]\[(0x\w+|RZ)\]")


def call(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode:
        text = (done.stdout + done.stderr)[-2000:]
        sys.exit(f"answers_on_gpu: {' '.join(command)} exited {done.returncode}:\n{text}")
    return done.stdout


def write_program(name, folder):
    """Writes the source of a corpus file's program. Returns its path."""
    with open(os.path.join(CORPUS, name), encoding="utf-8") as file:
        text = file.read()
    lines = [f'#include "{ROOT}/tests/sass/gpu/run.cuh"', f'#include "{CORPUS}/{name}"']
    lines += ["int main()", "{"]
    lines += [f"gpu_variable({variable});" for variable in VARIABLE.findall(text)]
    for kernel in KERNEL.findall(text):
        block = "dim3(16, 4)" if kernel.endswith("_2d") else "dim3(THREADS)"
        lines.append(f'gpu_try("{kernel}", {block}, {kernel});')
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join([*lines, "}", ""]))
    return path


def number(text):
    return 0 if text in ("", "-") else int(float(text.replace(",", "")))


def build(name, folder, cbank):
    """Returns the path of a corpus file's program, and what is answered about its kernels."""
    base = os.path.join(folder, name[:-3])
    call(
        "nvcc",
        "-O3",
        "-lineinfo",
        "-arch=native",
        "-o",
        base,
        write_program(name, folder),
    )
    code = json.loads(call(cbank, "advise", "--kernel", base, "--json", "-"))["code"]
    return base, {kernel["name"]: kernel for kernel in code["kernels"]}


def profile(base):
    """Writes what a program's launches count as two tables of Nsight Compute."""
    metrics = ("--section", "SourceCounters", "--metrics", REQUESTS)
    call(
        "ncu",
        "--clock-control",
        "none",
        *metrics,
        "--force-overwrite",
        "--export",
        base,
        base,
    )
    for page in ("raw", "source"):
        told = ("--print-source", "sass") if page == "source" else ()
        text = call("ncu", "--import", f"{base}.ncu-rep", "--csv", "--page", page, *told)
        with open(f"{base}.{page}.csv", "w", encoding="utf-8") as file:
            file.write(text)


def instructions_of(base):
    """{kernel: {address from its start: {"text", and COLUMNS}}} of the source page."""
    found, columns, rows = {}, [], {}
    with open(f"{base}.source.csv", encoding="utf-8") as file:
        for line in csv.reader(file):
            if line[:1] == ["Kernel Name"]:
                rows = found[line[1]] = {}
            elif line[:1] == ["Address"]:
                columns = line
            elif line and line[0].startswith("0x"):
                row, address = dict(zip(columns, line)), int(line[0], 16)
                first = rows.setdefault("first", address)
                rows[address - first] = {
                    "text": row["Source"].strip(),
                    **{key: number(row[column]) for key, column in COLUMNS.items()},
                }
    return found


def requests_of(base):
    """{kernel: requests to the L1 constant cache} of the raw page."""
    with open(f"{base}.raw.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {row["Kernel Name"]: number(row[REQUESTS]) for row in rows if row["Kernel Name"]}


def addresses_of(load):
    """The addresses of an execution that an answer allows at most."""
    if load["variation"] in ONE_ADDRESS:
        return 1
    return load["addresses"] if load["variation"] == "uneven" else WARP


def sectors_of(load):
    """The fewest and the most sectors of an execution by all threads of a warp that an answer
    allows, wherever the first address lies."""
    width = load["width_bytes"]
    if load["variation"] != "affine":
        most = addresses_of(load)
        return 1, most * max(1, width // SECTOR_BYTES)
    counts = set()
    for start in range(0, SECTOR_BYTES, min(width, SECTOR_BYTES)):
        offsets = [start + lane * load["stride_bytes"] for lane in range(WARP)]
        counts.add(
            len(
                {
                    sector
                    for offset in offsets
                    for sector in (
                        offset // SECTOR_BYTES,
                        (offset + width - 1) // SECTOR_BYTES,
                    )
                }
            )
        )
    return min(counts), max(counts)


def judge_load(load, seen):
    """The count of a load beside what its answer allows: (what, low, counted, high)."""
    executed = seen["executed"]
    full = seen["threads"] == WARP * executed
    if load["memory"] == "shared" and load["wavefronts"] is not None:
        return "ways", 0, seen["ways"], load["wavefronts"]
    if load["memory"] == "global":
        low, high = sectors_of(load)
        return (
            "sectors",
            low * executed if full else 0,
            seen["sectors"],
            high * executed,
        )
    return None


def judge_requests(instructions, loads, requests):
    """The same of a kernel's requests to the L1 constant cache."""
    low = high = 0
    for address, seen in instructions.items():
        if address == "first" or not re.search(r"\bLDC\b", seen["text"].replace(".", " ")):
            continue
        load = loads.get(address)
        most = 1 if LDC_KNOWN.search(seen["text"]) else addresses_of(load) if load else WARP
        known = most == 1 or (load and load["variation"] in ("affine", "uneven"))
        full = seen["threads"] == WARP * seen["executed"]
        high += most * seen["executed"]
        low += (most if known and full else 0) * seen["executed"]
    return "requests", low, requests, high


def judge(name, base, answers):
    """Yields a row for each load and kernel of a corpus file that a counter can tell of."""
    instructions, requests = instructions_of(base), requests_of(base)
    for kernel, seen in instructions.items():
        loads = {load["address"]: load for load in answers[kernel]["loads"]}
        # The condition is that rows are whole warps.
        if kernel.endswith("_2d") and any(load["condition"] for load in loads.values()):
            continue
        judged = [(load, judge_load(load, seen[address])) for address, load in loads.items()]
        if any(load["memory"] == "constant" for load in loads.values()):
            judged.append((None, judge_requests(seen, loads, requests[kernel])))
        for load, found in judged:
            if found:
                what, low, counted, high = found
                yield {
                    "file": name,
                    "kernel": kernel,
                    "line": load and load["line"],
                    "instruction": load and seen[load["address"]]["text"],
                    "answer": load and load["variation"],
                    "counter": what,
                    "low": low,
                    "counted": counted,
                    "high": high,
                    "holds": low <= counted <= high,
                }


def measure(cbank, folder):
    """The GPU, the tools, and the rows of all files."""
    names = sorted(set(os.listdir(CORPUS)) - {*NOT_LAUNCHED, "corpus.h"})
    rows = []
    with concurrent.futures.ThreadPoolExecutor() as pool:
        built = list(pool.map(lambda name: build(name, folder, cbank), names))
    for name, (base, answers) in zip(names, built):
        profile(base)
        rows += judge(name, base, answers)
    gpu = call("nvidia-smi", "--query-gpu=name,uuid,driver_version", "--format=csv,noheader")
    return {
        "gpu": gpu.strip(),
        "nsight_compute": call("ncu", "--version").splitlines()[-1],
        "nvcc": call("nvcc", "--version").splitlines()[-1],
        "cbank": call(cbank, "--version").splitlines()[0],
        "kernels": len({(row["file"], row["kernel"]) for row in rows}),
        "rows": rows,
    }


def show(found):
    """Prints the false answers and a summary. Returns the exit code."""
    rows = found["rows"]
    false = [row for row in rows if not row["holds"]]
    for row in false:
        print("FALSE", *(f"{key}={value}" for key, value in row.items()))
    print(
        f"{found['gpu'].split(',')[0]}: {found['kernels']} kernels, {len(rows)} counts beside"
        f" answers, {sum(row['low'] == row['high'] for row in rows)} of them to the integer:"
        f" {len(false)} false"
    )
    return 1 if false else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", metavar="FILE", help="write what was found")
    parser.add_argument("--keep", metavar="DIRECTORY", help="keep programs and counts there")
    parser.add_argument("--show", metavar="FILE", help="print what was found before")
    parser.add_argument("cbank", nargs="?", help="the program, built")
    asked = parser.parse_args()
    if asked.show:
        with open(asked.show, encoding="utf-8") as file:
            return show(json.load(file))
    if not asked.cbank:
        parser.error("CBANK or --show is needed")
    with tempfile.TemporaryDirectory() as folder:
        found = measure(asked.cbank, asked.keep or folder)
    if asked.json:
        with open(asked.json, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)
    return show(found)


if __name__ == "__main__":
    sys.exit(main())
