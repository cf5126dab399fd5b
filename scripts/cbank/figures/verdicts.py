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


# What the frame of a history has beside the coordinates of its figure, where the rows have it.
HISTORY_COLUMNS = (
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


def gpu_names(rows: pandas.DataFrame) -> pandas.Series:
    """The GPU of each row, by host, slot and UUID."""
    slot = rows["slot"].fillna("").str.removeprefix("00000000:")
    board = rows["uuid"].fillna(rows["device"]).str.split("-").str[:2].str.join("-")
    return (rows["host"].fillna("") + " " + slot + " " + board).str.strip()


def cell_titles(rows: pandas.DataFrame) -> pandas.Series:
    """The cell of each row, by what tells it from the others."""
    names = ["path", "workload", "pattern", *parameter_names(rows)]
    names += ["elements", "block_size", "cache_state"]
    return told_apart(rows, names, always=["path", "pattern"])[1]


def history_sentence(rows: pandas.DataFrame, gpu: pandas.Series, changes: pandas.Series) -> str:
    """What the figure of a history shows, in a sentence."""
    sentence = (
        f"{gpu.nunique()} GPUs, {rows['identity'].nunique()} cells,"
        f" {rows['started_utc'].nunique()} starts: "
    )
    if not changes.notna().any():
        return sentence + "no level changed."
    largest = rows.loc[changes.idxmax()]
    return sentence + (
        f"{changes.notna().sum()} changes of a level, the largest {100 * largest['change']:+.2f} %"
        f" ({largest['identity']}, {gpu[largest.name]}, since {largest['started_utc'][:10]})."
    )


def history(sources: list[Source]) -> list[Drawing]:
    rows = sources[0].frame
    rows = (
        rows[rows["time_ns"].notna()] if "identity" in rows and "time_ns" in rows else rows.head(0)
    )
    if rows.empty:
        raise NotDrawn("it has no times of cells; write one with cbank history --cell CELL --json")
    gpu, changes = gpu_names(rows), rows["change"].astype(float).abs()
    most = changes.fillna(0).groupby(gpu).max().sort_values(ascending=False, kind="stable")
    rest = f"other GPUs ({len(most) - NAMED_MAX})"
    made = pandas.DataFrame(
        {
            "panel": cell_titles(rows),
            "series": gpu.where(gpu.isin(set(most.index[:NAMED_MAX])), rest),
            "x": pandas.to_datetime(rows["started_utc"]).dt.tz_localize(None),
            "y": rows["time_ns"],
            "low": float("nan"),
            "high": float("nan"),
            "flags": changes.notna().map({True: "level_changed", False: ""}),
        }
    )
    kept = rows[[column for column in HISTORY_COLUMNS if column in rows]]
    made, unit = in_unit(pandas.concat([made, kept], axis="columns"), "y")
    return [
        Drawing(
            "history",
            f"{sources[0].document.stem}-history",
            made,
            history_sentence(rows, gpu, changes),
            {None: ("start of the run, UTC", f"time ({unit})")},
            [sources[0].document],
        )
    ]
