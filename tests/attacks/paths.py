#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Attacks by the current folder and by names of folders.

usage: tests/attacks/paths.py [--count N] [--seed N] [CLASS...]

- planted: folders hold a file of the name of every module, and of programs and settings. Nothing of
  it may be executed.
- libraries: the folder of the program and the current one hold a library of each name that the
  program opens. None may be loaded.
- isolated: every line that starts Python, of rules and scripts, says that it is isolated.
- odd folders: results, stores and pages in folders with spaces, quotes, controls and dashes. Each
  is used as any other.
- no /proc: commands that start themselves or Python, in a tree without /proc and /dev/shm.

--count is the number of commands of a class; the default takes three seconds. CLASS: the name of
its function.
"""

import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

from run import CBANK, EXIT_CODES, ROOT, Campaign

PLAN = (
    "run",
    "--engine",
    "model",
    "--elements",
    "4096",
    "--pattern",
    "per_warp",
    "--quiet",
    "--json",
)
# Words of commands, in a folder with the results a.json and b.json; each exits with the code before
# it.
COMMANDS = (
    (0, "report -o page a.json"),
    (0, "plot -o figures a.json"),
    (0, "history a.json b.json"),
    (0, "ingest s.db a.json b.json"),
    (0, "fleet s.db"),
    (0, "history s.db"),
    (0, "convert --to gbench a.json"),
    (0, "atlas ."),
    (1, "check ."),
    (0, "check a.json"),
    (3, "contribute new"),
    (2, "ingest s.db --forget nothing"),
    (0, "show a.json"),
    (0, "compare a.json b.json"),
    (0, "explain a.json"),
    (
        0,
        (
            "gate --engine model --elements 4096 --pattern per_warp --counters none --base-program"
            " ./again"
        ),
    ),
)
QUICK = 3  # tries of a class in `make test`
ABSENT = "cbank-absent"  # from PATH
SCRIPTS = [
    path
    for pattern in ("scripts/*.py", "scripts/studies/*.py")
    for path in sorted(glob.glob(os.path.join(ROOT, pattern)))
    if os.access(path, os.X_OK) and "house" not in path
]
# No comma: it separates the files of a side.
TOKENS = (
    " ",
    "'",
    '"',
    "$(touch made)",
    "`touch made`",
    "%s%n",
    "\n",
    "\t",
    "-",
    "--json",
    ";touch made;",
    "|",
    "&",
    "*",
    "?",
    "[a]",
    "{b}",
    "~",
    "#",
    "\\",
    "\\n",
    "!",
    "<",
    ">",
    "é",
    "\u202e",
    "\x1b[31m",
    "\x7f",
    "日本",
    "=",
    ":",
    "..",
    "a",
    "x.json",
)
# A terminal obeys these.
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]")


def run(words, folder, **environment):
    return subprocess.run(
        words,
        cwd=folder,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="surrogateescape",
        timeout=300,
        check=False,
    )


def make_results(folder):
    shutil.copytree(BASE.name, folder, dirs_exist_ok=True)
    with open(os.path.join(folder, "again"), "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\nexec {shlex.quote(CBANK)} "$@"\n')
    os.chmod(file.name, 0o755)


def plant(folder, mark):
    """Files that say in `mark` that they were executed."""
    packages = (
        re.split(r"[.-]", os.path.basename(path))[0]
        for path in glob.glob("/usr/lib*/python3*/*-packages/[!_]*")
    )
    own = (
        os.path.basename(path)[:-3]
        for path in glob.glob(os.path.join(ROOT, "scripts/**/*.py"), recursive=True)
    )
    names = {
        *sys.stdlib_module_names,
        *packages,
        *own,
        "sitecustomize",
        "usercustomize",
        "cbank",
        "numpy",
        "scipy",
        "pandas",
        "matplotlib",
    }
    for name in names:
        with open(os.path.join(folder, f"{name}.py"), "w", encoding="utf-8") as file:
            file.write(
                f"import posix\nwith open({mark!r}, 'a') as file: file.write('{name}.py\\n')\n"
            )
    for name in (
        ABSENT,
        "python3",
        "git",
        "sh",
        "gcc",
        "make",
        "ar",
        "objcopy",
        "readelf",
        "dot",
        "latex",
        "cbank",
    ):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\necho {name} >>{shlex.quote(mark)}\n")
        os.chmod(file.name, 0o755)
    for name, text in (
        ("matplotlibrc", "figure.planted: 1\n"),
        ("pyvenv.cfg", "home = .\n"),
        ("Makefile", f"$(shell echo Makefile >>{mark})\n"),
    ):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    return len(names)


def planted(count, chance):
    """Yields (what to type, what is wrong) of each try."""
    with tempfile.TemporaryDirectory() as top:
        mark, folder = os.path.join(top, "executed"), os.path.join(top, "planted")
        make_results(folder)
        plant(folder, mark)
        tries = [
            ([CBANK, *line.split()], code)
            for code, line in (
                *COMMANDS[:2],
                (3, f"{COMMANDS[-1][1].rpartition(' ')[0]} {ABSENT}"),
                *COMMANDS[2:],
            )
        ]
        tries += [([script, "--help"], None) for script in SCRIPTS] + [
            ([os.path.join(ROOT, "scripts/setup.sh"), "build"], None)
        ]
        # Pages and figures import the most, and gate starts a program; the others follow as chance
        # wants. A page draws figures, too.
        first = tries[:3] if count > QUICK else tries[0:3:2]
        for words, code in first + chance.sample(tries[3:], min(max(count - 3, 0), len(tries) - 3)):
            # An empty entry of PYTHONPATH is the current folder.
            done = run(words, folder, PYTHONPATH=":", CDPATH=folder)
            wrong = (
                "executed " + open(mark, encoding="utf-8").read() if os.path.exists(mark) else ""
            )
            if "planted" in done.stderr.replace(folder, ""):
                wrong += "read matplotlibrc"
            if "Warning:" in done.stderr:  # of a library
                wrong += done.stderr
            if code is not None and done.returncode != code:
                wrong += f"exit {done.returncode}: {done.stderr}"
            if os.path.exists(mark):
                os.remove(mark)
            yield f"cd FOLDER && PYTHONPATH=: {shlex.join(words)}", wrong


# A library that says, in the file MARK, that it was loaded, and from where.
LIBRARY = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
__attribute__((constructor)) static void loaded(void)
{
    FILE *const mark = fopen(MARK, "a");
    Dl_info here;
    if (mark && dladdr((void *)loaded, &here))
        fprintf(mark, "%s\\n", here.dli_fname);
    if (mark)
        fclose(mark);
}
"""


