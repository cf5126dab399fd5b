#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of README.md and of the man page: commands run, figures are the program's, names and options are all there.

CBANK names the program (default build/cbank). Commands run in a scratch copy of the tree, one after the other, and see
no GPU: how a command ends does not depend on the machine.
"""

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

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CBANK = os.path.abspath(os.environ.get("CBANK", os.path.join(ROOT, "build/cbank")))
LINES_MAX = 463  # beside what the program prints

sys.path.insert(0, os.path.join(ROOT, "scripts"))
import readme_blocks  # noqa: E402


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def environment():
    """No GPU, no colour asked for, nothing of the make that runs the tests."""
    clean = {key: value for key, value in os.environ.items()
             if not key.startswith(("MAKE", "MFLAGS")) and key not in ("NO_COLOR", "CLICOLOR_FORCE")}
    return {**clean, "CUDA_VISIBLE_DEVICES": "", "PYTHONDONTWRITEBYTECODE": "1"}


def cbank(*arguments):
    return subprocess.run([CBANK, *arguments], capture_output=True, text=True, timeout=60, check=False,
                          env=environment()).stdout


def commands():
    """(command, exit code, needs a GPU) of every line of the README's sh blocks."""
    rows = []
    for block in re.findall(r"^```sh\n(.*?)^```", read("README.md"), re.DOTALL | re.MULTILINE):
        for line in block.splitlines():
            command, _, comment = line.partition(" # ")
            code = re.search(r"\bexit (\d+)", comment)
            rows.append((command.strip(), int(code.group(1)) if code else 0, "needs a GPU" in comment))
    return [row for row in rows if row[0]]


