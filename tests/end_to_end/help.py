#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Help: commands by job, options by topic, and the options that several commands share."""

import functools
import json
import re
import unittest

import readme
from common import Scratch

cbank = functools.cache(readme.cbank)
command_names = functools.cache(readme.command_names)

JOBS = {
    "Measure": "run spaces characterize calibrate contribute",
    "Understand": "show counters explain advise",
    "Compare and gate": "compare gate normal history",
    "Store and fleet": "ingest fleet",
    "Check and publish": "check report plot convert atlas",
    "This machine": "doctor list",
}

# Commands without an option that others have, by the reason.
ANSWER = "it has no other output than its answer"
NO_CELLS = "it reads no cells of results"
NO_VERDICT = "it judges nothing"
SCREEN = "its answer is a screen, or a few lines"
WITHOUT = {
    "quiet": {
        ANSWER: (
            "show counters explain advise normal history check report plot convert atlas doctor"
            " list"
        ),
        "it takes an hour, and says how far it is": "contribute",
    },
    "color": {
        "it prints no table with marked values": "characterize calibrate",
        "the analysis prints no colours": (
            "contribute history ingest fleet check report plot convert atlas"
        ),
    },
    "json": {
        "its outcome is in a store, and cbank history --json prints it": "ingest",
        "it writes files whose formats are their purpose": "contribute report plot convert atlas",
    },
    "csv": {
        "cbank show --csv prints its cells": "run spaces calibrate gate compare contribute",
        "its rows are not all alike; --json has them": (
            "explain advise characterize history fleet check doctor"
        ),
        "it prints no table": "ingest report convert",
        "--format csv writes what it draws": "plot",
    },
    "markdown": {
        "cbank show --markdown prints its cells": "run spaces calibrate contribute",
        "its rows are not all alike; --json has them": (
            "explain advise characterize history check doctor"
        ),
        "it prints no table": "ingest report convert",
        "it writes pictures": "plot",
    },
    "card": {
        "it has no times of a model": (
            "show counters compare normal history ingest fleet check report plot convert atlas"
        ),
        "it measures, and makes the card": "contribute",
        "it is about this machine": "doctor list",
    },
    "kernel": {
        "its FILE is the kernel": "spaces",
        "it compiles nothing, and reads no code": (
            "characterize contribute show counters explain compare normal history ingest fleet"
            " check report plot convert atlas doctor list"
        ),
    },
    "strict": {
        NO_VERDICT: (
            "characterize calibrate contribute show counters explain advise ingest report"
            " plot convert atlas list"
        ),
        "too close to call is an answer": "spaces",
        "nothing in it is inconclusive": "history fleet check doctor",
        "its exit code says so": "normal",
    },
    "threshold": {
        NO_VERDICT: (
            "characterize calibrate contribute show counters explain ingest report plot"
            " convert atlas list"
        ),
        "it judges no sizes of changes": "check doctor",
        "what counts follows from the boards": "normal",
    },
    "cell": {
        "its plan says which cells": "run spaces characterize calibrate contribute gate advise",
        NO_CELLS: "ingest fleet check list doctor",
        "it is about all cells": "compare normal report convert atlas",
        "--select takes cells": "plot",
    },
    "all": {
        "it always prints all": (
            "run spaces normal counters explain advise history fleet check list"
        ),
        SCREEN: "calibrate contribute ingest doctor",
        "it writes files": "report convert atlas",
    },
    "device": {
        "it uses no GPU": (
            "show counters explain compare normal history ingest fleet check report plot"
            " convert atlas"
        ),
        "it takes the first GPU": "contribute",
        "it is about all GPUs": "doctor list",
    },
    "watchdog-slack": {
        "it uses no GPU": (
            "show counters explain compare normal history ingest fleet check report plot"
            " convert atlas"
        ),
        "it runs other commands": "contribute",
        "it asks for a moment": "doctor list",
    },
}


# The commands of the axes of a plan. Parameters are axes; a kernel file has its own.
AXES = "run calibrate advise gate"

# Options that are rows of one array, or alike: by the commands that have them, and no others.
SETS = {
    AXES: "block-size elements indices pattern source",
    # cells of a plan; advise compares all paths for one of them
    "run calibrate gate": "launch-path path quick sweep workload",
    # how a plan or a kernel is measured
    "run spaces calibrate gate": (
        "against-compiler against-options anonymous compiler compiler-options compiler-seconds"
        " duration energy-seconds kernel-sha256 size space"
    ),
    "run spaces calibrate gate advise": (
        "cache-state against counters engine max-noise max-samples max-seconds sample-us seed"
    ),
    # what is measured, or compared
    "run spaces calibrate gate compare": "energy jit",
    # code for other chips than the one that is here
    "spaces advise": "arch",
    # what was ended goes on
    "run spaces characterize": "resume",
    # runs of a day to come
    "compare gate ingest": "later",
    # two sides
    "compare gate": "allow-diff boards calibration",
    "calibrate gate": "processes",
    "convert plot report": "output",
}

# The commands of output formats, which are lines of these headers.
FORMATS = {
    "harness/document/grid.h": "show counters list normal",
    "harness/compare/report.h": "compare gate",
}


def options(command):
    """The options that help lists, in its order."""
    return re.findall(r"(?m)^  (?:-\w(?: \w+)?, )?--([a-z0-9-]+)", cbank(command, "--help=all"))


