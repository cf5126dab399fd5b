#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of README.md, docs/, CONTRIBUTING.md and the man page: commands run, figures are the
program's, names and options are all there.

CBANK names the program (default build/cbank). The commands of a page run one after the other in a
scratch copy of the tree. They see no GPU, so that their outcome does not depend on the machine.
"""

import concurrent.futures
import glob
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

from common import ROOT

CBANK = os.path.abspath(os.environ.get("CBANK", os.path.join(ROOT, "build/cbank")))
README_TABLE_COLUMNS_MAX = 100
LINE_COLUMNS_MAX = 120
EXIT_NO_GPU = 3

sys.path.insert(0, os.path.join(ROOT, "scripts"))
import readme_blocks  # noqa: E402
from readme_blocks import read  # noqa: E402

PAGES = readme_blocks.pages()
# what blocks of code can be; those of sh are run
FENCES = ("sh", "text", "json", "c", "cuda", "sql", "python")

# Commands that are not run as they stand: what they begin with, what is run, and why. The first
# that fits counts. All others run, those that need a GPU, too: without one they parse their options
# and exit with 3.
EXCEPTIONS = (
    (
        'make CUDA="$(scripts/cuda_11_8.sh)"',
        "sh -n scripts/cuda_11_8.sh",
        "downloads a toolkit: is read by the shell",
    ),
    (
        'scripts/studies/two_toolkits.py --old "$(scripts/cuda_11_8.sh)"',
        "scripts/studies/two_toolkits.py --help",
        "downloads a toolkit, and compiles for minutes: two_toolkits.py has two made-up ones",
    ),
    (
        "make release",
        "sh -n scripts/make_release.sh",
        "compiles for every architecture: is read by the shell",
    ),
    # PYTHON: make runs the lines that begin with + for all its -n.
    (
        "make",
        "make -n PYTHON=true",
        "builds, tests, measures or installs, for minutes: says what it would do",
    ),
    ("scripts/setup.sh", "sh -n scripts/setup.sh", "installs packages: is read by the shell"),
    *(
        (start, "sh -n scripts/fleet_run.sh", "is of a cluster: fleet_slurm.py types it")
        for start in (
            "export PATH",
            "sbatch",
            "cat /shared/night.out",
            "for node in",
            "/shared/cbank/share/cbank/scripts/fleet_run.sh",
        )
    ),
    *((start, "git --version", "is of your clone") for start in ("git add", "git commit")),
)


def environment():
    """No GPU, no colour asked for, nothing of the make that runs the tests."""
    clean = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("MAKE", "MFLAGS")) and key not in ("NO_COLOR", "CLICOLOR_FORCE")
    }
    return {**clean, "CUDA_VISIBLE_DEVICES": "", "PYTHONDONTWRITEBYTECODE": "1"}


def cbank(*arguments):
    return subprocess.run(
        [CBANK, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=environment(),
    ).stdout


class Command:
    """A line of a page's sh block: the command, and how it ends on a machine without a GPU."""

    def __init__(self, page, line):
        self.page = page
        self.text, _, comment = line.partition(" # ")
        self.text = self.text.strip()
        said = re.search(r"\bexit (\d+)", comment)
        self.code = EXIT_NO_GPU if "needs a GPU" in comment else int(said.group(1)) if said else 0

    def run(self, folder):
        """(exit code, output)."""
        done = subprocess.run(
            ["bash", "-c", self.harmless()],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=1200,
            check=False,
            env=environment(),
        )
        return done.returncode, done.stdout[-2000:] + done.stderr[-2000:]

    def harmless(self):
        for start, instead, _ in EXCEPTIONS:
            if re.match(re.escape(start) + r"(?![\w.-])", self.text):
                self.code = 0
                return instead if " " in start else instead + self.text[len(start) :]
        if not re.match(r"(build/cbank|scripts/(studies/)?\w+\.py)( |$)", self.text):
            return f"echo 'do not know what this would do: {self.page}'; exit 99"
        return self.text


def commands(page):
    """Every line of the page's sh blocks, without those that are comments."""
    return [
        Command(page, line)
        for block in re.findall(r"^```sh\n(.*?)^```", read(page), re.DOTALL | re.MULTILINE)
        for line in block.splitlines()
        if line and not line.startswith("#")
    ]


def run_page(page):
    """[(command, exit code, output)], in a copy of the tree."""
    with tempfile.TemporaryDirectory() as folder:
        root = os.path.join(folder, "cbank")
        shutil.copytree(
            ROOT, root, ignore=shutil.ignore_patterns(".git", "build", "local", "__pycache__")
        )
        os.mkdir(os.path.join(root, "build"))
        os.symlink(CBANK, os.path.join(root, "build/cbank"))
        return [(command, *command.run(root)) for command in commands(page)]


