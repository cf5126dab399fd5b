# SPDX-License-Identifier: MIT
"""The kinds of figures: what each takes from documents, and what it says. KINDS at the end is the table of them.

A kind is a function that takes a list of Source (documents that it can be made of; all of them, or one) and returns a list
of Drawing. It raises NotDrawn, with the reason in one line, where there is nothing to draw.
"""

from __future__ import annotations

import collections
import functools
import re
from collections.abc import Sequence

import pandas

from .. import documents, frames
from . import style
from .draw import Drawing

CELL_KEYS = list(documents.CELL_KEYS)
QUICK = 1.01  # a path within 1 % of the quickest is as quick
VALUES_MIN = 3  # points of a line


class NotDrawn(Exception):
    """A figure cannot be drawn; the message says in one line why not."""


class Source:
    """A document and its rows."""

    def __init__(self, document: documents.Document):
        self.document, self.kind, self.content = document, document.kind, document.content

    @functools.cached_property
    def frame(self) -> pandas.DataFrame:
        return frames.frame(self.document)

    @property
    def note(self) -> str | None:
        """Facts without which the document would be misread; or None."""
        said = []
        if self.kind == "result" and self.content["engine"] != "cuda":
            said.append("modelled, not measured")
        if self.kind == "result" and not self.content["complete"]:
            said.append("incomplete run")
        if self.kind == "comparison" and any(self.content[side]["engine"] != "cuda" for side in ("base", "new")):
            said.append("one side is modelled, not measured")
        return "; ".join(said) or None


# -- cells --------------------------------------------------------------------------------------------------------

FACTS = {"distinct": "{} addresses", "stride_bytes": "{} B apart", "radius": "radius {}", "width_bytes": "{} B wide",
         "table_bytes": "{} table", "loads": "{} loads", "in_flight": "{} in flight", "run_threads": "of {} threads",
         "skew_percent": "exponent {} %", "warps_per_sm": "{} warps an SM", "polluter_bytes": "{} streamed",
         "refill_bytes": "{} written", "elements": "{} elements", "block_size": "blocks of {}", "modules": "{} modules"}