def sections(said):
    """{heading: options or commands below it}"""
    return {
        heading: re.findall(r"(?m)^  (?:-\w(?: \w+)?, )?(?:--)?([a-z-]+)", below)
        for heading, below in re.findall(r"(?m)^([A-Z].*):\n((?:  .*\n)+)", said)
    }


class Help(Scratch):
    def test_commands_stand_by_job(self):
        found = {heading: " ".join(names) for heading, names in sections(cbank("help")).items()}
        self.assertEqual(found, JOBS)

    def test_three_ways_to_ask(self):
        for command in command_names():
            with self.subTest(command):
                said = cbank(command, "--help")
                self.assertEqual(cbank("help", command), said)
                self.assertEqual(cbank(command, "-h"), said)
                self.assertLessEqual(max(map(len, said.splitlines())), 80)
                self.assertLessEqual(max(map(len, cbank(command, "--help=all").splitlines())), 80)

    def test_a_short_help_says_how_many_more_there_are(self):
        long = set()
        for command in command_names():
            with self.subTest(command):
                said = cbank(command, "--help")
                short = [name for names in sections(said).values() for name in names]
                everything = options(command)
                more = re.findall(rf"(?m)^(\d+) more: cbank {command} --help=all$", said)
                if more:
                    long.add(command)
                    self.assertEqual(said.splitlines()[-1].split()[0], more[0])
                    self.assertLessEqual(len(short), 12)
                    self.assertEqual(int(more[0]), len(everything) - len(short))
                    self.assertLess(set(short), set(everything))
                else:
                    self.assertEqual(said, cbank(command, "--help=all"))
                self.assertEqual(len(everything), len(set(everything)))
        self.assertEqual(long, {"run", "spaces", "advise", "gate", "calibrate", "compare"})

    def test_topics_of_run(self):
        said = cbank("run", "--help")
        self.assertEqual(
            sections(said),
            {
                "Cells to measure or predict": (
                    "sweep quick workload path pattern cache-state".split()
                ),
                "A kernel of yours": ["kernel"],
                "Which GPU": ["device"],
                "How to measure, and how long": ["max-noise"],
                "Interrupted runs": ["resume"],
                "Output": ["json", "quiet"],
            },
        )
        all_of = sections(cbank("run", "--help=all"))
        self.assertEqual(
            all_of["Verdict"], ["strict", "threshold"], "a topic that is in no short help of run"
        )
        self.assertEqual(all_of["Interrupted runs"], ["resume", "retry-failed"])
        for hidden in ("fault", "slow"):
            self.assertNotIn(hidden, options("run"))

    def test_another_word_than_all(self):
        done = self.cbank("run", "--help=everything", status=2)
        self.assertEqual(
            (done.stdout, done.stderr),
            (
                "",
                "cbank: error: --help: 'everything' is not all; --help=all lists every option\n",
            ),
        )


class Shared(unittest.TestCase):
    """An option that several commands have is in all of them, or there is a reason."""

    def sets(self):
        """The commands of each option that several have, but for those in WITHOUT."""
        sets = {
            option: names.split() for names, listed in SETS.items() for option in listed.split()
        }
        for parameter in json.loads(cbank("list", "parameters", "--json")):
            sets[parameter["option"]] = AXES.split()
        for header, names in FORMATS.items():
            for option in re.findall(r'EACH\((\w+), "', readme.read(header)):
                sets[option] = sets.get(option, []) + names.split()
        return {option: names for option, names in sets.items() if option not in WITHOUT}

    def test_each_option_that_several_have_is_known(self):
        """A new one is a row of a table, or gets a row in SETS or in WITHOUT its reasons."""
        having = {}
        for command in command_names():
            for option in options(command):
                having.setdefault(option, []).append(command)
        sets = self.sets()
        for option, commands in having.items():
            if len(commands) == 1 or option in WITHOUT or option == "help":
                continue
            with self.subTest(option):
                self.assertEqual(sorted(commands), sorted(sets.get(option, [])))
        self.assertEqual([option for option in sets if len(having.get(option, [])) < 2], [])

    def test_each_command_has_it_or_a_reason(self):
        listed = {command: options(command) for command in command_names()}
        for option, reasons in WITHOUT.items():
            excused = [name for names in reasons.values() for name in names.split()]
            self.assertEqual(len(excused), len(set(excused)), option)
            having = {command for command in listed if option in listed[command]}
            with self.subTest(option):
                self.assertEqual(
                    having & set(excused), set(), f"have --{option} and a reason for not having it"
                )
                self.assertEqual(
                    set(listed) - having - set(excused), set(), f"lack --{option} without a reason"
                )
                self.assertEqual(set(excused) - set(listed), set(), "are no commands")

    def test_it_is_said_alike(self):
        """--quiet, --strict and --color mean the same everywhere, so they are explained alike."""
        for option in ("quiet", "strict", "color", "csv"):
            said = {
                re.sub(r"\s+", " ", text).strip()
                for command in command_names()
                for text in re.findall(
                    rf"(?m)^  --{option}(?:=WHEN)? (.*(?:\n {{10,}}.*)*)",
                    cbank(command, "--help=all"),
                )
                if command != "atlas"  # whose columns are listed
            }
            with self.subTest(option):
                self.assertEqual(len(said), 1, said)


if __name__ == "__main__":
    unittest.main()
