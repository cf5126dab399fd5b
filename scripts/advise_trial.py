#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tries cbank advise on configurations that a seed draws: draws them, measures them on a GPU, and shows how good the advice is.

usage: advise_trial.py draw --seed N [--count 300] [--distribution broad|contested] > results/advise/configurations.json
       advise_trial.py measure [--program build/cbank] [--first N] CONFIGURATIONS FOLDER
       advise_trial.py collect [--program build/cbank] CONFIGURATIONS FOLDER > MEASURED
       advise_trial.py show [--program build/cbank] [--card FILE] CONFIGURATIONS MEASURED...
       advise_trial.py show --modelled [--program build/cbank] [--card FILE] CONFIGURATIONS
       advise_trial.py table SHOWN...

Configurations are committed before anything is measured, and nothing is drawn again. `measure` runs each, from the Nth on, on
every path that holds its table, into FOLDER/NUMBER.json; files that are there stay. `collect` writes what they say of time, of
those that are there. `show` prints, of every place that was measured, how many were predicted, and how many of those times are
within 15 %; of every configuration the regret, which is the measured time of the choice over that of the best place, less 1;
the same of each fixed answer, where its path cannot hold the table of `global`; how often it was too close to call, and how
often that was right: the two were within the error that it named; of the others, how often no place was faster than the choice by
what is told. Last come the errors of ratios, as rows of harness/advise/uncertainty.def. With --modelled the predictions stand for what was measured,
so that the regret is 0, of those configurations for which `global` has one: what is left says how well fixed answers do on what
was drawn. `table` is Markdown of what `show` printed into files. Exit status 0; 1 for a cell that is not ok; 2 for a bad file;
that of cbank where it fails.
"""

import argparse
import concurrent.futures
import json
import math
import os
import random
import re
import subprocess
import sys

import l2_slices
import model_uncertainty
import upgrade

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WITHIN = 0.15
FALLBACK = "global"
BY_PLACE = "global_l2"  # whose time depends on where the table lies

# What is drawn: sizes evenly by their logarithm, the rest evenly; pressure goes with one in flight. In `broad`, loops over a
# table in lockstep, and warps that read a few entries, are a half: what constants are good at. There `global` costs little
# more than the best place, since most of the time goes elsewhere; in `contested` the lookups are most of it.
WIDTHS = (1, 2, 4, 8, 16)
BLOCK_SIZES = (64, 128, 256, 512, 1024)
IN_FLIGHT = (1, 2, 4)
INDICES_MOST = 1 << 24
SOURCES = ("lockstep", "distinct", "unequal", "runs", "sorted", "uniform", "zipf")
BROAD = {"sources": (6, 3, 1, 2, 2, 4, 3), "table_bytes": (16, 1 << 16), "elements": (1 << 11, 1 << 21),
         "loads": (1, 4, 8, 16, 32, 64, 64), "pressure_bytes": (None, None, None, None, 1 << 14, 1 << 16, 1 << 18, 1 << 20)}
CONTESTED = {"sources": (6, 2, 1, 1, 1, 10, 3), "table_bytes": (1 << 10, 1 << 16), "elements": (1 << 14, 1 << 19),
             "loads": (32, 64), "pressure_bytes": (None, None, None, None, None, None, 1 << 14, 1 << 16)}
DISTRIBUTIONS = {"broad": BROAD, "contested": CONTESTED}

SAMPLES = "--max-samples=72"  # of each cell: hundreds of configurations in minutes


def fail(message, status=2):
    print(f"advise_trial: error: {message}", file=sys.stderr)
    sys.exit(status)


def logarithmic(generator, limits):
    low, high = limits
    return int(low * (high / low) ** generator.random())


def draw_one(generator, distribution):
    """The options of one configuration, as cbank advise takes them."""
    source = generator.choices(SOURCES, distribution["sources"])[0]
    width = generator.choice(WIDTHS)
    size = max(logarithmic(generator, distribution["table_bytes"]) // width * width, 16)
    loads, pressure = generator.choice(distribution["loads"]), generator.choice(distribution["pressure_bytes"])
    elements = min(logarithmic(generator, distribution["elements"]), INDICES_MOST // loads)
    options = {"table-bytes": size, "width": width, "source": source, "elements": elements, "loads": loads,
               "in-flight": 1 if pressure else generator.choice([number for number in IN_FLIGHT if loads % number == 0]),
               "block-size": generator.choice(BLOCK_SIZES)}
    if pressure:
        options["pressure-bytes"] = pressure
    if source in ("distinct", "unequal"):
        options["distinct"] = min(generator.choice((1, 2, 3, 4, 6, 8, 12, 16, 24, 32)), size // width)
    if source == "zipf":
        options["skew-percent"] = generator.choice((50, 100, 150, 200, 300))
    if source == "runs":
        options["run-threads"] = generator.choice((2, 4, 8, 16, 32, 128))
    return options


def draw(seed, count, distribution):
    generator = random.Random(seed)
    rows = ",\n".join("  " + json.dumps(draw_one(generator, distribution)) for _ in range(count))
    print(f'{{"seed": {seed}, "configurations": [\n{rows}\n]}}')


def load(path, program=None):
    try:
        return upgrade.read(path, program)
    except (OSError, ValueError) as error:
        return fail(f"{path}: {error}")


def cbank(program, *words):
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 4):
        fail(f"{program} {' '.join(words)}: {done.stderr.strip()}", done.returncode)
    return done.stdout


def advise(program, card, options):
    words = [f"--{name}={value}" for name, value in options.items()]
    words += [f"--card={card}"] if card else []
    return json.loads(cbank(program, "advise", "--no-crossovers", *words, "--json=-"))


def measure(program, configurations, first, folder):
    os.makedirs(folder, exist_ok=True)
    for number, options in list(enumerate(configurations))[first:]:
        path = os.path.join(folder, f"{number}.json")
        if os.path.exists(path):
            continue
        advice = advise(program, None, options)
        places = [place["path"] for place in advice["ranking"] + advice["excluded"]]
        words = [f"--{'width-bytes' if name == 'width' else name}={value}" for name, value in options.items()]
        cbank(program, "run", "--engine=cuda", "--quiet", "--anonymous", "--counters=none", "--workload=lookup", SAMPLES,
              f"--path={','.join(places)}", *words, f"--json={path}.new")
        os.rename(f"{path}.new", path)
        print(f"{number + 1} of {len(configurations)}", file=sys.stderr)


def time_of(cell):
    """What is kept of a cell. Of BY_PLACE the medians of the table's placements, too."""
    time = {"flags": cell["flags"], **{key: cell["time_ns"][key] for key in ("value", "ci_low", "ci_high")}}
    if cell["path"] == BY_PLACE:
        time["by_place"] = l2_slices.places(cell)
    return time