def names_of_libraries():
    """What sources open by name."""
    found = set()
    for path in glob.glob(os.path.join(ROOT, "harness/**/*.c"), recursive=True):
        with open(path, encoding="utf-8") as file:
            found.update(re.findall(r'"(lib[\w.+-]+\.so[.0-9]*)"', file.read()))
    return sorted(found)


def libraries(_count, _chance):
    """LD_LIBRARY_PATH, by which a user may name folders, is set in the last try alone, which shows
    that the libraries tell. A build without the CUDA engine opens none, and has no such try."""
    with tempfile.TemporaryDirectory() as top:
        mark, beside, current = (os.path.join(top, name) for name in ("mark", "beside", "current"))
        first = os.path.join(top, "library.so")
        with open(os.path.join(top, "library.c"), "w", encoding="utf-8") as file:
            file.write(LIBRARY)
        run(
            ["gcc", "-shared", "-fPIC", f'-DMARK="{mark}"', "-o", first, file.name, "-ldl"], top
        ).check_returncode()
        names = names_of_libraries()
        for folder in (beside, current):
            make_results(folder)
            for name in names:
                shutil.copy(first, os.path.join(folder, name))
        program = os.path.join(beside, "cbank")
        shutil.copy(CBANK, program)
        if not {"libcuda.so.1", "libnvidia-ml.so.1", "libcupti.so", "libnvrtc.so"} <= {*names}:
            yield "grep dlopen", f"these names alone were found: {names}"
        for words, path in (
            (["doctor"], ""),
            ([*PLAN, "c.json"], ""),
            (["advise", "--kernel", program, "--table-bytes", "256"], ""),
            (["show", "a.json"], ""),
            (["doctor"], current),
        )[: 4 if "not in this build" in run([program, "list", "engines"], top).stdout else 5]:
            done = run([program, *words], current, LD_LIBRARY_PATH=path)
            found = os.path.exists(mark)
            wrong = "loaded " + open(mark, encoding="utf-8").read() if found and not path else ""
            if path and not found and done.returncode in EXIT_CODES:
                wrong = "no library that the user asks for is loaded: this finds nothing"
            if not path and done.returncode not in EXIT_CODES:
                wrong += f"exit {done.returncode}: {done.stderr}"
            if found:
                os.remove(mark)
            yield f"cd FOLDER && BESIDE/{shlex.join(['cbank', *words])}", wrong


