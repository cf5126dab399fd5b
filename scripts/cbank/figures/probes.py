# SPDX-License-Identifier: MIT
"""Figures of characterizations: distinct addresses, pointer chases, and several chips."""

import collections
import re

import pandas

from .. import frames
from . import alike, style
from .draw import Drawing
from .source import NotDrawn, Source


# -- characterizations -----------------------------------------------------------------------------

SERIALIZED = {
    "latency": ("latency", "latency (cycles)", "latency_per_extra_address", "latency"),
    "cycles_per_load": (
        "throughput",
        "SM cycles per load",
        "cycles_per_load_per_extra_address",
        "cycles of an SM for each load",
    ),
}
DISTINCT = "distinct addresses per warp"


def numbers(source: Source, prefix: str) -> pandas.DataFrame:
    rows = frames.whole(source.frame)
    return rows[
        (rows["status"] == "ok") & rows["experiment"].str.startswith(prefix) & rows["value"].notna()
    ]


def serialized(source: Source) -> pandas.DataFrame:
    """Cost of distinct addresses, as points of lines. One address has no stride: it is the first
    point of every line."""
    rows = numbers(source, "serialization_")
    rows = rows[rows["number"].isin(SERIALIZED)]
    strides = sorted(rows["stride_bytes"].dropna().unique())
    if rows.empty or not strides:
        raise NotDrawn("no experiment of it counts distinct addresses")
    parts = [
        rows[rows["stride_bytes"].fillna(stride) == stride].assign(stride_bytes=stride)
        for stride in strides
    ]
    rows = pandas.concat(parts)
    return pandas.DataFrame(
        {
            "quantity": rows["number"],
            "stride_bytes": rows["stride_bytes"].astype(int),
            "path": rows["path"],
            "x": rows["distinct"],
            "y": rows["value"],
            "low": rows["low"],
            "high": rows["high"],
            "unit": rows["unit"],
            "flags": rows["reason"].notna().map({True: "not_in_fit", False: ""}),
            "source": rows["source"],
            "source_sha256": rows["source_sha256"],
            "device": rows["device"],
        }
    )


def serialization(sources: list[Source]) -> list[Drawing]:
    rows = serialized(sources[0])
    rows.insert(
        0,
        "panel",
        rows["quantity"].map(lambda name: SERIALIZED[name][0])
        + rows["stride_bytes"].map(", {} B apart".format),
    )
    rows.insert(1, "series", rows["path"])
    slopes = numbers(sources[0], "serialization_")
    slopes = slopes[slopes["stride_bytes"] == rows["stride_bytes"].min()].set_index(
        ["number", "path"]
    )["value"]
    said = [
        f"to the {words} "
        + ", ".join(f"{value:.3g} ({path})" for path, value in slopes[slope].items())
        for _, _, slope, words in SERIALIZED.values()
        if slope in slopes.index.get_level_values(0)
    ]
    sentence = (
        f"A further distinct address, {rows['stride_bytes'].min()} bytes from the next, adds"
        f" {'; '.join(said)}."
        if said
        else "No line was fitted to what further distinct addresses cost."
    )
    labels = {
        panel: (DISTINCT, SERIALIZED[quantity][1])
        for panel, quantity in zip(rows["panel"], rows["quantity"])
    }
    return [
        Drawing(
            "serialization",
            f"{sources[0].document.stem}-serialization",
            rows.sort_values(["stride_bytes", "quantity"], kind="stable"),
            sentence,
            labels,
            [sources[0].document],
            across=rows["quantity"].nunique(),
        )
    ]


# A pointer chase over the first COUNT steps of a list, as the evidence of an experiment asks for
# it.
WALK = re.compile(r"\w+ (\w+) warm_up ([1-9]\d*) timed (\d+) before nothing list 0\+(\d+)\*(\d+)")
ALL_FIT = re.compile(r"all of the (\d+) bytes")


def walks(experiment: dict) -> dict[int, tuple[float, int]]:
    """{bytes: (mean, 95th percentile)} of the series of pointer chases over the most sizes, in
    cycles."""
    series = {}
    for exchange in experiment["evidence"]:
        match = WALK.fullmatch(exchange["asked"])
        if match and match[1] == experiment["path"]:
            warm_up, accesses, step, count = (int(word) for word in match.groups()[1:])
            series.setdefault((warm_up, accesses, step), {})[step * count] = exchange["answer"]
    of = max(series.values(), key=len, default={})
    return {size: summary(of[size]) for size in sorted(of)}