def collect(program, configurations, folder):
    """Of each configuration that was measured its GPU, and of each place the time, its interval and flags."""
    origin, rows = {}, {}
    for number in range(len(configurations)):
        path = os.path.join(folder, f"{number}.json")
        if not os.path.exists(path):
            continue
        result = load(path, program)
        wrong = [cell["identity"] for cell in result["cells"]
                 if cell["status"] != "skipped" and not (cell["status"] == "ok" and cell["verified"])]
        if wrong:
            fail(f"{path}: {', '.join(wrong)}", 1)
        # The command line is of one configuration.
        tool = {key: value for key, value in result["tool"].items() if key != "argv"}
        origin = {"tool": tool, "device": result["device"]}
        rows[number] = {"uuid": result["device"]["uuid"],
                        "places": {cell["path"]: time_of(cell) for cell in result["cells"] if cell["status"] == "ok"}}
    lines = ",\n".join(f'  "{number}": {json.dumps(row)}' for number, row in rows.items())
    print(f'{json.dumps(origin)[:-1]}, "measured": {{\n{lines}\n}}}}')


def measured(paths):
    """{number: {path: time}} of what was collected."""
    return {int(number): {place: l2_slices.time_of(time) for place, time in row["places"].items()}
            for path in paths for number, row in load(path)["measured"].items()}


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def line(name, regrets):
    print(f"regret of {name}: median {quantile(regrets, 0.5):.1%}, 95th percentile {quantile(regrets, 0.95):.1%}, "
          f"largest {max(regrets):.1%}")