def fact_text(key: str, value: object) -> str:
    """12.8M elements; blocks of 1024; 64 B apart."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if key == "elements":
        value = style.count_text(value)
    elif key in ("table_bytes", "polluter_bytes", "refill_bytes") and not isinstance(value, str):
        value = style.bytes_text(value)
    return FACTS.get(key, "{}" if key in CELL_KEYS else f"{key.replace('_', ' ')} {{}}").format(value)


def told_apart(rows: pandas.DataFrame, keys: list[str], always: Sequence[str] = ()) -> tuple[str, pandas.Series]:
    """(what all rows have in common as words, a Series of what tells each from the others)."""
    keys = [key for key in keys if key in rows and (key != "block_size" or rows[key].any())]
    varied = [key for key in keys if key in always or rows[key].nunique(dropna=False) > 1]
    common = [fact_text(key, rows[key].iloc[0]) for key in keys if key not in varied and pandas.notna(rows[key].iloc[0])]
    texts = [", ".join(fact_text(key, value) for key, value in zip(varied, values) if pandas.notna(value))
             for values in zip(*(rows[key] for key in varied))] if varied else [""] * len(rows)
    return ", ".join(common), pandas.Series(texts, rows.index, dtype=str)


def parameter_names(rows: pandas.DataFrame) -> list[str]:
    """Names of the parameters that any cell has."""
    return sorted({word.split("=")[0] for text in rows["parameters"].unique() for word in text.split()})


def timed(source: Source) -> pandas.DataFrame:
    rows = source.frame
    rows = rows[(rows["status"] == "ok") & (rows["time_ns"] > 0)] if "time_ns" in rows else rows.head(0)
    if rows.empty:
        raise NotDrawn("no chosen cell has a time")
    return rows


KEPT = ["source", "source_sha256", "engine", "device", *CELL_KEYS, "parameters", "flags"]


def times(rows: pandas.DataFrame, **columns: pandas.Series) -> pandas.DataFrame:
    """The columns of a drawing whose values are times of a launch, and those that identify the cells."""
    kept = rows[[column for column in KEPT if column in rows]]
    made = {"low": rows["time_ns_low"], "high": rows["time_ns_high"], **columns}
    return pandas.concat([pandas.DataFrame({key: made[key] for key in made}, rows.index), kept], axis="columns")


def in_unit(rows: pandas.DataFrame, along: str) -> tuple[pandas.DataFrame, str]:
    """(rows with times in the unit of the shortest, its name)."""
    unit, factor = style.time_unit(rows[along].min())
    rows = rows.copy()
    rows[[along, "low", "high"]] /= factor
    return rows, unit


def quickest(rows: pandas.DataFrame, others: list[str]) -> str | None:
    """How often each path is the quickest of the cells that differ in their path alone; None where none do."""
    groups = rows.groupby(others, dropna=False)
    rows = rows[groups["path"].transform("nunique") > 1]
    if rows.empty:
        return None
    groups = rows.groupby(others, dropna=False)
    near = rows["time_ns"] <= QUICK * groups["time_ns"].transform("min")
    counts = near.groupby(rows["path"]).sum().sort_values(ascending=False, kind="stable")
    shown = list(counts.index[:3]) + [path for path in counts.index[3:] if path == "constant"]
    words = [f"{path} at {counts[path] or 'none'}" for path in shown]
    words[0] += f" of {groups.ngroups} points"
    return f"The quickest path, or within 1 % of it: {', '.join(words)}"


# -- the matrix, and sweeps ---------------------------------------------------------------------------------------

# The x axis of a sweep is the first of these that has enough values.
AXES = {"warps_per_sm": "warps that an SM runs at a time", "polluter_bytes": "other bytes streamed through L1",
        "distinct": "distinct addresses in a warp", "radius": "radius of the filter",
        "refill_bytes": "bytes written before every launch", "modules": "modules in turn", "table_bytes": "bytes of the table",
        "width_bytes": "bytes of an element"}
LAST_AXES = {"elements": "elements", "block_size": "threads of a block"}


def axes_of(rows: pandas.DataFrame) -> dict[tuple[str, str], str]:
    """{(workload, pattern): axis} of the cells along which something is varied, all else the same.

    A workload with more patterns than an axis has values is a matrix of them, not a sweep."""
    parameters, found = parameter_names(rows), {}
    named = [*(name for name in AXES if name in parameters), *(name for name in parameters if name not in AXES and name != "kernel"), *LAST_AXES]
    for key, members in rows.groupby(["workload", "pattern"], sort=False):
        patterns = rows.loc[rows["workload"] == key[0], "pattern"].nunique()
        for axis in named:
            points = members.dropna(subset=[axis]).groupby(others_of(members, axis), dropna=False)[axis].nunique()
            if len(points) and points.max() >= max(VALUES_MIN, patterns):
                found[key] = axis
                break
    return found


def others_of(rows: pandas.DataFrame, axis: str) -> list[str]:
    """Columns that are the same along a line."""
    return [key for key in [*CELL_KEYS, *parameter_names(rows)] if key != axis]


def matrix(sources: list[Source]) -> list[Drawing]:
    rows = timed(sources[0])
    swept = axes_of(rows)
    rows = rows[[key not in swept for key in zip(rows["workload"], rows["pattern"])] & ~of_kernels(rows)]
    if rows.empty:
        raise NotDrawn("all of its cells are of sweeps or of users' kernels")
    parameters = [name for name in parameter_names(rows) if name != "table_bytes"]
    common, names = told_apart(rows, ["workload", "pattern", *parameters], always=["pattern"])
    alike, titles = told_apart(rows, ["elements", "block_size", "cache_state"] + ["table_bytes"] * ("table_bytes" in parameter_names(rows)))
    ratio = ratios(rows)
    sizes = rows["table_bytes"].dropna() if "table_bytes" not in parameter_names(rows) else []
    series = rows["path"] if len(set(sizes)) < 2 else rows["path"] + rows["table_bytes"].map(lambda size: f" ({style.bytes_text(size)})", "ignore").fillna("")
    made, unit = in_unit(times(rows, panel=titles, row=names, series=series, x=rows["time_ns"],
                               text=ratio["ratio"].map(lambda its: f"{style.ratio_text(its)} ×", "ignore")), "x")
    made = made.assign(ratio_to_global=ratio["ratio"], ratio_low=ratio["low"], ratio_high=ratio["high"])
    note = "; ".join(filter(None, (sources[0].note, common, alike, "on the right: time through constant to time through global memory"
                                   if ratio["ratio"].notna().any() else None)))
    return [Drawing("matrix", f"{sources[0].document.stem}-matrix", made, matrix_sentence(rows, ratio["ratio"], names, titles), {None: (f"time of a launch, {unit}", "")},
                    [sources[0].document], note)]


def ratios(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Time through constant by time through global memory, at the cells of constant; ends are quotients of opposite ends."""
    others = [key for key in [*CELL_KEYS, "parameters"] if key != "path"]
    base = rows[rows["path"] == "global"].drop_duplicates(others).set_index(others)
    above = rows[rows["path"] == "constant"]
    below = base.reindex(pandas.MultiIndex.from_frame(above[others]))
    made = pandas.DataFrame({"ratio": above["time_ns"].to_numpy() / below["time_ns"].to_numpy(),
                             "low": above["time_ns_low"].to_numpy() / below["time_ns_high"].to_numpy(),
                             "high": above["time_ns_high"].to_numpy() / below["time_ns_low"].to_numpy()}, above.index)
    return made.reindex(rows.index)


