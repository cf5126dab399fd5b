# SPDX-License-Identifier: MIT
"""What changed over nights: of many GPUs (cbank fleet), and of series (cbank history).

Of a GPU whose last nights changed, the instrument says whether a cell is slower, and by how much:
the times before and since are the two sides of a question (instrument.judge). p is that of medians,
so that one bad night moves nothing. Whether a series of many nights has a change at all, whatever
its noise is and however its nights correlate, is asked in self_normalized.py.

One error rate holds for all that is listed, RATE: where nothing changed, so rarely does a night or
a history list anything. The p of all wholes that were looked at are corrected together (Benjamini
and Hochberg 1995). Of what is listed, such a share is false on average. p is first multiplied by
the number of places that were looked at. The series of a history share the rate (Bonferroni), and
so do the segments of a series.

Times are logarithms: 0.01 is 1 %. A cell's times are an array of shape [GPUs, rounds], NaN where
there is none.

The cells of a GPU or a group make two tests of the whole. The first holds whatever the cells have
in common (Hommel 1983): it finds a cell that changed much, and many that changed alike. The second
is for several cells. The common part of a process is taken off, and the rest is taken as
independent: so many small p are binomial. Cells of ten processes of an H200 and of an H100 have no
more in common than that (fleet_power.py). The whole is tested in either direction. Its cells are
named by the procedure of Benjamini and Hochberg, too.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from . import instrument
from .robust import centre, difference_scale, levels, median_of, partition
from .self_normalized import VALUES_LEAST, splits_of

RATE = 0.05  # of nights and of histories without a change that list one

# values at the end of a series that are held against those before
LENGTHS = (1, 2, 3, 5, 8, 13, 21, 30)
EFFICIENCY_OF_DIFFERENCE = 0.37  # of the median of differences: degrees of freedom of each
NAMED = 0.01  # of the cells that a finding names, the share that may be chance
QUARTER = 0.3186  # the deviation of normal values that a quarter is below
WHOLES_AT_ONCE = 100  # so that memory is bounded
RUNS_OF_A_LEVEL = 2


@dataclass
class Cell:
    """A cell of the GPUs of a model."""

    identity: str
    log_ns: np.ndarray
    known: list = field(default_factory=list)  # deviations between processes, by calibrations
    interval_ns: tuple = ()  # of 95 %, of one of its times; empty: not known

    def question(self, base: np.ndarray, new: np.ndarray, **more: object) -> dict:
        """A question about two sides of logarithms. Members of `more` that are None are left
        out."""
        return {
            "identity": self.identity,
            "base_ns": np.exp(base).tolist(),
            "new_ns": np.exp(new).tolist(),
            "known": self.known,
            "interval_ns": self.interval_ns,
            **{key: value for key, value in more.items() if value is not None},
        }


# ---- Many tests ----------------------------------------------------------------------------------


def corrected(p: np.ndarray, tests: int) -> np.ndarray:
    """p of some of so many tests, each as the least rate at which it is listed (Benjamini and
    Hochberg 1995)."""
    order = np.argsort(p, kind="stable")
    least = np.minimum.accumulate((p[order] * tests / np.arange(1, len(p) + 1))[::-1])[::-1]
    found = np.empty(len(p))
    found[order] = np.minimum(least, 1)
    return found


def whole_p(p: np.ndarray) -> np.ndarray:
    """p of each whole that nothing changed, by those of its cells [cells, wholes], whatever
    these have in common: Simes' least n p_(k) / k times 1 + 1/2 + ... + 1/n (Hommel 1983)."""
    rank = np.arange(1, len(p) + 1)[:, None]
    return np.minimum(
        1, (np.sort(p, axis=0) * len(p) / rank).min(axis=0, initial=1) * (1 / rank).sum()
    )


def several_p(p: np.ndarray) -> np.ndarray:
    """The same of independent cells, by two of them or more: the least probability that so many
    p are so small, times their number."""
    from scipy.special import betainc  # which takes long to import, and is for fleets alone

    rank = np.arange(2, len(p) + 1)[:, None]
    return np.minimum(
        1,
        betainc(rank, len(p) + 1 - rank, np.sort(p, axis=0)[1:]).min(axis=0, initial=1)
        * max(len(p) - 1, 1),
    )


def named_cells(p: np.ndarray) -> np.ndarray:
    """The cells of one whole that changed, by their p."""
    return np.flatnonzero(corrected(p, len(p)) <= NAMED)


