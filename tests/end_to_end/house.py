#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of the rules of the house that a compiler does not check."""

import fnmatch
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from common import ROOT

sys.path[:0] = [os.path.join(ROOT, folder) for folder in ("scripts", "scripts/studies", "tests")]
import house  # noqa: E402  (of scripts/)
import run  # noqa: E402
import trials  # noqa: E402


def sources(*patterns):
    paths = [
        path
        for pattern in patterns
        for path in glob.glob(os.path.join(ROOT, pattern), recursive=True)
    ]
    return sorted(os.path.relpath(path, ROOT) for path in paths if "__pycache__" not in path)


def lines(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read().splitlines()


class House(unittest.TestCase):
    def code(self):
        return sources(
            *(
                f"{folder}/**/*.{ending}"
                for folder in ("patterns", "kernels", "harness")
                for ending in ("c", "h", "S", "cu", "def")
            )
        )

    def test_license_comes_first(self):
        for name in self.code() + sources(
            "tests/**/*.[ch]",
            "tests/**/*.py",
            "scripts/*",
            "scripts/cbank/**/*.*",
            "Makefile",
            ".ci/run",
            ".clang-*",
            "tests/.clang-*",
            ".editorconfig",
            ".shellcheckrc",
            "CITATION.cff",
            ".github/**/*.yml",
        ):
            if os.path.isfile(os.path.join(ROOT, name)):
                with self.subTest(name):
                    first = [line for line in lines(name)[:2] if not line.startswith("#!")][0]
                    self.assertIn("SPDX-License-Identifier: MIT", first)

    def test_citation_names_the_version(self):
        self.assertIn(f"version: {lines('VERSION')[0]}", lines("CITATION.cff"))

    def test_results_name_no_folder_of_a_machine(self):
        for name in sources("results/**/*.json"):
            if not name.startswith("results/local"):
                with self.subTest(name):
                    self.assertEqual(
                        [
                            line[:200]
                            for line in lines(name)
                            if re.search(r'[" =](/home|/root|/work|/Users|/opt|/mnt)/', line)
                        ],
                        [],
                    )

    def test_a_trial_names_none(self):
        command = "/a/process_trial.py --program /b/cbank --json c/trial.json --run 10"
        self.assertEqual(
            trials.without_folders(command),
            "process_trial.py --program cbank --json c/trial.json --run 10",
        )

    def test_lines_are_clean(self):
        for name in self.code() + sources(
            "tests/**/*.[ch]",
            "tests/**/*.py",
            "scripts/*.py",
            "scripts/cbank/**/*.*",
            "scripts/*.sh",
        ):
            for number, line in enumerate(lines(name), 1):
                with self.subTest(f"{name}:{number}"):
                    self.assertNotRegex(line, r"^(<{7}|>{7}) ")  # of a merge
                    self.assertEqual(line, line.rstrip())
                    self.assertNotIn("\t", line)


def head(text):
    """The words of a file's first comment, behind the licence."""
    comment = re.match(r"/\*.*?\*/", text, re.DOTALL)
    words = re.sub(r"\n \*", "\n", comment[0])[2:-2] if comment else ""
    return words.replace("SPDX-License-Identifier: MIT", "").split()


class Heads(unittest.TestCase):
    """A .c file begins with what it holds, each with words of its own."""

    FEWEST = 5

    def test_every_file_has_one(self):
        names = sources("patterns/*.c", "kernels/*.c", "harness/**/*.c", "tests/*/*.c")
        heads = {}
        for name in names:
            words = head("\n".join(lines(name)))
            heads.setdefault(" ".join(words), []).append(name)
            with self.subTest(name):
                self.assertGreaterEqual(len(words), self.FEWEST)
        for words, alike in heads.items():
            if words:
                self.assertEqual(len(alike), 1, f"have one head: {alike}")

    def test_what_has_none(self):
        licence = "/* SPDX-License-Identifier: MIT"
        self.assertEqual(head(f"{licence} */\n/* Of the next function. */\nint a;\n"), [])
        self.assertEqual(head("int a;\n"), [])
        self.assertEqual(
            head(f"{licence}\n * Text of\n * files. */\nint a;"), "Text of files.".split()
        )


BEGINS_COMMENT = ("//", "/*")
NO_C = (".py", ".sh", ".mk", "Makefile")


class Tree:
    """What a page may name, from {name: text} of all files: files, folders, targets of make,
    options, and the words of the code. A name that stands in comments of C alone is gone."""

    CODE = ("c", "h", "S", "cu", "cuh", "def", "py", "sh", "mk")
    # Spans in backquotes that show a form, or what a command writes, and name nothing.
    SHOWN = ("area: imperative", "CLASS: N tried, M failed", "build/asan")
    # Parts of names that stand for any name.
    ANY = r"NAME|PATH|PERCENT|TARGET"

    def __init__(self, texts):
        self.files = set(texts)
        self.folders = {name[: k + 1] for name in texts for k, c in enumerate(name) if c == "/"}
        code = {
            name: self.code_of(name, text) for name, text in texts.items() if self.is_code(name)
        }
        self.words_of = {name: set(re.findall(r"#?\w+", text)) for name, text in code.items()}
        self.words = set().union(*self.words_of.values())
        self.options = set(re.findall(r'(?:"|--)([a-z][a-z-]+)\b', "\n".join(code.values())))
        self.targets = {
            target
            for name, text in code.items()
            if name.endswith(("Makefile", ".mk"))
            for targets in re.findall(r"(?m)^([a-z-]+(?: [a-z-]+)*):(?!=)", text)
            for target in targets.split()
        }

    @classmethod
    def is_code(cls, name):
        return name == "Makefile" or name.rpartition(".")[2] in cls.CODE

    @staticmethod
    def code_of(name, text):
        if name.endswith(NO_C):
            return text
        tokens = house.TOKEN.findall(text)
        return "".join(" " if token.startswith(BEGINS_COMMENT) else token for token in tokens)

    def has_path(self, path):
        """Whether a file or a folder has this name, or a name that ends in it."""
        form = re.sub(self.ANY, "*", path.removeprefix("build/").rstrip("/"))
        return any(
            fnmatch.fnmatchcase(name.rstrip("/"), ending)
            for name in self.files | self.folders
            for ending in (form, f"*/{form}", f"*/{form}.c", f"*/{form}.def")
        )

    def has_word(self, word):
        """Whether the code has this name, or one that begins with it if it ends in an underscore
        or in what stands for any name."""
        name = re.sub(self.ANY, "", word)
        if name != word or name.endswith("_"):
            return not name or any(known.startswith(name) for known in self.words)
        return name in self.words

    def has(self, word):
        """Whether a word of a span is an option, a path, or of names of the code."""
        if word.startswith("--"):
            return word[2:].partition("=")[0] in self.options
        if word in self.files or re.search(r"/|\.[a-z]+$", word):
            return self.has_path(word)
        return all(map(self.has_word, re.findall(r"#?[A-Za-z_]\w*", word)))

    def gone(self, text):
        """The spans of a page that name what is not there, or not in the file that it says."""
        text = re.sub(r"(?ms)^```.*?^```$", "", text)
        for span in re.findall(r"`([^`]+)`", text):
            words = span.split("&&")[0].split() if span not in self.SHOWN else []
            if words[:1] == ["make"]:
                if words[1] not in self.targets:
                    yield span
            elif not all(map(self.has, words)):
                yield span
        for name, file in re.findall(r"`(\w+)(?:\[\])?`\s+(?:of\s+|in\s+|\()`([\w./]+)`", text):
            if file in self.words_of and name not in self.words_of[file]:
                yield f"{name} in {file}"

    def gone_from_comments(self, name, text):
        """The words with an underscore in comments of C that are no names of the code or of files:
        they were renamed, but for architectures and functions of scipy."""
        for comment in house.TOKEN.findall(text):
            if name.endswith(NO_C) or not comment.startswith(BEGINS_COMMENT):
                continue
            for word in re.findall(r"\b[a-z]+_[a-z_0-9]+\b", comment):
                if re.fullmatch(r"(sm|compute)_\d+|trimmed_stde|trim_mean", word):
                    continue
                known = word in self.words or any(other.startswith(word) for other in self.words)
                if not known and not self.has_path(word):
                    yield f"{name}: {word}"

    def unnamed(self, tour):
        """The rooms that a tour leaves out: the folders of the top level, those of the harness and
        of the scripts, and the first ones of the tests."""
        named = set(re.findall(r"`([\w./]+/)`", tour))
        for folder in sorted(self.folders):
            parts = folder.split("/")[:-1]
            if parts[0].startswith(".") or (parts[0] == "tests" and len(parts) > 2):
                continue
            if parts[0] not in ("harness", "scripts", "tests") and len(parts) > 1:
                continue
            short = "/".join(parts[1:]) + "/" if parts[0] == "harness" else folder
            if folder != "tests/" and not named & {folder, short}:
                yield folder


class Contributing(unittest.TestCase):
    """CONTRIBUTING.md names what there is, and its tour every room."""

    def setUp(self):
        listed = ["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard"]
        done = subprocess.run(listed, capture_output=True, text=True, check=True)
        self.names = [
            name
            for name in done.stdout.splitlines()
            if os.path.isfile(os.path.join(ROOT, name)) and name != "tests/end_to_end/house.py"
        ]
        self.page = "\n".join(lines("CONTRIBUTING.md"))

    @unittest.skipUnless(os.path.exists(os.path.join(ROOT, ".git")), "no git repository")
    def test_every_name_and_every_room(self):
        texts = {name: "\n".join(lines(name)) if Tree.is_code(name) else "" for name in self.names}
        tree = Tree(texts)
        self.assertEqual(list(tree.gone(self.page)), [])
        self.assertEqual(list(tree.unnamed(self.tour(self.page))), [])
        for name in tree.words_of:
            self.assertEqual(list(tree.gone_from_comments(name, texts[name])), [])

    def tour(self, page):
        return page.partition("## The tour")[2].partition("\n## ")[0]

    def test_gone_names_and_unnamed_rooms(self):
        tree = Tree(
            {
                "harness/cell/cell.c": "/* old_name */ int cell_length; // also_old\n",
                "harness/cell/deep/a.h": "",
                "scripts/a.py": "parser.add_argument('--lower')\n",
                "Makefile": "all lint: x\nOLD := y\n",
                "tests/unit/parts/a.c": "",
                "docs/pages/a.md": "",
            }
        )
        named = (
            "`cell_length` `cell_` `cell_NAME` `make lint` `scripts/a.py --lower` `cell.c`"
            " `harness/` `unit/` `tests/NAME/parts/a.c` `cell_length` of `harness/cell/cell.c`"
            "\n```\n`x`\n```\n"
        )
        self.assertEqual(list(tree.gone(named)), [])
        for gone in (
            "old_name",
            "also_old",
            "make OLD",
            "make test",
            "scripts/a.py --higher",
            "harness/cells/",
            "b.c",
            "door_NAME",
        ):
            self.assertEqual(list(tree.gone(f"{named} `{gone}`")), [gone])
        self.assertEqual(
            list(tree.gone("`lower` of `harness/cell/cell.c`")), ["lower in harness/cell/cell.c"]
        )
        comment = "/* cell_length of cell_, a.c; old_name, sm_90 */\nint not_said; // is_gone\n"
        self.assertEqual(
            list(tree.gone_from_comments("b.c", comment)), ["b.c: old_name", "b.c: is_gone"]
        )
        rooms = ["docs/", "harness/", "cell/", "cell/deep/", "scripts/", "tests/unit/"]
        for room in rooms:
            tour = " ".join(f"`{name}`" for name in rooms if name != room)
            self.assertEqual(len(list(tree.unnamed(tour))), 1, room)
        self.assertEqual(list(tree.unnamed(" ".join(f"`{name}`" for name in rooms))), [])


class PlantedFaults(unittest.TestCase):
    @unittest.skipUnless(os.path.exists(os.path.join(ROOT, ".git")), "no git repository")
    def test_each_fits_the_tree(self):
        for patch in sources("tests/faults/planted/*.patch"):
            with self.subTest(patch):
                command = ["git", "-C", ROOT, "apply", "--check", patch]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)


