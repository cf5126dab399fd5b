#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of cbank report and cbank atlas: pages are whole, links lead somewhere, numbers are
those of the documents, and no text of a document is more than text. CBANK names the program
(default build/cbank)."""

import glob
import hashlib
import json
import os
import re
import subprocess
import unittest
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from urllib.parse import unquote

from common import CBANK, FULL, ROOT, Scratch, analysis, kept_folder, read_bytes, read_json, scale

from cbank import tables
from figures import fleet_documents

CHIPS = {name: os.path.join(ROOT, "results/chips", name) for name in ("h200", "h100")}
RESULT, SECOND = (
    os.path.join(ROOT, "results/h200", name) for name in ("core-matrix.json", "second-process.json")
)
CHARACTERIZATION, CARD, A100 = (
    os.path.join(CHIPS["h200"], "characterization.json"),
    os.path.join(CHIPS["h200"], "card.json"),
    os.path.join(ROOT, "results/cards/a100.json"),
)

UNTIMED = {
    **dict.fromkeys(("value", "median", "ci_low", "ci_high", "min", "mad", "stop_reason")),
    "effective_samples": None,
    "launches_per_sample": 0,
    "samples": [],
}

VOID = {"meta", "link", "img", "br"}
ENDED_BY = {
    "td": {"td", "th", "tr", "tbody"},
    "th": {"td", "th", "tr", "tbody"},
    "tr": {"tr", "tbody"},
    "thead": {"tbody"},
    "li": {"li"},
    "dt": {"dt", "dd"},
    "dd": {"dt", "dd"},
}


class Page(HTMLParser):
    """A page: its elements end as HTML says, and nothing is mended. `text` has a line for each
    row and paragraph."""

    def __init__(self, path):
        super().__init__()
        self.open, self.ids, self.links, self.tables, self.tags, self.text = (
            [],
            [],
            [],
            [],
            set(),
            "",
        )
        self.feed(read_bytes(path).decode())
        self.close()
        if self.open:
            raise AssertionError(f"{path}: {self.open} are open at the end")

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        while self.open and tag in ENDED_BY.get(self.open[-1], ()):
            self.open.pop()
        if tag not in VOID:
            self.open.append(tag)
        self.tags.add(tag)
        self.ids += [attributes["id"]] if "id" in attributes else []
        self.links += [attributes[key] for key in ("href", "src") if key in attributes]
        if set(attributes) & {"onclick", "onload", "onerror", "style"}:
            raise AssertionError(f"<{tag}> has {attributes}")
        self.text += (
            "\n"
            if tag in ("tr", "p", "li", "h1", "h2", "h3", "dt", "figcaption", "section", "caption")
            else ""
        )
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag):
        while (
            self.open
            and self.open[-1] != tag
            and (self.open[-1] in ENDED_BY or self.open[-1] == "tbody")
        ):
            self.open.pop()
        if not self.open or self.open.pop() != tag:
            raise AssertionError(f"line {self.getpos()[0]}: </{tag}> ends {self.open}")

    def handle_data(self, data):
        self.text += data
        if any(tag in ("td", "th") for tag in self.open[-3:]) and self.tables:
            self.tables[-1][-1][-1] += data

    def rows(self, *begin):
        """{name: the rest} of the rows of the first table that has a row which begins so."""
        its = next(
            table
            for table in self.tables
            if any([cell.strip() for cell in row[: len(begin)]] == list(begin) for row in table)
        )
        return {row[0].strip(): [cell.strip() for cell in row[1:]] for row in its}


class Case(Scratch):
    def report(self, *files, status=0):
        done = analysis("report", "-o", self.path("page"), *files)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def page(self, name="index.html"):
        return Page(os.path.join(self.path("page"), name))

    def changed(self, name, change, of=RESULT):
        content = read_json(of)
        change(content)
        return self.write(name, content)


class Content(Case):
    @classmethod
    def setUpClass(cls):
        cls.made = kept_folder(cls)
        done = analysis("report", "-o", cls.made, RESULT, SECOND, CHARACTERIZATION, CARD)
        assert done.returncode == 0, done.stderr

    def path(self, name):
        return self.made if name == "page" else super().path(name)

    def test_the_page_is_whole_and_links_lead_somewhere(self):
        page = self.page()
        self.assertEqual(len(page.ids), len(set(page.ids)))
        self.assertFalse(page.tags & {"script", "iframe", "object", "form"})
        for link in page.links:
            path, _, anchor = unquote(link).partition("#")
            self.assertTrue(os.path.exists(os.path.join(self.made, path)), link)
            self.assertTrue(not anchor or anchor in page.ids, link)
        for path in glob.glob(f"{self.made}/figures/*.svg"):
            ET.parse(path)

    def test_no_cell_is_a_word_of_python(self):
        cells = {cell.strip() for table in self.page().tables for row in table for cell in row}
        self.assertIn("2 x 18 + 6 x 16", cells)
        self.assertEqual(cells & {"nan", "NaN", "None", "<NA>"}, set())

    def test_numbers_are_those_of_the_documents(self):
        page = self.page()
        rows = page.rows("pattern", "constant", "global", "readonly")
        cells = {
            (cell["path"], cell["pattern"]): cell["time_ns"]
            for cell in read_json(RESULT)["cells"]
            if cell["elements"] == 128000
        }
        for pattern in ("per_block", "per_thread", "pseudo_random"):
            times = {path: cells[path, pattern] for path in ("constant", "global", "readonly")}
            best = min(time["value"] for time in times.values())
            self.assertEqual(
                rows[pattern],
                [
                    text
                    for time in times.values()
                    for text in (
                        (
                            f"{tables.time(time['value'])} "
                            f"{tables.half_width(time['value'], time['ci_low'], time['ci_high'])}"
                        ),
                        f"{time['value'] / best:.2f}×",
                    )
                ],
            )
        rows = page.rows("path", "cycles [95 %]")
        wanted = {
            experiment["path"]: experiment["numbers"][0]
            for experiment in read_json(CHARACTERIZATION)["experiments"]
            if experiment["name"].startswith("latency_")
            and experiment["name"] != "latency_global_l2"
            and experiment["status"] == "ok"
        }
        self.assertEqual(
            {path: row[0] for path, row in rows.items() if path in wanted},
            {
                path: tables.with_ends(its["value"], its["low"], its["high"], False)
                for path, its in wanted.items()
            },
        )
        self.assertEqual(
            page.rows("level", "latency (cycles)")["level 1"][1:3], ["2\u202f048", "2\u202f048"]
        )
        self.assertEqual(page.rows("sm_count")["sm_count"][0], "132")
        self.assertEqual(
            page.rows("what", "value")["uuid"],
            ["GPU-14f9466f-15f6-6146-432c-a2120d50f6cd", "all that say it"],
        )
        self.assertEqual(
            page.rows("file", "kind")["core-matrix.json"],
            ["result", hashlib.sha256(read_bytes(RESULT)).hexdigest()],
        )

    def test_the_comparison_is_the_instruments(self):
        said = json.loads(
            subprocess.run(
                [CBANK, "compare", "--quiet", "--json", "-", RESULT, SECOND],
                capture_output=True,
                check=True,
            ).stdout
        )
        rows = self.page().rows("cell", "verdict", "base", "new")
        for cell in said["cells"]:
            self.assertEqual(
                rows[cell["identity"]][:4],
                [
                    cell["verdict"],
                    tables.time(cell["base_ns"]),
                    tables.time(cell["new_ns"]),
                    f"{cell['ratio']['value']:.4f}",
                ],
            )
        self.assertIn(said["summary"], self.page().text)

    def test_no_heading_is_empty_and_the_environment_comes_last(self):
        path = os.path.join(ROOT, "docs/example/index.html")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        ids = re.findall('<h2 id="([a-z]+)"', text)
        self.assertEqual(ids, ["contents", "fleet", "history", "figures", "environment", "sources"])
        self.assertNotRegex(text, r"</h[234]>\s*</section>")
        self.assertNotIn(r"\x0a", text)

    def test_the_same_files_give_the_same_bytes(self):
        again = super().path("again")
        self.assertEqual(
            analysis("report", "-o", again, RESULT, SECOND, CHARACTERIZATION, CARD).returncode, 0
        )
        for folder, _, names in os.walk(self.made):
            for name in names:
                path = os.path.join(folder, name)
                self.assertEqual(
                    read_bytes(path),
                    read_bytes(os.path.join(again, os.path.relpath(path, self.made))),
                    path,
                )


class Verdicts(Case):
    """The line on top of the page, and what stands below it."""

    def verdict(self, wanted, *files, below=()):
        self.report(*files)
        text = self.page().text
        self.assertRegex(re.search(r"(?:Good|With care|Worse): [^\n]*", text)[0], wanted)
        for said in below:
            self.assertIn(said, text)

    def test_good(self):
        self.verdict(
            "^Good: 24 of 24 cells ok, none failed; all 216 exact counters equal to expected",
            RESULT,
        )

    def test_findings_are_worse_and_are_listed(self):
        def change(content):
            content["cells"][0].update(
                status="failed", reason="output[7] is 1", verified=False, time_ns=UNTIMED
            )
            counter = content["cells"][1]["counters"]["ldc_instructions"]
            counter["value"] += 1
            content["cells"][1]["exact_counters"].update(equal=8, differing=1)
            content["exact_counters"].update(
                equal=content["exact_counters"]["equal"] - 1, differing=1
            )
            content["cells"][2]["flags"] = ["unstable"]

        self.verdict(
            "^Worse: 2 cells failed or invalid; exact counters: only 215 of 216 equal",
            self.changed("bad.json", change),
            below=(
                "failed: output[7] is 1",
                "ldc_instructions is",
                "1 cell unstable: sampling stopped before",
            ),
        )

    def test_doubts(self):
        def change(content):
            content.update(engine="model", complete=False)
            content["cells"][0].update(status="skipped", reason="no room", time_ns=UNTIMED)
            content["cells"][2]["flags"] = ["unstable"]

        self.verdict(
            (
                "^With care: modelled, not measured: doubt; interrupted: doubt; 1 of 24 cells are"
                " flagged"
            ),
            self.changed("doubt.json", change),
            below=("doubt: modelled, not measured", "skipped: constant per_block (no room)"),
        )

    def test_a_characterization_that_did_not_end(self):
        part = read_json(CHARACTERIZATION)
        part.update(interrupted=True, experiments=part["experiments"][:2])
        self.verdict("^With care: interrupted: part", self.write("part.json", part))

    def test_a_regression_is_the_instruments(self):
        self.verdict(
            "^Worse: core-matrix and slow: .*24 regressed",
            RESULT,
            self.changed(
                "slow.json", lambda content: [scale(cell, 1.2) for cell in content["cells"]], SECOND
            ),
        )

    def test_fleet_and_history(self):
        fleet, history = map(read_json, fleet_documents())
        failing = sum(finding["fails"] for finding in fleet["findings"])
        self.verdict(
            (
                f"^Worse: fleet: {fleet['answered']} of {fleet['expected']} GPUs answered in the"
                f" night from {fleet['night']['first_utc']}, {failing} findings"
            ),
            *fleet_documents(),
        )
        page = self.page()
        rows = page.rows("slower", fleet["findings"][-1]["who"])
        self.assertEqual(rows["slower"][1], f"{100 * fleet['findings'][-1]['change']:+.2f}")
        for change in history["changes"]:
            self.assertIn(
                f"[{100 * change['ci_low']:+.2f}, {100 * change['ci_high']:+.2f}]", page.text
            )

    def test_results_of_two_models_are_not_compared(self):
        self.verdict(
            "^Good: ",
            RESULT,
            os.path.join(CHIPS["h100"], "core-matrix.json"),
            below=("No comparison: the results are of two models of GPUs", "Chips side by side"),
        )


class Inputs(Case):
    def test_results_that_say_little(self):
        """No cells; one cell without samples and counters; tables of other sizes, which no ratio
        is made of."""

        def few(count):
            def change(content):
                content["cells"] = content["cells"][:count]
                content["exact_counters"] = {key: 0 for key in content["exact_counters"]}
                for cell in content["cells"]:
                    cell["counters"], cell["time_ns"]["samples"] = {}, []

            return self.changed(f"few-{count}.json", change)

        def sizes(content):
            for cell in content["cells"]:
                if cell["path"] == "global":
                    cell["table_bytes"] = 128
                    cell["time_ns"]["value"] /= 10

        self.report(few(0), few(1), self.changed("sizes.json", sizes))
        page = self.page()
        self.assertEqual(
            [page.rows("file", "engine")[f"few-{count}"][2] for count in (0, 1)],
            ["0 of 0", "1 of 1"],
        )
        self.assertEqual(page.rows("pattern", "constant", "readonly")["per_block"][1], "1.00×")

    def test_users_kernels(self):
        """A size stands in place of elements and blocks, and the fastest cell is one that was
        verified."""
        self.report(os.path.join(ROOT, "tests/data/show/kernel.json"))
        page = self.page()
        self.assertIn("crc32, size 131\u202f072, hot", page.text)
        row = page.rows("pattern", "constant", "global", "texture")["own kernel=ba7816bf8f01cfea"]
        self.assertEqual([row[2 * place + 1] for place in (0, 3, 4)], ["3.96×", "1.00×", "0.48×"])
        self.assertEqual(
            page.rows("pattern", "constant", "shared")["own kernel=cb8379ac2098aa16"][-1], "1.00×"
        )

    def test_folders_and_names(self):
        """Other files of the folder stay; files of one name, and those whose name is no text,
        have names."""
        odd = os.fsencode(self.folder) + b"/\xff\x1b[31m \n.json"
        with open(odd, "wb") as file:
            file.write(read_bytes(RESULT))
        self.write("page/mine.txt", "mine")
        for name in ("core-matrix", "calibration", "card"):
            self.write(f"h200/{name}.json", read_json(os.path.join(CHIPS["h200"], f"{name}.json")))
        self.assertEqual(
            self.report(self.path("h200"), RESULT, A100, os.fsdecode(odd)).stdout,
            f"{self.path('page')}/index.html\n",
        )
        page = self.page()
        self.assertEqual(page.rows("file", "engine")["core-matrix"][1], "NVIDIA H200")
        self.assertLessEqual(
            {"h200-core-matrix", "xff-x1b-31m-x0a"}, set(page.rows("file", "engine"))
        )
        self.assertIn("calibration", page.text)
        self.assertEqual(page.rows("fact")["fact"], ["NVIDIA H200", "A100"])
        self.assertEqual(read_bytes(self.path("page/mine.txt")), b"mine")

    def test_refusals(self):
        self.assertIn(
            "blocked/figures: ",
            self.report(RESULT, "-o", self.write("blocked", "a file"), status=3).stderr,
        )
        wrong = self.changed("wrong.json", lambda content: content["cells"][3].pop("path"))
        for words, said in (
            ((self.path("absent.json"),), "cannot read"),
            ((self.write("x.json", "{"),), "is not JSON"),
            ((self.write("check.json", {"schema": {"name": "cbank-check"}}),), "is a cbank-check"),
            ((wrong,), "wrong.json: cells\\[3\\].path: expected a string, it is missing"),
        ):
            self.assertRegex(self.report(*words, status=2).stderr, said)
            self.assertFalse(os.path.exists(self.path("page")))
        self.assertIn("required", analysis("report").stderr)


class Atlas(Case):
    def test_facts_have_sources(self):
        done = analysis("atlas", *CHIPS.values(), A100)
        self.assertEqual(done.returncode, 0, done.stderr)
        level = next(
            experiment
            for experiment in read_json(CHARACTERIZATION)["experiments"]
            if experiment["name"] == "geometry_constant"
        )["geometry"]["levels"][0]
        self.assertRegex(
            done.stdout,
            (
                r"(?m)^L1 constant cache, size \(bytes\)"
                rf" +{tables.count(level['capacity_bytes']['value'])} \(\d\)"
            ),
        )
        self.assertRegex(done.stdout, r"(?m)^- \(\d\) published: MT4G, sample results, A100$")
        rows = analysis("atlas", "--csv", *CHIPS.values()).stdout
        self.assertIn('NVIDIA H200,"L1 constant cache, size (bytes)",2048.0', rows)

    def test_sources_that_disagree_are_marked(self):
        def change(content):
            geometry = next(
                its for its in content["experiments"] if its["name"] == "geometry_constant"
            )["geometry"]
            geometry["levels"][0]["capacity_bytes"].update(value=4096, low=4096, high=4096)
            content["schema"]["version"] = "1.1"

        done = analysis(
            "atlas", CHARACTERIZATION, self.changed("other.json", change, CHARACTERIZATION), A100
        )
        self.assertRegex(
            done.stdout, r"(?m)^L1 constant cache, size \(bytes\) +⚠ 2\u202f048 \(1\)\(2\)"
        )
        self.assertIn(
            (
                "NVIDIA H200, L1 constant cache, size (bytes): sources disagree: 2\u202f048"
                " (characterized, characterization.json); 4\u202f096"
            ),
            done.stdout,
        )


PROBE = """<script>%s</script><script>addEventListener("load", async () => {
    const left = part => part.getBoundingClientRect().left;
    const tables = [...document.querySelectorAll(".scroll:has(tbody)")];
    for (const folded of document.querySelectorAll("details")) folded.open = true;
    for (const part of tables) part.scrollLeft = 100;
    const wide = document.documentElement.scrollWidth > innerWidth;
    const away = part => Math.abs(left(part.querySelector("tbody th")) - left(part)) > 1;
    const first = [...document.querySelectorAll(".verdict, nav")].map(part => part.tagName);
    const faults = window.axe ? (await axe.run()).violations.map(its => its.id) : [];
    const found = [innerWidth, wide, tables.filter(away).length, first, faults];
    parent.postMessage(JSON.stringify(found), "*");
});</script>"""


@unittest.skipUnless(FULL, "make test-long has Chromium")
class Gallery(Case):
    def chromium(self, *words):
        return subprocess.run(
            ["chromium", "--headless", "--no-sandbox", *words],
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    def narrow(self, page):
        """Facts of a page 320 pixels wide: width, whether it scrolls, tables whose first column
        moves, verdict and contents in order, and rules of axe-core that are broken, where
        CBANK_AXE names axe.min.js."""
        axe = read_bytes(os.environ["CBANK_AXE"]).decode() if "CBANK_AXE" in os.environ else ""
        with open(f"{page}-probe.html", "w", encoding="utf-8") as file:
            file.write(
                read_bytes(page).decode().replace("</body>", PROBE.replace("%s", axe) + "</body>")
            )
        outer = self.write(
            "outer.html",
            (
                f'<iframe src="{page}-probe.html"'
                ' width="320"></iframe><script>addEventListener("message", its =>'
                ' document.body.innerHTML = "<pre>" + its.data + "</pre>")</script>'
            ),
        )
        return json.loads(
            re.search(
                "<pre>(.+)</pre>",
                self.chromium("--virtual-time-budget=60000", "--dump-dom", f"file://{outer}"),
            )[1]
        )

    def test_pages(self):
        subprocess.run(
            [
                "/usr/bin/python3",
                "-IB",
                os.path.join(ROOT, "scripts/gallery.py"),
                "--program",
                CBANK,
                "-o",
                self.path("page"),
            ],
            check=True,
            stderr=subprocess.DEVNULL,
        )
        links = self.page().links[2:]
        self.assertLessEqual(
            {f"{name}/index.html" for name in ("chips", "h100", "h200", "suite-h100")}, set(links)
        )
        dom = self.chromium("--dump-dom", f"file://{self.path('page')}/index.html")
        self.assertRegex(dom, r'id="count"[^>]*>\d{4,} of \d{4,} cells, the first 20 shown<')
        self.assertRegex(
            self.page().text,
            r"(?s)Published claims, on NVIDIA H200.*constant beats __ldg for uniform reads",
        )
        for link in ("index.html", *links):
            self.assertEqual(
                self.narrow(self.path(f"page/{link}")),
                [320, False, 0, ["P", "NAV"] * (link in links), []],
                link,
            )
            self.chromium(
                f"--print-to-pdf={self.path('printed.pdf')}", f"file://{self.path('page')}/{link}"
            )
            self.assertIn(b"/MediaBox", read_bytes(self.path("printed.pdf")))
        bad = self.write(
            "bad.html",
            (
                '<body><table class="scroll"><tbody><tr><th>a<td><p style="width:'
                ' 900px">b</table><nav></nav></body>'
            ),
        )
        self.assertEqual(self.narrow(bad)[:4], [320, True, 1, ["NAV"]])


if __name__ == "__main__":
    unittest.main()
