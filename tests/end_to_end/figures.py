#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of cbank plot. Every kind of figure is drawn from committed results. Its data are those
of the documents, its bytes are the same each time, and its words can be read. CBANK names the
program (default build/cbank)."""

import atexit
import dataclasses
import functools
import glob
import json
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ET
from unittest import mock

import numpy
import pandas
from matplotlib.axis import XAxis, YAxis
from matplotlib.legend import Legend
from matplotlib.spines import Spine

from common import CBANK, FULL, ROOT, Scratch, analysis, read_bytes, read_json

import cbank
from cbank import documents, plot
from cbank.figures import alike, cells, draw, kinds, probes, source, style, verdicts, ways

sys.path.append(os.path.join(ROOT, "scripts/studies"))
import energy_trial  # noqa: E402

RESULTS = {
    name: os.path.join(ROOT, path)
    for name, path in {
        "h200": "results/chips/h200/core-matrix.json",
        "h100": "results/chips/h100/core-matrix.json",
        "second": "results/h200/second-process.json",
        "lookup": "results/h200/sweeps/lookup.json",
        "distinct": "results/h200/serialization.json",
        "warps": "results/h200/sweeps/warps.json",
        "convolution": "results/h200/convolution.json",
        "widths": "results/chips/h200/widths.json",
        "suite": "results/h100/kernels/suite.json",
        "h200_chip": "results/chips/h200/characterization.json",
        "h100_chip": "results/chips/h100/characterization.json",
    }.items()
}
CELLS = os.path.join(ROOT, "results/h200/all-paths.json")
ENERGY_KEYS = read_json(os.path.join(ROOT, "results/schema.json"))["properties"]["cells"]["items"][
    "properties"
]["energy"]["required"]


def with_energy(content):
    """A result whose cells have the energy of a lookup: 1, 2, 3 ... pJ, the first held down."""
    for number, cell in enumerate(content["cells"], 1):
        pico = number / 1e12
        cell["energy"] = {
            **dict.fromkeys(ENERGY_KEYS, None),
            "launch_j": 1e-3,
            "launch_low_j": 9e-4,
            "launch_high_j": 1.1e-3,
            "lookup_j": pico,
            "lookup_low_j": 0.9 * pico,
            "lookup_high_j": 1.2 * pico,
            "steps": 20,
            "limits": ["power_cap"] * (number == 1),
        }
    return content


@functools.lru_cache
def fleet_documents():
    """Paths of a verdict on a made-up fleet in which some GPUs changed, and of the history of a
    cell there."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    store, *made = (
        os.path.join(folder.name, name) for name in ("store.db", "fleet.json", "history.json")
    )
    subprocess.run(
        [
            "/usr/bin/python3",
            os.path.join(ROOT, "scripts/studies/make_fleet.py"),
            store,
            "--gpus",
            "40",
            "--nights",
            "16",
        ],
        check=True,
    )
    for path, words in zip(
        made,
        (
            ["fleet", store, "--json", "-"],
            ["history", store, "--cell", "add/constant/per_warp/128000/*", "--json"],
        ),
    ):
        with open(path, "w", encoding="utf-8") as file:
            subprocess.run([CBANK, *words], stdout=file, check=False)
    return made


def sources(*paths):
    return [source.Source(documents.load(path)) for path in paths]


class Case(Scratch):
    def plot(self, *words, status=0):
        done = analysis("plot", "-o", self.path("out"), *words)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def rows(self, name):
        return pandas.read_csv(self.path(f"out/{name}.csv"), keep_default_na=True)

    def files(self, ending):
        return sorted(glob.glob(self.path(f"out/*.{ending}")))


