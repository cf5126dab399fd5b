# SPDX-License-Identifier: MIT
"""Which GPUs of a model changed, and which differ from the others: statistics of times, without
files.

Times are logarithms: 0.01 is 1 %. A cell's times are an array of shape [GPUs, rounds], NaN where
there is none.

A GPU is held against its own past. All GPUs of a driver change together with the room or the
driver. Their median is taken off first, as in Tukey's median polish. Where it reaches the
threshold, it is a finding of theirs. Groups are judged from the coarsest to the single GPU. A
change belongs to the coarsest group where 85 % of the members changed alike.

A GPU is also held against the median of the others of its model, by Student's t. Boards differ in
each cell by Qn of the others, pooled with what cbank compare takes by default. The deviation of its
last three values is allowed for.

The noise of a value is what cbank compare holds it against (noise.py): of processes and occasions,
scaled to all cells, and pooled with what is seen. Here that is the differences from night to night
of all GPUs. A noisier GPU has its own.

Each cell of a GPU or a group has a p (steps.py). Those of all its cells make two tests of the
whole. The first holds whatever the cells have in common (Hommel 1983): it finds a cell that changed
much, and many that changed alike. The second is for several cells. The common part of a process is
taken off, and the rest is taken as independent: so many small p are binomial. Cells of ten
processes of an H200 and of an H100 have no more in common than that (fleet_power.py). The whole is
tested in either direction. Its cells are named by the procedure of Benjamini and Hochberg (1995).

Each of many wholes has the share false_findings / tests (Bonferroni). This bounds the number of
false findings of a verdict, whatever depends on what.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import betainc

from .change_points import medians
from .noise import BOARD, EFFICIENCY_OF_DIFFERENCE, Deviation, conclude, median_variance
from .steps import Series, date_step, differences, series_of, step_p, student_p, tail

LEVELS = ("model", "driver", "vbios", "node", "gpu")  # from the coarsest on
GPU = LEVELS.index("gpu")
PAST, PEERS = 0, 1
AGAINST = ("past", "peers")

WANDER_LEAST = 5  # GPUs whose median is what they do together
DIFFERENCES_LEAST = 3  # whose median one step does not move
PEERS_MANY, PEER_VALUES = 9, 3  # GPUs of a model; values that say where a GPU is
PAIRS_MOST = 100  # values at most whose distances are all looked at
COVERED_LEAST = 0.85  # of a group, whose change is then the group's
GROUP_SHARE = 0.5  # of the threshold, for groups
NAMED = 0.01  # of the cells that a finding names, the share that may be chance
QUARTER = 0.3186  # the deviation of normal values that a quarter is below
WHOLES_AT_ONCE = 100  # so that memory is bounded
EFFICIENCY_OF_QN = 0.82


@dataclass
class Limits:
    threshold: float = 0.01  # of a GPU against its past; of a group half of it
    peer_threshold: float = 0.03  # of a GPU against the others
    false_findings: float = 0.01  # that a verdict may have on average


@dataclass
class Change:
    """A change of one cell."""

    level: int  # index of LEVELS
    against: int
    group: int  # of the level; of a GPU its number
    cell: int
    change: float  # of the logarithm
    deviation: float  # of what it is held against
    p: float  # of its GPU or group, for all tests together
    last: int  # values that it was seen in
    since: int = 0  # round, of a change against the past
    drift: bool = False
    members: int = 1  # GPUs of the group
    covered: int = 1  # those that changed alike


def qn(ordered: np.ndarray) -> float:
    """The scale Qn of Rousseeuw and Croux (1993) of two ascending values or more: the k-th
    smallest distance of two, times a factor. Half of the values can be anything."""
    small = {2: 0.399, 3: 0.994, 4: 0.512, 5: 0.844, 6: 0.611, 7: 0.857, 8: 0.669, 9: 0.872}
    n = len(ordered)
    factor, k = (
        2.2219 * small.get(n, n / (n + (1.4 if n % 2 else 3.8))),
        (n // 2 + 1) * (n // 2) // 2,
    )
    index = np.arange(n)
    if n <= PAIRS_MOST:
        return factor * float(
            np.partition((ordered[:, None] - ordered)[index[:, None] > index], k - 1)[k - 1]
        )

    def pairs_within(distance: float) -> int:
        return int((index - np.searchsorted(ordered, ordered - distance)).sum())

    low, high = 0.0, float(ordered[-1] - ordered[0])
    if pairs_within(0) >= k:
        return 0.0
    for _ in range(60):
        middle = low + (high - low) / 2
        low, high = (low, middle) if pairs_within(middle) >= k else (middle, high)
    return factor * high


# ---- Cells together ------------------------------------------------------------------------------


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
    rank = np.arange(2, len(p) + 1)[:, None]
    return np.minimum(
        1,
        betainc(rank, len(p) + 1 - rank, np.sort(p, axis=0)[1:]).min(axis=0, initial=1)
        * max(len(p) - 1, 1),
    )


def named_cells(p: np.ndarray) -> np.ndarray:
    """The cells of one whole that changed, by their p (Benjamini and Hochberg 1995)."""
    enough = np.flatnonzero(np.sort(p) <= NAMED * np.arange(1, len(p) + 1) / len(p))
    return np.flatnonzero(p <= np.sort(p)[enough[-1]]) if len(enough) else enough


def centre(values: np.ndarray) -> float:
    """The median of the shortest interval that holds half of the values, where most of what did
    not change lies."""
    ordered = np.sort(values)
    half = (len(ordered) + 1) // 2
    first = (ordered[half - 1 :] - ordered[: len(ordered) - half + 1]).argmin()
    return float(np.median(ordered[first : first + half]))


@dataclass
class Steps:
    """The steps of all cells of wholes [cells, wholes]: of each the one that is least likely
    chance, 0 where none reaches the threshold."""

    change: np.ndarray
    last: np.ndarray
    p: np.ndarray
    beyond: np.ndarray  # p in that direction of what is beyond the common part


def steps_of(series: Series, cells: int, threshold: float) -> Steps:
    """series: of all cells of each whole. A process has a common part, as a multiple of the
    deviations or of the times: what most of its cells do. Where the quietest quarter of them
    differs by more than is known, the process is noisier."""
    rows = len(series.counts)
    found = Steps(np.zeros(rows), np.zeros(rows, dtype=int), np.ones(rows), np.ones((2, rows)))
    wholes = rows // cells
    for of in differences(series):
        noisier, left = np.ones(len(of.rows)), np.zeros(len(of.rows))
        good = np.flatnonzero((np.abs(of.size) >= threshold) & (of.z != 0))
        for each in np.unique(of.rows[good] % wholes):
            its = np.flatnonzero(of.rows % wholes == each)
            z, size = (
                of.z[its] - centre(of.z[its]),
                (of.size[its] - centre(of.size[its])) / series.deviation[of.rows[its]],
            )
            away = np.minimum(np.abs(z), np.abs(size))
            noisier[its] = max(1, np.sort(away)[(len(its) - 1) // 4] / QUARTER)
            left[its] = np.where(
                (np.sign(z) == np.sign(of.size[its])) & (np.sign(size) == np.sign(z)), away, 0
            )
        p, beyond = (
            np.minimum(
                1,
                step_p(of_z[good] / noisier[good], of.last[good], of.base[good]) * of.lengths[good],
            )
            for of_z in (np.abs(of.z), left)
        )
        at, down = of.rows[good], (of.size[good] < 0).astype(int)
        found.beyond[down, at] = np.minimum(found.beyond[down, at], beyond)
        better = p < found.p[at]
        found.change[at[better]], found.p[at[better]], found.last[at[better]] = (
            of.size[good[better]],
            p[better],
            of.length,
        )
    return Steps(
        *(
            each.reshape(*each.shape[:-1], cells, -1)
            for each in (found.change, found.last, found.p, found.beyond)
        )
    )


# ---- A model -------------------------------------------------------------------------------------


class Judge:
    """The work on the GPUs of a model."""

    def __init__(
        self,
        cells: list[tuple[np.ndarray, Deviation, bool]],
        gpus: int,
        groups: dict[str, np.ndarray],
        limits: Limits,
        base: np.ndarray | None,
        firsts: np.ndarray | None,
    ):
        """cells: (log_ns [GPUs, rounds], what is known of the deviation between processes,
        whether caches are flushed) of each; base: of that shape, or None; groups: {level: number
        of the group of each GPU} of driver, VBIOS and node; firsts: the first round of each
        night, since runs of one night may be more alike; None: each is of one round."""
        # numbers of cells
        self.there = [cell for cell, (log_ns, *_) in enumerate(cells) if not np.isnan(log_ns).all()]
        self.log_ns = [cells[cell][0] for cell in self.there]
        self.base, self.groups, self.limits, self.gpus = base, groups, limits, gpus
        rounds = np.arange(cells[0][0].shape[1])
        # of one night alone, all rounds say what they can
        self.firsts = rounds if firsts is None or len(firsts) == 1 else firsts
        self.nights = np.searchsorted(self.firsts, rounds, side="right")
        self.tests = (
            2 * (1 + gpus + sum(int(numbers.max()) + 1 for numbers in groups.values())) + gpus
        )
        self.found = []
        # not explained yet: [cells, GPUs, rounds]
        self.left = np.array([log_ns - self.level(log_ns)[:, None] for log_ns in self.log_ns])
        concluded = conclude(
            [
                (cells[cell][2], cells[cell][1], self.seen(left))
                for left, cell in zip(self.left, self.there)
            ]
        )
        self.deviation, self.flush = np.array([of.value for of in concluded]), [
            cells[cell][2] for cell in self.there
        ]

    def level(self, log_ns: np.ndarray) -> np.ndarray:
        """The median of each GPU: of its baseline, where it has one."""
        level = medians(log_ns, (~np.isnan(log_ns)).sum(axis=1))
        if self.base is None:
            return level
        of_base = np.where(self.base, log_ns, np.nan)
        based = (~np.isnan(of_base)).sum(axis=1)
        return np.where(based > 0, medians(of_base, based), level)

    def seen(self, left: np.ndarray) -> Deviation:
        """The deviation of one value of a cell, by the differences of all GPUs from night to
        night, else within nights. Too few are no evidence: the step that is looked for may be
        most of them."""
        for differences_of in (
            np.diff(left[:, self.firsts], axis=1),
            np.delete(np.diff(left, axis=1), self.firsts[1:] - 1, axis=1),
        ):
            steps = differences_of.T  # [times, GPUs]
            counts = (~np.isnan(steps)).sum(axis=1)
            wander = counts >= WANDER_LEAST
            count = int(counts.sum())
            if count >= DIFFERENCES_LEAST and (len(steps) >= DIFFERENCES_LEAST or wander.any()):
                sizes = np.abs(steps - np.where(wander, medians(steps, counts), 0)[:, None]).ravel()
                return Deviation(
                    float(medians(sizes[None], np.array([count]))[0]) / (0.6745 * math.sqrt(2)),
                    EFFICIENCY_OF_DIFFERENCE * count,
                )
        return Deviation(0.0, 0)

    def limit(self, p: float | np.ndarray) -> bool | np.ndarray:
        return p * self.tests <= self.limits.false_findings

    def changes(
        self,
        values: np.ndarray,
        base: np.ndarray | None,
        least: np.ndarray,
        otherwise: np.ndarray,
        threshold: float,
    ) -> Iterator[tuple[int, int, float, Series, int, tuple[float, int]]]:
        """(cell, whole, p of the whole, series, its row, (change, last)) of changes against the
        past. values: [cells, wholes, rounds]; base: [wholes, rounds]; least and otherwise, as
        series_of has them: [cells]."""

        def series_at(cell: np.ndarray, whole: np.ndarray) -> Series:
            based = None if base is None else base[whole] & ~np.isnan(values[cell, whole])
            return series_of(values[cell, whole], based, self.nights, least[cell], otherwise[cell])

        with np.errstate(invalid="ignore"):
            cell, whole = np.nonzero(
                np.fmax.reduce(values, axis=2) - np.fmin.reduce(values, axis=2) >= threshold
            )
        if not len(cell):
            return
        reach = [
            whole[of.rows[np.abs(of.size) >= threshold]]
            for of in differences(series_at(cell, whole))
        ]
        wholes, cells = np.unique(np.concatenate([np.zeros(0, dtype=int), *reach])), np.arange(
            len(values)
        )
        for first in range(0, len(wholes), WHOLES_AT_ONCE):
            some = wholes[first : first + WHOLES_AT_ONCE]
            series = series_at(np.repeat(cells, len(some)), np.tile(some, len(cells)))
            steps = steps_of(series, len(cells), threshold)
            for direction in (1, -1):
                of = np.where(direction * steps.change > 0, steps.p, 1)
                p = np.minimum(whole_p(of), several_p(steps.beyond[int(direction < 0)]))
                for changed in np.flatnonzero(self.limit(p)):
                    for at in named_cells(of[:, changed]):
                        yield (
                            int(at),
                            int(some[changed]),
                            float(p[changed]),
                            series,
                            int(at) * len(some) + int(changed),
                            (float(steps.change[at, changed]), int(steps.last[at, changed])),
                        )

    def describe(
        self,
        level: int,
        group: int,
        cell: int,
        p: float,
        series: Series,
        row: int,
        step: tuple[float, int],
    ) -> Change:
        change, last = step
        values = series.values[row, : series.counts[row]]
        since, drift, change = date_step(values, change, last, series.deviation[row])
        return Change(
            level,
            PAST,
            group,
            self.there[cell],
            change,
            float(series.deviation[row]),
            min(1, p * self.tests),
            last,
            int(series.rounds[row, since]),
            drift,
        )

    def changed_alike(
        self, cell: int, members: np.ndarray, step: float, since: int
    ) -> tuple[np.ndarray, int]:
        """(those members that changed as the group did, by half as much at least; of how many
        this can be said)."""
        left = self.left[cell, members]
        before = (
            left[:, :since]
            if self.base is None
            else np.where(self.base[members, :since], left[:, :since], np.nan)
        )
        sides = [
            (
                medians(side, (~np.isnan(side)).sum(axis=1))
                if side.shape[1]
                else np.full(len(members), np.nan)
            )
            for side in (before, left[:, since:])
        ]
        change = sides[1] - sides[0]
        with np.errstate(invalid="ignore"):
            return members[change / step > 0.5], int((~np.isnan(change)).sum())

    def judge_group(self, level: int, group: int, members: np.ndarray) -> None:
        """Judges the median of a group in each round, where half of its GPUs were there."""
        left = self.left[:, members]  # [cells, members, rounds]
        there = (~np.isnan(left)).sum(axis=1)
        together = np.array(
            [
                np.where((count > 0) & (2 * count >= len(members)), medians(of.T, count), np.nan)
                for of, count in zip(left, there)
            ]
        )
        base = None
        if self.base is not None:
            # Half of those that were there, of all cells: a run has nearly all.
            based = (self.base[members] & ~np.isnan(left).all(axis=0)).sum(axis=0)
            base = ((based > 0) & (2 * based >= there.max(axis=0)))[None]
        least = self.deviation * math.sqrt(median_variance(len(members)))
        tried = set()
        for cell, _, p, series, row, step in self.changes(
            together[:, None], base, least, self.deviation, GROUP_SHARE * self.limits.threshold
        ):
            tried.add(cell)
            found = self.describe(level, group, cell, p, series, row, step)
            change, last = step
            alike, found.members = self.changed_alike(
                cell, members, change, series.rounds[row, series.counts[row] - last]
            )
            found.covered = len(alike)
            if found.covered >= 2 and found.covered >= COVERED_LEAST * found.members:
                self.left[cell, alike] -= np.nan_to_num(together[cell])
                self.found.append(found)
        if LEVELS[level] == "driver" and len(members) >= WANDER_LEAST:
            for cell in set(range(len(left))) - tried:
                self.left[cell, members] -= np.nan_to_num(together[cell])

    def judge_groups(self) -> None:
        for level, name in enumerate(LEVELS[:-1]):
            numbers = self.groups[name] if name in self.groups else np.zeros(self.gpus, dtype=int)
            order = np.argsort(numbers, kind="stable")
            starts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
            for group, members in enumerate(np.split(order, starts[1:])):
                if len(members) > 1 and (name in ("model", "driver") or len(members) < self.gpus):
                    self.judge_group(level, group, members)

    def judge_peers(self) -> None:
        """Each of few GPUs is held against the median of the others, and of many against that of
        all, which one cannot move."""
        recent = [self.recent(log_ns) for log_ns in self.log_ns]
        distance, p, spread = (
            np.zeros((len(recent), self.gpus)),
            np.ones((len(recent), self.gpus)),
            np.zeros((len(recent), self.gpus)),
        )
        for gpus in (
            np.arange(self.gpus)[:, None] if self.gpus < PEERS_MANY else [np.arange(self.gpus)]
        ):
            others = [
                np.sort(of[np.isfinite(of)])
                for of in (
                    np.delete(level, gpus if len(gpus) == 1 else []) for level, _, _ in recent
                )
            ]
            own = [
                (
                    Deviation(qn(level), EFFICIENCY_OF_QN * (len(level) - 1))
                    if len(level) > 1
                    else Deviation(0.0, 0)
                )
                for level in others
            ]
            board = conclude(
                [(flush, BOARD, its) for flush, its in zip(self.flush, own)], boards=True
            )
            for cell, ((level, counts, nights), its, of) in enumerate(zip(recent, others, board)):
                if len(its):
                    distance[cell, gpus] = np.where(
                        counts[gpus] > 0, level[gpus] - np.median(its), 0
                    )
                    spread[cell, gpus] = of.value * math.sqrt(1 + median_variance(len(its)))
                    p[cell, gpus] = self.peers_p(
                        distance[cell, gpus],
                        spread[cell, gpus],
                        min(of.degrees, 100000),
                        nights[gpus],
                        self.deviation[cell],
                    )
        for direction in (1, -1):
            of = np.where(direction * distance > 0, p, 1)
            p_of = whole_p(of)
            for gpu in np.flatnonzero(self.limit(p_of)):
                for cell in named_cells(of[:, gpu]):
                    self.found.append(
                        Change(
                            GPU,
                            PEERS,
                            int(gpu),
                            self.there[cell],
                            float(distance[cell, gpu]),
                            float(spread[cell, gpu]),
                            float(min(1, p_of[gpu] * self.tests)),
                            int(recent[cell][1][gpu]),
                        )
                    )

    def recent(self, log_ns: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(level of each GPU, values that say it, nights of these) of a cell."""
        known = ~np.isnan(log_ns)
        last = known & (np.cumsum(known[:, ::-1], axis=1)[:, ::-1] <= PEER_VALUES)
        counts = last.sum(axis=1)
        return (
            medians(np.where(last, log_ns, np.inf), counts),
            counts,
            (np.add.reduceat(last, self.firsts, axis=1) > 0).sum(axis=1),
        )

    def peers_p(
        self,
        distance: np.ndarray,
        spread: np.ndarray,
        degrees: float,
        nights: np.ndarray,
        deviation: float,
    ) -> np.ndarray:
        """p of distances from the others, by what boards differ by and by the noise of the
        values."""
        p = np.ones(len(distance))
        far = np.flatnonzero(np.abs(distance) >= self.limits.peer_threshold)
        away = np.abs(distance[far])
        for share in (0.5, 0.6, 0.7, 0.8, 0.9):
            p[far] = np.minimum(
                p[far],
                student_p(share * away / spread[far], degrees)
                + tail(nights[far], (1 - share) * away / deviation),
            )
        return p


