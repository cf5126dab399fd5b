#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""Two toolkits, the same kernels: whose loads, local memory or registers differ, by the machine
code alone. No GPU takes part.

usage: two_toolkits.py --old DIR --new DIR [--program build/cbank] [--architectures 75,80,86,89,90]
                       [--spaces written,global,shared] [--files NAME,...] [--seconds 60]
                       --json FILE
       two_toolkits.py --show FILE

--old and --new are folders of CUDA toolkits (scripts/cuda_11_8.sh prints that of 11.8). Both
compile each of FILES for each architecture. cbank advise --kernel NEW --against OLD says what
differs in each kernel, and what it says is collected. The kernels are:

- of examples/*.cu: the kernel alone, as a program has it. Its tables are as they are written, and
  all in each of the other memory spaces of --spaces.
- of the workloads add, lookup and stencil_1d: all kernels of kernels.cu.

What a toolkit refuses, or does not compile in --seconds, is left out, and named.
"""

import collections
import concurrent.futures
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import trials

SIDES = ("old", "new")
WORKLOADS = ("add", "lookup", "stencil_1d")
WRITTEN = "written"
# The uses that advise --against names, and those that are local memory.
USES = {
    "registers": "registers",
    "bytes of local memory": "local_bytes",
    "loads from local memory": "local_loads",
    "stores to local memory": "local_stores",
    "bytes of parameters": "parameter_bytes",
    "bytes of __constant__ variables": "constant_bytes",
}
LOCAL = ("local_bytes", "local_loads", "local_stores")
# How cbank.cuh names a table of constant memory where it has no case, and what it is.
TABLE_SYMBOL = re.compile(r"_ZN\d+_INTERNAL_\w+?16constant_entriesI[a-z]+Lj(\d+)E\w*")
TABLE = r"table of \1 entries"
COLUMNS = (
    "kernels",
    "same loads",
    "other loads",
    "other addresses",
    "more local memory",
    "less local memory",
    "more registers",
    "less registers",
)
OWN_HOST_COMPILER = 12  # nvcc before that refuses gcc after 11


# -- compiling ----------------------------------------------------------------------------------


def version_of(toolkit):
    said = trials.call(f"{toolkit}/bin/nvcc", "--version").stdout
    return re.search(r"V([\d.]+)", said)[1]


def host_compiler(version):
    old = int(version.split(".")[0]) < OWN_HOST_COMPILER
    return ("-ccbin", "g++-11") if old and shutil.which("g++-11") else ()


def example_source(name, space):
    """The file with its kernel as the case launches it: without a case, nothing else asks for it.
    The case itself is not compiled."""
    path = os.path.join(trials.ROOT, "examples", f"{name}.cu")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    kernel = re.search(r"\blaunch\((\w+<[^>]*>)", text)[1]
    tables = re.findall(r"^CBANK_TABLE\((\w+),", text, re.M)
    lines = [f"#define CBANK_SPACE_{table} ,{space}" for table in tables if space != WRITTEN]
    return "\n".join([*lines, f'#include "{path}"', f"void *the_kernel = (void *)&{kernel};", ""])


def job_of(name, space):
    """(source, options) of a file."""
    kernels = f"-I{trials.ROOT}/kernels"
    if name in WORKLOADS:
        source = f'#include "{trials.ROOT}/kernels/kernels.cu"\n'
        patterns = f"-I{trials.ROOT}/patterns"
        return source, (f"-DCBANK_WORKLOAD={name}", "-rdc=true", kernels, patterns)
    return example_source(name, space), (kernels,)


def run_for(command, seconds):
    """Why a command failed; None: it did not. All that it started ends with it."""
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as process:
        try:
            return "refused" if process.wait(seconds) else None
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return f"not compiled in {seconds} s"


def compile_file(arguments, side, source, options, cubin):
    """Why the toolkit has no code of a file; None: it has."""
    toolkit = getattr(arguments, side)
    return run_for(
        [
            f"{toolkit}/bin/nvcc",
            *("-cubin", "-std=c++17", "-w", *host_compiler(version_of(toolkit))),
            *(*options, "-o", cubin, source),
        ],
        arguments.seconds,
    )


# -- comparing ----------------------------------------------------------------------------------


def changed_kernels(changes):
    """A row for each kernel that differs."""
    rows = {}
    for change in changes:
        row = rows.setdefault(change["kernel"], {"kernel": change["kernel"]})
        before_after = [change["before"], change["after"]]
        if change["kind"] == "use":
            row[USES[change["name"]]] = before_after
        elif change["kind"] == "load":
            row.setdefault("loads", []).append([change["name"], *before_after])
        else:
            verdicts = [change["verdict_before"], change["verdict_after"]]
            row.setdefault("tables", []).append([change["name"], *verdicts])
    return list(rows.values())


def compare(program, cubins):
    """The number of kernels that both files have, those of one alone, and what differs."""
    command = (program, "advise", "--kernel", cubins["new"], "--against", cubins["old"])
    advice = trials.json.loads(trials.call(*command, "--json", "-").stdout)
    against = advice["against"]
    alone = against["only_in_one"]
    only_after = sum(not one["before"] for one in alone)
    return {
        "kernels": len(advice["code"]["kernels"]) - only_after,
        "only_in_one": [[one["kernel"], SIDES[not one["before"]]] for one in alone],
        "changed": changed_kernels(against["changes"]),
    }


def answer(arguments, folder, job):
    """What two toolkits make of a file for an architecture. Both read one source: a name that is of
    a file alone has a hash of its path."""
    file, architecture = job
    row = {"file": file[0], "space": file[1], "architecture": architecture}
    path = os.path.join(folder, f"{'-'.join(file)}-{architecture}")
    cubins = {side: f"{path}-{side}.cubin" for side in SIDES}
    text, options = job_of(*file)
    with open(f"{path}.cu", "w", encoding="utf-8") as stream:
        stream.write(text)
    for side in SIDES:
        words = (*options, f"-arch=sm_{architecture}")
        if why := compile_file(arguments, side, f"{path}.cu", words, cubins[side]):
            return {**row, "left_out": f"{why} by the {side} toolkit"}
    return {**row, **compare(arguments.program, cubins)}


def files_of(arguments):
    """(name, memory space) of each file. The kernels of a workload have memory spaces of their
    own."""
    paths = sorted(glob.glob("examples/*.cu", root_dir=trials.ROOT))
    examples = [os.path.basename(path).removesuffix(".cu") for path in paths]
    wanted = arguments.files.split(",") if arguments.files else [*examples, *WORKLOADS]
    if unknown := set(wanted) - {*examples, *WORKLOADS}:
        trials.fail(f"--files: no file {', '.join(sorted(unknown))}")
    spaces = arguments.spaces.split(",")
    return [
        (name, space)
        for name in wanted
        for space in (spaces if name not in WORKLOADS else [WRITTEN])
    ]


def make(arguments, rest):
    if rest or not (arguments.old and arguments.new):
        trials.fail("--old DIR and --new DIR, two toolkits, are needed, and nothing else is known")
    versions = {side: version_of(getattr(arguments, side)) for side in SIDES}
    architectures = list(map(int, arguments.architectures.split(",")))
    jobs = [(file, number) for file in files_of(arguments) for number in architectures]
    with (
        tempfile.TemporaryDirectory() as folder,
        concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool,
    ):
        files = list(pool.map(lambda job: answer(arguments, folder, job), jobs))
    return {"study": "two_toolkits", "toolkits": versions, "files": files}


# -- the table ----------------------------------------------------------------------------------


def grows(row, keys):
    """1: more of it, -1: less, 0: the same. The first of the keys that differs decides."""
    for key in keys:
        before, after = row.get(key, (None, None))
        if None not in (before, after) and before != after:
            return 1 if after > before else -1
    return 0


def change_of_loads(row):
    """The column of a kernel. Where as many loads are of each instruction, their addresses alone
    vary in another way among threads, or cannot be told any more."""
    sums = collections.Counter()
    for name, before, after in row.get("loads", ()):
        sums[name.partition(":")[0]] += after - before
    if "loads" not in row:
        return "same loads"
    return "other loads" if any(sums.values()) else "other addresses"


def table(report):
    """{architecture: {column: kernels}}"""
    counts = collections.defaultdict(collections.Counter)
    for file in report["files"]:
        count, changed = counts[file["architecture"]], file.get("changed", ())
        count["kernels"] += file.get("kernels", 0)
        count["same loads"] += file.get("kernels", 0) - len(changed)
        for row in changed:
            count[change_of_loads(row)] += 1
        for name, keys in (("local memory", LOCAL), ("registers", ("registers",))):
            for word, sign in (("more", 1), ("less", -1)):
                count[f"{word} {name}"] += sum(grows(row, keys) == sign for row in changed)
    return dict(sorted(counts.items()))


def print_table(report):
    rows = {f"sm_{number}": counts for number, counts in table(report).items()}
    width = max(map(len, ("architecture", *rows)))
    print("architecture".ljust(width), *COLUMNS, sep="  ")
    for name, counts in rows.items():
        print(name.ljust(width), *(str(counts[c]).rjust(len(c)) for c in COLUMNS), sep="  ")


def short_name(file, row):
    """The kernel of an example is known by its file; others are without their parameters."""
    if file["file"] in WORKLOADS:
        return row["kernel"].split("(")[0].removeprefix("void ")
    space = "" if file["space"] == WRITTEN else f", tables in {file['space']} memory"
    return f"{file['file']}{space}"


def said_of(row):
    """What changed of a kernel's loads and local memory; empty: nothing."""
    parts = [
        f"{TABLE_SYMBOL.sub(TABLE, name)}: {before} -> {after}"
        for name, before, after in row.get("loads", ())
    ]
    words = {key: words for words, key in USES.items()}
    parts += [f"{words[key]} {row[key][0]} -> {row[key][1]}" for key in LOCAL if key in row]
    return "; ".join(parts)


def numbers_of(architectures):
    return ", ".join(f"sm_{number}" for number in sorted(set(architectures)))


def lines_of(report):
    """A line for each change, with its kernels and the architectures that it is for."""
    changed, left_out = collections.defaultdict(list), collections.defaultdict(list)
    for file in report["files"]:
        number = file["architecture"]
        if "left_out" in file:
            left_out[file["file"], file["space"], file["left_out"]].append(number)
        for row in file.get("changed", ()):
            if said := said_of(row):
                changed[short_name(file, row), said].append(number)
        for kernel, side in file.get("only_in_one", ()):
            changed[kernel, f"only in the {side} file"].append(number)
    alike = collections.defaultdict(list)
    for (name, said), numbers in changed.items():
        alike[said, numbers_of(numbers)].append(name)
    for (said, numbers), names in alike.items():
        more = f" and {len(names) - 1} more" if names[1:] else ""
        yield f"{names[0]}{more}, {numbers}: {said}"
    for (name, space, why), numbers in left_out.items():
        yield f"left out: {name}, {space}, {numbers_of(numbers)}: {why}"


def show(report):
    versions = report["toolkits"]
    print(f"nvcc {versions['new']} beside nvcc {versions['old']}")
    print_table(report)
    for line in lines_of(report):
        print(line)
    return True


def options(parser):
    parser.add_argument("--old", metavar="DIR", help="a toolkit")
    parser.add_argument("--new", metavar="DIR", help="the toolkit to judge")
    parser.add_argument("--architectures", default="75,80,86,89,90")
    parser.add_argument("--spaces", default=f"{WRITTEN},global,shared")
    parser.add_argument("--files", help="names of examples and workloads (default: all)")
    parser.add_argument("--seconds", type=int, default=60, help="for one file")


if __name__ == "__main__":
    trials.main(__doc__, options, make, show)