def matrix_sentence(rows: pandas.DataFrame, ratio: pandas.Series, names: pandas.Series, titles: pandas.Series) -> str:
    ratio = ratio.dropna()
    where = [", ".join(filter(None, (names[i], titles[i]))) for i in (ratio.idxmin(), ratio.idxmax())] if len(ratio) else []
    said = [f"A launch through constant memory takes from {style.ratio_text(ratio.min())} times ({where[0]}) to "
            f"{style.ratio_text(ratio.max())} times ({where[1]}) as long as one through global memory"] if len(ratio) else []
    said.append(quickest(rows, others_of(rows, "path")))
    text = ". ".join(filter(None, said)) or f"A launch takes {style.time_text(rows['time_ns'].min())} to {style.time_text(rows['time_ns'].max())}"
    return text + "."


def sweep(sources: list[Source]) -> list[Drawing]:
    source = sources[0]
    rows = timed(source)
    swept = axes_of(rows)
    axis = pandas.Series([swept.get(key) for key in zip(rows["workload"], rows["pattern"])], rows.index)
    made = [sweep_along(source, name, rows[axis == name], axis.nunique() > 1) for name in dict.fromkeys(swept.values())]
    if not made:
        raise NotDrawn(f"nothing takes {VALUES_MIN} values in the chosen cells")
    return made


def sweep_along(source: Source, axis: str, rows: pandas.DataFrame, several: bool) -> Drawing:
    rows = rows.dropna(subset=[axis])
    facts = [key for key in others_of(rows, axis) if key not in ("path", "elements")] + ["elements"] * (axis != "elements")
    common, titles = told_apart(rows, facts)
    made, unit = in_unit(times(rows, panel=titles, series=rows["path"], x=rows[axis], y=rows["time_ns"]), "y")
    order = rows.sort_values([key for key in facts if rows[key].nunique(dropna=False) > 1 and pandas.api.types.is_numeric_dtype(rows[key])], kind="stable").index
    text = {**AXES, **LAST_AXES}.get(axis, axis.replace("_", " "))
    return Drawing("sweep", f"{source.document.stem}-sweep" + (f"-{axis}" if several else ""), made.loc[order],
                   sweep_sentence(rows, axis, text), {None: (text, f"time of a launch, {unit}")}, [source.document],
                   "; ".join(filter(None, (source.note, common))) or None)


def sweep_sentence(rows: pandas.DataFrame, axis: str, text: str) -> str:
    """Which path is the quickest how often, and how far the time goes along the line that goes least and most."""
    said = [quickest(rows, [key for key in [*CELL_KEYS, *parameter_names(rows)] if key != "path"])]
    lines = rows.sort_values(axis, kind="stable").groupby(others_of(rows, axis), dropna=False, sort=False)
    ends = lines.agg(first=("time_ns", "first"), last=("time_ns", "last"), begin=(axis, "first"), end=(axis, "last"), count=("time_ns", "size"),
                     path=("path", "first"))
    ends = ends[ends["count"] >= VALUES_MIN]
    ratio = (ends["last"] / ends["first"]).reset_index(drop=True)
    if len(ratio):
        words = [f"{style.ratio_text(ratio[i])} ({its.path}: {style.time_text(its.first_)} at {value_text(axis, its.begin)}, "
                 f"{style.time_text(its.last_)} at {value_text(axis, its.end)})" for i in (ratio.idxmin(), ratio.idxmax())
                 for its in [ends.rename(columns={"first": "first_", "last": "last_"}).iloc[i]]]
        said.append(f"With the {text}, the time of a launch changes at least by a factor of {words[0]}")
        said.append(f"The largest factor is {words[1]}")
    return (". ".join(filter(None, said)) or f"Time against the {text}") + "."


def value_text(axis: str, value: float) -> str:
    return style.bytes_text(value) if axis.endswith("_bytes") else style.count_text(value)


# -- users' kernels ------------------------------------------------------------------------------------------------


def of_kernels(rows: pandas.DataFrame) -> pandas.Series:
    return rows["parameters"].str.contains("kernel=", regex=False)


