# SPDX-License-Identifier: MIT
"""What pyproject.toml cannot say: the version stands in a file outside of this folder."""

import pathlib

import setuptools

setuptools.setup(version=(pathlib.Path(__file__).resolve().parent.parent / "VERSION").read_text("utf-8").strip())
