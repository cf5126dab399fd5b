# SPDX-License-Identifier: MIT
"""Figures of results: the matrix, sweeps, users' kernels, and several chips side by side."""

import dataclasses
import functools

import pandas

from . import alike, style
from .draw import Drawing
from .source import CELL_KEYS, KEPT, NotDrawn, Source, in_unit, parameter_names, told_apart

AS_FAST = 1.01  # a path within 1 % of the fastest is as fast
VALUES_MIN = 3  # points of a line


def timed(source: Source) -> pandas.DataFrame:
    rows = source.frame
    rows = (
        rows[(rows["status"] == "ok") & (rows["time_ns"] > 0)]
        if "time_ns" in rows
        else rows.head(0)
    )
    if rows.empty:
        raise NotDrawn("no chosen cell has a time")
    return rows


def times(rows: pandas.DataFrame, **columns: pandas.Series) -> pandas.DataFrame:
    """The columns of a drawing whose values are times of a launch, and those that identify the
    cells."""
    kept = rows[[column for column in KEPT if column in rows]]
    made = {"low": rows["time_ns_low"], "high": rows["time_ns_high"], **columns}
    return pandas.concat(
        [pandas.DataFrame({key: made[key] for key in made}, rows.index), kept], axis="columns"
    )


def fastest(rows: pandas.DataFrame, others: list[str]) -> str | None:
    """How often each path that loads is the fastest of the cells that differ in their path
    alone; None where none do."""
    rows = rows[rows["path"] != "shared_fill_only"]
    groups = rows.groupby(others, dropna=False)
    rows = rows[groups["path"].transform("nunique") > 1]
    if rows.empty:
        return None
    groups = rows.groupby(others, dropna=False)
    near = rows["time_ns"] <= AS_FAST * groups["time_ns"].transform("min")
    counts = near.groupby(rows["path"]).sum().sort_values(ascending=False, kind="stable")
    shown = list(counts.index[:3]) + [path for path in counts.index[3:] if path == "constant"]
    words = [f"{path} at {counts[path] or 'none'}" for path in shown]
    words[0] += f" of {groups.ngroups} points"
    return f"The fastest path, or within 1 % of it: {', '.join(words)}"


# -- the matrix, and sweeps ------------------------------------------------------------------------

# The x axis of a sweep is the first of these that has enough values.
AXES = {
    "warps_per_sm": "resident warps per SM",
    "polluter_bytes": "other data streamed through L1 (bytes)",
    "distinct": "distinct addresses per warp",
    "radius": "radius of the filter",
    "refill_bytes": "written before every launch (bytes)",
    "modules": "modules in turn",
    "table_bytes": "table size (bytes)",
    "width_bytes": "element size (bytes)",
}
LAST_AXES = {"elements": "elements", "block_size": "threads per block"}


@functools.cache
def axes_of(source: Source) -> dict[tuple[str, str], str]:
    """{(workload, pattern): axis} of the timed cells along which something is varied, all else the
    same.

    A workload with more patterns than an axis has values is a matrix of them, not a sweep."""
    rows = timed(source)
    parameters, found = parameter_names(rows), {}
    named = [
        *(name for name in AXES if name in parameters),
        *(name for name in parameters if name not in AXES and name != "kernel"),
        *LAST_AXES,
    ]
    for key, members in rows.groupby(["workload", "pattern"], sort=False):
        patterns = rows.loc[rows["workload"] == key[0], "pattern"].nunique()
        for axis in named:
            points = (
                members.dropna(subset=[axis])
                .groupby(others_of(members, axis), dropna=False)[axis]
                .nunique()
            )
            if len(points) and points.max() >= max(VALUES_MIN, patterns):
                found[key] = axis
                break
    return found


def others_of(rows: pandas.DataFrame, axis: str) -> list[str]:
    """Columns that are the same along a line."""
    return [key for key in [*CELL_KEYS, *parameter_names(rows)] if key != axis]


def path_series(rows: pandas.DataFrame) -> tuple[pandas.Series, str | None]:
    """(the path of each row, with the size of its table where that is not the usual one; what to
    say of the usual one)."""
    if "table_bytes" in parameter_names(rows):
        return rows["path"], None
    sizes = rows["table_bytes"]
    usual = sizes.mode()
    others = sizes.where(~sizes.isin(usual[:1]))
    said = others.map(lambda size: f" ({style.bytes_text(size)})", "ignore").fillna("")
    return rows["path"] + said, f"table of {style.bytes_text(usual[0])}" if len(usual) else None


