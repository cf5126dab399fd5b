#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the parts of `make test` (or, with the argument gpu, of `make test-gpu`) and counts their tests.

A part is a command. Its output is passed on as it comes or, of parts that run side by side, when it has ended; tests
are counted from what cmocka (TAP) and unittest print, and a part that prints neither is one test: passed when it exits
with 0. The last line is "N passed, N failed", with ", N skipped" where there are any. Exit status 0 when at least one
test ran and none failed.
"""

import concurrent.futures
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading

PART_SECONDS_MAX = 900
TAP = re.compile(r"^(not )?ok \d+( - .*?)?( # SKIP.*)?$", re.IGNORECASE)
UNITTEST_RAN = re.compile(r"^Ran (\d+) tests? in")
UNITTEST_END = re.compile(r"^(?:OK|FAILED)(?: \((.*)\))?$")


class Tally:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.broken = []  # parts with failures, for the summary

    def add(self, name, passed, failed, skipped):
        self.passed += passed
        self.failed += failed
        self.skipped += skipped
        if failed:
            self.broken.append(name)


def count(lines, status):
    """(passed, failed, skipped) of one part's output."""
    passed = failed = skipped = 0
    for line in lines:
        tap = TAP.match(line)
        if tap and tap.group(3):
            skipped += 1
        elif tap and tap.group(1):
            failed += 1
        elif tap:
            passed += 1
        ran = UNITTEST_RAN.match(line)
        if ran:
            passed += int(ran.group(1))
        end = UNITTEST_END.match(line)
        if end:
            words = dict(word.split("=") for word in (end.group(1) or "").split(", ") if "=" in word)
            bad = sum(int(words.get(key, 0)) for key in ("failures", "errors", "unexpected successes"))
            passed -= bad + int(words.get("skipped", 0))
            failed += bad
            skipped += int(words.get("skipped", 0))
    passed = max(passed, 0)  # a file that is skipped as a whole: no test ran, one was skipped
    if passed + failed + skipped == 0:
        return (1, 0, 0) if status == 0 else (0, 1, 0)
    # A crash, or a leak found at exit, after tests that all passed.
    if status != 0 and failed == 0:
        failed = 1
    return passed, failed, skipped


def run(command, environment, passed_on):
    """The lines of a part's output, passed on as they come or not at all, and its exit status."""
    lines = []
    # File descriptors stay open for make's job server.
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          env={**os.environ, **environment}, close_fds=False) as process:
        timer = threading.Timer(PART_SECONDS_MAX, process.kill)
        timer.start()
        for line in process.stdout:
            if passed_on:
                print(line, end="", flush=True)
            lines.append(line.rstrip("\n"))
        status = process.wait()
        timer.cancel()
    return lines, status


def head(name, command):
    print(f"\n== {name}: {shlex.join(command)}", flush=True)