def show(advices, times):
    """advices: of cbank advise; times: {path: ns} of each."""
    errors, right, close, called, regrets, fixed = [], 0, 0, 0, [], {}
    for advice, found in zip(advices, times):
        best, predicted = min(found.values()), {place["path"]: place for place in advice["ranking"]}
        errors += [abs(place["time_ns"] / found[path] - 1) for path, place in predicted.items() if path in found]
        # Places that came after the measuring are left out: the choice is then the next best that is predicted.
        choice = next(place["path"] for place in advice["ranking"] if place["path"] in found)
        regrets.append(found[choice] / best - 1)
        for path in {path for others in times for path in others}:
            fixed.setdefault(path, []).append(found.get(path, found[FALLBACK]) / best - 1)
        nearest = [path for path in advice["too_close"] if path in found]
        close += bool(nearest)
        called += not nearest and best >= (1 - advice["told"]) * found[choice]
        right += bool(nearest) and all(abs(math.log(found[path] / found[choice] / predicted[path]["relative"])) <=
                                       math.log1p(predicted[path]["ratio_error"]) for path in nearest)
    print(f"{len(times)} configurations, {sum(map(len, times))} times, {len(errors)} of them predicted: "
          f"{sum(error <= WITHIN for error in errors) / len(errors):.1%} within {WITHIN:.0%}")
    line("the advice", regrets)
    for path in sorted(fixed, key=lambda path: (quantile(fixed[path], 0.95), path)):
        line(f"always {path}", fixed[path])
    print(f"too close to call: {close} of {len(times)}, right in {right}")
    print(f"called: {len(times) - close}; no place was faster than the choice by {advices[0]['told']:.0%} in {called} of them "
          f"({called / max(len(times) - close, 1):.1%})")


# What a line of `show` says, of which a row of `table` is made. Fixed answers come with the best first.
SHOWN = (r"(\d+) configurations, \d+ times, \d+ of them predicted: ([\d.]+%) within",
         r"regret of the advice: median ([\d.]+%), 95th percentile ([\d.]+%)",
         r"regret of always (\w+): median [\d.]+%, 95th percentile ([\d.]+%)",
         r"too close to call: (\d+) of \d+, right in (\d+)",
         r"called: \d+; .* \(([\d.]+%)\)")


def table(paths):
    print("| drawn | configurations | times within 15% | regret: median | 95th percentile | best fixed answer | its 95th percentile "
          "| too close to call | right | calls that hold |")
    print("|---|--:|--:|--:|--:|---|--:|--:|--:|--:|")
    for path in paths:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        found = [re.search(pattern, text) for pattern in SHOWN]
        if not all(found):
            fail(f"{path}: not what `show` prints")
        print(f"| {os.path.splitext(os.path.basename(path))[0]} | {' | '.join(word for match in found for word in match.groups())} |")


def pairs(advices, times):
    """Of the choice and each other place whose predicted time is near: see model_uncertainty.pair_rows."""
    for advice, found in zip(advices, times):
        first = advice["ranking"][0]
        for place in advice["ranking"][1:]:
            if place["relative"] < model_uncertainty.NEAR and {first["path"], place["path"]} <= set(found):
                error = math.log(found[place["path"]] / found[first["path"]] / place["relative"])
                yield first["path"], place["path"], place["apart"], error


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("action", choices=("draw", "measure", "collect", "show", "table"))
    parser.add_argument("configurations", nargs="?")
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--distribution", choices=DISTRIBUTIONS, default="broad")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--program", default=os.environ.get("CBANK", os.path.join(ROOT, "build/cbank")))
    parser.add_argument("--card")
    parser.add_argument("--modelled", action="store_true")
    options = parser.parse_intermixed_args()
    if options.action == "draw":
        if options.seed is None:
            fail("draw: name a --seed")
        return draw(options.seed, options.count, DISTRIBUTIONS[options.distribution])
    if options.action == "table" and options.configurations:
        return table([options.configurations, *options.files])
    if not options.configurations or not options.files and not options.modelled:
        fail("name the file of configurations, and what was measured")
    configurations = load(options.configurations)["configurations"]
    program = os.path.abspath(options.program)
    if options.action == "measure":
        return measure(program, configurations, options.first, options.files[0])
    if options.action == "collect":
        return collect(program, configurations, options.files[0])
    times = measured(options.files)
    numbers = range(len(configurations)) if options.modelled else sorted(times)
    if len(numbers) < len(configurations):
        print(f"{len(configurations) - len(numbers)} of {len(configurations)} configurations are not measured yet")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        advices = list(pool.map(lambda number: advise(program, options.card, configurations[number]), numbers))
    if not options.modelled:
        times = [times[number] for number in numbers]
        show(advices, times)
        return model_uncertainty.print_rows(model_uncertainty.pair_rows(pairs(advices, times),
                                                                        model_uncertainty.units_of(program)))
    times = [{place["path"]: place["time_ns"] for place in advice["ranking"]} for advice in advices]
    return show(*zip(*[pair for pair in zip(advices, times) if FALLBACK in pair[1]]))


if __name__ == "__main__":
    main()
