# SPDX-License-Identifier: MIT
"""Which GPUs of a model changed, and which differ from the others: statistics of times, without files.

Times are logarithms: 0.01 is 1 %. A cell's times are an array of shape [GPUs, rounds], NaN where there is none.

A GPU is held against its own past. All GPUs of a driver change together with the room or the driver. Their median is taken
off first, as in Tukey's median polish. Where it reaches the threshold, it is a finding of theirs. Groups are judged from the
coarsest to the single GPU. A change belongs to the coarsest group where 85 % of the members changed alike.

A GPU is also held against the median of its model, in units of Qn and by Student's t. The deviation of its last three values
is allowed for.

The noise of a value is known before, or by default. It is pooled, by degrees of freedom, with the differences from round to
round of all GPUs together. A noisier GPU has its own.

Each of many tests has the share false_findings / tests (Bonferroni). This bounds the number of false findings of a verdict,
whatever depends on what.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import betainc

from .change_points import compress, difference_scale, levels, medians, partition

LEVELS = ("model", "driver", "vbios", "node", "gpu")  # from the coarsest on
PAST, PEERS = 0, 1
AGAINST = ("past", "peers")

LENGTHS = (1, 2, 3, 5, 8, 13, 21, 30)  # values at the end of a series that are held against those before
SHARES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)  # of a difference that the end has
TAIL_DEGREES, TAIL_SCALE = 3, 1.134  # the scale: the quartile of that t over that of a normal value
LINE_LEAST = 5  # values of a drift
SCALE_LEAST = 12  # differences that tell the scale of a series by itself
WANDER_LEAST = 5  # GPUs whose median is what they do together
PEERS_LEAST, PEER_VALUES = 4, 3  # GPUs of a model; values that say where a GPU is
COVERED_LEAST = 0.85  # of a group, whose change is then the group's
GROUP_SHARE = 0.5  # of the threshold, for groups
EFFICIENCY_OF_DIFFERENCE, EFFICIENCY_OF_QN = 0.37, 0.82


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
    p: float  # for all tests together
    last: int  # values that it was seen in
    since: int = 0  # round, of a change against the past
    drift: bool = False
    members: int = 1  # GPUs of the group
    covered: int = 1  # those that changed alike


def median_variance(count: int | np.ndarray) -> float:
    """Variance of the median of `count` normal values of variance 1, exact to 1 %."""
    return 1 / count if count < 3 else math.pi / 2 / (count + (0.48 if count % 2 else 1.3))


def student_p(t: float | np.ndarray, degrees: float | np.ndarray) -> float | np.ndarray:
    """Probability that Student's t is further from 0 than t, on either side."""
    return betainc(degrees / 2, 0.5, degrees / (degrees + np.square(t)))