def evidence(value: float, degrees: float, origin: str = "processes") -> dict:
    """A deviation as the instrument takes it."""
    return {"value": value, "degrees_of_freedom": degrees, "origin": origin}


# ---- A whole -------------------------------------------------------------------------------------


@dataclass
class Cut:
    """A whole, a GPU or a group, whose last rounds are held against those before."""

    whole: int
    base: np.ndarray  # [rounds]: which count on each side
    new: np.ndarray
    places: int  # that were looked at


@dataclass
class Sides:
    """What the instrument says of all cells of a whole: 0 and 1 where nothing can be said."""

    change: np.ndarray  # of the logarithm
    deviation: np.ndarray  # of a night
    p: np.ndarray


@dataclass
class Found:
    """A cell of a whole that changed."""

    cut: Cut
    sides: Sides
    p: float  # of the whole, corrected
    cell: int


def apart(rows: np.ndarray, side: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(median, sum of the distances from it) of each row's values on a side."""
    values = np.where(side, rows, np.nan)
    middle = median_of(values)
    return middle, np.nansum(np.abs(values - middle[:, None]), axis=1)


def find_cuts(
    values: np.ndarray, base: np.ndarray | None, threshold: float, noise: np.ndarray
) -> list[Cut]:
    """Where each whole may have changed: of the cuts at which a cell's medians differ by the
    threshold, the one where the distances from these, in multiples of its noise, are the least.
    values: [cells, wholes, rounds]; base: [wholes, rounds], or None; noise: [cells]."""
    known = ~np.isnan(values)
    there = known.any(axis=0)
    from_end = np.cumsum(there[:, ::-1], axis=1)[:, ::-1]
    counts = there if base is None else base & there
    after = there.shape[1] if base is None else counts[:, ::-1].argmax(axis=1)
    is_new = np.arange(there.shape[1]) >= there.shape[1] - np.reshape(after, (-1, 1))
    most = (there & is_new).sum(axis=1) - (base is None)
    most[~counts.any(axis=1)] = 0
    places = np.searchsorted(LENGTHS, most, side="right")
    with np.errstate(invalid="ignore"):
        cells, wholes = np.nonzero(
            np.fmax.reduce(values, axis=2) - np.fmin.reduce(values, axis=2) >= threshold
        )
    rows = values[cells, wholes]
    _, whole_cost = apart(rows, there[wholes])
    best, cuts = np.zeros(len(there)), {}
    for length in LENGTHS:
        chosen = np.flatnonzero(most[wholes] >= length)
        if not len(chosen):
            break
        owner = wholes[chosen]
        new = there[owner] & (from_end[owner] <= length)
        old = counts[owner] & (from_end[owner] > length)
        (after_middle, after_cost), (before_middle, before_cost) = (
            apart(rows[chosen], side) for side in (new, old)
        )
        if base is not None:
            _, whole_cost[chosen] = apart(rows[chosen], new | old)
        gain = (whole_cost[chosen] - after_cost - before_cost) / noise[cells[chosen]]
        for row in np.flatnonzero(np.abs(after_middle - before_middle) >= threshold):
            whole = int(owner[row])
            if gain[row] > best[whole]:
                best[whole] = gain[row]
                cuts[whole] = Cut(whole, old[row], new[row], int(places[whole]))
    return [cuts[whole] for whole in sorted(cuts)]


def process_part(sides: Sides) -> tuple[np.ndarray, np.ndarray]:
    """How far each cell changed beyond what its whole process did, and by how much the noise of
    that process is more than is known. The common part of a process is a multiple of the
    deviations or of the times: what most of its cells do. Where the quietest quarter of them
    differs by more than is known, the process is noisier."""
    change, deviation = sides.change, sides.deviation
    z = change / deviation
    by_noise, by_time = z - centre(z), (change - centre(change)) / deviation
    away = np.minimum(np.abs(by_noise), np.abs(by_time))
    noisier = max(1.0, np.sort(away)[(len(away) - 1) // 4] / QUARTER)
    alike = (np.sign(by_noise) == np.sign(change)) & (np.sign(by_time) == np.sign(change))
    return np.where(alike, np.sign(change) * away * deviation, 0) / noisier, noisier


def directed_p(sides: Sides, rest: Sides, direction: int) -> float:
    """p of a whole that nothing changed in a direction. rest: of what is beyond the process's."""
    own, beyond = (
        np.where(direction * sides.change > 0, each.p, 1)[:, None] for each in (sides, rest)
    )
    return float(min(whole_p(own)[0], several_p(beyond)[0]))


# ---- Wholes --------------------------------------------------------------------------------------


@dataclass
class Wholes:
    """The cells of GPUs or groups, which are judged as wholes."""

    cells: list[Cell]
    seen: list[dict | None]  # what all GPUs show of the noise of each
    nights: np.ndarray  # of each round
    tests: int  # of the whole verdict
    device: str  # the model, whose noise the instrument may know
    rate: float = RATE

    def __post_init__(self):
        self.typical = [float(np.nanmedian(cell.log_ns)) for cell in self.cells]
        self.noise = np.array(
            [seen["value"] if seen and seen["value"] > 0 else 1.0 for seen in self.seen]
        )

    def question(
        self, values: np.ndarray, cut: Cut, threshold: float, moved: np.ndarray | None = None
    ) -> tuple[dict, list[int]]:
        """A question about a whole, and the cells that it is about. moved: what is added to the
        values since the cut, of each cell."""
        cells, numbers = [], []
        several = len(np.unique(self.nights)) < len(self.nights)
        for number, cell in enumerate(self.cells):
            row = values[number, cut.whole] + self.typical[number]
            base, new = (side & ~np.isnan(row) for side in (cut.base, cut.new))
            if base.any() and new.any():
                numbers.append(number)
                cells.append(
                    cell.question(
                        row[base],
                        row[new] + (0 if moved is None else moved[number]),
                        seen=self.seen[number],
                        base_nights=self.nights[base].tolist() if several else None,
                        new_nights=self.nights[new].tolist() if several else None,
                    )
                )
        question = {"nights": True, "threshold": threshold, "device": self.device, "cells": cells}
        return question, numbers

    def ask(
        self, values: np.ndarray, cuts: list[Cut], threshold: float, moved: list | None = None
    ) -> list[Sides]:
        """What the instrument says of each."""
        asked = [
            self.question(values, cut, threshold, moved and moved[i]) for i, cut in enumerate(cuts)
        ]
        found = []
        for answers, (_, numbers) in zip(
            instrument.judge([question for question, _ in asked]), asked
        ):
            sides = Sides(*(np.full(len(self.cells), value) for value in (0.0, 1.0, 1.0)))
            for number, answer in zip(numbers, answers):
                sides.change[number] = math.log(answer["ratio"]["value"])
                sides.deviation[number] = answer["process_deviation"]["value"]
                sides.p[number] = answer["ratio"]["p"]
            found.append(sides)
        return found

    def ask_parts(
        self, values: np.ndarray, cuts: list[Cut], threshold: float
    ) -> list[tuple[Sides, Sides]]:
        """(what the instrument says of each, and of what is beyond its process's part). Where a
        process is noisier than is known, its changes are held against that."""
        whole = self.ask(values, cuts, threshold)
        parts = [process_part(sides) for sides in whole]
        moved = [left - sides.change for (left, _), sides in zip(parts, whole)]
        beyond = self.ask(values, cuts, threshold, moved)
        noisy = [i for i, (_, noisier) in enumerate(parts) if noisier > 1]
        moved = [whole[i].change / parts[i][1] - whole[i].change for i in noisy]
        for i, sides in zip(noisy, self.ask(values, [cuts[i] for i in noisy], threshold, moved)):
            whole[i].p = sides.p
        return list(zip(whole, beyond))

    def changes(
        self, values: np.ndarray, base: np.ndarray | None, threshold: float
    ) -> Iterator[Found]:
        """Changes against the past. values: [cells, wholes, rounds]; base: [wholes, rounds]."""
        cuts = find_cuts(values, base, threshold, self.noise)
        parts = []
        for first in range(0, len(cuts), WHOLES_AT_ONCE):
            parts += self.ask_parts(values, cuts[first : first + WHOLES_AT_ONCE], threshold)
        tested = list(itertools.product(range(len(cuts)), (1, -1)))
        p = [min(1, cuts[i].places * directed_p(*parts[i], direction)) for i, direction in tested]
        for (i, direction), p_of_whole in zip(tested, corrected(np.array(p), self.tests)):
            sides, _ = parts[i]
            if p_of_whole <= self.rate:
                for cell in named_cells(np.where(direction * sides.change > 0, sides.p, 1)):
                    if abs(sides.change[cell]) >= threshold:
                        yield Found(cuts[i], sides, float(p_of_whole), int(cell))


# ---- Series --------------------------------------------------------------------------------------


@dataclass
class Series:
    """The times of a cell on a GPU, in their order."""

    identity: str
    gpu: int
    device: str  # the model of that GPU
    log_ns: np.ndarray
    known: list
    modelled: bool  # predictions, which do not vary


@dataclass
class Step:
    """Where the level of a series changed, or may have."""

    series: int
    first: int  # value of the new level
    before: int  # values of either level
    after: int
    change: float  # of the logarithm
    half: float  # of its interval of 95 %; NaN: not known
    p: float  # corrected for all series; NaN: too few values to tell it from chance


def known_noise(series: list[Series], values: np.ndarray, counts: np.ndarray) -> list[dict]:
    """The deviation of a value of each by what the instrument knows of the noise and what
    neighbours show. Series of a GPU are asked about together: what is known before of their noise
    is scaled to what they show."""
    together = {}
    for number, (of, scale) in enumerate(zip(series, difference_scale(values, counts))):
        middle = np.array([np.median(of.log_ns)])
        seen = evidence(float(scale), EFFICIENCY_OF_DIFFERENCE * (counts[number] - 1))
        cell = Cell(of.identity, of.log_ns, of.known).question(middle, middle, seen=seen)
        together.setdefault((of.gpu, of.device, of.modelled), []).append((number, cell))
    found = [evidence(0.0, 1e5)] * len(series)
    questions = [
        {
            "nights": True,
            "modelled": modelled,
            "device": device,
            "cells": [cell for _, cell in asked],
        }
        for (_, device, modelled), asked in together.items()
    ]
    for asked, said in zip(together.values(), instrument.judge(questions)):
        for (number, _), answer in zip(asked, said):
            found[number] = answer["process_deviation"] or found[number]
    return found


def find_levels(series: list[Series]) -> list[Step]:
    """The levels of series by a partition: of predictions, which are certain, and of few values,
    which tell nothing."""
    if not series:
        return []
    counts = np.array([len(of.log_ns) for of in series])
    values = np.zeros((len(series), counts.max()))
    for row, of in zip(values, series):
        row[: len(of.log_ns)] = of.log_ns
    known = known_noise(series, values, counts)
    deviation, degrees = (
        np.array([noise[key] for noise in known]) for key in ("value", "degrees_of_freedom")
    )
    last = partition(values, counts, np.full(len(series), RUNS_OF_A_LEVEL), deviation, degrees)
    found = []
    for number, of_levels in enumerate(map(levels, values, last, counts)):
        half, p = (0.0, 0.0) if series[number].modelled else (math.nan, math.nan)
        for (_, before, old), (first, after, new) in zip(of_levels, of_levels[1:]):
            found.append(Step(number, first, before, after, new - old, half, p))
    return found


def find_changes_of_means(series: list[np.ndarray], threshold: float) -> list[Step]:
    """The steps of series of enough values, at RATE for all together."""
    of_length = {}
    for number, values in enumerate(series):
        of_length.setdefault(len(values), []).append(number)
    found = []
    for length, numbers in of_length.items():
        rows = np.array([series[number] for number in numbers])
        splits = {}
        for split in splits_of(rows, RATE / len(series), threshold):
            splits.setdefault(split.row, []).append(split)
        for row, of_row in splits.items():
            ends = [0, *(split.at for split in of_row), length]
            for split, start, end in zip(of_row, ends, ends[2:]):
                p = min(1, split.p * len(series))
                before, after = split.at - start, end - split.at
                numbers_of = (numbers[row], split.at, before, after)
                found.append(Step(*numbers_of, split.change, split.half, p))
    return found


def find_steps(series: list[Series], threshold: float) -> list[Step]:
    """The steps of all series. threshold: relative. Series of fewer than VALUES_LEAST values show
    their levels alone, without p."""
    tested, rest = [], []
    for number, of in enumerate(series):
        few = of.modelled or len(of.log_ns) < VALUES_LEAST
        (rest if few else tested).append(number)
    found = []
    for numbers, steps in (
        (tested, find_changes_of_means([series[i].log_ns for i in tested], threshold)),
        (rest, find_levels([series[i] for i in rest])),
    ):
        for step in steps:
            step.series = numbers[step.series]
            found.append(step)
    found = [step for step in found if abs(math.expm1(step.change)) >= threshold]
    return sorted(found, key=lambda step: (step.series, step.first))
