#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""Measures what commands of this tree cost beside those of another commit, on one machine.

Shows whether a change made something slower or larger: docs/speed.md says what is measured.

usage: bench_against.py --base COMMIT|TREE [--pairs 5] [--rows NAME,...] --json FILE
       bench_against.py --show FILE

Both commits are cloned and built alike, below build/bench; a folder is a tree that is built
already. Their commands run in turn, the other one first in every second pair. A figure is the
median over the pairs of the seconds of processors, user and system, of a command with all that it
starts. The memory is the largest of one of its processes. On a machine that others use, such
seconds repeat where seconds of a clock do not. Rows of a GPU are run where there is one, by the
clock, as a person waits for them. --json writes FILE; rows that it has and that are not run again
stay, if they are of this machine. Nothing is asserted: it exits 2 where a command fails.
"""

import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections import namedtuple

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import trials
from cbank.chips import write_json

BENCH = os.path.join(trials.ROOT, "build/bench")
DATA = os.path.join(BENCH, "data")  # inputs that both trees read
RESULTS = 1000  # of ingest
CELL = "add/constant/per_block/12800000/1024/hot"

# command: for sh, in the root of a tree. {data}: inputs of both; {own}: a folder of the tree;
# {out}: an empty folder. before: makes the start of a run, and is not measured. target: of the
# ratio, or of a run now. runs: of a sample. pairs: where one run takes minutes. gpu: it needs one.
Row = namedtuple("Row", "name what command target before runs pairs gpu")


def row(name, what, command, target, before="", runs=1, pairs=None, gpu=False):
    return Row(name, what, command, target, before, runs, pairs, gpu)


MAKE = "CCACHE_DISABLE=1 make -j2"
TREE = "git clone -q . {own}/clone && cd {own}/clone"
# A row more, of a name that no other row has.
PATTERN = (
    "sed -i '0,/^#undef PATTERN/s//PATTERN(bench, (thread + step) % length,"
    ' .summary = "bench")\\n&/\' patterns/patterns.def'
)
PARAMETER = "printf '\\n' >> patterns/parameters.def"

ROWS = (
    row(
        "explain",
        "`explain` of all workloads by all paths",
        "build/cbank explain {data}/all-paths.json",
        0.1,
    ),
    row(
        "explain-json",
        "the same as JSON, which has the model's time of each cell",
        "build/cbank explain --json {data}/all-paths.json",
        0.1,
    ),
    row(
        "history",
        "`history` of one cell over 48,000 runs",
        f"build/cbank history {{own}}/fleet.db --cell {CELL}",
        0.5,
    ),
    row(
        "ingest",
        f"`ingest` of {RESULTS:,} results",
        "build/cbank ingest --quiet {out}/store.db {data}/results",
        0.5,
    ),
    row(
        "plot",
        "`plot` of two chips",
        # not of manifest.json, which is no document with rows
        "build/cbank plot -o {out} results/chips/h?00/[!m]*.json",
        0.5,
    ),
    row(
        "report",
        "`report` of two chips",
        "build/cbank report -o {out}/report results/chips/h100 results/chips/h200",
        0.5,
    ),
    row("help", "`--help`", "build/cbank --help", "20 ms", runs=20),
    row("list", "`list paths`", "build/cbank list paths", "20 ms", runs=20),
    row("show", "`show` of 24 cells", "build/cbank show {data}/core-matrix.json", "20 ms", runs=20),
    row(
        "compare",
        "`compare` of two results of 24 cells",
        "build/cbank compare {data}/core-matrix.json {data}/core-matrix.json",
        "20 ms",
        runs=20,
    ),
    row(
        "check",
        "`check` of a result",
        "build/cbank check {data}/core-matrix.json",
        "150 ms",
        runs=5,
    ),
    row(
        "make-pattern",
        "`make` after a row of a pattern, without a toolkit",
        f"cd {{own}}/clone && {MAKE} NO_CUDA=1",
        0.5,
        before=f"rm -rf {{own}}/clone && {TREE} && make -j2 NO_CUDA=1 && {PATTERN}",
        pairs=3,
    ),
    row(
        "make-parameter",
        "`make` after a change of the parameters, without a toolkit",
        f"cd {{own}}/clone && {MAKE} NO_CUDA=1",
        0.5,
        before=f"rm -rf {{own}}/clone && {TREE} && make -j2 NO_CUDA=1 && {PARAMETER}",
        pairs=3,
    ),
    row(
        "make-test",
        "`make test` from a fresh clone with its build, two processors",
        f"cd {{own}}/clone && taskset -c 0,1 {MAKE} test",
        0.45,
        before=f"rm -rf {{own}}/clone && {TREE}",
        pairs=1,
    ),
    row(
        "run",
        "24 cells with counters, verified",
        "build/cbank run --quiet --engine cuda --json {out}/run.json",
        0.65,
        gpu=True,
    ),
    row(
        "run-quick",
        "the same, `--quick`",
        "build/cbank run --quiet --engine cuda --quick --json {out}/run.json",
        0.75,
        gpu=True,
    ),
    row(
        "run-all",
        "all workloads by all paths",
        "build/cbank run --quiet --engine cuda --workload all --path all --json {out}/run.json",
        0.5,
        gpu=True,
    ),
    row(
        "characterize",
        "`characterize`",
        "build/cbank characterize --quiet --json {out}/chip.json",
        0.45,
        gpu=True,
    ),
    row(
        "spaces",
        "`spaces` of a kernel of the examples, compiled before",
        "build/cbank spaces examples/crc32.cu",
        0.45,
        before="build/cbank spaces examples/crc32.cu",
        gpu=True,
    ),
)


def shell(command, folder):
    """Runs a command that is not measured."""
    done = subprocess.run(
        ["sh", "-ec", command], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        trials.fail(f"{command} in {folder} ended with {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout.strip()


def measured(command, tree, runs):
    """(seconds of processors of one run, those of the clock, bytes of its largest process)."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    peak = 0
    for _ in range(runs):
        with subprocess.Popen(
            ["sh", "-c", command],
            cwd=tree,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        ) as process:
            said = process.stderr.read()
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        # a finding is an answer
        if process.returncode not in (0, 1):
            trials.fail(f"{command} in {tree} ended with {process.returncode}: {said.decode()}")
        peak = max(peak, used.ru_maxrss * 1024)
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used / runs, wall / runs, peak