def matrix(sources: list[Source]) -> list[Drawing]:
    rows, swept = timed(sources[0]), axes_of(sources[0])
    rows = rows[
        pandas.Series(
            [key not in swept for key in zip(rows["workload"], rows["pattern"])], rows.index
        )
        & ~of_kernels(rows)
    ]
    if rows.empty:
        raise NotDrawn("all of its cells are of sweeps or of users' kernels")
    parameters = [name for name in parameter_names(rows) if name != "table_bytes"]
    common, names = told_apart(rows, ["workload", "pattern", *parameters], always=["pattern"])
    alike, titles = told_apart(
        rows,
        ["elements", "block_size", "cache_state"]
        + ["table_bytes"] * ("table_bytes" in parameter_names(rows)),
    )
    ratio = ratios(rows)
    if names.nunique() < 2 and swept:
        raise NotDrawn("one pattern beside a sweep is a row of a table: cbank show prints it")
    series, usual = path_series(rows)
    made, unit = in_unit(
        times(
            rows,
            panel=titles,
            row=names,
            series=series,
            x=rows["time_ns"],
            text=ratio["ratio"].map(style.ratio_text, "ignore"),
        ),
        "x",
    )
    made = made.assign(
        ratio_to_global=ratio["ratio"], ratio_low=ratio["low"], ratio_high=ratio["high"]
    )
    note = "; ".join(filter(None, (common, alike, usual)))
    return [
        Drawing(
            "matrix",
            f"{sources[0].document.stem}-matrix",
            made,
            matrix_sentence(rows, ratio["ratio"], names, titles),
            {None: (f"time of a launch ({unit})", "")},
            [sources[0].document],
            note,
            sources[0].note,
            "constant/global" if ratio["ratio"].notna().any() else "",
        )
    ]


