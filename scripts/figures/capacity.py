# SPDX-License-Identifier: MIT
"""Latency against working set: the walks of a characterization, and the levels that were found in them."""

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
    found = []
    for word in text.split():
        value, _, count = word.partition("*")
        found.append((int(value), int(count or 1)))
    return sorted(found)


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


def pages(made, _width_mm):
    return [made]


def draw(made, width_mm, note=None):
    from matplotlib.lines import Line2D
    parts = panels.grouped(made, lambda row: row["experiment"])
    across = min(len(parts), 3) if style.wide(width_mm) else 1
    handles = [(Line2D([], [], color="black", marker="o", markersize=3, linestyle=style.SOLID), "mean"),
               (Line2D([], [], color="black", linestyle=style.DASHED), "95th percentile"),
               (Line2D([], [], color="black", linestyle=style.DOTTED, linewidth=0.7), "level found")]
    figure, body = style.figure(width_mm, 52 * -(-len(parts) // across), handles, note)
    for i, (axes, (name, members)) in enumerate(zip(panels.grid(body, len(parts), across), parts.items())):
        draw_panel(axes, members[0]["path"], members, width_mm / across)
        axes.set_title(name.removeprefix("geometry_").replace("_", ", "), loc="left")
        if i % across:
            axes.set_ylabel("")
    return figure


def draw_panel(axes, path, members, panel_mm):
    points = [row for row in members if row["record"] == "point"]
    clock_taken = clock_of(members)
    its = style.look(path)
    sizes = [row["bytes"] for row in points]
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    for level in (row for row in members if row["record"] == "level"):
        draw_level(axes, level, sizes, clock_taken)
    axes.plot(sizes, [row["cycles_p95"] - clock_taken for row in points], color=its.color, linestyle=style.DASHED)
    axes.plot(sizes, [row["cycles_mean"] - clock_taken for row in points], **style.line(path, linestyle=style.SOLID, markersize=2.4))
    ticks = [2**i for i in range(7, 32, 2 if panel_mm > 75 else 4) if sizes[0] <= 2**i <= 1.1 * sizes[-1]]
    axes.set_xticks(ticks, [style.bytes_text(tick) for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.set_xlim(sizes[0] / 1.3, sizes[-1] * 1.3)
    low, high = axes.get_ylim()
    axes.set_ylim(low / 1.25, high * 1.25)
    style.plain_log(axes.yaxis)
    axes.set_yticks([tick for tick in (10, 20, 50, 100, 200, 500, 1000, 2000) if low / 1.25 <= tick <= high * 1.25])
    axes.set_xlabel(f"bytes walked, {points[0]['step_bytes']} bytes a step")
    axes.set_ylabel("cycles of an access" + (", the clock's taken off" if clock_taken else ", clock included"))


def clock_of(members):
    """What the clock takes of every access of a panel; 0 where that is not known."""
    known = [row["latency_cycles"] - row["latency_without_clock_cycles"] for row in members
             if row.get("latency_without_clock_cycles") is not None]
    return known[0] if known else 0


def draw_level(axes, level, sizes, clock_taken):
    """A level that was found has a line at its latency, and one at its size where that was found, too."""
    line = {"color": "black", "linestyle": style.DOTTED, "linewidth": 0.7, "zorder": 1}
    if level["latency_cycles"] is not None:
        axes.axhline(level["latency_cycles"] - clock_taken, **line)
        below = level["level"] == 1  # which the curve does not come near to on that side
        axes.annotate(level_text(level), (sizes[0] / 1.3, level["latency_cycles"] - clock_taken), (2, -2.5 if below else 2),
                      textcoords="offset points", va="top" if below else "bottom", fontsize=5.5, zorder=1.5,
                      bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4})
    if level["capacity_bytes"] is not None:
        axes.axvline(level["capacity_bytes"], **line)


def level_text(level):
    latency = level["latency_without_clock_cycles"]
    text = f"level {level['level']}: " + ("" if latency is None else f"{latency:.4g} cycles, ")
    if level["capacity_bytes"] is None:
        fits = ALL_FIT.match(level["capacity_reason"] or "")
        return text + (f"{fits[1]} B or more" if fits else "size not found")
    hits = "hits up to " if level["capacity_reason"] else ""
    return text + hits + f"{level['capacity_bytes']:.0f} B"
