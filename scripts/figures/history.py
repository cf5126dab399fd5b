# SPDX-License-Identifier: MIT
"""The series of cells over time: a line for each GPU, and where its level changed."""

import datetime

from . import documents, panels, style

NAME = "history"
PLACE = 95
SUMMARY = "the time of cells night by night, a line for each GPU, with the levels that changed"
TAKES = ("history",)
NEEDS = "a history of cells (cbank history STORE --cell CELL --json)"
METHOD = ("Times: trimmed means over the placements. Level changed: the first run of a level that cbank history found, "
          "with the change from the level before and its interval of 95 %.")
COLUMNS = (*documents.CELL_KEYS, "parameters", "device", "uuid", "host", "slot", "driver", "engine", "started_utc", "time_ns",
           "state", "change", "change_low", "change_high", "with", "source", "source_sha256")

NAMED_MAX = 6  # GPUs that have a look of their own: those that changed most
PANELS_MAX = {True: 6, False: 4}  # a page, by whether it is wide
PANEL_MM = 42
LOOKS = [style.Look(color, None, dashes, "") for color, dashes in (
    (style.RED, style.SOLID), (style.BLUE, style.DASHED), (style.GREEN, style.DASH_DOT), (style.PURPLE, style.LONG),
    (style.BLACK, style.TWO_DOTS), (style.SKY, style.CLOSE))]
MARKS = {True: ("^", "level changed, with driver, VBIOS or code"), False: ("o", "level changed")}


def cell_of(identity):
    """The parts of an identity, as a result has them."""
    *parts, last = identity.split("/", len(documents.CELL_KEYS) - 1)
    regime, *parameters = last.split("/")
    return {**{key: int(part) if part.isdigit() else part for key, part in zip(documents.CELL_KEYS, (*parts, regime))},
            "parameters": dict(parameter.split("=", 1) for parameter in parameters)}


def rows(document, selection=documents.ALL):
    content = document.content
    changes = {(change["cell"], change["uuid"], change["since_utc"]): change for change in content["changes"]}
    made = []
    for row in content["rows"]:
        if row.get("time_ns") is None:
            continue
        cell = cell_of(row["cell"])
        change = changes.get((row["cell"], row["uuid"], row["started_utc"]), {})
        if cell in selection:
            made.append({**documents.identity(cell), **{key: row[key] for key in ("device", "uuid", "host", "slot", "driver", "engine")},
                         "started_utc": row["started_utc"], "time_ns": documents.positive(row["time_ns"]),
                         "state": row["state"], "change": change.get("change"), "change_low": change.get("ci_low"),
                         "change_high": change.get("ci_high"), "with": change.get("with"), **document.source()})
    if not made:
        with_cells = any("time_ns" in row for row in content["rows"])
        raise documents.NotDrawn("no chosen cell has a time" if with_cells else
                                 "it has no times of cells: cbank history --cell CELL --json")
    return made


def table(made):
    """The levels that changed; without any the last night of each GPU."""
    changed = [row for row in made if row["change"] is not None]
    return changed or list({(cell_key(row), series_key(row)): row for row in made}.values())


def cell_key(row):
    return (*panels.panel_of(row), row["path"], *panels.group_of(row))


def series_key(row):
    return row["device"] or "", row["uuid"] or "", row["engine"]


def pages(made, width_mm):
    by_cell = panels.grouped(made, cell_key)
    return [[row for cell in part for row in by_cell[cell]]
            for part in panels.parted(list(by_cell), PANELS_MAX[style.wide(width_mm)])]


def says(made):
    changed = [row for row in made if row["change"] is not None]
    words = f"{len({series_key(row) for row in made})} GPUs, {len({cell_key(row) for row in made})} cells, " \
            f"{len({row['started_utc'] for row in made})} starts: "
    if not changed:
        return words + "no level changed."
    most = max(changed, key=lambda row: abs(row["change"]))
    return words + (f"{len(changed)} changes of a level, the largest {100 * most['change']:+.2f} % ({panels.cell_text(most)}, "
                    f"{series_text(most)}, since {most['started_utc'][:10]}).")


# -- drawing ------------------------------------------------------------------------------------------------------


def series_text(row):
    """n17:07:00.0 GPU-33a20bea."""
    place = ":".join(filter(None, (row["host"], (row["slot"] or "").removeprefix("00000000:"))))
    uuid = "-".join((row["uuid"] or "").split("-")[:2])
    return " ".join(filter(None, (place, uuid))) or row["device"] or "GPU"


def looks_of(made):
    """{series: (Look, label)} of those that changed most; where there are few GPUs, of all."""
    series = panels.grouped(made, series_key)
    most = {key: max((abs(row["change"] or 0) for row in members), default=0) for key, members in series.items()}
    few = len(series) <= NAMED_MAX
    named = sorted((key for key in series if few or most[key]), key=lambda key: (-most[key], key))[:NAMED_MAX]
    return {key: (its, series_text(series[key][-1])) for key, its in zip(named, LOOKS)}


def handles_of(made, looks):
    from matplotlib.lines import Line2D
    found = [(Line2D([], [], color=its.color, linestyle=its.dashes), label) for its, label in looks.values()]
    others = len({series_key(row) for row in made}) - len(looks)
    if others:
        found.append((Line2D([], [], color="0.75"), "1 other GPU" if others == 1 else f"{others} other GPUs"))
    marks = sorted({bool(row["with"]) for row in made if row["change"] is not None})
    return found + [(Line2D([], [], linestyle="none", marker=MARKS[its][0], color="white", markeredgecolor="black"), MARKS[its][1])
                    for its in marks]


def draw(made, width_mm, note=None):
    by_cell = panels.grouped(made, cell_key)
    across = min(len(by_cell), 2) if style.wide(width_mm) else 1
    down = -(-len(by_cell) // across)
    looks = looks_of(made)
    figure, body = style.figure(width_mm, down * PANEL_MM + 6, handles_of(made, looks), note)
    axes = panels.grid(body, len(by_cell), across)
    for each, members in zip(axes, by_cell.values()):
        draw_panel(each, members, looks)
        each.set_title(title_of(members[0]), loc="left")
    return figure


def title_of(row):
    return f"{panels.cell_text(row)}\n{panels.panel_text(panels.panel_of(row))}"


def draw_panel(axes, members, looks):
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    unit, factor = style.time_unit(max(row["time_ns"] for row in members))
    series = panels.grouped(members, series_key)
    for key in sorted(series, key=lambda its: (its in looks, its)):  # those with a look of their own on top
        its = looks[key][0] if key in looks else None
        when = [time_of(row) for row in series[key]]
        axes.plot(when, [row["time_ns"] / factor for row in series[key]], marker="." if len(when) == 1 else None,
                  **({"color": its.color, "linestyle": its.dashes, "zorder": 3} if its else {"color": "0.75", "linewidth": 0.4, "zorder": 2}))
        for row in series[key]:
            if row["change"] is not None:
                axes.plot(time_of(row), row["time_ns"] / factor, marker=MARKS[bool(row["with"])][0], markeredgecolor="black",
                          markeredgewidth=0.4, color=its.color if its else "0.75", zorder=4 if its else 2.5)
    locator = AutoDateLocator(minticks=3, maxticks=6)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator, show_offset=False))
    axes.set_xlabel(f"start of the run, UTC, from {members[0]['started_utc'][:10]} on")
    axes.set_ylabel(f"time, {unit}")


def time_of(row):
    return datetime.datetime.strptime(row["started_utc"], "%Y-%m-%dT%H:%M:%SZ")