def tail(count: int | np.ndarray, z: float | np.ndarray) -> float | np.ndarray:
    """Probability that more than half of `count` values lie beyond z robust deviations on one side, for either side: binomial,
    with the tail of Student's t of three degrees of freedom. Arrays broadcast."""
    beyond = student_p(np.asarray(z) * TAIL_SCALE, TAIL_DEGREES) / 2
    count = np.asarray(count)
    more = betainc(count // 2 + 1, count - count // 2, beyond)
    return np.minimum(1, 2 * more)


def step_p(z: float | np.ndarray, last: int | np.ndarray, base: int | np.ndarray) -> float | np.ndarray:
    """Probability of a difference of z between medians of `last` and `base` values: the best way to divide the difference."""
    return np.minimum(1, np.min([tail(last, share * z) + tail(base, (1 - share) * z) for share in SHARES], axis=0))


def qn(ordered: np.ndarray) -> float:
    """The scale Qn of Rousseeuw and Croux (1993) of ascending values: the k-th smallest distance of two, times a factor. Half of
    the values can be anything."""
    small = {2: 0.399, 3: 0.994, 4: 0.512, 5: 0.844, 6: 0.611, 7: 0.857, 8: 0.669, 9: 0.872}
    n = len(ordered)
    if n < 2:
        return math.nan
    k = (n // 2 + 1) * (n // 2) // 2
    index = np.arange(n)

    def pairs_within(distance: float) -> int:
        return int((index - np.searchsorted(ordered, ordered - distance)).sum())

    low, high = 0.0, float(ordered[-1] - ordered[0])
    if pairs_within(0) >= k:
        return 0.0
    for _ in range(60):
        middle = low + (high - low) / 2
        low, high = (low, middle) if pairs_within(middle) >= k else (middle, high)
    return 2.2219 * small.get(n, n / (n + (1.4 if n % 2 else 3.8))) * high


# ---- Steps of series -------------------------------------------------------------------------------------------------


@dataclass
class Series:
    """Rows of values without gaps, in the order of time."""

    values: np.ndarray  # [series, n]
    counts: np.ndarray  # [series]
    rounds: np.ndarray  # [series, n]: the round of each value
    base: np.ndarray | None  # [series, n]: of the baseline; None: what is before the end
    deviation: np.ndarray | None = None  # [series]: of one value


def series_of(values: np.ndarray, base: np.ndarray | None) -> Series:
    """values, base: [series, rounds]; base may be None."""
    order = np.argsort(np.isnan(values), axis=1, kind="stable")
    packed, counts = compress(values)
    return Series(packed, counts, order, None if base is None else np.take_along_axis(base, order, axis=1))


def pick(ordered: np.ndarray, counts: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """The lower or the upper one of the two values in the middle of the first `counts`."""
    at = np.where(upper, counts // 2, (counts - 1) // 2)
    return ordered[np.arange(len(ordered)), np.clip(at, 0, ordered.shape[1] - 1)]


def find_steps(series: Series, threshold: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(change, p, last) of each series: the step at its end that is least likely chance, of those that reach the threshold. p
    counts all lengths. change 0: there is none."""
    n_series, n = series.values.shape
    change, p, last = np.zeros(n_series), np.ones(n_series), np.zeros(n_series, dtype=int)
    index = np.arange(n)
    if series.base is None:
        most = series.counts - 1
    else:
        of_base = series.base & (index < series.counts[:, None])
        most = series.counts - np.where(of_base.any(axis=1), n - of_base[:, ::-1].argmax(axis=1), 0)
        most[~of_base.any(axis=1)] = 0
    for length in LENGTHS:
        rows = np.flatnonzero(most >= length)
        if not len(rows):
            break
        values, counts = series.values[rows], series.counts[rows][:, None]
        is_last = (index >= counts - length) & (index < counts)
        is_base = index < counts - length if series.base is None else of_base[rows] & (index < counts - length)
        base_count, last_count = is_base.sum(axis=1), np.full(len(rows), length)
        ordered_base, ordered_last = (np.sort(np.where(mask, values, np.inf), axis=1) for mask in (is_base, is_last))
        size = medians(ordered_last, last_count) - medians(ordered_base, base_count)
        up = size > 0
        sure = pick(ordered_last, last_count, ~up) - pick(ordered_base, base_count, up)
        good = np.flatnonzero((np.abs(size) >= threshold) & ((sure > 0) == up))
        found = step_p(np.abs(sure[good]) / series.deviation[rows[good]], length, base_count[good])
        better = found < p[rows[good]]
        at = rows[good[better]]
        change[at], p[at], last[at] = size[good[better]], found[better], length
    return change, np.minimum(1, p * len(LENGTHS)), last


def hinge(values: np.ndarray, since: int) -> tuple[float, float]:
    """(squares, rise) about a line that is level up to `since` and rises from there, by least squares."""
    n = len(values)
    x, y = np.maximum(np.arange(n) - since + 1, 0).astype(float), values - values[0]
    sxx, sxy, syy = (x * x).sum() - x.sum() ** 2 / n, (x * y).sum() - x.sum() * y.sum() / n, (y * y).sum() - y.sum() ** 2 / n
    return syy - sxy * sxy / sxx, sxy / sxx * (n - since)


def date_step(values: np.ndarray, change: float, last: int | np.ndarray, deviation: float) -> tuple[int, bool, float]:
    """(since, drift, change): when the step of a series began. Its level jumps most there in the step's direction, or a line begins
    there that fits better than a jump. Values that are far off alone are smoothed away first (Tukey, 1977)."""
    n = len(values)
    smooth = values.copy()
    smooth[1:-1] = np.maximum(np.minimum(values[:-2], values[1:-1]), np.minimum(np.maximum(values[:-2], values[1:-1]), values[2:]))
    last_of = partition(smooth[None], np.array([n]), np.array([1 if last < 2 else 2]), np.array([deviation]))[0]
    jump, most = n - last, 0
    found = levels(smooth, last_of, n)
    for (_, _, before), (first, _, after) in zip(found, found[1:]):
        if math.copysign(1, change) * (after - before) > most:
            most, jump = math.copysign(1, change) * (after - before), first
    least = sum(((side - side.mean()) ** 2).sum() for side in (smooth[:jump], smooth[jump:]) if len(side))
    since, drift = jump, False
    for first in range(1, n - LINE_LEAST + 1):
        squares, rise = hinge(smooth, first)
        if squares < least:
            least, since, drift, change = squares, first, True, rise
    return since, drift, float(change)


# ---- A cell ----------------------------------------------------------------------------------------------------------


class Judge:
    """The work on one cell of a model."""

    def __init__(self, cell: int, log_ns: np.ndarray, base: np.ndarray | None, known: tuple[float, float], groups: dict[str, np.ndarray], limits: Limits, tests: int):
        """log_ns: [GPUs, rounds]; base: the same shape, or None; known: (deviation between processes, its degrees of freedom); groups:
        {level: number of the group of each GPU} of driver, VBIOS and node."""
        self.cell, self.log_ns, self.base, self.groups, self.limits, self.tests = cell, log_ns, base, groups, limits, tests
        self.found = []
        counts = (~np.isnan(log_ns)).sum(axis=1)
        level = medians(log_ns, counts)
        if base is not None:
            of_base = np.where(base, log_ns, np.nan)
            based = (~np.isnan(of_base)).sum(axis=1)
            level = np.where(based > 0, medians(of_base, based), level)
        self.left = log_ns - level[:, None]  # what is not explained yet
        self.deviation = self.noise(*known)

    def noise(self, known: float, degrees: float) -> float:
        """The deviation of one value, from all GPUs."""
        steps = np.diff(self.left, axis=1).T  # [rounds - 1, GPUs]
        counts = (~np.isnan(steps)).sum(axis=1)
        if counts.sum() == 0:
            return known
        together = np.where(counts >= WANDER_LEAST, medians(steps, counts), 0)
        sizes = np.abs(steps - together[:, None]).ravel()
        own = medians(sizes[None], np.array([counts.sum()]))[0] / (0.6745 * math.sqrt(2))
        own_degrees = EFFICIENCY_OF_DIFFERENCE * counts.sum()
        return math.sqrt((degrees * known ** 2 + own_degrees * own ** 2) / (degrees + own_degrees))

    def set_deviation(self, series: Series, least: float, otherwise: float) -> None:
        """A series has its own deviation, where that is known and larger."""
        own = difference_scale(series.values, series.counts)
        series.deviation = np.fmax(least, np.where(series.counts > SCALE_LEAST, own, otherwise))

    def limit(self, p: float | np.ndarray) -> bool | np.ndarray:
        return p * self.tests <= self.limits.false_findings

    def describe(self, series: Series, row: int, step: tuple[float, float, int], level: int, group: int) -> Change:
        change, p, last = step
        values = series.values[row, :series.counts[row]]
        since, drift, change = date_step(values, change, last, series.deviation[row])
        return Change(level, PAST, group, self.cell, change, float(series.deviation[row]), float(min(1, p * self.tests)), int(last),
                      int(series.rounds[row, since]), drift)

    def changed_alike(self, members: np.ndarray, step: float, since: int) -> tuple[np.ndarray, int]:
        """(those members that changed as the group did, by half as much at least; of how many this can be said)."""
        left = self.left[members]
        before = left[:, :since] if self.base is None else np.where(self.base[members, :since], left[:, :since], np.nan)
        sides = [medians(side, (~np.isnan(side)).sum(axis=1)) if side.shape[1] else np.full(len(members), np.nan)
                 for side in (before, left[:, since:])]
        change = sides[1] - sides[0]
        with np.errstate(invalid="ignore"):
            return members[change / step > 0.5], int((~np.isnan(change)).sum())

    def judge_group(self, level: int, group: int, members: np.ndarray) -> None:
        """Judges the median of a group in each round, where half of its GPUs were there."""
        left = self.left[members]
        there = (~np.isnan(left)).sum(axis=0)
        together = np.where((there > 0) & (2 * there >= len(members)), medians(left.T, there), np.nan)
        base = None
        if self.base is not None:
            based = (self.base[members] & ~np.isnan(left)).sum(axis=0)
            base = ((based > 0) & (2 * based >= there))[None]
        threshold = GROUP_SHARE * self.limits.threshold
        known = together[~np.isnan(together)]
        if len(known) > 1 and known.max() - known.min() >= threshold:
            series = series_of(together[None], base)
            self.set_deviation(series, self.deviation * math.sqrt(median_variance(len(members))), self.deviation)
            change, p, last = (of[0] for of in find_steps(series, threshold))
            if change and self.limit(p):
                found = self.describe(series, 0, (change, p, last), level, group)
                alike, found.members = self.changed_alike(members, change, series.rounds[0, series.counts[0] - last])
                found.covered = len(alike)
                if found.covered >= 2 and found.covered >= COVERED_LEAST * found.members:
                    self.subtract(alike, together)
                    self.found.append(found)
                return
        if LEVELS[level] == "driver" and len(members) >= WANDER_LEAST:
            self.subtract(members, together)

    def subtract(self, members: np.ndarray, together: np.ndarray) -> None:
        self.left[members] -= np.nan_to_num(together)

    def judge_groups(self) -> None:
        gpus = len(self.left)
        for level, name in enumerate(LEVELS[:-1]):
            numbers = self.groups[name] if name in self.groups else np.zeros(gpus, dtype=int)
            order = np.argsort(numbers, kind="stable")
            starts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
            for group, members in enumerate(np.split(order, starts[1:])):
                if len(members) > 1 and (name in ("model", "driver") or len(members) < gpus):
                    self.judge_group(level, group, members)

    def judge_gpus(self) -> None:
        with np.errstate(invalid="ignore"):
            reach = np.fmax.reduce(self.left, axis=1) - np.fmin.reduce(self.left, axis=1)
        gpus = np.flatnonzero(reach >= self.limits.threshold)
        if not len(gpus):
            return
        series = series_of(self.left[gpus], None if self.base is None else self.base[gpus] & ~np.isnan(self.left[gpus]))
        self.set_deviation(series, self.deviation, 0)
        change, p, last = find_steps(series, self.limits.threshold)
        for row in np.flatnonzero((change != 0) & self.limit(p)):
            self.found.append(self.describe(series, row, (change[row], p[row], last[row]), LEVELS.index("gpu"), int(gpus[row])))

    def judge_peers(self) -> None:
        known = ~np.isnan(self.log_ns)
        recent = known & (np.cumsum(known[:, ::-1], axis=1)[:, ::-1] <= PEER_VALUES)
        counts = recent.sum(axis=1)
        level = medians(np.where(recent, self.log_ns, np.inf), counts)
        ordered = np.sort(level[counts > 0])
        if len(ordered) < PEERS_LEAST:
            return
        distance = level - medians(ordered[None], np.array([len(ordered)]))[0]
        spread = qn(ordered) * math.sqrt(1 + median_variance(len(ordered)))
        degrees = min(EFFICIENCY_OF_QN * (len(ordered) - 1), 100000)
        for gpu in np.flatnonzero(np.abs(distance) >= self.limits.peer_threshold):
            away, p = abs(distance[gpu]), 1
            for share in (0.5, 0.6, 0.7, 0.8, 0.9):
                board = student_p(share * away / spread, degrees) if spread > 0 else 0
                p = min(p, board + tail(counts[gpu], (1 - share) * away / self.deviation))
            if p * self.tests <= self.limits.false_findings:
                self.found.append(Change(LEVELS.index("gpu"), PEERS, int(gpu), self.cell, float(distance[gpu]), float(spread),
                                         float(p * self.tests), int(counts[gpu])))


def judge(cells: list[tuple[np.ndarray, tuple[float, float]]], gpus: int, groups: dict[str, np.ndarray], limits: Limits,
          base: np.ndarray | None = None) -> list[Change]:
    """Changes of all cells of a model. cells: (log_ns, (known deviation, degrees)) of each; see Judge."""
    tests = (1 + 2 * gpus + sum(int(numbers.max()) + 1 for numbers in groups.values())) * len(cells)
    found = []
    for cell, (log_ns, known) in enumerate(cells):
        if not np.isnan(log_ns).all():
            work = Judge(cell, log_ns, base, known, groups, limits, tests)
            work.judge_groups()
            work.judge_gpus()
            work.judge_peers()
            found += work.found
    return found


# ---- Findings --------------------------------------------------------------------------------------------------------


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
    return [change.group] if name == "gpu" else np.flatnonzero(groups[name] == change.group).tolist()


def find(changes: list[Change], groups: dict[str, np.ndarray]) -> list[Finding]:
    """Findings: the slower ones first, the coarsest level first, the largest first. A difference from the others is left out where
    the GPU, or a group of it below the model, changed in that direction."""
    def key(change: Change) -> tuple:
        return change.against, change.level, change.group, change.change < 0

    past = [change for change in changes if change.against == PAST]
    explained = {(gpu, change.change < 0) for change in past if change.level > 0 for gpu in members_of(change, groups, 0)}
    by_key = {}
    for change in sorted(changes, key=lambda change: change.cell):
        if change.against == PAST or (change.group, change.change < 0) not in explained:
            by_key.setdefault(key(change), []).append(change)
    found = []
    for same in by_key.values():
        most = max(same, key=lambda change: change.covered)
        sizes = np.array([change.change for change in same])
        found.append(Finding(same, max(same, key=lambda change: abs(change.change / change.deviation) if change.deviation else math.inf),
                             float(medians(sizes[None], np.array([len(sizes)]))[0]), most.members, most.covered))
    return sorted(found, key=lambda of: (of.change < 0, of.surest.level, -abs(of.change), of.surest.group))
