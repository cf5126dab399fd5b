# SPDX-License-Identifier: MIT
"""`cbank atlas`: several chips side by side: each fact about their constant path, with its
interval and its source."""

from __future__ import annotations

import sys
from collections import namedtuple
from collections.abc import Iterator

import pandas

from . import documents, frames, tables, text
from .errors import Failure, Parser, printable
from .figures.source import Source

# A fact: its name; the experiment of a characterization, its level, and the name of the number; the
# key of a card; whether its ends are the least and the largest, and no interval of 95 %.
Fact = namedtuple("Fact", "name where key spread", defaults=(False,))
ROWS = (
    (
        "L1 constant cache, size (bytes)",
        ("geometry_constant", 1, "capacity_bytes"),
        "constant_l1_bytes",
    ),
    ("L1 constant cache, line (bytes)", ("geometry_constant", 1, "line_bytes"), None),
    ("L1 constant cache, ways", ("geometry_constant", 1, "ways"), None),
    ("L1 constant cache, replacement", ("geometry_constant", 1, "replacement_name"), None),
    ("L1 constant cache, latency (cycles)", ("latency_constant", None, "latency"), None),
    ("L1.5 constant cache, size (bytes)", ("geometry_constant_modules", 2, "capacity_bytes"), None),
    ("L1.5 constant cache, line (bytes)", ("geometry_constant_modules", 2, "line_bytes"), None),
    ("L1.5 constant cache, ways", ("geometry_constant_modules", 2, "ways"), None),
    (
        "L1.5 constant cache, replacement",
        ("geometry_constant_modules", 2, "replacement_name"),
        None,
    ),
    (
        "L1.5 constant cache, latency over SMs (cycles)",
        ("geometry_constant_modules", 2, "latency"),
        None,
        True,
    ),
    ("L1.5 constant caches of so many SMs", ("sharing_constant", None, "group_sizes"), None),
    (
        "per extra distinct address, latency (cycles)",
        ("serialization_constant", None, "latency_per_extra_address"),
        None,
    ),
    (
        "per extra distinct address, throughput (SM cycles)",
        ("serialization_constant", None, "cycles_per_load_per_extra_address"),
        "constant_address_cycles",
    ),
    (
        "constant, throughput (loads per cycle per SM)",
        ("throughput_constant", None, "loads_per_cycle"),
        None,
    ),
    ("uniform path, latency (cycles)", ("latency_constant_uniform", None, "latency"), None),
    (
        "uniform path, throughput (loads per cycle per SM)",
        ("throughput_constant_uniform", None, "loads_per_cycle"),
        None,
    ),
    ("L1, latency (cycles)", ("latency_global", None, "latency"), "l1_latency_cycles"),
    ("L1, working set that hits (bytes)", ("geometry_global", 1, "fits_bytes"), None),
    (
        "L2, latency over lines (cycles)",
        ("geometry_global", 2, "latency"),
        "l2_latency_cycles",
        True,
    ),
    ("L2, size (bytes)", None, "l2_bytes"),
    ("launch overhead (ns)", None, "launch_ns"),
)
FACTS = tuple(Fact(*row) for row in ROWS)
# Numbers that a card quotes, by name and level, and the fact that they are of.
QUOTED = {
    ("capacity", 1): 0,
    ("capacity_bytes", 1): 0,
    ("line_bytes", 1): 1,
    ("latency", 1): 4,
    ("capacity", 2): 5,
    ("capacity_bytes", 2): 5,
    ("line_bytes", 2): 6,
    ("latency", 2): 9,
}
OF_OTHERS = ("characterized", "results")  # origins in a card: a fact of other documents
STRIDE = 4  # bytes between distinct addresses
COLUMNS = ["chip", "fact", "value", "low", "high", "text", "source", "reason"]


def facts(sources: list[Source]) -> pandas.DataFrame:
    """A table of COLUMNS with the values of all sources. A card that is of no measured chip is a
    chip by itself."""
    measured = {source.content["device"]["name"] for source in sources if source.kind != "card"}
    made = []
    for source in sources:
        if source.kind == "card":
            words = source.content["name"].upper().split()
            chip = next(
                (name for name in sorted(measured) if set(words) <= set(name.upper().split())),
                source.content["name"],
            )
            made += of_card(chip, source)
        elif source.kind == "characterization":
            made += of_characterization(source)
        elif source.content["engine"] == "cuda" and source.content["device"].get("launch_ns"):
            launch = source.content["device"]["launch_ns"]
            made.append(
                [
                    source.content["device"]["name"],
                    "launch overhead (ns)",
                    launch,
                    None,
                    None,
                    None,
                    "results, the median of them",
                    None,
                ]
            )
    rows = pandas.DataFrame(made, columns=COLUMNS)
    own = rows["source"].isin(OF_OTHERS)  # what a card repeats of documents that are here
    rows = rows[~own | (rows.groupby(["chip", "fact"])["source"].transform("nunique") == 1)]
    launches = rows["source"] == "results, the median of them"
    medians = (
        rows[launches]
        .groupby("chip")["value"]
        .agg(value="median", low="min", high="max")
        .reset_index()
    )
    parts = rows[~launches], medians.assign(
        fact="launch overhead (ns)", source="results, the median of them"
    ).reindex(columns=COLUMNS)
    # pandas warns of empty ones
    return pandas.concat([part for part in parts if len(part)] or [rows], ignore_index=True)


