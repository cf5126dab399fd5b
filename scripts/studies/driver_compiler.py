#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""The driver's compiler beside the toolkit's, for the kernels of cbank: which have other code, and
what that does to their time.

usage: driver_compiler.py [--program build/cbank] [--processes 3] [--keep FOLDER] --json FILE
                          [RUN OPTION...]
       driver_compiler.py --show FILE
       driver_compiler.py --check FILE...

Processes of the toolkit's code and of the driver's (cbank run --jit) take turns; cbank compare
--jit judges the cells of all of them. Each cell has a kernel of its own. RUN OPTIONs are in place
of those of PLAN. A process that is there in --keep is not measured again. --check reads such
files, and exits with 1 where a row contradicts another.

It needs a GPU, the program, and Python's standard library alone.
"""

import argparse
import collections
import json
import os
import statistics
import subprocess
import sys
import tempfile

PLAN = (
    "--workload all --path all --pattern all --source random --radius 1,2,3,4,5,6,7 --modules 2"
    " --refill-bytes 4096 --distinct 8 --stride-bytes 4 --in-flight 1,2,4 --elements 1280000"
    " --block-size 256 --counters none --max-noise 1 --max-samples 100 --max-seconds 0.5"
).split()
SIDES = ("toolkit", "driver")
# How the time of a kernel changed, by the verdict of compare.
TIMES = {
    "same": "same time",
    "improved": "faster",
    "regressed": "slower",
    "inconclusive": "not decided",
    "contended": "not decided",
    "invalid": "failed",
}
COLUMNS = ("kernels", "same code", "same time", "slower", "faster", "not decided", "failed")


def fail(message):
    print(f"driver_compiler: error: {message}", file=sys.stderr)
    sys.exit(2)


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


# -- measuring ----------------------------------------------------------------------------------


def call(command, statuses):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in statuses:
        fail(f"{' '.join(command)} exited with {done.returncode}: {done.stderr}{done.stdout}")
    return done


def measure(program, folder, processes, plan):
    """The paths of the results of both sides, which are measured in turn: the toolkit's, the
    driver's, the driver's, the toolkit's and so on."""
    paths = {side: [] for side in SIDES}
    for number in range(processes):
        for side in SIDES if number % 2 == 0 else SIDES[::-1]:
            path = os.path.join(folder, f"{side}-{number + 1}.json")
            words = ["--jit"] if side == "driver" else []
            if not (os.path.exists(path) and read(path)["complete"]):
                print(f"{side} process {number + 1} of {processes}", file=sys.stderr)
                # 1: a cell failed, which the table says
                call([program, "run", "--quiet", *plan, *words, "--json", path], (0, 1, 4))
            paths[side].append(path)
    return paths


def compiled(results):
    """What the driver's compiler took for each module, in ms, in each process."""
    modules = collections.defaultdict(lambda: {"compile_ms": [], "cubin_bytes": 0, "kernels": 0})
    for result in results:
        seen = {}
        for cell in result["cells"]:
            jit = (cell["kernel"] or {}).get("jit")
            if jit:
                seen[cell["kernel"]["image"]] = jit
        for image, jit in seen.items():
            module = modules[image]
            module["compile_ms"].append(jit["compile_ms"])
            module["cubin_bytes"] = jit["cubin_bytes"]
            module["kernels"] = jit["cubin_kernels"]
    return dict(sorted(modules.items()))


def kernel_rows(comparison, results):
    """A row for each cell that either compiler has code for."""
    said = {cell["identity"]: cell for cell in comparison["cells"]}
    rows = []
    for cells in zip(*(result["cells"] for result in results["driver"])):
        cell, kernel = cells[0], cells[0]["kernel"]
        if cell["status"] == "skipped" or not kernel or not kernel.get("jit"):
            continue
        identity, jit = cell["identity"].removesuffix("/jit=driver"), kernel["jit"]
        judged = said.get(identity, {"verdict": "invalid"})
        rows.append(
            {
                "identity": identity,
                "kernel": kernel["name"],
                "sass_sha256": [jit["toolkit_sass_sha256"], kernel["sass_sha256"]],
                "stable": len({one["kernel"]["sass_sha256"] for one in cells}) == 1,
                "registers": [jit["toolkit_registers"], jit["registers"]],
                "local_bytes": [jit["toolkit_local_bytes"], jit["local_bytes"]],
                "code_bytes": [jit["toolkit_code_bytes"], kernel["code_bytes"]],
                "moved": jit["moved"],
                "change": jit["change"],
                "verdict": judged["verdict"],
                "ratio": judged.get("ratio"),
                "reason": cell["reason"],
            }
        )
    return rows