def foot(tally, name, lines, status):
    passed, failed, skipped = count(lines, status)
    print(f"-- {name}: {passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""), flush=True)
    tally.add(name, passed, failed, skipped)
    return failed == 0


def part(tally, name, command, **environment):
    """Runs one part; returns whether it passed."""
    head(name, command)
    return foot(tally, name, *run(command, environment, True))


def skip(tally, name, why):
    print(f"\n== {name}: skipped: {why}", flush=True)
    tally.add(name, 0, 0, 1)


def make(*arguments):
    return shlex.split(os.environ.get("MAKE", "make")) + list(arguments)


def unit_tests(tally, build, label, **environment):
    # Only tests whose source is still there, not what an older build left.
    for source in sorted(glob.glob("tests/unit/test_*.c")):
        name = os.path.basename(source)[:-2]
        part(tally, f"{name} ({label})", [f"{build}/tests/unit/{name}"], CMOCKA_MESSAGE_OUTPUT="TAP", **environment)


def python_tests(tally, files, program, label, *arguments):
    """As many at a time as there are processors; each one's output is passed on when it has ended."""
    commands = [[sys.executable, file, *arguments] for file in files]
    environment = {"CBANK": os.path.abspath(program)}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = pool.map(lambda command: run(command, environment, False), commands)
        for file, command, (lines, status) in zip(files, commands, runs):
            name = f"{os.path.basename(file)} ({label})"
            head(name, command)
            print("\n".join(lines), flush=True)
            foot(tally, name, lines, status)


def scripts_named(start):
    return sorted(glob.glob(f"tests/end_to_end/{start}*.py") + glob.glob(f"tests/kernels/{start}*.py"))


def disassembler_found(toolkit):
    return shutil.which("nvdisasm", path=os.pathsep.join([os.path.join(toolkit, "bin"), os.environ["PATH"]]))


def check_sass(tally, toolkit, *options):
    if not toolkit:
        skip(tally, "check-sass", "no CUDA toolkit, so no kernels")
    elif not disassembler_found(toolkit):
        skip(tally, "check-sass", "no nvdisasm on this machine")
    else:
        part(tally, "check-sass", make("check-sass", *options))


def fuzzer_links():
    """Whether clang has its fuzzer's runtime library, which some distributions package apart."""
    source = b"int LLVMFuzzerTestOneInput(const char *d, unsigned long n); " \
             b"int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return !d && n; }"
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run(["clang", "-fsanitize=fuzzer,address,undefined", "-x", "c", "-", "-o", f"{folder}/a"],
                              input=source, stderr=subprocess.DEVNULL, check=False).returncode == 0


def fuzz(tally):
    """The corpus, and a few seconds of mutations of it, the same each time; `make fuzz` goes on for longer."""
    if not fuzzer_links():
        skip(tally, "fuzz", "clang lacks the runtime library of -fsanitize=fuzzer")
    elif part(tally, "build the fuzzer", make("fuzzers")):
        with tempfile.TemporaryDirectory() as found:
            part(tally, "fuzz", ["build/fuzz/tests/fuzz/fuzz_result", "-runs=20000", "-seed=1", "-timeout=20",
                                 "-max_len=8192", "-verbosity=0", "-artifact_prefix=build/fuzz/", found,
                                 "tests/corpus"])


def without_gpu(tally, toolkit):
    if part(tally, "build", make("all", "tests")):
        unit_tests(tally, "build", "gcc")
        everywhere = scripts_named("e2e")
        once = [file for file in scripts_named("") if file not in everywhere + scripts_named("gpu")]
        python_tests(tally, everywhere + once, "build/cbank", "gcc")
        if toolkit:
            part(tally, "check-ptx", make("check-ptx"))
        else:
            skip(tally, "check-ptx", "no CUDA toolkit, so no kernels")
        check_sass(tally, toolkit, "CHECK=--skip-undecodable")
    if part(tally, "build with ASan and UBSan", make("sanitize")):
        unit_tests(tally, "build/asan", "ASan, UBSan", UBSAN_OPTIONS="print_stacktrace=1")
        python_tests(tally, scripts_named("e2e"), "build/asan/cbank", "ASan, UBSan")
    fuzz(tally)
    part(tally, "build with clang", make("BUILD=build/clang", "CC=clang", "all", "tests"))
    part(tally, "check-headers", make("check-headers"))
    if part(tally, "build without a toolkit", make("BUILD=build/nocuda", "NO_CUDA=1", "all")):
        python_tests(tally, ["tests/end_to_end/e2e.py"], "build/nocuda/cbank", "no toolkit", "Smoke")


def with_gpu(tally, toolkit):
    if part(tally, "build", make("all", "tests")):
        check_sass(tally, toolkit)
        python_tests(tally, scripts_named("gpu"), "build/cbank", "gpu")


def main():
    os.chdir(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    tally = Tally()
    toolkit = os.environ.get("CBANK_CUDA", "")
    (with_gpu if sys.argv[1:] == ["gpu"] else without_gpu)(tally, toolkit)
    print()
    for name in tally.broken:
        print(f"FAILED: {name}")
    print(f"{tally.passed} passed, {tally.failed} failed" + (f", {tally.skipped} skipped" if tally.skipped else ""),
          flush=True)
    sys.exit(0 if tally.passed and not tally.failed else 1)


if __name__ == "__main__":
    main()