def judge(
    cells: list[tuple[np.ndarray, Deviation, bool]],
    gpus: int,
    groups: dict[str, np.ndarray],
    limits: Limits,
    base: np.ndarray | None = None,
    firsts: np.ndarray | None = None,
) -> list[Change]:
    """Changes of all cells of a model: see Judge."""
    if all(np.isnan(log_ns).all() for log_ns, *_ in cells):
        return []
    work = Judge(cells, gpus, groups, limits, base, firsts)
    work.judge_groups()
    for cell, gpu, p, *step in work.changes(
        work.left, base, work.deviation, np.zeros(len(work.left)), limits.threshold
    ):
        work.found.append(work.describe(GPU, gpu, cell, p, *step))
    work.judge_peers()
    return work.found


# ---- Findings ------------------------------------------------------------------------------------


@dataclass
class Finding:
    """Changes of cells that are of the same GPUs and in one direction: told once."""

    changes: list  # by cell
    surest: Change  # the largest multiple of its deviation: it dates the finding
    change: float  # of the logarithm, the median over the cells
    members: int  # the most of any cell
    covered: int


def members_of(change: float, groups: dict[str, np.ndarray], gpus: int) -> range | list[int]:
    """Numbers of the GPUs that a change is of."""
    name = LEVELS[change.level]
    if name == "model":
        return range(gpus)
    return (
        [change.group] if name == "gpu" else np.flatnonzero(groups[name] == change.group).tolist()
    )