class Commands(unittest.TestCase):
    def test_every_command_ends_as_its_page_says(self):
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for rows in pool.map(run_page, PAGES):
                for command, code, output in rows:
                    with self.subTest(command.text, page=command.page):
                        self.assertEqual(code, command.code, output)

    def test_the_two_commands_come_first(self):
        self.assertEqual(
            [command.text for command in commands("README.md")[:2]], ["make run", "make test"]
        )

    def test_every_exception_is_used(self):
        texts = [command.text for page in PAGES for command in commands(page)]
        for start, _, _ in EXCEPTIONS:
            self.assertTrue(any(text.startswith(start) for text in texts), start)

    def test_no_command_hides_in_another_fence(self):
        for page in PAGES:
            fences = re.findall(r"^ *```(.*)$", read(page), re.MULTILINE)
            with self.subTest(page):
                self.assertEqual(set(fences[0::2]) - set(FENCES), set())
                self.assertEqual(set(fences[1::2]) - {""}, set())


def without_blocks(page):
    return readme_blocks.BLOCK.sub("", read(page))


class Pages(unittest.TestCase):
    def test_blocks_are_what_the_program_prints(self):
        for page in PAGES:
            for command, markdown, content in readme_blocks.blocks(read(page)):
                # A part of its own for each, so that one that is not there yet skips no other.
                with self.subTest(command, page=page):
                    self.assertEqual(readme_blocks.missing(command), [])
                    self.assertEqual(
                        content,
                        readme_blocks.output(command, markdown),
                        "run scripts/readme_blocks.py --write",
                    )

    def test_texts(self):
        """Markers are in pairs, measured numbers stand in blocks, lines are short, and a page
        begins with its purpose."""
        for page in [*PAGES, "CHANGELOG.md"]:
            with self.subTest(page):
                text, rest = read(page), without_blocks(page)
                self.assertEqual(
                    (text.count("<!-- begin"), text.count("<!-- end -->")),
                    (len(readme_blocks.blocks(text)),) * 2,
                )
                self.assertEqual(
                    [
                        line
                        for line in re.sub(
                            r"^```.*?^```$", "", rest, flags=re.DOTALL | re.MULTILINE
                        ).splitlines()
                        if len(line) > LINE_COLUMNS_MAX and not line.startswith("|")
                    ],
                    [],
                )
                if page in PAGES:
                    self.assertEqual(
                        re.findall(r"[^|`\n]*?\d[\d.,]*(?: ?[mnu]s|x| cycles)\b", rest), []
                    )
                    title, purpose = text.split("\n\n")[:2]
                    self.assertRegex(title, r"^# \S")
                    self.assertRegex(purpose, r"^(This page |`cbank` measures )")
                    self.assertLessEqual(len(re.findall(r"[.:](?=\s|$)", purpose)), 2)

    def test_the_readme_leads_to_every_page(self):
        text = read("README.md")
        for page in PAGES[1:]:
            self.assertIn(f"]({page})", text)

    def test_links_and_names_of_files_lead_somewhere(self):
        """Names between backticks are from the root of the tree; those that stand for many
        (NAME) are left out."""
        for page in PAGES:
            for target in re.findall(r"\]\((?!https://)([^)\s]+)\)", without_blocks(page)):
                with self.subTest(page, target=target):
                    name, _, anchor = target.partition("#")
                    path = (
                        os.path.normpath(os.path.join(os.path.dirname(page), name))
                        if name
                        else page
                    )
                    self.assertTrue(os.path.exists(os.path.join(ROOT, path)), path)
                    self.assertTrue(not anchor or anchor in self.anchors(path), anchor)
            for name in re.findall(
                r"`((?:harness|kernels|patterns|scripts|tests|results|docs)/[a-z0-9_./*-]*)[ `]",
                without_blocks(page),
            ):
                with self.subTest(page, name=name):
                    self.assertTrue(
                        name.startswith("results/local/") or glob.glob(name, root_dir=ROOT), name
                    )

    @staticmethod
    def anchors(page):
        return {
            re.sub(r"[^a-z0-9 -]", "", line.lstrip("# ").lower()).replace(" ", "-")
            for line in read(page).splitlines()
            if line.startswith("#")
        }

    def test_tables_of_the_readme_are_narrow(self):
        """As they are seen: without the targets of links."""
        blocks = "".join(content for _, _, content in readme_blocks.blocks(read("README.md")))
        tables = [line for line in read("README.md").splitlines() if line.startswith("|")]
        for line in blocks.splitlines() + tables:
            self.assertLessEqual(
                len(re.sub(r"\]\([^)]*\)", "]", line)), README_TABLE_COLUMNS_MAX, line
            )

    def test_exit_codes_are_those_of_help(self):
        table = re.findall(r"^\| (\d) \| (\w+)", read("docs/comparing.md"), re.MULTILINE)
        said = re.findall(
            r"\b(\d) (done|a|usage|the|inconclusive)\b", " ".join(cbank("--help").split())
        )
        self.assertEqual(table, said)