def spaces(sources: list[Source]) -> list[Drawing]:
    """Memory spaces of users' kernels: each time by that of the fastest for the same kernel, size and cache state."""
    rows = timed(sources[0])
    rows = rows[of_kernels(rows) & rows["verified"].astype(bool)]
    if rows.empty:
        raise NotDrawn("no chosen cell is of a user's kernel, has a time and is verified")
    others = ["workload", "elements", "cache_state"]
    best = rows.groupby(others)["time_ns"].transform("min")
    sizes = rows.groupby("workload")["elements"]
    panel = (rows["elements"] == sizes.transform("max")).map({True: "largest size", False: "smaller sizes"})
    ratio = rows["time_ns"] / best
    names = told_apart(rows, others, always=["workload"])[1] if rows.groupby([panel, "workload"])["elements"].nunique().max() > 1 else rows["workload"]
    made = times(rows, panel=panel, row=names, series=rows["path"], x=ratio)
    made["low"], made["high"] = (made[end] / best for end in ("low", "high"))
    constant = ratio[rows["path"] == "constant"]
    said = [quickest(rows, others), f"Constant memory takes {style.ratio_text(constant.min())} to {style.ratio_text(constant.max())} times as long "
            "as the fastest memory space" if len(constant) else None]
    said = ". ".join(filter(None, said)).replace("quickest path", "fastest memory space") or "No kernel was measured in two memory spaces"
    return [Drawing("spaces", f"{sources[0].document.stem}-spaces", made.sort_values("panel", kind="stable"), said + ".",
                    {None: ("time, by that in the fastest", "")}, [sources[0].document], sources[0].note, band=(1, QUICK))]


# -- characterizations --------------------------------------------------------------------------------------------

SERIALIZED = {"latency": ("latency of a load, cycles", "latency_per_extra_address", "latency"),
              "cycles_per_load": ("cycles per load and SM", "cycles_per_load_per_extra_address", "cycles of an SM for each load")}
DISTINCT = "distinct addresses in a warp"


def numbers(source: Source, prefix: str) -> pandas.DataFrame:
    rows = frames.whole(source.frame)
    return rows[(rows["status"] == "ok") & rows["experiment"].str.startswith(prefix) & rows["value"].notna()]


def serialized(source: Source) -> pandas.DataFrame:
    """Cost of distinct addresses, as points of lines. One address has no stride: it is the first point of every line."""
    rows = numbers(source, "serialization_")
    rows = rows[rows["number"].isin(SERIALIZED)]
    strides = sorted(rows["stride_bytes"].dropna().unique())
    if rows.empty or not strides:
        raise NotDrawn("no experiment of it counts distinct addresses")
    parts = [rows[rows["stride_bytes"].fillna(stride) == stride].assign(stride_bytes=stride) for stride in strides]
    rows = pandas.concat(parts)
    return pandas.DataFrame({"quantity": rows["number"], "stride_bytes": rows["stride_bytes"].astype(int), "path": rows["path"],
                             "x": rows["distinct"], "y": rows["value"], "low": rows["low"], "high": rows["high"], "unit": rows["unit"],
                             "flags": rows["reason"].notna().map({True: "not_in_fit", False: ""}), "source": rows["source"],
                             "source_sha256": rows["source_sha256"], "device": rows["device"]})


def serialization(sources: list[Source]) -> list[Drawing]:
    rows = serialized(sources[0])
    rows.insert(0, "panel", rows["quantity"].map(lambda name: SERIALIZED[name][0]) + rows["stride_bytes"].map(", {} bytes apart".format))
    rows.insert(1, "series", rows["path"])
    slopes = numbers(sources[0], "serialization_")
    slopes = slopes[slopes["stride_bytes"] == rows["stride_bytes"].min()].set_index(["number", "path"])["value"]
    said = [f"to the {words} " + ", ".join(f"{value:.3g} ({path})" for path, value in slopes[slope].items())
            for _, slope, words in SERIALIZED.values() if slope in slopes.index.get_level_values(0)]
    sentence = f"A further distinct address, {rows['stride_bytes'].min()} bytes from the next, adds {'; '.join(said)}." if said else \
        "No line was fitted to what further distinct addresses cost."
    labels = {panel: (DISTINCT, panel.split(",")[0] + ", cycles" * ("cycles" not in panel)) for panel in rows["panel"]}
    return [Drawing("serialization", f"{sources[0].document.stem}-serialization", rows.sort_values(["stride_bytes", "quantity"], kind="stable"),
                    sentence, labels, [sources[0].document])]


# A pointer chase over the first COUNT steps of a list, as the evidence of an experiment asks for it.
WALK = re.compile(r"\w+ (\w+) warm_up ([1-9]\d*) timed (\d+) before nothing list 0\+(\d+)\*(\d+)")
ALL_FIT = re.compile(r"all of the (\d+) bytes")


def walks(experiment: dict) -> dict[int, tuple[float, int]]:
    """{bytes: (mean, 95th percentile)} of the series of pointer chases over the most sizes, in cycles."""
    series = {}
    for exchange in experiment["evidence"]:
        match = WALK.fullmatch(exchange["asked"])
        if match and match[1] == experiment["path"]:
            warm_up, accesses, step, count = (int(word) for word in match.groups()[1:])
            series.setdefault((warm_up, accesses, step), {})[step * count] = exchange["answer"]
    of = max(series.values(), key=len, default={})
    return {size: summary(of[size]) for size in sorted(of)}


