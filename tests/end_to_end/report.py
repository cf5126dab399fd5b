#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of cbank report: what stands in its pages, where links lead, and how the pages are in a browser.

CBANK names the program (default build/cbank), which runs the report. Tests in a browser need chromium, its driver and
python3-selenium (scripts/setup.sh browser), and are skipped without. Those with axe-core need build/axe/package; with
CBANK_FETCH=1 it is fetched first, by npm. With CBANK_SCREENSHOTS=DIR, pictures of the pages are left there.
"""

import argparse
import base64
import contextlib
import csv
import functools
import glob
import hashlib
import http.server
import io
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
import xml.etree.ElementTree as ET
import zipfile
from html.parser import HTMLParser

from common import DRAWING, FULL, NOT_QUICK, QUICK, ROOT, Scratch, read_json, read_result, run_script

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "scripts"))
from page import verdict  # noqa: E402

CBANK = os.path.abspath(os.environ.get("CBANK", os.path.join(ROOT, "build/cbank")))
MATRIX = os.path.join(ROOT, "results/h200/core-matrix.json")
SECOND = os.path.join(ROOT, "results/chips/h200/second-process.json")
CHARACTERIZATION = os.path.join(ROOT, "results/characterizations/h200.json")
# Of a report at most, and of each of its files: 245,000 are measured with matplotlib 3.6, and 248,000 with 3.10, which puts
# more ticks on some axes.
BYTES_ONCE, BYTES_EACH = 60_000, 290_000
AXE = "axe-core@4.14.1"
AXE_FILE = os.path.join(ROOT, "build/axe/package/axe.min.js")
FEW_PATTERNS = ("--pattern", "per_warp,pseudo_random")
FEW = (*FEW_PATTERNS, "--elements", "4096")  # of a plan, where any will do
UNCOUNTED = (*FEW, "--counters", "none")  # where their figures, which take the longest, do not matter
VOID = {"meta", "link", "img", "br", "hr", "input"}
CELLS = {"td", "th"}
APART = {*CELLS, "dt", "dd", "li", "p", "h2", "summary", "caption"}  # whose text does not go on in what follows


def environment(**more):
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS"))}
    return {**clean, "PYTHONDONTWRITEBYTECODE": "1", "XDG_CACHE_HOME": os.path.join(TEMPORARY.name, "cache"), **more}


def cbank(*arguments, program=CBANK, **more):
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=400, check=False,
                          env=environment(**more))


def modelled(path, *arguments):
    """A result of the model engine."""
    done = cbank("run", "--engine", "model", "--quiet", "--json", path, *arguments)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return path


# -- pages --------------------------------------------------------------------------------------------------------


class Element:
    def __init__(self, tag, attributes, parent):
        self.tag, self.attributes, self.parent, self.children = tag, dict(attributes), parent, []

    def get(self, key):
        return self.attributes.get(key)

    def all(self, *tags):
        for child in self.children:
            if isinstance(child, Element):
                if not tags or child.tag in tags:
                    yield child
                yield from child.all(*tags)

    @property
    def text(self):
        return " ".join("".join(self.parts()).split())

    def parts(self):
        for child in self.children:
            if isinstance(child, Element):
                yield from child.parts()
                yield " " if child.tag in APART else ""
            else:
                yield child


class Page(HTMLParser):
    """The tree of a page. Cells and rows of tables end where others begin, as HTML says; nothing else is mended."""

    ENDED_BY = {"td": {"td", "th", "tr", "tbody"}, "th": {"td", "th", "tr", "tbody"}, "tr": {"tr", "tbody"},
                "thead": {"tbody"}, "dt": {"dt", "dd"}, "dd": {"dt", "dd"}}

    def __init__(self, path):
        super().__init__()
        self.root = self.at = Element("root", [], None)
        with open(path, encoding="utf-8") as file:
            self.source = file.read()
        self.feed(self.source)
        self.close()
        if self.at is not self.root:
            raise AssertionError(f"{path}: <{self.at.tag}> is open at the end")

    def handle_starttag(self, tag, attrs):
        while tag in self.ENDED_BY.get(self.at.tag, ()):
            self.at = self.at.parent
        made = Element(tag, attrs, self.at)
        self.at.children.append(made)
        if tag not in VOID:
            self.at = made

    def handle_endtag(self, tag):
        while self.at.tag != tag and self.at.tag in {*self.ENDED_BY, "tbody"}:
            self.at = self.at.parent
        if self.at.tag != tag:
            raise AssertionError(f"line {self.getpos()[0]}: </{tag}> ends <{self.at.tag}>")
        self.at = self.at.parent

    def handle_data(self, data):
        self.at.children.append(data)

    def by_id(self, name):
        return next((element for element in self.root.all() if element.get("id") == name), None)

    def section(self, name):
        return next(element for element in self.root.all("section", "footer")
                    if element.get("aria-labelledby") == name)


def rows_of(table):
    """Texts of the rows of a table's body."""
    for row in table.all("tr"):
        cells = [child for child in row.children if isinstance(child, Element) and child.tag in CELLS]
        if row.parent.tag == "tbody":
            yield cells


def texts_of(table):
    """Its last row of heads, and its rows."""
    heads = [[child.text for child in row.children if isinstance(child, Element)] for row in table.all("tr") if row.parent.tag == "thead"]
    return heads[-1:] + [[cell.text for cell in row] for row in rows_of(table)]


def without_samples(content):
    """A result whose samples, of which a figure is drawn, do not matter."""
    for cell in content["cells"]:
        cell["time_ns"]["samples"] = []


def keep(content, count):
    """Leaves the first cells of a result alone."""
    content["cells"] = content["cells"][:count]
    content["exact_counters"] = {key: sum(cell["exact_counters"][key] for cell in content["cells"])
                                 for key in content["exact_counters"]}


def report_script(*arguments, **more):
    """What `cbank report` runs, without what that takes to start."""
    return run_script("report.py", "--program", CBANK, *arguments, environment=environment(**more), loads=(*DRAWING, "jinja2"))


class Report:
    """A report that was made, and its pages: by the program, or by the script alone."""

    def __init__(self, folder, *arguments, program=True, **more):
        self.folder = folder
        self.done = (functools.partial(cbank, "report") if program else report_script)(*arguments, "-o", folder, **more)
        if self.done.returncode != 0:
            raise AssertionError(f"exit {self.done.returncode}: {self.done.stdout}{self.done.stderr}")

    @functools.lru_cache(maxsize=None)
    def page(self, name="index.html"):
        return Page(os.path.join(self.folder, name))

    @functools.cached_property
    def pages(self):
        return {name: self.page(name) for name in self.files() if name.endswith(".html")}

    def files(self):
        return sorted(os.path.relpath(os.path.join(folder, name), self.folder)
                      for folder, _, names in os.walk(self.folder) for name in names)

    def bytes(self, name):
        with open(os.path.join(self.folder, name), "rb") as file:
            return file.read()

    @property
    def text(self):
        return self.page().root.text


TEMPORARY = tempfile.TemporaryDirectory()
NAMES = itertools.count()