class Gpus(unittest.TestCase):
    """The README's table of GPUs."""

    def setUp(self):
        rows = re.findall(
            r"^\| (\d+\.\d)(?: to (\d+\.\d))? \| (.*) \|$", read("README.md"), re.MULTILINE
        )
        self.rows = [(self.number(low), self.number(high or low), rest) for low, high, rest in rows]

    @staticmethod
    def number(capability):
        major, minor = capability.split(".")
        return 10 * int(major) + int(minor)

    def row(self, architecture):
        found = [rest for low, high, rest in self.rows if low <= architecture <= high]
        self.assertEqual(len(found), 1, f"architecture {architecture} is in {len(found)} rows")
        return found[0]

    def test_architectures_of_the_toolkit(self):
        nvcc = shutil.which("nvcc", path=os.environ["PATH"] + ":/usr/local/cuda/bin")
        if not nvcc:
            self.skipTest("no CUDA toolkit on this machine")
        version = re.search(
            r"release (\d+\.\d+)",
            subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True).stdout,
        ).group(1)
        known = subprocess.run(
            [nvcc, "--list-gpu-code"], capture_output=True, text=True, check=True
        ).stdout
        for architecture in re.findall(r"sm_(\d+)", known):
            self.assertIn(version, self.row(int(architecture)))

    def test_what_was_measured(self):
        for name in sorted(glob.glob("results/*/core-matrix.json", root_dir=ROOT)):
            device = json.loads(read(name))["device"]
            self.assertIn(device["name"], self.row(self.number(device["compute_capability"])))


def command_names():
    return re.findall(r"^  (\w+) {2,}", cbank("--help"), re.MULTILINE)


class Completion(unittest.TestCase):
    def complete(self, *words):
        """The completions of bash for the last of these words, as bash splits them."""
        script = (
            f". {shlex.quote(os.path.join(ROOT, 'docs/cbank.bash'))}; program=$1; shift; "
            'COMP_WORDS=("$program" "$@"); COMP_CWORD=$#; _cbank; printf "%s\\n" "${COMPREPLY[@]}"'
        )
        done = subprocess.run(
            ["bash", "-c", script, "bash", CBANK, *words],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            cwd=ROOT,
            env=environment(),
        )
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_words(self):
        listed = json.loads(cbank("list", "--json"))
        for words, wanted in (
            (("",), [*command_names(), "help"]),
            (("run", "--p"), ["--parameter-bytes", "--path", "--pattern", "--polluter-bytes"]),
            (
                ("characterize", "--"),
                [
                    "--device",
                    "--replay",
                    "--resume",
                    "--json",
                    "--card",
                    "--new-card",
                    "--watchdog-slack",
                    "--all",
                    "--quiet",
                ],
            ),
            (("report", "--"), ["--help", "--output"]),
            (("help", "co"), ["compare", "contribute", "convert", "counters"]),
            (("run", "--pattern", "=", "per_warp,ps"), ["per_warp,pseudo_random"]),
            (("run", "--launch-path", "stream,sy"), ["stream,symbol_copy"]),
            (("list", ""), None if "asan" in CBANK else list(listed)),
            (("show", "READ"), ["README.md"]),
            (("characterize", "--replay", "READ"), ["README.md"]),
            (("run", "--device", ""), ["all"]),
        ):
            # CUPTI, which list asks for its metrics, cannot be loaded under a sanitizer
            if wanted is not None:
                with self.subTest(words):
                    self.assertEqual(set(self.complete(*words)), set(wanted))
        self.assertNotIn("all", self.complete("characterize", "--device", ""))

    def test_names_of_tables(self):
        for option, table in (
            ("--pattern", "patterns"),
            ("--path", "paths"),
            ("--cache-state", "cache_states"),
            ("--workload", "workloads"),
            ("--engine", "engines"),
            ("--counters", "counters"),
        ):
            with self.subTest(option):
                names = [row["name"] for row in json.loads(cbank("list", table, "--json"))]
                self.assertLessEqual(set(names), set(self.complete("run", option, "=")))


class ManPage(unittest.TestCase):
    def setUp(self):
        # Without the font requests and escapes that stand between a word and its neighbour.
        self.plain = (
            re.sub(r"\\f.|\\c|\"", "", read("docs/cbank.1")).replace("\\-", "-").replace("= ", "=")
        )

    def test_exit_codes(self):
        section = self.plain.split(".SH EXIT STATUS")[1].split(".SH")[0]
        self.assertEqual(re.findall(r"^\.B (\d)$", section, re.MULTILINE), list("01234"))

    def test_examples_parse(self):
        lines = [
            line
            for block in re.findall(r"^\.nf\n(.*?)^\.fi", self.plain, re.DOTALL | re.MULTILINE)
            for line in block.splitlines()
        ]
        self.assertGreater(len(lines), 4)
        with tempfile.TemporaryDirectory() as folder:
            for line in lines:
                with self.subTest(line):
                    done = subprocess.run(
                        [CBANK, *shlex.split(line)[1:]],
                        cwd=folder,
                        capture_output=True,
                        text=True,
                        timeout=60,
                        check=False,
                        env=environment(),
                    )
                    self.assertEqual(done.returncode, 0, done.stderr)

    @unittest.skipUnless(shutil.which("groff"), "no groff on this machine")
    def test_groff_has_no_complaint(self):
        done = subprocess.run(
            ["groff", "-man", "-Tutf8", "-ww", "-z", os.path.join(ROOT, "docs/cbank.1")],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
