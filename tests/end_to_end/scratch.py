#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that change a scratch copy of the tree, build it and look at the outcome: that a row or a file is all that an
addition needs, that what a room may not see does not compile, and what make installs.

CBANK_CUDA names the CUDA toolkit; without one, what needs it is skipped.
"""

import json
import os
import sys
import unittest

from common import ROOT
from tree import ARCHITECTURE, DISASSEMBLER, KERNELS, TOOLKIT, Case

# Rows that no table has.
PATTERN = ('PATTERN(reversed, "neighbouring threads, backwards", INDEX_THREAD, 0, 0, 0, '
           '(length - 1u - thread) % length)\n')
PATH_ROW = ('PATH(fresh, "global memory, fetched again by every load", TABLE_GLOBAL, UNIT_L2, INDEX_THREAD, '
            '1024u, 0, 35, 1, "LDG.STRONG", "ld.global.cv", __ldcv(&table[index]))\n')
WORKLOAD = ('WORKLOAD(triple, "three loads a thread", map, 1, 3, INDEX_COMPILED, BEFORE_NOTHING, 0, 0, "lockstep", '
            '"4096", "64", input - 2u * sum)\n')


class Row(Case):
    """A pattern, a path and a workload are one row in one file."""

    def checks(self, kernels):
        """The kernel checks find so many kernels, all right."""
        if TOOLKIT:
            done = self.scratch.check_ptx()
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertRegex(done.stdout, rf"compute_{ARCHITECTURE} +{kernels} +{kernels}\b")
        if TOOLKIT and DISASSEMBLER:
            done = self.scratch.check_sass()
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertRegex(done.stdout, rf"sm_{ARCHITECTURE} +{kernels} +{kernels}\b")

    def check_ok(self, cells, *skipped):
        """All cells are ok, with their kernel where there are kernels, but for those of some paths."""
        for cell in cells:
            self.assertEqual(cell["status"], "skipped" if cell["path"] in skipped else "ok", cell)
            self.assertEqual(bool(cell["reason"]), cell["path"] in skipped, cell)
            if TOOLKIT and cell["status"] == "ok":
                self.assertTrue(cell["kernel"]["name"], cell)

    def test_pattern(self):
        self.scratch.edit("patterns/patterns.def", "#undef PATTERN", PATTERN + "#undef PATTERN")
        self.scratch.make()
        rows = self.scratch.rows("patterns")
        self.assertEqual((len(rows), rows[-1]["name"]), (9, "reversed"))
        self.assertIn("thread", rows[-1]["formula"])

        cells, printed = self.scratch.cells("--pattern", "reversed", "--path", "all")
        self.assertIn("reversed", printed)
        self.assertEqual(len(cells), 11 * 2)
        self.check_ok(cells, "constant_uniform", "constant_operand")
        for cell in cells:
            if cell["path"] in ("constant", "param"):
                self.assertEqual(cell["model"]["requests_per_load"], 32)
        self.checks(KERNELS + 9)

    def test_path(self):
        self.scratch.edit("kernels/paths.def", "#undef PATH", PATH_ROW + "#undef PATH")
        self.scratch.make()
        rows = self.scratch.rows("paths")
        self.assertEqual((len(rows), rows[-1]["name"]), (12, "fresh"))

        cells, printed = self.scratch.cells("--path", "constant,fresh", "--workload", "add,conv_1d", "--radius", "1",
                                            "--elements", "4096")
        self.assertIn("fresh", printed)
        self.assertEqual(len(cells), 2 * (4 + 1))
        self.check_ok(cells)
        self.assertEqual({cell["array_bytes"] for cell in cells if cell["path"] == "fresh"}, {1024})
        self.checks(KERNELS + 8 + 1 + 1)

    def test_workload(self):
        self.scratch.edit("kernels/workloads.def", "#undef WORKLOAD", WORKLOAD + "#undef WORKLOAD")
        self.scratch.make()
        self.assertEqual(self.scratch.rows("workloads")[-1]["name"], "triple")

        cells, printed = self.scratch.cells("--workload", "triple", "--path", "all")
        self.assertIn("triple, 4096 elements, blocks of 64, hot", printed)
        self.assertEqual(len(cells), 11)
        self.check_ok(cells)
        self.checks(KERNELS + 11)


COMMAND = """\
/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "command.h"

struct greeting {
    bool loud;
};

