# SPDX-License-Identifier: MIT
"""Adds to pyproject.toml the version and the schemas of documents, which are files outside of
this folder."""

import pathlib
import shutil

import setuptools
from setuptools.command.build_py import build_py

ROOT = pathlib.Path(__file__).resolve().parent.parent


class WithSchemas(build_py):
    def run(self):
        super().run()
        folder = pathlib.Path(self.build_lib, "cbank/schemas")
        folder.mkdir(parents=True, exist_ok=True)
        for path in sorted(ROOT.glob("results/**/*schema.json")):
            shutil.copy(path, folder)


setuptools.setup(
    version=(ROOT / "VERSION").read_text("utf-8").strip(), cmdclass={"build_py": WithSchemas}
)