def make(arguments, plan):
    if arguments.keep:
        os.makedirs(arguments.keep, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.keep or scratch
        paths = measure(arguments.program, folder, arguments.processes, plan)
        sides = [",".join(paths[side]) for side in SIDES]
        done = call([arguments.program, "compare", *sides, "--jit", "--json", "-"], (0, 1, 4))
        results = {side: [read(path) for path in paths[side]] for side in SIDES}
    comparison = json.loads(done.stdout)
    first = results["driver"][0]
    caches = {
        cell["kernel"]["jit"]["compute_cache"]
        for cell in first["cells"]
        if cell["kernel"] and cell["kernel"].get("jit")
    }
    return {
        "study": "driver_compiler",
        "tool": first["tool"],
        "device": first["device"]["name"],
        "compute_capability": first["device"]["compute_capability"],
        "driver": first["device"]["driver"],
        "started_utc": first["started_utc"],
        "processes": arguments.processes,
        "run_options": plan,
        "compute_cache": sorted(map(str, caches)),
        "modules": compiled(results["driver"]),
        "kernels": kernel_rows(comparison, results),
    }


# -- the table ----------------------------------------------------------------------------------


def is_same(row):
    return row["sass_sha256"][0] == row["sass_sha256"][1]


def column_of(row):
    """Where a kernel is counted."""
    time = TIMES[row["verdict"]]
    return "same code" if is_same(row) and time != "failed" else time


def table(report):
    """{workload: {column: kernels}}, and the sum under `all`."""
    counts = collections.defaultdict(collections.Counter)
    for row in report["kernels"]:
        for name in (row["identity"].split("/")[0], "all"):
            counts[name][column_of(row)] += 1
            counts[name]["kernels"] += 1
    counts["all"] += collections.Counter()
    return {
        **{name: counts[name] for name in sorted(counts) if name != "all"},
        "all": counts["all"],
    }


def differing(report, key):
    """How many kernels take more, and how many less, by the driver's compiler."""
    pairs = [row[key] for row in report["kernels"] if None not in row[key]]
    return sum(b > a for a, b in pairs), sum(b < a for a, b in pairs)


def print_table(report):
    rows = table(report)
    width = max(map(len, ("workload", *rows)))
    print("workload".ljust(width), *COLUMNS, sep="  ")
    for name, counts in rows.items():
        print(name.ljust(width), *(str(counts[c]).rjust(len(c)) for c in COLUMNS), sep="  ")


def show(report):
    print(
        f"{report['device']}, driver {report['driver']}, {report['processes']} processes of each"
        f" compiler; the driver's cache: {', '.join(report['compute_cache'])}"
    )
    print_table(report)
    rows = report["kernels"]
    moved = collections.Counter(
        " and ".join(row["moved"]).replace("_", " ") or "nothing that is known"
        for row in rows
        if not is_same(row)
    )
    for parts, count in moved.most_common():
        print(f"other code, {parts}: {count}")
    for key in ("registers", "local_bytes", "code_bytes"):
        more, less = differing(report, key)
        print(f"{key.replace('_', ' ')}: more in {more} kernels, less in {less}")
    unstable = sum(not row["stable"] for row in rows)
    if unstable:
        print(f"the driver made other code in other processes: {unstable} kernels")
    for image, module in report["modules"].items():
        took = module["compile_ms"]
        print(
            f"{image}: {module['kernels']} kernels compiled in {statistics.median(took):.0f} ms"
            f" ({min(took):.0f} to {max(took):.0f}), {module['cubin_bytes']:,} bytes"
        )
    changed = [row for row in rows if TIMES[row["verdict"]] in ("slower", "faster")]
    for row in sorted(changed, key=lambda row: -abs(row["ratio"]["value"] - 1))[:10]:
        print(f"{row['identity']}: {100 * (row['ratio']['value'] - 1):+.2f} %")
        print(f"  {row['change'] or 'the same code'}")


# -- the check ----------------------------------------------------------------------------------


def wrong(report):
    """What contradicts itself in a file."""
    for row in report["kernels"]:
        where = row["identity"]
        known = None not in row["sass_sha256"]
        if known and is_same(row) and (row["moved"] or row["change"]):
            yield f"{where}: parts moved in the same code"
        if known and not is_same(row) and not row["change"]:
            yield f"{where}: other code, and no change is said"
        if known and is_same(row) and row["code_bytes"][0] != row["code_bytes"][1]:
            yield f"{where}: the same code of two sizes"
        if row["verdict"] not in TIMES:
            yield f"{where}: no verdict {row['verdict']}"
        ratio = row["ratio"]
        if TIMES.get(row["verdict"]) == "slower" and ratio and ratio["value"] <= 1:
            yield f"{where}: slower, and takes less time"
        if row["verdict"] == "improved" and ratio and ratio["value"] >= 1:
            yield f"{where}: faster, and takes more time"
    sums = table(report)
    for name, counts in sums.items():
        if sum(counts[column] for column in COLUMNS[1:]) != counts["kernels"]:
            yield f"{name}: columns do not add up"
    for image, module in report["modules"].items():
        if len(module["compile_ms"]) != report["processes"] or min(module["compile_ms"]) <= 0:
            yield f"{image}: not a time to compile for each process"


def check(paths):
    found = [f"{path}: {what}" for path in paths for what in wrong(read(path))]
    for what in found:
        print(what)
    if not found:
        print(f"{len(paths)} file{'s' if len(paths) > 1 else ''}: nothing contradicts itself")
    return not found


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--program", default="build/cbank")
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--keep", metavar="FOLDER")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--show", metavar="FILE")
    parser.add_argument("--check", metavar="FILE", nargs="+")
    arguments, plan = parser.parse_known_args()
    if arguments.show:
        show(read(arguments.show))
        return 0
    if arguments.check:
        return 0 if check(arguments.check) else 1
    if not arguments.json:
        parser.error("--json FILE, --show FILE or --check FILE")
    report = make(arguments, plan or PLAN)
    with open(arguments.json, "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1)
        file.write("\n")
    show(report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