class Drawn(Case):
    """Every kind from committed results, read as the programs read it that show it."""

    def all_documents(self):
        path = self.path("comparison.json")
        subprocess.run(
            [CBANK, "compare", "--quiet", "--json", path, RESULTS["h200"], RESULTS["second"]],
            check=True,
        )
        return [
            RESULTS[name]
            for name in ("h200", "h100", "lookup", "distinct", "suite", "h200_chip", "h100_chip")
        ] + [
            path,
            self.write("joules.json", with_energy(read_json(RESULTS["second"]))),
            *fleet_documents(),
        ]

    def test_every_kind_in_every_format(self):
        # pictures: those of the docs, below
        endings = ("svg", "pdf", "png", "csv", "txt") if FULL else ("csv", "txt")
        done = self.plot("--all", "--format", ",".join(endings[:-1]), *self.all_documents())
        files = {ending: self.files(ending) for ending in endings}
        self.assertEqual(
            {
                re.sub(r"(-file\d+)?(-\d+)?\.csv$", "", path).split("/")[-1].split("-")[-1]
                for path in files["csv"]
            },
            set(kinds.KINDS),
        )
        self.assertEqual(
            {tuple(path.rsplit(".", 1)[0] for path in found) for found in files.values()},
            {tuple(path[:-4] for path in files["csv"])},
        )
        self.assertEqual(
            sorted(done.stdout.split()), sorted(path for found in files.values() for path in found)
        )
        for path in files["txt"]:
            self.assertRegex(
                read_bytes(path).decode(), r"\A[A-Z0-9][^\n]*\.\n([A-Z0-9][^\n]*\.\n)?\Z"
            )

    def test_the_same_files_give_the_same_bytes(self):
        def bytes_of(folder):
            self.plot(
                "-o",
                folder,
                "--format",
                "svg,pdf,png",
                RESULTS["h200"],
                *[RESULTS["h200_chip"]] * FULL,
            )
            return {
                name: read_bytes(os.path.join(folder, name)) for name in sorted(os.listdir(folder))
            }

        with mock.patch.dict(os.environ, {"TZ": "Asia/Tokyo", "SOURCE_DATE_EPOCH": "1"}):
            first = bytes_of(self.path("one"))
        self.assertEqual(bytes_of(self.path("two")), first)
        for name in (name for name in first if name.endswith(".pdf")):
            # Type 42 fonts can be searched
            self.assertTrue(first[name].startswith(b"%PDF") and b"/Type3" not in first[name], name)

    def test_figures_can_be_printed(self):
        """Those of make plots and every kind at both widths, or every kind at the narrow one:
        words, size and ink."""
        asked = subprocess.run(
            ["make", "-s", "--eval", "files: ; @echo $(FILES)", "files", "CUDA="],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        files = [
            path
            for word in asked.split()
            for path in glob.glob(os.path.join(ROOT, word))
            if "two-processes" not in path
        ]
        self.assertGreater(len(files), 10)
        chips = [
            files,
            [path for word in files for path in glob.glob(word.replace("h200", "h100"))],
            self.all_documents(),
        ]
        widths = list(style.WIDTHS_MM.values())[: None if FULL else 1]
        pages = [
            (page, width)
            for names in chips[0 if FULL else -1 :]
            for width in widths
            for page in plot.pages(sources(*names), width)[0]
        ]
        with multiprocessing.get_context("fork").Pool(len(os.sched_getaffinity(0))) as pool:
            for (page, width), found in zip(pages, pool.starmap(faults_of, pages, chunksize=4)):
                with self.subTest(page.stem, width=width):
                    self.assertEqual(found, [])

    def test_faults_are_found(self):
        page = plot.pages(sources(RESULTS["h200"]), 175)[0][0]
        planted = functools.partial(faults_of, page, 175)
        self.assertEqual(planted(), [])
        for change, wanted in (
            (
                lambda figure, axes: axes.set_title("words that end beyond the edge" * 9),
                "cut off: words",
            ),
            (
                lambda figure, axes: [
                    axes.text(x, 0.5, word, transform=axes.transAxes)
                    for x, word in ((0.5, "one text"), (0.51, "another"))
                ],
                "another on one text",
            ),
            (
                lambda figure, axes: figure.subfigs[0].text(0.8, 0.9, "a sentence"),
                "outside the axes: a sentence",
            ),
            (
                lambda figure, axes: axes.text(
                    0.5, 1.15, "a leader's end", transform=axes.transAxes
                ),
                "outside the axes: a leader's end",
            ),
            (
                lambda figure, axes: axes.plot(
                    [0, 1.2], [0.5, 0.5], transform=axes.transAxes, clip_on=False
                ),
                "ink outside the axes",
            ),
            (lambda figure, axes: figure.set_figheight(111 * draw.MM), "111 mm high"),
            (
                lambda figure, axes: axes.set_title("small", fontsize=5.8),
                "5.8 pt: small",
            ),
            (
                lambda figure, axes: axes.plot(
                    [100], [1], marker="o", markerfacecolor="white", markeredgecolor="black"
                ),
                "a hollow mark without its colour",
            ),
            (
                lambda figure, axes: (
                    figure.subfigs[1].axes[1].remove(),
                    figure.set_size_inches(85 * draw.MM, 58 * draw.MM),
                ),
                "58 mm high and 85 mm wide",
            ),
        ):
            self.assertIn(wanted, " ".join(planted(change)))

    def test_faults_of_data_are_found(self):
        (drawing,) = cells.sweep(sources(RESULTS["widths"]))[:1]
        self.assertEqual(faults_of_rows(drawing), [])
        first = drawing.rows[drawing.rows["panel"] == drawing.rows["panel"].iloc[0]]
        again = first.assign(panel="the same, 1 % longer", y=1.01 * first["y"])
        flat = first.assign(panel="flat", y=1.0)
        for rows, wanted in (
            (pandas.concat([drawing.rows, again]), "the same, 1 % longer repeats "),
            (pandas.concat([drawing.rows, flat]), "nothing changes in flat"),
        ):
            found = faults_of_rows(dataclasses.replace(drawing, rows=rows))
            self.assertIn(wanted, " ".join(found))
        found = faults_of_rows(dataclasses.replace(drawing, documents=[]))
        self.assertEqual(found, ["the caption names no GPU"])

    def test_captions_name_the_gpu_and_the_kind_of_its_board(self):
        known, unknown = (
            cells.timed(source) is not None and draw.gpu_text(source.content["device"])
            for source in sources(
                os.path.join(ROOT, "results/h200/kernels/suite.json"), RESULTS["h100"]
            )
        )
        self.assertEqual(
            known, "NVIDIA H200, part number 692-2G520-0282-001, groups of 2 x 18 + 6 x 16 SMs"
        )
        self.assertEqual(unknown, "NVIDIA H100 80GB HBM3 (kind of board not recorded)")
        self.plot("--format", "csv", *self.all_documents())
        for path in self.files("txt"):
            self.assertRegex(read_bytes(path).decode(), "NVIDIA (H100|H200)")

    def test_paths_are_told_apart_without_colour(self):
        looks = [(look.marker, look.dashes) for look in style.PATHS.values()]
        self.assertEqual(len(set(looks)), len(looks))
        listed = subprocess.run(
            [CBANK, "list", "paths", "--csv"], capture_output=True, text=True, check=True
        ).stdout
        names = {line.split(",")[0] for line in listed.splitlines()[1:]}
        self.assertEqual(names - set(style.PATHS), set())

    def test_widths_and_styles(self):
        for words in (
            ("--width", "one"),
            ("--style", "ieee"),
            ("--style", "nature"),
            ("--style", "acm", "--width", "88"),
            ("--width", "88mm"),
        ):
            self.plot("--format", "svg", "--figure", "matrix", *words, RESULTS["h200"])
            width = (
                float(ET.parse(self.files("svg")[0]).getroot().get("width").removesuffix("pt"))
                / 72
                * 25.4
            )
            self.assertAlmostEqual(
                width, {"one": 85, "88": 88, "88mm": 88}.get(words[-1], 175), places=3
            )


def faults_of(page, width, change=lambda figure, axes: None):
    with style.sheet():
        figure = draw.draw(page, width)
        change(figure, figure.subfigs[1].axes[0])
        return faults(figure) + faults_of_rows(page)


def faults_of_rows(page):
    """What a picture shows twice or not at all, and a caption that does not say of what it is."""
    found = [] if "NVIDIA " in page.conditions else ["the caption names no GPU"]
    if page.kind != "sweep":
        return found
    seen = {}
    for panel, rows in page.rows.groupby("panel", sort=False):
        lines = {(row.path, row.x): row.y for row in rows.itertuples()}
        for before, known in seen.items():
            if lines.keys() == known.keys() and all(
                abs(y / known[point] - 1) < 0.015 for point, y in lines.items()
            ):
                found.append(f"{panel} repeats {before}")
        seen[panel] = lines
        ends = rows.groupby("path")["y"].agg(["min", "max"])
        if (ends["max"] < 1.05 * ends["min"]).all():
            found.append(f"nothing changes in {panel}")
    return found


def small_or_colourless(figure):
    """Texts below 6 points, and hollow marks that have no colour."""
    from matplotlib.colors import to_hex
    from matplotlib.lines import Line2D
    from matplotlib.text import Text

    found = [
        f"{text.get_fontsize():g} pt: {text.get_text()}"
        for text in figure.findobj(Text)
        if text.get_text().strip() and text.get_visible() and text.get_fontsize() < 6
    ]
    # the paths of black marks alone may have black edges
    colours = {to_hex(style.ink(look)) for look in style.PATHS.values()} - {style.BLACK}
    black = {look.marker for look in style.PATHS.values() if look.color == style.BLACK} | {"None"}
    for line in figure.findobj(Line2D):
        hollow = line.get_marker() != "" and to_hex(line.get_markerfacecolor()) == "#ffffff"
        if hollow and not (
            to_hex(line.get_markeredgecolor()) in colours or line.get_marker() in black
        ):
            found.append("a hollow mark without its colour")
    return found


def labels_beyond(figure, shown):
    """Labels of ticks that nobody sees: of axes that are not shown, or outside of their limits."""
    ticks = [
        (axis, tick)
        for axes in {*figure.axes, *shown}
        for axis in (axes.xaxis, axes.yaxis)
        for tick in axis.get_major_ticks()
    ]
    return {
        label
        for axis, tick in ticks
        for label in (tick.label1, tick.label2)
        if axis.axes not in shown
        or not min(axis.get_view_interval()) <= tick.get_loc() <= max(axis.get_view_interval())
    }


def faults_of_texts(figure, renderer, shown, boxes):
    """Texts that are cut off, outside of their axes, or on others."""
    from matplotlib.text import Text

    whole, seen, found, beyond = figure.bbox, [], [], labels_beyond(figure, shown)
    free = [text for holder in (figure, *figure.subfigs, *shown) for text in holder.texts]
    for text in figure.findobj(
        lambda artist: isinstance(artist, Text)
        and artist.get_text().strip()
        and artist.get_visible()
        and artist not in beyond
    ):
        box = text.get_window_extent(renderer)
        if box.x0 < whole.x0 or box.x1 > whole.x1 or box.y0 < whole.y0 or box.y1 > whole.y1:
            found.append(f"cut off: {text.get_text()}")
        if text in free and not any(
            axes.x0 <= box.x0 and box.x1 <= axes.x1 and axes.y0 <= box.y0 and box.y1 <= axes.y1
            for axes in boxes
        ):
            found.append(f"outside the axes: {text.get_text()}")
        for before, name in seen:
            if (
                min(box.x1, before.x1) - max(box.x0, before.x0) > 1
                and min(box.y1, before.y1) - max(box.y0, before.y0) > 1
            ):
                found.append(f"{text.get_text()} on {name}")
        seen.append((box, text.get_text()))
    return found


def ink_outside(figure, canvas, boxes):
    """Whether there is ink outside of the axes, once texts, legends, spines and ticks are gone."""
    from matplotlib.text import Text

    for kind in (Text, Legend, Spine, XAxis, YAxis):
        for artist in figure.findobj(kind):
            artist.set_visible(False)
    figure.set_layout_engine("none")
    canvas.draw()
    # rows from below, as boxes are
    ink = (numpy.asarray(canvas.buffer_rgba())[::-1, :, :3] < 250).any(axis=2)
    for box in boxes:  # half a mark is over the edge where its value is at the end of an axis
        rows = slice(max(0, int(box.y0) - 3), int(box.y1) + 4)
        ink[rows, max(0, int(box.x0) - 3) : int(box.x1) + 4] = False
    return bool(ink.any())


def faults(figure):
    """Why a paper could not print a figure: words, size, and ink that is neither of axes nor a
    label."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas, found = FigureCanvasAgg(figure), []
    canvas.draw()
    renderer = canvas.get_renderer()
    panels = [axes for axes in figure.axes if axes.get_visible()]
    shown = panels + [child for axes in panels for child in axes.child_axes]
    boxes = [axes.get_window_extent(renderer) for axes in shown]
    height, width = (inches / draw.MM for inches in (figure.get_figheight(), figure.get_figwidth()))
    if height > 110.01 or len(panels) < 2 and height > width * 2 / 3 + 0.01:
        found.append(f"{height:.0f} mm high and {width:.0f} mm wide")
    found += faults_of_texts(figure, renderer, shown, boxes) + small_or_colourless(figure)
    return found + ["ink outside the axes"] * ink_outside(figure, canvas, boxes)


class Data(Case):
    """Numbers of a CSV are those of the documents."""

    def test_times_are_those_of_the_cells(self):
        """Every row of matrices and sweeps, of one file and of two together, in one unit a
        figure."""
        paths = [RESULTS[name] for name in ("h200", "h100", "distinct", "widths", "convolution")]
        self.plot("--format", "csv", "--all", "--figure", "matrix", "--figure", "sweep", *paths)
        self.plot(
            "--format", "csv", "--figure", "matrix", "--together", RESULTS["h200"], RESULTS["h100"]
        )
        keys = ["source_sha256", *source.CELL_KEYS, "parameters"]
        cells = (
            cbank.load(paths)
            .assign(parameters=lambda rows: rows["parameters"].fillna(""))
            .set_index(keys)
        )
        for path in self.files("csv"):
            rows = pandas.read_csv(path).fillna({"parameters": ""})
            value = "x" if "-matrix" in path or "together" in path else "y"
            times = cells.loc[pandas.MultiIndex.from_frame(rows[keys])].reset_index()
            for drawn, known in (
                (value, "time_ns"),
                ("low", "time_ns_low"),
                ("high", "time_ns_high"),
            ):
                unit = times[known] / rows[drawn]
                self.assertEqual(
                    {round(unit.median(), 9)},
                    {{"ns": 1, "µs": 1e3, "ms": 1e6}[name] for name in rows["unit"]},
                    path,
                )
                self.assertLess((unit / unit.median() - 1).abs().max(), 1e-12, path)
        rows = self.rows("h200-core-matrix-matrix").set_index(["path", "pattern", "elements"])
        ratio = (
            rows.loc["constant", ["x", "low", "high"]]
            / rows.loc["global", ["x", "high", "low"]].to_numpy()
        )
        drawn = rows.loc["constant", ["ratio_to_global", "ratio_low", "ratio_high"]]
        self.assertLess((ratio.to_numpy() / drawn.to_numpy() - 1).max(), 1e-12)
        for chip in ("h200", "h100-80gb-hbm3"):  # one name, two chips
            self.assertEqual(len(self.rows(f"{chip}-core-matrix-matrix")), 24)
        self.assertEqual(
            set(self.rows("matrix-together")["series"]),
            {
                f"{name} ({device})"
                for name in ("constant", "global", "readonly")
                for device in ("H200", "H100 80GB HBM3")
            },
        )
        self.assertEqual(set(self.rows("serialization-sweep")["x"]), {1, 2, 4, 8, 16, 32})
        self.assertEqual(len(self.rows("widths-sweep-width_bytes")["x"].unique()), 5)
        self.assertEqual(
            set(self.rows("convolution-sweep")["workload"]), {"conv_1d", "conv_2d", "conv_3d"}
        )

    def test_tables_of_other_sizes_say_so(self):
        self.plot("--format", "csv", "--figure", "matrix", "--select", "workload=add", CELLS)
        self.assertEqual(
            set(self.rows("all-paths-matrix").query("path == 'param'")["series"]), {"param (2 KB)"}
        )

    def test_energy_is_that_of_the_cells(self):
        content = with_energy(read_json(RESULTS["h200"]))
        self.plot("--format", "csv", self.write("joules.json", content))
        rows = self.rows("joules-energy")
        known = {(c["path"], c["pattern"], c["elements"]): c["energy"] for c in content["cells"]}
        self.assertEqual(len(rows), len(known))
        for row in rows.itertuples():
            its = known[row.path, row.pattern, row.elements]
            for drawn, key in ((row.x, "lookup_j"), (row.low, "lookup_low_j")):
                self.assertAlmostEqual(drawn, 1e12 * its[key])
        self.assertEqual(rows["flags"].tolist().count("power_cap"), 1)
        self.assertIn(
            "Hollow marks: power_cap", read_bytes(self.path("out/joules-energy.txt")).decode()
        )

    def test_distributions_are_of_the_samples(self):
        self.plot("--format", "csv", RESULTS["h200"])
        self.assertEqual(glob.glob(self.path("out/*samples*")), [])  # where they are asked for
        self.plot("--format", "csv", "--figure", "samples", RESULTS["h200"])
        rows = self.rows("core-matrix-samples")
        for cell in read_json(RESULTS["h200"])["cells"]:
            its = rows[rows["identity"] == cell["identity"]]
            samples = sorted(cell["time_ns"]["samples"])
            self.assertEqual(its["sample_ns"].tolist(), samples)
            self.assertAlmostEqual(
                its["x"].iloc[0], 100 * (samples[0] / cell["time_ns"]["value"] - 1)
            )
            self.assertEqual(its["y"].iloc[-1], 100)

    def test_a_picture_comes_once(self):
        content = read_json(RESULTS["h200"])
        for cell in content["cells"]:
            for key in ("value", "ci_low", "ci_high"):
                cell["time_ns"][key] *= 1.02
        path = self.write("again.json", content)
        done = self.plot("--format", "csv", RESULTS["h200"], path)
        self.assertIn("matrix of again.json is not drawn: its times are those of", done.stderr)
        self.plot("--format", "csv", "--figure", "matrix", RESULTS["h200"], path)
        self.assertEqual(len(self.rows("again-matrix")), 24)

    def test_nothing_that_does_not_change_is_drawn(self):
        pressure = os.path.join(ROOT, "results/h200/sweeps/pressure.json")
        said = self.plot("--format", "csv", "--figure", "sweep", pressure, status=2).stderr
        self.assertIn("no time changes by 10 % with the other data streamed through L1", said)

    def test_lines_that_coincide_have_one_look(self):
        self.plot("--format", "csv", "--figure", "sweep", RESULTS["widths"])
        rows = self.rows("widths-sweep-distinct")
        self.assertIn("global, readonly", set(rows["series"]))
        self.assertIn("16 B apart, 1/2/4/8 B wide", set(rows["panel"]))
        self.assertEqual(alike.joined_title(["a, 1 B", "b, 2 B"]), "a, 1 B; b, 2 B")
        self.assertEqual(alike.joined_title(["hot, x", "cold, x"]), "hot/cold, x")

    def test_memory_spaces_of_kernels(self):
        """A row a kernel, its sizes in two panels; times are multiples of the fastest, and cells
        that are not verified are left out."""
        result = read_json(RESULTS["suite"])
        crc32 = [cell for cell in result["cells"] if cell["workload"] == "crc32"]
        next(cell for cell in crc32 if cell["elements"] == 131072 and cell["path"] == "shared")[
            "verified"
        ] = False
        self.plot(
            "--format",
            "csv",
            "--figure",
            "spaces",
            self.write("suite.json", json.dumps({**result, "cells": crc32})),
        )
        rows, times = self.rows("suite-spaces"), {
            (cell["elements"], cell["path"]): cell["time_ns"]["value"] for cell in crc32
        }
        self.assertEqual(len(rows), sum(time is not None for time in times.values()) - 1)
        self.assertEqual(
            set(zip(rows["panel"], rows["elements"])),
            {("largest size", 1048576), ("smaller sizes", 131072)},
        )
        fastest = {
            1048576: times[1048576, "shared"],
            131072: min(
                cell["time_ns"]["value"]
                for cell in crc32
                if cell["elements"] == 131072 and cell["verified"]
            ),
        }
        for row in rows.itertuples():
            self.assertAlmostEqual(row.x, times[row.elements, row.series] / fastest[row.elements])
            self.assertTrue(row.low <= row.x <= row.high)
        self.plot(
            "--format",
            "csv",
            *(
                os.path.join(ROOT, "results/h100", name)
                for name in ("kernels/packed.json", "small-bytes.json")
            ),
        )
        # it loads nothing
        self.assertNotIn(
            "shared_fill_only", read_bytes(self.path("out/small-bytes-matrix.txt")).decode()
        )
        self.assertEqual(
            set(self.rows("packed-spaces")["row"]), {"dot, no options", "dot, -DPERMUTE"}
        )

    def test_constant_memory_is_compared_with_other_memory_spaces_alone(self):
        result = read_json(RESULTS["suite"])
        cells = {
            cell["path"]: cell
            for cell in result["cells"]
            if cell["workload"] == "crc32" and cell["elements"] == 131072
        }
        ratio = cells["constant"]["time_ns"]["value"] / cells["shared"]["time_ns"]["value"]
        for names, said in (
            (("constant",), "No kernel was measured in two memory spaces."),
            (
                ("constant", "shared"),
                f"Constant memory takes {style.ratio_text(ratio)} times as long as",
            ),
        ):
            self.plot(
                "--format",
                "csv",
                "--figure",
                "spaces",
                self.write(
                    "few.json", json.dumps({**result, "cells": [cells[name] for name in names]})
                ),
            )
            self.assertIn(said, read_bytes(self.path("out/few-spaces.txt")).decode())

    def test_serialization_and_capacity(self):
        self.plot(
            "--format",
            "csv",
            "--figure",
            "serialization",
            "--figure",
            "capacity",
            RESULTS["h200_chip"],
        )
        experiments = {
            experiment["name"]: experiment
            for experiment in read_json(RESULTS["h200_chip"])["experiments"]
        }
        rows = self.rows("characterization-serialization")
        wanted = {
            (number["distinct"], number["value"])
            for number in experiments["serialization_constant"]["numbers"]
            if number["name"] == "latency" and number.get("stride_bytes", 64) == 64
        }
        its = rows[
            (rows["path"] == "constant")
            & (rows["quantity"] == "latency")
            & (rows["stride_bytes"] == 64)
        ]
        self.assertEqual(set(zip(its["x"], its["y"])), wanted)
        rows = self.rows("characterization-capacity")
        levels, alone = (
            rows[(rows["experiment"] == name) & (rows["record"] == "level")]
            for name in ("geometry_constant_modules", "geometry_constant")
        )
        # a walk over one module is the beginning of that over several
        self.assertEqual(len(alone), 0)
        found = experiments["geometry_constant_modules"]["geometry"]["levels"]
        # the second of the SMs that share it
        self.assertEqual(list(levels["y"].round()), [28, 100, 314])
        self.assertEqual(levels["x"].iloc[0], found[0]["capacity_bytes"]["value"])
        points = rows[
            (rows["experiment"] == "geometry_constant_modules") & (rows["series"] == "mean")
        ]
        self.assertEqual((points["x"].max() > 60000, round(points["y"].iloc[0])), (True, 28))
        # mean, 95th percentile
        self.assertEqual(
            (probes.summary("10*18 20 40"), probes.summary("10*19 40")), ((12, 20), (11.5, 10))
        )

    def test_several_chips(self):
        # at one clock, ns are cycles by one factor: no panel of their own
        slower = read_json(RESULTS["h100"])
        for cell in slower["cells"]:
            cell["sm_clock_mhz"] *= 0.8
        files = [RESULTS[name] for name in ("h200", "h100", "h200_chip", "h100_chip")]
        self.plot("--format", "csv", *files)
        self.assertEqual(
            set(self.rows("chips")["quantity"]), {"latency", "cycles_per_load", "chase"}
        )
        self.plot("--format", "csv", files[0], self.write("slow.json", slower), *files[2:])
        self.assertEqual(
            {os.path.splitext(name)[1] for name in os.listdir(self.path("out"))}, {".csv", ".txt"}
        )
        rows = self.rows("generations")
        self.assertEqual(rows["series"].nunique(), 2)
        for content in (read_json(RESULTS["h200"]), read_json(RESULTS["h100"])):
            cells = {
                (cell["path"], cell["pattern"], cell["elements"]): cell["time_ns"]["value"]
                for cell in content["cells"]
            }
            for row in rows[
                (rows["device"] == content["device"]["name"])
                & (rows["quantity"] == "constant_sm_ns")
            ].itertuples():
                self.assertAlmostEqual(
                    row.x,
                    cells["constant", row.pattern, row.elements]
                    * content["device"]["sm_count"]
                    * 32
                    / row.elements,
                )
        rows = self.rows("chips")
        ns, cycles = (
            rows[(rows["quantity"] == name) & (rows["series"] == "NVIDIA H200")].set_index("x")["y"]
            for name in ("ns_per_load", "cycles_per_load")
        )
        clocks = sorted(cell["sm_clock_mhz"] for cell in read_json(RESULTS["h200"])["cells"])
        self.assertAlmostEqual((cycles / ns).iloc[0], (clocks[11] + clocks[12]) / 2 / 1e3)
        self.assertEqual(set(rows["quantity"]), set(probes.CHIP_PANELS) - {"to_best"})

    def test_fleet_and_history(self):
        self.plot("--format", "csv", *fleet_documents())
        verdict, series = map(read_json, fleet_documents())
        rows = self.rows("fleet-fleet")
        wanted = {
            (gpu["uuid"], change["path"]): (
                verdicts.LETTERS.get(gpu["verdict"]),
                gpu["host"],
                change["change"] and 100 * change["change"],
            )
            for gpu in verdict["gpus"]
            for change in gpu["changes"]
        }
        self.assertEqual({letter for letter, _, _ in wanted.values()} - {None}, {"S", "R"})
        found = {
            (row["uuid"], row["panel"]): row for row in rows.dropna(subset=["x"]).to_dict("records")
        }
        self.assertEqual(
            set(found), {key for key, (_, _, change) in wanted.items() if change is not None}
        )
        for key, row in found.items():
            letter, host, change = wanted[key]
            self.assertEqual((row["text"] if letter else None, row["row"]), (letter, host))
            self.assertAlmostEqual(row["x"], change, places=9)
        rows = self.rows("history-history")
        self.assertEqual(
            (len(rows), rows["flags"].notna().sum()), (len(series["rows"]), len(series["changes"]))
        )
        # Those that changed most have a look of their own, and as many others as there is room for.
        most = sorted(series["changes"], key=lambda change: -abs(change["change"]))
        named = set(rows.loc[~rows["series"].str.startswith("other"), "uuid"])
        changed = {change["uuid"] for change in most[: verdicts.NAMED_MAX]}
        self.assertLessEqual(changed, named)
        self.assertEqual(len(named), verdicts.NAMED_MAX)
        self.assertGreater(len(changed), 2)


class Axes(unittest.TestCase):
    """Marks and ticks that nobody would see."""

    def test_a_fleet_of_one_host_has_squares(self):
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        rows = pandas.DataFrame(
            {
                "panel": "p",
                "row": "host",
                "column": [0, 1],
                "series": "p",
                "x": [0.5, -1.0],
                "text": "",
            }
        )
        page = draw.Drawing("fleet", "fleet", rows, "", {None: ("GPUs", "")}, [], way="map")
        with style.sheet():
            figure = draw.draw(page, 175)
            canvas = FigureCanvasAgg(figure)
            canvas.draw()
            mesh = figure.subfigs[1].axes[0].collections[0]
            box = mesh.get_window_extent(canvas.get_renderer())
        self.assertGreater(abs(box.height), 3)

    def test_dates_name_their_unit(self):
        for words, wanted in (
            ("10s", "%H:%M:%S"),
            ("2h", "%H:%M"),
            ("9d", "%m-%d"),
            ("400d", "%Y-%m"),
        ):
            self.assertEqual(ways.date_format(pandas.Timedelta(words)), wanted)


class Energy(unittest.TestCase):
    """The figure that scripts/studies/energy_trial.py draws of its own reports."""

    FILES = [
        os.path.join(ROOT, "results/h200/energy", f"trial{end}.json") for end in ("", "-second")
    ]

    def test_marks_are_medians_of_processes(self):
        page = energy_trial.drawing(self.FILES)
        self.assertEqual(
            list(page.rows["panel"].unique()), [f"NVIDIA H200, board {i}" for i in (1, 2)]
        )
        self.assertEqual(len(page.rows), 24)
        for number, path in enumerate(self.FILES, 1):
            cells = [process["cells"] for process in read_json(path)["processes"]]
            rows = page.rows[page.rows["panel"] == f"NVIDIA H200, board {number}"]
            median = {}
            for row in rows.itertuples():
                name = f"add/{row.series}/{row.row}/1048576/1024/hot"
                its = [process[name] for process in cells]
                median[row.row, row.series] = numpy.median([cell["lookup_j"] for cell in its])
                half = (
                    numpy.median([cell["lookup_high_j"] - cell["lookup_low_j"] for cell in its]) / 2
                )
                self.assertAlmostEqual(row.x, 1e12 * median[row.row, row.series])
                self.assertAlmostEqual(row.low, row.x - 1e12 * half)
                self.assertAlmostEqual(row.high, row.x + 1e12 * half)
            for row in rows.itertuples():
                ratio = median[row.row, "constant"] / median[row.row, "global"]
                self.assertEqual(row.text, f"{ratio:.2f}")

    def test_it_can_be_printed_and_names_the_board(self):
        page = energy_trial.drawing(self.FILES)
        self.assertEqual(faults_of(page, style.WIDTHS_MM["one"]), [])
        self.assertIn("NVIDIA H200, part number 692-2G520-0282-001, groups of", page.conditions)
        alone = energy_trial.drawing(self.FILES[:1])
        self.assertEqual(set(alone.rows["panel"]), {"NVIDIA H200"})
        self.assertEqual(faults_of(alone, style.WIDTHS_MM["one"]), [])

    def test_what_held_the_gpu_down_is_flagged(self):
        report = read_json(self.FILES[0])
        name = "add/global/per_warp/1048576/1024/hot"
        report["processes"][1]["cells"][name]["limits"] = ["power_cap"]
        with mock.patch.object(energy_trial.trials, "load", return_value=report):
            page = energy_trial.drawing(self.FILES[:1])
        flagged = page.rows[page.rows["flags"] != ""]
        self.assertEqual(flagged[["series", "row"]].values.tolist(), [["global", "per_warp"]])
        self.assertIn("Hollow marks: power_cap.", page.conditions)


class Chosen(Case):
    """The choice of figures, and the reasons for others."""

    def test_select(self):
        self.plot(
            "--format",
            "csv",
            "--figure",
            "matrix",
            "--select",
            "path=constant,pattern=per_*",
            "--select",
            "elements=128000,path=global",
            RESULTS["h200"],
        )
        rows = self.rows("core-matrix-matrix")
        self.assertEqual(
            set(zip(rows["path"], rows["elements"])),
            {("constant", 128000), ("constant", 12800000), ("global", 128000)},
        )
        self.plot(
            "--format",
            "csv",
            "--figure",
            "matrix",
            "--select",
            "path=constant,readonly,elements=128000,pattern=per_w*,pattern=pseudo_*",
            RESULTS["h200"],
        )
        chosen = sorted(
            map(tuple, self.rows("core-matrix-matrix")[["path", "pattern", "elements"]].to_numpy())
        )
        self.assertEqual(
            chosen,
            [
                (path, pattern, 128000)
                for path in ("constant", "readonly")
                for pattern in ("per_warp", "pseudo_random")
            ],
        )

    def test_one_address_has_no_distance_to_the_next(self):
        words = ("--format", "csv", "--figure", "serialization", "--select", "stride_bytes=4")
        self.plot(*words, RESULTS["h200_chip"])
        rows = self.rows("characterization-serialization")
        self.assertEqual(set(rows["x"]), {1, 2, 4, 8, 16, 32})
        self.assertEqual(set(rows["stride_bytes"]), {4})
        words = ("--format", "csv", "--figure", "sweep", "--select", "stride_bytes=4")
        done = self.plot(*words, RESULTS["distinct"])
        self.assertIn(1, set(self.rows("serialization-sweep")["x"]))
        self.assertRegex(done.stderr, r"--select: \d+ rows have no stride_bytes, and are left out")

    def test_reasons(self):
        content = read_json(RESULTS["h200"])
        content["engine"], content["complete"], content["cells"][0]["flags"] = (
            "model",
            False,
            ["unstable"],
        )
        done = self.plot("--format", "svg", self.write("modelled.json", content))
        for said in (
            "sweep of modelled.json is not drawn: nothing takes 3 values",
            "chips is not drawn: it is made of characterizations of two chips",
            "capacity is not drawn: needs a characterization",
        ):
            self.assertIn(said, done.stderr)
        page = plot.pages(sources(self.path("modelled.json")), 175)[0][0]
        self.assertIn("Hollow marks: unstable.", page.conditions)
        with style.sheet():
            legend = draw.draw(page, 175).findobj(Legend)[0]
        self.assertEqual(legend.get_title().get_text(), "modelled, not measured; incomplete run")

    def test_many_pages_are_drawn_where_they_are_asked_for(self):
        with mock.patch.object(plot, "PAGES_MAX", 1):
            self.assertIn(
                "pages; --all draws them",
                self.plot("--format", "csv", CELLS, RESULTS["h200"]).stderr,
            )
            self.assertEqual(self.plot("--format", "csv", "--figure", "matrix", CELLS).stderr, "")
        self.assertLess(
            {"all-paths-matrix-1.csv", "all-paths-matrix-2.csv"},
            set(map(os.path.basename, self.files("csv"))),
        )

    def test_refusals(self):
        content = read_json(RESULTS["h200"])
        for cell in content["cells"]:
            cell["time_ns"].update(value=None, median=None, ci_low=None, ci_high=None)
        for words, said in (
            (("--width", "3"), "a number of 40 to 1000 mm"),
            (("--format", "gif"), "no format 'gif'"),
            (("--figure", "x"), "invalid choice"),
            (("--style", "absent"), "there is no file absent"),
            (("--select", "path"), "'path' is not KEY=GLOB"),
            (("--select", "path=global,"), "'' is not KEY=GLOB"),
            (("--select", "way=x"), "no row has 'way'"),
            (("--select", "path=none"), "no figure can be drawn"),
            ((self.path("absent.json"),), "cannot read"),
            (
                (self.write("timeless.json", content), "--select", "path=constant"),
                "no chosen cell has a time",
            ),
        ):
            files = [RESULTS["h200"]] if "timeless" not in words[0] else []
            self.assertIn(said, self.plot(*words, *files, status=2).stderr)
        for place in (self.write("blocked", "a file"), "/dev/full"):
            said = self.plot("-o", place, RESULTS["h200"], status=3).stderr
            self.assertEqual(
                said, f"cbank: error: cannot make the folder {place}: File exists; name another\n"
            )


class Reproduced(Case):
    def test_figures_of_the_docs_are_those_of_the_committed_results(self):
        folder, committed = self.path("figures"), os.path.join(ROOT, "docs/figures")
        done = subprocess.run(
            [
                os.path.join(ROOT, "scripts/reproduce.py"),
                "--program",
                CBANK,
                "-o",
                folder,
                "--example",
                self.path("example"),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        # Data and sentences: the last digits of places in a picture are other ones on other
        # processors.
        made, names = (
            {
                os.path.relpath(path, of): read_bytes(path)
                for ending in ("csv", "txt")
                for path in glob.glob(f"{of}/**/*.{ending}", recursive=True)
            }
            for of in (folder, committed)
        )
        self.assertEqual(set(made), set(names))
        self.assertEqual([name for name in names if names[name] != made[name]], [])

    def test_every_figure_of_the_docs_is_shown(self):
        text = b"".join(
            map(
                read_bytes,
                [*glob.glob(os.path.join(ROOT, "docs/*.md")), os.path.join(ROOT, "README.md")],
            )
        ).decode()
        for path in glob.glob(os.path.join(ROOT, "docs/figures/**/*.svg"), recursive=True):
            self.assertTrue(os.path.relpath(path, os.path.join(ROOT, "docs")) in text, path)


if __name__ == "__main__":
    unittest.main()
