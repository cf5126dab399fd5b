# SPDX-License-Identifier: MIT
"""What the trials on a GPU share: processes of the program, comparisons of two, and a report that is shown again."""

import argparse
import json
import os
import subprocess
import sys

import upgrade

NAME = os.path.basename(sys.argv[0]).removesuffix(".py")


def fail(message):
    print(f"{NAME}: error: {message}", file=sys.stderr)
    sys.exit(2)


def call(*command, statuses=(0,)):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in statuses:
        fail(f"{' '.join(command)} exited {done.returncode}: {done.stderr}")
    return done


def measure(program, path, *options):
    """The result of a process of its own, written to path."""
    call(program, "run", "--engine", "cuda", "--quiet", *options, "--json", path)
    return path


def compare(program, base, new, *options):
    """Whether cbank compare, one process a side, fails; cells that were compared, and those that are called changed."""
    done = call(program, "compare", base, new, *options, "--json", "-", statuses=(0, 1))
    comparison = json.loads(done.stdout)
    changed = [cell for cell in comparison["cells"] if cell["verdict"] in ("regressed", "improved")]
    return {"failed": done.returncode == 1, "cells": len(comparison["cells"]), "counts": comparison["counts"],
            "changed": [f"{cell['identity']} {cell['verdict']}" for cell in changed]}


def read(path, program=None):
    """A result, and the times of its cells that have one by their identities."""
    try:
        result = upgrade.read(path, program)
        return result, {cell["identity"]: cell["time_ns"] for cell in result["cells"] if cell["status"] == "ok"}
    except (OSError, ValueError, KeyError, TypeError) as error:
        fail(f"{path} is no result: {error}")


def without_folders(command):
    """A command line whose absolute paths are names alone: where a machine keeps things is nobody's concern."""
    return " ".join(os.path.basename(word) if os.path.isabs(word) else word for word in command.split(" "))


def origin(result):
    """What a report says of where it was made."""
    return {"command": without_folders(" ".join(sys.argv)), "tool": result["tool"], "device": result["device"]}


def main(doc, options, make, show):
    """A trial's command line. options(parser) adds what is the trial's own; make(arguments, rest) gives the report, rest
    being what the parser does not know; show(report) prints its figures and says whether they are as they should be."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0], allow_abbrev=False)
    parser.add_argument("--program", default="build/cbank")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--show", metavar="FILE", help="print the figures of an earlier trial, and write it again as this "
                        "version does where --json names a file")
    options(parser)
    arguments, rest = parser.parse_known_args()
    if arguments.show:
        with open(arguments.show, encoding="utf-8") as file:
            report = json.load(file)
        report["command"] = without_folders(report.get("command", ""))
    elif arguments.json:
        report = make(arguments, rest)
    else:
        parser.error("--json FILE or --show FILE is needed")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=1)
            file.write("\n")
    sys.exit(0 if show(report) else 1)
