#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cbank compare --batch: many comparisons of times by one process. The expectations are those of
the second judge and of scipy. CBANK names the program (default build/cbank)."""

import itertools
import json
import math
import subprocess
import unittest

import numpy
from scipy import stats

import second_judge
from common import CBANK, Scratch

HOT = "add/constant/per_warp/12800000/1024/hot"
COLD = "add/global/per_thread/12800/256/cold"
COPIES = "refill/constant/per_warp/12800/1024/hot/refill_bytes=65536"
PARAMETERS = "refill/param/per_warp/12800/1024/hot/refill_bytes=2048"
MODEL = "NVIDIA H200"
TAIL_SCALE = stats.t.ppf(0.75, 3) / stats.norm.ppf(0.75)


def question(*cells, device=MODEL, **options):
    """device: None is left out."""
    keys = ("identity", "base_ns", "new_ns")
    return {
        **({"device": device} if device else {}),
        **options,
        "cells": [{**dict(zip(keys, cell)), **(cell[3:] or ({},))[0]} for cell in cells],
    }


def side(times):
    return {
        "n": len(times),
        "ns": float(numpy.median(times)),
        "of_median": second_judge.of_median(len(times)),
        "sd": numpy.log(times).std(ddof=1) if len(times) > 1 else 0,
        "placed": 0,
        "table_offsets": 1,
        "copies": 1,
        "clock": math.nan,
        "doubtful": False,
        "own": False,
        "exact": [{}],
    }


def tail(count, z):
    """That more than half of so many values of Student's t are beyond z deviations."""
    return min(1, 2 * stats.binom.sf(count // 2, count, stats.t.sf(z * TAIL_SCALE, 3)))


def medians_p(z, base, new):
    shares = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
    return min(1, *(tail(new, share * z) + tail(base, (1 - share) * z) for share in shares))


def on_nights(kind, ns):
    """The deviation among nights and its degrees of freedom, by the table of the instrument."""
    parts = [second_judge.default(cause, kind, ns) for cause in ("process", "occasion", "later")]
    variance = sum(value**2 for value, _ in parts)
    return math.sqrt(variance), variance**2 / sum(
        value**4 / degrees for value, degrees in parts
    )


class Batch(Scratch):
    def ask(self, lines, status=0):
        """The answers to lines of text, or to questions."""
        text = "".join(
            (line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines
        )
        done = subprocess.run(
            [CBANK, "compare", "--batch", "-"],
            input=text,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        self.assertEqual((done.returncode, done.stderr), (status, ""))
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_each_line_has_its_answer_in_order_and_an_error_is_of_its_line_alone(self):
        good = [question((HOT, [1000], [1000 + size])) for size in range(300)]
        bad = {
            "": "line 1:",
            "no JSON": "line 8:1:1: unexpected text",
            "[]": "line 15: cells",
            json.dumps({"cells": [{"identity": HOT}]}): "line 22: cells[0].base_ns",
            json.dumps(question(("add/constant", [1], [1]))): "line 29: cells[0].identity",
            json.dumps(
                question((HOT, [1, 0], [1]))
            ): "line 36: cells[0].base_ns: expected one time",
            json.dumps(question((HOT, [1], []))): "line 43: cells[0].new_ns: expected one time",
            json.dumps(
                question((HOT, [1], [1], {"new_nights": [1, 2]}))
            ): "line 50: cells[0].new_n",
            json.dumps(
                question((HOT, [1], [1], {"interval_ns": [2, 1]}))
            ): "line 57: cells[0].inter",
            json.dumps(question((HOT, [1], ["1"]))): "line 64: cells[0].new_ns",
        }
        lines, messages = list(good), dict(enumerate(bad.values()))
        for place, line in enumerate(bad):
            lines.insert(7 * place, line)
        answers = self.ask(lines, status=2)
        self.assertEqual(len(answers), len(lines))
        for place, message in messages.items():
            self.assertIn(message, answers.pop(6 * place)["error"])
        said = [answer["cells"][0]["new_ns"] for answer in answers]
        self.assertEqual(said, [1000 + size for size in range(300)])
        self.assertEqual(answers, self.ask(good))
        self.write("questions.jsonl", "".join(json.dumps(line) + "\n" for line in good[:3]))
        read = self.cbank("compare", "--batch", "questions.jsonl").stdout.splitlines()
        self.assertEqual([json.loads(line) for line in read], answers[:3])

    def test_an_answer_comes_before_the_next_question(self):
        with subprocess.Popen(
            [CBANK, "compare", "--batch", "-"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            for new in (1000, 2000):
                process.stdin.write(json.dumps(question((HOT, [1000], [new]))) + "\n")
                process.stdin.flush()
                answer = json.loads(process.stdout.readline())
                self.assertEqual(answer["cells"][0]["ratio"]["value"], new / 1000)
            process.stdin.close()
            self.assertEqual(process.wait(), 0)

    def test_command_lines_that_ask_two_things(self):
        for words in ((), ("--batch", "-", "base.json"), ("--batch", "-", "--quiet"), ("a.json",)):
            self.assertIn("needs BASE NEW", self.cbank("compare", *words, status=2).stderr)
        said = self.cbank("compare", "--batch", "none.jsonl", status=2).stderr
        self.assertIn("cannot read none.jsonl", said)

    def test_it_is_the_judge_of_results(self):
        """Verdicts, intervals and p of cells that are judged together, by the second judge."""
        rng = numpy.random.default_rng(1)
        kinds = {HOT: "hot", COLD: "cold", COPIES: "copies", PARAMETERS: "hot"}
        for processes, threshold in itertools.product(((1, 1), (3, 2), (5, 6)), (0.005, 0.02)):
            cells, asked = [], []
            for identity, kind in 4 * list(kinds.items()):
                ns = rng.uniform(2000, 90000)
                base, new = (
                    ns * factor * numpy.exp(0.002 * rng.normal(size=count))
                    for factor, count in zip((1, rng.choice([1, 1.01, 1.05])), processes)
                )
                asked.append((identity, base.tolist(), new.tolist()))
                cells.append(second_judge.known_of(side(base), side(new), kind))
            scaled = {
                state: second_judge.scale_of([c for c in cells if c["cache_state"] == state])
                for state in ("hot", "cold")
            }
            expected = [
                second_judge.ratio_of(
                    c, *second_judge.error_of(c, scaled[c["cache_state"]], False, {}), threshold
                )
                for c in cells
            ]
            second_judge.judge_together(expected, threshold)
            (answer,) = self.ask([question(*asked, threshold=threshold)])
            for said, other in zip(answer["cells"], expected):
                self.assertEqual(said["verdict"], other["verdict"])
                # The scale of what is known beforehand is found in 30 steps, to 1 %.
                self.assertLess(abs(math.log(said["adjusted_p"] / other["p"])), 0.01)
                self.assertAlmostEqual(said["ratio"]["value"], other["ratio"], 9)
                for key, name in (("ci_low", "low"), ("ci_high", "high")):
                    self.assertAlmostEqual(said["ratio"][key], other[name], 5)

    def test_nights_are_judged_by_medians(self):
        rng = numpy.random.default_rng(2)
        for base_count, new_count in ((1, 1), (1, 2), (4, 1), (7, 5), (30, 8)):
            base, new = (
                5000 * factor * numpy.exp(0.001 * rng.normal(size=count))
                for factor, count in ((1, base_count), (1.01, new_count))
            )
            asked = question((HOT, base.tolist(), new.tolist()), nights=True)
            said = self.ask([asked])[0]["cells"][0]
            ordered = [numpy.sort(numpy.log(of)) for of in (base, new)]
            gap = ordered[1][(new_count - 1) // 2] - ordered[0][base_count // 2]
            z = gap / said["process_deviation"]["value"]
            if base_count > 1 or new_count > 1:
                self.assertAlmostEqual(
                    said["ratio"]["p"] / medians_p(z, base_count, new_count), 1, 2
                )
            else:
                value, degrees = on_nights("hot", base[0])
                self.assertAlmostEqual(said["process_deviation"]["value"] / value, 1, 9)
                freedom = said["process_deviation"]["degrees_of_freedom"]
                self.assertAlmostEqual(freedom / degrees, 1, 9)
                drawn = stats.t.rvs(3, size=(2, 400000), random_state=rng) / TAIL_SCALE
                seen = (abs(drawn[1] - drawn[0]) > z).mean()
                error = 4 * math.sqrt(seen / 400000)
                self.assertAlmostEqual(said["ratio"]["p"], seen, delta=error)

    def test_one_bad_night_moves_nothing_and_runs_of_a_night_count_once(self):
        base, new = [1000.0, 1001, 999, 1000, 1001, 999, 1000], [1020.0, 1021, 1019, 1020, 1021]
        good, bad, nights = (
            self.ask([question((HOT, of, new, more), nights=True)])[0]["cells"][0]["ratio"]
            for of, more in (
                (base, {}),
                (base[:-1] + [1500], {}),
                (base, {"new_nights": [8, 8, 8, 8, 8]}),
            )
        )
        self.assertAlmostEqual(good["value"], bad["value"], delta=0.001)
        self.assertLess(bad["p"], 1e-5)
        self.assertGreater(nights["p"], 100 * good["p"])

    def test_noise_that_is_known_or_seen_counts(self):
        def deviation(**more):
            asked = question((HOT, [1000], [1010], more), nights=True)
            return self.ask([asked])[0]["cells"][0]["process_deviation"]["value"]

        def of(value, origin):
            return {"value": value, "degrees_of_freedom": 20, "origin": origin}

        by_default = deviation()
        for more in (
            {"known": [of(0.05, "calibration")]},
            {"known": [of(0.05, "calibration"), of(0.05, "calibration")]},
            {"seen": of(0.05, "processes")},
            {"interval_ns": [1000 * math.exp(-0.05 * 1.96), 1000 * math.exp(0.05 * 1.96)]},
        ):
            self.assertGreater(deviation(**more), 0.045)
            self.assertLess(deviation(**more), 0.06)
        self.assertLess(by_default, 0.002)

    def test_a_gpu_or_a_cell_without_data_of_its_own_gets_the_widest_noise(self):
        """As compare does. One process a side that is 1.25 % slower tells nothing; three that are
        3 % slower do."""
        unknown = "NVIDIA GeForce RTX 4090"
        of_user = "table.cu:sum:shared/constant/per_warp/128/32/hot"
        for device, identity, known in (
            (MODEL, HOT, True),
            (MODEL, COLD, True),
            (MODEL, PARAMETERS, True),
            (unknown, HOT, False),
            (None, HOT, False),
            (MODEL, HOT.replace("constant", "generic"), False),
            (MODEL, COLD.replace("global", "texture"), False),
            (MODEL, HOT.replace("hot", "cold"), True),
            (MODEL, of_user, False),
        ):
            widest = second_judge.DEVIATIONS["widest", identity.split("/")[5]][0]
            for nights in (False, True):
                for processes in (1, 3):
                    base = (20000 * numpy.array([1, 1.0001, 0.9999][:processes])).tolist()
                    slower = 1.0125 if processes == 1 else 1.03
                    new = (slower * numpy.array(base)).tolist()
                    asked = question((identity, base, new), device=device, nights=nights)
                    (said,) = self.ask([asked])[0]["cells"]
                    noise = said["process_deviation"]
                    where = device, identity, nights, processes
                    if processes == 1:
                        self.assertEqual(noise["origin"], "default" if known else "widest", where)
                        self.assertEqual(noise["value"] >= widest, not known, where)
                        self.assertEqual(
                            said["verdict"],
                            "regressed" if known else "inconclusive",
                            where,
                        )
                    if processes == 3 and not nights:
                        self.assertEqual(said["verdict"], "regressed", where)

    def test_few_nights_that_are_noisier_than_known_are_taken_to_be_more_so(self):
        """Three in four deviations of so few values are below what is taken."""
        rng = numpy.random.default_rng(3)
        base, new = 5000 * numpy.exp(0.01 * rng.normal(size=(2, 4)))
        asked = question((HOT, base.tolist(), new.tolist()), nights=True)
        said = self.ask([asked])[0]["cells"][0]["process_deviation"]["value"]
        own = math.sqrt(sum(numpy.log(side).var(ddof=1) for side in (base, new)) / 2)
        self.assertAlmostEqual(said / own, 1 / math.sqrt(stats.chi2.ppf(0.25, 6) / 6), 2)

    def test_boards_differ(self):
        """A board is held against the median of others by what boards differ by."""
        boards = {"value": 0.01, "degrees_of_freedom": 30, "origin": "boards"}
        more = {"boards": boards, "base_boards": 40}
        p = []
        for new in (1020, 1040, 1080):
            asked = question((HOT, [1000], 3 * [new], more), nights=True, boards_differ=True)
            p.append(self.ask([asked])[0]["cells"][0]["ratio"]["p"])
        self.assertGreater(p[0], 0.05)
        self.assertLess(p[2], 1e-4)
        self.assertEqual(p, sorted(p, reverse=True))


if __name__ == "__main__":
    unittest.main()
