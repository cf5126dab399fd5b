# SPDX-License-Identifier: MIT
"""The tables of a report: of results, characterizations, cards, comparisons, fleets and histories.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pandas

from . import documents, frames, tables
from .figures import style
from .tables import Head, Table, Value
from .text import sizes

if TYPE_CHECKING:
    from .report import One

FINDINGS_MAX = 20  # of a result
ROWS_MAX = 400  # of a table of changes

# -- results ---------------------------------------------------------------------------------------


def exact(sources: list[One]) -> tuple[int, int]:
    """(equal, compared) of the exact counters of results."""
    return tuple(
        sum(source.content["exact_counters"][key] for source in sources)
        for key in ("equal", "compared")
    )


def throttle_text(device: dict) -> str:
    throttle = device["throttle"]
    if not throttle["known"]:
        return "not known"
    bits = [documents.number(throttle[key]) for key in ("before", "after")]
    return (
        ", ".join(f"{when} {int(its):#x}" for when, its in zip(("before", "after"), bits) if its)
        or "no"
    )


def summary_table(results: list[One]) -> Table:
    rows = []
    for one in results:
        cells, found = one.content["cells"], Counter(
            cell["status"] for cell in one.content["cells"]
        )
        equal, compared = exact([one])
        engine = (
            ("" if one.measured else "model: ")
            + one.content["engine"]
            + ("" if one.content["complete"] else ", incomplete")
        )
        rows.append(
            [
                one.label,
                engine,
                one.content["device"]["name"],
                tables.of_all(found["ok"], len(cells)),
                ", ".join(
                    f"{found[key]} {key}" for key in ("failed", "skipped", "pending") if found[key]
                )
                or "0",
                (
                    tables.count(sum(cell["verified"] is True for cell in cells))
                    if one.measured
                    else None
                ),
                tables.count(sum(bool(cell["flags"]) for cell in cells)),
                tables.of_all(equal, compared) if compared and one.measured else "none",
                throttle_text(one.content["device"]),
            ]
        )
    return Table(
        "Results",
        [
            "file",
            "engine",
            "device",
            "cells ok",
            "not ok",
            "verified",
            "flagged",
            "exact counters equal",
            "throttled",
        ],
        rows,
    )


def findings(one: One) -> list[str]:
    """Cells that failed, exact counters that differ, and how many cells each flag is on."""
    lines, flagged = [], Counter()
    for cell in one.content["cells"]:
        if cell["status"] == "failed":
            lines.append(f"{cell['identity']} failed: {cell['reason']}")
        if "invalid" in cell:
            lines.append(f"{cell['identity']} is invalid: {cell['invalid']}")
        for name, counter in cell["counters"].items():
            value, expected = counter["value"], counter["expected"]
            if counter["kind"] == "exact" and None not in (value, expected) and value != expected:
                value, expected = (tables.count(documents.number(of)) for of in (value, expected))
                lines.append(f"{cell['identity']}: {name} is {value}, expected {expected}")
        for flag in cell["flags"]:
            flagged[flag] += 1
    more = len(lines) - FINDINGS_MAX
    lines = lines[:FINDINGS_MAX] + [f"and {more} more, which cbank show names"] * (more > 0)
    return lines + [
        f"{tables.plural(count, 'cell')} {flag}: {one.content['flag_reasons'].get(flag, flag)}"
        for flag, count in flagged.items()
    ]


GROUP = ["workload", "elements", "block_size", "cache_state", "table_bytes"]


def matrix_tables(one: One, order: dict) -> list[Table]:
    """A table for each workload, size, block size, cache state and size of the table: times that
    can be compared.

    order: {"paths": {name: position}, ...} of the instrument's tables."""
    rows = frames.whole(one.frame)
    rows = rows.assign(flags=rows["flags"].fillna(""), parameters=rows["parameters"].fillna(""))
    skipped = rows[rows["status"] == "skipped"]
    made = [
        matrix_table(one, members, key, order)
        for key, members in rows[rows["status"] != "skipped"].groupby(GROUP, dropna=False)
    ]
    if made and len(skipped):
        made[-1].notes += [
            f"skipped: {', '.join(dict.fromkeys(its['path'] + ' ' + its['pattern']))} ({reason})"
            for reason, its in skipped.groupby("reason", sort=False)
        ]
    return made