def of_characterization(source: Source) -> Iterator[list]:
    chip, rows = source.content["device"]["name"], frames.whole(source.frame)
    for name, where, *_ in FACTS:
        if where is None:
            continue
        experiment, level, number = where
        found = rows[(rows["experiment"] == experiment) & (rows["number"] == number)]
        found = (
            found[found["level"] == level]
            if level
            else found[found["stride_bytes"].fillna(STRIDE) == STRIDE]
        )
        if number == "loads_per_cycle":
            found = found.sort_values("value", ascending=False)
        if len(found):
            row = found.iloc[0]
            yield [
                chip,
                name,
                row["value"],
                row["low"],
                row["high"],
                row.get("text"),
                f"characterized, {source.document.name}",
                row["reason"],
            ]


def of_card(chip: str, source: Source) -> Iterator[list]:
    rows = frames.whole(source.frame)
    by_key = {row["number"]: row for row in rows[rows["origin"].notna()].to_dict("records")}
    for name, _, key, _ in FACTS:
        row = by_key.get(key)
        if row:
            method = f": {row['method']}" if row["origin"] == "published" and row["method"] else ""
            yield [
                chip,
                name,
                row["value"],
                row["low"],
                row["high"],
                row.get("text"),
                f"{row['origin']}{method}",
                None,
            ]
    for row in rows[rows["origin"].isna()].to_dict("records"):
        index = QUOTED.get((row["number"], row.get("level")))
        if index is not None and row["experiment"] == "published":
            yield [
                chip,
                FACTS[index][0],
                row["value"],
                row["low"],
                row["high"],
                None,
                f"published: {row['method']}",
                None,
            ]


def agree(rows: pandas.DataFrame) -> bool:
    """Whether intervals touch, or names are the same."""
    if rows["text"].notna().any():
        return rows["text"].nunique() < 2
    return rows["low"].fillna(rows["value"]).max() <= rows["high"].fillna(rows["value"]).min()


def grid(rows: pandas.DataFrame) -> tuple[list[str], dict[str, list], list[str]]:
    """(names of chips, {fact: texts}, notes). A number in round brackets names the source, and
    stands below."""
    known = rows[rows["value"].notna() | rows["text"].notna()].drop_duplicates(
        ["chip", "fact", "value", "text", "source"]
    )
    chips, numbers, notes, lines = list(dict.fromkeys(rows["chip"])), {}, [], {}
    for name, *_, spread in FACTS:
        texts = []
        for chip in chips:
            its = known[(known["chip"] == chip) & (known["fact"] == name)]
            marks = "".join(
                f"({numbers.setdefault(source, len(numbers) + 1)})"
                for source in dict.fromkeys(its["source"])
            )
            said = [
                (
                    row["text"]
                    if isinstance(row["text"], str)
                    else tables.with_ends(row["value"], row["low"], row["high"], spread)
                )
                for row in its.to_dict("records")
            ]
            apart = len(its) > 1 and not agree(its)
            if apart:
                notes.append(
                    f"{chip}, {name}: sources disagree: "
                    + "; ".join(f"{text} ({source})" for text, source in zip(said, its["source"]))
                )
            texts.append(f"{'⚠ ' * apart}{said[0]} {marks}" if said else None)
        if any(texts):
            lines[name] = texts
    return chips, lines, notes + [f"({number}) {source}" for source, number in numbers.items()]


def table(sources: list[Source]) -> tables.Table | None:
    """The table of a report; None where there are not two chips."""
    chips, lines, notes = grid(facts(sources))
    if len(chips) < 2:
        return None
    return tables.Table(
        "Chips side by side",
        ["fact", *chips],
        [[name, *texts] for name, texts in lines.items()],
        notes,
    )


def main(words: list[str]) -> int:
    """Runs the command line `words`, without the name of the command; returns the exit code."""
    parser = Parser(prog="cbank atlas", description=__doc__)
    parser.add_argument(
        "--csv",
        action="store_true",
        help="every value of every source as CSV: " + ", ".join(COLUMNS),
    )
    parser.add_argument("--markdown", action="store_true", help="a Markdown table")
    parser.reads(
        "files",
        metavar="DIR",
        nargs="+",
        help="folders of chips, or results, characterizations and cards",
    )
    asked = parser.parse_args(words)
    found, _ = documents.read_all(asked.files)
    sources = [
        Source(document)
        for document in found
        if document.kind in ("result", "characterization", "card")
    ]
    if not sources:
        raise Failure(
            "no result, characterization or card is among these files; name the folder of a chip,"
            " such as results/chips/h200"
        )
    with documents.blamed([source.document for source in sources]):
        rows = facts(sources)
        if asked.csv:
            sys.stdout.write(text.csv_text(rows))
            return 0
        chips, lines, notes = grid(rows)
    columns = [
        text.Column(text.markdown_text(heading) if asked.markdown else printable(heading))
        for heading in ("fact", *chips)
    ]
    cells = [
        list(lines),
        *([printable(its or tables.NONE) for its in of] for of in zip(*lines.values())),
    ]
    made = text.markdown(columns, cells) if asked.markdown else text.table(columns, cells)
    print(
        *made,
        "",
        *(f"- {text.markdown_text(note) if asked.markdown else printable(note)}" for note in notes),
        sep="\n",
    )
    return 0
