#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cbank fleet: the statistics, fleets that scripts/studies/make_fleet.py makes, and stores of
results with changes in them. CBANK names the program (default build/cbank).
tests/golden/fleet.json holds verdicts of the first implementation, in C, which judged each cell
by itself."""

import datetime
import hashlib
import itertools
import json
import math
import os
import random
import subprocess
import sys
import unittest

import numpy as np
from scipy import stats

from common import FULL, ROOT, read_json, repetitions
from nights import DRIVER, SOURCE, Case, calibration_of, result_of, slower, start, utc, uuid

sys.path.insert(0, os.path.join(ROOT, "scripts"))
from cbank import changes, fleet_groups, robust, self_normalized  # noqa: E402

MAKE = os.path.join(ROOT, "scripts/studies/make_fleet.py")
GOLDEN = read_json(os.path.join(ROOT, "tests/golden/fleet.json"))
TOLERANCE = 1e-6  # the median of an even number of times is a mean of times, once of logarithms
CELL = "add/constant/per_warp/12800000/1024/hot"
MODEL = "NVIDIA H200"


# ---- Statistics ----------------------------------------------------------------------------------


class Qn(unittest.TestCase):
    def test_it_is_the_smallest_distance_of_that_rank(self):
        rng = np.random.default_rng(3)
        for count, factor in (
            (2, 0.399),
            (5, 0.844),
            (8, 0.669),
            (9, 0.872),
            (10, 10 / 13.8),
            (101, 101 / 102.4),
            (200, 200 / 203.8),
        ):
            values = np.sort(rng.uniform(-1, 1, count))
            distances = sorted(abs(a - b) for i, a in enumerate(values) for b in values[:i])
            half = count // 2 + 1
            self.assertAlmostEqual(
                robust.qn(values), 2.2219 * factor * distances[half * (half - 1) // 2 - 1], 12
            )


class Together(unittest.TestCase):
    """p of several cells, by counting."""

    def test_a_whole_is_tested_whatever_its_cells_have_in_common(self):
        p = np.array([[0.04, 0.01], [0.03, 0.5], [0.02, 1]])
        expected = [
            min(3 * 0.02, 3 * 0.03 / 2, 0.04) * (1 + 1 / 2 + 1 / 3),
            3 * 0.01 * (1 + 1 / 2 + 1 / 3),
        ]
        np.testing.assert_allclose(changes.whole_p(p), expected)
        rng = np.random.default_rng(1)
        # all cells alike: the test keeps its level
        same = np.repeat(rng.uniform(size=(1, 20000)), 24, axis=0)
        for values in (same, rng.uniform(size=(24, 20000))):
            self.assertLess((changes.whole_p(values) < 0.05).mean(), 0.055)

    def test_so_many_small_p_of_independent_cells_are_binomial(self):
        p = [0.001, 0.02, 0.02, 0.9]

        def at_least(count, of):  # by all cases
            return sum(
                math.prod(of if small else 1 - of for small in case)
                for case in itertools.product((0, 1), repeat=4)
                if sum(case) >= count
            )

        self.assertAlmostEqual(
            changes.several_p(np.array(p)[:, None])[0],
            3 * min(at_least(2, 0.02), at_least(3, 0.02), at_least(4, 0.9)),
            12,
        )
        self.assertEqual(changes.several_p(np.array([[1e-9]])).tolist(), [1])
        self.assertEqual(
            changes.named_cells(np.array([1e-3, 0.004, 0.5, 0.006])).tolist(), [0, 1, 3]
        )


class Noise(unittest.TestCase):
    def test_nights_tell_more_of_it_than_runs_of_one_night(self):
        def seen(values, firsts):
            values = np.array(values, dtype=float)
            found = fleet_groups.Search(
                [changes.Cell(CELL, values)],
                len(values),
                {},
                fleet_groups.Limits(),
                None,
                np.array(firsts),
            ).seen_of(values)
            return found and (found["value"], found["degrees_of_freedom"])

        rng = np.random.default_rng(4)
        nights = rng.normal(size=(400, 4))
        value, degrees = seen(
            np.repeat(nights, 2, axis=1) + 0.01 * rng.normal(size=(400, 8)), [0, 2, 4, 6]
        )
        self.assertAlmostEqual(value, 1, delta=0.05)
        self.assertAlmostEqual(degrees, 0.37 * 3 * 400, 9)
        # One GPU with a step between two nights: its runs of each night tell the noise, not the
        # step.
        value, degrees = seen([[0, 0.01, 0, 0.01, 5, 5.01, 5, 5.01]], [0, 4])
        self.assertAlmostEqual(value, 0.01 / 0.6745 / math.sqrt(2), 9)
        self.assertAlmostEqual(degrees, 0.37 * 6, 9)
        self.assertIsNone(seen([[0, 5]], [0, 1]))
        # a driver may be what made all of them slower
        self.assertIsNone(seen([[0, 5]] * 4, [0, 1]))


class Levels(unittest.TestCase):
    def test_a_level_is_split_as_seldom_where_its_noise_is_hardly_known(self):
        """Ten values of one level, whose deviation is known by so many values. Without the
        degrees of freedom, twice as many were."""
        rng, shares = np.random.default_rng(7), {}
        values, counts = rng.normal(size=(4000, 10)), np.full(4000, 10)
        for degrees in (3, 9, 100):
            known = np.sqrt(rng.chisquare(degrees, 4000) / degrees)
            shares[degrees] = [
                (robust.partition(values, counts, np.full(4000, 2), known, of)[:, 10] > 0).mean()
                for of in (degrees, 1e5)
            ]
        self.assertLess(max(share for share, _ in shares.values()), 0.03, shares)
        self.assertGreater(shares[3][1], 0.04, shares)
        values[:, 5:] += 6
        self.assertGreater(
            (
                robust.partition(values, counts, np.full(4000, 2), np.ones(4000), 9)[:, 10] == 5
            ).mean(),
            0.95,
        )


class Rate(unittest.TestCase):
    """The error rate of changes.py, in histories and nights without a change."""

    def nights(self, rng, shape, heavy, correlation):
        """Values of deviation 1. Each is as its night before, to that degree."""
        drawn = rng.standard_t(3, shape) / math.sqrt(3) if heavy else rng.normal(size=shape)
        for night in range(1, shape[-1]):
            drawn[..., night] *= math.sqrt(1 - correlation**2)
            drawn[..., night] += correlation * drawn[..., night - 1]
        return drawn

    def test_p_are_corrected_for_all_tests(self):
        """By the definition of Benjamini and Hochberg, rate by rate."""
        rng = np.random.default_rng(9)
        p, tests = rng.uniform(size=12) ** 6, 30
        found = changes.corrected(p, tests)
        for rate in (0.001, 0.01, 0.05, 0.2):
            ordered = np.sort(p)
            most = max((k for k in range(1, 13) if ordered[k - 1] <= rate * k / tests), default=0)
            self.assertEqual((found <= rate).sum(), most)
        self.assertEqual(changes.corrected(np.array([0.5, 0.5]), 100).tolist(), [1, 1])

    def steps(self, values, threshold=0.005):
        series = [changes.Series(CELL, 0, MODEL, of + math.log(5000), [], False) for of in values]
        return changes.find_steps(series, threshold)

    def test_a_history_without_a_change_lists_one_at_no_more_than_the_rate(self):
        """Of one series, or of 24. What counts is five nights in a hundred: of 0.3 % from night
        to night, and of any."""
        rng, histories = np.random.default_rng(10), repetitions(1000, 300)
        for correlation, threshold in ((0, 0), (0.5, 0), (0.8, 0), (0.8, 0.005)):
            listed = count = 0
            for length, series, heavy in itertools.product((10, 20, 60), (1, 24), (False, True)):
                for _ in range(histories // (5 if series > 1 else 1)):
                    values = 0.003 * self.nights(rng, (series, length), heavy, correlation)
                    listed, count = listed + bool(self.steps(values, threshold)), count + 1
            most = stats.binom.ppf(0.999, count, changes.RATE)
            self.assertLessEqual(listed, most, (correlation, threshold, count))

    def test_few_values_say_nothing_of_a_change(self):
        rng = np.random.default_rng(12)
        for length in (4, 9):
            values = np.repeat([[0.0, 1.0]], [length - 2, 2], axis=1)
            found = self.steps(np.repeat(values, 3, axis=0) + 0.001 * rng.normal(size=(3, length)))
            self.assertEqual([step.series for step in found], [0, 1, 2])
            self.assertTrue(all(math.isnan(step.p) and math.isnan(step.half) for step in found))

    def test_a_history_with_a_step_lists_it(self):
        """Of 2 % in one of 24 series, where nights differ by 0.1 %."""
        rng = np.random.default_rng(11)
        values = 0.001 * self.nights(rng, (24, 14), True, 0)
        values[5, 8:] += 0.02
        found = self.steps(values)
        self.assertEqual([(step.series, step.first) for step in found], [(5, 8)])
        self.assertEqual((found[0].before, found[0].after), (8, 6))
        self.assertLess(abs(found[0].change - 0.02), found[0].half)

    def test_several_steps_hide_no_other(self):
        """Up, back, and up again, in a series of 60 nights; one bad night is none."""
        rng = np.random.default_rng(13)
        values = 0.0005 * rng.normal(size=(1, 60))
        for first, change in ((15, 0.01), (32, -0.01), (47, 0.02)):
            values[:, first:] += change
        values[:, (7, 40, 59)] += 0.03
        found = self.steps(values)
        self.assertEqual([step.first for step in found], [15, 32, 47])
        self.assertEqual(
            [(step.before, step.after) for step in found], [(15, 17), (17, 15), (15, 13)]
        )
        for step, change in zip(found, (0.01, -0.01, 0.02)):
            self.assertLess(abs(step.change - change), 0.003)


class SelfNormalized(unittest.TestCase):
    """The statistic of Shao and Zhang (2010), by its definition."""

    @staticmethod
    def by_definition(values, least):
        """max over k of D_k^2 / V_k, all sums by themselves."""
        n, found = len(values), []
        for k in range(least, n - least + 1):
            d = (sum(values[:k]) - k / n * sum(values)) / math.sqrt(n)
            v = sum((sum(values[:t]) - t / k * sum(values[:k])) ** 2 for t in range(1, k + 1))
            v += sum(
                (sum(values[t:]) - (n - t) / (n - k) * sum(values[k:])) ** 2 for t in range(k, n)
            )
            found.append((d * d / (v / n**2), k))
        return max(found)

    def test_it_is_that_of_its_definition(self):
        rng = np.random.default_rng(14)
        for n, least in ((10, 3), (17, 3), (20, 3), (33, 4), (60, 7)):
            values = rng.normal(size=(5, n)) + 3
            for row, g, before, change in zip(values, *self_normalized.statistic(values)):
                if n >= 20:
                    inner = [np.median(row[i : i + 3]) for i in range(n - 2)]
                    row = [
                        np.median((row[0], inner[0], 3 * inner[0] - 2 * inner[1])),
                        *inner,
                        np.median((row[-1], inner[-1], 3 * inner[-1] - 2 * inner[-2])),
                    ]
                expected, k = self.by_definition(list(row), least)
                self.assertAlmostEqual(g / expected, 1, 9)
                self.assertEqual(before, k)
                self.assertAlmostEqual(change, np.mean(row[k:]) - np.mean(row[:k]), 9)
        flat = np.zeros((2, 20))
        flat[1, 10:] = 1
        g, _, change = self_normalized.statistic(flat)
        self.assertEqual((g[0], change[0], change[1]), (0, 0, 1))
        self.assertGreater(g[1], 1e12)

    def test_p_is_that_of_the_table(self):
        """The committed trial made it; between and beyond its numbers p falls."""
        made = read_json(os.path.join(ROOT, "results/simulations/history.json"))["quantiles"]
        self.assertEqual({n: tuple(row) for n, *row in made}, self_normalized.QUANTILES)
        for n, row in self_normalized.QUANTILES.items():
            p = self_normalized.p_of(np.array(row), n)
            np.testing.assert_allclose(p, self_normalized.TAILS)
            g = np.geomspace(row[0], 100 * row[-1], 50)
            self.assertTrue((np.diff(self_normalized.p_of(g, n)) < 0).all())
        self.assertEqual(self_normalized.p_of(np.array([0.0, 1.0]), 20).tolist(), [1, 1])

    def test_segments_share_the_rate(self):
        for n in (10, 14, 20, 60, 1000):
            segments = self_normalized.segment_lengths(n)
            self.assertAlmostEqual(sum(len(firsts) * share for _, firsts, share in segments), 1, 12)
            for length, firsts, _ in segments:
                self.assertTrue(10 <= length <= n and firsts[0] == 0 and firsts[-1] == n - length)
                self.assertTrue((np.diff(firsts) <= length / 2 + 1).all())


class Correlated(unittest.TestCase):
    """Nights that are as the nights before, to a degree that all GPUs show."""

    def found(self, correlation, slower=0.0):
        rng, gpus = np.random.default_rng(16), 60
        none = np.zeros(gpus, dtype=int)
        cells = []
        for _ in range(8):
            values = rng.standard_t(3, (gpus, 50)) / math.sqrt(3)
            for night in range(1, 50):
                values[:, night] *= math.sqrt(1 - correlation**2)
                values[:, night] += correlation * values[:, night - 1]
            values = 0.003 * values[:, 20:] + math.log(20000)
            values[0, 20:] += slower
            cells.append(changes.Cell(CELL, values))
        found = fleet_groups.judge(
            cells,
            gpus,
            {"driver": none, "vbios": none, "node": np.arange(gpus)},
            fleet_groups.Limits(),
            kinds=fleet_groups.Kinds(none, none.astype(bool), MODEL),
        )
        return {of.group for of in found if of.against == fleet_groups.PAST}

    def test_they_are_no_changes_of_gpus(self):
        for correlation in (0, 0.4, 0.8):
            self.assertEqual(self.found(correlation), set(), correlation)

    def test_a_gpu_that_is_slower_is_found(self):
        self.assertEqual(self.found(0, 0.02), {0})
        self.assertEqual(self.found(0.8, 0.2), {0})


class Unmeasured(unittest.TestCase):
    """GPUs of a model whose noise is known, and of one whose noise nobody measured."""

    def found(self, model, nights):
        """Cells that are slower in the last night, by 2 %."""
        rng, none = np.random.default_rng(15), np.zeros(2, dtype=int)
        cells = []
        for _ in range(8):
            log_ns = 0.0003 * rng.normal(size=(2, nights)) + math.log(20000)
            log_ns[0, -1] += 0.02
            cells.append(changes.Cell(CELL, log_ns))
        found = fleet_groups.judge(
            cells,
            2,
            {"driver": none, "vbios": none, "node": np.arange(2)},
            fleet_groups.Limits(),
            kinds=fleet_groups.Kinds(none, none.astype(bool), model),
        )
        return {of.cell for of in found if (of.against, of.group) == (fleet_groups.PAST, 0)}

    def test_two_nights_tell_no_change_where_the_noise_is_not_known(self):
        self.assertEqual(self.found(MODEL, 2), set(range(8)))
        self.assertEqual(self.found("NVIDIA GeForce RTX 4090", 2), set())

    def test_nights_tell_the_noise(self):
        for model in (MODEL, "NVIDIA GeForce RTX 4090"):
            self.assertEqual(self.found(model, 20), set(range(8)))


class Peers(unittest.TestCase):
    """GPUs that were as they are on all of three nights."""

    def apart(self, rng, boards):
        """{(GPU, cell)} of those that are slower than the others. boards: logarithms [cells,
        GPUs]."""
        values, none = boards[..., None] + 0.0006 * rng.normal(size=(*boards.shape, 3)), np.zeros(
            boards.shape[1], dtype=int
        )
        known = [changes.evidence(0.0006, 9, "calibration")]
        found = fleet_groups.judge(
            [changes.Cell(CELL, of + math.log(100000), known) for of in values],
            len(none),
            {"driver": none, "vbios": none, "node": none},
            fleet_groups.Limits(),
        )
        self.assertEqual({change.against for change in found} - {fleet_groups.PEERS}, set())
        return {(change.group, change.cell) for change in found if change.change > 0}

    def test_few_boards_are_called_apart_at_the_nominal_rate_and_one_that_is_so_is_found(self):
        """Two to eight boards. Variances of cells differ as an inverse chi square of 1.4 degrees
        does, and half of each is common to the cells of a board. Eight cells of one board are
        slower: a board of few must differ by more. Boards may differ three times as much."""
        rng, rounds = np.random.default_rng(5), repetitions(40, 20)
        for gpus, deviation, longer, finds in (
            (2, 0.0027, 1.5, 0),
            (4, 0.0027, 1.5, 0.9),
            (8, 0.0027, 1.05, 0.7),
            (4, 0.0081, 1.5, 0),
            (8, 0.0081, 1.2, 0.8),
        ):
            false = right = 0
            for _ in range(rounds):
                cells = deviation * np.sqrt(1.4 / rng.chisquare(1.4, (24, 1)))
                boards = (
                    cells
                    * (rng.normal(size=(1, gpus)) + rng.normal(size=(24, gpus)))
                    / math.sqrt(2)
                )
                false += bool(self.apart(rng, boards))
                boards[:8, 0] += math.log(longer)
                found = self.apart(rng, boards)
                right += {gpu for gpu, _ in found} == {0} and {cell for _, cell in found} <= set(
                    range(8)
                )
            self.assertLessEqual(false, repetitions(2, 1), (gpus, deviation))  # at one in a hundred
            self.assertGreaterEqual(right, finds * rounds, (gpus, deviation))

    def test_boards_of_an_h200(self):
        """Nine of them. Two take 5 % longer for one cell, and no other cell of any is 3 % from
        the others."""
        boards = [
            {
                cell["identity"]: cell["median_ns"]
                for cell in read_json(os.path.join(ROOT, f"results/h200/processes/{name}.json"))[
                    "cells"
                ]
            }
            for name in (
                "trial",
                "other-board",
                "third-board",
                "slow-board",
                "fast-board",
                "sixth-board",
                "seventh-board",
                "eighth-board",
                "ninth-board",
            )
        ]
        placed = {
            cell["identity"]
            for cell in read_json(os.path.join(ROOT, "results/h200/core-matrix.json"))["cells"]
            if (cell["buffer_set_deviation"] or 0) >= 0.01
        }
        names = sorted(set.intersection(*map(set, boards)) - placed)
        times = np.array([[math.log(board[name]) for board in boards] for name in names])
        cell = names.index("add/constant/pseudo_random/128000/1024/hot")
        self.assertEqual(self.apart(np.random.default_rng(6), times), {(3, cell), (5, cell)})
        for pair in itertools.combinations((0, 1, 2, 4, 6, 7, 8), 2):  # some stream 2.3 % faster
            self.assertEqual(self.apart(np.random.default_rng(6), times[:, pair]), set())


# ---- Made fleets ---------------------------------------------------------------------------------


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


class FleetCase(Case):
    def make(self, name, *options):
        subprocess.run(
            ["/usr/bin/python3", MAKE, self.path(name), *options], check=True, timeout=120
        )

    def fleet(self, *options, store="store.db", status=0):
        """The verdict as JSON, which its schema allows. The store stays as it is."""
        before = digest(self.path(store))
        verdict = self.json_of(
            "fleet", store, "--json", "-", *options, schema="fleet.schema.json", status=status
        )
        self.assertEqual(digest(self.path(store)), before)
        self.assertEqual(verdict["verdict"], "finding" if status else "quiet")
        self.assertEqual(any(finding["fails"] for finding in verdict["findings"]), status == 1)
        return verdict

    def assert_near(self, found, expected, where):
        """Equal, numbers within TOLERANCE, wherever `expected` says something."""
        if isinstance(expected, dict):
            for key, value in expected.items():
                self.assert_near(found[key], value, f"{where}.{key}")
        elif isinstance(expected, list):
            self.assertEqual(len(found), len(expected), where)
            for index, pair in enumerate(zip(found, expected)):
                self.assert_near(*pair, f"{where}[{index}]")
        elif isinstance(expected, float):
            self.assertLessEqual(
                abs(found - expected), TOLERANCE * max(abs(expected), 1e-30), where
            )
        else:
            self.assertEqual(found, expected, where)


class Made(FleetCase):
    def test_what_the_first_implementation_found_is_found(self):
        """It found no more, but for cells of what it found."""
        for golden in GOLDEN["fleet"]:
            name = hashlib.sha256(json.dumps(golden["make"]).encode()).hexdigest() + ".db"
            if not os.path.exists(self.path(name)):
                self.make(name, *golden["make"])
            verdict = self.fleet(
                *golden["options"], store=name, status=golden["verdict"] == "finding"
            )
            with self.subTest(golden["name"]):
                for finding, of in zip(verdict["findings"], golden["findings"]):
                    finding["gpus"] = [gpu["uuid"] for gpu in finding["gpus"]]
                    known = {cell["identity"] for cell in of["cells"]}
                    finding["cells"] = [
                        cell for cell in finding["cells"] if cell["identity"] in known
                    ]
                verdict["gpus"] = {
                    gpu["uuid"]: [gpu["verdict"], *(change["change"] for change in gpu["changes"])]
                    for gpu in verdict["gpus"]
                }
                self.assert_near(
                    verdict,
                    {
                        key: value
                        for key, value in golden.items()
                        if key not in ("name", "make", "options")
                    },
                    golden["name"],
                )
        for golden in GOLDEN["history"]:
            self.make("history.db", *golden["make"])
            said = self.json_of(
                "history",
                "history.db",
                "--json",
                "--cell",
                golden["cell"],
                schema="history.schema.json",
            )
            found = {change["uuid"]: change for change in said["changes"]}
            for change in golden["changes"]:  # its numbers are of medians
                of = found.pop(change["uuid"])
                self.assertLess(abs(of["change"] - change.pop("change")), 0.001)
                self.assert_near(of, change, "history")
            # a change of the driver that all GPUs had
            for change in found.values():
                self.assertEqual(change["with"], golden["changes"][0]["with"])
                self.assertTrue(change["ci_low"] < 0.01 < change["ci_high"])

    def test_all_that_is_planted_is_found_and_nothing_else(self):
        kinds = {"missing": "missing", "replaced": "replaced"}
        for seed, tails in (("1", "normal"), ("2", "heavy")):
            self.make(
                seed,
                "--gpus",
                "96",
                "--nights",
                "24",
                "--seed",
                seed,
                "--tails",
                tails,
                "--planted",
                self.path("planted.json"),
            )
            findings = {
                (finding["kind"], frozenset(gpu["uuid"] for gpu in finding["gpus"])): finding
                for finding in self.fleet(store=seed, status=1)["findings"]
            }
            everybody = max((gpus for _, gpus in findings), key=len)
            for plant in read_json(self.path("planted.json")):
                gpus = (
                    everybody
                    if plant["kind"] == "driver"
                    else frozenset(plant.get("by", plant["gpus"]))
                )
                with self.subTest(seed=seed, plant=plant["kind"]):
                    found = findings.pop((kinds.get(plant["kind"], "slower"), gpus))
                    if "change" in plant:
                        self.assertAlmostEqual(
                            found["change"],
                            plant["change"],
                            delta=0.003 if plant["kind"] != "drift" else 0.012,
                        )
                        self.assertEqual(found["drift"], plant["kind"] == "drift")
                        self.assertTrue(
                            found["what"].startswith(plant.get("path", "every") + " path"),
                            found["what"],
                        )
                    if plant["kind"] in ("step", "driver", "node"):
                        night = datetime.datetime(2026, 1, 1, 22) + datetime.timedelta(
                            days=plant["night"]
                        )
                        self.assertLess(
                            abs(datetime.datetime.fromisoformat(found["since_utc"][:-1]) - night),
                            datetime.timedelta(days=1, hours=1),
                        )
                    self.assertEqual(
                        found["why"],
                        (
                            "driver 580.159.04 -> 590.44.01"
                            if plant["kind"] == "driver"
                            else found["why"]
                        ),
                    )
            self.assertEqual(findings, {})

    def test_a_quiet_night_is_quiet(self):
        self.make("store.db", "--gpus", "96", "--nights", "24", "--quiet", "--tails", "heavy")
        verdict = self.fleet()
        self.assertEqual(
            (verdict["findings"], verdict["answered"], verdict["expected"], verdict["nights"]),
            ([], 96, 96, 24),
        )
        self.assertEqual({gpu["verdict"] for gpu in verdict["gpus"]}, {"quiet"})
        self.assertEqual(
            self.cbank("fleet", "store.db").stdout.splitlines()[0],
            "96 of 96 GPUs answered, nothing is worse",
        )

    @unittest.skipUnless(FULL, "takes long: make test-long")
    def test_nothing_without_cause_and_all_that_is_planted(self):
        """Where this is not so, the table in docs/fleet.md is wrong, too."""
        subprocess.run(
            [
                "/usr/bin/python3",
                os.path.join(ROOT, "scripts/studies/fleet_power.py"),
                "--small",
                "--json",
                self.path("rows.json"),
            ],
            check=True,
            capture_output=True,
            timeout=300,
        )
        for row in read_json(self.path("rows.json"))["rows"]:
            self.assertEqual(row["others"], 0, row)
            self.assertGreaterEqual(row["found"], 0.95 * row["planted"], row)
            if row["plant"] != "drift":
                self.assertGreaterEqual(row["dated"], 0.95 * row["planted"], row)
            if row["plant"] == "step":
                self.assertGreaterEqual(row["named"], 0.9 * 8 * row["planted"], row)


# ---- Results -------------------------------------------------------------------------------------


class Ingested(FleetCase):
    """Results of 2 nodes of 4 GPUs, 6 nights."""

    NIGHTS, GPUS, NODE, SPREAD = 6, 8, 4, 0.0005
    CELLS = [cell for cell in SOURCE["cells"] if cell["pattern"] in ("per_warp", "per_thread")]

    def ingest(self, change=lambda result, gpu, night: result, store="store.db", status=0):
        """A result of each GPU and night, as `change` makes it; None: the GPU did not answer."""
        chance = random.Random(7)
        for night in range(self.NIGHTS):
            for gpu in range(self.GPUS):
                result = result_of(gpu, night, self.CELLS, self.NODE)
                for cell in result["cells"]:
                    slower({"cells": [cell]}, 1 + self.SPREAD * chance.uniform(-1, 1))
                if result := change(result, gpu, night):
                    self.write(f"{night}-{gpu}.json", result)
        return self.cbank("ingest", "--quiet", store, ".", status=status)

    def only(self, verdict, kind):
        self.assertEqual(
            [finding["kind"] for finding in verdict["findings"]], [kind], verdict["findings"]
        )
        return verdict["findings"][0]

    def kinds(self, verdict):
        return [(finding["kind"], finding["gpus"][0]["uuid"]) for finding in verdict["findings"]]

    def test_slow_missing_and_swapped_boards_in_every_format(self):
        def change(result, gpu, night):
            slower(result, 1.05 if gpu == 2 and night >= 4 else 1, "constant")
            if gpu == 6 and night == 5:
                result["device"]["uuid"] = uuid(0x66)
            return None if gpu == 5 and night == 5 else result

        self.ingest(change)
        verdict = self.fleet(status=1)
        self.assertEqual(
            self.kinds(verdict),
            [("missing", uuid(5)), ("replaced", uuid(0x66)), ("slower", uuid(2))],
        )
        _, replaced, slow = verdict["findings"]
        self.assertEqual(replaced["what"], f"in place of {uuid(6)}")
        self.assertEqual(
            (slow["since_utc"], slow["what"]), (utc(start(2, 4)), "constant path, 4 of 4 cells")
        )
        self.assertAlmostEqual(slow["change"], 0.05, delta=0.001)
        self.assertEqual((verdict["answered"], verdict["expected"]), (7, 8))
        for text in (
            self.cbank("fleet", "store.db", "--markdown", "-", status=1).stdout,
            self.cbank("fleet", "store.db", status=1).stdout,
        ):
            for part in (
                "3 findings",
                "n00:02:00.0 GPU-00000002",
                "n01:01:00.0 GPU-00000005",
                "4 of 4 cells",
            ):
                self.assertIn(part, text)

    def test_a_driver_is_one_finding(self):
        def change(result, gpu, night):
            if gpu >= self.NODE and night >= 3:
                result["device"]["driver"] = "590.1"
                slower(result, 1.03)
            return result

        self.ingest(change)
        finding = self.only(self.fleet(status=1), "slower")
        self.assertEqual(
            (finding["level"], len(finding["gpus"]), finding["since_utc"]),
            ("driver", 4, utc(start(4, 3))),
        )
        self.assertEqual(
            (finding["who"], finding["why"]),
            ("all 4 GPUs with driver 590.1", f"driver {DRIVER} -> 590.1"),
        )
        # Held against another baseline, it is the same finding; where no night before it is looked
        # at, it is none.
        self.only(self.fleet("--baseline", DRIVER, status=1), "slower")
        self.only(self.fleet("--baseline", "2026-03-03", status=1), "slower")
        self.assertEqual(self.fleet("--nights", "3", "--threshold", "0.5%")["findings"], [])
        for wrong in ("590.2", "2025-01-01"):
            self.assertIn(
                f"drivers: {DRIVER}, 590.1",
                self.cbank("fleet", "store.db", "--baseline", wrong, status=2).stderr,
            )

    def test_faster_moved_and_added_ones_pass(self):
        def change(result, gpu, night):
            if gpu == 1 and night == 5:
                result["host"]["slot"] = "00000000:09:00.0"
            slower(result, 0.9 if gpu == 3 and night >= 4 else 1)
            return None if gpu == 7 and night < 5 else result

        self.ingest(change)
        self.assertEqual(
            self.kinds(self.fleet()), [("faster", uuid(3)), ("moved", uuid(1)), ("added", uuid(7))]
        )
        self.assertIn(
            "8 GPUs answered, 7 expected, nothing is worse, 3 that need nothing",
            self.cbank("fleet", "store.db").stdout.splitlines()[0],
        )

    def test_two_nights_tell_what_compare_tells(self):
        """A step of 5 % in the constant path of one GPU, in the second of two nights: fleet
        names the cells that compare names."""
        self.NIGHTS, self.SPREAD, self.CELLS = 2, 0.001, SOURCE["cells"]
        self.ingest(
            lambda result, gpu, night: slower(
                result, 1.05 if (gpu, night) == (3, 1) else 1, "constant"
            )
            or result
        )
        compared = json.loads(
            self.cbank("compare", "0-3.json", "1-3.json", "--json", "-", status=1).stdout
        )
        regressed = {
            cell["identity"]: cell for cell in compared["cells"] if cell["verdict"] == "regressed"
        }
        self.assertEqual(
            set(regressed), {cell["identity"] for cell in self.CELLS if cell["path"] == "constant"}
        )
        finding = self.only(self.fleet(status=1), "slower")
        self.assertEqual(
            ([gpu["uuid"] for gpu in finding["gpus"]], finding["what"]),
            ([uuid(3)], "constant path, 8 of 8 cells"),
        )
        self.assertEqual({cell["identity"] for cell in finding["cells"]}, set(regressed))
        self.assertEqual(finding["since_utc"], utc(start(3, 1)))
        # One GPU alone shows no more of its noise than compare knows.
        self.cbank("ingest", "--quiet", "one.db", "0-3.json", "1-3.json")
        finding = self.only(self.fleet(store="one.db", status=1), "slower")
        self.assertEqual({cell["identity"] for cell in finding["cells"]}, set(regressed))
        for cell in finding["cells"]:
            of = regressed[cell["identity"]]  # its ratio has what occasions add to two values
            self.assertAlmostEqual(
                cell["deviation"]
                / math.hypot(of["process_deviation"]["value"], of["occasion_error"] / math.sqrt(2)),
                1,
                9,
            )

    def test_a_step_of_all_cells_and_of_one_in_two_nights(self):
        """All cells: what the process did is no less than a change. One cell: one bad value is
        no finding."""
        self.NIGHTS, self.CELLS = 2, SOURCE["cells"]
        self.ingest(
            lambda result, gpu, night: slower(result, 1.05 if (gpu, night) == (3, 1) else 1)
            or result
        )
        verdict = self.fleet(status=1)
        self.assertEqual(self.only(verdict, "slower")["what"], "every path, 24 of 24 cells")
        for gpu in verdict["gpus"]:
            for change in gpu["changes"]:
                self.assertAlmostEqual(
                    change["change"], 0.05 if gpu["uuid"] == uuid(3) else 0, delta=0.002
                )
        self.ingest(
            lambda result, gpu, night: slower(
                {"cells": result["cells"][:1]}, 1.012 if (gpu, night) == (3, 1) else 1
            )
            or result,
            store="one.db",
        )
        self.assertEqual(self.fleet(store="one.db")["findings"], [])

    def test_half_of_the_cells_and_a_noisy_process(self):
        """Where half of the cells changed, the other half is what did not. Cells that scatter in
        either direction are noise."""
        self.NIGHTS, self.CELLS = 2, [
            cell for cell in SOURCE["cells"] if cell["path"] != "readonly"
        ]
        self.ingest(
            lambda result, gpu, night: slower(
                result, 1.05 if (gpu, night) == (3, 1) else 1, "constant"
            )
            or result
        )
        self.assertEqual(
            self.only(self.fleet(status=1), "slower")["what"], "constant path, 8 of 8 cells"
        )

        def scattered(result, gpu, night):
            for index, cell in enumerate(result["cells"]):
                slower(
                    {"cells": [cell]},
                    1 + 0.01 * ((index * 7) % 8 - 3.5) / 2 if (gpu, night) == (3, 1) else 1,
                )
            return result

        self.ingest(scattered, store="noisy.db")
        self.assertEqual(self.fleet(store="noisy.db")["findings"], [])

    def test_counters_geometry_and_failed_cells(self):
        def change(result, gpu, night):
            if night == 5 and gpu in (1, 2):
                result["cells"][0]["counters"]["ldc_instructions"]["value"] += 8
            if night == 5 and gpu == 3:  # as expected, but not as the others
                result["cells"][0]["counters"]["ldc_instructions"].update(value=1, expected=1)
            if night == 5 and gpu == 4:
                result["device"]["sm_count"] = 130
            if night == 5 and gpu == 6:
                result["cells"][1].update(status="failed", reason="wrong output", verified=False)
            return result

        self.ingest(change)
        verdict = self.fleet(status=1)
        self.assertEqual(
            self.kinds(verdict),
            [
                ("failed", uuid(6)),
                ("invalid", uuid(1)),
                ("counter", uuid(1)),
                ("counter", uuid(3)),
                ("geometry", uuid(4)),
            ],
        )
        failed, invalid, counter, unlike, geometry = verdict["findings"]
        value, name = (
            self.CELLS[0]["counters"]["ldc_instructions"]["value"],
            self.CELLS[0]["identity"],
        )
        self.assertEqual(failed["what"], f"{self.CELLS[1]['identity']}: wrong output")
        self.assertEqual(
            (invalid["what"], len(invalid["gpus"])),
            (f"{name}: an exact counter is not as expected", 2),
        )
        self.assertEqual(
            (counter["what"], len(counter["gpus"])),
            (f"{name}: ldc_instructions is {value + 8}, expected {value}", 2),
        )
        self.assertEqual(unlike["what"], f"{name}: ldc_instructions is 1, on most GPUs {value}")
        self.assertEqual(geometry["what"], "sm_count is 130, on most GPUs 132")

    def test_two_values_on_each_side_find_a_step_that_one_does_not(self):
        def change(result, gpu, night):
            slower({"cells": result["cells"][:1]}, 1.015 if gpu == 2 and night >= 4 else 1)
            return result if night in (2, 3, 4, 5) else None

        self.ingest(change)
        self.assertEqual(self.kinds(self.fleet(status=1)), [("slower", uuid(2))])
        for night in (2, 5):
            for gpu in range(self.GPUS):
                os.remove(self.path(f"{night}-{gpu}.json"))
        self.cbank("ingest", "--quiet", "two.db", ".")
        self.assertEqual(self.fleet(store="two.db")["findings"], [])
        # A step is none where a calibration of a GPU of the fleet says that processes differ by 5
        # %.
        for gpu, driver, findings in (
            (0x77, DRIVER, 1),
            (1, "of another driver", 1),
            (1, DRIVER, 0),
        ):
            self.write(
                "calibration.json",
                calibration_of(
                    gpu, cells=24, device={**SOURCE["device"], "uuid": uuid(gpu), "driver": driver}
                ),
            )
            self.cbank("ingest", "--quiet", "store.db", "calibration.json")
            self.assertEqual(len(self.fleet(status=findings)["findings"]), findings)

    def test_inventory(self):
        self.ingest(lambda result, gpu, night: None if gpu == 3 else result)
        self.assertEqual(self.fleet()["findings"], [])
        self.write("inventory", "# nodes\nn00 4\nn01 4  # all\n")
        finding = self.only(self.fleet("--inventory", "inventory", status=1), "missing")
        self.assertEqual((finding["who"], finding["what"]), ("n00", "3 of 4 GPUs of n00 answered"))
        self.write("inventory", f"n00 3\nn01 {uuid(4)}\nn01 {uuid(0xffffffff)}\n")
        self.assertIn(
            "GPU-ffffffff",
            self.only(self.fleet("--inventory", "inventory", status=1), "missing")["what"],
        )
        self.write("inventory", "n00 3\nn7 4\n")
        said = self.cbank("fleet", "store.db", "--inventory", "inventory", status=1).stderr
        self.assertIn("inventory:2: n7 never answered in store.db", said)
        self.assertIn("inventory: has no line for n01, which answered", said)
        for text, message in (
            ("n00\n", "inventory:1: a line is a host"),
            ("n00 4 x\n", "inventory:1: a line is a host"),
            ("n00 3\n\nn01 many\n", "inventory:3: many is no UUID"),
            ("n00 -4\n", "is no UUID"),
            ("# no\n", "has no host"),
            ("n00 0\n", "is no UUID and no number"),
        ):
            self.write("inventory", text)
            self.assertIn(
                message,
                self.cbank("fleet", "store.db", "--inventory", "inventory", status=2).stderr,
            )
        self.cbank("fleet", "store.db", "--inventory", "nowhere", status=2)

    def test_options_say_what_a_night_is_and_how_many_are_looked_at(self):
        def change(result, gpu, night):
            slower(result, 1.05 if gpu == 2 and night >= 4 else 1)
            return result

        self.ingest(change)
        self.assertEqual(self.fleet("--gap", "30", status=1)["nights"], 1)
        self.assertEqual(self.fleet("--nights", "4", status=1)["nights"], 4)
        # without a past it still differs from the others
        self.only(self.fleet("--nights", "1", status=1), "apart")
        self.assertEqual(self.fleet("--nights", "1", "--peer-threshold", "6%")["findings"], [])
        said = self.cbank("fleet", "store.db", "--nights", "1", "--peer-threshold", "6").stdout
        self.assertIn("no past", " ".join(said.split()))
        self.assertLessEqual(max(map(len, said.splitlines())), 80)
        for arguments, message in (
            (("--nights", "0"), "--nights: 0 is out of limits; 1 to 100000 nights"),
            (("--baseline", ""), "--baseline"),
            (("--threshold", "x%"), "is out of limits"),
            (("--json", "store.db"), "--json: store.db is named for something else, too"),
        ):
            self.assertIn(message, self.cbank("fleet", "store.db", *arguments, status=2).stderr)

    def test_a_store_is_made_printable(self):
        def change(result, gpu, night):
            if gpu >= self.NODE:
                result["host"]["name"] = "n\x1b[31m"
                for cell in result["cells"]:
                    cell.update(
                        status="failed",
                        reason="so\x1b]0;x\x07",
                        time_ns={**cell["time_ns"], "value": None},
                    )
            return result

        self.ingest(change)
        for form in ("--json", "--markdown"):
            self.assertNotIn("\x1b", self.cbank("fleet", "store.db", form, "-", status=1).stdout)
        shown = self.cbank("fleet", "store.db", status=1).stdout
        self.assertNotIn("\x1b", shown)
        self.assertIn(r"n\x1b[31m", shown)

    def test_no_verdict_is_made_of_a_night_that_has_not_been(self):
        """A host whose clock is ahead: its run is refused, or taken by an option and left out of
        verdicts. A clock that is an hour ahead is said."""

        def change(result, gpu, night):
            if gpu == 1 and night == 5:
                result["started_utc"], result["finished_utc"] = (
                    "2100-01-01T00:00:00Z",
                    "2100-01-01T00:00:02Z",
                )
            return result

        said = self.ingest(change, status=2).stderr
        self.assertIn("5-1.json: it began at 2100-01-01T00:00:00Z, which is later than now", said)
        self.assertIn("--later", said)
        self.assertEqual(len(said.splitlines()), 1)
        before = self.cbank("fleet", "store.db", status=None)
        self.cbank("ingest", "store.db", ".", "--quiet", "--later")
        after = self.cbank("fleet", "store.db", status=before.returncode)
        self.assertEqual(after.stdout, before.stdout)
        self.assertRegex(
            after.stderr, r"1 of \d+ runs began later than now and a day, such as \./5-1\.json"
        )
        shown = self.cbank("history", "store.db", status=None)
        self.assertIn("no verdict is made of them", shown.stderr)
        self.assertIn("2100-01-01T00:00:00Z", shown.stdout)
        with open(self.path("5-1.json"), encoding="utf-8") as file:
            ahead = json.load(file)
        for hours, words in ((1, "began in the future"), (48, "no verdict is made of them")):
            start = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=hours)
            ahead["started_utc"] = start.strftime("%Y-%m-%dT%H:%M:%SZ")
            ahead["finished_utc"] = None
            with open(self.path("ahead.json"), "w", encoding="utf-8") as file:
                json.dump(ahead, file)
            self.cbank("ingest", "store.db", "ahead.json", "--quiet", status=2 if hours > 1 else 0)
            self.cbank("ingest", "store.db", "ahead.json", "--quiet", "--later")
            self.assertIn(words, self.cbank("fleet", "store.db", status=None).stderr)
            self.cbank("ingest", "store.db", "--forget", "ahead.json")

    def test_runs_of_the_next_hours_are_told_in_one_sentence(self):
        """All of a clock that is ahead, by their count and the newest."""
        self.ingest()
        now = datetime.datetime.now(datetime.timezone.utc)
        for hours, told in (
            (2, "1 run began in the future, the newest ahead-2.json at "),
            (5, "2 runs began in the future, the newest ahead-5.json at "),
            (3, "3 runs began in the future, the newest ahead-5.json at "),
        ):
            start = (now + datetime.timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%SZ")
            ahead = {**result_of(2, 0), "started_utc": start, "finished_utc": None}
            self.write(f"ahead-{hours}.json", ahead)
            self.cbank("ingest", "store.db", f"ahead-{hours}.json", "--quiet")
            said = self.cbank("fleet", "store.db", status=None).stderr
            self.assertEqual(said.count("in the future"), 1, said)
            self.assertIn(told, said)


if __name__ == "__main__":
    unittest.main()
