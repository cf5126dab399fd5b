#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that change a scratch copy of the tree, build it and check the outcome. An addition needs
only a row or a file; a forbidden include does not compile; make installs the right files.

CBANK_CUDA names the CUDA toolkit; without one, what needs it is skipped.
"""

import csv
import functools
import io
import json
import os
import struct
import sys
import unittest

from tree import (
    ARCHITECTURE,
    DISASSEMBLER,
    PATTERNS,
    TOOLKIT,
    Case,
    Changes,
    Scratch,
    built,
    kernels,
)

# Rows that no table has.
PATTERN = """\
PATTERN(reversed, (length - 1u - thread) % length,
        .summary = "neighbouring threads, backwards")
"""
PATH_ROW = """\
PATH(fresh, __ldcv(&table[index]),
     .summary = "global memory, fetched again by every load", .home = TABLE_GLOBAL,
     .unit = UNIT_L2, .bytes = 1024u, .architecture = 35, .loads = 1,
     .sass = "LDG.STRONG", .ptx = "ld.global.cv")
"""
WORKLOAD = """\
WORKLOAD(triple, map, input - 2u * sum,
         .summary = "three loads a thread", .dimensions = 1, .steps = 3, .patterns = "lockstep",
         .elements = "4096", .block_sizes = "64")
"""
# paths for lookup alone
SMALL = ("shared_copies", "shuffle", "select_4", "select_16", "prmt", "param_large")


COMMAND = """\
/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "command.h"

struct greeting {
    bool loud;
};