static const struct option_row option_rows[] = {
    {.name = "loud", .help = "louder", .kind = &option_flag, .offset = offsetof(struct greeting, loud)},
};

static const struct option_group groups[] = {OPTION_GROUP(option_rows, 0)};

static enum status greet(const void *options, const struct invocation *invocation)
{
    const struct greeting *const greeting = options;

    (void)invocation;
    puts(greeting->loud ? "HELLO" : "hello");
    return STATUS_OK;
}

const struct command greet_command = {
    .name = "greet",
    .summary = "Say hello",
    .groups = groups,
    .group_count = 1,
    .options_bytes = sizeof(struct greeting),
    .run = greet,
};
"""

EXPORT = """\
static enum status write_count(FILE *stream, const struct catalogue *catalogue)
{
    fprintf(stream, "%zu cells\\n", catalogue->count);
    return STATUS_OK;
}

"""

EXPERIMENT = '    {"latency_anew", follows, experiment_latency, "global_l2", NULL, 0, PROBE_WALK},\n'

FIGURE = """\
# SPDX-License-Identifier: MIT
from . import documents

NAME = "greeting"
PLACE = 1000
SUMMARY = "hello"
TAKES = ("result",)
NEEDS = "a result"
METHOD = ""
COLUMNS = ("cells", "source", "source_sha256")


def rows(document, selection=documents.ALL):
    return [{"cells": len(documents.chosen(document, selection)), **document.source()}]


def pages(made, _width_mm):
    return [made]


def draw(made, width_mm, note=None):
    from . import style
    figure, body = style.figure(width_mm, 40, [], note)
    body.subplots().plot([0, 1], [0, made[0]["cells"]])
    return figure
