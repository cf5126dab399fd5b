# SPDX-License-Identifier: MIT
"""Figures of what the instrument and stores found: comparisons, fleets, histories."""

import pandas

from .draw import Drawing
from .source import KEPT, NotDrawn, Source, in_unit, parameter_names, told_apart


# -- comparisons, fleets, histories ----------------------------------------------------------------


def comparison(sources: list[Source]) -> list[Drawing]:
    source = sources[0]
    rows = source.frame
    rows = rows[rows["ratio"].notna()] if "ratio" in rows else rows.head(0)
    if rows.empty:
        raise NotDrawn("no chosen cell has a ratio")
    base, new = (
        source.content[side]["device"]["driver"] or source.content[side]["label"]
        for side in ("base", "new")
    )
    counts = rows["verdict"].value_counts()
    sentence = (
        f"The times of NEW are {rows['ratio'].min():.4f} to {rows['ratio'].max():.4f} times those"
        f" of BASE; of {len(rows)} cells "
        + ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
        + "."
    )
    common, titles = told_apart(rows, ["workload", "elements", "block_size", "cache_state"])
    boards = ["uuid"] * (rows["uuid"].nunique() > 1)
    names = (
        rows["path"]
        + " "
        + told_apart(rows, ["pattern", *parameter_names(rows), *boards], always=["pattern"])[1]
    )
    threshold = float(rows["threshold"].iloc[0])
    made = pandas.DataFrame(
        {
            "panel": titles,
            "row": names,
            "series": rows["path"],
            "x": rows["ratio"],
            "low": rows["ratio_low"],
            "high": rows["ratio_high"],
            "text": rows["verdict"].where(rows["verdict"] != "same"),
        }
    )
    made = pandas.concat([made, rows[["verdict", "base_ns", "new_ns", *KEPT[:-1]]]], axis="columns")
    note = "; ".join(filter(None, (common, f"base: {base}, new: {new}")))
    return [
        Drawing(
            "comparison",
            f"{source.document.stem}-comparison",
            made.sort_values("panel", kind="stable"),
            sentence,
            {None: ("time ratio, NEW to BASE", "")},
            [source.document],
            note,
            source.note,
            band=(1 - threshold, 1 + threshold),
        )
    ]


LETTERS = {
    "missing": "M",
    "replaced": "R",
    "failed": "F",
    "counter": "C",
    "geometry": "G",
    "slower": "S",
    "apart": "A",
}


def fleet(sources: list[Source]) -> list[Drawing]:
    rows = sources[0].frame
    rows = rows[rows["path"].notna()]
    if rows.empty or not rows["change"].notna().any() and not rows["verdict"].isin(LETTERS).any():
        raise NotDrawn("no GPU that answered has times of two nights")
    gpus = rows.drop_duplicates(["host", "slot", "uuid"])
    said = ", ".join(
        f"{count} {verdict}" for verdict, count in gpus["verdict"].value_counts().items()
    )
    most = rows.loc[rows["change"].abs().idxmax()] if rows["change"].notna().any() else None
    sentence = f"{len(gpus)} GPUs: {said}" + (
        f"; the largest change is {100 * most['change']:+.2f} % ({most['path']},"
        f" {most['host']} {most['slot']})"
        if most is not None
        else ""
    )
    rows = rows.sort_values(["host", "slot", "uuid"], kind="stable")
    places = rows.groupby("host", dropna=False, sort=False).apply(
        lambda its: its.groupby(["slot", "uuid"], dropna=False, sort=False).ngroup()
    )
    made = pandas.DataFrame(
        {
            "panel": rows["path"],
            "row": rows["host"].fillna("?"),
            "column": places.to_numpy().ravel(),
            "series": rows["path"],
            "x": 100 * rows["change"].astype(float),
            "text": rows["verdict"].map(LETTERS).fillna(""),
        }
    )
    made = pandas.concat(
        [
            made,
            rows[
                [
                    "host",
                    "slot",
                    "uuid",
                    "device",
                    "verdict",
                    "started_utc",
                    "source",
                    "source_sha256",
                ]
            ],
        ],
        axis="columns",
    )
    found = [f"{letter}: {name}" for name, letter in LETTERS.items() if letter in set(made["text"])]
    return [
        Drawing(
            "fleet",
            f"{sources[0].document.stem}-fleet",
            made,
            sentence + ".",
            {None: ("GPUs by slot", "")},
            [sources[0].document],
            ", ".join(found) or None,
        )
    ]


NAMED_MAX = 6  # GPUs with a look of their own: those that changed most


def history(sources: list[Source]) -> list[Drawing]:
    rows = sources[0].frame
    rows = (
        rows[rows["time_ns"].notna()] if "identity" in rows and "time_ns" in rows else rows.head(0)
    )
    if rows.empty:
        raise NotDrawn("it has no times of cells; write one with cbank history --cell CELL --json")
    gpu = (
        rows["host"].fillna("")
        + " "
        + rows["slot"].fillna("").str.removeprefix("00000000:")
        + " "
        + rows["uuid"].fillna(rows["device"]).str.split("-").str[:2].str.join("-")
    ).str.strip()
    changes = rows["change"].astype(float).abs()
    most = changes.fillna(0).groupby(gpu).max().sort_values(ascending=False, kind="stable")
    named = set(most.index[:NAMED_MAX])
    rest = f"other GPUs ({len(most) - NAMED_MAX})"
    series = gpu.where(gpu.isin(named), rest)
    titles = told_apart(
        rows,
        [
            "path",
            "workload",
            "pattern",
            *parameter_names(rows),
            "elements",
            "block_size",
            "cache_state",
        ],
        always=["path", "pattern"],
    )[1]
    made = pandas.DataFrame(
        {
            "panel": titles,
            "series": series,
            "x": pandas.to_datetime(rows["started_utc"]).dt.tz_localize(None),
            "y": rows["time_ns"],
            "low": float("nan"),
            "high": float("nan"),
            "flags": changes.notna().map({True: "level_changed", False: ""}),
        }
    )
    made = pandas.concat(
        [
            made,
            rows[
                [
                    column
                    for column in (
                        "device",
                        "uuid",
                        "host",
                        "slot",
                        "driver",
                        "engine",
                        "identity",
                        "state",
                        "change",
                        "change_low",
                        "change_high",
                        "with",
                        "source",
                        "source_sha256",
                    )
                    if column in rows
                ]
            ],
        ],
        axis="columns",
    )
    made, unit = in_unit(made, "y")
    sentence = (
        f"{len(most)} GPUs, {rows['identity'].nunique()} cells,"
        f" {rows['started_utc'].nunique()} starts: "
    )
    if changes.notna().any():
        its = rows.loc[changes.idxmax()]
        sentence += (
            f"{changes.notna().sum()} changes of a level, the largest {100 * its['change']:+.2f} %"
            f" ({its['identity']}, {gpu[its.name]}, since {its['started_utc'][:10]})."
        )
    else:
        sentence += "no level changed."
    return [
        Drawing(
            "history",
            f"{sources[0].document.stem}-history",
            made,
            sentence,
            {None: ("start of the run, UTC", f"time ({unit})")},
            [sources[0].document],
        )
    ]