def folder():
    """A new name in a folder that is removed at the end."""
    return os.path.join(TEMPORARY.name, f"report-{next(NAMES)}")


@functools.lru_cache(maxsize=None)
def measured():
    """Of two committed results, compared, and the characterization."""
    return Report(folder(), MATRIX, SECOND, CHARACTERIZATION)


def part_of(path, keep):
    """A file of the same name with those cells of a result that are kept; of the same cells it is the same file."""
    result = read_result(path)
    result["cells"] = [cell for place, cell in enumerate(result["cells"]) if keep(place, cell)]
    made = os.path.join(TEMPORARY.name, f"part-{len(result['cells'])}", os.path.basename(path))
    os.makedirs(os.path.dirname(made), exist_ok=True)
    with open(made, "w", encoding="utf-8") as file:
        json.dump(result, file)
    return made


@functools.lru_cache(maxsize=None)
def interactive():
    """Of the smaller size in two results."""
    if not os.path.exists("/usr/share/javascript/d3/d3.min.js"):
        raise unittest.SkipTest("no libjs-d3 on this machine")
    return Report(folder(), "--interactive",
                  *(part_of(file, lambda _, cell: cell["elements"] == 128000) for file in (MATRIX, SECOND)))


@functools.lru_cache(maxsize=None)
def of_two_engines():
    """Files: four cells that were measured, and as few that are modelled."""
    return (part_of(MATRIX, lambda place, _: place < 4),
            modelled(os.path.join(TEMPORARY.name, "m.json"), *FEW_PATTERNS, "--elements", "12800000"))


@functools.lru_cache(maxsize=None)
def mixed():
    return Report(folder(), *of_two_engines())


def tearDownModule():
    TEMPORARY.cleanup()


class Case(Scratch):
    maxDiff = None

    def report(self, *arguments):
        return Report(os.path.join(self.folder, "out"), *arguments, program=False)

    def check(self, report, scripts=False):
        """Everything that has to be so on every page."""
        for name, page in report.pages.items():
            with self.subTest(name):
                self.check_page(report, name, page, scripts and name == "index.html")

    def check_page(self, report, name, page, scripts):
        elements = list(page.root.all())
        html = next(page.root.all("html"))
        self.assertTrue(page.source.startswith("<!DOCTYPE html>"))
        self.assertEqual(html.get("lang"), "en")
        self.assertTrue(next(page.root.all("title")).text)
        self.assertEqual(len(list(page.root.all("h1"))), 1)
        levels = [int(element.tag[1]) for element in elements if re.fullmatch(r"h[1-6]", element.tag)]
        self.assertTrue(all(after <= before + 1 for before, after in zip(levels, levels[1:])
                            if after != 1), "a level of headings is left out")
        ids = [element.get("id") for element in elements if element.get("id")]
        self.assertEqual(len(ids), len(set(ids)))
        for element in elements:
            self.assertFalse([key for key in element.attributes if key == "style" or key.startswith("on")], element.tag)
            self.assertNotEqual(element.tag, "style")
            self.assertTrue(scripts or element.tag != "script")
            for label in (element.get("aria-labelledby") or "").split():
                self.assertIn(label, ids)
        self.check_tables(page)
        self.check_links(report, name, elements)

    def check_tables(self, page):
        for table in page.root.all("table"):
            self.assertTrue(next(table.all("caption")).text)
            region = table.parent
            self.assertEqual((region.get("class"), region.get("tabindex"), region.get("role")), ("scroll", "0", "group"))
            self.assertTrue(region.get("aria-labelledby") or region.get("aria-label"))
            columns = {sum(int(cell.get("colspan") or 1) for cell in cells) for cells in rows_of(table)}
            self.assertLessEqual(len(columns), 1, next(table.all("caption")).text)
            for cell in table.all("th"):
                self.assertIn(cell.get("scope"), ("row", "col", "colgroup"))

    def check_links(self, report, name, elements):
        for element in elements:
            target = element.get("href") or element.get("src")
            if element.tag == "img":
                self.assertTrue(element.get("alt"))
                self.assertTrue(element.get("width") and element.get("height"))
            if target is None:
                continue
            path, _, anchor = target.partition("#")
            path = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
            self.assertTrue(os.path.isfile(os.path.join(report.folder, path)), target)
            if anchor:
                self.assertIsNotNone(report.page(path).ids.get(anchor) if hasattr(report.page(path), "ids")
                                     else index(report.page(path)).get(anchor), target)


def index(page):
    page.ids = {element.get("id"): element for element in page.root.all() if element.get("id")}
    return page.ids


def target_of(report, cell):
    """The element that the link in a cell of a table leads to; None without one."""
    link = next(cell.all("a"), None)
    if link is None:
        return None
    path, _, anchor = link.get("href").partition("#")
    return index(report.page(path)).get(anchor) if anchor else report.page(path).root


def ratios_to_global(result):
    """[((ratio of times, ends that are quotients of opposite ends), cell)] of constant memory, the least ratio first."""
    times = {(cell["path"], cell["pattern"], cell["elements"]): cell["time_ns"] for cell in result["cells"]}
    made = []
    for cell in (cell for cell in result["cells"] if cell["path"] == "constant"):
        time, base = cell["time_ns"], times["global", cell["pattern"], cell["elements"]]
        made.append(([time[key] / base[under] for key, under in
                      (("value", "value"), ("ci_low", "ci_high"), ("ci_high", "ci_low"))], cell))
    return sorted(made, key=lambda pair: pair[0][0])


# -- what stands there --------------------------------------------------------------------------------------------