def isolated(_count, _chance):
    """Lines that start Python. Those of tests are left out: a test is in a folder of its own."""
    for path in [
        os.path.join(ROOT, "Makefile"),
        *glob.glob(os.path.join(ROOT, "**/*.mk"), recursive=True),
        *glob.glob(os.path.join(ROOT, "scripts/*.s*")),
        *SCRIPTS,
    ]:
        for number, line in enumerate(open(path, encoding="utf-8"), 1):
            if re.search(
                r'\$\(PYTHON\)|"\$+PYTHON"|"\$python"|^#!.*python|(^|[ @;])python3 ', line
            ) and not line.startswith(("# ", "PYTHON ?=", "    test ")):
                where = os.path.relpath(path, ROOT)
                yield f"sed -n {number}p {where}", (
                    ""
                    if re.search(" -I|tests/end_to_end|command python", line)
                    else f"not isolated: {line.strip()}"
                )


def odd_folders(count, chance):
    with tempfile.TemporaryDirectory() as top:
        for number in range(count):
            work = os.path.join(top, str(number))
            name = "".join(chance.choices(TOKENS, k=chance.randint(1, 5)))
            folder = os.path.join(work, name)
            if name in (".", "..") or len(name.encode()) > 200:
                continue
            make_results(folder)
            before = set(os.listdir(work))
            # The first ones are quick: most tries are of them.
            code, line = chance.choice(COMMANDS if chance.random() < 0.3 else COMMANDS[3:-1])
            command, *rest = line.split()
            options = [
                word if word.startswith("-") or rest[i - 1] == "--to" else None
                for i, word in enumerate(rest)
            ]
            where, current = chance.choice(
                ((folder, work), (os.path.join(".", name), work), ("", folder))
            )
            words = [
                CBANK,
                command,
                *(
                    (
                        word
                        if option or word in ("nothing", "model", "4096", "per_warp", "none")
                        else os.path.join(where, word)
                    )
                    for word, option in zip(rest, options)
                ),
            ]
            done = run(words, current)
            wrong = (
                f"exit {done.returncode} instead of {code}: {done.stderr}"
                if done.returncode != code
                else ""
            )
            if "Traceback" in done.stderr:
                wrong += "a traceback"
            if OBEYED.search(done.stderr) or (
                command not in ("report", "plot") and OBEYED.search(done.stdout)
            ):
                wrong += (
                    f"a control character of the name is printed: {done.stdout + done.stderr!r}"
                )
            if set(os.listdir(work)) != before or os.path.exists(os.path.join(folder, "made")):
                wrong += f"files were made: {set(os.listdir(work)) - before}"
            yield f"mkdir ./{shlex.quote(name)}; " + (
                "" if where else f"cd ./{shlex.quote(name)}; "
            ) + shlex.join(words), wrong
            shutil.rmtree(work)


def no_proc(count, _chance):
    """Commands that start a process, where nothing is in /proc, and in /dev only null; only
    where this machine lets us hide them."""
    hide = [
        "unshare",
        "--user",
        "--map-root-user",
        "--mount",
        "sh",
        "-c",
        (
            "mount -t tmpfs none /proc && mkdir -p dev && >dev/null && mount --bind /dev/null"
            ' dev/null && mount --rbind dev /dev && exec "$@"'
        ),
        "sh",
    ]
    with tempfile.TemporaryDirectory() as folder:
        make_results(folder)
        if not shutil.which("unshare") or run([*hide, "true"], folder).returncode != 0:
            return
        os.symlink(CBANK, os.path.join(folder, "link"))
        tries = [
            (program, line)
            for program in (CBANK, "./link")
            for line in (
                "history a.json b.json",
                (
                    "calibrate --engine model --elements 4096 --pattern per_warp --processes 3"
                    " --json c.json"
                ),
                "plot -o figures a.json b.json",
            )
        ]
        # A program of Python by one name, and of the instrument by the other.
        for program, line in tries if count > QUICK else (tries[0], tries[4]):
            words = [*hide, program, *line.split()]
            done = run(words, folder)
            yield shlex.join(words), (
                f"exit {done.returncode}: {done.stderr}" if done.returncode else ""
            )


def main():
    campaign = Campaign(count=6, quick=QUICK)
    for name in ("a.json", "b.json"):
        if run([CBANK, *PLAN, name], BASE.name).returncode not in (0, 4):
            sys.exit(f"{CBANK} makes no result")
    run([CBANK, "ingest", "s.db", "a.json", "b.json"], BASE.name)
    for name, attack in (
        ("planted", planted),
        ("libraries", libraries),
        ("isolated", isolated),
        ("odd folders", odd_folders),
        ("no /proc", no_proc),
    ):
        if campaign.rest and attack.__name__ not in campaign.rest:
            continue
        campaign.tried[name] = 0  # there may be none
        for typed, wrong in attack(campaign.options.count, campaign.chance(0)):
            campaign.count(name, wrong and f"{name}: {wrong.strip()!r}", typed)
    return campaign.end()


BASE = tempfile.TemporaryDirectory()

if __name__ == "__main__":
    with BASE:
        sys.exit(main())