class Commands(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = os.path.join(cls.folder.name, "cbank")
        shutil.copytree(ROOT, cls.root, ignore=shutil.ignore_patterns(".git", "build", "local", "__pycache__"))
        os.mkdir(os.path.join(cls.root, "build"))
        os.symlink(CBANK, os.path.join(cls.root, "build/cbank"))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def harmless(self, command, needs_gpu):
        """The command as it is run here: make says what it would do, what needs a GPU shows its options."""
        words = shlex.split(command)
        if words[0] == "make":
            # PYTHON: make runs the lines that begin with + for all its -n.
            return "make -n PYTHON=true " + command[len("make"):]
        if needs_gpu:
            self.assertEqual(words[0], "build/cbank", "do not know how to try this without a GPU")
            return command + " --help"
        self.assertRegex(words[0], r"^(build/cbank|scripts/\w+\.py)$", "do not know what this would do")
        return command

    def test_every_command_ends_as_the_readme_says(self):
        rows = commands()
        self.assertGreater(len(rows), 10)
        for command, code, needs_gpu in rows:
            with self.subTest(command):
                done = subprocess.run(["bash", "-c", self.harmless(command, needs_gpu)], cwd=self.root,
                                      capture_output=True, text=True, timeout=300, check=False, env=environment())
                self.assertEqual(done.returncode, code, done.stdout[-2000:] + done.stderr[-2000:])

    def test_the_two_commands_come_first(self):
        self.assertEqual([row[0] for row in commands()[:2]], ["make run", "make test"])


class Readme(unittest.TestCase):
    def test_blocks_are_what_the_program_prints(self):
        blocks = readme_blocks.blocks(read("README.md"))
        self.assertGreater(len(blocks), 0)
        for command, content in blocks:
            # A part of its own for each, so that one that is not there yet skips no other.
            with self.subTest(command):
                if not readme_blocks.missing(command):
                    self.assertEqual(content, readme_blocks.output(command), "run scripts/readme_blocks.py --write")

    def test_results_of_the_blocks_are_there(self):
        absent = {word for command, _ in readme_blocks.blocks(read("README.md"))
                  for word in readme_blocks.missing(command)}
        if absent:
            self.skipTest("not committed yet: " + ", ".join(sorted(absent)))

    def test_markers_are_in_pairs(self):
        text = read("README.md")
        self.assertEqual(text.count("<!-- begin:"), len(readme_blocks.blocks(text)))
        self.assertEqual(text.count("<!-- end -->"), len(readme_blocks.blocks(text)))

    def test_every_counter_is_explained(self):
        rows = {row["name"]: row["kind"] for row in json.loads(cbank("list", "counters", "--json"))}
        explained = dict(re.findall(r"^\| `(\w+)` \| (exact|measured) \|", read("README.md"), re.MULTILINE))
        self.assertEqual(explained, rows)

    def test_every_row_is_named(self):
        text = read("README.md")
        for table in ("paths", "patterns", "workloads", "regimes", "engines"):
            for row in json.loads(cbank("list", table, "--json")):
                with self.subTest(table, row=row["name"]):
                    self.assertIn(f"`{row['name']}`", text)

    def test_exit_codes_are_those_of_help(self):
        table = re.findall(r"^\| (\d) \| (\w+)", read("README.md"), re.MULTILINE)
        said = re.findall(r"\b(\d) (done|a|usage|the|inconclusive)\b", " ".join(cbank("--help").split()))
        self.assertEqual(table, said)

    def test_links_lead_somewhere(self):
        for name in ["README.md", "CONTRIBUTING.md"] + sorted(glob.glob("docs/*.md", root_dir=ROOT)):
            headings = {re.sub(r"[^a-z0-9 -]", "", line.lstrip("# ").lower()).replace(" ", "-")
                        for line in read(name).splitlines() if line.startswith("#")}
            for target in re.findall(r"\]\(([^)\s]+)\)", read(name)):
                with self.subTest(name, target=target):
                    if target.startswith("#"):
                        self.assertIn(target[1:], headings)
                    elif not target.startswith("https://"):
                        path = os.path.join(ROOT, os.path.dirname(name), target.split("#")[0])
                        self.assertTrue(os.path.exists(path), path)

    def test_it_is_short(self):
        self.assertLessEqual(len(readme_blocks.BLOCK.sub("", read("README.md")).splitlines()), LINES_MAX)


class CountersScript(unittest.TestCase):
    def run_script(self, *arguments):
        return subprocess.run([sys.executable, os.path.join(ROOT, "scripts/counters.py"), *arguments],
                              capture_output=True, text=True, timeout=60, check=False, env=environment())

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = os.path.join(folder.name, "result.json")
        cbank("run", "--engine", "model", "--elements", "4096", "--path", "constant", "--json", self.file)

    def test_values_and_quotients(self):
        done = self.run_script(self.file, "--pattern", "per_warp,per_thread", "global_load_instructions", "l1_sectors",
                               "l1_sectors/global_load_instructions")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [line.split() for line in done.stdout.splitlines()]
        # 4096 elements: 128 warps, each with one input load of four sectors.
        self.assertEqual(lines[2], ["per_warp", "128=", "512=", "4.000"])
        self.assertEqual(lines[3], ["per_thread", "128=", "512=", "4.000"])

    def test_differing_counters_are_marked(self):
        with open(self.file, encoding="utf-8") as file:
            result = json.load(file)
        result["cells"][0]["counters"]["l1_sectors"]["value"] += 1
        result["cells"][1]["counters"]["l1_sectors"].update(status="unsupported", value=None)
        with open(self.file, "w", encoding="utf-8") as file:
            json.dump(result, file)
        lines = self.run_script(self.file, "l1_sectors").stdout.splitlines()
        self.assertEqual([line.split()[-1] for line in lines[2:5]], ["513!", "-", "512="])

    def test_bad_input(self):
        for arguments in ([self.file, "no_such"], ["missing.json"], [ROOT + "/LICENSE"], [self.file, "l1_sectors/"]):
            with self.subTest(arguments):
                done = self.run_script(*arguments)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertIn("counters: error:", done.stderr)

    def test_no_cell_left(self):
        done = self.run_script(self.file, "--pattern", "per_moon", "l1_sectors")
        self.assertEqual((done.returncode, done.stdout), (2, ""))


class Completion(unittest.TestCase):
    def complete(self, *words):
        """What bash offers for the last of these words, as bash splits them."""
        script = (f". {shlex.quote(os.path.join(ROOT, 'scripts/completion.bash'))}; program=$1; shift; "
                  'COMP_WORDS=("$program" "$@"); COMP_CWORD=$#; _cbank; printf "%s\\n" "${COMPREPLY[@]}"')
        done = subprocess.run(["bash", "-c", script, "bash", CBANK, *words], capture_output=True, text=True,
                              timeout=60, check=False, cwd=ROOT, env=environment())
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_commands_and_options(self):
        self.assertEqual(self.complete(""), re.findall(r"^  (\w+) {2,}", cbank("--help"), re.MULTILINE))
        self.assertEqual(self.complete("run", "--p"), ["--path", "--pattern"])
        self.assertEqual(self.complete("list", "--"), ["--json"])
        self.assertEqual(self.complete("characterize", "--"),
                         ["--card", "--device", "--json", "--new-card", "--quiet", "--replay"])

    def test_names_of_tables(self):
        for option, table in (("--pattern", "patterns"), ("--path", "paths"), ("--regime", "regimes"),
                              ("--workload", "workloads"), ("--engine", "engines"), ("--counters", "counters")):
            with self.subTest(option):
                names = [row["name"] for row in json.loads(cbank("list", table, "--json"))]
                self.assertLessEqual(set(names), set(self.complete("run", option, "")))
        self.assertEqual(self.complete("run", "--pattern", "=", "per_warp,ps"), ["per_warp,pseudo_random"])
        self.assertIn("constant", self.complete("run", "--path", "="))

    def test_tables(self):
        if "asan" in CBANK:
            self.skipTest("CUPTI cannot be loaded under a sanitizer")
        self.assertEqual(self.complete("list", ""), list(json.loads(cbank("list", "--json"))))

    def test_files(self):
        self.assertEqual(self.complete("show", "READ"), ["README.md"])
        self.assertEqual(self.complete("characterize", "--replay", "READ"), ["README.md"])

    def test_devices(self):
        self.assertEqual(self.complete("run", "--device", ""), ["all"])
        self.assertNotIn("all", self.complete("characterize", "--device", ""))


class ManPage(unittest.TestCase):
    def setUp(self):
        # Without the font requests and escapes that stand between a word and its neighbour.
        text = re.sub(r"\\f.|\\c|\"", "", read("docs/cbank.1"))
        self.source = text
        self.plain = text.replace("\\-", "-").replace("= ", "=")

    def test_every_option_of_every_command(self):
        documented = set(re.findall(r"^\.BI? (--[a-z-]+(?:=[A-Z]+)?)$", self.plain, re.MULTILINE))
        offered = set()
        for command in re.findall(r"^  (\w+) {2,}", cbank("--help"), re.MULTILINE):
            with self.subTest(command):
                self.assertRegex(self.source, rf"(?m)^\.BI? {command}\b")
            offered |= set(re.findall(r"^ +(?:-\w, )?(--[a-z-]+(?:=[A-Z]+)?)", cbank(command, "--help"), re.MULTILINE))
        self.assertGreater(len(offered), 15)
        self.assertEqual(documented - {"--help"}, offered)

    def test_defaults_are_those_of_help(self):
        options = re.split(r"^\.TP\n", self.plain, flags=re.MULTILINE)
        text = " ".join(cbank("run", "--help").split())
        defaults = re.findall(r"--([a-z-]+)=[A-Z]+ (?:(?!--).)*?\(default (\d[\d.,]*|hot)\)", text)
        self.assertGreater(len(defaults), 4)
        for name, default in defaults:
            with self.subTest(name):
                entry = [option for option in options if option.startswith(f".BI --{name}=")][0]
                self.assertRegex(" ".join(entry.split()), rf"Default (\.BR )?{re.escape(default)}( \.|\.|$)")

    def test_lists_and_exit_codes(self):
        for name in json.loads(cbank("list", "--json")) if "asan" not in CBANK else ():
            self.assertRegex(self.source, rf"\b{name}\b")
        codes = self.source.split(".SH EXIT STATUS")[1].split(".SH")[0]
        self.assertEqual(re.findall(r"^\.B (\d)$", codes, re.MULTILINE), list("01234"))

    def test_version(self):
        self.assertIn(f"cbank {read('VERSION').strip()}", self.source)

    def test_examples_parse(self):
        lines = [line for block in re.findall(r"^\.nf\n(.*?)^\.fi", self.plain, re.DOTALL | re.MULTILINE)
                 for line in block.splitlines()]
        self.assertGreater(len(lines), 4)
        with tempfile.TemporaryDirectory() as folder:
            for line in lines:
                with self.subTest(line):
                    done = subprocess.run([CBANK, *shlex.split(line)[1:]], cwd=folder, capture_output=True, text=True,
                                          timeout=60, check=False, env=environment())
                    if "--resume" in line or line.startswith("cbank show"):
                        self.assertTrue(os.path.exists(os.path.join(folder, "result.json")))
                    self.assertEqual(done.returncode, 0, done.stderr)

    @unittest.skipUnless(shutil.which("groff"), "no groff on this machine")
    def test_groff_has_no_complaint(self):
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", os.path.join(ROOT, "docs/cbank.1")],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