static const struct option_row option_rows[] = {
    {.name = "loud", .topic = TOPIC_OUTPUT, .help = "louder", .kind = &option_flag,
     .offset = offsetof(struct greeting, loud)},
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

COUNTER = (
    '    {"fresh_misses", "misses, under another name", "lookups",'
    ' {"idc__requests_lookup_miss.sum"}, COUNTER_MEASURED, NULL},\n'
)

# An axis with a reader, and one that names a reader which does not read it.
PARAMETER = """\
PARAMETER(launch_blocks, "launch-blocks", "blocks of a launch; fit: as many as there is room for",
          "blocks", 1, 4096, 1, "fit", 0, READER_GRID)
"""
INDEX_SHIFT = """\
PARAMETER(index_shift, "index-shift", "entries that each index is shifted by, around", "entries", 1,
          65536, 1, "none", 0, READER_INDICES)
"""
UNREAD = """\
PARAMETER(unread, "unread", "nothing", "units", 1, 9, 1, "none", 0, READER_LAUNCH)
"""
ROUNDS = "    if (rounds)\n"
LAUNCH_BLOCKS = """\
    if (cell->parameters[PARAMETER_launch_blocks])
        cell->grid_blocks = cell->parameters[PARAMETER_launch_blocks];
    else if (rounds)
"""
TABLES = "        /* Several tables lie one after the other"
SHIFT = """\
        for (uint64_t i = 0; i < indices; i++)
            made[i] = (made[i] + cell->parameters[PARAMETER_index_shift]) % numbers.length;
"""

REPORT = """\
/* SPDX-License-Identifier: MIT */
#include "report.h"

static enum status write_plain(FILE *stream, const struct comparison *comparison,
                               const struct report_view *view)
{
    (void)view;
    fprintf(stream, "%zu cells\\n", comparison->cell_count);
    return STATUS_OK;
}

const struct report_format report_plain = {.write = write_plain};
"""

GRID = """\
/* SPDX-License-Identifier: MIT */
#include "grid.h"

static enum status print_plain(FILE *stream, const struct grid *grid)
{
    fprintf(stream, "%zu rows\\n", grid->row_count);
    return STATUS_OK;
}

const struct grid_format grid_plain = {.name = "plain", .print = print_plain};
"""

EXPORT = """\
/* SPDX-License-Identifier: MIT */
#include "export.h"

static enum status print_plain(FILE *stream, const struct result *result,
                               const struct export_view *view)
{
    (void)view;
    fprintf(stream, "%zu cells\\n", result->cell_count);
    return STATUS_OK;
}

const struct export export_plain = {.print = print_plain};
"""

VALUE = """\
    {FIELD(field_number, struct cell_result, "fresh_ns", fresh_ns, LATER),
     .about = "a value that no result has",
     .column = COLUMN(.heading = "fresh", .format = text_time, .views = VIEW_CELLS | VIEW_TIME,
                      .place = 255)},
"""

EXPERIMENT = (
    '    {"latency_anew", follows, "global_l2", experiment_latency, .probes = ASKS(CHAIN)},\n'
)

CARD, RESULT = "results/cards/h200.json", "results/h200/core-matrix.json"
OTHER = "results/h200/second-process.json"

FIGURE = """\
def greeting(sources):
    rows = timed(sources[0])
    made = times(rows, panel="hello", series=rows["path"], x=rows["elements"], y=rows["time_ns"])
    sentence, axes = f"There are {len(rows)} cells.", {None: ("elements", "ns")}
    return [Drawing("greeting", "greeting", made, sentence, axes, [sources[0].document])]


"""


def pattern(scratch):
    scratch.edit("patterns/patterns.def", "#undef PATTERN", PATTERN + "#undef PATTERN")


def path(scratch):
    scratch.edit("kernels/paths.def", "#undef PATH", PATH_ROW + "#undef PATH")


def workload(scratch):
    scratch.edit("kernels/workloads.def", "#undef WORKLOAD", WORKLOAD + "#undef WORKLOAD")


def counter(scratch):
    head = "const struct counter counters[] = {\n"
    scratch.edit("harness/cell/counter.c", head, head + COUNTER)


def parameter_of_lookup(scratch, name, row):
    """A row, and its bit in the row of lookup."""
    scratch.edit("patterns/parameters.def", "#undef PARAMETER", row + "#undef PARAMETER")
    scratch.edit(
        "kernels/workloads.def",
        "PARAMETER_BIT(table_count)",
        f"PARAMETER_BIT(table_count) + PARAMETER_BIT({name})",
    )


def axis(scratch):
    """The files that CONTRIBUTING names for the reader `grid`: two tables, and what reads it."""
    parameter_of_lookup(scratch, "launch_blocks", PARAMETER)
    scratch.edit("harness/cell/cell.c", ROUNDS, LAUNCH_BLOCKS)


def index_axis(scratch):
    """The same for the reader `indices`."""
    parameter_of_lookup(scratch, "index_shift", INDEX_SHIFT)
    scratch.edit("harness/cell/index_list.c", TABLES, SHIFT + TABLES)


def unread_axis(scratch):
    parameter_of_lookup(scratch, "unread", UNREAD)


def command(scratch):
    """A file, and its name in the list of commands.c."""
    scratch.add("harness/result/greet_command.c", COMMAND)
    scratch.edit("harness/commands.c", "EACH(run,", "EACH(greet, JOB_MACHINE) EACH(run,")


def report_format(scratch):
    """A file, and its line."""
    scratch.add("harness/compare/report_plain.c", REPORT)
    scratch.edit(
        "harness/compare/report.h",
        "    EACH(junit, ",
        '    EACH(plain, "write the number of cells") \\\n    EACH(junit, ',
    )


def grid_format(scratch):
    """A file for grids and one for results, and a line."""
    scratch.add("harness/document/grid_plain.c", GRID)
    scratch.add("harness/result/export_plain.c", EXPORT)
    scratch.edit(
        "harness/document/grid.h",
        "    EACH(csv, ",
        '    EACH(plain, "print numbers of rows") \\\n    EACH(csv, ',
    )


def value(scratch):
    """A member and its row; the schema is written by the program."""
    scratch.edit(
        "harness/result/result.h",
        "struct cell_result {\n",
        "struct cell_result {\n    double fresh_ns;\n",
    )
    head = "static const struct field cell_rows[] = {\n"
    scratch.edit("harness/result/result_cell_json.c", head, head + VALUE)


def experiment(scratch):
    head = "const struct experiment experiments[] = {\n"
    scratch.edit("harness/characterize/characterize.c", head, head + EXPERIMENT)


def key_of_a_card(scratch):
    """A number of the model, which cards may lack: its name and its row."""
    last = "    CARD_NUMBERS\n"
    scratch.edit("harness/counts/card.h", last, "    CARD_PARSEC_NS,\n" + last)
    head = "const struct card_row card_rows[CARD_NUMBERS] = {\n"
    row = '    [CARD_PARSEC_NS] = {"parsec_ns", "ns", OPTIONAL, LESS, 1, 9, "light"},\n'
    scratch.edit("harness/counts/card.c", head, head + row)


# Once for each copy.
checked_ptx = functools.lru_cache(maxsize=None)(Scratch.check_ptx)
checked_sass = functools.lru_cache(maxsize=None)(Scratch.check_sass)

# Each has the files that CONTRIBUTING names, and no other.
EVERY = (
    pattern,
    path,
    workload,
    counter,
    axis,
    index_axis,
    unread_axis,
    report_format,
    grid_format,
    value,
    command,
    experiment,
    key_of_a_card,
)


class Row(Changes):
    """A pattern, a path and a workload are one row in one file."""

    EVERY = EVERY

    def checks(self):
        """The kernel checks find all kernels, all right."""
        count = kernels(
            *(
                table in self.scratch.touched
                for table in ("kernels/paths.def", "patterns/patterns.def", "kernels/workloads.def")
            )
        )
        for there, check, architecture in (
            (TOOLKIT, checked_ptx, "compute"),
            (TOOLKIT and DISASSEMBLER, checked_sass, "sm"),
        ):
            if there:
                done = check(self.scratch)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertRegex(done.stdout, rf"{architecture}_{ARCHITECTURE} +{count} +{count}\b")

    def check_ok(self, cells, *skipped):
        """All cells are ok, with their kernel where there are kernels, but for those of some
        paths."""
        for cell in cells:
            self.assertEqual(cell["status"], "skipped" if cell["path"] in skipped else "ok", cell)
            if cell["path"] in skipped:
                self.assertTrue(cell["reason"], cell)
            if TOOLKIT and cell["status"] == "ok":
                self.assertTrue(cell["kernel"]["name"], cell)

    def paths(self):
        return len(self.scratch.rows("paths"))

    def test_pattern(self):
        self.change(pattern)
        rows = self.scratch.rows("patterns")
        self.assertEqual(
            (len(rows), rows[-1]["name"]), ((len(PATTERNS) if TOOLKIT else 9) + 1, "reversed")
        )
        self.assertIn("thread", rows[-1]["formula"])

        cells, printed = self.scratch.cells("--pattern", "reversed", "--path", "all")
        self.assertIn("reversed", printed)
        self.assertEqual(len(cells), self.paths() * 2)
        self.check_ok(cells, *SMALL, "constant_uniform", "constant_operand")
        for cell in cells:
            if cell["path"] in ("constant", "param"):
                self.assertEqual(cell["counts"]["requests_per_load"], 32)
        self.checks()

    def test_path(self):
        self.change(path)
        rows = self.scratch.rows("paths")
        self.assertEqual((len(rows), rows[-1]["name"]), (18, "fresh"))

        cells, printed = self.scratch.cells(
            "--path",
            "constant,fresh",
            "--workload",
            "add,conv_1d",
            "--radius",
            "1",
            "--elements",
            "4096",
        )
        self.assertIn("fresh", printed)
        self.assertEqual(len(cells), 2 * (4 + 1))
        self.check_ok(cells)
        self.assertEqual({cell["array_bytes"] for cell in cells if cell["path"] == "fresh"}, {1024})
        self.checks()

    def test_workload(self):
        self.change(workload)
        self.assertEqual(self.scratch.rows("workloads")[-1]["name"], "triple")

        cells, printed = self.scratch.cells("--workload", "triple", "--path", "all")
        self.assertIn("triple, 4096 elements, blocks of 64, hot", printed)
        self.assertEqual(len(cells), self.paths())
        self.check_ok(cells, *SMALL)
        self.checks()


class Addition(Changes):
    """An addition is one file, or one row and its function; listing, help, completion and checks
    follow."""

    EVERY = EVERY

    def said(self, *words, status=0):
        done = self.scratch.run(*words)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_counter(self):
        self.change(counter)
        self.assertIn("fresh_misses", [row["name"] for row in self.scratch.rows("counters")])
        cells, _ = self.scratch.cells(
            "--elements", "4096", "--path", "constant", "--pattern", "per_warp"
        )
        self.assertEqual(cells[0]["counters"]["fresh_misses"]["kind"], "measured")
        self.assertRegex(
            self.said("build/cbank", "counters", "result.json", "fresh_misses"),
            r"(?m)\bfresh_misses$",
        )

    def readers(self):
        """The status and the text of the test that sees what each parameter changes."""
        self.scratch.make("build/tests/unit/test_parameters")
        done = self.scratch.run("build/tests/unit/test_parameters")
        return done.returncode, done.stdout + done.stderr

    def csv(self, program):
        """The rows of a result, without the column that another addition has."""
        rows = list(csv.DictReader(io.StringIO(self.said(program, "show", "--csv", RESULT))))
        for row in rows:
            row.pop("fresh_ns", None)
        return rows

    def test_axis_of_lookup(self):
        """It sets the grid. Identities and CSV of cells without it stay as they were."""
        self.change(axis)
        names = [row["name"] for row in self.scratch.rows("parameters")]
        self.assertIn("launch_blocks", names)
        plan = (
            "--workload",
            "lookup",
            "--path",
            "constant",
            "--source",
            "sorted",
            "--elements",
            "4096",
        )
        cells = [
            cell
            for words in ((), ("--launch-blocks", "7"))
            for cell in self.scratch.cells(*plan, *words)[0]
        ]
        plain = "lookup/constant/sorted/4096/256/hot/loads=4/in_flight=1"
        self.assertEqual([cell["identity"] for cell in cells], [plain, plain + "/launch_blocks=7"])
        self.assertEqual([cell["parameters"].get("launch_blocks") for cell in cells], [None, 7])
        self.assertEqual([cell["grid_blocks"] for cell in cells], [16, 7])
        before = self.csv(os.path.join(built(), "build/cbank"))
        self.assertEqual(self.csv("build/cbank"), before)
        self.assertIn(
            "--launch-blocks",
            self.said(
                "build/cbank", "run", "--elements", "64", "--launch-blocks", "5000", status=2
            ),
        )
        self.assertNotIn("launch_blocks", self.readers()[1])

    def test_axis_of_indices(self):
        """Cells of one plan that differ by it read different indices. Those of a file are read as
        they are."""
        self.change(index_axis)
        plan = "--workload lookup --path global --source zipf --elements 4096".split()
        cells, _ = self.scratch.cells(*plan, "--index-shift", "1,100,65535")
        self.assertEqual([cell["parameters"]["index_shift"] for cell in cells], [1, 100, 65535])
        self.assertEqual(len({cell["indices"]["hash"] for cell in cells}), 3)
        self.assertNotIn("index_shift", self.readers()[1])

        self.write_indices("indices.npy")
        plan = "--workload lookup --path global --indices indices.npy".split()
        (cell,), _ = self.scratch.cells(*plan)
        self.assertEqual(cell["status"], "ok", cell["reason"])
        (cell,), _ = self.scratch.cells(*plan, "--index-shift", "1", status=3)
        self.assertEqual(
            (cell["status"], cell["reason"]),
            ("skipped", "the indices of a file are read as they are, without --index-shift"),
        )

    def write_indices(self, name):
        """A NumPy file of one load of 64 elements."""
        head = "{'descr': '<u4', 'fortran_order': False, 'shape': (1, 64), }".ljust(117) + "\n"
        with open(os.path.join(self.scratch.root, name), "wb") as file:
            file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
            file.write(struct.pack("<64I", *range(64)))

    def test_an_axis_that_nothing_reads_is_refused(self):
        """The test of parameters names it; a row that names no reader does not compile."""
        self.change(unread_axis)
        status, said = self.readers()
        self.assertNotEqual(status, 0)
        self.assertIn("unread: nothing that lookup with random does depends on it", said)
        self.assertIn("unread: its row names the reader launch, which never sees it", said)
        self.assertIn("CONTRIBUTING.md says where that reader reads", said)
        table = self.scratch.read("patterns/parameters.def")
        self.scratch.write(
            "patterns/parameters.def", table.replace('"none", 0, READER_LAUNCH', '"none", 0, 0')
        )
        done = self.scratch.run("cc", "-fsyntax-only", "-Ipatterns", "patterns/parameter.c")
        self.scratch.write("patterns/parameters.def", table)
        self.assertIn("parameters.def: unread has no reader: name a READER_", done.stderr)

    def test_format_of_a_comparison(self):
        self.change(report_format)
        self.assertEqual(
            self.said("build/cbank", "compare", RESULT, OTHER, "--plain", "-"), "24 cells\n"
        )
        for command in ("compare", "gate"):
            self.assertRegex(
                self.said("build/cbank", command, "--help=all"),
                r"(?m)^  --plain=FILE +write the number of cells",
            )

    def test_format_of_grids_and_results(self):
        self.change(grid_format)
        self.assertEqual(self.said("build/cbank", "show", RESULT, "--plain"), "24 cells\n")
        self.assertEqual(self.said("build/cbank", "counters", RESULT, "--plain"), "24 rows\n")
        self.assertRegex(self.said("build/cbank", "list", "paths", "--plain"), r"^\d+ rows\n$")

    def test_value_of_a_cell(self):
        self.change(value)
        result = json.loads(self.scratch.read(RESULT))
        for cell in result["cells"]:
            cell["fresh_ns"] = 7
        self.scratch.write("fresh.json", json.dumps(result))
        identity = result["cells"][0]["identity"]
        (row,) = csv.DictReader(
            io.StringIO(self.said("build/cbank", "show", "fresh.json", "--csv", "--cell", identity))
        )
        self.assertEqual(row["fresh_ns"], "7")
        self.assertRegex(
            self.said("build/cbank", "show", "fresh.json", "--cell", identity), r"fresh +7\.000 ns"
        )
        written = json.loads(self.said("build/cbank", "show", "fresh.json", "--json"))
        self.assertEqual([cell["fresh_ns"] for cell in written["cells"]], [7] * 24)
        # an older file has none
        (row,) = csv.DictReader(
            io.StringIO(self.said("build/cbank", "show", RESULT, "--csv", "--cell", identity))
        )
        self.assertEqual(row["fresh_ns"], "")

        self.said("scripts/write_schemas.sh", "build/cbank")
        schema = json.loads(self.scratch.read("results/schema.json"))
        self.assertEqual(
            schema["properties"]["cells"]["items"]["properties"]["fresh_ns"],
            {
                "description": "a value that no result has",
                "csv": "fresh_ns",
                "frame": "fresh_ns",
                "type": ["number", "null"],
            },
        )
        program = (
            "import cbank; rows = cbank.load('fresh.json');"
            "print(rows['fresh_ns'].tolist() == [7] * 24)"
        )
        done = self.scratch.run(
            "env",
            "PYTHONPATH=scripts",
            f"CBANK_PROGRAM={self.scratch.root}/build/cbank",
            sys.executable,
            "-c",
            program,
        )
        self.assertEqual(done.stdout, "True\n", done.stderr)
        before = self.scratch.run(os.path.join(built(), "build/cbank"), "show", RESULT).stdout
        self.assertEqual(self.said("build/cbank", "show", RESULT), before)

    def test_help_of_additions(self):
        """The test of options that commands share knows those of new rows, as it stands."""
        for change in (axis, report_format, grid_format):
            self.change(change)
            done = self.scratch.run(
                "env",
                f"CBANK={self.scratch.root}/build/cbank",
                sys.executable,
                "tests/end_to_end/help.py",
                "Shared.test_each_option_that_several_have_is_known",
            )
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_command(self):
        self.change(command)
        self.assertEqual(self.said("build/cbank", "greet"), "hello\n")
        self.assertEqual(self.said("build/cbank", "greet", "--lou"), "HELLO\n")
        self.assertRegex(
            self.said("build/cbank", "greet", "--help"), r"(?m)^Output:\n +--loud +louder\n"
        )
        self.assertRegex(self.said("build/cbank", "--help"), r"(?m)^ +greet +Say hello")
        self.assertIn(
            "unknown option 'load'", self.said("build/cbank", "greet", "--load", status=2)
        )

    def experiments(self, program):
        record = "results/characterizations/h200.json"
        found = json.loads(
            self.said(program, "characterize", "--quiet", "--replay", record, "--json", "-")
        )
        return {one["name"]: {**one, "seconds": None} for one in found["experiments"]}

    def test_experiment(self):
        """No record becomes unreadable by it."""
        self.change(experiment)
        before, after = self.experiments(os.path.join(built(), "build/cbank")), self.experiments(
            "build/cbank"
        )
        added = after.pop("latency_anew")
        self.assertEqual((added["status"], added["evidence"]), ("skipped", []))
        self.assertIn("the record lacks this experiment", added["reason"])
        self.assertEqual(after, before)

    def test_key_of_a_card(self):
        """A card without it is read, and says what it lacks; its limits are those of the row."""
        self.change(key_of_a_card)
        model = (
            "build/cbank",
            "run",
            "--engine",
            "model",
            "--elements",
            "4096",
            "--quiet",
            "--json",
            "-",
            "--card",
            CARD,
        )
        self.assertIn("does not know parsec_ns", self.said(*model))
        self.scratch.edit(
            CARD,
            '"sm_clock_mhz":',
            '"parsec_ns": {"value": 10, "low": 10, "high": 10}, "sm_clock_mhz":',
        )
        self.assertIn(
            "model.parsec_ns.value: expected a number from 1 to 9", self.said(*model, status=2)
        )


class Drawing(Case):
    """A figure and a conversion are a function and a row."""

    def cbank(self, *words):
        done = self.scratch.run("env", "PYTHONPATH=scripts", sys.executable, "-m", "cbank", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_figure(self):
        kinds = "scripts/cbank/figures/kinds.py"
        self.scratch.edit(
            "scripts/cbank/figures/cells.py", "# -- users' kernels", FIGURE + "# -- users' kernels"
        )
        self.scratch.edit(
            kinds,
            "KINDS = {",
            'KINDS = {\n    "greeting": Kind(cells.greeting, ("result",), "lines", "hello", ""),',
        )
        self.assertRegex(self.cbank("plot", "--help"), r"(?m)^ +greeting +hello")
        self.cbank("plot", "-o", "out", "--figure", "greeting", "--format", "svg", RESULT)
        self.assertEqual(self.scratch.read("out/greeting.csv").count("\n"), 25)
        self.assertIn("</svg>", self.scratch.read("out/greeting.svg"))
        self.assertTrue(
            self.scratch.read("out/greeting.txt").startswith("There are 24 cells.\nOn NV")
        )

    def test_conversion(self):
        convert = "scripts/cbank/convert.py"
        self.scratch.edit(
            convert,
            "# -- the command",
            (
                'def count(catalogue):\n    return f"{len(catalogue.cells)} cells\\n"\n\n\n# -- the'
                " command"
            ),
        )
        self.scratch.edit(convert, "FORMATS = {", 'FORMATS = {"count": count, ')
        self.assertEqual(self.cbank("convert", "--to", "count", RESULT), "24 cells\n")
        self.assertIn("one of count, gbench", self.cbank("convert", "--help"))


class Rooms(Case):
    """A folder of harness/ is compiled with the include paths of the rooms that it may see, and
    no others."""

    ASKED = (
        'asked: ; @$(foreach room,$(ROOMS),echo "$(room): $(SEES_$(room)): $(filter'
        ' harness/$(room)/%,$(filter-out harness/$(room)/%/,$(PLAIN_SOURCES) $(CUDA_SOURCES)))";)'
    )

    def rooms(self):
        """{room: (rooms that it sees, its sources)}, as the Makefile has them."""
        lines = self.scratch.try_make("-s", "--eval", self.ASKED, "asked").stdout.splitlines()
        split = [[part.split() for part in line.split(":")] for line in lines]
        return {
            room[0]: (
                set(seen),
                [one for one in sources if os.path.dirname(one) == f"harness/{room[0]}"],
            )
            for room, seen, sources in split
        }

    def test_what_a_room_may_not_see_does_not_compile(self):
        rooms, planted = self.rooms(), []
        self.assertEqual(
            set(rooms),
            {os.path.relpath(folder, "harness") for folder in self.folders_with_sources()},
        )
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
        return [
            os.path.relpath(folder, self.scratch.root)
            for folder, _, names in os.walk(root)
            if folder != root and any(name.endswith(".c") for name in names)
        ]


class Again(Case):
    def test_nothing_to_do_the_second_time(self):
        self.scratch.make()
        self.assertEqual(len(self.scratch.make().stdout.splitlines()), 1)


if __name__ == "__main__":
    unittest.main()
