# SPDX-License-Identifier: MIT
"""Adds to pyproject.toml the version, and to the package the schemas of documents and the licence,
which are files outside of this folder."""

import pathlib
import shutil

import setuptools
from setuptools.command.build_py import build_py

ROOT = pathlib.Path(__file__).resolve().parent.parent


class WithOthers(build_py):
    def run(self):
        package = pathlib.Path(self.build_lib, "cbank")
        # setuptools keeps what an earlier build left there: modules that are no more
        shutil.rmtree(package, ignore_errors=True)
        super().run()
        shutil.copy(ROOT / "LICENSE", package)
        folder = package / "schemas"
        folder.mkdir(parents=True, exist_ok=True)
        for path in sorted(ROOT.glob("results/**/*schema.json")):
            shutil.copy(path, folder)


setuptools.setup(
    version=(ROOT / "VERSION").read_text("utf-8").strip(), cmdclass={"build_py": WithOthers}
)
