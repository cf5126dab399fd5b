#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of what `cbank advise --kernel` says of each load of random programs: see
tests/sass/random_programs.py and random_tables.py. `make test-all` tries 2,000 programs,
`make test-long` 4,000 in each of 25 parts, which CBANK_PART numbers from 0 (tests/run.py)."""

import collections
import os
import re
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "end_to_end"), os.path.join(HERE, "..", "sass")]
import random_programs as judge  # noqa: E402
import random_tables  # noqa: E402
from common import CBANK, repetitions  # noqa: E402

TOOLKIT = os.environ.get("CBANK_CUDA") or "/usr/local/cuda"
# A file is for one architecture: a dozen files try all.
COUNT = repetitions(4000, 2000)
MOVED = repetitions(400, 50)  # programs whose tables are moved
TRUTH = judge.Truth(0, 0, 0, 0, "no", 0, 32, 32, 32, 0)  # of data


def load(variation, line=7, table="ct1", **more):
    return {
        **{"variation": variation, "line": line, "table": table, "file": "file.cu"},
        **{"instruction": "LDC", "memory": "constant", "condition": None, "stride_bytes": None},
        **{"addresses": 1 if variation in judge.UNIFORM else None, **more},
    }


class Judged(unittest.TestCase):
    """What is false is told from what is right, and from what cannot be told."""

    def said(self, loads, truth, shape="whole"):
        tables = {7: "ct1", 8: "ct2"}
        truths = {7: {shape: truth}, 8: {shape: TRUTH}}
        return list(judge.judge_kernel(tables, loads, truths, collections.Counter()))

    def test_answers(self):
        one = TRUTH._replace(warp=1, affine="any", most=1, whole_least=1, whole_most=1)
        strided = TRUTH._replace(affine="one", stride=4, alike=1)
        uneven = TRUTH._replace(most=8, whole_least=8, whole_most=8, alike=1)
        for truth, right, false in (
            (TRUTH, ["data", "unknown"], ["constant", "grid", "block", "warp", "thread"]),
            (one, ["warp", "data", "unknown"], ["grid", "block", "constant"]),
            (strided, ["thread", "data"], ["warp"]),
            (uneven, ["thread"], ["warp", "affine"]),
        ):
            for said in right:
                self.assertEqual(self.said([load(said)], truth), [], (said, truth))
            for said in false:
                self.assertTrue(self.said([load(said)], truth), (said, truth))
        for truth, said, addresses, stride, is_false in (
            (strided, "affine", 32, 4, False),
            (strided, "affine", 32, None, False),
            (strided, "affine", 32, 8, True),
            (strided, "uneven", 8, None, True),
            (uneven, "uneven", 8, None, False),
            (uneven, "uneven", 7, None, True),
            (uneven, "affine", 32, 4, True),
        ):
            false = self.said([load(said, addresses=addresses, stride_bytes=stride)], truth)
            self.assertEqual(bool(false), is_false, (said, addresses, stride))

    def test_a_condition_holds_of_whole_warps(self):
        under = load("grid", condition="if blockDim.x is a multiple of 32")
        self.assertTrue(self.said([under], TRUTH))
        self.assertEqual(self.said([under], TRUTH, "part"), [])
        # Each instruction that a load became may have a condition of its own.
        for loads in ([under, under], [load("grid"), under]):
            self.assertTrue(self.said(loads, TRUTH))
            self.assertEqual(self.said(loads, TRUTH, "part"), [])

    def test_a_load_that_became_several(self):
        two = TRUTH._replace(most=2)
        self.assertEqual(self.said([load("grid"), load("grid")], two), [])
        self.assertTrue(self.said([load("grid"), load("grid")], TRUTH))
        self.assertEqual(self.said([load("grid"), load("data")], TRUTH), [])

    def test_tables(self):
        self.assertTrue(self.said([load("data", table="ct3")], TRUTH))
        self.assertTrue(self.said([load("data", table="ct2")], TRUTH))
        # An instruction may have the line of another load, which is there, too.
        self.assertEqual(self.said([load("data", table="ct2"), load("data")], TRUTH), [])
        self.assertEqual(self.said([load("data", table=None)], TRUTH), [])


SOURCE = """#include "programs.h"
__constant__ u32 ct0[64];
KERNEL p0(u32 *out, const u32 *__restrict__ in, const u32 *p0, const u16 *__restrict__ p1, int n,
          int m, s64 limit, u64 count, GIVEN given, TEXTURE tx)
{
    const u32 half = LANE & 16 ? 0xffff0000u : 0xffffu;
    u32 sum = LOAD(ct0, __popc(__ballot_sync(half, LANE < 5)) + 2); // 5 and 0 of each half
    sum += LOAD(ct0, __reduce_add_sync(half, 1)); // 16
    sum += LOAD(ct0, __popc(__match_any_sync(WHOLE, LANE / 24))); // 24 and 8
    sum += LOAD(ct0, __shfl_xor_sync(WHOLE, LANE, 1)); // the neighbour's
    {
        LOOP
        for (u32 i = 0; i <= blockIdx.x + threadIdx.x / 32; i++) {
            ROUND
            sum += LOAD(ct0, i); // the round
        }
    }
    if (LANE & 2)
        sum += LOAD(ct0, threadIdx.x / 32 + __popc(__ballot_sync(0xccccccccu, 1))); // 16 and more
    out[THREAD] = sum;
}
#ifndef __CUDACC__
int main()
{
    host_table(&ct0, sizeof(ct0), true);
    host_launch("p0", p0, true, false);
}
#endif
"""


class Host(unittest.TestCase):
    """The host's truth, of loads whose addresses a person can work out."""

    def test_what_lanes_tell_each_other(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "file.cu")
            with open(path, "w", encoding="utf-8") as file:
                file.write(SOURCE)
            truths = judge.Runner(folder, TOOLKIT, CBANK).truths(path)["p0"]
        lines = [
            number for number, text in enumerate(SOURCE.splitlines(), 1) if "sum += LOAD" in text
        ]
        first = {line: truth["whole"] for line, truth in truths.items()}
        self.assertEqual(first[7][:4] + first[7][6:], (0, 0, 0, 0, 2, 2, 2, 1))
        reduced, matched, neighbour, turn, half = (first[line] for line in lines)
        self.assertEqual(reduced[:4], (1, 1, 1, 1))
        self.assertEqual((matched.warp, matched.most, matched.affine), (0, 2, "no"))
        self.assertEqual((neighbour.warp, neighbour.whole_most, neighbour.affine), (0, 32, "no"))
        self.assertEqual(turn[:4], (0, 1, 1, 1))
        # threads 2, 3, 6 ... of a warp
        self.assertEqual((half[:4], half.most, half.whole_most), ((0, 0, 0, 1), 1, 0))


