# SPDX-License-Identifier: MIT
"""Figures of what a result has beside its times: samples one by one, and energy."""

import itertools

import pandas

from .cells import of_kernels, times, timed
from .draw import Drawing
from .source import NotDrawn, Source, parameter_names, told_apart

SAMPLES_MIN = 6  # of a cell whose distribution is drawn
PICO = 1e12


def facts(rows: pandas.DataFrame) -> list[str]:
    """Columns that tell cells of one path apart."""
    return ["workload", "pattern", *parameter_names(rows), "elements", "block_size", "cache_state"]


def samples(sources: list[Source]) -> list[Drawing]:
    """The samples of each cell, sorted, by how far they are from its time."""
    rows = timed(sources[0])
    rows = rows[rows["samples_ns"].map(samples_of).map(len) >= SAMPLES_MIN]
    if rows.empty:
        raise NotDrawn(f"no chosen cell has {SAMPLES_MIN} samples")
    common, titles = told_apart(rows, facts(rows), always=["pattern"])
    parts = [
        pandas.DataFrame(
            {
                "panel": titles[index],
                "series": row["path"],
                "x": [100 * (value / row["time_ns"] - 1) for value in values],
                "y": [100 * place / len(values) for place in range(1, len(values) + 1)],
                "low": float("nan"),
                "high": float("nan"),
                "sample_ns": values,
                "identity": row["identity"],
                "flags": row["flags"],
            }
        )
        for index, row in rows.iterrows()
        for values in [sorted(samples_of(row["samples_ns"]))]
    ]
    made = pandas.concat(parts, ignore_index=True)
    spread = made.groupby("identity")["x"].agg(lambda its: its.quantile(0.95) - its.quantile(0.05))
    flagged = sorted({flag for text in rows["flags"].dropna() for flag in text.split()})
    return [
        Drawing(
            "samples",
            f"{sources[0].document.stem}-samples",
            made.drop(columns="flags"),
            f"Nine samples of ten lie in a range of {spread.min():.2g} to {spread.max():.2g} % of"
            f" the time of their cell, in {len(spread)} cells; the widest is {spread.idxmax()}.",
            {None: ("sample, by the time of the cell (%)", "samples below (%)")},
            [sources[0].document],
            "; ".join(
                filter(None, [common, flagged and f"cells with flags: {', '.join(flagged)}"])
            ),
            sources[0].note,
        )
    ]


def samples_of(value: object) -> list[float]:
    """The samples of a cell, which the table holds as a list."""
    return [float(sample) for sample in value] if isinstance(value, list) else []


def energy(sources: list[Source]) -> list[Drawing]:
    rows = sources[0].frame
    rows = rows[rows["lookup_j"].notna()] if "lookup_j" in rows else rows.head(0)
    if rows.empty:
        raise NotDrawn("no chosen cell has the energy of a lookup; run --energy measures it")
    rows = rows[~of_kernels(rows)] if (~of_kernels(rows)).any() else rows
    parameters = parameter_names(rows)
    common, names = told_apart(rows, ["workload", "pattern", *parameters], always=["pattern"])
    alike, titles = told_apart(rows, ["elements", "block_size", "cache_state"])
    made = times(
        rows.assign(flags=[flags_of(row) for row in rows.to_dict("records")]),
        panel=titles,
        row=names,
        series=rows["path"],
        x=PICO * rows["lookup_j"],
    )
    made["low"], made["high"] = PICO * rows["lookup_low_j"], PICO * rows["lookup_high_j"]
    most, least = rows.loc[rows["lookup_j"].idxmax()], rows.loc[rows["lookup_j"].idxmin()]
    said = [
        f"{PICO * row['lookup_j']:.4g} pJ ({row['path']}, {row['pattern']})"
        for row in (least, most)
    ]
    return [
        Drawing(
            "energy",
            f"{sources[0].document.stem}-energy",
            made,
            f"A lookup takes from {said[0]} to {said[1]}.",
            {None: ("energy of a lookup (pJ)", "")},
            [sources[0].document],
            "; ".join(filter(None, (common, alike))) or None,
            sources[0].note,
        )
    ]


def flags_of(row: dict) -> str:
    """What makes a time or an energy doubtful."""
    words = [str(row.get(key) or "").split() for key in ("flags", "energy_limits")]
    return " ".join(sorted(set(itertools.chain(*words)) - {"gpu_idle", "nan"}))
