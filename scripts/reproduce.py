#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""Draws the figures of README.md and docs/ from the committed results, by cbank plot and a study,
and makes the page of docs/example: the same bytes each time.

usage: reproduce.py [--program FILE] [-o DIR] [--example DIR]
       reproduce.py --sweeps | --chips | --suite | --samples
           # print, as Markdown, the figures of the sweeps, of several chips, of users' kernels
           # or of samples, and what they say
"""

import argparse
import glob
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import textwrap

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CHIP_FIGURES = {
    "chips": "Cost of a load, on each chip",
    "generations": "The default plan on each chip",
}
PLANS = ("results/h200/core-matrix.json", "results/h100/core-matrix.json")
SUITE = "results/h200/kernels/suite.json"
FLAGGED = "\\*"  # of a cell, in a table
CHARACTERIZATIONS = (
    "results/chips/h200/characterization.json",
    "results/chips/h100/characterization.json",
)
# The result of each sweep (cbank list sweeps) that is committed.
SWEEPS = {
    **{
        name: f"results/chips/h200/{file}.json"
        for name, file in (
            ("widths", "widths"),
            ("sizes", "table-sizes"),
            ("distinct", "serialization"),
        )
    },
    **{
        name: f"results/h200/sweeps/{name}.json"
        for name in ("lookup", "warps", "pressure", "large", "copies")
    },
}
# Two boards, by scripts/studies/energy_trial.py.
ENERGY = ("results/h200/energy/trial.json", "results/h200/energy/trial-second.json")
# Figures to draw, and their files.
DRAWN = (
    (("matrix", "serialization", "capacity"), (PLANS[0], "results/characterizations/h200.json")),
    (tuple(CHIP_FIGURES), PLANS + CHARACTERIZATIONS),
    (("spaces",), (SUITE,)),
    (("sweep",), tuple(file for name, file in SWEEPS.items() if name != "lookup")),
    (("matrix",), (SWEEPS["lookup"],)),
    (("samples",), (PLANS[0],)),
)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage=argparse.SUPPRESS,
    )
    parser.add_argument("--program", metavar="FILE", default=os.path.join(ROOT, "build/cbank"))
    parser.add_argument("-o", "--output", metavar="DIR", default=os.path.join(ROOT, "docs/figures"))
    parser.add_argument("--example", metavar="DIR", default=os.path.join(ROOT, "docs/example"))
    for name, show in (
        ("sweeps", print_sweeps),
        ("chips", print_chips),
        ("suite", print_suite),
        ("samples", print_samples),
    ):
        parser.add_argument(f"--{name}", dest="show", action="store_const", const=show)
    asked = parser.parse_args()
    if asked.show:
        return asked.show(asked)
    for figures, files in DRAWN:
        subprocess.run(
            [
                asked.program,
                "plot",
                *(f"--figure={name}" for name in figures),
                "--format",
                "svg",
                "-o",
                asked.output,
                *(os.path.join(ROOT, file) for file in files),
            ],
            check=True,
        )
    draw_energy(asked)
    return example(asked)


def draw_energy(asked):
    """The figure of docs/energy.md, which a study makes of its own reports."""
    files = [os.path.join(ROOT, file) for file in ENERGY]
    study = os.path.join(ROOT, "scripts/studies/energy_trial.py")
    subprocess.run([sys.executable, "-IB", study, "--draw", asked.output, *files], check=True)


def print_figure(asked, stem, title):
    """A figure that is there, and its caption."""
    with open(os.path.join(asked.output, f"{stem}.txt"), encoding="utf-8") as said:
        caption = " ".join(said.read().split())
    print(
        f"\n![{title}](figures/{stem}.svg)\n\n"
        + textwrap.fill(caption, 118, break_on_hyphens=False)
    )


def print_chips(asked):
    for name, title in CHIP_FIGURES.items():
        print_figure(asked, name, title)


def print_samples(asked):
    print_figure(asked, "core-matrix-samples", "Distributions of the samples of the default plan")


def print_suite(asked):
    """The figure of users' kernels, and a table: the fastest memory spaces, and how much longer
    those take that one might choose."""
    print_figure(asked, "suite-spaces", "Kernels with their tables in each memory space")
    with open(os.path.join(ROOT, SUITE), encoding="utf-8") as result:
        cells = [cell for cell in json.load(result)["cells"] if cell["verified"]]
    found = {}
    for cell in cells:
        found.setdefault((cell["workload"], cell["elements"]), {})[cell["path"]] = cell
    chosen, ratios, flags = ("constant", "global", "shared"), [], set()
    print(
        "\n| kernel | size | fastest time | in | "
        + " | ".join(f"`{path}`" for path in chosen)
        + " |\n|---|---|---|---|---|---|---|"
    )

    def marked(text, cell):
        flags.update(cell["flags"])
        return text + (FLAGGED if cell["flags"] else "")

    for (kernel, size), of in found.items():
        times = {path: cell["time_ns"]["value"] for path, cell in of.items()}
        best = min(times.values())
        ratios.append([times[path] / best for path in chosen])
        fastest = ", ".join(
            marked(f"`{path}`", of[path])
            for path, time in sorted(times.items(), key=lambda item: item[1])
            if time <= 1.01 * best
        )
        shown = (marked(f"{times[path] / best:.2f}x", of[path]) for path in chosen)
        print(f"| {kernel} | {size} | {best / 1e3:.2f} us | {fastest} | {' | '.join(shown)} |")
    means = [math.exp(sum(map(math.log, column)) / len(column)) for column in zip(*ratios)]
    print("| all, geometric mean | | | | " + " | ".join(f"{mean:.2f}x" for mean in means) + " |")
    if flags:
        print(f"\n{FLAGGED} flagged: {', '.join(f'`{flag}`' for flag in sorted(flags))}.")


def print_sweeps(asked):
    done = subprocess.run(
        [asked.program, "list", "sweeps", "--json"], capture_output=True, text=True, check=True
    )
    for row in json.loads(done.stdout):
        if row["name"] not in SWEEPS:
            continue
        print(f"\n### {row['name']}: {row['summary']}")
        stem = os.path.basename(SWEEPS[row["name"]]).removesuffix(".json")
        names = sorted(glob.glob(f"{stem}-*.svg", root_dir=asked.output))
        for name in names:
            print_figure(asked, name.removesuffix(".svg"), f"The sweep {row['name']}, measured")
        if not names:
            print("\n" + textwrap.fill(why_not_drawn(asked, SWEEPS[row["name"]]), 118))


def why_not_drawn(asked, path):
    """What cbank plot says of a sweep that is no figure."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["plot", "--figure=sweep", "--format", "csv", "-o", folder]
        done = subprocess.run(
            [asked.program, *words, os.path.join(ROOT, path)],
            capture_output=True,
            text=True,
            check=False,
        )
    reason = done.stderr.splitlines()[0].partition(" is not drawn: ")[2]
    return f"No figure: {reason.removesuffix('.')}."