def ratios(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Time through constant by time through global memory, at the cells of constant; ends are
    quotients of opposite ends."""
    others = [key for key in [*CELL_KEYS, "parameters"] if key != "path"]
    base = rows[rows["path"] == "global"].drop_duplicates(others).set_index(others)
    above = rows[rows["path"] == "constant"]
    below = base.reindex(pandas.MultiIndex.from_frame(above[others]))
    made = pandas.DataFrame(
        {
            "ratio": above["time_ns"].to_numpy() / below["time_ns"].to_numpy(),
            "low": above["time_ns_low"].to_numpy() / below["time_ns_high"].to_numpy(),
            "high": above["time_ns_high"].to_numpy() / below["time_ns_low"].to_numpy(),
        },
        above.index,
    )
    return made.reindex(rows.index)


def matrix_sentence(
    rows: pandas.DataFrame, ratio: pandas.Series, names: pandas.Series, titles: pandas.Series
) -> str:
    ratio = ratio.dropna()
    where = (
        [", ".join(filter(None, (names[i], titles[i]))) for i in (ratio.idxmin(), ratio.idxmax())]
        if len(ratio)
        else []
    )
    said = (
        [
            f"A launch through constant memory takes from {style.ratio_text(ratio.min())} times"
            f" ({where[0]}) to {style.ratio_text(ratio.max())} times ({where[1]}) as long as one"
            " through global memory"
        ]
        if len(ratio)
        else []
    )
    said.append(fastest(rows, others_of(rows, "path")))
    text = (
        ". ".join(filter(None, said))
        or f"A launch takes {style.time_text(rows['time_ns'].min())}"
        f" to {style.time_text(rows['time_ns'].max())}"
    )
    return text + "."


def sweep(sources: list[Source]) -> list[Drawing]:
    source = sources[0]
    rows, swept = timed(source), axes_of(source)
    axis = pandas.Series(
        [swept.get(key) for key in zip(rows["workload"], rows["pattern"])], rows.index
    )
    if not swept:
        raise NotDrawn(f"nothing takes {VALUES_MIN} values in the chosen cells")
    made, flat = [], []
    for name in dict.fromkeys(swept.values()):
        try:
            made.append(sweep_along(source, name, rows[axis == name], axis.nunique() > 1))
        except NotDrawn as reason:
            flat.append(str(reason).removesuffix("."))
    if not made:
        raise NotDrawn("; ".join(flat))
    said = "; ".join(filter(None, [made[0].note, *(f"not drawn: {its}" for its in flat)]))
    return [dataclasses.replace(made[0], note=said or None), *made[1:]]


def sweep_along(source: Source, axis: str, rows: pandas.DataFrame, several: bool) -> Drawing:
    rows = rows.dropna(subset=[axis])
    facts = [key for key in others_of(rows, axis) if key not in ("path", "elements")] + [
        "elements"
    ] * (axis != "elements")
    common, titles = told_apart(rows, facts)
    made, unit = in_unit(
        times(rows, panel=titles, series=rows["path"], x=rows[axis], y=rows["time_ns"]), "y"
    )
    order = rows.sort_values(
        [
            key
            for key in facts
            if rows[key].nunique(dropna=False) > 1 and pandas.api.types.is_numeric_dtype(rows[key])
        ],
        kind="stable",
    ).index
    text = {**AXES, **LAST_AXES}.get(axis, axis.replace("_", " "))
    made, flat = alike.changing(made.loc[order])
    words = f"no time changes by {100 * (alike.FLAT - 1):.0f} %"
    if made.empty:
        raise NotDrawn(f"{words} with the {plain(text)}. {sweep_sentence(rows, axis, text)}")
    made = alike.joined(made)
    said = [common, flat and f"left out, as {words}: {'; '.join(flat)}"]
    if made["series"].nunique() < rows["path"].nunique():
        said.append(f"paths of one look: times within {100 * (alike.NEAR - 1):.0f} % everywhere")
    if made["panel"].nunique() < titles.nunique() - len(flat):
        said.append(f"one panel of several: times within {100 * (alike.NEAR - 1):.0f} %")
    return Drawing(
        "sweep",
        f"{source.document.stem}-sweep" + (f"-{axis}" if several else ""),
        made,
        sweep_sentence(rows.loc[made.index], axis, text),
        {None: (text, f"time of a launch ({unit})")},
        [source.document],
        "; ".join(filter(None, said)) or None,
        source.note,
    )


def plain(text: str) -> str:
    """The label of an axis without its unit."""
    return text.removesuffix(" (bytes)")


def sweep_sentence(rows: pandas.DataFrame, axis: str, text: str) -> str:
    """Which path is the fastest how often, and the ends of the line along which the time changes
    most."""
    said = [fastest(rows, [key for key in [*CELL_KEYS, *parameter_names(rows)] if key != "path"])]
    lines = [
        line
        for _, line in rows.sort_values(axis, kind="stable").groupby(
            others_of(rows, axis), dropna=False, sort=False
        )
        if len(line) >= VALUES_MIN
    ]
    if lines:
        ends = max(
            (line.iloc[[0, -1]] for line in lines),
            key=lambda its: its["time_ns"].max() / its["time_ns"].min(),
        )
        word = style.bytes_text if axis.endswith("_bytes") else style.count_text
        words = [
            f"{style.time_text(its.time_ns)} at {word(getattr(its, axis))}"
            for its in ends.itertuples()
        ]
        said.append(
            f"With the {plain(text)}, the time through"
            f" {ends['path'].iloc[0]} changes most: {', '.join(words)}"
        )
    return (". ".join(filter(None, said)) or f"Time against the {text}") + "."


# -- users' kernels --------------------------------------------------------------------------------


def of_kernels(rows: pandas.DataFrame) -> pandas.Series:
    return rows["parameters"].str.contains("kernel=", regex=False)


def builds(files: list[dict]) -> dict[str, str]:
    """{hash of a kernel file, as cells have it: name of its kernel, with what tells it from
    other builds of that name}"""
    made = {}
    for _, same in pandas.DataFrame(files).fillna({"options": "no options"}).groupby("name"):
        told = [key for key in ("file", "compiler", "options") if same[key].nunique() > 1]
        made.update(
            {
                build["sha256"][:16]: ", ".join([build["name"], *build[told]])
                for _, build in same.iterrows()
            }
        )
    return made


def spaces(sources: list[Source]) -> list[Drawing]:
    """Memory spaces of users' kernels: each time by that of the fastest for the same kernel,
    size and cache state."""
    rows = timed(sources[0])
    rows = rows[of_kernels(rows) & rows["verified"].astype(bool)]
    if rows.empty:
        raise NotDrawn("no chosen cell is of a user's kernel, has a time and is verified")
    rows = rows.assign(
        workload=rows["kernel"].map(builds(sources[0].document.content["kernel_files"]))
    )
    others = ["workload", "elements", "cache_state"]
    best = rows.groupby(others)["time_ns"].transform("min")
    sizes = rows.groupby("workload")["elements"]
    panel = (rows["elements"] == sizes.transform("max")).map(
        {True: "largest size", False: "smaller sizes"}
    )
    ratio = rows["time_ns"] / best
    names = (
        told_apart(rows, others, always=["workload"])[1]
        if rows.groupby([panel, "workload"])["elements"].nunique().max() > 1
        else rows["workload"]
    )
    made = times(rows, panel=panel, row=names, series=rows["path"], x=ratio)
    made["low"], made["high"] = (made[end] / best for end in ("low", "high"))
    constant = ratio[
        (rows["path"] == "constant") & (rows.groupby(others)["path"].transform("nunique") > 1)
    ]
    said = [
        fastest(rows, others),
        (
            "Constant memory takes"
            " "
            + " to ".join(dict.fromkeys(map(style.ratio_text, (constant.min(), constant.max()))))
            + " times"
            " as long as the fastest memory space"
            if len(constant)
            else None
        ),
    ]
    said = (
        ". ".join(filter(None, said)).replace("fastest path", "fastest memory space")
        or "No kernel was measured in two memory spaces"
    )
    return [
        Drawing(
            "spaces",
            f"{sources[0].document.stem}-spaces",
            made.sort_values("panel", kind="stable"),
            said + ".",
            {None: ("time, by that in the fastest", "")},
            [sources[0].document],
            None,
            sources[0].note,
            band=(1, AS_FAST),
        )
    ]


GENERATION_PANELS = {
    "constant_sm_ns": "through constant: ns of an SM for 32 elements",
    "global_sm_ns": "through global: ns of an SM for 32 elements",
    "ratio": "time through constant / time through global",
}


def generations(sources: list[Source]) -> list[Drawing]:
    """The default plan on each chip: what constant and global memory cost, and their ratio."""
    rows = pandas.concat([of_generation(source) for source in sources])
    rows = rows.drop_duplicates(["series", "row_key"])
    # what one chip alone has is no comparison
    rows = rows[rows.groupby("row_key")["series"].transform("nunique") > 1]
    if rows.empty:
        raise NotDrawn("it is made of results of two chips or more, with cells in common")
    rows = rows.reset_index(drop=True)
    common, names = told_apart(
        rows,
        ["workload", "pattern", *parameter_names(rows), "elements", "block_size", "cache_state"],
    )
    ranges = rows.groupby("series", sort=False)["ratio"].agg(["min", "max"])
    sentence = (
        "Time through constant memory by time through global memory is "
        + ", ".join(
            f"{style.ratio_text(its['min'])} to {style.ratio_text(its['max'])} on {name}"
            for name, its in ranges.iterrows()
        )
        + "."
    )
    whole = rows.assign(row=names)
    parts = [
        whole.assign(
            panel=text,
            quantity=key,
            x=whole[key],
            low=whole["ratio_low"] if key == "ratio" else float("nan"),
            high=whole["ratio_high"] if key == "ratio" else float("nan"),
        )
        for key, text in GENERATION_PANELS.items()
    ]
    columns = [
        "panel",
        "row",
        "series",
        "x",
        "low",
        "high",
        "quantity",
        *KEPT[:-1],
        "compute_capability",
        "driver",
    ]
    made = pandas.concat(parts).dropna(subset=["x"])[columns]
    return [
        Drawing(
            "generations",
            "generations",
            made,
            sentence,
            {None: ("", "")},
            [source.document for source in sources],
            common or None,
        )
    ]


def of_generation(source: Source) -> pandas.DataFrame:
    device = source.content["device"]
    rows = timed(source)
    ratio = ratios(rows)
    kept = rows[ratio["ratio"].notna()]
    below = kept["time_ns"] / ratio["ratio"].dropna()
    an_sm = device["sm_count"] * 32 / kept["elements"] if device.get("sm_count") else float("nan")
    key = kept["identity"].str.replace("/constant/", "/", n=1, regex=False)
    name = device["name"] + ("" if source.content["engine"] == "cuda" else ", modelled")
    return kept.assign(
        series=name,
        row_key=key,
        constant_sm_ns=kept["time_ns"] * an_sm,
        global_sm_ns=below * an_sm,
        ratio=ratio["ratio"].dropna(),
        ratio_low=ratio["low"],
        ratio_high=ratio["high"],
        compute_capability=device["compute_capability"],
        driver=device["driver"],
    )
