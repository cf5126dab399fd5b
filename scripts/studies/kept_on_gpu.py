#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""Tries on this machine's GPU what is left of a measurement that is ended, and what a gate says
beside another process.

usage: kept_on_gpu.py [--program build/cbank] [--kernel FILE.cu] --json FILE [RUN OPTION...]
       kept_on_gpu.py --show FILE

run, spaces and gate are ended by SIGTERM and by kill -9 as soon as their file has something, and go
on: --resume and --results. The document must then have what was measured before, unchanged, and the
cells of one of an undisturbed command. A gate then runs beside neighbour.cu, which nvcc compiles
(or the program that --neighbour names), and alone. At the end stands what holds; the exit code is 1
where something does not. It is made to take less than three minutes.
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
    """{name of a cell: (its samples, whether it is measured to its end)}, or of each result in a
    folder: (its start, the same). Empty where there is no document yet."""
    try:
        if os.path.isdir(path):
            names = [name for name in os.listdir(path) if name.endswith(".json")]
            documents = {name: trials.load(os.path.join(path, name)) for name in names}
            return {
                name: ([document["started_utc"]] * document["complete"], document["complete"])
                for name, document in documents.items()
            }
        return {
            cell["identity"]: (
                (cell["time_ns"] or {}).get("samples") or [],
                cell["status"] != "pending",
            )
            for cell in trials.load(path)["cells"]
        }
    except (OSError, ValueError):
        return {}


def has_some(path):
    return any(samples for samples, _ in parts(path).values())


def end(words, path, number):
    """Ends a command as soon as its file has something: (its exit code, the parts then)."""
    started = time.monotonic()
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as program:
        while program.poll() is None and not has_some(path):
            time.sleep(0.01)
            if time.monotonic() > started + SECONDS_MAX:
                program.kill()
                trials.fail(f"{' '.join(words)} wrote nothing in {SECONDS_MAX} s")
        program.send_signal(number)
    return program.returncode, parts(path)


def end_and_go_on(program, folder, kernel, rest):
    """The rows of run and spaces: each is ended by each signal, and goes on."""
    commands = {
        "run": (["run", "--engine", "cuda", *rest], ["run"]),
        "spaces": (["spaces", *kernel, "--counters", "none"], ["spaces", kernel[0]]),
    }
    for name, (words, again) in commands.items():
        path = os.path.join(folder, f"{name}.json")
        words = [program, *words, "--quiet", "--json", path]
        trials.call(*words)
        whole = parts(path)
        for number in SIGNALS:
            os.remove(path)
            code, before = end(words, path, getattr(signal, number))
            trials.call(program, *again, "--quiet", "--resume", path)
            yield row(name, number, code, before, whole, parts(path))


def end_gate_and_go_on(gate, folder):
    """The rows of gate, whose report after SIGTERM has the processes that were measured."""
    whole = [f"new-{process}.json" for process in (1, 2, 3)]
    for number in SIGNALS:
        path, report = os.path.join(folder, f"gate-{number}"), os.path.join(
            folder, f"{number}.json"
        )
        words = [*gate, "--threshold", "0.001", "--processes", "3", "--quiet"]
        words += ["--results", path, "--json", report]
        code, before = end(words, path, getattr(signal, number))
        told = trials.load(report) if os.path.exists(report) else None
        trials.call(*words, statuses=(0, 1, 4))
        yield {
            **row("gate", number, code, before, whole, parts(path)),
            "results_in_report": told and told["new"]["results"],
            "results_in_report_after": trials.load(report)["new"]["results"],
        }


