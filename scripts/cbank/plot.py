# SPDX-License-Identifier: MIT
"""`cbank plot`: figures of papers from results, characterizations, comparisons, verdicts on fleets
and histories.

Each page answers one question. It is written in the formats asked for, as CSV with exactly what is
drawn, and as a sentence that says what it shows (.txt). Prints the files written; says on standard
error what is not drawn, and why.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import dataclasses
import fnmatch
import multiprocessing
import os
import signal
from collections.abc import Iterator

import pandas

from . import documents, files, instrument
from .errors import Failure, Parser, printable, say
from .figures import alike, draw, kinds, style
from .figures.source import NotDrawn, Source

PAGES_MAX = 3  # of a figure, unless all are asked for
SAME_TIMES = 1.05  # dots of pictures that differ by less are at one place in print


def width(text: str) -> float:
    """In mm."""
    with contextlib.suppress(ValueError):
        value = style.WIDTHS_MM.get(text) or float(text.removesuffix("mm"))
        if 40 <= value <= 1000:
            return value
    raise argparse.ArgumentTypeError(f"'{text}' is not one, two or a number of 40 to 1000 mm")


def formats(text: str) -> list[str]:
    for name in set(text.split(",")) - {*draw.FORMATS, "csv"}:
        raise argparse.ArgumentTypeError(
            f"no format '{name}'; there are: {', '.join(draw.FORMATS)}, csv"
        )
    return [name for name in draw.FORMATS if name in text.split(",")]


def options(words: list[str]) -> argparse.Namespace:
    listing = "figures:\n" + "\n".join(
        f"  {name:<14} {kind.summary}; needs a {' and a '.join(kind.takes)}"
        for name, kind in kinds.KINDS.items()
    )
    parser = Parser(prog="cbank plot", description=__doc__, epilog=listing)
    view = parser.topic("View")
    output = parser.topic("Output")
    parser.writes(
        "-o",
        "--output",
        group=output,
        metavar="DIR",
        default="results/local/figures",
        help="default: %(default)s",
    )
    view.add_argument(
        "--figure",
        metavar="NAME",
        action="append",
        choices=kinds.KINDS,
        help="this figure (several times: these); default: all but samples",
    )
    view.add_argument("--all", action="store_true", help="also long and repeated figures, samples")
    view.add_argument(
        "--together",
        action="store_true",
        help="one figure of all files, with a series for each device or file",
    )
    output.add_argument(
        "--format",
        metavar="LIST",
        type=formats,
        default="pdf",
        help="of pdf, svg and png, or csv for the data without a picture; default: %(default)s",
    )
    output.add_argument(
        "--width",
        type=width,
        default="two",
        help="one or two (columns: 85 and 175 mm) or millimetres; default: %(default)s",
    )
    parser.reads(
        "--style",
        group=output,
        metavar="NAME",
        help="ieee, acm, nature, or a matplotlib style sheet on top of cbank's",
    )
    view.add_argument(
        "--select",
        metavar="KEY=GLOB,GLOB,...",
        action="append",
        default=[],
        help=(
            "cells that fit all KEYs, each by any of its GLOBs, such as"
            " 'path=constant,global,pattern=per_*'; several times: by any of the lists"
        ),
    )
    parser.reads("files", metavar="FILE", nargs="+", help="documents, or folders of them")
    return parser.parse_args(words)


# -- what is drawn ---------------------------------------------------------------------------------


def select(sources: list[Source], lists: list[str]) -> None:
    """Keeps the rows of the sources that fit one of the lists of KEY=GLOB,GLOB."""
    terms = [collections.defaultdict(list) for _ in lists]
    known = {column for source in sources for column in source.frame.columns}
    for of, words in zip(terms, lists):
        key = ""
        for part in words.split(","):
            key, glob = part.split("=", 1) if "=" in part else (key, part)
            if not key or not glob:
                raise Failure(
                    f"--select: '{part}' is not KEY=GLOB, such as path=constant or pattern=per_*"
                )
            if key not in known:
                raise Failure(
                    f"--select: no row has '{key}'; there are: {', '.join(sorted(known))}"
                )
            of[key].append(glob)
    without = collections.Counter()
    for source in sources if terms else []:
        rows = source.frame.to_dict("records")
        source.frame = source.frame[
            [any(all(fits(row, *term) for term in of.items()) for of in terms) for row in rows]
        ]
        without.update(
            key for row in rows for key in {key for of in terms for key in of} if lacks(row, key)
        )
    for key, count in without.items():
        say("", f"--select: {count} rows have no {key}, and are left out")


def lacks(row: dict, key: str) -> bool:
    """Whether a row has no value. One address has no distance to the next: it is the first point
    of every line."""
    its = row.get(key)
    return (its is None or its != its) and not (key == "stride_bytes" and row.get("distinct") == 1)


def fits(row: dict, key: str, globs: list[str]) -> bool:
    value = row.get(key)
    if value is None or value != value:
        return not lacks(row, key)
    word = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    return any(fnmatch.fnmatchcase(word, glob) for glob in globs)


def drawings(sources: list[Source], figures: list[str] | None = None) -> tuple[list, list]:
    """(drawings of all figures, [(figure, names of documents, why it is not drawn)]). figures:
    names; None: all."""
    made, missing = [], []
    for name in figures or [name for name, kind in kinds.KINDS.items() if not kind.asked]:
        kind = kinds.KINDS[name]
        takes = [source for source in sources if source.kind in kind.takes]
        if not takes:
            missing.append((name, "", f"needs a {' and a '.join(kind.takes)}"))
        for group in (
            [takes]
            if kind.combines and takes
            else [[source] for source in takes if not kind.combines]
        ):
            names = "" if kind.combines else group[0].document.name
            try:
                with documents.blamed([source.document for source in group]):
                    made += [
                        (dataclasses.replace(drawing, way=kind.way), names)
                        for drawing in kind.make(group)
                    ]
            except NotDrawn as reason:
                missing.append((name, names, str(reason)))
    return made, missing


def together(found: list[tuple[draw.Drawing, str]]) -> list[tuple[draw.Drawing, str]]:
    """Merges drawings of several files that have the same kind and units; the series name the
    device, or the file."""
    groups, made = {}, []
    for drawing, names in found:
        same = (
            (drawing.kind, *drawing.labels.items(), drawing.stem.partition("-sweep")[2])
            if names
            else drawing.stem
        )
        groups.setdefault(same, []).append((drawing, names))
    for group in groups.values():
        parts = [drawing for drawing, _ in group]
        devices = [
            (drawing.documents[0].content.get("device") or {})
            .get("name", drawing.stem)
            .removeprefix("NVIDIA ")
            for drawing in parts
        ]
        of = devices if len(set(devices)) == len(parts) else [names for _, names in group]
        if len(parts) > 1:
            rows = pandas.concat(
                [
                    drawing.rows.assign(
                        series=drawing.rows["series"].where(
                            drawing.rows["series"].isna(),
                            drawing.rows["series"].astype(str) + f" ({name})",
                        )
                    )
                    for drawing, name in zip(parts, of)
                ]
            )
            parts = [
                dataclasses.replace(
                    parts[0],
                    stem=f"{parts[0].kind}-together",
                    rows=rows.drop(columns="text", errors="ignore"),
                    aside="",
                    sentence=" ".join(
                        f"{name}: {drawing.sentence}" for drawing, name in zip(parts, of)
                    ),
                    documents=[document for drawing in parts for document in drawing.documents],
                )
            ]
        made.append((parts[0], "" if len(group) > 1 else group[0][1]))
    return made


def pages(
    sources: list[Source],
    width_mm: float,
    figures: list[str] | None = None,
    everything: bool = False,
    merged: bool = False,
) -> tuple[list[draw.Drawing], list]:
    """(pages to draw, what is missing). The stems of the pages differ."""
    found, missing = drawings(sources, figures or (list(kinds.KINDS) if everything else None))
    found = together(found) if merged else found
    if not (everything or figures):
        found, told = without_repeats(found)
        missing += told
    name_chips([drawing for drawing, _ in found])
    made, taken = [], collections.Counter()
    for drawing, names in found:
        taken[drawing.stem] += 1
        if taken[drawing.stem] > 1:
            drawing.stem += f"-file{taken[drawing.stem]}"
        with documents.blamed(drawing.documents):
            parts = draw.pages(drawing, width_mm)
        if len(parts) > PAGES_MAX and not (everything or figures):
            missing.append(
                (
                    drawing.kind,
                    names,
                    f"it would be {len(parts)} pages; --all draws them, --select chooses",
                )
            )
        else:
            made += parts
    return made, missing


def chip_of(drawing: draw.Drawing) -> str:
    """The GPU of a drawing as words of a name: h100-80gb-hbm3."""
    (device, *_) = draw.devices(drawing.documents[0]) or [{}]
    return documents.stem_of(device.get("name", "").removeprefix("NVIDIA ")).lower()


def name_chips(drawn: list[draw.Drawing]) -> None:
    """Files of two chips that would have one name are named by their chips."""
    chips = collections.defaultdict(set)
    for drawing in drawn:
        chips[drawing.stem].add(chip_of(drawing))
    for drawing in drawn:
        if len(chips[drawing.stem]) > 1:
            drawing.stem = f"{chip_of(drawing)}-{drawing.stem}"


def without_repeats(found: list) -> tuple[list, list]:
    """(drawings of dots that do not repeat another's picture, what is missing)."""
    kept, missing = [], []
    for drawing, names in found:
        first = next((other for other, _ in kept if repeats(drawing, other)), None)
        if first is None:
            kept.append((drawing, names))
        else:
            missing.append(
                (
                    drawing.kind,
                    names,
                    f"its times are those of {first.documents[0].name} within"
                    f" {100 * (SAME_TIMES - 1):.0f} %; --figure {drawing.kind} draws it",
                )
            )
    return kept, missing


def repeats(drawing: draw.Drawing, other: draw.Drawing) -> bool:
    if (drawing.kind, drawing.labels, chip_of(drawing)) != (
        other.kind,
        other.labels,
        chip_of(other),
    ) or drawing.way != "dots":
        return False
    its, known = (
        dict(zip(zip(rows["panel"], rows["row"], rows["series"]), rows["x"]))
        for rows in (drawing.rows, other.rows)
    )
    return alike.near(its, known, SAME_TIMES)


def grouped(missing: list) -> list:
    """What is missing, a line a reason: of many files the first are named."""
    files_of = collections.defaultdict(list)
    for name, of, why in missing:
        files_of[name, why].append(of)
    return [
        (name, ", ".join(of[:2]) + (f" and {len(of) - 2} more" if len(of) > 2 else ""), why)
        for (name, why), of in files_of.items()
    ]


# -- files -----------------------------------------------------------------------------------------


def draw_page(task: tuple) -> list[str]:
    """Writes the files of a page; their paths."""
    drawing, folder, width_mm, forms, own_style = task
    with documents.blamed(drawing.documents), style.sheet(own_style):
        figure = draw.draw(drawing, width_mm) if forms else None
        made = {form: draw.picture_bytes(figure, drawing, form) for form in forms}
        made.update(
            {
                "csv": draw.csv_text(drawing).encode(),
                "txt": "".join(
                    f"{line}\n" for line in (drawing.sentence, drawing.conditions) if line
                ).encode(),
            }
        )
    paths = [os.path.join(folder, f"{drawing.stem}.{ending}") for ending in made]
    for path, data in zip(paths, made.values()):
        files.write(path, data)
    return paths


def begin_to_draw(parent: int) -> None:
    """What each process that draws does first. Ctrl-C comes to all: the parent alone says so."""
    instrument.die_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def draw_all(
    drawn: list[draw.Drawing],
    folder: str,
    width_mm: float,
    forms: list[str],
    own_style: str | None = None,
) -> Iterator[list[str]]:
    """Yields the paths of the files of each page, drawn by as many processes as there are
    processors."""
    tasks = [(drawing, folder, width_mm, forms, own_style) for drawing in drawn]
    with contextlib.ExitStack() as stack:
        try:
            each = stack.enter_context(
                multiprocessing.get_context("fork").Pool(
                    max(1, min(len(os.sched_getaffinity(0)), len(tasks))),
                    begin_to_draw,
                    (os.getpid(),),
                )
            ).imap
        except OSError:  # no /dev/shm, where its locks are
            each = map
        yield from each(draw_page, tasks)


def main(words: list[str]) -> int:
    """Runs the command line `words`, without the name of the command; returns the exit code."""
    asked = options(words)
    if asked.style and asked.style not in style.SHEETS and not os.path.exists(asked.style):
        raise Failure(
            f"--style: there is no file {asked.style}; name ieee, acm, nature or a style sheet of"
            " matplotlib"
        )
    if asked.style and asked.style not in style.SHEETS:
        files.opened(asked.style).close()
    found, _ = documents.read_all(asked.files)
    sources = [Source(document) for document in found]
    select(sources, asked.select)
    files.make_folder(asked.output)
    drawn, missing = pages(sources, asked.width, asked.figure, asked.all, asked.together)
    for name, of, why in grouped(missing):
        say("", f"{name}{' of ' + of if of else ''} is not drawn: {why}")
    for paths in draw_all(drawn, asked.output, asked.width, asked.format, asked.style):
        print(*map(printable, paths), sep="\n", flush=True)
    if not drawn:
        raise Failure(f"no figure can be drawn of {', '.join(asked.files)}")
    return 0