def summary(answer: str) -> tuple[float, int] | None:
    """(mean, 95th percentile by nearest rank) of an answer: numbers, N*COUNT for one that comes several times."""
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


def clock_cycles(experiments: dict[str, dict], experiment: dict) -> float | None:
    """Cycles that reading the clock adds to a timed access: latency of the first level less that of a dependent chain; or None."""
    chain = experiments.get(f"latency_{experiment['path']}", {"numbers": []})
    found = [entry["value"] for entry in chain["numbers"] if entry["name"] == "latency" and entry["value"] is not None]
    levels = experiment["geometry"]["levels"]
    first = levels[0]["latency"]["value"] if levels else None
    return first - found[0] if found and first is not None else None


def walked(source: Source) -> pandas.DataFrame:
    """Rows of the capacity figure: points of pointer chases, and the levels that were found, without the clock's cycles where they are known."""
    experiments, made = {entry["name"]: entry for entry in source.content["experiments"]}, []
    for name, experiment in experiments.items():
        if not name.startswith("geometry_") or experiment["status"] != "ok":
            continue
        clock = clock_cycles(experiments, experiment)
        same = {"panel": name.removeprefix("geometry_").replace("_", ", ") + ("" if clock is not None else ", clock included"),
                "experiment": name, "path": experiment["path"], "source": source.document.name, "source_sha256": source.document.sha256}
        for size, found in walks(experiment).items():
            made += [{**same, "record": "point", "series": series, "x": size, "y": value - (clock or 0)}
                     for series, value in zip(("mean", "95th percentile"), found)]
        for number, level in enumerate(experiment["geometry"]["levels"], 1):
            latency, size, fits = level["latency"]["value"], level["capacity_bytes"], level["fits_bytes"]
            if latency is not None:
                least = ALL_FIT.match(size["reason"] or "")
                known = size["value"] if size["value"] is not None else fits["value"]
                text = ("" if size["value"] is not None else "hits to ") + style.bytes_text(known) if known is not None else \
                    f"{style.bytes_text(least[1])} or more" if least else "size not found"
                made.append({**same, "record": "level", "x": known, "y": latency - (clock or 0),
                             "reference": f"level {number}: {latency - (clock or 0):.4g} cycles, {text}"})
    rows = pandas.DataFrame(made, columns=["panel", "series", "x", "y", "low", "high", "reference", "record", "experiment", "path", "source", "source_sha256"])
    rows[["x", "y", "low", "high"]] = rows[["x", "y", "low", "high"]].astype(float)
    return rows[rows["panel"].isin(rows.loc[rows["record"] == "point", "panel"])]


def capacity(sources: list[Source]) -> list[Drawing]:
    rows = walked(sources[0])
    if rows.empty:
        raise NotDrawn("no experiment of it pointer chases over working sets")
    levels = rows[rows["record"] == "level"].groupby("panel", sort=False)["reference"].agg("; ".join)
    sentence = "; ".join(f"{panel} has {text}" for panel, text in levels.items()) or "no level was found in the pointer chases"
    return [Drawing("capacity", f"{sources[0].document.stem}-capacity", rows, sentence[0].upper() + sentence[1:] + ".",
                    {None: ("bytes visited", "cycles of an access")}, [sources[0].document])]


# -- several chips ------------------------------------------------------------------------------------------------

STRIDE = 4  # bytes between addresses
CHIP_PANELS = {"latency": ("latency of a constant load", DISTINCT, "cycles"),
               "cycles_per_load": ("an SM full of constant loads", DISTINCT, "cycles per load"),
               "ns_per_load": ("an SM full of constant loads, in time", DISTINCT, "ns per load"),
               "to_best": ("constant to the best other path", DISTINCT, "ratio of cycles per load"),
               "chase": ("constant table visited", "bytes visited", "cycles of an access"),
               "knee": ("constant table visited, about 2 KB", "bytes visited", "cycles of an access")}