@unittest.skipUnless(os.path.exists(f"{TOOLKIT}/bin/nvcc"), "no CUDA toolkit")
class Programs(unittest.TestCase):
    """No answer says more than the host saw."""

    def test_programs(self):
        files = -(-COUNT // judge.PER_FILE)
        first = int(os.environ.get("CBANK_PART", 0)) * files
        with tempfile.TemporaryDirectory() as folder:
            wrong, counts = judge.try_files(
                judge.Runner(folder, TOOLKIT, CBANK),
                "1",
                range(first, first + files),
            )
        print(judge.summary(counts), flush=True)
        self.assertEqual(wrong, 0)
        known = sum(
            counts[said] for said in ("constant", "grid", "block", "warp", "affine", "uneven")
        )
        self.assertGreater(known, counts["loads"] / 3)
        self.assertGreater(counts["judged"], counts["loads"] / 2)
        self.assertLess(counts["refused"], judge.REFUSED_MAX * counts["programs"])
        tried = [int(key[3:]) for key in counts if re.match(r"sm_\d", key)]
        self.assertEqual(sorted(tried), judge.architectures_of(TOOLKIT))

    def test_tables(self):
        """No load has the name of another table than the one with which it is moved."""
        files = -(-MOVED // random_tables.PER_FILE)
        first = int(os.environ.get("CBANK_PART", 0)) * files
        with tempfile.TemporaryDirectory() as folder:
            wrong, counts = random_tables.try_files(folder, "1", range(first, first + files))
        print(judge.summary(counts), flush=True)
        self.assertEqual(wrong, 0)
        self.assertGreater(counts["judged"], counts["loads"] / 10)
        self.assertGreater(counts["named"], counts["judged"] / 2)


if __name__ == "__main__":
    unittest.main()
