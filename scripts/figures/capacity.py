# SPDX-License-Identifier: MIT
"""Latency against working set: the walks of a characterization, and the levels that were found in them."""

import collections
import functools
import re

from . import documents, panels, style

NAME = "capacity"
PLACE = 30
SUMMARY = "latency of an access against the bytes walked, with the levels found and their size and latency"
TAKES = ("characterization",)
NEEDS = "a characterization (cbank characterize --json)"
METHOD = ("Each access of a walk timed alone: mean of all, and the 95th percentile (nearest rank). Levels and their intervals "
          "are the characterization's. Cycles include the clock's own, which the drawing takes off where it is known.")
COLUMNS = ("experiment", "record", "path", "bytes", "cycles_mean", "cycles_p95", "accesses", "step_bytes", "level",
           "latency_cycles", "latency_low", "latency_high", "latency_without_clock_cycles", "capacity_bytes",
           "capacity_reason", "line_bytes", "ways", "sets", "engine", "source", "source_sha256")

# A walk (or a relay of walks) that the sweep over working sets is made of: all of a list from 0 on, warmed up.
WALK = re.compile(r"\w+ (\w+) warm_up ([1-9]\d*) timed (\d+) before nothing list 0\+(\d+)\*(\d+)")

# Why there is no size, of a level that is larger than what was walked.
ALL_FIT = re.compile(r"all of the (\d+) bytes")


@functools.lru_cache(maxsize=16)  # the figure chips asks for them, too
def rows(document, selection=documents.ALL):
    made = []
    experiments = {entry["name"]: entry for entry in document.content["experiments"]}
    for name, experiment in experiments.items():
        if name.startswith("geometry_") and experiment["status"] == "ok" and selection.has_path(experiment["path"]):
            same = {"experiment": name, "path": experiment["path"], "engine": "cuda", **document.source()}
            made += [{**same, **point} for point in sweep(experiment)]
            made += [{**same, **level} for level in levels(experiment["geometry"], clock(experiments, experiment))]
    if not any(row["record"] == "point" for row in made):
        raise documents.NotDrawn("no experiment of it walks over working sets")
    return made


# -- the curve ----------------------------------------------------------------------------------------------------


def answers(text):
    """[(value, count)] of an answer: numbers with spaces between, N*COUNT for one that comes several times."""
    found = collections.Counter()
    for word, times in collections.Counter(text.split()).items():
        value, _, count = word.partition("*")
        found[int(value)] += times * int(count or 1)
    return sorted(found.items())


def sweep(experiment):
    """The walks whose sizes are those of the plateaus: of several series of walks the one that they were found in."""
    series = {}
    for exchange in experiment["evidence"]:
        match = WALK.fullmatch(exchange["asked"])
        if match and match[1] == experiment["path"]:
            warm_up, timed, step, count = (int(word) for word in match.groups()[1:])
            series.setdefault((warm_up, timed, step), {})[step * count] = exchange["answer"]
    plateaus = experiment["geometry"]["plateaus"]
    ends = {plateau[key] for plateau in plateaus for key in ("first_bytes", "last_bytes")}
    for (_, _, step), walks in series.items():
        if ends and ends <= set(walks):
            return [walk(size, step, answers(walks[size])) for size in sorted(walks)]
    return []