class Shape(unittest.TestCase):
    """scripts/house.py finds what it is for, in small planted trees."""

    def setUp(self):
        self.root = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.root)
        self.git("init", "-q")

    def git(self, *arguments):
        who = ("-c", "user.name=n", "-c", "user.email=e@example.org")
        subprocess.run(["git", "-C", self.root, *who, *arguments], check=True, capture_output=True)

    def write(self, name, text):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def test_wide_lines(self):
        wide = "x" * 101 + "\n"
        found = ("a.c", "a.h", "a.cu", "a.def", "scripts/a.py", "scripts/a.sh", "Makefile", "b.mk")
        exempt = ("a.md", "results/a.py", "tests/golden/a.c", "tests/corpus/a.h", "a.json")
        for name in found + exempt:
            self.write(name, f"{wide[1:]}{wide}")
        places = list(house.wide(self.root, house.sources(self.root)))
        self.assertEqual(
            sorted(place.split(": ")[0] for place in places),
            sorted(f"{name}:2" for name in found),
        )

    def test_names_that_say_nothing(self):
        self.write(
            "a.c", '/* of */ int a; // at\nchar b[] = "one \\" is", c = \'"\';\nint off, other_a;\n'
        )
        self.write("b.c", "int a;\nint f(int of) { return of; }\n")
        self.write("c.h", "struct a { int was; };\nint b = a->at + a.is;\n")
        self.write("d.py", "of = 1\n")
        places = house.empty_names(self.root, house.sources(self.root))
        self.assertEqual(
            [place.split(" says")[0] for place in places],
            ["b.c:2: 'of'", "b.c:2: 'of'", "c.h:1: 'was'"],
        )

    @unittest.skipUnless(shutil.which("ctags"), "no ctags (scripts/setup.sh lint)")
    def test_long_functions(self):
        def body(count, text):
            return f"{text}\n" * count

        for name, opening, line, closing in (
            ("a.c", "int {}(void)\n{{\n", "    a++;", "}\n"),
            ("a.cu", "__global__ void {}(int *a)\n{{\n", "    a++;", "}\n"),
            ("a.h", "static inline int {}(void)\n{{\n", "    a++;", "}\n"),
            ("a.py", "def {}():\n", "    a = 1", ""),
            ("a.sh", "{}() {{\n", "    a=1", "}\n"),
        ):
            frame = opening.count("\n") + closing.count("\n")
            text = "".join(
                opening.format(function) + body(lines - frame, line) + closing + "\n\n"
                for function, lines in (("small", 60), ("large", 61))
            )
            self.write(name, text)
            with self.subTest(name):
                self.assertEqual(
                    house.too_long(self.root, {name: house.sources(self.root)[name]}),
                    {f"{name} large": 61},
                )

    @unittest.skipUnless(shutil.which("ctags"), "no ctags (scripts/setup.sh lint)")
    def test_long_files(self):
        for name in ("a.c", "tests/a.c", "a.def"):
            self.write(name, "int a;\n" * 601)
        self.write("b.c", "int a;\n" * 600)
        self.assertEqual(house.too_long(self.root, house.sources(self.root)), {"a.c": 601})

    def test_the_list_may_only_shrink(self):
        longer = {"a.c f": 70, "b.c": 700}
        self.assertEqual(list(house.judged(longer, longer)), [])
        for now, words in (
            ({**longer, "a.c g": 61}, "a.c g: 61 lines; the limit is 60"),
            ({**longer, "c.c": 601}, "c.c: 601 lines; the limit is 600"),
            ({**longer, "a.c f": 71}, "a.c f: 71 lines; scripts/house.txt allows 70"),
            ({**longer, "a.c f": 69}, "a.c f: shorter than scripts/house.txt says"),
            ({"b.c": 700}, "a.c f: shorter than scripts/house.txt says"),
        ):
            (fault,) = house.judged(now, longer)
            self.assertIn(words, fault)
        os.makedirs(f"{self.root}/scripts")
        house.write_list(self.root, longer)
        self.assertEqual(house.listed(self.root), longer)
        for number in (1, 2):
            self.git("add", ".")
            self.git("commit", "-q", "--allow-empty", "-m", str(number))
        self.assertEqual(list(house.grown(self.root, longer)), [])
        self.assertEqual(list(house.grown(self.root, {"b.c": 650})), [])
        self.assertEqual(len(list(house.grown(self.root, {**longer, "a.c g": 61}))), 2)
        self.assertEqual(len(list(house.grown(self.root, {**longer, "b.c": 701}))), 1)