class Tree:
    """A checkout that is built, and its own inputs."""

    def __init__(self, name, commit, gpu):
        self.name, self.own = name, os.path.join(BENCH, f"{name}-data")
        os.makedirs(self.own, exist_ok=True)
        if os.path.isdir(commit):
            self.root = os.path.abspath(commit)
        else:
            self.root = os.path.join(BENCH, name)
            if not os.path.isdir(self.root):
                shell(f"git clone -q . '{self.root}'", trials.ROOT)
            # a commit of this tree, which may be younger than the clone
            shell(f"git fetch -q '{trials.ROOT}' HEAD && git checkout -q {commit}", self.root)
            shell(f"make -j2 {'' if gpu else 'NO_CUDA=1'} all", self.root)
        self.commit = shell("git rev-parse HEAD", self.root)

    def filled(self, command, out=""):
        return command.format(data=DATA, own=self.own, out=out)

    def prepare(self, names):
        """Makes what its rows read and what only the tree itself can make."""
        store = os.path.join(self.own, "fleet.db")
        if "history" in names and not os.path.exists(store):
            shell(
                f"scripts/studies/make_fleet.py '{store}.new' && mv '{store}.new' '{store}'",
                self.root,
            )

    def sample(self, asked):
        """One sample of a row."""
        out = os.path.join(self.own, "out")
        shutil.rmtree(out, ignore_errors=True)
        os.makedirs(out)
        if asked.before:
            shell(self.filled(asked.before, out), self.root)
        return measured(self.filled(asked.command, out), self.root, asked.runs)