def summary(answer: str) -> tuple[float, int] | None:
    """(mean, 95th percentile by nearest rank) of an answer: numbers, N*COUNT for one that comes
    several times."""
    counts = collections.Counter()
    for word in answer.split():
        value, _, count = word.partition("*")
        counts[int(value)] += int(count or 1)
    whole, before = sum(counts.values()), 0
    for value in sorted(counts):
        before += counts[value]
        if before * 100 >= 95 * whole:
            return sum(value * count for value, count in counts.items()) / whole, value
    return None


ONE_MODULE, SEVERAL_MODULES = "geometry_constant", "geometry_constant_modules"
WALKED = {
    ONE_MODULE: "constant memory of a module",
    SEVERAL_MODULES: "constant memory of several modules",
    "geometry_global": "global memory",
}
WALKED_COLUMNS = (
    "panel",
    "series",
    "x",
    "y",
    "low",
    "high",
    "reference",
    "record",
    "experiment",
    "path",
    "source",
    "source_sha256",
)


def level_row(number: int, level: dict) -> dict:
    """A level that was found, as a line of the figure: its latency and its size."""
    latency, size = level["latency"]["value"], level["capacity_bytes"]
    least = ALL_FIT.match(size["reason"] or "")
    if size["value"] is not None:
        known, text = size["value"], style.bytes_text(size["value"])
    elif level["fits_bytes"]["value"] is not None:
        known = level["fits_bytes"]["value"]
        text = f"hits to {style.bytes_text(known)}"
    else:
        known, text = None, f"{style.bytes_text(least[1])} or more" if least else "size not found"
    return {
        "record": "level",
        "x": known,
        "y": latency,
        "reference": f"level {number}: {latency:.4g} cycles, {text}",
    }


def walked_rows(experiment: dict) -> list[dict]:
    """Points and levels of an experiment, without the clock's cycles where they are known."""
    geometry = experiment["geometry"]
    points = [
        {
            "record": "point",
            "series": series,
            "x": size,
            "y": value - (geometry["timing_cycles"] or 0),
        }
        for size, found in walks(experiment).items()
        for series, value in zip(("mean", "95th percentile"), found)
    ]
    return points + [
        level_row(number, level)
        for number, level in enumerate(geometry["levels"], 1)
        if level["latency"]["value"] is not None
    ]


def walked(source: Source) -> pandas.DataFrame:
    """Rows of the capacity figure: points of pointer chases, and the levels that were found."""
    made = []
    for experiment in source.content["experiments"]:
        name = experiment["name"]
        if not name.startswith("geometry_") or experiment["status"] != "ok":
            continue
        clock = "" if experiment["geometry"]["timing_cycles"] is not None else ", clock included"
        same = {
            "panel": WALKED.get(name, name.removeprefix("geometry_").replace("_", ", ")) + clock,
            "experiment": name,
            "path": experiment["path"],
            "source": source.document.name,
            "source_sha256": source.document.sha256,
        }
        made += [{**same, **row} for row in walked_rows(experiment)]
    rows = pandas.DataFrame(made, columns=list(WALKED_COLUMNS))
    rows[["x", "y", "low", "high"]] = rows[["x", "y", "low", "high"]].astype(float)
    return rows[rows["panel"].isin(rows.loc[rows["record"] == "point", "panel"])]


def capacity(sources: list[Source]) -> list[Drawing]:
    """Levels of each memory. A walk over one module shows the beginning of that over several."""
    rows = walked(sources[0])
    if SEVERAL_MODULES in set(rows["experiment"]):
        rows = rows[rows["experiment"] != ONE_MODULE]
    if rows.empty:
        raise NotDrawn("no experiment of it pointer chases over working sets")
    levels = (
        rows[rows["record"] == "level"].groupby("panel", sort=False)["reference"].agg("; ".join)
    )
    sentence = (
        "; ".join(f"{panel} has {text}" for panel, text in levels.items())
        or "no level was found in the pointer chases"
    )
    return [
        Drawing(
            "capacity",
            f"{sources[0].document.stem}-capacity",
            rows,
            sentence[0].upper() + sentence[1:] + ".",
            {None: ("working set (bytes)", "latency (cycles)")},
            [sources[0].document],
            "dotted: the levels found, on the right their latencies",
        )
    ]


# -- several chips ---------------------------------------------------------------------------------