class Content(Case):
    def test_every_page(self):
        self.check(measured())

    def test_sections(self):
        titles = [element.text for element in measured().page().root.all("h2")]
        self.assertEqual(titles, ["Contents", "Summary", "Environment", "Matrix", "Characterization", "Comparison",
                                  "Explanation", "Figures", "Cells", "Sources"])

    def test_matrix_is_that_of_show(self):
        """Every line of the tables of cbank show, number by number, where there is room for all that the page has."""
        for file, name in ((MATRIX, "core-matrix"), (SECOND, "second-process")):
            shown = [[word for part in line.split("|") for word in part.split()]
                     for line in cbank("show", file, COLUMNS="120").stdout.splitlines()
                     if re.match(r"per_|pseudo", line)]
            made = [" ".join(cell.text for cell in cells).replace("µs", "us").replace("×", "x").split()
                    for table in self.matrix_tables(name) for cells in rows_of(table)]
            self.assertEqual(made, shown)

    @staticmethod
    def matrix_tables(name):
        return [table for table in measured().page().section("matrix").all("table")
                if next(table.all("caption")).text.endswith(f": {name}")]

    def test_matrix_leads_to_its_cells(self):
        page, found = measured(), 0
        for table in self.matrix_tables("core-matrix"):
            for cells in rows_of(table):
                for column, cell in enumerate(cells[1:]):
                    section = target_of(page, cell)
                    self.assertIn(cells[0].text, section.text)
                    self.assertIn(("constant", "global", "readonly")[column // 4], next(section.all("h2")).text)
                    if column % 4 == 0:
                        self.assertIn(f"time {cell.text}:".replace(" ", ""), section.text.replace(" ", ""))
                    found += 1
        self.assertEqual(found, 24 * 4)

    def test_comparison_leads_to_both_sides(self):
        comparison = json.loads(cbank("compare", "--quiet", "--json", "-", MATRIX, SECOND).stdout)
        rows = list(rows_of(next(measured().page().section("comparison").all("table"))))
        self.assertEqual(len(rows), len(comparison["cells"]))
        for cells, cell in zip(rows, comparison["cells"]):
            name = "/".join(str(cell[key]) for key in ("workload", "path", "pattern", "elements", "block_size", "regime"))
            self.assertEqual((cells[0].text, cells[1].text), (name, cell["verdict"]))
            self.assertEqual(cells[4].text, f"{cell['ratio']['value']:.4f}")
            self.assertEqual(cells[5].text, f"[{cell['ratio']['ci_low']:.4f}, {cell['ratio']['ci_high']:.4f}]")
            for place, page in ((2, "core-matrix"), (3, "second-process")):
                self.assertIn(f"cells/{page}.html#", next(cells[place].all("a")).get("href"))
                self.assertIn(cells[place].text.replace(" ", ""),
                              target_of(measured(), cells[place]).text.replace(" ", ""))
                self.assertEqual(next(target_of(measured(), cells[place]).all("h2")).text, name)
        self.assertIn(comparison["summary"], measured().text)

    def test_cells_have_all_counters(self):
        page = measured().page("cells/core-matrix.html")
        for place, cell in enumerate(read_result(MATRIX)["cells"], 1):
            section = page.by_id(f"cell-{place}")
            rows = {cells[0].text: [other.text for other in cells[1:]]
                    for table in section.all("table") for cells in rows_of(table)}
            expected = {name: [str(counter["value"]), "" if counter["expected"] is None else "="]
                        for name, counter in cell["counters"].items()}
            self.assertEqual(rows, expected)
            self.assertIn(f"{cell['time_ns']['value']:.7g} ns", section.text)

    def test_summary_counts(self):
        rows = list(rows_of(next(measured().page().section("summary").all("table"))))
        matrix = read_json(MATRIX)
        cells, throttle = matrix["cells"], matrix["device"]["throttle"]
        timed = sum(cell["status"] == "ok" for cell in cells)
        expected = [counter for cell in cells for counter in cell["counters"].values()
                    if counter["kind"] == "exact" and counter["expected"] is not None]
        equal = sum(counter["value"] == counter["expected"] for counter in expected)
        self.assertEqual((timed, throttle["before"] | throttle["after"]), (24, 0))
        self.assertEqual([cell.text for cell in rows[0]],
                         ["core-matrix", "cuda", matrix["device"]["name"], f"{timed} of {len(cells)}", "0", str(timed),
                          str(sum(bool(cell["flags"]) for cell in cells)), f"{equal} of {len(expected)}", "no"])

    def test_extremes(self):
        """The lowest and the highest ratio of the figure matrix."""
        table = [table for table in measured().page().section("summary").all("table")
                 if "constant" in next(table.all("caption")).text][0]
        cells = next(rows_of(table))
        ratios = ratios_to_global(read_result(MATRIX))
        self.assertEqual(len(ratios), 8)
        self.assertEqual([cell.text for cell in cells[1:]],
                         [text for (value, low, high), cell in (ratios[0], ratios[-1]) for text in (
                             f"{value:#.4g}", f"[{low:#.4g}, {high:#.4g}]", f"add, {cell['pattern']}, {cell['elements']}, hot")])

    def test_environment_and_sources(self):
        for path in (MATRIX, SECOND, CHARACTERIZATION):
            with open(path, "rb") as file:
                self.assertIn(hashlib.sha256(file.read()).hexdigest(), measured().page().section("sources").text)
            self.assertIn(read_json(path)["device"]["uuid"][:12], measured().page().section("environment").text)

    def test_characterization(self):
        section = measured().page().section("characterization")
        numbers = sum(len(experiment["numbers"]) for experiment in read_json(CHARACTERIZATION)["experiments"])
        folded = [table for details in section.all("details") for table in details.all("table")]
        self.assertEqual(sum(len(list(rows_of(table))) for table in folded), numbers)
        self.assertIn("serialization_constant latency grows per", section.text)

    def test_figures_are_those_of_plot(self):
        """The same data, byte by byte, and images with no style of their own."""
        out = os.path.join(self.folder, "figures")
        done = run_script("plot.py", "--program", CBANK, "--format", "svg,tex", "-o", out, "--figure", "matrix",
                          "--figure", "counters", MATRIX, environment=environment(), loads=DRAWING)
        self.assertEqual(done.returncode, 0, done.stderr)
        stems = [name.removesuffix(".csv") for name in os.listdir(out) if name.endswith(".csv")]
        self.assertEqual(len(stems), 3)
        for stem in stems:
            with zipfile.ZipFile(io.BytesIO(measured().bytes(f"figures/{stem}.zip"))) as archive:
                for ending in ("csv", "tex"):
                    with open(os.path.join(out, f"{stem}.{ending}"), "rb") as file:
                        self.assertEqual(archive.read(f"{stem}.{ending}"), file.read())

    def test_images(self):
        """Readable where inline styles are blocked; title and source within; every name that is used is there."""
        images = [name for name in measured().files() if name.endswith(".svg")]
        shown = [image.get("src") for image in measured().page().root.all("img")]
        self.assertEqual(set(images), set(shown))
        self.assertEqual(len(shown), len(images) + 1)  # the one on top stands below, too
        for name in images:
            text = measured().bytes(name).decode()
            root = ET.fromstring(text)
            self.assertNotRegex(text, r"<style| style=|<script")
            self.assertEqual(text.count(" font-family="), 1)
            self.assertNotRegex(text, r'font-size="[^"]*px')
            self.assertTrue(root.findtext("{http://www.w3.org/2000/svg}title"))
            self.assertIn("sha256", root.findtext("{http://www.w3.org/2000/svg}desc"))
            ids = [element.get("id") for element in root.iter() if element.get("id")]
            self.assertEqual(len(ids), len(set(ids)))
            self.assertLessEqual(set(re.findall(r"(?:href=\"|url\()#(\w+)", text)), set(ids))
            # A mark would move what it is clipped by, out of sight.
            self.assertFalse([use for use in root.iter("{http://www.w3.org/2000/svg}use") if use.get("clip-path")])

    def test_interactive(self):
        self.check(interactive(), scripts=True)
        self.assertIn("Michael Bostock", interactive().page().section("sources").text)
        self.assertNotIn("<script", measured().page().source)
        for name in interactive().pages:
            if name != "index.html":
                self.assertNotIn("<script", interactive().page(name).source)


# -- what may be given --------------------------------------------------------------------------------------------


class Inputs(Case):
    def changed(self, name, change, source=MATRIX):
        content = read_result(source)
        change(content)
        return self.write(name, content)

    def four(self, content):
        keep(content, 4)
        without_samples(content)

    def made(self, *files):
        report = self.report(*files)
        self.check(report)
        return report

    def test_no_counters(self):
        def change(content):
            self.four(content)
            content["counters_reason"] = "no permission"
            for cell in content["cells"]:
                cell["counters"] = {}
        report = self.made(self.changed("a.json", change))
        self.assertIn("counters not drawn of a: no chosen cell has a counter: no permission.", report.text)
        self.assertIn("No counters: no permission.", report.page("cells/a.html").root.text)

    def test_no_samples(self):
        def change(content):
            self.four(content)
            for cell in content["cells"]:
                cell["counters"] = {}
        report = self.made(self.changed("a.json", change))
        self.assertIn("samples not drawn of a: no chosen cell has samples.", report.text)
        self.assertIn("figures/a-matrix.svg", report.files())

    def test_partial(self):
        def change(content):
            self.four(content)
            content["complete"] = False
            content["cells"][3].update(status="pending", counters={}, verified=False,
                                       time_ns={**content["cells"][3]["time_ns"], "value": None, "median": None,
                                                "ci_low": None, "ci_high": None, "samples": []})
            content["cells"][2].update(status="failed", reason="it is wrong", verified=False)
            content["cells"][1]["flags"] = ["throttled"]
            content["cells"][0]["counters"]["ldc_instructions"]["value"] = 1
            for counts in (content["exact_counters"], content["cells"][0]["exact_counters"]):
                counts.update(equal=counts["equal"] - 1, differing=1)
        report = self.made(self.changed("a.json", change))
        self.assertIn("Incomplete: a", report.text)
        self.assertIn("2 of 4", report.text)
        self.assertIn("1 failed, 1 pending", report.text)
        findings = [line.text for line in report.page().section("summary").all("li")]
        self.assertTrue(any(line.startswith("add/") and line.endswith("failed: it is wrong") for line in findings))
        self.assertTrue(any("ldc_instructions is 1, expected 1 600 000" in line for line in findings), findings)
        self.assertTrue(any("1 cell throttled" in line for line in findings))
        self.assertIn("differs: 1600000", report.page("cells/a.html").by_id("cell-1").text)

    def test_one_cell(self):
        def change(content):
            content["cells"] = content["cells"][:1]
        report = self.made(self.changed("a.json", change))
        self.assertIn("generations not drawn of a: no chosen cell was timed on both constant and global.", report.text)
        self.assertNotIn("Time through constant to time through global", report.text)

    def test_no_cells(self):
        report = self.made(self.changed("a.json", lambda content: content.update(cells=[])))
        self.assertIn("The result has no cells.", report.page("cells/a.html").root.text)

    def test_modelled_alone(self):
        report = self.made(modelled(os.path.join(self.folder, "m.json"), *FEW))
        self.assertIn("Modelled: m is predicted by the model engine", report.text)
        self.assertIn("it is modelled, and has no samples", report.text)
        for table in report.page().section("matrix").all("table"):
            self.assertTrue(next(table.all("caption")).text.endswith(": m, modelled"))
        for name in ("figures/m-matrix.svg", "figures/m-counters.svg"):
            self.assertIn(b"modelled, not measured", report.bytes(name))

    def test_mixed_engines(self):
        """Labelled, and never in one table or one panel."""
        report = mixed()
        self.check(report)
        self.assertIn("the two are never put together", report.text)
        self.assertIn("engine differs: cuda and model, which is not allowed to differ", report.text)
        captions = [next(table.all("caption")).text for table in report.page().section("matrix").all("table")]
        self.assertEqual(sorted(caption.partition(": ")[2] for caption in captions), ["core-matrix", "m, modelled"])

    def test_every_kind(self):
        result = modelled(os.path.join(self.folder, "m.json"), *UNCOUNTED)
        comparison = self.write("c.json", cbank("compare", "--quiet", "--json", "-", result, result).stdout)
        explanation = self.write("e.json", cbank("explain", "--json", result).stdout)
        card = os.path.join(ROOT, "results/cards/h200.json")
        report = self.made(result, comparison, explanation, card)
        self.assertIn("1 result, 1 comparison, 1 explanation, 1 card", report.text)
        self.assertIn("Card H200: values and their origins", report.text)
        self.made(comparison)
        self.made(explanation)
        self.made(card)

    def test_other_workloads(self):
        result = modelled(os.path.join(self.folder, "m.json"), "--workload", "conv_1d,refill,stencil_1d",
                          "--path", "all", "--elements", "4096", "--counters", "none")
        self.assertIn("skipped: ", self.made(result).page().section("matrix").text)

    def test_equal_names(self):
        files = [modelled(os.path.join(self.folder, name), *UNCOUNTED, "--path", "constant,global")
                 for name in map(self.place, ("a", "b"))]
        report = self.made(*files)
        self.assertIn("cells/r-2.html", report.files())

    def place(self, name):
        os.mkdir(os.path.join(self.folder, name))
        return os.path.join(name, "r.json")

    def test_text_is_text(self):
        def change(content):
            self.four(content)
            content["device"]["name"] = "<script>alert('1')</script> & \"co\""
            content["cells"][0].update(status="failed", reason="<b>bold</b>")
            for cell in content["cells"]:
                cell["counters"] = {}
        report = self.made(self.changed("odd name'&<.json", change))
        self.assertIn("<script>alert('1')</script> & \"co\"", report.text)
        self.assertIn("<b>bold</b>", report.text)

    def test_same_bytes(self):
        """Taken from the cache, drawn again where one is empty or not whole, and where nothing can be kept."""
        first, cache = mixed(), os.path.join(self.folder, "cache")
        shutil.copytree(os.path.join(TEMPORARY.name, "cache"), cache)
        kept = glob.glob(os.path.join(cache, "cbank/figures/*"))
        self.assertGreater(len(kept), 3)
        # The smallest, which are drawn soonest.
        for size, path in enumerate(sorted(kept, key=os.path.getsize)[:2]):
            with open(path, "r+b") as file:
                file.truncate(100 * size)
        for more in ({}, {"XDG_CACHE_HOME": cache}, {"XDG_CACHE_HOME": self.write("file", "")}):
            self.same(first, Report(folder(), *of_two_engines(), program=False, **more))

    def test_what_is_kept_is_of_its_file(self):
        """Of one content under two names each has its own."""
        first = modelled(os.path.join(self.folder, "first.json"), *UNCOUNTED, "--path", "constant")
        second = shutil.copyfile(first, os.path.join(self.folder, "second.json"))
        for path, name in ((first, "first"), (second, "second"), (first, "first")):
            self.assertIn(f"<h1>Cells of {name}, modelled</h1>", self.report(path).bytes(f"cells/{name}.html").decode())

    def same(self, first, second):
        self.assertEqual(first.files(), second.files())
        for name in first.files():
            self.assertEqual(first.bytes(name), second.bytes(name), name)

    @unittest.skipIf(QUICK, NOT_QUICK)
    def test_folders_of_chips(self):
        """Without a GPU, drawn and taken from the cache; where time is short, of what is quick to explain."""
        chips = glob.glob(os.path.join(ROOT, "results/chips/*/"))
        for place, chip in enumerate([] if FULL else chips):
            chips[place] = os.path.join(self.folder, os.path.basename(os.path.dirname(chip)))
            os.makedirs(chips[place])
            for name in ("manifest", "core-matrix", "core-matrix-cold", "characterization", "card"):
                shutil.copy(os.path.join(chip, f"{name}.json"), chips[place])
        self.assertTrue(chips)
        more = {"XDG_CACHE_HOME": os.path.join(self.folder, "cache"), "CUDA_VISIBLE_DEVICES": ""}
        self.same(Report(folder(), *chips, **more), Report(folder(), *chips, **more))

    def test_text_comes_first(self):
        """The page is there while figures are drawn; their sizes are, once they are."""
        sys.path.insert(0, os.path.join(ROOT, "scripts"))
        from page import drawn
        text = "<img\ue000size s\ue001> zip\ue000archive s\ue001<img\ue000size t\ue001>"
        self.assertEqual([drawn.filled(text, found) for found in ({}, {"s": ((9, 8), 2048)})],
                         ["<img> zip<img>", '<img width="9" height="8"> zip, 2.0 KB<img>'])
        self.assertFalse(re.search("[\ue000\ue001]", measured().text))
        for image in measured().page().root.all("img"):
            self.assertRegex(image.attributes["width"] + image.attributes["height"], r"^\d{4,}$")

    def test_many_files(self):
        """Small enough to be kept with every run."""
        files, report = 3, measured()
        if FULL:
            files = [shutil.copyfile(MATRIX, os.path.join(self.folder, f"run-{number}.json")) for number in range(20)]
            files, report = len(files), self.report(*files)
            self.check(report)
        size = sum(os.path.getsize(os.path.join(report.folder, name)) for name in report.files())
        print(f"{files} files: {size} bytes", file=sys.stderr)
        self.assertLessEqual(size, BYTES_ONCE + files * BYTES_EACH)

    def test_what_else_is_there_stays(self):
        file = modelled(os.path.join(self.folder, "m.json"), *UNCOUNTED, "--path", "constant")
        other = self.write("out/figures/other.txt", "mine")
        self.write("out/index.html", "old")
        report = self.report(file)
        self.assertEqual(report.page().root.text.split()[0], "cbank")
        with open(other, encoding="utf-8") as stayed:
            self.assertEqual(stayed.read(), "mine")


CHIPS = [os.path.join(ROOT, "results", name) for name in ("characterizations/h200.json", "characterizations/h100.json")]


def characterized(name):
    return read_json(os.path.join(ROOT, f"results/characterizations/{name}.json"))


def experiment(name, which):
    return next(its for its in characterized(name)["experiments"] if its["name"] == which)


def latency_of(name, which):
    """Of a chain of loads."""
    return next(number["value"] for number in experiment(name, which)["numbers"] if number["name"] == "latency")


@functools.lru_cache(maxsize=None)
def atlas():
    """Of the folders of two chips, with what was characterized, as if on another board of the one and on the same of the
    other, and a card of a third that is published alone."""
    folders = []
    for name in ("h100", "h200"):
        chip = os.path.join(TEMPORARY.name, name)
        os.makedirs(chip)
        matrix = read_json(os.path.join(ROOT, f"results/{name}/core-matrix.json"))
        without_samples(matrix)
        device = characterized(name)["device"]
        matrix["device"].update(driver=device["driver"], uuid="GPU-of-a-test" if name == "h100" else device["uuid"])
        with open(os.path.join(chip, "core-matrix.json"), "w", encoding="utf-8") as file:
            json.dump(matrix, file)
        shutil.copy(os.path.join(ROOT, f"results/cards/{name}.json"), os.path.join(chip, f"card-{name}.json"))
        shutil.copy(os.path.join(ROOT, f"results/characterizations/{name}.json"), os.path.join(chip, "characterization.json"))
        with open(os.path.join(chip, "manifest.json"), "w", encoding="utf-8") as file:
            file.write("{}")
        folders.append(chip)
    shutil.copy(os.path.join(ROOT, "results/h200/gate/calibration.json"), folders[1])
    card = read_json(os.path.join(ROOT, "results/base_cards/h200.json"))
    card.update(name="Z1", levels=[{"name": "idc", "capacity_bytes": 2112, "line_bytes": 64}], launch_ns=None,
                origins={key: {"from": "published", "method": "a test"} for key in ("levels.idc.capacity_bytes", "l2_bytes")},
                numbers=[{"experiment": "published", "path": "constant", "name": "capacity", "level": 1, "value": 2048, "low": None,
                          "high": None, "unit": "bytes", "samples": 0, "method": "another", "reason": None}])
    path = os.path.join(TEMPORARY.name, "z1.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(card, file)
    return Report(folder(), *folders, path)


class Atlas(Case):
    def test_chips(self):
        """The page opens on them: a column each, a source for each value, and where sources disagree."""
        self.check(atlas())
        page = atlas().page()
        titles = [element.text for element in page.root.all("h2")]
        self.assertEqual(titles[:3], ["Contents", "Chips", "Summary"])
        self.assertNotIn("Comparison", titles)  # of two models
        rows = {row[0]: row[1:] for row in texts_of(next(page.section("atlas").all("table")))}
        self.assertEqual(rows["fact"], ["NVIDIA H100 80GB HBM3", "NVIDIA H200", "Z1"])
        self.assertRegex(rows["first level, bytes"][0], r"^2.048 \(\d+\)$")
        self.assertRegex(rows["first level, bytes"][2], "^\N{WARNING SIGN} 2.112 \\(\\d+\\)\\(\\d+\\)$")
        first, second = (level["latency"]["value"] for level in experiment("h200", "geometry_constant_modules")["geometry"]["levels"][:2])
        clock = first - latency_of("h200", "latency_constant")  # what the clock adds to an access of a walk
        self.assertEqual(rows["second level, latency, cycles"][1].split()[0], f"{second - clock:.5g}")
        launch_ns = read_json(os.path.join(ROOT, "results/h200/core-matrix.json"))["device"]["launch_ns"]
        self.assertEqual(rows["launch, ns"][1].split()[0], f"{launch_ns:.5g}")
        self.assertEqual(rows["first level, ways"][2], "–")
        text = page.section("atlas").text
        self.assertIn("Z1, first level, bytes: sources disagree: 2 112 (published: a test); 2 048 (published: another)", text)
        self.assertRegex(text, r"NVIDIA H100 80GB HBM3 is of 2 boards: GPU-\w{8} \([^;]*\); GPU-of-a-tes \(")
        self.assertNotIn("NVIDIA H200 is of 2 boards", text)
        self.assertIn("calibration.json is not shown", atlas().done.stderr)

    def test_what_all_that_say_it_have_in_common(self):
        """A card says little of a machine: no row or column of nothing for it."""
        for table in atlas().page().section("environment").all("table"):
            for row in texts_of(table):
                self.assertTrue(set(row[1:]) - {"–"}, row)

    def test_chart_on_top(self):
        """Of the pages of a figure the first of caches as a program finds them that is not a part of several."""
        def page(files, *regimes):
            return argparse.Namespace(page=argparse.Namespace(files=files, rows=[{"regime": regime} for regime in regimes]))
        pages = [page("a", "hot"), page("a", "hot"), page("b", "cold"), page("c", "hot", "cold"), page("d", "hot")]
        self.assertIs(min(pages, key=lambda its: verdict.rank_of(its, pages)), pages[3])

    def test_figures_of_all_chips(self):
        for name in ("chips", "generations"):
            self.assertIn(f"figures/{name}.svg", atlas().files())
        with zipfile.ZipFile(io.BytesIO(atlas().bytes("figures/chips.zip"))) as archive:
            rows = list(csv.DictReader(io.StringIO(archive.read("chips.csv").decode())))
        self.assertEqual({row["device"] for row in rows}, {"NVIDIA H200", "NVIDIA H100 80GB HBM3"})
        self.assertEqual({row["quantity"] for row in rows}, {"latency", "cycles_per_load", "ns_per_load", "to_best", "walk", "knee"})

    def test_claims(self):
        """Those of scripts/claims.py, chip by chip."""
        rows = list(texts_of(next(atlas().page().section("claims").all("table"))))
        self.assertEqual(rows[0][4:], ["NVIDIA H100 80GB HBM3", "NVIDIA H200"])
        made = {row[0]: row for row in rows}
        cycles = latency_of("h200", "latency_global_l2")
        self.assertRegex(made["L2 answers in tens of cycles: cycles"][5],
                         rf"^{'holds' if 10 <= cycles <= 99 else 'does not hold'}: {cycles:.1f}\b")

    def test_folders_that_mix(self):
        """Each is named with the file and what to do."""
        def chip(name, changed=()):
            content = read_json(MATRIX)
            content["cells"] = content["cells"][:1]
            content["device"].update(changed)
            self.write(f"{name}.json", content)
            return os.path.dirname(os.path.join(self.folder, name))
        chip("a/one")
        chip("b/two")
        for changed, words in (({"name": "NVIDIA Z"}, "mixes GPUs"), ({"driver": "1.2"}, "mixes drivers")):
            mixed_folder = chip("a/other", changed)
            said = report_script(mixed_folder, "-o", os.path.join(self.folder, "out"))
            self.assertEqual(said.returncode, 2, said.stderr)
            for word in (words, "a/one.json", "a/other.json", "folder of its own"):
                self.assertIn(word, said.stderr)
        os.unlink(os.path.join(self.folder, "a/other.json"))
        os.mkdir(os.path.join(self.folder, "empty"))
        for folders, words in ((("a", "b"), "are both of NVIDIA H200"), (("empty",), "holds no JSON file"),
                               (("a", "a"), "is named twice")):
            said = report_script(*(os.path.join(self.folder, name) for name in folders), "-o", os.path.join(self.folder, "out"))
            self.assertEqual(said.returncode, 2, said.stderr)
            self.assertIn(words, said.stderr)


class Verdicts(Case):
    """On top, in words, with an icon."""

    def verdict(self, report):
        return next(its for its in report.page().root.all("p") if "verdict" in (its.get("class") or "")), report

    def of(self, change):
        content = read_result(MATRIX)
        keep(content, 4)
        without_samples(content)
        change(content)
        found, report = self.verdict(self.report(self.write("a.json", content)))
        self.check(report)
        return found.get("class"), found.text

    def test_kinds(self):
        def uncounted(content):
            for cell in content["cells"]:
                cell["counters"] = {}

        def failed(content):
            uncounted(content)
            content["cells"][0].update(status="failed", reason="because")

        def flagged(content):
            uncounted(content)
            content["cells"][0]["flags"] = ["unstable"]
        self.assertEqual(self.of(lambda _: None), ("verdict good", "\N{HEAVY CHECK MARK} Good: 4 of 4 cells ok, none failed; all 36 exact "
                                                   "counters equal to expected."))
        self.assertEqual(self.of(failed), ("verdict bad", "\N{HEAVY BALLOT X} Worse: 1 cell failed."))
        self.assertEqual(self.of(flagged), ("verdict doubt", "\N{WARNING SIGN} With care: 1 of 4 cells are flagged."))

    def test_comparison_and_fleet(self):
        self.assertIn("verdict good", self.verdict(measured())[0].get("class"))
        self.assertIn("NEW is the same", self.verdict(measured())[0].text)
        self.assertIn("modelled, not measured: m", self.verdict(mixed())[0].text)

    def test_nothing_empty(self):
        """No section without content, no row that says nothing."""
        for report in (measured(), mixed()):
            for table in report.page().root.all("table"):
                for row in texts_of(table)[1:]:
                    self.assertTrue(len(row) < 2 or any(value != "–" for value in row[1:]), row)
        titles = [element.text for element in self.report(part_of(MATRIX, lambda place, _: place < 2)).page().root.all("h2")]
        self.assertTrue({"Comparison", "Characterization", "Chips", "Claims"}.isdisjoint(titles), titles)
        self.assertNotIn("was given", measured().text)


class Refusals(Case):
    COMMAND = functools.partial(cbank, "report")

    def refused(self, *arguments, status=2, words=(), run=report_script, **more):
        done = run(*arguments, **more)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertTrue(done.stderr.startswith("cbank: error: "), done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "out/index.html")))

    def test_wrong_files(self):
        out = ["-o", os.path.join(self.folder, "out")]
        for run in (self.COMMAND, report_script):
            self.refused("missing.json", *out, run=run, words=["missing.json", "No such file"])
        self.refused(MATRIX, self.write("a.json", "{"), *out, words=["a.json", "is not JSON"])
        self.refused(self.write("a.json", "{}"), *out, words=["a.json", "has no schema.name"])
        self.refused(os.path.join(ROOT, "results/h200/gate/calibration.json"), *out, words=["cbank-calibration"])
        broken = read_result(MATRIX)
        del broken["cells"][3]["counters"]
        self.refused(self.write("a.json", broken), *out, words=["a.json", "not what its schema says", "counters"])

    def test_usage(self):
        for arguments, word in (([MATRIX], "-o DIR"), (["-o", self.folder], "report needs FILE|DIR..."),
                                ([MATRIX, "-o", self.folder, "--interactiv3"], "interactive")):
            self.refused(*arguments, words=[word], run=self.COMMAND)

    def test_wrong_folder(self):
        self.refused(MATRIX, "-o", self.write("file", ""), words=["file is a file, not a folder"])
        self.refused(MATRIX, "-o", os.path.join(self.write("file", ""), "below"), words=["a file"])

    @unittest.skipIf(os.geteuid() == 0, "root may write everywhere")
    def test_folder_that_cannot_be_written(self):
        os.chmod(self.folder, 0o500)
        self.addCleanup(os.chmod, self.folder, 0o700)
        self.refused(MATRIX, "-o", os.path.join(self.folder, "out"), words=["cannot make"])

    def test_missing_modules(self):
        """As on a machine that lacks them."""
        for name in ("matplotlib", "jinja2"):
            self.write("sitecustomize.py", "import importlib.util as u\nfind = u.find_spec\n"
                       f"u.find_spec = lambda name, *more: None if name == '{name}' else find(name, *more)\n")
            self.refused(MATRIX, "-o", os.path.join(self.folder, "out"), status=3, words=[f"python3-{name}"],
                         run=self.COMMAND, PYTHONPATH=self.folder)

    def test_library(self):
        out = ["-o", os.path.join(self.folder, "out"), "--interactive", "--library"]
        self.refused(MATRIX, *out, "none.js", status=3, words=["cannot read none.js"])
        self.refused(MATRIX, *out, self.write("x.js", "1"), status=3, words=["is not d3.min.js"])
        self.refused(MATRIX, *out, self.write("x.js", "var d3={}"), status=3, words=["without its licence"])


class Install(Case):
    def test_installed(self):
        """From where make install puts it, with nothing of this tree."""
        place = os.path.join(self.folder, "place")
        build = os.path.dirname(CBANK)
        done = subprocess.run(["make", f"BUILD={build}", f"DESTDIR={place}", "PREFIX=/usr", "-o", CBANK,
                               *(["NO_CUDA=1"] if not os.environ.get("CBANK_CUDA") else []), "install"],
                              cwd=ROOT, capture_output=True, text=True, check=False, env=environment())
        self.assertEqual(done.returncode, 0, done.stderr)
        file = modelled(os.path.join(self.folder, "m.json"), *UNCOUNTED, "--path", "constant,global")
        done = cbank("report", file, "-o", os.path.join(self.folder, "out"),
                     program=os.path.join(place, "usr/bin/cbank"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(os.path.isfile(os.path.join(self.folder, "out/figures/m-matrix.svg")))
        scripts = os.path.join(place, "usr/share/cbank/scripts")
        self.assertFalse([name for name, _, _ in os.walk(scripts) if name.endswith("__pycache__")])


# -- in a browser -------------------------------------------------------------------------------------------------


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves a folder as viewers of CI artefacts do."""

    POLICY = "sandbox allow-same-origin; default-src 'none'; img-src 'self'; style-src 'self'"

    def end_headers(self):
        self.send_header("Content-Security-Policy", self.POLICY)
        super().end_headers()

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def served(path):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=path))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def browser():
    """(module, options, service) of selenium; skips without."""
    try:
        from selenium import webdriver
        from selenium.webdriver.chrome.options import Options
        from selenium.webdriver.chrome.service import Service
    except ImportError:
        raise unittest.SkipTest("no python3-selenium (scripts/setup.sh browser)") from None
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    driver = shutil.which("chromedriver")
    if not chromium or not driver:
        raise unittest.SkipTest("no chromium with its driver (scripts/setup.sh browser)")
    options = Options()
    options.binary_location = chromium
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1280,900",
                 "--disable-dev-shm-usage"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver, options, Service(driver)


def axe():
    """The text of axe-core; skips without."""
    if not os.path.exists(AXE_FILE) and os.environ.get("CBANK_FETCH") and shutil.which("npm"):
        place = os.path.dirname(os.path.dirname(AXE_FILE))
        os.makedirs(place, exist_ok=True)
        done = subprocess.run(["npm", "pack", AXE, "--pack-destination", place], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            shutil.unpack_archive(os.path.join(place, done.stdout.split()[-1]), place)
    if not os.path.exists(AXE_FILE):
        raise unittest.SkipTest(f"no {AXE} in build/axe (CBANK_FETCH=1 fetches it)")
    with open(AXE_FILE, encoding="utf-8") as file:
        return file.read()


# Of rows of a table that are made of the same elements with the same attributes and classes, two show what all do.
ROWS_ALIKE_GO = """
    for (const body of document.querySelectorAll('tbody')) {
        const seen = {};
        for (const row of [...body.rows]) {
            const kind = [row, ...row.querySelectorAll('*')].map(
                e => [e.tagName, e.getAttribute('class'), ...e.getAttributeNames()]).join();
            seen[kind] = (seen[kind] || 0) + 1;
            if (seen[kind] > 2)
                row.remove();
        }
    }
    return document.querySelectorAll('tbody tr').length;"""


@unittest.skipIf(QUICK, NOT_QUICK)
class Browser(Case):
    @classmethod
    def setUpClass(cls):
        webdriver, options, service = browser()
        try:
            cls.driver = webdriver.Chrome(service=service, options=options)
        except Exception as error:  # pylint: disable=broad-except
            raise unittest.SkipTest(f"chromium does not start: {str(error).splitlines()[0]}") from None
        cls.addClassCleanup(cls.driver.quit)
        cls.driver.set_script_timeout(200)  # on a machine with much else to do

    def tell(self, command, **arguments):
        return self.driver.execute_cdp_cmd(command, arguments)

    def open(self, url, width=1280, dark=False, scripts=True):
        self.tell("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.tell("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.tell("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.driver.get("about:blank")
        self.driver.get_log("browser")
        self.driver.get(url)

    def url(self, report, name="index.html"):
        return f"file://{report.folder}/{name}"

    def width(self):
        return self.tell("Page.getLayoutMetrics")["cssContentSize"]["width"]

    def picture(self, name, height=2000):
        """For people: left where CBANK_SCREENSHOTS says."""
        size = self.tell("Page.getLayoutMetrics")["cssContentSize"]
        made = self.tell("Page.captureScreenshot", captureBeyondViewport=True,
                         clip={"x": 0, "y": 0, "width": size["width"], "height": min(height, size["height"]), "scale": 1})
        data = base64.b64decode(made["data"])
        self.assertGreater(len(data), 5000)
        if os.environ.get("CBANK_SCREENSHOTS"):
            os.makedirs(os.environ["CBANK_SCREENSHOTS"], exist_ok=True)
            with open(os.path.join(os.environ["CBANK_SCREENSHOTS"], f"{name}.png"), "wb") as file:
                file.write(data)
        return data

    def errors(self):
        return [entry["message"] for entry in self.driver.get_log("browser") if "favicon" not in entry["message"]]

    def test_light_dark_and_narrow(self):
        """At 400 % of 1280 pixels nothing scrolls sideways but tables and figures by themselves."""
        pictures = {}
        self.open(self.url(atlas()), 320)
        self.assertLessEqual(self.width(), 320)
        self.tell("Emulation.setEmulatedMedia", media="print", features=[])
        self.assertFalse(self.driver.execute_script("return document.querySelector('nav').offsetParent !== null"))
        self.assertTrue(self.driver.execute_script("return document.querySelector('.verdict').offsetParent !== null"))
        self.tell("Emulation.setEmulatedMedia", media="", features=[])
        for page in ("index.html", "cells/core-matrix.html"):
            for width, dark in ((1280, False), (1280, True), (320, False), (320, True)):
                self.open(self.url(measured(), page), width, dark, scripts=False)
                self.assertLessEqual(self.width(), width, (page, width))
                name = f"{os.path.basename(page)}-{width}-{'dark' if dark else 'light'}"
                pictures[name] = self.picture(name)
        self.assertEqual(len(set(pictures.values())), 8)

    def test_blocked(self):
        """With no scripts and no inline styles everything is there, and nothing was blocked."""
        with served(measured().folder) as url:
            self.open(f"{url}/index.html")
            self.assertEqual(self.errors(), [])
            found = self.tell("Page.getLayoutMetrics")["cssContentSize"]
            self.assertEqual(found["width"], 1280)
            blocked = self.picture("blocked")
        self.open(self.url(measured()), scripts=False)
        self.assertEqual(blocked, self.picture("not-blocked"))
        with served(measured().folder) as url:
            for name in [name for name in measured().files() if name.endswith(".svg")][:3]:
                self.driver.get(f"{url}/{name}")
                self.assertEqual(self.errors(), [])

    def test_images_are_drawn(self):
        self.open(self.url(measured()))
        self.assertTrue(self.driver.execute_script(
            "return [...document.images].every(image => image.complete && image.naturalWidth > 300)"))

    def test_no_sheet(self):
        """Read from the top: headings, tables and figures follow each other."""
        self.open(self.url(measured()))
        self.driver.execute_script("document.querySelector('link[rel=stylesheet]').remove()")
        self.picture("no-sheet")
        tops = self.driver.execute_script("return [...document.querySelectorAll('h2')].map("
                                          "h => h.getBoundingClientRect().top)")
        self.assertEqual(tops, sorted(tops))

    def focused(self):
        return self.driver.execute_script(
            "const e = document.activeElement, r = e.getBoundingClientRect();"
            "return [e.tagName, e.className, e.getAttribute('href'), r.width > 0 && r.height > 0 && r.top >= 0 &&"
            "r.top < innerHeight, getComputedStyle(e).outlineStyle]")

    def test_keyboard(self):
        """The order is that of the page; what has the focus is seen, and that it has it."""
        from selenium.webdriver.common.action_chains import ActionChains
        from selenium.webdriver.common.keys import Keys
        self.open(self.url(measured()))
        tops = []
        for step in range(60):
            ActionChains(self.driver).send_keys(Keys.TAB).perform()
            tag, _, href, seen, outline = self.focused()
            if step == 0:
                self.assertEqual((tag, href), ("A", "#main"))
            self.assertTrue(seen, (step, tag, href))
            self.assertNotEqual(outline, "none", (step, tag, href))
            tops.append(tag)
        self.assertIn("DIV", tops)  # a table that scrolls
        self.open(self.url(measured()))
        ActionChains(self.driver).send_keys(Keys.TAB, Keys.ENTER, Keys.TAB).perform()
        self.assertTrue(self.driver.execute_script("return document.activeElement.closest('main') !== null"))
        scrolls = self.driver.execute_script(
            "return [...document.querySelectorAll('*')].filter(e => e.scrollWidth > e.clientWidth + 1 &&"
            "/auto|scroll/.test(getComputedStyle(e).overflowX) && e.tabIndex < 0).length")
        self.assertEqual(scrolls, 0)

    def test_accessibility(self):
        """axe-core finds nothing, in light and dark, wide and narrow, everything unfolded."""
        script = axe()
        pages = [(measured(), "index.html"), (mixed(), "cells/core-matrix.html")]  # a page of cells: few show what many do
        with contextlib.suppress(unittest.SkipTest):
            pages.append((interactive(), "index.html"))
        # Colours do not depend on the width: both of each, and all four where all is tried. Of several chips, whose page is
        # long, one.
        looks = [(False, 1280), (True, 320), *([(False, 320), (True, 1280)] if FULL else [])]
        for (report, name), (dark, width) in [*itertools.product(pages, looks), ((atlas(), "index.html"), (True, 320))]:
            with self.subTest(name, dark=dark, width=width):
                self.open(self.url(report, name), width, dark)
                self.driver.execute_script("document.querySelectorAll('details').forEach(d => { d.open = true; })")
                if not FULL:
                    self.assertGreater(self.driver.execute_script(ROWS_ALIKE_GO), 5)
                self.driver.execute_script(script)
                found = self.driver.execute_async_script(
                    "const done = arguments[0]; axe.run(document, {resultTypes: ['violations']}).then("
                    "r => done([r.passes.length, r.violations.map(v => v.id + ': ' + v.help + ' ' + "
                    "v.nodes.slice(0, 3).map(n => n.html.slice(0, 150)).join(' | '))]))")
                self.assertEqual(found[1], [])
                self.assertGreater(found[0], 15)

    def test_interactive(self):
        from selenium.webdriver.common.action_chains import ActionChains
        from selenium.webdriver.common.by import By
        from selenium.webdriver.common.keys import Keys
        from selenium.webdriver.support.ui import Select
        self.open(self.url(interactive()))
        self.assertEqual(self.errors(), [])
        self.assertEqual(self.driver.find_element(By.ID, "shown").text, "24 of 24 cells, 24 in the chart")
        self.picture("interactive")

        Select(self.driver.find_element(By.ID, "filter-path")).select_by_value("constant")
        Select(self.driver.find_element(By.ID, "filter-file")).select_by_value("core-matrix")
        Select(self.driver.find_element(By.ID, "quantity")).select_by_value("idc_requests")
        self.assertEqual(self.driver.find_element(By.ID, "shown").text, "4 of 24 cells, 4 in the chart")
        left = self.driver.execute_script(
            "return [...document.querySelectorAll('main a[href*=\"#cell-\"]')].filter(a => a.offsetParent)"
            ".map(a => a.getAttribute('href'))")
        cells = [cell for cell in read_json(MATRIX)["cells"] if cell["elements"] == 128000]
        numbers = [place for place, cell in enumerate(cells, 1) if cell["path"] == "constant"]
        self.assertEqual(set(left), {f"cells/core-matrix.html#cell-{place}" for place in numbers})

        self.driver.execute_script("document.getElementById('chart').focus()")
        ActionChains(self.driver).send_keys(Keys.ARROW_RIGHT).perform()
        tip = self.driver.find_element(By.ID, "tip")
        self.assertIn("idc_requests", tip.text)
        ActionChains(self.driver).send_keys(Keys.ESCAPE).perform()
        self.assertFalse(tip.is_displayed())
        point = self.driver.find_element(By.CSS_SELECTOR, "#chart .point")
        ActionChains(self.driver).move_to_element(point).perform()
        self.assertRegex(tip.text, r"add/constant/\w+/\d+/1024/hot\ncore-matrix\n[\d.]+ .s \[")
        self.picture("interactive-filtered")
        self.driver.find_element(By.CSS_SELECTOR, "#filters button").click()
        self.driver.execute_async_script("setTimeout(arguments[0], 100)")
        self.assertEqual(self.driver.find_element(By.ID, "shown").text, "24 of 24 cells, 24 in the chart")


if __name__ == "__main__":
    unittest.main()