def make_results():
    """Results of one plan, of so many processes that began a second after each other."""
    folder = os.path.join(DATA, "results")
    result = trials.load(os.path.join(trials.ROOT, "results/h200/core-matrix.json"))
    os.makedirs(folder, exist_ok=True)
    for number in range(RESULTS):
        for key, seconds in (("started_utc", 0), ("finished_utc", 5)):
            clock = time.gmtime(1767225600 + 10 * number + seconds)
            result[key] = time.strftime("%Y-%m-%dT%H:%M:%SZ", clock)
        with open(os.path.join(folder, f"{number:04}.json"), "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)


def make_data(now):
    """Inputs that both trees read, made by this one."""
    if os.path.isdir(DATA):
        return
    os.makedirs(DATA)
    shutil.copy(os.path.join(trials.ROOT, "results/h200/core-matrix.json"), DATA)
    make_results()
    shell(
        f"build/cbank run --quiet --engine model --workload all --path all --json"
        f" '{DATA}/all-paths.json'",
        now.root,
    )


def processor():
    """The name of the machine's processor."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    return names[0] if names else platform.machine()


def gpu_name():
    """The name of the first GPU; None where there is none."""
    if not shutil.which("nvidia-smi"):
        return None
    said = subprocess.run(
        ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"],
        capture_output=True,
        text=True,
        check=False,
    )
    return said.stdout.splitlines()[0] if said.returncode == 0 and said.stdout else None


def compare(asked, trees, pairs):
    """The report of a row: samples of both trees, taken in turn."""
    report = {
        "name": asked.name,
        "what": asked.what,
        "command": asked.command.replace("{data}/", "").replace("{own}/", "").replace("{out}/", ""),
        "gpu": asked.gpu,
        "runs": asked.runs,
        **{tree.name: {"commit": tree.commit, "samples": []} for tree in trees},
    }
    for number in range(min(asked.pairs or pairs, pairs)):
        for tree in trees if number % 2 == 0 else trees[::-1]:
            used, wall, peak = tree.sample(asked)
            report[tree.name]["samples"].append(
                {"processor_s": used, "clock_s": wall, "peak_bytes": peak}
            )
    return report


def options(parser):
    parser.add_argument("--base", metavar="COMMIT", help="a commit, or the folder of a built one")
    parser.add_argument("--now", metavar="COMMIT", default="HEAD", help="default: HEAD")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--rows", metavar="NAME,...", help="these alone")


def make(arguments, rest):
    names = arguments.rows.split(",") if arguments.rows else [asked.name for asked in ROWS]
    unknown = set(names) - {asked.name for asked in ROWS}
    if rest or unknown or not arguments.base:
        trials.fail(f"--base COMMIT is needed; not known: {' '.join([*rest, *unknown])}")
    gpu = gpu_name()
    rows = known_rows(arguments.json, gpu) if os.path.exists(arguments.json) else {}
    now = arguments.now
    if not os.path.isdir(now):
        now = shell(f"git rev-parse '{now}'", trials.ROOT)
    trees = [Tree("base", arguments.base, gpu), Tree("now", now, gpu)]
    make_data(trees[1])
    for tree in trees:
        tree.prepare(names)
    for asked in ROWS:
        if asked.name not in names:
            continue
        if asked.gpu and not gpu:
            rows.setdefault(asked.name, {"name": asked.name, "what": asked.what, "gpu": True})
            continue
        rows[asked.name] = compare(asked, trees, arguments.pairs)
        write_json(arguments.json, report_of(rows, gpu))
    return report_of(rows, gpu)


def machine(gpu):
    return {
        "processor": processor(),
        "processors": len(os.sched_getaffinity(0)),
        "gpu": gpu,
    }


def known_rows(path, gpu):
    """The rows of a document, by name: they are of this machine."""
    report, here = trials.load(path), machine(gpu)
    there = {key: report[key] for key in here}
    if there != here:
        trials.fail(f"{path} is of {there}, and this is {here}: name another file")
    return {found["name"]: found for found in report["rows"]}


def report_of(rows, gpu):
    """The document of these rows."""
    return {
        **machine(gpu),
        # the memory of a command cannot be seen below it
        "own_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "rows": [rows[asked.name] for asked in ROWS if asked.name in rows],
    }


def seconds(value):
    """For people: three digits, in ms below a tenth of a second."""
    return f"{1e3 * value:.3g} ms" if value < 0.1 else f"{value:.3g} s"


def memory(report, samples):
    """The most of some samples in MB. What is less than the benchmark's own was not seen."""
    peak, own = max(sample["peak_bytes"] for sample in samples), report["own_bytes"]
    return f"<{own / 1e6:.0f}" if peak <= 1.05 * own else f"{peak / 1e6:.0f}"


def show(report):
    """Prints a line a row; what a row had no GPU for is said."""
    targets = {asked.name: asked.target for asked in ROWS}
    said = report["gpu"] or "no GPU"
    print(f"{report['processor']}, {report['processors']} processors, {said}")
    print(f"{'figure':<62} {'before':>8} {'now':>8} {'ratio':>6} {'target':>6} {'MB':>11}")
    for found in report["rows"]:
        what = found["what"].replace("`", "")
        if "base" not in found:
            print(f"{what:<62} no GPU")
            continue
        key = "clock_s" if found["gpu"] else "processor_s"
        both = [found[name]["samples"] for name in ("base", "now")]
        before, now = (statistics.median(sample[key] for sample in samples) for samples in both)
        peaks = " -> ".join(memory(report, samples) for samples in both)
        print(
            f"{what:<62} {seconds(before):>8} {seconds(now):>8} {now / before:>6.3f}"
            f" {targets[found['name']]:>6} {peaks:>11}"
        )
    for names in sorted(
        {(row["base"]["commit"], row["now"]["commit"]) for row in report["rows"] if "base" in row}
    ):
        print(f"before: commit {names[0][:8]}; now: commit {names[1][:8]}")
    return True


if __name__ == "__main__":
    trials.main(__doc__, options, make, show)