def matrix_table(one: One, rows: pandas.DataFrame, key: tuple, order: dict) -> Table:
    paths = sorted(
        rows["path"].unique(), key=lambda path: order["paths"].get(path, len(order["paths"]))
    )
    patterns = sorted(
        set(zip(rows["pattern"], rows["parameters"])),
        key=lambda its: (
            order["patterns"].get(its[0], len(order["patterns"])),
            [numbered(word) for word in its[1].split()],
        ),
    )
    cells = {
        (row["path"], row["pattern"], row["parameters"]): row for row in rows.to_dict("records")
    }
    marks, made = {}, []
    for pattern in patterns:
        # An output of a user's kernel that was not verified may be quick because it is wrong.
        times = [
            cells[path, *pattern]["time_ns"]
            for path in paths
            if (path, *pattern) in cells
            and path not in order["loadless"]
            and (cells[path, *pattern]["verified"] or key[2])
        ]
        best = min((time for time in times if not tables.missing(time)), default=None)
        made.append(
            [
                " ".join(pattern),
                *(
                    value
                    for path in paths
                    for value in cell_values(one, cells.get((path, *pattern)), best, marks)
                ),
            ]
        )
    facts = [
        key[0],
        *(
            [f"{tables.count(key[1])} elements", f"blocks of {key[2]}"]
            if key[2]
            else [f"size {tables.count(key[1])}"]
        ),
        key[3],
    ] + ([] if tables.missing(key[4]) else [f"table of {style.bytes_text(key[4])}"])
    heads = [
        [Head("pattern"), *(Head(path, 2) for path in paths)],
        [Head(""), *(Head(text) for _ in paths for text in ("time", "ratio"))],
    ]
    return Table(
        f"{', '.join(facts)}: {one.label}",
        heads,
        made,
        [f"{mark} {text}" for text, mark in marks.items()],
    )


def numbered(word: str) -> tuple[str, int, str]:
    """A word name=value, so that values are in the order of numbers."""
    name, _, value = word.partition("=")
    return name, int(value) if value.isdigit() else 0, value


def cell_values(one: One, cell: dict | None, best: float | None, marks: dict[str, str]) -> list:
    """Time with its interval, and the ratio to the fastest path; a mark where there is more to
    know."""
    if cell is None:
        return [tables.NONE, tables.NONE]
    why = "; ".join(
        ": ".join(filter(None, (flag, one.content["flag_reasons"].get(flag))))
        for flag in cell["flags"].split()
    )
    why = (
        why
        if cell["status"] == "ok"
        else f"{cell['status']}: {cell['reason'] or 'no reason given'}"
    )
    mark = tables.NARROW + marks.setdefault(why, f"({len(marks) + 1})") if why else ""
    if tables.missing(cell["time_ns"]):
        return [("not timed" if cell["status"] == "ok" else cell["status"]) + mark, tables.NONE]
    half = (
        tables.half_width(cell["time_ns"], cell["time_ns_low"], cell["time_ns_high"])
        if one.measured
        else ""
    )
    ratio = cell["time_ns"] / best if best else None
    return [
        f"{tables.time(cell['time_ns'])} {half}".strip() + mark,
        Value(f"{ratio:.2f}×" if ratio else tables.NONE, ratio == 1),
    ]


# -- environment -----------------------------------------------------------------------------------


def environment_of(one: One) -> dict[str, str]:
    """{what: text} of a document."""
    content, tool, device = (
        one.content,
        one.content.get("tool") or {},
        one.content.get("device") or {},
    )
    clocks, board = device.get("clocks") or {}, device.get("board") or {}
    facts = {
        "engine": content.get("engine"),
        **{
            key.replace("_", " "): device.get(key)
            for key in (
                "name",
                "chip",
                "compute_capability",
                "uuid",
                "pci_bus_id",
                "sm_count",
                "l2_bytes",
                "memory_bytes",
                "driver",
                "cuda_driver_api",
                "vbios",
                "ecc",
                "mig",
                "launch_ns",
            )
        },
        "part number": board.get("part_number"),
        "L1.5 constant caches of so many SMs": sizes(board.get("constant_cache_groups") or [])
        or None,
        "SM clock, at most (MHz)": clocks.get("sm_max_mhz"),
        "memory clock, at most (MHz)": clocks.get("memory_max_mhz"),
        "cbank": tool.get("version"),
        "commit": tool.get("git_commit")
        and tool["git_commit"] + ", with changes" * bool(tool.get("git_dirty")),
        "compiler": tool.get("compiler"),
        "CUDA toolkit": tool.get("cuda_toolkit"),
        "command line": tool.get("argv"),
        **{
            key.replace("_", " "): content.get(key)
            for key in (
                "seed",
                "max_noise",
                "counters_asked",
                "counters_reason",
                "started_utc",
                "finished_utc",
            )
        },
        "schema": " ".join(str(content["schema"][key]) for key in ("name", "version")),
    }
    return {
        key: tables.count(value) if isinstance(value, (int, float)) else str(value)
        for key, value in facts.items()
        if value not in (None, "")
    }