def chips(sources: list[Source]) -> list[Drawing]:
    """All chips in one: distinct addresses in cycles and in ns, constant against the best other path, pointer chases."""
    results = [source for source in sources if source.kind == "result" and source.content["engine"] == "cuda"]
    sources = [source for source in sources if source.kind == "characterization"]
    names = [source.content["device"]["name"] for source in sources]
    if len(set(names)) < 2:
        raise NotDrawn("it is made of characterizations of two chips or more")
    labels = [name if names.count(name) == 1 else f"{name}, {source.document.name}" for name, source in zip(names, sources)]
    rows = pandas.concat([of_chip(label, source, results) for label, source in zip(labels, sources)])
    rows.insert(0, "panel", rows["quantity"].map(lambda name: CHIP_PANELS[name][0]))
    rows = rows.sort_values("quantity", key=lambda its: its.map(list(CHIP_PANELS).index), kind="stable")
    ends = rows[rows["quantity"].isin(("latency", "to_best"))].sort_values("x").groupby(["series", "quantity"], sort=False).last()
    said = {"latency": "{:.4g} cycles of latency at {:.0f} distinct addresses", "to_best": "{:.3g} times the cycles of the best other path at {:.0f}"}
    words = [f"On {name}, constant memory takes " + ", ".join(said[quantity].format(row.y, row.x) for (_, quantity), row in its.iterrows())
             for name, its in ends.groupby(level=0, sort=False)]
    return [Drawing("chips", "chips", rows, f"{'. '.join(words)}.", {panel: its for panel, *its in CHIP_PANELS.values()},
                    [source.document for source in sources])]


def of_chip(label: str, source: Source, results: list[Source]) -> pandas.DataFrame:
    points = serialized(source)
    points = points[points["stride_bytes"] == STRIDE]
    mine = points[points["path"] == "constant"]
    load, others = (its[its["quantity"] == "cycles_per_load"] for its in (mine, points[points["path"] != "constant"]))
    parts = [mine]
    clock = clock_mhz(source.content["device"], results)
    if clock:
        parts.append(load.assign(quantity="ns_per_load", unit="ns", **{key: load[key] * 1e3 / clock for key in ("y", "low", "high")}))
    if len(others):
        best = others.loc[others.groupby("x")["y"].idxmin()].set_index("x").reindex(load["x"])
        parts.append(load.assign(quantity="to_best", unit="ratio", path=best["path"].to_numpy(), y=load["y"] / best["y"].to_numpy(),
                                 low=load["low"] / best["high"].to_numpy(), high=load["high"] / best["low"].to_numpy()).dropna(subset=["y"]))
    walk = walked(source)
    walk = walk[(walk["experiment"] == "geometry_constant") & (walk["series"] == "mean")].assign(quantity="chase", unit="cycles", device=points["device"].iloc[0])
    parts += [walk, walk[walk["x"].between(1024, 4096)].assign(quantity="knee")]
    columns = ["quantity", "x", "y", "low", "high", "unit", "path", "device", "source", "source_sha256"]
    return pandas.concat([part[columns] for part in parts]).assign(series=label)


def clock_mhz(device: dict, results: list[Source]) -> float | None:
    """The median SM clock of the cells of results of that GPU, else of another of its model; None without any."""
    for key in ("uuid", "name"):
        frames_of = [source.frame["sm_clock_mhz"] for source in results if source.content["device"].get(key) == device.get(key)]
        found = pandas.concat(frames_of).dropna() if frames_of else []
        if len(found):
            return found.median()
    return None


GENERATION_PANELS = {"constant_sm_ns": "through constant: ns of an SM for 32 elements", "global_sm_ns": "through global: ns of an SM for 32 elements",
                     "ratio": "time through constant / time through global"}


def generations(sources: list[Source]) -> list[Drawing]:
    """The default plan on each chip: what constant and global memory cost, and their ratio."""
    rows = pandas.concat([of_generation(source) for source in sources])
    rows = rows.drop_duplicates(["series", "row_key"])
    if rows["series"].nunique() > 1:  # what one chip alone has is no comparison
        rows = rows[rows.groupby("row_key")["series"].transform("nunique") > 1]
    else:
        raise NotDrawn("it is made of results of two chips or more")
    if rows.empty:
        raise NotDrawn("no chosen cell was timed on two chips")
    rows = rows.reset_index(drop=True)
    common, names = told_apart(rows, ["workload", "pattern", *parameter_names(rows), "elements", "block_size", "cache_state"])
    ranges = rows.groupby("series", sort=False)["ratio"].agg(["min", "max"])
    sentence = "Time through constant memory by time through global memory is " + ", ".join(
        f"{style.ratio_text(its['min'])} to {style.ratio_text(its['max'])} on {name}" for name, its in ranges.iterrows()) + "."
    whole = rows.assign(row=names)
    parts = [whole.assign(panel=text, quantity=key, x=whole[key], low=whole["ratio_low"] if key == "ratio" else float("nan"),
                          high=whole["ratio_high"] if key == "ratio" else float("nan")) for key, text in GENERATION_PANELS.items()]
    columns = ["panel", "row", "series", "x", "low", "high", "quantity", *KEPT[:-1], "compute_capability", "driver"]
    made = pandas.concat(parts).dropna(subset=["x"])[columns]
    return [Drawing("generations", "generations", made, sentence, {None: ("", "")}, [source.document for source in sources], common or None)]