class Runner(unittest.TestCase):
    """The part of tests/run.py that chooses the commands to repeat."""

    def part(self, script, times):
        """A part whose command runs `script` and, if it got that far, is good from its run
        number `times` on."""
        with tempfile.TemporaryDirectory() as folder:
            self.addCleanup(setattr, run, "LOGS", run.LOGS)
            run.LOGS = folder
            count = os.path.join(folder, "count")
            part = run.Part(
                "part",
                [
                    "sh",
                    "-c",
                    f"echo x >> {count}; [ $(wc -l < {count}) -ge {times} ] || {{ {script}; }}",
                ],
            )
            part.run(set())
            return part.failed, len(lines(count))

    def test_runs_again_where_the_leak_sanitizer_broke(self):
        for said in (
            "==1==LeakSanitizer has encountered a fatal error.",
            "Tracer caught signal 11: addr=0x148",
        ):
            with self.subTest(said):
                self.assertEqual(self.part(f"echo '{said}'; exit 1", 3), (0, 3))
                self.assertEqual(self.part(f"echo '{said}'; exit 1", 9), (1, run.RUNS_MAX))

    def test_other_failures_are_final(self):
        self.assertEqual(
            self.part("echo 'ERROR: LeakSanitizer: detected memory leaks'; exit 23", 2), (1, 1)
        )


if __name__ == "__main__":
    unittest.main()
