# SPDX-License-Identifier: MIT
"""The analysis of what cbank measured: documents as tables, figures, reports, stores.

`cbank.load(paths)` reads documents into one pandas DataFrame. Every module NAME with a
`main(words)` in the table of `cbank.__main__` is the command `cbank NAME`. The instrument, a C
program, measures and judges; this package asks it for every verdict, by `cbank.instrument`.
"""

import os
import sys

# python3 -m cbank: no module of the current folder is imported, as with python3 -I
if sys.argv[:1] == ["-m"]:
    try:
        sys.path[:] = [path for path in sys.path if path not in ("", os.getcwd())]
    except FileNotFoundError:  # that folder was removed
        sys.path[:] = filter(None, sys.path)

from .errors import TYPE_CHECKING, Failure, need_modules  # noqa: E402

if TYPE_CHECKING:
    import pandas

__all__ = ["Failure", "load"]


def load(paths: "str | os.PathLike | list[str | os.PathLike]") -> "pandas.DataFrame":
    """The rows of documents, as one pandas DataFrame; see `cbank.frames`. Raises Failure, also
    where pandas is missing."""
    need_modules("cbank.load", ("pandas",))
    from . import frames  # pandas takes half a second: only who needs it pays

    return frames.load(paths)