"""


class Addition(Case):
    """What is added is one file, or one row and its function; listing, help, completion, checks and drawing follow."""

    def added(self, *places):
        self.assertEqual(tuple(dict.fromkeys(self.scratch.touched)), places)

    def said(self, *command, status=0):
        done = self.scratch.run(*command)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_command(self):
        """A file, and its name in the list of main.c."""
        self.scratch.add("harness/result/greet_command.c", COMMAND)
        self.scratch.edit("harness/main.c", "EACH(run)", "EACH(greet) EACH(run)")
        self.scratch.make()
        self.added("harness/result/greet_command.c", "harness/main.c")
        self.assertEqual(self.said("build/cbank", "greet"), "hello\n")
        self.assertEqual(self.said("build/cbank", "greet", "--lou"), "HELLO\n")
        self.assertIn("louder", self.said("build/cbank", "greet", "--help"))
        self.assertRegex(self.said("build/cbank", "--help"), r"(?m)^ +greet +Say hello")
        for printed in ("--man", "--completion"):
            self.assertIn("greet", self.said("build/cbank", "help", printed))
        self.assertIn("unknown option 'load'", self.said("build/cbank", "greet", "--load", status=2))

    def test_export_format(self):
        rows = "const struct export_format export_formats[] = {\n"
        self.scratch.edit("harness/result/export.c", rows, EXPORT + rows + '    {"count", "how many", write_count},\n')
        self.scratch.make()
        self.added("harness/result/export.c")
        result = "results/h200/core-matrix.json"
        self.assertEqual(self.said("build/cbank", "export", "--format", "count", result), "24 cells\n")
        self.assertIn("count", self.said("build/cbank", "export", "--help"))
        self.assertIn("count", self.said("build/cbank", "help", "--completion"))

    def experiments(self):
        record = "results/characterizations/h200.json"
        found = json.loads(self.said("build/cbank", "characterize", "--quiet", "--replay", record, "--json", "-"))
        return {one["name"]: {**one, "seconds": None} for one in found["experiments"]}

    def test_experiment(self):
        """No record becomes unreadable by it."""
        before, head = self.experiments(), "const struct experiment experiments[] = {\n"
        self.scratch.edit("harness/characterize/characterize.c", head, head + EXPERIMENT)
        self.scratch.make()
        self.added("harness/characterize/characterize.c")
        after = self.experiments()
        added = after.pop("latency_anew")
        self.assertEqual((added["status"], added["evidence"]), ("skipped", []))
        self.assertIn("the record is older than this experiment", added["reason"])
        self.assertEqual(after, before)

    def test_key_of_a_card(self):
        """The key, and its value in the card that is built in; a card without it is refused."""
        self.scratch.edit("harness/cell/card.def", "#undef CARD_TEXT", "CARD_NUMBER(parsec_ns, 1, 9)\n#undef CARD_TEXT")
        card = "results/cards/h200.json"
        self.scratch.edit(card, '"cc_major":\t9', '"parsec_ns": 3, "cc_major":\t9')
        self.scratch.make()
        self.added("harness/cell/card.def", card)
        model = ("build/cbank", "run", "--engine", "model", "--elements", "4096", "--quiet", "--json", "-")
        self.said(*model, "--card", card)
        self.assertIn("parsec_ns: expected a number from 1 to 9, it is missing",
                      self.said(*model, "--card", os.path.join(ROOT, card), status=2))

    def test_figure(self):
        self.scratch.add("scripts/figures/greeting.py", FIGURE)
        self.added("scripts/figures/greeting.py")
        self.assertRegex(self.said(sys.executable, "scripts/plot.py", "--list"), r"(?m)^ +greeting +hello")
        self.said(sys.executable, "scripts/plot.py", "-o", "out", "--figure", "greeting", "--format", "svg",
                  "results/h200/core-matrix.json")
        self.assertIn("\n24,", self.scratch.read("out/core-matrix-greeting.csv"))
        self.assertIn("</svg>", self.scratch.read("out/core-matrix-greeting.svg"))


class Rooms(Case):
    """A folder of harness/ is compiled with the include paths of the rooms that it may see, and no others."""

    ASKED = ('asked: ; @$(foreach room,$(ROOMS),echo "$(room): $(SEES_$(room)): '
             '$(filter harness/$(room)/%,$(filter-out harness/$(room)/%/,$(SOURCES)))";)')

    def rooms(self):
        """{room: (rooms that it sees, its sources)}, as the Makefile has them."""
        lines = self.scratch.try_make("-s", "--eval", self.ASKED, "asked").stdout.splitlines()
        split = [[part.split() for part in line.split(":")] for line in lines]
        return {room[0]: (set(seen), [one for one in sources if os.path.dirname(one) == f"harness/{room[0]}"])
                for room, seen, sources in split}

    def test_what_a_room_may_not_see_does_not_compile(self):
        rooms, planted = self.rooms(), []
        self.assertEqual(set(rooms), {os.path.relpath(folder, "harness") for folder in self.folders_with_sources()})
        for room, (seen, sources) in rooms.items():
            for header in filter(None, map(self.header_of, set(rooms) - seen - {room})):
                planted.append((f"harness/{room}/planted_{len(planted)}.c", header))
                self.scratch.write(planted[-1][0], f'#include "{header}"\n')
            self.assertTrue(sources, room)
        done = self.scratch.try_make("-k", *(f"build/obj/{name[:-2]}.o" for name, _ in planted))
        self.assertGreater(len(planted), len(rooms))
        for name, header in planted:
            with self.subTest(name, header=header):
                self.assertIn(f"{name}:1:10: fatal error: {header}: No such file", done.stderr)

    def header_of(self, room):
        names = sorted(os.listdir(os.path.join(self.scratch.root, "harness", room)))
        return next((name for name in names if name.endswith(".h")), None)

    def folders_with_sources(self):
        root = os.path.join(self.scratch.root, "harness")
        return [os.path.relpath(folder, self.scratch.root) for folder, _, names in os.walk(root)
                if folder != root and any(name.endswith(".c") for name in names)]


class Install(Case):
    def test_install_and_uninstall(self):
        self.scratch.make()
        place = os.path.join(self.scratch.root, "place")
        self.scratch.make(f"DESTDIR={place}", "PREFIX=/usr", "install")
        done = self.scratch.run(os.path.join(place, "usr/bin/cbank"), "list", "patterns")
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in ("schema.json", "card.schema.json", "cards/h200.json"):
            self.assertTrue(os.path.isfile(os.path.join(place, "usr/share/cbank", name)), name)
        self.scratch.make(f"DESTDIR={place}", "PREFIX=/usr", "uninstall")
        left = [file for _, _, files in os.walk(place) for file in files]
        self.assertEqual(left, [])

    def test_nothing_to_do_the_second_time(self):
        self.scratch.make()
        self.assertEqual(len(self.scratch.make().stdout.splitlines()), 1)


if __name__ == "__main__":
    unittest.main()
