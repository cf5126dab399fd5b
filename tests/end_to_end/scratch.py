#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that change a scratch copy of the tree, build it and look at the outcome: that a row or a file is all that an
addition needs, that what a room may not see does not compile, and what make installs.

CBANK_CUDA names the CUDA toolkit; without one, what needs it is skipped.
"""

import os
import unittest

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