def example(asked):
    """The page of docs/fleet.md's example. Which commit made it is left out, so that it does not
    change with each."""
    program = os.path.abspath(asked.program)
    with tempfile.TemporaryDirectory() as folder:

        def run(*words, name=None):
            done = subprocess.run(
                [program, *words], cwd=folder, capture_output=True, text=True, check=False
            )
            if done.returncode > 1:
                raise SystemExit(f"reproduce: {' '.join(words)}: {done.stderr}")
            if name:
                content = json.loads(done.stdout)
                content["tool"] = content.get("tool") and {
                    **content["tool"],
                    "git_commit": None,
                    "git_dirty": False,
                }
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    json.dump(content, file)

        # a store keeps names of files
        os.symlink(os.path.join(ROOT, "results"), os.path.join(folder, "results"))
        run("ingest", "two.db", "results/h200/fleet/nights")
        run("fleet", "two.db", "--quiet", "--json", "-", name="verdict.json")
        run("history", "two.db", "--cell", "add/*/per_warp/*", "--json", name="history.json")
        run("report", "verdict.json", "history.json", "-o", os.path.abspath(asked.example))
    index = os.path.join(asked.example, "index.html")
    with open(index, encoding="utf-8") as file:
        text = re.sub(r" \(commit [^)]*\)", "", file.read())
    with open(index, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    sys.exit(main())