def walk(size, step, found):
    count = sum(times for _, times in found)
    rank, before = -(-95 * count // 100), 0
    for value, times in found:
        before += times
        if before >= rank:
            break
    return {"record": "point", "bytes": size, "step_bytes": step, "accesses": count,
            "cycles_mean": sum(number * times for number, times in found) / count, "cycles_p95": value}


# -- the levels ---------------------------------------------------------------------------------------------------


def clock(experiments, experiment):
    """What reading the clock adds to a timed access: the first level's less a load of a dependent chain. Or None."""
    chain = experiments.get("latency_" + experiment["path"])
    found = [entry["value"] for entry in chain["numbers"] if entry["name"] == "latency"] if chain else []
    first = experiment["geometry"]["levels"][:1]
    if not found or found[0] is None or not first or first[0]["latency"]["value"] is None:
        return None
    return first[0]["latency"]["value"] - found[0]


def levels(geometry, clock_cycles):
    made = []
    for i, level in enumerate(geometry["levels"], 1):
        latency, size = level["latency"], level["capacity_bytes"]
        # Where the size of the cache is not known, what hits in it may be.
        if size["value"] is None and level["fits_bytes"]["value"] is not None:
            size = {**level["fits_bytes"], "reason": "what hits; " + (size["reason"] or "size not found")}
        alone = latency["value"] - clock_cycles if None not in (latency["value"], clock_cycles) else None
        made.append({"record": "level", "level": i, "latency_cycles": latency["value"],
                     "latency_low": latency["low"], "latency_high": latency["high"],
                     "latency_without_clock_cycles": alone, "capacity_bytes": size["value"],
                     "capacity_reason": size["reason"],
                     **{name: level[name]["value"] for name in ("line_bytes", "ways", "sets")}})
    return made


# -- drawing ------------------------------------------------------------------------------------------------------


def says(made):
    """Level by level, of the first experiment."""
    parts = panels.grouped(made, lambda row: row["experiment"])
    words = []
    for members in parts.values():
        levels = [row for row in members if row["record"] == "level" and row["latency_cycles"] is not None]
        if levels:
            words.append(f"{title_of(members[0])} has " + ", ".join(
                level_text(level, ", ").replace(": ", " of ", 1) for level in levels))
    return "; ".join(words)[:1].upper() + "; ".join(words)[1:] + "." if words else "No level was found in the walks."


TITLES = {"constant_modules": "constant tables of several modules"}


def title_of(row):
    name = row["experiment"].removeprefix("geometry_")
    return TITLES.get(name, name.replace("_", ", "))


def pages(made, _width_mm):
    return [made]


def draw(made, width_mm, note=None):
    from matplotlib.lines import Line2D
    parts = panels.grouped(made, lambda row: row["experiment"])
    across = panels.across(width_mm, len(parts))
    handles = [(Line2D([], [], color="black", marker="o", markersize=3, linestyle=style.SOLID), "mean"),
               (Line2D([], [], color="black", linestyle=style.DASHED), "95th percentile"),
               (Line2D([], [], color="black", linestyle=style.DOTTED, linewidth=0.7), "level found: latency, size")]
    height = panels.LINES_MM + 8
    figure, body = style.figure(width_mm, height * -(-len(parts) // across), handles, note)
    for axes, members in zip(panels.grid(body, len(parts), across), parts.values()):
        draw_panel(axes, members[0]["path"], members, width_mm / across)
        panels.head(axes, title_of(members[0]))
    return figure


def draw_panel(axes, path, members, panel_mm):
    points = [row for row in members if row["record"] == "point"]
    clock_taken = clock_of(members)
    sizes = [row["bytes"] for row in points]
    means, highs = ([row[key] - clock_taken for row in points] for key in ("cycles_mean", "cycles_p95"))
    panels.number_axis(axes, [2**i for i in range(5, 32) if sizes[0] <= 2**i <= sizes[-1]], style.size_text, panel_mm - 38)
    axes.set_xlim(sizes[0] / 1.2, sizes[-1] * 1.2)
    levels = [row for row in members if row["record"] == "level" and row["latency_cycles"] is not None]
    style.log_axis(axes, "y", min(means) / 1.3, max(highs + [level["latency_cycles"] - clock_taken for level in levels]) * 1.15)
    line = {"color": "black", "linestyle": style.DOTTED, "linewidth": 0.7, "zorder": 1}
    for level in levels:
        axes.axhline(level["latency_cycles"] - clock_taken, **line)
        if level["capacity_bytes"] is not None:
            axes.axvline(level["capacity_bytes"], **line)
    axes.plot(sizes, highs, color=style.ink(path), linestyle=style.DASHED)
    axes.plot(sizes, means, **style.line(path, linestyle=style.SOLID, markersize=2.4))
    panels.name_lines(axes, [(sizes[-1] * 1.2, level["latency_cycles"] - clock_taken, level_text(level), "black")
                             for level in levels])
    axes.set_xlabel(f"bytes walked, {points[0]['step_bytes']} bytes a step")
    axes.set_ylabel("cycles of an access" if clock_taken else "cycles of an access, clock included")


def clock_of(members):
    """What the clock takes of every access of a panel; 0 where that is not known."""
    known = [row["latency_cycles"] - row["latency_without_clock_cycles"] for row in members
             if row.get("latency_without_clock_cycles") is not None]
    return known[0] if known else 0


def level_text(level, between="\n"):
    latency = level["latency_without_clock_cycles"]
    words = [f"level {level['level']}: {level['latency_cycles' if latency is None else 'latency_without_clock_cycles']:.4g} cycles"]
    if level["capacity_bytes"] is None:
        fits = ALL_FIT.match(level["capacity_reason"] or "")
        words.append(f"{style.bytes_text(int(fits[1]))} or more" if fits else "size not found")
    else:
        words.append(("hits to " if level["capacity_reason"] else "") + style.bytes_text(round(level["capacity_bytes"])))
    return between.join(words)