def of_generation(source: Source) -> pandas.DataFrame:
    device = source.content["device"]
    rows = timed(source)
    ratio = ratios(rows)
    kept = rows[ratio["ratio"].notna()]
    below = kept["time_ns"] / ratio["ratio"].dropna()
    an_sm = device["sm_count"] * 32 / kept["elements"] if device.get("sm_count") else float("nan")
    key = kept["identity"].str.replace("/constant/", "/", n=1, regex=False)
    name = device["name"] + ("" if source.content["engine"] == "cuda" else ", modelled")
    return kept.assign(series=name, row_key=key, constant_sm_ns=kept["time_ns"] * an_sm, global_sm_ns=below * an_sm, ratio=ratio["ratio"].dropna(),
                       ratio_low=ratio["low"], ratio_high=ratio["high"], compute_capability=device["compute_capability"], driver=device["driver"])


# -- comparisons, fleets, histories -------------------------------------------------------------------------------


def comparison(sources: list[Source]) -> list[Drawing]:
    source = sources[0]
    rows = source.frame
    rows = rows[rows["ratio"].notna()] if "ratio" in rows else rows.head(0)
    if rows.empty:
        raise NotDrawn("no chosen cell has a ratio")
    base, new = (source.content[side]["device"]["driver"] or source.content[side]["label"] for side in ("base", "new"))
    counts = rows["verdict"].value_counts()
    sentence = (f"The times of NEW are {rows['ratio'].min():.4f} to {rows['ratio'].max():.4f} times those of BASE; of {len(rows)} cells " +
                ", ".join(f"{count} {verdict}" for verdict, count in counts.items()) + ".")
    common, titles = told_apart(rows, ["workload", "elements", "block_size", "cache_state"])
    boards = ["uuid"] * (rows["uuid"].nunique() > 1)
    names = rows["path"] + " " + told_apart(rows, ["pattern", *parameter_names(rows), *boards], always=["pattern"])[1]
    threshold = float(rows["threshold"].iloc[0])
    made = pandas.DataFrame({"panel": titles, "row": names, "series": rows["path"], "x": rows["ratio"], "low": rows["ratio_low"],
                             "high": rows["ratio_high"], "text": rows["verdict"].where(rows["verdict"] != "same")})
    made = pandas.concat([made, rows[["verdict", "base_ns", "new_ns", *KEPT[:-1]]]], axis="columns")
    note = "; ".join(filter(None, (source.note, common, f"base: {base}, new: {new}")))
    return [Drawing("comparison", f"{source.document.stem}-comparison", made.sort_values("panel", kind="stable"), sentence,
                    {None: ("time ratio, NEW to BASE", "")}, [source.document], note, band=(1 - threshold, 1 + threshold))]


LETTERS = {"missing": "M", "replaced": "R", "failed": "F", "counter": "C", "geometry": "G", "slower": "S", "apart": "A"}


def fleet(sources: list[Source]) -> list[Drawing]:
    rows = sources[0].frame
    rows = rows[rows["path"].notna()]
    if rows.empty or not rows["change"].notna().any() and not rows["verdict"].isin(LETTERS).any():
        raise NotDrawn("no GPU that answered has times of two nights")
    gpus = rows.drop_duplicates(["host", "slot", "uuid"])
    said = ", ".join(f"{count} {verdict}" for verdict, count in gpus["verdict"].value_counts().items())
    most = rows.loc[rows["change"].abs().idxmax()] if rows["change"].notna().any() else None
    sentence = f"{len(gpus)} GPUs: {said}" + (f"; the largest change is {100 * most['change']:+.2f} % ({most['path']}, {most['host']} {most['slot']})" if most is not None else "")
    rows = rows.sort_values(["host", "slot", "uuid"], kind="stable")
    places = rows.groupby("host", dropna=False, sort=False).apply(lambda its: its.groupby(["slot", "uuid"], dropna=False, sort=False).ngroup())
    made = pandas.DataFrame({"panel": rows["path"], "row": rows["host"].fillna("?"), "column": places.to_numpy().ravel(), "series": rows["path"],
                             "x": 100 * rows["change"].astype(float), "text": rows["verdict"].map(LETTERS).fillna("")})
    made = pandas.concat([made, rows[["host", "slot", "uuid", "device", "verdict", "started_utc", "source", "source_sha256"]]], axis="columns")
    found = [f"{letter}: {name}" for name, letter in LETTERS.items() if letter in set(made["text"])]
    return [Drawing("fleet", f"{sources[0].document.stem}-fleet", made, sentence + ".", {None: ("GPUs by slot", "")}, [sources[0].document],
                    ", ".join(found) or None)]


NAMED_MAX = 6  # GPUs with a look of their own: those that changed most


