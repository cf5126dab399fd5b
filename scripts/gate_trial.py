#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tries the gate on this machine's GPU: how often cbank compare calls out without cause, and how often it finds
a slowdown that was planted.

usage: gate_trial.py [--program build/cbank] [--trials 20] [--path global] --json FILE [RUN OPTION...]
       gate_trial.py --show FILE

Every result is of a process of its own. False alarms: each result against the one before it. Power: results with
work added to one path (cbank run --slow, a developer option), each against one without. Writes what each
comparison said, and exits 1 when a figure of merit is missed: no false alarm; 1.5 % found in 19 of 20; 0.3 %
never fails the gate.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

SLOWDOWNS_PERCENT = [1.5, 0.3]


def call(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


class Trial:
    def __init__(self, program, options, folder):
        self.program, self.options, self.folder = program, options, folder
        self.runs = 0

    def measure(self, *extra):
        """The result of one more process."""
        self.runs += 1
        path = os.path.join(self.folder, f"run-{self.runs:03}.json")
        done = call(self.program, "run", "--engine", "cuda", "--quiet", *self.options, *extra, "--json", path)
        if done.returncode != 0:
            sys.exit(f"gate_trial: cbank run exited {done.returncode}: {done.stderr}")
        return path

    def compare(self, base, new):
        """Exit code, counts by verdict, and the cells that regressed or improved."""
        done = call(self.program, "compare", base, new, "--json", "-")
        if done.returncode not in (0, 1):
            sys.exit(f"gate_trial: cbank compare exited {done.returncode}: {done.stderr}")
        comparison = json.loads(done.stdout)
        cells = comparison["cells"]
        changed = [cell for cell in cells if cell["verdict"] in ("regressed", "improved")]
        return {"exit_code": done.returncode, "counts": comparison["counts"],
                "widest_ratio_change": max(abs(cell["ratio"]["value"] - 1) for cell in cells),
                "changed": [f"{cell['path']}/{cell['pattern']}/{cell['elements']} {cell['verdict']}" for cell in changed]}


def show(report):
    """Prints the figures of merit; returns whether they are met."""
    trials, path = report["trials"], report["path"]
    alarms, found = report["false_alarms"], report["found_at_1.5_percent"]
    failed = report["gate_failed_at_0.3_percent"]
    print(f"two processes, nothing changed:   {alarms} false alarms in {trials} comparisons")
    print(f"{path} made 1.5 % slower:        found in {found} of {trials}")
    print(f"{path} made 0.3 % slower:        gate failed in {failed} of {trials}")
    return alarms == 0 and found >= 0.95 * trials and failed == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="build/cbank")
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--path", default="global")
    parser.add_argument("--json")
    parser.add_argument("--show", metavar="FILE", help="print the figures of an earlier trial")
    arguments, options = parser.parse_known_args()
    if arguments.show:
        with open(arguments.show, encoding="utf-8") as file:
            sys.exit(0 if show(json.load(file)) else 1)
    if not arguments.json:
        parser.error("--json FILE is needed")
    options = options or ["--counters", "none"]
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(arguments.program, options, folder)
        plain = [trial.measure() for _ in range(arguments.trials + 1)]
        false_alarms = [trial.compare(a, b) for a, b in zip(plain, plain[1:])]
        planted = {}
        for percent in SLOWDOWNS_PERCENT:
            planted[percent] = [trial.compare(base, trial.measure("--slow", f"{arguments.path}:{percent}"))
                                for base in plain[:arguments.trials]]
        with open(plain[0], encoding="utf-8") as file:
            first = json.load(file)
    alarms = sum(bool(one["changed"]) for one in false_alarms)
    found = sum(any(f"{arguments.path}/" in cell and "regressed" in cell for cell in one["changed"])
                for one in planted[1.5])
    failed = sum(one["exit_code"] == 1 for one in planted[0.3])
    report = {"command": " ".join(sys.argv), "tool": first["tool"], "device": first["device"],
              "run_options": options, "trials": arguments.trials, "path": arguments.path,
              "false_alarms": alarms, "found_at_1.5_percent": found, "gate_failed_at_0.3_percent": failed,
              "comparisons": {"a_a": false_alarms, **{f"slow_{percent}_percent": planted[percent] for percent in planted}}}
    with open(arguments.json, "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1)
        file.write("\n")
    sys.exit(0 if show(report) else 1)


if __name__ == "__main__":
    main()
