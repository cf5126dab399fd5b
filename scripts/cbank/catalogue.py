# SPDX-License-Identifier: MIT
"""Cells of several results by their identity, for the formats of other tools."""

from __future__ import annotations

from .documents import number
from .text import short_uuid


class Catalogue:
    """Cells of several results, each once, in the order in which they come. With several GPUs,
    each has its own, named after it."""

    def __init__(self, results: list[dict]):
        self.results = results
        self.gpus = gpu_names(results)
        self.cells = {}  # {identity: [(result, cell)]}
        for result in results:
            for cell in result["cells"]:
                self.cells.setdefault(self.gpu(result) + cell["identity"], []).append(
                    (result, cell)
                )

    def gpu(self, result: dict) -> str:
        """The name of its GPU with a / behind it; "" where there is one GPU."""
        return self.gpus[gpu_of(result)] + "/" if len(self.gpus) > 1 else ""


def gpu_of(result: dict) -> tuple[str, str | None]:
    return result["device"]["name"], result["device"]["uuid"]


def gpu_names(results: list[dict]) -> dict[tuple, str]:
    """{GPU: name}; where several have one name, with the UUID up to its first group."""
    gpus = dict.fromkeys(map(gpu_of, results))
    return {
        (name, uuid): (
            name if sum(its[0] == name for its in gpus) == 1 else f"{name} {short_uuid(uuid or '')}"
        )
        for name, uuid in gpus
    }


def time_of(cell: dict) -> float | None:
    return number((cell["time_ns"] or {}).get("value"))


def samples_of(cell: dict) -> list[float]:
    """The samples of a cell, ns; of a computed time that time alone."""
    samples = [number(sample) for sample in (cell["time_ns"] or {}).get("samples") or []]
    return samples or [time for time in [time_of(cell)] if time is not None]