def environment_table(sources: list[One]) -> Table:
    """A row for each fact and value, with the documents that say it."""
    said = {}
    for one in sources:
        for key, value in environment_of(one).items():
            said.setdefault(key, {}).setdefault(value, []).append(one.label)
    return Table(
        "Environment",
        ["what", "value", "of"],
        [
            [key, value, "all that say it" if len(values) == 1 else ", ".join(labels)]
            for key, values in said.items()
            for value, labels in values.items()
        ],
    )


# -- characterizations and cards -------------------------------------------------------------------

LEVEL_KEYS = {
    "latency": "latency (cycles)",
    "capacity_bytes": "size (bytes)",
    "fits_bytes": "hits up to (bytes)",
    "fetch_bytes": "fetched (bytes)",
    "line_bytes": "line (bytes)",
    "ways": "ways",
    "sets": "sets",
    "replacement_name": "replacement",
}


def number_text(row: dict, spread: bool = False) -> str:
    """spread: its ends are the least and the largest."""
    return (
        row["text"]
        if isinstance(row.get("text"), str)
        else tables.with_ends(row["value"], row["low"], row["high"], spread)
    )


def where_text(row: dict) -> str:
    """The conditions of a number: 32 distinct, 64 bytes apart."""
    words = {
        "level": "level {}",
        "distinct": "{} distinct",
        "stride_bytes": "{} bytes apart",
        "warps": "{} warps",
        "width_bytes": "{} bytes wide",
        "before": "after a {}",
    }
    return ", ".join(
        text.format(int(row[key]) if isinstance(row[key], float) else row[key])
        for key, text in words.items()
        if not tables.missing(row.get(key))
    )


def geometry_table(experiment: str, members: pandas.DataFrame, label: str) -> Table:
    """The levels of a geometry, and why a number of one is not known."""
    levels = []
    for level, rows in members.groupby("level"):
        texts = {
            row["number"]: number_text(row, row["number"] == "latency")
            for row in rows[::-1].to_dict("records")
        }
        levels.append([f"level {int(level)}", *(texts.get(key) for key in LEVEL_KEYS)])
    unknown = members[members["value"].isna() & members["number"].isin(LEVEL_KEYS)]
    lines = [
        f"level {int(level)}, no {', '.join(rows['number'].str.removesuffix('_bytes'))}: {reason}"
        for (level, reason), rows in unknown.dropna(subset=["reason"]).groupby(
            ["level", "reason"], sort=False
        )
    ]
    return Table(f"{experiment}: {label}", ["level", *LEVEL_KEYS.values()], levels, lines)


def numbers_table(experiment: str, members: pandas.DataFrame, label: str) -> Table:
    """All numbers of an experiment, and by what method each was found."""
    rows = members.to_dict("records")
    return Table(
        f"{experiment}: {label}",
        ["number", "where", "value [95 %]", "unit", "reason"],
        [
            [row["number"], where_text(row), number_text(row), row["unit"], row["reason"]]
            for row in rows
        ],
        dict.fromkeys(f"{row['number']}: {row['method']}" for row in rows if row["method"]),
    )


def characterization_tables(one: One) -> tuple[list[Table], list[Table], list[str]]:
    """(tables that stand open, folded ones, lines of what was not found)."""
    rows, label = frames.whole(one.frame), one.label
    is_latency = rows["experiment"].str.startswith("latency_") & (rows["number"] == "latency")
    latency = [
        [row["path"], number_text(row), row["reason"]]
        for row in rows[is_latency].to_dict("records")
    ]
    whole = rows[rows["experiment"].str.startswith("geometry_") & rows["number"].notna()]
    rest = rows[~rows.index.isin(whole.index)]
    answers = [
        [
            row["experiment"],
            row["number"].replace("_", " "),
            where_text(row),
            row["text"],
            row["reason"],
        ]
        for row in rest[rest["text"].notna()].to_dict("records")
    ]
    heads = ["experiment", "question", "where", "answer", "since"]
    made = [
        Table(f"Latency of a load: {label}", ["path", "cycles [95 %]", "reason"], latency),
        *(
            geometry_table(experiment, members, label)
            for experiment, members in whole.groupby("experiment", sort=False)
        ),
        Table(f"Answers: {label}", heads, answers),
    ]
    folded = [
        numbers_table(experiment, members, label)
        for experiment, members in rest[rest["value"].notna()].groupby("experiment", sort=False)
    ]
    skipped = [
        f"{row['experiment']} {row['status']}: {row['reason']}"
        for row in rows[rows["status"] != "ok"].to_dict("records")
    ]
    return [table for table in made if table.rows], folded, skipped


def card_table(one: One) -> Table:
    return Table(
        f"Card {one.content['name']}: values and their origins",
        ["key", "value [95 %]", "from", "method"],
        [
            [
                row["number"],
                number_text(row),
                row.get("origin") or row.get("experiment"),
                row["method"],
            ]
            for row in frames.whole(one.frame).to_dict("records")
        ],
    )


