#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The schemas in results/ are what the program prints, and say what a document is: those of the
project and of its commands are valid, and broken ones are refused.

CBANK names the program (default build/cbank).
"""

import copy
import glob
import json
import os
import unittest

import jsonschema

from common import FULL, ROOT, Scratch, cbank as program, kept_folder, read_json

CHIP = "results/chips/h200"
KERNELS = "results/h200/kernels/suite.json"
NIGHTS = "results/h200/fleet/nights"
CODE = "tests/corpus/cubin/answer_sm_90.cubin"
# Of documents whose table of columns is the schema itself.
BY_HAND = {"table"}
GONE = object()  # in place of a value: the key is taken out

# By kind, what breaks a document: the keys that lead to a value, and what it becomes. Each kind has
# a key that is gone, a wrong type, a wrong word and a number beyond its limits.
BROKEN = {
    "result": (
        (("engine",), GONE),
        (("complete",), "yes"),
        (("cells", 0, "status"), "fine"),
        (("cells", 0, "block_size"), -1),
        (("device", "clocks", "sm_max_mhz"), 0),
    ),
    "characterization": (
        (("experiments",), GONE),
        (("device", "name"), 7),
        (("experiments", 0, "status"), "fine"),
        (("device", "sm_count"), 0),
    ),
    "calibration": (
        (("processes",), GONE),
        (("cells",), {}),
        (("cells", 0, "process_deviation", "origin"), "guess"),
        (("cells", 0, "noise"), -1),
    ),
    "comparison": (
        (("counts",), GONE),
        (("cells", 0, "base_ns"), "1"),
        (("cells", 0, "verdict"), "fine"),
        (("options", "threshold"), -0.1),
        (("options", "confidence"), 0),
    ),
    "card": (
        (("evidence",), GONE),
        (("model", "sm_count"), GONE),
        (("model", "l2_bytes", "method"), GONE),
        (("name",), ""),
        (("cc_major",), "9"),
        (("cc_minor",), 10),
        (("model", "l2_bytes"), 5),
        (("model", "l2_bytes", "low"), -1),
        (("model", "l2_bytes", "from"), "hearsay"),
        (("model", "L2"), None),
        (("numbers",), {}),
    ),
    "normal": (
        (("model",), ""),
        (("kinds",), GONE),
        (("kinds", 0, "board", "constant_cache_groups"), [0]),
        (("kinds", 0, "boards"), 0),
        (("kinds", 0, "cells", 0, "time_ns"), 0),
        (("kinds", 0, "cells", 0, "sass_sha256"), GONE),
        (("kinds", 0, "cells", 0, "deviation"), "0.1"),
    ),
    "lookups": (
        (("card",), ""),
        (("lookups", 0, "addresses_per_load"), 0),
        (("lookups", 0, "file"), GONE),
        (("lookups", 0, "pattern"), 4),
        (("lookups", 0, "times", 0, "ns"), 0),
        (("lookups", 0, "times", 0, "path"), GONE),
    ),
    "manifest": (
        (("tool", "argv"), GONE),
        (("tool", "git_dirty"), None),
        (("credit",), ""),
        (("credit",), "x" * 128),
        (("brief",), 0),
        (("device", "sm_count"), 0),
        (("files", 0, "sha256"), "0"),
        (("files", 0, "name"), "../other.json"),
        (("files", 0, "bytes"), -1),
        (("files", 0, "note"), "a key that no file has"),
    ),
    "explanation": (
        (("threshold",), GONE),
        (("tool", "version"), GONE),
        (("results", 0, "cells", 0, "bound"), 1),
        (("results", 0, "cells", 0, "shares", "L2"), "all"),
        (("results", 0, "cells", 0, "model_ns", "low"), GONE),
        (("results", 0, "card"), None),
    ),
    "advice": (
        (("choice",), GONE),
        (("configuration", "indices"), GONE),
        (("ranking", 0, "standing"), "fine"),
        (("ranking", 0, "standing"), None),
        (("ranking", 0, "busy_ns"), "1 us"),
        (("excluded", 0, "reason"), ""),
        (("counts", "footprint_bytes"), True),
        (("code",), []),
    ),
    "code": (
        (("code", "kernels", 0, "kinds"), GONE),
        (("code", "kernels", 0, "loads", 0, "condition"), GONE),
        (("code", "kernels", 0, "loads", 0, "variation"), "some"),
        (("code", "kernels", 0, "loads", 0, "evidence"), []),
        (("code", "kernels", 0, "loads", 0, "evidence", 0), "LDC"),
        (("code", "kernels", 0, "tables", 0, "memory"), "disk"),
        (("code", "kernels", 0, "tables", 0, "verdict"), "fine"),
        (("code", "kernels", 0, "tables", 0, "addresses"), "1"),
    ),
    "against": (
        (("against", "changes"), GONE),
        (("against", "architecture"), "90"),
        (("against", "only_in_one"), None),
    ),
    "tables": (
        (("tables", 0, "l2_ns"), GONE),
        (("tables",), []),
        (("tables", 0, "reads"), None),
        (("tables", 0, "busy_ns", "elsewhere"), 1),
        (("shared", 48), GONE),
        (("bound",), None),
    ),
    "ranking": (
        (("threshold",), GONE),
        (("engine",), None),
        (("cells", 0, "rank"), 0),
        (("cells", 0, "verdict"), "fine"),
        (("cells", 0, "ratio", "value"), 0.9),
        (("cells", 0, "ratio", "ci_low"), GONE),
        (("cells", 0, "addresses", "count"), 1),
        (("cells", 0, "addresses", "slower_share"), 1.5),
        (("cells", 0, "time_ns"), None),
    ),
    "fleet": (
        (("limits", "false_findings"), GONE),
        (("findings", 0, "cells", 0, "p"), 1.5),
        (("findings", 0, "cells", 0, "values"), 0),
        (("findings", 0, "kind"), "odd"),
        (("findings", 0, "level"), "rack"),
        (("findings", 0, "since_utc"), "yesterday"),
        (("gpus", 0, "name"), None),
        (("gpus", 0, "verdict"), "fine"),
        (("nights",), 0),
        (("answered",), 1.5),
    ),
    "history": (
        (("forgotten",), GONE),
        (("rows", 0, "engine"), "other"),
        (("rows", 0, "uuid"), ""),
        (("rows", 0, "change"), "+1"),
        (("changes", 0, "p"), -0.1),
        (("levels",), GONE),
        (("changes", 0, "cell"), None),
    ),
    "check": (
        (("stores",), GONE),
        (("documents", 0, "kind"), "poem"),
        (("documents", 0, "measured"), None),
        (("documents", 0, "findings"), [{"what": "a", "remedy": "b"}] * 2),
        (("folders", 0, "bytes"), -1),
        (("folders", 0, "findings"), [{"what": "a", "remedy": "b"}]),
        (("stores", 0, "findings"), [1]),
    ),
}
# The kind of document that those of another name in BROKEN are.
KIND = {"code": "advice", "against": "advice"}
# Kinds that the program reads all of.
READ = ("card", "characterization", "calibration", "normal", "lookups", "manifest")
# What a schema says and no reader of the program needs.
NOT_READ = {
    ("card", ("evidence",)),
    ("card", ("model", "l2_bytes", "method")),
    ("card", ("model", "l2_bytes", "from")),
    ("card", ("model", "L2")),
    ("card", ("numbers",)),
    ("card", ("cc_major",)),  # integers may be texts
    ("manifest", ("credit",)),
    ("manifest", ("device", "sm_count")),
}


def cbank(*words, statuses=(0,)):
    done = program(*words)
    if done.returncode not in statuses:
        raise AssertionError(f"{words} exits {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def file_of(kind):
    return f"results/{kind}.schema.json".replace("result.schema", "schema")


def schema_of(kind):
    return read_json(os.path.join(ROOT, file_of(kind)))


def printed_kinds():
    """The kinds whose schema the program prints, as its message about another one lists them."""
    said = program("show", "--schema", "no such kind").stderr
    return [kind for kind in (*BROKEN, "table") if kind in said.replace(",", " ").split()]


def changed(document, path, value):
    """A copy of the document with another value there."""
    copied = copy.deepcopy(document)
    part = copied
    for key in path[:-1]:
        part = part[key]
    if value is GONE:
        del part[path[-1]]
    else:
        part[path[-1]] = value
    return copied


class Committed(unittest.TestCase):
    def test_schemas_are_what_the_program_prints(self):
        """Every schema of the project, but the one that is a table itself."""
        files = {os.path.relpath(path, ROOT) for path in glob.glob(f"{ROOT}/results/*schema.json")}
        kinds = printed_kinds()
        self.assertEqual(files, {file_of(kind) for kind in (*kinds, *BY_HAND)})
        for kind in kinds:
            with self.subTest(kind):
                with open(os.path.join(ROOT, file_of(kind)), encoding="utf-8") as file:
                    self.assertEqual(
                        file.read(),
                        cbank("show", "--schema", kind),
                        f"{file_of(kind)} is old; write it: make schemas",
                    )

    def test_schemas_are_schemas(self):
        for kind in printed_kinds():
            with self.subTest(kind):
                schema = schema_of(kind)
                jsonschema.Draft202012Validator.check_schema(schema)
                self.assertEqual(schema["$schema"], "https://json-schema.org/draft/2020-12/schema")
                self.assertTrue(self.described(schema))

    def described(self, schema):
        """Every object says what it needs, and every value what it is."""
        for key, part in schema.get("properties", {}).items():
            with self.subTest(key):
                self.assertTrue({"type", "enum", "const", "oneOf"} & set(part), part)
                if part.get("type") == "object" and "properties" in part:
                    self.assertLessEqual(set(part["required"]), set(part["properties"]))
            self.described(part)
        return bool(schema.get("properties"))

    def test_documents_of_the_project_are_valid(self):
        """In a folder, the smallest document of each kind; every one in `make test-long`."""
        validators = {
            f"cbank-{kind}": jsonschema.Draft202012Validator(schema_of(kind))
            for kind in printed_kinds()
        }
        checked = set()  # folders and kinds
        for path in sorted(
            glob.glob(f"{ROOT}/results/**/*.json", recursive=True)
            + glob.glob(f"{ROOT}/tests/golden/*.json"),
            key=os.path.getsize,
        ):
            document = read_json(path)
            said = document.get("schema") if isinstance(document, dict) else None
            name = said.get("name") if isinstance(said, dict) else None
            kind = (os.path.dirname(path), name)
            if name not in validators or (kind in checked and not FULL):
                continue
            checked.add(kind)
            with self.subTest(os.path.relpath(path, ROOT)):
                validators[name].validate(document)
        self.assertGreater(len(checked), 20)


class Broken(Scratch):
    """A document of each kind is valid, and is not with one of its values another."""

    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.made = kept_folder(cls)
        core, second = (f"{CHIP}/{name}.json" for name in ("core-matrix", "second-process"))
        store = cls.make_store()
        cls.documents = {
            "result": read_json(os.path.join(ROOT, core)),
            "normal": read_json(os.path.join(ROOT, "results/normals/h200.json")),
            "lookups": read_json(os.path.join(ROOT, "results/lookups/h200.json")),
            **{
                kind: read_json(os.path.join(ROOT, f"{CHIP}/{kind}.json"))
                for kind in ("characterization", "calibration", "card", "manifest")
            },
            **{
                kind: json.loads(cbank(*words, statuses=(0, 1)))
                for kind, words in {
                    "comparison": ("compare", core, second, "--json", "-"),
                    "explanation": ("explain", "--json", core),
                    "advice": ("advise", "--table-bytes", "128", "--json", "-"),
                    "code": ("advise", "--kernel", CODE, "--json", "-"),
                    "against": ("advise", "--kernel", CODE, "--against", CODE, "--json", "-"),
                    "tables": ("advise", "--tables", "a:4096:4:2,b:256:4:1", "--json", "-"),
                    "ranking": ("spaces", KERNELS, "--ranks", "-"),
                    "fleet": ("fleet", store, "--json", "-"),
                    "history": ("history", store, "--cell", "*/per_warp/*", "--json"),
                    "check": ("check", core, CHIP, store, "--json"),
                }.items()
            },
        }

    @classmethod
    def make_store(cls):
        """A store of nights in whose last one a GPU is slower: results of the project, with other
        dates and times."""
        folder, store = (os.path.join(cls.made, name) for name in ("nights", "store.db"))
        os.mkdir(folder)
        names = sorted(os.listdir(os.path.join(ROOT, NIGHTS)))
        first = read_json(os.path.join(ROOT, NIGHTS, names[0]))
        for night in range(1, 13):
            result = copy.deepcopy(first)
            for key in ("started_utc", "finished_utc"):
                result[key] = f"2026-01-{night:02}" + result[key][10:]
            for cell in result["cells"]:
                time = cell["time_ns"]
                factor = (1 + night % 3 / 1000) * (1.2 if night > 8 else 1)
                for key in ("value", "median", "ci_low", "ci_high", "min", "mad"):
                    time[key] *= factor
                time["samples"] = [sample * factor for sample in time["samples"]]
            with open(os.path.join(folder, f"{night:02}.json"), "w", encoding="utf-8") as file:
                json.dump(result, file)
        cbank("ingest", store, folder)
        return store

    def test_every_kind_is_here(self):
        kinds = {KIND.get(name, name) for name in BROKEN}
        self.assertEqual(kinds, set(printed_kinds()))

    def test_documents_are_valid(self):
        for name, document in self.documents.items():
            with self.subTest(name):
                kind = KIND.get(name, name)
                self.assertEqual(document["schema"]["name"], f"cbank-{kind}")
                jsonschema.Draft202012Validator(schema_of(kind)).validate(document)

    def test_broken_ones_are_refused(self):
        for name, breaks in BROKEN.items():
            kind = KIND.get(name, name)
            validator = jsonschema.Draft202012Validator(schema_of(kind))
            for path, value in (
                (("schema",), GONE),
                (("schema", "name"), "cbank-other"),
                (("schema", "version"), "2.0"),
                *breaks,
            ):
                with self.subTest(name, path=path, value="gone" if value is GONE else value):
                    self.assertFalse(validator.is_valid(changed(self.documents[name], path, value)))

    def test_unknown_keys_are_passed_over(self):
        """A reader of this version takes a document of a later minor one."""
        for name, document in self.documents.items():
            with self.subTest(name):
                later = changed(document, ("fresh",), {"of": "a later version"})
                later["schema"]["version"] = "1.99"
                validator = jsonschema.Draft202012Validator(schema_of(KIND.get(name, name)))
                validator.validate(later)

    def test_the_program_refuses_what_it_reads(self):
        for kind in READ:
            breaks = [(path, value) for path, value in BROKEN[kind] if (kind, path) not in NOT_READ]
            files = [
                self.write(f"{number}.json", json.dumps(changed(self.documents[kind], *broken)))
                for number, broken in enumerate(breaks)
            ]
            said = cbank("show", "--check", *files, statuses=(2,)).splitlines()
            for (path, value), line in zip(breaks, said, strict=True):
                with self.subTest(kind, path=path, value="gone" if value is GONE else value):
                    self.assertEqual(line.split(" ")[0], "refused")


if __name__ == "__main__":
    unittest.main()
