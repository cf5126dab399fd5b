#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Errors of the GPU before, during and after a run, on the simulated one. CBANK names the
program that is linked to it (default build/tests/simulated/cbank)."""

import json
import os
import subprocess
import unittest

import jsonschema

from common import ROOT, kept_folder, read_json

CBANK = os.path.abspath(os.environ.get("CBANK", os.path.join(ROOT, "build/tests/simulated/cbank")))
PLAN = (
    "--engine",
    "cuda",
    "--path",
    "constant",
    "--pattern",
    "per_warp,per_block",
    "--elements",
    "12800",
    "--counters",
    "none",
    "--max-samples",
    "6",
    "--max-noise",
    "50",
    "--seed",
    "1",
)


@unittest.skipUnless(os.path.exists(CBANK), "no simulated GPU: make simulated, with a CUDA toolkit")
class Health(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.file = os.path.join(kept_folder(cls), "result.json")

    def simulated(self, settings, *arguments, status=0):
        done = subprocess.run(
            [CBANK, *arguments],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={**os.environ, "CBANK_SIMULATED": settings, "COLUMNS": "160"},
        )
        self.assertIn(status, (None, done.returncode), done.stdout + done.stderr)
        return done

    def run_plan(self, settings, status=0):
        """The printed text, and the result."""
        done = self.simulated(settings, "run", *PLAN, "--json", self.file, status=status)
        result = read_json(self.file)
        jsonschema.Draft202012Validator(
            read_json(os.path.join(ROOT, "results/schema.json"))
        ).validate(result)
        return done, result

    def assert_flagged(self, result, flagged):
        self.assertEqual(
            [cell["flags"] for cell in result["cells"]], [["errors_grew"] if flagged else []] * 2
        )

    def test_nothing_grew(self):
        done, result = self.run_plan("ecc_corrected=3,remapped=1")
        health = result["health"]
        self.assertEqual(health["before"], health["after"])
        self.assertEqual(
            (health["before"]["ecc_corrected"], health["before"]["remapped_rows_uncorrectable"]),
            (3, 1),
        )
        self.assertEqual((health["grew"], health["xids"], health["reasons"]), ([], [], {}))
        self.assert_flagged(result, False)
        self.assertNotIn("errors", done.stderr)

    def test_corrected_errors_and_xids_are_a_flag(self):
        done, result = self.run_plan("ecc_corrected=1/3,xid=31")
        self.assertEqual(result["health"]["grew"], ["ecc_corrected", "xids"])
        self.assertEqual(result["health"]["xids"], [{"number": 31}])
        self.assert_flagged(result, True)
        said = (
            "errors of the device grew during the run: 2 more corrected ECC errors, 1 more errors"
            " that the driver reported (Xid), Xid 31"
        )
        self.assertEqual(done.stderr.count(said), 1)
        self.assertIn(said, " ".join(done.stdout.split()))
        self.assertIn("errors_grew", self.simulated("", "show", self.file, "--csv").stdout)

    def test_what_may_change_results_is_a_finding(self):
        for setting in ("ecc_uncorrected=0/1", "retired=2/3", "remapped=0/1", "remap_failure=0/1"):
            with self.subTest(setting=setting):
                self.assert_flagged(self.run_plan(setting, status=1)[1], True)
        for setting in ("remap_pending=0/1", "retired_pending=0/1"):
            with self.subTest(setting=setting):
                self.assert_flagged(self.run_plan(setting)[1], True)

    def test_what_is_not_known_says_why(self):
        health = self.run_plan("ecc=0,fail=nvmlDeviceGetRemappedRows:1:permission:sticky")[1][
            "health"
        ]
        self.assertEqual(
            (health["before"]["ecc_corrected"], health["after"]["remap_pending"]), (None, None)
        )
        self.assertEqual(health["reasons"]["remap_failed"], "operation not permitted")
        self.assertEqual(
            set(health["reasons"]),
            {
                "ecc_corrected",
                "ecc_uncorrected",
                "remapped_rows_correctable",
                "remapped_rows_uncorrectable",
                "remap_pending",
                "remap_failed",
            },
        )
        health = self.run_plan("fail=nvmlDeviceRegisterEvents:1:not_supported,xid=79")[1]["health"]
        self.assertEqual((health["before"]["xids"], health["grew"]), (None, []))

    def test_resumed(self):
        """A run that goes on keeps what grew, and its cells the flag; what has yet to be done is
        measured without."""
        _, result = self.run_plan("ecc_uncorrected=0/1", status=1)
        result["complete"], result["finished_utc"] = False, None
        result["cells"][1].update(status="pending", flags=[], verified=False)
        result["cells"][1]["time_ns"].update(samples=[], stop_reason=None)
        with open(self.file, "w", encoding="utf-8") as file:
            json.dump(result, file)
        self.simulated("ecc_uncorrected=1", "run", "--resume", self.file, status=1)
        result = read_json(self.file)
        self.assertEqual([cell["flags"] for cell in result["cells"]], [["errors_grew"], []])
        self.assertEqual(
            (result["health"]["grew"], result["health"]["before"]["ecc_uncorrected"]),
            (["ecc_uncorrected"], 1),
        )

    def test_no_gate_passes_a_bad_gpu(self):
        """compare and gate take the verdict of the run: the times of both sides are alike."""
        base = os.path.join(os.path.dirname(self.file), "base.json")
        self.simulated("", "run", *PLAN, "--json", base)
        for setting in ("ecc_uncorrected=0/5", "remap_failure=1/1", "retired=2/3", "wrong=1"):
            with self.subTest(setting):
                self.simulated(setting, "run", *PLAN, "--json", self.file, status=None)
                for sides in ((base, self.file), (self.file, base)):
                    done = self.simulated("", "compare", *sides, status=1)
                    self.assertIn("invalid", done.stdout)
                plan = ("--processes", "1", *PLAN)
                done = self.simulated(setting, "gate", base, *plan, status=1)
                self.assertRegex(done.stdout, "invalid|a program exited with 1")

    def test_doctor(self):
        text = self.simulated("remap_pending=1,ecc_corrected=2", "doctor").stdout
        self.assertRegex(
            text, r"ok +memory errors\s+(detail: )?2 corrected ECC errors, rows wait to be remapped"
        )
        self.assertRegex(
            text,
            (
                r"warning +memory errors\s+(detail: )?rows wait to be remapped\s+(remedy: )?reset"
                r" the GPU or restart the host"
            ),
        )
        self.assertRegex(
            self.simulated("", "doctor").stdout, r"ok +memory errors\s+(detail: )?none"
        )


if __name__ == "__main__":
    unittest.main()