# -- comparisons, fleets, histories ----------------------------------------------------------------


def compared_row(cell: dict) -> list:
    """A cell of a comparison as a row of its table."""
    ratio, settle = cell["ratio"] or {}, cell["processes_to_decide"]
    changed = ", ".join(
        f"{counter['name']} {tables.count(documents.number(counter['base']))} →"
        f" {tables.count(documents.number(counter['new']))}"
        for counter in cell["counters"] or []
    )
    notes = [
        changed,
        cell["note"],
        "the SASS differs" if cell["sass_differs"] else None,
        f"{settle} processes a side would settle it" if settle else None,
    ]
    return [
        cell["identity"],
        cell["verdict"],
        tables.time(documents.number(cell["base_ns"])),
        tables.time(documents.number(cell["new_ns"])),
        f"{documents.number(ratio['value']):.4f}" if ratio else None,
        tables.interval(ratio.get("ci_low"), ratio.get("ci_high"), "{:.4f}".format),
        "; ".join(filter(None, notes)),
    ]


def difference_line(difference: dict) -> str:
    """A sentence about what differs between the sides of a comparison."""
    sides = " and ".join(difference[side] or "not known" for side in ("base", "new"))
    return f"{difference['context_field']} differs: {sides}" + (
        ""
        if difference["allowed"]
        else ", which is not allowed to differ (cbank compare --allow-diff)"
    )


def comparison_section(name: str, document: documents.Document) -> dict:
    """A comparison as the instrument judges it."""
    content = document.content
    options = content["options"]
    interval = f"{100 * options['confidence']:g} % interval"
    table = Table(
        f"Comparison of {name}: worst first",
        ["cell", "verdict", "base", "new", "new / base", interval, "notes"],
        list(map(compared_row, content["cells"])),
        [
            f"the same: the whole interval is in {1 - options['threshold']:g} to"
            f" {1 + options['threshold']:g}"
        ],
    )
    lines = list(map(difference_line, content["differences"]))
    return {"name": name, "summary": content["summary"], "lines": lines, "tables": [table]}


def fleet_section(one: One) -> dict:
    content = one.content
    failing = sum(finding["fails"] for finding in content["findings"])
    summary = (
        f"{content['answered']} of {content['expected'] or content['answered']} GPUs answered in"
        f" the night from {content['night']['first_utc']}, "
        + (tables.plural(failing, "finding") if failing else "nothing is worse")
    )
    rows = [
        [
            finding["kind"],
            finding["who"],
            tables.percent(finding["change"]),
            finding["since_utc"],
            finding["what"],
            finding["why"],
        ]
        for finding in content["findings"]
    ]
    return {
        "name": one.label,
        "summary": summary,
        "lines": [],
        "tables": [
            Table(
                f"Findings of {one.label}",
                ["verdict", "GPUs", "change of time, %", "since", "what", "changed then"],
                rows,
            )
        ],
    }


def history_section(one: One) -> dict:
    content = one.content
    changes = content["changes"]
    runs = {(row["file"], row["started_utc"], row["uuid"]) for row in content["rows"]}
    summary = (
        f"{tables.plural(len(runs), 'run')} on"
        f" {tables.plural(len({row['uuid'] or row['device'] for row in content['rows']}), 'GPU')}: "
        + (
            f"{tables.plural(len(changes), 'change')} of a level, the latest since"
            f" {changes[0]['since_utc']}"
            if changes
            else "no level changed"
        )
    )
    if content["levels"]:
        few = tables.plural(len(content["levels"]), "step")
        summary += f"; {few} in series with too few runs to tell a change from chance"
    rows = [
        [
            change["since_utc"],
            " ".join(filter(None, (change["host"], change["slot"], change["uuid"]))),
            change["cell"],
            tables.percent(change["change"]),
            tables.interval(change["ci_low"], change["ci_high"], tables.percent),
            change["driver_before"],
            change["driver_after"],
            change["with"],
        ]
        for change in changes[:ROWS_MAX]
    ]
    heads = [
        "since",
        "GPU",
        "cell",
        "change, %",
        "95 % interval, %",
        "driver before",
        "driver since",
        "changed with it",
    ]
    gone = [
        [run["started_utc"], run["uuid"], run["file"], run["forgotten_utc"], run["why"]]
        for run in content["forgotten"]
    ]
    made = [
        Table(
            f"Levels that changed: {one.label}",
            heads,
            rows,
            [f"and {len(changes) - ROWS_MAX} earlier ones"] if len(changes) > ROWS_MAX else [],
        ),
        Table(
            f"Runs that cbank ingest --forget took out: {one.label}",
            ["started", "UUID", "file", "forgotten", "why"],
            gone,
        ),
    ]
    return {"name": one.label, "summary": summary, "lines": [], "tables": made}