STRIDE = 4  # bytes between addresses
CHIP_PANELS = {
    "latency": ("latency of a constant load", DISTINCT, "latency (cycles)"),
    "cycles_per_load": ("an SM full of constant loads", DISTINCT, "cycles per load"),
    "ns_per_load": ("an SM full of constant loads, in time", DISTINCT, "ns per load"),
    "to_best": ("constant to the best other path", DISTINCT, "ratio of cycles"),
    "chase": ("constant table visited", "working set (bytes)", "latency (cycles)"),
}


def chips(sources: list[Source]) -> list[Drawing]:
    """All chips in one: distinct addresses in cycles and in ns, constant against the best other
    path, pointer chases."""
    results = [
        source
        for source in sources
        if source.kind == "result" and source.content["engine"] == "cuda"
    ]
    sources = [source for source in sources if source.kind == "characterization"]
    names = [source.content["device"]["name"] for source in sources]
    if len(set(names)) < 2:
        raise NotDrawn("it is made of characterizations of two chips or more")
    labels = [
        name if names.count(name) == 1 else f"{name}, {source.document.name}"
        for name, source in zip(names, sources)
    ]
    rows = pandas.concat(
        [of_chip(label, source, results) for label, source in zip(labels, sources)]
    )
    rows.insert(0, "panel", rows["quantity"].map(lambda name: CHIP_PANELS[name][0]))
    rows = rows.sort_values(
        "quantity", key=lambda its: its.map(list(CHIP_PANELS).index), kind="stable"
    )
    ends = (
        rows[rows["quantity"].isin(("latency", "to_best"))]
        .sort_values("x", kind="stable")
        .groupby(["series", "quantity"], sort=False)
        .last()
    )
    same = alike.repeats(rows)
    rows = rows[~rows["panel"].isin(same)]
    said = {
        "latency": "{:.4g} cycles of latency at {:.0f} distinct addresses",
        "to_best": "{:.3g} times the cycles of the best other path at {:.0f}",
    }
    words = [
        f"On {name}, constant memory takes "
        + ", ".join(said[quantity].format(row.y, row.x) for (_, quantity), row in its.iterrows())
        for name, its in ends.groupby(level=0, sort=False)
    ]
    return [
        Drawing(
            "chips",
            "chips",
            rows,
            f"{'. '.join(words)}.",
            {panel: its for panel, *its in CHIP_PANELS.values()},
            [source.document for source in sources],
            "; ".join(f"not drawn: {panel}, a multiple of {of}" for panel, of in same.items())
            or None,
        )
    ]


def of_chip(label: str, source: Source, results: list[Source]) -> pandas.DataFrame:
    points = serialized(source)
    points = points[points["stride_bytes"] == STRIDE]
    mine = points[points["path"] == "constant"]
    load, others = (
        its[its["quantity"] == "cycles_per_load"]
        for its in (mine, points[points["path"] != "constant"])
    )
    parts = [mine]
    clock = clock_mhz(source.content["device"], results)
    if clock:
        parts.append(
            load.assign(
                quantity="ns_per_load",
                unit="ns",
                **{key: load[key] * 1e3 / clock for key in ("y", "low", "high")},
            )
        )
    if len(others):
        best = others.loc[others.groupby("x")["y"].idxmin()].set_index("x").reindex(load["x"])
        parts.append(
            load.assign(
                quantity="to_best",
                unit="ratio",
                path=best["path"].to_numpy(),
                y=load["y"] / best["y"].to_numpy(),
                low=load["low"] / best["high"].to_numpy(),
                high=load["high"] / best["low"].to_numpy(),
            ).dropna(subset=["y"])
        )
    walk = walked(source)
    walk = walk[(walk["experiment"] == ONE_MODULE) & (walk["series"] == "mean")].assign(
        quantity="chase", unit="cycles", device=points["device"].iloc[0]
    )
    parts.append(walk)
    columns = [
        "quantity",
        "x",
        "y",
        "low",
        "high",
        "unit",
        "path",
        "device",
        "source",
        "source_sha256",
    ]
    return pandas.concat([part[columns] for part in parts]).assign(series=label)


def clock_mhz(device: dict, results: list[Source]) -> float | None:
    """The median SM clock of the cells of results of that GPU, else of another of its model;
    None without any."""
    for key in ("uuid", "name"):
        frames_of = [
            source.frame["sm_clock_mhz"]
            for source in results
            if source.content["device"].get(key) == device.get(key)
        ]
        found = pandas.concat(frames_of).dropna() if frames_of else []
        if len(found):
            return found.median()
    return None