def find(changes: list[Change], groups: dict[str, np.ndarray]) -> list[Finding]:
    """Findings: the slower ones first, the coarsest level first, the largest first. A difference
    from the others is left out where the GPU, or a group of it below the model, changed in that
    direction."""

    def key(change: Change) -> tuple:
        return change.against, change.level, change.group, change.change < 0

    past = [change for change in changes if change.against == PAST]
    explained = {
        (gpu, change.change < 0)
        for change in past
        if change.level > 0
        for gpu in members_of(change, groups, 0)
    }
    by_key = {}
    for change in sorted(changes, key=lambda change: change.cell):
        if change.against == PAST or (change.group, change.change < 0) not in explained:
            by_key.setdefault(key(change), []).append(change)
    found = []
    for same in by_key.values():
        most = max(same, key=lambda change: change.covered)
        sizes = np.array([change.change for change in same])
        found.append(
            Finding(
                same,
                max(
                    same,
                    key=lambda change: (
                        abs(change.change / change.deviation) if change.deviation else math.inf
                    ),
                ),
                float(medians(sizes[None], np.array([len(sizes)]))[0]),
                most.members,
                most.covered,
            )
        )
    return sorted(
        found, key=lambda of: (of.change < 0, of.surest.level, -abs(of.change), of.surest.group)
    )