def make(arguments, rest):
    rest = rest or ["--counters", "none"]
    with tempfile.TemporaryDirectory() as folder:
        neighbour = arguments.neighbour or neighbour_trial.build(folder)
        base = trials.measure(arguments.program, os.path.join(folder, "base.json"), *rest)
        gate = [arguments.program, "gate", base, "--engine", "cuda", *rest]
        kernel = [arguments.kernel, "--size", arguments.size]
        ended = [
            *end_and_go_on(arguments.program, folder, kernel, rest),
            *end_gate_and_go_on(gate, folder),
        ]
        words = [*gate, "--threshold", "1", "--seconds", arguments.gate_seconds, "--json", "-"]
        with neighbour_trial.Neighbour(neighbour, "compute"):
            beside = judged(words)
        return {
            **trials.origin(trials.load(base)),
            "run_options": rest,
            "ended": ended,
            "beside": {"compute": beside, "alone": judged(words)},
        }


def row(command, number, code, before, whole, after):
    begun = {name: samples for name, (samples, _) in before.items() if samples}
    return {
        "command": command,
        "signal": number,
        "exit_code": code,
        "parts": len(whole),
        "begun_before": len(begun),
        "samples_before": sum(map(len, begun.values())),
        "kept": sum(
            name in after and after[name][0][: len(samples)] == samples
            for name, samples in begun.items()
        ),
        "whole_before": sum(ended for _, ended in before.values()),
        "whole_after": sum(name in after and after[name][1] for name in whole),
        "others_after": len(set(after) - set(whole)),
    }


def judged(words):
    done = trials.call(*words, statuses=(0, 1, 4))
    return {"exit_code": done.returncode, "counts": json.loads(done.stdout)["counts"]}


def checks(report):
    """[(what holds, whether it does)]"""
    ended = report["ended"]
    gates = {one["signal"]: one for one in ended if one["command"] == "gate"}
    counts = {kind: one["counts"] for kind, one in report["beside"].items()}
    return [
        (
            "kill: a signal ends it, and what was measured is in the file",
            all(
                one["exit_code"] == -getattr(signal, one["signal"]) and one["begun_before"] > 0
                for one in ended
            ),
        ),
        (
            "resume: nothing is lost or measured again, and the rest is measured",
            all(
                one["kept"] == one["begun_before"]
                and one["whole_after"] == one["parts"]
                and one["others_after"] == 0
                for one in ended
            ),
        ),
        (
            "gate by a signal: its report has what was measured, and later all",
            (gates["SIGTERM"]["results_in_report"] or 0) >= gates["SIGTERM"]["whole_before"] > 0
            and gates["SIGKILL"]["results_in_report"] is None
            and all(one["results_in_report_after"] == one["parts"] for one in gates.values()),
        ),
        (
            "contended: beside a neighbour cells are contended (exit 4), none regressed",
            report["beside"]["compute"]["exit_code"] == 4
            and counts["compute"]["contended"] > 0
            and counts["compute"]["regressed"] == 0,
        ),
        (
            "alone: no cell is contended or regressed",
            counts["alone"]["contended"] == counts["alone"]["regressed"] == 0,
        ),
    ]


def show(report):
    """Prints the figures; returns whether all holds."""
    print(
        f"{'command':9}{'ended by':10}{'exit':>5}{'begun':>12}{'samples':>9}{'kept':>6}"
        f"{'whole after':>13}"
    )
    for one in report["ended"]:
        of = f" of {one['parts']}"
        print(
            f"{one['command']:9}{one['signal']:10}{one['exit_code']:>5}"
            f"{str(one['begun_before']) + of:>12}{one['samples_before']:>9}{one['kept']:>6}"
            f"{str(one['whole_after']) + of:>13}"
        )
    for kind, one in report["beside"].items():
        counts = ", ".join(f"{count} {name}" for name, count in one["counts"].items() if count)
        print(
            f"gate {'alone' if kind == 'alone' else 'beside another process'}: exit"
            f" {one['exit_code']}, {counts}"
        )
    found = checks(report)
    print()
    for what, holds in found:
        print(f"{'pass' if holds else 'FAIL'}  {what}")
    return all(holds for _, holds in found)


if __name__ == "__main__":
    trials.main(__doc__, options, make, show)