def history(sources: list[Source]) -> list[Drawing]:
    rows = sources[0].frame
    rows = rows[rows["time_ns"].notna()] if "identity" in rows and "time_ns" in rows else rows.head(0)
    if rows.empty:
        raise NotDrawn("it has no times of cells; write one with cbank history --cell CELL --json")
    gpu = (rows["host"].fillna("") + " " + rows["slot"].fillna("").str.removeprefix("00000000:") + " " +
           rows["uuid"].fillna(rows["device"]).str.split("-").str[:2].str.join("-")).str.strip()
    changes = rows["change"].abs() if "change" in rows else pandas.Series(0.0, rows.index)
    most = changes.fillna(0).groupby(gpu).max().sort_values(ascending=False, kind="stable")
    named = set(most.index[:NAMED_MAX])
    rest = f"other GPUs ({len(most) - NAMED_MAX})"
    series = gpu.where(gpu.isin(named), rest)
    titles = told_apart(rows, ["path", "workload", "pattern", *parameter_names(rows), "elements", "block_size", "cache_state"], always=["path", "pattern"])[1]
    made = pandas.DataFrame({"panel": titles, "series": series, "x": pandas.to_datetime(rows["started_utc"]).dt.tz_localize(None), "y": rows["time_ns"],
                             "low": float("nan"), "high": float("nan"), "flags": changes.notna().map({True: "level_changed", False: ""}) if "change" in rows else ""})
    made = pandas.concat([made, rows[[column for column in ("device", "uuid", "host", "slot", "driver", "engine", "identity", "state", "change", "change_low",
                                                             "change_high", "with", "source", "source_sha256") if column in rows]]], axis="columns")
    made, unit = in_unit(made, "y")
    sentence = f"{len(most)} GPUs, {rows['identity'].nunique()} cells, {rows['started_utc'].nunique()} starts: "
    if "change" in rows and rows["change"].notna().any():
        its = rows.loc[rows["change"].abs().idxmax()]
        sentence += (f"{rows['change'].notna().sum()} changes of a level, the largest {100 * its['change']:+.2f} % ({its['identity']}, "
                     f"{gpu[its.name]}, since {its['started_utc'][:10]}).")
    else:
        sentence += "no level changed."
    return [Drawing("history", f"{sources[0].document.stem}-history", made, sentence, {None: ("start of the run, UTC", f"time, {unit}")}, [sources[0].document])]


# -- the table ----------------------------------------------------------------------------------------------------

T_INTERVAL = "Times: robust mean over the buffers with a 95 % interval by Student's t."
OPPOSITE = "Ends of the interval of a ratio are quotients of opposite ends, which is wider than 95 %."

# takes: kinds of document. way: of draw.py. combines: of all documents at once.
Kind = collections.namedtuple("Kind", "make takes way summary method combines", defaults=(False,))

KINDS = {
    "matrix": Kind(matrix, ("result",), "dots", "time of each pattern by each path", f"{T_INTERVAL} {OPPOSITE}"),
    "sweep": Kind(sweep, ("result",), "lines", "time against what was varied, a line for each path", f"{T_INTERVAL} Nothing is fitted."),
    "spaces": Kind(spaces, ("result",), "dots", "users' kernels in each memory space, by the fastest",
                   f"{T_INTERVAL} Only verified cells. Ends of an interval are divided by the fastest time."),
    "serialization": Kind(serialization, ("characterization",), "lines", "cost of distinct addresses in a warp, path by path",
                          "Medians of loads alone, with 95 % intervals."),
    "chips": Kind(chips, ("characterization", "result"), "lines", "several chips: distinct addresses, and latency against bytes visited",
                  "Cycles are of characterizations; ns at the median SM clock of results of the same GPU or model.", True),
    "capacity": Kind(capacity, ("characterization",), "lines", "latency of an access against the bytes visited, with the levels found",
                     "Mean and 95th percentile of single timed accesses, without the clock's own cycles where they are known."),
    "generations": Kind(generations, ("result",), "dots", "several chips: constant and global memory and their ratio",
                        f"Time of a launch, by the SMs of the chip and the warps of its elements. {OPPOSITE}", True),
    "comparison": Kind(comparison, ("comparison",), "dots", "ratio of each cell of a comparison, with its interval",
                       "Ratio and interval are those of cbank compare."),
    "fleet": Kind(fleet, ("fleet",), "map", "change of the times of each path, for every GPU of every node", "As cbank fleet holds it."),
    "history": Kind(history, ("history",), "lines", "time of cells night by night, a line for each GPU", "Hollow: the level changed, as cbank history found."),
}


def make(name: str, sources: list[Source]) -> list[Drawing]:
    """The drawings of a kind. Raises NotDrawn."""
    drawings = KINDS[name].make(sources)
    for drawing in drawings:
        drawing.way = KINDS[name].way
    return drawings
