#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""Tries on this machine's GPU what is left of a measurement that is ended, and what a gate says
beside another process.

usage: kept_on_gpu.py [--program build/cbank] [--kernel FILE.cu] --json FILE [RUN OPTION...]
       kept_on_gpu.py --show FILE

run, spaces and gate are ended by SIGTERM and by kill -9 as soon as their file has something
and go on: --resume and --results. The document must then be of the same cells as one of
an undisturbed command. A gate then runs beside neighbour.cu, which nvcc compiles (or the program
that --neighbour names), and alone. Exits 1 where something was lost, or a neighbour is called a
regression. It is made to take less than three minutes.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import neighbour_trial
import trials

SIGNALS = ("SIGTERM", "SIGKILL")
SECONDS_MAX = 120  # of a command


def options(parser):
    parser.add_argument("--kernel", default=os.path.join(trials.ROOT, "examples/crc32.cu"))
    parser.add_argument("--size", default="1000000", help="of the kernel's case")
    parser.add_argument("--neighbour", metavar="PROGRAM")
    parser.add_argument("--gate-seconds", default="5", help="of the gate beside a neighbour")


def parts(path):
    """{name of a cell: whether it was measured} of a document, or of the results
    in a folder; empty where there is none yet."""
    if os.path.isdir(path):
        names = [name for name in os.listdir(path) if name.endswith(".json")]
        return {name: trials.load(os.path.join(path, name))["complete"] for name in names}
    try:
        document = trials.load(path)
    except (OSError, ValueError):
        return {}
    return {
        cell["identity"]: cell["status"] != "pending" or cell["time_ns"] is not None
        for cell in document["cells"]
    }


def end(words, path, number):
    """Ends a command as soon as its file has something: (its exit code, the parts then)."""
    started = time.monotonic()
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as program:
        while program.poll() is None and not any(parts(path).values()):
            time.sleep(0.01)
            if time.monotonic() > started + SECONDS_MAX:
                program.kill()
                trials.fail(f"{' '.join(words)} wrote nothing in {SECONDS_MAX} s")
        program.send_signal(number)
    return program.returncode, parts(path)


def make(arguments, rest):
    rest = rest or ["--counters", "none"]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        base = trials.measure(arguments.program, os.path.join(folder, "base.json"), *rest)
        gate = [arguments.program, "gate", base, "--engine", "cuda", *rest]
        # command: what makes the document, its path and what goes on
        commands = {
            "run": (["run", "--engine", "cuda", *rest], "run.json", ["run"]),
            "spaces": (
                ["spaces", arguments.kernel, "--size", arguments.size, "--counters", "none"],
                "spaces.json",
                ["spaces", arguments.kernel],
            ),
        }
        for name, (words, file, again) in commands.items():
            path = os.path.join(folder, file)
            words = [arguments.program, *words, "--quiet", "--json", path]
            trials.call(*words)
            whole = parts(path)
            for number in SIGNALS:
                os.remove(path)
                code, before = end(words, path, getattr(signal, number))
                trials.call(arguments.program, *again, "--quiet", "--resume", path)
                rows.append(row(name, number, code, before, whole, parts(path)))
        for number in SIGNALS:
            path = os.path.join(folder, f"gate-{number}")
            words = [*gate, "--threshold", "0.001", "--processes", "3", "--results", path]
            code, before = end([*words, "--quiet"], path, getattr(signal, number))
            trials.call(*words, "--quiet", statuses=(0, 1, 4))
            whole = {f"new-{i}.json": True for i in (1, 2, 3)}
            rows.append(row("gate", number, code, before, whole, parts(path)))
        beside = {}
        neighbour = arguments.neighbour or neighbour_trial.build(folder)
        words = [*gate, "--threshold", "1", "--seconds", arguments.gate_seconds, "--json", "-"]
        with neighbour_trial.Neighbour(neighbour, "compute"):
            beside["compute"] = judged(words)
        beside["alone"] = judged(words)
        return {
            **trials.origin(trials.load(base)),
            "run_options": rest,
            "ended": rows,
            "beside": beside,
        }


def row(command, number, code, before, whole, after):
    return {
        "command": command,
        "signal": number,
        "exit_code": code,
        "measured_before": sum(before.values()),
        "parts": len(whole),
        "same_parts": after == whole,
    }


def judged(words):
    done = trials.call(*words, statuses=(0, 1, 4))
    return {"exit_code": done.returncode, "counts": json.loads(done.stdout)["counts"]}


def show(report):
    """Prints the figures; returns whether nothing was lost, and no neighbour is a regression."""
    met = True
    print(f"{'command':13}{'ended by':10}{'measured before':>15}  after going on")
    for one in report["ended"]:
        kept = one["same_parts"] and one["measured_before"] > 0
        ended = one["exit_code"] == -getattr(signal, one["signal"])
        met &= kept and ended
        print(
            f"{one['command']:13}{one['signal']:10}"
            f"{one['measured_before']:>8} of {one['parts']:<4}"
            f"  {'the same cells' if kept else 'OTHER CELLS'}"
            f"{'' if ended else ' (it had ended before)'}"
        )
    for kind, one in report["beside"].items():
        counts = ", ".join(f"{count} {name}" for name, count in one["counts"].items() if count)
        met &= one["counts"]["regressed"] == 0
        print(f"gate, {kind + ':':9} exit {one['exit_code']}: {counts}")
    return met


if __name__ == "__main__":
    trials.main(__doc__, options, make, show)
