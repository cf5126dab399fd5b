#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws the figures of README.md and docs/ from the committed results, by cbank plot, and makes the page of docs/example:
the same bytes each time.

usage: reproduce.py [--program FILE] [-o DIR] [--example DIR]
       reproduce.py --sweeps [CHIP]   # print, of every sweep, what it asks, its figures and what they say; of chips but
                                      # the first the figures alone
       reproduce.py --chips           # print the figures of several chips, and what they say

The figures of the first of CHIPS are in DIR, those of the sweeps of another in a folder of its name.
"""

import argparse
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FIGURES = ("matrix", "serialization", "capacity")
FILES = ("results/h200/core-matrix.json", "results/characterizations/h200.json")
# Of several chips: the figures and, of each chip, the default plan and the characterization.
CHIP_FIGURES = {"chips": "What a load costs, on each chip", "generations": "The default plan on each chip"}
CHIPS = ("h200", "h100")
OF_CHIP = ("results/{}/core-matrix.json", "results/chips/{}/characterization.json")
# Of each sweep (cbank list sweeps): its result of a chip, and the figure of it.
SWEEPS = {
    "widths": ("results/chips/{}/widths.json", "sweep"),
    "sizes": ("results/chips/{}/table-sizes.json", "sweep"),
    "distinct": ("results/chips/{}/serialization.json", "sweep"),
    "lookup": ("results/{}/sweeps/lookup.json", "matrix"),
    "warps": ("results/{}/sweeps/warps.json", "sweep"),
    "pressure": ("results/{}/sweeps/pressure.json", "sweep"),
    "large": ("results/{}/sweeps/large.json", "sweep"),
    "copies": ("results/{}/sweeps/copies.json", "sweep"),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage=argparse.SUPPRESS)
    parser.add_argument("--program", metavar="FILE", default=os.path.join(ROOT, "build/cbank"))
    parser.add_argument("-o", "--output", metavar="DIR", default=os.path.join(ROOT, "docs/figures"))
    parser.add_argument("--example", metavar="DIR", default=os.path.join(ROOT, "docs/example"))
    parser.add_argument("--sweeps", metavar="CHIP", nargs="?", const=CHIPS[0], choices=CHIPS)
    parser.add_argument("--chips", action="store_true")
    asked = parser.parse_args()
    if asked.sweeps or asked.chips:
        return (print_sweeps if asked.sweeps else print_chips)(asked)
    sweeps = [([file.format(chip) for file, its in SWEEPS.values() if its == figure], [figure], folder_of(chip))
              for chip in CHIPS for figure in ("sweep", "matrix")]
    chips = ([file.format(chip) for chip in CHIPS for file in OF_CHIP], tuple(CHIP_FIGURES), "")
    return max(figures_of(asked, *each) for each in [(FILES, FIGURES, ""), chips, *sweeps]) or example(asked)


def folder_of(chip):
    """Below that of all figures."""
    return "" if chip == CHIPS[0] else chip


def figures_of(asked, files, figures, folder):
    return subprocess.run([asked.program, "plot", *(f"--figure={name}" for name in figures), "--format", "svg", "-o",
                           os.path.join(asked.output, folder), *(os.path.join(ROOT, file) for file in files)], check=False).returncode


def print_figure(asked, stem, title):
    """As Markdown of a page in docs/: a figure that is there, by its name below `output`, and its sentence."""
    with open(os.path.join(asked.output, f"{stem}.txt"), encoding="utf-8") as said:
        print(f"\n![{title}](figures/{stem}.svg)\n\n" + textwrap.fill(said.read(), 118, break_on_hyphens=False))


def print_chips(asked):
    for name, title in CHIP_FIGURES.items():
        print_figure(asked, name, title)
    launches = []
    for chip in CHIPS:
        with open(os.path.join(ROOT, OF_CHIP[0].format(chip)), encoding="utf-8") as result:
            device = json.load(result)["device"]
            launches.append(f"{device['launch_ns']:.0f} ns on {device['name']}")
    print(f"\nOne more launch of an empty kernel takes {' and '.join(launches)}.")
    return 0


def print_sweeps(asked):
    """As Markdown of a page in docs/, of the figures that are there."""
    done = subprocess.run([asked.program, "list", "sweeps", "--json"], capture_output=True, text=True, check=True)
    for row in json.loads(done.stdout):
        if asked.sweeps == CHIPS[0]:
            print(f"\n### {row['name']}: {row['summary']}")
        if row["name"] not in SWEEPS:
            print("\nNo result of it is committed.")
            continue
        file, figure = SWEEPS[row["name"]]
        stem = os.path.join(folder_of(asked.sweeps), f"{os.path.basename(file).removesuffix('.json')}-{figure}")
        for name in sorted(glob.glob(f"{stem}*.svg", root_dir=asked.output)):
            print_figure(asked, name.removesuffix(".svg"), f"The sweep {row['name']}, measured")
    return 0


def example(asked):
    """The page of docs/fleet.md's example. Which commit made it is left out, so that it does not change with each."""
    program = os.path.abspath(asked.program)
    with tempfile.TemporaryDirectory() as folder:
        def run(*words, name=None):
            done = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, check=False)
            if done.returncode > 1:
                raise SystemExit(f"reproduce: {' '.join(words)}: {done.stderr}")
            if name:
                content = json.loads(done.stdout)
                content["tool"] = content.get("tool") and {**content["tool"], "git_commit": None, "git_dirty": False}
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    json.dump(content, file)
        os.symlink(os.path.join(ROOT, "results"), os.path.join(folder, "results"))  # a store keeps names of files
        run("ingest", "two.db", "results/h200/fleet/nights")
        run("fleet", "two.db", "--quiet", "--json", "-", name="verdict.json")
        run("history", "two.db", "--cell", "add/*/per_warp/*", "--json", name="history.json")
        run("report", "verdict.json", "history.json", "-o", os.path.abspath(asked.example))
    index = os.path.join(asked.example, "index.html")
    with open(index, encoding="utf-8") as file:
        text = re.sub(r" \(commit [^)]*\)", "", file.read())
    with open(index, "w", encoding="utf-8") as file:
        file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
